// The head of a finished run: its verdict, what it expected, and how to run it again.

function factOf(name, ...value) {
  return html("div", {}, html("dt", {}, name), html("dd", {}, ...value));
}

function copyButton(text) {
  const button = html("button", { type: "button" }, "Copy");
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  });
  return button;
}

/** Works each time: the address may name the event already. */
function showLink(event) {
  const link = html("a", { href: `#e${event}` }, "Show it");
  link.addEventListener("click", () => setTimeout(chooseFromAddress));
  return link;
}

function expectationOf(one) {
  const item = html("li", { class: one.problem ? "failed" : null }, one.text);
  if (!one.problem) return item;
  item.append(html("span", { class: "problem" }, one.problem));
  if (one.event !== undefined) item.append(showLink(one.event));
  return item;
}

function showFinished(run) {
  const failed = run.expectations.filter((one) => one.problem).length;
  const verdict = failed ? `failed: ${failed} of ${run.expectations.length}` : "passed";
  const title = html("h1", {}, html("span", { class: `verdict ${failed ? "failed" : "ok"}` }, verdict), run.title);
  const list = html("ul", { class: "expectations" }, ...run.expectations.map(expectationOf));
  const facts = html("dl", { class: "facts" }, factOf("seed of the run", String(run.seed)), factOf("level", run.level), factOf("lasted", duration(run.lasted)));
  facts.append(factOf("run it again", html("code", {}, run.command), " ", copyButton(run.command)));
  const yaml = html("details", {}, html("summary", {}, "The scenario as YAML"), html("pre", { tabindex: "0" }, run.yaml));
  const parts = [title, html("p", {}, run.why)];
  if (run.expectations.length > 6 && !failed) parts.push(html("details", {}, html("summary", {}, `${run.expectations.length} expectations, all met`), list));
  else parts.push(list);
  parts.push(facts, yaml);
  if (run.index) parts.unshift(html("p", {}, html("a", { href: run.index }, "All scenarios")));
  find("top").replaceChildren(...parts);
}

function chooseFromAddress() {
  const named = /^#e(\d+)$/.exec(location.hash);
  if (named && rowOf(Number(named[1]))) choose(Number(named[1]), { quiet: true, upper: true });
  else if (named) chooseNear(Number(named[1]));
}

/** An event without a row of its own, such as the end of a call, is shown by the last row before it. */
function chooseNear(id) {
  const before = picture.model.rows.findLast((row) => row.id <= id);
  if (before) choose(before.id, { quiet: true, upper: true });
}

function startFinished(run) {
  document.body.classList.add("finished");
  showFinished(run);
  picture.model = buildModel(run.lanes, run.events);
  refill();
  connect();
  redraw();
  chooseFromAddress();
  window.addEventListener("hashchange", chooseFromAddress);
}
