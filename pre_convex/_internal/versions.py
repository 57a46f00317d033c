"""Versions of packages and the processor, for records of measurements."""

from __future__ import annotations

import platform
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

__all__ = ["installed_versions", "processor_name"]


def installed_versions(packages: Iterable[str]) -> dict[str, str]:
    """Version of each of these packages that is installed.

    Examples
    --------
    >>> list(installed_versions(["numpy", "no-such-package"]))
    ['numpy']
    """
    versions = {}
    for package in packages:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return versions


def processor_name() -> str:
    """Model name of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()
