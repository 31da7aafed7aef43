"use strict";
(() => {
  const views = JSON.parse(document.getElementById("curves").textContent);
  for (const v of views) v.count ??= v.records;
  const byId = (id) => document.getElementById(id);
  const slider = byId("slider");
  const boxes = { threshold: byId("threshold"), count: byId("count"), rate: byId("rate") };
  const STEPS = Number(slider.max);

  // Exact arithmetic: a double is a whole number of units of 2^-1074.
  const word = new DataView(new ArrayBuffer(8));
  function whole(x) {
    word.setFloat64(0, x);
    const bits = word.getBigUint64(0);
    const exponent = (bits >> 52n) & 0x7ffn;
    const fraction = bits & 0xfffffffffffffn;
    const size = exponent ? (fraction | (1n << 52n)) << (exponent - 1n) : fraction;
    return bits >> 63n ? -size : size;
  }
  // The double nearest to a/b units, a tie going to the even one.
  function nearest(a, b) {
    const excess = Math.max((a / b).toString(2).length - 53, 0);
    const unit = b << BigInt(excess);
    let quotient = a / unit;
    const twice = 2n * (a - quotient * unit);
    if (twice > unit || (twice === unit && quotient & 1n)) quotient += 1n;
    return Number(quotient) * 2 ** (excess - 1074);
  }

  // Index of the first item for which the test holds; it holds for all that follow.
  function first(length, holds) {
    let low = 0, high = length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (holds(middle)) high = middle; else low = middle + 1;
    }
    return low;
  }
  const safe = (view, t) => first(view.threshold.length, (k) => view.threshold[k] >= t);
  const below = (view, k) => whole(view.sum[k]) + whole(view.rest[k]);
  const capped = (view, k, t) => below(view, k) + BigInt(view.records[k]) * whole(t);

  function at(view, t) {
    const k = safe(view, t);
    if (k === view.threshold.length) {
      return { t, count: 0, records: 0, capped: view.rate, safe: view.rate };
    }
    return {
      t, count: view.count[k], records: view.records[k],
      capped: nearest(capped(view, k, t), 1n) / view.n, safe: view.sum[k] / view.n,
    };
  }
  // Between thresholds of a thinned page nothing is known: the one below is taken.
  function snapped(view, t) {
    const k = safe(view, t);
    const known = view.complete || k === 0 || k === view.threshold.length;
    return known || view.threshold[k] === t ? t : view.threshold[k - 1];
  }
  function forCount(view, count) {
    const k = first(view.threshold.length, (i) => view.count[i] <= count);
    return k < view.threshold.length ? view.threshold[k] : Infinity;
  }
  function forRate(view, rate) {
    if (rate >= view.rate) return Infinity;
    const last = view.threshold.length - 1;
    const target = whole(rate) * BigInt(view.n);
    const k = first(last, (i) => capped(view, i, view.threshold[i]) >= target);
    const exact = nearest(target - below(view, k), BigInt(view.records[k]));
    // Of a thinned page the line through threshold k starts above that at k - 1.
    const least = k ? view.threshold[k - 1] : 0;
    return snapped(view, Math.min(Math.max(exact, least), view.threshold[k]));
  }

  // All digits that tell a double from its neighbors; the point moved by `shift`.
  function digits(x, shift = 0) {
    if (x === Infinity) return "∞";
    if (x === 0) return "0";
    const [mantissa, exponent] = x.toExponential().split("e");
    const figures = mantissa.replace(".", "");
    const point = Number(exponent) + shift + 1;
    if (point < -5 || point > 21) return `${mantissa}e${point - 1}`;
    if (point <= 0) return "0." + "0".repeat(-point) + figures;
    if (figures.length <= point) return figures.padEnd(point, "0");
    return figures.slice(0, point) + "." + figures.slice(point);
  }
  const short = (x, shift) => x === Infinity ? "∞" : digits(Number(x.toPrecision(6)), shift);
  const readable = (x, shift) => digits(Number(x.toPrecision(3)), shift);
  const amount = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, ",");

  function number(text, shift = 0) {
    const parts = /^\+?(\d+\.?\d*|\.\d+)(?:e([+-]?\d+))?$/i.exec(text);
    if (!parts) return NaN;
    return Number(`${parts[1]}e${Number(parts[2] || 0) + shift}`);
  }
  const readers = {
    threshold(view, text) {
      const t = /^(∞|inf|infinity)$/i.test(text) ? Infinity : number(text);
      return t >= 0 ? snapped(view, t) : "A risk threshold is a number from 0, like 0.00125.";
    },
    count(view, text) {
      const most = view.count[0];
      const whole = /^\d+$/.test(text) && Number(text) <= most;
      return whole ? forCount(view, Number(text)) : `A whole number from 0 to ${most}, without separators.`;
    },
    rate(view, text) {
      const rate = number(text, -2);
      return rate <= 1 ? forRate(view, rate) : "A percentage from 0 to 100, with a decimal point.";
    },
  };

  const place = (view, t) => {
    const [low, high] = view.axis.map(Math.log);
    return Math.min(Math.max((Math.log(t) - low) / (high - low), 0), 1);
  };
  const state = { stage: 0, level: 0, at: null, position: 0, chosen: [] };
  const view = () => views.find((v) => v.stage === state.stage && v.level === state.level);

  // A box shows six digits, and all of them while something is written in it.
  const rough = (text) => /^[\d.e+-]+$/.test(text) ? short(Number(text), 0) : text;
  function fill(name, exact, typing) {
    const box = boxes[name];
    box.dataset.exact = box.title = typing === name ? box.value.trim() : exact;
    const whole = name === "count" || document.activeElement === box;
    if (typing !== name) box.value = whole ? exact : rough(exact);
  }
  // Shows everything at a threshold; the box being typed in is left alone.
  function show(t, typing) {
    const v = view(), now = at(v, t);
    state.at = now;
    state.chosen[state.level] = t;
    fill("threshold", digits(t), typing);
    fill("count", String(now.count), typing);
    fill("rate", digits(now.capped, 2), typing);
    // The last step is infinity; elsewhere a key finds room on either side.
    state.position = t === Infinity ? STEPS : 1 + Math.floor((STEPS - 2) * place(v, t));
    slider.value = state.position;
    slider.setAttribute("aria-valuetext", `${short(t)}: ${amount(now.count)} at or above it`);
    const figure = byId(`view-${v.stage}-${v.level}`);
    const x = `${(100 * place(v, t)).toFixed(3)}%`;
    const line = figure.querySelector(".threshold"), shade = figure.querySelector(".unsafe");
    line.setAttribute("x1", x);
    line.setAttribute("x2", x);
    shade.setAttribute("x", x);
    shade.setAttribute("width", `${(100 - 100 * place(v, t)).toFixed(3)}%`);
    const mark = figure.querySelector(".mark");
    mark.setAttribute("x", x);
    mark.setAttribute("text-anchor", place(v, t) < .2 ? "start" : place(v, t) > .8 ? "end" : "middle");
    mark.textContent = short(t);
    tell(v, now);
    fault("");
  }
  function tell(v, now) {
    const shown = {
      threshold: short(now.t), count: amount(now.count), of: amount(v.count[0]),
      records: amount(now.records), n: amount(v.n), name: v.name,
    };
    // Rates with three digits, and with all of them where the pointer rests.
    const rates = { share: now.records / v.n, rate: v.rate, capped: now.capped, safe: now.safe };
    for (const slot of byId(`reading-${v.level}`).querySelectorAll("[data-slot]")) {
      const name = slot.dataset.slot;
      if (name in rates) slot.title = digits(rates[name], 2);
      slot.textContent = name in rates ? readable(rates[name], 2) : shown[name];
    }
  }
  function fault(message, box) {
    for (const one of Object.values(boxes)) one.removeAttribute("aria-invalid");
    if (box) box.setAttribute("aria-invalid", "true");
    byId("error").textContent = message;
  }

  for (const [name, box] of Object.entries(boxes)) {
    box.readOnly = false;
    const valid = () => !box.hasAttribute("aria-invalid");
    box.addEventListener("focus", () => { if (valid()) box.value = box.dataset.exact; });
    box.addEventListener("blur", () => { if (valid()) box.value = name === "count" ? box.dataset.exact : rough(box.dataset.exact); });
    box.addEventListener("input", () => {
      const answer = readers[name](view(), box.value.trim());
      if (typeof answer === "number") show(answer, name); else fault(answer, box);
    });
    // What was typed stands if it is exact; else it becomes what holds.
    box.addEventListener("change", () => {
      const answer = readers[name](view(), box.value.trim());
      if (typeof answer !== "number") return;
      const stands = name === "rate" && view().complete && answer < Infinity;
      show(answer, stands ? name : undefined);
    });
  }
  slider.addEventListener("input", () => {
    const v = view(), moved = Number(slider.value) - state.position;
    show(Math.abs(moved) === 1 ? neighbor(v, state.at.t, moved) : dragged(v, Number(slider.value)));
  });
  // One step is a key: to the next threshold.
  function neighbor(v, t, way) {
    const k = safe(v, t);
    if (way < 0) return k ? v.threshold[k - 1] : t;
    return v.threshold[v.threshold[k] === t ? k + 1 : k] ?? Infinity;
  }
  function dragged(v, position) {
    if (position === STEPS) return Infinity;
    const low = Math.log(v.axis[0]), high = Math.log(v.axis[1]);
    const t = Math.exp(low + (high - low) * position / STEPS);
    const k = safe(v, t);
    // Beyond the risks of the file any number will do.
    if (k === 0 || k === v.threshold.length) return snapped(v, Number(t.toPrecision(3)));
    const below = v.threshold[k - 1], above = v.threshold[k];
    return t / below < above / t ? below : above;
  }

  function choose() {
    for (const v of views) {
      const here = v.stage === state.stage && v.level === state.level;
      byId(`view-${v.stage}-${v.level}`).hidden = !here;
    }
    for (const level of [0, 1]) {
      for (const part of document.querySelectorAll(`[data-level="${level}"]`)) {
        part.hidden = level !== state.level;
      }
    }
    const v = view();
    show(snapped(v, state.chosen[state.level] ?? v.start ?? Infinity));
  }
  for (const name of ["stage", "level"]) {
    for (const radio of document.querySelectorAll(`input[name="${name}"]`)) {
      if (radio.checked) state[name] = Number(radio.value);
      radio.addEventListener("change", () => {
        state[name] = Number(radio.value);
        choose();
      });
    }
  }
  for (const part of document.querySelectorAll("[data-script]")) part.hidden = false;
  choose();
})();
