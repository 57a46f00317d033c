"""What is shipped: contents of wheel and sdist, an install without extras, no network, versions, licences."""

import csv
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email import message_from_string
from pathlib import Path

import dist_check
import environments
import licences
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version
from quotes import quoted

ROOT = Path(__file__).parents[1]


ABOUT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PAGE = ROOT / "docs" / "reference" / "environments.md"


def build(source, folder):
    """Wheel and sdist of a source tree, without network."""
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return wheel, sdist


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    return build(ROOT, tmp_path_factory.mktemp("dist"))


def tracked():
    """Files of the repository, and new ones in the folders that are shipped; in an unpacked sdist, all files."""
    included = ABOUT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    shipped = [name for name in included if (ROOT / name).is_dir()]
    commands = (["-c"], ["-o", "--exclude-standard", "--", *shipped])  # others in the root, such as a log, are not ours
    listed = [subprocess.run(["git", "ls-files", *c], cwd=ROOT, capture_output=True, text=True) for c in commands]
    if all(run.returncode == 0 for run in listed):
        return {name for run in listed for name in run.stdout.splitlines() if (ROOT / name).exists()}
    return {p.relative_to(ROOT).as_posix() for p in ROOT.rglob("*") if p.is_file() and "__pycache__" not in p.parts}


def contents(wheel):
    with zipfile.ZipFile(wheel) as file:
        return {name: file.read(name) for name in file.namelist()}


def test_the_wheel_holds_the_package_and_nothing_else(built):
    found = contents(built[0])
    info = f"pre_convex-{ABOUT['project']['version']}.dist-info"
    facts = {f"{info}/{name}" for name in ("METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE")}
    packages = {name.removeprefix("benchmarks/") for name in tracked() if "pre_convex" in name.split("/")[0]}
    packages |= {
        name.removeprefix("benchmarks/") for name in tracked() if name.startswith("benchmarks/pre_convex_lab/")
    }
    assert set(found) == facts | packages
    lessons = {path.relative_to(ROOT).as_posix() for path in ROOT.glob("pre_convex/teaching/lessons/[0-9][0-9]_*.py")}
    assert {"pre_convex/py.typed", "pre_convex/teaching/explorer/page.html", *lessons} <= set(found)
    assert found[f"{info}/licenses/LICENSE"] == (ROOT / "LICENSE").read_bytes()


def test_the_metadata_say_what_pyproject_says(built):
    found = contents(built[0])
    (name,) = (name for name in found if name.endswith("/METADATA"))
    about = message_from_string(found[name].decode())
    assert about["License-Expression"] == "Apache-2.0"
    assert about["Requires-Python"] == ">=3.11"
    own = [Requirement(r) for r in about.get_all("Requires-Dist")]
    assert {r.name for r in own if "extra" not in str(r.marker)} == {
        Requirement(r).name for r in ABOUT["project"]["dependencies"]
    }
    assert set(about.get_all("Provides-Extra")) == set(ABOUT["project"]["optional-dependencies"])
    assert about.get_payload().strip() == (ROOT / "README.md").read_text(encoding="utf-8").strip()


def test_the_sdist_is_the_repository_and_builds_the_same_wheel(built, tmp_path):
    wheel, sdist = built
    with tarfile.open(sdist) as file:
        file.extractall(tmp_path, filter="data")
    (source,) = tmp_path.iterdir()
    found = {p.relative_to(source).as_posix() for p in source.rglob("*") if p.is_file()}
    for_hosts = (".ci/", ".github/")
    assert found - {"PKG-INFO"} == {name for name in tracked() if not name.startswith(for_hosts)} - {"PKG-INFO"}
    again, _ = build(source, tmp_path / "again")
    assert contents(again) == contents(wheel)


def test_without_extras_the_example_of_the_readme_runs_and_what_is_missing_is_named(built, tmp_path):
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "empty"], check=True)
    (site,) = (tmp_path / "empty").glob("lib/python*/site-packages")
    # dependencies come from this environment, and only they: extras are as absent as where they were never installed
    for package in licences.closure(licences.declared()["package"]):
        for top in {Path(file).parts[0] for file in package.files if ".." not in Path(file).parts}:
            here = Path(package.locate_file(top))
            if here.exists() and top != "__pycache__" and not (site / top).exists():
                (site / top).symlink_to(here)
    with zipfile.ZipFile(built[0]) as file:
        file.extractall(site)
    missing = {"arviz_stats", "dask", "lime", "matplotlib", "pyarrow", "rich", "ruptures", "typer", "zarr"}
    assert not missing & {path.name for path in site.iterdir()}
    said = dist_check.check_without_extras(tmp_path / "empty" / "bin" / "python", tmp_path)
    assert said[-1].startswith("pre-convex: ")


#: put before a run by being called sitecustomize: whoever asks for another machine fails, and is written down
WATCH = """
import os, sys
LOG = {log!r}
def note(event, args):
    if event not in ("socket.connect", "socket.sendto", "socket.getaddrinfo", "socket.gethostbyname", "urllib.Request"):
        return
    if event == "socket.connect" and not isinstance(args[1], tuple):
        return  # a socket of this machine
    with open(LOG, "a") as file:
        print(os.getpid(), event, *args[1 - (event != "socket.connect"):], file=file)
    raise OSError("network: " + event)
sys.addaudithook(note)
"""
#: all modules, then the example of README, a cone solver, then the command line
EVERYTHING = """
import pkgutil, importlib, sys
import pre_convex
for module in pkgutil.walk_packages(pre_convex.__path__, "pre_convex."):
    if ".lessons" not in module.name and not module.name.endswith("make_speech"):
        importlib.import_module(module.name)
exec(sys.argv[1])
pre.solve(fit.problem_, "dual", "CLARABEL", tol=1e-4)
for name, x in (("p.csv", x_p), ("q.csv", x_q)):
    np.savetxt(name, x[:200], delimiter=",", header="a,b", comments="")
from pre_convex.__main__ import main
for command in (["--help"], ["solvers"], ["fit", "p.csv", "q.csv"], ["teach", "1"], ["explore"]):
    sys.argv = ["pre-convex", *command]
    try:
        main()
    except SystemExit as end:
        assert not end.code, (command, end.code)
print("all done")
"""


def watched(code, folder, *arguments):
    log = folder / "log"
    log.touch()
    (folder / "sitecustomize.py").write_text(WATCH.format(log=str(log)), encoding="utf-8")
    here = {**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}", "MPLBACKEND": "agg"}
    command = [sys.executable, "-P", "-c", code, *arguments]
    done = subprocess.run(command, cwd=folder, env=here, capture_output=True, text=True)
    return done, log.read_text()


def test_nothing_asks_for_another_machine(tmp_path):
    done, asked = watched(EVERYTHING, tmp_path, dist_check.example()[0])
    assert done.stdout.endswith("all done\n"), done.stdout[-2000:] + done.stderr[-2000:]
    assert asked == ""


@pytest.mark.parametrize(
    "code",
    [
        "import socket; socket.create_connection(('192.0.2.1', 80), timeout=1)",
        "import urllib.request; urllib.request.urlopen('http://192.0.2.1/', timeout=1)",
        "import socket; socket.socket().connect(('192.0.2.1', 80))",
    ],
)
def test_and_who_does_is_caught(code, tmp_path):
    done, asked = watched(code, tmp_path)
    assert done.returncode == 1
    assert asked.count("192.0.2.1") >= 1


def names(requirements):
    """Names of requirements, less the package itself."""
    return {canonicalize_name(Requirement(r).name) for r in requirements if not r.startswith("pre_convex")}


def everything():
    """Names of all that pyproject.toml asks for, by where it stands."""
    found = {"package": names(ABOUT["project"]["dependencies"])}
    found |= {extra: names(rs) for extra, rs in ABOUT["project"]["optional-dependencies"].items()}
    return found | {
        group: names(r for r in rs if isinstance(r, str)) for group, rs in ABOUT["dependency-groups"].items()
    }


def test_every_dependency_is_pinned_within_its_bounds():
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").split()
    pinned = {canonicalize_name(name): Version(version) for name, version in (line.split("==") for line in lines)}
    assert len(pinned) == len(lines)
    asked = [r for rs in ABOUT["project"]["optional-dependencies"].values() for r in rs]
    asked += [r for rs in ABOUT["dependency-groups"].values() for r in rs if isinstance(r, str)]
    for text in [*ABOUT["project"]["dependencies"], *asked]:
        requirement = Requirement(text)
        if requirement.name != "pre_convex":
            assert pinned[canonicalize_name(requirement.name)] in requirement.specifier, text


def test_no_script_or_test_passes_for_a_package():
    """Their folders are on the path, and old numba, for one, takes whatever is called coverage for the package."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").split()
    known = {line.split("==")[0].lower().replace("-", "_") for line in lines} | set(sys.stdlib_module_names)
    ours = {path.stem for folder in ("benchmarks", "tests") for path in (ROOT / folder).glob("*.py")}
    assert not known & ours


def test_the_oldest_environment_has_every_lower_bound():
    found = {canonicalize_name(Requirement(pin).name): Requirement(pin) for pin in environments.pins("oldest")}
    groups = everything()
    parts = ["package", *ABOUT["project"]["optional-dependencies"], "frames"]
    assert set(found) == set().union(*(groups[part] for part in parts))
    for text in environments.requirements():
        requirement = Requirement(text)
        (bound,) = requirement.specifier
        assert bound.operator == ">="
        assert str(found[canonicalize_name(requirement.name)].specifier) == f"=={bound.version}"
    assert environments.pins("newest") == []
    assert "numpy==" in " ".join(environments.pins("pinned"))


def stored(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_counts_are_read_from_a_report(tmp_path):
    (tmp_path / "test_some.py").write_text(
        "import pytest\ndef test_a(): pass\ndef test_b(): assert 0\ndef test_c(): pytest.skip('no')\n"
        "@pytest.fixture\ndef bad(): raise ValueError\ndef test_d(bad): pass\ndef test_e(): pass\n"
    )
    command = [sys.executable, "-m", "pytest", "--junitxml=report.xml", "test_some.py"]
    quick = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    subprocess.run(command, cwd=tmp_path, env=quick, capture_output=True)
    assert environments.counted(tmp_path / "report.xml") == {"passed": 2, "failed": 2, "skipped": 1}


def test_the_environments_on_the_page_are_those_that_were_run():
    rows = environments.rows()
    assert quoted(PAGE, "environments") == environments.lines(rows)
    assert all(int(row["passed"]) > 5000 and row["failed"] == "0" for row in rows)
    assert len({(row["python"].rpartition(".")[0], row["dependencies"]) for row in rows}) == len(rows)
    oldest = {Requirement(pin).name: Requirement(pin).specifier for pin in environments.pins("oldest")}
    for row in rows:
        if row["dependencies"] == "oldest":
            assert all(row[name] in oldest[name] for name in environments.PACKAGES)


def test_oldest_and_newest_dependencies_and_every_python_that_is_named_were_run():
    ran = {(row["dependencies"], row["python"].rpartition(".")[0]) for row in environments.rows()}
    assert set(environments.KINDS) == {kind for kind, _ in ran}
    told = {c.rpartition(" ")[2] for c in ABOUT["project"]["classifiers"] if re.search(r":: Python :: 3\.\d+$", c)}
    assert told == {python for _, python in ran}
    versions = sorted(told, key=Version)
    assert ABOUT["project"]["requires-python"] == f">={versions[0]}"
    assert {("oldest", versions[0]), ("newest", versions[-1])} <= ran


PERMISSIVE = {
    "0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "ISC", "MIT", "MIT-0", "MIT-CMU", "PSF-2.0",
    "Zlib",
}  # fmt: skip
#: asks something of those who change its files, and of nobody else
FILES_ONLY = {"MPL-2.0"}


def test_licences_are_known_and_permissive_except_for_two():
    rows = stored(licences.TABLE)
    assert quoted(PAGE, "licences") == licences.lines(rows)
    found = {row["package"]: row for row in rows}
    for part, requirements in licences.declared().items():
        for requirement in requirements:
            row = found[canonicalize_name(requirement.name)]
            assert row["direct"] == "yes"
            assert part in row["part"].split(", ") or row["part"] == "package"
    strict = {
        row["package"]: row["part"]
        for row in rows
        if not set(re.split(r" (?:AND|OR) ", row["licence"])) <= PERMISSIVE | FILES_ONLY
    }
    assert strict == {"ecos": "package", "python-flint": "verify"}


def test_what_is_installed_here_has_the_licences_that_are_stored():
    known = {row["package"]: row["licence"] for row in stored(licences.TABLE)}
    direct = {row["package"]: row["licence"] for row in licences.table() if row["direct"] == "yes"}
    assert len(direct) >= 15
    for name, licence in direct.items():
        parts = set(re.split(r" (?:AND|OR) ", licence))
        # old versions of some say nothing
        assert licence in (known[name], "unknown") or parts <= PERMISSIVE | FILES_ONLY, (name, licence)
