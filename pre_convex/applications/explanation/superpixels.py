"""Images: every super-pixel is a feature that is on or off."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...arrays import as_flag, frozen, shown
from ...entropy import Array, Index
from ...errors import DataError
from .perturbations import Coins, chance, on_off_rows

__all__ = ["ImageNeighbourhood", "SuperPixels", "grid_labels"]

#: numbers in the images that are made at a time
NUMBERS = 20_000_000


def array_of(x: Any, name: str) -> Any:
    """An array of whatever type, without masked entries."""
    if np.ma.is_masked(x):
        raise DataError(f"{name}: has masked entries; fill them first")
    try:
        return np.asarray(x)
    except Exception as error:
        raise DataError(f"{name}: cannot be read as an array ({error})") from error


def grid_labels(height: int, width: int, rows: int, columns: int) -> Index:
    """Number of the cell of a grid that every pixel lies in, shape (height, width).

    Examples
    --------
    >>> grid_labels(2, 5, 1, 2)
    array([[0, 0, 0, 1, 1],
           [0, 0, 0, 1, 1]])
    """
    down = np.repeat(np.arange(rows), [len(part) for part in np.array_split(np.arange(height), rows)])
    across = np.repeat(np.arange(columns), [len(part) for part in np.array_split(np.arange(width), columns)])
    return np.asarray(down[:, None] * columns + across[None, :])


@dataclass(frozen=True, eq=False)
class ImageNeighbourhood:
    """Images with some super-pixels filled.

    Attributes
    ----------
    names : tuple of str
    origin, unit : ndarray of shape (k,)
        Ones: in x itself every super-pixel is on.
    image, filling : ndarray of shape (height, width) or (height, width, channels)
        The image, and the one that shows where a super-pixel is off.
    labels : ndarray of shape (height, width)
        Number of the super-pixel of every pixel, from 0.
    flat : bool
        Whether the black box reads rows of numbers instead of images.
    keep : float
    """

    names: tuple[str, ...]
    origin: Array
    unit: Array
    image: Any
    filling: Any
    labels: Index
    flat: bool
    keep: float

    @property
    def at_once(self) -> int:
        """Images made at a time."""
        return max(1, NUMBERS // int(self.image.size))

    def draw(self, n: int, rng: np.random.Generator) -> Array:
        """Coins for n images."""
        return Coins(len(self.names), self.keep)(n, rng)

    def inputs(self, z: Array, rng: np.random.Generator) -> Any:
        """The images, shape (n, height, width) or with channels; or their rows of numbers."""
        on = (z > 0.5)[:, self.labels]
        images = np.where(on if self.image.ndim == 2 else on[..., None], self.image, self.filling)
        return images.reshape(len(z), -1) if self.flat else images

    def encode(self, rows: Any) -> Array:
        """Rows of ones and zeros, one column for each super-pixel."""
        return on_off_rows(rows, len(self.names), "super-pixels")


@dataclass(frozen=True, eq=False)
class SuperPixels:
    """Every super-pixel is kept (feature 1) or filled (feature 0), by independent coins.

    Parameters
    ----------
    grid : (int, int)
        Rows and columns of a grid of super-pixels; not used if labels are given.
    labels : array of shape (height, width), optional
        A number for every pixel; pixels with the same number are one super-pixel.
    fill : float, "mean" or array
        What a super-pixel that is off shows: a value, its own mean colour, or another image.
    flat : bool
        Whether the black box reads rows of numbers, shape (n, height · width), instead of images.
    keep : float
        Probability that a super-pixel is kept.

    Examples
    --------
    >>> near = SuperPixels((1, 2), flat=True).around([[1.0, 2.0], [3.0, 4.0]])
    >>> near.names, near.inputs(np.array([[1.0, 0.0]]), None)
    (('row 0, column 0', 'row 0, column 1'), array([[1., 0., 3., 0.]]))
    """

    grid: tuple[int, int] = (7, 7)
    labels: Any = None
    fill: Any = 0.0
    flat: bool = False
    keep: float = 0.5

    def around(self, x: Any) -> ImageNeighbourhood:
        """The neighbourhood of an image."""
        image = array_of(x, "x")
        if image.ndim not in (2, 3) or image.size == 0 or image.dtype.kind not in "fiub":
            raise DataError(f"x: shape {image.shape} of {image.dtype} is not an image (height, width[, channels])")
        if not np.isfinite(image).all():
            raise DataError("x: has pixels that are not finite")
        as_flag(self.flat, "flat")
        names, labels = self._labels(*image.shape[:2])
        ones = frozen(np.ones(len(names)))
        keep = chance(self.keep, "keep")
        return ImageNeighbourhood(names, ones, ones, image, self._filling(image, labels), labels, self.flat, keep)

    def _labels(self, height: int, width: int) -> tuple[tuple[str, ...], Index]:
        if self.labels is not None:
            given = array_of(self.labels, "labels")
            if given.shape != (height, width):
                raise DataError(f"labels: shape {given.shape} for an image of {height} × {width} pixels")
            if given.dtype.kind not in "iubU" and not (given.dtype.kind == "f" and np.isfinite(given).all()):
                raise DataError(f"labels: {given.dtype} are no numbers of super-pixels; give whole numbers")
            values, inverse = np.unique(given, return_inverse=True)
            return tuple(f"segment {value}" for value in values.tolist()), inverse.reshape(height, width)
        try:
            rows, columns = (operator.index(part) for part in self.grid)
        except (TypeError, ValueError):
            raise DataError(f"grid: {shown(self.grid)} is not a pair of whole numbers") from None
        if not (1 <= rows <= height and 1 <= columns <= width):
            raise DataError(f"grid: {rows} × {columns} super-pixels do not fit an image of {height} × {width} pixels")
        names = tuple(f"row {i}, column {j}" for i in range(rows) for j in range(columns))
        return names, grid_labels(height, width, rows, columns)

    def _filling(self, image: Any, labels: Index) -> Any:
        if isinstance(self.fill, str):
            if self.fill != "mean":
                raise DataError(f"fill: {self.fill!r} is not known; use a number, 'mean' or an image")
            means = np.array([image[labels == i].mean(axis=0) for i in range(labels.max() + 1)])
            return (means if image.dtype.kind == "f" else np.rint(means))[labels].astype(image.dtype)
        given = array_of(self.fill, "fill")
        if given.dtype.kind not in "fiub":
            raise DataError(f"fill: holds no numbers but {given.dtype}; use a number, 'mean' or an image")
        if not np.isfinite(given).all():
            raise DataError("fill: has values that are not finite")
        with np.errstate(all="ignore"):  # what does not fit is looked for next
            filling = given.astype(image.dtype)
        if not (np.isfinite(filling).all() if image.dtype.kind == "f" else np.array_equal(filling, given)):
            raise DataError(f"fill: has values that the image's type {image.dtype} cannot hold")
        try:
            return np.broadcast_to(filling, image.shape)
        except ValueError:
            raise DataError(f"fill: shape {given.shape} does not fit an image of shape {image.shape}") from None
