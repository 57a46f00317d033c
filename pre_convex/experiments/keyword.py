"""Keyword detection: the paper's set-up, where its score can say nothing, and a repaired one, judged on new voices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..applications.detection import Detector
from ..applications.explanation.fidelity import roc_area
from ..entropy import Array, Index
from ..feasibility import Position, minimal_radius
from ..plots.canvas import AMBER, BLUE, GREEN, GREY, LIGHT, ORANGE, new_figure
from ..problem import RatioProblem
from ..solvers.batch import make_batch
from .areas import mean_interval
from .record import Finding, Outcome, Setting
from .speech import SIZE, STRETCHES, Sentence, Voice, half, noisy, vary, voices, windows
from .spotting import spot, spot_findings, spot_sentence

if TYPE_CHECKING:
    from ..plots.canvas import Figure

TITLE = "Does the score find a keyword in noisy speech?"
KEYWORD = "bank"
#: the paper's numbers: variance of the likelihood, standard deviation of x_q
VARIANCE, SD_Q = 0.18, 0.01
#: a score that changes by less when y_q are swapped does not hear them, and ranks that agree beyond this are the same
DEAF, SAME_RANKS = 0.01, 0.99


@dataclass(frozen=True)
class Reading:
    """What the paper leaves open, or may mean: how loud, how noisy, how often."""

    name: str
    amplitude: float = 1.0
    noise: float = 0.1
    variance: float = VARIANCE
    sd_q: float = SD_Q
    rows_q: int = 1500
    step: int = 100
    step_p: int = 100
    half_rate: bool = False
    later: bool = False  # y_p is the later of the two windows


@dataclass(frozen=True, eq=False)
class Pairs:
    """All pairs of windows of a sentence, with the posterior of each: what the paper's score is made of."""

    sentence: Sentence
    middle: Array
    detector: Detector
    reading: Reading
    Y_p: Array
    Y_q: Array
    targets: Array
    ess_p: Array

    @property
    def features(self) -> Array:
        """F."""
        return self.detector.priors.q.features

    def log_bases(self, Y_q: Array | None = None) -> Array:
        """Logarithms of base weights, for y_q or for other windows in its place."""
        return self.detector.priors.q.log_likelihoods(self.Y_q if Y_q is None else Y_q)

    def distance(self) -> Array:
        """‖b − mean of F under the base weights‖."""
        return np.asarray(
            np.linalg.norm(self.targets - self.detector.priors.q.posterior(self.log_bases()).mean, axis=1)
        )

    def energy(self) -> Array:
        """Sum of squares of y_p."""
        return np.asarray(np.square(self.Y_p).sum(axis=1))

    def word(self, scores: Array) -> str:
        """The word at the highest score."""
        return self.sentence.word_at(self.middle[np.argmax(scores)])

    def problem(self, w: int) -> RatioProblem:
        """One pair as a problem with R = 0."""
        return RatioProblem(self.targets[w], self.features, self.log_bases(self.Y_q[w : w + 1])[0])


def pair_up(voice: Voice, reading: Reading, rng: np.random.Generator) -> Pairs:
    """The paper's set-up for one voice; a voice with few repetitions of the word gets more by stretching them."""
    sentence, spoken = voice.sentences[0], voice.words[KEYWORD]
    if len(spoken) < 10:
        spoken = tuple(vary(sound, stretch) for sound in spoken for stretch in STRETCHES)
    if reading.half_rate:
        starts = tuple(start // 2 for start in sentence.starts)
        sentence, spoken = Sentence(half(sentence.sound), sentence.words, starts), tuple(map(half, spoken))
    recording = reading.amplitude * noisy(sentence.sound, reading.noise, rng)
    x_p = np.concatenate([windows(reading.amplitude * s, SIZE, reading.step_p) for s in spoken])
    x_q = reading.sd_q * rng.normal(size=(reading.rows_q, SIZE))
    cut, gap = windows(recording, SIZE, reading.step), SIZE // reading.step
    Y_p, Y_q = (cut[gap:], cut[:-gap]) if reading.later else (cut[:-gap], cut[gap:])
    middle = SIZE * (0.5 + reading.later) + reading.step * np.arange(len(Y_p), dtype=float)
    detector = Detector(x_p, x_q, noise=np.sqrt(reading.variance), features="lag-products")
    side = detector.priors.p
    found = side.posterior(side.log_likelihoods(Y_p))
    return Pairs(sentence, middle, detector, reading, Y_p, Y_q, found.mean, found.ess)


def descend(features: Array, targets: Array, log_bases: Array, pace: float, steps: int) -> Array:
    """−ℓ after so many steps of gradient descent from δ = 0, as for a program thought to have a solution."""
    W, everyone = len(targets), np.arange(len(targets))
    batch = make_batch(features, W, None, log_bases)
    batch = batch.normalised(batch.survey().level)
    b, delta = targets - batch.centre, np.zeros_like(targets)
    log_z = np.zeros(W)
    for _ in range(steps):
        now = batch.moments(delta, everyone, log_z)
        delta, log_z = delta + pace * (b - now.mean), now.log_z
    return np.asarray((b * delta).sum(axis=1) - batch.moments(delta, everyone, log_z).log_z)


def rank_correlation(x: Array, y: Array) -> float:
    """Spearman's."""
    from scipy.stats import spearmanr

    return float(spearmanr(x, y)[0])


def certify_outside(pairs: Pairs, chosen: Index) -> dict[str, Array]:
    """Hull distances of some targets; what proves them is computed here again from the direction and the weights.

    No base weight enters: v separates b from every row whatever y_q is.
    """
    found: dict[str, list[float]] = {name: [] for name in ("proven", "radius", "deviations")}
    for w in chosen:
        hull = minimal_radius(pairs.problem(int(w)))
        b, F, v = pairs.targets[w], pairs.features, hull.direction
        heights = F @ v
        nearest = float(np.linalg.norm(b - hull.weights @ F[hull.index]))
        separates = v @ b - heights.max() > 0.0 and abs(np.linalg.norm(v) - 1.0) < 1e-9
        found["proven"].append(float(hull.position is Position.OUTSIDE and separates))
        found["radius"].append(nearest)
        found["deviations"].append(float((v @ b - heights.mean()) / heights.std()) if separates else 0.0)
    return {name: np.array(values) for name, values in found.items()}


def plugin_scores(pairs: Pairs) -> tuple[Array, float]:
    """The plugin's scores; its prior ratio has no solution either, and gets hardly more than the least radius."""
    priors = pairs.detector.priors
    least = minimal_radius(RatioProblem(priors.p.features.mean(axis=0), priors.q.features)).radius
    sd = np.sqrt(pairs.reading.variance)
    detector = Detector(priors.p.x, priors.q.x, noise=sd, features="lag-products", radius=1.01 * least, method="plugin")
    return detector.scores(pairs.Y_p, pairs.Y_q, warn=False, swap=False).scores, 1.01 * least


def examine(voice: Voice, reading: Reading, hulls: int, rng: np.random.Generator, *, steps: int = 30) -> dict[str, Any]:
    """All that is measured for one voice and one reading of the set-up."""
    pairs = pair_up(voice, reading, rng)
    chosen = np.unique(np.linspace(0, len(pairs.middle) - 1, hulls).astype(np.intp))
    proof, distance, energy = certify_outside(pairs, chosen), pairs.distance(), pairs.energy()
    problems = (pairs.features, pairs.targets)
    scores = descend(*problems, pairs.log_bases(), 1.0, steps)
    swapped = descend(*problems, pairs.log_bases(pairs.Y_q[::-1]), 1.0, steps)
    plugin, radius = plugin_scores(pairs)
    ess_q = pairs.detector.priors.q.posterior(pairs.log_bases()).ess
    first, last = pairs.sentence.span(KEYWORD)
    inside = (pairs.middle >= first) & (pairs.middle < last)
    methods = {"PRE": scores, "plugin": plugin, "energy": energy}
    return {
        "reading": asdict(reading),
        "voice": voice.name,
        "rate": voice.rate // (1 + reading.half_rate),
        "pairs": len(scores),
        "hulls": len(chosen),
        "outside": int(proof["proven"].sum()),
        "relative_radius": proof["radius"] / distance[chosen],
        "plugin_radius": radius,
        "deviations": float(proof["deviations"].min()),
        "rank_distance": rank_correlation(scores, distance),
        "rank_energy": rank_correlation(scores, energy),
        "swap": float(np.max(np.abs(swapped - scores) / scores)),
        "contrast": float(scores.max() / scores.min()),
        "ess_p": float(np.median(pairs.ess_p)) / len(pairs.detector.priors.p.x),
        "ess_q": float(ess_q.min()) / reading.rows_q,
        "peaks": {name: pairs.word(values) for name, values in methods.items()},
        "auc": {name: roc_area(inside, values) for name, values in methods.items()},
        "curves": {
            "seconds": pairs.middle / voice.rate * (1 + reading.half_rate),
            "chosen": chosen,
            **{name: values / values.max() for name, values in (*methods.items(), ("distance", distance**2))},
        },
    }


READINGS = (
    Reading("quieter", amplitude=0.1),
    Reading("much quieter", amplitude=0.03),
    Reading("louder", amplitude=5.0),
    Reading("less noise", noise=0.02),
    Reading("more noise", noise=0.4),
    Reading("0.18 is a standard deviation", variance=VARIANCE**2),
    Reading("0.01 is a variance", sd_q=SD_Q**0.5),
    Reading("more rows of q", rows_q=5000),
    Reading("more rows of p", step_p=25),
    Reading("8 kHz", half_rate=True),
    Reading("y_p after y_q", later=True),
)


def run(setting: Setting) -> Outcome:
    """The paper's set-up in several readings and voices; then the repaired variant, tuned and tested apart."""
    as_written = Reading("as written", rows_q=setting.pick(1500, 600), step=setting.pick(100, 250))
    speaker, others = voices("paper")[0], [*voices("tuning"), *voices("test")]
    main = examine(speaker, as_written, setting.pick(221, 6), setting.rng(0))
    jobs = [
        (speaker, reading) for reading in setting.pick(READINGS, (replace(as_written, name="8 kHz", half_rate=True),))
    ]
    jobs += [(voice, as_written) for voice in setting.pick(others, others[-1:])]
    variants = [
        examine(voice, reading, setting.pick(12, 2), setting.rng(1, i))
        for i, (voice, reading) in enumerate(setting.track(jobs, "readings", len(jobs)))
    ]
    for variant in variants:
        del variant["curves"]
    peaks = count_peaks(as_written, [speaker, *others][: setting.pick(7, 2)], setting.pick(10, 2), setting)
    tested = spot(setting)
    data = {
        "main": main,
        "sentence": _outline(speaker),
        "variants": variants,
        "peaks": peaks,
        "tested": tested,
    }
    return Outcome(
        (*_paper_findings(main, variants, peaks), *spot_findings(tested)), _verdict(main, peaks, tested), data
    )


def count_peaks(reading: Reading, chosen: Sequence[Voice], draws: int, setting: Setting) -> dict[str, Any]:
    """How often each method's peak lies in the keyword, for each voice, over draws of the noise."""
    jobs = [(i, draw) for i in range(len(chosen)) for draw in range(draws)]
    counts = {name: [0] * len(chosen) for name in ("PRE", "plugin", "energy")}
    for i, draw in setting.track(jobs, "peaks", len(jobs)):
        pairs = pair_up(chosen[i], reading, setting.rng(3, i, draw))
        # ‖b − mean‖ stands for the score, which rises with it
        scores = {"PRE": pairs.distance(), "plugin": plugin_scores(pairs)[0], "energy": pairs.energy()}
        for name, values in scores.items():
            counts[name][i] += pairs.word(values) == KEYWORD
    return {"of": len(jobs), "draws": draws, **counts}


CLAIMS = {"holds": "reproduces", "holds beside": "reproduces in part", "does not": "does not reproduce"}


def _verdict(main: Mapping[str, Any], peaks: Mapping[str, Any], tested: Mapping[str, Any]) -> str:
    """What holds, in words that follow from the figures."""
    judged = judge_peaks(peaks)
    claim = next(said for begins, said in reversed(CLAIMS.items()) if judged.startswith(begins))
    counts = ", ".join(f"{name} {sum(peaks[name])}" for name in ("PRE", "plugin", "energy"))
    ranks = f"{'ranks' if main['rank_distance'] > SAME_RANKS else 'does not rank'} windows as ‖b − mean‖ does"
    return (
        f"The claim {claim}: peaks in “{KEYWORD}”, {counts} of {peaks['of']}. b lies outside the hull for "
        f"{main['outside']} of {main['hulls']} windows, a descent stopped early {ranks}, and y_q plays "
        f"{'no' if main['swap'] < DEAF else 'a'} part. Repaired with cepstra and a ridge, and judged on new voices, "
        f"{spot_sentence(tested)}."
    )


def _outline(voice: Voice, points: int = 600) -> dict[str, Any]:
    """Loudness of the first sentence along time, and its words, for the figure."""
    sentence = voice.sentences[0]
    parts = np.array_split(sentence.sound, points)
    starts = [start / voice.rate for start in sentence.starts]
    return {
        "words": sentence.words,
        "starts": [*starts, len(sentence.sound) / voice.rate],
        "high": [part.max() for part in parts],
        "low": [part.min() for part in parts],
    }


def _paper_findings(
    main: Mapping[str, Any], variants: Sequence[Mapping[str, Any]], peaks: Mapping[str, Any]
) -> list[Finding]:
    """What the paper's set-up gives, as written, in other voices and in other readings."""
    same = [main, *(v for v in variants if v["reading"]["name"] == "as written")]
    readings = [v for v in variants if v["reading"]["name"] != "as written"]
    areas = {name: np.mean([v["auc"][name] for v in same]) for name in main["auc"]}
    low, high = min(main["relative_radius"]), max(main["relative_radius"])
    outside, hulls = sum(v["outside"] for v in readings), sum(v["hulls"] for v in readings)
    finite = "does not hold: no finite δ" if main["outside"] == main["hulls"] else "holds when b is inside"
    return [
        Finding(
            "R = 0: windows outside the hull, proven",
            f"{main['outside']} of {main['hulls']}; {main['deviations']:.0f} sd away or more",
            "a score each",
            finite,
        ),
        Finding("the same in other readings", f"{outside} of {hulls}", "", ""),
        Finding("distance to hull / to mean", f"{low:.3f} to {high:.4f}"),
        Finding("score (descent stopped) against ‖b − mean‖²", f"rank corr. {main['rank_distance']:.4f}"),
        Finding("score against energy of y_p", f"rank corr. {main['rank_energy']:.2f}"),
        Finding(
            "change when y_q are swapped",
            f"at most {100 * main['swap']:.2f} %; ESS of q {100 * main['ess_q']:.0f} % of n",
            "y_q is compared",
            "does not hold" if main["swap"] < DEAF else "holds",
        ),
        Finding(
            f"peak in “{KEYWORD}”: voices × noise",
            f"PRE {sum(peaks['PRE'])}, energy {sum(peaks['energy'])}, plugin {sum(peaks['plugin'])} of {peaks['of']}",
            "PRE does, plugin does not",
            judge_peaks(peaks),
        ),
        Finding("the same, PRE less plugin, by voice", _difference(peaks)),
        Finding("radius that the plugin's prior ratio got", f"{main['plugin_radius']:.3g}, the least and 1 %"),
        Finding(
            f"AUC of “{KEYWORD}”, mean of {len(same)} voices",
            f"PRE {areas['PRE']:.2f}, plugin {areas['plugin']:.2f}, energy {areas['energy']:.2f}",
            "plugin much less clear",
            "does not hold" if areas["plugin"] > areas["PRE"] - 0.05 else "holds",
        ),
    ]


def judge_peaks(peaks: Mapping[str, Any]) -> str:
    """Whether the score peaks in the word more often than the plugin and than loudness, beyond chance of the voices."""
    ahead = [_lead(peaks, name)[1] > 0.0 for name in ("plugin", "energy")]
    if all(ahead):
        return "holds"
    return "holds beside the plugin, not beside energy" if ahead[0] else "does not hold"


def _lead(peaks: Mapping[str, Any], name: str) -> list[float]:
    """How much larger PRE's share of peaks in the word is than another's: draws of one voice are one sample."""
    return mean_interval((np.array(peaks["PRE"]) - np.array(peaks[name])) / peaks["draws"])


def _difference(peaks: Mapping[str, Any]) -> str:
    return "{:+.0%} ({:+.0%} to {:+.0%})".format(*_lead(peaks, "plugin"))


def draw(data: Mapping[str, Any]) -> Figure:
    """The sentence with its scores, distances to the hull, and the repaired variant on new voices."""
    figure = new_figure(11.0, 8.6)
    grid = figure.add_gridspec(3, 2, height_ratios=(0.8, 1.5, 1.9))
    sound, scores = figure.add_subplot(grid[0, :]), figure.add_subplot(grid[1, :])
    main, sentence = data["main"], data["sentence"]
    ends = sentence["starts"]
    time = np.linspace(0.0, ends[-1], len(sentence["high"]))
    sound.fill_between(time, sentence["low"], sentence["high"], color=GREY, linewidth=0)
    for i, word in enumerate(sentence["words"]):
        for axes in (sound, scores):
            if word == KEYWORD:
                axes.axvspan(ends[i], ends[i + 1], color=AMBER, alpha=0.25, linewidth=0, zorder=0)
            axes.axvline(ends[i], color=LIGHT, linewidth=1.0, zorder=0)
        sound.text((ends[i] + ends[i + 1]) / 2, 1.02, word, ha="center", va="bottom")
    sound.set(yticks=[], ylim=(-1.0, 1.0), xlim=(0.0, ends[-1]))
    sound.tick_params(labelbottom=False)
    curves = main["curves"]
    for name, colour, width in (("energy", GREY, 1.2), ("plugin", ORANGE, 1.2), ("PRE", BLUE, 2.0)):
        label = {"PRE": "PRE (descent stopped)", "energy": "energy of y$_p$", "plugin": "plugin"}[name]
        scores.plot(curves["seconds"], curves[name], color=colour, linewidth=width, label=label)
    scores.plot(curves["seconds"], curves["distance"], color="black", linewidth=0.9, linestyle=":", label="‖b − mean‖²")
    scores.set(xlim=(0.0, ends[-1]), ylim=(-0.02, 1.3), xlabel="middle of y$_p$, seconds", ylabel="share of maximum")
    scores.legend(ncols=4, fontsize=9, loc="upper center")
    _draw_hull(figure.add_subplot(grid[2, 0]), main)
    _draw_tested(figure.add_subplot(grid[2, 1]), data["tested"])
    figure.suptitle("The paper's set-up (above and left) and a repaired one (right)", fontsize=12)
    return figure


def _draw_hull(axes: Any, main: Mapping[str, Any]) -> None:
    """Distance to the hull as a share of the distance to the mean."""
    seconds = np.array(main["curves"]["seconds"])[main["curves"]["chosen"]]
    axes.plot(seconds, main["relative_radius"], "o", color=BLUE, markersize=3)
    axes.axhline(1.0, color=GREY, linewidth=1.0)
    axes.axhline(0.0, color=ORANGE, linewidth=1.0)
    axes.text(seconds.mean(), 0.03, "here R = 0 would have a solution", ha="center", color=ORANGE, fontsize=9)
    axes.set(
        title="Where b lies outside the hull of the q features",
        xlabel="middle of y$_p$, seconds", ylabel="distance to hull / to mean", ylim=(-0.04, 1.08),
    )  # fmt: skip


def _draw_tested(axes: Any, tested: Mapping[str, Any]) -> None:
    """Hits and AUC of every method on the test voices."""
    names = list(tested["methods"])
    for shift, key, colour, label in ((-0.13, "hits", GREEN, "peak in the word"), (0.13, "auc", BLUE, "AUC")):
        for i, name in enumerate(names):
            test = tested["methods"][name]["test"]
            point = test["hits"] / test["words"] if key == "hits" else test["mean"]
            low, high = test["share"] if key == "hits" else test["interval"]
            if (name, key) != ("energy", "hits"):  # one word of each sentence, whatever is said
                axes.plot([low, high], [i + shift] * 2, color=colour, linewidth=2.0)
            axes.plot(point, i + shift, "o", color=colour, markersize=6, label=label if i == 0 else None)
    axes.axvline(tested["chance"], color=GREEN, linestyle=":", linewidth=1.0)
    axes.axvline(0.5, color=BLUE, linestyle=":", linewidth=1.0)
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    words = tested["methods"][names[0]]["test"]["words"]
    axes.set(
        title=f"Cepstra and ridge: {words} keywords, voices not tuned on\n(dotted: chance; 95 % intervals)",
        xlabel="share of keywords, or AUC", xlim=(0.0, 1.0),
    )  # fmt: skip
    axes.legend(fontsize=9, loc="lower right")
