"""The experiment ``vibration``: changes of a real sensor series, detected by PRE with fitted priors and by ruptures.

The series are vibrations of two ventilation units, one value every ten minutes for thirty days each (the
``hvac_system`` data of skchange, recorded by Soundsensing). They have no labels, so changes are made or found in three
ways: the second window of a pair is replaced by one of another day; the unit is switched off in added noise; and the
real switches of unit 1, whose levels differ by a factor of five or more. Successive windows within a run have no change
and give the false alarms.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pre_convex._internal.typing import Array
from pre_convex.applications.detection import Background, Detector
from pre_convex.plots.canvas import AMBER, BLUE, GREEN, GREY, LIGHT, ORANGE, PINK, SKY, new_figure, set_legend

from ..intervals import bootstrap_interval
from ..record import Finding, Outcome, Setting
from .data import MINUTES, WINDOW, read_unit
from .evaluation import RATE, Scores, compare, judge_lead, judge_rate, rate_interval, resample
from .methods import (
    DISTANCE,
    L2,
    PLAIN_PRE,
    PRE_SHAPE,
    PRE_WIDE,
    RBF,
    REGIMES,
    RUNNING,
    Scene,
    level,
    load_ruptures,
    make_scene,
    score_all,
    scores,
    split_gains,
)
from .state_space import Model

if TYPE_CHECKING:
    from pre_convex.plots.canvas import Figure

TITLE = "Does PRE with fitted priors detect changes of real vibrations better than ruptures, at its nominal alarm rate?"

#: false-alarm rate per window of the scan
SCAN_RATE = 0.002
#: largest distance of a detected change from a real one, in time points
NEAR = 3
#: PRE with a threshold from pairs whose windows are simulated independently instead of in succession
INDEPENDENT = "PRE, independent windows"
#: methods whose false alarms are drawn
DRAWN = (PLAIN_PRE, L2, INDEPENDENT)
#: standard deviations of added noise, in units of the fitted noise
ADDED = (4.0, 8.0, 12.0, 16.0, 24.0)
#: methods that PRE is compared with, in AUC between days and in power in noise
RIVALS, RIVALS_IN_NOISE = (L2, RBF, "plugin", "kde"), (L2, DISTANCE, "plugin", "kde")
PELT, SCHWARZ = "ruptures, PELT", "ruptures, PELT, Schwarz"
#: random matchings of days or draws of noise, and bootstrap replicates, in a full and in a quick run
DRAWS, REPLICATES = (8, 3), (999, 199)


def scan_series(scene: Scene, setting: Setting) -> dict[str, Any]:
    """Detect the real switches in the held-out series of unit 1, by PRE and by ruptures (sliding window, PELT)."""
    days, vibration = read_unit(RUNNING.unit)
    runs = scene.runs[scene.trained :][: setting.pick(None, 4)]
    held_out = slice(runs[0].start - 4 * WINDOW, runs[-1].stop + 4 * WINDOW)
    earlier, days, vibration = vibration[: runs[0].start], days[held_out], vibration[held_out]
    y = (vibration - scene.model.level) / scene.model.noise
    switches = np.flatnonzero(np.diff((vibration > RUNNING.low).astype(int))) + 1
    # a window may be in either state, running or off, of the days that were fitted
    off = (earlier.min() - scene.model.level) / scene.model.noise
    prior_p = np.concatenate([scene.prior_p, np.full_like(scene.prior_p, off)])
    before, after = scene.background[:, :WINDOW], scene.background[:, WINDOW:]
    detector = Detector(prior_p, scene.prior_q, noise=1.0, features=level)
    background = Background(scores(detector, before, after))
    scan = detector.scan(y, background=background, rate=SCAN_RATE, verbose=setting.show, warn=False)
    ruptures, gains = load_ruptures(), Background(split_gains(1.0)[L2](before, after))
    window = ruptures.Window(width=2 * WINDOW, model="l2", jump=1).fit(y)
    # searched for peaks by our scan, as the search of ruptures stops if splitting a long segment gains little
    window_scan = replace(scan, scores=window.score, times=window.inds, threshold=gains.threshold(SCAN_RATE))
    # Schwarz's criterion (BIC): the noise has variance one, and a change adds two parameters, a level and a time
    schwarz = 2.0 * math.log(len(y))
    penalty = schwarz * calibrate_pelt(scene.model, schwarz, setting)
    pelt = ruptures.KernelCPD(kernel="linear", min_size=2).fit(y[:, None])
    alarms = {
        PLAIN_PRE: sorted(peak.time for peak in scan.peaks()),
        "ruptures, window": sorted(peak.time for peak in window_scan.peaks()),
        PELT: pelt.predict(pen=penalty)[:-1],
        SCHWARZ: pelt.predict(pen=schwarz)[:-1],
    }
    distances = {name: np.abs(np.subtract.outer(switches, times)) for name, times in alarms.items()}
    return {
        "day": days,
        "vibration": vibration,
        "scored": days[scan.times],
        "score": scan.scores,
        "threshold": scan.threshold,
        "switches": days[switches],
        "alarms": {name: days[times] for name, times in alarms.items()},
        "found": {name: int((distance.min(axis=1) <= NEAR).sum()) for name, distance in distances.items()},
        "false": {name: int((distance.min(axis=0) > NEAR).sum()) for name, distance in distances.items()},
        "days": days[-1] - days[0],
        "penalty": penalty / schwarz,
        "ess_q": float(np.median(scan.ess_q)),
    }


def calibrate_pelt(model: Model, schwarz: float, setting: Setting) -> float:
    """The smallest multiple of Schwarz's penalty with which PELT keeps the false-alarm rate of the scan."""
    rng, points = setting.rng(30), 64
    x = model.simulate(setting.pick(400, 60), points, rng)
    series = [
        load_ruptures().KernelCPD(kernel="linear", min_size=2).fit(row[:, None]) for row in x + rng.normal(size=x.shape)
    ]
    for factor in np.arange(1.0, 20.0, 0.5):
        changes = sum(len(each.predict(pen=factor * schwarz)) - 1 for each in series)
        if changes <= SCAN_RATE * x.size:
            break
    return float(factor)


def run(setting: Setting) -> Outcome:
    """Measure changes between days in three regimes, switches in noise in one, and scan the series of unit 1."""
    regimes = REGIMES[:: setting.pick(1, 2)]
    scenes = [make_scene(regime, setting, setting.rng(i)) for i, regime in enumerate(regimes)]
    levels = setting.pick(ADDED, (8.0, 16.0))
    data = {
        "fitted": {regime.name: describe(s) for regime, s in zip(regimes, scenes, strict=True)},
        "draws": setting.pick(*DRAWS),
        **measure_days(dict(zip((regime.name for regime in regimes), scenes, strict=True)), setting),
        "added": list(levels),
        **measure_noise(scenes[0], levels, setting),
        "scan": scan_series(scenes[0], setting),
    }
    return Outcome(tuple(find(data)), claims(data), data)


def measure_days(scenes: Mapping[str, Scene], setting: Setting) -> dict[str, Any]:
    """False alarms in each regime, and AUC and power if the second window is from another day."""
    draws = setting.pick(*DRAWS)
    by_regime: dict[str, list[Array]] = {}
    alarms: dict[str, dict[str, list[float]]] = {}
    for i, (regime, scene) in setting.track(enumerate(scenes.items()), "another day", len(scenes)):
        rng, pairs = setting.rng(10 + i), scene.pairs
        other = np.stack([pairs.other_day(rng) for _ in range(draws)])
        scored = score_all(scene, pairs.after[other], pairs.run[other], 0.0, rng)
        independent = scene.detector(1.0).background(len(scored[PLAIN_PRE].background), rng=setting.seed)
        scored[INDEPENDENT] = replace(scored[PLAIN_PRE], background=independent.scores)
        measured = _measure(scored, draws, setting, rng)
        for name, measures in measured.items():
            by_regime.setdefault(name, []).append(measures)
        disjoint = sum((run.stop - run.start) // (2 * WINDOW) for run in scene.runs[scene.trained :])
        alarms[regime] = {name: rate_interval(measures[1], disjoint) for name, measures in measured.items()}
    day = {name: np.mean(measures, axis=0) for name, measures in by_regime.items()}
    return {
        "alarm_rate": alarms,
        "day_auc": {name: bootstrap_interval(measures[0]) for name, measures in day.items() if name != INDEPENDENT},
        "day_power": {name: bootstrap_interval(measures[2]) for name, measures in day.items()},
        "day_lead": {name: bootstrap_interval(day[PLAIN_PRE][0] - day[name][0]) for name in (*RIVALS, PRE_WIDE)},
        "day_lead_by_regime": {
            regime: bootstrap_interval(by_regime[PLAIN_PRE][i][0] - by_regime[L2][i][0])
            for i, regime in enumerate(scenes)
        },
    }


def measure_noise(scene: Scene, levels: Sequence[float], setting: Setting) -> dict[str, Any]:
    """Power and false alarms if the unit is switched off in the second window, in several levels of added noise."""
    draws = setting.pick(*DRAWS)
    off = (read_unit(RUNNING.unit)[1].min() - scene.model.level) / scene.model.noise
    change = np.full((draws, *scene.pairs.after.shape), off)
    measured = [
        _measure(score_all(scene, change, None, added, setting.rng(21, int(added))), draws, setting, setting.rng(22))
        for added in setting.track(levels, "added noise", len(levels))
    ]
    return {
        "noise_power": {name: [bootstrap_interval(each[name][2]) for each in measured] for name in measured[0]},
        "noise_alarms": {name: [bootstrap_interval(each[name][1]) for each in measured] for name in measured[0]},
        "noise_lead": {
            name: [bootstrap_interval(each[PLAIN_PRE][2] - each[name][2]) for each in measured]
            for name in (*RIVALS_IN_NOISE, PRE_WIDE)
        },
    }


def _measure(scored: Mapping[str, Scores], draws: int, setting: Setting, rng: np.random.Generator) -> dict[str, Array]:
    """AUC, false-alarm rate and power of every method, with the same bootstrap samples."""
    runs, simulated = int(scored[PLAIN_PRE].run.max()) + 1, len(scored[PLAIN_PRE].background)
    resamples = resample(runs, draws, simulated, rng, setting.pick(*REPLICATES))
    return {name: each.measures(resamples) for name, each in scored.items()}


def describe(scene: Scene) -> dict[str, Any]:
    """The fitted model, sizes, effective sample sizes, and levels of held-out runs in units of the fitted sd."""
    pairs, spread = scene.pairs, scene.model.sd / scene.model.noise
    scored = scene.detector(1.0).scores(pairs.before, pairs.after, warn=False, swap=False)
    runs = [np.concatenate([pairs.before[pairs.run == r], pairs.after[pairs.run == r]]) for r in np.unique(pairs.run)]
    return {
        **asdict(scene.model),
        "runs": len(scene.runs),
        "trained": scene.trained,
        "pairs": len(pairs.run),
        "rows": len(scene.prior_p),
        "ess_p": float(np.median(scored.ess_p)),
        "ess_q": float(np.median(scored.ess_q)),
        "run_levels": [float(run.mean() / spread) for run in runs],
    }


def hard_level(data: Mapping[str, Any]) -> int:
    """Index of the noise level that findings refer to: ruptures, with its l2 cost, has a power nearest to one half."""
    return int(np.argmin([abs(values[0] - 0.5) for values in data["noise_power"][L2]]))


def find(data: Mapping[str, Any]) -> Iterator[Finding]:
    """The findings."""
    scanned, hard = data["scan"], hard_level(data)
    day, noise = data["day_auc"], {name: values[hard] for name, values in data["noise_power"].items()}
    lead, in_noise = data["day_lead"], {name: values[hard] for name, values in data["noise_lead"].items()}
    claim, added = "PRE leads", f"{data['added'][hard]:g}"
    for where, rate in alarm_rates(data, PLAIN_PRE).items():
        yield Finding(f"false alarms at 5 %: {where}", _rate(rate))
    yield Finding(
        "false alarms, windows simulated independently, unit 1", _rate(data["alarm_rate"][RUNNING.name][INDEPENDENT])
    )
    for name, text in exceeding(data).items():
        yield Finding(f"false alarms exceed 5 %: {name}", text)
    for name, fitted in data["fitted"].items():
        ess = f"{fitted['ess_p']:.0f}, {fitted['ess_q']:.0f} of {fitted['rows']} rows"
        yield Finding(f"ESS given y_p, y_q: {name}", ess)
    for name in (PLAIN_PRE, PRE_SHAPE, "plugin", L2, RBF):
        yield Finding(f"another day: AUC, {name}", _number(day[name]))
    for name in RIVALS:
        yield Finding(f"AUC, PRE − {name}", _number(lead[name]), claim, judge_lead(lead[name]))
    yield Finding(f"AUC, PRE − {PRE_WIDE}", _number(lead[PRE_WIDE]))
    for regime, values in data["day_lead_by_regime"].items():
        yield Finding(f"AUC, PRE − {L2}: {regime}", _number(values))
    for name in (PLAIN_PRE, PRE_WIDE, L2, DISTANCE):
        yield Finding(f"off, noise {added}: power, {name}", _number(noise[name]))
    # if the distance to the fitted level leads as well, the lead comes from knowing the level
    known = "holds" + " when the level is known" * (compare(in_noise[DISTANCE]) != "ahead of")
    for name in RIVALS_IN_NOISE:
        verdict = judge_lead(in_noise[name], known if name == L2 else "holds")
        yield Finding(f"power, PRE − {name}", _number(in_noise[name]), claim, verdict)
    yield Finding(f"power, PRE − {PRE_WIDE}", _number(in_noise[PRE_WIDE]))
    levels = ", ".join(f"{sd:g}" for sd in data["added"])
    leads = ", ".join(f"{values[0]:.2f}" for values in data["noise_lead"][L2])
    yield Finding(f"power, PRE − {L2}, noise {levels}", leads)
    for name in scanned["found"]:
        yield Finding(f"switches found, {name}", _counts(scanned, name))


def alarm_rates(data: Mapping[str, Any], name: str) -> dict[str, list[float]]:
    """False-alarm rates of a method in every regime and at every noise level."""
    by_regime = {regime: rates[name] for regime, rates in data["alarm_rate"].items()}
    return by_regime | {
        f"noise {sd:g}": rate for sd, rate in zip(data["added"], data["noise_alarms"].get(name, ()), strict=False)
    }


def exceeding(data: Mapping[str, Any]) -> dict[str, str]:
    """Where methods other than PRE have significantly more false alarms than the nominal rate."""
    found = {}
    for name in data["noise_alarms"]:
        where = [
            f"{place} {100 * rate[0]:.0f} %"
            for place, rate in alarm_rates(data, name).items()
            if judge_rate(rate) == "exceeded"
        ]
        if where and name != PLAIN_PRE:
            found[name] = ", ".join(where)
    return found


def claims(data: Mapping[str, Any]) -> dict[str, bool]:
    """What the numbers say of false alarms, and of PRE beside other methods between days and in noise."""
    hard, rates = hard_level(data), alarm_rates(data, PLAIN_PRE)
    found = {
        "PRE nowhere exceeds its nominal false-alarm rate of 5 %": "exceeded" not in map(judge_rate, rates.values())
    }
    for name, phrase in (
        (L2, "the l2 cost of ruptures"),
        ("plugin", "the plugin ratio"),
        ("kde", "the plugin ratio with kernel densities"),
    ):
        found[f"between days PRE is ahead of {phrase}"] = compare(data["day_lead"][name]) == "ahead of"
    for name, phrase in (
        (L2, "the l2 cost"),
        (DISTANCE, "the plain distance to the normal level"),
        ("plugin", "the plugin ratio"),
    ):
        found[f"in noise PRE is ahead of {phrase}"] = compare(data["noise_lead"][name][hard]) == "ahead of"
    return found


def _rate(interval: Sequence[float]) -> str:
    """A false-alarm rate with its interval, and whether the nominal one is kept."""
    text = "{:.1f} % [{:.1f}, {:.1f}]".format(*(100.0 * value for value in interval))
    return f"{text}: {judge_rate(interval)}"


def _counts(scanned: Mapping[str, Any], name: str) -> str:
    """Number of switches that a method found, and of its false alarms."""
    return f"{scanned['found'][name]} of {len(scanned['switches'])}, {scanned['false'][name]} false"


def _number(interval: Sequence[float]) -> str:
    """A number with its interval."""
    return "{:.3f} [{:.3f}, {:.3f}]".format(*interval)


def draw(data: Mapping[str, Any]) -> Figure:
    """Draw the series with its alarms, the scores, and three comparisons."""
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
    colours = {PLAIN_PRE: BLUE, "plugin": GREEN, L2: ORANGE, RBF: AMBER, PRE_WIDE: GREY, PRE_SHAPE: SKY, DISTANCE: PINK}
    for name, colour in colours.items():
        power, low, high = np.array(data["noise_power"][name]).T
        noise.fill_between(data["added"], low, high, color=colour, alpha=0.12, linewidth=0.0)
        noise.plot(data["added"], power, "--" if name == DISTANCE else "o-", color=colour, label=name)
    noise.set(xlabel="sd of added noise / fitted noise", ylabel="power at 5 % false alarms", ylim=(0.0, 1.02))
    noise.set_title("Switched off, in added noise")
    set_legend(noise, 2)
    return figure


def _draw_series(series: Any, scores: Any, scanned: Mapping[str, Any]) -> None:
    """Draw the vibration with the alarms of all methods, and PRE's score with its threshold."""
    days, vibration = np.array(scanned["day"]), np.array(scanned["vibration"])
    missing = np.flatnonzero(np.diff(days) > 1.5 * MINUTES / 1440.0) + 1
    series.plot(np.insert(days, missing, np.nan), np.insert(vibration, missing, np.nan), color=GREY, linewidth=0.8)
    height = max(scanned["vibration"])
    marks = zip(scanned["alarms"].items(), (BLUE, ORANGE, GREEN, AMBER), strict=True)
    for i, ((name, times), colour) in enumerate(marks):
        row = np.full(len(times), -height * (0.08 + 0.09 * i))
        label = f"{name}: {_counts(scanned, name)}"
        series.plot(times, row, "|", color=colour, markersize=9, markeredgewidth=1.6, label=label)
    series.set(ylabel="vibration magnitude")
    series.set_title("Unit 1 after the days used for fitting: switches found by each method")
    series.legend(fontsize=8, ncols=4, loc="upper center", bbox_to_anchor=(0.5, -0.05), frameon=False)
    series.tick_params(labelbottom=False)
    series.set_yticks([tick for tick in series.get_yticks() if 0.0 <= tick <= height])
    scores.plot(scanned["scored"], np.maximum(scanned["score"], 1e-3), color=BLUE, linewidth=0.8)
    scores.axhline(scanned["threshold"], color=ORANGE, linestyle="--")
    scores.set(yscale="log", xlabel="days since 9 December 2023", ylabel="score of PRE")
    scores.set_title(f"Scan with successive windows of {WINDOW * MINUTES} minutes; dashed: threshold from simulation")


def _draw_rows(axes: Any, rows: Sequence[tuple[str, Sequence[float]]]) -> None:
    """Draw a value with its interval on each row."""
    for i, (name, (value, low, high)) in enumerate(rows):
        colour = (
            BLUE if name.endswith(PLAIN_PRE) else SKY if PLAIN_PRE in name else ORANGE if "ruptures" in name else GREY
        )
        axes.plot([low, high], [i, i], color=colour, linewidth=2.0)
        axes.plot([value], [i], "o", color=colour)
    axes.set_yticks(range(len(rows)), [name for name, _ in rows], fontsize=8)
    axes.invert_yaxis()
    axes.grid(axis="y", color=LIGHT)
    axes.set_axisbelow(True)
