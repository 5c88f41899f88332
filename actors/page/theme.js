// @ts-check
/// <reference lib="dom" />
/**
 * Light or dark: what the system says, unless somebody has chosen. Runs before the page is drawn, so that it does not flash.
 */
(() => {
  const KEY = "fencepost.theme";
  const NAMES = ["system", "light", "dark"];
  const root = document.documentElement;

  /** @returns {string} */
  const chosen = () => {
    const kept = localStorage.getItem(KEY);
    return kept !== null && NAMES.includes(kept) ? kept : "system";
  };

  /** @param {string} name */
  const apply = (name) => {
    if (name === "system") root.removeAttribute("data-theme");
    else root.setAttribute("data-theme", name);
    const button = document.getElementById("theme");
    if (button !== null) button.textContent = `Theme: ${name}`;
    document.dispatchEvent(new Event("theme"));
  };

  apply(chosen());
  document.addEventListener("DOMContentLoaded", () => {
    apply(chosen());
    document.getElementById("theme")?.addEventListener("click", () => {
      const next = NAMES[(NAMES.indexOf(chosen()) + 1) % NAMES.length] ?? "system";
      localStorage.setItem(KEY, next);
      apply(next);
    });
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => apply(chosen()));
})();
