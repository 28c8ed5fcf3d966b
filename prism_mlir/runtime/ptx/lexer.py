"""PTX text to tokens (PTX ISA, "Syntax")."""

from __future__ import annotations

import math
import re
import struct
from bisect import bisect_right
from typing import NamedTuple

from prism_mlir.runtime.ptx.errors import Location, PtxSyntaxError


class Token(NamedTuple):
    """``kind`` is ``word`` (names, opcodes with their dots), ``directive`` (``.entry``), ``int``, ``float``, ``string``,
    ``punct`` or ``end``; ``start`` is the offset in the text."""

    kind: str
    text: str
    start: int
    value: int | float = 0
    bits: int = 0


_TOKEN = re.compile(
    r"""(?P<space>[ \t\r\n\f]+|//[^\n]*|/\*.*?\*/)
    |(?P<open>/\*)
    |(?P<hexfloat>0[fF][0-9a-fA-F]{8}(?![\w$])|0[dD][0-9a-fA-F]{16}(?![\w$]))
    |(?P<float>\d+\.\d*(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?)
    |(?P<int>0[xX][0-9a-fA-F]+U?|0[bB][01]+U?|\d+U?)
    |(?P<word>(?:[A-Za-z][\w$]*|[_$%][\w$]+)(?:\.[A-Za-z_]?[\w$]*(?:::[\w$]+)*|::[\w$]+)*)
    |(?P<directive>\.[A-Za-z][\w$]*(?:::[\w$]+)*)
    |(?P<string>"(?:[^"\\\n]++|\\.)*+")
    |(?P<punct>[{}\[\]()<>,;:@!|=+\-*_?&/~%])""",
    re.VERBOSE | re.DOTALL | re.ASCII,
)


class Source:
    """The text of a file and the way from an offset to a location."""

    def __init__(self, text: str, name: str) -> None:
        self.text = text
        self.name = name
        self._starts = [0, *(m.end() for m in re.finditer("\n", text))]

    def location(self, offset: int) -> Location:
        line = bisect_right(self._starts, offset)
        return Location(self.name, line, offset - self._starts[line - 1] + 1)


def tokenize(source: Source) -> list[Token]:
    """All tokens of a file, ending with one of kind ``end``.

    Raises:
        PtxSyntaxError: at the first character that no PTX token starts with, at a comment that is never closed, and at a
            number that does not fit 64 bits.
    """
    text, tokens, at = source.text, [], 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            shown = ascii(text[at])
            raise PtxSyntaxError(f"unexpected character {shown}; this does not look like PTX", source.location(at))
        kind = match.lastgroup or ""
        if kind == "open":
            raise PtxSyntaxError("the comment is never closed; '*/' is missing", source.location(at))
        if kind != "space":
            try:
                tokens.append(_token(kind, match.group(), at))
            except ValueError as problem:
                raise PtxSyntaxError(str(problem), source.location(at)) from None
        at = match.end()
    tokens.append(Token("end", "end of file", len(text)))
    return tokens


def _token(kind: str, text: str, start: int) -> Token:
    """The token of a match. Raises :class:`ValueError`, with a message for the user, for a number that is none."""
    if kind == "hexfloat":
        raw = int(text[2:], 16)
        if text[1] in "fF":
            return Token("float", text, start, struct.unpack("<f", struct.pack("<I", raw))[0], 32)
        return Token("float", text, start, struct.unpack("<d", struct.pack("<Q", raw))[0], 64)
    if kind == "float":
        value = float(text)
        if math.isinf(value):
            raise ValueError(f"number {_short(text)} does not fit f64")
        return Token("float", text, start, value)
    if kind == "int":
        return Token("int", text, start, _integer(text))
    return Token(kind, text, start)


def _integer(text: str) -> int:
    """The value of an integer literal; a leading zero makes it octal (PTX ISA, "Integer Constants")."""
    digits = text.rstrip("U")
    base = {"0x": 16, "0b": 2}.get(digits[:2].lower(), 8 if digits[0] == "0" and len(digits) > 1 else 10)
    if base == 8 and set(digits) & {"8", "9"}:
        raise ValueError(f"'{_short(text)}' is no octal number; leave out the leading zero if it is decimal")
    # Python refuses decimal numbers of thousands of digits, so these are counted first.
    if (base == 10 and len(digits) > 20) or int(digits, base) >= 1 << 64:
        raise ValueError(f"number {_short(text)} does not fit 64 bits")
    return int(digits, base)


def _short(text: str) -> str:
    return text if len(text) <= 24 else f"{text[:21]}..."
