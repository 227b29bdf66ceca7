//! The commands that are about scenarios.

use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use sim::files::{self, ScenarioFile};
use sim::run::run;
use sim::scenario::Scenario;

/// Bad usage, or a file that is wrong.
const USAGE: u8 = 2;

pub(crate) fn list() -> ExitCode {
    let scenarios = match read(None) {
        Ok(scenarios) => scenarios,
        Err(problem) => return refuse(&problem),
    };
    let width = scenarios.iter().map(|(file, _)| file.name.len()).max().unwrap_or(0);
    for (file, scenario) in scenarios {
        println!("{:<width$}  {}", file.name, scenario.why);
    }
    ExitCode::SUCCESS
}

pub(crate) fn validate(what: Option<&str>) -> ExitCode {
    let files = match files::matching(what) {
        Ok(files) => files,
        Err(problem) => return refuse(&problem),
    };
    let problems: Vec<String> = files.iter().filter_map(|file| file.read().err()).collect();
    for problem in &problems {
        eprintln!("{problem}\n");
    }
    println!("{} of {} scenarios are well formed", files.len() - problems.len(), files.len());
    if problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(USAGE) }
}

pub(crate) fn play(what: Option<&str>, seed: Option<u64>, shows_trace: bool) -> ExitCode {
    let scenarios = match read_with_seed(what, seed) {
        Ok(scenarios) => scenarios,
        Err(problem) => return refuse(&problem),
    };
    let begin = Instant::now();
    let (count, mut failed, mut simulated) = (scenarios.len(), 0, Duration::ZERO);
    for (file, scenario) in scenarios {
        let run = run(&scenario);
        simulated += run.simulated;
        println!("{} {}", if run.failures.is_empty() { "ok    " } else { "FAILED" }, file.name);
        if shows_trace || !run.failures.is_empty() {
            print!("{}", run.trace());
        }
        for failure in &run.failures {
            println!("  {failure}");
        }
        failed += usize::from(!run.failures.is_empty());
    }
    let elapsed = begin.elapsed();
    println!(
        "{count} scenarios, {failed} failed; {:.1} s simulated in {:.1} s, {:.1} runs per second",
        simulated.as_secs_f64(),
        elapsed.as_secs_f64(),
        count as f64 / elapsed.as_secs_f64(),
    );
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

pub(crate) fn draw(what: &str, seed: Option<u64>, output: &Path) -> ExitCode {
    let scenarios = match read_with_seed(Some(what), seed) {
        Ok(scenarios) => scenarios,
        Err(problem) => return refuse(&problem),
    };
    let [(file, scenario)] = scenarios.as_slice() else {
        let names: Vec<&str> = scenarios.iter().map(|(file, _)| file.name.as_str()).collect();
        return refuse(&format!("one at a time; {what} could be any of {}", names.join(", ")));
    };
    let page = sim::html::page(&file.name, scenario, &run(scenario));
    match std::fs::write(output, page) {
        Ok(()) => {
            println!("{} is drawn in {}", file.name, output.display());
            ExitCode::SUCCESS
        }
        Err(error) => refuse(&format!("{}: {error}", output.display())),
    }
}

/// Everything that happens in every scenario with this seed, for `meta` to compare.
pub(crate) fn tell(seed: u64) -> ExitCode {
    let scenarios = match read_with_seed(None, Some(seed)) {
        Ok(scenarios) => scenarios,
        Err(problem) => return refuse(&problem),
    };
    for (file, scenario) in scenarios {
        print!("{}\n{}", file.name, run(&scenario).everything());
    }
    ExitCode::SUCCESS
}

/// Runs every scenario twice with each seed, in two processes at once, and compares them byte by byte.
pub(crate) fn meta(seeds: u64) -> ExitCode {
    let begin = Instant::now();
    let mut bytes = 0;
    for seed in 1..=seeds {
        let told = begin_to_tell(seed).and_then(|one| Ok((one, begin_to_tell(seed)?)));
        // The second is read after the first: its pipe holds it back meanwhile.
        let told =
            told.and_then(|(one, other)| Ok((one.wait_with_output()?, other.wait_with_output()?)));
        let (one, other) = match told {
            Ok((one, other)) if one.status.success() && other.status.success() => (one, other),
            Ok((one, _)) => return refuse(&String::from_utf8_lossy(&one.stderr)),
            Err(error) => return refuse(&format!("no second process: {error}")),
        };
        if one.stdout != other.stdout {
            println!("seed {seed}: two runs differ");
            show_difference(&one.stdout, &other.stdout);
            return ExitCode::FAILURE;
        }
        bytes += one.stdout.len();
        println!("seed {seed}: two runs agree in all {} bytes", one.stdout.len());
    }
    println!("{bytes} bytes told twice and equal, in {:.1} s", begin.elapsed().as_secs_f64());
    ExitCode::SUCCESS
}

fn begin_to_tell(seed: u64) -> std::io::Result<Child> {
    Command::new(std::env::current_exe()?)
        .args(["tell", &seed.to_string()])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
}

fn show_difference(one: &[u8], other: &[u8]) {
    let (one, other) = (String::from_utf8_lossy(one), String::from_utf8_lossy(other));
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

/// `seed` in place of each scenario's own.
fn read_with_seed(
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

fn refuse(problem: &str) -> ExitCode {
    eprintln!("sim: {problem}");
    ExitCode::from(USAGE)
}
