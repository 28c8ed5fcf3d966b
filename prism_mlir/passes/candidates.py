"""Programs of a module and the graphs that implement them, as objects of the graph model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import BoolAttr, DictionaryAttr, IntegerAttr, ModuleOp, StringAttr, i64
from xdsl.ir import Attribute, Operation

from prism_mlir.dialects.sgraph.bridge import ir_to_graph, ir_to_program
from prism_mlir.dialects.sgraph.graph_ops import GraphOp
from prism_mlir.dialects.sgraph.program_ops import ProgramOp
from prism_mlir.graph.errors import VerifyError
from prism_mlir.graph.kernel import KernelGraph
from prism_mlir.graph.program import Program
from prism_mlir.passes.located import at, location_of

FUNNEL = "sgraph.funnel"
"""Attribute of a program that counts what happened to its candidates, and says which limit ended a search early."""


@dataclass(frozen=True, slots=True)
class Work:
    """A program with its candidates. ``ops[k]`` is where ``graphs[k]`` came from."""

    op: ProgramOp
    program: Program
    ops: tuple[GraphOp, ...]
    graphs: tuple[KernelGraph, ...]


def work_of(module: ModuleOp) -> list[Work]:
    """All programs of a module. Raises :class:`VerifyError` for a graph of which it is unclear what it implements."""
    programs = [op for op in module.body.block.ops if isinstance(op, ProgramOp)]
    owned: dict[str, list[GraphOp]] = {op.sym_name.data: [] for op in programs}
    for graph in (op for op in module.body.block.ops if isinstance(op, GraphOp)):
        owned[_program_of(graph, programs)].append(graph)
    work = []
    for op in programs:
        with at(op):
            program = ir_to_program(op)
        ops = tuple(owned[op.sym_name.data])
        work.append(Work(op, program, ops, tuple(_graph(g) for g in ops)))
    return work


def _graph(op: GraphOp) -> KernelGraph:
    with at(op):
        return ir_to_graph(op)


def _program_of(graph: GraphOp, programs: Sequence[ProgramOp]) -> str:
    if graph.implements is not None:
        return graph.implements.root_reference.data
    if len(programs) != 1:
        raise VerifyError(
            f"@{graph.sym_name.data} does not say which of {len(programs)} programs it implements",
            location_of(graph),
            "write 'implements @program'",
        )
    return programs[0].sym_name.data


def replace_graphs(old: Work, new: Iterable[GraphOp]) -> None:
    """Put ``new`` in place of a program's candidates, after its program (or after its last candidate)."""
    anchor: Operation = old.ops[-1] if old.ops else old.op
    block = anchor.parent_block()
    assert block is not None
    for op in new:
        op.location = old.op.location
        block.insert_op_after(op, anchor)
        anchor = op
    for gone in old.ops:
        gone.detach()  # type: ignore[no-untyped-call]
        gone.erase()


def record_funnel(op: ProgramOp, counts: dict[str, int], stopped_by: Sequence[str]) -> None:
    """Add counts to the program's funnel, in sorted order; remember what ended the search early."""
    known = op.attributes.get(FUNNEL)
    entries: dict[str, Attribute] = dict(known.data) if isinstance(known, DictionaryAttr) else {}
    entries |= {name: IntegerAttr(count, i64) for name, count in counts.items()}
    entries["complete"] = BoolAttr.from_bool(not stopped_by and entries.get("complete") != BoolAttr.from_bool(False))
    if stopped_by:
        entries["stopped_by"] = StringAttr("; ".join(stopped_by))
    op.attributes[FUNNEL] = DictionaryAttr(dict(sorted(entries.items())))
