using System.Collections.Generic;

namespace UnityMcp
{
    /// <summary>The answer to a request. It survives a lost connection and a domain reload.</summary>
    public sealed class Answer
    {
        public string RequestId;
        public string Frame;
    }

    public enum InputKind { Tick, Connected, DialFailed, Frame, Closed, State, Compiled, Book, Answered, Jobs, Reconnect, Reload, Quit }

    /// <summary>What happens to a session.</summary>
    public sealed class Input
    {
        public InputKind Kind;
        /// <summary>The attempt that it belongs to. Inputs of earlier attempts are ignored.</summary>
        public int Attempt;
        public string Text;
        public int Code;
        public DialProblem Problem;
        public EditorState EditorState;
        public LastCompile LastCompile;
        public Json Message;
        public bool Flag;
        public IList<Answer> Unsent;

        /// <summary>The time of NextDeadline has come.</summary>
        public static readonly Input Tick = new Input { Kind = InputKind.Tick };
        /// <summary>A person asks for a new connection.</summary>
        public static readonly Input Reconnect = new Input { Kind = InputKind.Reconnect };
        /// <summary>The domain is about to be unloaded.</summary>
        public static readonly Input Reload = new Input { Kind = InputKind.Reload };
        /// <summary>The Editor quits.</summary>
        public static readonly Input Quit = new Input { Kind = InputKind.Quit };

        public static Input Connected(int attempt)
        {
            return new Input { Kind = InputKind.Connected, Attempt = attempt };
        }

        public static Input DialFailed(int attempt, DialProblem problem, string message)
        {
            return new Input { Kind = InputKind.DialFailed, Attempt = attempt, Problem = problem, Text = message };
        }

        public static Input Frame(int attempt, string text)
        {
            return new Input { Kind = InputKind.Frame, Attempt = attempt, Text = text };
        }

        /// <param name="code">0 if the socket ended without a close frame.</param>
        /// <param name="unsent">Answers that were not written.</param>
        public static Input Closed(int attempt, int code, string reason, IList<Answer> unsent)
        {
            return new Input { Kind = InputKind.Closed, Attempt = attempt, Code = code, Text = reason, Unsent = unsent };
        }

        public static Input State(EditorState state)
        {
            return new Input { Kind = InputKind.State, EditorState = state };
        }

        /// <summary>A compile has ended.</summary>
        public static Input Compiled(LastCompile compile)
        {
            return new Input { Kind = InputKind.Compiled, LastCompile = compile };
        }

        /// <summary>The request book has a new name.</summary>
        public static Input Book(string name)
        {
            return new Input { Kind = InputKind.Book, Text = name };
        }

        /// <summary>The main thread has an answer for the request that it took.</summary>
        public static Input Answered(Json message)
        {
            return new Input { Kind = InputKind.Answered, Message = message };
        }

        /// <summary>Whether a job is active, so that the Editor must keep ticking.</summary>
        public static Input Jobs(bool areActive)
        {
            return new Input { Kind = InputKind.Jobs, Flag = areActive };
        }
    }

    public enum OutputKind { Dial, Send, Close, Abort, Wake, Tell }

    /// <summary>What to do about it, in this order.</summary>
    public sealed class Output
    {
        public OutputKind Kind;
        public int Attempt;
        public string Text;
        public int Code;
        public bool WithToken;
        /// <summary>For Send: the answer that the frame is, or null.</summary>
        public Answer Answer;
    }

    public enum LinkState
    {
        /// <summary>Waits for the next attempt.</summary>
        Away,
        Dialing,
        /// <summary>The hello is sent, the server's hello has not arrived.</summary>
        Greeting,
        Open,
        /// <summary>Another plugin with the same editor_instance_id is connected.</summary>
        Replaced,
        /// <summary>The close frame is sent; the domain or the Editor ends.</summary>
        Leaving,
        Ended
    }
}
