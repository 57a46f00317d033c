"""Balance: weights that balance treatment groups or calibrate a sample, and the effect that they estimate."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator

from .._internal.entropy import effective_sample_size, safe_log
from .._internal.threads import single_threaded_blas
from .._internal.typing import Array, Mask
from .._internal.validation import (
    MAX_ENTRY,
    as_choice,
    as_matrix,
    as_names,
    as_numbers,
    as_vector,
    check_positive,
    column_names,
    preview,
    read_only,
)
from ..data.features import make_features
from ..data.formulas import formula_features
from ..errors import DataError, InfeasibleError
from ..estimators.posterior_ratio import UnfittedError
from ..penalties.radius import as_radius
from ..problem import RatioProblem
from ..solution import Solution, Status
from ..solvers import Settings, solve
from ..statistics.balance import BalanceTable
from ..statistics.effects import Effect, weighted_mean
from .columns import by_category, named_column, read_frame, text_columns, without_columns

if TYPE_CHECKING:
    from ..plots.balance import Axes

__all__ = ["Balance"]

ESTIMANDS = ("ATT", "ATE", "ATC")
#: covariates that an error names
MAX_NAMES = 6
#: factors of wider bounds and larger weights that are tried if there is no solution
WIDER = (1.1, 1.2, 1.35, 1.5, 2.0, 3.0, 5.0, 10.0)
TREATED, CONTROL, SAMPLE = "treated", "control", "sample"


class Group(NamedTuple):
    """Rows whose weights are chosen so that their means become a target.

    Attributes
    ----------
    rows : ndarray of bool, shape (n,)
        The rows.
    problem : RatioProblem
        Features relative to the target, in standard deviations.
    solution : Solution
        Its solution.
    """

    rows: Mask
    problem: RatioProblem
    solution: Solution


class Balance(BaseEstimator):  # type: ignore[misc]
    """Weights that balance treatment groups, or calibrate a sample to known population means.

    With a treatment, the groups are weighted until their features have the same means: ``"kl"`` is entropy balancing,
    ``"chi2"`` stable balancing weights, ``"reverse-kl"`` empirical likelihood. With ``targets`` one sample is weighted
    until its features have the means of the population: ``"kl"`` is raking, ``"chi2"`` linear calibration (GREG). The
    weights are those of [D] that diverge least from the base weights, and every answer has a certificate.

    Parameters
    ----------
    estimand : {"ATT", "ATE", "ATC"}, default "ATT"
        Effect on the treated (controls are weighted to the means of the treated), on all (both groups are weighted to
        the means of all rows), or on the controls (the treated are weighted to the controls).
    features : str, FeatureMap or function, default "linear"
        What is balanced: features of the columns of X, as in :class:`PosteriorRatio`; ``"polynomial"`` adds squares.
    formula : str, optional
        The same as a formula of formulaic, such as ``"(age + educ + black)**2"``, for data frames; categories become
        indicators. Needs the extra ``formula``; replaces ``features``.
    divergence : {"kl", "chi2", "reverse-kl"}, default "kl"
        Divergence of the weights from the base weights.
    bounds : pair (lo, hi), optional
        Bounds on the ratio of weights to base weights, both normalised within a group; with a ``total``, of the weights
        to the base weights as they are. Numbers, or arrays with one entry for each row.
    max_weight : float, optional
        The largest weight of a row, in the units of ``weights_``: a share of its group, or with a ``total`` a number of
        units of the population.
    radius : float, array of shape (k,) or dict, default 0.0
        How far each mean may stay from its target, in the standard deviations of the balance table: 0 balances
        exactly. One number for all features, one for each, or a dict by name, whose key ``...`` stands for the rest.
    tol : float, default None
        Duality gap to reach; None uses that of the settings.
    settings : Settings, default None
        Limits and other settings of the solve; None takes the defaults.

    Attributes
    ----------
    weights_ : ndarray of shape (n,)
        One weight for each row of X; they sum to one in each group, or to the ``total``.
    effect_ : Effect or None
        Difference of the weighted means of y, treated minus control; the mean or total of y with ``targets``. None if
        y was not given.
    balance_ : BalanceTable
        Standardised mean differences before and after weighting, and effective sample sizes.
    solutions_ : dict of str to Solution
        Solution with its certificate for each group that was weighted: ``"treated"``, ``"control"`` or ``"sample"``.
    problems_ : dict of str to RatioProblem
        The problems, with features relative to their targets and in standard deviations.
    feature_names_ : tuple of str
        Names of the k features.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 2))
    >>> treatment = rng.random(400) < 1.0 / (1.0 + np.exp(-X[:, 0]))
    >>> y = X[:, 0] + 2.0 * treatment + rng.normal(size=400)
    >>> fit = Balance().fit(X, treatment, y)
    >>> print(fit.effect_)
    ATT 2.0757, std err 0.1172, 95 % [1.8460, 2.3053]
    """

    def __init__(
        self,
        estimand: str = "ATT",
        *,
        features: Any = "linear",
        formula: str | None = None,
        divergence: str = "kl",
        bounds: Any = None,
        max_weight: float | None = None,
        radius: Any = 0.0,
        tol: float | None = None,
        settings: Settings | None = None,
    ) -> None:
        self.estimand = estimand
        self.features = features
        self.formula = formula
        self.divergence = divergence
        self.bounds = bounds
        self.max_weight = max_weight
        self.radius = radius
        self.tol = tol
        self.settings = settings

    @single_threaded_blas()
    def fit(
        self,
        X: Any,
        treatment: Any = None,
        y: Any = None,
        *,
        base_weights: Any = None,
        targets: Any = None,
        total: float | None = None,
    ) -> Self:
        """Find the weights, and the effect if there is an outcome.

        Parameters
        ----------
        X : array of shape (n, d), data frame or path
            Covariates of all rows. Columns that the other arguments name are not covariates.
        treatment : array of shape (n,) or str, optional
            True or 1 for the treated, False or 0 for the controls; an array, or the name of a column. Leave it out if
            there are ``targets``.
        y : array of shape (n,) or str, optional
            Outcome, one number for each row, or the name of a column; without it there are weights but no effect.
        base_weights : array of shape (n,) or str, optional
            Design weights of a survey, not negative, or the name of their column; equal weights by default.
        targets : array of shape (k,) or dict, optional
            Known population means of the features; totals if ``total`` is given. A dict by name calibrates the features
            that it names and leaves out the others. Without a formula a dict may also hold a dict for each column of
            categories, such as ``{"sex": {"f": 0.52, "m": 0.48}, "age": 41.3}``.
        total : float, optional
            Size of the population. The weights then sum to it, and ``targets`` are totals.

        Returns
        -------
        Balance
            The estimator itself. If the fit fails, it is left as it was before.

        Raises
        ------
        InfeasibleError
            If no weights within the bounds reach the targets; the message names the features.
        """
        estimand = as_choice(self.estimand, "estimand", ESTIMANDS)
        X, given = read_frame(X), {"treatment": treatment, "y": y, "base_weights": base_weights}
        treatment, y, base_weights = (named_column(X, value, name) for name, value in given.items())
        if self.formula is None:
            X = without_columns(X, [value for value in given.values() if isinstance(value, str)])
        size = None if total is None else check_positive(total, "total", "6194")
        F, names, targets = self._features(X, targets, size)
        n = len(F)
        base = _base_weights(base_weights, n)
        outcome = None if y is None else _outcome(y, n)
        if targets is not None:
            if treatment is not None:
                raise DataError("targets", "and a treatment are given", "pass one of them")
            self._calibrate(F, names, base, base_weights is not None, outcome, targets, size)
        elif total is not None:
            raise DataError("total", "is given without targets", "pass targets, or leave total out")
        else:
            treated = _treated(treatment, n)
            for group, rows in ((TREATED, treated), (CONTROL, ~treated)):
                if not base[rows].any():
                    raise DataError("treatment", f"no row of the {group} has weight", "pass rows of both groups")
            self._balance(F, names, base, outcome, treated, estimand)
        return self

    def _features(self, X: Any, targets: Any, total: float | None) -> tuple[Array, tuple[str, ...], Any]:
        """Features of all rows, their names, and the targets, which may name columns and categories."""
        by_name = isinstance(targets, Mapping) and len(targets) > 0
        categories = by_name and any(isinstance(target, Mapping) for target in targets.values())
        if self.formula is not None:
            if categories:
                raise DataError("targets", "name categories, which a formula encodes itself", "leave the formula out")
            F, names = formula_features(self.formula, X)
            return as_matrix(F, "formula(X)", names, limit=MAX_ENTRY), names, targets
        if by_name and (categories or self.features == "linear") and column_names(X) is not None:
            if self.features != "linear":
                raise DataError("targets", "name categories, which need linear features", "leave features out")
            return by_category(X, targets, total)
        text = text_columns(X)
        if text:
            remedy = "name what to balance in a formula, such as formula='age + sex', which encodes categories"
            listed = ", ".join(text[:MAX_NAMES]) + (", …" if len(text) > MAX_NAMES else "")
            raise DataError("X", f"no numbers in {listed}", f"drop these columns, or {remedy}")
        rows = as_matrix(X, "X")
        columns = column_names(X) or tuple(f"x{i}" for i in range(rows.shape[1]))
        f = make_features(self.features)
        names = as_names(f.names(columns), "feature_names")
        F = as_matrix(f(rows), "features(X)", names or None, limit=MAX_ENTRY)
        return F, names or tuple(f"f{i}" for i in range(F.shape[1])), targets

    def _group(
        self,
        name: str,
        F: Array,
        names: tuple[str, ...],
        rows: Mask,
        base: Array,
        target: Array,
        unit: Array,
        scale: float = 1.0,
        total: float | None = None,
    ) -> Group:
        """Weights of some rows whose means become the target, in units of the standard deviations.

        Bounds are multiplied by the ``scale`` and the largest weight is divided by the ``total``, which makes both
        those of weights that sum to one.
        """
        radius = as_radius(self.radius, names)
        if np.ndim(radius) == 0 and radius:
            radius = np.full(len(names), radius)

        def limited(bounds: Any, max_weight: float | None) -> RatioProblem:
            return RatioProblem(
                np.zeros(len(names)),
                (F[rows] - target) / unit,
                safe_log(base[rows]),
                radius,
                feature_names=names,
                divergence=self.divergence,
                bounds=_bounds(bounds, rows, scale),
                max_weight=max_weight if total is None or max_weight is None else max_weight / total,
            )

        problem = limited(self.bounds, self.max_weight)
        try:
            return Group(rows, problem, solve(problem, tol=self.tol, settings=self.settings))
        except InfeasibleError as error:
            said = _in_words(error, problem, self._wider(limited))
            raise _out_of_range(said, name, F[rows], names, target, total) from error

    def _wider(self, limited: Callable[[Any, float | None], RatioProblem]) -> dict[str, dict[str, Any]]:
        """Remedies by wider bounds or a larger weight, if these help: text and parameters, if those were found."""

        def feasible(bounds: Any, max_weight: float | None) -> bool:
            found = solve(limited(bounds, max_weight), settings=self.settings, check=False)
            return found.status in (Status.OPTIMAL, Status.BOUNDARY)

        remedies: dict[str, dict[str, Any]] = {}
        if self.bounds is not None and feasible(None, self.max_weight):
            low, high = self.bounds
            numbers = np.ndim(low) == np.ndim(high) == 0
            pairs = [(float(f"{low / f:.3g}"), float(f"{high * f:.3g}")) for f in WIDER] if numbers else []
            pair = next((pair for pair in pairs if feasible(pair, self.max_weight)), None)
            remedies[f"widen the bounds{f' to {pair}' if pair else ''}"] = {"bounds": pair} if pair else {}
        if self.max_weight is not None and feasible(self.bounds, None):
            weights = (float(f"{self.max_weight * f:.3g}") for f in WIDER)
            weight = next((weight for weight in weights if feasible(self.bounds, weight)), None)
            remedies[f"raise max_weight{f' to {weight:g}' if weight else ''}"] = (
                {"max_weight": weight} if weight else {}
            )
        return remedies

    def _check_total(self, base: Array, design: float, total: float | None) -> None:
        """Raise if weights within the limits cannot sum to the total, in units of the population."""
        if total is None:
            if isinstance(self.max_weight, float | int) and self.max_weight > 1.0:
                reason = f"{self.max_weight:g} is more than all weights together, which sum to 1"
                raise DataError("max_weight", reason, "pass a share, such as 0.01, or the total of the population")
            return
        if self.max_weight is not None:
            most = len(base) * check_positive(self.max_weight, "max_weight", f"{2.0 * total / len(base):.3g}")
            if most < total:
                reason = f"allows weights that sum to {most:.6g}, less than the total {total:.6g}"
                raise DataError("max_weight", reason, f"pass more than {total / len(base):.6g}, the average weight")
        if isinstance(self.bounds, list | tuple) and len(self.bounds) == 2:
            share = base / base.sum() * design
            least, most = (float(np.sum(share * as_numbers(x, "bounds"))) for x in self.bounds)
            if not least <= total <= most:
                reason = f"allow weights that sum to {least:.6g} to {most:.6g}, not to the total {total:.6g}"
                raise DataError("bounds", reason, f"let {total / design:.4g}, the average ratio, be between them")

    def _balance(
        self, F: Array, names: tuple[str, ...], base: Array, y: Array | None, treated: Mask, estimand: str
    ) -> None:
        """Weights of treatment groups; all attributes are set at the end."""
        w = {TREATED: _share(base, treated), CONTROL: _share(base, ~treated)}
        spread = {group: _spread(F, share) for group, share in w.items()}
        if estimand == "ATE":
            share, unit = base / base.sum(), np.sqrt(0.5 * (spread[TREATED] ** 2 + spread[CONTROL] ** 2))
            weighted, whose = {TREATED: treated, CONTROL: ~treated}, "both groups"
        elif estimand == "ATT":
            share, unit = w[TREATED], spread[TREATED]
            weighted, whose = {CONTROL: ~treated}, "the treated"
        else:
            share, unit = w[CONTROL], spread[CONTROL]
            weighted, whose = {TREATED: treated}, "the controls"
        unit = np.where(unit > 0.0, unit, np.maximum(spread[TREATED], spread[CONTROL]))
        constant, target = unit == 0.0, _mean(F, share)
        unit = np.where(constant, 1.0, unit)
        groups = {name: self._group(name, F, names, rows, base, target, unit) for name, rows in weighted.items()}
        after = {**w, **{name: _spread_out(group, len(F)) for name, group in groups.items()}}
        effect = None
        if y is not None:
            effect = _treatment_effect(estimand, F, y, w, share, target, unit, groups)
        G = (F - target) / np.where(constant, np.nan, unit)
        self._finish(
            names,
            groups,
            after[TREATED] + after[CONTROL],
            effect,
            BalanceTable(
                f"Treated minus control, in standard deviations of {whose}",
                names,
                read_only((w[TREATED] - w[CONTROL]) @ G),
                read_only((after[TREATED] - after[CONTROL]) @ G),
                {name: _sizes(group) for name, group in groups.items()},
            ),
        )

    def _calibrate(
        self,
        F: Array,
        names: tuple[str, ...],
        base: Array,
        designed: bool,
        y: Array | None,
        targets: Any,
        total: float | None,
    ) -> None:
        """Weights of one sample with known targets; all attributes are set at the end."""
        size = 1.0 if total is None else total
        chosen, target = _targets(targets, names)
        F, names = F[:, chosen], tuple(names[i] for i in chosen)
        target = target / size
        rows, share = np.ones(len(F), dtype=bool), base / base.sum()
        unit = _spread(F, share)
        constant = unit == 0.0
        unit = np.where(constant, 1.0, unit)
        design = float(base.sum()) if designed and total is not None else size
        self._check_total(base, design, total)
        group = self._group(SAMPLE, F, names, rows, base, target, unit, design / size, total)
        effect = None
        if y is not None:
            expansion = weighted_mean(group.problem, group.solution, y)
            error = size * float(np.linalg.norm(expansion.without)) if expansion.regular else np.nan
            influence = read_only(size * expansion.influence)
            effect = Effect("mean" if total is None else "total", size * expansion.mean, error, influence)
        G = np.where(constant, np.nan, group.problem.features_q)
        self._finish(
            names,
            {SAMPLE: group},
            size * group.solution.mu,
            effect,
            BalanceTable(
                "Target minus sample, in standard deviations of the sample",
                names,
                read_only(-share @ G),
                read_only(-group.solution.mu @ G),
                {SAMPLE: _sizes(group)},
            ),
        )

    def _finish(
        self,
        names: tuple[str, ...],
        groups: dict[str, Group],
        weights: Array,
        effect: Effect | None,
        table: BalanceTable,
    ) -> None:
        self.feature_names_ = names
        self.problems_ = {name: group.problem for name, group in groups.items()}
        self.solutions_ = {name: group.solution for name, group in groups.items()}
        self.weights_ = read_only(weights)
        self.effect_, self.balance_ = effect, table

    def summary(self) -> str:
        """Effect, balance table and certificates as text.

        Returns
        -------
        str
        """
        self._check_fitted()
        lines = [] if self.effect_ is None else [str(self.effect_), ""]
        lines.append(str(self.balance_))
        for name, solution in self.solutions_.items():
            lines.append(f"certificate, {name}: gap {solution.gap:.1e}, {solution.status.name.lower()}")
        return "\n".join(lines)

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Love plot: standardised mean differences before and after weighting.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; a new figure when left out.

        Returns
        -------
        matplotlib Axes
        """
        from ..plots import plot_love

        self._check_fitted()
        return plot_love(self.balance_, ax=ax)

    def _check_fitted(self) -> None:
        if not hasattr(self, "weights_"):
            raise UnfittedError("Balance", "is not fitted yet", "call fit first")

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "weights_")


def _treatment_effect(
    estimand: str,
    F: Array,
    y: Array,
    w: dict[str, Array],
    share: Array,
    target: Array,
    unit: Array,
    groups: dict[str, Group],
) -> Effect:
    """Treated minus control, with the influence of every row [EFFECT]."""
    estimate, influence, regular = 0.0, np.zeros(len(y)), True
    correction = np.zeros(len(y))
    for name, sign in ((TREATED, 1.0), (CONTROL, -1.0)):
        if name in groups:
            group = groups[name]
            mean, own, without, slope, determined = weighted_mean(group.problem, group.solution, y[group.rows])
            influence[group.rows] += sign * own
            correction[group.rows] += sign * (without - own)
            influence += sign * share * (((F - target) / unit) @ slope)  # the target is estimated as well
            regular = regular and determined
        else:
            mean = float(w[name] @ y)
            influence += sign * w[name] * (y - mean)
        estimate += sign * mean
    error = float(np.linalg.norm(influence + correction)) if regular else np.nan
    return Effect(estimand, estimate, error, read_only(influence))


def _bounds(bounds: Any, rows: Mask, scale: float) -> Any:
    """Bounds of some rows; malformed ones are left to the checks of the problem."""
    if not isinstance(bounds, list | tuple) or len(bounds) != 2:
        return bounds
    pair = [np.asarray(x)[rows] if np.shape(x) == rows.shape else x for x in bounds]
    return pair if scale == 1.0 else [scale * np.asarray(x, dtype=float) for x in pair]


def _base_weights(x: Any, n: int) -> Array:
    """Base weights, equal by default."""
    if x is None:
        return np.ones(n)
    base = as_vector(x, "base_weights", n)
    if np.any(base < 0.0) or not base.any():
        raise DataError("base_weights", "are negative, or all zero", "pass weights of at least 0")
    return base


def _outcome(x: Any, n: int) -> Array:
    """The outcome; missing values have an advice of their own."""
    values = as_numbers(x, "y")
    missing = int(np.isnan(values).sum())
    if missing:
        rows = "row" if missing == 1 else "rows"
        raise DataError("y", f"is missing in {missing} {rows}", "drop these rows from all arguments, or fill them in")
    return as_vector(values, "y", n)


def _in_words(error: InfeasibleError, problem: RatioProblem, wider: dict[str, dict[str, Any]]) -> InfeasibleError:
    """The same error in terms of covariates and weights, with the radius and the wider limits that would work."""
    within = " within the bounds" if problem.link.bounded else ""
    conflict = error.conflict
    more = len(conflict) - MAX_NAMES
    names = list(conflict) if more < 2 else [*conflict[:MAX_NAMES], f"{more} others"]
    listed = " and ".join(part for part in (", ".join(names[:-1]), *names[-1:]) if part)
    to = "" if problem.exact else " to within the radius"
    reason = f"No weights{within} balance these covariates{to}."
    if len(conflict) == 1:
        reason = f"No weights{within} balance {listed}{to}."
    elif conflict:
        reason = f"No weights{within} balance {listed} together{to}; "
        reason += "leave any one of them out, and the rest can be balanced."
    remedies, advice = [], error.advice
    kept = dict(zip(problem.feature_names, np.broadcast_to(problem.radius, problem.k).tolist(), strict=True))
    larger = {name: x for name, x in error.advised_relaxation.items() if x != kept[name]}
    others = {x for name, x in kept.items() if name not in larger}
    if 0 < len(larger) <= MAX_NAMES and len(others) < 2:
        radii = ", ".join(f"{name!r}: {x:g}" for name, x in larger.items())
        rest = others.pop() if others else 0.0
        remedies.append(f"pass radius={{{radii}{f', ...: {rest:g}' if rest else ''}}}, in standard deviations")
        advice = ({"radius": {**larger, **({...: rest} if rest else {})}},)
    remedies += [*wider, "leave covariates out"]
    advice += tuple(parameters for parameters in wider.values() if parameters)
    message = f"{reason} Remedies: {'; '.join(remedies)}."
    return InfeasibleError(message, error.solution, error.hull, error.outside, error.advised_relaxation, advice)


def _out_of_range(
    error: InfeasibleError, group: str, F: Array, names: tuple[str, ...], target: Array, total: float | None
) -> InfeasibleError:
    """The same error, which says if a target is beyond all rows, and what to do if it is a total."""
    beyond = np.flatnonzero((target < F.min(axis=0)) | (target > F.max(axis=0)))
    if not beyond.size:
        return error
    i = int(beyond[0])
    low, high = F[:, i].min(), F[:, i].max()
    reason = (
        f"The target mean {target[i]:g} of {names[i]} is outside the range of the {group} rows, {low:g} to {high:g}."
    )
    _, remedies, others = str(error).partition(" Remedies: ")
    if group == SAMPLE and total is None:
        remedies += "if the targets are totals, pass total, the size of the population; "
    hull, relaxation = error.hull, error.advised_relaxation
    return InfeasibleError(f"{reason}{remedies}{others}", error.solution, hull, error.outside, relaxation, error.advice)


def _treated(x: Any, n: int) -> Mask:
    """The treatment as a boolean array."""
    if x is None:
        raise DataError("treatment", "is missing", "pass one entry for each row, or targets")
    if np.asarray(x).dtype.kind in "OUST" and any(isinstance(value, str) for value in np.asarray(x).flat):
        raise DataError("treatment", "holds text", "pass 1 for treated and 0 for control, such as treatment == 'yes'")
    values = as_vector(x, "treatment", n)
    if not np.isin(values, (0.0, 1.0)).all():
        other = values[~np.isin(values, (0.0, 1.0))][0]
        raise DataError("treatment", f"has the entry {other:g}", "pass 1 for treated and 0 for control")
    return np.asarray(values == 1.0)


def _targets(x: Any, names: tuple[str, ...]) -> tuple[list[int], Array]:
    """Numbers of the features that have a target, and the targets."""
    if not isinstance(x, Mapping):
        return list(range(len(names))), as_vector(x, "targets", len(names))
    unknown = [name for name in x if name not in names]
    if unknown or not x:
        known = ", ".join(names[:10]) + (", …" if len(names) > 10 else "")
        reason = f"{preview(unknown[0])} is not a feature" if unknown else "are empty"
        raise DataError("targets", reason, f"use some of {known}")
    chosen = [i for i, name in enumerate(names) if name in x]
    return chosen, as_vector([x[names[i]] for i in chosen], "targets")


def _share(base: Array, rows: Mask) -> Array:
    """Base weights of a group, normalised; zero on the other rows."""
    share = np.where(rows, base, 0.0)
    return np.asarray(share / share.sum())


def _mean(F: Array, share: Array) -> Array:
    """Mean of every feature, relative to a first estimate: that of a constant one is exact."""
    centre = share @ F
    return np.asarray(centre + share @ (F - centre))


def _spread(F: Array, share: Array) -> Array:
    """Standard deviation of every feature, zero where it is only round-off."""
    mean = _mean(F, share)
    spread = np.sqrt(share @ np.square(F - mean))
    return np.where(spread > 1e-13 * np.abs(mean), spread, 0.0)


def _spread_out(group: Group, n: int) -> Array:
    """Weights of a group on all rows."""
    weights = np.zeros(n)
    weights[group.rows] = group.solution.mu
    return weights


def _sizes(group: Group) -> tuple[int, float, float]:
    """Rows of a group, and its effective sample sizes before and after weighting."""
    before = effective_sample_size(group.problem.log_base)
    return group.problem.n_q, before, effective_sample_size(safe_log(group.solution.mu))
