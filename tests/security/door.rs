//! HTTP: what the server rejects before it processes anything, and how long a peer may hold a connection.

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::bench::{Bench, say, status};
use crate::wire::{large_job, next, session};
use crate::{Attack, Case};

const JSON: &str =
    "content-type: application/json\r\naccept: application/json, text/event-stream\r\n";

/// A call of `get_editor_state` with these header lines.
fn post(path: &str, head: &str, port: u16) -> Vec<u8> {
    let body = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "get_editor_state" },
    });
    post_body(path, head, port, body.to_string().as_bytes())
}

fn post_body(path: &str, head: &str, port: u16, body: &[u8]) -> Vec<u8> {
    let head = head.replace("PORT", &port.to_string());
    let length = body.len();
    let mut request = format!(
        "POST {path} HTTP/1.1\r\n{head}{JSON}content-length: {length}\r\nconnection: close\r\n\r\n"
    )
    .into_bytes();
    request.extend_from_slice(body);
    request
}

const HOST: &str = "host: 127.0.0.1:PORT\r\n";

/// Name, header lines, status.
const HEADS: &[(&str, &str, u16)] = &[
    ("the_own_name_is_let_in", "host: 127.0.0.1:PORT\r\n", 200),
    ("localhost_is_let_in", "host: localhost:PORT\r\n", 200),
    ("the_loopback_of_version_6_is_let_in", "host: [::1]:PORT\r\n", 200),
    ("no_host", "", 400),
    ("two_hosts", "host: 127.0.0.1:PORT\r\nhost: 127.0.0.1:PORT\r\n", 400),
    ("a_second_host_that_is_evil", "host: 127.0.0.1:PORT\r\nhost: evil.com\r\n", 400),
    ("a_host_that_is_rebound", "host: evil.com:PORT\r\n", 403),
    ("a_host_without_port", "host: 127.0.0.1\r\n", 403),
    ("a_host_with_another_port", "host: 127.0.0.1:9\r\n", 403),
    ("a_host_of_nip_io", "host: 127.0.0.1.nip.io:PORT\r\n", 403),
    ("every_address_as_host", "host: 0.0.0.0:PORT\r\n", 403),
    ("a_user_before_the_host", "host: evil.com@localhost:PORT\r\n", 403),
    ("an_origin", "host: 127.0.0.1:PORT\r\norigin: http://evil.com\r\n", 403),
    ("a_null_origin", "host: 127.0.0.1:PORT\r\norigin: null\r\n", 403),
    ("an_empty_origin", "host: 127.0.0.1:PORT\r\norigin:\r\n", 403),
    ("the_own_origin", "host: 127.0.0.1:PORT\r\norigin: http://127.0.0.1:PORT\r\n", 403),
    ("an_origin_of_localhost", "host: 127.0.0.1:PORT\r\norigin: http://localhost:PORT\r\n", 403),
    ("two_origins", "host: 127.0.0.1:PORT\r\norigin: http://a\r\norigin: http://b\r\n", 403),
];

#[expect(clippy::too_many_lines, reason = "one flat table")]
pub(crate) fn cases() -> Vec<Case> {
    let heads = HEADS.iter().map(|(name, head, expected)| {
        Case::new(*name, move |bench: &mut Bench| {
            assert_eq!(bench.status_of(&post("/mcp", head, bench.port)), *expected);
        })
    });
    let others: [Attack; 25] = [
        ("an_origin_that_is_not_text", |bench| {
            let mut request = post("/mcp", "host: 127.0.0.1:PORT\r\norigin: X\r\n", bench.port);
            let at = request.windows(2).position(|two| two == b"X\r").unwrap();
            request[at] = 0xff;
            assert_eq!(bench.status_of(&request), 403);
        }),
        ("a_preflight_gets_no_permission", |bench| {
            let request = format!(
                "OPTIONS /mcp HTTP/1.1\r\nhost: 127.0.0.1:{}\r\naccess-control-request-method: POST\r\nconnection: close\r\n\r\n",
                bench.port
            );
            let mut stream = bench.connect();
            stream.write_all(request.as_bytes()).unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            assert!(answer.starts_with("HTTP/1.1 405"), "{answer}");
            assert!(!answer.to_ascii_lowercase().contains("access-control"), "{answer}");
        }),
        ("a_preflight_of_a_web_page", |bench| {
            let request = format!(
                "OPTIONS /mcp HTTP/1.1\r\nhost: 127.0.0.1:{}\r\norigin: http://evil.com\r\n\r\n",
                bench.port
            );
            assert_eq!(bench.status_of(request.as_bytes()), 403);
        }),
        ("an_absolute_target", |bench| {
            let request = post("http://evil.com/mcp", HOST, bench.port);
            assert_eq!(bench.status_of(&request), 400);
        }),
        ("a_connect_through_it", |bench| {
            let request =
                format!("CONNECT evil.com:443 HTTP/1.1\r\nhost: 127.0.0.1:{}\r\n\r\n", bench.port);
            assert_eq!(bench.status_of(request.as_bytes()), 400);
        }),
        ("a_get_has_no_effect_anywhere", |bench| {
            for path in [
                "/index.html",
                "/mcp",
                "/mcp?shutdown",
                "/shutdown",
                "/kill?now=1",
                "/unity",
                "/healthz/../mcp",
                "//mcp",
            ] {
                let request = format!(
                    "GET {path} HTTP/1.1\r\nhost: 127.0.0.1:{}\r\nconnection: close\r\n\r\n",
                    bench.port
                );
                let status = bench.status_of(request.as_bytes());
                assert!(matches!(status, 404 | 405 | 426), "{path}: {status}");
            }
        }),
        ("a_simple_post_of_a_web_page", |bench| {
            let port = bench.port;
            let request = format!(
                "POST /mcp HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\norigin: http://evil.com\r\ncontent-type: text/plain\r\ncontent-length: 2\r\n\r\n{{}}"
            );
            assert_eq!(bench.status_of(request.as_bytes()), 403);
            let without_origin = request.replace("origin: http://evil.com\r\n", "");
            assert!(matches!(bench.status_of(without_origin.as_bytes()), 400 | 406 | 415));
        }),
        ("half_a_head_is_not_waited_for", |bench| {
            let began = Instant::now();
            let mut stream = bench.connect();
            stream.write_all(b"POST /mcp HTTP/1.1\r\nhost: 127").unwrap();
            assert_eq!(stream.read(&mut [0; 512]).unwrap_or_default(), 0);
            assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
        }),
        ("a_head_that_dribbles_is_not_waited_for", |bench| {
            let began = Instant::now();
            let mut stream = bench.connect();
            stream.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
            while began.elapsed() < Duration::from_secs(20) {
                if stream.write_all(b"x").is_err()
                    || stream.read(&mut [0; 64]).is_ok_and(|read| read == 0)
                {
                    break;
                }
            }
            assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
        }),
        ("a_body_that_does_not_come_is_not_waited_for", |bench| {
            let began = Instant::now();
            let mut stream = bench.connect();
            let request = String::from_utf8(post("/mcp", HOST, bench.port)).unwrap();
            let (head, body) = request.split_once("\r\n\r\n").unwrap();
            write!(stream, "{head}\r\n\r\n{}", &body[..5]).unwrap();
            assert_eq!(status(&mut stream), 408);
            assert!(began.elapsed() < Duration::from_secs(14), "{:?}", began.elapsed());
        }),
        ("a_head_without_end", |bench| {
            let mut stream = bench.connect();
            let line = format!("x-long: {}\r\n", "a".repeat(8_000));
            let mut sent = b"POST /mcp HTTP/1.1\r\n".to_vec();
            (0..40).for_each(|_| sent.extend_from_slice(line.as_bytes()));
            stream.write_all(&sent).unwrap_or_default();
            assert!(matches!(status(&mut stream), 0 | 400 | 431));
        }),
        ("a_thousand_header_lines", |bench| {
            let head = format!("{HOST}{}", "a: b\r\n".repeat(1_000));
            assert!(matches!(bench.status_of(&post("/mcp", &head, bench.port)), 0 | 400 | 431));
        }),
        ("a_body_over_the_limit", |bench| {
            let body = vec![b' '; 1024 * 1024 + 1];
            assert_eq!(bench.status_of(&post_body("/mcp", HOST, bench.port, &body)), 413);
        }),
        ("a_body_that_says_it_is_huge", |bench| {
            let mut stream = bench.connect();
            write!(
                stream,
                "POST /mcp HTTP/1.1\r\nhost: 127.0.0.1:{}\r\n{JSON}content-length: 99999999999\r\n\r\n{{}}",
                bench.port
            )
            .unwrap();
            assert!(matches!(status(&mut stream), 408 | 413));
        }),
        ("many_large_bodies_at_once", |bench| {
            let body = vec![b' '; 1024 * 1024];
            let request = post_body("/mcp", HOST, bench.port, &body);
            let half = request.len() - 10;
            let mut streams: Vec<_> = (0..100).map(|_| bench.connect()).collect();
            for stream in &mut streams {
                stream.set_write_timeout(Some(Duration::from_millis(300))).unwrap();
                stream.write_all(&request[..half]).unwrap_or_default();
            }
        }),
        ("bodies_in_pieces_of_one_byte", |bench| {
            let head = format!(
                "POST /mcp HTTP/1.1\r\nhost: 127.0.0.1:{}\r\n{JSON}transfer-encoding: chunked\r\n\r\n",
                bench.port
            );
            let pieces = "1\r\n \r\n".repeat(60_000);
            let mut streams: Vec<_> = (0..30).map(|_| bench.connect()).collect();
            for stream in &mut streams {
                stream.set_write_timeout(Some(Duration::from_millis(500))).unwrap();
                stream.write_all(head.as_bytes()).unwrap();
                stream.write_all(pieces.as_bytes()).unwrap_or_default();
            }
        }),
        ("arrays_in_arrays_without_end", |bench| {
            for body in [
                format!(
                    "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{{\"name\":\"read_console\",\"arguments\":{{\"types\":[{}1]}}}}}}",
                    "[],".repeat(300_000)
                ),
                format!(
                    "{{\"jsonrpc\":\"2.0\",\"id\":1,\"params\":{}{}}}",
                    "[".repeat(400_000),
                    "]".repeat(400_000)
                ),
                format!("{{{}\"id\":1}}", "\"a\":0,".repeat(150_000)),
            ] {
                let began = Instant::now();
                assert_eq!(
                    bench.status_of(&post_body("/mcp", HOST, bench.port, body.as_bytes())),
                    400
                );
                assert!(began.elapsed() < Duration::from_millis(500), "{:?}", began.elapsed());
            }
        }),
        ("a_batch_of_ten_thousand", |bench| {
            let one = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"},";
            let body = format!("[{}{{}}]", one.repeat(10_000));
            assert_eq!(bench.status_of(&post_body("/mcp", HOST, bench.port, body.as_bytes())), 400);
        }),
        ("a_thousand_silent_connections", |bench| {
            let silent: Vec<_> = (0..1_000).map(|_| bench.connect()).collect();
            let took = bench.call();
            assert!(took < Duration::from_secs(1), "{took:?} with {} silent ones", silent.len());
        }),
        ("answers_that_nobody_reads", |bench| {
            // Asks for the list of tools repeatedly on one connection.
            let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {} })
                .to_string();
            let request = format!(
                "POST /mcp HTTP/1.1\r\nhost: 127.0.0.1:{}\r\n{JSON}content-length: {}\r\n\r\n{body}",
                bench.port,
                body.len()
            );
            let mut streams: Vec<_> = (0..40).map(|_| bench.connect_narrowly()).collect();
            for stream in &mut streams {
                stream.set_write_timeout(Some(Duration::from_millis(100))).unwrap();
                while stream.write_all(request.as_bytes()).is_ok() {}
            }
            let took = bench.call();
            assert!(took < Duration::from_secs(1), "{took:?}");
        }),
        ("large_answers_that_nobody_reads", |bench| {
            let mut socket = session(bench, "ready");
            let arguments = json!({ "job_id": large_job(bench.port, &mut socket) });
            let call = json!({ "name": "get_job_status", "arguments": arguments });
            let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call });
            let request = post_body("/mcp", HOST, bench.port, body.to_string().as_bytes());
            let mut streams: Vec<_> = (0..176).map(|_| bench.connect_narrowly()).collect();
            streams.iter_mut().for_each(|stream| stream.write_all(&request).unwrap());
            // Wait until the server has started all answers that it makes at once.
            streams.iter().rev().take(60).for_each(|stream| assert!(stream.peek(&mut [0]).is_ok()));
            bench.agent.as_mut().unwrap().run("get_editor_state", json!({})).unwrap();
        }),
        ("calls_whose_agents_have_left_do_not_wait_behind_a_byte_too_many", |bench| {
            let mut socket = session(bench, "compiling");
            let call = json!({ "name": "run_tests", "arguments": {} });
            let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call });
            let mut request = post_body("/mcp", HOST, bench.port, body.to_string().as_bytes());
            request.push(b'G'); // The start of another request.
            let streams: Vec<_> = (0..10)
                .map(|_| {
                    let mut stream = bench.connect();
                    stream.write_all(&request).unwrap();
                    stream
                })
                .collect();
            let agent = bench.agent.as_mut().unwrap();
            agent.wait_for("queue_length", 10);
            drop(streams);
            let began = Instant::now();
            agent.wait_for("queue_length", 0);
            assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
            say(&mut socket, &json!({ "type": "editor_status", "state": "ready", "seq": 1 }));
            agent.wait_for("editor_state", "ready");
            let call = agent.call("read_console", json!({}));
            let execute = next(&mut socket);
            assert_eq!(execute["type"], "execute", "nothing else reached Unity");
            agent.cancel(call);
        }),
        ("a_body_with_two_lengths_is_read_in_one_way", |bench| {
            let port = bench.port;
            let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}"#;
            let request = format!(
                "POST /mcp HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\n{JSON}content-length: 4\r\ntransfer-encoding: chunked\r\n\r\n{:x}\r\n{body}\r\n0\r\n\r\nGET /nowhere HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nconnection: close\r\n\r\n",
                body.len()
            );
            let mut stream = bench.connect();
            stream.write_all(request.as_bytes()).unwrap();
            let mut answers = String::new();
            stream.read_to_string(&mut answers).unwrap();
            let answers: Vec<&str> =
                answers.split("HTTP/1.1 ").skip(1).map(|answer| &answer[..3]).collect();
            assert_eq!(answers, ["200"], "the bytes after it are not a request");
        }),
        ("labels_that_are_too_long_to_be_said_again", |bench| {
            let long = "x".repeat(1_000_000);
            for (id, token) in [(&*long, "p"), ("1", &*long)] {
                let meta = json!({ "progressToken": token });
                let params = json!({ "name": "read_console", "_meta": meta });
                let body =
                    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
                let request = post_body("/mcp", HOST, bench.port, body.to_string().as_bytes());
                assert_eq!(bench.status_of(&request), 400);
            }
        }),
        ("heads_without_bodies_keep_no_editor_out", |bench| {
            bench.end_editor();
            let head = format!(
                "POST /mcp HTTP/1.1\r\nhost: 127.0.0.1:{}\r\n{JSON}content-length: 100\r\n\r\n",
                bench.port
            );
            let mut streams: Vec<_> = (0..140).map(|_| bench.connect()).collect();
            // The server may have dropped the first ones.
            streams
                .iter_mut()
                .for_each(|stream| stream.write_all(head.as_bytes()).unwrap_or_default());
            let began = Instant::now();
            bench.start_editor();
            bench.call();
            assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
        }),
    ];
    heads.chain(others.map(|(name, run)| Case::new(name, run))).collect()
}
