using System;
using System.Collections.Concurrent;
using System.Collections.Generic;
using System.Threading;
using System.Threading.Tasks;
using NUnit.Framework;

namespace UnityMcp.Tests
{
    /// <summary>A whole plugin with an Editor and a server that a test plays. The sockets are queues.</summary>
    public sealed class PluginFixture : IEditorFacts, IStateStore, IMainThread, IConsoleSource, ICallObserver, ILog, IClock, IConnector,
        IConnection
    {
        const int Timeout = 5000;

        readonly BlockingCollection<string> sent = new BlockingCollection<string>();
        readonly BlockingCollection<int> closes = new BlockingCollection<int>();
        readonly SemaphoreSlim isReading = new SemaphoreSlim(0);
        TaskCompletionSource<bool> mayConnect = new TaskCompletionSource<bool>();
        TaskCompletionSource<Received> next;
        int ids;

        public readonly Dictionary<string, string> Stored = new Dictionary<string, string>();
        public readonly List<string> Ran = new List<string>();
        public readonly List<string> Tokens = new List<string>();
        public readonly Queue<DialException> DialProblems = new Queue<DialException>();
        public readonly FakeCompiler Compiler = new FakeCompiler();
        public readonly FakeProject Project = new FakeProject();
        public FakeRunner Runner = new FakeRunner { IsActive = false };
        public bool HasTests = true;
        public bool AnswersClose = true;
        public bool FailsToSend;
        /// <summary>The end of a socket arrives some time after it was aborted.</summary>
        public bool IsAbortSlow;
        public Exception Failure;
        public string Version = "0.1.0";
        public Action OnClose = () => { };
        public Plugin Plugin;
        public int Wakes;

        public event Action<ConsoleEntry> Added;
        public event Action Cleared;

        public PluginFixture Load()
        {
            mayConnect = new TaskCompletionSource<bool>();
            Plugin = new Plugin(new PluginParts
            {
                Version = Version,
                Facts = this,
                Store = this,
                MainThread = this,
                Console = this,
                Compiler = Compiler,
                Project = Project,
                TestRunner = HasTests ? Runner : null,
                Observer = this,
                Connector = this,
                Log = this,
                Clock = this,
                FindServer = () => new ServerAddress { Port = 1 },
                ReadToken = () => "secret",
                NewId = () => "id-" + ++ids,
                Chance = () => 0.5
            });
            return this;
        }

        /// <summary>Loads the plugin, and plays the server until it has accepted the session.</summary>
        public PluginFixture Open()
        {
            Load();
            Plugin.Tick();
            mayConnect.SetResult(true);
            Hello = Take("hello");
            Capability = Take("capability");
            Receive("\"type\":\"hello\",\"server_version\":\"9\",\"max_message_bytes\":1048576");
            return this;
        }

        public Json Hello { get; private set; }
        public Json Capability { get; private set; }

        /// <summary>The next frame of the plugin that has this type.</summary>
        public Json Take(string type)
        {
            while (true)
            {
                string frame;
                Assert.IsTrue(sent.TryTake(out frame, Timeout), "no " + type);
                var message = JsonReader.Parse(frame);
                if (message.Text("type") == type) return message;
            }
        }

        public int TakeClose()
        {
            int code;
            Assert.IsTrue(closes.TryTake(out code, Timeout), "no close");
            return code;
        }

        /// <summary>The plugin has handled the frame when this returns.</summary>
        public void Receive(string fields)
        {
            Deliver(new Received { Text = "{\"protocol_version\":1," + fields + "}" });
            Assert.IsTrue(isReading.Wait(Timeout), "the frame was not handled");
            isReading.Release();
        }

        void Deliver(Received received)
        {
            Assert.IsTrue(isReading.Wait(Timeout), "nobody reads");
            next.SetResult(received);
        }

        /// <summary>Sends a request and lets the main thread answer it.</summary>
        public Json Ask(string answerType, string fields)
        {
            Receive(fields);
            Plugin.Tick();
            return Take(answerType);
        }

        public Json Execute(string requestId, string tool, string parameters)
        {
            return Ask("result", Request("execute", requestId, tool, parameters));
        }

        public static string Request(string type, string requestId, string tool, string parameters, string clientRequestId = null)
        {
            var client = clientRequestId == null ? "" : ",\"client_request_id\":\"" + clientRequestId + "\"";
            return "\"type\":\"" + type + "\",\"request_id\":\"" + requestId + "\",\"tool_name\":\"" + tool + "\",\"params\":" + parameters
                + ",\"timeout_ms\":1" + client;
        }

        /// <summary>The capability of a server that deduplicates these tools.</summary>
        public PluginFixture Deduplicate(params string[] tools)
        {
            var rows = Array.ConvertAll(tools, tool => "{\"name\":\"" + tool + "\",\"deduplicated\":true}");
            Receive("\"type\":\"capability\",\"tools\":[{\"name\":\"ping\"}," + string.Join(",", rows) + "]");
            return this;
        }

        public void Ticks(int count)
        {
            for (var tick = 0; tick < count; tick++) Plugin.Tick();
        }

        public void Log(string type, string message)
        {
            if (Added != null) Added(new ConsoleEntry { Type = type, Message = message });
        }

        public void Clear()
        {
            if (Cleared != null) Cleared();
        }

        public bool IsListenedTo
        {
            get { return Added != null || Cleared != null || Compiler.IsListenedTo; }
        }

        public string InstanceId { get { return "editor"; } }
        public string ProjectPath { get { return "/p"; } }
        public string ProjectName { get { return "p"; } }
        public string UnityVersion { get { return "u"; } }
        public EditorState State { get; set; }
        public long Now { get; set; }

        public string Get(string key)
        {
            return Stored.ContainsKey(key) ? Stored[key] : null;
        }

        public void Set(string key, string value)
        {
            Stored[key] = value;
        }

        public void Wake()
        {
            Wakes++;
        }

        public void Running(string requestId, string clientRequestId, string toolName)
        {
            if (Failure != null) throw Failure;
            Ran.Add(requestId + " " + toolName);
        }

        public void Tell(string line)
        {
        }

        /// <summary>A socket opens after the first tick, so that the hello always has the state of the test.</summary>
        public async Task<IConnection> Connect(int port, string token)
        {
            await mayConnect.Task.ConfigureAwait(false);
            Tokens.Add(token);
            if (DialProblems.Count > 0) throw DialProblems.Dequeue();
            return this;
        }

        public Task Send(string text)
        {
            if (FailsToSend) throw new System.IO.IOException("broken");
            sent.Add(text);
            return Task.FromResult(true);
        }

        public Task Close(int code)
        {
            closes.Add(code);
            OnClose();
            if (AnswersClose) Task.Run(() => Deliver(new Received { CloseCode = code }));
            return Task.FromResult(true);
        }

        public Task<Received> Receive()
        {
            next = new TaskCompletionSource<Received>();
            isReading.Release();
            return next.Task;
        }

        public void Abort()
        {
            if (IsAbortSlow) return;
            if (isReading.Wait(0)) next.SetResult(new Received());
        }
    }
}
