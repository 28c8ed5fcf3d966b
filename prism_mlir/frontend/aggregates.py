"""Operations of linalg that stand for several: ``softmax``, ``pack`` and ``unpack``, written out before anything else is done.

Upstream's generalisation leaves them alone. Its own decomposition of ``softmax`` starts the maximum from NaN, which no maximum of
a tensor program does, so that one is written here; packing is taken apart by upstream's transform dialect.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prism_mlir.frontend.stablehlo.build import Value, filled, generic, number, shape_of, size, tensor_type

if TYPE_CHECKING:
    from prism_mlir.frontend.upstream import UpstreamModule

_PACKING = {"linalg.pack": "lower_pack", "linalg.unpack": "lower_unpack"}
_LEFT = {
    "linalg.pack": ("tensor.pad", "tensor.expand_shape", "linalg.transpose"),
    "linalg.unpack": ("tensor.empty", "linalg.transpose", "tensor.collapse_shape", "tensor.extract_slice"),
}


def write_out(upstream: UpstreamModule) -> None:
    """Replace every such operation of a module; one without any stays as it is."""
    found: list[Any] = []

    def visit(op: Any) -> Any:
        from mlir import ir

        if op.name == "linalg.softmax" or op.name in _PACKING:
            found.append(op)
        return ir.WalkResult.ADVANCE

    upstream.module.walk(visit)
    packing = sorted({op.name for op in found} & set(_PACKING))
    for op in found:
        if op.name == "linalg.softmax":
            _replace_softmax(op)
    if packing:
        _unpack_all(upstream, packing)


def _replace_softmax(op: Any) -> None:
    from mlir import ir

    with ir.InsertionPoint(op), op.location:
        made = _softmax(op.operands[0], ir.IntegerAttr(op.attributes["dimension"]).value)
    op.results[0].replace_all_uses_with(made)
    op.erase()


def _softmax(value: Value, d: int) -> Value:
    from mlir.dialects import arith, math

    kind, rank = value.type, value.type.rank
    element = kind.element_type
    every, rows = list(range(rank)), [k for k in range(rank) if k != d]

    def sizes(k: int) -> Any:
        return size(value, k)

    def start(number_: float) -> Value:
        row = tensor_type([shape_of(value)[k] for k in rows], element)
        return filled(row, lambda k: sizes(rows[k]), number(number_, element))

    def out() -> Value:
        return filled(kind, sizes, number(0, element))

    def reduced(given: Value, initial: float, operation: Any) -> Value:
        body = lambda v: [operation(v[0], v[1]).result]  # noqa: E731
        return generic(rank, [(given, every)], [(start(initial), rows)], body, [d])[0]

    top = reduced(value, float("-inf"), arith.MaximumFOp)
    (e,) = generic(
        rank,
        [(value, every), (top, rows)],
        [(out(), every)],
        lambda v: [math.ExpOp(arith.SubFOp(v[0], v[1]).result).result],
    )
    total = reduced(e, 0.0, arith.AddFOp)
    return generic(rank, [(e, every), (total, rows)], [(out(), every)], lambda v: [arith.DivFOp(v[0], v[1]).result])[0]


def _unpack_all(upstream: UpstreamModule, names: list[str]) -> None:
    from mlir import ir
    from mlir.dialects.transform import interpreter

    from prism_mlir.frontend.upstream import input_error

    script = ir.Module.parse(_script(names), upstream.module.context)
    try:
        interpreter.apply_named_sequence(upstream.module, script.body.operations[0], script.operation)
    except ir.MLIRError as error:
        raise input_error(error, upstream.filename, "upstream MLIR cannot take the packing apart") from None


def _script(names: list[str]) -> str:
    steps = []
    for k, name in enumerate(names):
        left = ", ".join(f'!transform.op<"{n}">' for n in _LEFT[name])
        kind = f'!transform.op<"{name}">'
        steps.append(f"""
    %all{k} = transform.structured.match ops{{["{name}"]}} in %module : (!transform.any_op) -> {kind}
    transform.foreach %all{k} : {kind} {{
    ^bb0(%one: {kind}):
      transform.structured.{_PACKING[name]} %one : ({kind}) -> ({left})
    }}""")
    return f"""module attributes {{transform.with_named_sequence}} {{
  transform.named_sequence @__transform_main(%module: !transform.any_op) {{{"".join(steps)}
    transform.yield
  }}
}}"""
