"""Local ROC: whether PRE's local classifier has a larger AUC than LIME's at small n, and where a lead comes from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from pre_convex._internal.typing import Array
from pre_convex.plots.canvas import AMBER, BLUE, GREEN, GREY, LIGHT, ORANGE, PINK, SKY, new_figure

from .intervals import mean_and_margin
from .local_classifiers import (
    Scene,
    lime_line,
    lime_own_line,
    make_scene,
    make_wide_scene,
    pre_line,
    row_kernel,
    soft_line,
)
from .record import Finding, Outcome, Setting

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pre_convex.plots.canvas import Figure

    Flags = NDArray[np.bool_]

TITLE = "Does PRE's local classifier have a larger AUC than LIME's when rows are few?"

#: rows of a cloud
SIZES = (20, 40, 100, 400)
#: no outlier, an outlier of class − or + against the trend, and a black box with eight features
CASES = ("no outlier", "a − outlier", "a + outlier", "eight features")
#: all but the last two share their rows
METHODS = (
    *("PRE", "PRE, roles swapped", "LIME", "LIME, no kernel", "LIME, no kernel or ridge", "soft logistic"),
    *("LIME, its own rows", "PRE, LIME's own rows"),
)
#: local test rows
TEST_ROWS = 1000
#: a lead in AUC below this is reported as small
SMALL = 0.01
#: questions that the verdict depends on
SAME_ROWS, OWN_ROWS, BOTH_OWN = (
    "PRE − LIME, same rows, n = 20, 40",
    "LIME draws its own rows",
    "both on LIME's own rows",
)
EIGHT_FEATURES = "eight features"
NO_KERNEL, NO_KERNEL_OR_RIDGE = "LIME, no kernel", "LIME, no kernel or ridge"


def run(setting: Setting) -> Outcome:
    """Compute the AUC of every method on new local rows, and on the rows of the fit as in the paper."""
    count, sizes = setting.pick(200, 10), setting.pick(SIZES, SIZES[:2])
    tested, refitted = np.empty((2, count, len(CASES), len(sizes), len(METHODS)))
    rates = np.linspace(0.0, 1.0, 51)
    curves = np.empty((count, len(CASES), len(sizes), len(METHODS), len(rates)))
    for i in setting.track(range(count), "clouds", count):
        plane, wide = make_scene(setting.rng(0, i)), make_wide_scene(setting.rng(1, i))
        for s, n in enumerate(sizes):
            own = [_own_lines(scene, n, int(setting.rng(2, i, n).integers(2**31))) for scene in (plane, wide)]
            for c, (scene, kind) in enumerate([(plane, None), (plane, 0), (plane, 2), (wide, None)]):
                x = scene.cloud(n, setting.rng(3, i, n), kind)
                proba = scene.box.predict_proba(x)
                test = scene.cloud(TEST_ROWS, setting.rng(4, i))
                truth = scene.box.logit(test) > 0.0
                normals = np.array([*_lines(x, proba), *own[scene is wide]])[:, :-1]
                tested[i, c, s] = auc_of_rows(truth, normals @ test.T)
                refitted[i, c, s] = auc_of_rows(proba[:, 1] > 0.5, normals @ x.T)
                curves[i, c, s] = roc_of_rows(truth, normals @ test.T, rates)
    data = {
        "repetitions": count,
        "sizes": sizes,
        "cases": CASES,
        "methods": METHODS,
        "auc": np.array(mean_and_margin(tested)),
        "auc_on_rows_of_the_fit": np.array(mean_and_margin(refitted)),
        "lead_of_pre": np.array(mean_and_margin(tested[..., :1] - tested)),
        "false_alarms": rates,
        "curves": curves[:, [0, 3], 0].mean(axis=0).round(4),
    }
    findings = tuple(_findings(tested, refitted, sizes))
    return Outcome(findings, claims(findings), data)


def auc_of_rows(truth: Flags, scores: Array) -> Array:
    """AUC of each row of scores; nan if all labels are the same.

    Mann and Whitney's U is the AUC times the number of pairs. scikit-learn takes one row at a time and is ten times
    slower here.
    """
    from scipy.stats import mannwhitneyu

    if truth.all() or not truth.any():
        return np.full(len(scores), np.nan)
    wins = mannwhitneyu(scores[:, truth], scores[:, ~truth], axis=1, method="asymptotic").statistic
    return np.asarray(wins / (truth.sum() * (~truth).sum()))


def roc_of_rows(truth: Flags, scores: Array, rates: Array) -> Array:
    """ROC curve of each row of scores: hit rates at the given false-alarm rates."""
    from sklearn.metrics import roc_curve

    curves = (roc_curve(truth, row, drop_intermediate=False)[:2] for row in scores)
    return np.array([np.interp(rates, alarms, hits) for alarms, hits in curves])


def _findings(tested: Array, refitted: Array, sizes: tuple[int, ...]) -> Iterator[Finding]:
    """Paired differences of AUC at the two smallest sizes, then at the larger ones."""

    def compare(
        question: str, other: str, one: str = "PRE", *, case: int = 0, auc: Array = tested, claim: bool = True,
        at: tuple[int, ...] = SIZES[:2],
    ) -> Finding:  # fmt: skip
        left, right = (auc[:, case, [sizes.index(n) for n in at], METHODS.index(name)] for name in (one, other))
        mean, margin = mean_and_margin(left - right)
        ours = ", ".join(f"{m:+.4f} ± {h:.4f}".replace("-", "−") for m, h in zip(mean, margin, strict=True))
        paper = "significant lead" if question == SAME_ROWS else ""
        return Finding(question, ours, paper, judge(mean, margin, at) if claim else "")

    yield compare(SAME_ROWS, "LIME")
    yield compare("AUC on X_loc itself", "LIME", auc=refitted)
    yield compare("LIME without kernel", NO_KERNEL)
    yield compare("LIME without kernel and ridge", NO_KERNEL_OR_RIDGE)
    yield compare(OWN_ROWS, "LIME, its own rows")
    yield compare(BOTH_OWN, "LIME, its own rows", "PRE, LIME's own rows")
    for case, kind in ((1, "a − outlier"), (2, "a + outlier")):
        yield compare(f"{kind}, same rows", "LIME", case=case)
        yield compare(f"{kind}, LIME without kernel", NO_KERNEL, case=case)
        yield compare(f"{kind}, LIME without kernel and ridge", NO_KERNEL_OR_RIDGE, case=case)
    yield compare(EIGHT_FEATURES, "LIME", case=3)
    yield compare(f"{EIGHT_FEATURES}, LIME without kernel and ridge", NO_KERNEL_OR_RIDGE, case=3)
    yield compare("PRE − soft logistic", "soft logistic", claim=False)
    if len(sizes) > 2:
        yield compare("PRE − LIME, n = 100, 400", "LIME", at=sizes[2:], claim=False)


def judge(mean: Array, margin: Array, sizes: tuple[int, ...]) -> str:
    """Whether PRE leads at these sizes, or at which, whether the lead is small, and where it trails."""
    leads, trails = mean - margin > 0.0, mean + margin < 0.0
    if leads.any():
        text = "holds" if leads.all() else f"holds when n = {_listed(sizes, leads)}"
        text += ", but below 0.01" * bool(mean[leads].max() < SMALL)
        return text + f"; reversed when n = {_listed(sizes, trails)}" * bool(trails.any())
    if trails.all():
        return "does not hold: reversed"
    return "does not hold" + f"; reversed when n = {_listed(sizes, trails)}" * bool(trails.any())


def _listed(sizes: tuple[int, ...], chosen: Flags) -> str:
    """The chosen sizes, as text."""
    return ", ".join(str(n) for n, yes in zip(sizes, chosen, strict=True) if yes)


def claims(findings: tuple[Finding, ...]) -> dict[str, bool]:
    """Whether PRE's local classifier leads LIME's, at all the small sizes that were judged."""
    judged = {finding.question: finding.verdict for finding in findings}
    of = {
        SAME_ROWS: "on the same 20 or 40 rows",
        OWN_ROWS: "when LIME draws rows of its own",
        BOTH_OWN: "when both use the rows that LIME draws",
        EIGHT_FEATURES: "with eight features",
        f"{EIGHT_FEATURES}, LIME without kernel and ridge": "with eight features, if LIME has neither kernel nor ridge",
    }
    return {
        f"PRE has a larger AUC than LIME {text}": judged[question].partition(";")[0]
        in ("holds", "holds, but below 0.01")
        for question, text in of.items()
    }


def _lines(x: Array, proba: Array) -> list[Array]:
    """Classifiers fitted to the same rows."""
    return [
        pre_line(x, proba),
        pre_line(x, proba, swap=True),
        lime_line(x, proba),
        lime_line(x, proba, kernel=False),
        lime_line(x, proba, kernel=False, ridge=False),
        soft_line(x, proba),
    ]


def _own_lines(scene: Scene, n: int, seed: int) -> list[Array]:
    """LIME on rows that it draws itself, and PRE on the same rows with LIME's weights."""
    line, rows = lime_own_line(scene.box, scene.point, n, seed)
    return [line, pre_line(rows, scene.box.predict_proba(rows), weights=row_kernel(rows))]


COLOURS = dict(zip(METHODS, (BLUE, SKY, ORANGE, AMBER, GREY, GREEN, PINK, "black"), strict=True))
STYLES = dict(zip(METHODS, ("-", (0, (1, 1)), "-", "--", ":", "-.", "-", "--"), strict=True))
#: number of methods that share their rows
SHARED = 6
#: largest false-alarm rate that is drawn
MAX_RATE = 0.5


def draw(data: Mapping[str, Any]) -> Figure:
    """Draw ROC curves at the smallest n with two and with eight features, and PRE's lead on the same rows."""
    figure = new_figure(15.0, 8.4)
    axes = figure.subplots(2, 4)
    n = data["sizes"][0]
    for i, features in enumerate(("two", "eight")):
        curves, differences = axes[0, 2 * i : 2 * i + 2]
        _draw_curves(curves, data, np.asarray(data["curves"][i]))
        curves.set_title(f"ROC, {features} features, n = {n}", fontsize=11)
        _draw_differences(differences, data, np.asarray(data["curves"][i]))
        differences.set_title(f"minus PRE's, same rows, {features} features", fontsize=11)
    for c, case in enumerate(data["cases"]):
        _draw_lead(axes[1, c], data, c)
        axes[1, c].set_title(f"PRE's lead: {case}", fontsize=11)
    axes[0, 0].set_ylabel("hit rate")
    axes[1, 0].set_ylabel("AUC of PRE − AUC of the other")
    low, high = (limit(ax.get_ylim()[k] for ax in axes[1, 1:3]) for k, limit in enumerate((min, max)))
    for ax in axes[1, 1:3]:
        ax.set_ylim(low, high)
    for ax in axes[1]:
        scale = "wide" if ax in axes[1, 1:3] else "fine"
        ax.annotate(
            f"{scale} scale", (0.97, 0.97), xycoords="axes fraction", ha="right", va="top", fontsize=9, color=GREY
        )
    handles, names = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=8, fontsize=10, frameon=False)
    return figure


def _draw_curves(axes: Any, data: Mapping[str, Any], curves: Array) -> None:
    """Draw the corner of the mean ROC curves in which they differ."""
    for name, curve in zip(data["methods"], curves, strict=True):
        axes.plot(data["false_alarms"], curve, color=COLOURS[name], linestyle=STYLES[name], linewidth=1.8, label=name)
    axes.set(xlabel="false-alarm rate", xlim=(0.0, MAX_RATE), ylim=(1.0 - MAX_RATE, 1.01))
    axes.grid(color=LIGHT)
    axes.set_axisbelow(True)


def _draw_differences(axes: Any, data: Mapping[str, Any], curves: Array) -> None:
    """Draw the curves on the same rows minus PRE's, as they nearly coincide."""
    for name, curve in zip(data["methods"][1:SHARED], curves[1:SHARED], strict=True):
        style = {"color": COLOURS[name], "linestyle": STYLES[name], "linewidth": 1.8}
        axes.plot(data["false_alarms"][1:], (curve - curves[0])[1:], **style)
    axes.axhline(0.0, color=BLUE, linewidth=1.8, zorder=1)
    axes.set(xlabel="false-alarm rate", xlim=(0.0, MAX_RATE))
    axes.grid(color=LIGHT)
    axes.set_axisbelow(True)


def _draw_lead(axes: Any, data: Mapping[str, Any], c: int) -> None:
    """Draw PRE's paired lead over the other methods on the same rows."""
    mean, margin = np.asarray(data["lead_of_pre"])[:, c]
    sizes = np.asarray(data["sizes"], dtype=float)
    for m, name in enumerate(data["methods"][1:SHARED], start=1):
        axes.errorbar(
            sizes * 1.06 ** (m - 3), mean[:, m], margin[:, m], color=COLOURS[name], linestyle=STYLES[name], marker="o",
            markersize=4, linewidth=1.6,
        )  # fmt: skip
    axes.axhline(0.0, color=BLUE, linewidth=2.0, zorder=1)
    _size_axis(axes, data)


def _size_axis(axes: Any, data: Mapping[str, Any]) -> None:
    """Show the sizes on a logarithmic axis."""
    axes.set_xscale("log")
    axes.set_xticks(data["sizes"], [str(n) for n in data["sizes"]])
    axes.minorticks_off()
    axes.set_xlabel("rows n")
    axes.grid(color=LIGHT)
    axes.set_axisbelow(True)
