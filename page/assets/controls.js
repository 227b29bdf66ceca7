// Everything that a reader can do with the picture: step, play, filter, zoom, choose a call, read a message.

const find = (id) => document.getElementById(id);
const PLAY_MS = 700;
/** More chips are shown on demand. */
const CHIPS_MAX = 12;
const CHIPS_MAX_NARROW = 5;

const picture = {
  model: buildModel([], []),
  layout: null,
  view: { scale: "sequence", zoom: 1, width: 800, gutter: 62, narrow: false },
  /** The number of the chosen event. */
  chosen: null,
  /** The call whose messages are lit: pinned by its chip, or under the pointer. */
  pinned: null,
  hovered: null,
  filter: { text: "", lane: "", call: "", kind: "" },
  playing: null,
  isLive: false,
};

/** A folded row is shown by the first of its kind, if one of them fits the filter. */
function isShown(row) {
  if (!isFolded(row, picture.view)) return fitsFilter(row);
  return !row.foldedInto && row.fold.some(fitsFilter);
}

function fitsFilter(row) {
  const { text, lane, call, kind } = picture.filter;
  if (lane && row.lane !== lane && row.from !== lane && row.to !== lane) return false;
  if (call && row.call !== call) return false;
  if (kind && kindOf(row) !== kind) return false;
  return !text || sentenceOf(row).toLowerCase().includes(text.toLowerCase()) || (row.body ?? "").toLowerCase().includes(text.toLowerCase());
}

function kindOf(row) {
  return row.kind === "message" ? row.what : { note: "(notes)", chip: "(states)", fault: "(faults)", call: "(calls)" }[row.kind];
}

const shownRows = () => picture.model.rows.filter(isShown);

/** The row with this number, or the one that shows it. */
function rowOf(id) {
  const row = picture.model.rows.find((one) => one.id === id) ?? null;
  return row?.foldedInto && isFolded(row, picture.view) ? row.foldedInto : row;
}

function redraw() {
  const { model, view } = picture;
  view.width = Math.max(280, find("picture").clientWidth - (picture.isLive ? 16 : 0));
  view.narrow = view.width < 600;
  view.gutter = view.narrow ? 50 : 62;
  const { lane, call } = picture.filter;
  view.showsCall = (one) => (!call || one.id === call) && (!lane || one.lane === lane || model.rows.some((row) => row.call === one.id && isShown(row)));
  document.body.classList.toggle("narrow", view.narrow);
  picture.layout = layOut(model, view, isShown);
  drawHeads(find("heads"), model, picture.layout, view);
  drawPicture(find("drawing"), model, picture.layout, view, isShown);
  find("nothing").hidden = model.rows.length === 0 || model.rows.some(isShown);
  light();
  mark();
}

/** Fills the lists of the filters and the chips, which change less often than the picture. */
function refill() {
  const { model, filter } = picture;
  const fill = (id, all, names) => {
    const key = names.join("\n");
    if (find(id).dataset.names === key) return;
    const options = ["", ...names].map((name) => html("option", { value: name }, name || all));
    find(id).replaceChildren(...options);
    find(id).dataset.names = key;
    find(id).value = names.includes(filter[id]) ? filter[id] : "";
    filter[id] = find(id).value;
  };
  fill("lane", "all lanes", model.lanes.map((lane) => lane.id));
  fill("call", "all calls", [...model.calls.keys()]);
  fill("kind", "all kinds", [...new Set(model.rows.map(kindOf))].sort());
  if (!picture.isLive) fillChips(false);
  find("chips").closest("section").hidden = picture.isLive || model.calls.size === 0;
}

/** The calls as chips: the first ones, or all of them. */
function fillChips(isWhole) {
  const calls = [...picture.model.calls.values()];
  const most = window.innerWidth < 700 ? CHIPS_MAX_NARROW : CHIPS_MAX;
  // Two more are as short as the button.
  const shown = isWhole || calls.length <= most + 2 ? calls : calls.slice(0, most);
  find("chips").replaceChildren(...shown.map(chipOf));
  if (shown.length === calls.length) return;
  const more = html("button", { type: "button", class: "more" }, `${calls.length - shown.length} more`);
  more.addEventListener("click", () => {
    fillChips(true);
    find("chips").children[shown.length].focus();
  });
  find("chips").append(more);
}

function chipOf(call) {
  const times = timesText(call, picture.model.rows.at(-1)?.at ?? call.at);
  const by = picture.model.lanes.filter((lane) => lane.kind === "agent").length > 1 ? ` by ${call.lane}` : "";
  const chip = html("button", { type: "button", class: lookOf(call), "data-call": call.id, "aria-pressed": String(picture.pinned === call.id) });
  chip.append(html("span", { class: "name" }, `${call.id} ${call.tool}${by}`), html("span", { class: "times" }, `${times} ·`), html("span", {}, outcomeOf(call)));
  return chip;
}

/** Lights the messages of the call under the pointer or of the pinned one and fades the rest. Else lights those of the
 *  call of the chosen event: a reader who steps needs the rest too. */
function light() {
  const named = picture.hovered ?? picture.pinned;
  const call = named ?? (picture.chosen === null ? null : rowOf(picture.chosen)?.call ?? null);
  const drawing = find("drawing");
  const has = call !== null && picture.model.calls.has(call);
  drawing.classList.toggle("fading", has && named !== null);
  for (const part of drawing.querySelectorAll(".row, .hit, .bar")) part.classList.toggle("lit", has && part.getAttribute("data-call") === call);
  for (const line of document.querySelectorAll("#last tr[data-call]")) line.classList.toggle("lit", has && line.dataset.call === call);
  for (const chip of find("chips").children) if (chip.dataset.call) chip.setAttribute("aria-pressed", String(chip.dataset.call === picture.pinned));
}

/** Marks the chosen event and fills the boxes with the state at that moment. */
function mark() {
  const drawing = find("drawing");
  for (const part of drawing.querySelectorAll(".chosen")) {
    part.classList.remove("chosen");
    if (part.matches(".row")) part.setAttribute("aria-selected", "false");
  }
  const row = picture.chosen === null ? null : rowOf(picture.chosen);
  const group = row && find(`row-${row.id}`);
  const y = group ? picture.layout.ys[row.number] + 9 : -9;
  for (const end of ["y1", "y2"]) find("cursor")?.setAttribute(end, y);
  if (group) {
    group.classList.add("chosen");
    drawing.querySelector(`.hit[data-row="${row.id}"]`)?.classList.add("chosen");
    group.setAttribute("aria-selected", "true");
    drawing.setAttribute("aria-activedescendant", group.id);
  } else {
    drawing.removeAttribute("aria-activedescendant");
  }
  showState(row ? stateAt(row) : picture.model.state, row);
}

/** What the server knows after this very row: a state follows what caused it, and each row has the state before it. */
function stateAt(row) {
  const last = row.fold && isFolded(row, picture.view) ? row.fold.at(-1) : row;
  const next = picture.model.rows[last.number + 1];
  return next ? next.state : picture.model.state;
}

let shownBoxes = {};
function showState(state, row) {
  const jobs = (state?.jobs ?? []).map((job) => `${job.job_id} ${job.state}${job.total && !hasEnded(job) ? ` ${job.done ?? 0}/${job.total}` : ""}`);
  const isKnown = state !== null && state !== undefined && (row !== null || !picture.isLive || live.isConnected);
  const boxes = isKnown
    ? {
      Server: state.server,
      Editor: state.editor + (state.waits_for ? ` (calls wait: ${state.waits_for})` : ""),
      Lane: state.running ?? "free",
      Queue: String(state.queue),
      Jobs: jobs.join(", ") || "none",
    }
    : { Server: "unknown", Editor: "unknown", Lane: "unknown", Queue: "unknown", Jobs: "unknown" };
  const made = Object.entries(boxes).map(([name, value]) => {
    const isChanged = row && shownBoxes[name] !== undefined && shownBoxes[name] !== value;
    const look = `${isChanged ? "changed" : ""} ${name === "Editor" && state?.waits_for ? "held" : ""}`.trim();
    return html("div", { class: look || null }, html("dt", {}, name), html("dd", {}, value));
  });
  if (row) made.unshift(html("div", {}, html("dt", {}, "At"), html("dd", {}, seconds(row.at))));
  shownBoxes = boxes;
  find("boxes").replaceChildren(...made);
}

/** Chooses an event. `opens`: shows its message too. */
function choose(id, { opens = false, quiet = false, upper = false } = {}) {
  const row = rowOf(id);
  picture.chosen = row?.id ?? id;
  if (!row) return;
  const isOpen = !find("panel").hidden;
  if (opens || isOpen) openPanel(row);
  mark();
  light();
  reveal(row, upper);
  if (quiet) return;
  find("said").textContent = sentenceOf(row);
  if (!picture.isLive) history.replaceState(null, "", `#e${id}`);
}

/** Scrolls so that the row is neither under the head of the picture nor under the panel; `upper`: into the upper third. */
function reveal(row, upper = false) {
  const group = find(`row-${row.id}`);
  if (!group) return;
  const place = group.getBoundingClientRect();
  const panel = find("panel");
  const isSheet = !panel.hidden && getComputedStyle(panel).position === "fixed";
  let bottom = isSheet ? panel.getBoundingClientRect().top : window.innerHeight;
  let top = find("sticky").getBoundingClientRect().height;
  const scroller = picture.isLive ? find("drawing").parentElement : window;
  if (picture.isLive) {
    const box = scroller.getBoundingClientRect();
    if (box.top < 0 || box.bottom > bottom) find("picture").scrollIntoView({ block: "start" });
    top = box.top;
    bottom = Math.min(bottom, box.bottom);
  }
  if (upper) scroller.scrollBy(0, place.top - top - Math.max(40, (bottom - top) / 6));
  else if (place.top < top + 12) scroller.scrollBy(0, place.top - top - 40);
  else if (place.bottom > bottom - 12) scroller.scrollBy(0, place.bottom - bottom + 60);
}

function step(by) {
  const rows = shownRows();
  if (!rows.length) return false;
  const at = rows.findIndex((row) => row.id === picture.chosen);
  const after = rows.findIndex((row) => row.id > (picture.chosen ?? -1));
  const from = at >= 0 ? at : by > 0 ? (after < 0 ? rows.length : after) - 1 : after < 0 ? rows.length : after;
  const to = Math.min(rows.length - 1, Math.max(0, from + by));
  choose(rows[to].id);
  return to !== at;
}

function play(isOn = picture.playing === null) {
  clearInterval(picture.playing);
  picture.playing = isOn ? setInterval(() => step(1) || play(false), PLAY_MS) : null;
  find("play").textContent = isOn ? "Pause" : "Play";
  if (isOn && picture.chosen === shownRows().at(-1)?.id) picture.chosen = null;
}

function openPanel(row) {
  const facts = [["at", seconds(row.at)]];
  if (row.kind === "message") {
    facts.push(["from", row.from], ["to", row.to]);
    if (row.lost) facts.push(["arrives", "never: it is lost"]);
    else if (row.got !== row.at) facts.push(["arrives", seconds(row.got)]);
  } else {
    facts.push(["on", row.lane]);
  }
  const call = row.call && picture.model.calls.get(row.call);
  if (call) facts.push(["call", `${call.id} ${call.tool}: ${outcomeOf(call)}`]);
  if (row.fold && isFolded(row, picture.view)) facts.push(["folded", listOf(row)]);
  if (row.text) facts.push(["says", row.text]);
  find("panel-title").textContent = row.what || { note: "note", fault: "fault", chip: "state" }[row.kind];
  find("panel-facts").replaceChildren(...facts.flatMap(([name, value]) => [html("dt", {}, name), html("dd", {}, value)]));
  find("panel-body").textContent = row.body ?? "";
  find("panel-body").hidden = !row.body;
  if (!find("panel").hidden) return;
  find("panel").hidden = false;
  document.querySelector(".columns").classList.add("split");
  redraw();
}

function closePanel() {
  const wasOpen = !find("panel").hidden;
  if (wasOpen) {
    const hadFocus = find("panel").contains(document.activeElement);
    find("panel").hidden = true;
    document.querySelector(".columns").classList.remove("split");
    redraw();
    if (hadFocus) find("drawing").focus({ preventScroll: true });
  } else if (picture.pinned !== null) {
    picture.pinned = null;
    light();
  } else {
    picture.chosen = null;
    mark();
    light();
  }
}

/** Changes the size and keeps what is at `clientY` where it is. */
function zoom(factor, clientY) {
  const { view } = picture;
  const drawing = find("drawing");
  const before = clientY - drawing.getBoundingClientRect().top;
  const place = placeAt(before);
  view.zoom = Math.min(view.scale === "time" ? 12 : 2.5, Math.max(view.scale === "time" ? 0.3 : 0.7, view.zoom * factor));
  redraw();
  const scroller = picture.isLive ? drawing.parentElement : window;
  scroller.scrollBy(0, drawing.getBoundingClientRect().top + yOf(place) - clientY);
}

/** A place between two rows, which stays the same when the sizes change. */
function placeAt(y) {
  const { ys } = picture.layout;
  let index = ys.findIndex((other) => other > y);
  if (index < 0) return { index: ys.length - 1, share: 0, beyond: y - (ys.at(-1) ?? 0) };
  const from = index ? ys[index - 1] : 0;
  return { index, share: (y - from) / Math.max(1, ys[index] - from), beyond: 0 };
}

function yOf({ index, share, beyond }) {
  const { ys } = picture.layout;
  if (index < 0) return 0;
  if (beyond) return (ys[index] ?? 0) + beyond;
  const from = index ? ys[index - 1] : 0;
  return from + (ys[index] - from) * share;
}

/** The middle of what is visible of the picture, or the chosen event. */
function focusY() {
  const group = picture.chosen === null ? null : find(`row-${picture.chosen}`);
  const place = group?.getBoundingClientRect();
  if (place && place.top > 0 && place.bottom < window.innerHeight) return (place.top + place.bottom) / 2;
  return window.innerHeight / 2;
}

function switchScale() {
  const y = focusY();
  const place = placeAt(y - find("drawing").getBoundingClientRect().top);
  picture.view.scale = picture.view.scale === "time" ? "sequence" : "time";
  picture.view.zoom = 1;
  find("scale").setAttribute("aria-pressed", String(picture.view.scale === "time"));
  redraw();
  (picture.isLive ? find("drawing").parentElement : window).scrollBy(0, find("drawing").getBoundingClientRect().top + yOf(place) - y);
}
