// The page of a commit: verdicts on a group, and the text to copy.

import "./board.js";
import "./copy.js";
import { register } from "./shortcuts.js";
import { show as toast } from "./toast.js";
import { give, onChange, undo } from "./verdicts.js";
import { VERDICTS } from "./wording.js";

const FINAL = ["true_positive", "false_positive"];

for (const button of document.querySelectorAll("[data-show]")) {
  button.addEventListener("click", () => {
    for (const row of button.closest(".panel").querySelectorAll("tr[hidden]")) row.hidden = false;
    button.parentNode.remove();
  });
}

for (const button of document.querySelectorAll("button[data-verdict]")) {
  button.addEventListener("click", () => {
    const rows = [...button.closest("[data-group]").querySelectorAll("tr[data-change]")];
    // Earlier verdicts stay as they are.
    const open = rows.filter((row) => !FINAL.includes(row.dataset.verdict));
    if (!open.length) {
      toast("All of these have a verdict. Change one on its series page.");
      return;
    }
    const points = open.map(({ dataset }) => ({ id: Number(dataset.change), version: Number(dataset.version) }));
    const left = rows.length - open.length;
    const label = `${open.length} series${left ? ` (${left} with a verdict left out)` : ""}`;
    give(button.dataset.verdict, points, { label });
  });
}

const before = new Map();
onChange(({ type, step, outcome }) => {
  if (!step) return;
  const rows = step.points.map(({ id }) => document.querySelector(`tr[data-change="${id}"]`)).filter(Boolean);
  if (type === "given") {
    before.set(step.id, rows.map((row) => row.dataset.verdict));
    for (const row of rows) mark(row, step.verdict);
  } else if (type === "undone" && outcome.failed) {
    for (const row of rows) mark(row, step.verdict);
  } else if (type === "undoing" || outcome?.failed) {
    rows.forEach((row, k) => mark(row, before.get(step.id)?.[k] ?? row.dataset.verdict));
  } else if (outcome) {
    const byId = new Map(rows.map((row) => [Number(row.dataset.change), row]));
    for (const { id, verdict, version } of [...outcome.saved, ...outcome.refused]) {
      const row = byId.get(id);
      if (row && verdict) mark(row, verdict);
      if (row && version !== null) row.dataset.version = version;
    }
  }
});

function mark(row, verdict) {
  row.dataset.verdict = verdict;
  row.querySelector("[data-state]").textContent = VERDICTS[verdict];
}

register([{ keys: ["u"], text: "undo", action: undo }]);
