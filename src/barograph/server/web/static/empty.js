// The first page of an empty store: it opens the queue when a result arrives.

import "./board.js";
import "./copy.js";
import { get } from "./http.js";

const PAUSE = 3000; // ms

const line = document.querySelector("[data-waiting]");
const waiting = line.textContent;
setInterval(async () => {
  if (document.hidden) return;
  try {
    const page = await get("/api/v1/series?limit=1");
    line.textContent = waiting;
    if (page.series.length) location.assign("/");
  } catch (error) {
    line.textContent = error.message;
  }
}, PAUSE);
