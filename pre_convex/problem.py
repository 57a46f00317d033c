"""RatioProblem: the data of a posterior-ratio problem and the functions of [P] and [D] on it.

[P]    minimise over δ     ℓ_R(δ) = −⟨b,δ⟩ + log Σ_j exp(a_j + ⟨δ,F_j⟩) + R‖δ‖_*
[D]    maximise over μ     Σ_j −μ_j log μ_j + μ_j a_j      s.t. μ ≥ 0, Σμ = 1, ‖b − F'μ‖ ≤ R
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .arrays import as_flag, as_matrix, as_names, as_vector, column_names, frozen
from .assembly import assemble, packed, rows_of, unpacked
from .checks import LARGEST, LONGEST, check_radius, check_size
from .distributed import is_dask
from .entropy import Array, exp, log_normalise, log_sum_exp, negative_kl
from .errors import DataError
from .features import make_features
from .kernels import Kernel as _Kernel  # noqa: F401  # puts "kernel" among the names of features
from .likelihoods import log_likelihood
from .norms import Norm, get_norm
from .passes import Rows, Summary, even_base, logits, support, tilt, weighted_sum
from .threads import one_thread_each

__all__ = ["RatioProblem", "as_problem"]


@dataclass(frozen=True, eq=False, repr=False)
class RatioProblem:
    """A posterior-ratio problem: target moment, features and base weights of the q side, radius and norm.

    Parameters
    ----------
    target : array of shape (k,)
        b, the moment to match.
    features_q : array of shape (n_q, k)
        F, one row for each q sample. A float64 array is viewed, not copied.
    log_base : array of shape (n_q,), optional
        Logarithms of base weights up to a constant; −inf gives a row no weight. Flat when left out.
    radius : float
        R ≥ 0, the relaxation of the moment constraint and the weight of the penalty R‖δ‖_*.
    norm : {2, inf, 1}
        Norm of the moment constraint; its dual norm penalises δ.
    feature_names : sequence of str, optional
        One name for each column; ``f0``, ``f1``, … when left out.
    features_p, log_weights_p : arrays, optional
        The p side that ``target`` was computed from, kept for inference.
    paired : bool
        Whether x_p and x_q are the same rows.

    Examples
    --------
    >>> problem = RatioProblem(target=[0.2], features_q=[[-1.0], [0.0], [1.0]])
    >>> problem
    RatioProblem(n_q=3, k=1, radius=0, norm=2)
    >>> problem.value([0.0])
    0.0
    >>> problem.gradient([0.0])
    array([-0.2])
    """

    target: Array
    features_q: Array
    log_base: Array = None  # type: ignore[assignment]  # an array once __post_init__ has run
    radius: float = 0.0
    norm: float = 2
    feature_names: tuple[str, ...] = ()
    features_p: Array | None = None
    log_weights_p: Array | None = None
    paired: bool = False
    rows: Rows = field(init=False)

    def __post_init__(self) -> None:
        names = as_names(self.feature_names, "feature_names") or column_names(self.features_q)
        F = as_matrix(self.features_q, "features_q", names, limit=LARGEST)
        n, k = F.shape
        check_size(F)
        if names is None:
            names = tuple(f"f{i}" for i in range(k))
        if len(names) != k:
            raise DataError(f"feature_names: {len(names)} names for {k} columns of features_q")
        if len(set(names)) != k:
            twice = next(c for c in names if names.count(c) > 1)
            raise DataError(f"feature_names: {twice!r} stands there twice")
        b = as_vector(self.target, "target", limit=LONGEST)
        if b.size != k:
            raise DataError(f"target: has {b.size} entries for {k} columns of features_q; pass one for each")
        given: Any = self.log_base
        a = even_base(n) if given is None else log_normalise(as_vector(given, "log_base", n, log_weights=True))
        R, paired = check_radius(self.radius), as_flag(self.paired, "paired")
        norm = get_norm(self.norm).order
        side_p: dict[str, Array] = {}
        if self.features_p is not None:
            F_p = as_matrix(self.features_p, "features_p", names, limit=LARGEST)
            if F_p.shape[1] != k:
                raise DataError(f"features_p: has {F_p.shape[1]} columns, features_q has {k}")
            log_w = np.zeros(len(F_p)) if self.log_weights_p is None else self.log_weights_p
            log_w = log_normalise(as_vector(log_w, "log_weights_p", len(F_p), log_weights=True))
            side_p = {"features_p": frozen(F_p), "log_weights_p": frozen(log_w)}
            size = np.abs(F_p[:: max(1, len(F_p) // 1000)]).max(axis=0) + np.abs(b)
            if np.any(np.abs(exp(log_w) @ F_p - b) > 1e-9 * size):
                raise DataError("target: is not the mean of features_p under log_weights_p; leave features_p out")
            if paired and len(F_p) != n:
                raise DataError(f"paired: features_p has {len(F_p)} rows and features_q {n}; pairs are the same rows")
        elif self.log_weights_p is not None or paired:
            raise DataError("features_p: is needed with log_weights_p and with paired")
        values: dict[str, Any] = {
            "target": frozen(b.copy()),
            "features_q": frozen(F),
            "log_base": frozen(a),
            "radius": R,
            "norm": norm,
            "feature_names": names,
            "paired": paired,
            "rows": rows_of(F, a),
            **side_p,
        }
        for key, value in values.items():
            object.__setattr__(self, key, value)

    def __getstate__(self) -> dict[str, Any]:
        return packed(self.__dict__)

    def __setstate__(self, state: dict[str, Any]) -> None:
        for key, value in unpacked(state).items():
            object.__setattr__(self, key, value)

    def __repr__(self) -> str:
        return f"RatioProblem(n_q={self.n_q}, k={self.k}, radius={self.radius:g}, norm={self.norm:g})"

    @classmethod
    @one_thread_each()
    def from_samples(
        cls,
        x_p: Any,
        x_q: Any,
        log_lik_p: Any = None,
        log_lik_q: Any = None,
        *,
        features: Any = "linear",
        radius: float = 0.0,
        norm: float = 2,
        paired: bool = False,
    ) -> RatioProblem:
        """Problem from prior samples and log-likelihoods; without likelihoods it is KLIEP.

        Parameters
        ----------
        x_p, x_q : arrays of shape (n_p, d) and (n_q, d), or data frames
            Samples of the two priors; Dask collections are left to :meth:`from_blocks`.
        log_lik_p, log_lik_q : arrays, functions x -> (n,), or None
            Log-likelihoods, up to a constant.
        features : str, FeatureMap or function
            ``"linear"``, ``"polynomial"``, or anything that maps (n, d) to (n, k).
        radius, norm, paired
            As in the class.

        Examples
        --------
        >>> rng = np.random.default_rng(0)
        >>> x_p, x_q = rng.normal(1.0, 1.0, (50, 2)), rng.normal(0.0, 1.0, (80, 2))
        >>> RatioProblem.from_samples(x_p, x_q, features="polynomial").feature_names
        ('x0', 'x1', 'x0^2', 'x1^2')
        """
        if is_dask(x_p) or is_dask(x_q):
            if as_flag(paired, "paired"):
                raise DataError("paired: is not known for Dask collections; pass arrays in memory")
            return cls.from_blocks(x_p, x_q, log_lik_p, log_lik_q, features=features, radius=radius, norm=norm)
        columns, columns_q = column_names(x_p), column_names(x_q)
        both = columns is not None and columns_q is not None
        if both and sorted(columns) != sorted(columns_q):  # type: ignore[arg-type]
            odd = sorted(set(columns) ^ set(columns_q))  # type: ignore[arg-type]
            raise DataError(f"x_q: its columns differ from those of x_p in {', '.join(odd)}; give both the same ones")
        given = x_q
        x_p, x_q = as_matrix(x_p, "x_p"), as_matrix(x_q, "x_q")
        if both and columns != columns_q:
            x_q = x_q[:, [columns_q.index(c) for c in columns]]  # type: ignore[union-attr]
        if x_p.shape[1] != x_q.shape[1]:
            labels = "; for rows and their labels take RatioClassifier" if np.ndim(given) == 1 else ""
            raise DataError(f"x_q: has {x_q.shape[1]} columns, x_p has {x_p.shape[1]}{labels}")
        if as_flag(paired, "paired") and len(x_p) != len(x_q):
            raise DataError(f"paired: x_p has {len(x_p)} rows and x_q {len(x_q)}; paired samples are the same rows")
        columns = columns or columns_q or tuple(f"x{i}" for i in range(x_p.shape[1]))
        log_w = log_normalise(log_likelihood(log_lik_p, x_p, "log_lik_p"))
        log_base = log_likelihood(log_lik_q, x_q, "log_lik_q")
        f = make_features(features)
        names = f.names(columns)
        F_p = as_matrix(f(x_p), "features(x_p)", names, limit=LARGEST)
        F_q = as_matrix(f(x_q), "features(x_q)", names, limit=LARGEST)
        check_size(F_q, "features(x_q)")
        if F_p.shape[1] != F_q.shape[1]:
            raise DataError(f"features: {F_p.shape[1]} columns for x_p but {F_q.shape[1]} for x_q")
        return cls(
            target=exp(log_w) @ F_p,
            features_q=F_q,
            log_base=log_base,
            radius=radius,
            norm=norm,
            feature_names=names,
            features_p=F_p,
            log_weights_p=log_w,
            paired=paired,
        )

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
        radius: float = 0.0,
        norm: float = 2,
        dask: bool = False,
        verbose: bool = False,
    ) -> RatioProblem:
        """Problem whose samples are read, mapped to features and reduced block by block, in every pass anew.

        Parameters
        ----------
        x_p, x_q : paths, arrays, Dask collections, or lists of functions
            ``.npy``, ``.parquet`` and ``.zarr`` files, folders of Parquet files, memory maps, Zarr and other arrays
            with slices, Dask arrays and dataframes, or functions without arguments that make one block each. ``x_p``
            may be ``None`` if a target is given.
        log_lik_p, log_lik_q : function of a block, anything that x can be, name of a column, or None
            A column that is named is taken out of the samples.
        features : str, FeatureMap or function of a block
        target : array of shape (k,), optional
            The moment to match, instead of one computed from ``x_p``.
        radius, norm
            As in the class.
        dask : bool
            Whether the workers of the current Dask client read the files; Dask collections are always left to them.
        verbose : bool
            Whether to show the progress of the passes made here.

        Examples
        --------
        >>> rng = np.random.default_rng(0)
        >>> x_p, x_q = rng.normal(0.5, 1.0, (50, 2)), rng.normal(0.0, 1.0, (80, 2))
        >>> RatioProblem.from_blocks(x_p, x_q, features="polynomial")
        RatioProblem(n_q=80, k=4, radius=0, norm=2, in 1 block)
        """
        dask, verbose = as_flag(dask, "dask"), as_flag(verbose, "verbose")
        return BlockedProblem.of(
            *assemble(x_p, x_q, log_lik_p, log_lik_q, features, target, dask, verbose), radius, norm
        )

    def in_memory(self) -> RatioProblem:
        """The problem itself, or one with all rows in memory if they are read block by block."""
        return self

    def with_radius(self, radius: float, norm: float | None = None) -> RatioProblem:
        """The same data with another radius, and another norm if one is given."""
        other = object.__new__(type(self))  # the data has been checked
        order = self.norm if norm is None else get_norm(norm).order
        other.__dict__.update(self.__dict__, radius=check_radius(radius), norm=order)
        return other

    @property
    def rows_p(self) -> Rows | None:
        """The p side as rows, with the origin of :attr:`rows`; ``None`` if only its moment is known."""
        if self.features_p is None or self.log_weights_p is None:
            return None
        return Rows(self.features_p, self.log_weights_p, self.rows.origin)

    def in_coordinates(self, centre: Array, basis: Array) -> RatioProblem:
        """The same rows as (F − centre) · basis, and the target with them; ``centre`` is relative to the origin."""
        features = (self.rows.take(slice(None)).features - centre) @ basis
        return RatioProblem((self.residual_origin - centre) @ basis, features, self.log_base)

    @property
    def n_q(self) -> int:
        """Number of q rows."""
        return self.rows.shape[0]

    @property
    def k(self) -> int:
        """Number of features."""
        return self.rows.shape[1]

    @property
    def ball(self) -> Norm:
        """The norm of the moment constraint, with its dual and its projection."""
        return get_norm(self.norm)

    @property
    def residual_origin(self) -> Array:
        """b relative to the origin of :attr:`rows`; all sums over rows are taken relative to it."""
        return self.target if self.rows.origin is None else self.target - self.rows.origin

    def tilt(self, delta: Any, *, covariance: bool = False) -> Summary:
        """One pass at δ, relative to the origin of :attr:`rows`."""
        return tilt(self.rows, self._delta(delta), covariance=as_flag(covariance, "covariance"))

    def value(self, delta: Any) -> float:
        """ℓ_R(δ), the objective of [P]; zero at δ = 0."""
        delta = self._delta(delta)
        loss = self.tilt(delta).log_z - self.residual_origin @ delta
        return float(loss + self.radius * self.ball.dual(delta))

    def gradient(self, delta: Any) -> Array:
        """∇ℓ(δ) = F'μ(δ) − b, without the penalty."""
        return self.tilt(delta).mean - self.residual_origin

    def hessian(self, delta: Any) -> Array:
        """∇²ℓ(δ), the covariance of F under μ(δ)."""
        covariance = self.tilt(delta, covariance=True).covariance
        assert covariance is not None  # it was asked for
        return covariance

    def log_mu(self, delta: Any) -> Array:
        """Log μ_j(δ) of [LINK]."""
        z = logits(self.rows, self._delta(delta))
        z -= log_sum_exp(z)
        return z

    def dual_value(self, mu: Any) -> float:
        """Σ −μ log μ + μ a, the objective of [D], without a look at its constraints."""
        return negative_kl(self._mu(mu), self.log_base)

    @property
    def ranges(self) -> tuple[Array, Array]:
        """Smallest and largest value of every feature, over the rows that carry weight."""
        eye = np.eye(self.k)
        tops, _ = support(self.rows, np.concatenate([eye, -eye], axis=1), 1)
        shift = 0.0 if self.rows.origin is None else self.rows.origin
        return shift - tops[self.k :], shift + tops[: self.k]

    def moment(self, mu: Any) -> Array:
        """b − F'μ, the residual of the moment constraint in [D] for weights that sum to one."""
        return self.residual_origin - weighted_sum(self.rows, self._mu(mu))

    def _delta(self, delta: Any) -> Array:
        """A ratio parameter of the caller."""
        return as_vector(delta, "delta", self.k, limit=LONGEST)

    def _mu(self, mu: Any) -> Array:
        """Weights of the caller, which need not be any of [D]."""
        return as_vector(mu, "mu", self.n_q, limit=LARGEST)


class BlockedProblem(RatioProblem):
    """A problem whose rows are read block by block; what needs them all says so, and :meth:`in_memory` reads them."""

    _rows_p: Rows | None

    @classmethod
    def of(
        cls, rows: Rows, rows_p: Rows | None, target: Array, names: tuple[str, ...], radius: float, norm: float
    ) -> BlockedProblem:
        """Problem of these rows."""
        problem = object.__new__(cls)
        values: dict[str, Any] = {
            "rows": rows,
            "_rows_p": rows_p,
            "target": frozen(as_vector(target, "target", limit=LONGEST).copy()),
            "feature_names": names,
            "radius": check_radius(radius),
            "norm": get_norm(norm).order,
        }
        for key, value in values.items():
            object.__setattr__(problem, key, value)
        return problem

    @property
    def features_q(self) -> Array:
        """Not in memory."""
        return self.rows.features

    @property
    def log_base(self) -> Array:
        """Not in memory."""
        return self.rows.log_base

    @property
    def rows_p(self) -> Rows | None:
        """The p side, read block by block too."""
        return self._rows_p

    def __repr__(self) -> str:
        count = len(self.rows.pieces.starts)  # type: ignore[attr-defined]
        return f"{super().__repr__()[:-1]}, in {count} block{'s' if count > 1 else ''})"

    def in_memory(self) -> RatioProblem:
        """The problem with all rows in memory."""
        rows, origin = self.rows.take(slice(None)), self.rows.origin
        features = rows.features if origin is None else rows.features + origin
        side_p: dict[str, Any] = {}
        if self._rows_p is not None:
            p = self._rows_p.take(slice(None))
            side_p = {"features_p": p.features if origin is None else p.features + origin, "log_weights_p": p.log_base}
        terms = (self.radius, self.norm, self.feature_names)
        return RatioProblem(self.target, features, rows.log_base, *terms, **side_p)

    def in_coordinates(self, centre: Array, basis: Array) -> RatioProblem:
        """The same rows as (F − centre) · basis, computed block by block."""
        rows = self.rows.in_coordinates(centre, basis)  # type: ignore[attr-defined]
        names = tuple(f"z{i}" for i in range(basis.shape[1]))
        return BlockedProblem.of(rows, None, (self.residual_origin - centre) @ basis, names, 0.0, 2)

    def dual_value(self, mu: Any) -> float:
        """Σ −μ log μ + μ a, with one pass for the base weights."""
        return negative_kl(self._mu(mu), logits(self.rows, np.zeros(self.k)))


def as_problem(x: Any, name: str = "problem") -> RatioProblem:
    """The caller's problem, if it is one."""
    if not isinstance(x, RatioProblem):
        raise DataError(f"{name}: must be a RatioProblem, not {type(x).__name__}")
    return x
