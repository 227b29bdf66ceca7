//! Identifiers on the wire. Each has its own type, so that the compiler rejects a mix-up.

use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! wire_id {
    ($(#[doc = $doc:literal])+ $name:ident) => {
        $(#[doc = $doc])+
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(transparent)]
        pub struct $name(pub String);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.to_owned())
            }
        }
    };
}

wire_id! {
    /// Names one request. The server makes it; the plugin repeats it in the answer.
    RequestId
}
wire_id! {
    /// The plugin's name for a job, at most 256 bytes. Agents never see it: the server has job ids of its own.
    UnityJobId
}
wire_id! {
    /// Names one Unity Editor process.
    EditorInstanceId
}
wire_id! {
    /// Names the plugin between two domain reloads: what it keeps in memory is lost when this changes.
    PluginSessionId
}
