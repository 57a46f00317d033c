"""Detection of a latent signal: how far one window of a series stands out from another.

The score of two windows y_p and y_q is −ℓ(δ̂), the estimated divergence between the posteriors of the latent sequence
given each of them, from samples of two priors: p, how background looks, and q, how a signal may look.
"""

from .cautions import DetectionWarning
from .detector import METHODS, Detector, scan, score, scores
from .scored import Peak, Scan, Score, Scores
from .significance import Background

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
