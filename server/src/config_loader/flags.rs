//! Flags: every setting has one.

use protocol::{Json, printable};

use super::{
    Config, ConfigError, Number, ORIGINS, PORT, TOKEN, invalid, origins, out_of_range, unknown,
};

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

/// The value of a flag that is true when it stands alone.
const SWITCH: &str = "true|false";

/// A flag that sets one setting.
pub struct SettingFlag {
    /// As it is named in the file.
    pub setting: &'static str,
    /// As it is typed, without the dashes.
    pub name: String,
    pub value_name: &'static str,
    pub help: String,
}

impl SettingFlag {
    /// It may stand alone.
    pub fn is_switch(&self) -> bool {
        self.value_name == SWITCH
    }

    pub fn is_port(&self) -> bool {
        self.setting == PORT
    }
}

/// One flag for each setting.
pub fn setting_flags() -> impl Iterator<Item = SettingFlag> {
    let defaults = Config::default();
    let numbers = Number::all().map(move |number| {
        let (about, range, default) = (number.about(), number.range(), number.get(&defaults));
        SettingFlag {
            setting: number.name(),
            name: flag_name(number.name()),
            value_name: "N",
            help: format!("{about} [{} to {}, default {default}]", range.start(), range.end()),
        }
    });
    let origins = SettingFlag {
        setting: ORIGINS,
        name: flag_name(ORIGINS),
        value_name: "LIST",
        help: "Web origins that may use /mcp, separated by commas [default none]".to_owned(),
    };
    let token = SettingFlag {
        setting: TOKEN,
        name: flag_name(TOKEN),
        value_name: SWITCH,
        help: "Accept only agents and plugins that send the token of this user (mock and relay find it)"
            .to_owned(),
    };
    numbers.chain([origins, token])
}

fn flag_name(setting: &str) -> String {
    if setting == PORT { "port".to_owned() } else { setting.replace('_', "-") }
}
