"""A proof of one candidate, in terms of the program's own sizes, as data that can be written down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from prism_mlir.graph.block import Accum
from prism_mlir.graph.errors import PrismError
from prism_mlir.graph.kernel import CustomNode, KernelGraph
from prism_mlir.graph.ops import Op
from prism_mlir.graph.program import Program
from prism_mlir.verify.axioms import DEFAULT
from prism_mlir.verify.chain import Chain, ChainLimits, find_chain
from prism_mlir.verify.encode import encode_graph, encode_program
from prism_mlir.verify.expr import Attr, Expr, TileType
from prism_mlir.verify.fit import Fitter
from prism_mlir.verify.proof_graph import Step
from prism_mlir.verify.prove import encode_fitted, prepare
from prism_mlir.verify.rule import Rule


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a candidate computes the program.

    rules: axioms that this proof uses, sorted; empty where there is none
    data:  the chain as JSON-able data (see ``_Writer.write``), or ``None`` with the ``reason``
    steps: length of the chain, all outputs together
    """

    rules: tuple[str, ...]
    data: dict[str, Any] | None
    steps: int
    reason: str = ""


def explain(
    program: Program, graph: KernelGraph, *, axioms: Sequence[Rule] = DEFAULT, limits: ChainLimits | None = None
) -> Explanation:
    """Prove a candidate again, alone, and write down every step. Never raises for a candidate that cannot be proved."""
    try:
        fitted = Fitter(program).fit(graph)
        numbers, wanted, types = prepare(program, [graph])
        offered = encode_fitted(fitted, numbers, types)
    except PrismError as error:
        return Explanation((), None, 0, error.message)
    inputs = [TileType(i.shape) for i in numbers.program.inputs]
    core = tuple(r for r in axioms if r.group != "commute")
    chain = Chain(None)
    for rules in (core, tuple(axioms)) if len(core) < len(axioms) else (core,):
        chain = find_chain(wanted, offered, inputs, numbers.count, rules, limits)
        if chain.steps is not None:
            break
    if chain.steps is None:
        return Explanation((), None, 0, chain.reason)
    whole = _whole_attributes((*wanted, *offered), (*encode_program(program), *encode_graph(graph)))
    return Explanation(chain.rules, _Writer(whole).write(chain), sum(map(len, chain.steps)))


def _whole_attributes(resized: Sequence[Expr], given: Sequence[Expr]) -> Mapping[Attr, Attr]:
    """Shapes inside reshapes and constants, from those the proof was found with to the program's own."""
    found: dict[Attr, Attr] = {}
    todo = list(zip(resized, given, strict=True))
    seen: set[tuple[Expr, Expr]] = set()
    while todo:
        pair = todo.pop()
        if pair in seen:
            continue
        seen.add(pair)
        a, b = pair
        if a.symbol in ("Reshape", "Constant"):
            found[a.attrs[-1]] = b.attrs[-1]
        todo += zip(a.operands, b.operands, strict=True)
    return found


class _Writer:
    """Writes chains down. whole: see :func:`_whole_attributes`."""

    def __init__(self, whole: Mapping[Attr, Attr]) -> None:
        self._whole = whole
        self._rows: dict[Expr, int] = {}
        self._table: list[list[Any]] = []

    def write(self, chain: Chain) -> dict[str, Any]:
        """``terms``: rows ``[symbol, operand rows, attributes]``, operands first; ``outputs``: for each output its steps, each
        with the rule, its direction, the position in the term, and what the variables stand for (tensors as rows)."""
        outputs = [[self._step(s) for s in steps] for steps in chain.steps or ()]
        return {"terms": self._table, "outputs": outputs}

    def _step(self, step: Step) -> dict[str, Any]:
        instance = step.instance
        filled = {v: self._row(x) if isinstance(x, Expr) else self._whole.get(x, x) for v, x in instance.filled}
        return {"rule": instance.rule, "forward": step.forward, "at": list(step.position), "with": filled}

    def _row(self, expr: Expr) -> int:
        if expr not in self._rows:
            operands = [self._row(o) for o in expr.operands]
            attrs = list(expr.attrs)
            if expr.symbol in ("Reshape", "Constant"):
                attrs[-1] = self._whole.get(attrs[-1], attrs[-1])
            self._rows[expr] = len(self._table)
            self._table.append([expr.symbol, operands, attrs])
        return self._rows[expr]


def program_data(program: Program) -> dict[str, Any]:
    """A program as JSON-able data: what it computes; the fingerprint covers element types and views of arguments too."""
    return {
        "fingerprint": program.fingerprint,
        "inputs": [{"shape": list(i.shape)} for i in program.inputs],
        "nodes": [{**_op_data(n.op), "operands": list(n.operands)} for n in program.nodes],
        "outputs": [o.value for o in program.outputs],
    }


def graph_data(graph: KernelGraph) -> dict[str, Any]:
    """A graph with concrete mappings as JSON-able data."""
    nodes = [
        _custom_data(n) if isinstance(n, CustomNode) else {**_op_data(n.op), "operands": list(n.operands)}
        for n in graph.nodes
    ]
    return {"nodes": nodes, "outputs": list(graph.outputs)}


def _custom_data(node: CustomNode) -> dict[str, Any]:
    block, mapping = node.block, node.mapping
    assert mapping is not None
    body: list[dict[str, Any]] = []
    for n in block.nodes:
        if isinstance(n.op, Op):
            body.append({**_op_data(n.op), "operands": list(n.operands)})
        elif isinstance(n.op, Accum):
            body.append({"op": "accum", "monoid": n.op.monoid, "operands": list(n.operands)})
        else:
            body.append({"op": "load", "source": n.op.source, "invariant": n.op.invariant})
    return {
        "grid": list(block.grid),
        "loop": block.loop,
        "operands": list(node.operands),
        "imap": [list(m) for m in mapping.imap],
        "fmap": list(mapping.fmap),
        "omap": [list(m) for m in mapping.omap],
        "nodes": body,
        "outputs": list(block.outputs),
    }


def _op_data(op: Op) -> dict[str, Any]:
    data: dict[str, Any] = {"op": op.name}
    for name in ("dim", "value"):
        if getattr(op, name) is not None:
            data[name] = getattr(op, name)
    for name in ("perm", "shape"):
        if getattr(op, name) is not None:
            data[name] = list(getattr(op, name))
    return data | ({} if op.fn is None else {"fn": str(op.fn)})
