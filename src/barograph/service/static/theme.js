// Chooses the theme before the first paint; not a module, because modules run after it.
{
  let theme = new URLSearchParams(location.search).get("theme");
  try {
    theme ??= localStorage.getItem("theme");
  } catch {
    // Storage is switched off: the theme of the system holds.
  }
  if (theme === "dark" || theme === "light") document.documentElement.dataset.theme = theme;
}
