//! The commands about scenarios: list, run, meta, validate.

use std::borrow::Cow;
use std::io::Write as _;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use super::findings;
use sim::levels::run::{self, Level};
use sim::scenario::Scenario;
use sim::scenario::files::{self, ScenarioFile};

use terminal_size::terminal_size;
use textwrap::{Options, fill};

/// The exit code for bad usage or a wrong file.
const USAGE: u8 = 2;

pub(crate) fn list() -> ExitCode {
    let scenarios = match read(None) {
        Ok(scenarios) => scenarios,
        Err(problem) => return usage_error(&problem),
    };
    let columns = terminal_size().map_or(100, |(width, _)| usize::from(width.0)).clamp(40, 100);
    let options = Options::new(columns).initial_indent("      ").subsequent_indent("      ");
    let mut last_topic = "";
    for (file, scenario) in &scenarios {
        let (topic, name) = file.name.split_once("::").unwrap_or(("", &file.name));
        if topic != last_topic {
            print(&format!("{}{topic}\n", if last_topic.is_empty() { "" } else { "\n" }));
            last_topic = topic;
        }
        print(&format!("  {name}\n{}\n", fill(&scenario.why, &options)));
    }
    ExitCode::SUCCESS
}

pub(crate) fn validate(what: Option<&str>) -> ExitCode {
    let files = match files::matching(what) {
        Ok(files) => files,
        Err(problem) => return usage_error(&problem),
    };
    let problems: Vec<String> = files.iter().filter_map(|file| file.read().err()).collect();
    for problem in &problems {
        eprintln!("{problem}\n");
    }
    println!("{} of {} scenarios are well formed", files.len() - problems.len(), files.len());
    if problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(USAGE) }
}

pub(crate) fn run(
    level: Level,
    what: Option<&str>,
    seed: Option<u64>,
    shows_trace: bool,
) -> ExitCode {
    let scenarios = match read_with_seed(what, seed) {
        Ok(scenarios) => scenarios,
        Err(problem) => return usage_error(&problem),
    };
    let begin = Instant::now();
    let (count, mut failed, mut simulated) = (scenarios.len(), 0, Duration::ZERO);
    for (file, scenario) in scenarios {
        if let Err(why) = level.fits(&scenario) {
            print(&format!("skipped {}: {why}\n", file.name));
            continue;
        }
        let run = run::run(level, &scenario);
        simulated += run.simulated;
        print(&format!(
            "{} {}\n",
            if run.failures.is_empty() { "ok    " } else { "FAILED" },
            file.name
        ));
        if shows_trace || !run.failures.is_empty() {
            print(&run.trace());
        }
        for failure in &run.failures {
            print(&format!("  {failure}\n"));
        }
        if !run.failures.is_empty() {
            print(&match findings::write(&file.name.replace("::", "_"), level, &scenario, &run) {
                Ok(path) => format!("  drawn in {}\n", path.with_extension("html").display()),
                Err(problem) => format!("  it could not be drawn: {problem}\n"),
            });
        }
        failed += usize::from(!run.failures.is_empty());
    }
    let elapsed = begin.elapsed();
    print(&format!(
        "{count} scenarios, {failed} failed; {:.1} s simulated in {:.1} s, {:.1} runs per second\n",
        simulated.as_secs_f64(),
        elapsed.as_secs_f64(),
        count as f64 / elapsed.as_secs_f64(),
    ));
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Prints all records of all scenarios with this seed, for `meta` to compare. `reverse` runs them in the other order:
/// a scenario that depends on those before it then differs.
pub(crate) fn dump(seed: u64, reverse: bool) -> ExitCode {
    let mut scenarios = match read_with_seed(None, Some(seed)) {
        Ok(scenarios) => scenarios,
        Err(problem) => return usage_error(&problem),
    };
    if reverse {
        scenarios.reverse();
    }
    let mut dumps: Vec<String> = Vec::new();
    for (file, scenario) in scenarios {
        let run = run::run(Level::Full, &scenario);
        if let Some(failure) = run.failures.first() {
            eprintln!("{} fails with seed {seed}: {failure}", file.name);
            return ExitCode::FAILURE;
        }
        dumps.push(format!("{}\n{}", file.name, run.everything()));
    }
    if reverse {
        dumps.reverse();
    }
    print(&dumps.concat());
    ExitCode::SUCCESS
}

/// Runs every scenario with each seed in two processes at once and compares the results byte by byte.
pub(crate) fn meta(seeds: u64) -> ExitCode {
    let begin = Instant::now();
    let mut bytes = 0;
    for seed in 1..=seeds {
        let runs = start_dump(seed, &[]);
        let runs = runs.and_then(|one| Ok((one, start_dump(seed, &["--reverse"])?)));
        // The second process waits on its full pipe until the first has ended.
        let runs =
            runs.and_then(|(one, other)| Ok((one.wait_with_output()?, other.wait_with_output()?)));
        let (one, other) = match runs {
            Ok((one, other)) if one.status.success() && other.status.success() => (one, other),
            Ok((one, other)) => {
                eprint!("{}{}", lossy(&one.stderr), lossy(&other.stderr));
                return ExitCode::FAILURE;
            }
            Err(error) => return usage_error(&format!("cannot start a process: {error}")),
        };
        if one.stdout != other.stdout {
            println!("seed {seed}: two runs differ");
            show_difference(&one.stdout, &other.stdout);
            return ExitCode::FAILURE;
        }
        bytes += one.stdout.len();
        println!("seed {seed}: two runs agree in all {} bytes", one.stdout.len());
    }
    println!("{bytes} bytes are equal in two runs, in {:.1} s", begin.elapsed().as_secs_f64());
    ExitCode::SUCCESS
}

fn start_dump(seed: u64, flags: &[&str]) -> std::io::Result<Child> {
    Command::new(std::env::current_exe()?)
        .args(["dump", &seed.to_string()])
        .args(flags)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
}

fn show_difference(one: &[u8], other: &[u8]) {
    let (one, other) = (lossy(one), lossy(other));
    let mut name = "";
    for (one, other) in one.lines().zip(other.lines()) {
        if one.contains("::") && !one.contains(' ') {
            name = one;
        }
        if one != other {
            println!("in {name}\n  {one}\n  {other}");
            return;
        }
    }
    println!("one is longer than the other");
}

/// `seed` replaces the seed of each scenario.
pub(super) fn read_with_seed(
    what: Option<&str>,
    seed: Option<u64>,
) -> Result<Vec<(ScenarioFile, Scenario)>, String> {
    let mut scenarios = read(what)?;
    if let Some(seed) = seed {
        scenarios.iter_mut().for_each(|(_, scenario)| scenario.reseed(seed));
    }
    Ok(scenarios)
}

fn read(what: Option<&str>) -> Result<Vec<(ScenarioFile, Scenario)>, String> {
    files::matching(what)?
        .into_iter()
        .map(|file| file.read().map(|scenario| (file, scenario)))
        .collect()
}

fn lossy(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

/// A reader that closes the pipe, such as `head`, is no failure.
fn print(text: &str) {
    if std::io::stdout().write_all(text.as_bytes()).is_err() {
        std::process::exit(0);
    }
}

pub(super) fn usage_error(problem: &str) -> ExitCode {
    eprintln!("sim: {problem}");
    ExitCode::from(USAGE)
}
