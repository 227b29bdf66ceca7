using System;
using System.Collections.Concurrent;
using System.Collections.Generic;
using System.Diagnostics;
using System.Threading;
using UnityMcp;

namespace UnityMcp.Host
{
    /// <summary>
    /// Plays a Unity Editor: a main loop, a domain that reloads, a console, a compiler and a test runner. Everything except
    /// the marked methods runs on the main loop.
    /// </summary>
    public sealed class Editor
    {
        enum Activity { Ready, Compiling, Reloading, NotRunning }

        const int FocusedTick = 10;
        const int UnfocusedTick = 100;
        const long AwayTime = 1000;
        const long RestartTime = 5000;
        const long FreezeTime = 10000;

        public readonly Options Options;
        public readonly Display Display;
        public readonly Books Books = new Books();
        public TestPlayer Tests { get; private set; }
        public Scripts Scripts { get; private set; }
        public string Project { get; private set; }
        public string InstanceId { get; private set; }
        /// <summary>Until when no socket can be opened.</summary>
        public long AwayUntil;

        readonly ConcurrentQueue<Word> words = new ConcurrentQueue<Word>();
        readonly Queue<Word> postponed = new Queue<Word>();
        readonly AutoResetEvent wake = new AutoResetEvent(false);
        readonly ManualResetEventSlim interrupt = new ManualResetEventSlim();
        readonly PluginDomain domain = new PluginDomain();
        /// <summary>The process of the Editor is about to end.</summary>
        volatile bool isKilled;
        Bridge bridge;
        volatile Activity activity = Activity.NotRunning;
        long activityUntil;
        Json compileErrors;
        /// <summary>The plugin has asked for a compile. It starts after the tick, as in Unity.</summary>
        bool isCompileWanted;
        long playReload;
        bool isTickDue;
        /// <summary>Until when the main thread is stuck; 0 if it runs.</summary>
        long stuckUntil;
        int editors;
        int entries;
        int failures;
        int? exitCode;

        public Editor(Options options, Display display)
        {
            Options = options;
            Display = display;
            Project = options.Project;
        }

        public static long Now
        {
            get { return Stopwatch.GetTimestamp() / (Stopwatch.Frequency / 1000); }
        }

        public string Problem { get; private set; }

        public EditorState State
        {
            get
            {
                if (activity == Activity.Compiling) return EditorState.Compiling;
                return activity == Activity.Ready ? EditorState.Ready : EditorState.Reloading;
            }
        }

        bool IsStuck
        {
            get { return stuckUntil != 0; }
        }

        /// <summary>Runs until quit, and returns the exit code.</summary>
        public int Run()
        {
            StartEditor();
            while (exitCode == null)
            {
                Word word;
                while (exitCode == null && words.TryDequeue(out word)) Obey(word);
                Expire();
                if (domain.Inside != null && !IsStuck && isTickDue) Tick();
                if (exitCode == null) Rest();
            }
            if (domain.Inside != null) domain.Inside.Quit();
            return exitCode.Value;
        }

        void Tick()
        {
            var plugin = domain.Inside;
            plugin.Tick(State);
            Tests.Step(Now, activity == Activity.Ready, plugin);
            if (isCompileWanted) BeginCompile(Options.CompileTime, null);
            if (playReload == 0) return;
            var time = playReload;
            playReload = 0;
            Tell("entering play mode");
            BeginReload(time);
        }

        void Rest()
        {
            if (domain.Inside != null && !IsStuck) isTickDue = domain.Inside.Idle(TimeToNext());
            else wake.WaitOne(TimeToNext());
        }

        int TimeToNext()
        {
            long time = Options.IsUnfocused ? UnfocusedTick : FocusedTick;
            if (activity != Activity.Ready) time = Math.Min(time, activityUntil - Now);
            if (activity == Activity.Ready && !IsStuck && Tests.NextIn != null) time = Math.Min(time, Tests.NextIn.Value);
            return (int)Math.Max(0, time);
        }

        /// <summary>From any thread.</summary>
        public void Wake()
        {
            wake.Set();
            domain.Interrupt();
        }

        /// <summary>From the thread that reads stdin. The network and the end do not wait for the main loop.</summary>
        public void Give(Word word)
        {
            if (word.Name == "drop" || word.Name == "close" || word.Name == "goaway") Leave(word);
            else words.Enqueue(word);
            if (word.Name == "restart" || word.Name == "project") isKilled = true;
            if (isKilled || word.Name == "quit") interrupt.Set();
            Wake();
        }

        void Leave(Word word)
        {
            var time = word.Time ?? AwayTime;
            Interlocked.Exchange(ref AwayUntil, Now + time);
            Tell("disconnected for " + Word.Show(time));
            domain.Disconnect(word.Name == "drop" ? 0 : word.Name == "close" ? 1000 : 1001);
        }

        void Obey(Word word)
        {
            switch (word.Name)
            {
                case "compile":
                case "compile fails":
                case "reload":
                case "play":
                    ObeyOnMainThread(word);
                    break;
                case "restart":
                    Restart(word.Time ?? RestartTime);
                    break;
                case "project":
                    Project = word.Text == "" ? null : word.Text;
                    Restart(AwayTime);
                    break;
                case "freeze":
                    stuckUntil = Now + (word.Time ?? FreezeTime);
                    Tell("the main thread is stuck for " + Word.Show(word.Time ?? FreezeTime));
                    break;
                case "dialog":
                    stuckUntil = long.MaxValue;
                    Tell("a modal dialog is open");
                    break;
                case "dismiss":
                    Resume();
                    break;
                case "log":
                    Log(word.Type, word.Text);
                    Tell("added to the console: " + word.Type);
                    break;
                case "edit":
                    Scripts.Edit(word.Count);
                    Tell("the scripts have changed on disk" + (word.Count > 0 ? ", with " + word.Count + " errors" : ""));
                    break;
                case "dirty":
                    bridge.IsDirty = true;
                    Tell("the active scene has unsaved changes");
                    break;
                case "clear":
                    entries = 0;
                    domain.Pass(plugin => plugin.Clear());
                    Tell("the console is empty");
                    break;
                case "tests":
                    Options.Suite.FailFirst(word.Count);
                    Tell(word.Count + " tests will fail");
                    break;
                case "status":
                    Describe();
                    break;
                case "quit":
                    exitCode = 0;
                    break;
            }
        }

        /// <summary>What the main thread does itself must wait while it is stuck.</summary>
        void ObeyOnMainThread(Word word)
        {
            if (IsStuck) postponed.Enqueue(word);
            else if (domain.Inside == null) Tell("ignored: the domain is not loaded");
            else if (word.Name == "reload" || word.Name == "play")
            {
                if (word.Name == "play") Tell("entering play mode");
                BeginReload(word.Time ?? (Options.ReloadTime == 0 ? AwayTime : Options.ReloadTime));
            }
            else BeginCompile(word.Time ?? Options.CompileTime, word.Name == "compile fails" ? word.Count : Scripts.Edited ?? 0);
        }

        /// <param name="errors">How many errors a word wants; null: as many as before, unless a script was edited.</param>
        void BeginCompile(long time, int? errors)
        {
            isCompileWanted = false;
            if (activity != Activity.Ready) return;
            Tell("compiling for " + Word.Show(time));
            compileErrors = Scripts.Compile(errors);
            activity = Activity.Compiling;
            activityUntil = Now + time;
            domain.Inside.StartCompile();
        }

        /// <summary>From the plugin.</summary>
        /// <param name="isForced">Even if nothing has changed.</param>
        public void WantCompile(bool isForced)
        {
            isCompileWanted |= isForced || Scripts.HasChanged;
            Wake();
        }

        void Expire()
        {
            if (IsStuck && stuckUntil <= Now) Resume();
            if (activity == Activity.Ready || activityUntil > Now || IsStuck) return;
            switch (activity)
            {
                case Activity.Compiling:
                    FinishCompile();
                    break;
                case Activity.Reloading:
                    LoadDomain();
                    break;
                case Activity.NotRunning:
                    StartEditor();
                    Tell("the Editor has restarted");
                    break;
            }
        }

        void FinishCompile()
        {
            var count = compileErrors.Items.Count;
            entries += count;
            domain.Inside.FinishCompile(compileErrors.ToString());
            if (count == 0 && Options.ReloadTime > 0)
            {
                BeginReload(Options.ReloadTime);
                return;
            }
            if (count > 0) Tell("the compile failed with " + count + " errors");
            activity = Activity.Ready;
        }

        void BeginReload(long time)
        {
            Tell("reloading the domain for " + Word.Show(time));
            activity = Activity.Reloading;
            activityUntil = Now + time;
            domain.Inside.BeforeReload();
            domain.Unload();
            Books.Reloaded();
        }

        void LoadDomain()
        {
            activity = Activity.Ready;
            isTickDue = domain.Load(bridge);
        }

        void StartEditor()
        {
            editors++;
            InstanceId = "host-" + Options.Seed + "-" + editors;
            bridge = new Bridge(this);
            Tests = new TestPlayer(Options.Suite);
            Tests.Ended += Tell;
            Scripts = new Scripts(Project);
            isCompileWanted = false;
            isKilled = false;
            interrupt.Reset();
            LoadDomain();
            entries = 0;
            Log("log", "Game started in 0.42 s");
            Log("log", "Loaded scene 'Meadow' with 128 objects");
            Log("warning", "Assets/Scripts/Player.cs(31,13): warning CS0168: The variable 'hit' is declared but never used");
            Log("exception", "NullReferenceException: Object reference not set to an instance of an object");
            Log("log", "Autosave done");
        }

        /// <summary>The process of the Editor ends without a word.</summary>
        void Restart(long time)
        {
            Tell("the Editor has quit and restarts in " + Word.Show(time));
            domain.Disconnect(0);
            activity = Activity.NotRunning;
            activityUntil = Now + time;
            stuckUntil = 0;
            playReload = 0;
            postponed.Clear();
            domain.Forget();
            Tests.Forget();
            domain.Unload();
            Books.Restarted();
        }

        void Resume()
        {
            if (!IsStuck) return;
            stuckUntil = 0;
            Tell("the main thread runs again");
            while (postponed.Count > 0 && !IsStuck) ObeyOnMainThread(postponed.Dequeue());
        }

        void Log(string type, string text)
        {
            entries++;
            var hasStack = type != "log" && type != "warning";
            var stackTrace = hasStack ? "Enemy.Update () (at Assets/Scripts/Enemy.cs:42)" : "";
            domain.Pass(plugin => plugin.Log(type, text, stackTrace));
        }

        /// <summary>From the plugin, when a tool runs on the main thread.</summary>
        public void RunTool(string requestId, string clientRequestId, string toolName)
        {
            if (Options.ToolTime > 0) interrupt.Wait((int)Options.ToolTime);
            // A process that ends before the tool is done neither runs it nor answers.
            if (isKilled) domain.Disconnect(0);
            else Books.Executed(requestId, clientRequestId, toolName);
        }

        public void StartTests(string mode, string[] names)
        {
            var count = Tests.Start(Now, mode, names);
            Books.TestRunStarted();
            Wake();
            Tell("running " + count + " tests");
            if (mode == "play") playReload = Options.PlayReloadTime;
        }

        void Describe()
        {
            domain.Flush();
            var state = activity == Activity.NotRunning ? "not running" : Wire.Name(State);
            var link = domain.Inside == null ? "not connected" : domain.Inside.Link;
            var tests = Tests.IsActive ? "tests are running" : "no job running";
            Tell(state + (IsStuck ? ", main thread stuck" : "") + ", " + link + "; " + entries + " console entries; " + tests + "; " + Books.Summary);
            ShowBooks();
        }

        public void ShowBooks()
        {
            domain.Flush();
            Display.Show("books", Books.ToJson());
        }

        void Tell(string line)
        {
            Display.Show("tell", line);
        }

        /// <summary>From the plugin's socket thread. A connection that the Editor itself has ended does not count.</summary>
        public void CountFailure(string problem)
        {
            var isOwnDoing = State == EditorState.Reloading || exitCode != null || Interlocked.Read(ref AwayUntil) > Now;
            if (isOwnDoing) return;
            var failed = Interlocked.Increment(ref failures) - 1;
            if (Options.ReconnectMax == null || failed < Options.ReconnectMax) return;
            Problem = "no connection: " + problem;
            exitCode = 3;
            Wake();
        }

        public void ResetFailures()
        {
            Interlocked.Exchange(ref failures, 0);
        }
    }
}
