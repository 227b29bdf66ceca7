using System;
using System.Collections.Generic;

namespace UnityMcp
{
    /// <summary>What the plugin needs from its Editor.</summary>
    public sealed class PluginParts
    {
        public string Version;
        public IEditorFacts Facts;
        public IStateStore Store;
        public IMainThread MainThread;
        public IConsoleSource Console;
        public ICompiler Compiler;
        public IProject Project;
        /// <summary>Null if the test framework is not installed.</summary>
        public ITestRunner TestRunner;
        public ICallObserver Observer;
        public IConnector Connector;
        public ILog Log;
        public IClock Clock;
        public Func<ServerAddress> FindServer;
        public Func<string> ReadToken;
        public Func<string> NewId;
        /// <summary>A random number from 0 to 1.</summary>
        public Func<double> Chance;
    }

    /// <summary>What a status window shows.</summary>
    public sealed class PluginStatus
    {
        public LinkState Link;
        public int Port;
        public string ServerVersion;
        public string LastError;
    }

    /// <summary>
    /// The whole plugin. Create it when the domain is loaded, call Tick on every update of the main thread, BeforeReload
    /// before the domain is unloaded and Quit when the Editor ends.
    /// </summary>
    public sealed class Plugin
    {
        const string StateKey = "UnityMcp.State";
        const string ConsoleKey = "UnityMcp.Console";

        readonly PluginParts parts;
        readonly Driver driver;
        readonly ConsoleBuffer console;
        JobBook jobs;
        CompileLog compiles;
        CompileJobs compileJobs;
        TestRuns testRuns;
        readonly List<Tool> tools = new List<Tool>();
        readonly RequestBook book;
        readonly RequestRunner requests;
        /// <summary>Nothing is known about a compile that ended before the plugin was there.</summary>
        bool isFirstStart;
        LastCompile toldCompile;
        string toldBook;
        int storedRevision;
        long storedAttempt;

        public Plugin(PluginParts parts)
        {
            this.parts = parts;
            var isDamaged = false;
            var saved = Load(StateKey, ref isDamaged);
            // An update of the package may have changed the form of what is stored.
            var isReadable = saved.Text("version") == parts.Version;
            console = MakeConsole(isReadable);
            var work = isReadable ? saved : Json.Object();
            Try(() => MakeJobs(work), () => MakeJobs(Json.Object()), ref isDamaged);
            MakeTools();
            book = new RequestBook(parts.Store, parts.NewId, IsJobActive);
            requests = new RequestRunner(tools, jobs, book, parts.Observer, Cancel);
            isFirstStart = !isReadable;
            toldCompile = compiles.Last;
            var hello = new HelloFields
            {
                PluginVersion = parts.Version,
                EditorInstanceId = parts.Facts.InstanceId,
                ProjectPath = parts.Facts.ProjectPath,
                ProjectName = parts.Facts.ProjectName,
                UnityVersion = parts.Facts.UnityVersion,
                LastCompile = compiles.Last
            };
            var fresh = Json.Object().With("connect_attempt_seq", saved.Integer("connect_attempt_seq", 0));
            Session session = null;
            var kept = isReadable && !isDamaged ? saved["session"] : fresh;
            Try(() => session = MakeSession(hello, kept), () => session = MakeSession(hello, fresh), ref isDamaged);
            if (isDamaged) book.Rename();
            hello.RequestBook = book.Name;
            toldBook = book.Name;
            driver = new Driver(session, parts.Connector, parts.MainThread, parts.Clock, parts.Log, parts.FindServer, parts.ReadToken);
            // What was saved belongs to the session from here on. It must not be found a second time.
            Store(null);
            Attach();
            // Before the first tick: an Editor without focus ticks only if it is woken for its jobs.
            driver.Apply(Input.Jobs(jobs.HasActive));
            driver.Apply(Input.Tick);
        }

        /// <summary>What is stored may be damaged. A plugin that does not start would be worse than one that has forgotten something.</summary>
        static void Try(Action restore, Action startFresh, ref bool isDamaged)
        {
            try
            {
                restore();
            }
            catch (Exception)
            {
                isDamaged = true;
                startFresh();
            }
        }

        void MakeJobs(Json saved)
        {
            jobs = new JobBook();
            jobs.Restore(saved["jobs"]);
            compiles = new CompileLog(parts.Clock, saved["compiles"]);
            compileJobs = new CompileJobs(jobs, compiles, parts.Compiler, parts.NewId, parts.Clock);
            if (parts.TestRunner != null) testRuns = new TestRuns(jobs, parts.TestRunner, parts.NewId, parts.Clock);
        }

        /// <summary>A buffer that does not go on with the old one gets a new name, so that old cursors do not name new entries.</summary>
        ConsoleBuffer MakeConsole(bool isReadable)
        {
            var isDamaged = false;
            var saved = isReadable ? Load(ConsoleKey, ref isDamaged) : Json.Object();
            ConsoleBuffer made = null;
            var newName = CursorName(parts.NewId());
            Try(() => made = new ConsoleBuffer(newName, saved), () => made = new ConsoleBuffer(newName, Json.Object()), ref isDamaged);
            return made;
        }

        Session MakeSession(HelloFields hello, Json saved)
        {
            return new Session(hello, ToolNames(), parts.NewId, parts.Chance, saved);
        }

        /// <summary>One row per tool that the server sends to Unity.</summary>
        void MakeTools()
        {
            tools.Add(Tool.Sync("read_console", call =>
            {
                var query = ConsoleQuery.Parse(call.Params);
                return () => console.Read(query, call.MaxMessageBytes);
            }));
            tools.AddRange(new ProjectTools(parts.Project).All);
            tools.Add(Tool.Sync("ping", call => Json.Object));
            tools.Add(Tool.Job(CompileJobs.ToolName, call => () => compileJobs.Submit(call.RequestId, call.ArrivedAt)));
            if (testRuns == null) return;
            tools.Add(Tool.Job(TestRuns.ToolName, call =>
            {
                var plan = TestPlan.Parse(call.Params);
                return () => testRuns.Submit(call.RequestId, plan);
            }));
        }

        /// <summary>The tools for the capability: those above, and those that the server answers or asks in other messages.</summary>
        List<string> ToolNames()
        {
            var names = new List<string> { "get_editor_state", "get_job_status", "cancel_job" };
            foreach (var tool in tools) names.Add(tool.Name);
            return names;
        }

        /// <summary>Short, because every entry that an agent reads has it.</summary>
        static string CursorName(string id)
        {
            uint hash = 2166136261;
            foreach (var character in id) hash = unchecked((hash ^ character) * 16777619);
            return "c" + hash.ToString("x8");
        }

        public PluginStatus Status
        {
            get
            {
                return driver.Look(session => new PluginStatus
                {
                    Link = session.Link,
                    Port = driver.Port,
                    ServerVersion = session.ServerVersion,
                    LastError = session.LastError
                });
            }
        }

        public void Reconnect()
        {
            driver.Apply(Input.Reconnect);
        }

        /// <summary>Main thread, on every update of the Editor.</summary>
        public void Tick()
        {
            var state = parts.Facts.State;
            TellChanges();
            driver.Apply(Input.State(state));
            if (isFirstStart && state == EditorState.Ready) HearOldErrors();
            compileJobs.Tick(state == EditorState.Ready);
            var maxMessageBytes = driver.Look(session => session.MaxMessageBytes);
            for (var count = 0; count < Limits.RequestsPerTick; count++)
            {
                var request = driver.TakeRequest();
                if (request == null) break;
                driver.Apply(Input.Answered(requests.Answer(request, maxMessageBytes)));
            }
            // Read again: a request or an import may have started a compile since.
            if (testRuns != null) testRuns.Tick(parts.Facts.State == EditorState.Ready);
            driver.Apply(Input.Jobs(jobs.HasActive));
            var attempt = driver.Look(session => session.ConnectAttemptSeq);
            if (Revision != storedRevision || attempt != storedAttempt) Store(null);
        }

        /// <summary>The errors of an Editor that was opened with broken scripts are told only by another compile.</summary>
        void HearOldErrors()
        {
            isFirstStart = false;
            if (compiles.Last == null && parts.Compiler.HasFailed) parts.Compiler.Compile();
        }

        /// <summary>Before the state: a server that learns that the Editor is ready must know the compile before it.</summary>
        void TellChanges()
        {
            if (compiles.Last != toldCompile) driver.Apply(Input.Compiled(compiles.Last));
            if (book.Name != toldBook) driver.Apply(Input.Book(book.Name));
            toldCompile = compiles.Last;
            toldBook = book.Name;
        }

        int Revision
        {
            get { return jobs.Revision + compiles.Revision; }
        }

        bool IsJobActive(string jobId)
        {
            var job = jobs.Find(jobId);
            return job != null && job.IsActive;
        }

        /// <summary>A compile cannot be cancelled.</summary>
        string Cancel(Job job)
        {
            var isTestRun = testRuns != null && job.ToolName == TestRuns.ToolName;
            return isTestRun ? testRuns.Cancel(job) : "rejected";
        }

        /// <summary>
        /// Main thread, before the domain is unloaded. Tells the server, waits for its close frame and stores everything that
        /// has not ended. Takes less than half a second.
        /// </summary>
        public void BeforeReload()
        {
            TellChanges();
            var session = driver.Stop(Input.Reload);
            // Not before: other threads log while the close handshake takes its time.
            Detach();
            Store(session);
            StoreConsole();
        }

        /// <summary>Main thread, when the Editor ends or a person switches the plugin off.</summary>
        public void Quit()
        {
            driver.Stop(Input.Quit);
            Detach();
            // If it is switched on again, its cursors must not repeat.
            StoreConsole();
        }

        void StoreConsole()
        {
            parts.Store.Set(ConsoleKey, console.Save().ToString());
        }

        void Attach()
        {
            parts.Console.Added += console.Add;
            parts.Console.Cleared += console.Clear;
            parts.Compiler.Started += console.CompileStarted;
            parts.Compiler.Started += compiles.Started;
            parts.Compiler.AssemblyFinished += console.AssemblyFinished;
            parts.Compiler.AssemblyFinished += compiles.AssemblyFinished;
            parts.Compiler.Finished += compiles.Finished;
            parts.Compiler.Abandoned += compiles.Abandoned;
        }

        void Detach()
        {
            parts.Console.Added -= console.Add;
            parts.Console.Cleared -= console.Clear;
            parts.Compiler.Started -= console.CompileStarted;
            parts.Compiler.Started -= compiles.Started;
            parts.Compiler.AssemblyFinished -= console.AssemblyFinished;
            parts.Compiler.AssemblyFinished -= compiles.AssemblyFinished;
            parts.Compiler.Finished -= compiles.Finished;
            parts.Compiler.Abandoned -= compiles.Abandoned;
        }

        /// <summary>Empty if nothing is stored, or nothing that can be read.</summary>
        Json Load(string key, ref bool isDamaged)
        {
            var text = parts.Store.Get(key);
            if (string.IsNullOrEmpty(text)) return Json.Object();
            try
            {
                var saved = JsonReader.Parse(text);
                if (saved.Kind == JsonKind.Object) return saved;
            }
            catch (JsonException)
            {
                // The same as any other value that is no object.
            }
            isDamaged = true;
            return Json.Object();
        }

        /// <param name="session">What the session keeps over a reload. Null while it runs: then only its count of attempts matters.</param>
        void Store(Json session)
        {
            storedRevision = Revision;
            storedAttempt = driver.Look(open => open.ConnectAttemptSeq);
            var kept = session ?? Json.Object().With("connect_attempt_seq", storedAttempt);
            var state = Json.Object().With("version", parts.Version).With("connect_attempt_seq", storedAttempt).With("session", kept);
            parts.Store.Set(StateKey, state.With("jobs", jobs.Save()).With("compiles", compiles.Save()).ToString());
        }
    }
}
