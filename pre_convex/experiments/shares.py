"""How often something happened, and how far a count of that many runs can be trusted."""

from __future__ import annotations

from dataclasses import dataclass

from scipy.special import betaincinv

__all__ = ["Share"]


@dataclass(frozen=True)
class Share:
    """A count out of a total with Clopper and Pearson's 95 % interval, which never covers less than it says.

    Examples
    --------
    >>> print(Share(249, 5000))
    4.98 % (4.39 to 5.62)
    """

    count: int
    total: int

    @property
    def value(self) -> float:
        """The share itself."""
        return self.count / self.total

    @property
    def lower(self) -> float:
        """The smallest chance under which so large a count is no surprise."""
        return float(betaincinv(self.count, self.total - self.count + 1, 0.025)) if self.count else 0.0

    @property
    def upper(self) -> float:
        """The largest chance under which so small a count is no surprise."""
        rest = self.total - self.count
        return float(betaincinv(self.count + 1, rest, 0.975)) if rest else 1.0

    def __str__(self) -> str:
        return f"{100 * self.value:.3g} % ({100 * self.lower:.3g} to {100 * self.upper:.3g})"
