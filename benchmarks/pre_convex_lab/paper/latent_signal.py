"""Latent signal: detecting a change of the coefficient of a latent AR(1) process, from 0.5 to −0.2.

Beyond the paper's ROC curves the experiment asks where PRE's lead comes from: the order of the other methods, one of
the windows or both, the posterior ratio or the prior samples.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pre_convex._internal.typing import Array
from pre_convex.applications.detection import Detector
from pre_convex.plots.canvas import AMBER, BLUE, GREEN, GREY, LIGHT, ORANGE, PINK, SKY, new_figure

from .intervals import bootstrap_interval, mean_interval
from .record import Finding, Outcome, Setting
from .roc import REPLICATES, auc, auc_interval, auc_replicates, roc_points

if TYPE_CHECKING:
    from pre_convex.plots.canvas import Figure

TITLE = "Does the posterior ratio detect a latent AR(1) signal better than other scores, and why?"

BACKGROUND, SIGNAL = 0.5, -0.2
#: steps that are simulated, and last steps that are kept
STEPS, WINDOW = 100, 50
#: standard deviations of the innovations and of the noise, with N(0, .1) and N(0, .02) read in both ways
READINGS = {"variance": (0.1**0.5, 0.02**0.5), "sd": (0.1, 0.02)}
#: standard deviation of the likelihood N(y; x, I): the paper's choice, not the noise of the simulation
NOISE = 1.0
#: method and order of the detector, by name
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
    "PRE, no y_p": ("pre-prior", 20),
}
#: PRE without y_p, and singular spectra (SST) with lag and rank tuned on other pairs
WITHOUT, TUNED = "PRE, no y_p", "SST, tuned"
#: names of methods in the verdict
SPOKEN = {WITHOUT: "PRE without y_p", TUNED: "tuned SST", "Bayes factor": "a Bayes factor of y_q"}
#: the paper's baselines, the same scores with a suitable order, and scores that use the prior samples as PRE does
BASELINES, SUITABLE, WITH_PRIORS = ("AR(20)", "SST(20)"), ("AR(1)", "autocorr(1)", TUNED), ("Bayes factor", WITHOUT)
#: methods that PRE is compared with in independent repetitions
COMPARED = (*BASELINES, "autocorr(20)", *SUITABLE, *WITH_PRIORS)
#: lag-vector lengths and numbers of eigenvectors that SST is tuned over, and pairs of each kind used for tuning
LAGS, RANKS, TUNING = (5, 10, 15, 25), (1, 2, 3, 5, 8), 200


@dataclass(frozen=True)
class Sizes:
    """Sizes of a run.

    Attributes
    ----------
    rows : int
        Rows of each prior.
    pairs : int
        Pairs of each kind (background, signal), 100 in the paper.
    repetitions, pairs_each : int
        Independent repetitions, and pairs of each kind in each.
    grid : int
        Windows on each side of the grid for the analysis of variance.
    """

    rows: int
    pairs: int
    repetitions: int
    pairs_each: int
    grid: int


def run(setting: Setting) -> Outcome:
    """Compute the AUC of every method in both readings, and where PRE's lead comes from."""
    sizes = setting.pick(Sizes(100_000, 100, 8, 40, 20), Sizes(12_000, 20, 6, 14, 6))
    readings: dict[str, Any] = {}
    times: dict[str, float] = {}
    for number, reading in enumerate(setting.track(READINGS, "readings", len(READINGS))):
        readings[reading], times[f"simulation and scores, {reading}"] = _run_reading(
            setting.rng(number), *READINGS[reading], sizes
        )
    return Outcome(find(readings), claims(readings), {**vars(sizes), "readings": readings}, times)


def simulate(alpha: Array, sd: float, rng: np.random.Generator) -> Array:
    """Steps 51 to 100 of x_t = α x_{t−1} + ε from x_0 = 0, a row for each α; |α| > 1 explodes, as in the paper."""
    x = np.zeros(len(alpha))
    kept = np.empty((WINDOW, len(alpha)))
    for step in range(STEPS):
        x = alpha * x + sd * rng.normal(size=len(alpha))
        kept[max(step - (STEPS - WINDOW), 0)] = x
    return np.ascontiguousarray(kept.T)


def observe(alpha: float, count: int, sd: float, noise: float, rng: np.random.Generator) -> Array:
    """Noisy windows of ``count`` sequences with the same α."""
    x = simulate(np.full(count, alpha), sd, rng)
    return x + noise * rng.normal(size=x.shape)


def make_pairs(count: int, sd: float, noise: float, rng: np.random.Generator) -> tuple[Array, Array]:
    """Windows y_p and y_q of ``count`` background pairs, followed by ``count`` signal pairs."""
    windows = [observe(alpha, count, sd, noise, rng) for alpha in (BACKGROUND, BACKGROUND, BACKGROUND, SIGNAL)]
    return np.concatenate(windows[::2]), np.concatenate(windows[1::2])


def _run_reading(rng: np.random.Generator, sd: float, noise: float, sizes: Sizes) -> tuple[dict[str, Any], float]:
    """All results for one reading of N(0, .1) and N(0, .02), and the seconds for simulation and scores."""
    pairs, tuned = sizes.pairs, tune_sst(*make_pairs(TUNING, sd, noise, rng))
    start = time.perf_counter()
    prior_p, prior_q, alpha_q = _draw_priors(sizes.rows, sd, rng)
    Y_p, Y_q = make_pairs(pairs, sd, noise, rng)
    detector = Detector(prior_p, prior_q, noise=NOISE)
    pre = detector.scores(Y_p, Y_q, warn=False)
    scores = {"PRE": np.array(pre.scores), TUNED: sst_scores(Y_p, Y_q, *tuned)}
    scores |= {name: _scores(detector, name, Y_p, Y_q) for name in METHODS if name != "PRE"}
    seconds = time.perf_counter() - start
    scores["PRE, y_q = 0"] = np.array(detector.scores(Y_p, np.zeros_like(Y_q), warn=False, swap=False).scores)
    stationary = Detector(prior_p, prior_q[np.abs(alpha_q) < 1.0], noise=NOISE)
    scores["PRE, |α| < 1"] = np.array(stationary.scores(Y_p, Y_q, warn=False, swap=False).scores)
    scores["exact ratio"] = exact_log_ratio(Y_q, sd, noise)
    half, zeros = sizes.rows // 2, np.zeros((1, WINDOW))
    flat = Detector(prior_p[:half], prior_q[:half], noise=1e6).scores(zeros, zeros, warn=False, swap=False)
    true = Detector(prior_p[:2], prior_q, noise=noise, features=lambda x: x[:, :1]).priors.q
    repeated = _repeat(sd, noise, sizes, tuned, rng)
    result = {
        "auc": {name: auc_interval(values, pairs) for name, values in auc_replicates(scores, rng).items()},
        "lead": {name: mean_interval(repeated["PRE"] - repeated[name]) for name in COMPARED},
        "repeated_auc": {name: mean_interval(values) for name, values in repeated.items()},
        "roc": {name: roc_points(values) for name, values in scores.items()},
        "pieces": tuned[0],
        "vectors": tuned[1],
        "score_quantiles": np.quantile(pre.scores, [0.0, 0.5, 1.0]),
        "prior_divergence": float(flat.scores[0]),
        "ess_share": {"p": np.median(pre.ess_p) / sizes.rows, "q": np.median(pre.ess_q) / sizes.rows},
        "ess_true_noise": float(np.median(true.posterior(true.log_likelihoods(Y_q)).ess)),
        "proven": np.mean([status is not None and status.ok for status in pre.status]),
        "warnings": list(pre.warnings),
        "variance_due_to_y_p": _variance_due_to_y_p(prior_p[:half], prior_q[:half], sd, noise, sizes.grid, rng),
        "explosive": float(np.mean(np.abs(alpha_q) > 1.0)),
    }
    return result, seconds


def _draw_priors(rows: int, sd: float, rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """Sequences from p and from q, and the α of the latter."""
    alpha_q = rng.normal(0.0, 0.5, rows)
    return simulate(rng.normal(0.5, 0.1, rows), sd, rng), simulate(alpha_q, sd, rng), alpha_q


def _scores(detector: Detector, name: str, Y_p: Array, Y_q: Array) -> Array:
    """Scores of the pairs by one of ``METHODS``."""
    method, order = METHODS[name]
    return np.array(detector.using(method, order=order).scores(Y_p, Y_q, warn=False, swap=False).scores)


def sst_scores(Y_p: Array, Y_q: Array, length: int, order: int) -> Array:
    """Share of the energy of y_q's lag vectors that lies outside the leading eigenvectors of y_p's lag vectors."""
    columns_p, columns_q = (np.lib.stride_tricks.sliding_window_view(Y, length, axis=1) for Y in (Y_p, Y_q))
    vectors = np.linalg.eigh(np.swapaxes(columns_p, 1, 2) @ columns_p)[1][:, :, -order:]
    inside, total = (np.square(each).sum(axis=(1, 2)) for each in (columns_q @ vectors, columns_q))
    return np.asarray(1.0 - inside / total)


def tune_sst(Y_p: Array, Y_q: Array) -> tuple[int, int]:
    """Length of lag vectors and number of eigenvectors with the largest AUC on these pairs."""
    tried = [(length, order) for length in LAGS for order in RANKS if order < length]
    return max(tried, key=lambda chosen: auc(sst_scores(Y_p, Y_q, *chosen)))


def _repeat(
    sd: float, noise: float, sizes: Sizes, tuned: tuple[int, int], rng: np.random.Generator
) -> dict[str, Array]:
    """AUC of PRE and of the methods it is compared with, in repetitions with new priors and new pairs."""
    found: dict[str, list[float]] = {name: [] for name in ("PRE", *COMPARED)}
    for _ in range(sizes.repetitions):
        detector = Detector(*_draw_priors(sizes.rows, sd, rng)[:2], noise=NOISE)
        pairs = make_pairs(sizes.pairs_each, sd, noise, rng)
        for name, values in found.items():
            values.append(auc(sst_scores(*pairs, *tuned) if name == TUNED else _scores(detector, name, *pairs)))
    return {name: np.array(values) for name, values in found.items()}


def exact_log_ratio(Y: Array, sd: float, noise: float) -> Array:
    """log N(y; signal) − log N(y; background) with the true covariances, up to a constant: the best test of y_q."""
    lags = np.abs(np.subtract.outer(np.arange(WINDOW), np.arange(WINDOW)))
    half = []
    for alpha in (SIGNAL, BACKGROUND):
        # α^100 is negligible after 50 steps, so the sequence is stationary
        root = np.linalg.cholesky(sd**2 / (1.0 - alpha**2) * alpha**lags + noise**2 * np.eye(WINDOW))
        half.append(0.5 * np.square(np.linalg.solve(root, Y.T)).sum(axis=0))
    return np.asarray(half[1] - half[0])


def _variance_due_to_y_p(
    prior_p: Array, prior_q: Array, sd: float, noise: float, size: int, rng: np.random.Generator
) -> dict[str, list[float]]:
    """Share of the variance of PRE's score that is due to y_p, with y_q all background or all signal."""
    detector = Detector(prior_p, prior_q, noise=NOISE)
    Y_p, found = observe(BACKGROUND, size, sd, noise, rng), {}
    for kind, alpha in (("background", BACKGROUND), ("signal", SIGNAL)):
        Y_q = observe(alpha, size, sd, noise, rng)
        crossed = detector.scores(np.repeat(Y_p, size, axis=0), np.tile(Y_q, (size, 1)), warn=False, swap=False)
        table = crossed.scores.reshape(size, size)
        picks = rng.integers(0, size, (REPLICATES // 10, 2, size))
        replicates = [share_of_rows(table[np.ix_(*pick)]) for pick in picks]
        found[kind] = bootstrap_interval(np.array([share_of_rows(table), *replicates]))
    return found


def share_of_rows(table: Array) -> float:
    """Share of the row effects in the variance of rows and columns, by a two-way analysis of variance.

    Examples
    --------
    >>> share_of_rows(np.add.outer(np.array([0.0, 3.0, 6.0]), np.array([0.0, 1.0, 2.0])))
    0.9
    """
    rows, columns = table.mean(axis=1), table.mean(axis=0)
    residuals = table - rows[:, None] - columns + table.mean()
    error = np.square(residuals).sum() / ((len(rows) - 1) * (len(columns) - 1))
    by_row = max(rows.var(ddof=1) - error / len(columns), 0.0)
    by_column = max(columns.var(ddof=1) - error / len(rows), 0.0)
    return float(by_row / max(by_row + by_column, 1e-300))


Readings = Mapping[str, Mapping[str, Any]]


def find(readings: Readings) -> tuple[Finding, ...]:
    """The findings."""
    ahead = all(result["lead"][name][1] > 0.0 for result in readings.values() for name in BASELINES)

    def auc_of(name: str, paper: str, question: str = "") -> Finding:
        ours = _join(readings, lambda result: "{:.3f} ({:.3f}–{:.3f})".format(*result["auc"][name]))
        return Finding(question or f"AUC of {name}", ours, paper)

    def lead_over(name: str) -> Finding:
        ours = _join(readings, lambda result: "{:+.3f} ({:+.3f} to {:+.3f})".format(*result["lead"][name]))
        return Finding(
            f"PRE's lead over {name}", ours, "positive" if name in BASELINES else "not tried", judge(readings, name)
        )

    def due_to_y_p(kind: str) -> Finding:
        ours = _join(readings, lambda one: "{:.0%} ({:.0%} to {:.0%})".format(*one["variance_due_to_y_p"][kind]))
        return Finding(f"variance of the score due to y_p, {kind}", ours)

    return (
        replace(auc_of("PRE", "leads"), verdict="holds" if ahead else "does not hold: not significant"),
        *(auc_of(name, "below PRE") for name in BASELINES),
        *(auc_of(name, "not shown") for name in ("plugin", "KDE plugin", "energy")),
        *(auc_of(name, "not tried") for name in ("autocorr(20)", *SUITABLE, *WITH_PRIORS)),
        auc_of("exact ratio", "not tried", "AUC of the exact likelihood ratio"),
        auc_of("PRE, y_q = 0", "not tried"),
        *(lead_over(name) for name in COMPARED),
        Finding(
            "tuned SST: eigenvectors, lag",
            _join(readings, lambda result: f"{result['vectors']} of {result['pieces']}"),
        ),
        *(due_to_y_p(kind) for kind in ("background", "signal")),
        Finding(
            "PRE's scores: smallest, median, largest",
            _join(readings, lambda result: ", ".join(f"{score:.3f}" for score in result["score_quantiles"])),
        ),
        Finding("PRE's score of the priors alone", _join(readings, lambda result: f"{result['prior_divergence']:.3f}")),
        Finding(
            "ESS/n given y_p, y_q",
            _join(readings, lambda result: ", ".join(f"{result['ess_share'][k]:.1%}" for k in ("p", "q"))),
        ),
        Finding("ESS given y_q, true noise", _join(readings, lambda result: f"{result['ess_true_noise']:.1f} rows")),
        auc_of("PRE, |α| < 1", "not tried", "AUC of PRE, q rows with |α| < 1"),
        Finding("q sequences with |α| > 1", _join(readings, lambda result: f"{result['explosive']:.1%}")),
        Finding("solutions proven optimal", _join(readings, lambda result: f"{result['proven']:.0%}")),
    )


def _join(readings: Readings, text: Callable[[Any], str]) -> str:
    """A text for each reading, in one line."""
    return "; ".join(f"{reading} {text(result)}" for reading, result in readings.items())


def judge(readings: Readings, name: str) -> str:
    """Whether PRE leads another method significantly, and in which reading."""
    ahead = [reading for reading, result in readings.items() if result["lead"][name][1] > 0.0]
    behind = [reading for reading, result in readings.items() if result["lead"][name][2] < 0.0]
    if len(ahead) == len(readings):
        return "holds"
    if len(behind) == len(readings):
        return "does not hold: PRE is behind"
    also = f"; behind for {behind[0]}" if behind else ""
    return (f"holds for {ahead[0]}" if ahead else "does not hold: no lead") + also


def claims(readings: Readings) -> dict[str, bool]:
    """Whether PRE is ahead of other scores, significantly and in both readings, and which ones are ahead of PRE."""

    def leads(name: str, sign: float) -> bool:
        ends = (1, 2)[sign < 0.0]
        return all(sign * result["lead"][name][ends] > 0.0 for result in readings.values())

    ahead = {f"PRE is ahead of {SPOKEN.get(name, name)}": leads(name, 1.0) for name in (*BASELINES, *SUITABLE)}
    return ahead | {f"{SPOKEN[name]} is ahead of PRE": leads(name, -1.0) for name in (TUNED, *WITH_PRIORS)}


#: colour and style of each curve
STYLES = {
    "PRE": (BLUE, "-", 2.4),
    "PRE, no y_p": (BLUE, ":", 1.8),
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
PANELS = {"variance": "N(0, .1) read as variance", "sd": "N(0, .1) read as standard deviation"}


def draw(data: Mapping[str, Any]) -> Figure:
    """Draw ROC curves in both readings, and AUC with intervals."""
    figure = new_figure(13.0, 5.3)
    axes = figure.subplots(1, 3, width_ratios=[1.0, 1.0, 0.95])
    for ax, (reading, result) in zip(axes, data["readings"].items(), strict=False):
        ax.plot([0, 1], [0, 1], color=LIGHT, linewidth=1.0)
        for name, (colour, style, width) in STYLES.items():
            ax.plot(*result["roc"][name], color=colour, linestyle=style, linewidth=width, label=_label(name))
        ax.set(title=PANELS[reading], xlabel="false-alarm rate", ylabel="hit rate", aspect="equal")
        ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
        ax.grid(color=LIGHT)
    figure.legend(*axes[0].get_legend_handles_labels(), fontsize=8, ncols=6, loc="outside lower left", frameon=False)
    _draw_areas(axes[2], data["readings"], data["pairs"])
    return figure


def _draw_areas(ax: Any, readings: Mapping[str, Any], pairs: int) -> None:
    """Draw the AUC of every method with its interval, in both readings."""
    names = [*STYLES, "exact ratio"]
    names.sort(key=lambda name: -max(result["auc"][name][0] for result in readings.values()))
    for shift, colour, (reading, result) in zip((-0.15, 0.15), (BLUE, ORANGE), readings.items(), strict=False):
        value, low, high = np.array([result["auc"][name] for name in names]).T
        rows = np.arange(len(names)) + shift
        ax.hlines(rows, low, high, color=colour, linewidth=1.6)
        ax.plot(value, rows, "o", color=colour, markersize=4.5, label=reading)
    ax.axvline(0.5, color=GREY, linestyle="--", linewidth=1.0)
    ax.set_yticks(range(len(names)), [_label(name) for name in names], fontsize=9)
    ax.set_ylim(len(names) - 0.5, -0.6)
    ax.set(title=f"AUC, {pairs} pairs of each kind", xlabel="AUC with 95 % interval (dashed: chance)")
    ax.grid(color=LIGHT)
    ax.legend(fontsize=8, loc="lower right", title="read as", title_fontsize=8)


def _label(name: str) -> str:
    """A method's name for the figure."""
    return name.replace("y_p", "y$_p$")
