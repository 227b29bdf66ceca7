//! `list_assets`: sorted by path, and how to get what was left out.

use std::time::Duration;

use protocol::Json;

use super::{Room, is_true, named_items, number, object, take_list, text};

pub(crate) fn tell(mut given: Json, asked: &Json, _took: Duration) -> Json {
    let mut assets = take_list(&mut given, "assets");
    let after = text(asked, "after").unwrap_or_default();
    // Whatever the plugin makes of its arguments.
    assets.retain(|asset| text(asset, "path").is_some_and(|path| path > after));
    assets.sort_by(|one, other| text(one, "path").cmp(&text(other, "path")));
    let max = number(asked, "max_entries").and_then(|max| usize::try_from(max).ok());
    let mut room = Room::new(max.unwrap_or(usize::MAX));
    let listed = named_items(&assets, ["path", "type", "guid"], &mut room);
    let truncated = is_true(&given, "truncated") || listed.len() < assets.len();
    let last = listed.last().and_then(|asset| text(asset, "path")).map(str::to_owned);
    object([
        ("count", Some(Json::from(listed.len()))),
        ("truncated", Some(Json::from(truncated))),
        ("next", last.filter(|_| truncated).map(|last| next_page(asked, last))),
        ("assets", Some(Json::Array(listed))),
    ])
}

/// The arguments that get what was left out.
fn next_page(asked: &Json, after: String) -> Json {
    let mut next = asked.clone();
    if let Json::Object(arguments) = &mut next {
        arguments.insert("after".to_owned(), Json::from(after));
    }
    next
}
