//! Unity compiles, reloads, disconnects, reconnects, or sends invalid frames.

use harness::agent::{StdioAgent, brief};
use harness::server::Server;
use serde_json::{Value, json};
use tungstenite::{Bytes, Message};

use crate::plugin::{Plugin, console};

fn start(flags: &[&str]) -> (Server, StdioAgent, u16) {
    let mut server = Server::start(&[&["--stdio"], flags].concat());
    let agent = StdioAgent::new(&mut server);
    let port = server.port();
    (server, agent, port)
}

fn state(agent: &mut StdioAgent) -> Value {
    agent.run("get_editor_state", json!({})).unwrap()
}

#[test]
fn a_call_waits_through_a_compile_and_a_domain_reload() {
    let (_server, mut agent, port) = start(&[]);
    let editor = json!({ "state": "ready", "editor_instance_id": "e", "plugin_session_id": "1" });
    let mut plugin = Plugin::hello(port, editor);
    plugin.status("compiling", 1);
    let call = agent.call("read_console", json!({}));
    agent.wait_for("waiting_reason", "compiling");
    plugin.status("reloading", 2);
    plugin.close();
    agent.wait_for("connected", false);
    assert_eq!(state(&mut agent)["waiting_reason"], "reloading");
    let editor = json!({ "state": "ready", "editor_instance_id": "e", "plugin_session_id": "2" });
    let mut plugin = Plugin::hello(port, editor);
    let execute = plugin.expect("execute");
    plugin.answer_console(&execute, "after");
    assert_eq!(agent.outcome(call), Ok(console("after")));
}

#[test]
fn a_result_may_come_on_the_next_connection_and_nothing_is_sent_twice() {
    let (_server, mut agent, port) = start(&[]);
    let hello = |seq: u64| json!({ "state": "ready", "editor_instance_id": "e", "plugin_session_id": "1", "connect_attempt_seq": seq });
    let mut plugin = Plugin::hello(port, hello(1));
    let call = agent.call("read_console", json!({}));
    let execute = plugin.expect("execute");
    drop(plugin); // Without a close frame.
    agent.wait_for("connected", false);
    let mut plugin = Plugin::hello(port, hello(2));
    plugin.answer_console(&execute, "late");
    assert_eq!(agent.outcome(call), Ok(console("late")));
    assert!(plugin.executed.is_empty());
}

#[test]
fn what_was_sent_and_lost_is_unknown_and_what_never_was_is_not_executed() {
    let (_server, mut agent, port) = start(&["--request-reconnect-wait-ms", "100"]);
    let error = agent.run("read_console", json!({})).unwrap_err();
    assert_eq!(brief(&error), "ERR_EDITOR_NOT_READY not_executed");
    let mut plugin = Plugin::ready(port);
    let call = agent.call("read_console", json!({}));
    plugin.expect("execute");
    drop(plugin);
    let error = agent.outcome(call).unwrap_err();
    assert_eq!(brief(&error), "ERR_RECONNECT_TIMEOUT unknown");
}

#[test]
fn what_was_sent_to_another_session_of_the_plugin_is_lost_and_unknown() {
    let (_server, mut agent, port) = start(&["--request-reconnect-wait-ms", "10000"]);
    let hello = |session: &str| json!({ "state": "ready", "plugin_session_id": session });
    let mut plugin = Plugin::hello(port, hello("1"));
    let call = agent.call("read_console", json!({}));
    plugin.expect("execute");
    drop(plugin);
    let _plugin = Plugin::hello(port, hello("2"));
    let error = agent.outcome(call).unwrap_err();
    assert_eq!(brief(&error), "ERR_UNITY_DISCONNECTED unknown");
}

#[test]
fn a_full_queue_refuses_at_once_and_recovers() {
    let (_server, mut agent, port) = start(&["--queue-max-size", "2"]);
    let mut plugin = Plugin::hello(port, json!({ "state": "compiling" }));
    let calls = [(); 3].map(|()| agent.call("read_console", json!({})));
    let error = agent.outcome(calls[2]).unwrap_err();
    assert_eq!(brief(&error), "ERR_QUEUE_FULL not_executed");
    plugin.status("ready", 1);
    for call in [calls[0], calls[1]] {
        let execute = plugin.expect("execute");
        plugin.answer_console(&execute, "x");
        agent.outcome(call).unwrap();
    }
    let call = agent.call("read_console", json!({}));
    let execute = plugin.expect("execute");
    plugin.answer_console(&execute, "x");
    agent.outcome(call).unwrap();
}

#[test]
fn a_second_editor_is_refused_while_the_first_answers() {
    let (_server, mut agent, port) = start(&[]);
    let mut first = Plugin::hello(port, json!({ "state": "ready", "editor_instance_id": "a" }));
    let mut second = Plugin::pending(port);
    second.say(json!({
        "type": "hello", "plugin_version": "1", "state": "ready", "editor_instance_id": "b",
    }));
    let call = agent.call("read_console", json!({}));
    let execute = first.expect("execute"); // `expect` answers the probe.
    first.answer_console(&execute, "mine");
    agent.outcome(call).unwrap();
    let pong = std::thread::spawn(move || {
        first.next();
    });
    let refusal = second.expect("error");
    assert_eq!(refusal["error"]["code"], "ERR_INVALID_REQUEST");
    let text = "another Unity websocket session is already active";
    assert_eq!(refusal["error"]["message"], text);
    second.expect_close();
    assert_eq!(state(&mut agent)["connected"], true);
    drop(pong);
}

#[test]
fn bad_frames_end_with_their_close_code_and_the_call_with_the_truth() {
    let (_server, mut agent, port) = start(&["--max-message-bytes", "16384"]);
    let bad_text = Message::Frame(tungstenite::protocol::frame::Frame::message(
        Bytes::from_static(b"\xff\xfe"),
        tungstenite::protocol::frame::coding::OpCode::Data(
            tungstenite::protocol::frame::coding::Data::Text,
        ),
        true,
    ));
    let mut reserved = tungstenite::protocol::frame::Frame::ping(Bytes::new());
    reserved.header_mut().rsv1 = true;
    for (frame, code, error) in [
        (Message::binary(vec![1]), 1003, None),
        (bad_text, 1007, None),
        (Message::Frame(reserved), 1002, None),
        (Message::text("x".repeat(16_385)), 1009, Some("ERR_INVALID_RESPONSE unknown")),
        (Message::text("x".repeat(200_000)), 1009, Some("ERR_INVALID_RESPONSE unknown")),
    ] {
        let mut plugin = Plugin::hello(port, json!({ "state": "ready", "plugin_session_id": "s" }));
        let call = agent.call("read_console", json!({}));
        let execute = plugin.expect("execute");
        plugin.socket.send(frame).unwrap();
        assert_eq!(plugin.expect_close(), code);
        match error {
            Some(expected) => assert_eq!(brief(&agent.outcome(call).unwrap_err()), expected),
            None => {
                // The same plugin comes back with the answer.
                let hello = json!({ "state": "ready", "plugin_session_id": "s" });
                let mut plugin = Plugin::hello(port, hello);
                plugin.answer_console(&execute, "x");
                agent.outcome(call).unwrap();
                plugin.close();
            }
        }
        agent.wait_for("connected", false);
    }
}

#[test]
fn frames_that_are_not_understood_are_answered_and_the_session_goes_on() {
    let (_server, mut agent, port) = start(&[]);
    let mut plugin = Plugin::ready(port);
    plugin.socket.send(Message::text("not json")).unwrap();
    assert_eq!(plugin.expect("error")["error"]["code"], "ERR_INVALID_REQUEST");
    plugin.say(json!({ "type": "shrug" }));
    assert_eq!(plugin.expect("error")["error"]["code"], "ERR_UNKNOWN_COMMAND");
    // Even if many arrive at once while a call runs.
    let call = agent.call("read_console", json!({}));
    let execute = plugin.expect("execute");
    for _ in 0..500 {
        plugin.say(json!({ "type": "shrug" }));
    }
    for _ in 0..500 {
        plugin.expect("error");
    }
    plugin.answer_console(&execute, "untouched");
    assert_eq!(agent.outcome(call), Ok(console("untouched")));

    let call = agent.call("read_console", json!({}));
    let execute = plugin.expect("execute");
    plugin.say(json!({ "type": "result", "request_id": execute["request_id"], "status": "ok", "result": {} }));
    let error = agent.outcome(call).unwrap_err();
    assert_eq!(brief(&error), "ERR_INVALID_RESPONSE unknown");
    for _ in 0..10 {
        plugin.socket.send(Message::text("{")).unwrap();
    }
    assert_eq!(plugin.expect_close(), 1008);
}

#[test]
fn a_socket_without_a_hello_is_closed() {
    let (_server, _agent, port) = start(&["--hello-timeout-ms", "50"]);
    let mut plugin = Plugin::pending(port);
    assert_eq!(plugin.expect("error")["error"]["code"], "ERR_INVALID_REQUEST");
    assert_eq!(plugin.expect_close(), 1008);
}

#[test]
fn a_plugin_that_does_not_read_is_dropped_and_not_waited_for() {
    let (_server, mut agent, port) = start(&["--heartbeat-timeout-ms", "600000"]);
    let mut plugin = Plugin::ready(port);
    // Each unknown frame is answered; the answers are not read.
    let shrug = json!({ "type": "x".repeat(100), "protocol_version": 1 }).to_string();
    loop {
        if plugin.socket.send(Message::text(shrug.clone())).is_err() {
            break;
        }
    }
    agent.wait_for("connected", false);
}
