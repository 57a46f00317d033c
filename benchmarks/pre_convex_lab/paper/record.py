"""The registry of experiments, what they take and return, and the files their results are stored in."""

from __future__ import annotations

import importlib
import json
import platform
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

import numpy as np

from pre_convex._internal.progress import track
from pre_convex._internal.rng import as_generator
from pre_convex._internal.threads import single_threaded_blas
from pre_convex._internal.versions import installed_versions
from pre_convex.data.files import (
    CORRUPT_FILE_ERRORS,
    as_path,
    atomic_write,
    check_regular_file,
    report_write_errors,
    write_text,
)
from pre_convex.errors import DataError

if TYPE_CHECKING:
    from pre_convex.plots.canvas import Figure

__all__ = [
    "EXPERIMENTS",
    "Finding",
    "Outcome",
    "Setting",
    "load_experiment",
    "perform",
    "read_outcome",
    "summarise",
    "write_outcome",
]

#: names in the order of the paper; the module or package of an experiment has underscores instead of hyphens
EXPERIMENTS = (
    "normality",
    "consistency",
    "dual",
    "latent-signal",
    "keyword",
    "boundary",
    "local-roc",
    "digits",
    "vibration",
)
#: packages whose versions are stored with a result
PACKAGES = (
    *("pre_convex", "numpy", "scipy", "scikit-learn", "cvxpy", "clarabel", "ecos", "scs"),
    *("lime", "ruptures", "skchange"),
)
#: significant digits of stored numbers
DIGITS = 6

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Setting:
    """How an experiment is run.

    Parameters
    ----------
    quick : bool, default False
        Run a small version, which takes seconds instead of minutes.
    seed : int, default 0
        Seed of all random numbers, at least 0.
    show : bool, default False
        Show progress bars.
    mnist : Path, optional
        Folder with MNIST's IDX files, or ``Path("openml")`` to download them; only ``digits`` uses it.

    Examples
    --------
    >>> Setting(quick=True).pick("full", "small")
    'small'
    """

    quick: bool = False
    seed: int = 0
    show: bool = False
    mnist: Path | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.seed, int):
            raise DataError(
                "seed", f"{self.seed!r} is not an integer", "pass an integer, which is stored with the result"
            )
        as_generator(self.seed, "seed")

    def pick(self, full: Item, quick: Item) -> Item:
        """``quick`` in a quick run, else ``full``."""
        return quick if self.quick else full

    def rng(self, *stream: int) -> np.random.Generator:
        """A generator for one part of the experiment; each ``stream`` of integers gives an independent one."""
        return np.random.default_rng([self.seed, *stream])

    def track(self, items: Iterable[Item], description: str, total: int) -> Iterator[Item]:
        """The items, with a progress bar if progress is shown."""
        return track(items, description, total) if self.show else iter(items)

    def each(self, work: Callable[[Item], Result], items: Sequence[Item], description: str) -> list[Result]:
        """Results of ``work`` in the order of the items, from one worker process per core; in this process if quick.

        ``work``, the items and the results must be picklable.
        """
        from joblib import Parallel, delayed

        pool = Parallel(n_jobs=self.pick(-1, 1), return_as="generator")
        return list(self.track(pool(delayed(_single_threaded)(work, item) for item in items), description, len(items)))


@single_threaded_blas()
def _single_threaded(work: Callable[[Item], Result], item: Item) -> Result:
    """``work(item)`` with one BLAS thread, also in a worker process."""
    return work(item)


@dataclass(frozen=True)
class Finding:
    """One row of an experiment's table: our figure, the paper's, and a verdict.

    Parameters
    ----------
    question : str
        What was measured.
    ours : str
        Our figure.
    paper : str, default ""
        What the paper reports or claims.
    verdict : str, default ""
        Begins with "holds" or "does not hold"; empty if there is no claim to judge.
    """

    question: str
    ours: str
    paper: str = ""
    verdict: str = ""

    def __post_init__(self) -> None:
        if self.verdict and not self.verdict.startswith(("holds", "does not hold")):
            raise ValueError(f"verdict: {self.verdict!r} begins with neither 'holds' nor 'does not hold'")


@dataclass(frozen=True)
class Outcome:
    """Result of an experiment.

    Parameters
    ----------
    findings : tuple of Finding
        The rows of the table.
    claims : mapping of str to bool
        Claims in plain words, and whether each holds in this run.
    data : mapping
        The numbers behind the findings: mappings, lists, arrays, numbers and strings. Everything that ``draw`` needs.
    times : mapping of str to float, default {}
        Seconds taken by parts of the run. All other fields depend on the seed alone.
    """

    findings: tuple[Finding, ...]
    claims: Mapping[str, bool]
    data: Mapping[str, Any]
    times: Mapping[str, float] = field(default_factory=dict)

    @property
    def verdict(self) -> str:
        """The claims in one line."""
        return summarise([self.claims])


def summarise(runs: Sequence[Mapping[str, bool]]) -> str:
    """Claims of one run, or of the same experiment on several seeds, in one line.

    A claim that some runs could not test is counted over the others.

    Examples
    --------
    >>> summarise([{"estimates are normal": True, "the paper's covariance is right": False}])
    "True: estimates are normal. False: the paper's covariance is right."
    >>> summarise([{"a": True, "b": True, "c": False}, {"a": True, "b": False, "c": False}])
    'True in all 2 runs: a. True in 1 of 2: b. False in all 2 runs: c.'
    """
    groups: dict[tuple[int, int], list[str]] = {}
    for text in dict.fromkeys(text for claims in runs for text in claims):
        found = [claims[text] for claims in runs if text in claims]
        groups.setdefault((sum(found), len(found)), []).append(text)
    lines = []
    for (count, total), texts in sorted(groups.items(), key=lambda group: -group[0][0] / group[0][1]):
        share = f" in {count} of {total}" if 0 < count < total else f" in all {total} runs"
        lines.append(f"{'True' if count else 'False'}{share if len(runs) > 1 else ''}: {'; '.join(texts)}.")
    return " ".join(lines)


class Experiment(Protocol):
    """What the module of an experiment must define."""

    TITLE: str

    def run(self, setting: Setting) -> Outcome:
        """Compute the outcome."""

    def draw(self, data: Mapping[str, Any]) -> Figure:
        """Draw the figure from ``Outcome.data``, also if that was read from a file."""


def load_experiment(name: str) -> Experiment:
    """Import the module of an experiment.

    Parameters
    ----------
    name : str
        One of ``EXPERIMENTS``.

    Returns
    -------
    module
        With ``TITLE``, ``run(setting)`` and ``draw(data)``.

    Examples
    --------
    >>> load_experiment("dual").TITLE
    'Is the relaxed dual consistent, and are its multipliers δ?'
    """
    if name not in EXPERIMENTS:
        raise DataError("name", f"there is no experiment {name!r}", f"use one of {', '.join(EXPERIMENTS)}")
    return cast(Experiment, importlib.import_module(f".{name.replace('-', '_')}", __package__))


def perform(name: str, setting: Setting) -> tuple[Outcome, dict[str, Any]]:
    """Run an experiment.

    Parameters
    ----------
    name : str
        One of ``EXPERIMENTS``.
    setting : Setting
        Size, seed and data of the run.

    Returns
    -------
    outcome : Outcome
        The result, with its numbers rounded as in a stored file.
    record : dict
        What ``write_outcome`` stores: the outcome with title, setting, versions and time.
    """
    experiment = load_experiment(name)
    start = time.perf_counter()
    with single_threaded_blas():  # results of BLAS, and so of scikit-learn, depend on the number of threads
        outcome = experiment.run(setting)
    record = {
        "experiment": name,
        "title": experiment.TITLE,
        "quick": setting.quick,
        "seed": setting.seed,
        "claims": {text: bool(holds) for text, holds in outcome.claims.items()},
        "findings": [vars(finding) for finding in outcome.findings],
        "seconds": round(time.perf_counter() - start, 2),
        "times": {name: round(seconds, 2) for name, seconds in outcome.times.items()},
        "versions": {"python": platform.python_version(), **installed_versions(PACKAGES)},
        "data": to_plain(outcome.data),
    }
    return _outcome(record), record


def write_outcome(record: Mapping[str, Any], folder: Path) -> Iterator[Path]:
    """Write NAME.json and NAME.png, each atomically.

    Parameters
    ----------
    record : mapping
        From ``perform`` or ``read_outcome``.
    folder : Path
        Made if missing.

    Yields
    ------
    Path
        Each file once it is complete.
    """
    folder = as_path(folder, "folder")
    name, text = record["experiment"], to_json(record) + "\n"
    with report_write_errors("folder", folder):
        folder.mkdir(parents=True, exist_ok=True)
        yield write_text(folder / f"{name}.json", text)
        figure = load_experiment(name).draw(record["data"])
        yield atomic_write(folder / f"{name}.png", lambda path: figure.savefig(path, format="png", dpi=100))


def read_outcome(path: Path) -> tuple[Outcome, dict[str, Any]]:
    """Read a file written by ``write_outcome``.

    Parameters
    ----------
    path : Path
        A JSON file.

    Returns
    -------
    outcome : Outcome
    record : dict
        The whole content of the file.
    """
    path = as_path(path, "path")
    try:
        check_regular_file(path)
        record = json.loads(path.read_text(encoding="utf-8"))
        return _outcome(record), record
    except OSError as error:
        raise DataError(
            "path", f"cannot read {path} ({error.strerror})", "pass a JSON file that `pre-convex experiment` wrote"
        ) from error
    except CORRUPT_FILE_ERRORS as error:
        raise DataError(
            "path", f"{path} is not the result of an experiment", "pass a JSON file that `pre-convex experiment` wrote"
        ) from error


def _outcome(record: Mapping[str, Any]) -> Outcome:
    """The outcome in the content of a file."""
    if not isinstance(record["claims"], Mapping) or not isinstance(record["data"], Mapping):
        raise TypeError("claims and data must be mappings")
    findings = tuple(Finding(**finding) for finding in record["findings"])
    return Outcome(findings, record["claims"], record["data"], record.get("times", {}))


def to_plain(value: Any) -> Any:
    """Data for JSON: arrays as lists, numbers to six digits, nan and infinities as None.

    Examples
    --------
    >>> to_plain({"a": np.array([1 / 3, np.nan]), 2: np.bool_(True), "b": (np.int64(3), "x", None)})
    {'a': [0.333333, None], '2': True, 'b': [3, 'x', None]}
    """
    if isinstance(value, Mapping):
        return {str(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [to_plain(item) for item in value]
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return float(f"{value:.{DIGITS}g}") if np.isfinite(value) else None
    if value is None or isinstance(value, str):
        return value
    raise TypeError(f"data: {type(value).__name__} is not plain data")


def to_json(value: Any, indent: str = "") -> str:
    """JSON with each entry of a mapping, and each row of numbers, on a line of its own.

    Examples
    --------
    >>> print(to_json({"rows": [[1, 2], [3, 4]], "name": "ü"}))
    {
     "rows": [
      [1, 2],
      [3, 4]
     ],
     "name": "ü"
    }
    """
    inner = indent + " "
    if isinstance(value, dict) and value:
        lines = [f"{inner}{json.dumps(key, ensure_ascii=False)}: {to_json(item, inner)}" for key, item in value.items()]
        return "{\n" + ",\n".join(lines) + f"\n{indent}}}"
    if isinstance(value, list) and any(isinstance(item, (dict, list)) for item in value):
        return "[\n" + ",\n".join(inner + to_json(item, inner) for item in value) + f"\n{indent}]"
    return json.dumps(value, allow_nan=False, ensure_ascii=False)
