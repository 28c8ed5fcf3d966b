"""shfl, vote, match, redux, activemask, elect against loops over lanes."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from ptx_harness import kernel, launch

from prism_mlir.runtime.ptx import CheckError

RNG = np.random.default_rng(9)
FULL = "0xffffffff"


def run_warp(code: str, x: np.ndarray, results: int = 1, block: int = 64, **options: Any) -> np.ndarray:
    """Run ``code`` with %r2 = x[thread]; it leaves its results in %r10, %r11."""
    out = np.zeros((block, results), dtype=np.uint32)
    stores = " ".join(f"st.global.b32 [%rd2+{4 * i}], %r{10 + i};" for i in range(results))
    body = f"""ld.param.u64 %rd2, [p1]; mad.wide.u32 %rd1, %r1, 4, %rd1; mad.wide.u32 %rd2, %r1, {4 * results}, %rd2;
      ld.global.b32 %r2, [%rd1]; mov.u32 %r3, %laneid; {code} {stores} ret;"""
    launch(
        kernel(body, ".param .u64 p0, .param .u64 p1"), [x.astype(np.uint32), out], block=block, outputs={1}, **options
    )
    return out


def shuffled(mode: str, lane: int, b: int, c: int) -> tuple[int, bool]:
    """The pseudocode of shfl.sync in the PTX ISA."""
    bval, cval, mask = b & 31, c & 31, c >> 8 & 31
    top, bottom = (lane & mask) | (cval & ~mask & 31), lane & mask
    if mode == "up":
        j = lane - bval
        ok = j >= top
    elif mode == "down":
        j = lane + bval
        ok = j <= top
    elif mode == "bfly":
        j = lane ^ bval
        ok = j <= top
    else:
        j = bottom | (bval & ~mask & 31)
        ok = j <= top
    return (j if ok else lane), ok


@pytest.mark.parametrize(
    ("mode", "b", "c"),
    list(product(["up", "down", "bfly", "idx"], [0, 1, 3, 16, 31], [0x1F, 0, 0x181F, 0x1C07, 0x1000])),
)
def test_shuffle(mode: str, b: int, c: int) -> None:
    x = RNG.integers(0, 2**32, 64)
    got = run_warp(f"shfl.sync.{mode}.b32 %r10|%p1, %r2, {b}, {c}, {FULL}; selp.b32 %r11, 1, 0, %p1;", x, 2)
    for t in range(64):
        j, ok = shuffled(mode, t % 32, b, c)
        assert got[t].tolist() == [x[t // 32 * 32 + j], int(ok)]


def test_shuffle_by_a_register() -> None:
    x = RNG.integers(0, 2**32, 64)
    got = run_warp(f"xor.b32 %r4, %r3, 5; shfl.sync.idx.b32 %r10, %r2, %r4, 31, {FULL};", x)
    assert got[:, 0].tolist() == [x[t // 32 * 32 + (t % 32 ^ 5)] for t in range(64)]


def test_sum_of_a_warp_by_butterflies() -> None:
    x = RNG.integers(0, 2**20, 64)
    code = "mov.b32 %r10, %r2;"
    for step in (16, 8, 4, 2, 1):
        code += f"shfl.sync.bfly.b32 %r5, %r10, {step}, 31, -1; add.u32 %r10, %r10, %r5;"
    assert run_warp(code, x)[:, 0].tolist() == [x[:32].sum()] * 32 + [x[32:].sum()] * 32


def test_votes() -> None:
    x = np.concatenate([RNG.integers(0, 2, 32), np.ones(32), np.zeros(32)]).astype(int)
    code = f"""setp.ne.u32 %p1, %r2, 0; vote.sync.ballot.b32 %r10, %p1, {FULL}; vote.sync.all.pred %p2, %p1, {FULL};
      vote.sync.any.pred %p3, !%p1, {FULL}; vote.sync.uni.pred %p4, %p1, {FULL};
      selp.b32 %r11, 1, 0, %p2; selp.b32 %r12, 1, 0, %p3; selp.b32 %r13, 1, 0, %p4;"""
    got = run_warp(code, x, 4, block=96)
    for w in range(3):
        part = x[32 * w : 32 * w + 32]
        word = sum(int(v) << i for i, v in enumerate(part))
        assert got[32 * w].tolist() == [word, int(part.all()), int((part == 0).any()), int(part.min() == part.max())]


@pytest.mark.parametrize(
    ("name", "kind"),
    [*((n, k) for n in ("add", "min", "max") for k in ("u32", "s32")), ("and", "b32"), ("or", "b32"), ("xor", "b32")],
)
def test_redux(name: str, kind: str) -> None:
    x = RNG.integers(0, 2**32, 64).astype(np.uint32)
    values = [int(v) for v in (x.view(np.int32) if kind == "s32" else x)]
    fold = {"add": lambda a, b: a + b, "min": min, "max": max, "and": lambda a, b: a & b, "or": lambda a, b: a | b,
            "xor": lambda a, b: a ^ b}[name]  # fmt: skip
    got = run_warp(f"redux.sync.{name}.{kind} %r10, %r2, {FULL};", x)[:, 0]
    for w in range(2):
        total = values[32 * w]
        for v in values[32 * w + 1 : 32 * w + 32]:
            total = fold(total, v)
        assert got[32 * w : 32 * w + 32].tolist() == [total & 0xFFFFFFFF] * 32


def test_match_and_elect() -> None:
    x = RNG.integers(0, 4, 64)
    got = run_warp(
        f"match.any.sync.b32 %r10, %r2, {FULL}; elect.sync %r12|%p1, {FULL}; selp.b32 %r11, 1, 0, %p1;", x, 2
    )
    for t in range(64):
        w = t // 32 * 32
        assert got[t].tolist() == [sum(1 << i for i in range(32) if x[w + i] == x[t]), int(t % 32 == 0)]
    same = np.where(np.arange(64) < 32, 7, np.arange(64))
    got = run_warp(f"match.all.sync.b32 %r10|%p1, %r2, {FULL}; selp.b32 %r11, 1, 0, %p1;", same, 2)
    assert got[0].tolist() == [0xFFFFFFFF, 1] and got[40].tolist() == [0, 0]


def test_active_mask_in_a_branch() -> None:
    code = "mov.b32 %r10, 0; setp.lt.u32 %p1, %r3, 8; @%p1 bra IN; bra OUT; IN: activemask.b32 %r10; OUT:"
    got = run_warp(code, np.zeros(64))
    assert got[:, 0].tolist() == ([0xFF] * 8 + [0] * 24) * 2


def test_shuffle_inside_a_branch_with_a_narrow_mask() -> None:
    x = RNG.integers(0, 2**32, 32)
    code = "mov.b32 %r10, 0; setp.ge.u32 %p1, %r3, 16; @%p1 bra OUT; shfl.sync.bfly.b32 %r10, %r2, 1, 31, 0xffff; OUT:"
    got = run_warp(code, x, block=32)
    assert got[:, 0].tolist() == [x[t ^ 1] if t < 16 else 0 for t in range(32)]


@pytest.mark.parametrize(
    ("code", "what"),
    [
        (
            "setp.ge.u32 %p1, %r3, 16; @%p1 bra OUT; shfl.sync.bfly.b32 %r10, %r2, 1, 31, -1; OUT: bar.warp.sync -1;",
            "needs the second thread",
        ),
        ("shfl.sync.bfly.b32 %r10, %r2, 1, 31, 0xffff;", "does not name it"),
        (
            "setp.ge.u32 %p1, %r3, 16; @%p1 bra OUT; shfl.sync.bfly.b32 %r10, %r2, 16, 31, 0xffff; OUT:",
            "does not take part",
        ),
        ("setp.lt.u32 %p1, %r3, 16; @%p1 redux.sync.add.u32 %r10, %r2, -1;", "named in the member mask"),
        ("setp.ge.u32 %p1, %r3, 16; @%p1 exit; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r10}, [%r2];", "has exited"),
    ],
)
def test_incomplete_warps_are_errors(code: str, what: str) -> None:
    with pytest.raises(CheckError, match=what) as caught:
        run_warp("mov.b32 %r10, 0;" + code, np.zeros(32), block=32)
    assert caught.value.kind == "convergence"
    assert caught.value.threads[0][0] == (0, 0, 0)


def test_partial_last_warp() -> None:
    x = RNG.integers(0, 100, 40)
    got = run_warp("setp.ge.u32 %p1, %r1, 32; @%p1 bra TAIL; redux.sync.add.u32 %r10, %r2, -1; bra OUT;"
                   " TAIL: redux.sync.add.u32 %r10, %r2, 0xff; OUT:", x, block=40)  # fmt: skip
    assert got[:, 0].tolist() == [x[:32].sum()] * 32 + [x[32:].sum()] * 8
