//! Flags: every setting has one.

use protocol::{Json, printable};

use super::values::{Choice, Number};
use super::{Config, ConfigError, ORIGINS, PORT, TOKEN, invalid, origins, out_of_range, unknown};

/// Sets what a flag says; returns the name of the setting.
pub(super) fn apply_flag(
    config: &mut Config,
    name: &str,
    text: &str,
) -> Result<&'static str, ConfigError> {
    let place = format!("--{}", printable(&flag_name(name), 60));
    if name == ORIGINS {
        let list = text.split(',').map(str::trim).filter(|origin| !origin.is_empty());
        config.allowed_origins = origins(&place, &list.map(Json::from).collect())?;
        return Ok(ORIGINS);
    }
    if name == TOKEN {
        let wanted = |_| {
            invalid(&format!("{place} is \"{}\", but must be true or false", printable(text, 60)))
        };
        config.require_token = text.parse().map_err(wanted)?;
        return Ok(TOKEN);
    }
    if let Some(choice) = Choice::find(name) {
        let shown = format!("\"{}\"", printable(text, 60));
        return Ok(
            choice.set(config, choice.known(text).ok_or_else(|| choice.wrong(&place, &shown))?)
        );
    }
    let number = Number::find(name).ok_or_else(|| unknown(&place, name))?;
    let range = match number {
        Number::Port => 0..=*number.range().end(), // 0 means any port that is free.
        Number::Limit(_) => number.range(),
    };
    let value = text.parse().ok().filter(|value| range.contains(value));
    let shown = format!("\"{}\"", printable(text, 60));
    number.set(config, value.ok_or_else(|| out_of_range(&place, &shown, &range))?);
    Ok(number.name())
}

/// A flag that sets one setting.
pub struct SettingFlag {
    /// As it is named in the file.
    pub setting: &'static str,
    /// As it is typed, without the dashes.
    pub name: String,
    pub value_name: &'static str,
    pub help: String,
    pub value: SettingValue,
}

/// What a setting may be.
pub enum SettingValue {
    Number { min: u64, max: u64, default: u64 },
    Word { words: &'static [&'static str], default: &'static str },
    Switch { default: bool },
    Origins,
}

impl SettingFlag {
    /// It may stand alone.
    pub fn is_switch(&self) -> bool {
        matches!(self.value, SettingValue::Switch { .. })
    }

    pub fn is_port(&self) -> bool {
        self.setting == PORT
    }

    /// It has words to choose from.
    pub fn is_choice(&self) -> bool {
        matches!(self.value, SettingValue::Word { .. })
    }
}

/// One flag for each setting.
pub fn setting_flags() -> impl Iterator<Item = SettingFlag> {
    let defaults = Config::default();
    let numbers = Number::all().map(move |number| {
        let (about, range, default) = (number.about(), number.range(), number.get(&defaults));
        let (min, max) = range.into_inner();
        let least = if matches!(number, Number::Port) { 0 } else { min };
        SettingFlag {
            setting: number.name(),
            name: flag_name(number.name()),
            value_name: "N",
            help: format!("{about} [{least} to {max}, default {default}]"),
            value: SettingValue::Number { min, max, default },
        }
    });
    let defaults = Config::default();
    let choices = Choice::ALL.map(|choice| {
        let (words, default) = (choice.words(), choice.get(&defaults));
        SettingFlag {
            setting: choice.name(),
            name: flag_name(choice.name()),
            value_name: "WORD",
            help: format!("{} [{}, default {default}]", choice.about(), words.join(", ")),
            value: SettingValue::Word { words, default },
        }
    });
    let origins = SettingFlag {
        setting: ORIGINS,
        name: flag_name(ORIGINS),
        value_name: "LIST",
        help: "Web origins that may use /mcp, separated by commas [default none]".to_owned(),
        value: SettingValue::Origins,
    };
    let token = SettingFlag {
        setting: TOKEN,
        name: flag_name(TOKEN),
        value_name: "true|false",
        help: "Accept only agents and plugins that send the token of this user (mock and relay find it)"
            .to_owned(),
        value: SettingValue::Switch { default: defaults.require_token },
    };
    choices.into_iter().chain(numbers).chain([origins, token])
}

fn flag_name(setting: &str) -> String {
    if setting == PORT { "port".to_owned() } else { setting.replace('_', "-") }
}
