"""Files that are whole or absent."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = ["write_whole"]


def write_whole(path: Path, write: Callable[[Path], Any]) -> Path:
    """Let ``write`` fill a file beside its place and move it there, with the permissions of any new file."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}")
    os.close(handle)
    temporary = Path(name)
    try:
        write(temporary)
        mask = os.umask(0)
        os.umask(mask)
        temporary.chmod(0o666 & ~mask)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    return path
