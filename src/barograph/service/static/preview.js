// The preview beside the list: the worst member's results, the reasons, the suspects, the siblings.
// Its parts arrive one by one, each into its own place, and those of the next rows are fetched ahead.

import { drawSeries, drawSparkline } from "./chart.js";
import { percentText, shortCommit } from "./evidence.js";
import { signIn } from "./http.js";
import { day, format } from "./scales.js";

const KEPT = 40; // previews in memory
const BEFORE = 90, AFTER = 40; // results on each side of the change
const AHEAD = 150; // milliseconds: keys that repeat fetch nothing
const VERDICTS = [
  ["true_positive", "Real", "a"], ["false_positive", "Noise", "h"],
  ["under_investigation", "Investigate", "i"], ["unsure", "Not sure", "n"],
];
const PARTS = ["reasons", "suspects", "siblings"];

export class Preview {
  #cache = new Map();
  #shown = null;
  #charts = [];
  #timer = 0;

  constructor(panel) {
    this.panel = panel;
    document.addEventListener("themechange", () => this.#charts.forEach((chart) => chart.draw()));
  }

  get #isVisible() { return this.panel.offsetParent !== null; }

  clear() {
    this.#shown = null;
    this.#release();
    this.panel.replaceChildren();
  }

  show(row, { canJudge, onVerdict }) {
    const { candidate } = row.dataset;
    if (this.#shown === candidate) return;
    this.#shown = candidate;
    this.#release();
    this.panel.replaceChildren(...frame(row, canJudge, onVerdict));
    this.panel.scrollTop = 0;
    if (!this.#isVisible) return;
    clearTimeout(this.#timer);
    const wait = this.#cache.has(candidate) ? 0 : AHEAD / 2;
    this.#timer = setTimeout(() => this.#fill(row), wait);
  }

  fetchAhead(rows) {
    if (!this.#isVisible) return;
    setTimeout(() => {
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
    const draw = { chart: this.#chart, reasons, suspects, siblings: this.#siblings };
    for (const [name, part] of Object.entries(parts)) {
      part.then((found) => {
        const place = this.panel.querySelector(`[data-part="${name}"]`);
        if (this.#shown !== candidate || !place) return;
        if (found) draw[name].call(this, place, found, row);
        else if (name === "chart") place.replaceChildren(text("p", "hint", "The results could not be loaded."));
        else place.remove();
        if (!found) this.#cache.delete(candidate);
      });
    }
  }

  #release() {
    for (const chart of this.#charts) chart.destroy?.();
    this.#charts = [];
  }

  #chart(place, chart, row) {
    const mark = chart.marks.find((one) => one.id === Number(row.dataset.candidate));
    const at = mark?.index ?? chart.values.length;
    const first = Math.max(0, at - BEFORE);
    const last = Math.min(chart.values.length, at + AFTER);
    const values = chart.values.slice(first, last);
    const levels = chart.levels
      .map(([start, end, value]) => [Math.max(start, first) - first, Math.min(end, last) - first, value])
      .filter(([start, end]) => end > start);
    const changes = chart.marks
      .filter((one) => one.index >= first && one.index < last && one.state !== "moved" && one.state !== "withdrawn")
      .map((one) => ({ index: one.index - first, text: percentText(one.before, one.after), effect: one.effect, probability: one.probability ?? 1 }));
    const canvas = document.createElement("canvas");
    const readout = text("p", "readout", "");
    canvas.tabIndex = 0;
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", summary(row, mark, values.length));
    const box = text("div", "preview-chart", "");
    box.append(canvas);
    place.replaceChildren(box, readout);
    this.#charts.push(drawSeries(canvas, {
      values, index: null, count: values.length, limits: limits(values, levels), levels, changes,
      label: (k) => ({ name: shortCommit(chart.commits[first + k]), date: day(chart.times[first + k]) }),
    }, { readout }));
    if (!mark || mark.before === null || mark.after === null) return;
    const fact = this.panel.querySelector("[data-fact-levels]");
    if (fact) fact.textContent = `${format(mark.before)} to ${format(mark.after)}`;
  }

  async #siblings(place, found, row) {
    const own = (await this.#load(row).chart)?.series;
    if (this.#shown !== row.dataset.candidate) return null;
    const shown = found.siblings.filter((one) => one.values.length > 1).slice(0, 6);
    if (!found.siblings.length) return place.remove();
    const list = text("div", "multiples pair", "");
    place.replaceChildren(head("Same test elsewhere", `${shown.length} of ${found.siblings.length}`), list);
    for (const one of shown) {
      const link = document.createElement("a");
      const canvas = document.createElement("canvas");
      const caption = text("span", "cap", "");
      const change = one.state === "moved" && one.percent !== null ? percentText(one.before, one.after) : WAITING[one.state];
      caption.append(text("bdi", "", siblingName(one.series, own)), text("span", one.state === "moved" ? one.effect : "muted", change));
      link.href = `/series/${one.series.id}`;
      link.append(canvas, caption);
      list.append(link);
      const split = one.orders.findIndex((order) => order >= found.first_after);
      const end = one.values.length, cut = split < 0 ? end : split;
      const levels = [[0, cut, one.before], [cut, end, one.after]]
        .filter(([start, stop, level]) => stop > start && level !== null);
      const data = { values: one.values, index: null, count: end, limits: limits(one.values, levels), levels, changes: [] };
      const effect = one.state === "moved" ? one.effect : "ink";
      const draw = () => drawSparkline(canvas, data, cut, effect);
      draw();
      this.#charts.push({ draw });
    }
    return null;
  }
}

const WAITING = { steady: "no change", no_result: "no result yet", too_few: "too few results", moved: "moved" };

async function ask(address) {
  try {
    const answer = await fetch(address);
    if (answer.status === 401) signIn();
    return answer.ok ? await answer.json() : null;
  } catch {
    return null;
  }
}

// What the row itself knows shows at once; the rest has its place, so that nothing jumps.
function frame(row, canJudge, onVerdict) {
  const name = row.querySelector(".name");
  const cell = (selector) => row.querySelector(selector)?.textContent.trim() ?? "";
  const heading = text("div", "block", "");
  const title = text("h2", "", "");
  const link = document.createElement("a");
  link.href = `/series/${row.dataset.series}?change_point=${row.dataset.candidate}`;
  link.append(text("bdi", "", name.textContent));
  title.append(link);
  heading.append(text("p", "hint", row.querySelector("th .hint")?.textContent ?? ""), title);
  const [change, word] = [...row.querySelectorAll(".change-cell span")].map((one) => one.textContent.trim());
  const tone = ["worse", "better", "changed"].find((one) => row.querySelector(`.change-cell .${one}`)) ?? "";
  const count = cell("[data-count]");
  const facts = document.createElement("dl");
  facts.className = "facts";
  facts.append(
    fact("Change", change || "–", tone, word ?? "", "data-fact-levels"),
    fact("Probably real", cell(".prob-cell"), "", ""),
    count ? fact("Series", count, "", "in this group") : fact("Hazard", cell("td.c-hide"), "", ""),
  );
  const chart = text("div", "", "");
  chart.dataset.part = "chart";
  const space = text("div", "preview-chart", "");
  chart.append(space, text("p", "readout", ""));
  const buttons = text("div", "verdicts", "");
  buttons.setAttribute("role", "group");
  buttons.setAttribute("aria-label", "Verdict on this row");
  for (const [verdict, label, key] of VERDICTS) {
    const button = text("button", "button", label);
    button.type = "button";
    button.disabled = !canJudge;
    button.dataset.verdict = verdict;
    button.setAttribute("aria-keyshortcuts", key);
    const cap = text("kbd", "", key);
    cap.setAttribute("aria-hidden", "true");
    button.append(cap);
    button.addEventListener("click", () => onVerdict(verdict));
    buttons.append(button);
  }
  const rest = PARTS.map((part) => {
    const block = text("div", "block", "");
    block.dataset.part = part;
    return block;
  });
  return [heading, facts, chart, buttons, ...rest];
}

function reasons(place, found, row) {
  if (!found.reasons.length && !found.facts.length) return place.remove();
  const list = text("ul", "reasons", "");
  const largest = Math.max(...found.reasons.map(({ part }) => Math.abs(part ?? 0)), 1e-9);
  for (const { text: words, part } of found.reasons) list.append(reason(words, (part ?? 0) / largest));
  for (const words of found.facts) list.append(reason(words, 0));
  const shown = row.querySelector(".prob > span")?.textContent ?? "";
  return place.replaceChildren(head(`Why ${shown}`, ""), list);
}

function reason(words, weight) {
  const item = document.createElement("li");
  const width = Math.max(3, Math.round(Math.abs(weight) * 23));
  const bar = weight
    ? `<svg viewBox="0 0 24 8" aria-hidden="true"><rect class="${weight > 0 ? "for" : "against"}" x="0.5" y="1" width="${width}" height="6" rx="1"/></svg>`
    : "<span></span>";
  item.innerHTML = bar;
  const sentence = text("span", "", "");
  if (weight < 0) sentence.append(text("span", "muted", "Against: "));
  sentence.append(words);
  item.append(sentence);
  return item;
}

function suspects(place, found) {
  if (!found.count) return place.remove();
  const list = text("ol", "commits", "");
  const shown = found.commits.slice(-6);
  for (const one of shown) {
    const item = document.createElement("li");
    const votes = one.old || one.new ? `${one.new} of ${one.old + one.new} siblings had changed` : "";
    if (one.order === found.next) item.className = "next";
    item.append(text("code", "", shortCommit(one.commit) || `order ${one.order}`), text("span", "hint", votes),
      text("span", "hint", one.order === found.next ? "run next" : ""));
    list.append(item);
  }
  const only = "The only commit between the last result before and the first after.";
  const note = found.count === 1 ? only
    : found.count > shown.length ? `The last ${shown.length} of ${found.count} commits.` : "";
  place.replaceChildren(head(found.count === 1 ? "Suspect" : `${found.count} suspects`, ""), list, text("p", "hint", note));
  return null;
}

function head(title, hint) {
  const header = document.createElement("header");
  header.append(text("h3", "", title), text("span", "hint", hint));
  return header;
}

function fact(term, value, tone, small, hook) {
  const box = document.createElement("div");
  const shown = text("dd", tone, value);
  const note = text("small", "", small);
  if (hook) note.setAttribute(hook, "");
  shown.append(note);
  box.append(text("dt", "", term), shown);
  return box;
}

function text(tag, name, content) {
  const made = document.createElement(tag);
  if (name) made.className = name;
  if (content) made.textContent = content;
  return made;
}

function limits(values, levels) {
  const ordered = [...values].sort((a, b) => a - b);
  const cut = Math.floor(0.02 * ordered.length);
  const known = levels.map(([, , value]) => value);
  const low = Math.min(ordered[cut], ...known);
  const high = Math.max(ordered[ordered.length - 1 - cut], ...known);
  const room = (high - low || Math.abs(high) || 1) * 0.06;
  return [low - room, high + room];
}

// What a sibling has that the series of the row has not: the rest is the same anyway.
function siblingName({ variant, task, args, test, measurement }, own) {
  const pairs = Object.entries(args)
    .filter(([name, value]) => own?.args[name] !== value)
    .map(([name, value]) => `${name} ${value}`);
  const labels = Object.entries({ variant, task, measurement }).filter(([name, value]) => value !== own?.[name]);
  return [...pairs, ...labels.map(([, value]) => value)].filter(Boolean).join(" · ") || test;
}

function summary(row, mark, count) {
  const name = row.dataset.name;
  if (!mark || mark.before === null || mark.after === null) return `${name}, ${count} results`;
  const verb = mark.after < mark.before ? "falls" : "rises";
  return `${name}, ${count} results: the level ${verb} from ${format(mark.before)} to ${format(mark.after)}`;
}
