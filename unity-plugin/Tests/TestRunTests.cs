using NUnit.Framework;

namespace UnityMcp.Tests
{
    [TestFixture]
    public class TestRunTests
    {
        FakeRunner runner;
        FakeClock clock;
        JobBook book;
        TestRuns runs;
        int ids;

        [SetUp]
        public void SetUp()
        {
            ids = 0;
            book = new JobBook();
            clock = new FakeClock { Now = 5000 };
            Load();
        }

        void Load()
        {
            runner = new FakeRunner { IsActive = false };
            runs = new TestRuns(book, runner, () => "job-" + ++ids, clock);
        }

        /// <summary>Everything in memory is lost, except what the book stores as text.</summary>
        void Reload()
        {
            var saved = JsonReader.Parse(book.Save().ToString());
            book = new JobBook();
            book.Restore(saved);
            Load();
        }

        Job Submit(string parameters)
        {
            var id = runs.Submit("req-" + (ids + 1), TestPlan.Parse(JsonReader.Parse(parameters)));
            runs.Tick(true);
            return book.Find(id);
        }

        static TestRunResult Result(int passed, params string[] failed)
        {
            var result = new TestRunResult { Passed = passed, Failed = failed.Length, DurationMs = 100 };
            foreach (var name in failed) result.FailedTests.Add(new FailedTest { Name = name, Message = "m", StackTrace = "s" });
            return result;
        }

        [Test]
        public void All_is_a_run_of_edit_tests_and_then_one_of_play_tests()
        {
            var job = Submit("{\"filter\":\"A\"}");
            Assert.AreEqual("list edit A", runner.Last);
            Assert.AreEqual("running", job.State);
            runs.Listed("edit", 3);
            Assert.AreEqual("list play A", runner.Last);
            runs.Listed("play", 2);
            Assert.AreEqual("start edit A", runner.Last);
            Assert.AreEqual(5, job.Total);
            runs.RunFinished(Result(2, "A.x"));
            Assert.AreEqual("start play A", runner.Last);
            Assert.AreEqual("running", job.State);
            runs.RunFinished(Result(2));
            Assert.AreEqual("failed", job.State);
            Assert.AreEqual("{\"summary\":{\"total\":5,\"passed\":4,\"failed\":1,\"skipped\":0,\"duration_ms\":200},"
                + "\"failed_tests\":[{\"name\":\"A.x\",\"message\":\"m\",\"stack_trace\":\"s\"}]}", job.Result.ToString());
        }

        [Test]
        public void A_run_without_failures_succeeds()
        {
            var job = Submit("{\"mode\":\"edit\"}");
            runs.Listed("edit", 1);
            runs.RunFinished(Result(1));
            Assert.AreEqual("succeeded", job.State);
            Assert.IsFalse(book.HasActive);
        }

        [Test]
        public void A_mode_without_tests_is_left_out()
        {
            Submit("{}");
            runs.Listed("edit", 0);
            runs.Listed("play", 2);
            Assert.AreEqual("start play", runner.Last);
        }

        [Test]
        public void No_matching_test_is_a_failed_job_with_an_empty_summary()
        {
            var job = Submit("{\"filter\":\"X\"}");
            runs.Listed("edit", 0);
            runs.Listed("play", 0);
            Assert.AreEqual("failed", job.State);
            Assert.AreEqual("{\"total\":0,\"passed\":0,\"failed\":0,\"skipped\":0,\"duration_ms\":0}", job.Result["summary"].ToString());
            Assert.IsFalse(runner.Calls.Exists(call => call.StartsWith("start")));
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
            runs.Listed("edit", 2);
            runs.TestStarted("A.one");
            runs.TestFinished();
            runs.TestStarted("A.two");
            StringAssert.Contains("\"progress\":{\"done\":1,\"total\":2,\"current\":\"A.two\"}", book.Status("r", job.Id, 1048576).ToString());
        }

        [Test]
        public void Jobs_run_one_after_the_other()
        {
            var first = Submit("{\"mode\":\"edit\"}");
            var second = Submit("{\"mode\":\"play\"}");
            Assert.AreEqual("queued", second.State);
            runs.Listed("edit", 1);
            runs.RunFinished(Result(1));
            Assert.AreEqual("succeeded", first.State);
            runs.Tick(true);
            Assert.AreEqual("running", second.State);
            Assert.AreEqual("list play", runner.Last);
        }

        [Test]
        public void A_run_of_the_user_ends_first()
        {
            runner.IsActive = true;
            var job = Submit("{}");
            Assert.AreEqual("queued", job.State);
            runner.IsActive = false;
            runs.Tick(true);
            Assert.AreEqual("running", job.State);
        }

        [Test]
        public void Nothing_starts_while_scripts_compile()
        {
            runs.Submit("r", TestPlan.Parse(Json.Object()));
            runs.Tick(false);
            Assert.AreEqual(0, runner.Calls.Count);
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
            runs.Listed("edit", 3);
            Assert.AreEqual("list edit", runner.Last, "a late count starts nothing");
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

        Job Running()
        {
            var job = Submit("{}");
            runs.Listed("edit", 2);
            runs.Listed("play", 2);
            runner.IsActive = true;
            return job;
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
        public void A_reload_during_a_run_loses_neither_the_results_nor_the_second_mode()
        {
            var id = Running().Id;
            runs.RunFinished(Result(1, "A.x"));
            runs.TestFinished();
            Reload();
            Assert.AreEqual(0, runner.Calls.Count, "the test framework resumes by itself");
            runs.RunFinished(Result(2));
            var job = book.Find(id);
            Assert.AreEqual("failed", job.State);
            Assert.AreEqual(4, job.Result["summary"].Integer("total", 0));
            Assert.AreEqual("A.x", job.Result["failed_tests"].Items[0].Text("name"));
        }

        [Test]
        public void A_reload_between_the_modes_starts_the_second_one_once()
        {
            Running();
            Reload();
            runs.RunFinished(Result(2));
            Assert.AreEqual("start play", runner.Last);
            Assert.AreEqual(1, runner.Calls.Count);
            Reload();
            Assert.AreEqual(0, runner.Calls.Count);
        }

        [Test]
        public void A_reload_while_tests_are_counted_counts_again()
        {
            Submit("{}");
            runs.Listed("edit", 3);
            Reload();
            Assert.AreEqual("list play", runner.Last);
            runs.Listed("play", 1);
            Assert.AreEqual("start edit", runner.Last);
            Assert.AreEqual(4, book.FirstActive(TestRuns.ToolName).Total);
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
        public void A_queued_job_survives_a_reload()
        {
            Running();
            var second = Submit("{\"mode\":\"edit\"}");
            Reload();
            runs.RunFinished(Result(1));
            runs.RunFinished(Result(1));
            runs.Tick(true);
            Assert.AreEqual("running", book.Find(second.Id).State);
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
            runs.Listed("edit", 1);
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
