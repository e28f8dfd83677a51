// Copies text and says so; a button with `data-copy` copies the element of that id.

import { show as toast } from "./toast.js";

// Without https a browser has no clipboard: then the text is selected, if it is on the page.
export async function copy(text, what, place = null) {
  try {
    await navigator.clipboard.writeText(text);
    toast(`${what} is copied.`);
  } catch {
    if (place) getSelection().selectAllChildren(place);
    const instead = place ? "the text is selected" : "the address of this page is the link";
    toast(`The browser does not allow copying; ${instead}.`);
  }
}

for (const button of document.querySelectorAll("[data-copy]")) {
  const place = document.getElementById(button.dataset.copy);
  button.addEventListener("click", () => copy(place.textContent, button.dataset.copied, place));
}
