"""Detection of a latent signal: how far one window of a series stands out from another.

The score of two windows y_p and y_q is −ℓ(δ̂), the estimated divergence between the posteriors of the latent sequence
given each of them. It needs samples of two priors: p, what background looks like, and q, what a signal may look like.
"""

from .background import Background
from .detector import Detector, scan, score, scores
from .diagnostics import DetectionWarning
from .methods import METHODS
from .results import Peak, Scan, Score, Scores

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
