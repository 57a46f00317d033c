"""PosteriorRatio: the ratio of two posteriors in scikit-learn's style."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from .._internal.entropy import log_normalise, log_sum_exp
from .._internal.rng import Rng, as_generator, as_seed
from .._internal.threads import single_threaded_blas
from .._internal.typing import Array
from .._internal.validation import (
    MAX_ENTRY,
    as_choice,
    as_count,
    as_flag,
    as_fraction,
    as_matrix,
    column_names,
    sample_names,
)
from ..data.features import Concatenation, FeatureMap, Linear, Polynomial, make_features
from ..data.kernels import Kernel, shortened
from ..data.likelihoods import log_likelihood
from ..errors import DataError, InfeasibleError, renamed_arguments, warn_caller
from ..penalties.norms import get_norm
from ..problem import RatioProblem, check_samples
from ..solution import Solution
from ..solvers import Settings, solve
from ..statistics.bootstrap import bootstrap
from ..statistics.debias import MAX_REMAINDER, debiased
from ..statistics.diagnostics import (
    Diagnostics,
    diagnose_tilted,
    fit_warnings,
    radius_warnings,
    solution_weights,
)
from ..statistics.inference import KINDS, Inference, Interval, WaldTest, infer
from ..statistics.linked import LinkedProblem
from ..statistics.missed import product_warnings
from ..statistics.null import ScoreTest
from ..statistics.selection import (
    RadiusChoice,
    automatic_radius,
    cross_validated_kernel,
    cross_validated_radius,
    radius_noise_df,
)
from ..statistics.staged import FeatureChoice, part_radius
from ..statistics.tilted import TiltedProblem
from .advice import infeasible_fit
from .automatic import automatic_features, is_automatic
from .reading import in_blocks, read_rows, read_sample, some_rows, split_likelihood, width_of
from .report import Report, make_report, of_features
from .standardising import feature_units, in_units, kernel_features, kernels_of, own_scale, parts_of

__all__ = ["PosteriorRatio", "UnfittedError"]


#: q rows that a fit keeps for plots
SHOWN = 1500


class UnfittedError(DataError, NotFittedError):  # type: ignore[misc]
    """The estimator has not been fitted; also scikit-learn's ``NotFittedError``."""


class PosteriorRatio(BaseEstimator):  # type: ignore[misc]
    """Ratio of two posteriors p(x|y_p)/q(x|y_q) from prior samples and likelihoods.

    Parameters
    ----------
    features : str, FeatureMap or function, default "linear"
        Features f(x) of the log-linear model log r(x) = ⟨δ, f(x)⟩ − log Z: ``"linear"``, ``"polynomial"`` (squares),
        ``"quadratic"`` (products of two columns too), ``"autocorrelation"``, ``"lag-products"``, ``"kernel"``, a
        feature map such as ``Polynomial(degree=3)``, or a function from shape (n, d) to (n, k). ``"auto"`` chooses
        linear or quadratic features and, if it helps, a kernel, with penalties, by cross-validation; see
        :func:`~pre_convex.statistics.staged.staged_features`.
    formulation : {"primal", "dual"}, default "primal"
        Program that is solved: [P] for δ or [D] for the weights. Both have the same solution.
    solver : str, default "auto"
        ``"auto"`` or ``"newton"`` for the package's own engine, or a name of :func:`~pre_convex.installed_solvers`.
    radius : float, array of shape (k,), dict, "auto" or "cv", default 0.0
        Relaxation R ≥ 0 of the moment constraint ‖b − F'μ‖ ≤ R; it adds the penalty R‖δ‖_*. It is in standard
        deviations of the features, or in their units with ``standardise=False``. 0 matches the moments exactly;
        confidence intervals require it. ``"auto"`` takes the 1 − alpha quantile of the noise of the moments, which
        decreases as 1/√n; with a kernel, the part of the kernel and that of other features each have the penalty with
        the smallest held-out logistic loss. ``"cv"`` cross-validates one radius by held-out −ℓ. An array, or a dict by
        name, has one radius for each feature, as in :class:`RatioProblem`.
    norm : {2, inf, 1} or None, default None
        Norm of the moment constraint; δ is penalised by the dual norm. ``norm=2`` shrinks all coefficients,
        ``norm=inf`` gives a sparse δ: its ℓ1 penalty sets coefficients to zero. ``norm=1`` limits the largest
        coefficient. None means 2, or the norm of a named ``penalty``. Without a radius the norm has no effect. Kernels
        need ``norm=2``.
    penalty : {"l1", "l2"} or function of a cvxpy expression, optional
        A name picks the norm by the penalty that the radius puts on δ: ``"l1"`` is ``norm=inf``, ``"l2"`` is
        ``norm=2``. A function returns a convex cvxpy expression of δ that is added to the objective, such as
        ``lambda d: 0.1 * cp.norm1(d)``.
    constraints : function of a cvxpy expression, optional
        Returns a list of convex cvxpy constraints on δ, such as ``lambda d: [d >= 0]``.
    divergence : {"kl", "chi2", "reverse-kl"}, default "kl"
        Divergence of the weights from the base weights, which determines the form of the ratio: exp(c + ⟨δ, f(x)⟩),
        1 + c + ⟨δ, f(x)⟩ or 1/(1 − c − ⟨δ, f(x)⟩), clipped to the bounds. ``"auto"`` and ``"cv"`` are for KL without
        bounds.
    bounds : pair (lo, hi), optional
        Bounds on the ratio, numbers or one for each q row; (0, inf) by default, so that a ratio of ``"chi2"`` is zero
        where the straight line is negative. New points get the loosest of bounds that differ between rows.
    max_weight : float, optional
        The largest weight of a q row, as a share of the total.
    standardise : bool, default True
        Whether a radius is in standard deviations of the q features under the base weights, so that the fit does not
        depend on the units of the columns. Kernel features are never scaled. It changes nothing without a radius, and
        ``delta_`` is in the units of the features in any case.
    tol : float, default None
        Duality gap to reach, relative to 1 + the size of the objective; between 0 and 1. None uses that of the
        settings, 1e-8 by default.
    settings : Settings, default None
        Limits and other settings of the solve; None takes the defaults.
    alpha : float, default 0.05
        For ``radius="auto"``: the probability that the noise exceeds the radius, between 0 and 1.
    cv : int, default 5
        For ``radius="cv"`` and ``Kernel(length_scale="cv")``: the number of folds, at least 2.
    one_se : bool, default True
        For ``radius="cv"``: whether to take the largest radius within one standard error of the best, or the best.
    paired : bool, default False
        Whether row i of x_p and of x_q is the same observation, which changes standard errors.
    random_state : int, sequence of int, SeedSequence, BitGenerator, Generator or None, default 0
        Seed or generator of folds, simulated noise and landmarks; called ``rng`` in the rest of the package. With a
        seed, fits are deterministic; with a generator or None, they vary from fit to fit.

    Attributes
    ----------
    delta_ : ndarray of shape (k,)
        The ratio parameter δ̂: change of the log ratio per unit of each feature.
    mu_ : ndarray of shape (n_q,)
        Weights on the q sample, not negative; they sum to one. Under them the q features have the moments of the p
        side, up to the radius.
    divergence_ : float
        Estimated divergence between the posteriors, Kullback–Leibler by default: KL(μ̂ ‖ base weights), which is
        −ℓ_R(δ̂) without a penalty.
    solution_ : Solution
        The solution of ``problem_`` with its status and duality gap.
    problem_ : RatioProblem
        The problem that was solved. With a radius and ``standardise=True`` its features are divided by ``scale_``, so
        that its δ, and that of ``solution_``, is ``delta_ * scale_``.
    scale_ : ndarray of shape (k,)
        Standard deviations by which the features of ``problem_`` are divided; ones without a radius, and for kernels.
    radius_ : float or ndarray of shape (k,)
        The radius in use, for the features of ``problem_``.
    feature_choice_ : FeatureChoice or None
        What ``features="auto"`` compared; None for other features and for fits read from a file.
    radius_choice_ : RadiusChoice or None
        How ``"auto"`` or ``"cv"`` chose the radius; None if it was given as a number.
    features_ : FeatureMap
        The feature map in use; a kernel with its landmarks.
    feature_names_ : tuple of str
        Names of the k features.
    n_features_in_ : int
        Columns of the samples.
    feature_names_in_ : ndarray of str
        Names of these columns; only if the samples had names.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> fit = PosteriorRatio().fit(rng.normal(0.5, 1.0, (300, 1)), rng.normal(0.0, 1.0, (300, 1)))
    >>> fit.delta_.round(2), fit.log_ratio([[1.0]]).round(2)
    (array([0.54]), array([0.41]))
    """

    #: rows of the q sample and their base weights, for plots
    _shown: tuple[Array, Array] | None = None

    def __init__(
        self,
        features: Any = "linear",
        *,
        formulation: str = "primal",
        solver: str = "auto",
        radius: Any = 0.0,
        norm: float | None = None,
        penalty: Any = None,
        constraints: Any = None,
        divergence: str = "kl",
        bounds: Any = None,
        max_weight: float | None = None,
        standardise: bool = True,
        tol: float | None = None,
        settings: Settings | None = None,
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
        self.divergence = divergence
        self.bounds = bounds
        self.max_weight = max_weight
        self.standardise = standardise
        self.tol = tol
        self.settings = settings
        self.alpha = alpha
        self.cv = cv
        self.one_se = one_se
        self.paired = paired
        self.random_state = random_state

    #: loss of the fits that ``features="auto"`` compares
    _search_loss = "kl"

    def fit(self, x_p: Any, x_q: Any, log_lik_p: Any = None, log_lik_q: Any = None) -> Self:
        """Estimate the ratio.

        Parameters
        ----------
        x_p, x_q : array of shape (n_p, d) and (n_q, d), data frame, or path
            Samples of the two priors. Named columns are matched by name. Paths are CSV (also gzipped), npz, npy,
            Parquet and Zarr files, or folders of Parquet files. Dask collections, and files of more than 256 MB, are
            read block by block.
        log_lik_p, log_lik_q : array of shape (n,), function of samples, column name, or None, default None
            Log-likelihoods log p(y_p|x) and log q(y_q|x) of the samples, up to a constant; −inf for a row that cannot
            occur. A named column is taken out of the sample. None for a constant likelihood.

        Returns
        -------
        PosteriorRatio
            The estimator itself. If the fit fails, it is left as it was before.

        Warns
        -----
        PreConvexWarning
            If the answer rests on few rows, with the texts of :meth:`diagnostics`: a tiny effective sample size, a
            heavy tail of the weights, a target that is matched only because of the radius.
        """
        return self._fit_copy(x_p, x_q, log_lik_p, log_lik_q)

    def _fit_copy(self, *data: Any) -> Self:
        """Run ``_fit`` on a copy and take over its attributes in one step: a fit that fails changes nothing here."""
        fitted = self.__new__(type(self))
        fitted.__dict__.update(self.__dict__)
        fitted._fit(*data)
        self.__dict__ = fitted.__dict__
        return self

    @single_threaded_blas()
    def _fit(self, x_p: Any, x_q: Any, log_lik_p: Any = None, log_lik_q: Any = None) -> None:
        """Set all fitted attributes; subclasses extend it."""
        seed = as_seed(self.random_state, "random_state")
        as_fraction(self.alpha, "alpha")
        as_count(self.cv, "cv", 2)
        as_flag(self.one_se, "one_se")
        as_flag(self.paired, "paired")
        self.feature_choice_: FeatureChoice | None = None
        as_flag(self.standardise, "standardise")
        x_p, log_lik_p = split_likelihood(read_sample(x_p, "x_p"), log_lik_p, "x_p")
        x_q, log_lik_q = split_likelihood(read_sample(x_q, "x_q"), log_lik_q, "x_q")
        self.features_ = self._feature_map(x_p, x_q, log_lik_p, log_lik_q, seed)
        terms = {"divergence": self.divergence, "bounds": self.bounds, "max_weight": self.max_weight}
        make: Any = RatioProblem.from_samples
        if in_blocks(x_p, x_q):
            if self.paired:
                raise DataError("paired", "is not supported with rows read block by block", "pass arrays in memory")
            make = RatioProblem.from_blocks
        else:
            terms["paired"] = self.paired
        problem = make(x_p, x_q, log_lik_p, log_lik_q, features=self.features_, norm=self._norm(), **terms)
        self._remember_columns(x_p, sample_names(x_p, x_q))
        with problem._unchecked():
            self._solve(problem, seed)
        self._shown = self._rows_to_show(x_q)

    def _rows_to_show(self, x_q: Any) -> tuple[Array, Array] | None:
        """Some q rows with their base weights, for plots; None for rows that are read block by block."""
        some = some_rows(x_q, SHOWN)
        if some is None:
            return None
        rows, index = some
        return self._rows(rows, "x_q").copy(), np.exp(self.problem_.log_base[index])

    def _norm(self) -> float:
        """The norm, which may be given by the name of its penalty."""
        named = isinstance(self.penalty, str)
        order = {"l1": np.inf, "l2": 2.0}[as_choice(self.penalty, "penalty", ("l1", "l2"))] if named else 2.0
        if self.norm is None:
            return order
        norm = get_norm(self.norm).order
        if named and norm != order:
            reason = f"{self.penalty!r} is the penalty of norm={order:g}, not of norm={norm:g}"
            raise DataError("penalty", reason, "leave one of them out")
        return norm

    def _terms(self) -> dict[str, Any]:
        """The user's penalty and constraints, as functions of the δ of ``problem_``."""
        penalty = None if isinstance(self.penalty, str) else self.penalty
        return {"penalty": in_units(penalty, self.scale_), "constraints": in_units(self.constraints, self.scale_)}

    @property
    def _has_terms(self) -> bool:
        """Whether there are terms of the user's own."""
        return not (self.penalty is None or isinstance(self.penalty, str)) or self.constraints is not None

    def _solve(self, problem: RatioProblem, seed: Any) -> None:
        """Choose the radius and solve."""
        given, unit = problem, np.ones(problem.k)
        if self.standardise and (isinstance(self.radius, str) or not problem.with_radius(self.radius).exact):
            unit = feature_units(problem, self.features_)
            problem = problem if np.all(unit == 1.0) else problem._in_units(unit)
        self.radius_choice_, parts = self._choose_radius(problem, seed)
        if parts is not None and not np.all(parts == 1.0):
            unit, problem = unit * parts, problem._in_units(parts)
        self.scale_ = unit
        self.problem_ = problem.with_radius(self.radius if self.radius_choice_ is None else self.radius_choice_.radius)
        self.radius_ = self.problem_.radius
        if kernels_of(self.features_) and not np.all(self.radius_ > 0.0):
            raise DataError(
                "radius",
                "a kernel has as many features as landmarks, so without a radius δ would fit noise",
                "use 'auto' or 'cv', or a positive number",
            )
        terms = {**self._terms(), "tol": self.tol, "settings": self.settings}
        try:
            self.solution_: Solution = solve(self.problem_, self.formulation, self.solver, **terms)
        except InfeasibleError as error:
            raise infeasible_fit(error, self, given) from error
        self._finish()
        if self._has_terms:
            self.divergence_ = -self.problem_.dual_value(self.mu_)
        if notes := fit_warnings(self._tilted, self.solution_):
            warn_caller("\n".join(notes))

    def _remember_columns(self, x: Any, names: tuple[str, ...] | None) -> None:
        """Number and names of the columns of samples that have been validated."""
        self.n_features_in_ = width_of(x)
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _finish(self) -> None:
        """Set the attributes that follow from ``problem_`` and ``solution_``."""
        self.delta_ = self.solution_.delta if np.all(self.scale_ == 1.0) else self.solution_.delta / self.scale_
        self.divergence_ = -self.solution_.primal_value
        self.feature_names_ = self.problem_.feature_names
        if self.problem_.has_intercept:
            self._tilted: TiltedProblem | LinkedProblem = LinkedProblem(self.problem_, self.solution_)
        else:
            self._tilted = TiltedProblem(self.problem_, self.solution_.delta, self.solution_.recession)

    def _feature_map(self, x_p: Any, x_q: Any, log_lik_p: Any, log_lik_q: Any, seed: Any) -> FeatureMap:
        """The feature map; a kernel takes its landmarks from the samples."""
        if is_automatic(self.features):
            samples = (x_p, x_q, log_lik_p, log_lik_q)
            automatic, self.feature_choice_ = automatic_features(self, samples, self._search_loss, seed)
            return automatic
        features = make_features(self.features)
        if in_blocks(x_p, x_q):
            return features  # from_blocks refuses a kernel without landmarks
        if isinstance(features, Kernel) and features.length_scale == "cv":
            samples = (*check_samples(x_p, x_q, False)[:2], log_lik_p, log_lik_q)
            with renamed_arguments({"folds": "cv"}):
                return cross_validated_kernel(features, *samples, folds=self.cv, paired=self.paired, rng=seed)
        kernels = kernels_of(features)
        if kernels and self._norm() != 2:
            raise DataError("norm", "a kernel needs the norm of its RKHS, which is Euclidean", "use 2")
        if all(kernel.factor is not None for kernel in kernels):
            return features
        points = np.concatenate(check_samples(x_p, x_q, False)[:2])
        rng = as_generator(seed)
        fitted = [part.fitted(points, rng) if isinstance(part, Kernel) else part for part in parts_of(features)]
        if isinstance(self.radius, str) and self.radius == "auto":
            fitted = [shortened(part) if isinstance(part, Kernel) else part for part in fitted]
        return fitted[0] if len(fitted) == 1 else Concatenation(tuple(fitted))

    def _choose_radius(self, problem: RatioProblem, seed: Any) -> tuple[RadiusChoice | None, Array | None]:
        """The choice of ``"auto"`` or ``"cv"``, and units of the features if parts have penalties of their own."""
        if isinstance(self.radius, str) and self.radius not in ("auto", "cv"):
            raise DataError("radius", f"{self.radius!r} is not known", "use a number, 'auto' or 'cv'")
        if self.feature_choice_ is not None:
            return RadiusChoice(self.feature_choice_.radius, "cv"), None
        if not isinstance(self.radius, str):
            return None, None
        if self._has_terms:
            raise DataError(
                "radius", f"{self.radius!r} does not take a penalty or constraints into account", "pass a number"
            )
        with renamed_arguments({"folds": "cv"}):
            if self.radius == "cv":
                return cross_validated_radius(problem, folds=self.cv, one_se=self.one_se, rng=seed), None
            if not kernels_of(self.features_):
                return automatic_radius(problem, alpha=self.alpha, rng=seed), None
            radius, parts = part_radius(problem, own_scale(self.features_, problem.k), folds=self.cv, rng=seed)
            return RadiusChoice(radius, "cv"), parts

    @property
    def mu_(self) -> Array:
        """Weights of the q samples, which sum to one; computed at first use."""
        self._check_fitted()
        return solution_weights(self._tilted, self.solution_)

    def sample_weight(self) -> Array:
        """Importance weights of the q sample with mean one, for the ``sample_weight`` of other models.

        They are n_q times ``mu_``. Weights that sum to one instead would make the penalty of a regularised model n_q
        times as strong.

        Returns
        -------
        ndarray of shape (n_q,)
            One weight for each row of x_q, in its order; not negative.

        Examples
        --------
        >>> rng = np.random.default_rng(0)
        >>> x_p, x_q = rng.normal(0.5, 1.0, (300, 1)), rng.normal(0.0, 1.0, (300, 1))
        >>> weight = PosteriorRatio().fit(x_p, x_q).sample_weight()
        >>> print(weight.mean().round(6), np.average(x_q[:, 0], weights=weight).round(3), x_p.mean().round(3))
        1.0 0.464 0.464
        """
        mu = self.mu_
        return mu * len(mu)

    def _check_fitted(self) -> None:
        if not hasattr(self, "solution_"):
            raise UnfittedError(type(self).__name__, "is not fitted yet", "call fit first")

    def _rows(self, x: Any, name: str = "x") -> Array:
        """New samples as a matrix with the columns of the fit, in its order."""
        self._check_fitted()
        expected = getattr(self, "feature_names_in_", None)
        x = read_rows(x, name)
        columns = column_names(x)
        rows = as_matrix(x, name)
        if expected is not None and columns is not None and tuple(expected) != columns:
            missing = sorted(set(expected) - set(columns))
            if missing:
                raise DataError(name, f"lacks the columns {', '.join(missing)}", "pass all columns of the fit")
            rows = np.ascontiguousarray(rows[:, [columns.index(c) for c in expected]])
        if rows.shape[1] != self.n_features_in_:
            raise DataError(
                name, f"has {rows.shape[1]} columns, the fit had {self.n_features_in_}", "pass the columns of the fit"
            )
        return rows

    def _features(self, rows: Array, name: str) -> Array:
        """Features of new samples, in the units of ``problem_``, so small that ⟨δ̂, f(x)⟩ does not overflow."""
        features = as_matrix(self.features_(rows), f"features({name})", limit=MAX_ENTRY)
        if features.shape[1] != self.problem_.k:
            raise DataError(
                "features",
                f"gives {features.shape[1]} columns for {name}, in the fit it gave {self.problem_.k}",
                "use a function that always returns the same columns",
            )
        return features if np.all(self.scale_ == 1.0) else features / self.scale_

    @single_threaded_blas()
    def _log_ratio(self, x: Any, name: str) -> Array:
        features = self._features(self._rows(x, name), name)
        return self._tilted.log_ratio(features)

    def log_ratio(self, x: Any) -> Array:
        """Logarithm of the ratio at new points: log r(x; δ̂) = ⟨δ̂, f(x)⟩ − log Z of [RATIO], for KL without bounds.

        Parameters
        ----------
        x : array of shape (n, d) or data frame
            Points with the columns of the fit; a data frame may have them in any order, among others.

        Returns
        -------
        ndarray of shape (n,)
            −inf where the ratio is zero, as it can be for χ².
        """
        return self._log_ratio(x, "x")

    def ratio(self, x: Any) -> Array:
        """The ratio r(x; δ̂) at new points.

        Parameters
        ----------
        x : array of shape (n, d) or data frame
            Points with the columns of the fit.

        Returns
        -------
        ndarray of shape (n,)
            Infinite where the ratio overflows; :meth:`log_ratio` does not. Always within the bounds.
        """
        self._check_fitted()
        if not self.problem_.exponential:
            assert isinstance(self._tilted, LinkedProblem)
            return self._tilted.ratio(self._features(self._rows(x), "x"))
        with np.errstate(over="ignore"):
            return np.exp(self.log_ratio(x))

    @single_threaded_blas()
    def score(self, x_p: Any, x_q: Any, log_lik_p: Any = None, log_lik_q: Any = None) -> float:
        """Held-out −ℓ(δ̂): how well the ratio explains other samples.

        Parameters
        ----------
        x_p, x_q : array of shape (n_p, d) and (n_q, d), or data frame
            Other samples of the two priors, with the columns of the fit.
        log_lik_p, log_lik_q : array of shape (n,), function of samples, or None, default None
            Their log-likelihoods, as in :meth:`fit`.

        Returns
        -------
        float
            An estimate of the divergence; larger is better, and a ratio of one everywhere scores zero.
        """
        self._check_fitted()
        rows_p, rows_q = self._rows(x_p, "x_p"), self._rows(x_q, "x_q")
        w = log_normalise(log_likelihood(log_lik_p, rows_p, "log_lik_p"))
        a = log_normalise(log_likelihood(log_lik_q, rows_q, "log_lik_q"))
        if isinstance(self._tilted, LinkedProblem):
            p, q = w > -np.inf, a > -np.inf
            features_p, features_q = self._features(rows_p[p], "x_p"), self._features(rows_q[q], "x_q")
            return self._tilted.score(features_p, np.exp(w[p]), features_q, a[q])
        inner_p = self._tilted.inner(self._features(rows_p[w > -np.inf], "x_p"))
        inner_q = self._tilted.inner(self._features(rows_q[a > -np.inf], "x_q"))
        return float(np.exp(w[w > -np.inf]) @ inner_p - log_sum_exp(a[a > -np.inf] + inner_q))

    def inference(self, kind: str = "auto") -> Inference:
        """Uncertainty of the fit.

        Parameters
        ----------
        kind : {"auto", "profile", "score", "hc3", "centred", "paper"}, default "auto"
            How uncertainty is computed: ``"auto"`` is right for small and large samples, ``"centred"`` is the sandwich
            formula, and ``"paper"`` the paper's, which changes when the features are shifted. See
            :class:`~pre_convex.Inference`.

        Returns
        -------
        Inference

        Raises
        ------
        DataError
            If the fit has a radius, a penalty or constraints, or bounds that the noise of the target reaches: intervals
            would not have the coverage they claim. With a radius, :meth:`debiased` gives them.
        """
        self._check_fitted()
        self._refuse_terms()
        self._refuse_kernel()
        self.problem_._check_unchanged()
        if isinstance(self._tilted, LinkedProblem):
            return Inference(self.problem_, self.delta_, kind=kind)
        return infer(self._tilted, kind)

    def debiased(self, kind: str = "auto") -> Inference:
        """Uncertainty of a fit with a radius, after a Newton step towards radius 0 [DEBIAS].

        The step takes away the bias of the radius, to first order; if it leaves more than half a standard error, up to
        four more steps follow. With many features for the size of the samples the result has a smaller error than a fit
        with radius 0. A warning says if the steps leave more than half a standard error of bias, as they do if there is
        no solution without the radius.

        Parameters
        ----------
        kind : {"auto", "hc3", "centred", "paper"}, default "auto"
            How uncertainty is computed, see :meth:`inference`.

        Returns
        -------
        Inference
            At the debiased δ, its attribute ``delta``.

        Examples
        --------
        >>> rng = np.random.default_rng(0)
        >>> fit = PosteriorRatio(radius="auto").fit(rng.normal(0.5, 1.0, (300, 1)), rng.normal(0.0, 1.0, (300, 1)))
        >>> debiased = fit.debiased()
        >>> interval = debiased.conf_int()
        >>> fit.delta_.round(2), debiased.delta.round(2), interval.lower.round(2), interval.upper.round(2)
        (array([0.34]), array([0.53]), array([0.33]), array([0.74]))
        """
        self._check_fitted()
        self._refuse_terms()
        nearer, remainder = debiased(self._without_radius("debiased()"), self.delta_)
        if remainder > MAX_REMAINDER:
            warn_caller(
                f"the radius has shrunk δ so much that Newton steps leave a bias of about {remainder:.1f} standard "
                "errors; use a smaller radius"
            )
        return infer(nearer, kind)

    def _refuse_terms(self) -> None:
        """Refuse intervals of a fit with a penalty or constraints."""
        if self._has_terms:
            raise DataError(
                "penalty",
                "a penalty or constraints bias the estimate, so intervals would not have their nominal coverage",
                "fit without them",
            )

    def _refuse_kernel(self) -> None:
        """Refuse intervals of a fit with a kernel, whose radius cannot be left out."""
        if np.any(self.radius_) and kernel_features(self.features_, len(self.delta_)).any():
            reason = "a kernel needs a radius, which shrinks δ, so intervals would not have their nominal coverage"
            raise DataError("features", reason, "see the scatter of fit.bootstrap(), or use features without a kernel")

    def covariance(self, kind: str = "auto") -> Array:
        """Covariance of δ̂.

        Parameters
        ----------
        kind : {"auto", "profile", "score", "hc3", "centred", "paper"}, default "auto"
            How uncertainty is computed, see :meth:`inference`.

        Returns
        -------
        ndarray of shape (k, k)
        """
        return self.inference(kind).covariance

    def conf_int(self, level: float = 0.95, kind: str = "auto") -> Interval:
        """Confidence intervals of the coefficients.

        Parameters
        ----------
        level : float, default 0.95
            Confidence level of each interval, between 0 and 1.
        kind : {"auto", "profile", "score", "hc3", "centred", "paper"}, default "auto"
            How uncertainty is computed, see :meth:`inference`.

        Returns
        -------
        Interval
            One interval for each coefficient.
        """
        return self.inference(kind).conf_int(level)

    def log_ratio_interval(self, x: Any, level: float = 0.95, kind: str = "auto") -> Interval:
        """Confidence intervals of log r at new points.

        Parameters
        ----------
        x : array of shape (n, d) or data frame
            Points with the columns of the fit.
        level : float, default 0.95
            Confidence level of each interval, between 0 and 1.
        kind : {"auto", "profile", "score", "hc3", "centred", "paper"}, default "auto"
            How uncertainty is computed, see :meth:`inference`.

        Returns
        -------
        Interval
            One interval for each point.
        """
        rows = self._rows(x)
        return self.inference(kind).log_ratio(self._features(rows, "x"), level)

    def divergence_interval(self, level: float = 0.95, kind: str = "auto") -> tuple[float, float]:
        """Confidence interval of the divergence between the posteriors.

        Parameters
        ----------
        level : float, default 0.95
            Confidence level, between 0 and 1.
        kind : {"auto", "profile", "score", "hc3", "centred", "paper"}, default "auto"
            How uncertainty is computed, see :meth:`inference`.

        Returns
        -------
        lower, upper : float
            The estimate itself is ``divergence_``.
        """
        interval = self.inference(kind).divergence(level)
        return float(interval.lower[0]), float(interval.upper[0])

    def divergence_p_value(self, kind: str = "auto") -> float:
        """p-value of the hypothesis δ = 0, under which twice the divergence is distributed as a weighted sum of χ².

        Parameters
        ----------
        kind : {"auto", "profile", "score", "hc3", "centred", "paper"}, default "auto"
            How uncertainty is computed, see :meth:`inference`.

        Returns
        -------
        float
        """
        return self.inference(kind).divergence_p_value()

    def in_region(self, delta: Any, level: float = 0.95, kind: str = "auto") -> bool:
        """Whether δ lies in the joint confidence region.

        Parameters
        ----------
        delta : array of shape (k,)
            The point to test.
        level : float, default 0.95
            Confidence level of the ellipsoid, between 0 and 1.
        kind : {"auto", "profile", "score", "hc3", "centred", "paper"}, default "auto"
            How uncertainty is computed, see :meth:`inference`.

        Returns
        -------
        bool
        """
        return self.inference(kind).contains(delta, level)

    def wald_test(self, hypothesis: Any = None, value: Any = 0.0, kind: str = "auto") -> WaldTest:
        """Wald test of the hypothesis L δ = value.

        Parameters
        ----------
        hypothesis : array of shape (m, k) or (k,), optional
            L, one row for each equation; the identity when left out, which tests δ = value.
        value : float or array of shape (m,), default 0.0
            Right-hand side of each equation, or one number for all of them.
        kind : {"auto", "profile", "score", "hc3", "centred", "paper"}, default "auto"
            How uncertainty is computed, see :meth:`inference`.

        Returns
        -------
        WaldTest
        """
        return self.inference(kind).wald_test(hypothesis, value)

    def score_test(self, delta: Any = 0.0) -> ScoreTest:
        """Score test of a value of δ, by default of δ = 0: that both posteriors are the same [SCORE].

        It does not depend on the estimate, so it is the same for every radius: if no weights match the moments, fit
        with ``radius="cv"`` and test.

        Parameters
        ----------
        delta : float or array of shape (k,), default 0.0
            The tested δ, or one number for all coefficients.

        Returns
        -------
        ScoreTest
        """
        return self._score_inference().score_test(delta)

    def _score_inference(self) -> Inference:
        """Inference for score tests: a radius does not matter, unless the rows have chosen the features."""
        self._check_fitted()
        if not np.any(self.radius_) or self.feature_choice_ is not None or self._has_terms:
            return self.inference()
        problem = self._without_radius("a score test with a radius")
        if problem.k >= problem.n_q:
            reason = f"are {problem.k} for {problem.n_q} q samples, too many for a test"
            raise DataError("features", reason, "use fewer features")
        return infer(TiltedProblem(problem, self.delta_), "centred")

    def _without_radius(self, what: str) -> RatioProblem:
        """The problem with radius 0, in the units of the features, and what needs it."""
        self.problem_._check_unchanged()
        self.problem_.require_exponential(what)
        if not np.all(np.isfinite(self.radius_)):
            raise DataError("radius", "leaves features out, which nothing brings back", "drop these features")
        problem = self.problem_.with_radius(0.0)
        return problem if np.all(self.scale_ == 1.0) else problem._in_units(1.0 / self.scale_)

    def bootstrap(self, replicates: int = 200, *, rng: Rng = 0, jobs: int = 1, progress: bool = False) -> Array:
        """δ̂ of resampled data, as a check of the formulas for standard errors.

        Parameters
        ----------
        replicates : int, default 200
            Number of resamples, at least 2.
        rng : int, sequence of int, SeedSequence, BitGenerator, Generator or None, default 0
            Seed or generator of the resamples.
        jobs : int, default 1
            Number of processes: 1 runs in this process, −1 uses all cores.
        progress : bool, default False
            Whether to show a progress bar.

        Returns
        -------
        ndarray of shape (replicates, k)
            One δ̂ per resample; nan where a resample has no solution.
        """
        self._check_fitted()
        terms: dict[str, Any] = {**self._terms(), "rng": rng, "jobs": jobs, "progress": progress}
        return bootstrap(self.problem_, self.solution_.delta, replicates, **terms) / self.scale_

    def diagnostics(self) -> Diagnostics:
        """Effective sample sizes, heavy weights, balance, conditioning, and warnings.

        Returns
        -------
        Diagnostics
        """
        self._check_fitted()
        self.problem_._check_unchanged()
        found, features = diagnose_tilted(self._tilted, self.solution_), self.features_
        choice, notes = self.radius_choice_, []
        if choice is not None and choice.method == "auto" and not choice.raised:
            notes += radius_warnings(radius_noise_df(self.problem_, self.solution_.delta))
        linear = isinstance(features, Linear)
        single = linear or (isinstance(features, Polynomial) and not features.interactions)
        if single and isinstance(self._tilted, TiltedProblem) and not self._has_terms:
            notes += product_warnings(self._tilted, self.n_features_in_, squares=linear)
        return replace(found, warnings=(*found.warnings, *notes))

    def summary(self, level: float = 0.95, kind: str = "auto") -> Report:
        """Coefficients with their uncertainty, divergence, certificate, effective sample sizes and warnings.

        Parameters
        ----------
        level : float, default 0.95
            Confidence level of the intervals, between 0 and 1.
        kind : {"auto", "profile", "score", "hc3", "centred", "paper"}, default "auto"
            How uncertainty is computed, see :meth:`inference`.

        Returns
        -------
        Report
            Prints as a table; without intervals, and with the reason, if :meth:`inference` refuses.
        """
        self._check_fitted()
        level, kind = as_fraction(level, "level"), as_choice(kind, "kind", KINDS)
        inference, refusal = None, ""
        self.problem_._check_unchanged()
        with self.problem_._unchecked():
            try:
                inference = self.inference(kind)
            except DataError as error:
                refusal = f"{error.reason}; {error.remedy}"
            diagnostics = self.diagnostics()
            title = f"{type(self).__name__}, n_p = {diagnostics.n_p}, n_q = {diagnostics.n_q}"
            parts = (title, self.problem_, self.solution_, diagnostics, inference, refusal, level)
            return of_features(make_report(*parts, self.divergence_, self.scale_), self.features_)

    def plot(self, *, ax: Any = None) -> Any:
        """The ratio over the columns of the fit if there are one or two, otherwise the coefficients.

        Coefficients are multiplied by the standard deviations of their features, if the rows are in memory, so that
        they can be compared.
        ``pre.plots`` has more figures, with options.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; a new figure when left out.

        Returns
        -------
        matplotlib Axes
        """
        self._check_fitted()
        plots = import_module("..plots", __package__)  # figures are drawn from fits, not the reverse
        d = self.n_features_in_
        if d <= 2 and self._shown is not None:
            return plots.plot_ratio(self, columns=tuple(range(d)), ax=ax)
        return plots.plot_coefficients(self, standardise=self.problem_.rows.in_memory, ax=ax)

    def to_frame(self, backend: str = "pandas", level: float = 0.95) -> Any:
        """The table of the summary as a data frame.

        Parameters
        ----------
        backend : {"pandas", "polars"}, default "pandas"
            Kind of data frame.
        level : float, default 0.95
            Confidence level of the intervals, between 0 and 1.

        Returns
        -------
        pandas.DataFrame or polars.DataFrame
            One row for each feature.
        """
        return self.summary(level).to_frame(backend)

    def to_latex(self, level: float = 0.95) -> str:
        """The table of the summary as a LaTeX tabular.

        Parameters
        ----------
        level : float, default 0.95
            Confidence level of the intervals, between 0 and 1.

        Returns
        -------
        str
        """
        return self.summary(level).to_latex()

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "solution_")
