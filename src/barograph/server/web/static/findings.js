// What speaks for and against a change point, as elements: the preview of the queue and the page of
// a series both show it.

import { element } from "./elements.js";
import { sketch } from "./sketches.js";
import { commitText, middleCut, percentText, printable } from "./wording.js";

export const LABEL = 60; // characters
export const UNMEASURED = "Commits that were not measured may lie between.";
const SUBJECT = 120;
const STATES = { no_result: "no result yet", too_few: "too few results" };

// The largest weight of reasons, against which their bars are drawn.
export function largestPart(reasons) {
  return Math.max(...reasons.map(({ part }) => Math.abs(part ?? 0)), 1e-9);
}

// One reason with a bar of its weight, which is outlined where it speaks against a real change.
export function reasonItem(words, weight) {
  const item = element("li", {}, element("span", {}, words));
  const width = Math.max(3, Math.round(Math.abs(weight) * 23));
  item.insertAdjacentHTML("afterbegin", weight
    ? `<svg viewBox="0 0 24 8" aria-hidden="true"><rect class="${weight > 0 ? "for" : "against"}" x="0.5" y="1" width="${width}" height="6" rx="1"/></svg>`
    : "<span></span>");
  return item;
}

// One commit of the range between the results before and after a change.
export function commitItem(commit, words, { end = "", isLikely = false, isNext = false } = {}) {
  const subject = middleCut(commit.subject ?? "", SUBJECT);
  const classes = [isLikely && "likely", isNext && "next"].filter(Boolean).join(" ");
  return element("li", { class: classes || null },
    element("code", { title: printable([commit.commit, commit.author].filter(Boolean).join(", ")) }, commitText(commit)),
    element("span", { class: "muted", title: printable(commit.subject ?? "") || null }, subject || words), element("span", { class: "hint" }, end),
    subject && words && element("span", { class: "hint note" }, words));
}

// How many siblings of a commit had moved; "" if none has a result there.
export function votes({ old, new: moved }) {
  const all = old + moved;
  return all ? `${moved} of ${all} sibling${all === 1 ? "" : "s"} moved` : "";
}

// A sibling with its plot; `first` is the order of the first result after the change, and `reference` the
// series whose siblings these are.
export function siblingItem(sibling, first, reference) {
  const { series, state, effect, values, before, after } = sibling;
  const canvas = element("canvas", { "aria-hidden": "true" });
  const size = STATES[state] ?? percentText(before, after);
  const kind = STATES[state] ? "suspect" : state === "moved" ? effect : "muted";
  const [name, ...rest] = differences(series, reference);
  const target = sibling.change_point ? `?change_point=${sibling.change_point}` : "";
  const item = element("li", {}, element("a", { href: `/series/${series.id}${target}`, title: printable(series.name) }, canvas,
    element("span", { class: "caption" }, element("bdi", { class: "caption-name" }, middleCut(name, LABEL)),
      rest.length ? element("bdi", { class: "hint" }, middleCut(rest.join(", "), LABEL)) : null, element("span", { class: kind }, size))));
  const index = sibling.orders.findIndex((order) => order >= first);
  const split = index < 0 ? values.length : index;
  sketch(canvas, { values, split, before, after, effect: state === "moved" ? effect : "ink" });
  return item;
}

// What a sibling has that the series has not: the rest is the same anyway.
function differences({ variant, task, args, test, measurement }, reference) {
  const labels = Object.entries({ variant, task, measurement })
    .filter(([name, value]) => value && value !== reference[name])
    .map(([, value]) => value);
  const pairs = Object.entries(args)
    .filter(([name, value]) => reference.args[name] !== value)
    .map(([name, value]) => `${name} ${value}`);
  const differing = [...labels, ...pairs];
  return differing.length ? differing : [test];
}
