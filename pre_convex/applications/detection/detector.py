"""The detector, and the three functions that use one: score, scores and scan."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from ...arrays import as_scalar, frozen
from ...checks import check_radius
from ...entropy import Array, Index
from ...errors import DataError
from ...norms import get_norm
from ...progress import track
from .autoregression import autoregression
from .baselines import autocorrelation, energy, subspace
from .cautions import DetectionWarning, cautions, influence, no_influence
from .densities import density_plugin
from .plugin import evidence, plugin
from .posteriors import Priors, make_priors
from .ratio import Found, Options, Scorer, joined, posterior_ratio
from .scored import Peak, Scan, Score, Scores
from .significance import Background
from .windows import as_series, check_window, cut_pairs, same_shape

__all__ = [
    "METHODS",
    "Background",
    "DetectionWarning",
    "Detector",
    "Peak",
    "Scan",
    "Score",
    "Scores",
    "scan",
    "score",
    "scores",
]

#: ways to score two windows; adding one is a function and its line here
METHODS: dict[str, Callable[[Priors, Options], Scorer]] = {
    "pre": posterior_ratio,
    "plugin": plugin,
    "kde": density_plugin,
    "evidence": evidence,
    "autocorrelation": autocorrelation,
    "ar": autoregression,
    "sst": subspace,
    "energy": energy,
}
#: log-likelihoods that exist at a time on each side, and pairs at most
NUMBERS, GROUP = 6_000_000, 256


class Detector:
    """Scores pairs of windows against two priors; features of the priors are computed once.

    Parameters
    ----------
    prior_p, prior_q : arrays of shape (n, window) or (n, window, channels)
        Latent sequences as background would have them, and as a signal might.
    noise : float, array of shape (channels,), or callable
        Standard deviation of the Gaussian observation noise, y = x + noise; or a function (x, Y) → log-likelihoods of
        shape (rows, windows).
    features : str, FeatureMap or callable
        f(x). Maps of the package are applied channel by channel; a function sees (rows, window) or (rows, window,
        channels).
    radius, norm, penalty, tol
        As in :func:`pre_convex.solve`; a penalty is solved pair by pair.
    method : str
        ``"pre"``, or a baseline: ``"plugin"``, ``"kde"``, ``"evidence"``, ``"autocorrelation"``, ``"ar"``, ``"sst"``,
        ``"energy"``.
    order : int
        Lags of ``"autocorrelation"``, coefficients of ``"ar"``, eigenvectors of ``"sst"``.
    standardise : bool
        Whether features are centred and scaled to variance one under prior_q; δ then belongs to the scaled features.
        Worthwhile with a radius or penalty, which would otherwise weigh features by their units.
    draw : callable, optional
        (x, rng) → observations of the sequences x, to simulate background with: when ``noise`` is a function, or wider
        than the real noise so that more than one prior row has weight.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> prior_p, prior_q = rng.normal(0.0, 1.0, (500, 4)), rng.normal(0.0, 2.0, (500, 4))
    >>> detector = Detector(prior_p, prior_q, noise=1.0, features="linear")
    >>> detector.score(np.zeros(4), np.full(4, 2.0)).status.name
    'OPTIMAL'
    """

    def __init__(
        self,
        prior_p: Any,
        prior_q: Any,
        *,
        noise: Any,
        features: Any = "autocorrelation",
        radius: float = 0.0,
        norm: float = 2,
        penalty: Any = None,
        method: str = "pre",
        order: int = 20,
        standardise: bool = False,
        draw: Callable[[Array, np.random.Generator], Any] | None = None,
        tol: float = 1e-8,
    ) -> None:
        if not 0.0 < as_scalar(tol, "tol") < 1.0:
            raise DataError(f"tol: {tol!r} is not between 0 and 1")
        if penalty is not None and not callable(penalty):
            raise DataError(f"penalty: {penalty!r} is not a function of a cvxpy expression")
        self.options = Options(check_radius(radius), get_norm(norm).order, penalty, tol, _whole(order, "order"))
        self.priors = make_priors(prior_p, prior_q, noise, features, standardise=standardise)
        self.draw = draw
        self._choose(method)

    def _choose(self, method: str) -> None:
        if method not in METHODS:
            raise DataError(f"method: {method!r} is not known; use one of {', '.join(METHODS)}")
        self.method = method
        self._scorer: Scorer = METHODS[method](self.priors, self.options)

    def using(self, method: str, *, order: int | None = None) -> Detector:
        """The same priors and options with another method, and another order if it is given."""
        other = object.__new__(Detector)
        other.options = self.options if order is None else replace(self.options, order=_whole(order, "order"))
        other.priors, other.draw = self.priors, self.draw
        other._choose(method)
        return other

    def score(self, y_p: Any, y_q: Any, *, background: Background | None = None, warn: bool = True) -> Score:
        """One pair of windows of shape (window,) or (window, channels)."""
        pairs = [np.asarray(y)[None] if np.ndim(y) else y for y in (y_p, y_q)]
        return self.scores(*pairs, background=background, warn=warn)[0]

    def scores(
        self,
        Y_p: Any,
        Y_q: Any,
        *,
        background: Background | None = None,
        rate: float = 0.05,
        verbose: bool = False,
        warn: bool = True,
        swap: bool = True,
    ) -> Scores:
        """Many pairs, row by row.

        Parameters
        ----------
        Y_p, Y_q : arrays of shape (W, window) or (W, window, channels)
        background : Background, optional
            From :meth:`background`; gives p-values and the threshold at a false-alarm ``rate``.
        rate : float
        verbose : bool
            Whether to show progress.
        warn : bool
            Whether to issue what stands in ``warnings`` as a :class:`DetectionWarning` too.
        swap : bool
            Whether to score a few pairs again with swapped windows, to see that both windows have influence.
        """
        rows_p, rows_q = (same_shape(Y, name, self.priors.shape, "prior_p") for Y, name in ((Y_p, "Y_p"), (Y_q, "Y_q")))
        if len(rows_p) != len(rows_q):
            raise DataError(f"Y_q: has {len(rows_q)} windows for {len(rows_p)} of Y_p; pass one for each")
        return Scores(**self._facts(rows_p, rows_q, background, rate, verbose, warn, swap))

    def scan(
        self,
        series: Any,
        *,
        step: int = 1,
        reference: Any = None,
        background: Background | None = None,
        rate: float = 0.05,
        verbose: bool = False,
        warn: bool = True,
        swap: bool = True,
    ) -> Scan:
        """Two neighbouring windows slid along a series of shape (T,) or (T, channels).

        At each time t, y_p is the window that ends before t and y_q the one that begins with t. With ``reference``, an
        array of the shape of one window, y_p is that for every t. Other parameters as in :meth:`scores`.
        """
        values, shape = as_series(series), self.priors.shape
        if values.ndim != 1 + bool(shape.channels) or (shape.channels and values.shape[1] != shape.channels):
            raise DataError(f"series: has shape {values.shape}, prior_p has sequences of {shape}; they must agree")
        times, before, after = cut_pairs(values, shape.window, step, reference)
        rows_p, rows_q = (np.reshape(y, (len(times), -1)) for y in (before, after))
        facts = self._facts(rows_p, rows_q, background, rate, verbose, warn, swap)
        return Scan(**facts, times=times, series=values, window=shape.window)

    def background(self, replicates: int = 999, *, seed: int = 0, verbose: bool = False) -> Background:
        """Scores of simulated pairs of background windows.

        Both windows of a pair are noisy observations of sequences drawn from prior_p. A sequence that was drawn has no
        part in the prior while its own pair is scored, as no real observation has its exact sequence there.
        """
        replicates, x = _whole(replicates, "replicates"), self.priors.p.x
        if len(x) < 4:
            raise DataError("prior_p: at least 4 rows are needed to simulate from")
        rng = np.random.default_rng(seed)
        first = rng.integers(0, len(x), replicates)
        second = (first + rng.integers(1, len(x), replicates)) % len(x)
        Y_p, Y_q = (self._observe(x[rows], rng) for rows in (first, second))
        found = self._found(Y_p, Y_q, np.column_stack([first, second]), "background", verbose)
        return Background(found.scores)

    def _observe(self, x: Array, rng: np.random.Generator) -> Array:
        """Noisy observations of sequences."""
        if self.draw is None:
            return self.priors.observation.draw(x, rng)
        return same_shape(self.draw(self.priors.shape.full(x), rng), "draw", self.priors.shape, "prior_p")

    def _found(self, Y_p: Array, Y_q: Array, left_out: Index | None, what: str, verbose: bool) -> Found:
        """All pairs, a group at a time so that memory stays bounded."""
        largest = max(len(self.priors.p.x), len(self.priors.q.x))
        size = min(max(NUMBERS // largest, 1), GROUP)
        groups = [slice(i, i + size) for i in range(0, len(Y_p), size)]
        tracked: Iterable[slice] = track(groups, what, len(groups)) if verbose else groups
        return joined([self._scorer(Y_p[g], Y_q[g], None if left_out is None else left_out[g]) for g in tracked])

    def _facts(
        self,
        Y_p: Array,
        Y_q: Array,
        background: Background | None,
        rate: float,
        verbose: bool,
        warn: bool,
        swap: bool,
    ) -> dict[str, Any]:
        """What every result holds."""
        threshold = np.nan if background is None else background.threshold(rate)  # first, lest a bad rate costs a scan
        found = self._found(Y_p, Y_q, None, self.method, verbose)
        n_p, n_q = len(self.priors.p.x), len(self.priors.q.x)
        said = list(cautions(found, n_p, n_q, self.options.radius))
        if swap and self.method in ("pre", "plugin", "kde"):
            for side in ("q", "p"):
                said += no_influence(influence(self._scorer, found, Y_p, Y_q, side), side)
        if warn and said:
            warnings.warn(".\n".join(said), DetectionWarning, stacklevel=4)
        nothing = np.full(len(Y_p), np.nan)
        return {
            **{name: frozen(value) if isinstance(value, np.ndarray) else value for name, value in vars(found).items()},
            "p_values": frozen(nothing if background is None else background.p_values(found.scores)),
            "threshold": threshold,
            "n_p": n_p,
            "n_q": n_q,
            "method": self.method,
            "names": self.priors.names if found.delta.shape[1] else (),
            "warnings": tuple(said),
        }


def score(y_p: Any, y_q: Any, prior_p: Any, prior_q: Any, *, warn: bool = True, **options: Any) -> Score:
    """How far y_q stands out from y_p: −ℓ(δ̂) of one pair of windows.

    Options are those of :class:`Detector`, of which ``noise`` must be given.
    """
    return Detector(prior_p, prior_q, **options).score(y_p, y_q, warn=warn)


def scores(
    Y_p: Any,
    Y_q: Any,
    prior_p: Any,
    prior_q: Any,
    *,
    replicates: int = 0,
    rate: float = 0.05,
    seed: int = 0,
    verbose: bool = False,
    warn: bool = True,
    swap: bool = True,
    **options: Any,
) -> Scores:
    """Scores of many pairs, row by row; with ``replicates`` also p-values and a threshold at a false-alarm ``rate``.

    Options are those of :class:`Detector`, of which ``noise`` must be given.
    """
    detector = Detector(prior_p, prior_q, **options)
    background = detector.background(replicates, seed=seed, verbose=verbose) if replicates else None
    return detector.scores(Y_p, Y_q, background=background, rate=rate, verbose=verbose, warn=warn, swap=swap)


def scan(
    series: Any,
    window: int,
    prior_p: Any,
    prior_q: Any,
    *,
    step: int = 1,
    reference: Any = None,
    replicates: int = 0,
    rate: float = 0.05,
    seed: int = 0,
    verbose: bool = False,
    warn: bool = True,
    swap: bool = True,
    **options: Any,
) -> Scan:
    """Scores of two neighbouring windows slid along a series; see :meth:`Detector.scan`.

    Options are those of :class:`Detector`, of which ``noise`` must be given.
    """
    check_window(window, prior_p)
    detector = Detector(prior_p, prior_q, **options)
    background = detector.background(replicates, seed=seed, verbose=verbose) if replicates else None
    return detector.scan(
        series,
        step=step,
        reference=reference,
        background=background,
        rate=rate,
        verbose=verbose,
        warn=warn,
        swap=swap,
    )


def _whole(value: Any, name: str) -> int:
    """A positive whole number."""
    if not isinstance(value, (int, np.integer)) or value < 1:
        raise DataError(f"{name}: {value!r} is not a whole number of at least 1")
    return int(value)
