// What every page does: the switch between the light and the dark theme, and the event
// "themechange", after which charts draw again.

const root = document.documentElement;
const system = matchMedia("(prefers-color-scheme: dark)");

function isDark() {
  return root.dataset.theme ? root.dataset.theme === "dark" : system.matches;
}

function announce() { document.dispatchEvent(new CustomEvent("themechange")); }
system.addEventListener("change", announce);

for (const button of document.querySelectorAll("[data-theme-toggle]")) {
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    try {
      localStorage.setItem("theme", root.dataset.theme);
    } catch {
      // Storage is switched off: the choice ends with the page.
    }
    announce();
  });
}
