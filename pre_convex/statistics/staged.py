"""``features="auto"``: features, their penalties and, if it helps, a kernel, by cross-validation in two stages.

Stage 1 compares no features, linear ones, squares, and all products of two columns, each along a path of ridge
penalties. Stage 2 adds a kernel of landmarks with a penalty of its own to the best of them; "no kernel" stays a
candidate. All fits are [RIDGE]. The held-out logistic loss of log r decides: unlike held-out −ℓ, which is biased upward
by about Var(r)/2n, it is bounded along the q side and can be compared between features.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._internal.entropy import log_normalise
from .._internal.rng import Rng, as_generator
from .._internal.threads import single_threaded_blas
from .._internal.typing import Array, Index, Mask
from .._internal.validation import MAX_ENTRY, as_choice, as_count, as_flag, as_matrix
from ..data.features import Concatenation, FeatureMap, Linear, Polynomial
from ..data.kernels import Kernel, shortened, typical_length_scale
from ..data.likelihoods import log_likelihood
from ..data.scaled import Scaled
from ..errors import DataError, PreConvexError
from ..logistic import LogisticProblem
from ..problem import RatioProblem, as_problem
from .ridge import KullbackLeibler, Logistic, Loss, Sample, ridge, standardisation

__all__ = ["Candidate", "FeatureChoice", "part_radius", "staged_features"]

LOSSES: dict[str, type[Loss]] = {"kl": KullbackLeibler, "logistic": Logistic}
#: penalties of a path as shares of its first, which is this many times the trace or mean of the Hessian
STEP, STEPS = 10.0**-0.5, 12
#: multiples of the median distance that are tried as length scale of the kernel
LENGTH_SCALES = (0.25, 0.5, 1.0, 2.0)
#: number of landmarks, by the number of rows
FEW_LANDMARKS, LANDMARKS, MANY_ROWS = 100, 200, 4_000
#: most features of stage 1: with more columns, products are left out
MAX_FEATURES = 500
#: squared decrement at which a fit ends, times the number of rows
TOLERANCE = 0.02
#: standard errors by which a kernel must reduce the held-out loss
CLEAR = 1.0
#: name of the candidate without features
NONE = "none"


@dataclass(frozen=True)
class Candidate:
    """A candidate of the search.

    Attributes
    ----------
    name : str
        Its features.
    loss : float
        Held-out logistic loss, the sum of the means of both sides; 2 log 2 = 1.386 for a ratio of one everywhere.
    std_error : float
        Standard error of the difference from the loss of the chosen candidate.
    penalty : float
        The best λ of [RIDGE] on the part that the candidate adds.
    """

    name: str
    loss: float
    std_error: float
    penalty: float


@dataclass(frozen=True, eq=False)
class FeatureChoice:
    """What ``features="auto"`` has tried and chosen.

    Attributes
    ----------
    chosen : str
        Name of the chosen candidate.
    candidates : tuple of Candidate
        All candidates, in the order of the search. The best of them is chosen, except that a kernel must reduce the
        loss by more than one standard error.
    radius : float
        R of the fit, in units of the scaled features.
    """

    chosen: str
    candidates: tuple[Candidate, ...]
    radius: float

    def __str__(self) -> str:
        width = max(len(one.name) for one in self.candidates)
        lines = [f"{'features':<{width}}  held-out loss  difference  std. error"]
        best = next(one.loss for one in self.candidates if one.name == self.chosen)
        for one in self.candidates:
            mark = "  chosen" if one.name == self.chosen else ""
            lines.append(f"{one.name:<{width}}  {one.loss:13.5f}  {one.loss - best:10.5f}  {one.std_error:10.5f}{mark}")
        return "\n".join(lines)


@dataclass(frozen=True, eq=False)
class _Fits:
    """The best point of a path: its features, penalties, θ and Hessian of every fold, and the loss of every row."""

    name: str
    maps: tuple[FeatureMap, ...]
    F: Array
    penalty: Array
    theta: list[Array]
    rows: Array
    lam: float


@single_threaded_blas()
def staged_features(
    x_p: Any,
    x_q: Any,
    log_lik_p: Any = None,
    log_lik_q: Any = None,
    *,
    loss: str = "kl",
    folds: int = 5,
    paired: bool = False,
    rng: Rng = 0,
) -> tuple[Scaled, FeatureChoice]:
    """Features and radius for two samples, by cross-validation.

    Parameters
    ----------
    x_p, x_q : array of shape (n_p, d) and (n_q, d)
        Samples of the two priors.
    log_lik_p, log_lik_q : array of shape (n,), function of samples, or None, default None
        Log-likelihoods of the samples, up to a constant; None for a constant likelihood. For the logistic loss a
        function, or a pair of its values at x_p and at x_q.
    loss : {"kl", "logistic"}, default "kl"
        Loss of the fits that are compared, which should be that of the final fit: [P] or [LOGIT].
    folds : int, default 5
        Number of folds, at least 2.
    paired : bool, default False
        Whether row i of both samples is the same observation, and so in the same fold.
    rng : int, sequence of int, SeedSequence, BitGenerator, Generator or None, default 0
        Seed or generator of folds and landmarks.

    Returns
    -------
    features : Scaled
        The feature map, scaled so that one radius with ``norm=2`` is right for all its parts.
    choice : FeatureChoice
        With that radius.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> features, choice = staged_features(rng.normal(0.5, 1.0, (300, 2)), rng.normal(size=(300, 2)))
    >>> choice.chosen, features.names(["u", "v"])
    ('linear', ('u', 'v'))
    """
    x_p, x_q = as_matrix(x_p, "x_p", limit=MAX_ENTRY), as_matrix(x_q, "x_q", limit=MAX_ENTRY)
    if x_p.shape[1] != x_q.shape[1]:
        raise DataError("x_q", f"has {x_q.shape[1]} columns, x_p has {x_p.shape[1]}", "pass the same columns in both")
    as_choice(loss, "loss", LOSSES)
    if as_flag(paired, "paired") and len(x_p) != len(x_q):
        raise DataError("paired", f"x_p has {len(x_p)} rows, x_q has {len(x_q)}", "pair the rows, or pass False")
    if as_count(folds, "folds", 2) > min(len(x_p), len(x_q)):
        reason = f"{folds} folds need {folds} rows in each sample, not {len(x_p)} and {len(x_q)}"
        raise DataError("folds", reason, "use fewer folds or more rows")
    is_p = np.repeat([True, False], [len(x_p), len(x_q)])
    x = np.concatenate([x_p, x_q])
    if loss == "kl":
        logs = [log_likelihood(log_lik_p, x_p, "log_lik_p"), log_likelihood(log_lik_q, x_q, "log_lik_q")]
        weight, offset = np.concatenate([np.exp(log_normalise(one)) for one in logs]), np.zeros(len(x))
    else:
        problem = LogisticProblem.from_samples(x_p, x_q, log_lik_p, log_lik_q)
        weight, offset = np.where(problem.supported, 1.0 / problem.m, 0.0), np.zeros(len(x))
        offset[problem.supported] = problem.link.offset
    generator = as_generator(rng)
    fold_q = generator.permutation(len(x_q)) % folds
    fold_p = fold_q if paired else generator.permutation(len(x_p)) % folds
    centre, scale = standardisation(x, weight)
    # beyond the q rows the Kullback–Leibler loss only rewards a larger ratio, so there the ratio stays constant
    seen = (weight > 0.0) & ~is_p if loss == "kl" else weight > 0.0
    low, high = x[seen].min(axis=0), x[seen].max(axis=0)
    sample = Sample((np.clip(x, low, high) - centre) / scale, is_p, weight, offset)
    search = _Search(sample, LOSSES[loss], np.concatenate([fold_p, fold_q]), folds, generator)
    best = search.run()
    maps, factors, radius = search.one_radius(best)
    part = maps[0] if len(maps) == 1 else Concatenation(maps)
    return Scaled(part, centre, scale, factors, low, high), FeatureChoice(best.name, search.table(best), radius)


@single_threaded_blas()
def part_radius(problem: RatioProblem, kernel: Mask, *, folds: int = 5, rng: Rng = 0) -> tuple[float, Array]:
    """Radius of a problem with kernel features, and units that give kernels and other features a share of their own.

    The noise of the moments says little about a kernel, whose norm is the sum of many of them: a radius that exceeds it
    shrinks the ratio to a constant. So each part has the ridge with the best held-out logistic loss [RIDGE].

    Parameters
    ----------
    problem : RatioProblem
        A problem in memory; its radius is not used.
    kernel : ndarray of bool, shape (k,)
        Which features are those of kernels.
    folds : int, default 5
        Number of folds, at least 2.
    rng : int, sequence of int, SeedSequence, BitGenerator, Generator or None, default 0
        Seed or generator of the folds.

    Returns
    -------
    radius : float
        R with ``norm=2`` for the features divided by their units.
    units : ndarray of shape (k,)
        Ones for the first part, and the same number for the features of the other.

    Examples
    --------
    >>> from pre_convex import Kernel, Linear
    >>> rng = np.random.default_rng(0)
    >>> x_p, x_q = rng.normal(0.5, 1.0, (200, 1)), rng.normal(size=(200, 1))
    >>> features = Linear() + Kernel().fitted(x_q[:5])
    >>> problem = RatioProblem.from_samples(x_p, x_q, features=features)
    >>> radius, units = part_radius(problem, np.arange(problem.k) > 0)
    >>> radius > 0.0, len(set(units))
    (True, 2)
    """
    problem = as_problem(problem)
    problem.require_exponential("auto")
    kernel = np.asarray(kernel)
    if kernel.shape != (problem.k,) or kernel.dtype != bool:
        raise DataError("kernel", f"does not say which of the {problem.k} features are kernels", "pass booleans")
    if problem.features_p is None or problem.log_weights_p is None:
        raise DataError(
            "radius", "'auto' needs the p samples in memory", "pass arrays of samples, or a number as radius"
        )
    n_p, n_q = len(problem.features_p), problem.n_q
    if as_count(folds, "folds", 2) > min(n_p, n_q):
        reason = f"{folds} folds need {folds} rows in each sample, not {n_p} and {n_q}"
        raise DataError("folds", reason, "use fewer folds or more rows")
    order = np.argsort(kernel, kind="stable")
    F = np.concatenate([problem.features_p, problem.features_q])[:, order] - problem.target[order]
    weight = np.exp(np.concatenate([problem.log_weights_p, problem.log_base]))
    sample = Sample(F, np.repeat([True, False], [n_p, n_q]), weight, np.zeros(len(F)))
    generator = as_generator(rng)
    fold_q = generator.permutation(n_q) % folds
    fold_p = fold_q if problem.paired else generator.permutation(n_p) % folds
    search = _Search(sample, KullbackLeibler, np.concatenate([fold_p, fold_q]), folds, generator)
    first, others = None, int((~kernel).sum())
    if others:
        first = search._path("features", (), F[:, :others], None)
    best = search._path("kernel", (), F[:, others:], first)
    theta, _ = ridge(KullbackLeibler(best.F, sample), weight, best.penalty, best.theta[0], None, 1e-12)
    relative = np.sqrt(best.penalty[0] / best.penalty)
    units = np.empty(problem.k)
    units[order] = 1.0 / relative
    radius = float(best.penalty[0] * np.linalg.norm(theta / relative))
    return radius or float(np.linalg.norm(problem.gradient(np.zeros(problem.k)))) or 1e-6, units


class _Search:
    """Both stages on standardised columns."""

    def __init__(self, sample: Sample, loss: type[Loss], fold: Index, folds: int, rng: np.random.Generator) -> None:
        self.sample, self.loss, self.fold, self.rng = sample, loss, fold, rng
        self.train = [sample.restricted(fold != i) for i in range(folds)]
        self.tol = TOLERANCE / len(sample.x)
        self.tried: list[_Fits] = []

    def run(self) -> _Fits:
        """The fits with the smallest held-out loss."""
        n, d = self.sample.x.shape
        none = self._path(NONE, (), np.zeros((n, 0)), None)
        stage = [none, self._parametric("linear", Linear())]
        if 2 * d <= MAX_FEATURES:
            stage.append(self._parametric("squares", Polynomial()))
        if d > 1 and d * (d + 3) // 2 <= MAX_FEATURES:
            stage.append(self._parametric("quadratic", Polynomial(interactions=True)))
        first = min(stage, key=lambda fits: float(fits.rows.sum()))
        self.tried = stage
        for kernel, name in self._kernels():
            self.tried.append(self._with_kernel(first, kernel, name))
        best = min(self.tried, key=lambda fits: float(fits.rows.sum()))
        difference = first.rows - best.rows
        return best if difference.sum() > CLEAR * self._std_error(difference) else first

    def _parametric(self, name: str, features: FeatureMap) -> _Fits:
        F = features(self.sample.x)
        return self._path(name, (features,), F / _spread(F, self.sample.weight), None)

    def _kernels(self) -> list[tuple[Kernel, str]]:
        """Kernels of the same landmarks with several length scales, and their names."""
        x, weight = self.sample.x, self.sample.weight
        positive = np.flatnonzero(weight > 0.0)
        count = min(LANDMARKS if len(x) >= MANY_ROWS else FEW_LANDMARKS, positive.size)
        share = weight[positive] / weight[positive].sum()
        chosen = positive[np.sort(self.rng.choice(positive.size, count, replace=False, p=share))]
        made = []
        for kind in ("rbf", "additive") if x.shape[1] > 1 else ("rbf",):
            unit = typical_length_scale(x[positive], kind)
            for multiple in LENGTH_SCALES:
                try:
                    kernel = shortened(Kernel(kind, length_scale=multiple * unit).fitted(x[chosen]))
                except PreConvexError:  # a length scale beyond 1e100
                    continue
                made.append((kernel, f"{kind} {multiple:g}"))
        return made

    def _with_kernel(self, first: _Fits, kernel: Kernel, name: str) -> _Fits:
        if first.maps:
            name = f"{first.name} + {name}"
        return self._path(name, (*first.maps, kernel), kernel(self.sample.x), first)

    def _path(self, name: str, maps: tuple[FeatureMap, ...], added: Array, first: _Fits | None) -> _Fits:
        """The best penalty of the added features, along a path from a large one; those of ``first`` keep theirs."""
        sample = self.sample
        F = added if first is None else np.column_stack([first.F, added])
        loss, start = self.loss(F, sample), np.zeros(added.shape[1])
        theta = [
            np.append(one, start) for one in (first.theta if first else [np.zeros(loss.columns)] * len(self.train))
        ]
        fixed = np.zeros(loss.columns) if first is None else first.penalty
        hessians: list[Array | None] = [None] * len(theta)
        # largest useful penalty: a few times the curvature at a ratio of one
        unit = _variance(added, sample.weight)
        best, rises = None, 0
        for lam in 3.0 * unit * STEP ** np.arange(STEPS) if added.shape[1] else [0.0]:
            penalty = np.append(fixed, np.full(added.shape[1], lam))
            rows = np.zeros(len(F))
            for i, weight in enumerate(self.train):
                theta[i], hessians[i] = ridge(loss, weight, penalty, theta[i], hessians[i], self.tol)
                test = self.fold == i
                rows[test] = sample.held_out(loss.log_ratio(theta[i], weight))[test]
            now = _Fits(name, maps, F, penalty, list(theta), rows, float(lam))
            if best is None or rows.sum() < best.rows.sum():
                best, rises = now, 0
            else:
                rises += 1
            if rises > 2:
                break
        assert best is not None
        return best

    def one_radius(self, best: _Fits) -> tuple[tuple[FeatureMap, ...], Array, float]:
        """Maps, factors of their features, and the radius that penalises the scaled features like [RIDGE]."""
        sample = self.sample
        if not best.maps:
            return self._nothing()
        loss = self.loss(best.F, sample)
        theta, _ = ridge(loss, sample.weight, best.penalty, best.theta[0], None, 1e-12)
        penalty, delta = best.penalty[loss.columns :], theta[loss.columns :]
        relative = np.sqrt(penalty[0] / penalty)
        radius = float(penalty[0] * np.linalg.norm(delta / relative))
        if not radius > 0.0:
            return self._nothing()
        original = np.column_stack([one(sample.x) for one in best.maps])
        unit = np.ones(original.shape[1])
        parametric = sum(one(sample.x[:1]).shape[1] for one in best.maps if not isinstance(one, Kernel))
        unit[:parametric] = _spread(original[:, :parametric], sample.weight)
        return best.maps, relative / unit, radius

    def _nothing(self) -> tuple[tuple[FeatureMap, ...], Array, float]:
        """Linear features with a radius at which δ is zero."""
        sample = self.sample
        factors = 1.0 / _spread(sample.x, sample.weight)
        loss = self.loss(np.zeros((len(sample.x), 0)), sample)
        theta, _ = ridge(loss, sample.weight, np.zeros(loss.columns), np.zeros(loss.columns), None, 1e-20)
        gradient = loss.at(theta, sample.weight).slope @ (sample.x * factors)
        return (Linear(),), factors, (1.0 + 1e-6) * float(np.linalg.norm(gradient)) or 1e-6

    def table(self, best: _Fits) -> tuple[Candidate, ...]:
        """All candidates with their losses, as sums of the means of both sides."""
        unit = 0.5 * float(self.sample.weight.sum())
        return tuple(
            Candidate(one.name, float(one.rows.sum()) / unit, self._std_error(one.rows - best.rows) / unit, one.lam)
            for one in self.tried
        )

    def _std_error(self, difference: Array) -> float:
        """Standard error of a sum of weighted terms, each side centred at its own mean."""
        total = 0.0
        for side in (self.sample.is_p, ~self.sample.is_p):
            terms, w = difference[side], self.sample.weight[side]
            total += float(np.square(terms - w * terms.sum() / w.sum()).sum())
        return float(np.sqrt(total))


def _spread(F: Array, weight: Array) -> Array:
    """Standard deviation of every column; one for a constant column."""
    return standardisation(F, weight)[1]


def _variance(F: Array, weight: Array) -> float:
    """Mean variance of the columns of standardised features, or the whole variance of a kernel's coordinates."""
    w = weight / weight.sum()
    variances = w @ np.square(F - w @ F)
    return float(variances.max(initial=0.0)) or 1.0
