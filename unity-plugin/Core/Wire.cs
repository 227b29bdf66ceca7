using System.Collections.Generic;

namespace UnityMcp
{
    public enum EditorState { Ready, Compiling, Reloading }

    /// <summary>A message of the server, checked.</summary>
    public sealed class ServerMessage
    {
        public string Type;
        public string RequestId;
        public string ClientRequestId;
        public string ToolName;
        public Json Params;
        public string JobId;
        public string TargetJobId;
        public string TargetRequestId;
        public string ServerVersion;
        public long MaxMessageBytes;
        public string ErrorText;
        /// <summary>For capability: the tools that the server deduplicates.</summary>
        public HashSet<string> Deduplicated;
        /// <summary>The frame as it arrived, to store it over a domain reload.</summary>
        public string Frame;
        /// <summary>When it arrived.</summary>
        public long ArrivedAt;
        /// <summary>Whether its client_request_id names one run, which must not begin twice.</summary>
        public bool IsDeduplicated;

        /// <summary>Whether the plugin owes an answer to it.</summary>
        public bool IsRequest
        {
            get { return DoesSomething || Type == "get_job_status" || Type == "cancel"; }
        }

        /// <summary>Whether it runs a tool.</summary>
        public bool DoesSomething
        {
            get { return Type == "execute" || Type == "submit_job"; }
        }
    }

    /// <summary>A frame that the plugin cannot use. RequestId is null if it could not be read.</summary>
    public sealed class WireException : System.Exception
    {
        public readonly string RequestId;

        public WireException(string message, string requestId) : base(message)
        {
            RequestId = requestId;
        }
    }

    /// <summary>The messages of docs/PROTOCOL.md.</summary>
    public static class Wire
    {
        public const string InvalidParams = "ERR_INVALID_PARAMS";
        public const string InvalidRequest = "ERR_INVALID_REQUEST";
        public const string UnknownCommand = "ERR_UNKNOWN_COMMAND";
        public const string UnityExecution = "ERR_UNITY_EXECUTION";
        public const string JobNotFound = "ERR_JOB_NOT_FOUND";
        /// <summary>The server takes it as: nobody knows whether it ran.</summary>
        public const string InvalidResponse = "ERR_INVALID_RESPONSE";

        /// <summary>The server's error for a hello while another Editor has the session.</summary>
        public const string AlreadyActive = "another Unity websocket session is already active";
        /// <summary>The reason of a close after the same Editor has connected again.</summary>
        public const string Replaced = "replaced by a newer connection";

        public static string Name(EditorState state)
        {
            switch (state)
            {
                case EditorState.Compiling: return "compiling";
                case EditorState.Reloading: return "reloading";
                default: return "ready";
            }
        }

        static Json Message(string type)
        {
            return Json.Object().With("type", type).With("protocol_version", Limits.ProtocolVersion);
        }

        public static Json Hello(HelloFields fields, EditorState state, long now)
        {
            return Message("hello").With("plugin_version", fields.PluginVersion).With("state", Name(state))
                .With("editor_instance_id", fields.EditorInstanceId).With("plugin_session_id", fields.PluginSessionId)
                .With("connect_attempt_seq", fields.ConnectAttemptSeq).With("project_path", fields.ProjectPath)
                .With("project_name", fields.ProjectName).With("unity_version", fields.UnityVersion)
                .With("running_request_id", fields.RunningRequestId).With("request_book", fields.RequestBook)
                .With("last_compile", Compile(fields.LastCompile, now));
        }

        public static Json Capability(IEnumerable<string> tools)
        {
            var list = Json.Array();
            foreach (var tool in tools) list.Add(Json.Object().With("name", tool));
            return Message("capability").With("tools", list);
        }

        public static Json EditorStatus(EditorState state, long seq, LastCompile compile, long now)
        {
            return Message("editor_status").With("state", Name(state)).With("seq", seq).With("last_compile", Compile(compile, now));
        }

        /// <summary>Null if nothing was compiled yet.</summary>
        static Json Compile(LastCompile compile, long now)
        {
            if (compile == null) return null;
            return Json.Object().With("outcome", compile.Errors > 0 ? "failed" : "succeeded").With("errors", compile.Errors)
                .With("warnings", compile.Warnings).With("ended_ms_ago", System.Math.Max(0, now - compile.EndedAt));
        }

        public static Json Pong(EditorState state, long seq)
        {
            return Message("pong").With("editor_state", Name(state)).With("seq", seq);
        }

        public static Json Result(string requestId, Json result)
        {
            return Message("result").With("request_id", requestId).With("status", "ok").With("result", result);
        }

        /// <summary>A tool ran and failed.</summary>
        public static Json FailedResult(string requestId, string message, string details)
        {
            return Message("result").With("request_id", requestId).With("status", "error")
                .With("error", ErrorBody(UnityExecution, message).With("details", details));
        }

        /// <summary>The same answer for another request.</summary>
        public static Json Readdressed(Json answer, string requestId)
        {
            var copy = Json.Object();
            foreach (var field in answer.Fields)
                copy.With(field.Key, field.Key == "request_id" ? Json.Of(requestId) : field.Value);
            return copy;
        }

        public static Json SubmitJobResult(string requestId, string jobId)
        {
            return Message("submit_job_result").With("request_id", requestId).With("status", "accepted").With("job_id", jobId);
        }

        public static Json JobStatus(string requestId, string jobId, string state)
        {
            return Message("job_status").With("request_id", requestId).With("job_id", jobId).With("state", state);
        }

        public static Json CancelResult(string requestId, string status)
        {
            return Message("cancel_result").With("request_id", requestId).With("status", status);
        }

        /// <summary>Rejects a request. Only ERR_INVALID_PARAMS and ERR_UNKNOWN_COMMAND say that nothing ran.</summary>
        public static Json Error(string requestId, string code, string message)
        {
            return Message("error").With("request_id", requestId).With("error", ErrorBody(code, message));
        }

        public static Json ErrorBody(string code, string message)
        {
            return Json.Object().With("code", code).With("message", message);
        }

        /// <summary>Reads a frame of the server. Throws WireException.</summary>
        public static ServerMessage Read(string frame)
        {
            Json json;
            try
            {
                json = JsonReader.Parse(frame);
            }
            catch (JsonException problem)
            {
                throw new WireException("not JSON: " + problem.Message, null);
            }
            var requestId = json.Text("request_id");
            if (json.Integer("protocol_version", 0) != Limits.ProtocolVersion)
                throw new WireException("protocol_version is not 1", requestId);
            var error = json["error"];
            var message = new ServerMessage
            {
                Type = json.Text("type"),
                RequestId = requestId,
                ClientRequestId = json.Text("client_request_id"),
                ToolName = json.Text("tool_name"),
                Params = json["params"],
                JobId = json.Text("job_id"),
                TargetJobId = json.Text("target_job_id"),
                TargetRequestId = json.Text("target_request_id"),
                ServerVersion = json.Text("server_version"),
                MaxMessageBytes = json.Integer("max_message_bytes", Limits.MessageBytesDefault),
                ErrorText = error == null ? null : error.Text("message"),
                Deduplicated = DeduplicatedTools(json["tools"]),
                Frame = frame
            };
            Check(message);
            return message;
        }

        static HashSet<string> DeduplicatedTools(Json tools)
        {
            var names = new HashSet<string>();
            if (tools == null) return names;
            foreach (var tool in tools.Items)
            {
                var isDeduplicated = tool["deduplicated"];
                if (isDeduplicated != null && isDeduplicated.AsBool == true && tool.Text("name") != null) names.Add(tool.Text("name"));
            }
            return names;
        }

        static void Check(ServerMessage message)
        {
            var missing = Missing(message);
            if (missing != null) throw new WireException("the field " + missing + " is missing or wrong", message.RequestId);
        }

        static string Missing(ServerMessage message)
        {
            if (message.Type == null) return "type";
            if (message.Type == "hello" && message.ServerVersion == null) return "server_version";
            if (message.IsRequest && message.RequestId == null) return "request_id";
            if (message.DoesSomething && message.ToolName == null) return "tool_name";
            if (message.DoesSomething && (message.Params == null || message.Params.Kind != JsonKind.Object)) return "params";
            if (message.Type == "get_job_status" && message.JobId == null) return "job_id";
            if (message.Type == "cancel" && message.TargetJobId == null && message.TargetRequestId == null) return "target_job_id";
            return null;
        }
    }

    /// <summary>What the hello says about this Editor and this connection.</summary>
    public sealed class HelloFields
    {
        public string PluginVersion;
        public string EditorInstanceId;
        public string PluginSessionId;
        public long ConnectAttemptSeq;
        public string ProjectPath;
        public string ProjectName;
        public string UnityVersion;
        public string RunningRequestId;
        public string RequestBook;
        /// <summary>Null if nothing was compiled yet.</summary>
        public LastCompile LastCompile;
    }
}
