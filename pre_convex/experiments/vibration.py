"""vibration: changes in a real sensor series, by PRE with fitted state-space priors and by ruptures.

The series are vibrations of two ventilation units, thirty days each, one value in ten minutes (the ``hvac_system``
data of skchange, recorded by Soundsensing). Nobody labelled them, so that what counts as a change is known in three
ways: a unit switches between levels that differ five-fold or more; a window of one day is followed by a window of
another day; and a real switch is buried in added noise. Windows that follow each other within one run of a unit
show no change and give the false alarms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..applications.detection import Background, Detector
from ..entropy import Array, log_of
from ..plots.canvas import AMBER, BLUE, GREEN, GREY, LIGHT, ORANGE, PINK, SKY, new_figure, set_legend
from .gains import load_ruptures, split_gains
from .hvac import MINUTES, WINDOW, read_unit
from .judging import RATE, calibrated, interval, rate_interval, resampled, standing, verdict
from .record import Finding, Outcome, Setting
from .regimes import (
    BY_PRE,
    BY_SHAPE,
    BY_WIDE,
    DISTANCE,
    L2,
    RBF,
    REGIMES,
    RUNNING,
    Scene,
    judge,
    level,
    make_scene,
    scores,
)
from .state_space import Model

if TYPE_CHECKING:
    from ..plots.canvas import Figure

TITLE = "real vibrations: does PRE with fitted priors detect changes better than ruptures, at an honest alarm rate?"

#: false-alarm rate of each window of the scan
SCAN_RATE = 0.002
#: a found change lies at most so many time points from the real one
NEAR = 3
#: PRE with the threshold that comes from windows simulated one by one instead of in neighbouring pairs
FAR_APART = "PRE, windows apart"
#: methods whose false alarms are drawn
DRAWN = (BY_PRE, L2, FAR_APART)
#: sd of added noise, as multiples of the fitted noise
ADDED = (4.0, 8.0, 12.0, 16.0, 24.0)
#: whom PRE's lead is taken over, in AUC between days and in power in noise
LED, LED_IN_NOISE = (L2, RBF, "plugin", "kde"), (L2, DISTANCE, "plugin", "kde")
PELT, SCHWARZ = "ruptures, PELT", "ruptures, PELT, Schwarz"


def study_scan(scene: Scene, setting: Setting) -> dict[str, Any]:
    """The held-out series of unit 1 with its real switches: PRE's scan, ruptures' sliding window, and its PELT."""
    days, vibration = read_unit(RUNNING.unit)
    runs = scene.runs[scene.trained :][: setting.pick(None, 4)]
    some = slice(runs[0].start - 4 * WINDOW, runs[-1].stop + 4 * WINDOW)
    earlier, days, vibration = vibration[: runs[0].start], days[some], vibration[some]
    y = (vibration - scene.model.level) / scene.model.noise
    switches = np.flatnonzero(np.diff((vibration > RUNNING.low).astype(int))) + 1
    # a window may lie in either state that the unit had on the days that were fitted
    off = (earlier.min() - scene.model.level) / scene.model.noise
    known = np.concatenate([scene.prior_p, np.full_like(scene.prior_p, off)])
    before, after = scene.background[:, :WINDOW], scene.background[:, WINDOW:]
    detector = Detector(known, scene.prior_q, noise=1.0, features=level)
    background = Background(scores(detector, before, after))
    found = detector.scan(y, background=background, rate=SCAN_RATE, verbose=setting.show, warn=False)
    ruptures, gains = load_ruptures(), Background(split_gains(1.0)[L2](before, after))
    window = ruptures.Window(width=2 * WINDOW, model="l2", jump=1).fit(y)
    # its own search stops where a split of a long segment gains little, as those of a periodic series do
    rival = replace(found, scores=window.score, times=window.inds, threshold=gains.threshold(SCAN_RATE))
    # Schwarz's criterion: the noise has variance one, and a change adds a level and a place
    schwarz = 2.0 * log_of(len(y))
    penalty = schwarz * calibrate_pelt(scene.model, schwarz, setting)
    pelt = ruptures.KernelCPD(kernel="linear", min_size=2).fit(y[:, None])
    alarms = {
        BY_PRE: sorted(peak.time for peak in found.peaks()),
        "ruptures, window": sorted(peak.time for peak in rival.peaks()),
        PELT: pelt.predict(pen=penalty)[:-1],
        SCHWARZ: pelt.predict(pen=schwarz)[:-1],
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
        "days": days[-1] - days[0],
        "penalty": penalty / schwarz,
        "ess_q": float(np.median(found.ess_q)),
    }


def calibrate_pelt(model: Model, schwarz: float, setting: Setting) -> float:
    """The least multiple of Schwarz's penalty with which PELT changes as seldom as the scan may raise an alarm."""
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
    """Three regimes with another day as change, one with a switch in noise, and the whole series of unit 1."""
    regimes = REGIMES[:: setting.pick(1, 2)]
    scenes = [make_scene(regime, setting, setting.rng(i)) for i, regime in enumerate(regimes)]
    replicates, draws = setting.pick(999, 199), setting.pick(8, 3)
    days: dict[str, list[Array]] = {}
    alarms: dict[str, dict[str, list[float]]] = {}
    for i, scene in setting.track(enumerate(scenes), "another day", len(scenes)):
        rng, pairs = setting.rng(10 + i), scene.pairs
        other = np.stack([pairs.other_day(rng) for _ in range(draws)])
        judged = judge(scene, pairs.after[other], pairs.run[other], 0.0, rng)
        simulated = len(judged[BY_PRE].background)
        apart = scene.detector(1.0).background(simulated, rng=setting.seed)
        judged[FAR_APART] = replace(judged[BY_PRE], background=apart.scores)
        sample = resampled(int(pairs.run.max()) + 1, draws, simulated, rng, replicates)
        figures = {name: each.figures(sample) for name, each in judged.items()}
        for name, figure in figures.items():
            days.setdefault(name, []).append(figure)
        separate = sum((run.stop - run.start) // (2 * WINDOW) for run in scene.runs[scene.trained :])
        alarms[regimes[i].name] = {name: rate_interval(figure[1], separate) for name, figure in figures.items()}
    day = {name: np.mean(figure, axis=0) for name, figure in days.items()}
    scene, levels = scenes[0], setting.pick(ADDED, (8.0, 16.0))
    floor = (read_unit(RUNNING.unit)[1].min() - scene.model.level) / scene.model.noise
    noisy: list[dict[str, Array]] = []
    for added in setting.track(levels, "added noise", len(levels)):
        change = np.full((draws, *scene.pairs.after.shape), floor)
        judged = judge(scene, change, None, added, setting.rng(21, int(added)))
        simulated = len(judged[BY_PRE].background)
        sample = resampled(int(scene.pairs.run.max()) + 1, draws, simulated, setting.rng(22), replicates)
        noisy.append({name: each.figures(sample) for name, each in judged.items()})
    data = {
        "fitted": {regime.name: describe(s) for regime, s in zip(regimes, scenes, strict=True)},
        "draws": draws,
        "alarm_rate": alarms,
        "day_auc": {name: interval(figure[0]) for name, figure in day.items() if name != FAR_APART},
        "day_power": {name: interval(figure[2]) for name, figure in day.items()},
        "day_lead": {name: interval(day[BY_PRE][0] - day[name][0]) for name in (*LED, BY_WIDE)},
        "day_lead_by_regime": {
            regime.name: interval(days[BY_PRE][i][0] - days[L2][i][0]) for i, regime in enumerate(regimes)
        },
        "added": list(levels),
        "noise_power": {name: [interval(each[name][2]) for each in noisy] for name in noisy[0]},
        "noise_alarms": {name: [interval(each[name][1]) for each in noisy] for name in noisy[0]},
        "noise_lead": {
            name: [interval(each[BY_PRE][2] - each[name][2]) for each in noisy] for name in (*LED_IN_NOISE, BY_WIDE)
        },
        "scan": study_scan(scene, setting),
    }
    return conclude(data)


def describe(scene: Scene) -> dict[str, Any]:
    """The fitted model, sizes, effective sample sizes, and levels of held-out runs in units of the fitted sd."""
    pairs, spread = scene.pairs, scene.model.sd / scene.model.noise
    found = scene.detector(1.0).scores(pairs.before, pairs.after, warn=False, swap=False)
    runs = [np.concatenate([pairs.before[pairs.run == r], pairs.after[pairs.run == r]]) for r in np.unique(pairs.run)]
    return {
        **asdict(scene.model),
        "runs": len(scene.runs),
        "trained": scene.trained,
        "pairs": len(pairs.run),
        "rows": len(scene.prior_p),
        "ess_p": float(np.median(found.ess_p)),
        "ess_q": float(np.median(found.ess_q)),
        "run_levels": [float(run.mean() / spread) for run in runs],
    }


def hard_level(data: Mapping[str, Any]) -> int:
    """Which noise findings are about: that in which ruptures, by its l2 cost, finds nearest to half of the switches."""
    return int(np.argmin([abs(values[0] - 0.5) for values in data["noise_power"][L2]]))


def conclude(data: Mapping[str, Any]) -> Outcome:
    """Findings, and what they say together."""
    scanned, hard = data["scan"], hard_level(data)
    day, noise = data["day_auc"], {name: values[hard] for name, values in data["noise_power"].items()}
    lead, in_noise = data["day_lead"], {name: values[hard] for name, values in data["noise_lead"].items()}
    claim, added = "PRE leads", f"{data['added'][hard]:g}"
    # a lead that plain distance to the fitted level has as well is that of knowing the level
    known = "holds" + " when the level is known" * (standing(in_noise[DISTANCE]) != "ahead of")
    along = ", ".join(f"{values[0]:.2f}" for values in data["noise_lead"][L2])
    findings = [
        *(Finding(f"alarms at 5 %: {where}", rated(values)) for where, values in places(data, BY_PRE).items()),
        Finding("alarms, windows simulated apart, unit 1", rated(data["alarm_rate"][RUNNING.name][FAR_APART])),
        *(Finding(f"alarms exceed 5 %: {name}", text) for name, text in exceeding(data).items()),
        *(
            Finding(f"ESS given y_p, y_q: {name}", f"{one['ess_p']:.0f}, {one['ess_q']:.0f} of {one['rows']} rows")
            for name, one in data["fitted"].items()
        ),
        *(Finding(f"another day: AUC, {name}", share(day[name])) for name in (BY_PRE, BY_SHAPE, "plugin", L2, RBF)),
        *(Finding(f"AUC of PRE less {name}", share(lead[name]), claim, verdict(lead[name])) for name in LED),
        Finding(f"AUC of PRE less {BY_WIDE}", share(lead[BY_WIDE])),
        *(Finding(f"AUC of PRE less l2, {name}", share(one)) for name, one in data["day_lead_by_regime"].items()),
        *(
            Finding(f"off, noise {added}: power, {name}", share(noise[name]))
            for name in (BY_PRE, BY_WIDE, L2, DISTANCE)
        ),
        *(
            Finding(f"power of PRE less {name}", share(one), claim, verdict(one, known if name == L2 else "holds"))
            for name, one in ((name, in_noise[name]) for name in LED_IN_NOISE)
        ),
        Finding(f"power of PRE less {BY_WIDE}", share(in_noise[BY_WIDE])),
        Finding(f"less l2, noise {', '.join(f'{sd:g}' for sd in data['added'])}", along),
        *(Finding(f"switches found, {name}", _counts(scanned, name)) for name in scanned["found"]),
    ]
    return Outcome(tuple(findings), _sentence(data), dict(data))


def places(data: Mapping[str, Any], name: str) -> dict[str, list[float]]:
    """False-alarm rates of a method in every regime and in every noise."""
    found = {regime: rates[name] for regime, rates in data["alarm_rate"].items()}
    return found | {
        f"noise {sd:g}": rate for sd, rate in zip(data["added"], data["noise_alarms"].get(name, ()), strict=False)
    }


def exceeding(data: Mapping[str, Any]) -> dict[str, str]:
    """Where methods other than PRE raise more false alarms than their rate, beyond chance."""
    found = {}
    for name in data["noise_alarms"]:
        where = [
            f"{place} {100 * rate[0]:.0f} %"
            for place, rate in places(data, name).items()
            if calibrated(rate) == "exceeded"
        ]
        if where and name != BY_PRE:
            found[name] = ", ".join(where)
    return found


def _sentence(data: Mapping[str, Any]) -> str:
    """False alarms and leads in words."""
    where: dict[str, list[str]] = {}
    for place, rate in places(data, BY_PRE).items():
        where.setdefault(calibrated(rate), []).append(place)
    alarms = "; ".join(f"{word} for {', '.join(names)}" for word, names in where.items())
    hard = hard_level(data)
    noise, distance = (data["noise_lead"][name][hard] for name in (L2, DISTANCE))
    why = ", by the normal level that its prior knows" * (
        standing(noise) == "ahead of" and standing(distance) != "ahead of"
    )
    beside = []
    for name, said in (("plugin", "the plugin"), ("kde", "the plugin with kernel densities")):
        day, noisy = (PLACES[standing(one)] for one in (data["day_lead"][name], data["noise_lead"][name][hard]))
        beside.append(f"{day} and {noisy} beside {said}")
    return (
        f"PRE's false-alarm rate of 5 %, from the fitted model, is {alarms}. Between days PRE is "
        f"{standing(data['day_lead'][L2])} the l2 cost of ruptures. In noise it is {standing(noise)} it{why}, and "
        f"{standing(distance)} the plain distance to that level. Between days and in noise it is {', '.join(beside)}."
    )


#: the same as an adverb
PLACES = {"ahead of": "ahead", "behind": "behind", "level with": "level"}


def rated(values: Sequence[float]) -> str:
    """A false-alarm rate with its interval, and whether the nominal one is kept."""
    return f"{percent(values)}: {calibrated(values)}"


def _counts(scanned: Mapping[str, Any], name: str) -> str:
    """Switches that a method found, and its alarms elsewhere."""
    return f"{scanned['found'][name]} of {len(scanned['switches'])}, {scanned['false'][name]} false"


def share(values: Sequence[float]) -> str:
    """A figure with its interval."""
    return "{:.3f} [{:.3f}, {:.3f}]".format(*values)


def percent(values: Sequence[float]) -> str:
    """A rate with its interval."""
    return "{:.1f} % [{:.1f}, {:.1f}]".format(*(100.0 * value for value in values))


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
    colours = {BY_PRE: BLUE, "plugin": GREEN, L2: ORANGE, RBF: AMBER, BY_WIDE: GREY, BY_SHAPE: SKY, DISTANCE: PINK}
    for name, colour in colours.items():
        middle, low, high = np.array(data["noise_power"][name]).T
        noise.fill_between(data["added"], low, high, color=colour, alpha=0.12, linewidth=0.0)
        noise.plot(data["added"], middle, "--" if name == DISTANCE else "o-", color=colour, label=name)
    noise.set(xlabel="sd of added noise / fitted noise", ylabel="power at 5 % false alarms", ylim=(0.0, 1.02))
    noise.set_title("Switched off, in added noise")
    set_legend(noise, 2)
    return figure


def _draw_series(series: Any, scores: Any, scanned: Mapping[str, Any]) -> None:
    """Vibration with real switches and alarms of all methods; PRE's score with its threshold."""
    days, vibration = np.array(scanned["day"]), np.array(scanned["vibration"])
    missing = np.flatnonzero(np.diff(days) > 1.5 * MINUTES / 1440.0) + 1
    series.plot(np.insert(days, missing, np.nan), np.insert(vibration, missing, np.nan), color=GREY, linewidth=0.8)
    height = max(scanned["vibration"])
    marks = zip(scanned["alarms"].items(), (BLUE, ORANGE, GREEN, AMBER), strict=True)
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
    series.legend(fontsize=8, ncols=4, loc="upper center", bbox_to_anchor=(0.5, -0.05), frameon=False)
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
