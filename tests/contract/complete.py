"""Completeness of the contract: every parameter of every public entry point has rows, or a reason why not."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from enum import Enum
from typing import Any

import pre_convex as pre
from pre_convex import plots
from pre_convex.applications import detection, explanation
from pre_convex.statistics import bootstrap, selection, staged

from .kinds import ANY, LOG_WEIGHTS, MATRIX, VECTOR
from .parts import KNOWN, ON_DISK, PARTS, ROWS, TAKEN

MODULES = (pre, selection, staged, bootstrap, plots, detection, explanation)
ALL = [*ROWS, *TAKEN, *KNOWN, *(row for part in ON_DISK.values() for row in part.ROWS)]
#: classes that only the package creates; their methods have rows
MADE_HERE = {
    "Candidate": "in the candidates of a FeatureChoice",
    "Certificate": "returned by certify and solve",
    "Explanation": "returned by explain",
    "FeatureChoice": "returned by staged_features",
    "Hull": "returned by minimal_radius",
    "Peak": "returned by Scan.peaks",
    "Program": "returned by primal_program and dual_program",
    "RadiusChoice": "returned by automatic_radius and cross_validated_radius",
    "Recession": "in the recession of a solution",
    "Scan": "returned by scan",
    "Score": "returned by score",
    "Scores": "returned by scores",
    "Solution": "returned by solve",
    "Stage": "in the trace of a solution",
    "Solutions": "returned by solve_many",
    "SpecificationTest": "returned by specification_test",
    "Verification": "returned by verify",
}
#: entry point, or entry point and parameter: why there is no row
EXEMPT: dict[str, str] = {
    "RatioProblem.change_coordinates": "called by the engines",
    **{
        f"RatioProblem.{name}": "called by the engines"
        for name in ("excess", "penalty_value", "require_exponential", "require_one_radius")
    },
    "RatioProblem.on_face": "called by the engines",
    "RatioProblem.with_weight": "called by the engines",
    "RatioProblem.with_log_weights": "for readers of files, with arrays that they checked",
    "radius_path.radii": "any number of radii, or rows with one for each feature, so no kind is too short or too long",
    "radius_noise_df": "called by the diagnostics",
    **{
        f"{name}.delta": "one number stands for all coefficients"
        for name in ("Inference.p_values", "Inference.score_test", "PosteriorRatio.score_test")
    },
    "Kernel.fitted.rng": "used only beyond 4,000 rows",
    "Kernel.points": "set by fitted",
    "Kernel.factor": "set by fitted",
    **{f"{name}.names": "feature names do not depend on the columns" for name in ("Autocorrelation", "Kernel")},
    **{
        f"{name}.__call__.x": "gets blocks that were checked; the features are checked too"
        for name in (
            *("Autocorrelation", "ClassProbability", "Concatenation", "Gaussian", "Kernel"),
            *("LagProducts", "Linear", "Polynomial"),
        )
    },
    "Scan.__getitem__.w": "an index, as in a list",
    "Background.reference": "set by Detector.background",
    "SuperPixels.around.x": "an image, which has its own rows",
    **{f"{name}.x": "a point, not a matrix" for name in ("explain", "plot_boundary")},
    "plot_radius_path.radii": "passed to radius_path",
    **{f"{name}.around.x": "passed by explain" for name in ("Box", "OnOff", "Points", "explanation.Gaussian")},
    **{f"Explanation.{name}.ax": "passed to the plots" for name in ("plot", "plot_boundary", "plot_image")},
    **dict.fromkeys(("scan", "score", "scores"), "passes its arguments to Detector"),
    "explain_all": "passes its arguments to explain",
    "LSIF": "passes its parameters to PosteriorRatio",
    "PosteriorRatio.plot.ax": "passed to the plots",
    "MixtureKLIEP.plot.ax": "passed to the plots",
    **{key: why for part in PARTS.values() for key, why in getattr(part, "EXEMPT", {}).items()},
}
#: parameters that are arrays in every entry point, and their kinds
ARRAYS = {
    **dict.fromkeys(("features_q", "features_p", "targets"), MATRIX),
    **dict.fromkeys(("target", "delta", "mu", "hint", "radii"), VECTOR),
    **dict.fromkeys(("log_base", "log_bases", "log_weights_p"), LOG_WEIGHTS),
    **dict.fromkeys(("x", "x_p", "x_q"), MATRIX),
    **dict.fromkeys(("log_lik_p", "log_lik_q"), LOG_WEIGHTS),
}


def public() -> dict[str, Any]:
    """Public objects of the modules, by name."""
    found: dict[str, Any] = {}
    for module in MODULES:
        for name in module.__all__:
            if found.setdefault(name, getattr(module, name)) is not getattr(module, name):
                found[f"{module.__name__.rpartition('.')[2]}.{name}"] = getattr(module, name)
    return found


def entry_points() -> Iterator[tuple[str, Any]]:
    """Names and functions: public functions and classes, and public methods of classes."""
    for name, thing in public().items():
        if not isinstance(thing, type):
            if callable(thing):
                yield name, thing
            continue
        if issubclass(thing, BaseException | Enum):
            continue
        if name not in MADE_HERE:
            yield name, thing
        for method, value in inspect.getmembers(
            thing, lambda value: inspect.isfunction(value) or inspect.ismethod(value)
        ):
            home = next((c for c in thing.__mro__ if method in vars(c)), object)
            shown = not method.startswith("_") or method in ("__call__", "__getitem__")
            if shown and home.__module__.startswith("pre_convex") and not method.endswith("_request"):  # scikit-learn's
                yield f"{name}.{method}", value


def parameters() -> dict[tuple[str, str], set[str]]:
    """Entry points by function and parameter; inherited methods share a function."""
    found: dict[tuple[str, str], set[str]] = {}
    for entry, function in entry_points():
        shared = function.__init__ if isinstance(function, type) else getattr(function, "__func__", function)
        home = f"{shared.__module__}.{shared.__qualname__}"
        for parameter in inspect.signature(function).parameters.values():
            if parameter.name != "self" and parameter.kind is not parameter.VAR_KEYWORD:
                found.setdefault((home, parameter.name), set()).add(entry)
    return found


def kinds_of(entries: set[str], parameter: str) -> set[str]:
    """Kinds of the rows about a parameter."""
    return {row.kind for row in ALL if row.argument == parameter and row.entry in entries}


def exempt(entries: set[str], parameter: str) -> bool:
    """Whether there is a reason why a parameter lacks rows."""
    return any(entry in EXEMPT or f"{entry}.{parameter}" in EXEMPT for entry in entries)


def missing(kinds: set[str], parameter: str) -> set[str]:
    """Kinds that an array lacks; None often means that the argument is left out."""
    return set(ARRAYS.get(parameter, {})) - kinds - {"None"} if kinds & set(ANY) else set()
