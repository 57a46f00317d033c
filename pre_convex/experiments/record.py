"""What every experiment shares: its setting, its findings beside the paper's, and the files they are kept in."""

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

from ..errors import DataError
from ..files import DAMAGE, as_path, check_plain, write_text, write_whole, writing
from ..progress import track
from ..rng import as_generator
from ..threads import one_thread_each
from ..versions import versions_of

if TYPE_CHECKING:
    from ..plots.canvas import Figure

__all__ = [
    "EXPERIMENTS",
    "Finding",
    "Outcome",
    "Setting",
    "load_experiment",
    "perform",
    "read_outcome",
    "write_outcome",
]

#: names, in the order of the paper; the module of each has underscores for hyphens
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
#: packages whose versions stand in a stored result
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
    quick : bool
        A small version of the same experiment, seconds instead of minutes.
    seed : int
        Seed of everything random.
    show : bool
        Whether to show progress.
    mnist : Path, optional
        Folder with MNIST's IDX files, for ``digits``.
    """

    quick: bool = False
    seed: int = 0
    show: bool = False
    mnist: Path | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.seed, int):
            raise DataError(f"seed: {self.seed!r} is not a whole number, which a stored result must name")
        as_generator(self.seed, "seed")

    def pick(self, full: Item, quick: Item) -> Item:
        """The full value, or the one of the quick version."""
        return quick if self.quick else full

    def rng(self, *stream: int) -> np.random.Generator:
        """Random numbers of one part of the experiment; other parts have other streams."""
        return np.random.default_rng([self.seed, *stream])

    def track(self, items: Iterable[Item], description: str, total: int) -> Iterator[Item]:
        """The same items, with a bar where progress is shown."""
        return track(items, description, total) if self.show else iter(items)

    def each(self, work: Callable[[Item], Result], items: Sequence[Item], description: str) -> list[Result]:
        """Results of ``work`` in the order of the items, by as many processes as there are cores.

        The quick version stays in this process. ``work`` and its results must be such that pickle can carry them.
        """
        from joblib import Parallel, delayed

        pool = Parallel(n_jobs=self.pick(-1, 1), return_as="generator")
        return list(self.track(pool(delayed(_alone)(work, item) for item in items), description, len(items)))


@one_thread_each()
def _alone(work: Callable[[Item], Result], item: Item) -> Result:
    """The work of one item, in whatever process."""
    return work(item)


@dataclass(frozen=True)
class Finding:
    """One figure, the paper's beside it, and what follows.

    ``verdict`` begins with "holds", "holds when" or "does not hold"; it is empty where the paper claims nothing.
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
    """Findings, the verdict of the experiment as a whole, and the numbers behind them as plain data.

    Seconds that something took are in ``times``: all else is the same whenever the seed is.
    """

    findings: tuple[Finding, ...]
    verdict: str
    data: Mapping[str, Any]
    times: Mapping[str, float] = field(default_factory=dict)


class Experiment(Protocol):
    """What a module of an experiment offers."""

    TITLE: str

    def run(self, setting: Setting) -> Outcome:
        """Compute."""

    def draw(self, data: Mapping[str, Any]) -> Figure:
        """Draw what ``Outcome.data`` holds."""


def load_experiment(name: str) -> Experiment:
    """The module of an experiment."""
    if name not in EXPERIMENTS:
        raise DataError(f"experiment: {name!r} is not known; use one of {', '.join(EXPERIMENTS)}")
    return cast(Experiment, importlib.import_module(f".{name.replace('-', '_')}", __package__))


def perform(name: str, setting: Setting) -> tuple[Outcome, dict[str, Any]]:
    """Run an experiment; its outcome as it can be read back from a file, and that file's content."""
    experiment = load_experiment(name)
    start = time.perf_counter()
    with one_thread_each():  # what scikit-learn and others compute depends on the threads of BLAS otherwise
        outcome = experiment.run(setting)
    record = {
        "experiment": name,
        "title": experiment.TITLE,
        "quick": setting.quick,
        "seed": setting.seed,
        "verdict": outcome.verdict,
        "findings": [vars(finding) for finding in outcome.findings],
        "seconds": round(time.perf_counter() - start, 2),
        "times": {name: round(seconds, 2) for name, seconds in outcome.times.items()},
        "versions": {"python": platform.python_version(), **versions_of(PACKAGES)},
        "data": _plain(outcome.data),
    }
    return _outcome(record), record


def write_outcome(record: Mapping[str, Any], folder: Path) -> Iterator[Path]:
    """Write NAME.json and NAME.png; yields each path once the file is whole."""
    folder = as_path(folder, "folder")
    name, text = record["experiment"], _text(record) + "\n"
    with writing("folder", folder):
        folder.mkdir(parents=True, exist_ok=True)
        yield write_text(folder / f"{name}.json", text)
        figure = load_experiment(name).draw(record["data"])
        yield write_whole(folder / f"{name}.png", lambda path: figure.savefig(path, format="png", dpi=100))


def read_outcome(path: Path) -> tuple[Outcome, dict[str, Any]]:
    """A stored outcome, and all that its file holds."""
    path = as_path(path, "path")
    try:
        check_plain(path)
        record = json.loads(path.read_text(encoding="utf-8"))
        return _outcome(record), record
    except OSError as error:
        raise DataError(f"path: cannot read {path} ({error.strerror})") from error
    except DAMAGE as error:
        raise DataError(f"path: {path} holds no outcome of an experiment; write it with write_outcome") from error


def _outcome(record: Mapping[str, Any]) -> Outcome:
    """The outcome that a file's content holds."""
    if not isinstance(record["verdict"], str) or not isinstance(record["data"], Mapping):
        raise TypeError("verdict is a text, data a mapping")
    findings = tuple(Finding(**finding) for finding in record["findings"])
    return Outcome(findings, record["verdict"], record["data"], record.get("times", {}))


def _plain(value: Any) -> Any:
    """Arrays as lists, numbers with six digits, what is not finite as None."""
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [_plain(part) for part in value]
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return float(f"{value:.{DIGITS}g}") if np.isfinite(value) else None
    if value is None or isinstance(value, str):
        return value
    raise TypeError(f"data: {type(value).__name__} is not plain data")


def _text(value: Any, indent: str = "") -> str:
    """JSON with one entry of a mapping, and one row of numbers, on each line."""
    inner = indent + " "
    if isinstance(value, dict) and value:
        lines = [f"{inner}{json.dumps(key, ensure_ascii=False)}: {_text(part, inner)}" for key, part in value.items()]
        return "{\n" + ",\n".join(lines) + f"\n{indent}}}"
    if isinstance(value, list) and any(isinstance(part, (dict, list)) for part in value):
        return "[\n" + ",\n".join(inner + _text(part, inner) for part in value) + f"\n{indent}]"
    return json.dumps(value, allow_nan=False, ensure_ascii=False)
