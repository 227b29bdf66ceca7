//! The project of the mock: scenes, assets, and whether its scripts have changed on disk.

use std::time::Duration;

use protocol::{CompileOutcome, Json, LastCompile};
use serde_json::json;

/// The scenes of the build, and whether they are enabled.
const BUILD: [(&str, bool); 3] = [
    ("Assets/Scenes/Menu.unity", true),
    ("Assets/Scenes/Meadow.unity", true),
    ("Assets/Scenes/Credits.unity", false),
];

/// Path and type, sorted by path.
const ASSETS: [(&str, &str); 9] = [
    ("Assets/Materials/Grass.mat", "Material"),
    ("Assets/Prefabs/Enemy.prefab", "GameObject"),
    ("Assets/Prefabs/Player.prefab", "GameObject"),
    ("Assets/Scenes/Credits.unity", "SceneAsset"),
    ("Assets/Scenes/Meadow.unity", "SceneAsset"),
    ("Assets/Scenes/Menu.unity", "SceneAsset"),
    ("Assets/Scripts/Enemy.cs", "MonoScript"),
    ("Assets/Scripts/Player.cs", "MonoScript"),
    ("Assets/Textures/Grass.png", "Texture2D"),
];

/// What a person or a tool can change in the project.
#[derive(Debug)]
pub(super) struct Project {
    /// The paths of the open scenes. The last one is active.
    open: Vec<String>,
    /// The active scene has unsaved changes.
    pub(super) is_dirty: bool,
    /// The scripts have changed since the last compile, and have so many errors.
    pub(super) edited: Option<usize>,
    /// How the last compile ended, with how many errors, and when.
    last_compile: Option<(usize, Duration)>,
}

impl Project {
    pub(super) fn sample() -> Self {
        let open = vec!["Assets/Scenes/Meadow.unity".to_owned()];
        Self { open, is_dirty: false, edited: None, last_compile: None }
    }

    pub(super) fn on_compiled(&mut self, now: Duration, errors: usize) {
        self.last_compile = Some((errors, now));
        self.edited = None;
    }

    pub(super) fn last_compile(&self, now: Duration) -> Option<LastCompile> {
        let (errors, at) = self.last_compile?;
        let ended_ms_ago = now.saturating_sub(at).as_millis();
        Some(LastCompile {
            outcome: if errors == 0 { CompileOutcome::Succeeded } else { CompileOutcome::Failed },
            errors: errors as u64,
            warnings: 1,
            ended_ms_ago: u64::try_from(ended_ms_ago).unwrap_or(u64::MAX),
        })
    }

    pub(super) fn list_scenes(&self) -> Json {
        let active = self.open.last();
        let open = self.open.iter().map(|path| {
            let is_active = Some(path) == active;
            json!({
                "path": path, "name": name_of(path), "is_active": is_active,
                "is_dirty": is_active && self.is_dirty,
            })
        });
        let build = BUILD.map(|(path, enabled)| json!({ "path": path, "enabled": enabled }));
        json!({ "open": open.collect::<Vec<_>>(), "build": build })
    }

    pub(super) fn open_scene(&mut self, params: &Json) -> Result<Json, String> {
        let path = params.get("path").and_then(Json::as_str).unwrap_or_default();
        let additive = params.get("additive").and_then(Json::as_bool).unwrap_or_default();
        if !ASSETS.contains(&(path, "SceneAsset")) {
            return Err(format!("There is no scene {path}."));
        }
        if self.is_dirty && !additive {
            let dirty = self.open.last().cloned().unwrap_or_default();
            return Err(format!("{dirty} has unsaved changes."));
        }
        if !additive {
            self.open.clear();
        }
        self.open.retain(|open| open != path);
        self.open.push(path.to_owned());
        Ok(json!({ "path": path }))
    }

    pub(super) fn selection(&self) -> Json {
        json!({ "count": 1, "objects": [{ "name": "Player", "path": "/Player", "type": "GameObject" }] })
    }
}

pub(super) fn list_assets(params: &Json) -> Json {
    let text = |name: &str| params.get(name).and_then(Json::as_str).unwrap_or_default();
    let (query, folder, after) = (text("query").to_lowercase(), text("folder"), text("after"));
    let max = params.get("max_entries").and_then(Json::as_u64).unwrap_or(50);
    let max = usize::try_from(max).unwrap_or(usize::MAX);
    let fits = |(path, kind): &(&str, &str)| {
        let by_query = match query.strip_prefix("t:") {
            Some(wanted) => kind.to_lowercase().starts_with(wanted),
            None => path.to_lowercase().contains(&query),
        };
        by_query && path.starts_with(folder) && *path > after
    };
    let all: Vec<(&str, &str)> = ASSETS.into_iter().filter(fits).collect();
    let listed = all.iter().take(max).map(|(path, kind)| {
        let guid = path.bytes().fold(0x9E37_79B9_7F4A_7C15_u128, |hash, byte| {
            (hash ^ u128::from(byte)).wrapping_mul(0x0100_0000_01b3_0000_013b)
        });
        json!({ "path": path, "type": kind, "guid": format!("{guid:032x}") })
    });
    let listed: Vec<Json> = listed.collect();
    json!({ "count": listed.len(), "truncated": listed.len() < all.len(), "assets": listed })
}

fn name_of(path: &str) -> &str {
    let file = path.rsplit('/').next().unwrap_or_default();
    file.strip_suffix(".unity").unwrap_or(file)
}
