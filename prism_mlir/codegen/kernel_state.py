"""What the emitters of one kernel share: the builder, the thread's place, tile positions, shared-memory access.

Coordinates are in elements within a tile. ``step`` is the loop iteration in scope, and ``slot`` the pipeline copy it reads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from prism_mlir.codegen.builder import Bool, Builder, Int
from prism_mlir.codegen.elementwise import Arithmetic
from prism_mlir.codegen.layout import Spread, Threads, element_offset
from prism_mlir.codegen.memory_plan import ALIGNMENT, MemoryPlan
from prism_mlir.graph.block import BlockGraph, Load, Stage
from prism_mlir.graph.dtypes import DType
from prism_mlir.graph.dynamic import ViewExtents
from prism_mlir.graph.extent import Extent
from prism_mlir.graph.footprint import Buffer, Phase, Placement, ScheduleError
from prism_mlir.graph.mapping import WHOLE, Partition

SPACE = "#gpu.address_space<workgroup>"
_SHARED_TYPE = f"memref<0xi8, {SPACE}>"

DYNAMIC_SHARED = f"memref.global @dynamic_shared : {_SHARED_TYPE} {{alignment = {ALIGNMENT} : i64}}"
"""Declares shared memory at module scope, as an external array whose size the launch gives: more than 48 KB cannot be declared.
``gpu.dynamic_shared_memory`` is not used: MLIR 22.1 gives its array internal linkage, and LLVM makes it static, of one byte."""


@dataclass(frozen=True, slots=True)
class GlobalTensor:
    """A tensor in global memory: a strided view of one kernel parameter.

    name:     SSA name of the parameter, a memref of rank 1 with ``elements`` elements
    strides:  in elements; ``offset`` likewise
    extents:  shape, strides and offset at every size, where they depend on dynamic sizes
    """

    name: str
    dtype: DType
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    elements: int
    extents: ViewExtents | None = None

    @property
    def type(self) -> str:
        return f"memref<{self.elements}x{self.dtype.in_memory}>"

    @property
    def multiples(self) -> tuple[int, ...]:
        """What divides each stride, whatever the sizes."""
        return self.strides if self.extents is None else tuple(e.times for e in self.extents.strides)

    @property
    def start_multiple(self) -> int:
        """What divides the offset, whatever the sizes."""
        return self.offset if self.extents is None else self.extents.offset.times

    def length_multiple(self, dim: int) -> int:
        """What divides the length of a dim, whatever the sizes."""
        return self.shape[dim] if self.extents is None else self.extents.shape[dim].times


@dataclass(frozen=True, slots=True)
class Turns:
    """A loop along a dynamic dim: the dim's length, the tile's, and grid dims that cut it too, slowest first."""

    length: Extent
    tile: int
    grid: tuple[str, ...]


@dataclass
class KernelState:
    """The mutable state of emitting one kernel.

    dynamic:     extents of the dims of every node's whole tensor, where sizes are dynamic
    size_values: SSA names of those sizes
    turns:       how often the loop runs, where that depends on them
    """

    b: Builder
    threads: Threads
    block: BlockGraph
    placement: Placement
    memory: MemoryPlan
    math: Arithmetic
    sizes: Mapping[str, int]
    inputs: Sequence[GlobalTensor]
    dynamic: Mapping[int, tuple[Extent, ...]] = field(default_factory=dict)
    size_values: Sequence[str] = ()
    turns: Turns | None = None
    step: Int = 0
    slot: Int = 0
    registers: dict[int, list[str]] = field(default_factory=dict)
    spreads: dict[int, Spread] = field(default_factory=dict)
    written: set[tuple[int, str]] = field(default_factory=set)
    read: set[tuple[int, str]] = field(default_factory=set)
    phase: Phase = Phase.BEFORE
    _sites: int = 0

    # Barriers

    def barrier(self) -> None:
        self.b.emit("gpu.barrier")
        self.written.clear()
        self.read.clear()

    def check_alive(self, buffer: Buffer) -> None:
        """What is written must be alive: before that, another buffer may lie in its place."""
        assert buffer.first.number <= self.phase.number, f"{buffer.key} is written before {buffer.first}"

    def touch(self, reads: set[tuple[int, str]], writes: set[tuple[int, str]]) -> None:
        """Announce what the next code reads and writes in shared memory; a barrier comes first where one is needed."""
        if reads & self.written or writes & (self.written | self.read):
            self.barrier()
        self.read |= reads
        self.written |= writes
        for key in writes:
            self.check_alive(self.memory.buffers[key])

    def new_site(self) -> str:
        """A tag for loads from shared memory, which may be shared within one site but not beyond."""
        self._sites += 1
        return f"site{self._sites}"

    # Positions

    def block_index(self, grid_dim: str) -> Int:
        if self.sizes[grid_dim] == 1:
            return 0
        axis = "xyz"[self.block.grid.index(grid_dim)]
        return self.b.pure(f"arith.index_castui {self.b.pure(f'gpu.block_id {axis}')} : index to i32")

    def part_index(self, part: Partition) -> Int:
        """Which part of a dim this block (and iteration) holds: grid dims are the slow digits, the loop the fast one."""
        index: Int = 0
        for name in self.block.parallel_dims:
            if name in part:
                digit = self.step if name == self.block.loop else self.block_index(name)
                index = self.b.add(self.b.mul(index, self.sizes[name]), digit)
        return index

    def origin(self, node: int, dim: int, added: Partition = WHOLE) -> Int:
        """Where the tile starts in the whole tensor; ``added`` are parallel dims along which the tensor is expanded there.

        Raises :class:`ScheduleError` for a tensor that is expanded along a dim of dynamic length and cut there as well.
        """
        if added and self.is_dynamic(node, dim):
            if self.placement.parts[node][dim] - added:
                raise ScheduleError("parts of a dim of dynamic length, each of which is cut again")
            return self.b.mul(self.part_index(added), self.length(node, dim))
        part = self.placement.parts[node][dim] | added
        return self.b.mul(self.part_index(part), self.placement.tiles[node][dim])

    def added_to_load(self, node: int, dim: int) -> Partition:
        """Parallel dims of which a loaded tensor holds one part each along ``dim``; the tile is one part."""
        op = self.block.nodes[node].op
        assert isinstance(op, Load)
        return frozenset(p for p, d in self.block.inputs[op.source].expanded if d == dim)

    def number(self, extent: Extent) -> Int:
        """A number that depends on dynamic sizes."""
        value: Int = extent.times
        for k in extent.sizes:
            value = self.b.mul(value, self.size_values[k])
        return value

    def loop_turns(self) -> Int:
        """How often the loop runs: as often as parts of a dynamic dim hold something, if it runs along one."""
        assert self.block.loop is not None
        most = self.sizes[self.block.loop]
        if self.turns is None or most == 1:
            return most
        first: Int = 0
        for name in self.turns.grid:
            first = self.b.add(self.b.mul(first, self.sizes[name]), self.block_index(name))
        left = self.b.sub_to_zero(self.number(self.turns.length), self.b.mul(first, most * self.turns.tile))
        found = self.b.div(self.b.add(left, self.turns.tile - 1), self.turns.tile)
        return self.b.minimum(found, most) if self.turns.grid else found

    def stores_something(self) -> Bool:
        """Whether some of what the block stores exists: blocks past the end of a dim of dynamic length have nothing to do."""
        rows = [self._starts_inside(out) for out in dict.fromkeys(self.block.outputs)]
        return rows[0] if all(row == rows[0] for row in rows) else True

    def _starts_inside(self, node: int) -> Bool:
        dims = [d for d in range(len(self.placement.tiles[node])) if self.is_dynamic(node, d)]
        cut = [d for d in dims if self.origin(node, d) != 0]
        return self.b.all([self.b.less(self.origin(node, d), self.length(node, d)) for d in cut])

    def steps(self, tensor: GlobalTensor) -> list[Int]:
        """A tensor's strides."""
        return list(tensor.strides) if tensor.extents is None else [self.number(e) for e in tensor.extents.strides]

    def start(self, tensor: GlobalTensor) -> Int:
        """A tensor's offset."""
        return tensor.offset if tensor.extents is None else self.number(tensor.extents.offset)

    def is_dynamic(self, node: int, dim: int) -> bool:
        """Whether the length of a dim is known only at launch."""
        return node in self.dynamic and self.dynamic[node][dim].dynamic

    def length(self, node: int, dim: int) -> Int:
        """The length of a dim of the whole tensor."""
        return self.number(self.dynamic[node][dim]) if self.is_dynamic(node, dim) else self.block.shapes[node][dim]

    def is_ragged(self, node: int, dim: int) -> bool:
        """Whether some parts of a dim hold fewer elements than the tile, or may."""
        if self.is_dynamic(node, dim):
            return True
        pieces = prod(self.sizes[p] for p in self.placement.parts[node][dim])
        return pieces * self.placement.tiles[node][dim] != self.block.shapes[node][dim]

    def extent(self, node: int, dim: int) -> Int:
        """How many elements of a tile's dim exist, for this block and iteration."""
        tile = self.placement.tiles[node][dim]
        loop_is_over = self.block.loop in self.placement.parts[node][dim] and self.placement.stages[node] is Stage.AFTER
        if loop_is_over or not self.is_ragged(node, dim):
            return tile
        return self.b.minimum(self.b.sub_to_zero(self.length(node, dim), self.origin(node, dim)), tile)

    # Shared memory

    def buffer(self, node: int, kind: str | None = None) -> Buffer:
        return self.memory.buffers[self.key(node, kind)]

    def key(self, node: int, kind: str | None = None) -> tuple[int, str]:
        return (node, kind or ("load" if isinstance(self.block.nodes[node].op, Load) else "value"))

    def view(self, buffer: Buffer, slot: Int = 0, passed: Int = 0) -> tuple[str, str]:
        """One copy of a buffer from byte ``passed`` on, as a memref of rank 1, and its type."""
        kind = f"memref<{buffer.layout.bytes // buffer.dtype.bytes}x{buffer.dtype.in_memory}, {SPACE}>"
        base = self.b.pure(f"memref.get_global @dynamic_shared : {_SHARED_TYPE}")
        start = self.b.add(self.b.mul(slot, buffer.layout.bytes), self.memory.offsets[buffer.key])
        start = self.b.add(start, passed)
        return self.b.pure(f"memref.view {base}[{self.b.index(start)}][] : {_SHARED_TYPE} to {kind}"), kind

    def element(self, buffer: Buffer, coordinates: Sequence[Int]) -> str:
        """Where an element lies in one copy of a buffer, as an index."""
        return self.b.index(element_offset(self.b, buffer.layout, coordinates))

    def slot_of(self, buffer: Buffer) -> Int:
        return self.slot if buffer.slots > 1 else 0

    def load(self, buffer: Buffer, coordinates: Sequence[Int], width: int, tag: str) -> list[str]:
        """``width`` neighbours along the last dim, as f32."""
        values: list[str] = []
        step = self._piece(buffer, width)
        for k in range(0, width, step):
            place = (*coordinates[:-1], self.b.add(coordinates[-1], k))
            values += self._load_piece(buffer, place, step, tag)
        return values

    def _piece(self, buffer: Buffer, width: int) -> int:
        """How many of ``width`` neighbours one access can move."""
        layout = buffer.layout
        if layout.fastest != len(layout.extents) - 1 or layout.columns % width:
            return 1
        return min(width, layout.chunk)

    def _load_piece(self, buffer: Buffer, place: Sequence[Int], width: int, tag: str) -> list[str]:
        name, kind = self.view(buffer, self.slot_of(buffer))
        at = self.element(buffer, place)
        if width == 1:
            return [self.widen(self.b.pure(f"memref.load {name}[{at}] : {kind}", tag), buffer.dtype)]
        element = buffer.dtype.in_memory
        vector = f"vector<{width}x{element}>"
        align = f"{{alignment = {width * buffer.dtype.bytes} : i64}}"
        loaded = self.b.pure(f"vector.load {name}[{at}] {align} : {kind}, {vector}", tag)
        parts = [self.b.pure(f"vector.extract {loaded}[{i}] : {element} from {vector}") for i in range(width)]
        return [self.widen(p, buffer.dtype) for p in parts]

    def store(self, buffer: Buffer, coordinates: Sequence[Int], values: Sequence[str]) -> None:
        """Round f32 values to the buffer's element type and store them as neighbours along the last dim."""
        step = self._piece(buffer, len(values))
        name, kind = self.view(buffer)
        for k in range(0, len(values), step):
            place = (*coordinates[:-1], self.b.add(coordinates[-1], k))
            at = self.element(buffer, place)
            self.store_at(name, kind, at, [self.narrow(v, buffer.dtype) for v in values[k : k + step]], buffer.dtype)

    def store_at(self, name: str, kind: str, at: str, values: Sequence[str], dtype: DType) -> None:
        if len(values) == 1:
            self.b.emit(f"memref.store {values[0]}, {name}[{at}] : {kind}")
            return
        vector = f"vector<{len(values)}x{dtype.in_memory}>"
        packed = self.b.pure(f"vector.from_elements {', '.join(values)} : {vector}")
        align = f"{{alignment = {len(values) * dtype.bytes} : i64}}"
        self.b.emit(f"vector.store {packed}, {name}[{at}] {align} : {kind}, {vector}")

    def fill_tail(self, buffer: Buffer) -> None:
        """Zero what lies between a tile's last element and the end of its 16 bytes.

        LLVM joins neighbouring loads into one of 16 bytes, and takes up to three elements more than were asked for.
        """
        self.check_alive(buffer)
        layout, dtype = buffer.layout, buffer.dtype
        missing = -layout.elements % layout.chunk
        if not missing:
            return
        zero = self.zero(dtype)

        def store() -> None:
            for slot in range(buffer.slots):
                name, kind = self.view(buffer, slot)
                at = self.b.index(self.b.add(self.threads.thread, layout.elements))
                self.b.emit(f"memref.store {zero}, {name}[{at}] : {kind}")

        self.b.when(self.b.less(self.threads.thread, missing), store)

    def zero(self, dtype: DType) -> str:
        return self.b.pure(f"arith.constant {0.0 if dtype.is_float else 0} : {dtype.in_memory}")

    def widen(self, value: str, dtype: DType) -> str:
        if dtype is DType.I1:
            return self.b.pure(f"arith.uitofp {value} : i8 to f32")
        return value if dtype is DType.F32 else self.b.pure(f"arith.extf {value} : {dtype} to f32")

    def narrow(self, value: str, dtype: DType) -> str:
        if dtype is DType.I1:
            holds = self.b.pure(f"arith.cmpf une, {value}, {self.b.f32(0.0)} : f32")
            return self.b.pure(f"arith.extui {holds} : i1 to i8")
        return value if dtype is DType.F32 else self.b.pure(f"arith.truncf {value} : f32 to {dtype}")

    def join_lanes(self, monoid: str, value: str, distances: Sequence[int] = (16, 8, 4, 2, 1)) -> str:
        """Combine lanes' values in a butterfly over ``distances``; every lane of a group gets the result."""
        b = self.b
        for distance in distances:
            name = b.fresh()
            b.emit(f"{name}, {b.fresh()} = gpu.shuffle xor {value}, {b.i32(distance)}, {b.i32(32)} : f32")
            value = self.math.combine(monoid, value, name)
        return value

    # Guards

    def inside(self, node: int, coordinates: Sequence[Int], dims: Sequence[int]) -> Bool:
        """Whether an element of a tile exists, looking at some dims only."""
        return self.b.all([self.b.less(coordinates[d], self.extent(node, d)) for d in dims])
