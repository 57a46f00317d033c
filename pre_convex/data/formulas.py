"""Features of a data frame by a formula, such as ``"(age + educ + black)**2"``, through formulaic."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._internal.typing import Array
from .._internal.validation import column_names, first_line, preview
from ..errors import DataError, MissingExtraError

__all__ = ["formula_features"]


def formula_features(formula: str, frame: Any) -> tuple[Array, tuple[str, ...]]:
    """Columns that a formula makes of a data frame, without the intercept, and their names.

    Parameters
    ----------
    formula : str
        A formula of formulaic. It may hold Python expressions, so do not pass one from an untrusted source.
    frame : data frame
        pandas or polars, without missing values in the columns of the formula.

    Returns
    -------
    features : ndarray of shape (n, k)
    names : tuple of str

    Examples
    --------
    >>> import pandas as pd
    >>> formula_features("age + sex", pd.DataFrame({"age": [20, 30, 40], "sex": ["f", "m", "f"]}))[1]
    ('age', 'sex[T.m]')
    """
    try:
        import formulaic
    except ImportError:
        raise MissingExtraError("formulaic", "formula") from None
    if not isinstance(formula, str):
        raise DataError("formula", f"{preview(formula)} is not a string", "pass one such as 'age + educ'")
    if column_names(frame) is None:
        raise DataError("X", "a formula needs named columns", "pass a data frame")
    try:
        matrix = formulaic.model_matrix(formula, _in_doubles(frame), context=None, na_action="raise", output="numpy")
        names = tuple(matrix.model_spec.column_names)
    except Exception as error:  # formulaic runs the user's expressions
        missing = "null values" in str(error)
        remedy = "drop those rows or fill them in first" if missing else "use columns of X"
        raise DataError("formula", first_line(error).rstrip("."), remedy) from error
    kept = [i for i, name in enumerate(names) if name != "Intercept"]
    if not kept:
        raise DataError("formula", f"{preview(formula)} has no terms", "pass one such as 'age + educ'")
    return np.asarray(matrix, dtype=float)[:, kept], tuple(names[i] for i in kept)


def _in_doubles(frame: Any) -> Any:
    """The frame with all numbers as float64: products of small integers would overflow silently."""
    import narwhals as nw
    import narwhals.selectors as ncs

    table = nw.from_native(frame, eager_only=True)
    return table.with_columns(ncs.numeric().cast(nw.Float64)).to_native()
