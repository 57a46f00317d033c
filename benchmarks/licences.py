"""Licences of all packages that this package and its extras install: ``make licences``.

Writes ``benchmarks/results/licences.csv`` and the table on the page; packages that are not installed are left out.
"""

from __future__ import annotations

import csv
import re
import tomllib
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from stale import record
from storing import ROOT, markdown_table, quote

TABLE = ROOT / "benchmarks" / "results" / "licences.csv"
PAGE = "docs/reference/environments.md"

#: SPDX identifiers for the texts that packages without a licence expression use
NAMES = {
    "Apache License 2.0": "Apache-2.0",
    "Apache License, Version 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "Apache Software License 2.0": "Apache-2.0",
    "Apache 2.0": "Apache-2.0",
    "Apache": "Apache-2.0",
    "BSD": "BSD-3-Clause",
    "BSD License": "BSD-3-Clause",
    "BSD 3-Clause": "BSD-3-Clause",
    "BSD 3-Clause License": "BSD-3-Clause",
    "BSD-3-Clause License": "BSD-3-Clause",
    "BSD 2-Clause License": "BSD-2-Clause",
    "GPLv3": "GPL-3.0-only",
    "GNU General Public License v3 (GPLv3)": "GPL-3.0-only",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
}


def licence_of(package: Distribution) -> str:
    """SPDX expression from the licence expression, licence field or classifiers of a package, or "unknown"."""
    about = package.metadata
    if expression := about.get("License-Expression"):
        return str(expression)
    classified = [c.rpartition(" :: ")[2] for c in about.get_all("Classifier", []) if c.startswith("License :: OSI")]
    line = (about.get("License") or "").strip()
    for text in [line, *classified]:
        if text in NAMES or text in NAMES.values():
            return NAMES.get(text, text)
    return line if 0 < len(line) < 40 and "\n" not in line else "unknown"


def declared() -> dict[str, list[Requirement]]:
    """Requirements in pyproject.toml: those of the package itself, and those of each extra."""
    about = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found = {"package": about["dependencies"], **about["optional-dependencies"]}
    own = {part: [Requirement(r) for r in rs if not r.startswith(about["name"])] for part, rs in found.items()}
    return {part: requirements for part, requirements in own.items() if requirements}


def closure(requirements: Iterable[Requirement]) -> Iterator[Distribution]:
    """Installed packages that the requirements need, directly or not, each once."""
    todo = [(r, extra) for r in requirements for extra in ("", *r.extras)]
    seen = set()
    while todo:
        requirement, extra = todo.pop()
        key = (canonicalize_name(requirement.name), extra)
        if key in seen or (requirement.marker and not requirement.marker.evaluate({"extra": extra})):
            continue
        try:
            package = distribution(requirement.name)
        except PackageNotFoundError:
            continue
        if not any(name == key[0] for name, _ in seen):
            yield package
        seen.add(key)
        for line in package.requires or []:
            further = Requirement(line)
            if further.marker is None or further.marker.evaluate({"extra": extra}):
                further.marker = None
                todo += [(further, e) for e in ("", *further.extras)]


def table() -> list[dict[str, str]]:
    """One row for each package: its licence, and which extra needs it."""
    parts: dict[str, list[str]] = {}
    licences = {}
    direct = {canonicalize_name(r.name) for rs in declared().values() for r in rs}
    for part, requirements in declared().items():
        for package in closure(requirements):
            name = canonicalize_name(package.name)
            licences[name] = licence_of(package)
            parts.setdefault(name, []).append(part)
    return [
        {
            "package": name,
            "licence": re.sub(r"\s+", " ", licences[name]),
            "direct": "yes" if name in direct else "no",
            # a dependency of the package itself is not listed under extras
            "part": "package" if "package" in parts[name] else ", ".join(parts[name]),
        }
        for name in sorted(licences)
    ]


def lines(rows: list[dict[str, str]]) -> list[str]:
    """The table in Markdown: one line for each part and licence."""
    groups: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        name = f"**{row['package']}**" if row["direct"] == "yes" else row["package"]
        groups.setdefault((row["part"], row["licence"]), []).append(name)
    order = sorted(groups, key=lambda g: (g[0] != "package", g[0], -len(groups[g]), g[1]))
    body = [[part, licence, ", ".join(groups[part, licence])] for part, licence in order]
    return markdown_table(["comes with", "licence", "packages"], body)


if __name__ == "__main__":
    found = table()
    with TABLE.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(found[0]))
        writer.writeheader()
        writer.writerows(found)
    record("licences")
    quote(PAGE, "licences", lines(found))
    print("\n".join(lines(found)))
