//! The upgrade of `/unity`, and sockets that stay silent.

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::bench::{Bench, dial, say};
use crate::{Attack, Case};

/// An upgrade with these header lines added.
fn upgrade(bench: &Bench, more: &str) -> u16 {
    let request = format!(
        "GET /unity HTTP/1.1\r\nhost: 127.0.0.1:{}\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n{more}\r\n",
        bench.port
    );
    bench.status_of(request.as_bytes())
}

/// Name, header lines, status.
const HEADS: &[(&str, &str, u16)] = &[
    ("a_plugin_is_let_in", "", 101),
    ("a_web_page", "origin: http://evil.com\r\n", 403),
    ("a_web_page_of_nowhere", "origin: null\r\n", 403),
    ("a_web_page_of_this_machine", "origin: http://localhost\r\n", 403),
    ("a_browser_without_an_origin", "sec-fetch-mode: websocket\r\n", 403),
    ("a_browser_that_says_where", "Sec-Fetch-Site: cross-site\r\n", 403),
    ("a_second_host", "host: evil.com\r\n", 400),
];

#[expect(clippy::too_many_lines, reason = "one flat table")]
pub(crate) fn cases() -> Vec<Case> {
    let heads = HEADS.iter().map(|(name, head, expected)| {
        Case::new(*name, move |bench: &mut Bench| assert_eq!(upgrade(bench, head), *expected))
    });
    let others: [Attack; 8] = [
        ("an_upgrade_of_another_path", |bench| {
            let request = format!(
                "GET /mcp HTTP/1.1\r\nhost: 127.0.0.1:{}\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
                bench.port
            );
            assert_eq!(bench.status_of(request.as_bytes()), 405);
        }),
        ("an_old_version_of_the_protocol", |bench| {
            let request = format!(
                "GET /unity HTTP/1.1\r\nhost: 127.0.0.1:{}\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 8\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
                bench.port
            );
            assert_eq!(bench.status_of(request.as_bytes()), 426);
        }),
        ("compression_is_never_agreed_on", |bench| {
            let request = format!(
                "GET /unity HTTP/1.1\r\nhost: 127.0.0.1:{}\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nsec-websocket-extensions: permessage-deflate\r\n\r\n",
                bench.port
            );
            let mut stream = bench.connect();
            stream.write_all(request.as_bytes()).unwrap();
            let mut head = [0; 512];
            let read = stream.read(&mut head).unwrap();
            let head = String::from_utf8_lossy(&head[..read]).to_ascii_lowercase();
            assert!(head.starts_with("http/1.1 101") && !head.contains("deflate"), "{head}");
        }),
        ("silent_sockets_give_way_to_an_editor", |bench| {
            bench.end_editor();
            let silent: Vec<_> = (0..100).map(|_| dial(bench.port)).collect();
            let began = Instant::now();
            bench.start_editor();
            bench.call();
            assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
            drop(silent);
        }),
        ("an_editor_that_is_slow_to_say_hello_gets_in_beside_silent_sockets", |bench| {
            bench.end_editor();
            let mut socket = dial(bench.port);
            let silent: Vec<_> = (0..30).map(|_| dial(bench.port)).collect();
            say(&mut socket, &json!({ "type": "hello", "plugin_version": "1", "state": "ready" }));
            bench.agent.as_mut().unwrap().wait_for("connected", true);
            drop(silent);
        }),
        ("a_socket_without_a_hello_is_closed", |bench| {
            let mut socket = dial(bench.port);
            let began = Instant::now();
            while socket.read().is_ok() {}
            assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
        }),
        ("a_stranger_does_not_take_the_place_of_an_editor", |bench| {
            for _ in 0..20 {
                let mut socket = dial(bench.port);
                say(
                    &mut socket,
                    &json!({ "type": "hello", "plugin_version": "9", "state": "ready", "editor_instance_id": "thief" }),
                );
                let refusal = socket.read().map(|message| message.to_string()).unwrap_or_default();
                assert!(refusal.contains("already active"), "{refusal}");
            }
        }),
        ("a_hello_with_endless_names", |bench| {
            bench.end_editor();
            let mut socket = dial(bench.port);
            let name = "n".repeat(50_000);
            say(
                &mut socket,
                &json!({
                    "type": "hello", "plugin_version": name, "state": "ready", "editor_instance_id": name,
                }),
            );
            socket.read().unwrap();
            let agent = bench.agent.as_mut().unwrap();
            let state = agent.run("get_editor_state", json!({})).unwrap();
            assert!(state.to_string().len() < 2_000, "{} bytes", state.to_string().len());
        }),
    ];
    heads.chain(others.map(|(name, run)| Case::new(name, run))).collect()
}
