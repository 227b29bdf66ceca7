//! `check`: a script of what happens, with what the core does about it in between.
//!
//! A line is `<ms> <what happens>`; the lines that begin with `->` are the effects. Between two
//! lines time passes as in the real shell: the core is called at each of its deadlines, but for
//! `late`, which calls it too late. The port is bound from the start unless the script says when.
//! `BLESS=1 cargo test -p coordination --test core` writes the effects into the source; the diff is the
//! review. Pings are answered and not shown unless the script begins with `show heartbeat`, and the
//! server's hello and capability are not shown unless it begins with `show handshake`; the sentence
//! of a failure is shown if it begins with `show messages`, and what the log says of states, waits and
//! new jobs if it begins with `show states`. `catalog 1.1` gives the core that catalogue.

use std::fmt::Write as _;
use std::panic::Location;
use std::sync::Mutex;
use std::time::Duration;

use coordination::*;
use protocol::codec::decode;
use protocol::{FromUnity, Json, Map, Pong, ToUnity};

const SERVER_VERSION: &str = "1.0.0";

#[track_caller]
pub(crate) fn check(script: &str) {
    let lines: Vec<&str> = script.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let actual = run(&lines);
    if lines.join("\n") == actual.trim_end() {
        return;
    }
    if std::env::var_os("BLESS").is_some() {
        return bless(Location::caller().file(), script, &actual);
    }
    panic!("the core did otherwise; BLESS=1 accepts it:\n{actual}");
}

/// Tests of one file are blessed one after the other.
static BLESSING: Mutex<()> = Mutex::new(());

fn bless(file: &str, script: &str, actual: &str) {
    let _one_at_a_time = BLESSING.lock();
    let path = format!("{}/../../{file}", env!("CARGO_MANIFEST_DIR"));
    let indented: String = actual.trim().lines().map(|line| format!("        {line}\n")).collect();
    let source = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, source.replacen(script, &format!("\n{indented}    "), 1)).unwrap();
}

/// What the core does about a script, for a test that looks at a part of it.
pub(crate) fn trace(script: &str) -> String {
    run(&script.lines().collect::<Vec<&str>>())
}

/// The script with the effects of this core in it.
fn run(lines: &[&str]) -> String {
    let mut world = World::new(lines);
    for line in lines.iter().filter(|line| !line.starts_with("->")) {
        if ["show ", "limit ", "project ", "catalog "].iter().any(|word| line.starts_with(word)) {
            writeln!(world.text, "{line}").unwrap();
        } else {
            world.step(line);
        }
    }
    world.text
}

struct World {
    core: ExecutionCoordinator,
    now: u64,
    text: String,
    show_heartbeat: bool,
    show_handshake: bool,
    show_messages: bool,
    show_states: bool,
    last_sent: Option<ToUnity>,
    catalog: Catalog,
}

impl World {
    fn new(lines: &[&str]) -> Self {
        let catalog = if lines.contains(&"catalog 1.1") { Catalog::V1_1 } else { Catalog::V1_0 };
        let mut limits = Limits { catalog, ..Limits::default() };
        for words in lines.iter().filter_map(|line| line.strip_prefix("limit ")) {
            let (name, value) = words.split_once(' ').unwrap();
            let number: u64 = value.parse().unwrap();
            let wait = Duration::from_millis(number);
            match name {
                "queue_wait_max" => limits.queue_wait_max = wait,
                "reconnect_wait" => limits.reconnect_wait = wait,
                "queue_max" => limits.queue_max = number as usize,
                "jobs_kept_max" => limits.jobs_kept_max = number as usize,
                "jobs_active_max" => limits.jobs_active_max = number as usize,
                "message_max_bytes" => limits.message_max_bytes = number as usize,
                "compile_grace" => limits.compile_grace = wait,
                "heartbeat_interval" => limits.heartbeat_interval = wait,
                "abandoned_max" => limits.abandoned_max = number as usize,
                "repeats_max" => limits.repeats_max = number as usize,
                other => panic!("no limit {other}"),
            }
        }
        let project = lines.iter().find_map(|line| line.strip_prefix("project "));
        let own = project.map(|project| project.trim_end_matches(" ignore_case").to_owned());
        let ignore_case = project.is_some_and(|project| project.ends_with(" ignore_case"));
        let core = ExecutionCoordinator::new(limits, Boot::new("t").unwrap(), SERVER_VERSION);
        let mut core = core.for_project(ProjectRules { own, ignore_case });
        if !lines.iter().any(|line| line.ends_with(" bound") || line.ends_with(" held")) {
            core.handle(Timestamp::default(), Event::PortBound);
        }
        Self {
            core,
            now: 0,
            text: String::new(),
            catalog,
            show_heartbeat: lines.contains(&"show heartbeat"),
            show_handshake: lines.contains(&"show handshake"),
            show_messages: lines.contains(&"show messages"),
            show_states: lines.contains(&"show states"),
            last_sent: None,
        }
    }

    fn step(&mut self, line: &str) {
        let (at, what) = line.split_once(' ').unwrap_or_else(|| panic!("no event in: {line}"));
        let at: u64 = at.parse().unwrap_or_else(|_| panic!("no time in: {line}"));
        if !what.starts_with("late") {
            self.pass_time_until(at);
        }
        self.now = at;
        writeln!(self.text, "{line}").unwrap();
        let words: Vec<&str> = what.split_whitespace().collect();
        let number = |index: usize| words[index].trim_end_matches('+').parse::<u64>().unwrap();
        let rest = |index: usize| -> Json {
            let text = what.splitn(index + 1, ' ').nth(index).unwrap_or("{}");
            parse(text)
        };
        match words[0] {
            "wait" => {}
            "tick" | "late" => self.handle(Event::DeadlineReached),
            "bound" => self.handle(Event::PortBound),
            "held" => self.handle(Event::PortHeld { port: 8091, holder: "a stranger".to_owned() }),
            "stop" => self.handle(Event::StopRequested),
            "open" => self.handle(Event::UnityOpened { on: ConnectionId(number(1)) }),
            "close" => self.closed(number(1), ClosedBy::Anyone),
            "toolarge" => self.closed(number(1), ClosedBy::FrameTooLarge),
            "closedwith" => {
                let code = u16::try_from(number(2)).unwrap();
                self.closed(number(1), ClosedBy::Plugin { code });
            }
            "ready" | "compiling" | "reloading" => {
                self.hello(number(1), words[0], rest(2));
            }
            "unity" => self.unity(number(1), words[2], rest(3)),
            "console" => self.unity(number(1), "result", console_result(words[2])),
            "raw" => {
                let text = what.splitn(3, ' ').nth(2).unwrap_or_default();
                self.frame(number(1), decode(text.as_bytes()));
            }
            "notsentping" => {
                let frame = ToUnity::Ping(protocol::Ping {});
                self.handle(Event::UnityNotSent { on: ConnectionId(number(1)), frame });
            }
            "notsentcancel" => {
                let frame = ToUnity::Cancel(protocol::Cancel {
                    request_id: words[2].into(),
                    target_request_id: None,
                    target_job_id: Some(words[3].into()),
                });
                self.handle(Event::UnityNotSent { on: ConnectionId(number(1)), frame });
            }
            "notsent" => {
                let frame = self.last_sent.clone().unwrap();
                self.handle(Event::UnityNotSent { on: ConnectionId(number(1)), frame });
            }
            "call" => self.call(number(1), words[1].ends_with('+'), words[2], rest(3)),
            "cancel" => self.handle(Event::CallCancelled { call: CallId(number(1)) }),
            "broke" => self.handle(Event::CallBroke { call: CallId(number(1)) }),
            other => panic!("no event {other}"),
        }
    }

    fn pass_time_until(&mut self, at: u64) {
        let end = Timestamp::from_millis(at);
        let mut rounds = 0;
        while let Some(deadline) = Core::next_deadline(&self.core).filter(|next| next.at < end) {
            rounds += 1;
            assert!(rounds < 10_000, "the core does not get past {deadline:?}");
            self.now = self.now.max(deadline.at.since_start().as_millis() as u64);
            self.handle(Event::DeadlineReached);
        }
    }

    fn hello(&mut self, on: u64, state: &str, extra: Json) {
        self.handle(Event::UnityOpened { on: ConnectionId(on) });
        let mut fields = extra.as_object().cloned().unwrap();
        fields.insert("state".to_owned(), state.into());
        fields.entry("plugin_version").or_insert(SERVER_VERSION.into());
        self.unity(on, "hello", Json::Object(fields));
    }

    fn unity(&mut self, on: u64, kind: &str, fields: Json) {
        let Json::Object(mut fields) = fields else { panic!("no object: {fields}") };
        fields.insert("type".to_owned(), kind.into());
        fields.insert("protocol_version".to_owned(), 1.into());
        self.frame(on, decode(Json::Object(fields).to_string().as_bytes()));
    }

    fn frame(&mut self, on: u64, frame: Result<FromUnity, protocol::DecodeError>) {
        self.handle(Event::UnityFrame { on: ConnectionId(on), frame });
    }

    fn closed(&mut self, on: u64, by: ClosedBy) {
        self.handle(Event::UnityClosed { on: ConnectionId(on), by });
    }

    fn call(&mut self, id: u64, wants_progress: bool, tool: &str, arguments: Json) {
        let arguments = arguments.as_object().cloned().unwrap();
        match validate_with(self.catalog, RawCall { tool: tool.to_owned(), arguments }) {
            Ok(request) => {
                self.handle(Event::CallReceived { call: CallId(id), request, wants_progress });
            }
            Err(failure) => writeln!(self.text, "-> invalid {}", failure_text(&failure)).unwrap(),
        }
    }

    fn handle(&mut self, event: Event) {
        let now = Timestamp::from_millis(self.now);
        let mut pings = Vec::new();
        for effect in Core::handle(&mut self.core, now, event) {
            if let Effect::Send { on, frame } = &effect {
                match frame {
                    ToUnity::Ping(_) if !self.show_heartbeat => pings.push(*on),
                    ToUnity::Execute(_)
                    | ToUnity::SubmitJob(_)
                    | ToUnity::GetJobStatus(_)
                    | ToUnity::Cancel(_) => self.last_sent = Some(frame.clone()),
                    ToUnity::Hello(_)
                    | ToUnity::Capability(_)
                    | ToUnity::Ping(_)
                    | ToUnity::Error(_) => {}
                }
            }
            if let Some(shown) = self.show(&effect) {
                writeln!(self.text, "-> {} {shown}", self.now).unwrap();
            }
        }
        for on in pings {
            self.handle(Event::UnityFrame { on, frame: Ok(FromUnity::Pong(Pong::default())) });
        }
    }

    fn show(&self, effect: &Effect) -> Option<String> {
        Some(match effect {
            Effect::Reply { call, outcome: Ok(answer), .. } => {
                format!("call {} ok {}", call.0, answer_text(answer, self.show_messages))
            }
            Effect::Reply { call, outcome: Err(failure), .. } => {
                let message = self.show_messages.then(|| format!(" \"{}\"", failure.message()));
                format!("call {} {}{}", call.0, failure_text(failure), message.unwrap_or_default())
            }
            Effect::Progress { call, report } => {
                let ProgressReport { state, reason, position, elapsed, job } = report;
                let elapsed = elapsed.as_millis();
                format!(
                    "call {} progress {state:?} {reason:?} {position:?} {elapsed} {job:?}",
                    call.0
                )
            }
            Effect::Send { frame: ToUnity::Ping(_), .. } if !self.show_heartbeat => return None,
            Effect::Send { frame: ToUnity::Hello(_) | ToUnity::Capability(_), .. }
                if !self.show_handshake =>
            {
                return None;
            }
            Effect::Send { on, frame } => format!("unity {} {}", on.0, frame_text(frame)),
            Effect::Close { on, code, reason } => {
                format!("unity {} close {} {reason}", on.0, *code as u16)
            }
            Effect::Note(Note::SessionBegan { .. }) if !self.show_handshake => return None,
            Effect::Note(
                Note::StateChanged { .. } | Note::CallWaits { .. } | Note::JobIssued { .. },
            ) if !self.show_states => return None,
            Effect::Note(note) => format!("note {note:?}"),
            Effect::Stopped => "stopped".to_owned(),
        })
    }
}

fn parse(text: &str) -> Json {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn console_result(request_id: &str) -> Json {
    let mut fields = Map::new();
    fields.insert("request_id".to_owned(), request_id.into());
    fields.insert("status".to_owned(), "ok".into());
    fields.insert("result".to_owned(), parse(r#"{"entries":[],"count":0,"truncated":false}"#));
    Json::Object(fields)
}

fn frame_text(frame: &ToUnity) -> String {
    match frame {
        ToUnity::Hello(hello) => format!("hello {}", hello.server_version),
        ToUnity::Capability(capability) => {
            let names: Vec<&str> = capability.tools.iter().map(|tool| tool.name.as_str()).collect();
            let all: Vec<&str> = TOOLS.iter().map(|tool| tool.name).collect();
            let shown = if names == all { "the catalogue".to_owned() } else { names.join(" ") };
            format!("capability {shown}")
        }
        ToUnity::Ping(_) => "ping".to_owned(),
        ToUnity::Execute(execute) => format!(
            "execute {} {} {} timeout={}{}",
            execute.request_id,
            execute.tool_name,
            execute.params,
            execute.timeout_ms,
            client(&execute.client_request_id)
        ),
        ToUnity::SubmitJob(submit) => format!(
            "submit_job {} {} {} timeout={}{}",
            submit.request_id,
            submit.tool_name,
            submit.params,
            submit.timeout_ms,
            client(&submit.client_request_id)
        ),
        ToUnity::GetJobStatus(ask) => format!("get_job_status {} {}", ask.request_id, ask.job_id),
        ToUnity::Cancel(cancel) => {
            let job = cancel.target_job_id.as_ref().map(ToString::to_string);
            let submission = cancel.target_request_id.as_ref();
            let target = job.or(submission.map(|id| format!("submission {id}")));
            format!("cancel {} {}", cancel.request_id, target.unwrap_or_default())
        }
        ToUnity::Error(error) => {
            let about = error.request_id.as_ref().map(|id| format!("about {id} "));
            let about = about.unwrap_or_default();
            format!("error {about}{}: {}", error.error.code, error.error.message)
        }
    }
}

fn client(id: &Option<String>) -> String {
    id.as_ref().map(|id| format!(" client={id}")).unwrap_or_default()
}

pub(crate) fn failure_text(failure: &Failure) -> String {
    let mut text = format!(
        "{} {} {} {}",
        failure.code,
        failure.guarantee.text(),
        if failure.retryable { "retryable" } else { "final" },
        failure.recovery.text()
    );
    if let Some(waiting) = failure.waiting {
        write!(text, " waiting={waiting}").unwrap();
    }
    if let Some(overdue) = &failure.overdue {
        write!(text, " overdue={overdue}").unwrap();
    }
    if let Some(unity) = &failure.unity {
        write!(text, " unity={}", unity.code).unwrap();
    }
    if failure.replayed {
        text.push_str(" replayed");
    }
    text
}

fn job_text(job: &JobSummary) -> String {
    let submitted = job.submitted.since_start().as_millis();
    format!(" {} {} {:?} since {submitted}", job.job, job.tool_name, job.state)
}

fn answer_text(answer: &Answer, with_messages: bool) -> String {
    match answer {
        Answer::EditorState(report) => {
            let EditorReport {
                server_state,
                editor_state,
                connected,
                last_editor_status_seq,
                waiting_reason,
                queue_length,
                running,
                plugin_version,
                server_version: _,
                project,
                refused,
                last_compile,
                jobs,
                // Only /healthz shows them.
                unchanged_for: _,
                last_disconnect: _,
            } = report.as_ref();
            let running = running.as_ref().map(|running| {
                let overdue = if running.overdue { " overdue" } else { "" };
                let elapsed = running.elapsed.as_millis();
                format!("{} {} {elapsed}ms{overdue}", running.request_id, running.tool_name)
            });
            format!(
                "server={server_state:?} editor={editor_state:?} connected={connected} \
                 seq={last_editor_status_seq:?} waiting={waiting_reason:?} queue={queue_length} \
                 running={running:?} plugin={plugin_version:?}{}{}{}{}",
                project.as_ref().map(|project| format!(" {project:?}")).unwrap_or_default(),
                refused.as_ref().map(|refused| format!(" {refused:?}")).unwrap_or_default(),
                last_compile.map(|compile| format!(" {compile:?}")).unwrap_or_default(),
                jobs.iter().map(job_text).collect::<String>(),
            )
        }
        Answer::Unity(result) => result.to_string(),
        Answer::JobAccepted { job, state, .. } => format!("accepted {job} {state:?}"),
        Answer::Job(report) => {
            let mut text = format!("{} {:?}", report.job, report.state);
            if let Some(progress) = &report.progress {
                write!(text, " {}/{}", progress.done, progress.total).unwrap();
            }
            if let Some(result) = &report.result {
                write!(text, " result={result}").unwrap();
            }
            if let Some(error) = &report.error {
                let message = with_messages.then(|| format!(" \"{}\"", error.message()));
                let message = message.unwrap_or_default();
                write!(text, " error=({}{message})", failure_text(error)).unwrap();
            }
            match &report.cancel {
                None => {}
                Some(CancelView::Requested) => text.push_str(" cancel=requested"),
                Some(CancelView::Rejected(failure)) => {
                    write!(text, " cancel=rejected({})", failure_text(failure)).unwrap();
                }
            }
            text
        }
        Answer::Cancel { job, status } => format!("{job} {status:?}"),
        Answer::Replayed(answer) => format!("replayed {}", answer_text(answer, with_messages)),
    }
}
