using System;
using System.Collections.Generic;
using System.Threading;
using NUnit.Framework;

namespace UnityMcp.Tests
{
    [TestFixture]
    public class PluginTests
    {
        PluginFixture it;

        [SetUp]
        public void SetUp()
        {
            it = new PluginFixture();
        }

        [TearDown]
        public void TearDown()
        {
            it.Plugin.Quit();
        }

        [Test]
        public void It_offers_the_eleven_tools()
        {
            var names = new List<string>();
            foreach (var tool in it.Open().Capability["tools"].Items) names.Add(tool.Text("name"));
            Assert.AreEqual("get_editor_state get_job_status cancel_job read_console open_scene list_scenes list_assets get_selection ping "
                + "script_recompile_trigger run_tests", string.Join(" ", names.ToArray()));
        }

        [Test]
        public void Without_the_test_framework_run_tests_is_not_offered_and_is_rejected()
        {
            it.HasTests = false;
            StringAssert.DoesNotContain("run_tests", it.Open().Capability.ToString());
            var error = it.Ask("error", PluginFixture.Request("submit_job", "r1", "run_tests", "{}"));
            Assert.AreEqual("ERR_UNKNOWN_COMMAND", error["error"].Text("code"));
            Assert.AreEqual(0, it.Ran.Count);
        }

        [Test]
        public void The_console_is_read()
        {
            it.Open().Log("error", "boom");
            var answer = it.Execute("r1", "read_console", "{\"max_entries\":5,\"stack_traces\":true}");
            Assert.AreEqual("ok", answer.Text("status"));
            Assert.AreEqual("boom", answer["result"]["entries"].Items[0].Text("message"));
            Assert.AreEqual("r1 read_console", it.Ran[0]);
            Assert.Greater(it.Wakes, 0);
        }

        [Test]
        public void Compile_errors_are_in_the_console()
        {
            it.Open().Compiler.Run(new ScriptMessage { Type = "error", Message = "CS0103" });
            it.Log("log", "x");
            it.Clear();
            it.Compiler.Run(new ScriptMessage { Type = "error", Message = "CS0104" });
            var entries = it.Execute("r1", "read_console", "{}")["result"]["entries"].Items;
            Assert.AreEqual(1, entries.Count);
            Assert.AreEqual("CS0104", entries[0].Text("message"));
        }

        [TestCase("execute", "read_console", "{\"max_entries\":-1}", "ERR_INVALID_PARAMS")]
        [TestCase("submit_job", "run_tests", "{\"mode\":1,\"filter\":2}", "ERR_INVALID_PARAMS")]
        [TestCase("execute", "open_scene", "{}", "ERR_INVALID_PARAMS")]
        [TestCase("execute", "open_scene", "{\"path\":\"a\",\"additive\":1}", "ERR_INVALID_PARAMS")]
        [TestCase("execute", "list_assets", "{\"max_entries\":0}", "ERR_INVALID_PARAMS")]
        [TestCase("execute", "close_scene", "{}", "ERR_UNKNOWN_COMMAND")]
        [TestCase("execute", "run_tests", "{}", "ERR_UNKNOWN_COMMAND")]
        [TestCase("submit_job", "read_console", "{}", "ERR_UNKNOWN_COMMAND")]
        public void A_wrong_request_is_rejected_and_nothing_runs(string type, string tool, string parameters, string code)
        {
            var error = it.Open().Ask("error", PluginFixture.Request(type, "r1", tool, parameters));
            Assert.AreEqual(code, error["error"].Text("code"));
            Assert.AreEqual("r1", error.Text("request_id"));
            Assert.AreEqual(0, it.Ran.Count);
        }

        [Test]
        public void A_tool_that_fails_is_a_result_with_an_error()
        {
            it.Failure = new InvalidOperationException("broken");
            var answer = it.Open().Execute("r1", "read_console", "{}");
            Assert.AreEqual("error", answer.Text("status"));
            Assert.AreEqual("ERR_UNITY_EXECUTION", answer["error"].Text("code"));
            Assert.AreEqual("broken", answer["error"].Text("message"));
            it.Failure = null;
            Assert.AreEqual("ok", it.Execute("r2", "read_console", "{}").Text("status"));
        }

        [Test]
        public void A_request_that_breaks_outside_of_its_tool_is_answered_as_unknown_and_the_next_one_runs()
        {
            it.Open().Ask("submit_job_result", PluginFixture.Request("submit_job", "r1", "run_tests", "{\"mode\":\"edit\"}"));
            it.Runner.Answer("edit", "A.one", "A.two");
            it.Plugin.Tick();
            it.Runner.Failure = new InvalidOperationException("broken");
            var error = it.Ask("error", "\"type\":\"cancel\",\"request_id\":\"r2\",\"target_request_id\":\"r1\"");
            Assert.AreEqual("r2", error.Text("request_id"));
            Assert.AreEqual("ERR_INVALID_RESPONSE", error["error"].Text("code"));
            StringAssert.Contains("broken", error["error"].Text("message"));
            Assert.AreEqual("ok", it.Execute("r3", "read_console", "{}").Text("status"));
        }

        [Test]
        public void A_job_is_accepted_asked_about_and_cancelled_by_its_id()
        {
            var job = it.Open().Ask("submit_job_result", PluginFixture.Request("submit_job", "r1", "run_tests", "{\"mode\":\"edit\"}")).Text("job_id");
            Assert.AreEqual("list edit", it.Runner.Last);
            it.Runner.Answer("edit", "A.one", "A.two");
            it.Plugin.Tick();
            var status = it.Ask("job_status", "\"type\":\"get_job_status\",\"request_id\":\"r2\",\"job_id\":\"" + job + "\"");
            Assert.AreEqual("running", status.Text("state"));
            var cancel = it.Ask("cancel_result", "\"type\":\"cancel\",\"request_id\":\"r3\",\"target_job_id\":\"" + job + "\"");
            Assert.AreEqual("cancel_requested", cancel.Text("status"));
            Assert.AreEqual("r1 run_tests", string.Join(",", it.Ran.ToArray()), "only the tool counts as run");
        }

        [Test]
        public void A_job_is_cancelled_by_the_request_that_started_it()
        {
            it.Open().Ask("submit_job_result", PluginFixture.Request("submit_job", "r1", "run_tests", "{}"));
            var cancel = it.Ask("cancel_result", "\"type\":\"cancel\",\"request_id\":\"r2\",\"target_request_id\":\"r1\"");
            Assert.AreEqual("cancelled", cancel.Text("status"));
            var unknown = it.Ask("error", "\"type\":\"cancel\",\"request_id\":\"r3\",\"target_request_id\":\"r9\"");
            Assert.AreEqual("ERR_JOB_NOT_FOUND", unknown["error"].Text("code"));
        }

        [Test]
        public void The_state_of_the_Editor_is_sent_with_the_tick()
        {
            it.Open().State = EditorState.Compiling;
            it.Plugin.Tick();
            Assert.AreEqual("compiling", it.Take("editor_status").Text("state"));
        }

        [Test]
        public void A_pong_does_not_wait_for_the_main_thread()
        {
            it.Open().Receive("\"type\":\"ping\"");
            Assert.AreEqual("ready", it.Take("pong").Text("editor_state"));
        }

        [Test]
        public void The_token_is_used_only_after_the_server_asked()
        {
            it.DialProblems.Enqueue(new DialException(DialProblem.TokenRequired, "token"));
            it.Open();
            Assert.AreEqual(new[] { null, "secret" }, it.Tokens.ToArray());
        }

        [Test]
        public void A_reload_keeps_console_jobs_requests_and_session()
        {
            it.Open().Log("log", "before");
            var job = it.Ask("submit_job_result", PluginFixture.Request("submit_job", "r1", "run_tests", "{}")).Text("job_id");
            it.Runner.Answer("edit", "A.one");
            it.Receive(PluginFixture.Request("execute", "r2", "read_console", "{}"));
            var session = it.Hello.Text("plugin_session_id");
            it.Plugin.BeforeReload();
            Assert.AreEqual(1001, it.TakeClose());
            it.Open();
            Assert.AreEqual(session, it.Hello.Text("plugin_session_id"));
            var answer = it.Take("result");
            Assert.AreEqual("r2", answer.Text("request_id"));
            Assert.AreEqual("before", answer["result"]["entries"].Items[0].Text("message"));
            var status = it.Ask("job_status", "\"type\":\"get_job_status\",\"request_id\":\"r3\",\"job_id\":\"" + job + "\"");
            Assert.AreEqual("running", status.Text("state"));
        }

        [Test]
        public void What_is_logged_during_the_close_handshake_is_kept()
        {
            it.Open().OnClose = () => it.Log("error", "late");
            it.Plugin.BeforeReload();
            it.Open();
            var entries = it.Execute("r1", "read_console", "{}")["result"]["entries"].Items;
            Assert.AreEqual(1, entries.Count);
            Assert.AreEqual("late", entries[0].Text("message"));
        }

        [Test]
        public void A_saved_request_is_loaded_only_once()
        {
            it.Open().Receive(PluginFixture.Request("execute", "r1", "read_console", "{}"));
            it.Plugin.BeforeReload();
            it.Load();
            // This domain ends without its last words. The next one must not find the request again.
            it.Load();
            it.Plugin.Tick();
            Assert.AreEqual(0, it.Ran.Count);
        }

        [Test]
        public void What_another_version_of_the_plugin_stored_is_not_read()
        {
            it.Open().Receive(PluginFixture.Request("execute", "r1", "read_console", "{}"));
            var session = it.Hello.Text("plugin_session_id");
            it.Plugin.BeforeReload();
            it.Stored["UnityMcp.State"] = it.Stored["UnityMcp.State"].Replace("\"version\":\"0.1.0\"", "\"version\":\"0.0.9\"");
            it.Stored["UnityMcp.Console"] = "{}";
            it.Open();
            Assert.AreNotEqual(session, it.Hello.Text("plugin_session_id"), "the requests are forgotten");
            Assert.AreEqual(2, it.Hello.Integer("connect_attempt_seq", 0), "it still grows");
            Assert.AreEqual(0, it.Ran.Count);
        }

        [Test]
        public void After_an_update_of_the_package_old_cursors_are_lost()
        {
            it.Open().Log("log", "one");
            var cursor = it.Execute("r1", "read_console", "{}")["result"].Text("cursor");
            it.Plugin.BeforeReload();
            it.Version = "0.1.1";
            it.Open().Log("log", "two");
            var news = it.Execute("r2", "read_console", "{\"since\":\"" + cursor + "\"}")["result"];
            Assert.AreEqual("true", news["cursor_lost"].ToString());
            Assert.AreEqual("two", news["entries"].Items[0].Text("message"));
        }

        [TestCase("not JSON")]
        [TestCase("[]")]
        [TestCase("{\"version\":\"0.1.0\",\"session\":{\"waiting\":[{\"frame\":\"{}\"}]}}")]
        [TestCase("{\"version\":\"0.1.0\",\"session\":{},\"jobs\":[{\"state\":\"running\",\"tool\":\"run_tests\"}]}")]
        [TestCase("{\"version\":\"0.1.0\",\"session\":{\"plugin_session_id\":\"kept\",\"begun\":[null]}}")]
        public void A_state_that_cannot_be_read_is_a_fresh_start_with_a_new_session_and_book(string text)
        {
            it.Open();
            var before = it.Hello;
            it.Plugin.BeforeReload();
            it.Stored["UnityMcp.State"] = text;
            it.Open();
            Assert.AreNotEqual(before.Text("plugin_session_id"), it.Hello.Text("plugin_session_id"));
            Assert.AreNotEqual("kept", it.Hello.Text("plugin_session_id"));
            Assert.AreNotEqual(before.Text("request_book"), it.Hello.Text("request_book"));
            Assert.AreEqual("ok", it.Execute("r1", "read_console", "{}").Text("status"));
        }

        [TestCase("not JSON")]
        [TestCase("{\"name\":\"c\",\"made\":1,\"rows\":[7]}")]
        public void A_console_that_cannot_be_read_is_empty_and_has_other_cursors(string text)
        {
            it.Open().Log("log", "one");
            var cursor = it.Execute("r1", "read_console", "{}")["result"].Text("cursor");
            var session = it.Hello.Text("plugin_session_id");
            it.Plugin.BeforeReload();
            it.Stored["UnityMcp.Console"] = text;
            it.Open();
            Assert.AreEqual(session, it.Hello.Text("plugin_session_id"), "no request is lost");
            var news = it.Execute("r2", "read_console", "{\"since\":\"" + cursor + "\"}")["result"];
            Assert.AreEqual("true", news["cursor_lost"].ToString());
        }

        [Test]
        public void A_server_that_does_not_answer_the_close_delays_the_reload_only_for_a_short_time()
        {
            it.AnswersClose = false;
            it.Open();
            var session = it.Hello.Text("plugin_session_id");
            var time = System.Diagnostics.Stopwatch.StartNew();
            it.Plugin.BeforeReload();
            Assert.Less(time.ElapsedMilliseconds, 500);
            it.AnswersClose = true;
            it.Open();
            Assert.AreNotEqual(session, it.Hello.Text("plugin_session_id"));
        }

        [Test]
        public void After_the_end_of_the_domain_nothing_is_listened_to()
        {
            Assert.IsTrue(it.Open().IsListenedTo);
            it.Plugin.BeforeReload();
            Assert.IsFalse(it.IsListenedTo);
        }

        [Test]
        public void An_active_job_keeps_an_Editor_without_focus_ticking()
        {
            it.Open().Ask("submit_job_result", PluginFixture.Request("submit_job", "r1", "run_tests", "{}"));
            it.Plugin.Tick();
            var wakes = it.Wakes;
            it.Now += Limits.WakeInterval;
            it.Plugin.Tick();
            Assert.Greater(it.Wakes, wakes);
        }

        [Test]
        public void After_a_reload_an_Editor_that_does_not_tick_is_woken()
        {
            it.Open().Plugin.BeforeReload();
            it.Load();
            AssertWoken();
        }

        [Test]
        public void After_a_reload_an_Editor_that_does_not_tick_is_woken_for_its_job_however_long_it_takes()
        {
            it.Open().Ask("submit_job_result", PluginFixture.Request("submit_job", "r1", "run_tests", "{}"));
            it.Plugin.BeforeReload();
            it.Load();
            it.Now += Limits.WakeToReadyMax;
            Thread.Sleep(4 * Limits.WakeInterval);
            AssertWoken();
        }

        /// <summary>Without a tick, again and again. The first wake may come from the main thread, where it has no effect.</summary>
        void AssertWoken()
        {
            for (var time = 0; time < 3; time++)
            {
                var wakes = it.Wakes;
                it.Now += Limits.WakeInterval;
                Assert.IsTrue(SpinWait.SpinUntil(() => it.Wakes > wakes, 2000));
            }
        }

        [Test]
        public void An_answer_that_the_socket_did_not_take_is_sent_on_the_next_one()
        {
            it.Open().Receive(PluginFixture.Request("execute", "r1", "read_console", "{}"));
            it.FailsToSend = true;
            it.Plugin.Tick();
            it.FailsToSend = false;
            it.Now += 10000;
            it.Plugin.Tick();
            Assert.AreEqual(2, it.Take("hello").Integer("connect_attempt_seq", 0));
            it.Receive("\"type\":\"hello\",\"server_version\":\"9\"");
            Assert.AreEqual("r1", it.Take("result").Text("request_id"));
            Assert.AreEqual(1, it.Ran.Count);
        }

        [Test]
        public void Answers_between_a_broken_socket_and_its_end_are_sent_on_the_next_one()
        {
            it.Open();
            it.FailsToSend = true;
            it.IsAbortSlow = true;
            it.Receive(PluginFixture.Request("execute", "r1", "read_console", "{}"));
            it.Plugin.Tick();
            it.Receive(PluginFixture.Request("execute", "r2", "read_console", "{}"));
            it.Plugin.Tick();
            it.FailsToSend = false;
            it.IsAbortSlow = false;
            it.Abort();
            it.Now += 10000;
            it.Plugin.Tick();
            it.Take("hello");
            it.Receive("\"type\":\"hello\",\"server_version\":\"9\"");
            Assert.AreEqual("r1", it.Take("result").Text("request_id"));
            Assert.AreEqual("r2", it.Take("result").Text("request_id"));
        }

        [Test]
        public void Cursors_go_on_after_the_plugin_was_switched_off_and_on()
        {
            it.Open().Log("log", "one");
            var first = it.Execute("r1", "read_console", "{}")["result"];
            it.Plugin.Quit();
            it.Open().Log("log", "two");
            var second = it.Execute("r2", "read_console", "{\"since\":\"" + first.Text("cursor") + "\"}")["result"];
            Assert.AreEqual("false", second["cursor_lost"].ToString());
            Assert.AreEqual(1, second["entries"].Items.Count);
            Assert.AreEqual("two", second["entries"].Items[0].Text("message"));
        }

        [Test]
        public void The_status_shows_the_server_and_the_link()
        {
            it.Open();
            var status = it.Plugin.Status;
            Assert.AreEqual(LinkState.Open, status.Link);
            Assert.AreEqual("9", status.ServerVersion);
            Assert.AreEqual(1, status.Port);
            Assert.IsNull(status.LastError);
        }
    }
}
