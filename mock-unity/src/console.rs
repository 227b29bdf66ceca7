//! Console: the entries of the Editor's console, and how `read_console` reads them.

use protocol::Json;
use serde_json::json;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub kind: LogType,
    pub message: String,
    pub stack_trace: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogType {
    Log,
    Warning,
    Error,
    Assert,
    Exception,
}

impl LogType {
    pub(crate) const ALL: [Self; 5] =
        [Self::Log, Self::Warning, Self::Error, Self::Assert, Self::Exception];

    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Log => "log",
            Self::Warning => "warning",
            Self::Error => "error",
            Self::Assert => "assert",
            Self::Exception => "exception",
        }
    }

    pub(crate) fn named(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.text() == text)
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Console(Vec<Entry>);

impl Console {
    /// What the console of a small project shows.
    pub(crate) fn sample() -> Self {
        let mut console = Self::default();
        console.add(LogType::Log, "Game started in 0.42 s");
        console.add(LogType::Log, "Loaded level 'Meadow' with 128 objects");
        console.add(LogType::Warning, "Player.Update allocates 1.2 kB per frame");
        console.add(LogType::Error, "NullReferenceException: Enemy.target is not set");
        console.add(LogType::Log, "Autosave done");
        console
    }

    pub(crate) fn add(&mut self, kind: LogType, message: &str) {
        let stack_trace = match kind {
            LogType::Log | LogType::Warning => String::new(),
            LogType::Error | LogType::Assert | LogType::Exception => {
                "Enemy.Update () (at Assets/Scripts/Enemy.cs:42)".to_owned()
            }
        };
        self.0.push(Entry { kind, message: message.to_owned(), stack_trace });
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The newest entries that are wanted, oldest first.
    pub(crate) fn read(&self, params: &Json) -> Json {
        let text = |name: &str| params.get(name).and_then(Json::as_str);
        let types = params.get("types").and_then(Json::as_array);
        let wanted = |entry: &&Entry| {
            let type_fits = types.is_none_or(|types| {
                types.iter().any(|wanted| wanted.as_str() == Some(entry.kind.text()))
            });
            type_fits && text("contains").is_none_or(|part| entry.message.contains(part))
        };
        let max = params.get("max_entries").and_then(Json::as_u64).unwrap_or(200);
        let max = usize::try_from(max).unwrap_or(usize::MAX);
        let with_traces = params.get("stack_traces").and_then(Json::as_bool).unwrap_or(true);
        let matching: Vec<&Entry> = self.0.iter().filter(wanted).collect();
        let left_out = matching.len().saturating_sub(max);
        let shown = matching.iter().skip(left_out).map(|entry| {
            let stack_trace = if with_traces { entry.stack_trace.as_str() } else { "" };
            json!({
                "type": entry.kind.text(), "message": entry.message, "stack_trace": stack_trace,
            })
        });
        let entries: Vec<Json> = shown.collect();
        json!({ "count": entries.len(), "entries": entries, "truncated": left_out > 0 })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Console;

    #[test]
    fn entries_are_filtered_and_cut_as_asked() {
        let console = Console::sample();
        let all = console.read(&json!({}));
        assert_eq!((&all["count"], &all["truncated"]), (&json!(5), &json!(false)));
        let errors = console.read(&json!({ "types": ["error", "warning"], "stack_traces": false }));
        assert_eq!(errors["count"], 2);
        assert_eq!(errors["entries"][1]["stack_trace"], "");
        let newest = console.read(&json!({ "max_entries": 2 }));
        assert_eq!((&newest["count"], &newest["truncated"]), (&json!(2), &json!(true)));
        assert_eq!(newest["entries"][1]["message"], "Autosave done");
        assert_eq!(console.read(&json!({ "contains": "level" }))["count"], 1);
    }
}
