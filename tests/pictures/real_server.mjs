// The live page of the real server with the mock of Unity: what only both together can show.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import http from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { OUT, open, until, withBrowser } from "./tools.mjs";

const BIN = process.env.BIN;
const HOSTILE = "</script><img src=x onerror=alert(1)><b>bold</b>";
const processes = [];
const scratch = mkdtempSync(join(tmpdir(), "pictures-"));

/** Starts a program. `line` waits for a line of its output that has these words. */
function start(name, flags, env = {}) {
  const child = spawn(join(BIN, name), flags, { env: { ...process.env, ...env } });
  processes.push(child);
  const seen = { text: "" };
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (data) => { seen.text += data; });
  const line = async (part) => {
    await until(`${name} says ${part}`, () => seen.text.includes(part));
    return seen.text.split("\n").find((one) => one.includes(part));
  };
  return { child, line, type: (words) => child.stdin.write(`${words}\n`) };
}

async function startServer(flags = []) {
  const tokenFile = join(scratch, `token-${processes.length}`);
  const server = start("unity-mcp", ["--port", "0", ...flags], { UNITY_MCP_TOKEN_FILE: tokenFile });
  const said = await server.line("listening on http://127.0.0.1:");
  const port = Number(/127\.0\.0\.1:(\d+)/.exec(said)[1]);
  return { ...server, port, tokenFile, address: `http://127.0.0.1:${port}/` };
}

async function startUnity(server, flags = []) {
  const unity = start("mock-unity", ["--port", String(server.port), ...flags], { UNITY_MCP_TOKEN_FILE: server.tokenFile });
  await unity.line("capability");
  return unity;
}

/** Calls a tool as an agent does. */
function callTool({ port }, name, args = {}) {
  const meta = { "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientInfo": { name: "pictures", version: "1" }, "io.modelcontextprotocol/clientCapabilities": {} };
  const headers = { "content-type": "application/json", accept: "application/json, text/event-stream", "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": name };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { _meta: meta, name, arguments: args } });
  const answered = fetch(`http://127.0.0.1:${port}/mcp`, { method: "POST", headers, body });
  return answered.then(async (answer) => {
    const text = await answer.text();
    assert.ok(answer.ok, `${answer.status} ${text}`);
    return text;
  });
}

const allows = (server) => ({ allows: (url) => url === `${server.address}events` });
const isLive = (page) => page.getByText("Live", { exact: true }).waitFor();

async function aCallAppearsAndAReloadIsAGap(browser, server, unity) {
  const { page, problems, close } = await open(browser, server.address, allows(server));
  await isLive(page);
  const called = callTool(server, "read_console");
  await until("the call is shown", async () => (await page.locator("#last tbody tr").count()) === 1, 1000);
  await called;

  unity.type("reload 1s");
  await page.locator("text.chip", { hasText: "no session: reloading" }).waitFor({ state: "attached" });
  const waits = callTool(server, "read_console", { client_request_id: "over-the-reload" });
  await page.getByText("Calls wait: Unity is reloading its scripts.").waitFor();
  await waits;
  await until("the gap is over", async () => (await page.locator("#last tbody tr").count()) === 2 && (await page.locator("#why").innerText()).startsWith("Unity is ready"));
  const gap = await page.evaluate(() => {
    const bands = [...document.querySelectorAll(".band")].map((band) => [band.textContent, Number(band.getAttribute("y")), Number(band.getAttribute("y")) + Number(band.getAttribute("height"))]);
    const ys = [...document.querySelectorAll(".row.message")].map((row) => [row.querySelector(".what").textContent, row.getAttribute("aria-label").includes("server to unity"), Number(row.querySelector(".arrow").getAttribute("y1"))]);
    return { bands, ys };
  });
  const find = (text) => gap.bands.filter(([name]) => name === text).at(-1);
  const [, top, bottom] = find("no session: reloading");
  const hellos = gap.ys.filter(([what]) => what === "hello");
  const ofUnity = hellos.filter(([, toUnity]) => !toUnity).at(-1)[2];
  const ofServer = hellos.filter(([, toUnity]) => toUnity).at(-1)[2];
  const execute = gap.ys.filter(([what]) => what === "execute").at(-1)[2];
  assert.ok(top < ofUnity && bottom <= ofServer && bottom >= ofUnity - 40, `the gap ends with the hello: ${JSON.stringify({ top, bottom, ofUnity, ofServer })}`);
  const waiting = find("calls wait: reloading");
  assert.ok(waiting && waiting[2] <= ofServer && waiting[2] < execute, `calls wait until the hello, after a reload too: ${JSON.stringify({ waiting, ofServer, execute })}`);
  const looks = await page.evaluate(() => [...document.querySelectorAll(".band")].map((band) => band.getAttribute("class")));
  assert.ok(looks.includes("band away") && looks.includes("band state"), `a gap looks unlike a state: ${looks}`);

  await page.locator("#last tbody tr").first().hover();
  assert.ok((await page.locator(".row.lit").count()) >= 4, "a line of the list lights the messages of its call");
  await page.mouse.move(0, 0);
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    await page.screenshot({ path: `${OUT}/real-${colorScheme}.png`, fullPage: true });
  }
  assert.deepEqual(problems, []);
  await close();
}

async function hostileTextStaysText(browser, server, unity) {
  const { page, problems, close } = await open(browser, server.address, allows(server));
  await isLive(page);
  unity.type(`log error ${HOSTILE}`);
  await unity.line("added to the console");
  assert.ok((await callTool(server, "read_console")).includes("bold"));
  await page.locator(".row", { hasText: "result" }).last().waitFor({ state: "attached" });
  await page.evaluate(() => document.getElementById("drawing").focus());
  await until("the body is shown as text", async () => {
    await page.keyboard.press("End");
    await page.keyboard.press("Enter");
    for (let row = 0; row < 4; row += 1) {
      if ((await page.locator("#panel-body").textContent()).includes("<img src=x")) return true;
      await page.keyboard.press("k");
    }
    return false;
  });
  assert.equal(await page.locator("main img, main b").count(), 0);
  assert.deepEqual(problems, []);
  await close();
}

async function aThirdViewerIsRefused(browser, server) {
  const pages = [];
  for (let viewer = 0; viewer < 2; viewer += 1) {
    pages.push(await open(browser, server.address, allows(server)));
    await isLive(pages.at(-1).page);
  }
  const third = await open(browser, server.address, allows(server));
  await third.page.getByText("Two others are watching").waitFor();
  assert.match(await third.page.locator("#boxes").innerText(), /Server\s+unknown[\s\S]*Jobs\s+unknown/);
  for (const one of [...pages, third]) await one.close();
}

async function otherSitesAndInjectedScriptsGetNothing(browser, server) {
  const site = http.createServer((_, response) => response.writeHead(200, { "content-type": "text/html" }).end("<p>another site"));
  await new Promise((done) => site.listen(0, "127.0.0.1", done));
  const other = await open(browser, `http://127.0.0.1:${site.address().port}/`, { allows: () => true });
  const read = (path) => other.page.evaluate(async (address) => {
    const answer = await fetch(address, { mode: "no-cors" }).catch((error) => ({ type: error.name }));
    return answer.type;
  }, server.address + path);
  const statuses = [];
  other.page.on("response", (response) => statuses.push(response.status()));
  for (const path of ["", "events"]) await read(path);
  await until("both are answered", () => statuses.length === 2);
  assert.deepEqual(statuses, [403, 403], "another site gets 403");
  await other.page.evaluate((address) => { document.body.append(Object.assign(document.createElement("iframe"), { src: address })); }, server.address);
  await until("the frame is answered", () => statuses.length === 3);
  assert.equal(statuses[2], 403);
  await other.close();
  site.close();

  const { page, close } = await open(browser, server.address, allows(server));
  await isLive(page);
  const blocked = await page.evaluate(() => new Promise((done) => {
    document.addEventListener("securitypolicyviolation", (event) => done(event.effectiveDirective));
    document.body.append(Object.assign(document.createElement("script"), { textContent: "window.injected = true" }));
  }));
  assert.match(blocked, /^script-src/);
  assert.equal(await page.evaluate(() => window.injected), undefined);
  await close();
}

async function theTokenOpensTheEvents(browser) {
  const server = await startServer(["--require-token"]);
  const { page, close } = await open(browser, server.address, allows(server));
  await page.getByText("The server asks for a token").waitFor();
  await page.getByText("The state of the server is unknown.").waitFor();
  const token = readFileSync(server.tokenFile, "utf8").trim();
  await page.goto(`${server.address}#token=${token}`);
  await isLive(page);
  assert.equal(page.url(), server.address, "the token is not in the address bar");
  await close();
}

try {
  const server = await startServer(["--page-bodies"]);
  const unity = await startUnity(server);
  await withBrowser(async (browser) => {
    for (const test of [aCallAppearsAndAReloadIsAGap, hostileTextStaysText, aThirdViewerIsRefused, otherSitesAndInjectedScriptsGetNothing, theTokenOpensTheEvents]) {
      await test(browser, server, unity);
      console.log(`ok real server: ${test.name}`);
    }
  });
} finally {
  for (const child of processes) child.kill();
  rmSync(scratch, { recursive: true });
}
