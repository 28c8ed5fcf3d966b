"""A position in the tokens of a file, and the pieces of PTX that modules and kernel bodies share: types and variables."""

from __future__ import annotations

import struct

from prism_mlir.runtime.ptx.errors import Location, PtxSyntaxError
from prism_mlir.runtime.ptx.lexer import Source, Token, tokenize
from prism_mlir.runtime.ptx.program import Variable
from prism_mlir.runtime.ptx.types import SCALARS, Scalar

SPACES = (".global", ".const", ".shared", ".local")


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
        sign = -1 if self.accept("-") else 1
        if self.token.kind != "int":
            raise self.error(f"expected an integer, found '{self.token.text}'")
        return sign * int(self.next().value)

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

    def variables(self, extern: bool) -> list[Variable]:
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
                    self.inside()
            elif self.token.text in (".v2", ".v4"):
                lanes = int(self.next().text[2:])
            else:
                break
        scalar = self.scalar()
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


def _encode(value: int | float, scalar: Scalar) -> bytes:
    if scalar.kind == "f":
        return struct.pack({16: "<e", 32: "<f", 64: "<d"}[scalar.bits], value)
    return (int(value) & ((1 << scalar.bits) - 1)).to_bytes(scalar.bytes, "little")
