// Keeps an open page true: listens for events, fetches the page again and swaps what changed, lets ages grow. Without it
// every page is complete. Asks only this appliance, never the provider.
"use strict";
(() => {
  const GAP = 1000;      // At most one fetch in this many ms (coalesced).
  const IDLE = 30000;    // Budgets refill without an event: look again after this.
  const PATIENCE = 5000; // How long a broken link may take before it is said.
  const AGAIN = 3000;    // First wait before the link is tried again; it doubles until an event came through, up to IDLE.
  const body = document.body;
  const lost = document.getElementById("lost");
  const said = document.getElementById("said");
  let source = null, timer = 0, idle = 0, doubt = 0, last = -GAP, busy = false, again = false;
  let madeAt = clock(), lastId = "", tries = 0, retry = 0;

  function clock() {
    const time = document.querySelector("#made time");
    return time ? time.textContent : "";
  }

  // --- Ages. A snapshot counts from the moment it arrived, by the greater of two clocks: the one stops while the device
  // sleeps, the other can be set back, and neither may make an answer younger.
  const born = new WeakMap();
  const start = [performance.now(), Date.now()];
  const stamp = () => [performance.now(), Date.now()];
  function elapsed(element) {
    const [steady, wall] = born.get(element) || start;
    return Math.max(0, Math.floor(Math.max(performance.now() - steady, Date.now() - wall) / 1000));
  }
  function span(s) {
    const d = Math.floor(s / 86400), h = Math.floor(s % 86400 / 3600), m = Math.floor(s % 3600 / 60);
    // No line ends between a number and its unit.
    if (d) return d + "\u00a0d" + (h ? " " + h + "\u00a0h" : "");
    if (h) return h + "\u00a0h" + (m ? " " + m + "\u00a0min" : "");
    return s < 120 ? s + "\u00a0s" : m + "\u00a0min";
  }
  function label(element) {
    const gone = elapsed(element);
    const data = element.dataset;
    if (data.old !== undefined) return span(Number(data.old) + gone);
    if (data.left !== undefined) return span(Math.max(0, Number(data.left) - gone));
    const age = Number(data.rel) + gone;
    if (age === 0) return "now";
    if (age > 0 && data.due !== undefined) return "overdue by " + span(age);
    return age > 0 ? (Number(data.rel) < 0 && age < 60 ? "now" : span(age) + " ago") : "in " + span(-age);
  }
  function tick() {
    if (document.hidden) return;
    for (const element of document.querySelectorAll(".rel")) {
      const text = label(element);
      if (element.textContent === text) continue;
      if (element.dataset.left !== undefined && text === "0 s") soon();
      element.textContent = text;
    }
  }

  // --- Swapping. Unchanged parts stay as they are; a part that somebody is writing in stays too.
  function essence(section) {
    const copy = section.cloneNode(true);
    for (const rel of copy.querySelectorAll(".rel")) {
      rel.textContent = "";
      for (const name of ["data-old", "data-left", "data-rel"]) rel.removeAttribute(name);
    }
    for (const input of copy.querySelectorAll("input[type=hidden]")) input.removeAttribute("value");
    for (const details of copy.querySelectorAll("details")) details.removeAttribute("open");
    return copy.outerHTML;
  }
  // A password manager fills closed forms too: those are in nobody's use.
  function inUse(section) {
    const forms = [...section.querySelectorAll("details[open] form")];
    return forms.some((form) => form.contains(document.activeElement) ||
      [...form.querySelectorAll("input:not([type=hidden])")].some((input) => input.value !== input.defaultValue));
  }
  function swap(fresh) {
    const words = [];
    for (const next of fresh.querySelectorAll("[data-live]")) {
      const old = document.getElementById(next.id);
      if (!old || inUse(old) || (next.id !== "made" && essence(old) === essence(next))) continue;
      if (old.dataset.state !== next.dataset.state) words.push(next.dataset.state);
      const open = [...old.querySelectorAll("details[open][id]")].map((d) => d.id);
      const node = document.importNode(next, true);
      const now = stamp();
      for (const rel of node.querySelectorAll(".rel")) born.set(rel, now);
      for (const id of open) {
        const details = node.querySelector("#" + CSS.escape(id));
        if (details) details.open = true;
      }
      old.replaceWith(node);
    }
    if (words.length) said.textContent = words.join(". ") + ".";
    document.title = fresh.title || document.title;
    madeAt = clock();
  }
  async function renew() {
    if (busy) { again = true; return; }
    busy = true;
    last = performance.now();
    try {
      const answer = await fetch(location.href, { headers: { accept: "text/html" }, cache: "no-store" });
      if (!answer.ok) throw new Error(answer.status);
      swap(new DOMParser().parseFromString(await answer.text(), "text/html"));
      if (source && source.readyState === EventSource.OPEN) trust();
    } catch {
      suspect();
    } finally {
      busy = false;
      clearTimeout(idle);
      idle = setTimeout(soon, IDLE);
      if (again) { again = false; soon(); }
    }
  }
  function soon() {
    if (timer || document.hidden) return;
    timer = setTimeout(() => { timer = 0; renew(); }, Math.max(0, GAP - (performance.now() - last)));
  }

  // --- The link. Its loss is said apart from the age of the data: the one is ours, the other the provider's.
  function suspect() {
    if (!doubt) doubt = setTimeout(() => {
      document.getElementById("lost-at").textContent = madeAt;
      lost.hidden = false;
    }, PATIENCE);
  }
  function trust() {
    clearTimeout(doubt);
    doubt = 0;
    lost.hidden = true;
  }
  function listen() {
    if (source || !body.dataset.events || document.hidden) return;
    source = new EventSource(lastId ? body.dataset.events.replace(/after=\d+/, "after=" + lastId) : body.dataset.events);
    source.onopen = () => { trust(); if (tries) soon(); };
    source.onerror = () => {
      suspect();
      // Not left to the browser, which comes back at the same pace for ever, also to a link that ends as soon as it stands.
      hush();
      clearTimeout(retry);
      retry = setTimeout(listen, Math.min(IDLE, AGAIN * 2 ** tries++));
    };
    for (const kind of ["target_changed", "target_seen", "target_troubled", "hold_started", "hold_ended", "breaker_opened",
      "breaker_closed", "job_changed", "control_changed", "appliance", "finding_opened", "finding_closed",
      "phase_changed", "scan_published", "scan_troubled", "probed", "reset"]) {
      source.addEventListener(kind, (event) => { tries = 0; lastId = event.lastEventId || lastId; soon(); });
    }
  }
  function hush() {
    if (source) source.close();
    source = null;
  }
  function wake() {
    if (document.hidden) return;
    clearTimeout(retry);
    listen();
    soon();
  }
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) { tick(); wake(); return; }
    hush();
    clearTimeout(idle); clearTimeout(timer); clearTimeout(doubt); clearTimeout(retry);
    timer = doubt = 0;
  });
  addEventListener("pageshow", (event) => { if (event.persisted) wake(); });
  addEventListener("pagehide", hush);
  setInterval(tick, 1000);
  if (!document.hidden) { listen(); idle = setTimeout(soon, IDLE); }
})();
