"use strict";
(() => {
  const theme = document.getElementById("theme"), root = document.documentElement;
  const dark = () => root.dataset.theme
    ? root.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  const name = () => { theme.textContent = dark() ? "Light" : "Dark"; };
  theme.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    name();
  });
  name();
  theme.hidden = false;
  // The command that repeats the report, for whoever would paste it.
  const copy = document.getElementById("copy");
  if (copy) {
    const command = document.getElementById("command");
    copy.addEventListener("click", async () => {
      getSelection().selectAllChildren(command);
      try {
        await navigator.clipboard.writeText(command.textContent);
        copy.textContent = "Copied";
      } catch {
        copy.textContent = document.execCommand("copy") ? "Copied" : "Selected";
      }
    });
    copy.hidden = false;
  }
  // On paper nothing can be opened: what is printed is opened before.
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("details:not([open])")]
      .filter((part) => !part.closest(".screen"));
    for (const part of closed) part.open = true;
  });
  addEventListener("afterprint", () => { for (const part of closed) part.open = false; });
})();
