"""Typed errors of the PTX machine.

Every error a user can meet is a :class:`PtxError`; its text is ``file:line:col: error: what, and what to do``.
"""

from __future__ import annotations

from dataclasses import dataclass

ThreadName = tuple[tuple[int, int, int], tuple[int, int, int]]  # indices of the block and of the thread in it
LONGEST = 600  # characters of a message about the text


@dataclass(frozen=True, slots=True)
class Location:
    """A place in a PTX file; lines and columns count from 1."""

    file: str
    line: int
    col: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.col}"


class PtxError(Exception):
    """Root of everything the PTX machine raises on purpose.

    Attributes:
        message: what went wrong, without the location.
        location: where in the PTX text, or None when the error is about a launch.
    """

    def __init__(self, message: str, location: Location | None = None) -> None:
        self.message = message
        self.location = location
        super().__init__(f"{location}: error: {message}" if location else f"error: {message}")


class PtxSyntaxError(PtxError):
    """The text is not PTX, or uses a directive or an instruction that the machine does not know."""

    def __init__(self, message: str, location: Location | None = None) -> None:
        """A message that quotes something endless from the text is cut."""
        super().__init__(message if len(message) <= LONGEST else f"{message[:LONGEST]} ...", location)


class LaunchError(PtxError):
    """The grid, the block, the arguments or the shared memory of a launch do not fit the kernel."""


class RuntimeLimit(PtxError):
    """The kernel ran longer, or needs more memory, than the limits of the launch allow."""


class TrapError(PtxError):
    """The kernel executed ``trap`` (or a failed assertion that compiles to it)."""


class CheckError(PtxError):
    """A check found a bug in the kernel.

    Attributes:
        headline: the first line of the report, without the place.
        kind: name of the check, one of the fields of ``Checks`` (``bounds``, ``alignment``, ``uninitialised``,
            ``race``, ``async_copy``, ``barrier``, ``convergence``, ``cross_block``).
        kernel: name of the kernel.
        instruction: text of the instruction.
        threads: the threads involved, each ``(block index, thread index)`` (x, y, z triples).
        address: ``buffer+offset`` of the first offending byte, or "" when no address is involved.
        epoch: barriers the block has passed so far, or None.
        hint: one line of what to do.
    """

    def __init__(
        self,
        kind: str,
        message: str,
        location: Location,
        *,
        kernel: str = "",
        instruction: str = "",
        threads: tuple[ThreadName, ...] = (),
        address: str = "",
        epoch: int | None = None,
        hint: str = "",
    ) -> None:
        self.kind = kind
        self.headline = message
        self.kernel = kernel
        self.instruction = instruction
        self.threads = threads
        self.address = address
        self.epoch = epoch
        self.hint = hint
        super().__init__(_report(kind, message, kernel, instruction, threads, address, epoch, hint), location)

    def completed(self, headline: str, threads: tuple[ThreadName, ...]) -> CheckError:
        """The same finding with another first line and more threads."""
        assert self.location is not None
        return CheckError(
            self.kind,
            headline,
            self.location,
            kernel=self.kernel,
            instruction=self.instruction,
            threads=threads,
            address=self.address,
            epoch=self.epoch,
            hint=self.hint,
        )


def _report(
    kind: str,
    message: str,
    kernel: str,
    instruction: str,
    threads: tuple[ThreadName, ...],
    address: str,
    epoch: int | None,
    hint: str,
) -> str:
    lines = [f"[{kind}] {message}"]
    if instruction:
        lines.append(f"  instruction: {instruction}")
    where = f"  kernel: {kernel}"
    if epoch is not None:
        where += f", after {epoch} barrier{'' if epoch == 1 else 's'}"
    lines.append(where)
    lines.extend(f"  thread: {thread} of block {block}" for block, thread in threads)
    if address:
        lines.append(f"  address: {address}")
    if hint:
        lines.append(f"  hint: {hint}")
    return "\n".join(lines)
