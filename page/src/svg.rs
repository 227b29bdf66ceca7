//! A run as a static SVG for documents.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::html::escape;
use crate::{CallOutcome, Event, Finished, Lane};

const WIDTH: u64 = 830;
const GUTTER: u64 = 62;
const ROW: u64 = 30;
/// A longer pause is marked.
const GAP_MS: u64 = 500;
/// States that begin together stand on one row.
const SAME_MS: u64 = 2;
/// The width of a letter of 13 px, plain and bold: labels are cut by it, since nothing here knows the font. A wide one.
const LETTER: f64 = 7.6;
const BOLD_LETTER: f64 = 8.8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Theme {
    Light,
    Dark,
}

struct Colors {
    back: &'static str,
    text: &'static str,
    muted: &'static str,
    line: &'static str,
    mcp: &'static str,
    unity: &'static str,
    ok: &'static str,
    failed: &'static str,
    band: &'static str,
    on_band: &'static str,
}

const LIGHT: Colors = Colors {
    back: "#ffffff",
    text: "#1b1f24",
    muted: "#525b66",
    line: "#ccd3dc",
    mcp: "#1d4ea3",
    unity: "#0b6058",
    ok: "#12622a",
    failed: "#b3171f",
    band: "#f5e3b8",
    on_band: "#4d3800",
};
const DARK: Colors = Colors {
    back: "#0d1117",
    text: "#e7ecf2",
    muted: "#a3aebb",
    line: "#39424e",
    mcp: "#8fb8f5",
    unity: "#6fd0c1",
    ok: "#62d47e",
    failed: "#ff8a80",
    band: "#4a3b12",
    on_band: "#ffe09a",
};

/// The run in the width of a README. What sets up a connection is left out, and a progress report that repeats one.
pub fn svg(run: &Finished, theme: Theme) -> String {
    let colors = match theme {
        Theme::Light => LIGHT,
        Theme::Dark => DARK,
    };
    let mut drawing = Drawing::new(&run.lanes, colors);
    let mut last = None;
    for event in run.events.iter().filter(|event| is_told(event)) {
        if is_progress(event) && last.is_some_and(is_progress) {
            continue;
        }
        drawing.event(event);
        if matches!(event, Event::Message { .. }) {
            last = Some(event);
        }
    }
    drawing.end(&run.title)
}

pub(crate) fn is_told(event: &Event) -> bool {
    let Event::Message { what, text, .. } = event else { return true };
    let sets_up = ["server/discover", "initialize", "notifications/initialized", "capability"];
    !sets_up.contains(&what.as_str()) && !sets_up.contains(&text.as_str())
}

fn is_progress(event: &Event) -> bool {
    matches!(event, Event::Message { what, .. } if what == "progress")
}

struct Drawing {
    colors: Colors,
    xs: BTreeMap<String, u64>,
    editors: Vec<String>,
    y: u64,
    at: Option<u64>,
    /// The last time that was written.
    time: String,
    /// A chip on this row, with its lane.
    chip: Option<String>,
    /// The state that each lane is in, and since where.
    bands: BTreeMap<String, (u64, String)>,
    calls: BTreeMap<String, Bar>,
    back: String,
    front: String,
}

/// The bar of a call. It begins and changes at the message that follows.
struct Bar {
    x: u64,
    top: Option<u64>,
    served: Option<u64>,
    is_served: bool,
}

impl Drawing {
    fn new(lanes: &[Lane], colors: Colors) -> Self {
        let count = lanes.len().max(2) as u64 - 1;
        let (left, right) = (GUTTER + 44, WIDTH - 44);
        let xs = (0..)
            .zip(lanes)
            .map(|(number, lane)| (lane.id.clone(), left + (right - left) * number / count));
        let editors = lanes.iter().filter(|lane| lane.kind == crate::LaneKind::Editor);
        Self {
            colors,
            xs: xs.collect(),
            editors: editors.map(|lane| lane.id.clone()).collect(),
            y: 34,
            at: None,
            time: String::new(),
            chip: None,
            bands: BTreeMap::new(),
            calls: BTreeMap::new(),
            back: String::new(),
            front: String::new(),
        }
    }

    /// The next row, below a mark if time has passed.
    fn row(&mut self, at: u64) {
        let passed = self.at.map_or(0, |last| at.saturating_sub(last));
        if passed >= GAP_MS {
            self.y += 22;
            let text = format!("⋯ {:.1} s", passed as f64 / 1000.0);
            self.text(GUTTER - 8, self.y + 2, "end", self.colors.muted, 400, &text);
            let _ = writeln!(
                self.back,
                r#"<path d="M{GUTTER} {0}H{WIDTH}" stroke="{1}" stroke-dasharray="2 6"/>"#,
                self.y - 2,
                self.colors.line,
            );
        }
        self.y += ROW;
        let time = format!("{:.2} s", at as f64 / 1000.0);
        if self.time != time {
            self.text(GUTTER - 8, self.y + 4, "end", self.colors.muted, 400, &time);
        }
        self.time = time;
        self.at = Some(at);
        self.chip = None;
    }

    fn event(&mut self, event: &Event) {
        match event {
            Event::Message { at, from, to, what, text, lost, .. } => {
                self.row(*at);
                self.place_calls();
                self.message((from, to), what, text, *lost);
            }
            Event::Note { at, lane, text, .. } | Event::Fault { at, lane, text, .. } => {
                self.row(*at);
                self.note(lane, text);
            }
            Event::LaneState { at, lane, text } => self.lane_state(*at, lane, text.as_deref()),
            Event::CallBegan { call, lane, .. } => {
                let x = self.x(lane) - 12;
                self.calls
                    .insert(call.clone(), Bar { x, top: None, served: None, is_served: false });
            }
            Event::CallServed { call, .. } => {
                if let Some(bar) = self.calls.get_mut(call) {
                    bar.is_served = true;
                }
            }
            Event::CallEnded { call, outcome, code, .. } => {
                self.call_end(call, *outcome, code.as_deref())
            }
            Event::State { .. } => {}
        }
    }

    fn place_calls(&mut self) {
        for bar in self.calls.values_mut() {
            bar.top = bar.top.or(Some(self.y));
            bar.served = bar.served.or(bar.is_served.then_some(self.y));
        }
    }

    fn x(&self, lane: &str) -> u64 {
        self.xs.get(lane).copied().unwrap_or(WIDTH / 2)
    }

    fn message(&mut self, (from, to): (&String, &String), what: &str, text: &str, lost: bool) {
        let (begin, end) = (self.x(from), self.x(to));
        let end = if lost { begin.midpoint(end) } else { end };
        let is_unity = self.editors.contains(from) || self.editors.contains(to);
        let color = if is_unity { self.colors.unity } else { self.colors.mcp };
        let (tip, y) = (if end > begin { -8 } else { 8 }, self.y);
        let _ = writeln!(
            self.front,
            r#"<path d="M{begin} {y}H{end}" stroke="{color}" stroke-width="1.6"/>"#
        );
        let head =
            if lost { "m-5 -5l10 10m0 -10l-10 10".to_owned() } else { format!("l{tip} -4v8z") };
        let fill = if lost { "none" } else { color };
        let _ =
            writeln!(self.front, r#"<path d="M{end} {y}{head}" fill="{fill}" stroke="{color}"/>"#);
        self.label(begin.min(end) + 10, self.y - 6, what, text);
    }

    /// As much of the label as fits on the row.
    fn label(&mut self, x: u64, y: u64, what: &str, text: &str) {
        let room = WIDTH.saturating_sub(x + 8) as f64 - what.chars().count() as f64 * BOLD_LETTER;
        let rest = (room.max(0.0) / LETTER) as usize;
        let cut: String = text.chars().take(rest.saturating_sub(2)).collect();
        let dots = if text.chars().count() > cut.chars().count() + 2 { "…" } else { "" };
        let text = if dots.is_empty() { text } else { &cut };
        let Colors { back, text: strong, muted, .. } = self.colors;
        let _ = writeln!(
            self.front,
            r#"<text x="{x}" y="{y}" fill="{muted}" stroke="{back}" stroke-width="4" paint-order="stroke"><tspan fill="{strong}" font-weight="600">{}</tspan> {}{dots}</text>"#,
            escape(what),
            escape(text),
        );
    }

    fn note(&mut self, lane: &str, text: &str) {
        let (x, y) = (self.x(lane), self.y);
        let _ = writeln!(
            self.front,
            r#"<circle cx="{x}" cy="{y}" r="4" fill="{}"/>"#,
            self.colors.muted
        );
        let long = text.chars().count() as f64 * LETTER;
        if x as f64 + 10.0 + long < WIDTH as f64 {
            self.text(x + 10, y + 4, "start", self.colors.muted, 400, text);
        } else {
            self.text(x - 10, y + 4, "end", self.colors.muted, 400, text);
        }
    }

    fn lane_state(&mut self, at: u64, lane: &str, text: Option<&str>) {
        if self.bands.get(lane).map(|(_, known)| known.as_str()) == text {
            return;
        }
        if let Some((top, known)) = self.bands.remove(lane) {
            self.band(lane, &known, top, self.y);
        }
        let Some(text) = text else { return };
        let is_apart = self.chip.as_ref().is_some_and(|other| other != lane)
            && self.at.is_some_and(|last| at.saturating_sub(last) <= SAME_MS);
        if !is_apart {
            self.row(at);
        }
        self.chip = Some(lane.to_owned());
        let half = (text.chars().count() as f64 * BOLD_LETTER / 2.0) as u64 + 7;
        let x = self.x(lane).min(WIDTH - half - 1);
        let _ = writeln!(
            self.front,
            r#"<rect x="{}" y="{}" width="{}" height="20" rx="4" fill="{}"/>"#,
            x - half,
            self.y - 11,
            half * 2,
            self.colors.band,
        );
        self.text(x, self.y + 4, "middle", self.colors.on_band, 600, text);
        self.bands.insert(lane.to_owned(), (self.y, text.to_owned()));
    }

    /// A lane without a session is a gap: hatched, without its line.
    fn band(&mut self, lane: &str, text: &str, top: u64, bottom: u64) {
        let x = self.x(lane) - 8;
        let high = bottom.saturating_sub(top);
        let color = if text.starts_with("no session") { "url(#wait)" } else { self.colors.band };
        let _ = writeln!(
            self.back,
            r#"<rect x="{x}" y="{top}" width="16" height="{high}" fill="{color}"/>"#
        );
    }

    fn call_end(&mut self, call: &str, outcome: CallOutcome, code: Option<&str>) {
        let Some(Bar { x, served, top, .. }) = self.calls.remove(call) else { return };
        let top = top.unwrap_or(self.y);
        let (color, told) = match outcome {
            CallOutcome::Ok => (self.colors.ok, "ok"),
            CallOutcome::Failed => (self.colors.failed, code.unwrap_or("failed")),
            CallOutcome::Cancelled => (self.colors.muted, "cancelled"),
            CallOutcome::Lost => (self.colors.muted, "no answer"),
        };
        let (bottom, served) = (self.y, served.unwrap_or(self.y));
        let _ = writeln!(
            self.front,
            r#"<rect x="{x}" y="{top}" width="8" height="{}" fill="url(#wait)" stroke="{color}"/><rect x="{x}" y="{served}" width="8" height="{}" fill="{color}" stroke="{color}"/>"#,
            served.saturating_sub(top),
            bottom.saturating_sub(served),
        );
        self.text(x - 6, self.y + 18, "start", color, 600, told);
        self.y += 8;
    }

    fn text(&mut self, x: u64, y: u64, anchor: &str, color: &str, weight: u16, text: &str) {
        let _ = writeln!(
            self.front,
            r#"<text x="{x}" y="{y}" text-anchor="{anchor}" fill="{color}" font-weight="{weight}" stroke="none">{}</text>"#,
            escape(text),
        );
    }

    fn end(mut self, title: &str) -> String {
        let height = self.y + 26;
        for (lane, (top, text)) in std::mem::take(&mut self.bands) {
            self.band(&lane, &text, top, height - 10);
        }
        let mut lives = String::new();
        for (lane, x) in &self.xs {
            let Colors { line, text, .. } = self.colors;
            let _ = writeln!(
                lives,
                r#"<path d="M{x} 30V{height}" stroke="{line}" stroke-width="1.5"/><text x="{x}" y="20" text-anchor="middle" fill="{text}" font-weight="600">{}</text>"#,
                escape(lane),
            );
        }
        let Self { colors: Colors { back, muted, .. }, front, back: behind, .. } = self;
        format!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" font-family="system-ui, -apple-system, 'Segoe UI', sans-serif" font-size="13" role="img">
<title>{}</title>
<defs><pattern id="wait" width="6" height="6" patternUnits="userSpaceOnUse"><rect width="6" height="6" fill="{back}"/><path d="M-1 7L7 -1M-1 1L1 -1M5 7L7 5" stroke="{muted}" stroke-width="1.5"/></pattern></defs>
<rect width="{WIDTH}" height="{height}" rx="8" fill="{back}"/>
{lives}{behind}{front}</svg>
"#,
            escape(title),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::{BOLD_LETTER, Drawing, LETTER, LIGHT, WIDTH};

    #[test]
    fn a_label_ends_before_the_right_edge() {
        let mut drawing = Drawing::new(&[], LIGHT);
        for what in ["hello", "submit_job_result"] {
            let x = WIDTH / 2;
            drawing.label(x, 0, what, &"w".repeat(200));
            let (_, rest) = drawing.front.rsplit_once("</tspan> ").unwrap();
            let letters = rest.split_once('<').unwrap().0.chars().count();
            let right = x as f64 + what.len() as f64 * BOLD_LETTER + letters as f64 * LETTER;
            assert!(right <= WIDTH as f64 && right > WIDTH as f64 - 30.0, "{what} ends at {right}");
        }
    }
}
