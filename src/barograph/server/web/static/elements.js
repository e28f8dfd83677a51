// Elements that scripts add to a page.

// A button that does something; its key, if it has one, stands on it.
export function button(label, action, { name = "button", key } = {}) {
  const made = element("button", { class: name, type: "button", "aria-keyshortcuts": key }, label,
    key && element("kbd", { "aria-hidden": "true" }, key));
  made.addEventListener("click", action);
  return made;
}

// Returns an element; attributes and children that are null, undefined, false or "" are left out.
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== null && value !== false) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
  return made;
}

// Grey lines in place of what is loading.
export function bones(name = "p", count = 3) {
  return element(name, { class: "bones", "aria-hidden": "true" }, ...Array.from({ length: count }, () => element("span", { class: "bone" })));
}
