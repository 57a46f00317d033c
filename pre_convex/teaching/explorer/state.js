"use strict";
// The state, its undo history, and its listeners.

const store = (() => {
  let state = presets.copy(presets.all[0].state);
  const past = [];
  let future = [];
  let lastMark = 0;
  let selected = null;
  const listeners = [];
  const notify = (what = "state") => listeners.forEach((f) => f(what));
  const { clamp } = linear;

  // quick successive changes under one name, such as a drag, are undone together
  let lastName = null;
  function change(name, edit) {
    const before = presets.copy(state);
    edit(state);
    const now = Date.now();
    if (name !== lastName || now - lastMark > 900) {
      keepPast(before);
    }
    [lastName, lastMark] = [name, now];
    future = [];
    notify();
  }

  function keepPast(before) {
    past.push(before);
    if (past.length > 100) past.shift();
  }

  function replace(next, keep = true) {
    if (keep) {
      keepPast(presets.copy(state));
      future = [];
    }
    state = next;
    lastName = null;
    if (selected && !exists(selected)) selected = null;
    notify();
  }

  function undo() {
    if (!past.length) return;
    future.push(presets.copy(state));
    replace(past.pop(), false);
  }

  function redo() {
    if (!future.length) return;
    past.push(presets.copy(state));
    replace(future.pop(), false);
  }

  const exists = ({ kind, index }) => (kind === "q" || kind === "p" ? index < state[kind].length : true);

  function select(kind, index = 0) {
    if (selected && selected.kind === kind && selected.index === index) return;
    selected = { kind, index };
    notify("selection");
  }

  // position of a handle: a sample point, an observation, or the target
  function place({ kind, index }) {
    if (kind === "q" || kind === "p") return state[kind][index];
    if (kind === "yp" || kind === "yq") return state[kind];
    return model.targetOf(state).b;
  }

  function move(handle, x) {
    const { kind, index } = handle;
    change(`${kind}${index}`, (s) => {
      const inBox = (v) => [
        model.tidy(s, clamp(v[0], model.box(s).x)),
        s.space === "plane" ? model.tidy(s, clamp(v[1], model.box(s).y), "y") : v[1],
      ];
      if (kind === "q" || kind === "p") s[kind][index] = inBox([x[0], x[1] ?? s[kind][index][1]]);
      else if (kind === "yp" || kind === "yq") s[kind] = inBox([x[0], x[1] ?? s[kind][1]]);
      else if (s.hand) {
        const { x: across, y: up } = model.view(s);
        s.b = [clamp(x[0], across), clamp(x[1] ?? s.b[1], up)];
      } else moveSample(s, x);
    });
  }

  // move the p sample and its observation together, so that the target follows the pointer
  function moveSample(s, to) {
    const { b } = model.targetOf(s);
    const by = [to[0] - b[0], s.space === "plane" ? to[1] - b[1] : 0];
    const allowed = (i, range) => {
      const all = (s.given ? s.p : [...s.p, s.yp]).map((v) => v[i]);
      return clamp(by[i], [range[0] - Math.min(...all), range[1] - Math.max(...all)]);
    };
    const { x, y } = model.box(s);
    const d = [allowed(0, x), s.space === "plane" ? allowed(1, y) : 0];
    const shift = (v) => v.map((c, i) => model.tidy(s, c + d[i], i ? "y" : "x", 100));
    s.p = s.p.map(shift);
    s.yp = shift(s.yp);
  }

  function add(kind, x) {
    if (state[kind].length >= model.most(state)) return false;
    change("add", (s) => {
      s[kind].push([model.tidy(s, clamp(x[0], model.box(s).x)), model.tidy(s, clamp(x[1], model.box(s).y), "y")]);
      // a new point weighs as much as the others on average
      const own = s.given?.[kind];
      if (own) own.push(tilt.logSumExp(own) - Math.log(own.length));
      lastName = null;
      selected = { kind, index: s[kind].length - 1 };
    });
    return true;
  }

  function remove({ kind, index }) {
    const fewest = kind === "q" ? 2 : 1;
    if ((kind !== "q" && kind !== "p") || state[kind].length <= fewest) return false;
    change("remove", (s) => {
      s[kind].splice(index, 1);
      s.given?.[kind].splice(index, 1);
      lastName = null;
      selected = { kind, index: Math.min(index, s[kind].length - 1) };
    });
    return true;
  }

  // a target set by hand starts at the mean of the sample
  function setHand(hand) {
    change("hand", (s) => {
      if (hand && !s.hand) {
        const { b } = model.targetOf(s);
        s.b = [model.tidy(s, b[0]), model.tidy(s, b[1] ?? 0, "y")];
      }
      s.hand = hand;
      lastName = null;
    });
  }

  function setSpace(space) {
    change("space", (s) => {
      if (s.hand && space !== s.space) {
        const { b } = model.targetOf({ ...s, space, hand: false });
        s.b = [model.tidy(s, b[0]), model.tidy(s, b[1] ?? 0)];
      }
      s.space = space;
      lastName = null;
    });
  }

  return {
    get state() {
      return state;
    },
    get selected() {
      return selected;
    },
    canUndo: () => past.length > 0,
    canRedo: () => future.length > 0,
    listen: (f) => listeners.push(f),
    change,
    replace,
    undo,
    redo,
    select,
    place,
    move,
    add,
    remove,
    setHand,
    setSpace,
  };
})();
