"use strict";
// Dragging: breaks of a histogram, and categories onto each other. It only changes
// fields that can be typed or chosen, too; `riskcoreBegin` is called by app.js.
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const drawn = (name, fields) => {
    const one = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(fields)) one.setAttribute(key, value);
    return one;
  };
  const tell = (field) => field.dispatchEvent(new Event("input", {bubbles: true}));

  // --- breaks ---

  const breaks = (svg) => {
    const form = document.getElementById(svg.dataset.breaks);
    const box = form.querySelector(".breaks"), group = svg.querySelector(".handles");
    const {decimal, groups, label} = svg.dataset;
    const [low, high, left, right, top, bottom] =
      ["low", "high", "left", "right", "top", "bottom"].map((name) => Number(svg.dataset[name]));
    const whole = svg.dataset.whole === "1";
    let moved = false;  // a field by its handle, which stays
    const step = whole ? 1 : 10 ** Math.floor(Math.log10((high - low) / 100));
    const fields = () => [...box.querySelectorAll("[name=break]")];

    const read = (text) => {
      // Separators of thousands count where the server reads them.
      let [whole, ...rest] = text.trim().replace(/[\u00a0\u202f\u2009]/g, " ").split(decimal);
      if (/^[+-]?\d{1,3}([^\d]\d{3})+$/.test(whole)) for (const mark of groups) whole = whole.replaceAll(mark, "");
      const plain = [whole, ...rest].join(".");
      return /^[+-]?(\d+\.?\d*|\.\d+)$/.test(plain) && !/\D/.test(whole.slice(1)) ? Number(plain) : NaN;
    };
    const write = (value) => {
      const digits = Math.max(0, -Math.round(Math.log10(step)));
      return String(Number((Math.round(value / step) * step).toFixed(digits))).replace(".", decimal);
    };
    // A bar of a whole number reaches half a step to each side.
    const shift = () => !whole ? 0 : form.elements.side.value === "upto" ? 0.5 : -0.5;
    const clamp = (value) => Math.min(Math.max(value, low), high);
    const place = (value) => left + (right - left) * (clamp(value + shift()) - low) / (high - low);
    const valueAt = (event) => {
      const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
      return low + (high - low) * (Math.min(Math.max(point.x, left), right) - left) / (right - left) - shift();
    };

    const show = (handle, field) => {
      const value = read(field.value);
      handle.setAttribute("transform", `translate(${place(value).toFixed(2)} 0)`);
      handle.setAttribute("aria-valuenow", value);
      handle.setAttribute("aria-valuetext", field.value);
      handle.querySelector("text").textContent = field.value;
    };
    const put = (field, value, handle) => {
      const text = write(clamp(value));
      if (text === field.value) return;
      field.value = text;
      if (handle) show(handle, field);
      moved = true;
      tell(field);
      moved = false;
    };
    const remove = (field) => {
      const all = fields(), at = all.indexOf(field);
      field.value = "";
      tell(field);
      draw();
      const next = group.children[Math.min(at, group.children.length - 1)];
      (next || box.querySelector("[data-add]")).focus();
    };
    // There is always an empty field; it is copied when it gets a value.
    const spare = () => {
      const empty = fields().find((field) => !field.value.trim());
      if (empty) return empty;
      const last = fields().at(-1).closest(".one-break"), copy = last.cloneNode(true);
      const field = copy.querySelector("input");
      field.value = "";
      field.id = `break-${fields().length + 1}`;
      field.setAttribute("aria-label", `${label} ${fields().length + 1}`);
      last.after(copy);
      return field;
    };
    const add = (value) => {
      const field = spare();
      put(field, value);
      spare();
      draw();
      const handle = [...group.children].find((one) => one.field === field);
      if (handle) handle.focus();
    };
    const middle = () => {
      const at = [low, ...fields().map((one) => read(one.value)).filter(Number.isFinite).map(clamp), high].sort((a, b) => a - b);
      let widest = 0;
      for (let i = 1; i < at.length - 1; i += 1) if (at[i + 1] - at[i] > at[widest + 1] - at[widest]) widest = i;
      return (at[widest] + at[widest + 1]) / 2;
    };

    const keys = {ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10};
    const handleOf = (field, number) => {
      const handle = drawn("g", {class: "handle", role: "slider", tabindex: 0, "aria-label": `${label} ${number}`,
        "aria-valuemin": low, "aria-valuemax": high});
      handle.append(drawn("line", {x1: 0, x2: 0, y1: top, y2: bottom}),
        drawn("rect", {class: "grip", x: -12, y: top, width: 24, height: bottom - top + 26}),
        drawn("circle", {cx: 0, cy: bottom, r: 6}), drawn("text", {x: 0, y: top - 2}));
      handle.field = field;
      show(handle, field);
      handle.addEventListener("pointerdown", (event) => {
        event.preventDefault();
        handle.focus();
        handle.setPointerCapture(event.pointerId);
      });
      handle.addEventListener("pointermove", (event) => {
        if (handle.hasPointerCapture(event.pointerId)) put(field, valueAt(event), handle);
      });
      handle.addEventListener("keydown", (event) => {
        if (event.key === "Delete" || event.key === "Backspace") remove(field);
        else if (event.key === "Home") put(field, low, handle);
        else if (event.key === "End") put(field, high, handle);
        else if (event.key in keys) put(field, read(field.value) + step * keys[event.key], handle);
        else return;
        event.preventDefault();
      });
      return handle;
    };
    const draw = () => {
      const found = fields().filter((field) => Number.isFinite(read(field.value)));
      group.replaceChildren(...found.map((field, at) => handleOf(field, at + 1)));
      for (const one of box.querySelectorAll(".one-break")) {
        one.querySelector("[data-remove]").hidden = !one.querySelector("input").value.trim();
      }
    };

    svg.addEventListener("dblclick", (event) => { if (!event.target.closest(".handle")) add(valueAt(event)); });
    // At each letter: what moved when the field is left would dodge the click that leaves it.
    form.addEventListener("input", (event) => {
      if (moved || !["break", "side"].includes(event.target.name)) return;
      spare();
      draw();
    });
    box.addEventListener("click", (event) => {
      if (event.target.closest("[data-add]")) add(middle());
      const gone = event.target.closest("[data-remove]");
      if (gone) remove(gone.closest(".one-break").querySelector("input"));
    });
    draw();
  };

  // --- categories ---

  const merge = (table) => {
    const form = document.getElementById(table.dataset.merge), field = form.elements.map;
    let dragged = null;
    const rows = [...table.querySelectorAll("tr[data-code]")];
    for (const row of rows) {
      row.draggable = true;
      row.addEventListener("dragstart", (event) => {
        dragged = row;
        event.dataTransfer.effectAllowed = "move";
        event.dataTransfer.setData("text/plain", "");
      });
      row.addEventListener("dragover", (event) => {
        if (dragged && dragged !== row) { event.preventDefault(); row.classList.add("over"); }
      });
      row.addEventListener("dragleave", () => row.classList.remove("over"));
      row.addEventListener("drop", (event) => {
        event.preventDefault();
        row.classList.remove("over");
        if (dragged && dragged !== row) join(dragged, row);
        dragged = null;
      });
      row.addEventListener("dragend", () => { dragged = null; });
    }
    // All that became what the dragged category is become what the other one is.
    const join = (from, onto) => {
      const old = from.dataset.to, to = onto.dataset.to;
      for (const row of rows) {
        if (row === from || row.dataset.to === old) {
          row.dataset.to = to;
          row.querySelector(".becomes").textContent = to === row.dataset.code ? "" : to;
        }
      }
      field.value = rows.filter((row) => row.dataset.to !== row.dataset.code)
        .map((row) => `${row.dataset.code}=${row.dataset.to}`).join(",");
      tell(field);
    };
  };

  const begun = new WeakSet();
  window.riskcoreBegin = (where) => {
    for (const one of where.querySelectorAll("svg[data-breaks], table[data-merge]")) {
      if (begun.has(one)) continue;
      begun.add(one);
      if (one.dataset.breaks) breaks(one); else merge(one);
    }
  };
  window.riskcoreBegin(document);  // app.js has begun before
})();
