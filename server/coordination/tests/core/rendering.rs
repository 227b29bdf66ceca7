//! Answers and failures as the JSON that agents read.

use std::time::Duration;

use coordination::{
    Answer, Boot, CallId, CallState, CancelAnswer, CancelView, ConnectionId, EditorReport, Effect,
    Event, ExecutionCoordinator, JobReport, JobSummary, Limits, ProgressReport, ProjectReport,
    RawCall, Reason, RefusedReport, Running, SETTINGS, ServerState, Timestamp, rendering, validate,
};
use protocol::codec::decode;
use protocol::{EditorState, ErrorBody, JobState, Map, Progress, RequestId, json};

fn progress(state: CallState, reason: Option<Reason>) -> ProgressReport {
    ProgressReport {
        state,
        reason,
        position: None,
        elapsed: Duration::from_millis(2_040),
        job: None,
    }
}

#[test]
fn the_progress_of_a_call_says_why_it_waits_and_how_long() {
    let waiting = |reason| progress(CallState::WaitingEditorReady, reason);
    let job = |state, progress| ProgressReport {
        job: Some((state, progress)),
        ..self::progress(CallState::Running, None)
    };
    let half = |current: Option<&str>| {
        Some(Progress { done: 2, total: 5, current: current.map(str::to_owned) })
    };
    let long = ProgressReport {
        position: Some(3),
        elapsed: Duration::from_millis(10_000),
        ..progress(CallState::Queued, None)
    };
    let first = ProgressReport { position: Some(0), ..progress(CallState::Queued, None) };
    for (report, line) in [
        (
            waiting(Some(Reason::Disconnected)),
            "waiting for the Unity Editor to connect, 2.0 s so far",
        ),
        (
            waiting(Some(Reason::Unresponsive)),
            "waiting for Unity to finish another request, 2.0 s so far",
        ),
        (waiting(Some(Reason::Compiling)), "waiting: Unity is compiling, 2.0 s so far"),
        (waiting(Some(Reason::Reloading)), "waiting: Unity is reloading, 2.0 s so far"),
        (waiting(None), "waiting for Unity, 2.0 s so far"),
        (first, "queued, 2.0 s so far"),
        (long, "queued, 3 before it, 10 s so far"),
        (progress(CallState::Running, None), "running in Unity, 2.0 s so far"),
        (job(JobState::Queued, None), "the job is queued, 2.0 s so far"),
        (job(JobState::Running, None), "the job runs in Unity, 2.0 s so far"),
        (job(JobState::Running, half(None)), "2 of 5 done, 2.0 s so far"),
        (job(JobState::Running, half(Some("A\nB"))), "2 of 5 done, now A\\u{a}B, 2.0 s so far"),
    ] {
        assert_eq!(rendering::progress(&report), line);
    }
}

#[test]
fn the_states_have_the_names_of_the_wire() {
    use ServerState::{Booting, Ready, Stopped, Stopping, WaitingEditor};
    let servers = [Booting, WaitingEditor, Ready, Stopping, Stopped].map(rendering::server_state);
    assert_eq!(servers, ["booting", "waiting_editor", "ready", "stopping", "stopped"]);
    let editors = [None, Some(EditorState::Ready), Some(EditorState::Compiling)];
    assert_eq!(editors.map(rendering::editor_state), ["unknown", "ready", "compiling"]);
    assert_eq!(rendering::editor_state(Some(EditorState::Reloading)), "reloading");
    let reasons =
        [Reason::Disconnected, Reason::Compiling, Reason::Reloading, Reason::Unresponsive];
    let names = ["disconnected", "compiling", "reloading", "unresponsive"];
    assert_eq!(reasons.map(Reason::text), names);
}

#[test]
fn an_editor_report_shows_the_request_that_runs() {
    let report = EditorReport {
        last_compile: None,
        server_state: ServerState::Ready,
        editor_state: Some(EditorState::Compiling),
        connected: true,
        last_editor_status_seq: Some(7),
        waiting_reason: Some(Reason::Compiling),
        queue_length: 2,
        running: Some(Running {
            request_id: RequestId("req-s1-1".to_owned()),
            tool_name: "read_console",
            elapsed: Duration::from_millis(1_500),
            overdue: true,
        }),
        plugin_version: Some("1.0.0".to_owned()),
        server_version: "1.0.1".to_owned(),
        project: Some(ProjectReport {
            path: Some("/work/game".to_owned()),
            name: Some("game".to_owned()),
            unity_version: None,
        }),
        refused: Some(RefusedReport {
            reason: "other_project",
            project_path: "/work/other".to_owned(),
            ago: Duration::from_millis(90_000),
        }),
        jobs: vec![JobSummary {
            job: job_of(run_tests(true)),
            tool_name: "run_tests",
            state: JobState::Running,
            submitted: Timestamp::from_millis(40),
            age: Duration::from_millis(1_200),
        }],
        unchanged_for: Duration::from_millis(500),
        last_disconnect: None,
    };
    let shown = rendering::answer(Answer::EditorState(Box::new(report)), &clock);
    assert_eq!(
        shown,
        json!({
            "server_state": "ready",
            "editor_state": "compiling",
            "connected": true,
            "last_editor_status_seq": 7,
            "waiting_reason": "compiling",
            "queue_length": 2,
            "running": {
                "request_id": "req-s1-1",
                "tool_name": "read_console",
                "elapsed_ms": 1_500,
                "overdue": true,
            },
            "plugin_version": "1.0.0",
            "server_version": "1.0.1",
            "project": { "path": "/work/game", "name": "game", "unity_version": null },
            "refused": {
                "reason": "other_project",
                "project_path": "/work/other",
                "ms_ago": 90_000,
            },
            "jobs": [{
                "job_id": "job-s1-1",
                "tool_name": "run_tests",
                "state": "running",
                "submitted_at": "40 ms",
                "age_ms": 1_200,
            }],
        })
    );
}

fn clock(at: Timestamp) -> String {
    format!("{} ms", at.since_start().as_millis())
}

fn job_of(outcome: coordination::Outcome) -> coordination::JobId {
    let Ok(Answer::JobAccepted { job, .. }) = outcome else { panic!() };
    job
}

/// What the core answers to a `run_tests`, with a ready Editor or with none.
fn run_tests(has_editor: bool) -> coordination::Outcome {
    let boot = Boot::new("s1").unwrap();
    let mut core = ExecutionCoordinator::new(Limits::default(), boot, "1.0.0");
    let mut events = vec![Event::PortBound];
    if has_editor {
        let on = ConnectionId(1);
        let hello =
            r#"{"type":"hello","protocol_version":1,"plugin_version":"1.0.0","state":"ready"}"#;
        events.push(Event::UnityOpened { on });
        events.push(Event::UnityFrame { on, frame: decode(hello.as_bytes()) });
    }
    let request = validate(RawCall { tool: "run_tests".to_owned(), arguments: Map::new() });
    let (call, request) = (CallId(1), request.unwrap());
    events.push(Event::CallReceived { call, request, wants_progress: false });
    let mut effects: Vec<Effect> =
        events.into_iter().flat_map(|event| core.handle(Timestamp::default(), event)).collect();
    effects.extend(core.handle(Timestamp::from_millis(2_500), Event::DeadlineReached));
    let mut replies = effects.into_iter().filter_map(|effect| {
        if let Effect::Reply { outcome, .. } = effect { Some(outcome) } else { None }
    });
    replies.next().unwrap()
}

#[test]
fn a_job_and_its_cancel_are_shown() {
    let Ok(Answer::JobAccepted { job, state, times }) = run_tests(true) else { panic!() };
    let accepted = rendering::answer(Answer::JobAccepted { job, state, times }, &clock);
    assert_eq!(
        accepted,
        json!({ "job_id": "job-s1-1", "state": "queued", "submitted_at": "0 ms" })
    );

    for (status, name) in [
        (CancelAnswer::Cancelled, "cancelled"),
        (CancelAnswer::CancelRequested, "cancel_requested"),
        (CancelAnswer::Rejected, "rejected"),
    ] {
        let shown = rendering::answer(Answer::Cancel { job, status }, &clock);
        assert_eq!(shown, json!({ "job_id": "job-s1-1", "status": name }));
    }

    let Err(mut failure) = run_tests(false) else { panic!() };
    failure.unity = Some(Box::new(ErrorBody {
        code: "ERR_UNITY_EXECUTION".to_owned(),
        retryable: None,
        message: "no".to_owned(),
        details: None,
    }));
    failure.overdue = Some(RequestId("req-s1-9".to_owned()));
    let shown_failure = rendering::failure(&failure);
    assert_eq!(shown_failure["code"], failure.code.text());
    assert_eq!(shown_failure["message"], failure.message());
    assert_eq!(shown_failure["retryable"], failure.retryable);
    assert_eq!(shown_failure["details"]["execution_guarantee"], failure.guarantee.text());
    assert_eq!(shown_failure["details"]["recovery_action"], failure.recovery.text());
    assert_eq!(shown_failure["details"]["waiting_reason"], "disconnected");
    assert_eq!(shown_failure["details"]["overdue_request_id"], "req-s1-9");
    assert_eq!(shown_failure["details"]["unity"]["message"], "no");

    let report = |cancel| {
        let (progress, result) = (None, Some(json!({ "passed": 3 })));
        let error = Some(failure.clone());
        let state = JobState::Failed;
        let report = JobReport { job, state, times, progress, result, error, cancel };
        rendering::answer(Answer::Job(Box::new(report)), &clock)
    };
    // As text: the verdict comes before the long result, and nothing is empty.
    let text = |cancel: &str| {
        format!(
            r#"{{"state":"failed","job_id":"job-s1-1","error":{shown_failure}{cancel},"submitted_at":"0 ms","result":{{"passed":3}}}}"#
        )
    };
    assert_eq!(report(None).to_string(), text(""));
    assert_eq!(report(Some(CancelView::Requested)).to_string(), text(r#","cancel":"requested""#));
    let rejected = format!(r#","cancel":"rejected","cancel_error":{shown_failure}"#);
    assert_eq!(report(Some(CancelView::Rejected(failure.clone()))).to_string(), text(&rejected));
}

#[test]
fn each_setting_changes_one_limit_and_gives_it_back() {
    let usual = Limits::default();
    for setting in &SETTINGS {
        assert!((setting.min..=setting.max).contains(&setting.get(&usual)), "{}", setting.name);
        for value in [setting.min, setting.max] {
            let mut limits = usual.clone();
            setting.set(&mut limits, value);
            assert_eq!(setting.get(&limits), value, "{}", setting.name);
            let others = SETTINGS.iter().filter(|other| other.name != setting.name);
            for other in others {
                assert_eq!(other.get(&limits), other.get(&usual), "{}", setting.name);
            }
        }
    }
}
