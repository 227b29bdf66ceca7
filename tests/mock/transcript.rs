//! Ten calls of an agent, recorded in docs/USING.md. A run must give the same text as the record, apart from
//! names and times. `BLESS=1` records it again.

use std::path::Path;

use harness::agent::{HttpAgent, StdioAgent};
use serde_json::{Value, json};

use crate::mock::connected;

const BEGIN: &str = "<!-- recorded -->\n";
const END: &str = "<!-- end -->\n";

struct Recorder {
    agent: StdioAgent,
    text: String,
}

impl Recorder {
    fn note(&mut self, what: &str) {
        self.text += &format!("# {what}\n");
    }

    fn begin(&mut self, tool: &str, arguments: Value) -> u64 {
        self.text += &format!("> {tool} {arguments}\n");
        self.agent.call_with_progress(tool, arguments)
    }

    /// Notes the answer, and the first progress report before it.
    fn end(&mut self, id: u64) -> Value {
        let answer = self.agent.outcome(id).unwrap();
        if let Some(report) = self.agent.notifications.first() {
            self.text += &format!("~ {}\n", report["params"]["message"].as_str().unwrap());
        }
        self.agent.notifications.clear();
        self.text += &format!("< {answer}\n\n");
        answer
    }

    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let id = self.begin(tool, arguments);
        self.end(id)
    }
}

#[test]
fn ten_calls_come_to_what_docs_using_md_shows() {
    let (mut server, watcher, mut unity) = connected(&["--stdio"], &["--reload", "1s"]);
    let agent = StdioAgent::new(&mut server);
    let mut recorder = Recorder { agent, text: String::new() };

    recorder.call("get_editor_state", json!({}));
    let of_errors = json!(["error", "exception"]);
    let console =
        recorder.call("read_console", json!({ "types": of_errors, "stack_traces": false }));
    let job = recorder.call("run_tests", json!({ "mode": "edit" }));
    let job = json!({ "job_id": job["job_id"] });
    // Wait until Unity has the job: an earlier reload would lose it.
    while watcher.run("get_job_status", &job).unwrap()["progress"].is_null() {}

    recorder.note(
        "Somebody saves a script: Unity compiles and reloads its domain in the middle of the run.",
    );
    unity.type_line("log warning \"CS0168: the variable 'hit' is declared but never used\"");
    unity.type_line("compile 1s");
    wait_for(&watcher, "get_editor_state", &json!({}), "editor_state", "compiling");
    recorder.call("read_console", json!({ "since": console["cursor"] }));
    recorder.call("get_job_status", with_wait(&job));

    recorder
        .note("The agent has fixed the cause of the failures, and runs one of those tests alone.");
    unity.type_line("tests pass");
    unity.type_line("status");
    // The mock handles words in order, so this answer shows that the first word is done.
    unity.wait_for(|passing| passing["tell"].to_string().contains("console entries"));
    recorder.call("run_tests", json!({ "filter": "PlayerTests.Jumps", "wait_ms": 45000 }));
    recorder.call("read_console", json!({ "types": of_errors, "since": console["cursor"] }));

    recorder.note("A run of everything, which is not wanted any more.");
    let job = recorder.call("run_tests", json!({}));
    let job = json!({ "job_id": job["job_id"] });
    wait_for(&watcher, "get_job_status", &job, "state", "running");
    recorder.call("cancel_job", job.clone());
    recorder.call("get_job_status", with_wait(&job));

    compare(&recorder.text);
}

fn wait_for(watcher: &HttpAgent, tool: &str, arguments: &Value, field: &str, value: &str) {
    while watcher.run(tool, arguments).unwrap()[field] != value {}
}

fn with_wait(job: &Value) -> Value {
    json!({ "job_id": job["job_id"], "wait_ms": 45000 })
}

fn compare(run: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/USING.md");
    let document = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = document.split_once(BEGIN).unwrap();
    let (recorded, after) = rest.split_once(END).unwrap();
    let fenced = format!("```text\n{}```\n", run.trim_end().to_owned() + "\n");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, [before, BEGIN, &fenced, END, after].concat()).unwrap();
        return;
    }
    assert_eq!(
        masked(recorded),
        masked(&fenced),
        "run: BLESS=1 cargo test -p e2e --test mock ten_calls"
    );
}

/// Hides job ids and times, which differ from run to run.
fn masked(text: &str) -> String {
    let masked = mask(text, "job-", |sign| sign.is_ascii_alphanumeric());
    let masked = mask(&masked, "_seq\":", |sign| sign.is_ascii_digit());
    let masked = mask(&masked, "submitted_at\":\"", |sign| sign != '"');
    masked.lines().map(without_time).collect::<Vec<_>>().join("\n")
}

/// Replaces what follows `after`, as far as it fits, by `*`.
fn mask(text: &str, after: &str, fits: impl Fn(char) -> bool) -> String {
    let mut parts = text.split(after);
    let mut masked = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        masked += after;
        masked += "*";
        masked += part.trim_start_matches(&fits);
    }
    masked
}

/// Cuts the time from `~ waiting: Unity is compiling, 0.5 s so far`, and the text from reports about tests.
fn without_time(line: &str) -> String {
    if line.starts_with("~ ") && !line.starts_with("~ waiting") {
        return "~ …".to_owned();
    }
    match line.rsplit_once(", ") {
        Some((before, time)) if line.starts_with('~') && time.ends_with(" so far") => {
            before.to_owned()
        }
        Some(_) | None => line.to_owned(),
    }
}
