//! The server ends in time in every situation, and every call gets a true answer.

use harness::agent::{HttpAgent, StdioAgent, brief, outcome};
use harness::server::Server;
use harness::stop_signal::StopSignal;
use serde_json::{Value, json};

use crate::plugin::Plugin;

/// A server with one call in Unity and one that waits behind it.
fn busy() -> (Server, StdioAgent, Plugin, [u64; 2]) {
    let mut server = Server::start(&["--stdio"]);
    let mut agent = StdioAgent::new(&mut server);
    let mut plugin = Plugin::ready(server.port());
    let running = agent.call("read_console", json!({}));
    plugin.expect("execute");
    let queued = agent.call("read_console", json!({}));
    agent.wait_for("queue_length", 1);
    (server, agent, plugin, [running, queued])
}

fn assert_both_answered(answers: &[Value], [running, queued]: [u64; 2]) {
    let of = |id: u64| answers.iter().find(|answer| answer["id"] == id).unwrap();
    let errors = [running, queued].map(|id| brief(&outcome(of(id)).unwrap_err()));
    assert_eq!(errors, ["ERR_UNITY_DISCONNECTED unknown", "ERR_EDITOR_NOT_READY not_executed"]);
    assert_eq!(answers.len(), 2);
}

#[test]
fn the_end_of_stdin_ends_it_with_calls_in_flight() {
    let (mut server, mut agent, mut plugin, calls) = busy();
    let over_http = HttpAgent { port: server.port() }.call("read_console", &json!({}));
    agent.wait_for("queue_length", 2);
    agent.close_stdin();
    assert_eq!(plugin.expect_close(), 1001);
    server.assert_ends_cleanly();
    let error = outcome(&over_http.read().answer()).unwrap_err();
    assert_eq!(brief(&error), "ERR_EDITOR_NOT_READY not_executed");
    // No answers after the end of stdin: the Python SDK 1.x fails if it gets one.
    assert_eq!(agent.rest(), Vec::<Value>::new());
    let log = server.whole_log().join("\n");
    assert!(
        log.contains("ERR_UNITY_DISCONNECTED") && log.contains("ERR_EDITOR_NOT_READY"),
        "{log}"
    );
    assert_eq!(plugin.executed.len() + calls.len(), 3);
}

#[test]
fn requests_from_a_file_are_answered_before_it_ends() {
    let mut server = Server::start(&["--stdio"]);
    let mut agent = StdioAgent::silent(&mut server);
    let mut requests = String::new();
    for (id, method) in [(1, "initialize"), (2, "tools/list"), (3, "tools/call")] {
        let params = match method {
            "initialize" => harness::agent::initialize("2025-11-25"),
            "tools/call" => json!({ "name": "get_editor_state" }),
            _ => json!({}),
        };
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        requests += &format!("{request}\r\n");
    }
    agent.write_raw(requests.trim_end()); // The last line has no newline.
    agent.close_stdin();
    let mut ids: Vec<u64> =
        agent.rest().iter().map(|answer| answer["id"].as_u64().unwrap()).collect();
    ids.sort_unstable();
    assert_eq!(ids, [1, 2, 3]);
    server.assert_ends_cleanly();
}

#[test]
fn a_signal_ends_it_with_calls_in_flight() {
    let Some(stop) = StopSignal::interrupt() else { return };
    assert_ends_with_calls_in_flight(stop);

    // A relay does not know how a call ends that it has passed on.
    let mut first = Server::start(&[]);
    let mut plugin = Plugin::ready(first.port());
    let port = first.port().to_string();
    let mut relay = Server::start_with(&["--stdio", "--port", &port], |_| {});
    let mut agent = StdioAgent::new(&mut relay);
    relay.wait_for_line("calls are relayed");
    let call = agent.call("read_console", json!({}));
    plugin.expect("execute");
    relay.stop(stop);
    let error = agent.outcome(call).unwrap_err();
    assert_eq!(brief(&error), "ERR_UNITY_DISCONNECTED unknown");
    relay.assert_ends_cleanly();

    // A call that waits until the holder of the port is known was sent nowhere.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port().to_string();
    let mut relay = Server::start_with(&["--stdio", "--port", &port], |_| {});
    let mut agent = StdioAgent::new(&mut relay);
    let call = agent.call("read_console", json!({}));
    agent.request("tools/list", json!({})); // The call was read.
    relay.stop(stop);
    let error = agent.outcome(call).unwrap_err();
    assert_eq!(brief(&error), "ERR_EDITOR_NOT_READY not_executed");
    relay.assert_ends_cleanly();
}

#[test]
fn every_other_signal_ends_it_too() {
    StopSignal::others().iter().for_each(|stop| assert_ends_with_calls_in_flight(*stop));
}

fn assert_ends_with_calls_in_flight(stop: StopSignal) {
    let (mut server, mut agent, mut plugin, calls) = busy();
    let over_http = HttpAgent { port: server.port() }.call("read_console", &json!({}));
    agent.wait_for("queue_length", 2);
    server.stop(stop);
    assert_eq!(plugin.expect_close(), 1001);
    server.assert_ends_cleanly();
    assert_both_answered(&agent.rest(), calls);
    let error = outcome(&over_http.read().answer()).unwrap_err();
    assert_eq!(brief(&error), "ERR_EDITOR_NOT_READY not_executed");
}

#[test]
fn it_ends_also_if_the_plugin_does_not_close() {
    let Some(stop) = StopSignal::interrupt() else { return };
    let (mut server, mut agent, plugin, calls) = busy();
    server.stop(stop);
    server.assert_ends_cleanly(); // The plugin does not read.
    assert_both_answered(&agent.rest(), calls);
    drop(plugin);
}

#[test]
fn a_closed_stdout_ends_it() {
    let mut server = Server::start(&["--stdio"]);
    let mut plugin = Plugin::ready(server.port());
    drop(server.process.stdout.take());
    if !cfg!(target_os = "linux") {
        // Other systems report it only at the next write.
        use std::io::Write as _;
        let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
        writeln!(server.process.stdin.as_ref().unwrap(), "{ping}").unwrap();
    }
    assert_eq!(plugin.expect_close(), 1001);
    server.assert_ends_cleanly();
}

#[test]
#[cfg(unix)]
fn the_death_of_the_parent_ends_it_though_stdin_stays_open() {
    use std::process::{Command, Stdio};
    // The shell is the parent. The test holds stdin and stderr of the server open.
    let script = "exec 3<&0; \"$0\" --stdio --port 0 <&3 & wait";
    let mut shell = Command::new("sh");
    shell.args(["-c", script]).arg(harness::server::program());
    shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut shell = shell.spawn().unwrap();
    let log = harness::server::lines(shell.stderr.take());
    assert!(log.recv_timeout(harness::server::TIMEOUT).unwrap().contains("listening"));
    shell.kill().unwrap();
    shell.wait().unwrap();
    let began = std::time::Instant::now();
    while log.recv_timeout(harness::server::TIMEOUT).is_ok() {}
    assert!(began.elapsed() < harness::server::END_MAX, "{:?}", began.elapsed());
}

/// Set for this program when it plays a parent that starts a server.
const PLAY_PARENT: &str = "PLAY_PARENT";

#[test]
fn the_death_of_the_parent_that_holds_stdin_ends_it() {
    use std::process::{Command, Stdio};
    const THIS_TEST: &str = "shutdown::the_death_of_the_parent_that_holds_stdin_ends_it";
    if std::env::var_os(PLAY_PARENT).is_some() {
        let mut server = Command::new(harness::server::program());
        server.args(["--stdio", "--port", "0"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut server = server.spawn().unwrap();
        let _held = server.stdin.take(); // `wait` would close it.
        server.wait().unwrap(); // This program is killed before the server ends.
        return;
    }
    let mut parent = Command::new(std::env::current_exe().unwrap());
    parent.args(["--exact", THIS_TEST, "--nocapture"]).env(PLAY_PARENT, "1");
    parent.env("UNITY_MCP", harness::server::program()); // The parent must not build it.
    parent.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut parent = parent.spawn().unwrap();
    // The server has the stderr of the parent.
    let log = harness::server::lines(parent.stderr.take());
    let first = log.recv_timeout(harness::server::TIMEOUT);
    parent.kill().unwrap();
    parent.wait().unwrap();
    let first = first.unwrap();
    assert!(first.contains("listening"), "{first}");
    let began = std::time::Instant::now();
    while log.recv_timeout(harness::server::TIMEOUT).is_ok() {}
    assert!(began.elapsed() < harness::server::END_MAX, "{:?}", began.elapsed());
}

#[test]
fn it_ends_in_every_other_phase() {
    // Before the first message.
    let mut server = Server::start(&["--stdio"]);
    StdioAgent::silent(&mut server).close_stdin();
    server.assert_ends_cleanly();

    // Without Unity, while a call waits.
    let mut server = Server::start(&["--stdio"]);
    let mut agent = StdioAgent::new(&mut server);
    agent.call("read_console", json!({}));
    agent.wait_for("queue_length", 1);
    agent.close_stdin();
    server.assert_ends_cleanly();

    // With a socket that has sent no hello, and a call that waits for a job.
    let mut server = Server::start(&["--stdio"]);
    let mut agent = StdioAgent::new(&mut server);
    let mut plugin = Plugin::ready(server.port());
    let mut pending = Plugin::pending(server.port());
    agent.call("run_tests", json!({ "wait_ms": 60_000 }));
    let submit = plugin.expect("submit_job");
    plugin.accept_job(&submit, "u-1");
    agent.close_stdin();
    assert_eq!(plugin.expect_close(), 1001);
    assert_eq!(pending.expect_close(), 1001);
    server.assert_ends_cleanly();
}

#[test]
fn an_agent_that_does_not_read_is_not_read_from() {
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::Duration;
    const REQUESTS: u64 = 8_000;
    let mut server = Server::start(&["--stdio"]);
    let (mut stdin, stdout) =
        (server.process.stdin.take().unwrap(), server.process.stdout.take().unwrap());
    let initialize = harness::agent::initialize("2025-11-25");
    let first =
        json!({ "jsonrpc": "2.0", "id": "i", "method": "initialize", "params": initialize });
    writeln!(stdin, "{first}").unwrap();
    let written = AtomicU64::new(0);
    let junk = "x".repeat(2_000); // A mebibyte of requests is read ahead.
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for id in 0..REQUESTS {
                let params = json!({ "_meta": { "junk": junk } });
                let request =
                    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/list", "params": params });
                writeln!(stdin, "{request}").unwrap();
                written.store(id, Ordering::Relaxed);
            }
        });
        // The server has stopped reading when writes make no progress.
        let mut last = u64::MAX;
        while last != written.load(Ordering::Relaxed) {
            last = written.load(Ordering::Relaxed);
            std::thread::sleep(Duration::from_millis(200));
        }
        assert!(last < REQUESTS / 2, "{last} requests were read");
        if cfg!(target_os = "linux") {
            let status = format!("/proc/{}/status", server.process.id());
            let status = std::fs::read_to_string(status).unwrap();
            let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
            let peak: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
            assert!(peak < 48 * 1024, "{peak} kB at the peak");
        }
        // When the agent reads again, every request is answered.
        let answers = BufReader::new(stdout).lines().skip(1).take(REQUESTS as usize);
        let id = |line: String| serde_json::from_str::<Value>(&line).unwrap()["id"].as_u64();
        let mut ids: Vec<u64> = answers.map(|line| id(line.unwrap()).unwrap()).collect();
        ids.sort_unstable();
        assert!(ids.into_iter().eq(0..REQUESTS));
    });

    // The server notices that the agent has left, even if it never reads.
    let mut server = Server::start(&["--stdio"]);
    let mut stdin = server.process.stdin.take().unwrap();
    writeln!(stdin, "{first}").unwrap();
    for id in 0..2_000 {
        writeln!(stdin, "{}", json!({ "jsonrpc": "2.0", "id": id, "method": "tools/list" }))
            .unwrap();
    }
    drop(stdin);
    server.assert_ends_cleanly();
}
