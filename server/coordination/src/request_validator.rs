//! RequestValidator: a raw call becomes a `ValidCall` or a `Failure`. Pure; reads the catalogue.

use std::time::Duration;

use protocol::{Json, Map};

use crate::failure::Failure;
use crate::tool_catalog::{Need, Parameter, Route, TOOLS, Tool};

/// Longer than the id of any job.
const JOB_ID_MAX: usize = 64;

/// A call as an agent made it.
#[derive(Clone, Debug)]
pub struct RawCall {
    pub tool: String,
    pub arguments: Map<String, Json>,
}

/// A call that has passed the validator; there is no other way to get one.
#[derive(Clone, Debug, PartialEq)]
pub struct ValidCall {
    pub(crate) tool: &'static Tool,
    pub(crate) client_request_id: Option<String>,
    pub(crate) timeout: Duration,
    pub(crate) request: Request,
}

/// What is asked for, with every argument checked.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    EditorState,
    Execute {
        params: Json,
    },
    /// `wait`: how long the caller waits for the end of the job.
    RunJob {
        params: Json,
        wait: Duration,
    },
    /// `wait`: how long the caller waits for a change.
    JobStatus {
        job_id: String,
        wait: Duration,
    },
    CancelJob {
        job_id: String,
    },
}

impl Request {
    /// It is sent to Unity, so it waits for a ready Editor.
    pub(crate) fn needs_unity(&self) -> bool {
        match self {
            Self::Execute { .. } | Self::RunJob { .. } => true,
            Self::EditorState | Self::JobStatus { .. } | Self::CancelJob { .. } => false,
        }
    }
}

impl ValidCall {
    /// What the agent gets of Unity's answer; an error says what is wrong with the answer.
    pub(crate) fn tell(&self, given: Json) -> Result<Json, String> {
        match &self.request {
            Request::Execute { params } | Request::RunJob { params, .. } => {
                self.tool.tell(given, params)
            }
            Request::EditorState | Request::JobStatus { .. } | Request::CancelJob { .. } => {
                Ok(given)
            }
        }
    }

    pub fn tool(&self) -> &'static Tool {
        self.tool
    }

    pub fn client_request_id(&self) -> Option<&str> {
        self.client_request_id.as_deref()
    }

    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    pub fn request(&self) -> &Request {
        &self.request
    }
}

/// An unknown tool is `ERR_UNKNOWN_COMMAND`; everything else that is wrong names the argument.
pub fn validate(raw: RawCall) -> Result<ValidCall, Failure> {
    let tool = Tool::named(&raw.tool).ok_or_else(|| Failure::unknown_tool(TOOLS))?;
    let mut arguments = raw.arguments;
    let client_request_id = client_request_id(tool, arguments.remove("client_request_id"))?;
    let timeout = timeout(tool, arguments.remove("timeout_ms"))?;
    refuse_unknown(tool, &arguments)?;
    for parameter in tool.parameters {
        check(tool, parameter, &mut arguments)?;
    }
    Ok(ValidCall { tool, client_request_id, timeout, request: request(tool, arguments) })
}

fn client_request_id(tool: &Tool, value: Option<Json>) -> Result<Option<String>, Failure> {
    let sound = |id: &str| {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._:-".contains(&byte);
        (1..=128).contains(&id.len()) && id.bytes().all(allowed)
    };
    match value {
        None if tool.requires_client_request_id => Err(Failure::bad_client_request_id(tool)),
        None => Ok(None),
        Some(Json::String(id)) if sound(&id) => Ok(Some(id)),
        Some(_) => Err(Failure::bad_client_request_id(tool)),
    }
}

fn timeout(tool: &Tool, value: Option<Json>) -> Result<Duration, Failure> {
    let Some(value) = value else { return Ok(tool.default_timeout()) };
    match value.as_u64() {
        Some(millis) if (1..=tool.max_timeout_ms).contains(&millis) => {
            Ok(Duration::from_millis(millis))
        }
        Some(_) | None => {
            let problem =
                format!("timeout_ms must be an integer from 1 to {}", tool.max_timeout_ms);
            Err(Failure::bad_argument(tool, &problem))
        }
    }
}

fn refuse_unknown(tool: &Tool, arguments: &Map<String, Json>) -> Result<(), Failure> {
    let known = |name: &str| tool.parameters.iter().any(|parameter| parameter.name == name);
    let Some(unknown) = arguments.keys().find(|name| !known(name)) else { return Ok(()) };
    let names: Vec<&str> = tool.parameters.iter().map(|parameter| parameter.name).collect();
    let problem = format!(
        "there is no argument \"{}\"; it takes {}",
        protocol::printable(unknown, 60),
        [names.as_slice(), &["timeout_ms", "client_request_id"]].concat().join(", ")
    );
    Err(Failure::bad_argument(tool, &problem))
}

fn check(
    tool: &Tool,
    parameter: &Parameter,
    arguments: &mut Map<String, Json>,
) -> Result<(), Failure> {
    let default = match (arguments.get(parameter.name), &parameter.need) {
        (Some(value), _) => {
            return parameter.shape.check(value).map_err(|problem| {
                Failure::bad_argument(tool, &format!("{} {problem}", parameter.name))
            });
        }
        (None, Need::Required) => {
            return Err(Failure::bad_argument(tool, &format!("{} is missing", parameter.name)));
        }
        (None, Need::Optional) => return Ok(()),
        (None, Need::DefaultInteger(value)) => Json::from(*value),
        (None, Need::DefaultFlag(value)) => Json::from(*value),
        (None, Need::DefaultWord(value)) => Json::from(*value),
    };
    arguments.insert(parameter.name.to_owned(), default);
    Ok(())
}

/// All arguments are checked by now; what Unity does not need stays here.
fn request(tool: &Tool, mut arguments: Map<String, Json>) -> Request {
    let mut for_server = Map::new();
    for parameter in tool.parameters.iter().filter(|parameter| !parameter.for_unity) {
        if let Some(value) = arguments.remove(parameter.name) {
            for_server.insert(parameter.name.to_owned(), value);
        }
    }
    let wait = || {
        let millis = for_server.get("wait_ms").and_then(Json::as_u64).unwrap_or_default();
        Duration::from_millis(millis)
    };
    let job_id = || {
        let id = for_server.get("job_id").and_then(Json::as_str).unwrap_or_default();
        id.chars().take(JOB_ID_MAX).collect() // A longer one is not the id of a job.
    };
    match tool.route {
        Route::EditorState => Request::EditorState,
        Route::Execute(_) => Request::Execute { params: Json::Object(arguments) },
        Route::SubmitJob(_) => Request::RunJob { params: Json::Object(arguments), wait: wait() },
        Route::JobStatus => Request::JobStatus { job_id: job_id(), wait: wait() },
        Route::CancelJob => Request::CancelJob { job_id: job_id() },
    }
}

#[cfg(test)]
mod tests {
    use super::super::failure::ErrorCode;
    use super::super::tool_catalog::Kind;
    use super::*;

    /// No tool of the catalogue requires one.
    #[test]
    fn a_tool_that_requires_a_client_request_id_refuses_a_call_without() {
        let tool = Tool {
            name: "change_something",
            summary: "",
            about: "",
            kind: Kind::Read,
            route: Route::CancelJob,
            supports_cancel: false,
            default_timeout_ms: 1,
            max_timeout_ms: 1,
            requires_client_request_id: true,
            retryable: false,
            parameters: &[],
        };
        let refused = client_request_id(&tool, None).unwrap_err();
        assert_eq!(refused.code, ErrorCode::InvalidRequest);
        assert!(refused.message().contains("needs a client_request_id"));
        let given = client_request_id(&tool, Some(Json::from("a")));
        assert_eq!(given, Ok(Some("a".to_owned())));
    }
}
