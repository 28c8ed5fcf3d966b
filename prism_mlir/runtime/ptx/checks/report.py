"""Where a check looks when it writes its report: the instruction, and the lanes of the batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from prism_mlir.runtime.ptx.errors import CheckError, Location
from prism_mlir.runtime.ptx.program import Instruction
from prism_mlir.runtime.ptx.state import State


@dataclass(frozen=True, slots=True)
class Site:
    """An instruction and its index in the kernel."""

    pc: int
    instruction: Instruction

    @property
    def location(self) -> Location:
        return self.instruction.location


def report(
    st: State,
    kind: str,
    site: Site,
    message: str,
    *,
    lanes: Sequence[int] = (),
    address: str = "",
    hint: str = "",
    total: int = 0,
) -> CheckError:
    """Build the error of a failed check; ``lanes`` are the threads to name, ``total`` how many threads are concerned."""
    more = f" ({total} threads; the first is named)" if total > max(1, len(lanes)) else ""
    epoch = int(st.epoch[st.lane_block[lanes[0]]]) if lanes else None
    return CheckError(
        kind,
        message + more,
        site.location,
        kernel=st.kernel,
        instruction=site.instruction.text,
        threads=tuple(st.thread_name(int(lane)) for lane in lanes),
        address=address,
        epoch=epoch,
        hint=hint,
    )
