//! Status as lines for a person. Every text of a peer is made safe for a terminal.

use page::{CallOutcome, Editor, State};
use protocol::printable;

use super::look::{Call, Look};
use crate::budget::PAGE_TEXT_MAX;

const GREEN: &str = "\u{1b}[32m";
const YELLOW: &str = "\u{1b}[33m";
const RED: &str = "\u{1b}[31m";
const RESET: &str = "\u{1b}[0m";

pub(super) fn lines(look: &Look, colours: bool) -> String {
    let Look { about, state, calls, .. } = look;
    let paint = |colour: &str, text: String| match colours {
        true => format!("{colour}{text}{RESET}"),
        false => text,
    };
    let started = if about.started.is_empty() {
        String::new()
    } else {
        format!(", started {}", safe(&about.started))
    };
    let mut text = format!(
        "server   unity-mcp {} on port {} (pid {}){started}: {}\n",
        safe(&about.version),
        about.port,
        about.pid,
        safe(&state.server),
    );
    text += &format!("project  {}\n", project(look));
    let editor = match waiting(state) {
        Some(why) => paint(YELLOW, format!("{}: {why}", safe(&state.editor))),
        None => paint(GREEN, safe(&state.editor)),
    };
    text += &format!("editor   {editor}\n");
    if let Some(refused) = &state.refused {
        let line = format!("an Editor with another project was turned away: {}", safe(refused));
        text += &format!("refused  {}\n", paint(RED, line));
    }
    let running = state.running.as_ref().map_or("nothing".to_owned(), |tool| safe(tool));
    text += &format!("running  {running}\nqueue    {}\n", calls_wait(state.queue));
    for job in &state.jobs {
        let progress = job.done.zip(job.total).map(|(done, total)| format!(" {done} of {total}"));
        let progress = progress.unwrap_or_default();
        let tool = look.job_tools.get(&job.job_id);
        let tool = tool.map(|tool| format!(" {}", safe(tool))).unwrap_or_default();
        let (id, state) = (safe(&job.job_id), safe(&job.state));
        text += &format!("job      {id}{tool} {state}{progress}\n");
    }
    match calls {
        None => text += "calls    not shown: the page of the server is off, or has two viewers\n",
        Some(calls) if calls.is_empty() => text += "calls    none yet\n",
        Some(calls) => text += &table(calls, look.now.unwrap_or_default(), &paint),
    }
    text
}

fn table(calls: &[Call], now: u64, paint: &impl Fn(&str, String) -> String) -> String {
    let mut text = format!(
        "{:<9}{:<26}{:<24}{:>9}{:>9}  outcome\n",
        "calls", "tool", "agent", "waited", "took"
    );
    for call in calls {
        let end = call.ended.unwrap_or(now);
        let served = call.served.unwrap_or(end).min(end);
        let outcome = outcome(call);
        let outcome = match call.outcome {
            Some(CallOutcome::Ok) => paint(GREEN, outcome),
            Some(CallOutcome::Failed | CallOutcome::Lost) => paint(RED, outcome),
            Some(CallOutcome::Cancelled) | None => paint(YELLOW, outcome),
        };
        text += &format!(
            "{:<9}{:<26}{:<24}{:>9}{:>9}  {outcome}\n",
            "",
            safe(&call.tool),
            safe(&call.agent),
            millis(served.saturating_sub(call.at)),
            millis(end.saturating_sub(served)),
        );
    }
    text
}

fn outcome(call: &Call) -> String {
    let replayed = if call.replayed { ", replayed" } else { "" };
    let said = match call.outcome {
        None if call.served.is_some() => "runs".to_owned(),
        None => "waits".to_owned(),
        Some(CallOutcome::Ok) => "ok".to_owned(),
        Some(CallOutcome::Cancelled) => "cancelled".to_owned(),
        Some(CallOutcome::Lost) => "lost".to_owned(),
        Some(CallOutcome::Failed) => {
            let said = [&call.code, &call.guarantee];
            said.into_iter().flatten().map(|text| safe(text)).collect::<Vec<_>>().join(" ")
        }
    };
    said + replayed
}

fn project(look: &Look) -> String {
    match &look.about.editor {
        None => match &look.about.project {
            Some(project) => format!("{} (no Editor has connected)", safe(project)),
            None => "no Editor has connected".to_owned(),
        },
        Some(Editor { plugin_version, unity_version, project_name, project_path }) => {
            let name = project_name.as_deref().or(project_path.as_deref()).unwrap_or("not named");
            let path = project_path.as_ref().filter(|path| *path != name);
            let path = path.map(|path| format!(" ({})", safe(path))).unwrap_or_default();
            let unity = unity_version.as_ref().map(|version| format!(", Unity {}", safe(version)));
            let unity = unity.unwrap_or_default();
            format!("{}{path}{unity}, plugin {}", safe(name), safe(plugin_version))
        }
    }
}

fn waiting(state: &State) -> Option<String> {
    let why = match state.waits_for.as_deref()? {
        "disconnected" => "calls wait, because no Editor is connected",
        "compiling" => "calls wait until Unity has compiled",
        "reloading" => "calls wait until Unity has reloaded",
        "unresponsive" => "calls wait until Unity has finished an earlier request",
        other => return Some(format!("calls wait: {}", safe(other))),
    };
    Some(why.to_owned())
}

fn calls_wait(count: u64) -> String {
    match count {
        0 => "empty".to_owned(),
        1 => "1 call waits".to_owned(),
        more => format!("{more} calls wait"),
    }
}

fn millis(time: u64) -> String {
    match time {
        0..10_000 => format!("{time} ms"),
        longer => format!("{} s", longer / 1_000),
    }
}

fn safe(text: &str) -> String {
    printable(text, PAGE_TEXT_MAX)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{Look, lines};
    use page::{About, State};

    #[test]
    fn text_of_a_peer_never_controls_the_terminal() {
        let state = State { editor: "\u{1b}[2J\u{202e}evil".to_owned(), ..State::default() };
        let (about, calls, job_tools) = (About::default(), Some(Vec::new()), BTreeMap::new());
        let look = Look { about, state, calls, job_tools, now: None };
        let shown = lines(&look, false);
        assert!(!shown.contains('\u{1b}') && !shown.contains('\u{202e}'), "{shown}");
        assert!(lines(&look, true).contains("\u{1b}[32m"), "only the colours are left");
    }
}
