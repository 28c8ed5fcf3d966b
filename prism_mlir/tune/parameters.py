"""The parameter space: every schedule of a graph with concrete mappings, and uniform samples from it (paper, section 5).

A point gives each parallel dim a number of parts, and the kernel its warps and pipeline stages. The raw space is a product of
short lists; :func:`rejection` says which of its points a target cannot run, and why. Where the spaces are of bearable size,
sizes that no warps and stages can save are struck out first, for all graphs together; what is left is drawn from without
replacement. So every valid point of every graph is equally likely.
"""

from __future__ import annotations

import random
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from collections.abc import Mapping as MappingABC
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, product
from math import gcd, prod

from prism_mlir.graph.block import Load
from prism_mlir.graph.footprint import REDUCING_WARPS, ScheduleError, contiguous_dim
from prism_mlir.graph.kernel import CustomNode, KernelGraph
from prism_mlir.graph.mapping import GRANULE, part_size, tile_partitions
from prism_mlir.graph.ops import Kind, Op
from prism_mlir.graph.program import Program
from prism_mlir.graph.schedule import Schedule, ScheduledGraph
from prism_mlir.tune.occupancy import (
    LANES,
    MMA_COLUMNS,
    MMA_DEPTH,
    MMA_ROWS,
    concrete_mapping,
    operand_strides,
    placed,
    registers_per_thread,
    warp_units,
)
from prism_mlir.tune.targets import Target

WARPS = (1, 2, 4, 8, 16)
STAGES = (1, 2, 3, 4)
GRID_LIMITS = (2**31 - 1, 65535, 65535)  # CUDA programming guide, "technical specifications"
GOOD_PART = 64  # a power of two in a dim, from which on its parts are equal
RAGGED_PARTS = (16, 32, 64, 128, 256, 512, 1024)
COPY_BYTES = 16  # what one thread moves with one cp.async
MAX_ACCUMULATORS = 160  # registers all products may take of a thread's; more spill, as ptxas says
MAX_SHAPES = 50_000  # combinations of sizes, over all graphs, up to which each is looked at
EXHAUSTIVE = 5_000  # points up to which each is looked at
TRIES_PER_SAMPLE = 200

Sizes = tuple[tuple[str, int], ...]
Cut = tuple[int, tuple[str, ...]]  # a dim's size and the parallel dims that cut it


@dataclass(frozen=True)
class ParameterSpace:
    """The raw space of one graph: for each parallel dim, warps and stages the values to try."""

    graph: KernelGraph
    sizes: tuple[tuple[str, tuple[int, ...]], ...]
    warps: tuple[int, ...] = WARPS
    stages: tuple[int, ...] = STAGES
    program: Program | None = None

    @property
    def shape_count(self) -> int:
        """Combinations of sizes."""
        return prod(len(values) for _, values in self.sizes)

    @property
    def choices(self) -> int:
        """Combinations of warps and stages."""
        return len(self.warps) * len(self.stages)

    @property
    def raw_size(self) -> int:
        return self.shape_count * self.choices

    @property
    def shapes(self) -> Iterator[Sizes]:
        """All combinations of sizes, in a fixed order."""
        names = [name for name, _ in self.sizes]
        for values in product(*(v for _, v in self.sizes)):
            yield tuple(sorted(zip(names, values, strict=True)))

    def __iter__(self) -> Iterator[Schedule]:
        """All raw points, in a fixed order."""
        return (self.with_choice(sizes, k) for sizes in self.shapes for k in range(self.choices))

    def with_choice(self, sizes: Sizes, index: int) -> Schedule:
        """A point from its sizes and the number of a choice of warps and stages."""
        stage, warp = divmod(index, len(self.warps))
        return Schedule(sizes, self.warps[warp], self.stages[stage])

    def point(self, index: int) -> Schedule:
        """The raw point number ``index`` of the order of iteration."""
        rest, choice = divmod(index, self.choices)
        chosen: dict[str, int] = {}
        for name, values in reversed(self.sizes):
            rest, digit = divmod(rest, len(values))
            chosen[name] = values[digit]
        return self.with_choice(tuple(sorted(chosen.items())), choice)

    @cached_property
    def rules(self) -> tuple[_Rules, ...]:
        """What does not depend on the sizes, of each graph-defined operator."""
        return tuple(_rules(self.graph, node, self.program) for node in self.graph.custom)


@dataclass(frozen=True, slots=True)
class _Rules:
    """What the sizes of one graph-defined operator must obey.

    divided:  dims that are cut
    copied:   contiguous dims of loads, with the bytes of an element
    products: the m, n and k dims of products on tensor cores
    reshapes: whether some tile is reshaped, which must then be whole
    """

    node: CustomNode
    strides: tuple[tuple[int, ...], ...]
    divided: tuple[Cut, ...]
    copied: tuple[tuple[Cut, int], ...]
    products: tuple[tuple[Cut, Cut, Cut], ...]
    reshapes: bool


def _rules(graph: KernelGraph, node: CustomNode, program: Program | None) -> _Rules:
    block, strides = node.block, operand_strides(graph, node, program)
    cuts = [
        [(n, tuple(sorted(part))) for n, part in zip(shape, row, strict=True)]
        for shape, row in zip(block.shapes, tile_partitions(block, concrete_mapping(node)), strict=True)
    ]
    copied: dict[tuple[Cut, int], None] = {}
    for k in block.loads:
        op = block.nodes[k].op
        assert isinstance(op, Load)
        if cuts[k]:
            inner = cuts[k][contiguous_dim(block.shapes[k], strides[op.source])]
            copied[inner, block.inputs[op.source].dtype.bytes] = None
    whole = placed(node, tuple((p, 1) for p in sorted(block.parallel_dims)), 1, strides)
    products: dict[tuple[Cut, Cut, Cut], None] = {}
    for k, tile in whole.products.items():
        if tile.on_tensor_cores:
            left, right = (cuts[v] for v in block.nodes[k].operands)
            products[left[-2], right[-1], left[-1]] = None
    divided = dict.fromkeys(cut for row in cuts for cut in row if cut[1])
    reshapes = any(isinstance(n.op, Op) and n.op.kind is Kind.RESHAPE for n in block.nodes)
    return _Rules(node, strides, tuple(divided), tuple(copied), tuple(products), reshapes)


@dataclass(frozen=True, slots=True)
class Sample:
    """Schedules found, and what happened to the points looked at.

    raw:        points of all raw spaces together
    examined:   points looked at (each once; all of them where ``exhaustive``)
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

    Raises :class:`~prism_mlir.graph.errors.InputError` where its mappings are still symbols.
    """
    cuts: dict[str, list[int]] = {p: [] for p in graph.parallel_dims}
    single: set[str] = set()
    for node in graph.custom:
        mapping = concrete_mapping(node)
        parts = tile_partitions(node.block, mapping)
        for k in node.block.loads:
            for size, part in zip(node.block.shapes[k], parts[k], strict=True):
                for p in part:
                    cuts[p].append(size)
        for row in mapping.omap:
            single |= {p for p, dim in zip(node.block.grid, row, strict=True) if dim < 0}
    sizes = tuple((p, (1,) if p in single or not cut else _counts(cut)) for p, cut in cuts.items())
    looped = any(n.block.loop is not None for n in graph.custom)
    return ParameterSpace(graph, sizes, warps, stages if looped else (1,), program)


def _counts(sizes: Sequence[int]) -> tuple[int, ...]:
    """Numbers of parts worth trying for dims that one parallel dim cuts."""
    ragged = ragged_counts(sizes[0]) if len(set(sizes)) == 1 else ()
    return tuple(sorted({*part_counts(gcd(*sizes)), *ragged}))


def ragged_counts(size: int) -> tuple[int, ...]:
    """Numbers of parts, the last of which holds less than the others, for a dim that has few powers of two in it.

    >>> ragged_counts(1000), ragged_counts(4096)
    ((2, 4, 8, 16, 32, 63), ())
    """
    if (size & -size) >= GOOD_PART or size <= GRANULE:
        return ()
    counts = {-(-size // tile) for tile in RAGGED_PARTS if tile < size}
    return tuple(sorted(p for p in counts if not _has_empty_part(size, p)))


def _has_empty_part(size: int, parts: int) -> bool:
    return (parts - 1) * part_size(size, parts) >= size


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
    return size_rejection(space, schedule.sizes) or _choice_rejection(space, schedule, target)


def size_rejection(space: ParameterSpace, sizes: Sizes) -> str | None:
    """The first rule that sizes break whatever the warps, the stages and the target."""
    of = dict(sizes)
    for rules in space.rules:
        for size, cut in rules.divided:
            parts = prod(of[p] for p in cut)
            if size % parts and (rules.reshapes or part_size(size, parts) < GRANULE or _has_empty_part(size, parts)):
                return "a tile is ragged"
        if any(of[p] > limit for p, limit in zip(rules.node.block.grid, GRID_LIMITS, strict=False)):
            return "the grid is too large"
        if any(_granule(cut, of) * width % COPY_BYTES for cut, width in rules.copied):
            return "rows shorter than a copy"
        if not all(_fits_tensor_cores(dims, of) for dims in rules.products):
            return "a product's tile is no multiple of 16 x 8 x 16"
    return None


def _granule(cut: Cut, of: MappingABC[str, int]) -> int:
    """Elements of a part of a dim; 0, a multiple of everything, where the dim stays whole and is padded instead."""
    parts = prod(of[p] for p in cut[1])
    return 0 if parts == 1 else part_size(cut[0], parts)


def _fits_tensor_cores(dims: tuple[Cut, Cut, Cut], of: MappingABC[str, int]) -> bool:
    m, n, k = (_granule(cut, of) for cut in dims)
    upright = m % MMA_ROWS == 0 and n % MMA_COLUMNS == 0
    sideways = m % MMA_COLUMNS == 0 and n % MMA_ROWS == 0
    return k % MMA_DEPTH == 0 and (upright or sideways)


def _choice_rejection(space: ParameterSpace, schedule: Schedule, target: Target) -> str | None:
    of = schedule.size_of
    if schedule.warps * LANES > target.threads_per_block:
        return "too many threads"
    for rules in space.rules:
        loop = rules.node.block.loop
        if schedule.stages > (1 if loop is None else of[loop]):
            return "more stages than iterations"
        reason = _capacity_rejection(rules, schedule, target)
        if reason is not None:
            return reason
    return None


def _capacity_rejection(rules: _Rules, schedule: Schedule, target: Target) -> str | None:
    names = rules.node.block.parallel_dims
    sizes = tuple(item for item in schedule.sizes if item[0] in names)
    try:
        placement = placed(rules.node, sizes, schedule.stages, rules.strides)
    except ScheduleError as error:
        return error.message
    if placement.shared_bytes > target.shared_per_block:
        return "too much shared memory"
    if schedule.warps > max(1, warp_units(placement)):
        return "a warp without work"
    if placement.sharing_warps(schedule.warps) > REDUCING_WARPS:
        return "too many warps share a row"
    registers = registers_per_thread(placement, schedule.warps)
    held = sum(p.accumulators(schedule.warps) for p in placement.held.values())
    if registers > target.registers_per_thread or held > MAX_ACCUMULATORS:
        return "too many registers"
    return "too many registers" if registers * schedule.warps * LANES > target.registers else None


def enumerate_schedules(space: ParameterSpace, target: Target) -> Iterator[Schedule]:
    """All valid points of one graph, lazily, in a fixed order."""
    return (point for point in space if rejection(space, point, target) is None)


def sample(
    graphs: Sequence[KernelGraph], target: Target, count: int, seed: int = 0, program: Program | None = None
) -> Sample:
    """Up to ``count`` different valid points over all graphs; all points are looked at where there are few.

    Each valid point of each graph is equally likely; the same arguments give the same points in the same order.
    Raises :class:`~prism_mlir.graph.errors.InputError` for a graph whose mappings are still symbols.
    """
    spaces = [parameter_space(g, program) for g in graphs]
    refused: Counter[str] = Counter()
    population = _population(spaces, refused)
    struck, rng = sum(refused.values()), random.Random(seed)
    found: dict[int, ScheduledGraph] = {}
    examined = 0
    for index in _order(len(population), count, rng):
        if len(found) == count and len(population) > EXHAUSTIVE:
            break
        examined += 1
        space, point = population[index]
        reason = rejection(space, point, target)
        if reason is None:
            found[index] = ScheduledGraph(space.graph, point)
        else:
            refused[reason] += 1
    kept = sorted(found) if len(found) <= count else sorted(rng.sample(sorted(found), count))
    raw, examined = sum(s.raw_size for s in spaces), examined + struck
    return Sample(tuple(found[k] for k in kept), raw, examined, examined == raw, tuple(sorted(refused.items())))


def _order(population: int, count: int, rng: random.Random) -> Sequence[int]:
    """Which points to look at, and in which order: all as they come, or some at random, none twice."""
    if population <= EXHAUSTIVE:
        return range(population)
    return rng.sample(range(population), min(population, count * TRIES_PER_SAMPLE))


@dataclass(frozen=True, slots=True)
class _Population:
    """Numbered points: the listed sizes of spaces with every choice of warps and stages, or whole raw spaces.

    starts: the number of the first point of each row of ``rows``, and the number of all points at the end
    """

    rows: tuple[tuple[ParameterSpace, Sizes | None], ...]
    starts: tuple[int, ...]

    def __len__(self) -> int:
        return self.starts[-1]

    def __getitem__(self, index: int) -> tuple[ParameterSpace, Schedule]:
        row = bisect_right(self.starts, index) - 1
        space, sizes = self.rows[row]
        rest = index - self.starts[row]
        return space, space.point(rest) if sizes is None else space.with_choice(sizes, rest)


def _population(spaces: Sequence[ParameterSpace], refused: Counter[str]) -> _Population:
    """Points to draw from. Sizes that break a rule are struck out, and counted, unless there are too many to look at each."""
    rows: list[tuple[ParameterSpace, Sizes | None]] = []
    if sum(s.shape_count for s in spaces) > MAX_SHAPES:
        rows += [(space, None) for space in spaces]
    else:
        for space in spaces:
            for sizes in space.shapes:
                reason = size_rejection(space, sizes)
                if reason is None:
                    rows.append((space, sizes))
                else:
                    refused[reason] += space.choices
    counts = (space.raw_size if sizes is None else space.choices for space, sizes in rows)
    return _Population(tuple(rows), tuple(accumulate(counts, initial=0)))
