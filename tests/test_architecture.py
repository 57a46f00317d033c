"""The layout holds: layers, one home for exp and log, light imports, defined equation tags."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "pre_convex"
DOCS = PACKAGE.parent / "docs"

# a module imports only from lines above its own (or from its own line inside a folder)
LAYERS = [
    ["errors"],
    ["entropy"],
    ["arrays", "linear", "threads"],
    ["norms", "rng"],
    ["checks", "files", "progress", "versions"],
    ["parquet"],
    ["sources"],
    ["tables"],
    ["passes"],
    ["coordinates"],
    ["features", "likelihoods"],
    ["kernels"],
    ["blocks"],
    ["distributed"],
    ["assembly"],
    ["problem"],
    ["feasibility"],
    ["programs"],
    ["lift"],
    ["solution"],
    ["solvers"],
    ["influence"],
    ["inference"],
    ["selection"],
    ["bootstrap", "diagnostics", "theory"],
    ["report"],
    ["estimators"],
    ["classifier"],
    ["storage"],
    ["plots"],
    ["applications"],
    ["experiments", "benchmark"],
    ["teaching"],
    ["fitting"],
    ["cli"],
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
LESSONS = PACKAGE / "teaching" / "lessons"  # scripts, not modules
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if path.parent != LESSONS)


def unit(path):
    """The line of LAYERS that a file belongs to."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported(path):
    """Units of the package that a file imports, wherever the import stands."""
    here = path.relative_to(PACKAGE.parent).with_suffix("").parts[:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            base = list(here[: len(here) - node.level + 1]) if node.level else []
            full = [*base, *(node.module.split(".") if node.module else [])]
            if full[:1] == ["pre_convex"]:
                yield from [full[1]] if len(full) > 1 else [alias.name for alias in node.names]
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.startswith("pre_convex."):
                    yield alias.name.split(".")[1]


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_layers(path):
    name = unit(path)
    if name in ("__init__", "__main__"):
        return
    assert name in LEVEL, f"{name} has no place in LAYERS"
    for other in imported(path):
        if other != name:
            assert LEVEL[other] < LEVEL[name], f"{path.name} imports {other}, which is not below it"


def roots(path):
    """First names of everything a file imports."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            yield node.module.split(".")[0]


HOMES = {"cvxpy": {"programs", "solvers"}, "matplotlib": {"plots"}, "typer": {"cli"}, "rich": {"cli", "progress"}}


@pytest.mark.parametrize("library", HOMES)
def test_libraries_stay_in_their_homes(library):
    users = {unit(path) for path in MODULES if library in roots(path)}
    assert users <= HOMES[library]


def test_exp_and_log_live_in_entropy():
    pattern = re.compile(r"\bnp\.(exp|log|expm1|log1p|logaddexp)\(|\blogsumexp\b")
    for path in MODULES:
        if path.name != "entropy.py":
            code = re.sub(r'""".*?"""', "", path.read_text(encoding="utf-8"), flags=re.S)
            assert not pattern.search(code), f"{path.name} computes exp or log itself"


def test_no_file_is_two_ideas():
    long = {path.name: n for path in MODULES if (n := len(path.read_text(encoding="utf-8").splitlines())) > 420}
    assert not long


def test_the_newton_path_imports_no_heavy_library():
    code = """
import sys
import pre_convex as pre
assert "numpy" not in sys.modules, "importing the package should load nothing yet"
solution = pre.solve(pre.RatioProblem([0.25, 0.1], [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], radius=0.01))
assert solution.status.ok
heavy = {"cvxpy", "sklearn", "matplotlib", "pandas", "dask", "scipy.optimize", "narwhals"} & set(sys.modules)
assert not heavy, heavy
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_public_names():
    import pre_convex as pre

    for name in pre.__all__:
        assert getattr(pre, name) is not None
        assert name in dir(pre)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = pre.nothing


TAG = re.compile(r"\[([A-Z]{1,6})\]")


def test_equation_tags_are_defined_once_and_used():
    text = (DOCS / "equations.md").read_text(encoding="utf-8")
    defined = re.findall(r"^\*\*\[([A-Z]+)\]\*\*", text, flags=re.M)
    assert len(defined) == len(set(defined)), "a tag is defined twice"
    cited = {tag for path in MODULES for tag in TAG.findall(path.read_text(encoding="utf-8"))}
    assert cited - set(defined) == set(), "a tag is cited but not defined"
    assert set(defined) - cited == set(), "a tag is defined but never cited"
