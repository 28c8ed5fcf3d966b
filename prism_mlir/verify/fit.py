"""Which dim of the program every dim of a candidate is, and the candidate at other sizes.

A candidate is built at full size, where two different dims may happen to be equally large (a square weight). Here each of its
dims is traced to a dim class of the program; a candidate that only makes sense because two classes have the same size does
not compute the program, whatever its values. Traced once, a candidate can be resized along with the program: tiny for exact
evaluation, or with sizes that name their class for the e-graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from prism_mlir.graph.block import Accum, BlockGraph, BlockNode, Load
from prism_mlir.graph.dims import dim_classes, operand_pairs, reshape_groups
from prism_mlir.graph.errors import InputError, UnsupportedError
from prism_mlir.graph.kernel import CustomNode, KernelGraph, LibraryNode, program_types
from prism_mlir.graph.ops import Kind, Op, Shape
from prism_mlir.graph.program import Program

Place = tuple[int, int]  # (kernel node, block node); kernel values are (-1, value)
Dim = tuple[int, int, int]  # a place and a dim of the tensor there
Factors = tuple[int, ...]  # program classes that a dim is the product of; one for an ordinary dim


class Misfit(InputError):
    """A candidate that cannot compute the program because its tensors or dims are not the program's."""


@dataclass(frozen=True, slots=True)
class Fit:
    """A candidate whose dims are known. dims[place][d]: the classes that dim ``d`` is made of, empty for size 1."""

    graph: KernelGraph
    dims: dict[Place, tuple[Factors, ...]]

    def has_shapes(self) -> bool:
        """Whether some operator carries a shape; where none does, nothing but the tensors' types changes with the size."""
        return any(
            any(isinstance(n.op, Op) and n.op.shape is not None for n in node.block.nodes)
            if isinstance(node, CustomNode)
            else node.op.shape is not None
            for node in self.graph.nodes
        )

    def resize(self, sizes: Sequence[int]) -> KernelGraph:
        """The candidate when class ``c`` of the program has size ``sizes[c]``."""

        def shape(place: Place) -> Shape:
            return tuple(prod(sizes[c] for c in factors) for factors in self.dims[place])

        inputs = tuple(replace(t, shape=shape((-1, k))) for k, t in enumerate(self.graph.inputs))
        nodes: list[LibraryNode | CustomNode] = []
        value = len(inputs)
        for k, node in enumerate(self.graph.nodes):
            if isinstance(node, LibraryNode):
                nodes.append(replace(node, op=_resize_op(node.op, shape((-1, value)))))
                value += 1
                continue
            formal = tuple(
                replace(t, shape=shape((-1, v))) for v, t in zip(node.operands, node.block.inputs, strict=True)
            )
            body = node.block.nodes
            if any(isinstance(n.op, Op) and n.op.shape is not None for n in body):
                body = tuple(
                    BlockNode(_resize_op(n.op, shape((k, j))), n.operands) if isinstance(n.op, Op) else n
                    for j, n in enumerate(body)
                )
            nodes.append(replace(node, block=replace(node.block, inputs=formal, nodes=body)))
            value += len(node.block.outputs)
        return KernelGraph(inputs, tuple(nodes), self.graph.outputs)


def _resize_op(op: Op, shape: Shape) -> Op:
    return op if op.shape is None else replace(op, shape=shape)


def shrink_graph(graph: KernelGraph, program: Program, sizes: Sequence[int]) -> KernelGraph:
    """The candidate at the sizes of ``dims.shrink(program, sizes)``; ``sizes`` lists every class.

    Raises :class:`Misfit` where its dims are not the program's, :class:`InputError` where it is ill-formed,
    :class:`UnsupportedError` where a dim cannot be traced.
    """
    return fit(graph, program).resize(sizes)


def fit(graph: KernelGraph, program: Program) -> Fit:
    """Trace every dim of a candidate to the program. Raises as :func:`shrink_graph`."""
    return Fitter(program).fit(graph)


class Fitter:
    """Fits candidates of one program, each structure once: dims do not depend on mappings."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._known: dict[tuple[object, ...], Fit] = {}

    def fit(self, graph: KernelGraph) -> Fit:
        """As :func:`fit`."""
        key = (graph.inputs, graph.outputs, *map(_structure, graph.nodes))
        known = self._known.get(key)
        if known is None:
            _check_interface(graph, self._program)
            if len(self._known) > 4096:
                self._known.clear()
            known = self._known[key] = _Tracer(
                graph, self._program
            ).trace()  # holds the graph, so ids in the key stay taken
        return Fit(graph, known.dims)


def _structure(node: LibraryNode | CustomNode) -> tuple[object, ...]:
    if isinstance(node, LibraryNode):
        return node.op, node.operands
    block = node.block
    return id(block.nodes), id(block.inputs), block.outputs, node.operands


def _check_interface(graph: KernelGraph, program: Program) -> None:
    wanted = program_types(program)
    if len(graph.inputs) != len(wanted):
        raise Misfit(f"the graph takes {len(graph.inputs)} inputs, the program {len(wanted)}")
    for k, (have, want) in enumerate(zip(graph.inputs, wanted, strict=True)):
        if have != want:
            raise Misfit(f"input {k} is {list(have.shape)} {have.dtype}, the program's {list(want.shape)} {want.dtype}")
    if len(graph.outputs) != len(program.outputs):
        raise Misfit(f"the graph gives {len(graph.outputs)} outputs, the program {len(program.outputs)}")
    for k, (value, out) in enumerate(zip(graph.outputs, program.outputs, strict=True)):
        if graph.shapes[value] != program.shapes[out.value]:
            raise Misfit(
                f"output {k} has shape {list(graph.shapes[value])}, the program's {list(program.shapes[out.value])}"
            )


class _Tracer:
    """Union-find over the candidate's dims; roots are labelled with the program's classes."""

    def __init__(self, graph: KernelGraph, program: Program) -> None:
        self.graph = graph
        self.classes = dim_classes(program)
        self.parent: dict[Dim, Dim] = {}
        self.label: dict[Dim, Factors] = {}
        self.reshapes: list[tuple[Place, Shape, Place, Shape]] = []
        self.shapes: dict[Place, Shape] = {(-1, v): s for v, s in enumerate(graph.shapes)}
        self.program = program

    def trace(self) -> Fit:
        for v in range(len(self.program.inputs)):
            self._label_value((-1, v), v)
        value = len(self.graph.inputs)
        for k, node in enumerate(self.graph.nodes):
            if isinstance(node, LibraryNode):
                self._apply(node.op, [(-1, v) for v in node.operands], (-1, value))
                value += 1
            else:
                value = self._trace_block(k, node, value)
        for v, out in zip(self.graph.outputs, self.program.outputs, strict=True):
            self._label_value((-1, v), out.value)
        while sum(self._trace_reshape(*r) for r in self.reshapes):
            pass
        return Fit(self.graph, {place: self._factors(place) for place in self.shapes})

    def _trace_block(self, k: int, node: CustomNode, value: int) -> int:
        block: BlockGraph = node.block
        for j, shape in enumerate(block.shapes):
            self.shapes[k, j] = shape
        for j, n in enumerate(block.nodes):
            match n.op:
                case Load(source=source):
                    self._alias((-1, node.operands[source]), (k, j))
                case Accum():
                    self._alias((k, n.operands[0]), (k, j))
                case Op() as op:
                    self._apply(op, [(k, v) for v in n.operands], (k, j))
        for out in block.outputs:
            self._alias((k, out), (-1, value))
            value += 1
        return value

    def _alias(self, a: Place, b: Place) -> None:
        for d in range(len(self.shapes[a])):
            self._union((*a, d), (*b, d))

    def _apply(self, op: Op, operands: list[Place], result: Place) -> None:
        shapes = [self.shapes[o] for o in operands]
        for (i, d), (j, e) in operand_pairs(op, shapes, self.shapes[result]):
            left, right = (result if i < 0 else operands[i]), (result if j < 0 else operands[j])
            self._union((*left, d), (*right, e))
        if op.kind is Kind.RESHAPE:
            self.reshapes.append((operands[0], shapes[0], result, self.shapes[result]))

    def _find(self, dim: Dim) -> Dim:
        while (up := self.parent.get(dim, dim)) != dim:
            dim = up
        return dim

    def _size(self, dim: Dim) -> int:
        return self.shapes[dim[0], dim[1]][dim[2]]

    def _union(self, a: Dim, b: Dim) -> None:
        if self._size(a) == 1 and self._size(b) == 1:
            return
        left, right = self._find(a), self._find(b)
        if left != right:
            self.parent[right] = left
            if right in self.label:
                self._mark(left, self.label[right])

    def _mark(self, dim: Dim, factors: Factors) -> bool:
        root = self._find(dim)
        known = self.label.setdefault(root, factors)
        if known is factors:
            return True
        if known != factors:
            raise Misfit(
                f"the graph takes two different dims of size {self._size(dim)} for one; "
                "it makes sense only because they are equally large"
            )
        return False

    def _label_value(self, place: Place, value: int) -> None:
        for d, c in enumerate(self.classes.of[value]):
            if c is not None:
                self._mark((*place, d), self._expand(c))

    def _expand(self, c: int) -> Factors:
        factors = self.classes.factors[c]
        return tuple(f for inner in factors for f in self._expand(inner)) if factors else (c,)

    def _trace_reshape(self, source: Place, a: Shape, target: Place, b: Shape) -> bool:
        """Carry labels across the merged and split dims of a reshape; whether anything was learned."""
        learned = False
        for many, few in reshape_groups(a, b):
            (m, many), (f, few) = (
                ((source, many), (target, few)) if len(many) >= len(few) else ((target, few), (source, many))
            )
            if len(few) != 1:
                raise UnsupportedError("a reshape that regroups several dims into several others is not supported")
            if len(many) == 1:
                continue
            parts = [self.label.get(self._find((*m, d))) for d in many]
            whole = self.label.get(self._find((*f, few[0])))
            if all(p is not None for p in parts):
                learned |= self._mark((*f, few[0]), tuple(c for p in parts if p is not None for c in p))
            elif whole is not None and len(whole) == len(many):
                learned |= bool(sum(self._mark((*m, d), (c,)) for d, c in zip(many, whole, strict=True)))
        return learned

    def _factors(self, place: Place) -> tuple[Factors, ...]:
        result: list[Factors] = []
        for d, size in enumerate(self.shapes[place]):
            factors = () if size == 1 else self.label.get(self._find((*place, d)))
            if factors is None:
                raise UnsupportedError(f"cannot tell which dim of the program the graph's dim of size {size} is")
            result.append(factors)
        return tuple(result)
