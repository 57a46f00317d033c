"""Normality: whether the estimates are normal, with the covariance that theory predicts.

The observations are drawn once and kept for all runs, so that δ* is fixed. The posteriors are normal, and with 50
observations of variance 100 per coordinate δ* = (ȳ_p − ȳ_q)/2, which is small but not zero. The features f(x) = x and
f(x) = x + 3 describe the same ratios, so a correct covariance must be the same for both.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import chdtri, log_ndtr, ndtr

from pre_convex._internal.typing import Array
from pre_convex.data.likelihoods import Gaussian
from pre_convex.plots.canvas import BLUE, GREEN, GREY, ORANGE, PINK, name_rows, new_figure, set_legend
from pre_convex.plots.normal import ellipse_border, plot_qq
from pre_convex.problem import RatioProblem
from pre_convex.solvers import solve
from pre_convex.statistics.inference import Inference
from pre_convex.statistics.weighted_chi2 import weighted_chi2_sf

from .intervals import Share
from .record import Finding, Outcome, Setting

if TYPE_CHECKING:
    from pre_convex.plots.canvas import Figure

TITLE = "Are the estimates normal, and which covariance is right?"

#: prior samples of each side, and level of the regions
N, LEVEL = 500, 0.95
#: observations per coordinate, and the precision of one
OBSERVATIONS, PRECISION = 50, 0.01
SHIFTS = (0.0, 3.0)
KINDS = ("centred", "paper")
#: runs in one task of a worker process
BLOCK = 125
#: squared radius of the 95 % region
LIMIT = float(chdtri(2, 1.0 - LEVEL))
#: labels of both features with both covariances
NAMES = {(shift, kind): f"{kind}, x{'+3' * bool(shift)}" for shift in SHIFTS for kind in KINDS}
#: the share that the paper reports outside its ellipse
PAPER = "4.98 %"
#: family-wise level of the normality checks, shared equally by the four checks of each coordinate
ALPHA = 0.05
#: where the tails begin, in standard deviations, and the probability of lying beyond
TAIL = 3.0
BEYOND = float(2.0 * ndtr(-TAIL))
#: the normality checks, from the middle of the distribution to its extremes
CHECKS = {
    "ks": "Kolmogorov–Smirnov distance",
    "ad": "Anderson–Darling A²",
    "tail": "estimates beyond 3 sd",
    "largest": "most extreme estimate",
}
#: quadrature nodes per coordinate
NODES = 60


@dataclass(frozen=True, eq=False)
class Side:
    """Observations of one side, shape (50, 2), with prior N(0, I)."""

    y: Array

    @property
    def precision(self) -> float:
        """Posterior precision of each coordinate."""
        return 1.0 + OBSERVATIONS * PRECISION

    @property
    def mean(self) -> Array:
        """Posterior mean."""
        return np.asarray(OBSERVATIONS * PRECISION * self.y.mean(axis=0) / self.precision)

    @property
    def log_lik(self) -> Gaussian:
        """Log-likelihood of the observations."""
        return Gaussian(self.y, PRECISION)


def draw_sides(rng: np.random.Generator) -> tuple[Side, Side]:
    """Observations of both sides from N(0.5, 0.1²)."""
    y_p, y_q = rng.normal(0.5, 0.1, (2, OBSERVATIONS, 2))
    return Side(y_p), Side(y_q)


def exact_delta(p: Side, q: Side) -> Array:
    """δ* for f(x) = x: the log densities of two normals with precision τ differ by ⟨τ(m_p − m_q), x⟩."""
    return p.precision * (p.mean - q.mean)


def predicted_covariance(p: Side, shift: float, kind: str) -> Array:
    """Covariance of √n(δ̂ − δ*) that the theorem predicts, with expectations under the prior by quadrature.

    At δ* the ratio turns the posterior of q into that of p, so both sides have the posterior N(m, I/τ), and
    g = posterior/prior. The paper takes the variance of g f. As the weights are divided by their own sum, the correct
    variance is that of g(f − m).
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    x = np.array([[u, v] for u in nodes for v in nodes])
    prior = np.outer(weights, weights).ravel() / weights.sum() ** 2
    m, tau = p.mean, p.precision
    g = tau * np.exp(0.5 * np.square(x).sum(axis=1) - 0.5 * tau * np.square(x - m).sum(axis=1))
    f = x + shift
    mean = (prior * g) @ f
    influence = g[:, None] * (f - mean) if kind == "centred" else g[:, None] * f - mean
    variance = (prior[:, None] * influence).T @ influence
    return np.asarray(2.0 * tau**2 * variance)  # the Hessian is I/τ


def squared_distances(errors: Array, covariance: Array) -> Array:
    """Squared Mahalanobis distance e'V⁻¹e of every row e, with one V for all rows or one for each."""
    V = np.broadcast_to(covariance, (len(errors), *covariance.shape[-2:]))
    return np.asarray(np.einsum("ri,ri->r", errors, np.linalg.solve(V, errors[..., None])[..., 0]))


def share_outside(errors: Array, covariance: Array) -> Share:
    """Share of rows outside the 95 % region of a covariance."""
    return Share(int((squared_distances(errors, covariance) > LIMIT).sum()), len(errors))


@dataclass(frozen=True, eq=False)
class Runs:
    """Results of all runs.

    Attributes
    ----------
    delta : array of shape (runs, 2)
        Estimates.
    covariance : array of shape (runs, 4, 2, 2)
        Covariances of δ̂ that each run estimates from its own sample, in the order of ``NAMES``.
    redrawn : array of shape (runs, 2)
        Estimates from the same prior samples with new observations in each run.
    gap : array of shape (runs,)
        Largest certified gap.
    moved : array of shape (runs,)
        How far the shift of the features moved δ̂.
    """

    delta: Array
    covariance: Array
    redrawn: Array
    gap: Array
    moved: Array


def simulate(setting: Setting, p: Side, q: Side, runs: int) -> Runs:
    """All runs; each has its own random numbers, whatever the number of runs."""
    blocks = [range(start, min(start + BLOCK, runs)) for start in range(0, runs, BLOCK)]
    found = [vars(block) for block in setting.each(partial(_simulate_block, setting, p, q), blocks, f"{runs:,} runs")]
    return Runs(**{name: np.concatenate([block[name] for block in found]) for name in found[0]})


def _simulate_block(setting: Setting, p: Side, q: Side, block: range) -> Runs:
    """New prior samples in every run, solved three times: with both features, and with new observations."""
    runs = len(block)
    delta, other, redrawn = np.empty((3, runs, 2))
    covariance, gap = np.empty((runs, len(NAMES), 2, 2)), np.zeros(runs)
    for i, run in enumerate(block):
        rng = setting.rng(1, run)
        x_p, x_q = rng.normal(size=(2, N, 2))
        log_p, log_q = p.log_lik(x_p), q.log_lik(x_q)
        for shift, estimates in zip(SHIFTS, (delta, other), strict=True):
            problem = RatioProblem.from_samples(x_p, x_q, log_p, log_q, features=shifted_features(shift))
            solution = solve(problem)
            estimates[i], gap[i] = solution.delta, max(gap[i], solution.gap)
            for kind in KINDS:
                covariance[i, list(NAMES).index((shift, kind))] = Inference(
                    problem, solution.delta, kind=kind
                ).covariance
        own_p, own_q = draw_sides(rng)
        solution = solve(RatioProblem.from_samples(x_p, x_q, own_p.log_lik, own_q.log_lik))
        redrawn[i], gap[i] = solution.delta, max(gap[i], solution.gap)
    return Runs(delta, covariance, redrawn, gap, np.abs(other - delta).max(axis=1))


def shifted_features(shift: float) -> Callable[[Array], Array]:
    """The feature map x + shift."""
    return lambda x: x + shift


@dataclass(frozen=True)
class NormalCheck:
    """Four statistics of a sample that should be N(0, 1), and their p-values.

    Attributes
    ----------
    distance : float
        Kolmogorov–Smirnov distance, sensitive in the middle of the distribution.
    squared : float
        Anderson–Darling A², which gives the tails more weight.
    beyond : int
        Number of values beyond three standard deviations.
    largest : float
        Largest absolute value.
    p : dict
        p-values, with the keys of ``CHECKS``.
    """

    distance: float
    squared: float
    beyond: int
    largest: float
    p: dict[str, float]


def check_normal(z: Array) -> NormalCheck:
    """Test a sample against N(0, 1).

    Examples
    --------
    >>> z = np.random.default_rng(0).normal(size=2000)
    >>> min(check_normal(z).p.values()) > 0.01
    True
    >>> check_normal(np.append(z, 6.0)).p["largest"] < 1e-4
    True
    """
    from scipy.stats import binomtest, kstest

    ks, (squared, p_squared) = kstest(z, "norm"), anderson_darling(z)
    beyond, largest = int((np.abs(z) > TAIL).sum()), float(np.abs(z).max())
    p = {
        "ks": float(ks.pvalue),
        "ad": p_squared,
        "tail": float(binomtest(beyond, len(z), BEYOND).pvalue),
        "largest": 1.0 - float(1.0 - 2.0 * ndtr(-largest)) ** len(z),
    }
    return NormalCheck(float(ks.statistic), squared, beyond, largest, p)


def anderson_darling(z: Array) -> tuple[float, float]:
    """A² against N(0, 1) and its p-value, by Marsaglia and Marsaglia (2004).

    SciPy's ``anderson`` estimates the mean and the variance; here both are known.
    """
    ordered = np.sort(z)
    odd = 2.0 * np.arange(1, len(z) + 1) - 1.0
    a = float(-len(z) - np.mean(odd * (log_ndtr(ordered) + log_ndtr(-ordered[::-1]))))
    if a < 2.0:
        series = np.polyval([0.00168691, -0.011672, 0.0347962, -0.0649821, 0.247105, 2.00012], a)
        below = float(series) * math.exp(-1.2337141 / a) / a**0.5
    else:
        series = np.polyval([-0.0003146, 0.008056, -0.082433, 0.43424, -2.30695, 1.0776], a)
        below = math.exp(-math.exp(float(series)))
    return a, 1.0 - below


def run(setting: Setting) -> Outcome:
    """Repeat the estimate many times and count how often δ̂ lies outside each region."""
    p, q = draw_sides(setting.rng(0))
    star = exact_delta(p, q)
    runs = simulate(setting, p, q, setting.pick(5000, 400))
    errors = runs.delta - star
    predicted = {key: predicted_covariance(p, *key) / N for key in NAMES}
    truth = predicted[0.0, "centred"]
    # the share outside as n grows, if the estimates are normal with the centred covariance
    limit = {
        key: weighted_chi2_sf(LIMIT, np.linalg.eigvals(np.linalg.solve(V, truth)).real) for key, V in predicted.items()
    }
    shares = [
        *(("ellipse", key, share_outside(errors, V)) for key, V in predicted.items()),
        *(("own region", key, share_outside(errors, runs.covariance[:, i])) for i, key in enumerate(NAMES)),
    ]
    z = errors / np.sqrt(np.diag(truth))
    data = {
        "n": N,
        "level": LEVEL,
        "delta_star": star,
        "root_n_delta": (np.sqrt(N) * runs.delta).T.round(4),
        "theory": [{"shift": key[0], "kind": key[1], "covariance": N * V} for key, V in predicted.items()],
        "shares": [
            {"what": what, "shift": key[0], "kind": key[1], "limit": limit[key], **_plain_share(share)}
            for what, key, share in shares
        ],
        "around_zero": _plain_share(share_outside(runs.delta, truth)),
        "redrawn": _plain_share(share_outside(runs.redrawn, truth)),
        "checks": [vars(check_normal(column)) for column in z.T],
        "variance_ratio": z.var(axis=0),
        "largest_gap": runs.gap.max(),
        "largest_move_by_shift": runs.moved.max(),
    }
    findings = tuple(find(data))
    return Outcome(findings, claims(findings), data)


def _plain_share(share: Share) -> dict[str, float]:
    """A share with its interval, for the stored data."""
    return {name: getattr(share, name) for name in ("count", "total", "value", "lower", "upper")}


def find(data: Mapping[str, Any]) -> Iterator[Finding]:
    """The findings."""
    runs = data["shares"][0]["total"]
    for entry in data["shares"]:
        share = Share(entry["count"], entry["total"])
        claim = PAPER * (entry["what"] == "ellipse" and not entry["shift"])
        question = f"{entry['what']}, {NAMES[entry['shift'], entry['kind']]}"
        yield Finding(question, str(share), claim, judge(share, entry["limit"]))
    for question, key in (("ellipse around 0", "around_zero"), ("ellipse around 0, y redrawn", "redrawn")):
        share = Share(data[key]["count"], data[key]["total"])
        yield Finding(question, str(share), PAPER, judge(share))
    yield from check_findings([NormalCheck(**check) for check in data["checks"]], runs)
    noise = 1.96 * np.sqrt(2.0 / runs)
    ratios = ", ".join(f"{v:.3f} ± {v * noise:.3f}" for v in data["variance_ratio"])
    yield Finding("variance / predicted variance", ratios)
    yield Finding("√n δ*", ", ".join(f"{np.sqrt(data['n']) * v:.2f}" for v in data["delta_star"]), "about 0")
    yield Finding("largest certified gap", f"{data['largest_gap']:.0e}")


def check_findings(checks: list[NormalCheck], runs: int) -> Iterator[Finding]:
    """Findings on the normality of each coordinate."""
    texts: dict[str, Callable[[NormalCheck], str]] = {
        "ks": lambda check: f"{check.distance:.3f}",
        "ad": lambda check: f"{check.squared:.2f}",
        "tail": lambda check: f"{check.beyond}, expected {runs * BEYOND:.1f}",
        "largest": lambda check: f"{check.largest:.2f} sd",
    }
    for name, text in texts.items():
        ours = "; ".join(f"{text(check)} (p = {check.p[name]:.2g})" for check in checks)
        passed = all(check.p[name] >= ALPHA / (len(CHECKS) * len(checks)) for check in checks)
        yield Finding(CHECKS[name], ours, "QQ plots match", "holds" if passed else "does not hold")


def judge(share: Share, limit: float = 1.0 - LEVEL) -> str:
    """Whether 5 % (± 1 %) lie outside, both as n grows and in these runs as far as their number can tell."""
    tends = "" if abs(limit - 0.05) < 1e-6 else f": tends to {100 * limit:.2g} %"
    if share.lower > 0.06 or share.upper < 0.04 or not 0.04 <= limit <= 0.06:
        return f"does not hold{tends}"
    return f"holds nearly{tends}" if tends else "holds"


def claims(findings: tuple[Finding, ...]) -> dict[str, bool]:
    """What the findings say of the paper's claims."""
    held = {finding.question: finding.verdict.startswith("holds") for finding in findings}
    checks = {name: held[question] for name, question in CHECKS.items()}
    plain, moved = (held[f"ellipse, {NAMES[shift, 'paper']}"] for shift in SHIFTS)
    return {
        "the estimates are normal, extremes aside": all(passed for name, passed in checks.items() if name != "largest"),
        "even the most extreme estimate is normal": checks["largest"],
        "the centred covariance is right": all(
            held[f"ellipse, {text}"] for key, text in NAMES.items() if key[1] == "centred"
        ),
        "the paper's covariance is right for f(x) = x": plain,
        "the paper's covariance is right for f(x) = x + 3": moved,
    }


def draw(data: Mapping[str, Any]) -> Figure:
    """Draw the estimates with their ellipses, QQ plots, and the shares outside."""
    figure = new_figure(14.0, 9.2)
    panels = figure.subplot_mosaic([["plain", "shifted", "shares"], ["first", "second", "shares"]])
    points = np.array(data["root_n_delta"])
    centre = np.sqrt(data["n"]) * np.array(data["delta_star"])
    covariances = {(entry["shift"], entry["kind"]): np.array(entry["covariance"]) for entry in data["theory"]}
    for panel, shift, title in zip(
        ("plain", "shifted"), SHIFTS, ("{} estimates, f(x) = x", "the same estimates, f(x) = x + 3"), strict=True
    ):
        _draw_cloud(panels[panel], points, centre, {kind: covariances[shift, kind] for kind in KINDS})
        panels[panel].set_title(title.format(f"{points.shape[1]:,}"), fontsize=11)
    truth = covariances[0.0, "centred"]
    for i, panel in enumerate(("first", "second")):
        ax = plot_qq((points[i] - centre[i]) / np.sqrt(truth[i, i]), ax=panels[panel])
        ax.set_title(f"$\\hatδ_{i + 1}$, standardised by the centred covariance", fontsize=11)
        ax.set(ylabel="quantiles of the estimates")
    _draw_shares(panels["shares"], data)
    return figure


def _draw_cloud(ax: Any, points: Array, centre: Array, covariances: Mapping[str, Array]) -> None:
    """Draw the estimates with both ellipses, and mark those outside the centred one."""
    out = squared_distances((points - centre[:, None]).T, covariances["centred"]) > LIMIT
    ax.scatter(*points[:, ~out], s=4, color=GREY, alpha=0.35, linewidths=0)
    ax.scatter(*points[:, out], s=10, color=PINK, linewidths=0, label="outside the centred ellipse")
    for kind, colour, style in (("centred", BLUE, "-"), ("paper", ORANGE, "--")):
        border = centre[:, None] + ellipse_border(covariances[kind], LEVEL)
        ax.plot(*border, color=colour, linestyle=style, linewidth=1.8, label=f"95 % ellipse, {kind}")
    ax.set(xlabel=r"$\sqrt{n}\,\hatδ_1$", ylabel=r"$\sqrt{n}\,\hatδ_2$", aspect="equal")
    ax.set(xticks=range(-8, 9, 4), yticks=range(-8, 9, 4), xlim=(-9.6, 9.6), ylim=(-9.6, 9.6))
    set_legend(ax)


def _draw_shares(ax: Any, data: Mapping[str, Any]) -> None:
    """Draw the shares outside with their intervals and the nominal 5 %."""
    rows = [
        *((f"{entry['what']},\n{NAMES[entry['shift'], entry['kind']]}", entry) for entry in data["shares"]),
        ("ellipse around 0,\ncentred, x", data["around_zero"]),
        ("ellipse around 0,\ny redrawn in each run", data["redrawn"]),
    ]
    ax.axvline(5.0, color=GREEN, linestyle="--", linewidth=1.4, label="nominal: 5 %")
    for i, (_, entry) in enumerate(rows):
        colour = ORANGE if entry.get("kind") == "paper" else BLUE
        label = {BLUE: "centred covariance", ORANGE: "the paper's"}[colour] if i < len(KINDS) else None
        low, value, high = (100 * entry[name] for name in ("lower", "value", "upper"))
        ax.errorbar(value, i, xerr=[[value - low], [high - value]], fmt="o", color=colour, linewidth=2.2, label=label)
        if "limit" in entry:
            ax.plot(
                100 * entry["limit"], i, "|", color="black", markersize=16, label="limit as n grows" if i == 0 else None
            )
    name_rows(ax, [name for name, _ in rows])
    ax.set(xlabel="% of runs outside, with 95 % interval", xlim=(0.0, None))
    ax.set_title("Outside the 95 % regions", fontsize=11)
    set_legend(ax, 2)
