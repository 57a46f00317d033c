"""LogisticProblem: the data of a logistic regression between two prior samples, with likelihoods as offsets.

[LOGIT]  minimise over α, δ   ℓ_R = (1/m) [Σ_p log(1 + e^{−η}) + Σ_q log(1 + e^{η})] + R‖δ‖_*,   m = n_p n_q/(n_p + n_q)
         η = α + ⟨δ,f⟩ + log l_q − log l_p + log(n_p/n_q)
dual     maximise over 0 ≤ u ≤ 1   (1/m) Σ_i [H(u_i) + (u_i − t_i) o_i]   s.t. Σu = n_p, ‖(1/m) Σ_i (t_i − u_i) f_i‖ ≤ R

t_i = 1 on p rows and 0 on q rows, o_i is the known part of η, and H the binary entropy. The solver sees it as a member
of the convex family [FY]: pooled rows F with weights μ_i = u_i/n_p, whose target is the mean of the p sample, and
an objective that is n_q/(n_p + n_q) times this one.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from ._internal.snapshots import freeze
from ._internal.threads import single_threaded_blas
from ._internal.typing import Array
from ._internal.validation import MAX_PARAMETER, as_names, as_scalar, as_vector, read_only
from .data.dask_blocks import is_dask
from .data.likelihoods import log_likelihood
from .data.linked import linked_scores
from .data.logistic import LogisticLink
from .data.rows import Rows
from .errors import DataError, renamed_arguments
from .penalties.norms import Norm
from .problem import RatioProblem, check_samples

__all__ = ["LogisticProblem", "as_logistic_problem", "likelihoods_at_both"]


#: what a RatioProblem calls the arguments
NAMES = {"x_p": "features_p", "x_q": "features_q", "features(x_p)": "features_p", "features(x_q)": "features_q"}
#: how far the sides may be out of balance at the start of a solve, as a share of the p rows
BALANCED = 1e-2


class LogisticProblem:
    """A logistic regression between the samples of two priors, with the log-likelihoods as known offsets [LOGIT].

    Rows at which both likelihoods are zero can occur in neither posterior and are left out. All attributes are
    read-only.

    Parameters
    ----------
    features_p, features_q : array of shape (n_p, k) and (n_q, k), or data frame
        Features of the two samples.
    log_lik_p, log_lik_q : pair of arrays of shape (n_p,) and (n_q,), optional
        Log-likelihoods log l_p and log l_q, each at the rows of both samples, up to a constant; none for a constant
        likelihood.
    radius : float, array of shape (k,) or dict, default 0.0
        R ≥ 0, as in :class:`RatioProblem`: what the model may leave of the difference between the means of the samples.
    norm : {2, inf, 1}, default 2
        Norm of that difference; δ is penalised by the dual norm.
    feature_names : sequence of str, optional
        One name for each column.
    paired : bool, default False
        Whether row i of both samples is the same observation, which matters for standard errors.

    Attributes
    ----------
    moments : RatioProblem
        The pooled rows with the mean of the p sample as target; radius and norm are those that the solver uses.
    link : LogisticLink
        Sides and offsets of the pooled rows, p rows first.
    log_lik : ndarray of shape (2, n) or None
        Log-likelihoods of the pooled rows.
    n_p, n_q : int
        Rows of each sample.
    sizes : tuple of int
        The same without the rows that were left out.
    supported : ndarray of bool, shape (n_p + n_q,)
        Which rows were not left out.
    unit : float
        (n_p + n_q)/n_q, by which the objective differs from the solver's.
    shift : float
        Part of the intercept that is in the offsets, so that the solver starts where the sides balance.
    paired : bool
        Whether row i of both samples is the same observation.

    Examples
    --------
    >>> problem = LogisticProblem([[1.0], [2.0], [4.0]], [[0.0], [3.0]])
    >>> problem
    LogisticProblem(n_p=3, n_q=2, k=1, radius=0, norm=2)
    >>> round(problem.value(0.0, [0.0]), 6)  # (3 log(5/3) + 2 log(5/2)) / 1.2
    2.804215
    """

    def __init__(
        self,
        features_p: Any,
        features_q: Any,
        log_lik_p: Any = None,
        log_lik_q: Any = None,
        radius: Any = 0.0,
        norm: float = 2,
        feature_names: Any = (),
        paired: bool = False,
    ) -> None:
        names = as_names(feature_names, "feature_names")
        with renamed_arguments(NAMES):
            both = RatioProblem.from_samples(features_p, features_q, paired=paired)
        assert both.features_p is not None  # it is made of samples
        self.n_p, self.n_q, self.paired = len(both.features_p), len(both.features_q), both.paired
        F = np.concatenate([both.features_p, both.features_q]).astype(float, copy=False)
        positive = np.arange(len(F)) < self.n_p
        pairs = {"log_lik_p": log_lik_p, "log_lik_q": log_lik_q}
        logs = [_at_both(pair, name, self.n_p, self.n_q) for name, pair in pairs.items()]
        self.log_lik: Array | None = None
        self.supported: NDArray[np.bool_] = np.ones(len(F), dtype=bool)
        if any(log is not None for log in logs):
            log_lik = np.stack([np.zeros(len(F)) if log is None else log for log in logs])
            self.supported = _common_support(log_lik, self.n_p)
            self.log_lik = read_only(np.ascontiguousarray(log_lik[:, self.supported]))
            F, positive = F[self.supported], positive[self.supported]
        n_p = int(positive.sum())
        self.sizes = (n_p, len(F) - n_p)
        if not all(self.sizes):
            side = "p" if not self.sizes[0] else "q"
            raise DataError(f"log_lik_{side}", f"every row of x_{side} is -inf", "check the likelihood")
        self.unit = len(F) / self.sizes[1]
        target = F[:n_p].mean(axis=0)
        target = target + (F[:n_p] - target).mean(axis=0)  # that of a constant column is exact
        given = RatioProblem(target, freeze(F), radius=radius, norm=norm, feature_names=names or both.feature_names)
        self._given, self.moments = given, given.with_radius(given.radius / self.unit)
        offset = np.full(len(F), math.log(self.n_p / self.n_q))
        if self.log_lik is not None:
            offset += self.log_lik[1] - self.log_lik[0]
        self.shift = 0.0
        balanced = LogisticLink(positive, offset)
        if self.log_lik is not None or n_p * self.n_q != self.n_p * self.sizes[1]:
            guess, pi = -float(np.median(offset)), np.full(len(F), 1.0 / n_p)
            self.shift = balanced.intercept(np.zeros(len(F)), pi, guess, BALANCED)
        self.link = LogisticLink(positive, freeze(offset + self.shift))

    @classmethod
    @single_threaded_blas()
    def from_samples(
        cls,
        x_p: Any,
        x_q: Any,
        log_lik_p: Any = None,
        log_lik_q: Any = None,
        *,
        features: Any = "linear",
        radius: Any = 0.0,
        norm: float = 2,
        paired: bool = False,
    ) -> LogisticProblem:
        """Problem from prior samples and log-likelihoods; without likelihoods it is plain logistic regression.

        Parameters
        ----------
        x_p, x_q : arrays of shape (n_p, d) and (n_q, d), or data frames
            Samples of the two priors, in memory. Named columns are matched by name.
        log_lik_p, log_lik_q : function of samples, pair of arrays, or None, default None
            Log-likelihoods, up to a constant. Each is needed at the rows of both samples: a function, or a pair of its
            values at x_p and at x_q. None for a constant likelihood.
        features : str, FeatureMap or function, default "linear"
            Features f(x), as in :class:`PosteriorRatio`.
        radius : float, array of shape (k,) or dict, default 0.0
            R ≥ 0.
        norm : {2, inf, 1}, default 2
            Norm that belongs to the radius.
        paired : bool, default False
            Whether row i of both samples is the same observation.

        Returns
        -------
        LogisticProblem

        Examples
        --------
        >>> rng = np.random.default_rng(0)
        >>> x_p, x_q = rng.normal(1.0, 1.0, (50, 2)), rng.normal(0.0, 1.0, (80, 2))
        >>> LogisticProblem.from_samples(x_p, x_q, features="polynomial").feature_names
        ('x0', 'x1', 'x0^2', 'x1^2')
        """
        for name, x in (("x_p", x_p), ("x_q", x_q)):
            if is_dask(x):
                raise DataError(name, "is a Dask collection", "compute() it: this problem needs arrays in memory")
        both = RatioProblem.from_samples(x_p, x_q, features=features, radius=radius, norm=norm, paired=paired)
        pairs = likelihoods_at_both(x_p, x_q, log_lik_p, log_lik_q)
        problem: LogisticProblem = cls(
            both.features_p, both.features_q, *pairs, radius, norm, both.feature_names, both.paired
        )
        return problem

    def __repr__(self) -> str:
        radius = "radius=per feature" if self.radius_per_feature else f"radius={self.radius:g}, norm={self.norm:g}"
        return f"LogisticProblem(n_p={self.n_p}, n_q={self.n_q}, k={self.k}, {radius})"

    @property
    def k(self) -> int:
        """Number of features."""
        return self.moments.k

    @property
    def n(self) -> int:
        """Number of pooled rows, without those that were left out."""
        return self.moments.n_q

    @property
    def features(self) -> Array:
        """Features of the pooled rows, p rows first, shape (n, k)."""
        return self.moments.features_q

    @property
    def offset(self) -> Array:
        """log l_q − log l_p + log(n_p/n_q) of the pooled rows, the known part of η."""
        return np.asarray(self.link.offset - self.shift)

    @property
    def radius(self) -> Any:
        """R: one number, or an array of shape (k,)."""
        return self._given.radius

    @property
    def norm(self) -> float:
        """Order of the norm that belongs to the radius: 2.0, inf or 1.0."""
        return self._given.norm

    @property
    def moment_norm(self) -> Norm:
        """That norm, with its dual and its projection."""
        return self._given.moment_norm

    @property
    def radius_per_feature(self) -> bool:
        """Whether the radius is an array with one entry for each feature."""
        return self._given.radius_per_feature

    @property
    def exact(self) -> bool:
        """Whether there is no radius: R = 0."""
        return self._given.exact

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the k features."""
        return self._given.feature_names

    @property
    def target(self) -> Array:
        """Mean of the p sample, which the solver's rows are relative to."""
        return self.moments.target

    @cached_property
    def rows(self) -> Rows:
        """The pooled rows with weights 1/n_p, relative to :attr:`target`."""
        return self.moments.rows.with_log_base(-math.log(self.sizes[0]))

    def with_radius(self, radius: Any, norm: float | None = None) -> Self:
        """The same data with another radius.

        Parameters
        ----------
        radius : float, array of shape (k,) or dict
            R ≥ 0, one for all features or one for each.
        norm : {2, inf, 1}, optional
            Norm of the new problem; unchanged by default.

        Returns
        -------
        LogisticProblem
            Shares its arrays with this one.
        """
        return self._with(self._given.with_radius(radius, norm))

    def in_units(self, unit: Array) -> Self:
        """The same problem with every feature divided by its unit, which changes what a positive radius means.

        Parameters
        ----------
        unit : ndarray of shape (k,)
            Units, all positive.

        Returns
        -------
        LogisticProblem
        """
        return self._with(self._given._in_units(unit))

    def _with(self, given: RatioProblem) -> Self:
        """A copy with other features, radius or norm."""
        other = self.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.__dict__.pop("rows", None)
        other._given, other.moments = given, given.with_radius(given.radius / self.unit)
        return other

    def scores(self, intercept: float, delta: Array) -> Array:
        """η of the pooled rows at (α, δ).

        Parameters
        ----------
        intercept : float
            α, the intercept.
        delta : ndarray of shape (k,)
            δ, the ratio parameter.

        Returns
        -------
        ndarray of shape (n,)
        """
        return np.asarray(linked_scores(self.rows, self.theta(intercept, delta))[0] + self.link.offset)

    def theta(self, intercept: float, delta: Array) -> Array:
        """(c, δ) for rows relative to the target, from (α, δ).

        Parameters
        ----------
        intercept : float
            α, the intercept.
        delta : ndarray of shape (k,)
            δ, the ratio parameter.

        Returns
        -------
        ndarray of shape (k + 1,)
        """
        return np.append(intercept - self.shift + float(self.target @ delta), delta)

    def intercept_of(self, theta: Array) -> float:
        """α from (c, δ), the inverse of :meth:`theta`.

        Parameters
        ----------
        theta : ndarray of shape (k + 1,)
            (c, δ) for rows relative to the target.

        Returns
        -------
        float
        """
        return float(theta[0] + self.shift - self.target @ theta[1:])

    def best_intercept(self, delta: Any) -> float:
        """The α that is optimal for δ.

        Parameters
        ----------
        delta : array of shape (k,)
            δ, the ratio parameter.

        Returns
        -------
        float
        """
        delta = as_vector(delta, "delta", self.k, limit=MAX_PARAMETER)
        z, pi = linked_scores(self.rows, np.append(0.0, delta))
        return self.intercept_of(np.append(self.link.intercept(z, pi), delta))

    def value(self, intercept: Any, delta: Any) -> float:
        """ℓ_R(α, δ), the objective of [LOGIT].

        Parameters
        ----------
        intercept : float
            α, the intercept.
        delta : array of shape (k,)
            δ, the ratio parameter.

        Returns
        -------
        float
        """
        alpha, delta = as_scalar(intercept, "intercept"), as_vector(delta, "delta", self.k, limit=MAX_PARAMETER)
        s = linked_scores(self.rows, self.theta(alpha, delta))[0]
        return float(self.link.conjugate(s).sum()) / self.m + self._given.penalty_value(delta)

    @property
    def m(self) -> float:
        """n_p n_q/(n_p + n_q), the unit of the objective."""
        return self.sizes[0] / self.unit

    def probabilities(self, intercept: float, delta: Array) -> Array:
        """u of the pooled rows: the probability that a row is of the p sample.

        Parameters
        ----------
        intercept : float
            α, the intercept.
        delta : ndarray of shape (k,)
            δ, the ratio parameter.

        Returns
        -------
        ndarray of shape (n,)
        """
        return np.asarray(expit(self.scores(intercept, delta)))

    def weights(self, intercept: float, delta: Array) -> Array:
        """u/n_p of the pooled rows, the weights that estimate the prior of the p side; they sum to one at the optimum.

        Parameters
        ----------
        intercept : float
            α, the intercept.
        delta : ndarray of shape (k,)
            δ, the ratio parameter.

        Returns
        -------
        ndarray of shape (n,)
        """
        return self.probabilities(intercept, delta) / self.sizes[0]


def as_logistic_problem(x: Any, name: str = "problem") -> LogisticProblem:
    """Return x if it is a logistic problem; otherwise raise :class:`DataError`."""
    if not isinstance(x, LogisticProblem):
        raise DataError(name, f"is a {type(x).__name__}, not a LogisticProblem", "make a LogisticProblem(...)")
    return x


def likelihoods_at_both(x_p: Any, x_q: Any, log_lik_p: Any, log_lik_q: Any) -> tuple[Any, Any]:
    """Both log-likelihoods as pairs of arrays, at the rows of x_p and of x_q; None stays None."""
    if not (callable(log_lik_p) or callable(log_lik_q)):
        return log_lik_p, log_lik_q
    rows_p, rows_q, _ = check_samples(x_p, x_q, False)
    pairs = []
    for name, log_lik in (("log_lik_p", log_lik_p), ("log_lik_q", log_lik_q)):
        if callable(log_lik):
            pairs.append(tuple(log_likelihood(log_lik, x, name, whole=False) for x in (rows_p, rows_q)))
        else:
            pairs.append(log_lik)
    return pairs[0], pairs[1]


def _at_both(pair: Any, name: str, n_p: int, n_q: int) -> Array | None:
    """Log-likelihood of the pooled rows from a pair of arrays."""
    if pair is None:
        return None
    if not (isinstance(pair, tuple | list) and len(pair) == 2 and all(np.ndim(part) for part in pair)):
        reason = "logistic regression needs it at the rows of both samples"
        raise DataError(name, reason, "pass a function of samples, or a pair of its values at x_p and at x_q")
    parts = [as_vector(part, name, n, log_weights="any") for part, n in zip(pair, (n_p, n_q), strict=True)]
    return np.concatenate(parts)


def _common_support(log_lik: Array, n_p: int) -> NDArray[np.bool_]:
    """Rows where both likelihoods are positive; raise if only one of them is, where no finite ratio exists."""
    positive = log_lik > -np.inf
    for i in np.flatnonzero(positive[0] != positive[1])[:1]:
        zero, other = ("p", "q") if positive[1, i] else ("q", "p")
        where = f"row {i} of x_p" if i < n_p else f"row {i - n_p} of x_q"
        reason = f"is -inf at {where}, where log_lik_{other} is finite: the ratio of the posteriors is not finite there"
        raise DataError(f"log_lik_{zero}", reason, "leave such rows out, or use PosteriorRatio")
    return np.asarray(positive.all(axis=0))
