"""``pre-convex detect``: find where the latent signal of a series changes."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from .._internal.validation import as_choice, parse_number
from ..errors import DataError, MissingExtraError
from .console import check_outputs, new_console, new_table, show

if TYPE_CHECKING:
    from .._internal.typing import Array
    from ..applications.detection import Background, Detector, Scan

#: feature maps that need no parameter but the number of lags
FEATURES = ("autocorrelation", "lag-products", "linear", "polynomial")


def detect(
    series: Annotated[Path, typer.Argument(help="The series: a CSV, Parquet, npz or WAV file.", metavar="SERIES")],
    prior_p: Annotated[Path, typer.Option(help="npz file with background sequences, shape (n, window[, channels]).")],
    prior_q: Annotated[Path, typer.Option(help="npz file with possible signal sequences, of the same length.")],
    noise: Annotated[
        str,
        typer.Option(help="Standard deviation of the noise: one number, or one for each channel, separated by commas."),
    ],
    noise_drawn: Annotated[
        str, typer.Option(help="The same for simulated background, if --noise overstates the real noise.")
    ] = "",
    window: Annotated[
        int | None,
        typer.Option(min=1, help="Expected time points of a window, as a check; the priors determine the length."),
    ] = None,
    step: Annotated[int, typer.Option(min=1, help="Time points between windows.")] = 1,
    columns: Annotated[
        str,
        typer.Option(help="Columns of a table, or channels of a WAV file (0, 1, …), separated by commas; default all."),
    ] = "",
    reference: Annotated[
        int | None,
        typer.Option(min=0, help="Compare all windows with the one that starts here; default: with the one before."),
    ] = None,
    features: Annotated[
        str, typer.Option(help=f"Feature map: {', '.join(FEATURES[:-1])} or {FEATURES[-1]}.")
    ] = FEATURES[0],
    lags: Annotated[int, typer.Option(min=1, help="Number of lags of the autocorrelation features.")] = 20,
    radius: Annotated[float, typer.Option(help="Relaxation of the moment constraint, at least 0.")] = 0.0,
    norm: Annotated[str, typer.Option(help="Norm of the constraint: 2, inf (sparse, l1 penalty) or 1.")] = "2",
    standardise: Annotated[
        bool, typer.Option("--standardise", help="Scale features to unit variance; useful with a radius.")
    ] = False,
    method: Annotated[
        str, typer.Option(help="Score: pre, pre-prior, plugin, kde, evidence, autocorrelation, ar, sst or energy.")
    ] = "pre",
    order: Annotated[int, typer.Option(min=1, help="Order for the methods autocorrelation, ar and sst.")] = 20,
    rate: Annotated[float, typer.Option(help="False-alarm rate per window, between 0 and 1.")] = 0.05,
    replicates: Annotated[
        int, typer.Option(min=0, help="Number of simulated background pairs; 0 skips p-values and threshold.")
    ] = 999,
    pairs: Annotated[
        Path | None,
        typer.Option(help="npz file with background sequences two windows long, to simulate adjacent windows from."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the simulation.")] = 0,
    peaks: Annotated[int, typer.Option(min=1, help="Number of peaks to print.")] = 5,
    out: Annotated[Path | None, typer.Option(help="Folder for scores.csv and scan.png.")] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Overwrite existing files.")] = False,
) -> None:
    """Slide two windows along a series and find where the latent signal changes.

    Example: pre-convex detect sound.wav --prior-p background.npz --prior-q signal.npz --noise 0.5 --out found
    """
    from ..applications.detection import Detector
    from ..applications.detection.recordings import SCAN_FILES, read_prior, read_recording
    from ..applications.detection.windows import check_window

    if out is not None:
        check_outputs((out / name for name in SCAN_FILES), replace)
    recording = read_recording(series, tuple(name.strip() for name in columns.split(",") if name.strip()))
    x_p, x_q = read_prior(prior_p), read_prior(prior_q)
    channels = x_p.shape[2] if x_p.ndim == 3 else 1
    if pairs is not None and not replicates:
        raise DataError("--pairs", "is only used to simulate background", "leave it out, or use --replicates 999")
    if window is not None:
        check_window(window, x_p)
    detector = Detector(
        x_p,
        x_q,
        noise=_deviations(noise, "--noise", channels),
        draw=_gaussian_noise(_deviations(noise_drawn, "--noise-drawn", channels)) if noise_drawn else None,
        features=_feature_map(features, lags),
        radius=radius,
        norm=norm,  # type: ignore[arg-type]
        standardise=standardise,
        method=method,
        order=order,
    )
    verbose = new_console().is_terminal
    fixed = None if reference is None else _window(recording.series, reference, detector.priors.shape.window)
    background = None
    if replicates:
        pool = None if pairs is None else read_prior(pairs)
        background = detector.background(replicates, reference=fixed, pairs=pool, rng=seed, verbose=verbose)
    scan = _scan(detector, recording.series, step, fixed, background, rate, verbose)
    _report(scan, recording.rate, peaks, rate)
    if out is not None:
        _write(scan, out, recording.rate)


def _feature_map(name: str, lags: int) -> Any:
    from ..data.features import Autocorrelation

    as_choice(name, "--features", FEATURES)
    return Autocorrelation(lags) if name == "autocorrelation" else name


def _scan(
    detector: Detector,
    series: Array,
    step: int,
    reference: Array | None,
    background: Background | None,
    rate: float,
    verbose: bool,
) -> Scan:
    """Scan without Python warnings: the report prints them."""
    from ..applications.detection import DetectionWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DetectionWarning)
        return detector.scan(series, step=step, reference=reference, background=background, rate=rate, verbose=verbose)


def _report(scan: Scan, sampling_rate: float | None, peaks: int, rate: float) -> None:
    """Print threshold, peaks and warnings."""
    show(f"{len(scan)} pairs of windows of {scan.window} time points, method {scan.method}")
    calibrated = not np.isnan(scan.threshold)
    if calibrated:
        alarms = int(scan.alarms.sum())
        show(f"threshold {scan.threshold:.4g} at a false-alarm rate of {rate:g} per window")
        show(f"windows above it: {alarms}; expected from background alone: {rate * len(scan):.3g}")
    table = new_table()
    for name in ("peak at", *(["seconds"] if sampling_rate else []), "score", *(["p-value"] if calibrated else [])):
        table.add_column(name, justify="right")
    for peak in scan.peaks(peaks, above=float("-inf")):
        seconds = [f"{peak.time / sampling_rate:.3f}"] if sampling_rate else []
        table.add_row(str(peak.time), *seconds, f"{peak.score:.4g}", *([f"{peak.p_value:.3g}"] if calibrated else []))
    new_console().print(table)
    for sentence in scan.warnings:
        show(f"warning: {sentence}", wrap=True)


def _write(scan: Scan, out: Path, sampling_rate: float | None) -> None:
    """Write the files; without matplotlib, say how to install it."""
    from ..applications.detection.recordings import write_scan

    try:
        for path in write_scan(scan, out, sampling_rate):
            show(f"written: {path}")
    except MissingExtraError as error:
        show(f"No figure: {error}")


def _deviations(text: str, option: str, channels: int) -> list[float]:
    """Standard deviations separated by commas: one for all channels, or one for each."""
    try:
        deviations = [parse_number(part) for part in text.split(",")]
    except ValueError:
        raise DataError(option, f"{text!r} is not a number", "pass a number, or several separated by commas") from None
    if len(deviations) not in (1, channels):
        either = "one number" + f" or {channels}, one for each channel" * (channels > 1)
        raise DataError(
            option, f"has {len(deviations)} numbers for {channels} channel{'s' * (channels > 1)}", f"pass {either}"
        )
    for deviation in deviations:
        if not 0.0 < deviation < np.inf:
            raise DataError(option, f"{deviation:g} is not a standard deviation", "pass a positive number")
    return deviations


def _gaussian_noise(deviations: list[float]) -> Callable[[Any, Any], Any]:
    """A function that adds noise to sequences."""
    return lambda x, rng: x + np.array(deviations) * rng.normal(size=x.shape)


def _window(series: Array, start: int, length: int) -> Array:
    if start + length > len(series):
        reason = f"a window of {length} time points at {start} exceeds the series, which has {len(series)}"
        raise DataError("--reference", reason, f"pass at most {max(len(series) - length, 0)}")
    return series[start : start + length]
