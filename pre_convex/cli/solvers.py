"""``pre-convex solvers``: table of solvers."""

from __future__ import annotations

from .console import new_console, new_table


def solvers() -> None:
    """List the solvers: installed version, formulations, and support for penalties.

    Example: pre-convex solvers
    """
    from .._internal.versions import installed_versions
    from ..solvers import CONE_SOLVERS, ConeSolver, installed_solvers

    installed = installed_solvers()
    versions = installed_versions(["pre_convex", *map(str.lower, installed)])
    table = new_table()
    for name in ("solver", "installed", "formulations", "penalties", "note"):
        table.add_column(name)
    table.add_row("newton", versions["pre_convex"], "both together", "yes", "default; any number of rows")
    for name in dict.fromkeys([*CONE_SOLVERS, *installed[1:]]):
        version = versions.get(name.lower(), "yes") if name in installed else "no"
        note = CONE_SOLVERS.get(name, ConeSolver(name)).note
        table.add_row(name, version, "primal, dual", "primal only", note)
    new_console().print(table)
