using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Threading;
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
        const string Version = "0.2.0";
        const string CompilerAssembly = "Assembly-CSharp";

        Bridge bridge;
        DisplayQueue display;
        EditorState state;
        readonly object idle = new object();
        bool canWake;
        bool isWoken;
        bool isInterrupted;
        Plugin plugin;
        HostConnector connector;
        /// <summary>The mode and the job of a list that Unity owes; null if there is none.</summary>
        string listing;
        string listingJob;

        public event Action<ConsoleEntry> Added;
        public event Action Cleared;
        public event Action Started;
        public event Action<string, IList<ScriptMessage>> AssemblyFinished;
        public event Action Finished;

        /// <summary>Here every compile ends.</summary>
        public event Action Abandoned
        {
            add { }
            remove { }
        }

        public ITestEvents Events { private get; set; }
        /// <summary>The main thread does not tick by itself.</summary>
        public bool TicksOnlyWoken { get; private set; }

        public override object InitializeLifetimeService()
        {
            return null;
        }

        public void Load(Bridge outside)
        {
            bridge = outside;
            canWake = outside.CanWake;
            outside.Loads++;
            TicksOnlyWoken = outside.TicksOnlyWoken;
            display = new DisplayQueue(outside);
            connector = new HostConnector(new WebSocketConnector(), outside, display);
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
                ReadToken = ReadToken,
                NewId = () => Guid.NewGuid().ToString(),
                Chance = random.NextDouble
            });
        }

        ServerAddress FindServer()
        {
            return bridge.Port != 0 ? new ServerAddress { Port = bridge.Port } : ServerFile.Find(bridge.ProjectPath, Limits.DefaultPort);
        }

        string ReadToken()
        {
            try
            {
                return TokenFile.Read();
            }
            catch (System.IO.IOException problem)
            {
                bridge.ConnectionFailed(problem.Message);
                throw;
            }
        }

        /// <param name="now">The state of the Editor.</param>
        public void Tick(EditorState now)
        {
            state = now;
            if (listing != null)
            {
                var mode = listing;
                listing = null;
                Events.Listed(listingJob, mode, bridge.TestNames(mode));
            }
            plugin.Tick();
        }

        /// <summary>
        /// The main thread has nothing to do for so many milliseconds. Requests of the server run meanwhile, without a call
        /// between the domains. True if the next tick of the Editor is due afterwards.
        /// </summary>
        public bool Idle(int time)
        {
            var end = Editor.Now + time;
            if (TicksOnlyWoken) return WaitForWork(end);
            while (WaitForWork(end)) plugin.Tick();
            return true;
        }

        /// <summary>False if the time is over, or if the Editor has something to do itself.</summary>
        bool WaitForWork(long end)
        {
            lock (idle)
            {
                while (!isWoken && !isInterrupted)
                {
                    var left = end - Editor.Now;
                    if (left <= 0) return false;
                    Monitor.Wait(idle, (int)left);
                }
                if (isInterrupted) return isInterrupted = false;
                isWoken = false;
                return true;
            }
        }

        /// <summary>From any thread: the Editor has something to do.</summary>
        public void Interrupt()
        {
            lock (idle)
            {
                isInterrupted = true;
                Monitor.Pulse(idle);
            }
        }

        /// <summary>Waits until the Editor has seen every frame.</summary>
        public void Flush()
        {
            display.Flush();
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
            var added = Added;
            if (added != null) added(new ConsoleEntry { Type = type, Message = message, StackTrace = stackTrace });
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
            if (!canWake) return;
            lock (idle)
            {
                isWoken = true;
                Monitor.Pulse(idle);
            }
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
            get { return state; }
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
            get { return bridge.IsDirty ? "The active scene has unsaved changes, so no test run can start. Ask the user to save or discard them." : null; }
        }

        /// <summary>As in Unity, the answer comes with a later tick.</summary>
        void ITestRunner.List(string jobId, string mode)
        {
            listing = mode;
            listingJob = jobId;
        }

        void ITestRunner.Start(string mode, IList<string> names)
        {
            bridge.StartTests(mode, names == null ? null : new List<string>(names).ToArray());
        }

        bool ITestRunner.Cancel()
        {
            return bridge.CancelTests();
        }

        /// <summary>Here only the plugin starts runs.</summary>
        void ITestRunner.Forget()
        {
        }

        void ICallObserver.Running(string requestId, string clientRequestId, string toolName)
        {
            bridge.Running(requestId, clientRequestId, toolName);
        }

        void ILog.Tell(string line)
        {
            display.Show("tell", line);
        }

        long IClock.Now
        {
            get { return Stopwatch.GetTimestamp() / (Stopwatch.Frequency / 1000); }
        }
    }
}
