// Pages of finished runs: six, from simple to a random plan.
import assert from "node:assert/strict";
import { OUT, lowContrast, open, overflow, withBrowser } from "./tools.mjs";

const NAMES = ["simple", "reload", "job", "reconnect", "relay", "plan"];

/** Labels that are far from their event, and arrows that share a row of pixels. */
async function labelsAreNear(page) {
  const found = await page.evaluate(() => {
    const far = [];
    const rows = [];
    for (const row of document.querySelectorAll(".row.message, .row.note, .row.fault")) {
      const label = row.querySelector(".label")?.getBoundingClientRect();
      const mark = (row.querySelector(".arrow") ?? row.querySelector(".dot"))?.getBoundingClientRect();
      if (!label || !mark) {
        far.push(`${row.id} has no label`);
        continue;
      }
      const across = Math.max(0, label.left - mark.right, mark.left - label.right);
      const down = Math.max(0, label.top - mark.bottom, mark.top - label.bottom);
      if (Math.hypot(across, down) > 24) far.push(`${row.id} ${Math.round(Math.hypot(across, down))} px`);
      if (row.querySelector(".arrow")) rows.push(Math.round(mark.top));
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
    const row = document.querySelector(".row.chosen .hit").getBoundingClientRect();
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
  const chip = page.locator("#chips button").first();
  await chip.hover();
  const { lit, faded } = await page.evaluate(() => ({
    lit: document.querySelectorAll(".row.lit").length,
    faded: [...document.querySelectorAll(".row:not(.lit)")].every((row) => Number(getComputedStyle(row).opacity) < 0.5),
  }));
  assert.ok(lit >= 1 && faded, "the messages of the call are lit, the others faded");
  await page.mouse.move(0, 0);
  assert.equal(await page.locator(".row.lit").count(), 0);
  assert.ok(await page.locator(".bar").count() > 0, "calls are bars");
}

/** Zoom and the switch of the scale keep what is under the pointer or chosen. */
async function placesAreKept(page) {
  await page.keyboard.press("End");
  await page.keyboard.press("k");
  const at = () => page.evaluate(() => document.querySelector(".row.chosen .hit").getBoundingClientRect().top);
  const box = await page.locator(".row.chosen .hit").boundingBox();
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
});
