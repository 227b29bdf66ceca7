using System;
using System.Reflection;
using System.Text.RegularExpressions;
using UnityEditor;
using UnityEditor.SceneManagement;
using UnityEditor.TestTools.TestRunner.Api;
using UnityEngine;
using UnityMcp.Editor;

namespace UnityMcp.TestFramework
{
    /// <summary>
    /// Unity's test runner behind the port of Core. Callbacks are lost with the domain, so each domain registers its own; the
    /// test framework resumes a run by itself.
    /// </summary>
    public sealed class TestRunnerAdapter : ITestRunner, IErrorCallbacks, IDisposable
    {
        /// <summary>The run that this plugin has started; empty while there is none. Callbacks arrive for runs of the user too.</summary>
        const string RunKey = "UnityMcp.TestRun";
        const BindingFlags Any = BindingFlags.Static | BindingFlags.Instance | BindingFlags.Public | BindingFlags.NonPublic;

        readonly TestRunnerApi api;
        readonly Func<bool> isRunActive;
        readonly MethodInfo cancelTestRun;
        ITestEvents events;

        public TestRunnerAdapter()
        {
            api = ScriptableObject.CreateInstance<TestRunnerApi>();
            api.hideFlags = HideFlags.HideAndDontSave;
            api.RegisterCallbacks(this);
            isRunActive = Internals.Method<Func<bool>>(typeof(TestRunnerApi), "IsRunActive",
                "a test run that ends without a report is noticed only at its timeout");
            cancelTestRun = typeof(TestRunnerApi).GetMethod("CancelTestRun", Any, null, new[] { typeof(string) }, null);
            if (cancelTestRun == null) Internals.Note("TestRunnerApi.CancelTestRun: Edit Mode test runs cannot be cancelled");
        }

        public void Dispose()
        {
            api.UnregisterCallbacks(this);
            UnityEngine.Object.DestroyImmediate(api);
        }

        public ITestEvents Events
        {
            set { events = value; }
        }

        public bool? IsActive
        {
            get { return isRunActive == null ? (bool?)null : isRunActive(); }
        }

        static string OwnRun
        {
            get { return SessionState.GetString(RunKey, ""); }
            set { SessionState.SetString(RunKey, value); }
        }

        /// <summary>A dirty scene would open a dialog that blocks the Editor until a person answers it.</summary>
        public string Obstacle
        {
            get
            {
                if (EditorUtility.scriptCompilationFailed)
                    return "The scripts of the project do not compile, so nothing ran. Read the errors with read_console and fix them.";
                if (EditorApplication.isPlayingOrWillChangePlaymode)
                    return "The Editor is in Play Mode, so nothing ran. Ask the user to leave Play Mode.";
                for (var index = 0; index < EditorSceneManager.sceneCount; index++)
                {
                    var scene = EditorSceneManager.GetSceneAt(index);
                    if (scene.isDirty)
                        return "The scene \"" + scene.name + "\" has unsaved changes, so nothing ran. Ask the user to save or discard them.";
                }
                return null;
            }
        }

        static TestMode ModeOf(string mode)
        {
            return mode == "play" ? TestMode.PlayMode : TestMode.EditMode;
        }

        /// <summary>A pattern that matches the text itself. A leading "!" would negate it, so it never comes first.</summary>
        static string Pattern(string filter)
        {
            return "(?:)" + Regex.Escape(filter);
        }

        public void List(string mode, string filter)
        {
            var pattern = filter == null ? null : new Regex(Pattern(filter));
            api.RetrieveTestList(ModeOf(mode), root => events.Listed(mode, Count(root, pattern)));
        }

        static int Count(ITestAdaptor test, Regex pattern)
        {
            if (test == null) return 0;
            if (!test.IsSuite) return pattern == null || pattern.IsMatch(test.FullName) ? 1 : 0;
            var count = 0;
            foreach (var child in test.Children) count += Count(child, pattern);
            return count;
        }

        public void Start(string mode, string filter)
        {
            var wanted = new Filter { testMode = ModeOf(mode) };
            if (filter != null) wanted.groupNames = new[] { Pattern(filter) };
            // Callbacks may come before Execute returns the name of the run.
            OwnRun = "starting";
            var run = api.Execute(new ExecutionSettings(wanted));
            if (OwnRun == "starting" && !string.IsNullOrEmpty(run)) OwnRun = run;
        }

        public bool Cancel()
        {
            if (cancelTestRun != null)
                return (bool)cancelTestRun.Invoke(cancelTestRun.IsStatic ? null : api, new object[] { OwnRun });
            if (!EditorApplication.isPlaying) return false;
            EditorApplication.ExitPlaymode();
            return true;
        }

        void ICallbacks.RunStarted(ITestAdaptor tests)
        {
            // The number of tests is known from List.
        }

        void ICallbacks.TestStarted(ITestAdaptor test)
        {
            if (OwnRun != "" && !test.IsSuite) events.TestStarted(test.FullName);
        }

        void ICallbacks.TestFinished(ITestResultAdaptor result)
        {
            if (OwnRun != "" && !result.Test.IsSuite) events.TestFinished();
        }

        void ICallbacks.RunFinished(ITestResultAdaptor result)
        {
            if (OwnRun == "") return;
            OwnRun = "";
            var report = new TestRunResult { DurationMs = (long)(result.Duration * 1000) };
            Collect(result, report);
            events.RunFinished(report);
        }

        void IErrorCallbacks.OnError(string message)
        {
            if (OwnRun == "") return;
            OwnRun = "";
            events.RunFailed(message);
        }

        static void Collect(ITestResultAdaptor result, TestRunResult report)
        {
            if (result.Test.IsSuite)
            {
                foreach (var child in result.Children) Collect(child, report);
                return;
            }
            switch (result.TestStatus)
            {
                case TestStatus.Passed:
                    report.Passed++;
                    break;
                case TestStatus.Failed:
                    report.Failed++;
                    if (report.FailedTests.Count < Limits.FailedTestsMax)
                        report.FailedTests.Add(new FailedTest { Name = result.FullName, Message = result.Message, StackTrace = result.StackTrace });
                    break;
                default:
                    report.Skipped++;
                    break;
            }
        }
    }
}
