"""All rows, by part of the package."""

from . import applications, blocks, estimators, features, inference, plots, problems, seeds, solvers

PARTS = {
    "problems": problems,
    "blocks": blocks,
    "solvers": solvers,
    "seeds": seeds,
    "estimators": estimators,
    "features": features,
    "inference": inference,
    "applications": applications,
    "plots": plots,
}
ROWS = [row for part in PARTS.values() for row in part.ROWS]
TAKEN = [row for part in PARTS.values() for row in getattr(part, "TAKEN", [])]
KNOWN = [row for part in PARTS.values() for row in getattr(part, "KNOWN", [])]
