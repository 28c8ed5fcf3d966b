"""Damage to texts of any kind: bytes, tokens, numbers, lines, and pieces of other files.

Every function is pure but for the random generator it is given, so a seed repeats an input.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence

TOKEN = re.compile(
    rb'"(?:[^"\\\n]|\\.)*"|//[^\n]*|[%@#!^][\w$.-]*|[A-Za-z_][\w$.]*|\d[\w.+-]*|->|::|[^\sA-Za-z_0-9]|\s+', re.DOTALL
)
NUMBER = re.compile(rb"(?<![\w.%@#!^$])-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")

NUMBERS = [
    *(b"0", b"1", b"-1", b"2", b"3", b"7", b"16", b"255", b"1024", b"65536"),
    *(str(2**k + d).encode() for k in (31, 32, 40, 62, 63, 64, 128) for d in (-1, 0, 1)),
    *(b"-9223372036854775808", b"9" * 40, b"9" * 5000, b"?", b"0x7FF0000000000000", b"0xFFFF", b"0x", b"1e999"),
    *(
        b"-1e999",
        b"1e-400",
        b"0.0",
        b"-0.0",
        b"nan",
        b"inf",
        b"NaN",
        b"Infinity",
        b"true",
        b"null",
        b"1.5",
        b"\xd9\xa3",
    ),
]
WORDS = [
    *(b"f16", b"bf16", b"f32", b"f64", b"f128", b"tf32", b"f8E4M3FN", b"i0", b"i1", b"i4", b"i8", b"i64", b"ui8"),
    *(b"i16777215", b"i99999999", b"index", b"none", b"complex<f32>", b"tensor<", b"memref<", b"vector<", b"tuple<"),
    *(b"array<", b"array<i32: ", b"array<index: 1>", b"array<f16: 1.0>", b"dense<", b'dense<"0x', b"dense_resource<a>"),
    *(b"sparse<", b"affine_map<", b"affine_set<", b"loc(", b"loc(unknown)", b"unit", b"distinct[0]<>", b"opaque<"),
    *(b"strided<[1]>", b"@main", b"@main_0", b"%arg0", b"%0", b"#map", b"!t", b"^bb0", b"module", b"func.func", b"-> "),
    *(
        b"*xf32",
        b"?x?",
        b"0x0xf32",
        b"sgraph.load",
        b"sgraph.program",
        b"builtin.unrealized_conversion_cast",
        b"{-#",
        b"#-}",
    ),
]
ODD = [
    *(b"\0", b"\xef\xbb\xbf", b"\r", b"\r\n", b"\x0b", b"\x0c", b"\x1b[31m", b"\x7f", b"\x80", b"\xff\xfe", b"\xc3"),
    *(
        "\u2028\u2029\u200b\u202e\u00e9\U0001f600\u0660".encode(),
        b"\xed\xa0\x80",
        b"\\",
        b'"',
        b"'",
        b"`",
        b"/*",
        b"//",
    ),
    *(
        b"\t" * 50,
        b" " * 3000,
        b"(" * 300,
        b"[" * 300,
        b"{" * 300,
        b"<" * 300,
        b"-" * 300,
        b"x" * 3000,
        b"%" * 40,
        b":" * 9,
    ),
]

Mutation = Callable[[random.Random, bytes, Sequence[bytes]], bytes]


def damage(rng: random.Random, text: bytes, others: Sequence[bytes]) -> bytes:
    """``text`` after one to four mutations, mostly one."""
    for _ in range(rng.choice((1, 1, 1, 2, 3, 4))):
        text = rng.choice(MUTATIONS)(rng, text, others)
    return text


def change_byte(rng: random.Random, text: bytes, _: Sequence[bytes]) -> bytes:
    k = rng.randrange(len(text) + 1)
    return text[:k] + bytes([rng.choice((rng.randrange(256), rng.randrange(0x20, 0x7F)))]) + text[k + 1 :]


def insert_odd(rng: random.Random, text: bytes, _: Sequence[bytes]) -> bytes:
    k = rng.randrange(len(text) + 1)
    return text[:k] + rng.choice(ODD) + text[k:]


def insert_word(rng: random.Random, text: bytes, _: Sequence[bytes]) -> bytes:
    tokens = TOKEN.findall(text)
    tokens.insert(rng.randrange(len(tokens) + 1), rng.choice(WORDS))
    return b"".join(tokens)


def replace_token(rng: random.Random, text: bytes, others: Sequence[bytes]) -> bytes:
    """A token becomes another of the same file, of another file, or a word of the list."""
    tokens = TOKEN.findall(text)
    if not tokens:
        return text
    source = rng.choice((tokens, TOKEN.findall(rng.choice(others)) or tokens, WORDS))
    tokens[rng.randrange(len(tokens))] = rng.choice(source)
    return b"".join(tokens)


def swap_tokens(rng: random.Random, text: bytes, _: Sequence[bytes]) -> bytes:
    tokens = TOKEN.findall(text)
    if len(tokens) > 1:
        i, j = rng.randrange(len(tokens)), rng.randrange(len(tokens))
        tokens[i], tokens[j] = tokens[j], tokens[i]
    return b"".join(tokens)


def drop_tokens(rng: random.Random, text: bytes, _: Sequence[bytes]) -> bytes:
    tokens = TOKEN.findall(text)
    i = rng.randrange(len(tokens) + 1)
    return b"".join(tokens[:i] + tokens[i + rng.choice((1, 1, 2, 5, 20)) :])


def repeat_tokens(rng: random.Random, text: bytes, _: Sequence[bytes]) -> bytes:
    tokens = TOKEN.findall(text)
    i = rng.randrange(len(tokens) + 1)
    piece = tokens[i : i + rng.choice((1, 1, 2, 5, 20))]
    return b"".join(tokens[:i] + piece * rng.choice((2, 2, 3, 50)) + tokens[i:])


def change_number(rng: random.Random, text: bytes, _: Sequence[bytes]) -> bytes:
    found = list(NUMBER.finditer(text))
    if not found:
        return text
    chosen = rng.choice(found)
    return text[: chosen.start()] + rng.choice(NUMBERS) + text[chosen.end() :]


def change_dim(rng: random.Random, text: bytes, _: Sequence[bytes]) -> bytes:
    """The same number everywhere, so that shapes go on to agree."""
    found = sorted(set(re.findall(rb"(?<=[<x\[ ])\d+(?=[x,\]> ])", text)))
    if not found:
        return text
    old = rng.choice(found)
    return re.sub(rb"(?<=[<x\[ ])" + old + rb"(?=[x,\]> ])", rng.choice(NUMBERS), text)


def rename(rng: random.Random, text: bytes, _: Sequence[bytes]) -> bytes:
    """A name everywhere becomes one that is odd, or taken."""
    found = sorted(set(re.findall(rb"[%@][\w$.-]+", text)))
    if not found:
        return text
    old = rng.choice(found)
    names = [b'"a b"', b'"\\00"', b'"../../x"', b'""', b"add", b"main_0", b"a" * 500, b"0", b"_", b".reg", b"$x"]
    return text.replace(old, old[:1] + rng.choice([*names, rng.choice(found)[1:]]))


def delete_range(rng: random.Random, text: bytes, _: Sequence[bytes]) -> bytes:
    i = rng.randrange(len(text) + 1)
    return text[:i] + text[i + rng.randrange(1, 200) :]


def truncate(rng: random.Random, text: bytes, _: Sequence[bytes]) -> bytes:
    return text[: rng.randrange(len(text) + 1)]


def shuffle_lines(rng: random.Random, text: bytes, _: Sequence[bytes]) -> bytes:
    lines = text.split(b"\n")
    i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
    if rng.random() < 0.5:
        lines[i], lines[j] = lines[j], lines[i]
    else:
        lines.insert(i, lines[j])
    return b"\n".join(lines)


def splice(rng: random.Random, text: bytes, others: Sequence[bytes]) -> bytes:
    """The beginning of this file, the end of another."""
    other = rng.choice(others)
    lines, more = text.split(b"\n"), other.split(b"\n")
    return b"\n".join(lines[: rng.randrange(len(lines) + 1)] + more[rng.randrange(len(more) + 1) :])


def blob(rng: random.Random, text: bytes, _: Sequence[bytes]) -> bytes:
    """Elements of a constant become hexadecimal text, of a length that is wrong or right, or very many numbers."""
    found = list(re.finditer(rb"dense<([^>]*)>", text))
    if not found:
        return text
    chosen = rng.choice(found)
    digits = b"".join(rng.choice((b"00", b"FF", b"7F", b"80")) for _ in range(rng.choice((0, 1, 2, 4, 8, 64, 4096))))
    payload = rng.choice(
        (b'"0x' + digits + b'"', b'"0x' + digits[:-1] + b'"', b"[" + b"1.0, " * 500 + b"nan]", b"[[]]", b"")
    )
    return text[: chosen.start(1)] + payload + text[chosen.end(1) :]


def line_endings(rng: random.Random, text: bytes, _: Sequence[bytes]) -> bytes:
    return text.replace(b"\n", rng.choice((b"\r\n", b"\r", b" ", b"\n\n", b"\x0b\n")))


MUTATIONS: Sequence[Mutation] = (
    *(change_byte, insert_odd, insert_word, replace_token, replace_token, swap_tokens, drop_tokens, repeat_tokens),
    *(
        change_number,
        change_number,
        change_dim,
        change_dim,
        rename,
        delete_range,
        truncate,
        shuffle_lines,
        splice,
        blob,
    ),
    line_endings,
)
