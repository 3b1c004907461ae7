// Light and dark: the reader's system decides, the button overrides.

const theme = (() => {
  const root = document.documentElement;
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const button = byId("theme");
  const current = () => root.dataset.theme || (system.matches ? "dark" : "light");

  function label() {
    const dark = current() === "dark";
    button.setAttribute("aria-pressed", String(dark));
    button.textContent = dark ? "Light" : "Dark";
    button.setAttribute("aria-label", dark ? "Use light colours" : "Use dark colours");
  }

  button.addEventListener("click", () => {
    root.dataset.theme = current() === "dark" ? "light" : "dark";
    label();
    announce();
  });
  system.addEventListener("change", () => {
    label();
    announce();
  });
  label();

  // For paper: light while it lasts.
  let held = null;
  function hold() {
    held = root.dataset.theme ?? "";
    root.dataset.theme = "light";
  }
  function release() {
    if (held) root.dataset.theme = held;
    else delete root.dataset.theme;
  }

  const names = ["ink", "faint", "line", "paper", "accent", "positive", "negative"];
  function colours() {
    const style = getComputedStyle(root);
    return Object.fromEntries(names.map((n) => [n, style.getPropertyValue(`--${n}`).trim()]));
  }
  return { colours, hold, release };
})();
