"""Series and prior samples from files, and scans into files."""

from __future__ import annotations

import csv
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...arrays import as_matrix, frozen
from ...entropy import Array
from ...errors import DataError
from ...files import check_plain, read_npz, write_whole, writing
from ...tables import read_table
from ...threads import quietly
from .scored import Scan

__all__ = ["Recording", "read_prior", "read_recording", "write_scan"]


@dataclass(frozen=True, eq=False)
class Recording:
    """A series of shape (T,) or (T, channels), and its time points in a second where the file says so."""

    series: Array
    rate: float | None = None


def read_recording(path: str | Path, columns: Sequence[str] = ()) -> Recording:
    """A series from a CSV, Parquet or npz table, each column a channel, or from a WAV file.

    Parameters
    ----------
    path : str or Path
    columns : sequence of str
        Columns of a table to take, or numbers of a WAV file's channels from 0 on; all of them by default.
    """
    path = Path(path)
    table, rate = (
        _read_wav(path, columns) if path.suffix.lower() == ".wav" else (read_table(path, columns).values, None)
    )
    return Recording(frozen(table[:, 0] if table.shape[1] == 1 else table), rate)


def _read_wav(path: Path, columns: Sequence[str]) -> tuple[Array, float]:
    """Sound as numbers between −1 and 1, shape (T, channels), and its time points in a second."""
    from scipy.io import wavfile

    try:
        check_plain(path)
        with quietly(wavfile.WavFileWarning):  # chunks that hold no sound
            warnings.filterwarnings("error", "Reached EOF", wavfile.WavFileWarning)  # sound that was cut off
            rate, sound = wavfile.read(path)
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error})") from error
    except Exception as error:  # a broken file fails anywhere in the reader
        raise DataError(f"{path}: is not a WAV file ({error})") from error
    values = np.asarray(sound, dtype=float)
    if sound.dtype == np.uint8:
        values = (values - 128.0) / 128.0
    elif sound.dtype.kind == "i":
        values = values / -float(np.iinfo(sound.dtype).min)
    values = as_matrix(values, str(path))
    there = [str(c) for c in range(values.shape[1])]
    for name in columns:
        if name not in there:
            raise DataError(f"columns: {name!r} is not among the channels {', '.join(there)} of {path}")
    return values[:, [int(name) for name in columns or there]], float(rate)


def read_prior(path: str | Path) -> Array:
    """Prior samples of shape (n, window) or (n, window, channels) from an npz file of plain arrays.

    The array is called ``x``; a file with a single array may call it anything.
    """
    path = Path(path)
    arrays = read_npz(path)
    if "x" not in arrays and len(arrays) != 1:
        raise DataError(f"{path}: has no array 'x'; it holds {', '.join(arrays) or 'nothing'}")
    x = arrays.get("x", next(iter(arrays.values())))
    if x.ndim not in (2, 3) or x.size == 0:
        raise DataError(f"{path}: its array has shape {x.shape}; (n, window) or (n, window, channels) is needed")
    return as_matrix(x.reshape(len(x), -1), str(path)).reshape(x.shape)


def write_scan(scan: Scan, folder: Path, rate: float | None = None) -> Iterator[Path]:
    """Write scores.csv and scan.png; yields each path once the file is whole.

    Parameters
    ----------
    scan : Scan
    folder : Path
        Made if it does not exist.
    rate : float, optional
        Time points in a second, for the axis of the figure.
    """
    with writing("--out", folder):
        folder.mkdir(parents=True, exist_ok=True)
        yield write_whole(folder / "scores.csv", lambda path: _write_csv(scan.columns(), path))
        figure = scan.plot(rate)
        yield write_whole(folder / "scan.png", lambda path: figure.savefig(path, format="png"))


def _write_csv(columns: dict[str, Any], path: Path) -> None:
    """A header and rows; what is not known is empty."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        for row in zip(*(_cells(values) for values in columns.values()), strict=True):
            writer.writerow(row)


def _cells(values: Any) -> list[Any]:
    return ["" if value != value else value for value in np.asarray(values).tolist()]
