//! From a record to the events that the page draws, in the words of the simulator's traces.

use coordination::rendering;
use page::{CallOutcome, Event, Job, State};
use protocol::RequestId;

use super::history::{History, SERVER, UNITY};
use super::record::{Answered, Frame, Known, KnownJob, Millis, Record, UnityLane, What};

/// The events of a record, in the order in which they are drawn.
pub(super) fn events(record: &Record, history: &History) -> Vec<Event> {
    let (at, body) = (record.at, record.body.as_deref().map(str::to_owned));
    match &record.what {
        What::Called { call, agent, tool, client_request_id } => {
            let lane = history.agent(*agent).to_owned();
            let name = client_request_id.as_ref().map(|id| format!(" for={id}"));
            let text = format!("{} {tool}{}", call.0, name.unwrap_or_default());
            let began = Event::CallBegan {
                at,
                lane: lane.clone(),
                call: call.0.clone(),
                tool: (*tool).to_owned(),
            };
            let arrow = Arrow { from: lane, to: SERVER.to_owned(), what: "call", text, body };
            vec![arrow.drawn(at, Some(call), false), began]
        }
        What::Cancelled { call, agent } => {
            let from = history.agent(*agent).to_owned();
            let (to, text) = (SERVER.to_owned(), call.0.clone());
            let arrow = Arrow { from, to, what: "cancel", text, body };
            vec![arrow.drawn(at, Some(call), true), ended(at, call, CallOutcome::Cancelled)]
        }
        What::Progress { call, agent, text } => {
            let to = history.agent(*agent).to_owned();
            let text = format!("{} {text}", call.0);
            let arrow = Arrow { from: SERVER.to_owned(), to, what: "progress", text, body };
            vec![arrow.drawn(at, Some(call), false)]
        }
        What::Answered(answered) => of_answer(at, answered, history, body),
        What::Frame(frame) => of_frame(at, frame, body),
        What::Note { text, call } => {
            let (lane, text) = (SERVER.to_owned(), text.clone().into_owned());
            vec![Event::Note { at, lane, text, call: call.as_ref().map(|call| call.0.clone()) }]
        }
        What::Unity(lane) => vec![of_unity(at, *lane)],
        What::Knows(known) => vec![Event::State { at, state: state(known) }],
    }
}

fn of_answer(
    at: Millis,
    answered: &Answered,
    history: &History,
    body: Option<String>,
) -> Vec<Event> {
    let Answered { call, agent, served, outcome, failure, job, replayed } = answered;
    let (code, guarantee) =
        failure.map(|(code, guarantee)| (code.to_owned(), guarantee.text().to_owned())).unzip();
    let text = match failure {
        Some((code, guarantee)) => format!("{} {code} {}", call.0, guarantee.text()),
        None => {
            let job = job.map(|job| format!(" {job}")).unwrap_or_default();
            format!("{} ok{job}", call.0)
        }
    };
    let served = served.map(|at| Event::CallServed { at, call: call.0.clone() });
    let ended = Event::CallEnded {
        at,
        call: call.0.clone(),
        outcome: *outcome,
        code,
        guarantee,
        replayed: *replayed,
    };
    let to = history.agent(*agent).to_owned();
    let arrow = Arrow { from: SERVER.to_owned(), to, what: "answer", text, body };
    let arrow = arrow.drawn(at, Some(call), failure.is_some());
    served.into_iter().chain([arrow, ended]).collect()
}

fn of_frame(at: Millis, frame: &Frame, body: Option<String>) -> Vec<Event> {
    let (from, to) = if frame.to_unity { (SERVER, UNITY) } else { (UNITY, SERVER) };
    let text = match &frame.request_id {
        Some(request_id) => format!("{} {}", request_id.0, frame.text).trim_end().to_owned(),
        None => frame.text.clone().into_owned(),
    };
    let (from, to) = (from.to_owned(), to.to_owned());
    let arrow = Arrow { from, to, what: frame.what, text, body };
    let arrow = arrow.drawn(at, frame.call.as_ref(), frame.is_error);
    let served = frame.call.as_ref().filter(|_| frame.serves);
    let served = served.map(|call| Event::CallServed { at, call: call.0.clone() });
    served.into_iter().chain([arrow]).collect()
}

struct Arrow {
    from: String,
    to: String,
    what: &'static str,
    text: String,
    body: Option<String>,
}

impl Arrow {
    fn drawn(self, at: Millis, call: Option<&RequestId>, error: bool) -> Event {
        let Self { from, to, what, text, body } = self;
        let (what, call) = (what.to_owned(), call.map(|call| call.0.clone()));
        Event::Message { at, got: None, lost: false, from, to, what, text, call, error, body }
    }
}

fn ended(at: Millis, call: &RequestId, outcome: CallOutcome) -> Event {
    let (call, code, guarantee) = (call.0.clone(), None, None);
    Event::CallEnded { at, call, outcome, code, guarantee, replayed: false }
}

fn of_unity(at: Millis, lane: UnityLane) -> Event {
    let text = match lane {
        UnityLane::Plain => None,
        UnityLane::Busy(state) => Some(rendering::editor_state(Some(state)).to_owned()),
        UnityLane::Away(why) => Some(format!("no session: {why}")),
    };
    Event::LaneState { at, lane: UNITY.to_owned(), text }
}

pub(super) fn left_out(at: Millis, records: u64) -> Event {
    let text = format!("{records} events left out: too many at once");
    Event::Note { at, lane: SERVER.to_owned(), text, call: None }
}

pub(super) fn state(known: &Known) -> State {
    let job = |job: &KnownJob| Job {
        job_id: job.job.to_string(),
        state: rendering::job_state(job.state).to_owned(),
        done: job.progress.map(|(done, _)| done),
        total: job.progress.map(|(_, total)| total),
    };
    State {
        server: rendering::server_state(known.server).to_owned(),
        editor: rendering::editor_state(known.editor).to_owned(),
        waits_for: known.waiting.map(|reason| reason.text().to_owned()),
        running: known.running.map(str::to_owned),
        queue: known.queue as u64,
        refused: known.refused.as_deref().map(str::to_owned),
        jobs: known.jobs.iter().map(job).collect(),
    }
}
