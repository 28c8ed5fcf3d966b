"""One pass over a block graph: what comes before the loop, the loop, what comes after it, the stores.

Every node is handled where its stage says. Loads are the pipeline's business; elementwise nodes emit nothing by themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from prism_mlir.codegen.accumulate import accumulate, add_to_registers, start_accumulator
from prism_mlir.codegen.builder import Int
from prism_mlir.codegen.fragment_reduction import (
    FragmentReduction,
    add_fragments,
    finish_fragments,
    raise_by_fragments,
    reduce_fragments,
)
from prism_mlir.codegen.kernel_state import GlobalTensor, KernelState
from prism_mlir.codegen.layout import spread_of
from prism_mlir.codegen.matmul import check_registers, multiply
from prism_mlir.codegen.operands import spill, write_operand
from prism_mlir.codegen.pipeline import TileCopy, commit, issue_copy, plan_copy, wait
from prism_mlir.codegen.reduction import (
    RowReduction,
    add_partials,
    finish_partials,
    raise_maximum,
    reduce_tile,
)
from prism_mlir.codegen.running import advance_maximum, rescaled_registers, start_maximum
from prism_mlir.codegen.save import save
from prism_mlir.graph.block import Accum, Load, Stage
from prism_mlir.graph.footprint import Phase, is_matmul, is_reduction
from prism_mlir.graph.mapping import Mapping
from prism_mlir.graph.ops import RUNNING_MAX


@dataclass
class BlockLowering:
    """Emits the body of one kernel. ``carried`` holds, for each accumulator in registers, its values in this thread."""

    state: KernelState
    stages: int
    carried: dict[int, list[str]] = field(default_factory=dict)

    def run(self, mapping: Mapping, targets: Sequence[Sequence[GlobalTensor]]) -> None:
        """Emit everything. ``targets[o]``: where output ``o`` of the block graph is stored."""
        state = self.state
        for node, product in state.placement.held.items():
            state.spreads[node] = spread_of(product, state.placement.tiles[node], state.threads.warps)
        check_registers(state.spreads.values())
        self._before()
        if state.block.loop is not None:
            state.phase = Phase.LOOP
            self._loop(state.loop_turns())
            state.phase = Phase.AFTER
            self._after()
        state.phase = Phase.AFTER
        for out, omap, places in zip(state.block.outputs, mapping.omap, targets, strict=True):
            save(state, out, omap, places)

    def _loads(self, stage: Stage) -> list[TileCopy]:
        state = self.state
        return [plan_copy(state, k) for k in state.block.loads if state.placement.stages[k] is stage]

    def _before(self) -> None:
        """Request invariant tiles and those of the first iterations; then whatever needs no iteration."""
        state = self.state
        for copy in (*self._loads(Stage.INVARIANT), *self._loads(Stage.BODY)):
            state.fill_tail(copy.buffer)
        for copy in self._loads(Stage.INVARIANT):
            issue_copy(state, copy, 0)
        ahead = 0
        if state.block.loop is None or self.stages == 1:
            commit(state)
        else:
            ahead = self.stages - 2
            for iteration in range(self.stages - 1):
                self._request(iteration, state.loop_turns())
        if state.block.loop is None or self._has_work(Stage.INVARIANT):
            wait(state, ahead)
            self._nodes(Stage.INVARIANT)
        for node in self._shared_accumulators():
            start_accumulator(state, node)
        for k, n in enumerate(state.block.nodes):
            if n.op == RUNNING_MAX:
                start_maximum(state, k)

    def _request(self, iteration: Int, count: Int) -> None:
        """Ask for the tiles of an iteration, if there is one of that number, and close the group."""
        state, now = self.state, self.state.step
        state.step = iteration

        def issue() -> None:
            for copy in self._loads(Stage.BODY):
                issue_copy(state, copy, state.b.rem(iteration, self.stages))

        state.b.when(state.b.less(iteration, count), issue)
        commit(state)
        state.step = now

    def _has_work(self, stage: Stage) -> bool:
        """Whether some node of a stage needs code of its own."""
        placement = self.state.placement
        return any(
            placement.stages[k] is stage
            and (is_matmul(n.op) or is_reduction(n.op) or (k, "operand") in self.state.memory.buffers)
            for k, n in enumerate(self.state.block.nodes)
        )

    def _shared_accumulators(self) -> list[int]:
        block, placement = self.state.block, self.state.placement
        return [
            k
            for k, n in enumerate(block.nodes)
            if isinstance(n.op, Accum) and k not in placement.held and n.operands[0] not in placement.fused
        ]

    def _loop(self, count: Int) -> None:
        state = self.state
        self._start_carried()
        keys = list(self.carried)
        flat = [(v, "f32") for k in keys for v in self.carried[k]]

        def body(iteration: Int, values: list[str]) -> list[str]:
            self._unpack(keys, values)
            self._advance(iteration, count)
            self._nodes(Stage.BODY)
            return [v for k in keys for v in self.carried[k]]

        results = state.b.loop(count, body, flat, unroll=1)
        self._unpack(keys, results)
        state.step, state.slot = 0, 0

    def _start_carried(self) -> None:
        state = self.state
        zero = state.math.neutral("sum")
        for k, node in enumerate(state.block.nodes):
            if not isinstance(node.op, Accum):
                continue
            if k in state.spreads:
                self.carried[k] = [zero] * state.spreads[k].count
            elif node.operands[0] in state.placement.fused:
                fragments = FragmentReduction.of(state, node.operands[0])
                rows = RowReduction.of(state, node.operands[0]).each_warp if fragments is None else fragments.count
                monoid = node.op.monoid
                self.carried[k] = [state.math.neutral(monoid)] * rows

    def _unpack(self, keys: Sequence[int], values: Sequence[str]) -> None:
        rest = iter(values)
        self.carried = {k: [next(rest) for _ in self.carried[k]] for k in keys}

    def _advance(self, iteration: Int, count: Int) -> None:
        """Have this iteration's tiles at hand, and a later iteration's on their way."""
        state = self.state
        if self.stages == 1:
            state.barrier()
            self._request(iteration, count)
            wait(state, 0)
        else:
            wait(state, self.stages - 2)
            self._request(state.b.add(iteration, self.stages - 1), count)
        state.step, state.slot = iteration, state.b.rem(iteration, self.stages)

    def _after(self) -> None:
        state = self.state
        if any(b.first is Phase.AFTER and b.kind != "store" for b in state.placement.buffers):
            state.barrier()  # these buffers may lie where the loop's tiles were
        self._nodes(Stage.AFTER)

    def _nodes(self, stage: Stage) -> None:
        """Emit the nodes of a stage, in order. Accumulators are fed in the loop and read after it."""
        state = self.state
        for k, node in enumerate(state.block.nodes):
            if isinstance(node.op, Accum) and stage is Stage.BODY:
                self._feed(k, node.operands[0])
            if state.placement.stages[k] is not stage:
                continue
            if isinstance(node.op, Accum):
                self._finish(k, node.operands[0])
            elif is_matmul(node.op):
                self._product(k)
            elif is_reduction(node.op):
                self._reduction(k)
            elif node.op == RUNNING_MAX:
                advance_maximum(state, k)
            if k in state.placement.spilled and not isinstance(node.op, Load):
                spill(state, k)
            if (k, "operand") in state.memory.buffers:
                write_operand(state, k)

    def _product(self, node: int) -> None:
        state = self.state
        accum = state.placement.fused.get(node)
        if accum is not None:
            held = rescaled_registers(state, accum, state.spreads[accum], self.carried[accum])
            self.carried[accum] = multiply(state, node, state.spreads[accum], held)
            return
        spread = state.spreads[node]
        state.registers[node] = multiply(state, node, spread, [state.math.neutral("sum")] * spread.count)

    def _reduction(self, node: int) -> None:
        state = self.state
        accum, running = state.placement.fused.get(node), state.placement.rising.get(node)
        fragments = FragmentReduction.of(state, node)
        if fragments is not None:
            self._fragment_reduction(fragments, accum, running)
            return
        reduction = RowReduction.of(state, node)
        if running is not None:
            raise_maximum(state, reduction, running)
        elif accum is None:
            reduce_tile(state, reduction)
        else:
            self.carried[accum] = add_partials(state, reduction, self.carried[accum], accum)

    def _fragment_reduction(self, reduction: FragmentReduction, accum: int | None, running: int | None) -> None:
        if running is not None:
            raise_by_fragments(self.state, reduction, running)
        elif accum is None:
            reduce_fragments(self.state, reduction)
        else:
            self.carried[accum] = add_fragments(self.state, reduction, self.carried[accum], accum)

    def _feed(self, node: int, operand: int) -> None:
        state = self.state
        if operand in state.placement.fused:
            return
        if node in state.spreads:
            held = rescaled_registers(state, node, state.spreads[node], self.carried[node])
            self.carried[node] = add_to_registers(state, operand, state.spreads[node], held)
        else:
            accumulate(state, node)

    def _finish(self, node: int, operand: int) -> None:
        state = self.state
        if node in state.spreads:
            state.registers[node] = self.carried[node]
        elif operand in state.placement.fused:
            fragments = FragmentReduction.of(state, operand)
            if fragments is not None:
                finish_fragments(state, fragments, self.carried[node], node)
            else:
                finish_partials(state, RowReduction.of(state, operand), self.carried[node], node)
