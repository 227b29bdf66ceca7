//! One step of a schedule, and the time that passes in it.

use coordination::Core;
use coordination::{ClosedBy, Event};
use protocol::{Execute, SubmitJob, ToUnity};

use super::unity::state;
use super::{Judge, World};
use crate::judge::model::{Ask, Millis};
use crate::random::schedule::Action;
use crate::random::schedule::fake_unity::FakeUnity;

impl<S: Core> World<S> {
    pub(super) fn act(&mut self, action: Action, word: u64) -> Result<(), String> {
        match action {
            Action::Pass => self.pass_some(word),
            Action::CallConsole => self.call_console(pick(word, &[10_000, 10_000, 100, 30_000])),
            Action::CallTests => {
                let timeout = pick(word, &[300_000, 60_000, 5_000, 200]);
                self.call_tests(timeout, pick(word >> 8, &[0, 0, 500, 60_000]))
            }
            Action::CallStatus => {
                let job = self.some_job(word);
                self.call_status(job, pick(word >> 8, &[0, 0, 300, 60_000]))
            }
            Action::CallCancel => {
                let job =
                    if word.is_multiple_of(8) { "req-m-1".to_owned() } else { self.some_job(word) };
                self.call(
                    "cancel_job",
                    Ask::Cancel { job: job.clone() },
                    &[("job_id", job.into())],
                    5_000,
                )
            }
            Action::CallState => self.call("get_editor_state", Ask::State, &[], 5_000),
            Action::McpCancel => self.take_back(word),
            Action::Broke => self.break_adapter(word),
            Action::Connect => self.connect(word),
            Action::Intrude => self.intrude(word),
            Action::Drop => self.drop_socket(ClosedBy::Anyone),
            Action::Reload => self.lose_unity(FakeUnity::reload),
            Action::Restart => self.lose_unity(FakeUnity::restart),
            Action::Status => self.report_state(state(word)),
            Action::StaleStatus => self.stale_status(word),
            Action::TogglePong => {
                self.unity.answers_pings = !self.unity.answers_pings;
                Ok(())
            }
            Action::Execute => {
                self.unity.execute();
                Ok(())
            }
            Action::Answer => match self.unity.on.and_then(|_| self.unity.answer(word)) {
                Some(frame) => self.say(Ok(frame)),
                None => Ok(()),
            },
            Action::Misanswer => match self.unity.on.and_then(|_| self.unity.misanswer(word)) {
                Some(frame) => self.say(Ok(frame)),
                None => Ok(()),
            },
            Action::Stray => self.stray(word),
            Action::Garbage => self.garbage(word),
            Action::TooLarge => self.drop_socket(ClosedBy::FrameTooLarge),
            Action::Job => {
                self.unity.move_job(word);
                Ok(())
            }
            Action::RefuseSend => {
                self.refuse_send = true;
                Ok(())
            }
            Action::Capability => self.offer(word),
        }
    }

    pub(super) fn pass_some(&mut self, word: u64) -> Result<(), String> {
        let next = self.next_deadline().unwrap_or(self.now).saturating_sub(self.now);
        let length = match word % 12 {
            0 => next.saturating_sub(1),
            1 | 2 => next,
            3 => next + 1,
            4 => 1,
            5 | 6 => 10,
            7 | 8 => 200,
            9 => 1_000,
            10 => 3_000,
            _ => (word >> 8) % 70_000,
        };
        self.pass(length.min(400_000))
    }

    pub(super) fn next_deadline(&self) -> Option<Millis> {
        let core =
            self.subject.next_deadline().map(|next| next.at.since_start().as_millis() as Millis);
        match self.judge {
            Judge::ModelAndBooks => [core, self.model.next_deadline()].into_iter().flatten().min(),
            Judge::BooksAlone => core,
        }
    }

    /// Time passes; the core is called at each of its deadlines and at each of the contract's.
    pub(super) fn pass(&mut self, length: Millis) -> Result<(), String> {
        let end = self.now + length;
        self.meet_deadlines(end)?;
        self.now = end;
        Ok(())
    }

    pub(super) fn meet_deadlines(&mut self, end: Millis) -> Result<(), String> {
        let mut rounds = 0;
        while let Some(next) = self.next_deadline().filter(|next| *next <= end) {
            rounds += 1;
            if rounds > 20_000 {
                return Err(format!("time does not get past {next}"));
            }
            self.now = self.now.max(next);
            self.handle(Event::DeadlineReached)?;
        }
        Ok(())
    }

    pub(super) fn report_unsent(&mut self) -> Result<(), String> {
        self.meet_deadlines(self.now)?;
        let Some((on, frame)) = self.unsent.take() else { return Ok(()) };
        // Only from now on does the server know that nothing was written.
        if let ToUnity::Execute(Execute { client_request_id: Some(client), .. })
        | ToUnity::SubmitJob(SubmitJob { client_request_id: Some(client), .. }) = &frame
        {
            self.outcomes.came_back(client);
        }
        self.model.on_not_sent(self.now, on, &frame);
        self.handle(Event::UnityNotSent { on, frame })?;
        self.closed(on, ClosedBy::Anyone) // As a socket does that has given back what it had.
    }
}

fn pick(word: u64, choices: &[Millis]) -> Millis {
    choices.get(word as usize % choices.len()).copied().unwrap_or_default()
}
