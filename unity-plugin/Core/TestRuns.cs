using System;

namespace UnityMcp
{
    /// <summary>
    /// Runs the jobs of run_tests, one at a time, in order. Mode "all" is a run of the Edit Mode tests and then one of the
    /// Play Mode tests. Main thread only.
    /// </summary>
    public sealed class TestRuns : ITestEvents
    {
        public const string ToolName = "run_tests";

        readonly JobBook book;
        readonly ITestRunner runner;
        readonly Func<string> newId;
        readonly IClock clock;
        Job current;
        TestPlan plan;
        /// <summary>When the run was last known to be alive.</summary>
        long aliveAt;

        public TestRuns(JobBook book, ITestRunner runner, Func<string> newId, IClock clock)
        {
            this.book = book;
            this.runner = runner;
            this.newId = newId;
            this.clock = clock;
            runner.Events = this;
            Resume();
        }

        /// <summary>After a domain reload: the test framework resumes a run by itself, but forgets a count of tests.</summary>
        void Resume()
        {
            var job = book.FirstActive(ToolName);
            if (job == null || job.State != "running") return;
            Take(job);
            if (plan.ToList.Count > 0) runner.List(plan.ToList[0], plan.Filter);
            else if (!plan.IsStarted) StartNext();
        }

        void Take(Job job)
        {
            current = job;
            plan = TestPlan.Restore(job.Plan);
            aliveAt = clock.Now;
        }

        public string Submit(string requestId, TestPlan asked)
        {
            var job = new Job { Id = newId(), RequestId = requestId, ToolName = ToolName, Plan = asked.Save() };
            book.Add(job);
            return job.Id;
        }

        /// <param name="isEditorReady">Nothing starts or counts as lost while scripts compile.</param>
        public void Tick(bool isEditorReady)
        {
            if (!isEditorReady) aliveAt = clock.Now;
            else if (current != null) Watch();
            else TryBegin();
        }

        void TryBegin()
        {
            var job = book.FirstActive(ToolName);
            // A run that the user has started must end first.
            if (job == null || runner.IsActive == true) return;
            Take(job);
            var obstacle = runner.Obstacle;
            if (obstacle != null)
            {
                End("failed", null, obstacle);
                return;
            }
            job.State = "running";
            book.Changed();
            runner.List(plan.ToList[0], plan.Filter);
        }

        public void Listed(string mode, int count)
        {
            if (current == null || plan.ToList.Count == 0 || plan.ToList[0] != mode) return;
            aliveAt = clock.Now;
            plan.ToList.RemoveAt(0);
            current.Total += count;
            if (count > 0) plan.ToRun.Add(mode);
            if (plan.ToList.Count > 0) runner.List(plan.ToList[0], plan.Filter);
            else if (plan.ToRun.Count > 0) StartNext();
            else End("failed", plan.Result(), null); // The server explains a run of zero tests, with the filter.
            Store();
        }

        void StartNext()
        {
            plan.IsStarted = true;
            aliveAt = clock.Now;
            Store();
            runner.Start(plan.ToRun[0], plan.Filter);
        }

        public void TestStarted(string name)
        {
            if (current == null) return;
            aliveAt = clock.Now;
            current.Current = FrameRoom.Cut(name, Limits.NameCharsMax);
            book.Changed();
        }

        public void TestFinished()
        {
            if (current == null) return;
            aliveAt = clock.Now;
            current.Done++;
            book.Changed();
        }

        public void RunFinished(TestRunResult result)
        {
            if (current == null || !plan.IsStarted) return;
            plan.Merge(result);
            plan.IsStarted = false;
            plan.ToRun.RemoveAt(0);
            if (plan.CancelAt != 0) End("cancelled", null, null);
            else if (plan.ToRun.Count > 0) StartNext();
            else End(plan.Failed > 0 ? "failed" : "succeeded", plan.Result(), null);
        }

        public void RunFailed(string message)
        {
            if (current == null) return;
            if (plan.CancelAt != 0) End("cancelled", null, null);
            else End("failed", null, "Unity could not run the tests: " + FrameRoom.Cut(message, Limits.ErrorCharsMax));
        }

        /// <summary>Some versions of the test framework report no end after a cancel or a dismissed dialog.</summary>
        void Watch()
        {
            var isActive = runner.IsActive;
            if (plan.CancelAt != 0)
            {
                var isOver = isActive == false || (isActive == null && clock.Now - plan.CancelAt > Limits.CancelWait);
                if (isOver) End("cancelled", null, null);
                return;
            }
            if (isActive != false) aliveAt = clock.Now;
            if (clock.Now - aliveAt > Limits.SilentRunMax)
                End("failed", null, "The test run ended without a result. Ask the user whether a dialog of the Editor was dismissed.");
        }

        /// <summary>The status for cancel_result.</summary>
        public string Cancel(Job job)
        {
            if (!job.IsActive) return "rejected";
            if (job != current)
            {
                job.End("cancelled", null, null);
                book.Changed();
                return "cancelled";
            }
            if (!plan.IsStarted)
            {
                End("cancelled", null, null);
                return "cancelled";
            }
            if (!runner.Cancel()) return "rejected";
            // The runner may have ended the job at once.
            if (current != job) return "cancelled";
            plan.CancelAt = Math.Max(1, clock.Now);
            Store();
            return "cancel_requested";
        }

        void End(string state, Json result, string error)
        {
            current.End(state, result, error);
            current = null;
            book.Changed();
        }

        void Store()
        {
            if (current == null) return;
            current.Plan = plan.Save();
            book.Changed();
        }
    }
}
