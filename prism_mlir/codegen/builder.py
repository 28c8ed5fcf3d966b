"""Writes MLIR text: fresh names, folded integer arithmetic, and no operation twice.

Integers are Python numbers as long as they are known, and SSA names of type ``i32`` afterwards; they count elements and
threads, are never negative and never overflow, which the emitted operations say (``nsw, nuw``) so that LLVM can fold them into
addresses. A sum with a number remembers its parts (:class:`Plus`): numbers stay apart from what varies, and end as the offsets of
loads and stores. Operations without effects are numbered by their text: asking twice for the same one gives the same name, as
long as the first is in scope.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

Int = int | str  # a number, or the SSA name of an i32
Bool = bool | str  # a truth value, or the SSA name of an i1

_NO_WRAP = "overflow<nsw, nuw>"


class Plus(str):
    """The SSA name of a sum ``base + constant``. LLVM removes the sum where only its parts are used."""

    base: str
    constant: int

    def __new__(cls, name: str, base: str, constant: int) -> Plus:
        found = super().__new__(cls, name)
        found.base, found.constant = base, constant
        return found


def parts(value: Int) -> tuple[Int, int]:
    """What varies of a value, and the number added to it."""
    if isinstance(value, int):
        return 0, value
    return (value.base, value.constant) if isinstance(value, Plus) else (value, 0)


class Builder:
    """Collects the lines of one function body."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._count = 0
        self._indent = 2
        self._known: list[dict[str, str]] = [{}]

    @property
    def text(self) -> str:
        return "\n".join(self._lines)

    def emit(self, line: str) -> None:
        self._lines.append("  " * self._indent + line)

    def fresh(self) -> str:
        self._count += 1
        return f"%v{self._count}"

    def effect(self, operation: str) -> str:
        """The result of an operation that must happen here."""
        name = self.fresh()
        self.emit(f"{name} = {operation}")
        return name

    def pure(self, operation: str, tag: str = "") -> str:
        """The result of an operation without effects. ``tag`` tells apart loads of one place at different times."""
        key = f"{tag}|{operation}"
        for scope in reversed(self._known):
            if key in scope:
                return scope[key]
        name = self.effect(operation)
        self._known[-1][key] = name
        return name

    @contextmanager
    def _nested(self) -> Iterator[None]:
        self._indent += 1
        self._known.append({})
        yield
        self._known.pop()
        self._indent -= 1

    # Integers

    def i32(self, value: Int) -> str:
        return value if isinstance(value, str) else self.pure(f"arith.constant {value} : i32")

    def index(self, value: Int) -> str:
        if isinstance(value, int):
            return self.pure(f"arith.constant {value} : index")
        base, constant = parts(value)
        wide = self.pure(f"arith.index_castui {base} : i32 to index")
        if not constant:
            return wide
        return self.pure(f"arith.addi {wide}, {self.index(constant)} {_NO_WRAP} : index")

    def _binary(self, name: str, a: Int, b: Int, flags: str = "") -> str:
        return self.pure(f"arith.{name} {self.i32(a)}, {self.i32(b)}{' ' + flags if flags else ''} : i32")

    def add(self, a: Int, b: Int) -> Int:
        (a, left), (b, right) = parts(a), parts(b)
        if a == 0 or b == 0:
            return self._plus(b if a == 0 else a, left + right)
        return self._plus(self._binary("addi", a, b, _NO_WRAP), left + right)

    def _plus(self, base: Int, constant: int) -> Int:
        if isinstance(base, int):
            return base + constant
        if not constant:
            return base
        return Plus(self._binary("addi", base, constant, _NO_WRAP), base, constant)

    def mul(self, a: Int, b: Int) -> Int:
        if isinstance(a, int) and isinstance(b, int):
            return a * b
        if a == 0 or b == 0:
            return 0
        if a == 1 or b == 1:
            return b if a == 1 else a
        if isinstance(a, int):
            a, b = b, a
        if isinstance(a, Plus) and isinstance(b, int):
            return self._plus(self.mul(a.base, b), a.constant * b)
        return self._binary("muli", a, b, _NO_WRAP)

    def sub_to_zero(self, a: Int, b: Int) -> Int:
        """``max(a - b, 0)``."""
        if isinstance(a, int) and isinstance(b, int):
            return max(a - b, 0)
        return self._binary("maxsi", self._binary("subi", a, b), 0)

    def div(self, a: Int, b: int) -> Int:
        if isinstance(a, int):
            return a // b
        if b == 1:
            return a
        base, constant = parts(a)
        whole, rest = divmod(constant, b)
        return self._plus(self._binary("divui", self._plus(base, rest), b), whole)

    def rem(self, a: Int, b: int) -> Int:
        if isinstance(a, int):
            return a % b
        if b == 1:
            return 0
        base, constant = parts(a)
        return self._binary("remui", self._plus(base, constant % b), b)

    def xor(self, a: Int, b: Int) -> Int:
        if isinstance(a, int) and isinstance(b, int):
            return a ^ b
        if a == 0 or b == 0:
            return b if a == 0 else a
        return self._binary("xori", a, b)

    def minimum(self, a: Int, b: Int) -> Int:
        if isinstance(a, int) and isinstance(b, int):
            return min(a, b)
        return self._binary("minui", a, b)

    def unflatten(self, flat: Int, extents: Sequence[int]) -> list[Int]:
        """Row-major coordinates of element ``flat`` of an array of these extents."""
        coordinates: list[Int] = []
        for k, extent in enumerate(reversed(extents)):
            last = k == len(extents) - 1
            coordinates.append(flat if last and extent != 1 else self.rem(flat, extent))
            flat = self.div(flat, extent)
        return coordinates[::-1]

    def flatten(self, coordinates: Sequence[Int], extents: Sequence[int]) -> Int:
        """The inverse of :meth:`unflatten`."""
        flat: Int = 0
        for coordinate, extent in zip(coordinates, extents, strict=True):
            flat = self.add(self.mul(flat, extent), coordinate)
        return flat

    # Truth values

    def less(self, a: Int, b: Int) -> Bool:
        if isinstance(a, int) and isinstance(b, int):
            return a < b
        return self.pure(f"arith.cmpi ult, {self.i32(a)}, {self.i32(b)} : i32")

    def equal(self, a: Int, b: Int) -> Bool:
        if isinstance(a, int) and isinstance(b, int):
            return a == b
        return self.pure(f"arith.cmpi eq, {self.i32(a)}, {self.i32(b)} : i32")

    def both(self, a: Bool, b: Bool) -> Bool:
        if isinstance(a, bool):
            return b if a else False
        if isinstance(b, bool):
            return a if b else False
        return self.pure(f"arith.andi {a}, {b} : i1")

    def all(self, conditions: Sequence[Bool]) -> Bool:
        result: Bool = True
        for condition in conditions:
            result = self.both(result, condition)
        return result

    def negate(self, condition: Bool) -> Bool:
        if isinstance(condition, bool):
            return not condition
        return self.pure(f"arith.xori {condition}, {self.pure('arith.constant true')} : i1")

    def choose(self, condition: Bool, a: Int, b: Int) -> Int:
        if isinstance(condition, bool):
            return a if condition else b
        return a if a == b else self.pure(f"arith.select {condition}, {self.i32(a)}, {self.i32(b)} : i32")

    # Numbers

    def f32(self, value: float) -> str:
        bits = struct.unpack("<I", struct.pack("<f", value))[0]
        plain = f"{value:.1f}" if abs(value) < 1e6 and value == int(value) else f"0x{bits:08X}"
        return self.pure(f"arith.constant {plain} : f32")

    def select(self, condition: Bool, a: str, b: str, kind: str = "f32") -> str:
        if isinstance(condition, bool):
            return a if condition else b
        return self.pure(f"arith.select {condition}, {a}, {b} : {kind}")

    # Control flow

    def when(self, condition: Bool, body: Callable[[], None]) -> None:
        """``if condition: body()``."""
        if condition is True:
            body()
        elif isinstance(condition, str):
            self.emit(f"scf.if {condition} {{")
            with self._nested():
                body()
            self.emit("}")

    def loop(
        self,
        count: Int,
        body: Callable[[Int, list[str]], Sequence[str]],
        carried: Sequence[tuple[str, str]] = (),
        unroll: int = 0,
    ) -> list[str]:
        """``for i in range(count)``; ``body(i, values)`` returns the next values of ``carried`` (name, type) pairs.

        Up to ``unroll`` iterations are written out.
        """
        values = [name for name, _ in carried]
        if isinstance(count, int) and count <= unroll:
            for i in range(count):
                values = list(body(i, values))
            return values
        bounds = f"{self.i32(0)} to {self.i32(count)} step {self.i32(1)}"
        counter = self.fresh()
        if not carried:
            self.emit(f"scf.for {counter} = {bounds} : i32 {{")
            with self._nested():
                body(counter, [])
            self.emit("}")
            return []
        names, types = [self.fresh() for _ in carried], ", ".join(t for _, t in carried)
        start = ", ".join(f"{a} = {v}" for a, v in zip(names, values, strict=True))
        result = self.fresh()
        head = f"{result}:{len(names)}" if len(names) > 1 else result
        self.emit(f"{head} = scf.for {counter} = {bounds} iter_args({start}) -> ({types}) : i32 {{")
        with self._nested():
            self.emit(f"scf.yield {', '.join(body(counter, names))} : {types}")
        self.emit("}")
        return [result] if len(names) == 1 else [f"{result}#{k}" for k in range(len(names))]
