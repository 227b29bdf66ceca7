// Folds rows that repeat, so that a flood of equal messages is one row with a count.

/** Fewer repetitions stay as they are. */
const FOLD_MIN = 3;
/** A message and its answer fold too: two rows that repeat in turn. */
const FOLD_PERIOD_MAX = 2;
/** To scale, a fold that lasts longer is drawn row by row: its rows have places of their own. */
const FOLD_SCALE_MS = 100;

const SAME_FIELDS = ["kind", "what", "text", "from", "to", "lane", "lost", "error", "call"];

function isSameRow(one, other) {
  return SAME_FIELDS.every((field) => one[field] === other[field]);
}

/** How often the rows from `begin` on repeat: 1 means once. */
function repeatsFrom(rows, begin, period, canFold) {
  let end = begin;
  while (end < rows.length && canFold(rows[end]) && (end < begin + period || isSameRow(rows[end], rows[end - period]))) end += 1;
  return Math.floor((end - begin) / period);
}

/** The first of equal rows has all of them in `fold`; the others name it in `foldedInto`. */
function foldRows(rows, calls) {
  const fixed = new Set([...calls.values()].flatMap((call) => [call.beginRow, call.endRow]));
  const canFold = (row) => (row.kind === "message" || row.kind === "note") && !row.badge && !fixed.has(row.number);
  for (let begin = 0; begin < rows.length;) {
    begin += foldAt(rows, begin, canFold);
  }
}

/** How many rows are done with. */
function foldAt(rows, begin, canFold) {
  for (let period = 1; period <= FOLD_PERIOD_MAX; period += 1) {
    const times = repeatsFrom(rows, begin, period, canFold);
    // A request is above its answer.
    if (times < FOLD_MIN || (period > 1 && rows[begin].what === "answer")) continue;
    const done = times * period;
    for (let place = 0; place < period; place += 1) {
      const head = rows[begin + place];
      head.fold = rows.slice(begin, begin + done).filter((_, index) => index % period === place);
      for (const other of head.fold.slice(1)) other.foldedInto = head;
    }
    return done;
  }
  return 1;
}

/** When the row, or the last one that is folded into it, happened. */
function endOf(row) {
  return row.fold?.at(-1).at ?? row.at;
}

/** Whether the scale draws the row with those that are equal to it as one. */
function isFolded(row, view) {
  const head = row.foldedInto ?? row;
  return Boolean(head.fold) && (view.scale !== "time" || endOf(head) - head.at <= FOLD_SCALE_MS);
}

/** What a folded row says beside its type. */
function countOf(row) {
  const until = endOf(row) - row.at >= GAP_MS ? `, until ${seconds(endOf(row))}` : "";
  return `× ${row.fold.length}${until}`;
}

/** Lists what is folded, for the panel. */
function listOf(row) {
  const shown = row.fold.slice(0, 100).map((one) => seconds(one.at));
  const more = row.fold.length - shown.length;
  return `${row.fold.length} times: ${shown.join(", ")}${more ? ` and ${more} more until ${seconds(endOf(row))}` : ""}`;
}
