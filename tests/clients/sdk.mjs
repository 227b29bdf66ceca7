// The official TypeScript SDK, either major, against the real server and the mock Unity:
// `sdk.mjs SERVER MOCK_UNITY 1|2`. The variable TOOLS has the names of the tools.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

const [server, mockUnity, major] = process.argv.slice(2);
const expectedTools = process.env.TOOLS.split(" ");
const modules =
  major === "1"
    ? {
        ...(await import("@modelcontextprotocol/sdk/client/index.js")),
        ...(await import("@modelcontextprotocol/sdk/client/stdio.js")),
        ...(await import("@modelcontextprotocol/sdk/client/streamableHttp.js")),
      }
    : {
        ...(await import("@modelcontextprotocol/client")),
        ...(await import("@modelcontextprotocol/client/stdio")),
      };
const { Client, StdioClientTransport, StreamableHTTPClientTransport } = modules;

async function freePort() {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address();
  probe.close();
  await once(probe, "close");
  return port;
}

/** A mock Editor. `say` types a command. */
function editor(port, ...flags) {
  const unity = spawn(mockUnity, ["--port", `${port}`, "--reload", "0s", ...flags], {
    stdio: ["pipe", "ignore", "ignore"],
  });
  return {
    say: (words) => unity.stdin.write(`${words}\n`),
    end: async () => {
      unity.stdin.write("quit\n");
      await once(unity, "exit");
    },
  };
}

async function connect(kind, mode) {
  const port = await freePort();
  const options = major === "1" ? {} : { versionNegotiation: { mode } };
  const client = new Client({ name: "test", version: "1" }, options);
  let process;
  if (kind === "stdio") {
    const args = ["--stdio", "--port", `${port}`];
    await client.connect(new StdioClientTransport({ command: server, args, stderr: "ignore" }));
  } else {
    process = spawn(server, ["--port", `${port}`], { stdio: ["ignore", "ignore", "pipe"] });
    await once(process.stderr, "data"); // The line that says that it listens.
    process.stderr.resume();
    const url = new URL(`http://127.0.0.1:${port}/mcp`);
    await client.connect(new StreamableHTTPClientTransport(url));
  }
  const end = async () => {
    await client.close();
    if (!process) return;
    process.kill();
    const [code] = await once(process, "exit");
    assert.equal(code, 0);
  };
  return { client, port, end };
}

/** A function that calls a tool of this client. */
function caller(client) {
  return (name, args, ...options) =>
    major === "1"
      ? client.callTool({ name, arguments: args }, undefined, ...options)
      : client.callTool({ name, arguments: args }, ...options);
}

/** A test run that takes longer than the advised wait_ms: the client must not give up before it knows the job. */
async function runLongTests(kind, mode) {
  const { client, port, end } = await connect(kind, mode);
  const unity = editor(port, "--tests", longTests);
  const call = caller(client);
  let job = (await call("run_tests", { wait_ms: 45000 })).structuredContent;
  assert.equal(job.state, "running");
  job = (await call("get_job_status", { job_id: job.job_id, wait_ms: 45000 })).structuredContent;
  assert.deepEqual([job.state, job.result.summary.passed], ["succeeded", 1]);
  await unity.end();
  await end();
  console.log(`typescript ${major} ${kind} ${mode.pin ?? mode}: a test run of 50 s is not lost`);
}

async function converse(kind, mode) {
  const { client, port, end } = await connect(kind, mode);
  const unity = editor(port);
  const call = caller(client);
  const structured = async (...request) => {
    const result = await call(...request);
    assert.deepEqual(JSON.parse(result.content[0].text), result.structuredContent);
    return result.structuredContent;
  };
  const until = async (wanted) => {
    for (;;) {
      const state = await structured("get_editor_state", {});
      if (Object.entries(wanted).every(([name, value]) => state[name] === value)) return;
    }
  };

  const { tools } = await client.listTools();
  assert.deepEqual(tools.map((tool) => tool.name), expectedTools);
  await until({ editor_state: "ready" });
  const console_ = await structured("read_console", { max_entries: 2 });
  assert.equal(console_.entries[0].message, "Autosave done");
  assert.deepEqual([console_.truncated, console_.more], [true, 3]);
  const since = await structured("read_console", { since: console_.cursor });
  assert.equal(since.count, 0);

  const refused = await call("read_console", { max_entries: 0 });
  assert.equal(refused.isError, true);
  assert.equal(JSON.parse(refused.content[0].text).error.code, "ERR_INVALID_PARAMS");
  await assert.rejects(call("no_such_tool", {}), (error) => error.code === -32602);

  const reports = [];
  const job = await structured("run_tests", { filter: "Player", wait_ms: 10000 }, {
    onprogress: (report) => reports.push(report),
  });
  assert.deepEqual([job.state, job.result.summary.failed], ["failed", 1]);
  assert.ok(reports.length >= 1, "no progress");
  const grows = (report, index) => report.progress > (reports[index - 1]?.progress ?? 0);
  assert.ok(reports.every(grows), "it must grow");
  assert.match(reports.at(-1).message, /of 5 done|job runs/);

  unity.say("compile 60s");
  await until({ editor_state: "compiling" });
  const back = new AbortController();
  const waiting = call("read_console", {}, { signal: back.signal });
  await until({ queue_length: 1 });
  back.abort();
  await assert.rejects(waiting);
  // Legacy over HTTP has no cancel: this SDK does not close the request.
  const noticed = async () => {
    for (let attempt = 0; attempt < 50; attempt++) {
      if ((await structured("get_editor_state", {})).queue_length === 0) return true;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    return false;
  };
  const cancelled = await noticed();
  assert.ok(cancelled || (kind === "http" && mode === "legacy"));

  const left = performance.now();
  await unity.end();
  await end();
  const took = Math.round(performance.now() - left);
  assert.ok(took < 2500, `leaving took ${took} ms`);
  const cancel = cancelled ? "cancel" : "no cancel, which it does not send";
  console.log(`typescript ${major} ${kind} ${mode.pin ?? mode}: list, call, error, progress, ${cancel}; left in ${took} ms`);
}

const folder = mkdtempSync(join(tmpdir(), "unity-mcp-"));
const longTests = join(folder, "tests.yaml");
writeFileSync(longTests, "- { name: Game.Tests.Long, takes: 50s }\n");
const kinds = ["stdio", "http"];
const modes = major === "1" ? ["legacy"] : ["legacy", "auto", { pin: "2026-07-28" }];
const longRuns = kinds.flatMap((kind) => modes.map((mode) => runLongTests(kind, mode)));
for (const kind of kinds) {
  for (const mode of modes) await converse(kind, mode);
}
await Promise.all(longRuns);
rmSync(folder, { recursive: true });
