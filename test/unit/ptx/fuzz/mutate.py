"""Damaged PTX: texts of the corpus with tokens and bytes deleted, doubled, moved and replaced, and single instructions put
together from the wrong pieces."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from functools import cache
from itertools import islice
from pathlib import Path

from operations import REGISTER, catalogue
from ptx_harness import HEADER

DATA = Path(__file__).parents[1] / "data"
_TOKENS = re.compile(r"\s+|[.\w$%]+|\S")
# What stands where something else should.
NASTY = (
    "", " ", "\n", "\0", "\x7f", "\ufeff", "é", "٣", "²", "‮", "\ud800", "0", "-1", "08", "0x", "0xG", "1e999", "-1e-999", "1.",
    ".5", "0f", "0f7fc00001", "0dFFFFFFFFFFFFFFFF", "9" * 30, "-" + "9" * 20, "0x" + "f" * 17, "9" * 6000, "1" * 5000 + ".0",
    "18446744073709551615", "9223372036854775808", "4294967296", "2147483648", "{", "}", "[", "]", "(", ")", "<", ">", ";", ",",
    "|", "!", "_", "@", "@!", "+", "-", "=", "::", ":", ".", "..", "%", "%%", "%r", "%tid.x", "%p1", "%clock64", "WARP_SZ", "/*",
    "*/", "//", '"', '"\\', "\\", "'", "#", "~", "?", ".reg", ".b32", ".f64", ".pred", ".shared", ".extern", ".entry", ".func",
    ".version", ".target", ".address_size", ".param", ".align", ".v4", ".section", ".loc", ".file", ".branchtargets", "call",
    "bra", "ret", "exit", "trap", "bar.sync", "mma", "ld", "st", "a" * 3000, ".x" * 2000, "_" * 50,
)  # fmt: skip
EXTRA = (
    "bar.sync 0", "bar.sync 1, 64", "bar.arrive 1, 64", "barrier.sync.aligned 2", "bar.red.popc.u32 %v0, 0, %p0",
    "bar.red.and.pred %p1, 0, 32, !%p0", "bar.warp.sync 0xffffffff", "membar.gl", "fence.acq_rel.gpu", "trap",
    "exit", "ret", "bra L", "bra.uni L", "brx.idx %v0, T", "nanosleep.u32 20", "activemask.b32 %v0",
    "elect.sync %v0|%p0, -1", "match.any.sync.b32 %v0, %v1, -1", "match.all.sync.b64 %v0|%p0, %q1, -1",
    "vote.sync.ballot.b32 %v0, %p0, -1", "vote.sync.all.pred %p1, !%p0, %v1", "redux.sync.add.u32 %v0, %v1, -1",
    "shfl.sync.bfly.b32 %v0|%p0, %v1, 1, 31, -1", "shfl.sync.idx.b32 %v0, %v1, %v0, %v1, %v0",
    "cp.async.ca.shared.global [s], [%q2], 4", "cp.async.cg.shared.global.L2::128B [s+16], [%q2], 16, %v0",
    "cp.async.ca.shared.global [s], [%q2], 8, %p0", "cp.async.commit_group", "cp.async.wait_group 0",
    "cp.async.wait_all", "ld.global.v4.u32 {%v0, %v1, %v0, %v1}, [%q2]", "ld.shared.b64 %q0, [s+8]",
    "ld.local.u8 %h0, [l]", "ld.param.u64 %q0, [a]", "ld.const.f32 %f0, [c+4]", "ld.u32 %v0, [%q2]",
    "ldu.global.u32 %v0, [%q2]", "ld.volatile.shared.u16 %h0, [s]", "ld.acquire.gpu.global.u32 %v0, [%q2]",
    "ld.global.L2::cache_hint.u32 %v0, [%q2], %q1", "st.global.v2.f64 [%q2], {%d0, %d1}", "st.shared.b8 [s], %v0",
    "st.local.v4.b32 [l], {%v0, %v1, %v0, %v1}", "st.release.gpu.global.u32 [%q2], %v0", "prefetch.global.L2 [%q2]",
    "atom.global.add.u32 %v0, [%q2], %v1", "atom.shared.cas.b32 %v0, [s], %v0, %v1",
    "atom.global.add.noftz.f16x2 %v0, [%q2], %v1", "red.global.max.s64 [%q2], %q0", "atom.exch.b64 %q0, [%q2], %q1",
    "red.relaxed.gpu.global.add.f32 [%q2], %f0", "ldmatrix.sync.aligned.m8n8.x4.shared.b16 V4, [s]",
    "ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%v0}, [s]", "stmatrix.sync.aligned.m8n8.x2.shared.b16 [s], V2",
    "movmatrix.sync.aligned.m8n8.trans.b16 %v0, %v1",
    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 F4, V4, V2, F4",
    "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 F4, V4, V2, F4",
    "mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 V4, V4, V2, V4",
    "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%d0, %d1}, {%d0}, {%d1}, {%d0, %d1}",
    "cvta.to.global.u64 %q0, %q1", "cvta.shared.u64 %q0, %q1", "isspacep.shared %p0, %q0", "mov.u32 %v0, %clock",
    "mov.u64 %q0, %globaltimer", "mov.u64 %q0, s", "mov.u32 %v0, s", "tanh.approx.f32 %f0, %f1",
    "ex2.approx.ftz.f32 %f0, %f1", "griddepcontrol.wait", "setmaxnreg.inc.sync.aligned.u32 64", "pragma",
    "discard.global.L2 [%q2], 128", "createpolicy.fractional", "addc.cc.u64 %q0, %q1, %q0",
    "lop3.b32 %v0, %v1, %v0, %v1, 0x96", "testp.nan.f32 %p0, %f0", "brkpt",
)  # fmt: skip


@cache
def corpus() -> tuple[str, ...]:
    """Whole files, and pieces of them short enough to be parsed in a millisecond."""
    texts = [path.read_text() for path in sorted(DATA.glob("*.ptx"))]
    pieces = []
    for text in texts:
        head, _, body = text.partition("\n{")
        lines = body.splitlines()
        declarations = [line for line in lines if line.strip().startswith(".reg")]
        code = [line for line in lines if line.strip() and "bra" not in line and "}" not in line]
        for first in range(0, len(code), 60):
            pieces.append(head + "\n{\n" + "\n".join([*declarations, *code[first : first + 12], "ret;", "}"]))
    return tuple(pieces)


@cache
def forms() -> tuple[str, ...]:
    """One instruction of every form that the machine knows."""
    vectors = {"V4": "{%v0, %v1, %v0, %v1}", "V2": "{%v0, %v1}", "F4": "{%f0, %f1, %f0, %f1}"}
    found = [re.sub("[VF][42]", lambda m: vectors[m.group()], form) for form in EXTRA]
    for family in catalogue().values():
        for o in family:
            names = {place: f"%{pool}{i & 1}" for i, (place, pool) in enumerate(zip("abck", o.sources, strict=False))}
            parts = o.text.format(d=f"%{o.result}0", **names).split(";")
            found += [part.strip() for part in parts if part.strip() and "%s" not in part]
    return tuple(dict.fromkeys(found))


# -- whole texts ------------------------------------------------------------------------------------------------------


def damage(rng: random.Random, text: str) -> str:
    """A text with one to four changes."""
    for _ in range(rng.randrange(1, 5)):
        text = rng.choice(CHANGES)(rng, text)
    return text


def _at(rng: random.Random, tokens: list[str]) -> int:
    return rng.randrange(len(tokens)) if tokens else 0


def change_token(rng: random.Random, text: str) -> str:
    tokens = _TOKENS.findall(text) or [""]
    at, other = _at(rng, tokens), _at(rng, tokens)
    kind = rng.randrange(5)
    if kind == 0:
        del tokens[at]
    elif kind == 1:
        tokens.insert(at, tokens[other])
    elif kind == 2:
        tokens[at], tokens[other] = tokens[other], tokens[at]
    elif kind == 3:
        tokens[at] = rng.choice(NASTY)
    else:
        tokens.insert(at, rng.choice(NASTY))
    return "".join(tokens)


def change_byte(rng: random.Random, text: str) -> str:
    at = rng.randrange(len(text) + 1)
    kind = rng.randrange(4)
    if kind == 0:
        return text[:at] + text[at + rng.randrange(1, 4) :]
    if kind == 1:
        return text[:at] + chr(rng.choice((rng.randrange(256), rng.randrange(0x3000)))) + text[at + 1 :]
    if kind == 2:
        return text[:at] + text[at : at + rng.randrange(1, 40)] * 2 + text[at:]
    return text[:at]


def change_line(rng: random.Random, text: str) -> str:
    lines = text.split("\n")
    at, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    kind = rng.randrange(4)
    if kind == 0:
        del lines[at]
    elif kind == 1:
        lines.insert(at, lines[other])
    elif kind == 2:
        lines.insert(at, rng.choice(forms()) + ";")
    else:
        lines[at], lines[other] = lines[other], lines[at]
    return "\n".join(lines)


CHANGES: tuple[Callable[[random.Random, str], str], ...] = (change_token, change_token, change_byte, change_line)


REPEATED = (
    "{", "}", "[", "(", "{ ", "/*", "//", '"', "-", "@", "!", ".", "%", "a", "_", ":", "0", "9", ".x", "::", "a::", "a.", ";",
    ",", "|", "+", " ", "\t", "\n", "\r", "add.u32 %r1, %r1, 1; ", "L: ", "{ .reg .b32 %q; } ", "{0, ", "[%r1] ", "é", "\0", "0.",
    "1e", "0x", "mov.b64 %rd1, {%r1, ", '"a" ', ".reg .b32 %z<9>; ", '.pragma "a"; ', "bra L; ", ".shared .b8 s[9]; ",
)  # fmt: skip


def large(rng: random.Random, text: str) -> str:
    """A text with a piece repeated until it has about a megabyte, on one line or many."""
    piece = rng.choice(REPEATED)
    tokens = _TOKENS.findall(text)
    tokens.insert(_at(rng, tokens), piece * (1_000_000 // max(1, len(piece.encode()))))
    return "".join(tokens)


# -- single instructions ----------------------------------------------------------------------------------------------

OPERANDS = (
    "%v0", "%v1", "%q0", "%q2", "%h0", "%f0", "%d1", "%e0", "%p0", "!%p1", "_", "0", "1", "-1", "7", "64", "255",
    "4294967295", "-2147483649", "18446744073709551615", "-9223372036854775808", "0f3F800000", "0d3FF0000000000000",
    "1.5", "s", "s+4", "a", "c", "nowhere", "L", "T", "[s]", "[s+2]", "[%q2]", "[%q2+4]", "[%v0]", "[a]", "[l+8]",
    "[nowhere]", "[0]", "[%p0]", "[%h0]", "[%q2+9223372036854775807]", "[%q2-9223372036854775808]",
    "[s-18446744073709551615]", "{%v0, %v1}", "{%v0}", "{%h0, %h1}", "{%v0, %v1, %v0, %v1}", "{0, 1}", "{%p0, %p1}",
    "{_, %v0}", "{%f0, %f1, %f0, %f1}", "{s, s}", "%v0|%p0", "%p0|%p1", "_|%p0", "%v0|_", "[s]|[s]", "%tid.x",
    "%laneid", "%clock64", "%nothing", "WARP_SZ", "%v99",
)  # fmt: skip


def parts_of(instruction: str) -> tuple[list[str], list[str]]:
    """Opcode with modifiers, and operands."""
    opcode, _, rest = instruction.partition(" ")
    operands = re.findall(r"\{[^}]*\}|[^,{]+", rest)
    return opcode.split("."), [o.strip() for o in operands if o.strip()]


@cache
def modifiers() -> tuple[str, ...]:
    """Every modifier that some form has."""
    return tuple(sorted({m for f in forms() for m in parts_of(f)[0][1:]}))


def wrong_instruction(rng: random.Random) -> str:
    """An instruction of a known form, with modifiers and operands dropped, doubled, or taken from others."""
    words, operands = (list(x) for x in parts_of(rng.choice(forms())))
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        kind = rng.randrange(7)
        if kind == 0 and operands:
            del operands[rng.randrange(len(operands))]
        elif kind == 1:
            operands.insert(rng.randrange(len(operands) + 1), rng.choice(OPERANDS))
        elif kind in (2, 3) and operands:
            at = rng.randrange(len(operands))
            alike = [o for o in OPERANDS if o[0] == operands[at][0]] if rng.randrange(4) else []
            operands[at] = rng.choice(alike or OPERANDS)
        elif kind == 4 and len(words) > 1:
            del words[rng.randrange(1, len(words))]
        elif kind == 5:
            words.insert(rng.randrange(1, len(words) + 1), rng.choice(modifiers()))
        elif kind == 6 and len(words) > 1:
            words[rng.randrange(1, len(words))] = rng.choice(modifiers())
    guard = rng.choice(("", "", "", "@%p0 ", "@!%p1 "))
    return guard + ".".join(words) + " " + ", ".join(operands)


def kernel_of(instructions: list[str]) -> str:
    """A kernel ``k(a)`` around some instructions: registers 0 and 1 of every pool hold small values, %q2 the address ``a``."""
    registers = " ".join(f".reg {kind} %{pool}<3>;" for pool, kind in REGISTER.items())
    start = []
    for pool, kind in REGISTER.items():
        if pool in "hvq":
            start += [f"mov{kind} %{pool}{i}, {i + 1};" for i in range(2)]
        elif pool == "p":
            start += [f"setp.eq.u32 %p{i}, %v0, {i + 1};" for i in range(2)]
        elif pool in "fd":
            start += [f"cvt.rn{kind}.u32 %{pool}{i}, %v{i};" for i in range(2)]
        else:
            start += [
                f"mov.b{16 if pool in 'eg' else 32} %{pool}{i}, %{'h' if pool in 'eg' else 'v'}{i};" for i in range(2)
            ]
    body = "\n  ".join(f"{i};" for i in instructions)
    return f"""{HEADER}
.const .align 4 .b32 c[2] = {{1, 2}};
.shared .align 16 .b8 s[512];
.visible .entry k(.param .u64 a)
{{
  {registers}
  .local .align 16 .b8 l[64];
  T: .branchtargets L;
  {" ".join(start)}
  ld.param.u64 %q2, [a];
  {body}
L:
  ret;
}}
"""


def some(rng: random.Random, count: int, make: Callable[[random.Random], str]) -> list[str]:
    return list(islice(iter(lambda: make(rng), None), count))
