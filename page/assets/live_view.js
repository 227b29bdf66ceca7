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
  const calls = html("section", { "aria-label": "Last calls" }, html("h2", {}, "Last calls"), html("div", { class: "scroll", id: "last" }));
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
  if (!about) return;
  const editor = about.editor;
  const project = editor?.project_name ?? about.project ?? "–";
  document.title = `${project === "–" ? "" : `${project} – `}unity-mcp`;
  const facts = [["project", project]];
  if (editor?.project_path && editor.project_path !== project) facts.push(["path", editor.project_path]);
  if (editor) facts.push(["Unity", editor.unity_version ?? "version unknown"], ["plugin", editor.plugin_version]);
  facts.push(["server", `${about.version}, port ${about.port}, pid ${about.pid}`], ["tools", about.catalog], ["started", about.started]);
  if (about.settings?.length) facts.push(["settings", about.settings.join(", ")]);
  find("about").replaceChildren(...facts.map(([name, value]) => factOf(name, value)));
  find("why").textContent = live.isConnected ? sentenceOfState() : "";
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

function tableOf(heads, rows) {
  const head = html("tr", {}, ...heads.map(([name, look]) => html("th", { scope: "col", class: look }, name)));
  return html("table", {}, html("thead", {}, head), html("tbody", {}, ...rows));
}

function showTables() {
  const calls = [...live.calls.values()].slice(-LAST_CALLS).reverse();
  const rows = calls.map((call) => {
    const { waited, took } = timesOf(call, now());
    return html("tr", {}, cell(call.tool), cell(call.lane), cell(seconds(call.at), "number"), cell(duration(waited), "number"), cell(duration(took), "number"), cell(outcomeOf(call), lookOf(call)));
  });
  const heads = [["tool"], ["agent"], ["at", "number"], ["waited", "number"], ["took", "number"], ["outcome"]];
  find("last").replaceChildren(calls.length ? tableOf(heads, rows) : html("p", { class: "nothing" }, "No agent has made a call yet."));
  const jobs = live.state?.jobs ?? [];
  find("jobs").hidden = jobs.length === 0;
  find("jobs").lastElementChild.replaceChildren(tableOf([["job"], ["state"], ["progress"]], jobs.map(jobRow)));
}

function jobRow(job) {
  const progress = html("td", {});
  if (job.total) progress.append(html("progress", { max: job.total, value: job.done ?? 0, "aria-label": `${job.done ?? 0} of ${job.total}` }), ` ${job.done ?? 0} of ${job.total}`);
  return html("tr", {}, cell(job.job_id), cell(job.state), progress);
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
