// What the page of a series is about: one change point, verdicts on it, evidence, and downloads.
// The chart is imported first, so that it is drawn before the rest runs.
import { change, chart, content, levelAt, onView, page, step } from "./series_chart.js";
import "./board.js";
import { copy } from "./copy.js";
import { element } from "./elements.js";
import { showEvidence } from "./evidence.js";
import { get } from "./http.js";
import { format } from "./scales.js";
import { register } from "./shortcuts.js";
import { watch } from "./stale.js";
import { show as toast } from "./toast.js";
import { give, showVerdicts, undo, verdictKeys } from "./verdicts.js";
import { VERDICTS, commitText, dated, middleCut, percentText, printable } from "./wording.js";

const STATES = { true_positive: "real", false_positive: "noise" };
const MORE = 500; // rows of the table

let focus = null;
if (chart) start();

function start() {
  const changes = chart.data.changes.filter(({ state }) => state !== "moved");
  addRows(page.rows);
  chart.options.onMark = ({ id }) => goTo(changes.find((mark) => mark.id === id));
  chart.options.onSelect = (k) => select(nearest(changes, k));
  const focused = changes.filter(({ id }) => id === page.focus);
  if (focused.length) setFocus(focused.at(-1));
  listen(changes);
  // Results that arrive move change points, and the levels around them.
  watch(placesOf(content.marks.filter(({ state }) => state !== "moved")), async () => {
    const path = `/api/v1/series/${content.series.id}/change-points?include_withdrawn=true&limit=10000`;
    const { change_points: points } = await get(path, { stay: true });
    return placesOf(points.map(({ before, after, ...point }) => ({ ...point, before: before?.level, after: after?.level })));
  });
}

// Change points and the levels on their sides, as a text.
function placesOf(points) {
  const places = points.map(({ id, order, before, after }) => [id, order, before ?? null, after ?? null]);
  return JSON.stringify(places.sort(([a], [b]) => a - b));
}

// The change point next to a result.
function nearest(changes, k) {
  const distance = ({ index }) => Math.abs(index - k);
  return changes.reduce((best, mark) => (best && distance(best) <= distance(mark) ? best : mark), null);
}

// The change points and the results of the plot have one selection: whatever moves it makes the page,
// its verdicts and its address be about the change point there.
function select(mark) {
  if (!mark || mark === focus) return;
  setFocus(mark);
  onView(chart.shown());
}

function goTo(mark) {
  select(mark);
  chart.reveal(mark.index);
}

// Makes the page about a change point.
function setFocus(mark) {
  focus = mark;
  chart.select(mark);
  for (const name of ["decide", "siblings"]) document.getElementById(name).hidden = false;
  describeFocus();
  showEvidence(mark, content.series);
}

function describeFocus() {
  const { size, effect, verdict } = focus;
  const about = document.getElementById("about"), word = effect === "changed" ? "" : ` (${effect})`;
  about.replaceChildren(`Verdict on the change ${preposition(size)}`, element("b", { class: effect }, size), `${word} at `, element("code", {}, commitText(focus)), `: ${VERDICTS[verdict]}`);
  for (const button of document.querySelectorAll("[data-verdict]")) {
    button.ariaPressed = String(button.dataset.verdict === verdict);
  }
}

function decide(verdict) {
  if (!focus || !page.canTriage) return;
  give(verdict, [{ id: focus.id, version: focus.version }], { label: `the change ${preposition(focus.size)}${focus.size} at ${commitText(focus)}` });
}

// "the change of +5.7 %", but "the change from 0".
function preposition(size) { return !size || size.startsWith("from") ? "" : "of "; }

if (chart) showVerdicts((id) => chart.data.changes.filter((mark) => mark.id === id), (mark) => {
  if (mark.state === "moved") return;
  mark.state = STATES[mark.verdict] ?? "unprocessed";
  mark.text = change(mark).text;
}, (outcome, marks) => {
  if (outcome && focus && marks.includes(focus)) showEvidence(focus, content.series);
  if (focus) describeFocus();
  chart.later();
});

function listen(changes) {
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
    const place = focus ? changes.indexOf(focus) : isForward ? -1 : changes.length;
    const next = changes[place + (isForward ? 1 : -1)];
    if (next) goTo(next);
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
    const { series, orders, commits, times, values, low, high, runs } = await get(`/api/v1/series/${content.series.id}/chart`);
    const rows = values.map((value, k) => [
      orders[k], quoted(commits[k]), times[k] === null ? "" : new Date(times[k]).toISOString(), value, quoted(series.unit), low[k], high[k], runs[k],
    ].join(","));
    const text = ["order,commit,time,value,unit,least,largest,runs", ...rows, ""].join("\r\n");
    download(new Blob([text], { type: "text/csv" }), "csv");
  },
  async png() {
    const { name } = content.series;
    download(await chart.toBlob(middleCut(name, 120)), "png");
  },
  more(button) { button.hidden = addRows(MORE); },
};

// Spreadsheets run a cell that begins with one of these signs.
function quoted(text) {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

// Adds results to the table, the newest first; returns whether it has all of them.
function addRows(count) {
  const body = document.querySelector("#results tbody");
  const rest = content.values.length - body.rows.length;
  for (let n = 1; n <= Math.min(rest, count); n += 1) body.append(row(rest - n));
  return rest <= count;
}

function row(k) {
  const value = content.values[k], level = levelAt(k);
  const commit = content.commits[k];
  const spread = content.runs[k] > 1 && value ? `, ±${((50 * (content.high[k] - content.low[k])) / Math.abs(value)).toFixed(1)} %` : "";
  const note = content.suspects.includes(k) ? "suspect" : content.outliers.includes(k) ? "outlier" : "";
  return element("tr", { "data-index": k },
    element("td", { class: "num muted" }, format(k + 1)), element("td", {}, element("code", { title: printable(commit) }, middleCut(commitText({ commit, order: content.orders[k] }), 16))),
    element("td", { class: "muted narrow-hide" }, moment(content.times[k])), element("td", { class: "num" }, format(value, step)),
    element("td", { class: "num muted narrow-hide" }, `${content.runs[k]}${spread}`), element("td", { class: "num muted" }, level ? deviation(level[2], value) : ""),
    element("td", {}, note ? element("span", { class: `tag ${note}` }, note) : ""));
}

// Of the values of a column, with the same digits in each.
function deviation(level, value) {
  const change = (100 * (value - level)) / Math.abs(level);
  if (!(Math.abs(change) < 900)) return percentText(level, value);
  return `${change < 0 ? "\u2212" : "+"}${Math.abs(change).toFixed(2)} %`;
}

function moment(time) {
  return time === null ? "unknown" : element("time", { title: `${dated(time, true)} UTC` }, dated(time));
}

function download(blob, kind) {
  const link = element("a", { href: URL.createObjectURL(blob), download: `series-${content.series.id}.${kind}` });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
