// Facts in words, as `barograph/wording.py` and the templates print them.

import { day, format } from "./scales.js";

export const VERDICTS = {
  true_positive: "real", false_positive: "noise", under_investigation: "under investigation",
  unsure: "not sure", not_triaged: "to decide",
};
const AGES = [[60_000, "s", 1000], [3_600_000, "min", 60_000], [172_800_000, "h", 3_600_000]];
const DAY = 86_400_000;
const COMMIT = 24, UNIT = 30; // characters
const HIDDEN = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/gu;

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
  return /^([0-9a-f]{40}|[0-9a-f]{64})$/.test(name ?? "") ? name.slice(0, 8) : middleCut(name ?? "", COMMIT);
}

// Text on one line, without characters that reverse the direction of what follows.
export function printable(text) {
  return text.replaceAll("\n", " ").replace(HIDDEN, "\ufffd");
}

// A printable text of at most `most` characters: the middle of a longer one is left out.
export function middleCut(text, most) {
  const characters = [...printable(text)]; // not the halves of an emoji
  if (characters.length <= most) return characters.join("");
  return `${characters.slice(0, most >> 1).join("")}\u2026${characters.slice(-((most - 1) >> 1)).join("")}`;
}

// A unit, short enough for an axis.
export function unitText(unit) { return middleCut(unit.trim(), UNIT); }

export function commitText({ commit, order }) { return shortCommit(commit) || orderText(order); }

// An order that is a time in milliseconds reads as one.
export function orderText(order) {
  return order >= 1e12 && order < 4e12 ? dated(order, true).replace(" 00:00", "") : `order ${order}`;
}

// The day of a time, or its minute.
export function dated(time, withTime = false) {
  if (time === null || time === undefined) return "unknown";
  return withTime ? new Date(time).toISOString().slice(0, 16).replace("T", " ") : day(time);
}

// How long ago a time was, such as "4 min ago".
export function ago(time) {
  const passed = Math.max(0, Date.now() - time);
  for (const [limit, unit, size] of AGES) {
    if (passed < limit) return `${Math.floor(passed / size)} ${unit} ago`;
  }
  const days = Math.floor(passed / DAY);
  if (days < 60) return `${days} d ago`;
  return days < 730 ? `${Math.floor(days / 30)} months ago` : `${Math.floor(days / 365)} years ago`;
}
