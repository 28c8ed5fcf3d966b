"""The reference of the sgraph dialect, from its ops, attributes and types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from site_parts.markdown import code, doc_of, table

INTRO = """# The sgraph dialect

Tensor programs, and [symbolic graphs](../explanation/symbolic-graphs.md) that implement them. Made from the dialect itself
(`prism_mlir/dialects/sgraph`), which is written in xDSL; `prism-opt` and stock `xdsl-opt` read and verify it.
"""


def page() -> str:
    """Types, attributes and ops, each with its docstring, operands, properties and assembly."""
    from prism_mlir.dialects.sgraph import SGRAPH
    from prism_mlir.dialects.sgraph.operator_ops import OPERATOR_OPS

    operators = set(OPERATOR_OPS)
    attributes = list(SGRAPH.attributes)
    types = [a for a in attributes if _is_type(a)]
    structure = [op for op in SGRAPH.operations if op not in operators]
    sections = [
        ("Types", [_attribute(a, "!") for a in types]),
        ("Attributes", [_attribute(a, "#") for a in attributes if a not in types]),
        ("Programs and graphs", [_op(op) for op in structure]),
        ("Operators", [_op(op) for op in SGRAPH.operations if op in operators]),
    ]
    return INTRO + "".join(f"\n## {title}\n\n" + "\n".join(entries) for title, entries in sections)


def _is_type(attribute: Any) -> bool:
    from xdsl.ir import TypeAttribute

    return issubclass(attribute, TypeAttribute)


def _attribute(attribute: Any, mark: str) -> str:
    return f"### `{mark}{attribute.name}`\n\n{doc_of(attribute)}\n"


def _op(op: Any) -> str:
    definition = op.get_irdl_definition()
    rows = [
        *_rows("operand", definition.operands),
        *((code(name), "property", _optional(kind)) for name, kind in definition.properties.items()),
        *((code(name), "attribute", _optional(kind)) for name, kind in definition.attributes.items()),
        *_rows("region", definition.regions),
        *_rows("result", definition.results),
    ]
    text = [f"### `{op.name}`", doc_of(op), table(("name", "kind", ""), rows)]
    if definition.assembly_format is not None:
        text.append(f"```text\n{op.name} {definition.assembly_format}\n```")
    return "\n\n".join(t for t in text if t) + "\n"


def _rows(kind: str, definitions: Sequence[tuple[str, Any]]) -> list[tuple[str, str, str]]:
    return [(code(name), kind, _optional(definition)) for name, definition in definitions]


def _optional(definition: Any) -> str:
    name = type(definition).__name__
    return "any number" if name.startswith("Var") else "may be absent" if name.startswith("Opt") else ""
