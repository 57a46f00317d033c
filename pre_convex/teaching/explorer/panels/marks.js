"use strict";
// Shared by both views of the samples: handles, observations with labels, and a sentence about a point.

const marks = (() => {
  const num = numbers.plain;

  function where({ state }, x) {
    const names = state.space === "plane" ? model.names(state) : [state.given ? model.names(state)[0] : "x"];
    return names.map((name, i) => `${name} = ${num(x[i], model.digits(state, i ? "y" : "x"))}`).join(", ");
  }

  function sentence(m, now, kind, index) {
    const at = where(m, m.state[kind][index]);
    if (kind === "p") return `${at}, weight ${num(m.w[index])}`;
    const ratio = now.mu[index] / m.base[index];
    return `${at}, base weight ${num(m.base[index])}, weight ${num(now.mu[index])}, ratio ${num(ratio)}`;
  }

  function handle(c, m, now, kind, index, x, y) {
    const label = `${kind} point ${index + 1}`;
    frame.handle(c, kind, index, x, y, { label, now: m.state[kind][index][0], text: sentence(m, now, kind, index) });
  }

  // a cross and the label y with its index; Unicode has no subscript q
  function observation(c, side, y, px, py, [tx, ty]) {
    c.put("observed", `${side}x`, "path", { class: `cross of-${side}`, d: svg.shapes.cross(px, py, 5) });
    c.put("observed", `${side}t`, "text", { class: `name of-${side} halo`, x: tx, y: ty }, "y");
    c.put("observed", `${side}i`, "text", { class: `name index of-${side} halo`, x: tx + 7.5, y: ty + 4 }, side);
    const text = `x = ${num(y[0], 2)}, y = ${num(y[1], 2)}`;
    frame.handle(c, `y${side}`, 0, px, py, { label: `observation y ${side}`, now: y[0], text });
  }

  return { sentence, handle, observation };
})();
