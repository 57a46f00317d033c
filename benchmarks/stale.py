"""List stored results whose code has changed since they were stored: ``make stale``.

Every stored result declares the code that it depends on. Storing it writes a checksum of that code to
``benchmarks/results/checksums.json``; a result is stale if the checksum of today's code differs. Comments, docstrings
and formatting do not count. The site shows a warning above tables that quote a stale result.
"""

from __future__ import annotations

import ast
import json
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from functools import cache
from hashlib import sha256
from pathlib import Path

ROOT = Path(__file__).parents[1]
CHECKSUMS = ROOT / "benchmarks" / "results" / "checksums.json"
#: when the script that stores results started: code that is changed later is not the code that ran
STARTED = time.time()


@dataclass(frozen=True)
class Result:
    """A stored result: its files, the code it depends on, how to refresh it, and the tables that quote it.

    Code is listed as files, or as folders with all Python files below them. A quote is a page and a mark on it.
    """

    files: tuple[str, ...]
    command: str
    code: tuple[str, ...]
    quotes: tuple[tuple[str, str], ...] = ()


#: parts of the library that change no answer of a solve: readers of tables, and checks, which change errors only
_NOT_ENGINE = (
    *("__init__.py", "__main__.py", "__pycache__", "errors.py", "py.typed"),
    *("statistics", "estimators", "plots", "applications", "teaching", "cli"),
    *(f"data/{name}.py" for name in ("cells", "csv_files", "files", "formulas", "parquet", "tables")),
    *(f"_internal/{name}.py" for name in ("escaping", "progress", "validation", "versions")),
)
ENGINE = tuple(
    sorted(
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "pre_convex").rglob("*.py")
        if not any(path.is_relative_to(ROOT / "pre_convex" / name) for name in _NOT_ENGINE)
    )
)
INFERENCE = (*ENGINE, "pre_convex/statistics")
#: mixtures are not part of the other fits
MIXTURE = "pre_convex/estimators/mixture.py"
FITS = (
    *INFERENCE,
    *sorted(
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "pre_convex" / "estimators").glob("*.py")
        if path != ROOT / MIXTURE
    ),
)
EXPLANATION, DETECTION = "pre_convex/applications/explanation", "pre_convex/applications/detection"
#: problems of the solver benchmark, and how it runs contenders and judges answers
SETS = ("benchmarks/pre_convex_lab/solvers/cases.py", "benchmarks/pre_convex_lab/solvers/sets")
JUDGE = tuple(f"benchmarks/pre_convex_lab/solvers/{name}.py" for name in ("contenders", "metrics", "attempt"))
#: environments that the tests are run in
ENVIRONMENTS = (("oldest", "3.11"), ("pinned", "3.12"), ("newest", "3.12"), ("newest", "3.13"))
#: modules of each experiment in ``pre_convex_lab.paper``, and the application that it uses
EXPERIMENTS = {
    "boundary": ("boundary.py", "local_classifiers.py", EXPLANATION),
    "consistency": ("consistency.py",),
    "digits": ("digits", "local_classifiers.py", EXPLANATION),
    "dual": ("dual.py",),
    "keyword": ("keyword", DETECTION),
    "latent-signal": ("latent_signal.py", "roc.py", DETECTION),
    "local-roc": ("local_roc.py", "local_classifiers.py", EXPLANATION),
    "normality": ("normality.py",),
    "vibration": ("vibration", "roc.py", DETECTION),
}


def _scripts(*names: str) -> tuple[str, ...]:
    return tuple(f"benchmarks/{name}.py" for name in names)


def _csv(*names: str) -> tuple[str, ...]:
    return tuple(f"benchmarks/results/{name}.csv" for name in names)


def _paper(names: Iterable[str]) -> tuple[str, ...]:
    own = (name if "/" in name else f"benchmarks/pre_convex_lab/paper/{name}" for name in names)
    return (*own, *(f"benchmarks/pre_convex_lab/paper/{name}.py" for name in ("intervals", "record")))


_SOLVER_MARKS = (
    *("recommendation", "summary", "success", "claims", "times", "growth", "primal-dual", "unsolved", "method"),
)
RESULTS: dict[str, Result] = {
    "ablation": Result(
        _csv("ablation", "ablation-first-edition"),  # the second is of version 0.1, and stays as it is
        "make ablation ARGS=--store",
        (*ENGINE, *_scripts("ablation", "special_cases", "realistic", "realistic_tables", "random_problems"), *SETS),
        (("docs/ablation.md", "ablation"),),
    ),
    "adversary": Result(
        _csv("adversary"),
        "make adversary ARGS=--store",
        (*ENGINE, *_scripts("adversary", "hard_problems", "ball_judge", "independent")),
    ),
    "campaign": Result(
        _csv("campaign"),
        "make campaign ARGS=--store",
        (
            *ENGINE,
            *_scripts("campaign", "ball_judge", "hard_problems", "independent", "fifty_digits", "random_problems"),
            SETS[0],
        ),
        (("docs/robustness.md", "campaign"),),
    ),
    "costs": Result(
        _csv("costs"),
        "make costs ARGS=--store",
        (*ENGINE, *_scripts("costs", "scale")),
        (("benchmarks/README.md", "costs"),),
    ),
    "coverage": Result(
        _csv("coverage"),
        "make coverage ARGS=--store",
        (*INFERENCE, *_scripts("interval_coverage", "interval_settings")),
        (("docs/coverage.md", "coverage"),),
    ),
    "effect-coverage": Result(
        _csv("effect-coverage"),
        "python benchmarks/effect_coverage.py --store",
        (*FITS, "pre_convex/applications/balancing.py", *_scripts("effect_coverage")),
    ),
    "efficiency": Result(
        _csv("efficiency"),
        "make efficiency ARGS=--store",
        (
            *ENGINE,
            *(f"pre_convex/statistics/{name}.py" for name in ("logistic", "specification", "inference", "tilted")),
            *_scripts("efficiency"),
        ),
        (("docs/efficiency.md", "efficiency"),),
    ),
    **{
        f"environments/{kind}-{python}": Result(
            _csv("environments"),
            f"make test-{kind} PYTHON=python{python}",
            ("pre_convex", "benchmarks/pre_convex_lab", "tests", "pyproject.toml", "constraints.txt"),
            (("docs/reference/environments.md", "environments"),),
        )
        for kind, python in ENVIRONMENTS
    },
    **{
        name: Result(
            _csv(name),
            "make coverage ARGS=--store",
            (*FITS, EXPLANATION, *_scripts("explanation_coverage")),
            (("docs/explanation.md", mark),),
        )
        for name, mark in (("explanation", "coverage"), ("explanation-on-off", "on-off"))
    },
    "family-campaign": Result(
        _csv("family-campaign"),
        "python benchmarks/family_campaign.py --store",
        (*ENGINE, *_scripts("family_campaign", "family_judge", "family_problems", "independent", "random_problems")),
        (("docs/robustness.md", "family-campaign"),),
    ),
    "family-coverage": Result(
        _csv("family-coverage"),
        "python benchmarks/family_coverage.py --store",
        (*INFERENCE, *_scripts("family_coverage")),
        (("docs/coverage.md", "family-coverage"),),
    ),
    "family-scale": Result(
        _csv("family-scale"),
        "python benchmarks/family_scale.py --store",
        (*ENGINE, *_scripts("family_scale", "scale")),
        (("docs/scale.md", "family-scale"),),
    ),
    "fuzz": Result(
        _csv("fuzz"),
        "make fuzz ARGS=--store",
        (*FITS, "tests/test_properties.py", "tests/helpers/strategies.py", "tests/helpers/zoo.py"),
        (("docs/robustness.md", "fuzz"),),
    ),
    "fuzz-readers": Result(
        _csv("fuzz-readers"),
        "make fuzz-readers ARGS=--store",
        (
            *("pre_convex/data", "pre_convex/estimators/storage.py", f"{DETECTION}/recordings.py", "tests/fuzz"),
            *(f"benchmarks/pre_convex_lab/solvers/{name}.py" for name in ("case_files", "records")),
            *(f"benchmarks/pre_convex_lab/paper/{name}.py" for name in ("digits/mnist", "record")),
        ),
        (("docs/robustness.md", "fuzz-readers"),),
    ),
    "kang-schafer": Result(
        _csv("kang-schafer"),
        "python benchmarks/kang_schafer.py --store",
        (*FITS, "pre_convex/applications/balancing.py", *_scripts("kang_schafer")),
    ),
    "licences": Result(
        _csv("licences"),
        "make licences",
        ("constraints.txt", *_scripts("licences")),
        (("docs/reference/environments.md", "licences"),),
    ),
    "mutation": Result(
        _csv("mutation", "mutation-survivors"),
        "make mutate",
        (
            *(f"pre_convex/{name}" for name in ("problem.py", "certificate/certificate.py")),
            *(f"pre_convex/statistics/{name}.py" for name in ("inference", "weighted_chi2")),
            *("tests/test_problem.py", "tests/certificate", "tests/penalties/test_ball.py", "tests/test_failures.py"),
            *(f"tests/statistics/test_{name}.py" for name in ("inference", "weighted_chi2", "tilted")),
            "tests/estimators/test_report.py",
        ),
        (("docs/robustness.md", "mutation"),),
    ),
    "peers": Result(
        _csv("peers"),
        "make peers ARGS=--store",
        (*FITS, *_scripts("peers", "peer_ratios", "peer_solvers", "scale"), *SETS, *JUDGE),
        (("benchmarks/README.md", "peers"), ("benchmarks/README.md", "peer-ratios")),
    ),
    "ratios": Result(
        _csv("ratios"),
        "make ratios ARGS=--store",
        (*FITS, MIXTURE, *_scripts("ratios", "ratio_settings")),
        (("docs/ratios.md", "ratios"), ("docs/ratios.md", "ratios-by-kind")),
    ),
    "rigour": Result(
        _csv("rigour"),
        "make rigour ARGS=--store",
        (*ENGINE, *_scripts("rigour", "hard_problems", "ball_judge", "independent")),
        (("docs/robustness.md", "rigour"),),
    ),
    "scale": Result(
        _csv("scale"),
        "make bench-scale ARGS=--store",
        (*FITS, *_scripts("scale")),
        (("benchmarks/README.md", "scale"), ("docs/scale.md", "scale")),
    ),
    "soak": Result(
        _csv("soak"),
        "make soak ARGS=--store",
        (*FITS, *_scripts("soak", "random_problems")),
        (("docs/robustness.md", "soak"),),
    ),
    "solvers": Result(
        ("benchmarks/results/solvers/rows.csv", "benchmarks/results/solvers/run.json"),
        "make solvers ARGS=--fresh",
        (*ENGINE, *SETS, *JUDGE),
        (*(("docs/solvers.md", mark) for mark in _SOLVER_MARKS), ("README.md", "solvers")),
    ),
    "survey": Result(
        _csv("survey"),
        "Rscript benchmarks/survey.R > benchmarks/results/survey.csv",
        ("benchmarks/survey.R",),
    ),
    "tables": Result(
        _csv("tables"),
        "make tables ARGS=--store",
        (*ENGINE, *_scripts("realistic_tables")),
        (("docs/robustness.md", "tables"),),
    ),
    **{
        f"experiments/{name}": Result(
            (f"docs/experiments/{name}.json",),
            f"make experiments ARGS={name}",
            (*FITS, *_paper(modules)),
            ((f"docs/experiments/{name}.md", name), ("docs/experiments/README.md", "verdicts")),
        )
        for name, modules in EXPERIMENTS.items()
    },
    **{
        f"experiment-seeds/{name}": Result(
            ("benchmarks/results/experiment-seeds.json",),
            f'make experiments ARGS="{name} --seeds"',
            (*FITS, *_paper(modules)),
            ((f"docs/experiments/{name}.md", name), ("docs/experiments/README.md", "verdicts")),
        )
        for name, modules in EXPERIMENTS.items()
    },
}


def code_files(parts: Iterable[str]) -> Iterator[Path]:
    """Files of declared code, in a fixed order."""
    for part in parts:
        path = ROOT / part
        yield from sorted(path.rglob("*.py")) if path.is_dir() else [path]


@cache
def code_of(text: str) -> str:
    """Syntax tree of Python code as text, without docstrings; comments and formatting are not in the tree.

    ``ast.dump`` differs between versions of Python in the empty fields, which are left out here.

    Examples
    --------
    >>> code_of("x = 1  # one") == code_of("x = (1)")
    True
    >>> code_of("x = 1") == code_of("x = 2")
    False
    """
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, _HAVE_DOCSTRINGS) and ast.get_docstring(node, clean=False) is not None:
            del node.body[0]
    return _dump(tree)


_HAVE_DOCSTRINGS = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def _dump(node: object) -> str:
    if isinstance(node, ast.AST):
        fields = (f"{name}={_dump(value)}" for name, value in ast.iter_fields(node) if value not in (None, []))
        return f"{type(node).__name__}({', '.join(fields)})"
    return f"[{', '.join(map(_dump, node))}]" if isinstance(node, list) else repr(node)


def checksum(files: Iterable[Path]) -> str:
    """First 16 digits of the SHA-256 of code; files that are not Python count byte by byte."""
    digest = sha256()
    for path in files:
        text = path.read_text(encoding="utf-8")
        digest.update(path.name.encode() + b"\0")
        digest.update((code_of(text) if path.suffix == ".py" else text).encode() + b"\0")
    return digest.hexdigest()[:16]


def stored_checksums() -> dict[str, dict[str, str]]:
    """Checksum, date and version of every result that was stored with one."""
    return json.loads(CHECKSUMS.read_text(encoding="utf-8")) if CHECKSUMS.exists() else {}


def record(name: str) -> None:
    """Write down that a result was stored now, by the code as it is.

    If the code was changed while the script ran, the result is recorded without a checksum, as unknown.
    """
    from pre_convex import __version__  # only here: listing results needs no packages

    files = list(code_files(RESULTS[name].code))
    changed = [path.relative_to(ROOT).as_posix() for path in files if path.stat().st_mtime > STARTED]
    if changed:
        print(f"{name}: code changed during the run, so it is stored without a checksum: {', '.join(changed)}")
    entry = {"checksum": "" if changed else checksum(files), "date": date.today().isoformat(), "version": __version__}
    entries = {**stored_checksums(), name: entry}
    CHECKSUMS.write_text(json.dumps(dict(sorted(entries.items())), indent=1) + "\n", encoding="utf-8")


def states() -> dict[str, str]:
    """By name of a result: "fresh", "stale", or "unknown" if it was stored without a checksum."""
    entries = stored_checksums()
    found = {}
    for name, result in RESULTS.items():
        before = entries.get(name, {}).get("checksum")
        same = before and before == checksum(code_files(result.code))
        found[name] = "unknown" if not before else "fresh" if same else "stale"
    return found


def stale_quotes() -> dict[str, dict[str, str]]:
    """By page and mark, a sentence about every table that quotes a stale result."""
    entries, found = stored_checksums(), {}
    for name, state in states().items():
        if state == "stale":
            when = f"it was stored on {entries[name]['date']} with version {entries[name]['version']}"
            for page, mark in RESULTS[name].quotes:
                text = f"This table is older than the code: {when}. `{RESULTS[name].command}` renews it."
                found.setdefault(page, {})[mark] = text
    return found


def main() -> None:
    entries = stored_checksums()
    lines = [("result", "state", "stored", "version", "command")]
    for name, state in states().items():
        entry = entries.get(name, {})
        lines.append((name, state, entry.get("date", ""), entry.get("version", ""), RESULTS[name].command))
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        print("  ".join(f"{cell:{width}}" for cell, width in zip(line, widths, strict=True)).rstrip())


if __name__ == "__main__":
    main()
