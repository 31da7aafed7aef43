"use strict";
// Everything works without this script, by whole pages. With it, forms are sent and
// pages are exchanged without a reload, parts come by themselves, and work is watched.
(() => {
  const root = document.documentElement, body = document.body;
  const by = (id) => document.getElementById(id);
  root.classList.add("scripted");

  // --- exchange of pages ---

  let sending = null;
  const parsed = (text) => new DOMParser().parseFromString(text, "text/html");

  const say = (words) => { by("said").textContent = words; };
  const fail = (words) => { by("error").textContent = words; by("error").scrollIntoView({block: "nearest"}); };

  // Fields of text whose form was not sent yet.
  const ticked = () => [...by("main").querySelectorAll("form:not([data-auto]) input[type=checkbox][id]")]
    .filter((one) => one.checked !== one.defaultChecked);
  const edited = () => [...by("main").querySelectorAll("input[id], textarea[id]")]
    .filter((one) => !["checkbox", "radio", "hidden", "range"].includes(one.type) && one.value !== one.defaultValue);

  // Keep what the reader had: the focus, what was open, and where the page stood.
  const exchange = (page, looked) => {
    const active = document.activeElement, focus = active && active.id;
    const selected = active && [active.selectionStart, active.selectionEnd];
    const within = by("main").contains(active);
    const open = [...document.querySelectorAll("details[open][id]")].map((one) => one.id);
    // A page that looks again when work has ended keeps what was said.
    const said = page.getElementById("said");
    if (looked && !said.textContent) said.textContent = by("said").textContent;
    const typed = looked ? edited() : [], ticks = looked ? ticked() : [];
    for (const id of ["main", "said", "error"]) by(id).replaceWith(page.getElementById(id));
    for (const name of [".bar nav", ".bar .file"]) {
      document.querySelector(name).replaceWith(page.querySelector(name));
    }
    for (const id of ["undo", "redo"]) by(id).disabled = page.getElementById(id).disabled;
    for (const back of document.querySelectorAll(".bar [name=back], #work [name=back]")) {
      back.value = page.querySelector(".bar [name=back]").value;
    }
    body.dataset.version = page.body.dataset.version;
    document.title = page.title;
    for (const id of open) { const one = by(id); if (one) one.open = true; }
    by("stale").hidden = true;
    begin(by("main"));
    for (const one of typed) {
      const now = by(one.id);
      if (now && now.defaultValue === one.defaultValue) now.value = one.value;
    }
    for (const one of ticks) {
      const now = by(one.id);
      if (now && now.defaultChecked === one.defaultChecked) now.checked = one.checked;
    }
    const again = focus && by(focus);
    if (again && again !== document.activeElement) {
      again.focus({preventScroll: true});
      if (Number.isInteger(selected[0]) && again.setSelectionRange) again.setSelectionRange(...selected);
    }
    // What had the focus is gone or off: go on within the page, not before it.
    if (within && document.activeElement === body) by("main").focus({preventScroll: true});
  };

  // A click that has begun ends before the page changes under it: a field that is left
  // by it may send its form.
  let pressed = null;
  addEventListener("pointerdown", () => {
    pressed = new Promise((resolve) => {
      for (const name of ["pointerup", "pointercancel"]) {
        addEventListener(name, () => setTimeout(resolve, 30), {once: true, capture: true});
      }
      setTimeout(resolve, 1500);
    });
  }, true);

  const take = async (answer, address, looked, signal) => {
    const page = parsed(await answer.text());
    await pressed;
    if (signal && signal.aborted) return false;
    const refused = page.querySelector("[data-refused]");
    if (!page.getElementById("main")) { location.reload(); return false; }
    if (refused) { fail(refused.textContent); return false; }
    exchange(page, looked);
    const target = new URL(answer.url);
    if (address && target.pathname + target.search !== location.pathname + location.search) {
      history.pushState(null, "", target.pathname + target.search + (new URL(address, location)).hash);
    }
    return true;
  };

  const send = async (form, button) => {
    if (sending) sending.abort();
    const own = sending = new AbortController();
    const fields = new URLSearchParams(new FormData(form));
    if (button && button.name) fields.set(button.name, button.value);
    by("main").classList.add("changing");
    by("error").textContent = "";
    try {
      const answer = await fetch(form.action, {method: "POST", body: fields, signal: own.signal});
      await take(answer, answer.url, false, own.signal);
    } catch (error) {
      if (error.name !== "AbortError") fail(lost());
    } finally {
      if (sending === own) {
        by("main").classList.remove("changing");
        sending = null;
      }
      watch();
    }
  };

  const lost = () => body.dataset.lost || "The app does not answer.";

  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (form.method !== "post" || event.defaultPrevented) return;
    event.preventDefault();
    send(form, event.submitter);
  });

  let waiting = 0;
  document.addEventListener("change", (event) => {
    const form = event.target.form;
    if (!form || !("auto" in form.dataset) || event.target.closest("[data-no-auto]")) return;
    clearTimeout(waiting);
    waiting = setTimeout(() => { if (form.isConnected) form.requestSubmit(); }, 0);
  });

  // Another page begins at its top, or at the place that the address names; another
  // look of the same page stays where it was.
  const arrive = (address, before) => {
    const place = by(new URL(address, location).hash.slice(1));
    if (!place && location.pathname === before) {
      if (document.activeElement === body) by("main").focus({preventScroll: true});
      return;
    }
    if (place) place.scrollIntoView(); else scrollTo(0, 0);
    (place || by("main")).focus({preventScroll: true});
  };

  const visit = async (address, push, looked) => {
    const before = location.pathname;
    try {
      const answer = await fetch(address);
      if (await take(answer, push ? address : null, looked) && push) arrive(address, before);
    } catch { fail(lost()); }
    watch();
  };
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href^='/']");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || link.target || link.hasAttribute("download")) return;
    event.preventDefault();
    visit(link.getAttribute("href"), true);
  });
  addEventListener("popstate", () => visit(location.pathname + location.search, false));

  // --- parts of a page ---

  const fetchPart = async (part, address, fields) => {
    part.setAttribute("aria-busy", "true");
    if (part.asking) part.asking.abort();
    const own = part.asking = new AbortController();
    try {
      const how = fields ? {method: "POST", body: fields} : {};
      const answer = await fetch(address, {...how, signal: own.signal});
      const text = await answer.text(), page = parsed(text);
      const refused = page.querySelector("[data-refused]");
      part.replaceChildren(...(refused ? [refused] : page.body.childNodes));
      part.setAttribute("aria-busy", "false");
      begin(part);
    } catch (error) { if (error.name !== "AbortError") fail(lost()); }
  };

  // A control with data-live shows, while it moves, what its form would do: the part
  // named there is fetched with the fields of the form. They may hold values of the
  // file, so they are sent and stand in no address.
  document.addEventListener("input", (event) => {
    const live = event.target.closest("[data-live]");
    if (!live) return;
    const form = live.matches("form") ? live : live.form || live.closest("form");
    const fields = new URLSearchParams(new FormData(form));
    fields.set("csrf", body.dataset.csrf);
    const part = by(live.dataset.into);
    clearTimeout(part.soon);
    part.soon = setTimeout(() => fetchPart(part, live.dataset.live, fields), 40);
  });

  // On a narrow window the steps scroll sideways: show the one that is current.
  const showStep = () => {
    const step = document.querySelector(".bar nav [aria-current]");
    if (step) step.closest("ol").scrollLeft = step.offsetLeft - 2 * step.closest("ol").offsetLeft;
  };

  const begin = (where) => {
    showStep();
    for (const part of where.querySelectorAll("[data-part]")) {
      const closed = part.closest("details:not([open])");
      if (closed) closed.addEventListener("toggle", () => fetchPart(part, part.dataset.part), {once: true});
      else fetchPart(part, part.dataset.part);
    }
    if (window.riskcoreBegin) window.riskcoreBegin(where);
  };

  // --- what is being done, and who looks ---

  let timer = 0;
  const watch = async () => {
    clearTimeout(timer);
    let wait = 2000;
    try {
      const answer = await fetch("/status", {headers: {"X-Poll": "1"}});
      if (!answer.ok) throw new Error();
      const now = await answer.json();
      by("viewers").textContent = now.viewers > 1 ? by("viewers").dataset.text.replace("{n}", now.viewers) : "";
      by("work").hidden = !now.jobs.length;
      by("work-line").textContent = now.jobs.map((job) => job.line).filter(Boolean).join("; ");
      if (now.jobs.length) wait = 150;
      const mine = String(now.version) === body.dataset.version;
      by("stale").hidden = mine || !!sending;
      // A page that waits for work looks again when some has ended since it was made.
      const main = by("main"), looks = main.querySelector("[data-waits]") || Number(main.dataset.jobs);
      if (String(now.ended) !== main.dataset.ended && looks && !sending && mine) {
        const busy = edited().includes(document.activeElement);
        if (!busy) { main.dataset.ended = now.ended; visit(location.pathname + location.search, false, true); return; }
        wait = 500;
      }
    } catch { by("work").hidden = true; fail(lost()); wait = 5000; }
    timer = setTimeout(watch, wait);
  };

  // --- names that are proposed, and texts to copy ---

  document.addEventListener("click", async (event) => {
    const take = event.target.closest("[data-take]");
    if (event.target.closest("[data-take-all]")) {
      for (const one of by("main").querySelectorAll("[data-take]")) by(one.dataset.for).value = one.dataset.take;
    }
    if (take) { by(take.dataset.for).value = take.dataset.take; by(take.dataset.for).focus(); }
    const copy = event.target.closest("[data-copy]");
    if (!copy) return;
    getSelection().selectAllChildren(by(copy.dataset.copy));
    try { await navigator.clipboard.writeText(by(copy.dataset.copy).textContent); }
    catch { document.execCommand("copy"); }
    copy.textContent = copy.dataset.done;
  });

  // --- light and dark ---

  const theme = by("theme");
  const dark = () => root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  const names = [theme.textContent, theme.dataset.light || "Light"];
  const name = () => { theme.textContent = names[dark() ? 1 : 0]; };
  try { const kept = localStorage.getItem("riskcore-theme"); if (kept) root.dataset.theme = kept; } catch { /* not kept */ }
  theme.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    try { localStorage.setItem("riskcore-theme", root.dataset.theme); } catch { /* not kept */ }
    name();
  });
  name();
  theme.hidden = false;

  begin(document);
  watch();
})();
