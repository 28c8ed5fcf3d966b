"""The ``{ … }`` of a kernel: declarations, labels, instructions, operands."""

from __future__ import annotations

from prism_mlir.runtime.ptx.cursor import SPACES, Cursor
from prism_mlir.runtime.ptx.lexer import Token
from prism_mlir.runtime.ptx.program import (
    Addr,
    FloatImm,
    Guard,
    Instruction,
    IntImm,
    Not,
    Operand,
    Pair,
    Reg,
    Sink,
    Sym,
    Variable,
    Vec,
)
from prism_mlir.runtime.ptx.types import Scalar

MAX_REGISTERS = 100_000  # in one declaration; compilers declare a few thousand


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


class Body:
    """The ``{ … }`` of one kernel."""

    def __init__(self, cursor: Cursor) -> None:
        self.p = cursor
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
        elif token.text in SPACES:
            self.variables.extend(p.variables(extern=False))
        elif token.text in (".loc", ".file"):
            p.skip_line()
        elif token.text == ".pragma":
            p.pragma()
        else:
            raise p.error(f"unknown directive '{token.text}' in a kernel")

    def _registers(self) -> None:
        p = self.p
        p.expect(".reg")
        if p.token.text in (".v2", ".v4"):
            raise p.error("vector registers are not supported; declare scalars")
        scalar = p.scalar()
        while True:
            token = p.token
            name = p.name()
            if p.accept("<"):
                count = p.integer()
                p.expect(">")
                if count > MAX_REGISTERS:
                    raise p.error(f"{count} registers in one declaration, at most {MAX_REGISTERS} are supported")
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
