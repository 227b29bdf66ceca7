//! A run as a small sketch for a list.

use std::fmt::Write as _;

use crate::svg::is_told;
use crate::{Event, Finished};

/// The arrows of a run in a few pixels; its colours come from the page around it.
pub fn sketch(run: &Finished) -> String {
    const SIZE: (usize, usize) = (132, 72);
    let places: Vec<&str> = run.lanes.iter().map(|lane| lane.id.as_str()).collect();
    let step = (SIZE.0 - 12) / places.len().saturating_sub(1).max(1);
    let x =
        |lane: &str| places.iter().position(|place| *place == lane).map(|place| 6 + place * step);
    let arrows = run.events.iter().filter(|event| is_told(event)).filter_map(|event| match event {
        Event::Message { from, to, error, .. } => Some((x(from)?, x(to)?, *error)),
        Event::Note { .. }
        | Event::CallBegan { .. }
        | Event::CallServed { .. }
        | Event::CallEnded { .. }
        | Event::State { .. }
        | Event::LaneState { .. }
        | Event::Fault { .. } => None,
    });
    let arrows: Vec<_> = arrows.collect();
    let mut parts = String::new();
    for lane in 0..places.len() {
        let _ = write!(parts, r#"<path class="life" d="M{} 2V{}"/>"#, 6 + lane * step, SIZE.1 - 2);
    }
    let rows = arrows.len().max(8);
    for (number, (from, to, error)) in arrows.into_iter().enumerate() {
        let y = 6 + (SIZE.1 - 12) * number / rows;
        let class = if error { "error" } else { "arrow" };
        let tip = if to > from { "l-3 -2v4z" } else { "l3 -2v4z" };
        let _ = write!(parts, r#"<path class="{class}" d="M{from} {y}H{to}{tip}"/>"#);
    }
    format!(
        r#"<svg class="sketch" viewBox="0 0 {0} {1}" width="{0}" height="{1}" aria-hidden="true">{parts}</svg>"#,
        SIZE.0, SIZE.1,
    )
}
