"""The ``{ … }`` of a kernel: declarations, labels, instructions, operands."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from prism_mlir.runtime.ptx.cursor import MAX_NESTING, SPACES, Cursor
from prism_mlir.runtime.ptx.errors import Location, PtxSyntaxError
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

MAX_REGISTERS = 100_000  # of a kernel; compilers declare a few thousand
_BRANCHES = ("bra", "brx")
_INLINE = "device functions must be inlined (as __forceinline__ does), and printf, assert and malloc left out"


class _Scope:
    """The names declared so far in one ``{ … }`` of a body; what an inner scope declares gets a unique name.

    ``first`` is the index of the first instruction of the scope, ``first_table`` that of its first branch table.
    """

    def __init__(self, parent: _Scope | None, first: int = 0, first_table: int = 0) -> None:
        self.parent = parent
        self.first, self.first_table = first, first_table
        self.names: dict[str, Reg | Sym] = {}
        self.labels: dict[str, str] = {}

    def find(self, name: str) -> Reg | Sym | None:
        scope: _Scope | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.parent
        return None


class Body:
    """The ``{ … }`` of one kernel. ``params`` are the names of its parameters, which share the scope of the outermost braces."""

    def __init__(self, cursor: Cursor, params: Sequence[str] = (), outer: Collection[str] = ()) -> None:
        self.p = cursor
        self.taken = {*params, *outer}
        self.registers: dict[str, Scalar] = {}
        self.variables: list[Variable] = []
        self.instructions: list[Instruction] = []
        self.labels: dict[str, int] = {}
        self.tables: dict[str, tuple[str, ...]] = {}
        self.branch = False  # whether the names of the instruction being read are labels
        self.scope = _Scope(None)
        self.scope.names.update({name: Sym(name) for name in params})

    def parse(self) -> None:
        p = self.p
        p.expect("{")
        depth = 1
        while depth:
            token = p.token
            if token.kind == "end":
                raise p.error("unexpected end of file inside a kernel; '}' is missing")
            if p.accept("{"):
                self.scope = _Scope(self.scope, len(self.instructions), len(self.tables))
                depth += 1
                if depth > MAX_NESTING:
                    raise p.error(f"braces nested deeper than {MAX_NESTING}", token)
            elif p.accept("}"):
                self._close()
                depth -= 1
            elif token.kind == "directive":
                self._directive(token)
            else:
                self._statement()

    def _close(self) -> None:
        """Leave a scope: its branches to its own labels get the unique names of these."""
        closed, labels = self.scope, self.scope.labels
        if closed.parent is None:
            return
        self.scope = closed.parent
        if not labels:
            return
        for i in range(closed.first, len(self.instructions)):
            instruction = self.instructions[i]
            if instruction.opcode in _BRANCHES:
                operands = (
                    Sym(labels[o.name]) if isinstance(o, Sym) and o.name in labels else o for o in instruction.operands
                )
                self.instructions[i] = replace(instruction, operands=tuple(operands))
        for name in list(self.tables)[closed.first_table :]:
            self.tables[name] = tuple(labels.get(target, target) for target in self.tables[name])

    def _directive(self, token: Token) -> None:
        p = self.p
        if token.text == ".reg":
            self._registers()
        elif token.text in SPACES:
            for variable in p.variables(extern=False):
                name = self._declare(variable.name, Sym, variable.location)
                self.variables.append(replace(variable, name=name))
        elif token.text in (".loc", ".file"):
            p.skip_line()
        elif token.text == ".pragma":
            p.pragma()
        elif token.text == ".param":
            raise p.error(f"'.param' in a kernel belongs to a call: {_INLINE}")
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
                many = p.token
                count = p.integer()
                if count < 0:
                    raise p.error(f"the number of registers '{name}' is negative", many)
                p.expect(">")
                names = [f"{name}{i}" for i in range(min(count, MAX_REGISTERS + 1))]
            else:
                names = [name]
            if len(names) + len(self.registers) > MAX_REGISTERS:
                raise p.error(f"more than {MAX_REGISTERS} registers in one kernel", token)
            for one in names:
                self.registers[self._declare(one, Reg, p.here(token))] = scalar
            if not p.accept(","):
                break
        p.expect(";")

    def _declare(self, name: str, kind: type[Reg] | type[Sym], location: Location) -> str:
        """Enter a register or a variable into the scope; returns its name in the kernel."""
        if name in self.scope.names:
            raise PtxSyntaxError(f"'{name}' is declared twice", location)
        unique = self._unique(name)
        self.scope.names[name] = kind(unique)
        return unique

    def _unique(self, name: str) -> str:
        unique = name
        while unique in self.taken:
            self.p.scope_count += 1
            unique = f"{name}#{self.p.scope_count}"
        self.taken.add(unique)
        return unique

    def _label(self, token: Token) -> str:
        """Enter a label into the scope; returns its name in the kernel. Labels may have the names of variables."""
        name, scope = token.text, self.scope
        if name in scope.labels or isinstance(scope.names.get(name), Reg):
            raise self.p.error(f"label '{name}' is defined twice", token)
        scope.labels[name] = name
        if scope.parent is not None:  # known by its own name only inside of the scope, and there from its start
            self.p.scope_count += 1
            scope.labels[name] = f"{name}#{self.p.scope_count}"
        return scope.labels[name]

    def _statement(self) -> None:
        p = self.p
        start = p.token
        if start.kind == "word" and p.tokens[p.at + 1].text == ":":
            p.next()
            p.next()
            label = self._label(start)
            if p.token.text == ".branchtargets":
                p.next()
                targets = [p.name()]
                while p.accept(","):
                    targets.append(p.name())
                p.expect(";")
                self.tables[label] = tuple(targets)
                return
            self.labels[label] = len(self.instructions)
            return
        guard = None
        if p.accept("@"):
            negated = p.accept("!")
            token = p.token
            name = p.name()
            found = self.scope.find(name)
            if not isinstance(found, Reg):
                raise p.error(f"register '{name}' is not declared", token)
            guard = Guard(found.name, negated)
        opcode = p.token
        if opcode.kind != "word":
            raise p.error(f"expected an instruction, found '{opcode.text}'")
        p.next()
        if opcode.text.split(".")[0] == "call":
            raise p.error(f"unknown instruction 'call': {_INLINE}", opcode)
        operands: list[Operand] = []
        self.branch = opcode.text.split(".")[0] in _BRANCHES
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
            items = [self._element()]
            while p.accept(","):
                items.append(self._element())
            p.expect("}")
            return Vec(tuple(items))
        if p.accept("["):
            address = self._address()
            if p.token.text == ",":
                raise p.error(
                    "an address is a base and an offset; [a, b], of textures, surfaces and tensors, is unknown"
                )
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
            return self._number(p.next(), negative=True, start=token)
        if token.kind in ("int", "float"):
            return self._number(p.next(), negative=False, start=token)
        if token.kind == "word":
            found = self._name(p.next())
            if isinstance(found, Sym) and p.token.text in ("+", "-"):
                return Sym(found.name, self._offset())
            return found
        raise p.error(f"expected an operand, found '{token.text}'")

    def _element(self) -> Operand:
        if self.p.token.text == "{":
            raise self.p.error("a vector cannot hold another vector")
        return self._simple()

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
        if found is not None and not (self.branch and isinstance(found, Sym)):
            return found
        if token.text.startswith("%") or token.text == "WARP_SZ":
            return Reg(token.text)
        return Sym(token.text)

    def _number(self, token: Token, negative: bool, start: Token) -> Operand:
        if token.kind == "int":
            return IntImm(self.p.signed(-int(token.value) if negative else int(token.value), start))
        if token.kind != "float":
            raise self.p.error(f"expected a number, found '{token.text}'", token)
        value = -float(token.value) if negative else float(token.value)
        raw = int(token.text[2:], 16) if token.bits else 0
        return FloatImm(value, raw, token.bits)
