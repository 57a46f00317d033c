"""``pre-convex predict``: the ratio of a stored fit at the rows of a table."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import DataError, renamed_arguments
from .console import check_outputs, show
from .tables import Columns, csv_text, keyed, read_samples, report_dropped

if TYPE_CHECKING:
    from .._internal.typing import Array
    from ..estimators.posterior_ratio import PosteriorRatio

#: file next to a fit that lists the categories of its columns
RESULTS = "results.json"


def predict(
    fit: Annotated[Path, typer.Argument(help="A fit.npz that 'pre-convex fit' or pre.save wrote.", metavar="FIT")],
    rows: Annotated[
        Path,
        typer.Argument(help="CSV, Parquet or npz file with the columns of the fit, among others.", metavar="ROWS"),
    ],
    key: Annotated[str | None, typer.Option(help="Column that identifies a row, which the output repeats.")] = None,
    drop_missing: Annotated[
        bool, typer.Option("--drop-missing", help="Drop rows with missing values; without it, they are an error.")
    ] = False,
    level: Annotated[
        float | None, typer.Option(help="Also write confidence limits of log r, at this level between 0 and 1.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="CSV file to write; default: print it.")] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Overwrite an existing file.")] = False,
) -> None:
    """Evaluate the ratio of a fit at the rows of a table.

    Example, ratios of new rows with the key of each:
    pre-convex predict weights/fit.npz rows.csv --key id --out ratios.csv
    """
    from ..data.files import report_write_errors, write_text
    from ..estimators import load

    if out is not None:
        check_outputs((out,), replace)
    with renamed_arguments({"path": "FIT"}):
        fitted = load(fit)
    if key is None and drop_missing:
        raise DataError("--drop-missing", "leaves rows out, and nothing would say which", "pass --key as well")
    names, levels = _columns(fitted, fit)
    with renamed_arguments({"--columns": "ROWS"}):
        (sample,), _ = read_samples((rows,), Columns(names, key=key, drop_missing=drop_missing), [{}], levels)
    if out is not None:
        report_dropped((rows,), (sample,))
    x: Any = sample.table if hasattr(fitted, "feature_names_in_") else sample.table.values
    values: dict[str, Array] = {"ratio": fitted.ratio(x), "log_ratio": fitted.log_ratio(x)}
    if level is not None:
        limits = fitted.log_ratio_interval(x, level)
        values |= {"lower": limits.lower, "upper": limits.upper}
    text = csv_text(keyed(sample, values))
    if out is None:
        sys.stdout.write(text)
        return
    with report_write_errors("--out", out):
        write_text(out, text)
    show(f"written: {out}")


def _columns(fit: PosteriorRatio, path: Path) -> tuple[tuple[str, ...], dict[str, list[str]]]:
    """Columns of the file that the fit needs, and the levels of those with categories."""
    if not hasattr(fit, "feature_names_in_"):
        return (), {}
    names, beside = tuple(map(str, fit.feature_names_in_)), path.with_name(RESULTS)
    if not any("=" in name for name in names):
        return names, {}
    try:
        levels: dict[str, list[str]] = json.loads(beside.read_text(encoding="utf-8"))["categories"]
        encoded = {f"{name}={level}": name for name, known in levels.items() for level in known[1:]}
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        remedy = f"keep the {RESULTS} that 'pre-convex fit' wrote beside the fit"
        raise DataError("FIT", f"has categories, but {beside} does not list them", remedy) from None
    return tuple(dict.fromkeys(encoded.get(name, name) for name in names)), levels
