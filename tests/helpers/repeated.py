"""Digests of every result that a seed, threads or processes could change; run by test_reproducibility.

Arrays are large enough for BLAS to split products among its threads, unless it is told not to.
"""

import hashlib
import json
import sys
from dataclasses import fields, is_dataclass
from pathlib import Path

import numpy as np
from pre_convex_lab.paper import Setting, perform

import pre_convex as pre
from pre_convex.applications.detection import Detector
from pre_convex.applications.explanation import explain

SEED = 3


def digest(*values):
    """SHA-256 of nested arrays, numbers and strings, without run times."""
    sha = hashlib.sha256()

    def add(value):
        if isinstance(value, np.ndarray):
            sha.update(f"{value.dtype} {value.shape}".encode() + np.ascontiguousarray(value).tobytes())
        elif is_dataclass(value):
            add({part.name: getattr(value, part.name) for part in fields(value) if not part.name.endswith("_time")})
        elif isinstance(value, dict):
            add([*value, *value.values()])
        elif isinstance(value, (list, tuple)):
            for part in value:
                add(part)
        else:
            sha.update(repr(value).encode())

    for value in values:
        add(value)
    return sha.hexdigest()


def samples(rows, columns, shift=0.2):
    rng = np.random.default_rng(0)
    return rng.normal(shift, 1.0, (rows, columns)), rng.normal(0.0, 1.1, (rows, columns))


def chance(x):
    """Probability of the first class, computed without BLAS."""
    return 1.0 / (1.0 + np.exp(x[:, 1] ** 2 - x[:, 0]))


def of_rows():
    """One problem with many rows: values, solution, intervals and diagnostics."""
    x_p, x_q = samples(30_000, 6)
    fit = pre.PosteriorRatio().fit(x_p, x_q, lambda x: -0.5 * (x[:, 0] - 1.0) ** 2)
    problem, delta = fit.problem_, np.linspace(-0.2, 0.2, 6)
    yield "values", digest(problem.value(delta), problem.gradient(delta), problem.hessian(delta), problem.log_mu(delta))
    yield "certify", digest(pre.certify(problem, delta, np.exp(problem.log_mu(delta))))
    yield "newton", digest(fit.delta_, fit.mu_, fit.solution_.certificate, fit.score(x_p, x_q))
    yield "inference", digest(fit.covariance(), fit.conf_int(), fit.log_ratio_interval(x_p[:3_000]), fit.wald_test())
    yield "diagnostics", digest(fit.diagnostics(), str(fit.summary()))
    plugin = pre.PluginRatio().fit(x_p, x_q, pre.Gaussian([0.1] * 6), None)
    yield "plugin", digest(plugin.log_ratio(x_q), plugin.divergence_)


def of_chance():
    """Results that use random numbers."""
    x_p, x_q = samples(3_000, 5)
    fit = pre.PosteriorRatio(radius="auto", random_state=SEED).fit(x_p, x_q)
    yield "radius, auto", digest(fit.radius_choice_, fit.delta_)
    yield "bootstrap", digest(fit.bootstrap(8, rng=SEED))
    yield "conditions", digest(pre.conditions(fit.problem_, fit.delta_, 0.1, rng=SEED))
    few = pre.PosteriorRatio(radius="cv", random_state=SEED, cv=3).fit(x_p[:400], x_q[:400])
    yield "radius, cv", digest(few.radius_choice_, few.delta_)
    kernel = pre.Kernel(landmarks=30)
    kernels = pre.PosteriorRatio(kernel, radius=0.2, random_state=SEED).fit(x_p, x_q)  # a random subset of the points
    yield "kernel", digest(kernels.features_.points, kernels.delta_, kernels.log_ratio(x_q))
    kernel = pre.Kernel(length_scale="cv", landmarks=10)
    kernels = pre.PosteriorRatio(kernel, radius=0.2, random_state=SEED, cv=2).fit(x_p[:200, :2], x_q[:200, :2])
    yield "kernel, cv", digest(kernels.features_.length_scale, kernels.delta_)
    near = explain(chance, [0.1, 0.2, 0.0], 1.0, 2_000, radius="auto", norm=np.inf, refit=True, rng=SEED)
    yield "explanation", digest(near.coef, near.std_error, str(near.summary()))
    detector = Detector(x_p[:, :4], x_q[:, :4], noise=1.0, features="linear")
    background = detector.background(40, rng=SEED)
    found = detector.scores(x_p[:20, :4], x_q[:20, :4], background=background, warn=False)
    yield "detection", digest(background.scores, found.scores, found.p_values)


def of_engines(folder):
    """Other ways to solve: in a batch, from files, with a cone solver, under constraints."""
    x_p, x_q = samples(2_000, 20)
    many = pre.solve_many(x_q, x_p[:10] * 0.1, radius=0.05)
    yield "many", digest(many.delta, many.gap, many.primal_value)
    np.save(folder / "q.npy", samples(250_000, 9)[1])
    blocks = pre.RatioProblem.from_blocks(None, folder / "q.npy", target=np.full(9, 0.1))
    solved = pre.solve(blocks)
    yield "blocks", digest(solved.delta, solved.certificate)
    small = pre.RatioProblem(x_p[:300, :3].mean(axis=0), x_q[:300, :3], radius=0.02, norm=1)
    cone = pre.solve(small, "dual", "CLARABEL")
    yield "cone", digest(cone.delta, cone.mu)
    constrained = pre.solve(small, constraints=lambda delta: [delta >= 0.05])
    yield "constraints", digest(constrained.delta, constrained.certificate)


def of_experiment():
    """The record of an experiment, without its run times."""
    _, record = perform("consistency", Setting(quick=True, seed=SEED))
    yield "experiment", digest({name: part for name, part in record.items() if name not in ("seconds", "times")})


if __name__ == "__main__":
    parts = [of_rows(), of_chance(), of_engines(Path(sys.argv[1])), of_experiment()]
    print(json.dumps({name: found for part in parts for name, found in part}))
