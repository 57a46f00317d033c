"""Rows that are never in memory all at once: read, mapped to features and reduced, a stretch at a time.

:class:`BlockRows` answers every question that the solver asks of :class:`~pre_convex.passes.Rows`. It keeps one sample
in memory, drawn in the pass that also checks the data and normalises the weights; the solver starts on it, and the
certificate is lifted on it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import add
from typing import Any, Protocol, TypeVar

import numpy as np

from .arrays import as_matrix, as_vector, called
from .checks import LARGEST
from .entropy import Array, Index, exp, log, log_of, log_sum_exp
from .errors import DataError
from .features import FeatureMap
from .passes import Rows, Subset, mixed_chance, tilt
from .sources import Source
from .threads import in_threads, one_thread_each

__all__ = ["BlockRows", "LocalPieces", "Pieces", "Recipe", "log_lik_of", "read_and", "surveyed", "with_mean"]

Out = TypeVar("Out")
#: what a piece holds, and its first row: samples and, if they are stored, logarithms of weights
Task = Callable[[int, Array, "Array | None"], Out]

#: numbers of one piece that is read and reduced by one thread
PIECE_NUMBERS = 2_000_000
#: numbers in the sample that stays in memory, and the fewest rows of it
KEPT_NUMBERS, KEPT_ROWS = 4_000_000, 20_000


class Pieces(Protocol):
    """Stretches of rows, and how they are visited: in threads here, or by the workers of a cluster."""

    starts: list[int]
    watch: Callable[[int], Callable[[], None]] | None

    def run(self, task: Task[Out], merge: Callable[[Out, Out], Out], where: list[int] | None = None) -> Out:
        """The task of every piece, or of some, merged in their order."""


class LocalPieces:
    """Stretches of a source, read and reduced in threads."""

    def __init__(self, source: Source, base: Source | None, numbers: int = PIECE_NUMBERS) -> None:
        self.source, self.base = source, base
        edges = source.edges(max(1, numbers // max(1, int(np.prod(source.shape[1:], dtype=int)))))
        self.starts, self.stops = edges[:-1], edges[1:]
        self.watch: Callable[[int], Callable[[], None]] | None = None

    def run(self, task: Task[Out], merge: Callable[[Out, Out], Out], where: list[int] | None = None) -> Out:
        """The task of every piece, two or more at a time."""
        moved = self.watch(len(self.starts)) if self.watch and where is None else None
        where = list(range(len(self.starts))) if where is None else where

        def visit(i: int) -> Out:
            found = read_and(task, self.source, self.base, self.starts[i], self.stops[i])
            if moved:
                moved()
            return found

        return reduce(merge, in_threads(visit, where))


def log_lik_of(name: str) -> str:
    """What the log-likelihood of ``x_p`` or ``x_q`` is called."""
    return name.replace("x_", "log_lik_", 1)


def read_and(task: Task[Out], source: Source, base: Source | None, start: int, stop: int) -> Out:
    """The task of one stretch, which is read here and now."""
    return task(start, source.read(start, stop), None if base is None else base.read(start, stop))


@dataclass(frozen=True, eq=False)
class Recipe:
    """How samples become rows: features, likelihood, and what a survey of all rows found out."""

    features: FeatureMap
    columns: tuple[str, ...]
    name: str
    flat: bool
    likelihood: Callable[[Array], Any] | None = None
    rows: int = 1
    width: int = 0
    log_total: float = 0.0
    origin: Array | None = None
    coordinates: tuple[Array, Array] | None = None
    checked: bool = False

    def __call__(self, start: int, x: Array, a: Array | None) -> Rows:
        """The rows of one piece."""
        if not self.checked:
            x = as_matrix(x, self.name, self.columns, start)
        F = np.ascontiguousarray(self.features(x), dtype=float)
        if self.width and F.shape[1:] != (self.width,):
            raise DataError(f"features: returned {F.shape[1:]} columns for a block where {self.width} were before")
        if not self.checked:
            F = as_matrix(F, f"features({self.name})", None, start, LARGEST)
            if len(F) != len(x):
                raise DataError(f"features: returned {len(F)} rows for {len(x)} samples")
        origin = self.origin
        if self.coordinates is not None:
            centre, basis = self.coordinates
            F, origin = ((F if origin is None else F - origin) - centre) @ basis, None
        if self.flat:
            return Rows(F, np.broadcast_to(-log_of(self.rows), (len(F),)), origin, start)
        if self.likelihood is not None:
            a = called(self.likelihood, log_lik_of(self.name), x)
        if not self.checked:
            a = as_vector(a, log_lik_of(self.name), len(x), log_weights="any", start=start)
        with np.errstate(over="ignore"):  # of logarithms as large as numbers are; the weight is zero
            return Rows(F, np.asarray(a, dtype=float).reshape(-1) - self.log_total, origin, start)


@one_thread_each()
def _work(start: int, x: Array, a: Array | None, *, recipe: Recipe, work: Callable[[Rows], Out]) -> Out:
    return work(recipe(start, x, a))


class BlockRows(Rows):
    """Rows read piece by piece, with a sample of them in memory."""

    in_memory = False
    subset_cost = 2.0

    def __init__(self, pieces: Pieces, recipe: Recipe, width: int, kept: Subset) -> None:
        parts = {"pieces": pieces, "recipe": recipe, "width": width, "kept": kept, "origin": recipe.origin, "start": 0}
        for name, value in parts.items():
            object.__setattr__(self, name, value)

    pieces: Pieces
    recipe: Recipe
    width: int
    kept: Subset

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns)."""
        return self.recipe.rows, self.width

    @property
    def flat(self) -> bool:
        """Whether all base weights are equal."""
        return self.recipe.flat

    @property
    def features(self) -> Array:
        """Not in memory."""
        raise DataError("features_q: these rows are read block by block; problem.in_memory() reads them all")

    @property
    def log_base(self) -> Array:
        """Not in memory."""
        raise DataError("log_base: these rows are read block by block; problem.in_memory() reads them all")

    def reduce(self, work: Callable[[Rows], Out], merge: Callable[[Out, Out], Out], cost: float = 1.0) -> Out:
        """``work`` of every piece, merged, whatever it costs."""
        return self.pieces.run(partial(_work, recipe=self.recipe, work=work), merge)

    def take(self, index: Index | slice, log_share: Array | float = 0.0) -> Rows:
        """Some of the rows, in memory and relative to the origin, in the order of their numbers."""
        if isinstance(index, slice):
            index = np.arange(self.shape[0])[index]
        task = partial(_work, recipe=self.recipe, work=partial(_pick, index=index))
        starts = np.array(self.pieces.starts)
        where = np.unique(np.searchsorted(starts, index, side="right") - 1).tolist()
        order = np.argsort(np.argsort(index, kind="stable"), kind="stable")
        if not where:
            return Rows(np.zeros((0, self.width)), np.zeros(0))
        parts = self.pieces.run(task, add, where)
        features, base = np.concatenate([f for f, _ in parts]), np.concatenate([a for _, a in parts])
        return Rows(features[order], base[order] + log_share)

    def sample(self, count: int) -> Rows:
        """About ``count`` rows of those in memory."""
        return self.kept.plain.sample(count)

    def subset(self, size: int) -> Subset:
        """About ``size`` rows of those in memory, or all of them."""
        plain = self.kept.plain
        have = plain.shape[0]
        if size >= have:
            return self.kept
        index = np.sort(np.random.default_rng(0).choice(have, size, replace=False))
        share = self.kept.log_share if isinstance(self.kept.log_share, float) else self.kept.log_share[index]
        return Subset(plain.take(index), share + log_of(have / size))

    def from_origin(self, origin: Array | None) -> BlockRows:
        """The same rows relative to another origin; without a sample."""
        return BlockRows(self.pieces, replace(self.recipe, origin=origin), self.width, self.kept)

    def in_coordinates(self, centre: Array, basis: Array) -> BlockRows:
        """The same rows as (F − centre) · basis, where the centre is relative to the origin."""
        plain = self.kept.plain
        kept = Subset(replace(plain, features=(plain.features - centre) @ basis), self.kept.log_share)
        recipe = replace(self.recipe, coordinates=(centre, basis))
        rows = BlockRows(self.pieces, recipe, basis.shape[1], kept)
        object.__setattr__(rows, "origin", None)
        return rows


def _pick(rows: Rows, index: Index) -> list[tuple[Array, Array]]:
    """Features relative to the origin and logarithms of weights, of the rows with these numbers."""
    mine = np.sort(index[(index >= rows.start) & (index < rows.start + rows.shape[0])]) - rows.start
    some = rows.take(mine)
    return [(some.features, np.array(some.log_base))]


@dataclass(frozen=True, eq=False)
class _Survey:
    """What one pass finds out about all rows: sums of weights and of their squares, and a sample."""

    log_total: float
    log_squares: float
    sample: list[tuple[Array, Array]]

    def merge(self, other: _Survey) -> _Survey:
        return _Survey(
            log_sum_exp(np.array([self.log_total, other.log_total])),
            log_sum_exp(np.array([self.log_squares, other.log_squares])),
            self.sample + other.sample,
        )


def _look(rows: Rows, size: float, total: int, uneven: bool) -> _Survey:
    """Survey of one piece; each row is drawn by itself, with a seed that depends on the piece only."""
    n, rng = rows.shape[0], np.random.default_rng([1 if uneven else 0, rows.start])
    base = np.array(rows.log_base)
    chance = mixed_chance(exp(base), size, total) if uneven else min(1.0, size / total)
    index = np.flatnonzero(rng.random(n) < chance)
    sample = [(np.array(rows.features[index]), base[index])]
    with np.errstate(over="ignore"):
        return _Survey(log_sum_exp(base), log_sum_exp(2.0 * base), sample)


def with_mean(pieces: Pieces, recipe: Recipe, rows: int) -> tuple[BlockRows, Array]:
    """Rows and the weighted mean of their features, in one pass that also checks them."""
    width = _width(pieces, recipe)
    recipe = replace(recipe, rows=rows, width=width)
    nothing = Subset(Rows(np.zeros((0, width)), np.zeros(0)), 0.0)
    side = BlockRows(pieces, recipe, width, nothing)
    summary = tilt(side, np.zeros(width), covariance=False)
    if summary.log_z == -np.inf:
        raise DataError(_no_weight(recipe))
    recipe = replace(recipe, checked=True, log_total=0.0 if recipe.flat else summary.log_z)
    return BlockRows(pieces, recipe, width, nothing), summary.mean


def _no_weight(recipe: Recipe) -> str:
    return (
        f"{log_lik_of(recipe.name)}: every row is -inf, so no row can occur; check the likelihood and its observation"
    )


def surveyed(pieces: Pieces, recipe: Recipe, rows: int, origin: Callable[[Array], Array | None]) -> BlockRows:
    """Rows after the pass that checks them, normalises their weights and draws the sample; two passes if uneven."""
    width = _width(pieces, recipe)
    size = max(float(KEPT_ROWS), KEPT_NUMBERS / width)
    recipe = replace(recipe, rows=rows, width=width)
    look = partial(_look, size=size, total=rows, uneven=False)
    survey: _Survey = pieces.run(partial(_work, recipe=recipe, work=look), _Survey.merge)
    if survey.log_total == -np.inf:
        raise DataError(_no_weight(recipe))
    recipe = replace(recipe, checked=True, log_total=0.0 if recipe.flat else survey.log_total)
    uneven = not recipe.flat and not 2.0 * survey.log_total - survey.log_squares >= log_of(0.25 * rows)
    if uneven:
        look = partial(_look, size=size, total=rows, uneven=True)
        survey = pieces.run(partial(_work, recipe=recipe, work=look), _Survey.merge)
    features = np.concatenate([f for f, _ in survey.sample])
    base = np.concatenate([a for _, a in survey.sample])
    if not uneven and not recipe.flat:
        base = base - recipe.log_total
    log_share: Array | float = -log(mixed_chance(exp(base), size, rows)) if uneven else log_of(rows / len(base))
    if recipe.flat:
        base = np.broadcast_to(-log_of(rows), (len(base),))
    recipe = replace(recipe, origin=origin(features))
    centred = features if recipe.origin is None else features - recipe.origin
    return BlockRows(pieces, recipe, width, Subset(Rows(centred, base), log_share))


def _width(pieces: Pieces, recipe: Recipe) -> int:
    """Number of features, from the first rows."""
    work = partial(_columns, features=recipe.features, name=recipe.name, columns=recipe.columns)
    width: int = pieces.run(work, max, [0])
    return width


def _columns(
    start: int, x: Array, a: Array | None, *, features: FeatureMap, name: str, columns: tuple[str, ...]
) -> int:
    return int(as_matrix(features(as_matrix(x[:1000], name, columns)), f"features({name})").shape[1])
