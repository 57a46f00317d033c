// The explorer is a page of its own inside docs/explorer.md: tell it the theme of the site, and give it the room it asks for.
(() => {
  const inner = document.querySelector("iframe.explorer");
  if (!inner) return;
  const root = document.documentElement;
  const say = () => {
    const theme = root.dataset.theme === "dark" ? "dark" : "light";
    inner.contentWindow.postMessage({ explorer: "theme", theme }, "*");
  };
  new MutationObserver(say).observe(root, { attributes: true, attributeFilter: ["data-theme"] });
  inner.addEventListener("load", say);
  window.addEventListener("message", (event) => {
    if (event.source !== inner.contentWindow || !event.data) return;
    if (event.data.explorer === "height") inner.style.height = `${event.data.height}px`;
    if (event.data.explorer === "ready") say();
  });
  for (const link of document.querySelectorAll('a[target="explorer"]')) {
    link.addEventListener("click", () => inner.scrollIntoView({ block: "start" }));
  }
  say();
})();
