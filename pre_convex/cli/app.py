"""The command-line app: the library's commands, and those that other packages add through entry points.

A package adds a command with an entry point in the group ``pre_convex.commands``: its name is the command's, and it
refers to a function, or to a :class:`typer.Typer` with subcommands. ``pre-convex bench`` and ``pre-convex experiment``
come that way from ``pre_convex_lab``.
"""

from __future__ import annotations

import signal
import sys
from importlib.metadata import entry_points, version
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from ..errors import DataError, PreConvexError
from .balance import balance
from .demo import demo
from .detect import detect
from .explore import explore
from .fit import fit
from .predict import predict
from .process import say, standard_streams, terminable
from .solvers import solvers
from .teach import teach

__all__ = ["COMMANDS", "app", "run"]

#: commands of the library itself; adding one is a file and its line here
COMMANDS = {
    "balance": balance,
    "demo": demo,
    "detect": detect,
    "explore": explore,
    "fit": fit,
    "predict": predict,
    "solvers": solvers,
    "teach": teach,
}
#: entry-point group in which other packages add commands
GROUP = "pre_convex.commands"


class Interruptible(TyperGroup):
    """Commands that exit with code 130 on Ctrl-C, and whose errors name the option instead of the argument."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Names in alphabetical order; typer would put groups of commands last."""
        return sorted(self.commands)

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            say("interrupted")
            raise typer.Exit(130) from None
        except DataError as error:
            command = self.commands.get(str(ctx.invoked_subcommand))
            for option in command.params if command else ():
                if option.name == error.argument:
                    name = option.opts[0] if option.param_type_name == "option" else option.metavar or option.name
                    raise error.renamed(name) from error
            raise


def make_app() -> typer.Typer:
    """The app with all installed commands."""
    made = typer.Typer(
        name="pre-convex",
        cls=Interruptible,
        help="Density ratios, importance weights and balanced groups, each with a proof that it is optimal.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
    )
    made.callback(invoke_without_command=True)(_main)
    commands: dict[str, Any] = {**COMMANDS, **{entry.name: entry.load() for entry in entry_points(group=GROUP)}}
    for name, command in commands.items():
        if isinstance(command, typer.Typer):
            made.add_typer(command, name=name)
        else:
            made.command(name)(command)
    return made


def _main(
    show_version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    if show_version:
        print(f"pre_convex {version('pre_convex')}")
        raise typer.Exit


app = make_app()


def run() -> None:
    """Run the app; errors raised on purpose become one line on stderr and exit code 2."""
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
                say("interrupted")  # before a command began; typer exits silently
        except PreConvexError as error:
            say(str(error))
            code = 2
        sys.stdout.flush()
        if output.failure is not None and not code:
            say(f"standard output cannot be written ({output.failure.strerror})")
            code = 1
    sys.exit(code)
