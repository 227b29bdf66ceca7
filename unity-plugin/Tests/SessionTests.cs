using NUnit.Framework;

namespace UnityMcp.Tests
{
    [TestFixture]
    public class SessionTests
    {
        SessionFixture it;

        [SetUp]
        public void SetUp()
        {
            it = new SessionFixture();
        }

        [Test]
        public void It_connects_at_once_without_a_token()
        {
            it.Do(Input.Tick);
            Assert.AreEqual(OutputKind.Dial, it.Last[0].Kind);
            Assert.IsFalse(it.Last[0].WithToken);
        }

        [Test]
        public void The_hello_is_first_and_the_capability_follows()
        {
            it.Do(Input.Tick).Do(Input.State(EditorState.Ready)).Do(Input.Connected(it.Attempt));
            Assert.AreEqual(2, it.Sent.Count);
            Assert.AreEqual("{\"type\":\"hello\",\"protocol_version\":1,\"plugin_version\":\"0.1.0\",\"state\":\"ready\",\"editor_instance_id\":\"editor\","
                + "\"plugin_session_id\":\"id-1\",\"connect_attempt_seq\":1,\"project_path\":\"/p\",\"project_name\":\"p\",\"unity_version\":\"u\"}", it.Sent[0]);
            Assert.AreEqual("{\"type\":\"capability\",\"protocol_version\":1,\"tools\":[{\"name\":\"read_console\"}]}", it.Sent[1]);
        }

        [Test]
        public void The_state_is_reloading_until_the_first_tick_of_the_main_thread()
        {
            it.Do(Input.Tick).Do(Input.Connected(it.Attempt));
            Assert.AreEqual("reloading", it.Hello.Text("state"));
            it.Do(Input.State(EditorState.Ready));
            Assert.AreEqual("ready", it.LastSent.Text("state"));
        }

        [Test]
        public void Seq_grows_over_status_and_pong_and_starts_again_with_each_session()
        {
            it.Open().Do(Input.State(EditorState.Compiling));
            Assert.AreEqual("{\"type\":\"editor_status\",\"protocol_version\":1,\"state\":\"compiling\",\"seq\":1}", it.LastSent.ToString());
            it.Receive("\"type\":\"ping\"");
            Assert.AreEqual("{\"type\":\"pong\",\"protocol_version\":1,\"editor_state\":\"compiling\",\"seq\":2}", it.LastSent.ToString());
            it.Do(Input.State(EditorState.Ready));
            Assert.AreEqual(3, it.LastSent.Integer("seq", 0));
            Reconnect();
            it.Receive("\"type\":\"ping\"");
            Assert.AreEqual(1, it.LastSent.Integer("seq", 0));
        }

        void Reconnect()
        {
            it.Closed(0);
            it.Now += 10000;
            it.Do(Input.Tick).Do(Input.Connected(it.Attempt)).Welcome();
        }

        [Test]
        public void An_unchanged_state_is_not_sent()
        {
            it.Open();
            var count = it.Sent.Count;
            it.Do(Input.State(EditorState.Ready));
            Assert.AreEqual(count, it.Sent.Count);
        }

        [Test]
        public void Connect_attempt_seq_grows_and_the_session_id_stays_after_a_lost_connection()
        {
            it.Open();
            Reconnect();
            Assert.AreEqual(2, it.Hello.Integer("connect_attempt_seq", 0));
            Assert.AreEqual("id-1", it.Hello.Text("plugin_session_id"));
        }

        [Test]
        public void The_wait_grows_by_a_factor_up_to_a_limit_and_starts_again_after_a_success()
        {
            var waits = new long[8];
            it.Ready();
            for (var index = 0; index < waits.Length; index++)
            {
                it.Do(Input.DialFailed(it.Attempt, DialProblem.NoServer, "no server"));
                waits[index] = it.Session.NextDeadline.Value - it.Now;
                it.Now = it.Session.NextDeadline.Value;
                it.Do(Input.Tick);
            }
            Assert.AreEqual(new long[] { 100, 170, 289, 491, 835, 1200, 1200, 1200 }, waits);
            it.Do(Input.Connected(it.Attempt)).Welcome().Closed(1001);
            Assert.AreEqual(100, it.Session.NextDeadline - it.Now);
        }

        [TestCase(0.0, 90)]
        [TestCase(1.0, 110)]
        public void The_jitter_is_ten_percent(double chance, long wait)
        {
            Assert.AreEqual(wait, new Backoff(() => chance).NextWait());
        }

        [Test]
        public void A_connection_without_a_welcome_does_not_reset_the_wait()
        {
            it.Ready().Do(Input.DialFailed(it.Attempt, DialProblem.NoServer, "x"));
            it.Now = it.Session.NextDeadline.Value;
            it.Do(Input.Tick).Do(Input.Connected(it.Attempt)).Closed(0);
            Assert.AreEqual(170, it.Session.NextDeadline - it.Now);
        }

        [Test]
        public void It_does_not_reconnect_after_a_newer_connection_replaced_it()
        {
            it.Open().Closed(1000, "replaced by a newer connection");
            Assert.AreEqual(LinkState.Replaced, it.Session.Link);
            Assert.IsNull(it.Session.NextDeadline);
            it.Now += 1000000;
            it.Do(Input.Tick);
            Assert.IsFalse(it.Has(OutputKind.Dial));
            it.Do(Input.Reconnect);
            Assert.IsTrue(it.Has(OutputKind.Dial), "a person can ask for it");
        }

        [Test]
        public void It_reconnects_after_every_other_close()
        {
            foreach (var code in new[] { 0, 1000, 1001, 1008, 1009, 4408 })
            {
                it = new SessionFixture().Open().Closed(code);
                Assert.AreEqual(100, it.Session.NextDeadline - it.Now, "code " + code);
            }
        }

        [Test]
        public void It_waits_ten_seconds_while_another_Editor_is_connected()
        {
            it.Ready().Do(Input.Connected(it.Attempt));
            it.Receive("\"type\":\"error\",\"error\":{\"code\":\"ERR_INVALID_REQUEST\",\"message\":\"another Unity websocket session is already active\"}");
            Assert.IsTrue(it.Has(OutputKind.Close));
            it.Closed(1008);
            Assert.AreEqual(10000, it.Session.NextDeadline - it.Now);
            StringAssert.Contains("Another Unity Editor", it.Session.LastError);
        }

        [Test]
        public void It_shows_a_project_mismatch_and_tries_again_slowly()
        {
            it.Ready().Do(Input.Connected(it.Attempt));
            it.Receive("\"type\":\"error\",\"error\":{\"code\":\"ERR_INVALID_REQUEST\",\"message\":\"this server is for the project /a\"}");
            it.Closed(1008);
            Assert.AreEqual(10000, it.Session.NextDeadline - it.Now);
            StringAssert.Contains("this server is for the project /a", it.Session.LastError);
            StringAssert.Contains("/a", it.Told[0]);
        }

        [Test]
        public void An_error_after_the_welcome_changes_nothing()
        {
            it.Open().Receive("\"type\":\"error\",\"error\":{\"code\":\"X\",\"message\":\"no\"}");
            Assert.AreEqual(LinkState.Open, it.Session.Link);
        }

        [Test]
        public void The_token_is_sent_only_right_after_the_server_asked_for_it()
        {
            it.Do(Input.Tick).Do(Input.DialFailed(it.Attempt, DialProblem.TokenRequired, "token"));
            Assert.IsTrue(it.Last[0].WithToken);
            it.Do(Input.DialFailed(it.Attempt, DialProblem.Other, "wrong token"));
            Assert.AreEqual("wrong token", it.Session.LastError);
            it.Now += 10000;
            it.Do(Input.Tick);
            Assert.IsFalse(it.Last[0].WithToken, "the next server may be another program");
        }

        [Test]
        public void A_server_that_asks_twice_is_not_asked_in_a_loop()
        {
            it.Do(Input.Tick).Do(Input.DialFailed(it.Attempt, DialProblem.TokenRequired, "token"));
            it.Do(Input.DialFailed(it.Attempt, DialProblem.TokenRequired, "token"));
            Assert.IsFalse(it.Has(OutputKind.Dial));
            Assert.AreEqual(LinkState.Away, it.Session.Link);
        }

        [Test]
        public void A_problem_is_told_once_and_forgotten_after_a_success()
        {
            it.Do(Input.Tick);
            for (var count = 0; count < 3; count++)
            {
                it.Do(Input.DialFailed(it.Attempt, DialProblem.Other, "broken file"));
                it.Now += 10000;
                it.Do(Input.Tick);
            }
            Assert.AreEqual(1, it.Told.Count);
            Assert.AreEqual("broken file", it.Session.LastError);
            it.Do(Input.Connected(it.Attempt)).Welcome();
            Assert.IsNull(it.Session.LastError);
        }

        [Test]
        public void Inputs_of_an_earlier_connection_are_ignored()
        {
            it.Open();
            var old = it.Attempt;
            it.Closed(0);
            it.Now += 10000;
            it.Do(Input.Tick).Do(Input.Frame(old, "{\"type\":\"ping\",\"protocol_version\":1}"));
            Assert.AreEqual(0, it.Last.Count);
            it.Do(Input.Closed(old, 1000, "", null)).Do(Input.Connected(it.Attempt)).Welcome();
            Assert.AreEqual(LinkState.Open, it.Session.Link);
            it.Do(Input.Closed(old, 1000, "", null));
            Assert.AreEqual(LinkState.Open, it.Session.Link);
        }

        [Test]
        public void A_socket_that_opens_too_late_is_dropped()
        {
            it.Do(Input.Tick).Do(Input.Quit).Do(Input.Connected(it.Attempt));
            Assert.IsTrue(it.Has(OutputKind.Abort));
            Assert.AreEqual(0, it.Sent.Count);
        }

        [Test]
        public void A_frame_that_is_not_understood_is_answered_with_an_error()
        {
            it.Open().Receive("\"type\":\"execute\",\"request_id\":\"r\",\"params\":{}");
            Assert.AreEqual("ERR_INVALID_PARAMS", it.LastSent["error"].Text("code"));
            Assert.AreEqual("r", it.LastSent.Text("request_id"));
            it.Do(Input.Frame(it.Attempt, "nonsense"));
            Assert.AreEqual("ERR_INVALID_REQUEST", it.LastSent["error"].Text("code"));
            Assert.AreEqual(LinkState.Open, it.Session.Link);
        }

        [Test]
        public void Unknown_message_types_are_ignored()
        {
            var count = it.Open().Sent.Count;
            it.Receive("\"type\":\"capability\",\"tools\":[]").Receive("\"type\":\"news\"");
            Assert.AreEqual(count, it.Sent.Count);
        }

        [Test]
        public void The_limit_of_the_server_is_used_within_bounds()
        {
            it.Open();
            Assert.AreEqual(1048576, it.Session.MaxMessageBytes);
            it.Closed(0);
            it.Now += 10000;
            it.Do(Input.Tick).Do(Input.Connected(it.Attempt)).Welcome(1);
            Assert.AreEqual(16384, it.Session.MaxMessageBytes);
        }

        [Test]
        public void A_peer_that_says_no_hello_is_left_after_a_while()
        {
            it.Ready().Do(Input.Connected(it.Attempt));
            Assert.AreEqual(5000, it.Session.NextDeadline - it.Now);
            it.Now += 4999;
            it.Do(Input.Tick);
            Assert.AreEqual(LinkState.Greeting, it.Session.Link);
            it.Now++;
            it.Do(Input.Tick);
            Assert.IsTrue(it.Has(OutputKind.Abort));
            Assert.AreEqual(LinkState.Away, it.Session.Link);
            StringAssert.Contains("hello", it.Session.LastError);
            it.Closed(0);
            StringAssert.Contains("hello", it.Session.LastError, "the end of this socket is no news");
            Assert.AreEqual(100, it.Session.NextDeadline - it.Now);
        }

        [Test]
        public void Every_connection_has_the_whole_time_for_its_hello()
        {
            it.Do(Input.Tick).Do(Input.Connected(it.Attempt));
            it.Now += 4000;
            it.Closed(0);
            it.Now += 3000;
            it.Do(Input.Tick).Do(Input.Connected(it.Attempt));
            it.Now += 3000;
            it.Do(Input.Tick);
            Assert.AreEqual(LinkState.Greeting, it.Session.Link);
            it.Welcome();
            it.Now += 3000;
            it.Do(Input.Tick);
            Assert.AreEqual(LinkState.Open, it.Session.Link);
        }

        [Test]
        public void A_person_can_ask_for_a_new_connection()
        {
            foreach (var isWelcome in new[] { true, false })
            {
                SetUp();
                it.Do(Input.Tick).Do(Input.Connected(it.Attempt));
                if (isWelcome) it.Welcome();
                it.Do(Input.Reconnect);
                Assert.IsTrue(it.Has(OutputKind.Abort), "a socket that hangs would never close");
                var attempt = it.Attempt;
                it.Closed(0);
                Assert.IsTrue(it.Has(OutputKind.Dial), "at once");
                Assert.AreEqual(attempt + 1, it.Attempt);
                Assert.IsNull(it.Session.LastError);
            }
        }

        [Test]
        public void A_person_need_not_wait_for_the_next_attempt()
        {
            it.Open().Closed(0).Do(Input.Reconnect);
            Assert.IsTrue(it.Has(OutputKind.Dial));
        }

        [Test]
        public void An_answer_that_the_socket_of_a_reconnect_did_not_take_is_sent_on_the_next_one()
        {
            it.Open().Do(Input.Reconnect);
            it.Do(Input.Closed(it.Attempt, 0, "", new[] { new Answer { RequestId = "r1", Frame = "{\"request_id\":\"r1\"}" } }));
            it.Do(Input.Connected(it.Attempt)).Welcome();
            Assert.AreEqual("r1", it.LastSent.Text("request_id"));
        }
    }
}
