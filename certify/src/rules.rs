//! Rules: what must hold for every frame of the whole run, whichever check it belongs to.

/// A rule of the whole run. `checks/whole_run.rs` has a sentence for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// Every frame is a text frame.
    Text,
    /// Every frame is a message of protocol version 1.
    Valid,
    /// Every frame is within `max_message_bytes`.
    Size,
    /// Each socket starts with a hello, and has only one.
    HelloFirst,
    /// `seq` grows in each session.
    Seq,
    /// `connect_attempt_seq` grows with every connection.
    Attempt,
    /// A request has one answer.
    Once,
    /// The answer has the type of its request.
    Type,
    /// There is no answer without a request.
    Known,
    /// A changed `plugin_session_id` says that older requests are forgotten.
    Forgotten,
    /// Each submission has its own job id.
    JobId,
}

/// Where a rule was broken.
pub(crate) struct Violation {
    pub(crate) rule: Rule,
    /// What happened, as a sentence.
    pub(crate) what: String,
    /// Entries of the record that show it.
    pub(crate) frames: Vec<usize>,
}
