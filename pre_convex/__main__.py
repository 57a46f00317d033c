"""Entry point of the command line; says what to install when the command line's own libraries are missing."""

from __future__ import annotations

import importlib.util
import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line."""
    try:
        _main()
    except KeyboardInterrupt:  # before a command has begun
        print("pre-convex: interrupted", file=sys.stderr)
        sys.exit(130)


def _main() -> None:
    for package in ("typer", "rich"):
        if importlib.util.find_spec(package) is None:
            from .errors import MissingExtraError

            sys.exit(f"pre-convex: {MissingExtraError(package, 'cli')}")
    from .cli import run

    run()


if __name__ == "__main__":
    main()
