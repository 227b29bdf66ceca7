//! Names that travel on the wire. Each is its own type, so that one is never taken for another.

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
    /// Ties an answer to its request; made by the server, echoed by the plugin.
    RequestId
}
wire_id! {
    /// The plugin's own name for a job; agents never see it.
    UnityJobId
}
wire_id! {
    /// Names one Unity Editor process.
    EditorInstanceId
}
wire_id! {
    /// Names one life of the plugin's memory: new at every domain reload.
    PluginSessionId
}
