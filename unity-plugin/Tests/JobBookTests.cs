using NUnit.Framework;

namespace UnityMcp.Tests
{
    [TestFixture]
    public class JobBookTests
    {
        JobBook book;

        [SetUp]
        public void SetUp()
        {
            book = new JobBook();
        }

        Job Add(string id, string state)
        {
            var job = new Job { Id = id, RequestId = "req-" + id, ToolName = "run_tests", State = state };
            book.Add(job);
            return job;
        }

        [Test]
        public void A_job_is_found_by_its_id_and_by_its_submission()
        {
            Add("a", "running");
            Assert.AreEqual("a", book.Find("a").Id);
            Assert.AreEqual("a", book.SubmittedBy("req-a").Id);
            Assert.IsNull(book.Find("b"));
            Assert.IsNull(book.Find(null));
            Assert.IsNull(book.SubmittedBy(null));
        }

        [Test]
        public void The_newest_requests_that_repeated_a_job_are_remembered()
        {
            Add("a", "running");
            for (var number = 0; number <= Limits.RepeatsMax; number++) book.Repeat("a", "again-" + number);
            book.Repeat("unknown", "again-u");
            Assert.IsNull(book.SubmittedBy("again-0"));
            Assert.AreEqual("a", book.SubmittedBy("again-1").Id);
            Assert.AreEqual("a", book.SubmittedBy("again-" + Limits.RepeatsMax).Id);
            Assert.AreEqual("a", book.SubmittedBy("req-a").Id);
            Assert.IsNull(book.SubmittedBy("again-u"));
        }

        [Test]
        public void An_unknown_job_is_an_error()
        {
            Assert.AreEqual("ERR_JOB_NOT_FOUND", book.Status("r", "x", 1048576)["error"].Text("code"));
        }

        [Test]
        public void A_queued_job_has_no_progress_and_a_running_one_has()
        {
            var job = Add("a", "queued");
            Assert.AreEqual("{\"type\":\"job_status\",\"protocol_version\":1,\"request_id\":\"r\",\"job_id\":\"a\",\"state\":\"queued\"}",
                book.Status("r", "a", 1048576).ToString());
            job.State = "running";
            Assert.AreEqual("{\"done\":0,\"total\":0}", book.Status("r", "a", 1048576)["progress"].ToString());
        }

        [Test]
        public void An_error_is_told_with_its_code()
        {
            Add("a", "running").End("failed", null, "no tests");
            Assert.AreEqual("{\"code\":\"ERR_UNITY_EXECUTION\",\"message\":\"no tests\"}", book.Status("r", "a", 1048576)["error"].ToString());
        }

        [Test]
        public void Only_the_last_ended_jobs_are_kept_and_all_active_ones()
        {
            Add("active", "running");
            for (var number = 0; number < Limits.EndedJobsMax + 3; number++) Add("j" + number, "failed");
            Assert.IsNotNull(book.Find("active"));
            Assert.IsNull(book.Find("j2"));
            Assert.IsNotNull(book.Find("j3"));
        }

        [Test]
        public void An_older_job_keeps_its_end_and_its_numbers_without_its_lists()
        {
            var tests = Json.Array(new[] { Json.Object().With("name", "t1"), Json.Object().With("name", "t2") });
            Add("tests", "running").End("failed", Json.Object().With("summary", Json.Object().With("failed", 2)).With("failed_tests", tests), "e");
            Add("compile", "running").End("failed", Json.Object().With("outcome", "failed").With("errors", tests).With("errors_left_out", 5), null);
            for (var number = 0; number < Limits.WholeJobsMax - 1; number++) Add("j" + number, "running").End("succeeded", null, null);
            Assert.AreEqual(2, book.Find("compile").Result["errors"].Items.Count, "it is one of the last");
            Add("one", "running").End("succeeded", null, null);
            Add("more", "queued");
            Assert.AreEqual("{\"state\":\"failed\",\"result\":{\"summary\":{\"failed\":2},\"failed_tests\":[]},"
                + "\"error\":{\"code\":\"ERR_UNITY_EXECUTION\",\"message\":\"e\"}}", Told("tests"));
            Assert.AreEqual("{\"state\":\"failed\",\"result\":{\"outcome\":\"failed\",\"errors\":[],\"errors_left_out\":7}}", Told("compile"));
            Add("still", "queued");
            Assert.AreEqual("{\"state\":\"failed\",\"result\":{\"outcome\":\"failed\",\"errors\":[],\"errors_left_out\":7}}", Told("compile"));
        }

        [Test]
        public void Jobs_that_end_together_are_bounded_with_the_next_one()
        {
            var list = Json.Array(new[] { Json.Object().With("name", "t") });
            var jobs = new System.Collections.Generic.List<Job>();
            for (var number = 0; number < Limits.EndedJobsMax + 20; number++) jobs.Add(Add("j" + number, "queued"));
            foreach (var job in jobs) job.End("failed", Json.Object().With("failed_tests", list), null);
            Add("next", "queued");
            Assert.IsNull(book.Find("j19"));
            Assert.AreEqual(Limits.EndedJobsMax, jobs.FindAll(job => book.Find(job.Id) != null).Count);
            Assert.AreEqual(Limits.WholeJobsMax, jobs.FindAll(job => job.Result["failed_tests"].Items.Count > 0).Count);
        }

        string Told(string jobId)
        {
            var status = book.Status("r", jobId, 1048576);
            return Json.Object().With("state", status["state"]).With("result", status["result"]).With("error", status["error"]).ToString();
        }

        [Test]
        public void A_large_result_is_cut_to_a_frame_and_the_summary_stays()
        {
            var plan = new TestPlan();
            for (var number = 0; number < 200; number++)
            {
                var result = new TestRunResult { Failed = 1 };
                result.FailedTests.Add(new FailedTest { Name = "t" + number, Message = new string('\u0001', 9000), StackTrace = new string('\\', 9000) });
                plan.Merge(result);
            }
            Add("a", "running").End("failed", plan.Result(), null);
            foreach (var frameMax in new[] { 16384, 200000, 1048576 })
            {
                var status = book.Status(new string('r', 100), "a", frameMax);
                Assert.Less(JsonWriter.Bytes(status.ToString()), frameMax);
                Assert.AreEqual(200, status["result"]["summary"].Integer("failed", 0));
                Assert.AreEqual("t0", status["result"]["failed_tests"].Items[0].Text("name"));
            }
        }

        [Test]
        public void Everything_survives_a_reload()
        {
            var job = Add("a", "running");
            job.Done = 3;
            job.Total = 9;
            job.Current = "x";
            job.Plan = Json.Object().With("k", 1);
            Add("b", "running").End("failed", Json.Object().With("summary", Json.Object()), "e");
            var text = book.Save().ToString();
            var restored = new JobBook();
            restored.Restore(JsonReader.Parse(text));
            Assert.AreEqual(text, restored.Save().ToString());
        }
    }
}
