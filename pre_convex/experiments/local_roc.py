"""AUC of local classifiers on local rows: whether PRE leads LIME at small n, and where a lead comes from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..entropy import Array
from ..plots.canvas import AMBER, BLUE, GREEN, GREY, LIGHT, ORANGE, PINK, SKY, new_figure
from .local import KINDS, Scene, half_width, lime_line, lime_own_line, make_scene, pre_line, row_kernel, soft_line
from .record import Finding, Outcome, Setting

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..plots.canvas import Figure

    Flags = NDArray[np.bool_]

TITLE = "Does PRE's local classifier lead LIME's in AUC when rows are few?"

#: rows of a cloud
SIZES = (20, 40, 100, 400)
#: no outlier, or one against the trend that the black box calls − or +
CONDITIONS = (None, 0, 2)
#: the first six share their rows
METHODS = (
    *("PRE", "PRE, roles swapped", "LIME", "LIME, kernel", "LIME, no ridge", "soft logistic"),
    *("LIME, its own rows", "PRE, LIME's own rows"),
)
#: fresh local rows on which classifiers are judged
FRESH = 1000
#: a lead in AUC below this is called tiny
TINY = 0.01


def run(setting: Setting) -> Outcome:
    """AUC of every method on fresh local rows, and on those of the fit as in the paper."""
    count = setting.pick(200, 12)
    sizes = setting.pick(SIZES, SIZES[:2])
    shape = (count, len(sizes), len(CONDITIONS), len(METHODS))
    fresh, same = np.empty(shape), np.empty(shape)
    rates = np.linspace(0.0, 1.0, 51)
    curves = np.empty((count, len(sizes), len(METHODS), len(rates)))
    for i in setting.track(range(count), "clouds", count):
        scene = make_scene(setting.rng(0, i))
        test = scene.cloud(FRESH, setting.rng(1, i))
        truth = scene.box.logit(test) > 0.0
        for s, n in enumerate(sizes):
            own = _own_lines(scene, n, int(setting.rng(2, i, n).integers(2**31)))
            for c, kind in enumerate(CONDITIONS):
                x = scene.cloud(n, setting.rng(3, i, n), kind)
                proba = scene.box.predict_proba(x)
                normals = np.array([*_lines(x, proba), *own])[:, :-1]
                fresh[i, s, c] = auc(normals @ test.T, truth)
                same[i, s, c] = auc(normals @ x.T, proba[:, 1] > 0.5)
                if kind is None:
                    curves[i, s] = _curves(normals @ test.T, truth, rates)
    data = {
        "repetitions": count,
        "sizes": sizes,
        "conditions": ["no outlier", *(f"outlier {KINDS[kind]}" for kind in CONDITIONS if kind is not None)],
        "methods": METHODS,
        "auc": np.array([fresh.mean(axis=0), half_width(fresh)]),
        "auc_on_rows_of_the_fit": np.array([same.mean(axis=0), half_width(same)]),
        "lead_of_pre": np.array(_lead(fresh[..., :1], fresh)),
        "false_alarms": rates,
        "curves": curves[:, :2].mean(axis=0).round(4),
    }
    findings = tuple(_findings(fresh, same, sizes))
    return Outcome(findings, _verdict(findings), data)


def _findings(fresh: Array, same: Array, sizes: tuple[int, ...]) -> Iterator[Finding]:
    """Paired differences of AUC at the two smallest sizes, then at the larger ones."""

    def compare(
        question: str, one: str, other: str, *, kind: int | None = None, of: Array = fresh, claim: bool = False,
        at: tuple[int, ...] = SIZES[:2],
    ) -> Finding:  # fmt: skip
        c = CONDITIONS.index(kind)
        left, right = (of[:, : len(sizes), c, METHODS.index(name)] for name in (one, other))
        chosen = [sizes.index(n) for n in at]
        mean, half = _lead(left[:, chosen], right[:, chosen])
        ours = ", ".join(f"{m:+.4f} ± {h:.4f}".replace("-", "−") for m, h in zip(mean, half, strict=True))
        return Finding(question, ours, "significant lead" if claim else "", _judge(mean, half, at) if claim else "")

    yield compare("PRE − LIME, same rows, n = 20, 40", "PRE", "LIME", claim=True)
    yield compare("judged on X_loc itself", "PRE", "LIME", of=same, claim=True)
    yield compare("LIME without ridge penalty", "PRE", "LIME, no ridge", claim=True)
    yield compare("LIME draws its own rows", "PRE", "LIME, its own rows", claim=True)
    yield compare("both on LIME's own rows", "PRE, LIME's own rows", "LIME, its own rows", claim=True)
    yield compare("a − outlier, same rows", "PRE", "LIME", kind=0, claim=True)
    yield compare("a − outlier, LIME's kernel", "PRE", "LIME, kernel", kind=0, claim=True)
    yield compare("a + outlier, same rows", "PRE", "LIME", kind=2, claim=True)
    yield compare("PRE − soft logistic", "PRE", "soft logistic")
    if len(sizes) > 2:
        yield compare("same rows, n = 100, 400", "PRE", "LIME", at=sizes[2:])


def _lead(one: Array, other: Array) -> tuple[Array, Array]:
    """Mean of paired differences over repetitions, and half of its 95 % interval."""
    difference = one - other
    return difference.mean(axis=0), half_width(difference)


def _judge(mean: Array, half: Array, sizes: tuple[int, ...]) -> str:
    """Whether PRE leads at these sizes."""
    leads = mean - half > 0.0
    tiny = " by less than 0.01" if mean[leads].max(initial=0.0) < TINY else ""
    if leads.all():
        return "holds" + tiny
    if leads.any():
        return f"holds when n = {sizes[int(leads.argmax())]}{',' * bool(tiny)}{tiny}"
    return "does not hold" + (": reversed" if np.all(mean + half < 0.0) else "")


def _verdict(findings: tuple[Finding, ...]) -> str:
    """Where the lead comes from."""
    judged = {finding.question: finding.verdict for finding in findings}
    rows = judged["LIME draws its own rows"].startswith("holds")
    method = judged["both on LIME's own rows"].startswith("holds")
    if rows and not method:
        text = "holds when LIME draws its own rows, and then the rows make the lead: PRE gains nothing on them"
    elif rows:
        text = "holds when LIME draws its own rows"
    else:
        text = "does not hold even where LIME draws its own rows"
    plain = judged["PRE − LIME, same rows, n = 20, 40"]
    return f"{text}; on the same rows it {plain}" + (
        "; a − outlier brings it back" if judged["a − outlier, same rows"].startswith("holds") else ""
    )


def _lines(x: Array, proba: Array) -> list[Array]:
    """Classifiers fitted to the same rows."""
    return [
        pre_line(x, proba),
        pre_line(x, proba, swap=True),
        lime_line(x, proba, kernel=False),
        lime_line(x, proba, kernel=True),
        lime_line(x, proba, kernel=False, ridge=False),
        soft_line(x, proba),
    ]


def _own_lines(scene: Scene, n: int, seed: int) -> list[Array]:
    """LIME on rows that it draws itself, and PRE on these rows with LIME's weights."""
    line, rows = lime_own_line(scene.box, scene.point, n, seed)
    return [line, pre_line(rows, scene.box.predict_proba(rows), weights=row_kernel(rows))]


def auc(scores: Array, truth: Flags) -> Array:
    """Share of pairs of both classes that each row of scores puts in order, ties counted half; nan with one class.

    Examples
    --------
    >>> auc(np.array([[1.0, 2.0, 3.0, 4.0], [1.0, 1.0, 1.0, 1.0]]), np.array([False, True, False, True]))
    array([0.75, 0.5 ])
    """
    from scipy.stats import rankdata

    positive = int(truth.sum())
    negative = len(truth) - positive
    if positive == 0 or negative == 0:
        return np.full(len(scores), np.nan)
    ranks = rankdata(scores, axis=1)[:, truth].sum(axis=1)
    return np.asarray((ranks - positive * (positive + 1) / 2.0) / (positive * negative))


def _curves(scores: Array, truth: Flags, rates: Array) -> Array:
    """ROC curves: share of + found at given shares of false alarms, one curve for each row of scores."""
    order = np.argsort(-scores, axis=1)
    hits = truth[order]
    found, false = (np.cumsum(part, axis=1) / part.sum(axis=1, keepdims=True) for part in (hits, ~hits))
    return np.array([np.interp(rates, np.append(0.0, f), np.append(0.0, h)) for f, h in zip(false, found, strict=True)])


COLOURS = dict(zip(METHODS, (BLUE, SKY, ORANGE, AMBER, ORANGE, GREEN, PINK, GREY), strict=True))
STYLES = dict(zip(METHODS, ("-", (0, (1, 1)), "--", "--", ":", "-.", "-", "--"), strict=True))


def draw(data: Mapping[str, Any]) -> Figure:
    """ROC curves at small n, AUC over n, and the lead of PRE on the same rows without and with outliers."""
    figure = new_figure(13.0, 8.6)
    axes = figure.subplots(2, 3)
    for s, ax in enumerate(axes[0, :2]):
        _draw_curves(ax, data, s)
    _draw_areas(axes[0, 2], data)
    for c, ax in enumerate(axes[1]):
        _draw_lead(ax, data, c)
    low = min(ax.get_ylim()[0] for ax in axes[1, 1:])
    high = max(ax.get_ylim()[1] for ax in axes[1, 1:])
    for ax in axes[1, 1:]:
        ax.set_ylim(low, high)
    handles, names = axes[0, 2].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=4, fontsize=10, frameon=False)
    return figure


def _draw_curves(axes: Any, data: Mapping[str, Any], s: int) -> None:
    """Mean ROC curves at one size."""
    for name, curve in zip(data["methods"], data["curves"][s], strict=True):
        axes.plot(data["false_alarms"], curve, color=COLOURS[name], linestyle=STYLES[name], linewidth=2.0)
    axes.plot([0, 1], [0, 1], color=LIGHT, linewidth=1.0, zorder=0)
    axes.set(
        xlabel="share of − called +", ylabel="share of + called +", xlim=(0, 1), ylim=(0, 1.01), aspect="equal"
    )  # fmt: skip
    axes.set_title(f"ROC on fresh local rows, n = {data['sizes'][s]}", fontsize=11)


def _draw_areas(axes: Any, data: Mapping[str, Any]) -> None:
    """Mean AUC over n without an outlier."""
    mean, half = np.asarray(data["auc"])[:, :, 0]
    for m, name in enumerate(data["methods"]):
        axes.errorbar(
            data["sizes"], mean[:, m], half[:, m], color=COLOURS[name], linestyle=STYLES[name], marker="o",
            markersize=4, linewidth=1.8, label=name,
        )  # fmt: skip
    _size_axis(axes, data)
    axes.set_ylabel("mean AUC")
    axes.set_title("AUC, no outlier", fontsize=11)


def _draw_lead(axes: Any, data: Mapping[str, Any], c: int) -> None:
    """PRE's paired lead on the other methods that share its rows."""
    mean, half = np.asarray(data["lead_of_pre"])[:, :, c]
    sizes = np.asarray(data["sizes"], dtype=float)
    for m, name in enumerate(data["methods"][1:6], start=1):
        axes.errorbar(
            sizes * 1.05 ** (m - 3), mean[:, m], half[:, m], color=COLOURS[name], linestyle=STYLES[name], marker="o",
            markersize=4, linewidth=1.6,
        )  # fmt: skip
    axes.axhline(0.0, color=BLUE, linewidth=2.0, zorder=1)
    _size_axis(axes, data)
    axes.set_ylabel("AUC of PRE − AUC of the other")
    axes.set_title(f"PRE's lead on the same rows, {data['conditions'][c]}", fontsize=11)


def _size_axis(axes: Any, data: Mapping[str, Any]) -> None:
    """Sizes on a logarithmic axis."""
    axes.set_xscale("log")
    axes.set_xticks(data["sizes"], [str(n) for n in data["sizes"]])
    axes.minorticks_off()
    axes.set_xlabel("rows n")
    axes.grid(color=LIGHT)
    axes.set_axisbelow(True)
