"""Entry point of the command line; names the extra to install if packages are missing."""

from __future__ import annotations

import importlib.util
import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line."""
    try:
        _main()
    except KeyboardInterrupt:  # before a command began
        print("pre-convex: interrupted", file=sys.stderr)
        sys.exit(130)


def _main() -> None:
    for package in ("typer", "rich"):
        if importlib.util.find_spec(package) is None:
            from .errors import MissingExtraError

            sys.exit(f"pre-convex: {MissingExtraError(package, 'cli')}")
    from .cli.app import run

    run()


if __name__ == "__main__":
    main()
