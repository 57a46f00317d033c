"""Perturbation of images: each super-pixel is a feature that is on or off."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._internal.typing import Array, Index
from ..._internal.validation import as_flag, as_fraction, preview, read_only
from ...errors import DataError
from .neighbourhood import CoinFlips, on_off_rows

__all__ = ["ImageNeighbourhood", "SuperPixels", "grid_labels"]

#: maximum number of values in the images of one block
MAX_NUMBERS = 20_000_000


def _as_array(x: Any, name: str) -> Any:
    """An array of any type, without masked entries."""
    if np.ma.is_masked(x):
        raise DataError(name, "has masked entries", "fill them first")
    try:
        return np.asarray(x)
    except Exception as error:
        raise DataError(name, f"cannot be read as an array ({error})", "pass an array") from error


def grid_labels(height: int, width: int, rows: int, columns: int) -> Index:
    """Grid cell of each pixel, numbered row by row, shape (height, width).

    Parameters
    ----------
    height, width : int
        Size of the image in pixels.
    rows, columns : int
        Size of the grid in cells.

    Examples
    --------
    >>> grid_labels(2, 5, 1, 2)
    array([[0, 0, 0, 1, 1],
           [0, 0, 0, 1, 1]])
    """
    down = np.repeat(np.arange(rows), [len(cell) for cell in np.array_split(np.arange(height), rows)])
    across = np.repeat(np.arange(columns), [len(cell) for cell in np.array_split(np.arange(width), columns)])
    return np.asarray(down[:, None] * columns + across[None, :])


@dataclass(frozen=True, eq=False)
class ImageNeighbourhood:
    """Copies of an image with some super-pixels filled.

    Attributes
    ----------
    names : tuple of str
        Names of the features.
    origin, unit : ndarray of shape (k,)
        Ones: in x itself every super-pixel is on.
    image : ndarray of shape (height, width) or (height, width, channels)
        The image to explain.
    filling : ndarray of the same shape
        The image that shows through where a super-pixel is off.
    labels : ndarray of int of shape (height, width)
        Super-pixel of each pixel, from 0.
    flat : bool
        Whether the black box reads rows of numbers instead of images.
    keep : float
        Probability that a super-pixel is kept.
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
    def block_size(self) -> int:
        """Number of images to make and predict at a time."""
        return max(1, MAX_NUMBERS // int(self.image.size))

    def draw(self, n: int, rng: np.random.Generator) -> Array:
        """Random on/off features of n images."""
        return CoinFlips(len(self.names), self.keep)(n, rng)

    def inputs(self, z: Array, rng: np.random.Generator) -> Any:
        """Images of shape (n, height, width[, channels]), or flat rows."""
        on = (z > 0.5)[:, self.labels]
        images = np.where(on if self.image.ndim == 2 else on[..., None], self.image, self.filling)
        return images.reshape(len(z), -1) if self.flat else images

    def encode(self, rows: Any) -> Array:
        """Rows of ones and zeros, one column for each super-pixel."""
        return on_off_rows(rows, len(self.names), "super-pixels")


@dataclass(frozen=True, eq=False)
class SuperPixels:
    """Each super-pixel of an image is kept (feature 1) or filled (feature 0), independently.

    Parameters
    ----------
    grid : (int, int), default (7, 7)
        Rows and columns of a grid of super-pixels, no more than pixels; ignored if ``labels`` are given.
    labels : array of shape (height, width), optional
        A label for each pixel, such as a whole number; pixels with the same label are one super-pixel.
    fill : float, "mean" or array, default 0.0
        What a super-pixel shows when it is off: a value, its own mean colour, or another image of the same shape. Must
        be representable in the type of the image.
    flat : bool, default False
        Whether the black box reads rows of numbers, shape (n, height · width), instead of images.
    keep : float, default 0.5
        Probability that a super-pixel is kept, between 0 and 1.

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
        """The neighbourhood of an image.

        Parameters
        ----------
        x : array of shape (height, width) or (height, width, channels)
            The image to explain; finite numbers.

        Returns
        -------
        ImageNeighbourhood
            Copies of the image with some super-pixels filled.
        """
        image = _as_array(x, "x")
        if image.ndim not in (2, 3) or image.size == 0 or image.dtype.kind not in "fiub":
            raise DataError(
                "x",
                f"has shape {image.shape} and type {image.dtype}, which is not an image",
                "pass numbers of shape (height, width) or (height, width, channels)",
            )
        if not np.isfinite(image).all():
            raise DataError("x", "has pixels that are not finite", "fill them first")
        as_flag(self.flat, "flat")
        names, labels = self._segments(*image.shape[:2])
        ones = read_only(np.ones(len(names)))
        keep = as_fraction(self.keep, "keep")
        return ImageNeighbourhood(names, ones, ones, image, self._filling(image, labels), labels, self.flat, keep)

    def _segments(self, height: int, width: int) -> tuple[tuple[str, ...], Index]:
        """Names of the super-pixels, and the super-pixel of each pixel."""
        if self.labels is not None:
            given = _as_array(self.labels, "labels")
            if given.shape != (height, width):
                raise DataError(
                    "labels",
                    f"has shape {given.shape}, the image has {height} × {width} pixels",
                    "pass one label for each pixel",
                )
            if given.dtype.kind not in "iubU" and not (given.dtype.kind == "f" and np.isfinite(given).all()):
                raise DataError("labels", f"of type {given.dtype} are not labels of super-pixels", "pass whole numbers")
            values, inverse = np.unique(given, return_inverse=True)
            return tuple(f"segment {value}" for value in values.tolist()), inverse.reshape(height, width)
        try:
            rows, columns = (operator.index(size) for size in self.grid)
        except (TypeError, ValueError):
            raise DataError(
                "grid", f"{preview(self.grid)} is not a pair of whole numbers", "pass (rows, columns)"
            ) from None
        if not (1 <= rows <= height and 1 <= columns <= width):
            raise DataError(
                "grid",
                f"{rows} × {columns} super-pixels do not fit an image of {height} × {width} pixels",
                "pass a grid no finer than the pixels",
            )
        names = tuple(f"row {i}, column {j}" for i in range(rows) for j in range(columns))
        return names, grid_labels(height, width, rows, columns)

    def _filling(self, image: Any, labels: Index) -> Any:
        """The image that shows through, in the type of the image."""
        if isinstance(self.fill, str):
            if self.fill != "mean":
                raise DataError("fill", f"{self.fill!r} is not known", "use a number, 'mean' or an image")
            means = np.array([image[labels == i].mean(axis=0) for i in range(labels.max() + 1)])
            return (means if image.dtype.kind == "f" else np.rint(means))[labels].astype(image.dtype)
        given = _as_array(self.fill, "fill")
        if given.dtype.kind not in "fiub":
            raise DataError("fill", f"has type {given.dtype}", "use a number, 'mean' or an image")
        if not np.isfinite(given).all():
            raise DataError("fill", "has values that are not finite", "use finite values")
        with np.errstate(all="ignore"):  # values that do not fit are found below
            filling = given.astype(image.dtype)
        if not (np.isfinite(filling).all() if image.dtype.kind == "f" else np.array_equal(filling, given)):
            raise DataError(
                "fill",
                f"has values that the image's type {image.dtype} cannot hold",
                f"use values of type {image.dtype}, or convert the image",
            )
        try:
            return np.broadcast_to(filling, image.shape)
        except ValueError:
            raise DataError(
                "fill",
                f"has shape {given.shape}, which does not fit an image of shape {image.shape}",
                f"use shape {image.shape}, or one number",
            ) from None
