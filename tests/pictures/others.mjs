// The list of scenarios and the difference of two traces.
import assert from "node:assert/strict";
import { OUT, lowContrast, open, overflow, withBrowser } from "./tools.mjs";

await withBrowser(async (browser) => {
  for (const [name, file] of [["index", "site/index.html"], ["diff", "diff.html"]]) {
    for (const colorScheme of ["light", "dark"]) {
      const { page, problems, close } = await open(browser, `file://${OUT}/${file}`, { colorScheme });
      assert.deepEqual(await lowContrast(page), [], `${name} ${colorScheme}: contrast`);
      await page.screenshot({ path: `${OUT}/${name}-${colorScheme}.png` });
      if (name === "index") {
        const all = await page.locator(".card").count();
        assert.ok(all > 45, `${all} cards`);
        await page.locator("#search").fill("domain reload");
        const shown = await page.locator(".card:visible").count();
        assert.ok(shown > 0 && shown < all, `${shown} cards match`);
      } else {
        assert.equal(await page.locator("tr.missing").count(), 2);
        await page.locator("#only").check();
        assert.equal(await page.locator("tr.same:visible").count(), 0);
      }
      assert.deepEqual(problems, []);
      await close();
    }
    const phone = await open(browser, `file://${OUT}/${file}`, { viewport: { width: 390, height: 800 } });
    assert.ok((await overflow(phone.page)) <= 0, `${name}: wider than a phone`);
    const scrolls = await phone.page.evaluate(() => [...document.querySelectorAll(".scroll")].some((one) => one.scrollWidth > one.clientWidth + 1));
    assert.equal(scrolls, false, `${name}: a phone must not scroll sideways`);
    await phone.page.screenshot({ path: `${OUT}/${name}-phone.png` });
    await phone.close();
  }
  const { page, close } = await open(browser, `file://${OUT}/site/index.html`, { allows: (url) => url.startsWith("file:") });
  await page.locator(".card a").first().click();
  await page.locator(".row.message").first().waitFor();
  await page.getByRole("link", { name: "All scenarios" }).click();
  await page.locator(".card").first().waitFor();
  await close();
  console.log("ok list and difference");
});
