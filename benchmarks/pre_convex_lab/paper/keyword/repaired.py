"""The repaired set-up: finding a word by its cepstra, with every method tuned on some voices and tested on others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from pre_convex._internal.typing import Array
from pre_convex.applications.detection import Detector
from pre_convex.data.batch import make_batch
from pre_convex.errors import SolveError

from ..intervals import mean_interval
from ..record import Finding, Setting
from .speech import Scene, make_scenes, voices

__all__ = [
    "METHODS",
    "WIDTHS",
    "Method",
    "Trial",
    "compare_methods",
    "comparison_findings",
    "mean_over_sentences",
    "ridge_scores",
    "try_method",
]

#: methods that the Bayes factor is compared with
RATIOS = ("PRE, q noise", "PRE, q speech", "plugin")

#: most Newton steps of the ridge solver; small penalties need many
STEPS = 2000
#: rows of the prior of other speech
ROWS_Q = 400
#: numbers of successive windows that scores are averaged over
WIDTHS = (1, 9, 15, 21, 31, 41)
#: signal-to-noise ratio
DECIBELS = 10.0
#: role, number of voices, and sentences of each voice
SPEAKERS = (("tuning", 2, 4), ("test", 4, 4))
SPEAKERS_QUICK = (("tuning", 1, 1), ("test", 2, 2))


def ridge_scores(features: Array, targets: Array, log_bases: Array, strength: float, tol: float = 1e-8) -> Array:
    """−ℓ with ½λ‖δ‖² added to [P], which is the minimum of KL(μ ‖ base) + ‖b − F'μ‖²/2λ over weights μ.

    Newton's method on all problems at once, until every duality gap is below the tolerance: at δ and its weights μ, the
    values of the two programs differ by ‖b − F'μ − λδ‖²/2λ.
    """
    W, k = targets.shape
    batch = make_batch(features, W, None, log_bases)
    batch = batch.normalised(batch.summarise_base().level)
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
    raise SolveError(f"ridge: gap above {tol:g} after {STEPS} Newton steps")


def posterior_ratio(scene: Scene, word: str, *, q: str, y_q: str, sd: float, strength: float) -> Array:
    """PRE with a ridge: p is the word, q is noise or other speech, y_q is the next window or always the mean of q."""
    x_q = scene.noise if q == "noise" else scene.generic[:ROWS_Q]
    priors = Detector(scene.words[word], x_q, noise=sd, features="linear").priors
    targets = priors.p.posterior(priors.p.log_likelihoods(scene.cepstra)).mean
    fixed = np.broadcast_to(x_q.mean(axis=0), scene.cepstra.shape)
    log_bases = priors.q.log_likelihoods(scene.cepstra_after if y_q == "next window" else fixed)
    return ridge_scores(x_q, targets, log_bases, strength)


def plugin(scene: Scene, word: str, *, sd: float, strength: float) -> Array:
    """Prior ratio of word and noise, with the same ridge, times the likelihood ratio."""
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
    """Log mean likelihood under the word, minus that under other speech."""
    detector = Detector(scene.generic[:ROWS_Q], scene.words[word], noise=sd, features="linear", method="evidence")
    return detector.scores(scene.cepstra, scene.cepstra, warn=False, swap=False).scores


def energy(scene: Scene, word: str) -> Array:
    """Energy of the window, whatever the word."""
    return np.asarray(np.square(scene.sound).sum(axis=1))


def paper(scene: Scene, word: str, *, variance: float, sd_q: float) -> Array:
    """‖b − mean‖ in the paper's set-up, which determines its score."""
    x_q = sd_q * np.random.default_rng(0).normal(size=(ROWS_Q, scene.sound.shape[1]))
    priors = Detector(scene.quiet_words[word], x_q, noise=np.sqrt(variance), features="lag-products").priors
    b, mean = (
        side.posterior(side.log_likelihoods(y)).mean
        for side, y in ((priors.p, scene.sound), (priors.q, scene.sound_after))
    )
    return np.asarray(np.linalg.norm(b - mean, axis=1))


@dataclass(frozen=True)
class Method:
    """A function that scores all windows of a scene for one word, and the grid of options it is tuned over."""

    name: str
    score: Callable[..., Array]
    grid: Mapping[str, Sequence[Any]]

    def settings(self, quick: bool) -> Iterable[dict[str, Any]]:
        """Every combination of options; in a quick run only the middle value of each."""
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
class Trial:
    """A method with its options and smoothing width, and its hits and AUC for every word of every scene."""

    method: Method
    options: dict[str, Any]
    width: int
    hits: tuple[bool, ...]
    auc: tuple[float, ...]

    @property
    def merit(self) -> float:
        """The tuning criterion: share of hits plus mean AUC."""
        return float(np.mean(self.hits) + np.mean(self.auc))


def try_method(method: Method, options: dict[str, Any], widths: Sequence[int], scenes: Sequence[Scene]) -> list[Trial]:
    """A trial for each width, in which every word of every scene is the keyword once.

    A hit is a peak inside the word; the AUC compares windows inside the word with those outside.
    """
    from scipy.ndimage import uniform_filter1d
    from sklearn.metrics import roc_auc_score

    cases = [(scene, word) for scene in scenes for word in scene.sentence.words]
    scores = [method.score(scene, word, **options) for scene, word in cases]
    trials = []
    for width in widths:
        hits, auc = [], []
        for (scene, word), values in zip(cases, scores, strict=True):
            smooth, inside = uniform_filter1d(values, width, mode="nearest"), scene.inside(word)
            hits.append(bool(inside[np.argmax(smooth)]))
            auc.append(float(roc_auc_score(inside, smooth)))
        trials.append(Trial(method, options, width, tuple(hits), tuple(auc)))
    return trials


def best(trials: Sequence[Trial]) -> Trial:
    """The trial with the largest merit."""
    return max(trials, key=lambda trial: trial.merit)


def beyond_grid(trial: Trial) -> dict[str, Trial]:
    """For every option at an end of its grid, the trial with the option one step further, not yet run.

    No smoothing is not an end, and methods without options have no grid.
    """
    grid = {name: values for name, values in trial.method.grid.items() if len(values) > 1 and name != "y_q"}
    further = {}
    for name, values in grid.items():
        for last, previous in ((values[0], values[1]), (values[-1], values[-2])):
            if trial.options[name] == last:
                further[name] = replace(trial, options={**trial.options, name: last**2 / previous})
    if grid and trial.width == WIDTHS[-1]:
        further["width"] = replace(trial, width=2 * WIDTHS[-1] - WIDTHS[-2])
    return further


def gains_beyond_grid(tuned: Trial, scenes: Sequence[Scene]) -> dict[str, float]:
    """Merit that one step beyond the end of a grid would have added."""
    return {
        name: try_method(tuned.method, step.options, (step.width,), scenes)[0].merit - tuned.merit
        for name, step in beyond_grid(tuned).items()
    }


def compare_methods(setting: Setting) -> dict[str, Any]:
    """Tune every method on the tuning voices, then test it on the test voices."""
    result: dict[str, Any] = {"decibels": DECIBELS}
    scenes: list[list[Scene]] = []
    for stream, (role, speakers, sentences) in enumerate(setting.pick(SPEAKERS, SPEAKERS_QUICK)):
        chosen = voices(role)[:speakers]
        result[role] = [voice.name for voice in chosen]
        rngs = [setting.rng(2, stream, i) for i in range(speakers)]
        scenes.append(
            [s for v, rng in zip(chosen, rngs, strict=True) for s in make_scenes(v, DECIBELS, sentences, rng)]
        )
    tuning, test = scenes
    result["chance"] = float(np.mean([s.inside(word).mean() for s in test for word in s.sentence.words]))
    result["words"] = [word for scene in test for word in scene.sentence.words]
    sentence_of = [" ".join(scene.sentence.words) for scene in test for _ in scene.sentence.words]
    result["methods"] = {}
    for method in setting.track(METHODS, "methods", len(METHODS)):
        trials = [
            trial for options in method.settings(setting.quick) for trial in try_method(method, options, WIDTHS, tuning)
        ]
        tuned = best(trials)
        tested = try_method(method, tuned.options, (tuned.width,), test)[0]
        choices = sorted({trial.options["y_q"] for trial in trials if "y_q" in trial.options})
        result["methods"][method.name] = {
            "options": {**tuned.options, "width": tuned.width},
            "edges": {} if setting.quick else gains_beyond_grid(tuned, tuning),
            "merit_by_y_q": {y_q: best([t for t in trials if t.options.get("y_q") == y_q]).merit for y_q in choices},
            "tuning": _summary(tuned, None),
            "test": _summary(tested, sentence_of),
            "hits": tested.hits,
            "auc": tested.auc,
        }

    def lead(one: str, other: str) -> dict[str, list[float]]:
        left, right = (result["methods"][name] for name in (one, other))
        differences = {key: np.subtract(left[key], right[key], dtype=float) for key in ("auc", "hits")}
        return {key: mean_over_sentences(values, sentence_of) for key, values in differences.items()}

    result["leads"] = {name: lead("Bayes factor", name) for name in RATIOS}
    result["noise_less_plugin"] = lead("PRE, q noise", "plugin")
    return result


def mean_over_sentences(values: Array, sentences: Sequence[str]) -> list[float]:
    """Mean over words with its 95 % interval; only sentences are independent, not their words, nor the voices.

    Examples
    --------
    >>> [round(v, 2) for v in mean_over_sentences(np.array([1.0, 3.0, 4.0, 4.0]), ["a", "a", "b", "b"])]
    [3.0, -9.71, 15.71]
    """
    names = np.array(sentences)
    return mean_interval(np.array([values[names == name].mean() for name in np.unique(names)]))


def _summary(trial: Trial, sentences: Sequence[str] | None) -> dict[str, Any]:
    """Hits and mean AUC, with intervals if sentences are given."""
    hits, auc = np.array(trial.hits, dtype=float), np.array(trial.auc)
    summary: dict[str, Any] = {"hits": int(hits.sum()), "words": len(hits), "mean": float(auc.mean())}
    if sentences is not None:
        summary |= {
            key: np.clip(mean_over_sentences(values, sentences)[1:], 0.0, 1.0)
            for key, values in (("share", hits), ("interval", auc))
        }
    return summary


def comparison_findings(tested: Mapping[str, Any]) -> list[Finding]:
    """Findings on the test voices."""
    findings = [Finding("repaired, new voices: chance", f"{100 * tested['chance']:.0f} % hits; AUC 0.5")]
    for name, results in tested["methods"].items():
        test = results["test"]
        (low, high), (left, right) = test["share"], test["interval"]
        hits = f"{test['hits']} of {test['words']}"
        # energy has the same peak for every word of a sentence, so it hits exactly one
        hits += ", by construction" if name == "energy" else f" ({100 * low:.0f}–{100 * high:.0f} %)"
        findings.append(Finding(f"hits; AUC: {name}", f"{hits}; {test['mean']:.2f} ({left:.2f}–{right:.2f})"))
    leads = {f"Bayes factor − {name}": lead for name, lead in tested["leads"].items()}
    for question, lead in (leads | {"PRE, q noise − plugin": tested["noise_less_plugin"]}).items():
        text = "AUC {:+.2f} ({:+.2f} to {:+.2f}); hits {:+.0%} ({:+.0%} to {:+.0%})".format(*lead["auc"], *lead["hits"])
        findings.append(Finding(question, text))
    edges = [
        f"{name}, {option} {gain:+.2f}"
        for name, results in tested["methods"].items()
        for option, gain in results["edges"].items()
    ]
    return [*findings, Finding("gain of merit one step beyond a grid's end", "; ".join(edges) or "none")]
