"use strict";
// Both samples, where points can be moved, with likelihoods and weights.

const samplesPanel = (() => {
  function legendOf(s, plane) {
    const found = [
      [["circle", "mark of-q"], "q point"],
      [[plane ? "circle" : "bar", "bar-base"], "base weight e<sup>a</sup>"],
      [[plane ? "circle" : "bar", plane ? "disc-mu" : "bar-mu"], "weight μ"],
    ];
    if (!s.hand) found.unshift([["triangle", "mark of-p"], `p point, ${plane ? "size" : "bar"} = weight w`]);
    if (!s.given && (s.tp > 0 || s.tq > 0)) found.push([[plane ? "circle" : "dash", "likelihood-key"], "likelihood"]);
    return found;
  }

  function captionOf(m, now) {
    const { selected } = store;
    if (!selected || (selected.kind !== "q" && selected.kind !== "p")) {
      const full = m.state.q.length >= model.most(m.state);
      return full ? `Drag a point. The maximum is ${model.most(m.state)} points.` : "Drag a point, or click an empty spot to add one.";
    }
    const { kind, index } = selected;
    // names of features come from the reader's data
    const text = marks.sentence(m, now, kind, index).replace(/[&<>]/g, (c) => `&#${c.charCodeAt(0)};`);
    return `<b>${kind} ${index + 1}</b>: ${text}.`;
  }

  function draw(c, m, now) {
    const s = m.state;
    const plane = s.space === "plane";
    for (const name of ["grid", "back", "bars", "marks", "means", "observed", "handles"]) c.group(name);
    if (!plane) c.group("back", { "clip-path": null });
    (plane ? scatter : lanes).draw(c, m, now);
    const label = `Both samples: ${s.q.length} q points and ${s.p.length} p points, which can be moved`;
    return { legend: legendOf(s, plane), caption: captionOf(m, now), label };
  }

  return new frame.Panel("samples", draw, (m) => m.state.space === "plane" && !m.state.given);
})();
