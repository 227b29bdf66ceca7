//! The process: who may speak with it, what it says of its surroundings, how much it writes.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use serde_json::json;

use crate::agent::HttpAgent;
use crate::harness::{Scratch, Server, run};
use crate::{Attack, Case};

const TOKEN_FILE: &str = "UNITY_MCP_TOKEN_FILE";

/// The status of a call with this line in its head.
fn call(port: u16, line: &str) -> u16 {
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "get_editor_state" } });
    let head = format!(
        "host: 127.0.0.1:{port}\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\n{line}mcp-test: 1"
    );
    HttpAgent { port }.raw("POST /mcp HTTP/1.1", &head, &body.to_string()).status
}

#[expect(clippy::too_many_lines, reason = "one flat table")]
pub(crate) fn cases() -> Vec<Case> {
    let cases: [Attack; 5] = [
        ("the_other_loopback_that_is_taken_is_said_loudly", |_| {
            let other = TcpListener::bind("[::1]:0");
            let Ok(other) = other else { return }; // A machine without version 6.
            let port = other.local_addr().unwrap().port();
            let mut server = Server::start_with(&["--port", &port.to_string()], |_| {});
            let line = server.wait_for_line("[::1]");
            assert!(line.contains("WARN") && line.contains("is held by another program"), "{line}");
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
        ("another_user_is_refused", |bench| {
            #[cfg(target_os = "linux")]
            {
                use std::os::unix::process::CommandExt as _;

                let script = format!(
                    "exec 3<>/dev/tcp/127.0.0.1/{}; printf 'GET /healthz HTTP/1.1\\r\\nhost: x\\r\\n\\r\\n' >&3; head -1 <&3",
                    bench.port
                );
                let mut shell = std::process::Command::new("bash");
                // Only root can be somebody else.
                let Ok(output) = shell.args(["-c", &script]).current_dir("/").uid(65_534).output()
                else {
                    return;
                };
                let said = String::from_utf8_lossy(&output.stdout).into_owned();
                assert!(said.starts_with("HTTP/1.1 403"), "{said:?}");
            }
            bench.call();
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
    cases.map(|(name, run)| Case::new(name, run)).into()
}
