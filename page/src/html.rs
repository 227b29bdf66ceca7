//! Pages: one HTML text each, with one style and one script in it and nothing from outside.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::{Event, Lane};

const PAGE: &str = include_str!("../assets/page.html");
pub(crate) const STYLE: &str = include_str!("../assets/page.css");
/// In the order of their use.
const SCRIPTS: [&str; 10] = [
    include_str!("../assets/model.js"),
    include_str!("../assets/fold.js"),
    include_str!("../assets/label.js"),
    include_str!("../assets/draw.js"),
    include_str!("../assets/controls.js"),
    include_str!("../assets/hands.js"),
    include_str!("../assets/finished.js"),
    include_str!("../assets/live.js"),
    include_str!("../assets/live_view.js"),
    include_str!("../assets/start.js"),
];

/// The page that a server serves at `/`. It reads `/events`.
#[derive(Clone, Debug)]
pub struct LivePage {
    pub html: String,
    /// For the header `Content-Security-Policy`: `sha256-…`, without quotes.
    pub script_hash: String,
    pub style_hash: String,
}

/// A run that has ended, for a page that needs no server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finished {
    pub title: String,
    pub why: String,
    pub seed: u64,
    pub level: String,
    /// In milliseconds.
    pub lasted: u64,
    /// Runs it again.
    pub command: String,
    /// The scenario.
    pub yaml: String,
    pub expectations: Vec<Expectation>,
    pub lanes: Vec<Lane>,
    pub events: Vec<Event>,
    /// Address of the page that lists all runs, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<String>,
}

/// What a run had to show.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Expectation {
    pub text: String,
    /// How the run differs, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// The number of the event that shows it, in the list of events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<usize>,
}

impl Finished {
    pub fn has_passed(&self) -> bool {
        self.expectations.iter().all(|expectation| expectation.problem.is_none())
    }
}

/// The page for a server that runs.
pub fn live() -> LivePage {
    let script = script();
    LivePage {
        html: fill(
            PAGE,
            &[
                ("policy", ""),
                ("title", "unity-mcp"),
                ("style", STYLE),
                ("data", ""),
                ("script", &script),
            ],
        ),
        script_hash: hash(&script),
        style_hash: hash(STYLE),
    }
}

/// A page for a run that has ended. A browser opens it from a file.
pub fn finished(run: &Finished) -> String {
    let script = script();
    // No data can end the element or begin a comment.
    let data = serde_json::to_string(run).unwrap_or_default().replace('<', "\\u003c");
    fill(
        PAGE,
        &[
            ("policy", &policy(STYLE, Some(&script))),
            ("title", &escape(&run.title)),
            ("style", STYLE),
            ("data", &data),
            ("script", &script),
        ],
    )
}

/// The files as one script that shares nothing with the page.
fn script() -> String {
    format!("(() => {{\n\"use strict\";\n{}\n}})();\n", SCRIPTS.concat())
}

/// Forbids the page to load anything.
pub(crate) fn policy(style: &str, script: Option<&str>) -> String {
    let script = script.map(|script| format!("; script-src '{}'", hash(script)));
    format!(
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src '{}'{}\">\n",
        hash(style),
        script.unwrap_or_default(),
    )
}

fn hash(content: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(content)))
}

pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// One pass: a value that contains a placeholder stays as it is.
pub(crate) fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let mut page = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        let Some((name, after)) = after.split_once("}}") else { break };
        page += before;
        page += values.iter().find(|(known, _)| *known == name).map_or("", |(_, value)| value);
        rest = after;
    }
    page + rest
}
