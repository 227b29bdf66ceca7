//! VersionStore: what the hellos have said about the plugin.

use protocol::{EditorInstanceId, PluginHello, PluginSessionId};

#[derive(Debug, Default)]
pub(crate) struct VersionStore {
    plugin_version: Option<String>,
    /// The last one that was named. A hello that names none does not mean a change.
    editor_instance_id: Option<EditorInstanceId>,
    plugin_session_id: Option<PluginSessionId>,
    project_path: Option<String>,
}

/// What a hello shows about the plugin of the session before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Memory {
    /// It is the same, as far as is known.
    Same,
    /// The domain was reloaded: requests are gone, jobs are kept.
    Reloaded,
    /// Another Editor: it knows no earlier request, and its job names have another meaning. `same_project`: both have
    /// named the same project, so the Editor was restarted.
    AnotherEditor { same_project: bool },
}

impl VersionStore {
    /// `same`: whether two paths name the same project.
    pub(crate) fn record(
        &mut self,
        hello: &PluginHello,
        same: impl Fn(&str, &str) -> bool,
    ) -> Memory {
        self.plugin_version = Some(hello.plugin_version.clone());
        let another_editor = replace(&mut self.editor_instance_id, &hello.editor_instance_id);
        let another_session = replace(&mut self.plugin_session_id, &hello.plugin_session_id);
        let same_project =
            matches!((&self.project_path, &hello.project_path), (Some(a), Some(b)) if same(a, b));
        self.project_path.clone_from(&hello.project_path);
        match (another_editor, another_session) {
            (true, _) => Memory::AnotherEditor { same_project },
            (false, true) => Memory::Reloaded,
            (false, false) => Memory::Same,
        }
    }

    /// Of the last session.
    pub(crate) fn project_path(&self) -> Option<&str> {
        self.project_path.as_deref()
    }

    /// The hello names the Editor of the last session.
    pub(crate) fn is_last_editor(&self, hello: &PluginHello) -> bool {
        hello.editor_instance_id.is_some() && hello.editor_instance_id == self.editor_instance_id
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
