using System;
using System.Collections.Generic;

namespace UnityMcp
{
    /// <summary>A job. Its fields survive a domain reload.</summary>
    public sealed class Job
    {
        public string Id;
        /// <summary>The submit_job that started it.</summary>
        public string RequestId;
        /// <summary>Later requests that were answered with this job, the oldest first.</summary>
        public List<string> RepeatedBy = new List<string>();
        public string ToolName;
        /// <summary>queued, running, succeeded, failed or cancelled.</summary>
        public string State = "queued";
        public long Done;
        public long Total;
        public string Current;
        public Json Result;
        public string Error;
        /// <summary>What the tool itself must remember until the end.</summary>
        public Json Plan;

        public bool IsActive
        {
            get { return State == "queued" || State == "running"; }
        }

        public void End(string state, Json result, string error)
        {
            State = state;
            Result = result;
            Error = error;
            Plan = null;
            Current = null;
        }
    }

    /// <summary>All active jobs and the last ones that ended, in order of their start. Only the newest ones have their lists.</summary>
    public sealed class JobBook
    {
        readonly List<Job> jobs = new List<Job>();

        /// <summary>Grows with every change, so that nothing is stored twice.</summary>
        public int Revision { get; private set; }

        public void Changed()
        {
            Revision++;
        }

        public bool HasActive
        {
            get { return jobs.Exists(job => job.IsActive); }
        }

        public void Add(Job job)
        {
            jobs.Add(job);
            Changed();
            var ended = jobs.FindAll(other => !other.IsActive);
            for (var index = 0; index < ended.Count - Limits.WholeJobsMax; index++) DropLists(ended[index]);
            for (var index = 0; index < ended.Count - Limits.EndedJobsMax; index++) jobs.Remove(ended[index]);
        }

        static void DropLists(Job job)
        {
            if (job.Result != null) job.Result = WithLists(job.Result, items => Json.Array());
        }

        public Job Find(string jobId)
        {
            return jobId == null ? null : jobs.Find(job => job.Id == jobId);
        }

        /// <summary>The job that was the answer to this request, even if the request only repeated an earlier one.</summary>
        public Job SubmittedBy(string requestId)
        {
            return requestId == null ? null : jobs.Find(job => job.RequestId == requestId || job.RepeatedBy.Contains(requestId));
        }

        /// <summary>A request was answered with a job that exists. A server that loses this answer cancels the job by the request.</summary>
        public void Repeat(string jobId, string requestId)
        {
            var job = Find(jobId);
            if (job == null || job.RequestId == requestId || job.RepeatedBy.Contains(requestId)) return;
            job.RepeatedBy.Add(requestId);
            if (job.RepeatedBy.Count > Limits.RepeatsMax) job.RepeatedBy.RemoveAt(0);
            Changed();
        }

        /// <summary>
        /// The oldest active job, if it is of this tool: the one that runs, or the one to start next. Jobs of all tools run one at a
        /// time, because a compile ends with a reload, and tests need scripts that stay the same.
        /// </summary>
        public Job FirstActive(string toolName)
        {
            var first = jobs.Find(job => job.IsActive);
            return first != null && first.ToolName == toolName ? first : null;
        }

        public Json Status(string requestId, string jobId, int maxMessageBytes)
        {
            var job = Find(jobId);
            if (job == null) return Wire.Error(requestId, Wire.JobNotFound, "This Editor does not know the job.");
            var status = Wire.JobStatus(requestId, jobId, job.State);
            if (job.State == "running")
                status.With("progress", Json.Object().With("done", job.Done).With("total", job.Total).With("current", job.Current));
            if (job.Result != null) status.With("result", Fit(job.Result, maxMessageBytes));
            if (job.Error != null) status.With("error", Wire.ErrorBody(Wire.UnityExecution, job.Error));
            return status;
        }

        /// <summary>Cuts the lists of a result to one frame. The first items stay.</summary>
        static Json Fit(Json result, int maxMessageBytes)
        {
            var room = new FrameRoom(maxMessageBytes);
            var charsMax = FrameRoom.TextChars(maxMessageBytes);
            return WithLists(result, items =>
            {
                var fitting = Json.Array();
                foreach (var item in items)
                {
                    var cut = CutTexts(item, charsMax);
                    if (!room.Take(cut)) break;
                    fitting.Add(cut);
                }
                return fitting;
            });
        }

        /// <summary>
        /// The result with shorter lists. A field after the list, named "errors_left_out" for "errors", counts what was cut.
        /// </summary>
        static Json WithLists(Json result, Func<IList<Json>, Json> shorten)
        {
            var shorter = Json.Object();
            var leftOut = new Dictionary<string, long>();
            foreach (var field in result.Fields)
            {
                if (field.Value.Kind != JsonKind.Array)
                {
                    long more;
                    var isCount = leftOut.TryGetValue(field.Key, out more);
                    shorter.With(field.Key, isCount ? Json.Of(field.Value.AsLong.Value + more) : field.Value);
                    continue;
                }
                var list = shorten(field.Value.Items);
                shorter.With(field.Key, list);
                leftOut[field.Key + "_left_out"] = field.Value.Items.Count - list.Items.Count;
            }
            return shorter;
        }

        static Json CutTexts(Json item, int charsMax)
        {
            var cut = Json.Object();
            foreach (var field in item.Fields)
                cut.With(field.Key, field.Value.AsString == null ? field.Value : Json.Of(FrameRoom.Cut(field.Value.AsString, charsMax)));
            return cut;
        }

        public Json Save()
        {
            var saved = Json.Array();
            foreach (var job in jobs)
                saved.Add(Json.Object().With("id", job.Id).With("request", job.RequestId)
                    .With("repeated_by", Json.Array(job.RepeatedBy.ConvertAll(id => Json.Of(id)))).With("tool", job.ToolName)
                    .With("state", job.State).With("done", job.Done).With("total", job.Total).With("current", job.Current)
                    .With("result", job.Result).With("error", job.Error).With("plan", job.Plan));
            return saved;
        }

        public void Restore(Json saved)
        {
            if (saved == null) return;
            foreach (var job in saved.Items)
                jobs.Add(new Job
                {
                    Id = job.Text("id"),
                    RequestId = job.Text("request"),
                    RepeatedBy = Texts(job["repeated_by"]),
                    ToolName = job.Text("tool"),
                    State = job.Text("state"),
                    Done = job.Integer("done", 0),
                    Total = job.Integer("total", 0),
                    Current = job.Text("current"),
                    Result = job["result"],
                    Error = job.Text("error"),
                    Plan = job["plan"]
                });
        }

        static List<string> Texts(Json saved)
        {
            var texts = new List<string>();
            foreach (var text in saved.Items) texts.Add(text.AsString);
            return texts;
        }
    }
}
