//! Short answers about the Editor: `ping`, `open_scene`, `list_scenes`, `get_selection`.

use std::time::Duration;

use protocol::Json;

use super::{Room, is_true, name, named_items, object, take_list, text};

/// Scenes or selected objects that are listed.
const ITEMS_MAX: usize = 500;

/// Unity's answer is empty: what counts is when it came.
pub(crate) fn pong(_given: Json, _asked: &Json, took: Duration) -> Json {
    let millis = (took.as_secs_f64() * 1_000_000.0).round() / 1_000.0;
    object([("round_trip_ms", Some(Json::from(millis)))])
}

pub(crate) fn opened(given: Json, _asked: &Json, _took: Duration) -> Json {
    object([("path", text(&given, "path").map(name).map(Json::from))])
}

pub(crate) fn scenes(mut given: Json, _asked: &Json, _took: Duration) -> Json {
    let mut room = Room::new(ITEMS_MAX);
    let open = take_list(&mut given, "open");
    let open = open.iter().map_while(|scene| room.take(|_| open_scene(scene))).collect();
    let build = take_list(&mut given, "build");
    let build = build.iter().map_while(|scene| room.take(|_| build_scene(scene))).collect();
    object([("open", Some(Json::Array(open))), ("build", Some(Json::Array(build)))])
}

fn open_scene(scene: &Json) -> Json {
    let named = |field: &'static str| (field, text(scene, field).map(name).map(Json::from));
    let flag = |field: &'static str| (field, Some(Json::from(is_true(scene, field))));
    object([named("path"), named("name"), flag("is_active"), flag("is_dirty")])
}

fn build_scene(scene: &Json) -> Json {
    let path = text(scene, "path").map(name).map(Json::from);
    object([("path", path), ("enabled", Some(Json::from(is_true(scene, "enabled"))))])
}

pub(crate) fn selection(mut given: Json, _asked: &Json, _took: Duration) -> Json {
    let objects = take_list(&mut given, "objects");
    let listed = named_items(&objects, ["name", "path", "type"], &mut Room::new(ITEMS_MAX));
    object([("count", Some(Json::from(objects.len()))), ("objects", Some(Json::Array(listed)))])
}
