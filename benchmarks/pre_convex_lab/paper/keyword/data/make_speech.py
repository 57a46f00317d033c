"""Synthesise the speech of the experiment ``keyword`` with espeak-ng: ``python make_speech.py FOLDER``.

Without FOLDER the files go to the folder of this script. The library of espeak-ng is called directly, because it
reports where each word of a sentence starts and the command does not. Every voice speaks each sentence once and each
word several times, with varying pitch and speed. There is a WAV file for each voice, and ``speech.json`` as the table
of contents.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import json
import sys
import wave
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.signal import resample_poly

SENTENCES = (
    "I go to bank today",
    "please call our doctor now",
    "we saw seven yellow birds",
    "she will open the window",
)
#: voice and keyword of the paper's set-up
PAPER, KEYWORD = "en-us", "bank"
TUNING = ("en+f2", "en-us+m3")
TEST = ("en+m7", "en-us+f4", "en-gb-scotland", "en-029+f1")
RATE, PAPER_RATE = 8000, 16000
REPETITIONS, PAPER_REPETITIONS = 2, 10
#: speed in words per minute and pitch, and changes of both for successive repetitions of a word
SPEED, PITCH = 150, 50
FASTER, HIGHER = (0, -15, 12, -6, 18, 6, -20, 9, -10, 14), (0, 6, -5, 3, -8, 8, -3, 5, -6, 2)

Sound = NDArray[np.float64]


class _Event(ctypes.Structure):
    """espeak_EVENT of speak_lib.h."""

    _fields_ = [
        ("type", ctypes.c_int), ("unique_identifier", ctypes.c_uint), ("text_position", ctypes.c_int),
        ("length", ctypes.c_int), ("audio_position", ctypes.c_int), ("sample", ctypes.c_int),
        ("user_data", ctypes.c_void_p), ("id", ctypes.c_char * 8),
    ]  # fmt: skip


_CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_short), ctypes.c_int, ctypes.POINTER(_Event))
_SYNCHRONOUS, _LAST, _WORD, _UTF8, _AT_CHARACTER = 2, 0, 1, 1, 1
_SPEED, _PITCH = 1, 3


class Speaker:
    """espeak-ng: turns text into sound."""

    def __init__(self) -> None:
        name = ctypes.util.find_library("espeak-ng")
        if name is None:
            raise OSError("espeak-ng is not installed; on Debian, run: apt-get install espeak-ng")
        self.library = ctypes.CDLL(name)
        self.rate: int = self.library.espeak_Initialize(_SYNCHRONOUS, 0, None, 0)
        self.callback = _CALLBACK(self._receive)  # the library holds no reference to it
        self.library.espeak_SetSynthCallback(self.callback)

    def _receive(self, samples: Any, count: int, events: Any) -> int:
        if samples and count:
            self.blocks.append(np.ctypeslib.as_array(samples, (count,)).astype(float))
        i = 0
        while events[i].type != _LAST:
            if events[i].type == _WORD:
                self.starts.append(events[i].audio_position / 1000.0)
            i += 1
        return 0

    def say(self, text: str, voice: str, speed: int = SPEED, pitch: int = PITCH) -> tuple[Sound, list[float]]:
        """The sound, between −1 and 1, and the time in seconds at which each word starts."""
        self.blocks: list[Sound] = []
        self.starts: list[float] = []
        if self.library.espeak_SetVoiceByName(voice.encode()) != 0:
            raise OSError(f"espeak-ng has no voice {voice}")
        self.library.espeak_SetParameter(_SPEED, speed, 0)
        self.library.espeak_SetParameter(_PITCH, pitch, 0)
        raw = text.encode() + b"\0"
        self.library.espeak_Synth(raw, len(raw), 0, _AT_CHARACTER, 0, _UTF8, None, None)
        return np.concatenate(self.blocks) / 32768.0, self.starts


def trim(sound: Sound, rate: int, quiet: float = 0.004) -> tuple[Sound, float]:
    """The sound without silence at both ends, but for 10 ms, and the seconds cut off at the start."""
    loud = np.flatnonzero(np.abs(sound) > quiet)
    margin = rate // 100
    first = max(int(loud[0]) - margin, 0)
    return sound[first : int(loud[-1]) + margin], first / rate


def recite(speaker: Speaker, voice: str, rate: int, sentences: tuple[str, ...], words: list[str], times: int) -> Any:
    """Everything that one voice speaks, concatenated, and a table of contents."""
    sounds, contents, position = [], [], 0
    for text, repetition in [(s, 0) for s in sentences] + [(w, r) for w in words for r in range(times)]:
        single = text in words
        speed, pitch = SPEED + FASTER[repetition] * single, PITCH + HIGHER[repetition] * single
        sound, starts = speaker.say(text, voice, speed, pitch)
        sound, cut = trim(sound, speaker.rate)
        sound = resample_poly(sound, rate // 50, speaker.rate // 50)
        entry: dict[str, Any] = {"text": text, "start": position, "stop": position + len(sound)}
        if not single:
            entry["words"] = [max(round((start - cut) * rate), 0) for start in starts]
        sounds.append(sound)
        contents.append(entry)
        position += len(sound)
    return np.concatenate(sounds), contents


def write_wav(path: Path, sound: Sound, rate: int, width: int) -> None:
    """Write a mono PCM file with samples of one byte (unsigned) or two (signed)."""
    scaled = sound * 0.98 / np.abs(sound).max()
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(width)
        file.setframerate(rate)
        pcm = np.round(scaled * 32767).astype("<i2") if width == 2 else np.round(128 + scaled * 127).astype("u1")
        file.writeframes(pcm.tobytes())


def main(folder: Path) -> None:
    """Write the WAV files and the table of contents."""
    speaker = Speaker()
    words = [word for sentence in SENTENCES for word in sentence.split()]
    jobs: list[tuple[str, str, int, tuple[str, ...], list[str], int, int]]
    jobs = [("paper", PAPER, PAPER_RATE, SENTENCES[:1], [KEYWORD], PAPER_REPETITIONS, 2)]
    jobs += [("tuning", voice, RATE, SENTENCES, words, REPETITIONS, 1) for voice in TUNING]
    jobs += [("test", voice, RATE, SENTENCES, words, REPETITIONS, 1) for voice in TEST]
    voices = []
    for role, voice, rate, sentences, own, times, width in jobs:
        sound, contents = recite(speaker, voice, rate, sentences, own, times)
        file = f"{role}-{voice.replace('+', '-')}.wav"
        write_wav(folder / file, sound, rate, width)
        voices.append({"role": role, "voice": voice, "rate": rate, "file": file, "contents": contents})
    lines = ",\n".join(json.dumps(voice) for voice in voices)
    (folder / "speech.json").write_text(f"[\n{lines}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
