// The chart on the page of a series: its marks, the address of the view, and the result that is read.
import { drawSeries } from "./chart.js";
import { element } from "./elements.js";
import { day, format, measured, resolution } from "./scales.js";
import { commitText, dated, middleCut, percentText, probabilityText, shortCommit, unitText } from "./wording.js";

export const content = JSON.parse(document.getElementById("series-data").textContent);
export const page = JSON.parse(document.getElementById("page-data").textContent);
const unit = unitText(content.series.unit);
const canvas = document.getElementById("chart");
const readout = document.getElementById("readout");
export const chart = canvas && draw(); // null without results
export const step = chart && resolution(chart.state.whole);
if (chart) {
  performance.mark("chart-drawn");
  onView(chart.shown(), true);
}

function draw() {
  const { from, to, axis, scale } = Object.fromEntries(new URLSearchParams(location.search));
  const data = {
    ...content,
    index: null,
    count: content.values.length,
    limits: [0, 1],
    unit,
    changes: content.marks.map(change),
    slow: content.slow.map(({ kind, begin, end, before, after }) => [kind, begin, end, before, after]),
    tickets: content.tickets.map((ticket) => ({ ...ticket, key: middleCut(ticket.key, 24) })),
    label: (k) => ({ name: shortCommit(content.commits[k]), date: day(content.times[k]) }),
  };
  const view = { from: indexOf(from), to: indexOf(to, true), axis: axis ?? "commits", scale: scale ?? "fit" };
  return drawSeries(canvas, data, { isInteractive: true, view, onView, onRead });
}

// A change point with the text that its mark has.
export function change(mark) {
  const size = percentText(mark.before, mark.after);
  const real = mark.state === "unprocessed" && mark.probability !== null ? `, ${probabilityText(mark.probability)} real` : "";
  const words = { noise: `${size} noise`, moved: "moved", withdrawn: "withdrawn" };
  const trend = mark.effect === "trend" ? " trend" : "";
  return { ...mark, size, text: words[mark.state] ?? `${size}${trend}${real}` };
}

// The index of the first result at an order or after it, or of the last one before.
function indexOf(order, isEnd = false) {
  if (order === undefined || order === "") return null;
  const first = content.orders.findIndex((known) => (isEnd ? known > Number(order) : known >= Number(order)));
  const last = content.orders.length - 1;
  // A range without any result shows everything.
  if (isEnd) return first < 0 ? last : first - 1 < 0 ? null : first - 1;
  return first < 0 ? null : first;
}

// The address always has the view, so that a copy of it shows the same.
export function onView({ from, to, axis, scale }, isFirst = false) {
  const query = new URLSearchParams(location.search), { selected } = chart.state;
  const values = {
    from: from === null ? null : content.orders[from], to: to === null ? null : content.orders[to],
    axis: axis === "commits" ? null : axis, scale: scale === "fit" ? null : scale,
    change_point: selected && (query.has("change_point") || selected.id !== page.focus) ? selected.id : null,
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

// The level that a result belongs to.
export function levelAt(k) { return content.levels.find(([start, end]) => k >= start && k < end); }

function onRead(k) {
  document.querySelector("tr.read")?.classList.remove("read");
  if (k < 0) { readout.replaceChildren("\u00a0"); return; }
  const value = content.values[k], runs = content.runs[k];
  const level = levelAt(k);
  const spread = runs > 1 ? ` between ${format(content.low[k], step)} and ${format(content.high[k], step)} in ${runs} runs` : "";
  const notes = [content.suspects.includes(k) && "waits for a rerun", content.outliers.includes(k) && "outlier"];
  const parts = [
    level && `level ${measured(level[2], unit, step)}`, commitText({ commit: content.commits[k], order: content.orders[k] }),
    content.times[k] === null ? "" : `${dated(content.times[k], true)} UTC`,
    `result ${format(k + 1)} of ${format(content.values.length)}`, ...notes,
  ];
  const what = unit || middleCut(content.series.measurement, 40);
  readout.replaceChildren(element("b", {}, format(value, step)), what && ` ${what}`, `${spread} \u00b7 ${parts.filter(Boolean).join(" \u00b7 ")}`);
  document.querySelector(`tr[data-index="${k}"]`)?.classList.add("read");
}
