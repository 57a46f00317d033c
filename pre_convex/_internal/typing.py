"""Array types of annotations."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["Array", "Index"]

Array = NDArray[np.float64]
Index = NDArray[np.intp]
