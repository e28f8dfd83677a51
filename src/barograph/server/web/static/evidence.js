// The panels that help to decide on a change point: reasons, suspects, decided cases, siblings and
// history. Each is filled from its own address, so that a slow one delays no other.
import { bones, button, element } from "./elements.js";
import { LABEL, UNMEASURED, commitItem, largestPart, reasonItem, siblingItem, votes } from "./findings.js";
import { request } from "./http.js";
import { step } from "./series_chart.js";
import { measured } from "./scales.js";
import { sketch } from "./sketches.js";
import { VERDICTS, commitText, dated, middleCut, orderText, percentText, printable, probabilityText, shortCommit, unitText } from "./wording.js";

const PERSON = 32; // characters
const FIRST = 12; // siblings that are shown at once
const PATIENCE = 300; // ms until a panel shows that it waits

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
  const line = list.tagName === "DIV" ? "p" : "li";
  const waiting = setTimeout(() => {
    if (isCurrent()) list.replaceChildren(bones(line));
  }, PATIENCE);
  try {
    const answer = await request("GET", path);
    if (isCurrent()) { list.replaceChildren(); fill(answer); }
  } catch (error) {
    if (!isCurrent()) return;
    const again = button("Try again", () => load(panel, path, isCurrent, fill), { name: "button plain" });
    list.replaceChildren(element(line, { class: "small muted failed" }, `Not loaded. ${error.message} `, again));
    // What stands there is about the change point before.
    for (const part of panel.querySelectorAll("[data-probability], [data-note], [data-next]")) part.replaceChildren();
  } finally {
    clearTimeout(waiting);
  }
}

function fillReasons(panel, { probability, reasons, facts, against }) {
  panel.querySelector("[data-probability]").textContent = probability === null ? "not scored" : probabilityText(probability);
  const list = panel.querySelector("[data-list]");
  const most = largestPart(reasons);
  const groups = [
    ["For a real change", reasons.filter((reason) => (reason.part ?? 0) >= 0), []],
    ["Against it", reasons.filter((reason) => (reason.part ?? 0) < 0), against],
    ["Besides", [], facts],
  ];
  for (const [title, weighed, others] of groups) {
    const items = weighed.map(({ text, part }) => reasonItem(text, (part ?? 0) / most));
    items.push(...others.map((text) => element("li", { class: "fact" }, text)));
    if (items.length) list.append(element("h3", {}, title), element("ul", { class: "reasons" }, ...items));
  }
  if (!list.children.length) list.append(element("p", { class: "small muted" }, "The model gives no reasons for this change point."));
}

function fillSuspects(panel, { last_before: before, first_after: after, count, commits, is_complete: isComplete, next, siblings }, mark, series) {
  const list = panel.querySelector("[data-list]"), unit = unitText(series.unit);
  panel.querySelector("[data-note]").textContent = count ? String(count) : "";
  if (before) list.append(commitItem(before, "last result before", { end: measured(before.value, unit, step) }));
  for (const commit of commits) {
    const moved = votes(commit), isNext = commit.commit === next, isAfter = commit.order === after?.order;
    const fact = isAfter ? "first result after" : isNext ? "run next" : "";
    const words = [fact, moved].filter(Boolean).join("; ") || "no result";
    const isLikely = count === 1 || commit.is_likely;
    list.append(commitItem(commit, words, { end: isAfter ? measured(after.value, unit, step) : "", isLikely, isNext }));
  }
  const line = panel.querySelector("[data-next]");
  const link = element("a", { href: `/commit?${new URLSearchParams({ project: series.project, order: mark.order })}` }, "See everything this commit changed");
  const isNarrowed = siblings && commits.some((commit) => commit.is_likely);
  const text = [
    !count && "The range is unknown: a result on one side is missing.",
    count && next === null && isComplete && "Nothing left to halve.",
    next !== null && `Run ${shortCommit(next)} next to halve the range${isNarrowed ? ", which siblings narrow" : ""}.`,
    count && !isComplete && UNMEASURED,
  ];
  line.replaceChildren(`${text.filter(Boolean).join(" ")} `, link, ".");
}

function fillAlike(panel, { cases }) {
  const list = panel.querySelector("[data-list]");
  if (!cases.length) {
    list.append(element("li", { class: "small muted" }, "No verdicts to compare with yet. The first ones appear here."));
    return;
  }
  for (const decided of cases) {
    const canvas = element("canvas", { "aria-hidden": "true" });
    const word = VERDICTS[decided.verdict];
    const args = Object.entries(decided.args).map(([name, value]) => `${name} ${value}`);
    const text = element("span", {},
      element("bdi", { class: "case-name", title: printable(decided.name) }, middleCut(decided.test, LABEL)),
      element("bdi", { class: "case-name hint" }, middleCut([decided.measurement, ...args].join(" · "), LABEL)),
      element("b", { class: word === "noise" ? "noise" : "" }, word), ` ${percentText(decided.before, decided.after)}`,
      element("bdi", { class: "case-name hint" }, [middleCut(decided.who, PERSON), dated(decided.time)].filter(Boolean).join(", ")));
    list.append(element("li", {}, element("a", { href: `/series/${decided.series}?change_point=${decided.change_point}` }, canvas, text)));
    sketch(canvas, { ...decided, effect: word === "noise" ? "noise" : "ink" });
  }
}

function fillSiblings(panel, answer, mark, series) {
  const { siblings, rose, fell, steady, waiting } = answer;
  const note = panel.querySelector("[data-note]");
  const list = panel.querySelector("[data-list]"), more = panel.querySelector("[data-more]");
  list.hidden = !siblings.length;
  if (list.hidden) { note.textContent = "No other series has this test."; return; }
  const parts = [[fell, "fell"], [rose, "rose"], [steady, "did not move"], [waiting, "without a result yet or with too few"]];
  const counts = parts.filter(([count]) => count).map(([count, verb]) => `${count} ${verb}`).join(", ");
  note.textContent = `${counts}. Each plot has its own scale; the dotted line is the same commit.`;
  const shown = (many) => list.append(...siblings.slice(list.children.length, many).map((sibling) => siblingItem(sibling, answer.first_after, series)));
  shown(FIRST);
  more.hidden = siblings.length <= FIRST;
  more.textContent = `${siblings.length - FIRST} more`;
  more.onclick = () => { shown(siblings.length); more.hidden = true; };
}

function fillHistory(panel, { events }) {
  const list = panel.querySelector("[data-list]");
  for (const event of [...events].reverse()) {
    const time = element("time", { title: event.time === null ? "" : `${dated(event.time, true)} UTC` }, dated(event.time, true));
    list.append(element("li", {}, time, element("span", {}, eventText(event))));
  }
}

function eventText({ kind, who, verdict, from_order: from, to_order: to, probability, text }) {
  if (kind === "detected") return `Found${text ? ` by the detector ${text}` : ""}.`;
  if (kind === "scored") return `Probability ${probabilityText(probability)}${text ? `, from the model ${middleCut(text, PERSON)}` : ""}.`;
  if (kind === "moved") return `Moved from ${orderText(from)} to ${orderText(to)} when results arrived.`;
  if (kind === "withdrawn") return "Later results made it disappear.";
  if (kind === "returned") return `Came back${from !== to ? `, at ${orderText(to)}` : ""}.`;
  if (kind === "ticket") return `Ticket ${middleCut(text, LABEL)} filed.`;
  const action = verdict === "not_triaged" ? "reopened it" : `marked it ${VERDICTS[verdict]}`;
  return `${middleCut(who, PERSON)} ${action}${text ? `: ${printable(text)}` : ""}.`;
}
