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
            Assert.IsNull(book.Find("j0"));
            Assert.IsNotNull(book.Find("j3"));
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
