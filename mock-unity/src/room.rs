//! Room: how much of a list fits into one frame.

use protocol::Json;

/// What is left of half a frame. The other half is for the rest of the message.
pub(crate) struct Room(usize);

impl Room {
    pub(crate) fn new(frame_max: usize) -> Self {
        Self(frame_max / 2)
    }

    /// Takes the room of an item. False if there is not enough.
    pub(crate) fn takes(&mut self, item: &Json) -> bool {
        let bytes = item.to_string().len();
        let fits = bytes <= self.0;
        self.0 = self.0.saturating_sub(bytes);
        fits
    }
}

/// Cuts the lists of a result to what fits into a frame.
pub(crate) fn fit(mut result: Json, frame_max: usize) -> Json {
    let mut room = Room::new(frame_max);
    for list in result.as_object_mut().into_iter().flatten().filter_map(|(_, v)| v.as_array_mut()) {
        let fits = list.iter().take_while(|item| room.takes(item)).count();
        list.truncate(fits);
    }
    result
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::fit;

    #[test]
    fn lists_are_cut_to_half_a_frame_and_the_rest_stays() {
        let result = json!({ "total": 3, "list": ["aaaa", "bbbb", "cccc"] });
        assert_eq!(fit(result.clone(), 1_000), result);
        assert_eq!(fit(result.clone(), 24), json!({ "total": 3, "list": ["aaaa", "bbbb"] }));
        assert_eq!(fit(result, 0), json!({ "total": 3, "list": [] }));
    }
}
