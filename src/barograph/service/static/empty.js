// The first page of an empty store: copy a command, and open the queue when a result arrives.

import { get } from "./http.js";

const PAUSE = 3000; // ms
const COPIED = 2000; // ms

for (const button of document.querySelectorAll("[data-copy]")) {
  const text = document.getElementById(button.dataset.copy);
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text.textContent);
      button.textContent = "Copied";
    } catch {
      // Without https there is no clipboard: select the text instead.
      getSelection().selectAllChildren(text);
      button.textContent = "Press Ctrl C";
    }
    setTimeout(() => {
      button.textContent = "Copy";
    }, COPIED);
  });
}

const line = document.querySelector("[data-waiting]");
const waiting = line.textContent;
setInterval(async () => {
  if (document.hidden) return;
  try {
    const page = await get("/api/v1/series?limit=1");
    line.textContent = waiting;
    if (page.series.length) location.assign("/");
  } catch (failure) {
    line.textContent = failure.message;
  }
}, PAUSE);
