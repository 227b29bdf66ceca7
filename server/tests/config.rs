//! SPEC 2: which settings there are, which source wins, and the message for a wrong value.

#![expect(clippy::unwrap_used, reason = "a test may fail loudly anywhere, in its helpers too")]

use std::path::{Path, PathBuf};
use std::time::Duration;

use coordination::Limits;
use coordination::rendering::with;
use serde_json::{Value, json};
use unity_mcp::config_loader::{
    Config, DEFAULT_FILE, RawFlags, SettingFlag, SettingValue, load, setting_flags,
};

/// An empty directory of this test's own.
fn directory(test: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    if path.exists() {
        std::fs::remove_dir_all(&path).unwrap();
    }
    std::fs::create_dir_all(&path).unwrap();
    path
}

fn flags(settings: &[(&str, &str)]) -> RawFlags {
    let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    RawFlags { settings: settings.iter().map(own).collect(), ..RawFlags::default() }
}

/// Loads with this file. An error comes without the path, which differs from run to run.
fn load_text(test: &str, text: &str, settings: &[(&str, &str)]) -> Result<Config, String> {
    let directory = directory(test);
    std::fs::write(directory.join(DEFAULT_FILE), text).unwrap();
    let path = directory.join(DEFAULT_FILE).display().to_string();
    load(&flags(settings), &directory).map_err(|error| error.to_string().replace(&path, "FILE"))
}

#[test]
fn without_a_file_and_flags_the_defaults_are_the_contracts() {
    let config = load(&RawFlags::default(), &directory("defaults")).unwrap();
    assert_eq!(config.port, 8_091);
    assert_eq!(config.limits, Limits::default());
    assert_eq!(
        config.describe(),
        "\
unity_ws_port = 8091 (default)
queue_max_size = 32 (default)
heartbeat_interval_ms = 3000 (default)
heartbeat_timeout_ms = 4500 (default)
hello_timeout_ms = 5000 (default)
job_poll_interval_ms = 1000 (default)
request_reconnect_wait_ms = 2500 (default)
compile_grace_timeout_ms = 60000 (default)
queue_wait_max_ms = 120000 (default)
max_message_bytes = 1048576 (default)
takeover_probe_ms = 500 (default)
job_retention_max = 256 (default)
allowed_origins = [] (default)
require_token = false (default)
catalog = 1.0 (default)
log_level = info (default)
log_format = text (default)
"
    );
}

#[test]
fn a_token_is_required_if_file_or_flag_says_so() {
    let required = |text: &str, flags: &[(&str, &str)]| {
        load_text("token", text, flags).map(|config| config.require_token)
    };
    assert_eq!(required("{}", &[]), Ok(false));
    assert_eq!(required(r#"{"require_token": true}"#, &[]), Ok(true));
    assert_eq!(required("{}", &[("require_token", "true")]), Ok(true));
    assert_eq!(required(r#"{"require_token": true}"#, &[("require_token", "false")]), Ok(false));
    assert_eq!(
        required(r#"{"require_token": 1}"#, &[]).unwrap_err(),
        "ERR_CONFIG_VALIDATION: FILE: require_token is 1, but must be true or false"
    );
    assert_eq!(
        required("{}", &[("require_token", "maybe")]).unwrap_err(),
        "ERR_CONFIG_VALIDATION: --require-token is \"maybe\", but must be true or false"
    );
}

#[test]
fn a_flag_counts_more_than_the_file_and_the_file_more_than_the_default() {
    let text = r#"{"schema_version": 1, "unity_ws_port": 9000, "queue_max_size": 5, "allowed_origins": ["http://localhost:3000"]}"#;
    let config = load_text("precedence", text, &[("unity_ws_port", "9001")]).unwrap();
    assert_eq!(config.port, 9_001);
    assert_eq!(config.limits.queue_max, 5);
    assert_eq!(config.limits.heartbeat_interval, Duration::from_millis(3_000));
    assert_eq!(config.allowed_origins, ["http://localhost:3000"]);
    let described = config.describe();
    assert!(described.contains("unity_ws_port = 9001 (flag)\n"), "{described}");
    assert!(described.contains("unity-mcp.server.json)\n"), "{described}");
    assert!(described.contains("hello_timeout_ms = 5000 (default)\n"), "{described}");
}

#[test]
fn every_setting_reaches_its_limit() {
    let text = r#"{"heartbeat_interval_ms": 11, "heartbeat_timeout_ms": 12, "hello_timeout_ms": 13,
        "job_poll_interval_ms": 14, "request_reconnect_wait_ms": 15, "compile_grace_timeout_ms": 16,
        "max_message_bytes": 16385, "takeover_probe_ms": 17, "job_retention_max": 18}"#;
    let millis = Duration::from_millis;
    let expected = Limits {
        heartbeat_interval: millis(11),
        heartbeat_timeout: millis(12),
        hello_timeout: millis(13),
        job_poll_interval: millis(14),
        reconnect_wait: millis(15),
        compile_grace: millis(16),
        message_max_bytes: 16_385,
        takeover_probe: millis(17),
        jobs_kept_max: 18,
        ..Limits::default()
    };
    assert_eq!(load_text("settings", text, &[]).unwrap().limits, expected);
}

#[test]
fn both_sides_of_every_range() {
    let ranges = [
        ("unity_ws_port", 1, 65_535),
        ("queue_max_size", 1, 1_024),
        ("heartbeat_interval_ms", 10, 3_600_000),
        ("heartbeat_timeout_ms", 10, 3_600_000),
        ("hello_timeout_ms", 10, 3_600_000),
        ("job_poll_interval_ms", 10, 3_600_000),
        ("request_reconnect_wait_ms", 10, 3_600_000),
        ("compile_grace_timeout_ms", 10, 3_600_000),
        ("takeover_probe_ms", 10, 3_600_000),
        ("max_message_bytes", 16_384, 16_777_216),
        ("job_retention_max", 1, 10_000),
    ];
    for (name, min, max) in ranges {
        for (value, fits) in [(min - 1, false), (min, true), (max, true), (max + 1, false)] {
            let text = format!("{{\"{name}\": {value}}}");
            let loaded = load_text("ranges", &text, &[]);
            assert_eq!(loaded.is_ok(), fits, "{text}");
            if let Err(message) = loaded {
                let expected = format!(
                    "ERR_CONFIG_VALIDATION: FILE: {name} is {value}, but must be an integer from {min} to {max}"
                );
                assert_eq!(message, expected);
            }
        }
    }
}

#[test]
fn the_port_flag_alone_may_ask_for_a_free_port() {
    assert_eq!(load(&flags(&[("unity_ws_port", "0")]), &directory("free")).unwrap().port, 0);
}

#[test]
fn what_is_wrong_is_said_in_one_line_with_its_place_its_value_and_what_is_allowed() {
    let cases = [
        ("{", "ERR_CONFIG_PARSE: FILE is not JSON: EOF while parsing an object at line 1 column 1"),
        ("", "ERR_CONFIG_PARSE: FILE is not JSON: EOF while parsing a value at line 1 column 0"),
        (
            r#"{"queue_max_size":1,"queue_max_size":2}"#,
            "ERR_CONFIG_PARSE: FILE is not JSON: duplicate key \"queue_max_size\" at line 1 column 36",
        ),
        ("[]", "ERR_CONFIG_VALIDATION: FILE is [], but must be an object"),
        (
            r#"{"schema_version":2}"#,
            "ERR_CONFIG_SCHEMA_VERSION: FILE: schema_version is 2, but this version of unity-mcp reads 1",
        ),
        (
            r#"{"schema_version":"1"}"#,
            "ERR_CONFIG_VALIDATION: FILE: schema_version is \"1\", but must be 1",
        ),
        (
            r#"{"unity_ws_port":"8091"}"#,
            "ERR_CONFIG_VALIDATION: FILE: unity_ws_port is \"8091\", but must be an integer from 1 to 65535",
        ),
        (
            r#"{"queue_max_size":1.5}"#,
            "ERR_CONFIG_VALIDATION: FILE: queue_max_size is 1.5, but must be an integer from 1 to 1024",
        ),
        (
            r#"{"queue_max_size":null}"#,
            "ERR_CONFIG_VALIDATION: FILE: queue_max_size is null, but must be an integer from 1 to 1024",
        ),
        (
            r#"{"unity_port":1}"#,
            "ERR_CONFIG_VALIDATION: FILE: unity_port is not a setting; did you mean unity_ws_port?",
        ),
        (
            "{\"ev\\u001bil\\n\":1}",
            "ERR_CONFIG_VALIDATION: FILE: ev\\u{1b}il\\u{a} is not a setting; --print-config shows all settings",
        ),
        (
            r#"{"allowed_origins":["localhost"]}"#,
            "ERR_CONFIG_VALIDATION: FILE: allowed_origins is [\"localhost\"], but must be a list of origins such as \"http://localhost:3000\"",
        ),
        (
            r#"{"allowed_origins":"*"}"#,
            "ERR_CONFIG_VALIDATION: FILE: allowed_origins is \"*\", but must be a list of origins such as \"http://localhost:3000\"",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(load_text("messages", text, &[]).unwrap_err(), expected, "{text}");
    }
    let flags = [
        ("unity_ws_port", "65536", "--port is \"65536\", but must be an integer from 0 to 65535"),
        (
            "queue_max_size",
            "many",
            "--queue-max-size is \"many\", but must be an integer from 1 to 1024",
        ),
        ("hello_timeout", "1", "--hello-timeout is not a setting; did you mean hello_timeout_ms?"),
    ];
    for (name, value, expected) in flags {
        let told = load_text("flags", "{}", &[(name, value)]).unwrap_err();
        assert_eq!(told, format!("ERR_CONFIG_VALIDATION: {expected}"));
    }
}

#[test]
fn a_byte_order_mark_and_the_line_ends_of_windows_do_not_matter() {
    let text = "\u{feff}{\r\n\t\"unity_ws_port\": 9000\r\n}\r\n";
    assert_eq!(load_text("Mein Spiel Übung 日本語", text, &[]).unwrap().port, 9_000);
}

#[test]
fn a_file_in_utf_16_is_refused_with_what_to_do() {
    let directory = directory("utf-16");
    let units = [0xFEFF].into_iter().chain("{}".encode_utf16());
    let bytes: Vec<u8> = units.flat_map(u16::to_le_bytes).collect();
    std::fs::write(directory.join(DEFAULT_FILE), bytes).unwrap();
    let told = load(&RawFlags::default(), &directory).unwrap_err().to_string();
    assert!(told.ends_with("save it as UTF-8"), "{told}");
}

#[test]
fn a_file_that_was_asked_for_must_be_there_and_readable() {
    let directory = directory("missing");
    let flags = RawFlags { config: Some("other.json".into()), ..RawFlags::default() };
    let told = load(&flags, &directory).unwrap_err().to_string();
    assert!(told.starts_with("ERR_CONFIG_PARSE: "), "{told}");
    assert!(told.contains("other.json cannot be read: "), "{told}");
    std::fs::write(directory.join("other.json"), "{\"unity_ws_port\": 9000}").unwrap();
    assert_eq!(load(&flags, &directory).unwrap().port, 9_000);
    std::fs::create_dir(directory.join(DEFAULT_FILE)).unwrap();
    let told = load(&RawFlags::default(), &directory).unwrap_err().to_string();
    assert!(told.starts_with("ERR_CONFIG_PARSE: "), "{told}");
}

#[test]
fn the_file_of_the_named_project_comes_before_that_of_the_working_directory() {
    let root = directory("projects");
    let (here, game) = (root.join("here"), root.join("game"));
    for (folder, port) in [(&here, 1), (&game, 2)] {
        std::fs::create_dir_all(folder).unwrap();
        let text = format!("{{ \"unity_ws_port\": {port} }}");
        std::fs::write(folder.join(DEFAULT_FILE), text).unwrap();
    }
    let named = RawFlags { project: Some(game.clone()), ..RawFlags::default() };
    let config = load(&named, &here).unwrap();
    assert_eq!(config.port, 2);
    assert!(config.project.unwrap().ends_with("/projects/game"));
    std::fs::remove_file(game.join(DEFAULT_FILE)).unwrap();
    assert_eq!(load(&named, &here).unwrap().port, 1);
    let none = load(&flags(&[]), &here).unwrap();
    assert_eq!((none.port, none.project), (1, None));
}

#[test]
fn a_project_is_found_around_the_working_directory_with_its_file() {
    let root = directory("walking up");
    let inside = root.join("Assets/Scripts");
    std::fs::create_dir_all(&inside).unwrap();
    std::fs::create_dir_all(root.join("ProjectSettings")).unwrap();
    std::fs::write(root.join(DEFAULT_FILE), "{ \"unity_ws_port\": 7 }").unwrap();
    let config = load(&flags(&[]), &inside).unwrap();
    assert_eq!(config.port, 7);
    assert!(config.describe().ends_with("/walking up\n"), "{}", config.describe());
}

#[test]
fn a_project_that_is_no_folder_is_refused() {
    let project = Some(PathBuf::from("no such folder"));
    let error = load(&RawFlags { project, ..RawFlags::default() }, &directory("nowhere"));
    assert_eq!(
        error.unwrap_err().to_string(),
        "ERR_CONFIG_VALIDATION: --project is \"no such folder\", but must be the folder of a Unity project"
    );
}

#[test]
fn the_log_is_set_by_file_or_flag() {
    let file = r#"{"log_level":"debug","log_format":"json"}"#;
    let config = load_text("log", file, &[]).unwrap();
    assert_eq!((config.log_level, config.log_format), ("debug", "json"));
    let config = load_text("log", file, &[("log_level", "warn")]).unwrap();
    assert_eq!((config.log_level, config.log_format), ("warn", "json"));
    let wrong = load_text("log", r#"{"log_level":"loud"}"#, &[]).unwrap_err();
    assert_eq!(
        wrong,
        "ERR_CONFIG_VALIDATION: FILE: log_level is \"loud\", but must be one of error, warn, info, debug, trace"
    );
    let wrong = load_text("log", "{}", &[("log_format", "xml")]).unwrap_err();
    assert_eq!(
        wrong,
        "ERR_CONFIG_VALIDATION: --log-format is \"xml\", but must be one of text, json"
    );
}

#[test]
fn a_file_may_name_its_schema() {
    let config = load_text("schema", r#"{"$schema":"x","unity_ws_port":8123}"#, &[]).unwrap();
    assert_eq!(config.port, 8_123);
}

#[test]
fn a_name_is_suggested_only_if_it_is_near() {
    let wrong = |name: &str| load_text("near", &format!("{{\"{name}\":1}}"), &[]).unwrap_err();
    assert!(wrong("queue_max_sise").ends_with("did you mean queue_max_size?"));
    assert!(wrong("colour").ends_with("is not a setting; --print-config shows all settings"));
}

#[test]
fn a_file_in_utf_16_gets_a_sentence_that_says_so() {
    let directory = directory("utf16");
    let text = "{}".encode_utf16().flat_map(u16::to_le_bytes);
    let with_mark: Vec<u8> = [0xFF, 0xFE].into_iter().chain(text.clone()).collect();
    for bytes in [with_mark, text.collect()] {
        std::fs::write(directory.join(DEFAULT_FILE), bytes).unwrap();
        let error = load(&RawFlags::default(), &directory).unwrap_err().to_string();
        assert!(
            error.starts_with("ERR_CONFIG_PARSE") && error.contains("save it as UTF-8"),
            "{error}"
        );
    }
}

/// For text editors: what the file may contain.
fn schema() -> Value {
    let property = |flag: SettingFlag| {
        let (description, _) = flag.help.split_once(" [").unwrap_or((&flag.help, ""));
        let schema = match flag.value {
            SettingValue::Number { min, max, default } => {
                json!({ "type": "integer", "minimum": min, "maximum": max, "default": default })
            }
            SettingValue::Word { words, default } => json!({ "enum": words, "default": default }),
            SettingValue::Switch { default } => json!({ "type": "boolean", "default": default }),
            SettingValue::Origins => {
                json!({ "type": "array", "items": { "type": "string" }, "default": [] })
            }
        };
        (flag.setting.to_owned(), with(schema, "description", json!(description)))
    };
    let mut properties: serde_json::Map<String, Value> = setting_flags().map(property).collect();
    properties.insert("schema_version".to_owned(), json!({ "const": 1 }));
    properties.insert("$schema".to_owned(), json!({ "type": "string" }));
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": DEFAULT_FILE,
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
    })
}

#[test]
fn the_schema_of_the_file_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/config.schema.json");
    let text = format!("{}\n", serde_json::to_string_pretty(&schema()).unwrap());
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(written, text, "run: BLESS=1 cargo test -p unity-mcp --test config");
}

#[test]
fn a_file_may_have_up_to_a_mebibyte() {
    let text = r#"{"queue_max_size": 5}"#;
    let padded = |bytes: usize| text.to_owned() + &" ".repeat(bytes - text.len());
    let config = load_text("largest_file", &padded(1_048_576), &[]).unwrap();
    assert_eq!(config.limits.queue_max, 5);
    for bytes in [1_048_577, 2_000_000] {
        let refused = load_text("too_large_file", &padded(bytes), &[]).unwrap_err();
        let limit = "ERR_CONFIG_PARSE: FILE is larger than the limit of 1048576 bytes";
        assert_eq!(refused, limit);
    }
}

#[test]
fn every_other_number_is_another_schema_version() {
    for version in ["-1", "0", "2", "18446744073709551615"] {
        let text = format!("{{\"schema_version\":{version}}}");
        let refused = load_text("other_schema_version", &text, &[]).unwrap_err();
        assert!(refused.starts_with("ERR_CONFIG_SCHEMA_VERSION: "), "{refused}");
    }
}

#[test]
fn an_origin_is_a_scheme_and_a_host() {
    for origin in ["http://", "https://", "http://a/b", "http://*", "ftp://a", "a"] {
        let text = format!("{{\"allowed_origins\":[\"{origin}\"]}}");
        assert!(load_text("bad_origin", &text, &[]).is_err(), "{origin}");
        assert!(load_text("bad_origin_flag", "{}", &[("allowed_origins", origin)]).is_err());
    }
    let list = "http://a, https://b:3000,,";
    let config = load_text("origins_flag", "{}", &[("allowed_origins", list)]).unwrap();
    assert_eq!(config.allowed_origins, ["http://a", "https://b:3000"]);
}

#[test]
fn every_setting_has_a_flag_that_says_what_it_does() {
    let help = |flag: &SettingFlag| format!("--{} {}: {}", flag.name, flag.value_name, flag.help);
    let all: Vec<SettingFlag> = setting_flags().collect();
    let ports: Vec<String> = all.iter().filter(|flag| flag.is_port()).map(help).collect();
    assert_eq!(
        ports,
        [
            "--port N: Port on 127.0.0.1 for Unity and for agents; 0 takes a free one [0 to 65535, default 8091]"
        ]
    );
    let switches = all.iter().filter(|flag| flag.is_switch()).map(|flag| flag.name.as_str());
    assert_eq!(switches.collect::<Vec<_>>(), ["require-token"]);
    let queue = all.iter().find(|flag| flag.name == "queue-max-size").map(help).unwrap();
    assert!(queue.ends_with("[1 to 1024, default 32]"), "{queue}");
    assert!(all.iter().all(|flag| flag.help.len() > 20));
}
