//! The process: tokens, other users of the machine, other programs on the port, and the size of the log.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
#[cfg(target_os = "linux")]
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use harness::agent::HttpAgent;
#[cfg(target_os = "linux")]
use harness::agent::StdioAgent;
use harness::server::{Scratch, Server, run};
use serde_json::json;

#[cfg(target_os = "linux")]
use crate::bench::say;
#[cfg(target_os = "linux")]
use crate::wire::{next, session};
use crate::{Attack, Case};

const TOKEN_FILE: &str = "UNITY_MCP_TOKEN_FILE";

/// Set for the process that takes a port as soon as it is free: this program, run by another user.
pub(crate) const SQUAT: &str = "SQUAT_PORT";
/// How long that process collects what it receives.
const SQUAT_TIME: Duration = Duration::from_secs(3);

/// Takes the port and prints everything that it receives.
pub(crate) fn squat(port: u16) {
    let began = Instant::now();
    let listener = loop {
        match TcpListener::bind(("127.0.0.1", port)) {
            Ok(listener) => break listener,
            Err(_) if began.elapsed() > SQUAT_TIME => return,
            Err(_) => {}
        }
    };
    listener.set_nonblocking(true).unwrap();
    let (began, mut output) = (Instant::now(), std::io::stdout());
    output.write_all(b"squatting\n").unwrap();
    while began.elapsed() < SQUAT_TIME {
        let Ok((mut stream, _)) = listener.accept() else { continue };
        stream.set_nonblocking(false).unwrap();
        stream.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        let mut bytes = [0; 4_096];
        while let Ok(length @ 1..) = stream.read(&mut bytes) {
            output.write_all(&bytes[..length]).unwrap();
        }
    }
}

/// Runs a program as another user. This needs root, or sudo without a password.
#[cfg(target_os = "linux")]
fn of_another_user(program: impl AsRef<std::ffi::OsStr>) -> Option<Command> {
    use std::os::unix::fs::MetadataExt as _;
    use std::os::unix::process::CommandExt as _;

    const NOBODY: u32 = 65_534;
    let mut command = Command::new("env");
    if std::fs::metadata("/proc/self").unwrap().uid() == 0 {
        command.uid(NOBODY);
    } else if Command::new("sudo")
        .args(["-n", "true"])
        .output()
        .is_ok_and(|tried| tried.status.success())
    {
        command = Command::new("sudo");
        command.args(["-n", "-u", &format!("#{NOBODY}"), "env"]);
    } else {
        eprintln!("NOT TRIED: this user cannot run a program as another user");
        return None;
    }
    command.arg(program).current_dir("/").stdout(Stdio::piped());
    Some(command)
}

/// The output of a shell script that another user runs.
#[cfg(target_os = "linux")]
fn shell_of_another_user(script: &str) -> Option<String> {
    let mut shell = of_another_user("bash")?;
    let output = shell.args(["-c", script]).output().unwrap();
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The status of a call with this header line.
fn call(port: u16, line: &str) -> u16 {
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "get_editor_state" } });
    let head = format!(
        "host: 127.0.0.1:{port}\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\n{line}mcp-test: 1"
    );
    HttpAgent { port }.raw("POST /mcp HTTP/1.1", &head, &body.to_string()).status
}

/// A server that requires the token ends, and another user takes its port while a relay uses it. False if that
/// user did not get the port.
#[cfg(target_os = "linux")]
fn let_another_user_take_the_port() -> bool {
    let scratch = Scratch::new("squatter");
    // A copy that the other user can run.
    let (file, program) = (scratch.0.join("token"), scratch.0.join("squatter"));
    std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    let squat =
        |port: &str| Some(of_another_user(format!("{SQUAT}={port}"))?.arg(&program).spawn());
    let with_token = |command: &mut Command| {
        command.env(TOKEN_FILE, &file);
    };
    let mut first = Server::start_with(&["--port", "0", "--require-token"], with_token);
    let port = first.port().to_string();
    let mut second = Server::start_with(&["--stdio", "--port", &port], with_token);
    let mut agent = StdioAgent::new(&mut second);
    second.wait_for_line("calls are relayed");
    agent.run("get_editor_state", json!({})).unwrap();
    let Some(squatter) = squat(&port) else { return true };
    let mut squatter = squatter.unwrap();
    drop(first);
    let mut shown = String::new();
    let mut seen = std::io::BufReader::new(squatter.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut seen, &mut shown).unwrap();
    let began = Instant::now();
    while began.elapsed() < SQUAT_TIME {
        agent.run("get_editor_state", json!({})).unwrap_or_default();
    }
    squatter.wait().unwrap();
    seen.read_to_string(&mut shown).unwrap();
    assert!(!shown.to_ascii_lowercase().contains("authorization"), "{shown}");
    assert!(!shown.contains("POST /mcp"), "{shown}");
    shown.starts_with("squatting")
}

#[expect(clippy::too_many_lines, reason = "one flat table")]
pub(crate) fn cases() -> Vec<Case> {
    let cases: &[Attack] = &[
        ("the_other_loopback_that_is_taken_is_said_loudly", |_| {
            let other = TcpListener::bind("[::1]:0");
            let Ok(other) = other else { return }; // A machine without IPv6.
            let port = other.local_addr().unwrap().port();
            let mut server = Server::start_with(&["--port", &port.to_string()], |_| {});
            let line = server.wait_for_line("[::1]");
            assert!(line.contains("WARN") && line.contains("another program holds"), "{line}");
        }),
        ("a_token_that_is_required_must_be_shown", |_| {
            let scratch = Scratch::new("token");
            let file = scratch.0.join("state/token");
            let mut server = Server::start_with(&["--port", "0", "--require-token"], |command| {
                command.env(TOKEN_FILE, &file);
            });
            let port = server.port();
            let token = std::fs::read_to_string(&file).unwrap().trim().to_owned();
            assert_eq!(call(port, ""), 401);
            assert_eq!(call(port, "authorization: Bearer wrong\r\n"), 401);
            assert_eq!(call(port, &format!("authorization: Bearer {token}\r\n")), 200);
            let upgrade = format!(
                "host: 127.0.0.1:{port}\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ=="
            );
            let refused = HttpAgent { port }.raw("GET /unity HTTP/1.1", &upgrade, "");
            assert_eq!(refused.status, 401);
            assert!(refused.head.contains("www-authenticate: bearer"), "{}", refused.head);
            let health = HttpAgent { port }.get("/healthz").answer();
            assert_eq!(health["requires_token"], true);
            drop(server.process.kill());
            let log = server.whole_log().join("\n");
            assert!(!log.contains(&token), "the token is in the log");
        }),
        ("a_token_that_others_can_read_is_not_used", |_| {
            let scratch = Scratch::new("open-token");
            let file = scratch.0.join("token");
            std::fs::write(&file, "0123456789abcdef0123456789abcdef0123456789abcdef").unwrap();
            #[cfg(unix)]
            {
                use std::os::unix::fs::PermissionsExt as _;

                std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
                let mut server =
                    Server::start_with(&["--port", "0", "--require-token"], |command| {
                        command.env(TOKEN_FILE, &file);
                    });
                let (_, ended) = server.wait_for_end();
                assert_eq!(ended.code(), Some(2));
                let log = server.whole_log().join("\n");
                assert!(log.contains("can be read by others") && log.contains("0600"), "{log}");
            }
            let (code, _, complaint) = run(&["--require-token=maybe"], &scratch.0);
            assert!(code == 2 && complaint.contains("true or false"), "{complaint}");
        }),
        #[cfg(target_os = "linux")]
        ("another_user_is_refused", |bench| {
            let port = bench.port;
            let said = shell_of_another_user(&format!(
                "exec 3<>/dev/tcp/127.0.0.1/{port}; printf 'GET /healthz HTTP/1.1\\r\\nhost: 127.0.0.1:{port}\\r\\n\\r\\n' >&3; cat <&3"
            ));
            let Some(said) = said else { return };
            assert!(said.starts_with("HTTP/1.1 403"), "{said:?}");
            assert!(said.contains("belongs to another user"), "{said:?}");
        }),
        #[cfg(target_os = "linux")]
        ("another_user_who_has_left_is_not_taken_for_root", |bench| {
            let port = bench.port;
            let body =
                r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run_tests"}}"#;
            // The start of a second request hides that the connection is closed.
            let request = format!(
                "POST /mcp HTTP/1.1\\r\\nhost: 127.0.0.1:{port}\\r\\ncontent-type: application/json\\r\\naccept: application/json, text/event-stream\\r\\ncontent-length: {}\\r\\n\\r\\n{body}GET / HTTP/1.1\\r\\n",
                body.len()
            );
            let mut socket = session(bench, "ready");
            bench.server.signal("-STOP"); // It handles the request after the other user has left.
            let said = shell_of_another_user(&format!(
                "exec 3<>/dev/tcp/127.0.0.1/{port}; printf '{request}' >&3; exec 3>&-; sleep 0.3" // By then the kernel has forgotten the user of the socket.
            ));
            bench.server.signal("-CONT");
            if said.is_none() {
                return;
            }
            for _ in 0..5 {
                let call = HttpAgent { port }.call("read_console", &json!({}));
                let execute = next(&mut socket);
                assert_eq!(execute["type"], "execute", "nothing else reached Unity");
                let (id, result) =
                    (&execute["request_id"], json!({ "entries": [], "truncated": false }));
                say(
                    &mut socket,
                    &json!({ "type": "result", "request_id": id, "status": "ok", "result": result }),
                );
                call.read();
            }
        }),
        #[cfg(target_os = "linux")]
        ("another_user_is_not_let_in_when_the_last_descriptor_is_taken", |bench| {
            let pid = bench.server.process.id().to_string();
            let limit = |files: usize| {
                let tool = Command::new("prlimit")
                    .args(["--pid", &pid, &format!("--nofile={files}:")])
                    .status();
                assert!(tool.unwrap().success());
            };
            let port = bench.port;
            let taken = |number: &usize| {
                std::fs::symlink_metadata(format!("/proc/{pid}/fd/{number}")).is_ok()
            };
            for _ in 0..3 {
                // One descriptor for the connection, none for the list of socket owners.
                limit((0..).filter(|number| !taken(number)).nth(1).unwrap());
                let said = shell_of_another_user(&format!(
                    "exec 3<>/dev/tcp/127.0.0.1/{port}; printf 'GET /healthz HTTP/1.1\\r\\nhost: 127.0.0.1:{port}\\r\\n\\r\\n' >&3; timeout 2 cat <&3"
                ));
                limit(1_024);
                assert!(!said.unwrap_or_default().contains("instance_id"));
            }
        }),
        #[cfg(target_os = "linux")]
        ("another_user_who_takes_the_port_is_shown_nothing", |_| {
            // Sometimes the relay gets the port first.
            assert!((0..5).any(|_| let_another_user_take_the_port()));
        }),
        ("a_flood_of_refusals_does_not_fill_the_log", |bench| {
            let requests = "GET /mcp HTTP/1.1\r\nhost: evil.com\r\n\r\n".repeat(100);
            let mut stream = bench.connect();
            for _ in 0..200 {
                stream.write_all(requests.as_bytes()).unwrap();
                let mut answers = 0;
                let mut read = [0; 16_384];
                while answers < 100 {
                    let length = stream.read(&mut read).unwrap();
                    assert_ne!(length, 0, "the connection was closed");
                    answers += read[..length].windows(4).filter(|four| four == b"HTTP").count();
                }
            }
            bench.log_lines_max = 2_500;
        }),
    ];
    cases.iter().map(|(name, run)| Case::new(*name, run)).collect()
}
