// The preview beside the list: the worst member's results, the reasons, the suspects, the siblings.
// Its parts arrive one by one, each into its own place, and those of the next rows are fetched ahead.

import { drawSeries } from "./chart.js";
import { bones, button, element } from "./elements.js";
import { UNMEASURED, commitItem, largestPart, reasonItem, siblingItem, votes } from "./findings.js";
import { get } from "./http.js";
import { day, fit, format, measured } from "./scales.js";
import { percentText, shortCommit, unitText } from "./wording.js";

const KEPT = 40; // previews in memory
const BEFORE = 90, AFTER = 40; // results on each side of the change
const AHEAD = 150; // milliseconds: keys that repeat fetch nothing
const SLOW = 300; // milliseconds before a skeleton shows
const PARTS = ["reasons", "suspects", "siblings"];

export class Preview {
  #cache = new Map();
  #shown = null;
  #charts = [];
  #timer = 0;
  #ahead = 0; // the timer of the next rows
  #hidden = null; // the row to fill the panel for when the window is wide enough to show it

  constructor(panel) {
    this.panel = panel;
    document.addEventListener("themechange", () => this.#charts.forEach((chart) => chart.draw()));
    new ResizeObserver(() => {
      if (!this.#hidden || !this.#isVisible) return;
      this.#fill(this.#hidden);
      this.#hidden = null;
    }).observe(panel);
  }

  get #isVisible() { return this.panel.offsetParent !== null; }

  clear() {
    this.#shown = null;
    this.#release();
    this.panel.replaceChildren();
  }

  show(row, onVerdict) {
    const { candidate } = row.dataset;
    if (this.#shown === candidate) return;
    this.#shown = candidate;
    this.#release();
    this.panel.replaceChildren(...frame(row, onVerdict));
    this.panel.scrollTop = 0;
    this.#hidden = this.#isVisible ? null : row;
    if (this.#hidden) return;
    clearTimeout(this.#timer);
    const wait = this.#cache.has(candidate) ? 0 : AHEAD / 2;
    this.#timer = setTimeout(() => this.#fill(row), wait);
  }

  fetchAhead(rows) {
    clearTimeout(this.#ahead);
    if (!this.#isVisible) return;
    this.#ahead = setTimeout(() => {
      if (rows.every((row) => row.isConnected)) for (const row of rows) this.#load(row);
    }, 2 * AHEAD);
  }

  #load({ dataset: { candidate, series } }) {
    const known = this.#cache.get(candidate);
    if (known) return known;
    const parts = { chart: ask(`/api/v1/series/${series}/chart`) };
    for (const name of PARTS) parts[name] = ask(`/api/v1/change-points/${candidate}/${name}`);
    this.#cache.set(candidate, parts);
    if (this.#cache.size > KEPT) this.#cache.delete(this.#cache.keys().next().value);
    return parts;
  }

  #fill(row) {
    const { candidate } = row.dataset;
    const parts = this.#load(row);
    const left = new Set(Object.keys(parts));
    setTimeout(() => { if (this.#shown === candidate) for (const name of left) this.#wait(name, row); }, SLOW);
    const draw = { chart: this.#chart, reasons, suspects, siblings: this.#siblings };
    for (const [name, part] of Object.entries(parts)) {
      part.then((answer) => {
        left.delete(name);
        const place = this.panel.querySelector(`[data-part="${name}"]`);
        if (this.#shown !== candidate || !place) return;
        if (answer) draw[name].call(this, place, answer, row);
        else this.#failed(place, name, row);
      });
    }
  }

  #wait(name, row) {
    const place = this.panel.querySelector(`[data-part="${name}"]`);
    if (name === "chart") place.firstChild.replaceChildren(element("span", { class: "bone", "aria-hidden": "true" }));
    else place.replaceChildren(head(titles(row)[name]), bones());
  }

  #failed(place, name, row) {
    this.#cache.delete(row.dataset.candidate);
    const words = `The ${name === "chart" ? "results" : name} could not be loaded. `;
    const again = button("Try again", () => this.#fill(row), { name: "button plain" });
    place.replaceChildren(element("p", { class: "hint" }, words, again));
  }

  #release() {
    for (const chart of this.#charts) chart.destroy();
    this.#charts = [];
  }

  #chart(place, chart, row) {
    const mark = chart.marks.find(({ id }) => id === Number(row.dataset.candidate));
    const split = mark?.index ?? chart.values.length;
    const first = Math.max(0, split - BEFORE);
    const last = Math.min(chart.values.length, split + AFTER);
    const values = chart.values.slice(first, last), unit = unitText(chart.series.unit);
    const levels = chart.levels
      .map(([start, end, ...level]) => [Math.max(start, first) - first, Math.min(end, last) - first, ...level])
      .filter(([start, end]) => end > start);
    const changes = chart.marks
      .filter(({ index, state }) => index >= first && index < last && state !== "moved" && state !== "withdrawn")
      .map(({ index, before, after, effect, state, probability }) => (
        { index: index - first, text: `${percentText(before, after)}${effect === "trend" ? " trend" : ""}`, effect, state, probability: probability ?? 1 }
      ));
    const canvas = element("canvas", { tabindex: 0, role: "img", "aria-label": summary(row, mark, values.length, unit) });
    const readout = element("p", { class: "readout" });
    place.replaceChildren(element("div", { class: "preview-chart" }, canvas), readout);
    this.#charts.push(drawSeries(canvas, {
      values, unit, index: null, count: values.length, limits: fit({ values, levels }, [0, values.length], "fit"), levels, changes,
      label: (k) => ({ name: shortCommit(chart.commits[first + k]), date: day(chart.times[first + k]) }),
    }, { readout, rows: 2 }));
    if (!mark || mark.before === null || mark.after === null) return;
    const fact = this.panel.querySelector("[data-fact-levels]");
    if (fact) fact.textContent = changed(mark, unit);
  }

  async #siblings(place, answer, row) {
    const chart = await this.#load(row).chart;
    if (this.#shown !== row.dataset.candidate) return;
    if (!answer.siblings.length) { place.remove(); return; }
    const shown = answer.siblings.filter((sibling) => sibling.values.length > 1).slice(0, 6);
    const items = shown.map((sibling) => siblingItem(sibling, answer.first_after, chart?.series ?? { args: {} }));
    place.replaceChildren(
      head(titles(row).siblings, `${shown.length} of ${answer.siblings.length}`),
      element("ul", { class: "multiples pair" }, ...items),
    );
  }
}

const ask = (address) => get(address).catch(() => null);

// What the row itself knows shows at once; the rest has its place, so that nothing jumps.
function frame(row, onVerdict) {
  const name = row.querySelector(".name");
  const cell = (selector) => row.querySelector(selector)?.textContent.trim() ?? "";
  const href = `/series/${row.dataset.series}?change_point=${row.dataset.candidate}`;
  const heading = element("div", { class: "block" },
    element("p", { class: "hint" }, row.querySelector("th .hint")?.textContent),
    element("h2", {}, element("a", { href }, element("bdi", {}, name.textContent))));
  const [change, word] = [...row.querySelectorAll(".change-cell span")].map((part) => part.textContent.trim());
  const tone = ["worse", "better", "changed", "trend"].find((effect) => row.querySelector(`.change-cell .${effect}`));
  const count = cell("[data-count]");
  const facts = element("dl", { class: "facts" },
    fact("Change", change || "–", { tone, note: word, hook: "data-fact-levels" }),
    fact("Probably real", cell(".prob-cell")),
    count ? fact("Series", count, { note: "in this group" }) : fact("Hazard", cell("td.c-hide")));
  const chart = element("div", { "data-part": "chart" },
    element("div", { class: "preview-chart" }), element("p", { class: "readout" }));
  const buttons = [...document.querySelectorAll("[data-picked] [data-verdict]")].map((button) => button.cloneNode(true));
  for (const button of buttons) button.addEventListener("click", () => onVerdict(button.dataset.verdict));
  const group = element("div", { class: "verdicts", role: "group", "aria-label": "Verdict on this row" }, ...buttons);
  return [heading, facts, chart, group, ...PARTS.map((part) => element("div", { class: "block", "data-part": part }))];
}

function reasons(place, answer, row) {
  if (!answer.reasons.length && !answer.facts.length && !answer.against.length) return place.remove();
  const largest = largestPart(answer.reasons);
  const items = answer.reasons.map(({ text, part }) => {
    const item = reasonItem(text, (part ?? 0) / largest);
    return (part ?? 0) < 0 ? asObjection(item) : item;
  });
  items.push(...answer.against.map((words) => asObjection(reasonItem(words, 0))));
  items.push(...answer.facts.map((words) => reasonItem(words, 0)));
  return place.replaceChildren(head(titles(row).reasons), element("ul", { class: "reasons" }, ...items));
}

function asObjection(item) {
  item.lastChild.prepend(element("span", { class: "muted" }, "Against: "));
  return item;
}

function suspects(place, answer) {
  if (!answer.count) return place.remove();
  const shown = answer.commits.slice(-6);
  const items = shown.map((commit) => {
    const isNext = commit.commit === answer.next;
    return commitItem(commit, votes(commit), { isNext, end: isNext ? "run next" : "" });
  });
  const only = "The only commit between the last result before and the first after.";
  const notes = [
    answer.count > shown.length && `The last ${shown.length} of ${answer.count} commits.`,
    !answer.is_complete ? UNMEASURED : answer.count === 1 && only,
  ];
  return place.replaceChildren(
    head(answer.count === 1 ? "Suspect" : `${answer.count} suspects`),
    element("ol", { class: "commits" }, ...items), element("p", { class: "hint" }, notes.filter(Boolean).join(" ")),
  );
}

function titles(row) {
  const shown = row.querySelector(".prob > span")?.textContent ?? "";
  return { reasons: `Why ${shown}`, suspects: "Suspects", siblings: "Same test elsewhere" };
}

function head(title, hint) {
  return element("header", {}, element("h3", {}, title), element("span", { class: "hint" }, hint));
}

function fact(term, value, { tone, note, hook } = {}) {
  const small = element("small", hook ? { [hook]: true } : {}, note);
  return element("div", {}, element("dt", {}, term), element("dd", { class: tone }, value, small));
}

function changed({ before, after }, unit) {
  const step = Math.abs(after - before) / 10;
  return `${format(before, step)} to ${measured(after, unit, step)}`;
}

function summary(row, mark, count, unit) {
  const name = row.dataset.name;
  if (!mark || mark.before === null || mark.after === null) return `${name}, ${count} results`;
  const verb = mark.after < mark.before ? "falls" : "rises";
  return `${name}, ${count} results: the level ${verb} from ${changed(mark, unit)}`;
}
