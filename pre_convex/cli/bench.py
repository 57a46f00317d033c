"""``pre-convex bench``."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape

from ..errors import DataError, MissingExtraError
from ..files import writing
from .app import app, make_folder, named, new_table
from .process import say

if TYPE_CHECKING:
    from ..benchmark.records import Row, Run
    from ..benchmark.sets import TestSet

bench = typer.Typer()
app.add_typer(bench, name="bench")

#: arguments of the runner as they are called here
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
        list[str] | None, typer.Option("--set", help="Names of sets, or folders that hold one; see 'bench sets'.")
    ] = None,
    solvers: Annotated[
        list[str] | None, typer.Option("--solver", help="Solvers, or module:function; all installed by default.")
    ] = None,
    formulations: Annotated[
        list[str] | None, typer.Option("--formulation", help="primal or dual; both by default.")
    ] = None,
    tols: Annotated[list[str] | None, typer.Option("--tol", help="Tolerances.")] = ["1e-4,1e-6,1e-8"],  # noqa: B006
    time_limit: Annotated[float, typer.Option(help="Seconds of one solve.")] = 10.0,
    memory_limit: Annotated[float, typer.Option(help="MB of one solve, beyond its data.")] = 4096.0,
    jobs: Annotated[int | None, typer.Option(min=1, help="Solves at the same time; two if there are cores.")] = None,
    out: Annotated[Path, typer.Option(help="Folder of the run; an unfinished one is continued.")] = Path(
        "bench-output"
    ),
    fresh: Annotated[bool, typer.Option("--fresh", help="Forget the run that is in the folder.")] = False,
) -> None:
    """Compare solvers and formulations on problems with known answers.

    A solve is a process of its own, and counts as solved when its answer is proven. An interrupted run goes on.

    Options that take several values can be repeated, or have commas between the values.
    """
    given = [name for name in context.params if _is_given(context, name)]
    if context.invoked_subcommand is not None:
        if given:
            option = OPTIONS.get(given[0], f"--{given[0]}")
            raise DataError(f"{option}: is for a run; 'bench {context.invoked_subcommand}' has its options behind it")
        return
    try:
        with named(OPTIONS):
            _run(sets, solvers, formulations, tols, time_limit, memory_limit, jobs, out, fresh)
    except KeyboardInterrupt:
        say("interrupted; run the same command again to go on")
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
    """Run what is missing, write the report and print the summary."""
    from ..benchmark import runner
    from ..benchmark.choices import contenders_of, tolerances_of
    from ..benchmark.sets import DEFAULT_SETS

    console = Console()
    # names and numbers first: a typing error makes no folder
    found_sets = [_find_set(name) for name in _folders(sets)] or DEFAULT_SETS
    few = tolerances_of([_number(text) for text in _split(tols)])
    chosen, forms = _split(solvers) or None, _split(formulations) or None
    if any(":" in name for name in chosen or ()):
        sys.path.insert(0, str(Path.cwd()))  # where a solver of one's own is looked for, as by "python -m"
    contenders_of(chosen, forms)
    make_folder(out)
    with writing("--out", out):
        found = runner.run(
            found_sets,
            chosen,
            forms,
            few,
            out=out,
            time_limit=time_limit,
            memory_limit=memory_limit,
            jobs=jobs,
            show=console.is_terminal,
            fresh=fresh,
        )
        _print_run(console, found.rows)
        _report(console, found, out, "--out")


@bench.command("sets")
def list_sets() -> None:
    """List the test sets and what is true of their problems."""
    from ..benchmark.case import Truth
    from ..benchmark.sets import SETS, load_set

    table = new_table()
    for name, side in (("set", "left"), ("version", "right"), ("cases", "right"), ("of these", "left")):
        table.add_column(name, justify=side, no_wrap=True)  # type: ignore[arg-type]
    table.add_column("tries")
    for name in SETS:
        try:
            found = load_set(name)
        except MissingExtraError as error:
            table.add_row(name, "", "", "", escape(str(error)))
            continue
        counts = Counter(case.truth for case in found.cases)
        kinds = "\n".join(f"{counts[truth]} {truth.value}" for truth in Truth if counts[truth])
        table.add_row(name, str(found.version), str(len(found.cases)), kinds, escape(found.title))
    Console().print(table)


@bench.command()
def export(
    test_set: Annotated[str, typer.Argument(metavar="SET", help="Name of a set, or a folder that holds one.")],
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where to.")],
    kind: Annotated[
        str, typer.Option("--format", help="npz, which --set reads back, or cbf for other solvers' users.")
    ] = "npz",
) -> None:
    """Write the problems of a set, with their answers, to files."""
    from ..benchmark.cbf import export_cbf
    from ..benchmark.exchange import write_set

    if kind not in FORMATS:
        raise DataError(f"--format: {kind!r} is not known; use {' or '.join(FORMATS)}")
    console = Console()
    with named({"set": "SET", "folder": "SET"}):
        found = _load(_find_set(test_set))
    with named({"folder": "DIR", "path": "DIR"}):
        paths = write_set(found, folder) if kind == "npz" else export_cbf(found, folder)
    size = sum(path.stat().st_size for path in paths) / 1e6
    console.print(f"{len(found.cases)} cases, {len(paths)} files, {size:.3g} MB", highlight=False)
    console.print(f"written: {paths[-1]}", markup=False, highlight=False, soft_wrap=True)


@bench.command()
def report(folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a run.")]) -> None:
    """Write the report of a run anew."""
    from ..benchmark.records import read_run

    found, console = read_run(folder), Console()
    _print_run(console, found.rows)
    _report(console, found, folder, "DIR")


@bench.command("compare")
def compare_runs(
    before: Annotated[Path, typer.Argument(metavar="A", help="Folder of a run.")],
    now: Annotated[Path, typer.Argument(metavar="B", help="Folder of a later run.")],
    out: Annotated[Path | None, typer.Option(help="A file for all of it, as Markdown.")] = None,
) -> None:
    """Show what changed between two runs."""
    from ..benchmark.comparison import compare
    from ..benchmark.records import read_run
    from ..files import write_whole

    found, console = compare(read_run(before), read_run(now)), Console()
    for line in found.lines(min(console.width, 100)):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    if out is not None:
        with writing("--out", out):
            write_whole(out, lambda path: path.write_text(found.to_markdown(), encoding="utf-8"))
        console.print(f"written: {out}", markup=False, highlight=False, soft_wrap=True)


def _print_run(console: Console, rows: Sequence[Row]) -> None:
    """Success of every contender at every tolerance, and what was claimed falsely."""
    from ..benchmark.metrics import Verdict
    from ..benchmark.summary import contenders, false_claims, sections, successes, tols
    from ..plots.benchmark import short

    if not rows:
        return
    whole = sections(rows)[-1]
    found = {(s.contender, s.tol): s for s in successes(rows) if s.group == whole}
    table = new_table()
    table.add_column("solved at", overflow="fold")
    for tol in tols(rows):
        table.add_column(short(tol), justify="right", no_wrap=True)
    rest = [verdict for verdict in Verdict if verdict is not Verdict.SOLVED]
    if any(row.verdict in rest for row in rows):
        table.add_column("otherwise", overflow="fold")
    for contender in contenders(rows):
        own = [found[contender, tol] for tol in tols(rows)]
        ends = sum((Counter(dict(s.counts)) for s in own), Counter())
        words = ", ".join(f"{ends[verdict]} {verdict.value}" for verdict in rest if ends[verdict])
        cells = [f"{s.solved} of {s.rows}" if s.rows else "–" for s in own]
        table.add_row(escape(contender), *cells, *([words] if len(table.columns) > len(cells) + 1 else []))
    console.print(table)
    wrong = [f for f in false_claims(rows) if f.not_optimal or f.not_infeasible]
    if not wrong:
        console.print("No false claims.")
        return
    table = new_table()
    table.add_column("false claims", overflow="fold")
    for name in ("tolerance", "false optimal", "by far", "false infeasible"):
        table.add_column(name, justify="right")
    for f in wrong:
        of = (f"{f.not_optimal} of {f.said_optimal}", str(f.grossly), f"{f.not_infeasible} of {f.said_infeasible}")
        table.add_row(escape(f.contender), short(f.tol), *of)
    console.print(table)


def _report(console: Console, found: Run, folder: Path, option: str) -> None:
    """Write the report and say where it is."""
    from ..benchmark.report import write_report

    with named({"folder": option}):
        paths = write_report(found, folder)[:2]
    for path in paths:
        console.print(f"written: {path}", markup=False, highlight=False, soft_wrap=True)


def _is_given(context: typer.Context, name: str) -> bool:
    """Whether an option stands on the command line."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _split(values: Sequence[str] | None) -> list[str]:
    """Values of an option that is repeated, or has commas in it, each once."""
    parts = (part.strip() for value in values or () for part in value.split(","))
    return list(dict.fromkeys(part for part in parts if part))


def _folders(values: Sequence[str] | None) -> list[str]:
    """Names and folders; one that is there may have commas in its name."""
    parts = (part for value in values or () for part in ([value] if Path(value).is_dir() else _split([value])))
    return list(dict.fromkeys(parts))


def _find_set(name: str) -> str | Path:
    """A set's name, or its folder."""
    from ..benchmark.sets import SETS

    if name in SETS:
        return name
    if not Path(name).is_dir():
        raise DataError(f"set: {name!r} is not known; use {', '.join(SETS)}, or a folder that holds a set")
    return Path(name)


def _load(found: str | Path) -> TestSet:
    """The set itself."""
    from ..benchmark.exchange import read_set
    from ..benchmark.sets import load_set

    return read_set(found) if isinstance(found, Path) else load_set(found)


def _number(text: str) -> float:
    """A tolerance."""
    try:
        return float(text)
    except ValueError:
        raise DataError(f"--tol: {text!r} is not a number") from None
