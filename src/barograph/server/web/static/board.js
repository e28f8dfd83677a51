// What every page does: the switch between the light and the dark theme, the event "themechange",
// after which charts draw again, and the state of the board.

import { get } from "./http.js";
import { ago } from "./wording.js";

const EVERY = 60_000; // milliseconds between two questions for the state of the board
const PAUSE = 300; // milliseconds after a verdict
const YEAR = 31_536_000; // seconds for which the choice of a theme is kept

const root = document.documentElement;
const system = matchMedia("(prefers-color-scheme: dark)");

function isDark() {
  return root.dataset.theme ? root.dataset.theme === "dark" : system.matches;
}

function announce() { document.dispatchEvent(new CustomEvent("themechange")); }
system.addEventListener("change", announce);

for (const button of document.querySelectorAll("[data-theme-toggle]")) {
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    document.cookie = `theme=${root.dataset.theme}; path=/; max-age=${YEAR}; samesite=lax`;
    announce();
  });
}

// How much waits, and how old the newest result is. It comes after the page, which does not wait.
let requests = 0;
async function showState() {
  const counts = document.querySelectorAll("[data-nav-count]");
  if (!counts.length || document.hidden) return;
  const number = ++requests;
  try {
    const { groups, silent, suspects, last_result: last } = await get("/api/v1/board", { stay: true });
    if (number < requests) return; // a later request, whose answer may have come already
    const shown = { queue: groups, health: silent + suspects };
    const titles = { queue: "Groups to decide", health: "Series that are silent or wait for a rerun" };
    for (const count of counts) {
      const { navCount } = count.dataset;
      count.textContent = shown[navCount] || "";
      count.title = `${titles[navCount]}: ${shown[navCount]}`;
    }
    const age = document.querySelector("[data-last-result]");
    age.textContent = last === null ? "" : `Last result ${ago(last)}`;
    age.title = last === null ? "" : new Date(last).toISOString();
  } catch {
    // The next question may be answered; nothing else on the page depends on it.
  }
}
// Counts groups that left the queue, or came back, before the service says so.
export function changeQueueCount(by) {
  const count = document.querySelector('[data-nav-count="queue"]');
  if (!by || !count) return;
  requests += 1; // an answer on its way does not know it
  count.textContent = Math.max(Number(count.textContent) + by, 0) || "";
}

showState();
setInterval(showState, EVERY);
let soon = 0;
document.addEventListener("verdictssaved", () => {
  clearTimeout(soon);
  soon = setTimeout(showState, PAUSE); // once for several verdicts in a row
});
