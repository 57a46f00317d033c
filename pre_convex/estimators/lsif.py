"""LSIF: the ratio of two densities by least squares."""

from __future__ import annotations

from typing import Any

from .._internal.rng import Rng
from ..solvers import Settings
from .kliep import KLIEP

__all__ = ["LSIF"]


class LSIF(KLIEP):
    """Density ratio p(x)/q(x) by least-squares importance fitting: :class:`KLIEP` with the χ² divergence.

    The ratio is the straight line 1 + c + ⟨δ, f(x)⟩, clipped to the bounds. Methods and attributes are those of
    :class:`PosteriorRatio`; there are no confidence intervals.

    Parameters
    ----------
    features : str, FeatureMap or function, default "linear"
        Features f(x), as in :class:`PosteriorRatio`.
    bounds : pair (lo, hi), optional
        Bounds on the ratio; (0, inf) by default, so that the ratio is zero where the line is negative.
    max_weight : float, optional
        The largest weight of a q row, as a share of the total.
    radius : float, array of shape (k,) or dict, default 0.0
        Relaxation R ≥ 0 of the moment constraint, in standard deviations of the features; one for all, or one for each.
    norm : {2, inf, 1} or None, default None
        Norm of the moment constraint; ``norm=inf`` gives a sparse δ. None means 2, or the norm of a named ``penalty``.
    penalty : {"l1", "l2"} or function of a cvxpy expression, optional
        ``"l1"`` is ``norm=inf``, ``"l2"`` is ``norm=2``; a function returns a convex expression of δ to add.
    standardise : bool, default True
        Whether a radius is in standard deviations of the features, or in their units.
    formulation : {"primal", "dual"}, default "primal"
        Program that is solved.
    solver : str, default "auto"
        ``"auto"`` or ``"newton"`` for the package's own engine, or a name of :func:`~pre_convex.installed_solvers`.
    tol : float, default None
        Duality gap to reach, relative to 1 + the size of the objective; None uses that of the settings.
    settings : Settings, default None
        Limits and other settings of the solve; None takes the defaults.
    random_state : int, sequence of int, SeedSequence, BitGenerator, Generator or None, default 0
        Seed or generator of the landmarks of a kernel.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> fit = LSIF().fit(rng.normal(0.5, 1.0, (300, 1)), rng.normal(0.0, 1.0, (300, 1)))
    >>> fit.ratio([[-4.0], [0.0], [1.0]]).round(2)
    array([0.  , 0.99, 1.53])
    """

    def __init__(
        self,
        features: Any = "linear",
        *,
        bounds: Any = None,
        max_weight: float | None = None,
        radius: Any = 0.0,
        norm: float | None = None,
        penalty: Any = None,
        standardise: bool = True,
        formulation: str = "primal",
        solver: str = "auto",
        tol: float | None = None,
        settings: Settings | None = None,
        random_state: Rng = 0,
    ) -> None:
        super().__init__(
            features,
            bounds=bounds,
            max_weight=max_weight,
            radius=radius,
            norm=norm,
            penalty=penalty,
            standardise=standardise,
            formulation=formulation,
            solver=solver,
            tol=tol,
            settings=settings,
            random_state=random_state,
            divergence="chi2",
        )
