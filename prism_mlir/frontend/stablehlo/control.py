"""Loops and branches: ``while``, ``case`` and ``if`` as the ``scf`` operations that they are, with the same regions.

Raising has no operator for them, and names them where a result depends on one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from prism_mlir.frontend.stablehlo.build import Refused, Value, index
from prism_mlir.frontend.stablehlo.indices import as_index, element

CONTROL = frozenset({"stablehlo.while", "stablehlo.case", "stablehlo.if"})
"""Operations whose regions are moved, with operations of StableHLO in them that are converted afterwards."""


def while_(op: Any) -> list[Value]:
    """``scf.while``: the condition's region, then the body's."""
    from mlir import ir
    from mlir.dialects import scf

    types = [v.type for v in op.operands]
    if not types:
        raise Refused("of no values")
    loop = ir.Operation.create("scf.while", results=types, operands=list(op.operands), regions=2)
    for own, source in zip(loop.regions, op.regions, strict=True):
        source.blocks[0].append_to(own)
    condition, body = (region.blocks[0] for region in loop.regions)
    returned, last = _returned(condition)
    with ir.InsertionPoint(last), last.location:
        scf.ConditionOp(element(returned[0], []), list(condition.arguments))
    last.erase()
    _yield(body)
    return list(loop.results)


def branch(op: Any) -> list[Value]:
    """``case`` and ``if``: nested ``scf.if``. The last branch of a ``case`` is taken for every number that has none."""
    from mlir.dialects import arith

    chosen = element(op.operands[0], [])
    if not op.results:
        raise Refused("of no values")
    if op.name == "stablehlo.if":
        tests = [chosen]
    else:
        number = as_index(chosen)
        tests = [arith.CmpIOp(0, number, index(k)).result for k in range(len(op.regions) - 1)]
    return _nested(tests, list(op.regions), [r.type for r in op.results])


def _nested(tests: Sequence[Value], regions: Sequence[Any], types: Sequence[Any]) -> list[Value]:
    from mlir import ir
    from mlir.dialects import scf

    if not tests:
        raise Refused("of one branch", "write it without case")
    made = ir.Operation.create("scf.if", results=list(types), operands=[tests[0]], regions=2)
    regions[0].blocks[0].append_to(made.regions[0])
    _yield(made.regions[0].blocks[0])
    if len(tests) == 1:
        regions[1].blocks[0].append_to(made.regions[1])
        _yield(made.regions[1].blocks[0])
    else:
        with ir.InsertionPoint(made.regions[1].blocks.append()):
            scf.YieldOp(_nested(tests[1:], regions[1:], types))
    return list(made.results)


def _returned(block: Any) -> tuple[list[Value], Any]:
    last = list(block)[-1].operation
    if last.name != "stablehlo.return":
        raise ValueError("its region returns nothing")
    return list(last.operands), last


def _yield(block: Any) -> None:
    from mlir import ir
    from mlir.dialects import scf

    values, last = _returned(block)
    with ir.InsertionPoint(last), last.location:
        scf.YieldOp(values)
    last.erase()
