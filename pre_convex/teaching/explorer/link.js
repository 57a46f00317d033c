"use strict";
// The state in the fragment of the address, so that a configuration can be shared.

const link = (() => {
  const number = (x) => String(Math.round(x * 1e4) / 1e4);
  const points = (list) => list.map((x) => x.map(number).join(",")).join(";");
  const { clamp } = linear;

  function write(s) {
    const parts = {
      f: s.space,
      q: points(s.q),
      p: points(s.p),
      b: s.hand ? s.b.map(String).join(",") : "",
      tp: number(s.tp),
      tq: number(s.tq),
      yp: s.yp.map(number).join(","),
      yq: s.yq.map(number).join(","),
      R: String(s.R),
      norm: s.norm,
      phi: s.phi === "kl" ? "" : s.phi,
      lo: s.lo > 0 ? number(s.lo) : "",
      hi: s.hi === null ? "" : number(s.hi),
      by: s.method,
    };
    return Object.entries(parts)
      .filter(([, v]) => v !== "")
      .map(([k, v]) => `${k}=${v}`)
      .join("&");
  }

  function decoded(text) {
    try {
      return decodeURIComponent(text);
    } catch {
      return text; // leave an invalid escape as it is; it will not parse as a number
    }
  }

  // {preset, state} from a fragment, or null; missing values are those of the first preset
  function read(text) {
    const given = Object.fromEntries(
      text
        .replace(/^#/, "")
        .split("&")
        .filter((t) => t.includes("="))
        .map((t) => {
          const at = t.indexOf("=");
          return [t.slice(0, at), decoded(t.slice(at + 1))];
        }),
    );
    if (given.preset) {
      const preset = presets.find(given.preset);
      return preset ? { preset: preset.key, state: presets.copy(preset.state) } : null;
    }
    if (!Object.keys(given).length) return null;
    const s = presets.copy(presets.all[0].state);
    const one = (name, range, old) => {
      const x = Number(given[name]);
      return name in given && Number.isFinite(x) ? clamp(x, range) : old;
    };
    const pair = (name, old) => {
      const x = (given[name] ?? "").split(",").map(Number);
      return x.length === 2 && x.every(Number.isFinite) ? x : old;
    };
    const list = (name, old, fewest) => {
      const found = (given[name] ?? "").split(";").map((t) => t.split(",").map(Number));
      const good = found.filter((x) => x.length === 2 && x.every(Number.isFinite));
      const kept = good.slice(0, model.MAX_POINTS).map((x) => [clamp(x[0], model.BOX.x), clamp(x[1], model.BOX.y)]);
      return kept.length >= fewest ? kept : old;
    };
    if (["line", "curve", "plane"].includes(given.f)) s.space = given.f;
    if (["2", "inf", "1"].includes(given.norm)) s.norm = given.norm;
    if (given.phi in divergences.names) s.phi = given.phi;
    if (["newton", "gradient"].includes(given.by)) s.method = given.by;
    s.q = list("q", s.q, 2);
    s.p = list("p", s.p, 1);
    s.hand = "b" in given;
    const { x: across, y: up } = model.VIEW[s.space];
    s.b = pair("b", s.b).map((x, i) => clamp(x, i ? up : across));
    s.tp = one("tp", [0, 16], s.tp);
    s.tq = one("tq", [0, 16], s.tq);
    s.yp = pair("yp", s.yp).map((x, i) => clamp(x, i ? model.BOX.y : model.BOX.x));
    s.yq = pair("yq", s.yq).map((x, i) => clamp(x, i ? model.BOX.y : model.BOX.x));
    s.R = one("R", [0, 3], s.R);
    s.lo = one("lo", model.BOUNDS.lo, s.lo);
    s.hi = one("hi", model.BOUNDS.hi, s.hi);
    return { preset: null, state: s };
  }

  // update the address, with a delay while things move
  let timer = 0;
  function remember(atOnce = false) {
    clearTimeout(timer);
    const put = () => {
      try {
        if (!store.state.given) history.replaceState(null, "", `#${write(store.state)}`);
      } catch {
        // a page without its own address cannot store the state
      }
    };
    if (atOnce) put();
    else timer = setTimeout(put, 250);
  }

  return { write, read, remember };
})();
