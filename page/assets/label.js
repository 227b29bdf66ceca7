// The words beside an event. They begin at the event: what does not fit is cut, and the panel and the tooltip have all of it.

/** A label moves at most so far to the left of its arrow. */
const MOVED_PX = 18;
/** Fewer pixels show no word. */
const WORD_PX = 24;

/** The parts of a label that begins at `x`, and its box. The words are cut first, then the outcome, then the type. */
function labelFrom(row, x, y, words, view, least = x) {
  const size = view.narrow ? 11 : 12.5;
  const limit = view.width - 2;
  const count = row.fold && isFolded(row, view) ? countOf(row) : "";
  const whole = [row.what, count, row.badge?.text ?? ""].filter(Boolean).map((part) => widthOf(part, size, 600) + 6);
  const start = Math.max(least, Math.min(x, limit - whole.reduce((sum, one) => sum + one, 0)));
  let room = limit - start;
  const parts = [];
  const add = (look, text, weight) => {
    if (!text || room < WORD_PX) return;
    const shown = cut(text, room, size, weight);
    if (!shown) return;
    parts.push([look, shown]);
    room -= widthOf(shown, size, weight) + 6;
  };
  add("what", row.what, 600);
  add("count", count, 600);
  add(`badge ${row.badge?.look}`, row.badge?.text, 600);
  add("words", words, 400);
  return { parts, x: start, y, anchor: "start", box: { x: start, y: y - 12, width: limit - room - start, height: 15 } };
}

/** Beside its dot: to the right if there is room, else to the left. */
function labelOfNote(row, x, y, view) {
  const right = labelFrom(row, x + 12, y + 4, row.text, view);
  const isWhole = right.parts.at(-1)?.[1] === (row.text || row.badge?.text || row.what);
  if (isWhole || x - view.gutter < view.width - x) return right;
  const mirrored = { ...view, width: x - 10 };
  const left = labelFrom(row, view.gutter, y + 4, row.text, mirrored);
  left.anchor = "end";
  left.x = x - 12;
  left.box.x = left.x - left.box.width;
  return left;
}

function labelOfMessage(row, y, { layout, view }) {
  const { left } = arrowOf(row, y, layout);
  const late = !row.lost && row.got - row.at >= 50 ? ` (arrives ${duration(row.got - row.at)} later)` : "";
  const lost = row.lost ? " (lost)" : "";
  // The bars of calls are at the left of their lane.
  const lane = layout.xs.get(row.from) < layout.xs.get(row.to) ? row.from : row.to;
  const moved = layout.counts.has(lane) ? -4 : MOVED_PX;
  return labelFrom(row, left + 10, y - 5, `${row.text}${late}${lost}`.trim(), view, left - moved);
}

function drawLabel(label) {
  const text = svg("text", { class: "label", x: label.x, y: label.y, "text-anchor": label.anchor });
  label.parts.forEach(([look, content], index) => {
    const span = svg("tspan", { class: look, dx: index ? 6 : null });
    span.textContent = content;
    text.append(span);
  });
  return text;
}

/** Whether the line from one point to another passes through the box. */
function strikes(line, box) {
  const low = Math.max(Math.min(line.x1, line.x2), box.x);
  const high = Math.min(Math.max(line.x1, line.x2), box.x + box.width);
  if (low > high) return false;
  const yAt = (x) => (line.x1 === line.x2 ? line.y1 : line.y1 + ((line.y2 - line.y1) * (x - line.x1)) / (line.x2 - line.x1));
  const [top, bottom] = [yAt(low), yAt(high)].sort((one, other) => one - other);
  return top < box.y + box.height && bottom > box.y;
}

function overlaps(one, other) {
  return one.x < other.x + other.width && other.x < one.x + one.width && one.y < other.y + other.height && other.y < one.y + one.height;
}

/** To scale, events may be closer than a line of text: a label is shown if nothing else is in its place. */
function hideCrowded(drawn) {
  const taken = [];
  const take = (one, lines) => {
    const isFree = !taken.some((box) => overlaps(box, one.box)) && !lines.some((line) => line !== one.line && strikes(line, one.box));
    if (isFree) taken.push(one.box);
    else one.group.classList.add("quiet");
  };
  for (const one of drawn) if (one.isChip && one.box) take(one, []);
  const lines = drawn.map((one) => one.line).filter(Boolean);
  for (const one of drawn) if (!one.isChip && one.box) take(one, lines);
}
