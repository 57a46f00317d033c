// The explorer's page in a frame of its own, so that several widgets and the notebook's styles do not meet.
const PAGE = "/*page*/";

// the theme of JupyterLab, Notebook or VS Code; null if the system decides
function theme() {
  const { dataset, classList } = document.body;
  if (dataset.jpThemeLight) return dataset.jpThemeLight === "true" ? "light" : "dark";
  if (classList.contains("vscode-dark") || classList.contains("vscode-high-contrast")) return "dark";
  return classList.contains("vscode-light") ? "light" : null;
}

function render({ model, el }) {
  const frame = document.createElement("iframe");
  frame.title = "Duality explorer";
  frame.allow = "clipboard-write";
  frame.style.cssText = "display: block; width: 100%; height: 900px; border: 0";
  frame.srcdoc = PAGE;

  const say = (message) => frame.contentWindow?.postMessage(message, "*");
  const show = () => {
    const state = model.get("_given");
    if (state.q) say({ explorer: "problem", state });
  };
  const dress = () => say({ explorer: "theme", theme: theme() ?? "auto" });
  const hear = ({ source, data }) => {
    if (source !== frame.contentWindow || !data) return;
    if (data.explorer === "ready") {
      dress();
      show();
    }
    if (data.explorer === "height") frame.style.height = `${data.height}px`;
    if (data.explorer === "state") {
      model.set("_shown", data.state);
      model.save_changes();
    }
  };
  const watcher = new MutationObserver(dress);
  watcher.observe(document.body, { attributes: true, attributeFilter: ["class", "data-jp-theme-light"] });
  window.addEventListener("message", hear);
  model.on("change:_given", show);
  el.append(frame);
  return () => {
    watcher.disconnect();
    window.removeEventListener("message", hear);
    model.off("change:_given", show);
  };
}

export default { render };
