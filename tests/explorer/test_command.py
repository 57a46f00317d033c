"""``pre-convex explore`` and the page that it writes."""

import re
from pathlib import Path

import pytest

from pre_convex.teaching import explorer


@pytest.fixture
def run(run_here):
    return lambda *arguments, folder=".": run_here("explore", "--no-open", *arguments, cwd=folder)


def test_it_writes_the_page_and_says_where(tmp_path, run):
    out = tmp_path / "new" / "page.html"
    result = run("--out", str(out))
    assert result.returncode == 0, result.stderr
    assert str(out) in result.stdout
    assert out.read_text(encoding="utf-8") == explorer.page()


def test_without_a_file_it_goes_where_the_user_is(tmp_path, run):
    """Browsers in a sandbox, such as Ubuntu's, may not read a hidden folder of settings, nor a temporary one."""
    for _ in range(2):
        result = run(folder=tmp_path)
        assert result.returncode == 0, result.stderr
    path = tmp_path / result.stdout.strip().removeprefix("Duality explorer: ")
    assert [path] == list(tmp_path.iterdir())
    assert path.read_text(encoding="utf-8") == explorer.page()


def test_a_place_that_cannot_be_written_to_is_one_line_and_exit_code_two(tmp_path, run):
    (tmp_path / "file").write_text("in the way")
    result = run("--out", str(tmp_path / "file" / "page.html"))
    assert result.returncode == 2
    assert result.stderr.startswith("pre-convex: --out: cannot write")
    assert len(result.stderr.splitlines()) == 1
    assert run("--out", str(tmp_path)).returncode == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file"]  # nothing half-written is left


def test_the_page_is_whole_and_refers_to_nothing_outside():
    text = explorer.page()
    folder = Path(explorer.__file__).parent
    scripts = {path.relative_to(folder).as_posix() for path in folder.rglob("*.js")}
    assert scripts == set(explorer.SCRIPTS)  # no file is forgotten
    addresses = set(re.findall(r"https?:[^\s\"'<>)]+", text))
    assert addresses == {"http://www.w3.org/2000/svg"}  # the name of SVG, which is never asked for
    assert not re.search(r"\b(fetch|XMLHttpRequest|WebSocket|import)\s*\(|@import|url\((?!#)", text)


def test_the_guide_names_presets_that_exist():
    guide = (Path(__file__).parents[2] / "docs" / "explorer.md").read_text(encoding="utf-8")
    named = set(re.findall(r"#preset=(\w+)", guide))
    known = set(re.findall(r'key: "(\w+)"', explorer.page()))
    assert len(named) >= 6
    assert named <= known
