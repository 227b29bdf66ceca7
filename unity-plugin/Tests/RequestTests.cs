using System.Collections.Generic;
using NUnit.Framework;

namespace UnityMcp.Tests
{
    /// <summary>Requests and answers of a session, without a domain reload.</summary>
    [TestFixture]
    public class RequestTests
    {
        SessionFixture it;

        [SetUp]
        public void SetUp()
        {
            it = new SessionFixture().Open();
        }

        [Test]
        public void A_request_wakes_the_main_thread_and_runs_in_order()
        {
            it.Execute("r1");
            Assert.IsTrue(it.Has(OutputKind.Wake));
            it.Ask("r2");
            Assert.AreEqual("r1", it.Taken());
            Assert.IsNull(it.Taken(), "one at a time");
            it.AnswerTo("r1");
            Assert.AreEqual("r1", it.LastSent.Text("request_id"));
            Assert.AreEqual("r2", it.Taken());
        }

        [Test]
        public void The_main_thread_is_woken_again_while_something_is_open()
        {
            it.Execute("r1");
            Assert.AreEqual(50, it.Session.NextDeadline - it.Now);
            it.Now += 50;
            it.Do(Input.Tick);
            Assert.IsTrue(it.Has(OutputKind.Wake));
            it.Taken();
            it.AnswerTo("r1");
            Assert.IsNull(it.Session.NextDeadline);
        }

        [Test]
        public void An_active_job_keeps_the_main_thread_awake()
        {
            it.Do(Input.Jobs(true));
            it.Now = it.Session.NextDeadline.Value;
            it.Do(Input.Tick);
            Assert.IsTrue(it.Has(OutputKind.Wake));
            it.Do(Input.Jobs(false));
            Assert.IsNull(it.Session.NextDeadline);
        }

        [Test]
        public void An_Editor_that_is_not_ready_is_woken_until_it_is()
        {
            it = new SessionFixture().Do(Input.Tick);
            Assert.IsTrue(it.Has(OutputKind.Wake), "only a tick tells the state");
            it.Do(Input.State(EditorState.Compiling));
            it.Now = it.Session.NextDeadline.Value;
            it.Do(Input.Tick);
            Assert.IsTrue(it.Has(OutputKind.Wake));
            it.Do(Input.State(EditorState.Ready));
            Assert.IsNull(it.Session.NextDeadline);
            it.Do(Input.State(EditorState.Compiling));
            Assert.AreEqual(Limits.WakeInterval, it.Session.NextDeadline - it.Now);
        }

        [Test]
        public void An_Editor_that_never_gets_ready_is_woken_only_for_a_while_and_for_open_work()
        {
            it.Do(Input.State(EditorState.Compiling));
            it.Now += Limits.WakeToReadyMax;
            it.Do(Input.Tick);
            Assert.IsNull(it.Session.NextDeadline);
            it.Execute("r1");
            Assert.AreEqual(Limits.WakeInterval, it.Session.NextDeadline - it.Now);
        }

        [Test]
        public void Nothing_runs_while_scripts_compile()
        {
            it.Execute("r1").Do(Input.State(EditorState.Compiling));
            Assert.IsNull(it.Taken());
            it.Do(Input.State(EditorState.Ready));
            Assert.AreEqual("r1", it.Taken());
        }

        [Test]
        public void A_request_that_arrives_twice_runs_once()
        {
            it.Execute("r1").Execute("r1");
            Assert.AreEqual("r1", it.Taken());
            it.Execute("r1").AnswerTo("r1").Execute("r1");
            Assert.IsNull(it.Taken());
            StringAssert.Contains("r1", it.Told[0]);
        }

        [Test]
        public void Old_ids_are_forgotten_at_the_limit_only()
        {
            for (var number = 0; number <= Limits.BegunMax; number++)
            {
                it.Execute("r" + number);
                it.Taken();
                it.AnswerTo("r" + number);
            }
            it.Execute("r1");
            Assert.IsNull(it.Taken());
            it.Execute("r0");
            Assert.AreEqual("r0", it.Taken());
        }

        [Test]
        public void An_answer_without_a_connection_is_sent_on_the_next_one_after_the_welcome()
        {
            it.Execute("r1");
            it.Taken();
            it.Closed(0).AnswerTo("r1");
            it.Now += 10000;
            it.Do(Input.Tick).Do(Input.Connected(it.Attempt));
            StringAssert.DoesNotContain("result", it.LastSent.ToString());
            it.Welcome();
            Assert.AreEqual("result", it.LastSent.Text("type"));
        }

        [Test]
        public void Answers_that_the_socket_did_not_take_are_sent_on_the_next_one_first()
        {
            var lost = new List<Answer> { new Answer { RequestId = "r1", Frame = "{\"request_id\":\"r1\"}" } };
            it.Execute("r2");
            it.Taken();
            it.Do(Input.Closed(it.Attempt, 0, "", lost)).AnswerTo("r2");
            it.Now += 10000;
            it.Do(Input.Tick).Do(Input.Connected(it.Attempt)).Welcome();
            StringAssert.Contains("r1", it.Sent[it.Sent.Count - 2]);
            StringAssert.Contains("r2", it.Sent[it.Sent.Count - 1]);
        }

        [Test]
        public void The_hello_names_the_request_that_still_runs()
        {
            it.Ask("q1").Execute("r1");
            Reopen();
            Assert.AreEqual("r1", it.Hello.Text("running_request_id"), "it waits");
            it.Taken();
            it.AnswerTo("q1");
            it.Taken();
            Reopen();
            Assert.AreEqual("r1", it.Hello.Text("running_request_id"), "it runs");
            it.AnswerTo("r1");
            Reopen();
            Assert.IsNull(it.Hello["running_request_id"]);
        }

        [Test]
        public void The_marks_of_a_server_end_with_its_session()
        {
            const string Request = "\"type\":\"execute\",\"tool_name\":\"t\",\"params\":{},\"timeout_ms\":1,\"client_request_id\":\"c\",\"request_id\":";
            it.Receive("\"type\":\"capability\",\"tools\":[{\"name\":\"t\",\"deduplicated\":true},{\"name\":\"u\",\"deduplicated\":7},7]").Receive(Request + "\"r1\"");
            Assert.IsTrue(it.Session.TakeRequest().IsDeduplicated);
            it.AnswerTo("r1");
            Reopen();
            it.Receive(Request + "\"r2\"");
            Assert.IsFalse(it.Session.TakeRequest().IsDeduplicated);
        }

        [Test]
        public void The_hello_names_the_book_and_the_last_compile()
        {
            it.Do(Input.Book("b2")).Do(Input.Compiled(new LastCompile { Errors = 2, EndedAt = it.Now }));
            Assert.AreEqual(2, it.LastSent["last_compile"].Integer("errors", 0));
            Reopen();
            Assert.AreEqual("b2", it.Hello.Text("request_book"));
            Assert.AreEqual("{\"outcome\":\"failed\",\"errors\":2,\"warnings\":0,\"ended_ms_ago\":10000}", it.Hello["last_compile"].ToString());
        }

        void Reopen()
        {
            it.Closed(0);
            it.Now += 10000;
            it.Do(Input.Tick).Do(Input.Connected(it.Attempt)).Welcome();
        }

        [Test]
        public void Close_4408_drops_what_has_not_started_and_changes_the_session()
        {
            it.Execute("r1").Closed(4408);
            it.Now += 10000;
            it.Do(Input.Tick).Do(Input.Connected(it.Attempt)).Welcome();
            Assert.AreEqual("id-2", it.Hello.Text("plugin_session_id"));
            Assert.IsNull(it.Hello["running_request_id"]);
            Assert.IsNull(it.Taken());
        }

        [Test]
        public void Close_4408_keeps_the_request_that_runs()
        {
            it.Execute("r1");
            it.Taken();
            it.Closed(4408);
            it.Now += 10000;
            it.Do(Input.Tick).Do(Input.Connected(it.Attempt)).Welcome();
            Assert.AreEqual("id-1", it.Hello.Text("plugin_session_id"));
            Assert.AreEqual("r1", it.Hello.Text("running_request_id"));
        }

        [Test]
        public void An_answer_over_the_limit_becomes_an_error()
        {
            it.Execute("r1");
            it.Taken();
            it.Do(Input.Answered(Wire.Result("r1", Json.Object().With("text", new string('x', 1048576)))));
            Assert.AreEqual("ERR_UNITY_EXECUTION", it.LastSent["error"].Text("code"));
            Assert.AreEqual("r1", it.LastSent.Text("request_id"));
        }
    }
}
