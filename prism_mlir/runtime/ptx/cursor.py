"""A position in the tokens of a file, and the pieces of PTX that modules and kernel bodies share: types and variables."""

from __future__ import annotations

import numpy as np

from prism_mlir.runtime.ptx.errors import Location, PtxSyntaxError
from prism_mlir.runtime.ptx.lexer import Source, Token, tokenize
from prism_mlir.runtime.ptx.program import Variable
from prism_mlir.runtime.ptx.types import SCALARS, Scalar

SPACES = (".global", ".const", ".shared", ".local")
MAX_ALIGN = 1 << 16
MAX_NESTING = 256  # of braces; compilers need a handful
# Bytes of one variable: what GPUs have of a state space (shared memory is checked at a launch, where the whole is known).
MAX_BYTES = {"global": 1 << 30, "const": 64 << 10, "shared": 1 << 20, "local": 512 << 10}


class Cursor:
    """Reads tokens one after the other."""

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
        token = self.token
        sign = -1 if self.accept("-") else 1
        if self.token.kind != "int":
            raise self.error(f"expected an integer, found '{self.token.text}'")
        return self.signed(sign * int(self.next().value), token)

    def signed(self, value: int, token: Token) -> int:
        """``value``, which begins at ``token``. Raises :class:`PtxSyntaxError` where it is below all 64-bit integers."""
        if value < -(1 << 63):
            raise self.error(f"number {value} does not fit 64 bits", token)
        return value

    def positive(self, what: str) -> int:
        """An integer of at least 1; ``what`` says in the error what it is."""
        token = self.token
        value = self.integer()
        if value < 1:
            raise self.error(f"{what} must be positive, not {value}", token)
        return value

    def alignment(self) -> int:
        """The number after ``.align``."""
        token = self.token
        align = self.integer()
        if align <= 0 or align & (align - 1):
            raise self.error(f"alignment {align} is not a power of two", token)
        if align > MAX_ALIGN:
            raise self.error(f"alignment {align} is larger than the {MAX_ALIGN} bytes that are supported", token)
        return align

    def here(self, token: Token | None = None) -> Location:
        return self.source.location((token or self.token).start)

    def error(self, message: str, token: Token | None = None) -> PtxSyntaxError:
        return PtxSyntaxError(message, self.here(token))

    def skip_line(self) -> None:
        """``.file 1 "name", …`` and ``.loc 1 2 3, …`` end with their line."""
        line = self.here().line
        while self.token.kind != "end" and self.here().line == line:
            self.next()

    def pragma(self) -> None:
        self.expect(".pragma")
        while True:
            if self.next().kind != "string":
                raise self.error("expected a string after '.pragma'")
            if not self.accept(","):
                break
        self.expect(";")

    def inside(self) -> None:
        if self.next().kind == "end":
            raise self.error("unexpected end of file")

    # -- variables ------------------------------------------------------------------------------------------------

    def scalar(self) -> Scalar:
        token = self.token
        if token.kind != "directive" or token.text[1:] not in SCALARS:
            raise self.error(f"unknown type '{token.text}'")
        return SCALARS[self.next().text[1:]]

    def memory_scalar(self) -> Scalar:
        """A type that memory can hold: any but predicates."""
        token = self.token
        scalar = self.scalar()
        if scalar.kind == "p":
            raise self.error("predicates live in registers only; use an integer type in memory", token)
        return scalar

    def variables(self, extern: bool) -> list[Variable]:
        space = self.next().text[1:]
        align, lanes = 0, 1
        while True:
            if self.accept(".align"):
                align = self.alignment()
            elif self.accept(".attribute"):
                self.expect("(")
                while not self.accept(")"):
                    self.inside()
            elif self.token.text in (".v2", ".v4"):
                lanes = int(self.next().text[2:])
            else:
                break
        scalar = self.memory_scalar()
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
            if extern and self.token.text == "0" and self.next():
                open_ended, count = True, 0
            else:
                count *= self.positive(f"the size of '{name}'")
            self.expect("]")
            if count * element > MAX_BYTES[space]:
                most = f"more than the {MAX_BYTES[space]} bytes that one .{space} variable may have"
                raise self.error(f"'{name}' has {count * element} bytes, {most}", token)
        init = None
        if self.accept("="):
            if space not in ("global", "const") or extern:
                raise self.error(f"'{name}' cannot have an initial value; only .global and .const variables can", token)
            values = self._initialiser(scalar, 0)
            init = b"".join(values)
            if open_ended:
                count = -(-len(init) // element)
            if len(init) > count * element:
                raise self.error(f"'{name}' has {len(init)} bytes of initialisers for {count * element} bytes", token)
        elif open_ended:
            count = 0
        if open_ended and count == 0 and not extern:
            raise self.error(f"array '{name}' has no size", token)
        return Variable(name, space, scalar, count * element, align or element, self.here(token), init, extern)

    def _initialiser(self, scalar: Scalar, depth: int) -> list[bytes]:
        start = self.token
        if self.accept("{"):
            if depth == MAX_NESTING:
                raise self.error(f"braces nested deeper than {MAX_NESTING}", start)
            values: list[bytes] = []
            while not self.accept("}"):
                values.extend(self._initialiser(scalar, depth + 1))
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
        return [self._encode(token, negative, scalar)]

    def _encode(self, token: Token, negative: bool, scalar: Scalar) -> bytes:
        """One initial value as ptxas stores it: integers wrap, floating numbers are rounded (``.b32`` takes them as f32)."""
        value = -token.value if negative else token.value
        if token.kind == "int" and scalar.kind in "bus":
            return (int(value) & ((1 << scalar.bits) - 1)).to_bytes(scalar.bytes, "little")
        if token.kind != "float" or scalar.kind not in "fb" or scalar.bits < 32 or token.bits == 32 < scalar.bits:
            raise self.error(f"'{token.text}' cannot be the initial value of a {scalar.name}", token)
        if token.bits == scalar.bits:  # not through a float, which would change signalling NaN
            raw = int(token.text[2:], 16) ^ (int(negative) << (scalar.bits - 1))
            return raw.to_bytes(scalar.bytes, "little")
        with np.errstate(over="ignore"):
            return np.array(value, dtype=f"<f{scalar.bytes}").tobytes()
