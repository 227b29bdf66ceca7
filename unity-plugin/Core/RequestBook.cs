using System;
using System.Collections.Generic;

namespace UnityMcp
{
    /// <summary>
    /// Which runs of deduplicated tools have begun, by their client_request_id, and how they were answered. It is stored before
    /// a tool runs, so it survives a domain reload. Main thread only.
    /// </summary>
    public sealed class RequestBook
    {
        const string Key = "UnityMcp.Book";

        /// <summary>A run that has begun.</summary>
        public sealed class Run
        {
            internal string Id;
            internal string Tool;
            /// <summary>Tells other arguments from the same ones.</summary>
            internal string Params;
            /// <summary>Null while it runs, and if its end is not known.</summary>
            internal Json Answer;
            internal bool IsRunning;
            /// <summary>Its form in the store. All runs are stored with every call, so each is written as JSON only once.</summary>
            internal string Text;

            internal void Write()
            {
                Text = Json.Object().With("id", Id).With("tool", Tool).With("params", Params).With("answer", Answer).ToString();
            }
        }

        readonly IStateStore store;
        readonly string version;
        readonly Func<string> newId;
        readonly Func<string, bool> isJobActive;
        /// <summary>In the order in which they were last asked for.</summary>
        readonly List<Run> runs = new List<Run>();

        /// <summary>The same as long as no run is forgotten whose end the server may not know.</summary>
        public string Name { get; private set; }

        /// <param name="version">A book of another version of the plugin is not read.</param>
        public RequestBook(IStateStore store, string version, Func<string> newId, Func<string, bool> isJobActive)
        {
            this.store = store;
            this.version = version;
            this.newId = newId;
            this.isJobActive = isJobActive;
            Restore();
        }

        /// <summary>The answer to a request whose run has begun before; null if it has not.</summary>
        public Json AnswerTo(ServerMessage request)
        {
            var run = runs.Find(begun => begun.Id == request.ClientRequestId);
            if (run == null) return null;
            runs.Remove(run);
            runs.Add(run);
            if (run.Tool != request.ToolName || run.Params != Fingerprint(request.Params))
                return Wire.Error(request.RequestId, Wire.InvalidRequest, "The client_request_id was used before for another call, so nothing ran. Use a new one.");
            if (run.Answer == null)
                return Wire.Error(request.RequestId, Wire.InvalidResponse,
                    "This call began before and was interrupted. Nobody knows how it ended, so it did not run again. Look at the project before you call again with a new client_request_id.");
            return Wire.Readdressed(run.Answer, request.RequestId);
        }

        /// <summary>Call it just before the tool runs.</summary>
        public Run Begin(ServerMessage request)
        {
            var run = new Run { Id = request.ClientRequestId, Tool = request.ToolName, Params = Fingerprint(request.Params), IsRunning = true };
            run.Write();
            runs.Add(run);
            DropSurplus();
            Store();
            return run;
        }

        public void End(Run run, Json answer)
        {
            run.IsRunning = false;
            if (answer.ToString().Length <= Limits.BookAnswerCharsMax) run.Answer = answer;
            run.Write();
            Store();
        }

        /// <summary>The oldest run with a known end goes first. One that runs never goes.</summary>
        void DropSurplus()
        {
            if (runs.Count <= Limits.BookEntriesMax) return;
            var oldest = runs.Find(run => run.Answer != null && !isJobActive(run.Answer.Text("job_id")));
            if (oldest == null)
            {
                oldest = runs.Find(run => run.Answer == null && !run.IsRunning);
                if (oldest == null) return;
                Name = newId();
            }
            runs.Remove(oldest);
        }

        static string Fingerprint(Json parameters)
        {
            var hash = 14695981039346656037UL;
            foreach (var character in parameters.ToString()) hash = unchecked((hash ^ character) * 1099511628211UL);
            return hash.ToString("x16");
        }

        void Store()
        {
            var texts = runs.ConvertAll(run => run.Text).ToArray();
            store.Set(Key, "{\"version\":" + Json.Of(version) + ",\"name\":" + Json.Of(Name) + ",\"runs\":[" + string.Join(",", texts) + "]}");
        }

        void Restore()
        {
            var saved = Read();
            if (saved == null)
            {
                // The old book may have known more. A new name says that it is gone.
                Name = newId();
                Store();
                return;
            }
            Name = saved.Text("name");
            foreach (var row in saved["runs"].Items)
            {
                var run = new Run { Id = row.Text("id"), Tool = row.Text("tool"), Params = row.Text("params"), Answer = row["answer"] };
                run.Write();
                runs.Add(run);
            }
        }

        /// <summary>Null if there is no book, or one that cannot be read.</summary>
        Json Read()
        {
            var text = store.Get(Key);
            if (string.IsNullOrEmpty(text)) return null;
            try
            {
                var saved = JsonReader.Parse(text);
                var isWhole = saved.Text("version") == version && saved.Text("name") != null && saved["runs"] != null;
                return isWhole ? saved : null;
            }
            catch (JsonException)
            {
                return null;
            }
        }
    }
}
