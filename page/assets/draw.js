// Draws a model as SVG. Text of traces is only ever set as text.

const SVG = "http://www.w3.org/2000/svg";
const ROW_PX = 34;
const CHIP_PX = 28;
const GAP_PX = 24;
const BAR_PX = 7;
const TOP_PX = 10;
/** States that begin together stand on one row. */
const SAME_MS = 2;

function svg(name, attributes, ...children) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) if (value !== null && value !== undefined) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function html(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) if (value !== null && value !== undefined) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

const pen = document.createElement("canvas").getContext("2d");

/** The width of a text as the picture draws it. */
function widthOf(text, size, weight = 400) {
  pen.font = `${weight} ${size}px system-ui, sans-serif`;
  return pen.measureText(text).width;
}

/** As much of the text as fits. */
function cut(text, width, size, weight) {
  if (widthOf(text, size, weight) <= width) return text;
  let [low, high] = [0, text.length];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (widthOf(`${text.slice(0, middle)}…`, size, weight) <= width) low = middle;
    else high = middle - 1;
  }
  return low ? `${text.slice(0, low)}…` : "";
}

/** Gives each call of a lane the first slot that is free, so that calls at the same time stand side by side. */
function slotsOf(model) {
  const slots = new Map();
  const counts = new Map();
  const open = new Map();
  const begun = [...model.calls.values()].filter((call) => call.beginRow !== null).sort((one, other) => one.beginRow - other.beginRow);
  for (const call of begun) {
    const taken = open.get(call.lane) ?? [];
    let slot = taken.findIndex((until) => until < call.beginRow);
    if (slot < 0) slot = taken.length;
    taken[slot] = call.endRow ?? Infinity;
    open.set(call.lane, taken);
    slots.set(call.id, slot);
    counts.set(call.lane, Math.max(counts.get(call.lane) ?? 0, slot + 1));
  }
  return { slots, counts };
}

/** Where everything is. `isShown` says which rows are; the others take no room. */
function layOut(model, view, isShown) {
  const { slots, counts } = slotsOf(model);
  const xs = lanePlaces(model, view, counts);
  const ys = [];
  const gaps = [];
  const k = view.scale === "time" ? timeFactor(model, view) : 0;
  const start = model.rows[0]?.at ?? 0;
  let y = TOP_PX;
  let last = null;
  for (const row of model.rows) {
    if (view.scale === "time") {
      y = TOP_PX + 24 + (row.at - start) * k;
    } else if (isShown(row)) {
      const above = y;
      const passed = last ? row.at - endOf(last) : 0;
      if (passed >= GAP_MS) y += GAP_PX;
      const shares = last?.kind === "chip" && row.kind === "chip" && row.at - last.at <= SAME_MS && row.lane !== last.lane && areApart(last, row, xs);
      if (!shares) y += (row.kind === "chip" ? CHIP_PX : ROW_PX) * view.zoom;
      if (passed >= GAP_MS) gaps.push({ y: (above + y) / 2, text: `⋯ ${shortly(passed)}` });
      last = row;
    }
    ys.push(y);
  }
  const end = y + 28;
  return { xs, ys, gaps, slots, counts, height: end + 6, end, k, start };
}

/** Fits beside the lanes. */
function shortly(ms) {
  if (ms >= 10_000 && ms < 60_000) return `${Math.round(ms / 1000)} s`;
  return ms < 60_000 ? `${(ms / 1000).toFixed(1)} s` : `${(ms / 60_000).toFixed(1)} min`;
}

/** Whether two states fit on one row. */
function areApart(one, other, xs) {
  const half = (row) => widthOf(row.text, 12, 600) / 2 + 12;
  return Math.abs(xs.get(one.lane) - xs.get(other.lane)) > half(one) + half(other);
}

function timeFactor(model, view) {
  const start = model.rows[0]?.at ?? 0;
  const span = Math.max(1, (model.rows.at(-1)?.at ?? 0) - start);
  return Math.min(5, Math.max(600, model.rows.length * 14) / span) * view.zoom * view.zoom;
}

function lanePlaces(model, view, counts) {
  const xs = new Map();
  const bars = (lane) => (counts.get(lane.id) ?? 0) * (BAR_PX + 2) + 10;
  const lanes = model.lanes;
  if (!lanes.length) return xs;
  const size = view.narrow ? 11 : 13;
  const half = (lane) => widthOf(lane.id, size, 600) / 2 + 6;
  const left = view.gutter + Math.max(bars(lanes[0]), half(lanes[0]) - 10);
  const right = view.width - Math.max(half(lanes.at(-1)), 16, bars(lanes.at(-1)));
  const step = lanes.length > 1 ? (right - left) / (lanes.length - 1) : 0;
  lanes.forEach((lane, index) => xs.set(lane.id, Math.round(left + step * index)));
  return xs;
}

/** The names of the lanes, in two lines if they are close to each other. */
function drawHeads(target, model, layout, view) {
  const xs = model.lanes.map((lane) => layout.xs.get(lane.id));
  const size = view.narrow ? 11 : 13;
  const step = xs.length > 1 ? xs[1] - xs[0] : view.width;
  const isCrowded = model.lanes.some((lane) => widthOf(lane.id, size, 600) + 14 > step);
  const height = isCrowded ? 40 : 24;
  const heads = model.lanes.map((lane, index) => {
    const room = isCrowded ? step * 2 - 8 : step - 8;
    const name = cut(lane.id, Math.max(room, 40), size, 600);
    const half = widthOf(name, size, 600) / 2;
    const x = Math.min(Math.max(xs[index], half + 2), view.width - half - 2);
    const text = svg("text", { class: `head ${lane.kind}`, x, y: isCrowded && index % 2 ? 32 : 16, "text-anchor": "middle" });
    text.textContent = name;
    text.append(svg("title", {}, `${lane.id} (${lane.kind})`));
    return text;
  });
  sized(target, view.width, height);
  target.replaceChildren(...heads);
}

function sized(target, width, height) {
  target.setAttribute("width", width);
  target.setAttribute("height", height);
  target.setAttribute("viewBox", `0 0 ${width} ${height}`);
}

function drawPicture(target, model, layout, view, isShown) {
  const kinds = new Map(model.lanes.map((lane) => [lane.id, lane.kind]));
  const back = [hatch()];
  for (const lane of model.lanes) {
    const x = layout.xs.get(lane.id);
    back.push(svg("line", { class: `life ${lane.kind}`, x1: x, x2: x, y1: 0, y2: layout.height }));
  }
  // A band without the row that explains it says nothing.
  const bands = model.bands.filter((band) => isShown(model.rows[band.fromRow])).map((band) => drawBand(band, model, layout)).filter(Boolean);
  const gaps = layout.gaps.map((gap) => drawGap(gap, view));
  const bars = [...model.calls.values()].flatMap((call) => drawCall(call, layout, view));
  const drawing = { layout, view, kinds, lastTime: { text: "", y: -Infinity } };
  const drawn = model.rows.filter(isShown).map((row) => drawRow(row, drawing));
  if (layout.k) {
    hideCrowded(drawn);
    // States lie above the arrows of their moment.
    drawn.sort((one, other) => Number(one.isChip) - Number(other.isChip));
  }
  sized(target, view.width, layout.height);
  const cursor = svg("line", { class: "cursor", id: "cursor", x1: 0, x2: view.width, y1: -9, y2: -9 });
  target.replaceChildren(...back, ...drawn.map((one) => one.hit), ...bands, ...gaps, ...bars, ...drawn.map((one) => one.group), cursor);
}

function hatch() {
  const stripe = svg("path", { d: "M-1 7 L7 -1 M-1 1 L1 -1 M5 7 L7 5", class: "stripe" });
  const pattern = svg("pattern", { id: "hatch", width: 6, height: 6, patternUnits: "userSpaceOnUse" }, svg("rect", { class: "under", width: 6, height: 6 }), stripe);
  const empty = svg("pattern", { id: "gone", width: 8, height: 8, patternUnits: "userSpaceOnUse" }, svg("rect", { class: "under", width: 8, height: 8 }), svg("path", { d: "M0 8 L8 0", class: "thin" }));
  return svg("defs", {}, pattern, empty);
}

function drawBand(band, model, layout) {
  const x = layout.xs.get(band.lane);
  if (x === undefined) return null;
  const top = layout.ys[band.fromRow];
  let bottom = layout.end;
  if (band.until !== null) {
    const after = model.rows.findIndex((row) => row.at >= band.until);
    bottom = after < 0 ? layout.end : layout.ys[after];
    if (layout.k) bottom = Math.min(layout.end, TOP_PX + 24 + (band.until - layout.start) * layout.k);
  } else if (band.toRow !== null) {
    bottom = layout.ys[Math.min(band.toRow, layout.ys.length - 1)] - (band.isOpenEnd && !layout.k ? CHIP_PX : 0);
  }
  const height = Math.max(2, bottom - top);
  return svg("rect", { class: `band ${band.look}`, x: x - 8, width: 16, y: top, height }, svg("title", {}, band.text));
}

function drawGap(gap, view) {
  const text = textAt("gap", view.gutter - 6, gap.y + 4, gap.text, "end");
  const line = svg("line", { class: "pause", x1: view.gutter, x2: view.width, y1: gap.y, y2: gap.y });
  return svg("g", { class: "pausing", "aria-hidden": "true" }, line, text);
}

/** The bar of a call on the lane of its agent: hatched while it waits. */
function drawCall(call, layout, view) {
  const lane = layout.xs.get(call.lane);
  if (lane === undefined || call.beginRow === null || (view.showsCall && !view.showsCall(call))) return [];
  const at = (row) => layout.ys[Math.min(row, layout.ys.length - 1)] ?? TOP_PX;
  const top = at(call.beginRow);
  const bottom = call.endRow === null ? layout.end : Math.max(at(call.endRow), top + 3);
  // A call that was answered at once did not wait.
  const isInstant = call.ended !== null && timesOf(call, call.ended).waited < INSTANT_MS;
  const served = isInstant ? top : call.servedRow === null ? bottom : Math.min(Math.max(at(call.servedRow), top), bottom);
  const x = lane - 7 - (layout.slots.get(call.id) + 1) * (BAR_PX + 2) + BAR_PX;
  const parts = [];
  const title = () => svg("title", {}, `${call.id} ${call.tool}: ${outcomeOf(call)}`);
  const look = `bar ${lookOf(call)}`;
  if (served > top) parts.push(svg("rect", { class: `${look} waiting`, x, y: top, width: BAR_PX, height: served - top, "data-call": call.id }, title()));
  if (bottom > served) parts.push(svg("rect", { class: look, x, y: served, width: BAR_PX, height: bottom - served, "data-call": call.id }, title()));
  return parts;
}

/** A row: its group, the rectangle below everything that takes the pointer, and what a label must not cover. */
function drawRow(row, drawing) {
  const { layout, view } = drawing;
  const y = layout.ys[row.number];
  const isChip = row.kind === "chip";
  const group = svg("g", { class: `row ${row.kind}${row.error ? " error" : ""}`, id: `row-${row.id}`, role: "option", "aria-selected": "false", "aria-label": sentenceOf(row), "data-row": row.id, "data-call": row.call });
  const high = (isChip ? CHIP_PX : ROW_PX) * view.zoom;
  const place = layout.k ? { y: y - 5, height: 10 } : { y: y - high + 8, height: high };
  const hit = svg("rect", { class: "hit", x: 0, width: view.width, ...place, "data-row": row.id, "data-call": row.call }, svg("title", {}, sentenceOf(row)));
  const time = (row.at / 1000).toFixed(3);
  if (time !== drawing.lastTime.text && (!layout.k || y - drawing.lastTime.y >= 13)) {
    group.append(textAt("time", view.gutter - 6, y - (isChip ? 2 : 0) + 4, time, "end"));
    drawing.lastTime = { text: time, y };
  }
  if (isChip) return { group, hit, isChip, box: drawChip(group, row, y, drawing) };
  const marked = row.kind === "message" ? drawMessage(group, row, y, drawing) : drawNote(group, row, y, drawing);
  if (marked) group.append(drawLabel(marked.label));
  return { group, hit, isChip, line: marked?.line, box: marked?.label.box };
}

function textAt(look, x, y, content, anchor) {
  const text = svg("text", { class: look, x, y, "text-anchor": anchor });
  text.textContent = content;
  return text;
}

/** From where to where a message goes, and its end at the left. */
function arrowOf(row, y, layout) {
  const from = layout.xs.get(row.from);
  const to = layout.xs.get(row.to);
  const end = row.lost ? (from + to) / 2 : to;
  const fall = layout.k && !row.lost ? (row.got - row.at) * layout.k : 0;
  return { line: { x1: from, y1: y, x2: end, y2: y + fall }, left: Math.min(from, end) };
}

function drawMessage(group, row, y, drawing) {
  const { layout, kinds } = drawing;
  if (!layout.xs.has(row.from) || !layout.xs.has(row.to)) return null;
  group.classList.add(kinds.get(row.from) === "editor" || kinds.get(row.to) === "editor" ? "unity" : "mcp");
  const { line } = arrowOf(row, y, layout);
  const { x1, x2, y2 } = line;
  const turn = Math.sign(x2 - x1) || 1;
  group.append(svg("line", { class: "arrow", ...line, x2: x2 - turn * 2 }));
  const tip = row.lost ? `M${x2 - 5} ${y - 5} l10 10 M${x2 + 5} ${y - 5} l-10 10` : `M${x2} ${y2} l${-8 * turn} -4 l0 8 z`;
  group.append(svg("path", { class: row.lost ? "lost" : "tip", d: tip }));
  return { line, label: labelOfMessage(row, y, drawing) };
}

/** Something that happened on one lane. */
function drawNote(group, row, y, { layout, view }) {
  const x = layout.xs.get(row.lane);
  if (x === undefined) return null;
  group.append(svg("circle", { class: "dot", cx: x, cy: y, r: 4 }));
  return { label: labelOfNote(row, x, y, view) };
}

/** The state of a lane, on the lane. Returns its box. */
function drawChip(group, row, y, { layout, view }) {
  const x = layout.xs.get(row.lane);
  if (x === undefined) return null;
  const size = view.narrow ? 11 : 12;
  const name = cut(row.text, view.width - view.gutter - 24, size, 600);
  const half = widthOf(name, size, 600) / 2 + 8;
  const middle = Math.min(Math.max(x, view.gutter + half), view.width - half - 1);
  const box = { x: middle - half, y: y - 12, width: half * 2, height: 20 };
  group.append(svg("rect", { class: `chip${row.text.startsWith(AWAY) ? " away" : ""}`, ...box, rx: 4 }));
  group.append(textAt("chip", middle, y + 2, name, "middle"));
  return box;
}
