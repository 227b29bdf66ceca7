using System;
using System.Collections.Generic;

namespace UnityMcp
{
    /// <summary>
    /// The connection with the server, without sockets, threads or clocks. Call Handle with every input and do what it
    /// returns. Call it with Input.Tick at NextDeadline.
    /// </summary>
    public sealed class Session
    {
        readonly HelloFields hello;
        readonly IList<string> tools;
        readonly Func<string> newId;
        readonly Backoff backoff;
        readonly Inbox inbox = new Inbox();
        readonly List<Answer> unsent = new List<Answer>();
        HashSet<string> deduplicated = new HashSet<string>();
        List<Output> outputs = new List<Output>();
        EditorState editorState = EditorState.Reloading;
        long dialAt;
        /// <summary>While Greeting: when the server's hello is too late.</summary>
        long greetBy;
        long wakeAt;
        /// <summary>When editorState began; null before the first input.</summary>
        long? stateSince;
        /// <summary>
        /// Whether the Editor is woken because it is not ready: only a tick tells that it is, an Editor without focus may not tick by
        /// itself, and until then calls wait in the server.
        /// </summary>
        bool isWokenToReady = true;
        long seq;
        int attempt;
        bool isWithToken;
        bool areJobsActive;
        bool isCloseComplete = true;
        /// <summary>Another connection has replaced this one, and no person has asked for a new one since.</summary>
        bool isReplaced;
        /// <summary>A person has asked for a new connection, and the end of the old one has not arrived yet.</summary>
        bool isReconnecting;

        public LinkState Link { get; private set; }
        public int MaxMessageBytes { get; private set; }
        public string ServerVersion { get; private set; }
        /// <summary>Why there is no connection; null while there is one.</summary>
        public string LastError { get; private set; }

        /// <param name="hello">What never changes in this domain. The session fills in the rest.</param>
        /// <param name="saved">What Save returned before the domain reload, or null.</param>
        public Session(HelloFields hello, IList<string> tools, Func<string> newId, Func<double> chance, Json saved)
        {
            this.hello = hello;
            this.tools = tools;
            this.newId = newId;
            backoff = new Backoff(chance);
            Link = LinkState.Away;
            MaxMessageBytes = Limits.MessageBytesDefault;
            Restore(saved ?? Json.Object());
        }

        void Restore(Json saved)
        {
            hello.PluginSessionId = saved.Text("plugin_session_id") ?? newId();
            hello.ConnectAttemptSeq = saved.Integer("connect_attempt_seq", 0);
            inbox.Restore(saved["begun"], saved["waiting"]);
            if (saved["replaced"] != null) OnReplaced();
            if (saved["unsent"] == null) return;
            foreach (var answer in saved["unsent"].Items)
                unsent.Add(new Answer { RequestId = answer.Text("request_id"), Frame = answer.Text("frame") });
        }

        /// <summary>Two plugins that replace each other would never stop, so a person decides.</summary>
        void OnReplaced()
        {
            isReplaced = true;
            Link = LinkState.Replaced;
            LastError = "Another connection of this Editor has replaced this one. Use Reconnect to connect again.";
        }

        /// <summary>
        /// What must survive a domain reload. If the close handshake did not complete, a request may be lost on its way.
        /// Then the session id changes, the server ends the calls that it has sent, and they must not run later.
        /// </summary>
        public Json Save()
        {
            var saved = Json.Object().With("connect_attempt_seq", hello.ConnectAttemptSeq).With("begun", inbox.SaveBegun());
            if (isReplaced) saved.With("replaced", true);
            if (!isCloseComplete) return saved;
            var answers = Json.Array();
            foreach (var answer in unsent)
                answers.Add(Json.Object().With("request_id", answer.RequestId).With("frame", answer.Frame));
            return saved.With("plugin_session_id", hello.PluginSessionId).With("waiting", inbox.SaveWaiting()).With("unsent", answers);
        }

        public long ConnectAttemptSeq
        {
            get { return hello.ConnectAttemptSeq; }
        }

        public long? NextDeadline
        {
            get
            {
                if (Link == LinkState.Ended || Link == LinkState.Leaving) return null;
                var link = Link == LinkState.Away ? dialAt : Link == LinkState.Greeting ? greetBy : long.MaxValue;
                var next = Math.Min(link, HasOpenWork ? wakeAt : long.MaxValue);
                return next == long.MaxValue ? (long?)null : next;
            }
        }

        bool HasOpenWork
        {
            get { return inbox.IsBusy || areJobsActive || isWokenToReady; }
        }

        bool IsConnected
        {
            get { return Link == LinkState.Open || Link == LinkState.Greeting; }
        }

        /// <summary>The next request for the main thread, or null. Nothing runs while scripts compile or reload.</summary>
        public ServerMessage TakeRequest()
        {
            return editorState == EditorState.Ready && Link != LinkState.Ended ? inbox.Take() : null;
        }

        public List<Output> Handle(long now, Input input)
        {
            Expire(now);
            switch (input.Kind)
            {
                case InputKind.Connected:
                    if (input.Attempt == attempt && Link == LinkState.Dialing) OnConnected(now);
                    else outputs.Add(new Output { Kind = OutputKind.Abort, Attempt = input.Attempt });
                    break;
                case InputKind.DialFailed:
                    if (input.Attempt == attempt && Link == LinkState.Dialing) OnDialFailed(now, input);
                    break;
                case InputKind.Frame:
                    if (input.Attempt == attempt && Link != LinkState.Ended) OnFrame(now, input.Text);
                    break;
                case InputKind.Closed:
                    if (input.Attempt == attempt) OnClosed(now, input);
                    break;
                case InputKind.State:
                    OnState(now, input.EditorState);
                    break;
                case InputKind.Compiled:
                    hello.LastCompile = input.LastCompile;
                    SendStatus(now);
                    break;
                case InputKind.Book:
                    hello.RequestBook = input.Text;
                    break;
                case InputKind.Answered:
                    OnAnswered(input.Message);
                    break;
                case InputKind.Jobs:
                    if (input.Flag && !HasOpenWork) wakeAt = now + Limits.WakeInterval;
                    areJobsActive = input.Flag;
                    break;
                case InputKind.Reconnect:
                    OnReconnect();
                    break;
                case InputKind.Reload:
                    OnState(now, EditorState.Reloading);
                    Leave(1001);
                    break;
                case InputKind.Quit:
                    Leave(1000);
                    break;
            }
            var done = outputs;
            outputs = new List<Output>();
            return done;
        }

        void Expire(long now)
        {
            if (Link == LinkState.Away && dialAt <= now) Dial(false);
            if (Link == LinkState.Greeting && greetBy <= now) GiveUpGreeting(now);
            stateSince = stateSince ?? now;
            isWokenToReady = editorState != EditorState.Ready && now - stateSince < Limits.WakeToReadyMax;
            if (HasOpenWork && wakeAt <= now && Link != LinkState.Ended) Wake(now);
        }

        /// <summary>A peer that says nothing would not answer a close frame either.</summary>
        void GiveUpGreeting(long now)
        {
            outputs.Add(new Output { Kind = OutputKind.Abort, Attempt = attempt });
            GoAway(now, "The server accepted the connection but sent no hello. Restart it, or check whether another program uses its port.", 0);
        }

        void Wake(long now)
        {
            wakeAt = now + Limits.WakeInterval;
            outputs.Add(new Output { Kind = OutputKind.Wake });
        }

        void Dial(bool withToken)
        {
            Link = LinkState.Dialing;
            isWithToken = withToken;
            isReconnecting = false;
            attempt++;
            outputs.Add(new Output { Kind = OutputKind.Dial, Attempt = attempt, WithToken = withToken });
        }

        void OnConnected(long now)
        {
            Link = LinkState.Greeting;
            greetBy = now + Limits.GreetingTimeout;
            seq = 0;
            deduplicated.Clear();
            hello.ConnectAttemptSeq++;
            hello.RunningRequestId = inbox.RunningRequestId;
            Send(Wire.Hello(hello, editorState, now));
            Send(Wire.Capability(tools));
        }

        void OnDialFailed(long now, Input input)
        {
            // The token goes only to a server that has just asked for it.
            if (input.Problem == DialProblem.TokenRequired && !isWithToken)
            {
                Dial(true);
                return;
            }
            GoAway(now, input.Text, 0);
        }

        void GoAway(long now, string problem, long waitMin)
        {
            if (problem != null && problem != LastError) Tell(problem);
            LastError = problem ?? LastError;
            Link = LinkState.Away;
            dialAt = now + Math.Max(backoff.NextWait(), waitMin);
        }

        void OnFrame(long now, string text)
        {
            ServerMessage message;
            try
            {
                message = Wire.Read(text);
            }
            catch (WireException problem)
            {
                Tell("The server sent a message that the plugin does not understand: " + problem.Message);
                var code = problem.RequestId == null ? Wire.InvalidRequest : Wire.InvalidParams;
                if (IsConnected) Send(Wire.Error(problem.RequestId, code, problem.Message));
                return;
            }
            if (message.IsRequest) OnRequest(now, message);
            else if (message.Type == "ping" && IsConnected) Send(Wire.Pong(editorState, ++seq));
            else if (message.Type == "hello") OnWelcome(message);
            else if (message.Type == "capability") deduplicated = message.Deduplicated;
            else if (message.Type == "error") OnError(now, message.ErrorText ?? "The server reports an error.");
        }

        void OnRequest(long now, ServerMessage request)
        {
            request.ArrivedAt = now;
            request.IsDeduplicated = request.ClientRequestId != null && request.ToolName != null && deduplicated.Contains(request.ToolName);
            if (inbox.Arrive(request)) Wake(now);
            else Tell("The request " + request.RequestId + " arrived again and is ignored.");
        }

        void OnWelcome(ServerMessage message)
        {
            if (Link != LinkState.Greeting) return;
            Link = LinkState.Open;
            ServerVersion = message.ServerVersion;
            MaxMessageBytes = (int)Math.Max(Limits.MessageBytesMin, Math.Min(message.MaxMessageBytes, Limits.ReceiveBytesMax));
            LastError = null;
            backoff.Reset();
            var answers = unsent.ToArray();
            unsent.Clear();
            foreach (var answer in answers) SendAnswer(answer);
        }

        /// <summary>Before its hello, an error of the server means that it rejects this Editor.</summary>
        void OnError(long now, string text)
        {
            if (Link != LinkState.Greeting)
            {
                Tell("The server reports: " + text);
                return;
            }
            var problem = text == Wire.AlreadyActive
                ? "Another Unity Editor is connected to the server on this port. Close it, or give this project its own port."
                : "The server rejects this Editor: " + text;
            outputs.Add(new Output { Kind = OutputKind.Close, Attempt = attempt, Code = 1000 });
            GoAway(now, problem, Limits.RefusedWait);
        }

        void OnClosed(long now, Input input)
        {
            if (input.Unsent != null) unsent.InsertRange(0, input.Unsent);
            var isLeaving = Link == LinkState.Leaving;
            if (!isLeaving && !IsConnected) return;
            // The server gives up a request that has blocked Unity for too long. What has not started is forgotten.
            if (input.Code == 4408 && inbox.DropUnstarted()) hello.PluginSessionId = newId();
            if (input.Code == 1000 && input.Text == Wire.Replaced)
            {
                OnReplaced();
                Tell(LastError);
            }
            if (isLeaving)
            {
                isCloseComplete = input.Code != 0;
                Link = LinkState.Ended;
                return;
            }
            if (isReplaced) return;
            if (isReconnecting) Dial(false);
            else GoAway(now, "The connection is lost" + (input.Text.Length > 0 ? ": " + input.Text : "."), 0);
        }

        void OnState(long now, EditorState state)
        {
            if (state == editorState) return;
            if (!HasOpenWork) wakeAt = now + Limits.WakeInterval;
            editorState = state;
            stateSince = now;
            isWokenToReady = state != EditorState.Ready;
            SendStatus(now);
        }

        void SendStatus(long now)
        {
            if (IsConnected) Send(Wire.EditorStatus(editorState, ++seq, hello.LastCompile, now));
        }

        void OnAnswered(Json message)
        {
            inbox.Finish();
            SendAnswer(new Answer { RequestId = message.Text("request_id"), Frame = message.ToString() });
        }

        /// <summary>Only a connection that the server has accepted gets answers. The others wait for the next one.</summary>
        void SendAnswer(Answer answer)
        {
            if (Link != LinkState.Open)
            {
                unsent.Add(answer);
                return;
            }
            var isTooLarge = JsonWriter.Bytes(answer.Frame) > MaxMessageBytes;
            var frame = isTooLarge ? TooLarge(answer.RequestId) : answer.Frame;
            outputs.Add(new Output { Kind = OutputKind.Send, Attempt = attempt, Text = frame, Answer = answer });
        }

        /// <summary>The frame of a saved answer may be made for a server with a higher limit.</summary>
        static string TooLarge(string requestId)
        {
            return Wire.Error(requestId, Wire.UnityExecution, "The answer is larger than the server accepts. Ask for less.").ToString();
        }

        /// <summary>A socket that hangs would not answer a close frame, so it is aborted. Its end starts the next attempt.</summary>
        void OnReconnect()
        {
            backoff.Reset();
            isReplaced = false;
            isReconnecting = IsConnected;
            if (IsConnected) outputs.Add(new Output { Kind = OutputKind.Abort, Attempt = attempt });
            else if (Link == LinkState.Away || Link == LinkState.Replaced) Dial(false);
        }

        void Leave(int code)
        {
            if (!IsConnected)
            {
                if (Link == LinkState.Dialing) outputs.Add(new Output { Kind = OutputKind.Abort, Attempt = attempt });
                Link = LinkState.Ended;
                return;
            }
            isCloseComplete = false;
            Link = LinkState.Leaving;
            outputs.Add(new Output { Kind = OutputKind.Close, Attempt = attempt, Code = code });
        }

        void Send(Json message)
        {
            outputs.Add(new Output { Kind = OutputKind.Send, Attempt = attempt, Text = message.ToString() });
        }

        void Tell(string line)
        {
            outputs.Add(new Output { Kind = OutputKind.Tell, Text = line });
        }
    }
}
