// Elements that scripts add to a page, and the clipboard.

// Returns an element; attributes and children that are null, undefined, false or "" are left out.
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== null && value !== false) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
  return made;
}

// Copies the text of an element; where there is no clipboard, as without https, selects the text
// and returns false.
export async function copyText(place) {
  try {
    await navigator.clipboard.writeText(place.textContent);
    return true;
  } catch {
    getSelection().selectAllChildren(place);
    return false;
  }
}
