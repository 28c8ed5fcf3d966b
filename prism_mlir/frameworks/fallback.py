"""Where kernels run, and how a user learns that something does not."""

from __future__ import annotations

import os
import warnings

from prism_mlir.graph.errors import PrismError

EMULATE = "PRISM_EMULATE"
"""The environment variable that lets tensors of the CPU run on the PTX machine."""


class PrismWarning(UserWarning):
    """Something runs as if Prism were not there. The text says why, and what to do."""


class Fallback(Exception):
    """Something is left to the framework. ``reason`` follows "because"; ``hint`` says what to do."""

    def __init__(self, reason: str, hint: str) -> None:
        super().__init__(reason, hint)
        self.reason, self.hint = reason, hint

    @staticmethod
    def of(error: PrismError) -> Fallback:
        """For an error of the compiler."""
        place = "" if error.location is None else f" ({error.location})"
        return Fallback(f"{error.message}{place}", error.hint or "nothing needs to be done")


def emulates() -> bool:
    """Whether ``PRISM_EMULATE`` asks for the PTX machine."""
    return os.environ.get(EMULATE, "") not in ("", "0")


def check_emulated(what: str, hint: str) -> None:
    """For ``what`` that is on the CPU. Raises :class:`Fallback` where nobody asked for the PTX machine; hint: another way out"""
    if not emulates():
        raise Fallback(
            f"its {what} are on the CPU", f"{hint}set {EMULATE}=1 to run kernels on the PTX machine, for tests"
        )


def warn_fallback(what: str, instead: str, fallback: Fallback) -> None:
    """The one warning of a thing that falls back."""
    text = f"{what} runs {instead}, since {fallback.reason}; {fallback.hint}"
    warnings.warn(text, PrismWarning, stacklevel=2)
