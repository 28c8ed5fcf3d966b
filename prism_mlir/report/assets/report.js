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

const tip = {
  element: document.getElementById("tip"),
  show(text, x, y) {
    const e = this.element;
    e.textContent = text;
    e.hidden = false;
    const box = e.getBoundingClientRect(), room = 12;
    const left = x + room + box.width > window.innerWidth ? x - room - box.width : x + room;
    const top = y + room + box.height > window.innerHeight ? y - room - box.height : y + room;
    const place = document.getElementById("tip").style;
    place.left = `${Math.max(4, Math.min(left, window.innerWidth - box.width - 4))}px`;
    place.top = `${Math.max(4, top)}px`;
  },
  hide() { this.element.hidden = true; },
};

// Points: the nearest one under the pointer, or one after the other with arrow keys, from the last drawn (the best) on.
for (const chart of document.querySelectorAll("svg[data-points]")) {
  const { names, rows } = JSON.parse(document.getElementById(chart.dataset.points).textContent);
  const points = [...chart.querySelectorAll(".points circle")].map((c) => [c.cx.baseVal.value, c.cy.baseVal.value]);
  const ring = chart.querySelector(".ring");
  const ordered = points.map((_, n) => n).sort((a, b) => rows[a][0] - rows[b][0] || a - b);
  let at = -1;
  const toScreen = (n) => new DOMPoint(...points[n]).matrixTransform(chart.getScreenCTM());
  const show = (n) => {
    ring.setAttribute("cx", points[n][0]);
    ring.setAttribute("cy", points[n][1]);
    const place = toScreen(n);
    tip.show(rows[n].map((cell, k) => `${names[k]}: ${cell}`).join("\n"), place.x, place.y);
  };
  const hide = () => { ring.setAttribute("cx", -20); ring.setAttribute("cy", -20); tip.hide(); };
  chart.addEventListener("pointermove", (event) => {
    const here = new DOMPoint(event.clientX, event.clientY).matrixTransform(chart.getScreenCTM().inverse());
    let best = -1, least = 14 ** 2;
    points.forEach(([x, y], n) => {
      const d = (x - here.x) ** 2 + (y - here.y) ** 2;
      if (d <= least) { least = d; best = n; }
    });
    if (best >= 0) show(best); else hide();
  });
  chart.addEventListener("pointerleave", hide);
  chart.addEventListener("focus", () => { if (chart.matches(":focus-visible")) { at = Math.max(at, 0); show(ordered[at]); } });
  chart.addEventListener("blur", hide);
  chart.addEventListener("keydown", (event) => {
    const last = ordered.length - 1;
    const next = { ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: last,
      PageDown: at + 20, PageUp: at - 20 }[event.key];
    if (event.key === "Escape") { hide(); return; }
    if (next === undefined) return;
    event.preventDefault();
    at = Math.max(0, Math.min(last, next));
    show(ordered[at]);
  });
}

// Marks say with a tip what they say to a screen reader; the browser's own, slower tips would be a second one.
for (const mark of document.querySelectorAll("svg .mark")) {
  mark.querySelector("title")?.remove();
  const text = mark.getAttribute("aria-label");
  const above = () => { const box = mark.getBoundingClientRect(); tip.show(text, box.left + box.width / 2, box.top + box.height / 2); };
  mark.addEventListener("pointermove", (event) => tip.show(text, event.clientX, event.clientY));
  mark.addEventListener("pointerleave", () => tip.hide());
  mark.addEventListener("focus", () => { if (mark.matches(":focus-visible")) above(); });
  mark.addEventListener("blur", () => tip.hide());
}
document.addEventListener("keydown", (event) => { if (event.key === "Escape") tip.hide(); });
