"""How the command lines end: exit codes, and the errors that are about the command line itself or about Ctrl-C."""

from __future__ import annotations

from enum import IntEnum

from prism_mlir.graph.errors import InputError, PrismError


class Exit(IntEnum):
    """Exit codes of ``prism`` and ``prism-opt``.

    FAILED: something is wrong with an input, or with the result (a graph that is not proved, a check that finds something)
    USAGE: the command line is not understood; ``prism-opt`` says 1, as mlir-opt does
    BUG: an error of Prism's own, which no input should cause (EX_SOFTWARE of sysexits.h)
    INTERRUPTED: Ctrl-C (128 and the number of SIGINT, as shells say it)
    """

    OK = 0
    FAILED = 1
    USAGE = 2
    BUG = 70
    INTERRUPTED = 130


class UsageError(InputError):
    """Options that mean nothing, or do not go together."""


class Interrupted(PrismError):
    """Ctrl-C. The message says what was written all the same."""

    def __init__(self, left: str) -> None:
        super().__init__(f"interrupted; {left}")
