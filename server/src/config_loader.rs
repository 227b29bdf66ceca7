//! ConfigLoader: flags, then the file, then the defaults become a checked `Config`, or one readable message. It uses
//! no sockets and does not log.

mod flags;
mod values;

use std::fmt;
use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use protocol::{Json, Map, parse_json, printable};

use crate::project;
use coordination::Limits;
use flags::apply_flag;
use values::{Choice, Number};

pub use flags::{SettingFlag, SettingValue, setting_flags};
pub use values::{LOG_FORMATS, LOG_LEVELS};

/// Read from the working directory unless `--config` names another one. It may be missing.
pub const DEFAULT_FILE: &str = "unity-mcp.server.json";

const SCHEMA_VERSION: u64 = 1;
/// Bytes of the file: more than any configuration has.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// What was typed: the text of each flag that was given.
#[derive(Clone, Debug, Default)]
pub struct RawFlags {
    pub config: Option<PathBuf>,
    pub project: Option<PathBuf>,
    pub page: Page,
    /// By the name of the setting, such as `queue_max_size` for `--queue-max-size`.
    pub settings: Vec<(String, String)>,
}

/// What the page for people shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Page {
    Off,
    #[default]
    WithoutBodies,
    /// Arguments and results too.
    WithBodies,
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
    /// One of `LOG_LEVELS`.
    pub log_level: &'static str,
    /// One of `LOG_FORMATS`.
    pub log_format: &'static str,
    /// The Unity project that this server is for, if it is for one.
    pub project: Option<String>,
    pub page: Page,
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

const PORT: &str = "unity_ws_port";
const ORIGINS: &str = "allowed_origins";
const TOKEN: &str = "require_token";
const VERSION: &str = "schema_version";
/// For text editors: it says nothing to the server.
const SCHEMA: &str = "$schema";

/// The effective configuration: a flag overrides the file, and the file overrides the default.
pub fn load(flags: &RawFlags, directory: &Path) -> Result<Config, ConfigError> {
    let mut config = Config { page: flags.page, ..Config::default() };
    let found = find_project(flags, directory)?;
    config.project = found.as_ref().map(|path| project::comparable(&path.to_string_lossy()));
    let mut given: Vec<(&'static str, Source)> = Vec::new();
    if let Some(ConfigFile { path, fields }) = read_file(flags, directory, found.as_deref())? {
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
            log_level: "info",
            log_format: "text",
            project: None,
            page: Page::default(),
            sources: Vec::new(),
        }
    }
}

impl Config {
    /// Every number that can be set, by its name.
    fn numbers(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        Number::all().map(|number| (number.name(), number.get(self)))
    }

    /// Every setting that differs from its default, as `name=value`.
    pub fn changed(&self) -> Vec<String> {
        let defaults = sources(&Self::default(), &[]);
        let all = sources(self, &[]);
        let pairs = all.into_iter().zip(defaults);
        let changed = pairs.filter(|((_, value, _), (_, default, _))| value != default);
        changed.map(|((name, value, _), _)| format!("{name}={}", printable(&value, 200))).collect()
    }

    /// Every value and where it came from, one line each.
    pub fn describe(&self) -> String {
        let project = self.project.as_ref().map(|path| format!("project = {path}\n"));
        let lines = self.sources.iter().map(|(name, value, source)| match source {
            Source::Default => format!("{name} = {value} (default)\n"),
            Source::File(path) => format!("{name} = {value} ({})\n", path.display()),
            Source::Flag => format!("{name} = {value} (flag)\n"),
        });
        lines.chain(project).collect()
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
    let choices = Choice::ALL.map(|choice| (choice.name(), choice.get(config).to_owned()));
    let all = all.chain(choices);
    all.map(|(name, value)| (name, value, source(name))).collect()
}

// The file.

struct ConfigFile {
    path: PathBuf,
    fields: Map<String, Json>,
}

/// The name may lead to anything: opening a pipe waits for its writer, and a device may have no end.
fn read_bounded(path: &Path) -> std::io::Result<Result<Vec<u8>, String>> {
    if !std::fs::metadata(path)?.is_file() {
        return Ok(Err("is not a regular file".to_owned()));
    }
    let mut text = Vec::new();
    let read = File::open(path)?.take(FILE_BYTES_MAX + 1).read_to_end(&mut text)?;
    if read as u64 > FILE_BYTES_MAX {
        return Ok(Err(format!("is larger than the limit of {FILE_BYTES_MAX} bytes")));
    }
    Ok(Ok(text))
}

/// The project that `--project` names, or the one that the working directory is in.
fn find_project(flags: &RawFlags, directory: &Path) -> Result<Option<PathBuf>, ConfigError> {
    let Some(named) = &flags.project else { return Ok(project::find(directory)) };
    let path = directory.join(named);
    if path.is_dir() {
        return Ok(Some(path));
    }
    let shown = printable(&named.display().to_string(), 200);
    Err(invalid(&format!("--project is \"{shown}\", but must be the folder of a Unity project")))
}

/// The first of these that exists: in the project that was named, in the working directory, in the project around it.
fn default_file(flags: &RawFlags, directory: &Path, project: Option<&Path>) -> PathBuf {
    let named = project.filter(|_| flags.project.is_some());
    let folders = named.into_iter().chain([directory]).chain(project);
    let mut files = folders.map(|folder| folder.join(DEFAULT_FILE));
    files.find(|file| file.exists()).unwrap_or_else(|| directory.join(DEFAULT_FILE))
}

/// `None` if there is no file and `--config` was not given.
fn read_file(
    flags: &RawFlags,
    directory: &Path,
    project: Option<&Path>,
) -> Result<Option<ConfigFile>, ConfigError> {
    let path = match &flags.config {
        Some(path) => directory.join(path),
        None => default_file(flags, directory, project),
    };
    let unreadable = |problem: &str| {
        let message = format!("{} {problem}", path.display());
        ConfigError { code: ConfigErrorCode::Parse, message }
    };
    let text = match read_bounded(&path) {
        Ok(read) => read.map_err(|problem| unreadable(&problem))?,
        Err(error) if error.kind() == ErrorKind::NotFound && flags.config.is_none() => {
            return Ok(None);
        }
        Err(error) => return Err(unreadable(&format!("cannot be read: {error}"))),
    };
    if text.starts_with(b"\xFF\xFE") || text.starts_with(b"\xFE\xFF") || text.contains(&0) {
        return Err(unreadable("is not UTF-8 but probably UTF-16: save it as UTF-8"));
    }
    // Editors on Windows put a byte order mark before the text.
    let text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&text);
    match parse_json(text) {
        Ok(Json::Object(fields)) => Ok(Some(ConfigFile { path, fields })),
        Ok(other) => {
            let what = format!("is {}, but must be an object", shown(&other));
            Err(invalid(&format!("{} {what}", path.display())))
        }
        Err(problem) => Err(unreadable(&format!("is not JSON: {problem}"))),
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
    if let Some(known) = [VERSION, SCHEMA].into_iter().find(|known| *known == name) {
        return Ok(known);
    }
    if let Some(choice) = Choice::find(name) {
        let word = value.as_str().and_then(|word| choice.known(word));
        return Ok(choice.set(config, word.ok_or_else(|| choice.wrong(&place, &shown(value)))?));
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
    let number = Number::find(name).ok_or_else(|| unknown(&place, name))?;
    let range = number.range();
    let value_in_range = value.as_u64().filter(|value| range.contains(value));
    let value = value_in_range.ok_or_else(|| out_of_range(&place, &shown(value), &range))?;
    number.set(config, value);
    Ok(number.name())
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

fn shown(value: &Json) -> String {
    printable(&value.to_string(), 60)
}

fn invalid(message: &str) -> ConfigError {
    ConfigError { code: ConfigErrorCode::Validation, message: message.to_owned() }
}

fn out_of_range(place: &str, value: &str, range: &RangeInclusive<u64>) -> ConfigError {
    let (min, max) = (range.start(), range.end());
    invalid(&format!("{place} is {value}, but must be an integer from {min} to {max}"))
}

/// Suggests a name that is spelt nearly the same.
fn unknown(place: &str, name: &str) -> ConfigError {
    let names = Number::all().map(Number::name).chain(Choice::ALL.map(Choice::name));
    let names = names.chain([ORIGINS, TOKEN, VERSION]);
    let far = |known: &&str| strsim::damerau_levenshtein(name, known);
    let nearest = names.min_by_key(far).filter(|known| far(known) * 3 <= known.len());
    let hint = match nearest {
        Some(nearest) => format!("; did you mean {nearest}?"),
        None => "; --print-config shows all settings".to_owned(),
    };
    invalid(&format!("{place} is not a setting{hint}"))
}
