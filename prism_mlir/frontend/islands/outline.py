"""Move islands into functions of their own, in upstream's IR."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from prism_mlir.frontend.islands.classify import Block, all_steps, reads
from prism_mlir.frontend.islands.phases import Part, plan

Name = Callable[[tuple[int, ...]], str]


@dataclass(frozen=True, slots=True)
class Outlined:
    """A function that was made of an island.

    name:     of the function, in the module
    numbers:  of its operations in the function they come from, in order; -1 for copies of what others read too
    function: the ``func.func``
    """

    name: str
    numbers: tuple[int, ...]
    function: Any


def outline(function: Any, refused: Mapping[int, object], name: Name) -> list[Outlined]:
    """Outline all islands of a function; calls of private functions stand in their place.

    refused: numbers of operations that are to stay;  name: what to call the function of given operations
    """
    found, read_before = [], list[Any]()
    blocks, sources = all_steps(function, refused)
    for block, steps in blocks:
        planned = plan(steps)
        read_before += [op for op, s in zip(block.ops, steps, strict=True) if s.part is Part.SOURCE and _is_read(op)]
        if not planned.islands:
            continue
        terminator = block.ops[-1]
        for k in planned.order[:-1]:
            block.ops[k].move_before(terminator)
        for island in planned.islands:
            numbers = tuple(block.first + k for k in island)
            found.append(_outline(function, block, island, sources, name(numbers)))
    _drop_unused(read_before)
    return found


def _drop_unused(sources: Sequence[Any]) -> None:
    """Erase sources that only islands read: they have copies of their own."""
    for op in reversed(sources):
        if not _is_read(op):
            op.erase()


def _is_read(op: Any) -> bool:
    return any(True for r in op.results for _ in r.uses)


def _outline(function: Any, block: Block, island: tuple[int, ...], sources: set[Any], name: str) -> Outlined:
    from mlir import ir
    from mlir.dialects import func

    ops = [block.ops[k] for k in island]
    inside = {result for op in ops for result in op.results}
    read = dict.fromkeys(v for op in ops for v in reads(op) if v not in inside)
    copied = [v for v in read if v in sources]
    inputs = [v for v in read if v not in set(copied)]
    outputs = [v for op in ops for v in op.results if _used_outside(v, ops)]
    place = ops[0].location
    with ir.InsertionPoint(ops[0]), place:
        call = func.CallOp([v.type for v in outputs], name, inputs)
    with ir.InsertionPoint(function), place:
        made = func.FuncOp(name, ([v.type for v in inputs], [v.type for v in outputs]), visibility="private")
    body = made.add_entry_block([v.location for v in inputs])
    copies = _Copies(body, set(ops))
    with ir.InsertionPoint(body), place:
        end = func.ReturnOp(outputs)
    for value in copied:
        copies.of(value)
    replaced = dict(zip(inputs, body.arguments, strict=True)) | copies.made
    for op in ops:
        op.move_before(end.operation)
        _rename(op, replaced)
    for old, new in zip(outputs, call.results, strict=True):
        old.replace_all_uses_except(new, [*_users_in(ops, old), end.operation])
    return Outlined(name, (*(-1 for _ in range(copies.count)), *(block.first + k for k in island)), made.operation)


class _Copies:
    """Copies of sources, each once, in the new function."""

    def __init__(self, body: Any, island: set[Any]) -> None:
        self.body, self.island = body, island
        self.made: dict[Any, Any] = {}
        self.count = 0

    def of(self, value: Any) -> Any:
        """The copy of a value; what it reads is copied before."""
        from mlir import ir

        if value not in self.made:
            op = value.owner.operation
            needed = {v: self.of(v) for v in reads(op)}
            with ir.InsertionPoint(self.body.operations[self.count]):
                copy = op.clone().operation
            self.count += 1
            _rename(copy, needed)
            self.made |= dict(zip(op.results, copy.results, strict=True))
        return self.made[value]


def _rename(op: Any, names: Mapping[Any, Any]) -> None:
    """Let an operation and all in its regions read other values."""
    for k, value in enumerate(list(op.operands)):
        if value in names:
            op.operands[k] = names[value]
    for region in op.regions:
        for inner in region:
            for view in inner:
                _rename(view.operation, names)


def _used_outside(value: Any, ops: Iterable[Any]) -> bool:
    inside = set(ops)
    return any(_ancestor(use.owner, inside) is None for use in value.uses)


def _ancestor(user: Any, ops: set[Any]) -> Any:
    current = user.operation
    while current is not None:
        if current in ops:
            return current
        current = current.parent.operation if current.parent is not None else None
    return None


def _users_in(ops: list[Any], value: Any) -> list[Any]:
    inside = set(ops)
    return [use.owner.operation for use in value.uses if _ancestor(use.owner, inside) is not None]
