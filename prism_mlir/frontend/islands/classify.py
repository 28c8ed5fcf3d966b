"""Which operations of a function may become part of a kernel, as far as their names and types tell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from prism_mlir.frontend.islands.phases import Part, Step

_OURS = frozenset({"arith", "linalg", "math", "tensor"})
_PURE = _OURS | {"affine", "complex", "index", "shape"}
_FLOATS = frozenset({"f16", "bf16", "f32", "f64"})
BOUNDARY = frozenset({"f16", "bf16", "f32"})  # element types that kernels take and give
MASKS = frozenset({"i1"})  # and take


@dataclass(frozen=True, slots=True)
class Block:
    """A block of the function with its operations' numbers in the function."""

    block: Any
    first: int
    ops: tuple[Any, ...]


def blocks_of(function: Any) -> list[Block]:
    """The blocks that may hold islands: those of the function, and of control flow in it, in order."""
    found: list[Block] = []
    pending = [block for region in function.regions for block in region]
    number = 0
    while pending:
        block = pending.pop(0)
        ops = tuple(view.operation for view in block)
        found.append(Block(block, number, ops))
        number += len(ops)
        inner = (op for op in ops if op.name.startswith("scf."))
        pending += [nested for op in inner for region in op.regions for nested in region]
    return found


def steps_of(block: Block, refused: Mapping[int, object], sources: set[Any]) -> list[Step]:
    """A block's operations as steps.

    refused: numbers of operations that are known to stay
    sources: results of sources in blocks that dominate this one; those of this block are added
    """
    place = {result: k for k, op in enumerate(block.ops) for result in op.results}
    steps: list[Step] = []
    for k, op in enumerate(block.ops):
        read = list(reads(op))
        part = _part(op, [v for v in read if v not in sources])
        if part is Part.SOURCE:
            sources |= set(op.results)
        if part is Part.CANDIDATE and block.first + k in refused:
            part = Part.REST
        needs = frozenset(place[v] for v in read if v in place)
        steps.append(Step(part, needs, part is Part.REST and op.name.partition(".")[0] not in _PURE))
    return steps


def all_steps(function: Any, refused: Mapping[int, object]) -> tuple[list[tuple[Block, list[Step]]], set[Any]]:
    """Each block that may hold islands with its operations as steps, and the results of sources in all of them."""
    sources = set[Any]()
    return [(block, steps_of(block, refused, sources)) for block in blocks_of(function)], sources


def _part(op: Any, unknown: Sequence[Any]) -> Part:
    """unknown: what the operation reads that is no constant."""
    if op.name.partition(".")[0] not in _OURS or not op.results:
        return Part.REST
    if not unknown:
        return Part.SOURCE
    return Part.REST if misfit(op, unknown) else Part.CANDIDATE


def misfit(op: Any, unknown: Iterable[Any]) -> str:
    """Why an operation cannot be part of a kernel, as far as name and types tell; empty where they tell nothing.

    unknown: what it reads that is no constant
    """
    dialect = op.name.partition(".")[0]
    if dialect not in _OURS:
        return f"kernels are made of {', '.join(sorted(_OURS))}, not of {dialect}"
    read = next((f"it reads {v.type}" for v in unknown if not _held(v)), "")
    return read or next((f"it gives {v.type}" for v in op.results if not _held(v)), "")


def _held(value: Any) -> bool:
    """Whether a kernel can hold a value: a tensor of floats or truths, of known shape."""
    return element_of(value.type) in _FLOATS | MASKS


def element_of(kind: Any) -> str | None:
    """Element type of a tensor of known shape with elements, or None."""
    from mlir import ir

    if not isinstance(kind, ir.RankedTensorType) or not kind.has_static_shape or 0 in kind.shape:
        return None
    return None if kind.encoding is not None else str(kind.element_type)


def reads(op: Any) -> Iterator[Any]:
    """Values from outside that an operation or its regions read."""
    yield from op.operands
    inner: set[Any] = set()
    for region in op.regions:
        for block in region:
            inner |= set(block.arguments)
            for view in block:
                inner |= set(view.operation.results)
                yield from (v for v in reads(view.operation) if v not in inner)
