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

VERSIONS = ((7, 0), (9, 99))  # of the PTX ISA: the first and the last that are read
SMS = (50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 88, 89, 90, 100, 101, 103, 110, 120, 121)
MAX_PARAM_BYTES = 32764  # of one kernel, in all (PTX ISA, "Kernel Function Parameters")

_TARGET_OPTIONS = ("debug", "texmode_unified", "texmode_independent")
_ONCE = (".version", ".target", ".address_size")
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
        address_size = 64
        size = self.token
        if self.accept(".address_size"):
            address_size = self.integer()
        if address_size != 64:
            raise self.error(f"only 64-bit addresses are supported, not {address_size}", size)
        variables: list[Variable] = []
        kernels: dict[str, Kernel] = {}
        functions: list[str] = []
        self.names: dict[str, str] = {}
        while self.token.kind != "end":
            self._module_item(variables, kernels, functions)
        return Program(self.source.name, version, target, address_size, tuple(variables), kernels, tuple(functions))

    def _target(self) -> str:
        """The architecture, and the options after it, which mean nothing to a run."""
        token = self.token
        target = self.name()
        found = re.fullmatch(r"sm_(\d{2,3})([af]?)", target)
        if found is None or int(found[1]) not in SMS or int(found[1]) < {"": 0, "a": 90, "f": 100}[found[2]]:
            known = ", ".join(f"sm_{sm}" for sm in SMS)
            raise self.error(f"unknown target '{target[:20]}'; known are {known} (a from sm_90, f from sm_100)", token)
        while self.accept(","):
            option = self.token
            if self.name() not in _TARGET_OPTIONS:
                known = ", ".join(_TARGET_OPTIONS)
                raise self.error(f"target option '{option.text[:20]}' is not supported; known are {known}", option)
        return target

    def _version(self) -> tuple[int, int]:
        if not self.accept(".version"):
            raise self.error(f"expected '.version' at the start of a PTX module, found '{self.token.text[:20]}'")
        token = self.next()
        found = re.fullmatch(r"(\d{1,2})\.(\d{1,2})", token.text)
        if found is None:
            raise self.error(f"expected a version like 7.6, found '{token.text[:20]}'", token)
        version = int(found[1]), int(found[2])
        if not VERSIONS[0] <= version <= VERSIONS[1]:
            raise self.error(f"PTX ISA {token.text} is not supported; versions 7.0 to 9.x are", token)
        return version

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
            self._define(kernel.name, "kernel", kernel.location)
            kernels[kernel.name] = kernel
        elif self.accept(".func"):
            functions.append(self._function())
            self._define(functions[-1], "function", self.here(start))
        elif self.token.text in SPACES:
            for variable in self.variables(".extern" in linkage):
                known = variable.name in self.names
                self._define(variable.name, "external variable" if variable.extern else "variable", variable.location)
                if not known:
                    variables.append(variable)
        elif start.text in _ONCE:
            raise self.error(f"'{start.text}' stands once, at the start of a module")
        else:
            raise self.error(f"unknown directive '{self.token.text}' at module level")

    def _define(self, name: str, what: str, location: Location) -> None:
        """Kernels, functions and variables share their names; functions and external variables may be declared again."""
        if name in self.names and (self.names[name] != what or what in ("kernel", "variable")):
            raise PtxSyntaxError(f"{what} '{name}': the module has a {self.names[name]} of that name already", location)
        self.names[name] = what

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
        """A device function: declared or defined. Its body is passed over, since nothing can reach it: a call is an error
        where it stands. (``nvcc -rdc=true`` and LLVM write functions down that they have inlined everywhere.)
        """
        if self.accept("("):
            while not self.accept(")"):
                self.inside()
        name = self.name()
        if self.accept("("):
            while not self.accept(")"):
                self.inside()
        while self.token.text not in ("{", ";"):
            self.inside()
        if not self.accept(";"):
            self._skip_braces()
        return name

    def _skip_braces(self) -> None:
        """From an opening brace to behind the one that closes it."""
        depth = 0
        while True:
            depth += {"{": 1, "}": -1}.get(self.token.text, 0)
            self.inside()
            if not depth:
                return

    # -- kernels --------------------------------------------------------------------------------------------------

    def _kernel(self, start: Token) -> Kernel:
        name = self.name()
        params = self._params()
        max_threads: int | None = None
        required: tuple[int, int, int] | None = None
        while self.token.text != "{":
            if self.token.text in _BOUNDS:
                token = self.next()
                directive = token.text
                values = [self.positive(f"'{directive}'")]
                while self.accept(","):
                    values.append(self.positive(f"'{directive}'"))
                if len(values) > 3:
                    raise self.error(f"'{directive}' takes at most 3 numbers", token)
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
        body = Body(self, [p.name for p in params], self.names)
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
        names: set[str] = set()
        offset = 0
        if not self.accept("("):
            return ()
        while not self.accept(")"):
            self.expect(".param")
            align = self.alignment() if self.accept(".align") else 0
            scalar = self.memory_scalar()
            if self.accept(".ptr"):
                while self.token.text in SPACES:
                    self.next()
                if self.accept(".align"):
                    self.alignment()
            token = self.token
            name = self.name()
            if name in names:
                raise self.error(f"parameter '{name}' is declared twice", token)
            names.add(name)
            count, is_array = 1, False
            while self.accept("["):
                count, is_array = min(count, MAX_PARAM_BYTES + 1) * self.positive(f"the size of '{name}'"), True
                self.expect("]")
            align = align or scalar.bytes
            offset = -(-offset // align) * align
            params.append(Param(name, scalar, count * scalar.bytes, align, offset, is_array))
            offset += count * scalar.bytes
            if offset > MAX_PARAM_BYTES:
                raise self.error(
                    f"the parameters of a kernel have at most {MAX_PARAM_BYTES} bytes, these have more", token
                )
            if self.token.text != ")":
                self.expect(",")
        return tuple(params)
