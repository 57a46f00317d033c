"""The relaxed dual with R_n = R₃/√n: how its error falls with n, Theorem 3's bound, and what solvers leave undone.

Both sides have the prior N(0, I) and observe x with noise N(0, I), as y_p and y_q: posteriors are normal with the same
covariance, and δ* = y_p − y_q exactly. It is not zero, since a relaxed constraint shrinks δ and costs nothing at zero.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..entropy import Array, log
from ..likelihoods import Gaussian
from ..plots.canvas import AMBER, BLUE, GREEN, GREY, LIGHT, ORANGE, name_rows, new_figure, set_legend
from ..problem import RatioProblem
from ..solution import Solution
from ..solvers import installed_solvers, solve
from ..theory import min_eigenvalue_in_ball
from .record import Finding, Outcome, Setting

if TYPE_CHECKING:
    from ..plots.canvas import Figure

TITLE = "Is the relaxed dual consistent, and are its multipliers δ?"

Y_P, Y_Q = np.array([0.6, -0.2]), np.array([0.0, 0.3])
STAR = Y_P - Y_Q
#: R₃ of R_n = R₃/√n
RELAXATIONS = (0.0, 0.5, 1.0, 2.0)
#: rows up to which the theorem's bound is computed
FEW = 1600
#: how much larger a ball is tried than the last eigenvalue asks for; the theorem asks for any factor above one
WIDER = 1.5
COLOURS = (BLUE, GREEN, AMBER, ORANGE)
#: where zero is drawn on a logarithmic axis
FLOOR = 1e-17
ERROR = r"$\|\delta_\mathrm{dual} - \delta^*\|$"
#: a slope this close to −1/2 counts, as does one within so many times its 95 % noise: there are four slopes
CLOSE, TIMES = 0.05, 1.5
#: E_qn in the paper, and by which factor a median may miss it
USUAL, FACTOR = 1e-7, 10.0
#: how far apart δ of the two forms may be, before and after polishing
APART, POLISHED = 1e-3, 1e-6
STEP, BOUND = "‖∇ℓ−∇ℓ*‖ ≤ R₂‖δ−δ*‖", "its bound holds"
#: claims that decide nothing about the theorem
ASIDE = ("in the proof", "about 1e-7")
#: what is told of every solver
MEASURES = ("gap", "e_qn", "polished_gap", "apart", "polished_apart")


def make_problem(rng: np.random.Generator, n: int) -> RatioProblem:
    """Fresh prior samples of both sides."""
    x_p, x_q = rng.normal(size=(2, n, 2))
    return RatioProblem.from_samples(x_p, x_q, Gaussian(Y_P), Gaussian(Y_Q))


@dataclass(frozen=True)
class Run:
    """One relaxed dual.

    Attributes
    ----------
    n, relaxation
        Size of the sample and R₃.
    error
        ‖δ_dual − δ*‖.
    residual, gap
        By how much ‖b − F'μ‖ exceeds R_n, and the certified gap.
    bound
        (R₁ + R₃)/(R₂√n) with the smallest R₁ and the largest R₂ of this sample; inf where no R₂ will do, and nan where
        it was not asked for.
    steepness
        ‖∇ℓ(δ*) − ∇ℓ(δ_dual)‖ / (R₂‖δ* − δ_dual‖), which the paper's proof takes for at most one.
    """

    n: int
    relaxation: float
    error: float
    residual: float
    gap: float
    bound: float = np.nan
    steepness: float = np.nan


def relax(setting: Setting, bounded: int, which: tuple[int, int]) -> list[Run]:
    """All relaxations of sample i of size n; the bound, which takes longer, where the sample is small and early."""
    n, i = which
    problem = make_problem(setting.rng(0, n, i), n)
    return [_relax(problem, n, relaxation, i < bounded and n <= FEW) for relaxation in RELAXATIONS]


def _relax(problem: RatioProblem, n: int, relaxation: float, bounded: bool) -> Run:
    """One relaxation, and the theorem's bound if asked for."""
    solution = solve(problem.with_radius(relaxation / np.sqrt(n)), "dual")
    error = float(np.linalg.norm(solution.delta - STAR))
    facts = (n, relaxation, error, solution.certificate.moment_residual, solution.gap)
    if not bounded:
        return Run(*facts)
    bound, R_2 = theorem(problem, n, relaxation)
    rise = problem.gradient(STAR) - problem.gradient(solution.delta)
    return Run(*facts, bound, float(np.linalg.norm(rise)) / (R_2 * error))


def theorem(problem: RatioProblem, n: int, relaxation: float) -> tuple[float, float]:
    """Theorem 3's bound (R₁ + R₃)/(R₂√n), and R₂, on the smallest ball found for which its condition holds.

    The theorem asks for λ_min > R₂ on a ball larger than the bound that R₂ gives; R₂ falls as the ball grows, so the
    ball is made larger until it is large enough.
    """
    top = float(np.linalg.norm(problem.gradient(STAR))) + relaxation / np.sqrt(n)
    radius = top
    for _ in range(20):
        R_2, _ = min_eigenvalue_in_ball(problem, STAR, radius)
        if R_2 <= 0.0:
            break
        if top / R_2 < radius:
            return top / R_2, R_2
        radius = WIDER * top / R_2
    return np.inf, np.nan


@dataclass(frozen=True)
class Trial:
    """One problem given to one solver: its own answer to the dual and to the primal, and both after polishing."""

    solver: str
    n: int
    relaxation: float
    gap: float
    e_qn: float
    polished_gap: float
    apart: float
    polished_apart: float


def attempt(setting: Setting, which: tuple[str, int, int, float]) -> Trial:
    """Let a solver do sample i of size n; what it left undone is nan where it gave no answer."""
    solver, n, i, relaxation = which
    problem = make_problem(setting.rng(1, n, i), n).with_radius(relaxation / np.sqrt(n))
    own, polished = (
        {form: solve(problem, form, solver, polish=polish, check=False) for form in ("dual", "primal")}
        for polish in (False, True)
    )
    dual = own["dual"]
    return Trial(
        solver, n, relaxation, dual.gap, dual.certificate.e_qn, polished["dual"].gap, _apart(own), _apart(polished)
    )


def _apart(answers: Mapping[str, Solution]) -> float:
    """How far the dual's multipliers are from the primal's δ."""
    return float(np.linalg.norm(answers["dual"].delta - answers["primal"].delta))


def slope(n: Array, errors: list[Array]) -> tuple[float, float]:
    """Slope of log mean error over log n by least squares, and its standard error.

    Errors are of one shape whatever n is, so that their relative spread is taken to be the same for all n.
    """
    x, y = log(n), log(np.array([each.mean() for each in errors]))
    x = x - x.mean()
    spread = float(np.mean([(each.std(ddof=1) / each.mean()) ** 2 / len(each) for each in errors]))
    return float(x @ y / (x @ x)), float(np.sqrt(spread / (x @ x)))


def run(setting: Setting) -> Outcome:
    """Relax over n, check the bound, and compare solvers."""
    sizes = setting.pick((100, 200, 400, 800, 1600, 3200, 6400, 12800), (100, 400, 1600))
    repeats, bounded = setting.pick((200, 25), (60, 2))
    which = [(n, i) for n in sizes for i in range(repeats)]
    runs = [each for part in setting.each(partial(relax, setting, bounded), which, "relaxed duals") for each in part]
    tasks = [
        (solver, n, i, relaxation)
        for solver in installed_solvers()
        for n in setting.pick((100, 300, 1000), (100,))
        for i in range(setting.pick(4, 2))
        for relaxation in (0.0, 1.0)
    ]
    trials = setting.each(partial(attempt, setting), tasks, "solvers")
    curves = [_curve(sizes, [each for each in runs if each.relaxation == relaxation]) for relaxation in RELAXATIONS]
    checked = [each for each in runs if not np.isnan(each.bound)]
    met = [each for each in checked if np.isfinite(each.bound)]
    table = [_summary(solver, [each for each in trials if each.solver == solver]) for solver in installed_solvers()]
    findings = (*_about_errors(curves), *_about_bound(len(checked), met), *_about_solvers(table))
    data = {
        "delta_star": STAR,
        "sizes": sizes,
        "repeats": repeats,
        "curves": curves,
        "bound": {
            "checked": len(checked),
            "relaxation": [each.relaxation for each in met],
            "n": [each.n for each in met],
            "error": [each.error for each in met],
            "bound": [each.bound for each in met],
            "samples": len(checked) // len(RELAXATIONS),
            "steepness": [each.steepness for each in met],
        },
        "largest_gap": max(each.gap for each in runs),
        "largest_residual": max(each.residual for each in runs),
        "solvers": table,
    }
    return Outcome(findings, conclude(findings, table), data)


def _curve(sizes: tuple[int, ...], runs: list[Run]) -> dict[str, Any]:
    """Mean errors of one R₃ over n, with their slope."""
    errors = [np.array([each.error for each in runs if each.n == n]) for n in sizes]
    steep, noise = slope(np.array(sizes, dtype=float), errors)
    return {
        "relaxation": runs[0].relaxation,
        "mean": [each.mean() for each in errors],
        "noise": [1.96 * each.std(ddof=1) / np.sqrt(len(each)) for each in errors],
        "slope": steep,
        "slope_noise": 1.96 * noise,
    }


def _summary(solver: str, trials: list[Trial]) -> dict[str, Any]:
    """What a solver left undone, over all its problems."""
    done = [each for each in trials if np.isfinite(each.gap) and np.isfinite(each.apart)]
    return {
        "solver": solver,
        "problems": len(trials),
        "answered": len(done),
        **{name: sorted(getattr(each, name) for each in done) for name in MEASURES},
    }


def _about_errors(curves: list[dict[str, Any]]) -> Iterator[Finding]:
    """The error's slope for every R₃."""
    for curve in curves:
        steep, noise = curve["slope"], curve["slope_noise"]
        ours = f"{steep:.3f} ± {noise:.3f}".replace("-", "−")
        yield Finding(f"error slope, R₃ = {curve['relaxation']:g}", ours, "−1/2", judge_slope(steep, noise))


def judge_slope(steep: float, noise: float) -> str:
    """Whether a slope is −1/2 as far as its noise can tell, or nearly so."""
    off = abs(steep + 0.5)
    if off <= noise:
        return "holds"
    if off <= CLOSE:
        return f"holds within {CLOSE:g}"
    return f"holds within {TIMES:g} × its noise" if off <= TIMES * noise else "does not hold"


def _about_bound(checked: int, met: list[Run]) -> Iterator[Finding]:
    """Theorem 3, and the step of its proof that points the wrong way."""
    total = len(met)
    yield Finding("Theorem 3 applies", f"{total:,} of {checked:,}: {checked // len(RELAXATIONS)} samples × 4 R₃")
    if not met:
        return
    kept = sum(each.error <= each.bound for each in met)
    most, least = (sum(sign * (each.steepness - 1.0) <= 0.0 for each in met) for sign in (1, -1))
    yield Finding(BOUND, f"{kept:,} of {total:,}", "always", "holds" if kept == total else "does not hold")
    yield Finding("bound / error, median", f"{np.median([each.bound / each.error for each in met]):.2f}")
    yield Finding(STEP, f"{most:,} of {total:,}; ≥ in {least:,}", "in the proof", judge_step(most, least, total))


def judge_step(most: int, least: int, total: int) -> str:
    """Whether an inequality holds in all of its cases, or the other way round in all, or neither."""
    if most == total:
        return "holds"
    return "does not hold: ≥ does" if least == total else "does not hold: nor does ≥"


def _about_solvers(table: list[dict[str, Any]]) -> Iterator[Finding]:
    """E_qn and gap of every solver's own answer to the dual, and how far its multipliers are from the primal's δ."""
    for row in table:
        name, sizes = row["solver"], row["e_qn"]
        if name == "newton":
            yield Finding(f"E_qn, {name}", "0, as μ is μ(δ)")
        else:
            yield Finding(f"E_qn, {name}", _spread(sizes), "about 1e-7", judge_size(sizes))
    for row in table:
        yield Finding(f"gap, {row['solver']}", _spread(row["gap"]))
    for what, name, limit in (("unpolished", "apart", APART), ("polished", "polished_apart", POLISHED)):
        values = [value for row in table for value in row[name]]
        same = f"holds to {limit:.0e}" if max(values) < limit else "does not hold"
        yield Finding(f"δ dual − primal, {what}", _spread(values), "0", same)
    missing = {row["solver"]: row["problems"] - row["answered"] for row in table if row["answered"] < row["problems"]}
    text = ", ".join(f"{name}: {count} of {table[0]['problems']}" for name, count in missing.items())
    yield Finding("no answer", text or "none")


def judge_size(sizes: list[float]) -> str:
    """Whether E_qn is about what the paper says: the median to a factor of ten, and then the largest."""
    middle = float(np.median(sizes))
    if not USUAL / FACTOR <= middle <= USUAL * FACTOR:
        return f"does not hold: {'larger' if middle > USUAL else 'smaller'}"
    return "holds" if max(sizes) <= USUAL * FACTOR else "holds in the median"


def _spread(values: list[float]) -> str:
    """Median and largest."""
    return f"{np.median(values):.0e}, at most {max(values):.0e}"


def conclude(findings: tuple[Finding, ...], table: list[dict[str, Any]]) -> str:
    """The findings in a sentence; a step of a proof and the size of E_qn decide nothing about the theorem."""
    judged = {finding.question: finding.verdict for finding in findings}
    broken = [f.question for f in findings if f.verdict.startswith("does not hold") and f.paper not in ASIDE]
    if broken:
        return f"does not hold: {', '.join(broken)}"
    near = [f for f in findings if f.paper == "−1/2" and f.verdict != "holds"]
    rate = f"the error falls as 1/√n for every R₃{' (for some nearly so)' * bool(near)}"
    bound = "Theorem 3's bound holds wherever it applies" if BOUND in judged else "Theorem 3 applied to no sample"
    turned = " though its proof turns an inequality round" * judged.get(STEP, "").endswith(": ≥ does")
    sizes = [float(np.median(row["e_qn"])) for row in table if row["solver"] != "newton"]
    left = f" E_qn is what a cone solver leaves, in the median {min(sizes):.0e} to {max(sizes):.0e}." if sizes else ""
    return f"holds: {rate}, {bound}{turned}, and multipliers of the dual are δ of the primal.{left}"


def draw(data: Mapping[str, Any]) -> Figure:
    """Errors over n, errors beside their bounds, and what solvers leave undone."""
    figure = new_figure(15.0, 5.4)
    errors, bounds, solvers = figure.subplots(1, 3)
    _draw_errors(errors, data)
    _draw_bounds(bounds, data["bound"])
    _draw_solvers(solvers, data["solvers"])
    return figure


def _draw_errors(ax: Any, data: Mapping[str, Any]) -> None:
    """Mean error of every R₃ over n."""
    n = np.array(data["sizes"], dtype=float)
    for curve, colour, mark in zip(data["curves"], COLOURS, "os^D", strict=True):
        name = f"$R_3$ = {curve['relaxation']:g}: slope {curve['slope']:.2f}"
        ax.errorbar(n, curve["mean"], yerr=curve["noise"], fmt=f"{mark}-", color=colour, markersize=5, label=name)
    guide = 0.75 * data["curves"][0]["mean"][0] * np.sqrt(n[0] / n)
    ax.plot(n, guide, "--", color=GREY, linewidth=1.2, label="slope −1/2")
    ax.set(xscale="log", yscale="log", xlabel="n", ylabel=f"mean of {ERROR}")
    ax.set_title(f"Error of the relaxed dual, {data['repeats']} samples", fontsize=11)
    plain_ticks(ax, n, [0.01, 0.02, 0.05, 0.1, 0.2, 0.5])
    ax.grid(color=LIGHT, linewidth=0.6)
    ax.set_axisbelow(True)
    set_legend(ax, 2)


def plain_ticks(ax: Any, x: Any, y: Any) -> None:
    """Numbers as people write them on two logarithmic axes."""
    for axis, places in ((ax.xaxis, x), (ax.yaxis, y)):
        axis.set_ticks(places, [f"{place:,g}" for place in places])
        axis.set_ticks([], minor=True)


def _draw_bounds(ax: Any, bound: Mapping[str, Any]) -> None:
    """Error of every sample as a share of Theorem 3's bound."""
    relaxation, error, limit = (np.array(bound[name]) for name in ("relaxation", "error", "bound"))
    for value, colour, mark in zip(RELAXATIONS, COLOURS, "os^D", strict=True):
        of = relaxation == value
        ax.plot(
            limit[of],
            error[of] / limit[of],
            mark,
            color=colour,
            markersize=3.5,
            alpha=0.6,
            markeredgewidth=0,
            label=f"$R_3$ = {value:g}",
        )
    ax.axhline(1.0, color="black", linewidth=1.2, label="error = bound", zorder=1)
    ax.set(xscale="log", xlabel="bound $(R_1 + R_3)/(R_2\\sqrt{n})$", ylabel=f"{ERROR} / bound")
    ticks = [0.02, 0.05, 0.1, 0.2, 0.5, 1.0]
    ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.set_xticks([], minor=True)
    ax.set_ylim(0.0, 1.1 * max(1.0, float((error / limit).max(initial=0.0))))
    ax.grid(color=LIGHT, linewidth=0.6)
    ax.set_axisbelow(True)
    ax.set_title(f"Theorem 3: {(error > limit).sum():,} of {len(error):,} above their bound", fontsize=11)
    set_legend(ax, 2)


def _draw_solvers(ax: Any, table: list[dict[str, Any]]) -> None:
    """E_qn and gap of each solver's own answers to the dual, and the distance of its multipliers to the primal's δ."""
    names = []
    marks = (
        ("e_qn", ORANGE, "o", "E_qn"),
        ("gap", BLUE, "D", "certified gap"),
        ("apart", GREEN, "^", "δ dual − δ primal"),
    )
    for i, row in enumerate(table):
        lost = row["problems"] - row["answered"]
        names.append(row["solver"] + (f"\n(no answer: {lost} of {row['problems']})" if lost else ""))
        for offset, (name, colour, mark, words) in zip((-0.2, 0.0, 0.2), marks, strict=True):
            values = np.maximum(row[name], FLOOR)
            ax.plot(
                values,
                np.full(len(values), i + offset),
                mark,
                color=colour,
                alpha=0.6,
                markersize=5,
                markeredgewidth=0,
                label=words if i == 0 else None,
            )
    ax.axvline(1e-7, color="black", linestyle="--", linewidth=1.2, label="E_qn of the paper")
    name_rows(ax, names)
    ax.set_xscale("log")
    ax.set_xticks([FLOOR, 1e-14, 1e-11, 1e-8, 1e-5], ["0", *(f"$10^{{-{k}}}$" for k in (14, 11, 8, 5))])
    ax.set_xticks([], minor=True)
    ax.set(xlabel="left undone by a solver's own answer", xlim=(FLOOR / 3, 1e-3))
    ax.set_title("What solvers leave undone", fontsize=11)
    set_legend(ax, 2)
