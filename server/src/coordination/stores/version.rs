//! VersionStore: who the plugin is, as far as its hellos have said.

use protocol::{EditorInstanceId, PluginHello, PluginSessionId};

#[derive(Debug, Default)]
pub(crate) struct VersionStore {
    plugin_version: Option<String>,
    /// The last that was named: a hello that names none says nothing about a change.
    editor_instance_id: Option<EditorInstanceId>,
    plugin_session_id: Option<PluginSessionId>,
}

impl VersionStore {
    /// Records a hello; true if it shows that the plugin's memory is another one than before.
    pub(crate) fn record(&mut self, hello: &PluginHello) -> bool {
        self.plugin_version = Some(hello.plugin_version.clone());
        let another_editor = replace(&mut self.editor_instance_id, &hello.editor_instance_id);
        let another_session = replace(&mut self.plugin_session_id, &hello.plugin_session_id);
        another_editor || another_session
    }

    pub(crate) fn clear_version(&mut self) {
        self.plugin_version = None;
    }

    pub(crate) fn plugin_version(&self) -> Option<&str> {
        self.plugin_version.as_deref()
    }
}

/// Keeps the newest name; true if there was one and it differs.
fn replace<T: Clone + PartialEq>(last: &mut Option<T>, new: &Option<T>) -> bool {
    let differs = matches!((&last, new), (Some(last), Some(new)) if last != new);
    if new.is_some() {
        last.clone_from(new);
    }
    differs
}
