"""Find what is wrong with a launch: run it with several seeds, and go on behind each finding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

from prism_mlir.runtime.ptx import CheckError, Checks, Location, PtxError, RuntimeLimit, TrapError
from prism_mlir.tools.ptx_arguments import ArrayArgument
from prism_mlir.tools.ptx_launch import Launch


@dataclass(frozen=True, slots=True)
class Finding:
    """Something wrong: its kind (a check, ``unwritten``, ``trap`` or ``limit``), the machine's report, the seeds that show it."""

    kind: str
    error: PtxError
    seeds: tuple[int, ...]

    @property
    def place(self) -> tuple[str, Location | None, str]:
        """Findings with the same place are one."""
        return self.kind, self.error.location, "" if self.error.location else self.error.message


def enabled(checks: Checks) -> list[str]:
    """The names of the checks that are on."""
    return [f.name for f in fields(Checks) if getattr(checks, f.name)]


def find(launch: Launch, seeds: Sequence[int], checks: Checks, max_steps: int) -> list[Finding]:
    """All findings of a launch, in the order in which they were met.

    A run ends at its first finding, so it is repeated with that check off, until it comes to its end; what then fails other than
    by a check may be a consequence, and is left out.

    Raises what :meth:`Launch.run` raises where the launch does not fit the kernel.
    """
    found: dict[tuple[str, Location | None, str], Finding] = {}
    for seed in seeds:
        for kind, error in _one_seed(launch, seed, checks, max_steps):
            new = Finding(kind, error, (seed,))
            old = found.get(new.place)
            found[new.place] = new if old is None else replace(old, seeds=(*old.seeds, seed))
    return list(found.values())


def _one_seed(launch: Launch, seed: int, checks: Checks, max_steps: int) -> list[tuple[str, PtxError]]:
    found: list[tuple[str, PtxError]] = []
    while True:
        try:
            _, result = launch.run(seed, checks, max_steps=max_steps)
        except CheckError as error:
            if not getattr(checks, error.kind):  # found although it was off
                return found
            found.append((error.kind, error))
            checks = replace(checks, **{error.kind: False})
        except (TrapError, RuntimeLimit) as error:
            kind = "trap" if isinstance(error, TrapError) else "limit"
            return found if found else [(kind, error)]
        else:
            return [*found, *(("unwritten", _unwritten(launch, i, n)) for i, n in sorted(result.unwritten.items()))]


def _unwritten(launch: Launch, i: int, missing: int) -> PtxError:
    argument, kernel = launch.arguments[i], launch.kernel
    assert isinstance(argument, ArrayArgument)  # only arrays start undefined
    which = f"argument {i} '{launch.names[i]}', which starts undefined,"
    return PtxError(
        f"[unwritten] {missing} of {argument.bytes} bytes of {which} are never written\n"
        f"  kernel: {kernel.name}\n"
        "  hint: launch enough threads for all elements, shrink the buffer, or give it a content, such as zeros",
        kernel.decoded.kernel.location,
    )
