// What the live page says beside the picture: which server, the last calls, jobs, and a text for a bug report.

function startLive() {
  document.body.classList.add("live");
  picture.isLive = true;
  takeToken();
  window.addEventListener("hashchange", () => takeToken() && live.wake?.());
  const report = html("button", { type: "button" }, "Copy as bug report");
  report.addEventListener("click", () => copyReport(report));
  find("top").replaceChildren(
    html("h1", {}, "unity-mcp"),
    html("p", { class: "status", id: "status", role: "status" }, "Connecting…"),
    html("dl", { class: "facts", id: "about" }),
    html("p", { id: "why" }),
    report,
  );
  const body = html("tbody", {});
  const table = html("table", { hidden: "" }, headOf(["tool", "outcome", "waited", "took", "when", "agent"]), body);
  const all = html("button", { type: "button", id: "all", hidden: "", "aria-pressed": "false" });
  all.addEventListener("click", () => {
    live.showsAll = !live.showsAll;
    showTables();
  });
  const none = html("p", { class: "nothing", id: "no-calls" });
  const calls = html("section", { "aria-label": "Last calls", id: "last" }, html("h2", {}, "Last calls"), table, none, all);
  connectCalls(body);
  body.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.target.dataset.call) pin(event.target.dataset.call, { shows: true });
  });
  const jobs = html("section", { "aria-label": "Jobs", id: "jobs", hidden: "" }, html("h2", {}, "Jobs"), html("div", { class: "scroll" }));
  find("tables").replaceChildren(jobs, calls);
  find("tables").hidden = false;
  connect();
  redraw();
  follow();
  setInterval(() => live.isConnected && showTables(), 1000);
}

function showAbout() {
  const about = live.about;
  if (!about) {
    find("why").textContent = "The state of the server is unknown.";
    return;
  }
  const editor = about.editor;
  const project = editor?.project_name ?? about.project ?? "–";
  document.title = `${project === "–" ? "" : `${project} – `}unity-mcp`;
  const facts = [["project", project]];
  if (editor?.project_path && editor.project_path !== project) facts.push(["path", editor.project_path]);
  if (editor) facts.push(["Unity", editor.unity_version ?? "version unknown"], ["plugin", editor.plugin_version]);
  facts.push(["server", `${about.version}, port ${about.port}, pid ${about.pid}`], ["tools", about.catalog], ["started", about.started]);
  if (about.settings?.length) facts.push(["settings", about.settings.join(", ")]);
  find("about").replaceChildren(...facts.map(([name, value]) => factOf(name, value)));
  find("why").textContent = live.isConnected ? sentenceOfState() : "The state of the server is unknown.";
}

const REASONS = {
  disconnected: "Calls wait: no Editor is connected.",
  compiling: "Calls wait: Unity is compiling.",
  reloading: "Calls wait: Unity is reloading its scripts.",
  unresponsive: "Calls wait: Unity has not answered an earlier request yet.",
};

function sentenceOfState() {
  const state = live.state;
  if (!state) return "";
  if (state.waits_for) return REASONS[state.waits_for] ?? `Calls wait: ${state.waits_for}.`;
  return state.running ? `Unity is working on ${state.running}.` : "Unity is ready for a call.";
}

function cell(value, look) {
  return html("td", { class: look }, value);
}

function headOf(names) {
  return html("thead", {}, html("tr", {}, ...names.map((name) => html("th", { scope: "col" }, name))));
}

function showTables() {
  const calls = [...live.calls.values()].slice(live.showsAll ? -LAST_CALLS : -FIRST_CALLS).reverse();
  const table = find("last").querySelector("table");
  table.hidden = calls.length === 0;
  find("no-calls").hidden = calls.length > 0;
  find("no-calls").textContent = live.isConnected ? "No agent has made a call yet." : "Unknown: this page is not connected to the server.";
  const kept = Math.min(LAST_CALLS, live.calls.size);
  find("all").hidden = kept <= FIRST_CALLS;
  find("all").textContent = live.showsAll ? `Show the last ${FIRST_CALLS}` : `Show all ${kept}`;
  find("all").setAttribute("aria-pressed", String(Boolean(live.showsAll)));
  showLines(table.querySelector("tbody"), calls);
  const jobs = live.isConnected ? live.state?.jobs ?? [] : [];
  find("jobs").hidden = jobs.length === 0;
  find("jobs").lastElementChild.replaceChildren(html("table", {}, headOf(["job", "state", "progress"]), html("tbody", {}, ...jobs.map(jobRow))));
}

/** A line for each call. Lines stay the same elements while their call is shown, so that they keep the focus. */
function showLines(body, calls) {
  const ids = new Set(calls.map((call) => call.id));
  const known = new Map();
  for (const line of [...body.children]) {
    if (ids.has(line.dataset.call)) known.set(line.dataset.call, line);
    else line.remove();
  }
  calls.forEach((call, index) => {
    const line = known.get(call.id) ?? html("tr", { "data-call": call.id, tabindex: "0" }, ...Array.from({ length: 6 }, () => cell("")));
    fillLine(line, call);
    if (body.children[index] !== line) body.insertBefore(line, body.children[index] ?? null);
  });
}

function fillLine(line, call) {
  const { waited, took } = timesOf(call, now());
  const isInstant = waited < INSTANT_MS && (call.served !== null || call.outcome);
  const texts = [call.tool, outcomeOf(call), isInstant ? "–" : duration(waited), duration(took), ago(now() - call.at), call.lane];
  texts.forEach((text, index) => {
    if (line.children[index].textContent !== text) line.children[index].textContent = text;
  });
  line.children[0].className = "tool";
  line.children[1].className = lookOf(call);
}

function jobRow(job) {
  const progress = html("td", {});
  if (job.total && !hasEnded(job)) progress.append(html("progress", { max: job.total, value: job.done ?? 0, "aria-label": `${job.done ?? 0} of ${job.total}` }), ` ${job.done ?? 0} of ${job.total}`);
  return html("tr", {}, cell(job.job_id), cell(job.state, `state-${job.state}`), progress);
}

/** Versions, settings, state and the last events. No bodies and no token. */
function reportText() {
  const about = live.about ?? {};
  const editor = about.editor ?? {};
  const calls = [...live.calls.values()].slice(-LAST_CALLS).map((call) => {
    const { waited, took } = timesOf(call, now());
    return `- ${call.id} ${call.tool} at ${seconds(call.at)}: waited ${duration(waited)}, took ${duration(took)}, ${outcomeOf(call)}`;
  });
  const events = buildModel(live.lanes, live.events.slice(-200)).rows.map(sentenceOf);
  return [
    "### What happened", "", "(Describe what you did and what you expected.)", "",
    "### Versions", "",
    `- unity-mcp ${about.version}, catalogue ${about.catalog}, started ${about.started}`,
    `- Unity ${editor.unity_version ?? "unknown"}, plugin ${editor.plugin_version ?? "unknown"}`,
    `- settings: ${about.settings?.join(", ") || "defaults"}`,
    `- browser: ${navigator.userAgent}`, "",
    "### State", "", "```json", JSON.stringify(live.state, null, 1), "```", "",
    "### Last calls", "", ...calls, "",
    "### Last events", "", "```text", ...events, "```", "",
  ].join("\n");
}

async function copyReport(button) {
  const text = reportText();
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy as bug report"; }, 2000);
  } catch {
    // Without access to the clipboard the reader copies it by hand.
    const field = find("report") ?? html("textarea", { class: "report", id: "report", readonly: "", "aria-label": "Bug report" });
    field.value = text;
    button.after(field);
    field.focus();
    field.select();
  }
}
