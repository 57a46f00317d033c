"""``pre-convex solvers``."""

from __future__ import annotations

from rich.console import Console

from .app import app, new_table


@app.command()
def solvers() -> None:
    """List the engines, what is installed, and what each can do."""
    from ..solvers import CONE_SOLVERS, installed_solvers
    from ..versions import versions_of

    installed = installed_solvers()
    versions = versions_of(["pre_convex", *map(str.lower, installed)])
    table = new_table()
    for name in ("solver", "installed", "formulations", "penalties", "note"):
        table.add_column(name)
    table.add_row("newton", versions["pre_convex"], "both at once", "yes", "the default; any number of rows")
    for name in dict.fromkeys([*CONE_SOLVERS, *installed[1:]]):
        have = versions.get(name.lower(), "yes") if name in installed else "no"
        note = CONE_SOLVERS[name].note if name in CONE_SOLVERS else "used with its own defaults"
        table.add_row(name, have, "primal, dual", "primal only", note)
    Console().print(table)
