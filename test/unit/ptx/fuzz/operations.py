"""The instructions that random programs are made of, each with its meaning on Python integers, after the PTX ISA.

Registers come in pools, one letter each: ``h`` ``v`` ``q`` integers of 16, 32, 64 bits; ``p`` predicates; ``e`` f16, ``g`` bf16,
``m`` f16x2, ``n`` bf16x2, ``f`` f32, ``d`` f64. A NaN's payload and sign are nobody's business, so no instruction here turns
the bits of a floating pool into an integer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product

import exact_floats as xf
from exact_floats import BF16, F16, F32, F64, Format, decode, encode

WIDTH = {"h": 16, "v": 32, "q": 64, "p": 1, "e": 16, "g": 16, "m": 32, "n": 32, "f": 32, "d": 64}
FORMAT = {"e": F16, "g": BF16, "m": F16, "n": BF16, "f": F32, "d": F64}
REGISTER = {"h": ".b16", "v": ".b32", "q": ".b64", "p": ".pred", "e": ".b16", "g": ".b16", "m": ".b32", "n": ".b32",
            "f": ".f32", "d": ".f64"}  # fmt: skip
INTEGERS = "hvq"
POOL = {16: "h", 32: "v", 64: "q"}
MODES = ("rn", "rz", "rm", "rp")
PLACES = ("{a}", "{b}", "{c}")
Meaning = Callable[..., int]


@dataclass(frozen=True)
class Operation:
    """``text`` has places ``{d}`` for the result and ``{a}`` ``{b}`` ``{c}`` ``{k}`` for the sources; it may use the scratch
    registers ``%sh`` ``%sv`` ``%su`` ``%sq`` and one for every other pool.

    ``compiled``: the fast engine has it. ``exact``: ``meaning`` gives every bit (an approximation has none).
    """

    text: str
    result: str
    sources: str
    meaning: Meaning
    compiled: bool = True
    exact: bool = True


def signed(x: int, bits: int) -> int:
    return x - (1 << bits) if x >> (bits - 1) else x


def clamp(x: int, low: int, high: int) -> int:
    return max(low, min(high, x))


def value(kind: str, bits: int) -> Callable[[int], int]:
    """Register bits as a number of PTX type ``kind`` + ``bits``."""
    return (lambda x: signed(x, bits)) if kind == "s" else (lambda x: x)


def whole(kind: str, bits: int) -> tuple[int, int]:
    """The range of an integer type."""
    return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if kind == "s" else (0, (1 << bits) - 1)


# -- integers ---------------------------------------------------------------------------------------------------------


def _arithmetic(kind: str, bits: int) -> Iterator[Operation]:
    r, t, mask = POOL[bits], f"{kind}{bits}", (1 << bits) - 1
    n = value(kind, bits)

    def op(name: str, sources: int, fn: Meaning) -> Operation:
        places = ", ".join(PLACES[:sources])
        return Operation(f"{name}.{t} {{d}}, {places};", r, r * sources, lambda *xs: fn(*[n(x) for x in xs]) & mask)

    yield op("add", 2, lambda a, b: a + b)
    yield op("sub", 2, lambda a, b: a - b)
    yield op("mul.lo", 2, lambda a, b: a * b)
    yield op("mul.hi", 2, lambda a, b: (a * b) >> bits)
    yield op("mad.lo", 3, lambda a, b, c: a * b + c)
    yield op("mad.hi", 3, lambda a, b, c: ((a * b) >> bits) + c)
    yield op("min", 2, min)
    yield op("max", 2, max)
    yield op("sad", 3, lambda a, b, c: c + abs(a - b))
    if kind == "s":
        yield op("neg", 1, lambda a: -a)
        yield op("abs", 1, abs)
    # Neither 0 nor -1, which PTX leaves open: bit 1 set, bit 0 clear.
    even = f"or.b{bits} %s{r}, {{b}}, 2; and.b{bits} %s{r}, %s{r}, -2;"

    def divide(a: int, b: int) -> tuple[int, int]:
        x, y = n(a), n((b | 2) & (mask - 1))
        quotient = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
        return quotient & mask, (x - quotient * y) & mask

    yield Operation(f"{even} div.{t} {{d}}, {{a}}, %s{r};", r, r * 2, lambda a, b: divide(a, b)[0])
    yield Operation(f"{even} rem.{t} {{d}}, {{a}}, %s{r};", r, r * 2, lambda a, b: divide(a, b)[1])
    if bits < 64:
        w, double = POOL[2 * bits], (1 << 2 * bits) - 1
        wide = value(kind, 2 * bits)
        yield Operation(f"mul.wide.{t} {{d}}, {{a}}, {{b}};", w, r + r, lambda a, b: n(a) * n(b) & double)
        yield Operation(
            f"mad.wide.{t} {{d}}, {{a}}, {{b}}, {{c}};", w, r + r + w, lambda a, b, c: n(a) * n(b) + wide(c) & double
        )


def _special_arithmetic() -> Iterator[Operation]:
    mask = 2**32 - 1

    def saturated(x: int) -> int:
        return clamp(x, -(2**31), 2**31 - 1) & mask

    yield Operation("add.sat.s32 {d}, {a}, {b};", "v", "vv", lambda a, b: saturated(signed(a, 32) + signed(b, 32)))
    yield Operation("sub.sat.s32 {d}, {a}, {b};", "v", "vv", lambda a, b: saturated(signed(a, 32) - signed(b, 32)))
    for t, r, bits in (("u32", "v", 32), ("s32", "v", 32), ("u64", "q", 64)):
        yield Operation(
            f"add.cc.{t} %s{r}, {{a}}, {{b}}; addc.{t} {{d}}, {{c}}, 0;",
            r, r * 3, lambda a, b, c, n=bits: (c + ((a + b) >> n)) & ((1 << n) - 1),
        )  # fmt: skip
        yield Operation(
            f"sub.cc.{t} %s{r}, {{a}}, {{b}}; subc.cc.{t} %s{r}, {{c}}, {{b}}; subc.{t} {{d}}, {{a}}, %s{r};",
            r, r * 3, lambda a, b, c, n=bits: _borrow(a, b, c, n),
        )  # fmt: skip
    for kind, how in product("us", ("lo", "hi")):
        n, shift = value(kind, 24), 0 if how == "lo" else 16

        def fn(a: int, b: int, c: int = 0, n: Callable[[int], int] = n, shift: int = shift) -> int:
            return ((n(a & 0xFFFFFF) * n(b & 0xFFFFFF) >> shift) + c) & mask

        yield Operation(f"mul24.{how}.{kind}32 {{d}}, {{a}}, {{b}};", "v", "vv", fn)
        yield Operation(f"mad24.{how}.{kind}32 {{d}}, {{a}}, {{b}}, {{c}};", "v", "vvv", fn)


def _borrow(a: int, b: int, c: int, bits: int) -> int:
    """a - b sets the borrow, then s = c - b - borrow sets it again; the result is a - s - borrow."""
    first = int(a < b)
    s = c - b - first
    return (a - (s & ((1 << bits) - 1)) - (s < 0)) & ((1 << bits) - 1)


def _logic(bits: int) -> Iterator[Operation]:
    r, mask, t = POOL[bits], (1 << bits) - 1, f"b{bits}"
    yield Operation(f"and.{t} {{d}}, {{a}}, {{b}};", r, r + r, lambda a, b: a & b)
    yield Operation(f"or.{t} {{d}}, {{a}}, {{b}};", r, r + r, lambda a, b: a | b)
    yield Operation(f"xor.{t} {{d}}, {{a}}, {{b}};", r, r + r, lambda a, b: a ^ b)
    yield Operation(f"not.{t} {{d}}, {{a}};", r, r, lambda a: a ^ mask)
    yield Operation(f"cnot.{t} {{d}}, {{a}};", r, r, lambda a: int(a == 0))
    # Half of the amounts are small, half are anything.
    for cut in ("mov.b32 %sv, {b};", "and.b32 %sv, {b}, 127;"):
        amount = (lambda b: b & 127) if "127" in cut else (lambda b: b)
        yield Operation(f"{cut} shl.{t} {{d}}, {{a}}, %sv;", r, r + "v",
                        lambda a, b, f=amount: (a << f(b)) & mask if f(b) < bits else 0)  # fmt: skip
        for kind in "us":
            n = value(kind, bits)
            yield Operation(f"{cut} shr.{kind}{bits} {{d}}, {{a}}, %sv;", r, r + "v",
                            lambda a, b, f=amount, n=n: (n(a) >> min(f(b), bits)) & mask)  # fmt: skip


def _bits() -> Iterator[Operation]:
    mask = 2**32 - 1
    for bits in (32, 64):
        r = POOL[bits]
        yield Operation(f"popc.b{bits} {{d}}, {{a}};", "v", r, int.bit_count)
        yield Operation(f"clz.b{bits} {{d}}, {{a}};", "v", r, lambda a, n=bits: n - a.bit_length())
        yield Operation(f"brev.b{bits} {{d}}, {{a}};", r, r, lambda a, n=bits: int(f"{a:0{n}b}"[::-1], 2))
        yield Operation(f"bfi.b{bits} {{d}}, {{a}}, {{b}}, {{c}}, {{k}};", r, r + r + "vv",
                        lambda a, b, c, k, n=bits: _insert(a, b, c & 255, k & 255, n))  # fmt: skip
        small = "and.b32 %sv, {c}, 95; and.b32 %su, {k}, 47;"
        yield Operation(f"{small} bfi.b{bits} {{d}}, {{a}}, {{b}}, %sv, %su;", r, r + r + "vv",
                        lambda a, b, c, k, n=bits: _insert(a, b, c & 95, k & 47, n))  # fmt: skip
        for kind in "us":
            for how in ("", ".shiftamt"):
                yield Operation(f"bfind{how}.{kind}{bits} {{d}}, {{a}};", "v", r,
                                lambda a, n=bits, k=kind, h=how: _find(a, n, k == "s", bool(h)))  # fmt: skip
            yield Operation(f"bfe.{kind}{bits} {{d}}, {{a}}, {{b}}, {{c}};", r, r + "vv",
                            lambda a, b, c, n=bits, k=kind: _extract(a, b & 255, c & 255, n, k == "s"))  # fmt: skip
            small = "and.b32 %sv, {b}, 95; and.b32 %su, {c}, 47;"
            yield Operation(f"{small} bfe.{kind}{bits} {{d}}, {{a}}, %sv, %su;", r, r + "vv",
                            lambda a, b, c, n=bits, k=kind: _extract(a, b & 95, c & 47, n, k == "s"))  # fmt: skip
    for how in ("wrap", "clamp"):
        cut = (lambda c: c & 31) if how == "wrap" else (lambda c: min(c, 32))
        yield Operation(f"shf.l.{how}.b32 {{d}}, {{a}}, {{b}}, {{c}};", "v", "vvv",
                        lambda a, b, c, f=cut: ((b << 32 | a) << f(c) >> 32) & mask)  # fmt: skip
        yield Operation(f"shf.r.{how}.b32 {{d}}, {{a}}, {{b}}, {{c}};", "v", "vvv",
                        lambda a, b, c, f=cut: ((b << 32 | a) >> f(c)) & mask)  # fmt: skip
        yield Operation(f"bmsk.{how}.b32 {{d}}, {{a}}, {{b}};", "v", "vv",
                        lambda a, b, w=how == "wrap": _mask(a & 31 if w else a, b & 31 if w else b))  # fmt: skip
    for table in (0x96, 0xE8, 0xCA, 0x00, 0xFF, 0x1B, 0x80, 0x72):
        yield Operation(f"lop3.b32 {{d}}, {{a}}, {{b}}, {{c}}, {table};", "v", "vvv",
                        lambda a, b, c, t=table: sum((t >> (4 * (a >> i & 1) + 2 * (b >> i & 1) + (c >> i & 1)) & 1) << i
                                                     for i in range(32)))  # fmt: skip
    for mode in ("", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16"):
        yield Operation(f"prmt.b32{mode} {{d}}, {{a}}, {{b}}, {{c}};", "v", "vvv",
                        lambda a, b, c, m=mode: _permute(a, b, c, m))  # fmt: skip


def _insert(a: int, b: int, at: int, length: int, bits: int) -> int:
    for i in range(min(length, max(0, bits - at))):
        b = b & ~(1 << (at + i)) | (a >> i & 1) << (at + i)
    return b


def _extract(a: int, at: int, length: int, bits: int, is_signed: bool) -> int:
    fill = a >> min(at + length - 1, bits - 1) & 1 if is_signed and length else 0
    return sum((a >> (at + i) & 1 if i < length and at + i < bits else fill) << i for i in range(bits))


def _find(a: int, bits: int, is_signed: bool, amount: bool) -> int:
    if is_signed and a >> (bits - 1):
        a ^= (1 << bits) - 1
    if a == 0:
        return 2**32 - 1
    return bits - a.bit_length() if amount else a.bit_length() - 1


def _mask(start: int, length: int) -> int:
    return sum(1 << i for i in range(min(start, 32), min(start + length, 32)))


# prmt, table of the PTX ISA: which byte each byte of the result takes, the lowest byte first.
_PERMUTE = {
    ".f4e": ("0123", "1234", "2345", "3456"),
    ".b4e": ("0765", "1076", "2107", "3210"),
    ".rc8": ("0000", "1111", "2222", "3333"),
    ".ecl": ("0123", "1123", "2223", "3333"),
    ".ecr": ("0000", "0111", "0122", "0123"),
    ".rc16": ("0101", "2323", "0101", "2323"),
}


def _permute(a: int, b: int, c: int, mode: str) -> int:
    both = (b << 32 | a).to_bytes(8, "little")
    if mode:
        return int.from_bytes(bytes(both[int(i)] for i in _PERMUTE[mode][c & 3]), "little")
    picked = []
    for i in range(4):
        selector = c >> (4 * i) & 15
        byte = both[selector & 7]
        picked.append((255 if byte & 128 else 0) if selector & 8 else byte)
    return int.from_bytes(bytes(picked), "little")


# -- comparisons and selections ---------------------------------------------------------------------------------------

_ORDERED = ("eq", "ne", "lt", "le", "gt", "ge")
_UNORDERED = ("equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan")
_BOOL: dict[str, Meaning] = {
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
}


def _tests() -> Iterator[tuple[str, str, str, Meaning]]:
    """Comparison name, type, pool, and whether it holds for two registers."""
    for (bits, r), kind, name in product(POOL.items(), "us", _ORDERED):
        n = value(kind, bits)
        yield name, f"{kind}{bits}", r, lambda a, b, c=name, n=n: int(xf.holds(c, n(a), n(b)))
    for (bits, r), name in product(POOL.items(), ("eq", "ne")):
        yield name, f"b{bits}", r, lambda a, b, c=name: int(xf.holds(c, a, b))
    for bits, (name, like) in product(POOL, (("lo", "lt"), ("ls", "le"), ("hi", "gt"), ("hs", "ge"))):
        yield name, f"u{bits}", POOL[bits], lambda a, b, c=like: int(xf.holds(c, a, b))
    for (r, t), name in product((("e", "f16"), ("g", "bf16"), ("f", "f32"), ("d", "f64")), (*_ORDERED, *_UNORDERED)):
        form = FORMAT[r]
        yield name, t, r, lambda a, b, c=name, f=form: int(xf.compare(c, a, b, f))
        if t in ("f16", "f32"):
            yield (
                f"{name}.ftz",
                t,
                r,
                lambda a, b, c=name, f=form: int(xf.compare(c, xf.flush(a, f), xf.flush(b, f), f)),
            )


def _comparisons() -> Iterator[Operation]:
    for name, t, r, test in _tests():
        yield Operation(f"setp.{name}.{t} {{d}}, {{a}}, {{b}};", "p", r + r, test)
    for name, t, r, test in list(_tests())[::5]:
        plain, _, ftz = name.partition(".")
        for how, combine in _BOOL.items():
            combined = f"setp.{plain}.{how}.{ftz + '.' if ftz else ''}{t}"
            yield Operation(f"{combined} {{d}}, {{a}}, {{b}}, {{c}};", "p", r + r + "p",
                            lambda a, b, c, f=test, g=combine: g(f(a, b), c))  # fmt: skip
            if r not in "eg":
                yield Operation(f"{combined} %sp|{{d}}, {{a}}, {{b}}, !{{c}};", "p", r + r + "p",
                                lambda a, b, c, f=test, g=combine: g(1 - f(a, b), 1 - c))  # fmt: skip
        yield Operation(f"set.{name}.u32.{t} {{d}}, {{a}}, {{b}};", "v", r + r, lambda a, b, f=test: -f(a, b) % 2**32)
        to, into, one = ("f32", "f", F32.one) if r not in "eg" else (t, r, FORMAT[r].one)
        yield Operation(
            f"set.{name}.{to}.{t} {{d}}, {{a}}, {{b}};", into, r + r, lambda a, b, f=test, n=one: n * f(a, b)
        )
    for (r, t, form), name in product((("m", "f16x2", F16), ("n", "bf16x2", BF16)), ("lt", "neu", "num", "eq")):
        for at, places in ((0, "{d}|%sp"), (16, "%sp|{d}")):

            def half(a: int, b: int, name: str = name, form: Format = form, at: int = at) -> int:
                return int(xf.compare(name, a >> at & 0xFFFF, b >> at & 0xFFFF, form))

            yield Operation(f"setp.{name}.{t} {places}, {{a}}, {{b}};", "p", r + r, half)
        yield Operation(f"set.{name}.{t}.{t} {{d}}, {{a}}, {{b}};", r, r + r,
                        pairwise(lambda a, b, n=name, f=form: f.one * int(xf.compare(n, a, b, f))))  # fmt: skip
    for name, combine in _BOOL.items():
        yield Operation(f"{name}.pred {{d}}, {{a}}, {{b}};", "p", "pp", combine)
    yield Operation("not.pred {d}, {a};", "p", "p", lambda a: 1 - a)
    for how, form, r in (("f32", F32, "f"), ("f64", F64, "d")):
        for name in ("finite", "infinite", "number", "notanumber", "normal", "subnormal"):
            yield Operation(f"testp.{name}.{how} {{d}}, {{a}};", "p", r, lambda a, n=name, f=form: int(_class(a, n, f)))
    yield from _selections()


def _class(a: int, name: str, form: Format) -> bool:
    size = a & (form.top - 1)
    return {
        "finite": size < form.infinity,
        "infinite": size == form.infinity,
        "number": size <= form.infinity,
        "notanumber": size > form.infinity,
        "normal": size == 0 or 1 << form.stored <= size < form.infinity,
        "subnormal": 0 < size < 1 << form.stored,
    }[name]


def _selections() -> Iterator[Operation]:
    for r, t in (("h", "b16"), ("v", "u32"), ("q", "s64"), ("f", "f32"), ("d", "f64"), ("e", "b16"), ("m", "b32")):
        yield Operation(f"selp.{t} {{d}}, {{a}}, {{b}}, {{c}};", r, r + r + "p", lambda a, b, c: a if c else b)
        yield Operation(f"slct.{t}.s32 {{d}}, {{a}}, {{b}}, {{c}};", r, r + r + "v",
                        lambda a, b, c: b if c >> 31 else a)  # fmt: skip
        yield Operation(f"slct.{t}.f32 {{d}}, {{a}}, {{b}}, {{c}};", r, r + r + "f",
                        lambda a, b, c: a if xf.compare("ge", c, 0, F32) else b)  # fmt: skip
        yield Operation(f"slct.ftz.{t}.f32 {{d}}, {{a}}, {{b}}, {{c}};", r, r + r + "f",
                        lambda a, b, c: a if xf.compare("ge", xf.flush(c, F32), 0, F32) else b)  # fmt: skip


# -- floating point ---------------------------------------------------------------------------------------------------


def rounded(fn: Callable[..., xf.Number], form: Format, mode: str, *flags: str) -> Meaning:
    """A function of exact numbers as one of bits."""

    def meaning(*xs: int) -> int:
        if "ftz" in flags:
            xs = tuple(xf.flush(x, form) for x in xs)
        bits = encode(fn(*[decode(x, form) for x in xs]), form, mode)
        bits = xf.flush(bits, form) if "ftz" in flags else bits
        bits = xf.saturate(bits, form) if "sat" in flags else bits
        return xf.relu(bits, form) if "relu" in flags else bits

    return meaning


def pairwise(fn: Meaning) -> Meaning:
    """The same on both halves of packed pairs."""

    def meaning(*xs: int) -> int:
        low, high = (fn(*[x >> s & 0xFFFF for x in xs]) for s in (0, 16))
        return high << 16 | low

    return meaning


def _exact(mode: str) -> dict[str, Callable[..., xf.Number]]:
    return {
        "add": lambda a, b: xf.add(a, b, mode),
        "sub": lambda a, b: xf.add(a, xf.negate(b), mode),
        "mul": xf.multiply,
        "fma": lambda a, b, c: xf.add(xf.multiply(a, b), c, mode),
        "div": xf.divide,
        "rcp": lambda a: xf.divide(xf.Number("finite", 0, 1), a),
        "sqrt": xf.root,
    }


def _single_and_double() -> Iterator[Operation]:
    for r, t in (("f", "f32"), ("d", "f64")):
        form, single = FORMAT[r], r == "f"
        for mode in MODES:
            for name, fn in _exact(mode).items():
                directed = single or mode == "rn"
                if not directed and name in ("div", "rcp", "sqrt"):
                    continue  # the machine has these in f64 with rn only
                count = {"fma": 3, "rcp": 1, "sqrt": 1}.get(name, 2)
                places = ", ".join(PLACES[:count])
                for flags in (("", "ftz", "sat", "ftz.sat") if single and name in ("add", "sub", "mul", "fma") else
                              ("", "ftz") if single else ("",)):  # fmt: skip
                    mods = ".".join(x for x in (name, mode, flags, t) if x)
                    yield Operation(f"{mods} {{d}}, {places};", r, r * count,
                                    rounded(fn, form, mode, *flags.split(".")), compiled=directed)  # fmt: skip
        for name, nan in product(("min", "max"), (False, True) if single else (False,)):
            how = ".NaN" if nan else ""
            yield Operation(f"{name}{how}.{t} {{d}}, {{a}}, {{b}};", r, r + r,
                            lambda a, b, o=name, f=form, n=nan: xf.extreme(o, a, b, f, n))  # fmt: skip
            if single:
                cut: Meaning = lambda x: xf.flush(x, F32)  # noqa: E731
                yield Operation(f"{name}.ftz{how}.f32 {{d}}, {{a}}, {{b}};", r, r + r,
                                lambda a, b, o=name, n=nan, c=cut: xf.extreme(o, c(a), c(b), F32, n))  # fmt: skip
        yield Operation(f"abs.{t} {{d}}, {{a}};", r, r, lambda a, f=form: a & (f.top - 1))
        yield Operation(f"neg.{t} {{d}}, {{a}};", r, r, lambda a, f=form: a ^ f.top)
        scratch = f"%s{r}"  # the sign of a NaN must not show
        yield Operation(
            f"testp.notanumber.{t} %sp, {{a}}; selp.{t} {scratch}, {literal(form.one, r)}, {{a}}, %sp; "
            f"copysign.{t} {{d}}, {scratch}, {{b}};",
            r, r + r, lambda a, b, f=form: b & (f.top - 1) | (0 if xf.is_nan(a, f) else a & f.top),
        )  # fmt: skip
    yield Operation("abs.ftz.f32 {d}, {a};", "f", "f", lambda a: xf.flush(a, F32) & (F32.top - 1))
    yield Operation("neg.ftz.f32 {d}, {a};", "f", "f", lambda a: xf.flush(a, F32) ^ F32.top)


def _halves() -> Iterator[Operation]:
    for r, t, packed in (("e", "f16", ""), ("m", "f16x2", "2"), ("g", "bf16", ""), ("n", "bf16x2", "2")):
        form = FORMAT[r]
        f16 = form is F16
        spread: Callable[[Meaning], Meaning] = pairwise if packed else (lambda fn: fn)
        for name, fn in _exact("rn").items():
            if name in ("div", "rcp", "sqrt"):
                continue
            count = 3 if name == "fma" else 2
            places = ", ".join(PLACES[:count])
            choices = ["", "ftz", "sat", "ftz.sat"] if f16 else [""]
            choices += (["relu", "ftz.relu"] if f16 else ["relu"]) if name == "fma" else []
            for flags in choices:
                mods = ".".join(x for x in (name, "rn" if name == "fma" or flags else "", flags, t) if x)
                # PTX does not say whether relu makes +0 of -0, so the sign is taken off.
                text = (
                    f"{mods} %s{r}, {places}; abs.{t} {{d}}, %s{r};" if "relu" in flags else f"{mods} {{d}}, {places};"
                )
                meaning = rounded(fn, form, "rn", *flags.split("."))
                if "relu" in flags:
                    meaning = lambda a, b, c, f=meaning: f(a, b, c) & 0x7FFF  # noqa: E731
                yield Operation(text, r, r * count, spread(meaning))
        for name, nan, ftz in product(("min", "max"), (False, True), (False, True) if f16 else (False,)):
            mods = f"{name}{'.ftz' if ftz else ''}{'.NaN' if nan else ''}.{t}"
            cut: Meaning = (lambda x: xf.flush(x, F16)) if ftz else (lambda x: x)
            yield Operation(f"{mods} {{d}}, {{a}}, {{b}};", r, r + r,
                            spread(lambda a, b, o=name, f=form, n=nan, c=cut: xf.extreme(o, c(a), c(b), f, n)))  # fmt: skip
        for ftz in (False, True) if f16 else (False,):
            cut = (lambda x: xf.flush(x, F16)) if ftz else (lambda x: x)
            how = ".ftz" if ftz else ""
            yield Operation(f"abs{how}.{t} {{d}}, {{a}};", r, r, spread(lambda a, c=cut: c(a) & 0x7FFF))
            yield Operation(f"neg{how}.{t} {{d}}, {{a}};", r, r, spread(lambda a, c=cut: c(a) ^ 0x8000))


def _approximations() -> Iterator[Operation]:
    """Functions whose last bits are the machine's own: both engines must agree, nobody else knows."""

    def unknown(*xs: int) -> int:
        raise AssertionError("no exact value")

    for name, ftz in product(("ex2", "lg2", "rcp", "rsqrt", "sqrt", "sin", "cos"), ("", ".ftz")):
        yield Operation(f"{name}.approx{ftz}.f32 {{d}}, {{a}};", "f", "f", unknown, exact=False)
    for ftz in ("", ".ftz"):
        yield Operation(f"div.full{ftz}.f32 {{d}}, {{a}}, {{b}};", "f", "ff", unknown, exact=False)
        yield Operation(f"div.approx{ftz}.f32 {{d}}, {{a}}, {{b}};", "f", "ff", unknown, exact=False)
    yield Operation("tanh.approx.f32 {d}, {a};", "f", "f", unknown, exact=False)
    for r, t in (("e", "f16"), ("m", "f16x2"), ("g", "bf16"), ("n", "bf16x2")):
        yield Operation(f"tanh.approx.{t} {{d}}, {{a}};", r, r, unknown, exact=False)
        ftz = ".ftz" if r in "gn" else ""
        yield Operation(f"ex2.approx{ftz}.{t} {{d}}, {{a}};", r, r, unknown, exact=False)


# -- conversions ------------------------------------------------------------------------------------------------------


def _conversions() -> Iterator[Operation]:
    yield from _int_to_int()
    for (r, t), (kind, bits) in product((("e", "f16"), ("g", "bf16"), ("f", "f32"), ("d", "f64")), _int_types()):
        form = FORMAT[r]
        into = _holder(bits)
        if (r, bits) == ("g", 8):
            continue  # PTX has none
        for mode in MODES:
            for ftz in ("", ".ftz") if t == "f32" else ("",):
                yield Operation(f"cvt.{mode}i{ftz}.{kind}{bits}.{t} {{d}}, {{a}};", into, r,
                                _to_int(form, mode, kind, bits, WIDTH[into], bool(ftz)))  # fmt: skip
            if t == "bf16" and mode != "rn":
                continue
            yield Operation(f"cvt.{mode}.{t}.{kind}{bits} {{d}}, {{a}};", r, into,
                            lambda a, f=form, m=mode, k=kind, b=bits: encode(xf.from_int(value(k, b)(a & ((1 << b) - 1))), f, m),
                            compiled=not (t == "f64" and bits == 64 and mode != "rn"))  # fmt: skip
    yield from _float_to_float()


def _int_types() -> Iterator[tuple[str, int]]:
    return product("us", (8, 16, 32, 64))


def _holder(bits: int) -> str:
    return POOL[max(bits, 16)]


def extended(x: int, kind: str, bits: int, width: int) -> int:
    """The low ``bits`` of ``x``, extended to a register."""
    return value(kind, bits)(x & ((1 << bits) - 1)) & ((1 << width) - 1)


def _int_to_int() -> Iterator[Operation]:
    for (dk, db), (sk, sb) in product(_int_types(), _int_types()):
        into, out = _holder(db), _holder(sb)
        (low, high), (source_low, source_high) = whole(dk, db), whole(sk, sb)
        for sat in ("", ".sat") if source_low < low or source_high > high else ("",):

            def fn(
                a: int, s: str = sat, dk: str = dk, db: int = db, sk: str = sk, sb: int = sb, w: int = WIDTH[into]
            ) -> int:
                x = value(sk, sb)(a & ((1 << sb) - 1))
                return extended(clamp(x, *whole(dk, db)) if s else x, dk, db, w)

            yield Operation(f"cvt{sat}.{dk}{db}.{sk}{sb} {{d}}, {{a}};", into, out, fn)


def _to_int(form: Format, mode: str, kind: str, bits: int, width: int, ftz: bool) -> Meaning:
    low, high = whole(kind, bits)

    def fn(a: int) -> int:
        x = decode(xf.flush(a, form) if ftz else a, form)
        if x.kind == "nan":
            result = 1 << (bits - 1) if bits == 64 or form is F64 else 0
        elif x.kind == "inf":
            result = low if x.sign else high
        else:
            result = clamp(xf.integral(x, mode), low, high)
        return extended(result, kind, bits, width)

    return fn


def _float_to_float() -> Iterator[Operation]:
    types = (("e", "f16"), ("g", "bf16"), ("f", "f32"), ("d", "f64"))
    for (r, t), (s, u) in product(types, types):
        into, form = FORMAT[r], FORMAT[s]
        if r == s:
            continue
        exact = into.stored >= form.stored and into.exponent >= form.exponent
        for mode in (
            ("",) if exact else MODES if t == "f32" or (t, u) == ("f16", "f32") else ("rn", "rz")[: 1 + (t == "bf16")]
        ):
            yield Operation(f"cvt.{mode + '.' if mode else ''}{t}.{u} {{d}}, {{a}};", r, s,
                            lambda a, i=into, f=form, m=mode: encode(decode(a, f), i, m or "rn"))  # fmt: skip
    for mode in MODES:
        for t, form, r in (("f16", F16, "e"), ("f32", F32, "f"), ("f64", F64, "d")):
            yield Operation(f"cvt.{mode}i.{t}.{t} {{d}}, {{a}};", r, r, lambda a, f=form, m=mode: _integral(a, f, m))
        yield Operation(f"cvt.{mode}i.ftz.f32.f32 {{d}}, {{a}};", "f", "f",
                        lambda a, m=mode: _integral(xf.flush(a, F32), F32, m))  # fmt: skip
        yield Operation(f"cvt.{mode}.ftz.f32.f64 {{d}}, {{a}};", "f", "d",
                        lambda a, m=mode: xf.flush(encode(decode(a, F64), F32, m), F32))  # fmt: skip
        yield Operation(f"cvt.{mode}.sat.f32.f64 {{d}}, {{a}};", "f", "d",
                        lambda a, m=mode: xf.saturate(encode(decode(a, F64), F32, m), F32))  # fmt: skip
    yield Operation("cvt.ftz.sat.f32.f32 {d}, {a};", "f", "f", lambda a: xf.saturate(xf.flush(a, F32), F32))
    yield Operation("cvt.sat.f64.f64 {d}, {a};", "d", "d", lambda a: xf.saturate(a, F64))
    yield from _packing()


def _integral(a: int, form: Format, mode: str) -> int:
    x = decode(a, form)
    if x.kind != "finite":
        return encode(x, form)
    result = xf.integral(x, mode)
    return encode(xf.from_int(result)._replace(sign=x.sign), form)


def narrowed(form: Format, mode: str, *flags: str) -> Meaning:
    """One f32 to a half, with relu and satfinite."""

    def fn(a: int) -> int:
        a = xf.relu(a, F32) if "relu" in flags else a
        bits = encode(decode(a, F32), form, mode)
        return xf.finite(bits, form) if "satfinite" in flags else bits

    return fn


def _packing() -> Iterator[Operation]:
    for mode, flags in product(("rn", "rz"), ("", "relu", "satfinite", "relu.satfinite")):
        if flags.startswith("relu."):
            continue
        for t, form, r, pair in (("f16", F16, "e", "m"), ("bf16", BF16, "g", "n")):
            half = narrowed(form, mode, *flags.split("."))
            mods = ".".join(x for x in ("cvt", mode, flags) if x)
            yield Operation(
                f"{mods}.{t}x2.f32 {{d}}, {{a}}, {{b}};", pair, "ff", lambda a, b, h=half: h(a) << 16 | h(b)
            )
            if flags:
                yield Operation(f"{mods}.{t}.f32 {{d}}, {{a}};", r, "f", half)
    for r, pair in (("e", "m"), ("g", "n"), ("h", "v")):
        yield Operation("mov.b32 {d}, {{{a}, {b}}};", pair, r + r, lambda a, b: b << 16 | a)
        yield Operation(f"mov.b32 {{{{%s{r}, {{d}}}}}}, {{a}};", r, pair, lambda a: a >> 16)
        yield Operation(f"mov.b32 {{{{{{d}}, %s{r}}}}}, {{a}};", r, pair, lambda a: a & 0xFFFF)
    yield Operation("mov.b64 {d}, {{{a}, {b}}};", "q", "vv", lambda a, b: b << 32 | a)
    yield Operation("mov.b64 {{%sv, {d}}}, {a};", "v", "q", lambda a: a >> 32)
    yield Operation("mov.b64 {d}, {{{a}, {b}, {c}, {a}}};", "q", "hhh", lambda a, b, c: a << 48 | c << 32 | b << 16 | a)
    # Integers may become floating bits, not the other way round.
    for r, s in (("f", "v"), ("d", "q"), ("e", "h"), ("g", "h"), ("m", "v"), ("n", "v")):
        yield Operation(f"mov.b{WIDTH[r]} {{d}}, {{a}};", r, s, lambda a: a)


def literal(x: int, pool: str) -> str:
    """A literal of the pool's type with bits ``x``."""
    return f"0f{x:08X}" if pool == "f" else f"0d{x:016X}" if pool == "d" else str(x)


@cache
def catalogue() -> dict[str, tuple[Operation, ...]]:
    """All operations by family, so that a family with many members is not picked more often."""
    families: dict[str, list[Operation]] = {
        "arithmetic": [o for k, b in product("us", POOL) for o in _arithmetic(k, b)] + list(_special_arithmetic()),
        "logic": [o for b in POOL for o in _logic(b)] + list(_bits()),
        "compare": list(_comparisons()),
        "float": list(_single_and_double()),
        "half": list(_halves()),
        "convert": list(_conversions()),
        "approximate": list(_approximations()),
    }
    return {name: tuple(ops) for name, ops in families.items()}
