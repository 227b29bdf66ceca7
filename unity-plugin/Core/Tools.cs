using System;

namespace UnityMcp
{
    /// <summary>A request that is refused before anything ran.</summary>
    public sealed class RejectedException : Exception
    {
        public readonly string Code;

        RejectedException(string code, string message) : base(message)
        {
            Code = code;
        }

        public static RejectedException Params(string message)
        {
            return new RejectedException(Wire.InvalidParams, message);
        }

        public static RejectedException UnknownTool(string name)
        {
            return new RejectedException(Wire.UnknownCommand, "This Editor has no tool \"" + name + "\".");
        }
    }

    /// <summary>A tool that ran and could not do what it was asked for. The message tells a person why.</summary>
    public sealed class FailedException : Exception
    {
        public FailedException(string message) : base(message)
        {
        }
    }

    /// <summary>What a tool gets.</summary>
    public sealed class ToolCall
    {
        public string RequestId;
        public Json Params;
        public int MaxMessageBytes;
        public long ArrivedAt;
    }

    /// <summary>
    /// One tool. Prepare checks the parameters and may throw RejectedException; what it returns runs the tool.
    /// </summary>
    public sealed class Tool
    {
        public readonly string Name;
        /// <summary>execute or submit_job.</summary>
        public readonly string MessageType;
        readonly Func<ToolCall, Func<Json>> prepare;

        Tool(string name, string messageType, Func<ToolCall, Func<Json>> prepare)
        {
            Name = name;
            MessageType = messageType;
            this.prepare = prepare;
        }

        /// <param name="prepare">Returns a function that returns the result.</param>
        public static Tool Sync(string name, Func<ToolCall, Func<Json>> prepare)
        {
            return new Tool(name, "execute", call => Framed(prepare(call), result => Wire.Result(call.RequestId, result)));
        }

        /// <param name="prepare">Returns a function that starts the job and returns its id.</param>
        public static Tool Job(string name, Func<ToolCall, Func<string>> prepare)
        {
            return new Tool(name, "submit_job", call =>
            {
                var start = prepare(call);
                return () => Wire.SubmitJobResult(call.RequestId, start());
            });
        }

        static Func<Json> Framed(Func<Json> run, Func<Json, Json> frame)
        {
            return () => frame(run());
        }

        /// <summary>A function that runs the tool and returns its answer. Throws RejectedException.</summary>
        public Func<Json> Prepare(ToolCall call)
        {
            return prepare(call);
        }
    }
}
