"""Standard streams as the command lines need them: a reader may leave, and a stream may not be there at all."""

from __future__ import annotations

import io
import os
import sys


class _Patient(io.TextIOWrapper):
    """Standard output of which nobody has to read all: after the reader left, as in ``prism ... | head -1``, what is written goes
    nowhere, and the command ends as it would have.
    """

    def write(self, text: str, /) -> int:
        try:
            return super().write(text)
        except BrokenPipeError:
            self._go_on()
            return len(text)

    def flush(self) -> None:
        try:
            super().flush()
        except BrokenPipeError:
            self._go_on()

    def _go_on(self) -> None:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self.fileno())
        os.close(nowhere)


def prepare_streams() -> None:
    """Before anything is written. Streams that are not the process's own (of tests, of notebooks) stay as they are.

    Where one was closed (``>&-``), as for daemons, there is one that holds nothing; it is opened first, so that no file takes its
    number.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            nothing = os.open(os.devnull, os.O_RDWR)
            if nothing != number:
                os.dup2(nothing, number)
                os.close(nothing)
            setattr(sys, name, open(number, "w" if number else "r", encoding="utf-8"))  # noqa: SIM115 - as long as the process
    out = sys.stdout
    if type(out) is io.TextIOWrapper and out.fileno() == 1:
        encoding, errors, by_lines = out.encoding, out.errors, out.line_buffering
        sys.stdout = _Patient(out.detach(), encoding, errors, line_buffering=by_lines)


def output_error(error: OSError) -> str:
    """That standard output cannot be written: files have errors of their own."""
    return f"error: cannot write the output: {error.strerror or error}"
