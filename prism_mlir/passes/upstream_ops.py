"""Ops in upstream's dialects that xDSL knows too little of: carried as unregistered ops, in generic form."""

from __future__ import annotations

from collections.abc import Iterable
from io import StringIO

from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp, UnregisteredOp
from xdsl.ir import Operation
from xdsl.parser import Parser
from xdsl.printer import Printer

from prism_mlir.frontend.upstream import read_module


def op_name(op: Operation) -> str:
    """The op's name, also where xDSL does not know the op."""
    return op.op_name.data if isinstance(op, UnregisteredOp) else op.name


def from_upstream(text: str, filename: str) -> list[Operation]:
    """The top-level ops of text in upstream's syntax, detached. Raises what upstream's reader raises."""
    context = Context(allow_unregistered=True)
    context.load_dialect(Builtin)
    module = Parser(context, read_module(text, filename, normalise=False).text, filename).parse_module()
    ops = list(module.body.block.ops)
    for op in ops:
        op.detach()  # type: ignore[no-untyped-call]
    return ops


def to_upstream(ops: Iterable[Operation], attributes: str = "") -> str:
    """Text of a module that holds copies of ``ops``, in generic form with locations."""
    module = ModuleOp([op.clone() for op in ops])
    stream = StringIO()
    Printer(stream, print_generic_format=True, print_debuginfo=True).print_op(module)
    return stream.getvalue()
