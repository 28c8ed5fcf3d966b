"""How verifiers of the dialect refuse an op: with a typed error that knows which op is at fault."""

from __future__ import annotations

from typing import NoReturn

from xdsl.dialects.builtin import UnregisteredOp
from xdsl.ir import Operation
from xdsl.utils.exceptions import VerifyException


class RefusedOp(VerifyException):
    """An op breaks a rule of the dialect. ``op`` is the one to look at, which may lie inside the one being verified."""

    def __init__(self, op: Operation, message: str) -> None:
        super().__init__(message)
        self.op = op


def refuse(op: Operation, message: str) -> NoReturn:
    """Raise :class:`RefusedOp`; the message names the op first, as upstream MLIR does."""
    name = op.op_name.data if isinstance(op, UnregisteredOp) else op.name
    raise RefusedOp(op, f"'{name}' op {message}")
