//! ConfigLoader: flags, then the file, then the defaults become a checked `Config`, or one readable message. It uses
//! no sockets and does not log.

mod flags;

use std::fmt;
use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use protocol::{Json, Map, parse_json, printable};

use coordination::Limits;
use flags::apply_flag;

pub use flags::{SettingFlag, setting_flags};

/// Read from the working directory unless `--config` names another one. It may be missing.
pub const DEFAULT_FILE: &str = "unity-mcp.server.json";

const SCHEMA_VERSION: u64 = 1;
/// Bytes of the file that are read.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// What was typed: the text of each flag that was given.
#[derive(Clone, Debug, Default)]
pub struct RawFlags {
    pub config: Option<PathBuf>,
    /// By the name of the setting, such as `queue_max_size` for `--queue-max-size`.
    pub settings: Vec<(String, String)>,
}

/// Every setting, checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// 0 takes a free one; only the flag may say so.
    pub port: u16,
    pub limits: Limits,
    pub allowed_origins: Vec<String>,
    /// Whether agents and the plugin must send the token of this user.
    pub require_token: bool,
    sources: Vec<(&'static str, String, Source)>,
}

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    Default,
    File(PathBuf),
    Flag,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigErrorCode {
    /// The file cannot be read, or is not JSON.
    Parse,
    /// A value or a name is wrong.
    Validation,
    SchemaVersion,
}

/// Why the start is refused: one sentence with file or flag, field, value and allowed range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    pub code: ConfigErrorCode,
    pub message: String,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let code = match self.code {
            ConfigErrorCode::Parse => "ERR_CONFIG_PARSE",
            ConfigErrorCode::Validation => "ERR_CONFIG_VALIDATION",
            ConfigErrorCode::SchemaVersion => "ERR_CONFIG_SCHEMA_VERSION",
        };
        write!(f, "{code}: {}", self.message)
    }
}

/// One number that can be set: its name, its range, and where it goes.
struct Setting {
    name: &'static str,
    about: &'static str,
    min: u64,
    max: u64,
    get: fn(&Config) -> u64,
    set: fn(&mut Config, u64),
}

const TIME_MIN: u64 = 10;
const TIME_MAX: u64 = 3_600_000;

macro_rules! time {
    ($name:literal, $field:ident, $about:literal) => {
        Setting {
            name: $name,
            about: $about,
            min: TIME_MIN,
            max: TIME_MAX,
            get: |config| config.limits.$field.as_millis() as u64,
            set: |config, value| config.limits.$field = Duration::from_millis(value),
        }
    };
}

macro_rules! size {
    ($name:literal, $field:ident, $min:literal, $max:literal, $about:literal) => {
        Setting {
            name: $name,
            about: $about,
            min: $min,
            max: $max,
            get: |config| config.limits.$field as u64,
            set: |config, value| config.limits.$field = value as usize,
        }
    };
}

const PORT: &str = "unity_ws_port";
const ORIGINS: &str = "allowed_origins";
const TOKEN: &str = "require_token";
const VERSION: &str = "schema_version";

const SETTINGS: [Setting; 11] = [
    Setting {
        name: PORT,
        about: "Port on 127.0.0.1 for Unity and for agents; 0 takes a free one",
        min: 1,
        max: 65_535,
        get: |config| u64::from(config.port),
        set: |config, value| config.port = u16::try_from(value).unwrap_or_default(),
    },
    size!("queue_max_size", queue_max, 1, 1_024, "Maximum number of calls that wait or are queued"),
    time!("heartbeat_interval_ms", heartbeat_interval, "Interval between pings"),
    time!("heartbeat_timeout_ms", heartbeat_timeout, "How long to wait for a pong"),
    time!("hello_timeout_ms", hello_timeout, "How long to wait for the hello of a socket"),
    time!(
        "job_poll_interval_ms",
        job_poll_interval,
        "Interval between questions about a running job"
    ),
    time!(
        "request_reconnect_wait_ms",
        reconnect_wait,
        "How long calls wait for a disconnected Editor"
    ),
    time!("compile_grace_timeout_ms", compile_grace, "How long a compile or reload may take"),
    size!(
        "max_message_bytes",
        message_max_bytes,
        16_384,
        16_777_216,
        "Maximum bytes of one frame to or from Unity"
    ),
    time!(
        "takeover_probe_ms",
        takeover_probe,
        "How long an Editor has to answer when a second one connects"
    ),
    size!("job_retention_max", jobs_kept_max, 1, 10_000, "Number of finished jobs to keep"),
];

/// The effective configuration: a flag overrides the file, and the file overrides the default.
pub fn load(flags: &RawFlags, directory: &Path) -> Result<Config, ConfigError> {
    let mut config = Config::default();
    let mut given: Vec<(&'static str, Source)> = Vec::new();
    if let Some(ConfigFile { path, fields }) = read_file(flags, directory)? {
        check_schema_version(&path, &fields)?;
        for (name, value) in &fields {
            let name = apply_field(&mut config, &path, name, value)?;
            given.push((name, Source::File(path.clone())));
        }
    }
    for (name, text) in &flags.settings {
        let name = apply_flag(&mut config, name, text)?;
        given.push((name, Source::Flag));
    }
    config.sources = sources(&config, &given);
    Ok(config)
}

impl Default for Config {
    fn default() -> Self {
        Self {
            port: 8_091,
            limits: Limits::default(),
            allowed_origins: Vec::new(),
            require_token: false,
            sources: Vec::new(),
        }
    }
}

impl Config {
    /// Every number that can be set, by its name.
    pub fn numbers(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        SETTINGS.iter().map(|setting| (setting.name, (setting.get)(self)))
    }

    /// Every value and where it came from, one line each.
    pub fn describe(&self) -> String {
        let lines = self.sources.iter().map(|(name, value, source)| match source {
            Source::Default => format!("{name} = {value} (default)\n"),
            Source::File(path) => format!("{name} = {value} ({})\n", path.display()),
            Source::Flag => format!("{name} = {value} (flag)\n"),
        });
        lines.collect()
    }
}

fn sources(
    config: &Config,
    given: &[(&'static str, Source)],
) -> Vec<(&'static str, String, Source)> {
    let source = |name: &str| {
        let last = given.iter().rev().find(|(given, _)| *given == name);
        last.map_or(Source::Default, |(_, source)| source.clone())
    };
    let origins = Json::from(config.allowed_origins.clone()).to_string();
    let numbers = config.numbers().map(|(name, value)| (name, value.to_string()));
    let all = numbers.chain([(ORIGINS, origins), (TOKEN, config.require_token.to_string())]);
    all.map(|(name, value)| (name, value, source(name))).collect()
}

// The file.

struct ConfigFile {
    path: PathBuf,
    fields: Map<String, Json>,
}

/// With a limit: the name may lead to any file.
fn read_bounded(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut text = Vec::new();
    File::open(path)?.take(FILE_BYTES_MAX).read_to_end(&mut text)?;
    Ok(text)
}

/// `None` if there is no file and `--config` was not given.
fn read_file(flags: &RawFlags, directory: &Path) -> Result<Option<ConfigFile>, ConfigError> {
    let path = match &flags.config {
        Some(path) => directory.join(path),
        None => directory.join(DEFAULT_FILE),
    };
    let text = match read_bounded(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound && flags.config.is_none() => {
            return Ok(None);
        }
        Err(error) => {
            let message = format!("{} cannot be read: {error}", path.display());
            return Err(ConfigError { code: ConfigErrorCode::Parse, message });
        }
    };
    // Editors on Windows put a byte order mark before the text.
    let text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&text);
    match parse_json(text) {
        Ok(Json::Object(fields)) => Ok(Some(ConfigFile { path, fields })),
        Ok(other) => {
            let what = format!("is {}, but must be an object", shown(&other));
            Err(invalid(&format!("{} {what}", path.display())))
        }
        Err(problem) => {
            let message = format!("{} is not JSON: {problem}", path.display());
            Err(ConfigError { code: ConfigErrorCode::Parse, message })
        }
    }
}

fn check_schema_version(path: &Path, fields: &Map<String, Json>) -> Result<(), ConfigError> {
    let place = format!("{}: {VERSION}", path.display());
    match fields.get(VERSION) {
        None => Ok(()),
        Some(value) if value.as_u64() == Some(SCHEMA_VERSION) => Ok(()),
        Some(value) if value.is_i64() || value.is_u64() => {
            let message = format!(
                "{place} is {}, but this version of unity-mcp reads {SCHEMA_VERSION}",
                shown(value)
            );
            Err(ConfigError { code: ConfigErrorCode::SchemaVersion, message })
        }
        Some(value) => {
            Err(invalid(&format!("{place} is {}, but must be {SCHEMA_VERSION}", shown(value))))
        }
    }
}

/// Sets one field of the file; returns its name in the table.
fn apply_field(
    config: &mut Config,
    path: &Path,
    name: &str,
    value: &Json,
) -> Result<&'static str, ConfigError> {
    let place = format!("{}: {}", path.display(), printable(name, 60));
    if name == VERSION {
        return Ok(VERSION);
    }
    if name == ORIGINS {
        config.allowed_origins = origins(&place, value)?;
        return Ok(ORIGINS);
    }
    if name == TOKEN {
        let wanted = || invalid(&format!("{place} is {}, but must be true or false", shown(value)));
        config.require_token = value.as_bool().ok_or_else(wanted)?;
        return Ok(TOKEN);
    }
    let setting = find(name).ok_or_else(|| unknown(&place, name))?;
    let number = value.as_u64().filter(|number| (setting.min..=setting.max).contains(number));
    let number = number.ok_or_else(|| out_of_range(&place, &shown(value), setting, setting.min))?;
    (setting.set)(config, number);
    Ok(setting.name)
}

fn origins(place: &str, value: &Json) -> Result<Vec<String>, ConfigError> {
    let texts: Option<Vec<String>> = value
        .as_array()
        .and_then(|items| items.iter().map(|item| item.as_str().map(str::to_owned)).collect());
    let sound = |origin: &String| {
        let host = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        host.is_some_and(|host| !host.is_empty() && !host.contains(['/', ' ', '*', '?', '#']))
    };
    texts.filter(|origins| origins.iter().all(sound)).ok_or_else(|| {
        let wanted = "must be a list of origins such as \"http://localhost:3000\"";
        invalid(&format!("{place} is {}, but {wanted}", shown(value)))
    })
}

// Names and messages.

fn find(name: &str) -> Option<&'static Setting> {
    SETTINGS.iter().find(|setting| setting.name == name)
}

fn shown(value: &Json) -> String {
    printable(&value.to_string(), 60)
}

fn invalid(message: &str) -> ConfigError {
    ConfigError { code: ConfigErrorCode::Validation, message: message.to_owned() }
}

fn out_of_range(place: &str, value: &str, setting: &Setting, min: u64) -> ConfigError {
    invalid(&format!("{place} is {value}, but must be an integer from {min} to {}", setting.max))
}

/// Suggests the nearest name: most unknown names are misspelt.
fn unknown(place: &str, name: &str) -> ConfigError {
    let names = SETTINGS.iter().map(|setting| setting.name).chain([ORIGINS, TOKEN, VERSION]);
    let nearest = names.min_by_key(|known| strsim::damerau_levenshtein(name, known));
    let hint = nearest.map(|nearest| format!("; did you mean {nearest}?")).unwrap_or_default();
    invalid(&format!("{place} is not a setting{hint}"))
}
