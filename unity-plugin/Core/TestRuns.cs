using System;
using System.Collections.Generic;

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
        /// <summary>Per mode, the tests that the filter chooses; null for all. A reload forgets them, and they are looked up again.</summary>
        readonly Dictionary<string, IList<string>> chosen = new Dictionary<string, IList<string>>();
        Job current;
        TestPlan plan;
        /// <summary>Unity was asked for the names of its tests.</summary>
        bool isListing;
        /// <summary>When the run was last known to be alive, or when Unity was asked for the names of its tests.</summary>
        long aliveAt;
        /// <summary>Updates of a ready Editor since Unity was asked for the names. While the main thread is busy there are none.</summary>
        int updatesSinceList;
        /// <summary>Updates of a ready Editor since a run has ended, or since the start.</summary>
        int updatesSinceRun;

        public TestRuns(JobBook book, ITestRunner runner, Func<string> newId, IClock clock)
        {
            this.book = book;
            this.runner = runner;
            this.newId = newId;
            this.clock = clock;
            runner.Events = this;
            // After a domain reload: the test framework resumes a run by itself.
            var job = book.FirstActive(ToolName);
            if (job != null && job.State == "running") Take(job);
            else runner.Forget();
        }

        void Take(Job job)
        {
            current = job;
            plan = TestPlan.Restore(job.Plan);
            aliveAt = clock.Now;
            isListing = false;
            chosen.Clear();
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
            if (!isEditorReady)
            {
                aliveAt = clock.Now;
                return;
            }
            updatesSinceRun++;
            try
            {
                if (current == null) TryBegin();
                else if (plan.IsStarted) Watch();
                else if (isListing) WatchList();
                else GoOn();
            }
            catch (Exception failure)
            {
                // Whatever Unity throws ends the job. The next one may work.
                if (current == null) Take(book.FirstActive(ToolName));
                Fail(failure.Message);
            }
        }

        /// <summary>
        /// A run reports its end before it has cleaned up, and a run of the user must end first. A version of Unity that cannot tell
        /// gets some updates for it.
        /// </summary>
        bool IsRunnerFree
        {
            get { return !(runner.IsActive ?? updatesSinceRun <= Limits.UpdatesBetweenRuns); }
        }

        void TryBegin()
        {
            var job = book.FirstActive(ToolName);
            if (job == null || !IsRunnerFree) return;
            Take(job);
            if (IsObstructed()) return;
            job.State = "running";
            book.Changed();
            ListNext();
        }

        void GoOn()
        {
            if (plan.ToList.Count > 0) ListNext();
            else if (IsRunnerFree && !IsObstructed()) StartNext();
        }

        /// <summary>Before every run, because the user works on meanwhile. An obstacle ends the job.</summary>
        bool IsObstructed()
        {
            var obstacle = runner.Obstacle;
            if (obstacle == null) return false;
            if (plan.Total == 0) End("failed", null, obstacle);
            else End("failed", plan.Result(), "The Edit Mode tests ran, the Play Mode tests did not. " + obstacle);
            return true;
        }

        void ListNext()
        {
            isListing = true;
            aliveAt = clock.Now;
            updatesSinceList = 0;
            runner.List(current.Id, plan.ToList[0]);
        }

        void WatchList()
        {
            updatesSinceList++;
            if (clock.Now - aliveAt <= Limits.ListWait || updatesSinceList <= Limits.UpdatesBetweenRuns) return;
            End("failed", null, "Unity did not name its tests within " + Limits.ListWait / 1000 + " seconds, so no test ran. Ask the user to look at the Test Runner window.");
        }

        public void Listed(string jobId, string mode, IList<string> names)
        {
            if (current == null || current.Id != jobId || !isListing || plan.ToList[0] != mode) return;
            isListing = false;
            var matching = plan.Matching(names);
            plan.ToList.RemoveAt(0);
            current.Total += matching.Count;
            if (matching.Count > 0) plan.ToRun.Add(mode);
            chosen[mode] = matching.Count == names.Count ? null : matching;
            if (plan.ToList.Count == 0 && plan.ToRun.Count == 0) Conclude();
            else Store();
        }

        void StartNext()
        {
            var mode = plan.ToRun[0];
            IList<string> names = null;
            if (plan.Filter != null && !chosen.TryGetValue(mode, out names))
            {
                ListAgain();
                return;
            }
            plan.IsStarted = true;
            aliveAt = clock.Now;
            Store();
            runner.Start(mode, names);
        }

        void ListAgain()
        {
            plan.ToList.AddRange(plan.ToRun);
            plan.ToRun.Clear();
            current.Total = plan.Total;
            Store();
            ListNext();
        }

        public void TestStarted(string name)
        {
            if (!IsRunning) return;
            aliveAt = clock.Now;
            current.Current = FrameRoom.Cut(name, Limits.NameCharsMax);
            book.Changed();
        }

        public void TestFinished()
        {
            if (!IsRunning) return;
            aliveAt = clock.Now;
            current.Done++;
            book.Changed();
        }

        bool IsRunning
        {
            get { return current != null && plan.IsStarted; }
        }

        public void RunFinished(TestRunResult result)
        {
            if (!IsRunning) return;
            updatesSinceRun = 0;
            plan.Merge(result);
            plan.IsStarted = false;
            plan.ToRun.RemoveAt(0);
            if (plan.CancelAt != 0) End("cancelled", null, null);
            else if (plan.ToRun.Count > 0) Store();
            else Conclude();
        }

        public void RunFailed(string message)
        {
            if (!IsRunning) return;
            if (plan.CancelAt != 0) End("cancelled", null, null);
            else Fail(message);
        }

        void Fail(string message)
        {
            End("failed", null, "Unity could not run the tests: " + FrameRoom.Cut(message, Limits.ErrorCharsMax));
        }

        /// <summary>The server explains a run of zero tests, with the filter.</summary>
        void Conclude()
        {
            End(plan.Failed > 0 || plan.Total == 0 ? "failed" : "succeeded", plan.Result(), null);
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
            updatesSinceRun = 0;
            runner.Forget();
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
