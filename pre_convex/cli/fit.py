"""``pre-convex fit``: fit a ratio to two tables of samples, print a summary and write the results."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from .._internal.escaping import for_csv
from .._internal.validation import as_choice, parse_number
from ..errors import DataError, MissingExtraError, renamed_arguments
from .console import check_outputs, show

if TYPE_CHECKING:
    from .._internal.typing import Array
    from ..data.tables import Table
    from ..estimators.posterior_ratio import PosteriorRatio
    from ..estimators.report import Report

#: files that may be written
OUTPUTS = (
    *("results.json", "coefficients.csv", "weights.csv"),
    *("coefficients.png", "weights.png", "balance.png", "ratio.png", "radius-path.png"),
)


def fit(
    p: Annotated[Path, typer.Argument(help="Samples from the p prior: a CSV, Parquet or npz file.", metavar="P")],
    q: Annotated[Path, typer.Argument(help="Samples from the q prior, with the same columns.", metavar="Q")],
    loglik_p: Annotated[
        str | None, typer.Option(help="Column of P with log-likelihoods; without it, all are zero.")
    ] = None,
    loglik_q: Annotated[
        str | None, typer.Option(help="Column of Q with log-likelihoods; without it, all are zero.")
    ] = None,
    features: Annotated[
        str, typer.Option(help="Feature map: linear, polynomial, autocorrelation, lag-products or kernel.")
    ] = "linear",
    formulation: Annotated[str, typer.Option(help="Program for a cone solver: primal or dual.")] = "primal",
    solver: Annotated[
        str, typer.Option(help="auto, newton, or a cone solver; 'pre-convex solvers' lists them.")
    ] = "auto",
    radius: Annotated[
        str, typer.Option(help="Relaxation of the moment constraint: a number, auto or cv (cross-validation).")
    ] = "0",
    norm: Annotated[str, typer.Option(help="Norm of the constraint: 2, inf (sparse, l1 penalty) or 1.")] = "2",
    level: Annotated[float, typer.Option(help="Confidence level, between 0 and 1.")] = 0.95,
    seed: Annotated[int, typer.Option(min=0, help="Seed of cross-validation folds and simulations.")] = 0,
    out: Annotated[
        Path | None, typer.Option(help="Folder for results.json, coefficients.csv, weights.csv and plots.")
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Overwrite existing files.")] = False,
) -> None:
    """Estimate the ratio of two posteriors, or of two densities (KLIEP), from tables of samples."""
    from ..data.features import feature_classes
    from ..data.tables import read_table
    from ..estimators import KLIEP, PosteriorRatio
    from ..penalties.norms import get_norm

    as_choice(features, "--features", feature_classes())
    if out is not None:
        check_outputs((out / name for name in OUTPUTS), replace)
    estimator = (KLIEP if loglik_p is None and loglik_q is None else PosteriorRatio)(
        features,
        formulation=formulation,
        solver=solver,
        radius=radius if radius in ("auto", "cv") else _number(radius),
        norm=get_norm(norm).order,
        random_state=seed,
    )
    with renamed_arguments({"lags": "--features", "cv": "--radius"}):
        fitted, x_q = fit_tables(estimator, read_table(p), read_table(q), loglik_p, loglik_q)
    show(str(fitted.summary(level)))
    if out is not None:
        for path in write_fit(fitted, x_q, out, level):
            show(f"written: {path}")


def _number(radius: str) -> float:
    try:
        return parse_number(radius)
    except ValueError:
        raise DataError("--radius", f"{radius!r} is not a number", "pass a number, auto or cv") from None


def fit_tables(
    estimator: PosteriorRatio, p: Table, q: Table, loglik_p: str | None, loglik_q: str | None
) -> tuple[PosteriorRatio, Array]:
    """Fit to two tables, with columns matched by name; returns the fit and the q samples."""
    log_p = log_q = None
    if loglik_p is not None:
        log_p, p = _take(p, loglik_p, "--loglik-p")
    if loglik_q is not None:
        log_q, q = _take(q, loglik_q, "--loglik-q")
    if set(p.columns) != set(q.columns):
        odd = sorted(set(p.columns) ^ set(q.columns))
        reason = f"has different columns than P: {', '.join(odd)} in only one of them"
        raise DataError("Q", reason, "give both files the same columns")
    q = q.select(p.columns)
    likelihoods = () if log_p is None and log_q is None else (log_p, log_q)
    return estimator.fit(p, q, *likelihoods), q.values


def _take(table: Table, name: str, option: str) -> tuple[Array, Table]:
    """A column, and the table without it."""
    if name not in table.columns:
        raise DataError(option, f"there is no column {name!r}", f"use one of {', '.join(table.columns)}")
    return table.column(name), table.without(name)


def write_fit(fit: PosteriorRatio, x_q: Array, out: Path, level: float) -> Iterator[Path]:
    """Write results.json, coefficients.csv, weights.csv and the plots; yields the path of each complete file."""
    from ..data.files import atomic_write, report_write_errors, write_text
    from ..statistics.inference import Interval

    with report_write_errors("--out", out):
        out.mkdir(parents=True, exist_ok=True)
        report = fit.summary(level)
        results = json.dumps(_finite(_results(fit, report)), indent=2, allow_nan=False) + "\n"
        yield write_text(out / "results.json", results)
        header = ("feature", *Interval.COLUMNS)[: 1 + report.values.shape[1]]
        rows = ((for_csv(name), *row.tolist()) for name, row in zip(report.names, report.values, strict=True))
        yield write_text(out / "coefficients.csv", _csv([header, *rows]))
        yield write_text(out / "weights.csv", _csv([("weight",), *((weight,) for weight in fit.mu_.tolist())]))
        for name, figure in _figures(fit, x_q, level):
            yield atomic_write(out / f"{name}.png", lambda path, f=figure: f.savefig(path, format="png"))  # type: ignore[misc]


def _csv(rows: Iterable[Iterable[Any]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


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

        yield "coefficients", plots.plot_coefficients(fit, level=level).figure
        yield "weights", plots.plot_weights(fit).figure
        yield "balance", plots.plot_balance(fit).figure
        if fit.n_features_in_ <= 2:
            yield "ratio", plots.plot_ratio(fit, x_q, columns=tuple(range(fit.n_features_in_)), level=level).figure
        if fit.radius_choice_ is not None and fit.radius_choice_.method == "cv":
            yield "radius-path", plots.plot_radius_path(fit)
    except MissingExtraError as error:
        show(f"No plots: {error}")
