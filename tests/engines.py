"""Every way to solve a problem, under one name each, so that a test can ask them all."""

from __future__ import annotations

import pre_convex as pre

CONE = [
    (name, form)
    for name in ("CLARABEL", "ECOS", "SCS")
    if name in pre.installed_solvers()
    for form in ("primal", "dual")
]


def newton(problem):
    """The package's own engine."""
    return pre.solve(problem, check=False)


def many(problem):
    """In a batch, with a problem of the same rows that is easy."""
    alive = problem.log_base > float("-inf")
    easy = problem.features_q[alive].mean(axis=0)
    return pre.solve_many(problem, [easy, problem.target])[1]


def path(problem):
    """At the end of a path of radii."""
    return pre.radius_path(problem, [2.0 * problem.radius + 0.1, problem.radius])[-1]


OWN = {"newton": newton, "many": many, "path": path}


def cone(solver, formulation, *, polish=True):
    """A cone solver."""
    return lambda problem: pre.solve(problem, formulation, solver, polish=polish, check=False)


def in_turn(animals, first=0):
    """(animal, solver, formulation): each small animal meets one cone solver, and they take turns."""
    small = [animal for animal in animals if animal.small]
    return [(animal, *CONE[(first + i) % len(CONE)]) for i, animal in enumerate(small)]
