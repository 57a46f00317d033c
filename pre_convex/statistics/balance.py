"""The balance of two groups before and after weighting: a table of standardised mean differences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._internal.escaping import for_html, for_terminal
from .._internal.typing import Array
from ..data.tables import as_frame

__all__ = ["BalanceTable"]

#: maximum number of rows when a table is printed
MAX_PRINTED_ROWS = 60
COLUMNS = ("before", "after")


@dataclass(frozen=True, eq=False)
class BalanceTable:
    """Standardised mean differences of all features before and after weighting.

    It prints as text, shows as a table in notebooks, and converts to a data frame.

    Attributes
    ----------
    title : str
        What is compared, and in which units.
    names : tuple of str
        Names of the k features.
    before, after : ndarray of shape (k,)
        Difference of the means, in standard deviations, under the base weights and under the weights; nan for a
        feature that is constant.
    sizes : dict of str to (int, float, float)
        For each group its rows, and its effective sample size under the base weights and under the weights.
    """

    title: str
    names: tuple[str, ...]
    before: Array
    after: Array
    sizes: dict[str, tuple[int, float, float]]

    def __str__(self) -> str:
        names = [for_terminal(name) for name in self.names]
        first = max([len(name) for name in names] + [8])
        lines = [for_terminal(self.title), " " * first + "".join(f"  {h:>8}" for h in COLUMNS)]
        for name, before, after in list(zip(names, self.before, self.after, strict=True))[:MAX_PRINTED_ROWS]:
            lines.append(f"{name:<{first}}  {_rounded(before):8.4f}  {_rounded(after):8.4f}")
        if len(names) > MAX_PRINTED_ROWS:
            lines.append(f"and {len(names) - MAX_PRINTED_ROWS} more")
        for group, (n, before, after) in self.sizes.items():
            lines.append(f"effective sample size, {group}: {before:.1f} before, {after:.1f} after, of {n} rows")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Table for notebooks."""
        head = "".join(f"<th>{h}</th>" for h in ("", *COLUMNS))
        body = "".join(
            f"<tr><th>{for_html(name)}</th><td>{_rounded(before):.4f}</td><td>{_rounded(after):.4f}</td></tr>"
            for name, before, after in zip(self.names, self.before, self.after, strict=True)
        )
        return f"<h4>{for_html(self.title)}</h4><table><tr>{head}</tr>{body}</table>"

    def to_frame(self, backend: str = "pandas") -> Any:
        """The table as a data frame.

        Parameters
        ----------
        backend : {"pandas", "polars"}, default "pandas"
            Kind of data frame.

        Returns
        -------
        pandas.DataFrame or polars.DataFrame
            One row for each feature.
        """
        return as_frame({"feature": list(self.names), "before": self.before, "after": self.after}, backend)


def _rounded(x: float) -> float:
    """A difference to four decimals, without the sign of a zero."""
    return float(np.round(x, 4)) + 0.0
