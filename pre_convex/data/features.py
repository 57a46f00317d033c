"""Feature maps f(x): one named column for each feature.

A feature map is anything with ``__call__(x) -> (n, k)`` and ``names(columns)``. The maps here work on blocks of rows,
are joined with ``+``, and can be written to files and read back (:func:`to_state`, :func:`from_state`). Adding one is a
frozen dataclass and a line in :func:`feature_classes`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, Protocol, runtime_checkable

import numpy as np

from .._internal.typing import Array
from .._internal.validation import (
    as_block,
    as_count,
    as_flag,
    as_matrix,
    as_names,
    call_user_function,
    column_names,
    preview,
)
from ..errors import DataError

__all__ = [
    "Autocorrelation",
    "BaseFeatureMap",
    "Concatenation",
    "FeatureMap",
    "FromCallable",
    "LagProducts",
    "Linear",
    "Polynomial",
    "feature_classes",
    "from_state",
    "make_features",
    "to_state",
]


@runtime_checkable
class FeatureMap(Protocol):
    """Interface of a feature map: f(x) for a block of samples, and a name for every column of the result."""

    def __call__(self, x: Array) -> Array:
        """Features of the rows of x, shape (n, k)."""

    def names(self, columns: Sequence[str]) -> tuple[str, ...]:
        """Names of the k features, given the names of the columns of x."""


class BaseFeatureMap(ABC):
    """Base class of the maps of this package; maps are joined with ``+``."""

    def __call__(self, x: Array) -> Array:
        """Features of samples.

        Parameters
        ----------
        x : array of shape (n, d)
            A block of samples, one per row.

        Returns
        -------
        ndarray of shape (n, k)
        """
        return self._features(as_block(x))

    def names(self, columns: Sequence[str]) -> tuple[str, ...]:
        """Names of the features.

        Parameters
        ----------
        columns : sequence of str
            Names of the columns of the samples.

        Returns
        -------
        tuple of str
            One name for each feature; empty if their number is not known yet.
        """
        return self._names(as_names(columns, "columns"))

    @abstractmethod
    def _features(self, x: Array) -> Array:
        """Features of a two-dimensional array."""

    @abstractmethod
    def _names(self, columns: tuple[str, ...]) -> tuple[str, ...]:
        """Names of the features."""

    def __add__(self, other: Any) -> Concatenation:
        maps = [p for m in (self, make_features(other)) for p in (m.parts if isinstance(m, Concatenation) else (m,))]
        return Concatenation(maps)


@dataclass(frozen=True)
class Linear(BaseFeatureMap):
    """f(x) = x.

    Examples
    --------
    >>> Linear()(np.array([[2.0, 3.0]]))
    array([[2., 3.]])
    """

    def _features(self, x: Array) -> Array:
        return x

    def _names(self, columns: tuple[str, ...]) -> tuple[str, ...]:
        return columns


@dataclass(frozen=True)
class Polynomial(BaseFeatureMap):
    """f(x) = [x, x², …, x^degree], elementwise powers, and optionally products of two columns.

    Parameters
    ----------
    degree : int, default 2
        Highest power, at least 1.
    interactions : bool, default False
        Whether to append the products of all pairs of different columns.

    Examples
    --------
    >>> Polynomial()(np.array([[2.0, 3.0]]))
    array([[2., 3., 4., 9.]])
    >>> Polynomial(interactions=True).names(["u", "v"])
    ('u', 'v', 'u^2', 'v^2', 'u*v')
    """

    degree: int = 2
    interactions: bool = False

    def __post_init__(self) -> None:
        as_count(self.degree, "degree")
        as_flag(self.interactions, "interactions")

    def _features(self, x: Array) -> Array:
        with np.errstate(over="ignore"):  # an overflow is reported where the features are used
            columns = [x**power for power in range(1, int(self.degree) + 1)]
            if self.interactions:
                first, second = np.triu_indices(x.shape[1], 1)
                columns.append(x[:, first] * x[:, second])
        return np.concatenate(columns, axis=1)

    def _names(self, columns: tuple[str, ...]) -> tuple[str, ...]:
        powers = range(1, int(self.degree) + 1)
        names = [c if power == 1 else f"{c}^{power}" for power in powers for c in columns]
        if self.interactions:
            first, second = np.triu_indices(len(columns), 1)
            names += [f"{columns[int(i)]}*{columns[int(j)]}" for i, j in zip(first, second, strict=True)]
        return tuple(names)


@dataclass(frozen=True)
class Autocorrelation(BaseFeatureMap):
    """Sample autocorrelations of each row at lags 1 to ``lags``: c_l / c_0 with c_l = (1/T) Σ_t (x_t − x̄)(x_{t+l} − x̄).

    Lag 0 is always one and is left out. A constant row gets zeros.

    Parameters
    ----------
    lags : int, default 20
        Largest lag, less than the number T of time points (columns of x).

    Examples
    --------
    >>> Autocorrelation(2)(np.array([[1.0, -1.0, 1.0, -1.0]]))
    array([[-0.75,  0.5 ]])
    """

    lags: int = 20

    def __post_init__(self) -> None:
        as_count(self.lags, "lags")

    def _features(self, x: Array) -> Array:
        lags = int(self.lags)  # unsigned integers would wrap around
        if x.shape[1] <= lags:
            reason = f"{lags} lags need more than {lags} time points, rows have {x.shape[1]}"
            raise DataError("lags", reason, "use fewer lags or longer rows")
        with np.errstate(over="ignore", invalid="ignore"):
            centred = x - x.mean(axis=1, keepdims=True)
            energy = np.einsum("ij,ij->i", centred, centred)
            energy[energy == 0.0] = 1.0
            columns = [np.einsum("ij,ij->i", centred[:, :-lag], centred[:, lag:]) for lag in range(1, lags + 1)]
            return np.asarray(np.column_stack(columns) / energy[:, None])

    def _names(self, columns: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(f"acf{lag}" for lag in range(1, int(self.lags) + 1))


@dataclass(frozen=True)
class LagProducts(BaseFeatureMap):
    """Products of neighbouring time points, [x₁x₂, x₂x₃, …], or of points ``lag`` apart.

    Parameters
    ----------
    lag : int, default 1
        Distance of the two points, less than the number of time points (columns of x).

    Examples
    --------
    >>> LagProducts()(np.array([[1.0, 2.0, 3.0]]))
    array([[2., 6.]])
    """

    lag: int = 1

    def __post_init__(self) -> None:
        as_count(self.lag, "lag")

    def _features(self, x: Array) -> Array:
        lag = int(self.lag)  # unsigned integers would wrap around
        if x.shape[1] <= lag:
            reason = f"{lag} needs more than {lag} time points, rows have {x.shape[1]}"
            raise DataError("lag", reason, "use a smaller lag or longer rows")
        with np.errstate(over="ignore"):
            return np.asarray(x[:, :-lag] * x[:, lag:])

    def _names(self, columns: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(f"{a}*{b}" for a, b in zip(columns, columns[int(self.lag) :], strict=False))


class Concatenation(BaseFeatureMap):
    """Several maps side by side; ``a + b`` makes one.

    Parameters
    ----------
    parts : sequence of str, FeatureMap or callable
        The maps, in the order of their columns; at least one.

    Examples
    --------
    >>> (Linear() + LagProducts()).names(["a", "b"])
    ('a', 'b', 'a*b')
    """

    def __init__(self, parts: Sequence[Any]) -> None:
        if not isinstance(parts, list | tuple) or not parts:
            reason = f"{preview(parts)} is not a sequence of feature maps"
            raise DataError("parts", reason, "pass a list such as [Linear(), Polynomial()]")
        self.parts: tuple[FeatureMap, ...] = tuple(make_features(part) for part in parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Concatenation) and self.parts == other.parts

    def __hash__(self) -> int:
        return hash(self.parts)

    def __repr__(self) -> str:
        return f"Concatenation(parts={self.parts!r})"

    def _features(self, x: Array) -> Array:
        columns = [as_block(part(x), "features") for part in self.parts]
        for f in columns:
            if len(f) != len(x):
                raise DataError("features", f"returned shape {f.shape} for {len(x)} samples", "return shape (n, k)")
        return np.concatenate(columns, axis=1)

    def _names(self, columns: tuple[str, ...]) -> tuple[str, ...]:
        names = [part.names(columns) for part in self.parts]
        return tuple(n for part in names for n in part) if all(names) else ()


@dataclass(frozen=True)
class FromCallable(BaseFeatureMap):
    """Feature map of a user's function.

    Parameters
    ----------
    function : callable
        Maps a block of samples, shape (n, d), to features, shape (n, k) or (n,).

    Examples
    --------
    >>> FromCallable(lambda x: x.sum(axis=1))(np.array([[1.0, 2.0]]))
    array([[3.]])
    """

    function: Callable[[Array], Any]

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise DataError("function", f"{preview(self.function)} is not callable", "pass a function of samples")

    def __call__(self, x: Any) -> Array:
        """Features of samples, which are passed to the function unchanged.

        Parameters
        ----------
        x : array of shape (n, d)
            A block of samples, one per row.

        Returns
        -------
        ndarray of shape (n, k)
        """
        return self._features(x)

    def _features(self, x: Array) -> Array:
        result = call_user_function(self.function, "features", x)
        if column_names(result) is not None:
            result = as_matrix(result, "features")
        try:
            result = result if isinstance(result, np.ma.MaskedArray) else np.asarray(result)
        except ValueError as error:
            raise DataError("features", f"did not return an array ({error})", "return shape (n, k)") from error
        if result.ndim == 1:
            result = result[:, None]
        if result.ndim != 2 or result.shape[0] != x.shape[0]:
            reason = f"returned shape {result.shape} for {x.shape[0]} samples"
            raise DataError("features", reason, "return shape (n, k)")
        return result  # type: ignore[no-any-return]

    def _names(self, columns: tuple[str, ...]) -> tuple[str, ...]:
        return ()  # their number is unknown until the function has run


def feature_classes() -> dict[str, Callable[..., FeatureMap]]:
    """Feature maps by the name they have in ``features=``, and all but ``"quadratic"`` in files."""
    from .kernels import Kernel  # kernels imports this module

    return {
        "linear": Linear,
        "polynomial": Polynomial,
        "quadratic": partial(Polynomial, interactions=True),
        "autocorrelation": Autocorrelation,
        "lag-products": LagProducts,
        "kernel": Kernel,
    }


def make_features(features: Any) -> FeatureMap:
    """Feature map from a name, a map or a function.

    Parameters
    ----------
    features : str, FeatureMap or callable
        A name such as ``"polynomial"``, a feature map, or a function of a block of samples.

    Returns
    -------
    FeatureMap

    Examples
    --------
    >>> make_features("polynomial")
    Polynomial(degree=2, interactions=False)
    """
    if isinstance(features, str):
        if features == "auto":
            raise DataError("features", "'auto' works in estimators of a ratio only", "pass another name or a map")
        classes = feature_classes()
        if features not in classes:
            known = f"use one of {', '.join(classes)}, a function, or 'auto' in an estimator of a ratio"
            raise DataError("features", f"{features!r} is not known", known)
        return classes[features]()
    if isinstance(features, type):
        raise DataError("features", f"{features.__name__} is a class", f"pass an instance, {features.__name__}(...)")
    if isinstance(features, FeatureMap):
        return features
    if callable(features):
        return FromCallable(features)
    reason = f"{preview(features)} is neither a name, a feature map nor a function"
    raise DataError("features", reason, "pass 'linear', 'polynomial', a map or a function")


def to_state(features: FeatureMap) -> dict[str, Any]:
    """Name and parameters of a feature map, arrays included; functions cannot be stored."""
    from .scaled import Scaled  # which imports this module

    if isinstance(features, Concatenation):
        return {"name": "concatenation", "parts": [to_state(part) for part in features.parts]}
    if isinstance(features, Scaled):
        return {"name": "scaled", "part": to_state(features.part), **features.arrays()}
    for name, kind in feature_classes().items():
        if type(features) is kind:
            values = {f.name: getattr(features, f.name) for f in fields(features)}  # type: ignore[arg-type]
            return {"name": name, **{k: v.item() if isinstance(v, np.generic) else v for k, v in values.items()}}
    raise DataError("features", "a user's function cannot be written to a file", "use a map of this package")


def from_state(state: dict[str, Any]) -> FeatureMap:
    """Inverse of :func:`to_state`."""
    from .scaled import Scaled

    options = {key: value for key, value in state.items() if key != "name"}
    if state.get("name") == "concatenation":
        return Concatenation([from_state(part) for part in options["parts"]])
    if state.get("name") == "scaled":
        return Scaled(**{**options, "part": from_state(options["part"])})
    classes = feature_classes()
    if state.get("name") not in classes:
        reason = f"the file names an unknown map {state.get('name')!r}"
        raise DataError("features", reason, "read it with the version that wrote it")
    return classes[state["name"]](**options)
