//! One run of certify with the mock as its driver.

use harness::server::{binary, run};
use serde_json::Value;

/// What a run said.
pub(crate) struct Certified {
    pub(crate) code: i32,
    /// One object per check.
    pub(crate) checks: Vec<Value>,
    pub(crate) summary: Value,
}

impl Certified {
    /// The names of the checks that ended like this.
    pub(crate) fn names(&self, outcome: &str) -> Vec<&str> {
        let ended = self.checks.iter().filter(|check| check["outcome"] == outcome);
        ended.map(|check| check["check"].as_str().unwrap()).collect()
    }
}

/// The command line of a mock with these flags.
pub(crate) fn driver(mock_flags: &str) -> String {
    format!("\"{}\" --port {{port}} {mock_flags}", binary("mock-unity").display())
}

/// Runs certify with a mock as its driver.
pub(crate) fn certify(mock_flags: &str, flags: &[&str]) -> Certified {
    let driver = driver(mock_flags);
    let all = [&["certify", "--json", "--port", "0", "--driver", &driver], flags].concat();
    let (code, stdout, stderr) = run(&all, &std::env::temp_dir());
    let mut lines: Vec<Value> = stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line} {stderr}")))
        .collect();
    let summary = lines.pop().unwrap();
    assert!(lines.remove(0)["port"].as_u64() > Some(0));
    Certified { code, checks: lines, summary }
}
