"""vibration: changes in a real sensor series, by PRE with fitted state-space priors and by ruptures.

The series are vibrations of two ventilation units, thirty days each, one value in ten minutes (the ``hvac_system``
data of skchange, recorded by Soundsensing). Nobody labelled them, so that what counts as a change is known in three
ways: a unit switches between levels that differ five-fold or more; a window of one day is followed by a window of
another day; and a real switch is buried in added noise. Windows that follow each other within one run of a unit
show no change and give the false alarms.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..applications.detection import Background, Detector
from ..entropy import Array, Index, log_of
from ..features import Autocorrelation
from ..plots.canvas import AMBER, BLUE, GREEN, GREY, LIGHT, ORANGE, PINK, SKY, new_figure, set_legend
from .gains import load_ruptures, split_gains
from .hvac import MINUTES, WINDOW, Pairs, Regime, cut_pairs, find_runs, read_unit
from .record import Finding, Outcome, Setting
from .state_space import Model, fit_model

if TYPE_CHECKING:
    from ..plots.canvas import Figure

TITLE = "real vibrations: does PRE with fitted priors detect changes better than ruptures, at an honest alarm rate?"

#: lags, coefficients or eigenvectors taken from a window
ORDER = 3
#: false-alarm rate of the tests of single pairs, and of each window of the scan
RATE, SCAN_RATE = 0.05, 0.002
#: simulated pairs that thresholds of single pairs come from
JUDGED = 1_500
#: a found change lies at most so many time points from the real one
NEAR = 3
BY_PRE, BY_SHAPE, BY_WIDE, DISTANCE = "PRE", "PRE, autocorrelations", "PRE, wider p prior", "distance to level"
L2, RBF = "ruptures, l2", "ruptures, rbf"
#: PRE with the threshold that comes from windows simulated one by one instead of in neighbouring pairs
FAR_APART = "PRE, windows apart"
#: methods whose false alarms are drawn
DRAWN = (BY_PRE, L2, FAR_APART)
#: how many times wider the wider p prior is
WIDER = 4.0
#: methods of detection that PRE is compared with
BASELINES = ("plugin", "kde", "evidence", "autocorrelation", "ar", "sst", "energy")
#: sd of added noise, as multiples of the fitted noise, and the one that findings are about
ADDED, HARD_NOISE = (4.0, 8.0, 12.0, 16.0, 24.0), 16.0

RUNNING = Regime("unit 1, running", 1, 0.02, 1.0)
REGIMES = (RUNNING, Regime("unit 0, high", 0, 0.2, 1.0), Regime("unit 0, low", 0, 0.03, 0.2))

#: gives the scores of pairs of windows
Method = Callable[[Array, Array], Array]


def level(x: Array) -> Array:
    """The mean of each row."""
    return np.asarray(x.mean(axis=1))


@dataclass(frozen=True, eq=False)
class Scene:
    """A regime in units of its fitted noise: pairs of the runs that were not fitted, simulated background, priors."""

    model: Model
    trained: int
    runs: list[slice]
    pairs: Pairs
    background: Array
    prior_p: Array
    prior_q: Array

    def detector(self, noise: float, features: Any = level, wider: float = 1.0) -> Detector:
        """The scene's priors, p made wider if asked for, with noise of this standard deviation."""
        return Detector(wider * self.prior_p, self.prior_q, noise=noise, features=features, order=ORDER)

    def methods(self, noise: float) -> dict[str, Method]:
        """Every method that windows are compared with."""
        by_level = self.detector(noise)
        return {
            BY_PRE: partial(_scores, by_level),
            BY_WIDE: partial(_scores, self.detector(noise, wider=WIDER)),
            BY_SHAPE: partial(_scores, self.detector(noise, Autocorrelation(ORDER))),
            **{name: partial(_scores, by_level.using(name)) for name in BASELINES},
            **split_gains((self.model.sd / self.model.noise) ** 2 + noise**2),
        }


def _scores(detector: Detector, y_p: Array, y_q: Array) -> Array:
    return detector.scores(y_p, y_q, warn=False).scores


def make_scene(regime: Regime, setting: Setting, rng: np.random.Generator) -> Scene:
    """Fit on the first third of a regime's runs; pairs come from the others."""
    days, vibration = read_unit(regime.unit)
    runs = find_runs(regime, days, vibration)
    trained = len(runs) // 3
    model = fit_model([vibration[run] for run in runs[:trained]])
    held_out = [(vibration[run] - model.level) / model.noise for run in runs[trained:]]
    rows, simulated = setting.pick(10_000, 1_000), setting.pick(4_000, 500)
    background = model.simulate(simulated, 2 * WINDOW, rng)
    return Scene(
        model=model,
        trained=trained,
        runs=runs,
        pairs=cut_pairs(held_out, setting.pick(2, 6)),
        background=background + rng.normal(size=background.shape),
        prior_p=model.simulate(rows, WINDOW, rng),
        prior_q=model.broad(rows, WINDOW, rng),
    )


@dataclass(frozen=True, eq=False)
class Judged:
    """Scores of one method: pairs without and with a change, the run of each, and simulated background."""

    null: Array
    change: Array
    run: Index
    background: Array

    def figures(self, counts: Array, picks: Index) -> Array:
        """AUC, false-alarm rate and power of each replicate.

        Parameters
        ----------
        counts : ndarray of shape (replicates, runs)
            How often each run is taken.
        picks : ndarray of int of shape (replicates, simulated)
            Which simulated pairs the threshold comes from.
        """
        member = np.eye(counts.shape[1])[self.run]
        above = (self.change[:, None] > self.null) + 0.5 * (self.change[:, None] == self.null)
        pairs = counts @ member.sum(axis=0)
        auc = np.einsum("ra,ab,rb->r", counts, member.T @ above @ member, counts) / pairs**2
        thresholds = np.array([Background(self.background[pick]).threshold(RATE) for pick in picks])
        alarms, hits = (
            (counts * ((s > thresholds[:, None]) @ member)).sum(axis=1) / pairs for s in (self.null, self.change)
        )
        return np.stack([auc, alarms, hits])


def judge(scene: Scene, change: Array, added: float, rng: np.random.Generator) -> dict[str, Judged]:
    """Scores of every method, the second window of each pair as it is or exchanged for ``change``; noise is added."""
    pairs, m, simulated = scene.pairs, len(scene.pairs.run), scene.background[:JUDGED]
    before = np.concatenate([pairs.before, pairs.before, simulated[:, :WINDOW]])
    after = np.concatenate([pairs.after, change, simulated[:, WINDOW:]])
    before, after = (y + added * rng.normal(size=y.shape) for y in (before, after))
    methods = scene.methods(float(np.hypot(1.0, added)))
    methods[DISTANCE] = lambda _, y_q: np.abs(level(y_q))
    found = {name: method(before, after) for name, method in methods.items()}
    return {name: Judged(s[:m], s[m : 2 * m], pairs.run, s[2 * m :]) for name, s in found.items()}


def resampled(runs: int, simulated: int, rng: np.random.Generator, replicates: int) -> tuple[Array, Index]:
    """Counts and picks of replicates: everything once, then bootstrap samples of runs and of simulated pairs."""
    counts = np.vstack([np.ones(runs), rng.multinomial(runs, np.full(runs, 1.0 / runs), replicates)])
    return counts, np.vstack([np.arange(simulated), rng.integers(0, simulated, (replicates, simulated))])


def interval(values: Array) -> list[float]:
    """The figure itself, and the 95 % interval of its bootstrap."""
    return [float(values[0]), *(float(q) for q in np.quantile(values[1:], [0.025, 0.975]))]


def rate_interval(values: Array, trials: int) -> list[float]:
    """The same for a rate; where it is zero, up to what so many trials without an alarm do not exclude."""
    rate, low, high = interval(values)
    return [rate, low, 1.0 - 0.025 ** (1.0 / trials) if rate == 0.0 else high]


def study_scan(scene: Scene, setting: Setting) -> dict[str, Any]:
    """The held-out series of unit 1 with its real switches: PRE's scan, ruptures' sliding window, and its PELT."""
    days, vibration = read_unit(RUNNING.unit)
    runs = scene.runs[scene.trained :][: setting.pick(None, 4)]
    some = slice(runs[0].start - 4 * WINDOW, runs[-1].stop + 4 * WINDOW)
    days, vibration = days[some], vibration[some]
    y = (vibration - scene.model.level) / scene.model.noise
    switches = np.flatnonzero(np.diff((vibration > RUNNING.low).astype(int))) + 1
    # a window may lie in either state that the unit is known to have
    known = np.concatenate([scene.prior_p, np.full_like(scene.prior_p, y.min())])
    before, after = scene.background[:, :WINDOW], scene.background[:, WINDOW:]
    detector = Detector(known, scene.prior_q, noise=1.0, features=level)
    background = Background(_scores(detector, before, after))
    found = detector.scan(y, background=background, rate=SCAN_RATE, verbose=setting.show, warn=False)
    ruptures, gains = load_ruptures(), Background(split_gains(1.0)[L2](before, after))
    window = ruptures.Window(width=2 * WINDOW, model="l2", jump=1).fit(y)
    # its own search stops where a split of a long segment gains little, as those of a periodic series do
    rival = replace(found, scores=window.score, times=window.inds, threshold=gains.threshold(SCAN_RATE))
    pelt = ruptures.KernelCPD(kernel="linear", min_size=2).fit(y[:, None])
    alarms = {
        BY_PRE: sorted(peak.time for peak in found.peaks()),
        "ruptures, window": sorted(peak.time for peak in rival.peaks()),
        # Schwarz's criterion: the noise has variance one, and a change adds a level and a place
        "ruptures, PELT": pelt.predict(pen=2.0 * log_of(len(y)))[:-1],
    }
    apart = {name: np.abs(np.subtract.outer(switches, times)) for name, times in alarms.items()}
    return {
        "day": days,
        "vibration": vibration,
        "scored": days[found.times],
        "score": found.scores,
        "threshold": found.threshold,
        "switches": days[switches],
        "alarms": {name: days[times] for name, times in alarms.items()},
        "found": {name: int((gap.min(axis=1) <= NEAR).sum()) for name, gap in apart.items()},
        "false": {name: int((gap.min(axis=0) > NEAR).sum()) for name, gap in apart.items()},
        "days": len(y) * MINUTES / 1440.0,
        "ess_q": float(np.median(found.ess_q)),
    }


def run(setting: Setting) -> Outcome:
    """Three regimes with another day as change, one with a switch in noise, and the whole series of unit 1."""
    regimes = REGIMES[:: setting.pick(1, 2)]
    scenes = [make_scene(regime, setting, setting.rng(i)) for i, regime in enumerate(regimes)]
    replicates = setting.pick(999, 199)
    days: dict[str, list[Array]] = {}
    alarms: dict[str, dict[str, list[float]]] = {}
    for i, scene in setting.track(enumerate(scenes), "another day", len(scenes)):
        rng = setting.rng(10 + i)
        judged = judge(scene, scene.pairs.other_day(rng), 0.0, rng)
        simulated = len(judged[BY_PRE].background)
        apart = scene.detector(1.0).background(simulated, seed=setting.seed)
        judged[FAR_APART] = replace(judged[BY_PRE], background=apart.scores)
        sample = resampled(int(scene.pairs.run.max()) + 1, simulated, rng, replicates)
        figures = {name: each.figures(*sample) for name, each in judged.items()}
        for name, figure in figures.items():
            days.setdefault(name, []).append(figure)
        separate = sum((run.stop - run.start) // (2 * WINDOW) for run in scene.runs[scene.trained :])
        alarms[regimes[i].name] = {name: rate_interval(figure[1], separate) for name, figure in figures.items()}
    day = {name: np.mean(figure, axis=0) for name, figure in days.items()}
    scene, levels = scenes[0], setting.pick(ADDED, (HARD_NOISE,))
    floor = (read_unit(RUNNING.unit)[1].min() - scene.model.level) / scene.model.noise
    noisy: dict[float, dict[str, Array]] = {}
    for added in setting.track(levels, "added noise", len(levels)):
        judged = judge(scene, np.full_like(scene.pairs.after, floor), added, setting.rng(21, int(added)))
        simulated = len(judged[BY_PRE].background)
        sample = resampled(int(scene.pairs.run.max()) + 1, simulated, setting.rng(22), replicates)
        noisy[added] = {name: each.figures(*sample) for name, each in judged.items()}
    scanned = study_scan(scene, setting)
    data = {
        "fitted": {
            regime.name: {**asdict(s.model), "runs": len(s.runs), "trained": s.trained, "pairs": len(s.pairs.run)}
            for regime, s in zip(regimes, scenes, strict=True)
        },
        "alarm_rate": alarms,
        "day_auc": {name: interval(figure[0]) for name, figure in day.items() if name != FAR_APART},
        "day_power": {name: interval(figure[2]) for name, figure in day.items()},
        "added": list(noisy),
        "noise_power": {name: [interval(each[name][2]) for each in noisy.values()] for name in noisy[HARD_NOISE]},
        "noise_alarms": {name: [interval(each[name][1]) for each in noisy.values()] for name in noisy[HARD_NOISE]},
        "scan": scanned,
    }
    hard = noisy[HARD_NOISE]
    lead = {
        "day": interval(day[BY_PRE][0] - day[L2][0]),
        "wide": interval(day[BY_WIDE][0] - day[L2][0]),
        "noise": interval(hard[BY_PRE][2] - hard[L2][2]),
        "prior": interval(hard[BY_PRE][2] - hard[DISTANCE][2]),
    }
    return conclude(data, lead)


def conclude(data: dict[str, Any], lead: dict[str, list[float]]) -> Outcome:
    """Findings, and what they say together."""
    scanned, hard = data["scan"], data["added"].index(HARD_NOISE)
    day, noise = data["day_auc"], {name: values[hard] for name, values in data["noise_power"].items()}
    leads = "PRE leads"
    # a lead that plain distance to the fitted level has as well is that of knowing the level
    known = "holds" + " when the level is known" * (standing(lead["prior"]) != "ahead of")
    findings = [
        *(Finding(f"alarms at 5 %, {name}", percent(rates[BY_PRE])) for name, rates in data["alarm_rate"].items()),
        Finding("same, windows simulated apart", percent(data["alarm_rate"][RUNNING.name][FAR_APART])),
        *(Finding(f"another day: AUC, {name}", share(day[name])) for name in (BY_PRE, BY_SHAPE, "plugin", L2, RBF)),
        Finding("lead of PRE over l2", share(lead["day"]), leads, verdict(lead["day"])),
        Finding("same, with a wider p prior", share(lead["wide"]), leads, verdict(lead["wide"])),
        *(Finding(f"off, in noise: power, {name}", share(noise[name])) for name in (BY_PRE, BY_WIDE, L2, DISTANCE)),
        Finding("lead of PRE over l2", share(lead["noise"]), leads, verdict(lead["noise"], known)),
        Finding("lead over distance to level", share(lead["prior"]), leads, verdict(lead["prior"])),
        *(Finding(f"switches found, {name}", _counts(scanned, name)) for name in scanned["found"]),
    ]
    return Outcome(tuple(findings), _sentence(data["alarm_rate"], lead), {**data, "lead": lead})


def _sentence(alarms: Mapping[str, Mapping[str, Sequence[float]]], lead: Mapping[str, Sequence[float]]) -> str:
    """False alarms and leads in words."""
    rates = [each[BY_PRE] for each in alarms.values()]
    above, below = sum(low > RATE for _, low, _ in rates), sum(high < RATE for _, _, high in rates)
    kept = "keep" if above + below == 0 else "exceed" if above else "stay below"
    noise, level_too = standing(lead["noise"]), standing(lead["prior"]) != "ahead of"
    why = ", by the normal level that its prior knows" * (noise == "ahead of" and level_too)
    return (
        f"Thresholds from the fitted model {kept} their false-alarm rate on real runs. "
        f"Between days PRE is {standing(lead['day'])} the l2 cost of ruptures. In noise it is {noise} it{why}; "
        f"it is {standing(lead['prior'])} the plain distance to the normal level."
    )


def _counts(scanned: Mapping[str, Any], name: str) -> str:
    """Switches that a method found, and its alarms elsewhere."""
    return f"{scanned['found'][name]} of {len(scanned['switches'])}, {scanned['false'][name]} false"


def share(values: Sequence[float]) -> str:
    """A figure with its interval."""
    return "{:.3f} [{:.3f}, {:.3f}]".format(*values)


def percent(values: Sequence[float]) -> str:
    """A rate with its interval."""
    return "{:.1f} % [{:.1f}, {:.1f}]".format(*(100.0 * value for value in values))


def standing(values: Sequence[float]) -> str:
    """Where PRE stands, from the interval of its lead."""
    _, low, high = values
    return "ahead of" if low > 0.0 else "behind" if high < 0.0 else "level with"


def verdict(values: Sequence[float], holds: str = "holds") -> str:
    """Whether PRE leads."""
    found = standing(values)
    return holds if found == "ahead of" else f"does not hold: {'behind' if found == 'behind' else 'no difference'}"


def draw(data: Mapping[str, Any]) -> Figure:
    """The series with what was found, its scores, and three comparisons."""
    figure = new_figure(13.0, 9.5)
    grid = figure.add_gridspec(3, 3, height_ratios=[1.0, 1.0, 1.5])
    top = figure.add_subplot(grid[0, :])
    _draw_series(top, figure.add_subplot(grid[1, :], sharex=top), data["scan"])
    rates, auc, noise = (figure.add_subplot(grid[2, i]) for i in range(3))
    shown = {f"{unit}: {name}": each[name] for unit, each in data["alarm_rate"].items() for name in DRAWN}
    _draw_rows(rates, [(name, [100.0 * value for value in values]) for name, values in shown.items()])
    rates.axvline(100.0 * RATE, color=GREY, linestyle="--")
    rates.set(xlabel="false alarms in real runs, %", title="Nominal rate 5 % (dashed)")
    _draw_rows(auc, sorted(data["day_auc"].items(), key=lambda row: -row[1][0]))
    auc.axvline(0.5, color=GREY, linestyle="--")
    auc.set(xlabel="area under the ROC curve", title="A window of another day")
    colours = {DISTANCE: PINK, BY_PRE: BLUE, "plugin": GREEN, L2: ORANGE, RBF: AMBER, BY_WIDE: GREY, BY_SHAPE: SKY}
    for name, colour in colours.items():
        middle, low, high = np.array(data["noise_power"][name]).T
        noise.fill_between(data["added"], low, high, color=colour, alpha=0.12, linewidth=0.0)
        noise.plot(data["added"], middle, "o--" if name == DISTANCE else "o-", color=colour, label=name)
    noise.set(xlabel="sd of added noise / fitted noise", ylabel="power at 5 % false alarms", ylim=(0.0, 1.02))
    noise.set_title("Switched off, in added noise")
    set_legend(noise, 2)
    return figure


def _draw_series(series: Any, scores: Any, scanned: Mapping[str, Any]) -> None:
    """Vibration with real switches and alarms of three methods; PRE's score with its threshold."""
    series.plot(scanned["day"], scanned["vibration"], color=GREY, linewidth=0.8)
    height = max(scanned["vibration"])
    marks = zip(scanned["alarms"].items(), (BLUE, ORANGE, GREEN), strict=True)
    for i, ((name, times), colour) in enumerate(marks):
        place = np.full(len(times), -height * (0.08 + 0.09 * i))
        series.plot(
            times,
            place,
            "|",
            color=colour,
            markersize=9,
            markeredgewidth=1.6,
            label=f"{name}: {_counts(scanned, name)}",
        )
    series.set(ylabel="vibration magnitude")
    series.set_title("Unit 1 after the days that the priors were fitted to: switches that each method found")
    series.legend(fontsize=8, ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.08), frameon=False)
    series.tick_params(labelbottom=False)
    series.set_yticks([tick for tick in series.get_yticks() if 0.0 <= tick <= height])
    scores.plot(scanned["scored"], np.maximum(scanned["score"], 1e-3), color=BLUE, linewidth=0.8)
    scores.axhline(scanned["threshold"], color=ORANGE, linestyle="--")
    scores.set(yscale="log", xlabel="days since 9 December 2023", ylabel="score of PRE")
    scores.set_title(f"Scan with neighbouring windows of {WINDOW * MINUTES} minutes; dashed: threshold from simulation")


def _draw_rows(axes: Any, rows: Sequence[tuple[str, Sequence[float]]]) -> None:
    """A figure with its interval on each row."""
    for i, (name, (middle, low, high)) in enumerate(rows):
        colour = BLUE if name.endswith(BY_PRE) else SKY if BY_PRE in name else ORANGE if "ruptures" in name else GREY
        axes.plot([low, high], [i, i], color=colour, linewidth=2.0)
        axes.plot([middle], [i], "o", color=colour)
    axes.set_yticks(range(len(rows)), [name for name, _ in rows], fontsize=8)
    axes.invert_yaxis()
    axes.grid(axis="y", color=LIGHT)
    axes.set_axisbelow(True)
