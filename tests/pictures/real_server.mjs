// The live page of a server that runs. Its address is the argument; a token may be in its fragment. Makes a call over
// MCP and expects it in the page.
import assert from "node:assert/strict";
import { OUT, open, until, withBrowser } from "./tools.mjs";

const address = process.argv[2];
const base = new URL(address);
const token = /token=([^&]+)/.exec(base.hash)?.[1];
base.hash = "";

async function callATool() {
  const headers = { "content-type": "application/json", accept: "application/json, text/event-stream", ...(token && { authorization: `Bearer ${token}` }) };
  const post = (body, more = {}) => fetch(new URL("mcp", base), { method: "POST", headers: { ...headers, ...more }, body: JSON.stringify({ jsonrpc: "2.0", ...body }) });
  const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "pictures", version: "1" } };
  const begun = await post({ id: 1, method: "initialize", params });
  assert.ok(begun.ok, `initialize: ${begun.status}`);
  await begun.text();
  const session = begun.headers.get("mcp-session-id");
  const more = { "mcp-protocol-version": "2025-06-18", ...(session && { "mcp-session-id": session }) };
  await post({ method: "notifications/initialized" }, more);
  const called = await post({ id: 2, method: "tools/call", params: { name: "read_console", arguments: {} } }, more);
  assert.ok(called.ok, `tools/call: ${called.status}`);
  return called.text();
}

await withBrowser(async (browser) => {
  const { page, problems, close } = await open(browser, address, { allows: (url) => url === new URL("events", base).href });
  await page.getByText("Live", { exact: true }).waitFor();
  const before = await page.locator("#last tbody tr").count();
  const answer = callATool();
  await until("the call is shown", async () => (await page.locator("#last tbody tr").count()) > Math.min(before, 14), 1000);
  await answer;
  await page.locator(".row.message").first().waitFor({ state: "attached" });
  await page.screenshot({ path: `${OUT}/real.png`, fullPage: true });
  assert.deepEqual(problems, []);
  await close();
  console.log("ok the live page of the server shows the call within a second");
});
