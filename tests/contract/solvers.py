"""Rows about solvers, penalties and constraints, and edge cases with known answers."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np

import pre_convex as pre

from .kinds import (
    choice,
    count,
    fails,
    flag,
    frames,
    layouts,
    log_weights,
    matrix,
    number,
    settings,
    share,
    tolerance,
    vector,
)
from .kinds import problem as no_problem
from .problems import A, F, family
from .rows import Known, OwnError, Row, Taken

PROBLEM = pre.RatioProblem([0.1, 0.1], F)
TARGETS = np.array([[0.1, 0.1], [0.0, 0.2]])
PENALTIES: dict[str, Any] = {
    "not a function": 3,
    "an expression": cp.Constant(1.0),
    "returns None": lambda d: None,
    "returns a number": lambda d: 3.0,
    "returns a vector": lambda d: d,
    "concave": lambda d: -cp.sum_squares(d),
    "NaN": lambda d: np.nan * cp.norm1(d),
    "inf": lambda d: np.inf * cp.norm1(d),
    "another variable": lambda d: cp.norm1(d - cp.Variable(d.shape)),
    "parameter without a value": lambda d: cp.Parameter(nonneg=True) * cp.norm1(d),
}
CONSTRAINTS: dict[str, Any] = {
    "not a function": [1],
    "returns None": lambda d: None,
    "returns a bool": lambda d: [True],
    "returns text": lambda d: "delta >= 0",
    "not convex": lambda d: [cp.norm2(d) >= 1],
    "NaN": lambda d: [d >= np.nan],
    "another variable": lambda d: [d == cp.Variable(d.shape)],
    "parameter without a value": lambda d: [d >= cp.Parameter()],
}


def constrained() -> pre.Solution:
    """An answer under the user's constraints."""
    return pre.solve(PROBLEM, constraints=lambda d: [d >= 0], check=False)


def terms(entry: str, call: Any) -> list[Row]:
    """Rows for a penalty and for constraints; ``call`` takes them by name."""
    return [
        *(
            Row(entry, argument, kind, lambda argument=argument, term=term: call(**{argument: term}))
            for argument, kinds in {"penalty": PENALTIES, "constraints": CONSTRAINTS}.items()
            for kind, term in kinds.items()
        ),
        *(
            Row(entry, argument, "raises", lambda argument=argument: call(**{argument: fails}), error=OwnError)
            for argument in ("penalty", "constraints")
        ),
    ]


def weight_terms(entry: str, call: Any) -> list[Row]:
    """Rows for the user's terms of the weights; ``call`` takes them by name."""
    return [
        Row(
            entry,
            f"weight_{row.argument}",
            row.kind,
            lambda row=row: call(**{f"weight_{row.argument}": _term(row.argument, row.kind)}),
            error=row.error,
        )
        for row in terms(entry, call)
    ]


def _term(argument: str, kind: str) -> Any:
    """The bad term of a kind."""
    return fails if kind == "raises" else {"penalty": PENALTIES, "constraints": CONSTRAINTS}[argument][kind]


def many(**changes: Any) -> pre.Solutions:
    """Two good problems with some arguments changed."""
    return pre.solve_many(**{"features_q": F, "targets": TARGETS, **changes})


def limits(entry: str, call: Any) -> list[Row]:
    """Rows for a limit on iterations and one on time; ``call`` takes them by name."""
    return [
        *count(entry, "max_iter", lambda v: call(max_iter=v), skip=("None",)),
        *number(entry, "time_limit", lambda v: call(time_limit=v), skip=("None",)),
        Row(entry, "time_limit", "zero", lambda: call(time_limit=0.0)),
        Row(entry, "time_limit", "negative", lambda: call(time_limit=-1.0)),
    ]


FOUND = pre.solve_many(F, TARGETS)
INDEX = {"fraction": 0.5, "text": "first", "slice": slice(1), "None": None}
BY_INDEX = {"Solutions.__getitem__": FOUND.__getitem__, "Solutions.problem": FOUND.problem}
ROWS: list[Row] = [
    *no_problem("solve", "problem", pre.solve),
    *choice("solve", "formulation", lambda f: pre.solve(PROBLEM, f)),
    *(
        Row("solve", "solver", kind, lambda value=value: pre.solve(PROBLEM, solver=value), error=pre.UnknownSolverError)
        for kind, value in {
            "unknown name": "clarabell",
            "empty text": "",
            "a solver without exponential cones": "OSQP",
            "number": 3,
            "None": None,
        }.items()
    ),
    *terms("solve", lambda **t: pre.solve(PROBLEM, **t)),
    *(
        Row(
            "solve",
            "formulation",
            f"dual with {name}",
            lambda term=term, solver=solver: pre.solve(PROBLEM, "dual", solver, **term),
        )
        for solver in ("CLARABEL", "newton")
        for name, term in {
            f"a penalty ({solver})": {"penalty": cp.norm1},
            f"constraints ({solver})": {"constraints": lambda d: [d >= 0]},
        }.items()
    ),
    *weight_terms("solve", lambda **t: pre.solve(PROBLEM, "dual", "CLARABEL", **t)),
    *(
        Row("solve", argument, kind, lambda call=call, argument=argument: call(**{argument: lambda mu: cp.sum(mu)}))
        for argument in ("weight_penalty", "weight_constraints")
        for kind, call in {
            "primal": lambda **t: pre.solve(PROBLEM, "primal", "CLARABEL", **t),
            "for Newton": lambda **t: pre.solve(PROBLEM, "dual", "newton", **t),
        }.items()
    ),
    *tolerance("solve", lambda t: pre.solve(PROBLEM, tol=t)),
    *limits("solve", lambda **limit: pre.solve(PROBLEM, **limit)),
    *settings("solve", lambda s: pre.solve(PROBLEM, settings=s)),
    *(
        Row("solve", "solver_options", kind, lambda v=value: pre.solve(PROBLEM, solver="CLARABEL", solver_options=v))
        for kind, value in {"text": "max_iter=3", "list": ["max_iter"], "number as a name": {3: 3}}.items()
    ),
    Row("solve", "solver_options", "for Newton", lambda: pre.solve(PROBLEM, solver_options={"max_iter": 3})),
    *share("Settings", "tol", lambda t: pre.Settings(tol=t)),
    *limits("Settings", pre.Settings),
    *number("Settings", "max_step", lambda v: pre.Settings(max_step=v)),
    Row("Settings", "max_step", "zero", lambda: pre.Settings(max_step=0.0)),
    *count("Settings", "small", lambda v: pre.Settings(small=v), skip=("zero",)),
    *count("Settings", "first_rows", lambda v: pre.Settings(first_rows=v)),
    *count("Settings", "subset_rows", lambda v: pre.Settings(subset_rows=v), skip=("None",)),
    *count("Settings", "threads", lambda v: pre.Settings(threads=v), skip=("None",)),
    *count("Settings", "block_size", lambda v: pre.Settings(block_size=v), skip=("None",)),
    *flag("solve", "polish", lambda p: pre.solve(PROBLEM, polish=p)),
    *flag("solve", "check", lambda c: pre.solve(PROBLEM, check=c)),
    *flag("solve", "verbose", lambda v: pre.solve(PROBLEM, verbose=v)),
    *matrix("solve_many", "features_q", lambda x: many(features_q=x), F),
    *frames("solve_many", "features_q", lambda x: many(features_q=x)),
    *matrix("solve_many", "targets", lambda b: many(targets=b), TARGETS),
    Row("solve_many", "targets", "another width", lambda: many(targets=np.zeros((2, 3)))),
    *log_weights("solve_many", "log_bases", lambda a: many(log_bases=a), A, skip=("None",)),
    Row("solve_many", "log_bases", "function that raises", lambda: many(log_bases=fails), error=OwnError),
    Row(
        "solve_many",
        "log_bases",
        "function that returns another shape",
        lambda: many(log_bases=lambda rows: np.zeros(3)),
    ),
    Row("solve_many", "log_bases", "function that returns text", lambda: many(log_bases=lambda rows: ["a"])),
    Row(
        "solve_many",
        "log_bases",
        "function that returns NaN",
        lambda: many(log_bases=lambda rows: np.full((rows.stop - rows.start, 2), np.nan)),
    ),
    Row("solve_many", "log_bases", "one problem all -inf", lambda: many(log_bases=np.array([A, np.full(20, -np.inf)]))),
    *number("solve_many", "radius", lambda r: many(radius=r), skip=("None", "array of two")),
    Row("solve_many", "radius", "negative", lambda: many(radius=[0.1, -1])),
    Row("solve_many", "radius", "beyond 1e100", lambda: many(radius=1e101)),
    Row("solve_many", "radius", "per feature, too long", lambda: many(radius=[[0.1, 0.1, 0.1]])),
    Row("solve_many", "radius", "per feature, of another number of problems", lambda: many(radius=[[0.1, 0.1]] * 3)),
    Row("solve_many", "radius", "per feature, ragged", lambda: many(radius=[[0.1, 0.1], [0.1]])),
    Row("solve_many", "radius", "per feature, negative", lambda: many(radius=[[0.1, -0.1]])),
    *family("solve_many", lambda **t: many(**t), skip=("None",)),
    *choice("solve_many", "norm", lambda p: many(norm=p), skip=("None",)),
    *tolerance("solve_many", lambda t: many(tol=t)),
    *settings("solve_many", lambda s: many(settings=s)),
    *matrix("solve_many", "start", lambda s: many(start=s), np.zeros((2, 2)), skip=("None",)),
    Row("solve_many", "start", "mismatched lengths", lambda: many(start=np.zeros((3, 2)))),
    *flag("solve_many", "verbose", lambda v: many(verbose=v)),
    *no_problem("radius_path", "problem", lambda p: pre.radius_path(p, [0.1])),
    *vector(
        "radius_path",
        "radii",
        lambda r: pre.radius_path(PROBLEM, r),
        np.array([0.2, 0.1]),
        skip=("too short", "too long", "generator", "matrix"),
    ),
    Row("radius_path", "radii", "per feature, too long", lambda: pre.radius_path(PROBLEM, [[0.1, 0.1, 0.1]])),
    Row("radius_path", "radii", "negative", lambda: pre.radius_path(PROBLEM, [0.1, -1])),
    *terms("radius_path", lambda **t: pre.radius_path(PROBLEM, [0.1], **t)),
    *tolerance("radius_path", lambda t: pre.radius_path(PROBLEM, [0.1], tol=t)),
    *settings("radius_path", lambda s: pre.radius_path(PROBLEM, [0.1], settings=s)),
    *flag("radius_path", "stop", lambda s: pre.radius_path(PROBLEM, [0.1], stop=s)),
    *no_problem("certify", "problem", lambda p: pre.certify(p, [0.0, 0.0])),
    *vector("certify", "delta", lambda d: pre.certify(PROBLEM, d), np.zeros(2)),
    *vector("certify", "mu", lambda m: pre.certify(PROBLEM, [0.0, 0.0], m), np.full(20, 0.05), skip=("None",)),
    *terms("certify", lambda **t: pre.certify(PROBLEM, [0.0, 0.0], **t).gap),
    *no_problem("verify", "problem", lambda p: pre.verify(p, [0.0, 0.0])),
    *vector("verify", "solution", lambda d: pre.verify(PROBLEM, d), np.zeros(2)),
    Row("verify", "solution", "of a problem with the user's own terms", lambda: pre.verify(PROBLEM, constrained())),
    *count("verify", "target_ulps", lambda u: pre.verify(PROBLEM, [0.0, 0.0], target_ulps=u), skip=("zero",)),
    *count("verify", "max_bits", lambda m: pre.verify(PROBLEM, [0.0, 0.0], max_bits=m)),
    *share("Verification.proves", "tol", lambda t: pre.verify(PROBLEM, [0.0, 0.0]).proves(t)),
    *(
        Row("Verification.refutes", "certificate", kind, lambda c=c: pre.verify(PROBLEM, [0.0, 0.0]).refutes(c))
        for kind, c in {"a number": 0.1, "None": None}.items()
    ),
    *no_problem("minimal_radius", "problem", pre.minimal_radius),
    *vector("minimal_radius", "hint", lambda h: pre.minimal_radius(PROBLEM, hint=h), np.zeros(2), skip=("None",)),
    *share("minimal_radius", "rtol", lambda t: pre.minimal_radius(PROBLEM, rtol=t)),
    *no_problem("primal_program", "problem", pre.primal_program),
    *terms("primal_program", lambda **t: pre.primal_program(PROBLEM, **t)),
    *flag("primal_program", "scaled", lambda s: pre.primal_program(PROBLEM, scaled=s)),
    *no_problem("dual_program", "problem", pre.dual_program),
    *flag("dual_program", "scaled", lambda s: pre.dual_program(PROBLEM, scaled=s)),
    *flag("dual_program", "counts", lambda c: pre.dual_program(PROBLEM, counts=c)),
    *weight_terms("dual_program", lambda **t: pre.dual_program(PROBLEM, **t)),
    *share("Certificate.proves", "tol", lambda t: pre.certify(PROBLEM, [0.0, 0.0]).proves(t)),
    *(
        Row(entry, "w", kind, lambda call=call, value=value: call(value), named="index")
        for entry, call in BY_INDEX.items()
        for kind, value in INDEX.items()
    ),
    *(Row(entry, "w", "out of range", lambda call=call: call(2), error=IndexError) for entry, call in BY_INDEX.items()),
    *choice("Solutions.to_frame", "backend", FOUND.to_frame),
    *no_problem("compare", "problem", pre.compare),
    *(
        Row("compare", "solvers", kind, lambda value=value: pre.compare(PROBLEM, value), error=error)
        for kind, value, error in (
            ("unknown name", ["clarabell"], pre.UnknownSolverError),
            ("empty", [], pre.DataError),
            ("number", 3, pre.DataError),
        )
    ),
    *choice("compare", "formulations", lambda f: pre.compare(PROBLEM, ["newton"], f)),
    Row("compare", "formulations", "empty", lambda: pre.compare(PROBLEM, ["newton"], [])),
    *share("compare", "tol", lambda t: pre.compare(PROBLEM, ["newton"], tol=t)),
]
TAKEN: list[Taken] = [
    *layouts("solve_many", "features_q", lambda x: many(features_q=x).delta, F),
    *layouts("solve_many", "targets", lambda b: many(targets=b).delta, TARGETS),
    *layouts("solve_many", "log_bases", lambda a: many(log_bases=a).delta, A),
    *layouts("certify", "delta", lambda d: pre.certify(PROBLEM, d).primal_value, np.array([0.1, 0.2])),
    *layouts("certify", "mu", lambda m: pre.certify(PROBLEM, [0.1, 0.2], m).moment_residual, np.full(20, 0.05)),
    Taken(
        "radius_path",
        "radii",
        "generator",
        lambda r: [s.primal_value for s in pre.radius_path(PROBLEM, r)],
        lambda: (r for r in [0.2, 0.1]),
        lambda: [0.2, 0.1],
    ),
    Taken(
        "solve",
        "solver",
        "any case",
        lambda s: pre.solve(PROBLEM, solver=s).delta,
        lambda: "clarabel",
        lambda: "CLARABEL",
    ),
]


def answer(target: Any, features: Any, log_base: Any = None, **terms: Any) -> str:
    """Status of a problem."""
    return pre.solve(pre.RatioProblem(target, features, log_base, **terms), check=False).status.name


FIRST = np.where(np.arange(20) == 0, 0.0, -np.inf)
WIDE = np.random.default_rng(2).normal(size=(3, 40))
SAME = np.tile([1.0, 2.0], (9, 1))
EDGE: dict[str, tuple[tuple[Any, ...], str]] = {
    "one row, equal to the target": (([1.0, 2.0], [[1.0, 2.0]]), "OPTIMAL"),
    "one row, not the target": (([1.0, 2.5], [[1.0, 2.0]]), "INFEASIBLE"),
    "all rows equal to the target": (([1.0, 2.0], SAME), "OPTIMAL"),
    "all rows equal, but not to the target": (([1.0, 2.5], SAME), "INFEASIBLE"),
    "one column": (([0.1], F[:, :1]), "OPTIMAL"),
    "more columns than rows, target in the hull": ((WIDE.mean(axis=0), WIDE), "OPTIMAL"),
    "more columns than rows, target outside the hull": ((np.zeros(40), WIDE), "INFEASIBLE"),
    "duplicate column": (([0.1, 0.1], np.repeat(F[:, :1], 2, axis=1)), "OPTIMAL"),
    "duplicate column with two targets": (([0.1, 0.2], np.repeat(F[:, :1], 2, axis=1)), "INFEASIBLE"),
    "a constant column": (([0.1, 1.0], np.c_[F[:, 0], np.ones(20)]), "OPTIMAL"),
    "a constant column with another target": (([0.1, 1.1], np.c_[F[:, 0], np.ones(20)]), "INFEASIBLE"),
    "all zeros": (([0.0, 0.0], np.zeros((9, 2))), "OPTIMAL"),
    "booleans": (([0.5, 0.5], F > 0), "OPTIMAL"),
    "a target that is a row": ((F[0], F[:3]), "BOUNDARY"),
    "a target far outside": (([1e140, 0.0], F), "INFEASIBLE"),
    "numbers of size 1e99": (([1e98, 1e98], F * 1e99), "OPTIMAL"),
    "numbers of size 1e-99": (([1e-100, 1e-100], F * 1e-99), "OPTIMAL"),
    "columns of size 1e99 and 1e-99": ((np.array([0.1e99, 0.1e-99]), F * [1e99, 1e-99]), "OPTIMAL"),
    "an offset of 1e4": (([1e4 + 0.125, 1e4], F + 1e4), "OPTIMAL"),
    "log weights of -1e308": (([0.1, 0.1], F, np.full(20, -1e308)), "OPTIMAL"),
    "one row with positive weight, equal to the target": ((F[0], F, FIRST), "OPTIMAL"),
    "one row with positive weight, not the target": (
        ([0.1, 0.1], F, FIRST),
        "INFEASIBLE",
    ),
}
KNOWN: list[Known] = [
    *(
        Known("solve", "problem", kind, lambda arguments=arguments: answer(*arguments), status)
        for kind, (arguments, status) in EDGE.items()
    ),
    Known(
        "certify",
        "mu",
        "weight on a row of base weight zero: proves(1e-3)",
        lambda: pre.certify(pre.RatioProblem(F[0], F, FIRST), [0.0, 0.0], np.full(20, 0.05)).proves(1e-3),
        False,
    ),
    Known(
        "certify",
        "delta",
        "numbers too large for a proof: gap",
        lambda: pre.certify(pre.RatioProblem([0.0, 0.0], F * 1e99), [1e140, 1e140]).gap,
        np.inf,
    ),
    Known(
        "solve",
        "problem",
        "a radius of 1e100: delta",
        lambda: pre.solve(PROBLEM.with_radius(1e100)).delta,
        np.zeros(2),
    ),
    *(
        Known(
            "solve",
            "constraints",
            f"contradictory, {name}",
            lambda name=name: (
                pre.solve(PROBLEM, solver=name, constraints=lambda d: [d >= 1, d <= -1], check=False).status.name
            ),
            "FAILED",
        )
        for name in ("newton", "CLARABEL")
    ),
    Known(
        "solve",
        "solver_options",
        "an unknown option",
        lambda: pre.solve(PROBLEM, solver="CLARABEL", solver_options={"colour": 3}, check=False).status.name,
        "FAILED",
    ),
    Known("solve", "tol", "1e-300", lambda: pre.solve(PROBLEM, tol=1e-300, check=False).status.name, "INACCURATE"),
]
