//! Budget: every number of the shell, with its unit and its reason. `coordination::Limits` has those of the core.
//!
//! No single attack may take more than [`MEMORY_MAX`] above what the process had at its start; `tests/security`
//! measures that. What each kind of peer can make the server hold at once, with the default settings:
//!
//! | what | limits | MiB |
//! |---|---|---:|
//! | requests over HTTP | 176 of 32 KiB and 4 of 1 MiB, each parsed to about twice its size | 19 |
//! | answers over HTTP that are not read | 176 of about 0.2 MiB | 35 |
//! | idle HTTP connections | 16 of a head and two buffers | 1 |
//! | requests over stdio | the same, 1 MiB read ahead, and the ids that are cancelled in it | 21 |
//! | answers over stdio that are not read | 1 MiB, and those of 176 open requests | 36 |
//! | sockets before their hello | 32 of 128 KiB | 4 |
//! | sockets that are being closed | 8 of one frame | 8 |
//! | frames of the Editor | one of 1 MiB in each direction, one decoded at a time to at most 20 MiB | 24 |
//! | jobs that are kept | 256 of about 0.1 MiB | 26 |
//! | log lines that are not written | 1 MiB | 1 |
//! | the page | 1 MiB of history, two viewers of 0.3 MiB | 2 |
//!
//! An attack fills one of these rows, or a request row together with its answer row: 57 MiB.

use std::time::Duration;

use crate::system::REFUSES_LATE;

/// Bytes that a single attack may take above what the process had at its start.
pub const MEMORY_MAX: usize = 64 * MIB;

const KIB: usize = 1024;
const MIB: usize = 1024 * KIB;

// The event loop.

/// Events that wait for the core. A peer that is faster than the core waits with its next one.
pub(crate) const EVENTS_MAX: usize = 256;
/// Frames that wait for a socket. A plugin that lets more pile up is dropped.
pub(crate) const FRAMES_MAX: usize = 64;
/// Progress reports that wait for an agent. A slow one misses some.
pub(crate) const REPORTS_MAX: usize = 4;
/// Panics of the core in a row before the process gives up.
pub(crate) const PANICS_MAX: u32 = 10;

// Requests of agents, over HTTP and over stdio. Calls that wait for Unity or for a job (with `wait_ms`) have one part
// of the room. The rest is for requests that are answered soon: control calls, `get_editor_state` and everything that
// is not a call. So calls that wait, however many they are, keep out no cancel, and stdio is always read on.

/// Calls that may wait over one transport, even if the queue is short: most of them wait for the end of a job.
const CALLS_WAITING_MIN: usize = 128;
/// Requests beyond those that the queue holds: they are answered at once.
const CALLS_SPARE: usize = 16;
/// Bytes of one message: more than any call needs.
pub(crate) const REQUEST_BYTES_MAX: usize = MIB;
/// Bytes up to which a request is small.
pub(crate) const REQUEST_SMALL_BYTES: usize = 32 * KIB;
/// Large requests that may be open at once over one transport.
pub(crate) const REQUEST_LARGE_MAX: usize = 4;
/// Tokens of one message. A parsed value takes up to 600 bytes.
pub(crate) const REQUEST_TOKENS_MAX: usize = 1_000;
/// Levels of one message: deeper than any call.
pub(crate) const REQUEST_DEPTH_MAX: usize = 64;
/// Bytes of the id and of the progress token: every report and every answer repeats them.
pub(crate) const REQUEST_LABEL_BYTES_MAX: usize = 256;
/// MCP wants every progress report of a request to show more than the one before.
pub(crate) const PROGRESS_STEP: f64 = 0.001;
/// The list of tools never changes while a server runs.
pub(crate) const TOOLS_FRESH_MS: u64 = 3_600_000;

/// Calls that may wait over one transport: at least all that the queue holds.
pub(crate) fn calls_waiting_max(queue_max: usize) -> usize {
    CALLS_WAITING_MIN.max(queue_max + CALLS_SPARE)
}

/// Requests that may be open over one transport. The part that no call that waits can take has room for all control
/// calls that the queue holds, and for some that are answered at once.
pub(crate) fn requests_max(queue_max: usize) -> usize {
    calls_waiting_max(queue_max) + queue_max + CALLS_SPARE
}

// HTTP.

/// From the first byte of a request head to its last.
pub(crate) const HTTP_HEAD_TIMEOUT: Duration = Duration::from_secs(5);
/// How long the body of a request may take.
pub(crate) const HTTP_BODY_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a connection may be idle.
pub(crate) const HTTP_IDLE_TIMEOUT: Duration = Duration::from_secs(60);
/// How long a peer may take to read any byte of its answer.
pub(crate) const HTTP_UNREAD_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a connection of another user is kept so that it can read why it was refused.
pub(crate) const HTTP_REFUSAL_TIMEOUT: Duration = Duration::from_millis(500);
/// How long to wait after a failed accept: out of descriptors, some must be freed first.
pub(crate) const HTTP_ACCEPT_RETRY: Duration = Duration::from_millis(100);
/// How often a silent answer stream is kept alive. Progress does that too, as long as there is some.
pub const SSE_KEEP_ALIVE: Option<Duration> = Some(Duration::from_secs(15));
pub(crate) const HTTP_HEAD_BYTES_MAX: usize = 32 * KIB;
pub(crate) const HTTP_HEADERS_MAX: usize = 64;
/// Bytes that a peer may send behind its request before it has the answer. A peer that sends more is dropped.
pub(crate) const HTTP_AHEAD_BYTES_MAX: usize = 4 * KIB;
/// Connections beside those whose request is being answered, so that a new one always gets in.
pub(crate) const HTTP_IDLE_MAX: usize = 16;
/// Connections whose owner is not known yet. More wait to be accepted.
pub(crate) const HTTP_UNIDENTIFIED_MAX: usize = 64;
/// Connections of other users that get the reason before they are closed. More are just closed.
pub(crate) const HTTP_REFUSALS_MAX: usize = 16;

// stdio.

/// Bytes of answers that may wait for the agent to read them before its next request is read.
pub(crate) const STDIO_UNREAD_BYTES_MAX: u32 = 1024 * 1024;
/// What a short answer counts as, because its task takes memory too.
pub(crate) const STDIO_UNREAD_BYTES_MIN: usize = 4 * KIB;
/// Bytes of one read.
pub(crate) const STDIO_READ_BYTES: usize = 16 * KIB;
/// Bytes read ahead of a line that was not taken.
pub(crate) const STDIO_AHEAD_BYTES_MAX: usize = MIB;
/// Ids of cancelled requests that are remembered.
pub(crate) const STDIO_CANCELLED_MAX: usize = 64;
/// How long an agent that has closed its end still gets answers: a shell pipe ends like that.
pub(crate) const STDIO_LAST_ANSWERS_TIMEOUT: Duration = Duration::from_millis(100);

// The sockets of the plugin.

/// Tokens of one frame: two thousand entries of a console with a dozen fields each.
pub(crate) const UNITY_FRAME_TOKENS_MAX: usize = 64_000;
/// Bytes that a socket may send before its hello is accepted: more than a hello and what may follow it.
pub(crate) const UNITY_PRE_HELLO_BYTES_MAX: usize = 128 * KIB;
/// Bytes of one read before the hello.
pub(crate) const UNITY_PRE_HELLO_READ_BYTES: usize = 8 * KIB;
pub(crate) const UNITY_READ_BUFFER_BYTES: usize = 16 * KIB;
/// How long a socket may take to accept one message.
pub(crate) const UNITY_WRITE_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a peer has to answer a close.
pub(crate) const UNITY_CLOSE_TIMEOUT: Duration = Duration::from_secs(1);
/// Sockets that get a close handshake at the same time. More are just dropped.
pub(crate) const UNITY_CLOSING_MAX: usize = 8;

// The port and the relay.

/// From one attempt to bind the port to the next. A takeover takes at most two of them: one relay gets the port, then
/// the others find it there.
pub(crate) const PORT_RETRY: Duration = Duration::from_millis(250);
/// How long an unknown holder may be silent. The contract asks for two seconds, and one retry may come on top.
pub(crate) const PORT_SILENT_TIMEOUT: Duration = Duration::from_millis(1_700);
/// The same for a unity-mcp: it may be busy, or about to end.
pub(crate) const PORT_SILENT_TIMEOUT_OF_OURS: Duration = Duration::from_secs(8);
/// How long a process on this machine may take to accept a connection: longer than the system takes to refuse one,
/// because only a refusal says that nobody is there.
pub(crate) const RELAY_CONNECT_TIMEOUT: Duration =
    Duration::from_secs(if REFUSES_LATE { 3 } else { 1 });
/// How long it may take to say what it is, connection included.
pub(crate) const RELAY_IDENTIFY_TIMEOUT: Duration = Duration::from_secs(1);
/// A holder reports progress about every second. One that is silent for this long is not alive.
pub(crate) const RELAY_SILENCE_TIMEOUT: Duration = Duration::from_secs(30);
/// Calls at the holder at once: it needs room for Unity and for its own agents.
pub(crate) const RELAY_CALLS_MAX: usize = 64;
/// Those of them that may wait for Unity or for a job, so that a cancel always finds room.
pub(crate) const RELAY_WAITING_MAX: usize = 48;
/// More than any answer about health has.
pub(crate) const RELAY_HEALTH_BYTES_MAX: usize = 16 * KIB;
/// More than any report or answer has.
pub(crate) const RELAY_ANSWER_BYTES_MAX: usize = MIB;

// The commands of a person.

/// Milliseconds that a call waits for the end of a job before it asks again: many clients give up after 60 s.
pub(crate) const COMMAND_WAIT_MS: u64 = 45_000;
/// How long a server that a command starts may take until it listens.
pub(crate) const COMMAND_START_TIMEOUT: Duration = Duration::from_secs(5);
/// How long it may take to end: a server is gone within 2 s.
pub(crate) const COMMAND_STOP_TIMEOUT: Duration = Duration::from_millis(2_500);
/// How often a command looks whether its server has started or ended.
pub(crate) const COMMAND_LOOK: Duration = Duration::from_millis(25);
/// Bytes of the arguments on stdin: the server takes no larger message.
pub(crate) const COMMAND_STDIN_BYTES_MAX: u64 = 1024 * 1024;
/// Bytes of a file of a Unity project.
pub(crate) const COMMAND_FILE_BYTES_MAX: u64 = 1024 * 1024;
/// Columns of a text that is wrapped, if the terminal does not say how wide it is, and at most.
pub(crate) const COMMAND_WIDTH_MAX: usize = 100;
/// Characters of one text of Unity that a command shows.
pub(crate) const COMMAND_TEXT_MAX: usize = 2_000;
/// New entries of the console that `verify` shows.
pub(crate) const VERIFY_ENTRIES_MAX: u64 = 50;
/// Unity's pings and calls may be late; a state that lasts longer than this is worth a warning.
pub(crate) const DOCTOR_LONG_STATE: Duration = Duration::from_secs(60);

// The command `setup`.

/// The port of a server without settings.
pub(crate) const SETUP_USUAL_PORT: u16 = 8_091;
/// How many ports above it are tried for a project of its own.
pub(crate) const SETUP_PORTS_TRIED: u16 = 100;
// The page for people.

/// Viewers at once: a browser and `unity-mcp status`.
pub(crate) const PAGE_VIEWERS_MAX: usize = 2;
/// Records that are kept: a call takes about six, so these are the last minutes of a busy agent.
pub(crate) const PAGE_HISTORY_RECORDS_MAX: usize = 4_000;
pub(crate) const PAGE_HISTORY_BYTES_MAX: usize = MIB;
/// Agents that have a lane of their own: more do not fit side by side.
pub(crate) const PAGE_AGENTS_MAX: usize = 8;
/// Characters of the name of an agent.
pub(crate) const PAGE_AGENT_MAX: usize = 40;
/// Jobs that are shown. Those that have ended leave first.
pub(crate) const PAGE_JOBS_MAX: usize = 12;
/// Characters of one name that a peer chose.
pub(crate) const PAGE_TEXT_MAX: usize = 120;
/// Characters of one body, with `--page-bodies`.
pub(crate) const PAGE_BODY_MAX: usize = 4_000;
/// How long a viewer waits after the first news, so that what comes together is read together.
pub(crate) const PAGE_BATCH: Duration = Duration::from_millis(100);
/// Records that a viewer gets at most after each wait: 2,560 per second. It takes a few milliseconds of each second to
/// draw them. Of what is older than the last ones it gets the number.
pub(crate) const PAGE_BATCH_RECORDS_MAX: u64 = 256;
/// Records that are drawn before a call may come between: less than 100 µs.
pub(crate) const PAGE_PORTION_RECORDS: u64 = 32;

// The command `status`.

/// How often `--watch` looks.
pub(crate) const STATUS_INTERVAL: Duration = Duration::from_secs(1);
/// How long the server may take to answer.
pub(crate) const STATUS_TIMEOUT: Duration = Duration::from_secs(5);
/// More than the whole history has as text.
pub(crate) const STATUS_BYTES_MAX: usize = 16 * MIB;
/// Calls that are listed.
pub(crate) const STATUS_CALLS_MAX: usize = 10;

// The log.

/// Of the lines that wait to be written.
pub(crate) const LOG_WAITING_BYTES_MAX: usize = MIB;
/// How long the thread that writes lets lines gather after it has written some.
pub(crate) const LOG_BATCH: Duration = Duration::from_millis(10);
/// Lines that may come at once, and lines per second after that.
pub(crate) const LOG_BURST_MAX: f64 = 1_000.0;
pub(crate) const LOG_PER_SECOND: f64 = 100.0;
/// Characters of one text of a peer in a line.
pub(crate) const LOG_TEXT_MAX: usize = 1_000;
/// How long the last lines may take.
pub(crate) const LOG_FLUSH_TIMEOUT: Duration = Duration::from_millis(100);

// The end. The core takes at most 1.2 s of the 2 s that the contract allows.

/// How long the last answers may take to be written.
pub(crate) const STOP_FLUSH_TIMEOUT: Duration = Duration::from_millis(300);
/// When the process ends even if something is stuck.
pub const STOP_TIMEOUT: Duration = Duration::from_millis(1_700);
/// How often a stdio server looks whether its parent is alive. Windows cannot be asked.
pub const PARENT_CHECK: Duration = Duration::from_millis(500);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limits_are_those_of_the_table() {
        assert_eq!(MEMORY_MAX, 67_108_864);
        let queue_max = coordination::Limits::default().queue_max;
        assert_eq!(requests_max(queue_max), 176);
        assert_eq!((REQUEST_SMALL_BYTES, REQUEST_BYTES_MAX), (32_768, 1_048_576));
        assert_eq!((HTTP_HEAD_BYTES_MAX, HTTP_AHEAD_BYTES_MAX), (32_768, 4_096));
        assert_eq!((STDIO_UNREAD_BYTES_MAX, STDIO_UNREAD_BYTES_MIN), (1_048_576, 4_096));
        assert_eq!((STDIO_AHEAD_BYTES_MAX, STDIO_READ_BYTES), (1_048_576, 16_384));
        assert_eq!(UNITY_PRE_HELLO_BYTES_MAX, 131_072);
        assert_eq!((UNITY_PRE_HELLO_READ_BYTES, UNITY_READ_BUFFER_BYTES), (8_192, 16_384));
        assert_eq!((RELAY_HEALTH_BYTES_MAX, RELAY_ANSWER_BYTES_MAX), (16_384, 1_048_576));
        assert_eq!(LOG_WAITING_BYTES_MAX, 1_048_576);
    }

    #[test]
    fn requests_and_their_answers_fit_in_the_memory_that_an_attack_may_take() {
        let requests = requests_max(coordination::Limits::default().queue_max);
        let parsed = 2;
        let small = requests * REQUEST_SMALL_BYTES * parsed;
        let large = REQUEST_LARGE_MAX * REQUEST_BYTES_MAX * parsed;
        let answers = requests * MIB / 5;
        let ahead = STDIO_AHEAD_BYTES_MAX + STDIO_UNREAD_BYTES_MAX as usize;
        assert!(small + large + answers + ahead < MEMORY_MAX);
    }
}
