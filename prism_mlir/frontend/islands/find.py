"""Find the islands of a function: outline what looks like one, import it, leave out what does not fit, until all fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Any

from prism_mlir.frontend.import_linalg import import_module
from prism_mlir.frontend.islands.classify import (
    BOUNDARY,
    MASKS,
    all_steps,
    element_of,
    misfit,
    reads,
)
from prism_mlir.frontend.islands.outline import Outlined, outline
from prism_mlir.frontend.islands.phases import Part
from prism_mlir.frontend.upstream import (
    UpstreamModule,
    choose_function,
    functions,
    input_error,
    named_ops,
    read_module,
    symbol_name,
)
from prism_mlir.graph.errors import Location, PrismError, UnsupportedError
from prism_mlir.graph.ops import Kind
from prism_mlir.graph.program import Program

_INLINED = "builtin.module(inline{default-pipeline=},symbol-dce)"
_SMALL = "no product, sum or maximum in what could go with it"
_WORK = frozenset({Kind.MATMUL, Kind.REDUCE})


@dataclass(frozen=True, slots=True)
class Island:
    """A part of a function that becomes kernels.

    name:    of the function that it is in the outlined module
    numbers: of its operations in the function
    text:    a module with that function alone, public, with the locations of the source
    program: what it computes
    """

    name: str
    numbers: tuple[int, ...]
    text: str = field(repr=False)
    program: Program


@dataclass(frozen=True, slots=True)
class Left:
    """An operation that stays as it is."""

    operation: str
    location: Location
    reason: str


@dataclass(frozen=True, slots=True)
class Islands:
    """A function cut into islands and what stays.

    function: its name
    text:     the whole module, islands as private functions that the function calls
    rest:     the same with the islands' functions declared only
    left:     operations that stay, those aside that only move numbers about or end the function
    """

    function: str
    text: str
    rest: str
    islands: tuple[Island, ...]
    left: tuple[Left, ...]


class IslandFinder:
    """Finds the islands of one function; what fails to become kernels later is refused, and the rest found again.

    upstream: the module as it was written, not normalised; it is changed

    Raises :class:`InputError` for a module without the function.
    """

    def __init__(self, upstream: UpstreamModule, function: str | None = None) -> None:
        self.function = choose_function(upstream, function)[1]
        self.upstream = upstream
        _inline(upstream)
        self._refused: dict[int, str] = {}
        self._names: dict[tuple[int, ...], str] = {}
        self._known: dict[tuple[int, ...], Island] = {}

    def refuse(self, island: Island, reason: str) -> None:
        """Let an island stay as it is."""
        self._refuse(island.numbers, reason)

    def find(self) -> Islands:
        """Cut the function. Raises :class:`UnsupportedError` where there is no island: with the reason of the first operation
        that stays.
        """
        text = self.upstream.module.get_asm(enable_debug_info=True)
        while True:
            trial = read_module(text, self.upstream.filename, normalise=False)
            taken = list(named_ops(trial.module))
            outlined = outline(functions(trial)[self.function], self._refused, partial(self._name, taken=taken))
            before = len(self._refused)
            islands = [island for o in outlined if (island := self._import(o, trial)) is not None]
            if len(self._refused) == before:
                return self._done(trial, islands)

    def _name(self, numbers: tuple[int, ...], *, taken: Sequence[str]) -> str:
        """The same for the same operations; no symbol of the module begins like it."""
        if numbers not in self._names:
            names = (f"{self.function}_island{k}" for k in count(len(self._names)))
            self._names[numbers] = next(n for n in names if not any(t.startswith(n) for t in taken))
        return self._names[numbers]

    def _import(self, outlined: Outlined, trial: UpstreamModule) -> Island | None:
        """The island, or None, and what does not fit refused."""
        if outlined.numbers in self._known:
            return self._known[outlined.numbers]
        if self._refuse_types(outlined):
            return None
        alone = _alone(outlined, trial)
        plain: str = alone.module.get_asm()
        try:
            program = import_module(read_module(plain, self.upstream.filename), outlined.name)
        except PrismError as error:
            self._refuse(self._to_blame(outlined, plain, error), error.message)
            return None
        if not any(node.op.kind in _WORK for node in program.nodes):
            self._refuse([n for n in outlined.numbers if n >= 0], _SMALL)
            return None
        text: str = alone.module.get_asm(enable_debug_info=True)
        self._known[outlined.numbers] = Island(
            outlined.name, tuple(n for n in outlined.numbers if n >= 0), text, program
        )
        return self._known[outlined.numbers]

    def _refuse(self, numbers: Sequence[int], reason: str) -> None:
        assert numbers and not set(numbers) & set(self._refused), "an operation is refused once"
        self._refused |= dict.fromkeys(numbers, reason)

    def _refuse_types(self, outlined: Outlined) -> bool:
        """Refuse what would take or give what kernels cannot."""
        block = outlined.function.regions[0].blocks[0]
        ops = [view.operation for view in block]
        number = dict(zip(ops, outlined.numbers, strict=False))
        wrong: dict[int, str] = {}
        for argument in block.arguments:
            if element_of(argument.type) not in BOUNDARY | MASKS:
                wrong |= {
                    number[_in_block(use.owner, ops)]: f"reads {argument.type} from outside" for use in argument.uses
                }
        for value in ops[-1].operands:
            if element_of(value.type) not in BOUNDARY:
                wrong[number[value.owner.operation]] = f"gives {value.type}"
        if wrong:
            self._refused |= {n: r for n, r in wrong.items() if n >= 0}
        return bool(wrong)

    def _to_blame(self, outlined: Outlined, plain: str, error: PrismError) -> list[int]:
        """The operation that an error speaks of, or who reads a copy that it speaks of; all where it cannot be told."""
        parsed = read_module(plain, "", normalise=False)
        ops = [view.operation for view in functions(parsed)[outlined.name].regions[0].blocks[0]]
        own = [n for n in outlined.numbers if n >= 0]
        line = error.location.line if error.location is not None else 0
        before = [k for k, op in enumerate(ops) if op.location.start_line <= line]
        if not before or before[-1] == len(ops) - 1:
            return own
        number = dict(zip(ops, outlined.numbers, strict=False))
        pending, found = [ops[before[-1]]], set[int]()
        while pending:
            op = pending.pop()
            if number.get(op, -1) >= 0:
                found.add(number[op])
            else:
                pending += [
                    user for r in op.results for use in r.uses if (user := _in_block(use.owner, ops)) is not None
                ]
        return sorted(found) or own

    def _done(self, trial: UpstreamModule, islands: list[Island]) -> Islands:
        left = tuple(self._left())
        if not islands:
            raise self._nothing(left)
        text: str = trial.module.get_asm(enable_debug_info=True)
        for island in islands:
            _declare(functions(trial)[island.name])
        rest: str = trial.module.get_asm(enable_debug_info=True)
        return Islands(self.function, text, rest, tuple(islands), left)

    def _nothing(self, left: Sequence[Left]) -> UnsupportedError:
        first = next((x for x in left if x.reason != _SMALL), next(iter(left), None))
        where = first.location if first else self.upstream.locate(functions(self.upstream)[self.function])
        why = f"{first.operation} stays as it is: {first.reason}" if first else "it holds no operation"
        return UnsupportedError(f"no part of @{self.function} can become a kernel; {why}", where)

    def _left(self) -> Iterator[Left]:
        """What stays, without what only computes single numbers."""
        blocks, sources = all_steps(functions(self.upstream)[self.function], self._refused)
        for block, steps in blocks:
            for k, (op, step) in enumerate(zip(block.ops, steps, strict=True)):
                if step.part is not Part.REST or op is block.ops[-1] or not _is_on_tensors(op):
                    continue
                why = self._refused.get(block.first + k) or misfit(op, [v for v in reads(op) if v not in sources])
                yield Left(op.name, self.upstream.locate(op), why)


def _is_on_tensors(op: Any) -> bool:
    """Whether it gives tensors or buffers, or reads some and gives nothing."""
    return any(_is_shaped(v.type) for v in (op.results or op.operands))


def _is_shaped(kind: Any) -> bool:
    from mlir import ir

    return isinstance(kind, ir.ShapedType)


def _in_block(user: Any, ops: Sequence[Any]) -> Any:
    """The operation among ``ops`` that a user is, or is in."""
    current = user.operation
    while current is not None and current not in ops:
        current = current.parent.operation if current.parent is not None else None
    return current


def _alone(outlined: Outlined, trial: UpstreamModule) -> UpstreamModule:
    """A module with the function alone, public."""
    from mlir import ir

    module = ir.Module.create(loc=outlined.function.location)
    copy = outlined.function.clone(ip=ir.InsertionPoint(module.body)).operation
    del copy.attributes["sym_visibility"]
    return UpstreamModule(module.operation, trial.filename)


def _declare(function: Any) -> None:
    """Leave of a function what its callers need to know."""
    from mlir import ir
    from mlir.dialects import func

    kind = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    with ir.InsertionPoint(function), function.location:
        func.FuncOp(symbol_name(function), kind, visibility="private")
    function.erase()


def _inline(upstream: UpstreamModule) -> None:
    from mlir import ir
    from mlir.passmanager import PassManager

    try:
        PassManager.parse(_INLINED, context=upstream.module.context).run(upstream.module)
    except ir.MLIRError as error:
        raise input_error(error, upstream.filename) from None
