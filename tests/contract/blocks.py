"""Rows about problems read block by block: arrays, functions that return blocks, Dask collections."""

from __future__ import annotations

from typing import Any

import dask
import dask.array as da
import numpy as np
import pandas as pd

import pre_convex as pre

from .kinds import choice, fails, flag, frames, layouts, matrix, types, vector
from .problems import AT, A, F, X, family, features, likelihood, radius
from .rows import OwnError, Row, Taken

ENTRY = "RatioProblem.from_blocks"


def blocks(**changes: Any) -> pre.RatioProblem:
    """A good problem from blocks with some arguments changed."""
    return pre.RatioProblem.from_blocks(**{"x_p": X, "x_q": F, **changes})


def chunked(x: Any, size: int = 8) -> Any:
    """A Dask array with several chunks."""
    return da.from_array(x, chunks=(size, *x.shape[1:]))


def made(argument: str) -> list[Row]:
    """Rows for functions that return blocks, and for Dask collections."""

    def row(kind: str, make: Any, **more: Any) -> Row:
        return Row(ENTRY, argument, kind, lambda: blocks(**{argument: make()}), **more)

    return [
        row("function that raises", lambda: [fails], error=OwnError),
        row("function that returns None", lambda: [lambda: None], named=f"{argument}: block 0"),
        row("function that returns text", lambda: [lambda: [["a", "b"]]], named=f"{argument}: block 0"),
        row(
            "functions that return NaN",
            lambda: [lambda: F, lambda: np.full((3, 2), np.nan)],
            named=f"{argument}: block 1",
        ),
        row("functions that differ in width", lambda: [lambda: F, lambda: F[:, :1]]),
        row("functions without rows", lambda: [lambda: F[:0]]),
        row("functions and arrays", lambda: [lambda: F, F]),
        row("iterator of blocks", lambda: iter([F, F])),
        row("NaN (Dask)", lambda: chunked(np.where(F > 1.0, np.nan, F))),
        row("complex (Dask)", lambda: chunked(F + 1j)),
        row("text (Dask)", lambda: chunked(F.astype(str))),
        row("no rows (Dask)", lambda: chunked(F[:0])),
        row("one number (Dask)", lambda: chunked(F).sum()),
        row("three dimensions (Dask)", lambda: chunked(F[:, :, None])),
        row("delayed (Dask)", lambda: dask.delayed(lambda: F)()),
    ]


ROWS: list[Row] = [
    *matrix(ENTRY, "x_p", lambda x: blocks(x_p=x), X),
    *matrix(ENTRY, "x_q", lambda x: blocks(x_q=x), F),
    *frames(ENTRY, "x_q", lambda x: blocks(x_q=x)),
    *made("x_p"),
    *made("x_q"),
    Row(ENTRY, "x_q", "another width", lambda: blocks(x_q=F[:, :1])),
    *likelihood(ENTRY, "log_lik_p", lambda a: blocks(x_p=F, log_lik_p=a), A),
    *likelihood(ENTRY, "log_lik_q", lambda a: blocks(log_lik_q=a), A),
    Row(
        ENTRY,
        "log_lik_q",
        "functions that return text",
        lambda: blocks(log_lik_q=[lambda: ["a"] * 20]),
        named="log_lik_q: block 0",
    ),
    Row(ENTRY, "log_lik_q", "too short (Dask samples)", lambda: blocks(x_q=chunked(F), log_lik_q=A[:3])),
    Row(ENTRY, "log_lik_q", "complex (Dask samples)", lambda: blocks(x_q=chunked(F), log_lik_q=A + 1j)),
    *features(ENTRY, lambda f: blocks(features=f)),
    *vector(ENTRY, "target", lambda b: blocks(x_p=None, target=b), np.zeros(2), named={"None": "x_p"}),
    *radius(ENTRY, lambda r: blocks(radius=r)),
    *family(ENTRY, blocks),
    *choice(ENTRY, "norm", lambda p: blocks(norm=p)),
    *flag(ENTRY, "dask", lambda d: blocks(dask=d)),
    *flag(ENTRY, "verbose", lambda v: blocks(verbose=v)),
]


def at(**changes: Any) -> Any:
    """Gradient of a problem from blocks with some arguments changed."""
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
            "one function for each block": lambda: [lambda: F[:7], lambda: F[7:]],
            "one function": lambda: lambda: F,
            "Dask array": lambda: chunked(F),
            "Dask array chunked in both directions": lambda: da.from_array(F, chunks=(8, 1)),
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
