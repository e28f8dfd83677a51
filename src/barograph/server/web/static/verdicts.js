// Verdicts that count at once on the page, and are saved one after the other.
//
//   const outcome = await give("false_positive", [{ id: 3, version: 0 }], { label: "4 series of insert" });
//   outcome = { saved: [{ id, version }], refused: [{ id, why, version, verdict, who, time }],
//               failed: "" or a message, cancelled: false }
//
// `give` returns a promise; the page moves on without waiting for it, and brings back the rows in
// `refused`, or all of them after `failed`. `undo` takes back the latest step since the page was
// opened, again and again. `onChange(listener)` hears { type, step, outcome, pending }: `given` and
// `undoing` at once, `saved` and `undone` with the outcome, `pending` when the number of verdicts
// that are not saved yet changes. Elements with `data-pending` show that number.
//
// While the service does not answer, verdicts wait here and are sent again. Every one has a key, so
// none is recorded twice. Leaving the page asks first. Signing in again keeps them.

import { element } from "./elements.js";
import { HttpError, isLeaving, person, request } from "./http.js";
import { hide, show } from "./toast.js";
import { VERDICTS, ago, middleCut } from "./wording.js";

const MEANINGS = { true_positive: " (acknowledge)", false_positive: " (hide)" }; // what the keys stand for
const KEPT = "verdicts"; // in the storage of the tab, while the person signs in
const BACK_OFF = [1, 2, 4, 8, 15, 30]; // seconds
const SIGNED_OUT = 5000; // ms between two attempts while the page cannot be left
const DELAY = 700; // ms until the number of unsaved verdicts is shown

const steps = []; // what can be undone, the latest last
const queue = []; // jobs that are not saved yet; the first one is being sent
const versions = new Map(); // of the change points that this page decided
const listeners = [];
let isSending = false;
let wake = null; // ends the pause between two attempts

export function give(verdict, points, { note = "", reason = "", label = "", leftOut = 0 } = {}) {
  const name = label || counted(points.length);
  const step = { id: newKey(), verdict, points, note, reason, label: name, batch: null };
  steps.push(step);
  notify("given", step);
  show([marked(step), leftOutText(leftOut)].filter(Boolean).join(" "), [undoButton()]);
  return enqueue("give", step);
}

// Take back the latest step; resolves to null if there is none.
export function undo() {
  const step = steps.pop();
  if (!step) {
    show("Nothing to undo on this page. Earlier verdicts are under Processed.");
    return Promise.resolve(null);
  }
  notify("undoing", step);
  show(`Undone: ${step.label} ${isAre(step)} as before.`);
  const waiting = queue.findIndex((job) => job.step === step && job.kind === "give" && !job.body);
  if (waiting >= 0) {
    const [job] = queue.splice(waiting, 1);
    const outcome = { saved: [], refused: [], failed: "", cancelled: true };
    job.resolve(outcome);
    notify("undone", step, outcome);
    notifyPending();
    return Promise.resolve(outcome);
  }
  return enqueue("undo", step);
}

export function onChange(listener) {
  listeners.push(listener);
}

// Shows verdicts at once, and takes back those that are refused. `find(id)` returns what shows a change
// point, as objects with `verdict` and `version`; `show` gets each of them that changed, and `after` the
// outcome, null as long as there is none, with all that the step is about.
export function showVerdicts(find, show, after = () => {}) {
  const before = new Map(); // the verdicts of a step
  onChange(({ type, step, outcome }) => {
    if (!step) return;
    const items = step.points.flatMap(({ id }) => find(id));
    const set = (item, verdict) => { item.verdict = verdict; show(item); };
    const former = (item) => before.get(step.id)?.get(item) ?? item.verdict;
    if (type === "given") before.set(step.id, new Map(items.map((item) => [item, item.verdict])));
    if (type === "given" || (type === "undone" && outcome.failed)) for (const item of items) set(item, step.verdict);
    if (type === "undoing" || (type === "saved" && outcome.failed)) for (const item of items) set(item, former(item));
    for (const { id, verdict } of outcome?.refused ?? []) for (const item of find(id)) set(item, verdict ?? former(item));
    for (const { id, version } of outcome ? [...outcome.saved, ...outcome.refused] : []) {
      for (const item of find(id)) item.version = version ?? item.version;
    }
    after(outcome, items);
  });
}

// Resolves once every verdict of this page is saved or refused.
export async function settled() {
  while (queue.length) await new Promise((wake) => { document.addEventListener("verdictssaved", wake, { once: true }); });
}

// The shortcuts of the verdict buttons in a place, for `register`.
export function verdictKeys(place, when, action) {
  return [...place.querySelectorAll("[data-verdict]")].map((button) => {
    const { verdict } = button.dataset;
    const text = `${VERDICTS[verdict]}${MEANINGS[verdict] ?? ""}`;
    return { keys: [button.getAttribute("aria-keyshortcuts")], text, when, action: () => action(verdict) };
  });
}

// Returns why a verdict was refused, such as "Decided meanwhile: noise by wen 20 s ago."
export function describe({ why, verdict, who, time }) {
  if (why === "gone") return "This change point no longer exists.";
  if (why === "withdrawn") return "Later results made this change point disappear.";
  if (why === "undone") return "This was undone already.";
  const by = who ? ` by ${middleCut(who, 32)} ${ago(time)}` : "";
  return `Decided meanwhile: ${VERDICTS[verdict]}${by}.`;
}

function enqueue(kind, step, resumed = {}) {
  return new Promise((resolve) => {
    const key = resumed.key ?? newKey();
    queue.push({ kind, step, key, body: resumed.body ?? null, resolve, attempts: 0 });
    notifyPending();
    if (!isSending) work();
  });
}

async function work() {
  isSending = true;
  while (queue.length) {
    const job = queue[0];
    let answer;
    try {
      answer = await attempt(job);
    } catch (error) {
      if (error instanceof HttpError && error.status === 401) {
        if (isLeaving()) return;
        await new Promise((done) => setTimeout(done, SIGNED_OUT));
      } else if (error instanceof HttpError && error.isTemporary) await pause(job, error);
      else fail(job, error);
      continue;
    }
    problem = "";
    finish(job, answer);
  }
  isSending = false;
}

function attempt(job) {
  const headers = { "Idempotency-Key": job.key };
  if (job.kind === "undo") {
    if (job.step.batch === null) return { saved: [], refused: [] }; // the verdict was never saved
    const path = `/api/v1/verdicts/${job.step.batch}/undo`;
    return request("POST", path, { headers });
  }
  // What is sent again must be the same, so the body is made once.
  const { verdict, note, reason, points } = job.step;
  job.body ??= {
    verdict,
    note,
    reason,
    change_points: points.map(({ id, version }) => ({ id, version: versions.get(id) ?? version })),
  };
  return request("POST", "/api/v1/verdicts", { body: job.body, headers });
}

function finish(job, { batch = null, saved, refused }) {
  queue.shift();
  const { kind, step } = job;
  for (const { id, version } of saved) versions.set(id, version);
  for (const { id, version } of refused) if (version !== null) versions.delete(id);
  if (kind === "give") step.batch = saved.length ? batch : null;
  const outcome = { saved, refused, failed: "", cancelled: false };
  if (kind === "give" && !saved.length) forget(step);
  if (refused.length) showRefused(kind, step, refused);
  notify(kind === "give" ? "saved" : "undone", step, outcome);
  notifyPending();
  job.resolve(outcome);
}

function fail(job, error) {
  queue.shift();
  forget(job.step);
  const isUndo = job.kind === "undo";
  const again = () => { steps.push(job.step); undo(); };
  const buttons = isUndo ? [{ label: "Try again", action: again }, { label: "Close", action: hide }] : [];
  show(`Not ${isUndo ? "undone" : "saved"}: ${job.step.label}. ${error.message}`, buttons, { stay: true });
  const outcome = { saved: [], refused: [], failed: error.message, cancelled: false };
  notify(isUndo ? "undone" : "saved", job.step, outcome);
  notifyPending();
  job.resolve(outcome);
}

function showRefused(kind, step, refused) {
  const total = step.points.length;
  const which = total === 1 ? "" : `${refused.length} of ${total} not ${kind === "undo" ? "undone" : "saved"}. `;
  const text = `${which}${describe(refused[0])}`;
  const theirs = refused.filter((refusal) => refusal.why === "decided");
  if (kind === "undo" || !theirs.length) return show(text, [], { stay: true });
  const points = theirs.map(({ id, version }) => ({ id, version }));
  const { verdict, note, reason, label } = step;
  const name = theirs.length === total ? label : counted(theirs.length);
  const replace = () => give(verdict, points, { note, reason, label: name });
  return show(
    text,
    [
      { label: "Keep theirs", action: hide },
      { label: `Replace with ${VERDICTS[verdict]}`, action: replace },
    ],
    { stay: true },
  );
}

function forget(step) {
  const place = steps.indexOf(step);
  if (place >= 0) steps.splice(place, 1);
}

// Wait before the next attempt, but no longer than until the browser is online again.
async function pause(job, error) {
  const seconds = error.retryAfter ?? BACK_OFF[Math.min(job.attempts, BACK_OFF.length - 1)];
  job.attempts += 1;
  problem = error.message;
  notifyPending();
  await new Promise((resolve) => {
    wake = resolve;
    setTimeout(resolve, seconds * 1000 * (1 + Math.random() / 4));
  });
  wake = null;
}

addEventListener("online", () => wake?.());

addEventListener("beforeunload", (event) => {
  if (queue.length && !isLeaving()) event.preventDefault();
});

// Any request of the page may be the first that finds that the person was signed out.
document.addEventListener("signedout", (event) => {
  const jobs = queue.map(({ kind, step, key, body }) => ({ kind, step, key, body }));
  if (!jobs.length) return;
  try {
    sessionStorage.setItem(KEPT, JSON.stringify({ person, jobs }));
  } catch {
    event.preventDefault(); // without storage the page must stay open, or the verdicts would be lost
    show("You were signed out. Sign in again in another tab; then your verdicts are saved.", [], {
      stay: true,
    });
  }
});

function resume() {
  let kept = null;
  try {
    kept = JSON.parse(sessionStorage.getItem(KEPT));
    sessionStorage.removeItem(KEPT);
  } catch {
    return;
  }
  if (!kept) return;
  const { jobs } = kept;
  if (kept.person && kept.person !== person) {
    const what = jobs.length === 1 ? "A verdict" : `${jobs.length} verdicts`;
    show(`${what} by ${kept.person} ${jobs.length === 1 ? "was" : "were"} not saved: ${person} is signed in now.`, [], {
      stay: true,
    });
    return;
  }
  const known = new Map(); // a verdict and its undoing share one step, but not after the storage
  for (const { kind, step, key, body } of jobs) {
    if (!known.has(step.id)) known.set(step.id, step);
    const restored = known.get(step.id);
    if (kind === "give") steps.push(restored);
    else forget(restored);
    enqueue(kind, restored, { key, body });
  }
  if (jobs.length) show(`Saving ${jobs.length === 1 ? "the verdict" : "the verdicts"} from before.`);
}

// A listener that fails stops neither the others nor the verdicts that wait.
function notify(type, step = null, outcome = null) {
  for (const listener of listeners) {
    try {
      listener({ type, step, outcome, pending: queue.length });
    } catch (error) {
      reportError(error);
    }
  }
}

let pendingTimer = 0;
let problem = ""; // why the first verdict was not saved yet

function notifyPending() {
  notify("pending");
  if (!queue.length) document.dispatchEvent(new CustomEvent("verdictssaved"));
  clearTimeout(pendingTimer);
  if (!queue.length || problem) showPending();
  else pendingTimer = setTimeout(showPending, DELAY);
}

function showPending() {
  let places = [...document.querySelectorAll("[data-pending]")];
  if (!places.length && queue.length) places = [pendingPlace()];
  for (const place of places) {
    place.hidden = !queue.length;
    place.textContent = queue.length ? `${queue.length} not saved yet. ${problem}`.trim() : "";
  }
}

function pendingPlace() {
  const place = element("p", { class: "pending", "data-pending": true });
  document.body.append(place);
  return place;
}

function undoButton() {
  return { label: "Undo", key: "u", action: undo };
}

function marked({ verdict, label }) {
  return verdict === "not_triaged" ? `Reopened ${label}.` : `Marked ${label} as ${VERDICTS[verdict]}.`;
}

function leftOutText(count) {
  if (!count) return "";
  return count === 1 ? "1 new member was left out." : `${count} new members were left out.`;
}

const counted = (count) => (count === 1 ? "1 change point" : `${count} change points`);
const isAre = (step) => (step.points.length === 1 ? "is" : "are");

// crypto.randomUUID exists in secure contexts only, and a service may run on plain HTTP.
function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

resume();
