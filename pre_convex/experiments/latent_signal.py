"""The paper's artificial latent signal: AR(1) sequences in noise, a background α of 0.5 against a signal's −0.2.

Beyond the paper's ROC curves the experiment asks where a lead comes from: from the order of the rivals, from both
windows or from one, from the posterior ratio or from the prior samples.
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
from .areas import RESAMPLES, area, area_interval, mean_interval, resampled_areas, roc, share_of_rows
from .record import Finding, Outcome, Setting

if TYPE_CHECKING:
    from ..plots.canvas import Figure

__all__ = ["TITLE", "draw", "run"]

TITLE = "Does the posterior ratio detect a latent AR(1) signal better than other distances, and why?"

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
    "SST(20)": ("sst", 20),
    "autocorr(20)": ("autocorrelation", 20),
    "AR(1)": ("ar", 1),
    "autocorr(1)": ("autocorrelation", 1),
    "energy": ("energy", 20),
    "Bayes factor": ("evidence", 20),
    "PRE, y_p = 0": ("pre", 20),
}
#: the one that sees zeros instead of y_p, and singular spectra of a length and order chosen on other pairs
WITHOUT, TUNED = "PRE, y_p = 0", "SST, tuned"
#: how some are called in a sentence
SPOKEN = {WITHOUT: "PRE with y_p = 0", TUNED: "tuned SST", "Bayes factor": "a Bayes factor of y_q"}
#: what the paper compares with, the same distances of a fitting order, and others who know the prior samples
RIVALS, FITTING, KNOWING = ("AR(20)", "SST(20)"), ("AR(1)", "autocorr(1)", TUNED), ("Bayes factor", WITHOUT)
#: what PRE's lead is decided against, in repetitions with prior samples of their own
DECIDING = (*RIVALS, "autocorr(20)", *FITTING, *KNOWING)
#: lengths of pieces and numbers of eigenvectors that singular spectra are tuned over, and pairs of each kind for it
PIECES, VECTORS, TUNING = (5, 10, 15, 25), (1, 2, 3, 5, 8), 200


@dataclass(frozen=True)
class Sizes:
    """Rows of each prior; pairs of each kind, as in the paper; repetitions, and pairs of each; windows crossed."""

    rows: int
    pairs: int
    repetitions: int
    pairs_each: int
    grid: int


def run(setting: Setting) -> Outcome:
    """AUC of every method in both readings, and where the lead of PRE comes from."""
    sizes = setting.pick(Sizes(100_000, 100, 8, 40, 20), Sizes(12_000, 20, 6, 14, 6))
    found: dict[str, Any] = {}
    times: dict[str, float] = {}
    for number, reading in enumerate(setting.track(READINGS, "readings", len(READINGS))):
        found[reading], times[f"to simulate and compare, {reading}"] = _reading(
            setting.rng(number), *READINGS[reading], sizes
        )
    data = {**vars(sizes), "readings": found}
    return Outcome(_findings(found), _verdict(found), data, times)


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


def _reading(rng: np.random.Generator, sd: float, noise: float, sizes: Sizes) -> tuple[dict[str, Any], float]:
    """Everything for one reading of the paper's N(0, .1) and N(0, .02), and the seconds to simulate and compare."""
    pairs, spectra = sizes.pairs, _tune_spectra(*make_pairs(TUNING, sd, noise, rng))
    began = time.perf_counter()
    prior_p, prior_q, alpha_q = _draw_priors(sizes.rows, sd, rng)
    Y_p, Y_q = make_pairs(pairs, sd, noise, rng)
    detector = Detector(prior_p, prior_q, noise=NOISE)
    pre = detector.scores(Y_p, Y_q, warn=False)
    scores = {"PRE": np.array(pre.scores), TUNED: scaled_spectra(Y_p, Y_q, *spectra)}
    scores |= {name: _scores(detector, name, Y_p, Y_q) for name in METHODS if name != "PRE"}
    compared = time.perf_counter() - began
    scores["PRE, y_q = 0"] = np.array(detector.scores(Y_p, np.zeros_like(Y_q), warn=False, swap=False).scores)
    calm = Detector(prior_p, prior_q[np.abs(alpha_q) < 1.0], noise=NOISE)
    scores["PRE, |α| < 1"] = np.array(calm.scores(Y_p, Y_q, warn=False, swap=False).scores)
    scores["exact ratio"] = _exact_ratio(Y_q, sd, noise)
    half, zeros = sizes.rows // 2, np.zeros((1, WINDOW))
    flat = Detector(prior_p[:half], prior_q[:half], noise=1e6).scores(zeros, zeros, warn=False, swap=False)
    true = Detector(prior_p[:2], prior_q, noise=noise, features=lambda x: x[:, :1]).priors.q
    repeated = _repeat(sd, noise, sizes, spectra, rng)
    found = {
        "auc": {name: area_interval(area, pairs) for name, area in resampled_areas(scores, pairs, rng).items()},
        "lead": {name: mean_interval(repeated["PRE"] - repeated[name]) for name in DECIDING},
        "repeated_auc": {name: mean_interval(areas) for name, areas in repeated.items()},
        "roc": {name: roc(values, pairs) for name, values in scores.items()},
        "pieces": spectra[0],
        "vectors": spectra[1],
        "score_quantiles": np.quantile(pre.scores, [0.0, 0.5, 1.0]),
        "prior_divergence": float(flat.scores[0]),
        "ess_share": {"p": np.median(pre.ess_p) / sizes.rows, "q": np.median(pre.ess_q) / sizes.rows},
        "ess_true_noise": float(np.median(true.posterior(true.log_likelihoods(Y_q)).ess)),
        "proven": np.mean([status is not None and status.ok for status in pre.status]),
        "warnings": list(pre.warnings),
        "variance_due_to_y_p": _due_to_y_p(prior_p[:half], prior_q[:half], sd, noise, sizes.grid, rng),
        "explosive": float(np.mean(np.abs(alpha_q) > 1.0)),
    }
    return found, compared


def _draw_priors(rows: int, sd: float, rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """Sequences of p and of q, and α of those of q."""
    alpha_q = rng.normal(0.0, 0.5, rows)
    return simulate(rng.normal(0.5, 0.1, rows), sd, rng), simulate(alpha_q, sd, rng), alpha_q


def _scores(detector: Detector, name: str, Y_p: Array, Y_q: Array) -> Array:
    """Scores of one of the methods."""
    method, order = METHODS[name]
    before = np.zeros_like(Y_p) if name == WITHOUT else Y_p
    return np.array(detector.using(method, order=order).scores(before, Y_q, warn=False, swap=False).scores)


def scaled_spectra(Y_p: Array, Y_q: Array, length: int, order: int) -> Array:
    """The share of y_q's pieces, by energy, that lies outside the leading eigenvectors of y_p's pieces."""
    columns_p, columns_q = (np.lib.stride_tricks.sliding_window_view(Y, length, axis=1) for Y in (Y_p, Y_q))
    vectors = np.linalg.eigh(np.swapaxes(columns_p, 1, 2) @ columns_p)[1][:, :, -order:]
    inside, total = (np.square(part).sum(axis=(1, 2)) for part in (columns_q @ vectors, columns_q))
    return np.asarray(1.0 - inside / total)


def _tune_spectra(Y_p: Array, Y_q: Array) -> tuple[int, int]:
    """Length of pieces and number of eigenvectors with the largest AUC on these pairs."""
    tried = [(length, order) for length in PIECES for order in VECTORS if order < length]
    return max(tried, key=lambda chosen: area(scaled_spectra(Y_p, Y_q, *chosen), len(Y_p) // 2))


def _repeat(
    sd: float, noise: float, sizes: Sizes, spectra: tuple[int, int], rng: np.random.Generator
) -> dict[str, Array]:
    """AUC of PRE and of those that it is decided against, one for each draw of the priors and of new pairs."""
    found: dict[str, list[float]] = {name: [] for name in ("PRE", *DECIDING)}
    for _ in range(sizes.repetitions):
        detector = Detector(*_draw_priors(sizes.rows, sd, rng)[:2], noise=NOISE)
        pairs = make_pairs(sizes.pairs_each, sd, noise, rng)
        for name, areas in found.items():
            scores = scaled_spectra(*pairs, *spectra) if name == TUNED else _scores(detector, name, *pairs)
            areas.append(area(scores, sizes.pairs_each))
    return {name: np.array(areas) for name, areas in found.items()}


def _exact_ratio(Y: Array, sd: float, noise: float) -> Array:
    """log N(y; signal) − log N(y; background) with the true covariances: no test of y_q alone is better."""
    lags = np.abs(np.subtract.outer(np.arange(WINDOW), np.arange(WINDOW)))
    half = []
    for alpha in (SIGNAL, BACKGROUND):
        # after 50 steps α^100 is nothing, so that the sequence is stationary
        root = np.linalg.cholesky(sd**2 / (1.0 - alpha**2) * alpha**lags + noise**2 * np.eye(WINDOW))
        half.append(0.5 * np.square(np.linalg.solve(root, Y.T)).sum(axis=0))
    return np.asarray(half[1] - half[0])


def _due_to_y_p(
    prior_p: Array, prior_q: Array, sd: float, noise: float, size: int, rng: np.random.Generator
) -> dict[str, list[float]]:
    """Share of y_p in the variance of PRE's score, the kind of y_q given: background alone, and signal alone."""
    detector = Detector(prior_p, prior_q, noise=NOISE)
    Y_p, found = observe(BACKGROUND, size, sd, noise, rng), {}
    for kind, alpha in (("background", BACKGROUND), ("signal", SIGNAL)):
        Y_q = observe(alpha, size, sd, noise, rng)
        crossed = detector.scores(np.repeat(Y_p, size, axis=0), np.tile(Y_q, (size, 1)), warn=False, swap=False)
        table = crossed.scores.reshape(size, size)
        picks = rng.integers(0, size, (RESAMPLES // 10, 2, size))
        some = [share_of_rows(table[np.ix_(*pick)]) for pick in picks]
        found[kind] = [share_of_rows(table), *np.quantile(some, [0.025, 0.975]).tolist()]
    return found


def _findings(found: Mapping[str, Any]) -> tuple[Finding, ...]:
    """What the paper says, and what it does not."""
    beaten = all(found[reading]["lead"][name][1] > 0.0 for reading in found for name in RIVALS)
    others = ("autocorr(20)", *FITTING, *KNOWING)
    return (
        Finding("AUC of PRE", _auc(found, "PRE"), "leads", "holds" if beaten else "does not hold: not beyond chance"),
        *(Finding(f"AUC of {name}", _auc(found, name), "below PRE") for name in RIVALS),
        *(Finding(f"AUC of {name}", _auc(found, name), "not shown") for name in ("plugin", "KDE plugin", "energy")),
        *(Finding(f"AUC of {name}", _auc(found, name), "not tried") for name in others),
        Finding("AUC of the exact likelihood ratio", _auc(found, "exact ratio"), "not tried"),
        Finding("AUC of PRE, y_q = 0", _auc(found, "PRE, y_q = 0"), "not tried"),
        *(
            Finding(f"PRE's lead over {name}", _lead(found, name), _claim(name), _leads_when(found, name))
            for name in DECIDING
        ),
        Finding("tuned SST: eigenvectors, of pieces", _join(found, lambda one: f"{one['vectors']} of {one['pieces']}")),
        *(
            Finding(
                f"variance of the score due to y_p, {kind}",
                _join(found, lambda one, k=kind: _percent(one["variance_due_to_y_p"][k])),  # type: ignore[misc]
            )
            for kind in ("background", "signal")
        ),
        Finding(
            "scores: least, median, most",
            _join(found, lambda one: ", ".join(f"{score:.3f}" for score in one["score_quantiles"])),
        ),
        Finding("the same without any y", _join(found, lambda one: f"{one['prior_divergence']:.3f}")),
        Finding(
            "ESS/n given y_p, y_q",
            _join(found, lambda one: ", ".join(f"{one['ess_share'][k]:.1%}" for k in ("p", "q"))),
        ),
        Finding("ESS given y_q, true noise", _join(found, lambda one: f"{one['ess_true_noise']:.1f} rows")),
        Finding("AUC of PRE, q rows of |α| < 1", _auc(found, "PRE, |α| < 1"), "not tried"),
        Finding("q sequences with |α| > 1", _join(found, lambda one: f"{one['explosive']:.1%}")),
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


def _percent(values: list[float]) -> str:
    return "{:.0%} ({:.0%} to {:.0%})".format(*values)


def _verdict(found: Mapping[str, Any]) -> str:
    """What follows from both readings."""
    beaten = {name: _leads_when(found, name) for name in RIVALS}
    if any(verdict != "holds" for verdict in beaten.values()):
        partly = any(verdict.startswith("holds") for verdict in beaten.values())
        said = ", ".join(f"{name}: {verdict}" for name, verdict in beaten.items())
        return f"{'holds in part' if partly else 'does not hold'}: leads beyond chance ({said})"
    fitting, knowing = ({name: _stands(found, name) for name in names} for names in (FITTING, KNOWING))
    if set((fitting | knowing).values()) == {"behind PRE"}:
        return "holds"
    when = "holds"
    if set(fitting.values()) != {"behind PRE"}:
        when = (
            f"holds when the rivals are of the paper's order 20. Of a fitting order, without priors, {_group(fitting)}"
        )
    return f"{when}. With the same priors {_group(knowing)}"


def _stands(found: Mapping[str, Any], name: str) -> str:
    """Where another stands beside PRE, from the intervals of both readings."""
    each = {
        reading: "behind PRE" if one["lead"][name][1] > 0.0 else "ahead of PRE" if one["lead"][name][2] < 0.0 else ""
        for reading, one in found.items()
    }
    if len(set(each.values())) == 1:
        return next(iter(each.values())) or "level with PRE"
    return ", ".join(f"{place or 'level'} as {reading}" for reading, place in each.items())


def _group(places: Mapping[str, str]) -> str:
    """Names that stand at the same place, together."""
    together: dict[str, list[str]] = {}
    for name, place in places.items():
        together.setdefault(place, []).append(SPOKEN.get(name, name))
    return ", ".join(
        f"{' and '.join(names)} {'is' if len(names) == 1 else 'are'} {place}" for place, names in together.items()
    )


#: colour and style of each curve
STYLES = {
    "PRE": (BLUE, "-", 2.4),
    "PRE, y_p = 0": (BLUE, ":", 1.8),
    "Bayes factor": (ORANGE, "-", 1.8),
    "AR(1)": (GREEN, "-", 1.6),
    "AR(20)": (GREEN, "--", 1.6),
    "autocorr(1)": (PINK, "-", 1.6),
    "autocorr(20)": (PINK, "--", 1.6),
    TUNED: (AMBER, "-", 1.6),
    "SST(20)": (AMBER, "--", 1.6),
    "plugin": (SKY, "-", 1.6),
    "KDE plugin": (SKY, "--", 1.6),
    "energy": (GREY, "-", 1.2),
}
SAID = {"variance": "N(0, .1) read as variance", "sd": "N(0, .1) read as standard deviation"}


def draw(data: Mapping[str, Any]) -> Figure:
    """ROC curves in both readings, and AUC with intervals."""
    figure = new_figure(13.0, 5.3)
    axes = figure.subplots(1, 3, width_ratios=[1.0, 1.0, 0.95])
    for ax, (reading, one) in zip(axes, data["readings"].items(), strict=False):
        ax.plot([0, 1], [0, 1], color=LIGHT, linewidth=1.0)
        for name, (colour, style, width) in STYLES.items():
            ax.plot(*one["roc"][name], color=colour, linestyle=style, linewidth=width, label=_text(name))
        ax.set(title=SAID[reading], xlabel="false-alarm rate", ylabel="hit rate", aspect="equal")
        ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
        ax.grid(color=LIGHT)
    figure.legend(*axes[0].get_legend_handles_labels(), fontsize=8, ncols=6, loc="outside lower left", frameon=False)
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
