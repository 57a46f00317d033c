"use strict";
// Moving points with mouse, touch or keyboard.

const drag = (() => {
  const NEAR = 24;
  const SNAP = 7;

  function local(node, event) {
    const box = node.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  // the handle with the nearest centre, because handles of neighbours overlap
  function nearest(node, [x, y]) {
    let best = null;
    for (const circle of node.querySelectorAll(".handle")) {
      const distance = Math.hypot(x - circle.cx.baseVal.value, y - circle.cy.baseVal.value);
      if (distance <= NEAR && (!best || distance < best.distance)) best = { distance, circle };
    }
    return best && best.circle;
  }

  const handleOf = (circle) => ({ kind: circle.dataset.kind, index: Number(circle.dataset.index) });

  // snap a target set by hand to the edge of the hull, which cannot be hit exactly otherwise
  function snap(canvas, x, m) {
    const round = (v) => v.map((c, i) => model.tidy(m.state, c, i ? "y" : "x"));
    if (!m.state.hand) return x;
    const at = canvas.pixels(x);
    let best = null;
    const ends = m.k === 1 ? m.run.hull.hull.map((j) => [j, j]) : geometry.edges(m.run.hull.hull);
    for (const [i, j] of ends) {
      const [u, v] = [i, j].map((corner) => m.run.hull.points[corner]);
      const [pu, pv] = [canvas.pixels(u), canvas.pixels(v)];
      const d = linear.add(pv, pu, -1);
      const t = i === j ? 0 : Math.max(0, Math.min(1, linear.dot(linear.add(at, pu, -1), d) / linear.dot(d, d)));
      const point = linear.add(u, linear.add(v, u, -1), t);
      const foot = canvas.pixels(point);
      const distance = m.k === 1 ? Math.abs(at[0] - foot[0]) : Math.hypot(at[0] - foot[0], at[1] - foot[1]);
      if (distance <= SNAP && (!best || distance < best.distance)) best = { distance, point };
    }
    return best ? best.point : round(x);
  }

  function attach(panel, current, { adds = false, kindToAdd = () => "q" } = {}) {
    const { node } = panel.canvas;
    let held = null;
    let pressed = null;
    node.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      const circle = nearest(node, local(node, event));
      pressed = [event.clientX, event.clientY];
      if (!circle) return;
      event.preventDefault();
      const handle = handleOf(circle);
      const at = local(node, event);
      held = {
        handle,
        offset: [at[0] - circle.cx.baseVal.value, at[1] - circle.cy.baseVal.value],
        id: event.pointerId,
      };
      node.setPointerCapture(event.pointerId);
      store.select(handle.kind, handle.index);
      if (circle.hasAttribute("tabindex")) circle.focus({ preventScroll: true, focusVisible: false });
    });
    // touching a handle moves it instead of scrolling the page; browsers ignore touch-action on a circle
    const preventScroll = (event) => {
      if (nearest(node, local(node, event.touches[0]))) event.preventDefault();
    };
    node.addEventListener("touchstart", preventScroll, { passive: false });
    node.addEventListener("pointermove", (event) => {
      if (!held || event.pointerId !== held.id) return;
      const at = local(node, event);
      let { x } = panel.canvas.toWorld(at[0] - held.offset[0], at[1] - held.offset[1]);
      if (held.handle.kind === "b") x = snap(panel.canvas, x, current());
      if (model.dimension(store.state) === 1 && held.handle.kind !== "b") x = [x[0]];
      node.classList.add("dragging");
      store.move(held.handle, x);
    });
    const release = () => {
      held = null;
      node.classList.remove("dragging");
    };
    node.addEventListener("pointerup", release);
    node.addEventListener("pointercancel", release);
    node.addEventListener("focusin", (event) => {
      if (event.target.dataset.kind) store.select(event.target.dataset.kind, Number(event.target.dataset.index));
    });
    node.addEventListener("keydown", (event) => keys(event));
    if (adds) {
      node.addEventListener("click", (event) => {
        const at = local(node, event);
        const moved = pressed && Math.hypot(event.clientX - pressed[0], event.clientY - pressed[1]) > 5;
        if (moved || nearest(node, at)) return;
        const { x, kind } = panel.canvas.toWorld(...at);
        const side = model.dimension(store.state) === 1 ? kind : kindToAdd();
        if (side === "p" && store.state.hand) return;
        const { x: across, y: up } = model.around(store.state);
        if (x[0] < across[0] || x[0] > across[1]) return;
        if (model.dimension(store.state) === 2 && (x[1] < up[0] || x[1] > up[1])) return;
        store.add(side, x);
        focusSelected();
      });
    }
  }

  const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

  function keys(event) {
    const circle = event.target.closest(".handle");
    if (!circle || event.ctrlKey || event.metaKey || event.altKey) return;
    const handle = handleOf(circle);
    if (event.key in arrows) {
      const size = (axis) => (event.shiftKey ? 1 : 10) * model.grain(store.state, axis);
      const [dx, dy] = arrows[event.key];
      const from = store.place(handle);
      const flat = model.dimension(store.state) === 1 && handle.kind !== "b";
      const tidy = (c, axis) => model.tidy(store.state, c, axis, 100);
      const to = [tidy(from[0] + size("x") * dx, "x"), flat ? undefined : tidy((from[1] ?? 0) + size("y") * dy, "y")];
      store.move(handle, from.length === 1 ? [to[0]] : to);
    } else if (event.key === "Delete" || event.key === "Backspace") {
      if (store.remove(handle)) focusSelected();
    } else if (event.key === "+" || event.key === "=") {
      addBeside(handle.kind === "p" || handle.kind === "yp" ? "p" : "q");
    } else return;
    event.preventDefault();
  }

  // add a point next to the selected one, or in the middle
  function addBeside(kind) {
    const { selected, state } = store;
    const { x, y } = model.box(state);
    const middle = [x, y].map(([low, high]) => (low + high) / 2);
    const near = selected && selected.kind === kind ? state[kind][selected.index] : middle;
    const side = 0.05 * (x[1] - x[0]);
    if (store.add(kind, [near[0] + (near[0] + 1.4 * side > x[1] ? -side : side), near[1]])) focusSelected();
  }

  function focusSelected() {
    const { selected } = store;
    if (!selected) return;
    explorer.flush();
    const circle = document.querySelector(
      `#panel-samples .handle[data-kind="${selected.kind}"][data-index="${selected.index}"]`,
    );
    if (circle) circle.focus({ preventScroll: true });
  }

  return { attach, addBeside };
})();
