"""Consistency: whether the conditions of the consistency theorem hold on samples, and so does its conclusion.

Both sides observe y = 0 with noise N(0, I) and have the prior N(0, I), so δ* = 0 and the population Hessian is I/2. The
ball around δ* has radius 10/√n, that is, R₁/R₂ = 10/1.5 with C_r = 1.5.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from pre_convex._internal.typing import Array
from pre_convex.data.likelihoods import Gaussian
from pre_convex.plots.canvas import BLUE, GREEN, GREY, LIGHT, ORANGE, new_figure, set_legend
from pre_convex.problem import RatioProblem
from pre_convex.solvers import solve
from pre_convex.statistics.theory import min_eigenvalue, min_eigenvalue_in_ball, weyl_bound

from .intervals import Share
from .record import Finding, Outcome, Setting

if TYPE_CHECKING:
    from pre_convex.plots.canvas import Figure

TITLE = "Do the conditions of the consistency theorem hold on samples?"

RADIUS, C_R = 10.0, 1.5
#: the bounds that the paper reads off its plots, and the n from which it claims them
EIGENVALUE, RATIO, FROM = 0.18, RADIUS / C_R, 400
#: Hessian of the population
HESSIAN = 0.5 * np.eye(2)
LIKELIHOOD = Gaussian([0.0, 0.0])
#: what the theorem concludes from the conditions
CONCLUSION = "√n‖δ̂‖ below the ratio"
#: P(ratio > bound) as n grows: with g = posterior/prior = 2 exp(−|x|²/2), each side contributes E[g² x₁²] = 4/9 to the
#: variance of the score, and the length of a normal vector in the plane has a Rayleigh distribution
LIMIT = math.exp(-((RATIO * 0.5) ** 2) / (2.0 * 8.0 / 9.0))


@dataclass(frozen=True)
class Run:
    """One sample.

    Attributes
    ----------
    score : float
        √n‖∇ℓ(δ*)‖.
    inside, centre : float
        λ_min of the Hessian, smallest over the ball and at δ*.
    weyl, weyl_sample : float
        Weyl's lower bound on ``inside``, from the population Hessian and from the sample's at δ*; nan if not computed.
    error : float
        √n‖δ̂‖.
    """

    score: float
    inside: float
    centre: float
    weyl: float
    weyl_sample: float
    error: float


def run_sample(setting: Setting, bounded: int, which: tuple[int, int]) -> Run:
    """Run i of size n, for which = (n, i); Weyl's bounds, needed only for the plot, in the first ``bounded`` runs."""
    n, i = which
    zero, radius, root = np.zeros(2), RADIUS / np.sqrt(n), float(np.sqrt(n))
    x_p, x_q = setting.rng(n, i).normal(size=(2, n, 2))
    problem = RatioProblem.from_samples(x_p, x_q, LIKELIHOOD, LIKELIHOOD)
    return Run(
        score=root * float(np.linalg.norm(problem.gradient(zero))),
        inside=min_eigenvalue_in_ball(problem, zero, radius)[0],
        centre=min_eigenvalue(problem, zero),
        weyl=weyl_bound(problem, zero, radius, reference=HESSIAN) if i < bounded else np.nan,
        weyl_sample=weyl_bound(problem, zero, radius) if i < bounded else np.nan,
        error=root * float(np.linalg.norm(solve(problem).delta)),
    )


@dataclass(frozen=True, eq=False)
class Size:
    """All runs of one n, as arrays."""

    n: int
    score: Array
    inside: Array
    centre: Array
    weyl: Array
    weyl_sample: Array
    error: Array

    @property
    def ratio(self) -> Array:
        """√n‖∇ℓ(δ*)‖ / min λ_min; huge where λ_min is zero."""
        return np.asarray(self.score / np.maximum(self.inside, 1e-300))

    def summary(self, bounded: int) -> dict[str, Any]:
        """Statistics for the figure; those of eigenvalues are over as many runs as in the paper."""
        first = {name: getattr(self, name)[:bounded] for name in ("inside", "centre", "weyl", "weyl_sample")}
        return {
            "n": self.n,
            **{name: {"mean": v.mean(), "sd": v.std(ddof=1), "min": v.min()} for name, v in first.items()},
            "ratio": {"mean": self.ratio.mean(), "sd": self.ratio.std(ddof=1), "max": self.ratio.max()},
            "ratio_at_centre": {"mean": (self.score / self.centre).mean()},
            "smallest_of_all": self.inside.min(),
            "ratios": self.ratio.round(3),
            "above": int((self.ratio > RATIO).sum()),
        }


def run(setting: Setting) -> Outcome:
    """Evaluate the conditions over sizes and repetitions."""
    sizes = setting.pick((100, 200, 300, 400, 600, 800, 1200, 1600), (100, 400))
    repeats, bounded = setting.pick((500, 50), (25, 8))
    which = [(n, i) for n in sizes for i in range(repeats)]
    runs = setting.each(partial(run_sample, setting, bounded), which, f"{len(which):,} samples")
    by_size = [
        Size(n, **{field.name: np.array([getattr(each, field.name) for each in block]) for field in fields(Run)})
        for n, block in zip(sizes, (runs[i : i + repeats] for i in range(0, len(runs), repeats)), strict=True)
    ]
    met = [size.ratio < RADIUS for size in by_size]
    data = {
        "bounds": {"eigenvalue": EIGENVALUE, "ratio": RATIO, "from": FROM},
        "repeats": {"ratio": repeats, "eigenvalue": bounded},
        "limit_above": LIMIT,
        "conclusion": {
            "met": sum(int(ok.sum()) for ok in met),
            "kept": sum(int((size.error <= size.ratio)[ok].sum()) for size, ok in zip(by_size, met, strict=True)),
        },
        "rows": [size.summary(bounded) for size in by_size],
    }
    findings = tuple(find(data))
    return Outcome(findings, claims(findings, data), data)


def find(data: Mapping[str, Any]) -> Iterator[Finding]:
    """The findings."""
    rows = data["rows"]
    large = [row for row in rows if row["n"] >= FROM]
    first = large[0]
    low = {row["n"]: row["inside"]["mean"] - 2.0 * row["inside"]["sd"] for row in rows}
    high = {row["n"]: row["ratio"]["mean"] + 2.0 * row["ratio"]["sd"] for row in rows}
    close = {name: first[name]["mean"] / first["inside"]["mean"] for name in ("weyl", "weyl_sample", "centre")}
    approximate = first["ratio_at_centre"]["mean"] / first["ratio"]["mean"]
    smallest, largest = min(low[row["n"]] for row in large), max(high[row["n"]] for row in large)
    met, kept = data["conclusion"]["met"], data["conclusion"]["kept"]
    yield Finding(
        f"min λ − 2 sd, n ≥ {FROM}", f"{smallest:.3f}", "above 0.18", judge_bound(low, EIGENVALUE, above=True)
    )
    yield Finding(f"smallest λ of all runs, n ≥ {FROM}", f"{min(row['smallest_of_all'] for row in large):.3f}")
    yield Finding(f"Weyl / min λ, n = {FROM}", f"{close['weyl']:.3f}", "very close", judge_close(close["weyl"]))
    yield Finding(f"Weyl with Σ at δ* / min λ, n = {FROM}", f"{close['weyl_sample']:.3f}")
    yield Finding(f"λ at δ* / min λ, n = {FROM}", f"{close['centre']:.3f}", "close", judge_close(close["centre"]))
    yield Finding(
        f"ratio + 2 sd, n ≥ {FROM}",
        f"{largest:.2f}; any n {max(high.values()):.2f}",
        "below 6.66",
        judge_bound(high, RATIO, above=False),
    )
    yield Finding(f"ratio with λ at δ* / ratio, n = {FROM}", f"{approximate:.3f}", "close", judge_close(approximate))
    yield Finding(f"runs with a ratio above 6.66, n ≥ {FROM}", str(share_above(data, FROM)))
    yield Finding("their share as n grows", f"{100 * data['limit_above']:.2g} %")
    yield Finding(CONCLUSION, f"{kept:,} of {met:,}", "always", judge_always(kept, met))


def share_above(data: Mapping[str, Any], smallest: int) -> Share:
    """Share of runs with n ≥ ``smallest`` whose ratio is above the paper's bound."""
    rows = [row for row in data["rows"] if row["n"] >= smallest]
    return Share(sum(row["above"] for row in rows), data["repeats"]["ratio"] * len(rows))


def judge_bound(values: Mapping[int, float], bound: float, *, above: bool) -> str:
    """Whether all values with n ≥ 400 are above (or below) a bound, and from which n on they are."""
    fine = {n: (value > bound) == above for n, value in values.items()}
    start = min((n for n in fine if all(ok for m, ok in fine.items() if m >= n)), default=None)
    if start is None:
        return "does not hold"
    return f"does not hold below n = {start}" if start > FROM else f"holds from n = {start} on"


def judge_always(kept: int, total: int) -> str:
    """Whether something holds in all cases; no verdict if there are none."""
    return "" if total == 0 else "holds" if kept == total else "does not hold"


def judge_close(ratio: float) -> str:
    """Whether a ratio is within 10 % of one."""
    return "holds" if abs(ratio - 1.0) <= 0.1 else "does not hold"


def claims(findings: tuple[Finding, ...], data: Mapping[str, Any]) -> dict[str, bool]:
    """What the findings say of the paper's claims; the conclusion counts only if some run met the conditions."""
    held = {finding.question: finding.verdict.startswith("holds") for finding in findings if finding.verdict}
    conclusion = held.pop(CONCLUSION, None)
    found = {
        f"eigenvalues, Weyl's bound and the ratio, within 2 sd, are as the paper says for n ≥ {FROM}": all(
            held.values()
        ),
        f"every single sample with n ≥ {FROM} keeps the bound on the ratio": share_above(data, FROM).count == 0,
    }
    if conclusion is not None:
        found["the theorem's conclusion holds in every sample that meets its conditions"] = conclusion
    return found


def draw(data: Mapping[str, Any]) -> Figure:
    """Draw eigenvalues and ratios over n."""
    figure = new_figure(12.5, 5.6)
    left, right = figure.subplots(1, 2)
    rows, bounds, repeats = data["rows"], data["bounds"], data["repeats"]
    n = np.array([row["n"] for row in rows])
    _draw_eigenvalues(left, n, rows)
    left.axhline(bounds["eigenvalue"], color="black", linewidth=1.0, linestyle=":", label="the paper's bound, 0.18")
    left.set(ylabel="smallest eigenvalue of the Hessian", ylim=(0.0, 0.56))
    smallest = [row["smallest_of_all"] for row in rows]
    left.plot(n, smallest, "x", color=GREY, markersize=7, label=f"smallest of {repeats['ratio']} samples")
    left.set_title(f"Eigenvalues, mean of {repeats['eigenvalue']} samples, band ± 2 sd", fontsize=11)
    _draw_ratios(right, n, rows)
    right.axhline(bounds["ratio"], color="black", linewidth=1.0, linestyle=":", label="bound, 10/1.5")
    right.set(
        ylabel=r"$\sqrt{n}\,\|\nabla\ell(\delta^*)\|\;/\;\min\,\lambda$",
        ylim=(0.0, 1.05 * max(bounds["ratio"], *(row["ratio"]["max"] for row in rows))),
    )
    right.set_title(f"Ratio, {repeats['ratio']} samples: mean and central 95 %", fontsize=11)
    for ax in (left, right):
        ax.set_xscale("log")
        ax.set_xticks(n, [f"{value:,}" for value in n])
        ax.set_xticks([], minor=True)
        ax.axvspan(n[0] * 0.92, bounds["from"], color=LIGHT, alpha=0.5, linewidth=0, zorder=0)
        ax.set(xlabel="n (grey: below the paper's 400)", xlim=(n[0] * 0.92, n[-1] * 1.09))
        set_legend(ax, 2)
    return figure


def _draw_eigenvalues(ax: Any, n: Array, rows: list[dict[str, Any]]) -> None:
    """Draw the minimum over the ball with its band, Weyl's bounds, and the eigenvalue at the centre."""
    mean, sd = (np.array([row["inside"][key] for row in rows]) for key in ("mean", "sd"))
    ax.fill_between(n, mean - 2.0 * sd, mean + 2.0 * sd, color=ORANGE, alpha=0.2, linewidth=0)
    lines = (
        ("centre", "--", "black", 0.0, "λ at δ*"),
        ("inside", "o-", ORANGE, 5.0, "min λ on the ball"),
        ("weyl", "s--", BLUE, 4.0, "Weyl, Σ of the population"),
        ("weyl_sample", "^:", GREEN, 4.0, "Weyl, Σ at δ*"),
    )
    for name, style, colour, size, label in lines:
        width = {"centre": 1.3, "inside": 1.8}.get(name, 1.5)
        values = [row[name]["mean"] for row in rows]
        ax.plot(n, values, style, color=colour, linewidth=width, markersize=size, label=label)


def _draw_ratios(ax: Any, n: Array, rows: list[dict[str, Any]]) -> None:
    """Draw the mean ratio with its central 95 % and mean + 2 sd, the ratio with λ at δ*, and the single samples."""
    mean, sd = (np.array([row["ratio"][key] for row in rows]) for key in ("mean", "sd"))
    low, high = np.array([np.quantile(row["ratios"], (0.025, 0.975)) for row in rows]).T
    ax.fill_between(n, low, high, color=ORANGE, alpha=0.2, linewidth=0)
    ax.plot(n, mean + 2.0 * sd, "v-.", color=BLUE, linewidth=1.3, markersize=4, label="mean + 2 sd")
    ax.plot(n, mean, "o-", color=ORANGE, linewidth=1.8, markersize=5, label="min λ on the ball")
    ax.plot(n, [row["ratio_at_centre"]["mean"] for row in rows], "--", color="black", linewidth=1.3, label="λ at δ*")
    every = np.repeat(n, [len(row["ratios"]) for row in rows])
    single = np.concatenate([row["ratios"] for row in rows])
    ax.plot(every, single, "_", color=GREY, alpha=0.35, markersize=9, zorder=1, label="single samples")
