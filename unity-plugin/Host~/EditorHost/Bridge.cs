using System;
using System.Collections.Concurrent;
using System.Threading;

namespace UnityMcp.Host
{
    /// <summary>
    /// What the plugin's domain sees of the Editor. It lives in the outer domain, like SessionState in Unity, and stays
    /// when the plugin's domain is unloaded.
    /// </summary>
    public sealed class Bridge : MarshalByRefObject
    {
        readonly Editor editor;
        readonly ConcurrentDictionary<string, string> store = new ConcurrentDictionary<string, string>();

        string[] openScenes = { "Assets/Scenes/Meadow.unity" };

        public Bridge(Editor editor)
        {
            this.editor = editor;
        }

        /// <summary>Lives as long as the Editor.</summary>
        public override object InitializeLifetimeService()
        {
            return null;
        }

        public string Get(string key)
        {
            string value;
            return store.TryGetValue(key, out value) ? value : null;
        }

        public void Set(string key, string value)
        {
            store[key] = value;
        }

        public int Seed
        {
            get { return editor.Options.Seed; }
        }

        public string InstanceId
        {
            get { return editor.InstanceId; }
        }

        /// <summary>Null if the Editor names no project.</summary>
        public string ProjectPath
        {
            get { return editor.Project; }
        }

        /// <summary>0: the project's file decides.</summary>
        public int Port
        {
            get { return editor.Options.Port ?? 0; }
        }

        public bool HasTests
        {
            get { return editor.Options.HasTests; }
        }

        /// <summary>How often the plugin was loaded in this Editor.</summary>
        public int Loads { get; set; }

        public bool TicksOnlyWoken
        {
            get { return editor.Options.IsOnlyWoken && Loads > 1; }
        }

        public bool CanWake
        {
            get { return editor.Options.CanWake; }
        }

        public void Running(string requestId, string clientRequestId, string toolName)
        {
            editor.RunTool(requestId, clientRequestId, toolName);
        }

        /// <summary>The paths of the open scenes. The last one is active.</summary>
        public string[] OpenScenes
        {
            get { return openScenes; }
            set { openScenes = value; }
        }

        /// <summary>The active scene has unsaved changes.</summary>
        public bool IsDirty { get; set; }

        public bool HasCompileFailed
        {
            get { return editor.Scripts.HasFailed; }
        }

        public void WantCompile(bool isForced)
        {
            editor.WantCompile(isForced);
        }

        public bool IsTestRunActive
        {
            get { return editor.Tests.IsActive; }
        }

        public string[] TestNames(string mode)
        {
            return editor.Options.Suite.Select(mode, null).ConvertAll(test => test.Name).ToArray();
        }

        /// <param name="names">Null for all tests of the mode.</param>
        public void StartTests(string mode, string[] names)
        {
            editor.StartTests(mode, names);
        }

        public bool CancelTests()
        {
            return editor.Tests.Cancel();
        }

        public void Show(string kind, string text)
        {
            if (kind == "from_server") editor.Books.Arrived(text);
            editor.Display.Show(kind, text);
        }

        /// <summary>How long the network is away, in milliseconds.</summary>
        public int AwayTime
        {
            get { return (int)Math.Max(0, Interlocked.Read(ref editor.AwayUntil) - Editor.Now); }
        }

        /// <summary>The connection is lost or could not be opened.</summary>
        public void ConnectionFailed(string problem)
        {
            editor.CountFailure(problem);
        }

        public void ConnectionAccepted()
        {
            editor.ResetFailures();
        }
    }
}
