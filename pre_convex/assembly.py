"""The two sides of a problem from whatever holds them, read block by block."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from .arrays import as_vector, column_names, frozen
from .blocks import BlockRows, LocalPieces, Pieces, Recipe, log_lik_of, surveyed, with_mean
from .checks import looked_at, origin_of
from .distributed import DaskPieces, FilesOnDask, as_dask_array, is_dask
from .entropy import Array
from .errors import DataError
from .features import Concatenation, FeatureMap, make_features
from .kernels import Kernel
from .passes import Rows, even_base
from .progress import bar
from .sources import ArraySource, OneColumn, ParquetSource, Source, open_source

__all__ = ["assemble", "packed", "rows_of", "unpacked", "watched"]

#: a copy by columns of so few numbers, in so few columns, makes every pass over them quicker
SMALL, NARROW = 60_000, 16


def rows_of(F: Array, a: Array) -> Rows:
    """Rows in memory as the passes see them; by columns where they are so few and narrow that this is quicker."""
    by_columns = np.asfortranarray(F) if F.size <= SMALL and F.shape[1] <= NARROW else F
    return Rows(frozen(by_columns), frozen(a), origin_of(F))


def packed(state: dict[str, Any]) -> dict[str, Any]:
    """What a problem is written as: without rows in memory, which are made again of features that are written once.

    Even base weights are left out too. A copy of them would not be known to be even, and the answer of the copied
    problem would differ in its last digits.
    """
    rows: Rows = state["rows"]
    if not rows.in_memory:
        return dict(state)
    return {**state, "rows": None, "log_base": None if rows.flat else state["log_base"]}


def unpacked(state: dict[str, Any]) -> dict[str, Any]:
    """The opposite of :func:`packed`; arrays are read-only again."""
    state = {key: frozen(value) if isinstance(value, np.ndarray) else value for key, value in state.items()}
    if state["rows"] is None:
        F, a = state["features_q"], state["log_base"]
        a = even_base(len(F)) if a is None else a
        state |= {"log_base": a, "rows": rows_of(F, a)}
    return state


def assemble(
    x_p: Any,
    x_q: Any,
    log_lik_p: Any,
    log_lik_q: Any,
    features: Any,
    target: Any,
    dask: bool,
    verbose: bool,
) -> tuple[Rows, Rows | None, Array, tuple[str, ...]]:
    """(rows of the q side, rows of the p side, target, names of the features)."""
    f = make_features(features)
    parts = f.parts if isinstance(f, Concatenation) else (f,)
    if any(isinstance(part, Kernel) and part.factor is None for part in parts):
        raise DataError("features: a kernel needs its landmarks first; pass kernel.fitted(points, rng)")
    pieces_q, recipe_q, n_q = _side(x_q, log_lik_q, f, dask, "x_q")
    columns, side_p = recipe_q.columns, None
    if target is None:
        if x_p is None:
            raise DataError("x_p: is None; pass samples of the p side, or a target")
        pieces_p, recipe_p, n_p = _side(x_p, log_lik_p, f, dask, "x_p")
        columns = _common(recipe_p.columns, recipe_q.columns)
        if recipe_q.columns not in (columns, _made_up(len(columns))):  # the same columns in another order
            pieces_q, recipe_q, n_q = _side(x_q, log_lik_q, f, dask, "x_q", columns)
        with watched(pieces_p, verbose, "target"):
            side_p, target = with_mean(pieces_p, recipe_p, n_p)
    with watched(pieces_q, verbose, "survey"):
        rows = surveyed(pieces_q, recipe_q, n_q, partial(looked_at, name="features(x_q)"))
    names, k = f.names(columns), rows.shape[1]
    target = as_vector(target, "target")
    if target.size != k:
        raise DataError(f"target: has {target.size} entries for {k} features; pass one for each")
    if len(names) != k:
        names = tuple(f"f{i}" for i in range(k))
    return rows, None if side_p is None else side_p.from_origin(rows.origin), target, names


def _common(columns_p: tuple[str, ...], columns_q: tuple[str, ...]) -> tuple[str, ...]:
    """Names of the columns that both sides have, where one of them may only have made-up names."""
    made_up = _made_up(len(columns_p))
    if len(columns_p) != len(columns_q):
        names = f" ({', '.join(columns_q)})" if columns_q != _made_up(len(columns_q)) else ""
        raise DataError(f"x_q: has {len(columns_q)} columns{names}, x_p has {len(columns_p)}")
    if columns_p != columns_q and made_up not in (columns_p, columns_q):
        odd = sorted(set(columns_p) ^ set(columns_q))
        if odd:
            raise DataError(f"x_q: its columns differ from those of x_p in {', '.join(odd)}; give both the same ones")
    return columns_q if columns_p == made_up else columns_p


def _made_up(width: int) -> tuple[str, ...]:
    """Names for columns that have none."""
    return tuple(f"x{i}" for i in range(width))


def _side(
    x: Any, log_lik: Any, f: FeatureMap, dask: bool, name: str, order: tuple[str, ...] | None = None
) -> tuple[Pieces, Recipe, int]:
    """Pieces of one side, and how rows are made of them; ``order`` puts named columns in another order."""
    likelihood = log_lik if callable(log_lik) else None
    stored = None if callable(log_lik) else log_lik
    if is_dask(x):
        columns = column_names(x)
        if order is not None and columns is not None:
            x = x[[*order, *(c for c in columns if c not in order)]]
            columns = column_names(x)
        if isinstance(stored, str):
            x, stored, columns = _column_apart(x, stored, columns, name)
        elif isinstance(stored, Path):
            raise DataError(f"{log_lik_of(name)}: a file beside a Dask collection; pass a Dask array")
        pieces: Any = DaskPieces(x, stored, name)
        shape = pieces.shape
    else:
        source = open_source(x, name)
        base = None if stored is None else _base(source, stored, name)
        if isinstance(stored, str) and isinstance(source, ParquetSource) and stored in source.columns:
            source = source.only(tuple(c for c in source.columns if c != stored))
        if order is not None:
            source = _reordered(source, order)
        if len(source.shape) == 1:
            source = OneColumn(source)
        if len(source.shape) != 2:
            raise DataError(f"{name}: has {len(source.shape)} dimensions; pass one row for each sample, shape (n, d)")
        if base is not None and len(base.shape) != 1 and base.shape[1:] != (1,):
            raise DataError(f"{log_lik_of(name)}: has shape {base.shape}; pass one number for each row")
        if base is not None and base.shape[0] != source.shape[0]:
            raise DataError(
                f"{log_lik_of(name)}: has {base.shape[0]} entries where {source.shape[0]} are needed, one for each row"
            )
        pieces = FilesOnDask(source, base) if dask else LocalPieces(source, base)
        shape, columns = source.shape, source.columns
    if 0 in shape:
        raise DataError(f"{name}: is empty, shape {tuple(shape)}; at least one row and one column are needed")
    columns = columns or _made_up(int(shape[1]))
    return pieces, Recipe(f, columns, name, log_lik is None, likelihood), int(shape[0])


def _base(source: Source, stored: Any, name: str) -> Source:
    """Stored log-likelihoods: a column of the same file, or a source of their own."""
    if isinstance(stored, str) and isinstance(source, ParquetSource) and stored in source.columns:
        return source.only((stored,))
    if isinstance(stored, str) and not Path(stored).exists():
        among = (
            f"among the columns {', '.join(source.columns)}"
            if source.columns
            else "a column: the samples have no names"
        )
        raise DataError(f"{log_lik_of(name)}: {stored!r} is no file, and not {among}")
    return open_source(stored, log_lik_of(name))


def _reordered(source: Source, order: tuple[str, ...]) -> Source:
    """The same source with its columns in another order."""
    if isinstance(source, ParquetSource):
        return source.only(order)
    if isinstance(source, ArraySource) and source.columns is not None:
        return ArraySource(source.array[:, [source.columns.index(c) for c in order]], order)
    raise DataError("x_q: its columns stand in another order than those of x_p")


def _column_apart(x: Any, column: str, columns: tuple[str, ...] | None, name: str) -> tuple[Any, Any, Any]:
    """A dataframe without a column, that column, and the names that are left."""
    if columns is None or column not in columns:
        raise DataError(f"{log_lik_of(name)}: {column!r} is not a column of it")
    rest = [c for c in columns if c != column]
    both = as_dask_array(x[[*rest, column]], name)
    return both[:, :-1], both[:, -1], tuple(rest)


@contextmanager
def watched(rows: Rows | Pieces, verbose: bool, what: str = "pass") -> Iterator[None]:
    """While inside, every pass over rows that are read in pieces shows a bar, if asked for."""
    pieces = rows.pieces if isinstance(rows, BlockRows) else rows
    if not verbose or isinstance(pieces, Rows):
        yield
        return
    count = itertools.count(1)
    with bar() as start:
        pieces.watch = lambda total: start(f"{what} {next(count)}", total)
        try:
            yield
        finally:
            pieces.watch = None
