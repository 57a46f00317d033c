"""The paper's artificial latent signal: AR(1) sequences in noise, a background α of 0.5 against a signal's −0.2.

Beyond the paper's ROC curves the experiment asks where a lead comes from: from both windows or from one, from the
posterior ratio or from the prior samples, and whether the rivals were given a fair order.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..applications.detection import Detector
from ..entropy import Array
from ..plots.canvas import AMBER, BLUE, GREEN, GREY, LIGHT, ORANGE, PINK, SKY, new_figure
from .record import Finding, Outcome, Setting

if TYPE_CHECKING:
    from ..plots.canvas import Figure

__all__ = ["TITLE", "draw", "run"]

TITLE = "whether the posterior ratio detects a latent AR(1) signal better than other distances, and why"

BACKGROUND, SIGNAL = 0.5, -0.2
#: steps that are run, and steps that are kept
STEPS, WINDOW = 100, 50
#: standard deviations of the innovations and of the noise, for both ways to read N(0, .1) and N(0, .02)
READINGS = {"variance": (0.1**0.5, 0.02**0.5), "sd": (0.1, 0.02)}
#: standard deviation of the likelihood N(y; x, I), which is the paper's choice and not the simulation's noise
NOISE = 1.0
#: what is compared: name, the detector's method, its order
METHODS = {
    "PRE": ("pre", 20),
    "plugin": ("plugin", 20),
    "KDE plugin": ("kde", 20),
    "AR(20)": ("ar", 20),
    "AR(1)": ("ar", 1),
    "autocorr": ("autocorrelation", 20),
    "SST": ("sst", 20),
    "energy": ("energy", 20),
    "Bayes factor": ("evidence", 20),
    "PRE, y_p = 0": ("pre", 20),
}
#: the one that sees zeros instead of y_p
WITHOUT = "PRE, y_p = 0"
#: what PRE's lead is decided against, on more pairs than the paper's
DECIDING = ("AR(20)", "SST", "autocorr", "AR(1)", "Bayes factor", WITHOUT)
#: what the paper compares with
RIVALS = ("AR(20)", "SST", "autocorr")
RESAMPLES = 2000


@dataclass(frozen=True)
class Sizes:
    """Rows of each prior; pairs of each kind, as in the paper; more pairs, to decide on; windows paired with all."""

    rows: int
    pairs: int
    more_pairs: int
    grid: int


def run(setting: Setting) -> Outcome:
    """AUC of every method in both readings, and where the lead of PRE comes from."""
    sizes = setting.pick(Sizes(100_000, 100, 300, 10), Sizes(20_000, 30, 40, 5))
    found: dict[str, Any] = {}
    for number, reading in enumerate(setting.track(READINGS, "readings", len(READINGS))):
        began, used = time.perf_counter(), time.process_time()
        found[reading] = _reading(setting.rng(number), *READINGS[reading], sizes)
        found[reading]["seconds"] = time.perf_counter() - began
        found[reading]["cpu_seconds"] = time.process_time() - used
    data = {**vars(sizes), "readings": found}
    return Outcome(_findings(found), _verdict(found), data)


def simulate(alpha: Array, sd: float, rng: np.random.Generator) -> Array:
    """x_t = α x_{t−1} + ε from x_0 = 0, steps 51 to 100 of each sequence; |α| > 1 runs away, as in the paper."""
    x = np.zeros(len(alpha))
    kept = np.empty((WINDOW, len(alpha)))
    for step in range(STEPS):
        x = alpha * x + sd * rng.normal(size=len(alpha))
        kept[max(step - (STEPS - WINDOW), 0)] = x
    return np.ascontiguousarray(kept.T)


def observe(alpha: float, count: int, sd: float, noise: float, rng: np.random.Generator) -> Array:
    """Noisy windows of sequences with one α."""
    x = simulate(np.full(count, alpha), sd, rng)
    return x + noise * rng.normal(size=x.shape)


def make_pairs(count: int, sd: float, noise: float, rng: np.random.Generator) -> tuple[Array, Array]:
    """Windows y_p and y_q of as many background pairs, then of as many signal pairs."""
    windows = [observe(alpha, count, sd, noise, rng) for alpha in (BACKGROUND, BACKGROUND, BACKGROUND, SIGNAL)]
    return np.concatenate(windows[::2]), np.concatenate(windows[1::2])


def _reading(rng: np.random.Generator, sd: float, noise: float, sizes: Sizes) -> dict[str, Any]:
    """Everything for one reading of the paper's N(0, .1) and N(0, .02)."""
    rows, pairs, more, began = sizes.rows, sizes.pairs, sizes.more_pairs, time.perf_counter()
    alpha_q = rng.normal(0.0, 0.5, rows)
    prior_p, prior_q = simulate(rng.normal(0.5, 0.1, rows), sd, rng), simulate(alpha_q, sd, rng)
    Y_p, Y_q = make_pairs(pairs, sd, noise, rng)
    detector = Detector(prior_p, prior_q, noise=NOISE)
    pre = detector.scores(Y_p, Y_q, warn=False)
    scores = {"PRE": np.array(pre.scores)}
    scores |= {name: _scores(detector, name, Y_p, Y_q) for name in METHODS if name != "PRE"}
    compared = time.perf_counter() - began
    scores["PRE, y_q = 0"] = np.array(detector.scores(Y_p, np.zeros_like(Y_q), warn=False, swap=False).scores)
    calm = Detector(prior_p, prior_q[np.abs(alpha_q) < 1.0], noise=NOISE)
    scores["PRE, |α| < 1"] = np.array(calm.scores(Y_p, Y_q, warn=False, swap=False).scores)
    scores["exact ratio"] = _exact_ratio(Y_q, sd, noise)
    fresh = make_pairs(more, sd, noise, rng)
    true = Detector(prior_p[:2], prior_q, noise=noise, features=lambda x: x[:, :1]).priors.q
    return {
        "auc": {name: _interval(area) for name, area in _areas(scores, pairs, rng).items()},
        "lead": _leads({name: _scores(detector, name, *fresh) for name in ("PRE", *DECIDING)}, more, rng),
        "roc": {name: _roc(values, pairs) for name, values in scores.items()},
        "ess_share": {"p": np.median(pre.ess_p) / rows, "q": np.median(pre.ess_q) / rows},
        "ess_true_noise": float(np.median(true.posterior(true.log_likelihoods(Y_q)).ess)),
        "proven": np.mean([status is not None and status.ok for status in pre.status]),
        "warnings": list(pre.warnings),
        "variance_shares": _variance_shares(detector, Y_p[: sizes.grid], Y_q, pairs),
        "seconds_to_compare": compared,
        "explosive": float(np.mean(np.abs(alpha_q) > 1.0)),
    }


def _scores(detector: Detector, name: str, Y_p: Array, Y_q: Array) -> Array:
    """Scores of one of the methods."""
    method, order = METHODS[name]
    before = np.zeros_like(Y_p) if name == WITHOUT else Y_p
    return np.array(detector.using(method, order=order).scores(before, Y_q, warn=False, swap=False).scores)


def _exact_ratio(Y: Array, sd: float, noise: float) -> Array:
    """log N(y; signal) − log N(y; background) with the true covariances: no test of y_q alone is better."""
    lags = np.abs(np.subtract.outer(np.arange(WINDOW), np.arange(WINDOW)))
    half = []
    for alpha in (SIGNAL, BACKGROUND):
        # after 50 steps α^100 is nothing, so that the sequence is stationary
        root = np.linalg.cholesky(sd**2 / (1.0 - alpha**2) * alpha**lags + noise**2 * np.eye(WINDOW))
        half.append(0.5 * np.square(np.linalg.solve(root, Y.T)).sum(axis=0))
    return np.asarray(half[1] - half[0])


def _areas(scores: Mapping[str, Array], pairs: int, rng: np.random.Generator) -> dict[str, Array]:
    """AUC of the sample, then of resamples of its background and signal pairs, the same for all methods."""
    drawn = rng.multinomial(pairs, np.full(pairs, 1.0 / pairs), (2, RESAMPLES)) / pairs
    weights = np.concatenate([np.full((2, 1, pairs), 1.0 / pairs), drawn], axis=1)
    found = {}
    for name, values in scores.items():
        background, signal = _ranked(values[:pairs]), _ranked(values[pairs:])
        wins = (signal[:, None] > background) + 0.5 * (signal[:, None] == background)
        found[name] = np.asarray(np.einsum("bs,bs->b", weights[1], weights[0] @ wins.T))
    return found


def _interval(values: Array) -> list[float]:
    """A figure of the sample, and the 95 % interval of its resamples."""
    return [float(values[0]), *np.quantile(values[1:], [0.025, 0.975]).tolist()]


def _leads(scores: Mapping[str, Array], pairs: int, rng: np.random.Generator) -> dict[str, list[float]]:
    """AUC of PRE less that of the others."""
    areas = _areas(scores, pairs, rng)
    return {name: _interval(areas["PRE"] - area) for name, area in areas.items() if name != "PRE"}


def _ranked(scores: Array) -> Array:
    """Scores that can be compared; without a value they are lowest."""
    return np.where(np.isnan(scores), -np.inf, scores)


def _roc(scores: Array, pairs: int) -> list[list[float]]:
    """False-alarm rates and hit rates, from no alarm to all; equal scores are passed together."""
    values = _ranked(scores)
    levels = np.unique(values)[::-1]
    sides = (np.sort(values[:pairs]), np.sort(values[pairs:]))
    return [[0.0, *(1.0 - np.searchsorted(side, levels, side="left") / pairs).tolist()] for side in sides]


def _variance_shares(detector: Detector, Y_p: Array, Y_q: Array, pairs: int) -> dict[str, float]:
    """Shares of the variance of the score over a grid of windows: by y_p, by y_q, and by both together."""
    some = np.concatenate([Y_q[: len(Y_p)], Y_q[pairs : pairs + len(Y_p)]])
    crossed = detector.scores(np.repeat(Y_p, len(some), axis=0), np.tile(some, (len(Y_p), 1)), warn=False, swap=False)
    table = crossed.scores.reshape(len(Y_p), len(some))
    by_p, by_q = table.mean(axis=1).var(), table.mean(axis=0).var()
    total = table.var()
    return {"y_p": by_p / total, "y_q": by_q / total, "both": 1.0 - (by_p + by_q) / total}


def _findings(found: Mapping[str, Any]) -> tuple[Finding, ...]:
    """What the paper says, and what it does not."""
    beaten = all(found[reading]["lead"][name][1] > 0.0 for reading in found for name in RIVALS)
    return (
        Finding("AUC of PRE", _auc(found, "PRE"), "leads", "holds" if beaten else "does not hold: not beyond chance"),
        *(Finding(f"AUC of {name}", _auc(found, name), "below PRE") for name in RIVALS),
        *(Finding(f"AUC of {name}", _auc(found, name), "not shown") for name in ("plugin", "KDE plugin", "energy")),
        *(Finding(f"AUC of {name}", _auc(found, name), "not tried") for name in ("AR(1)", "Bayes factor", WITHOUT)),
        Finding("AUC of the exact likelihood ratio", _auc(found, "exact ratio"), "not tried"),
        Finding("AUC of PRE, y_q = 0", _auc(found, "PRE, y_q = 0"), "not tried"),
        *(
            Finding(f"PRE's lead over {name}", _lead(found, name), _claim(name), _leads_when(found, name))
            for name in DECIDING
        ),
        Finding(
            "variance of the score due to y_p, y_q, both",
            _join(found, lambda one: ", ".join(f"{one['variance_shares'][k]:.0%}" for k in ("y_p", "y_q", "both"))),
        ),
        Finding(
            "ESS/n given y_p, y_q",
            _join(found, lambda one: ", ".join(f"{one['ess_share'][k]:.1%}" for k in ("p", "q"))),
        ),
        Finding("ESS given y_q, true noise", _join(found, lambda one: f"{one['ess_true_noise']:.1f} rows")),
        Finding("AUC of PRE, q rows of |α| < 1", _auc(found, "PRE, |α| < 1"), "not tried"),
        Finding("q sequences with |α| > 1", _join(found, lambda one: f"{one['explosive']:.1%}")),
        Finding("seconds to simulate and compare", _join(found, lambda one: f"{one['seconds_to_compare']:.0f}")),
        Finding("answers proven optimal", _join(found, lambda one: f"{one['proven']:.0%}")),
    )


def _leads_when(found: Mapping[str, Any], name: str) -> str:
    """Whether PRE leads beyond chance, in which reading."""
    ahead = [reading for reading, one in found.items() if one["lead"][name][1] > 0.0]
    behind = [reading for reading, one in found.items() if one["lead"][name][2] < 0.0]
    if len(ahead) == len(found):
        return "holds"
    if len(behind) == len(found):
        return "does not hold: PRE is behind"
    also = f"; behind as {behind[0]}" if behind else ""
    return (f"holds when read as {ahead[0]}" if ahead else "does not hold: no lead") + also


def _claim(name: str) -> str:
    """What the paper says about a comparison."""
    return "positive" if name in RIVALS else "not tried"


def _auc(found: Mapping[str, Any], name: str) -> str:
    return _join(found, lambda one: "{:.3f} ({:.3f}–{:.3f})".format(*one["auc"][name]))


def _lead(found: Mapping[str, Any], name: str) -> str:
    return _join(found, lambda one: "{:+.3f} ({:+.3f} to {:+.3f})".format(*one["lead"][name]))


def _join(found: Mapping[str, Any], say: Callable[[Any], str]) -> str:
    return "; ".join(f"{reading} {say(one)}" for reading, one in found.items())


def _verdict(found: Mapping[str, Any]) -> str:
    """What follows from both readings."""
    beaten = {name: _leads_when(found, name) for name in RIVALS}
    if any(verdict != "holds" for verdict in beaten.values()):
        partly = any(verdict.startswith("holds") for verdict in beaten.values())
        said = ", ".join(f"{name}: {verdict}" for name, verdict in beaten.items())
        return f"{'holds in part' if partly else 'does not hold'}: leads beyond chance ({said})"
    if _leads_when(found, "Bayes factor") == "holds":
        return "holds"
    bayes, without = (_leads_when(found, name) for name in ("Bayes factor", WITHOUT))
    better = {"does not hold: PRE is behind": "better", "does not hold: no lead": "as well"}.get(bayes, "about as well")
    return (
        "holds when the rivals are the paper's, which do not know the priors. With the same prior samples a Bayes "
        f"factor of y_q alone does {better}" + ", and y_p adds noise" * without.endswith("PRE is behind")
    )


#: colour and style of each curve
STYLES = {
    "PRE": (BLUE, "-", 2.4),
    "PRE, y_p = 0": (BLUE, ":", 1.8),
    "Bayes factor": (ORANGE, "-", 1.8),
    "AR(1)": (GREEN, "-", 1.6),
    "AR(20)": (GREEN, "--", 1.6),
    "autocorr": (PINK, "-", 1.6),
    "SST": (AMBER, "-", 1.6),
    "plugin": (SKY, "-", 1.6),
    "KDE plugin": (SKY, "--", 1.6),
    "energy": (GREY, "-", 1.2),
}
SAID = {"variance": "N(0, .1) read as variance", "sd": "N(0, .1) read as standard deviation"}


def draw(data: Mapping[str, Any]) -> Figure:
    """ROC curves in both readings, and AUC with intervals."""
    figure = new_figure(13.0, 4.8)
    axes = figure.subplots(1, 3, width_ratios=[1.0, 1.0, 0.95])
    for ax, (reading, one) in zip(axes, data["readings"].items(), strict=False):
        ax.plot([0, 1], [0, 1], color=LIGHT, linewidth=1.0)
        for name, (colour, style, width) in STYLES.items():
            ax.plot(*one["roc"][name], color=colour, linestyle=style, linewidth=width, label=_text(name))
        ax.set(title=SAID[reading], xlabel="false-alarm rate", ylabel="hit rate", aspect="equal")
        ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
        ax.grid(color=LIGHT)
    axes[0].legend(fontsize=8, loc="lower right")
    _draw_areas(axes[2], data["readings"], data["pairs"])
    return figure


def _draw_areas(ax: Any, readings: Mapping[str, Any], pairs: int) -> None:
    """AUC of every method with its interval, both readings side by side."""
    names = [*STYLES, "exact ratio"]
    names.sort(key=lambda name: -max(one["auc"][name][0] for one in readings.values()))
    for shift, colour, (reading, one) in zip((-0.15, 0.15), (BLUE, ORANGE), readings.items(), strict=False):
        middle, low, high = np.array([one["auc"][name] for name in names]).T
        rows = np.arange(len(names)) + shift
        ax.hlines(rows, low, high, color=colour, linewidth=1.6)
        ax.plot(middle, rows, "o", color=colour, markersize=4.5, label=reading)
    ax.axvline(0.5, color=GREY, linestyle="--", linewidth=1.0)
    ax.set_yticks(range(len(names)), [_text(name) for name in names], fontsize=9)
    ax.set_ylim(len(names) - 0.5, -0.6)
    ax.set(title=f"AUC, {pairs} pairs of each kind", xlabel="AUC with 95 % interval (dashed: chance)")
    ax.grid(color=LIGHT)
    ax.legend(fontsize=8, loc="lower right", title="read as", title_fontsize=8)


def _text(name: str) -> str:
    return name.replace("y_p", "y$_p$")
