"""``pre-convex balance``: weights that balance treatment groups of a table, and the effect on an outcome."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from .._internal.escaping import for_csv
from .._internal.validation import as_choice
from ..errors import MissingExtraError
from .advice import advising_options
from .console import check_outputs, show
from .fit import number_of
from .tables import Columns, Sample, csv_text, keyed, listed, read_samples, report_dropped

if TYPE_CHECKING:
    from ..applications.balancing import Balance

#: files that may be written
OUTPUTS = ("weights.csv", "balance.csv", "results.json", "balance.png")


def balance(
    table: Annotated[
        Path,
        typer.Argument(help="CSV (also gzipped), Parquet or npz file, one row for each unit.", metavar="TABLE"),
    ],
    treatment: Annotated[str, typer.Option(help="Column with 1 for treated and 0 for control rows.")],
    outcome: Annotated[
        str | None, typer.Option(help="Column of the outcome; without it there are weights but no effect.")
    ] = None,
    estimand: Annotated[
        str, typer.Option(help="Effect on the treated (ATT), on all (ATE) or on the controls (ATC).")
    ] = "ATT",
    columns: Annotated[
        str, typer.Option(help="Columns to balance, separated by commas; default: all that have no other role.")
    ] = "",
    exclude: Annotated[str, typer.Option(help="Columns to leave out, separated by commas.")] = "",
    categorical: Annotated[
        str,
        typer.Option(help="Columns of categories, separated by commas; each category but the first becomes 0 or 1."),
    ] = "",
    drop_missing: Annotated[
        bool, typer.Option("--drop-missing", help="Drop rows with missing values; without it, they are an error.")
    ] = False,
    key: Annotated[
        str | None, typer.Option(help="Column that identifies a row; it is not balanced, and weights.csv has it.")
    ] = None,
    features: Annotated[
        str, typer.Option(help="What is balanced: linear (means) or polynomial (means and squares).")
    ] = "linear",
    divergence: Annotated[
        str, typer.Option(help="kl (entropy balancing), chi2 (stable balancing weights) or reverse-kl.")
    ] = "kl",
    radius: Annotated[
        str, typer.Option(help="How far each mean may stay from its target, in standard deviations.")
    ] = "0",
    max_weight: Annotated[
        float | None, typer.Option(help="Largest weight of a row, as a share of its group; between 0 and 1.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for weights.csv, balance.csv, results.json and balance.png.")
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Overwrite existing files.")] = False,
) -> None:
    """Weight treatment groups so that their columns have the same means, and compare their outcomes.

    Example, the effect of training on earnings for those who were trained:
    pre-convex balance jobs.csv --treatment trained --outcome earnings --out balanced
    """
    from ..applications.balancing import Balance
    from ..data.features import feature_classes

    as_choice(features, "--features", [name for name in feature_classes() if name != "kernel"])
    if out is not None:
        check_outputs((out / name for name in OUTPUTS), replace)
    fitted = Balance(
        estimand, features=features, divergence=divergence, radius=number_of(radius), max_weight=max_weight
    )
    wanted = Columns(listed(columns), listed(exclude), listed(categorical), key, drop_missing)
    roles = {"--treatment": treatment} | ({} if outcome is None else {"--outcome": outcome})
    (sample,), _ = read_samples((table,), wanted, [roles])
    report_dropped((table,), (sample,))
    with advising_options("pass --exclude with some of the columns", each=True):
        fitted.fit(sample.table, sample.others["--treatment"], sample.others.get("--outcome"))
    show(fitted.summary())
    if out is not None:
        for path in _write(fitted, sample, out):
            show(f"written: {path}")


def _write(fitted: Balance, sample: Sample, out: Path) -> Iterator[Path]:
    """Write the files; yields the path of each."""
    from ..data.files import atomic_write, report_write_errors, write_text

    with report_write_errors("--out", out):
        out.mkdir(parents=True, exist_ok=True)
        values = {"treatment": sample.others["--treatment"], "weight": fitted.weights_}
        yield write_text(out / "weights.csv", csv_text(keyed(sample, values)))
        shown = fitted.balance_
        differences = zip(shown.names, shown.before.tolist(), shown.after.tolist(), strict=True)
        rows = ((for_csv(name), before, after) for name, before, after in differences)
        yield write_text(out / "balance.csv", csv_text([("feature", "before", "after"), *rows]))
        results = json.dumps(_results(fitted), indent=2, allow_nan=False)
        yield write_text(out / "results.json", results + "\n")
        try:
            figure: Any = fitted.plot().figure
        except MissingExtraError as error:
            show(f"No plot: {error}")
            return
        yield atomic_write(out / "balance.png", lambda path: figure.savefig(path, format="png"))


def _results(fitted: Balance) -> dict[str, Any]:
    """Effect, effective sample sizes and certificates."""
    effect = fitted.effect_
    numbers = None if effect is None else {"estimate": effect.estimate, "std_error": effect.std_error}
    return {
        "estimand": fitted.estimand,
        "effect": numbers and {name: value if np.isfinite(value) else None for name, value in numbers.items()},
        "groups": {
            name: {"status": solution.status.name, "gap": solution.gap} for name, solution in fitted.solutions_.items()
        },
    }
