"""Fits on disk: one ``.npz`` file of plain arrays and a JSON header, read back without running any code."""

from __future__ import annotations

import os
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np

from .classifier import RatioClassifier
from .errors import DataError
from .estimators import KLIEP, PluginRatio, PosteriorRatio
from .features import from_state, make_features, to_state
from .files import DAMAGE, as_path, read_arrays, write_arrays, write_whole, writing
from .likelihoods import Gaussian
from .problem import RatioProblem
from .rng import plain_seed
from .selection import RadiusChoice
from .solution import Certificate, Solution, Status

__all__ = ["load", "save"]

FORMAT = 1
#: arrays of the problem that are written; the rest is computed from them
ARRAYS = ("target", "features_q", "log_base", "features_p", "log_weights_p")
KINDS = {kind.__name__: kind for kind in (PosteriorRatio, KLIEP, PluginRatio, RatioClassifier)}
#: parameters that are functions cannot be written
FUNCTIONS = ("penalty", "constraints")


def save(fit: PosteriorRatio, path: str | os.PathLike[str]) -> Path:
    """Write a fitted estimator to a file, whole or not at all.

    Its feature map must be one of the package's own, and it must have been fitted without penalty and constraints,
    since functions cannot be written without code. A ``random_state`` that is more than whole numbers is written as
    None.
    """
    if type(fit).__name__ not in KINDS:
        raise DataError(f"fit: a {type(fit).__name__} cannot be written; use one of {', '.join(KINDS)}")
    fit._fitted()
    if fit.penalty is not None or fit.constraints is not None:
        raise DataError("fit: its penalty or constraints are functions and cannot be written to a file")
    arrays = {name: getattr(fit.problem_, name) for name in ARRAYS}
    arrays = {name: value for name, value in arrays.items() if value is not None}
    arrays |= {"delta": fit.delta_, "mu": fit.mu_}
    if isinstance(fit, RatioClassifier):
        arrays["classes"] = fit.classes_
    params = {k: v for k, v in fit.get_params().items() if k not in (*FUNCTIONS, "features")}
    params["random_state"] = plain_seed(fit.random_state)
    header = {
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
            **{f.name: getattr(fit.solution_, f.name) for f in fields(Solution) if f.type in ("str", "int", "float")},
        },
    }
    target = as_path(path, "path")
    with writing("path", target):
        return write_whole(target, lambda place: write_arrays(place, FORMAT, header, arrays))


def load(path: str | os.PathLike[str]) -> PosteriorRatio:
    """Read a fitted estimator back; nothing in the file is executed.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> rng = np.random.default_rng(0)
    >>> fit = PosteriorRatio("polynomial").fit(rng.normal(0.3, 1.0, (90, 1)), rng.normal(0.0, 1.2, (90, 1)))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     copy = load(save(fit, pathlib.Path(folder) / "fit.npz"))
    >>> bool(np.all(copy.log_ratio([[0.1]]) == fit.log_ratio([[0.1]])))
    True
    """
    path = as_path(path, "path")
    try:
        return _rebuild(*read_arrays(path, FORMAT))
    except OSError as error:
        raise DataError(f"path: cannot read {path} ({error.strerror or error})") from error
    except DAMAGE as error:
        why = f" ({error})" if isinstance(error, DataError) else ""
        raise DataError(f"path: {path} is not a fit that this package wrote{why}") from error


def _plugin_state(fit: PluginRatio, arrays: dict[str, Any]) -> Any:
    """Likelihoods and constant of a plugin; likelihoods other than Gaussian ones are functions and stay out."""
    state: dict[str, Any] = {"constant": fit.log_constant_, "divergence": fit.divergence_}
    for side, likelihood in (("p", fit.log_lik_p_), ("q", fit.log_lik_q_)):
        if likelihood is not None and type(likelihood) is not Gaussian:
            raise DataError(f"fit: its log_lik_{side} is a function and cannot be written; use pre.Gaussian or None")
        parts = {} if likelihood is None else {f.name: getattr(likelihood, f.name) for f in fields(Gaussian)}
        state[side] = None if likelihood is None else {k: v if v is None else np.asarray(v) for k, v in parts.items()}
    return _split(state, arrays, "plugin")


def _rebuild(header: dict[str, Any], arrays: dict[str, Any]) -> PosteriorRatio:
    """The estimator from its parts."""
    features = from_state(_join(header["features"], arrays))
    params = {k: (np.inf if v == "inf" else v) for k, v in header["params"].items()}
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
        problem.__setstate__({**problem.__getstate__(), **logs})  # normalised twice, they would lose their last digit
    fit.problem_ = problem
    facts = dict(header["solution"])
    raw = facts.pop("raw")
    fit.solution_ = Solution(
        delta=arrays["delta"],
        weights=arrays["mu"],
        status=Status[facts.pop("status")],
        certificate=Certificate(**facts.pop("certificate")),
        raw=None if raw is None else Certificate(**raw),
        **facts,
    )
    fit.delta_, fit._known = fit.solution_.delta, {}
    fit.divergence_ = -fit.solution_.primal_value
    choice = header["choice"]
    fit.radius_choice_ = None if choice is None else RadiusChoice(**_join(choice, arrays))
    fit.radius_ = header["radius"]
    fit.feature_names_ = fit.problem_.feature_names
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
    """A parameter as JSON knows it."""
    if isinstance(value, float) and np.isinf(value):
        return "inf"
    return value.item() if isinstance(value, np.generic) else value


def _split(state: Any, arrays: dict[str, Any], name: str) -> Any:
    """Plain data with its arrays moved to ``arrays`` and named in their place."""
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
