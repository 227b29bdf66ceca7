//! The speed of plans and of the core, and how the cost of an event grows with what the core holds.

use std::process::ExitCode;
use std::time::Instant;

use coordination::{
    Boot, CallId, ConnectionId, Event, ExecutionCoordinator, Limits, RawCall, Timestamp, ValidCall,
    validate,
};
use protocol::{EditorState, FromUnity, Json, Map, PluginHello, Pong};
use sim::faults::Fault;
use sim::judge::coverage::Coverage;
use sim::levels::run::{Level, run_brief};
use sim::random::plan;

pub(crate) fn print() -> ExitCode {
    plans();
    println!();
    println!("one pong and one next_deadline(), in a core that holds");
    growth("waiting calls", &[1, 2, 4, 8, 16, 32], holding_calls, pong);
    growth("kept jobs", &[1, 4, 16, 64, 256], holding_jobs, pong);
    println!("a call that arrives and is cancelled, in a core that holds");
    growth("waiting calls", &[1, 2, 4, 8, 16, 32], holding_calls, come_and_go);
    growth("kept jobs", &[1, 4, 16, 64, 256], holding_jobs, come_and_go);
    ExitCode::SUCCESS
}

/// Plans at the core level, on one core of the machine: the server's core, the mock, the model and all checks.
fn plans() {
    let begin = Instant::now();
    let (mut count, mut coverage) = (0, Coverage::default());
    while begin.elapsed().as_secs() < 5 {
        for _ in 0..100 {
            coverage.add(&run_brief(Level::Core, &plan::draw(count), Fault::None).coverage);
            count += 1;
        }
    }
    let elapsed = begin.elapsed().as_secs_f64();
    let each = |sum: u64| sum as f64 / count as f64;
    println!("{:.0} plans a second on one core", count as f64 / elapsed);
    println!("{:.0} events and {:.0} calls each", each(coverage.events), each(coverage.calls));
    println!("{:.0} events a second with mock and checks", coverage.events as f64 / elapsed);
    let nanos = cost(&mut holding_calls(0), pong);
    println!("{:.0} events a second in the core alone", 1e9 / nanos);
}

fn growth(
    what: &str,
    counts: &[usize],
    hold: fn(usize) -> ExecutionCoordinator,
    happen: fn(&mut ExecutionCoordinator),
) {
    let mut first = None;
    for count in counts {
        let nanos = cost(&mut hold(*count), happen);
        let base = *first.get_or_insert(nanos);
        println!("{count:>6} {what:<14} {nanos:>6.0} ns   {:.2} times the first", nanos / base);
    }
}

/// Nanoseconds: the best of some rounds, because other programs can only make it slower.
fn cost(core: &mut ExecutionCoordinator, happen: fn(&mut ExecutionCoordinator)) -> f64 {
    const TIMES: u32 = 20_000;
    let rounds = (0..15).map(|_| {
        let begin = Instant::now();
        (0..TIMES).for_each(|_| happen(core));
        begin.elapsed().as_secs_f64() * 1e9 / f64::from(TIMES)
    });
    rounds.fold(f64::INFINITY, f64::min)
}

fn pong(core: &mut ExecutionCoordinator) {
    let frame = Ok(FromUnity::Pong(Pong::default()));
    let event = Event::UnityFrame { on: ConnectionId(1), frame };
    std::hint::black_box(core.handle(Timestamp::from_millis(3), event));
    std::hint::black_box(core.next_deadline());
}

fn come_and_go(core: &mut ExecutionCoordinator) {
    const LATEST: u64 = u64::MAX;
    receive(core, LATEST, call("read_console", &[]));
    core.handle(Timestamp::from_millis(3), Event::CallCancelled { call: CallId(LATEST) });
    std::hint::black_box(core.next_deadline());
}

fn connected(state: EditorState) -> ExecutionCoordinator {
    let limits = Limits { queue_max: 1_024, ..Limits::default() };
    let boot = Boot::new("m");
    let Some(boot) = boot else { unreachable!("m is a boot") };
    let mut core = ExecutionCoordinator::new(limits, boot, "1.0.0");
    let now = Timestamp::from_millis(1);
    let on = ConnectionId(1);
    core.handle(now, Event::PortBound);
    core.handle(now, Event::UnityOpened { on });
    let hello = PluginHello {
        plugin_version: "1.0.0".to_owned(),
        state,
        editor_instance_id: None,
        plugin_session_id: None,
        connect_attempt_seq: None,
        project_path: None,
        project_name: None,
        unity_version: None,
        running_request_id: None,
        request_book: None,
        last_compile: None,
    };
    core.handle(now, Event::UnityFrame { on, frame: Ok(FromUnity::Hello(hello)) });
    core
}

/// Calls that wait for a compile.
fn holding_calls(count: usize) -> ExecutionCoordinator {
    let mut core = connected(EditorState::Compiling);
    for id in 0..count {
        receive(&mut core, id as u64, call("read_console", &[]));
    }
    core
}

/// Jobs that were cancelled while they were queued behind a call.
fn holding_jobs(count: usize) -> ExecutionCoordinator {
    let mut core = connected(EditorState::Ready);
    receive(&mut core, 0, call("read_console", &[]));
    for id in 1..=count as u64 {
        receive(&mut core, 2 * id, call("run_tests", &[]));
        let job = Json::from(format!("job-m-{id}"));
        receive(&mut core, 2 * id + 1, call("cancel_job", &[("job_id", job)]));
    }
    core
}

fn receive(core: &mut ExecutionCoordinator, id: u64, request: Option<ValidCall>) {
    if let Some(request) = request {
        let call = CallId(id);
        let event = Event::CallReceived { call, request, wants_progress: false };
        core.handle(Timestamp::from_millis(2), event);
    }
}

fn call(tool: &str, arguments: &[(&str, Json)]) -> Option<ValidCall> {
    let arguments: Map<String, Json> =
        arguments.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    validate(RawCall { tool: tool.to_owned(), arguments }).ok()
}
