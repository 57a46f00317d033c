"""Synthetic speech from espeak-ng (files in ``data``), cut into windows, as mel cepstra, and in noise."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pre_convex._internal.typing import Array
from pre_convex._internal.validation import read_only
from pre_convex.applications.detection.recordings import read_recording

__all__ = [
    "DATA",
    "SIZE",
    "STRETCHES",
    "Scene",
    "Sentence",
    "Voice",
    "cepstra",
    "halve_rate",
    "make_scenes",
    "noisy",
    "stretched",
    "voices",
    "windows",
]

DATA = Path(__file__).parent / "data"
#: cepstral coefficients 1 to 12; coefficient 0, the loudness, is left out
CEPSTRA = 12
#: filters of the mel filter bank
FILTERS = 23
#: samples of a window, and between successive windows
SIZE, STEP = 500, 80
#: stretch factors that multiply the recordings of a word
STRETCHES = (0.9, 0.95, 1.0, 1.05, 1.1)
#: rows of the priors for other speech and for noise
GENERIC, SILENT = 1200, 400


@dataclass(frozen=True, eq=False)
class Sentence:
    """A spoken sentence: sound, words, and the sample at which each word starts."""

    sound: Array
    words: tuple[str, ...]
    starts: tuple[int, ...]

    def word_at(self, sample: float) -> str:
        """The word that is spoken at a sample."""
        return self.words[max(int(np.searchsorted(self.starts, sample, side="right")) - 1, 0)]

    def span(self, word: str) -> tuple[int, int]:
        """First sample of a word, and the first one after it."""
        i = self.words.index(word)
        return self.starts[i], (*self.starts, len(self.sound))[i + 1]


@dataclass(frozen=True, eq=False)
class Voice:
    """Recordings of one voice: sentences, and several recordings of single words."""

    role: str
    name: str
    rate: int
    sentences: tuple[Sentence, ...]
    words: dict[str, tuple[Array, ...]]


@cache
def voices(role: str) -> tuple[Voice, ...]:
    """The voices with one role: "paper", "tuning" or "test".

    Examples
    --------
    >>> [voice.name for voice in voices("tuning")]
    ['en+f2', 'en-us+m3']
    >>> voices("paper")[0].sentences[0].words
    ('I', 'go', 'to', 'bank', 'today')
    """
    table = json.loads((DATA / "speech.json").read_text(encoding="utf-8"))
    return tuple(_voice(entry) for entry in table if entry["role"] == role)


def _voice(entry: dict[str, object]) -> Voice:
    """A voice from its entry in the table of contents."""
    sound = read_recording(DATA / str(entry["file"])).series
    sentences: list[Sentence] = []
    words: dict[str, tuple[Array, ...]] = {}
    for item in entry["contents"]:  # type: ignore[attr-defined]
        recording = read_only(sound[item["start"] : item["stop"]])
        if "words" in item:
            sentences.append(Sentence(recording, tuple(item["text"].split()), tuple(item["words"])))
        else:
            words[item["text"]] = (*words.get(item["text"], ()), recording)
    return Voice(str(entry["role"]), str(entry["voice"]), int(entry["rate"]), tuple(sentences), words)  # type: ignore[call-overload]


def windows(sound: Array, size: int, step: int) -> Array:
    """Sliding windows as rows.

    Examples
    --------
    >>> windows(np.arange(5.0), 3, 2)
    array([[0., 1., 2.],
           [2., 3., 4.]])
    """
    return np.lib.stride_tricks.sliding_window_view(sound, size)[::step]


def halve_rate(sound: Array) -> Array:
    """The sound at half its sampling rate."""
    from scipy.signal import resample_poly

    return np.asarray(resample_poly(sound, 1, 2))


def noisy(sound: Array, sd: float, rng: np.random.Generator) -> Array:
    """The sound with white noise added."""
    return sound + sd * rng.normal(size=sound.shape)


def stretched(sound: Array, factor: float) -> Array:
    """The sound slower and lower (factor above 1), or faster and higher."""
    grid = np.arange(0.0, len(sound) - 1, 1.0 / factor)
    return np.asarray(np.interp(grid, np.arange(len(sound)), sound))


@cache
def _mel_filters(size: int, rate: int) -> Array:
    """Triangular filters on the frequencies of an FFT, equally wide on the mel scale from 100 Hz to half the rate."""
    hertz = np.array([100.0, rate / 2.0])
    ends = 2595.0 * np.log(1.0 + hertz / 700.0) / np.log(np.array(10.0))
    corners = 700.0 * (10.0 ** (np.linspace(ends[0], ends[1], FILTERS + 2) / 2595.0) - 1.0)
    grid = np.arange(size // 2 + 1) * rate / size
    rise = (grid[:, None] - corners[:-2]) / np.diff(corners)[:-1]
    fall = (corners[2:] - grid[:, None]) / np.diff(corners)[1:]
    return read_only(np.clip(np.minimum(rise, fall), 0.0, None))


def cepstra(x: Array, rate: int) -> Array:
    """Mel cepstra 1 to 12 of each row: Hamming window, power spectrum, mel filters, log, cosine transform.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(2, 500))
    >>> bool(np.allclose(cepstra(x, 8000), cepstra(10.0 * x, 8000)))  # independent of loudness
    True
    """
    size = 1 << (x.shape[1] - 1).bit_length()
    power = np.abs(np.fft.rfft(x * np.hamming(x.shape[1]), size)) ** 2
    energies = np.log(power @ _mel_filters(size, rate) + 1e-12 * size)
    order = np.arange(1, CEPSTRA + 1)[:, None] * (np.arange(FILTERS) + 0.5)
    return np.asarray(energies @ np.cos(np.pi / FILTERS * order).T * np.sqrt(2.0 / FILTERS))


@dataclass(frozen=True, eq=False)
class Scene:
    """A sentence in noise, cut into windows, and prior samples of its words in the same noise.

    Attributes
    ----------
    sentence : Sentence
    middle : ndarray of shape (W,)
        Sample in the middle of each window.
    sound, sound_after : ndarrays of shape (W, 500)
        Each window, and the one after it.
    cepstra, cepstra_after : ndarrays of shape (W, 12)
        Their cepstra. All cepstra are standardised by mean and standard deviation of ``generic``.
    words : dict of str to ndarray of shape (n, 12)
        Cepstra of the windows of each word, recorded singly.
    quiet_words : dict of str to ndarray of shape (n, 500)
        Windows of each word without noise.
    generic, noise : ndarrays of shape (n, 12)
        Cepstra of other speech (the words of the other sentences, same voice), and of noise alone.
    """

    sentence: Sentence
    middle: Array
    sound: Array
    sound_after: Array
    cepstra: Array
    cepstra_after: Array
    words: dict[str, Array]
    quiet_words: dict[str, Array]
    generic: Array
    noise: Array

    def inside(self, word: str) -> NDArray[np.bool_]:
        """Which windows have their middle inside a word."""
        first, last = self.sentence.span(word)
        return (self.middle >= first) & (self.middle < last)


def make_scenes(voice: Voice, decibels: float, count: int, rng: np.random.Generator) -> list[Scene]:
    """The first ``count`` sentences of a voice, in white noise ``decibels`` below the mean level of its sentences."""
    level = np.sqrt(np.mean(np.concatenate([s.sound for s in voice.sentences]) ** 2))
    sd = float(level * 10.0 ** (-decibels / 20.0))
    recordings = {word: [stretched(s, a) for s in sounds for a in STRETCHES] for word, sounds in voice.words.items()}
    word_cepstra = {
        word: cepstra(np.concatenate([windows(noisy(s, sd, rng), SIZE, STEP) for s in sounds]), voice.rate)
        for word, sounds in recordings.items()
    }
    silent = cepstra(noisy(np.zeros((SILENT, SIZE)), sd, rng), voice.rate)
    scenes = []
    for sentence in voice.sentences[:count]:
        generic = np.concatenate([rows for word, rows in word_cepstra.items() if word not in sentence.words])
        generic = generic[rng.choice(len(generic), GENERIC, replace=False)]
        centre, scale = generic.mean(axis=0), generic.std(axis=0)
        recording = noisy(np.append(sentence.sound, np.zeros(SIZE)), sd, rng)  # one window of noise at the end
        sound, after = windows(recording[:-SIZE], SIZE, STEP), windows(recording[SIZE:], SIZE, STEP)
        scenes.append(
            Scene(
                sentence=sentence,
                middle=SIZE / 2 + STEP * np.arange(len(sound), dtype=float),
                sound=sound,
                sound_after=after,
                cepstra=(cepstra(sound, voice.rate) - centre) / scale,
                cepstra_after=(cepstra(after, voice.rate) - centre) / scale,
                words={word: (word_cepstra[word] - centre) / scale for word in sentence.words},
                quiet_words={
                    word: np.concatenate([windows(s, SIZE, STEP) for s in recordings[word]]) for word in sentence.words
                },
                generic=(generic - centre) / scale,
                noise=(silent - centre) / scale,
            )
        )
    return scenes
