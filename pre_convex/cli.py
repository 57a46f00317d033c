"""The command line: ``pre-convex demo``, ``fit`` and ``solvers``."""

from __future__ import annotations

import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn
from rich.table import Table

from .errors import DataError, PreConvexError

__all__ = ["app", "run"]

app = typer.Typer(
    name="pre-convex",
    help="Posterior ratio estimation as convex programs, with a certificate for every answer.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def run() -> None:
    """Run the app; errors the package raises on purpose become one line and exit code 2."""
    try:
        app()
    except PreConvexError as error:
        print(f"pre-convex: {error}", file=sys.stderr)
        sys.exit(2)


@app.callback(invoke_without_command=True)
def _main(
    show_version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    if show_version:
        print(f"pre_convex {version('pre_convex')}")
        raise typer.Exit


@app.command()
def demo(
    rows: Annotated[int, typer.Option(min=20, help="Prior samples.")] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the sample.")] = 0,
    tol: Annotated[float, typer.Option(help="Tolerance of the certified gap.")] = 1e-8,
    out: Annotated[Path, typer.Option(help="Folder for the figure.")] = Path("demo-output"),
) -> None:
    """Solve one problem with a known answer by every engine, as primal and as dual, and prove each answer."""
    from .experiments.demo import make_demo, run_demo

    console = Console()
    case = make_demo(rows, seed)
    console.print(
        f"Posterior ratio p(x|y_p)/q(x|y_q), {case.problem.n_q} prior samples in the plane, features "
        f"{', '.join(case.problem.feature_names)}.\nExact answer: delta = {case.delta.round(4).tolist()}\n"
    )
    found = []
    with Progress(SpinnerColumn(), TextColumn("{task.description}"), console=console, transient=True) as progress:
        task = progress.add_task("solving")
        for row in run_demo(case, tol):
            found.append(row)
            progress.update(task, description=f"{row.solution.solver} {row.solution.formulation}")
    table = _table()
    for name in ("formulation", "solver", "status"):
        table.add_column(name)
    for name in ("value", "own gap", "gap", "to exact", "time"):
        table.add_column(name, justify="right")
    for row in found:
        s = row.solution
        own = "" if s.raw is None else f"{s.raw.gap:.1e}"
        cells = (f"{s.primal_value:.6f}", own, f"{s.gap:.1e}", f"{row.error:.1e}", f"{row.seconds:.3f}")
        table.add_row(s.formulation, s.solver, s.status.name.lower(), *cells)
    console.print(table)
    console.print(
        "The gap is the distance between the value reached and a bound that no answer can beat, both computed from "
        "the answer alone: it proves the answer, whatever the solver said.\n"
        "'own gap' is that of the cone solver's own answer, 'gap' that after Newton steps from it, 'to exact' the "
        "distance from delta to the exact answer, 'time' in seconds."
    )
    _save_demo(console, case, found, tol, out)
    if not all(row.solution.status.ok for row in found):
        raise typer.Exit(1)


def _save_demo(console: Console, case: object, found: list, tol: float, out: Path) -> None:  # type: ignore[type-arg]
    """Write the figure, or say what it needs."""
    from .errors import MissingExtraError
    from .plots import plot_demo

    try:
        figure = plot_demo(case, found, tol)  # type: ignore[arg-type]
    except MissingExtraError as error:
        console.print(f"No figure: {error}")
        return
    try:
        out.mkdir(parents=True, exist_ok=True)
        path = out / "demo.png"
        figure.savefig(path)
    except OSError as error:
        raise DataError(f"--out: cannot write to {out} ({error.strerror})") from error
    console.print(f"Figure: {path}")


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
    from .estimators import PosteriorRatio
    from .fitting import fit_tables, write_fit
    from .norms import get_norm
    from .tables import read_table

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


@app.command()
def solvers() -> None:
    """List the engines, what is installed, and what each can do."""
    from .solvers import CONE_SOLVERS, installed_solvers

    installed = installed_solvers()
    table = _table()
    for name in ("solver", "installed", "formulations", "penalties", "note"):
        table.add_column(name)
    table.add_row("newton", _version("pre_convex"), "both at once", "yes", "the default; any number of rows")
    for name in dict.fromkeys([*CONE_SOLVERS, *installed[1:]]):
        have = _version(name.lower()) if name in installed else "no"
        note = CONE_SOLVERS[name].note if name in CONE_SOLVERS else "used with its own defaults"
        table.add_row(name, have, "primal, dual", "primal only", note)
    Console().print(table)


def _table() -> Table:
    """A table that fits a terminal of eighty columns."""
    return Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)


def _version(package: str) -> str:
    """Version of an installed package."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "yes"
