"""``pre-convex teach``: lessons as scripts and Jupyter notebooks."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from ..errors import MissingExtraError
from .console import check_outputs, make_folder, new_console, new_table, show


def teach(
    lesson: Annotated[
        str | None,
        typer.Argument(help="Number or name of a lesson; without it, all lessons are listed.", metavar="LESSON"),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for the script and the notebook.")] = Path("lessons"),
    solutions: Annotated[
        bool,
        typer.Option("--solutions/--no-solutions", help="Include the solutions of the exercises, or leave space."),
    ] = True,
    start: Annotated[
        bool, typer.Option("--open/--no-open", help="Open the notebook in Jupyter, if it is installed.")
    ] = True,
    replace: Annotated[bool, typer.Option("--replace", help="Overwrite existing files.")] = False,
) -> None:
    """Write a lesson as a script and a Jupyter notebook, and open it.

    Example, lesson 4 without the solutions of its exercises: pre-convex teach 4 --no-solutions
    """
    from ..data.files import report_write_errors, write_text
    from ..teaching.catalogue import find_lesson
    from ..teaching.notebook import to_notebook, to_script

    if lesson is None:
        _list_lessons()
        return
    chosen = find_lesson(lesson)
    make_folder(out)
    script, notebook = out / f"{chosen.stem}.py", out / f"{chosen.stem}.ipynb"
    texts = {
        script: to_script(chosen, solutions=solutions),
        notebook: to_notebook(chosen, solutions=solutions),
    }
    with report_write_errors("--out", out):
        if not all(path.is_file() and path.read_text(encoding="utf-8") == text for path, text in texts.items()):
            check_outputs(texts, replace)
            for path, text in texts.items():
                write_text(path, text)
    show(f"Lesson {chosen.name}: {chosen.title}")
    show(f"  script    python {script}\n  notebook  jupyter lab {notebook}")
    if find_spec("matplotlib") is None:
        show(f"The lesson draws figures, but {MissingExtraError('matplotlib', 'plot')}")
    if start and sys.stdout.isatty():
        _open(notebook)


def _list_lessons() -> None:
    from ..teaching.catalogue import lessons

    table = new_table()
    table.add_column("lesson")
    table.add_column("title")
    for entry in lessons():
        table.add_row(entry.name, entry.title)
    new_console().print(table, soft_wrap=True)
    show("'pre-convex teach 4' opens lesson 4.")


def _open(notebook: Path) -> None:
    """Run Jupyter until the user stops it."""
    # prefer the Jupyter of this Python, which has the package, even if its environment is not activated
    places = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    candidates = (shutil.which(name, path=places) for name in ("jupyter-lab", "jupyter-notebook"))
    jupyter = next(filter(None, candidates), None)
    if jupyter is None:
        show("Jupyter is not installed; run: pip install jupyterlab")
        return
    show("Opening the notebook in the browser; press Ctrl-C here to stop Jupyter.")
    subprocess.run([jupyter, notebook], check=False)
