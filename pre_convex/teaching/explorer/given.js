"use strict";
// A problem that the embedding page gives, such as one from a notebook, which is told what becomes of it.

const given = (() => {
  let original = null;
  let timer = 0;

  function show(state) {
    original = state;
    task.leave();
    store.replace(presets.copy(state), false);
  }

  function setUp() {
    window.addEventListener("message", (event) => {
      if (event.source === window.parent && event.data && event.data.explorer === "problem") show(event.data.state);
    });
    document.getElementById("original").addEventListener("click", () => original && store.replace(presets.copy(original)));
  }

  // after a short pause, because points move many times a second
  function tell(m) {
    if (!m.state.given) return;
    const { names } = m.state.given;
    const count = (n, side) => `${n} ${side} point${n === 1 ? "" : "s"}`;
    const samples = [count(m.state.q.length, "q"), ...(m.state.p.length ? [count(m.state.p.length, "p")] : [])];
    document.getElementById("given-text").textContent =
      `Your problem: ${samples.join(" and ")}, feature${m.k === 1 ? "" : "s"} ${names.slice(0, m.k).join(" and ")}.`;
    document.getElementById("original").disabled = JSON.stringify(original) === JSON.stringify(m.state);
    clearTimeout(timer);
    const state = presets.copy(m.state);
    timer = setTimeout(() => window.parent.postMessage({ explorer: "state", state }, "*"), 150);
  }

  return { setUp, tell };
})();
