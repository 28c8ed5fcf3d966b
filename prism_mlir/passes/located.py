"""Where things are: the source location of an op, and errors of every layer brought to one located line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from xdsl.dialects.builtin import ArrayAttr, CallSiteLoc, FileLineColLoc, FusedLoc, ModuleOp, NameLoc, UnregisteredOp
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import DiagnosticException, ParseError

from prism_mlir.dialects.sgraph.refuse import RefusedOp
from prism_mlir.graph.errors import InputError, Location, PrismError, VerifyError


def location_of(op: Operation | None) -> Location | None:
    """The first file position of an op, or of the nearest op around it that has one."""
    while op is not None:
        for leaf in _leaves(op.location):
            return Location(leaf.filename.data, leaf.line.data, leaf.column.data)
        op = op.parent_op()
    return None


def _leaves(location: Attribute) -> Iterator[FileLineColLoc]:
    match location:
        case FileLineColLoc() if location.line.data:
            yield location
        case NameLoc():
            yield from _leaves(location.location)
        case CallSiteLoc():
            yield from _leaves(location.callee)
            yield from _leaves(location.caller)
        case FusedLoc(locations=ArrayAttr() as locations):
            for child in locations:
                yield from _leaves(child)


@contextmanager
def at(op: Operation) -> Iterator[None]:
    """Give errors that know no place the place of ``op``."""
    try:
        yield
    except RefusedOp as error:
        raise VerifyError(str(error), location_of(error.op)) from None
    except PrismError as error:
        if error.location is not None:
            raise
        raise type(error)(error.message, location_of(op), error.hint) from error


def verify_module(module: ModuleOp, filename: str = "<module>") -> None:
    """Verify every op. Raises :class:`VerifyError` at the first, innermost op that breaks a rule.

    The inside of an op that xDSL does not know is left to upstream MLIR, which verified it: what xDSL knows of, say, memref
    is partial and refuses legal code.
    """
    for op in _inner_first(module):
        try:
            op.verify(verify_nested_ops=False)
        except RefusedOp as error:
            raise VerifyError(str(error), location_of(error.op) or Location(filename)) from None
        except (DiagnosticException, ValueError) as error:
            message = _first_line(error)
            told = message if message.startswith(f"'{op.name}'") else f"'{op.name}' op {message}"
            raise VerifyError(told, location_of(op) or Location(filename)) from None


def _inner_first(op: Operation) -> Iterator[Operation]:
    if not isinstance(op, UnregisteredOp):
        for region in op.regions:
            for block in region.blocks:
                for inner in block.ops:
                    yield from _inner_first(inner)
    yield op


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


def parse_error(error: ParseError) -> InputError:
    """xDSL's syntax error as one located line."""
    place = error.span.get_location()
    message = f"syntax error{error.msg}" if error.msg.startswith(" ") else error.msg
    return InputError(message, Location(place.file, place.line, place.col))
