"""Every way to solve a problem, by name, so that a test can run them all."""

from __future__ import annotations

import pre_convex as pre

CONE = [
    (name, form)
    for name in ("CLARABEL", "ECOS", "SCS", "MOREAU")
    if name in pre.installed_solvers()
    for form in ("primal", "dual")
]


def newton(problem):
    """The Newton solver."""
    return pre.solve(problem, check=False)


def many(problem):
    """In a batch, together with an easy problem on the same rows."""
    easy = problem.features_q[problem.positive_rows].mean(axis=0)
    return pre.solve_many(problem, [easy, problem.target])[1]


def path(problem):
    """As the last point of a radius path."""
    return pre.radius_path(problem, [2.0 * problem.radius + 0.1, problem.radius])[-1]


OWN = {"newton": newton, "many": many, "path": path}


def cone(solver, formulation, *, polish=True):
    """A cone solver."""
    return lambda problem: pre.solve(problem, formulation, solver, polish=polish, check=False)


def in_turn(animals, first=0):
    """(animal, solver, formulation): every small animal with one cone solver, in rotation."""
    small = [animal for animal in animals if animal.small]
    return [(animal, *CONE[(first + i) % len(CONE)]) for i, animal in enumerate(small)]
