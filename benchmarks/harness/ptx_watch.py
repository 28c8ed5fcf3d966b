"""A kernel that tells a watcher of every instruction before it runs: what a trace or an analysis of a run is made from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from prism_mlir.runtime.ptx.decode import Block, Step, decode
from prism_mlir.runtime.ptx.machine import KernelHandle
from prism_mlir.runtime.ptx.program import Kernel, Program
from prism_mlir.runtime.ptx.state import Mask, State

Lanes = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]
Run = Callable[[], None]


class Watcher(Protocol):
    """Sees instructions one by one."""

    def step(self, st: State, step: Step, mask: Mask, run: Run) -> None:
        """The threads of ``mask`` are at ``step``; ``run`` executes it for those whose guard holds.

        For control flow ``run`` does nothing: the scheduler does it afterwards.
        """


def watched(program: Program, kernel: Kernel, watcher: Watcher) -> KernelHandle:
    """``kernel`` under observation; a watcher serves one launch.

    Raises:
        PtxSyntaxError: the kernel does not decode.
    """
    decoded = decode(program, kernel)
    return KernelHandle(program, replace(decoded, blocks=tuple(_watched_block(b, watcher) for b in decoded.blocks)))


def _watched_block(block: Block, watcher: Watcher) -> Block:
    return replace(block, runs=tuple(_watched_step(step, watcher) for step in block.steps))


def _watched_step(step: Step, watcher: Watcher) -> Callable[[State, Mask], None]:
    def run(st: State, mask: Mask) -> None:
        def plain() -> None:
            if step.run is not None:
                step.run(st, mask)

        watcher.step(st, step, mask, plain)

    return run


def executing(st: State, mask: Mask, step: Step) -> Lanes:
    """The lanes of ``mask`` for which the guard of ``step`` holds."""
    if step.guard is None:
        return mask.lanes
    inner = st.narrow(mask, st.regs[step.guard[0]], step.guard[1])
    return np.zeros(st.n, np.bool_) if inner is None else inner.lanes


@dataclass(frozen=True, slots=True)
class Access:
    """What one instruction did to one memory, an entry a lane. ``at``: addresses; ``raw``: what is stored, None for a load."""

    space: str
    at: Ints
    lane: Ints
    width: int
    raw: npt.NDArray[Any] | None

    @property
    def writes(self) -> bool:
        return self.raw is not None


class Accesses:
    """Notes every access to shared and global memory."""

    def __init__(self) -> None:
        self._noted: list[Access] = []
        self._global: object = None

    def attach(self, st: State) -> None:
        """Listen to the memories of a batch."""
        self._listen(st.shared, "load", "shared", False)
        self._listen(st.shared, "store", "shared", True)
        self._listen(st.queue, "issue", "shared", True)
        if self._global is not st.memory:  # one for all batches
            self._global = st.memory
            self._listen(st.memory, "load", "global", False)
            self._listen(st.memory, "store", "global", True)

    def _listen(self, memory: Any, method: str, space: str, writes: bool) -> None:
        original = getattr(memory, method)

        def heard(st: State, site: Any, at: Ints, lane: Ints | None, width: int, *rest: Any, **named: Any) -> Any:
            lanes = np.arange(st.n) if lane is None else lane
            raw = np.broadcast_to(rest[0], lanes.shape) if writes else None
            self._noted.append(Access(space, np.broadcast_to(at, lanes.shape), lanes, width, raw))
            return original(st, site, at, lane, width, *rest, **named)

        setattr(memory, method, heard)

    def take(self) -> list[Access]:
        """What was noted; forgotten here."""
        found, self._noted = self._noted, []
        return found
