using System.Collections.Generic;

namespace UnityMcp.Tests
{
    /// <summary>A session with a clock and ids that a test controls. The jitter is in its middle.</summary>
    public sealed class SessionFixture
    {
        int ids;

        public readonly Session Session;
        public long Now = 1000;
        public int Attempt;
        public readonly List<string> Sent = new List<string>();
        public readonly List<string> Told = new List<string>();
        public List<Output> Last = new List<Output>();

        public SessionFixture(Json saved = null, double chance = 0.5)
        {
            var hello = new HelloFields { PluginVersion = "0.1.0", EditorInstanceId = "editor", ProjectPath = "/p", ProjectName = "p", UnityVersion = "u" };
            Session = new Session(hello, new[] { "read_console" }, () => "id-" + ++ids, () => chance, saved);
        }

        public SessionFixture Do(Input input)
        {
            Last = Session.Handle(Now, input);
            foreach (var output in Last)
            {
                if (output.Kind == OutputKind.Dial) Attempt = output.Attempt;
                if (output.Kind == OutputKind.Send) Sent.Add(output.Text);
                if (output.Kind == OutputKind.Tell) Told.Add(output.Text);
            }
            return this;
        }

        /// <summary>A session that dials, of an Editor that is ready.</summary>
        public SessionFixture Ready()
        {
            return Do(Input.Tick).Do(Input.State(EditorState.Ready));
        }

        /// <summary>A session that the server has accepted, of an Editor that is ready.</summary>
        public SessionFixture Open()
        {
            return Ready().Do(Input.Connected(Attempt)).Welcome();
        }

        public SessionFixture Welcome(long maxMessageBytes = 1048576)
        {
            return Receive("\"type\":\"hello\",\"server_version\":\"9\",\"max_message_bytes\":" + maxMessageBytes);
        }

        public SessionFixture Receive(string fields)
        {
            return Do(Input.Frame(Attempt, "{\"protocol_version\":1," + fields + "}"));
        }

        public SessionFixture Execute(string requestId)
        {
            return Receive("\"type\":\"execute\",\"request_id\":\"" + requestId + "\",\"tool_name\":\"t\",\"params\":{},\"timeout_ms\":1");
        }

        public SessionFixture Ask(string requestId)
        {
            return Receive("\"type\":\"get_job_status\",\"request_id\":\"" + requestId + "\",\"job_id\":\"j\"");
        }

        public SessionFixture AnswerTo(string requestId)
        {
            return Do(Input.Answered(Wire.Result(requestId, Json.Object())));
        }

        public SessionFixture Closed(int code, string reason = "")
        {
            return Do(Input.Closed(Attempt, code, reason, null));
        }

        public Json LastSent
        {
            get { return JsonReader.Parse(Sent[Sent.Count - 1]); }
        }

        public Json Hello
        {
            get { return JsonReader.Parse(Sent.FindLast(frame => frame.Contains("\"hello\""))); }
        }

        public bool Has(OutputKind kind)
        {
            return Last.Exists(output => output.Kind == kind);
        }

        public string Taken()
        {
            var request = Session.TakeRequest();
            return request == null ? null : request.RequestId;
        }
    }
}
