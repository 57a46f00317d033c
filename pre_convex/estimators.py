"""Estimators in scikit-learn's manner: parameters in ``__init__``, results with a trailing underscore."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from .arrays import as_choice, as_count, as_flag, as_matrix, as_scalar, column_names
from .bootstrap import bootstrap
from .checks import LARGEST
from .diagnostics import Diagnostics, diagnose
from .distributed import is_dask
from .entropy import Array, exp, log_normalise, log_sum_exp
from .errors import DataError
from .features import Concatenation, FeatureMap, make_features
from .inference import Inference, Interval, WaldTest, confidence, share
from .influence import KINDS
from .kernels import Kernel
from .likelihoods import log_likelihood
from .norms import get_norm
from .problem import RatioProblem
from .report import Report, make_report
from .rng import Rng, as_generator, as_seed
from .selection import RadiusChoice, automatic_radius, cross_validated_kernel, cross_validated_radius
from .solution import Solution
from .solvers import solve
from .threads import one_thread_each

__all__ = ["KLIEP", "PluginRatio", "PosteriorRatio", "UnfittedError"]


class UnfittedError(DataError, NotFittedError):  # type: ignore[misc]
    """An estimator is asked before it is fitted; scikit-learn's ``NotFittedError`` too."""


class PosteriorRatio(BaseEstimator):  # type: ignore[misc]
    """Ratio of two posteriors p(x|y_p)/q(x|y_q) from prior samples and likelihoods.

    Parameters
    ----------
    features : str, FeatureMap or callable
        ``"linear"``, ``"polynomial"``, ``"autocorrelation"``, ``"lag-products"``, ``"kernel"``, a map or a function.
    formulation : {"primal", "dual"}
    solver : str
    radius : float, "auto" or "cv"
        Relaxation radius; ``"auto"`` is the 1 − alpha quantile of the noise of the moment residual, which falls with
        the root of n; ``"cv"`` cross-validates.
    norm : {2, inf, 1}
    penalty, constraints : callables of a cvxpy expression, optional
    tol : float
    alpha : float
        For ``radius="auto"``.
    cv : int
        Folds for ``radius="cv"``.
    one_se : bool
        Whether ``"cv"`` takes the largest radius within one standard error of the best.
    paired : bool
        Whether x_p and x_q are the same rows.
    random_state : int, sequence of int, SeedSequence, BitGenerator, Generator or None
        Where folds, simulated quantile and landmarks come from: what is ``rng`` elsewhere, under scikit-learn's name.
        A generator moves on with every fit; None gives other numbers every time.

    Attributes
    ----------
    delta_, mu_ : ndarray
        Ratio parameters and weights on the q sample.
    divergence_ : float
        KL(μ̂ ‖ base weights), which is −ℓ_R(δ̂) without a penalty: the estimated divergence between the posteriors.
    solution_, problem_ : Solution, RatioProblem
    radius_ : float
    radius_choice_ : RadiusChoice or None
    feature_names_ : tuple of str

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> fit = PosteriorRatio().fit(rng.normal(0.5, 1.0, (300, 1)), rng.normal(0.0, 1.0, (300, 1)))
    >>> fit.delta_.round(2), fit.log_ratio([[1.0]]).round(2)
    (array([0.54]), array([0.41]))
    """

    def __init__(
        self,
        features: Any = "linear",
        *,
        formulation: str = "primal",
        solver: str = "auto",
        radius: float | str = 0.0,
        norm: float = 2,
        penalty: Any = None,
        constraints: Any = None,
        tol: float = 1e-8,
        alpha: float = 0.05,
        cv: int = 5,
        one_se: bool = True,
        paired: bool = False,
        random_state: Rng = 0,
    ) -> None:
        self.features = features
        self.formulation = formulation
        self.solver = solver
        self.radius = radius
        self.norm = norm
        self.penalty = penalty
        self.constraints = constraints
        self.tol = tol
        self.alpha = alpha
        self.cv = cv
        self.one_se = one_se
        self.paired = paired
        self.random_state = random_state

    @one_thread_each()
    def fit(self, x_p: Any, x_q: Any, log_lik_p: Any = None, log_lik_q: Any = None) -> PosteriorRatio:
        """Estimate the ratio.

        Parameters
        ----------
        x_p, x_q : arrays of shape (n_p, d) and (n_q, d), or data frames
        log_lik_p, log_lik_q : arrays, functions x -> (n,), or None
        """
        seed = as_seed(self.random_state, "random_state")
        share(self.alpha, "alpha")
        as_count(self.cv, "cv", 2)
        as_flag(self.one_se, "one_se")
        as_flag(self.paired, "paired")
        columns = column_names(x_p) or column_names(x_q)
        self.features_ = self._feature_map(x_p, x_q, log_lik_p, log_lik_q, seed)
        problem = RatioProblem.from_samples(
            x_p, x_q, log_lik_p, log_lik_q, features=self.features_, norm=self.norm, paired=self.paired
        )
        self.n_features_in_ = int(x_p.shape[1]) if is_dask(x_p) else as_matrix(x_p, "x_p").shape[1]
        if columns is not None:
            self.feature_names_in_ = np.array(columns, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self.radius_choice_ = self._choose_radius(problem, seed)
        chosen = self.radius_choice_
        self.radius_ = as_scalar(self.radius, "radius") if chosen is None else chosen.radius
        self.problem_ = problem.with_radius(self.radius_)
        maps = self.features_.parts if isinstance(self.features_, Concatenation) else (self.features_,)
        if any(isinstance(part, Kernel) for part in maps) and not self.radius_ > 0.0:
            raise DataError(
                "radius: a kernel needs a positive radius; it has as many features as points, so that with radius 0 "
                "the target lies outside the hull, or so close to its boundary that δ follows noise; use "
                "radius='auto' or 'cv'"
            )
        self.solution_: Solution = solve(
            self.problem_,
            self.formulation,
            self.solver,
            penalty=self.penalty,
            constraints=self.constraints,
            tol=self.tol,
        )
        self.delta_ = self.solution_.delta
        self._known: dict[str, Any] = {}
        plain = self.penalty is None and self.constraints is None
        self.divergence_ = -(self.solution_.primal_value if plain else self.problem_.dual_value(self.mu_))
        self.feature_names_ = self.problem_.feature_names
        return self

    def _feature_map(self, x_p: Any, x_q: Any, log_lik_p: Any, log_lik_q: Any, seed: Any) -> FeatureMap:
        """The feature map, with landmarks among the samples if it is a kernel."""
        features = make_features(self.features)
        if is_dask(x_p) or is_dask(x_q):
            return features  # a kernel without landmarks is refused where the blocks are put together
        if isinstance(features, Kernel) and features.length_scale == "cv":
            samples = (x_p, x_q, log_lik_p, log_lik_q)
            return cross_validated_kernel(features, *samples, folds=self.cv, paired=self.paired, rng=seed)
        parts = features.parts if isinstance(features, Concatenation) else (features,)
        if any(isinstance(part, Kernel) for part in parts) and get_norm(self.norm).order != 2:
            raise DataError("norm: a kernel's features are coordinates of an RKHS, whose norm is norm=2")
        if not any(isinstance(part, Kernel) and part.factor is None for part in parts):
            return features
        points = np.concatenate([as_matrix(x_p, "x_p"), as_matrix(x_q, "x_q")])
        rng = as_generator(seed)
        fitted = [part.fitted(points, rng) if isinstance(part, Kernel) else part for part in parts]
        return fitted[0] if len(fitted) == 1 else Concatenation(tuple(fitted))

    def _choose_radius(self, problem: RatioProblem, seed: Any) -> RadiusChoice | None:
        """The radius by name; ``None`` when it is a number."""
        if not isinstance(self.radius, str):
            return None
        if self.radius not in ("auto", "cv"):
            raise DataError(f"radius: {self.radius!r} is not known; use a number, 'auto' or 'cv'")
        if not (self.penalty is None and self.constraints is None):
            raise DataError("radius: 'auto' and 'cv' know nothing of a penalty or constraints; give a number with them")
        if self.radius == "auto":
            return automatic_radius(problem, alpha=self.alpha, rng=seed)
        return cross_validated_radius(problem, folds=self.cv, one_se=self.one_se, rng=seed)

    @property
    def mu_(self) -> Array:
        """Weights of the q samples, computed when they are first asked for."""
        self._fitted()
        return self.solution_.mu

    def _fitted(self) -> None:
        if not hasattr(self, "solution_"):
            raise UnfittedError(f"this {type(self).__name__} is not fitted yet; call fit first")

    def _rows(self, x: Any, name: str = "x") -> Array:
        """New samples as a matrix with the columns of the fit, in its order."""
        self._fitted()
        wanted = getattr(self, "feature_names_in_", None)
        columns = column_names(x)
        if wanted is not None and columns is not None and tuple(wanted) != columns:
            missing = sorted(set(wanted) - set(columns))
            if missing:
                raise DataError(f"{name}: lacks the columns {', '.join(missing)} of the fit")
            rows = as_matrix(x, name)[:, [columns.index(c) for c in wanted]]
        else:
            rows = as_matrix(x, name)
        if rows.shape[1] != self.n_features_in_:
            raise DataError(f"{name}: has {rows.shape[1]} columns, the fit had {self.n_features_in_}")
        return rows

    def _features(self, rows: Array, name: str) -> Array:
        """Features of new samples, of a size that ⟨δ̂, f(x)⟩ does not overflow."""
        features = as_matrix(self.features_(rows), f"features({name})", limit=LARGEST)
        if features.shape[1] != self.problem_.k:
            raise DataError(f"features: {features.shape[1]} columns for {name}, the fit had {self.problem_.k}")
        return features

    @one_thread_each()
    def _log_ratio(self, x: Any, name: str) -> Array:
        features = self._features(self._rows(x, name), name)
        origin = self.problem_.rows.origin
        features = features if origin is None else features - origin
        return np.asarray(features @ self.delta_ - self._log_z())

    def _log_z(self) -> float:
        """Log Z of the fit, kept: it takes a pass over all its rows, and new points may come one at a time."""
        known: dict[str, Any] = getattr(self, "_known", {})  # made by fit: a prediction sets no attribute
        if known.get("delta") is not self.delta_:
            known.update(delta=self.delta_, log_z=self.problem_.tilt(self.delta_).log_z)
        return float(known["log_z"])

    def log_ratio(self, x: Any) -> Array:
        """Log r(x; δ̂) = ⟨δ̂, f(x)⟩ − log Z of [RATIO], shape (n,)."""
        return self._log_ratio(x, "x")

    def ratio(self, x: Any) -> Array:
        """r(x; δ̂); infinite where it is beyond the largest number, see :meth:`log_ratio`."""
        with np.errstate(over="ignore"):
            return exp(self.log_ratio(x))

    @one_thread_each()
    def score(self, x_p: Any, x_q: Any, log_lik_p: Any = None, log_lik_q: Any = None) -> float:
        """Held-out −ℓ(δ̂): how well the ratio explains other samples; larger is better, zero for no ratio at all."""
        self._fitted()
        rows_p, rows_q = self._rows(x_p, "x_p"), self._rows(x_q, "x_q")
        w = log_normalise(log_likelihood(log_lik_p, rows_p, "log_lik_p"))
        a = log_normalise(log_likelihood(log_lik_q, rows_q, "log_lik_q"))
        inner_p, inner_q = (self._features(r, n) @ self.delta_ for r, n in ((rows_p, "x_p"), (rows_q, "x_q")))
        return float(exp(w) @ inner_p - log_sum_exp(a + inner_q))

    def inference(self, kind: str = "centred") -> Inference:
        """Uncertainty of the fit; refused with a reason where intervals would be wrong."""
        self._fitted()
        if self.penalty is not None or self.constraints is not None:
            raise DataError("penalty: intervals of a penalised or constrained fit would be wrong; fit without them")
        return Inference(self.problem_, self.delta_, kind=kind)

    def covariance(self, kind: str = "centred") -> Array:
        """Covariance of δ̂."""
        return self.inference(kind).covariance

    def conf_int(self, level: float = 0.95, kind: str = "centred") -> Interval:
        """Confidence intervals of the coefficients."""
        return self.inference(kind).conf_int(level)

    def log_ratio_interval(self, x: Any, level: float = 0.95, kind: str = "centred") -> Interval:
        """Confidence intervals of log r at new points."""
        rows = self._rows(x)
        return self.inference(kind).log_ratio(self._features(rows, "x"), level)

    def divergence_interval(self, level: float = 0.95, kind: str = "centred") -> Interval:
        """Confidence interval of the divergence."""
        return self.inference(kind).divergence(level)

    def divergence_p_value(self, kind: str = "centred") -> float:
        """p-value of δ = 0 from the divergence, whose law there is a weighted χ²."""
        return self.inference(kind).divergence_p_value()

    def in_region(self, delta: Any, level: float = 0.95, kind: str = "centred") -> bool:
        """Whether δ lies in the joint confidence ellipsoid."""
        return self.inference(kind).contains(delta, level)

    def wald_test(self, hypothesis: Any = None, value: Any = 0.0, kind: str = "centred") -> WaldTest:
        """Wald test of δ = 0, or of L δ = value."""
        return self.inference(kind).wald_test(hypothesis, value)

    def bootstrap(self, replicates: int = 200, *, rng: Rng = 0, jobs: int = 1, progress: bool = False) -> Array:
        """δ̂ of resampled data, shape (replicates, k): a check of the analytic covariance."""
        self._fitted()
        terms = {"penalty": self.penalty, "constraints": self.constraints}
        return bootstrap(self.problem_, self.delta_, replicates, rng=rng, jobs=jobs, progress=progress, **terms)

    def diagnostics(self) -> Diagnostics:
        """Effective sample sizes, weights, balance, conditioning, and warnings."""
        self._fitted()
        return diagnose(self.problem_, self.solution_)

    def summary(self, level: float = 0.95, kind: str = "centred") -> Report:
        """Coefficients with their uncertainty, divergence, certificate, effective sample sizes and warnings."""
        self._fitted()
        level, kind = confidence(level), as_choice(kind, "kind", KINDS)
        inference, refusal = None, ""
        try:
            inference = self.inference(kind)
        except DataError as error:
            refusal = str(error).split(": ", 1)[1]
        diagnostics = self.diagnostics()
        title = f"{type(self).__name__}, n_p = {diagnostics.n_p}, n_q = {diagnostics.n_q}"
        return make_report(
            title, self.problem_, self.solution_, diagnostics, inference, refusal, level, self.divergence_
        )

    def to_frame(self, backend: str = "pandas", level: float = 0.95) -> Any:
        """The summary's table as a data frame of pandas or polars."""
        return self.summary(level).to_frame(backend)

    def to_latex(self, level: float = 0.95) -> str:
        """The summary's table as a LaTeX tabular."""
        return self.summary(level).to_latex()

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "solution_")


class KLIEP(PosteriorRatio):
    """Density ratio p(x)/q(x) by log-linear KLIEP: a :class:`PosteriorRatio` without likelihoods."""

    def fit(self, x_p: Any, x_q: Any) -> KLIEP:  # type: ignore[override]
        """Estimate the density ratio."""
        super().fit(x_p, x_q)
        return self

    def score(self, x_p: Any, x_q: Any) -> float:  # type: ignore[override]
        """Held-out −ℓ(δ̂)."""
        return super().score(x_p, x_q)


class PluginRatio(KLIEP):
    """Prior ratio by KLIEP times the likelihood ratio: the estimator that ignores the likelihoods while fitting.

    Normalised such that the ratio averages to one under the q posterior. The likelihoods must be functions, since they
    are needed at new points, or ``None``.
    """

    @one_thread_each()
    def fit(self, x_p: Any, x_q: Any, log_lik_p: Any = None, log_lik_q: Any = None) -> PluginRatio:
        """Estimate the prior ratio and keep the likelihoods."""
        for name, term in (("log_lik_p", log_lik_p), ("log_lik_q", log_lik_q)):
            if term is not None and not callable(term):
                raise DataError(f"{name}: must be a function of x, because it is needed at new points")
        super().fit(x_p, x_q)
        self.log_lik_p_, self.log_lik_q_ = log_lik_p, log_lik_q
        rows = self._rows(x_q, "x_q")
        a = log_normalise(log_likelihood(log_lik_q, rows, "log_lik_q"))
        can = a > -np.inf  # a row without weight has no part in the mean, whatever its ratio
        self.log_constant_ = log_sum_exp(a[can] + self._unnormalised(rows[can], "x_q"))
        self.divergence_ = -self._loss(x_p, x_q, log_lik_p, log_lik_q)
        return self

    def _unnormalised(self, rows: Array, name: str) -> Array:
        prior = super()._log_ratio(rows, name)
        l_p = log_likelihood(self.log_lik_p_, rows, "log_lik_p", whole=False)
        l_q = log_likelihood(self.log_lik_q_, rows, "log_lik_q", whole=False)
        neither = np.flatnonzero((l_p == -np.inf) & (l_q == -np.inf))
        if neither.size:
            raise DataError(
                f"{name}: row {neither[0]} cannot occur under either likelihood, so that its ratio is 0/0; leave it out"
            )
        return np.asarray(prior + l_p - l_q)

    @one_thread_each()
    def _log_ratio(self, x: Any, name: str) -> Array:
        """Log prior ratio plus log-likelihood ratio, normalised."""
        return self._unnormalised(self._rows(x, name), name) - self.log_constant_

    def inference(self, kind: str = "centred") -> Inference:
        """Refused: the coefficients are those of the prior ratio alone."""
        raise DataError(
            "PluginRatio: its coefficients are those of the prior ratio, and intervals of the posterior ratio do not "
            "follow from them; use PosteriorRatio, or KLIEP for the prior ratio"
        )

    def _loss(self, x_p: Any, x_q: Any, log_lik_p: Any, log_lik_q: Any) -> float:
        rows_p, rows_q = self._rows(x_p, "x_p"), self._rows(x_q, "x_q")
        w = log_normalise(log_likelihood(log_lik_p, rows_p, "log_lik_p"))
        a = log_normalise(log_likelihood(log_lik_q, rows_q, "log_lik_q"))
        p, q = w > -np.inf, a > -np.inf  # rows without weight have no part, whatever their ratio
        log_p, log_q = self._log_ratio(rows_p[p], "x_p"), self._log_ratio(rows_q[q], "x_q")
        return float(log_sum_exp(a[q] + log_q) - exp(w[p]) @ log_p)

    @one_thread_each()
    def score(self, x_p: Any, x_q: Any, log_lik_p: Any = None, log_lik_q: Any = None) -> float:
        """Held-out −ℓ of the plugin's log-ratio."""
        self._fitted()
        return -self._loss(x_p, x_q, log_lik_p, log_lik_q)
