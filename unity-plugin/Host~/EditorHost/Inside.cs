using System;
using System.Collections.Generic;
using System.Diagnostics;
using UnityMcp;

namespace UnityMcp.Host
{
    /// <summary>
    /// The part of the Editor inside the domain that reloads: the plugin and the ports it needs. The Editor calls it from its
    /// main loop.
    /// </summary>
    public sealed class Inside : MarshalByRefObject, IStateStore, IMainThread, IEditorFacts, IConsoleSource, ICompiler, ITestRunner,
        ICallObserver, ILog, IClock
    {
        const string Version = "0.1.0";
        const string CompilerAssembly = "Assembly-CSharp";

        Bridge bridge;
        Plugin plugin;
        HostConnector connector;
        string listing;
        string listingFilter;

        public event Action<ConsoleEntry> Added;
        public event Action Cleared;
        public event Action Started;
        public event Action<string, IList<ScriptMessage>> AssemblyFinished;
        public event Action Finished;

        public ITestEvents Events { private get; set; }

        public override object InitializeLifetimeService()
        {
            return null;
        }

        public void Load(Bridge outside)
        {
            bridge = outside;
            connector = new HostConnector(new WebSocketConnector(), outside);
            var random = new Random(outside.Seed);
            plugin = new Plugin(new PluginParts
            {
                Version = Version,
                Facts = this,
                Store = this,
                MainThread = this,
                Console = this,
                Compiler = this,
                Project = new SampleProject(outside),
                TestRunner = outside.HasTests ? this : null,
                Observer = this,
                Connector = connector,
                Log = this,
                Clock = this,
                FindServer = FindServer,
                ReadToken = TokenFile.Read,
                NewId = () => Guid.NewGuid().ToString(),
                Chance = random.NextDouble
            });
        }

        ServerAddress FindServer()
        {
            return bridge.Port != 0 ? new ServerAddress { Port = bridge.Port } : ServerFile.Find(bridge.ProjectPath, Limits.DefaultPort);
        }

        public void Tick()
        {
            if (listing != null)
            {
                var mode = listing;
                listing = null;
                Events.Listed(mode, bridge.CountTests(mode, listingFilter));
            }
            plugin.Tick();
        }

        public void BeforeReload()
        {
            plugin.BeforeReload();
        }

        public void Quit()
        {
            plugin.Quit();
        }

        /// <param name="code">The code of the close frame; 0: without one.</param>
        public void Leave(int code)
        {
            connector.Leave(code);
        }

        public string Link
        {
            get
            {
                var link = plugin.Status.Link;
                if (link == LinkState.Open) return "connected";
                return link == LinkState.Dialing || link == LinkState.Greeting ? "connecting" : "not connected";
            }
        }

        public void Log(string type, string message, string stackTrace)
        {
            if (Added != null) Added(new ConsoleEntry { Type = type, Message = message, StackTrace = stackTrace });
        }

        public void Clear()
        {
            if (Cleared != null) Cleared();
        }

        public void StartCompile()
        {
            if (Started != null) Started();
        }

        /// <param name="errors">JSON, because the values of a domain stay in it.</param>
        public void FinishCompile(string errors)
        {
            var messages = new List<ScriptMessage>();
            foreach (var error in JsonReader.Parse(errors).Items)
                messages.Add(new ScriptMessage
                {
                    Type = "error",
                    Message = error.Text("message"),
                    File = error.Text("file"),
                    Line = (int)error.Integer("line", 0),
                    Column = (int)error.Integer("column", 0)
                });
            if (AssemblyFinished != null) AssemblyFinished(CompilerAssembly, messages);
            if (Finished != null) Finished();
        }

        public void TestStarted(string name)
        {
            Events.TestStarted(name);
        }

        public void TestFinished()
        {
            Events.TestFinished();
        }

        public void RunFinished(int passed, int skipped, long duration, string[] failed)
        {
            var result = new TestRunResult { Passed = passed, Failed = failed.Length, Skipped = skipped, DurationMs = duration };
            foreach (var name in failed)
            {
                var stackTrace = "at " + name + " () [0x00012] in ./Assets/Tests/GameTests.cs:17";
                result.FailedTests.Add(new FailedTest { Name = name, Message = "  Expected: 3\n  But was:  2\n", StackTrace = stackTrace });
            }
            Events.RunFinished(result);
        }

        string IStateStore.Get(string key)
        {
            return bridge.Get(key);
        }

        void IStateStore.Set(string key, string value)
        {
            bridge.Set(key, value);
        }

        void IMainThread.Wake()
        {
            bridge.Wake();
        }

        string IEditorFacts.InstanceId
        {
            get { return bridge.InstanceId; }
        }

        string IEditorFacts.ProjectPath
        {
            get { return bridge.ProjectPath; }
        }

        string IEditorFacts.ProjectName
        {
            get { return bridge.ProjectPath == null ? null : System.IO.Path.GetFileName(bridge.ProjectPath.TrimEnd('/')); }
        }

        string IEditorFacts.UnityVersion
        {
            get { return bridge.ProjectPath == null ? null : "6000.0.0f1"; }
        }

        EditorState IEditorFacts.State
        {
            get { return bridge.State; }
        }

        string ICompiler.Obstacle
        {
            get { return null; }
        }

        bool ICompiler.HasFailed
        {
            get { return bridge.HasCompileFailed; }
        }

        void ICompiler.Import()
        {
            bridge.WantCompile(false);
        }

        void ICompiler.Compile()
        {
            bridge.WantCompile(true);
        }

        bool? ITestRunner.IsActive
        {
            get { return bridge.IsTestRunActive; }
        }

        string ITestRunner.Obstacle
        {
            get { return null; }
        }

        /// <summary>As in Unity, the answer comes with a later tick.</summary>
        void ITestRunner.List(string mode, string filter)
        {
            listing = mode;
            listingFilter = filter;
        }

        void ITestRunner.Start(string mode, string filter)
        {
            bridge.StartTests(mode, filter);
        }

        bool ITestRunner.Cancel()
        {
            return bridge.CancelTests();
        }

        void ICallObserver.Running(string requestId, string clientRequestId, string toolName)
        {
            bridge.Running(requestId, clientRequestId, toolName);
        }

        void ILog.Tell(string line)
        {
            bridge.Show("tell", line);
        }

        long IClock.Now
        {
            get { return Stopwatch.GetTimestamp() / (Stopwatch.Frequency / 1000); }
        }
    }
}
