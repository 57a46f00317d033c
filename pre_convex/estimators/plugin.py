"""PluginRatio, a baseline: the estimated prior ratio times the likelihood ratio."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from .._internal.entropy import log_normalise, log_sum_exp
from .._internal.threads import single_threaded_blas
from .._internal.typing import Array
from ..data.likelihoods import log_likelihood
from ..errors import DataError
from ..statistics.inference import Inference
from .kliep import KLIEP

__all__ = ["PluginRatio"]


class PluginRatio(KLIEP):
    """Prior ratio by KLIEP times the likelihood ratio: an estimator that ignores the likelihoods while fitting.

    It is normalised so that the ratio averages to one under the q posterior. Parameters are those of
    :class:`PosteriorRatio`.

    Attributes
    ----------
    delta_ : ndarray of shape (k,)
        Parameter of the prior ratio, as in :class:`KLIEP`; so are ``mu_``, which sums to one, and ``solution_``.
    divergence_ : float
        −ℓ of the plug-in's log ratio on the samples of the fit.
    log_lik_p_, log_lik_q_ : function or None
        The likelihoods.
    log_constant_ : float
        Logarithm of the normalising constant.

    Examples
    --------
    >>> import pre_convex as pre
    >>> rng = np.random.default_rng(0)
    >>> x_p, x_q = rng.normal(0.5, 1.0, (300, 1)), rng.normal(0.0, 1.0, (300, 1))
    >>> PluginRatio().fit(x_p, x_q, pre.Gaussian([1.0]), pre.Gaussian([0.0])).log_ratio([[1.0]]).round(2)
    array([0.96])
    """

    def fit(self, x_p: Any, x_q: Any, log_lik_p: Any = None, log_lik_q: Any = None) -> Self:
        """Estimate the prior ratio and keep the likelihoods.

        Parameters
        ----------
        x_p, x_q : array of shape (n_p, d) and (n_q, d), or data frame
            Samples of the two priors. Named columns are matched by name.
        log_lik_p, log_lik_q : function of samples, or None, default None
            Log-likelihoods up to a constant. They must be functions, because they are evaluated at new points; None
            for a constant likelihood.

        Returns
        -------
        PluginRatio
            The estimator itself.
        """
        return self._fit_copy(x_p, x_q, log_lik_p, log_lik_q)

    @single_threaded_blas()
    def _fit(self, x_p: Any, x_q: Any, log_lik_p: Any = None, log_lik_q: Any = None) -> None:
        for name, term in (("log_lik_p", log_lik_p), ("log_lik_q", log_lik_q)):
            if term is not None and not callable(term):
                raise DataError(
                    name, "must be a function, because it is evaluated at new points", "pass a function of x"
                )
        super()._fit(x_p, x_q)
        self.problem_.require_exponential("PluginRatio")
        self.log_lik_p_, self.log_lik_q_ = log_lik_p, log_lik_q
        rows = self._rows(x_q, "x_q")
        a = log_normalise(log_likelihood(log_lik_q, rows, "log_lik_q"))
        positive = a > -np.inf  # rows without weight do not count, even if their ratio is infinite
        self.log_constant_ = log_sum_exp(a[positive] + self._unnormalised(rows[positive], "x_q"))
        self.divergence_ = -self._loss(x_p, x_q, log_lik_p, log_lik_q)

    def _unnormalised(self, rows: Array, name: str) -> Array:
        """Log prior ratio plus log-likelihood ratio."""
        prior = super()._log_ratio(rows, name)
        l_p = log_likelihood(self.log_lik_p_, rows, "log_lik_p", whole=False)
        l_q = log_likelihood(self.log_lik_q_, rows, "log_lik_q", whole=False)
        neither = np.flatnonzero((l_p == -np.inf) & (l_q == -np.inf))
        if neither.size:
            raise DataError(
                name, f"row {neither[0]} has zero likelihood on both sides, a ratio of 0/0", "drop that row"
            )
        return np.asarray(prior + l_p - l_q)

    @single_threaded_blas()
    def _log_ratio(self, x: Any, name: str) -> Array:
        return self._unnormalised(self._rows(x, name), name) - self.log_constant_

    def inference(self, kind: str = "auto") -> Inference:
        """Always refused: δ belongs to the prior ratio, which gives no intervals for the posterior ratio.

        Parameters
        ----------
        kind : {"auto", "profile", "score", "hc3", "centred", "paper"}, default "auto"
            Not used: there are no intervals of any kind.

        Raises
        ------
        DataError
        """
        raise DataError(
            "PluginRatio",
            "its coefficients belong to the prior ratio, which gives no intervals for the posterior ratio",
            "use PosteriorRatio, or KLIEP for the prior ratio",
        )

    def _score_inference(self) -> Inference:
        return self.inference()

    def _loss(self, x_p: Any, x_q: Any, log_lik_p: Any, log_lik_q: Any) -> float:
        rows_p, rows_q = self._rows(x_p, "x_p"), self._rows(x_q, "x_q")
        w = log_normalise(log_likelihood(log_lik_p, rows_p, "log_lik_p"))
        a = log_normalise(log_likelihood(log_lik_q, rows_q, "log_lik_q"))
        p, q = w > -np.inf, a > -np.inf  # as in fit
        log_p, log_q = self._log_ratio(rows_p[p], "x_p"), self._log_ratio(rows_q[q], "x_q")
        return float(log_sum_exp(a[q] + log_q) - np.exp(w[p]) @ log_p)

    @single_threaded_blas()
    def score(self, x_p: Any, x_q: Any, log_lik_p: Any = None, log_lik_q: Any = None) -> float:
        """Held-out −ℓ of the plug-in's log ratio.

        Parameters
        ----------
        x_p, x_q : array of shape (n_p, d) and (n_q, d), or data frame
            Other samples of the two priors, with the columns of the fit.
        log_lik_p, log_lik_q : array of shape (n,), function of samples, or None, default None
            Log-likelihoods of these samples, up to a constant.

        Returns
        -------
        float
            An estimate of the divergence; larger is better.
        """
        self._check_fitted()
        return -self._loss(x_p, x_q, log_lik_p, log_lik_q)
