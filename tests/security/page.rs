//! The page: viewers that do not read, too many of them, and texts of Unity.

use std::time::{Duration, Instant};

use harness::viewer::Viewer;
use serde_json::json;

use crate::Case;
use crate::bench::Bench;

/// Longer than it takes to fill the buffers of the system.
const DROPPED_MAX: Duration = Duration::from_secs(60);

/// Calls that are answered at once, one after the other. Returns the slowest.
fn call(bench: &mut Bench, calls: usize) -> Duration {
    let agent = bench.agent.as_mut().unwrap();
    let times = (0..calls).map(|_| {
        let began = Instant::now();
        agent.run("get_editor_state", json!({})).unwrap();
        began.elapsed()
    });
    times.max().unwrap()
}

pub(crate) fn cases() -> Vec<Case> {
    vec![
        Case::new("a_viewer_that_does_not_read_is_dropped_and_holds_up_no_call", |bench| {
            let stuck = Viewer::over(bench.connect_narrowly(), bench.port, "");
            assert_eq!(stuck.status(), 200);
            let began = Instant::now();
            let mut calls = 0;
            loop {
                let slowest = call(bench, 1_000);
                calls += 1_000;
                assert!(slowest < Duration::from_secs(1), "a call took {slowest:?}");
                let others = [Viewer::open(bench.port, ""), Viewer::open(bench.port, "")];
                if calls >= 20_000 && others.iter().all(|viewer| viewer.status() == 200) {
                    break;
                }
                assert!(began.elapsed() < DROPPED_MAX, "the viewer is not dropped");
            }
        }),
        Case::new("viewers_that_come_and_go_leave_nothing_behind", |bench| {
            for _ in 0..500 {
                Viewer::open(bench.port, "").status();
            }
        }),
        Case::new("a_flood_of_viewers_keeps_out_no_call", |bench| {
            let viewers: Vec<_> = (0..300).map(|_| bench.connect_narrowly()).collect();
            for mut stream in &viewers {
                use std::io::Write as _;
                let head =
                    format!("GET /events HTTP/1.1\r\nhost: 127.0.0.1:{}\r\n\r\n", bench.port);
                // The server may close it to make room.
                stream.write_all(head.as_bytes()).unwrap_or_default();
            }
            assert!(bench.call() < Duration::from_secs(1));
        }),
    ]
}
