// Light or dark: as the system says, until the button says otherwise. It runs before anything is drawn.
"use strict";
(() => {
  const root = document.documentElement, system = matchMedia("(prefers-color-scheme: dark)");

  function kept() {
    try {
      return localStorage.getItem("theme");
    } catch {  // the browser keeps nothing for this page
      return null;
    }
  }

  const isDark = () => (root.dataset.theme ?? (system.matches ? "dark" : "light")) === "dark";

  function choose(theme) {
    root.dataset.theme = theme;
    try {
      localStorage.setItem("theme", theme);
    } catch {
      // the choice lasts until the page is closed
    }
  }

  if (["light", "dark"].includes(kept())) root.dataset.theme = kept();

  document.addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("theme");
    const show = () => {
      button.setAttribute("aria-pressed", isDark());
      document.dispatchEvent(new Event("themechange"));
    };
    button.addEventListener("click", () => {
      choose(isDark() ? "light" : "dark");
      show();
    });
    system.addEventListener("change", show);
    show();
  });
})();
