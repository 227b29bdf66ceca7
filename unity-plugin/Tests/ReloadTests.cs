using NUnit.Framework;

namespace UnityMcp.Tests
{
    /// <summary>What a session carries over a domain reload.</summary>
    [TestFixture]
    public class ReloadTests
    {
        static SessionFixture AfterReload(SessionFixture before)
        {
            // Through text, as SessionState stores it.
            return new SessionFixture(JsonReader.Parse(before.Session.Save().ToString()));
        }

        [Test]
        public void It_announces_the_reload_then_closes_with_1001()
        {
            var it = new SessionFixture().Open().Do(Input.Reload);
            Assert.AreEqual(2, it.Last.Count);
            Assert.AreEqual("{\"type\":\"editor_status\",\"protocol_version\":1,\"state\":\"reloading\",\"seq\":1}", it.Last[0].Text);
            Assert.AreEqual(OutputKind.Close, it.Last[1].Kind);
            Assert.AreEqual(1001, it.Last[1].Code);
            Assert.AreEqual(LinkState.Leaving, it.Session.Link);
            Assert.IsNull(it.Session.NextDeadline);
            it.Closed(1001);
            Assert.AreEqual(LinkState.Ended, it.Session.Link);
        }

        [Test]
        public void It_closes_with_1000_when_the_Editor_quits()
        {
            Assert.AreEqual(1000, new SessionFixture().Open().Do(Input.Quit).Last[0].Code);
        }

        [Test]
        public void A_complete_handshake_keeps_the_session_the_requests_and_their_order()
        {
            var before = new SessionFixture().Open().Execute("r1").Ask("q2").Do(Input.Reload).Closed(1001);
            var after = AfterReload(before).Open();
            Assert.AreEqual("id-1", after.Hello.Text("plugin_session_id"));
            Assert.AreEqual(2, after.Hello.Integer("connect_attempt_seq", 0));
            Assert.AreEqual("r1", after.Hello.Text("running_request_id"));
            Assert.AreEqual("r1", after.Taken());
            after.AnswerTo("r1");
            Assert.AreEqual("q2", after.Taken());
        }

        [Test]
        public void A_request_that_arrives_during_the_handshake_is_kept()
        {
            var before = new SessionFixture().Open().Do(Input.Reload).Execute("r1");
            Assert.IsNull(before.Taken());
            Assert.AreEqual("r1", AfterReload(before.Closed(1001)).Open().Taken());
        }

        [Test]
        public void A_ping_during_the_handshake_is_not_answered_after_the_close_frame()
        {
            var it = new SessionFixture().Open().Do(Input.Reload).Receive("\"type\":\"ping\"");
            Assert.IsFalse(it.Has(OutputKind.Send));
        }

        [Test]
        public void A_finished_answer_that_was_not_sent_is_sent_after_the_reload()
        {
            var before = new SessionFixture().Open().Execute("r1");
            before.Taken();
            before.Closed(0).AnswerTo("r1").Do(Input.Reload);
            var after = AfterReload(before).Open();
            Assert.AreEqual("r1", after.LastSent.Text("request_id"));
            Assert.AreEqual("result", after.LastSent.Text("type"));
        }

        [Test]
        public void Without_the_close_frame_of_the_server_the_session_changes_and_nothing_runs_later()
        {
            var before = new SessionFixture().Open().Execute("r1").Do(Input.Reload);
            var after = new SessionFixture(before.Session.Save());
            var saved = before.Session.Save();
            Assert.IsNull(saved.Text("plugin_session_id"));
            Assert.IsNull(saved["waiting"]);
            Assert.IsNull(after.Open().Taken());
            Assert.IsNull(after.Hello["running_request_id"]);
        }

        [Test]
        public void A_socket_that_breaks_during_the_handshake_is_no_handshake()
        {
            var before = new SessionFixture().Open().Do(Input.Reload).Closed(0);
            Assert.IsNull(before.Session.Save().Text("plugin_session_id"));
        }

        [Test]
        public void A_reload_without_a_connection_forgets_nothing()
        {
            var before = new SessionFixture().Open().Execute("r1").Closed(0).Do(Input.Reload);
            Assert.AreEqual(LinkState.Ended, before.Session.Link);
            var after = AfterReload(before).Open();
            Assert.AreEqual("id-1", after.Hello.Text("plugin_session_id"));
            Assert.AreEqual("r1", after.Taken());
        }

        [Test]
        public void A_request_that_ran_before_the_reload_never_runs_again()
        {
            var before = new SessionFixture().Open().Execute("r1");
            before.Taken();
            before.AnswerTo("r1").Do(Input.Reload).Closed(1001);
            var after = AfterReload(before).Open().Execute("r1");
            Assert.IsNull(after.Taken());
        }

        [Test]
        public void A_saved_request_that_has_run_is_not_taken_in()
        {
            var saved = new SessionFixture().Open().Execute("r1").Do(Input.Reload).Closed(1001).Session.Save();
            var changed = JsonReader.Parse(saved.ToString().Replace("\"begun\":[]", "\"begun\":[\"r1\"]"));
            Assert.IsNull(new SessionFixture(changed).Open().Taken());
        }

        [Test]
        public void A_connection_that_was_replaced_stays_away_after_the_reload_until_a_person_asks()
        {
            var before = new SessionFixture().Open().Closed(1000, "replaced by a newer connection").Do(Input.Reload);
            var after = AfterReload(before).Do(Input.Tick);
            Assert.AreEqual(LinkState.Replaced, after.Session.Link);
            Assert.IsFalse(after.Has(OutputKind.Dial));
            StringAssert.Contains("Reconnect", after.Session.LastError);
            var later = AfterReload(after.Do(Input.Reload)).Do(Input.Tick);
            Assert.AreEqual(LinkState.Replaced, later.Session.Link);
            later.Do(Input.Reconnect);
            Assert.IsTrue(later.Has(OutputKind.Dial));
            var connected = AfterReload(later.Do(Input.Connected(later.Attempt)).Welcome().Do(Input.Reload).Closed(1001));
            Assert.AreEqual(LinkState.Open, connected.Open().Session.Link);
        }

        [Test]
        public void A_server_that_gives_up_a_request_during_the_handshake_gets_a_new_session_without_it()
        {
            var before = new SessionFixture().Open().Execute("r1").Do(Input.Reload).Closed(4408);
            Assert.AreEqual(LinkState.Ended, before.Session.Link);
            var after = AfterReload(before).Open();
            Assert.AreEqual("id-2", after.Hello.Text("plugin_session_id"));
            Assert.IsNull(after.Hello["running_request_id"]);
            Assert.IsNull(after.Taken());
        }

        [Test]
        public void A_connection_that_is_replaced_during_the_handshake_stays_away_after_the_reload()
        {
            var before = new SessionFixture().Open().Do(Input.Reload).Closed(1000, "replaced by a newer connection");
            Assert.AreEqual(LinkState.Ended, before.Session.Link);
            var after = AfterReload(before).Do(Input.Tick);
            Assert.AreEqual(LinkState.Replaced, after.Session.Link);
            Assert.IsFalse(after.Has(OutputKind.Dial));
        }

        [Test]
        public void A_dial_that_has_not_ended_is_abandoned()
        {
            var it = new SessionFixture().Do(Input.Tick).Do(Input.Reload);
            Assert.AreEqual(LinkState.Ended, it.Session.Link);
            Assert.IsNotNull(it.Session.Save().Text("plugin_session_id"));
        }
    }
}
