"""The explanation: a local classifier with intervals, its fidelity, warnings, tables and plots."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._internal.threads import single_threaded_blas
from ..._internal.typing import Array
from ..._internal.validation import as_flag, as_fraction, read_only
from ...data.tables import as_frame
from ...errors import DataError
from ...estimators.report import Report
from ...statistics.inference import Interval, normal_interval
from .black_box import BlackBox
from .fidelity import Fidelity
from .neighbourhood import Neighbourhood
from .superpixels import ImageNeighbourhood
from .surrogate import LinearSurrogate, sigmoid

if TYPE_CHECKING:
    from ...plots.explanation import Axes

__all__ = ["Explanation"]


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """A local linear classifier: log-odds ⟨coef, z⟩ + intercept of one class against all others.

    Attributes
    ----------
    label : object
        The class that is explained; positive coefficients favour it.
    names : tuple of str
        Names of the features z.
    coef : ndarray of shape (k,)
        Change of the log-odds when a feature increases by one; for an on/off feature, when it is switched on.
    std_error : ndarray of shape (k,)
        Standard errors; nan if there are none, and ``refusal`` says why.
    intercept : float
        Log-odds at z = 0.
    origin : ndarray of shape (k,)
        Features of x itself.
    unit : ndarray of shape (k,)
        A typical step of each feature.
    probability : float
        Probability of the label at x by the black box.
    fidelity : Fidelity
        Agreement of the local classifier with the black box: ``agreement``, ``r2``, ``auc``.
    points : ndarray of shape (n, k)
        Features of the points it was fitted to.
    answers : ndarray of shape (n,)
        The black box's probability of the label at these points.
    warnings : tuple of str
        Reasons to distrust the coefficients or intervals.
    refusal : str
        Why there are no intervals; empty if there are.
    fit : LinearSurrogate
        Problem, solution and certificate, in features (z − origin) / unit.
    near : Neighbourhood
        The neighbourhood of x that points were drawn from.

    Examples
    --------
    >>> from pre_convex.applications.explanation import explain
    >>> found = explain(lambda z: 1.0 / (1.0 + np.exp(-2.0 * z[:, 0])), [0.5], 1.0, label=1)
    >>> found.coef.round(6), found.decision_function([[0.5]]).round(6)
    (array([2.]), array([1.]))
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
    fit: LinearSurrogate
    near: Neighbourhood

    def __repr__(self) -> str:
        return f"Explanation(label={self.label!r}, {len(self.names)} features, n={len(self.points)})"

    @property
    def effect(self) -> Array:
        """Coefficients times the typical step of their feature, which makes them comparable; shape (k,)."""
        return self.coef * self.unit

    def conf_int(self, level: float = 0.95) -> Interval:
        """Confidence intervals of the coefficients.

        Parameters
        ----------
        level : float, default 0.95
            Confidence level, between 0 and 1.

        Returns
        -------
        Interval
            Estimates, standard errors and limits, each of shape (k,); nan if intervals are refused.
        """
        return normal_interval(self.coef, self.std_error, level)

    @single_threaded_blas()
    def decision_function(self, z: Any) -> Array:
        """Log-odds of the label by the local classifier.

        Parameters
        ----------
        z : points as the black box reads them, or array of shape (n, k) or (k,)
            Points, or rows of features; on/off features are ones and zeros.

        Returns
        -------
        ndarray of shape (n,)
            Log-odds.
        """
        return self.fit.log_odds(self._steps(z))

    def predict_proba(self, z: Any) -> Array:
        """Probabilities by the local classifier.

        Parameters
        ----------
        z : points as the black box reads them, or array of shape (n, k) or (k,)
            Points, or rows of features.

        Returns
        -------
        ndarray of shape (n, 2)
            Probabilities of all other classes together, and of the label.
        """
        p = sigmoid(self.decision_function(z))
        return np.column_stack([1.0 - p, p])

    def decision_interval(self, z: Any = None, level: float = 0.95) -> Interval:
        """Confidence intervals of the local classifier's log-odds.

        Parameters
        ----------
        z : points as the black box reads them, or array of shape (n, k) or (k,), optional
            Points, or rows of features; x itself by default.
        level : float, default 0.95
            Confidence level, between 0 and 1.

        Returns
        -------
        Interval
            Estimates, standard errors and limits, each of shape (n,); nan if intervals are refused.
        """
        u = np.zeros((1, len(self.names))) if z is None else self._steps(z)
        return normal_interval(self.fit.log_odds(u), self.fit.log_odds_error(u), level)

    def _steps(self, z: Any) -> Array:
        """Points relative to x, in typical steps."""
        return (self.near.encode(z) - self.origin) / self.unit

    def summary(self, level: float = 0.95) -> Report:
        """Table of coefficients, the largest effect first, with fidelity, certificate and warnings.

        Parameters
        ----------
        level : float, default 0.95
            Confidence level of the intervals, between 0 and 1.

        Returns
        -------
        Report
            Prints as text, and as a table in a notebook.
        """
        interval = self.conf_int(level)
        order = np.argsort(-np.abs(self.effect), kind="stable")
        zero = int(np.sum(self.coef == 0.0))
        if zero < len(order):  # leave out features that were not selected
            order = order[: len(order) - zero]
        log_odds = float(self.fit.offset)
        local = f"P = {sigmoid(np.array([log_odds]))[0]:.4g}, log-odds {log_odds:.4g}"
        if not self.refusal:
            limits = self.decision_interval(level=level)
            local += f" [{limits.lower[0]:.4g}, {limits.upper[0]:.4g}]"
        notes = [("black box at x", f"P = {self.probability:.4g}"), ("local classifier at x", local)]
        if self.refusal:
            notes.append(("intervals", f"not shown: {self.refusal}"))
        if len(order) < len(self.names):
            notes.append(("coefficient 0", f"{len(self.names) - len(order)} of {len(self.names)} features"))
        solution = self.fit.solution
        notes += [
            ("fidelity", str(self.fidelity)),
            ("certificate", f"gap {solution.gap:.1e}, {solution.status.name.lower()}"),
            ("ESS", "p {:.0f}, weights {:.0f} of {}".format(*self.fit.ess, len(self.points))),
        ]
        title = f"Local explanation of {self.label!r} against the rest, n = {len(self.points)}"
        values = self.coef[order][:, None] if self.refusal else interval.table()[order]
        names = tuple(self.names[i] for i in order)
        return Report(title, names, read_only(values), interval.level, tuple(notes), self.warnings)

    def to_frame(self, backend: str = "pandas", level: float = 0.95) -> Any:
        """A data frame with one row for each feature.

        Parameters
        ----------
        backend : {"pandas", "polars"}, default "pandas"
            Library of the frame.
        level : float, default 0.95
            Confidence level of the intervals, between 0 and 1.

        Returns
        -------
        pandas.DataFrame or polars.DataFrame
            Name and value of the feature at x, effect, coefficient, standard error, z, p-value and limits.
        """
        table = self.conf_int(level).table()
        data: dict[str, Any] = {"feature": list(self.names), "value": self.origin, "effect": self.effect}
        return as_frame(data | {key: table[:, i] for i, key in enumerate(Interval.COLUMNS)}, backend)

    def plot(self, *, level: float = 0.95, ax: Axes | None = None) -> Axes:
        """Bar chart of the effects, the largest first, with intervals.

        Parameters
        ----------
        level : float, default 0.95
            Confidence level of the intervals, between 0 and 1.
        ax : matplotlib.axes.Axes, optional
            Axes to draw in; new ones by default.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.
        """
        from ...plots import plot_effects
        from ...plots.canvas import percent

        interval = self.conf_int(level)
        limits = () if self.refusal else (interval.lower * self.unit, interval.upper * self.unit)
        subtitle = f"{percent(interval.level)} intervals" if limits else f"no intervals: {self.refusal.split(';')[0]}"
        on_off = bool(np.all(self.unit == 1.0) and np.all(np.isin(self.points, (0.0, 1.0))))
        return plot_effects(
            self.names,
            self.effect,
            *limits,
            title=(f"Effects on the log-odds of {self.label}", subtitle),
            xlabel="log-odds of on against off" if on_off else "log-odds for a typical step of the feature",
            ax=ax,
        )

    def plot_boundary(self, predict_proba: Any = None, *, ax: Axes | None = None) -> Axes:
        """Points and decision boundary of a local classifier with two features.

        Parameters
        ----------
        predict_proba : object or callable, optional
            The black box, whose probabilities then shade the plane.
        ax : matplotlib.axes.Axes, optional
            Axes to draw in; new ones by default.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.
        """
        from ...plots import plot_boundary

        if len(self.names) != 2:
            raise DataError("plot_boundary", f"needs two features, not {len(self.names)}", "use plot()")
        black_box = None
        if predict_proba is not None:
            box, rng = BlackBox(predict_proba), np.random.default_rng(0)
            at_x = box.predict(self.near, self.origin[None, :], rng)
            index, _ = box.column(self.label, at_x)

            def black_box(z: Array) -> Array:
                return box.predict(self.near, z, rng)[:, index]

        return plot_boundary(
            self.points,
            self.answers,
            self.coef,
            self.intercept,
            self.origin,
            names=self.names,
            black_box=black_box,
            title=(f"Local classifier of {self.label} at x",),
            ax=ax,
        )

    def plot_image(self, *, clear: bool = False, level: float = 0.95, ax: Axes | None = None) -> Axes:
        """Coefficients of super-pixels over their image.

        Parameters
        ----------
        clear : bool, default False
            Whether to leave out super-pixels whose interval contains zero.
        level : float, default 0.95
            Confidence level of these intervals, between 0 and 1.
        ax : matplotlib.axes.Axes, optional
            Axes to draw in; new ones by default.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.
        """
        from ...plots import plot_superpixels

        if not isinstance(self.near, ImageNeighbourhood):
            raise DataError("plot_image", "the point that was explained is not an image", "use plot()")
        value = np.array(self.coef)
        level = as_fraction(level, "level")
        if as_flag(clear, "clear") and not self.refusal:
            interval = self.conf_int(level)
            value[(interval.lower <= 0.0) & (interval.upper >= 0.0)] = 0.0
        title = (f"Effect of each super-pixel on the log-odds of {self.label}",)
        return plot_superpixels(self.near.image, self.near.labels, value, title=title, ax=ax)
