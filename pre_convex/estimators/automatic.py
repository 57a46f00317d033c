"""``features="auto"`` in an estimator: the search, and the parameters it cannot be combined with."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._internal.validation import as_numbers
from ..data.scaled import Scaled
from ..divergences import get_divergence
from ..errors import DataError, renamed_arguments
from ..problem import check_samples
from ..statistics.staged import FeatureChoice, staged_features
from .reading import in_blocks

__all__ = ["automatic_features", "is_automatic"]

#: number of folds of estimators without the parameter ``cv``
FOLDS = 5


def is_automatic(features: Any) -> bool:
    """Whether the parameter ``features`` is ``"auto"``."""
    return isinstance(features, str) and features == "auto"


def automatic_features(
    fit: Any, samples: tuple[Any, Any, Any, Any], loss: str, seed: Any
) -> tuple[Scaled, FeatureChoice]:
    """Features and radius of an estimator.

    Parameters
    ----------
    fit : PosteriorRatio or LogisticRatio
        The estimator.
    samples : tuple
        x_p, x_q, log_lik_p and log_lik_q.
    loss : {"kl", "logistic"}
        Its loss.
    seed : SeedSequence
        Seed of folds and landmarks.

    Returns
    -------
    features : Scaled
    choice : FeatureChoice
    """
    x_p, x_q, log_lik_p, log_lik_q = samples
    if in_blocks(x_p, x_q):
        raise DataError("features", "'auto' needs samples in memory", "pass arrays, or a feature map")
    given = {name: getattr(fit, name, None) is not None for name in ("bounds", "max_weight", "penalty", "constraints")}
    given["divergence"] = get_divergence(getattr(fit, "divergence", "kl")).name != "kl"
    given["norm"] = fit._norm() != 2.0
    given["radius"] = not isinstance(fit.radius, str) and bool(np.any(as_numbers(fit.radius, "radius") != 0.0))
    for name, refused in given.items():
        if refused:
            raise DataError(name, "cannot be combined with features='auto'", "leave it out")
    x_p, x_q, _ = check_samples(x_p, x_q, False)
    folds = getattr(fit, "cv", FOLDS)
    with renamed_arguments({"folds": "cv"}):
        return staged_features(x_p, x_q, log_lik_p, log_lik_q, loss=loss, folds=folds, paired=fit.paired, rng=seed)
