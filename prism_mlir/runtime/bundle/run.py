"""Measure everything in this folder on a GPU, and write the results as JSON: ``python run.py --minutes 5``."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

HOME = "prism_bundle"  # what the folder of the program is called beside this file


def main(arguments: list[str] | None = None, driver: Any = None) -> int:
    """See ``command.main``. driver: the driver API, where it is not to be cuda-python's (for tests)."""
    if sys.version_info < (3, 9):  # noqa: UP036  (somebody may run it with an older one)
        print(f"error: Python {sys.version.split()[0]} is too old, run this with Python 3.9 or later", file=sys.stderr)
        return 1
    command = import_module(f"{__package__ or HOME}.command")
    return int(command.main(sys.argv[1:] if arguments is None else arguments, driver))


if __name__ == "__main__":
    sys.exit(main())
