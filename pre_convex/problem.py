"""RatioProblem: the data of a posterior-ratio problem and the functions of [P] and [D] on it.

[P]    minimise over δ     ℓ_R(δ) = −⟨b,δ⟩ + log Σ_j exp(a_j + ⟨δ,F_j⟩) + R‖δ‖_*
[D]    maximise over μ     Σ_j −μ_j log μ_j + μ_j a_j      s.t. μ ≥ 0, Σμ = 1, ‖b − F'μ‖ ≤ R

That is the KL divergence without bounds. For another divergence φ, or bounds on the ratio μ_j/π_j, π = exp a, the loss
is min over c of −c − ⟨b,δ⟩ + Σ_j φ*_j(c + ⟨δ,F_j⟩), and [D] maximises −Σ_j π_j φ(μ_j/π_j) within the bounds.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, Self

import numpy as np

from ._internal.entropy import log_normalise, log_sum_exp, negative_kl, safe_log
from ._internal.linear_algebra import EPS, schur_complement
from ._internal.snapshots import Snapshot, freeze, unchecked
from ._internal.threads import single_threaded_blas
from ._internal.typing import Array, Index
from ._internal.validation import (
    MAX_ENTRY,
    MAX_PARAMETER,
    as_flag,
    as_matrix,
    as_names,
    as_numbers,
    as_scalar,
    as_vector,
    check_positive,
    column_names,
    duplicate,
    preview,
    read_only,
    sample_names,
)
from .data.dask_blocks import is_dask
from .data.features import Autocorrelation, Concatenation, LagProducts, Linear, Polynomial, make_features
from .data.kernels import Kernel
from .data.likelihoods import log_likelihood
from .data.linked import intercept_at, linked_tilt, linked_weights
from .data.passes import Summary, column_ranges, log_weights, logits, tilt, weighted_sum
from .data.rows import Rows, check_column_scale, make_rows, uniform_log_weights
from .data.scaled import Scaled
from .data.sides import assemble
from .divergences import Divergence, Link, get_divergence
from .errors import DataError
from .penalties.norms import Norm, get_norm
from .penalties.radius import as_radius, radius_excess, radius_value

__all__ = ["RatioProblem", "as_problem", "check_samples"]

#: maps that return new arrays, which nobody else can edit
COMPUTED_MAPS = (Autocorrelation, Concatenation, Kernel, LagProducts, Polynomial, Scaled)
#: rows that are copied at a time
COPIED_ROWS = 4096


class RatioProblem:
    """A posterior-ratio problem: target moment, q-side features and base weights, radius and norm.

    All attributes are read-only, arrays included. :meth:`from_samples` makes a problem from samples and
    log-likelihoods, :meth:`from_blocks` from data that does not fit in memory.

    Parameters
    ----------
    target : array of shape (k,)
        b, the moment to match; entries up to 1e150 in size.
    features_q : array of shape (n_q, k), or data frame
        F, one row for each q sample; entries up to 1e100 in size. float32 stays float32, but sums are float64. Arrays
        of at most 256 MB are copied. Larger ones are viewed with a checksum, and later calls raise :class:`DataError`
        if you have edited them; arrays that you have made read-only are viewed without one.
    log_base : array of shape (n_q,), optional
        Log base weights up to a common constant, in practice the log-likelihoods of the q samples; −inf gives a row
        no weight. By default all rows weigh the same.
    radius : float, array of shape (k,) or dict, default 0.0
        R ≥ 0, the relaxation of the moment constraint ‖b − F'μ‖ ≤ R and the weight of the penalty R‖δ‖_*.
        Zero matches the moments exactly. An array has one R_i for each feature: ``|b − F'μ|_i ≤ R_i``, whatever the
        norm, with the penalty ``Σ R_i |δ_i|``; 0 matches a feature exactly and inf leaves it out. A dict does the same
        by name, ``{"age": 0.1}``; features without an entry are matched exactly, or to the value of the key ``...``.
    norm : {2, inf, 1}, default 2
        Norm of the moment constraint; δ is penalised by the dual norm. ``norm=2`` penalises the Euclidean length of δ,
        ``norm=inf`` its ℓ1 norm, so that δ is sparse, and ``norm=1`` its largest coefficient.
    feature_names : sequence of str, optional
        One name for each column, without duplicates; by default the column names of a data frame, or ``f0``, ``f1``, …
    features_p : array of shape (n_p, k), optional
        Features of the p side that ``target`` was computed from; inference needs them.
    log_weights_p : array of shape (n_p,), optional
        Log weights of the p side up to a common constant; equal weights by default. Needs ``features_p``.
    paired : bool, default False
        Whether row i of both sides is the same observation. Needs ``features_p`` with n_q rows.
    divergence : {"kl", "chi2", "reverse-kl"}, default "kl"
        Divergence of the weights from the base weights that [D] minimises.
    bounds : pair (lo, hi), optional
        Bounds lo ≤ μ_j/π_j ≤ hi on the ratio of weights to base weights, numbers or arrays of shape (n_q,); (0, inf) by
        default. They must leave room for weights that sum to one.
    max_weight : float, optional
        The largest weight μ_j of a row, as a share of the total.

    Examples
    --------
    >>> problem = RatioProblem(target=[0.2], features_q=[[-1.0], [0.0], [1.0]])
    >>> problem
    RatioProblem(n_q=3, k=1, radius=0, norm=2)
    >>> RatioProblem([0.2], [[-1.0], [0.0], [1.0]], divergence="chi2", bounds=(0.5, 2.0))
    RatioProblem(n_q=3, k=1, radius=0, norm=2, divergence='chi2', bounds=(0.5, 2))
    >>> problem.value([0.0])
    0.0
    >>> problem.gradient([0.0])
    array([-0.2])
    """

    _rows: Rows
    _target: Array
    _feature_names: tuple[str, ...]
    _radius: float | Array
    _norm: float
    _divergence: Divergence
    _bounds: tuple[Array | float, Array | float] | None
    _max_weight: float | None
    _link: Link
    _features_q: Array
    _log_base: Array
    _features_p: Array | None
    _log_weights_p: Array | None
    _paired: bool
    #: views of large arrays that the caller may edit, with their checksums
    _views: tuple[Snapshot, ...]

    def __init__(
        self,
        target: Any,
        features_q: Any,
        log_base: Any = None,
        radius: Any = 0.0,
        norm: float = 2,
        feature_names: Any = (),
        features_p: Any = None,
        log_weights_p: Any = None,
        paired: bool = False,
        *,
        divergence: str = "kl",
        bounds: Any = None,
        max_weight: float | None = None,
    ) -> None:
        names = as_names(feature_names, "feature_names") or column_names(features_q)
        F = as_matrix(features_q, "features_q", names, limit=MAX_ENTRY, single=True)
        n, k = F.shape
        check_column_scale(F)
        names = _check_names(names, k)
        b = as_vector(target, "target", limit=MAX_PARAMETER)
        if b.size != k:
            raise DataError("target", f"has {b.size} entries for {k} columns of features_q", "pass one for each column")
        a = (
            uniform_log_weights(n)
            if log_base is None
            else log_normalise(as_vector(log_base, "log_base", n, log_weights=True))
        )
        paired = as_flag(paired, "paired")
        F_p = log_w = None
        if features_p is not None:
            F_p, log_w = _check_p_side(features_p, log_weights_p, names, b)
            if paired and len(F_p) != n:
                raise DataError(
                    "paired", f"features_p has {len(F_p)} rows, features_q has {n}", "pair the rows, or pass False"
                )
        elif log_weights_p is not None or paired:
            raise DataError("features_p", "is missing", "pass it, or leave log_weights_p and paired out")
        self._fill(b.copy(), F, a, radius, norm, names, F_p, log_w, paired)
        self._set_link(divergence, bounds, max_weight)

    def _fill(
        self,
        target: Array,
        features_q: Array,
        log_base: Array,
        radius: Any,
        norm: Any,
        feature_names: tuple[str, ...],
        features_p: Array | None,
        log_weights_p: Array | None,
        paired: bool,
        labels: tuple[str, str] = ("features_q", "features_p"),
    ) -> None:
        """Set all attributes, from arrays that have been validated and normalised but may be the caller's."""
        self._views = ()
        self._target, self._feature_names = read_only(target), feature_names
        self._radius, self._norm = as_radius(radius, feature_names), get_norm(norm).order
        self._features_q, self._log_base = self._take(features_q, labels[0]), self._take(log_base, "log_base")
        self._features_p = None if features_p is None else self._take(features_p, labels[1])
        self._log_weights_p = None if log_weights_p is None else self._take(log_weights_p, "log_weights_p")
        self._paired = paired
        self._rows = make_rows(self._features_q, self._log_base, self._target)

    def _take(self, x: Array, label: str) -> Array:
        """An array of the caller, protected against edits in place."""
        snapshot = Snapshot.of(x, label)
        if snapshot.checksum is not None:
            self._views = (*self._views, snapshot)
        return snapshot.array

    def _check_unchanged(self) -> None:
        """Raise if an array of the caller has been edited since the problem was made."""
        for view in self._views:
            view.check()

    def _unchecked(self) -> AbstractContextManager[None]:
        """Do not check the arrays again inside; see :func:`~pre_convex._internal.snapshots.unchecked`."""
        return unchecked(self._views)

    def _set_link(self, divergence: Any, bounds: Any, max_weight: Any) -> None:
        """Set divergence and bounds, once the rows are known."""
        self._divergence = get_divergence(divergence)
        self._bounds = None if bounds is None else _check_bounds(bounds, self.n_q)
        self._max_weight = None if max_weight is None else check_positive(max_weight, "max_weight", "0.05")
        self._link = self._make_link()

    def _make_link(self) -> Link:
        """Divergence with the bounds of each row's ratio, checked to leave room for weights that sum to one."""
        lower, upper = (0.0, np.inf) if self._bounds is None else self._bounds
        if self._max_weight is None and np.ndim(lower) == np.ndim(upper) == 0:
            pi = np.ones(1)
        else:
            pi = np.exp(logits(self.rows, np.zeros(self.k)))
        if self._max_weight is not None:
            with np.errstate(divide="ignore", over="ignore"):
                most = self._max_weight / pi
            upper = np.minimum(upper, most[0] if self.rows.uniform else most)
            argument, remedy = (
                "max_weight",
                f"pass more than {1.0 / self.n_q:.3g}, the average weight",
            )
        else:
            argument, remedy = "bounds", "let 1 be between them"
        with np.errstate(invalid="ignore"):
            least, most = (float((pi * x).sum(where=pi > 0.0)) / pi.sum() for x in (lower, upper))
        if not (np.all(np.asarray(lower) <= upper) and least <= 1.0 + 1e-12 and most >= 1.0 - 1e-12):
            raise DataError(argument, f"allow weights that sum to {least:.6g} to {most:.6g}, but not to 1", remedy)
        without = np.flatnonzero((np.asarray(upper) == 0.0) & (pi > 0.0))
        if without.size and np.isinf(self._divergence.phi(np.zeros(1))[0]):
            reason = f"allow row {without[0]} no weight, at which the divergence {self.divergence!r} is infinite"
            raise DataError(argument, reason, "set log_base to -inf in such rows")
        return Link(self._divergence, lower, upper)

    def _replace(self, **attributes: Any) -> Self:
        """A copy with some (private) attributes replaced; the new values are not validated."""
        other = self.__new__(type(self))
        other.__dict__.update(self.__dict__, **attributes)
        return other

    def __getstate__(self) -> dict[str, Any]:
        """State without the rows if they are in memory, since the features determine them.

        Equal base weights are left out too: a copied array would not be recognised as constant, and solving the
        unpickled problem would change the last digits.
        """
        self._check_unchanged()
        if not self._rows.in_memory:
            return dict(self.__dict__)
        return {**self.__dict__, "_rows": None, "_log_base": None if self._rows.uniform else self._log_base}

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = {name: freeze(x) if isinstance(x, np.ndarray) else x for name, x in state.items()}
        if state["_rows"] is None:
            F, a = state["_features_q"], state["_log_base"]
            a = uniform_log_weights(len(F)) if a is None else a
            state |= {"_log_base": a, "_rows": make_rows(F, a, state["_target"])}
        self.__dict__.update(state)

    def __repr__(self) -> str:
        radius = "radius=per feature" if self.radius_per_feature else f"radius={self.radius:g}, norm={self.norm:g}"
        parts = [f"n_q={self.n_q}", f"k={self.k}", radius]
        if self.divergence != "kl":
            parts.append(f"divergence={self.divergence!r}")
        if self._bounds is not None:
            pair = (f"{x:g}" if np.ndim(x) == 0 else "per row" for x in self._bounds)
            parts.append(f"bounds=({', '.join(pair)})")
        if self._max_weight is not None:
            parts.append(f"max_weight={self._max_weight:g}")
        return f"RatioProblem({', '.join(parts)})"

    @property
    def target(self) -> Array:
        """b, the moment to match, shape (k,)."""
        return self._target

    @property
    def features_q(self) -> Array:
        """F, one row for each q sample, shape (n_q, k)."""
        return self._features_q

    @property
    def log_base(self) -> Array:
        """a, the log base weights of the q rows, shape (n_q,); their exponentials sum to one."""
        return self._log_base

    @property
    def radius(self) -> Any:
        """R, the relaxation of the moment constraint: one number, or an array of shape (k,)."""
        return self._radius

    @property
    def radius_per_feature(self) -> bool:
        """Whether the radius is an array with one entry for each feature."""
        return np.ndim(self._radius) > 0

    @property
    def exact(self) -> bool:
        """Whether every feature that is not left out is matched exactly: R = 0."""
        return not np.any((np.asarray(self._radius) > 0.0) & (np.asarray(self._radius) < np.inf))

    @property
    def divergence(self) -> str:
        """Name of the divergence φ."""
        return self._divergence.name

    @property
    def bounds(self) -> tuple[Array | float, Array | float]:
        """(lo, hi), the bounds on the ratio μ_j/π_j, with :attr:`max_weight` included; (0, inf) if there are none."""
        return self._link.lower, self._link.upper

    @property
    def max_weight(self) -> float | None:
        """The largest weight of a row, if that is limited."""
        return self._max_weight

    @property
    def link(self) -> Link:
        """[LINK] of the problem: the divergence with the bounds on the ratio."""
        return self._link

    @property
    def exponential(self) -> bool:
        """Whether the ratio is exponential: KL without bounds, the paper's program, whose normaliser is closed."""
        return self._divergence.name == "kl" and not self._link.bounded

    @property
    def norm(self) -> float:
        """Order of the norm of the moment constraint: 2.0, inf or 1.0."""
        return self._norm

    @property
    def feature_names(self) -> tuple[str, ...]:
        """One name for each column of F."""
        return self._feature_names

    @property
    def features_p(self) -> Array | None:
        """Features of the p side, shape (n_p, k); ``None`` if only the target is known."""
        return self._features_p

    @property
    def log_weights_p(self) -> Array | None:
        """Log weights of the p side, shape (n_p,), normalised like :attr:`log_base`; ``None`` without a p side."""
        return self._log_weights_p

    @property
    def paired(self) -> bool:
        """Whether row i of both sides is the same observation."""
        return self._paired

    @property
    def rows(self) -> Rows:
        """The q side, as passes over the data read it; its origin is the target, and all sums are relative to it."""
        return self._rows

    @property
    def rows_p(self) -> Rows | None:
        """The p side in the same form and with the same origin; ``None`` if only the target is known."""
        if self.features_p is None or self.log_weights_p is None:
            return None
        return Rows(self.features_p, self.log_weights_p, self.target)

    @property
    def rows_as_given(self) -> Rows:
        """The q side relative to zero."""
        return Rows(self.features_q, self.log_base)

    @property
    def has_intercept(self) -> bool:
        """Whether [P] is solved in (c, δ): for other divergences, bounds, and one radius for each feature."""
        return not self.exponential or self.radius_per_feature

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
        divergence: str = "kl",
        bounds: Any = None,
        max_weight: float | None = None,
    ) -> RatioProblem:
        """Problem from prior samples and log-likelihoods; without likelihoods it is KLIEP.

        Parameters
        ----------
        x_p, x_q : arrays of shape (n_p, d) and (n_q, d), or data frames
            Samples of the two priors. Named columns are matched by name. Dask collections are passed on to
            :meth:`from_blocks`.
        log_lik_p, log_lik_q : array of shape (n,), function of samples, or None, default None
            Log-likelihoods of the samples, up to a constant; −inf for a row that cannot occur. ``None`` stands for a
            constant likelihood.
        features : str, FeatureMap or function, default "linear"
            ``"linear"``, ``"polynomial"``, ``"kernel"``, or anything that maps (n, d) to (n, k).
        radius : float, array of shape (k,) or dict, default 0.0
            R ≥ 0, the relaxation of the moment constraint; one for all features, or one for each.
        norm : {2, inf, 1}, default 2
            Norm of the moment constraint; ``norm=inf`` gives a sparse δ (ℓ1 penalty).
        paired : bool, default False
            Whether row i of both samples is the same observation.
        divergence : {"kl", "chi2", "reverse-kl"}, default "kl"
            Divergence of the weights from the base weights.
        bounds : pair (lo, hi), optional
            Bounds on the ratio of weights to base weights, numbers or arrays of shape (n_q,).
        max_weight : float, optional
            The largest weight of a row.

        Returns
        -------
        RatioProblem

        Examples
        --------
        >>> rng = np.random.default_rng(0)
        >>> x_p, x_q = rng.normal(1.0, 1.0, (50, 2)), rng.normal(0.0, 1.0, (80, 2))
        >>> RatioProblem.from_samples(x_p, x_q, features="polynomial").feature_names
        ('x0', 'x1', 'x0^2', 'x1^2')
        """
        paired = as_flag(paired, "paired")
        if is_dask(x_p) or is_dask(x_q):
            if paired:
                raise DataError("paired", "is not supported with Dask collections", "pass arrays in memory")
            terms = {"radius": radius, "norm": norm, "divergence": divergence, "bounds": bounds}
            return cls.from_blocks(x_p, x_q, log_lik_p, log_lik_q, features=features, max_weight=max_weight, **terms)
        f = make_features(features)
        linear = isinstance(f, Linear)  # only numbers that are features themselves stay float32
        x_p, x_q, columns = check_samples(x_p, x_q, linear)
        if paired and len(x_p) != len(x_q):
            raise DataError("paired", f"x_p has {len(x_p)} rows, x_q has {len(x_q)}", "pair the rows, or pass False")
        log_w = log_normalise(log_likelihood(log_lik_p, x_p, "log_lik_p"))
        log_base = log_normalise(log_likelihood(log_lik_q, x_q, "log_lik_q"))
        names = f.names(columns)
        F_p = as_matrix(x_p if linear else f(x_p), "features(x_p)", names, limit=MAX_ENTRY, single=linear)
        F_q = as_matrix(x_q if linear else f(x_q), "features(x_q)", names, limit=MAX_ENTRY, single=linear)
        check_column_scale(F_q, "features(x_q)")
        k = F_q.shape[1]
        if F_p.shape[1] != k:
            raise DataError(
                "features", f"gives {F_p.shape[1]} columns for x_p but {k} for x_q", "return the same columns for both"
            )
        names = _check_names(as_names(names, "feature_names") or None, k)
        problem = cls.__new__(cls)
        if type(f) in COMPUTED_MAPS:
            freeze(F_p), freeze(F_q)
        labels = ("x_q", "x_p") if linear else ("features(x_q)", "features(x_p)")
        b = _weighted_mean(F_p, log_w)
        problem._fill(b, F_q, log_base, radius, norm, names, F_p, log_w, paired, labels)
        problem._set_link(divergence, bounds, max_weight)
        return problem

    @classmethod
    def from_blocks(
        cls,
        x_p: Any,
        x_q: Any,
        log_lik_p: Any = None,
        log_lik_q: Any = None,
        *,
        features: Any = "linear",
        target: Any = None,
        radius: Any = 0.0,
        norm: float = 2,
        dask: bool = False,
        verbose: bool = False,
        divergence: str = "kl",
        bounds: Any = None,
        max_weight: float | None = None,
    ) -> RatioProblem:
        """Problem from data too large for memory: every pass reads it block by block.

        Parameters
        ----------
        x_p, x_q : path, array, Dask collection, or list of functions
            ``.npy``, ``.parquet`` and ``.zarr`` files, folders of Parquet files, memory maps, Zarr and other arrays
            that can be sliced, Dask arrays and dataframes, or functions without arguments that return one block each.
            ``x_p`` may be ``None`` if a target is given.
        log_lik_p, log_lik_q : function of a block, anything that x can be, column name, or None, default None
            Log-likelihoods, up to a constant. A named column is removed from the samples.
        features : str, FeatureMap or function of a block, default "linear"
            As in :meth:`from_samples`; a kernel needs its landmarks first.
        target : array of shape (k,), optional
            The moment to match, instead of one computed from ``x_p``.
        radius : float, array of shape (k,) or dict, default 0.0
            R ≥ 0, the relaxation of the moment constraint; one for all features, or one for each.
        norm : {2, inf, 1}, default 2
            Norm of the moment constraint; ``norm=inf`` gives a sparse δ (ℓ1 penalty).
        dask : bool, default False
            Whether the workers of the current Dask client read the files; they always read Dask collections.
        verbose : bool, default False
            Whether to show the progress of the passes made here.
        divergence : {"kl", "chi2", "reverse-kl"}, default "kl"
            Divergence of the weights from the base weights.
        bounds : pair (lo, hi), optional
            Bounds on the ratio of weights to base weights, numbers or arrays of shape (n_q,).
        max_weight : float, optional
            The largest weight of a row.

        Returns
        -------
        RatioProblem
            Its :attr:`features_q` and :attr:`log_base` are not in memory; :meth:`in_memory` loads them.

        Examples
        --------
        >>> rng = np.random.default_rng(0)
        >>> x_p, x_q = rng.normal(0.5, 1.0, (50, 2)), rng.normal(0.0, 1.0, (80, 2))
        >>> RatioProblem.from_blocks(x_p, x_q, features="polynomial")
        RatioProblem(n_q=80, k=4, radius=0, norm=2, in 1 block)
        """
        dask, verbose = as_flag(dask, "dask"), as_flag(verbose, "verbose")
        rows, rows_p, b, names = assemble(x_p, x_q, log_lik_p, log_lik_q, features, target, dask, verbose)
        problem = BlockedProblem(rows, rows_p, b, names, radius, norm)
        problem._set_link(divergence, bounds, max_weight)
        return problem

    def in_memory(self) -> RatioProblem:
        """The problem with all rows in memory: this one, unless it is read block by block."""
        return self

    def with_radius(self, radius: Any, norm: float | None = None) -> RatioProblem:
        """The same data with another radius.

        Parameters
        ----------
        radius : float, array of shape (k,) or dict
            R ≥ 0, one for all features or one for each.
        norm : {2, inf, 1}, optional
            Norm of the new problem; unchanged by default.

        Returns
        -------
        RatioProblem
            Shares its arrays with this one.

        Examples
        --------
        >>> RatioProblem([0.2], [[-1.0], [1.0]]).with_radius(0.1, norm="inf")
        RatioProblem(n_q=2, k=1, radius=0.1, norm=inf)
        """
        order = self.norm if norm is None else get_norm(norm).order
        return self._replace(_radius=as_radius(radius, self.feature_names), _norm=order)

    def _in_units(self, unit: Array) -> RatioProblem:
        """The same problem with every feature divided by its unit, which changes what a positive radius means."""
        F_q, F_p = freeze(_divided(self.features_q, unit)), self.features_p
        target = self.target / unit
        if F_p is not None and self.log_weights_p is not None:
            F_p = freeze(_divided(F_p, unit))
            target = _weighted_mean(F_p, self.log_weights_p)  # of these numbers, which float32 rounds
        other = self._replace()
        terms = (self.log_base, self.radius, self.norm, self.feature_names, F_p, self.log_weights_p, self.paired)
        other._fill(target, F_q, *terms)
        return other

    def without_bounds(self) -> RatioProblem:
        """The same problem without bounds on the weights."""
        return self._replace(_bounds=None, _max_weight=None, _link=Link(self._divergence))

    def with_log_weights(self, log_base: Array, log_weights_p: Array | None = None) -> RatioProblem:
        """The same problem with exactly these log weights, for readers of files.

        Normalising stored weights again would change their last bits.

        Parameters
        ----------
        log_base : array of shape (n_q,)
            Log base weights, normalised already; this is not checked.
        log_weights_p : array of shape (n_p,), optional
            The same for the p side; unchanged by default.

        Returns
        -------
        RatioProblem
        """
        other = self._replace()
        other._log_base = other._take(log_base, "log_base")
        if log_weights_p is not None:
            other._log_weights_p = other._take(log_weights_p, "log_weights_p")
        other._rows = self.rows.with_log_base(other._log_base)
        return other if self._max_weight is None else other._replace(_link=other._make_link())

    def on_face(self, columns: Index) -> tuple[RatioProblem, float] | None:
        """The same problem, but q rows that differ from the target in one of these columns have no base weight.

        Parameters
        ----------
        columns : array of int
            Numbers of the columns.

        Returns
        -------
        problem : RatioProblem
            Its base weights sum to one again.
        log_share : float
            Log of the share of the base weights that is left; the result is ``None`` if no weight is left.
        """
        log_base = np.array(self.log_base)
        for i in columns:
            log_base[self.features_q[:, i] != self.target[i]] = -np.inf
        left = log_sum_exp(log_base)
        if left == -np.inf:
            return None
        log_base -= left
        return self._replace(_log_base=read_only(log_base), _rows=self.rows.with_log_base(log_base)), left

    def with_weight(self, columns: Index) -> tuple[Array, Array]:
        """The q rows that have weight, in memory.

        Parameters
        ----------
        columns : array of int
            Numbers of the columns.

        Returns
        -------
        features : ndarray of shape (n, columns)
            Their features in these columns.
        log_base : ndarray of shape (n,)
            Their log base weights.
        """
        index, F = self.positive_rows, self.features_q
        found = np.empty((index.size, columns.size), dtype=F.dtype)
        for start in range(0, index.size, COPIED_ROWS):  # many times faster than np.ix_
            some = slice(start, start + COPIED_ROWS)
            np.take(F[index[some]], columns, axis=1, out=found[some])
        return found, self.log_base[index]

    def centred_at_target(self) -> RatioProblem:
        """The same problem with the target subtracted from every row in memory, not from sums over rows."""
        if self.rows.shift is None or not self.rows.in_memory:
            return self
        return self._replace(_rows=Rows(self.features_q, self.log_base, self.target))

    def change_coordinates(self, basis: Array) -> RatioProblem:
        """The problem with features (F − b) · basis, target zero and R = 0.

        Parameters
        ----------
        basis : array of shape (k, r)
            One column for each new coordinate.

        Returns
        -------
        RatioProblem
        """
        features = np.empty((self.n_q, basis.shape[1]))
        for start in range(0, self.n_q, COPIED_ROWS):
            some = slice(start, start + COPIED_ROWS)
            np.matmul(self.rows.take(some).features, basis, out=features[some])
        features = freeze(features)
        return RatioProblem(np.zeros(basis.shape[1]), features, self.log_base)._replace(**self._link_attributes)

    @property
    def _link_attributes(self) -> dict[str, Any]:
        """The attributes that :meth:`_set_link` sets, for problems on the same rows."""
        return {name: self.__dict__[name] for name in ("_divergence", "_bounds", "_max_weight", "_link")}

    @property
    def n_q(self) -> int:
        """Number of q rows."""
        return self.rows.shape[0]

    @property
    def k(self) -> int:
        """Number of features."""
        return self.rows.shape[1]

    @property
    def positive_rows(self) -> Index:
        """Indices of the rows with positive base weight; the others have zero weight in every solution."""
        return np.flatnonzero(self.log_base > -np.inf)

    @property
    def moment_norm(self) -> Norm:
        """Norm of the moment constraint, with its dual norm and its projection."""
        return get_norm(self.norm)

    @property
    def ranges(self) -> tuple[Array, Array]:
        """Smallest and largest value of each feature, over the rows with positive base weight."""
        self._check_unchanged()
        return column_ranges(self.rows_as_given)

    def tilt(self, delta: Any, *, covariance: bool = False) -> Summary:
        """Log Z and the moments of F under μ(δ), from one pass over the rows.

        Parameters
        ----------
        delta : array of shape (k,)
            Ratio parameter δ.
        covariance : bool, default False
            Whether to compute the covariance as well.

        Returns
        -------
        Summary
            ``log_z``, ``mean`` and ``covariance``.
        """
        delta = self._delta(delta)
        self.require_exponential("tilt()")
        summary = tilt(self.rows, delta, covariance=as_flag(covariance, "covariance"))
        return summary._replace(log_z=summary.log_z + float(self.target @ delta), mean=summary.mean + self.target)

    def value(self, delta: Any) -> float:
        """ℓ_R(δ), the objective of [P]; zero at δ = 0.

        Parameters
        ----------
        delta : array of shape (k,)
            Ratio parameter δ; entries up to 1e150 in size.

        Returns
        -------
        float
        """
        delta = self._delta(delta)
        if self.exponential:
            loss = tilt(self.rows, delta, covariance=False).log_z
        else:
            loss = linked_tilt(self.rows, self.link, self._theta(delta), covariance=False).log_z
        return float(loss + self.penalty_value(delta))

    def gradient(self, delta: Any) -> Array:
        """∇ℓ(δ) = F'μ(δ) − b, without the penalty.

        Parameters
        ----------
        delta : array of shape (k,)
            Ratio parameter δ; entries up to 1e150 in size.

        Returns
        -------
        ndarray of shape (k,)
        """
        delta = self._delta(delta)
        if self.exponential:
            return tilt(self.rows, delta, covariance=False).mean
        return linked_tilt(self.rows, self.link, self._theta(delta), covariance=False).mean[1:]

    def hessian(self, delta: Any) -> Array:
        """∇²ℓ(δ), the covariance of F under μ(δ); under the curvature κ(δ), for other divergences and bounds.

        Parameters
        ----------
        delta : array of shape (k,)
            Ratio parameter δ; entries up to 1e150 in size.

        Returns
        -------
        ndarray of shape (k, k)
        """
        delta = self._delta(delta)
        if self.exponential:
            covariance = tilt(self.rows, delta).covariance
            assert covariance is not None  # it was asked for
            return covariance
        H = linked_tilt(self.rows, self.link, self._theta(delta)).covariance
        assert H is not None
        return schur_complement(H, np.arange(1, self.k + 1))

    def log_mu(self, delta: Any) -> Array:
        """Log μ_j(δ) of [LINK].

        Parameters
        ----------
        delta : array of shape (k,)
            Ratio parameter δ; entries up to 1e150 in size.

        Returns
        -------
        ndarray of shape (n_q,)
            −inf for rows of zero base weight.
        """
        delta = self._delta(delta)
        if self.exponential:
            return log_weights(self.rows, delta)
        return safe_log(self.mu(delta))

    def mu(self, delta: Any) -> Array:
        """Weights μ_j(δ) of [LINK], which sum to one; exactly within the bounds, if there are any.

        Parameters
        ----------
        delta : array of shape (k,)
            Ratio parameter δ; entries up to 1e150 in size.

        Returns
        -------
        ndarray of shape (n_q,)
        """
        delta = self._delta(delta)
        if self.exponential:
            return np.exp(log_weights(self.rows, delta))
        weights = linked_weights(self.rows, self.link, self._theta(delta))
        return weights if self._max_weight is None else np.minimum(weights, self._max_weight)

    def intercept(self, delta: Any) -> float:
        """The c of [P] that is optimal for δ: the weights of [LINK] at (c, δ) sum to one.

        Parameters
        ----------
        delta : array of shape (k,)
            Ratio parameter δ; entries up to 1e150 in size.

        Returns
        -------
        float
            −log Z(δ) for KL without bounds.
        """
        delta = self._delta(delta)
        if self.exponential:
            return -(tilt(self.rows, delta, covariance=False).log_z + float(self.target @ delta))
        return float(self._theta(delta)[0] - self.target @ delta)

    def _theta(self, delta: Array) -> Array:
        """(c', δ) with the best c' for rows relative to the target."""
        return np.append(intercept_at(self.rows, self.link, delta), delta)

    def require_exponential(self, what: str) -> None:
        """Raise :class:`DataError` unless the problem is KL without bounds.

        Parameters
        ----------
        what : str
            What is for such problems only, for the message.
        """
        if not self.exponential:
            argument = "divergence" if self.divergence != "kl" else "bounds"
            raise DataError(argument, f"{what} is for the KL divergence without bounds", "use those defaults")

    def require_one_radius(self, what: str) -> None:
        """Raise :class:`DataError` unless one radius is used for all features.

        Parameters
        ----------
        what : str
            What is for such problems only, for the message.
        """
        if self.radius_per_feature:
            raise DataError("radius", f"{what} needs one radius for all features", "pass one number")

    def penalty_value(self, delta: Array) -> float:
        """R‖δ‖_*, or Σ R_i|δ_i|.

        Parameters
        ----------
        delta : array of shape (k,)
            Ratio parameter δ.

        Returns
        -------
        float
        """
        return radius_value(self.radius, self.moment_norm, delta)

    def excess(self, r: Array) -> float:
        """How far a residual is beyond the radius: (‖r‖ − R)₊, or the largest excess of ``|r_i|`` over R_i.

        Parameters
        ----------
        r : array of shape (k,)
            Residual b − F'μ.

        Returns
        -------
        float
        """
        return radius_excess(self.radius, self.moment_norm, r)

    def dual_value(self, mu: Any) -> float:
        """Σ −μ log μ + μ a, or −Σ π φ(μ/π), the objective of [D]; its constraints are not checked.

        Parameters
        ----------
        mu : array of shape (n_q,)
            Weights of the q rows, which should sum to one; entries up to 1e100 in size.

        Returns
        -------
        float
            −inf if μ puts weight on a row of zero base weight.
        """
        return _dual_value(self._divergence, self._mu(mu), self.log_base)

    def residual(self, mu: Any) -> Array:
        """b − F'μ, the residual of the moment constraint in [D].

        Parameters
        ----------
        mu : array of shape (n_q,)
            Weights of the q rows, which should sum to one; entries up to 1e100 in size.

        Returns
        -------
        ndarray of shape (k,)
        """
        mu = self._mu(mu)
        missing = 1.0 - float(mu.sum())
        if abs(missing) <= mu.size * EPS:  # round-off, which a large target would magnify
            missing = 0.0
        return missing * self.target - weighted_sum(self.rows, mu)

    def _delta(self, delta: Any) -> Array:
        """A validated ratio parameter, for a pass over rows that are still the same."""
        self._check_unchanged()
        return as_vector(delta, "delta", self.k, limit=MAX_PARAMETER)

    def _mu(self, mu: Any) -> Array:
        """Validated weights, which need not be feasible for [D]; the rows are checked as well."""
        self._check_unchanged()
        return as_vector(mu, "mu", self.n_q, limit=MAX_ENTRY)


class BlockedProblem(RatioProblem):
    """A problem whose rows are read block by block; :meth:`in_memory` loads them all.

    Parameters
    ----------
    rows : Rows
        The q side, with the target as its origin.
    rows_p : Rows or None
        The p side, with the same origin.
    target : array of shape (k,)
        b, the moment to match.
    feature_names : tuple of str
        One name for each feature.
    radius, norm
        As in :class:`RatioProblem`.
    """

    _rows_p: Rows | None

    def __init__(
        self,
        rows: Rows,
        rows_p: Rows | None,
        target: Array,
        feature_names: tuple[str, ...],
        radius: Any = 0.0,
        norm: float = 2,
    ) -> None:
        self._rows, self._rows_p = rows, rows_p
        self._target = read_only(as_vector(target, "target", limit=MAX_PARAMETER))
        self._feature_names = feature_names
        self._radius, self._norm = as_radius(radius, feature_names), get_norm(norm).order
        self._features_p, self._log_weights_p, self._paired = None, None, False
        self._views = ()
        self._set_link("kl", None, None)

    @property
    def features_q(self) -> Array:
        """Not in memory: raises :class:`DataError`."""
        return self.rows.features

    @property
    def log_base(self) -> Array:
        """Not in memory: raises :class:`DataError`."""
        return self.rows.log_base

    @property
    def rows_p(self) -> Rows | None:
        """The p side, which is read block by block as well."""
        return self._rows_p

    @property
    def rows_as_given(self) -> Rows:
        """The q side relative to zero."""
        return self.rows.without_origin()  # type: ignore[attr-defined, no-any-return]

    def __repr__(self) -> str:
        count = len(self.rows.blocks.starts)  # type: ignore[attr-defined]
        return f"{super().__repr__()[:-1]}, in {count} block{'s' if count > 1 else ''})"

    def in_memory(self) -> RatioProblem:
        """The problem with all rows in memory."""
        rows, side_p = self.rows_as_given.take(slice(None)), {}
        if self._rows_p is not None:
            p = self._rows_p.without_origin().take(slice(None))  # type: ignore[attr-defined]
            side_p = {"features_p": p.features, "log_weights_p": p.log_base}
        terms = (self.radius, self.norm, self.feature_names)
        problem = RatioProblem(self.target, rows.features, rows.log_base, *terms, **side_p)
        return problem._replace(**self._link_attributes)

    def on_face(self, columns: Index) -> tuple[RatioProblem, float] | None:
        """The same problem, but q rows that differ from the target in one of these columns have no base weight."""
        rows, left = self.rows.on_face(columns, self.target[columns])  # type: ignore[attr-defined]
        return None if left == -np.inf else (self._replace(_rows=rows), left)

    def with_weight(self, columns: Index) -> tuple[Array, Array]:
        """Features in some columns and log base weights of the q rows that have weight, read into memory."""
        rows = self.rows_as_given.with_weight()  # type: ignore[attr-defined]
        return rows.features[:, columns], rows.log_base

    def change_coordinates(self, basis: Array) -> RatioProblem:
        """The problem with features (F − b) · basis, target zero and R = 0, computed block by block."""
        target, names = np.zeros(basis.shape[1]), tuple(f"z{i}" for i in range(basis.shape[1]))
        rows = self.rows.change_coordinates(basis).with_origin(target)  # type: ignore[attr-defined]
        return BlockedProblem(rows, None, target, names)._replace(**self._link_attributes)

    def _in_units(self, unit: Array) -> RatioProblem:
        """The same problem with every feature divided by its unit, block by block."""
        target = self.target / unit
        rows_p = None if self._rows_p is None else self._rows_p.in_units(unit).with_origin(target)  # type: ignore[attr-defined]
        rows = self.rows.in_units(unit).with_origin(target)  # type: ignore[attr-defined]
        return self._replace(_rows=rows, _rows_p=rows_p, _target=read_only(target))

    def dual_value(self, mu: Any) -> float:
        """Σ −μ log μ + μ a, from one pass that reads the base weights."""
        return _dual_value(self._divergence, self._mu(mu), logits(self.rows, np.zeros(self.k)))


def as_problem(x: Any, name: str = "problem") -> RatioProblem:
    """Return x if it is a problem whose arrays have not been edited; otherwise raise :class:`DataError`."""
    if not isinstance(x, RatioProblem):
        raise DataError(name, f"must be a RatioProblem, not {type(x).__name__}", "make one with RatioProblem(...)")
    x._check_unchanged()
    return x


def _dual_value(divergence: Divergence, mu: Array, log_base: Array) -> float:
    """−Σ π φ(μ/π); −inf if μ puts weight on a row of zero base weight."""
    if divergence.name == "kl":
        return negative_kl(mu, log_base)
    pi = np.exp(log_base)
    positive = pi > 0.0
    if np.any(mu[~positive]) or np.any(mu < 0.0):
        return -np.inf
    return -float(pi[positive] @ divergence.phi(mu[positive] / pi[positive]))


def _check_bounds(bounds: Any, n: int) -> tuple[Array | float, Array | float]:
    """(lo, hi) with 0 ≤ lo ≤ hi, each one number or one for each of n rows; hi may be infinite."""
    if isinstance(bounds, str | bytes | dict) or not hasattr(bounds, "__len__") or len(bounds) != 2:
        raise DataError("bounds", f"{preview(bounds)} is not a pair", "pass (lo, hi), such as (0.2, 5.0)")
    pair: list[Array | float] = []
    for x in bounds:
        infinite = np.ndim(x) == 0 and not isinstance(x, str | bytes) and x is not None and x == np.inf
        if infinite:
            pair.append(np.inf)
        elif np.ndim(x) == 0:
            pair.append(as_scalar(x, "bounds"))
        else:
            values = as_numbers(x, "bounds")
            if values.shape != (n,):
                reason = f"an array of shape {values.shape} for {n} rows of features_q"
                raise DataError("bounds", reason, "pass one number, or one for each row")
            if np.isnan(values).any():
                raise DataError("bounds", "contain nan", "pass numbers")
            pair.append(read_only(values.copy()))
    lower, upper = pair
    if np.any(np.asarray(lower) < 0.0):
        raise DataError("bounds", f"the lower bound {np.min(lower):g} is negative", "pass 0 or more")
    if not np.all(np.asarray(lower) <= upper):
        raise DataError("bounds", "a lower bound is above its upper bound", "pass lo ≤ hi")
    if not np.all(np.isfinite(lower)):
        raise DataError("bounds", "a lower bound is infinite", "pass finite lower bounds")
    return lower, upper


def _check_names(names: tuple[str, ...] | None, k: int) -> tuple[str, ...]:
    """One name for each of k columns, without duplicates; ``f0``, ``f1``, … if there are none."""
    if names is None:
        return tuple(f"f{i}" for i in range(k))
    if len(names) != k:
        raise DataError("feature_names", f"{len(names)} names for {k} features", "pass one name for each feature")
    repeated = duplicate(names)
    if repeated is not None:
        raise DataError("feature_names", f"duplicate name {repeated!r}", "give every feature its own name")
    return names


def _divided(F: Array, unit: Array) -> Array:
    """F / unit in the precision of F."""
    return np.asarray(F / unit.astype(F.dtype))


def _weighted_mean(F: Array, log_w: Array) -> Array:
    """Mean of the rows under normalised weights, relative to a first estimate: that of a constant column is exact."""
    w = np.exp(log_w)
    centre = weighted_sum(Rows(F, log_w), w)
    return centre + weighted_sum(Rows(F, log_w, centre), w)


def _check_p_side(features_p: Any, log_weights_p: Any, names: tuple[str, ...], b: Array) -> tuple[Array, Array]:
    """Features and normalised log weights of the p side, whose mean must be the target b up to round-off."""
    F_p = as_matrix(features_p, "features_p", names, limit=MAX_ENTRY, single=True)
    if F_p.shape[1] != b.size:
        raise DataError(
            "features_p", f"has {F_p.shape[1]} columns, features_q has {b.size}", "use the same features on both sides"
        )
    log_w = np.zeros(len(F_p)) if log_weights_p is None else log_weights_p
    log_w = log_normalise(as_vector(log_w, "log_weights_p", len(F_p), log_weights=True))
    size = np.abs(F_p[:: max(1, len(F_p) // 1000)]).max(axis=0) + np.abs(b)
    if np.any(np.abs(_weighted_mean(F_p, log_w) - b) > 1e-9 * size):
        raise DataError(
            "target", "is not the mean of features_p under log_weights_p", "pass that mean, or leave features_p out"
        )
    return F_p, log_w


def check_samples(x_p: Any, x_q: Any, single: bool) -> tuple[Array, Array, tuple[str, ...]]:
    """Both samples as arrays with the same columns, and the column names."""
    columns, columns_q, names, given = column_names(x_p), column_names(x_q), sample_names(x_p, x_q), x_q
    if columns is not None and columns_q is not None and sorted(columns) != sorted(columns_q):
        different = ", ".join(sorted(set(columns) ^ set(columns_q)))
        raise DataError("x_q", f"its columns differ from those of x_p in {different}", "give both the same columns")
    x_p, x_q = as_matrix(x_p, "x_p", single=single), as_matrix(x_q, "x_q", single=single)
    if columns is not None and columns_q is not None and columns != columns_q:
        x_q = x_q[:, [columns_q.index(c) for c in columns]]
    if x_p.shape[1] != x_q.shape[1]:
        remedy = "give both the same columns"
        if np.ndim(given) == 1:
            remedy += "; for rows and their labels, use RatioClassifier"
        raise DataError("x_q", f"has {x_q.shape[1]} columns, x_p has {x_p.shape[1]}", remedy)
    return x_p, x_q, names or tuple(f"x{i}" for i in range(x_p.shape[1]))
