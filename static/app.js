// Keeps an open page true: listens for the parts of it that changed, swaps them, lets ages grow and states turn. Asks only this appliance.
"use strict";
(() => {
  const GAP = 2000; // ms: the link is not renewed more often.
  const SILENCE = 25000; // The appliance gives a sign every 10 s.
  const PATIENCE = 5000; // A link broken for longer is said.
  const AGAIN = 3000; // First wait for a link; doubles until one stands, up to LONGEST.
  const LONGEST = 30000;
  const WHOLE = 6 * 3600e3; // After so long everything is asked for anew: forms grow old.
  const body = document.body;
  const byId = (id) => document.getElementById(id);
  const lost = byId("lost");
  const said = byId("said");
  const waiting = new Map(); // Parts that somebody writes in: what they will be.
  let source = null, doubt = 0, tries = 0, retry = 0, over = false, last = -GAP, heard = 0, whole = performance.now();

  // --- Whose zone, and whose decimal sign. Kept for the whole site, wherever that begins; one that somebody chose stays.
  function rules(zone) {
    const at = (month) => new Date(2026, month, 1).toLocaleString("en", { timeZone: zone, timeZoneName: "longOffset" });
    try { return at(0) + at(6); } catch { return zone; }
  }
  function settle() {
    const kept = document.cookie.split("; ").find((pair) => pair.startsWith("larder-reader="));
    const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
    const shown = kept ? kept.split(/[=~]/)[1] : body.dataset.zone;
    const comma = (1.5).toLocaleString().includes(",");
    const same = rules(zone) === rules(shown) && comma === !!kept?.includes("~comma");
    if (!zone || (kept && !kept.endsWith("~auto")) || same) return false;
    const root = new URL(body.dataset.root || ".", location).pathname.replace(/(.)\/$/, "$1");
    const own = "larder-reader=" + zone + (comma ? "~24~comma~auto" : "~24~auto");
    document.cookie = own + "; path=" + root + "; max-age=34560000; samesite=lax";
    return document.cookie.includes(own);
  }
  if (settle()) return location.reload();

  // --- The time: as the appliance said last, and what has passed since by the greater of two clocks: one stops while the device sleeps, the other
  // can be set back.
  let anchor = [Date.parse(document.querySelector("#made time")?.dateTime) || Date.now(), performance.now(), Date.now()];
  const now = () => anchor[0] + Math.max(0, performance.now() - anchor[1], Date.now() - anchor[2]);

  function span(s) {
    const d = Math.floor(s / 86400), h = Math.floor(s % 86400 / 3600), m = Math.floor(s % 3600 / 60);
    if (d) return d + "\u00a0d" + (h ? " " + h + "\u00a0h" : "");
    if (h) return h + "\u00a0h" + (m ? " " + m + "\u00a0min" : "");
    return s < 120 ? s + "\u00a0s" : m + "\u00a0min";
  }
  // The page brings its words along, in its own language.
  function phrase(word, seconds) {
    return body.dataset[word].replace("%", span(seconds));
  }
  function label(element, at) {
    const age = Math.floor((at - Date.parse(element.dateTime)) / 1000);
    switch (element.dataset.as) {
      case "age": return span(Math.max(0, age));
      case "left": return span(Math.max(0, -age));
      case "due": if (age > 0) return phrase("overdue", age);
    }
    if (age >= 0 && age < 1) return body.dataset.now;
    return age > 0 ? phrase("ago", age) : phrase("in", -age);
  }
  function tick() {
    if (document.hidden) return;
    const at = now();
    for (const element of document.querySelectorAll("time.rel")) {
      const text = label(element, at);
      if (element.textContent === text) continue;
      if (element.dataset.as === "left" && text === span(0)) ask();
      element.textContent = text;
    }
    document.querySelectorAll("[data-turns]").forEach((chip) => turn(chip, at));
    document.querySelectorAll("[data-until]").forEach((values) => {
      if (Date.parse(values.dataset.until) <= at) withhold(values);
    });
    for (const [id, html] of [...waiting]) patch(id, html);
    if (source && performance.now() - heard > SILENCE) broken();
  }

  // --- States turn by age, also while nobody tells: a page that hears nothing must not call fresh what is not.
  function turn(chip, at, say = tell) {
    let next = "";
    for (const step of chip.dataset.turns.split(",")) {
      const [state, when] = step.split(" ");
      if (Date.parse(when) <= at) next = state;
    }
    const was = [...chip.classList].find((name) => name.startsWith("s-"));
    if (!next || was === "s-" + next) return;
    const part = chip.closest("[data-live]");
    for (let e = chip; e && e !== body; e = e.parentElement) {
      if (e.classList.contains(was)) e.classList.replace(was, "s-" + next);
      if (e.matches(".card, .banner, .headline, li, tr")) {
        if (next !== "ageing") e.classList.remove("calm");
        e.querySelectorAll("use").forEach((use) => {
          if (use.getAttribute("href") === "#i-" + was.slice(2)) use.setAttribute("href", "#i-" + next);
        });
        if (next !== "ageing") e.querySelectorAll("[data-then]").forEach((text) => { text.textContent = text.dataset.then; });
        if (next === "expired") e.querySelectorAll("[data-values]").forEach(withhold);
        break;
      }
    }
    chip.querySelector("use")?.setAttribute("href", "#i-" + next);
    if (chip.classList.contains("chip")) chip.lastChild.textContent = next;
    if (part) {
      delete part.dataset.v; // What this script changed itself is asked for anew.
      if (part.dataset.state) say([part.dataset.state = part.dataset.state.replace(was.slice(2), next)]);
    }
    ask();
  }
  function withhold(values) {
    const part = values.closest("[data-live]");
    const text = document.createElement("p");
    text.className = "hedge";
    text.textContent = body.dataset.unavailable;
    values.replaceWith(text);
    if (part) delete part.dataset.v;
  }
  function tell(words) {
    if (words.length) said.textContent = words.join(". ") + ".";
  }

  // --- Swapping. What is written in stays until it is left.
  // A password manager fills closed forms too.
  function inUse(part) {
    const forms = [...part.querySelectorAll("form")].filter((form) => !form.closest("details:not([open])"));
    return forms.some((form) => form.contains(document.activeElement) ||
      [...form.querySelectorAll("input:not([type=hidden])")].some((input) => input.value !== input.defaultValue));
  }
  function patch(id, html) {
    const old = byId(id);
    waiting.delete(id);
    if (!old) return;
    if (inUse(old)) { waiting.set(id, html); return; }
    const page = new DOMParser().parseFromString(html, "text/html");
    const node = document.importNode(page.getElementById(id), true);
    // It may be older than what this page knows by its own clock.
    node.querySelectorAll("[data-turns]").forEach((chip) => turn(chip, now(), () => {}));
    const words = [];
    for (const part of [node, ...node.querySelectorAll("[data-state]")]) {
      const before = part.id && byId(part.id)?.dataset.state;
      if (part.dataset.state && before !== part.dataset.state) words.push(part.dataset.state);
    }
    for (const details of old.querySelectorAll("details[open][id]")) {
      const same = node.querySelector("#" + CSS.escape(details.id));
      if (same) same.open = true;
    }
    const path = [];
    const focused = old.contains(document.activeElement) ? document.activeElement : null;
    for (let e = focused; e && e !== old; e = e.parentElement) path.unshift([...e.parentElement.children].indexOf(e));
    const room = roomOf(old);
    old.replaceWith(node);
    if (room) keep(node, room);
    if (focused) {
      const same = path.reduce((e, n) => e && e.children[n], node);
      if (same && same.tagName === focused.tagName) same.focus({ preventScroll: true });
    }
    tell(words);
  }

  // --- Room. A part that becomes longer or shorter moves nothing that somebody may be looking at: until they do something, or until its end is out of
  // sight, it has as much room as before. What tells a state lies over what follows; a list can be scrolled.
  function end(part, room) {
    return part.getBoundingClientRect().top + room;
  }
  function isSeen(part, room) {
    const at = end(part, room);
    return at > 0 && at < innerHeight;
  }
  function roomOf(part) {
    const room = part.room ?? part.getBoundingClientRect().height;
    return isSeen(part, room) ? room : 0;
  }
  function keep(part, room) {
    const more = part.getBoundingClientRect().height - room;
    if (!more) return;
    part.room = room;
    part.classList.add("held");
    if (more < 0) part.style.minHeight = room + "px";
    else if (part.dataset.state) part.style.marginBottom = -more + "px";
    else part.style.maxHeight = room + "px";
  }
  function release(which) {
    for (const part of document.querySelectorAll(".held")) {
      if (!which(part)) continue;
      delete part.room;
      part.classList.remove("held");
      part.removeAttribute("style");
    }
  }
  const releaseUnseen = () => release((part) => !isSeen(part, part.room));
  addEventListener("scroll", releaseUnseen, { passive: true });
  addEventListener("click", () => release(() => true));
  addEventListener("keydown", (event) => { if (!event.target.closest("input, select, textarea")) release(() => true); });

  // --- Builds. A page of another one is loaded anew, once for each.
  function outdated(serves) {
    if (!serves || serves === body.dataset.build || over) return;
    over = true;
    rest();
    try {
      if (!sessionStorage[serves] && !inUse(document)) {
        sessionStorage[serves] = 1;
        return location.reload();
      }
    } catch { }
    lost.textContent = body.dataset.updated;
    lost.hidden = false;
  }
  // A stream does not say why it was refused.
  async function meet() {
    try {
      const answer = await fetch(location.href, { method: "HEAD", headers: { "larder-build": body.dataset.build }, cache: "no-store" });
      outdated(answer.headers.get("larder-build"));
      // Signed out meanwhile: the same address is where one signs in.
      if (answer.status === 401 && !over) { over = true; rest(); location.reload(); }
    } catch { }
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
      byId("lost-at").textContent = document.querySelector("#made time")?.textContent || "";
      lost.hidden = false;
    }, PATIENCE);
  }
  function trust() {
    clearTimeout(doubt);
    doubt = 0;
    lost.hidden = true;
    // One that ends as soon as it stands is none.
    if (performance.now() - last > PATIENCE) tries = 0;
  }
  function broken() {
    suspect();
    // The browser would come back at one pace for ever.
    hush();
    clearTimeout(retry);
    retry = setTimeout(listen, Math.min(LONGEST, AGAIN * 2 ** tries++));
    if (!document.hidden) meet();
  }
  function have() {
    if (performance.now() - whole > WHOLE) {
      whole = performance.now();
      return "";
    }
    const parts = [...document.querySelectorAll("[data-live][data-v]")].filter((part) => !waiting.has(part.id));
    return parts.map((part) => part.id + "." + part.dataset.v).join(",");
  }
  function listen() {
    if (source || over || !body.dataset.link || document.hidden) return;
    last = heard = performance.now();
    source = new EventSource(body.dataset.link + "&have=" + encodeURIComponent(have()));
    source.onerror = broken;
    source.addEventListener("patch", (event) => {
      const { id, html } = JSON.parse(event.data);
      patch(id, html);
    });
    source.addEventListener("now", (event) => {
      const { at, build } = JSON.parse(event.data);
      heard = performance.now();
      anchor = [at, heard, Date.now()];
      trust();
      outdated(build);
      tick();
    });
    source.addEventListener("gone", () => { over = true; rest(); location.reload(); });
  }
  // Anew, with what the page has: the answer is what it lacks.
  function ask() {
    if (!source || performance.now() - last < GAP) return;
    hush();
    listen();
  }
  function hush() {
    if (source) source.close();
    source = null;
  }
  function rest() {
    hush();
    [doubt, retry].forEach(clearTimeout);
    doubt = 0;
  }
  function wake() {
    if (document.hidden) return;
    clearTimeout(retry);
    tick();
    listen();
  }
  document.addEventListener("visibilitychange", () => { if (document.hidden) rest(); else wake(); });
  addEventListener("pageshow", (event) => { if (event.persisted) wake(); });
  addEventListener("pagehide", hush);
  setInterval(tick, 1000);
  listen();
})();
