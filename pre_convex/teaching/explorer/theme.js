"use strict";
// Light or dark theme: set by the embedding page, the reader or the system.

const theme = (() => {
  const root = document.documentElement;
  const order = ["auto", "light", "dark"];
  let chosen = "auto";

  function set(name) {
    chosen = order.includes(name) ? name : "auto";
    if (chosen === "auto") root.removeAttribute("data-theme");
    else root.setAttribute("data-theme", chosen);
    const button = document.getElementById("theme");
    button.setAttribute("aria-label", `Theme: ${chosen}. Change theme`);
    button.querySelector("span").textContent = { auto: "Auto", light: "Light", dark: "Dark" }[chosen];
  }

  function setUp() {
    const query = new URLSearchParams(location.search);
    set(query.get("theme") ?? "auto");
    if (window.parent !== window) root.classList.add("embedded");
    document
      .getElementById("theme")
      .addEventListener("click", () => set(order[(order.indexOf(chosen) + 1) % order.length]));
    window.addEventListener("message", (event) => {
      if (event.source === window.parent && event.data && event.data.explorer === "theme") set(event.data.theme);
    });
  }

  // tell the embedding page the height of the content
  function tellHeight() {
    if (window.parent === window) return;
    const height = Math.ceil(document.querySelector(".page").getBoundingClientRect().height);
    window.parent.postMessage({ explorer: "height", height }, "*");
  }

  const tellReady = () => {
    if (window.parent !== window) window.parent.postMessage({ explorer: "ready" }, "*");
  };

  return { setUp, tellHeight, tellReady };
})();
