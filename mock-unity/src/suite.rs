//! Suite: the tests of the project, and the result of a run.

use std::time::Duration;

use protocol::{JobState, Json};
use serde::Deserialize;
use serde_json::json;

/// The tests of a project, in the order in which they run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suite(pub Vec<Test>);

/// One test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Test {
    /// The full name, such as `Game.Tests.PlayerTests.Jumps`.
    pub name: String,
    /// When it runs.
    pub mode: TestMode,
    /// How long it takes.
    pub takes: Duration,
    /// How it ends.
    pub outcome: TestOutcome,
}

/// The two kinds of Unity tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TestMode {
    /// An Edit Mode test.
    #[default]
    Edit,
    /// A Play Mode test.
    Play,
}

/// How a test ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TestOutcome {
    /// It passes.
    #[default]
    Pass,
    /// It fails.
    Fail,
    /// It is skipped.
    Skip,
}

/// One test of a file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TestEntry {
    name: String,
    #[serde(default)]
    mode: TestMode,
    #[serde(default)]
    takes: Option<String>,
    #[serde(default)]
    outcome: TestOutcome,
}

impl Suite {
    /// Twenty tests, of which two fail.
    pub fn sample() -> Self {
        let fixtures = [
            (
                "Game.Tests.PlayerTests",
                TestMode::Edit,
                ["Walks", "Jumps", "Falls", "Lands", "Swims"],
            ),
            (
                "Game.Tests.EnemyTests",
                TestMode::Edit,
                ["Spawns", "Chases", "Attacks", "Flees", "Dies"],
            ),
            (
                "Game.Tests.InventoryTests",
                TestMode::Edit,
                ["Adds", "Removes", "Stacks", "Sorts", "Saves"],
            ),
            (
                "Game.Tests.LevelTests",
                TestMode::Play,
                ["Loads", "Lights", "Streams", "Resets", "Ends"],
            ),
        ];
        let tests = fixtures.iter().flat_map(|(fixture, mode, names)| {
            names.iter().map(move |name| Test {
                name: format!("{fixture}.{name}"),
                mode: *mode,
                takes: Duration::from_millis(150),
                outcome: match *name {
                    "Jumps" | "Stacks" => TestOutcome::Fail,
                    _ => TestOutcome::Pass,
                },
            })
        });
        Self(tests.collect())
    }

    /// Reads a YAML list of tests: `- {name: A.B, mode: play, takes: 200ms, outcome: fail}`. Only `name` is
    /// required; the other defaults are `edit`, `100ms` and `pass`.
    ///
    /// # Errors
    /// Says what is wrong with the file, for a person.
    pub fn from_yaml(text: &str) -> Result<Self, String> {
        let entries: Vec<TestEntry> =
            serde_saphyr::from_str(text).map_err(|error| error.to_string())?;
        let test = |entry: TestEntry| {
            let takes = entry.takes.as_deref().map(crate::parse_duration).transpose()?;
            Ok(Test {
                name: entry.name,
                mode: entry.mode,
                takes: takes.unwrap_or(Duration::from_millis(100)),
                outcome: entry.outcome,
            })
        };
        let tests: Result<Vec<Test>, String> = entries.into_iter().map(test).collect();
        tests.map(Self)
    }

    /// Makes the first `count` tests fail and all others pass.
    pub(crate) fn fail_first(&mut self, count: usize) {
        for (index, test) in self.0.iter_mut().enumerate() {
            test.outcome = if index < count { TestOutcome::Fail } else { TestOutcome::Pass };
        }
    }

    /// The tests that `run_tests` runs with these parameters.
    pub(crate) fn select(&self, params: &Json) -> Vec<Test> {
        let text = |name: &str| params.get(name).and_then(Json::as_str);
        let mode = text("mode").unwrap_or("all");
        let wanted = |test: &&Test| {
            let mode_fits = match test.mode {
                TestMode::Edit => mode != "play",
                TestMode::Play => mode != "edit",
            };
            mode_fits && text("filter").is_none_or(|part| test.name.contains(part))
        };
        self.0.iter().filter(wanted).cloned().collect()
    }
}

fn count(tests: &[Test], outcome: TestOutcome) -> usize {
    tests.iter().filter(|test| test.outcome == outcome).count()
}

/// The state of a job that has run these tests. A run in which no test was executed has not succeeded.
pub(crate) fn end_state(tests: &[Test]) -> JobState {
    match (count(tests, TestOutcome::Pass), count(tests, TestOutcome::Fail)) {
        (1.., 0) => JobState::Succeeded,
        (0, 0) | (_, 1..) => JobState::Failed,
    }
}

/// One line about a run of these tests.
pub(crate) fn summary(tests: &[Test]) -> String {
    format!("{} tests, {} failed", tests.len(), count(tests, TestOutcome::Fail))
}

/// The result of a run of these tests.
pub(crate) fn report(tests: &[Test]) -> Json {
    let failed = tests.iter().filter(|test| test.outcome == TestOutcome::Fail).map(|test| {
        json!({
            "name": test.name,
            "message": "  Expected: 3\n  But was:  2\n",
            "stack_trace": format!("at {} () [0x00012] in ./Assets/Tests/GameTests.cs:17", test.name),
        })
    });
    let duration: Duration = tests.iter().map(|test| test.takes).sum();
    json!({
        "summary": {
            "total": tests.len(),
            "passed": count(tests, TestOutcome::Pass),
            "failed": count(tests, TestOutcome::Fail),
            "skipped": count(tests, TestOutcome::Skip),
            "duration_ms": u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
        },
        "failed_tests": failed.collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use protocol::JobState;

    use super::{Suite, TestOutcome, end_state, report};

    #[test]
    fn a_run_has_the_tests_it_was_asked_for() {
        let suite = Suite::sample();
        let count = |params| suite.select(&params).len();
        assert_eq!(count(json!({})), 20);
        assert_eq!(count(json!({ "mode": "edit" })), 15);
        assert_eq!(count(json!({ "mode": "play" })), 5);
        assert_eq!(count(json!({ "mode": "all", "filter": "Enemy" })), 5);
        let report = report(&suite.select(&json!({ "filter": "Player" })));
        assert_eq!(report["summary"]["passed"], 4);
        assert_eq!(report["failed_tests"][0]["name"], "Game.Tests.PlayerTests.Jumps");
    }

    #[test]
    fn a_run_succeeds_if_tests_were_executed_and_none_failed() {
        let suite = Suite::sample();
        let ends = |filter| end_state(&suite.select(&json!({ "filter": filter })));
        assert_eq!(ends("Player"), JobState::Failed);
        assert_eq!(ends("Enemy"), JobState::Succeeded);
        assert_eq!(ends("NoSuchTest"), JobState::Failed);
        let skipped = Suite::from_yaml("- {name: A.B, outcome: skip}").unwrap();
        assert_eq!(end_state(&skipped.0), JobState::Failed);
    }

    #[test]
    fn a_suite_is_read_from_a_file_and_mistakes_are_named() {
        let suite =
            Suite::from_yaml("- name: A.B\n- {name: C.D, mode: play, takes: 2s, outcome: skip}\n");
        let suite = suite.unwrap();
        assert_eq!(suite.0[1].outcome, TestOutcome::Skip);
        assert_eq!(suite.0[1].takes.as_secs(), 2);
        assert!(Suite::from_yaml("- nam: A").unwrap_err().contains("nam"));
        assert!(Suite::from_yaml("- {name: A, takes: soon}").unwrap_err().contains("soon"));
    }
}
