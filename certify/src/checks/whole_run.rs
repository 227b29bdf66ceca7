//! What must hold for every frame of the whole run.

use crate::check::{Outcome, Verdict, failed, not_tried};
use crate::plugin::{Plugin, RequestKind};
use crate::record::Fact;
use crate::rules::{Rule, Violation};

pub(crate) const TITLE: &str = "whole run";
/// Violations of one rule whose frames are shown.
const SHOWN_MAX: usize = 3;

/// A rule and its sentence.
pub(crate) const RULES: &[(Rule, &str)] = &[
    (Rule::HelloFirst, "Every socket starts with one valid hello"),
    (Rule::Attempt, "connect_attempt_seq grows with every connection"),
    (Rule::Text, "Every frame is a text frame"),
    (Rule::Valid, "Every frame is a valid message of protocol version 1"),
    (Rule::Size, "Every frame is within max_message_bytes"),
    (Rule::Seq, "seq grows with every editor_status and pong of a session"),
    (Rule::Once, "No request is answered twice"),
    (Rule::Type, "Every answer has the type that belongs to its request"),
    (Rule::Known, "No answer names a request that was never sent"),
    (Rule::Forgotten, "No request is answered after plugin_session_id has changed"),
    (Rule::JobId, "Every submission gets its own job id"),
];

/// Judges the run. These checks need frames of others, so `--only` does not leave them out.
pub(crate) fn verdicts(plugin: &Plugin) -> impl Iterator<Item = Verdict> {
    RULES.iter().map(|(rule, name)| {
        let broken: Vec<&Violation> =
            plugin.violations.iter().filter(|violation| violation.rule == *rule).collect();
        let frames = broken.iter().take(SHOWN_MAX).flat_map(|violation| violation.frames.clone());
        let outcome = match broken.as_slice() {
            [] => intact(plugin, *rule),
            [only] => failed(only.what.clone()),
            [first, others @ ..] => failed(format!("{} ({} times)", first.what, others.len() + 1)),
        };
        Verdict { topic: TITLE, name, outcome, frames: frames.collect() }
    })
}

fn intact(plugin: &Plugin, rule: Rule) -> Outcome {
    let count = |wanted: fn(&Fact) -> bool| {
        plugin.record.since(0).iter().filter(|entry| wanted(&entry.fact)).count()
    };
    let frames = count(|fact| matches!(fact, Fact::Received { .. } | Fact::Invalid));
    let sockets = count(|fact| matches!(fact, Fact::Opened));
    let hellos = &plugin.hellos;
    let requests = plugin.sent_count(None);
    let submissions = plugin.sent_count(Some(RequestKind::SubmitJob));
    match rule {
        Rule::Text | Rule::Valid | Rule::Size if frames == 0 => not_tried("No frame came."),
        Rule::Text | Rule::Valid | Rule::Size | Rule::Seq => {
            Ok(counted(frames, "frame", "received"))
        }
        Rule::HelloFirst => Ok(counted(sockets, "socket", "opened")),
        Rule::Attempt if hellos.len() < 2 => not_tried("There was only one session."),
        Rule::Attempt if hellos.iter().any(|known| known.hello.connect_attempt_seq.is_none()) => {
            not_tried("The hello has no connect_attempt_seq.")
        }
        Rule::Attempt => Ok(counted(hellos.len(), "session", "seen")),
        Rule::Once | Rule::Type | Rule::Known if requests == 0 => not_tried("No request was sent."),
        Rule::Once | Rule::Type | Rule::Known => Ok(counted(requests, "request", "sent")),
        Rule::Forgotten => {
            let ids = hellos.iter().filter_map(|known| known.hello.plugin_session_id.as_ref());
            let mut ids: Vec<_> = ids.collect();
            ids.dedup();
            match ids.len() {
                0 => not_tried("The hello has no plugin_session_id."),
                1 => not_tried("plugin_session_id has never changed."),
                count => Ok(format!("plugin_session_id had {count} values.")),
            }
        }
        Rule::JobId if submissions < 2 => not_tried("Fewer than two jobs were submitted."),
        Rule::JobId => Ok(counted(submissions, "job", "submitted")),
    }
}

fn counted(count: usize, noun: &str, done: &str) -> String {
    if count == 1 {
        format!("1 {noun} was {done}.")
    } else {
        format!("{count} {noun}s were {done}.")
    }
}
