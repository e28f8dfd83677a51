// The page of a commit: verdicts on a group, and the text to copy.

import "./board.js";
import "./copy.js";
import { register } from "./shortcuts.js";
import { show as toast } from "./toast.js";
import { give, showVerdicts, undo } from "./verdicts.js";
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

showVerdicts(
  (id) => [...document.querySelectorAll(`tr[data-change="${id}"]`)].map((row) => row.dataset),
  ({ change, verdict }) => {
    document.querySelector(`tr[data-change="${change}"] [data-state]`).textContent = VERDICTS[verdict];
  },
);

register([{ keys: ["u"], text: "undo", action: undo }]);
