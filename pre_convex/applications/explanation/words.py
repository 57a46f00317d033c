"""Texts: every word is a feature that is on or off."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...arrays import as_flag, frozen, shown
from ...entropy import Array
from ...errors import DataError
from .perturbations import Coins, chance, dimensions, on_off_rows

__all__ = ["TextNeighbourhood", "Words"]


@dataclass(frozen=True, eq=False)
class TextNeighbourhood:
    """Texts with some words left out.

    Attributes
    ----------
    names : tuple of str
    origin, unit : ndarray of shape (k,)
        Ones: in x itself every word is on.
    pieces : tuple of str
        The text, cut into words and what stands between them.
    owner : tuple of int
        Feature of every piece; −1 for what is always kept.
    words : tuple of str
        The word of every feature.
    pattern, mask : str
        What a word is, and what stands for one that is off.
    keep : float
    """

    names: tuple[str, ...]
    origin: Array
    unit: Array
    pieces: tuple[str, ...]
    owner: tuple[int, ...]
    words: tuple[str, ...]
    pattern: str
    mask: str
    keep: float
    at_once: int = 10_000

    def draw(self, n: int, rng: np.random.Generator) -> Array:
        """Coins for n texts."""
        return Coins(len(self.names), self.keep)(n, rng)

    def inputs(self, z: Array, rng: np.random.Generator) -> list[str]:
        """The texts."""
        parts = list(zip(self.pieces, self.owner, strict=True))
        return ["".join(piece if i < 0 or row[i] > 0.5 else self.mask for piece, i in parts) for row in z]

    def encode(self, rows: Any) -> Array:
        """Rows of ones and zeros, one column for each word; or texts, in which a word is on if it occurs."""
        if isinstance(rows, str):
            rows = [rows]
        many = isinstance(rows, list | tuple | np.ndarray) and dimensions(rows) == 1
        if many and len(rows) and all(isinstance(text, str) for text in rows):
            if len(set(self.words)) < len(self.words):
                raise DataError("z: a text does not say which place of a word is on; give rows of ones and zeros")
            found = [{match.group() for match in re.finditer(self.pattern, text)} for text in rows]
            return np.array([[float(word in words) for word in self.words] for words in found])
        return on_off_rows(rows, len(self.names), "words")


@dataclass(frozen=True, eq=False)
class Words:
    r"""Every word of a text is kept (feature 1) or left out (feature 0), by independent coins.

    Parameters
    ----------
    pattern : str
        Regular expression of a word.
    mask : str
        What stands for a word that is left out.
    together : bool
        Whether all places of a word are one feature; otherwise each is one, named with its number.
    keep : float
        Probability that a word is kept; near ½, or every word needs some dozens of texts without it.

    Examples
    --------
    >>> near = Words().around("good, very good")
    >>> near.names, near.inputs(np.array([[0.0, 1.0]]), None)
    (('good', 'very'), [', very '])
    >>> Words(together=False).around("good, very good").names
    ('good (1)', 'very', 'good (2)')
    """

    pattern: str = r"\w+"
    mask: str = ""
    together: bool = True
    keep: float = 0.5

    def around(self, x: Any) -> TextNeighbourhood:
        """The neighbourhood of a text."""
        if not isinstance(x, str):
            raise DataError(f"x: {type(x).__name__} is not a text")
        if not isinstance(self.mask, str):
            raise DataError(f"mask: {shown(self.mask)} is not a text")
        as_flag(self.together, "together")
        try:
            found = [match for match in re.finditer(self.pattern, x) if match.group()]
        except (re.error, TypeError) as error:
            raise DataError(f"pattern: is not a regular expression ({error})") from error
        if not found:
            raise DataError("x: has no word; give a pattern that finds some")
        words = [match.group() for match in found]
        if self.together:
            names = tuple(dict.fromkeys(words))
            features = [names.index(word) for word in words]
        else:
            seen = [words[: i + 1].count(word) for i, word in enumerate(words)]
            names = tuple(f"{w} ({s})" if words.count(w) > 1 else w for w, s in zip(words, seen, strict=True))
            features = list(range(len(words)))
        pieces, owner, end = [], [], 0
        for match, feature in zip(found, features, strict=True):
            pieces += [x[end : match.start()], match.group()]
            owner += [-1, feature]
            end = match.end()
        ones = frozen(np.ones(len(names)))
        kept = names if self.together else tuple(words)
        terms = (kept, self.pattern, self.mask, chance(self.keep, "keep"))
        return TextNeighbourhood(names, ones, ones, (*pieces, x[end:]), (*owner, -1), *terms)
