"use strict";
// A file that is dropped on the start page, or chosen there, is sent and opened.
(() => {
  const send = (file) => {
    const drop = document.getElementById("drop"), shown = document.getElementById("send-progress");
    if (!drop || !file) return;
    const say = (words) => { document.getElementById("error").textContent = words; };
    if (file.size > Number(drop.dataset.largest)) { say(drop.dataset.tooLarge); return; }
    say("");
    shown.hidden = false;
    const request = new XMLHttpRequest();  // it tells how much was sent
    request.upload.addEventListener("progress", (event) => { shown.value = event.loaded / event.total; });
    request.addEventListener("load", () => {
      const page = new DOMParser().parseFromString(request.responseText, "text/html");
      const refused = page.querySelector("[data-refused]");
      shown.hidden = true;
      if (refused || request.status >= 400) say((refused || page.body).textContent.trim());
      else location.assign(request.responseURL);
    });
    request.addEventListener("error", () => { shown.hidden = true; say(drop.dataset.lost); });
    request.open("POST", "/start/send");
    request.setRequestHeader("Content-Type", "application/octet-stream");
    request.setRequestHeader("X-CSRF", drop.dataset.csrf);
    request.setRequestHeader("X-Name", encodeURIComponent(file.name));
    request.send(file);
  };
  document.addEventListener("change", (event) => {
    if (event.target.id === "send-file") send(event.target.files[0]);
  });
  document.addEventListener("dragover", (event) => {
    const drop = document.getElementById("drop");
    if (drop && event.dataTransfer.types.includes("Files")) { event.preventDefault(); drop.classList.add("over"); }
  });
  document.addEventListener("dragleave", () => { document.getElementById("drop")?.classList.remove("over"); });
  document.addEventListener("drop", (event) => {
    const drop = document.getElementById("drop");
    if (!drop || !event.dataTransfer.files.length) return;
    event.preventDefault();
    drop.classList.remove("over");
    send(event.dataTransfer.files[0]);
  });
})();
