"""Rows too large for memory: each block is read, mapped to features and reduced.

:class:`BlockRows` has the interface of :class:`~pre_convex.data.rows.Rows`. One sample stays in memory; it is drawn in
the pass that also checks the data and normalises the weights. The solver starts on it, and the certificate is lifted
on it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial, reduce
from operator import add
from typing import Any, Protocol, TypeVar

import numpy as np

from .._internal.entropy import log_sum_exp
from .._internal.linear_algebra import EPS
from .._internal.progress import progress_bars
from .._internal.threads import map_threads, single_threaded_blas
from .._internal.typing import Array, Index
from .._internal.validation import MAX_ENTRY, as_floats, as_matrix, as_vector, call_user_function
from ..errors import DataError
from .features import FeatureMap, Linear
from .passes import column_ranges, tilt
from .rows import Reach, Rows, Split, Subset, check_column_scale, inclusion_probability, split_origin
from .sources import Source

__all__ = [
    "BlockRows",
    "Blocks",
    "LocalBlocks",
    "RowTransform",
    "likelihood_argument",
    "read_and_run",
    "rows_and_mean",
    "show_progress",
    "survey_rows",
]

Out = TypeVar("Out")
#: work on one block: number of its first row, samples and, if they are stored, log-likelihoods
Task = Callable[[int, Array, "Array | None"], Out]
#: starts a progress bar of a given length and returns the function that advances it
StartBar = Callable[[int], Callable[[], None]]

#: entries of one block that is read and reduced by one thread
BLOCK_NUMBERS = 2_000_000
#: entries of the sample that stays in memory, and its minimum number of rows
SAMPLE_NUMBERS, MIN_SAMPLE_ROWS = 4_000_000, 20_000


class Blocks(Protocol):
    """Blocks of samples and how they are visited: in threads, or by the workers of a cluster."""

    starts: list[int]
    start_bar: StartBar | None

    def map_reduce(self, task: Task[Out], merge: Callable[[Out, Out], Out], which: list[int] | None = None) -> Out:
        """Apply the task to every block, or to some of them, and merge the results in order."""


class LocalBlocks:
    """Blocks of a source, read and reduced in threads."""

    def __init__(self, source: Source, log_lik: Source | None, numbers: int = BLOCK_NUMBERS) -> None:
        self.source, self.log_lik = source, log_lik
        edges = source.edges(max(1, numbers // max(1, int(np.prod(source.shape[1:], dtype=int)))))
        self.starts, self.stops = edges[:-1], edges[1:]
        self.start_bar: StartBar | None = None

    def map_reduce(self, task: Task[Out], merge: Callable[[Out, Out], Out], which: list[int] | None = None) -> Out:
        """Apply the task to the blocks, several at a time."""
        advance = self.start_bar(len(self.starts)) if self.start_bar and which is None else None
        which = list(range(len(self.starts))) if which is None else which

        def visit(i: int) -> Out:
            result = read_and_run(task, self.source, self.log_lik, self.starts[i], self.stops[i])
            if advance:
                advance()
            return result

        return reduce(merge, map_threads(visit, which))


def read_and_run(task: Task[Out], source: Source, log_lik: Source | None, start: int, stop: int) -> Out:
    """Read one block and apply the task to it."""
    return task(start, source.read(start, stop), None if log_lik is None else log_lik.read(start, stop))


def likelihood_argument(name: str) -> str:
    """Name of the log-likelihood argument that belongs to ``x_p`` or ``x_q``."""
    return name.replace("x_", "log_lik_", 1)


@dataclass(frozen=True, eq=False)
class Divided:
    """A feature map whose features are divided by a unit each."""

    features: FeatureMap
    unit: Array

    def __call__(self, x: Array) -> Array:
        """Features of a block, shape (n, k)."""
        return np.asarray(self.features(x)) / self.unit

    def names(self, columns: Sequence[str]) -> tuple[str, ...]:
        """Names of the features, which stay the same."""
        return self.features.names(columns)


@dataclass(frozen=True, eq=False)
class RowTransform:
    """Turns a block of samples into rows: feature map, log-likelihood, and what the first pass found.

    Attributes
    ----------
    features : FeatureMap
    columns : tuple of str
        Names of the columns of the samples.
    name : str
        Argument that holds the samples, for messages.
    uniform : bool
        Whether there is no likelihood, so that all weights are equal.
    likelihood : callable, optional
        Log-likelihood as a function of a block; otherwise it is stored with the samples.
    n, k : int
        Number of rows and features; k is 0 until it is known.
    log_total : float
        Log of the sum of all weights, by which they are normalised.
    coordinates : tuple of ndarrays, optional
        (origin, basis): features become (F − origin) · basis.
    origin, split : optional
        As in :class:`~pre_convex.data.rows.Rows`, in the new coordinates if there are any.
    face : tuple of two ndarrays, optional
        (columns, values): rows with other values in these columns of F have no base weight.
    checked : bool
        Whether every block has been validated in an earlier pass.
    ranges : tuple of two ndarrays, optional
        Smallest and largest value of each column of F.
    accuracy : float
        Relative accuracy of F.
    """

    features: FeatureMap
    columns: tuple[str, ...]
    name: str
    uniform: bool
    likelihood: Callable[[Array], Any] | None = None
    n: int = 1
    k: int = 0
    log_total: float = 0.0
    coordinates: tuple[Array, Array] | None = None
    origin: Array | None = None
    split: Split | None = None
    face: tuple[Index, Array] | None = None
    checked: bool = False
    ranges: tuple[Array, Array] | None = None
    accuracy: float = EPS

    def __call__(self, start: int, x: Array, log_lik: Array | None) -> Rows:
        """Rows of one block."""
        linear = isinstance(self.features, Linear)  # only numbers that are features themselves stay float32
        if not self.checked:
            x = as_matrix(x, self.name, self.columns, start, single=linear)
        F = self._features(start, as_floats(x, single=linear))
        on_face = True if self.face is None else np.all(F[:, self.face[0]] == self.face[1], axis=1)
        if self.coordinates is not None:
            origin, basis = self.coordinates
            F = (F - origin) @ basis
        if self.uniform:
            equal = -math.log(self.n)
            log_base = equal if self.face is None else np.where(on_face, equal - self.log_total, -np.inf)
            return Rows(F, log_base, self.origin, start, self.split)
        if self.likelihood is not None:
            log_lik = call_user_function(self.likelihood, likelihood_argument(self.name), as_floats(x))
        if not self.checked:
            log_lik = as_vector(log_lik, likelihood_argument(self.name), len(x), log_weights="any", start=start)
        with np.errstate(over="ignore"):  # a log-likelihood near −1.8e308 becomes −inf, a weight of zero
            log_base = np.asarray(log_lik, dtype=float).reshape(-1) - self.log_total
        return Rows(F, np.where(on_face, log_base, -np.inf), self.origin, start, self.split)

    def _features(self, start: int, x: Array) -> Array:
        """Features of one block, validated in the first pass."""
        single = x.dtype == np.float32
        F = np.ascontiguousarray(x) if single else np.ascontiguousarray(self.features(x), dtype=float)
        if self.k and F.shape[1:] != (self.k,):
            raise DataError(
                "features",
                f"returned shape {F.shape} for one block and {self.k} columns for another",
                "return the same columns for every block",
            )
        if not self.checked:
            F = as_matrix(F, f"features({self.name})", None, start, MAX_ENTRY, single)
            if len(F) != len(x):
                raise DataError("features", f"returned {len(F)} rows for {len(x)} samples", "return one row per sample")
        return F


@single_threaded_blas()
def _transform_and_run(
    start: int, x: Array, log_lik: Array | None, *, transform: RowTransform, work: Callable[[Rows], Out]
) -> Out:
    return work(transform(start, x, log_lik))


class BlockRows(Rows):
    """Rows that are read block by block, with a sample of them in memory.

    Parameters
    ----------
    blocks : Blocks
        The samples.
    transform : RowTransform
        Turns samples into rows.
    resident : Subset
        The sample in memory, relative to the origin.
    """

    in_memory = False
    subset_cost = 2.0

    def __init__(self, blocks: Blocks, transform: RowTransform, resident: Subset) -> None:
        self.blocks, self.transform, self.resident = blocks, transform, resident
        self.origin, self.start = transform.origin, 0
        self.centre, self.shift = transform.split or (self.origin, None)

    def __reduce__(self) -> Any:
        return type(self), (self.blocks, self.transform, self.resident)

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, features)."""
        coordinates = self.transform.coordinates
        return self.transform.n, self.transform.k if coordinates is None else coordinates[1].shape[1]

    @property
    def uniform(self) -> bool:
        """Whether all base weights are equal."""
        return self.transform.uniform and self.transform.face is None

    @property
    def features(self) -> Array:  # type: ignore[override]
        """Not in memory."""
        raise DataError("features_q", "these rows are read block by block", "load them with problem.in_memory()")

    @property
    def log_base(self) -> Array:  # type: ignore[override]
        """Not in memory."""
        raise DataError("log_base", "these rows are read block by block", "load them with problem.in_memory()")

    @property
    def accuracy(self) -> float:
        """Relative accuracy of the features."""
        return self.transform.accuracy

    @cached_property
    def reach(self) -> Reach:
        """Sizes of the features, from the ranges that the first pass found."""
        ranges, coordinates = self.transform.ranges, self.transform.coordinates
        if ranges is None:
            return super().reach
        point, centre = np.zeros(ranges[0].size), 0.0 if self.centre is None else self.centre
        point = point + centre if coordinates is None else coordinates[0]
        largest = np.maximum(np.abs(ranges[0] - point), np.abs(ranges[1] - point))
        if coordinates is not None:
            largest = largest @ np.abs(coordinates[1]) + np.abs(centre)
        return Reach(largest, np.full(largest.size, np.inf))

    def reduce(self, work: Callable[[Rows], Out], merge: Callable[[Out, Out], Out], cost: float = 1.0) -> Out:
        """Apply ``work`` to every block and merge the results; the cost changes nothing."""
        return self.blocks.map_reduce(partial(_transform_and_run, transform=self.transform, work=work), merge)

    def take(self, index: Index | slice) -> Rows:
        """Some of the rows, in memory and relative to the origin."""
        if isinstance(index, slice):
            index = np.arange(self.shape[0])[index]
        task = partial(_transform_and_run, transform=self.transform, work=partial(_pick, index=index))
        starts = np.array(self.blocks.starts)
        which = np.unique(np.searchsorted(starts, index, side="right") - 1).tolist()
        order = np.argsort(np.argsort(index, kind="stable"), kind="stable")
        if not which:
            return Rows(np.zeros((0, self.shape[1])), np.zeros(0))
        picked = self.blocks.map_reduce(task, add, which)
        features, base = np.concatenate([f for f, _ in picked]), np.concatenate([a for _, a in picked])
        return Rows(features[order], base[order])

    def sample(self, count: int) -> Rows:
        """About ``count`` rows of those in memory."""
        return self.resident.rows.sample(count)

    def subset(self, size: int) -> Subset:
        """``size`` rows of those in memory, or all of them."""
        rows, log_factor = self.resident.rows, self.resident.log_factor
        n = rows.shape[0]
        if size >= n:
            return self.resident
        index = np.sort(np.random.default_rng(0).choice(n, size, replace=False))
        kept = log_factor if isinstance(log_factor, float) else log_factor[index]
        return Subset(rows.take(index), kept + math.log(n / size))

    def with_origin(self, origin: Array) -> BlockRows:
        """The same rows relative to an origin, if they have none yet."""
        rows = self.resident.rows
        split = split_origin(rows.features, origin) if rows.shape[0] else None
        resident = Subset(Rows(rows.features - origin, rows.log_base), self.resident.log_factor)
        return BlockRows(self.blocks, replace(self.transform, origin=origin, split=split), resident)

    def without_origin(self) -> BlockRows:
        """The same rows as they are read, without a sample in memory."""
        return BlockRows(self.blocks, replace(self.transform, origin=None, split=None), _no_sample(self.shape[1]))

    def in_units(self, unit: Array) -> BlockRows:
        """The same rows with every feature divided by its unit, without an origin."""
        transform, rows = self.transform, self.resident.rows
        ranges = None if transform.ranges is None else (transform.ranges[0] / unit, transform.ranges[1] / unit)
        features = Divided(transform.features, unit)
        transform = replace(transform, features=features, ranges=ranges, origin=None, split=None)
        given = rows.features if self.origin is None else rows.features + self.origin
        return BlockRows(self.blocks, transform, Subset(Rows(given / unit, rows.log_base), self.resident.log_factor))

    def on_face(self, columns: Index, values: Array) -> tuple[BlockRows, float]:
        """The same rows, without base weight for those with other values in these columns, and the log weight left.

        The origin has these values. One pass normalises the weights that are left.
        """
        transform = replace(self.transform, face=(columns, values))
        work = partial(_transform_and_run, transform=transform, work=_log_weight)
        left = log_sum_exp(np.array(self.blocks.map_reduce(work, add)))
        rows, log_factor = self.resident.rows, self.resident.log_factor
        index = np.flatnonzero(np.all(rows.features[:, columns] == 0.0, axis=1))
        kept = Rows(rows.features[index], np.array(rows.log_base[index]) - left)
        resident = Subset(kept, log_factor if isinstance(log_factor, float) else log_factor[index])
        return BlockRows(self.blocks, replace(transform, log_total=transform.log_total + left), resident), left

    def with_weight(self) -> Rows:
        """The rows with positive base weight, in memory and relative to the origin."""
        task = partial(_transform_and_run, transform=self.transform, work=_pick_positive)
        picked = self.blocks.map_reduce(task, add)
        return Rows(np.concatenate([f for f, _ in picked]), np.concatenate([a for _, a in picked]))

    def change_coordinates(self, basis: Array) -> BlockRows:
        """The same rows as (F − origin) · basis, without a new origin."""
        rows, origin = self.resident.rows, np.zeros(self.shape[1]) if self.origin is None else self.origin
        resident = Subset(Rows(rows.features @ basis, rows.log_base), self.resident.log_factor)
        transform = replace(self.transform, coordinates=(origin, basis), origin=None, split=None)
        return BlockRows(self.blocks, transform, resident)


def _log_weight(rows: Rows) -> list[float]:
    """Log of the sum of the base weights of a block."""
    return [log_sum_exp(rows.log_base)]


def _pick_positive(rows: Rows) -> list[tuple[Array, Array]]:
    """Features and log base weights of the rows of a block that have weight."""
    picked = rows.take(np.flatnonzero(rows.log_base > -np.inf))
    return [(picked.features, np.array(picked.log_base))]


def _no_sample(k: int) -> Subset:
    return Subset(Rows(np.zeros((0, k)), np.zeros(0)), 0.0)


def _pick(rows: Rows, index: Index) -> list[tuple[Array, Array]]:
    """Features and log base weights of those rows of a block whose numbers are in ``index``."""
    inside = (index >= rows.start) & (index < rows.start + rows.shape[0])
    picked = rows.take(np.sort(index[inside]) - rows.start)
    return [(picked.features, np.array(picked.log_base))]


def rows_and_mean(blocks: Blocks, transform: RowTransform, n: int) -> tuple[BlockRows, Array]:
    """Rows and the weighted mean of their features, in one pass that also validates them."""
    centre = _first_mean(blocks, transform)
    transform = replace(transform, n=n, k=centre.size)
    sample = _no_sample(centre.size)
    # a mean relative to a point in the middle of the rows: that of a constant column is exact
    summary = tilt(
        BlockRows(blocks, replace(transform, origin=centre), sample), np.zeros(centre.size), covariance=False
    )
    return BlockRows(blocks, _normalised(transform, summary.log_z), sample), centre + summary.mean


def survey_rows(blocks: Blocks, transform: RowTransform, n: int) -> BlockRows:
    """Rows after a pass that validates them, normalises their weights and draws a sample.

    If the weights turn out to be very uneven, a second pass draws the sample by weight.
    """
    k = _first_mean(blocks, transform).size
    size = max(float(MIN_SAMPLE_ROWS), SAMPLE_NUMBERS / k)
    transform = replace(transform, n=n, k=k)
    survey = _run_survey(blocks, transform, size, by_weight=False)
    log_sum, log_squares = survey.log_sum, survey.log_squares
    transform = replace(_normalised(transform, log_sum), ranges=survey.ranges, accuracy=survey.accuracy)
    uneven = not transform.uniform and not 2.0 * log_sum - log_squares >= math.log(0.25 * n)
    if uneven:
        survey = _run_survey(blocks, transform, size, by_weight=True)
    features = np.concatenate([f for f, _ in survey.sample])
    log_base: Any = np.concatenate([a for _, a in survey.sample])
    log_factor: Array | float = math.log(n / len(log_base))
    if transform.uniform:
        log_base = -math.log(n)
    elif uneven:
        log_factor = -np.log(inclusion_probability(np.exp(log_base), size, n))
    else:
        log_base = log_base - transform.log_total
    check_column_scale(features, f"features({transform.name})")
    return BlockRows(blocks, transform, Subset(Rows(features, log_base), log_factor))


def _normalised(transform: RowTransform, log_sum: float) -> RowTransform:
    """The transform after its first pass: blocks are validated, and weights are divided by their sum."""
    if log_sum == -np.inf:
        raise DataError(
            likelihood_argument(transform.name),
            "every row is -inf, so no row can occur",
            "check the likelihood and its observation",
        )
    return replace(transform, checked=True, log_total=0.0 if transform.uniform else log_sum)


@dataclass(frozen=True, eq=False)
class _Survey:
    """Log sums of the weights and of their squares, a sample of (features, log weights) per block, ranges, accuracy."""

    log_sum: float
    log_squares: float
    sample: list[tuple[Array, Array]]
    ranges: tuple[Array, Array]
    accuracy: float

    def merge(self, other: _Survey) -> _Survey:
        return _Survey(
            log_sum_exp(np.array([self.log_sum, other.log_sum])),
            log_sum_exp(np.array([self.log_squares, other.log_squares])),
            self.sample + other.sample,
            (np.minimum(self.ranges[0], other.ranges[0]), np.maximum(self.ranges[1], other.ranges[1])),
            max(self.accuracy, other.accuracy),
        )


def _run_survey(blocks: Blocks, transform: RowTransform, size: float, *, by_weight: bool) -> _Survey:
    work = partial(_survey_block, size=size, n=transform.n, by_weight=by_weight)
    return blocks.map_reduce(partial(_transform_and_run, transform=transform, work=work), _Survey.merge)


def _survey_block(rows: Rows, size: float, n: int, by_weight: bool) -> _Survey:
    """Survey of one block; rows are drawn independently, with a seed that depends on the block only."""
    rng = np.random.default_rng([1 if by_weight else 0, rows.start])
    log_base = np.array(rows.log_base)
    probability = inclusion_probability(np.exp(log_base), size, n) if by_weight else min(1.0, size / n)
    index = np.flatnonzero(rng.random(rows.shape[0]) < probability)
    sample = [(np.array(rows.features[index], dtype=float), log_base[index])]
    with np.errstate(over="ignore"):
        return _Survey(log_sum_exp(log_base), log_sum_exp(2.0 * log_base), sample, column_ranges(rows), rows.accuracy)


def _first_mean(blocks: Blocks, transform: RowTransform) -> Array:
    """Mean of the features of the first rows."""
    task = partial(_mean_of_features, features=transform.features, name=transform.name, columns=transform.columns)
    return blocks.map_reduce(task, add, [0])


def _mean_of_features(
    start: int, x: Array, log_lik: Array | None, *, features: FeatureMap, name: str, columns: tuple[str, ...]
) -> Array:
    F = as_matrix(features(as_matrix(x[:1000], name, columns)), f"features({name})", limit=MAX_ENTRY)
    return np.asarray(F.mean(axis=0))


@contextmanager
def show_progress(rows: Rows | Blocks, verbose: bool, description: str = "pass") -> Iterator[None]:
    """While inside, show a progress bar for every pass over blocks, if ``verbose``; rows in memory have none."""
    blocks = rows.blocks if isinstance(rows, BlockRows) else rows
    if not verbose or isinstance(blocks, Rows):
        yield
        return
    count = itertools.count(1)
    with progress_bars() as start:
        blocks.start_bar = lambda total: start(f"{description} {next(count)}", total)
        try:
            yield
        finally:
            blocks.start_bar = None
