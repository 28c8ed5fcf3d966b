"""Tensor-core layouts against plain matrix products; the layouts are restated from the PTX ISA element by element."""

from __future__ import annotations

import numpy as np
import pytest
from ptx_harness import kernel, launch

RNG = np.random.default_rng(13)
# type: bits of an element, K shapes
CASES = [("f16", 16, 16), ("f16", 16, 8), ("bf16", 16, 16), ("bf16", 16, 8), ("tf32", 32, 8), ("tf32", 32, 4),
         ("s8", 8, 32), ("u8", 8, 16)]  # fmt: skip


def place_a(kind: str, k: int, lane: int, i: int) -> tuple[int, int]:
    """Row and column of element ``a_i`` of a lane (figures of "Matrix Fragments for mma.m16n8kK")."""
    g, t = lane >> 2, lane & 3
    if kind in ("f16", "bf16"):
        row = g if i < 2 or 4 <= i < 6 else g + 8
        return row, t * 2 + (i & 1) + (8 if i >= 4 else 0)
    if kind == "tf32":
        return (g if i in (0, 2) else g + 8), (t if i < 2 else t + 4)
    row = g if i < 4 or 8 <= i < 12 else g + 8
    return row, t * 4 + (i & 3) + (16 if i >= 8 else 0)


def place_b(kind: str, lane: int, i: int) -> tuple[int, int]:
    g, t = lane >> 2, lane & 3
    if kind in ("f16", "bf16"):
        return t * 2 + (i & 1) + (8 if i >= 2 else 0), g
    if kind == "tf32":
        return (t if i == 0 else t + 4), g
    return t * 4 + (i & 3) + (16 if i >= 4 else 0), g


def fragment(matrix: np.ndarray, kind: str, bits: int, k: int, side: str) -> np.ndarray:
    """(32, registers) of uint32 from a matrix of element bits."""
    count = (16 if side == "a" else 8) * k // 32
    elements = np.zeros((32, count), dtype=f"u{bits // 8}")
    for lane in range(32):
        for i in range(count):
            row, column = place_a(kind, k, lane, i) if side == "a" else place_b(kind, lane, i)
            elements[lane, i] = matrix[row, column]
    return elements.view(np.uint32)


def encode(values: np.ndarray, kind: str) -> np.ndarray:
    if kind == "f16":
        return values.astype(np.float16).view(np.uint16)
    if kind == "bf16":
        return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    if kind == "tf32":
        return values.astype(np.float32).view(np.uint32) & 0xFFFFE000
    return values.astype(np.int8 if kind == "s8" else np.uint8).view(np.uint8)


def run_mma(
    name: str, a: np.ndarray, b: np.ndarray, c: np.ndarray, d_regs: int, *, exact_mma: bool = False
) -> np.ndarray:
    out = np.zeros((32, d_regs), dtype=np.uint32)
    lists = [("a", a, 10), ("b", b, 20), ("c", c, 26)]
    body = "ld.param.u64 %rd2, [p1]; ld.param.u64 %rd3, [p2]; ld.param.u64 %rd4, [p3];"
    for i, (_, values, first) in enumerate(lists):
        n = values.shape[1]
        body += f"mad.wide.u32 %rd{i + 1}, %r1, {4 * n}, %rd{i + 1};"
        body += " ".join(f"ld.global.b32 %r{first + j}, [%rd{i + 1}+{4 * j}];" for j in range(n))
    regs = [", ".join(f"%r{first + j}" for j in range(values.shape[1])) for _, values, first in lists]
    d = ", ".join(f"%r{32 + j}" for j in range(d_regs))
    body += f"{name} {{{d}}}, {{{regs[0]}}}, {{{regs[1]}}}, {{{regs[2]}}};"
    body += f"mad.wide.u32 %rd4, %r1, {4 * d_regs}, %rd4;"
    body += " ".join(f"st.global.b32 [%rd4+{4 * j}], %r{32 + j};" for j in range(d_regs)) + "ret;"
    params = ", ".join(f".param .u64 p{i}" for i in range(4))
    launch(kernel(body, params), [a, b, c, out], outputs={3}, exact_mma=exact_mma)
    return out


def accumulator(values: np.ndarray) -> np.ndarray:
    """16 × 8 values of 32 bits to (32, 4) registers."""
    regs = np.zeros((32, 4), dtype=values.dtype)
    for lane in range(32):
        for i in range(4):
            regs[lane, i] = values[(lane >> 2) + 8 * (i >= 2), (lane & 3) * 2 + (i & 1)]
    return regs.view(np.uint32)


@pytest.mark.parametrize(("kind", "bits", "k"), CASES)
def test_products(kind: str, bits: int, k: int) -> None:
    integer = kind in ("s8", "u8")
    low = -128 if kind == "s8" else 0
    av = RNG.integers(low, low + 256, (16, k)) if integer else RNG.integers(-64, 65, (16, k)) / 16
    bv = RNG.integers(low, low + 256, (k, 8)) if integer else RNG.integers(-64, 65, (k, 8)) / 16
    cv = RNG.integers(-99, 99, (16, 8)).astype(np.int32 if integer else np.float32)
    total = "s32" if integer else "f32"
    name = f"mma.sync.aligned.m16n8k{k}.row.col.{total}.{kind}.{kind}.{total}"
    out = run_mma(
        name,
        fragment(encode(av, kind), kind, bits, k, "a"),
        fragment(encode(bv, kind), kind, bits, k, "b"),
        accumulator(cv),
        4,
    )
    assert (out == accumulator((av @ bv + cv).astype(cv.dtype))).all()  # these sums are exact in f32 and s32


@pytest.mark.parametrize("k", [8, 16])
def test_half_accumulators(k: int) -> None:
    av, bv, cv = RNG.integers(-4, 5, (16, k)), RNG.integers(-4, 5, (k, 8)), RNG.integers(-50, 50, (16, 8))

    def halves(values: np.ndarray) -> np.ndarray:
        regs = np.zeros((32, 4), dtype=np.float16)
        for lane in range(32):
            for i in range(4):
                regs[lane, i] = values[(lane >> 2) + 8 * (i >= 2), (lane & 3) * 2 + (i & 1)]
        return regs.view(np.uint32)

    name = f"mma.sync.aligned.m16n8k{k}.row.col.f16.f16.f16.f16"
    a, b = encode(av.astype(float), "f16"), encode(bv.astype(float), "f16")
    out = run_mma(name, fragment(a, "f16", 16, k, "a"), fragment(b, "f16", 16, k, "b"), halves(cv), 2)
    assert (out == halves(av @ bv + cv)).all()


@pytest.mark.parametrize(("count", "trans"), [(c, t) for c in (1, 2, 4) for t in (False, True)])
def test_ldmatrix(count: int, trans: bool) -> None:
    data = RNG.integers(0, 65536, (32, 8), dtype=np.uint16)  # 32 rows of 8 halves, in shared memory in another order
    order = RNG.permutation(32).astype(np.uint32)
    out = np.zeros((32, count), dtype=np.uint32)
    regs = ", ".join(f"%r{10 + i}" for i in range(count))
    body = f"""ld.param.u64 %rd2, [p1]; ld.param.u64 %rd3, [p2]; mov.u64 %rd4, tile; mul.wide.u32 %rd5, %r1, 16;
      add.s64 %rd1, %rd1, %rd5; ld.global.v4.b32 {{%r2, %r3, %r4, %r5}}, [%rd1]; add.s64 %rd6, %rd4, %rd5;
      st.shared.v4.b32 [%rd6], {{%r2, %r3, %r4, %r5}}; bar.warp.sync -1;
      mad.wide.u32 %rd2, %r1, 4, %rd2; ld.global.u32 %r6, [%rd2]; mad.wide.u32 %rd7, %r6, 16, %rd4;
      ldmatrix.sync.aligned.m8n8.x{count}{".trans" if trans else ""}.shared.b16 {{{regs}}}, [%rd7];
      mad.wide.u32 %rd3, %r1, {4 * count}, %rd3;
      {" ".join(f"st.global.b32 [%rd3+{4 * i}], %r{10 + i};" for i in range(count))} ret;"""
    text = kernel(body, ".param .u64 p0, .param .u64 p1, .param .u64 p2", ".shared .align 16 .b8 tile[512];")
    launch(text, [data, order, out], outputs={2})
    rows = data[order]
    for lane in range(32):
        for i in range(count):
            matrix = rows[8 * i : 8 * i + 8]
            r, c = lane // 4, 2 * (lane % 4)
            pair = (matrix[c, r], matrix[c + 1, r]) if trans else (matrix[r, c], matrix[r, c + 1])
            assert out[lane, i] == int(pair[0]) | int(pair[1]) << 16


def test_stmatrix_undoes_ldmatrix() -> None:
    data, out = RNG.integers(0, 65536, 256, dtype=np.uint16), np.zeros(256, dtype=np.uint16)
    body = """ld.param.u64 %rd2, [p1]; mov.u64 %rd4, tile; mov.u64 %rd8, other; mul.wide.u32 %rd5, %r1, 16;
      add.s64 %rd1, %rd1, %rd5; ld.global.v4.b32 {%r2, %r3, %r4, %r5}, [%rd1]; add.s64 %rd6, %rd4, %rd5; add.s64 %rd9, %rd8, %rd5;
      st.shared.v4.b32 [%rd6], {%r2, %r3, %r4, %r5}; bar.warp.sync -1;
      ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%r6, %r7, %r8, %r9}, [%rd6];
      stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%rd9], {%r6, %r7, %r8, %r9}; bar.warp.sync -1;
      ld.shared.v4.b32 {%r10, %r11, %r12, %r13}, [%rd9]; add.s64 %rd2, %rd2, %rd5;
      st.global.v4.b32 [%rd2], {%r10, %r11, %r12, %r13}; ret;"""
    shared = ".shared .align 16 .b8 tile[512]; .shared .align 16 .b8 other[512];"
    launch(kernel(body, ".param .u64 p0, .param .u64 p1", shared), [data, out], outputs={1})
    assert (out == data).all()


def test_movmatrix_transposes() -> None:
    data, out = RNG.integers(0, 65536, (8, 8), dtype=np.uint16), np.zeros((8, 8), dtype=np.uint16)
    body = """ld.param.u64 %rd2, [p1]; mul.wide.u32 %rd3, %r1, 4; add.s64 %rd1, %rd1, %rd3; add.s64 %rd2, %rd2, %rd3;
      ld.global.b32 %r2, [%rd1]; movmatrix.sync.aligned.m8n8.trans.b16 %r3, %r2; st.global.b32 [%rd2], %r3; ret;"""
    launch(kernel(body, ".param .u64 p0, .param .u64 p1"), [data, out], outputs={1})
    assert (out == data.T).all()


@pytest.mark.parametrize("form", ["f64.f64.f64.f64", "f64.f64.f64.f64.rn", "rn.f64.f64.f64.f64"])
def test_double_precision_product(form: str) -> None:
    """nvcc and CUTLASS write the rounding, which is the one there is, at the end."""
    a, b, c = RNG.standard_normal((8, 4)), RNG.standard_normal((4, 8)), RNG.standard_normal((8, 8))
    out = np.zeros((8, 8))
    body = f"""ld.param.u64 %rd2, [p1]; ld.param.u64 %rd3, [p2]; ld.param.u64 %rd4, [p3]; mul.wide.u32 %rd5, %r1, 8;
    mul.wide.u32 %rd6, %r1, 16;
      add.s64 %rd1, %rd1, %rd5; add.s64 %rd2, %rd2, %rd5; add.s64 %rd3, %rd3, %rd6; add.s64 %rd4, %rd4, %rd6;
      ld.global.b64 %rd7, [%rd1]; ld.global.b64 %rd8, [%rd2]; ld.global.v2.b64 {{%rd9, %rd10}}, [%rd3];
      mma.sync.aligned.m8n8k4.row.col.{form} {{%rd11, %rd12}}, {{%rd7}}, {{%rd8}}, {{%rd9, %rd10}};
      st.global.v2.b64 [%rd4], {{%rd11, %rd12}}; ret;"""
    params = ", ".join(f".param .u64 p{i}" for i in range(4))
    launch(kernel(body, params), [a, np.ascontiguousarray(b.T), c, out], outputs={3})
    assert np.allclose(out, a @ b + c, rtol=1e-14)
