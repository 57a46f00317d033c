"""LogisticRatio: the ratio of two posteriors by logistic regression between the priors."""

from __future__ import annotations

from typing import Any, NoReturn, Self

import numpy as np

from .._internal.entropy import effective_sample_size, safe_log
from .._internal.rng import Rng, as_seed
from .._internal.threads import single_threaded_blas
from .._internal.typing import Array
from .._internal.validation import as_choice, as_flag, as_fraction, read_only, sample_names
from ..data.kernels import Kernel
from ..data.logistic import logistic_loss
from ..errors import DataError, InfeasibleError, PreConvexError, SolveError
from ..logistic import LogisticProblem
from ..solvers import Settings, solve
from ..statistics.diagnostics import MIN_ESS, MIN_ESS_PER_FEATURE, Diagnostics, base_moments, pareto_k
from ..statistics.inference import Inference
from ..statistics.logistic import FittedLogistic, LogisticInference
from ..statistics.specification import SpecificationTest, posterior_problem, specification_test
from .posterior_ratio import PosteriorRatio
from .reading import in_blocks, read_sample, split_likelihood
from .report import Report, of_features
from .standardising import feature_units, kernels_of

__all__ = ["LogisticRatio"]

#: formulas of the variances
KINDS = ("auto", "centred")
#: p-value of the specification test below which the summary warns
DISAGREE = 0.01
#: rows times features up to which the summary has the specification test, which needs a second fit
CHEAP = 20_000_000


class LogisticRatio(PosteriorRatio):
    """Ratio of two posteriors by logistic regression between the priors, with the log-likelihoods as offsets [LOGIT].

    If the log-linear model is right, no estimator that uses both samples has smaller standard errors. Without
    likelihoods they are a little smaller than those of :class:`PosteriorRatio`, with sharp likelihoods several times
    smaller, because rows far from the posteriors are used too. The price is paid if the model is wrong: δ is then the
    best fit under the priors, whereas that of :class:`PosteriorRatio` is the best where the posteriors are.
    :meth:`specification_test` compares the two, and so does :meth:`summary`.

    All rows have to be in memory. Fits can be pickled, but not written by :func:`save`.

    Parameters
    ----------
    features : str, FeatureMap or function, default "linear"
        Features f(x) of the log-linear model log r(x) = ⟨δ, f(x)⟩ + constant, as in :class:`PosteriorRatio`.
        ``"auto"`` gives the most accurate ratio; its search uses the logistic loss.
    formulation : {"primal", "dual"}, default "primal"
        Program that a cone solver gets.
    solver : str, default "auto"
        ``"auto"`` or ``"newton"`` for the package's own engine, or a name of :func:`~pre_convex.installed_solvers`.
    radius : float, array of shape (k,) or dict, default 0.0
        Penalty R‖δ‖_*: R is how much of the difference between the means of the samples the model may leave. It is in
        standard deviations of the features, or in their units with ``standardise=False``. Only a
        radius of 0 gives confidence intervals.
    norm : {2, inf, 1} or None, default None
        Norm of that difference; δ is penalised by the dual norm. None means 2, or the norm of a named ``penalty``.
    penalty : {"l1", "l2"} or function of a cvxpy expression, optional
        As in :class:`PosteriorRatio`: a name picks the norm; a function returns a convex cvxpy expression of δ that is
        added to the objective.
    constraints : function of a cvxpy expression, optional
        Returns a list of convex cvxpy constraints on δ.
    tol : float, default None
        Duality gap to reach, relative to 1 + the size of the objective; None uses that of
        the settings, 1e-8 by default.
    settings : Settings, default None
        Limits and other settings of the solve; None takes the defaults.
    standardise : bool, default True
        Whether a radius is in standard deviations of the q features under the base weights, as in
        :class:`PosteriorRatio`.
    paired : bool, default False
        Whether row i of x_p and of x_q is the same observation, which changes standard errors.
    random_state : int, sequence of int, SeedSequence, BitGenerator, Generator or None, default 0
        Seed of a kernel's landmarks.

    Attributes
    ----------
    delta_ : ndarray of shape (k,)
        The ratio parameter δ̂.
    intercept_ : float
        α̂ of [LOGIT]: the log ratio of the priors where all features and log-likelihoods are zero.
    mu_ : ndarray of shape (n_q,)
        Weights of the q sample, l_q e^{⟨δ̂, f⟩}, which sum to one. Moments under them are not matched exactly.
    divergence_ : float
        Estimated KL divergence between the posteriors.
    solution_ : Solution
        The solution with its status and duality gap.
    problem_ : LogisticProblem
        The problem that was solved; with a radius and ``standardise=True`` its features are divided by ``scale_``.
    scale_ : ndarray of shape (k,)
        Standard deviations by which the features of ``problem_`` are divided; ones without a radius, and for kernels.
    radius_ : float or ndarray of shape (k,)
        The radius in use.
    features_ : FeatureMap
        The feature map in use; a kernel with its landmarks.
    feature_choice_ : FeatureChoice or None
        What ``features="auto"`` compared; None for other features.
    feature_names_ : tuple of str
        Names of the k features.
    n_features_in_ : int
        Columns of the samples.
    feature_names_in_ : ndarray of str
        Names of these columns; only if the samples had names.

    Examples
    --------
    >>> import pre_convex as pre
    >>> rng = np.random.default_rng(0)
    >>> x_p, x_q = rng.normal(size=(300, 1)), rng.normal(size=(300, 1))
    >>> fit = LogisticRatio().fit(x_p, x_q, pre.Gaussian([1.0]), pre.Gaussian([0.0]))  # log r = x − ¼
    >>> fit.delta_.round(2), fit.log_ratio([[0.0]]).round(2)
    (array([0.97]), array([-0.23]))
    """

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
        tol: float | None = None,
        settings: Settings | None = None,
        standardise: bool = True,
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
        self.settings = settings
        self.standardise = standardise
        self.paired = paired
        self.random_state = random_state

    _search_loss = "logistic"

    def fit(self, x_p: Any, x_q: Any, log_lik_p: Any = None, log_lik_q: Any = None) -> Self:
        """Estimate the ratio.

        Parameters
        ----------
        x_p, x_q : array of shape (n_p, d) and (n_q, d), data frame, or path
            Independent samples of the two priors, in memory. Named columns are matched by name. Paths are read.
        log_lik_p, log_lik_q : function of samples, pair of arrays, column name, or None, default None
            Log-likelihoods log p(y_p|x) and log q(y_q|x), up to a constant. Each is needed at the rows of both samples:
            a function, a pair of its values at x_p and at x_q, or a column of both. None for a constant likelihood. A
            row at which only one of them is −inf is refused.

        Returns
        -------
        LogisticRatio
            The estimator itself. If the fit fails, it is left as it was before.
        """
        return self._fit_copy(x_p, x_q, log_lik_p, log_lik_q)

    @single_threaded_blas()
    def _fit(self, x_p: Any, x_q: Any, log_lik_p: Any = None, log_lik_q: Any = None) -> None:
        seed = as_seed(self.random_state, "random_state")
        as_flag(self.paired, "paired"), as_flag(self.standardise, "standardise")
        self.feature_choice_ = None
        if isinstance(self.radius, str):
            raise DataError("radius", f"{self.radius!r} is not a number", "pass a number; 0.1 is a start")
        if isinstance(self.features, Kernel) and self.features.length_scale == "cv":
            raise DataError("features", "length_scale='cv' is for PosteriorRatio", "pass a number")
        x_p, x_q = read_sample(x_p, "x_p"), read_sample(x_q, "x_q")
        for name, x in (("x_p", x_p), ("x_q", x_q)):
            if in_blocks(x):
                raise DataError(name, "is read block by block", "load it: logistic regression needs arrays in memory")
        x_p, x_q, log_lik_p = _columns_of_both(x_p, x_q, log_lik_p)
        x_p, x_q, log_lik_q = _columns_of_both(x_p, x_q, log_lik_q)
        self.features_ = self._feature_map(x_p, x_q, log_lik_p, log_lik_q, seed)
        norm = self._norm()
        radius = self.radius if self.feature_choice_ is None else self.feature_choice_.radius
        problem = LogisticProblem.from_samples(
            x_p, x_q, log_lik_p, log_lik_q, features=self.features_, radius=radius, norm=norm, paired=self.paired
        )
        self._remember_columns(x_p, sample_names(x_p, x_q))
        self.scale_ = np.ones(problem.k)
        if self.standardise and not problem.exact:
            self.scale_ = feature_units(posterior_problem(problem), self.features_)
        if kernels_of(self.features_) and not np.all(problem.radius > 0.0):
            reason = "a kernel has as many features as landmarks, so without a radius δ would fit noise"
            raise DataError("radius", reason, "use a positive number")
        problem = problem if np.all(self.scale_ == 1.0) else problem.in_units(self.scale_)
        terms = {**self._terms(), "tol": self.tol, "settings": self.settings}
        solution = solve(problem, self.formulation, self.solver, **terms)
        fitted = FittedLogistic(problem, solution)
        self.problem_: Any = problem
        self.solution_, self._tilted = solution, fitted  # type: ignore[assignment]
        self.radius_, self.delta_ = problem.radius, solution.delta / self.scale_
        self.intercept_, self.divergence_ = solution.intercept, fitted.divergence
        self.feature_names_ = problem.feature_names

    @property
    def _fitted(self) -> FittedLogistic:
        """The problem at its solution."""
        self._check_fitted()
        return self._tilted  # type: ignore[return-value]

    @property
    def mu_(self) -> Array:
        """Weights of the q samples, which sum to one; computed at first use."""
        self._check_fitted()
        return read_only(self._fitted.mu)

    def ratio(self, x: Any) -> Array:
        """The ratio r(x; δ̂) at new points.

        Parameters
        ----------
        x : array of shape (n, d) or data frame
            Points with the columns of the fit.

        Returns
        -------
        ndarray of shape (n,)
            Infinite where the ratio overflows; :meth:`log_ratio` does not.
        """
        with np.errstate(over="ignore"):
            return np.exp(self.log_ratio(x))

    @single_threaded_blas()
    def score(self, x_p: Any, x_q: Any, log_lik_p: Any = None, log_lik_q: Any = None) -> float:
        """Held-out log-likelihood of the labels: minus the objective of [LOGIT] at other samples, without the radius.

        Parameters
        ----------
        x_p, x_q : array of shape (n_p, d) and (n_q, d), or data frame
            Other samples of the two priors, with the columns of the fit.
        log_lik_p, log_lik_q : function of samples, pair of arrays, or None, default None
            Their log-likelihoods, as in :meth:`fit`.

        Returns
        -------
        float
            Larger is better.
        """
        self._check_fitted()
        rows_p, rows_q = self._rows(x_p, "x_p"), self._rows(x_q, "x_q")
        held_out = LogisticProblem.from_samples(rows_p, rows_q, log_lik_p, log_lik_q, features=self.features_)
        eta = held_out.scores(self.intercept_, self.delta_)
        return -float(logistic_loss(eta, held_out.link.positive).sum()) / held_out.m

    def inference(self, kind: str = "auto") -> Inference:
        """Uncertainty of the fit, by the sandwich formula with scores centred on each side [LOGIT].

        Parameters
        ----------
        kind : {"auto", "centred"}, default "auto"
            Both are the sandwich formula.

        Returns
        -------
        Inference

        Raises
        ------
        DataError
            If the fit has a radius, a penalty or constraints: intervals would not have the coverage they claim.
        """
        self._check_fitted()
        as_choice(kind, "kind", KINDS)
        if self._has_terms:
            reason = "a penalty or constraints bias the estimate, so intervals would not have their nominal coverage"
            raise DataError("penalty", reason, "fit without them")
        self._refuse_kernel()
        return LogisticInference(self._fitted)

    def _score_inference(self) -> Inference:
        return self.inference()

    def debiased(self, kind: str = "auto") -> NoReturn:
        """Not available.

        Parameters
        ----------
        kind : str, default "auto"
            Not used, because the method always raises an error.

        Raises
        ------
        DataError
        """
        raise DataError("LogisticRatio", "has no debiased coefficients", "use a radius of 0")

    def specification_test(self) -> SpecificationTest:
        """Hausman test of the log-linear model: whether :class:`PosteriorRatio` finds the same δ [SPEC].

        Returns
        -------
        SpecificationTest

        Raises
        ------
        InfeasibleError
            :class:`PosteriorRatio` has no solution without a radius.
        DataError
            If the fit has a radius, a penalty or constraints.
        """
        _ = self.inference()  # refuses a fit with a radius, a penalty or constraints
        return specification_test(self.problem_, self.solution_)

    def bootstrap(self, replicates: int = 200, *, rng: Rng = 0, jobs: int = 1, progress: bool = False) -> NoReturn:
        """Not available for logistic regression.

        Parameters
        ----------
        replicates : int, default 200
            Number of resamples.
        rng : int, sequence of int, SeedSequence, BitGenerator, Generator or None, default 0
            Seed or generator of the resamples.
        jobs : int, default 1
            Number of processes.
        progress : bool, default False
            Whether to show a progress bar.

        Raises
        ------
        DataError
            Always.
        """
        raise DataError("LogisticRatio", "has no bootstrap", "use conf_int(), or resample the rows yourself")

    def diagnostics(self) -> Diagnostics:
        """Effective sample sizes, heavy weights, balance and conditioning.

        Returns
        -------
        Diagnostics
            ``ess_p`` and ``ess_base`` are those of the estimated posteriors on the pooled rows, ``pareto_k_p`` and
            ``largest_p`` belong to the first of them. The balance is that of ``mu_`` on the q sample; after the fit it
            is not zero, because moments are not matched.
        """
        self._check_fitted()
        fitted = self._fitted
        weight_p, weight_q = fitted.posterior_weights
        k_p, k_mu = (_tail(safe_log(weights)) for weights in (weight_p, fitted.mu))
        posterior = posterior_problem(fitted.problem)
        mean, spread = base_moments(posterior)
        unit = np.where(spread > 0.0, spread, 1.0)
        after = posterior.target - fitted.mu[fitted.problem.supported[fitted.problem.n_p :]] @ posterior.features_q
        A = fitted.information
        H = A[1:, 1:] - np.outer(A[1:, 0], A[0, 1:]) / A[0, 0]
        scale = np.sqrt(np.maximum(H.diagonal(), 1e-300))
        values = np.linalg.eigvalsh(H / np.outer(scale, scale))
        free = int((values <= 1e-13 * values[-1]).sum())
        ess = [effective_sample_size(safe_log(weights)) for weights in (weight_p, weight_q, fitted.mu)]
        needed = max(MIN_ESS, MIN_ESS_PER_FEATURE * fitted.problem.k)
        warnings = [
            f"ESS of the {side} posterior is {size:.0f}: few rows of either sample are near its observation; "
            "draw more there"
            for side, size in zip("pq", ess, strict=False)
            if size < needed
        ]
        return Diagnostics(
            n_p=fitted.problem.n_p,
            n_q=fitted.problem.n_q,
            ess_p=ess[0],
            ess_base=ess[1],
            ess_mu=ess[2],
            pareto_k_p=k_p,
            pareto_k_mu=k_mu,
            largest_p=float(weight_p.max()),
            largest_mu=float(fitted.mu.max()),
            feature_names=self.feature_names_,
            balance_before=read_only((posterior.target - mean) / unit),
            balance_after=read_only(after / unit),
            hull_distance=float("nan"),
            condition=float(values[-1] / values[free]) if free < len(values) else np.inf,
            free_directions=free,
            warnings=tuple(warnings),
        )

    def summary(self, level: float = 0.95, kind: str = "auto") -> Report:
        """Coefficients with their uncertainty, divergence, certificate, and the specification test.

        Parameters
        ----------
        level : float, default 0.95
            Confidence level of the intervals, between 0 and 1.
        kind : {"auto", "centred"}, default "auto"
            Both are the sandwich formula.

        Returns
        -------
        Report
            Prints as a table, with a warning if :class:`PosteriorRatio` finds a significantly different δ.
        """
        self._check_fitted()
        level, kind = as_fraction(level, "level"), as_choice(kind, "kind", KINDS)
        d, solution, problem = self.diagnostics(), self.solution_, self._fitted.problem
        values, notes, warnings = self.delta_[:, None], [], list(d.warnings)
        try:
            inference = self.inference(kind)
            values, limits = inference.conf_int(level).table(), inference.divergence(level)
            notes.append(("divergence", f"KL {self.divergence_:.6g} [{limits.lower[0]:.4g}, {limits.upper[0]:.4g}]"))
            notes.append(("delta = 0", str(inference.wald_test())))
            text, warning = self._agreement()
            notes.append(("PRE agrees", text))
            warnings += [warning] if warning else []
        except DataError as error:
            notes.append(("divergence", f"KL {self.divergence_:.6g}"))
            notes.append(("intervals", f"not shown: {error.reason}; {error.remedy}"))
        notes.append(("certificate", f"gap {solution.gap:.1e}, {solution.status.name.lower()}"))
        notes.append(("solver", f"{solution.solver}, {solution.formulation}, {solution.iterations} iterations"))
        if problem.radius_per_feature:
            low, high = problem.radius.min(), problem.radius.max()
            notes.append(("radius", f"{low:.4g} to {high:.4g}, one for each feature"))
        else:
            notes.append(("radius", f"{problem.radius:.4g} in norm {problem.norm:g}"))
        ess = f"p posterior {d.ess_p:.0f}, q posterior {d.ess_base:.0f} of {problem.n} rows of both samples"
        notes += [("ESS", ess), ("condition", f"{d.condition:.3g}")]
        title = f"{type(self).__name__}, n_p = {d.n_p}, n_q = {d.n_q}"
        report = Report(title, self.feature_names_, read_only(values), level, tuple(notes), tuple(warnings))
        return of_features(report, self.features_)

    def _agreement(self) -> tuple[str, str]:
        """The specification test as a line of the summary, and a warning if the estimators disagree."""
        if self._fitted.problem.n * self._fitted.problem.k > CHEAP:
            return "not tested: many rows; use specification_test()", ""
        try:
            test = self.specification_test()
        except InfeasibleError:
            return "not tested: PosteriorRatio has no solution without a radius", ""
        except (SolveError, DataError) as error:
            return f"not tested: {type(error).__name__}", ""
        warning = (
            f"PosteriorRatio finds another δ (p = {test.p_value:.2g}), so the log-linear model is wrong somewhere: add "
            "features, or use PosteriorRatio, which fits where the posteriors are"
        )
        return str(test), warning if test.p_value < DISAGREE else ""


def _columns_of_both(x_p: Any, x_q: Any, log_lik: Any) -> tuple[Any, Any, Any]:
    """Samples and a log-likelihood; a name stands for a column of both samples, which is taken out of them."""
    if not isinstance(log_lik, str):
        return x_p, x_q, log_lik
    (x_p, at_p), (x_q, at_q) = split_likelihood(x_p, log_lik, "x_p"), split_likelihood(x_q, log_lik, "x_q")
    return x_p, x_q, (at_p, at_q)


def _tail(log_weights: Array) -> float:
    """Tail index of weights; nan without arviz-stats."""
    try:
        return pareto_k(log_weights)
    except PreConvexError:
        return float("nan")
