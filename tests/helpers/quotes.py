"""Passages of pages that scripts in ``benchmarks`` fill in from stored results, between two marks."""

import re


def quoted(path, mark):
    """The lines between the marks, which must occur exactly once."""
    found = re.findall(rf"^<!-- {mark} -->\n(.*?)\n?^<!-- /{mark} -->$", path.read_text(encoding="utf-8"), re.S | re.M)
    assert len(found) == 1, f"{path.name} has the marks of {mark} {len(found)} times"
    return found[0].splitlines()
