"""wmma against plain matrix products: what is loaded, multiplied and stored must fit together, whatever the fragments hold."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from ptx_harness import kernel, launch
from test_checks import fails

from prism_mlir.runtime.ptx import Checks, PtxSyntaxError

RNG = np.random.default_rng(29)
# Registers of the fragments of A, B, C and D, from "Matrix Fragments for WMMA".
FRAGMENTS = {
    ("f16", "m16n16k16"): (8, 8), ("f16", "m8n32k16"): (8, 8), ("f16", "m32n8k16"): (8, 8),
    ("bf16", "m16n16k16"): (4, 4), ("bf16", "m8n32k16"): (2, 8), ("bf16", "m32n8k16"): (8, 2), ("tf32", "m16n16k8"): (4, 4),
    ("s8", "m16n16k16"): (2, 2), ("u8", "m8n32k16"): (1, 4), ("s8", "m32n8k16"): (4, 1), ("f64", "m8n8k4"): (1, 1),
}  # fmt: skip
ACCUMULATORS = {"f16": ("%a", 4), "f32": ("%w", 8), "s32": ("%a", 8), "f64": ("%g", 2)}
REGISTERS = ".reg .b32 %a<40>; .reg .f32 %w<40>; .reg .f64 %g<9>; "
NUMPY = {
    "f16": np.float16,
    "f32": np.float32,
    "s32": np.int32,
    "f64": np.float64,
    "s8": np.int8,
    "u8": np.uint8,
    "tf32": np.float32,
}
FOUR = ", ".join(f".param .u64 p{i}" for i in range(4))


def names(prefix: str, first: int, count: int) -> str:
    return "{" + ", ".join(f"{prefix}{first + i}" for i in range(count)) + "}"


def sizes(shape: str) -> tuple[int, int, int]:
    m, rest = shape[1:].split("n")
    n, k = rest.split("k")
    return int(m), int(n), int(k)


def code(
    kind: str, shape: str, d: str, c: str, layouts: str, shared: bool = False, strides: tuple[str, ...] = ("",) * 4
) -> str:
    """Load A, B and C, multiply, store D; ``layouts`` has r or c for each of the four."""
    na, nb = FRAGMENTS[kind, shape]
    names_of = {"r": "row", "c": "col"}
    la, lb, lc, ld = (names_of[x] for x in layouts)
    factor = "%g" if kind == "f64" else "%a"
    (pc, nc), (pd, nd) = ACCUMULATORS[c], ACCUMULATORS[d]
    a, b = names(factor, 0, na), names(factor, 8 if kind != "f64" else 1, nb)
    cs, ds = names(pc, 16 if pc != "%g" else 2, nc), names(pd, 24 if pd != "%g" else 4, nd)
    types = f"{d}.{c}" if kind == "f16" else f"{d}.{kind}.{kind}.{c}"
    space = ".shared" if shared else ".global"
    return f"""{REGISTERS}
      wmma.load.a.sync.aligned.{la}.{shape}{space}.{kind} {a}, [%rd1]{strides[0]};
      wmma.load.b.sync.aligned.{lb}.{shape}{space}.{kind} {b}, [%rd2]{strides[1]};
      wmma.load.c.sync.aligned.{lc}.{shape}{space}.{c} {cs}, [%rd3]{strides[2]};
      wmma.mma.sync.aligned.{la}.{lb}.{shape}.{types} {ds}, {a}, {b}, {cs};
      wmma.store.d.sync.aligned.{ld}.{shape}{space}.{d} [%rd4], {ds}{strides[3]}; ret;"""


POINTERS = " ".join(f"ld.param.u64 %rd{i + 1}, [p{i}];" for i in range(1, 4))


def encode(values: np.ndarray, kind: str) -> np.ndarray:
    if kind == "bf16":
        return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return values.astype(NUMPY[kind])


def stored(values: np.ndarray, layout: str, stride: int = 0) -> np.ndarray:
    """A matrix as it lies in memory, with rows (or columns) ``stride`` elements apart."""
    lines = values if layout == "r" else values.T
    out = np.zeros((lines.shape[0], stride or lines.shape[1]), dtype=values.dtype)
    out[:, : lines.shape[1]] = lines
    return out


def factors(kind: str, shape: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    m, n, k = sizes(shape)
    low, high = {"s8": (-128, 128), "u8": (0, 256)}.get(kind, (-32, 33))
    scale = 1 if kind in ("s8", "u8") else 8
    a, b = RNG.integers(low, high, (m, k)) / scale, RNG.integers(low, high, (k, n)) / scale
    return a, b, RNG.integers(-50, 50, (m, n)).astype(float)


CASES = [(kind, shape, d, c) for kind, shape in FRAGMENTS
         for d, c in ({"f16": product(("f16", "f32"), repeat=2), "s8": [("s32", "s32")], "u8": [("s32", "s32")],
                       "f64": [("f64", "f64")]}.get(kind, [("f32", "f32")]))]  # fmt: skip


@pytest.mark.parametrize(("kind", "shape", "d", "c"), CASES)
def test_products(kind: str, shape: str, d: str, c: str) -> None:
    """All sums are exact in f32 (and, with halved factors, the f16 results are rounded once)."""
    a, b, third = factors(kind, shape)
    for layouts in ("rrrr", "rcrc", "crcr", "cccc"):
        out = np.zeros((sizes(shape)[0], sizes(shape)[1]), dtype=NUMPY[d])
        out = out if layouts[3] == "r" else np.ascontiguousarray(out.T)
        args = [
            stored(encode(a, kind), layouts[0]),
            stored(encode(b, kind), layouts[1]),
            stored(third.astype(NUMPY[c]), layouts[2]),
            out,
        ]
        launch(kernel(POINTERS + code(kind, shape, d, c, layouts), FOUR), args, outputs={3})
        expected = (a @ b + third).astype(NUMPY[d])
        assert ((out if layouts[3] == "r" else out.T) == expected).all()


@pytest.mark.parametrize("rounding", ["f64.f64.f64.f64.rn", "rn.f64.f64.f64.f64"])
def test_products_of_doubles_may_say_how_they_round(rounding: str) -> None:
    """nvcc writes ``.rn`` for ``mma_sync`` of doubles; all sums are exact."""
    a, b, third = factors("f64", "m8n8k4")
    out = np.zeros((8, 8))
    text = code("f64", "m8n8k4", "f64", "f64", "rcrr").replace("f64.f64.f64.f64", rounding)
    launch(kernel(POINTERS + text, FOUR), [a, stored(b, "c"), third, out], outputs={3})
    assert (out == a @ b + third).all()


@pytest.mark.parametrize(
    "form", ["f64.f64.f64.f64.rn.rn", "rn.f64.f64.f64.f64.rn", "f64.f64.f64.f64.rz", "f64.f64.f64.f64.rn.satfinite"]
)
def test_roundings_that_do_not_exist(form: str) -> None:
    for product_ in (f"wmma.mma.sync.aligned.row.col.m8n8k4.{form}", f"mma.sync.aligned.m8n8k4.row.col.{form}"):
        with pytest.raises(PtxSyntaxError, match="unknown instruction"):
            launch(kernel(f"{REGISTERS} {product_} {{%g0, %g1}}, {{%g2}}, {{%g3}}, {{%g4, %g5}}; ret;"), [np.zeros(1)])


def test_sub_matrices_through_shared_memory() -> None:
    """Each of two warps multiplies a tile of wider matrices that lie in shared memory; the second one is 16 columns on."""
    a, b = RNG.integers(-8, 9, (16, 16)).astype(np.float16), RNG.integers(-8, 9, (16, 32)).astype(np.float16)
    out = np.zeros((16, 40), np.float32)
    four = "{%r10, %r11, %r12, %r13}"
    copy_a, copy_b = (f"ld.global.v4.b32 {four}, [%rd{i}]; st.shared.v4.b32 [%rd{i + 4}], {four};" for i in (1, 2))
    sums, left, right, zeros = names("%w", 8, 8), names("%a", 0, 8), names("%a", 8, 8), names("%w", 0, 8)
    body = f"""{REGISTERS} ld.param.u64 %rd2, [p1]; ld.param.u64 %rd3, [p2]; mov.u64 %rd9, a; mov.u64 %rd10, b;
      mul.wide.u32 %rd11, %r1, 16; add.s64 %rd1, %rd1, %rd11; add.s64 %rd2, %rd2, %rd11; add.s64 %rd5, %rd9, %rd11;
      add.s64 %rd6, %rd10, %rd11; setp.ge.u32 %p1, %r1, 32; @%p1 bra ON; {copy_a} ON: {copy_b} bar.sync 0;
      shr.u32 %r2, %r1, 5; mul.wide.u32 %rd12, %r2, 32; add.s64 %rd10, %rd10, %rd12; mad.wide.u32 %rd3, %r2, 64, %rd3;
      wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {left}, [%rd9];
      wmma.load.b.sync.aligned.row.m16n16k16.shared.f16 {right}, [%rd10], 32;
      {" ".join(f"mov.f32 %w{i}, 0f00000000;" for i in range(8))}
      wmma.mma.sync.aligned.row.row.m16n16k16.f32.f32 {sums}, {left}, {right}, {zeros};
      {" ".join(f"add.f32 %w{i + 8}, %w{i + 8}, 0f3F800000;" for i in range(8))}
      mov.u32 %r3, 40; wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%rd3], {sums}, %r3; ret;"""
    params = ".param .u64 p0, .param .u64 p1, .param .u64 p2"
    shared = ".shared .align 32 .b8 a[512]; .shared .align 32 .b8 b[1024];"
    result = launch(kernel(body, params, shared), [a, b, out], block=64, detailed_counters=True)
    assert (out[:, :32] == a.astype(float) @ b.astype(float) + 1).all() and not out[:, 32:].any()
    # two warps: A and B of 512 bytes each from shared memory, D of 1024 bytes; 2 * 16^3 operations each
    c = result.counters
    assert (c.mma_count, c.mma_flops, c.warp_instructions["wmma.load"], c.warp_instructions["wmma.store"]) == (
        2,
        16384,
        4,
        2,
    )
    assert (c.shared_load_bytes, c.global_store_bytes) == (2048, 2048)
    assert (
        c.shared_wavefronts == 4 * 4 + 4 * 3 and c.shared_wavefronts_ideal == c.shared_wavefronts
    )  # loads; stores of 3 warps
    assert c.global_sectors == 16 * 3 + 32 * 2  # copies in; each row of D has 64 bytes


def test_elementwise_work_on_fragments() -> None:
    """Fragments that hold every element twice still agree after each has been doubled."""
    a, b, third = factors("f16", "m32n8k16")
    doubled = " ".join(f"add.f16x2 %a{i}, %a{i}, %a{i};" for i in range(8))
    text = code("f16", "m32n8k16", "f32", "f32", "rrrr").replace("wmma.load.c", doubled + " wmma.load.c")
    out = np.zeros((32, 8), np.float32)
    launch(kernel(POINTERS + text, FOUR), [a.astype(np.float16), b.astype(np.float16), third.astype(np.float32), out])
    assert (out == 2 * a @ b + third).all()


@pytest.mark.parametrize("saturate", [False, True])
def test_integer_overflow(saturate: bool) -> None:
    """16 products of 255 * 255 on top of 2^31 - 1 wrap around, or stay there."""
    a = np.full((8, 16), 255, np.uint8)
    c, out = np.full((8, 32), 2**31 - 1, np.int32), np.zeros((8, 32), np.int32)
    text = code("u8", "m8n32k16", "s32", "s32", "rrrr")
    text = text.replace("u8.u8.s32 ", "u8.u8.s32.satfinite ") if saturate else text
    launch(kernel(POINTERS + text, FOUR), [a, np.full((16, 32), 255, np.uint8), c, out], outputs={3})
    assert (out == (2**31 - 1 if saturate else 2**31 - 1 + 16 * 255 * 255 - 2**32)).all()


def run_broken(change: tuple[str, str], kind: str, what: str, **options: Any) -> None:
    text = kernel(POINTERS + code("f16", "m16n16k16", "f32", "f32", "rrrr").replace(*change), FOUR)
    arrays = [np.zeros((16, 16), np.float16), np.zeros((16, 16), np.float16), np.zeros((16, 16), np.float32)]
    error = fails(kind, text, [*arrays, np.zeros((16, 16), np.float32)], **options)
    assert what in error.message


def test_checks() -> None:
    run_broken(("wmma.load.a", "mad.wide.u32 %rd1, %r1, 32, %rd1; wmma.load.a"), "convergence", "different matrices")
    run_broken(("wmma.load.b", "add.u32 %r9, %r1, 16; wmma.load.b"), "uninitialised", "output", outputs={1})
    run_broken(("wmma.load.a", "add.s64 %rd1, %rd1, 16; wmma.load.a"), "alignment", "multiple of 32 bytes")
    run_broken(("wmma.store.d", "add.s64 %rd4, %rd4, 32; wmma.store.d"), "bounds", "4 bytes outside")
    run_broken(("wmma.mma", "setp.lt.u32 %p1, %r1, 16; @%p1 wmma.mma"), "convergence", "the guard holds")
    run_broken(("wmma.load.c", "setp.lt.u32 %p1, %r1, 16; @%p1 exit; wmma.load.c"), "convergence", "has exited")
    shared = code("f16", "m16n16k16", "f32", "f32", "rrrr", shared=True).replace("[%rd4]", "[%rd3]")
    body = "mov.u64 %rd1, s; add.s64 %rd2, %rd1, 512; add.s64 %rd3, %rd1, 1024;" + shared
    buffer = ".shared .align 32 .b8 s[2048];"
    fails("uninitialised", kernel(body, shared=buffer), [np.zeros(1)])
    quiet = kernel(body, shared=buffer)
    launch(quiet, [np.zeros(1)], checks=Checks.none())
    fill = " ".join(f"st.shared.v4.b32 [%rd5+{512 * i}], {{%r9, %r9, %r9, %r9}};" for i in range(4))
    fill = f"mov.u32 %r9, 0; mov.u64 %rd5, s; mad.wide.u32 %rd5, %r1, 16, %rd5; {fill}"
    fails("race", kernel(fill + body, shared=buffer), [np.zeros(1)])
    launch(kernel(fill + "bar.warp.sync -1;" + body, shared=buffer), [np.zeros(1)])


MISSING = ["load.a.sync.aligned.row.m16n16k8.f16", "load.a.sync.aligned.m16n16k16.f16", "load.d.sync.aligned.row.m16n16k16.f32",
           "load.c.sync.aligned.row.m16n16k16.bf16", "load.a.sync.aligned.row.m16n16k16.local.f16",
           "load.a.sync.aligned.row.col.m16n16k16.f16", "load.a.aligned.row.m16n16k16.f16"]  # fmt: skip


@pytest.mark.parametrize("form", MISSING)
def test_forms_that_do_not_exist(form: str) -> None:
    with pytest.raises(PtxSyntaxError, match="unknown instruction"):
        launch(kernel(f"{REGISTERS} wmma.{form} {names('%a', 0, 8)}, [%rd1]; ret;"), [np.zeros(1)])


def test_wrong_numbers_of_registers() -> None:
    with pytest.raises(PtxSyntaxError, match="needs 8 registers, found 4"):
        launch(
            kernel(f"{REGISTERS} wmma.load.a.sync.aligned.row.m16n16k16.f16 {names('%a', 0, 4)}, [%rd1]; ret;"),
            [np.zeros(1)],
        )
    with pytest.raises(PtxSyntaxError, match=r"sm_80"):
        text = kernel(f"{REGISTERS} wmma.load.a.sync.aligned.row.m16n16k16.bf16 {names('%a', 0, 4)}, [%rd1]; ret;")
        launch(text.replace("sm_90", "sm_75"), [np.zeros(1)])


def test_the_fast_engine_leaves_it_to_the_reference_engine() -> None:
    a, b, third = factors("f16", "m16n16k16")
    out = np.zeros((16, 16), np.float32)
    args = [a.astype(np.float16), b.astype(np.float16), third.astype(np.float32), out]
    result = launch(kernel(POINTERS + code("f16", "m16n16k16", "f32", "f32", "rrrr"), FOUR), args, engine="fast")
    assert result.engine == "reference" and "wmma" in result.fallback_reason
    assert (out == a @ b + third).all()
