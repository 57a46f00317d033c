"""``pre-convex teach``."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from ..errors import DataError, MissingExtraError
from .app import app, make_folder, new_table


@app.command()
def teach(
    lesson: Annotated[
        str | None, typer.Argument(help="Number or name of the lesson; without it, all are listed.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for the script and the notebook.")] = Path("lessons"),
    solutions: Annotated[
        bool,
        typer.Option("--solutions/--no-solutions", help="With solutions of the exercises, or room for them."),
    ] = True,
    start: Annotated[
        bool, typer.Option("--open/--no-open", help="Start Jupyter with the notebook, if it is installed.")
    ] = True,
    replace: Annotated[bool, typer.Option("--replace", help="Replace files of the same name.")] = False,
) -> None:
    """Open a lesson as a script and as a Jupyter notebook."""
    from ..files import write_text, writing
    from ..teaching.catalogue import find_lesson, lessons
    from ..teaching.notebook import to_notebook, to_script

    console = Console(soft_wrap=True)
    if lesson is None:
        table = new_table()
        table.add_column("lesson")
        table.add_column("title")
        for entry in lessons():
            table.add_row(entry.name, entry.title)
        console.print(table)
        console.print("pre-convex teach 4 opens lesson 4.")
        return
    found = find_lesson(lesson)
    make_folder(out)
    script, notebook = out / f"{found.stem}.py", out / f"{found.stem}.ipynb"
    for path in (script, notebook):
        if path.exists() and not replace:
            raise DataError(f"--out: {path} exists, perhaps with your work; give another folder, or --replace")
    with writing("--out", out):
        write_text(script, to_script(found, solutions=solutions))
        write_text(notebook, to_notebook(found, solutions=solutions))
    console.print(f"Lesson {found.name}: {found.title}", highlight=False)
    console.print(f"  script    python {script}\n  notebook  jupyter lab {notebook}", highlight=False)
    if find_spec("matplotlib") is None:
        console.print(f"It draws figures, and {MissingExtraError('matplotlib', 'plot')}", markup=False, highlight=False)
    if not start or not sys.stdout.isatty():
        return
    # first the Jupyter beside this Python, which has the package, even where its environment is not activated
    places = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    jupyter = next(
        filter(None, (shutil.which(name, path=places) for name in ("jupyter-lab", "jupyter-notebook"))), None
    )
    if jupyter is None:
        console.print("Jupyter is not installed: pip install jupyterlab")
        return
    console.print("Jupyter opens the notebook in the browser; Ctrl-C here ends it.")
    subprocess.run([jupyter, notebook], check=False)
