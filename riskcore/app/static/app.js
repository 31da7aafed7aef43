"use strict";
// Everything works without this script, by whole pages. htmx sends forms, follows links
// and puts the answers into the page; here is what it is not told by attributes.
(() => {
  const root = document.documentElement;
  const by = (id) => document.getElementById(id);
  const here = () => location.pathname + location.search;
  const parsed = (text) => new DOMParser().parseFromString(text, "text/html");
  root.classList.add("scripted");

  // What is open stays open, and what can be dragged keeps what was drawn into it.
  let looking = false;
  Object.assign(Idiomorph.defaults.callbacks, {
    beforeAttributeUpdated: (name, node) => !(name === "open" && node.localName === "details"),
    beforeNodeMorphed: (before, after) => {
      if (before.nodeType !== Node.ELEMENT_NODE) return true;
      if (before.matches("form[data-keep]") && before.id === after.id) return false;
      if (before.matches("[data-part]") && before.dataset.part === after.dataset.part) return false;
      // A page that looks again when work has ended keeps what was said.
      return !(looking && before.id === "said" && !after.textContent);
    },
  });

  // --- what was typed and not sent ---

  const drafts = new Map();
  const draftsOf = (address) => `${by("page").dataset.work} ${address}`;  // of the file that is open
  let page = here();
  const stateOf = (field) => {
    if (["checkbox", "radio"].includes(field.type)) return [field.defaultChecked, field.checked];
    if (field.localName !== "select") return [field.defaultValue, field.value];
    const usual = [...field.options].find((option) => option.defaultSelected) || field.options[0];
    return [usual && usual.value, field.value];
  };
  const edited = (sent = null) => [...by("main").querySelectorAll("input[id], textarea[id], select[id]")]
    .filter((field) => !["hidden", "range", "file", "password"].includes(field.type) && (!sent || field.form !== sent))
    .map((field) => [field.id, ...stateOf(field)])
    .filter(([, usual, now]) => usual !== now);
  const restore = () => {
    for (const [id, usual, now] of drafts.get(draftsOf(here())) || []) {
      const field = by(id);
      if (!field || stateOf(field)[0] !== usual || stateOf(field)[1] === now) continue;
      field[["checkbox", "radio"].includes(field.type) ? "checked" : "value"] = now;
      for (let at = field.closest("details"); at; at = at.parentElement.closest("details")) at.open = true;
      // What is drawn and counted from a field follows it.
      if (field.closest("[data-live]")) field.dispatchEvent(new Event("input", {bubbles: true}));
    }
  };

  // --- pages ---

  const fail = (words) => {
    by("error").textContent = words;
    by("error").scrollIntoView({block: "nearest"});
  };
  const look = (address, how) => htmx.ajax("GET", address, {
    source: document.body, target: "#page", select: "#page", swap: "morph", ...how,
  }).catch(() => {});

  // The page does not change under a click that has begun.
  let pressed = null;
  addEventListener("pointerdown", () => {
    const press = pressed = new Promise((resolve) => {
      const end = () => setTimeout(() => { if (pressed === press) pressed = null; resolve(); }, 30);
      for (const name of ["pointerup", "pointercancel"]) addEventListener(name, end, {once: true, capture: true});
      setTimeout(end, 1500);
    });
  }, true);

  const sending = new Set(), more = new WeakSet();
  document.addEventListener("change", async (event) => {
    const form = event.target.form;
    if (!form || !("auto" in form.dataset)) return;
    await pressed;
    form.soon = setTimeout(() => { if (form.isConnected) form.requestSubmit(); }, 0);
  });
  document.addEventListener("submit", ({target}) => {
    clearTimeout(target.soon);
    if (sending.has(target) && "auto" in target.dataset) more.add(target);  // htmx sends it then
  }, true);
  // The second click of a double click is not another order.
  document.addEventListener("click", (event) => {
    const button = event.target.closest("main form[method=post] button:not([type=button])");
    if (button && event.detail > 1) event.preventDefault();
  }, true);

  const onPage = (detail) => detail.target && detail.target.id === "page";
  const off = (form, is) => {
    for (const button of form.querySelectorAll("button")) {
      if (is) button.setAttribute("aria-disabled", "true"); else button.removeAttribute("aria-disabled");
    }
  };
  let order = 0, shown = 0, focused = null;
  document.addEventListener("htmx:beforeRequest", ({detail}) => {
    detail.requestConfig.order = order += 1;
    sending.add(detail.elt);
    if (detail.elt.localName === "form") off(detail.elt, true);
  });
  document.addEventListener("htmx:afterRequest", ({detail}) => {
    const {elt} = detail.requestConfig;  // detail.elt is another one if it left the page
    sending.delete(elt);
    if (elt.localName === "form") off(elt, false);
    if (elt.matches("[data-part]")) elt.setAttribute("aria-busy", "false");
    if (detail.xhr.status) by("lost").hidden = detail.xhr.status !== 403;
  });
  document.addEventListener("htmx:sendError", () => { by("lost").hidden = false; });

  document.addEventListener("htmx:beforeSwap", ({detail}) => {
    const {xhr, requestConfig} = detail, {elt} = requestConfig, again = elt === document.body;
    if (detail.target.matches("[data-part]") && xhr.status === 422) {
      const words = parsed(xhr.response).querySelector("[data-refused]");
      Object.assign(detail, {shouldSwap: true, isError: false, serverResponse: words.outerHTML});
    }
    if (!onPage(detail)) return;
    const answer = parsed(xhr.response);
    if (xhr.status >= 400) {
      detail.isError = xhr.status !== 422;
      const words = answer.querySelector("[data-refused], main p");
      if (xhr.status === 403 || !words) location.reload();
      else fail(words.textContent);
    } else if (!answer.getElementById("page")) {
      location.reload();
    } else if (requestConfig.order < shown || more.delete(elt)) {
      detail.shouldSwap = false;  // a newer answer came before it, or comes after it
    } else if ((pressed && (again || requestConfig.verb === "post")) || !elt.isConnected) {
      detail.shouldSwap = false;  // what left the page cannot say how its answer is put in
      const target = new URL(xhr.responseURL), address = target.pathname + target.search;
      by("said").textContent = answer.getElementById("said").textContent;
      by("main").setAttribute("aria-busy", "true");
      if (elt.localName === "form") elt.reset();
      Promise.resolve(pressed).then(() => look(address, {push: address}));
    } else {
      shown = requestConfig.order;
      root.lang = answer.documentElement.lang;
      looking = again && page === here();
      drafts.set(draftsOf(page), edited(requestConfig.verb === "post" ? elt.closest("form") : null));
      const active = document.activeElement;
      focused = [active, by("main").contains(active), active.selectionStart, active.selectionEnd];
    }
  });
  document.addEventListener("htmx:beforeHistoryUpdate", ({detail}) => {
    if (detail.history.path.split("#")[0] === here()) detail.history.type = "replace";
  });
  // Going back asks again: no page is kept.
  document.addEventListener("htmx:historyCacheMiss", (event) => {
    event.preventDefault();
    look(event.detail.path);
  });

  // Another page begins at its top, or at the place that the address names; another look
  // at the same page stays where it was.
  document.addEventListener("htmx:afterSettle", ({detail}) => {
    if (!onPage(detail)) return;
    const before = page.split("?")[0], [active, within, start, end] = focused;
    page = here();
    restore();
    const place = detail.requestConfig.verb === "get" && by(detail.pathInfo.anchor || "");
    if (place) place.focus({preventScroll: true});
    else if (before !== location.pathname) {
      scrollTo(0, 0);
      by("main").focus({preventScroll: true});
    } else if (active === document.activeElement && !active.disabled) {
      if (Number.isInteger(start) && active.selectionStart !== start) active.setSelectionRange(start, end);
    } else if (within && (active === document.activeElement || document.activeElement === document.body)) {
      by("main").focus({preventScroll: true});  // what had the focus is gone or off
    }
    begin();
  });

  // --- parts of a page ---

  const filled = new WeakMap();
  const fill = (part, address, values) => {
    filled.set(part, [address, values]);
    part.setAttribute("aria-busy", "true");
    htmx.ajax(values ? "POST" : "GET", address, {
      source: part, target: part, select: "unset", swap: "morph:innerHTML", values,
    }).catch(() => {});
  };
  document.addEventListener("toggle", ({target}) => {
    for (const part of target.open ? target.querySelectorAll("[data-part]") : []) {
      if (!filled.has(part) && !part.closest("details:not([open])")) fill(part, part.dataset.part);
    }
  }, true);

  // A control with data-live shows, while it moves, what its form would do: the part
  // named there is fetched with the fields of the form. They may hold values of the
  // file, so they are sent and stand in no address.
  document.addEventListener("input", ({target}) => {
    const live = target.closest("[data-live]");
    if (!live) return;
    const fields = new FormData(live.matches("form") ? live : live.form || live.closest("form"));
    fields.set("csrf", by("page").dataset.csrf);
    fields.set("field", target.name);  // the one that is being changed
    const part = by(live.dataset.into);
    clearTimeout(part.soon);
    part.soon = setTimeout(() => fill(part, live.dataset.live, fields), 40);
  });

  const begin = () => {
    // On a narrow window the steps scroll sideways: show the one that is current.
    const step = document.querySelector(".bar nav [aria-current]");
    if (step) step.closest("ol").scrollLeft = step.offsetLeft - 2 * step.closest("ol").offsetLeft;
    for (const part of document.querySelectorAll("main [data-part]")) {
      if (!part.closest("details:not([open])")) fill(part, part.dataset.part);
    }
    if (window.riskcoreBegin) window.riskcoreBegin(document);
  };

  // A page or a part that waits for work looks again when some has ended since it came.
  const lookAgain = () => {
    const main = by("main"), waiting = [...main.querySelectorAll("[data-waits]")];
    const parts = waiting.map((one) => one.closest("[data-part]"));
    for (const part of new Set(parts)) if (part) fill(part, ...filled.get(part));
    const waits = parts.includes(null) || Number(main.dataset.jobs);
    const busy = pressed || edited().some(([id]) => id === document.activeElement.id);
    if (!waits || !by("stale").hidden) return;
    if (busy || [...sending].some((one) => one.localName === "form")) setTimeout(lookAgain, 500);
    else look(here());
  };
  document.addEventListener("ended", lookAgain);
  addEventListener("pagehide", () => {
    navigator.sendBeacon("/leave", new URLSearchParams({csrf: by("page").dataset.csrf}));
  });

  // --- texts to copy ---

  document.addEventListener("click", async (event) => {
    const copy = event.target.closest("[data-copy]");
    if (!copy) return;
    getSelection().selectAllChildren(by(copy.dataset.copy));
    try { await navigator.clipboard.writeText(by(copy.dataset.copy).textContent); }
    catch { document.execCommand("copy"); }
    copy.textContent = copy.dataset.done;
  });

  // --- light and dark ---

  try { const kept = localStorage.getItem("riskcore-theme"); if (kept) root.dataset.theme = kept; } catch { /* not kept */ }
  document.addEventListener("click", (event) => {
    if (!event.target.closest("#theme")) return;
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    try { localStorage.setItem("riskcore-theme", root.dataset.theme); } catch { /* not kept */ }
  });

  begin();
})();
