"""The detector, and the functions score, scores and scan that create one."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from copy import copy
from dataclasses import replace
from functools import cached_property
from inspect import signature
from typing import Any

import numpy as np

from ..._internal.progress import track
from ..._internal.rng import Rng
from ..._internal.snapshots import freeze
from ..._internal.threads import single_threaded_blas
from ..._internal.typing import Array, Index
from ..._internal.validation import (
    as_choice,
    as_count,
    as_flag,
    as_fraction,
    check_radius,
    preview,
    read_only,
)
from ...errors import DataError
from ...penalties.norms import get_norm
from ...solvers.settings import Settings, make_settings
from .background import (
    Background,
    Draw,
    ScoringSetup,
    check_background,
    make_setup,
    simulate_pairs,
    split_pairs,
)
from .diagnostics import DetectionWarning, influence_warning, score_warnings, threshold_warning, window_influence
from .methods import METHODS, MethodOptions, Scorer
from .priors import make_priors
from .results import PairScores, Scan, Score, Scores, concatenate_scores
from .windows import as_series, as_window, as_windows_like, check_window, cut_pairs, flatten

__all__ = ["Detector", "scan", "score", "scores"]

#: maximum number of log-likelihoods in memory on each side, and of pairs in a block
MAX_LOG_LIKELIHOODS, MAX_PAIRS = 6_000_000, 256


class Detector:
    """Scores pairs of windows against two priors, whose features are computed once.

    Parameters
    ----------
    prior_p : array of shape (n_p, window) or (n_p, window, channels)
        Sample of latent background sequences.
    prior_q : array of shape (n_q, window) or (n_q, window, channels)
        Sample of latent sequences that may carry a signal.
    noise : float, array of shape (channels,), or callable
        Standard deviation of the Gaussian observation noise, y = x + noise, 1e-100 to 1e100; or a function (x, Y) →
        log-likelihoods of shape (rows, windows).
    features : str, FeatureMap or callable, default "autocorrelation"
        Features f(x) of the ratio. Feature maps of the package are applied channel by channel; a function gets arrays
        of shape (rows, window) or (rows, window, channels).
    radius : float, default 0.0
        Relaxation R of the moment constraint, at least 0; 0 matches moments exactly.
    norm : {2, inf, 1}, default 2
        Norm of the moment constraint. ``norm=inf`` is an l1 penalty on δ, which makes it sparse.
    penalty : callable, optional
        Convex penalty of δ as a function of a cvxpy expression; each pair is then solved on its own.
    method : str, default "pre"
        ``"pre"``; ``"pre-prior"``, which compares y_q with prior_p itself and ignores y_p; or a baseline:
        ``"plugin"``, ``"kde"``, ``"evidence"``, ``"autocorrelation"``, ``"ar"``, ``"sst"``, ``"energy"``.
    order : int, default 20
        Number of lags of ``"autocorrelation"``, coefficients of ``"ar"``, or eigenvectors of ``"sst"``.
    standardise : bool, default False
        Whether to scale features to mean zero and variance one under prior_q; δ then belongs to the scaled features.
        Useful with a radius or penalty, which otherwise depends on the features' units.
    draw : callable, optional
        (x, rng) → observations of the sequences x, for simulated background. Needed if ``noise`` is a function, or
        wider than the real noise so that more than one prior row has weight.
    tol : float, default None
        Largest duality gap of a proven optimum, between 0 and 1. ``None`` uses that of the settings, 1e-8 by default.
    settings : Settings, default None
        Limits and other settings of each solve; ``None`` takes the defaults.

    Attributes
    ----------
    priors : Priors
        Both samples with their features.
    options : MethodOptions
        Radius, norm, penalty, settings and order.
    method : str
        The scoring method.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> prior_p, prior_q = rng.normal(0.0, 1.0, (500, 4)), rng.normal(0.0, 2.0, (500, 4))
    >>> detector = Detector(prior_p, prior_q, noise=1.0, features="linear")
    >>> detector.score(np.zeros(4), np.full(4, 2.0)).status.name
    'OPTIMAL'
    """

    @single_threaded_blas()
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
        tol: float | None = None,
        settings: Settings | None = None,
    ) -> None:
        if penalty is not None and not callable(penalty):
            raise DataError("penalty", f"{preview(penalty)} is not a function", "pass a function of a cvxpy expression")
        if draw is not None and not callable(draw):
            raise DataError("draw", f"{preview(draw)} is not a function", "pass a function (x, rng) -> observations")
        norm, settings = get_norm(norm).order, make_settings(settings, tol=tol)
        self.options = MethodOptions(check_radius(radius), norm, penalty, settings, as_count(order, "order"))
        self.priors = make_priors(prior_p, prior_q, noise, features, standardise=as_flag(standardise, "standardise"))
        self.draw = draw
        self._set_method(method)

    def _set_method(self, method: str) -> None:
        self.method = as_choice(method, "method", METHODS)
        self._scorer: Scorer = METHODS[method](self.priors, self.options)

    @single_threaded_blas()
    def using(self, method: str, *, order: int | None = None) -> Detector:
        """A detector with the same priors and options but another method.

        Parameters
        ----------
        method : str
            The scoring method, as in :class:`Detector`.
        order : int, optional
            Its order; that of this detector by default.

        Returns
        -------
        Detector
            The new detector; prior features are shared, not computed again.
        """
        other = copy(self)
        vars(other).pop("_setup", None)  # the cached setup belongs to the old method
        if order is not None:
            other.options = replace(self.options, order=as_count(order, "order"))
        other._set_method(method)
        return other

    def score(self, y_p: Any, y_q: Any, *, background: Background | None = None, warn: bool = True) -> Score:
        """Score one pair of windows.

        Parameters
        ----------
        y_p, y_q : array of shape (window,) or (window, channels)
            The windows; y_p goes with prior_p, y_q with prior_q.
        background : Background, optional
            Background scores, which give a p-value.
        warn : bool, default True
            Whether to issue the score's warnings as a :class:`DetectionWarning`.

        Returns
        -------
        Score
            The score with its certificate.
        """
        shape = self.priors.shape
        pair = (shape.unflatten(as_window(y, name, shape)) for y, name in ((y_p, "y_p"), (y_q, "y_q")))
        return self.scores(*pair, background=background, warn=warn)[0]

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
        """Score many pairs, row by row.

        Parameters
        ----------
        Y_p, Y_q : array of shape (W, window) or (W, window, channels)
            The windows of each pair.
        background : Background, optional
            From :meth:`background`, or scores of your own background windows; gives p-values and a threshold.
        rate : float, default 0.05
            False-alarm rate of the threshold for each window, between 0 and 1: among W background windows, rate × W
            alarms are expected.
        verbose : bool, default False
            Whether to show progress.
        warn : bool, default True
            Whether to issue the scores' warnings as a :class:`DetectionWarning`.
        swap : bool, default True
            Whether to score a few pairs again with swapped windows, to check that both windows have influence.

        Returns
        -------
        Scores
            One score for each pair.
        """
        rows_p, rows_q = (
            as_windows_like(Y, name, self.priors.shape, "prior_p") for Y, name in ((Y_p, "Y_p"), (Y_q, "Y_q"))
        )
        if len(rows_p) != len(rows_q):
            raise DataError("Y_q", f"has {len(rows_q)} windows, Y_p has {len(rows_p)}", "pass one for each of Y_p")
        if background is not None:
            check_background(background, self._setup, rows_p)
        return Scores(**self._results(rows_p, rows_q, background, rate, verbose, warn, swap))

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
        """Slide two neighbouring windows along a series and score them.

        At each time t, y_p is the window that ends before t and y_q the one that starts at t.

        Parameters
        ----------
        series : array of shape (T,) or (T, channels)
            The series: evenly spaced, without missing values.
        step : int, default 1
            Time points between successive windows, at least 1.
        reference : array of shape (window,) or (window, channels), optional
            A window that takes the place of y_p at all times.
        background : Background, optional
            As in :meth:`scores`; simulate it in the same way, with the same reference or from neighbouring windows.
        rate : float, default 0.05
            False-alarm rate of the threshold for each window, between 0 and 1.
        verbose : bool, default False
            Whether to show progress.
        warn : bool, default True
            Whether to issue the scores' warnings as a :class:`DetectionWarning`.
        swap : bool, default True
            Whether to score a few pairs again with swapped windows, to check that both windows have influence.

        Returns
        -------
        Scan
            One score for each time.
        """
        values, shape = as_series(series, self.priors.shape), self.priors.shape
        fixed = None if reference is None else as_window(reference, "reference", shape)
        times, before, after = cut_pairs(values, shape.window, step, fixed)
        if background is not None:
            check_background(background, self._setup, fixed, scan=True)
        results = self._results(before, after, background, rate, verbose, warn, swap)
        return Scan(**results, times=times, series=freeze(values.copy()), window=shape.window)

    def background(
        self,
        replicates: int = 999,
        *,
        reference: Any = None,
        pairs: Any = None,
        rng: Rng = 0,
        verbose: bool = False,
    ) -> Background:
        """Score simulated pairs of background windows.

        By default both windows are noisy observations of two sequences drawn from prior_p independently, like windows
        far apart. If background changes slowly, neighbouring windows are more alike and this threshold is too high for
        a scan; then pass ``pairs``. A drawn sequence is left out of the prior while its own pair is scored, because no
        real observation has its exact latent sequence in the sample.

        Parameters
        ----------
        replicates : int, default 999
            Number of pairs to simulate, at least 1.
        reference : array of shape (window,) or (window, channels), optional
            The one y_p of all pairs, for a scan with that reference; only y_q is simulated.
        pairs : array of shape (n, 2 × window) or (n, 2 × window, channels), optional
            Latent background sequences two windows long, for a scan of neighbouring windows: the first half is observed
            as y_p, the second as y_q. Each is used once before any is reused.
        rng : int, sequence of int, SeedSequence, BitGenerator, Generator or None, default 0
            Seed of the simulation. A generator is advanced; ``None`` gives different pairs every time.
        verbose : bool, default False
            Whether to show progress.

        Returns
        -------
        Background
            The scores, valid for this detector only.
        """
        replicates, verbose = as_count(replicates, "replicates"), as_flag(verbose, "verbose")
        fixed = None if reference is None else as_window(reference, "reference", self.priors.shape)
        if pairs is not None and fixed is not None:
            raise DataError("pairs", "cannot be combined with reference: both give y_p", "pass one of the two")
        if pairs is None:
            simulated = simulate_pairs(self.priors, self.draw, replicates, rng, fixed)
        else:
            simulated = split_pairs(self.priors, self.draw, replicates, rng, pairs)
        scored = self._score(simulated.Y_p, simulated.Y_q, simulated.left_out, "background", verbose)
        needed = np.max(scored.minimal_radius[np.isposinf(scored.scores)], initial=0.0)
        return Background(scored.scores, float(needed), self._setup, fixed)

    @cached_property
    def _setup(self) -> ScoringSetup:
        """The setup that a background must have been simulated for."""
        return make_setup(self.method, self.options, self.priors)

    @single_threaded_blas()
    def _score(self, Y_p: Array, Y_q: Array, left_out: Index | None, what: str, verbose: bool) -> PairScores:
        """Score all pairs block by block, which bounds the memory."""
        largest = max(len(self.priors.p.x), len(self.priors.q.x))
        size = min(max(MAX_LOG_LIKELIHOODS // largest, 1), MAX_PAIRS)
        blocks = [slice(i, i + size) for i in range(0, len(Y_p), size)]
        tracked: Iterable[slice] = track(blocks, what, len(blocks)) if verbose else blocks
        return concatenate_scores(
            [self._scorer(flatten(Y_p[b]), flatten(Y_q[b]), None if left_out is None else left_out[b]) for b in tracked]
        )

    def _results(
        self,
        Y_p: Array,
        Y_q: Array,
        background: Background | None,
        rate: float,
        verbose: bool,
        warn: bool,
        swap: bool,
    ) -> dict[str, Any]:
        """Fields of :class:`Scores` for these pairs."""
        rate = as_fraction(rate, "rate")
        verbose, warn, swap = (as_flag(f, name) for f, name in ((verbose, "verbose"), (warn, "warn"), (swap, "swap")))
        # before the scores, so that a bad rate fails at once
        threshold = np.nan if background is None else background.threshold(rate)
        scored = self._score(Y_p, Y_q, None, self.method, verbose)
        n_p, n_q = len(self.priors.p.x), len(self.priors.q.x)
        messages = list(score_warnings(scored, n_p, n_q, self.options.radius))
        if background is not None:
            messages += threshold_warning(background, threshold, rate)
        if swap and self.method in ("pre", "plugin", "kde"):
            for side in ("q", "p"):
                messages += influence_warning(window_influence(self._scorer, scored, Y_p, Y_q, side), side)
        if warn and messages:
            warnings.warn(".\n".join(messages), DetectionWarning, stacklevel=4)
        fields = vars(scored).items()
        p_values = np.full(len(Y_p), np.nan) if background is None else background.p_values(scored.scores)
        return {
            **{name: read_only(value) if isinstance(value, np.ndarray) else value for name, value in fields},
            "p_values": read_only(p_values),
            "threshold": threshold,
            "n_p": n_p,
            "n_q": n_q,
            "method": self.method,
            "names": self.priors.names if scored.delta.shape[1] else (),
            "warnings": tuple(messages),
        }


def score(y_p: Any, y_q: Any, prior_p: Any, prior_q: Any, *, noise: Any, warn: bool = True, **options: Any) -> Score:
    """Score one pair of windows: how far y_q stands out from y_p.

    Parameters
    ----------
    y_p, y_q : array of shape (window,) or (window, channels)
        The windows; y_p goes with prior_p, y_q with prior_q.
    prior_p, prior_q : array of shape (n, window) or (n, window, channels)
        Samples of latent sequences: background, and what a signal may look like.
    noise : float, array of shape (channels,), or callable
        Observation noise, as in :class:`Detector`.
    warn : bool, default True
        Whether to issue the score's warnings as a :class:`DetectionWarning`.
    **options
        Other arguments of :class:`Detector`: features, radius, norm, penalty, method, order, standardise, draw, tol,
        settings.

    Returns
    -------
    Score
        −ℓ(δ̂) with its certificate.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> prior_p, prior_q = rng.normal(0.0, 1.0, (500, 4)), rng.normal(0.0, 2.0, (500, 4))
    >>> far = score(np.zeros(4), np.full(4, 2.0), prior_p, prior_q, noise=1.0, features="linear")
    >>> near = score(np.zeros(4), np.zeros(4), prior_p, prior_q, noise=1.0, features="linear")
    >>> far.score > near.score
    True
    """
    return Detector(prior_p, prior_q, noise=noise, **_check_options(options)).score(y_p, y_q, warn=warn)


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
    """Score many pairs of windows, row by row.

    Parameters
    ----------
    Y_p, Y_q : array of shape (W, window) or (W, window, channels)
        The windows of each pair.
    prior_p, prior_q : array of shape (n, window) or (n, window, channels)
        Samples of latent sequences: background, and what a signal may look like.
    noise : float, array of shape (channels,), or callable
        Observation noise, as in :class:`Detector`.
    replicates : int, default 0
        Background pairs to simulate for p-values and a threshold; 0 for none. They are windows far apart, see
        :meth:`Detector.background`.
    rate : float, default 0.05
        False-alarm rate of the threshold for each window, between 0 and 1.
    rng : int, sequence of int, SeedSequence, BitGenerator, Generator or None, default 0
        Seed of the simulation. A generator is advanced; ``None`` gives different pairs every time.
    verbose : bool, default False
        Whether to show progress.
    warn : bool, default True
        Whether to issue the scores' warnings as a :class:`DetectionWarning`.
    swap : bool, default True
        Whether to score a few pairs again with swapped windows, to check that both windows have influence.
    **options
        Other arguments of :class:`Detector`: features, radius, norm, penalty, method, order, standardise, draw, tol,
        settings.

    Returns
    -------
    Scores
        One score for each pair.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> prior_p, prior_q = rng.normal(0.0, 1.0, (500, 4)), rng.normal(0.0, 2.0, (500, 4))
    >>> Y_p, Y_q = rng.normal(size=(10, 4)), rng.normal(size=(10, 4))
    >>> scores(Y_p, Y_q, prior_p, prior_q, noise=1.0, features="linear", replicates=39)
    Scores(10 pairs, method='pre': 10 OPTIMAL)
    """
    detector = Detector(prior_p, prior_q, noise=noise, **_check_options(options))
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
    """Slide two neighbouring windows along a series and score them; see :meth:`Detector.scan`.

    Parameters
    ----------
    series : array of shape (T,) or (T, channels)
        The series: evenly spaced, without missing values.
    window : int
        Length of a window in time points; must be that of the prior sequences.
    prior_p, prior_q : array of shape (n, window) or (n, window, channels)
        Samples of latent sequences: background, and what a signal may look like.
    noise : float, array of shape (channels,), or callable
        Observation noise, as in :class:`Detector`.
    step : int, default 1
        Time points between successive windows, at least 1.
    reference : array of shape (window,) or (window, channels), optional
        A window that takes the place of y_p at all times, also in the simulated background.
    replicates : int, default 0
        Background pairs to simulate for p-values and a threshold; 0 for none. See :meth:`Detector.background`.
    pairs : array of shape (n, 2 × window) or (n, 2 × window, channels), optional
        Latent background sequences two windows long, whose halves are the simulated pairs. By default these are
        windows far apart.
    rate : float, default 0.05
        False-alarm rate of the threshold for each window, between 0 and 1.
    rng : int, sequence of int, SeedSequence, BitGenerator, Generator or None, default 0
        Seed of the simulation. A generator is advanced; ``None`` gives different pairs every time.
    verbose : bool, default False
        Whether to show progress.
    warn : bool, default True
        Whether to issue the scores' warnings as a :class:`DetectionWarning`.
    swap : bool, default True
        Whether to score a few pairs again with swapped windows, to check that both windows have influence.
    **options
        Other arguments of :class:`Detector`: features, radius, norm, penalty, method, order, standardise, draw, tol,
        settings.

    Returns
    -------
    Scan
        One score for each time.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> prior_p, prior_q = rng.normal(0.0, 1.0, (500, 4)), rng.normal(0.0, 2.0, (500, 4))
    >>> series = np.r_[np.zeros(20), np.full(20, 2.0)]
    >>> scan(series, 4, prior_p, prior_q, noise=1.0, features="linear", step=2, warn=False)
    Scan(17 pairs, method='pre': 17 OPTIMAL)
    """
    check_window(window, prior_p)
    if not as_count(replicates, "replicates", 0) and pairs is not None:
        raise DataError("pairs", "is used only for simulated background", "pass replicates as well")
    detector = Detector(prior_p, prior_q, noise=noise, **_check_options(options))
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


def _check_options(options: dict[str, Any]) -> dict[str, Any]:
    """Options that :class:`Detector` takes; raise on any other."""
    names = [name for name in signature(Detector).parameters if name not in ("prior_p", "prior_q", "noise")]
    for name in options:
        if name not in names:
            raise DataError(name, "is not an option of Detector", f"use {', '.join(names)}")
    return options
