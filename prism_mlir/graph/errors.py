"""Errors a user can cause, each with a place and a way out.

Every error of the project that is not a bug in the project is a :class:`PrismError`. Its text is one line,
``file:line:col: error: what, and what to do``, so that a terminal, an editor and a test can all read it.
The command-line tools print ``str(error)`` on stderr and exit with code 1.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Location:
    """A place in a source file. Lines and columns count from 1; 0 means "not known", and then it is the file that is named."""

    file: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file


LONGEST = 1000
"""Characters of a message; messages quote names and tokens, which may be as long as a file."""


def one_line(text: str) -> str:
    """Collapse all white space and leave out the middle of long text, so that a message from elsewhere stays one short line."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else f"{line[: LONGEST // 2]} ... {line[-LONGEST // 2 :]}"


def printable(text: str) -> str:
    """Text for a terminal: characters that would move its cursor, change its colours or turn its direction are spelt out.

    >>> printable("red \x1b[31m")
    'red \\\\x1b[31m'
    """
    return text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


class PrismError(Exception):
    """Root of all errors that a user's input or environment causes.

    ``message`` says what is wrong, ``hint`` what to do about it, ``location`` where.

    >>> str(PrismError("dynamic sizes are not supported", Location("a.mlir", 3, 5), "give every dim a number"))
    'a.mlir:3:5: error: dynamic sizes are not supported, give every dim a number'
    """

    def __init__(self, message: str, location: Location | None = None, hint: str | None = None) -> None:
        super().__init__(message, location, hint)
        self.message = one_line(message)
        self.location = location
        self.hint = None if hint is None else one_line(hint)

    def __str__(self) -> str:
        place = "" if self.location is None else f"{self.location}: "
        advice = "" if self.hint is None else f", {self.hint}"
        return printable(f"{place}error: {self.message}{advice}")


class InputError(PrismError):
    """The text is not what it claims to be: a syntax error, a binary file, an empty file, a wrong argument."""


class UnsupportedError(PrismError):
    """The input is legal, but outside of what this compiler takes."""


class LimitError(PrismError):
    """The input is larger than a limit that keeps the compiler from running away."""


class VerifyError(PrismError):
    """The input is well formed, but breaks a rule of its IR."""


class CodegenError(PrismError):
    """Code for a legal graph could not be produced."""


class ExecutionError(PrismError):
    """A program could not be run."""


class InaccurateError(ExecutionError):
    """Emitted code does what it should, but is less accurate than the source or than f32 arithmetic can be."""


class MissingToolError(PrismError):
    """An optional external program or library is needed and was not found."""
