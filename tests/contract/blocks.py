"""Problems whose samples are read block by block: arrays, iterators of blocks, functions and Dask collections."""

from __future__ import annotations

from typing import Any

import dask
import dask.array as da
import numpy as np
import pandas as pd

import pre_convex as pre

from .kinds import choice, fails, flag, frames, layouts, matrix, types, vector
from .problems import AT, A, F, X, features, likelihood, radius
from .rows import OwnError, Row, Taken

ENTRY = "RatioProblem.from_blocks"


def blocks(**changes: Any) -> pre.RatioProblem:
    """A good problem from blocks with some arguments changed."""
    return pre.RatioProblem.from_blocks(**{"x_p": X, "x_q": F, **changes})


def pieces(x: Any, size: int = 8) -> Any:
    """A Dask array of several chunks."""
    return da.from_array(x, chunks=(size, *x.shape[1:]))


def made(argument: str) -> list[Row]:
    """Rows for blocks that functions make, and for Dask collections."""

    def row(kind: str, make: Any, says: str, **error: Any) -> Row:
        return Row(ENTRY, argument, kind, lambda: blocks(**{argument: make()}), says, **error)

    return [
        row("function that raises", lambda: [fails], "my own words", error=OwnError),
        row(
            "function that returns None",
            lambda: [lambda: None],
            f"{argument}: block 0: is None; pass an array of numbers",
        ),
        row(
            "function that returns text",
            lambda: [lambda: [["a", "b"]]],
            f"{argument}: block 0: holds dtype <U1; pass real numbers",
        ),
        row(
            "functions that return NaN",
            lambda: [lambda: F, lambda: np.full((3, 2), np.nan)],
            f"{argument}: block 1: row 0, column 0 is nan (6 such entries); drop those rows or fill them in first",
        ),
        row(
            "functions that differ in width",
            lambda: [lambda: F, lambda: F[:, :1]],
            f"{argument}: its blocks differ in their number of columns",
        ),
        row("functions without rows", lambda: [lambda: F[:0]], f"{argument}: its functions make no rows"),
        row(
            "functions and arrays",
            lambda: [lambda: F, F],
            f"{argument}: cannot be read as an array of numbers (…)",
        ),
        row(
            "iterator of blocks",
            lambda: iter([F, F]),
            f"{argument}: list_iterator is not an array of numbers; pass an array, a list or a data frame",
        ),
        row(
            "Dask, NaN",
            lambda: pieces(np.where(F > 1.0, np.nan, F)),
            f"{argument}: row …, column … is nan…; drop those rows or fill them in first",
        ),
        row(
            "Dask, complex",
            lambda: pieces(F + 1j),
            f"{argument}: holds complex numbers; pass real numbers",
        ),
        row("Dask, text", lambda: pieces(F.astype(str)), f"{argument}: holds dtype <U…; pass real numbers"),
        row(
            "Dask, no rows",
            lambda: pieces(F[:0]),
            f"{argument}: is empty, shape (0, 2); at least one row …",
        ),
        row(
            "Dask, one number",
            lambda: pieces(F).sum(),
            f"{argument}: has 0 dimensions; pass one row for each sample, shape (n, d)",
        ),
        row(
            "Dask, three dimensions",
            lambda: pieces(F[:, :, None]),
            f"{argument}: has 3 dimensions; pass one row for each sample, shape (n, d)",
        ),
        row(
            "Dask, delayed",
            lambda: dask.delayed(lambda: F)(),
            f"{argument}: Delayed is neither a Dask array nor a Dask dataframe; make one of it",
        ),
    ]


EMPTY = {
    "objects of text": "…: holds text; pass real numbers",
    "name of a file": "…: x.npy cannot be read (No such file or directory)",
}
X_P = EMPTY | {"None": "x_p: is None; pass samples of the p side, or a target"}
LOG_LIK = {
    "empty": "…: has 0 entries where 20 are needed, one for each row",
    "one number": "…: has 0 dimensions; pass one row for each sample, shape (n, d)",
    "name of a file": "…: 'x.npy' is no file, and not a column: the samples have no names",
}
ROWS: list[Row] = [
    *matrix(ENTRY, "x_p", lambda x: blocks(x_p=x), X, says=X_P),
    *matrix(ENTRY, "x_q", lambda x: blocks(x_q=x), F, says=EMPTY),
    *frames(ENTRY, "x_q", lambda x: blocks(x_q=x)),
    *made("x_p"),
    *made("x_q"),
    Row(ENTRY, "x_q", "another width", lambda: blocks(x_q=F[:, :1]), "x_q: has 1 columns, x_p has 2"),
    *likelihood(ENTRY, "log_lik_p", lambda a: blocks(x_p=F, log_lik_p=a), A, LOG_LIK),
    *likelihood(ENTRY, "log_lik_q", lambda a: blocks(log_lik_q=a), A, LOG_LIK),
    Row(
        ENTRY,
        "log_lik_q",
        "functions that return text",
        lambda: blocks(log_lik_q=[lambda: ["a"] * 20]),
        "log_lik_q: block 0: holds dtype <U1; pass real numbers",
    ),
    Row(
        ENTRY,
        "log_lik_q",
        "Dask samples, too short",
        lambda: blocks(x_q=pieces(F), log_lik_q=A[:3]),
        "log_lik_q: has 3 entries where 20 are needed, one for each row",
    ),
    Row(
        ENTRY,
        "log_lik_q",
        "Dask samples, complex",
        lambda: blocks(x_q=pieces(F), log_lik_q=A + 1j),
        "log_lik_q: holds complex numbers; pass real numbers",
    ),
    *features(ENTRY, lambda f: blocks(features=f)),
    *vector(
        ENTRY,
        "target",
        lambda b: blocks(x_p=None, target=b),
        np.zeros(2),
        says={
            "too short": "target: has 1 entries for 2 features; pass one for each",
            "too long": "target: has 3 entries for 2 features; pass one for each",
            "None": "x_p: is None; pass samples of the p side, or a target",
        },
    ),
    *radius(ENTRY, lambda r: blocks(radius=r)),
    *choice(ENTRY, "norm", lambda p: blocks(norm=p)),
    *flag(ENTRY, "dask", lambda d: blocks(dask=d)),
    *flag(ENTRY, "verbose", lambda v: blocks(verbose=v)),
]


def at(**changes: Any) -> Any:
    """A gradient of a problem from blocks."""
    return blocks(**changes).gradient(AT)


def same(argument: str, kind: str, make: Any) -> Taken:
    """A row for the samples F in another form."""
    return Taken(ENTRY, argument, kind, lambda x: at(**{argument: x}), make, lambda: F)


TAKEN: list[Taken] = [
    *layouts(ENTRY, "x_q", lambda x: at(x_q=x), F),
    *types(ENTRY, "x_q", lambda x: at(x_q=x), F),
    *layouts(ENTRY, "log_lik_q", lambda a: at(log_lik_q=a), A),
    *(
        same(argument, kind, make)
        for argument in ("x_p", "x_q")
        for kind, make in {
            "functions, one for each block": lambda: [lambda: F[:7], lambda: F[7:]],
            "one function": lambda: lambda: F,
            "Dask array": lambda: pieces(F),
            "Dask array, chunks in both directions": lambda: da.from_array(F, chunks=(8, 1)),
            "data frame": lambda: pd.DataFrame(F),
        }.items()
    ),
    Taken(
        "RatioProblem.in_memory",
        "self",
        "read block by block",
        lambda p: p.gradient(AT),
        lambda: blocks().in_memory(),
        lambda: pre.RatioProblem.from_samples(X, F),
    ),
]
