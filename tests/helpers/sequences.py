"""AR(1) sequences, priors of them and windows observed with noise, for the tests of detection."""

import numpy as np

import pre_convex as pre

FEATURES = pre.Autocorrelation(2)
WINDOW = 12


def ar_sequences(alpha, rng, window=WINDOW):
    """Stationary AR(1) sequences, one for each coefficient."""
    x = np.zeros((len(alpha), 20 + window))
    for t in range(1, x.shape[1]):
        x[:, t] = alpha * x[:, t - 1] + rng.normal(size=len(alpha))
    return x[:, 20:]


def make_priors(n=600, seed=0, window=WINDOW):
    """Background with coefficients near 0.6, and a signal with any coefficient."""
    rng = np.random.default_rng(seed)
    return ar_sequences(rng.normal(0.6, 0.1, n), rng, window), ar_sequences(rng.uniform(-0.8, 0.8, n), rng, window)


def make_windows(count, alpha, seed=1, noise=1.5):
    """Noisy observations of sequences with one coefficient."""
    rng = np.random.default_rng(seed)
    x = ar_sequences(np.full(count, alpha), rng)
    return x + noise * rng.normal(size=x.shape)


def changing_series(seed=0, length=240, at=120):
    """A series of background with another coefficient from time ``at`` on."""
    rng = np.random.default_rng(seed)
    x = np.zeros(length)
    for t in range(1, length):
        x[t] = (0.6 if t < at else -0.9) * x[t - 1] + rng.normal()
    return x + 0.3 * rng.normal(size=length)
