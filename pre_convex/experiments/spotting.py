"""Spotting a word among others by cepstra: scores of a scene's windows, tuned on some voices and judged on others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from ..applications.detection import Detector
from ..entropy import Array
from ..errors import SolveError
from ..solvers.batch import make_batch
from .record import Setting
from .speech import Scene, make_scenes, voices

__all__ = ["METHODS", "Judged", "Method", "auc", "best", "judge", "ridge", "spot"]

#: rows of the q prior where it is speech
ROWS_Q = 400
#: windows that a score is averaged over
WIDTHS = (1, 9, 15)
#: loudness of sentences above the noise in the repaired variant
DECIBELS = 10.0
#: voices and sentences of each that are tuned on and judged
SPEAKERS = (("tuning", 2, 4), ("test", 4, 4))
SPEAKERS_QUICK = (("tuning", 1, 1), ("test", 2, 2))


def ridge(features: Array, targets: Array, log_bases: Array, strength: float, tol: float = 1e-8) -> Array:
    """−ℓ with ½λ‖δ‖² added to [P], which is the least KL(μ ‖ base) + ‖b − F'μ‖²/2λ over weights μ.

    Newton steps for all problems together until every gap is proven: at δ and its weights μ both programs have values,
    and these differ by ‖b − F'μ − λδ‖²/2λ.
    """
    W, k = targets.shape
    batch = make_batch(features, W, None, log_bases)
    batch = batch.normalised(batch.survey().level)
    b, delta, length = targets - batch.centre, np.zeros((W, k)), np.ones(W)
    now = batch.moments(delta, np.arange(W), np.zeros(W), covariance=True)
    log_z, mean, H = now.log_z, now.mean, np.array(now.covariance)
    for _ in range(200):
        value = log_z - (b * delta).sum(axis=1) + 0.5 * strength * np.square(delta).sum(axis=1)
        residual = b - mean - strength * delta
        open_ = np.flatnonzero(np.square(residual).sum(axis=1) / (2.0 * strength) > tol * (1.0 + np.abs(value)))
        if not open_.size:
            return np.asarray(-value)
        step = np.linalg.solve(H[open_] + strength * np.eye(k), residual[open_, :, None])[:, :, 0]
        trial = delta[open_] + length[open_, None] * step
        there = batch.moments(trial, open_, log_z[open_], covariance=True)
        reached = there.log_z - (b[open_] * trial).sum(axis=1) + 0.5 * strength * np.square(trial).sum(axis=1)
        promised = length[open_] * (residual[open_] * step).sum(axis=1)
        good = reached <= value[open_] - 0.1 * promised + 1e-13 * (1.0 + np.abs(value[open_]))
        moved = open_[good]
        delta[moved], log_z[moved], mean[moved] = trial[good], there.log_z[good], there.mean[good]
        H[moved] = np.array(there.covariance)[good]
        length[open_] = np.where(good, 1.0, 0.5 * length[open_])
    raise SolveError("ridge: no proof after 200 steps")


def auc(scores: Array, inside: Any) -> float:
    """Chance that a window inside has a higher score than one outside."""
    from scipy.stats import rankdata

    n, ranks = int(np.count_nonzero(inside)), rankdata(scores)
    return float((ranks[inside].sum() - n * (n + 1) / 2) / (n * (len(scores) - n)))


def posterior_ratio(scene: Scene, word: str, *, q: str, y_q: str, sd: float, strength: float) -> Array:
    """PRE with a ridge: p is the word, q noise or speech, y_q the next window or the mean of q for all of them."""
    x_q = scene.noise if q == "noise" else scene.generic[:ROWS_Q]
    priors = Detector(scene.words[word], x_q, noise=sd, features="linear").priors
    targets = priors.p.posterior(priors.p.log_likelihoods(scene.cepstra)).mean
    fixed = np.broadcast_to(x_q.mean(axis=0), scene.cepstra.shape)
    log_bases = priors.q.log_likelihoods(scene.cepstra_after if y_q == "next window" else fixed)
    return ridge(x_q, targets, log_bases, strength)


def plugin(scene: Scene, word: str, *, sd: float, strength: float) -> Array:
    """Prior ratio of the word to noise, with the same ridge, times the ratio of the likelihoods."""
    detector = Detector(
        scene.words[word],
        scene.noise,
        noise=sd,
        features="linear",
        penalty=lambda delta: 0.5 * strength * (delta**2).sum(),
        method="plugin",
    )
    return detector.scores(scene.cepstra, scene.cepstra_after, warn=False, swap=False).scores


def bayes_factor(scene: Scene, word: str, *, sd: float) -> Array:
    """Log of the average likelihood under the word, less that under speech in general."""
    detector = Detector(scene.generic, scene.words[word], noise=sd, features="linear", method="evidence")
    return detector.scores(scene.cepstra, scene.cepstra, warn=False, swap=False).scores


def energy(scene: Scene, word: str) -> Array:
    """Sum of squares, the same for every word."""
    return np.asarray(np.square(scene.sound).sum(axis=1))


def paper(scene: Scene, word: str, *, variance: float, sd_q: float) -> Array:
    """‖b − mean‖ of the paper's set-up, which its score is a function of."""
    x_q = sd_q * np.random.default_rng(0).normal(size=(ROWS_Q, scene.sound.shape[1]))
    priors = Detector(scene.quiet_words[word], x_q, noise=np.sqrt(variance), features="lag-products").priors
    b, mean = (
        side.posterior(side.log_likelihoods(y)).mean
        for side, y in ((priors.p, scene.sound), (priors.q, scene.sound_after))
    )
    return np.asarray(np.linalg.norm(b - mean, axis=1))


@dataclass(frozen=True)
class Method:
    """A score of all windows of a scene for one word, and the options it may be tuned over."""

    name: str
    score: Callable[..., Array]
    grid: Mapping[str, Sequence[Any]]

    def settings(self, quick: bool) -> Iterable[dict[str, Any]]:
        """Every choice of options; the quick version takes the middle one of each."""
        ranges = [values[len(values) // 2 :][:1] if quick else values for values in self.grid.values()]
        return (dict(zip(self.grid, values, strict=True)) for values in product(*ranges))


_SD, _STRENGTH, _Y_Q = (0.7, 1.4, 2.8, 5.6), (0.03, 0.3, 3.0), ("next window", "mean of q")
METHODS = (
    Method("Bayes factor", bayes_factor, {"sd": (0.3, 0.6, 1.2)}),
    Method("PRE, q noise", partial(posterior_ratio, q="noise"), {"y_q": _Y_Q, "sd": _SD, "strength": _STRENGTH}),
    Method("PRE, q speech", partial(posterior_ratio, q="speech"), {"y_q": _Y_Q, "sd": _SD, "strength": _STRENGTH}),
    Method("plugin", plugin, {"sd": _SD, "strength": _STRENGTH}),
    Method("paper's set-up", paper, {"variance": (0.18,), "sd_q": (0.01,)}),
    Method("energy", energy, {}),
)


@dataclass(frozen=True)
class Judged:
    """How a method did on every word of every scene: hits, AUC, and what it was set to."""

    method: Method
    options: dict[str, Any]
    width: int
    hits: tuple[bool, ...]
    auc: tuple[float, ...]

    @property
    def merit(self) -> float:
        """What is tuned: share of hits plus mean AUC."""
        return float(np.mean(self.hits) + np.mean(self.auc))


def judge(method: Method, options: dict[str, Any], widths: Sequence[int], scenes: Sequence[Scene]) -> list[Judged]:
    """Every word of every scene is the keyword once: whether the peak lies in it, and how its windows stand out."""
    from scipy.ndimage import uniform_filter1d

    trials = [(scene, word) for scene in scenes for word in scene.sentence.words]
    found = [method.score(scene, word, **options) for scene, word in trials]
    judged = []
    for width in widths:
        hits, areas = [], []
        for (scene, word), scores in zip(trials, found, strict=True):
            smooth, inside = uniform_filter1d(scores, width, mode="nearest"), scene.inside(word)
            hits.append(bool(inside[np.argmax(smooth)]))
            areas.append(auc(smooth, inside))
        judged.append(Judged(method, options, width, tuple(hits), tuple(areas)))
    return judged


def best(method: Method, scenes: Sequence[Scene], quick: bool) -> Judged:
    """The options and width of greatest merit on these scenes."""
    tried = [j for options in method.settings(quick) for j in judge(method, options, WIDTHS, scenes)]
    return max(tried, key=lambda judged: judged.merit)


def spot(setting: Setting) -> dict[str, Any]:
    """Tune every method on the tuning voices, then judge it on the test voices."""
    result: dict[str, Any] = {"decibels": DECIBELS}
    heard: list[list[Scene]] = []
    for stream, (role, speakers, sentences) in enumerate(setting.pick(SPEAKERS, SPEAKERS_QUICK)):
        chosen = voices(role)[:speakers]
        result[role] = [voice.name for voice in chosen]
        rngs = [setting.rng(2, stream, i) for i in range(speakers)]
        heard.append([s for v, rng in zip(chosen, rngs, strict=True) for s in make_scenes(v, DECIBELS, sentences, rng)])
    tuning, test = heard
    result["chance"] = float(np.mean([s.inside(word).mean() for s in test for word in s.sentence.words]))
    result["words"] = [word for scene in test for word in scene.sentence.words]
    result["methods"] = {}
    for method in setting.track(METHODS, "methods", len(METHODS)):
        tuned = best(method, tuning, setting.quick)
        judged = judge(method, tuned.options, (tuned.width,), test)[0]
        result["methods"][method.name] = {
            "options": {**tuned.options, "width": tuned.width},
            "tuning": _summary(tuned),
            "test": _summary(judged),
            "hits": judged.hits,
            "auc": judged.auc,
        }
    areas = {name: np.array(facts["auc"]) for name, facts in result["methods"].items()}
    rival = max((name for name in areas if name.startswith("PRE")), key=lambda name: areas[name].mean())
    result["lead"] = {"over": rival, **_mean_interval(areas["Bayes factor"] - areas[rival])}
    return result


def _summary(judged: Judged) -> dict[str, Any]:
    """Hits with Wilson's interval, and the mean AUC with one over words."""
    from scipy.stats import binomtest

    hits, n, areas = sum(judged.hits), len(judged.hits), np.array(judged.auc)
    share = binomtest(hits, n).proportion_ci(method="wilson")
    return {"hits": hits, "words": n, "share": [share.low, share.high], **_mean_interval(areas)}


def _mean_interval(values: Array) -> dict[str, Any]:
    """A mean and its 95 % interval."""
    mean, margin = float(values.mean()), float(1.96 * values.std(ddof=1) / np.sqrt(len(values)))
    return {"mean": mean, "interval": [mean - margin, mean + margin]}
