// Keeps an open page true: listens for events, fetches the page again, swaps what changed, lets ages grow. Asks only this appliance.
"use strict";
(() => {
  const GAP = 1000; // ms: at most one fetch in it.
  const IDLE = 30000; // Budgets refill without an event.
  const PATIENCE = 5000; // A link broken for longer is said.
  const AGAIN = 3000; // First wait for a link; doubles until an event came, up to IDLE.
  const body = document.body;
  const byId = (id) => document.getElementById(id);
  const lost = byId("lost");
  const said = byId("said");
  let source = null, timer = 0, idle = 0, doubt = 0, last = -GAP, busy = false, again = false;
  let madeAt = clock(), lastId = "", tries = 0, retry = 0, over = false;

  function clock() {
    const time = document.querySelector("#made time");
    return time ? time.textContent : "";
  }

  // --- Whose zone. Kept for the whole site, wherever that begins; one that somebody chose stays.
  function rules(zone) {
    const at = (month) => new Date(2026, month, 1).toLocaleString("en", { timeZone: zone, timeZoneName: "longOffset" });
    try { return at(0) + at(6); } catch { return zone; }
  }
  function settle() {
    const kept = document.cookie.split("; ").find((pair) => pair.startsWith("larder-reader="));
    const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
    const shown = kept ? kept.split(/[=~]/)[1] : body.dataset.zone;
    if (!zone || (kept && !kept.endsWith("~auto")) || rules(zone) === rules(shown)) return false;
    const root = new URL(body.dataset.root || ".", location).pathname.replace(/(.)\/$/, "$1");
    const own = "larder-reader=" + zone + "~24~auto";
    document.cookie = own + "; path=" + root + "; max-age=34560000; samesite=lax";
    return document.cookie.includes(own);
  }
  if (settle()) return location.reload();

  // --- Ages, by the greater of two clocks: one stops while the device sleeps, the other can be set back.
  const born = new WeakMap();
  const stamp = () => [performance.now(), Date.now()];
  const start = stamp();
  function elapsed(element) {
    const [steady, wall] = born.get(element) || start;
    return Math.max(0, Math.floor(Math.max(performance.now() - steady, Date.now() - wall) / 1000));
  }
  function span(s) {
    const d = Math.floor(s / 86400), h = Math.floor(s % 86400 / 3600), m = Math.floor(s % 3600 / 60);
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

  // --- Swapping. What is unchanged or written in stays.
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
  // A password manager fills closed forms too.
  function inUse(section) {
    const forms = [...section.querySelectorAll("details[open] form")];
    return forms.some((form) => form.contains(document.activeElement) ||
      [...form.querySelectorAll("input:not([type=hidden])")].some((input) => input.value !== input.defaultValue));
  }
  function swap(fresh) {
    const words = [];
    for (const next of fresh.querySelectorAll("[data-live]")) {
      const old = byId(next.id);
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
  // --- Builds. A page of another one is loaded anew, once for each.
  function outdated(serves) {
    if (!serves || serves === body.dataset.build) return;
    over = true;
    rest();
    try {
      if (!sessionStorage[serves] && !inUse(document)) {
        sessionStorage[serves] = 1;
        return location.reload();
      }
    } catch { }
    lost.textContent = "Larder was updated. Load this page again.";
    lost.hidden = false;
  }
  async function renew() {
    if (over) return;
    if (busy) { again = true; return; }
    busy = true;
    last = performance.now();
    try {
      const headers = { accept: "text/html", "larder-build": body.dataset.build };
      const answer = await fetch(location.href, { headers, cache: "no-store" });
      outdated(answer.headers.get("larder-build"));
      if (over) return;
      // Signed out meanwhile: the same address is where one signs in.
      if (answer.status === 401) { over = true; location.reload(); return; }
      if (!answer.ok) throw new Error(answer.status);
      swap(new DOMParser().parseFromString(await answer.text(), "text/html"));
      if (source && source.readyState === EventSource.OPEN) trust();
    } catch {
      suspect();
    } finally {
      busy = false;
      clearTimeout(idle);
      if (!over) idle = setTimeout(soon, IDLE);
      if (again) { again = false; soon(); }
    }
  }
  function soon() {
    if (timer || over || document.hidden) return;
    timer = setTimeout(() => { timer = 0; renew(); }, Math.max(0, GAP - (performance.now() - last)));
  }

  // --- What a form would do, shown while it is filled in. Without script its own button shows it.
  let wish = 0;
  document.addEventListener("input", (event) => {
    const form = event.target.closest("form[data-effect]");
    if (!form || over) return;
    clearTimeout(wish);
    wish = setTimeout(async () => {
      const there = new URL(location.pathname, location);
      there.search = new URLSearchParams(new FormData(form));
      try {
        const answer = await fetch(there, { headers: { accept: "text/html", "larder-build": body.dataset.build }, cache: "no-store" });
        const page = new DOMParser().parseFromString(await answer.text(), "text/html");
        const fresh = page.getElementById(form.dataset.effect);
        if (answer.ok && fresh) byId(form.dataset.effect).replaceChildren(...document.importNode(fresh, true).childNodes);
      } catch { }
    }, 400);
  });

  // --- The link.
  function suspect() {
    if (!doubt) doubt = setTimeout(() => {
      byId("lost-at").textContent = madeAt;
      lost.hidden = false;
    }, PATIENCE);
  }
  function trust() {
    clearTimeout(doubt);
    doubt = 0;
    lost.hidden = true;
  }
  function listen() {
    if (source || over || !body.dataset.events || document.hidden) return;
    source = new EventSource(lastId ? body.dataset.events.replace(/after=\d+/, "after=" + lastId) : body.dataset.events);
    source.onopen = () => { trust(); if (tries) soon(); };
    source.onerror = () => {
      suspect();
      // A stream does not say why.
      if (!tries) soon();
      // The browser would come back at one pace for ever.
      hush();
      clearTimeout(retry);
      retry = setTimeout(listen, Math.min(IDLE, AGAIN * 2 ** tries++));
    };
    for (const kind of ["target_changed", "target_seen", "target_troubled", "hold_started", "hold_ended", "breaker_opened",
      "breaker_closed", "job_changed", "control_changed", "appliance", "finding_opened", "finding_closed",
      "phase_changed", "scan_published", "scan_troubled", "probed", "access_changed", "reset"]) {
      source.addEventListener(kind, (event) => { tries = 0; lastId = event.lastEventId || lastId; soon(); });
    }
  }
  function hush() {
    if (source) source.close();
    source = null;
  }
  function rest() {
    hush();
    [idle, timer, doubt, retry].forEach(clearTimeout);
    timer = doubt = 0;
  }
  function wake() {
    if (document.hidden) return;
    clearTimeout(retry);
    listen();
    soon();
  }
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) { tick(); wake(); return; }
    rest();
  });
  addEventListener("pageshow", (event) => { if (event.persisted) wake(); });
  addEventListener("pagehide", hush);
  setInterval(tick, 1000);
  if (!document.hidden) { listen(); idle = setTimeout(soon, IDLE); }
})();
