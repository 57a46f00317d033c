"""Local explanation of a classifier: a linear classifier around a point, with intervals for its coefficients.

    explain(model, x, Box(0.5)).summary()

The black box is asked about random points around x, and PRE fits the log-odds it gives them by a linear function. The
intervals cover the coefficients that infinitely many points of the same neighbourhood would give: they speak of the
noise of drawing points, neither of how well the black box was trained nor of the choice of the neighbourhood.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtr, ndtri

from ..arrays import frozen
from ..entropy import Array, exp
from ..errors import DataError
from ..inference import Interval, confidence
from ..likelihoods import ClassProbability
from ..report import Report
from ..tables import as_frame
from .answers import Answers, ask, neighbourhood
from .black_box import BlackBox
from .fidelity import Fidelity, fidelity
from .local_fit import LocalFit, fit_local, probability_of
from .perturbations import Neighbourhood, Points, chance

if TYPE_CHECKING:
    pass

__all__ = ["Explanation", "explain", "explain_all"]


@dataclass(frozen=True, eq=False)
class Explanation:
    """A local linear classifier: log-odds ⟨coef, z⟩ + intercept of one class against all others.

    Attributes
    ----------
    label : object
        The class that is explained; positive coefficients favour it.
    names : tuple of str
        Names of the features z.
    coef, std_error : ndarray of shape (k,)
        Change of the log-odds for one more of a feature; for an on/off feature, for switching it on. Standard errors
        are nan where there are none, and ``refusal`` says why.
    intercept : float
        Log-odds at z = 0.
    origin, unit : ndarray of shape (k,)
        Features of x itself, and a typical step of every feature.
    probability : float
        What the black box says at x.
    fidelity : Fidelity
        How well the local classifier agrees with the black box.
    points, answers : ndarray of shapes (n, k) and (n,)
        The features it was fitted to, and the black box's probability of the label there.
    warnings : tuple of str
    refusal : str
    fit : LocalFit
        Problem, solution and certificate, in features (z − origin) / unit.
    near : Neighbourhood
    """

    label: Any
    names: tuple[str, ...]
    coef: Array
    std_error: Array
    intercept: float
    origin: Array
    unit: Array
    probability: float
    fidelity: Fidelity
    points: Array
    answers: Array
    warnings: tuple[str, ...]
    refusal: str
    fit: LocalFit
    near: Neighbourhood

    def __post_init__(self) -> None:
        for name in ("coef", "std_error", "origin", "unit", "points", "answers"):
            object.__setattr__(self, name, frozen(np.asarray(getattr(self, name), dtype=float)))

    @property
    def effect(self) -> Array:
        """Coefficients times the typical step of their feature, which makes them comparable."""
        return self.coef * self.unit

    def conf_int(self, level: float = 0.95) -> Interval:
        """Confidence intervals of the coefficients; nan where they are refused."""
        return _interval(self.coef, self.std_error, level)

    def decision_function(self, z: Any) -> Array:
        """Log-odds of the label by the local classifier, for points or rows of features."""
        return self.fit.log_odds(self._steps(z))

    def predict_proba(self, z: Any) -> Array:
        """Probabilities of all other classes and of the label, shape (n, 2)."""
        p = probability_of(self.decision_function(z))
        return np.column_stack([1.0 - p, p])

    def decision_interval(self, z: Any = None, level: float = 0.95) -> Interval:
        """Confidence intervals of the local classifier's log-odds; at x itself without z."""
        u = np.zeros((1, len(self.names))) if z is None else self._steps(z)
        return _interval(self.fit.log_odds(u), self.fit.log_odds_error(u), level)

    def _steps(self, z: Any) -> Array:
        """Points in typical steps from x."""
        return (self.near.encode(z) - self.origin) / self.unit

    def summary(self, level: float = 0.95) -> Report:
        """Coefficients, the largest effect first, then what the two classifiers say and how well they agree."""
        interval = self.conf_int(level)
        order = np.argsort(-np.abs(self.effect), kind="stable")
        here = float(self.fit.offset)
        notes = [
            ("black box at x", f"P = {self.probability:.4g}"),
            ("local classifier at x", f"P = {probability_of(np.array([here]))[0]:.4g}, log-odds {here:.4g}"),
        ]
        if self.refusal:
            values = self.coef[order][:, None]
            notes.append(("intervals", f"not shown: {self.refusal}"))
        else:
            values = _table(interval)[order]
            limits = self.decision_interval(level=level)
            notes[1] = (notes[1][0], f"{notes[1][1]} [{limits.lower[0]:.4g}, {limits.upper[0]:.4g}]")
        notes.append(("fidelity", str(self.fidelity)))
        solution = self.fit.solution
        notes.append(("certificate", f"gap {solution.gap:.1e}, {solution.status.name.lower()}"))
        notes.append(("ESS", "p {:.0f}, weights {:.0f} of {}".format(*self.fit.ess, len(self.points))))
        title = f"Local explanation of {self.label!r} against the rest, n = {len(self.points)}"
        names = tuple(self.names[i] for i in order)
        return Report(title, names, frozen(values), level, tuple(notes), self.warnings)

    def to_frame(self, backend: str = "pandas", level: float = 0.95) -> Any:
        """A data frame of pandas or polars, one row for each feature."""
        table = _table(self.conf_int(level))
        data: dict[str, Any] = {"feature": list(self.names), "value": self.origin, "effect": self.effect}
        keys = ("coef", "std_error", "z", "p_value", "lower", "upper")
        return as_frame(data | {key: table[:, i] for i, key in enumerate(keys)}, backend)


def _interval(estimate: Array, std_error: Array, level: float) -> Interval:
    """Normal interval; nan where the standard error is."""
    width = float(ndtri(0.5 + 0.5 * confidence(level))) * std_error
    return Interval(estimate, std_error, estimate - width, estimate + width, level)


def _table(interval: Interval) -> Array:
    """Estimate, standard error, z, p-value and limits as columns."""
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(interval.std_error > 0.0, interval.estimate / interval.std_error, np.nan)
    p = 2.0 * ndtr(-np.abs(z))
    return np.column_stack([interval.estimate, interval.std_error, z, p, interval.lower, interval.upper])


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
    tol: float = 1e-8,
    random_state: int = 0,
) -> Explanation:
    """Explain what a classifier says near x by a linear classifier with confidence intervals.

    Parameters
    ----------
    predict_proba : object or function
        A classifier with ``predict_proba``, or a function from points to probabilities, shape (n, classes) or (n,).
    x : array, series, frame of one row, text or image
        The point; its kind must suit the perturbation.
    perturbation : Perturbation, float, or array of shape (n, d)
        How points around x are made: ``Box``, ``Gaussian``, ``OnOff``, ``Tabular``, ``Words`` or ``SuperPixels``. A
        number is the half-width of a box. Rows are the points themselves, all of which are used.
    n : int
        Number of points.
    label : object, optional
        The class to explain, against all others; the likeliest at x when left out. Without ``classes_`` it is the
        index of a column.
    kernel_width : float, optional
        Weight points by exp(−d²/2h²), d the root mean square of their steps from x and h this width.
    swap : bool
        Exchange the roles of the two classes in PRE. Points whose local odds favour the explained class count for
        little as it stands, and for much when swapped.
    radius, norm : float, "auto" or "cv"; {2, inf, 1}
        ``norm=inf`` with a positive radius makes the coefficients sparse. Intervals are then refused.
    refit : bool
        Fit the features that a radius has chosen again, on new points and without a radius. Since those points had no
        part in the choice, the intervals are valid for the classifier that uses these features only.
    n_test : int
        New points on which fidelity is measured; 0 measures it on the points of the fit.
    kind : {"hc3", "centred", "paper"}
        Formula of the standard errors.
    floor : float
        Smallest probability; what a black box rules out is given this much.
    tol : float
    random_state : int
        Seed of the points.

    Returns
    -------
    Explanation

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
    found = _explanations(
        predict_proba, x, perturbation, n,
        labels=[label], kernel_width=kernel_width, swap=swap, radius=radius, norm=norm, refit=refit, n_test=n_test,
        kind=kind, floor=floor, tol=tol, random_state=random_state,
    )  # fmt: skip
    return next(iter(found.values()))


def explain_all(
    predict_proba: Any, x: Any, perturbation: Any = None, n: int = 1000, **options: Any
) -> dict[Any, Explanation]:
    """One :class:`Explanation` for each class, against all others, from the same points.

    Parameters
    ----------
    predict_proba, x, perturbation, n, **options
        As in :func:`explain`, without a label.

    Returns
    -------
    dict
        From label to explanation, in the order of the classes.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> model = GaussianNB().fit([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]], ["a", "a", "b", "b", "c", "c"])
    >>> {label: found.coef.round(1).item() for label, found in explain_all(model, [2.5], 0.5).items()}
    {'a': -8.0, 'b': -0.1, 'c': 8.0}
    """
    bound = inspect.signature(explain).bind(predict_proba, x, perturbation, n, **options)
    bound.apply_defaults()
    if bound.arguments.pop("label") is not None:
        raise DataError("label: all classes are explained here; use explain() for one of them")
    return _explanations(**bound.arguments, labels=None)


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
    random_state: int,
    **terms: Any,
) -> dict[Any, Explanation]:
    """Explanations of the labels, or of all of them, from one set of points."""
    if isinstance(random_state, bool) or not isinstance(random_state, (int, np.integer)) or random_state < 0:
        raise DataError(f"random_state: {random_state!r} is not a whole number of at least 0")
    if isinstance(n_test, bool) or not isinstance(n_test, (int, np.integer)) or n_test < 0:
        raise DataError(f"n_test: {n_test!r} is not a whole number of at least 0")
    terms["floor"] = chance(terms["floor"], "floor")
    box = BlackBox(predict_proba)
    near, n = neighbourhood(perturbation, x, n)
    given = isinstance(perturbation, Points) or not (hasattr(perturbation, "around") or np.ndim(perturbation) < 2)
    if given and refit:
        raise DataError("refit: needs new points; points that are given cannot be drawn again")
    k = len(near.names)
    if radius == 0.0 and n <= k + 1:
        raise DataError(
            f"n: {n} points cannot tell {k} features apart; use more than {k + 1}, better ten times as many, or "
            "radius='auto' with norm=inf"
        )
    rng = np.random.default_rng(random_state)
    here = box.around(near, near.origin[None, :], rng)
    train = ask(box, near, n, kernel_width, rng)
    again = ask(box, near, n, kernel_width, rng) if refit else None
    test = None if given or n_test == 0 else ask(box, near, n_test, kernel_width, rng)
    if labels is None:
        labels = box.classes or list(range(here.shape[1]))
    found = {}
    for each in labels:
        index, label = box.column(each, here)
        options = {"radius": radius, "seed": random_state, **terms}
        found[label] = _explanation(label, index, float(here[0, index]), near, train, again, test, options)
    return found


def _explanation(
    label: Any,
    index: int,
    probability: float,
    near: Neighbourhood,
    train: Answers,
    again: Answers | None,
    test: Answers | None,
    options: dict[str, Any],
) -> Explanation:
    """Fit, judge and put together."""

    def fitted(answers: Answers, chosen: Any, **changed: Any) -> LocalFit:
        u = ((answers.z - near.origin) / near.unit)[:, chosen]
        names = tuple(np.array(near.names, dtype=object)[chosen])
        return fit_local(u, *answers.sides(index), names, log_weights=answers.log_weights, **(options | changed))

    fit = fitted(train, slice(None))
    notes = []
    if again is not None:
        chosen = np.abs(fit.coef) > 0.0
        if chosen.any():
            train, fit = again, fitted(again, chosen, radius=0.0).among(chosen)
        else:
            notes.append("the radius leaves no feature to refit; take a smaller one")
    judged = train if test is None else test
    local = probability_of(fit.log_odds((judged.z - near.origin) / near.unit))
    agreement = fidelity(judged.sides(index)[0], local, judged.weights, test is not None)
    plus, minus = train.sides(index)
    notes += _warnings(fit, plus, minus, near.names, train, agreement, options)
    coef = fit.coef / near.unit
    return Explanation(
        label, near.names, coef, fit.std_error / near.unit, fit.offset - float(coef @ near.origin), near.origin,
        near.unit, probability, agreement, train.z, plus, tuple(notes), fit.refusal, fit, near,
    )  # fmt: skip


def _warnings(
    fit: LocalFit,
    plus: Array,
    minus: Array,
    names: tuple[str, ...],
    train: Answers,
    agreement: Fidelity,
    options: dict[str, Any],
) -> list[str]:
    """What a careful reader of the figures would say."""
    if np.ptp(plus) == 0.0 and np.ptp(minus) == 0.0:
        return [f"the black box says P = {plus[0]:.4g} at every point: there is nothing to explain; go further from x"]
    notes = []
    still = [name for name, spread in zip(names, np.ptp(train.z, axis=0), strict=True) if spread == 0.0]
    if still:
        notes.append(f"{', '.join(still[:5])}{', …' * (len(still) > 5)}: never changes, so that nothing is known of it")
    if np.all(plus > 0.5) or np.all(plus <= 0.5):
        side = "above" if plus[0] > 0.5 else "below"
        notes.append(
            f"P is {side} one half at every point: no decision changes here, the coefficients tell how the odds vary"
        )
    ruled_out = (minus if options["swap"] else plus) <= options["floor"]
    resting = float(exp(fit.problem.log_mu(fit.solution.delta))[ruled_out].sum())
    if resting > 0.01:
        notes.append(
            f"{resting:.0%} of the weight rests on points that the black box rules out (P below {options['floor']:g}): "
            "the coefficients depend on that floor; give another floor, or take a smaller neighbourhood"
        )
    few = max(10.0, 2.0 * fit.problem.k)
    if min(fit.ess) < few:
        notes.append(
            f"ESS is {min(fit.ess):.0f}: few points decide, and intervals are too short; take more points, a smaller "
            "neighbourhood, or swap"
        )
    if fit.solution.free_directions > len(still):
        notes.append("some features always change together; their coefficients share what belongs to all of them")
    if agreement.r2 < 0.5:
        notes.append(f"R2 is {agreement.r2:.2f}: the black box is far from linear here; take a smaller neighbourhood")
    return notes
