//! The tools in README.ja.md. `tests/core/catalogue.rs` of the core writes the table of README.md from the same catalogue.

use coordination::{Catalog, TOOLS};

use super::current;

const README: &str = "README.ja.md";
const BEGIN: &str = "<!-- tools:begin -->\n";
const END: &str = "<!-- tools:end -->\n";

/// What the catalogue says of a tool, and the same in Japanese. If the catalogue says something else, translate it here.
const TRANSLATED: [(&str, &str); 11] = [
    (
        "Shows what the Editor is doing and whether a call would have to wait. Answers at once, even without Unity.",
        "Editor が何をしているか、呼び出しが待つことになるかを示します。Unity がなくても、すぐに応答します。",
    ),
    (
        "Reads entries of the Unity console, newest first. With the cursor of the last answer it reads only what is new.",
        "Unity の Console を新しい順に読みます。前回の応答のカーソルを渡すと、新しいものだけを読みます。",
    ),
    (
        "Starts a test run and returns a job ID (or an MCP task if the client supports tasks). With `wait_ms` it waits for the result.",
        "テスト実行を開始し、ジョブ ID（クライアントが対応していれば MCP のタスク）を返します。`wait_ms` を付けると結果を待ちます。",
    ),
    ("Shows the state, progress and result of a job.", "ジョブの状態、進み具合、結果を示します。"),
    ("Stops a job.", "ジョブを止めます。"),
    (
        "Imports what changed on disk, compiles the scripts and returns the compile errors, as a job.",
        "ディスク上の変更を取り込み、スクリプトをコンパイルし、コンパイルエラーを返します。ジョブとして動きます。",
    ),
    (
        "Opens a scene. It never saves or discards unsaved changes.",
        "シーンを開きます。保存していない変更を保存したり破棄したりすることはありません。",
    ),
    (
        "Lists the open scenes and the scenes of the build.",
        "開いているシーンと、ビルドに含まれるシーンの一覧を返します。",
    ),
    (
        "Finds assets of the project by name, type or folder.",
        "プロジェクトのアセットを、名前、型、フォルダーで探します。",
    ),
    ("Shows what is selected in the Editor.", "Editor で何が選択されているかを示します。"),
    (
        "Measures how long Unity's main thread takes to answer.",
        "Unity のメインスレッドが応答するまでの時間を測ります。",
    ),
];

#[test]
fn the_tool_table_of_the_japanese_readme_is_that_of_the_catalogue() {
    let rows: String = Catalog::V1_1.tools().enumerate().map(row).collect();
    let table = format!("| ツール | すること |\n|---|---|\n{rows}");
    current(README, BEGIN, END, &table);
}

fn row((at, tool): (usize, &coordination::Tool)) -> String {
    let translated = TRANSLATED.iter().find(|(english, _)| *english == tool.summary);
    let (_, summary) = translated
        .unwrap_or_else(|| panic!("{}: translate {:?} for {README}", tool.name, tool.summary));
    let catalogue = if at < TOOLS.len() { "" } else { "（カタログ 1.1）" };
    format!("| `{}`{catalogue} | {summary} |\n", tool.name)
}
