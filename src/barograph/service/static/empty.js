// The first page of an empty store: copy a command, and open the queue when a result arrives.

import { copyText } from "./elements.js";
import { get } from "./http.js";

const PAUSE = 3000; // ms
const COPIED = 2000; // ms

for (const button of document.querySelectorAll("[data-copy]")) {
  const text = document.getElementById(button.dataset.copy);
  button.addEventListener("click", async () => {
    button.textContent = (await copyText(text)) ? "Copied" : "Press Ctrl C";
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
