"""Detection of a latent signal: how far one window of a series stands out from another.

The score of two windows y_p and y_q is −ℓ(δ̂), the estimated divergence between the posteriors of the latent sequence
given each of them, from samples of two priors: p, how background looks, and q, how a signal may look.
"""

from .detector import (
    METHODS,
    Background,
    DetectionWarning,
    Detector,
    Peak,
    Scan,
    Score,
    Scores,
    scan,
    score,
    scores,
)

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
