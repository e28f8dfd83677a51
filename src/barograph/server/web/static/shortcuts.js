// Keyboard shortcuts: one list that both acts and fills the dialog of "?".
//
//   register([{ keys: ["j", "ArrowDown"], text: "next row", action: (event) => {}, when: () => true }])
//
// `keys` are values of KeyboardEvent.key, with "Shift+" before a letter where it matters; `when`
// says whether the shortcut applies now. Single characters do nothing in fields and with Ctrl, Alt
// or Meta, and can be switched off in the dialog (WCAG 2.1.4).

import { element } from "./elements.js";

const NAMES = { ArrowDown: "↓", ArrowUp: "↑", ArrowLeft: "←", ArrowRight: "→", Escape: "Esc" };
const FIELDS = "input:not([type=checkbox]), textarea, select, [contenteditable]";
const OWN_KEYS = "a[href], button, summary, input[type=checkbox]"; // Enter belongs to these
const STORED = "shortcuts";

const shortcuts = [];
let dialog = null;

export function register(entries) {
  shortcuts.push(...entries);
}

// Whether single characters act.
function enabled() {
  try {
    return localStorage.getItem(STORED) !== "off";
  } catch {
    return true; // storage is switched off
  }
}

function showKeys() {
  dialog ??= build();
  fill();
  if (!dialog.open) dialog.showModal();
}

document.addEventListener("keydown", (event) => {
  const shortcut = matching(event);
  if (!shortcut) return;
  event.preventDefault();
  shortcut.action(event);
});

for (const button of document.querySelectorAll("[data-keys]")) {
  button.addEventListener("click", showKeys);
}

register([{ keys: ["?"], text: "all keys", action: showKeys }]);

function matching(event) {
  if (event.defaultPrevented || event.isComposing) return null;
  if (event.ctrlKey || event.altKey || event.metaKey) return null;
  if (document.querySelector("dialog[open]")) return null;
  const { key, target } = event;
  const isCharacter = [...key].length === 1;
  if (target.closest?.(FIELDS) && key !== "Escape") return null;
  if (key === "Enter" && target.closest?.(OWN_KEYS)) return null;
  if (isCharacter && !enabled()) return null;
  const isShifted = event.shiftKey && /^\p{L}$/u.test(key);
  const name = isShifted ? `Shift+${key.toLowerCase()}` : key;
  return shortcuts.find(({ keys, when }) => keys.includes(name) && (when?.() ?? true)) ?? null;
}

function build() {
  const made = element("dialog", { class: "keys-dialog", "aria-labelledby": "keys-title" });
  made.innerHTML = `<h2 id="keys-title">Keyboard</h2><dl></dl>
    <label class="choice"><input class="check" type="checkbox"> Single-key shortcuts</label>
    <form method="dialog"><button class="button">Close</button></form>`;
  const choice = made.querySelector("input");
  choice.checked = enabled();
  choice.addEventListener("change", () => {
    try {
      localStorage.setItem(STORED, choice.checked ? "on" : "off");
    } catch {
      choice.checked = true; // storage is switched off, so the choice cannot be kept
    }
  });
  document.body.append(made);
  return made;
}

function fill() {
  const rows = shortcuts.map(({ keys, text }) => {
    const caps = keys.flatMap((key) => key.split("+")).map((name) => element("kbd", {}, NAMES[name] ?? name));
    return element("div", {}, element("dt", {}, ...caps), element("dd", {}, text));
  });
  dialog.querySelector("dl").replaceChildren(...rows);
}
