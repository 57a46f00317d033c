"""All rows, by part of the package."""

from . import blocks, problems, seeds, solvers

PARTS = {"problems": problems, "blocks": blocks, "solvers": solvers, "seeds": seeds}
ROWS = [row for part in PARTS.values() for row in part.ROWS]
TAKEN = [row for part in PARTS.values() for row in getattr(part, "TAKEN", [])]
KNOWN = [row for part in PARTS.values() for row in getattr(part, "KNOWN", [])]
