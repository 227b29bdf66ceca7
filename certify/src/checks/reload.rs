//! A domain reload, with a job and a request that it interrupts. One reload serves all checks of this file.

use std::ops::Range;
use std::time::Duration;

use protocol::{EditorState, FromUnity, JobStatus, PluginHello, RequestId, UnityJobId};
use serde_json::json;

use crate::check::{Check, Needs, Outcome, Stop, Topic, failed, not_tried};
use crate::checks::compile::is_status;
use crate::checks::read_console::read;
use crate::checks::run_tests::{follow, name, report_of, submit};
use crate::plugin::Plugin;
use crate::record::Fact;
use crate::run::{ANSWER_WAIT, Run};

/// How long a domain reload may take.
const BACK_WAIT: Duration = Duration::from_secs(60);
/// A blocked main thread keeps the request in the plugin until the reload begins.
const FREEZE: &str = "freeze 1500ms";
const ARRIVAL: Duration = Duration::from_millis(200);
/// How long the answer may take on the new session.
const OWED_WAIT: Duration = Duration::from_secs(5);
/// These close codes announce a reload.
const AWAY_CODES: [u16; 2] = [1001, 1012];

pub(crate) const TOPIC: Topic = Topic {
    title: "domain reload",
    checks: &[
        Check {
            name: "A domain reload is announced, and the same Editor is back within 60 s",
            needs: Needs::DriverOrPerson,
            run: |run| Box::pin(announced(run)),
        },
        Check {
            name: "A request before a domain reload is answered, or plugin_session_id changes",
            needs: Needs::DriverOrPerson,
            run: |run| Box::pin(request(run)),
        },
        Check {
            name: "A job is still known after a domain reload",
            needs: Needs::DriverOrPerson,
            run: |run| Box::pin(job(run)),
        },
        Check {
            name: "A cursor is still known after a domain reload",
            needs: Needs::DriverOrPerson,
            run: |run| Box::pin(cursor(run)),
        },
    ],
};

/// What happened in a domain reload.
pub(crate) struct Reload {
    announced_by: Option<String>,
    before: PluginHello,
    after: PluginHello,
    took: Duration,
    request: Interrupted,
    /// `None` if the plugin has no run_tests; else its report after the reload.
    job: Option<Result<JobStatus, String>>,
    /// `None` if the plugin has no cursors; else whether it was lost.
    is_cursor_lost: Option<bool>,
    frames: Range<usize>,
}

/// What became of the request that was sent before the reload.
#[derive(Clone, Copy)]
enum Interrupted {
    NotSent,
    AnsweredBefore,
    AnsweredAfter,
    /// `plugin_session_id` has changed.
    Forgotten,
    Unanswered,
}

async fn announced(run: &mut Run) -> Outcome {
    let reload = observed(run).await?;
    if reload.before.editor_instance_id != reload.after.editor_instance_id {
        return failed("editor_instance_id has changed. A domain reload is the same process.");
    }
    match &reload.announced_by {
        Some(how) => Ok(format!("{how}, and it was back after {} ms.", reload.took.as_millis())),
        None => failed("The session ended without editor_status reloading or a close with 1001."),
    }
}

async fn request(run: &mut Run) -> Outcome {
    match observed(run).await?.request {
        Interrupted::NotSent => not_tried("The plugin does not offer read_console."),
        Interrupted::AnsweredBefore => not_tried("The request was answered before the reload."),
        Interrupted::AnsweredAfter => Ok("It was answered on the new session.".to_owned()),
        Interrupted::Forgotten => {
            Ok("plugin_session_id has changed, and no answer came.".to_owned())
        }
        Interrupted::Unanswered => failed(
            "plugin_session_id is the same, but no answer came within 5 s. Change it if you forget requests.",
        ),
    }
}

async fn job(run: &mut Run) -> Outcome {
    match &observed(run).await?.job {
        None => not_tried("The plugin does not offer run_tests."),
        Some(Ok(report)) => Ok(format!("It is {}.", name(report.state))),
        Some(Err(why)) => failed(why.clone()),
    }
}

async fn cursor(run: &mut Run) -> Outcome {
    match observed(run).await?.is_cursor_lost {
        None => not_tried("The plugin gives no cursor."),
        Some(false) => Ok("read_console since that cursor has no cursor_lost.".to_owned()),
        Some(true) => failed("cursor_lost is true. Keep the numbers of entries over a reload."),
    }
}

async fn observed(run: &mut Run) -> Result<&Reload, Stop> {
    if run.reload.is_none() {
        run.reload = Some(observe(run).await?);
    }
    let Some(reload) = run.reload.as_ref() else { return failed("There was no reload.") };
    run.evidence = Some(reload.frames.clone());
    Ok(reload)
}

async fn observe(run: &mut Run) -> Result<Reload, Stop> {
    let mark = run.plugin.mark();
    let Some(before) = run.plugin.hello().cloned() else { return failed("There is no session.") };
    let cursor = cursor_of_console(run).await?;
    let job = start_job(run).await?;
    let request = start_request(run).await?;
    let socket = run.plugin.session_socket();
    let from = run.plugin.mark();
    let wait = run.act(
        "reload 300ms",
        "In Unity: change a script and save it, so that Unity compiles and reloads the domain.",
    );
    let ended = |plugin: &Plugin| (plugin.session_socket() != socket).then_some(());
    if run.plugin.wait(wait, ended).await.is_none() {
        return run.no_effect(socket, "The session did not end: there was no domain reload.");
    }
    let began = std::time::Instant::now();
    let Some(after) = run.plugin.wait(BACK_WAIT, |plugin| plugin.hello_since(from)).await else {
        return failed("The plugin was not back within 60 s.");
    };
    let took = began.elapsed();
    let announced_by = announcement(&run.plugin, from);
    run.plugin.wait(BACK_WAIT, |plugin| plugin.is_ready().then_some(())).await;
    let request = match request {
        Some(id) => judge_request(run, &id, from).await,
        None => Interrupted::NotSent,
    };
    let job = match job {
        Some(job) => Some(judge_job(run, &job).await),
        None => None,
    };
    let is_cursor_lost = match cursor {
        Some(cursor) => Some(read(run, json!({ "since": cursor })).await?.is_lost),
        None => None,
    };
    let frames = mark..run.plugin.mark();
    Ok(Reload { announced_by, before, after, took, request, job, is_cursor_lost, frames })
}

async fn cursor_of_console(run: &mut Run) -> Result<Option<String>, Stop> {
    if !run.plugin.offers("read_console") {
        return Ok(None);
    }
    Ok(read(run, json!({ "max_entries": 1 })).await?.cursor)
}

async fn start_job(run: &mut Run) -> Result<Option<UnityJobId>, Stop> {
    if !run.plugin.offers("run_tests") {
        return Ok(None);
    }
    Ok(Some(submit(run, json!({ "mode": "edit" })).await?.1))
}

/// With a driver, the request is in the plugin when the reload begins. A person cannot time that.
async fn start_request(run: &mut Run) -> Result<Option<RequestId>, Stop> {
    if !run.plugin.offers("read_console") {
        return Ok(None);
    }
    if run.has_driver() {
        run.type_and_wait(FREEZE).await;
    }
    let params = json!({ "max_entries": 1, "stack_traces": true });
    let id = run.plugin.send_execute("read_console", params)?;
    run.plugin.pause(ARRIVAL).await;
    Ok(Some(id))
}

fn announcement(plugin: &Plugin, mark: usize) -> Option<String> {
    plugin.record.since(mark).iter().find_map(|entry| match &entry.fact {
        Fact::Received { message, .. } if is_status(message, EditorState::Reloading) => {
            Some("editor_status said reloading".to_owned())
        }
        Fact::Ended { code: Some(code) } if AWAY_CODES.contains(code) => {
            Some(format!("The plugin closed with {code}"))
        }
        Fact::Received { .. }
        | Fact::Ended { .. }
        | Fact::Opened
        | Fact::Invalid
        | Fact::Sent
        | Fact::Done => None,
    })
}

async fn judge_request(run: &mut Run, id: &RequestId, reload: usize) -> Interrupted {
    let over =
        |plugin: &Plugin| (plugin.answer_to(id).is_some() || plugin.is_forgotten(id)).then_some(());
    run.plugin.wait(OWED_WAIT, over).await;
    // A rule of the whole run finds answers to forgotten requests. They would come soon.
    run.plugin.pause(ARRIVAL).await;
    let index = run.plugin.answer_to(id).map(|answer| answer.index);
    let hello = run.plugin.record.since(reload).iter().position(|entry| {
        matches!(&entry.fact, Fact::Received { message, .. } if matches!(**message, FromUnity::Hello(_)))
    });
    match (index, hello) {
        (Some(index), Some(hello)) if index > reload + hello => Interrupted::AnsweredAfter,
        (Some(_), _) => Interrupted::AnsweredBefore,
        (None, _) if run.plugin.is_forgotten(id) => Interrupted::Forgotten,
        (None, _) => Interrupted::Unanswered,
    }
}

/// Ends the job too, so that it does not disturb the checks that follow.
async fn judge_job(run: &mut Run, job: &UnityJobId) -> Result<JobStatus, String> {
    let report = match report_of(run, job).await {
        Ok(report) => report,
        Err(Stop::Failed(why) | Stop::NotTried(why)) => return Err(why),
    };
    if !report.state.is_terminal()
        && let Ok(id) = run.plugin.send_cancel(Some(job.clone()), None)
        && run.plugin.answer(&id, ANSWER_WAIT).await.is_ok()
    {
        // How it ends is the business of other checks.
        follow(run, job).await.map(drop).unwrap_or_default();
    }
    Ok(report)
}
