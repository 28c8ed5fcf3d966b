"""What upstream MLIR prints and xDSL reads otherwise, or not at all, in a spelling that both read alike."""

from __future__ import annotations

import re
from math import prod

import numpy as np

from prism_mlir.graph.dtypes import DType, from_float64
from prism_mlir.graph.errors import LimitError, Location

MAX_SPLAT = 1 << 27
"""Elements of a constant of one value that are handed to xDSL; a list of them takes a gigabyte."""

_RANGE = re.compile(r'(?<=[^\s=(,\[<{:]":)(\d+:\d+) to \d*:\d+')  # after a closing quote
_HEX = re.compile(r'dense<([^<>"]*0x[^<>"]*)> : tensor<(?:[\d?]+x)*(f16|bf16|f32|f64)>')
_SPLAT = re.compile(r"dense<[^<>\[\]]+> : (?:tensor|vector|memref)<((?:[\d?]+x)+)")
_LOCATION = re.compile(r'loc\("([^"]*)":(\d+):(\d+)\)')
_ESCAPED = re.compile(r"\\\\|((?:\\[89A-F][0-9A-F])+)")  # a backslash that is escaped itself begins nothing
_ELEMENT = re.compile(r"[^\s,\[\]]+")


def for_xdsl(text: str) -> str:
    r"""Text of a module, rewritten where xDSL would misread it.

    - Floats in hexadecimal (infinities and NaN) inside ``dense<...>`` are bits for upstream; xDSL takes the number that they
      spell. As one string of bytes both mean the same.
    - A location that is a range becomes its start.
    - Bytes of UTF-8 that upstream escapes become the characters they are; xDSL takes a string with such escapes for bytes.

    >>> for_xdsl('dense<0xFC00> : tensor<4xf16>')
    'dense<"0x00FC"> : tensor<4xf16>'
    >>> for_xdsl('loc("a.py":1:2 to :9)')
    'loc("a.py":1:2)'
    """
    if " to " in text:
        text = _RANGE.sub(r"\1", text)
    if "\\" in text:
        text = _ESCAPED.sub(_characters, text)
    return _HEX.sub(_bytes, text) if "0x" in text else text


def _characters(found: re.Match[str]) -> str:
    """The characters of escaped bytes above 127; what is no UTF-8 stays as it is."""
    if found[1] is None:
        return found[0]
    try:
        return bytes.fromhex(found[1].replace("\\", "")).decode("utf-8")
    except UnicodeDecodeError:
        return found[0]


def check_splats(text: str, filename: str) -> None:
    """Refuse constants of one value in more elements than ``MAX_SPLAT``: xDSL makes a list of all of them.

    Raises :class:`LimitError`, placed where the text that upstream printed says.
    """
    for found in _SPLAT.finditer(text):
        elements = prod(int(n) for n in found[1].split("x")[:-1] if n != "?")
        if elements > MAX_SPLAT:
            place = _LOCATION.search(text, found.end())
            where = Location(filename, 1, 1) if place is None else Location(place[1], int(place[2]), int(place[3]))
            reason = f"a constant of {elements} elements, at most {MAX_SPLAT} are taken here"
            raise LimitError(reason, where, "make it an argument, or use prism compile")


def _bytes(found: re.Match[str]) -> str:
    elements, name = _ELEMENT.findall(found[1]), found[2]
    dtype = DType(name)
    width = np.dtype(dtype.storage).itemsize
    data = b"".join(
        int(e, 16).to_bytes(width, "little")
        if e.startswith("0x")
        else from_float64(np.array([float(e)]), dtype).tobytes()
        for e in elements
    )
    whole: str = found[0]
    return whole.replace(found[1], f'"0x{data.hex().upper()}"', 1)
