// The live page against a small server that speaks `/events` and sends the headers of the real one.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import http from "node:http";
import { OUT, lowContrast, open, overflow, until, withBrowser } from "./tools.mjs";

const HOSTILE = "</script><img src=x onerror=alert(1)><b>bold</b>";
const HEAP_MAX = 20 * 1024 * 1024;
const { html, script_hash, style_hash } = JSON.parse(readFileSync(`${OUT}/live.json`, "utf8"));
const POLICY = `default-src 'none'; connect-src 'self'; style-src '${style_hash}'; script-src '${script_hash}'; frame-ancestors 'none'`;

/** A server with the events that a test gives it. */
class Fake {
  viewers = new Set();
  begin = Date.now();
  seen = [];
  token = null;
  isFull = false;
  extra = "";
  events = [];
  state = { server: "ready", editor: "ready", queue: 0 };

  now() {
    return Date.now() - this.begin;
  }

  async listen(port = 0) {
    this.server = http.createServer((request, response) => this.answer(request, response));
    await new Promise((done) => this.server.listen(port, "127.0.0.1", done));
    this.port = this.server.address().port;
    this.address = `http://127.0.0.1:${this.port}/`;
  }

  answer(request, response) {
    this.seen.push({ url: request.url, authorization: request.headers.authorization });
    if (request.url === "/") {
      response.writeHead(200, { "content-type": "text/html; charset=utf-8", "content-security-policy": POLICY, "cache-control": "no-store" });
      return response.end(html.replace("</body>", `${this.extra}</body>`));
    }
    if (request.url !== "/events") return response.writeHead(404).end();
    if (this.token && request.headers.authorization !== `Bearer ${this.token}`) return response.writeHead(401).end();
    if (this.isFull) return response.writeHead(503).end();
    response.writeHead(200, { "content-type": "text/event-stream" });
    this.write(response, "snapshot", this.snapshot());
    this.viewers.add(response);
    request.on("close", () => this.viewers.delete(response));
  }

  snapshot() {
    return {
      about: {
        version: "1.2.3", pid: 4711, port: this.port, catalog: "1.0", started: "2026-01-01T00:00:00Z", settings: ["queue_max_size=8"],
        editor: { plugin_version: "1.2.3", unity_version: "6000.0.30f1", project_name: "Platformer", project_path: "/home/ann/Platformer" },
      },
      lanes: [{ id: "server", kind: "server" }, { id: "claude-code", kind: "agent" }, { id: "Unity", kind: "editor" }],
      events: this.events, state: this.state, now: this.now(),
    };
  }

  write(response, name, value) {
    return response.write(`event: ${name}\ndata: ${JSON.stringify(value)}\n\n`);
  }

  send(...events) {
    for (const viewer of this.viewers) for (const event of events) this.write(viewer, "event", event);
  }

  async stop() {
    for (const viewer of this.viewers) viewer.destroy();
    this.server.closeAllConnections();
    await new Promise((done) => this.server.close(done));
  }
}

/** A call that is answered, at `at`. */
function call(id, at, tool = "read_console", text = "") {
  const message = (more) => ({ kind: "message", at, call: id, ...more });
  return [
    { kind: "call_began", at, lane: "claude-code", call: id, tool },
    message({ from: "claude-code", to: "server", what: "tools/call", text: tool }),
    { kind: "call_served", at: at + 1, call: id },
    message({ at: at + 1, from: "server", to: "Unity", what: "execute", text: `${id} ${tool}` }),
    message({ at: at + 20, from: "Unity", to: "server", what: "result", text: `${id} ok ${text}` }),
    message({ at: at + 21, from: "server", to: "claude-code", what: "answer", text }),
    { kind: "call_ended", at: at + 21, call: id, outcome: "ok" },
  ];
}

const state = (at, editor, waits_for) => ({ kind: "state", at, state: { server: "ready", editor, ...(waits_for && { waits_for }), queue: waits_for ? 1 : 0, jobs: [{ job_id: "job-1", state: "running", done: 3, total: 12 }] } });
const allows = (fake) => ({ allows: (url) => url === `${fake.address}events` });

async function aCallAppearsWithinASecond(browser) {
  const fake = new Fake();
  await fake.listen();
  const { page, problems, close } = await open(browser, fake.address, allows(fake));
  await page.getByText("Live", { exact: true }).waitFor();
  fake.send(...call("c1", fake.now(), "run_tests", HOSTILE));
  const begin = Date.now();
  await page.locator("#last tbody tr").first().waitFor();
  await page.locator(".bar").first().waitFor({ state: "attached" });
  assert.ok(Date.now() - begin < 1000, `the call appeared after ${Date.now() - begin} ms`);
  assert.equal(await page.locator("#drawing img, #drawing b, #last b").count(), 0, "text stays text");
  await until("hostile text is shown", async () => (await page.locator("#drawing").textContent()).includes("<img src=x"));

  await aLineLightsItsCall(page);
  const at = fake.now();
  fake.send({ kind: "lane_state", at, lane: "Unity", text: "compiling" }, { kind: "lane_state", at: at + 10, lane: "Unity", text: "no session: reloading" });
  fake.send(state(at, "compiling", "compiling"), state(at + 10, "reloading", "reloading"), { kind: "note", at: at + 10, lane: "Unity", text: "connection closed" });
  await page.locator("text.chip", { hasText: "reloading" }).first().waitFor();
  fake.send({ kind: "lane_state", at: at + 3000, lane: "Unity" }, state(at + 3000, "ready", null), ...call("c2", at + 3001));
  await until("the reload is a gap", async () => (await page.locator("#drawing").textContent()).includes("⋯ 3.0 s"));
  const bands = await page.locator(".band").allTextContents();
  for (const band of ["calls wait: compiling", "calls wait: reloading", "no session: reloading"]) assert.ok(bands.includes(band), `${band} is not in ${bands}`);
  assert.match(await page.locator("#jobs").innerText(), /job-1[\s\S]*3 of 12/);
  await theListIsShortAndJobsEnd(page, fake);
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    assert.deepEqual(await lowContrast(page), [], `live ${colorScheme}: contrast`);
    await page.screenshot({ path: `${OUT}/live-${colorScheme}.png`, fullPage: true });
  }
  await page.setViewportSize({ width: 390, height: 800 });
  await until("the phone is not too narrow", async () => (await overflow(page)) <= 0);
  const outcome = await page.locator("#last tbody tr").first().locator("td").nth(1).boundingBox();
  assert.ok(outcome.x >= 0 && outcome.x + outcome.width <= 390, "a phone shows the outcome");
  await page.screenshot({ path: `${OUT}/live-phone.png`, fullPage: true });
  await aBugReportHasNoSecrets(page);
  assert.deepEqual(problems, []);
  await close();
  await fake.stop();
}

async function aLineLightsItsCall(page) {
  const line = page.locator("#last tbody tr").first();
  await line.focus();
  assert.ok((await page.locator(".row.lit").count()) >= 3, "the messages of the call are lit");
  await page.locator("#drawing").focus();
  assert.equal(await page.locator(".row.lit").count(), 0);
  await page.keyboard.press("Home");
  assert.ok((await page.locator(".row.lit").count()) >= 3, "a step lights the call of its row");
  await page.keyboard.press("Escape");
}

async function theListIsShortAndJobsEnd(page, fake) {
  await page.evaluate(() => { for (const option of document.querySelectorAll("#kind option")) option.marked = true; });
  for (let number = 3; number < 10; number += 1) fake.send(...call(`c${number}`, fake.now()));
  const ended = state(fake.now(), "ready", null);
  ended.state.jobs[0].state = "failed";
  fake.send(ended);
  await page.locator("#jobs", { hasText: "failed" }).waitFor();
  assert.equal(await page.locator("#jobs progress").count(), 0, "an ended job has no bar");
  assert.equal(await page.locator("#last tbody tr").count(), 5);
  await page.getByRole("button", { name: "Show all 9" }).click();
  assert.equal(await page.locator("#last tbody tr").count(), 9);
  await page.getByRole("button", { name: "Show the last 5" }).click();
  assert.ok(await page.evaluate(() => [...document.querySelectorAll("#kind option")].every((option) => option.marked)), "an unchanged list is not filled again");
}

async function aBugReportHasNoSecrets(page) {
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.getByRole("button", { name: "Copy as bug report" }).click();
  const text = await page.evaluate(() => navigator.clipboard.readText());
  for (const part of ["unity-mcp 1.2.3", "6000.0.30f1", "queue_max_size=8", "run_tests", "execute"]) assert.ok(text.includes(part), part);
  assert.ok(!text.includes("Bearer"));
}

async function thePageSaysWhatIsWrongAndComesBack(browser) {
  const fake = new Fake();
  fake.isFull = true;
  await fake.listen();
  const { page, close } = await open(browser, fake.address, allows(fake));
  await page.getByText("Two others are watching").waitFor();
  assert.match(await page.locator("#boxes").innerText(), /Server\s+unknown/);
  fake.isFull = false;
  await page.reload();
  await page.getByText("Live", { exact: true }).waitFor();
  const port = fake.port;
  await fake.stop();
  await page.getByText("The server has stopped").waitFor();
  await fake.listen(port);
  await page.getByText("Live", { exact: true }).waitFor({ timeout: 15_000 });
  await close();
  await fake.stop();
}

async function anInjectedScriptDoesNotRun(browser) {
  const fake = new Fake();
  fake.extra = "<script>window.injected = true</script><img src='/x.png'><p id='p' style='color:red'>x</p>";
  await fake.listen();
  const { page, close } = await open(browser, fake.address, allows(fake));
  await page.getByText("Live", { exact: true }).waitFor();
  assert.equal(await page.evaluate(() => window.injected), undefined);
  assert.ok(!fake.seen.some((request) => request.url === "/x.png"), "no picture is loaded");
  await close();
  await fake.stop();
}

async function theTokenIsSentAndLeavesTheAddress(browser) {
  const fake = new Fake();
  fake.token = "s3cret";
  await fake.listen();
  const { page, close } = await open(browser, fake.address, allows(fake));
  await page.getByText("The server asks for a token").waitFor();
  await page.goto(`${fake.address}#token=s3cret`);
  await page.getByText("Live", { exact: true }).waitFor();
  assert.equal(page.url(), fake.address, "the token is not in the address bar");
  assert.ok(fake.seen.every((request) => !request.url.includes("s3cret")));
  await close();
  await fake.stop();
}

/** Thirty minutes with ten events a second and their bodies. */
async function halfAnHourStaysSmall(browser) {
  const fake = new Fake();
  await fake.listen();
  const { page, problems, close } = await open(browser, fake.address, allows(fake));
  await page.getByText("Live", { exact: true }).waitFor();
  const [viewer] = fake.viewers;
  const body = "x".repeat(2000);
  const times = 30 * 60;
  for (let second = 0; second < times; second += 1) {
    const events = [...call(`c${second}`, second * 1000), state(second * 1000 + 500, second % 20 ? "ready" : "compiling", second % 20 ? null : "compiling")];
    let isFree = true;
    for (const event of events) isFree = fake.write(viewer, "event", event.kind === "message" ? { ...event, body } : event);
    if (!isFree) await new Promise((done) => viewer.once("drain", done));
  }
  await until("the last call is shown", async () => (await page.locator("#last tr[data-call=c1799]").count()) === 1, 60_000);
  const client = await page.context().newCDPSession(page);
  await client.send("HeapProfiler.collectGarbage");
  const { usedSize } = await client.send("Runtime.getHeapUsage");
  assert.ok(usedSize < HEAP_MAX, `${usedSize} bytes`);
  assert.deepEqual(problems, []);
  console.log(`ok half an hour of events: ${(usedSize / 1024 / 1024).toFixed(1)} MiB`);
  await close();
  await fake.stop();
}

await withBrowser(async (browser) => {
  for (const test of [aCallAppearsWithinASecond, thePageSaysWhatIsWrongAndComesBack, anInjectedScriptDoesNotRun, theTokenIsSentAndLeavesTheAddress, halfAnHourStaysSmall]) {
    await test(browser);
    console.log(`ok ${test.name}`);
  }
});
