"""Read series and prior samples from files, and write scans to files."""

from __future__ import annotations

import csv
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..._internal.threads import warnings_ignored
from ..._internal.typing import Array
from ..._internal.validation import as_matrix, read_only
from ...data.files import atomic_write, check_regular_file, read_npz, report_write_errors, unreadable
from ...data.tables import read_table
from ...errors import DataError
from .results import Scan

__all__ = ["SCAN_FILES", "Recording", "read_prior", "read_recording", "write_scan"]

#: files of a scan
SCAN_FILES = ("scores.csv", "scan.png")


@dataclass(frozen=True, eq=False)
class Recording:
    """A series read from a file.

    Attributes
    ----------
    series : ndarray of shape (T,) or (T, channels)
        The series.
    rate : float or None
        Sampling rate in time points a second, if the file states it.
    """

    series: Array
    rate: float | None = None


def read_recording(path: str | Path, columns: Sequence[str] = ()) -> Recording:
    """Read a series from a CSV, Parquet or npz table, one channel to a column, or from a WAV file.

    Parameters
    ----------
    path : str or Path
        The file.
    columns : sequence of str, default ()
        Columns of a table to read, or channel numbers of a WAV file, starting from 0; all by default.

    Returns
    -------
    Recording
        The series; sound is scaled to [−1, 1].
    """
    path = Path(path)
    table, rate = (
        _read_wav(path, columns) if path.suffix.lower() == ".wav" else (read_table(path, columns).values, None)
    )
    return Recording(read_only(table[:, 0] if table.shape[1] == 1 else table), rate)


def _read_wav(path: Path, columns: Sequence[str]) -> tuple[Array, float]:
    """Sound scaled to [−1, 1], shape (T, channels), and its sampling rate."""
    from scipy.io import wavfile

    try:
        check_regular_file(path)
        with warnings_ignored(wavfile.WavFileWarning):  # about chunks other than sound
            warnings.filterwarnings("error", "Reached EOF", wavfile.WavFileWarning)  # truncated sound is an error
            rate, sound = wavfile.read(path)
    except OSError as error:
        raise unreadable(path, error) from error
    except Exception as error:  # a broken file can fail anywhere in the reader
        raise DataError(path, f"is not a WAV file ({error})", "pass an uncompressed WAV file") from error
    values = np.asarray(sound, dtype=float)
    if sound.dtype == np.uint8:
        values = (values - 128.0) / 128.0
    elif sound.dtype.kind == "i":
        values = values / -float(np.iinfo(sound.dtype).min)
    values = as_matrix(values, str(path))
    channels = [str(c) for c in range(values.shape[1])]
    for name in columns:
        if name not in channels:
            raise DataError("columns", f"{name!r} is not a channel of {path}", f"use {', '.join(channels)}")
    return values[:, [int(name) for name in columns or channels]], float(rate)


def read_prior(path: str | Path) -> Array:
    """Read prior samples from an npz file of plain arrays.

    Parameters
    ----------
    path : str or Path
        The file. The array is called ``x``; if it is the only one, any name will do. Pickled objects are refused.

    Returns
    -------
    ndarray of shape (n, window) or (n, window, channels)
        The samples.
    """
    path = Path(path)
    arrays = read_npz(path)
    if "x" not in arrays and len(arrays) != 1:
        raise DataError(
            path, f"has no array 'x' (found: {', '.join(arrays) or 'nothing'})", "save it as np.savez(path, x=samples)"
        )
    x = arrays.get("x", next(iter(arrays.values())))
    if x.ndim not in (2, 3) or x.size == 0:
        raise DataError(
            path, f"its array has shape {x.shape}", "save an array of shape (n, window) or (n, window, channels)"
        )
    return as_matrix(x.reshape(len(x), -1), str(path)).reshape(x.shape)


def write_scan(scan: Scan, folder: Path, rate: float | None = None) -> Iterator[Path]:
    """Write scores.csv and scan.png; yields each path once its file is complete.

    Parameters
    ----------
    scan : Scan
        The scan to write.
    folder : Path
        Created if it does not exist.
    rate : float, optional
        Sampling rate in time points a second, for the time axis of the figure.
    """
    with report_write_errors("--out", folder):
        folder.mkdir(parents=True, exist_ok=True)
        yield atomic_write(folder / SCAN_FILES[0], lambda path: _write_csv(scan.columns(), path))
        figure = scan.plot(rate)
        yield atomic_write(folder / SCAN_FILES[1], lambda path: figure.savefig(path, format="png"))


def _write_csv(columns: dict[str, Any], path: Path) -> None:
    """Write a header and rows; nan becomes an empty cell."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        for row in zip(*(_cells(values) for values in columns.values()), strict=True):
            writer.writerow(row)


def _cells(values: Any) -> list[Any]:
    """Values of a column, empty for nan."""
    return ["" if value != value else value for value in np.asarray(values).tolist()]
