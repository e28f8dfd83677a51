// The panels that help to decide on a change point: reasons, suspects, decided cases, siblings and
// history. Each is filled from its own address, so that a slow one delays no other.
import { drawSparkline } from "./chart.js";
import { request } from "./http.js";
import { format } from "./scales.js";

const WORDS = {
  true_positive: "real", false_positive: "noise", under_investigation: "under investigation",
  unsure: "not sure", not_triaged: "to decide",
};
const FIRST = 12; // siblings that are shown at once
const PATIENCE = 300; // ms until a panel shows that it waits

export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== null && value !== false) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
  return made;
}

export function percentText(before, after) {
  if (before === null || after === null) return "";
  if (!before) return after ? "from 0" : "0.0 %";
  const change = (100 * (after - before)) / Math.abs(before);
  if (change >= 900) return `${format(change / 100 + 1)} times`;
  if (!change) return "0.0 %";
  const size = Math.abs(change);
  const digits = size >= 1 ? size.toFixed(1) : size >= 0.01 ? size.toFixed(2) : size.toPrecision(1);
  return `${change < 0 ? "\u2212" : "+"}${digits} %`;
}

export function probabilityText(value) {
  if (value === null) return "";
  const rounded = Math.round(100 * value);
  if ((rounded === 0 || rounded === 100) && value > 0 && value < 1) return rounded ? ">99 %" : "<1 %";
  return `${rounded} %`;
}

export function shortCommit(name) {
  return /^([0-9a-f]{40}|[0-9a-f]{64})$/.test(name) ? name.slice(0, 8) : name;
}

export function dated(time, withTime = false) {
  if (time === null || time === undefined) return "unknown";
  const text = new Date(time).toISOString();
  return withTime ? text.slice(0, 16).replace("T", " ") : text.slice(0, 10);
}

// Fills all panels for a change point; a later call makes the answers of an earlier one void.
let latest = 0;
export function showEvidence(mark, series) {
  latest += 1;
  const number = latest;
  const parts = { reasons: fillReasons, suspects: fillSuspects, alike: fillAlike, siblings: fillSiblings, history: fillHistory };
  for (const [name, fill] of Object.entries(parts)) {
    const panel = document.getElementById(name);
    if (panel) load(panel, `/api/v1/change-points/${mark.id}/${name}`, () => latest === number, (answer) => fill(panel, answer, mark, series));
  }
}

async function load(panel, path, isCurrent, fill) {
  const list = panel.querySelector("[data-list]");
  const waiting = setTimeout(() => {
    if (isCurrent() && !panel.hidden) list.replaceChildren(bones());
  }, PATIENCE);
  try {
    const answer = await request("GET", path);
    if (isCurrent()) { list.replaceChildren(); fill(answer); }
  } catch (error) {
    if (!isCurrent()) return;
    const again = element("button", { class: "button plain", type: "button" }, "Try again");
    again.addEventListener("click", () => load(panel, path, isCurrent, fill));
    panel.hidden = false;
    list.replaceChildren(element(list.tagName === "DIV" ? "p" : "li", { class: "failed" }, `Not loaded: ${error.message} `, again));
  } finally {
    clearTimeout(waiting);
  }
}

function bones() {
  const made = element("li", { class: "bones", "aria-hidden": "true" });
  made.append(element("i"), element("i"), element("i"));
  return made;
}

function fillReasons(panel, { probability, reasons, facts }) {
  panel.querySelector("[data-probability]").textContent = probability === null ? "not scored" : probabilityText(probability);
  const list = panel.querySelector("[data-list]");
  const most = Math.max(...reasons.map((reason) => Math.abs(reason.part ?? 0)), 1e-9);
  const groups = [
    ["For a real change", reasons.filter((reason) => (reason.part ?? 0) >= 0)],
    ["Against it", reasons.filter((reason) => (reason.part ?? 0) < 0)],
  ];
  for (const [title, own] of groups) {
    if (!own.length) continue;
    const items = own.map(({ text, part }) => {
      const meter = element("meter", { min: 0, max: 1, value: Math.abs(part ?? 0) / most, "aria-label": "weight" });
      return element("li", {}, meter, element("span", {}, text));
    });
    list.append(element("h3", {}, title), element("ul", { class: "reasons" }, ...items));
  }
  if (facts.length) {
    list.append(element("h3", {}, "Besides"), element("ul", { class: "reasons" }, ...facts.map((text) => element("li", { class: "fact" }, text))));
  }
  if (!reasons.length && !facts.length) list.append(element("p", { class: "small muted" }, "The model gives no reasons for this change point."));
}

function fillSuspects(panel, { last_before: before, first_after: after, count, commits, likely, next, siblings }, mark, series) {
  const list = panel.querySelector("[data-list]");
  panel.querySelector("[data-note]").textContent = count ? String(count) : "";
  if (before) list.append(edgeRow(before, "last result before"));
  for (const commit of commits) {
    const isLikely = likely && commit.order >= likely[0] && commit.order <= likely[1];
    const says = commit.old + commit.new ? `${commit.new} of ${commit.old + commit.new} siblings moved` : "";
    const text = commit.order === next ? `run next${says ? `; ${says}` : ""}` : says || "no result";
    const own = commit.order === after?.order ? `first result after${says ? `; ${says}` : ""}` : text;
    list.append(element(
      "li", { class: [isLikely || count === 1 ? "likely" : "", commit.order === next ? "next" : ""].join(" ").trim() || null },
      element("code", { title: commit.commit }, shortCommit(commit.commit) || `order ${commit.order}`),
      element("span", { class: "muted" }, own),
      element("span", { class: "hint" }, commit.order === after?.order ? format(after.value) : ""),
    ));
  }
  const line = panel.querySelector("[data-next]");
  const link = element("a", { href: `/commit?${new URLSearchParams({ project: series.project, order: mark.order })}` }, "See everything this commit changed");
  const name = commits.find((commit) => commit.order === next);
  const text = next === null
    ? count ? "Nothing left to halve. " : "The range is unknown: a result on one side is missing. "
    : `Run ${shortCommit(name?.commit ?? "") || `order ${next}`} next to halve the range${siblings && likely ? ", which siblings narrow" : ""}. `;
  line.replaceChildren(text, link, ".");
}

function edgeRow({ order, commit, value }, text) {
  return element("li", {}, element("code", { title: commit }, shortCommit(commit) || `order ${order}`), element("span", { class: "muted" }, text), element("span", { class: "hint" }, format(value)));
}

function fillAlike(panel, { cases }) {
  const list = panel.querySelector("[data-list]");
  if (!cases.length) {
    list.append(element("li", { class: "small muted" }, "No verdicts to compare with yet. The first ones appear here."));
    return;
  }
  for (const one of cases) {
    const canvas = element("canvas", { "aria-hidden": "true" });
    const word = WORDS[one.verdict];
    const name = one.name.split("/").slice(-2).join("/");
    const text = element("span", {},
      element("bdi", { class: "case-name", title: one.name }, name),
      element("b", { class: word === "noise" ? "noise" : "" }, word),
      `, ${[percentText(one.before, one.after), one.who, dated(one.time)].filter(Boolean).join(", ")}`);
    list.append(element("li", {}, element("a", { href: `/series/${one.series}?change_point=${one.change_point}` }, canvas, text)));
    sketch(canvas, one.values, one.split, word === "noise" ? "noise" : "ink", one.split);
  }
}

function fillSiblings(panel, answer, mark, own) {
  const { siblings, rose, fell, steady, waiting } = answer;
  panel.hidden = !siblings.length;
  if (panel.hidden) return;
  const parts = [[fell, "fell"], [rose, "rose"], [steady, "did not move"], [waiting, "without a result yet or with too few"]];
  const counts = parts.filter(([count]) => count).map(([count, verb]) => `${count} ${verb}`).join(", ");
  panel.querySelector("[data-note]").textContent = `${counts}. Each plot has its own scale; the dotted line is the same commit.`;
  const list = panel.querySelector("[data-list]"), more = panel.querySelector("[data-more]");
  const shown = (many) => list.append(...siblings.slice(list.children.length, many).map((one) => siblingItem(one, answer.first_after, own)));
  shown(FIRST);
  more.hidden = siblings.length <= FIRST;
  more.textContent = `${siblings.length - FIRST} more`;
  more.onclick = () => { shown(siblings.length); more.hidden = true; };
}

const STATES = { no_result: "no result yet", too_few: "too few results" };
function siblingItem(one, first, own) {
  const canvas = element("canvas", { "aria-hidden": "true" });
  const { series, state, effect } = one;
  const args = Object.entries(series.args).map(([key, value]) => `${key.replaceAll("_", " ")} ${value}`);
  // The caption says what differs from the series of the page.
  const isElsewhere = series.variant !== own.variant || !args.length;
  const variant = isElsewhere ? series.variant || series.task || series.test : "";
  const size = STATES[state] ?? percentText(one.before, one.after);
  const kind = STATES[state] ? "waiting" : state === "moved" ? effect : "muted";
  const target = one.change_point ? `?change_point=${one.change_point}` : "";
  const item = element("li", {}, element("a", { href: `/series/${series.id}${target}`, title: series.name }, canvas,
    element("span", { class: "caption" }, element("bdi", { class: "caption-name" }, variant || args.join(", ")),
      variant && args.length ? element("bdi", { class: "hint" }, args.join(", ")) : null, element("span", { class: kind }, size))));
  const found = one.orders.findIndex((order) => order >= first);
  sketch(canvas, one.values, found < 0 ? one.values.length : found, state === "moved" ? effect : "ink", found < 0 ? one.values.length : found);
  return item;
}

// A small plot with one level on each side; drawn once it has a size.
const sketches = new Map();
const seen = new ResizeObserver((entries) => {
  for (const { target, contentRect } of entries) {
    if (contentRect.width) sketches.get(target)?.(contentRect);
    if (!target.isConnected) { seen.unobserve(target); sketches.delete(target); }
  }
});
export function sketch(canvas, values, split, effect, at) {
  const half = (from, to) => (to > from ? [[from, to, median(values.slice(from, to))]] : []);
  const levels = [...half(0, split), ...half(split, values.length)];
  const low = Math.min(...values), high = Math.max(...values), margin = 0.1 * (high - low) || 1;
  const data = { values, index: null, count: Math.max(values.length, 1), limits: [low - margin, high + margin], levels };
  sketches.set(canvas, (size) => { if (values.length) drawSparkline(canvas, data, split, effect, size, at); });
  seen.observe(canvas);
}

export function redrawSketches() {
  for (const [canvas, draw] of sketches) if (canvas.isConnected) draw(canvas.getBoundingClientRect());
}

function median(values) {
  const sorted = [...values].sort((a, b) => a - b), middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

function fillHistory(panel, { events }) {
  panel.hidden = false;
  const list = panel.querySelector("[data-list]");
  for (const event of [...events].reverse()) {
    const time = element("time", { title: event.time === null ? "" : `${dated(event.time, true)} UTC` }, dated(event.time, true));
    list.append(element("li", {}, time, element("span", {}, eventText(event))));
  }
}

function eventText({ kind, who, verdict, from_order: from, to_order: to, probability, text }) {
  if (kind === "found") return `Found${text ? ` by ${text}` : ""}.`;
  if (kind === "scored") return `Scored ${probabilityText(probability)}${text ? ` by model ${text.slice(0, 16)}` : ""}.`;
  if (kind === "moved") return `Moved from order ${from} to ${to} when results arrived.`;
  if (kind === "withdrawn") return "Later results made it disappear.";
  if (kind === "returned") return `Came back${from !== to ? `, at order ${to}` : ""}.`;
  if (kind === "ticket") return `Ticket ${text} filed.`;
  const said = verdict === "not_triaged" ? "reopened it" : `marked it ${WORDS[verdict]}`;
  return `${who} ${said}${text ? `: ${text}` : ""}.`;
}
