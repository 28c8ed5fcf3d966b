"""atom and red: totals and returned values against serial loops."""

from __future__ import annotations

import numpy as np
import pytest
from ptx_harness import kernel, launch

RNG = np.random.default_rng(17)
TWO = ".param .u64 p0, .param .u64 p1"


@pytest.mark.parametrize("space", ["global", "shared", ""])
def test_returned_values_are_a_permutation_of_the_partial_sums(space: str) -> None:
    total, out = np.zeros(1, dtype=np.uint32), np.zeros(96, dtype=np.uint32)
    if space == "global":
        setup, address = "", "%rd1"
    else:
        setup = "mov.u64 %rd4, cell; setp.eq.u32 %p1, %r1, 0; @%p1 st.shared.b32 [%rd4], 0; bar.sync 0;"
        setup += "cvta.shared.u64 %rd5, %rd4;"
        address = "%rd4" if space else "%rd5"
    dot = f".{space}" if space else ""
    body = f"""ld.param.u64 %rd2, [p1]; {setup} add.u32 %r3, %r1, 1; atom{dot}.add.u32 %r2, [{address}], %r3;
      mad.wide.u32 %rd2, %r1, 4, %rd2; st.global.b32 [%rd2], %r2; ret;"""
    launch(kernel(body, TWO, ".shared .align 4 .b8 cell[4];"), [total, out], block=96, outputs={1})
    steps = np.sort(out)
    assert steps[0] == 0 and set(np.diff(np.append(steps, 96 * 97 // 2)).tolist()) == set(range(1, 97))


@pytest.mark.parametrize(
    ("name", "fold", "start"),
    [("add.u32", lambda a, b: (a + b) & 0xFFFFFFFF, 5), ("min.u32", min, 2**31), ("max.s32", None, 0),
     ("and.b32", lambda a, b: a & b, 2**32 - 1),
     ("or.b32", lambda a, b: a | b, 0), ("xor.b32", lambda a, b: a ^ b, 1)],
)  # fmt: skip
def test_reductions_over_blocks(name: str, fold: object, start: int) -> None:
    x, cell = RNG.integers(0, 2**32, 320, dtype=np.uint32), np.array([start], dtype=np.uint32)
    body = f"""ld.param.u64 %rd2, [p1]; mov.u32 %r2, %ctaid.x; mad.lo.u32 %r2, %r2, 64, %r1; mad.wide.u32 %rd1, %r2, 4, %rd1;
      ld.global.b32 %r3, [%rd1]; red.relaxed.gpu.global.{name} [%rd2], %r3; ret;"""
    launch(kernel(body, TWO), [x, cell], block=64, grid=5)
    if fold is None:
        assert cell.view(np.int32)[0] == max(start, int(x.view(np.int32).max()))
        return
    value = start
    for v in x.tolist():
        value = fold(value, v)  # type: ignore[operator]
    assert cell[0] == value


def test_floating_sums() -> None:
    x = RNG.integers(-8, 8, 64).astype(np.float32)  # small integers: every order gives the same sum
    for kind, dtype in (("f32", np.float32), ("f64", np.float64), ("f16", np.float16)):
        cell = np.zeros(1, dtype=dtype)
        convert = {"f32": "", "f64": "cvt.f64.f32 %x, %f1;", "f16": "cvt.rn.f16.f32 %x, %f1;"}[kind]
        declare = {"f32": "", "f64": ".reg .f64 %x;", "f16": ".reg .f16 %x;"}[kind]
        noftz = ".noftz" if kind == "f16" else ""
        body = f"""{declare} ld.param.u64 %rd2, [p1]; mad.wide.u32 %rd1, %r1, 4, %rd1; ld.global.f32 %f1, [%rd1]; {convert}
          red.global.add{noftz}.{kind} [%rd2], {"%f1" if kind == "f32" else "%x"}; ret;"""
        launch(kernel(body, TWO), [x, cell], block=64)
        assert float(cell[0]) == float(x.sum())


def test_increment_decrement_exchange_and_compare() -> None:
    cells = np.array([0, 0, 7, 0], dtype=np.uint32)
    out = np.zeros((40, 2), dtype=np.uint32)
    body = """ld.param.u64 %rd2, [p1]; atom.global.inc.u32 %r2, [%rd1], 9; atom.global.dec.u32 %r3, [%rd1+4], 4;
      atom.global.exch.b32 %r4, [%rd1+8], %r1; atom.global.cas.b32 %r5, [%rd1+12], %r1, 100;
      mad.wide.u32 %rd2, %r1, 8, %rd2; st.global.v2.b32 [%rd2], {%r2, %r3}; ret;"""
    launch(kernel(body, TWO), [cells, out], block=40, outputs={1})
    assert out[:, 0].tolist() == [i % 10 for i in range(40)]
    assert out[:, 1].tolist() == [(5 - i % 5) % 5 for i in range(40)]
    assert cells.tolist() == [40 % 10, 0, 39, 100]


def test_bfloat_pairs_add() -> None:
    cell = np.array([0x3F803F80], dtype=np.uint32)
    launch(
        kernel(
            "setp.ne.u32 %p1, %r1, 0; @%p1 ret; mov.b32 %r2, 0x40003F80; red.global.add.noftz.bf16x2 [%rd1], %r2; ret;"
        ),
        [cell],
    )
    assert cell[0] == 0x40404000
