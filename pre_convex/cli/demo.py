"""``pre-convex demo``: compare all installed solvers on a problem with a known answer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .console import make_folder, new_console, show

if TYPE_CHECKING:
    from ..solvers import Comparison
    from .demo_problem import Demo

#: the figure, and its title in the metadata, which tells it from pictures of others
FIGURE, TITLE = "demo.png", "Demo of pre_convex"
LEGEND = """
own gap   certified duality gap of the solver's own answer: a bound on the error
          of its value, whatever status the solver reported
gap       the same after polishing by Newton steps
to exact  distance from delta to the exact answer
"""


def demo(
    rows: Annotated[int, typer.Option(min=20, help="Number of prior samples.")] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the sample.")] = 0,
    tol: Annotated[float, typer.Option(help="Tolerance of the certified gap, between 0 and 1.")] = 1e-8,
    out: Annotated[Path, typer.Option(help="Folder for the figure.")] = Path("demo-output"),
) -> None:
    """Solve a problem with a known answer by every installed solver, as primal and as dual, and certify each answer.

    Example, 200 rows and the figure in the folder demo: pre-convex demo --rows 200 --out demo
    """
    from ..data.files import check_overwrite, report_write_errors
    from ..solvers import compare
    from ..solvers.compare import aligned
    from .demo_problem import make_demo

    case = make_demo(rows, seed)
    make_folder(out)
    with report_write_errors("--out", out):
        check_overwrite(out / FIGURE, "--out", "pass another folder", _is_figure)
    show(
        f"Posterior ratio p(x|y_p)/q(x|y_q), {case.problem.n_q} prior samples in the plane, features "
        f"{', '.join(case.problem.feature_names)}.\nExact answer: delta = {case.delta.round(4).tolist()}\n",
        wrap=True,
    )
    with new_console().status("solving"):
        result = compare(case.problem, tol=tol)
    distances = [f"{case.distance(row.solution):.1e}" for row in result]
    print(aligned(result.columns() | {"to exact": distances}))
    if claims := result.claims():
        print(claims)
    print(LEGEND)
    _save_figure(case, result, out)
    if not all(row.status.ok for row in result):
        raise typer.Exit(1)


def _save_figure(case: Demo, result: Comparison, out: Path) -> None:
    """Write the figure; if matplotlib is missing, say how to install it."""
    from ..data.files import atomic_write, report_write_errors
    from ..errors import MissingExtraError
    from .demo_problem import plot_demo

    try:
        figure = plot_demo(case, result)
    except MissingExtraError as error:
        show(f"No figure: {error}")
        return
    path = out / FIGURE
    with report_write_errors("--out", out):
        atomic_write(path, lambda place: figure.savefig(place, format="png", metadata={"Title": TITLE}))
    show(f"Figure: {path}")


def _is_figure(path: Path) -> bool:
    """Whether a file is the figure of an earlier demo."""
    with path.open("rb") as file:
        return TITLE.encode() in file.read(1000)
