"""Tokens to a :class:`Program`: modules as LLVM's NVPTX back end, nvcc and Triton write them (PTX ISA 7.0 to 9.x)."""

from __future__ import annotations

import struct

from prism_mlir.runtime.ptx.errors import Location, PtxSyntaxError
from prism_mlir.runtime.ptx.lexer import Source, Token, tokenize
from prism_mlir.runtime.ptx.program import (
    Addr,
    FloatImm,
    Guard,
    Instruction,
    IntImm,
    Kernel,
    Not,
    Operand,
    Pair,
    Param,
    Program,
    Reg,
    Sink,
    Sym,
    Variable,
    Vec,
)
from prism_mlir.runtime.ptx.types import SCALARS, Scalar

_LINKAGE = (".visible", ".extern", ".weak", ".common")
_SPACES = (".global", ".const", ".shared", ".local")
_BOUNDS = (
    ".maxntid",
    ".reqntid",
    ".minnctapersm",
    ".maxnreg",
    ".maxnctapersm",
    ".reqnctapercluster",
    ".maxclusterrank",
)
_PTR_SPACES = (".global", ".const", ".shared", ".local")


def parse(text: str, name: str = "<ptx>") -> Program:
    """Parse one PTX module.

    Args:
        text: the whole file.
        name: how locations name the file.

    Raises:
        PtxSyntaxError: located, at the first thing that is not PTX or not known.
    """
    return _Parser(Source(text, name)).module()


class _Scope:
    """The names declared so far in one ``{ … }`` of a body; inner registers get a unique name."""

    def __init__(self, parent: _Scope | None) -> None:
        self.parent = parent
        self.names: dict[str, str] = {}
        self.ranges: dict[str, tuple[int, Scalar]] = {}

    def find(self, name: str) -> str | None:
        scope: _Scope | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.parent
        return None


class _Parser:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.tokens = tokenize(source)
        self.at = 0
        self.scope_count = 0

    # -- tokens ---------------------------------------------------------------------------------------------------

    @property
    def token(self) -> Token:
        return self.tokens[self.at]

    def next(self) -> Token:
        token = self.tokens[self.at]
        self.at = min(self.at + 1, len(self.tokens) - 1)
        return token

    def accept(self, text: str) -> bool:
        if self.token.text == text and self.token.kind in ("punct", "word", "directive"):
            self.next()
            return True
        return False

    def expect(self, text: str) -> Token:
        if self.token.text != text or self.token.kind not in ("punct", "word", "directive"):
            raise self.error(f"expected '{text}', found '{self.token.text}'")
        return self.next()

    def name(self) -> str:
        token = self.token
        if token.kind != "word":
            raise self.error(f"expected a name, found '{token.text}'")
        return self.next().text

    def integer(self) -> int:
        sign = -1 if self.accept("-") else 1
        if self.token.kind != "int":
            raise self.error(f"expected an integer, found '{self.token.text}'")
        return sign * int(self.next().value)

    def here(self, token: Token | None = None) -> Location:
        return self.source.location((token or self.token).start)

    def error(self, message: str, token: Token | None = None) -> PtxSyntaxError:
        return PtxSyntaxError(message, self.here(token))

    # -- module ---------------------------------------------------------------------------------------------------

    def module(self) -> Program:
        if not self.source.text.strip():
            start = Location(self.source.name, 1, 1)
            raise PtxSyntaxError("the file is empty; expected a PTX module that starts with '.version'", start)
        version = self._version()
        self.expect(".target")
        target = self.name()
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
            self._skip_line_directive()
            return
        if start.text == ".section":
            self._skip_section()
            return
        if start.text == ".pragma":
            self._pragma()
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
        elif self.token.text in _SPACES:
            variables.extend(self._variables(".extern" in linkage))
        else:
            raise self.error(f"unknown directive '{self.token.text}' at module level")

    def _skip_line_directive(self) -> None:
        """``.file 1 "name", …`` and ``.loc 1 2 3, …`` end with their line."""
        line = self.here().line
        while self.token.kind != "end" and self.here().line == line:
            self.next()

    def _skip_section(self) -> None:
        """DWARF: names and labels are kept for debuggers, they mean nothing to a run."""
        self.next()
        self.next()
        self.expect("{")
        while not self.accept("}"):
            if self.token.kind == "end":
                raise self.error("unexpected end of file inside '.section'")
            self.next()

    def _pragma(self) -> None:
        self.expect(".pragma")
        while True:
            if self.next().kind != "string":
                raise self.error("expected a string after '.pragma'")
            if not self.accept(","):
                break
        self.expect(";")

    def _function(self) -> str:
        """A device function: declared or defined; a call to it is reported where it stands."""
        if self.accept("("):
            while not self.accept(")"):
                self._end_guard()
        name = self.name()
        if self.accept("("):
            while not self.accept(")"):
                self._end_guard()
        while self.token.text not in ("{", ";"):
            self._end_guard()
        if self.accept(";"):
            return name
        raise self.error(f"device function '{name}' has a body: calls are not supported, inline it")

    def _end_guard(self) -> None:
        if self.next().kind == "end":
            raise self.error("unexpected end of file")

    # -- variables ------------------------------------------------------------------------------------------------

    def _scalar(self) -> Scalar:
        token = self.token
        if token.kind != "directive" or token.text[1:] not in SCALARS:
            raise self.error(f"unknown type '{token.text}'")
        return SCALARS[self.next().text[1:]]

    def _variables(self, extern: bool) -> list[Variable]:
        space = self.next().text[1:]
        align, lanes = 0, 1
        while True:
            if self.accept(".align"):
                align = self.integer()
                if align <= 0 or align & (align - 1):
                    raise self.error(f"alignment {align} is not a power of two")
            elif self.accept(".attribute"):
                self.expect("(")
                while not self.accept(")"):
                    self._end_guard()
            elif self.token.text in (".v2", ".v4"):
                lanes = int(self.next().text[2:])
            else:
                break
        scalar = self._scalar()
        found = [self._declarator(space, scalar, lanes, align, extern)]
        while self.accept(","):
            found.append(self._declarator(space, scalar, lanes, align, extern))
        self.expect(";")
        return found

    def _declarator(self, space: str, scalar: Scalar, lanes: int, align: int, extern: bool) -> Variable:
        token = self.token
        name = self.name()
        element = scalar.bytes * lanes
        count, open_ended = 1, False
        while self.accept("["):
            if self.accept("]"):
                open_ended = True
                continue
            count *= self.integer()
            self.expect("]")
        init = None
        if self.accept("="):
            values = self._initialiser(scalar)
            init = b"".join(values)
            if open_ended:
                count = -(-len(init) // element)
            init = init.ljust(count * element, b"\0")
            if len(init) > count * element:
                raise self.error(f"'{name}' has {len(init)} bytes of initialisers for {count * element} bytes", token)
        elif open_ended:
            count = 0
        if open_ended and count == 0 and not extern:
            raise self.error(f"array '{name}' has no size", token)
        return Variable(name, space, scalar, count * element, align or element, self.here(token), init, extern)

    def _initialiser(self, scalar: Scalar) -> list[bytes]:
        if self.accept("{"):
            values: list[bytes] = []
            while not self.accept("}"):
                values.extend(self._initialiser(scalar))
                if not self.accept(","):
                    self.expect("}")
                    break
            return values
        negative = self.accept("-")
        token = self.next()
        if token.kind not in ("int", "float"):
            raise self.error(
                f"expected a number, found '{token.text}'; addresses as initialisers are unsupported", token
            )
        value = -token.value if negative else token.value
        return [_encode(value, scalar)]

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
                self._pragma()
            elif self.token.text in (".noreturn", ".explicitcluster"):
                self.next()
            else:
                raise self.error(f"unknown kernel directive '{self.token.text}'")
        body = _Body(self)
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
            scalar = self._scalar()
            if self.accept(".ptr"):
                while self.token.text in _PTR_SPACES:
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


class _Body:
    """The ``{ … }`` of one kernel."""

    def __init__(self, parser: _Parser) -> None:
        self.p = parser
        self.registers: dict[str, Scalar] = {}
        self.variables: list[Variable] = []
        self.instructions: list[Instruction] = []
        self.labels: dict[str, int] = {}
        self.tables: dict[str, tuple[str, ...]] = {}
        self.scope = _Scope(None)

    def parse(self) -> None:
        p = self.p
        p.expect("{")
        depth = 1
        while depth:
            token = p.token
            if token.kind == "end":
                raise p.error("unexpected end of file inside a kernel; '}' is missing")
            if p.accept("{"):
                self.scope = _Scope(self.scope)
                depth += 1
            elif p.accept("}"):
                self.scope = self.scope.parent or self.scope
                depth -= 1
            elif token.kind == "directive":
                self._directive(token)
            else:
                self._statement()

    def _directive(self, token: Token) -> None:
        p = self.p
        if token.text == ".reg":
            self._registers()
        elif token.text in _SPACES:
            self.variables.extend(p._variables(extern=False))
        elif token.text in (".loc", ".file"):
            p._skip_line_directive()
        elif token.text == ".pragma":
            p._pragma()
        else:
            raise p.error(f"unknown directive '{token.text}' in a kernel")

    def _registers(self) -> None:
        p = self.p
        p.expect(".reg")
        if p.token.text in (".v2", ".v4"):
            raise p.error("vector registers are not supported; declare scalars")
        scalar = p._scalar()
        while True:
            token = p.token
            name = p.name()
            if p.accept("<"):
                count = p.integer()
                p.expect(">")
                for i in range(count):
                    self._declare(f"{name}{i}", scalar, token)
            else:
                self._declare(name, scalar, token)
            if not p.accept(","):
                break
        p.expect(";")

    def _declare(self, name: str, scalar: Scalar, token: Token) -> None:
        if name in self.scope.names:
            raise self.p.error(f"register '{name}' is declared twice", token)
        unique = name
        while unique in self.registers:
            self.p.scope_count += 1
            unique = f"{name}#{self.p.scope_count}"
        self.scope.names[name] = unique
        self.registers[unique] = scalar

    def _statement(self) -> None:
        p = self.p
        start = p.token
        if start.kind == "word" and p.tokens[p.at + 1].text == ":":
            p.next()
            p.next()
            if start.text in self.labels:
                raise p.error(f"label '{start.text}' is defined twice", start)
            if p.token.text == ".branchtargets":
                p.next()
                targets = [p.name()]
                while p.accept(","):
                    targets.append(p.name())
                p.expect(";")
                self.tables[start.text] = tuple(targets)
                return
            self.labels[start.text] = len(self.instructions)
            return
        guard = None
        if p.accept("@"):
            negated = p.accept("!")
            token = p.token
            name = p.name()
            found = self.scope.find(name)
            if found is None:
                raise p.error(f"register '{name}' is not declared", token)
            guard = Guard(found, negated)
        opcode = p.token
        if opcode.kind != "word":
            raise p.error(f"expected an instruction, found '{opcode.text}'")
        p.next()
        if opcode.text.split(".")[0] == "call":
            raise p.error("unknown instruction 'call': device functions must be inlined", opcode)
        operands: list[Operand] = []
        if p.token.text != ";":
            operands.append(self._operand())
            while p.accept(","):
                operands.append(self._operand())
        end = p.expect(";")
        head, *mods = opcode.text.split(".")
        text = " ".join(p.source.text[start.start : end.start].split())
        self.instructions.append(
            Instruction(head, tuple(mods), guard, tuple(operands), p.here(opcode), text),
        )

    # -- operands -------------------------------------------------------------------------------------------------

    def _operand(self) -> Operand:
        p = self.p
        first = self._simple()
        if p.accept("|"):
            return Pair(first, self._simple())
        return first

    def _simple(self) -> Operand:
        p = self.p
        token = p.token
        if p.accept("{"):
            items = [self._simple()]
            while p.accept(","):
                items.append(self._simple())
            p.expect("}")
            return Vec(tuple(items))
        if p.accept("["):
            address = self._address()
            p.expect("]")
            return address
        if p.accept("!"):
            reg = self._name(p.next())
            if not isinstance(reg, Reg):
                raise p.error("expected a predicate register after '!'", token)
            return Not(reg)
        if p.accept("_"):
            return Sink()
        if p.accept("-"):
            return self._number(p.next(), negative=True)
        if token.kind in ("int", "float"):
            return self._number(p.next(), negative=False)
        if token.kind == "word":
            found = self._name(p.next())
            if isinstance(found, Sym) and p.token.text in ("+", "-"):
                return Sym(found.name, self._offset())
            return found
        raise p.error(f"expected an operand, found '{token.text}'")

    def _address(self) -> Addr:
        p = self.p
        token = p.next()
        base: Reg | Sym | IntImm
        if token.kind == "int":
            base = IntImm(int(token.value))
        elif token.kind == "word":
            base = self._name(token)
        else:
            raise p.error(f"expected an address, found '{token.text}'", token)
        return Addr(base, self._offset() if p.token.text in ("+", "-") else 0)

    def _offset(self) -> int:
        if self.p.accept("+"):
            return self.p.integer()
        return self.p.integer()

    def _name(self, token: Token) -> Reg | Sym:
        if token.kind != "word":
            raise self.p.error(f"expected a name, found '{token.text}'", token)
        found = self.scope.find(token.text)
        if found is not None:
            return Reg(found)
        if token.text.startswith("%") or token.text == "WARP_SZ":
            return Reg(token.text)
        return Sym(token.text)

    def _number(self, token: Token, negative: bool) -> Operand:
        if token.kind == "int":
            return IntImm(-int(token.value) if negative else int(token.value))
        if token.kind != "float":
            raise self.p.error(f"expected a number, found '{token.text}'", token)
        value = -float(token.value) if negative else float(token.value)
        raw = int(token.text[2:], 16) if token.bits else 0
        return FloatImm(value, raw, token.bits)


def _encode(value: int | float, scalar: Scalar) -> bytes:
    if scalar.kind == "f":
        return struct.pack({16: "<e", 32: "<f", 64: "<d"}[scalar.bits], value)
    return (int(value) & ((1 << scalar.bits) - 1)).to_bytes(scalar.bytes, "little")
