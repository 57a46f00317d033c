"""What pages quote from stored results, between marks that commands of ``benchmarks`` fill."""

import re


def quoted(path, mark):
    """The lines between the marks, which stand on the page once."""
    found = re.findall(rf"^<!-- {mark} -->\n(.*?)\n?^<!-- /{mark} -->$", path.read_text(encoding="utf-8"), re.S | re.M)
    assert len(found) == 1, f"{path.name} has the marks of {mark} {len(found)} times"
    return found[0].splitlines()
