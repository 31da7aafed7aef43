"use strict";
// A table that a form filters while one types; without this script the server filters.
(() => {
  const form = () => document.querySelector("form[data-filter]");
  const rows = (id) => [...document.getElementById(id).tBodies[0].rows];
  const filter = () => {
    if (!form()) return;
    const {find, type, shown} = form().elements, text = find.value.trim().toLowerCase();
    for (const row of rows(form().dataset.filter)) {
      const {dataset} = row;
      row.hidden = !dataset.text.includes(text) || (type.value && type.value !== dataset.type)
        || (shown.value && !dataset.shown.split(" ").includes(shown.value));
    }
  };
  document.addEventListener("input", (event) => { if (event.target.form && event.target.form === form()) filter(); });
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-tick]");
    if (!button) return;
    const boxes = rows(button.dataset.tick).filter((row) => !row.hidden).map((row) => row.querySelector("[type=checkbox]"));
    const on = !boxes.every((box) => box.checked);
    for (const box of boxes) box.checked = on;
  });
  // A page that came anew is filtered as the fields say.
  document.addEventListener("htmx:afterSettle", filter);
  filter();
})();
