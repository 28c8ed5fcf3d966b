"""What each stage's IR may contain, as one table; checked before and after every pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from prism_mlir.dialects.sgraph.block_ops import LoadOp, SaveOp
from prism_mlir.dialects.sgraph.graph_ops import CustomOp, GraphOp
from prism_mlir.graph.errors import VerifyError
from prism_mlir.passes.located import location_of


class Stage(StrEnum):
    """How far a module has come. Each value completes "the module holds ..."."""

    SOURCE = "anything"
    PROGRAM = "tensor programs"
    SYMBOLIC = "graphs whose mappings are symbols"
    MAPPED = "graphs whose mappings are chosen"
    JUDGED = "graphs with verdicts"
    SCHEDULED = "proved graphs whose sizes are chosen"
    GPU = "GPU modules"
    PTX = "PTX"


@dataclass(frozen=True, slots=True)
class Legal:
    """A row of the table.

    requires: ops of which the module's top level must hold at least one (any of them will do)
    forbids:  ops that its top level must not hold
    graphs:   names of :data:`GRAPH_RULES` that every ``sgraph.graph`` must keep
    hint:     how to get there
    """

    requires: tuple[str, ...] = ()
    forbids: tuple[str, ...] = ()
    graphs: tuple[str, ...] = ()
    hint: str = ""


LEGAL: dict[Stage, Legal] = {
    Stage.SOURCE: Legal(),
    Stage.PROGRAM: Legal(("sgraph.program",), ("func.func",), (), "run sgraph-import first"),
    Stage.SYMBOLIC: Legal(("sgraph.program",), ("func.func",), ("symbolic",), "run sgraph-generate first"),
    Stage.MAPPED: Legal(("sgraph.program",), ("func.func",), ("mapped",), "run sgraph-instantiate-maps first"),
    Stage.JUDGED: Legal(("sgraph.program",), ("func.func",), ("mapped", "judged"), "run sgraph-verify first"),
    Stage.SCHEDULED: Legal(
        ("sgraph.program",),
        ("func.func",),
        ("mapped", "judged", "scheduled"),
        "run sgraph-instantiate-parameters first",
    ),
    Stage.GPU: Legal(("gpu.module",), ("func.func",), (), "run sgraph-to-gpu first"),
    Stage.PTX: Legal(("gpu.binary", "gpu.module"), ("func.func",), (), "run gpu-to-ptx first"),
}


def _symbolic(graph: GraphOp) -> Operation | None:
    return next((op for op in graph.walk() if isinstance(op, LoadOp) and not op.imap.is_symbolic), None)


def _mapped(graph: GraphOp) -> Operation | None:
    for op in graph.walk():
        if isinstance(op, LoadOp) and (op.imap.is_symbolic or (op.fmap is not None and op.fmap.is_symbolic)):
            return op
        if isinstance(op, SaveOp) and op.omap.is_symbolic:
            return op
    return None


def _judged(graph: GraphOp) -> Operation | None:
    return graph if graph.verdict is None else None


def _scheduled(graph: GraphOp) -> Operation | None:
    if graph.schedule is None:
        return graph
    return next((op for op in graph.walk() if isinstance(op, CustomOp) and None in op.sizes.values()), None)


GRAPH_RULES: dict[str, tuple[str, Callable[[GraphOp], Operation | None]]] = {
    "symbolic": ("has mappings that are chosen already", _symbolic),
    "mapped": ("has mappings that are still symbols", _mapped),
    "judged": ("has no verdict", _judged),
    "scheduled": ("has sizes that are still symbols", _scheduled),
}
"""Name of a rule -> what is wrong where it is broken, and a function that finds the op that breaks it."""


GRAPH_HINTS = {
    "mapped": "run sgraph-instantiate-maps first",
    "judged": "run sgraph-verify first",
    "scheduled": "run sgraph-instantiate-parameters first",
}
"""What makes a graph keep a rule, where a pass does."""


def check_stage(module: ModuleOp, stage: Stage, who: str) -> None:
    """Raise :class:`VerifyError`, located, where the module is not at ``stage``. ``who`` is the pass that asks."""
    legal = LEGAL[stage]
    names = [op.name if op.name != "builtin.unregistered" else _unregistered_name(op) for op in module.body.block.ops]
    if legal.requires and not any(name in legal.requires for name in names):
        wanted = " or ".join(legal.requires)
        raise VerifyError(f"{who} wants {stage}, the module holds no {wanted}", location_of(module), legal.hint)
    for name, op in zip(names, module.body.block.ops, strict=True):
        if name in legal.forbids:
            raise VerifyError(f"{who} wants {stage}, the module holds {name}", location_of(op), legal.hint)
        if isinstance(op, GraphOp):
            _check_graph(op, legal, who)


def _check_graph(graph: GraphOp, legal: Legal, who: str) -> None:
    for rule in legal.graphs:
        complaint, find = GRAPH_RULES[rule]
        culprit = find(graph)
        if culprit is not None:
            hint = GRAPH_HINTS.get(rule, legal.hint)
            raise VerifyError(f"{who}: @{graph.sym_name.data} {complaint}", location_of(culprit), hint)


def _unregistered_name(op: Operation) -> str:
    return str(getattr(getattr(op, "op_name", None), "data", op.name))
