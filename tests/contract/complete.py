"""What the contract is about: every parameter of every public entry point, and the reason where one has no row."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from enum import Enum
from typing import Any

import pre_convex as pre
from pre_convex import bootstrap, plots, selection
from pre_convex.applications import detection, explanation

from . import parts
from .kinds import ANY, LOG_WEIGHTS, MATRIX, VECTOR
from .parts import KNOWN, PARTS, ROWS, TAKEN

MODULES = (pre, selection, bootstrap, plots, detection, explanation)
#: parts whose rows say what is left on disk, too
ON_DISK = getattr(parts, "ON_DISK", {})
ALL = [*ROWS, *TAKEN, *KNOWN, *(row for part in ON_DISK.values() for row in part.ROWS)]
#: classes whose objects the package makes, complete and frozen; their methods have rows
MADE_HERE = {
    "Certificate": "certify and solve make it",
    "Explanation": "explain makes it",
    "Hull": "minimal_radius makes it",
    "Peak": "Scan.peaks makes it",
    "Program": "primal_program and dual_program make it",
    "RadiusChoice": "automatic_radius and cross_validated_radius make it",
    "Scan": "scan makes it",
    "Score": "score makes it",
    "Scores": "scores makes it",
    "Solution": "solve makes it",
    "Solutions": "solve_many makes it",
}
#: entry point, or entry point and parameter: why there is no row
EXEMPT: dict[str, str] = {
    "RatioProblem.in_coordinates": "for the engines, with arrays that they made",
    "radius_path.radii": "as many as one likes",
    "Kernel.fitted.rng": "read where rows are chosen at random, beyond 4,000 of them",
    "Kernel.points": "filled in by fitted",
    "Kernel.factor": "filled in by fitted",
    **{f"{name}.names": "for names that tables have" for name in ("Autocorrelation", "Kernel")},
    **{
        f"{name}.__call__.x": "a block that was looked at; what is made of it is looked at again"
        for name in (
            *("Autocorrelation", "ClassProbability", "Concatenation", "Gaussian", "Kernel"),
            *("LagProducts", "Linear", "Polynomial"),
        )
    },
    "Scan.__getitem__.w": "the place of a window, as in a list",
    "Background.reference": "filled in by Detector.background",
    "SuperPixels.around.x": "an image, with rows of its own",
    **{f"{name}.x": "a point and not a matrix: no rows, no columns" for name in ("explain", "plot_boundary")},
    "plot_radius_path.radii": "handed to radius_path",
    **{f"{name}.around.x": "handed over by explain" for name in ("Box", "OnOff", "Points", "explanation.Gaussian")},
    **{f"Explanation.{name}.ax": "handed to the plots" for name in ("plot", "plot_boundary", "plot_image")},
    **dict.fromkeys(("scan", "score", "scores"), "hands what is not its own to Detector"),
    "explain_all": "hands all to explain",
    **{key: why for part in PARTS.values() for key, why in getattr(part, "EXEMPT", {}).items()},
}
#: parameters that are arrays, wherever they stand, and what they hold
ARRAYS = {
    **dict.fromkeys(("features_q", "features_p", "targets"), MATRIX),
    **dict.fromkeys(("target", "delta", "mu", "hint", "radii"), VECTOR),
    **dict.fromkeys(("log_base", "log_bases", "log_weights_p"), LOG_WEIGHTS),
    **dict.fromkeys(("x", "x_p", "x_q"), MATRIX),
    **dict.fromkeys(("log_lik_p", "log_lik_q"), LOG_WEIGHTS),
}


def public() -> dict[str, Any]:
    """What the modules of the reference make public, by its name."""
    found: dict[str, Any] = {}
    for module in MODULES:
        for name in module.__all__:
            if found.setdefault(name, getattr(module, name)) is not getattr(module, name):
                found[f"{module.__name__.rpartition('.')[2]}.{name}"] = getattr(module, name)
    return found


def entry_points() -> Iterator[tuple[str, Any]]:
    """Names and functions: the public ones of the modules, and the public methods of their classes."""
    for name, thing in public().items():
        if not isinstance(thing, type):
            if callable(thing):
                yield name, thing
            continue
        if issubclass(thing, BaseException | Enum):
            continue
        if name not in MADE_HERE:
            yield name, thing
        for method, value in inspect.getmembers(thing, inspect.isroutine):
            home = next((c for c in thing.__mro__ if method in vars(c)), object)
            shown = not method.startswith("_") or method in ("__call__", "__getitem__")
            if shown and home.__module__.startswith("pre_convex") and not method.endswith("_request"):  # scikit-learn's
                yield f"{name}.{method}", value


def parameters() -> dict[tuple[str, str], set[str]]:
    """Parameters that need a row, by the function that has them: the entry points that share it."""
    found: dict[tuple[str, str], set[str]] = {}
    for entry, function in entry_points():
        shared = function.__init__ if isinstance(function, type) else getattr(function, "__func__", function)
        home = f"{shared.__module__}.{shared.__qualname__}"
        for parameter in inspect.signature(function).parameters.values():
            if parameter.name != "self" and parameter.kind is not parameter.VAR_KEYWORD:
                found.setdefault((home, parameter.name), set()).add(entry)
    return found


def kinds_of(entries: set[str], parameter: str) -> set[str]:
    """Kinds of the rows of a parameter."""
    return {row.kind for row in ALL if row.argument == parameter and row.entry in entries}


def exempt(entries: set[str], parameter: str) -> bool:
    """Whether a reason is given why a parameter has no row, or not all of them."""
    return any(entry in EXEMPT or f"{entry}.{parameter}" in EXEMPT for entry in entries)


def missing(kinds: set[str], parameter: str) -> set[str]:
    """Kinds that an array lacks; None often means that it is left out."""
    return set(ARRAYS.get(parameter, {})) - kinds - {"None"} if kinds & set(ANY) else set()
