// What verdicts took off the list of the queue, and how it comes back.
//
// A group without other change points leaves the list. Otherwise its members with a verdict are marked
// where they are shown, and the group no longer includes them.

import { button, element } from "./elements.js";
import { pointsOf, setPoints } from "./grid.js";
import { describe } from "./verdicts.js";
import { VERDICTS } from "./wording.js";

export class Departures {
  #grid;
  #onKept;
  #parts = new Map(); // by the number of the step: { group, points, restore }
  #lines = new WeakMap(); // the line below a group that says what was refused
  #away = new Map(); // by the group that is off the list: what puts its rows back

  // `onKept` is called when a person accepts the verdict of another.
  constructor(grid, onKept) {
    this.#grid = grid;
    this.#onKept = onKept;
  }

  // The groups that are off the list.
  get groups() {
    const groups = [...this.#parts.values()].flat().map(({ group }) => group);
    return [...new Set(groups)].filter((group) => !group.isConnected);
  }

  has({ id }) { return this.#parts.has(id); }

  take({ id: step, verdict }, numbers) {
    const taken = new Set(numbers);
    const parts = this.#parts.get(step) ?? [];
    for (const group of taken.size ? this.#grid.groups : []) {
      const points = pointsOf(group).filter(({ id }) => taken.has(id));
      if (points.length) this.#lines.get(group)?.remove();
      if (points.length) parts.push({ group, points, restore: this.#remove(group, points, VERDICTS[verdict]) });
    }
    this.#parts.set(step, parts);
  }

  // Puts back what a step took; returns the row that came back last.
  restore({ id }) {
    const parts = this.#parts.get(id) ?? [];
    let row = null;
    while (parts.length) row = parts.pop().restore() ?? row;
    return row;
  }

  // Puts back what the server refused, with a line that says why.
  refuse({ id: step, verdict }, refused) {
    const reasons = new Map(refused.map((refusal) => [refusal.id, refusal]));
    for (const part of [...(this.#parts.get(step) ?? [])].reverse()) {
      const theirs = part.points.filter(({ id }) => reasons.has(id));
      if (theirs.length) this.#refuse(part, theirs, VERDICTS[verdict], theirs.map(({ id }) => reasons.get(id)));
    }
  }

  #refuse(part, theirs, verdict, refusals) {
    const { group } = part;
    const row = part.restore();
    const saved = part.points.filter((point) => !theirs.includes(point));
    const restoreSaved = saved.length ? this.#remove(group, saved, verdict) : null;
    // Whoever decides again has read the line, and replaces the other verdict.
    setPoints(row, theirs.map(({ id, version }, k) => ({ id, version: refusals[k].version ?? version })));
    const word = VERDICTS[refusals[0].verdict] ?? "gone";
    let putBack = null;
    const line = refusalLine(row, refusals, () => {
      putBack = this.#remove(group, theirs, word);
      this.#onKept();
    });
    this.#lines.set(group, line);
    part.points = saved;
    part.restore = () => {
      if (!restoreSaved) return null;
      line.remove();
      putBack?.();
      restoreSaved();
      this.#remove(group, theirs, word);
      return group;
    };
  }

  // Takes change points out of a group, and returns a function that puts them back.
  #remove(group, points, word) {
    const ids = new Set(points.map(({ id }) => id));
    const left = pointsOf(group).filter(({ id }) => !ids.has(id));
    const members = this.#grid.members(group).filter((row) => ids.has(Number(row.dataset.candidate)));
    for (const row of members) mark(row, word);
    setPoints(group, left);
    if (!left.length) this.#away.set(group, this.#grid.remove(group));
    return () => {
      // Another verdict may have taken the rest of the group since.
      const putBack = this.#away.get(group);
      this.#away.delete(group);
      putBack?.();
      setPoints(group, [...points, ...pointsOf(group)]);
      for (const row of members) mark(row, "");
      return (putBack ? null : members[0]) ?? group;
    };
  }
}

function mark(row, word) {
  row.classList.toggle("excepted", word !== "");
  const tag = word && element("span", { class: word === VERDICTS.false_positive ? "tag noise" : "tag" }, word);
  row.querySelector("[data-mark]").replaceChildren(tag);
}

function refusalLine(row, refusals, onKeep) {
  const total = refusals.length > 1 ? `${refusals.length} series were not saved. ` : "";
  const label = refusals[0].why === "decided" ? "Keep theirs" : "Dismiss";
  const keep = button(label, () => { line.remove(); onKeep(); }, { name: "button small-button" });
  const colspan = [...row.cells].reduce((sum, cell) => sum + cell.colSpan, 0);
  const line = element("tr", { class: "refused" }, element("td", { colspan }, total + describe(refusals[0]), keep));
  row.after(line);
  return line;
}
