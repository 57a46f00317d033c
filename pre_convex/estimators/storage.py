"""Fits on disk: one ``.npz`` file of plain arrays and a JSON header, loaded without running any code."""

from __future__ import annotations

import os
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np

from .._internal.rng import storable_seed
from ..certificate.certificate import Certificate
from ..data.features import from_state, make_features, to_state
from ..data.files import CORRUPT_FILE_ERRORS, as_path, atomic_write, read_arrays, report_write_errors, write_arrays
from ..data.likelihoods import Gaussian
from ..errors import DataError
from ..feasibility.exposed import Recession
from ..problem import RatioProblem
from ..solution import Solution, Stage, Status
from ..solvers import Settings
from ..statistics.selection import RadiusChoice
from .classifier import RatioClassifier
from .kliep import KLIEP
from .plugin import PluginRatio
from .posterior_ratio import PosteriorRatio

__all__ = ["load", "save"]

FORMAT = 1
#: arrays of the problem that are written; the rest follows from them
ARRAYS = ("target", "features_q", "log_base", "features_p", "log_weights_p")
#: numbers and texts of the solution that are written
SOLUTION_FIELDS = (
    *("solver", "formulation", "iterations", "free_directions"),
    *("compile_time", "setup_time", "solve_time", "claim", "user_terms"),
)
KINDS = {kind.__name__: kind for kind in (PosteriorRatio, KLIEP, PluginRatio, RatioClassifier)}
#: parameters that are functions, which cannot be written
FUNCTIONS = ("penalty", "constraints")


def save(fit: PosteriorRatio, path: str | os.PathLike[str]) -> Path:
    """Write a fitted estimator to a file.

    The write is atomic: an interrupted save leaves an older file as it was.

    Parameters
    ----------
    fit : PosteriorRatio, KLIEP, PluginRatio or RatioClassifier
        A fitted estimator with a feature map of the package and without penalty and constraints: functions cannot be
        stored without code. For the same reason the likelihoods of a ``PluginRatio`` must be ``Gaussian`` or None. A
        ``random_state`` other than integers is stored as None.
    path : str or path
        The file, usually with the suffix ``.npz``; its folder must exist.

    Returns
    -------
    pathlib.Path
        The file.

    Examples
    --------
    >>> import tempfile
    >>> rng = np.random.default_rng(0)
    >>> fit = PosteriorRatio().fit(rng.normal(0.3, 1.0, (90, 1)), rng.normal(0.0, 1.2, (90, 1)))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(fit, Path(folder) / "fit.npz").name
    'fit.npz'
    """
    if type(fit) not in KINDS.values():
        raise DataError("fit", f"a {type(fit).__name__} cannot be written", f"pass one of {', '.join(KINDS)}")
    fit._check_fitted()
    if fit.penalty is not None or fit.constraints is not None:
        raise DataError("fit", "its penalty or constraints are functions and cannot be written", "fit without them")
    arrays = {name: getattr(fit.problem_, name) for name in ARRAYS}
    arrays = {name: value for name, value in arrays.items() if value is not None}
    arrays |= {"delta": fit.delta_, "mu": fit.mu_}
    if isinstance(fit, RatioClassifier):
        arrays["classes"] = fit.classes_
    header = _header(fit, arrays)
    target = as_path(path, "path")
    with report_write_errors("path", target):
        return atomic_write(target, lambda place: write_arrays(place, FORMAT, header, arrays))


def _header(fit: PosteriorRatio, arrays: dict[str, Any]) -> dict[str, Any]:
    """Everything but arrays, which are added to ``arrays``."""
    params = {k: v for k, v in fit.get_params().items() if k not in (*FUNCTIONS, "features")}
    params["random_state"] = storable_seed(fit.random_state)
    return {
        "kind": type(fit).__name__,
        "params": {k: _plain(v) for k, v in params.items()},
        "features": _split(to_state(fit.features_), arrays, "map"),
        "parameter": fit.features
        if isinstance(fit.features, str)
        else _split(to_state(make_features(fit.features)), arrays, "parameter"),
        "plugin": _plugin_state(fit, arrays) if isinstance(fit, PluginRatio) else None,
        "choice": _split(asdict(fit.radius_choice_), arrays, "choice") if fit.radius_choice_ is not None else None,
        "feature_names": list(fit.feature_names_),
        "columns": [str(c) for c in getattr(fit, "feature_names_in_", [])],
        "n_features_in": fit.n_features_in_,
        "radius": fit.radius_,
        "norm": fit.problem_.norm,
        "paired": fit.problem_.paired,
        "share": getattr(fit, "share_", None),
        "solution": {
            "status": fit.solution_.status.name,
            "certificate": asdict(fit.solution_.certificate),
            "raw": None if fit.solution_.raw is None else asdict(fit.solution_.raw),
            "settings": _plain(fit.solution_.settings),
            "trace": [list(stage) for stage in fit.solution_.trace],
            "normaliser": fit.solution_.intercept if np.isfinite(fit.solution_.intercept) else None,
            "recession": [list(one) for one in fit.solution_.recession],
            **{name: getattr(fit.solution_, name) for name in SOLUTION_FIELDS},
        },
    }


def load(path: str | os.PathLike[str]) -> PosteriorRatio:
    """Read a fitted estimator from a file; no code in the file is run.

    Parameters
    ----------
    path : str or path
        A file that :func:`save` wrote.

    Returns
    -------
    PosteriorRatio, KLIEP, PluginRatio or RatioClassifier
        The fitted estimator, with the same ratio, summary, intervals and diagnostics.

    Examples
    --------
    >>> import tempfile
    >>> rng = np.random.default_rng(0)
    >>> fit = PosteriorRatio("polynomial").fit(rng.normal(0.3, 1.0, (90, 1)), rng.normal(0.0, 1.2, (90, 1)))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     copy = load(save(fit, Path(folder) / "fit.npz"))
    >>> bool(np.all(copy.log_ratio([[0.1]]) == fit.log_ratio([[0.1]])))
    True
    """
    path = as_path(path, "path")
    try:
        return _rebuild(*read_arrays(path, FORMAT))
    except OSError as error:
        raise DataError(
            "path", f"cannot read {path} ({error.strerror or error})", "check that the file exists and can be read"
        ) from error
    except CORRUPT_FILE_ERRORS as error:
        why = f" ({error})" if isinstance(error, DataError) else ""
        raise DataError("path", f"{path} is not a file written by save{why}", "pass a file that save wrote") from error


def _plugin_state(fit: PluginRatio, arrays: dict[str, Any]) -> Any:
    """Likelihoods and constant of a plug-in; likelihoods other than Gaussian ones are functions and are refused."""
    state: dict[str, Any] = {"constant": fit.log_constant_, "divergence": fit.divergence_}
    for side, likelihood in (("p", fit.log_lik_p_), ("q", fit.log_lik_q_)):
        if likelihood is not None and type(likelihood) is not Gaussian:
            raise DataError(
                "fit", f"its log_lik_{side} is a function and cannot be written", "use pre.Gaussian or None"
            )
        parts = {} if likelihood is None else {f.name: getattr(likelihood, f.name) for f in fields(Gaussian)}
        state[side] = None if likelihood is None else {k: v if v is None else np.asarray(v) for k, v in parts.items()}
    return _split(state, arrays, "plugin")


def _rebuild(header: dict[str, Any], arrays: dict[str, Any]) -> PosteriorRatio:
    """The fitted estimator from header and arrays."""
    features = from_state(_join(header["features"], arrays))
    params: dict[str, Any] = {k: (np.inf if v == "inf" else v) for k, v in header["params"].items()}
    params["settings"] = _settings(params.get("settings"))
    kind: Any = KINDS[header["kind"]]
    given = header["parameter"]
    fit: PosteriorRatio = kind(given if isinstance(given, str) else from_state(_join(given, arrays)), **params)
    fit.features_ = features
    problem = RatioProblem(
        **{name: arrays[name] for name in ARRAYS if name in arrays},
        radius=header["radius"],
        norm=header["norm"],
        feature_names=tuple(header["feature_names"]),
        paired=header["paired"],
    )
    logs: dict[str, Any] = {name: arrays[name] for name in ("log_base", "log_weights_p") if name in arrays}
    if all(np.allclose(getattr(problem, name), value, 1e-13, 1e-13) for name, value in logs.items()):
        problem = problem.with_log_weights(**logs)  # normalising again would change their last bits
    fit.problem_ = problem
    facts = dict(header["solution"])
    raw, trace, recession = facts.pop("raw"), facts.pop("trace", ()), facts.pop("recession", ())
    normaliser = facts.pop("normaliser", None)
    fit.solution_ = Solution(
        delta=arrays["delta"],
        weights=arrays["mu"],
        status=Status[facts.pop("status")],
        certificate=Certificate(**facts.pop("certificate")),
        raw=None if raw is None else Certificate(**raw),
        settings=_settings(facts.pop("settings", None)),
        trace=tuple(Stage(*stage) for stage in trace),
        normaliser=np.nan if normaliser is None else normaliser,
        recession=tuple(Recession(*one) for one in recession),
        **facts,
    )
    fit._finish()
    choice = header["choice"]
    fit.radius_choice_ = None if choice is None else RadiusChoice(**_join(choice, arrays))
    fit.radius_ = header["radius"]
    fit.n_features_in_ = header["n_features_in"]
    if header["columns"]:
        fit.feature_names_in_ = np.array(header["columns"], dtype=object)
    if isinstance(fit, PluginRatio):
        plugin = _join(header["plugin"], arrays)
        fit.log_lik_p_, fit.log_lik_q_ = (None if plugin[s] is None else Gaussian(**plugin[s]) for s in ("p", "q"))
        fit.log_constant_, fit.divergence_ = plugin["constant"], plugin["divergence"]
    if isinstance(fit, RatioClassifier):
        fit.classes_, fit.share_ = arrays["classes"], header["share"]
    return fit


def _plain(value: Any) -> Any:
    """A parameter as a value that JSON can hold."""
    if isinstance(value, Settings):
        return {name: _plain(number) for name, number in asdict(value).items()}
    if isinstance(value, float) and np.isinf(value):
        return "inf"
    return value.item() if isinstance(value, np.generic) else value


def _settings(state: dict[str, Any] | None) -> Settings | None:
    """Settings from their stored values."""
    return None if state is None else Settings(**state)


def _split(state: Any, arrays: dict[str, Any], name: str) -> Any:
    """Nested data with its arrays moved to ``arrays`` and replaced by their names."""
    if isinstance(state, np.ndarray):
        arrays[name] = state
        return {"array": name}
    if isinstance(state, dict):
        return {key: _split(value, arrays, f"{name}.{key}") for key, value in state.items()}
    if isinstance(state, (list, tuple)):
        return [_split(value, arrays, f"{name}.{i}") for i, value in enumerate(state)]
    return _plain(state)


def _join(state: Any, arrays: dict[str, Any]) -> Any:
    """Inverse of :func:`_split`."""
    if isinstance(state, dict):
        if set(state) == {"array"}:
            return arrays[state["array"]]
        return {key: _join(value, arrays) for key, value in state.items()}
    if isinstance(state, list):
        return [_join(value, arrays) for value in state]
    return state
