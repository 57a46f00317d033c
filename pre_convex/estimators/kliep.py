"""KLIEP: the ratio of two densities, without likelihoods."""

from __future__ import annotations

import inspect
from typing import Any, Self

from .._internal.validation import as_choice
from .mixture import MixtureKLIEP
from .posterior_ratio import PosteriorRatio

__all__ = ["KLIEP"]


class KLIEP(PosteriorRatio):
    """Density ratio p(x)/q(x) by log-linear KLIEP: a :class:`PosteriorRatio` without likelihoods.

    Parameters and attributes are those of :class:`PosteriorRatio`. ``KLIEP(model="mixture")`` returns a
    :class:`MixtureKLIEP`, Sugiyama's original model, and takes its parameters.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> KLIEP().fit(rng.normal(0.5, 1.0, (300, 1)), rng.normal(0.0, 1.0, (300, 1))).delta_.round(2)
    array([0.54])
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        _sign(cls)

    def __new__(cls, *args: Any, model: str | None = None, **kwargs: Any) -> Any:
        """The log-linear estimator, or for ``model="mixture"`` a :class:`MixtureKLIEP`."""
        if model is None or cls is not KLIEP:
            return super().__new__(cls)
        as_choice(model, "model", ("mixture",))
        return MixtureKLIEP(*args, **kwargs)

    def fit(self, x_p: Any, x_q: Any) -> Self:  # type: ignore[override]
        """Estimate the density ratio.

        Parameters
        ----------
        x_p, x_q : array of shape (n_p, d) and (n_q, d), or data frame
            Samples of the two densities. Named columns are matched by name.

        Returns
        -------
        KLIEP
            The estimator itself.
        """
        return super().fit(x_p, x_q)

    def score(self, x_p: Any, x_q: Any) -> float:  # type: ignore[override]
        """Held-out −ℓ(δ̂): how well the ratio explains other samples.

        Parameters
        ----------
        x_p, x_q : array of shape (n_p, d) and (n_q, d), or data frame
            Other samples of the two densities, with the columns of the fit.

        Returns
        -------
        float
            An estimate of the divergence; larger is better.
        """
        return super().score(x_p, x_q)


def _sign(cls: type) -> None:
    """Show the parameters of ``__init__`` as those of the class, which are hidden by ``__new__`` otherwise."""
    whole = inspect.signature(cls.__init__)  # type: ignore[misc]
    cls.__signature__ = whole.replace(parameters=list(whole.parameters.values())[1:])  # type: ignore[attr-defined]


_sign(KLIEP)
