"""Fits on disk: one ``.npz`` file of plain arrays and a JSON header, loaded without running any code."""

from __future__ import annotations

import json
import os
import zipfile
from dataclasses import MISSING, asdict, fields, is_dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy

from .._internal.rng import as_generator, storable_seed
from .._internal.snapshots import freeze
from .._internal.typing import Array
from .._internal.validation import (
    MAX_PARAMETER,
    as_choice,
    as_count,
    as_flag,
    as_fraction,
    as_matrix,
    as_scalar,
    as_vector,
    check_radius,
    check_tol,
    preview,
)
from ..certificate.certificate import Certificate, certify
from ..data.features import (
    Autocorrelation,
    Concatenation,
    FeatureMap,
    Polynomial,
    feature_classes,
    from_state,
    make_features,
    to_state,
)
from ..data.files import (
    CORRUPT_FILE_ERRORS,
    as_path,
    atomic_write,
    check_overwrite,
    read_arrays,
    report_write_errors,
    write_arrays,
)
from ..data.kernels import Kernel
from ..data.likelihoods import Gaussian
from ..data.scaled import Scaled
from ..errors import DataError
from ..feasibility.exposed import Recession
from ..penalties.norms import get_norm
from ..problem import RatioProblem
from ..solution import Solution, Stage, Status
from ..solvers import Settings
from ..statistics.selection import RadiusChoice
from .classifier import RatioClassifier
from .kliep import KLIEP
from .lsif import LSIF
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
KINDS = {kind.__name__: kind for kind in (PosteriorRatio, KLIEP, LSIF, PluginRatio, RatioClassifier)}
#: parameters that files do not hold; a penalty may be a name, which is held
UNSTORED = ("constraints", "features", "divergence", "bounds", "max_weight")
#: fields of the header
HEADER = (
    *("format", "kind", "params", "features", "parameter", "plugin", "choice", "feature_names", "columns"),
    *("n_features_in", "radius", "norm", "paired", "share", "family", "solution"),
)
#: largest number of columns of samples that a file may state
MAX_COLUMNS = 10_000_000
#: advice for a file whose content cannot have come from save
CHANGED = "save the fit again: the file has been changed"


def save(fit: PosteriorRatio, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
    """Write a fitted estimator to a file.

    The write is atomic: an interrupted save leaves an older file as it was. The file of another fit is replaced, any
    other file only if you ask for it.

    Parameters
    ----------
    fit : PosteriorRatio, KLIEP, LSIF, PluginRatio or RatioClassifier
        A fitted estimator with a feature map of the package, and without penalty and constraints: functions cannot be
        stored without code. For the same reason the likelihoods of a ``PluginRatio`` must be ``Gaussian`` or None. A
        ``random_state`` other than integers is stored as None, and a radius by name as an array.
    path : str or path
        The file, usually with the suffix ``.npz``; its folder must exist.
    overwrite : bool, default False
        Whether to replace a file that this function did not write.

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
    overwrite = as_flag(overwrite, "overwrite")
    if type(fit) not in KINDS.values():
        raise DataError("fit", f"a {type(fit).__name__} cannot be written", f"pass one of {', '.join(KINDS)}")
    fit._check_fitted()
    if fit._has_terms:
        raise DataError("fit", "its penalty or constraints are functions and cannot be written", "fit without them")
    arrays = {name: getattr(fit.problem_, name) for name in ARRAYS}
    arrays = {name: value for name, value in arrays.items() if value is not None}
    arrays |= {"delta": fit.solution_.delta, "mu": fit.mu_}
    if np.any(fit.scale_ != 1.0):
        arrays["scale"] = fit.scale_
    if fit._shown is not None:
        arrays["shown"], arrays["shown_weights"] = fit._shown
    if isinstance(fit, RatioClassifier):
        arrays["classes"] = fit.classes_
    header = _header(fit, arrays)
    target = as_path(path, "path")
    with report_write_errors("path", target):
        if not overwrite:
            check_overwrite(target, "path", "pass another name, or overwrite=True", _is_fit)
        return atomic_write(target, lambda place: write_arrays(place, FORMAT, header, arrays))


def _header(fit: PosteriorRatio, arrays: dict[str, Any]) -> dict[str, Any]:
    """Everything but arrays, which are added to ``arrays``."""
    params = {k: v for k, v in fit.get_params().items() if k not in UNSTORED}
    params["random_state"] = storable_seed(fit.random_state)
    if fit.problem_.radius_per_feature:
        params["radius"] = None  # that of the problem
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
        "radius": _split(fit.radius_, arrays, "radius"),
        "norm": fit.problem_.norm,
        "paired": fit.problem_.paired,
        "share": getattr(fit, "share_", None),
        "family": _family(fit.problem_, arrays),
        "solution": {
            "status": fit.solution_.status.name,
            "certificate": asdict(fit.solution_.certificate),
            "raw": None if fit.solution_.raw is None else asdict(fit.solution_.raw),
            "settings": _plain(fit.solution_.settings),
            "trace": [list(stage) for stage in fit.solution_.trace],
            "recession": [list(one) for one in fit.solution_.recession],
            "intercept": float(fit.solution_.intercept) if fit.problem_.has_intercept else None,
            **{name: getattr(fit.solution_, name) for name in SOLUTION_FIELDS},
        },
    }


def _family(problem: RatioProblem, arrays: dict[str, Any]) -> Any:
    """Divergence, bounds and largest weight; ``None`` for KL without bounds."""
    if problem.exponential and problem._bounds is None and problem.max_weight is None:
        return None
    bounds = None
    if problem._bounds is not None:
        bounds = {name: np.atleast_1d(x) for name, x in zip(("lower", "upper"), problem._bounds, strict=True)}
    state = {"divergence": problem.divergence, "bounds": bounds, "max_weight": problem.max_weight}
    return _split(state, arrays, "family")


def _is_fit(path: Path) -> bool:
    """Whether save has written a file, in this version or another."""
    try:
        with zipfile.ZipFile(path) as archive, archive.open("header.npy") as file:
            header = json.loads(str(npy.read_array(file, allow_pickle=False)))
        return header["kind"] in KINDS and "format" in header
    except CORRUPT_FILE_ERRORS:
        return False


def load(path: str | os.PathLike[str]) -> PosteriorRatio:
    """Read a fitted estimator from a file; no code in the file is run.

    Parameters
    ----------
    path : str or path
        A file that :func:`save` wrote.

    Returns
    -------
    PosteriorRatio, KLIEP, LSIF, PluginRatio or RatioClassifier
        The fitted estimator, with the same ratio, summary, intervals and diagnostics. A solution that is stored as
        optimal is certified again, and is inaccurate if that proves nothing; any other status is as stored.

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
    """The fitted estimator from header and arrays, all of which are checked."""
    _fields(header, HEADER, "header", optional=("family",))
    kind: Any = KINDS[as_choice(header["kind"], "kind", KINDS)]
    fit: PosteriorRatio = kind(_parameter(header["parameter"], arrays), **_params(header["params"], kind))
    fit.problem_ = problem = _problem(header, arrays)
    if isinstance(fit, LSIF) and problem.divergence != "chi2":
        raise DataError("divergence", f"{problem.divergence!r} does not belong to LSIF", CHANGED)
    fit.divergence, fit.bounds, fit.max_weight = problem.divergence, problem._bounds, problem.max_weight
    if fit.radius is None:
        fit.radius = problem.radius
    fit.solution_ = _solution(header["solution"], arrays, problem)
    fit.scale_ = as_vector(arrays.get("scale", np.ones(problem.k)), "scale", problem.k)
    if fit.scale_.min() <= 0.0:
        raise DataError("scale", "is not positive", CHANGED)
    fit._finish()
    fit.feature_choice_ = None
    fit.radius_, fit.radius_choice_ = problem.radius, _choice(header["choice"], arrays, problem.radius)
    fit.n_features_in_ = d = as_count(header["n_features_in"], "n_features_in")
    fit.features_ = _feature_map(header["features"], arrays)
    if not all(_may_give(part, d, problem.k) for part in _leaves(fit.features_)) or np.shape(
        fit.features_(np.arange(1.0, d + 1.0)[None, :])
    ) != (1, problem.k):
        raise DataError("features", f"the map does not give {problem.k} features of {d} columns", CHANGED)
    fit._shown = None
    if "shown" in arrays:
        shown = as_matrix(arrays["shown"], "shown")
        weights = as_vector(arrays["shown_weights"], "shown_weights", len(shown))
        if shown.shape[1] != d or weights.min() < 0.0:
            raise DataError("shown", "are not rows with weights", CHANGED)
        fit._shown = (shown, weights)
    columns = _texts(header["columns"], "columns")
    if columns:
        if len(set(columns)) != d or len(columns) != d:
            raise DataError("columns", f"has duplicates, or not {d} names", CHANGED)
        fit.feature_names_in_ = np.array(columns, dtype=object)
    if isinstance(fit, PluginRatio) is (header["plugin"] is None):
        raise DataError("plugin", f"does not belong to a {kind.__name__}", CHANGED)
    if isinstance(fit, RatioClassifier) is (header["share"] is None):
        raise DataError("share", f"does not belong to a {kind.__name__}", CHANGED)
    if isinstance(fit, PluginRatio):
        plugin = _fields(_join(header["plugin"], arrays), ("constant", "divergence", "p", "q"), "plugin")
        fit.log_lik_p_, fit.log_lik_q_ = (_gaussian(plugin[side], d) for side in ("p", "q"))
        fit.log_constant_, fit.divergence_ = (as_scalar(plugin[name], name) for name in ("constant", "divergence"))
    if isinstance(fit, RatioClassifier):
        fit.share_, fit.classes_ = as_fraction(header["share"], "share"), arrays["classes"]
        if not np.array_equal(np.unique(fit.classes_), fit.classes_) or fit.classes_.shape != (2,):
            raise DataError("classes", "are not two labels in order", CHANGED)
    return fit


def _problem(header: dict[str, Any], arrays: dict[str, Any]) -> RatioProblem:
    """The problem of the fit; its constructor checks all arrays."""
    given: dict[str, Any] = {name: freeze(arrays[name]) for name in ARRAYS if name in arrays}
    problem = RatioProblem(
        **given,
        **_family_terms(header.get("family"), arrays),
        radius=_join(header["radius"], arrays),
        norm=as_scalar(header["norm"], "norm") if header["norm"] != np.inf else np.inf,
        feature_names=_texts(header["feature_names"], "feature_names"),
        paired=header["paired"],
    )
    if problem.feature_names != tuple(header["feature_names"]):  # without any, the constructor makes some
        raise DataError("feature_names", "are missing", CHANGED)
    logs: dict[str, Any] = {name: arrays[name] for name in ("log_base", "log_weights_p") if name in arrays}
    if all(np.allclose(getattr(problem, name), value, 1e-13, 1e-13) for name, value in logs.items()):
        problem = problem.with_log_weights(**logs)  # normalising again would change their last bits
    return problem


def _family_terms(state: Any, arrays: dict[str, Any]) -> dict[str, Any]:
    """Divergence, bounds and largest weight as arguments of a problem, which checks them."""
    if state is None:
        return {}
    terms = dict(_fields(_join(state, arrays), ("divergence", "bounds", "max_weight"), "family"))
    if terms["bounds"] is not None:
        pair = _fields(terms["bounds"], ("lower", "upper"), "bounds")
        terms["bounds"] = tuple(
            as_scalar(x[0], "bounds") if x.shape == (1,) and x[0] < np.inf else np.inf if x.shape == (1,) else x
            for x in (np.asarray(pair["lower"], dtype=float), np.asarray(pair["upper"], dtype=float))
        )
    return terms


def _solution(facts: Any, arrays: dict[str, Any], problem: RatioProblem) -> Solution:
    """The solution: an optimal one is certified again, any other is as stored."""
    names = ("status", "certificate", "raw", "settings", "trace", "recession", "intercept", *SOLUTION_FIELDS)
    facts = _fields(facts, names, "solution", optional=("settings", "trace", "recession", "intercept"))
    delta = as_vector(arrays["delta"], "delta", problem.k, limit=MAX_PARAMETER)
    mu = as_vector(arrays["mu"], "mu", problem.n_q)
    if mu.min() < 0.0 or not np.isclose(mu.sum(), 1.0):
        raise DataError("mu", "are not weights that sum to one", CHANGED)
    status = Status[as_choice(facts["status"], "status", Status.__members__)]
    certificate = _certificate(facts["certificate"])
    if max(certificate.dependent, default=0) >= problem.k:
        raise DataError("dependent", f"has columns beyond the {problem.k} of the fit", CHANGED)
    settings = _settings(facts.get("settings"))
    weights: Any = mu
    if status is Status.OPTIMAL:
        proof, tol = certify(problem, delta), (settings or Settings()).tol
        status = status if proof.proves(tol) else Status.INACCURATE
        certificate = certificate if certificate.proves(tol) and _agree(certificate, proof) else proof
        weights = partial(_tilted_weights, problem, delta)
    if as_count(facts["free_directions"], "free_directions", 0) > problem.k:
        raise DataError("free_directions", f"are more than {problem.k} features have", CHANGED)
    as_count(facts["iterations"], "iterations", 0)
    for name in ("compile_time", "setup_time", "solve_time"):
        as_scalar(facts[name], name)
    for name in ("solver", "formulation", "claim"):
        _text(facts[name], name)
    return Solution(
        delta=delta,
        weights=weights,
        normaliser=_normaliser(facts.get("intercept"), problem, delta) if status is Status.OPTIMAL else np.nan,
        status=status,
        certificate=certificate,
        raw=None if facts["raw"] is None else _certificate(facts["raw"]),
        settings=settings,
        trace=tuple(_stage(stage) for stage in _list(facts.get("trace", []), "trace")),
        recession=tuple(_recession(one, problem.k) for one in _list(facts.get("recession", []), "recession")),
        **{name: facts[name] for name in SOLUTION_FIELDS},
    )


def _agree(stored: Certificate, proof: Certificate) -> bool:
    """Whether a stored certificate differs from a new one by no more than the round-off of its computation."""
    value, unit = proof.primal_value, 1e-12 * (1.0 + abs(proof.primal_value))
    same_value = abs(stored.primal_value - value) <= unit and abs(stored.dual_value - (value - stored.gap)) <= unit
    return same_value and 0.5 * proof.gap <= stored.gap <= 2.0 * proof.gap + unit


def _tilted_weights(problem: RatioProblem, delta: Array) -> Array:
    return np.exp(problem.log_mu(delta)) if problem.exponential else problem.mu(delta)


def _normaliser(stored: Any, problem: RatioProblem, delta: Array) -> Any:
    """The intercept: as stored if it is that of δ up to round-off."""
    if stored is None:
        return partial(problem.intercept, delta)
    c = problem.intercept(delta)
    size = 1.0 + abs(c) + float(np.abs(delta) @ np.abs(problem.target))
    return _number(stored, "intercept") if abs(_number(stored, "intercept") - c) <= 1e-9 * size else c


def _params(stored: Any, kind: type[PosteriorRatio]) -> dict[str, Any]:
    """Checked parameters of an estimator."""
    names = [name for name in kind().get_params() if name not in UNSTORED]
    stored = _fields(stored, names, "params", optional=("settings", "penalty", "standardise"))
    params = {k: (np.inf if v == "inf" else v) for k, v in stored.items()}
    params.setdefault("standardise", False)  # files from before it was a parameter
    as_choice(params["formulation"], "formulation", ("primal", "dual"))
    _text(params["solver"], "solver")
    if params["radius"] is not None and params["radius"] not in ("auto", "cv"):
        check_radius(params["radius"])
    if params["norm"] is not None:
        get_norm(params["norm"])
    if params.get("penalty") is not None:
        as_choice(params["penalty"], "penalty", ("l1", "l2"))
    as_flag(params["standardise"], "standardise")
    if params["tol"] is not None:
        check_tol(params["tol"])
    if "alpha" in params:  # LSIF has none of these
        as_fraction(params["alpha"], "alpha")
        as_count(params["cv"], "cv", 2)
        as_flag(params["one_se"], "one_se"), as_flag(params["paired"], "paired")
    as_generator(params["random_state"], "random_state")
    return params | {"settings": _settings(params.get("settings"))}


def _parameter(state: Any, arrays: dict[str, Any]) -> Any:
    """The estimator's parameter ``features``: a name or a map."""
    return (
        as_choice(state, "features", (*feature_classes(), "auto"))
        if isinstance(state, str)
        else _feature_map(state, arrays)
    )


def _feature_map(state: Any, arrays: dict[str, Any]) -> FeatureMap:
    """A checked feature map."""
    feature_map = from_state(_join(state, arrays))
    for part in _leaves(feature_map):
        if isinstance(part, Kernel) and (part.points is not None or part.factor is not None):
            points, factor = as_matrix(part.points, "points"), as_matrix(part.factor, "factor")
            if factor.shape != (len(points), len(points)) or not np.all(np.diag(factor)):
                raise DataError("factor", "is not the triangular factor of the landmarks", CHANGED)
    return feature_map


def _leaves(feature_map: FeatureMap) -> tuple[FeatureMap, ...]:
    """The maps that others are made of."""
    if isinstance(feature_map, Scaled):
        return _leaves(feature_map.part)
    if isinstance(feature_map, Concatenation):
        return tuple(leaf for part in feature_map.parts for leaf in _leaves(part))
    return (feature_map,)


def _may_give(part: FeatureMap, d: int, k: int) -> bool:
    """Whether a map may give at most k features of d columns; if not, it may need any amount of memory."""
    if isinstance(part, Polynomial):
        return d * part.degree + bool(part.interactions) * d * (d - 1) // 2 <= k
    return d <= MAX_COLUMNS and (not isinstance(part, Autocorrelation) or part.lags <= k)


def _choice(state: Any, arrays: dict[str, Any], radius: float) -> RadiusChoice | None:
    """A checked choice of the radius."""
    if state is None:
        return None
    choice = _fields(_join(state, arrays), RadiusChoice, "choice")
    if choice["radius"] != radius:
        raise DataError("choice", "its radius is not that of the fit", CHANGED)
    as_choice(choice["method"], "method", ("auto", "cv"))
    as_flag(choice["raised"], "raised"), _number(choice["best"], "best")
    sizes = {np.shape(choice[name]) for name in ("radii", "mean", "std_error")}
    kinds = {choice[name].dtype.kind for name in ("radii", "mean", "std_error")}
    if len(sizes) != 1 or len(sizes.pop()) != 1 or kinds != {"f"}:
        raise DataError("choice", "its radii and scores do not match", CHANGED)
    return RadiusChoice(**choice)


def _gaussian(state: Any, d: int) -> Gaussian | None:
    """A checked likelihood of a plug-in for d columns."""
    if state is None:
        return None
    likelihood = Gaussian(**_fields(state, Gaussian, "likelihood"))
    likelihood(np.zeros((1, d)))
    return likelihood


def _certificate(state: Any) -> Certificate:
    numbers = dict(_fields(state, Certificate, "certificate"))
    dependent, missed = _list(numbers.pop("dependent", []), "dependent"), _list(numbers.pop("missed", []), "missed")
    if len(dependent) != len(missed):
        raise DataError("dependent", "has another length than missed", CHANGED)
    return Certificate(
        **{name: _number(value, name) for name, value in numbers.items()},
        dependent=tuple(as_count(column, "dependent", 0) for column in dependent),
        missed=tuple(_number(size, "missed") for size in missed),
    )


def _recession(state: Any, k: int) -> Recession:
    feature, sign = state
    if as_count(feature, "recession", 0) >= k or sign not in (-1, 1):
        raise DataError("recession", f"{preview(state)} is not a feature and a sign", CHANGED)
    return Recession(feature, sign)


def _stage(state: Any) -> Stage:
    name, rows, passes, seconds, gap, reason = state
    _text(name, "trace"), _text(reason, "trace")
    as_count(rows, "trace", 0), as_count(passes, "trace", 0)
    return Stage(name, rows, passes, _number(seconds, "trace"), _number(gap, "trace"), reason)


def _fields(state: Any, names: Any, what: str, optional: tuple[str, ...] = ()) -> dict[str, Any]:
    """A JSON object that has these fields, or those of a dataclass, and no others."""
    if is_dataclass(names):
        own = fields(names)
        optional = tuple(f.name for f in own if f.default is not MISSING or f.default_factory is not MISSING)
        names = tuple(f.name for f in own)
    if not isinstance(state, dict) or not set(names) - set(optional) <= set(state) <= set(names):
        raise DataError(what, "has missing or unknown fields", CHANGED)
    return state


def _number(value: Any, what: str) -> float:
    """A number, which may be infinite or nan."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise DataError(what, f"{preview(value)} is not a number", CHANGED)
    return float(value)


def _text(value: Any, what: str) -> str:
    if not isinstance(value, str):
        raise DataError(what, f"{preview(value)} is not text", CHANGED)
    return value


def _list(value: Any, what: str) -> list[Any]:
    if not isinstance(value, list):
        raise DataError(what, f"{preview(value)} is not a list", CHANGED)
    return value


def _texts(value: Any, what: str) -> tuple[str, ...]:
    return tuple(_text(entry, what) for entry in _list(value, what))


def _plain(value: Any) -> Any:
    """A parameter as a value that JSON can hold."""
    if isinstance(value, Settings):
        return {name: _plain(number) for name, number in asdict(value).items()}
    if isinstance(value, float) and np.isinf(value):
        return "inf"
    return value.item() if isinstance(value, np.generic) else value


def _settings(state: Any) -> Settings | None:
    """Settings from their stored values, which their constructor checks."""
    return None if state is None else Settings(**_fields(state, Settings, "settings"))


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
