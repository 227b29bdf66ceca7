//! Command: what the mock can be told to do, in the words of its prompt, its scripts and scenarios.

use std::time::Duration;

use protocol::JobState;

use crate::console::LogType;
use crate::settings::{CancelPolicy, PongPolicy};
use crate::words::parse_duration;

/// Durations that are left out are those of the settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    Compile(Option<Duration>),
    Reload(Option<Duration>),
    Play(Option<Duration>),
    Restart(Option<Duration>),
    Drop(Option<Duration>),
    Close(Option<Duration>),
    Freeze(Option<Duration>),
    Dialog,
    Resume,
    Log {
        kind: LogType,
        message: String,
    },
    Clear,
    FailTests(usize),
    Cancel(CancelPolicy),
    Pong(PongPolicy),
    Answer(Misanswer),
    LoseJobs,
    Lie(JobState),
    Stale,
    Say(String),
    /// Whatever it was told to do badly is over.
    Behave,
}

/// How the next answer is spoilt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Misanswer {
    Late(Duration),
    Twice,
    Never,
    Malformed,
    Oversize,
    /// Among hundreds of frames that mean nothing.
    Flood,
    WrongType,
    Misaddressed,
    Binary,
    /// It ran and failed, or was refused, depending on the code.
    Error(String),
}

/// The words, their arguments and what they do: the help, and the list that misspelt words are
/// compared with.
pub const WORDS: &[(&str, &str, &str)] = &[
    ("compile", "[3s]", "compile scripts, then reload the domain"),
    ("reload", "[2s]", "reload the domain: the socket goes, jobs stay, requests are forgotten"),
    ("play", "[2s]", "enter play mode: a domain reload without a compile"),
    ("restart", "[5s]", "end the Editor and start it again: everything is forgotten"),
    ("drop", "[1s]", "cut the socket and connect again after that time"),
    ("close", "[1s]", "the same, with a proper close"),
    ("freeze", "[10s]", "the main thread is stuck: pongs go on, nothing runs"),
    ("dialog", "", "a modal dialog is open: the same until dismissed"),
    ("dismiss", "", "end a dialog or a freeze"),
    ("log", "TYPE TEXT", "add an entry to the console (log, warning, error, assert, exception)"),
    ("clear", "", "clear the console"),
    ("tests", "fail N | pass", "how many tests of the next runs fail"),
    ("cancel", "honour | refuse | ignore", "what a cancel does to a test run"),
    ("pong", "300ms | never", "how long a pong takes"),
    (
        "answer",
        "late 3s | twice | never | malformed | oversize | flood | wrong-type | misaddressed | binary | error CODE",
        "spoil the next answer",
    ),
    ("job", "lost | STATE", "forget all jobs, or lie about the next status asked for"),
    ("stale", "", "send an editor_status with an old seq"),
    ("say", "JSON", "send this text as it is"),
    (
        "behave",
        "",
        "end every misbehaviour: pongs, answers, cancels and the main thread are well again",
    ),
];

impl Command {
    pub fn parse(line: &str) -> Result<Self, String> {
        let (word, rest) = split(line);
        match word {
            "compile" => duration(rest).map(Self::Compile),
            "reload" => duration(rest).map(Self::Reload),
            "play" => duration(rest).map(Self::Play),
            "restart" => duration(rest).map(Self::Restart),
            "drop" => duration(rest).map(Self::Drop),
            "close" => duration(rest).map(Self::Close),
            "freeze" => duration(rest).map(Self::Freeze),
            "dialog" => nothing(rest, Self::Dialog),
            "dismiss" => nothing(rest, Self::Resume),
            "log" => log(rest),
            "clear" => nothing(rest, Self::Clear),
            "tests" => tests(rest),
            "cancel" => cancel(rest),
            "pong" if rest == "never" => Ok(Self::Pong(PongPolicy::Never)),
            "pong" => parse_duration(rest).map(PongPolicy::After).map(Self::Pong),
            "answer" => misanswer(rest).map(Self::Answer),
            "job" if rest == "lost" => Ok(Self::LoseJobs),
            "job" => job_state(rest).map(Self::Lie),
            "stale" => nothing(rest, Self::Stale),
            "behave" => nothing(rest, Self::Behave),
            "say" if rest.is_empty() => Err("say what? a text follows".to_owned()),
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
        nearest.map_or("type help to see them".to_owned(), |near| format!("did you mean {near}?"));
    format!("there is no word \"{}\"; {hint}", protocol::printable(word, 40))
}

fn nothing(rest: &str, command: Command) -> Result<Command, String> {
    if rest.is_empty() { Ok(command) } else { Err(format!("\"{rest}\" has no meaning here")) }
}

fn duration(rest: &str) -> Result<Option<Duration>, String> {
    if rest.is_empty() { Ok(None) } else { parse_duration(rest).map(Some) }
}

fn log(rest: &str) -> Result<Command, String> {
    let (kind, message) = split(rest);
    let kind = LogType::named(kind)
        .ok_or_else(|| format!("\"{kind}\" is none of log, warning, error, assert, exception"))?;
    let unquoted = message.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    let message = unquoted.unwrap_or(message).to_owned();
    if message.is_empty() {
        return Err("a text is missing: log error \"text\"".to_owned());
    }
    Ok(Command::Log { kind, message })
}

fn tests(rest: &str) -> Result<Command, String> {
    match split(rest) {
        ("pass", "") => Ok(Command::FailTests(0)),
        ("fail", count) => {
            let count = count.parse().map_err(|_| format!("\"{count}\" is no number of tests"))?;
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
            return Err(format!("answer how? {known}"));
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
    fn words_are_understood() {
        let parse = |line: &str| Command::parse(line).unwrap();
        assert_eq!(parse("compile"), Command::Compile(None));
        assert_eq!(parse("  compile   1.5s "), Command::Compile(Some(Duration::from_millis(1500))));
        let message = "a b".to_owned();
        assert_eq!(parse("log error \"a b\""), Command::Log { kind: LogType::Error, message });
        assert_eq!(parse("tests fail 3"), Command::FailTests(3));
        assert_eq!(
            parse("answer late 3s"),
            Command::Answer(Misanswer::Late(Duration::from_secs(3)))
        );
        assert_eq!(parse("say {\"a\": 1}"), Command::Say("{\"a\": 1}".to_owned()));
    }

    #[test]
    fn wrong_words_are_told_what_would_be_right() {
        let problem = |line: &str| Command::parse(line).unwrap_err();
        assert_eq!(problem("complie 3s"), "there is no word \"complie\"; did you mean compile?");
        assert!(problem("compile soon").contains("500ms"));
        assert!(problem("log eror x").contains("exception"));
        assert!(problem("answer badly").contains("misaddressed"));
        assert!(problem("tests explode").contains("tests fail 3"));
        assert!(problem("dialog now").contains("no meaning"));
        assert!(problem("say").contains("text"));
        assert!(problem("\u{1b}[2J").contains("\\u{1b}"));
    }

    #[test]
    fn every_word_of_the_help_is_a_word() {
        for (word, _, _) in WORDS {
            let problem = Command::parse(word).err().unwrap_or_default();
            assert!(!problem.contains("there is no word"), "{word}");
        }
    }
}
