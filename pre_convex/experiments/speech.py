"""Sound for the experiment ``keyword``: recordings of espeak-ng beside this file, windows, and cepstra."""

from __future__ import annotations

import json
import wave
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from ..arrays import frozen
from ..entropy import Array, Index, log

__all__ = ["CEPSTRA", "DATA", "Sentence", "Voice", "cepstra", "noisy", "voices", "vary", "windows"]

DATA = Path(__file__).parent / "data"
#: cepstral coefficients kept; the one of order zero, which is loudness, is not among them
CEPSTRA = 12
#: triangles of the mel filter bank
FILTERS = 23


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
    sound = _read(DATA / str(entry["file"]))
    sentences, words = [], {}
    for part in entry["contents"]:  # type: ignore[attr-defined]
        piece = frozen(sound[part["start"] : part["stop"]])
        if "words" in part:
            sentences.append(Sentence(piece, tuple(part["text"].split()), tuple(part["words"])))
        else:
            words[part["text"]] = (*words.get(part["text"], ()), piece)
    return Voice(str(entry["role"]), str(entry["voice"]), int(entry["rate"]), tuple(sentences), words)  # type: ignore[call-overload]


def _read(path: Path) -> Array:
    """A WAV file of one channel as numbers between −1 and 1."""
    with wave.open(str(path), "rb") as file:
        width, raw = file.getsampwidth(), file.readframes(file.getnframes())
    pcm = np.frombuffer(raw, "<i2") / 32768.0 if width == 2 else np.frombuffer(raw, "u1") / 128.0 - 1.0
    return np.asarray(pcm, dtype=float)


def windows(sound: Array, size: int, step: int) -> Array:
    """Sliding windows as rows.

    Examples
    --------
    >>> windows(np.arange(5.0), 3, 2)
    array([[0., 1., 2.],
           [2., 3., 4.]])
    """
    return np.lib.stride_tricks.sliding_window_view(sound, size)[::step]


def noisy(sound: Array, sd: float, rng: np.random.Generator) -> Array:
    """The sound in white noise."""
    return sound + sd * rng.normal(size=sound.shape)


def vary(sound: Array, stretch: float) -> Array:
    """The same sound slower and deeper (stretch above 1), or faster and higher."""
    grid = np.arange(0.0, len(sound) - 1, 1.0 / stretch)
    return np.interp(grid, np.arange(len(sound)), sound)


@cache
def _mel_filters(size: int, rate: int) -> Array:
    """Triangles, equally wide on the mel scale from 100 Hz to half the rate, on the frequencies of an FFT."""
    hertz = np.array([100.0, rate / 2.0])
    ends = 2595.0 * log(1.0 + hertz / 700.0) / log(np.array(10.0))
    corners = 700.0 * (10.0 ** (np.linspace(*ends, FILTERS + 2) / 2595.0) - 1.0)
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
