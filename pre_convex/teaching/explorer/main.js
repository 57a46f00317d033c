"use strict";
// Puts the parts together: a change of the state solves and draws, a step of the player draws.

const explorer = (() => {
  const panels = [samplesPanel, hullPanel, primalPanel, weightsPanel, gapPanel, ratioPanel];
  let current = null;
  let waiting = 0;
  let announcing = 0;

  function draw() {
    const now = model.at(current, player.now());
    for (const [panel, html] of Object.entries(words.formulas(current))) {
      const node = document.querySelector(`#panel-${panel} .formula`);
      if (node.dataset.html !== html) node.innerHTML = node.dataset.html = html;
    }
    // what is above the panels first, because it leaves them the height
    task.show(current, now);
    report(now);
    for (const panel of panels) panel.render(current, now);
    controls.showTime(current, now);
  }

  function report(now) {
    const { status } = current.run;
    const badge = document.getElementById("status");
    const done = now.time >= current.steps;
    const name = !done && (!task.solved || status === "optimal" || status === "inaccurate") ? "solving" : status;
    badge.dataset.status = name;
    const title = name !== "solving" ? words.names[status] : task.solved || now.time > 0 ? "Solving" : "Not solved yet";
    badge.querySelector("span").textContent = title;
    const text = words.sentence(current, now);
    document.getElementById("sentence").textContent = text;
    for (const [id, value] of words.figures(current, now)) {
      const node = document.getElementById(`figure-${id}`);
      if (node.textContent !== value) node.textContent = value;
    }
    // announce the result to screen readers when things have settled, not at every pixel
    clearTimeout(announcing);
    announcing = setTimeout(() => {
      const live = document.getElementById("live");
      const message = `${title}. ${text}`;
      if (live.textContent !== message) live.textContent = message;
    }, 500);
  }

  function update() {
    current = model.build(presets.copy(store.state));
    player.setSteps(current.steps);
    controls.show(current);
    given.tell(current);
    draw();
  }

  // at most once per frame, however many events there were
  let dirty = false;
  function later(solve) {
    dirty = dirty || solve;
    if (!waiting) waiting = requestAnimationFrame(flush);
  }

  // solve and draw at once what waits for its frame
  function flush() {
    if (!waiting) return;
    cancelAnimationFrame(waiting);
    waiting = 0;
    if (dirty) {
      dirty = false;
      update();
    } else draw();
  }

  function start() {
    theme.setUp();
    controls.setUp();
    given.setUp();
    const linked = link.read(location.hash);
    if (linked && !linked.preset) store.replace(linked.state, false);
    else task.ask(linked?.preset ?? presets.all[0].key, false);
    drag.attach(samplesPanel, () => current, {
      adds: true,
      kindToAdd: () => (store.selected && store.selected.kind === "p" ? "p" : "q"),
    });
    drag.attach(hullPanel, () => current);
    update();
    store.listen((what) => {
      if (what === "state") {
        // a change shows the end of the new run, unless a run is playing or the question is not solved yet
        if (!player.isPlaying() && task.solved) player.follow();
        link.remember();
      }
      later(true);
    });
    player.listen(() => later(false));
    player.beforeMove(flush);
    window.addEventListener("hashchange", () => {
      const next = link.read(location.hash);
      if (!next || (!next.preset && link.write(next.state) === link.write(store.state))) return;
      if (next.preset) return task.ask(next.preset);
      task.leave();
      store.replace(next.state);
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
