//! CancelManager: what a cancel means, and which cancels Unity is still owed. A cancel is kept while Unity is
//! away, and sent once.

use std::collections::VecDeque;

use protocol::{Cancel, JobState, RequestId, ToUnity, UnityJobId};

use crate::event::CancelAnswer;
use crate::ids::JobId;
use crate::limits::Limits;

#[derive(Debug, Default)]
pub(crate) struct CancelManager {
    intents: VecDeque<Intent>,
    /// Submissions that were given up. If Unity accepts one after all, it is cancelled there.
    abandoned: VecDeque<RequestId>,
    /// A cancel that was sent beside the lane, and the job whose submission holds the lane, unless that has ended.
    direct: Option<(RequestId, Option<JobId>)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Intent {
    /// A job that has not ended. The cancel waits until Unity's name for the job is known.
    Job(JobId),
    /// A job that has ended here but may go on in Unity.
    Orphan(UnityJobId),
    /// The same, but Unity's name for it is unknown: its acceptance has not arrived.
    Submission(RequestId),
}

/// What a cancel names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Job(UnityJobId),
    Submission(RequestId),
}

impl Target {
    pub(crate) fn cancel(self, request_id: RequestId) -> ToUnity {
        let (target_job_id, target_request_id) = match self {
            Self::Job(id) => (Some(id), None),
            Self::Submission(id) => (None, Some(id)),
        };
        ToUnity::Cancel(Cancel { request_id, target_request_id, target_job_id })
    }
}

impl CancelManager {
    /// What a cancel means in each state of a job. `under_way`: Unity is owed one already, or has one.
    pub(crate) fn on_request(
        &mut self,
        job: JobId,
        state: JobState,
        under_way: bool,
    ) -> CancelAnswer {
        match state {
            JobState::Queued => CancelAnswer::Cancelled,
            JobState::Running => {
                if !under_way {
                    self.want(Intent::Job(job));
                }
                CancelAnswer::CancelRequested
            }
            JobState::Succeeded | JobState::Failed | JobState::Timeout | JobState::Cancelled => {
                CancelAnswer::Rejected
            }
        }
    }

    /// Whether a job whose time is over must be cancelled in Unity: not if Unity has a cancel already.
    pub(crate) fn must_follow_timeout(&self, job: JobId, under_way: bool) -> bool {
        !under_way || self.owes(job)
    }

    /// A submission comes first: Unity may be at work on that very request, and nothing else can run before it ends.
    pub(crate) fn want(&mut self, intent: Intent) {
        if self.intents.contains(&intent) {
            return;
        }
        match intent {
            Intent::Submission(_) => self.intents.push_front(intent),
            Intent::Job(_) | Intent::Orphan(_) => self.intents.push_back(intent),
        }
    }

    /// A cancel of this job waits to be sent.
    pub(crate) fn owes(&self, job: JobId) -> bool {
        self.intents.contains(&Intent::Job(job))
    }

    /// The job has ended: there is nothing left to cancel.
    pub(crate) fn forget(&mut self, job: JobId) {
        self.intents.retain(|intent| *intent != Intent::Job(job));
        self.direct.take_if(|(_, of)| *of == Some(job));
    }

    /// Takes the cancel that waits to be sent for this job. False if there is none.
    pub(crate) fn take(&mut self, job: JobId) -> bool {
        let is_owed = self.owes(job);
        self.intents.retain(|intent| *intent != Intent::Job(job));
        is_owed
    }

    /// The same for a submission that was given up.
    pub(crate) fn take_submission(&mut self, submission: &RequestId) -> bool {
        let before = self.intents.len();
        self.intents.retain(|intent| !matches!(intent, Intent::Submission(id) if id == submission));
        self.intents.len() < before
    }

    pub(crate) fn set_direct(&mut self, cancel: RequestId, job: Option<JobId>) {
        self.direct = Some((cancel, job));
    }

    /// The job that this cancel was sent for beside the lane. `Some(None)`: the job has ended.
    pub(crate) fn take_direct(&mut self, cancel: &RequestId) -> Option<Option<JobId>> {
        self.direct.take_if(|(id, _)| id == cancel).map(|(_, job)| job)
    }

    /// The session that it was sent on is gone.
    pub(crate) fn lose_direct(&mut self) -> Option<JobId> {
        self.direct.take().and_then(|(_, job)| job)
    }

    /// The Editor that knew them is gone.
    pub(crate) fn forget_orphans(&mut self) {
        self.intents.retain(|intent| matches!(intent, Intent::Job(_)));
    }

    pub(crate) fn forget_orphan(&mut self, id: &UnityJobId) {
        self.intents.retain(|intent| !matches!(intent, Intent::Orphan(orphan) if orphan == id));
    }

    /// Takes the first intent whose target Unity knows, with Unity's name for it.
    pub(crate) fn next(
        &mut self,
        unity_id: impl Fn(JobId) -> Option<UnityJobId>,
    ) -> Option<(Option<JobId>, Target)> {
        let target = |intent: &Intent| match intent {
            Intent::Job(job) => unity_id(*job).map(|id| (Some(*job), Target::Job(id))),
            Intent::Orphan(id) => Some((None, Target::Job(id.clone()))),
            Intent::Submission(id) => Some((None, Target::Submission(id.clone()))),
        };
        let index = self.intents.iter().position(|intent| target(intent).is_some())?;
        self.intents.remove(index).as_ref().and_then(target)
    }

    pub(crate) fn abandon(&mut self, submission: RequestId, limits: &Limits) {
        self.abandoned.push_back(submission);
        if self.abandoned.len() > limits.abandoned_max {
            self.abandoned.pop_front();
        }
    }

    /// This submission is wanted again: if Unity accepts it after all, it goes on. A cancel that was promised stays.
    pub(crate) fn forgive(&mut self, submission: &RequestId) {
        self.abandoned.retain(|abandoned| abandoned != submission);
    }

    /// True, once, if this submission was given up on. A cancel of it that waits is not needed any more.
    pub(crate) fn take_abandoned(&mut self, submission: &RequestId) -> bool {
        self.take_submission(submission);
        let before = self.abandoned.len();
        self.abandoned.retain(|abandoned| abandoned != submission);
        self.abandoned.len() < before
    }

    pub(crate) fn assert_invariants(&self, limits: &Limits, lives: impl Fn(JobId) -> bool) {
        let leaks = |intent: &Intent| matches!(intent, Intent::Job(job) if !lives(*job));
        debug_assert!(!self.intents.iter().any(leaks), "an ended job is owed no cancel");
        debug_assert!(self.abandoned.len() <= limits.abandoned_max, "abandoned ones are bounded");
        debug_assert!(
            self.intents.len() <= limits.jobs_active_max + 2 * limits.abandoned_max + 1,
            "intents are bounded"
        );
    }
}
