"""The command ``pre-convex experiment``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pre_convex.errors import MissingExtraError

if TYPE_CHECKING:
    from . import Setting


def experiment(
    name: Annotated[
        str, typer.Argument(help="Name of an experiment, 'all', or 'list' to list the names.", metavar="NAME")
    ],
    quick: Annotated[bool, typer.Option("--quick", help="Run a small version, which takes seconds.")] = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of all random numbers.")] = 0,
    out: Annotated[Path, typer.Option(help="Folder for NAME.json and NAME.png.")] = Path("experiment-output"),
    mnist: Annotated[
        Path | None, typer.Option(help="Folder with MNIST's IDX files for 'digits', or 'openml' to download them.")
    ] = None,
) -> None:
    """Rerun an experiment of the paper and compare our numbers with the paper's."""
    from pre_convex.cli.console import make_folder, new_console, new_table  # the app imports this module

    from . import EXPERIMENTS, Setting, load_experiment

    if name == "list":
        table = new_table()
        table.add_column("experiment")
        table.add_column("question")
        for each in EXPERIMENTS:
            table.add_row(each, load_experiment(each).TITLE)
        new_console().print(table)
        return
    names = EXPERIMENTS if name == "all" else (name,)
    for each in names:
        load_experiment(each)
    make_folder(out)
    setting = Setting(quick=quick, seed=seed, show=True, mnist=mnist)
    for each in names:
        _perform(each, setting, out)


def _perform(name: str, setting: Setting, out: Path) -> None:
    """Run one experiment, print its findings and write its result."""
    from pre_convex._internal.escaping import for_terminal
    from pre_convex.cli.console import new_console, new_table, show
    from pre_convex.errors import renamed_arguments

    from . import load_experiment, perform, write_outcome

    show(f"{name}: {load_experiment(name).TITLE}", wrap=True)
    outcome, record = perform(name, setting)
    table = new_table()
    for column in ("measured", "here", "paper", "verdict"):
        table.add_column(column, overflow="fold")
    for finding in outcome.findings:
        table.add_row(*map(for_terminal, (finding.question, finding.ours, finding.paper, finding.verdict)))
    new_console().print(table)
    show(f"Verdict: {outcome.verdict}", wrap=True)
    try:
        with renamed_arguments({"folder": "--out"}):
            for path in write_outcome(record, out):
                show(f"written: {path}")
    except MissingExtraError as error:
        show(f"No figure: {error}")
    show("")
