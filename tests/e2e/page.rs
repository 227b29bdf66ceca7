//! The page for people: what it shows, to whom, and that no call waits for it.

use std::time::{Duration, Instant};

use base64::Engine as _;
use harness::agent::{HttpAgent, StdioAgent};
use harness::editor::Program;
use harness::server::{Scratch, Server};
use harness::viewer::Viewer;
use serde_json::{Value, json};
use sha2::Digest as _;

use crate::plugin::Plugin;

/// Contract: a call appears within a second. The machine may be busy with other tests.
const SOON: Duration = Duration::from_secs(1);

fn message<'a>(what: &'a str, from: &'a str, to: &'a str) -> impl Fn(&Value) -> bool + 'a {
    move |event| {
        event["kind"] == "message"
            && event["what"] == what
            && event["from"] == from
            && event["to"] == to
    }
}

fn kind<'a>(kind: &'a str) -> impl Fn(&Value) -> bool + 'a {
    move |event| event["kind"] == kind
}

#[test]
fn a_call_appears_with_its_wait_its_time_and_its_outcome() {
    let mut server = Server::start(&[]);
    let agent = HttpAgent { port: server.port() };
    let mut plugin = Plugin::ready(agent.port);
    let mut viewer = Viewer::open(agent.port, "");
    let snapshot = viewer.snapshot();
    assert_eq!(snapshot["about"]["port"], agent.port);
    assert_eq!(snapshot["state"]["editor"], "ready");
    let call = agent.call("read_console", &json!({ "client_request_id": "c-1" }));
    let began = Instant::now();
    let shown = viewer.wait_for(kind("call_began"));
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
    assert_eq!((&shown["tool"], &shown["lane"]), (&json!("read_console"), &json!("agent (http)")));
    let name = shown["call"].clone();
    assert!(name.as_str().unwrap().starts_with("req-"), "{name}");
    let served = viewer.wait_for(kind("call_served"));
    assert_eq!(served["call"], name);
    let request = plugin.expect("execute");
    assert_eq!(request["request_id"], name);
    let sent = viewer.wait_for(message("execute", "server", "unity"));
    assert_eq!(sent["call"], name);
    plugin.answer_console(&request, "x");
    call.read();
    viewer.wait_for(message("result", "unity", "server"));
    let ended = viewer.wait_for(kind("call_ended"));
    assert_eq!((&ended["call"], &ended["outcome"]), (&name, &json!("ok")));
    let took = ended["at"].as_u64().unwrap() - served["at"].as_u64().unwrap();
    assert!(served["at"].as_u64() >= shown["at"].as_u64() && took < 10_000, "{ended} {served}");
    assert!(viewer.text.contains("for=c-1"), "{}", viewer.text);
}

#[test]
fn a_call_that_fails_appears_with_code_and_guarantee() {
    let mut server = Server::start(&["--request-reconnect-wait-ms", "100"]);
    let agent = HttpAgent { port: server.port() };
    let mut viewer = Viewer::open(agent.port, "");
    agent.run("read_console", &json!({})).unwrap_err();
    let ended = viewer.wait_for(kind("call_ended"));
    assert_eq!(ended["outcome"], "failed");
    assert_eq!(ended["code"], "ERR_EDITOR_NOT_READY");
    assert_eq!(ended["guarantee"], "not_executed");
}

#[test]
fn a_reload_is_drawn_as_a_gap_in_the_lane_of_the_editor() {
    let mut server = Server::start(&[]);
    let agent = HttpAgent { port: server.port() };
    let mut plugin =
        Plugin::hello(agent.port, json!({ "state": "ready", "project_name": "My Game" }));
    let mut viewer = Viewer::open(agent.port, "");
    assert_eq!(viewer.snapshot()["about"]["editor"]["project_name"], "My Game");
    plugin.status("reloading", 1);
    let state = viewer.wait_for(kind("state"));
    assert_eq!(state["state"]["waits_for"], "reloading", "{state}");
    let waits = agent.call("read_console", &json!({}));
    let says = |event: &Value| {
        event["text"].as_str().is_some_and(|text| text.ends_with(" waits: reloading"))
    };
    viewer.wait_for(says);
    plugin.close();
    let gap = viewer.wait_for(|event| event["text"] == "no session: reloading");
    assert_eq!((&gap["kind"], &gap["lane"]), (&json!("lane_state"), &json!("unity")));
    let mut plugin = Plugin::ready(agent.port);
    let over = viewer.wait_for(|event| event["kind"] == "lane_state" && event["lane"] == "unity");
    assert!(over["text"].is_null() && over["at"].as_u64() >= gap["at"].as_u64(), "{over}");
    // The frames of the new session are below the gap.
    viewer.wait_for(message("hello", "server", "unity"));
    viewer.wait_for(message("execute", "server", "unity"));
    let request = plugin.expect("execute");
    plugin.answer_console(&request, "x");
    waits.read();
    assert_eq!(viewer.wait_for(kind("call_ended"))["outcome"], "ok");
}

#[test]
fn a_job_appears_with_its_progress() {
    let mut server = Server::start(&["--job-poll-interval-ms", "50"]);
    let agent = HttpAgent { port: server.port() };
    let mut plugin = Plugin::ready(agent.port);
    let mut viewer = Viewer::open(agent.port, "");
    let job = agent.run("run_tests", &json!({})).unwrap()["job_id"].clone();
    let submit = plugin.expect("submit_job");
    plugin.accept_job(&submit, "u-1");
    let question = plugin.expect("get_job_status");
    let progress = json!({ "done": 3, "total": 7, "current": "SecretTest" });
    plugin.job_status(&question, json!({ "state": "running", "progress": progress }));
    let state = viewer.wait_for(|event| event["state"]["jobs"][0]["done"] == 3);
    let shown = &state["state"]["jobs"][0];
    assert_eq!((&shown["job_id"], &shown["total"]), (&job, &json!(7)));
    assert!(!viewer.text.contains("SecretTest"), "the name of a test is a result");
    let about_it = viewer.text.lines().filter(|line| line.contains("\"what\":\"job_status\""));
    let call = submit["request_id"].as_str().unwrap();
    assert!(about_it.clone().count() > 0 && about_it.clone().all(|line| line.contains(call)));
}

#[test]
fn a_third_viewer_gets_503_until_another_one_leaves() {
    let mut server = Server::start(&[]);
    let port = server.port();
    let first = Viewer::open(port, "");
    let mut second = Viewer::open(port, "");
    assert_eq!((first.status(), second.status()), (200, 200));
    second.snapshot();
    assert_eq!(Viewer::open(port, "").status(), 503);
    drop(first);
    let until = Instant::now() + Duration::from_secs(5);
    while Viewer::open(port, "").status() != 200 {
        assert!(Instant::now() < until, "the place is not free");
    }
}

#[test]
fn other_sites_other_hosts_and_other_methods_are_refused() {
    let mut server = Server::start(&[]);
    let agent = HttpAgent { port: server.port() };
    let host = agent.host();
    for path in ["/", "/events"] {
        for (head, status) in [
            (format!("{host}\r\nsec-fetch-site: cross-site"), 403),
            (format!("{host}\r\nsec-fetch-site: same-site"), 403),
            (format!("{host}\r\norigin: http://evil.com"), 403),
            (format!("{host}\r\norigin: http://127.0.0.1:{}", agent.port), 403),
            ("host: evil.com".to_owned(), 403),
            (format!("host: 127.0.0.1.nip.io:{}", agent.port), 403),
            (format!("{host}\r\n{host}"), 400),
        ] {
            let answer = agent.raw(&format!("GET {path} HTTP/1.1"), &head, "");
            assert_eq!(answer.status, status, "{path} {head}");
        }
        for method in ["POST", "PUT", "DELETE", "PATCH"] {
            let line = format!("{method} {path} HTTP/1.1");
            let answer = agent.raw(&line, &host, "");
            assert_eq!(answer.status, 405, "{line}");
            assert!(answer.head.contains("allow: get"), "{}", answer.head);
        }
    }
    for site in ["none", "same-origin"] {
        let head = format!("{host}\r\nsec-fetch-site: {site}");
        assert_eq!(agent.raw("GET / HTTP/1.1", &head, "").status, 200, "{site}");
    }
}

/// The text between two marks, of which each occurs once.
fn between<'a>(text: &'a str, begin: &str, end: &str) -> &'a str {
    assert_eq!(text.matches(begin).count(), 1, "{begin}");
    text.split(begin).nth(1).unwrap().split(end).next().unwrap()
}

#[test]
fn the_page_runs_only_its_own_script_and_style() {
    let mut server = Server::start(&[]);
    let agent = HttpAgent { port: server.port() };
    let answer = agent.get("/");
    let hash = |text: &str| {
        let digest = sha2::Sha256::digest(text);
        base64::engine::general_purpose::STANDARD.encode(digest)
    };
    let script = hash(between(&answer.body, "<script>", "</script>"));
    let style = hash(between(&answer.body, "<style>", "</style>"));
    let policy = format!(
        "content-security-policy: default-src 'none'; connect-src 'self'; \
         script-src 'sha256-{script}'; style-src 'sha256-{style}'; frame-ancestors 'none'\r\n"
    );
    let expected = [
        policy.to_ascii_lowercase().as_str(),
        "content-type: text/html; charset=utf-8\r\n",
        "x-content-type-options: nosniff\r\n",
        "cache-control: no-store\r\n",
        "referrer-policy: no-referrer\r\n",
    ]
    .map(str::to_owned);
    for line in &expected {
        assert!(format!("{}\r\n", answer.head).contains(line), "{line}{}", answer.head);
    }
    let events = Viewer::open(agent.port, "").head;
    for line in expected.iter().filter(|line| !line.starts_with("content-type")) {
        assert!(events.contains(line), "{line}{events}");
    }
    assert!(events.contains("content-type: text/event-stream"), "{events}");
}

#[test]
fn with_a_token_the_page_is_open_and_its_events_are_not() {
    let scratch = Scratch::new("page-token");
    let file = scratch.0.join("token");
    let mut server = Server::start_with(&["--port", "0", "--require-token"], |command| {
        command.env("UNITY_MCP_TOKEN_FILE", &file);
    });
    let agent = HttpAgent { port: server.port() };
    let token = std::fs::read_to_string(&file).unwrap();
    let page = agent.get("/");
    assert_eq!(page.status, 200);
    assert!(!page.body.contains(token.trim()));
    assert_eq!(agent.get("/events").status, 401);
    assert_eq!(Viewer::open(agent.port, "authorization: Bearer no\r\n").status(), 401);
    let shown = format!("authorization: Bearer {}\r\n", token.trim());
    let mut viewer = Viewer::open(agent.port, &shown);
    assert_eq!(viewer.status(), 200);
    let settings = viewer.snapshot()["about"]["settings"].clone();
    assert!(settings.as_array().unwrap().contains(&json!("require_token=true")), "{settings}");
    assert!(!viewer.text.contains(token.trim()));
}

/// Reads a console whose only entry is `entry`, with `argument` to look for. Returns what a viewer got of it.
fn seen_of_a_call(flags: &[&str], argument: &str, entry: &str) -> String {
    let mut server = Server::start(flags);
    let agent = HttpAgent { port: server.port() };
    let mut plugin = Plugin::ready(agent.port);
    let mut viewer = Viewer::open(agent.port, "");
    let call = agent.call("read_console", &json!({ "contains": argument }));
    let request = plugin.expect("execute");
    plugin.answer_console(&request, entry);
    call.read();
    viewer.wait_for(kind("call_ended"));
    viewer.text
}

#[test]
fn arguments_and_results_are_shown_only_if_asked_for() {
    let entry = "needle-in-the-answer, for the argument-needle";
    let without = seen_of_a_call(&[], "argument-needle", entry);
    assert!(!without.contains("needle"), "{without}");
    let with = seen_of_a_call(&["--page-bodies"], "argument-needle", entry);
    assert!(with.contains("argument-needle") && with.contains("needle-in-the-answer"), "{with}");
}

#[test]
fn text_of_unity_stays_data_in_the_stream() {
    let entry =
        "x</script><script>alert(1)</script>\n\nevent: snapshot\ndata: {}\n\n\u{202e}\u{1b}[2J";
    // Every event is parsed by the viewer: a line of its own would break it.
    let text = seen_of_a_call(&["--page-bodies"], "x", entry);
    assert!(text.contains("alert(1)"), "{text}");
    assert_eq!(text.matches("event: snapshot\n").count(), 1, "{text}");
    assert!(!text.contains('\u{202e}') && !text.contains('\u{1b}'), "{text}");
}

#[test]
fn without_the_page_its_paths_do_not_exist() {
    let mut server = Server::start(&["--no-page"]);
    let agent = HttpAgent { port: server.port() };
    for path in ["/", "/events"] {
        let answer = agent.get(path);
        assert_eq!(answer.status, 404, "{path}");
        assert_eq!(answer.body, agent.get("/nothing").body);
    }
    let both = ["--no-page", "--page-bodies"];
    assert_eq!(harness::server::run(&both, &std::env::temp_dir()).0, 2);
}

#[cfg(unix)]
#[test]
fn a_viewer_does_not_hold_up_the_end() {
    let mut server = Server::start(&[]);
    let port = server.port();
    let mut viewer = Viewer::open(port, "");
    viewer.snapshot();
    server.signal("-TERM");
    server.assert_ends_cleanly();
    viewer.ends();
}

/// The middle one of the times of so many calls that reach Unity, in microseconds.
fn p50(agent: &mut StdioAgent, calls: usize) -> u128 {
    let mut times: Vec<u128> = (0..calls)
        .map(|_| {
            let began = Instant::now();
            agent.run("read_console", json!({ "max_entries": 1 })).unwrap();
            began.elapsed().as_micros()
        })
        .collect();
    times.sort_unstable();
    times[calls / 2]
}

/// What a viewer costs a call is less than the noise of a machine, so the best of several rounds counts: a server that
/// makes calls wait for a viewer is slow in each. `cargo test -p e2e --test e2e page::calls_are -- --nocapture` shows
/// the times.
#[test]
fn calls_are_as_fast_with_a_viewer() {
    const RATIO_MAX: f64 = 1.25;
    let mut server = Server::start(&["--stdio"]);
    let port = server.port();
    let mut editor = Program::MockUnity.start(port, &["--tool-time", "0ms"]);
    editor.gets("capability");
    let mut agent = StdioAgent::new(&mut server);
    p50(&mut agent, 300);
    let mut best = f64::INFINITY;
    for _ in 0..8 {
        let without = p50(&mut agent, 300);
        let mut viewer = Viewer::open(port, "");
        viewer.snapshot();
        let reading = std::thread::spawn(move || {
            viewer.read_for(Duration::from_millis(300));
            viewer.text.matches("\"call_ended\"").count()
        });
        let with = p50(&mut agent, 300);
        let seen = reading.join().unwrap();
        let ratio = with as f64 / without as f64;
        eprintln!(
            "p50 of read_console: {without} us without a viewer, {with} us with one, {ratio:.2} ({seen} ends seen)"
        );
        assert!(seen > 0, "the viewer saw the calls");
        best = best.min(ratio);
        if best < RATIO_MAX {
            return;
        }
    }
    panic!("calls with a viewer take {best:.2} times as long at best");
}
