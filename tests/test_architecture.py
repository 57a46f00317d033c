"""The layout: modules import in one direction, the lab stays out of the library, imports are light."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "pre_convex"
DOCS = PACKAGE.parent / "docs"

# a module or subpackage imports only from those above it
LAYERS = [
    ["errors"],
    ["_internal"],
    ["divergences"],
    ["data"],
    ["penalties"],
    ["problem"],
    ["logistic"],
    ["programs"],
    ["feasibility"],
    ["certificate"],
    ["solution"],
    ["solvers"],
    ["statistics"],
    ["estimators"],
    ["plots"],
    ["applications"],
    ["teaching"],
    ["cli"],
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
LAB = PACKAGE.parent / "benchmarks" / "pre_convex_lab"
LESSONS = PACKAGE / "teaching" / "lessons"  # scripts, not modules
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if path.parent != LESSONS)


def unit(path):
    """The top-level module or subpackage that a file belongs to."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def nodes(path):
    """The syntax tree of a file, without what is imported for type checkers only."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    todo = [tree]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
            continue
        yield node
        todo += ast.iter_child_nodes(node)


def imported(path):
    """Top-level modules and subpackages that a file imports, wherever the import is."""
    here = path.relative_to(PACKAGE.parent).with_suffix("").parts[:-1]
    for node in nodes(path):
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


HOMES = {
    "cvxpy": {"divergences", "penalties", "programs", "solvers"},
    "matplotlib": {"plots"},
    "typer": {"cli"},
    "rich": {"cli", "_internal"},
}


@pytest.mark.parametrize("library", HOMES)
def test_libraries_stay_in_their_homes(library):
    users = {unit(path) for path in MODULES if library in roots(path)}
    assert users <= HOMES[library]


def test_log_sum_exp_has_one_home():
    for path in MODULES:
        if path.name != "entropy.py":
            assert "logsumexp" not in path.read_text(encoding="utf-8"), path


def test_the_library_never_imports_the_lab():
    for path in MODULES:
        assert "pre_convex_lab" not in set(roots(path)), path


def test_contributing_lists_every_module():
    text = (PACKAGE.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = text[text.index("| module | holds |") :].split("\n\n")[0]
    listed = set(re.findall(r"`([\w./]+)`", " ".join(line.split("|")[1] for line in table.splitlines()[2:])))
    found = {
        p.name + ("/" if p.is_dir() else "") for p in PACKAGE.iterdir() if p.name not in ("__pycache__", "py.typed")
    }
    assert listed == found
    assert len(found) <= 20


def test_the_newton_path_imports_no_heavy_library():
    code = """
import sys
import pre_convex as pre
assert "numpy" not in sys.modules, "importing the package should load nothing yet"
solution = pre.solve(pre.RatioProblem([0.25, 0.1], [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], radius=0.01))
assert solution.status.ok
heavy = {"cvxpy", "sklearn", "matplotlib", "pandas", "dask", "scipy.optimize", "narwhals"} & set(sys.modules)
assert not heavy, heavy
assert "plots" in dir(pre) and "pre_convex.plots" not in sys.modules
assert callable(pre.plots.plot_ratio)
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_public_names():
    import pre_convex as pre

    for name in pre.__all__:
        assert getattr(pre, name) is not None
        assert name in dir(pre)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = pre.nothing


def test_type_checkers_see_the_names_that_are_loaded_lazily():
    import pre_convex as pre

    tree = ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8"))
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    assert {alias.asname: node.module for node in block.body for alias in node.names} == pre._HOMES


TAG = re.compile(r"(?<!\w)\[([A-Z]{1,6})\]")  # but not an index


def test_equation_tags_are_defined_once_and_used():
    text = (DOCS / "equations.md").read_text(encoding="utf-8")
    defined = re.findall(r"^\*\*\[([A-Z]+)\]\*\*", text, flags=re.M)
    assert len(defined) == len(set(defined)), "a tag is defined twice"
    cited = {tag for path in [*MODULES, *LAB.rglob("*.py")] for tag in TAG.findall(path.read_text(encoding="utf-8"))}
    assert cited - set(defined) == set(), "a tag is cited but not defined"
    assert set(defined) - cited == set(), "a tag is defined but never cited"
