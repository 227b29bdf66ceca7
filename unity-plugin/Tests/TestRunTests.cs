using NUnit.Framework;

namespace UnityMcp.Tests
{
    /// <summary>How a test run goes on and ends.</summary>
    [TestFixture]
    public class TestRunTests : TestRunFixture
    {
        [Test]
        public void Counting_may_take_a_while()
        {
            var job = Submit("{\"mode\":\"edit\"}");
            Ticks(100);
            clock.Now += Limits.ListWait;
            Ticks(100);
            Assert.AreEqual("running", job.State);
            Listed("edit", 1);
            runs.Tick(true);
            Assert.AreEqual("start edit", runner.Last);
            Assert.AreEqual("running", job.State, "the silence begins with the run");
        }

        void Ticks(int count)
        {
            for (var tick = 0; tick < count; tick++) runs.Tick(true);
        }

        [Test]
        public void A_count_that_never_ends_fails_and_the_next_job_works()
        {
            var job = Submit("{\"mode\":\"edit\"}");
            clock.Now += Limits.ListWait + 1;
            runs.Tick(true);
            Assert.AreEqual("running", job.State, "the main thread was busy, so the names may come with the next update");
            Ticks(Limits.UpdatesBetweenRuns);
            Assert.AreEqual("failed", job.State);
            StringAssert.Contains("30 seconds", job.Error);
            var next = Submit("{\"mode\":\"edit\"}");
            Listed("edit", 1);
            Assert.AreEqual("start edit", runner.Last);
            Assert.AreEqual("running", next.State);
        }

        [Test]
        public void The_time_of_a_compile_does_not_count_for_the_names()
        {
            var job = Submit("{\"mode\":\"edit\"}");
            clock.Now += 10 * Limits.ListWait;
            runs.Tick(false);
            Ticks(100);
            Assert.AreEqual("running", job.State);
        }

        [Test]
        public void A_runner_that_cannot_say_whether_it_is_active_fails_the_job_that_waits_for_it()
        {
            runner.IsActiveFailure = new System.InvalidOperationException("changed");
            runs.Tick(true);
            var job = Submit("{}");
            Assert.AreEqual("failed", job.State);
            StringAssert.Contains("changed", job.Error);
            runner.IsActiveFailure = null;
            Assert.AreEqual("running", Submit("{}").State);
        }

        [Test]
        public void A_count_that_Unity_refuses_ends_the_job()
        {
            runner.ListFailure = new System.InvalidOperationException("no tests now");
            var job = Submit("{}");
            Assert.AreEqual("failed", job.State);
            StringAssert.Contains("no tests now", job.Error);
            runner.ListFailure = null;
            Assert.AreEqual("running", Submit("{}").State);
        }

        [Test]
        public void A_run_without_failures_succeeds()
        {
            var job = Submit("{\"mode\":\"edit\"}");
            Listed("edit", 1);
            runs.RunFinished(Result(1));
            Assert.AreEqual("succeeded", job.State);
            Assert.IsFalse(book.HasActive);
        }

        [Test]
        public void An_obstacle_such_as_an_unsaved_scene_is_a_clear_error()
        {
            runner.Obstacle = "The scene has unsaved changes.";
            var job = Submit("{}");
            Assert.AreEqual("failed", job.State);
            Assert.AreEqual("The scene has unsaved changes.", job.Error);
            Assert.AreEqual(0, runner.Calls.Count);
        }

        [Test]
        public void Progress_counts_tests_and_names_the_current_one()
        {
            var job = Submit("{\"mode\":\"edit\"}");
            Listed("edit", 2);
            runs.TestStarted("A.one");
            runs.TestFinished();
            runs.TestStarted("A.two");
            StringAssert.Contains("\"progress\":{\"done\":1,\"total\":2,\"current\":\"A.two\"}", book.Status("r", job.Id, 1048576).ToString());
        }

        [Test]
        public void A_queued_job_is_cancelled_at_once()
        {
            Submit("{}");
            var second = Submit("{}");
            Assert.AreEqual("cancelled", runs.Cancel(second));
            Assert.AreEqual("cancelled", second.State);
        }

        [Test]
        public void A_job_that_still_counts_its_tests_is_cancelled_at_once()
        {
            var job = Submit("{}");
            Assert.AreEqual("cancelled", runs.Cancel(job));
            Listed("edit", 3);
            Assert.AreEqual("list edit", runner.Last, "a late count starts nothing");
            Assert.AreEqual(1, runner.Calls.Count);
        }

        [Test]
        public void A_running_job_ends_as_cancelled_when_the_runner_says_so()
        {
            var job = Running();
            Assert.AreEqual("cancel_requested", runs.Cancel(job));
            Assert.AreEqual("running", job.State);
            runs.RunFinished(Result(1));
            Assert.AreEqual("cancelled", job.State);
            Assert.IsNull(job.Result);
        }

        [Test]
        public void A_cancelled_run_that_never_reports_its_end_ends_when_nothing_is_active()
        {
            var job = Running();
            runs.Cancel(job);
            runs.Tick(true);
            Assert.AreEqual("running", job.State);
            runner.IsActive = false;
            runs.Tick(true);
            Assert.AreEqual("cancelled", job.State);
        }

        [Test]
        public void A_cancelled_run_ends_after_a_wait_if_nobody_knows_whether_it_is_active()
        {
            var job = Running();
            runner.IsActive = null;
            runs.Cancel(job);
            clock.Now += Limits.CancelWait;
            runs.Tick(true);
            Assert.AreEqual("running", job.State);
            clock.Now++;
            runs.Tick(true);
            Assert.AreEqual("cancelled", job.State);
        }

        [Test]
        public void A_cancel_is_rejected_if_Unity_cannot_or_the_job_has_ended()
        {
            var job = Running();
            runner.CanCancel = false;
            Assert.AreEqual("rejected", runs.Cancel(job));
            Assert.AreEqual("running", job.State);
            runs.RunFailed("x");
            Assert.AreEqual("rejected", runs.Cancel(job));
        }

        [Test]
        public void An_error_of_the_runner_ends_the_job()
        {
            var job = Running();
            runs.RunFailed("no compiler");
            Assert.AreEqual("failed", job.State);
            StringAssert.Contains("no compiler", job.Error);
        }

        [Test]
        public void A_run_that_ends_in_silence_is_failed_after_a_while()
        {
            var job = Running();
            runner.IsActive = false;
            clock.Now += Limits.SilentRunMax;
            runs.Tick(true);
            Assert.AreEqual("running", job.State);
            clock.Now++;
            runs.Tick(true);
            Assert.AreEqual("failed", job.State);
            StringAssert.Contains("without a result", job.Error);
        }

        [Test]
        public void A_run_without_a_report_of_its_end_is_forgotten_so_that_runs_of_the_user_are_not_taken_for_it()
        {
            runs.Cancel(Running());
            Assert.IsTrue(runner.OwnsRun);
            runner.IsActive = false;
            runs.Tick(true);
            Assert.IsFalse(runner.OwnsRun, "a cancel");
            Running();
            runner.IsActive = false;
            clock.Now += Limits.SilentRunMax + 1;
            runs.Tick(true);
            Assert.IsFalse(runner.OwnsRun, "a silent end");
            runner.StartFailure = new System.InvalidOperationException("no");
            var job = Submit("{\"mode\":\"edit\"}");
            Listed("edit", 1);
            Assert.AreEqual("failed", job.State);
            Assert.IsFalse(runner.OwnsRun, "a start that fails");
        }

        [Test]
        public void A_reload_forgets_a_run_that_no_job_waits_for()
        {
            var job = Running();
            Reload();
            runner.OwnsRun = true;
            Assert.AreEqual("running", book.Find(job.Id).State);
            book.Find(job.Id).End("failed", null, "x");
            new TestRuns(book, runner, () => "id", clock);
            Assert.IsFalse(runner.OwnsRun);
        }

        [Test]
        public void A_run_that_is_active_or_unknown_is_never_called_silent()
        {
            foreach (var isActive in new bool?[] { true, null })
            {
                SetUp();
                var job = Running();
                runner.IsActive = isActive;
                clock.Now += 1000000;
                runs.Tick(true);
                Assert.AreEqual("running", job.State);
            }
        }

        [Test]
        public void The_time_of_a_compile_does_not_count_as_silence()
        {
            var job = Running();
            runner.IsActive = false;
            clock.Now += 60000;
            runs.Tick(false);
            runs.Tick(true);
            Assert.AreEqual("running", job.State);
        }

        [Test]
        public void A_cancel_survives_a_reload()
        {
            var job = Running();
            runs.Cancel(job);
            Reload();
            runs.RunFinished(Result(1));
            Assert.AreEqual("cancelled", book.Find(job.Id).State);
        }

        [Test]
        public void Long_names_and_errors_fit_into_the_smallest_frame()
        {
            var job = Running();
            runs.TestStarted(new string('\u0001', 100000));
            Assert.Less(JsonWriter.Bytes(book.Status("r", job.Id, 16384).ToString()), 16384);
            runs.RunFailed(new string('\u0001', 100000));
            Assert.Less(JsonWriter.Bytes(book.Status("r", job.Id, 16384).ToString()), 16384);
        }

        [Test]
        public void Events_without_a_job_are_ignored()
        {
            runs.TestStarted("x");
            runs.TestFinished();
            runs.RunFinished(Result(1));
            runs.RunFailed("x");
            runs.Listed("job", "edit", new[] { "A" });
            Assert.AreEqual(0, runner.Calls.Count);
        }

        [TestCase("{\"mode\":\"both\"}")]
        [TestCase("{\"filter\":7}")]
        public void Wrong_parameters_are_rejected(string parameters)
        {
            Assert.AreEqual("ERR_INVALID_PARAMS", Assert.Throws<RejectedException>(() => TestPlan.Parse(JsonReader.Parse(parameters))).Code);
        }
    }
}
