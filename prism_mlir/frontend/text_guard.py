"""Checks on raw text before it reaches upstream MLIR's parser.

That parser is recursive, works on C strings and expands aliases when it prints; text made to hurt it (or a binary file
given by mistake) would crash the process or eat its memory instead of giving a diagnostic. Nothing here knows MLIR
beyond its brackets, strings, comments and aliases.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8

from prism_mlir.graph.errors import InputError, LimitError, Location

MAX_BYTES = 1 << 30
"""Largest text taken, in characters. Weights belong in function arguments."""

MAX_NESTING = 256
"""Deepest nesting of brackets taken. Upstream overflows its stack at some thousands."""

MAX_EXPANSION = 1 << 26
"""Largest text, in characters, that aliases may expand to."""

STRING_OR_COMMENT = r'"(?:[^"\\\n]++|\\.)*+"|//[^\n]*'
"""A pattern for what is no syntax of MLIR; it never goes back over what it has read, however long that is."""

_TOKEN = re.compile(STRING_OR_COMMENT + r"|->|>=|<=|[\[({<]|[\])}>]|-(?!>)(?:[\s(]++|-(?!>))*+")
_OPEN = frozenset("[({<")
_CLOSE = frozenset("])}>")
_ALIAS_DEFINITION = re.compile(r"^\s*([#!][\w$.-]+)\s*=", re.MULTILINE)
_ALIAS_USE = re.compile(r"[#!][\w$.-]+")


def decode(data: bytes, filename: str) -> str:
    """UTF-8 text of ``data``, without a byte order mark; MLIR bytecode as text.

    Raises :class:`InputError` at the first byte that is not text, and what :func:`~prism_mlir.frontend.bytecode.text_of` raises.
    """
    if data.startswith(b"ML\xefR"):
        from prism_mlir.frontend.bytecode import text_of

        return text_of(data, filename)
    try:
        return data.removeprefix(BOM_UTF8).decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - (data.rfind(b"\n", 0, error.start) + 1) + 1
        where = Location(filename, line, column)
        raise InputError(f"byte 0x{data[error.start]:02x} is not UTF-8 text", where, "give MLIR text") from None


def check_text(text: str, filename: str) -> None:
    """Raise a located error for text that upstream's parser could not survive; return otherwise."""
    if len(text) > MAX_BYTES:
        where = Location(filename, 1, 1)
        raise LimitError(f"the text has {len(text)} characters, the limit is {MAX_BYTES}", where, "pass weights in")
    if not text.strip():
        raise InputError("the input is empty", Location(filename, 1, 1), "give an MLIR module")
    null = text.find("\0")
    if null >= 0:
        raise InputError("a NUL character is not MLIR text", _place(text, null, filename), "give MLIR text")
    _check_nesting(text, filename)
    _check_aliases(text, filename)


def _check_nesting(text: str, filename: str) -> None:
    depth = 0
    for match in _TOKEN.finditer(text):
        token = match.group()
        signs = 0
        if token in _OPEN:
            depth += 1
        elif token in _CLOSE:
            depth = max(0, depth - 1)
        elif token[0] == "-" and token != "->":  # a run of signs: the parser nests them too
            depth += token.count("(")
            signs = token.count("-")
        if depth + signs > MAX_NESTING:
            where = _place(text, match.start(), filename)
            raise LimitError(f"nesting is deeper than {MAX_NESTING} levels", where, "flatten the input")


def _check_aliases(text: str, filename: str) -> None:
    """Bound depth and total size of aliases that use aliases, without expanding them."""
    definitions = list(_ALIAS_DEFINITION.finditer(text))
    size: dict[str, int] = {}
    depth: dict[str, int] = {}
    for definition in definitions:
        end = text.find("\n", definition.end())
        body = text[definition.end() : end if end >= 0 else len(text)]
        uses = [use for use in _ALIAS_USE.findall(body) if use in size]
        name = definition.group(1)
        size[name] = len(body) + sum(size[use] for use in uses)
        depth[name] = 1 + max((depth[use] for use in uses), default=0)
        if size[name] > MAX_EXPANSION or depth[name] > MAX_NESTING:
            where = _place(text, definition.start(1), filename)
            raise LimitError(f"alias {name} expands too far", where, "write it without nested aliases")


def _place(text: str, offset: int, filename: str) -> Location:
    line = text.count("\n", 0, offset) + 1
    return Location(filename, line, offset - (text.rfind("\n", 0, offset) + 1) + 1)
