// The queue: cursor, selection, groups that open, verdicts, and what arrives meanwhile.

import { changeQueueCount } from "./board.js";
import { Departures } from "./departures.js";
import { element } from "./elements.js";
import { connectFilters } from "./filters.js";
import { Grid, pointsOf } from "./grid.js";
import { get } from "./http.js";
import { Preview } from "./preview.js";
import { register } from "./shortcuts.js";
import { give, onChange, settled, undo, verdictKeys } from "./verdicts.js";

const root = document.querySelector("[data-queue]");
const $ = (name) => root.querySelector(`[data-${name}]`);
const grid = new Grid($("grid"));
const preview = new Preview($("preview"));
const mayJudge = !("readonly" in root.dataset);
const FRESH_EVERY = 60_000; // milliseconds between two questions for new results
const CHECK_EVERY = 20_000; // milliseconds between two looks at the selected groups
const SLOW = 300; // milliseconds before a skeleton shows
const PLACE = "queue-place"; // in the storage of the tab

const judged = new Set(); // the change points that this page decided
const departures = new Departures(grid, refreshCounts);

/* The cursor and the selection */

grid.addEventListener("cursor", ({ detail: row }) => {
  showPreview(row);
  describeSelection();
  keepPlace(row);
});
grid.addEventListener("selection", describeSelection);

// Without a selection the dock is about the cursor's row; only a phone shows it then.
function describeSelection() {
  const rows = grid.selected;
  const groups = rows.filter((row) => row.matches(".group")).length;
  const count = chosenPoints(rows).length;
  $("picked").classList.toggle("idle", !rows.length);
  $("hints").hidden = rows.length > 0;
  $("picked-groups").textContent = rows.length
    ? `${groups || rows.length} selected`
    : grid.current?.dataset.name ?? "";
  $("picked-series").textContent = rows.length ? `${count.toLocaleString("en")} series` : "";
  if (grid.current) $("open-series").href = seriesAddress(grid.current);
  const box = $("select-all");
  box.checked = rows.length > 0 && groups === grid.groups.length;
  box.indeterminate = rows.length > 0 && !box.checked;
}
$("select-all").addEventListener("change", (event) => grid.selectAll(event.target.checked));

function showPreview(row) {
  const rows = grid.rows;
  const next = rows.indexOf(row) + 1;
  preview.show(row, (verdict) => judge(verdict, { rows: [row] }));
  preview.fetchAhead(rows.slice(next, next + 2));
}

/* Groups */

async function toggleGroup(row = grid.current) {
  const group = row && grid.groupOf(row);
  if (!group) return;
  const twist = group.querySelector(".twist");
  const isOpen = twist.getAttribute("aria-expanded") === "true";
  twist.setAttribute("aria-expanded", String(!isOpen));
  if (isOpen) {
    if (row !== group) grid.go(group);
    for (const member of grid.members(group)) member.remove();
  } else if (!(await addMembers(group, "", group))) {
    twist.setAttribute("aria-expanded", "false");
  }
}

// Returns whether the members were loaded. The group is named by a member that is left in it: the
// worst one may have its verdict already.
async function addMembers(group, place, after) {
  const query = new URLSearchParams(root.dataset.query), points = pointsOf(group);
  query.set("of", points[0].id);
  if (place) query.set("after", place);
  if (points.some(({ id }) => judged.has(id))) await settled(); // it may come back just now
  const rows = await fetchRows(`/queue/members?${query}`);
  if (!rows) return false;
  if (group.querySelector(".twist").getAttribute("aria-expanded") !== "true") return true;
  const kept = new Set(pointsOf(group).map(({ id }) => id));
  if (!place) group.dataset.joined = 0;
  for (const row of rows.children) row.dataset.of = group.dataset.group;
  for (const row of rows.querySelectorAll("tr.member:not(.more)")) {
    const id = Number(row.dataset.candidate);
    if (kept.has(id)) continue;
    if (!judged.has(id)) group.dataset.joined = Number(group.dataset.joined) + 1;
    row.remove(); // it joined since, or its verdict is being saved
  }
  after.after(...rows.children);
  return true;
}

root.addEventListener("click", (event) => {
  const { target } = event;
  const twist = target.closest(".twist");
  if (twist) toggleGroup(twist.closest("tr"));
  if (target.closest("[data-more-members]")) {
    const row = target.closest("tr");
    addMembers(grid.groupOf(row), row.dataset.next, row).then((isLoaded) => isLoaded && row.remove());
  }
  const verdict = target.closest("[data-picked] [data-verdict]")?.dataset.verdict;
  if (verdict) judge(verdict);
});
$("grid").addEventListener("dblclick", (event) => {
  if (!event.target.closest("input, button, a")) openSeries();
});

const seriesAddress = ({ dataset: { series, candidate } }) => `/series/${series}?change_point=${candidate}`;

function openSeries() {
  if (grid.current) location.href = seriesAddress(grid.current);
}

/* Verdicts */

// What a verdict is about: the selection, else the row under the cursor.
const chosenRows = () => (grid.selected.length ? grid.selected : [grid.current].filter(Boolean));

function chosenPoints(rows) {
  const points = new Map();
  for (const row of rows) for (const point of pointsOf(row)) points.set(point.id, point);
  return [...points.values()];
}

// The test and the labels of a row: a group may have many series of one test.
function seriesName(row) {
  const labels = row.querySelector(".labels").textContent.trim();
  return labels ? `${row.dataset.name} (${labels})` : row.dataset.name;
}

function judge(verdict, { rows, note = "", reason = "" } = {}) {
  const chosen = rows ?? chosenRows();
  if (!mayJudge || !chosen.length) return;
  const points = chosenPoints(chosen);
  const { name } = chosen[0].dataset;
  const label = chosen.length > 1 ? `${chosen.length} rows`
    : points.length > 1 ? `${points.length.toLocaleString("en")} series of ${name}` : seriesName(chosen[0]);
  const leftOut = chosen.reduce((sum, row) => sum + Number(row.dataset.joined ?? 0), 0);
  give(verdict, points, { note, reason, label, leftOut });
  grid.selectAll(false);
}

// The list shows what the service has: also after a verdict from a toast, from before a sign-in, and
// after an undo that failed.
onChange(({ type, step, outcome }) => {
  if (type === "pending") return;
  const numbers = step.points.map(({ id }) => id);
  if (type === "given") take(step, numbers);
  if (type === "undoing" || (type === "saved" && outcome.failed)) grid.go(departures.restore(step));
  if (type === "saved" && !departures.has(step)) take(step, outcome.saved.map(({ id }) => id));
  if (type === "saved" && outcome.refused.length) departures.refuse(step, outcome.refused);
  if (type === "undone" && outcome.failed) take(step, numbers);
  if (type === "undone") take(step, outcome.refused.filter(({ why, verdict }) => why === "gone" || (why === "decided" && verdict !== "not_triaged")).map(({ id }) => id));
  refreshCounts();
});

// Takes change points off the list; the cursor goes on if its row is about them.
function take(step, numbers) {
  const leaving = grid.rows.filter((row) => {
    const points = pointsOf(row);
    return points.length > 0 && points.every(({ id }) => numbers.includes(id));
  });
  const next = leaving.includes(grid.current) ? follower(leaving) : null;
  for (const id of numbers) judged.add(id);
  departures.take(step, numbers);
  grid.go(next);
}

// The row that the cursor moves to when some rows leave.
function follower(leaving) {
  const rows = grid.rows, set = new Set(leaving);
  for (const row of leaving) if (row.matches(".group")) for (const member of grid.members(row)) set.add(member);
  const last = rows.indexOf(grid.current);
  return rows.slice(last + 1).find((row) => !set.has(row))
    ?? rows.slice(0, Math.max(last, 0)).reverse().find((row) => !set.has(row));
}

let counted = 0; // groups off the list that the navigation does not count any more

function refreshCounts() {
  const { groups } = departures, away = groups.length;
  const waiting = "open" in root.dataset ? groups.filter(({ dataset: { kind } }) => !kind).length : 0;
  changeQueueCount(counted - waiting);
  counted = waiting;
  for (const count of root.querySelectorAll("[data-effect-count]")) {
    const { effectCount, total } = count.dataset;
    count.textContent = Number(total) - groups.filter((group) => group.dataset.effect === effectCount).length;
  }
  const left = Math.max(Number(root.dataset.total) - away, 0);
  $("left").textContent = left === 1 ? "1 group" : `${left} groups`;
  $("at-first").hidden = away > 0; // what the page counted when it was opened
  const isEmpty = !grid.groups.length && $("more").hidden;
  $("grid").hidden = isEmpty;
  $("clear").hidden = !isEmpty;
  $("picked").hidden = $("open-series").hidden = isEmpty;
  if (isEmpty) preview.clear();
  loadMore();
}

/* More rows, and new ones */

let loading = false;

async function loadMore() {
  const more = $("more");
  const rows = $("rows");
  const isNear = more.offsetTop < rows.scrollTop + 2 * rows.clientHeight;
  if (loading || more.hidden || !isNear) return;
  loading = true;
  const query = new URLSearchParams(root.dataset.query);
  query.set("offset", grid.groups.length);
  const table = await fetchRows(`/queue/rows?${query}`);
  if (table) {
    const known = new Set(grid.groups.map((row) => row.dataset.group));
    const groups = [...table.querySelectorAll("tr.group")];
    for (const row of groups) if (known.has(row.dataset.group)) row.remove();
    $("grid").append(...[...table.children].filter((body) => body.querySelector("tr.group")));
    more.hidden = groups.length < 100;
  }
  loading = false;
}
$("rows").addEventListener("scroll", loadMore, { passive: true });

// Rows that the server renders; an error shows above the rows that are there.
async function fetchRows(address) {
  const slow = setTimeout(() => root.setAttribute("aria-busy", "true"), SLOW);
  try {
    const template = document.createElement("template");
    template.innerHTML = `<table>${await get(address, { asText: true })}</table>`;
    $("error").hidden = true;
    const table = template.content.firstElementChild;
    const bare = table.tBodies.length === 1 && !table.querySelector("tr.group");
    return bare ? table.tBodies[0] : table;
  } catch (error) {
    $("error").hidden = false;
    $("error").firstElementChild.textContent = `The list could not be loaded. ${error.message} The rows below are older.`;
    return null;
  } finally {
    clearTimeout(slow);
    root.removeAttribute("aria-busy");
  }
}
// Nothing leaves the page while the service does not answer, or before the verdicts are saved.
$("retry").addEventListener("click", async () => {
  if (!(await fetchRows(`/queue/rows?${root.dataset.query}`))) return;
  await settled();
  location.reload();
});

async function askForNew() {
  if (document.hidden) return;
  try {
    const query = new URLSearchParams(root.dataset.query);
    query.set("newer_than", root.dataset.newest);
    query.set("limit", 0);
    const { newer } = await get(`/api/v1/queue?${query}`, { stay: true });
    $("fresh").hidden = !newer;
    $("fresh").textContent = newer === 1 ? "1 new group" : `${newer} new groups`;
  } catch {
    // The next question may be answered; what the page shows stays true until then.
  }
}
setInterval(askForNew, FRESH_EVERY);

// Shows on the selected groups, and on that under the cursor, what others did to them meanwhile.
async function checkGroups() {
  const rows = [...new Set([...grid.selected, grid.current].filter(Boolean).map((row) => grid.groupOf(row)))];
  const shown = rows.filter((row) => row && pointsOf(row).length).slice(0, 100);
  if (document.hidden || !shown.length) return;
  const query = new URLSearchParams(root.dataset.query);
  query.set("of", shown.map((row) => pointsOf(row)[0].id).join());
  try {
    const { groups } = await get(`/api/v1/queue/groups?${query}`, { stay: true });
    shown.forEach((row, k) => markChanged(row, groups[k].members));
  } catch {
    // A verdict says what changed, too: it names the version of each change point.
  }
}
setInterval(checkGroups, CHECK_EVERY);
addEventListener("focus", checkGroups);

function markChanged(row, members) {
  const known = new Map(pointsOf(row).map(({ id, version }) => [id, version]));
  const now = new Map(members.map(({ id, version }) => [id, version]));
  const joined = [...now.keys()].filter((id) => !known.has(id) && !judged.has(id)).length;
  const left = [...known].filter(([id, version]) => now.get(id) !== version && !judged.has(id)).length;
  row.querySelector("[data-changed]")?.remove();
  if (!joined && !left) return;
  const words = !members.length ? "changed" : [joined && `${joined} joined`, left && `${left} decided or gone`].filter(Boolean).join(", ");
  const title = "Since this page was loaded. A verdict leaves them out.";
  row.querySelector("th span").append(" ", element("span", { class: "tag suspect", "data-changed": true, title }, words));
}
$("fresh").addEventListener("click", () => location.reload());

/* Keys */

const reasonDialog = document.querySelector("[data-reason-dialog]");

function askReason() {
  const rows = chosenRows();
  if (!rows.length) return;
  const form = reasonDialog.querySelector("form");
  reasonDialog.querySelector("[data-reason-for]").textContent =
    `For ${chosenPoints(rows).length} series ${rows.length > 1 ? `in ${rows.length} rows` : `of ${rows[0].dataset.name}`}.`;
  reasonDialog.returnValue = "";
  reasonDialog.addEventListener("close", () => {
    const { verdict, reason, note } = Object.fromEntries(new FormData(form));
    if (reasonDialog.returnValue === "give") judge(verdict, { reason, note });
    form.reset();
  }, { once: true });
  reasonDialog.showModal();
}

const hasRow = () => grid.current !== null;

register([
  { keys: ["j", "ArrowDown"], text: "next row", action: () => grid.move(1) },
  { keys: ["k", "ArrowUp"], text: "previous row", action: () => grid.move(-1) },
  { keys: ["x"], text: "select", when: hasRow, action: () => grid.toggle() },
  { keys: ["Shift+x"], text: "select up to here", when: hasRow, action: () => grid.extend() },
  { keys: ["o"], text: "open or close a group", when: hasRow, action: () => toggleGroup() },
  { keys: ["Enter"], text: "series page", when: hasRow, action: openSeries },
  ...verdictKeys($("picked"), () => mayJudge && hasRow(), (verdict) => judge(verdict)),
  { keys: ["r"], text: "verdict with a reason", when: () => mayJudge && hasRow(), action: askReason },
  { keys: ["u"], text: "undo", when: () => mayJudge, action: () => undo() },
  { keys: ["Escape"], text: "clear the selection", action: leave },
]);

function leave() {
  const { activeElement } = document;
  if (activeElement?.matches("input, textarea, select")) grid.go(grid.current ?? grid.rows[0]);
  else grid.selectAll(false);
}

// Not submit buttons: Enter in a field would press the first one.
for (const close of document.querySelectorAll("dialog [data-close]")) {
  close.addEventListener("click", () => close.closest("dialog").close());
}
connectFilters(root);
if (grid.rows.length) grid.go(startingRow(), { focus: false });

/* The place in the list, for who comes back from a series or reloads the page */

function keepPlace(row) {
  const place = { candidate: Number(row.dataset.candidate), index: grid.groups.indexOf(grid.groupOf(row)) };
  try {
    sessionStorage.setItem(PLACE, JSON.stringify(place));
  } catch {
    // Storage is switched off: the list begins at its top.
  }
}

// The group that the cursor left; if it has got its verdict, the one that took its place.
function startingRow() {
  const { groups } = grid;
  if (performance.getEntriesByType("navigation")[0]?.type === "navigate") return groups[0];
  try {
    const { candidate, index } = JSON.parse(sessionStorage.getItem(PLACE));
    const kept = groups.find((group) => pointsOf(group).some(({ id }) => id === candidate));
    return kept ?? groups[Math.min(index, groups.length - 1)];
  } catch {
    return groups[0];
  }
}
