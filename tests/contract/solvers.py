"""Solvers: what is asked of them, the user's terms, and answers at the edge of what makes sense."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np

import pre_convex as pre

from .kinds import choice, fails, flag, frames, layouts, log_weights, matrix, number, number_within, vector
from .kinds import problem as no_problem
from .problems import LARGE, NEGATIVE, A, F
from .rows import Known, OwnError, Row, Taken

PROBLEM = pre.RatioProblem([0.1, 0.1], F)
TARGETS = np.array([[0.1, 0.1], [0.0, 0.2]])
TOL = {"zero": 0.0, "one": 1.0, "negative": -1e-8, "large": 10.0}
CONVEX = "penalty: must return one convex cvxpy expression of delta, such as cp.norm1(delta)"
OWN = "has variables of its own; write it in delta alone"
#: kind: a penalty, and what is said of it
PENALTIES: dict[str, tuple[Any, str]] = {
    "no function": (3, "penalty: must be a function of a cvxpy expression delta, not int"),
    "an expression": (cp.Constant(1.0), "penalty: must be a function of a cvxpy expression delta, not Constant"),
    "returns None": (lambda d: None, CONVEX),
    "returns a number": (lambda d: 3.0, CONVEX),
    "returns a vector": (lambda d: d, CONVEX),
    "concave": (lambda d: -cp.sum_squares(d), CONVEX),
    "NaN": (lambda d: np.nan * cp.norm1(d), CONVEX),
    "inf": (lambda d: np.inf * cp.norm1(d), "penalty: holds nan or inf; use finite numbers"),
    "another variable": (lambda d: cp.norm1(d - cp.Variable(2)), f"penalty: {OWN}"),
    "parameter without a value": (
        lambda d: cp.Parameter(nonneg=True) * cp.norm1(d),
        "penalty: has a parameter without a value; set it",
    ),
}
NO_LIMIT = "constraints: entry 0 is not a convex cvxpy constraint of delta: …"
CONSTRAINTS: dict[str, tuple[Any, str]] = {
    "no function": ([1], "constraints: must be a function of a cvxpy expression delta, not list"),
    "returns None": (lambda d: None, NO_LIMIT),
    "returns a truth value": (lambda d: [True], NO_LIMIT),
    "returns text": (lambda d: "delta >= 0", NO_LIMIT),
    "not convex": (lambda d: [cp.norm2(d) >= 1], NO_LIMIT),
    "NaN": (lambda d: [d >= np.nan], "constraints: holds nan or inf; use finite numbers"),
    "another variable": (lambda d: [d == cp.Variable(2)], f"constraints: {OWN}"),
    "parameter without a value": (
        lambda d: [d >= cp.Parameter()],
        "constraints: has a parameter without a value; set it",
    ),
}


def terms(entry: str, call: Any) -> list[Row]:
    """Rows for a penalty and for constraints; ``call`` takes them by name."""
    return [
        *(
            Row(entry, argument, kind, lambda argument=argument, term=term: call(**{argument: term}), says)
            for argument, kinds in {"penalty": PENALTIES, "constraints": CONSTRAINTS}.items()
            for kind, (term, says) in kinds.items()
        ),
        *(
            Row(
                entry, argument, "raises", lambda argument=argument: call(**{argument: fails}), "my own words", OwnError
            )
            for argument in ("penalty", "constraints")
        ),
    ]


def tol(entry: str, call: Any, argument: str = "tol") -> list[Row]:
    """Rows for a tolerance."""
    return number_within(entry, argument, call, TOL, "is not between 0 and 1")


def solver(kind: str, value: Any, says: str) -> Row:
    """A row for the name of a solver."""
    return Row("solve", "solver", kind, lambda: pre.solve(PROBLEM, solver=value), says, pre.UnknownSolverError)


def many(**changes: Any) -> pre.Solutions:
    """Two good problems with some arguments changed."""
    return pre.solve_many(**{"features_q": F, "targets": TARGETS, **changes})


FOUND = pre.solve_many(F, TARGETS)
INDEX = {
    "fraction": (0.5, "index: 0.5 is not a whole number; list(solutions)[i:j] has several"),
    "text": ("first", "index: 'first' is not a whole number; list(solutions)[i:j] has several"),
    "slice": (slice(1), "index: slice(None, 1, None) is not a whole number; list(solutions)[i:j] has several"),
    "None": (None, "index: None is not a whole number; list(solutions)[i:j] has several"),
}
OUTSIDE = "index: 2 is out of range; there are 2 problems"
ROWS: list[Row] = [
    *no_problem("solve", "problem", pre.solve),
    *choice("solve", "formulation", lambda f: pre.solve(PROBLEM, f)),
    solver("unknown name", "clarabell", "solver: 'clarabell' is not known; installed are newton, CLARABEL…"),
    solver("empty text", "", "solver: '' is not known; installed are newton, CLARABEL…"),
    solver(
        "a solver without exponential cones", "OSQP", "solver: 'OSQP' is not known; installed are newton, CLARABEL…"
    ),
    solver("number", 3, "solver: 3 is not a name; use one of installed_solvers()"),
    solver("None", None, "solver: None is not a name; use one of installed_solvers()"),
    *terms("solve", lambda **t: pre.solve(PROBLEM, **t)),
    *(
        Row(
            "solve",
            "formulation",
            f"dual with {name}",
            lambda term=term: pre.solve(PROBLEM, "dual", "CLARABEL", **term),
            "formulation: penalty and constraints are functions of delta; use formulation='primal'",
        )
        for name, term in {
            "a penalty": {"penalty": cp.norm1},
            "constraints": {"constraints": lambda d: [d >= 0]},
        }.items()
    ),
    *tol("solve", lambda t: pre.solve(PROBLEM, tol=t)),
    *flag("solve", "polish", lambda p: pre.solve(PROBLEM, polish=p)),
    *flag("solve", "check", lambda c: pre.solve(PROBLEM, check=c)),
    *flag("solve", "verbose", lambda v: pre.solve(PROBLEM, verbose=v)),
    *matrix("solve_many", "features_q", lambda x: many(features_q=x), F),
    *frames("solve_many", "features_q", lambda x: many(features_q=x)),
    *matrix("solve_many", "targets", lambda b: many(targets=b), TARGETS),
    Row(
        "solve_many",
        "targets",
        "another width",
        lambda: many(targets=np.zeros((2, 3))),
        "targets: has 3 columns for 2 columns of features_q; pass one row for each problem",
    ),
    *log_weights(
        "solve_many",
        "log_bases",
        lambda a: many(log_bases=a),
        A,
        says={"None": None, "matrix": "log_bases: has shape (20, 2) where (20,) or (2, 20) is needed; transpose it"},
    ),
    Row(
        "solve_many",
        "log_bases",
        "function that raises",
        lambda: many(log_bases=fails),
        "my own words",
        OwnError,
    ),
    Row(
        "solve_many",
        "log_bases",
        "function that returns another shape",
        lambda: many(log_bases=lambda rows: np.zeros(3)),
        "log_bases: returned shape (3,) for … rows and 2 problems",
    ),
    Row(
        "solve_many",
        "log_bases",
        "function that returns text",
        lambda: many(log_bases=lambda rows: ["a"]),
        "log_bases: holds dtype <U1; pass real numbers",
    ),
    Row(
        "solve_many",
        "log_bases",
        "function that returns NaN",
        lambda: many(log_bases=lambda rows: np.full((rows.stop - rows.start, 2), np.nan)),
        "log_bases: row 0 of problem 0 is nan…",
    ),
    Row(
        "solve_many",
        "log_bases",
        "one problem all -inf",
        lambda: many(log_bases=np.array([A, np.full(20, -np.inf)])),
        "log_bases: every row of problem 1 is -inf, so no row can occur",
    ),
    *number(
        "solve_many",
        "radius",
        lambda r: many(radius=r),
        says={"None": None, "list": "radius: has 1 entries for 2 problems; pass one number, or one for each"}
        | {"array of two": None},
    ),
    Row("solve_many", "radius", "negative", lambda: many(radius=[0.1, -1]), f"radius: {NEGATIVE}"),
    Row("solve_many", "radius", "beyond 1e100", lambda: many(radius=1e101), f"radius: {LARGE}"),
    *choice("solve_many", "norm", lambda p: many(norm=p), says={"None": None}),
    *tol("solve_many", lambda t: many(tol=t)),
    *matrix(
        "solve_many",
        "start",
        lambda s: many(start=s),
        np.zeros((2, 2)),
        says={
            "None": None,
            "ragged": "start: cannot be read as an array of numbers (…)",
            "records": "start: holds dtype [(…)]; pass real numbers",
            "set": "start: set is not an array of numbers; pass an array, a list or a data frame",
        },
    ),
    Row(
        "solve_many",
        "start",
        "mismatched lengths",
        lambda: many(start=np.zeros((3, 2))),
        "start: has shape (3, 2) for 2 problems and 2 features; pass shape (2, 2)",
    ),
    *flag("solve_many", "verbose", lambda v: many(verbose=v)),
    *no_problem("radius_path", "problem", lambda p: pre.radius_path(p, [0.1])),
    *vector(
        "radius_path",
        "radii",
        lambda r: pre.radius_path(PROBLEM, r),
        np.array([0.2, 0.1]),
        says={
            "too short": None,
            "too long": None,
            "generator": None,
            "matrix": "radii: has shape (2, 2); pass one number for each row",
        },
    ),
    Row("radius_path", "radii", "negative", lambda: pre.radius_path(PROBLEM, [0.1, -1]), f"radii: {NEGATIVE}"),
    *terms("radius_path", lambda **t: pre.radius_path(PROBLEM, [0.1], **t)),
    *tol("radius_path", lambda t: pre.radius_path(PROBLEM, [0.1], tol=t)),
    *flag("radius_path", "stop", lambda s: pre.radius_path(PROBLEM, [0.1], stop=s)),
    *no_problem("certify", "problem", lambda p: pre.certify(p, [0.0, 0.0])),
    *vector("certify", "delta", lambda d: pre.certify(PROBLEM, d), np.zeros(2)),
    *vector("certify", "mu", lambda m: pre.certify(PROBLEM, [0.0, 0.0], m), np.full(20, 0.05), says={"None": None}),
    *terms("certify", lambda **t: pre.certify(PROBLEM, [0.0, 0.0], **t).gap),
    *no_problem("minimal_radius", "problem", pre.minimal_radius),
    *vector("minimal_radius", "hint", lambda h: pre.minimal_radius(PROBLEM, hint=h), np.zeros(2), says={"None": None}),
    *tol("minimal_radius", lambda t: pre.minimal_radius(PROBLEM, rtol=t), "rtol"),
    *no_problem("primal_program", "problem", pre.primal_program),
    *terms("primal_program", lambda **t: pre.primal_program(PROBLEM, **t)),
    *flag("primal_program", "scaled", lambda s: pre.primal_program(PROBLEM, scaled=s)),
    *no_problem("dual_program", "problem", pre.dual_program),
    *flag("dual_program", "scaled", lambda s: pre.dual_program(PROBLEM, scaled=s)),
    *flag("dual_program", "counts", lambda c: pre.dual_program(PROBLEM, counts=c)),
    *tol("Certificate.proves", lambda t: pre.certify(PROBLEM, [0.0, 0.0]).proves(t)),
    *(
        Row(entry, "w", kind, lambda call=call, value=value: call(value), says)
        for entry, call in {"Solutions.__getitem__": FOUND.__getitem__, "Solutions.problem": FOUND.problem}.items()
        for kind, (value, says) in INDEX.items()
    ),
    *(
        Row(entry, "w", "out of range", lambda call=call: call(2), OUTSIDE, IndexError)
        for entry, call in {"Solutions.__getitem__": FOUND.__getitem__, "Solutions.problem": FOUND.problem}.items()
    ),
    *choice("Solutions.to_frame", "backend", FOUND.to_frame),
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
    "one row, the target on it": (([1.0, 2.0], [[1.0, 2.0]]), "OPTIMAL"),
    "one row, the target elsewhere": (([1.0, 2.5], [[1.0, 2.0]]), "INFEASIBLE"),
    "all rows equal, the target on them": (([1.0, 2.0], SAME), "OPTIMAL"),
    "all rows equal, the target elsewhere": (([1.0, 2.5], SAME), "INFEASIBLE"),
    "one column": (([0.1], F[:, :1]), "OPTIMAL"),
    "more columns than rows, the target among them": ((WIDE.mean(axis=0), WIDE), "OPTIMAL"),
    "more columns than rows, the target elsewhere": ((np.zeros(40), WIDE), "INFEASIBLE"),
    "a column twice": (([0.1, 0.1], np.repeat(F[:, :1], 2, axis=1)), "OPTIMAL"),
    "a column twice, with two targets": (([0.1, 0.2], np.repeat(F[:, :1], 2, axis=1)), "INFEASIBLE"),
    "a constant column": (([0.1, 1.0], np.c_[F[:, 0], np.ones(20)]), "OPTIMAL"),
    "a constant column, with another target": (([0.1, 1.1], np.c_[F[:, 0], np.ones(20)]), "INFEASIBLE"),
    "zeros throughout": (([0.0, 0.0], np.zeros((9, 2))), "OPTIMAL"),
    "truth values": (([0.5, 0.5], F > 0), "OPTIMAL"),
    "a target that is a row": ((F[0], F[:3]), "BOUNDARY"),
    "a target far outside": (([1e140, 0.0], F), "INFEASIBLE"),
    "numbers of size 1e99": (([1e98, 1e98], F * 1e99), "OPTIMAL"),
    "numbers of size 1e-99": (([1e-100, 1e-100], F * 1e-99), "OPTIMAL"),
    "columns of size 1e99 and 1e-99": ((np.array([0.1e99, 0.1e-99]), F * [1e99, 1e-99]), "OPTIMAL"),
    "an offset of 1e4": (([1e4 + 0.125, 1e4], F + 1e4), "OPTIMAL"),
    "log weights of -1e308": (([0.1, 0.1], F, np.full(20, -1e308)), "OPTIMAL"),
    "one row that can occur": ((F[0], F, FIRST), "OPTIMAL"),
    "one row that can occur, the target elsewhere": (
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
        "weight on a row that cannot occur",
        lambda: pre.certify(pre.RatioProblem(F[0], F, FIRST), [0.0, 0.0], np.full(20, 0.05)).proves(1e-3),
        False,
        "no proof",
    ),
    Known(
        "certify",
        "delta",
        "numbers too large for a proof",
        lambda: pre.certify(pre.RatioProblem([0.0, 0.0], F * 1e99), [1e140, 1e140]).gap,
        np.inf,
        "gap = inf",
    ),
    Known(
        "solve",
        "problem",
        "a radius of 1e100",
        lambda: pre.solve(PROBLEM.with_radius(1e100)).delta,
        np.zeros(2),
        "delta = 0",
    ),
    *(
        Known(
            "solve",
            "constraints",
            f"that exclude each other, {name}",
            lambda name=name: (
                pre.solve(PROBLEM, solver=name, constraints=lambda d: [d >= 1, d <= -1], check=False).status.name
            ),
            "FAILED",
        )
        for name in ("newton", "CLARABEL")
    ),
    Known("solve", "tol", "1e-300", lambda: pre.solve(PROBLEM, tol=1e-300, check=False).status.name, "INACCURATE"),
]
