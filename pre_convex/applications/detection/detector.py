"""The detector, and the three functions that use one: score, scores and scan."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cached_property
from inspect import signature
from typing import Any

import numpy as np

from ...arrays import as_choice, as_count, as_flag, frozen, shown
from ...checks import check_radius, check_tol
from ...entropy import Array, Index
from ...errors import DataError
from ...norms import get_norm
from ...progress import track
from ...rng import Rng
from ...threads import one_thread_each
from .autoregression import autoregression
from .baselines import autocorrelation, energy, subspace
from .cautions import DetectionWarning, cautions, influence, no_alarm, no_influence
from .densities import density_plugin
from .plugin import evidence, plugin
from .posteriors import Priors, make_priors
from .ratio import Found, Options, Scorer, joined, posterior_ratio
from .scored import Scan, Score, Scores
from .significance import Background, Origin, check_background, check_rate, make_origin
from .simulation import Draw, draw_pairs, halve_pairs
from .windows import as_series, check_window, cut_pairs, flat, one_window, same_shape

__all__ = ["METHODS", "Detector", "scan", "score", "scores"]

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

    @one_thread_each()
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
        draw: Draw | None = None,
        tol: float = 1e-8,
    ) -> None:
        if penalty is not None and not callable(penalty):
            raise DataError(f"penalty: {shown(penalty)} is not a function of a cvxpy expression")
        if draw is not None and not callable(draw):
            raise DataError(f"draw: {shown(draw)} is not a function (x, rng) -> observations")
        norm, tol = get_norm(norm).order, check_tol(tol)
        self.options = Options(check_radius(radius), norm, penalty, tol, as_count(order, "order"))
        self.priors = make_priors(prior_p, prior_q, noise, features, standardise=as_flag(standardise, "standardise"))
        self.draw = draw
        self._choose(method)

    def _choose(self, method: str) -> None:
        self.method = as_choice(method, "method", METHODS)
        self._scorer: Scorer = METHODS[method](self.priors, self.options)

    @one_thread_each()
    def using(self, method: str, *, order: int | None = None) -> Detector:
        """The same priors and options with another method, and another order if it is given."""
        other = object.__new__(Detector)
        other.options = self.options if order is None else replace(self.options, order=as_count(order, "order"))
        other.priors, other.draw = self.priors, self.draw
        other._choose(method)
        return other

    def score(self, y_p: Any, y_q: Any, *, background: Background | None = None, warn: bool = True) -> Score:
        """One pair of windows of shape (window,) or (window, channels)."""
        shape = self.priors.shape
        pairs = (shape.full(one_window(y, name, shape)) for y, name in ((y_p, "y_p"), (y_q, "y_q")))
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
            From :meth:`background`, or of your own windows; gives p-values and the threshold at a false-alarm ``rate``.
        rate : float
            Alarms among background windows, for each of them: rate × W are to be expected among W.
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
        self._check(background, rows_p)
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
        array of the shape of one window, y_p is that for every t. Other parameters as in :meth:`scores`; a background
        is to be made as the pairs are, with the same reference or from neighbouring windows.
        """
        values, shape = as_series(series, self.priors.shape), self.priors.shape
        fixed = None if reference is None else one_window(reference, "reference", shape)
        times, before, after = cut_pairs(values, shape.window, step, fixed)
        self._check(background, fixed, one=True)
        facts = self._facts(before, after, background, rate, verbose, warn, swap)
        return Scan(**facts, times=times, series=values, window=shape.window)

    def background(
        self,
        replicates: int = 999,
        *,
        reference: Any = None,
        pairs: Any = None,
        rng: Rng = 0,
        verbose: bool = False,
    ) -> Background:
        """Scores of simulated pairs of background windows.

        Both windows are noisy observations of two sequences drawn from prior_p independently: windows far apart. Where
        background moves slowly, neighbouring windows are more alike, and the threshold is too high for a scan of them;
        then give ``pairs``. A sequence of the prior that was drawn has no part in it while its own pair is scored, as
        no real observation has its exact sequence there.

        Parameters
        ----------
        replicates : int
            Pairs to simulate.
        reference : array of shape (window,) or (window, channels), optional
            The one y_p of all pairs, for a scan with that reference; only y_q is drawn.
        pairs : array of shape (n, 2 × window) or (n, 2 × window, channels), optional
            Latent sequences of background that are two windows long, for a scan of neighbouring windows: the first half
            is observed as y_p, the second as y_q. All are used once before one is used again.
        rng : int, sequence of int, SeedSequence, BitGenerator, Generator or None
            Where the pairs come from; a generator moves on, None gives other pairs every time.
        verbose : bool
            Whether to show progress.
        """
        replicates, verbose = as_count(replicates, "replicates"), as_flag(verbose, "verbose")
        fixed = None if reference is None else one_window(reference, "reference", self.priors.shape)
        if pairs is not None and fixed is not None:
            raise DataError("pairs: say where y_p comes from, and so does reference; give one of the two")
        given = (self.priors, self.draw, replicates, rng)
        made = draw_pairs(*given, fixed) if pairs is None else halve_pairs(*given, pairs)
        found = self._found(made.Y_p, made.Y_q, made.left_out, "background", verbose)
        needed = np.max(found.minimal_radius[np.isposinf(found.scores)], initial=0.0)
        return Background(found.scores, float(needed), self._origin, fixed)

    @cached_property
    def _origin(self) -> Origin:
        """What a background must have been made for to be used here."""
        return make_origin(self.method, self.options, self.priors)

    def _check(self, background: Any, Y_p: Array | None, *, one: bool = False) -> None:
        """Raise unless the background may be used here, for these y_p."""
        if background is not None:
            check_background(background, self._origin, Y_p, one=one)

    @one_thread_each()
    def _found(self, Y_p: Array, Y_q: Array, left_out: Index | None, what: str, verbose: bool) -> Found:
        """All pairs, a group at a time so that memory stays bounded."""
        largest = max(len(self.priors.p.x), len(self.priors.q.x))
        size = min(max(NUMBERS // largest, 1), GROUP)
        groups = [slice(i, i + size) for i in range(0, len(Y_p), size)]
        tracked: Iterable[slice] = track(groups, what, len(groups)) if verbose else groups
        return joined(
            [self._scorer(flat(Y_p[g]), flat(Y_q[g]), None if left_out is None else left_out[g]) for g in tracked]
        )

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
        rate = check_rate(rate)
        verbose, warn, swap = (as_flag(f, name) for f, name in ((verbose, "verbose"), (warn, "warn"), (swap, "swap")))
        threshold = np.nan if background is None else background.threshold(rate)  # first, lest a bad rate costs a scan
        found = self._found(Y_p, Y_q, None, self.method, verbose)
        n_p, n_q = len(self.priors.p.x), len(self.priors.q.x)
        said = list(cautions(found, n_p, n_q, self.options.radius))
        if background is not None:
            said += no_alarm(background, threshold, rate)
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


def score(y_p: Any, y_q: Any, prior_p: Any, prior_q: Any, *, noise: Any, warn: bool = True, **options: Any) -> Score:
    """How far y_q stands out from y_p: −ℓ(δ̂) of one pair of windows; options are those of :class:`Detector`."""
    return Detector(prior_p, prior_q, noise=noise, **known(options)).score(y_p, y_q, warn=warn)


def scores(
    Y_p: Any,
    Y_q: Any,
    prior_p: Any,
    prior_q: Any,
    *,
    noise: Any,
    replicates: int = 0,
    rate: float = 0.05,
    rng: Rng = 0,
    verbose: bool = False,
    warn: bool = True,
    swap: bool = True,
    **options: Any,
) -> Scores:
    """Scores of many pairs, row by row; with ``replicates`` also p-values and a threshold at a false-alarm ``rate``.

    Simulated pairs are windows far apart, see :meth:`Detector.background`. Options are those of :class:`Detector`.
    """
    detector = Detector(prior_p, prior_q, noise=noise, **known(options))
    background = None
    if as_count(replicates, "replicates", 0):
        background = detector.background(replicates, rng=rng, verbose=verbose)
    return detector.scores(Y_p, Y_q, background=background, rate=rate, verbose=verbose, warn=warn, swap=swap)


def scan(
    series: Any,
    window: int,
    prior_p: Any,
    prior_q: Any,
    *,
    noise: Any,
    step: int = 1,
    reference: Any = None,
    replicates: int = 0,
    pairs: Any = None,
    rate: float = 0.05,
    rng: Rng = 0,
    verbose: bool = False,
    warn: bool = True,
    swap: bool = True,
    **options: Any,
) -> Scan:
    """Scores of two neighbouring windows slid along a series; see :meth:`Detector.scan`.

    With ``replicates`` also p-values and a threshold at a false-alarm ``rate``, from simulated pairs whose y_p is the
    reference if there is one, which come from the two halves of ``pairs`` if these are given, and are otherwise windows
    far apart; see :meth:`Detector.background`. Options are those of :class:`Detector`.
    """
    check_window(window, prior_p)
    if not as_count(replicates, "replicates", 0) and pairs is not None:
        raise DataError("pairs: are for simulated background; ask for replicates too")
    detector = Detector(prior_p, prior_q, noise=noise, **known(options))
    background = None
    if replicates:
        background = detector.background(replicates, reference=reference, pairs=pairs, rng=rng, verbose=verbose)
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


def known(options: dict[str, Any]) -> dict[str, Any]:
    """Options of a detector, if there are such."""
    names = [name for name in signature(Detector).parameters if name not in ("prior_p", "prior_q", "noise")]
    for name in options:
        if name not in names:
            raise DataError(f"{name}: is not an option; a Detector takes {', '.join(names)}")
    return options
