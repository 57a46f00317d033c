"""Whether the conditions of consistency hold on samples, and what they promise.

Both sides observe y = 0 with noise N(0, I) and have the prior N(0, I), so that δ* = 0 and the Hessian of the population
is I/2. The ball around δ* has radius 10/√n, which for C_r = 1.5 is R₁/R₂ = 10/1.5.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..entropy import Array, exp_of
from ..likelihoods import Gaussian
from ..plots.canvas import BLUE, GREEN, GREY, LIGHT, ORANGE, new_figure, set_legend
from ..problem import RatioProblem
from ..solvers import solve
from ..theory import min_eigenvalue, min_eigenvalue_in_ball, weyl_bound
from .record import Finding, Outcome, Setting
from .shares import Share

if TYPE_CHECKING:
    from ..plots.canvas import Figure

TITLE = "Do the conditions of consistency hold on samples?"

RADIUS, C_R = 10.0, 1.5
#: the bounds that the paper reads off its plots, and from which n on
EIGENVALUE, RATIO, FROM = 0.18, RADIUS / C_R, 400
#: the Hessian of the population
HESSIAN = 0.5 * np.eye(2)
SEEN = Gaussian([0.0, 0.0])
#: what follows where the conditions hold
CONCLUSION = "√n‖δ̂‖ below the ratio"
#: chance of a ratio above the bound as n grows: with g = 2 exp(−|x|²/2), posterior over prior, each side's variance of
#: the score is E[g² x₁²] = 4/9, and the length of a normal vector in the plane has Rayleigh's law
LIMIT = exp_of(-((RATIO * 0.5) ** 2) / (2.0 * 8.0 / 9.0))


@dataclass(frozen=True)
class Run:
    """One sample: the norm of the score √n ∇ℓ(δ*), λ_min on the ball and at its centre, bounds, √n‖δ̂‖."""

    score: float
    inside: float
    centre: float
    weyl: float
    weyl_sample: float
    error: float


def sample(setting: Setting, bounded: int, which: tuple[int, int]) -> Run:
    """Run i of size n; Weyl's bounds, which only the plot of eigenvalues needs, in the first ``bounded`` runs."""
    n, i = which
    zero, radius, root = np.zeros(2), RADIUS / np.sqrt(n), float(np.sqrt(n))
    x_p, x_q = setting.rng(n, i).normal(size=(2, n, 2))
    problem = RatioProblem.from_samples(x_p, x_q, SEEN, SEEN)
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
        """√n‖∇ℓ(δ*)‖ / min λ_min; above all bounds where λ_min is zero."""
        return np.asarray(self.score / np.maximum(self.inside, 1e-300))

    def facts(self, bounded: int) -> dict[str, Any]:
        """What the figure shows; eigenvalues of as many runs as the paper has."""
        few = {name: getattr(self, name)[:bounded] for name in ("inside", "centre", "weyl", "weyl_sample")}
        return {
            "n": self.n,
            **{name: {"mean": v.mean(), "sd": v.std(ddof=1), "min": v.min()} for name, v in few.items()},
            "ratio": {"mean": self.ratio.mean(), "sd": self.ratio.std(ddof=1), "max": self.ratio.max()},
            "ratio_at_centre": {"mean": (self.score / self.centre).mean()},
            "smallest_of_all": self.inside.min(),
            "ratios": self.ratio.round(3),
        }


def run(setting: Setting) -> Outcome:
    """Evaluate the conditions over sizes and repetitions."""
    sizes = setting.pick((100, 200, 300, 400, 600, 800, 1200, 1600), (100, 400))
    runs, bounded = setting.pick((500, 50), (25, 8))
    which = [(n, i) for n in sizes for i in range(runs)]
    done = setting.each(partial(sample, setting, bounded), which, f"{len(which):,} samples")
    parts = [done[i : i + runs] for i in range(0, len(done), runs)]
    found = [
        Size(n, **{field.name: np.array([getattr(each, field.name) for each in part]) for field in fields(Run)})
        for n, part in zip(sizes, parts, strict=True)
    ]
    rows = [size.facts(bounded) for size in found]
    large = [row for row in rows if row["n"] >= FROM]
    first = large[0]
    low = {row["n"]: row["inside"]["mean"] - 2.0 * row["inside"]["sd"] for row in rows}
    high = {row["n"]: row["ratio"]["mean"] + 2.0 * row["ratio"]["sd"] for row in rows}
    above = {size.n: Share(int((size.ratio > RATIO).sum()), runs) for size in found}
    beyond = Share(sum(share.count for n, share in above.items() if n >= FROM), runs * len(large))
    apply = [(size.error[ok], size.ratio[ok]) for size in found if (ok := size.ratio < RADIUS).any()]
    total = sum(len(error) for error, _ in apply)
    kept = sum(int((error <= ratio).sum()) for error, ratio in apply)
    smallest = min(low[row["n"]] for row in large)
    worst = min(row["smallest_of_all"] for row in large)
    close = {name: first[name]["mean"] / first["inside"]["mean"] for name in ("weyl", "weyl_sample", "centre")}
    approximate = first["ratio_at_centre"]["mean"] / first["ratio"]["mean"]
    findings = (
        Finding(
            f"min λ − 2 sd, n ≥ {FROM}", f"{smallest:.3f}", "above 0.18", bounded_from(low, EIGENVALUE, above=True)
        ),
        Finding("smallest of all runs", f"{worst:.3f}"),
        Finding(f"Weyl / min λ, n = {FROM}", f"{close['weyl']:.3f}", "very close", near(close["weyl"])),
        Finding("… with Σ at δ*", f"{close['weyl_sample']:.3f}"),
        Finding("λ at δ* / min λ, same n", f"{close['centre']:.3f}", "close", near(close["centre"])),
        Finding(
            f"ratio + 2 sd, n ≥ {FROM}",
            f"{max(high[row['n']] for row in large):.2f}; any n {max(high.values()):.2f}",
            "below 6.66",
            bounded_from(high, RATIO, above=False),
        ),
        Finding("ratio by λ at δ*, same n", f"{approximate:.3f} of it", "close", near(approximate)),
        Finding(f"runs above 6.66, n ≥ {FROM}", str(beyond)),
        Finding("the same as n grows", f"{100 * LIMIT:.2g} %"),
        Finding(CONCLUSION, f"{kept:,} of {total:,}", "always", judge_all(kept, total)),
    )
    data = {
        "bounds": {"eigenvalue": EIGENVALUE, "ratio": RATIO, "from": FROM},
        "repeats": {"ratio": runs, "eigenvalue": bounded},
        "limit_above": LIMIT,
        "rows": [{**row, "above": above[row["n"]].count} for row in rows],
    }
    return Outcome(findings, conclude(findings, above, beyond), data)


def bounded_from(values: Mapping[int, float], bound: float, *, above: bool) -> str:
    """Whether values lie on their side of a bound for n ≥ 400, and from which n on they do."""
    fine = {n: (value > bound) == above for n, value in values.items()}
    start = min((n for n in fine if all(ok for m, ok in fine.items() if m >= n)), default=None)
    if start is None:
        return "does not hold"
    return f"does not hold below n = {start}" if start > FROM else f"holds from n = {start} on"


def judge_all(kept: int, total: int) -> str:
    """Whether something is always so; of no case at all nothing is said."""
    return "" if total == 0 else "holds" if kept == total else "does not hold"


def near(ratio: float) -> str:
    """Whether two numbers agree to a tenth."""
    return "holds" if abs(ratio - 1.0) <= 0.1 else "does not hold"


def conclude(findings: tuple[Finding, ...], above: Mapping[int, Share], beyond: Share) -> str:
    """The findings in a sentence."""
    broken = [finding.question for finding in findings if finding.verdict.startswith("does not hold")]
    if broken:
        return f"does not hold: {', '.join(broken)}"
    most = max(above.values(), key=lambda share: share.count)
    tested = any(finding.question == CONCLUSION and finding.verdict for finding in findings)
    single = (
        f"Single runs exceed the ratio's bound: {beyond.count} of {beyond.total:,} for n ≥ {FROM}, and at most "
        f"{most.count} of {most.total} for any n."
        if most.count
        else "No single run exceeds the ratio's bound."
    )
    return (
        "holds: eigenvalues, Weyl's bound and the ratio behave as the paper says, give or take 2 standard deviations. "
        + single
        + " No run met the conditions, so that what follows from them was not tested." * (not tested)
    )


def draw(data: Mapping[str, Any]) -> Figure:
    """Eigenvalues and ratios over n."""
    figure = new_figure(12.5, 5.6)
    left, right = figure.subplots(1, 2)
    rows, bounds, repeats = data["rows"], data["bounds"], data["repeats"]
    n = np.array([row["n"] for row in rows])
    _draw_eigenvalues(left, n, rows)
    left.axhline(bounds["eigenvalue"], color="black", linewidth=1.0, linestyle=":", label="the paper's bound, 0.18")
    left.set(ylabel="smallest eigenvalue of the Hessian", ylim=(0.0, 0.56))
    left.plot(
        n,
        [row["smallest_of_all"] for row in rows],
        "x",
        color=GREY,
        markersize=7,
        label=f"smallest of {repeats['ratio']} samples",
    )
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
        ax.set(xlabel="n (grey: below the 400 that the paper speaks of)", xlim=(n[0] * 0.92, n[-1] * 1.09))
        set_legend(ax, 2)
    return figure


def _draw_eigenvalues(ax: Any, n: Array, rows: list[dict[str, Any]]) -> None:
    """Minimum over the ball with its band, the bounds, and the centre."""
    mean, sd = (np.array([row["inside"][key] for row in rows]) for key in ("mean", "sd"))
    ax.fill_between(n, mean - 2.0 * sd, mean + 2.0 * sd, color=ORANGE, alpha=0.2, linewidth=0)
    ax.plot(n, [row["centre"]["mean"] for row in rows], "--", color="black", linewidth=1.3, label="λ at δ*")
    ax.plot(n, mean, "o-", color=ORANGE, linewidth=1.8, markersize=5, label="min λ on the ball")
    ax.plot(
        n,
        [row["weyl"]["mean"] for row in rows],
        "s--",
        color=BLUE,
        linewidth=1.5,
        markersize=4,
        label="Weyl, Σ of the population",
    )
    ax.plot(
        n,
        [row["weyl_sample"]["mean"] for row in rows],
        "^:",
        color=GREEN,
        linewidth=1.5,
        markersize=4,
        label="Weyl, Σ at δ*",
    )


def _draw_ratios(ax: Any, n: Array, rows: list[dict[str, Any]]) -> None:
    """Mean ratio with the middle of its samples and the paper's mean + 2 sd, and the ratio by the eigenvalue at δ*."""
    mean, sd = (np.array([row["ratio"][key] for row in rows]) for key in ("mean", "sd"))
    low, high = np.array([np.quantile(row["ratios"], (0.025, 0.975)) for row in rows]).T
    ax.fill_between(n, low, high, color=ORANGE, alpha=0.2, linewidth=0)
    ax.plot(n, mean + 2.0 * sd, "v-.", color=BLUE, linewidth=1.3, markersize=4, label="mean + 2 sd")
    ax.plot(n, mean, "o-", color=ORANGE, linewidth=1.8, markersize=5, label="min λ on the ball")
    ax.plot(n, [row["ratio_at_centre"]["mean"] for row in rows], "--", color="black", linewidth=1.3, label="λ at δ*")
    for i, row in enumerate(rows):
        values = np.array(row["ratios"])
        ax.plot(
            np.full(len(values), row["n"]),
            values,
            "_",
            color=GREY,
            alpha=0.35,
            markersize=9,
            zorder=1,
            label="single samples" if i == 0 else None,
        )
