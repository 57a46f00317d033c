"""MixtureKLIEP, Sugiyama's original KLIEP: the ratio as a mixture of kernels with non-negative weights."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from .._internal.entropy import log_normalise, safe_log
from .._internal.rng import Rng, as_generator, as_seed
from .._internal.threads import single_threaded_blas
from .._internal.typing import Array
from .._internal.validation import as_count, as_matrix, check_positive, check_tol, column_names, sample_names
from ..data.kernels import Kernel, median_length_scale
from ..data.likelihoods import log_likelihood
from ..errors import DataError
from ..problem import check_samples
from ..programs import Program
from ..programs.mixture import mixture_program
from ..solvers.mixture import MixtureSolution, solve_mixture
from ..statistics.ridge import Sample, standardisation
from .posterior_ratio import UnfittedError
from .reading import read_rows

__all__ = ["MixtureKLIEP"]

#: multiples of the median distance that are tried as length scale
LENGTH_SCALES = (0.0625, 0.125, 0.25, 0.5, 1.0, 2.0)
#: kernels with a smaller mean over the q sample are left out: the ratio has no support there
SMALL_MEAN = 1e-6
#: gap of the fits that are compared
SEARCH_TOL = 1e-4


class MixtureKLIEP(BaseEstimator):  # type: ignore[misc]
    """Density or posterior ratio as a mixture of Gaussian kernels [MKLIEP]; ``KLIEP(model="mixture")`` makes it too.

    r(x) = α_0 + Σ_l α_l exp(−|x − c_l|²/2s²) with α ≥ 0, normalised to mean one over the q sample, maximises
    Σ w_i log r over the p sample. Centres c_l are p rows, columns are standardised, and with the constant α_0 the
    program always has a solution.
    Unlike the log-linear model the ratio cannot grow outside the samples, and there are no confidence intervals.

    Parameters
    ----------
    length_scale : float or "cv", default "cv"
        s, in standard deviations of the columns, or the multiple of the median distance with the smallest held-out
        logistic loss.
    centres : int, default 200
        Largest number of centres.
    cv : int, default 5
        Number of folds for ``"cv"``, at least 2.
    tol : float, default 1e-8
        Gap to reach, relative to 1 + the size of the objective; between 0 and 1.
    random_state : int, sequence of int, SeedSequence, BitGenerator, Generator or None, default 0
        Seed or generator of centres and folds.

    Attributes
    ----------
    alpha_ : ndarray of shape (m + 1,)
        α: the constant, and the weight of each centre.
    centres_ : ndarray of shape (m, d)
        c_l.
    length_scale_ : float
        s.
    mu_ : ndarray of shape (n_q,)
        Weights on the q sample, which sum to one: base weight times ratio.
    divergence_ : float
        Σ w_i log r(x_p,i), the estimated Kullback–Leibler divergence.
    solution_ : MixtureSolution
        Status, gap and number of steps.
    scores_ : dict of float to float
        Held-out logistic loss by length scale; empty if that was given.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x_p = np.concatenate([rng.normal(-2.0, 0.5, (200, 1)), rng.normal(2.0, 0.5, (200, 1))])
    >>> fit = MixtureKLIEP().fit(x_p, rng.normal(0.0, 2.0, (400, 1)))
    >>> fit.ratio([[-2.0], [0.0], [2.0]]).round(1), fit.solution_.status.name
    (array([4.1, 0. , 3.3]), 'OPTIMAL')
    """

    def __init__(
        self,
        length_scale: Any = "cv",
        *,
        centres: int = 200,
        cv: int = 5,
        tol: float = 1e-8,
        random_state: Rng = 0,
    ) -> None:
        self.length_scale = length_scale
        self.centres = centres
        self.cv = cv
        self.tol = tol
        self.random_state = random_state

    @single_threaded_blas()
    def fit(self, x_p: Any, x_q: Any, log_lik_p: Any = None, log_lik_q: Any = None) -> Self:
        """Estimate the ratio.

        Parameters
        ----------
        x_p, x_q : array of shape (n_p, d) and (n_q, d), data frame, or path
            Samples of the two densities or priors. Named columns are matched by name.
        log_lik_p, log_lik_q : array of shape (n,), function of samples, or None, default None
            Log-likelihoods of the samples, up to a constant, for a ratio of posteriors; they weight the rows.

        Returns
        -------
        MixtureKLIEP
            The estimator itself. If the fit fails, it is left as it was before.
        """
        count, folds, tol = as_count(self.centres, "centres"), as_count(self.cv, "cv", 2), check_tol(self.tol)
        search = isinstance(self.length_scale, str)
        if search and self.length_scale != "cv":
            raise DataError("length_scale", f"{self.length_scale!r} is not known", "pass a positive number or 'cv'")
        generator = as_generator(as_seed(self.random_state, "random_state"))
        x_p, x_q = read_rows(x_p, "x_p"), read_rows(x_q, "x_q")
        names = sample_names(x_p, x_q)
        x_p, x_q, _ = check_samples(x_p, x_q, False)
        if search and folds > min(len(x_p), len(x_q)):
            reason = f"{folds} folds need {folds} rows in each sample, not {len(x_p)} and {len(x_q)}"
            raise DataError("cv", reason, "use fewer folds or more rows")
        logs = log_likelihood(log_lik_p, x_p, "log_lik_p"), log_likelihood(log_lik_q, x_q, "log_lik_q")
        weight = np.concatenate([np.exp(log_normalise(one)) for one in logs])
        x = np.concatenate([x_p, x_q])
        centre, unit = standardisation(x, weight)
        is_p = np.repeat([True, False], [len(x_p), len(x_q)])
        sample = Sample((x - centre) / unit, is_p, weight, np.zeros(len(x)))
        chosen = _centres(sample, count, generator)
        scores: dict[float, float] = {}
        if search:
            fold = np.concatenate([generator.permutation(len(side)) % folds for side in (x_p, x_q)])
            median = median_length_scale(sample.x[weight > 0.0])
            scores = {s: _held_out(sample, chosen, s, fold, folds) for s in median * np.array(LENGTH_SCALES)}
            scale = min(scores, key=lambda s: scores[s])
        else:
            scale = check_positive(self.length_scale, "length_scale", "0.5")
        K, kept = _components(sample, chosen, scale, weight)
        means = weight[~is_p] @ K[~is_p]
        self.solution_: MixtureSolution = solve_mixture(K[is_p] / means, weight[is_p], tol)
        self.alpha_, self.length_scale_, self.scores_ = self.solution_.beta / means, float(scale), scores
        self._standardised, self._centre, self._unit = chosen[kept[1:]], centre, unit
        self.centres_ = self._standardised * unit + centre
        mu = weight[~is_p] * (K[~is_p] @ self.alpha_)
        self.mu_ = mu / mu.sum()
        self.divergence_ = self.solution_.value
        self._sample = sample
        self.n_features_in_ = x.shape[1]
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return self

    def _rows(self, x: Any, name: str = "x") -> Array:
        """New samples with the columns of the fit, in its order."""
        if not hasattr(self, "solution_"):
            raise UnfittedError(type(self).__name__, "is not fitted yet", "call fit first")
        x = read_rows(x, name)
        columns, rows = column_names(x), as_matrix(x, name)
        expected = getattr(self, "feature_names_in_", None)
        if expected is not None and columns is not None:
            missing = sorted(set(expected) - set(columns))
            if missing:
                raise DataError(name, f"lacks the columns {', '.join(missing)}", "pass all columns of the fit")
            rows = rows[:, [columns.index(one) for one in expected]]
        if rows.shape[1] != self.n_features_in_:
            reason = f"has {rows.shape[1]} columns, the fit had {self.n_features_in_}"
            raise DataError(name, reason, "pass the columns of the fit")
        return rows

    @single_threaded_blas()
    def _ratio(self, x: Any, name: str) -> Array:
        rows = (self._rows(x, name) - self._centre) / self._unit
        return np.asarray(_kernels(rows, self._standardised, self.length_scale_) @ self.alpha_)

    def ratio(self, x: Any) -> Array:
        """The ratio at new points.

        Parameters
        ----------
        x : array of shape (n, d) or data frame
            Points with the columns of the fit.

        Returns
        -------
        ndarray of shape (n,)
        """
        return self._ratio(x, "x")

    def log_ratio(self, x: Any) -> Array:
        """Logarithm of the ratio at new points.

        Parameters
        ----------
        x : array of shape (n, d) or data frame
            Points with the columns of the fit.

        Returns
        -------
        ndarray of shape (n,)
            −inf where the ratio is zero, which is far from all centres if the constant has no weight.
        """
        return safe_log(self._ratio(x, "x"))

    def sample_weight(self) -> Array:
        """Importance weights of the q sample with mean one, for the ``sample_weight`` of other models.

        Returns
        -------
        ndarray of shape (n_q,)
            One weight for each row of x_q, in its order.
        """
        self._rows(np.zeros((1, getattr(self, "n_features_in_", 1))))
        return np.asarray(self.mu_ * len(self.mu_))

    def score(self, x_p: Any, x_q: Any, log_lik_p: Any = None, log_lik_q: Any = None) -> float:
        """Held-out −ℓ: how well the ratio, normalised to mean one over the q rows given here, explains other samples.

        Parameters
        ----------
        x_p, x_q : array of shape (n_p, d) and (n_q, d), or data frame
            Other samples, with the columns of the fit.
        log_lik_p, log_lik_q : array of shape (n,), function of samples, or None, default None
            Their log-likelihoods, as in :meth:`fit`.

        Returns
        -------
        float
            An estimate of the divergence; larger is better.
        """
        log_p, ratio_q = safe_log(self._ratio(x_p, "x_p")), self._ratio(x_q, "x_q")
        w = np.exp(log_normalise(log_likelihood(log_lik_p, self._rows(x_p, "x_p"), "log_lik_p")))
        pi = np.exp(log_normalise(log_likelihood(log_lik_q, self._rows(x_q, "x_q"), "log_lik_q")))
        return float(w[w > 0.0] @ log_p[w > 0.0] - safe_log(pi @ ratio_q))

    def program(self) -> Program:
        """The program of the fit in cvxpy, to print, change, or solve with another solver.

        Returns
        -------
        Program
            Its ``recover`` gives (α, μ).
        """
        self._rows(np.zeros((1, getattr(self, "n_features_in_", 1))))
        K = _kernels(self._sample.x, self._standardised, self.length_scale_)
        p, weight = self._sample.is_p, self._sample.weight
        return mixture_program(K[p], K[~p], weight[p], weight[~p])

    def summary(self) -> str:
        """Length scale, components in use, divergence, certificate and effective sample size.

        Returns
        -------
        str
        """
        self._rows(np.zeros((1, getattr(self, "n_features_in_", 1))))
        found, p = self.solution_, self._sample.is_p
        chosen = "by cross-validation" if self.scores_ else "as given"
        ess = 1.0 / float(self.mu_ @ self.mu_)
        lines = [
            f"{type(self).__name__}, n_p = {p.sum()}, n_q = {(~p).sum()}",
            f"divergence    KL {self.divergence_:.4g}",
            f"length scale  {self.length_scale_:.4g} standard deviations, {chosen}",
            f"components    {int((found.beta > 1e-6).sum())} of {found.beta.size} have a share above 1e-6",
            f"constant      share {found.beta[0]:.3g}",
            f"certificate   gap {found.gap:.1e}, {found.status.name.lower()}, {found.iterations} iterations",
            f"ESS           weights {ess:.0f} of {(~p).sum()}",
        ]
        return "\n".join(lines)

    def plot(self, *, ax: Any = None) -> Any:
        """The ratio over the columns of the fit if there are one or two, otherwise along the first.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; a new figure when left out.

        Returns
        -------
        matplotlib Axes
        """
        plots = import_module("..plots", __package__)  # figures are drawn from fits, not the reverse
        d = getattr(self, "n_features_in_", 1)
        return plots.plot_ratio(self, columns=tuple(range(d)) if d <= 2 else 0, ax=ax)

    def _rows_to_show(self) -> Array:
        """The q rows of the fit."""
        self._rows(np.zeros((1, getattr(self, "n_features_in_", 1))))
        return np.asarray(self._sample.x[~self._sample.is_p] * self._unit + self._centre)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "solution_")


def _centres(sample: Sample, count: int, rng: np.random.Generator) -> Array:
    """Rows of the p sample without repeats, drawn in proportion to their weights."""
    positive = np.flatnonzero(sample.is_p & (sample.weight > 0.0))
    if count < positive.size:
        share = sample.weight[positive] / sample.weight[positive].sum()
        positive = np.sort(rng.choice(positive, count, replace=False, p=share))
    return np.unique(sample.x[positive], axis=0)


def _kernels(x: Array, centres: Array, scale: float) -> Array:
    """A column of ones, and one for each centre, of which there may be none."""
    if not len(centres):
        return np.ones((len(x), 1))
    return np.hstack((np.ones((len(x), 1)), Kernel(length_scale=scale).gram(x, centres)))


def _components(sample: Sample, centres: Array, scale: float, weight: Array) -> tuple[Array, Array]:
    """Kernels at all rows without those that are far from the q rows, and which were kept."""
    K = _kernels(sample.x, centres, scale)
    kept = weight[~sample.is_p] @ K[~sample.is_p] > SMALL_MEAN
    return K[:, kept], kept


def _held_out(sample: Sample, centres: Array, scale: float, fold: Array, folds: int) -> float:
    """Held-out logistic loss of a length scale; inf if the ratio is zero at a held-out p row."""
    total, p = 0.0, sample.is_p
    for i in range(folds):
        weight = sample.restricted(fold != i)
        K, _ = _components(sample, centres, scale, weight)
        means = weight[~p] @ K[~p]
        beta = solve_mixture(K[p] / means, weight[p], SEARCH_TOL).beta
        total += float(sample.held_out(safe_log(K @ (beta / means)))[fold == i].sum())
    return total
