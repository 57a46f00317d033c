"""All rows, by part of the package."""

from . import (
    applications,
    balancing,
    blocks,
    commands,
    estimators,
    features,
    files,
    inference,
    logistic,
    plots,
    problems,
    seeds,
    solvers,
    teaching,
)

PARTS = {
    "problems": problems,
    "blocks": blocks,
    "solvers": solvers,
    "seeds": seeds,
    "estimators": estimators,
    "features": features,
    "inference": inference,
    "logistic": logistic,
    "applications": applications,
    "balancing": balancing,
    "plots": plots,
    "teaching": teaching,
}
#: parts that ``tests/test_failures_files.py`` runs, because their rows also check what is left on disk
ON_DISK = {"files": files, "commands": commands}
ROWS = [row for part in PARTS.values() for row in part.ROWS]
TAKEN = [row for part in PARTS.values() for row in getattr(part, "TAKEN", [])]
KNOWN = [row for part in PARTS.values() for row in getattr(part, "KNOWN", [])]
