// What the browser tests share.
import assert from "node:assert/strict";
import { chromium } from "playwright-core";

export const OUT = process.env.OUT;

/** Opens a browser for one file of tests and closes it at the end. */
export async function withBrowser(tests) {
  const browser = await chromium.launch({ executablePath: process.env.BROWSER, args: ["--no-sandbox", "--enable-precise-memory-info", "--js-flags=--expose-gc"] });
  try {
    await tests(browser);
  } finally {
    await browser.close();
  }
}

/** A page that fails the test if it reports an error or asks for anything but what `allows` lets through. */
export async function open(browser, address, { allows = () => false, ...context } = {}) {
  const made = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...context });
  const page = await made.newPage();
  const problems = [];
  page.on("console", (message) => message.type() === "error" && problems.push(`console: ${message.text()}`));
  page.on("pageerror", (error) => problems.push(`error: ${error.message}`));
  page.on("request", (request) => {
    if (request.url() !== address.split("#")[0] && !allows(request.url())) problems.push(`request: ${request.url()}`);
  });
  await page.goto(address);
  return { page, problems, close: () => made.close() };
}

/** Text whose colour is too near to what is behind it, as rendered. Faded rows do not count. */
export function lowContrast(page) {
  return page.evaluate(() => {
    const parse = (text) => {
      const found = /rgba?\(([^)]+)\)/.exec(text);
      return found ? found[1].split(/[ ,/]+/).map(Number) : null;
    };
    const light = ([r, g, b]) => {
      const part = (value) => (value / 255 <= 0.03928 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4);
      return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
    };
    const ratio = (one, other) => {
      const [high, low] = [light(one), light(other)].sort((a, b) => b - a);
      return (high + 0.05) / (low + 0.05);
    };
    const behind = (element) => {
      for (let at = element; at; at = at.parentElement) {
        const color = parse(getComputedStyle(at).backgroundColor);
        if (color && (color[3] ?? 1) > 0.99) return color;
      }
      return [255, 255, 255];
    };
    const found = [];
    const check = (name, text, front, back) => {
      const got = ratio(front, back);
      if (got < 4.5) found.push(`${name} "${text.slice(0, 30)}" ${got.toFixed(2)}`);
    };
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const element = node.parentElement;
      if (!node.data.trim() || element.closest("script, style, .hidden") || !element.checkVisibility({ visibilityProperty: true })) continue;
      const style = getComputedStyle(element);
      if (!element.closest("svg")) {
        check(element.tagName, node.data, parse(style.color), behind(element));
        continue;
      }
      // A label has a border in the colour of its row; a state is on its own box.
      const whole = element.closest("text");
      const box = whole.classList.contains("chip") ? whole.parentElement.querySelector("rect.chip") : null;
      const halo = parse(getComputedStyle(whole).stroke);
      check(whole.getAttribute("class"), node.data, parse(style.fill), box ? parse(getComputedStyle(box).fill) : halo ?? behind(whole));
    }
    return found;
  });
}

/** How far the page is wider than the window. */
export const overflow = (page) => page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);

export async function until(what, check, milliseconds = 5000) {
  const end = Date.now() + milliseconds;
  for (;;) {
    if (await check()) return;
    assert.ok(Date.now() < end, `${what}: not within ${milliseconds} ms`);
    await new Promise((done) => setTimeout(done, 30));
  }
}
