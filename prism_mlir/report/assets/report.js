// The page is whole without this script; with it there are a switch of colours, a marked place in the list of sections, and tips.
"use strict";

(function theme() {
  const button = document.getElementById("theme"), root = document.documentElement;
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const kept = () => { try { return localStorage.getItem("prism-theme"); } catch { return null; } };
  const keep = (value) => { try { localStorage.setItem("prism-theme", value); } catch { /* a page without storage forgets */ } };
  const now = () => root.dataset.theme || (dark.matches ? "dark" : "light");
  const show = () => {
    const other = now() === "dark" ? "light" : "dark";
    button.textContent = other === "dark" ? "Dark" : "Light";
    button.setAttribute("aria-label", `Change to ${other} colours`);
  };
  if (kept() === "dark" || kept() === "light") root.dataset.theme = kept();
  button.addEventListener("click", () => {
    root.dataset.theme = now() === "dark" ? "light" : "dark";
    keep(root.dataset.theme);
    show();
  });
  dark.addEventListener("change", show);
  button.hidden = false;
  show();
})();

(function place() {
  const links = new Map([...document.querySelectorAll("nav a")].map((a) => [a.hash.slice(1), a]));
  const sections = [...document.querySelectorAll("main section[id]")];
  const mark = () => {
    const top = sections.filter((s) => s.getBoundingClientRect().top < window.innerHeight / 3).pop() || sections[0];
    for (const [id, link] of links) {
      if (id === top.id) link.setAttribute("aria-current", "true"); else link.removeAttribute("aria-current");
    }
  };
  let waiting = false;
  window.addEventListener("scroll", () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; mark(); });
  }, { passive: true });
  mark();
})();
