// The filters of the queue: they live in the address, so that a link and the back button keep them.

import { element } from "./elements.js";
import { get, request } from "./http.js";
import { register } from "./shortcuts.js";
import { middleCut } from "./wording.js";

const CHOICES = {
  state: ["open", "investigation", "unsure", "withdrawn", "any"],
  show: ["canary", "low_priority", "informational"],
  effect: ["worse", "better", "unknown"],
  since: ["1d", "7d", "30d"],
};
const SHOWN = 40; // characters of the name of a filter
const LABELS = ["project", "variant", "task", "test", "measurement", "args"];
// What a value must look like; any text is good for the other fields.
const PATTERNS = {
  probability: "0|1|0?\\.\\d+|[01]\\.\\d*|\\d+(\\.\\d+)? ?%",
  hazard: "\\d*\\.?\\d+",
  since: "\\d{4}-\\d\\d-\\d\\d|\\d+d",
  until: "\\d{4}-\\d\\d-\\d\\d",
};
const HINTS = {
  args: "An argument such as thread_level=8, or its value.",
  probability: "A number from 0 to 1 such as 0.5, or a percentage.",
  hazard: "Magnitude of the logarithm of the change: 0.1 is about 10 %.",
  since: "A day such as 2026-03-12, or a number of days such as 7d.",
  until: "A day such as 2026-03-12.",
};

export function connectFilters(root) {
  const query = new URLSearchParams(root.dataset.query);
  const dialog = document.querySelector("[data-filter-dialog]");
  const form = dialog.querySelector("form");
  const { field, value } = form.elements;

  const describe = async () => {
    const name = field.value;
    const choices = CHOICES[name] ?? [];
    value.value = "";
    value.pattern = PATTERNS[name] ?? (choices.join("|") || ".*");
    value.title = HINTS[name] ?? (LABELS.includes(name) ? "A value; * stands for any characters." : `One of ${choices.join(", ")}.`);
    dialog.querySelector("[data-filter-hint]").textContent = value.title;
    offer(choices);
    if (!LABELS.includes(name)) return;
    try {
      const { values } = await get(`/api/v1/queue/values?label=${name}`);
      if (field.value === name) offer(values.map((choice) => choice.value));
    } catch {
      // The field takes any value; the list only helps.
    }
  };
  const offer = (values) => {
    const options = values.map((value) => element("option", { value }));
    dialog.querySelector("datalist").replaceChildren(...options);
  };
  const open = () => {
    dialog.returnValue = "";
    dialog.showModal();
    field.focus();
    describe();
  };
  field.addEventListener("change", describe);
  root.querySelector("[data-add-filter]").addEventListener("click", open);
  dialog.addEventListener("close", () => {
    if (dialog.returnValue !== "add" || !value.value.trim()) return;
    visit(query, field.value, value.value.trim());
  });
  root.querySelector("[data-filters]").addEventListener("submit", (event) => {
    event.preventDefault(); // without a script the form asks with empty fields, too
    visit(query, "q", event.target.elements.q.value.trim());
  });
  // On a phone, what is seldom needed has its place below a button.
  const more = root.querySelector("[data-more-filters]");
  more.addEventListener("click", () => { more.ariaExpanded = String(more.ariaExpanded !== "true"); });
  root.querySelector("[data-sort]").addEventListener("change", ({ target }) => visit(query, "sort", target.value));
  const search = root.querySelector("[name=q]");
  search.addEventListener("search", () => {
    if (!search.value && query.has("q")) visit(query, "q", "");
  });
  register([
    { keys: ["/"], text: "search", action: () => search.select() },
    { keys: ["f"], text: "add a filter", action: open },
  ]);
  connectSaved(root, query);
}

function visit(query, name, text) {
  const changed = new URLSearchParams(query);
  const isPercent = name === "probability" && text.endsWith("%");
  if (name === "show") changed.append(name, text);
  else if (text) changed.set(name, isPercent ? Number.parseFloat(text) / 100 : text);
  else changed.delete(name);
  location.href = `/?${changed}`;
}

function connectSaved(root, query) {
  const menu = root.querySelector("[data-saved]");
  const name = menu.querySelector("[data-filter-name]");
  const save = menu.querySelector("[data-save-filter]");
  let renamed = ""; // the filter that the field renames; without one it saves that of the page
  const isKnown = (text) => [...menu.querySelectorAll("[data-rename]")].some(({ dataset }) => dataset.rename === text);
  const submit = () => {
    const text = name.value.trim();
    if (!text || text === renamed) return name.focus();
    if (renamed) return change(name, "PATCH", renamed, { name: text });
    if (isKnown(text) && !confirm(`Replace the filter \u201c${middleCut(text, SHOWN)}\u201d?`)) return;
    change(name, "PUT", text, { query: query.toString() });
  };
  save?.addEventListener("click", submit);
  name?.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    submit();
  });
  for (const button of menu.querySelectorAll("[data-rename]")) {
    button.addEventListener("click", () => {
      renamed = name.value = button.dataset.rename;
      save.textContent = "Rename";
      name.select();
    });
  }
  for (const button of menu.querySelectorAll("[data-delete-filter]")) {
    const { deleteFilter: text } = button.dataset;
    button.addEventListener("click", () => {
      if (confirm(`Delete the filter \u201c${middleCut(text, SHOWN)}\u201d for everybody?`)) change(name, "DELETE", text);
    });
  }
  document.addEventListener("click", (event) => {
    if (menu.open && !menu.contains(event.target)) menu.open = false;
  });
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    menu.open = false;
    menu.querySelector("summary").focus();
  });
}

async function change(field, method, name, body) {
  try {
    await request(method, `/api/v1/saved-filters/${encodeURIComponent(name)}`, { body });
    location.reload();
  } catch (error) {
    field?.setCustomValidity(error.message);
    field?.reportValidity();
    field?.addEventListener("input", () => field.setCustomValidity(""), { once: true });
  }
}
