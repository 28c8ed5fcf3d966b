"""Where ``prism`` and ``prism-opt`` begin: Ctrl-C while they are still importing is one line as well."""

from __future__ import annotations

import sys


def prism() -> int:
    """See :func:`prism_mlir.tools.prism.main`."""
    try:
        from prism_mlir.tools.prism import main

        return main()
    except KeyboardInterrupt:
        return _interrupted()


def prism_opt() -> int:
    """See :func:`prism_mlir.tools.prism_opt.main`."""
    try:
        from prism_mlir.tools.prism_opt import main

        return main()
    except KeyboardInterrupt:
        return _interrupted()


def _interrupted() -> int:
    print("error: interrupted; nothing was written", file=sys.stderr)
    return 130  # Exit.INTERRUPTED, of a module that may be what was being imported
