"""What all passes share: legality is checked on both sides, and a pass can be a pipeline of others."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from prism_mlir.graph.errors import InputError
from prism_mlir.passes.legality import Stage, check_stage
from prism_mlir.passes.located import verify_module


@dataclass(frozen=True)
class PrismPass(ModulePass):
    """A pass that takes a module from stage ``before`` to stage ``after`` (see :mod:`prism_mlir.passes.legality`)."""

    before: ClassVar[Stage]
    after: ClassVar[Stage]

    def require(self, least: int, *options: str) -> None:
        """Raise :class:`InputError` where one of the named options is smaller than ``least``."""
        for option in options:
            value = getattr(self, option)
            if value < least:
                raise InputError(f"{self.name}: {option.replace('_', '-')} is {value}, it must be at least {least}")

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run the pass. Raises a located :class:`~prism_mlir.graph.errors.PrismError` for input it cannot take."""
        check_stage(op, self.before, self.name)
        self.rewrite(ctx, op)
        verify_module(op)
        check_stage(op, self.after, f"after {self.name}, the next stage")

    @abstractmethod
    def rewrite(self, ctx: Context, op: ModuleOp) -> None:
        """Change the module in place."""

    def expand(self) -> tuple[PrismPass, ...]:
        """The passes that this one stands for: itself, unless it is a pipeline."""
        return (self,)
