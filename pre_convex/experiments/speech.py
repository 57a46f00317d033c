"""Sound for the experiment ``keyword``: recordings of espeak-ng beside this file, windows, cepstra, noisy scenes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..applications.detection.recordings import read_recording
from ..arrays import frozen
from ..entropy import Array, log

__all__ = [
    "DATA",
    "SIZE",
    "STRETCHES",
    "Scene",
    "Sentence",
    "Voice",
    "cepstra",
    "half",
    "make_scenes",
    "noisy",
    "vary",
    "voices",
    "windows",
]

DATA = Path(__file__).parent / "data"
#: cepstral coefficients kept; the one of order zero, which is loudness, is not among them
CEPSTRA = 12
#: triangles of the mel filter bank
FILTERS = 23
#: samples of a window, and between two windows of cepstra
SIZE, STEP = 500, 80
#: how slow or deep a repetition of a word is made, beside what was recorded
STRETCHES = (0.9, 0.95, 1.0, 1.05, 1.1)
#: rows of the priors for speech in general and for noise
GENERIC, SILENT = 1200, 400


@dataclass(frozen=True, eq=False)
class Sentence:
    """A sentence: its sound, its words, and the sample at which each begins."""

    sound: Array
    words: tuple[str, ...]
    starts: tuple[int, ...]

    def word_at(self, sample: float) -> str:
        """The word that is being spoken."""
        return self.words[max(int(np.searchsorted(self.starts, sample, side="right")) - 1, 0)]

    def span(self, word: str) -> tuple[int, int]:
        """First sample of a word, and the first after it."""
        i = self.words.index(word)
        return self.starts[i], (*self.starts, len(self.sound))[i + 1]


@dataclass(frozen=True, eq=False)
class Voice:
    """What one voice says: sentences, and words by themselves, each several times."""

    role: str
    name: str
    rate: int
    sentences: tuple[Sentence, ...]
    words: dict[str, tuple[Array, ...]]


@cache
def voices(role: str) -> tuple[Voice, ...]:
    """The voices for one use: "paper", "tuning" or "test".

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
    for part in entry["contents"]:  # type: ignore[attr-defined]
        piece = frozen(sound[part["start"] : part["stop"]])
        if "words" in part:
            sentences.append(Sentence(piece, tuple(part["text"].split()), tuple(part["words"])))
        else:
            words[part["text"]] = (*words.get(part["text"], ()), piece)
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


def half(sound: Array) -> Array:
    """The same sound at half the rate."""
    from scipy.signal import resample_poly

    return np.asarray(resample_poly(sound, 1, 2))


def noisy(sound: Array, sd: float, rng: np.random.Generator) -> Array:
    """The sound in white noise."""
    return sound + sd * rng.normal(size=sound.shape)


def vary(sound: Array, stretch: float) -> Array:
    """The same sound slower and deeper (stretch above 1), or faster and higher."""
    grid = np.arange(0.0, len(sound) - 1, 1.0 / stretch)
    return np.asarray(np.interp(grid, np.arange(len(sound)), sound))


@cache
def _mel_filters(size: int, rate: int) -> Array:
    """Triangles, equally wide on the mel scale from 100 Hz to half the rate, on the frequencies of an FFT."""
    hertz = np.array([100.0, rate / 2.0])
    ends = 2595.0 * log(1.0 + hertz / 700.0) / log(np.array(10.0))
    corners = 700.0 * (10.0 ** (np.linspace(ends[0], ends[1], FILTERS + 2) / 2595.0) - 1.0)
    grid = np.arange(size // 2 + 1) * rate / size
    rise = (grid[:, None] - corners[:-2]) / np.diff(corners)[:-1]
    fall = (corners[2:] - grid[:, None]) / np.diff(corners)[1:]
    return frozen(np.clip(np.minimum(rise, fall), 0.0, None))


def cepstra(x: Array, rate: int) -> Array:
    """Mel cepstra 1 to 12 of each row: Hamming window, power spectrum, mel filters, logarithm, cosine transform.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(2, 500))
    >>> bool(np.allclose(cepstra(x, 8000), cepstra(10.0 * x, 8000)))  # loudness does not count
    True
    """
    size = 1 << (x.shape[1] - 1).bit_length()
    power = np.abs(np.fft.rfft(x * np.hamming(x.shape[1]), size)) ** 2
    energies = log(power @ _mel_filters(size, rate) + 1e-12 * size)
    order = np.arange(1, CEPSTRA + 1)[:, None] * (np.arange(FILTERS) + 0.5)
    return np.asarray(energies @ np.cos(np.pi / FILTERS * order).T * np.sqrt(2.0 / FILTERS))


@dataclass(frozen=True, eq=False)
class Scene:
    """A sentence in noise, cut into windows, with priors for its words in noise of the same loudness.

    Attributes
    ----------
    sentence : Sentence
    middle : ndarray of shape (W,)
        Sample in the middle of each window.
    sound, sound_after : ndarrays of shape (W, 500)
        Each window, and the one that follows it.
    cepstra, cepstra_after : ndarrays of shape (W, 12)
        Their cepstra; all cepstra are standardised alike, by speech in general.
    words : dict of str to ndarray of shape (n, 12)
        Cepstra of windows of each word, said by itself.
    quiet_words : dict of str to ndarray of shape (n, 500)
        Windows of each word without noise.
    generic, noise : ndarrays of shape (n, 12)
        Cepstra of speech, which are words of the other sentences by the same voice, and of noise alone.
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
        """Which windows have their middle in a word."""
        first, last = self.sentence.span(word)
        return (self.middle >= first) & (self.middle < last)


def make_scenes(voice: Voice, decibels: float, count: int, rng: np.random.Generator) -> list[Scene]:
    """The first sentences of a voice in white noise, so many decibels below the average loudness of its sentences."""
    level = np.sqrt(np.mean(np.concatenate([s.sound for s in voice.sentences]) ** 2))
    sd = float(level * 10.0 ** (-decibels / 20.0))
    varied = {word: [vary(s, a) for s in sounds for a in STRETCHES] for word, sounds in voice.words.items()}
    heard = {
        word: cepstra(np.concatenate([windows(noisy(s, sd, rng), SIZE, STEP) for s in sounds]), voice.rate)
        for word, sounds in varied.items()
    }
    silent = cepstra(noisy(np.zeros((SILENT, SIZE)), sd, rng), voice.rate)
    scenes = []
    for sentence in voice.sentences[:count]:
        generic = np.concatenate([rows for word, rows in heard.items() if word not in sentence.words])
        generic = generic[rng.choice(len(generic), GENERIC, replace=False)]
        centre, scale = generic.mean(axis=0), generic.std(axis=0)
        recording = noisy(np.append(sentence.sound, np.zeros(SIZE)), sd, rng)  # noise follows the last word
        sound, after = windows(recording[:-SIZE], SIZE, STEP), windows(recording[SIZE:], SIZE, STEP)
        scenes.append(
            Scene(
                sentence=sentence,
                middle=SIZE / 2 + STEP * np.arange(len(sound), dtype=float),
                sound=sound,
                sound_after=after,
                cepstra=(cepstra(sound, voice.rate) - centre) / scale,
                cepstra_after=(cepstra(after, voice.rate) - centre) / scale,
                words={word: (heard[word] - centre) / scale for word in sentence.words},
                quiet_words={
                    word: np.concatenate([windows(s, SIZE, STEP) for s in varied[word]]) for word in sentence.words
                },
                generic=(generic - centre) / scale,
                noise=(silent - centre) / scale,
            )
        )
    return scenes
