using System.Collections.Generic;
using UnityMcp;

namespace UnityMcp.Host
{
    /// <summary>What arrived and what ran, as the Editor outside the plugin has seen it. May be used from any thread.</summary>
    public sealed class Books
    {
        readonly object gate = new object();
        readonly Json executed = Json.Array();
        readonly HashSet<string> arrived = new HashSet<string>();
        readonly Json arrivedTwice = Json.Array();
        int reloads;
        int restarts;
        int testRuns;

        public void Executed(string requestId, string clientRequestId, string toolName)
        {
            lock (gate)
                executed.Add(Json.Object().With("request_id", requestId).With("client_request_id", clientRequestId).With("tool_name", toolName));
        }

        /// <summary>Notes a frame of the server, if it is a request.</summary>
        public void Arrived(string frame)
        {
            var requestId = JsonReader.Parse(frame).Text("request_id");
            if (requestId == null) return;
            lock (gate)
                if (!arrived.Add(requestId)) arrivedTwice.Add(Json.Of(requestId));
        }

        public void Reloaded()
        {
            lock (gate) reloads++;
        }

        public void Restarted()
        {
            lock (gate) restarts++;
        }

        public void TestRunStarted()
        {
            lock (gate) testRuns++;
        }

        public string Summary
        {
            get { lock (gate) return arrived.Count + " requests arrived, " + executed.Items.Count + " executed"; }
        }

        public string ToJson()
        {
            lock (gate)
                return Json.Object().With("executed", executed).With("arrived", arrived.Count).With("arrived_twice", arrivedTwice)
                    .With("reloads", reloads).With("restarts", restarts).With("test_runs", testRuns).ToString();
        }
    }
}
