"""Validation of arguments: float64 arrays, numbers, names and choices; every error names the argument and the place."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import DataError, PreConvexError
from .typing import Array

__all__ = [
    "MAX_COUNT",
    "MAX_ENTRY",
    "MAX_PARAMETER",
    "as_block",
    "as_choice",
    "as_count",
    "as_flag",
    "as_floats",
    "as_fraction",
    "as_matrix",
    "as_names",
    "as_numbers",
    "as_radii",
    "as_scalar",
    "as_vector",
    "call_user_function",
    "check_dtype",
    "check_length",
    "check_positive",
    "check_radius",
    "check_tol",
    "column_names",
    "duplicate",
    "first_line",
    "parse_number",
    "preview",
    "read_only",
    "sample_names",
]

#: largest count accepted for any argument
MAX_COUNT = 2**31 - 1
#: largest absolute value of features, radii and weights: their squares stay finite
MAX_ENTRY = 1e100
#: numbers that are checked at once, when a check needs a temporary copy
PART_NUMBERS = 1_000_000
#: largest absolute value in δ and in a target: products with features stay finite
MAX_PARAMETER = 1e150


def preview(x: Any) -> str:
    """``repr(x)`` on one line of at most 60 characters, for messages; x may be a large array."""
    text = " ".join(repr(x).split())
    return text if len(text) <= 60 else f"{text[:60]}…"


def first_line(error: BaseException) -> str:
    """First line of an error's message, or its type if it has none."""
    return next(iter(str(error).splitlines()), "") or type(error).__name__


def parse_number(text: str) -> float:
    """Float from text, like ``float`` except that underscores are refused: 1_000 is Python, not data."""
    if "_" in text:
        raise ValueError(text)
    return float(text)


def duplicate(names: Sequence[str]) -> str | None:
    """First name that occurs twice, if any."""
    return next((name for name in names if names.count(name) > 1), None) if len(set(names)) < len(names) else None


def read_only(x: Array) -> Array:
    """Read-only view of x."""
    view = x.view()
    view.flags.writeable = False
    return view


def column_names(x: Any) -> tuple[str, ...] | None:
    """Column names of a data frame, ``None`` for anything else."""
    if hasattr(x, "collect"):  # a lazy frame warns when it is asked for its columns
        return None
    # columns of a pyarrow table are its data; the type is asked, because columns are attributes of a pandas frame
    columns = getattr(x, "column_names" if hasattr(type(x), "column_names") else "columns", None)
    return None if columns is None else tuple(str(c) for c in columns)


def sample_names(x_p: Any, x_q: Any) -> tuple[str, ...] | None:
    """Column names of the first sample that is a data frame, or else the name of two series if they agree."""
    names = column_names(x_p) or column_names(x_q)
    if names is not None:
        return names
    series = {str(x.name) for x in (x_p, x_q) if hasattr(x, "to_frame") and getattr(x, "name", None) not in (None, "")}
    return (series.pop(),) if len(series) == 1 else None


def as_numbers(x: Any, name: str, single: bool = False) -> Array:
    """Real float64 array of any shape; memory maps and float64 arrays are not copied.

    If ``single``, float32 arrays are not copied either and stay float32.
    """
    if x is None:
        raise DataError(name, "is None", "pass an array of numbers")
    if isinstance(x, str | bytes | bytearray | os.PathLike):
        raise DataError(name, "is text or a path", "pass an array of numbers (RatioProblem.from_blocks reads files)")
    if hasattr(x, "collect"):
        raise DataError(name, f"{type(x).__name__} is lazy", "pass x.collect()")
    if column_names(x) is not None or hasattr(x, "to_frame"):
        x = _from_frame(x, name)
    if hasattr(x, "toarray") and hasattr(x, "nnz"):
        raise DataError(name, "is a sparse matrix", "pass x.toarray()")
    if isinstance(x, np.ma.MaskedArray):
        if np.ma.is_masked(x):
            raise DataError(name, "has masked entries", "fill them or drop their rows")
        x = x.data
    try:
        values = np.asarray(x)
    except Exception as error:  # the conversion of a foreign type may raise anything
        raise DataError(
            name, f"cannot be converted to an array ({first_line(error)})", "pass an array of numbers"
        ) from error
    if values.dtype.kind == "O":
        values = _from_objects(values, name)
    else:
        check_dtype(values.dtype, name)
    return as_floats(values, single)


def as_floats(values: Any, single: bool = False) -> Array:
    """Array of real numbers as float64; float32 is kept if ``single``."""
    if values.dtype == float or (single and values.dtype == np.float32):
        return values  # type: ignore[no-any-return]
    with np.errstate(over="ignore"):  # a wider type may overflow to inf, which is reported later
        return np.asarray(values, dtype=float)


def check_dtype(dtype: Any, name: str) -> None:
    """Raise unless numbers of this type are real."""
    if dtype.kind not in "fiub":
        kind = "complex numbers" if dtype.kind == "c" else f"dtype {dtype}"
        raise DataError(name, f"holds {kind}", "pass real numbers")


def _from_objects(values: Any, name: str) -> Array:
    """Float64 array of Python objects such as fractions and decimals."""
    if values.ndim == 0:
        kind = type(values.item()).__name__
        raise DataError(name, f"{kind} is not an array of numbers", "pass an array, a list or a data frame")
    for value in values.flat:
        if isinstance(value, str | bytes):
            raise DataError(name, "holds text", "pass real numbers")
        if isinstance(value, np.datetime64 | np.timedelta64):  # NumPy would convert them to counts of some unit
            raise DataError(name, "holds dates or times", "pass real numbers")
    try:
        return np.asarray(values, dtype=float)
    except Exception as error:
        raise DataError(
            name, f"holds values that are not numbers ({first_line(error)})", "pass real numbers"
        ) from error


def _from_frame(x: Any, name: str) -> Any:
    """NumPy array of a pandas, polars or other frame or series, through narwhals."""
    import narwhals as nw

    twice = duplicate(column_names(x) or ())
    if twice is not None:
        raise DataError(name, f"duplicate column {twice!r}", "rename or drop one of them")
    try:
        frame = nw.from_native(x, eager_only=True, allow_series=True)
    except TypeError as error:
        if hasattr(x, "__array__"):
            return np.asarray(x)
        raise DataError(
            name, f"{type(x).__name__} is not a known kind of table", "pass an array, or a pandas or polars frame"
        ) from error
    series = [frame] if isinstance(frame, nw.Series) else list(frame.iter_columns())
    other = {column.name: column.dtype for column in series if not _is_numeric(column)}
    if other:
        raise _not_numbers(name, other)
    if not series:
        return np.zeros((len(frame), 0))
    columns = [np.asarray(column.cast(nw.Float64).to_numpy(), dtype=float) for column in series]
    return columns[0] if isinstance(frame, nw.Series) else np.column_stack(columns)


def _is_numeric(column: Any) -> bool:
    """Whether a column of a frame holds numbers or truth values."""
    import narwhals as nw

    return bool(column.dtype.is_numeric() or column.dtype == nw.Boolean)


def _not_numbers(name: str, columns: dict[Any, Any]) -> DataError:
    """The error for columns of a frame that hold something else, by name with their types."""
    it = "it" if len(columns) == 1 else "them"
    if len(columns) == 1:
        ((column, dtype),) = columns.items()
        reason = f"column {column!r} has type {dtype}"
    else:
        shown = [f"{column!r} ({type(dtype).__name__})" for column, dtype in list(columns.items())[:10]]
        reason = f"columns {', '.join(shown)}{', …' if len(columns) > 10 else ''} are not numbers"
    if all(dtype.is_temporal() for dtype in columns.values()):
        return DataError(name, reason, f"drop {it}, or make {it} numbers, such as days since a date")
    return DataError(name, reason, f"encode {it} as numbers, such as by pandas.get_dummies, or drop {it}")


def _square_sum(x: Array) -> float:
    """Σ x², or inf where that overflows; it is nan or inf if an entry is."""
    with np.errstate(over="ignore", invalid="ignore"):
        if not x.flags.forc:  # ravel would copy
            return sum(float(np.square(part).sum()) for _, part in _parts(x))
        flat = x.ravel(order="K")
        return float(flat.dot(flat))


def _parts(x: Array) -> Iterator[tuple[int, Array]]:
    """Slices of rows that are small enough for temporary copies, with the number of their first row."""
    step = max(1, PART_NUMBERS * len(x) // max(x.size, 1))
    for start in range(0, len(x), step):
        yield start, x[start : start + step]


def _finite(x: Array, name: str, columns: Sequence[str] | None = None, start: int = 0, limit: float = np.inf) -> Array:
    """x itself if all entries are finite and within ±limit; otherwise an error that names the first bad one."""
    squares = _square_sum(x)  # one sweep without a temporary; entries are checked only if it fails
    if squares <= limit * limit and squares < np.inf:
        return x
    count, place = 0, [0] * x.ndim
    for first, part in _parts(x):
        where = np.argwhere(~np.isfinite(part))
        if count == 0 and len(where):
            place = [first + int(where[0][0]), *where[0][1:].tolist()]
        count += len(where)
    if count:
        value, more = x[tuple(place)], _count_note(count)
        if x.ndim == 1:
            raise DataError(name, f"entry {place[0]} is {value}{more}", "pass finite numbers")
        column = f"column {columns[place[1]]!r}" if columns else f"column {place[1]}"
        raise DataError(
            name, f"row {start + place[0]}, {column} is {value}{more}", "drop those rows or fill them in first"
        )
    largest = max((float(part.flat[np.argmax(np.abs(part))]) for _, part in _parts(x)), key=abs)
    if abs(largest) > limit:
        raise DataError(name, f"holds {largest:g}, and numbers beyond {limit:g} overflow", "rescale it")
    return x


def as_matrix(
    x: Any,
    name: str,
    columns: Sequence[str] | None = None,
    start: int = 0,
    limit: float = np.inf,
    single: bool = False,
) -> Array:
    """(n, d) array of finite numbers; a vector becomes one column, and ``start`` is the number of the first row.

    It is float64, or float32 as given if ``single``.

    Examples
    --------
    >>> as_matrix([1, 2], "x_p").shape
    (2, 1)
    >>> as_matrix([[1.0, float("nan")]], "x_p")
    Traceback (most recent call last):
    pre_convex.errors.DataError: x_p: row 0, column 1 is nan; drop those rows or fill them in first
    """
    values = as_numbers(x, name, single)
    if values.ndim == 1:
        values = values[:, None]
    if values.ndim != 2:
        raise DataError(name, f"has {values.ndim} dimensions", "pass one row for each sample, shape (n, d)")
    if values.shape[0] == 0 or values.shape[1] == 0:
        raise DataError(name, f"is empty, shape {values.shape}", "pass at least one row and one column")
    return _finite(values, name, columns or column_names(x), start, limit)


def as_block(x: Any, name: str = "x") -> Array:
    """(n, d) array; a two-dimensional float64 array is returned unchanged, without a check for nan and inf."""
    plain = isinstance(x, np.ndarray) and not isinstance(x, np.ma.MaskedArray | np.matrix)
    return x if plain and x.ndim == 2 and x.dtype == float else as_matrix(x, name)


def as_vector(
    x: Any,
    name: str,
    length: int | None = None,
    *,
    log_weights: bool | str = False,
    start: int = 0,
    limit: float = np.inf,
) -> Array:
    """(n,) array of finite numbers; log weights may be −inf, but not all of them unless ``log_weights="any"``."""
    values = as_numbers(x, name)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise DataError(name, f"has shape {values.shape}", "pass one number for each row")
    if values.size == 0:
        raise DataError(name, "is empty", "pass at least one number")
    if length is not None:
        check_length(values.size, length, name)
    if not log_weights:
        return _finite(values, name, limit=limit)
    bad = np.flatnonzero(~(values < np.inf))  # +inf and nan; −inf is a row of zero weight
    if bad.size:
        raise DataError(
            name,
            f"row {start + bad[0]} is {values[bad[0]]}{_count_note(bad.size)}",
            "pass finite log-likelihoods, or -inf for rows that cannot occur",
        )
    if log_weights != "any" and not np.any(values > -np.inf):
        raise DataError(name, "every row is -inf, so no row can occur", "check the likelihood and its observation")
    return values


def check_length(size: int, n: int, name: str) -> None:
    """Raise unless a vector of ``size`` entries has one for each of n rows."""
    if size != n:
        raise DataError(name, f"has {size} entries, {n} are needed", "pass one number for each row")


def _count_note(count: int) -> str:
    """Note for a message about the first of several bad entries."""
    return f" ({count} such entries)" if count > 1 else ""


def as_scalar(x: Any, name: str) -> float:
    """One finite real number; text and booleans are refused.

    Examples
    --------
    >>> as_scalar(np.float32(0.5), "radius")
    0.5
    """
    if type(x) is float and -np.inf < x < np.inf:  # the common case, many times in every solve
        return x
    try:
        if np.ndim(x) or isinstance(x, str | bytes | bool | np.bool_ | np.datetime64 | np.timedelta64):
            raise TypeError
        value = float("nan" if x is np.ma.masked else x)
    except Exception:  # foreign types may raise anything
        raise DataError(name, f"{preview(x)} is not a number", "pass a finite number") from None
    if not np.isfinite(value):
        raise DataError(name, f"is {value}", "pass a finite number")
    return value


def as_count(x: Any, name: str, minimum: int = 1) -> int:
    """Whole number of at least ``minimum``; floats and booleans are refused.

    Examples
    --------
    >>> as_count(np.int64(3), "degree")
    3
    >>> as_count(2.5, "degree")
    Traceback (most recent call last):
    pre_convex.errors.DataError: degree: 2.5 is not a whole number of at least 1; pass an int of at least 1
    """
    if not isinstance(x, int | np.integer) or isinstance(x, bool) or x < minimum:
        reason = f"{preview(x)} is not a whole number of at least {minimum}"
        raise DataError(name, reason, f"pass an int of at least {minimum}")
    if x > MAX_COUNT:
        raise DataError(name, f"{preview(x)} is too large", f"pass at most {MAX_COUNT}")
    return int(x)


def as_names(x: Any, name: str) -> tuple[str, ...]:
    """Names as strings, in order; none for ``None``. Sets and mappings are refused."""
    if isinstance(x, str):
        raise DataError(name, f"{preview(x)} is one name, not a sequence of names", f"pass [{preview(x)}]")
    try:
        if isinstance(x, set | frozenset | Mapping):
            raise TypeError
        names = list(() if x is None else x)
    except Exception:
        raise DataError(
            name, f"{type(x).__name__} is not a sequence of names", "pass a list or tuple of strings"
        ) from None
    for i, c in enumerate(names):
        if not isinstance(c, str | int | float | tuple | np.generic):
            raise DataError(name, f"entry {i} is {preview(c)}, not a name", "pass strings")
    return tuple(str(c) for c in names)


def as_flag(x: Any, name: str) -> bool:
    """True or False; text and arrays are refused, although Python gives them a truth value."""
    if not isinstance(x, bool | np.bool_ | int | np.integer):
        raise DataError(name, f"{preview(x)} is neither True nor False", "pass True or False")
    return bool(x)


def as_choice(x: Any, name: str, known: Iterable[str]) -> str:
    """One of the known names.

    Examples
    --------
    >>> as_choice("dual", "formulation", ["primal", "dual"])
    'dual'
    >>> as_choice("mixed", "formulation", ["primal", "dual"])
    Traceback (most recent call last):
    pre_convex.errors.DataError: formulation: 'mixed' is not known; use one of 'primal', 'dual'
    """
    known = tuple(known)
    if not isinstance(x, str) or x not in known:
        raise DataError(name, f"{preview(x)} is not known", f"use one of {', '.join(map(repr, known))}")
    return x


def call_user_function(function: Callable[..., Any], name: str, *arguments: Any) -> Any:
    """Result of a function that the user passed; its exceptions get a note that names the argument."""
    try:
        return function(*arguments)
    except PreConvexError:
        raise
    except Exception as error:
        error.add_note(f"{name}: raised by the function that was passed")
        raise


def check_radius(radius: Any, name: str = "radius") -> float:
    """Finite radius of at least 0."""
    R = as_scalar(radius, name)
    if R < 0.0:
        raise DataError(name, f"{R:g} is negative", "pass 0 for exact moments, or more to relax them")
    if R > MAX_ENTRY:
        raise DataError(name, f"{R:g} is beyond {MAX_ENTRY:g}", "rescale the features")
    return R


def as_radii(radii: Any, name: str = "radii") -> list[float]:
    """Radii in the order given."""
    numbers = as_vector(list(radii) if isinstance(radii, Iterator) else radii, name)
    return [check_radius(radius, name) for radius in numbers.tolist()]


def as_fraction(x: Any, name: str, example: str = "0.05 or 0.95") -> float:
    """A number strictly between 0 and 1, such as a confidence level."""
    value = as_scalar(x, name)
    if not 0.0 < value < 1.0:
        raise DataError(name, f"{value!r} is not between 0 and 1", f"pass a number such as {example}")
    return value


def check_positive(x: Any, name: str, example: str = "10.0") -> float:
    """A finite number above 0."""
    value = as_scalar(x, name)
    if not value > 0.0:
        raise DataError(name, f"{value!r} is not above 0", f"pass a number such as {example}")
    return value


def check_tol(tol: Any, name: str = "tol") -> float:
    """Tolerance strictly between 0 and 1."""
    return as_fraction(tol, name, "1e-8")
