using NUnit.Framework;

namespace UnityMcp.Tests
{
    /// <summary>Which tests run, in which order, also over reloads.</summary>
    [TestFixture]
    public class TestRunOrderTests : TestRunFixture
    {
        [Test]
        public void All_is_a_run_of_edit_tests_and_then_one_of_play_tests()
        {
            var job = Submit("{}");
            Assert.AreEqual("list edit", runner.Last);
            Assert.AreEqual("running", job.State);
            Listed("edit", 3);
            Assert.AreEqual("list play", runner.Last);
            Listed("play", 2);
            Assert.AreEqual("start edit", runner.Last);
            Assert.AreEqual(5, job.Total);
            Finish(Result(2, "A.x"));
            Assert.AreEqual("start play", runner.Last);
            Assert.AreEqual("running", job.State);
            runs.RunFinished(Result(2));
            Assert.AreEqual("failed", job.State);
            Assert.AreEqual("{\"summary\":{\"total\":5,\"passed\":4,\"failed\":1,\"skipped\":0,\"duration_ms\":200},"
                + "\"failed_tests\":[{\"name\":\"A.x\",\"message\":\"m\",\"stack_trace\":\"s\"}]}", job.Result.ToString());
        }

        [Test]
        public void The_next_run_starts_only_after_Unity_has_cleaned_up_the_last_one()
        {
            Running();
            runs.RunFinished(Result(2));
            Assert.AreEqual("start edit", runner.Last, "not inside the report of the end");
            runs.Tick(true);
            Assert.AreEqual("start edit", runner.Last, "the run is still active");
            runner.IsActive = false;
            runs.Tick(true);
            Assert.AreEqual("start play", runner.Last);
        }

        [Test]
        public void The_next_run_starts_some_updates_later_if_nobody_knows_whether_the_last_one_is_active()
        {
            Running();
            runner.IsActive = null;
            runs.RunFinished(Result(2));
            for (var update = 0; update < Limits.UpdatesBetweenRuns; update++) runs.Tick(true);
            Assert.AreEqual("start edit", runner.Last);
            runs.Tick(true);
            Assert.AreEqual("start play", runner.Last);
        }

        [Test]
        public void The_next_job_waits_for_the_clean_up_too()
        {
            Submit("{\"mode\":\"edit\"}");
            var second = Submit("{}");
            Listed("edit", 1);
            runner.IsActive = null;
            runs.RunFinished(Result(1));
            runs.Tick(true);
            Assert.AreEqual("queued", second.State);
            for (var update = 0; update < Limits.UpdatesBetweenRuns; update++) runs.Tick(true);
            Assert.AreEqual("running", second.State);
        }

        [Test]
        public void A_scene_that_is_changed_before_the_second_run_is_an_error_that_keeps_the_results()
        {
            var job = Running();
            runner.Obstacle = "The scene has unsaved changes.";
            Finish(Result(2, "A.x"));
            Assert.AreEqual("start edit", runner.Last);
            Assert.AreEqual("failed", job.State);
            Assert.AreEqual("The Edit Mode tests ran, the Play Mode tests did not. The scene has unsaved changes.", job.Error);
            Assert.AreEqual(3, job.Result["summary"].Integer("total", 0));
        }

        [Test]
        public void A_scene_that_is_changed_while_tests_are_counted_is_an_error()
        {
            var job = Submit("{\"mode\":\"play\"}");
            runner.Obstacle = "The scene has unsaved changes.";
            Listed("play", 2);
            Assert.AreEqual("The scene has unsaved changes.", job.Error);
            Assert.IsNull(job.Result);
            Assert.AreEqual("list play", runner.Last);
        }

        [Test]
        public void A_filter_chooses_tests_by_their_own_names_only()
        {
            var job = Submit("{\"filter\":\"Player\"}");
            runner.Answer("edit", "Game.PlayerTests.Jumps", "Game.EnemyTests.Dies", "Game.PlayerTests.Walks(\"a.b\")");
            runs.Tick(true);
            runner.Answer("play", "Game.LevelTests.Loads");
            runs.Tick(true);
            Assert.AreEqual("start edit Game.PlayerTests.Jumps Game.PlayerTests.Walks(\"a.b\")", runner.Last);
            Assert.AreEqual(2, job.Total);
            runs.RunFinished(Result(2));
            Assert.AreEqual("succeeded", job.State);
        }

        [Test]
        public void A_filter_that_fits_every_test_of_a_mode_names_none_of_them()
        {
            Submit("{\"filter\":\"Game.\"}");
            runner.Answer("edit", "Game.A", "Game.B");
            runs.Tick(true);
            runner.Answer("play", "Game.C", "Other.D");
            runs.Tick(true);
            Assert.AreEqual("start edit", runner.Last);
            Finish(Result(2));
            Assert.AreEqual("start play Game.C", runner.Last);
        }

        [Test]
        public void After_a_reload_the_tests_of_a_filter_are_looked_up_again()
        {
            var job = Submit("{\"filter\":\"Game\"}");
            runner.Answer("edit", "Game.A", "Other.B");
            runs.Tick(true);
            runner.Answer("play", "Game.C", "Other.D");
            runs.Tick(true);
            Reload();
            Finish(Result(1));
            Assert.AreEqual("list play", runner.Last);
            runner.Answer("play", "Game.C", "Other.D", "Game.E");
            runs.Tick(true);
            Assert.AreEqual("start play Game.C Game.E", runner.Last);
            Assert.AreEqual(3, book.Find(job.Id).Total, "one has run, two are left");
        }

        [Test]
        public void Tests_that_are_gone_after_a_reload_are_not_waited_for()
        {
            var id = Submit("{\"filter\":\"Game\"}").Id;
            runner.Answer("edit", "Game.A", "Other.B");
            runs.Tick(true);
            runner.Answer("play", "Game.C", "Other.D");
            runs.Tick(true);
            Reload();
            Finish(Result(1));
            Listed("play", 3);
            Assert.AreEqual("succeeded", book.Find(id).State);
        }

        [Test]
        public void A_late_count_of_a_cancelled_job_is_not_taken_for_the_next_one()
        {
            var first = Submit("{\"filter\":\"A\"}");
            runs.Cancel(first);
            var second = Submit("{\"mode\":\"edit\",\"filter\":\"B\"}");
            runs.Listed(first.Id, "edit", new[] { "A.one", "B.two" });
            Assert.AreEqual(0, second.Total);
            runs.Tick(true);
            Assert.AreEqual("list edit", runner.Last);
            runner.Answer("edit", "A.one", "B.two");
            runner.Answer("edit", "A.one", "B.two");
            Assert.AreEqual(1, second.Total, "a second answer counts nothing");
        }

        [Test]
        public void A_mode_without_tests_is_left_out()
        {
            Submit("{}");
            Listed("edit", 0);
            Listed("play", 2);
            Assert.AreEqual("start play", runner.Last);
        }

        [Test]
        public void No_matching_test_is_a_failed_job_with_an_empty_summary()
        {
            var job = Submit("{\"filter\":\"X\"}");
            Listed("edit", 0);
            Listed("play", 0);
            Assert.AreEqual("failed", job.State);
            Assert.AreEqual("{\"total\":0,\"passed\":0,\"failed\":0,\"skipped\":0,\"duration_ms\":0}", job.Result["summary"].ToString());
            Assert.IsFalse(runner.Calls.Exists(call => call.StartsWith("start")));
        }

        [Test]
        public void Jobs_run_one_after_the_other()
        {
            var first = Submit("{\"mode\":\"edit\"}");
            var second = Submit("{\"mode\":\"play\"}");
            Assert.AreEqual("queued", second.State);
            Listed("edit", 1);
            Finish(Result(1));
            Assert.AreEqual("succeeded", first.State);
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
        public void A_reload_between_the_runs_loses_neither_the_results_nor_the_second_mode()
        {
            var id = Running().Id;
            runs.RunFinished(Result(1, "A.x"));
            Reload();
            Assert.AreEqual(0, runner.Calls.Count, "a run may still be cleaned up");
            runner.IsActive = true;
            runs.Tick(true);
            Assert.AreEqual(0, runner.Calls.Count);
            runner.IsActive = false;
            runs.Tick(true);
            Assert.AreEqual("start play", runner.Last);
            runs.RunFinished(Result(2));
            var job = book.Find(id);
            Assert.AreEqual("failed", job.State);
            Assert.AreEqual(4, job.Result["summary"].Integer("total", 0));
            Assert.AreEqual("A.x", job.Result["failed_tests"].Items[0].Text("name"));
        }

        [Test]
        public void A_reload_during_a_run_starts_nothing_and_the_second_mode_starts_once()
        {
            Running();
            Reload();
            runs.Tick(true);
            Assert.AreEqual(0, runner.Calls.Count, "the test framework resumes by itself");
            Finish(Result(2));
            Assert.AreEqual("start play", runner.Last);
            Assert.AreEqual(1, runner.Calls.Count);
            Reload();
            runs.Tick(true);
            Assert.AreEqual(0, runner.Calls.Count);
        }

        [Test]
        public void A_reload_while_tests_are_counted_counts_again()
        {
            Submit("{}");
            Listed("edit", 3);
            Reload();
            Assert.AreEqual(0, runner.Calls.Count);
            runs.Tick(true);
            Assert.AreEqual("list play", runner.Last);
            Listed("play", 1);
            Assert.AreEqual("start edit", runner.Last);
            Assert.AreEqual(4, book.FirstActive(TestRuns.ToolName).Total);
        }

        [Test]
        public void A_queued_job_survives_a_reload()
        {
            Running();
            var second = Submit("{\"mode\":\"edit\"}");
            Reload();
            Finish(Result(1));
            Finish(Result(1));
            Assert.AreEqual("running", book.Find(second.Id).State);
        }
    }
}
