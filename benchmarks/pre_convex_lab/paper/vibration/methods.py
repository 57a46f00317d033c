"""Regimes of the ventilation units with priors fitted to them, and the methods that compare windows."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from pre_convex._internal.threads import warnings_ignored
from pre_convex._internal.typing import Array, Index
from pre_convex.applications.detection import Detector
from pre_convex.data.features import Autocorrelation
from pre_convex.errors import MissingExtraError

from ..record import Setting
from .data import WINDOW, Pairs, Regime, cut_pairs, find_runs, read_unit
from .evaluation import Scores
from .state_space import Model, fit_model

__all__ = [
    "DISTANCE",
    "L2",
    "PLAIN_PRE",
    "PRE_SHAPE",
    "PRE_WIDE",
    "RBF",
    "REGIMES",
    "RUNNING",
    "Scene",
    "level",
    "load_ruptures",
    "make_scene",
    "score_all",
    "scores",
    "split_gains",
]

#: order of the baselines: lags, coefficients or eigenvectors
ORDER = 3
#: simulated pairs that the thresholds come from
SIMULATED = 1_000
PLAIN_PRE, PRE_SHAPE, PRE_WIDE, DISTANCE = "PRE", "PRE, autocorrelations", "PRE, wider p prior", "distance to level"
L2, RBF = "ruptures, l2", "ruptures, rbf"
#: factor by which the wider p prior is wider
WIDER = 4.0
#: the detector's other methods
BASELINES = ("plugin", "kde", "evidence", "autocorrelation", "ar", "sst", "energy")

RUNNING = Regime("unit 1 running", 1, 0.02, 1.0)
REGIMES = (RUNNING, Regime("unit 0 high", 0, 0.2, 1.0), Regime("unit 0 low", 0, 0.03, 0.2))

#: scores pairs of windows
Method = Callable[[Array, Array], Array]


def level(x: Array) -> Array:
    """Mean of each row."""
    return np.asarray(x.mean(axis=1))


@dataclass(frozen=True, eq=False)
class Scene:
    """A regime, in units of its fitted noise.

    Attributes
    ----------
    model : Model
        Fitted to the first ``trained`` runs.
    trained : int
    runs : list of slice
        All runs, as slices of the series.
    pairs : Pairs
        Pairs of windows from the other runs.
    background : array of shape (simulated, 16)
        Simulated pairs of successive windows.
    prior_p, prior_q : arrays of shape (rows, 8)
    """

    model: Model
    trained: int
    runs: list[slice]
    pairs: Pairs
    background: Array
    prior_p: Array
    prior_q: Array

    def detector(self, noise: float, features: Any = level, wider: float = 1.0) -> Detector:
        """A detector with the scene's priors for noise of this standard deviation; ``wider`` scales the p prior."""
        # with added noise the likelihood is wide, and half the rows suffice
        rows = len(self.prior_p) if noise == 1.0 else len(self.prior_p) // 2
        return Detector(wider * self.prior_p[:rows], self.prior_q[:rows], noise=noise, features=features, order=ORDER)

    def methods(self, noise: float) -> dict[str, Method]:
        """All methods but the distance to the level, by name."""
        detector = self.detector(noise)
        return {
            PLAIN_PRE: partial(scores, detector),
            PRE_WIDE: partial(scores, self.detector(noise, wider=WIDER)),
            PRE_SHAPE: partial(scores, self.detector(noise, Autocorrelation(ORDER))),
            **{name: partial(scores, detector.using(name)) for name in BASELINES},
            **split_gains((self.model.sd / self.model.noise) ** 2 + noise**2),
        }


def scores(detector: Detector, y_p: Array, y_q: Array) -> Array:
    """Scores of pairs of windows from a detector."""
    return detector.scores(y_p, y_q, warn=False, swap=False).scores


def make_scene(regime: Regime, setting: Setting, rng: np.random.Generator) -> Scene:
    """Fit the model to the first third of a regime's runs and cut pairs from the others."""
    days, vibration = read_unit(regime.unit)
    runs = find_runs(regime, days, vibration)
    trained = len(runs) // 3
    model = fit_model([vibration[run] for run in runs[:trained]])
    held_out = [(vibration[run] - model.level) / model.noise for run in runs[trained:]]
    rows, simulated = setting.pick(10_000, 1_000), setting.pick(4_000, 500)
    background = model.simulate(simulated, 2 * WINDOW, rng)
    return Scene(
        model=model,
        trained=trained,
        runs=runs,
        pairs=cut_pairs(held_out, setting.pick(4, 6)),
        background=background + rng.normal(size=background.shape),
        prior_p=model.simulate(rows, WINDOW, rng),
        prior_q=model.broad(rows, WINDOW, rng),
    )


def score_all(
    scene: Scene, change: Array, second: Index | None, added: float, rng: np.random.Generator
) -> dict[str, Scores]:
    """Scores of every method for the scene's pairs, with and without a change of the second window.

    Parameters
    ----------
    scene : Scene
    change : ndarray of shape (draws, pairs, window)
        Windows that replace the second one of each pair.
    second : ndarray of int of shape (draws, pairs), optional
        The runs that these windows come from.
    added : float
        Standard deviation of added noise, drawn anew for every draw. If zero, pairs without a change are scored once.
    rng : Generator
    """
    pairs, simulated, draws = scene.pairs, scene.background[:SIMULATED], len(change)
    null_draws, m = draws if added else 1, len(pairs.run)
    before = np.concatenate([np.tile(pairs.before, (null_draws + draws, 1)), simulated[:, :WINDOW]])
    after = np.concatenate([np.tile(pairs.after, (null_draws, 1)), change.reshape(-1, WINDOW), simulated[:, WINDOW:]])
    before, after = (y + added * rng.normal(size=y.shape) for y in (before, after))
    methods = scene.methods(float(np.hypot(1.0, added)))
    methods[DISTANCE] = lambda _, y_q: np.abs(level(y_q))
    found = {}
    for name, method in methods.items():
        null, changed, background = np.split(method(before, after), [null_draws * m, (null_draws + draws) * m])
        found[name] = Scores(null.reshape(null_draws, m), changed.reshape(draws, m), pairs.run, second, background)
    return found


def split_gains(variance: float) -> dict[str, Callable[[Array, Array], Array]]:
    """Scores from the costs of ruptures: how much better two segments fit a pair of windows than one."""
    costs = load_ruptures().costs
    with warnings_ignored(UserWarning):  # CostNormal warns of a change in version 1.1.5
        # the kernel width from the median of (y_s − y_t)² in the background, as ruptures takes it from a series
        by_name = {"l2": costs.CostL2(), "normal": costs.CostNormal(), "rbf": costs.CostRbf(1.0 / (0.91 * variance))}

    def gains(cost: Any, y_p: Array, y_q: Array) -> Array:
        series = np.concatenate([y_p, y_q], axis=1)
        found = []
        for pair in series:
            cost._gram = None  # CostRbf would reuse the kernel matrix of the first signal
            cost.fit(pair[:, None])
            found.append(cost.error(0, 2 * WINDOW) - cost.error(0, WINDOW) - cost.error(WINDOW, 2 * WINDOW))
        return np.array(found)

    return {f"ruptures, {name}": partial(gains, cost) for name, cost in by_name.items()}


def load_ruptures() -> Any:
    """Import ruptures."""
    try:
        return importlib.import_module("ruptures")
    except ModuleNotFoundError:
        raise MissingExtraError("ruptures", "experiments") from None
