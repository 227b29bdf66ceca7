using System;
using UnityEditor;
using UnityEngine;

namespace UnityMcp.Editor
{
    /// <summary>Every log message of the Editor and of the game, from any thread.</summary>
    sealed class ConsoleTap : IConsoleSource, IDisposable
    {
        delegate void CountsByType(ref int errors, ref int warnings, ref int logs);

        const string Consequence = "a cleared Console window is not noticed";

        readonly CountsByType countsByType;
        readonly Func<string> filteringText;
        bool wasEmpty = true;

        public event Action<ConsoleEntry> Added;
        public event Action Cleared;

        public ConsoleTap()
        {
            Application.logMessageReceivedThreaded += OnLog;
            var entries = typeof(EditorApplication).Assembly.GetType("UnityEditor.LogEntries");
            countsByType = Internals.Method<CountsByType>(entries, "GetCountsByType", Consequence);
            filteringText = Internals.Method<Func<string>>(entries, "GetFilteringText", Consequence);
        }

        public void Dispose()
        {
            Application.logMessageReceivedThreaded -= OnLog;
        }

        void OnLog(string message, string stackTrace, LogType type)
        {
            // Another thread may take away the last listener between the check and the call.
            var added = Added;
            if (added != null) added(new ConsoleEntry { Type = TypeOf(type), Message = message, StackTrace = stackTrace });
        }

        static string TypeOf(LogType type)
        {
            switch (type)
            {
                case LogType.Warning: return "warning";
                case LogType.Error: return "error";
                case LogType.Assert: return "assert";
                case LogType.Exception: return "exception";
                default: return "log";
            }
        }

        /// <summary>
        /// Unity has no event for a cleared console. A search text in its window may empty the counts, so then nothing is concluded.
        /// </summary>
        public void Tick()
        {
            if (countsByType == null || filteringText == null || !string.IsNullOrEmpty(filteringText())) return;
            int errors = 0, warnings = 0, logs = 0;
            countsByType(ref errors, ref warnings, ref logs);
            var isEmpty = errors + warnings + logs == 0;
            if (isEmpty && !wasEmpty && Cleared != null) Cleared();
            wasEmpty = isEmpty;
        }
    }
}
