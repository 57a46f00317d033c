"""The command line: bad values of every option, and commands that are interrupted."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import nullcontext, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import pre_convex as pre
from pre_convex.cli.app import run

from .files import full_disk, wav, write
from .rows import Row


@dataclass(frozen=True)
class CommandRow:
    """``pre-convex`` with ``arguments`` exits with code 2, names the option, and leaves no new file.

    ``named`` is what the message names where that is not ``argument``; ``full`` runs the command on a full disk.
    """

    entry: str
    argument: str
    kind: str
    arguments: tuple[str, ...]
    named: str = ""
    full: bool = False

    name = Row.name

    def run(self) -> tuple[Any, str]:
        """Exit code and message of the command, run in the current folder."""
        errors, code = io.StringIO(), None
        with (
            mock.patch.object(sys, "argv", ["pre-convex", *self.arguments]),
            mock.patch.dict(os.environ, COLUMNS="200"),
            redirect_stdout(io.StringIO()),
            redirect_stderr(errors),
            full_disk() if self.full else nullcontext(),
        ):
            try:
                run()
            except SystemExit as end:
                code = end.code
        return code, _message(errors.getvalue())


def _message(errors: str) -> str:
    """The message without the command's name, and without the box around usage errors."""
    inside = [line.strip("│ ") for line in errors.splitlines() if line.startswith("│")]
    return " ".join(inside) if inside else errors.removeprefix("pre-convex: ").rstrip("\n")


def make_files(folder: Path) -> None:
    """Write good data for every command, and a file and a folder that are in the way."""
    rng = np.random.default_rng(0)
    for name in "PQ":
        rows = "\n".join(f"{a:.6f},{b:.6f}" for a, b in rng.normal(size=(60, 2)))
        write(folder / f"{name}.csv", f"age,dose\n{rows}\n")
    write(folder / "S.csv", "s\n" + "\n".join(f"{value:.6f}" for value in rng.normal(size=40)) + "\n")
    wav(folder / "S.wav")
    write(folder / "other.csv", "height\n1\n2\n")
    write(folder / "gaps.csv", "age,dose,sex\n1,,f\n2,3,m\n3,4,f\n")
    groups = "\n".join(f"{age:.6f},{i % 2},{i % 7},f" for i, age in enumerate(rng.normal(size=40)))
    write(folder / "T.csv", f"age,treated,outcome,sex\n{groups}\n")
    pre.save(pre.KLIEP().fit(folder / "P.csv", folder / "Q.csv"), folder / "fit.npz")
    write(folder / "file", "in the way")
    (folder / "dir").mkdir()
    (folder / "taken").mkdir()
    for name in ("weights.csv", "scores.csv", "01_two_samples.py", "demo.png"):
        write(folder / "taken" / name, "of others")
    np.savez(folder / "bg.npz", x=rng.normal(size=(50, 6)))
    np.savez(folder / "sg.npz", x=2 * rng.normal(size=(50, 6)))
    np.savez(folder / "short.npz", x=rng.normal(size=(50, 3)))


FIT = ("fit", "P.csv", "Q.csv")
PREDICT = ("predict", "fit.npz", "Q.csv")
BALANCE = ("balance", "T.csv", "--treatment", "treated", "--exclude", "sex")
DETECT = (
    *("detect", "S.csv", "--prior-p", "bg.npz", "--prior-q", "sg.npz"),
    *("--noise", "0.5", "--lags", "2", "--replicates", "19"),
)
DEMO = ("demo", "--rows", "20")
EXPERIMENT = ("experiment", "digits", "--quick")
#: command and good arguments: bad values of an option, and what the message names if not the option
VALUES: dict[tuple[str, ...], list[tuple[str, ...]]] = {
    PREDICT: [
        ("--key", "unknown", "id"),
        ("--level", "too large", "2"),
        ("--out", "a folder", "dir"),
        ("--out", "a file of others", "file"),
    ],
    BALANCE: [
        ("--treatment", "unknown", "drug"),
        ("--treatment", "not 0 and 1", "outcome"),
        ("--outcome", "unknown", "y"),
        ("--estimand", "unknown", "ATX"),
        ("--columns", "unknown", "height"),
        ("--columns", "none that is left", "sex"),
        ("--exclude", "unknown", "height"),
        ("--categorical", "unknown", "height"),
        ("--key", "unknown", "id"),
        ("--features", "unknown", "kernel"),
        ("--divergence", "unknown", "l2"),
        ("--radius", "negative", "-1"),
        ("--radius", "text", "big"),
        ("--max-weight", "zero", "0"),
        ("--max-weight", "text", "big"),
        ("--out", "a file", "file"),
        ("--out", "with files of others", "taken"),
    ],
    FIT: [
        ("--columns", "unknown", "height"),
        ("--exclude", "unknown", "height"),
        ("--exclude", "all columns", "age,dose", "--columns"),
        ("--categorical", "unknown", "sex"),
        ("--key", "unknown", "id"),
        ("--loglik-p", "unknown", "ll"),
        ("--loglik-q", "unknown", "ll"),
        ("--loglik-q", "for one side only", "age", "Q"),
        ("--features", "unknown", "spline"),
        ("--features", "too few time points", "autocorrelation"),
        ("--features", "a kernel without a radius", "kernel", "--radius"),
        ("--formulation", "unknown", "both"),
        ("--solver", "unknown", "clarabell"),
        ("--radius", "negative", "-1"),
        ("--radius", "NaN", "nan"),
        ("--radius", "infinite", "inf"),
        ("--radius", "text", "big"),
        ("--norm", "unknown", "3"),
        ("--penalty", "unknown", "lasso"),
        ("--level", "too large", "2"),
        ("--level", "NaN", "nan"),
        ("--level", "text", "high"),
        ("--seed", "negative", "-1"),
        ("--seed", "text", "x"),
        ("--out", "a file", "file"),
        ("--out", "below a file", "file/out"),
        ("--out", "with files of others", "taken"),
    ],
    DETECT: [
        ("--prior-p", "no such file", "no.npz", "no.npz"),
        ("--prior-q", "other windows", "short.npz"),
        ("--noise", "negative", "-1"),
        ("--noise", "NaN", "nan"),
        ("--noise", "for other channels", "1,2"),
        ("--noise", "text", "loud"),
        ("--noise-drawn", "negative", "-1"),
        ("--noise-drawn", "NaN", "nan"),
        ("--noise-drawn", "for other channels", "1,2"),
        ("--window", "zero", "0"),
        ("--window", "not that of the priors", "7"),
        ("--step", "zero", "0"),
        ("--columns", "unknown", "t"),
        ("--reference", "negative", "-1"),
        ("--reference", "at the end", "39"),
        ("--features", "unknown", "kernel"),
        ("--lags", "zero", "0"),
        ("--lags", "too many", "99"),
        ("--radius", "negative", "-1"),
        ("--radius", "text", "big"),
        ("--norm", "unknown", "7"),
        ("--method", "unknown", "magic"),
        ("--order", "zero", "0"),
        ("--rate", "too large", "2"),
        ("--rate", "NaN", "nan"),
        ("--replicates", "negative", "-1"),
        ("--replicates", "too few", "1", "--rate"),
        ("--pairs", "of one window", "bg.npz"),
        ("--seed", "negative", "-1"),
        ("--peaks", "zero", "0"),
        ("--out", "a file", "file"),
        ("--out", "with files of others", "taken"),
    ],
    DEMO: [
        ("--rows", "too few", "19"),
        ("--seed", "negative", "-1"),
        ("--tol", "zero", "0"),
        ("--tol", "NaN", "nan"),
        ("--out", "a file", "file"),
        ("--out", "with a file of others", "taken"),
    ],
    EXPERIMENT: [
        ("--seed", "negative", "-1"),
        ("--out", "a file", "file"),
        ("--mnist", "a folder without its files", "dir"),
    ],
    ("explore", "--no-open"): [
        ("--out", "a folder", "dir"),
        ("--out", "a file of others", "file"),
        ("--out", "below a file", "file/x"),
        ("--out", "a device", "/dev/null"),
    ],
    ("teach", "1", "--no-open"): [("--out", "a file", "file"), ("--out", "with files of others", "taken")],
    ("bench",): [
        ("--set", "unknown", "smokey"),
        ("--set", "a folder without one", "dir"),
        ("--solver", "unknown", "nope"),
        ("--solver", "a module that does not exist", "no_such:solve"),
        ("--formulation", "unknown", "nope"),
        ("--tol", "text", "x"),
        ("--tol", "negative", "-1"),
        ("--tol", "too large", "2"),
        ("--time-limit", "negative", "-1"),
        ("--memory-limit", "NaN", "nan"),
        ("--jobs", "zero", "0"),
        ("--out", "a file", "file"),
    ],
}


def _values() -> Iterator[CommandRow]:
    """Rows for options with a bad value; if an option is given twice, the last one counts."""
    for good, bad in VALUES.items():
        for option, kind, value, *named in bad:
            yield CommandRow(good[0], option, kind, (*good, option, value), *named)


ROWS: list[CommandRow] = [
    *_values(),
    CommandRow("pre-convex", "command", "unknown", ("fti",), "fti"),
    CommandRow("pre-convex", "command", "an unknown option", ("--verson",), "--verson"),
    CommandRow("pre-convex", "--version", "with a value", ("--version=3",)),
    CommandRow("predict", "FIT", "missing", ("predict",)),
    CommandRow("predict", "FIT", "no such file", ("predict", "no.npz", "Q.csv")),
    CommandRow("predict", "FIT", "not a fit", ("predict", "bg.npz", "Q.csv")),
    CommandRow("predict", "ROWS", "missing", ("predict", "fit.npz")),
    CommandRow("predict", "ROWS", "no such file", ("predict", "fit.npz", "no.csv"), "no.csv"),
    CommandRow("predict", "ROWS", "other columns", ("predict", "fit.npz", "other.csv"), "ROWS"),
    CommandRow("predict", "ROWS", "with missing values", ("predict", "fit.npz", "gaps.csv"), "gaps.csv"),
    CommandRow("predict", "--drop-missing", "without a key", (*PREDICT, "--drop-missing")),
    CommandRow("predict", "--out", "full disk", (*PREDICT, "--out", "x"), full=True),
    CommandRow("balance", "TABLE", "missing", ("balance",)),
    CommandRow("balance", "TABLE", "no such file", ("balance", "no.csv", *BALANCE[2:]), "no.csv"),
    CommandRow("balance", "TABLE", "with text", BALANCE[:4], "T.csv"),
    CommandRow("balance", "--treatment", "missing", ("balance", "T.csv")),
    CommandRow("balance", "--categorical", "one category", (*BALANCE[:4], "--categorical", "sex")),
    CommandRow("balance", "--out", "full disk", (*BALANCE, "--out", "dir"), full=True),
    CommandRow("fit", "Q", "with missing values", ("fit", "P.csv", "gaps.csv", "--exclude", "sex"), "gaps.csv"),
    CommandRow("fit", "P", "missing", ("fit",)),
    CommandRow("fit", "P", "an unknown ending", ("fit", "file", "Q.csv"), "file"),
    CommandRow("fit", "Q", "missing", ("fit", "P.csv")),
    CommandRow("fit", "Q", "no such file", ("fit", "P.csv", "no.csv"), "no.csv"),
    CommandRow("fit", "Q", "other columns", ("fit", "P.csv", "other.csv")),
    CommandRow("fit", "argument", "one too many", (*FIT, "P.csv"), "(P.csv)"),
    CommandRow("fit", "option", "unknown", (*FIT, "--featurs", "linear"), "--featurs"),
    CommandRow("fit", "--out", "full disk", (*FIT, "--out", "dir"), full=True),
    CommandRow("detect", "SERIES", "missing", ("detect",)),
    CommandRow("detect", "SERIES", "other channels", ("detect", "P.csv", *DETECT[2:])),
    CommandRow("detect", "SERIES", "no such file", ("detect", "no.wav", *DETECT[2:]), "no.wav"),
    CommandRow("detect", "--columns", "no such channel", ("detect", "S.wav", *DETECT[2:], "--columns", "1")),
    CommandRow("detect", "--prior-p", "missing", DETECT[:2]),
    CommandRow("detect", "--prior-q", "missing", DETECT[:4]),
    CommandRow("detect", "--noise", "missing", DETECT[:6]),
    CommandRow("detect", "--pairs", "without simulations", (*DETECT, "--pairs", "bg.npz", "--replicates", "0")),
    CommandRow("detect", "--order", "too large", (*DETECT, "--method", "ar", "--order", "99")),
    CommandRow("demo", "--out", "full disk", (*DEMO, "--out", "dir"), full=True),
    CommandRow("experiment", "NAME", "missing", ("experiment",)),
    CommandRow("experiment", "NAME", "unknown", ("experiment", "normalty")),
    CommandRow("explore", "--out", "full disk", ("explore", "--no-open", "--out", "x"), full=True),
    CommandRow("solvers", "argument", "one too many", ("solvers", "all"), "(all)"),
    CommandRow("teach", "LESSON", "unknown", ("teach", "99")),
    CommandRow("teach", "--out", "full disk", ("teach", "1", "--no-open", "--out", "dir"), full=True),
    CommandRow("bench", "--fresh", "before another command", ("bench", "--fresh", "sets")),
    CommandRow("bench", "command", "unknown", ("bench", "rerun"), "rerun"),
    CommandRow("bench sets", "argument", "one too many", ("bench", "sets", "x"), "(x)"),
    CommandRow("bench export", "SET", "missing", ("bench", "export")),
    CommandRow("bench export", "SET", "unknown", ("bench", "export", "smokey", "dir")),
    CommandRow("bench export", "SET", "a folder without one", ("bench", "export", "dir", "new")),
    CommandRow("bench export", "DIR", "missing", ("bench", "export", "smoke")),
    CommandRow("bench export", "DIR", "full disk", ("bench", "export", "smoke", "new"), full=True),
    CommandRow("bench export", "DIR", "a file", ("bench", "export", "smoke", "file")),
    CommandRow("bench export", "--format", "unknown", ("bench", "export", "smoke", "dir", "--format", "mps")),
    CommandRow("bench report", "DIR", "missing", ("bench", "report")),
    CommandRow("bench report", "DIR", "a folder without a run", ("bench", "report", "dir"), "run"),
    CommandRow("bench compare", "A", "missing", ("bench", "compare")),
    CommandRow("bench compare", "A", "a folder without a run", ("bench", "compare", "dir", "dir"), "run"),
    CommandRow("bench compare", "B", "missing", ("bench", "compare", "dir")),
]
#: parameters without a row of their own, and why
EXEMPT = {
    ("bench compare", "--out"): "written last, from two runs; tests/lab/solvers has a test",
}


@dataclass(frozen=True)
class Ending:
    """A command that is interrupted, or whose output cannot be written: exit code, message, files left."""

    kind: str
    code: int
    message: str
    left: str


ENDINGS = {
    "pipe": Ending("output goes to a pipe whose reader has exited (`… | head -1`)", 0, "", "all, complete"),
    "closed": Ending("standard output is closed (`>&-`)", 0, "", "all, complete"),
    "full": Ending(
        *("standard output goes to a full disk", 1),
        *("standard output cannot be written (No space left on device)", "all, complete"),
    ),
    "silent": Ending("standard error is closed (`2>&-`)", 2, "", "none"),
    "ascii": Ending("the locale lacks letters of the data", 0, "", "all, complete; question marks in the output"),
    "interrupt": Ending("Ctrl-C (SIGINT) while solving", 130, "interrupted", "none"),
    "terminate": Ending("SIGTERM while solving", 143, "terminated", "none"),
}
