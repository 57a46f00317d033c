"""``pre-convex detect`` on files; bad options are in ``tests/contract/commands.py``."""

import csv

import numpy as np
import pytest
from scipy.io import wavfile
from sequences import FEATURES, ar_sequences, changing_series, make_priors

from pre_convex.applications.detection import scan
from pre_convex.applications.detection.recordings import read_prior, read_recording


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("detect")
    for name, x in zip("pq", make_priors(300), strict=True):
        np.savez(folder / f"{name}.npz", x=x)
    np.savez(folder / "pairs.npz", ar_sequences(np.full(50, 0.6), np.random.default_rng(3), 24))
    series = changing_series()
    with (folder / "series.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["time", "value"])
        writer.writerows(zip(range(len(series)), series, strict=True))
    wavfile.write(folder / "series.wav", 100, (series / 10.0).astype(np.float32))
    return folder


@pytest.fixture
def detect(files, run_here):
    return lambda name, *options: run_here(
        "detect", name, "--prior-p", "p.npz", "--prior-q", "q.npz", *options, cwd=files
    )


def test_scores_and_a_figure_are_written(files, detect):
    options = ["--columns", "value", "--window", "12", "--lags", "2", "--noise", "1.5", "--step", "10"]
    result = detect("series.csv", *options, "--replicates", "39", "--out", "found")
    assert result.returncode == 0, result.stderr
    with (files / "found" / "scores.csv").open() as file:
        rows = list(csv.DictReader(file))
    series = read_recording(files / "series.csv", ["value"]).series
    priors = [read_prior(files / f"{name}.npz") for name in "pq"]
    expected = scan(series, 12, *priors, noise=1.5, features=FEATURES, step=10, replicates=39, warn=False)
    np.testing.assert_allclose([float(row["score"]) for row in rows], expected.scores, atol=1e-9)
    np.testing.assert_allclose([float(row["p_value"]) for row in rows], expected.p_values)
    assert (files / "found" / "scan.png").read_bytes().startswith(b"\x89PNG")
    assert f"{expected.peaks(1, above=-np.inf)[0].time}" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80


@pytest.mark.parametrize("kind", ["reference", "pairs"])
def test_the_background_is_simulated_for_the_pairs_compared(files, detect, kind):
    series = read_recording(files / "series.csv", ["value"]).series
    option, given = {
        "reference": ("5", series[5:17]),
        "pairs": ("pairs.npz", read_prior(files / "pairs.npz")),
    }[kind]
    priors = [read_prior(files / f"{name}.npz") for name in "pq"]
    expected = scan(
        series, 12, *priors, noise=1.5, features=FEATURES, step=40, replicates=39, warn=False, **{kind: given}
    )
    options = ["--columns", "value", "--lags", "2", "--noise", "1.5", "--step", "40", "--replicates", "39"]
    result = detect("series.csv", *options, f"--{kind}", option)
    assert f"{expected.threshold:.4g}" in result.stdout
    assert f"above it: {expected.alarms.sum()}" in result.stdout


def test_times_of_sound_are_printed_in_seconds(detect):
    options = ["--method", "ar", "--order", "2", "--replicates", "0", "--lags", "2"]
    result = detect("series.wav", "--noise", "0.15", *options)
    assert result.returncode == 0, result.stderr
    assert "seconds" in result.stdout
    assert "p-value" not in result.stdout
