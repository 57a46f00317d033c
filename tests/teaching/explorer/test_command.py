"""``pre-convex explore`` and the page it writes."""

import re
from pathlib import Path

import pytest

from pre_convex.teaching import explorer


@pytest.fixture
def run(run_here):
    return lambda *arguments, folder=".": run_here("explore", "--no-open", *arguments, cwd=folder)


def test_it_writes_the_page_and_prints_the_path(tmp_path, run):
    out = tmp_path / "new" / "page.html"
    result = run("--out", str(out))
    assert result.returncode == 0, result.stderr
    assert str(out) in result.stdout
    assert out.read_text(encoding="utf-8") == explorer.page()


def test_by_default_the_page_goes_to_the_current_folder(tmp_path, run):
    """Sandboxed browsers, such as Ubuntu's, cannot read hidden or temporary folders."""
    for _ in range(2):
        result = run(folder=tmp_path)
        assert result.returncode == 0, result.stderr
    path = tmp_path / result.stdout.strip().removeprefix("Duality explorer: ")
    assert [path] == list(tmp_path.iterdir())
    assert path.read_text(encoding="utf-8") == explorer.page()


def test_an_unwritable_path_prints_one_line_and_exits_with_two(tmp_path, run):
    (tmp_path / "file").write_text("in the way")
    result = run("--out", str(tmp_path / "file" / "page.html"))
    assert result.returncode == 2
    assert result.stderr.startswith("pre-convex: --out: cannot write")
    assert len(result.stderr.splitlines()) == 1
    assert run("--out", str(tmp_path)).returncode == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file"]  # nothing half-written is left


def test_the_page_is_self_contained():
    text = explorer.page()
    folder = Path(explorer.__file__).parent
    scripts = {path.relative_to(folder).as_posix() for path in folder.rglob("*.js")}
    assert scripts == set(explorer.SCRIPTS)  # no file is forgotten
    addresses = set(re.findall(r"https?:[^\s\"'<>)]+", text))
    assert addresses == {"http://www.w3.org/2000/svg"}  # the SVG namespace, which is never requested
    assert not re.search(r"\b(fetch|XMLHttpRequest|WebSocket|import)\s*\(|@import|url\((?!#)", text)


def test_the_guide_names_presets_that_exist():
    guide = (Path(__file__).parents[3] / "docs" / "explorer.md").read_text(encoding="utf-8")
    named = set(re.findall(r"#preset=(\w+)", guide))
    known = set(re.findall(r'key: "(\w+)"', explorer.page()))
    assert len(named) >= 6
    assert named <= known
