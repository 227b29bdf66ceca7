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
      if (last && row.at - last.at >= GAP_MS) {
        gaps.push({ y: y + GAP_PX / 2 + 2, text: `⋯ ${shortly(row.at - last.at)}` });
        y += GAP_PX;
      }
      const shares = last?.kind === "chip" && row.kind === "chip" && row.at - last.at <= SAME_MS && row.lane !== last.lane && areApart(last, row, xs);
      if (!shares) y += (row.kind === "chip" ? CHIP_PX : ROW_PX) * view.zoom;
      last = row;
    }
    ys.push(y);
  }
  const end = y + 28;
  return { xs, ys, gaps, slots, counts, height: end + 6, end, k, start };
}

/** Fits beside the lanes. */
function shortly(ms) {
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
  const bands = model.bands.map((band) => drawBand(band, model, layout)).filter(Boolean);
  const gaps = layout.gaps.map((gap) => drawGap(gap, view));
  const bars = [...model.calls.values()].flatMap((call) => drawCall(call, layout, view));
  const drawing = { layout, view, kinds, lastLabel: -Infinity, lastTime: "" };
  const rows = model.rows.filter(isShown).map((row) => drawRow(row, drawing));
  sized(target, view.width, layout.height);
  target.replaceChildren(...back, ...bands, ...gaps, ...bars, ...rows, svg("line", { class: "cursor", id: "cursor", x1: 0, x2: view.width, y1: -9, y2: -9 }));
}

function hatch() {
  const stripe = svg("path", { d: "M-1 7 L7 -1 M-1 1 L1 -1 M5 7 L7 5", class: "stripe" });
  const pattern = svg("pattern", { id: "hatch", width: 6, height: 6, patternUnits: "userSpaceOnUse" }, svg("rect", { class: "under", width: 6, height: 6 }), stripe);
  return svg("defs", {}, pattern);
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
  return svg("rect", { class: `band ${band.look}`, x: x - 8, width: 16, y: top, height: Math.max(2, bottom - top) });
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
  const served = call.servedRow === null ? bottom : Math.min(Math.max(at(call.servedRow), top), bottom);
  const x = lane - 7 - (layout.slots.get(call.id) + 1) * (BAR_PX + 2) + BAR_PX;
  const parts = [];
  const title = () => svg("title", {}, `${call.id} ${call.tool}: ${outcomeOf(call)}`);
  const look = `bar ${lookOf(call)}`;
  if (served > top) parts.push(svg("rect", { class: `${look} waiting`, x, y: top, width: BAR_PX, height: served - top, "data-call": call.id }, title()));
  if (bottom > served) parts.push(svg("rect", { class: look, x, y: served, width: BAR_PX, height: bottom - served, "data-call": call.id }, title()));
  return parts;
}

function drawRow(row, drawing) {
  const { layout, view } = drawing;
  const y = layout.ys[row.number];
  const group = svg("g", { class: `row ${row.kind}${row.error ? " error" : ""}`, id: `row-${row.id}`, role: "option", "aria-selected": "false", "aria-label": sentenceOf(row), "data-row": row.id, "data-call": row.call });
  const high = (row.kind === "chip" ? CHIP_PX : ROW_PX) * view.zoom;
  if (view.scale === "time") group.append(svg("rect", { class: "hit", x: 0, y: y - 5, width: view.width, height: 10 }));
  else group.append(svg("rect", { class: "hit", x: 0, y: y - high + 8, width: view.width, height: high }));
  const isQuiet = view.scale === "time" && y - drawing.lastLabel < (row.kind === "chip" ? 26 : 19);
  if (isQuiet) group.classList.add("quiet");
  else drawing.lastLabel = y;
  const time = (row.at / 1000).toFixed(3);
  if (time !== drawing.lastTime || isQuiet) group.append(textAt("time", view.gutter - 6, y - (row.kind === "chip" ? 2 : 0) + 4, time, "end"));
  if (!isQuiet) drawing.lastTime = time;
  if (row.kind === "message") drawMessage(group, row, y, drawing);
  else if (row.kind === "chip") drawChip(group, row, y, drawing);
  else drawNote(group, row, y, drawing);
  return group;
}

function textAt(look, x, y, content, anchor) {
  const text = svg("text", { class: look, x, y, "text-anchor": anchor });
  text.textContent = content;
  return text;
}

function drawMessage(group, row, y, { layout, view, kinds }) {
  const from = layout.xs.get(row.from);
  const to = layout.xs.get(row.to);
  if (from === undefined || to === undefined) return;
  const wire = kinds.get(row.from) === "editor" || kinds.get(row.to) === "editor" ? "unity" : "mcp";
  group.classList.add(wire);
  const turn = Math.sign(to - from) || 1;
  const end = row.lost ? (from + to) / 2 : to;
  const fall = layout.k ? (row.got - row.at) * layout.k : 0;
  const yEnd = y + (row.lost ? 0 : fall);
  group.append(svg("line", { class: "arrow", x1: from, y1: y, x2: end - turn * 2, y2: yEnd }));
  const tip = row.lost
    ? `M${end - 5} ${y - 5} l10 10 M${end + 5} ${y - 5} l-10 10`
    : `M${end} ${yEnd} l${-8 * turn} -4 l0 8 z`;
  group.append(svg("path", { class: row.lost ? "lost" : "tip", d: tip }));
  const late = !row.lost && row.got - row.at >= 50 ? ` (arrives ${duration(row.got - row.at)} later)` : "";
  const lost = row.lost ? " (lost)" : "";
  label(group, row, Math.min(from, end) + 10, y - 5, row.text + late + lost, view);
}

/** The label begins where the arrow does, and moves to the left if it needs the room. */
function label(group, row, x, y, words, view) {
  const size = view.narrow ? 11 : 12.5;
  const room = view.width - view.gutter - 4;
  const badge = row.badge ? cut(row.badge.text, room * 0.7, size, 600) : "";
  const what = cut(row.what, room * 0.6, size, 600);
  let used = widthOf(what, size, 600) + (badge ? widthOf(badge, size, 600) + 8 : 0) + 8;
  const rest = cut(words, Math.max(0, room - used), size);
  used += widthOf(rest, size);
  const text = svg("text", { class: "label", x: Math.max(view.gutter, Math.min(x, view.width - used)), y });
  const part = (look, content) => {
    const span = svg("tspan", { class: look });
    span.textContent = content;
    if (content) text.append(span);
  };
  part("what", what ? `${what} ` : "");
  part(`badge ${row.badge?.look}`, badge ? `${badge} ` : "");
  part("words", rest);
  group.append(text);
}

function drawChip(group, row, y, { layout, view }) {
  const x = layout.xs.get(row.lane);
  if (x === undefined) return;
  const size = view.narrow ? 11 : 12;
  const name = cut(row.text, view.width - view.gutter - 24, size, 600);
  const half = widthOf(name, size, 600) / 2 + 8;
  const middle = Math.min(Math.max(x, view.gutter + half), view.width - half - 1);
  group.append(svg("rect", { class: "chip", x: middle - half, y: y - 12, width: half * 2, height: 20, rx: 4 }));
  group.append(textAt("chip", middle, y + 2, name, "middle"));
}

/** Beside its dot: to the right if there is room, else to the left. */
function drawNote(group, row, y, { layout, view }) {
  const x = layout.xs.get(row.lane);
  if (x === undefined) return;
  group.append(svg("circle", { class: "dot", cx: x, cy: y, r: 4 }));
  const size = view.narrow ? 11 : 12.5;
  const all = widthOf(row.what, size, 600) + widthOf(row.text, size) + (row.badge ? widthOf(row.badge.text, size, 600) + 8 : 0) + 8;
  const toTheRight = x + 10 + all <= view.width || x - view.gutter < view.width - x;
  if (toTheRight) {
    label(group, row, x + 10, x + 10 + all <= view.width ? y + 4 : y - 6, row.text, view);
    return;
  }
  const fits = x - view.gutter - 12 >= all;
  label(group, row, x - 10 - all, fits ? y + 4 : y - 6, row.text, view);
}
