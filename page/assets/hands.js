// Connects keys, pointer and fields with what they do.

const KEYS = {
  ArrowDown: () => step(1), j: () => step(1), ArrowUp: () => step(-1), k: () => step(-1),
  PageDown: () => step(10), PageUp: () => step(-10), Home: () => step(-1e9), End: () => step(1e9),
  " ": () => play(), Enter: () => picture.chosen !== null && choose(picture.chosen, { opens: true }),
  Escape: () => closePanel(), t: () => switchScale(), "+": () => zoom(1.25, focusY()), "-": () => zoom(0.8, focusY()),
};

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const target = event.target;
  const isField = target.matches("input, select, textarea, pre");
  const isPressed = target.matches("button, summary, a") && (event.key === " " || event.key === "Enter");
  if (event.key === "Escape" && target.id === "text" && target.value) return;
  if ((isField && event.key !== "Escape") || isPressed || !KEYS[event.key]) return;
  event.preventDefault();
  KEYS[event.key]();
}

function onHover(event) {
  const row = event.target.closest?.("[data-row]")?.getAttribute("data-row") ?? null;
  for (const group of document.querySelectorAll(".row.hovered")) group.classList.remove("hovered");
  if (row !== null) find(`row-${row}`)?.classList.add("hovered");
  hover(event.target.closest?.("[data-call]")?.getAttribute("data-call") ?? null);
}

function hover(call) {
  if (call === picture.hovered) return;
  picture.hovered = call;
  light();
}

/** Chips and lines of tables light the messages of their call, and keep them lit when they are chosen. */
function connectCalls(list) {
  list.addEventListener("click", (event) => {
    const of = event.target.closest("[data-call]");
    if (of) pin(of.dataset.call, { shows: true });
  });
  for (const kind of ["pointerover", "focusin"]) list.addEventListener(kind, onHover);
  for (const kind of ["pointerleave", "focusout"]) list.addEventListener(kind, () => hover(null));
}

function connectPicture() {
  const drawing = find("drawing");
  drawing.addEventListener("pointerover", onHover);
  drawing.addEventListener("pointerleave", onHover);
  drawing.addEventListener("click", (event) => {
    const bar = event.target.closest(".bar")?.getAttribute("data-call");
    const row = event.target.closest("[data-row]");
    if (bar) pin(bar);
    else if (row) choose(Number(row.getAttribute("data-row")), { opens: true });
  });
  connectCalls(find("chips"));
  drawing.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    zoom(Math.exp(-event.deltaY / 300), event.clientY);
  }, { passive: false });
}

/** Keeps a call lit; the same call again lets it go. `shows`: scrolls to its first message. */
function pin(call, { shows = false } = {}) {
  picture.pinned = picture.pinned === call ? null : call;
  picture.hovered = null;
  light();
  const first = picture.model.rows.find((row) => row.call === picture.pinned && isShown(row));
  if (shows && picture.pinned !== null && first) choose(first.id, { quiet: true, upper: true });
}

function connectTools() {
  const onClick = { back: () => step(-1), next: () => step(1), play: () => play(), scale: switchScale, close: closePanel, smaller: () => zoom(0.8, focusY()), larger: () => zoom(1.25, focusY()) };
  for (const [id, does] of Object.entries(onClick)) find(id).addEventListener("click", does);
  const onFilter = () => {
    for (const id of ["text", "lane", "call", "kind"]) picture.filter[id] = find(id).value;
    const isOn = Object.values(picture.filter).some(Boolean);
    const shown = shownRows().length;
    find("filtered").textContent = isOn ? ` (${shown} of ${picture.model.rows.filter((row) => !row.foldedInto || !isFolded(row, picture.view)).length})` : "";
    redraw();
  };
  for (const id of ["text", "lane", "call", "kind"]) find(id).addEventListener("input", onFilter);
  find("clear").addEventListener("click", () => {
    for (const id of ["text", "lane", "call", "kind"]) find(id).value = "";
    onFilter();
  });
}

function connect() {
  document.addEventListener("keydown", onKey);
  connectPicture();
  connectTools();
  let width = 0;
  new ResizeObserver(() => {
    const now = find("picture").clientWidth;
    if (now !== width) redraw();
    width = now;
  }).observe(find("picture"));
}
