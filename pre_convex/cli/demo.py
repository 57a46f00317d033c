"""``pre-convex demo``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn

from .app import app, make_folder, new_table


@app.command()
def demo(
    rows: Annotated[int, typer.Option(min=20, help="Prior samples.")] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the sample.")] = 0,
    tol: Annotated[float, typer.Option(help="Tolerance of the certified gap.")] = 1e-8,
    out: Annotated[Path, typer.Option(help="Folder for the figure.")] = Path("demo-output"),
) -> None:
    """Solve one problem with a known answer by every engine, as primal and as dual, and prove each answer."""
    from ..experiments.demo import make_demo, run_demo

    console = Console()
    case = make_demo(rows, seed)
    make_folder(out)
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
    table = new_table()
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
    from ..errors import MissingExtraError
    from ..experiments.demo import plot_demo
    from ..files import write_whole, writing

    try:
        figure = plot_demo(case, found, tol)  # type: ignore[arg-type]
    except MissingExtraError as error:
        console.print(f"No figure: {error}")
        return
    path = out / "demo.png"
    with writing("--out", out):
        write_whole(path, lambda place: figure.savefig(place, format="png"))
    console.print(f"Figure: {path}")
