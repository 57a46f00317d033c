"""Feature map on standardised columns, with a factor for every feature."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._internal.snapshots import freeze
from .._internal.typing import Array
from .._internal.validation import as_vector
from ..errors import DataError
from .features import BaseFeatureMap, FeatureMap, make_features

__all__ = ["Scaled"]


class Scaled(BaseFeatureMap):
    """factors ∘ part((clip(x) − centre)/scale): features of standardised columns, each times a factor.

    Entries outside the range of the samples, low to high, are moved to its end, so that the features do not grow there.

    With ``norm=2`` the factor of a part sets its share of the penalty: a part with small factors is shrunk more.
    ``features="auto"`` makes such a map.

    Parameters
    ----------
    part : FeatureMap
        Map of the standardised columns.
    centre, scale : array of shape (d,)
        What is subtracted from each column, and what it is then divided by.
    factors : array of shape (k,)
        Factors of the features of ``part``.
    low, high : array of shape (d,), optional
        Range of each column; no limit by default.

    Examples
    --------
    >>> Scaled("linear", [1.0, 0.0], [2.0, 1.0], [1.0, 0.1])([[5.0, 3.0]])
    array([[2. , 0.3]])
    """

    def __init__(self, part: Any, centre: Any, scale: Any, factors: Any, low: Any = None, high: Any = None) -> None:
        self.part: FeatureMap = make_features(part)
        self.centre = freeze(as_vector(centre, "centre").copy())
        self.scale = freeze(as_vector(scale, "scale", self.centre.size).copy())
        self.factors = freeze(as_vector(factors, "factors").copy())
        d = self.centre.size
        self.low = None if low is None else freeze(as_vector(low, "low", d).copy())
        self.high = None if high is None else freeze(as_vector(high, "high", d).copy())
        for name, values in (("scale", self.scale), ("factors", self.factors)):
            if not np.all(values > 0.0):
                raise DataError(name, "has an entry that is not positive", "pass positive numbers")

    def arrays(self) -> dict[str, Array | None]:
        """Everything but the part, by name."""
        return {name: getattr(self, name) for name in ("centre", "scale", "factors", "low", "high")}

    def __repr__(self) -> str:
        return f"Scaled({self.part!r})"

    def _features(self, x: Array) -> Array:
        if x.shape[1] != self.centre.size:
            reason = f"has {x.shape[1]} columns, the map was made for {self.centre.size}"
            raise DataError("x", reason, "pass the same columns as in the fit")
        with np.errstate(over="ignore", invalid="ignore"):  # an overflow is reported where the features are used
            clipped = x if self.low is None and self.high is None else np.clip(x, self.low, self.high)
            features = np.asarray(self.part((clipped - self.centre) / self.scale))
            if features.shape[1] != self.factors.size:
                reason = f"the map gives {features.shape[1]} features, there are {self.factors.size} factors"
                raise DataError("factors", reason, "pass one for each feature")
            return features * self.factors

    def _names(self, columns: tuple[str, ...]) -> tuple[str, ...]:
        return self.part.names(columns)
