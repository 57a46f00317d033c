"""From tables to a fit, and from a fit to files: what ``pre-convex fit`` does."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from .entropy import Array
from .errors import DataError, MissingExtraError
from .estimators import PosteriorRatio
from .files import write_text, write_whole, writing
from .report import KEYS, Report
from .tables import Table

__all__ = ["fit_tables", "write_fit"]


def fit_tables(
    estimator: PosteriorRatio, p: Table, q: Table, loglik_p: str | None, loglik_q: str | None
) -> tuple[PosteriorRatio, Array]:
    """Fit to two tables, columns matched by name; returns the fit and the q samples."""
    log_p = log_q = None
    if loglik_p is not None:
        log_p, p = _take(p, loglik_p, "--loglik-p")
    if loglik_q is not None:
        log_q, q = _take(q, loglik_q, "--loglik-q")
    if set(p.columns) != set(q.columns):
        odd = sorted(set(p.columns) ^ set(q.columns))
        raise DataError(f"Q: its columns differ from those of P in {', '.join(odd)}; give both the same ones")
    q = q.select(p.columns)
    fitted = estimator.fit(p, q, log_p, log_q)
    return fitted, q.values


def _take(table: Table, name: str, option: str) -> tuple[Array, Table]:
    """A column and the table without it."""
    if name not in table.columns:
        raise DataError(f"{option}: {name!r} is not among the columns {', '.join(table.columns)}")
    return table.column(name), table.without(name)


def write_fit(fit: PosteriorRatio, x_q: Array, out: Path, level: float) -> Iterator[Path]:
    """Write results.json, coefficients.csv, weights.csv and the plots; yields each path once it is whole."""
    with writing("--out", out):
        out.mkdir(parents=True, exist_ok=True)
        report = fit.summary(level)
        results = json.dumps(_plain(_results(fit, report)), indent=2, allow_nan=False) + "\n"
        yield write_text(out / "results.json", results)
        header = ",".join(("feature", *KEYS)[: 1 + report.values.shape[1]])
        rows = [
            ",".join([_cell(name), *(repr(float(v)) for v in row)])
            for name, row in zip(report.names, report.values, strict=True)
        ]
        yield write_text(out / "coefficients.csv", "\n".join([header, *rows]) + "\n")
        weights = ["weight", *(repr(float(m)) for m in fit.mu_)]
        yield write_text(out / "weights.csv", "\n".join(weights) + "\n")
        for name, figure in _figures(fit, x_q, level):
            yield write_whole(out / f"{name}.png", lambda path, f=figure: f.savefig(path, format="png"))  # type: ignore[misc]


def _cell(text: str) -> str:
    """A CSV cell."""
    return '"' + text.replace('"', '""') + '"' if any(c in text for c in ',"\n') else text


def _plain(value: Any) -> Any:
    """The same with null for numbers that JSON does not have."""
    if isinstance(value, dict):
        return {key: _plain(v) for key, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value


def _results(fit: PosteriorRatio, report: Report) -> dict[str, Any]:
    """Everything of the fit that is not a long array."""
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
    """The plots that make sense for this fit; none without matplotlib."""
    try:
        from . import plots

        yield "coefficients", plots.plot_coefficients(fit, level=level).figure
        yield "weights", plots.plot_weights(fit).figure
        yield "balance", plots.plot_balance(fit).figure
        if fit.n_features_in_ <= 2:
            yield "ratio", plots.plot_ratio(fit, x_q, columns=tuple(range(fit.n_features_in_)), level=level).figure
        if fit.radius_choice_ is not None and fit.radius_choice_.method == "cv":
            yield "radius-path", plots.plot_radius_path(fit)
    except MissingExtraError as error:
        print(f"No plots: {error}")
