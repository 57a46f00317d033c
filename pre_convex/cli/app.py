"""The app itself, and what its commands share."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryFile
from typing import Annotated, Any

import typer
from rich import box
from rich.table import Table
from typer.core import TyperGroup

from ..errors import DataError, PreConvexError
from ..files import writing
from .process import say, standard_streams, terminable

__all__ = ["app", "make_folder", "named", "new_table", "run"]


class Interruptible(TyperGroup):
    """Commands of which Ctrl-C ends each with a line and exit code 130, and whose errors name the option."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            say("interrupted")
            raise typer.Exit(130) from None
        except DataError as error:
            command = self.commands.get(str(ctx.invoked_subcommand))
            name, _, rest = str(error).partition(": ")
            for option in command.params if command else ():
                if option.name == name:
                    name = option.opts[0] if option.param_type_name == "option" else option.metavar or name
                    raise DataError(f"{name}: {rest}") from error
            raise


app = typer.Typer(
    name="pre-convex",
    cls=Interruptible,
    help="Posterior ratio estimation as convex programs, with a certificate for every answer.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def run() -> None:
    """Run the app; errors the package raises on purpose become one line and exit code 2."""
    code: Any = 0
    with standard_streams() as (output, _):
        try:
            with terminable():
                app()
        except SystemExit as end:
            code = end.code
            if code == 128 + signal.SIGTERM:
                say("terminated")
            if isinstance(getattr(end.__context__, "__cause__", None), KeyboardInterrupt):
                say("interrupted")  # before a command has begun; typer ends it without a word
        except PreConvexError as error:
            say(str(error))
            code = 2
        sys.stdout.flush()
        if output.failure is not None and not code:
            say(f"standard output cannot be written ({output.failure.strerror})")
            code = 1
    sys.exit(code)


@app.callback(invoke_without_command=True)
def _main(
    show_version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    if show_version:
        print(f"pre_convex {version('pre_convex')}")
        raise typer.Exit


@contextmanager
def named(options: dict[str, str]) -> Iterator[None]:
    """Errors name the option instead of the argument."""
    try:
        yield
    except DataError as error:
        name, _, rest = str(error).partition(": ")
        if name not in options:
            raise
        raise DataError(f"{options[name]}: {rest}") from error


def new_table() -> Table:
    """A table that fits a terminal of eighty columns."""
    return Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)


def make_folder(out: Path) -> None:
    """The folder of the results, found writable before anything is computed."""
    with writing("--out", out):
        out.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=out):
            pass
