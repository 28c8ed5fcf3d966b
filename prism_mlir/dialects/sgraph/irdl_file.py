"""The dialect as upstream MLIR's IRDL can say it, and the form of our IR that upstream reads with it.

IRDL knows operands, results, regions and attributes of an op, and attributes and types with parameters. What it does not know
is written in another way, the *portable form*: generic syntax, properties as attributes, and

- an attribute or a type of ours has one parameter, a string: ``#sgraph.map<"{x -> 0}">`` for ``#sgraph.map<{x -> 0}>``;
- a list of operands or results of different types is a list of optional ones, counted by ``operandSegmentSizes``: a constraint of
  IRDL holds for all values of a variadic list at once;
- a block of ours ends in ``ub.unreachable``: IRDL ops are no terminators, and upstream wants one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from io import StringIO
from typing import Any

from xdsl.dialects.builtin import DenseArrayBase, FloatAttr, IntegerAttr, ModuleOp, StringAttr, TensorType, i32
from xdsl.dialects.ub import UnreachableOp
from xdsl.ir import Attribute, Operation, TypeAttribute
from xdsl.irdl import BaseAttr, IRDLOperation, OptPropertyDef, VarOperandDef, VarResultDef
from xdsl.irdl.constraints import ParamAttrConstraint, RangeLengthConstraint, RangeOf
from xdsl.printer import Printer

from prism_mlir.dialects.sgraph import SGRAPH
from prism_mlir.dialects.sgraph.refuse import refuse

_BUILTIN: dict[type[Attribute], str] = {
    StringAttr: "#builtin.string",
    IntegerAttr: "#builtin.integer",
    FloatAttr: "#builtin.float",
    DenseArrayBase: "#builtin.dense_array",
    TensorType: "!builtin.tensor",
}
"""What upstream calls builtin attributes and types."""

MOST_VALUES = 32
"""Operands or results of a list that the IRDL file allows."""

_SEGMENTS = ("operandSegmentSizes", "resultSegmentSizes")
_OURS = re.compile(r"([#!]sgraph\.\w+)<(.*)>", re.DOTALL)
_QUOTED = re.compile(r'([#!]sgraph\.\w+<)"((?:[^"\\\n]++|\\.)*+)">')


def dialect_irdl() -> str:
    """The ``irdl.dialect`` of all our ops, attributes and types, for ``mlir-opt --irdl-file``."""
    lines = ["// The sgraph dialect for upstream MLIR: mlir-opt --irdl-file=FILE.", "irdl.dialect @sgraph {"]
    for made in SGRAPH.attributes:
        kind = "type" if issubclass(made, TypeAttribute) else "attribute"
        lines += [
            f"  irdl.{kind} @{_short(made.name)} {{",
            '    %text = irdl.base "#builtin.string"',
            "    irdl.parameters(text: %text)",
            "  }",
        ]
    for op in SGRAPH.operations:
        lines += [f"  irdl.operation @{_short(op.name)} {{", *(f"    {line}" for line in _op_lines(op)), "  }"]
    return "\n".join([*lines, "}", ""])


def _short(name: str) -> str:
    return name.removeprefix("sgraph.")


def _op_lines(op: type[Operation]) -> Iterator[str]:
    assert issubclass(op, IRDLOperation)
    definition = op.get_irdl_definition()
    yield from _values("operands", definition.operands)
    yield from _values("results", definition.results)
    required = [(n, p.constr) for n, p in definition.properties.items() if not isinstance(p, OptPropertyDef)]
    for name, constraint in required:
        yield f"%{name}_attribute = {_base(constraint)}"
    if required:
        yield "irdl.attributes { " + ", ".join(f'"{n}" = %{n}_attribute' for n, _ in required) + " }"
    for name, _ in definition.regions:
        yield f"%{name} = irdl.region with size 1"
    if definition.regions:
        yield f"irdl.regions({', '.join(f'{name}: %{name}' for name, _ in definition.regions)})"


def _values(what: str, values: Sequence[tuple[str, Any]]) -> Iterator[str]:
    """A constraint of its own for every value: one that is used twice wants the same type twice."""
    entries: list[str] = []
    for name, value in values:
        if isinstance(value, VarOperandDef | VarResultDef):
            names = [f"{name}_{k}" for k in range(MOST_VALUES)]
            yield from (f"%{n} = {_base(value.constr)}" for n in names)
            entries += [f"{n}: optional %{n}" for n in names]
        else:
            yield f"%{name} = {_base(value.constr)}"
            entries.append(f"{name}: %{name}")
    if entries:
        yield f"irdl.{what}({', '.join(entries)})"


def _base(constraint: Any) -> str:
    """What IRDL can say of a constraint: the class of the attribute or type, or nothing (``any_of`` takes no classes)."""
    match constraint:
        case RangeLengthConstraint(constraint=inner) | RangeOf(constr=inner):
            return _base(inner)
        case BaseAttr(attr=base):
            wanted: Any = base
        case ParamAttrConstraint(base_attr=base):
            wanted = base
        case _ if type(constraint).__name__ == "ArrayOfConstraint":
            return 'irdl.base "#builtin.array"'
        case _:
            return "irdl.any"
    if wanted in _BUILTIN:
        return f'irdl.base "{_BUILTIN[wanted]}"'
    return f"irdl.base @sgraph::@{_short(wanted.name)}" if wanted.name.startswith("sgraph.") else "irdl.any"


class _PortablePrinter(Printer):
    """Prints attributes and types of ours with their content as a string."""

    def print_attribute(self, attribute: Attribute) -> None:
        if not attribute.name.startswith("sgraph."):
            super().print_attribute(attribute)
            return
        stream = StringIO()
        Printer(stream).print_attribute(attribute)
        found = _OURS.fullmatch(stream.getvalue())
        assert found is not None, stream.getvalue()
        self.print_string(f"{found[1]}<")
        self.print_string_literal(found[2])
        self.print_string(">")


def portable_text(module: ModuleOp) -> str:
    """A module in the portable form. Raises :class:`~prism_mlir.dialects.sgraph.refuse.RefusedOp` for a list of more than
    ``MOST_VALUES`` operands or results.
    """
    copy = module.clone()
    for op in list(copy.walk()):
        if op.name.startswith("sgraph."):
            _make_portable(op)
    stream = StringIO()
    _PortablePrinter(stream, print_generic_format=True, print_properties_as_attributes=True).print_op(copy)
    return stream.getvalue() + "\n"


def _make_portable(op: Operation) -> None:
    assert isinstance(op, IRDLOperation)
    definition = op.get_irdl_definition()
    for name, defined, count in (
        ("operandSegmentSizes", definition.operands, len(op.operands)),
        ("resultSegmentSizes", definition.results, len(op.results)),
    ):
        if any(isinstance(v, VarOperandDef | VarResultDef) for _, v in defined):
            if count > MOST_VALUES:
                refuse(op, f"has {count} {name[:-12]}s, the IRDL file allows {MOST_VALUES}")
            op.attributes[name] = DenseArrayBase.from_list(i32, [1] * count + [0] * (MOST_VALUES - count))
    for region in op.regions:
        for block in region.blocks:
            block.add_op(UnreachableOp())


def unquoted(text: str) -> str:
    """Text in the portable form with our attributes and types in their own syntax, for our own parser."""
    return _QUOTED.sub(lambda m: m[1] + _unescape(m[2]) + ">", text)


def _unescape(literal: str) -> str:
    return re.sub(r'\\(["\\]|[0-9A-Fa-f]{2})', lambda m: m[1] if m[1] in '"\\' else chr(int(m[1], 16)), literal)


def from_portable(module: ModuleOp) -> None:
    """Take out of a module what only upstream needs: the ends of blocks, and the sizes of lists."""
    for op in list(module.walk()):
        parent = op.parent_op()
        if isinstance(op, UnreachableOp) and parent is not None and parent.name.startswith("sgraph."):
            op.detach()  # type: ignore[no-untyped-call]
            op.erase()
        elif op.name.startswith("sgraph."):
            for name in _SEGMENTS:
                op.attributes.pop(name, None)
