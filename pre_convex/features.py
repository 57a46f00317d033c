"""Feature maps f(x): samples in, one named column for each feature out.

A feature map is anything with ``__call__(x) -> (n, k)`` and ``names(columns)``. The maps here are frozen dataclasses
that work on blocks of rows, join with ``+``, and can be written to a file and read back (:func:`to_state`,
:func:`from_state`). Adding one is a class with its name in ``FEATURES``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, Protocol, runtime_checkable

import numpy as np

from .arrays import as_block, as_count, as_flag, as_matrix, as_names, called, column_names, shown
from .entropy import Array
from .errors import DataError

__all__ = [
    "FEATURES",
    "Autocorrelation",
    "Concatenation",
    "FeatureMap",
    "FromCallable",
    "LagProducts",
    "Linear",
    "Polynomial",
    "from_state",
    "make_features",
    "to_state",
]


@runtime_checkable
class FeatureMap(Protocol):
    """f(x) for a block of samples, and a name for every column of the result."""

    def __call__(self, x: Array) -> Array:
        """Features of the rows of x, shape (n, k)."""

    def names(self, columns: Sequence[str]) -> tuple[str, ...]:
        """Names of the k features, given the names of the columns of x."""


class _Joinable:
    """Feature maps side by side: ``Linear() + LagProducts()``."""

    def __add__(self, other: Any) -> Concatenation:
        parts = [p for m in (self, make_features(other)) for p in (m.parts if isinstance(m, Concatenation) else (m,))]
        return Concatenation(tuple(parts))  # type: ignore[arg-type]


@dataclass(frozen=True)
class Linear(_Joinable):
    """f(x) = x."""

    def __call__(self, x: Array) -> Array:
        """The samples themselves."""
        return as_block(x)

    def names(self, columns: Sequence[str]) -> tuple[str, ...]:
        """The column names themselves."""
        return as_names(columns, "columns")


@dataclass(frozen=True)
class Polynomial(_Joinable):
    """f(x) = [x, x², …, x^degree], powers taken element by element; products of two columns if asked for.

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
        object.__setattr__(self, "degree", as_count(self.degree, "degree"))
        as_flag(self.interactions, "interactions")

    def __call__(self, x: Array) -> Array:
        """Powers side by side, then products."""
        x = as_block(x)
        with np.errstate(over="ignore"):  # what overflows is found and named where the features are used
            parts = [x**power for power in range(1, self.degree + 1)]
            if self.interactions:
                first, second = np.triu_indices(x.shape[1], 1)
                parts.append(x[:, first] * x[:, second])
        return np.concatenate(parts, axis=1)

    def names(self, columns: Sequence[str]) -> tuple[str, ...]:
        """``u``, then ``u^2`` and so on, then ``u*v``."""
        columns = as_names(columns, "columns")
        powers = range(1, self.degree + 1)
        names = [c if power == 1 else f"{c}^{power}" for power in powers for c in columns]
        if self.interactions:
            first, second = np.triu_indices(len(columns), 1)
            names += [f"{columns[int(i)]}*{columns[int(j)]}" for i, j in zip(first, second, strict=True)]
        return tuple(names)


@dataclass(frozen=True)
class Autocorrelation(_Joinable):
    """Sample autocorrelations of each row at lags 1 to ``lags``: c_l / c_0 with c_l = (1/T) Σ_t (x_t − x̄)(x_{t+l} − x̄).

    Lag 0, which is always one, is left out. A constant row has no autocorrelation and gets zeros.

    Examples
    --------
    >>> Autocorrelation(2)(np.array([[1.0, -1.0, 1.0, -1.0]]))
    array([[-0.75,  0.5 ]])
    """

    lags: int = 20

    def __post_init__(self) -> None:
        object.__setattr__(self, "lags", as_count(self.lags, "lags"))

    def __call__(self, x: Array) -> Array:
        """One column for each lag."""
        x = as_block(x)
        if x.shape[1] <= self.lags:
            raise DataError(f"lags: {self.lags} lags need rows of more than {self.lags} time points, not {x.shape[1]}")
        with np.errstate(over="ignore", invalid="ignore"):
            centred = x - x.mean(axis=1, keepdims=True)
            energy = np.einsum("ij,ij->i", centred, centred)
            energy[energy == 0.0] = 1.0
            columns = [np.einsum("ij,ij->i", centred[:, :-lag], centred[:, lag:]) for lag in range(1, self.lags + 1)]
            return np.asarray(np.column_stack(columns) / energy[:, None])

    def names(self, columns: Sequence[str]) -> tuple[str, ...]:
        """``acf1``, ``acf2`` and so on."""
        return tuple(f"acf{lag}" for lag in range(1, self.lags + 1))


@dataclass(frozen=True)
class LagProducts(_Joinable):
    """Products of neighbours, [x₁x₂, x₂x₃, …], or of points ``lag`` apart.

    Examples
    --------
    >>> LagProducts()(np.array([[1.0, 2.0, 3.0]]))
    array([[2., 6.]])
    """

    lag: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "lag", as_count(self.lag, "lag"))

    def __call__(self, x: Array) -> Array:
        """One column for each pair of points."""
        x = as_block(x)
        if x.shape[1] <= self.lag:
            raise DataError(f"lag: {self.lag} needs rows of more than {self.lag} time points, not {x.shape[1]}")
        with np.errstate(over="ignore"):
            return np.asarray(x[:, : -self.lag] * x[:, self.lag :])

    def names(self, columns: Sequence[str]) -> tuple[str, ...]:
        """``x0*x1``, ``x1*x2`` and so on."""
        columns = as_names(columns, "columns")
        return tuple(f"{a}*{b}" for a, b in zip(columns, columns[self.lag :], strict=False))


@dataclass(frozen=True)
class Concatenation(_Joinable):
    """Several maps of the same samples, side by side.

    Parameters
    ----------
    parts : sequence of str, FeatureMap or callable

    Examples
    --------
    >>> (Linear() + LagProducts()).names(["a", "b"])
    ('a', 'b', 'a*b')
    """

    parts: tuple[FeatureMap, ...]

    def __post_init__(self) -> None:
        given: Any = self.parts
        if not isinstance(given, list | tuple) or not given:
            raise DataError(
                f"parts: {shown(given)} is not a sequence of feature maps, such as [Linear(), Polynomial()]"
            )
        object.__setattr__(self, "parts", tuple(make_features(part) for part in given))

    def __call__(self, x: Array) -> Array:
        """Columns of the first map, then of the next."""
        x = as_block(x)
        found = [as_block(part(x), "features") for part in self.parts]
        short = next((f for f in found if len(f) != len(x)), x)
        if len(short) != len(x):
            raise DataError(f"features: returned shape {short.shape} for {len(x)} samples; return shape (n, k)")
        return np.concatenate(found, axis=1)

    def names(self, columns: Sequence[str]) -> tuple[str, ...]:
        """Names of all parts; none if one of them has none."""
        names = [part.names(columns) for part in self.parts]
        return tuple(n for part in names for n in part) if all(names) else ()


@dataclass(frozen=True)
class FromCallable(_Joinable):
    """Any function of a block of samples; a one-dimensional result is one feature."""

    function: Callable[[Array], Any]

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise DataError(f"function: {shown(self.function)} is not a function of samples")

    def __call__(self, x: Array) -> Array:
        """The function's result as a matrix with one row for each sample."""
        result = called(self.function, "features", x)
        if column_names(result) is not None:
            result = as_matrix(result, "features")
        try:
            result = result if isinstance(result, np.ma.MaskedArray) else np.asarray(result)
        except ValueError as error:
            raise DataError(f"features: returned what is no array ({error}); return shape (n, k)") from error
        if result.ndim == 1:
            result = result[:, None]
        if result.ndim != 2 or result.shape[0] != x.shape[0]:
            raise DataError(f"features: returned shape {result.shape} for {x.shape[0]} samples; return shape (n, k)")
        return result  # type: ignore[no-any-return]

    def names(self, columns: Sequence[str]) -> tuple[str, ...]:
        """Not known before the function has run."""
        return ()


FEATURES: dict[str, Callable[..., FeatureMap]] = {
    "linear": Linear,
    "polynomial": Polynomial,
    "autocorrelation": Autocorrelation,
    "lag-products": LagProducts,
}


def make_features(features: Any) -> FeatureMap:
    """Feature map from a name, a map, or a function."""
    if isinstance(features, str):
        if features not in FEATURES:
            raise DataError(f"features: {features!r} is not known; use one of {', '.join(FEATURES)}, or a function")
        return FEATURES[features]()
    if isinstance(features, type):
        raise DataError(f"features: {features.__name__} is a class; write {features.__name__}(...)")
    if isinstance(features, FeatureMap):
        return features
    if callable(features):
        return FromCallable(features)
    raise DataError(f"features: {shown(features)} is neither a name, a feature map nor a function")


def to_state(features: FeatureMap) -> dict[str, Any]:
    """A feature map as plain data: its name and its fields, arrays included; functions cannot be written."""
    if isinstance(features, Concatenation):
        return {"name": "concatenation", "parts": [to_state(part) for part in features.parts]}
    for name, kind in FEATURES.items():
        if type(features) is kind:
            return {"name": name, **{f.name: getattr(features, f.name) for f in fields(features)}}  # type: ignore[arg-type]
    raise DataError("features: a function of your own cannot be written to a file; use a map of the package")


def from_state(state: dict[str, Any]) -> FeatureMap:
    """Inverse of :func:`to_state`."""
    options = {key: value for key, value in state.items() if key != "name"}
    if state.get("name") == "concatenation":
        return Concatenation(tuple(from_state(part) for part in options["parts"]))
    if state.get("name") not in FEATURES:
        raise DataError(f"features: the file names an unknown map {state.get('name')!r}")
    return FEATURES[state["name"]](**options)
