"use strict";
// Formatting of numbers.

const numbers = (() => {
  const minus = (text) => text.replace(/-/g, "−");
  const up = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };
  const power = (n) =>
    String(n)
      .split("")
      .map((c) => up[c])
      .join("");

  function plain(x, digits = 3) {
    if (!Number.isFinite(x)) return x > 0 ? "∞" : x < 0 ? "−∞" : "–";
    if (Math.abs(x) < 1e-14) return (0).toFixed(digits); // round-off
    if (x !== 0 && (Math.abs(x) >= 1e5 || Math.abs(x) < 0.5 * 10 ** -digits)) return small(x);
    const text = x.toFixed(Math.abs(x) < 1000 ? digits : Math.min(digits, 1));
    return minus(Number(text) === 0 ? text.replace("-", "") : text);
  }

  // 2.3·10⁻⁵
  function small(x) {
    if (!Number.isFinite(x)) return x > 0 ? "∞" : "−∞";
    if (x === 0) return "0";
    let e = Math.floor(Math.log10(Math.abs(x)));
    let m = x / 10 ** e;
    if (Math.abs(m) >= 9.95) [m, e] = [m / 10, e + 1];
    return `${minus(m.toFixed(1))}·10${power(e)}`;
  }

  const gap = (x) => (x >= 0.001 && x < 1e4 ? plain(x, x < 0.1 ? 4 : 3) : small(x));
  const vector = (v, digits = 3) =>
    v.length === 1 ? plain(v[0], digits) : `(${v.map((x) => plain(x, digits)).join(", ")})`;
  // tick labels, with as many digits as the step needs; thousands are short
  function tick(x, step) {
    if (step >= 1000) return Math.abs(x) < 1e-12 ? "0" : `${minus(String(Math.round(x / 100) / 10))}k`;
    return minus((Math.abs(x) < 1e-12 ? 0 : x).toFixed(Math.max(0, Math.ceil(-Math.log10(step) - 1e-9))));
  }

  return { plain, gap, vector, tick, power };
})();
