//! RequestValidator: a raw call becomes a `ValidCall` or a `Failure`. Pure; reads the catalogue.

use std::time::Duration;

use protocol::{Json, Map};

use crate::failure::Failure;
use crate::shape::Shape;
use crate::tool_answers::UnwantedOutcome;
use crate::tool_catalog::{Catalog, ForUnity, Need, Parameter, Route, Tool};

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
    /// `asked`: the arguments of the agent, of which `params` is what Unity gets.
    Execute {
        params: Json,
        asked: Json,
    },
    /// `wait`: how long the caller waits for the end of the job.
    RunJob {
        params: Json,
        asked: Json,
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
    pub(crate) fn tell(&self, given: Json, took: Duration) -> Result<Json, String> {
        match &self.request {
            Request::Execute { asked, .. } | Request::RunJob { asked, .. } => {
                self.tool.tell(given, asked, took)
            }
            Request::EditorState | Request::JobStatus { .. } | Request::CancelJob { .. } => {
                Ok(given)
            }
        }
    }

    /// Why what the agent gets is a failure although Unity calls it a success.
    pub(crate) fn problem(&self, told: &Json) -> Option<UnwantedOutcome> {
        match &self.request {
            Request::Execute { asked, .. } | Request::RunJob { asked, .. } => {
                self.tool.problem(told, asked)
            }
            Request::EditorState | Request::JobStatus { .. } | Request::CancelJob { .. } => None,
        }
    }

    /// What Unity gets.
    pub(crate) fn params(&self) -> Option<&Json> {
        match &self.request {
            Request::Execute { params, .. } | Request::RunJob { params, .. } => Some(params),
            Request::EditorState | Request::JobStatus { .. } | Request::CancelJob { .. } => None,
        }
    }

    /// The answer may have to wait for Unity or for a job.
    pub fn may_wait(&self) -> bool {
        match &self.request {
            Request::Execute { .. } | Request::RunJob { .. } => true,
            Request::JobStatus { wait, .. } => !wait.is_zero(),
            Request::EditorState | Request::CancelJob { .. } => false,
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

/// With catalogue 1.0.
pub fn validate(raw: RawCall) -> Result<ValidCall, Failure> {
    validate_with(Catalog::V1_0, raw)
}

/// An unknown tool is `ERR_UNKNOWN_COMMAND`; everything else that is wrong names the argument.
pub fn validate_with(catalog: Catalog, raw: RawCall) -> Result<ValidCall, Failure> {
    let tool = catalog.tool(&raw.tool).ok_or_else(|| Failure::unknown_tool(catalog))?;
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
    match usual_form(TIMEOUT, &[], value).as_u64() {
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

/// Any number: the range differs from tool to tool.
const TIMEOUT: &Shape = &Shape::Integer { min: 1, max: u64::MAX };

/// What an agent probably means: `"10"` is 10, one word is a list of one, and a parameter may have other forms of its
/// values. What is unknown stays as it is, and is refused.
fn usual_form(shape: &Shape, also: &[(&str, &str)], value: Json) -> Json {
    let other_form = match &value {
        Json::String(text) => Some(text.to_lowercase()),
        Json::Bool(flag) => Some(flag.to_string()),
        Json::Null | Json::Number(_) | Json::Array(_) | Json::Object(_) => None,
    };
    let known = also.iter().find(|(form, _)| other_form.as_deref() == Some(form));
    match (shape, value) {
        (_, _) if known.is_some() => known.map(|(_, means)| Json::from(*means)).unwrap_or_default(),
        (Shape::Integer { .. }, Json::String(text)) => {
            text.parse::<u64>().map_or(Json::String(text), Json::from)
        }
        (Shape::SomeOf(_), Json::String(word)) => Json::from(vec![word]),
        (_, value) => value,
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
    let value = match (arguments.get_mut(parameter.name).map(Json::take), &parameter.need) {
        (Some(value), _) => {
            let value = usual_form(&parameter.shape, parameter.also, value);
            parameter.shape.check(&value).map_err(|problem| {
                Failure::bad_argument(tool, &format!("{} {problem}", parameter.name))
            })?;
            value
        }
        (None, Need::Required) => {
            return Err(Failure::bad_argument(tool, &format!("{} is missing", parameter.name)));
        }
        (None, Need::Optional) => return Ok(()),
        (None, Need::DefaultInteger(value)) => Json::from(*value),
        (None, Need::DefaultWord(value)) => Json::from(*value),
        (None, Need::DefaultFlag(value)) => Json::from(*value),
    };
    arguments.insert(parameter.name.to_owned(), value);
    Ok(())
}

/// All arguments are checked by now; what Unity does not need stays here.
fn request(tool: &Tool, arguments: Map<String, Json>) -> Request {
    let wait = || {
        let millis = arguments.get("wait_ms").and_then(Json::as_u64).unwrap_or_default();
        Duration::from_millis(millis)
    };
    let job_id = || {
        let id = arguments.get("job_id").and_then(Json::as_str).unwrap_or_default();
        id.chars().take(JOB_ID_MAX).collect() // A longer one is not the id of a job.
    };
    let params = || for_unity(tool, &arguments);
    match tool.route {
        Route::EditorState => Request::EditorState,
        Route::Execute(_) => Request::Execute { params: params(), asked: Json::Object(arguments) },
        Route::SubmitJob(_) => {
            Request::RunJob { params: params(), wait: wait(), asked: Json::Object(arguments) }
        }
        Route::JobStatus => Request::JobStatus { job_id: job_id(), wait: wait() },
        Route::CancelJob => Request::CancelJob { job_id: job_id() },
    }
}

/// In the order of the catalogue.
fn for_unity(tool: &Tool, arguments: &Map<String, Json>) -> Json {
    let mut params = Map::new();
    for parameter in tool.parameters {
        let Some(value) = arguments.get(parameter.name) else { continue };
        let value = match parameter.for_unity {
            ForUnity::No => continue,
            ForUnity::AsItIs => value.clone(),
            ForUnity::AsFlag { unless } => Json::from(value.as_str() != Some(unless)),
        };
        params.insert(parameter.name.to_owned(), value);
    }
    Json::Object(params)
}

#[cfg(test)]
mod tests {
    use super::super::failure::ErrorCode;
    use super::super::tool_catalog::Kind;
    use super::*;

    /// `open_scene` of catalogue 1.1 is such a tool.
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
