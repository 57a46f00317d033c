"""``pre-convex bench``."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pre_convex._internal.escaping import for_terminal
from pre_convex.cli.console import check_outputs, make_folder, new_console, new_table, show
from pre_convex.cli.process import say
from pre_convex.data.files import report_write_errors
from pre_convex.errors import DataError, MissingExtraError, renamed_arguments

if TYPE_CHECKING:
    from .records import Row, Run

bench = typer.Typer()

#: options of the command by argument of the runner
OPTIONS = {
    "sets": "--set",
    "set": "--set",
    "folder": "--set",
    "solvers": "--solver",
    "solver": "--solver",
    "formulations": "--formulation",
    "formulation": "--formulation",
    "tols": "--tol",
    "time_limit": "--time-limit",
    "memory_limit": "--memory-limit",
    "jobs": "--jobs",
    "out": "--out",
}
FORMATS = ("npz", "cbf")


@bench.callback(invoke_without_command=True)
def run(
    context: typer.Context,
    sets: Annotated[
        list[str] | None, typer.Option("--set", help="Names of sets, or folders of exported sets; see 'bench sets'.")
    ] = None,
    solvers: Annotated[
        list[str] | None,
        typer.Option("--solver", help="Names of solvers, or module:function; all installed by default."),
    ] = None,
    formulations: Annotated[
        list[str] | None, typer.Option("--formulation", help="primal or dual; both by default.")
    ] = None,
    tols: Annotated[list[str] | None, typer.Option("--tol", help="Tolerances, between 0 and 1.")] = ["1e-4,1e-6,1e-8"],  # noqa: B006
    time_limit: Annotated[float, typer.Option(help="Seconds for one solve.")] = 10.0,
    memory_limit: Annotated[float, typer.Option(help="MB for one solve, beyond its data.")] = 4096.0,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Solves at the same time; two by default, one on a single core.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder of the run; an unfinished run in it is resumed.")] = Path(
        "bench-output"
    ),
    fresh: Annotated[bool, typer.Option("--fresh", help="Discard the run in the folder.")] = False,
) -> None:
    """Compare solvers and formulations on problems with known answers.

    Every solve has its own process, and counts as solved only if its answer is proven. To resume an interrupted run,
    run the same command again.

    Options that take several values can be repeated, or take values separated by commas.
    """
    given = [name for name in context.params if _is_given(context, name)]
    if context.invoked_subcommand is not None:
        if given:
            option = OPTIONS.get(given[0], f"--{given[0]}")
            raise DataError(option, "is an option of a run", f"put options of '{context.invoked_subcommand}' after it")
        return
    try:
        with renamed_arguments(OPTIONS):
            _run(sets, solvers, formulations, tols, time_limit, memory_limit, jobs, out, fresh)
    except KeyboardInterrupt:
        say("interrupted; run the same command again to resume")
        raise typer.Exit(130) from None


def _run(
    sets: list[str] | None,
    solvers: list[str] | None,
    formulations: list[str] | None,
    tols: list[str] | None,
    time_limit: float,
    memory_limit: float,
    jobs: int | None,
    out: Path,
    fresh: bool,
) -> None:
    """Run what is missing, print the summary and write the report."""
    from . import runner
    from .contenders import contenders_of
    from .sets import DEFAULT_SETS
    from .settings import sort_tolerances

    # check names and numbers first, so that a typo creates no folder
    chosen_sets = [_find_set(name) for name in _split_sets(sets)] or DEFAULT_SETS
    tolerances = sort_tolerances([_number(text) for text in _split(tols)])
    chosen_solvers, chosen_formulations = _split(solvers) or None, _split(formulations) or None
    if any(":" in name for name in chosen_solvers or ()):
        sys.path.insert(0, str(Path.cwd()))  # find the user's modules, as "python -m" does
    contenders_of(chosen_solvers, chosen_formulations)
    make_folder(out)
    with report_write_errors("--out", out):
        result = runner.run(
            chosen_sets,
            chosen_solvers,
            chosen_formulations,
            tolerances,
            out=out,
            time_limit=time_limit,
            memory_limit=memory_limit,
            jobs=jobs,
            show=new_console().is_terminal,
            fresh=fresh,
        )
        _print_summary(result.rows)
        _write_report(result, out, "--out")


@bench.command("sets")
def list_sets() -> None:
    """List the test sets, with the number of feasible and infeasible problems."""
    from .cases import Truth
    from .sets import SETS, load_set

    table = new_table()
    for name, side in (("set", "left"), ("version", "right"), ("cases", "right"), ("truth", "left")):
        table.add_column(name, justify=side, no_wrap=True)  # type: ignore[arg-type]
    table.add_column("title")
    for name in SETS:
        try:
            test_set = load_set(name)
        except MissingExtraError as error:
            table.add_row(name, "", "", "", for_terminal(str(error)))
            continue
        counts = Counter(case.truth for case in test_set.cases)
        kinds = "\n".join(f"{counts[truth]} {truth.value}" for truth in Truth if counts[truth])
        table.add_row(name, str(test_set.version), str(len(test_set.cases)), kinds, for_terminal(test_set.title))
    new_console().print(table)


@bench.command()
def export(
    test_set: Annotated[str, typer.Argument(metavar="SET", help="Name of a set, or folder of an exported set.")],
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder to write to.")],
    kind: Annotated[str, typer.Option("--format", help="npz, which --set reads, or cbf for other solvers.")] = "npz",
) -> None:
    """Write the problems of a set and their answers to files."""
    from .case_files import write_set
    from .cbf import export_cbf
    from .settings import find_sets

    if kind not in FORMATS:
        raise DataError("--format", f"{kind!r} is not known", f"use {' or '.join(FORMATS)}")
    with renamed_arguments({"set": "SET", "sets": "SET", "folder": "SET"}):
        (loaded,) = find_sets(_find_set(test_set))
    with renamed_arguments({"folder": "DIR", "path": "DIR", "test_set": "SET"}):
        paths = write_set(loaded, folder) if kind == "npz" else export_cbf(loaded, folder)
    size = sum(path.stat().st_size for path in paths) / 1e6
    show(f"{len(loaded.cases)} cases, {len(paths)} files, {size:.3g} MB")
    show(f"written: {paths[-1]}")


@bench.command()
def report(folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a run.")]) -> None:
    """Write the report of a stored run again."""
    from .records import read_run

    result = read_run(folder)
    _print_summary(result.rows)
    _write_report(result, folder, "DIR")


@bench.command("compare")
def compare_runs(
    before: Annotated[Path, typer.Argument(metavar="A", help="Folder of a run.")],
    now: Annotated[Path, typer.Argument(metavar="B", help="Folder of the run to compare with it.")],
    out: Annotated[Path | None, typer.Option(help="Markdown file for the whole comparison.")] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Overwrite an existing file.")] = False,
) -> None:
    """Show what changed between two runs."""
    from pre_convex.data.files import write_text

    from .comparison import compare
    from .records import read_run

    if out is not None:
        check_outputs([out], replace)
    comparison = compare(read_run(before), read_run(now))
    for line in comparison.lines(min(new_console().width, 100)):
        show(line)
    if out is not None:
        with report_write_errors("--out", out):
            write_text(out, comparison.to_markdown())
        show(f"written: {out}")


def _print_summary(rows: Sequence[Row]) -> None:
    """Print the success of every contender at every tolerance, and false claims."""
    if rows:
        _print_success(rows)
        _print_false_claims(rows)


def _print_success(rows: Sequence[Row]) -> None:
    from .document import format_tol
    from .metrics import Verdict
    from .summary import contenders, sets_and_total, successes, tols

    total = sets_and_total(rows)[-1]
    results = {(s.contender, s.tol): s for s in successes(rows) if s.test_set == total}
    table = new_table()
    table.add_column("solved at", overflow="fold")
    for tol in tols(rows):
        table.add_column(format_tol(tol), justify="right", no_wrap=True)
    failures = [verdict for verdict in Verdict if verdict is not Verdict.SOLVED]
    if any(row.verdict in failures for row in rows):
        table.add_column("otherwise", overflow="fold")
    for contender in contenders(rows):
        own = [results[contender, tol] for tol in tols(rows)]
        counts = sum((Counter(dict(s.counts)) for s in own), Counter())
        text = ", ".join(f"{counts[verdict]} {verdict.value}" for verdict in failures if counts[verdict])
        cells = [f"{s.solved} of {s.rows}" if s.rows else "–" for s in own]
        table.add_row(for_terminal(contender), *cells, *([text] if len(table.columns) > len(cells) + 1 else []))
    new_console().print(table)


def _print_false_claims(rows: Sequence[Row]) -> None:
    from .document import format_tol
    from .summary import false_claims

    wrong = [f for f in false_claims(rows) if f.false_optimal or f.false_infeasible]
    if not wrong:
        show("No false claims.")
        return
    table = new_table()
    table.add_column("false claims", overflow="fold")
    for name in ("tolerance", "false optimal", "gross", "false infeasible"):
        table.add_column(name, justify="right")
    for f in wrong:
        optimal = f"{f.false_optimal} of {f.claimed_optimal}"
        infeasible = f"{f.false_infeasible} of {f.claimed_infeasible}"
        table.add_row(for_terminal(f.contender), format_tol(f.tol), optimal, str(f.gross), infeasible)
    new_console().print(table)


def _write_report(result: Run, folder: Path, option: str) -> None:
    """Write the report and print its paths."""
    from .report import write_report

    with renamed_arguments({"folder": option}):
        paths = write_report(result, folder)[:2]
    for path in paths:
        show(f"written: {path}")


def _is_given(context: typer.Context, name: str) -> bool:
    """Whether an option was given on the command line."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _split(values: Sequence[str] | None) -> list[str]:
    """Values of an option that is repeated or has commas, without duplicates."""
    parts = (part.strip() for value in values or () for part in value.split(","))
    return list(dict.fromkeys(part for part in parts if part))


def _split_sets(values: Sequence[str] | None) -> list[str]:
    """The same for names and folders of sets; the name of an existing folder may have commas."""
    parts = (part for value in values or () for part in ([value] if Path(value).is_dir() else _split([value])))
    return list(dict.fromkeys(parts))


def _find_set(name: str) -> str | Path:
    """The name of a set as a string, or its folder as a path."""
    from .sets import SETS

    if name in SETS:
        return name
    if not Path(name).is_dir():
        raise DataError("set", f"{name!r} is not a known set", f"use {', '.join(SETS)}, or the folder of a set")
    return Path(name)


def _number(text: str) -> float:
    """A tolerance as a number."""
    try:
        return float(text)
    except ValueError:
        raise DataError("--tol", f"{text!r} is not a number", "pass numbers between 0 and 1") from None
