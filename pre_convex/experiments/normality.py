"""Whether estimates are normal, with the covariance that theory gives them.

Observations are drawn once and kept over the runs, so that δ* is one number: posteriors are normal, and with 50
observations of variance 100 for each coordinate δ* = (ȳ_p − ȳ_q)/2, which is small but not zero. Features f(x) = x and
f(x) = x + 3 describe the same ratios; a right covariance cannot tell them apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import chdtri

from ..entropy import Array, exp
from ..inference import Inference, weighted_chi2_sf
from ..likelihoods import Gaussian
from ..plots.canvas import BLUE, GREEN, GREY, ORANGE, PINK, name_rows, new_figure, set_legend
from ..plots.normal import ellipse_border, plot_qq
from ..problem import RatioProblem
from ..solvers import solve
from .normal_checks import BEYOND, CHECKS, NormalCheck, check_normal
from .record import Finding, Outcome, Setting
from .shares import Share

if TYPE_CHECKING:
    from ..plots.canvas import Figure

TITLE = "Are estimates normal, and which covariance is theirs?"

N, LEVEL = 500, 0.95
#: observations for each coordinate, and the precision of one
OBSERVATIONS, PRECISION = 50, 0.01
SHIFTS = (0.0, 3.0)
KINDS = ("centred", "paper")
#: runs that a process does at a time
PART = 125
#: squared radius of the 95 % region
LIMIT = float(chdtri(2, 1.0 - LEVEL))
#: both features with both covariances, as the tables name them
NAMES = {(shift, kind): f"{kind}, x{'+3' * bool(shift)}" for shift in SHIFTS for kind in KINDS}
PLACES = {key: i for i, key in enumerate(NAMES)}
PAPER = "4.98 %"
#: chance that any of the checks of normality fails where all is normal: four checks of two coordinates share it
DOUBT = 0.05
QUESTIONS = {
    "ks": "distance to normal (KS)",
    "ad": "the same, tails count (A²)",
    "tail": "estimates beyond 3 sd",
    "largest": "farthest estimate",
}
#: nodes of the quadrature in each coordinate
NODES = 60


@dataclass(frozen=True, eq=False)
class Side:
    """Observations of one side, and what they make of the prior N(0, I)."""

    y: Array

    @property
    def precision(self) -> float:
        """Of the posterior, in each coordinate."""
        return 1.0 + OBSERVATIONS * PRECISION

    @property
    def mean(self) -> Array:
        """Of the posterior."""
        return np.asarray(OBSERVATIONS * PRECISION * self.y.mean(axis=0) / self.precision)

    @property
    def log_lik(self) -> Gaussian:
        """Log-likelihood of the observations."""
        return Gaussian(self.y, PRECISION)


def observe(rng: np.random.Generator) -> tuple[Side, Side]:
    """Two sets of observations from N(0.5, 0.1²)."""
    y_p, y_q = rng.normal(0.5, 0.1, (2, OBSERVATIONS, 2))
    return Side(y_p), Side(y_q)


def exact_delta(p: Side, q: Side) -> Array:
    """δ* of f(x) = x: log densities of two normal laws with one precision τ differ by ⟨τ(m_p − m_q), x⟩."""
    return p.precision * (p.mean - q.mean)


def theory(p: Side, shift: float, kind: str) -> Array:
    """Covariance of √n(δ̂ − δ*) that the theorem predicts, expectations under the prior by quadrature.

    At δ* the ratio turns the posterior of q into that of p, so that both sides have the same posterior, N(m, I/τ), and
    g = posterior/prior. The paper's variance is that of g f; as g is divided by its own sum, that of g(f − m) is due.
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    x = np.array([[u, v] for u in nodes for v in nodes])
    prior = np.outer(weights, weights).ravel() / weights.sum() ** 2
    m, tau = p.mean, p.precision
    g = tau * exp(0.5 * np.square(x).sum(axis=1) - 0.5 * tau * np.square(x - m).sum(axis=1))
    f = x + shift
    mean = (prior * g) @ f
    influence = g[:, None] * (f - mean) if kind == "centred" else g[:, None] * f - mean
    variance = (prior[:, None] * influence).T @ influence
    return np.asarray(2.0 * tau**2 * variance)  # the Hessian is I/τ


def squared_length(off: Array, covariance: Array) -> Array:
    """Squares off' V⁻¹ off of every row, with one V or one for each."""
    V = np.broadcast_to(covariance, (len(off), *covariance.shape[-2:]))
    return np.asarray(np.einsum("ri,ri->r", off, np.linalg.solve(V, off[..., None])[..., 0]))


def outside(off: Array, covariance: Array) -> Share:
    """How many rows lie outside of the region that V gives."""
    return Share(int((squared_length(off, covariance) > LIMIT).sum()), len(off))


@dataclass(frozen=True, eq=False)
class Runs:
    """What every run gave.

    Attributes
    ----------
    delta : array of shape (runs, 2)
        Estimates.
    covariance : array of shape (runs, 4, 2, 2)
        Each run's own estimates of the covariance of δ̂, in the order of ``NAMES``.
    redrawn : array of shape (runs, 2)
        Estimates from the same prior samples with observations of the run's own.
    gap, moved : array of shape (runs,)
        Largest certified gap, and how far the shift of the features moved δ̂.
    """

    delta: Array
    covariance: Array
    redrawn: Array
    gap: Array
    moved: Array


def estimate(setting: Setting, p: Side, q: Side, runs: int) -> Runs:
    """All runs; a run's numbers do not depend on which others there are."""
    parts = [range(start, min(start + PART, runs)) for start in range(0, runs, PART)]
    found = [vars(part) for part in setting.each(partial(_estimate, setting, p, q), parts, f"{runs:,} runs")]
    return Runs(**{name: np.concatenate([part[name] for part in found]) for name in found[0]})


def _estimate(setting: Setting, p: Side, q: Side, part: range) -> Runs:
    """Fresh prior samples in every run, solved three times: for both features, and for observations of their own."""
    runs = len(part)
    delta, other, redrawn = np.empty((3, runs, 2))
    covariance, gap = np.empty((runs, len(NAMES), 2, 2)), np.zeros(runs)
    for i, run in enumerate(part):
        rng = setting.rng(1, run)
        x_p, x_q = rng.normal(size=(2, N, 2))
        log_p, log_q = p.log_lik(x_p), q.log_lik(x_q)
        for shift, place in zip(SHIFTS, (delta, other), strict=True):
            problem = RatioProblem.from_samples(x_p, x_q, log_p, log_q, features=shifted(shift))
            solution = solve(problem)
            place[i], gap[i] = solution.delta, max(gap[i], solution.gap)
            for kind in KINDS:
                covariance[i, PLACES[shift, kind]] = Inference(problem, solution.delta, kind=kind).covariance
        own_p, own_q = observe(rng)
        solution = solve(RatioProblem.from_samples(x_p, x_q, own_p.log_lik, own_q.log_lik))
        redrawn[i], gap[i] = solution.delta, max(gap[i], solution.gap)
    return Runs(delta, covariance, redrawn, gap, np.abs(other - delta).max(axis=1))


def shifted(shift: float) -> Callable[[Array], Array]:
    """Features x + shift."""
    return lambda x: x + shift


def run(setting: Setting) -> Outcome:
    """Estimate over and over; count what lies outside of each region."""
    p, q = observe(setting.rng(0))
    star = exact_delta(p, q)
    runs = estimate(setting, p, q, setting.pick(5000, 400))
    off = runs.delta - star
    predicted = {key: theory(p, *key) / N for key in NAMES}
    truth = predicted[0.0, "centred"]
    shares = [
        *(("ellipse", key, outside(off, V)) for key, V in predicted.items()),
        *(("own region", key, outside(off, runs.covariance[:, i])) for key, i in PLACES.items()),
    ]
    # where normal estimates with the centred covariance end up as n grows
    limit = {
        key: weighted_chi2_sf(LIMIT, np.linalg.eigvals(np.linalg.solve(V, truth)).real) for key, V in predicted.items()
    }
    around_zero, redrawn = outside(runs.delta, truth), outside(runs.redrawn, truth)
    z = off / np.sqrt(np.diag(truth))
    checks = [check_normal(column) for column in z.T]
    noise = 1.96 * np.sqrt(2.0 / len(z))
    findings = (
        *(
            Finding(
                f"{what}, {NAMES[key]}",
                str(share),
                PAPER * (what == "ellipse" and not key[0]),
                judge(share, limit[key]),
            )
            for what, key, share in shares
        ),
        Finding("ellipse around 0", str(around_zero), PAPER, judge(around_zero)),
        Finding("the same, y redrawn", str(redrawn), PAPER, judge(redrawn)),
        *about_normality(checks, len(z)),
        Finding("variance / theory", ", ".join(f"{v:.3f} ± {v * noise:.3f}" for v in z.var(axis=0))),
        Finding("√n δ*", ", ".join(f"{v:.2f}" for v in np.sqrt(N) * star), "about 0"),
        Finding("largest certified gap", f"{runs.gap.max():.0e}"),
    )
    data = {
        "n": N,
        "level": LEVEL,
        "delta_star": star,
        "root_n_delta": (np.sqrt(N) * runs.delta).T.round(4),
        "theory": [{"shift": key[0], "kind": key[1], "covariance": N * V} for key, V in predicted.items()],
        "shares": [
            {"what": what, "shift": key[0], "kind": key[1], "limit": limit[key], **facts(share)}
            for what, key, share in shares
        ],
        "around_zero": facts(around_zero),
        "redrawn": facts(redrawn),
        "checks": [vars(check) for check in checks],
        "variance_ratio": z.var(axis=0),
        "largest_gap": runs.gap.max(),
        "largest_move_by_shift": runs.moved.max(),
    }
    return Outcome(findings, conclude(findings), data)


def about_normality(checks: list[NormalCheck], runs: int) -> Iterator[Finding]:
    """Normality of both coordinates from the middle outwards."""
    shown: dict[str, Callable[[NormalCheck], str]] = {
        "ks": lambda check: f"{check.distance:.3f}",
        "ad": lambda check: f"{check.squared:.2f}",
        "tail": lambda check: f"{check.beyond}, due {runs * BEYOND:.1f}",
        "largest": lambda check: f"{check.largest:.2f} sd",
    }
    for name, say in shown.items():
        ours = "; ".join(f"{say(check)} (p = {check.p[name]:.2g})" for check in checks)
        fine = all(check.p[name] >= DOUBT / (len(CHECKS) * len(checks)) for check in checks)
        yield Finding(QUESTIONS[name], ours, "QQ plots match", "holds" if fine else "does not hold")


def facts(share: Share) -> dict[str, float]:
    """A share as plain data."""
    return {name: getattr(share, name) for name in ("count", "total", "value", "lower", "upper")}


def judge(share: Share, limit: float = 1.0 - LEVEL) -> str:
    """Whether 5 % are outside, give or take one, in the limit and as far as the number of runs can tell."""
    tends = "" if abs(limit - 0.05) < 1e-6 else f": tends to {100 * limit:.2g} %"
    if share.lower > 0.06 or share.upper < 0.04 or not 0.04 <= limit <= 0.06:
        return f"does not hold{tends}"
    return f"holds nearly{tends}" if tends else "holds"


def conclude(findings: tuple[Finding, ...]) -> str:
    """The findings in a sentence."""
    held = {finding.question: finding.verdict.startswith("holds") for finding in findings}
    centred = all(held[f"ellipse, {name}"] for key, name in NAMES.items() if key[1] == "centred")
    plain, moved = (held[f"ellipse, {NAMES[shift, 'paper']}"] for shift in SHIFTS)
    failed = [name for name, question in QUESTIONS.items() if not held[question]]
    if not failed:
        shape = "holds: estimates are normal"
    elif "ks" in failed or "ad" in failed:
        shape = "does not hold: estimates are not normal"
    else:
        where = "in the tails" if "tail" in failed else "for the farthest estimate of all"
        shape = f"holds in the middle: estimates are normal but {where}"
    right = "right" if centred else "wrong"
    own = "nearly right" if plain else "wrong"
    other = "still right" if moved else "wrong"
    return (
        f"{shape}. The centred covariance is {right}; the paper's is {own} for f(x) = x and {other} for f(x) = x + 3."
    )


def draw(data: Mapping[str, Any]) -> Figure:
    """Estimates with ellipses for both features, QQ plots, and the shares outside."""
    figure = new_figure(14.0, 9.2)
    panels = figure.subplot_mosaic([["plain", "shifted", "shares"], ["first", "second", "shares"]])
    points = np.array(data["root_n_delta"])
    centre = np.sqrt(data["n"]) * np.array(data["delta_star"])
    covariances = {(entry["shift"], entry["kind"]): np.array(entry["covariance"]) for entry in data["theory"]}
    for panel, shift, title in zip(
        ("plain", "shifted"), SHIFTS, ("{} estimates, f(x) = x", "the same, f(x) = x + 3"), strict=True
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
    """All estimates, those outside of the centred ellipse marked, and both ellipses."""
    out = squared_length((points - centre[:, None]).T, covariances["centred"]) > LIMIT
    ax.scatter(*points[:, ~out], s=4, color=GREY, alpha=0.35, linewidths=0)
    ax.scatter(*points[:, out], s=10, color=PINK, linewidths=0, label="outside of the centred ellipse")
    for kind, colour, style in (("centred", BLUE, "-"), ("paper", ORANGE, "--")):
        border = centre[:, None] + ellipse_border(covariances[kind], LEVEL)
        ax.plot(*border, color=colour, linestyle=style, linewidth=1.8, label=f"95 % ellipse, {kind}")
    ax.set(xlabel=r"$\sqrt{n}\,\hatδ_1$", ylabel=r"$\sqrt{n}\,\hatδ_2$", aspect="equal")
    ax.set(xticks=range(-8, 9, 4), yticks=range(-8, 9, 4), xlim=(-9.6, 9.6), ylim=(-9.6, 9.6))
    set_legend(ax)


def _draw_shares(ax: Any, data: Mapping[str, Any]) -> None:
    """Every share outside with its interval, beside the 5 % that are due."""
    rows = [
        *((f"{entry['what']},\n{NAMES[entry['shift'], entry['kind']]}", entry) for entry in data["shares"]),
        ("ellipse around 0,\ncentred, x", data["around_zero"]),
        ("ellipse around 0,\ny redrawn in each run", data["redrawn"]),
    ]
    ax.axvline(5.0, color=GREEN, linestyle="--", linewidth=1.4, label="due: 5 %")
    for i, (_, entry) in enumerate(rows):
        colour = ORANGE if entry.get("kind") == "paper" else BLUE
        words = {BLUE: "centred covariance", ORANGE: "the paper's"}[colour] if i < len(KINDS) else None
        low, value, high = (100 * entry[name] for name in ("lower", "value", "upper"))
        ax.errorbar(value, i, xerr=[[value - low], [high - value]], fmt="o", color=colour, linewidth=2.2, label=words)
        if "limit" in entry:
            ax.plot(
                100 * entry["limit"], i, "|", color="black", markersize=16, label="limit as n grows" if i == 0 else None
            )
    name_rows(ax, [name for name, _ in rows])
    ax.set(xlabel="% of runs outside, with 95 % interval", xlim=(0.0, None))
    ax.set_title("Outside of 95 % regions", fontsize=11)
    set_legend(ax, 2)
