//! NameStore: the names of the last requests that were sent to Unity, for the log.

use std::collections::VecDeque;

use protocol::RequestId;

use crate::ids::RequestNames;

/// Enough for every request that can still be answered.
const NAMES_MAX: usize = 64;

#[derive(Debug, Default)]
pub(crate) struct NameStore {
    names: VecDeque<RequestNames>,
}

impl NameStore {
    pub(crate) fn push(&mut self, names: RequestNames) {
        if self.names.len() == NAMES_MAX {
            self.names.pop_front();
        }
        self.names.push_back(names);
    }

    pub(crate) fn get(&self, request_id: &RequestId) -> Option<&RequestNames> {
        self.names.iter().rev().find(|names| names.request_id == *request_id)
    }
}
