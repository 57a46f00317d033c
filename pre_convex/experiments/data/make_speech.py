"""Make the speech of the experiment ``keyword`` with espeak-ng; without a folder the files go beside this script.

    python make_speech.py FOLDER

The library behind espeak-ng (Debian: ``espeak-ng``) is called directly because it says where each word of a sentence
begins, which its command does not. Every voice says the sentences once and each of their words several times by
itself, with other pitch and speed each time. A voice is one WAV file, with ``speech.json`` as the table of contents.
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
#: the voice of the paper's set-up: its sentence and ten repetitions of one word, at twice the rate
PAPER, KEYWORD = "en-us", "bank"
TUNING = ("en+f2", "en-us+m3")
TEST = ("en+m7", "en-us+f4", "en-gb-scotland", "en-029+f1")
RATE, PAPER_RATE = 8000, 16000
REPETITIONS, PAPER_REPETITIONS = 2, 10
#: words per minute and pitch of sentences, and what one repetition after another adds
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
    """espeak-ng, as a function of text that returns sound and where its words begin."""

    def __init__(self) -> None:
        name = ctypes.util.find_library("espeak-ng")
        if name is None:
            raise OSError("the library of espeak-ng is not installed; on Debian: apt-get install espeak-ng")
        self.library = ctypes.CDLL(name)
        self.rate: int = self.library.espeak_Initialize(_SYNCHRONOUS, 0, None, 0)
        self.callback = _CALLBACK(self._receive)  # kept, because the library holds no reference
        self.library.espeak_SetSynthCallback(self.callback)

    def _receive(self, samples: Any, count: int, events: Any) -> int:
        if samples and count:
            self.parts.append(np.ctypeslib.as_array(samples, (count,)).astype(float))
        i = 0
        while events[i].type != _LAST:
            if events[i].type == _WORD:
                self.starts.append(events[i].audio_position / 1000.0)
            i += 1
        return 0

    def say(self, text: str, voice: str, speed: int = SPEED, pitch: int = PITCH) -> tuple[Sound, list[float]]:
        """The sound between −1 and 1, and the second at which each word begins."""
        self.parts: list[Sound] = []
        self.starts: list[float] = []
        if self.library.espeak_SetVoiceByName(voice.encode()) != 0:
            raise OSError(f"espeak-ng has no voice {voice}")
        self.library.espeak_SetParameter(_SPEED, speed, 0)
        self.library.espeak_SetParameter(_PITCH, pitch, 0)
        raw = text.encode() + b"\0"
        self.library.espeak_Synth(raw, len(raw), 0, _AT_CHARACTER, 0, _UTF8, None, None)
        return np.concatenate(self.parts) / 32768.0, self.starts


def shorten(sound: Sound, rate: int, quiet: float = 0.004) -> tuple[Sound, float]:
    """Without the silence before and after, a hundredth of a second excepted; and the seconds cut at the beginning."""
    loud = np.flatnonzero(np.abs(sound) > quiet)
    margin = rate // 100
    first = max(int(loud[0]) - margin, 0)
    return sound[first : int(loud[-1]) + margin], first / rate


def recite(speaker: Speaker, voice: str, rate: int, sentences: tuple[str, ...], words: list[str], times: int) -> Any:
    """All that one voice says, one sound after the other, and where everything lies in it."""
    sounds, contents, position = [], [], 0
    for text, repetition in [(s, 0) for s in sentences] + [(w, r) for w in words for r in range(times)]:
        alone = text in words
        speed, pitch = SPEED + FASTER[repetition] * alone, PITCH + HIGHER[repetition] * alone
        sound, starts = speaker.say(text, voice, speed, pitch)
        sound, cut = shorten(sound, speaker.rate)
        sound = resample_poly(sound, rate // 50, speaker.rate // 50)
        entry: dict[str, Any] = {"text": text, "start": position, "stop": position + len(sound)}
        if not alone:
            entry["words"] = [max(round((start - cut) * rate), 0) for start in starts]
        sounds.append(sound)
        contents.append(entry)
        position += len(sound)
    return np.concatenate(sounds), contents


def write_wav(path: Path, sound: Sound, rate: int, width: int) -> None:
    """PCM of one channel: 16 bits with a sign, or 8 bits without."""
    scaled = sound * 0.98 / np.abs(sound).max()
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(width)
        file.setframerate(rate)
        pcm = np.round(scaled * 32767).astype("<i2") if width == 2 else np.round(128 + scaled * 127).astype("u1")
        file.writeframes(pcm.tobytes())


def main(folder: Path) -> None:
    """Write one WAV file for each voice, and the table of contents."""
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
