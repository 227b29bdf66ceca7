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
        /// <summary>The form of a stored run, its fingerprint included. Another form needs another number.</summary>
        const long Format = 1;

        /// <summary>A run that has begun.</summary>
        public sealed class Run
        {
            internal string Id;
            /// <summary>Null if the run is stored in another format: then only its id is known.</summary>
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
        readonly Func<string> newId;
        readonly Func<string, bool> isJobActive;
        /// <summary>In the order in which they were last asked for.</summary>
        readonly List<Run> runs = new List<Run>();

        /// <summary>The same as long as no run is forgotten whose end the server may not know.</summary>
        public string Name { get; private set; }

        public RequestBook(IStateStore store, Func<string> newId, Func<string, bool> isJobActive)
        {
            this.store = store;
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
            var isOther = run.Tool != request.ToolName || run.Params != Fingerprint(request.Params);
            if (run.Tool != null && isOther)
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

        /// <summary>Something else that was stored is lost. The server must not rely on this book to know all that it once knew.</summary>
        public void Rename()
        {
            Name = newId();
            Store();
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
            store.Set(Key, "{\"format\":" + Json.Of(Format) + ",\"name\":" + Json.Of(Name) + ",\"runs\":[" + string.Join(",", texts) + "]}");
        }

        /// <summary>
        /// The book outlives an update of the package: the Editor, and with it what ran, is still the same.
        /// </summary>
        void Restore()
        {
            var saved = Read();
            Name = saved.Text("name");
            // The old book may have known more. A new name says that it is gone.
            if (!RestoreRuns(saved) || Name == null) Name = newId();
            Store();
        }

        /// <summary>False if a run may be missing. A run in another format has begun, and nobody knows how it ended.</summary>
        bool RestoreRuns(Json saved)
        {
            var rows = saved["runs"];
            if (rows == null || rows.Kind != JsonKind.Array) return false;
            var isKnown = saved.Integer("format", 0) == Format;
            var isComplete = true;
            foreach (var row in rows.Items)
            {
                var id = row.Text("id");
                if (id == null)
                {
                    isComplete = false;
                    continue;
                }
                var run = new Run { Id = id };
                var answer = row["answer"];
                if (isKnown)
                {
                    run.Tool = row.Text("tool");
                    run.Params = row.Text("params");
                    run.Answer = answer != null && answer.Kind == JsonKind.Object ? answer : null;
                }
                run.Write();
                runs.Add(run);
            }
            return isComplete;
        }

        /// <summary>Empty if there is no book, or one that cannot be read.</summary>
        Json Read()
        {
            var text = store.Get(Key);
            if (string.IsNullOrEmpty(text)) return Json.Object();
            try
            {
                return JsonReader.Parse(text);
            }
            catch (JsonException)
            {
                return Json.Object();
            }
        }
    }
}
