"""explain() and explain_all(): from a black box and a point to a local classifier."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np

from ..._internal.rng import Rng, as_generator, as_seed
from ..._internal.threads import single_threaded_blas
from ..._internal.typing import Array
from ..._internal.validation import as_choice, as_count, as_flag, as_fraction, check_radius, column_names, read_only
from ...data.likelihoods import ClassProbability
from ...errors import DataError
from ...solvers import Settings
from .black_box import BlackBox, Sample, draw_sample
from .diagnostics import explanation_warnings
from .fidelity import measure_fidelity
from .neighbourhood import Neighbourhood, Perturbation, dimensions
from .perturbations import Box, Points
from .results import Explanation
from .surrogate import LinearSurrogate, fit_surrogate, sigmoid
from .words import Words

__all__ = ["explain", "explain_all"]


def explain(
    predict_proba: Any,
    x: Any,
    perturbation: Any = None,
    n: int = 1000,
    *,
    label: Any = None,
    kernel_width: float | None = None,
    swap: bool = False,
    radius: float | str = 0.0,
    norm: float = 2,
    refit: bool = False,
    n_test: int = 500,
    kind: str = "hc3",
    floor: float = ClassProbability.floor,
    tol: float | None = None,
    settings: Settings | None = None,
    rng: Rng = 0,
) -> Explanation:
    """Explain a classifier near x by a linear classifier with confidence intervals.

    Parameters
    ----------
    predict_proba : object or callable
        A classifier with ``predict_proba``, or a function from points to probabilities of shape (n, classes) or (n,).
    x : array, series, frame of one row, text or image
        The point to explain; its type must suit the perturbation.
    perturbation : Perturbation, float, or array or frame of shape (n, d), optional
        How to draw points around x: ``Box``, ``Gaussian``, ``OnOff``, ``Tabular``, ``Words`` or ``SuperPixels``. A
        number is the half-width of a box; rows are the points themselves. Only for a text it may be left out
        (``Words()``).
    n : int, default 1000
        Number of points to draw, at least 2; ignored if the points are given.
    label : object, optional
        The class to explain, against all others; the most probable class at x by default. If the classifier has no
        ``classes_``, the index of a column.
    kernel_width : float, optional
        Width h of the proximity kernel exp(−d²/2h²), positive, where d is the root-mean-square distance from x over the
        features, in typical steps. No kernel by default.
    swap : bool, default False
        Whether to swap the roles of the two classes in PRE. Unswapped, points whose local odds favour the label count
        for little; swapped, for much.
    radius : float, "auto" or "cv", default 0.0
        Relaxation of the moment constraint, at least 0; "auto" chooses it by theory, "cv" by cross-validation.
        Intervals are refused with a positive radius, which biases the coefficients.
    norm : {2, inf, 1}, default 2
        Norm of the moment constraint. ``norm=inf`` with a positive radius is an l1 penalty, which makes the
        coefficients sparse.
    refit : bool, default False
        Whether to fit the features selected by a radius again, on new points and without a radius. The new points had
        no part in the selection, so the intervals are valid for the classifier with these features.
    n_test : int, default 500
        Number of new points to measure fidelity on; 0 uses the points of the fit.
    kind : {"hc3", "centred"}, default "hc3"
        Formula of the standard errors.
    floor : float, default 1e-12
        Smallest probability, between 0 and 1: probabilities below it are raised to it before logs are taken.
    tol : float, default None
        Largest duality gap of a proven optimum, between 0 and 1. ``None`` uses that of the settings, 1e-8 by default.
    settings : Settings, default None
        Limits and other settings of each solve; ``None`` takes the defaults.
    rng : int, sequence of int, SeedSequence, BitGenerator, Generator or None, default 0
        Seed of the points. A generator is advanced; ``None`` gives different points every time.

    Returns
    -------
    Explanation
        The local classifier with intervals, fidelity and warnings.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> data = rng.normal(size=(200, 2))
    >>> model = LogisticRegression().fit(data, data @ [1.0, -1.0] > 0.0)
    >>> found = explain(model, [0.2, 0.1], 0.5, label=True)
    >>> bool(np.allclose(found.coef, model.coef_[0])), bool(np.isclose(found.intercept, model.intercept_[0]))
    (True, True)
    """
    explanations = _explanations(
        predict_proba, x, perturbation, n,
        labels=[label], kernel_width=kernel_width, swap=swap, radius=radius, norm=norm, refit=refit, n_test=n_test,
        kind=kind, floor=floor, tol=tol, settings=settings, rng=rng,
    )  # fmt: skip
    return next(iter(explanations.values()))


def explain_all(
    predict_proba: Any, x: Any, perturbation: Any = None, n: int = 1000, **options: Any
) -> dict[Any, Explanation]:
    """Explain every class against all others, from the same points.

    Parameters
    ----------
    predict_proba : object or callable
        The classifier, as in :func:`explain`.
    x : array, series, frame of one row, text or image
        The point to explain.
    perturbation : Perturbation, float, or array or frame of shape (n, d), optional
        How to draw points around x, as in :func:`explain`.
    n : int, default 1000
        Number of points to draw, at least 2.
    **options
        Other arguments of :func:`explain` except ``label``.

    Returns
    -------
    dict
        An :class:`Explanation` for each label, in the order of the classes.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> model = GaussianNB().fit([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]], ["a", "a", "b", "b", "c", "c"])
    >>> {label: found.coef.round(1).item() for label, found in explain_all(model, [2.5], 0.5).items()}
    {'a': -8.0, 'b': -0.1, 'c': 8.0}
    """
    known = list(inspect.signature(explain).parameters)
    for name in options:
        if name not in known:
            raise DataError(name, "is not an option of explain", f"use {', '.join(known)}")
    bound = inspect.signature(explain).bind(predict_proba, x, perturbation, n, **options)
    bound.apply_defaults()
    if bound.arguments.pop("label") is not None:
        raise DataError("label", "cannot be chosen here: every class is explained", "use explain() for one class")
    return _explanations(**bound.arguments, labels=None)


@dataclass(frozen=True, eq=False)
class _Samples:
    """Points to fit to, to refit to if wanted, and to measure fidelity on."""

    fit: Sample
    refit: Sample | None
    test: Sample | None


def _explanations(
    predict_proba: Any,
    x: Any,
    perturbation: Any,
    n: int,
    *,
    labels: list[Any] | None,
    kernel_width: float | None,
    radius: float | str,
    refit: bool,
    n_test: int,
    rng: Rng,
    **options: Any,
) -> dict[Any, Explanation]:
    """Explanations of the given labels, or of all classes, from one set of points."""
    seed = as_seed(rng)
    n_test, refit = as_count(n_test, "n_test", 0), as_flag(refit, "refit")
    as_choice(options["kind"], "kind", ("hc3", "centred"))
    as_flag(options["swap"], "swap")
    radius = radius if isinstance(radius, str) else check_radius(radius)
    options = {**options, "floor": as_fraction(options["floor"], "floor"), "radius": radius, "rng": seed}
    black_box = BlackBox(predict_proba)
    near, n, fixed = _make_neighbourhood(perturbation, x, n)
    _check_plan(near, n, fixed, refit, radius)
    generator = as_generator(seed)
    at_x = black_box.predict(near, near.origin[None, :], generator)
    samples = _Samples(
        fit=draw_sample(black_box, near, n, kernel_width, generator),
        refit=draw_sample(black_box, near, n, kernel_width, generator) if refit else None,
        test=None if fixed or n_test == 0 else draw_sample(black_box, near, n_test, kernel_width, generator),
    )
    if labels is None:
        labels = black_box.classes or list(range(at_x.shape[1]))
    columns = [black_box.column(label, at_x) for label in labels]
    return {
        label: _explain_class(label, index, float(at_x[0, index]), near, samples, options) for index, label in columns
    }


def _make_neighbourhood(perturbation: Any, x: Any, n: Any) -> tuple[Neighbourhood, int, bool]:
    """The neighbourhood of x, the number of points to draw from it, and whether these are fixed."""
    n = as_count(n, "n", 2)
    if perturbation is None:
        if not isinstance(x, str):
            raise DataError(
                "perturbation",
                "is needed to draw points around x",
                "pass a half-width, Box(data=...), Tabular(data) or another perturbation",
            )
        perturbation = Words()
    if isinstance(perturbation, type):
        raise DataError("perturbation", f"{perturbation.__name__} is a class", f"write {perturbation.__name__}(...)")
    recipe: Perturbation
    if hasattr(perturbation, "around"):
        recipe = perturbation
    elif column_names(perturbation) is not None or dimensions(perturbation) == 2:
        recipe = Points(perturbation)
    elif isinstance(perturbation, Real) or (dimensions(perturbation) == 0 and hasattr(perturbation, "__float__")):
        recipe = Box(perturbation)
    else:
        raise DataError(
            "perturbation",
            "is neither a perturbation, a number, nor rows of points",
            "pass a half-width, Box(...), Tabular(data) or an array of shape (n, d)",
        )
    near = recipe.around(x)
    if isinstance(recipe, Points):
        return near, len(near.draw(0, np.random.default_rng(0))), True
    return near, n, False


def _check_plan(near: Neighbourhood, n: int, fixed: bool, refit: bool, radius: float | str) -> None:
    """Raise if a refit is impossible, or if there are too few points for the features."""
    if fixed and refit:
        raise DataError("refit", "needs new points, but the points are given", "pass a perturbation that draws points")
    if refit and radius == 0.0:
        raise DataError("refit", "needs a positive radius that selects features", "use radius='auto' with norm=inf")
    k = len(near.names)
    if radius == 0.0 and n <= k + 1:
        raise DataError(
            "n",
            f"{n} points are too few for {k} features",
            f"use more than {k + 1}, preferably ten times as many, or radius='auto' with norm=inf",
        )


@single_threaded_blas()
def _explain_class(
    label: Any, index: int, probability: float, near: Neighbourhood, samples: _Samples, options: dict[str, Any]
) -> Explanation:
    """Fit the local classifier of one class, measure its fidelity, and collect warnings."""
    sample, warnings = samples.fit, []
    fit = _fit(near, sample, index, slice(None), options)
    if samples.refit is not None:
        selected = np.abs(fit.coef) > 0.0
        if selected.any():
            sample = samples.refit
            fit = _fit(near, sample, index, selected, {**options, "radius": 0.0}).embedded(selected)
        else:
            warnings.append("the radius leaves no feature to refit; use a smaller one")
            fit = replace(fit, refusal=f"the radius {fit.problem.radius:.3g} leaves no feature to refit")
    test = sample if samples.test is None else samples.test
    local = sigmoid(fit.log_odds(_steps(near, test)))
    fidelity = measure_fidelity(test.one_against_rest(index)[0], local, test.weights, samples.test is not None)
    warnings += explanation_warnings(
        fit, sample, index, near.names, probability, fidelity, swap=options["swap"], floor=options["floor"]
    )
    coef = fit.coef / near.unit
    return Explanation(
        label=label,
        names=near.names,
        coef=read_only(coef),
        std_error=read_only(fit.std_error / near.unit),
        intercept=fit.offset - float(coef @ near.origin),
        origin=near.origin,
        unit=near.unit,
        probability=probability,
        fidelity=fidelity,
        points=read_only(np.asarray(sample.z, dtype=float)),
        answers=read_only(sample.one_against_rest(index)[0]),
        warnings=tuple(warnings),
        refusal=fit.refusal,
        fit=fit,
        near=near,
    )


def _fit(near: Neighbourhood, sample: Sample, index: int, selected: Any, options: dict[str, Any]) -> LinearSurrogate:
    """Fit the local classifier of one class to the selected features."""
    names = tuple(np.array(near.names, dtype=object)[selected])
    plus, minus = sample.one_against_rest(index)
    return fit_surrogate(
        _steps(near, sample)[:, selected], plus, minus, names, log_weights=sample.log_weights, **options
    )


def _steps(near: Neighbourhood, sample: Sample) -> Array:
    """Points relative to x, in typical steps."""
    return np.asarray((sample.z - near.origin) / near.unit)
