//! Starting: flags, the configuration file, and a port that is in use.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::process::Command;

use harness::agent::HttpAgent;
use harness::server::{Scratch, Server, TIMEOUT, run};
use serde_json::Value;

#[test]
fn it_starts_without_unity_and_says_where_it_listens_and_who_it_is() {
    let mut server = Server::start(&[]);
    let agent = HttpAgent { port: server.port() };
    let health = agent.get("/healthz");
    assert_eq!(health.status, 200);
    let health: Value = serde_json::from_str(&health.body).unwrap();
    assert_eq!(health["name"], "unity-mcp");
    assert_eq!(health["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(health["pid"], server.process.id());
    assert_eq!(health["server_state"], "waiting_editor");
    assert_eq!(health["editor_state"], "unknown");
    assert!(!health["instance_id"].as_str().unwrap().is_empty());
}

/// An address of this machine that is not 127.0.0.1; `None` if there is none.
fn other_address() -> Option<IpAddr> {
    if cfg!(target_os = "linux") {
        return Some(IpAddr::from([127, 0, 0, 2]));
    }
    // Nothing is sent: the system only chooses the interface.
    let socket = UdpSocket::bind("0.0.0.0:0").ok()?;
    socket.connect("192.0.2.1:9").ok()?;
    let own = socket.local_addr().ok()?.ip();
    (own != IpAddr::from(Ipv4Addr::LOCALHOST) && !own.is_unspecified()).then_some(own)
}

#[test]
fn nobody_can_connect_to_another_address_of_the_machine() {
    let Some(other) = other_address() else {
        eprintln!("NOT TRIED: this machine has no other address");
        return;
    };
    let can_connect =
        |port: u16| TcpStream::connect_timeout(&SocketAddr::from((other, port)), TIMEOUT).is_ok();
    // The address works, so a refusal comes from the server.
    let everywhere = TcpListener::bind("0.0.0.0:0").unwrap();
    assert!(can_connect(everywhere.local_addr().unwrap().port()));
    let mut server = Server::start(&[]);
    let port = server.port();
    assert!(TcpStream::connect(("127.0.0.1", port)).is_ok());
    assert!(!can_connect(port), "{other}:{port} can be reached");
}

#[test]
fn a_bad_configuration_stops_the_start_with_code_2_and_one_line() {
    let scratch = Scratch::new("bad-config");
    let file = scratch.0.join("unity-mcp.server.json");
    for (content, tag, part) in [
        ("{", "ERR_CONFIG_PARSE", "is not JSON"),
        ("[]", "ERR_CONFIG_VALIDATION", "must be an object"),
        (r#"{"schema_version": 2}"#, "ERR_CONFIG_SCHEMA_VERSION", "schema_version is 2"),
        (r#"{"unity_ws_port": 0}"#, "ERR_CONFIG_VALIDATION", "from 1 to 65535"),
        (r#"{"queue_max_size": "7"}"#, "ERR_CONFIG_VALIDATION", "queue_max_size is \"7\""),
        (r#"{"quue_max_size": 7}"#, "ERR_CONFIG_VALIDATION", "did you mean queue_max_size?"),
    ] {
        std::fs::write(&file, content).unwrap();
        let (code, stdout, stderr) = run(&[], &scratch.0);
        assert_eq!((code, stdout.as_str()), (2, ""), "{content}");
        assert!(stderr.contains(tag) && stderr.contains(part), "{content}: {stderr}");
        assert!(stderr.contains("unity-mcp.server.json"), "{content}: {stderr}");
        assert_eq!(stderr.lines().count(), 1, "{stderr}");
    }
    let (code, _, stderr) = run(&["--config", "nowhere.json"], &scratch.0);
    assert_eq!(code, 2);
    assert!(stderr.contains("ERR_CONFIG_PARSE") && stderr.contains("nowhere.json"), "{stderr}");
    std::fs::remove_file(&file).unwrap();
    for flags in [&["--port", "65536"][..], &["--port", "-1"], &["--heartbeat-timeout-ms", "9"]] {
        let (code, _, stderr) = run(flags, &scratch.0);
        assert_eq!(code, 2, "{flags:?}");
        assert!(stderr.contains("ERR_CONFIG_VALIDATION"), "{stderr}");
        assert!(stderr.contains(flags[0]) && stderr.contains(flags[1]), "{stderr}");
    }
    let (code, _, stderr) = run(&["--prot", "1"], &scratch.0);
    assert_eq!(code, 2);
    assert!(stderr.contains("'--port'"), "{stderr}");
}

#[test]
fn a_configuration_that_is_not_a_small_regular_file_is_refused_at_once() {
    let scratch = Scratch::new("odd-config");
    let directory = scratch.0.join("directory");
    std::fs::create_dir(&directory).unwrap();
    let large = scratch.0.join("large");
    // A document that is sound up to the limit.
    std::fs::write(&large, format!("{{}}{}", " ".repeat(1024 * 1024))).unwrap();
    let mut odd = vec![
        (directory, "is not a regular file"),
        (large, "is larger than the limit of 1048576 bytes"),
    ];
    if cfg!(unix) {
        let pipe = scratch.0.join("pipe");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        odd.extend([
            (pipe, "is not a regular file"),
            ("/dev/zero".into(), "is not a regular file"),
        ]);
    }
    for (file, part) in odd {
        let name = file.to_str().unwrap();
        let mut server = Server::start(&["--config", name]);
        let (_, status) = server.wait_for_end();
        assert_eq!(status.code(), Some(2), "{name}");
        let line = server.whole_log().join("\n");
        assert!(line.contains("ERR_CONFIG_PARSE") && line.contains(part), "{name}: {line}");
    }
}

#[test]
fn the_configuration_in_force_can_be_shown_with_its_origin() {
    let scratch = Scratch::new("print-config");
    let file = r#"{"schema_version": 1, "queue_max_size": 5, "takeover_probe_ms": 700}"#;
    std::fs::write(scratch.0.join("unity-mcp.server.json"), file).unwrap();
    let flags = ["--print-config", "--queue-max-size", "6", "--allowed-origins", "http://a:1"];
    let (code, stdout, stderr) = run(&flags, &scratch.0);
    assert_eq!((code, stderr.as_str()), (0, ""));
    assert!(stdout.contains("queue_max_size = 6 (flag)\n"), "{stdout}");
    assert!(
        stdout.contains("takeover_probe_ms = 700 (") && stdout.contains("unity-mcp.server.json")
    );
    assert!(stdout.contains("unity_ws_port = 8091 (default)\n"), "{stdout}");
    assert!(stdout.contains("allowed_origins = [\"http://a:1\"] (flag)\n"), "{stdout}");
}

#[test]
fn help_and_version_answer_on_stdout() {
    let (code, stdout, stderr) = run(&["--help"], &std::env::temp_dir());
    assert_eq!((code, stderr.as_str()), (0, ""));
    for part in ["--stdio", "--port", "--queue-max-size", "Examples:", "Exit codes:", "--log-level"]
    {
        assert!(stdout.contains(part), "{part}: {stdout}");
    }
    let (code, stdout, _) = run(&["--version"], &std::env::temp_dir());
    assert_eq!((code, stdout), (0, format!("unity-mcp {}\n", env!("CARGO_PKG_VERSION"))));
}

#[test]
fn a_port_in_use_ends_the_start_with_code_3_and_says_by_whom() {
    let stranger = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = stranger.local_addr().unwrap().port().to_string();
    let (code, _, stderr) = run(&["--port", &port], &std::env::temp_dir());
    assert_eq!(code, 3);
    assert!(stderr.contains(&port) && stderr.contains("another program"), "{stderr}");

    let mut first = Server::start(&[]);
    let port = first.port().to_string();
    let (code, _, stderr) = run(&["--port", &port], &std::env::temp_dir());
    assert_eq!(code, 3);
    let holder = format!("version {}, pid {}", env!("CARGO_PKG_VERSION"), first.process.id());
    assert!(stderr.contains(&port) && stderr.contains(&holder), "{stderr}");
}

#[test]
fn only_known_paths_methods_and_peers_are_served() {
    let mut server = Server::start(&["--allowed-origins", "http://localhost:3000"]);
    let agent = HttpAgent { port: server.port() };
    let host = agent.host();
    // More silent connections than the limit do not keep others out.
    let silent: Vec<TcpStream> =
        (0..300).map(|_| TcpStream::connect(("127.0.0.1", agent.port)).unwrap()).collect();
    let status = |line: &str, head: &str| agent.raw(line, head, "").status;
    let nowhere = agent.get("/nowhere");
    assert_eq!(nowhere.status, 404);
    assert!(nowhere.body.contains("/mcp"), "{}", nowhere.body);
    assert_eq!(status("POST /healthz HTTP/1.1", &host), 405);
    assert_eq!(agent.get("/mcp").status, 405);
    assert_eq!(agent.get("/unity").status, 426);
    assert_eq!(agent.get("/healthz?shutdown=1").status, 200);
    for (line, head, expected) in [
        ("GET /healthz HTTP/1.1", "accept: */*".to_owned(), 400),
        ("GET /healthz HTTP/1.1", format!("{host}\r\n{host}"), 400),
        ("GET /healthz HTTP/1.1", "host: evil.com".to_owned(), 403),
        ("GET /healthz HTTP/1.1", format!("{host}\r\norigin: http://evil.com"), 403),
        ("POST /mcp HTTP/1.1", format!("{host}\r\norigin: null"), 403),
        ("GET /unity HTTP/1.1", format!("{host}\r\norigin: http://localhost:3000"), 403),
        ("GET /unity HTTP/1.1", format!("{host}\r\nsec-fetch-mode: websocket"), 403),
        ("GET http://evil.com/healthz HTTP/1.1", host.clone(), 400),
        ("OPTIONS /mcp HTTP/1.1", format!("{host}\r\norigin: http://localhost:3000"), 405),
        // The access rules accept it; it is not MCP.
        ("POST /mcp HTTP/1.1", format!("{host}\r\norigin: http://localhost:3000"), 400),
    ] {
        assert_eq!(status(line, &head), expected, "{line} {head}");
    }
    drop(silent);
}
