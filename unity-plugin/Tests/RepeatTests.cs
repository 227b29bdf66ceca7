using NUnit.Framework;

namespace UnityMcp.Tests
{
    /// <summary>Requests that repeat a client_request_id, and compiles, in the whole plugin.</summary>
    [TestFixture]
    public class RepeatTests
    {
        const string Scene = "{\"path\":\"Assets/B.unity\"}";

        PluginFixture it;

        [SetUp]
        public void SetUp()
        {
            it = new PluginFixture().Open();
        }

        [TearDown]
        public void TearDown()
        {
            it.Plugin.Quit();
        }

        Json Open(string requestId, string answerType = "result")
        {
            return it.Ask(answerType, PluginFixture.Request("execute", requestId, "open_scene", Scene, "c1"));
        }

        string Ran
        {
            get { return string.Join(",", it.Ran.ToArray()); }
        }

        [Test]
        public void A_repeated_request_is_answered_from_the_book()
        {
            it.Deduplicate("open_scene");
            Open("r1");
            var again = Open("r2");
            Assert.AreEqual("r2", again.Text("request_id"));
            Assert.AreEqual("Assets/B.unity", again["result"].Text("path"));
            Assert.AreEqual("r1 open_scene", Ran);
        }

        [Test]
        public void The_same_id_with_other_arguments_is_rejected_before_anything_runs()
        {
            it.Deduplicate("open_scene", "run_tests");
            Open("r1");
            foreach (var parameters in new[] { "{\"path\":\"Assets/A.unity\"}", "{}" })
            {
                var error = it.Ask("error", PluginFixture.Request("execute", "r2" + parameters.Length, "open_scene", parameters, "c1"));
                Assert.AreEqual("ERR_INVALID_REQUEST", error["error"].Text("code"));
            }
            Assert.AreEqual("ERR_INVALID_REQUEST", it.Ask("error", PluginFixture.Request("submit_job", "r3", "run_tests", "{}", "c1"))["error"].Text("code"));
            it.Ticks(3);
            Assert.AreEqual("r1 open_scene", Ran);
            Assert.AreEqual(1, it.Project.Calls.Count);
            Assert.AreEqual("", it.Runner.Last);
        }

        [Test]
        public void A_failure_is_repeated_too()
        {
            it.Deduplicate("open_scene").Project.IsPlaying = true;
            Assert.AreEqual("ERR_UNITY_EXECUTION", Open("r1")["error"].Text("code"));
            it.Project.IsPlaying = false;
            Assert.AreEqual("ERR_UNITY_EXECUTION", Open("r2")["error"].Text("code"));
            Assert.AreEqual("r1 open_scene", Ran);
        }

        [Test]
        public void A_rejected_request_has_not_begun()
        {
            it.Deduplicate("open_scene");
            it.Ask("error", PluginFixture.Request("execute", "r1", "open_scene", "{}", "c1"));
            Assert.AreEqual("ok", Open("r2").Text("status"));
            Assert.AreEqual("r2 open_scene", Ran);
        }

        [Test]
        public void Without_the_mark_of_the_server_every_request_runs()
        {
            Open("r1");
            Open("r2");
            it.Deduplicate("run_tests");
            Open("r3");
            Assert.AreEqual("r1 open_scene,r2 open_scene,r3 open_scene", Ran);
        }

        [Test]
        public void Only_runs_under_the_mark_of_the_server_are_in_the_book()
        {
            Open("r1");
            it.Deduplicate("open_scene");
            Open("r2");
            Open("r3");
            it.Deduplicate("run_tests");
            Open("r4");
            Assert.AreEqual("r1 open_scene,r2 open_scene,r4 open_scene", Ran);
        }

        [Test]
        public void Without_a_client_request_id_every_request_runs()
        {
            it.Deduplicate("open_scene");
            it.Execute("r1", "open_scene", Scene);
            it.Execute("r2", "open_scene", Scene);
            Assert.AreEqual(2, it.Ran.Count);
        }

        [Test]
        public void A_repeated_job_is_the_same_job()
        {
            it.Deduplicate("run_tests");
            var first = it.Ask("submit_job_result", PluginFixture.Request("submit_job", "r1", "run_tests", "{}", "c1"));
            var again = it.Ask("submit_job_result", PluginFixture.Request("submit_job", "r2", "run_tests", "{}", "c1"));
            Assert.AreEqual(first.Text("job_id"), again.Text("job_id"));
            Assert.AreEqual("r1 run_tests", Ran);
        }

        [Test]
        public void A_repeated_job_is_cancelled_by_the_request_that_repeated_it_even_over_a_reload()
        {
            it.Deduplicate("run_tests");
            it.Ask("submit_job_result", PluginFixture.Request("submit_job", "r1", "run_tests", "{}", "c1"));
            it.Ask("submit_job_result", PluginFixture.Request("submit_job", "r2", "run_tests", "{}", "c1"));
            it.Plugin.BeforeReload();
            it.Open();
            var cancel = it.Ask("cancel_result", "\"type\":\"cancel\",\"request_id\":\"q1\",\"target_request_id\":\"r2\"");
            Assert.AreEqual("cancelled", cancel.Text("status"));
        }

        [Test]
        public void A_repeated_job_is_known_long_after_its_end_and_over_a_reload()
        {
            it.Deduplicate("run_tests");
            var job = it.Ask("submit_job_result", PluginFixture.Request("submit_job", "r1", "run_tests", "{}", "c1")).Text("job_id");
            it.Ask("cancel_result", "\"type\":\"cancel\",\"request_id\":\"q1\",\"target_request_id\":\"r1\"");
            for (var number = 0; number < 3 * Limits.WholeJobsMax; number++)
            {
                it.Ask("submit_job_result", PluginFixture.Request("submit_job", "s" + number, "run_tests", "{}"));
                it.Ask("cancel_result", "\"type\":\"cancel\",\"request_id\":\"k" + number + "\",\"target_request_id\":\"s" + number + "\"");
            }
            it.Plugin.BeforeReload();
            it.Open().Deduplicate("run_tests");
            var again = it.Ask("submit_job_result", PluginFixture.Request("submit_job", "r2", "run_tests", "{}", "c1"));
            Assert.AreEqual(job, again.Text("job_id"));
            var status = it.Ask("job_status", "\"type\":\"get_job_status\",\"request_id\":\"r3\",\"job_id\":\"" + job + "\"");
            Assert.AreEqual("cancelled", status.Text("state"));
        }

        [Test]
        public void Every_request_that_arrives_while_it_runs_gets_the_answer()
        {
            it.Deduplicate("open_scene");
            it.Project.OnOpen = path =>
            {
                it.Receive(PluginFixture.Request("execute", "r2", "open_scene", Scene, "c1"));
                it.Receive(PluginFixture.Request("execute", "r3", "open_scene", Scene, "c1"));
            };
            Assert.AreEqual("r1", Open("r1").Text("request_id"));
            Assert.AreEqual("r2", it.Take("result").Text("request_id"));
            Assert.AreEqual("r3", it.Take("result").Text("request_id"));
            Assert.AreEqual("r1 open_scene", Ran);
        }

        [Test]
        public void The_book_survives_a_reload_and_the_hello_says_so()
        {
            var name = it.Hello.Text("request_book");
            Assert.IsNotNull(name);
            it.Deduplicate("open_scene");
            Open("r1");
            it.Plugin.BeforeReload();
            it.Open().Deduplicate("open_scene");
            Assert.AreEqual(name, it.Hello.Text("request_book"));
            Assert.AreEqual("ok", Open("r2").Text("status"));
            Assert.AreEqual("r1 open_scene", Ran);
        }

        [Test]
        public void The_book_survives_an_update_of_the_package()
        {
            var name = it.Hello.Text("request_book");
            it.Deduplicate("open_scene");
            Open("r1");
            it.Plugin.BeforeReload();
            it.Version = "0.1.1";
            it.Open().Deduplicate("open_scene");
            Assert.AreEqual(name, it.Hello.Text("request_book"));
            Assert.AreEqual("ok", Open("r2").Text("status"));
            Assert.AreEqual("r1 open_scene", Ran);
        }

        [Test]
        public void A_reload_in_the_middle_of_a_tool_leaves_its_end_unknown()
        {
            it.Deduplicate("open_scene");
            string stored = null;
            it.Project.OnOpen = path => stored = it.Stored["UnityMcp.Book"];
            Open("r1");
            it.Plugin.BeforeReload();
            it.Stored["UnityMcp.Book"] = stored;
            it.Open().Deduplicate("open_scene");
            Assert.AreEqual("ERR_INVALID_RESPONSE", Open("r2", "error")["error"].Text("code"));
            Assert.AreEqual("r1 open_scene", Ran);
        }

        [Test]
        public void A_request_that_waits_over_a_reload_has_not_begun_and_stays_deduplicated()
        {
            it.Deduplicate("open_scene");
            it.Receive(PluginFixture.Request("execute", "r1", "open_scene", Scene, "c1"));
            it.Receive(PluginFixture.Request("execute", "r2", "open_scene", Scene, "c1"));
            it.Plugin.BeforeReload();
            it.Open();
            it.Take("result");
            it.Take("result");
            Assert.AreEqual("r1 open_scene", Ran, "the server of the new session has not marked the tool yet");
        }

        [Test]
        public void A_compile_job_survives_the_reload_and_its_cancel_is_rejected()
        {
            it.Now = 1000;
            var job = it.Ask("submit_job_result", PluginFixture.Request("submit_job", "r1", "script_recompile_trigger", "{}")).Text("job_id");
            Assert.AreEqual(0, it.Compiler.Calls.Count, "the acceptance comes first");
            it.Plugin.Tick();
            Assert.AreEqual("import", it.Compiler.Calls[0]);
            var cancel = it.Ask("cancel_result", "\"type\":\"cancel\",\"request_id\":\"r2\",\"target_job_id\":\"" + job + "\"");
            Assert.AreEqual("rejected", cancel.Text("status"));
            it.Now = 2000;
            it.Compiler.Run();
            it.Plugin.BeforeReload();
            it.Now = 2500;
            it.Open();
            Assert.AreEqual("{\"outcome\":\"succeeded\",\"errors\":0,\"warnings\":0,\"ended_ms_ago\":500}", it.Hello["last_compile"].ToString());
            it.Ticks(Limits.QuietUpdates + 1);
            var status = it.Ask("job_status", "\"type\":\"get_job_status\",\"request_id\":\"r3\",\"job_id\":\"" + job + "\"");
            Assert.AreEqual("succeeded", status.Text("state"));
            Assert.AreEqual("{\"outcome\":\"compiled\",\"reloaded\":true,\"errors\":[],\"errors_left_out\":0,\"warnings\":0,\"duration_ms\":1500}",
                status["result"].ToString());
        }

        string Submit(string requestId, string tool)
        {
            return it.Ask("submit_job_result", PluginFixture.Request("submit_job", requestId, tool, "{\"mode\":\"edit\"}")).Text("job_id");
        }

        string StateOf(string job)
        {
            return it.Ask("job_status", "\"type\":\"get_job_status\",\"request_id\":\"of-" + job + it.Now++ + "\",\"job_id\":\"" + job + "\"").Text("state");
        }

        [Test]
        public void A_compile_waits_until_the_test_run_before_it_has_ended()
        {
            var tests = Submit("r1", "run_tests");
            it.Runner.Answer("edit", "A.one");
            it.Plugin.Tick();
            var compile = Submit("r2", "script_recompile_trigger");
            it.Ticks(10);
            Assert.AreEqual("queued", StateOf(compile));
            Assert.AreEqual(0, it.Compiler.Calls.Count);
            it.Runner.Listener.RunFinished(new TestRunResult { Passed = 1 });
            it.Plugin.Tick();
            Assert.AreEqual("succeeded", StateOf(tests));
            Assert.AreEqual("import", it.Compiler.Calls[0]);
        }

        [Test]
        public void A_test_run_waits_for_the_compile_before_it_even_over_its_reload()
        {
            Submit("r1", "script_recompile_trigger");
            var tests = Submit("r2", "run_tests");
            it.Ticks(2);
            Assert.AreEqual("", it.Runner.Last);
            it.Compiler.Run();
            it.Plugin.BeforeReload();
            it.Open();
            Assert.AreEqual("queued", StateOf(tests));
            it.Ticks(Limits.QuietUpdates + 1);
            Assert.AreEqual("running", StateOf(tests));
            Assert.AreEqual("list edit", it.Runner.Last);
        }

        [Test]
        public void No_test_run_starts_in_the_tick_in_which_a_compile_starts()
        {
            it.Project.OnOpen = path => it.State = EditorState.Compiling;
            it.Receive(PluginFixture.Request("execute", "r1", "open_scene", Scene));
            it.Receive(PluginFixture.Request("submit_job", "r2", "run_tests", "{}"));
            it.Plugin.Tick();
            it.Take("submit_job_result");
            Assert.AreEqual("", it.Runner.Last);
        }

        [Test]
        public void The_request_that_waited_for_a_compile_reports_it_even_over_the_reload()
        {
            it.Now = 1000;
            it.State = EditorState.Compiling;
            it.Plugin.Tick();
            it.Compiler.Start();
            it.Receive(PluginFixture.Request("submit_job", "r1", "script_recompile_trigger", "{}"));
            it.Now = 1500;
            it.Compiler.Finish();
            it.Plugin.BeforeReload();
            it.State = EditorState.Ready;
            it.Open();
            var job = it.Take("submit_job_result").Text("job_id");
            it.Ticks(Limits.QuietUpdates + 2);
            var status = it.Ask("job_status", "\"type\":\"get_job_status\",\"request_id\":\"r3\",\"job_id\":\"" + job + "\"");
            Assert.AreEqual("compiled", status["result"].Text("outcome"));
        }

        [Test]
        public void A_compile_that_ended_is_told_before_the_Editor_is_ready_again()
        {
            it.State = EditorState.Compiling;
            it.Plugin.Tick();
            Assert.IsNull(it.Take("editor_status")["last_compile"]);
            it.Compiler.Run(FakeCompiler.Error(1), FakeCompiler.Warning);
            it.State = EditorState.Ready;
            it.Plugin.Tick();
            var first = it.Take("editor_status");
            Assert.AreEqual("compiling", first.Text("state"));
            Assert.AreEqual("{\"outcome\":\"failed\",\"errors\":1,\"warnings\":1,\"ended_ms_ago\":0}", first["last_compile"].ToString());
            var second = it.Take("editor_status");
            Assert.AreEqual("ready", second.Text("state"));
            Assert.AreEqual(first.Integer("seq", 0) + 1, second.Integer("seq", 0));
        }

        [Test]
        public void A_compile_between_two_ticks_is_told_too()
        {
            it.Compiler.Run();
            it.Plugin.Tick();
            Assert.AreEqual("succeeded", it.Take("editor_status")["last_compile"].Text("outcome"));
        }

        [Test]
        public void The_first_start_with_broken_scripts_compiles_once_to_hear_their_errors()
        {
            it.Plugin.Quit();
            it = new PluginFixture();
            it.Compiler.HasFailed = true;
            it.State = EditorState.Compiling;
            it.Open();
            Assert.AreEqual(0, it.Compiler.Calls.Count, "a compile tells them by itself");
            it.State = EditorState.Ready;
            it.Ticks(3);
            Assert.AreEqual("compile", string.Join(",", it.Compiler.Calls.ToArray()));
            it.Compiler.Run(FakeCompiler.Error(1));
            it.Plugin.BeforeReload();
            it.Open().Ticks(3);
            Assert.AreEqual(1, it.Compiler.Calls.Count);
            Assert.AreEqual(1, it.Hello["last_compile"].Integer("errors", 0));
        }

        [Test]
        public void A_compile_that_ends_before_the_first_tick_has_told_its_errors()
        {
            it.Plugin.Quit();
            it = new PluginFixture().Load();
            it.Compiler.Run(FakeCompiler.Error(1));
            it.Ticks(3);
            Assert.AreEqual(0, it.Compiler.Calls.Count);
        }

        [Test]
        public void A_ping_is_answered_with_nothing()
        {
            Assert.AreEqual("{}", it.Execute("r1", "ping", "{}")["result"].ToString());
        }
    }
}
