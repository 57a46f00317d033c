"""``pre-convex fit``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..errors import DataError
from .app import app


@app.command()
def fit(
    p: Annotated[Path, typer.Argument(help="Samples of the p prior: CSV, Parquet or npz.", metavar="P")],
    q: Annotated[Path, typer.Argument(help="Samples of the q prior.", metavar="Q")],
    loglik_p: Annotated[str | None, typer.Option(help="Column of P that holds log-likelihoods.")] = None,
    loglik_q: Annotated[str | None, typer.Option(help="Column of Q that holds log-likelihoods.")] = None,
    features: Annotated[
        str, typer.Option(help="linear, polynomial, autocorrelation, lag-products or kernel.")
    ] = "linear",
    formulation: Annotated[str, typer.Option(help="primal or dual.")] = "primal",
    solver: Annotated[str, typer.Option(help="auto, newton, or an installed cone solver.")] = "auto",
    radius: Annotated[str, typer.Option(help="A number, auto or cv.")] = "0",
    norm: Annotated[str, typer.Option(help="2, inf or 1.")] = "2",
    level: Annotated[float, typer.Option(help="Confidence level.")] = 0.95,
    seed: Annotated[int, typer.Option(min=0, help="Seed of folds and simulations.")] = 0,
    out: Annotated[Path | None, typer.Option(help="Folder for results and plots.")] = None,
) -> None:
    """Estimate the ratio of two posteriors, or of two densities, from tables of samples."""
    from ..estimators import PosteriorRatio
    from ..fitting import fit_tables, write_fit
    from ..norms import get_norm
    from ..tables import read_table

    size: float | str = radius if radius in ("auto", "cv") else _number(radius, "--radius")
    estimator = PosteriorRatio(
        features,
        formulation=formulation,
        solver=solver,
        radius=size,
        norm=get_norm(norm).order,
        random_state=seed,
    )
    table_p, table_q = read_table(p), read_table(q)
    fitted, x_q = fit_tables(estimator, table_p, table_q, loglik_p, loglik_q)
    print(fitted.summary(level))
    if out is not None:
        for path in write_fit(fitted, x_q, out, level):
            print(f"written: {path}")


def _number(text: str, name: str) -> float:
    """A number of the command line."""
    try:
        return float(text)
    except ValueError:
        raise DataError(f"{name}: {text!r} is neither a number, 'auto' nor 'cv'") from None
