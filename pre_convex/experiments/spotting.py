"""Spotting a word among others by cepstra: scores of a scene's windows, tuned on some voices and judged on others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from ..applications.detection import Detector
from ..applications.explanation.fidelity import roc_area
from ..entropy import Array
from ..errors import SolveError
from ..solvers.batch import make_batch
from .areas import mean_interval
from .record import Finding, Setting
from .speech import Scene, make_scenes, voices

__all__ = [
    "METHODS",
    "Judged",
    "Method",
    "best",
    "by_sentence",
    "judge",
    "ridge",
    "spot",
    "spot_findings",
    "spot_sentence",
]

#: the rivals of a Bayes factor
RATIOS = ("PRE, q noise", "PRE, q speech", "plugin")

#: Newton steps that a ridge may take; small ones need many
STEPS = 2000
#: rows of the prior of speech in general
ROWS_Q = 400
#: windows that a score is averaged over
WIDTHS = (1, 9, 15, 21, 31, 41)
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
    for _ in range(STEPS):
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
    raise SolveError(f"ridge: no proof after {STEPS} steps")


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
    detector = Detector(scene.generic[:ROWS_Q], scene.words[word], noise=sd, features="linear", method="evidence")
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


_SD, _STRENGTH, _Y_Q = (0.7, 1.4, 2.8, 5.6, 11.2), (0.01, 0.03, 0.3, 3.0), ("next window", "mean of q")
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
            areas.append(roc_area(inside, smooth))
        judged.append(Judged(method, options, width, tuple(hits), tuple(areas)))
    return judged


def best(tried: Sequence[Judged]) -> Judged:
    """The options and width of greatest merit."""
    return max(tried, key=lambda judged: judged.merit)


def beyond(judged: Judged) -> dict[str, Judged]:
    """For every option chosen at an end of its grid, the same one step further, yet to be judged.

    No smoothing at all is no edge, and a method without options has none.
    """
    grid = {name: values for name, values in judged.method.grid.items() if len(values) > 1 and name != "y_q"}
    further = {}
    for name, values in grid.items():
        for last, former in ((values[0], values[1]), (values[-1], values[-2])):
            if judged.options[name] == last:
                further[name] = replace(judged, options={**judged.options, name: last**2 / former})
    if grid and judged.width == WIDTHS[-1]:
        further["width"] = replace(judged, width=2 * WIDTHS[-1] - WIDTHS[-2])
    return further


def gains_beyond(tuned: Judged, scenes: Sequence[Scene]) -> dict[str, float]:
    """How much merit one step beyond the end of a grid would have added."""
    return {
        name: judge(tuned.method, step.options, (step.width,), scenes)[0].merit - tuned.merit
        for name, step in beyond(tuned).items()
    }


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
    spoken = [" ".join(scene.sentence.words) for scene in test for _ in scene.sentence.words]
    result["methods"] = {}
    for method in setting.track(METHODS, "methods", len(METHODS)):
        settings = method.settings(setting.quick)
        tried = [judged for options in settings for judged in judge(method, options, WIDTHS, tuning)]
        tuned = best(tried)
        judged = judge(method, tuned.options, (tuned.width,), test)[0]
        by_y_q = {y_q: best([j for j in tried if j.options.get("y_q") == y_q]).merit for y_q in _y_q(tried)}
        result["methods"][method.name] = {
            "options": {**tuned.options, "width": tuned.width},
            "edges": {} if setting.quick else gains_beyond(tuned, tuning),
            "merit_by_y_q": by_y_q,
            "tuning": _summary(tuned, None),
            "test": _summary(judged, spoken),
            "hits": judged.hits,
            "auc": judged.auc,
        }
    result["leads"] = {
        name: {
            key: by_sentence(_values(result, "Bayes factor", key) - _values(result, name, key), spoken)
            for key in ("auc", "hits")
        }
        for name in RATIOS
    }
    result["noise_less_plugin"] = {
        key: by_sentence(_values(result, "PRE, q noise", key) - _values(result, "plugin", key), spoken)
        for key in ("auc", "hits")
    }
    return result


def _y_q(tried: Sequence[Judged]) -> list[str]:
    return sorted({judged.options["y_q"] for judged in tried if "y_q" in judged.options})


def _values(result: Mapping[str, Any], name: str, key: str) -> Array:
    return np.array(result["methods"][name][key], dtype=float)


def by_sentence(values: Array, sentences: Sequence[str]) -> list[float]:
    """A mean over words with its 95 % interval; sentences are independent, words of one and voices are not.

    Examples
    --------
    >>> [round(v, 2) for v in by_sentence(np.array([1.0, 3.0, 4.0, 4.0]), ["a", "a", "b", "b"])]
    [3.0, -9.71, 15.71]
    """
    names = np.array(sentences)
    return mean_interval(np.array([values[names == name].mean() for name in np.unique(names)]))


def _summary(judged: Judged, sentences: Sequence[str] | None) -> dict[str, Any]:
    """Hits and mean AUC, with intervals where sentences are given."""
    hits, areas = np.array(judged.hits, dtype=float), np.array(judged.auc)
    found: dict[str, Any] = {"hits": int(hits.sum()), "words": len(hits), "mean": float(areas.mean())}
    if sentences is not None:
        found |= {
            key: np.clip(by_sentence(values, sentences)[1:], 0.0, 1.0)
            for key, values in (("share", hits), ("interval", areas))
        }
    return found


def spot_findings(tested: Mapping[str, Any]) -> list[Finding]:
    """The repaired variant on voices that nothing was tuned on."""
    findings = [Finding("words swapped, new voices: chance", f"{100 * tested['chance']:.0f} % hits; AUC 0.5")]
    for name, facts in tested["methods"].items():
        test = facts["test"]
        (low, high), (left, right) = test["share"], test["interval"]
        hits = f"{test['hits']} of {test['words']}"
        # its score is the same for every word of a sentence, so that it hits one of them
        hits += ", by construction" if name == "energy" else f" ({100 * low:.0f}–{100 * high:.0f} %)"
        findings.append(Finding(f"hits; AUC: {name}", f"{hits}; {test['mean']:.2f} ({left:.2f}–{right:.2f})"))
    for name, lead in tested["leads"].items():
        text = "AUC {:+.2f} ({:+.2f} to {:+.2f}); hits {:+.0%} ({:+.0%} to {:+.0%})".format(*lead["auc"], *lead["hits"])
        findings.append(Finding(f"Bayes factor less {name}", text))
    text = "AUC {:+.2f} ({:+.2f} to {:+.2f}); hits {:+.0%} ({:+.0%} to {:+.0%})".format(
        *tested["noise_less_plugin"]["auc"], *tested["noise_less_plugin"]["hits"]
    )
    edges = [
        f"{name}, {option} {gain:+.2f}"
        for name, facts in tested["methods"].items()
        for option, gain in facts["edges"].items()
    ]
    return [
        *findings,
        Finding("PRE, q noise, less plugin", text),
        Finding("at a grid's end: merit one step beyond", "; ".join(edges) or "none"),
    ]


def spot_sentence(tested: Mapping[str, Any]) -> str:
    """Who leads beyond chance, in words."""
    parts = []
    for key, called in (("auc", "AUC"), ("hits", "hits")):
        ahead = [name for name, lead in tested["leads"].items() if lead[key][1] > 0.0]
        behind = [name for name, lead in tested["leads"].items() if lead[key][2] < 0.0]
        alike = [name for name in tested["leads"] if name not in ahead + behind]
        places = (("is ahead of", ahead), ("is behind", behind), ("is not shown to differ from", alike))
        said = ", ".join(f"{place} {' and '.join(names)}" for place, names in places if names)
        parts.append(f"by {called} a Bayes factor {said}")
    return "; ".join(parts)
