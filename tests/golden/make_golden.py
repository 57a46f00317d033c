"""Golden values: small problems solved once at 50 digits, without any code of the package.

    PYTHONPATH=tests/helpers python tests/golden/make_golden.py

writes ``values.json`` next to this file. Data are decimals that survive a round trip through float64; answers have 50
digits. A damped Newton method solves the optimality conditions for one active set of the penalty; for the norms inf and
1 all active sets are tried, and one of them must satisfy all conditions. ``test_golden.py`` verifies the file.
"""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
from exact import Exact, active_set, dot, mp, mpf, norm_of

TRIANGLE = [[0.0, 0.0], [4.0, 0.0], [0.0, 2.0], [1.0, 0.5]]
PLAIN = [[0.3, -1.2], [1.7, 0.4], [-0.8, 0.9], [0.1, 2.1], [-1.5, -0.6], [0.9, -0.2], [2.2, 1.3]]
BASE = [0.2, -0.7, 1.1, 0.0, 0.4, -1.3, 0.6]
WIDE = {"features_q": [[-7.0], [-3.0], [0.0], [2.0], [7.0]], "log_base": [700.0, 301.0, -2.0, -199.0, -700.0]}
LINE = [[0.0, 0.0], [1.0, 0.0], [3.0, 0.0], [0.5, 1.0], [2.0, 0.25], [1.0, 3.0]]


def case(name, features_q, target, log_base=None, radius=0.0, norm=2.0, **hints):
    """One problem; ``start`` is a rough δ, if zero is too far away."""
    log_base = [0.0] * len(features_q) if log_base is None else log_base
    return {"name": name, "features_q": features_q, "target": target, "log_base": log_base, "radius": radius,
            "norm": norm, **hints}  # fmt: skip


CASES = [
    case("two rows", [[0.0], [1.0]], [0.25]),
    case("plain", PLAIN, [0.7, 0.5], BASE),
    case("norm 2", PLAIN, [0.7, 0.5], BASE, 0.125),
    case("norm inf, one coefficient is zero", PLAIN, [0.9, 0.75], BASE, 0.25, np.inf),
    case("norm 1", PLAIN, [0.9, 0.5], BASE, 0.25, 1.0),
    case("norm 1, tied coefficients", PLAIN, [0.9, 1.2], BASE, 0.5, 1.0),
    case("rows without weight", PLAIN, [0.4, 0.3], [*BASE[:5], -np.inf, -np.inf]),
    case("offset", [[x + 1048576.0, y] for x, y in np.round(np.array(PLAIN) * 1024) / 1024], [1048576.5, 0.5], BASE),
    case("tiny unit", [[x * 1e-6, y * 1e3] for x, y in PLAIN], [7e-7, 500.0], BASE, start=[5e5, 5e-4]),
    case("base weights over e^±700", target=[0.5], **WIDE, start=[100.0]),
    case("base weights over e^±700, norm 2", target=[0.5], **WIDE, radius=0.03125, start=[100.0]),
    case("depth of 1e-8", LINE, [1.25, 1e-8], start=[0.0, -18.0]),
    case("nearly collinear", [[x, x + 1e-5 * y] for x, y in PLAIN], [0.7, 0.700005], BASE),
    case("more weight than rows", PLAIN[:3], [0.5, 0.0], [0.0, 5.0, -5.0]),
    case("on the boundary", LINE, [1.25, 0.0], [0.0, -1.0, 2.0, 5.0, 0.0, 1.0], on_face=[0, 1, 2], normal=[0.0, -1.0]),
    case("outside, norm 2", TRIANGLE, [3.0, 2.0], on_face=[1, 2], normal=[1.0, 2.0]),
    case("outside, norm inf", TRIANGLE, [3.0, 2.0], norm=np.inf, on_face=[1, 2], normal=[1.0, 2.0]),
    case("outside, norm 1", TRIANGLE, [3.0, 2.0], norm=1.0, on_face=[1, 2], normal=[1.0, 2.0]),
]


def minimise(exact, start, B, c):
    """δ = B z that minimises the loss plus R⟨c, z⟩ (plus R‖δ‖₂, where c is zero), or None if it diverges."""
    z = [mpf(x) for x in np.linalg.lstsq(B, np.asarray(start), rcond=None)[0]]
    P, k = mp.matrix(B.tolist()), len(exact.b)
    curved = exact.R if exact.norm == 2 else mpf(0)

    def at(z):
        delta = [dot(row, z) for row in B.tolist()]
        log_z, mu, mean = exact.tilt(delta)
        value = log_z - dot(exact.b, delta) + exact.R * dot(c.tolist(), z) + curved * norm_of(delta, 2)
        return delta, mu, mean, value

    delta, mu, mean, value = at(z)
    for _ in range(200):
        g = mp.matrix([m - b for m, b in zip(mean, exact.b, strict=True)])
        H = mp.matrix(k, k)
        for w, f in zip(mu, exact.F, strict=True):
            d = mp.matrix([x - m for x, m in zip(f, mean, strict=True)])
            H += w * d * d.T
        if curved and any(delta):
            length, d = norm_of(delta, 2), mp.matrix(delta)
            g += curved * d / length
            H += curved * (mp.eye(k) - d * d.T / length**2) / length
        g = P.T * g + exact.R * mp.matrix(c.tolist())
        step = mp.lu_solve(P.T * H * P, -g)
        size, t = abs(dot(g, step)), mpf(1)
        if size < mpf(10) ** -90:
            return delta
        while t > 1e-12:
            trial = [x + t * s for x, s in zip(z, step, strict=True)]
            there = at(trial)
            if there[3] <= value - t * size / 10**4 or size < mpf(10) ** -40:
                break
            t /= 2
        z, (delta, mu, mean, value) = trial, there
        if max(abs(x) for x in delta) > mpf(10) ** 9:
            return None
    return None


def patterns(k, norm, radius):
    """One point for every active set of the dual norm."""
    if norm == 2.0 or not radius:
        return [np.full(k, 0.01)]
    points = [np.array(s, dtype=float) for s in itertools.product((1, -1, 0), repeat=k) if any(s)]
    if norm == np.inf:
        return points
    return [np.where(p == 0.0, 0.5, p) for p in points]  # the others are free and smaller


def solved(entry):
    """δ that satisfies the optimality conditions at 50 digits."""
    exact = exact_of(entry)
    for point in patterns(len(exact.b), entry["norm"], entry["radius"]):
        B, c = active_set(point, entry["norm"] if entry["radius"] else 2)
        delta = minimise(exact, entry.get("start", 0.01 * point), B, c)
        if delta is not None and exact.kkt(delta) < 1e-40:
            return exact, delta
    raise ValueError(entry["name"])


def exact_of(entry, rows=None):
    """The problem in 50 digits, or that of some of its rows."""
    F, a = np.array(entry["features_q"]), np.array(entry["log_base"], dtype=float)
    keep = np.arange(len(F)) if rows is None else np.array(rows)
    return Exact(entry["target"], F[keep], a[keep], entry["radius"], entry["norm"])


def text(x):
    """50 digits."""
    return [mp.nstr(v, 50) for v in x] if isinstance(x, list) else mp.nstr(x, 50)


def plain(x):
    """Numbers for JSON, with infinities as text."""
    if isinstance(x, list):
        return [plain(v) for v in x]
    return str(x) if isinstance(x, float) and np.isinf(x) else x


def answer(entry):
    """The fields that are stored with the data."""
    if "normal" not in entry:
        exact, delta = solved(entry)
        # base weights are normalised, which shifts the value
        value = exact.value(delta) - exact.tilt([mpf(0)] * len(delta))[0]
        return {"kind": "OPTIMAL", "delta": text(delta), "value": text(value)}
    exact, rows, v = exact_of(entry), entry["on_face"], [mpf(x) for x in entry["normal"]]
    F = [[mpf(x) for x in entry["features_q"][j]] for j in rows]
    if exact.separation(v) == 0:  # on the face, a problem in the first coordinate alone
        line = Exact([entry["target"][0]], [[float(f[0])] for f in F], [entry["log_base"][j] for j in rows])
        slope = minimise(line, [0.0], np.eye(1), np.zeros(1))
        value = line.value(slope) - exact.tilt([mpf(0)] * len(v))[0]
        mu = [mp.exp(a + dot(slope, f) - line.tilt(slope)[0]) for f, a in zip(line.F, line.a, strict=True)]
        return {"kind": "BOUNDARY", "value": text(value), "face_delta": text([slope[0], mpf(0)]), "weights": text(mu)}
    # the nearest point is p = F_0 + s (F_1 − F_0), with the residual that is optimal in this norm
    side, off = [y - x for x, y in zip(*F, strict=True)], [b - x for b, x in zip(exact.b, F[0], strict=True)]
    if exact.norm == 2:
        s = dot(off, side) / dot(side, side)
    elif exact.norm == np.inf:  # both coordinates of the residual are equal
        s = (off[0] - off[1]) / (side[0] - side[1])
    else:  # all of it in the coordinate where the normal is larger
        s = off[0] / side[0]
    r = [o - s * x for o, x in zip(off, side, strict=True)]
    return {"kind": "INFEASIBLE", "minimal_radius": text(norm_of(r, exact.norm)), "weights": text([1 - s, s])}


if __name__ == "__main__":
    found = [{key: plain(x) for key, x in entry.items() if key != "start"} | answer(entry) for entry in CASES]
    lines = ",\n".join(json.dumps(entry, ensure_ascii=False, allow_nan=False) for entry in found)
    Path(__file__).with_name("values.json").write_text(f"[\n{lines}\n]\n", encoding="utf-8")
