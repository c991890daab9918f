// What the pages of `reel view` do beyond being read: more of a conversation while it is scrolled, what happens while
// it is shown, search as it is typed, and keys. All HTML comes from the server, which escapes every text in it.

const agent = document.body.dataset.agent;
const at = document.body.dataset.at;
const find = (id) => document.getElementById(id);

/** Return an address of the server, without the parameters that are missing. */
function address(path, query) {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== "");
  return `${path}?${new URLSearchParams(given)}`;
}

/** Return a page or a piece of one as nodes. */
async function read(path, options) {
  const reply = await fetch(path, options);
  if (reply.status === 404) location.reload(); // it was erased, and the page that comes says so
  if (!reply.ok) throw new Error(`${path}: ${reply.status}`);
  return new DOMParser().parseFromString(await reply.text(), "text/html");
}

function notify(text) {
  const notice = find("notice");
  notice.textContent = text;
  notice.hidden = !text;
}

// --- the end of the conversation, and both ends of what is loaded

// Whether the end is shown, and stays shown when something comes.
let pinned = false;
let scrolled = scrollY;

function isAtEnd() {
  return innerHeight + scrollY >= document.documentElement.scrollHeight - 60;
}

/** Scroll to the end. Without noting the place, a step up before the browser reports it would not be seen. */
function scrollToEnd() {
  scrollTo(0, document.documentElement.scrollHeight);
  scrolled = scrollY;
}

function showEnd() {
  pinned = true;
  scrollToEnd();
  const button = find("to-end");
  if (button) button.hidden = true;
}

/** Note where the page is: the browser reports it with the next frame, and something may have come before that. */
function notePlace() {
  if (isAtEnd()) {
    pinned = true;
    const button = find("to-end");
    if (button && !isPartial()) button.hidden = true;
  } else if (scrollY < scrolled) {
    pinned = false;
  }
  scrolled = scrollY;
}

addEventListener("scroll", notePlace, { passive: true });

/** Return whether what is loaded ends before the conversation does. */
function isPartial() {
  const { last, head } = find("main").dataset;
  return Number(last) < Number(head);
}

const heights = new ResizeObserver(() => {
  if (pinned && !isPartial()) scrollToEnd();
});
const ends = new IntersectionObserver((entries) => {
  for (const entry of entries) if (entry.isIntersecting) load(entry.target);
}, { rootMargin: "2000px 0px" });

function observe() {
  if (!find("parts")) return;
  heights.disconnect();
  heights.observe(find("main"));
  ends.disconnect();
  for (const id of ["older", "newer"]) if (!find(id).hidden) ends.observe(find(id));
}

let loading = false;

/** Load what comes before or after what is there. */
async function load(mark) {
  if (loading || mark.hidden) return;
  loading = true;
  ends.unobserve(mark);
  const main = find("main");
  const isOlder = mark.id === "older";
  const place = isOlder ? { before: main.dataset.first } : { after: main.dataset.last };
  try {
    const found = (await read(address("/parts", { agent, at, ...place }))).querySelector(".piece");
    if (isOlder) {
      prepend(found);
      main.dataset.first = found.dataset.first;
      mark.hidden = Number(found.dataset.first) <= 1;
    } else {
      find("parts").append(found);
      main.dataset.last = found.dataset.last;
      main.dataset.head = found.dataset.head;
      mark.hidden = !isPartial();
    }
  } catch {
    await new Promise((resolve) => setTimeout(resolve, 1000));
  } finally {
    loading = false;
  }
  if (find("main") === main && !mark.hidden) ends.observe(mark);
}

/** Put a piece above what is shown, which stays where it is on the screen. */
function prepend(found) {
  // At the very top a browser would keep the top instead, and then everything would be loaded.
  const first = find("parts").firstElementChild;
  const top = first.getBoundingClientRect().top;
  document.documentElement.style.overflowAnchor = "none";
  find("parts").prepend(found);
  scrollBy(0, first.getBoundingClientRect().top - top);
  document.documentElement.style.overflowAnchor = "";
}

// --- what happens

let since = Number(document.body.dataset.since);
let events;

function listen() {
  events?.close();
  const isLive = agent && document.body.dataset.since !== undefined;
  events = new EventSource(address("/live", isLive ? { agent, since } : {}));
  events.onopen = () => notify("");
  events.onerror = () => {
    const over = events.readyState === EventSource.CLOSED;
    notify(over ? "This page is no longer live: its session is over. Run reel view again."
      : "reel view has ended, or does not answer. This page shows what there was.");
  };
  on("lost", () => notify("The daemon does not answer. This page goes on when it is back."));
  on("back", () => notify(""));
  on("failed", ({ why }) => {
    events.close(); // asking again would get the same answer
    notify(`This page is no longer live: ${why}. Reload it to try again.`);
  });
  on("list", readList);
  on("parts", (data) => append(data));
  on("changed", (data) => {
    since = Math.max(since, data.seq ?? 0);
    readAgain();
  });
  on("draft", showDraft);
  on("waits", ({ text }) => {
    const place = find("waits");
    if (!place) return;
    place.textContent = text;
    place.hidden = !text;
  });
  on("gone", () => location.reload());
}

function on(name, act) {
  events.addEventListener(name, (event) => act(JSON.parse(event.data)));
}

function append({ seq, html }) {
  const { dataset } = find("main");
  since = Math.max(since, seq);
  if (seq <= Number(dataset.last)) return;
  notePlace();
  if (isPartial()) {
    dataset.head = seq; // it is loaded when somebody scrolls there
  } else {
    const nodes = new DOMParser().parseFromString(html, "text/html").body.children;
    lastPiece().append(...nodes);
    dataset.last = dataset.head = seq;
  }
  if (pinned) showEnd();
  else find("to-end").hidden = false;
}

/** Return the piece that grows. Smaller ones are cheaper: what is far from the screen is skipped piece by piece. */
function lastPiece() {
  const last = find("parts").lastElementChild;
  if (last.children.length < 150) return last;
  const next = document.createElement("div");
  next.className = "piece";
  last.after(next);
  return next;
}

function showDraft({ connection, html }) {
  let place = document.querySelector(`#drafts > [data-connection="${connection}"]`);
  if (!place) {
    place = document.createElement("div");
    place.dataset.connection = connection;
    find("drafts").append(place);
  }
  place.replaceChildren(...new DOMParser().parseFromString(html, "text/html").body.children);
  if (!html) place.remove();
}

let again;

/** Read the conversation again after something in it was taken back or replaced. */
function readAgain() {
  clearTimeout(again);
  again = setTimeout(async () => {
    const old = find("main");
    try {
      const found = await read(address("/conversation", { agent, first: old.dataset.first }));
      const shown = topmost();
      const open = unfolded();
      const focused = document.activeElement.closest("#main article")?.id;
      for (const id of ["head", "main"]) find(id).replaceWith(found.getElementById(id));
      for (const [id, number] of open) find(id)?.querySelectorAll("details")[number]?.setAttribute("open", "");
      if (focused) focusOn(find(focused));
      since = Math.max(since, Number(found.body.dataset.since));
      if (pinned) showEnd();
      else find(shown?.id)?.scrollIntoView();
      observe();
    } catch {
      setTimeout(readAgain, 1000);
    }
  }, 50);
}

/** Return what is unfolded, as the id of the message and the number in it. */
function unfolded() {
  return [...document.querySelectorAll("article")].flatMap((article) =>
    [...article.querySelectorAll("details")].flatMap((each, number) => (each.open ? [[article.id, number]] : [])));
}

// A browser opens six connections to a server. A page that nobody sees keeps none of them.
document.addEventListener("visibilitychange", () => {
  if (document.hidden) events?.close();
  else listen();
});

// --- the list, and the search in it

const field = document.querySelector("#search input");
let searching;

async function readList() {
  const list = find("list");
  searching?.abort();
  searching = new AbortController();
  const focused = list.contains(document.activeElement) && document.activeElement.getAttribute("href");
  try {
    const path = address("/list", { q: field.value.trim(), current: agent });
    const found = await read(path, { signal: searching.signal });
    list.replaceChildren(...found.body.children);
    if (focused) list.querySelector(`a[href="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
  } catch {
    // a newer search, or no daemon: the notice says so
  }
}

let typing;
field.addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(readList, 120);
});
find("search").addEventListener("submit", async (event) => {
  event.preventDefault();
  clearTimeout(typing);
  await readList();
  find("list").querySelector("a")?.focus();
});
find("list").addEventListener("click", async (event) => {
  const more = event.target.closest(".more a");
  if (!more) return;
  event.preventDefault();
  const found = await read(more.getAttribute("href"));
  const rows = [...found.querySelectorAll("li")];
  more.parentElement.replaceWith(...rows);
  rows[0]?.querySelector("a").focus();
});

// --- keys

function lines() {
  if (find("sidebar").contains(document.activeElement)) return [...find("list").querySelectorAll("a")];
  return [...find("main").querySelectorAll("article:not(.gone *), details.gone, .branches a")];
}

function focusOn(element) {
  if (!element) return;
  if (!element.matches("a")) element.tabIndex = -1;
  element.focus({ preventScroll: true });
}

function step(by) {
  const all = lines();
  if (!all.length) return;
  let index = all.findIndex((each) => each.contains(document.activeElement));
  if (index >= 0) index += by;
  else index = all.indexOf(topmost());
  const next = all[Math.min(Math.max(index, 0), all.length - 1)];
  focusOn(next);
  next.scrollIntoView({ block: next.matches("a") ? "nearest" : "start" });
}

/** Return the message at the top of the screen. To ask each message where it is would lay out all of them. */
function topmost() {
  const left = find("main").getBoundingClientRect().left + 30;
  for (let y = find("tabs")?.getBoundingClientRect().bottom ?? 0; y < innerHeight; y += 20) {
    const found = document.elementFromPoint(left, y + 8)?.closest("main article:not(.gone *), main .gone");
    if (found) return found;
  }
  return undefined;
}

/** Unfold everything in the message that has the focus; fold it if it is unfolded. */
function toggle() {
  const article = document.activeElement.closest("article, details.gone");
  if (!article || document.activeElement !== article) return false;
  const folds = [...article.querySelectorAll("details"), ...(article.matches("details") ? [article] : [])];
  const open = folds.some((each) => !each.open);
  for (const each of folds) each.open = open;
  return true;
}

function leave() {
  if (field.value && document.activeElement === field) {
    field.value = "";
    readList();
  } else {
    find("main").focus({ preventScroll: true });
  }
}

const actions = {
  j: () => step(1),
  k: () => step(-1),
  g: () => scrollTo(0, 0),
  G: showEnd,
  "/": () => (field.offsetParent ? field.select() : location.assign("/#search")),
  l: () => (find("list").offsetParent
    ? (find("list").querySelector("[aria-current]") ?? find("list").querySelector("a"))?.focus()
    : location.assign("/")),
  "?": () => find("keys").showModal(),
  Escape: leave,
};

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || find("keys").open) return;
  const isTyping = event.target.matches("input, textarea, select");
  if (isTyping && event.key !== "Escape") return;
  const tab = !isTyping && document.querySelector(`#tabs [data-key="${CSS.escape(event.key)}"]`);
  if (event.key === "Enter" ? toggle() : actions[event.key]) {
    event.preventDefault();
    if (event.key !== "Enter") actions[event.key]();
  } else if (tab) {
    event.preventDefault();
    tab.click();
  }
});

document.addEventListener("click", (event) => {
  if (event.target.id !== "to-end") return;
  if (isPartial()) location.assign(address("/conversation", { agent }));
  else showEnd();
});

// --- the beginning

if (find("parts")) {
  history.scrollRestoration = "manual";
  if (!location.hash) showEnd();
  observe();
}
if (location.hash === "#search") field.focus();
if (!document.hidden) listen();
