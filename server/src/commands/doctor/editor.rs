//! Checks of what the running server knows of the Editor.

use std::time::Duration;

use protocol::{Json, Map, printable};

use super::{Check, Facts};
use crate::commands::client::Client;
use crate::commands::output::ProgressLine;
use crate::project;
use crate::system::PATHS_IGNORE_CASE;
use crate::{VERSION, budget};

const NAME: &str = "editor";

/// What the server knows.
#[derive(Default)]
pub(super) struct Seen {
    pub(super) checks: Vec<Check>,
    /// Whether an Editor has the project open, if its files say no and it is connected.
    pub(super) open: Option<Check>,
}

pub(super) async fn editor(facts: &Facts, client: &Client) -> Seen {
    let asked = client.call("get_editor_state", &Map::new(), &mut ProgressLine::silent()).await;
    let report = match asked {
        Ok(report) => report,
        Err(error) => {
            let fact = format!("the server does not answer: {}", error.message());
            let checks = vec![Check::fail(NAME, fact, "restart the server")];
            return Seen { checks, open: None };
        }
    };
    let health = client.health().await.unwrap_or(Json::Null);
    let mut checks = vec![connection(facts, &report, &health)];
    checks.extend(last_disconnect(&health));
    checks.extend(same_project(facts, &report));
    checks.extend(refused(&report));
    checks.extend(unresponsive(&report));
    Seen { checks, open: open(facts, &report) }
}

fn open(facts: &Facts, report: &Json) -> Option<Check> {
    let is_connected = report.get("connected").and_then(Json::as_bool) == Some(true);
    if facts.is_open != Some(false) || !is_connected {
        return None;
    }
    let fact = match text(report, "/project/path") {
        None => "an Editor is connected, and does not say which project it has open",
        Some(_) if same_project(facts, report).is_none() => {
            "an Editor that is connected has the project open"
        }
        Some(_) => return None, // It has another one open.
    };
    Some(Check::ok("unity", fact))
}

fn text<'a>(of: &'a Json, path: &str) -> Option<&'a str> {
    of.pointer(path)?.as_str()
}

fn time(of: &Json, path: &str) -> Option<Duration> {
    of.pointer(path)?.as_u64().map(Duration::from_millis)
}

fn spoken(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds @ 120..7_200 => format!("{} min", seconds / 60),
        seconds => format!("{} h", seconds / 3_600),
    }
}

fn connection(facts: &Facts, report: &Json, health: &Json) -> Check {
    if report.get("connected").and_then(Json::as_bool) != Some(true) {
        return disconnected(facts);
    }
    let state = text(report, "/editor_state").unwrap_or("unknown");
    let since = time(health, "/unchanged_ms");
    let lasting = since.map(|since| format!(" for {}", spoken(since))).unwrap_or_default();
    let plugin = text(report, "/plugin_version").unwrap_or("of unknown version");
    let name = text(report, "/project/name").or_else(|| text(report, "/project/path"));
    let of = name.map(|name| format!(" of {name}")).unwrap_or_default();
    let fact = format!("Editor{of} is connected, {state}{lasting}, plugin {plugin}");
    let is_long = since.is_some_and(|since| since > budget::DOCTOR_LONG_STATE);
    if state != "ready" && is_long {
        return Check::warn(NAME, fact, "look at the Editor: it may wait for a person");
    }
    if plugin != VERSION {
        let fact = format!("{fact}; this program is {VERSION}");
        return Check::warn(NAME, fact, "use the plugin and the server of one version");
    }
    Check::ok(NAME, fact)
}

fn disconnected(facts: &Facts) -> Check {
    let port = facts.config.port;
    let fact = format!("no Editor is connected to port {port}");
    match facts.is_open {
        Some(false) => Check::warn(NAME, fact, "open the project in Unity"),
        Some(true) | None => Check::fail(
            NAME,
            fact,
            "look in the Console of Unity for messages of the plugin; both read the port from unity-mcp.server.json in the project",
        ),
    }
}

fn last_disconnect(health: &Json) -> Option<Check> {
    let ago = time(health, "/last_disconnect/ms_ago")?;
    let why = text(health, "/last_disconnect/reason")?;
    let told = match why {
        "socket_closed" => "the Editor closed it (a domain reload, or it quit)",
        "replaced" => "the same Editor connected again",
        "probe_unanswered" => "it did not answer while another Editor asked for its place",
        "no_pong" => "it did not answer pings: Unity was blocked or gone",
        "stuck" => "it did not finish a request in time",
        "bad_frames" => "it sent frames that make no sense",
        "not_writable" => "it did not read",
        other => &printable(other, 60),
    };
    let fact = format!("the last session ended {} ago: {told}", spoken(ago));
    Some(Check::ok("disconnect", fact))
}

fn same_project(facts: &Facts, report: &Json) -> Option<Check> {
    let own = facts.project.as_ref()?.to_string_lossy().into_owned();
    let theirs = text(report, "/project/path")?;
    let compared = |path: &str| {
        let path = project::comparable(path);
        if PATHS_IGNORE_CASE { path.to_lowercase() } else { path }
    };
    if compared(&own) == compared(theirs) {
        return None; // The line of the project has the path.
    }
    let fact = format!("the server serves {theirs}, and this project is {own}");
    let action = "give each project a port of its own in its unity-mcp.server.json, or close the other Editor";
    Some(Check::fail("other", fact, action))
}

fn refused(report: &Json) -> Option<Check> {
    let path = text(report, "/refused/project_path")?;
    let ago = time(report, "/refused/ms_ago").map(spoken).unwrap_or_default();
    let why = match text(report, "/refused/reason") {
        Some("other_project") => "the server is for another project",
        Some(_) | None => "another Editor is connected",
    };
    let fact = format!("the Editor of {path} was refused {ago} ago: {why}");
    let action = "give each project a port of its own in its unity-mcp.server.json";
    Some(Check::warn("refused", fact, action))
}

fn unresponsive(report: &Json) -> Option<Check> {
    let is_waiting = text(report, "/waiting_reason") == Some("unresponsive");
    let is_overdue = report.pointer("/running/overdue").and_then(Json::as_bool) == Some(true);
    (is_waiting || is_overdue).then(|| {
        let tool = text(report, "/running/tool_name").unwrap_or("a request");
        let elapsed = time(report, "/running/elapsed_ms").map(spoken).unwrap_or_default();
        let fact = format!("Unity has not finished {tool} after {elapsed}");
        let action = "look in the Editor for an open dialog, and click into its window: some systems stop programs without focus";
        Check::fail("blocked", fact, action)
    })
}
