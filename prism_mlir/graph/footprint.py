"""Where every tile of a block graph lives: shared memory, registers, or nowhere (recomputed where it is used).

This is arithmetic on shapes alone, so that choosing sizes can ask "does it fit" without generating code, and code generation
builds exactly what was promised. The rules:

* a loaded tile is a shared-memory buffer, with ``stages`` copies if it is loaded in every iteration
* elementwise operators are evaluated where they are used
* products and what is accumulated from them stay in registers; they are written to shared memory too (f32) only where a use
  needs other elements than the thread holds
* a computed operand of a tensor-core product is first written to shared memory in the element type of the product
* a result in registers goes through shared memory, where there is room for it after the loop, so that each thread stores 16 bytes
* reductions along the last dim of a tile in registers are done there, others read shared memory
* reductions leave their result in shared memory (f32); one that is accumulated over the loop stays in registers until the end
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Mapping as MappingABC
from dataclasses import dataclass, field, replace
from enum import StrEnum
from math import prod

from prism_mlir.graph.block import Accum, BlockGraph, Load, Stage, TensorType
from prism_mlir.graph.dtypes import DType
from prism_mlir.graph.errors import PrismError
from prism_mlir.graph.mapping import Mapping, Partition, tile_partitions, tile_shape
from prism_mlir.graph.ops import RUNNING_MAX, Kind, Op, Shape
from prism_mlir.graph.program import row_major
from prism_mlir.graph.schedule import Orientation
from prism_mlir.graph.tile_layout import TileLayout

SHARED_LIMIT = 163 * 1024
"""Bytes of shared memory a block can have on sm_80 (CUDA C++ Programming Guide, compute capabilities)."""

TENSOR_TYPES = (DType.F16, DType.BF16)
_CODE_TYPES = (DType.F16, DType.BF16, DType.F32, DType.I1)
_MAX_FUSED_ROWS = 64  # a thread holds one partial sum for each row its warp reduces
_MMA_P, _MMA_Q, _MMA_K = 16, 8, 16
_LANES = 32
REDUCING_WARPS = 8  # warps that may share rows of a tile in registers that is reduced
_STORED_TOGETHER = 4  # elements of 16 bytes at least: fewer neighbours are stored from registers


class ScheduleError(PrismError):
    """A graph cannot be built with these sizes; other sizes may do."""


class Phase(StrEnum):
    """When a buffer is alive."""

    BEFORE = "before"
    LOOP = "loop"
    AFTER = "after"

    @property
    def number(self) -> int:
        return _NUMBERS[self]


_NUMBERS = {phase: number for number, phase in enumerate(Phase)}
_PHASES = {Stage.INVARIANT: Phase.BEFORE, Stage.BODY: Phase.LOOP, Stage.AFTER: Phase.AFTER}


@dataclass(frozen=True, slots=True)
class Product:
    """How the product of two tiles is computed.

    batch, m, n, k: sizes of the tiles (leading dims together in ``batch``)
    dtype:          element type of the operands; f32 means fused multiply-add on the ordinary cores
    transposed:     the 16-row side of the tensor core holds n, and the 8-column side m
    tf32:           f32 operands are rounded to tf32 and multiplied on tensor cores
    """

    batch: int
    m: int
    n: int
    k: int
    dtype: DType
    transposed: bool
    tf32: bool = False

    @staticmethod
    def of(
        shape: Shape, k: int, dtype: DType, tf32: bool = False, orientation: Orientation = Orientation.AUTO
    ) -> Product:
        """The product of a result tile ``[.., m, n]`` in the asked form; else in the one with the least padding, on a tie the
        normal one."""
        *lead, m, n = shape
        normal = _round_up(m, _MMA_P) * _round_up(n, _MMA_Q)
        turned = _round_up(n, _MMA_P) * _round_up(m, _MMA_Q)
        sideways = turned < normal if orientation is Orientation.AUTO else orientation is Orientation.SIDEWAYS
        fast = dtype in TENSOR_TYPES or tf32
        return Product(prod(lead), m, n, k, dtype, fast and sideways, tf32)

    @property
    def on_tensor_cores(self) -> bool:
        return self.dtype in TENSOR_TYPES or self.tf32

    def padding(self, position: int) -> tuple[int, int]:
        """Multiples to which the last two dims of operand ``position`` are padded."""
        if not self.on_tensor_cores:
            return (1, 1)
        m, n = (_MMA_Q, _MMA_P) if self.transposed else (_MMA_P, _MMA_Q)
        return (m, _MMA_K) if position == 0 else (_MMA_K, n)

    @property
    def sides(self) -> tuple[int, int]:
        """Sizes of the tensor core's 16-row side and of its 8-column side."""
        return (self.n, self.m) if self.transposed else (self.m, self.n)

    @property
    def fragments(self) -> tuple[int, int]:
        """Fragments along both sides."""
        return _ceil(self.sides[0], _MMA_P), _ceil(self.sides[1], _MMA_Q)

    def warp_grid(self, warps: int) -> tuple[int, int]:
        """Warps along both sides: the split with the fewest products a warp, then with the fewest fragments to read."""
        p, q = self.fragments

        def work(along: int) -> tuple[int, int]:
            rows, columns = _ceil(p, along), _ceil(q, warps // along)
            return rows * columns, 2 * rows + columns

        along = min((w for w in range(warps, 0, -1) if warps % w == 0), key=work)
        return along, warps // along

    def accumulators(self, warps: int) -> int:
        """f32 registers a thread holds of the result."""
        if not self.on_tensor_cores:
            return _ceil(self.batch * self.m * self.n, warps * _LANES)
        (p, q), (along, across) = self.fragments, self.warp_grid(warps)
        return self.batch * _ceil(p, along) * _ceil(q, across) * (_MMA_P * _MMA_Q // _LANES)

    @property
    def registers(self) -> tuple[int, int, int, bool, bool]:
        """Equal for products whose results are spread over the threads alike."""
        return (self.batch, self.m, self.n, self.on_tensor_cores, self.transposed)


@dataclass(frozen=True, slots=True)
class Buffer:
    """A tile in shared memory.

    node:  block node whose values it holds
    kind:  ``load``, ``operand`` (rounded for a tensor-core product), ``value`` (f32), ``factor`` (f32, what accumulators are
           multiplied with when a running maximum rises), ``partial`` (f32, what each warp has of a row that several reduce) or
           ``store`` (f32, a result on its way to global memory)
    slots: copies, for the pipeline
    """

    node: int
    kind: str
    dtype: DType
    layout: TileLayout
    slots: int
    first: Phase
    last: Phase

    @property
    def key(self) -> tuple[int, str]:
        return (self.node, self.kind)

    @property
    def bytes(self) -> int:
        return self.slots * self.layout.bytes


@dataclass(frozen=True)
class Placement:
    """Where every tile of a block graph lives.

    tiles:     shape of each node's tile
    parts:     for each node and dim, the parallel dims that cut it
    stages:    stage of each node
    products:  matmul nodes
    held:      nodes whose tile is in registers, with the product whose distribution it has
    spilled:   nodes of ``held`` that are written to shared memory as well
    fused:     reductions and products that only feed an accumulator, with that accumulator
    rising:    reductions that only feed a running maximum, with that maximum
    reduced:   reductions of a tile in registers, with the product whose distribution it has
    operands:  for (matmul node, operand position), the key of the buffer it reads
    buffers:   shared memory
    """

    tiles: tuple[Shape, ...]
    parts: tuple[tuple[Partition, ...], ...]
    stages: tuple[Stage, ...]
    products: MappingABC[int, Product]
    held: MappingABC[int, Product]
    spilled: frozenset[int]
    fused: MappingABC[int, int]
    rising: MappingABC[int, int]
    reduced: MappingABC[int, Product]
    operands: MappingABC[tuple[int, int], tuple[int, str]]
    buffers: tuple[Buffer, ...]

    @property
    def shared_bytes(self) -> int:
        """Bytes of shared memory: the most that is alive at once. Buffers that are never alive together share memory."""
        return _most_alive(self.buffers)

    def sharing_warps(self, warps: int) -> int:
        """The most of a block's warps that share a row of a tile in registers that is reduced; at most ``REDUCING_WARPS`` may."""
        grids = [(p.transposed, p.warp_grid(warps)) for p in self.reduced.values()]
        return max((along if transposed else across for transposed, (along, across) in grids), default=1)


def shared_bytes(
    block: BlockGraph,
    mapping: Mapping,
    sizes: MappingABC[str, int],
    stages: int,
    strides: Sequence[tuple[int, ...]] | None = None,
) -> int:
    """Bytes of shared memory a block needs, exactly. Raises :class:`ScheduleError` for what cannot be built at all."""
    return place(block, mapping, sizes, stages, strides).shared_bytes


def place(
    block: BlockGraph,
    mapping: Mapping,
    sizes: MappingABC[str, int],
    stages: int,
    strides: Sequence[tuple[int, ...]] | None = None,
    orientation: Orientation = Orientation.AUTO,
) -> Placement:
    """Decide where tiles live. ``strides`` are those of the block's inputs in elements (row-major where not given)."""
    missing = [p for p in block.parallel_dims if sizes.get(p, 0) < 1]
    if missing:
        raise ScheduleError(f"the schedule gives no positive size for parallel dim {missing[0]}")
    for source in block.inputs:
        if source.dtype not in _CODE_TYPES:
            raise ScheduleError(f"no code for tensors of {source.dtype}", None, "use f16, bf16, f32 or, for masks, i1")
    return _Placer(block, mapping, sizes, stages, strides, orientation).run()


def contiguous_dim(shape: Shape, strides: Sequence[int]) -> int:
    """The dim along which a tensor's elements are adjacent; the last one if there is none."""
    adjacent = [d for d in range(len(shape)) if strides[d] == 1 and shape[d] > 1]
    return adjacent[-1] if adjacent else len(shape) - 1


def is_inline(op: object) -> bool:
    """Whether a node is evaluated where it is used."""
    return isinstance(op, Op) and op.kind not in (Kind.MATMUL, Kind.REDUCE) and op != RUNNING_MAX


def is_reduction(op: object) -> bool:
    return isinstance(op, Op) and op.kind is Kind.REDUCE


def is_matmul(op: object) -> bool:
    return isinstance(op, Op) and op.kind is Kind.MATMUL


def leaves(block: BlockGraph, root: int) -> tuple[int, ...]:
    """The nodes that an expression reads: ``root`` itself unless it is evaluated in place. Sorted."""
    found: set[int] = set()
    pending = [root]
    while pending:
        node = pending.pop()
        if is_inline(block.nodes[node].op):
            pending += block.nodes[node].operands
        else:
            found.add(node)
    return tuple(sorted(found))


def moves(block: BlockGraph, root: int) -> bool:
    """Whether an expression has a transpose or a reshape in it: elements depend on elements elsewhere in a leaf."""
    op = block.nodes[root].op
    if not isinstance(op, Op) or not is_inline(op):
        return False
    return op.kind in (Kind.TRANSPOSE, Kind.RESHAPE) or any(moves(block, v) for v in block.nodes[root].operands)


def common_spread(
    block: BlockGraph, tiles: Sequence[Shape], held: MappingABC[int, Product], root: int
) -> Product | None:
    """The product in whose distribution over threads an expression can be evaluated, its leaves in ``held`` from registers.

    ``None`` where no leaf is in registers, or where they hold other elements than the expression needs.
    """
    products = [held[v] for v in leaves(block, root) if v in held]
    if not products or len({p.registers for p in products}) != 1 or moves(block, root):
        return None
    *lead, m, n = tiles[root]
    first = products[0]
    return first if (prod(lead), m, n) == (first.batch, first.m, first.n) else None


@dataclass(frozen=True, slots=True)
class Site:
    """A place where an expression is evaluated.

    kind: ``operand`` (rounded copy for a product), ``read`` (by a product, in place), ``reduce``, ``rows`` (reduced along the
          last dim), ``accum`` or ``save``
    """

    root: int
    phase: Phase
    kind: str


@dataclass
class _Placer:
    block: BlockGraph
    mapping: Mapping
    sizes: MappingABC[str, int]
    stage_count: int
    strides: Sequence[tuple[int, ...]] | None
    orientation: Orientation
    held: dict[int, Product] = field(default_factory=dict)
    spilled: set[int] = field(default_factory=set)

    def run(self) -> Placement:
        block = self.block
        self.stages = block.stages
        self.parts = tile_partitions(block, self.mapping)
        self.tiles = tuple(tile_shape(s, p, self.sizes) for s, p in zip(block.shapes, self.parts, strict=True))
        self._check_operators()
        self.fused = dict(self._fused())
        self.rising = dict(self._rising())
        self.products = {k: self._product(k) for k, n in enumerate(block.nodes) if is_matmul(n.op)}
        sites = list(self._sites())
        self._spread(sites)
        self.reduced = dict(self._reduced())
        buffers = (*self._loads(), *self._values(), *self._operands(), *self._partials())
        last = self._last_uses(sites)
        buffers = tuple(_until(b, last.get(b.key, b.first)) for b in buffers)
        buffers = self._with_stores(buffers)
        return Placement(
            self.tiles,
            self.parts,
            self.stages,
            self.products,
            self.held,
            frozenset(self.spilled),
            self.fused,
            self.rising,
            self.reduced,
            dict(self._operand_keys()),
            buffers,
        )

    def _operand_keys(self) -> Iterator[tuple[tuple[int, int], tuple[int, str]]]:
        for k, product in self.products.items():
            for position, v in enumerate(self.block.nodes[k].operands):
                in_place = "load" if isinstance(self.block.nodes[v].op, Load) else "value"
                yield (k, position), (v, in_place if self.operand_in_place(v, product) else "operand")

    def _check_operators(self) -> None:
        for k in range(len(self.block.nodes)):
            if not self.tiles[k]:
                raise ScheduleError(f"block node {k}: no code for tiles without dims")
        for k in self.block.loads:
            for p, d in self._source(k).expanded:
                pieces = prod(self.sizes[q] for q in self.parts[k][d])
                if pieces * self.tiles[k][d] != self.block.shapes[k][d]:
                    raise ScheduleError(
                        f"block node {k}: dim {d} holds one part for each {p} and does not divide evenly"
                    )

    def _users(self, node: int) -> list[int]:
        return [k for k, n in enumerate(self.block.nodes) for v in n.operands if v == node]

    def _fused(self) -> Iterator[tuple[int, int]]:
        for k, node in enumerate(self.block.nodes):
            users = self._users(k)
            if len(users) != 1 or k in self.block.outputs:
                continue
            accum = self.block.nodes[users[0]].op
            if not isinstance(accum, Accum):
                continue
            if is_matmul(node.op) and accum.monoid == "sum":
                yield k, users[0]
            if is_reduction(node.op) and isinstance(node.op, Op):
                same = accum.monoid == node.op.spec.monoid
                if same and prod(self.tiles[k]) <= _MAX_FUSED_ROWS:
                    yield k, users[0]

    def _rising(self) -> Iterator[tuple[int, int]]:
        for k, node in enumerate(self.block.nodes):
            users = self._users(k)
            if is_reduction(node.op) and len(users) == 1 and self.block.nodes[users[0]].op == RUNNING_MAX:
                yield k, users[0]

    def _product(self, node: int) -> Product:
        a, b = self.block.nodes[node].operands
        dtype = self._product_type(a, b)
        tf32 = dtype is DType.F32 and node in self.block.tf32
        return Product.of(self.tiles[node], self.tiles[a][-1], dtype, tf32, self.orientation)

    def _product_type(self, a: int, b: int) -> DType:
        """The element type of a product: that of the loaded operands; with none, that of all loads it depends on. It is f32
        where an operand must not be rounded."""
        if {a, b} & self.block.wide:
            return DType.F32
        loaded = {self._load_type(v) for v in (a, b)} - {None}
        types = (loaded or {t for v in (a, b) for t in self._source_types(v)}) - {DType.I1}
        common = next(iter(types)) if len(types) == 1 else None
        return common if common in TENSOR_TYPES and common is not None else DType.F32

    def _source(self, load: int) -> TensorType:
        op = self.block.nodes[load].op
        assert isinstance(op, Load)
        return self.block.inputs[op.source]

    def _load_type(self, node: int) -> DType | None:
        op = self.block.nodes[node].op
        return self.block.inputs[op.source].dtype if isinstance(op, Load) else None

    def _source_types(self, node: int) -> set[DType]:
        kind = self._load_type(node)
        return {kind} if kind else {t for v in self.block.nodes[node].operands for t in self._source_types(v)}

    def _phase(self, node: int) -> Phase:
        return _PHASES[self.stages[node]]

    def operand_in_place(self, node: int, product: Product) -> bool:
        """Whether a product can read an operand where it lies anyway."""
        op = self.block.nodes[node].op
        if not product.on_tensor_cores:
            return not is_inline(op)
        if not isinstance(op, Load) or self._load_type(node) is not product.dtype:
            return False
        return self._load_order(node)[-1] >= len(self.tiles[node]) - 2

    def _sites(self) -> Iterator[Site]:
        """Every evaluation of an expression, in an order in which tiles are defined before they are used."""
        for k, node in enumerate(self.block.nodes):
            if is_matmul(node.op):
                for v in node.operands:
                    copied = not self.operand_in_place(v, self.products[k])
                    yield Site(v, self._phase(v), "operand") if copied else Site(v, self._phase(k), "read")
            elif is_reduction(node.op) or (node.op == RUNNING_MAX and node.operands[0] not in self.rising):
                yield Site(node.operands[0], self._phase(k), "rows" if self._along_rows(k) else "reduce")
            elif isinstance(node.op, Accum) and node.operands[0] not in self.fused:
                yield Site(node.operands[0], Phase.LOOP, "accum" if node.op.monoid == "sum" else "reduce")
        for out in self.block.outputs:
            yield Site(out, Phase.AFTER, "save")

    def _spread(self, sites: Sequence[Site]) -> None:
        """Which tiles stay in registers, and which of them shared memory needs as well."""
        for k, node in enumerate(self.block.nodes):
            if k in self.products:
                self.held[self.fused.get(k, k)] = self.products[k]
            elif isinstance(node.op, Accum) and node.op.monoid == "sum" and node.operands[0] not in self.fused:
                spread = self.spread_of(node.operands[0])
                if spread is not None:
                    self.held[k] = spread
        for site in sites:
            held = [v for v in leaves(self.block, site.root) if v in self.held]
            spread = self.spread_of(site.root) if site.kind not in ("reduce", "read") else None
            if held and (spread is None or (site.kind == "rows" and not spread.on_tensor_cores)):
                self.spilled.update(held)

    def _along_rows(self, node: int) -> bool:
        """Whether a node reduces the last dim of a tile."""
        op, operands = self.block.nodes[node].op, self.block.nodes[node].operands
        return is_reduction(op) and isinstance(op, Op) and op.dim == len(self.tiles[operands[0]]) - 1

    def _reduced(self) -> Iterator[tuple[int, Product]]:
        for k, node in enumerate(self.block.nodes):
            spread = self.spread_of(node.operands[0]) if self._along_rows(k) else None
            if spread is not None and spread.on_tensor_cores:
                yield k, spread

    def _partials(self) -> Iterator[Buffer]:
        """Small buffers for reductions of tiles in registers."""
        for k in self.reduced:
            phase = Phase.AFTER if k in self.fused else self._phase(k)
            layout = TileLayout.row_major((prod(self.tiles[k]), REDUCING_WARPS), 4)
            yield Buffer(k, "partial", DType.F32, layout, 1, phase, phase)

    def spread_of(self, root: int) -> Product | None:
        return common_spread(self.block, self.tiles, self.held, root)

    def _load_order(self, node: int) -> tuple[int, ...]:
        op = self.block.nodes[node].op
        assert isinstance(op, Load)
        shape = self.block.inputs[op.source].shape
        fastest = contiguous_dim(shape, self.strides[op.source] if self.strides else row_major(shape))
        return (*(d for d in range(len(shape)) if d != fastest), fastest)

    def _padded(self, node: int) -> Shape:
        """A tile's extents when every product that reads it directly finds whole tensor-core tiles."""
        extents = list(self.tiles[node])
        for k, product in self.products.items():
            for position, v in enumerate(self.block.nodes[k].operands):
                if v == node:
                    for d, multiple in zip((-2, -1), product.padding(position), strict=True):
                        extents[d] = max(extents[d], _round_up(self.tiles[node][d], multiple))
        return tuple(extents)

    def _loads(self) -> Iterator[Buffer]:
        for k in self.block.loads:
            dtype = self._load_type(k)
            assert dtype is not None
            in_place = any(
                v == k and self.operand_in_place(k, p)
                for m, p in self.products.items()
                for v in self.block.nodes[m].operands
            )
            extents = self._padded(k) if in_place else self.tiles[k]
            layout = TileLayout(extents, self._load_order(k), dtype.bytes, self._paired(dtype))
            slots = self.stage_count if self.stages[k] is Stage.BODY else 1
            last = Phase.LOOP if self.stages[k] is Stage.BODY else Phase.BEFORE
            yield Buffer(k, "load", dtype, layout, slots, Phase.BEFORE, last)

    def _paired(self, dtype: DType) -> bool:
        """Whether lanes of products in the normal form read and write f32 tiles; operands of tf32 are read by single elements."""
        forms = {p.transposed for p in self.held.values() if p.on_tensor_cores}
        return dtype is DType.F32 and forms == {False} and not self.block.tf32

    def _values(self) -> Iterator[Buffer]:
        for k, node in enumerate(self.block.nodes):
            if node.op == RUNNING_MAX:
                layout = TileLayout.row_major(self.tiles[k], 4, self._paired(DType.F32))
                yield Buffer(k, "value", DType.F32, layout, 1, Phase.BEFORE, Phase.LOOP)
                # its padding is zeroed before the loop, where other buffers of that phase may still be read
                yield Buffer(k, "factor", DType.F32, layout, 1, Phase.BEFORE, Phase.LOOP)
                continue
            reduction = is_reduction(node.op) and k not in self.fused and k not in self.rising
            accumulated = isinstance(node.op, Accum) and k not in self.held
            if not (reduction or accumulated or k in self.spilled):
                continue
            first = self._phase(k)
            if accumulated and node.operands[0] not in self.fused:
                first = Phase.BEFORE  # initialised before the loop
            layout = TileLayout.row_major(self.tiles[k], 4, self._paired(DType.F32))
            yield Buffer(k, "value", DType.F32, layout, 1, first, first)

    def _operands(self) -> Iterator[Buffer]:
        done: dict[int, DType] = {}
        for k, product in self.products.items():
            for v in self.block.nodes[k].operands:
                if self.operand_in_place(v, product) or done.get(v) is product.dtype:
                    continue
                if v in done:
                    raise ScheduleError(f"block node {v} is an operand of products in {done[v]} and in {product.dtype}")
                done[v] = product.dtype
                layout = TileLayout.row_major(self._padded(v), product.dtype.bytes)
                yield Buffer(v, "operand", product.dtype, layout, 1, self._phase(v), self._phase(v))

    def _with_stores(self, buffers: tuple[Buffer, ...]) -> tuple[Buffer, ...]:
        """Buffers for results in registers, as many as a block of one stage needs no more shared memory for: more stages change
        nothing but the number of copies."""
        for out in dict.fromkeys(self.block.outputs):
            tile = self.tiles[out]
            if self.spread_of(out) is None or tile[-1] % _STORED_TOGETHER:
                continue
            layout = TileLayout.row_major(tile, 4, self._paired(DType.F32))
            more = Buffer(out, "store", DType.F32, layout, 1, Phase.AFTER, Phase.AFTER)
            once = [replace(b, slots=1) for b in buffers]
            if _most_alive([*once, more]) == _most_alive(once):
                buffers = (*buffers, more)
        return buffers

    def _last_uses(self, sites: Sequence[Site]) -> dict[tuple[int, str], Phase]:
        last: dict[tuple[int, str], Phase] = {}

        def use(key: tuple[int, str], phase: Phase) -> None:
            last[key] = max(last.get(key, phase), phase, key=lambda p: p.number)

        for site in sites:
            for v in leaves(self.block, site.root):
                use((v, "load" if isinstance(self.block.nodes[v].op, Load) else "value"), site.phase)
        for k, product in self.products.items():
            for v in self.block.nodes[k].operands:
                if not self.operand_in_place(v, product):
                    use((v, "operand"), self._phase(k))
        return last


def _most_alive(buffers: Sequence[Buffer]) -> int:
    """Bytes of the fullest phase."""
    alive = [0] * len(Phase)
    for buffer in buffers:
        size = buffer.bytes
        for phase in range(buffer.first.number, buffer.last.number + 1):
            alive[phase] += size
    return max(alive)


def _until(buffer: Buffer, last: Phase) -> Buffer:
    latest = max(buffer.last, last, key=lambda p: p.number)
    return Buffer(buffer.node, buffer.kind, buffer.dtype, buffer.layout, buffer.slots, buffer.first, latest)


def _ceil(value: int, parts: int) -> int:
    return -(-value // parts)


def _round_up(value: int, multiple: int) -> int:
    return _ceil(value, multiple) * multiple
