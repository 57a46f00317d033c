"""``pre-convex fit``: fit a ratio to two tables of samples, print a summary and write the results."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from .._internal.escaping import for_csv
from .._internal.validation import as_choice, parse_number
from ..errors import DataError, MissingExtraError, renamed_arguments
from .advice import advising_options, without_python, without_warnings
from .console import check_outputs, show
from .tables import Columns, Sample, csv_text, keyed, listed, read_samples, report_dropped

if TYPE_CHECKING:
    from .._internal.typing import Array
    from ..estimators.posterior_ratio import PosteriorRatio
    from ..estimators.report import Report

#: remedy of infeasible fits that needs no option
MORE_ROWS = "add rows of Q where those of P are"
#: files that may be written
OUTPUTS = (
    *("fit.npz", "results.json", "coefficients.csv", "weights.csv"),
    *("coefficients.png", "weights.png", "balance.png", "ratio.png", "radius-path.png"),
)


def fit(
    p: Annotated[
        Path,
        typer.Argument(help="Sample of p: a CSV (also gzipped), Parquet or npz file with named columns.", metavar="P"),
    ],
    q: Annotated[
        Path, typer.Argument(help="Sample of q, the one that gets weights, with the same columns.", metavar="Q")
    ],
    columns: Annotated[
        str, typer.Option(help="Columns to use, separated by commas; default: all that have no other role.")
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
        str | None, typer.Option(help="Column that identifies a row; it is not a feature, and weights.csv has it.")
    ] = None,
    loglik_p: Annotated[
        str | None, typer.Option(help="Column of P with log-likelihoods; without it, all are zero.")
    ] = None,
    loglik_q: Annotated[
        str | None, typer.Option(help="Column of Q with log-likelihoods; without it, all are zero.")
    ] = None,
    features: Annotated[
        str,
        typer.Option(
            help="Features: linear (means), polynomial (adds squares), quadratic (adds products too), autocorrelation, "
            "lag-products, kernel, or auto (chosen on held-out rows)."
        ),
    ] = "linear",
    formulation: Annotated[str, typer.Option(help="Program for a cone solver: primal or dual.")] = "primal",
    solver: Annotated[
        str, typer.Option(help="auto, newton, or a cone solver; 'pre-convex solvers' lists them.")
    ] = "auto",
    radius: Annotated[
        str,
        typer.Option(
            help="How far weighted means of Q may stay from those of P, in standard deviations: a number, auto (the "
            "noise of the means) or cv (cross-validation). 0 matches them exactly and gives confidence intervals."
        ),
    ] = "0",
    penalty: Annotated[
        str | None,
        typer.Option(help="Penalty of the radius: l2 (the default) or l1 (lasso, few columns)."),
    ] = None,
    norm: Annotated[str | None, typer.Option(help="The same by the norm of the radius: 2, inf (l1) or 1.")] = None,
    level: Annotated[float, typer.Option(help="Confidence level, between 0 and 1.")] = 0.95,
    seed: Annotated[int, typer.Option(min=0, help="Seed of cross-validation folds and simulations.")] = 0,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for fit.npz, results.json, coefficients.csv, weights.csv and plots."),
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Overwrite existing files.")] = False,
) -> None:
    """Estimate the ratio p(x)/q(x) from two tables of samples, and weights that make Q look like P.

    Without --loglik-p and --loglik-q it is the ratio of two densities (KLIEP), with them that of two posteriors.

    Example, weights that give old.csv the means of new.csv:
    pre-convex fit new.csv old.csv --categorical sex --key id --out weights
    """
    from ..data.features import feature_classes
    from ..estimators import KLIEP, PosteriorRatio
    from ..penalties.norms import get_norm

    as_choice(features, "--features", (*feature_classes(), "auto"))
    if penalty is not None:
        as_choice(penalty, "--penalty", ("l1", "l2"))
    if out is not None:
        check_outputs((out / name for name in OUTPUTS), replace)
    estimator = (KLIEP if loglik_p is None and loglik_q is None else PosteriorRatio)(
        features,
        formulation=formulation,
        solver=solver,
        radius=radius if radius in ("auto", "cv") else number_of(radius),
        norm=None if norm is None else get_norm(norm).order,
        penalty=penalty,
        random_state=seed,
    )
    wanted = Columns(listed(columns), listed(exclude), listed(categorical), key, drop_missing)
    options = ("--loglik-p", loglik_p), ("--loglik-q", loglik_q)
    roles = [{} if name is None else {option: name} for option, name in options]
    (x_p, x_q), levels = read_samples((p, q), wanted, roles)
    report_dropped((p, q), (x_p, x_q))
    likelihoods = [x.others.get(option) for x, (option, _) in zip((x_p, x_q), options, strict=True)]
    with renamed_arguments({"lags": "--features", "cv": "--radius"}), without_warnings(), advising_options(MORE_ROWS):
        estimator.fit(x_p.table, x_q.table, *(likelihoods if type(estimator) is PosteriorRatio else ()))
    show(str(without_python(estimator.summary(level))))
    if out is not None:
        for path in write_fit(estimator, x_q, levels, out, level):
            show(f"written: {path}")


def number_of(radius: str) -> float:
    """The number of ``--radius``."""
    try:
        return parse_number(radius)
    except ValueError:
        raise DataError("--radius", f"{radius!r} is not a number", "pass a number, auto or cv") from None


def write_fit(
    fit: PosteriorRatio, sample: Sample, levels: dict[str, list[str]], out: Path, level: float
) -> Iterator[Path]:
    """Write fit.npz, results.json, coefficients.csv, weights.csv and the plots; yields the path of each file."""
    from ..data.files import atomic_write, report_write_errors, write_text
    from ..estimators import save
    from ..statistics.inference import Interval

    with report_write_errors("--out", out), renamed_arguments({"path": "--out"}):
        out.mkdir(parents=True, exist_ok=True)
        report = fit.summary(level)
        yield save(fit, out / "fit.npz", overwrite=True)
        results = {**_results(fit, report), "categories": levels}
        yield write_text(out / "results.json", json.dumps(_finite(results), indent=2, allow_nan=False) + "\n")
        header = ("feature", *Interval.COLUMNS)[: 1 + report.values.shape[1]]
        rows = ((for_csv(name), *row.tolist()) for name, row in zip(report.names, report.values, strict=True))
        yield write_text(out / "coefficients.csv", csv_text([header, *rows]))
        weights = keyed(sample, {"weight": fit.mu_, "sample_weight": fit.sample_weight()})
        yield write_text(out / "weights.csv", csv_text(weights))
        for name, figure in _figures(fit, sample.table.values, level):
            yield atomic_write(out / f"{name}.png", lambda path, f=figure: f.savefig(path, format="png"))  # type: ignore[misc]


def _finite(value: Any) -> Any:
    """The same with null for NaN and infinities, which JSON lacks."""
    if isinstance(value, dict):
        return {key: _finite(v) for key, v in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(v) for v in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value


def _results(fit: PosteriorRatio, report: Report) -> dict[str, Any]:
    """The content of results.json: everything but the arrays with an entry for each row."""
    solution = fit.solution_
    return {
        "features": list(fit.feature_names_),
        "delta": fit.delta_.tolist(),
        "table": {"columns": list(report.columns), "rows": report.values.tolist()},
        "divergence": fit.divergence_,
        "radius": fit.radius_,
        "norm": "inf" if np.isinf(fit.problem_.norm) else fit.problem_.norm,
        "status": solution.status.name,
        "certificate": asdict(solution.certificate),
        "solver": solution.solver,
        "formulation": solution.formulation,
        "iterations": solution.iterations,
        "warnings": list(report.warnings),
        "versions": {name: version(name) for name in ("pre_convex", "numpy", "scipy", "cvxpy")},
    }


def _figures(fit: PosteriorRatio, x_q: Array, level: float) -> Iterator[tuple[str, Any]]:
    """The plots that apply to this fit; none without matplotlib."""
    try:
        from .. import plots

        yield "coefficients", plots.plot_coefficients(fit, level=level, standardise=True).figure
        yield "weights", plots.plot_weights(fit).figure
        yield "balance", plots.plot_balance(fit).figure
        if fit.n_features_in_ <= 2:
            yield "ratio", plots.plot_ratio(fit, x_q, columns=tuple(range(fit.n_features_in_)), level=level).figure
        if fit.radius_choice_ is not None and fit.radius_choice_.radii.size:
            yield "radius-path", plots.plot_radius_path(fit)
    except MissingExtraError as error:
        show(f"No plots: {error}")
