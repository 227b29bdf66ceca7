//! The numbers and the words that can be set.

use std::ops::RangeInclusive;

use coordination::{Catalog, SETTINGS, Setting};

use super::{Config, ConfigError, PORT, invalid};

pub const LOG_LEVELS: &[&str] = &["error", "warn", "info", "debug", "trace"];
pub const LOG_FORMATS: &[&str] = &["text", "json"];

/// One number that can be set.
#[derive(Clone, Copy)]
pub(super) enum Number {
    Port,
    Limit(&'static Setting),
}

impl Number {
    pub(super) fn all() -> impl Iterator<Item = Self> {
        std::iter::once(Self::Port).chain(SETTINGS.iter().map(Self::Limit))
    }

    pub(super) fn find(name: &str) -> Option<Self> {
        Self::all().find(|number| number.name() == name)
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Port => PORT,
            Self::Limit(setting) => setting.name,
        }
    }

    pub(super) fn about(self) -> &'static str {
        match self {
            Self::Port => "Port on 127.0.0.1 for Unity and for agents; 0 takes a free one",
            Self::Limit(setting) => setting.about,
        }
    }

    pub(super) fn range(self) -> RangeInclusive<u64> {
        match self {
            Self::Port => 1..=u64::from(u16::MAX),
            Self::Limit(setting) => setting.min..=setting.max,
        }
    }

    pub(super) fn get(self, config: &Config) -> u64 {
        match self {
            Self::Port => u64::from(config.port),
            Self::Limit(setting) => setting.get(&config.limits),
        }
    }

    pub(super) fn set(self, config: &mut Config, value: u64) {
        match self {
            Self::Port => config.port = u16::try_from(value).unwrap_or_default(),
            Self::Limit(setting) => setting.set(&mut config.limits, value),
        }
    }
}

/// One word of a few that can be set.
#[derive(Clone, Copy)]
pub(super) enum Choice {
    Catalog,
    LogLevel,
    LogFormat,
}

impl Choice {
    pub(super) const ALL: [Self; 3] = [Self::Catalog, Self::LogLevel, Self::LogFormat];

    pub(super) fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|choice| choice.name() == name)
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Catalog => "catalog",
            Self::LogLevel => "log_level",
            Self::LogFormat => "log_format",
        }
    }

    pub(super) fn about(self) -> &'static str {
        match self {
            Self::Catalog => {
                "Which tools agents get; 1.1 has tools that compile scripts and open scenes"
            }
            Self::LogLevel => "How much to log to stderr",
            Self::LogFormat => "Format of the log",
        }
    }

    pub(super) fn words(self) -> &'static [&'static str] {
        match self {
            Self::Catalog => Catalog::NAMES,
            Self::LogLevel => LOG_LEVELS,
            Self::LogFormat => LOG_FORMATS,
        }
    }

    pub(super) fn known(self, word: &str) -> Option<&'static str> {
        self.words().iter().copied().find(|known| *known == word)
    }

    pub(super) fn get(self, config: &Config) -> &'static str {
        match self {
            Self::Catalog => config.limits.catalog.name(),
            Self::LogLevel => config.log_level,
            Self::LogFormat => config.log_format,
        }
    }

    /// Returns the name of the setting.
    pub(super) fn set(self, config: &mut Config, word: &'static str) -> &'static str {
        match self {
            Self::Catalog => config.limits.catalog = Catalog::named(word).unwrap_or_default(),
            Self::LogLevel => config.log_level = word,
            Self::LogFormat => config.log_format = word,
        }
        self.name()
    }

    pub(super) fn wrong(self, place: &str, value: &str) -> ConfigError {
        invalid(&format!("{place} is {value}, but must be one of {}", self.words().join(", ")))
    }
}
