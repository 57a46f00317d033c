"""Perturbation of texts: each word is a feature that is on or off."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._internal.typing import Array
from ..._internal.validation import as_flag, as_fraction, preview, read_only
from ...errors import DataError
from .neighbourhood import CoinFlips, dimensions, on_off_rows

__all__ = ["TextNeighbourhood", "Words"]


@dataclass(frozen=True, eq=False)
class TextNeighbourhood:
    """Copies of a text with some words left out.

    Attributes
    ----------
    names : tuple of str
        Names of the features.
    origin, unit : ndarray of shape (k,)
        Ones: in x itself every word is on.
    tokens : tuple of str
        The text, split into words and what is between them.
    feature_of : tuple of int
        Feature of each token; −1 for tokens that are always kept.
    words : tuple of str
        Word of each feature.
    pattern : str
        Regular expression of a word.
    mask : str
        Replacement of a word that is off.
    keep : float
        Probability that a word is kept.
    block_size : int
        Number of texts to make and predict at a time.
    """

    names: tuple[str, ...]
    origin: Array
    unit: Array
    tokens: tuple[str, ...]
    feature_of: tuple[int, ...]
    words: tuple[str, ...]
    pattern: str
    mask: str
    keep: float
    block_size: int = 10_000

    def draw(self, n: int, rng: np.random.Generator) -> Array:
        """Random on/off features of n texts."""
        return CoinFlips(len(self.names), self.keep)(n, rng)

    def inputs(self, z: Array, rng: np.random.Generator) -> list[str]:
        """The texts."""
        tokens = list(zip(self.tokens, self.feature_of, strict=True))
        return ["".join(token if i < 0 or row[i] > 0.5 else self.mask for token, i in tokens) for row in z]

    def encode(self, rows: Any) -> Array:
        """Rows of ones and zeros, one column for each word; or texts, in which a word is on if it occurs."""
        if isinstance(rows, str):
            rows = [rows]
        one_dimensional = isinstance(rows, list | tuple | np.ndarray) and dimensions(rows) == 1
        if one_dimensional and len(rows) and all(isinstance(text, str) for text in rows):
            if len(set(self.words)) < len(self.words):
                raise DataError(
                    "z", "a text does not tell which occurrence of a word is on", "pass rows of ones and zeros"
                )
            present = [{match.group() for match in re.finditer(self.pattern, text)} for text in rows]
            return np.array([[float(word in words) for word in self.words] for words in present])
        return on_off_rows(rows, len(self.names), "words")


@dataclass(frozen=True, eq=False)
class Words:
    r"""Each word of a text is kept (feature 1) or left out (feature 0), independently.

    Parameters
    ----------
    pattern : str, default r"\w+"
        Regular expression of a word.
    mask : str, default ""
        Replacement of a word that is left out.
    together : bool, default True
        Whether all occurrences of a word are one feature; otherwise each is its own feature, with a number.
    keep : float, default 0.5
        Probability that a word is kept, between 0 and 1. Far from ½ a word is rarely off or rarely on, and intervals
        need many more texts.

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
        """The neighbourhood of a text.

        Parameters
        ----------
        x : str
            The text to explain, with at least one word.

        Returns
        -------
        TextNeighbourhood
            Copies of the text with some words left out.
        """
        if not isinstance(x, str):
            raise DataError("x", f"{type(x).__name__} is not text", "pass a string")
        if not isinstance(self.mask, str):
            raise DataError("mask", f"{preview(self.mask)} is not text", "pass a string, such as '...'")
        as_flag(self.together, "together")
        try:
            matches = [match for match in re.finditer(self.pattern, x) if match.group()]
        except (re.error, TypeError) as error:
            raise DataError("pattern", f"is not a regular expression ({error})", r"pass one such as r'\w+'") from error
        if not matches:
            raise DataError("x", "has no words", "pass a text or a pattern with at least one match")
        words = [match.group() for match in matches]
        if self.together:
            names = tuple(dict.fromkeys(words))
            features = [names.index(word) for word in words]
        else:
            occurrence = [words[: i + 1].count(word) for i, word in enumerate(words)]
            names = tuple(f"{w} ({i})" if words.count(w) > 1 else w for w, i in zip(words, occurrence, strict=True))
            features = list(range(len(words)))
        tokens, feature_of, end = [], [], 0
        for match, feature in zip(matches, features, strict=True):
            tokens += [x[end : match.start()], match.group()]
            feature_of += [-1, feature]
            end = match.end()
        ones = read_only(np.ones(len(names)))
        return TextNeighbourhood(
            names,
            ones,
            ones,
            (*tokens, x[end:]),
            (*feature_of, -1),
            names if self.together else tuple(words),
            self.pattern,
            self.mask,
            as_fraction(self.keep, "keep"),
        )
