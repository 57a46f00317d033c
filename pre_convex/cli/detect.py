"""``pre-convex detect``."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

from ..errors import DataError, MissingExtraError
from .app import app, new_table

#: features that a name is enough for
FEATURES = ("autocorrelation", "lag-products", "linear", "polynomial")


@app.command()
def detect(
    series: Annotated[Path, typer.Argument(help="The series: CSV, Parquet, npz or WAV.", metavar="SERIES")],
    prior_p: Annotated[Path, typer.Option(help="npz with sequences of background, shape (n, window[, channels]).")],
    prior_q: Annotated[Path, typer.Option(help="npz with sequences that a signal may have.")],
    noise: Annotated[str, typer.Option(help="Standard deviation of the noise; commas between channels.")],
    noise_drawn: Annotated[
        str, typer.Option(help="The same of simulated background, where --noise is wider than the real one.")
    ] = "",
    window: Annotated[int | None, typer.Option(min=1, help="Time points of a window; that of the priors.")] = None,
    step: Annotated[int, typer.Option(min=1, help="Time points between windows.")] = 1,
    columns: Annotated[
        str,
        typer.Option(help="Columns of a table, or channels of a WAV file (0, 1, …), commas between; all by default."),
    ] = "",
    reference: Annotated[
        int | None, typer.Option(min=0, help="Where one window begins that all others are compared with.")
    ] = None,
    features: Annotated[str, typer.Option(help=f"{', '.join(FEATURES[:-1])} or {FEATURES[-1]}.")] = FEATURES[0],
    lags: Annotated[int, typer.Option(min=1, help="Lags of the autocorrelation features.")] = 20,
    radius: Annotated[float, typer.Option(help="Relaxation radius R.")] = 0.0,
    norm: Annotated[str, typer.Option(help="2, inf or 1.")] = "2",
    standardise: Annotated[
        bool, typer.Option("--standardise", help="Scale features; worthwhile with a radius.")
    ] = False,
    method: Annotated[
        str, typer.Option(help="pre, plugin, kde, evidence, autocorrelation, ar, sst or energy.")
    ] = "pre",
    order: Annotated[int, typer.Option(min=1, help="Order of autocorrelation, ar and sst.")] = 20,
    rate: Annotated[float, typer.Option(help="False-alarm rate of the threshold, for each window.")] = 0.05,
    replicates: Annotated[int, typer.Option(min=0, help="Simulated background pairs; 0 for no p-values.")] = 999,
    pairs: Annotated[
        Path | None,
        typer.Option(help="npz with background two windows long, to simulate neighbouring windows from."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the simulation.")] = 0,
    peaks: Annotated[int, typer.Option(min=1, help="Peaks to print.")] = 5,
    out: Annotated[Path | None, typer.Option(help="Folder for scores.csv and scan.png.")] = None,
) -> None:
    """Slide two windows along a series and say where the latent signal changes."""
    from ..applications.detection import DetectionWarning, Detector
    from ..applications.detection.recordings import read_prior, read_recording
    from ..applications.detection.windows import check_window
    from ..features import Autocorrelation

    names = tuple(name.strip() for name in columns.split(",") if name.strip())
    recording = read_recording(series, names)
    background_x, signal_x = read_prior(prior_p), read_prior(prior_q)
    if features not in FEATURES:
        raise DataError(f"--features: {features!r} is not known; use one of {', '.join(FEATURES)}")
    if pairs is not None and not replicates:
        raise DataError("--pairs: is for simulated background; ask for --replicates too")
    if window is not None:
        check_window(window, background_x)
    detector = Detector(
        background_x,
        signal_x,
        noise=_numbers(noise, "--noise"),
        draw=_draw(_numbers(noise_drawn, "--noise-drawn")) if noise_drawn else None,
        features=Autocorrelation(lags) if features == "autocorrelation" else features,
        radius=radius,
        norm=norm,  # type: ignore[arg-type]
        standardise=standardise,
        method=method,
        order=order,
    )
    length = detector.priors.shape.window
    console = Console()
    fixed = None if reference is None else _window(recording.series, reference, length)
    background = None
    if replicates:
        background = detector.background(
            replicates,
            reference=fixed,
            pairs=None if pairs is None else read_prior(pairs),
            rng=seed,
            verbose=console.is_terminal,
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DetectionWarning)  # they are printed below
        found = detector.scan(
            recording.series,
            step=step,
            reference=fixed,
            background=background,
            rate=rate,
            verbose=console.is_terminal,
        )
    _report(console, found, recording.rate, peaks, rate)
    if out is not None:
        _write(console, found, out, recording.rate)


def _report(console: Console, found: Any, second: float | None, count: int, rate: float) -> None:
    """Peaks, threshold and warnings."""
    console.print(f"{len(found)} pairs of windows of {found.window} time points, method {found.method}", markup=False)
    calibrated = found.threshold == found.threshold
    if calibrated:
        alarms = int(found.alarms.sum())
        console.print(f"threshold {found.threshold:.4g} at rate {rate:g} for each window")
        console.print(f"windows above it: {alarms}; {rate * len(found):.3g} expected of background alone")
    table = new_table()
    for name in ("peak at", *(["seconds"] if second else []), "score", *(["p-value"] if calibrated else [])):
        table.add_column(name, justify="right")
    for peak in found.peaks(count, above=float("-inf")):
        cells = [str(peak.time), *([f"{peak.time / second:.3f}"] if second else []), f"{peak.score:.4g}"]
        table.add_row(*cells, *([f"{peak.p_value:.3g}"] if calibrated else []))
    console.print(table)
    for sentence in found.warnings:
        console.print(f"warning: {sentence}", markup=False)


def _write(console: Console, found: Any, out: Path, second: float | None) -> None:
    """Files, or what they need."""
    from ..applications.detection.recordings import write_scan

    try:
        for path in write_scan(found, out, second):
            console.print(f"written: {path}", markup=False, soft_wrap=True)
    except MissingExtraError as error:
        console.print(f"No figure: {error}", markup=False)


def _numbers(text: str, name: str) -> list[float]:
    """Numbers of the command line, commas between."""
    found = []
    for part in text.split(","):
        try:
            found.append(float(part))
        except ValueError:
            raise DataError(f"{name}: {part!r} is not a number") from None
    return found


def _draw(sigma: list[float]) -> Callable[[Any, Any], Any]:
    """Gaussian noise, the same for all channels or one for each."""
    for number in sigma:
        if not 0.0 < number < np.inf:
            raise DataError(f"--noise-drawn: {number:g} is not a positive number")

    def draw(x: Any, rng: Any) -> Any:
        if len(sigma) > 1 and (x.ndim < 3 or x.shape[2] != len(sigma)):
            raise DataError(f"--noise-drawn: has {len(sigma)} numbers; give one, or one for each channel")
        return x + (sigma[0] if len(sigma) == 1 else np.array(sigma)) * rng.normal(size=x.shape)

    return draw


def _window(series: Any, start: int, length: int) -> Any:
    if start + length > len(series):
        raise DataError(f"--reference: a window of {length} from {start} on ends after the series, of {len(series)}")
    return series[start : start + length]
