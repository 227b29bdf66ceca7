using System;
using NUnit.Framework;

namespace UnityMcp.Tests
{
    [TestFixture]
    public class CompileJobTests
    {
        FakeClock clock;
        FakeCompiler compiler;
        JobBook book;
        CompileLog log;
        CompileJobs jobs;
        int ids;

        [SetUp]
        public void SetUp()
        {
            clock = new FakeClock { Now = 5000 };
            compiler = new FakeCompiler();
            book = new JobBook();
            Load(null);
        }

        void Load(Json saved)
        {
            log = new CompileLog(clock, saved);
            compiler.Started += log.Started;
            compiler.AssemblyFinished += log.AssemblyFinished;
            compiler.Finished += log.Finished;
            compiler.Abandoned += log.Abandoned;
            jobs = new CompileJobs(book, log, compiler, () => "job-" + ++ids, clock);
        }

        /// <summary>Everything in memory is lost, except what is stored as text.</summary>
        void Reload()
        {
            var saved = JsonReader.Parse(book.Save().ToString());
            book = new JobBook();
            book.Restore(saved);
            var hasFailed = compiler.HasFailed;
            compiler = new FakeCompiler { HasFailed = hasFailed };
            Load(JsonReader.Parse(log.Save().ToString()));
        }

        string Submit()
        {
            return jobs.Submit("req", clock.Now);
        }

        void Ticks(int count, bool isReady = true)
        {
            for (var tick = 0; tick < count; tick++) jobs.Tick(isReady);
        }

        Job Ended(string id)
        {
            Ticks(Limits.QuietUpdates + 1);
            return book.Find(id);
        }

        [Test]
        public void It_imports_with_the_next_update_and_not_before()
        {
            var id = Submit();
            Assert.AreEqual(0, compiler.Calls.Count);
            Assert.AreEqual("queued", book.Find(id).State);
            jobs.Tick(true);
            Assert.AreEqual("import", string.Join(",", compiler.Calls.ToArray()));
            Assert.AreEqual("running", book.Find(id).State);
        }

        [Test]
        public void If_no_compile_starts_within_a_few_updates_everything_was_up_to_date()
        {
            var id = Submit();
            jobs.Tick(true);
            clock.Now += 70;
            Ticks(Limits.QuietUpdates);
            Assert.AreEqual("running", book.Find(id).State);
            jobs.Tick(true);
            Assert.AreEqual("succeeded", book.Find(id).State);
            Assert.AreEqual("{\"outcome\":\"up_to_date\",\"reloaded\":false,\"errors\":[],\"errors_left_out\":0,\"warnings\":0,\"duration_ms\":70}",
                book.Find(id).Result.ToString());
            Assert.AreEqual(1, compiler.Calls.Count, "nothing was compiled");
        }

        [Test]
        public void A_compile_that_starts_is_awaited_however_long_it_takes()
        {
            var id = Submit();
            Ticks(Limits.QuietUpdates);
            compiler.Start();
            Ticks(1000);
            Ticks(1000, false);
            compiler.Finish(FakeCompiler.Warning);
            Ticks(1000, false);
            Ticks(Limits.QuietUpdates);
            Assert.AreEqual("running", book.Find(id).State, "a reload may still follow");
            var result = Ended(id).Result;
            Assert.AreEqual("compiled", result.Text("outcome"));
            Assert.AreEqual(1, result.Integer("warnings", 0));
            Assert.IsFalse(result["reloaded"].AsBool.Value);
        }

        [Test]
        public void It_survives_its_own_reload()
        {
            var id = Submit();
            jobs.Tick(true);
            compiler.Run();
            Reload();
            Assert.AreEqual("running", book.Find(id).State);
            var job = Ended(id);
            Assert.AreEqual("succeeded", job.State);
            Assert.AreEqual("compiled", job.Result.Text("outcome"));
            Assert.IsTrue(job.Result["reloaded"].AsBool.Value);
            Assert.AreEqual(0, compiler.Calls.Count, "it does not begin again");
        }

        [Test]
        public void A_failed_compile_is_a_failed_job_with_a_result_and_no_error()
        {
            var id = Submit();
            jobs.Tick(true);
            compiler.Run(FakeCompiler.Error(1), FakeCompiler.Error(2));
            var job = Ended(id);
            Assert.AreEqual("failed", job.State);
            Assert.IsNull(job.Error);
            Assert.AreEqual("failed", job.Result.Text("outcome"));
            Assert.AreEqual(2, job.Result["errors"].Items.Count);
            Assert.AreEqual("import", string.Join(",", compiler.Calls.ToArray()));
        }

        [Test]
        public void A_compile_that_ended_after_the_request_arrived_counts()
        {
            var askedAt = clock.Now;
            clock.Now += 100;
            compiler.Run();
            var id = jobs.Submit("req", askedAt);
            jobs.Tick(true);
            Assert.AreEqual("compiled", Ended(id).Result.Text("outcome"));
        }

        [Test]
        public void A_compile_that_ended_before_the_request_arrived_does_not_count()
        {
            compiler.Run();
            Reload();
            clock.Now++;
            var id = Submit();
            jobs.Tick(true);
            Assert.AreEqual("up_to_date", Ended(id).Result.Text("outcome"));
            Assert.IsFalse(book.Find(id).Result["reloaded"].AsBool.Value);
        }

        [Test]
        public void A_compile_that_runs_already_is_awaited_and_nothing_is_imported_meanwhile()
        {
            compiler.Start();
            var id = Submit();
            Ticks(100);
            Assert.AreEqual(0, compiler.Calls.Count);
            compiler.Finish(FakeCompiler.Error(7));
            jobs.Tick(true);
            Assert.AreEqual("import", compiler.Calls[0]);
            Assert.AreEqual(7, Ended(id).Result["errors"].Items[0].Integer("line", 0));
        }

        [Test]
        public void Scripts_that_do_not_compile_are_compiled_again_even_if_nothing_changed()
        {
            compiler.Run(FakeCompiler.Error(1));
            clock.Now++;
            var id = Submit();
            jobs.Tick(true);
            Ticks(Limits.QuietUpdates + 1);
            Assert.AreEqual("import,compile", string.Join(",", compiler.Calls.ToArray()));
            Assert.AreEqual("running", book.Find(id).State);
            compiler.Run(FakeCompiler.Error(2));
            var job = Ended(id);
            Assert.AreEqual("failed", job.State);
            Assert.AreEqual(2, job.Result["errors"].Items[0].Integer("line", 0));
        }

        [Test]
        public void Broken_scripts_are_never_called_up_to_date()
        {
            compiler.Run(FakeCompiler.Error(1));
            clock.Now++;
            var id = Submit();
            jobs.Tick(true);
            Ticks(Limits.QuietUpdates + 1);
            var job = Ended(id);
            Assert.AreEqual("failed", job.Result.Text("outcome"), "the compile that was asked for did not start");
            Assert.AreEqual(1, job.Result["errors"].Items.Count);
        }

        [Test]
        public void Broken_scripts_that_were_never_compiled_here_are_an_error()
        {
            compiler.HasFailed = true;
            var id = Submit();
            jobs.Tick(true);
            Ticks(Limits.QuietUpdates + 1);
            var job = Ended(id);
            Assert.AreEqual("failed", job.State);
            StringAssert.Contains("do not compile", job.Error);
        }

        [Test]
        public void A_compile_that_never_reports_its_end_is_repeated_once_and_never_called_up_to_date()
        {
            var id = Submit();
            jobs.Tick(true);
            compiler.Abandon();
            Ticks(Limits.QuietUpdates + 1);
            Assert.AreEqual("import,compile", string.Join(",", compiler.Calls.ToArray()));
            compiler.Abandon();
            Assert.AreEqual("failed", Ended(id).State);
            StringAssert.Contains("did not report the end", book.Find(id).Error);
            var next = Submit();
            jobs.Tick(true);
            compiler.Run();
            Assert.AreEqual("compiled", Ended(next).Result.Text("outcome"));
        }

        [Test]
        public void In_Play_Mode_it_fails_at_once_with_a_clear_error()
        {
            compiler.Obstacle = "The Editor is in Play Mode";
            var id = Submit();
            jobs.Tick(true);
            Assert.AreEqual("failed", book.Find(id).State);
            StringAssert.Contains("Play Mode", book.Find(id).Error);
            Assert.AreEqual(0, compiler.Calls.Count);
        }

        [Test]
        public void What_Unity_throws_ends_the_job()
        {
            compiler.Failure = new InvalidOperationException("locked");
            var id = Submit();
            jobs.Tick(true);
            Assert.AreEqual("failed", book.Find(id).State);
            StringAssert.Contains("locked", book.Find(id).Error);
        }

        [Test]
        public void A_second_job_waits_and_reports_the_compile_that_it_waited_for()
        {
            var first = Submit();
            jobs.Tick(true);
            var second = Submit();
            clock.Now++;
            compiler.Run();
            Assert.AreEqual("compiled", Ended(first).Result.Text("outcome"));
            Assert.AreEqual("queued", book.Find(second).State);
            jobs.Tick(true);
            Assert.AreEqual("compiled", Ended(second).Result.Text("outcome"));
        }

        [Test]
        public void Errors_beyond_the_frame_are_counted()
        {
            var id = Submit();
            jobs.Tick(true);
            var many = new ScriptMessage[Limits.CompileErrorsMax + 50];
            for (var index = 0; index < many.Length; index++) many[index] = FakeCompiler.Error(index + 1);
            compiler.Run(many);
            Ended(id);
            foreach (var frameMax in new[] { 16384, 1048576 })
            {
                var status = book.Status("r", id, frameMax);
                Assert.Less(JsonWriter.Bytes(status.ToString()), frameMax);
                var result = status["result"];
                Assert.AreEqual(many.Length, result["errors"].Items.Count + result.Integer("errors_left_out", 0));
                Assert.Greater(result["errors"].Items.Count, 50);
            }
        }
    }
}
