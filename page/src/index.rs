//! The page that lists all runs.

use std::fmt::Write as _;

use crate::html::{STYLE, escape, policy};
use crate::{Finished, sketch};

pub(crate) const LIST_STYLE: &str = include_str!("../assets/list.css");
const SCRIPT: &str = include_str!("../assets/list.js");

/// A page of a run, with its address.
pub struct Entry {
    pub address: String,
    pub topic: String,
    pub name: String,
    pub run: Finished,
}

/// The list, by topic, in the order of the entries.
pub fn index(entries: &[Entry]) -> String {
    let passed = entries.iter().filter(|entry| entry.run.has_passed()).count();
    let mut topics = String::new();
    for topic in entries.chunk_by(|one, other| one.topic == other.topic) {
        let name = topic.first().map_or("", |entry| entry.topic.as_str());
        let cards: String = topic.iter().map(card).collect();
        let _ = writeln!(
            topics,
            "<section class=\"topic\"><h2>{}</h2><ul class=\"cards\">{cards}</ul></section>",
            escape(name)
        );
    }
    let body = format!(
        "<h1>Scenarios of unity-mcp</h1>\n<p>Each page shows what agents, the server and Unity sent to each other in one \
         situation, in virtual time. {passed} of {} passed.</p>\n<div class=\"search\"><label>Search <input id=\"search\" \
         type=\"search\" autocomplete=\"off\"></label><span id=\"count\" role=\"status\"></span></div>\n{topics}",
        entries.len(),
    );
    document("Scenarios of unity-mcp", &body, Some(SCRIPT))
}

fn card(entry: &Entry) -> String {
    let (look, verdict) =
        if entry.run.has_passed() { ("ok", "passed") } else { ("failed", "failed") };
    format!(
        "<li class=\"card\"><a href=\"{}\">{}</a>{}<p>{}</p><span class=\"verdict {look}\">{verdict}</span></li>\n",
        escape(&entry.address),
        escape(&entry.name.replace('_', " ")),
        sketch(&entry.run),
        escape(&entry.run.why),
    )
}

/// A page that is no picture, in the same style.
pub(crate) fn document(title: &str, body: &str, script: Option<&str>) -> String {
    let style = format!("{STYLE}{LIST_STYLE}");
    let run = script.map_or_else(String::new, |script| format!("<script>{script}</script>\n"));
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
         content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n{}<title>{}\
         </title>\n<style>{style}</style>\n</head>\n<body>\n<main class=\"wide\">\n{body}</main>\n{run}</body>\n</html>\n",
        policy(&style, script),
        escape(title),
    )
}
