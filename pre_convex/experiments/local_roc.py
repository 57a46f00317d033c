"""AUC of local classifiers on local rows: whether PRE leads LIME at small n, and where a lead comes from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..applications.explanation.fidelity import roc_area
from ..entropy import Array
from ..plots.canvas import AMBER, BLUE, GREEN, GREY, LIGHT, ORANGE, PINK, SKY, new_figure
from .local import (
    Scene,
    lime_line,
    lime_own_line,
    make_scene,
    make_wide_scene,
    mean_and_half,
    pre_line,
    row_kernel,
    soft_line,
)
from .record import Finding, Outcome, Setting

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..plots.canvas import Figure

    Flags = NDArray[np.bool_]

TITLE = "Does PRE's local classifier lead LIME's in AUC when rows are few?"

#: rows of a cloud
SIZES = (20, 40, 100, 400)
#: no outlier, one against the trend that the black box calls − or +, and a black box of eight features
CASES = ("no outlier", "a − outlier", "a + outlier", "eight features")
#: the first six share their rows
METHODS = (
    *("PRE", "PRE, roles swapped", "LIME", "LIME, no kernel", "LIME, no kernel or ridge", "soft logistic"),
    *("LIME, its own rows", "PRE, LIME's own rows"),
)
#: fresh local rows on which classifiers are judged
FRESH = 1000
#: a lead in AUC below this is called tiny
TINY = 0.01
#: questions that the verdict rests on
SAME_ROWS, OWN_ROWS, BOTH_OWN = (
    "PRE − LIME, same rows, n = 20, 40",
    "LIME draws its own rows",
    "both on LIME's own rows",
)
MANY_FEATURES, NO_RIDGE = "eight features", "eight features, no kernel or ridge"
BARE, BARER = "LIME, no kernel", "LIME, no kernel or ridge"


def run(setting: Setting) -> Outcome:
    """AUC of every method on fresh local rows, and on those of the fit as in the paper."""
    count, sizes = setting.pick(200, 10), setting.pick(SIZES, SIZES[:2])
    fresh, same = np.empty((2, count, len(CASES), len(sizes), len(METHODS)))
    rates = np.linspace(0.0, 1.0, 51)
    curves = np.empty((count, len(CASES), len(sizes), len(METHODS), len(rates)))
    for i in setting.track(range(count), "clouds", count):
        plane, wide = make_scene(setting.rng(0, i)), make_wide_scene(setting.rng(1, i))
        for s, n in enumerate(sizes):
            own = [_own_lines(scene, n, int(setting.rng(2, i, n).integers(2**31))) for scene in (plane, wide)]
            for c, (scene, kind) in enumerate([(plane, None), (plane, 0), (plane, 2), (wide, None)]):
                x = scene.cloud(n, setting.rng(3, i, n), kind)
                proba = scene.box.predict_proba(x)
                test = scene.cloud(FRESH, setting.rng(4, i))
                truth = scene.box.logit(test) > 0.0
                normals = np.array([*_lines(x, proba), *own[scene is wide]])[:, :-1]
                fresh[i, c, s] = [roc_area(truth, score) for score in normals @ test.T]
                same[i, c, s] = [roc_area(proba[:, 1] > 0.5, score) for score in normals @ x.T]
                curves[i, c, s] = _curves(normals @ test.T, truth, rates)
    data = {
        "repetitions": count,
        "sizes": sizes,
        "cases": CASES,
        "methods": METHODS,
        "auc": np.array(mean_and_half(fresh)),
        "auc_on_rows_of_the_fit": np.array(mean_and_half(same)),
        "lead_of_pre": np.array(mean_and_half(fresh[..., :1] - fresh)),
        "false_alarms": rates,
        "curves": curves[:, [0, 3], 0].mean(axis=0).round(4),
    }
    findings = tuple(_findings(fresh, same, sizes))
    pre, lime, plain = (fresh[:, 3, :2, METHODS.index(name)].mean() for name in ("PRE", "LIME", BARER))
    return Outcome(findings, conclude(findings, float((plain - lime) / (pre - lime))), data)


def _findings(fresh: Array, same: Array, sizes: tuple[int, ...]) -> Iterator[Finding]:
    """Paired differences of AUC at the two smallest sizes, then at the larger ones."""

    def compare(
        question: str, other: str, one: str = "PRE", *, case: int = 0, of: Array = fresh, claim: bool = True,
        at: tuple[int, ...] = SIZES[:2],
    ) -> Finding:  # fmt: skip
        left, right = (of[:, case, [sizes.index(n) for n in at], METHODS.index(name)] for name in (one, other))
        mean, half = mean_and_half(left - right)
        ours = ", ".join(f"{m:+.4f} ± {h:.4f}".replace("-", "−") for m, h in zip(mean, half, strict=True))
        paper = "significant lead" if question == SAME_ROWS else ""
        return Finding(question, ours, paper, judge(mean, half, at) if claim else "")

    yield compare(SAME_ROWS, "LIME")
    yield compare("judged on X_loc itself", "LIME", of=same)
    yield compare("the same, no kernel", BARE)
    yield compare("the same, no kernel or ridge", BARER)
    yield compare(OWN_ROWS, "LIME, its own rows")
    yield compare(BOTH_OWN, "LIME, its own rows", "PRE, LIME's own rows")
    for case, kind in ((1, "a − outlier"), (2, "a + outlier")):
        yield compare(f"{kind}, same rows", "LIME", case=case)
        yield compare(f"{kind}, no kernel", BARE, case=case)
        yield compare(f"{kind}, no kernel or ridge", BARER, case=case)
    yield compare(MANY_FEATURES, "LIME", case=3)
    yield compare(NO_RIDGE, BARER, case=3)
    yield compare("PRE − soft logistic", "soft logistic", claim=False)
    if len(sizes) > 2:
        yield compare("PRE − LIME, n = 100, 400", "LIME", at=sizes[2:], claim=False)


def judge(mean: Array, half: Array, sizes: tuple[int, ...]) -> str:
    """Whether PRE leads at these sizes; a lead below 0.01 is called so, and a lead of the other is named."""
    leads, trails = mean - half > 0.0, mean + half < 0.0
    if leads.any():
        text = "holds" if leads.all() else f"holds when n = {_listed(sizes, leads)}"
        text += ", but below 0.01" * bool(mean[leads].max() < TINY)
        return text + f"; reversed when n = {_listed(sizes, trails)}" * bool(trails.any())
    if trails.all():
        return "does not hold: reversed"
    return "does not hold" + f"; reversed when n = {_listed(sizes, trails)}" * bool(trails.any())


def _listed(sizes: tuple[int, ...], chosen: Flags) -> str:
    """Sizes as text."""
    return ", ".join(str(n) for n, yes in zip(sizes, chosen, strict=True) if yes)


def conclude(findings: tuple[Finding, ...], ridge: float) -> str:
    """Where leads come from; ``ridge`` is the part of the lead with eight features that goes without the penalty."""
    judged = {finding.question: finding.verdict for finding in findings}
    when = []
    if judged[OWN_ROWS].startswith("holds"):
        on_them = judged[BOTH_OWN]
        also = "leads on them too" if on_them.startswith("holds") else "has no lead on them"
        also = "is behind on them" if on_them.endswith(": reversed") else also
        when.append(f"LIME draws its own rows (PRE {also})")
    if judged[MANY_FEATURES].startswith("holds"):
        share = f"{100.0 * min(max(ridge, 0.0), 1.0):.0f} % of the lead"
        when.append(f"features are many (without LIME's kernel and ridge {share} is gone)")
    text = f"holds when {' or '.join(when)}" if when else "does not hold"
    return f"{text}; in two dimensions on the same rows: {judged[SAME_ROWS]}"


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
    """LIME on rows that it draws itself, and PRE on these rows with LIME's weights."""
    line, rows = lime_own_line(scene.box, scene.point, n, seed)
    return [line, pre_line(rows, scene.box.predict_proba(rows), weights=row_kernel(rows))]


def _curves(scores: Array, truth: Flags, rates: Array) -> Array:
    """ROC curves: share of + found at given shares of false alarms, one curve for each row of scores."""
    order = np.argsort(-scores, axis=1)
    hits = truth[order]
    found, false = (np.cumsum(part, axis=1) / part.sum(axis=1, keepdims=True) for part in (hits, ~hits))
    return np.array([np.interp(rates, np.append(0.0, f), np.append(0.0, h)) for f, h in zip(false, found, strict=True)])


COLOURS = dict(zip(METHODS, (BLUE, SKY, ORANGE, AMBER, GREY, GREEN, PINK, "black"), strict=True))
STYLES = dict(zip(METHODS, ("-", (0, (1, 1)), "-", "--", ":", "-.", "-", "--"), strict=True))
#: how many methods share their rows with PRE
SHARED = 6
#: shares of false alarms that are drawn
REACH = 0.5


def draw(data: Mapping[str, Any]) -> Figure:
    """ROC curves at the smallest n with two and with eight features, and the lead of PRE on the same rows."""
    figure = new_figure(15.0, 8.4)
    axes = figure.subplots(2, 4)
    n = data["sizes"][0]
    for i, features in enumerate(("two", "eight")):
        whole, apart = axes[0, 2 * i : 2 * i + 2]
        _draw_curves(whole, data, np.asarray(data["curves"][i]))
        whole.set_title(f"ROC, {features} features, n = {n}", fontsize=11)
        _draw_apart(apart, data, np.asarray(data["curves"][i]))
        apart.set_title(f"less PRE's, same rows, {features} features", fontsize=11)
    for c, case in enumerate(data["cases"]):
        _draw_lead(axes[1, c], data, c)
        axes[1, c].set_title(f"PRE's lead: {case}", fontsize=11)
    axes[0, 0].set_ylabel("share of + called +")
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
    """Mean ROC curves on fresh local rows: the corner in which they differ."""
    for name, curve in zip(data["methods"], curves, strict=True):
        axes.plot(data["false_alarms"], curve, color=COLOURS[name], linestyle=STYLES[name], linewidth=1.8, label=name)
    axes.set(xlabel="share of − called +", xlim=(0.0, REACH), ylim=(1.0 - REACH, 1.01))
    axes.grid(color=LIGHT)
    axes.set_axisbelow(True)


def _draw_apart(axes: Any, data: Mapping[str, Any], curves: Array) -> None:
    """Curves on the same rows less that of PRE, which lie on each other otherwise."""
    for name, curve in zip(data["methods"][1:SHARED], curves[1:SHARED], strict=True):
        axes.plot(
            data["false_alarms"][1:],
            (curve - curves[0])[1:],
            color=COLOURS[name],
            linestyle=STYLES[name],
            linewidth=1.8,
        )
    axes.axhline(0.0, color=BLUE, linewidth=1.8, zorder=1)
    axes.set(xlabel="share of − called +", xlim=(0.0, REACH))
    axes.grid(color=LIGHT)
    axes.set_axisbelow(True)


def _draw_lead(axes: Any, data: Mapping[str, Any], c: int) -> None:
    """PRE's paired lead on the other methods that share its rows."""
    mean, half = np.asarray(data["lead_of_pre"])[:, c]
    sizes = np.asarray(data["sizes"], dtype=float)
    for m, name in enumerate(data["methods"][1:SHARED], start=1):
        axes.errorbar(
            sizes * 1.06 ** (m - 3), mean[:, m], half[:, m], color=COLOURS[name], linestyle=STYLES[name], marker="o",
            markersize=4, linewidth=1.6,
        )  # fmt: skip
    axes.axhline(0.0, color=BLUE, linewidth=2.0, zorder=1)
    _size_axis(axes, data)


def _size_axis(axes: Any, data: Mapping[str, Any]) -> None:
    """Sizes on a logarithmic axis."""
    axes.set_xscale("log")
    axes.set_xticks(data["sizes"], [str(n) for n in data["sizes"]])
    axes.minorticks_off()
    axes.set_xlabel("rows n")
    axes.grid(color=LIGHT)
    axes.set_axisbelow(True)
