//! SPEC 8: the catalogue, and that the documents made from it are current.

use coordination::{Catalog, ErrorCode, Kind, Need, TOOLS, Tool};
use protocol::{ExecutionMode, Json};

/// The tools of catalogue 1.1 that 1.0 does not have.
fn added() -> impl Iterator<Item = &'static Tool> {
    Catalog::V1_1.tools().skip(TOOLS.len())
}

/// Tools as a table of Markdown, with the columns of the contract.
fn table(tools: impl Iterator<Item = &'static Tool>) -> String {
    let rows = tools.map(|tool| {
        let kind = match tool.kind {
            Kind::Read => "read",
            Kind::ReadHeavy => "read_heavy",
            Kind::Control => "control",
            Kind::Write => "write",
            Kind::WriteHeavy => "write_heavy",
        };
        let mode = match tool.execution_mode() {
            ExecutionMode::Sync => "sync",
            ExecutionMode::Job => "job",
        };
        let yes = |flag: bool| if flag { "yes" } else { "no" };
        let id = if tool.requires_client_request_id { "required" } else { "optional" };
        format!(
            "| `{}` | {kind} | {mode} | {} | {} | {} | {id} | {} |",
            tool.name,
            yes(tool.supports_cancel),
            tool.default_timeout_ms,
            tool.max_timeout_ms,
            yes(tool.retryable)
        )
    });
    rows.collect::<Vec<_>>().join("\n")
}

#[test]
fn the_catalogue_is_the_contracts() {
    assert_eq!(
        table(TOOLS.iter()),
        "\
| `get_editor_state` | read | sync | no | 5000 | 10000 | optional | yes |
| `read_console` | read | sync | no | 10000 | 30000 | optional | yes |
| `run_tests` | read_heavy | job | yes | 300000 | 1800000 | optional | no |
| `get_job_status` | control | sync | no | 5000 | 10000 | optional | no |
| `cancel_job` | control | sync | no | 5000 | 10000 | optional | no |"
    );
    assert_eq!(
        table(added()),
        "\
| `script_recompile_trigger` | write_heavy | job | no | 300000 | 1800000 | optional | yes |
| `open_scene` | write | sync | no | 30000 | 60000 | required | no |
| `list_scenes` | read | sync | no | 10000 | 30000 | optional | yes |
| `list_assets` | read | sync | no | 10000 | 30000 | optional | yes |
| `get_selection` | read | sync | no | 5000 | 10000 | optional | yes |
| `ping` | read | sync | no | 5000 | 10000 | optional | yes |"
    );
    let names = |catalog: Catalog| catalog.tools().map(|tool| tool.name).collect::<Vec<_>>();
    assert_eq!(names(Catalog::V1_0), TOOLS.iter().map(|tool| tool.name).collect::<Vec<_>>());
    assert_eq!(names(Catalog::V1_1).len(), 11);
    let deduplicated = Catalog::V1_1.tools().filter(|tool| Catalog::V1_1.deduplicates(tool));
    let deduplicated: Vec<&str> = deduplicated.map(|tool| tool.name).collect();
    assert_eq!(deduplicated, ["run_tests", "script_recompile_trigger", "open_scene"]);
    assert!(!Catalog::V1_1.tools().any(|tool| Catalog::V1_0.deduplicates(tool)));
}

#[test]
fn a_tool_is_known_by_its_name() {
    assert_eq!(Tool::named("read_console"), Tool::named("read_console"));
    assert_ne!(Tool::named("read_console"), Tool::named("run_tests"));
    assert_eq!(Tool::named("reed_console"), None);
}

#[test]
fn every_default_is_one_that_the_validator_accepts() {
    for tool in Catalog::V1_1.tools() {
        assert!(tool.default_timeout_ms <= tool.max_timeout_ms, "{}", tool.name);
        for parameter in tool.parameters {
            let default = match parameter.need {
                Need::Required | Need::Optional => continue,
                Need::DefaultInteger(value) => Json::from(value),
                Need::DefaultWord(value) => Json::from(value),
                Need::DefaultFlag(value) => Json::from(value),
            };
            assert_eq!(parameter.shape.check(&default), Ok(()), "{} {}", tool.name, parameter.name);
        }
    }
}

fn arguments(tool: &Tool) -> String {
    let arguments = tool.parameters.iter().map(|parameter| {
        let words = parameter.shape.words();
        let need = match parameter.need {
            Need::Required => format!("{words}, required"),
            Need::Optional => words,
            Need::DefaultInteger(value) => format!("{words}, default {value}"),
            Need::DefaultWord(value) => format!("{words}, default {value}"),
            Need::DefaultFlag(value) => format!("{words}, default {value}"),
        };
        format!("- `{}`: {} ({need})\n", parameter.name, parameter.about)
    });
    arguments.collect()
}

#[test]
fn the_documents_made_from_the_tables_are_current() {
    let tools: String = Catalog::V1_1
        .tools()
        .map(|tool| format!("## {}\n\n{}\n\n{}\n", tool.name, tool.about, arguments(tool)))
        .collect();
    let tools = format!(
        "# Tools\n\n\
         Made from the catalogue (`server/coordination/src/tool_catalog.rs`) by a test.\n\n\
         | name | kind | mode | cancel | default ms | max ms | client_request_id | retryable |\n\
         |---|---|---|---|---:|---:|---|---|\n{}\n\n\
         With the setting `catalog` = `1.1` there are six more ([ADR-0013](adr/0013-catalogue-1.1.md)):\n\n\
         | name in 1.1 | kind | mode | cancel | default ms | max ms | client_request_id | retryable |\n\
         |---|---|---|---|---:|---:|---|---|\n{}\n\n\
         Every tool also takes `timeout_ms` (1 to its maximum) and `client_request_id` (1 to 128 \
         of `A-Z a-z 0-9 . _ : -`).\n\n{}",
        table(TOOLS.iter()),
        table(added()),
        tools.replace("\n\n\n", "\n\n").trim_end().to_owned() + "\n"
    );
    current("docs/TOOLS.md", &tools);

    let rows: String = ErrorCode::ALL
        .into_iter()
        .map(|code| {
            let row = code.row();
            let retryable = match (code, row.retryable) {
                (ErrorCode::UnityExecution, _) => "per tool",
                (_, true) => "yes",
                (_, false) => "no",
            };
            let (guarantee, recovery) = (row.guarantee.text(), row.recovery.text());
            format!("| `{code}` | {retryable} | {guarantee} | {recovery} | {} |\n", row.when)
        })
        .collect();
    let errors = format!(
        "# Errors\n\n\
         Made from the table (`server/coordination/src/failure.rs`) by a test.\n\n\
         | code | retryable | execution_guarantee | recovery_action | when |\n|---|---|---|---|---|\n\
         {rows}\n\
         After `unknown`, repeat a call only if its tool does no harm when it runs twice. Then \
         `retryable` is true and the\nrecovery is `retry`. An `error` from the plugin keeps its code. \
         Unless the code means that the plugin refused the call\nbefore running it, the guarantee is \
         `unknown`. What Unity said is in `details.unity`, never in `message`.\n"
    );
    current("docs/ERRORS.md", &errors);
}

#[test]
fn the_tool_table_of_the_readme_is_current_with_the_documents() {
    let row = |tool: &Tool| format!("| `{}` | {} |\n", tool.name, tool.summary);
    let rows = TOOLS
        .iter()
        .map(row)
        .chain(added().map(|tool| row(tool).replacen("` | ", "` (catalogue 1.1) | ", 1)));
    let table = format!("| tool | what it does |\n|---|---|\n{}", rows.collect::<String>());
    let readme = std::fs::read_to_string(file("README.md")).unwrap();
    let (before, rest) = readme.split_once("<!-- tools:begin -->\n").unwrap();
    let (_, after) = rest.split_once("<!-- tools:end -->").unwrap();
    let expected = format!("{before}<!-- tools:begin -->\n{table}<!-- tools:end -->{after}");
    current("README.md", &expected);
}

fn file(path: &str) -> String {
    format!("{}/../../{path}", env!("CARGO_MANIFEST_DIR"))
}

fn current(path: &str, expected: &str) {
    let file = file(path);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&file, expected).unwrap();
    }
    let committed = std::fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(
        committed, expected,
        "run: BLESS=1 cargo test -p coordination --test core documents"
    );
}
