using System;
using System.Collections.Generic;
using System.Reflection;
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
            // Test Framework 2 has IsAnyRunActive. Its IsRunActive needs the name of a run.
            isRunActive = Internals.Method<Func<bool>>(typeof(TestRunnerApi), new[] { "IsRunActive", "IsAnyRunActive" },
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
                    return "The scripts of the project do not compile, so no test run can start. Read the errors with read_console and fix them.";
                if (EditorApplication.isPlayingOrWillChangePlaymode)
                    return "The Editor is in Play Mode, so no test run can start. Ask the user to leave Play Mode.";
                for (var index = 0; index < EditorSceneManager.sceneCount; index++)
                {
                    var scene = EditorSceneManager.GetSceneAt(index);
                    if (scene.isDirty)
                        return "The scene \"" + scene.name + "\" has unsaved changes, so no test run can start. Ask the user to save or discard them.";
                }
                return null;
            }
        }

        static TestMode ModeOf(string mode)
        {
            return mode == "play" ? TestMode.PlayMode : TestMode.EditMode;
        }

        public void List(string jobId, string mode)
        {
            api.RetrieveTestList(ModeOf(mode), root =>
            {
                var names = new List<string>();
                Collect(root, names);
                events.Listed(jobId, mode, names);
            });
        }

        static void Collect(ITestAdaptor test, List<string> names)
        {
            if (test == null) return;
            if (!test.IsSuite)
            {
                names.Add(test.FullName);
                return;
            }
            foreach (var child in test.Children) Collect(child, names);
        }

        /// <summary>By the names of tests: a pattern would also match assemblies and namespaces, and then all tests in them would run.</summary>
        public void Start(string mode, IList<string> names)
        {
            var wanted = new Filter { testMode = ModeOf(mode), testNames = names == null ? null : new List<string>(names).ToArray() };
            // Callbacks may come before Execute returns the name of the run.
            OwnRun = "starting";
            var run = api.Execute(new ExecutionSettings(wanted));
            if (OwnRun == "starting" && !string.IsNullOrEmpty(run)) OwnRun = run;
        }

        /// <summary>Where CancelTestRun is not public yet, it works for Edit Mode runs only.</summary>
        public bool Cancel()
        {
            var canCancel = cancelTestRun != null && (cancelTestRun.IsPublic || !EditorApplication.isPlaying);
            if (canCancel) return (bool)cancelTestRun.Invoke(cancelTestRun.IsStatic ? null : api, new object[] { OwnRun });
            if (!EditorApplication.isPlaying) return false;
            EditorApplication.ExitPlaymode();
            return true;
        }

        public void Forget()
        {
            OwnRun = "";
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
