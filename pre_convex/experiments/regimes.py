"""Regimes of the ventilation units with priors fitted to them, and every method that compares their windows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ..applications.detection import Detector
from ..entropy import Array, Index
from ..features import Autocorrelation
from .gains import split_gains
from .hvac import WINDOW, Pairs, Regime, cut_pairs, find_runs, read_unit
from .judging import Judged
from .record import Setting
from .state_space import Model, fit_model

__all__ = [
    "BY_PRE",
    "BY_SHAPE",
    "BY_WIDE",
    "DISTANCE",
    "L2",
    "RBF",
    "REGIMES",
    "RUNNING",
    "Scene",
    "judge",
    "level",
    "make_scene",
    "scores",
]

#: lags, coefficients or eigenvectors taken from a window
ORDER = 3
#: simulated pairs that thresholds of single pairs come from
JUDGED = 1_000
BY_PRE, BY_SHAPE, BY_WIDE, DISTANCE = "PRE", "PRE, autocorrelations", "PRE, wider p prior", "distance to level"
L2, RBF = "ruptures, l2", "ruptures, rbf"
#: how many times wider the wider p prior is
WIDER = 4.0
#: methods of detection that PRE is compared with
BASELINES = ("plugin", "kde", "evidence", "autocorrelation", "ar", "sst", "energy")

RUNNING = Regime("unit 1 running", 1, 0.02, 1.0)
REGIMES = (RUNNING, Regime("unit 0 high", 0, 0.2, 1.0), Regime("unit 0 low", 0, 0.03, 0.2))

#: gives the scores of pairs of windows
Method = Callable[[Array, Array], Array]


def level(x: Array) -> Array:
    """The mean of each row."""
    return np.asarray(x.mean(axis=1))


@dataclass(frozen=True, eq=False)
class Scene:
    """A regime in units of its fitted noise: pairs of the runs that were not fitted, simulated background, priors."""

    model: Model
    trained: int
    runs: list[slice]
    pairs: Pairs
    background: Array
    prior_p: Array
    prior_q: Array

    def detector(self, noise: float, features: Any = level, wider: float = 1.0) -> Detector:
        """The scene's priors, p made wider if asked for, with noise of this standard deviation."""
        # in added noise the likelihood is wide, and half of the rows do
        rows = len(self.prior_p) if noise == 1.0 else len(self.prior_p) // 2
        return Detector(wider * self.prior_p[:rows], self.prior_q[:rows], noise=noise, features=features, order=ORDER)

    def methods(self, noise: float) -> dict[str, Method]:
        """Every method that windows are compared with."""
        by_level = self.detector(noise)
        return {
            BY_PRE: partial(scores, by_level),
            BY_WIDE: partial(scores, self.detector(noise, wider=WIDER)),
            BY_SHAPE: partial(scores, self.detector(noise, Autocorrelation(ORDER))),
            **{name: partial(scores, by_level.using(name)) for name in BASELINES},
            **split_gains((self.model.sd / self.model.noise) ** 2 + noise**2),
        }


def scores(detector: Detector, y_p: Array, y_q: Array) -> Array:
    """Scores of pairs of windows by a detector."""
    return detector.scores(y_p, y_q, warn=False, swap=False).scores


def make_scene(regime: Regime, setting: Setting, rng: np.random.Generator) -> Scene:
    """Fit on the first third of a regime's runs; pairs come from the others."""
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


def judge(
    scene: Scene, change: Array, second: Index | None, added: float, rng: np.random.Generator
) -> dict[str, Judged]:
    """Scores of every method, the second window of each pair as it is, or exchanged for each of the changes.

    Parameters
    ----------
    scene : Scene
    change : ndarray of shape (draws, pairs, window)
    second : ndarray of int of shape (draws, pairs), optional
        The run that each of these windows comes from.
    added : float
        Standard deviation of noise that is added, anew for every draw; without any the unchanged pairs are scored once.
    rng : Generator
    """
    pairs, simulated, draws = scene.pairs, scene.background[:JUDGED], len(change)
    calm, m = draws if added else 1, len(pairs.run)
    before = np.concatenate([np.tile(pairs.before, (calm + draws, 1)), simulated[:, :WINDOW]])
    after = np.concatenate([np.tile(pairs.after, (calm, 1)), change.reshape(-1, WINDOW), simulated[:, WINDOW:]])
    before, after = (y + added * rng.normal(size=y.shape) for y in (before, after))
    methods = scene.methods(float(np.hypot(1.0, added)))
    methods[DISTANCE] = lambda _, y_q: np.abs(level(y_q))
    found = {}
    for name, method in methods.items():
        null, changed, background = np.split(method(before, after), [calm * m, (calm + draws) * m])
        found[name] = Judged(null.reshape(calm, m), changed.reshape(draws, m), pairs.run, second, background)
    return found
