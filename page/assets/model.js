// What the picture shows, worked out from a list of events: rows, calls and bands. Nothing is drawn here.

/** A pause that is longer than this is marked between two rows. */
const GAP_MS = 500;
/** A call that waited less did not wait. */
const INSTANT_MS = 10;
/** How far apart the message of a call and the beginning or the end of that call may be in the list. */
const NEAR = 4;

/** The state of an Editor's lane while the Editor has no session: the lane has a gap. */
const AWAY = "no session";

const OUTCOMES = { ok: "ok", failed: "failed", cancelled: "cancelled", lost: "no answer" };

function seconds(ms) {
  return `${(ms / 1000).toFixed(3)} s`;
}

function duration(ms) {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 100_000) return `${(ms / 1000).toFixed(1)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
}

function outcomeOf(call) {
  if (!call.outcome) return call.served === null ? "waits" : "runs";
  if (call.outcome !== "failed") return OUTCOMES[call.outcome] + (call.replayed ? ", sent again" : "");
  return [call.code ?? "failed", call.guarantee].filter(Boolean).join(" · ");
}

/** The class that colours a call. */
function lookOf(call) {
  return call.outcome ?? "open";
}

/** How long a call waited and how long it took in all; `now` for a call that has not ended. */
function timesOf(call, now) {
  const end = call.ended ?? now;
  return { waited: (call.served ?? end) - call.at, took: end - call.at };
}

/** Whether a call waited for something, and how long it took. */
function timesText(call, now) {
  const { waited, took } = timesOf(call, now);
  const wait = waited >= INSTANT_MS ? `waited ${duration(waited)}` : call.served === null && !call.outcome ? "" : "at once";
  return [wait, `took ${duration(took)}`].filter(Boolean).join(" · ");
}

function hasEnded(job) {
  return !["queued", "running"].includes(job.state);
}

/** A moment as people say it. */
function ago(ms) {
  if (ms < 1000) return "now";
  if (ms < 60_000) return `${Math.floor(ms / 1000)} s ago`;
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} min ago`;
  return `${Math.floor(ms / 3_600_000)} h ago`;
}

/** Turns events into rows. An event of a kind that it does not know is left out. */
class Builder {
  constructor(lanes, events, first) {
    this.lanes = lanes;
    this.events = events;
    /** The number of the first event: the live page forgets old ones. */
    this.first = first;
    this.rows = [];
    this.calls = new Map();
    this.bands = [];
    this.openBands = new Map();
    this.state = null;
    this.rowOfEvent = new Map();
    this.begins = new Map();
    this.ends = new Map();
    this.editors = lanes.filter((lane) => lane.kind === "editor");
    this.stated = new Set(events.filter((event) => event.kind === "lane_state").map((event) => event.lane));
  }

  build() {
    this.events.forEach((event, index) => this[`on_${event.kind}`]?.(event, index));
    for (const band of this.openBands.values()) this.bands.push({ ...band, toRow: null });
    foldRows(this.rows, this.calls);
    return { lanes: this.lanes, rows: this.rows, calls: this.calls, bands: this.bands, state: this.state };
  }

  row(event, index, more) {
    const row = { id: this.first + index, at: event.at, call: event.call ?? null, state: this.state, number: this.rows.length, text: "", ...more };
    this.rows.push(row);
    this.rowOfEvent.set(index, row);
    return row;
  }

  /** The message of this call that is nearest to the event, if one is near. */
  messageNear(index, call, lane, steps) {
    for (const step of steps) {
      const other = this.events[index + step];
      if (other?.kind === "message" && other.call === call && (other.from === lane || other.to === lane)) return index + step;
    }
    return null;
  }

  on_message(event, index) {
    const row = this.row(event, index, {
      kind: "message", what: event.what, text: event.text ?? "", from: event.from, to: event.to, got: event.got ?? event.at,
      lost: Boolean(event.lost), error: Boolean(event.error), body: event.body ?? null,
    });
    const begun = this.begins.get(index);
    if (begun) begun.beginRow = row.number;
    const ended = this.ends.get(index);
    if (ended) this.endAt(ended, row);
  }

  on_note(event, index) {
    this.row(event, index, { kind: "note", what: "", lane: event.lane, text: event.text });
  }

  on_fault(event, index) {
    const row = this.row(event, index, { kind: "fault", what: "fault", lane: event.lane, text: event.text });
    this.bands.push({ lane: event.lane, look: "fault", text: event.text, fromRow: row.number, until: event.until ?? null, toRow: null });
  }

  on_call_began(event, index) {
    const call = {
      id: event.call, tool: event.tool, lane: event.lane, at: event.at, served: null, ended: null, outcome: null, code: null,
      guarantee: null, replayed: false, beginRow: null, servedRow: null, endRow: null,
    };
    this.calls.set(event.call, call);
    const near = this.messageNear(index, event.call, event.lane, [1, 2, 3, NEAR, -1, -2, -3]);
    if (near === null) {
      call.beginRow = this.row(event, index, { kind: "call", what: event.tool, lane: event.lane, text: event.call }).number;
    } else if (near > index) {
      this.begins.set(near, call);
      call.beginRow = this.rows.length;
    } else {
      call.beginRow = this.rowOfEvent.get(near).number;
    }
  }

  on_call_served(event) {
    const call = this.calls.get(event.call);
    if (!call || call.served !== null) return;
    call.served = event.at;
    call.servedRow = event.at - call.at < INSTANT_MS ? call.beginRow : this.rows.length;
  }

  on_call_ended(event, index) {
    const call = this.calls.get(event.call);
    if (!call || call.outcome) return;
    call.ended = event.at;
    call.outcome = event.outcome;
    call.code = event.code ?? null;
    call.guarantee = event.guarantee ?? null;
    call.replayed = Boolean(event.replayed);
    const near = this.messageNear(index, event.call, call.lane, [-1, -2, -3, 1, 2, 3]);
    const message = near === null ? null : this.events[near];
    // An answer comes to the lane of the agent; the call itself leaves from there.
    if (message && message.to === call.lane && near > index) this.ends.set(near, call);
    else if (message && message.to === call.lane) this.endAt(call, this.rowOfEvent.get(near));
    else this.endAt(call, this.row(event, index, { kind: "call", what: call.tool, lane: call.lane }));
  }

  endAt(call, row) {
    call.endRow = row.number;
    row.badge = { text: outcomeOf(call), look: lookOf(call) };
  }

  on_state(event, index) {
    const before = this.state;
    this.state = event.state;
    const server = this.lanes.find((lane) => lane.kind === "server");
    if (server && !this.stated.has(server.id) && (before?.waits_for ?? null) !== (event.state.waits_for ?? null)) {
      this.band(server.id, event, index, event.state.waits_for ? `calls wait: ${event.state.waits_for}` : null);
    }
    const editor = this.editors.length === 1 ? this.editors[0].id : null;
    if (editor && !this.stated.has(editor) && before?.editor !== event.state.editor) {
      const shown = event.state.editor === "unknown" ? "not connected" : event.state.editor;
      this.band(editor, event, index, event.state.editor === "ready" ? null : shown);
    }
  }

  on_lane_state(event, index) {
    this.band(event.lane, event, index, event.text ?? null);
  }

  /** From here on the lane is in this state; null ends the last one. */
  band(lane, event, index, text) {
    const open = this.openBands.get(lane);
    if (open?.text === text) return;
    if (open) {
      // It reaches over a pause in which nothing else happened.
      const isLater = event.at - (this.rows.at(-1)?.at ?? event.at) >= GAP_MS;
      this.bands.push({ ...open, toRow: Math.max(open.fromRow, this.rows.length - (isLater ? 0 : 1)), isOpenEnd: isLater });
      this.openBands.delete(lane);
    }
    if (text === null) return;
    const row = this.row(event, index, { kind: "chip", what: "state", lane, text });
    this.openBands.set(lane, { lane, text, look: text.startsWith(AWAY) ? "away" : "state", fromRow: row.number, until: null });
  }
}

function buildModel(lanes, events, first = 0) {
  return new Builder(lanes, events, first).build();
}

/** A row as one sentence, for screen readers and for the bug report. */
function sentenceOf(row) {
  const at = `${seconds(row.at)} `;
  const badge = (row.fold ? `, ${row.fold.length} times` : "") + (row.badge ? `, ${row.badge.text}` : "");
  if (row.kind === "message") {
    const lost = row.lost ? ", lost on the way" : "";
    return `${at}${row.from} to ${row.to}: ${row.what} ${row.text}`.trimEnd() + badge + lost;
  }
  return `${at}${row.lane}: ${row.what} ${row.text}`.replace("  ", " ").trimEnd() + badge;
}
