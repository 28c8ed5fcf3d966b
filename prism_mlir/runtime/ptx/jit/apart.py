"""Threads of a warp that go different ways, where they meet again before the next barrier.

The blocks between a branch and the place where all ways meet are compiled twice. The second copy runs with a word of lanes: each
block has the word of lanes that wait at it, and the block that is first in the order of ``cfg`` runs next, as in the
reference engine. When all lanes of the warp wait at the end of a region, the first copy goes on. Registers are at home in the
warp's memory between blocks, so both copies find them there; lanes that do not run keep theirs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from llvmlite import ir

from prism_mlir.runtime.ptx.decode import Step
from prism_mlir.runtime.ptx.jit.analysis import Region
from prism_mlir.runtime.ptx.jit.build import I32, I64, i32, i64
from prism_mlir.runtime.ptx.jit.layout import Field, Status

if TYPE_CHECKING:
    from prism_mlir.runtime.ptx.jit.kernel import WarpKernel


class Apart:
    """The second copies of the blocks of some regions."""

    def __init__(self, kernel: WarpKernel, regions: Sequence[Region]) -> None:
        self.k = kernel
        self.regions = {r.at: r for r in regions}
        self.ends = {r.end for r in regions}
        self.inside = {b for r in regions for b in r.blocks}
        self.order = sorted(self.inside | self.ends, key=kernel.decoded.rank.__getitem__)
        self.words: dict[int, ir.Value] = {}
        self.checks: dict[int, ir.Block] = {}

    def begin(self) -> None:
        """In the function's entry: nobody waits anywhere."""
        if not self.order:
            return
        memory = self.k.x.alloca(4 * len(self.order))
        self.k.x.fill(memory, 0, i64(4 * len(self.order)))
        for i, at in enumerate(self.order):
            self.words[at] = self.k.x.at(memory, 4 * i)
            self.checks[at] = self.k.x.block(f"apart{at}")

    def enter(self, step: Step, taken: ir.Value) -> bool:
        """Send the lanes of ``taken`` to a branch's target and the others on; False where the branch has no region."""
        k = self.k
        at = next((i for i in self.regions if k.decoded.blocks[i].last is step), None)
        if at is None:
            return False
        self._split(at, k.live_bits, taken)
        first = min(self._ways(at), key=k.decoded.rank.__getitem__)
        k.b.branch(self.checks[first])
        return True

    def _ways(self, at: int) -> tuple[int, ...]:
        """Where a block leads: to its branch's target, and on."""
        k, block = self.k, self.k.decoded.blocks[at]
        control = block.control
        if control is None:
            return (at + 1,)
        target = len(k.decoded.blocks) if control.kind == "exit" else k.decoded.block_of_label[control.targets[0]]
        return (target, at + 1) if block.guard is not None else (target,)

    def _split(self, at: int, lanes: ir.Value, taken: ir.Value) -> None:
        k, b = self.k, self.k.b
        target, following = self._ways(at)
        rest = b.and_(lanes, b.not_(taken))
        self._send(target, taken)
        self._send(following, rest)
        both = b.and_(b.icmp_unsigned("!=", taken, i32(0)), b.icmp_unsigned("!=", rest, i32(0)))
        k.x.set_field(Field.DIVERGENT, b.add(k.x.field(Field.DIVERGENT), b.zext(both, I64)))

    def _send(self, to: int, lanes: ir.Value) -> None:
        word = self.words[to]
        self.k.b.store(self.k.b.or_(self.k.b.load(word, typ=I32), lanes), word)

    def write(self) -> None:
        """Write all copies."""
        for i, at in enumerate(self.order):
            after = self.checks[self.order[i + 1]] if i + 1 < len(self.order) else self.k.failed
            self._copy(at, after)

    def _copy(self, at: int, after: ir.Block) -> None:
        k, b = self.k, self.k.b
        some, whole, part = (k.x.block(n) for n in ("some", "whole", "part"))
        b.position_at_end(self.checks[at])
        lanes = b.load(self.words[at], typ=I32)
        b.cbranch(b.icmp_unsigned("!=", lanes, i32(0)), some, after)
        b.position_at_end(some)
        meet = b.icmp_unsigned("==", lanes, k.live_bits) if at in self.ends else ir.Constant(ir.IntType(1), 0)
        b.cbranch(meet, whole, part)
        b.position_at_end(whole)
        b.store(i32(0), self.words[at])
        b.branch(k.entries[at])
        b.position_at_end(part)
        if at not in self.inside:
            pc = k.decoded.blocks[at].steps[0].site.pc if at < len(k.decoded.blocks) else len(k.decoded.steps) - 1
            k.x.fail(Status.DIVERGED, i32(pc))
            b.branch(k.failed)
            return
        b.store(i32(0), self.words[at])
        k.lanes = lanes
        k.body(at, k.decoded.blocks[at])
        self._go_on(at, lanes, after)
        k.lanes = None

    def _go_on(self, at: int, lanes: ir.Value, after: ir.Block) -> None:
        """Send the lanes on; back first, where some went back."""
        k, b, block = self.k, self.k.b, self.k.decoded.blocks[at]
        if block.guard is not None and block.last is not None:
            self._split(at, lanes, k.active(block.last))
        else:
            self._send(self._ways(at)[0], lanes)
        rank = k.decoded.rank
        for back in sorted((s for s in self._ways(at) if rank[s] <= rank[at]), key=rank.__getitem__):
            again, on = (k.x.block(n) for n in ("back", "on"))
            some = b.icmp_unsigned("!=", b.load(self.words[back], typ=I32), i32(0))
            b.cbranch(some, again, on)
            b.position_at_end(again)
            k.loop_to(self.checks[back], block.steps[-1])
            b.position_at_end(on)
        b.branch(after)
