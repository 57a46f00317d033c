"""MNIST, from a folder with its IDX files or, on request, from OpenML."""

from __future__ import annotations

import math
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from ..entropy import Array
from ..errors import DataError
from ..files import check_plain

__all__ = ["read_idx", "read_mnist", "read_openml"]

#: first four bytes of IDX files of bytes, by their number of dimensions
MAGIC = {1: b"\x00\x00\x08\x01", 3: b"\x00\x00\x08\x03"}
#: bytes that are unpacked at most, many times those of MNIST
MOST = 1 << 28


def read_idx(path: Path, dimensions: int) -> Any:
    """Bytes of an IDX file, plain or compressed by gzip, in its own shape."""
    try:
        check_plain(path)
        content = path.read_bytes()
        if content[:2] == b"\x1f\x8b":
            content = zlib.decompressobj(wbits=31).decompress(content, MOST)  # gzip's form
    except (OSError, zlib.error) as error:
        raise DataError(f"--mnist: {path.name} cannot be read ({error})") from error
    start = 4 + 4 * dimensions
    if content[:4] != MAGIC[dimensions] or len(content) < start:
        raise DataError(f"--mnist: {path.name} is not an IDX file of bytes with {dimensions} dimensions")
    shape = [int(size) for size in np.frombuffer(content[4:start], dtype=">u4")]
    if len(content) - start != math.prod(shape) or not all(shape):  # without images, the other sizes may be any
        raise DataError(f"--mnist: {path.name} has {len(content) - start} bytes where its header says {shape}")
    return np.frombuffer(content[start:], dtype=np.uint8).reshape(shape)


def read_mnist(folder: Path) -> tuple[Array, Any, Array, Any]:
    """Images with pixels in [0, 1] and labels, for training and for testing."""
    found = []
    for part in ("train", "t10k"):
        arrays = []
        for kind, dimensions in (("images", 3), ("labels", 1)):
            name = f"{part}-{kind}-idx{dimensions}-ubyte"
            places = [
                p for pattern in (name, f"{name}.gz", name.replace("-idx", ".idx")) for p in folder.rglob(pattern)
            ]
            if not places:
                raise DataError(f"--mnist: {folder} holds no {name}, plain or as .gz")
            arrays.append(read_idx(places[0], dimensions))
        if len(arrays[0]) != len(arrays[1]):
            raise DataError(f"--mnist: {len(arrays[0])} images and {len(arrays[1])} labels in {part}")
        found += [arrays[0] / 255.0, arrays[1].astype(int)]
    return found[0], found[1], found[2], found[3]


def read_openml() -> tuple[Array, Any, Array, Any]:
    """MNIST from OpenML; asks the network, and therefore only on request."""
    from sklearn.datasets import fetch_openml

    try:
        images, labels = fetch_openml("mnist_784", version=1, as_frame=False, return_X_y=True)
    except OSError as error:
        raise DataError(f"--mnist: OpenML cannot be reached ({error}); give a folder with the IDX files") from error
    images, labels = np.asarray(images).reshape(-1, 28, 28) / 255.0, np.asarray(labels).astype(int)
    return images[:60_000], labels[:60_000], images[60_000:], labels[60_000:]
