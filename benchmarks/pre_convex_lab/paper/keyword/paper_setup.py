"""The paper's set-up, in which the score has no finite value: proofs, what a stopped descent returns, and peaks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from pre_convex._internal.typing import Array, Index
from pre_convex.applications.detection import Detector
from pre_convex.data.batch import make_batch
from pre_convex.feasibility.hull import Position, minimal_radius
from pre_convex.problem import RatioProblem

from ..intervals import mean_interval
from ..record import Finding, Setting
from .speech import SIZE, STRETCHES, Sentence, Voice, halve_rate, noisy, stretched, windows

KEYWORD = "bank"
#: the paper's numbers: variance of the likelihood, standard deviation of x_q
VARIANCE, SD_Q = 0.18, 0.01
#: y_q has no effect if reordering them changes no score by more than this share
NO_EFFECT = 0.01
#: methods whose peaks are counted
METHODS = ("PRE", "plugin", "energy")


@dataclass(frozen=True)
class Reading:
    """One reading of the paper's set-up, which leaves several choices open.

    Attributes
    ----------
    name : str
    amplitude : float
        Factor on all sounds.
    noise : float
        Standard deviation of the noise added to the sentence, before the factor.
    variance, sd_q : float
        Variance of the likelihood, and standard deviation of x_q.
    rows_q : int
        Rows of x_q.
    step, step_p : int
        Samples between windows of the sentence, and between windows of the word.
    half_rate : bool
        Whether to halve the sampling rate.
    later : bool
        Whether y_p is the later of the two windows.
    """

    name: str
    amplitude: float = 1.0
    noise: float = 0.1
    variance: float = VARIANCE
    sd_q: float = SD_Q
    rows_q: int = 1500
    step: int = 100
    step_p: int = 100
    half_rate: bool = False
    later: bool = False


@dataclass(frozen=True, eq=False)
class Pairs:
    """All pairs of windows of a sentence, with everything that the paper's score depends on.

    Attributes
    ----------
    sentence : Sentence
    middle : array of shape (W,)
        Sample in the middle of each y_p.
    detector : Detector
    reading : Reading
    Y_p, Y_q : arrays of shape (W, 500)
        The windows.
    targets : array of shape (W, 499)
        b, the posterior means of the p features.
    ess_p : array of shape (W,)
        Effective sample sizes given y_p.
    """

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
        """F, the features of the q rows."""
        return self.detector.priors.q.features

    def log_bases(self, Y_q: Array | None = None) -> Array:
        """Log base weights, given y_q or other windows instead."""
        return self.detector.priors.q.log_likelihoods(self.Y_q if Y_q is None else Y_q)

    def distance(self) -> Array:
        """‖b − m‖, where m is the mean of F under the base weights."""
        return np.asarray(
            np.linalg.norm(self.targets - self.detector.priors.q.posterior(self.log_bases()).mean, axis=1)
        )

    def energy(self) -> Array:
        """Energy of y_p."""
        return np.asarray(np.square(self.Y_p).sum(axis=1))

    def word(self, scores: Array) -> str:
        """The word at the peak of the scores."""
        return self.sentence.word_at(self.middle[np.argmax(scores)])

    def problem(self, w: int) -> RatioProblem:
        """The problem of pair w, with R = 0."""
        return RatioProblem(self.targets[w], self.features, self.log_bases(self.Y_q[w : w + 1])[0])


def pair_up(voice: Voice, reading: Reading, rng: np.random.Generator) -> Pairs:
    """The paper's set-up for one voice; if the voice has fewer than ten recordings of the word, they are stretched."""
    sentence, recordings = voice.sentences[0], voice.words[KEYWORD]
    if len(recordings) < 10:
        recordings = tuple(stretched(sound, factor) for sound in recordings for factor in STRETCHES)
    if reading.half_rate:
        starts = tuple(start // 2 for start in sentence.starts)
        sentence = Sentence(halve_rate(sentence.sound), sentence.words, starts)
        recordings = tuple(map(halve_rate, recordings))
    recording = reading.amplitude * noisy(sentence.sound, reading.noise, rng)
    x_p = np.concatenate([windows(reading.amplitude * s, SIZE, reading.step_p) for s in recordings])
    x_q = reading.sd_q * rng.normal(size=(reading.rows_q, SIZE))
    cut, gap = windows(recording, SIZE, reading.step), SIZE // reading.step
    Y_p, Y_q = (cut[gap:], cut[:-gap]) if reading.later else (cut[:-gap], cut[gap:])
    middle = SIZE * (0.5 + reading.later) + reading.step * np.arange(len(Y_p), dtype=float)
    detector = Detector(x_p, x_q, noise=np.sqrt(reading.variance), features="lag-products")
    side = detector.priors.p
    posterior = side.posterior(side.log_likelihoods(Y_p))
    return Pairs(sentence, middle, detector, reading, Y_p, Y_q, posterior.mean, posterior.ess)


def descend(features: Array, targets: Array, log_bases: Array, rate: float, steps: int) -> Array:
    """−ℓ after a fixed number of gradient steps from δ = 0: the score if one overlooks that it is unbounded."""
    W, all_pairs = len(targets), np.arange(len(targets))
    batch = make_batch(features, W, None, log_bases)
    batch = batch.normalised(batch.summarise_base().level)
    b, delta = targets - batch.centre, np.zeros_like(targets)
    log_z = np.zeros(W)
    for _ in range(steps):
        now = batch.moments(delta, all_pairs, log_z)
        delta, log_z = delta + rate * (b - now.mean), now.log_z
    return np.asarray((b * delta).sum(axis=1) - batch.moments(delta, all_pairs, log_z).log_z)


def rank_correlation(x: Array, y: Array) -> float:
    """Spearman's rank correlation."""
    from scipy.stats import spearmanr

    return float(spearmanr(x, y)[0])


def certify_outside(pairs: Pairs, chosen: Index) -> dict[str, Array]:
    """Distances of some targets from the hull, checked here from the separating direction and the nearest point.

    The proof does not depend on y_q: v separates b from every row, whatever its weight.
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
    """Scores of the plugin, and the radius of its prior ratio: 1 % above the smallest one with a solution."""
    priors = pairs.detector.priors
    least = minimal_radius(RatioProblem(priors.p.features.mean(axis=0), priors.q.features)).radius
    sd = np.sqrt(pairs.reading.variance)
    detector = Detector(priors.p.x, priors.q.x, noise=sd, features="lag-products", radius=1.01 * least, method="plugin")
    return detector.scores(pairs.Y_p, pairs.Y_q, warn=False, swap=False).scores, 1.01 * least


def examine(voice: Voice, reading: Reading, hulls: int, rng: np.random.Generator, *, steps: int = 30) -> dict[str, Any]:
    """Everything that is measured for one voice and one reading; ``hulls`` windows get a proof."""
    from sklearn.metrics import roc_auc_score

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
        "auc": {name: float(roc_auc_score(inside, values)) for name, values in methods.items()},
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


def count_peaks(reading: Reading, chosen: Sequence[Voice], draws: int, setting: Setting) -> dict[str, Any]:
    """For each voice, how many draws of the noise put each method's peak in the keyword."""
    jobs = [(i, draw) for i in range(len(chosen)) for draw in range(draws)]
    counts = {name: [0] * len(chosen) for name in METHODS}
    for i, draw in setting.track(jobs, "peaks", len(jobs)):
        pairs = pair_up(chosen[i], reading, setting.rng(3, i, draw))
        # the score increases with ‖b − m‖, which is cheaper
        scores = {"PRE": pairs.distance(), "plugin": plugin_scores(pairs)[0], "energy": pairs.energy()}
        for name, values in scores.items():
            counts[name][i] += pairs.word(values) == KEYWORD
    return {"of": len(jobs), "draws": draws, **counts}


def setup_findings(
    main: Mapping[str, Any], variants: Sequence[Mapping[str, Any]], peaks: Mapping[str, Any]
) -> list[Finding]:
    """Findings on the paper's set-up as written, with other voices, and in other readings."""
    as_written = [main, *(v for v in variants if v["reading"]["name"] == "as written")]
    readings = [v for v in variants if v["reading"]["name"] != "as written"]
    auc = {name: np.mean([v["auc"][name] for v in as_written]) for name in main["auc"]}
    low, high = min(main["relative_radius"]), max(main["relative_radius"])
    outside, hulls = sum(v["outside"] for v in readings), sum(v["hulls"] for v in readings)
    finite = "does not hold: no finite δ" if main["outside"] == main["hulls"] else "holds when b is inside"
    return [
        Finding(
            "R = 0: windows with b outside the hull, proven",
            f"{main['outside']} of {main['hulls']}; at least {main['deviations']:.0f} sd outside",
            "each has a score",
            finite,
        ),
        Finding("windows outside the hull, other readings", f"{outside} of {hulls}"),
        Finding("distance to the hull / to the mean", f"{low:.3f} to {high:.4f}"),
        Finding("rank correlation of score (stopped descent) and ‖b − mean‖²", f"{main['rank_distance']:.4f}"),
        Finding("rank correlation of score and energy of y_p", f"{main['rank_energy']:.2f}"),
        Finding(
            "change of scores when the y_q are reordered",
            f"at most {100 * main['swap']:.2f} %; ESS of q {100 * main['ess_q']:.0f} % of n",
            "y_q matters",
            "does not hold" if main["swap"] < NO_EFFECT else "holds",
        ),
        Finding(
            f"peaks in “{KEYWORD}” over voices and noise",
            f"PRE {sum(peaks['PRE'])}, energy {sum(peaks['energy'])}, plugin {sum(peaks['plugin'])} of {peaks['of']}",
            "PRE yes, plugin no",
            judge_peaks(peaks),
        ),
        Finding(
            "share of peaks, PRE − plugin, over voices", "{:+.0%} ({:+.0%} to {:+.0%})".format(*_lead(peaks, "plugin"))
        ),
        Finding("radius of the plugin's prior ratio", f"{main['plugin_radius']:.3g}, 1 % above the smallest"),
        Finding(
            f"AUC of “{KEYWORD}”, mean of {len(as_written)} voices",
            f"PRE {auc['PRE']:.2f}, plugin {auc['plugin']:.2f}, energy {auc['energy']:.2f}",
            "plugin much less clear",
            "does not hold" if auc["plugin"] > auc["PRE"] - 0.05 else "holds",
        ),
    ]


def judge_peaks(peaks: Mapping[str, Any]) -> str:
    """Whether the score peaks in the word significantly more often than the plugin and than energy."""
    ahead = [_lead(peaks, name)[1] > 0.0 for name in ("plugin", "energy")]
    if all(ahead):
        return "holds"
    return "holds against the plugin, not against energy" if ahead[0] else "does not hold"


def _lead(peaks: Mapping[str, Any], name: str) -> list[float]:
    """PRE's share of peaks in the word minus another's, with its interval; the draws of a voice are one sample."""
    return mean_interval((np.array(peaks["PRE"]) - np.array(peaks[name])) / peaks["draws"])
