//! The demo: a tour with a real server, a Unity without Unity and a real MCP client.

mod editor_host;
mod server;
mod unity;

use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use protocol::{Json, printable};
use rmcp_client::model::{CallToolRequestParams, JsonObject, ProgressNotificationParam};
use rmcp_client::service::{NotificationContext, RunningService};
use rmcp_client::{ClientHandler, RoleClient, ServiceExt};
use serde_json::json;
use tokio::process::Child;
use tokio::task::yield_now;
use tokio::time::{Instant, sleep, timeout};

use crate::cli::Demo;
use crate::display::{Colour, Style, write_line};
use server::Shown;
use unity::Unity;

/// The port that agents and plugins expect.
const DEFAULT_PORT: u16 = 8091;
/// Longer than any step takes, unless it hangs.
const STEP_TIMEOUT: Duration = Duration::from_secs(60);

/// The agent. It shows the progress reports of its calls.
struct Agent;

impl ClientHandler for Agent {
    async fn on_progress(
        &self,
        progress: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        say("…", Colour::Faint, &printable(&progress.message.unwrap_or_default(), 100));
    }
}

/// Server, agent and Unity.
struct Stage {
    port: u16,
    server: Child,
    agent: RunningService<RoleClient, Agent>,
    unity: Unity,
    shown: Arc<Shown>,
}

pub(crate) async fn run(demo: Demo) -> Result<(), String> {
    let program = match demo.server {
        Some(program) => program,
        None => server::find().await?,
    };
    let plugin = if demo.plugin { Some(editor_host::find().await?) } else { None };
    let port = demo.port.or(demo.stay.then_some(DEFAULT_PORT)).unwrap_or(0);
    // A server with --stdio would relay to the one that has the port.
    TcpListener::bind(("127.0.0.1", port)).map_err(|error| {
        format!("port {port} is not free ({error}); choose another one with --port")
    })?;
    write_line(
        "unity-mcp connects AI agents with the Unity Editor. This tour shows what happens while a (mock)",
    );
    write_line(
        "Unity compiles and reloads: no call is lost, none runs twice, and the agent does not poll.",
    );
    if plugin.is_some() {
        write_line("The plugin is the real one. It runs on Mono, in a stand-in for the Editor.");
    }
    let shown = Shown { whole_log: demo.server_log, calls: AtomicBool::new(false) };
    let stage = Stage::set(&program, plugin.as_deref(), port, shown).await?;
    stage.story().await?;
    if demo.stay {
        stage.stay().await?;
    } else {
        stage.end().await?;
        write_line("\nTo keep it running and connect your own agent:");
        let flag = if plugin.is_some() { " --plugin" } else { "" };
        let program = if server::runs_under_cargo() {
            "cargo run --release -p mock-unity --".to_owned()
        } else {
            own_name()
        };
        write_line(&format!("  {program} demo{flag} --stay"));
    }
    Ok(())
}

impl Stage {
    /// Up to the moment when Unity begins to connect.
    async fn set(
        program: &Path,
        plugin: Option<&Path>,
        port: u16,
        shown: Shown,
    ) -> Result<Self, String> {
        let mut server = server::start(program, port)?;
        let streams = server.stdout.take().zip(server.stdin.take());
        let streams = streams.ok_or("the server has no stdio")?;
        let log = server.stderr.take().ok_or("the server has no log")?;
        let silent = |_| "the server does not answer".to_owned();
        let shown = Arc::new(shown);
        let port = server::read_log(log, shown.clone());
        let port = timeout(STEP_TIMEOUT, port).await.map_err(silent)??;
        let agent = timeout(STEP_TIMEOUT, Agent.serve(streams)).await.map_err(silent)?;
        let agent = agent.map_err(|error| format!("the server does not answer as MCP: {error}"))?;
        chapter("1. An agent lists the tools");
        let tools = agent.list_all_tools().await.map_err(|error| error.to_string())?;
        let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_ref()).collect();
        agent_says(&format!("sees {}", names.join(", ")));

        chapter("2. Unity connects");
        let unity = match plugin {
            Some(host) => Unity::plugin(host, port)?,
            None => Unity::mock(port),
        };
        Ok(Self { port, server, agent, unity, shown })
    }

    async fn story(&self) -> Result<(), String> {
        self.wait_for("get_editor_state", json!({}), |state| at(state, "/connected") == "true")
            .await?;
        let state = self.show("get_editor_state", json!({})).await?;
        let (server, editor) = (at(&state, "/server_state"), at(&state, "/editor_state"));
        detail(&format!("the server is {server}, the Editor is {editor}"));
        let console =
            self.show("read_console", json!({ "types": ["exception", "warning"] })).await?;
        for entry in items(&console, "/entries") {
            detail(&format!("{}: {}", at(entry, "/type"), at(entry, "/message")));
        }

        chapter("3. Unity compiles; the agent calls anyway, and the call waits");
        self.unity.order("compile 2s").await;
        let busy = |state: &Json| at(state, "/editor_state") != "ready";
        // On a slow machine the compile may be over before this sees it.
        self.wait_at_most(Duration::from_secs(1), "get_editor_state", json!({}), busy).await?;
        self.show("read_console", json!({ "max_entries": 1 })).await?;

        self.tests_over_a_reload().await?;
        self.tests_cancelled().await?;

        chapter("6. A call with a wrong argument is rejected and does not run");
        let refused = self.raw_call("read_console", json!({ "max_entries": 0 })).await?;
        agent_says(&format!("read_console -> {}", at(&refused, "/error/code")));
        let ran = at(&refused, "/error/details/execution_guarantee");
        detail(&format!("{} ({ran})", at(&refused, "/error/message")));
        Ok(())
    }

    async fn tests_over_a_reload(&self) -> Result<(), String> {
        chapter("4. A test run, with a compile and a domain reload in the middle");
        let job = self.show("run_tests", json!({})).await?;
        let id = at(&job, "/job_id");
        detail(&format!("{id} is {}", at(&job, "/state")));
        sleep(Duration::from_millis(700)).await;
        self.unity.order("compile 1s").await;
        let arguments = json!({ "job_id": id, "wait_ms": 20_000 });
        let ended = self.wait_for("get_job_status", arguments, has_ended).await?;
        let count = |name: &str| at(&ended, &format!("/result/summary/{name}"));
        let line = format!(
            "get_job_status -> {}: {} tests, {} passed, {} failed",
            at(&ended, "/state"),
            count("total"),
            count("passed"),
            count("failed")
        );
        agent_says(&line);
        for test in items(&ended, "/result/failed_tests") {
            detail(&format!("{}: {}", at(test, "/name"), at(test, "/message")));
        }
        Ok(())
    }

    async fn tests_cancelled(&self) -> Result<(), String> {
        chapter("5. A test run that is cancelled");
        let job = self.show("run_tests", json!({ "mode": "edit" })).await?;
        let id = at(&job, "/job_id");
        // The run has started in Unity when there is progress.
        let arguments = json!({ "job_id": id });
        let begun = |job: &Json| at(job, "/progress/total") == "15" || has_ended(job);
        self.wait_for("get_job_status", arguments.clone(), begun).await?;
        let cancel = self.show("cancel_job", arguments).await?;
        detail(&at(&cancel, "/status"));
        let ended = self.wait_for("get_job_status", json!({ "job_id": id }), has_ended).await?;
        agent_says(&format!("get_job_status -> {}", at(&ended, "/state")));
        Ok(())
    }

    /// Repeats a call until its answer fits.
    async fn wait_for(
        &self,
        tool: &str,
        arguments: Json,
        wanted: impl Fn(&Json) -> bool,
    ) -> Result<Json, String> {
        let answer = self.wait_at_most(STEP_TIMEOUT, tool, arguments, wanted).await?;
        answer.ok_or_else(|| format!("{tool} did not return the expected answer in time"))
    }

    async fn wait_at_most(
        &self,
        limit: Duration,
        tool: &str,
        arguments: Json,
        wanted: impl Fn(&Json) -> bool,
    ) -> Result<Option<Json>, String> {
        let began = Instant::now();
        while began.elapsed() < limit {
            let answer = self.call(tool, arguments.clone()).await?;
            if wanted(&answer) {
                return Ok(Some(answer));
            }
            sleep(Duration::from_millis(50)).await;
        }
        Ok(None)
    }

    /// The answer of a tool. An error object is an `Err`.
    async fn call(&self, tool: &str, arguments: Json) -> Result<Json, String> {
        let answer = self.raw_call(tool, arguments).await?;
        match answer.get("error") {
            Some(error) if error.get("details").is_some() => Err(format!("{tool}: {error}")),
            Some(_) | None => Ok(answer),
        }
    }

    async fn raw_call(&self, tool: &str, arguments: Json) -> Result<Json, String> {
        let arguments: JsonObject = arguments.as_object().cloned().unwrap_or_default();
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let result = self.agent.call_tool(params).await.map_err(|error| error.to_string())?;
        let text = result.content.first().and_then(|content| content.as_text());
        let text = text.map(|content| content.text.as_str()).unwrap_or_default();
        serde_json::from_str(text).map_err(|error| format!("{tool}: {error}"))
    }

    async fn show(&self, tool: &str, arguments: Json) -> Result<Json, String> {
        let began = Instant::now();
        let answer = self.call(tool, arguments).await?;
        agent_says(&format!("{tool} -> answered after {} ms", began.elapsed().as_millis()));
        Ok(answer)
    }

    /// Until Ctrl-C, or until a person types `quit`.
    async fn stay(self) -> Result<(), String> {
        let interrupt = tokio::spawn(tokio::signal::ctrl_c());
        yield_now().await; // The handler must be installed before the text below is printed.
        self.shown.calls.store(true, Ordering::Relaxed);
        let url = format!("http://127.0.0.1:{}/mcp", self.port);
        write_line(
            "\nServer and Unity run until Ctrl-C. Connect your own agent; its calls are shown here:",
        );
        write_line(&format!("  claude mcp add --transport http unity {url}"));
        write_line(&format!("  codex mcp add unity --url {url}"));
        write_line(&format!(
            "  {}",
            json!({ "mcpServers": { "unity": { "type": "http", "url": url } } })
        ));
        write_line(&format!("Watch it in a browser: http://127.0.0.1:{}/", self.port));
        write_line(
            "Type what Unity shall do, for example \"compile 3s\"; \"help\" lists the commands.",
        );
        self.unity.read_commands();
        tokio::select! {
            // The demo ends even if the handler failed.
            _ = interrupt => {}
            // Unity's record is shown below.
            () = self.unity.closed() => {}
        }
        self.end().await
    }

    /// Shows what Unity has seen, then ends the server.
    async fn end(mut self) -> Result<(), String> {
        let seen = self.unity.end().await?;
        write_line(&format!("\nWhat Unity has seen: {seen}"));
        self.agent.cancel().await.map_err(|error| error.to_string())?;
        let ended = self.server.wait().await.map_err(|error| error.to_string())?;
        if !ended.success() {
            return Err(format!("the server ended with {ended}"));
        }
        Ok(())
    }
}

/// This program, as it was typed.
fn own_name() -> String {
    let typed = std::env::args_os().next().map(|name| name.to_string_lossy().into_owned());
    match typed {
        Some(name) if name.contains(' ') => format!("\"{}\"", printable(&name, 400)),
        Some(name) => printable(&name, 400),
        None => "mock-unity".to_owned(),
    }
}

/// The value at a JSON pointer, as text in one line.
fn at(answer: &Json, place: &str) -> String {
    match answer.pointer(place) {
        None | Some(Json::Null) => String::new(),
        Some(Json::String(text)) => {
            printable(&text.split_whitespace().collect::<Vec<_>>().join(" "), 200)
        }
        Some(other) => other.to_string(),
    }
}

fn items<'a>(answer: &'a Json, place: &str) -> impl Iterator<Item = &'a Json> {
    answer.pointer(place).and_then(Json::as_array).into_iter().flatten()
}

fn has_ended(job: &Json) -> bool {
    !matches!(at(job, "/state").as_str(), "queued" | "running")
}

fn chapter(title: &str) {
    write_line(&format!("\n{}", Style::text().paint(Colour::Bold, title)));
}

fn say(who: &str, colour: Colour, what: &str) {
    let who = Style::text().paint(colour, &format!("{who:>8}"));
    write_line(&format!("  {who}  {what}"));
}

/// A line of the agent.
fn agent_says(what: &str) {
    say("agent", Colour::Cyan, what);
}

/// More about the line before.
fn detail(what: &str) {
    say("", Colour::Faint, what);
}

fn unity_says(what: &str) {
    say("Unity", Colour::Yellow, what);
}
