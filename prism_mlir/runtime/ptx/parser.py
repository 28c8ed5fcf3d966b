"""Tokens to a :class:`Program`: modules as LLVM's NVPTX back end, nvcc and Triton write them (PTX ISA 7.0 to 9.x)."""

from __future__ import annotations

import re

from prism_mlir.runtime.ptx.body import Body
from prism_mlir.runtime.ptx.cursor import SPACES, Cursor
from prism_mlir.runtime.ptx.errors import Location, PtxSyntaxError
from prism_mlir.runtime.ptx.lexer import Source, Token
from prism_mlir.runtime.ptx.program import (
    Kernel,
    Param,
    Program,
    Variable,
)

_LINKAGE = (".visible", ".extern", ".weak", ".common")
_BOUNDS = (
    ".maxntid",
    ".reqntid",
    ".minnctapersm",
    ".maxnreg",
    ".maxnctapersm",
    ".reqnctapercluster",
    ".maxclusterrank",
)


def parse(text: str, name: str = "<ptx>") -> Program:
    """Parse one PTX module.

    Args:
        text: the whole file.
        name: how locations name the file.

    Raises:
        PtxSyntaxError: located, at the first thing that is not PTX or not known.
    """
    return _Parser(Source(text, name)).module()


class _Parser(Cursor):
    # -- module ---------------------------------------------------------------------------------------------------

    def module(self) -> Program:
        if not self.source.text.strip():
            start = Location(self.source.name, 1, 1)
            raise PtxSyntaxError("the file is empty; expected a PTX module that starts with '.version'", start)
        version = self._version()
        self.expect(".target")
        target = self._target()
        while self.accept(","):
            self.name()
        address_size = 64
        size = self.token
        if self.accept(".address_size"):
            address_size = self.integer()
        if address_size != 64:
            raise self.error(f"only 64-bit addresses are supported, not {address_size}", size)
        variables: list[Variable] = []
        kernels: dict[str, Kernel] = {}
        functions: list[str] = []
        while self.token.kind != "end":
            self._module_item(variables, kernels, functions)
        return Program(self.source.name, version, target, address_size, tuple(variables), kernels, tuple(functions))

    def _target(self) -> str:
        token = self.token
        target = self.name()
        if not re.fullmatch(r"sm_\d+[af]?", target):
            raise self.error(f"unknown target '{target}'; expected one like sm_80", token)
        return target

    def _version(self) -> tuple[int, int]:
        if not self.accept(".version"):
            raise self.error(f"expected '.version' at the start of a PTX module, found '{self.token.text[:20]}'")
        token = self.next()
        if token.kind != "float" or "." not in token.text:
            raise self.error(f"expected a version like 7.6, found '{token.text}'", token)
        major, minor = token.text.split(".")
        return int(major), int(minor or 0)

    def _module_item(self, variables: list[Variable], kernels: dict[str, Kernel], functions: list[str]) -> None:
        start = self.token
        if start.text == ".file":
            self.skip_line()
            return
        if start.text == ".section":
            self._skip_section()
            return
        if start.text == ".pragma":
            self.pragma()
            return
        linkage = []
        while self.token.text in _LINKAGE:
            linkage.append(self.next().text)
        if self.accept(".entry"):
            kernel = self._kernel(start)
            if kernel.name in kernels:
                raise self.error(f"kernel '{kernel.name}' is defined twice", start)
            kernels[kernel.name] = kernel
        elif self.accept(".func"):
            functions.append(self._function())
        elif self.token.text in SPACES:
            variables.extend(self.variables(".extern" in linkage))
        else:
            raise self.error(f"unknown directive '{self.token.text}' at module level")

    def _skip_section(self) -> None:
        """DWARF: names and labels are kept for debuggers, they mean nothing to a run."""
        self.next()
        self.next()
        self.expect("{")
        while not self.accept("}"):
            if self.token.kind == "end":
                raise self.error("unexpected end of file inside '.section'")
            self.next()

    def _function(self) -> str:
        """A device function: declared or defined; a call to it is reported where it stands."""
        if self.accept("("):
            while not self.accept(")"):
                self.inside()
        name = self.name()
        if self.accept("("):
            while not self.accept(")"):
                self.inside()
        while self.token.text not in ("{", ";"):
            self.inside()
        if self.accept(";"):
            return name
        raise self.error(f"device function '{name}' has a body: calls are not supported, inline it")

    # -- kernels --------------------------------------------------------------------------------------------------

    def _kernel(self, start: Token) -> Kernel:
        name = self.name()
        params = self._params()
        max_threads: int | None = None
        required: tuple[int, int, int] | None = None
        while self.token.text != "{":
            if self.token.text in _BOUNDS:
                directive = self.next().text
                values = [self.integer()]
                while self.accept(","):
                    values.append(self.integer())
                padded = (*values, 1, 1)[:3]
                if directive == ".maxntid":
                    max_threads = padded[0] * padded[1] * padded[2]
                elif directive == ".reqntid":
                    required = (padded[0], padded[1], padded[2])
            elif self.token.text == ".pragma":
                self.pragma()
            elif self.token.text in (".noreturn", ".explicitcluster"):
                self.next()
            else:
                raise self.error(f"unknown kernel directive '{self.token.text}'")
        body = Body(self)
        body.parse()
        return Kernel(
            name,
            params,
            body.registers,
            tuple(body.variables),
            tuple(body.instructions),
            body.labels,
            body.tables,
            self.here(start),
            max_threads,
            required,
        )

    def _params(self) -> tuple[Param, ...]:
        params: list[Param] = []
        offset = 0
        if not self.accept("("):
            return ()
        while not self.accept(")"):
            self.expect(".param")
            align = 0
            if self.accept(".align"):
                align = self.integer()
            scalar = self.scalar()
            if self.accept(".ptr"):
                while self.token.text in SPACES:
                    self.next()
                if self.accept(".align"):
                    self.integer()
            name = self.name()
            count, is_array = 1, False
            while self.accept("["):
                count, is_array = count * self.integer(), True
                self.expect("]")
            align = align or scalar.bytes
            offset = -(-offset // align) * align
            params.append(Param(name, scalar, count * scalar.bytes, align, offset, is_array))
            offset += count * scalar.bytes
            if self.token.text != ")":
                self.expect(",")
        return tuple(params)
