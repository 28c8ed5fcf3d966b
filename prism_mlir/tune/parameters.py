"""The parameter space: every schedule of a graph with concrete mappings (paper, section 5).

A point gives each parallel dim a number of parts, and the kernel its warps and pipeline stages, the orientation of its products
and the blocks an SM must hold. The raw space is a product of short lists; :func:`rejection` says which of its points a target
cannot run, or are another point by another name, and why. The *plain* space asks for no orientation and no resident blocks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Mapping as MappingABC
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from math import gcd, prod

from prism_mlir.graph.block import Load, Stage
from prism_mlir.graph.dtypes import DType
from prism_mlir.graph.footprint import (
    REDUCING_WARPS,
    TENSOR_TYPES,
    Placement,
    Product,
    ScheduleError,
    contiguous_dim,
    is_matmul,
)
from prism_mlir.graph.kernel import CustomNode, KernelGraph
from prism_mlir.graph.mapping import GRANULE, part_size, tile_partitions
from prism_mlir.graph.ops import Kind, Op
from prism_mlir.graph.program import Program
from prism_mlir.graph.schedule import Orientation, Schedule
from prism_mlir.tune.occupancy import (
    LANES,
    MMA_COLUMNS,
    MMA_DEPTH,
    MMA_ROWS,
    concrete_mapping,
    free_registers,
    operand_strides,
    placed,
    register_limit,
    registers_per_thread,
    warp_units,
)
from prism_mlir.tune.targets import Target

WARPS = (1, 2, 4, 8, 16)
STAGES = (1, 2, 3, 4)
ORIENTATIONS = (Orientation.AUTO, Orientation.UPRIGHT, Orientation.SIDEWAYS)
RESIDENCIES = (0, 2, 3, 4, 5, 6, 8, 12, 16)
GRID_LIMITS = (2**31 - 1, 65535, 65535)  # CUDA programming guide, "technical specifications"
GOOD_PART = 64  # a power of two in a dim, from which on its parts are equal
RAGGED_PARTS = (16, 32, 64, 128, 256, 512, 1024)
COPY_BYTES = 16  # what one thread moves with one cp.async
MAX_ACCUMULATORS = 160  # registers all products may take of a thread's; more spill, as ptxas says

Sizes = tuple[tuple[str, int], ...]
Cut = tuple[int, tuple[str, ...]]  # a dim's size and the parallel dims that cut it


@dataclass(frozen=True)
class ParameterSpace:
    """The raw space of one graph: for each parallel dim, and for whatever else a schedule says, the values to try."""

    graph: KernelGraph
    sizes: tuple[tuple[str, tuple[int, ...]], ...]
    warps: tuple[int, ...] = WARPS
    stages: tuple[int, ...] = STAGES
    orientations: tuple[Orientation, ...] = ORIENTATIONS
    residencies: tuple[int, ...] = RESIDENCIES
    program: Program | None = None

    @property
    def plain(self) -> ParameterSpace:
        """The space without what a schedule need not ask for."""
        return replace(self, orientations=(Orientation.AUTO,), residencies=(0,))

    @property
    def shape_count(self) -> int:
        """Combinations of sizes."""
        return prod(len(values) for _, values in self.sizes)

    @property
    def choices(self) -> int:
        """Combinations of everything else: for each orientation, residency and stages, all warps."""
        return len(self.orientations) * self.oriented_choices

    @property
    def oriented_choices(self) -> int:
        """Choices with the same orientation."""
        return len(self.residencies) * len(self.stages) * len(self.warps)

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
        """A point from its sizes and the number of a choice."""
        rest, warp = divmod(index, len(self.warps))
        rest, stage = divmod(rest, len(self.stages))
        orientation, residency = divmod(rest, len(self.residencies))
        asked = self.orientations[orientation], self.residencies[residency]
        return Schedule(sizes, self.warps[warp], self.stages[stage], *asked)

    def point(self, index: int) -> Schedule:
        """The raw point number ``index`` of the order of iteration."""
        rest, choice = divmod(index, self.choices)
        chosen: dict[str, int] = {}
        for name, values in reversed(self.sizes):
            rest, digit = divmod(rest, len(values))
            chosen[name] = values[digit]
        return self.with_choice(tuple(sorted(chosen.items())), choice)

    def __str__(self) -> str:
        """The size of the raw space, and how many values each parameter has.

        >>> from prism_mlir.graph.examples import softmax_matmul_block
        >>> str(parameter_space(softmax_matmul_block()).plain)
        '3,380 points: x 13, i 13, warps 5, stages 4'
        """
        asked = {"orientations": len(self.orientations), "residencies": len(self.residencies)}
        counts = {**{name: len(v) for name, v in self.sizes}, "warps": len(self.warps), "stages": len(self.stages)}
        counts |= {name: n for name, n in asked.items() if n > 1}
        return f"{self.raw_size:,} points: {', '.join(f'{name} {n}' for name, n in counts.items())}"

    @cached_property
    def rules(self) -> tuple[_Rules, ...]:
        """What does not depend on the sizes, of each graph-defined operator."""
        return tuple(_rules(self.graph, node, self.program) for node in self.graph.custom)


@dataclass(frozen=True, slots=True)
class _Rules:
    """What the sizes of one graph-defined operator must obey.

    divided:  dims that are cut
    copied:   contiguous dims of loads, with the bytes of an element
    loads:    the dims of each loaded tile, the bytes of an element, and whether every iteration loads it
    products: the m, n and k dims of products on tensor cores
    reshapes: whether some tile is reshaped, which must then be whole
    """

    node: CustomNode
    strides: tuple[tuple[int, ...], ...]
    divided: tuple[Cut, ...]
    copied: tuple[tuple[Cut, int], ...]
    loads: tuple[tuple[tuple[Cut, ...], int, bool], ...]
    products: tuple[tuple[Cut, Cut, Cut], ...]
    reshapes: bool

    def loaded_bytes(self, of: MappingABC[str, int], stages: int) -> int:
        """Shared memory that loaded tiles take at least: before the loop all of them are alive."""
        total = 0
        for dims, width, repeated in self.loads:
            tile = prod(part_size(size, prod([of[p] for p in cut])) for size, cut in dims)
            total += tile * width * (stages if repeated else 1)
        return total


def _rules(graph: KernelGraph, node: CustomNode, program: Program | None) -> _Rules:
    block, strides = node.block, operand_strides(graph, node, program)
    cuts = [
        [(n, tuple(sorted(part))) for n, part in zip(shape, row, strict=True)]
        for shape, row in zip(block.shapes, tile_partitions(block, concrete_mapping(node)), strict=True)
    ]
    copied: dict[tuple[Cut, int], None] = {}
    loads: list[tuple[tuple[Cut, ...], int, bool]] = []
    for k in block.loads:
        op = block.nodes[k].op
        assert isinstance(op, Load)
        width = block.inputs[op.source].dtype.bytes
        loads.append((tuple(cuts[k]), width, block.stages[k] is Stage.BODY))
        if cuts[k]:
            inner = cuts[k][contiguous_dim(block.shapes[k], strides[op.source])]
            copied[inner, width] = None
    whole = placed(node, tuple((p, 1) for p in sorted(block.parallel_dims)), 1, strides)
    products: dict[tuple[Cut, Cut, Cut], None] = {}
    for k, tile in whole.products.items():
        if tile.on_tensor_cores:
            left, right = (cuts[v] for v in block.nodes[k].operands)
            products[left[-2], right[-1], left[-1]] = None
    divided = dict.fromkeys(cut for row in cuts for cut in row if cut[1])
    reshapes = any(isinstance(n.op, Op) and n.op.kind is Kind.RESHAPE for n in block.nodes)
    return _Rules(node, strides, tuple(divided), tuple(copied), tuple(loads), tuple(products), reshapes)


def parameter_space(
    graph: KernelGraph,
    program: Program | None = None,
    warps: tuple[int, ...] = WARPS,
    stages: tuple[int, ...] = STAGES,
) -> ParameterSpace:
    """The raw space of a graph; ``program`` says how its inputs lie in memory.

    Orientations are there where a product may be on tensor cores, residencies where there is a product to hold in registers.
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
    multiplied = [c.block for c in graph.custom if any(is_matmul(n.op) for n in c.block.nodes)]
    turned = any(b.tf32 or any(t.dtype in TENSOR_TYPES for t in b.inputs) for b in multiplied)
    return ParameterSpace(
        graph,
        sizes,
        warps,
        stages if looped else (1,),
        orientations=ORIENTATIONS if turned else (Orientation.AUTO,),
        residencies=RESIDENCIES if multiplied else (0,),
        program=program,
    )


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
    return (
        size_rejection(space, schedule.sizes, target)
        or orientation_rejection(space, schedule.sizes, schedule.orientation)
        or choice_rejection(space, schedule, target)
    )


def choice_rejection(space: ParameterSpace, schedule: Schedule, target: Target) -> str | None:
    """The same for a point whose sizes and orientation are known to break no rule."""
    return _stage_rejection(space, schedule, target) or _residency_rejection(space, schedule, target)


def size_rejection(space: ParameterSpace, sizes: Sizes, target: Target) -> str | None:
    """The first rule that sizes break whatever the warps and the stages."""
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
        if rules.loaded_bytes(of, 1) > target.shared_per_block:
            return "too much shared memory"
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


def orientation_rejection(space: ParameterSpace, sizes: Sizes, orientation: Orientation) -> str | None:
    """Why an orientation is none to try with some sizes: a product does not fit it, or all products have it already."""
    if orientation is Orientation.AUTO:
        return None
    of, sideways, turns = dict(sizes), orientation is Orientation.SIDEWAYS, False
    for rules in space.rules:
        for m, n, _ in rules.products:
            rows, columns = (n, m) if sideways else (m, n)
            if _granule(rows, of) % MMA_ROWS or _granule(columns, of) % MMA_COLUMNS:
                return "a product does not fit the orientation"
            tile = tuple(part_size(size, prod(of[p] for p in cut)) for size, cut in (m, n))
            turns |= Product.of(tile, MMA_DEPTH, DType.F16).transposed is not sideways
    return None if turns else "an orientation that changes nothing"


def _stage_rejection(space: ParameterSpace, schedule: Schedule, target: Target) -> str | None:
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


def _residency_rejection(space: ParameterSpace, schedule: Schedule, target: Target) -> str | None:
    """Why a number of resident blocks is none to ask for. Code that needs more registers than it leaves would spill."""
    if not schedule.residency:
        return None
    limit, lowered = register_limit(schedule.residency, schedule.warps, target), False
    for rules in space.rules:
        placement = _placement(rules, schedule)
        shared = placement.shared_bytes + target.shared_reserved
        threads = schedule.residency * schedule.warps * LANES
        if schedule.residency * shared > target.shared_per_sm or threads > target.threads_per_sm:
            return "too few blocks fit an SM"
        if registers_per_thread(placement, schedule.warps) > limit:
            return "too many registers"
        lowered |= limit < free_registers(placement, schedule.warps, target)
    return None if lowered else "a residency that changes nothing"


def _placement(rules: _Rules, schedule: Schedule) -> Placement:
    names = rules.node.block.parallel_dims
    sizes = tuple(item for item in schedule.sizes if item[0] in names)
    return placed(rules.node, sizes, schedule.stages, rules.strides, schedule.orientation)


def _capacity_rejection(rules: _Rules, schedule: Schedule, target: Target) -> str | None:
    if rules.loaded_bytes(schedule.size_of, schedule.stages) > target.shared_per_block:
        return "too much shared memory"  # as the placement would show, which takes far longer to make
    try:
        placement = _placement(rules, schedule)
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


def variants(space: ParameterSpace, schedule: Schedule, target: Target) -> Iterator[Schedule]:
    """The valid points that differ from a plain valid one in orientation and residency only."""
    for orientation in space.orientations:
        for residency in space.residencies:
            point = replace(schedule, orientation=orientation, residency=residency)
            if point != schedule and rejection(space, point, target) is None:
                yield point
