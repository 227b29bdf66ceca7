using System;
using System.Collections.Generic;

namespace UnityMcp.Editor
{
    /// <summary>The last lines for the status window. They are not logged: the agent's own console would show them.</summary>
    sealed class ActivityLog : ILog, ICallObserver
    {
        const int LinesMax = 10;

        readonly object gate = new object();
        readonly LinkedList<string> lines = new LinkedList<string>();

        public void Tell(string line)
        {
            lock (gate)
            {
                lines.AddFirst(DateTime.Now.ToString("HH:mm:ss") + "  " + line);
                if (lines.Count > LinesMax) lines.RemoveLast();
            }
        }

        public void Running(string requestId, string clientRequestId, string toolName)
        {
            Tell(toolName + " (" + requestId + ")");
        }

        /// <summary>Newest first.</summary>
        public string Text
        {
            get { lock (gate) return string.Join("\n", lines); }
        }
    }
}
