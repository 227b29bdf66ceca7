// The live page: reads `/events` and shows what the server knows now. It asks for nothing else and changes nothing.

/** Older events are forgotten. */
const KEPT = 3000;
/** How many of them are drawn, and keep their bodies. */
const DRAWN = 300;
const REDRAW_MS = 250;
const RETRY_MS = { first: 500, max: 5000, busy: 10_000 };
/** How many calls the list has, and how many of them at first. */
const LAST_CALLS = 100;
const FIRST_CALLS = 5;

const live = {
  /** In memory only. */
  token: null,
  about: null,
  lanes: [],
  events: [],
  /** The number of the first kept event. */
  first: 0,
  state: null,
  /** The server's clock minus that of the page. */
  offset: 0,
  retry: RETRY_MS.first,
  isConnected: false,
  isDrawn: true,
  /** Calls, oldest first. */
  calls: new Map(),
  /** Whether the list has all calls. */
  showsAll: false,
  /** Whether the picture has been drawn with events. */
  follows: true,
};

const now = () => performance.now() + live.offset;

function takeToken() {
  const given = /(?:^#|&)token=([^&]+)/.exec(location.hash);
  if (!given) return false;
  live.token = decodeURIComponent(given[1]);
  history.replaceState(null, "", location.pathname + location.search);
  return true;
}

function say(text, isBad = false) {
  const status = find("status");
  if (status.textContent === text) return;
  status.textContent = text;
  status.className = isBad ? "status bad" : "status";
}

async function follow() {
  for (;;) {
    const wait = await readOnce();
    live.isConnected = false;
    paintSoon();
    await new Promise((done) => {
      live.wake = done;
      setTimeout(done, wait);
    });
  }
}

/** One connection, until it ends. Returns how long to wait before the next. */
async function readOnce() {
  let answer;
  try {
    const headers = live.token ? { Authorization: `Bearer ${live.token}` } : {};
    answer = await fetch("events", { headers, cache: "no-store" });
  } catch {
    return stopped();
  }
  if (!answer.ok || !answer.body) return refused(answer.status);
  try {
    await readEvents(answer.body.getReader());
  } catch {
    // The connection broke: the same as its end.
  }
  return stopped();
}

function stopped() {
  say("The server has stopped. This page connects again when it is back.", true);
  live.retry = Math.min(RETRY_MS.max, live.retry * 1.6);
  return live.retry;
}

function refused(status) {
  const texts = {
    401: "The server asks for a token. Open this page with #token=… at the end of its address; the log of the server says where the token is.",
    403: "The server does not serve this page to this browser. Open the address that the server logs.",
    503: "Two others are watching this server already, and it serves two at a time. Close one of them; this page tries again every 10 s.",
  };
  say(texts[status] ?? `The server answered ${status}. This page tries again every 10 s.`, true);
  return RETRY_MS.busy;
}

/** Server-sent events: lines of `name: value`, and an empty line after each event. */
async function readEvents(reader) {
  const decoder = new TextDecoder();
  let rest = "";
  let name = "message";
  let data = [];
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const lines = (rest + decoder.decode(value, { stream: true })).split("\n");
    rest = lines.pop();
    for (const line of lines.map((one) => one.replace(/\r$/, ""))) {
      if (line.startsWith("event:")) name = line.slice(6).trim();
      else if (line.startsWith("data:")) data.push(line.slice(5).replace(/^ /, ""));
      else if (line === "") {
        if (data.length) take(name, JSON.parse(data.join("\n")));
        name = "message";
        data = [];
      }
    }
  }
}

function take(name, value) {
  if (name === "snapshot") takeSnapshot(value);
  else if (name === "event") takeEvent(value);
  else if (name === "lane" && !live.lanes.some((lane) => lane.id === value.id)) addLane(value);
  else if (name === "about") live.about = value;
  paintSoon();
}

function takeSnapshot(snapshot) {
  const isAnother = live.about && (live.about.pid !== snapshot.about.pid || live.about.started !== snapshot.about.started);
  Object.assign(live, { about: snapshot.about, state: snapshot.state, isConnected: true, retry: RETRY_MS.first, lanes: [] });
  live.first += live.events.length;
  live.events = [];
  live.calls.clear();
  if (isAnother) picture.chosen = null;
  live.offset = snapshot.now - performance.now();
  snapshot.lanes.forEach(addLane);
  snapshot.events.forEach(takeEvent);
  say("Live");
}

/** Agents, then servers, then Editors. */
function addLane(lane) {
  const order = ["agent", "server", "editor"];
  live.lanes = [...live.lanes, lane].sort((one, other) => order.indexOf(one.kind) - order.indexOf(other.kind));
}

function takeEvent(event) {
  live.events.push(event);
  if (event.kind === "state") live.state = event.state;
  noteCall(event);
  const old = live.events[live.events.length - 1 - DRAWN];
  if (old?.body) delete old.body;
  if (live.events.length > KEPT + 200) {
    live.first += live.events.length - KEPT;
    live.events = live.events.slice(-KEPT);
  }
}

/** Calls outlive the events that told of them. */
function noteCall(event) {
  if (event.kind === "call_began") {
    live.calls.set(event.call, { id: event.call, tool: event.tool, lane: event.lane, at: event.at, served: null, ended: null, outcome: null, code: null, guarantee: null, replayed: false });
    const ended = [...live.calls.values()].find((call) => call.outcome);
    if (live.calls.size > 200 && ended) live.calls.delete(ended.id);
  }
  const call = live.calls.get(event.call);
  if (!call) return;
  if (event.kind === "call_served" && call.served === null) call.served = event.at;
  if (event.kind === "call_ended") Object.assign(call, { ended: event.at, outcome: event.outcome, code: event.code ?? null, guarantee: event.guarantee ?? null, replayed: Boolean(event.replayed) });
}

function paintSoon() {
  if (!live.isDrawn) return;
  live.isDrawn = false;
  setTimeout(() => requestAnimationFrame(paint), REDRAW_MS);
}

function paint() {
  live.isDrawn = true;
  const box = find("drawing").parentElement;
  live.follows = box.scrollHeight - box.scrollTop - box.clientHeight < 60 && picture.chosen === null;
  const from = Math.max(0, live.events.length - DRAWN);
  const recent = live.events.slice(from);
  const used = new Set(recent.flatMap((event) => [event.from, event.to, event.lane]));
  const lanes = live.lanes.filter((lane) => lane.kind !== "agent" || used.has(lane.id));
  const before = from ? live.events.slice(0, from).findLast((event) => event.kind === "state") : null;
  picture.model = buildModel(lanes, before ? [before, ...recent] : recent, live.first + from - (before ? 1 : 0));
  picture.model.state = live.state;
  refill();
  redraw();
  if (live.follows) box.scrollTop = box.scrollHeight;
  showAbout();
  showTables();
}
