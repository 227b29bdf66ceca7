//! What EditorHost has seen and run, written down outside of the plugin: evidence against it.

use harness::editor::Editor;
use serde_json::Value;

pub(crate) struct Books {
    /// Request id and client request id of each call that ran, in order.
    pub(crate) executed: Vec<(String, String)>,
    pub(crate) arrived: u64,
    pub(crate) reloads: u64,
    pub(crate) test_runs: u64,
}

impl Books {
    /// Lets the Editor quit and reads what it shows last. No request arrived or ran twice.
    pub(crate) fn of(editor: &mut Editor) -> Self {
        let last = editor.quit().into_iter().rfind(|passing| passing.get("books").is_some());
        let books = &last.unwrap_or_else(|| panic!("no books"))["books"];
        assert_eq!(books["arrived_twice"], Value::Array(Vec::new()));
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let executed = books["executed"].as_array().unwrap().iter();
        let executed: Vec<(String, String)> = executed
            .map(|call| (text(&call["request_id"]), text(&call["client_request_id"])))
            .collect();
        let mut ids: Vec<&String> = executed.iter().map(|(request, _)| request).collect();
        ids.sort_unstable();
        let twice = ids.windows(2).find(|pair| pair[0] == pair[1]);
        assert_eq!(twice, None, "a request ran twice");
        let number = |name: &str| books[name].as_u64().unwrap();
        Self {
            arrived: number("arrived"),
            reloads: number("reloads"),
            test_runs: number("test_runs"),
            executed,
        }
    }

    /// The calls of one agent, in the order in which they ran.
    pub(crate) fn of_agent(&self, prefix: &str) -> Vec<&str> {
        let names = self.executed.iter().map(|(_, name)| name.as_str());
        names.filter(|name| name.starts_with(prefix)).collect()
    }
}
