//! WebSocket frames that no library would send.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use crate::bench::Bench;
use crate::{Attack, Case};

/// A WebSocket after its upgrade.
fn open(bench: &Bench) -> TcpStream {
    upgrade(bench, bench.connect())
}

fn upgrade(bench: &Bench, mut stream: TcpStream) -> TcpStream {
    write!(
        stream,
        "GET /unity HTTP/1.1\r\nhost: 127.0.0.1:{}\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
        bench.port
    )
    .unwrap();
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    assert!(head.starts_with(b"HTTP/1.1 101"));
    stream
}

/// A frame with a mask of zeros, so that its payload stays readable.
fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![first];
    match payload.len() {
        length @ 0..126 => frame.push(0x80 | u8::try_from(length).unwrap()),
        length @ 126..65_536 => {
            frame.push(0x80 | 126);
            frame.extend_from_slice(&u16::try_from(length).unwrap().to_be_bytes());
        }
        length => {
            frame.push(0x80 | 127);
            frame.extend_from_slice(&(length as u64).to_be_bytes());
        }
    }
    frame.extend_from_slice(&[0; 4]);
    frame.extend_from_slice(payload);
    frame
}

/// The code of the first close frame; 0 if there is none.
fn close_code(stream: &mut TcpStream) -> u16 {
    let mut head = [0; 2];
    while stream.read_exact(&mut head).is_ok() {
        let mut length = u64::from(head[1] & 0x7f);
        if length == 126 {
            let mut long = [0; 2];
            stream.read_exact(&mut long).unwrap();
            length = u64::from(u16::from_be_bytes(long));
        }
        let mut payload = vec![0; usize::try_from(length).unwrap()];
        if stream.read_exact(&mut payload).is_err() {
            return 0;
        }
        if head[0] & 0x0f == 8 {
            return if payload.len() < 2 {
                1005
            } else {
                u16::from_be_bytes([payload[0], payload[1]])
            };
        }
    }
    0
}

fn sends(bench: &Bench, bytes: &[u8]) -> u16 {
    let mut stream = open(bench);
    stream.write_all(bytes).unwrap_or_default();
    close_code(&mut stream)
}

fn unmasked() -> Vec<u8> {
    vec![0x81, 2, b'{', b'}']
}

fn large_head(declared: u64) -> Vec<u8> {
    let mut head = vec![0x81, 0x80 | 127];
    head.extend_from_slice(&declared.to_be_bytes());
    head.extend_from_slice(&[0; 4]);
    head
}

const HELLO: &[u8] =
    br#"{"type":"hello","protocol_version":1,"plugin_version":"1","state":"ready"}"#;

/// Name, bytes, code of the close.
type Row = (&'static str, fn() -> Vec<u8>, u16);

const ROWS: &[Row] = &[
    ("a_frame_without_a_mask", unmasked, 1002),
    ("a_reserved_bit", || frame(0x81 | 0x40, b"{}"), 1002),
    ("a_reserved_opcode", || frame(0x83, b"{}"), 1002),
    ("a_reserved_control_opcode", || frame(0x8b, b""), 1002),
    ("a_continuation_of_nothing", || frame(0x80, b"{}"), 1002),
    ("a_new_text_inside_of_a_text", || [frame(0x01, b"{"), frame(0x81, b"{}")].concat(), 1002),
    ("a_ping_that_is_too_long", || frame(0x89, &[b'p'; 126]), 1002),
    ("a_ping_in_pieces", || frame(0x09, b"p"), 1002),
    ("a_close_of_one_byte", || frame(0x88, b"x"), 1002),
    ("a_close_with_a_code_that_is_not_allowed", || frame(0x88, &1005_u16.to_be_bytes()), 1002),
    ("text_that_is_not_text", || frame(0x81, b"\xff\xfe"), 1007),
    ("text_that_is_not_text_in_its_first_piece", || frame(0x01, b"\xff\xfe"), 1007),
    ("a_binary_frame", || frame(0x82, b"{}"), 1003),
    ("a_frame_over_the_limit", || frame(0x81, &vec![b' '; 1024 * 1024 + 1]), 1009),
    ("a_frame_that_says_it_is_huge", || large_head(1 << 40), 1009),
    ("a_frame_that_says_it_is_impossible", || large_head(u64::MAX), 1009),
    ("a_close_is_answered", || frame(0x88, &1000_u16.to_be_bytes()), 1000),
];

#[expect(clippy::too_many_lines, reason = "one flat table")]
pub(crate) fn cases() -> Vec<Case> {
    let rows = ROWS.iter().map(|(name, bytes, code)| {
        Case::new(*name, move |bench: &mut Bench| assert_eq!(sends(bench, &bytes()), *code))
    });
    let others: [Attack; 11] = [
        ("a_hello_in_a_thousand_pieces_is_understood", |bench| {
            bench.end_editor();
            let mut bytes = frame(0x01, &HELLO[..1]);
            HELLO[1..].iter().for_each(|byte| bytes.extend(frame(0x00, &[*byte])));
            (0..1_000).for_each(|_| bytes.extend(frame(0x00, b"")));
            bytes.extend(frame(0x89, b"ping"));
            bytes.extend(frame(0x80, b""));
            let mut stream = open(bench);
            stream.write_all(&bytes).unwrap();
            bench.agent.as_mut().unwrap().wait_for("connected", true);
        }),
        ("pieces_that_are_too_much_together", |bench| {
            bench.end_editor();
            let mut stream = open(bench);
            stream.write_all(&frame(0x81, HELLO)).unwrap();
            let piece = vec![b' '; 400_000];
            let pieces = [frame(0x01, &piece), frame(0x00, &piece), frame(0x80, &piece)].concat();
            stream.write_all(&pieces).unwrap_or_default();
            assert_eq!(close_code(&mut stream), 1009);
        }),
        ("more_than_a_hello_before_the_hello", |bench| {
            // The server stops reading, and closes the socket because no hello arrived.
            let mut stream = open(bench);
            stream.write_all(&frame(0x81, &vec![b' '; 200_000])).unwrap_or_default();
            assert_eq!(close_code(&mut stream), 1008);
            stream.write_all(&frame(0x88, b"")).unwrap();
            assert_eq!(stream.read(&mut [0]).unwrap(), 0, "a clean end, not a reset");
        }),
        ("sockets_that_are_being_closed_do_not_take_the_editors_goodbye", |bench| {
            bench.end_editor();
            let mut editor = open(bench);
            editor.write_all(&frame(0x81, HELLO)).unwrap();
            bench.agent.as_mut().unwrap().wait_for("connected", true);
            let binary = frame(0x82, b"x");
            let mut strangers: Vec<_> = (0..4).map(|_| open(bench)).collect();
            for stranger in &mut strangers {
                stranger.write_all(&binary).unwrap();
                assert_eq!(close_code(stranger), 1003);
            }
            editor.write_all(&binary).unwrap();
            assert_eq!(close_code(&mut editor), 1003);
            drop(strangers);
        }),
        ("twenty_thousand_pings", |bench| {
            let mut stream = open(bench);
            let pings = frame(0x89, b"p").repeat(1_000);
            (0..20).for_each(|_| stream.write_all(&pings).unwrap_or_default());
        }),
        ("pings_whose_pongs_nobody_reads", |bench| {
            let mut stream = open(bench);
            stream.set_write_timeout(Some(Duration::from_millis(200))).unwrap();
            let pings = frame(0x89, &[b'p'; 125]).repeat(1_000);
            for _ in 0..200 {
                if stream.write_all(&pings).is_err() {
                    break;
                }
            }
        }),
        ("eight_sockets_with_half_a_message_each", |bench| {
            let mut streams: Vec<_> = (0..8).map(|_| open(bench)).collect();
            let piece = vec![b' '; 1_000_000];
            for stream in &mut streams {
                stream.write_all(&frame(0x01, &piece)).unwrap_or_default();
            }
        }),
        ("small_maps_on_many_sockets_without_a_hello", |bench| {
            let junk = format!("[{}0]", r#"{"":0},"#.repeat(18_000));
            let text = format!(
                r#"{{"type":"result","protocol_version":1,"request_id":"r","status":"ok","result":{junk}}}"#
            );
            let whole = frame(0x81, text.as_bytes());
            let (last, most) = whole.split_last().unwrap();
            let mut streams: Vec<_> = (0..32).map(|_| open(bench)).collect();
            streams.iter_mut().for_each(|stream| stream.write_all(most).unwrap());
            streams.iter_mut().for_each(|stream| stream.write_all(&[*last]).unwrap_or_default());
            streams
                .iter_mut()
                .for_each(|stream| while stream.read(&mut [0]).is_ok_and(|read| read > 0) {});
        }),
        ("sockets_that_are_closed_and_do_not_read", |bench| {
            let pings = frame(0x89, &[b'p'; 125]).repeat(800);
            let half = frame(0x01, &vec![b' '; 100_000]);
            let mut streams = Vec::new();
            for _ in 0..300 {
                let mut stream = upgrade(bench, bench.connect_narrowly());
                stream.set_write_timeout(Some(Duration::from_millis(100))).unwrap();
                stream.write_all(&pings).unwrap_or_default();
                stream.write_all(&frame(0x81, b"nonsense")).unwrap_or_default();
                stream.write_all(&half).unwrap_or_default();
                streams.push(stream);
            }
            assert!(bench.count_descriptors().is_none_or(|open| open < 120));
        }),
        ("an_editor_that_comes_again_and_again_and_does_not_read", |bench| {
            bench.end_editor();
            let pings = frame(0x89, &[b'p'; 125]).repeat(3_000);
            let half = frame(0x01, &vec![b' '; 1_000_000]);
            let mut streams = Vec::new();
            for attempt in 1..=60 {
                let hello = format!(
                    r#"{{"type":"hello","protocol_version":1,"plugin_version":"1","state":"ready","editor_instance_id":"again","connect_attempt_seq":{attempt}}}"#
                );
                let mut stream = upgrade(bench, bench.connect_narrowly());
                stream.set_write_timeout(Some(Duration::from_millis(100))).unwrap();
                stream.write_all(&frame(0x81, hello.as_bytes())).unwrap();
                stream.write_all(&pings).unwrap_or_default();
                stream.write_all(&half).unwrap_or_default();
                streams.push(stream);
            }
            assert!(bench.count_descriptors().is_none_or(|open| open < 60));
        }),
        ("half_messages_on_sockets_that_give_way", |bench| {
            let half = frame(0x01, &vec![b' '; 1_040_000]);
            let mut streams = Vec::new();
            for _ in 0..80 {
                let mut stream = open(bench);
                stream.write_all(&half).unwrap_or_default();
                streams.push(stream);
            }
        }),
    ];
    rows.chain(others.map(|(name, run)| Case::new(name, run))).collect()
}
