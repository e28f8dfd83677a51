// The page of a series: its chart, what the page is about, the address of the view, downloads.
import { drawSeries } from "./chart.js";
import { copy } from "./copy.js";
import { element } from "./elements.js";
import { showEvidence } from "./evidence.js";
import { get } from "./http.js";
import { day, format } from "./scales.js";
import { register } from "./shortcuts.js";
import { watch } from "./stale.js";
import { show as toast } from "./toast.js";
import { give, onChange, undo, verdictKeys } from "./verdicts.js";
import { VERDICTS, commitText, dated, middleCut, percentText, probabilityText, shortCommit } from "./wording.js";

const STATES = { true_positive: "real", false_positive: "noise" };
const MORE = 500; // rows of the table

const content = JSON.parse(document.getElementById("series-data").textContent);
const page = JSON.parse(document.getElementById("page-data").textContent);
const canvas = document.getElementById("chart");
const readout = document.getElementById("readout");
let focus = null;
let chart = null;

if (canvas) start();

function start() {
  const { from, to, axis, scale } = Object.fromEntries(new URLSearchParams(location.search));
  const data = {
    ...content,
    index: null,
    count: content.values.length,
    limits: [0, 1],
    changes: content.marks.map(change),
    label: (k) => ({ name: shortCommit(content.commits[k]), date: day(content.times[k]) }),
  };
  const view = { from: indexOf(from), to: indexOf(to, true), axis: axis ?? "commits", scale: scale ?? "fit" };
  chart = drawSeries(canvas, data, { isInteractive: true, view, onView, onRead, onMark: (mark) => setFocus(mark, true) });
  const focused = data.changes.filter((mark) => mark.id === page.focus && mark.state !== "moved");
  performance.mark("chart-drawn");
  onView(chart.shown(), true);
  if (focused.length) setFocus(focused.at(-1), false);
  listen(data);
  // Results that arrive move change points, and the levels around them.
  watch(async () => {
    const { change_points: found } = await get(`/api/v1/series/${content.series.id}/change-points`, { stay: true });
    return JSON.stringify(found.map(({ id, order, before, after }) => [id, order, before?.count, after?.count]));
  });
}

function change(mark) {
  const size = percentText(mark.before, mark.after);
  const real = mark.state === "unprocessed" && mark.probability !== null ? `, ${probabilityText(mark.probability)} real` : "";
  const words = { noise: `${size} noise`, moved: "moved", withdrawn: "withdrawn" };
  return { ...mark, size, text: words[mark.state] ?? `${size}${real}` };
}

// The index of the first result at an order or after it, or of the last one before.
function indexOf(order, isEnd = false) {
  if (order === undefined || order === "") return null;
  const found = content.orders.findIndex((known) => (isEnd ? known > Number(order) : known >= Number(order)));
  const last = content.orders.length - 1;
  // A range without any result shows everything.
  if (isEnd) return found < 0 ? last : found - 1 < 0 ? null : found - 1;
  return found < 0 ? null : found;
}

// The address always has the view, so that a copy of it shows the same.
function onView({ from, to, axis, scale }, isFirst = false) {
  const query = new URLSearchParams(location.search);
  const values = {
    from: from === null ? null : content.orders[from], to: to === null ? null : content.orders[to],
    axis: axis === "commits" ? null : axis, scale: scale === "fit" ? null : scale,
    change_point: focus && focus.id !== page.focus ? focus.id : query.get("change_point"),
  };
  for (const [name, value] of Object.entries(values)) {
    if (value === null) query.delete(name); else query.set(name, value);
  }
  if (!isFirst) history.replaceState(null, "", `${location.pathname}${query.size ? `?${query}` : ""}`);
  const count = content.values.length;
  for (const button of document.querySelectorAll("[data-last]")) {
    const many = button.dataset.last;
    const isAll = from === null && to === null;
    button.ariaPressed = String(many === "all" ? isAll : to === null && from === count - Number(many));
  }
}

function levelAt(k) { return content.levels.find(([start, end]) => k >= start && k < end); }

function onRead(k) {
  document.querySelector("tr.read")?.classList.remove("read");
  if (k < 0) { readout.replaceChildren("\u00a0"); return; }
  const value = content.values[k], runs = content.runs[k];
  const level = levelAt(k);
  const spread = runs > 1 ? ` between ${format(content.low[k])} and ${format(content.high[k])} in ${runs} runs` : "";
  const notes = [content.suspects.includes(k) && "waits for a rerun", content.outliers.includes(k) && "outlier"];
  const parts = [
    level && `level ${format(level[2])}`, commitText({ commit: content.commits[k], order: content.orders[k] }),
    content.times[k] === null ? "" : `${dated(content.times[k], true)} UTC`,
    `result ${(k + 1).toLocaleString("en")} of ${content.values.length.toLocaleString("en")}`, ...notes,
  ];
  readout.replaceChildren(element("b", {}, format(value)), `${spread} \u00b7 ${parts.filter(Boolean).join(" \u00b7 ")}`);
  document.querySelector(`tr[data-index="${k}"]`)?.classList.add("read");
}

// Makes the page about a change point.
function setFocus(mark, isChosen) {
  focus = mark;
  chart.select(mark);
  for (const name of ["decide", "siblings"]) document.getElementById(name).hidden = false;
  describeFocus();
  showEvidence(mark, content.series);
  if (isChosen) { chart.reveal(mark.index); onView(chart.shown()); }
}

function describeFocus() {
  const { size, effect, verdict } = focus;
  const about = document.getElementById("about");
  about.replaceChildren("Verdict on ", element("b", { class: effect }, size), ` (${effect}) at `, element("code", {}, middleCut(commitText(focus), 24)), `: ${VERDICTS[verdict]}`);
  for (const button of document.querySelectorAll("[data-verdict]")) {
    button.ariaPressed = String(button.dataset.verdict === verdict);
  }
}

function decide(verdict) {
  if (!focus || !page.canTriage) return;
  give(verdict, [{ id: focus.id, version: focus.version }], { label: `the change of ${focus.size} at ${commitText(focus)}` });
}

// A verdict counts at once; one that was refused is taken back.
const before = new Map(); // the verdicts of a step
onChange(({ type, step, outcome }) => {
  if (!step || !chart) return;
  const marks = chart.data.changes.filter((mark) => step.points.some(({ id }) => id === mark.id));
  if (type === "given") {
    before.set(step.id, new Map(marks.map((mark) => [mark, mark.verdict])));
    for (const mark of marks) apply(mark, step.verdict);
  } else if (type === "undoing") {
    restore(step, marks);
  } else if (outcome) {
    for (const { id, version } of outcome.saved) for (const mark of marks) if (mark.id === id) mark.version = version;
    for (const { id, verdict, version } of outcome.refused) {
      for (const mark of marks.filter((candidate) => candidate.id === id)) {
        apply(mark, verdict ?? before.get(step.id)?.get(mark) ?? mark.verdict);
        mark.version = version ?? mark.version;
      }
    }
    if (outcome.failed && type === "saved") restore(step, marks);
    if (focus && marks.includes(focus)) showEvidence(focus, content.series);
  }
  if (focus) describeFocus();
  chart.later();
});

function restore(step, marks) {
  for (const mark of marks) apply(mark, before.get(step.id)?.get(mark) ?? mark.verdict);
}

function apply(mark, verdict) {
  if (mark.state === "moved") return;
  mark.verdict = verdict;
  mark.state = STATES[verdict] ?? "unprocessed";
  mark.text = change(mark).text;
}

function listen(data) {
  const press = (name, action) => {
    for (const button of document.querySelectorAll(`[data-${name}]`)) {
      button.addEventListener("click", () => action(button.dataset[name], button));
    }
  };
  const only = (name, value) => {
    for (const button of document.querySelectorAll(`[data-${name}]`)) button.ariaPressed = String(button.dataset[name] === value);
  };
  press("verdict", decide);
  press("last", (many) => (many === "all" ? chart.showAll() : chart.showLast(Number(many))));
  press("axis", (axis) => { chart.setAxis(axis); only("axis", axis); });
  press("scale", (scale) => { chart.setScale(scale); only("scale", scale); });
  press("do", async (name, button) => {
    try {
      await ACTIONS[name](button);
    } catch (error) {
      toast(error.message);
    }
  });
  document.addEventListener("themechange", () => chart.draw());
  const jump = (isForward) => {
    const marks = data.changes.filter((mark) => mark.state !== "moved");
    const at = focus ? marks.indexOf(focus) : isForward ? -1 : marks.length;
    const next = marks[at + (isForward ? 1 : -1)];
    if (next) setFocus(next, true);
  };
  register([
    ...verdictKeys(document.getElementById("decide"), () => focus !== null && page.canTriage, decide),
    { keys: ["u"], text: "undo", action: undo },
    { keys: ["]"], text: "next change point", action: () => jump(true) },
    { keys: ["["], text: "previous change point", action: () => jump(false) },
    { keys: ["+", "="], text: "zoom in", action: () => chart.zoom(0.5) },
    { keys: ["-"], text: "zoom out", action: () => chart.zoom(2) },
    { keys: ["0"], text: "show all results", action: () => chart.showAll() },
  ]);
}

const ACTIONS = {
  link() { return copy(location.href, "The link to this view"); },
  // The page has short names of commits only.
  async csv() {
    const { orders, commits, times, values, low, high, runs } = await get(`/api/v1/series/${content.series.id}/chart`);
    const rows = values.map((value, k) => [
      orders[k], quoted(commits[k]), times[k] === null ? "" : new Date(times[k]).toISOString(), value, low[k], high[k], runs[k],
    ].join(","));
    const text = ["order,commit,time,value,least,largest,runs", ...rows, ""].join("\r\n");
    download(new Blob([text], { type: "text/csv" }), "csv");
  },
  async png() {
    const { name } = content.series;
    download(await chart.toBlob(middleCut(name, 120)), "png");
  },
  more(button) {
    const body = document.querySelector("#results tbody"), first = body.rows.length;
    const rest = content.values.length - first;
    for (let n = 0; n < Math.min(rest, MORE); n += 1) body.append(row(rest - 1 - n));
    button.hidden = rest <= MORE;
  },
};

// Spreadsheets run a cell that begins with one of these signs.
function quoted(text) {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

function row(k) {
  const value = content.values[k], level = levelAt(k);
  const commit = content.commits[k];
  const spread = content.runs[k] > 1 && value ? `, ±${((50 * (content.high[k] - content.low[k])) / Math.abs(value)).toFixed(1)} %` : "";
  const note = content.suspects.includes(k) ? "suspect" : content.outliers.includes(k) ? "outlier" : "";
  return element("tr", { "data-index": k },
    element("td", { class: "num muted" }, String(k + 1)), element("td", {}, element("code", { title: commit }, middleCut(shortCommit(commit), 12) || String(content.orders[k]))),
    element("td", { class: "muted narrow-hide" }, dated(content.times[k])), element("td", { class: "num" }, format(value)),
    element("td", { class: "num muted narrow-hide" }, `${content.runs[k]}${spread}`), element("td", { class: "num muted" }, level ? percentText(level[2], value) : ""),
    element("td", {}, note ? element("span", { class: `tag ${note}` }, note) : ""));
}

function download(blob, kind) {
  const link = element("a", { href: URL.createObjectURL(blob), download: `series-${content.series.id}.${kind}` });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
