//! Command: what a person, a script or a scenario can make the mock do.

use std::time::Duration;

use protocol::JobState;

use crate::console::LogType;
use crate::settings::{CancelPolicy, PongPolicy};
use crate::words::parse_duration;

/// A command for the mock. [`WORDS`] has the words. Where a duration is `None`, the settings or a default
/// decide.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Compile for this long, then reload the domain if the settings have a reload time.
    Compile(Option<Duration>),
    /// Compile, and fail with this many errors: they are in the console, and there is no domain reload.
    CompileFails(usize),
    /// Change scripts on disk: the next compile finds this many errors.
    Edit(usize),
    /// Change the active scene without saving it.
    Dirty,
    /// Reload the domain: the socket drops, requests are lost, jobs stay.
    Reload(Option<Duration>),
    /// Enter play mode: a domain reload without a compile.
    Play(Option<Duration>),
    /// Quit the Editor and start it again after this time: everything is lost.
    Restart(Option<Duration>),
    /// Drop the socket without a close handshake, and connect again after this time.
    Drop(Option<Duration>),
    /// Close the socket with a close handshake, and connect again after this time.
    Close(Option<Duration>),
    /// The same with the close code 1001, which announces a reload.
    GoAway(Option<Duration>),
    /// Block the main thread: pings are answered, nothing runs.
    Freeze(Option<Duration>),
    /// Block the main thread until [`Command::Resume`], as a modal dialog does.
    Dialog,
    /// Unblock the main thread.
    Resume,
    /// Add an entry to the console.
    Log {
        /// The type of the entry.
        kind: LogType,
        /// Its text.
        message: String,
    },
    /// Clear the console.
    Clear,
    /// Open another project: the Editor restarts with this path; empty means that the hello names none.
    Project(String),
    /// In the next runs, this many tests fail and all others pass.
    FailTests(usize),
    /// Change what a cancel does to a job.
    Cancel(CancelPolicy),
    /// Change when pings are answered.
    Pong(PongPolicy),
    /// Spoil the next answer. Several of them queue up.
    Answer(Misanswer),
    /// Forget all jobs.
    LoseJobs,
    /// Report this state in the next `job_status`.
    Lie(JobState),
    /// Send an `editor_status` with an old `seq`.
    Stale,
    /// Send this text as a frame.
    Say(String),
    /// End every misbehaviour that a command started.
    Behave,
}

/// How the next answer is spoilt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Misanswer {
    /// It is sent this much later.
    Late(Duration),
    /// It is sent twice.
    Twice,
    /// It is not sent.
    Never,
    /// It has a field of the wrong type.
    Malformed,
    /// It is not JSON: a character of its text is only half there.
    Unreadable,
    /// It is larger than any server accepts.
    Oversize,
    /// It is sent among hundreds of meaningless frames.
    Flood,
    /// It has a message type that does not answer the request.
    WrongType,
    /// It has the id of another request.
    Misaddressed,
    /// It is sent as a binary frame.
    Binary,
    /// It is an error with this code. With a code that means "not executed", nothing runs; with any other code
    /// the tool runs first.
    Error(String),
}

/// Every word of the prompt: the word, its arguments, what it does.
pub const WORDS: &[(&str, &str, &str)] = &[
    ("compile", "[3s] | fails N", "compile scripts, then reload the domain; or fail with N errors"),
    ("edit", "[fails N]", "change scripts on disk, for script_recompile_trigger; or with N errors"),
    ("dirty", "", "change the active scene without saving it"),
    ("reload", "[2s]", "reload the domain: the socket drops, requests are lost, jobs stay"),
    ("play", "[2s]", "enter play mode: a domain reload without a compile"),
    ("restart", "[5s]", "quit the Editor and start it again: everything is lost"),
    ("drop", "[1s]", "drop the socket and connect again after this time"),
    ("close", "[1s]", "the same, with a close handshake"),
    ("goaway", "[1s]", "the same with the close code 1001, which announces a reload"),
    ("freeze", "[10s]", "block the main thread: pings are answered, nothing runs"),
    ("dialog", "", "open a modal dialog: the same until \"dismiss\""),
    ("dismiss", "", "end a dialog or a freeze"),
    ("log", "TYPE TEXT", "add an entry to the console (log, warning, error, assert, exception)"),
    ("clear", "", "clear the console"),
    (
        "project",
        "[PATH]",
        "open another project: the Editor restarts; without a path it names none",
    ),
    ("tests", "fail N | pass", "set how many tests fail in the next runs"),
    ("cancel", "honour | refuse | ignore", "set what a cancel does to a job"),
    ("pong", "300ms | never", "set how long a pong takes"),
    (
        "answer",
        "late 3s | twice | never | malformed | unreadable | oversize | flood | wrong-type | misaddressed | binary | error CODE",
        "spoil the next answer",
    ),
    ("job", "lost | STATE", "forget all jobs, or report a wrong state once"),
    ("stale", "", "send an editor_status with an old seq"),
    ("say", "JSON", "send this text as it is"),
    ("behave", "", "end every misbehaviour of pongs, answers, cancels and the main thread"),
];

impl Command {
    /// Reads one line of words, such as `compile 3s`.
    ///
    /// # Errors
    /// Says what would be right, for a person.
    pub fn parse(line: &str) -> Result<Self, String> {
        let (word, rest) = split(line);
        match word {
            "compile" => compile(rest),
            "edit" if rest.is_empty() => Ok(Self::Edit(0)),
            "edit" => failing(rest, "edit").map(Self::Edit),
            "dirty" => nothing(rest, Self::Dirty),
            "reload" => duration(rest).map(Self::Reload),
            "play" => duration(rest).map(Self::Play),
            "restart" => duration(rest).map(Self::Restart),
            "drop" => duration(rest).map(Self::Drop),
            "close" => duration(rest).map(Self::Close),
            "goaway" => duration(rest).map(Self::GoAway),
            "freeze" => duration(rest).map(Self::Freeze),
            "dialog" => nothing(rest, Self::Dialog),
            "dismiss" => nothing(rest, Self::Resume),
            "log" => log(rest),
            "clear" => nothing(rest, Self::Clear),
            "project" => Ok(Self::Project(rest.to_owned())),
            "tests" => tests(rest),
            "cancel" => cancel(rest),
            "pong" if rest == "never" => Ok(Self::Pong(PongPolicy::Never)),
            "pong" => parse_duration(rest).map(PongPolicy::After).map(Self::Pong),
            "answer" => misanswer(rest).map(Self::Answer),
            "job" if rest == "lost" => Ok(Self::LoseJobs),
            "job" => job_state(rest).map(Self::Lie),
            "stale" => nothing(rest, Self::Stale),
            "behave" => nothing(rest, Self::Behave),
            "say" if rest.is_empty() => {
                Err("the text is missing: say {\"type\": \"pong\"}".to_owned())
            }
            "say" => Ok(Self::Say(rest.to_owned())),
            unknown => Err(unknown_word(unknown)),
        }
    }
}

fn split(line: &str) -> (&str, &str) {
    let line = line.trim();
    line.split_once(char::is_whitespace).map_or((line, ""), |(word, rest)| (word, rest.trim()))
}

fn unknown_word(word: &str) -> String {
    let words = WORDS.iter().map(|(known, _, _)| *known).chain(["status", "help", "quit"]);
    let distance = |known: &str| strsim::damerau_levenshtein(word, known);
    let nearest = words.min_by_key(|known| distance(known)).filter(|known| distance(known) <= 3);
    let hint =
        nearest.map_or("type help for a list".to_owned(), |near| format!("did you mean {near}?"));
    format!("unknown word \"{}\"; {hint}", protocol::printable(word, 40))
}

fn nothing(rest: &str, command: Command) -> Result<Command, String> {
    if rest.is_empty() { Ok(command) } else { Err(format!("unexpected \"{rest}\"")) }
}

fn duration(rest: &str) -> Result<Option<Duration>, String> {
    if rest.is_empty() { Ok(None) } else { parse_duration(rest).map(Some) }
}

fn compile(rest: &str) -> Result<Command, String> {
    if rest.starts_with("fails") {
        return failing(rest, "compile").map(Command::CompileFails);
    }
    duration(rest).map(Command::Compile)
}

/// The number in `fails 2`.
fn failing(rest: &str, word: &str) -> Result<usize, String> {
    let count = rest.strip_prefix("fails").and_then(|count| count.trim().parse().ok());
    count
        .filter(|count| *count > 0)
        .ok_or_else(|| format!("write the number of errors: {word} fails 2"))
}

fn log(rest: &str) -> Result<Command, String> {
    let (kind, message) = split(rest);
    let kind = LogType::named(kind).ok_or_else(|| {
        format!("\"{kind}\" is not one of log, warning, error, assert, exception")
    })?;
    let unquoted = message.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    let message = unquoted.unwrap_or(message).to_owned();
    if message.is_empty() {
        return Err("the text is missing: log error \"text\"".to_owned());
    }
    Ok(Command::Log { kind, message })
}

fn tests(rest: &str) -> Result<Command, String> {
    match split(rest) {
        ("pass", "") => Ok(Command::FailTests(0)),
        ("fail", count) => {
            let count =
                count.parse().map_err(|_| format!("\"{count}\" is not a number of tests"))?;
            Ok(Command::FailTests(count))
        }
        _ => Err("write \"tests fail 3\" or \"tests pass\"".to_owned()),
    }
}

fn cancel(rest: &str) -> Result<Command, String> {
    Ok(Command::Cancel(match rest {
        "honour" | "honor" => CancelPolicy::Honour,
        "refuse" => CancelPolicy::Refuse,
        "ignore" => CancelPolicy::Ignore,
        _ => {
            return Err(
                "write \"cancel honour\", \"cancel refuse\" or \"cancel ignore\"".to_owned()
            );
        }
    }))
}

fn misanswer(rest: &str) -> Result<Misanswer, String> {
    Ok(match split(rest) {
        ("late", time) => Misanswer::Late(parse_duration(time)?),
        ("twice", "") => Misanswer::Twice,
        ("never", "") => Misanswer::Never,
        ("malformed", "") => Misanswer::Malformed,
        ("unreadable", "") => Misanswer::Unreadable,
        ("oversize", "") => Misanswer::Oversize,
        ("flood", "") => Misanswer::Flood,
        ("wrong-type", "") => Misanswer::WrongType,
        ("misaddressed", "") => Misanswer::Misaddressed,
        ("binary", "") => Misanswer::Binary,
        ("error", "") => Misanswer::Error("ERR_UNITY_EXECUTION".to_owned()),
        ("error", code) => Misanswer::Error(code.to_owned()),
        _ => {
            let known = WORDS.iter().find(|(word, _, _)| *word == "answer");
            let known = known.map(|(_, arguments, _)| *arguments).unwrap_or_default();
            return Err(format!("write \"answer\" and one of {known}"));
        }
    })
}

fn job_state(rest: &str) -> Result<JobState, String> {
    serde_json::from_value(rest.into()).map_err(|_| {
        "write \"job lost\" or one of queued, running, succeeded, failed, timeout, cancelled"
            .to_owned()
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Command, Misanswer, WORDS};
    use crate::console::LogType;

    #[test]
    fn words_are_parsed() {
        let parse = |line: &str| Command::parse(line).unwrap();
        assert_eq!(parse("compile"), Command::Compile(None));
        assert_eq!(parse("  compile   1.5s "), Command::Compile(Some(Duration::from_millis(1500))));
        let message = "a b".to_owned();
        assert_eq!(parse("log error \"a b\""), Command::Log { kind: LogType::Error, message });
        assert_eq!(parse("tests fail 3"), Command::FailTests(3));
        assert_eq!(parse("compile fails 2"), Command::CompileFails(2));
        assert_eq!(
            parse("answer late 3s"),
            Command::Answer(Misanswer::Late(Duration::from_secs(3)))
        );
        assert_eq!(parse("say {\"a\": 1}"), Command::Say("{\"a\": 1}".to_owned()));
    }

    #[test]
    fn an_error_says_what_would_be_right() {
        let problem = |line: &str| Command::parse(line).unwrap_err();
        assert_eq!(problem("complie 3s"), "unknown word \"complie\"; did you mean compile?");
        assert!(problem("compile soon").contains("500ms"));
        assert!(problem("compile fails 0").contains("compile fails 2"));
        assert!(problem("log eror x").contains("exception"));
        assert!(problem("answer badly").contains("misaddressed"));
        assert!(problem("tests explode").contains("tests fail 3"));
        assert!(problem("dialog now").contains("unexpected \"now\""));
        assert!(problem("say").contains("text"));
        assert!(problem("\u{1b}[2J").contains("\\u{1b}"));
    }

    #[test]
    fn every_word_of_the_help_is_a_word() {
        for (word, _, _) in WORDS {
            let problem = Command::parse(word).err().unwrap_or_default();
            assert!(!problem.contains("unknown word"), "{word}");
        }
    }
}
