using System;

namespace UnityMcp
{
    /// <summary>
    /// Runs the jobs of script_recompile_trigger, one at a time, in order: imports what changed on disk, waits for the compile
    /// and for the domain reload, and reports. Call Tick before the requests of an update are answered: then the acceptance of
    /// a job is sent before its compile begins. Main thread only.
    /// </summary>
    public sealed class CompileJobs
    {
        public const string ToolName = "script_recompile_trigger";

        readonly JobBook book;
        readonly CompileLog log;
        readonly ICompiler compiler;
        readonly Func<string> newId;
        readonly IClock clock;
        /// <summary>Updates in a row in which the Editor was ready and nothing compiled.</summary>
        int quietUpdates;

        public CompileJobs(JobBook book, CompileLog log, ICompiler compiler, Func<string> newId, IClock clock)
        {
            this.book = book;
            this.log = log;
            this.compiler = compiler;
            this.newId = newId;
            this.clock = clock;
        }

        /// <param name="askedAt">A compile that ends after this time counts, even if something else started it.</param>
        public string Submit(string requestId, long askedAt)
        {
            var plan = Json.Object().With("asked_at", askedAt);
            var job = new Job { Id = newId(), RequestId = requestId, ToolName = ToolName, Plan = plan, Total = 1 };
            book.Add(job);
            return job.Id;
        }

        public void Tick(bool isEditorReady)
        {
            var isQuiet = isEditorReady && !log.IsRunning;
            quietUpdates = isQuiet ? quietUpdates + 1 : 0;
            var job = book.FirstActive(ToolName);
            if (job == null || !isQuiet) return;
            try
            {
                if (job.State == "queued") Begin(job);
                else if (quietUpdates > Limits.QuietUpdates) Conclude(job);
            }
            catch (Exception failure)
            {
                // Whatever Unity throws ends the job. The next one may work.
                End(job, "failed", null, "Unity could not import or compile: " + FrameRoom.Cut(failure.Message, Limits.ErrorCharsMax));
            }
        }

        void Begin(Job job)
        {
            var obstacle = compiler.Obstacle;
            if (obstacle != null)
            {
                End(job, "failed", null, obstacle);
                return;
            }
            job.State = "running";
            quietUpdates = 0;
            book.Changed();
            compiler.Import();
        }

        /// <summary>Nothing compiles any more, and nothing has started.</summary>
        void Conclude(Job job)
        {
            var hasCompiled = log.Last != null && log.Last.EndedAt >= job.Plan.Integer("asked_at", 0);
            if (!hasCompiled && (compiler.HasFailed || log.IsAbandoned) && job.Plan["forced"] == null)
            {
                // Nothing has changed, but the scripts do not compile, or nobody knows whether they do: a compile must tell it.
                job.Plan.With("forced", true);
                quietUpdates = 0;
                book.Changed();
                compiler.Compile();
            }
            else if (!hasCompiled && log.IsAbandoned)
                End(job, "failed", null, "Unity started to compile and did not report the end. Ask the user to look at the Console.");
            else if (!hasCompiled && compiler.HasFailed && log.Last == null)
                End(job, "failed", null, "The scripts do not compile, but Unity did not say why. Read the errors with read_console.");
            else if (compiler.HasFailed || (hasCompiled && log.Last.Errors > 0)) End(job, "failed", Result(job, "failed", hasCompiled), null);
            else End(job, "succeeded", Result(job, hasCompiled ? "compiled" : "up_to_date", hasCompiled), null);
        }

        Json Result(Job job, string outcome, bool hasCompiled)
        {
            var isTold = outcome != "up_to_date";
            var errors = isTold ? log.LastErrors : Json.Array();
            var all = isTold ? log.Last.Errors : 0;
            return Json.Object().With("outcome", outcome).With("reloaded", hasCompiled && log.IsReloaded).With("errors", errors)
                .With("errors_left_out", all - errors.Items.Count).With("warnings", isTold ? log.Last.Warnings : 0)
                .With("duration_ms", Math.Max(0, clock.Now - job.Plan.Integer("asked_at", 0)));
        }

        void End(Job job, string state, Json result, string error)
        {
            job.End(state, result, error);
            book.Changed();
        }
    }
}
