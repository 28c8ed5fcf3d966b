"""Sizes that are known only when a kernel is launched.

A program with dynamic sizes is built at one size for each (the largest that its code serves), and its numbers (dims, strides) are
known for every other size because they are products: ``times * size * size ...``. They are read off a *twin* of the program, in
which every dynamic size is a prime that divides nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from prism_mlir.graph.dims import dim_classes
from prism_mlir.graph.errors import UnsupportedError
from prism_mlir.graph.extent import Extent, extent_of
from prism_mlir.graph.program import Program

PRIMES = (8191, 8209, 8219, 8221, 8231, 8233)
"""Sizes of a twin."""
OTHER_PRIMES = (10007, 10009, 10037, 10039, 10061, 10067)
"""Sizes of another twin, which tells whether a factor of the first was there by chance."""


@dataclass(frozen=True, slots=True)
class ViewExtents:
    """A view of a buffer at every size: the view's shape, strides and offset, and the shape of the whole buffer."""

    shape: tuple[Extent, ...]
    strides: tuple[Extent, ...]
    offset: Extent
    whole: tuple[Extent, ...]

    @property
    def dynamic(self) -> bool:
        return any(e.dynamic for e in (*self.shape, *self.strides, self.offset, *self.whole))


@dataclass(frozen=True)
class DynamicProgram:
    """What is dynamic of a program. names: of the sizes; twin: the program at the sizes ``primes``."""

    names: tuple[str, ...]
    primes: tuple[int, ...]
    twin: Program

    def extents(self, numbers: Sequence[int]) -> tuple[Extent, ...]:
        return tuple(extent_of(n, self.primes) for n in numbers)

    def inputs(self) -> tuple[ViewExtents, ...]:
        return tuple(self._view(i.shape, i.strides, i.offset, i.arg_shape) for i in self.twin.inputs)

    def outputs(self) -> tuple[ViewExtents, ...]:
        shapes = self.twin.shapes
        return tuple(self._view(shapes[o.value], o.strides, o.offset, o.shape) for o in self.twin.outputs)

    def _view(self, shape: Sequence[int], strides: Sequence[int], offset: int, whole: Sequence[int]) -> ViewExtents:
        (start,) = self.extents([offset])
        return ViewExtents(self.extents(shape), self.extents(strides), start, self.extents(whole))

    def at(self, sizes: Sequence[int]) -> Program:
        """The program at some sizes, with the same operators at each: a product over a dim of size 1 stays one."""

        def numbers(of_twin: Sequence[int]) -> tuple[int, ...]:
            return tuple(e.at(sizes) for e in self.extents(of_twin))

        inputs = tuple(
            replace(
                i,
                shape=numbers(i.shape),
                arg_shape=numbers(i.arg_shape),
                strides=numbers(i.strides),
                offset=numbers([i.offset])[0],
            )
            for i in self.twin.inputs
        )
        nodes = tuple(
            n if n.op.shape is None else replace(n, op=replace(n.op, shape=numbers(n.op.shape)))
            for n in self.twin.nodes
        )
        outputs = tuple(
            replace(o, shape=numbers(o.shape), strides=numbers(o.strides), offset=numbers([o.offset])[0])
            for o in self.twin.outputs
        )
        return replace(self.twin, inputs=inputs, nodes=nodes, outputs=outputs)

    def classes(self, program: Program) -> dict[int, Extent]:
        """Of the program, which is this one at some sizes, each dim class's size at every size."""
        found: dict[int, Extent] = {}
        for row, shape in zip(dim_classes(program).of, self.twin.shapes, strict=True):
            for c, size in zip(row, shape, strict=True):
                if c is not None:
                    found[c] = extent_of(size, self.primes)
        return found

    def check(self, program: Program, sizes: Sequence[int]) -> None:
        """Raises :class:`UnsupportedError` where a program at some sizes is not the twin's but for the sizes."""
        if _at_sizes(program, lambda n: n) != _at_sizes(self.twin, lambda n: extent_of(n, self.primes).at(sizes)):
            given = ", ".join(f"{name} = {size}" for name, size in zip(self.names, sizes, strict=True))
            raise UnsupportedError(f"at {given} '{program.name}' computes something else than at other sizes")


def _at_sizes(program: Program, number: Callable[[int], int]) -> tuple[object, ...]:
    """Everything of a program but names, its numbers passed through a function."""

    def each(numbers: Sequence[int]) -> tuple[int, ...]:
        return tuple(number(n) for n in numbers)

    inputs = [
        (each(i.shape), each(i.strides), number(i.offset), i.dtype, i.arg, each(i.arg_shape), i.data)
        for i in program.inputs
    ]
    nodes = [
        (
            n.op.name,
            n.op.fn,
            n.op.dim,
            n.op.perm,
            n.op.value,
            n.op.shape and each(n.op.shape),
            n.operands,
            n.dtype,
            n.shift,
        )
        for n in program.nodes
    ]
    outputs = [(o.value, o.dtype, each(o.shape), each(o.strides), number(o.offset)) for o in program.outputs]
    return tuple(inputs), tuple(nodes), tuple(outputs)


@dataclass(frozen=True)
class DynamicShapes:
    """What is dynamic of a kernel graph.

    names:           of the sizes
    dims:            extents of every block node's dims, by (kernel node, block node)
    values:          extents of every kernel value's dims
    inputs, outputs: where they lie
    """

    names: tuple[str, ...]
    dims: Mapping[tuple[int, int], tuple[Extent, ...]]
    values: Mapping[int, tuple[Extent, ...]]
    inputs: tuple[ViewExtents, ...]
    outputs: tuple[ViewExtents, ...]
