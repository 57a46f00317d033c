"""Formulas without another host: MathJax is taken from its npm package once, and copied into the site."""

import hashlib
import shutil
import subprocess
import tarfile
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

VERSION = "3.2.2"
#: one file that holds everything: it draws formulas as SVG and loads no fonts
FILE = "es5/tex-svg.js"
SHA256 = "d4295dc33744836935c1399feece5159577b34c5c8ffb9f1c6324cd82e03a882"
CACHE = Path(__file__).parents[1] / "_build" / "mathjax"


def fetch() -> Path:
    """The script, from the cache or from the package."""
    script = CACHE / VERSION / Path(FILE).name
    if script.exists() and is_known(script.read_bytes()):
        return script
    npm = shutil.which("npm")
    if npm is None:
        raise ExtensionError("npm is not installed, and MathJax comes from an npm package; install Node.js with npm")
    CACHE.mkdir(parents=True, exist_ok=True)
    ran = subprocess.run([npm, "pack", "--silent", f"mathjax@{VERSION}"], cwd=CACHE, capture_output=True, text=True)
    if ran.returncode != 0:
        raise ExtensionError(f"npm could not fetch mathjax {VERSION}: {ran.stderr.strip()}")
    package = CACHE / f"mathjax-{VERSION}.tgz"
    with tarfile.open(package) as archive:
        member = archive.extractfile(f"package/{FILE}")
        assert member is not None
        content = member.read()
    package.unlink()
    if not is_known(content):
        raise ExtensionError(f"{FILE} of mathjax {VERSION} is not the file that this site was made with")
    script.parent.mkdir(exist_ok=True)
    part = script.with_suffix(".part")
    part.write_bytes(content)
    part.replace(script)
    return script


def is_known(content: bytes) -> bool:
    """Whether this is the script that the site was made with."""
    return hashlib.sha256(content).hexdigest() == SHA256


def copy(app: Sphinx, error: Exception | None) -> None:
    """Put the script into the finished site."""
    if error is None and app.builder.format == "html":
        folder = Path(app.outdir) / "_static"
        shutil.copyfile(fetch(), folder / "mathjax.js")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.config.mathjax_path = "mathjax.js"
    app.connect("builder-inited", lambda app: fetch() if app.builder.format == "html" else None)
    app.connect("build-finished", copy)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
