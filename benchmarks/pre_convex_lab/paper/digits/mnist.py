"""MNIST from a folder with its IDX files, or downloaded from OpenML."""

from __future__ import annotations

import math
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from pre_convex._internal.typing import Array
from pre_convex.data.files import check_regular_file
from pre_convex.errors import DataError

__all__ = ["read_idx", "read_mnist", "read_openml"]

#: magic number of an IDX file of unsigned bytes, by its number of dimensions
MAGIC = {1: b"\x00\x00\x08\x01", 3: b"\x00\x00\x08\x03"}
#: zip-bomb guard: most bytes that are decompressed, many times the size of MNIST
MAX_BYTES = 1 << 28
FORMAT = "pass a folder with the four original files of MNIST, plain or as .gz"


def read_idx(path: Path, dimensions: int) -> Any:
    """The array in an IDX file of unsigned bytes, plain or gzipped."""
    try:
        check_regular_file(path)
        content = path.read_bytes()
        if content[:2] == b"\x1f\x8b":
            content = zlib.decompressobj(wbits=31).decompress(content, MAX_BYTES)  # wbits=31: gzip header
    except (OSError, zlib.error) as error:
        raise DataError("--mnist", f"{path.name} cannot be read ({error})", FORMAT) from error
    start = 4 + 4 * dimensions
    if content[:4] != MAGIC[dimensions] or len(content) < start:
        raise DataError("--mnist", f"{path.name} is not an IDX file of bytes with {dimensions} dimensions", FORMAT)
    shape = [int(size) for size in np.frombuffer(content[4:start], dtype=">u4")]
    if len(content) - start != math.prod(shape) or not all(shape):  # an empty array could claim any other sizes
        size = f"{len(content) - start} bytes of data, but its header says {shape}"
        raise DataError("--mnist", f"{path.name} has {size}", FORMAT)
    return np.frombuffer(content[start:], dtype=np.uint8).reshape(shape)


def read_mnist(folder: Path) -> tuple[Array, Any, Array, Any]:
    """Training images with pixels in [0, 1], their labels, test images, and theirs."""
    train, test = (_read_split(folder, split) for split in ("train", "t10k"))
    return *train, *test


def _read_split(folder: Path, split: str) -> tuple[Array, Any]:
    """Images and labels of one split, from anywhere below the folder."""
    arrays = []
    for kind, dimensions in (("images", 3), ("labels", 1)):
        name = f"{split}-{kind}-idx{dimensions}-ubyte"
        patterns = (name, f"{name}.gz", name.replace("-idx", ".idx"))
        paths = [path for pattern in patterns for path in folder.rglob(pattern)]
        if not paths:
            raise DataError("--mnist", f"{folder} has no {name}", FORMAT)
        arrays.append(read_idx(paths[0], dimensions))
    images, labels = arrays
    if len(images) != len(labels):
        raise DataError("--mnist", f"{len(images)} images but {len(labels)} labels in {split}", FORMAT)
    return images / 255.0, labels.astype(int)


def read_openml() -> tuple[Array, Any, Array, Any]:
    """The same as ``read_mnist``, downloaded from OpenML."""
    from sklearn.datasets import fetch_openml

    try:
        images, labels = fetch_openml("mnist_784", version=1, as_frame=False, return_X_y=True)
    except OSError as error:
        raise DataError("--mnist", f"OpenML cannot be reached ({error})", FORMAT) from error
    images, labels = np.asarray(images).reshape(-1, 28, 28) / 255.0, np.asarray(labels).astype(int)
    return images[:60_000], labels[:60_000], images[60_000:], labels[60_000:]
