//! The first message on a socket.

use std::future::ready;

use crate::check::{Check, Needs, Outcome, Topic, failed, not_tried};
use crate::run::Run;

pub(crate) const TOPIC: Topic = Topic {
    title: "hello",
    checks: &[
        Check {
            name: "The first frame is a valid hello, within 5 s",
            needs: Needs::Nothing,
            run: |run| Box::pin(ready(first_frame(run))),
        },
        Check {
            name: "The hello names the Editor and the session",
            needs: Needs::Nothing,
            run: |run| Box::pin(ready(names_the_editor(run))),
        },
        Check {
            name: "The hello names the project",
            needs: Needs::Nothing,
            run: |run| Box::pin(ready(names_the_project(run))),
        },
    ],
};

fn first_frame(run: &mut Run) -> Outcome {
    run.evidence = Some(0..run.plugin.mark());
    // `healthy` has waited for it.
    let Some(first) = run.plugin.hellos.first() else { return failed("There was no hello.") };
    let hello = &first.hello;
    let version = protocol::printable(&hello.plugin_version, 40);
    Ok(format!("Plugin {version} sent it after {} ms.", first.took.as_millis()))
}

fn names_the_editor(run: &mut Run) -> Outcome {
    let Some(hello) = run.plugin.hello() else { return failed("There was no hello.") };
    let fields = [
        (
            "editor_instance_id",
            hello.editor_instance_id.is_some(),
            "With it a new socket can replace a dead one at once.",
        ),
        (
            "plugin_session_id",
            hello.plugin_session_id.is_some(),
            "Change it exactly when you may have forgotten a request that you received.",
        ),
        (
            "connect_attempt_seq",
            hello.connect_attempt_seq.is_some(),
            "It tells a stale socket from a new one.",
        ),
    ];
    judge(&fields)
}

fn names_the_project(run: &mut Run) -> Outcome {
    let Some(hello) = run.plugin.hello() else { return failed("There was no hello.") };
    let path = hello.project_path.as_deref();
    if let Some(path) = path.filter(|path| !is_absolute(path)) {
        let path = protocol::printable(path, 100);
        return failed(format!("project_path must be absolute, but it is \"{path}\"."));
    }
    judge(&[
        ("project_path", path.is_some(), "With it calls never run in another project."),
        ("project_name", hello.project_name.is_some(), "It is for people."),
        ("unity_version", hello.unity_version.is_some(), "It is for people."),
    ])
}

/// On the system of the plugin, which need not be this one.
fn is_absolute(path: &str) -> bool {
    let mut letters = path.chars();
    let drive = letters.next().is_some_and(|letter| letter.is_ascii_alphabetic());
    path.starts_with(['/', '\\']) || (drive && letters.next() == Some(':'))
}

/// A missing field is no mistake, but the plugin gives something up.
fn judge(fields: &[(&str, bool, &str)]) -> Outcome {
    let missing: Vec<String> = fields
        .iter()
        .filter(|(_, is_there, _)| !is_there)
        .map(|(name, _, advice)| format!("The hello has no {name}. {advice}"))
        .collect();
    if !missing.is_empty() {
        return not_tried(missing.join(" "));
    }
    let names: Vec<&str> = fields.iter().map(|(name, _, _)| *name).collect();
    Ok(format!("It has {}.", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::is_absolute;

    #[test]
    fn a_path_of_any_system_can_be_absolute() {
        assert!(is_absolute("/work/game") && is_absolute(r"C:\game") && is_absolute("d:/game"));
        assert!(!is_absolute("game") && !is_absolute("") && !is_absolute("./game"));
    }
}
