// Pages of finished runs, from simple to a random plan with a flood of messages.
import assert from "node:assert/strict";
import { OUT, lowContrast, open, overflow, withBrowser } from "./tools.mjs";

const NAMES = ["simple", "reload", "job", "reconnect", "relay", "plan", "busy"];

/** Labels that begin far from their event, and arrows that share a row of pixels. A note may end at its dot instead. */
async function labelsAreNear(page) {
  const found = await page.evaluate(() => {
    const far = [];
    const rows = [];
    for (const row of document.querySelectorAll(".row.message, .row.note, .row.fault")) {
      const label = row.querySelector(".label")?.getBoundingClientRect();
      const arrow = row.querySelector(".arrow")?.getBoundingClientRect();
      const mark = arrow ?? row.querySelector(".dot")?.getBoundingClientRect();
      if (!label?.width || !mark) {
        far.push(`${row.id} has no label`);
        continue;
      }
      const across = (x) => Math.max(0, mark.left - x, x - mark.right);
      const ends = arrow ? [label.left] : [label.left, label.right];
      const down = Math.max(0, label.top - mark.bottom, mark.top - label.bottom);
      const distance = Math.hypot(Math.min(...ends.map(across)), down);
      if (distance > 24) far.push(`${row.id} ${Math.round(distance)} px`);
      if (arrow) rows.push(Math.round(mark.top));
    }
    const twice = rows.filter((y, index) => rows.indexOf(y) !== index);
    const outside = [...document.querySelectorAll(".label, .heads text")].filter((text) => {
      const box = text.getBoundingClientRect();
      return box.left < -1 || box.right > window.innerWidth + 1;
    });
    return { far, twice, outside: outside.map((text) => text.textContent), arrows: rows.length };
  });
  assert.deepEqual(found.far, [], "labels far from their event");
  assert.deepEqual(found.twice, [], "arrows on the same row of pixels");
  assert.deepEqual(found.outside, [], "labels outside of the window");
  assert.ok(found.arrows > 1, "there are arrows");
  return found.arrows;
}

/** To scale, arrows may be close to each other: none goes through a label that is shown. */
async function labelsAreReadableToScale(page) {
  await page.keyboard.press("t");
  const { struck, shown } = await page.evaluate(() => {
    const rows = [...document.querySelectorAll(".row.message, .row.note")];
    const arrows = rows.map((row) => [row, row.querySelector(".arrow")]).filter(([, arrow]) => arrow).map(([row, arrow]) => ({ row, ...Object.fromEntries(["x1", "x2", "y1", "y2"].map((name) => [name, Number(arrow.getAttribute(name))])) }));
    const labels = rows.map((row) => row.querySelector(".label")).filter((label) => label?.checkVisibility({ visibilityProperty: true }));
    const goesThrough = (arrow, box) => [0.1, 0.3, 0.5, 0.7, 0.9].some((share) => {
      const x = box.x + box.width * share;
      if (x < Math.min(arrow.x1, arrow.x2) || x > Math.max(arrow.x1, arrow.x2)) return false;
      const y = arrow.y1 + ((arrow.y2 - arrow.y1) * (x - arrow.x1)) / (arrow.x2 - arrow.x1);
      return y > box.y + 4 && y < box.y + box.height - 4;
    });
    const struck = labels.filter((label) => arrows.some((arrow) => arrow.row !== label.parentElement && goesThrough(arrow, label.getBBox())));
    return { struck: struck.map((label) => label.textContent), shown: labels.length };
  });
  assert.deepEqual(struck, [], "labels that an arrow goes through");
  assert.ok(shown > 3, `${shown} labels are shown to scale`);
  await page.keyboard.press("t");
}

const chosen = (page) => page.evaluate(() => document.querySelector(".row.chosen")?.id ?? null);
const scrolled = (page) => page.evaluate(() => window.scrollY);

async function keysStep(page) {
  await page.keyboard.press("j");
  const first = await chosen(page);
  assert.ok(first, "j chooses the first event");
  assert.match(page.url(), /#e\d+$/, "the address names the moment");
  await page.keyboard.press("ArrowDown");
  const second = await chosen(page);
  assert.notEqual(second, first);
  await page.keyboard.press("k");
  assert.equal(await chosen(page), first);
  await page.keyboard.press("End");
  const last = await chosen(page);
  const isVisible = await page.evaluate(() => {
    const place = document.querySelector(".row.chosen").getBoundingClientRect();
    return place.top >= document.getElementById("sticky").getBoundingClientRect().bottom - 1 && place.bottom <= window.innerHeight + 1;
  });
  assert.ok(isVisible, "the chosen event is visible");
  assert.match(await page.locator("#boxes").innerText(), /Server[\s\S]*Editor[\s\S]*Lane[\s\S]*Queue[\s\S]*Jobs/);
  await page.keyboard.press("Home");
  await page.keyboard.press(" ");
  await page.waitForFunction((id) => document.querySelector(".row.chosen")?.id !== id, first);
  assert.equal(await page.locator("#play").innerText(), "Pause", "Space plays");
  await page.keyboard.press(" ");
  return { first, last };
}

async function panelOpensBesideAndCloses(page) {
  await page.keyboard.press("End");
  await page.keyboard.press("Enter");
  const covers = () => page.evaluate(() => {
    const row = document.querySelector(".hit.chosen").getBoundingClientRect();
    const panel = document.getElementById("panel").getBoundingClientRect();
    const lies = row.left < panel.right - 1 && panel.left < row.right - 1 && row.top < panel.bottom - 1 && panel.top < row.bottom - 1;
    return lies;
  });
  assert.ok(await page.locator("#panel").isVisible(), "Enter opens the panel");
  assert.equal(await covers(), false, "the panel does not cover the chosen event");
  await page.keyboard.press("k");
  assert.equal(await covers(), false, "nor after a step");
  await page.keyboard.press("Escape");
  assert.ok(await page.locator("#panel").isHidden(), "Escape closes the panel");
}

async function aFilterShowsOnlyItsRows(page) {
  await page.locator("#filters summary").click();
  const all = await page.locator(".row").count();
  await page.locator("#kind").selectOption("call");
  assert.equal(await page.locator(".band").count(), 0, "no band without the row that explains it");
  const calls = await page.locator(".row").count();
  assert.ok(calls > 0 && calls < all, `${calls} of ${all} rows are calls`);
  await page.locator("#clear").click();
  await page.locator("#text").fill("no such text anywhere");
  assert.equal(await page.locator(".row").count(), 0);
  assert.ok(await page.locator("#nothing").isVisible());
  await page.locator("#clear").click();
  assert.equal(await page.locator(".row").count(), all);
  await page.locator("#filters summary").click();
}

async function aCallIsLit(page) {
  await page.keyboard.press("Escape");
  const chip = page.locator("#chips button").first();
  await chip.hover();
  const lights = () => page.evaluate(() => ({
    lit: document.querySelectorAll(".row.lit").length,
    faded: [...document.querySelectorAll(".row:not(.lit)")].every((row) => Number(getComputedStyle(row).opacity) < 0.5),
  }));
  const { lit, faded } = await lights();
  assert.ok(lit >= 1 && faded, "the messages of the call are lit, the others faded");
  await page.mouse.move(0, 0);
  assert.equal(await page.locator(".row.lit").count(), 0);
  assert.ok(await page.locator(".bar").count() > 0, "calls are bars");
  const isBelow = await page.evaluate(() => Boolean(document.querySelector(".hit").compareDocumentPosition(document.querySelector(".bar")) & Node.DOCUMENT_POSITION_FOLLOWING));
  assert.ok(isBelow, "the light is below the bars");

  await chip.click();
  const place = await page.evaluate(() => (document.querySelector(".hit.chosen").getBoundingClientRect().top - document.getElementById("sticky").getBoundingClientRect().bottom) / window.innerHeight);
  const canScroll = await page.evaluate(() => window.scrollY > 0 && window.scrollY + window.innerHeight < document.documentElement.scrollHeight - 2);
  assert.ok(place > 0 && (place < 0.34 || !canScroll), `the first message of a chosen call is in the upper third: ${place}`);
  await chip.click();
  await page.mouse.move(0, 0);
  await page.locator("#drawing").focus();
  for (let row = 0; row < 2; row += 1) await page.keyboard.press("j");
  const call = await page.evaluate(() => document.querySelector(".row.chosen").dataset.call ?? null);
  assert.equal((await lights()).lit > 0, call !== null, "a step lights the call of its row");
  await page.keyboard.press("Escape");
}

const TIMES = /^(waited [\d.]+ (ms|s)|waited \d+ min \d+ s|at once) · took /;

async function chipsSayHowLongAndAreAllThere(page) {
  const texts = await page.locator("#chips button[data-call] .times").allTextContents();
  for (const text of texts) assert.match(text, TIMES);
  const more = page.locator("#chips .more");
  if (!(await more.count())) return;
  const hidden = Number.parseInt(await more.innerText(), 10);
  await more.click();
  assert.equal(await page.locator("#chips button[data-call]").count(), texts.length + hidden, "the button shows the rest");
}

async function jobsAreOverAtTheEnd(page) {
  await page.keyboard.press("End");
  const boxes = await page.locator("#boxes").innerText();
  assert.doesNotMatch(boxes, /job-\S+ (queued|running)/, "no job is left open");
  await page.keyboard.press("Escape");
}

/** A flood of equal messages is one row: its panel lists them, and a step passes them. */
async function aFloodIsOneRow(browser) {
  const { page, close } = await open(browser, `file://${OUT}/busy.html`);
  assert.ok((await page.locator(".row").count()) < 120, "600 messages are few rows");
  const head = page.locator(".row", { hasText: "× 200" }).first();
  const id = await head.getAttribute("id");
  await page.goto(`file://${OUT}/busy.html#e${Number(id.slice(4)) + 5}`);
  assert.equal(await chosen(page), id, "the address of a folded event leads to its row");
  await page.locator("#drawing").focus();
  await page.keyboard.press("j");
  const next = await chosen(page);
  assert.ok(Number(next.slice(4)) >= Number(id.slice(4)) + 200, `${id} ${next}`);
  await page.keyboard.press("k");
  await page.keyboard.press("Enter");
  assert.match(await page.locator("#panel-facts").innerText(), /200 times: 7\.391 s/);
  await close();
}

/** Polls and their answers are two rows, the request above. */
async function pollsAreTwoRows(browser) {
  const { page, close } = await open(browser, `file://${OUT}/relay.html`);
  const texts = await page.locator(".row .label").allTextContents();
  const at = texts.findIndex((text) => /^GET× \d+, until .*\/healthz$/.test(text));
  assert.ok(at >= 0 && texts[at + 1].startsWith("answer× "), texts.join("\n"));
  await close();
}

async function whatFailedIsShownTwice(browser) {
  const { page, close } = await open(browser, `file://${OUT}/failed.html`);
  const problem = await page.locator(".problem").first().innerText();
  assert.ok(problem.includes("\n") && !problem.includes("\\u{a}"), problem);
  const link = page.getByText("Show it").first();
  for (let time = 0; time < 2; time += 1) {
    await link.click();
    await page.waitForFunction(() => document.querySelector(".row.chosen"));
    await page.keyboard.press("Escape");
    await page.evaluate(() => window.scrollTo(0, 0));
    assert.equal(await chosen(page), null);
  }
  await page.screenshot({ path: `${OUT}/failed-light.png`, fullPage: true });
  await close();
}

/** Zoom and the switch of the scale keep what is under the pointer or chosen. */
async function placesAreKept(page) {
  await page.keyboard.press("End");
  await page.keyboard.press("k");
  const at = () => page.evaluate(() => document.querySelector(".hit.chosen").getBoundingClientRect().top);
  const box = await page.locator(".hit.chosen").boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  await page.keyboard.down("Control");
  await page.mouse.wheel(0, -80);
  await page.keyboard.up("Control");
  await page.waitForTimeout(50);
  assert.ok(Math.abs((await at()) - box.y) < 40, `zoom keeps the place: ${box.y} ${await at()}`);
  await page.keyboard.press("t");
  assert.equal(await page.locator("#scale").getAttribute("aria-pressed"), "true");
  await page.keyboard.press("t");
  await page.keyboard.press("Escape");
}

async function anAddressNamesAMoment(browser, address, { last }) {
  const { page, close } = await open(browser, `${address}#e${last.slice(4)}`);
  assert.equal(await chosen(page), last);
  assert.ok((await page.locator(".row.chosen").boundingBox()).y < 900, "it is scrolled to");
  await close();
}

await withBrowser(async (browser) => {
  for (const name of NAMES) {
    const address = `file://${OUT}/${name}.html`;
    for (const colorScheme of ["light", "dark"]) {
      const { page, problems, close } = await open(browser, address, { colorScheme });
      const arrows = await labelsAreNear(page);
      assert.deepEqual(await lowContrast(page), [], `${name} ${colorScheme}: contrast`);
      await page.screenshot({ path: `${OUT}/${name}-${colorScheme}.png`, fullPage: true });
      if (colorScheme === "light") {
        assert.match(await page.locator(".verdict").innerText(), /passed|failed/);
        const ends = await keysStep(page);
        await panelOpensBesideAndCloses(page);
        await aFilterShowsOnlyItsRows(page);
        await aCallIsLit(page);
        await placesAreKept(page);
        await labelsAreReadableToScale(page);
        await chipsSayHowLongAndAreAllThere(page);
        await jobsAreOverAtTheEnd(page);
        await anAddressNamesAMoment(browser, address, ends);
        console.log(`ok ${name}: ${arrows} arrows`);
      }
      assert.deepEqual(problems, [], `${name}: problems`);
      await close();
    }
    const phone = await open(browser, address, { viewport: { width: 390, height: 800 }, hasTouch: true });
    assert.ok((await overflow(phone.page)) <= 0, `${name}: the page is wider than a phone`);
    await labelsAreNear(phone.page);
    await phone.page.screenshot({ path: `${OUT}/${name}-phone.png`, fullPage: true });
    await phone.page.keyboard.press("j");
    await panelOpensBesideAndCloses(phone.page);
    assert.ok((await scrolled(phone.page)) >= 0);
    assert.deepEqual(phone.problems, []);
    await phone.close();
  }
  await aFloodIsOneRow(browser);
  await pollsAreTwoRows(browser);
  await whatFailedIsShownTwice(browser);
  console.log("ok a flood is one row, and what failed is shown");
});
