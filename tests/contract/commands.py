"""The command line: what every option says of a bad value, and how a command ends that is not let to finish."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .files import ROOM, write
from .rows import Row


@dataclass(frozen=True)
class CommandRow:
    """``pre-convex`` with ``arguments`` ends with ``code`` and says ``says``; only the files of ``left`` are new."""

    entry: str
    argument: str
    kind: str
    arguments: tuple[str, ...]
    says: str
    code: int = 2
    left: tuple[str, ...] = ()
    full: bool = False

    name = Row.name


def make_files(folder: Path) -> None:
    """Good data for every command, and things that are in the way."""
    rng = np.random.default_rng(0)
    for name in "PQ":
        rows = "\n".join(f"{a:.6f},{b:.6f}" for a, b in rng.normal(size=(60, 2)))
        write(folder / f"{name}.csv", f"age,dose\n{rows}\n")
    write(folder / "S.csv", "s\n" + "\n".join(f"{value:.6f}" for value in rng.normal(size=40)) + "\n")
    write(folder / "other.csv", "height\n1\n2\n")
    write(folder / "file", "in the way")
    (folder / "dir").mkdir()
    np.savez(folder / "bg.npz", x=rng.normal(size=(50, 6)))
    np.savez(folder / "sg.npz", x=2 * rng.normal(size=(50, 6)))
    np.savez(folder / "short.npz", x=rng.normal(size=(50, 3)))


FIT = ("fit", "P.csv", "Q.csv")
DETECT = (
    "detect",
    "S.csv",
    "--prior-p",
    "bg.npz",
    "--prior-q",
    "sg.npz",
    "--noise",
    "0.5",
    "--lags",
    "2",
    "--replicates",
    "19",
)
DEMO = ("demo", "--rows", "20")
SETS = "easy, peaked, boundary, scaling, heavy, sparse, radius, real, smoke"
NOT_A_FOLDER = f"--out: cannot write to file (File exists){ROOM}"
LESSONS = "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, errata"


def _row(entry: str, argument: str, kind: str, arguments: tuple[str, ...], says: str, **more) -> CommandRow:
    return CommandRow(entry, argument, kind, arguments, says, **more)


def _values(entry: str, good: tuple[str, ...], table: list[tuple[str, str, str, str]]) -> list[CommandRow]:
    """Rows for options that have a bad value; the last one of an option that is given twice counts."""
    return [_row(entry, option, kind, (*good, option, value), says) for option, kind, value, says in table]


def _invalid(option: str) -> str:
    return f"Invalid value for '{option}'…"


ROWS: list[CommandRow] = [
    _row("pre-convex", "command", "unknown", ("fti",), "No such command 'fti'.…"),
    _row("pre-convex", "command", "an unknown option", ("--verson",), "No such option…--verson…"),
    _row("pre-convex", "--version", "with a value", ("--version=3",), "Option '--version' does not take a value.…"),
    _row("fit", "P", "missing", ("fit",), "Missing argument 'P'."),
    _row("fit", "Q", "missing", ("fit", "P.csv"), "Missing argument 'Q'."),
    _row("fit", "Q", "one file too many", (*FIT, "P.csv"), "Got unexpected extra argument…(P.csv)"),
    _row(
        "fit",
        "P",
        "an unknown ending",
        ("fit", "file", "Q.csv"),
        "file: the ending '' is not known; use .csv, .parquet, .npz",
    ),
    _row("fit", "Q", "no such file", ("fit", "P.csv", "no.csv"), "no.csv: cannot be read (No such file or directory)"),
    _row(
        "fit",
        "Q",
        "other columns",
        ("fit", "P.csv", "other.csv"),
        "Q: its columns differ from those of P in …; give both the same ones",
    ),
    _row("fit", "option", "unknown", (*FIT, "--featurs", "linear"), "No such option…--featurs…--features…"),
    _row(
        "fit",
        "--loglik-q",
        "for one side only",
        (*FIT, "--loglik-q", "age"),
        "Q: its columns differ from those of P in age; …",
    ),
    *_values(
        "fit",
        FIT,
        [
            ("--loglik-p", "unknown", "ll", "--loglik-p: 'll' is not among the columns age, dose"),
            ("--loglik-q", "unknown", "ll", "--loglik-q: 'll' is not among the columns age, dose"),
            ("--features", "unknown", "spline", "--features: 'spline' is not known; use one of linear, polynomial, …"),
            (
                "--features",
                "too few time points",
                "autocorrelation",
                "lags: 20 lags need rows of more than 20 time points, not 2",
            ),
            ("--features", "a kernel without a radius", "kernel", "--radius: a kernel needs a positive radius; …"),
            ("--formulation", "unknown", "both", "--formulation: 'both' is not known; use …"),
            ("--solver", "unknown", "clarabell", "--solver: 'clarabell' is not known; installed are newton, …"),
            (
                "--radius",
                "negative",
                "-1",
                "--radius: -1 is negative; 0 asks for exact moments, larger values relax them",
            ),
            ("--radius", "NaN", "nan", "--radius: is nan; pass a finite number"),
            ("--radius", "infinite", "inf", "--radius: is inf; pass a finite number"),
            ("--radius", "text", "big", "--radius: 'big' is neither a number, 'auto' nor 'cv'"),
            ("--norm", "unknown", "3", "--norm: '3' is not known; use one of 2, inf, 1"),
            ("--level", "too large", "2", "--level: 2 is not between 0 and 1"),
            ("--level", "NaN", "nan", "--level: is nan; pass a finite number"),
            ("--level", "text", "high", _invalid("--level")),
            ("--seed", "negative", "-1", _invalid("--seed")),
            ("--seed", "text", "x", _invalid("--seed")),
            ("--out", "a file", "file", NOT_A_FOLDER),
            ("--out", "below a file", "file/out", f"--out: cannot write to file/out (Not a directory){ROOM}"),
        ],
    ),
    _row("detect", "SERIES", "missing", ("detect",), "Missing argument 'SERIES'."),
    _row(
        "detect",
        "SERIES",
        "other channels",
        ("detect", "P.csv", *DETECT[2:]),
        "SERIES: has shape (60, 2), prior_p has …",
    ),
    _row(
        "detect",
        "SERIES",
        "no such file",
        ("detect", "no.wav", *DETECT[2:]),
        "no.wav: cannot be read (No such file or directory)",
    ),
    _row("detect", "--prior-p", "missing", DETECT[:2], "Missing option '--prior-p'."),
    _row("detect", "--prior-q", "missing", DETECT[:4], "Missing option '--prior-q'."),
    _row("detect", "--noise", "missing", DETECT[:6], "Missing option '--noise'."),
    _row(
        "detect",
        "--pairs",
        "without simulations",
        (*DETECT, "--pairs", "bg.npz", "--replicates", "0"),
        "--pairs: is for simulated background; ask for --replicates too",
    ),
    _row(
        "detect",
        "--noise-drawn",
        "for other channels",
        (*DETECT, "--noise-drawn", "1,2"),
        "--noise-drawn: has 2 numbers; give one, or one for each channel",
    ),
    _row(
        "detect",
        "--order",
        "too large",
        (*DETECT, "--method", "ar", "--order", "99"),
        "--order: so many coefficients need windows of 199 time points, not 6; lower it",
    ),
    _row("detect", "--out", "a file", (*DETECT, "--replicates", "0", "--out", "file"), NOT_A_FOLDER),
    *_values(
        "detect",
        DETECT,
        [
            ("--prior-p", "no such file", "no.npz", "no.npz: cannot be read (No such file or directory)"),
            (
                "--prior-q",
                "other windows",
                "short.npz",
                "--prior-q: has sequences of 3 time points, prior_p has …; they must agree",
            ),
            ("--noise", "negative", "-1", "--noise: [-1.0] must be one positive standard deviation, …"),
            ("--noise", "NaN", "nan", "--noise: [nan] must be one positive standard deviation, …"),
            ("--noise", "for other channels", "1,2", "--noise: [1.0, 2.0] must be one positive standard deviation, …"),
            ("--noise", "text", "loud", "--noise: 'loud' is not a number"),
            ("--noise-drawn", "negative", "-1", "--noise-drawn: -1 is not a positive number"),
            ("--noise-drawn", "NaN", "nan", "--noise-drawn: nan is not a positive number"),
            ("--window", "zero", "0", _invalid("--window")),
            ("--window", "not that of the priors", "7", "--window: is 7, the prior sequences have 6 time points"),
            ("--step", "zero", "0", _invalid("--step")),
            ("--columns", "unknown", "t", "--columns: 't' is not among s"),
            ("--reference", "negative", "-1", _invalid("--reference")),
            ("--reference", "at the end", "39", "--reference: a window of 6 from 39 on ends after the series, of 40"),
            (
                "--features",
                "unknown",
                "kernel",
                "--features: 'kernel' is not known; use one of autocorrelation, lag-products, …",
            ),
            ("--lags", "zero", "0", _invalid("--lags")),
            ("--lags", "too many", "99", "--lags: 99 lags need rows of more than 99 time points, not 6"),
            (
                "--radius",
                "negative",
                "-1",
                "--radius: -1 is negative; 0 asks for exact moments, larger values relax them",
            ),
            ("--radius", "text", "big", _invalid("--radius")),
            ("--norm", "unknown", "7", "--norm: '7' is not known; use one of 2, inf, 1"),
            (
                "--method",
                "unknown",
                "magic",
                "--method: 'magic' is not known; use one of 'pre', 'plugin', …",
            ),
            ("--order", "zero", "0", _invalid("--order")),
            ("--rate", "too large", "2", "--rate: 2 is not between 0 and 1"),
            ("--rate", "NaN", "nan", "--rate: is nan; pass a finite number"),
            ("--replicates", "negative", "-1", _invalid("--replicates")),
            (
                "--replicates",
                "too few",
                "1",
                "--rate: 0.05 is below 1/2, the smallest p-value of 1 simulations; use at least 19 replicates",
            ),
            (
                "--pairs",
                "of one window",
                "bg.npz",
                "--pairs: has sequences of 6 time points, a pair of windows has …; they must agree",
            ),
            ("--seed", "negative", "-1", _invalid("--seed")),
            ("--peaks", "zero", "0", _invalid("--peaks")),
        ],
    ),
    *_values(
        "demo",
        DEMO,
        [
            ("--rows", "too few", "19", _invalid("--rows")),
            ("--seed", "negative", "-1", _invalid("--seed")),
            ("--tol", "zero", "0", "--tol: 0.0 is not between 0 and 1"),
            ("--tol", "NaN", "nan", "--tol: is nan; pass a finite number"),
            ("--out", "a file", "file", NOT_A_FOLDER),
        ],
    ),
    _row("experiment", "name", "missing", ("experiment",), "Missing argument…"),
    _row(
        "experiment",
        "name",
        "unknown",
        ("experiment", "normalty"),
        "experiment: 'normalty' is not known; use one of normality, consistency, …",
    ),
    *_values(
        "experiment",
        ("experiment", "digits", "--quick"),
        [
            ("--seed", "negative", "-1", _invalid("--seed")),
            ("--out", "a file", "file", NOT_A_FOLDER),
            (
                "--mnist",
                "a folder without its files",
                "dir",
                "--mnist: dir holds no train-images-idx3-ubyte, plain or as .gz",
            ),
        ],
    ),
    _row(
        "explore",
        "--out",
        "a folder",
        ("explore", "--no-open", "--out", "dir"),
        f"--out: cannot write to dir (Is a directory){ROOM}",
    ),
    _row(
        "explore",
        "--out",
        "below a file",
        ("explore", "--no-open", "--out", "file/x"),
        f"--out: cannot write to file/x (…){ROOM}",
    ),
    _row(
        "explore",
        "--out",
        "a device",
        ("explore", "--no-open", "--out", "/dev/null"),
        f"--out: cannot write to /dev/null (Not a regular file){ROOM}",
    ),
    _row(
        "explore",
        "--out",
        "a disk that is full",
        ("explore", "--no-open", "--out", "x"),
        f"--out: cannot write to x (File too large){ROOM}",
        full=True,
    ),
    _row("solvers", "argument", "one that it does not take", ("solvers", "all"), "Got unexpected extra argument…(all)"),
    _row(
        "teach",
        "lesson",
        "unknown",
        ("teach", "99"),
        f"LESSON: there is no lesson '99'; choose one of {LESSONS}; pre-convex teach lists their titles",
    ),
    _row("teach", "--out", "a file", ("teach", "1", "--no-open", "--out", "file"), NOT_A_FOLDER),
    _row(
        "teach",
        "--out",
        "a disk that is full",
        ("teach", "1", "--no-open", "--out", "dir"),
        f"--out: cannot write to dir (File too large){ROOM}",
        full=True,
    ),
    _row(
        "fit",
        "--out",
        "a disk that is full",
        (*FIT, "--out", "dir"),
        f"--out: cannot write to dir (File too large){ROOM}",
        full=True,
    ),
    _row(
        "demo",
        "--out",
        "a disk that is full",
        (*DEMO, "--out", "dir"),
        f"--out: cannot write to dir (File too large){ROOM}",
        full=True,
    ),
    *_values(
        "bench",
        ("bench",),
        [
            ("--set", "unknown", "smokey", f"--set: 'smokey' is not known; use {SETS}, or a folder that holds a set"),
            (
                "--set",
                "a folder without one",
                "dir",
                "--set: dir holds no set; cannot read set.json in it (No such file or directory)",
            ),
            ("--solver", "unknown", "nope", "--solver: 'nope' is not known; installed are newton, …"),
            (
                "--solver",
                "a module that is not there",
                "no_such:solve",
                "--solver: 'no_such:solve' cannot be imported (No module named 'no_such'); run it where no_such.py is",
            ),
            ("--formulation", "unknown", "nope", "--formulation: 'nope' is not known; use …"),
            ("--tol", "text", "x", "--tol: 'x' is not a number"),
            ("--tol", "negative", "-1", "--tol: -1.0 is not a positive number"),
            ("--tol", "too large", "2", "--tol: must be numbers between 0 and 1, at least one"),
            ("--time-limit", "negative", "-1", "--time-limit: -1.0 is not a positive number"),
            ("--memory-limit", "NaN", "nan", "--memory-limit: nan is not a positive number"),
            ("--jobs", "zero", "0", _invalid("--jobs")),
            ("--out", "a file", "file", NOT_A_FOLDER),
        ],
    ),
    _row(
        "bench",
        "--fresh",
        "before another command",
        ("bench", "--fresh", "sets"),
        "--fresh: is for a run; 'bench sets' has its options behind it",
    ),
    _row("bench", "command", "unknown", ("bench", "rerun"), "No such command 'rerun'.…"),
    _row(
        "bench sets",
        "argument",
        "one that it does not take",
        ("bench", "sets", "x"),
        "Got unexpected extra argument…(x)",
    ),
    _row("bench export", "SET", "missing", ("bench", "export"), "Missing argument 'SET'."),
    _row(
        "bench export",
        "SET",
        "unknown",
        ("bench", "export", "smokey", "dir"),
        f"SET: 'smokey' is not known; use {SETS}, or a folder that holds a set",
    ),
    _row(
        "bench export",
        "SET",
        "a folder without one",
        ("bench", "export", "dir", "new"),
        "SET: dir holds no set; cannot read set.json in it (No such file or directory)",
    ),
    _row("bench export", "DIR", "missing", ("bench", "export", "smoke"), "Missing argument 'DIR'."),
    _row(
        "bench export",
        "DIR",
        "a disk that is full",
        ("bench", "export", "smoke", "new"),
        f"DIR: cannot write to new/000-…(File too large){ROOM}",
        full=True,
    ),
    _row(
        "bench export",
        "DIR",
        "a file",
        ("bench", "export", "smoke", "file"),
        f"DIR: cannot write to file (File exists){ROOM}",
    ),
    _row(
        "bench export",
        "--format",
        "unknown",
        ("bench", "export", "smoke", "dir", "--format", "mps"),
        "--format: 'mps' is not known; use npz or cbf",
    ),
    _row(
        "bench report",
        "DIR",
        "a folder without a run",
        ("bench", "report", "dir"),
        "run: dir holds no run, run.json cannot be read (No such file or directory)",
    ),
    _row("bench report", "DIR", "missing", ("bench", "report"), "Missing argument 'DIR'."),
    _row("bench compare", "A", "missing", ("bench", "compare"), "Missing argument 'A'."),
    _row(
        "bench compare",
        "A",
        "a folder without a run",
        ("bench", "compare", "dir", "dir"),
        "run: dir holds no run, run.json cannot be read (No such file or directory)",
    ),
    _row("bench compare", "B", "missing", ("bench", "compare", "dir"), "Missing argument 'B'."),
]
#: parameters without a row of their own, and why
EXEMPT = {
    ("bench compare", "--out"): "written last, of two runs; tests/benchmark/test_bench_command.py has it",
}


@dataclass(frozen=True)
class Ending:
    """A command that is not let to finish as it likes: the exit code, what it says, and the files that it leaves."""

    kind: str
    code: int
    says: str
    left: str


ENDINGS = {
    "pipe": Ending("output goes to a pipe whose reader has gone (`… | head -1`)", 0, "", "all files, whole"),
    "closed": Ending("output is closed (`>&-`)", 0, "", "all files, whole"),
    "full": Ending(
        *("output goes to a disk that is full", 1),
        *("standard output cannot be written (No space left on device)", "all files, whole"),
    ),
    "silent": Ending("errors are closed (`2>&-`)", 2, "", "nothing"),
    "ascii": Ending(
        "a locale without the letters of the data", 0, "", "all files, whole; question marks in the output"
    ),
    "interrupt": Ending("Ctrl-C (SIGINT) while it solves", 130, "interrupted", "nothing"),
    "terminate": Ending("SIGTERM while it solves", 143, "terminated", "nothing"),
}
