"""The parameter space: every schedule of a graph with concrete mappings, and uniform samples from it (paper, section 5).

A point gives each parallel dim a number of parts, and the kernel its warps and pipeline stages. The raw space is a product of
short lists; :func:`rejection` says which of its points a target cannot run, and why. Sampling draws graphs in proportion to
their raw spaces and rejects, so every valid point of every graph is equally likely.
"""

from __future__ import annotations

import random
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Mapping as MappingABC
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product
from math import gcd, prod

from prism_mlir.graph.block import BlockGraph, Load
from prism_mlir.graph.errors import InputError
from prism_mlir.graph.footprint import Placement, ScheduleError, contiguous_dim, place
from prism_mlir.graph.kernel import CustomNode, KernelGraph
from prism_mlir.graph.mapping import Mapping, Partition, tile_partitions, tile_shape
from prism_mlir.graph.ops import Shape
from prism_mlir.graph.program import Program
from prism_mlir.graph.schedule import Schedule, ScheduledGraph
from prism_mlir.tune.occupancy import (
    LANES,
    MMA_COLUMNS,
    MMA_DEPTH,
    MMA_ROWS,
    operand_strides,
    registers_per_thread,
    row_bytes,
    warp_units,
)
from prism_mlir.tune.targets import Target

WARPS = (1, 2, 4, 8, 16)
STAGES = (1, 2, 3, 4)
GRID_LIMITS = (2**31 - 1, 65535, 65535)  # CUDA programming guide, "technical specifications"
COPY_BYTES = 16  # what one thread moves with one cp.async
EXHAUSTIVE = 20_000  # raw points up to which all are looked at
TRIES_PER_SAMPLE = 200


@dataclass(frozen=True)
class ParameterSpace:
    """The raw space of one graph: for each parallel dim, warps and stages the values to try."""

    graph: KernelGraph
    sizes: tuple[tuple[str, tuple[int, ...]], ...]
    warps: tuple[int, ...] = WARPS
    stages: tuple[int, ...] = STAGES
    program: Program | None = None

    @property
    def raw_size(self) -> int:
        return prod(len(values) for _, values in self.sizes) * len(self.warps) * len(self.stages)

    def __iter__(self) -> Iterator[Schedule]:
        """All raw points, in a fixed order."""
        names = [name for name, _ in self.sizes]
        for values in product(*(v for _, v in self.sizes)):
            for stages, warps in product(self.stages, self.warps):
                yield Schedule.of(dict(zip(names, values, strict=True)), warps, stages)

    def point(self, index: int) -> Schedule:
        """The raw point number ``index`` of the same order."""
        index, warp = divmod(index, len(self.warps))
        index, stage = divmod(index, len(self.stages))
        chosen: dict[str, int] = {}
        for name, values in reversed(self.sizes):
            index, digit = divmod(index, len(values))
            chosen[name] = values[digit]
        return Schedule.of(chosen, self.warps[warp], self.stages[stage])

    @cached_property
    def blocks(self) -> tuple[_Block, ...]:
        """What does not depend on the sizes, of each graph-defined operator."""
        return tuple(_block(self.graph, node, self.program) for node in self.graph.custom)


@dataclass(frozen=True)
class _Block:
    """A graph-defined operator with what its schedules share. ``whole`` is its placement when nothing is cut."""

    block: BlockGraph
    mapping: Mapping
    parts: tuple[tuple[Partition, ...], ...]
    strides: tuple[tuple[int, ...], ...]
    whole: Placement

    def tile(self, node: int, sizes: MappingABC[str, int]) -> Shape:
        return tile_shape(self.block.shapes[node], self.parts[node], sizes)

    @cached_property
    def placed(self) -> Callable[[tuple[tuple[str, int], ...], int], Placement]:
        """Placement by sizes and stages; points that differ in warps alone share it."""

        @lru_cache(maxsize=64)
        def placed(sizes: tuple[tuple[str, int], ...], stages: int) -> Placement:
            return place(self.block, self.mapping, dict(sizes), stages, self.strides)

        return placed


def _block(graph: KernelGraph, node: CustomNode, program: Program | None) -> _Block:
    mapping, strides = _mapping(node), operand_strides(graph, node, program)
    whole = place(node.block, mapping, dict.fromkeys(node.block.parallel_dims, 1), 1, strides)
    return _Block(node.block, mapping, tile_partitions(node.block, mapping), strides, whole)


@dataclass(frozen=True, slots=True)
class Sample:
    """Schedules found, and what happened to the points looked at.

    raw:        points of all raw spaces together
    examined:   points looked at (each once where ``exhaustive``)
    exhaustive: whether every raw point was looked at
    rejected:   how many points each rule refused, as (rule, count) sorted by rule
    """

    points: tuple[ScheduledGraph, ...]
    raw: int
    examined: int
    exhaustive: bool
    rejected: tuple[tuple[str, int], ...]


def parameter_space(
    graph: KernelGraph,
    program: Program | None = None,
    warps: tuple[int, ...] = WARPS,
    stages: tuple[int, ...] = STAGES,
) -> ParameterSpace:
    """The raw space of a graph; ``program`` says how its inputs lie in memory.

    Raises :class:`InputError` where its mappings are still symbols.
    """
    cuts: dict[str, list[int]] = {p: [] for p in graph.parallel_dims}
    single: set[str] = set()
    for node in graph.custom:
        mapping = _mapping(node)
        parts = tile_partitions(node.block, mapping)
        for k in node.block.loads:
            for size, part in zip(node.block.shapes[k], parts[k], strict=True):
                for p in part:
                    cuts[p].append(size)
        for row in mapping.omap:
            single |= {p for p, dim in zip(node.block.grid, row, strict=True) if dim < 0}
    sizes = tuple((p, (1,) if p in single or not cut else part_counts(gcd(*cut))) for p, cut in cuts.items())
    looped = any(n.block.loop is not None for n in graph.custom)
    return ParameterSpace(graph, sizes, warps, stages if looped else (1,), program)


def part_counts(size: int) -> tuple[int, ...]:
    """Numbers of equal parts worth trying for a dim: those where the count or the part is a power of two.

    >>> part_counts(16)
    (1, 2, 4, 8, 16)
    >>> part_counts(11008)[-3:]  # 43 * 256: also 43 parts of 256, 86 of 128, ...
    (2752, 5504, 11008)
    """
    low = size & -size
    powers = [2**k for k in range(low.bit_length())]
    return tuple(sorted({*powers, *(size // p for p in powers)}))


def rejection(space: ParameterSpace, schedule: Schedule, target: Target) -> str | None:
    """The first rule that a point breaks on a target; ``None`` for a valid point. Cheap rules come first."""
    try:
        for known in space.blocks:
            reason = (
                _launch_rejection(known, schedule, target)
                or _copy_rejection(known, schedule)
                or _matmul_rejection(known, schedule)
                or _capacity_rejection(known.placed(schedule.sizes, schedule.stages), schedule, target)
            )
            if reason is not None:
                return reason
    except ScheduleError as error:
        return error.message
    return None


def _launch_rejection(known: _Block, schedule: Schedule, target: Target) -> str | None:
    block, sizes = known.block, schedule.size_of
    if schedule.stages > (1 if block.loop is None else sizes[block.loop]):
        return "more stages than iterations"
    if schedule.warps * LANES > target.threads_per_block:
        return "too many threads"
    if any(sizes[p] > limit for p, limit in zip(block.grid, GRID_LIMITS, strict=False)):
        return "the grid is too large"
    for shape, row in zip(block.shapes, known.parts, strict=True):
        if any(size % prod(sizes[p] for p in part) for size, part in zip(shape, row, strict=True)):
            return "a tile is ragged"
    return None


def _copy_rejection(known: _Block, schedule: Schedule) -> str | None:
    """A cut contiguous dim leaves rows that asynchronous copies can move: a multiple of 16 bytes."""
    block, sizes = known.block, schedule.size_of
    for k in block.loads:
        op, tile = block.nodes[k].op, known.tile(k, sizes)
        assert isinstance(op, Load)
        strides = known.strides[op.source]
        inner = contiguous_dim(block.shapes[k], strides)
        if tile[inner] != block.shapes[k][inner] and row_bytes(block, op.source, tile, strides) % COPY_BYTES:
            return "rows shorter than a copy"
    return None


def _matmul_rejection(known: _Block, schedule: Schedule) -> str | None:
    """Cut dims of a product are whole tensor-core granules; a dim that nothing cuts is padded instead."""
    block, sizes = known.block, schedule.size_of
    for node, whole in known.whole.products.items():
        if not whole.on_tensor_cores:
            continue
        left, right = (known.tile(v, sizes) for v in block.nodes[node].operands)
        m, n, k = (
            0 if part == uncut else part  # 0 is a multiple of everything
            for part, uncut in ((left[-2], whole.m), (right[-1], whole.n), (left[-1], whole.k))
        )
        upright = m % MMA_ROWS == 0 and n % MMA_COLUMNS == 0
        sideways = m % MMA_COLUMNS == 0 and n % MMA_ROWS == 0
        if k % MMA_DEPTH or not (upright or sideways):
            return "a product's tile is no multiple of 16 x 8 x 16"
    return None


def _capacity_rejection(placement: Placement, schedule: Schedule, target: Target) -> str | None:
    if schedule.warps > max(1, warp_units(placement)):
        return "a warp without work"
    if placement.shared_bytes > target.shared_per_block:
        return "too much shared memory"
    registers = registers_per_thread(placement, schedule.warps)
    if registers > target.registers_per_thread or registers * schedule.warps * LANES > target.registers:
        return "too many registers"
    return None


def enumerate_schedules(space: ParameterSpace, target: Target) -> Iterator[Schedule]:
    """All valid points of one graph, lazily, in a fixed order."""
    return (point for point in space if rejection(space, point, target) is None)


def sample(
    graphs: Sequence[KernelGraph], target: Target, count: int, seed: int = 0, program: Program | None = None
) -> Sample:
    """Up to ``count`` different valid points over all graphs; all points are looked at where there are few.

    Each valid point of each graph is equally likely; the same arguments give the same points in the same order.
    Raises :class:`InputError` for a graph whose mappings are still symbols.
    """
    spaces = [parameter_space(g, program) for g in graphs]
    raw = sum(s.raw_size for s in spaces)
    rng = random.Random(seed)
    if raw <= EXHAUSTIVE:
        return _sample_all(spaces, target, count, rng, raw)
    return _sample_some(spaces, target, count, rng, raw)


def _sample_all(spaces: Sequence[ParameterSpace], target: Target, count: int, rng: random.Random, raw: int) -> Sample:
    refused: Counter[str] = Counter()
    valid: list[ScheduledGraph] = []
    for space in spaces:
        for point in space:
            reason = rejection(space, point, target)
            if reason is None:
                valid.append(ScheduledGraph(space.graph, point))
            else:
                refused[reason] += 1
    if len(valid) > count:
        valid = [valid[k] for k in sorted(rng.sample(range(len(valid)), count))]
    return Sample(tuple(valid), raw, raw, True, tuple(sorted(refused.items())))


def _sample_some(spaces: Sequence[ParameterSpace], target: Target, count: int, rng: random.Random, raw: int) -> Sample:
    starts = [0]
    for space in spaces:
        starts.append(starts[-1] + space.raw_size)
    refused: Counter[str] = Counter()
    found: dict[int, ScheduledGraph] = {}
    examined = 0
    while len(found) < count and examined < count * TRIES_PER_SAMPLE:
        examined += 1
        index = rng.randrange(raw)
        which = bisect_right(starts, index) - 1
        point = spaces[which].point(index - starts[which])
        reason = rejection(spaces[which], point, target)
        if reason is None:
            found[index] = ScheduledGraph(spaces[which].graph, point)
        else:
            refused[reason] += 1
    points = tuple(found[k] for k in sorted(found))
    return Sample(points, raw, examined, False, tuple(sorted(refused.items())))


def _mapping(node: CustomNode) -> Mapping:
    if node.mapping is None:
        raise InputError("the graph still has symbolic mappings", None, "instantiate them before choosing sizes")
    return node.mapping
