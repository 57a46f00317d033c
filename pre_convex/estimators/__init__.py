"""Estimators in the style of scikit-learn, their summaries, and fits on disk."""

from .classifier import RatioClassifier
from .kliep import KLIEP
from .logistic import LogisticRatio
from .lsif import LSIF
from .mixture import MixtureKLIEP
from .plugin import PluginRatio
from .posterior_ratio import PosteriorRatio, UnfittedError
from .storage import load, save

__all__ = [
    "KLIEP",
    "LSIF",
    "LogisticRatio",
    "MixtureKLIEP",
    "PluginRatio",
    "PosteriorRatio",
    "RatioClassifier",
    "UnfittedError",
    "load",
    "save",
]
