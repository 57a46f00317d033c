"""All rows, by part of the package."""

from . import blocks, problems, solvers

PARTS = {"problems": problems, "blocks": blocks, "solvers": solvers}
ROWS = [row for part in PARTS.values() for row in part.ROWS]
TAKEN = [row for part in PARTS.values() for row in getattr(part, "TAKEN", [])]
KNOWN = [row for part in PARTS.values() for row in getattr(part, "KNOWN", [])]
