#!/usr/bin/env node
// Starts the program of this system. It is in a package of its own, which npm installs as an optional dependency.
"use strict";

const { spawn } = require("node:child_process");
const { constants } = require("node:os");
const { name, version } = require("./package.json");

const system = `${process.platform}-${process.arch}`;
const suffix = process.platform === "win32" ? ".exe" : "";

let program;
try {
  program = require.resolve(`${name}-${system}/bin/unity-mcp${suffix}`);
} catch {
  console.error(
    `unity-mcp: the package ${name}-${system}@${version} is not installed, so nothing was started. ` +
      "If npm ran with --omit=optional, install again without it. If it does not exist, there is no program for " +
      "this system: build it with `cargo install`.",
  );
  process.exit(1);
}

const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
child.on("error", (error) => {
  console.error(`unity-mcp: ${program} does not start: ${error.message}`);
  process.exit(1);
});
// A terminal sends Ctrl-C to both; a client that stops its server sends the others to this process only.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => child.kill(signal));
}
child.on("exit", (code, signal) => process.exit(signal ? 128 + constants.signals[signal] : code));
