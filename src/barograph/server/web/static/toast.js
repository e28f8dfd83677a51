// One short message at the bottom of the page, with buttons. A new message replaces it.
//
//   show("Marked 4 series as noise.", [{ label: "Undo", key: "u", action: undo }]);
//
// It stays for 8 s, and as long as the pointer or the focus is on it; with { stay: true }, until it is
// closed. The text is announced by screen readers (role=status), and nothing takes the focus away.

import { button, element } from "./elements.js";

const STAY = 8000; // ms

let region = null;
let timer = 0;

export function show(text, buttons = [], { stay = false } = {}) {
  region ??= build();
  hide();
  const shown = stay && !buttons.length ? [{ label: "Close", action: hide }] : buttons;
  const made = shown.map(({ label, key, action }) => button(label, () => { hide(); action(); }, { key }));
  region.append(element("span", {}, text), ...made);
  region.dataset.shown = "";
  if (!stay) later();
  else region.dataset.stay = "";
}

export function hide() {
  if (!region) return;
  clearTimeout(timer);
  delete region.dataset.shown;
  delete region.dataset.stay;
  region.replaceChildren();
}

function build() {
  const made = element("div", { class: "toast", role: "status" });
  document.body.append(made);
  for (const name of ["pointerleave", "focusout"]) made.addEventListener(name, later);
  for (const name of ["pointerenter", "focusin"]) {
    made.addEventListener(name, () => clearTimeout(timer));
  }
  return made;
}

function later() {
  clearTimeout(timer);
  if ("stay" in region.dataset) return;
  timer = setTimeout(() => {
    const isHeld = region.matches(":hover") || region.contains(document.activeElement);
    if (!isHeld) hide();
  }, STAY);
}
