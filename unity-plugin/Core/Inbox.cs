using System.Collections.Generic;

namespace UnityMcp
{
    /// <summary>
    /// Requests that the main thread has not started, in order of arrival. It remembers the ids of all that it has
    /// started, so that none runs twice.
    /// </summary>
    public sealed class Inbox
    {
        readonly List<ServerMessage> waiting = new List<ServerMessage>();
        readonly Queue<string> begunInOrder = new Queue<string>();
        readonly HashSet<string> begun = new HashSet<string>();

        /// <summary>The request that the main thread is running now, or null.</summary>
        public ServerMessage Running { get; private set; }

        public bool IsBusy
        {
            get { return Running != null || waiting.Count > 0; }
        }

        /// <summary>The tool that runs or will run next. The server must send nothing else until it is answered.</summary>
        public string RunningRequestId
        {
            get
            {
                if (Running != null && Running.DoesSomething) return Running.RequestId;
                var next = waiting.Find(request => request.DoesSomething);
                return next == null ? null : next.RequestId;
            }
        }

        /// <summary>False if the request is known already: it must not run again.</summary>
        public bool Arrive(ServerMessage request)
        {
            if (begun.Contains(request.RequestId)) return false;
            if (waiting.Exists(other => other.RequestId == request.RequestId)) return false;
            waiting.Add(request);
            return true;
        }

        /// <summary>The next request to run, or null. Call Finish when it is answered.</summary>
        public ServerMessage Take()
        {
            if (Running != null || waiting.Count == 0) return null;
            Running = waiting[0];
            waiting.RemoveAt(0);
            Remember(Running.RequestId);
            return Running;
        }

        public void Finish()
        {
            Running = null;
        }

        /// <summary>Drops the tools that have not started. True if there were any.</summary>
        public bool DropUnstarted()
        {
            return waiting.RemoveAll(request => request.DoesSomething) > 0;
        }

        void Remember(string requestId)
        {
            if (!begun.Add(requestId)) return;
            begunInOrder.Enqueue(requestId);
            if (begunInOrder.Count > Limits.BegunMax) begun.Remove(begunInOrder.Dequeue());
        }

        public Json SaveWaiting()
        {
            var saved = Json.Array();
            foreach (var request in waiting)
                saved.Add(Json.Object().With("frame", request.Frame).With("arrived_at", request.ArrivedAt).With("deduplicated", request.IsDeduplicated));
            return saved;
        }

        public Json SaveBegun()
        {
            var ids = Json.Array();
            foreach (var id in begunInOrder) ids.Add(Json.Of(id));
            return ids;
        }

        /// <summary>Restores the ids first: a saved request that has already run is not taken in.</summary>
        public void Restore(Json savedBegun, Json savedWaiting)
        {
            if (savedBegun != null)
                foreach (var id in savedBegun.Items)
                {
                    if (id.AsString == null) throw new JsonException("a request that has begun has no id");
                    Remember(id.AsString);
                }
            if (savedWaiting == null) return;
            foreach (var saved in savedWaiting.Items)
            {
                var request = Wire.Read(saved.Text("frame"));
                request.ArrivedAt = saved.Integer("arrived_at", 0);
                request.IsDeduplicated = saved["deduplicated"].AsBool == true;
                Arrive(request);
            }
        }
    }
}
