"""Instructions in many forms, most of which do not exist: modifiers and types combined without knowing which go together."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

INTS = ["u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"]
FLOATS = ["f16", "bf16", "f32", "f64"]
PACKED = ["f16x2", "bf16x2", "u16x2", "s16x2"]
TYPES = [*INTS, "b8", "b16", "b32", "b64", *FLOATS, *PACKED, "tf32", "pred"]
COMPARE = [
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "lo",
    "ls",
    "hi",
    "hs",
    "equ",
    "neu",
    "ltu",
    "leu",
    "gtu",
    "geu",
    "num",
    "nan",
]
SIMPLE = """membar.cta | membar.gl | membar.sys | membar.gpu | membar.proxy.alias | fence.acq_rel.cta | fence.sc.gpu | fence.cta |
fence.sc | fence.acquire.cta | fence.acq_rel.cluster | fence.proxy.alias | fence.proxy.async | fence.proxy.async.global |
fence.proxy.generic | fence.mbarrier_init.release.cluster | nanosleep.u32 10 | nanosleep 10 | pmevent 7 | pmevent.mask 15 |
pmevent.all 1 | brkpt | trap | exit | ret | ret.uni | griddepcontrol.wait | griddepcontrol.launch_dependents |
applypriority.global.L2::evict_normal [%rd1], 128 | applypriority.L2::evict_normal [%rd1], 128 |
applypriority.global.L2::evict_normal [%rd1], 64 | applypriority.global.L2::evict_last [%rd1], 128"""
# Registers of every width; the names say which.
DECLARE = """.reg .b16 %h<6>; .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<7>; .reg .f64 %fd<7>; .reg .pred %p<6>;"""


def reg(kind: str, i: int) -> str:
    """Register ``i`` of a type."""
    if kind in ("pred", "f32", "f64"):
        return {"pred": "%p", "f32": "%f", "f64": "%fd"}[kind] + str(i)
    bits = 32 if kind.endswith("x2") or kind == "tf32" else int("".join(c for c in kind if c.isdigit()))
    return {8: "%h", 16: "%h", 32: "%r", 64: "%rd"}[bits] + str(i)


def regs(kind: str, *numbers: int) -> str:
    return ", ".join(reg(kind, i) for i in numbers)


def vector(prefix: str, count: int) -> str:
    return "{" + ", ".join(f"%{prefix}{i % 6}" for i in range(count)) + "}"


def arithmetic() -> Iterator[str]:
    flags = ["", "rn.", "rz.", "rm.", "rp.", "ftz.", "rn.ftz.", "sat.", "rn.sat.", "rn.ftz.sat.", "ftz.sat.", "relu.",
             "rn.relu.", "rn.ftz.relu.", "sat.relu.", "cc.", "approx.", "full.", "approx.ftz.", "full.ftz.", "rm.ftz.sat.",
             "rn.relu.sat."]  # fmt: skip
    halves = ["lo.", "hi.", "wide.", "lo.cc.", "hi.cc.", "hi.sat.", "lo.sat."]
    for t in TYPES:
        wide = {"u16": "u32", "s16": "s32", "u32": "u64", "s32": "s64"}.get(t, t)
        for op, f in product(("add", "sub", "mul", "div", "rem"), flags):
            yield f"{op}.{f}{t} {regs(t, 1, 2, 3)};"
        for op, f in product(("fma", "mad"), flags):
            yield f"{op}.{f}{t} {regs(t, 1, 2, 3, 1)};"
        for op, half in product(("mul", "mad", "mul24", "mad24", "madc"), halves):
            out = wide if half == "wide." else t
            third = f", {reg(out, 3)}" if op.startswith("mad") else ""
            yield f"{op}.{half}{t} {reg(out, 1)}, {regs(t, 2, 3)}{third};"
        for op, cc in product(("addc", "subc"), ("", "cc.")):
            yield f"{op}.{cc}{t} {regs(t, 1, 2, 3)};"
        yield f"sad.{t} {regs(t, 1, 2, 3, 1)};"
        modes = ["", "ftz.", "rn.", "rz.", "rm.", "rp.", "approx.", "approx.ftz.", "rn.ftz.", "rm.ftz."]
        for op, f in product(
            ("abs", "neg", "not", "cnot", "rcp", "sqrt", "rsqrt", "sin", "cos", "lg2", "ex2", "tanh", "brev"), modes
        ):
            yield f"{op}.{f}{t} {regs(t, 1, 2)};"
        for op in ("popc", "clz", "bfind", "bfind.shiftamt"):
            yield f"{op}.{t} %r1, {reg(t, 2)};"
        signs = [
            "",
            "ftz.",
            "NaN.",
            "ftz.NaN.",
            "xorsign.abs.",
            "NaN.xorsign.abs.",
            "ftz.NaN.xorsign.abs.",
            "relu.",
            "abs.",
            "xorsign.",
        ]
        for op, f in product(("min", "max"), signs):
            yield f"{op}.{f}{t} {regs(t, 1, 2, 3)};"
        for op in ("and", "or", "xor", "shl", "shr"):
            yield f"{op}.{t} {regs(t, 1, 2)}, {'%r3' if op.startswith('sh') else reg(t, 3)};"


def conversions() -> Iterator[str]:
    modes = ["", "rn.", "rz.", "rm.", "rp.", "rni.", "rzi.", "rna."]
    flags = ["", "ftz.", "sat.", "ftz.sat.", "relu.", "satfinite.", "relu.satfinite."]
    for d, s, m, f in product([*INTS, *FLOATS, "tf32"], [*INTS, *FLOATS], modes, flags):
        yield f"cvt.{m}{f}{d}.{s} {reg(d, 1)}, {reg(s, 2)};"
    for d, m, f in product(("f16x2", "bf16x2"), modes[:5], flags):
        yield f"cvt.{m}{f}{d}.f32 %r1, %f2, %f3;"
    for d, s, sat in product([f"{k}{n}" for k in "us" for n in (16, 8, 4, 2)], ("s32", "u32"), ("sat.", "")):
        yield f"cvt.pack.{sat}{d}.{s} %r1, %r2, %r3;"
        yield f"cvt.pack.{sat}{d}.{s}.b32 %r1, %r2, %r3, %r4;"


def comparisons() -> Iterator[str]:
    for c, t, f in product(COMPARE, TYPES, ("", "ftz.", "and.", "and.ftz.")):
        out = "%p1|%p2" if t.endswith("x2") else "%p1"
        yield f"setp.{c}.{f}{t} {out}, {regs(t, 2, 3)}{', %p4' if 'and' in f else ''};"
    for d, s in product(["u32", "s32", "f32", "f16", "bf16", "f16x2", "bf16x2", "u16", "s16", "b32", "u64"], TYPES):
        yield f"set.ge.{d}.{s} {reg(d, 1)}, {regs(s, 2, 3)};"


def bits_and_moves() -> Iterator[str]:
    for t in TYPES:
        yield f"selp.{t} {regs(t, 1, 2, 3)}, %p1;"
        yield f"mov.{t} {regs(t, 1, 2)};"
        yield f"copysign.{t} {regs(t, 1, 2, 3)};"
        yield f"bfe.{t} {regs(t, 1, 2)}, %r3, %r4;"
        yield f"bfi.{t} {regs(t, 1, 2, 3)}, %r3, %r4;"
        yield f"lop3.{t} {regs(t, 1, 2, 3, 4)}, 5;"
        yield f"prmt.{t} {regs(t, 1, 2, 3, 4)};"
        yield f"fns.{t} {regs(t, 1, 2)}, %r3, %r4;"
        for m in ("", "clamp.", "wrap."):
            yield f"bmsk.{m}{t} {regs(t, 1, 2, 3)};"
            yield f"szext.{m}{t} {regs(t, 1, 2)}, %r3;"
        for s, f in product(("s32", "f32", "u32", "s64"), ("", "ftz.")):
            yield f"slct.{f}{t}.{s} {regs(t, 1, 2, 3)}, {reg(s, 4)};"
        for k in ("finite", "infinite", "number", "notanumber", "normal", "subnormal"):
            yield f"testp.{k}.{t} %p1, {reg(t, 2)};"
        for m in ("l.wrap", "r.clamp", "l", "wrap"):
            yield f"shf.{m}.{t} {regs(t, 1, 2, 3)}, %r4;"
    for a, b, m in product(("u32", "s32", "s8"), ("u32", "s32"), ("dp4a.", "dp2a.lo.", "dp2a.hi.", "dp2a.")):
        yield f"{m}{a}.{b} %r1, %r2, %r3, %r4;"
    for sp in (
        "global",
        "shared",
        "local",
        "const",
        "param",
        "shared::cta",
        "shared::cluster",
        "generic",
        "param::entry",
    ):
        yield f"isspacep.{sp} %p1, %rd1;"
        for t in ("u64", "b64"):
            yield f"cvta.{sp}.{t} {regs(t, 1, 2)};"
            yield f"cvta.to.{sp}.{t} {regs(t, 1, 2)};"


def warps() -> Iterator[str]:
    for t in TYPES:
        for m in ("bfly", "up", "down", "idx", "left"):
            yield f"shfl.sync.{m}.{t} {regs(t, 1, 2)}, %r3, %r4, %r5;"
            yield f"shfl.sync.{m}.{t} {reg(t, 1)}|%p1, {reg(t, 2)}, 1, 31, -1;"
        for o in ("add", "min", "max", "and", "or", "xor"):
            yield f"redux.sync.{o}.{t} {regs(t, 1, 2)}, -1;"
        for o in ("any", "all"):
            yield f"match.{o}.sync.{t} %r1, {reg(t, 2)}, -1;"
            yield f"match.{o}.sync.{t} %r1|%p1, {reg(t, 2)}, -1;"
    for v in ("all.pred", "any.pred", "uni.pred", "ballot.b32", "all.b32", "ballot.pred"):
        yield f"vote.sync.{v} {'%r1' if v.endswith('b32') else '%p1'}, !%p2, %r3;"
    yield from (
        f"{x};" for x in ("activemask.b32 %r1", "activemask.u32 %r1", "elect.sync %r1|%p1, -1", "bar.warp.sync -1")
    )
    for op, cta in product(("bar", "barrier"), ("", ".cta")):
        for al in ("", ".aligned"):
            yield from (f"{op}{cta}.sync{al} 0;", f"{op}{cta}.sync{al} 0, 64;", f"{op}{cta}.arrive{al} 1, 64;")
            yield f"{op}{cta}.red.popc{al}.u32 %r1, 0, %p1;"
            yield f"{op}{cta}.red.and{al}.pred %p2, 0, 64, !%p1;"
            yield f"{op}{cta}.red.xor{al}.pred %p2, 0, %p1;"
    levels = ("L1", "L2", "L2::evict_last", "L2::evict_normal", "L1::evict_last", "L3")
    for op, sp, level in product(("prefetch", "prefetchu"), ("", ".global", ".local", ".shared", ".const"), levels):
        yield f"{op}{sp}.{level} [%rd1];"
    for text in SIMPLE.split("|"):
        yield f"{text.strip()};"


def memory() -> Iterator[str]:
    extras = ["", ".ca", ".cg", ".cs", ".lu", ".cv", ".wb", ".wt", ".volatile", ".relaxed.gpu", ".relaxed", ".acquire.cta",
              ".release.gpu", ".weak", ".nc", ".mmio.relaxed.sys", ".relaxed.cluster", ".volatile.gpu"]  # fmt: skip
    for op, sp in product(("ld", "st", "ldu"), ("", ".global", ".shared", ".local", ".const", ".shared::cta")):
        for x, v in product(extras, ("", ".v2", ".v4")):
            yield _access(f"{op}{sp}{x}{v}", "b32", int(v[2:] or 1))
            if x and sp:
                yield _access(f"{op}{x}{sp}{v}", "b32", int(v[2:] or 1))
        for t in TYPES:
            if t != "pred":
                yield _access(f"{op}{sp}", t, 1)
                yield _access(f"{op}{sp}.v2", t, 2)
    levels = [
        f"L1::{x}" for x in ("evict_last", "evict_first", "no_allocate", "evict_normal", "evict_unchanged", "evict_all")
    ]
    for level, nc in product(
        [*levels, "L2::64B", "L2::128B", "L2::256B", "L2::32B", "L1::evict_last.L2::128B"], ("", ".nc")
    ):
        yield from (
            f"ld.global{nc}.{level}.b32 %r1, [%rd1];",
            f"ld.shared.{level}.b32 %r1, [%rd1];",
            f"st.global.{level}.b32 [%rd1], %r1;",
        )
        yield f"ld.global{nc}.{level}.L2::cache_hint.b32 %r1, [%rd1], %rd2;"
    for m, n, h in product(("ca", "cg"), (2, 4, 8, 16), ("", ".L2::64B", ".L2::128B", ".L2::256B", ".L2::cache_hint")):
        for tail in ("", ", %r1", ", %p1", ", !%p1", ", 4", ", 0"):
            yield f"cp.async.{m}.shared.global{h} [%rd1], [%rd2], {n}{tail}{', %rd3' if 'hint' in h else ''};"
    yield from ("cp.async.commit_group;", "cp.async.wait_group 3;", "cp.async.wait_group %r1;", "cp.async.wait_all;")


def _access(name: str, kind: str, lanes: int) -> str:
    place = "[%rd7]"
    data = regs(kind, *((i % 5) + 1 for i in range(lanes)))
    data = data if lanes == 1 else "{" + data + "}"
    return f"{name}.{kind} {place}, {data};" if name.startswith("st") else f"{name}.{kind} {data}, {place};"


def atomics() -> Iterator[str]:
    types = ["b16", "b32", "b64", "u32", "s32", "u64", "s64", *FLOATS, "f16x2", "bf16x2"]
    ops = ("add", "min", "max", "inc", "dec", "and", "or", "xor", "exch", "cas", "sub")
    for op, sp, o, t, nf in product(("atom", "red"), ("", ".global", ".shared", ".local"), ops, types, ("", ".noftz")):
        d = f"{reg(t, 1)}, " if op == "atom" else ""
        yield f"{op}{sp}.{o}{nf}.{t} {d}[%rd7], {regs(t, 2, 3) if o == 'cas' else reg(t, 2)};"
    orders = "relaxed acquire release acq_rel relaxed.gpu acquire.cta acq_rel.sys release.gpu gpu sc.gpu relaxed.cluster volatile"
    for op, how in product(("atom", "red"), orders.split()):
        d = "%r1, " if op == "atom" else ""
        yield from (f"{op}.{how}.{sp}.add.u32 {d}[%rd7], %r2;" for sp in ("global", "shared"))


def matrices() -> Iterator[str]:
    for n, trans, sp in product((1, 2, 4), ("", ".trans"), ("", ".shared", ".shared::cta", ".global")):
        yield f"ldmatrix.sync.aligned.m8n8.x{n}{trans}{sp}.b16 {vector('r', n)}, [%rd1];"
        yield f"stmatrix.sync.aligned.m8n8.x{n}{trans}{sp}.b16 [%rd1], {vector('r', n)};"
    yield from ("movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r2;", "movmatrix.sync.aligned.m8n8.b16 %r1, %r2;")
    shapes = {"f16": [("m16n8k8", 2, 1), ("m16n8k16", 4, 2)], "bf16": [("m16n8k8", 2, 1), ("m16n8k16", 4, 2)],
              "tf32": [("m16n8k4", 2, 1), ("m16n8k8", 4, 2)], "s8": [("m16n8k16", 2, 1), ("m16n8k32", 4, 2)],
              "u8": [("m16n8k16", 2, 1), ("m16n8k32", 4, 2)], "f64": [("m8n8k4", 1, 1)]}  # fmt: skip
    accumulators = ("f16", "f32", "s32", "f64")
    for a, forms in shapes.items():
        for (shape, na, nb), d, c, sat in product(forms, accumulators, accumulators, ("", ".satfinite")):
            for b, layout in product({a, "u8" if a == "s8" else a}, ("row.col", "col.row", "row.row")):
                side = "fd" if a == "f64" else "r"
                factors = f"{vector(side, na)}, {vector(side, nb)}"
                name = f"mma.sync.aligned.{shape}.{layout}{sat}.{d}.{a}.{b}.{c}"
                yield f"{name} {_accumulator(d, shape)}, {factors}, {_accumulator(c, shape)};"


def _accumulator(kind: str, shape: str) -> str:
    count = (1 if kind == "f16" else 2) * (1 if shape.startswith("m8") else 2)
    return vector({"f32": "f", "f64": "fd"}.get(kind, "r"), count)


def phases() -> Iterator[str]:
    spaces = ("", ".shared", ".shared::cta", ".shared::cluster", ".global")
    semantics = (
        "",
        ".release",
        ".acquire",
        ".release.cta",
        ".acquire.cta",
        ".release.cluster",
        ".acquire.cluster",
        ".relaxed.cta",
    )
    for sp in spaces:
        yield from (
            f"mbarrier.init{sp}.b64 [%rd1], %r2;",
            f"mbarrier.inval{sp}.b64 [%rd1];",
            f"mbarrier.init{sp}.b32 [%rd1], 4;",
        )
        for op, how, full in product(("arrive", "arrive_drop"), semantics, ("", ".noComplete")):
            for place, count in product(("", sp), ("", ", %r2", ", 3")):
                yield f"mbarrier.{op}{full}{how}{place}.b64 %rd4, [%rd1]{count};"
            yield f"mbarrier.{op}{full}{how}{sp}.b64 _, [%rd1];"
        for op, how, time in product(("test_wait", "try_wait"), semantics, ("", ", 100")):
            yield f"mbarrier.{op}{how}{sp}.b64 %p1, [%rd1], %rd2{time};"
            yield f"mbarrier.{op}.parity{how}{sp}.b64 %p1, [%rd1], %r2{time};"
        for extra in ("", ".noinc"):
            yield f"cp.async.mbarrier.arrive{extra}{sp}.b64 [%rd1];"
    yield from ("mbarrier.pending_count.b64 %r1, %rd2;", "mbarrier.pending_count.shared.b64 %r1, %rd2;")


def fragments() -> Iterator[str]:
    """wmma, with as many registers as a type may ask for."""
    shapes, layouts = ("m16n16k16", "m32n8k16", "m8n32k16", "m16n16k8", "m8n8k4", "m8n8k32"), ("row", "col")
    held = {
        "f16": (8, 4),
        "bf16": (4, 8, 2),
        "tf32": (4,),
        "f64": (1, 2),
        "s8": (2, 1, 4),
        "u8": (2, 1, 4),
        "f32": (8,),
        "s32": (8,),
    }
    ends = {"f16": vector("r", 4), "f32": vector("f", 8), "s32": vector("r", 8), "f64": vector("fd", 2)}
    for shape, (kind, counts) in product(shapes, held.items()):
        side = {"f32": "f", "f64": "fd"}.get(kind, "r")
        for what, layout, count in product("abcd", layouts, counts):
            op, data = ("store" if what == "d" else "load"), vector(side, count)
            for space, stride in (("", ""), (".global", ", %r8"), (".shared", ", 16")):
                operands = f"[%rd1], {data}" if op == "store" else f"{data}, [%rd1]"
                yield f"wmma.{op}.{what}.sync.aligned.{layout}.{shape}{space}.{kind} {operands}{stride};"
        pairs = product(ends, ends) if kind == "f16" else ((d, d) for d in ends)
        for (a, b), (d, c), sat in product(product(counts, counts), pairs, ("", ".satfinite")):
            types = f"{d}.{c}" if kind == "f16" else f"{d}.{kind}.{kind}.{c}"
            operands = f"{ends[d]}, {vector(side, a)}, {vector(side, b)}, {ends[c]}"
            yield f"wmma.mma.sync.aligned.row.col.{shape}.{types}{sat} {operands};"


FAMILIES = (arithmetic, conversions, comparisons, bits_and_moves, warps, memory, atomics, matrices, phases, fragments)
