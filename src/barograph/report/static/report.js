// The behaviour of a report: charts that are drawn as they come into view, search, filters, sorting
// and the theme.
import { drawSeries, drawSparkline } from "./chart.js";

const content = JSON.parse(document.getElementById("data").textContent);
const series = once((k) => decoded(content.series[k]));
const charts = new Map();

// Series are decoded when they are first drawn.
function once(compute) {
  const known = new Map();
  return (k) => {
    if (!known.has(k)) known.set(k, compute(k));
    return known.get(k);
  };
}

function decoded(packed) {
  const { names } = packed;
  return {
    values: Float64Array.from(packed.values, (value) => value ?? NaN),
    index: packed.index,
    count: packed.count,
    unit: packed.unit,
    limits: packed.limits,
    levels: packed.levels,
    slow: packed.slow,
    changes: packed.changes.map(([index, text, effect, probability]) => (
      { index, text, effect, probability }
    )),
    label(k) {
      const time = content.times[names[k]];
      const date = time === null ? "" : new Date(time * 1000).toISOString().slice(0, 10);
      return { name: content.names[names[k]], date };
    },
  };
}

// Pictures exist only near the screen: thousands of them would take gigabytes.
const seen = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting, boundingClientRect } of entries) {
    if (isIntersecting) show(target, boundingClientRect); else hide(target);
  }
}, { rootMargin: "600px 0px" });

function show(canvas, size) {
  if (!size.width) return;
  const data = series(Number(canvas.dataset.series));
  if (canvas.className === "spark") {
    drawSparkline(canvas, data, Number(canvas.dataset.from), canvas.dataset.effect, size);
  } else if (charts.has(canvas)) {
    charts.get(canvas).draw(size);
  } else {
    const readout = canvas.parentNode.querySelector("output");
    charts.set(canvas, drawSeries(canvas, data, { readout, size }));
  }
}

function hide(canvas) {
  if (!drawn(canvas)) return;
  if (canvas.className === "spark") canvas.width = canvas.height = 0;
  else charts.get(canvas).release();
}

// A canvas without a picture has the size of the standard, or none.
function drawn(canvas) { return canvas.width > 0 && canvas.hasAttribute("width"); }

const pictures = [...document.querySelectorAll("canvas[data-series]")];
for (const canvas of pictures) seen.observe(canvas);

// All sizes are read before the first picture changes the page.
function redraw(chosen = pictures.filter(drawn)) {
  const sizes = chosen.map((canvas) => canvas.getBoundingClientRect());
  chosen.forEach((canvas, k) => show(canvas, sizes[k]));
}

// Search and filters.
const search = document.getElementById("search");
const counter = document.getElementById("shown");
const rows = [...document.querySelectorAll("tbody tr")];
const cards = [...document.querySelectorAll("article")];
const filters = [...document.querySelectorAll("[data-filter]")];
const texts = new Map(rows.map((row) => [row, row.dataset.text || row.textContent.toLowerCase()]));

function select() {
  // Rows show the first 8 digits of a full hash.
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean)
    .map((word) => (/^[0-9a-f]{40,64}$/.test(word) ? word.slice(0, 8) : word));
  const effect = filters.find((button) => button.ariaPressed === "true")?.dataset.filter;
  const kept = new Set();
  let count = 0;
  for (const row of rows) {
    const fits = (!effect || effect === "all" || row.dataset.effect === effect)
      && words.every((word) => texts.get(row).includes(word));
    row.hidden = !fits;
    if (fits) { count += 1; kept.add(row.dataset.card); }
  }
  for (const card of cards) card.hidden = !kept.has(card.id);
  counter.textContent = count === rows.length ? "" : `${count.toLocaleString("en")} of `
    + `${rows.length.toLocaleString("en")} rows`;
  document.getElementById("none").hidden = count > 0;
}

let waiting = 0;
search?.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(select, 80); });
for (const button of filters) {
  button.addEventListener("click", () => {
    for (const other of filters) other.ariaPressed = String(other === button);
    select();
  });
}
document.addEventListener("keydown", (event) => {
  const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
  if (event.key === "/" && !typing && search) { event.preventDefault(); search.focus(); }
  if (event.key === "Escape" && event.target === search) { search.value = ""; select(); }
});

// Sorting: each header is a button, and a second press reverses the order.
for (const button of document.querySelectorAll("th button")) {
  button.addEventListener("click", () => {
    const header = button.parentNode;
    const ascending = header.ariaSort === "ascending";
    for (const other of header.parentNode.children) other.removeAttribute("aria-sort");
    header.ariaSort = ascending ? "descending" : "ascending";
    const sign = ascending ? -1 : 1, key = button.dataset.key;
    const value = (row) => (key === "name" ? row.cells[2].textContent : Number(row.dataset[key]));
    const body = rows[0]?.parentNode;
    const sorted = [...rows].sort((a, b) => {
      const [x, y] = [value(a), value(b)];
      return sign * (typeof x === "string" ? x.localeCompare(y, "en", { numeric: true }) : x - y);
    });
    body?.append(...sorted);
  });
}

// The theme: that of the system until the button is pressed.
const root = document.documentElement;
const dark = matchMedia("(prefers-color-scheme: dark)");
document.getElementById("theme").addEventListener("click", () => {
  const isDark = (root.dataset.theme || (dark.matches ? "dark" : "light")) === "dark";
  root.dataset.theme = isDark ? "light" : "dark";
  redraw();
});
dark.addEventListener("change", () => redraw());

// On paper every chart is drawn, on white.
let before = null;
addEventListener("beforeprint", () => {
  before = root.dataset.theme || "";
  root.dataset.theme = "light";
  redraw(pictures.filter((canvas) => !canvas.closest("[hidden]")));
});
addEventListener("afterprint", () => {
  if (before) root.dataset.theme = before; else delete root.dataset.theme;
  redraw();
});
