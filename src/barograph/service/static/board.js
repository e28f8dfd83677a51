// What every page does: the switch between the light and the dark theme.

const root = document.documentElement;

function isDark() {
  return root.dataset.theme
    ? root.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
}

for (const button of document.querySelectorAll("[data-theme-toggle]")) {
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    try {
      localStorage.setItem("theme", root.dataset.theme);
    } catch {
      // Storage is switched off: the choice ends with the page.
    }
    document.dispatchEvent(new CustomEvent("themechange"));
  });
}
