//! CapabilityStore: which tools the plugin of this session says it has.

use std::collections::BTreeSet;

use protocol::OfferedTool;

#[derive(Debug, Default)]
pub(crate) struct CapabilityStore {
    /// `None`: the plugin has not listed its tools, so it has them all.
    offered: Option<BTreeSet<String>>,
}

impl CapabilityStore {
    pub(crate) fn record(&mut self, tools: Vec<OfferedTool>) {
        self.offered = Some(tools.into_iter().map(|tool| tool.name).collect());
    }

    /// Another session: the list of the last one does not count.
    pub(crate) fn reset(&mut self, tools: Option<Vec<OfferedTool>>) {
        self.offered = None;
        if let Some(tools) = tools {
            self.record(tools);
        }
    }

    pub(crate) fn has(&self, tool: &str) -> bool {
        self.offered.as_ref().is_none_or(|offered| offered.contains(tool))
    }
}
