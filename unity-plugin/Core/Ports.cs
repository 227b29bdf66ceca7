using System;
using System.Collections.Generic;
using System.Threading.Tasks;

namespace UnityMcp
{
    /// <summary>Texts that survive a domain reload and end with the Editor. Main thread only.</summary>
    public interface IStateStore
    {
        /// <summary>Null if nothing was stored.</summary>
        string Get(string key);
        void Set(string key, string value);
    }

    public interface IMainThread
    {
        /// <summary>Makes the main thread tick soon, even in an Editor without focus. Called from any thread.</summary>
        void Wake();
    }

    /// <summary>What is known about this Editor. Main thread only.</summary>
    public interface IEditorFacts
    {
        /// <summary>The same until the Editor process ends.</summary>
        string InstanceId { get; }
        /// <summary>Absolute, with forward slashes. Null if unknown.</summary>
        string ProjectPath { get; }
        string ProjectName { get; }
        string UnityVersion { get; }
        EditorState State { get; }
    }

    public class ConsoleEntry
    {
        public string Type;
        public string Message;
        public string StackTrace;
    }

    /// <summary>An error or a warning of the compiler, and where it is. The message is the whole line of the console.</summary>
    public sealed class ScriptMessage : ConsoleEntry
    {
        /// <summary>Null or empty if the compiler names none.</summary>
        public string File;
        public int Line;
        public int Column;
    }

    /// <summary>The log of the Editor. Events come from any thread.</summary>
    public interface IConsoleSource
    {
        event Action<ConsoleEntry> Added;
        event Action Cleared;
    }

    /// <summary>The script compiler. Events come from the main thread.</summary>
    public interface ICompiler
    {
        event Action Started;
        /// <summary>An assembly is compiled: its name, and all its errors and warnings.</summary>
        event Action<string, IList<ScriptMessage>> AssemblyFinished;
        /// <summary>All assemblies are compiled. A domain reload may follow.</summary>
        event Action Finished;
        /// <summary>A compile that has started is over, and Unity has not reported how it ended.</summary>
        event Action Abandoned;
        /// <summary>Why nothing can be compiled now, for a person; null if it can.</summary>
        string Obstacle { get; }
        /// <summary>Whether the scripts did not compile the last time.</summary>
        bool HasFailed { get; }
        /// <summary>Imports what changed on disk. If scripts changed, a compile starts soon afterwards.</summary>
        void Import();
        /// <summary>Compiles, even if nothing changed. The compile starts soon afterwards.</summary>
        void Compile();
    }

    public sealed class FailedTest
    {
        public string Name;
        public string Message;
        public string StackTrace;
    }

    /// <summary>The end of one run in one mode.</summary>
    public sealed class TestRunResult
    {
        public int Passed;
        public int Failed;
        public int Skipped;
        public long DurationMs;
        public List<FailedTest> FailedTests = new List<FailedTest>();
    }

    /// <summary>Unity's test runner. One mode at a time: "edit" or "play". Main thread only.</summary>
    public interface ITestRunner
    {
        ITestEvents Events { set; }
        /// <summary>Whether a run is active, of anybody. Null if this Unity cannot tell.</summary>
        bool? IsActive { get; }
        /// <summary>Why no run can start now, for a person; null if one can.</summary>
        string Obstacle { get; }
        /// <summary>Asks for the tests of a mode. The answer is ITestEvents.Listed, for the same job, now or later.</summary>
        void List(string jobId, string mode);
        /// <param name="names">The full names of the tests to run; null for all of the mode.</param>
        void Start(string mode, IList<string> names);
        /// <summary>False if this Unity cannot cancel the run.</summary>
        bool Cancel();
        /// <summary>The run that was started is over, even if Unity has not reported its end. What comes now belongs to others.</summary>
        void Forget();
    }

    /// <summary>What the test runner reports. Runs that others started are not reported.</summary>
    public interface ITestEvents
    {
        /// <param name="names">The full names of all tests of the mode, without suites.</param>
        void Listed(string jobId, string mode, IList<string> names);
        void TestStarted(string name);
        void TestFinished();
        void RunFinished(TestRunResult result);
        void RunFailed(string message);
    }

    /// <summary>Called just before a tool runs, on the main thread.</summary>
    public interface ICallObserver
    {
        void Running(string requestId, string clientRequestId, string toolName);
    }

    public interface ILog
    {
        /// <summary>Something that a person may want to see. Called from any thread.</summary>
        void Tell(string line);
    }

    public interface IClock
    {
        /// <summary>Milliseconds that never go back, the same over domain reloads.</summary>
        long Now { get; }
    }

    /// <summary>Where the server is: a port, or a problem that a person must solve.</summary>
    public sealed class ServerAddress
    {
        public int Port;
        public string Problem;
    }

    public interface IConnector
    {
        /// <summary>Opens a socket. The token is null unless the server has asked for it. Throws DialException.</summary>
        Task<IConnection> Connect(int port, string token);
    }

    /// <summary>An open socket. One Send or Close at a time, and one Receive at a time.</summary>
    public interface IConnection
    {
        Task Send(string text);
        /// <summary>Sends a close frame. The peer's close frame arrives through Receive.</summary>
        Task Close(int code);
        Task<Received> Receive();
        void Abort();
    }

    public sealed class Received
    {
        /// <summary>A text frame; null for the end of the socket.</summary>
        public string Text;
        /// <summary>The code of the peer's close frame; 0 if the socket ended without one.</summary>
        public int CloseCode;
        public string CloseReason = "";
    }

    public enum DialProblem { NoServer, TokenRequired, Other }

    public sealed class DialException : Exception
    {
        public readonly DialProblem Problem;

        public DialException(DialProblem problem, string message) : base(message)
        {
            Problem = problem;
        }
    }
}
