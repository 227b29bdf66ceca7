//! `unity-mcp verify`: compile, then test, then look for new errors in the console. One verdict.

use std::time::{Duration, Instant};

use coordination::Catalog;
use protocol::{Json, Map, printable};
use serde_json::json;

use super::EXIT_SIGNAL;
use super::call_error::CallError;
use super::jobs::{self, CurrentJob};
use super::output::{ProgressLine, complain, print, print_json};
use super::session::{ServerOptions, Session};
use super::verify_report::{Outcome, Report, Step};
use crate::budget::{COMMAND_WAIT_MS, VERIFY_ENTRIES_MAX};
use crate::system::StopSignals;

const COMMAND: &str = "verify";
const COMPILE: &str = "script_recompile_trigger";
const ERRORS: [&str; 3] = ["error", "exception", "assert"];

pub struct Options {
    pub server: ServerOptions,
    /// Which tests: the arguments `mode` and `filter` of `run_tests`.
    pub mode: Option<String>,
    pub filter: Option<String>,
    pub json: bool,
    pub quiet: bool,
}

/// Returns the exit code.
pub async fn run(options: &Options) -> i32 {
    let mut signals = StopSignals::catch();
    let opened = tokio::select! {
        opened = Session::open(&options.server, Some(Catalog::V1_1)) => opened,
        () = signals.next() => return EXIT_SIGNAL, // Nothing was sent.
    };
    let session = match opened {
        Ok(session) => session,
        Err(error) => return refused(options, &error),
    };
    let current = CurrentJob::default();
    let ended = tokio::select! {
        ended = verify(&session, options, &current) => Some(ended),
        () = signals.next() => None,
    };
    match ended {
        Some(Ok(report)) => {
            if options.json {
                print_json(&report.as_json());
            } else {
                print(&report.verdict());
            }
            report.exit_code()
        }
        Some(Err(error)) => refused(options, &error),
        None => {
            tokio::select! {
                told = jobs::cancel(&session.client, &current) => complain(COMMAND, &told),
                () = signals.next() => {}
            }
            EXIT_SIGNAL
        }
    }
}

/// Nothing has run.
fn refused(options: &Options, error: &CallError) -> i32 {
    if options.json {
        print_json(&json!({ "error": error.0 }));
    }
    complain(COMMAND, &error.told());
    error.exit_code()
}

async fn verify(
    session: &Session,
    options: &Options,
    current: &CurrentJob,
) -> Result<Report, CallError> {
    let tools = session.client.tools().await?;
    if !tools.iter().any(|tool| tool.name == COMPILE) {
        return Err(CallError::no_server(
            "Nothing ran, because verify needs the tools of catalogue 1.1 and this server has catalogue 1.0; restart it with --catalog 1.1, or set \"catalog\": \"1.1\" in unity-mcp.server.json.",
        ));
    }
    let mut run = Run {
        session,
        current,
        progress: ProgressLine::new(options.quiet || options.json),
        is_shown: !options.json,
        report: Report::default(),
    };
    // Where the console ends now: what is older is not the fault of this run.
    let cursor = run.newest_entry().await?;
    let compiled = run.compile().await;
    if compiled == Outcome::Passed {
        run.test(options).await;
        run.look_at_console(cursor).await;
    }
    Ok(run.report)
}

/// How a step ended: in a few words, and with what the tool gave.
type Ended = Result<(Outcome, String, Json), CallError>;

struct Run<'a> {
    session: &'a Session,
    current: &'a CurrentJob,
    progress: ProgressLine,
    /// Whether each step is shown as soon as it has ended.
    is_shown: bool,
    report: Report,
}

impl Run<'_> {
    async fn newest_entry(&mut self) -> Result<Option<String>, CallError> {
        self.progress.set_label("console");
        let arguments = Map::from_iter([("max_entries".to_owned(), json!(1))]);
        let answer =
            self.session.client.call("read_console", &arguments, &mut self.progress).await?;
        Ok(answer.get("cursor").and_then(Json::as_str).map(str::to_owned))
    }

    async fn compile(&mut self) -> Outcome {
        let began = Instant::now();
        let ended = self.job("compile", COMPILE, Map::new()).await.and_then(compile_verdict);
        let ended = match ended {
            Ok((Outcome::Passed, _, result)) if is_up_to_date(&result) => {
                self.compiled_before(result).await
            }
            ended => ended,
        };
        self.end("compile", began.elapsed(), ended)
    }

    /// Nothing had to be compiled. The last compile may have failed all the same.
    async fn compiled_before(&mut self, result: Json) -> Ended {
        let client = &self.session.client;
        let state = client.call("get_editor_state", &Map::new(), &mut self.progress).await?;
        let last = |name: &str| state.pointer(&format!("/last_compile/{name}"));
        if last("outcome").and_then(Json::as_str) != Some("failed") {
            return Ok((Outcome::Passed, "nothing to compile".to_owned(), result));
        }
        let errors = counted(last("errors").and_then(Json::as_u64).unwrap_or_default(), "error");
        let summary = format!(
            "no script has changed since the last compile, which had {errors}; read_console shows them"
        );
        Ok((Outcome::Failed, summary, result))
    }

    async fn test(&mut self, options: &Options) -> Outcome {
        let given = [("mode", &options.mode), ("filter", &options.filter)];
        let arguments = given
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), json!(value.as_ref()?))));
        let began = Instant::now();
        let ended = self.job("tests", "run_tests", arguments.collect()).await;
        self.end("tests", began.elapsed(), ended.and_then(test_verdict))
    }

    async fn look_at_console(&mut self, cursor: Option<String>) -> Outcome {
        let began = Instant::now();
        let Some(cursor) = cursor else {
            let skipped = (
                Outcome::Passed,
                "the plugin has no cursors, so nothing was compared".to_owned(),
                json!({}),
            );
            return self.end("console", began.elapsed(), Ok(skipped));
        };
        self.progress.set_label("console");
        let arguments = Map::from_iter([
            ("types".to_owned(), json!(ERRORS)),
            ("since".to_owned(), json!(cursor)),
            ("max_entries".to_owned(), json!(VERIFY_ENTRIES_MAX)),
        ]);
        let ended = self.session.client.call("read_console", &arguments, &mut self.progress).await;
        self.end("console", began.elapsed(), ended.map(console_verdict))
    }

    /// Runs a job to its end.
    async fn job(
        &mut self,
        label: &str,
        tool: &str,
        mut arguments: Map<String, Json>,
    ) -> Result<Json, CallError> {
        self.progress.set_label(label);
        arguments.insert("wait_ms".to_owned(), json!(COMMAND_WAIT_MS));
        let client = &self.session.client;
        jobs::run_to_end(client, tool, &arguments, &mut self.progress, self.current).await
    }

    fn end(&mut self, name: &'static str, took: Duration, ended: Ended) -> Outcome {
        self.progress.clear();
        let step = match ended {
            Ok((outcome, summary, result)) => {
                Step { name, outcome, took, summary, result: Ok(result) }
            }
            Err(error) => {
                let outcome = Outcome::of_code(error.exit_code());
                let summary = error.told();
                Step { name, outcome, took, summary, result: Err(error.0) }
            }
        };
        if self.is_shown {
            print(&step.shown());
        }
        let outcome = step.outcome;
        self.report.steps.push(step);
        outcome
    }
}

/// What a job gave. A job without a result has an error.
fn result_of(job: &Json) -> Result<Json, CallError> {
    match (job.get("result"), job.get("error")) {
        (Some(result), _) => Ok(result.clone()),
        (None, Some(error)) => Err(CallError(error.clone())),
        (None, None) => Ok(json!({})),
    }
}

fn is_up_to_date(result: &Json) -> bool {
    result.get("outcome").and_then(Json::as_str) == Some("up_to_date")
}

fn compile_verdict(job: Json) -> Ended {
    let result = result_of(&job)?;
    let number = |name: &str| result.get(name).and_then(Json::as_u64).unwrap_or_default();
    let listed = result.get("errors").and_then(Json::as_array).map_or(0, Vec::len) as u64;
    let errors = listed + number("errors_left_out");
    if job.get("state").and_then(Json::as_str) == Some("succeeded") {
        let summary = format!("no errors, {}", counted(number("warnings"), "warning"));
        return Ok((Outcome::Passed, summary, result));
    }
    Ok((Outcome::Failed, counted(errors, "error"), result))
}

fn test_verdict(job: Json) -> Ended {
    if let Some(error) = job.get("error") {
        return Err(CallError(error.clone())); // No test was executed, or the run broke off.
    }
    let result = result_of(&job)?;
    let number = |name: &str| {
        result.pointer(&format!("/summary/{name}")).and_then(Json::as_u64).unwrap_or(0)
    };
    let (total, failed, skipped) = (number("total"), number("failed"), number("skipped"));
    let skipped = if skipped > 0 { format!(", {skipped} skipped") } else { String::new() };
    let total = counted(total, "test");
    if job.get("state").and_then(Json::as_str) == Some("succeeded") {
        Ok((Outcome::Passed, format!("{total}{skipped}"), result))
    } else {
        Ok((Outcome::Failed, format!("{failed} of {total} failed{skipped}"), result))
    }
}

fn console_verdict(answer: Json) -> (Outcome, String, Json) {
    if answer.get("cursor_lost").and_then(Json::as_bool) == Some(true) {
        let what = "the Editor was restarted, so its console cannot be compared".to_owned();
        return (Outcome::Failed, what, answer);
    }
    let count = answer.get("count").and_then(Json::as_u64).unwrap_or_default();
    let more = answer.get("truncated").and_then(Json::as_bool) == Some(true);
    let at_least = if more { "at least " } else { "" };
    match count {
        0 if !more => (Outcome::Passed, "no new errors".to_owned(), answer),
        _ => {
            let what = format!("{at_least}{}", counted(count, "new error"));
            (Outcome::Failed, what, answer)
        }
    }
}

fn counted(count: u64, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {}{plural}", printable(what, 40))
}
