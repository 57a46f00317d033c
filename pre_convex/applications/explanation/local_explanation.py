"""What an explanation holds: the local classifier, its noise, how well it agrees with the black box, and warnings."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtr, ndtri

from ...arrays import as_flag, frozen
from ...entropy import Array, exp
from ...errors import DataError
from ...inference import Interval, confidence
from ...report import Report
from ...tables import as_frame
from ...threads import one_thread_each
from .answers import Answers
from .black_box import BlackBox
from .fidelity import Fidelity, fidelity
from .local_fit import LocalFit, fit_local, probability_of
from .perturbations import Neighbourhood
from .superpixels import ImageNeighbourhood

if TYPE_CHECKING:
    from ...plots.explanation import Axes

__all__ = ["Explanation", "make_explanation"]

#: points at which two equally rare on/off features should be off together: with fewer, intervals lose their coverage
TOGETHER = 10.0


@dataclass(frozen=True, eq=False, repr=False)
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

    def __repr__(self) -> str:
        return f"Explanation(label={self.label!r}, {len(self.names)} features, n={len(self.points)})"

    @property
    def effect(self) -> Array:
        """Coefficients times the typical step of their feature, which makes them comparable."""
        return self.coef * self.unit

    def conf_int(self, level: float = 0.95) -> Interval:
        """Confidence intervals of the coefficients; nan where they are refused."""
        return _interval(self.coef, self.std_error, level)

    @one_thread_each()
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
        zero = int(np.sum(self.coef == 0.0))
        if zero < len(order):  # what was not chosen needs no line
            order = order[: len(order) - zero]
        if self.refusal:
            values = self.coef[order][:, None]
            notes.append(("intervals", f"not shown: {self.refusal}"))
        else:
            values = _table(interval)[order]
            limits = self.decision_interval(level=level)
            notes[1] = (notes[1][0], f"{notes[1][1]} [{limits.lower[0]:.4g}, {limits.upper[0]:.4g}]")
        if len(order) < len(self.names):
            notes.append(("coefficient 0", f"{len(self.names) - len(order)} of {len(self.names)} features"))
        notes.append(("fidelity", str(self.fidelity)))
        solution = self.fit.solution
        notes.append(("certificate", f"gap {solution.gap:.1e}, {solution.status.name.lower()}"))
        notes.append(("ESS", "p {:.0f}, weights {:.0f} of {}".format(*self.fit.ess, len(self.points))))
        level = interval.level
        title = f"Local explanation of {self.label!r} against the rest, n = {len(self.points)}"
        names = tuple(self.names[i] for i in order)
        return Report(title, names, frozen(values), level, tuple(notes), self.warnings)

    def to_frame(self, backend: str = "pandas", level: float = 0.95) -> Any:
        """A data frame of pandas or polars, one row for each feature."""
        table = _table(self.conf_int(level))
        data: dict[str, Any] = {"feature": list(self.names), "value": self.origin, "effect": self.effect}
        keys = ("coef", "std_error", "z", "p_value", "lower", "upper")
        return as_frame(data | {key: table[:, i] for i, key in enumerate(keys)}, backend)

    def plot(self, *, level: float = 0.95, ax: Axes | None = None) -> Axes:
        """Bars of the effects, the largest first, with their intervals."""
        from ...plots import plot_effects
        from ...plots.canvas import percent

        interval = self.conf_int(level)
        level = interval.level
        limits = () if self.refusal else (interval.lower * self.unit, interval.upper * self.unit)
        known = f"{percent(level)} intervals" if limits else f"no intervals: {self.refusal.split(';')[0]}"
        title = (f"Effects on the log-odds of {self.label}", known)
        stepped = "log-odds for a typical step of the feature"
        on_off = bool(np.all(self.unit == 1.0) and np.all(np.isin(self.points, (0.0, 1.0))))
        return plot_effects(
            self.names, self.effect, *limits, title=title, ax=ax,
            xlabel="log-odds of on against off" if on_off else stepped,
        )  # fmt: skip

    def plot_boundary(self, predict_proba: Any = None, *, ax: Axes | None = None) -> Axes:
        """Points and boundaries in two dimensions; with the black box, its probabilities shade the plane."""
        from ...plots import plot_boundary

        if len(self.names) != 2:
            raise DataError(f"plot_boundary: there are {len(self.names)} features; a plane needs two")
        black_box = None
        if predict_proba is not None:
            box, rng = BlackBox(predict_proba), np.random.default_rng(0)
            here = box.around(self.near, self.origin[None, :], rng)
            index, _ = box.column(self.label, here)

            def black_box(z: Array) -> Array:
                return box.around(self.near, z, rng)[:, index]

        return plot_boundary(
            self.points, self.answers, self.coef, self.intercept, self.origin,
            names=self.names, black_box=black_box, title=(f"Local classifier of {self.label} at x",), ax=ax,
        )  # fmt: skip

    def plot_image(self, *, clear: bool = False, level: float = 0.95, ax: Axes | None = None) -> Axes:
        """Super-pixels over their image; ``clear`` leaves out those whose interval holds zero."""
        from ...plots import plot_superpixels

        if not isinstance(self.near, ImageNeighbourhood):
            raise DataError("plot_image: what was explained is not an image")
        value = np.array(self.coef)
        level = confidence(level)
        if as_flag(clear, "clear") and not self.refusal:
            interval = self.conf_int(level)
            value[(interval.lower <= 0.0) & (interval.upper >= 0.0)] = 0.0
        title = (f"Effect of every super-pixel on the log-odds of {self.label}",)
        return plot_superpixels(self.near.image, self.near.labels, value, title=title, ax=ax)


def _interval(estimate: Array, std_error: Array, level: float) -> Interval:
    """Normal interval; nan where the standard error is."""
    level = confidence(level)
    width = float(ndtri(0.5 + 0.5 * level)) * std_error
    return Interval(estimate, std_error, estimate - width, estimate + width, level)


def _table(interval: Interval) -> Array:
    """Estimate, standard error, z, p-value and limits as columns."""
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(interval.std_error > 0.0, interval.estimate / interval.std_error, np.nan)
    p = 2.0 * ndtr(-np.abs(z))
    return np.column_stack([interval.estimate, interval.std_error, z, p, interval.lower, interval.upper])


@one_thread_each()
def make_explanation(
    label: Any,
    index: int,
    probability: float,
    near: Neighbourhood,
    train: Answers,
    again: Answers | None,
    test: Answers | None,
    options: dict[str, Any],
) -> Explanation:
    """Fit the local classifier to the answers, judge it on others, and put everything together."""

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
            fit = replace(fit, refusal=f"the radius {fit.problem.radius:.3g} leaves no feature to refit")
    judged = train if test is None else test
    local = probability_of(fit.log_odds((judged.z - near.origin) / near.unit))
    agreement = fidelity(judged.sides(index)[0], local, judged.weights, test is not None)
    plus, minus = train.sides(index)
    notes += _warnings(fit, plus, minus, near.names, train, probability, agreement, options)
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
    probability: float,
    agreement: Fidelity,
    options: dict[str, Any],
) -> list[str]:
    """What a careful reader of the figures would say."""
    if fit.constant:
        return [f"the black box says P = {plus[0]:.4g} at every point: there is nothing to explain; go further from x"]
    notes = []
    still = [name for name, spread in zip(names, np.ptp(train.z, axis=0), strict=True) if spread == 0.0]
    if still:
        notes.append(f"{_some(still)}: never changes, so that nothing is known of it")
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
    notes += _few_points(fit, names, train)
    if fit.solution.free_directions > len(still):
        notes.append("some features always change together; their coefficients share what belongs to all of them")
    here, radius = float(probability_of(np.array([fit.offset]))[0]), fit.problem.radius
    if abs(here - probability) > 0.2:
        why = f"the radius {radius:.3g} shrinks much" if radius > 0.0 else "the neighbourhood is too wide to speak of x"
        notes.append(f"at x itself the black box says P = {probability:.2f} and the local classifier {here:.2f}: {why}")
    if agreement.r2 < 0.5 and radius > 0.0:
        notes.append(f"R2 is {agreement.r2:.2f}: the radius {radius:.3g} shrinks much; take a smaller one")
    elif agreement.r2 < 0.5 and agreement.ess >= 10.0:
        notes.append(f"R2 is {agreement.r2:.2f}: the black box is far from linear here; take a smaller neighbourhood")
    return notes


def _some(names: list[str]) -> str:
    """The first names of a list."""
    return ", ".join(names[:5]) + ", …" * (len(names) > 5)


def _few_points(fit: LocalFit, names: tuple[str, ...], train: Answers) -> list[str]:
    """Whether too few points decide: by the kernel, by the classes, or because a feature is hardly ever off or on."""
    notes, few = [], max(10.0, 2.0 * fit.problem.k)
    w, on = train.weights, train.z == 1.0
    near = float(w.sum()) ** 2 / float(w @ w)
    if train.log_weights is not None and near < few:
        notes.append(f"the kernel leaves {near:.0f} effective points; take a wider one, or more points")
    elif min(fit.ess) < few:
        notes.append(
            f"ESS is {min(fit.ess):.0f}: few points decide, and intervals are too short; take more points, a smaller "
            "neighbourhood, or swap"
        )
    switched = np.all(on | (train.z == 0.0), axis=0) & np.any(on != on[0], axis=0)
    sides = [np.square(w @ side) / np.maximum(np.square(w) @ side, 1e-300) for side in (on, ~on)]
    least = np.minimum(*sides)
    rare = np.flatnonzero(switched & (np.square(least) < TOGETHER * near))
    if rare.size:
        notes.append(
            f"{_some([names[i] for i in rare])}: rarely off, or rarely on ({least[rare].min():.0f} of {near:.0f} "
            "points), and intervals may be too short; take more points, or keep features about half of the time"
        )
    return notes
