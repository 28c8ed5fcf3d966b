"""Program families: one program at all its sizes.

What search and proof see of a program is its operators, which of its dims are one and the same (``graph.dims``), and which of
its scalar functions are the same; a proof holds for all sizes and for all functions. So programs that differ in nothing else
are one *family*: RMSNorm at 1x1024 and at 16x8192, in f16 and in bf16, with ``x/1024 + 1e-6`` and with ``x/8192 + 1e-5``. One
of them is searched, at sizes that tell all dims apart, and its proved graphs serve the others (the paper's main economy).

A dim of size 1 is a dim of its own wherever it could have another size: a batch of 1 is a batch. It stays 1 where an operator
makes it so, such as what a reduction leaves, and where a reshape adds or drops it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count
from math import isqrt, prod
from typing import Any

import networkx as nx

from prism_mlir.graph.block import BlockNode, TensorType
from prism_mlir.graph.dims import dim_classes, operand_pairs, shrink, with_shapes
from prism_mlir.graph.errors import InputError
from prism_mlir.graph.kernel import CustomNode, KernelGraph, LibraryNode, program_types
from prism_mlir.graph.ops import Kind, Op, Shape
from prism_mlir.graph.program import Program
from prism_mlir.graph.scalar_fn import ScalarFn

FIRST_PRIME = 101  # representatives' sizes are primes from here on: no two equal, no product of some equal to another's
Place = tuple[int, int]  # value, dim


@dataclass(frozen=True)
class Family:
    """A program's place in its family.

    program:        the program
    representative: the same operators at sizes of their own, whatever the program's sizes are; what is to be searched
    known:          texts of functions that the axioms know by name; all others are unknown functions to them
    """

    program: Program
    representative: Program
    known: frozenset[str]

    @cached_property
    def functions(self) -> tuple[str, ...]:
        """Texts of the program's unknown functions, each once, in order of first use."""
        texts = (n.op.fn.text for n in self.program.nodes if n.op.fn is not None)
        return tuple(dict.fromkeys(t for t in texts if t not in self.known))

    @cached_property
    def key(self) -> str:
        """Equal for all programs of the family: a hash of :attr:`description`."""
        return hashlib.sha256(json.dumps(self.description).encode()).hexdigest()

    @cached_property
    def description(self) -> dict[str, Any]:
        """The family as JSON-able data: dims by class, unknown functions by number, no sizes and no element types."""
        classes = dim_classes(self.representative)
        number = {text: f"f{k}" for k, text in enumerate(self.functions)}
        first = len(self.representative.inputs)
        nodes = [
            {
                **_operator(n.op, number),
                "operands": list(n.operands),
                "dims": list(classes.of[first + k]),
                **({} if n.shift is None else {"shift": n.shift}),
            }
            for k, n in enumerate(self.representative.nodes)
        ]
        return {
            "inputs": [list(classes.of[k]) for k in range(first)],
            "nodes": nodes,
            "outputs": [o.value for o in self.representative.outputs],
            "factors": [list(f) for f in classes.factors],
        }

    def general(self, graph: KernelGraph) -> KernelGraph:
        """A graph of the representative, to be kept: its unknown functions are numbered."""
        return _renamed(graph, {text: f"f{k}" for k, text in enumerate(self.functions)})

    def special(self, graph: KernelGraph) -> KernelGraph | None:
        """A graph that was kept, at this program's sizes, with its element types and functions.

        ``None`` where nothing is left of it: its loop runs over a dim of size 1.
        Raises :class:`InputError` where it is not one of this family.
        """
        return self.at_program(_renamed(graph, {f"f{k}": text for k, text in enumerate(self.functions)}))

    def at_program(self, graph: KernelGraph) -> KernelGraph | None:
        """A graph of the representative, at the program's sizes and element types; see :meth:`special`.

        What is proved for all sizes of a parallel dim is proved for size 1; so one that cuts a dim of size 1 is left out.
        """
        sizes = _sizes(self.representative, self.program)
        types = program_types(self.program)
        if len(graph.inputs) != len(types):
            raise InputError(f"a graph of {len(graph.inputs)} inputs, the program has {len(types)}")
        ones = {n for n, size in sizes.items() if size == 1 != n}
        idle = {p for node in graph.custom for p in _cutting(node, ones)}
        if any(node.block.loop in idle for node in graph.custom):
            return None
        graph = _without_grid_dims(graph, idle)
        nodes = tuple(self._node(n, types, sizes) for n in graph.nodes)
        found = KernelGraph(types, nodes, graph.outputs)
        found.check()
        wanted = [self.program.shapes[o.value] for o in self.program.outputs]
        if [found.shapes[v] for v in found.outputs] != wanted:
            raise InputError("a graph whose outputs are not of the program's shapes")
        return found

    def _node(
        self,
        node: LibraryNode | CustomNode,
        types: tuple[TensorType, ...],
        sizes: Mapping[int, int],
    ) -> LibraryNode | CustomNode:
        if isinstance(node, LibraryNode):
            return replace(node, op=_resized(node.op, sizes))
        formal = tuple(
            types[v] if v < len(types) else replace(t, shape=_shape(t.shape, sizes))
            for v, t in zip(node.operands, node.block.inputs, strict=True)
        )
        body = tuple(
            BlockNode(_resized(n.op, sizes), n.operands) if isinstance(n.op, Op) else n for n in node.block.nodes
        )
        return replace(node, block=replace(node.block, inputs=formal, nodes=body))


def family_of(program: Program, known: Collection[str] = ()) -> Family:
    """The family of a program. known: texts of functions that axioms know by name.

    Raises :class:`InputError` for a reshape that regroups several dims into several others.
    """
    general = _with_lifted_dims(program)
    classes = dim_classes(general)
    primes = _primes(FIRST_PRIME)
    sizes = {c: next(primes) for c in classes.free}
    return Family(program, shrink(general, sizes), frozenset(known))


def _with_lifted_dims(program: Program) -> Program:
    """The program with a size of 2 for every dim of size 1 that might have another size. Its inputs are whole arguments."""
    lifted = _liftable(program)
    if not lifted:
        return program

    def shape(value: int) -> Shape:
        return tuple(2 if (value, d) in lifted else n for d, n in enumerate(program.shapes[value]))

    return with_shapes(program, shape)


def _liftable(program: Program) -> frozenset[Place]:
    """Dims of size 1 that no operator forces to be 1."""
    shapes, joined = program.shapes, nx.utils.UnionFind()
    fixed: set[Place] = set()
    for k, node in enumerate(program.nodes):
        value = len(program.inputs) + k
        operands = [shapes[v] for v in node.operands]
        for (i, d), (j, e) in operand_pairs(node.op, operands, shapes[value]):
            joined.union((value if i < 0 else node.operands[i], d), (value if j < 0 else node.operands[j], e))
        fixed |= _forced(node.op, node.operands, value, shapes)
    roots = {joined[place] for place in fixed}
    ones = ((v, d) for v, shape in enumerate(shapes) for d, n in enumerate(shape) if n == 1)
    return frozenset(place for place in ones if joined[place] not in roots)


def _forced(op: Op, operands: tuple[int, ...], value: int, shapes: tuple[Shape, ...]) -> set[Place]:
    """Dims that are 1 because of an operator: what it reduces, all of a reshape and a constant, and what it broadcasts."""
    if op.kind is Kind.REDUCE:
        assert op.dim is not None
        return {(value, op.dim)}
    if op.kind is Kind.RESHAPE:
        return {(v, d) for v in (operands[0], value) for d, n in enumerate(shapes[v]) if n == 1}
    if op.kind is Kind.CONSTANT:
        return {(value, d) for d, n in enumerate(shapes[value]) if n == 1}
    if op.kind in (Kind.BINARY, Kind.SCAN):
        return {(v, d) for v in operands for d, n in enumerate(shapes[v]) if n == 1 != shapes[value][d]}
    return set()


def _sizes(representative: Program, program: Program) -> dict[int, int]:
    """Size of a representative's dim -> the program's."""
    found: dict[int, int] = {1: 1}
    for general, special in zip(representative.shapes, program.shapes, strict=True):
        for a, b in zip(general, special, strict=True):
            if found.setdefault(a, b) != b:
                raise InputError(f"a dim of the family has sizes {found[a]} and {b}")
    return found


def _shape(shape: Shape, sizes: Mapping[int, int]) -> Shape:
    return tuple(_size(n, sizes) for n in shape)


def _size(size: int, sizes: Mapping[int, int]) -> int:
    """The program's size of a dim: primes are dims, and products of primes are merged dims."""
    if size not in sizes:
        factors = _prime_factors(size)
        if any(f not in sizes for f in factors):
            raise InputError(f"a dim of size {size} is none of the family's")
        return prod(sizes[f] for f in factors)
    return sizes[size]


def _resized(op: Op, sizes: Mapping[int, int]) -> Op:
    return op if op.shape is None else replace(op, shape=_shape(op.shape, sizes))


def _cutting(node: CustomNode, sizes: Collection[int]) -> set[str]:
    """Parallel dims that cut a dim of one of these sizes of a loaded tensor."""
    block, mapping, found = node.block, node.mapping, set[str]()
    if mapping is None:
        raise InputError("the graph still has symbolic mappings", hint="instantiate them first")
    for k, row, along in zip(block.loads, mapping.imap, mapping.fmap, strict=True):
        cuts = [*zip(block.grid, row, strict=True), *([(block.loop, along)] if block.loop is not None else [])]
        found |= {p for p, d in cuts if d >= 0 and block.shapes[k][d] in sizes}
    return found


def _without_grid_dims(graph: KernelGraph, idle: Collection[str]) -> KernelGraph:
    """The graph with one block along some grid dims, which are left out; the others get the names of those before them."""
    if not idle:
        return graph
    names: dict[str, str] = {}
    for node in graph.custom:  # a later kernel may cut along dims of an earlier one
        new = [p for p in node.block.grid if p not in idle and p not in names]
        free = [p for p in node.block.grid if p not in names.values()]
        names |= dict(zip(new, free, strict=False))
    nodes = tuple(_without(n, idle, names) if isinstance(n, CustomNode) else n for n in graph.nodes)
    return replace(graph, nodes=nodes)


def _without(node: CustomNode, idle: Collection[str], names: Mapping[str, str]) -> CustomNode:
    block, mapping = node.block, node.mapping
    assert mapping is not None
    kept = [k for k, p in enumerate(block.grid) if p not in idle]

    def rows(maps: tuple[tuple[int, ...], ...]) -> tuple[tuple[int, ...], ...]:
        return tuple(tuple(row[k] for k in kept) for row in maps)

    formal = tuple(
        replace(t, expanded=tuple((names.get(p, p), d) for p, d in t.expanded if p not in idle)) for t in block.inputs
    )
    loop = None if block.loop is None else names.get(block.loop, block.loop)
    own = replace(block, grid=tuple(names[block.grid[k]] for k in kept), loop=loop, inputs=formal)
    return replace(node, block=own, mapping=replace(mapping, imap=rows(mapping.imap), omap=rows(mapping.omap)))


def _renamed(graph: KernelGraph, names: Mapping[str, str]) -> KernelGraph:
    def op(old: Op) -> Op:
        return old if old.fn is None else replace(old, fn=ScalarFn(names.get(old.fn.text, old.fn.text)))

    def node(old: LibraryNode | CustomNode) -> LibraryNode | CustomNode:
        if isinstance(old, LibraryNode):
            return replace(old, op=op(old.op))
        body = tuple(BlockNode(op(n.op), n.operands) if isinstance(n.op, Op) else n for n in old.block.nodes)
        return replace(old, block=replace(old.block, nodes=body))

    return replace(graph, nodes=tuple(node(n) for n in graph.nodes))


def _operator(op: Op, number: Mapping[str, str]) -> dict[str, Any]:
    """An operator without sizes: what ``shape`` says is in the node's dims."""
    data: dict[str, Any] = {"op": op.name}
    if op.fn is not None:
        data["fn"] = number.get(op.fn.text, op.fn.text)
    if op.dim is not None:
        data["dim"] = op.dim
    if op.perm is not None:
        data["perm"] = list(op.perm)
    if op.value is not None:
        data["value"] = repr(op.value)
    return data


def _primes(first: int) -> Iterator[int]:
    return (n for n in count(first) if all(n % k for k in range(2, isqrt(n) + 1)))


def _prime_factors(size: int) -> list[int]:
    factors, k = [], 2
    while size > 1:
        while size % k == 0:
            factors.append(k)
            size //= k
        k += 1
    return factors
