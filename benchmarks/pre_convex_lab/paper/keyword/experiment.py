"""The experiment ``keyword``: both parts together, the verdict and the figure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pre_convex.plots.canvas import AMBER, BLUE, GREEN, GREY, LIGHT, ORANGE, new_figure

from ..record import Outcome, Setting
from .paper_setup import (
    KEYWORD,
    NO_EFFECT,
    READINGS,
    Reading,
    count_peaks,
    examine,
    judge_peaks,
    setup_findings,
)
from .repaired import compare_methods, comparison_findings
from .speech import Voice, voices

if TYPE_CHECKING:
    from pre_convex.plots.canvas import Figure

TITLE = "Does the score find a keyword in noisy speech?"
#: two rankings agree if their rank correlation is above this
SAME_RANKS = 0.99


def run(setting: Setting) -> Outcome:
    """Examine the paper's set-up in several readings and voices, then tune and test the repaired one."""
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
    tested = compare_methods(setting)
    data = {
        "main": main,
        "sentence": _outline(speaker),
        "variants": variants,
        "peaks": peaks,
        "tested": tested,
    }
    findings = (*setup_findings(main, variants, peaks), *comparison_findings(tested))
    return Outcome(findings, claims(main, peaks, tested), data)


def claims(main: Mapping[str, Any], peaks: Mapping[str, Any], tested: Mapping[str, Any]) -> dict[str, bool]:
    """What the numbers say of the paper's claim, of its set-up, and of a repaired one."""
    judged = judge_peaks(peaks)
    found = {
        "in the paper's set-up the score peaks in the keyword more often than a plugin ratio": judged.startswith(
            "holds"
        ),
        "it peaks in the keyword more often than the energy of the sound does": judged == "holds",
        "the target lies inside the hull, so that a ratio exists, in some windows": main["outside"] < main["hulls"],
        "a descent stopped early ranks windows as the distance ‖b − mean‖ does": main["rank_distance"] > SAME_RANKS,
        "y_q has an effect on the ranks": main["swap"] >= NO_EFFECT,
    }
    for name, lead in tested["leads"].items():
        found[f"with cepstra, a ridge and new voices, a Bayes factor has a larger AUC than {name}"] = (
            lead["auc"][1] > 0.0
        )
    return found


def _outline(voice: Voice, points: int = 600) -> dict[str, Any]:
    """Envelope and words of the first sentence, for the figure."""
    sentence = voice.sentences[0]
    blocks = np.array_split(sentence.sound, points)
    starts = [start / voice.rate for start in sentence.starts]
    return {
        "words": sentence.words,
        "starts": [*starts, len(sentence.sound) / voice.rate],
        "high": [block.max() for block in blocks],
        "low": [block.min() for block in blocks],
    }


def draw(data: Mapping[str, Any]) -> Figure:
    """Draw the sentence with its scores, the distances to the hull, and the test of the repaired set-up."""
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
        label = {"PRE": "PRE (stopped descent)", "energy": "energy of y$_p$", "plugin": "plugin"}[name]
        scores.plot(curves["seconds"], curves[name], color=colour, linewidth=width, label=label)
    scores.plot(curves["seconds"], curves["distance"], color="black", linewidth=0.9, linestyle=":", label="‖b − mean‖²")
    scores.set(xlim=(0.0, ends[-1]), ylim=(-0.02, 1.3), xlabel="middle of y$_p$, seconds", ylabel="share of maximum")
    scores.legend(ncols=4, fontsize=9, loc="upper center")
    _draw_hull(figure.add_subplot(grid[2, 0]), main)
    _draw_tested(figure.add_subplot(grid[2, 1]), data["tested"])
    figure.suptitle("The paper's set-up (above and left) and a repaired one (right)", fontsize=12)
    return figure


def _draw_hull(axes: Any, main: Mapping[str, Any]) -> None:
    """Draw the distance to the hull relative to the distance to the mean."""
    seconds = np.array(main["curves"]["seconds"])[main["curves"]["chosen"]]
    axes.plot(seconds, main["relative_radius"], "o", color=BLUE, markersize=3)
    axes.axhline(1.0, color=GREY, linewidth=1.0)
    axes.axhline(0.0, color=ORANGE, linewidth=1.0)
    axes.text(seconds.mean(), 0.03, "R = 0 would have a solution here", ha="center", color=ORANGE, fontsize=9)
    axes.set(
        title="Distance of b from the hull of the q features",
        xlabel="middle of y$_p$, seconds", ylabel="distance to hull / to mean", ylim=(-0.04, 1.08),
    )  # fmt: skip


def _draw_tested(axes: Any, tested: Mapping[str, Any]) -> None:
    """Draw hits and AUC of every method on the test voices."""
    names = list(tested["methods"])
    for shift, key, colour, label in ((-0.13, "hits", GREEN, "peak in the word"), (0.13, "auc", BLUE, "AUC")):
        for i, name in enumerate(names):
            test = tested["methods"][name]["test"]
            value = test["hits"] / test["words"] if key == "hits" else test["mean"]
            low, high = test["share"] if key == "hits" else test["interval"]
            if (name, key) != ("energy", "hits"):  # always one word of each sentence
                axes.plot([low, high], [i + shift] * 2, color=colour, linewidth=2.0)
            axes.plot(value, i + shift, "o", color=colour, markersize=6, label=label if i == 0 else None)
    axes.axvline(tested["chance"], color=GREEN, linestyle=":", linewidth=1.0)
    axes.axvline(0.5, color=BLUE, linestyle=":", linewidth=1.0)
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    words = tested["methods"][names[0]]["test"]["words"]
    axes.set(
        title=f"Cepstra and ridge: {words} keywords, new voices\n(dotted: chance; 95 % intervals)",
        xlabel="share of keywords, or AUC", xlim=(0.0, 1.0),
    )  # fmt: skip
    axes.legend(fontsize=9, loc="lower right")
