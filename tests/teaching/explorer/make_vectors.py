"""Problems on a line and in the plane with the package's solutions, which the explorer's JavaScript must reproduce.

    python tests/teaching/explorer/make_vectors.py

writes ``vectors.json`` next to this file; a test recomputes and compares them.
"""

import json
from itertools import product
from pathlib import Path

import numpy as np

import pre_convex as pre

HERE = Path(__file__).parent
LINE = np.array([-2.0, -1.25, -0.5, 0.0, 0.3, 1.1, 1.9])[:, None]
PLANE = np.array(
    [[-1.8, -0.7], [-0.9, 1.3], [-0.2, 0.1], [0.4, -1.2], [0.9, 0.8], [1.6, -0.3], [2.0, 1.1], [0.0, -0.4]]
)
CURVE = np.column_stack([LINE[:, 0], LINE[:, 0] ** 2])
SQUARE = np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0], [0.0, 0.0], [0.25, -1.0]])
ALONG = np.array([-1.5, -0.5, 0.0, 0.75, 2.0])[:, None] * np.array([[1.0, 0.5]])


def gaussian(points, centre, precision):
    """Log base weights from a Gaussian likelihood."""
    return (-0.5 * precision * np.square(points - centre).sum(axis=1)).tolist()


def cases():
    """Name, features, target, log base weights, radius, norm."""
    flat_line, flat_plane = np.zeros(len(LINE)), np.zeros(len(PLANE))
    for b in (0.0, 0.7, 1.7, -1.99):
        yield f"line b={b}", LINE, [b], flat_line, 0.0, 2
    for precision in (2.0, 12.0, 25.0):  # at 25 the lightest weight is e^-50 of the heaviest
        yield f"line likelihood {precision}", LINE, [0.6], gaussian(LINE, 0.0, precision), 0.0, 2
    spike = np.zeros(len(LINE))
    spike[[0, 3]] = -50.0, 50.0
    yield "line peaked 50", LINE, [0.9], spike, 0.0, 2
    yield "line peaked 50, R", LINE, [0.9], spike, 0.2, 2
    for radius in (0.05, 0.4, 1.5):
        yield f"line R={radius}", LINE, [1.3], flat_line, radius, 2
    yield "line outside", LINE, [2.5], flat_line, 0.0, 2
    yield "line outside, R too small", LINE, [2.5], flat_line, 0.4, 2
    yield "line outside, R large enough", LINE, [2.5], flat_line, 0.75, 2
    yield "line boundary", LINE, [1.9], flat_line, 0.0, 2
    yield "line doubled points", np.vstack([LINE, LINE[2:4], LINE[2:4]]), [0.7], np.zeros(11), 0.0, 2
    for b in ([0.2, 0.1], [1.2, 0.7], [-1.6, -0.6]):
        yield f"plane b={b}", PLANE, b, flat_plane, 0.0, 2
    yield "plane likelihood", PLANE, [0.5, 0.2], gaussian(PLANE, [-0.5, 0.5], 6.0), 0.0, 2
    spike = np.zeros(len(PLANE))
    spike[[0, 4]] = -50.0, 50.0
    yield "plane peaked 50", PLANE, [0.3, 0.2], spike, 0.0, 2
    for norm in (2, np.inf, 1):
        name = f"{norm:g}"
        for radius in (0.03, 0.3, 0.8):
            yield f"plane R={radius} norm {name}", PLANE, [1.2, 0.6], flat_plane, radius, norm
        yield f"plane peaked 50 R norm {name}", PLANE, [0.3, 0.2], spike, 0.1, norm
        yield f"plane outside norm {name}", PLANE, [2.4, -1.4], flat_plane, 0.0, norm
        yield f"plane far outside norm {name}", PLANE, [-3.0, 2.5], gaussian(PLANE, [0.0, 0.0], 3.0), 0.2, norm
        yield f"plane outside, R large enough norm {name}", PLANE, [2.4, -1.4], flat_plane, 2.2, norm
        yield f"plane R beyond all norm {name}", PLANE, [0.5, 0.3], flat_plane, 3.0, norm
    yield "plane edge", SQUARE, [0.5, -1.0], np.array([0.3, -0.2, 0.0, 1.0, 0.0, 0.5]), 0.0, 2
    yield "plane corner", SQUARE, [1.0, 1.0], np.zeros(6), 0.0, 2
    yield "plane collinear", ALONG, [0.4, 0.2], np.zeros(5), 0.0, 2
    yield "plane collinear, off the line", ALONG, [0.4, 0.3], np.zeros(5), 0.0, 2
    yield "plane collinear, R", ALONG, [0.4, 0.3], np.zeros(5), 0.15, 2
    yield "curve inside", CURVE, [0.4, 1.4], flat_line, 0.0, 2
    yield "curve below the parabola", CURVE, [0.5, 0.2], flat_line, 0.0, 2
    yield "curve sparse", CURVE, [0.4, 1.9], flat_line, 0.35, np.inf
    yield "curve likelihood", CURVE, [0.6, 0.9], gaussian(LINE, 0.4, 4.0), 0.0, 2


def family():
    """As above, for divergences and bounds on the ratio; the last two values."""
    tilted, flat = gaussian(PLANE, [-0.5, 0.5], 0.6), np.zeros(len(PLANE))
    for divergence, bounds in product(("kl", "chi2", "reverse-kl"), ((0.0, None), (0.0, 2.5), (0.3, None), (0.3, 2.5))):
        if divergence == "kl" and bounds == (0.0, None):
            continue
        member = divergence, bounds
        name = f"{divergence} {bounds[0]:g} to {bounds[1] or 'inf'}"
        yield f"line {name}", LINE, [0.7], np.zeros(len(LINE)), 0.0, 2, *member
        yield f"line {name}, R", LINE, [1.3], gaussian(LINE, 0.0, 0.5), 0.4, 2, *member
        yield f"line {name}, outside", LINE, [1.95], np.zeros(len(LINE)), 0.01, 2, *member
        yield f"plane {name}", PLANE, [0.5, 0.2], tilted, 0.0, 2, *member
        yield f"plane {name}, outside", PLANE, [2.4, -1.4], flat, 0.3, 2, *member
        for norm in (2, np.inf, 1):
            yield f"plane {name}, R, norm {norm:g}", PLANE, [1.2, 0.7], flat, 0.6, norm, *member
        yield f"curve {name}", CURVE, [0.4, 1.4], np.zeros(len(LINE)), 0.0, 2, *member


def answer(name, features, target, log_base, radius, norm, divergence="kl", bounds=(0.0, None)):
    """A problem with its solution by the package."""
    lo, hi = bounds
    problem = pre.RatioProblem(
        target,
        features,
        np.asarray(log_base, dtype=float),
        radius=radius,
        norm=norm,
        divergence=divergence,
        bounds=None if bounds == (0.0, None) else (lo, np.inf if hi is None else hi),
    )
    solution = pre.solve(problem, tol=1e-12, check=False)
    if solution.status.name == "INACCURATE":
        solution = pre.solve(problem, tol=1e-10, check=False)
    hull = pre.minimal_radius(problem)
    tries = [0.0 * solution.delta + 0.1, 0.97 * solution.delta + 0.02]
    return {
        "name": name,
        "features": np.asarray(features).tolist(),
        "target": list(target),
        "log_base": np.asarray(log_base).tolist(),
        "radius": radius,
        "norm": f"{norm:g}",
        "divergence": divergence,
        "bounds": list(bounds),
        "status": solution.status.name.lower(),
        "delta": solution.delta.tolist() if solution.status.ok else None,
        "value": solution.primal_value if solution.status.name != "INFEASIBLE" else None,
        "mu": solution.mu.tolist() if solution.status.name != "INFEASIBLE" else None,
        "position": hull.position.name.lower(),
        "minimal_radius": hull.radius,
        "direction": hull.direction.tolist(),
        "intercept": solution.intercept if solution.status.ok else None,
        "certificates": [_certified(problem, delta) for delta in tries if solution.status.ok],
    }


def _certified(problem, delta):
    """Value and certified gap at a δ that is not optimal; the gap is None if the lift fails."""
    proof = pre.certify(problem, delta)
    gap = proof.gap if np.isfinite(proof.gap) else None
    return {"delta": delta.tolist(), "value": proof.primal_value, "gap": gap}


def make():
    """All problems with their solutions."""
    return [answer(*case) for case in [*cases(), *family()]]


if __name__ == "__main__":
    lines = ",\n".join(json.dumps(vector) for vector in make())
    (HERE / "vectors.json").write_text(f"[\n{lines}\n]\n", encoding="utf-8")
