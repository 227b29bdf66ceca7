//! Scripts: commands at given times, from a YAML file.
//!
//! ```yaml
//! - { at: 2s, do: compile 3s }
//! - { at: 10s, do: 'log error "boom"' }
//! - { every: 30s, do: reload }
//! ```

use std::time::Duration;

use serde::Deserialize;

use crate::command::Command;
use crate::editor::MockEditor;
use crate::words::parse_duration;

/// One step of a script.
#[derive(Debug, PartialEq, Eq)]
pub struct Step {
    /// When, counted from the start of the mock.
    pub at: Duration,
    /// The interval at which it is repeated, if it is.
    pub every: Option<Duration>,
    /// What to do.
    pub command: Command,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    at: Option<String>,
    every: Option<String>,
    #[serde(rename = "do")]
    words: String,
}

/// Reads a script.
///
/// # Errors
/// Names the step and what would be right, for a person.
pub fn parse(text: &str) -> Result<Vec<Step>, String> {
    let entries: Vec<Entry> = serde_saphyr::from_str(text).map_err(|error| error.to_string())?;
    let step = |(index, entry): (usize, Entry)| {
        step(&entry).map_err(|problem| format!("step {}: {problem}", index + 1))
    };
    entries.into_iter().enumerate().map(step).collect()
}

fn step(entry: &Entry) -> Result<Step, String> {
    let time = |text: &Option<String>| text.as_deref().map(parse_duration).transpose();
    let (at, every) = (time(&entry.at)?, time(&entry.every)?);
    if every == Some(Duration::ZERO) {
        return Err("every 0s would never end; use a longer interval".to_owned());
    }
    let at = at.or(every).ok_or("the time is missing; add \"at\" or \"every\"")?;
    Ok(Step { at, every, command: Command::parse(&entry.words)? })
}

/// Plans the steps of a script.
pub fn plan(editor: &mut MockEditor, steps: Vec<Step>) {
    for Step { at, every, command } in steps {
        editor.plan(at, every, command);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::parse;
    use crate::command::Command;

    #[test]
    fn steps_are_read_and_mistakes_are_named_with_their_place() {
        let steps = parse("- { at: 2s, do: compile 3s }\n- { every: 30s, do: reload }\n").unwrap();
        assert_eq!(steps[0].command, Command::Compile(Some(Duration::from_secs(3))));
        assert_eq!(
            (steps[1].at, steps[1].every),
            (Duration::from_secs(30), Some(Duration::from_secs(30)))
        );
        let problem = |text: &str| parse(text).unwrap_err();
        assert!(problem("- { at: 2s, do: complie }").contains("step 1: unknown word"));
        assert!(problem("- { do: compile }").contains("the time is missing"));
        assert!(problem("- { at: 2s, don: compile }").contains("don"));
        assert!(problem("- { at: 2s }").contains("do"));
        assert!(problem("- { every: 0s, do: reload }").contains("never end"));
    }
}
