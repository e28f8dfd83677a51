// The processed change points: reopen one, and undo that.

import "./board.js";
import { pointsOf } from "./grid.js";
import { register } from "./shortcuts.js";
import { give, onChange, undo } from "./verdicts.js";

const root = document.querySelector("[data-processed]");

root.addEventListener("click", async ({ target }) => {
  const button = target.closest("[data-reopen]");
  if (!button) return;
  const row = button.closest("[data-row]");
  row.hidden = true;
  // The focus was on what is hidden now.
  root.querySelector(`[data-candidate="${row.dataset.candidate}"] ~ [data-row]:not([hidden]) [data-reopen]`)?.focus();
  const { failed, refused } = await give("not_triaged", pointsOf(row), { label: row.dataset.name });
  if (failed || refused.length) row.hidden = false; // a message says why
});

// An undo counts at once; if it fails, the change is still in the queue.
onChange(({ type, step, outcome }) => {
  if (type !== "undoing" && !(type === "undone" && outcome.failed)) return;
  for (const { id } of step.points) {
    root.querySelector(`[data-candidate="${id}"]`)?.toggleAttribute("hidden", type === "undone");
  }
});

register([
  { keys: ["/"], text: "search", action: () => root.querySelector("[name=q]").select() },
  { keys: ["u"], text: "undo", action: () => undo() },
]);
