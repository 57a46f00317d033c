"""Boundary: when an outlier skews PRE's local boundary less than LIME's, and why."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit, logit

from pre_convex._internal.typing import Array
from pre_convex.plots.canvas import AMBER, BLUE, GREEN, GREY, LIGHT, ORANGE, PINK, SKY, new_figure, set_legend

from .intervals import mean_and_margin
from .local_classifiers import KINDS, SPREAD, Scene, angle, lime_line, make_scene, pre_line, row_kernel, soft_line
from .record import Finding, Outcome, Setting

if TYPE_CHECKING:
    from pre_convex.plots.canvas import Figure

TITLE = "Is PRE's local boundary less skewed by an outlier than LIME's?"

#: rows of a cloud, including the outlier
ROWS = 50
#: no outlier, or one of each kind
CONDITIONS = (None, 0, 1, 2, 3)
#: half the width of the pictures
REACH = 2.5

Method = Callable[[Array, Array], Array]


#: LIME with the default kernel of its package, and without a kernel
LIME, NO_KERNEL = "LIME", "LIME, no kernel"
#: classifiers from rows and probabilities, first without LIME's weights and then with them
METHODS: dict[str, Method] = {
    "PRE": pre_line,
    "PRE, roles swapped": lambda x, proba: pre_line(x, proba, swap=True),
    NO_KERNEL: lambda x, proba: lime_line(x, proba, kernel=False),
    "soft logistic": soft_line,
    "PRE, kernel": lambda x, proba: pre_line(x, proba, weights=row_kernel(x)),
    "PRE, roles swapped, kernel": lambda x, proba: pre_line(x, proba, swap=True, weights=row_kernel(x)),
    LIME: lime_line,
    "soft logistic, kernel": lambda x, proba: soft_line(x, proba, row_kernel(x)),
}
PLAIN, WEIGHTED = tuple(METHODS)[:4], tuple(METHODS)[4:]
#: methods in the pictures and in the sweep over the outlier's probability
DRAWN = (*PLAIN, LIME)
OUTLIERS = tuple(range(len(KINDS)))


@dataclass(frozen=True)
class Bump:
    """A black box with a linear logit plus one narrow bump, whose height sets the probability at its centre."""

    slope: Array
    centre: Array
    height: float
    width: float = 0.25

    def logit(self, x: Array) -> Array:
        """Log p₊/p₋."""
        away = ((x - self.centre) ** 2).sum(axis=1)
        return np.asarray(x @ self.slope + self.height * np.exp(-away / (2.0 * self.width**2)))

    def predict_proba(self, x: Array) -> Array:
        """Probabilities of the classes − and +."""
        value = self.logit(x)
        return np.column_stack([expit(-value), expit(value)])

    def gradient(self, x: Array) -> Array:
        """Gradient of the logit at one point."""
        away = x - self.centre
        bump = self.height * np.exp(-(away @ away) / (2.0 * self.width**2))
        return np.asarray(self.slope - bump * away / self.width**2)


def run(setting: Setting) -> Outcome:
    """Measure angles to the black box's gradient for every kind of outlier, and over an outlier's probability."""
    count = setting.pick(200, 20)
    scenes, angles, offsets = [], np.empty((count, len(CONDITIONS), len(METHODS))), np.empty((count, 2))
    for i in setting.track(range(count), "outliers", count):
        scene = make_scene(setting.rng(0, i))
        scenes.append(scene)
        for c, kind in enumerate(CONDITIONS):
            x = scene.cloud(ROWS, setting.rng(1, i), kind)  # the same rows, except for the outlier
            proba = scene.box.predict_proba(x)
            angles[i, c] = [scene.angle(method(x, proba)) for method in METHODS.values()]
        offsets[i] = _offsets(scene, setting.rng(1, i), setting.rng(2, i))
    shown = {kind: _typical(angles, kind) for kind in (0, 2)}
    sweep = _sweep(setting)
    data = {
        "repetitions": count,
        "rows": ROWS,
        "conditions": ["none", *KINDS],
        "methods": list(METHODS),
        "angle": np.array(mean_and_margin(angles)),
        "black_boxes": sum(scene.boxes for scene in scenes),
        "pre_less": {
            name: [_difference(angles, kind, "PRE", name) for kind in CONDITIONS] for name in (LIME, NO_KERNEL)
        },
        "offset_agreement": {"own": offsets[:, 0].mean(), "labelled": offsets[:, 1].mean()},
        "pictures": [_picture(scenes[i], kind, setting.rng(1, i)) for kind, i in shown.items()],
        "dial": sweep,
    }
    findings = (
        *_findings(angles, offsets, sweep),
        Finding("black boxes trained, used", f"{data['black_boxes']}, {count}"),
    )
    pairs = {name: [_difference(angles, kind, "PRE", name) for kind in OUTLIERS] for name in (LIME, NO_KERNEL)}
    return Outcome(findings, claims(pairs), data)


def _offsets(scene: Scene, rng: np.random.Generator, fresh: np.random.Generator) -> tuple[float, float]:
    """Share of new local rows that get the black box's class, with PRE's own offset and with one from labelled rows.

    The paper takes the offset from 400 labelled rows near the cloud; here they are the 400 nearest to the point.
    """
    x = scene.cloud(ROWS, rng)
    line = pre_line(x, scene.box.predict_proba(x))
    rows, labels = scene.box.draw(4000, fresh)
    near = np.argsort(((rows - scene.point) ** 2).sum(axis=1))[:400]
    score = rows[near] @ line[:-1]
    labelled = _offset_of(score, float(labels[near].mean()))
    test = scene.cloud(2000, fresh)
    truth = scene.box.logit(test) > 0.0
    own, other = ((test @ line[:-1] + offset > 0.0) == truth for offset in (line[-1], labelled))
    return float(own.mean()), float(other.mean())


def _offset_of(score: Array, share: float) -> float:
    """Maximum-likelihood offset for fixed slopes: the mean probability equals the share of positive labels."""
    from scipy.optimize import brentq

    reach = float(np.abs(score).max()) + 30.0
    return float(brentq(lambda offset: expit(score + offset).mean() - share, -reach, reach))


def _sweep(setting: Setting) -> dict[str, Any]:
    """Mean angle over clouds as the black box's probability at the outlier goes from 0 to 1, on either side."""
    slope, reach = np.array([4.0, 0.0]), 1.5
    clouds = setting.pick(40, 3)
    levels = np.linspace(-6.0, 6.0, setting.pick(17, 5))
    found = np.empty((clouds, 2, len(levels), len(DRAWN)))
    steps = [(s, j) for s in range(2) for j in range(len(levels))]
    for s, j in setting.track(steps, "outlier's probability", len(steps)):
        centre = reach * np.array([(1.0, -1.0)[s], 1.0])
        box = Bump(slope, centre, float(-levels[j] - centre @ slope))
        truth = box.gradient(np.zeros(2))
        for i in range(clouds):
            x = SPREAD * setting.rng(3, i).normal(size=(ROWS, 2))
            x[0], x[-1] = 0.0, centre
            proba = box.predict_proba(x)
            found[i, s, j] = [angle(METHODS[name](x, proba)[:-1], truth) for name in DRAWN]
    mean, margin = mean_and_margin(found)
    return {
        "probability_of_minus": expit(levels),
        "methods": list(DRAWN),
        "clouds": clouds,
        "plus_side": mean[0],
        "minus_side": mean[1],
        "noise": margin,
        "trend_on_minus_side": float(expit(reach * slope[0])),
    }


def _column(angles: Array, kind: int | None, method: str) -> Array:
    """Angles of one condition and method, shape (repetitions,)."""
    return np.asarray(angles[:, CONDITIONS.index(kind), list(METHODS).index(method)])


def _difference(angles: Array, kind: int | None, one: str, other: str) -> tuple[float, float]:
    """Mean paired difference of two methods' angles, and half the width of its 95 % interval."""
    return _mean(_column(angles, kind, one) - _column(angles, kind, other))


def _typical(angles: Array, kind: int) -> int:
    """The repetition to show: nearest to the mean angles, among the quarter with the best fit without an outlier.

    The picture then shows the effect of the outlier, at its average size.
    """
    names = ("PRE", "PRE, roles swapped", LIME, NO_KERNEL)
    clean = np.max([_column(angles, None, name) for name in names], axis=0)
    chosen = np.column_stack([_column(angles, kind, name) for name in names])
    far = ((chosen - chosen.mean(axis=0)) ** 2).sum(axis=1)
    return int(np.where(clean <= np.quantile(clean, 0.25), far, np.inf).argmin())


def _picture(scene: Scene, kind: int, rng: np.random.Generator) -> dict[str, Any]:
    """One repetition in the plane: the black box, the cloud with its outlier, and the fitted boundaries."""
    grid = scene.point + np.linspace(-REACH, REACH, 61)[:, None]
    u, v = np.meshgrid(*grid.T)
    plane = expit(scene.box.logit(np.column_stack([u.ravel(), v.ravel()]))).reshape(u.shape)
    x = scene.cloud(ROWS, rng, kind)
    proba = scene.box.predict_proba(x)
    return {
        "outlier": KINDS[kind],
        "grid": grid.T,
        "probability_of_plus": plane.round(3),
        "point": scene.point,
        "gradient": scene.direction,
        "rows": x,
        "plus": proba[:, 1] > 0.5,
        "lines": {name: METHODS[name](x, proba) for name in DRAWN},
    }


def _findings(angles: Array, offsets: Array, sweep: Mapping[str, Any]) -> Iterator[Finding]:
    """The paper's claim for its own outlier, then for the other kinds, methods and roles."""
    claim = "PRE accurate, LIME skewed"

    def compare(question: str, kind: int | None, one: str = "PRE", other: str = LIME, paper: str = "") -> Finding:
        left, right = (_column(angles, kind, name).mean() for name in (one, other))
        mean, margin = _difference(angles, kind, one, other)
        verdict = judge(mean, margin)
        if paper and verdict == "holds" and left > 2.0 * _column(angles, None, one).mean():
            verdict = "holds in part: less skewed, not accurate"
        ours = f"{left:.1f}° − {right:.1f}° = {_signed(mean)}° ± {margin:.1f}°"
        return Finding(question, ours, paper, "" if kind is None else verdict)

    yield compare("no outlier: angle of PRE − LIME", None)
    for other in (LIME, NO_KERNEL):
        for kind in OUTLIERS:
            yield compare(f"{KINDS[kind]}: PRE − {other}", kind, other=other, paper=claim if kind == 0 else "")
    for kind in (0, 2):
        yield compare(f"{KINDS[kind]}: roles swapped − {NO_KERNEL}", kind, "PRE, roles swapped", NO_KERNEL)
    for kind in (0, 2):
        yield compare(f"{KINDS[kind]}: PRE, kernel − LIME", kind, "PRE, kernel")
    middle = len(sweep["probability_of_minus"]) // 2
    sides = np.array([sweep["plus_side"][middle], sweep["minus_side"][middle]]).T
    angles_of = [f"{name} {{:.0f}}°, {{:.0f}}°".format(*sides[DRAWN.index(name)]) for name in ("PRE", NO_KERNEL)]
    yield Finding("outlier with p₋ = 1/2 on the + side, on the − side", "; ".join(angles_of))
    magnifies = "a sigmoid magnifies outliers"
    for kind in (0, 2):
        yield _sigmoid_finding(f"{KINDS[kind]}: soft logistic − PRE", angles, (kind,), magnifies * (kind == 0))
    yield _sigmoid_finding("mean of the four kinds: soft logistic − PRE", angles, OUTLIERS, magnifies)
    (own, labelled), (gain, margin) = 100.0 * offsets.mean(axis=0), _mean(100.0 * (offsets[:, 0] - offsets[:, 1]))
    yield Finding(
        "local rows in the black box's class: own offset − offset from 400 labels",
        f"{own:.1f} % − {labelled:.1f} % = {_signed(gain)} % ± {margin:.1f} %",
        "the offset needs labelled rows",
        "holds" if gain + margin < 0.0 else "does not hold" + (": labels make it worse" if gain - margin > 0.0 else ""),
    )


def judge(mean: float, margin: float) -> str:
    """Whether a difference is significantly below zero, or above."""
    return "holds" if mean + margin < 0.0 else "does not hold" + (": reversed" if mean - margin > 0.0 else "")


def _mean(values: Array) -> tuple[float, float]:
    """Mean, and half the width of its 95 % interval."""
    mean, margin = mean_and_margin(values)
    return float(mean), float(margin)


def _sigmoid_finding(question: str, angles: Array, kinds: tuple[int, ...], paper: str) -> Finding:
    """Whether outliers skew soft logistic regression more than PRE, averaged over some kinds."""
    differences = [_column(angles, kind, "soft logistic") - _column(angles, kind, "PRE") for kind in kinds]
    mean, margin = _mean(np.asarray(np.mean(differences, axis=0)))
    return Finding(question, f"{_signed(mean)}° ± {margin:.1f}°", paper, judge(-mean, margin))


def _signed(value: float) -> str:
    """A number with its sign and one digit."""
    return f"{value:+.1f}".replace("-", "−")


def claims(pairs: Mapping[str, Sequence[tuple[float, float]]]) -> dict[str, bool]:
    """Whether PRE is less skewed than LIME with and without kernel; a (mean, margin) for each kind of outlier."""
    found = {}
    for name, phrase in ((LIME, "LIME's"), (NO_KERNEL, "that of LIME without its kernel")):
        less = [judge(*pair) == "holds" for pair in pairs[name]]
        found[f"PRE's boundary is less skewed than {phrase} by the paper's outlier ({KINDS[0]})"] = less[0]
        found[f"PRE's boundary is less skewed than {phrase} by every kind of outlier"] = all(less)
    return found


#: colours and line styles; weighted methods have the colours of the unweighted ones
COLOURS = dict(zip(DRAWN, (BLUE, SKY, AMBER, GREEN, ORANGE), strict=True))
STYLES = dict(zip(DRAWN, ("-", (0, (1, 1)), (0, (5, 2)), "-.", (0, (5, 2))), strict=True))


def draw(data: Mapping[str, Any]) -> Figure:
    """Draw two examples, angles for every kind of outlier, and angles over the outlier's probability."""
    figure = new_figure(12.0, 11.2)
    grid = figure.add_gridspec(2, 1, height_ratios=[1.12, 1.0])
    top, bottom = figure.add_subfigure(grid[0]), figure.add_subfigure(grid[1])
    planes = top.subplots(1, 2)
    titles = ("The paper's picture: a − outlier against the trend", "The other class: a + outlier against the trend")
    for axes, picture, title in zip(planes, data["pictures"], titles, strict=True):
        _draw_plane(axes, picture)
        axes.set_title(title, fontsize=11)
    top.legend(*planes[0].get_legend_handles_labels(), loc="outside upper center", ncols=8, fontsize=9.5, frameon=False)
    kinds, plus, minus = bottom.subplots(1, 3, width_ratios=[2.1, 1.0, 1.0])
    _draw_kinds(kinds, data)
    trend = data["dial"]["trend_on_minus_side"]
    _draw_sweep(plus, data["dial"], "plus_side", 1.0 - trend, "Outlier on the + side")
    _draw_sweep(minus, data["dial"], "minus_side", trend, "Outlier on the − side")
    plus.set_ylabel("mean angle (degrees)")
    minus.tick_params(labelleft=False)
    highest = max(plus.get_ylim()[1], minus.get_ylim()[1])
    for axes in (plus, minus):
        axes.set_ylim(0.0, highest)
    return figure


def _draw_plane(axes: Any, picture: Mapping[str, Any]) -> None:
    """Draw the black box, the cloud with its outlier, and the fitted boundaries."""
    u, v = map(np.asarray, picture["grid"])
    plane = np.asarray(picture["probability_of_plus"])
    axes.contourf(u, v, plane, levels=[0.0, 0.5, 1.0], colors=["#e3e3e3", "#f9f9f9"])
    axes.contour(u, v, plane, levels=[0.5], colors="black", linewidths=1.4)
    axes.plot([], [], color="black", linewidth=1.4, label="black box (grey: −)")
    rows, plus = np.asarray(picture["rows"]), np.asarray(picture["plus"])
    for marker, chosen in (("+", plus[:-1]), ("_", ~plus[:-1])):
        axes.plot(*rows[:-1][chosen].T, marker, color="#444444", markersize=6, zorder=3)
    axes.plot(*rows[-1], "D", color=PINK, markeredgecolor="black", markersize=13, zorder=5, label="outlier")
    sign = picture["outlier"][0]
    axes.annotate(sign, rows[-1], ha="center", va="center_baseline", fontsize=13, fontweight="bold", zorder=6)
    point, gradient = np.array(picture["point"]), np.array(picture["gradient"])
    axes.plot(*_ends(point, gradient, -point @ gradient), ":", color="black", linewidth=1.4, label="its tangent")
    axes.plot(*point, "o", color="black", markersize=4, zorder=5)
    for name, line in picture["lines"].items():
        ends = _ends(point, np.array(line[:-1]), line[-1])
        axes.plot(*ends, color=COLOURS[name], linestyle=STYLES[name], linewidth=2.4, label=name, zorder=4)
    axes.set(xlim=(u[0], u[-1]), ylim=(v[0], v[-1]), aspect="equal", xlabel="$x_0$", ylabel="$x_1$")


def _ends(point: Array, normal: Array, offset: float) -> Array:
    """Two distant points on the line ⟨normal, x⟩ + offset = 0, as columns."""
    foot = point - (point @ normal + offset) * normal / (normal @ normal)
    along = 4.0 * REACH * np.array([-normal[1], normal[0]]) / np.linalg.norm(normal)
    return np.column_stack([foot - along, foot + along])


def _draw_kinds(axes: Any, data: Mapping[str, Any]) -> None:
    """Draw mean angles with intervals, a row for each kind of outlier; open markers are with LIME's kernel."""
    mean, margin = np.asarray(data["angle"])
    for m, name in enumerate(data["methods"]):
        weighted = name in WEIGHTED
        plain = PLAIN[m % len(PLAIN)]
        rows = np.arange(len(mean)) + 0.21 * (PLAIN.index(plain) - 1.5) + 0.085 * weighted
        colour = COLOURS.get(name, COLOURS[plain])
        axes.errorbar(
            mean[:, m], rows, xerr=margin[:, m], fmt="o", color=colour, markerfacecolor="white" if weighted else colour,
            markersize=5.5, linewidth=1.4, label=name if not weighted or name == LIME else None,
        )  # fmt: skip
    axes.errorbar([0.0], [-9.0], xerr=[0.0], fmt="o", color=GREY, markerfacecolor="white", label="open: with kernel")
    axes.set_yticks(range(len(mean)), ["no outlier", *(kind.replace(" the", "\nthe") for kind in KINDS)], fontsize=10)
    axes.set_ylim(len(mean) - 0.5, -0.5)
    for edge in np.arange(len(mean) - 1) + 0.5:
        axes.axhline(edge, color=LIGHT, linewidth=1.0, zorder=0)
    axes.set_xlim(left=0.0)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color=LIGHT)
    axes.set_axisbelow(True)
    axes.set_xlabel("mean angle to the black box's gradient (degrees)")
    axes.set_title(f"Every kind of outlier: {data['repetitions']} black boxes, 95 % intervals", fontsize=11)
    set_legend(axes)


def _draw_sweep(axes: Any, sweep: Mapping[str, Any], side: str, trend: float, title: str) -> None:
    """Draw the angle over the probability that the black box gives the outlier, on a logit scale."""
    level = logit(np.asarray(sweep["probability_of_minus"]))
    margins = np.asarray(sweep["noise"])[0 if side == "plus_side" else 1]
    for name, curve, margin in zip(sweep["methods"], np.asarray(sweep[side]).T, margins.T, strict=True):
        axes.fill_between(level, curve - margin, curve + margin, color=COLOURS[name], alpha=0.18, linewidth=0)
        axes.plot(level, curve, color=COLOURS[name], linestyle=STYLES[name], linewidth=2.0)
    ticks = np.array([0.01, 0.1, 0.5, 0.9, 0.99])
    axes.set_xticks(logit(ticks), [f"{tick:g}" for tick in ticks], fontsize=9)
    axes.axvline(logit(trend), color=GREY, linewidth=1.0, linestyle=":")
    right = trend > 0.5
    axes.annotate(
        "local\ntrend", (logit(trend), 0.98), (-4 if right else 4, 0), xycoords=("data", "axes fraction"),
        textcoords="offset points", ha="right" if right else "left", va="top", fontsize=9, color=GREY,
    )  # fmt: skip
    axes.set_xlabel("black box's $p_-$ there")
    axes.set_title(title, fontsize=11)
    axes.grid(color=LIGHT)
    axes.set_axisbelow(True)
