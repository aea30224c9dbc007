"""The program `dermis`: the same code as the binary."""

from __future__ import annotations

import sys


def main() -> None:
    """Runs the program with the arguments of the process and ends it with the program's exit code."""
    from . import _dermis

    code = _dermis._program(["dermis", *sys.argv[1:]])
    sys.stdout.flush()
    sys.exit(code)


if __name__ == "__main__":
    main()
