//! `unity-mcp call`: one call of a tool, from a shell.

use std::io::Read as _;

use coordination::{Catalog, Tool};
use protocol::{ExecutionMode, Json, Map};
use serde_json::json;

use super::arguments;
use super::call_error::{CallError, exit_code_of};
use super::jobs::{self, CurrentJob};
use super::output::{ProgressLine, complain, print, print_json};
use super::session::{ServerOptions, Session};
use super::tool_list::{self, ListedTool};
use super::{EXIT_OK, EXIT_SIGNAL};
use crate::budget::{COMMAND_STDIN_BYTES_MAX, COMMAND_WAIT_MS};
use crate::system::{StopSignals, random_name};

const COMMAND: &str = "call";

pub struct Options {
    pub server: ServerOptions,
    pub asked: Asked,
    /// Print one object, `{result}` or `{error}`.
    pub json: bool,
    /// No progress.
    pub quiet: bool,
}

pub enum Asked {
    /// Show the tools, or one of them.
    List(Option<String>),
    Call {
        tool: String,
        /// As they were typed.
        arguments: Vec<String>,
        /// Until its job has ended.
        wait: bool,
    },
}

/// Returns the exit code.
pub async fn run(options: &Options) -> i32 {
    let mut signals = StopSignals::catch();
    let opened = tokio::select! {
        opened = Session::open(&options.server, catalog_for(&options.asked)) => opened,
        () = signals.next() => return EXIT_SIGNAL, // Nothing was sent.
    };
    let session = match opened {
        Ok(session) => session,
        Err(error) => return refused(options, &error),
    };
    let current = CurrentJob::default();
    let ended = tokio::select! {
        ended = act(&session, options, &current) => Some(ended),
        () = signals.next() => None,
    };
    match ended {
        Some(Ok(code)) => code,
        Some(Err(error)) => refused(options, &error),
        None => {
            // A second signal ends this too.
            tokio::select! {
                told = jobs::cancel(&session.client, &current) => complain(COMMAND, &told),
                () = signals.next() => {}
            }
            EXIT_SIGNAL
        }
    }
}

/// A server that is started for a tool of catalogue 1.1 must have it. Else its settings decide.
fn catalog_for(asked: &Asked) -> Option<Catalog> {
    let (Asked::List(Some(tool)) | Asked::Call { tool, .. }) = asked else { return None };
    let is_new = Catalog::V1_0.tool(tool).is_none() && Catalog::V1_1.tool(tool).is_some();
    is_new.then_some(Catalog::V1_1)
}

fn refused(options: &Options, error: &CallError) -> i32 {
    if options.json {
        print_json(&json!({ "error": error.0 }));
    }
    complain(COMMAND, &error.told());
    error.exit_code()
}

async fn act(session: &Session, options: &Options, current: &CurrentJob) -> Result<i32, CallError> {
    let tools = session.client.tools().await?;
    match &options.asked {
        Asked::List(name) => {
            let shown: Vec<&ListedTool> = match name {
                Some(name) => vec![tool_list::find(&tools, name).map_err(CallError::usage)?],
                None => tools.iter().collect(),
            };
            list(&shown, options.json);
            Ok(EXIT_OK)
        }
        Asked::Call { tool, arguments, wait } => {
            let tool = tool_list::find(&tools, tool).map_err(CallError::usage)?;
            let arguments = arguments::parse(tool, arguments, read_stdin);
            let mut arguments = arguments.map_err(CallError::usage)?;
            name_the_call(tool, &mut arguments)?;
            let is_job = Tool::named(&tool.name)
                .is_some_and(|tool| tool.execution_mode() == ExecutionMode::Job);
            let must_wait = is_job && !wait && session.ends_server();
            if must_wait {
                complain(
                    COMMAND,
                    "the server of --start ends with this command, so it waits until the job has ended, as with --wait",
                );
            }
            let wait = *wait || must_wait;
            let answer = call(session, options, tool, arguments, wait, current).await?;
            let code = exit_code_of(&answer);
            if code != EXIT_OK {
                complain(COMMAND, &why_job_failed(&answer));
            }
            print_json(&if options.json { json!({ "result": answer }) } else { answer });
            Ok(code)
        }
    }
}

fn list(tools: &[&ListedTool], as_json: bool) {
    if as_json {
        let described: Json = tools.iter().map(|tool| tool.described.clone()).collect();
        print_json(&json!({ "tools": described }));
    } else {
        let shown: Vec<String> = tools.iter().map(|tool| tool.shown()).collect();
        print(&shown.join("\n"));
    }
}

async fn call(
    session: &Session,
    options: &Options,
    tool: &ListedTool,
    mut arguments: Map<String, Json>,
    wait: bool,
    current: &CurrentJob,
) -> Result<Json, CallError> {
    let mut progress = ProgressLine::new(options.quiet);
    if !wait {
        return session.client.call(&tool.name, &arguments, &mut progress).await;
    }
    if tool.property("wait_ms").is_some() {
        arguments.entry("wait_ms").or_insert_with(|| json!(COMMAND_WAIT_MS));
    }
    jobs::run_to_end(&session.client, &tool.name, &arguments, &mut progress, current).await
}

/// A tool that must not run twice wants a name for each call.
fn name_the_call(tool: &ListedTool, arguments: &mut Map<String, Json>) -> Result<(), CallError> {
    let name = "client_request_id";
    if tool.requires(name) && !arguments.contains_key(name) {
        let random = random_name().map_err(|error| {
            CallError::no_server(&format!("Nothing ran: no randomness: {error}."))
        })?;
        arguments.insert(name.to_owned(), json!(format!("call-{random}")));
    }
    Ok(())
}

fn read_stdin() -> Result<Vec<u8>, String> {
    let mut text = Vec::new();
    let mut stdin = std::io::stdin().take(COMMAND_STDIN_BYTES_MAX + 1);
    let read = stdin.read_to_end(&mut text);
    let read = read.map_err(|error| format!("Nothing ran: stdin cannot be read: {error}."))?;
    if read as u64 > COMMAND_STDIN_BYTES_MAX {
        return Err(format!("Nothing ran: stdin has more than {COMMAND_STDIN_BYTES_MAX} bytes."));
    }
    Ok(text)
}

fn why_job_failed(answer: &Json) -> String {
    let text = |name: &str| answer.get(name).and_then(Json::as_str).unwrap_or_default();
    let (job, state) = (text("job_id"), text("state"));
    let count = |name: &str| answer.pointer(&format!("/result/summary/{name}"))?.as_u64();
    match (answer.get("error"), count("failed"), count("total")) {
        (Some(error), _, _) => CallError(error.clone()).told(),
        (None, Some(failed @ 1..), Some(total)) => format!("{failed} of {total} tests failed."),
        (None, _, _) => format!("{job} ended: {state}."),
    }
}
