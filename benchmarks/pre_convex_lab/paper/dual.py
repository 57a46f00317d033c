"""Dual: the error of the relaxed dual with R_n = R₃/√n, Theorem 3's bound, and the accuracy of solvers.

Both sides have the prior N(0, I) and observe x with noise N(0, I), as y_p and y_q. The posteriors are normal with the
same covariance, and δ* = y_p − y_q exactly. It is chosen nonzero: relaxing shrinks δ, which is no error if δ* = 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from pre_convex._internal.typing import Array
from pre_convex.data.likelihoods import Gaussian
from pre_convex.plots.canvas import AMBER, BLUE, GREEN, GREY, LIGHT, ORANGE, name_rows, new_figure, set_legend
from pre_convex.problem import RatioProblem
from pre_convex.solution import Solution
from pre_convex.solvers import installed_solvers, solve
from pre_convex.statistics.theory import min_eigenvalue_in_ball

from .record import Finding, Outcome, Setting

if TYPE_CHECKING:
    from pre_convex.plots.canvas import Figure

TITLE = "Is the relaxed dual consistent, and are its multipliers δ?"

Y_P, Y_Q = np.array([0.6, -0.2]), np.array([0.0, 0.3])
STAR = Y_P - Y_Q
#: R₃ of R_n = R₃/√n
RELAXATIONS = (0.0, 0.5, 1.0, 2.0)
#: largest n for which the theorem's bound is computed
MAX_BOUNDED = 1600
#: factor by which the ball is larger than the last eigenvalue requires; the theorem needs any factor above one
ENLARGE = 1.5
COLOURS = (BLUE, GREEN, AMBER, ORANGE)
#: where zero is drawn on a logarithmic axis
FLOOR = 1e-17
ERROR = r"$\|\delta_\mathrm{dual} - \delta^*\|$"
#: a slope counts as −1/2 if it is this close, or within this multiple of its 95 % margin (there are four slopes)
CLOSE, TIMES = 0.05, 1.5
#: E_qn in the paper, and the factor by which a median may differ from it
USUAL, FACTOR = 1e-7, 10.0
#: largest distance of the dual's δ from the primal's, before and after polishing
APART, POLISHED = 1e-3, 1e-6
#: questions that the verdict looks up
STEP, BOUND = "‖∇ℓ−∇ℓ*‖ ≤ R₂‖δ−δ*‖", "Theorem 3's bound holds"
#: claims that are not part of the theorem, by what the paper says
ASIDE = ("in the proof", "about 1e-7")
#: what is stored of every solver
MEASURES = ("gap", "e_qn", "polished_gap", "apart", "polished_apart")


def make_problem(rng: np.random.Generator, n: int) -> RatioProblem:
    """A problem from new prior samples of both sides."""
    x_p, x_q = rng.normal(size=(2, n, 2))
    return RatioProblem.from_samples(x_p, x_q, Gaussian(Y_P), Gaussian(Y_Q))


@dataclass(frozen=True)
class Run:
    """One solved relaxed dual.

    Attributes
    ----------
    n : int
        Size of the sample.
    relaxation : float
        R₃.
    error : float
        ‖δ_dual − δ*‖.
    residual : float
        Excess of ‖b − F'μ‖ over R_n.
    gap : float
        Certified gap.
    bound : float
        (R₁ + R₃)/(R₂√n) with the smallest R₁ and the largest R₂ that the sample allows; inf if there is no R₂, nan if
        the bound was not computed.
    steepness : float
        ‖∇ℓ(δ*) − ∇ℓ(δ_dual)‖ / (R₂‖δ* − δ_dual‖), which the paper's proof assumes to be at most one.
    """

    n: int
    relaxation: float
    error: float
    residual: float
    gap: float
    bound: float = np.nan
    steepness: float = np.nan


def relax(setting: Setting, bounded: int, which: tuple[int, int]) -> list[Run]:
    """All relaxations of sample i of size n, for which = (n, i); small samples with i < ``bounded`` get the bound."""
    n, i = which
    problem = make_problem(setting.rng(0, n, i), n)
    return [_relax(problem, n, relaxation, i < bounded and n <= MAX_BOUNDED) for relaxation in RELAXATIONS]


def _relax(problem: RatioProblem, n: int, relaxation: float, bounded: bool) -> Run:
    """Solve one relaxation, with the theorem's bound if asked for."""
    solution = solve(problem.with_radius(relaxation / np.sqrt(n)), "dual")
    error = float(np.linalg.norm(solution.delta - STAR))
    run = Run(n, relaxation, error, solution.certificate.moment_residual, solution.gap)
    if not bounded:
        return run
    bound, R_2 = error_bound(problem, n, relaxation)
    rise = problem.gradient(STAR) - problem.gradient(solution.delta)
    return replace(run, bound=bound, steepness=float(np.linalg.norm(rise)) / (R_2 * error))


def error_bound(problem: RatioProblem, n: int, relaxation: float) -> tuple[float, float]:
    """Theorem 3's bound (R₁ + R₃)/(R₂√n), and R₂, on the smallest ball found that meets its condition, or (inf, nan).

    The theorem requires λ_min > R₂ on a ball larger than the bound itself. R₂ falls as the ball grows, so the ball is
    enlarged until it is large enough.
    """
    numerator = float(np.linalg.norm(problem.gradient(STAR))) + relaxation / np.sqrt(n)
    radius = numerator
    for _ in range(20):
        R_2, _ = min_eigenvalue_in_ball(problem, STAR, radius)
        if R_2 <= 0.0:
            break
        if numerator / R_2 < radius:
            return numerator / R_2, R_2
        radius = ENLARGE * numerator / R_2
    return np.inf, np.nan


@dataclass(frozen=True)
class Trial:
    """One problem solved by one solver: gap, E_qn and distance of dual and primal δ, before and after polishing."""

    solver: str
    n: int
    relaxation: float
    gap: float
    e_qn: float
    polished_gap: float
    apart: float
    polished_apart: float


def attempt(setting: Setting, which: tuple[str, int, int, float]) -> Trial:
    """Solve sample i of size n with one solver, for which = (solver, n, i, R₃); nan where it returned no solution."""
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
    """Distance of the dual's multipliers from the primal's δ."""
    return float(np.linalg.norm(answers["dual"].delta - answers["primal"].delta))


def slope(n: Array, errors: list[Array]) -> tuple[float, float]:
    """Least-squares slope of log mean error over log n, and its standard error.

    The distribution of the errors has nearly the same shape for all n, so their relative variance is pooled.
    """
    x, y = np.log(n), np.log(np.array([each.mean() for each in errors]))
    x = x - x.mean()
    spread = float(np.mean([(each.std(ddof=1) / each.mean()) ** 2 / len(each) for each in errors]))
    return float(x @ y / (x @ x)), float(np.sqrt(spread / (x @ x)))


def run(setting: Setting) -> Outcome:
    """Measure the error over n, check the bound, and compare solvers."""
    sizes = setting.pick((100, 200, 400, 800, 1600, 3200, 6400, 12800), (100, 400, 1600))
    repeats, bounded = setting.pick((200, 25), (60, 2))
    which = [(n, i) for n in sizes for i in range(repeats)]
    solved = setting.each(partial(relax, setting, bounded), which, "relaxed duals")
    runs = [each for relaxations in solved for each in relaxations]
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
    findings = tuple(find(data))
    return Outcome(findings, claims(findings), data)


def _curve(sizes: tuple[int, ...], runs: list[Run]) -> dict[str, Any]:
    """Mean errors of one R₃ over n, with their slope."""
    errors = [np.array([each.error for each in runs if each.n == n]) for n in sizes]
    fitted, noise = slope(np.array(sizes, dtype=float), errors)
    return {
        "relaxation": runs[0].relaxation,
        "mean": [each.mean() for each in errors],
        "noise": [1.96 * each.std(ddof=1) / np.sqrt(len(each)) for each in errors],
        "slope": fitted,
        "slope_noise": 1.96 * noise,
    }


def _summary(solver: str, trials: list[Trial]) -> dict[str, Any]:
    """Accuracy of one solver over all problems that it solved in both forms."""
    done = [each for each in trials if np.isfinite(each.gap) and np.isfinite(each.apart)]
    return {
        "solver": solver,
        "problems": len(trials),
        "answered": len(done),
        **{name: sorted(getattr(each, name) for each in done) for name in MEASURES},
    }


def find(data: Mapping[str, Any]) -> Iterator[Finding]:
    """The findings."""
    for curve in data["curves"]:
        fitted, noise = curve["slope"], curve["slope_noise"]
        ours = f"{fitted:.3f} ± {noise:.3f}".replace("-", "−")
        yield Finding(f"error slope, R₃ = {curve['relaxation']:g}", ours, "−1/2", judge_slope(fitted, noise))
    yield from _bound_findings(data["bound"])
    yield from _solver_findings(data["solvers"])


def judge_slope(fitted: float, noise: float) -> str:
    """Whether a slope is −1/2 within its 95 % margin, or nearly so."""
    off = abs(fitted + 0.5)
    if off <= noise:
        return "holds"
    if off <= CLOSE:
        return f"holds within {CLOSE:g}"
    return f"holds within {TIMES:g} × its noise" if off <= TIMES * noise else "does not hold"


def _bound_findings(bound: Mapping[str, Any]) -> Iterator[Finding]:
    """Findings on Theorem 3, and on the step of its proof with the wrong direction."""
    checked, total = bound["checked"], len(bound["bound"])
    yield Finding("Theorem 3 applies", f"{total:,} of {checked:,}: {bound['samples']} samples × 4 R₃")
    if not total:
        return
    errors, bounds, steepness = (np.array(bound[name]) for name in ("error", "bound", "steepness"))
    kept, at_most, at_least = (int(holds.sum()) for holds in (errors <= bounds, steepness <= 1.0, steepness >= 1.0))
    yield Finding(BOUND, f"{kept:,} of {total:,}", "always", "holds" if kept == total else "does not hold")
    yield Finding("bound / error, median", f"{np.median(bounds / errors):.2f}")
    ours = f"{at_most:,} of {total:,}; ≥ in {at_least:,}"
    yield Finding(STEP, ours, "in the proof", judge_step(at_most, at_least, total))


def judge_step(at_most: int, at_least: int, total: int) -> str:
    """Whether ≤ holds in all cases, or ≥ in all, or neither."""
    if at_most == total:
        return "holds"
    return "does not hold: ≥ does" if at_least == total else "does not hold: nor does ≥"


def _solver_findings(table: list[dict[str, Any]]) -> Iterator[Finding]:
    """Findings on E_qn and gap of each solver's own solution of the dual, and on dual and primal δ."""
    for row in table:
        name, sizes = row["solver"], row["e_qn"]
        if name == "newton":
            yield Finding(f"E_qn, {name}", "0 by construction")
        else:
            yield Finding(f"E_qn, {name}", _median_and_max(sizes), "about 1e-7", judge_size(sizes))
    for row in table:
        yield Finding(f"gap, {row['solver']}", _median_and_max(row["gap"]))
    for what, name, limit in (("unpolished", "apart", APART), ("polished", "polished_apart", POLISHED)):
        values = [value for row in table for value in row[name]]
        same = f"holds to {limit:.0e}" if max(values) < limit else "does not hold"
        yield Finding(f"‖δ dual − δ primal‖, {what}", _median_and_max(values), "0", same)
    missing = {row["solver"]: row["problems"] - row["answered"] for row in table if row["answered"] < row["problems"]}
    text = ", ".join(f"{name}: {count} of {table[0]['problems']}" for name, count in missing.items())
    yield Finding("problems without a solution", text or "none")


def judge_size(sizes: list[float]) -> str:
    """Whether E_qn is about 1e-7: its median within a factor of ten, and its maximum not larger than that."""
    median = float(np.median(sizes))
    if not USUAL / FACTOR <= median <= USUAL * FACTOR:
        return f"does not hold: {'larger' if median > USUAL else 'smaller'}"
    return "holds" if max(sizes) <= USUAL * FACTOR else "holds in the median"


def _median_and_max(values: list[float]) -> str:
    """Median and largest value."""
    return f"{np.median(values):.0e}, at most {max(values):.0e}"


def claims(findings: tuple[Finding, ...]) -> dict[str, bool]:
    """What the findings say of the paper's claims; those of Theorem 3 count only if it applied to some sample."""
    held = {finding.question: finding.verdict.startswith("holds") for finding in findings if finding.verdict}
    of = {"−1/2": "the error falls as 1/√n for every R₃", "0": "the dual's multipliers are the primal's δ"}
    found = {text: all(held[f.question] for f in findings if f.paper == paper) for paper, text in of.items()}
    theorem = {
        BOUND: "Theorem 3's bound holds wherever it applies",
        STEP: "the inequality in its proof has the right direction",
    }
    return found | {text: held[question] for question, text in theorem.items() if question in held}


def draw(data: Mapping[str, Any]) -> Figure:
    """Draw errors over n, errors relative to their bounds, and the accuracy of solvers."""
    figure = new_figure(15.0, 5.4)
    errors, bounds, solvers = figure.subplots(1, 3)
    _draw_errors(errors, data)
    _draw_bounds(bounds, data["bound"])
    _draw_solvers(solvers, data["solvers"])
    return figure


def _draw_errors(ax: Any, data: Mapping[str, Any]) -> None:
    """Draw the mean error over n for every R₃."""
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
    """Label two logarithmic axes with plain decimals."""
    for axis, ticks in ((ax.xaxis, x), (ax.yaxis, y)):
        axis.set_ticks(ticks, [f"{tick:,g}" for tick in ticks])
        axis.set_ticks([], minor=True)


def _draw_bounds(ax: Any, bound: Mapping[str, Any]) -> None:
    """Draw the error of every sample relative to Theorem 3's bound."""
    relaxation, error, limit = (np.array(bound[name]) for name in ("relaxation", "error", "bound"))
    for value, colour, mark in zip(RELAXATIONS, COLOURS, "os^D", strict=True):
        of = relaxation == value
        style = {"color": colour, "markersize": 3.5, "alpha": 0.6, "markeredgewidth": 0}
        ax.plot(limit[of], error[of] / limit[of], mark, label=f"$R_3$ = {value:g}", **style)
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
    """Draw E_qn and gap of each solver's own solutions of the dual, and the distance of dual and primal δ."""
    names = []
    marks = (
        ("e_qn", ORANGE, "o", "E_qn"),
        ("gap", BLUE, "D", "certified gap"),
        ("apart", GREEN, "^", "δ dual − δ primal"),
    )
    for i, row in enumerate(table):
        unsolved = row["problems"] - row["answered"]
        names.append(row["solver"] + (f"\n(no solution: {unsolved} of {row['problems']})" if unsolved else ""))
        for offset, (name, colour, mark, label) in zip((-0.2, 0.0, 0.2), marks, strict=True):
            values = np.maximum(row[name], FLOOR)
            style = {"color": colour, "alpha": 0.6, "markersize": 5, "markeredgewidth": 0}
            ax.plot(values, np.full(len(values), i + offset), mark, label=label if i == 0 else None, **style)
    ax.axvline(1e-7, color="black", linestyle="--", linewidth=1.2, label="the paper's E_qn")
    name_rows(ax, names)
    ax.set_xscale("log")
    ax.set_xticks([FLOOR, 1e-14, 1e-11, 1e-8, 1e-5], ["0", *(f"$10^{{-{k}}}$" for k in (14, 11, 8, 5))])
    ax.set_xticks([], minor=True)
    ax.set(xlabel="error of a solver's own solution", xlim=(FLOOR / 3, 1e-3))
    ax.set_title("Accuracy of solvers before polishing", fontsize=11)
    set_legend(ax, 2)
