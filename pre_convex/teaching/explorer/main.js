"use strict";
// The parts together: a change of the state solves and draws, a step of the player draws.

const explorer = (() => {
  const panels = [samplesPanel, hullPanel, primalPanel, weightsPanel, gapPanel, ratioPanel];
  let current = null;
  let waiting = 0;
  let speaking = 0;

  function draw() {
    const now = model.at(current, player.now());
    for (const panel of panels) panel.render(current, now);
    controls.showTime(current, now);
    report(now);
  }

  function report(now) {
    const { status } = current.run;
    const badge = document.getElementById("status");
    const done = now.time >= current.steps;
    const name = (status === "optimal" || status === "inaccurate") && !done ? "solving" : status;
    badge.dataset.status = name;
    badge.querySelector("span").textContent = name === "solving" ? "Solving" : words.names[status];
    const text = words.sentence(current, now);
    document.getElementById("sentence").textContent = text;
    for (const [id, value] of words.figures(current, now)) {
      const node = document.getElementById(`figure-${id}`);
      if (node.textContent !== value) node.textContent = value;
    }
    // a screen reader is told when things have come to rest, not at every pixel
    clearTimeout(speaking);
    speaking = setTimeout(() => {
      const live = document.getElementById("live");
      const said = `${name === "solving" ? "Solving" : words.names[status]}. ${text}`;
      if (live.textContent !== said) live.textContent = said;
    }, 500);
  }

  function update() {
    current = model.build(presets.copy(store.state));
    player.setSteps(current.steps);
    controls.show(current);
    draw();
  }

  // once for each frame, however many events there were
  let dirty = false;
  function later(solve) {
    dirty = dirty || solve;
    if (waiting) return;
    waiting = requestAnimationFrame(() => {
      waiting = 0;
      if (dirty) {
        dirty = false;
        update();
      } else draw();
    });
  }

  function flush() {
    if (!waiting) return;
    cancelAnimationFrame(waiting);
    waiting = 0;
    dirty = false;
    update();
  }

  function start() {
    theme.setUp();
    controls.setUp();
    const given = link.read(location.hash);
    if (given) store.replace(given, false);
    drag.attach(samplesPanel, () => current, {
      adds: true,
      kindToAdd: () => (store.selected && store.selected.kind === "p" ? "p" : "q"),
    });
    drag.attach(hullPanel, () => current);
    update();
    store.listen((what) => {
      if (what === "state") {
        // what is changed while a run is being looked at is seen at its end, unless it is being played
        if (!player.isPlaying()) player.follow();
        link.remember();
      }
      later(true);
    });
    player.listen(() => later(false));
    window.addEventListener("hashchange", () => {
      const next = link.read(location.hash);
      if (!next || link.write(next) === link.write(store.state)) return;
      player.follow();
      store.replace(next);
    });
    new ResizeObserver(() => {
      later(false);
      theme.tellHeight();
    }).observe(document.querySelector(".page"));
    document.documentElement.classList.add("ready");
    theme.tellReady();
  }

  return {
    start,
    flush,
    get current() {
      return current;
    },
  };
})();

explorer.start();
