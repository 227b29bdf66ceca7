//! Names that the server gives. They differ from each other, even over a restart.

use std::fmt::{self, Write as _};

use protocol::RequestId;

/// One MCP call, numbered by the shell: the way its answer goes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CallId(pub u64);

/// One accepted socket of `/unity`, numbered by the shell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConnectionId(pub u64);

/// Names one start of the server: 1 to 8 of `a-z 0-9`, random, given from outside.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Boot([u8; Self::LENGTH_MAX]); // Shorter names end in zeros.

impl Boot {
    const LENGTH_MAX: usize = 8;

    pub fn new(text: &str) -> Option<Self> {
        let sound = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        if text.is_empty() || text.len() > Self::LENGTH_MAX || !text.bytes().all(sound) {
            return None;
        }
        let mut bytes = [0; Self::LENGTH_MAX];
        bytes.iter_mut().zip(text.bytes()).for_each(|(slot, byte)| *slot = byte);
        Some(Self(bytes))
    }
}

impl fmt::Display for Boot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letters = self.0.iter().take_while(|byte| **byte != 0);
        letters.map(|byte| char::from(*byte)).try_for_each(|letter| f.write_char(letter))
    }
}

impl fmt::Debug for Boot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Boot({self})")
    }
}

/// A job as agents know it: `job-<boot>-<n>`. The plugin's own id for it stays inside.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct JobId {
    boot: Boot,
    number: u64,
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "job-{}-{}", self.boot, self.number)
    }
}

impl fmt::Debug for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// Gives every request and every job of one start a name of its own.
#[derive(Debug)]
pub(crate) struct IdSource {
    boot: Boot,
    requests: u64,
    jobs: u64,
}

impl IdSource {
    pub(crate) fn new(boot: Boot) -> Self {
        Self { boot, requests: 0, jobs: 0 }
    }

    pub(crate) fn request(&mut self) -> RequestId {
        self.requests += 1;
        RequestId(format!("req-{}-{}", self.boot, self.requests))
    }

    pub(crate) fn job(&mut self) -> JobId {
        self.jobs += 1;
        JobId { boot: self.boot, number: self.jobs }
    }

    /// The job of this start that `text` names, whether or not it is still kept.
    pub(crate) fn parse_job(&self, text: &str) -> Option<JobId> {
        let number = text.strip_prefix("job-")?.rsplit('-').next()?.parse().ok()?;
        let job = JobId { boot: self.boot, number };
        // Comparing the text refuses another start, signs and leading zeros in one go.
        (job.to_string() == text).then_some(job)
    }
}

/// The names of a request in the log: on the wire, the caller's own, and its job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestNames {
    pub request_id: RequestId,
    pub client_request_id: Option<String>,
    pub job: Option<JobId>,
}

#[cfg(test)]
mod tests {
    use super::{Boot, IdSource};

    #[test]
    fn a_job_is_known_by_its_exact_text_only() {
        let mut ids = IdSource::new(Boot::new("a1b2").unwrap());
        assert_eq!(ids.request().0, "req-a1b2-1");
        let job = ids.job();
        assert_eq!(job.to_string(), "job-a1b2-1");
        assert_eq!(ids.parse_job("job-a1b2-1"), Some(job));
        for other in
            ["job-a1b2-01", "job-a1b2-+1", "job-zzzz-1", "job-1", "req-a1b2-1", "", "job-a1b2-"]
        {
            assert_eq!(ids.parse_job(other), None, "{other}");
        }
    }

    #[test]
    fn a_boot_is_one_to_eight_lowercase_letters_or_digits() {
        assert_eq!(Boot::new("a").unwrap().to_string(), "a");
        assert_eq!(Boot::new("12345678").unwrap().to_string(), "12345678");
        for bad in ["", "123456789", "A", "a-b", "ä"] {
            assert_eq!(Boot::new(bad), None, "{bad}");
        }
    }
}
