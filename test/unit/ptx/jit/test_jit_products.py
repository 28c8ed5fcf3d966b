"""Tensor-core products of what ldmatrix loads, in compiled code: every way into the tables gives what the reference engine gives.

Values are small integers, for which f32 sums are exact, so that NumPy's product is the right one too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ptx_harness import kernel, launch

from prism_mlir.runtime.ptx import CheckError
from prism_mlir.runtime.ptx.machine import FAST_CHECKS

RNG = np.random.default_rng(5)
SHARED = ".shared .align 128 .b8 s[2048];"
TWO = ".param .u64 p0, .param .u64 p1"
# Each of 32 threads puts 64 bytes of the second parameter into shared memory; %r10 and %rd10 point to 16 bytes for each lane.
START = """mov.u64 %rd5, s; mad.wide.u32 %rd6, %r1, 64, %rd5; ld.param.u64 %rd3, [p1]; mad.wide.u32 %rd4, %r1, 64, %rd3;
  ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%rd4]; st.shared.v4.u32 [%rd6], {%r2, %r3, %r4, %r5};
  ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%rd4+16]; st.shared.v4.u32 [%rd6+16], {%r2, %r3, %r4, %r5};
  ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%rd4+32]; st.shared.v4.u32 [%rd6+32], {%r2, %r3, %r4, %r5};
  ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%rd4+48]; st.shared.v4.u32 [%rd6+48], {%r2, %r3, %r4, %r5}; bar.sync 0;
  mov.u32 %r10, s; mad.lo.u32 %r10, %r1, 16, %r10; mad.wide.u32 %rd10, %r1, 16, %rd5; """
END = """mad.wide.u32 %rd1, %r1, 16, %rd1; st.global.v4.u32 [%rd1], {%r20, %r21, %r22, %r23}; ret;"""
MMA = "mma.sync.aligned.{form} {{%r20, %r21, %r22, %r23}}, {{{a}}}, {{{b}}}, {{0, 0, 0, 0}};"
F16, BF16 = "m16n8k16.row.col.f32.f16.f16.f32", "m16n8k16.row.col.f32.bf16.bf16.f32"
TF32, S8 = "m16n8k8.row.col.f32.tf32.tf32.f32", "m16n8k32.row.col.s32.s8.u8.s32"


def load(registers: str, place: str, trans: bool = False) -> str:
    count = len(registers.split(","))
    return f"ldmatrix.sync.aligned.m8n8.x{count}{'.trans' * trans}.shared.b16 {{{registers}}}, [{place}];"


def both(code: str, data: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Sums of lane l in row l, the same on both engines."""
    outs = []
    for engine in ("reference", "fast"):
        out = np.zeros((32, 4), np.uint32)
        text = kernel(START + code + END, TWO, SHARED)
        result = launch(text, [out, data.copy()], engine=engine, checks=FAST_CHECKS)
        assert result.engine == engine, result.fallback_reason
        outs.append(out)
    assert outs[0].tobytes() == outs[1].tobytes()
    return outs[1]


def full(out: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The 16 x 8 matrix: lane 4 g + t has rows g and g + 8, columns 2 t and 2 t + 1."""
    parts = out.view(np.float32).reshape(8, 4, 2, 2)
    return parts.transpose(2, 0, 1, 3).reshape(16, 8)


def halves() -> np.ndarray[Any, Any]:
    return RNG.integers(-8, 8, (128, 8)).astype(np.float16)


@pytest.mark.parametrize("a_trans", [False, True])
@pytest.mark.parametrize("b_trans", [False, True])
@pytest.mark.parametrize("place", ["%r10", "%rd10"])
def test_products_of_loaded_matrices(a_trans: bool, b_trans: bool, place: str) -> None:
    """Matrices 0 to 3 are A's quarters (upper left, lower left, upper right, lower right), 4 and 5 B's halves by columns."""
    data = halves()
    out = both(
        load("%r11, %r12, %r13, %r14", place, a_trans)
        + load("%r15, %r16", f"{place}+512", b_trans)
        + MMA.format(form=F16, a="%r11, %r12, %r13, %r14", b="%r15, %r16"),
        data,
    )
    m = data.astype(np.float64).reshape(16, 8, 8)
    q = [x.T if a_trans else x for x in m[:4]]
    a = np.block([[q[0], q[2]], [q[1], q[3]]])
    b = np.vstack([x if b_trans else x.T for x in m[4:6]])
    assert (full(out) == a @ b).all()


@pytest.mark.parametrize(("form", "a", "b"), [
    (BF16, "%r11, %r12, %r13, %r14", "%r15, %r16"), (TF32, "%r11, %r12, %r13, %r14", "%r15, %r16"),
    (S8, "%r11, %r12, %r13, %r14", "%r15, %r16"), (F16, "%r14, %r11, %r12, %r13", "%r16, %r15"),
])  # fmt: skip
def test_other_types_and_orders(form: str, a: str, b: str) -> None:
    data = RNG.integers(0x3C00, 0x4400, (128, 8)).astype(np.uint16)  # no NaN in any type
    both(
        load("%r11, %r12, %r13, %r14", "%rd10") + load("%r15, %r16", "%rd10+512") + MMA.format(form=form, a=a, b=b),
        data,
    )


ONCE = load("%r11, %r12, %r13, %r14", "%rd10") + load("%r15, %r16, %r17, %r18", "%rd10+512", True)
FIRST = MMA.format(form=F16, a="%r11, %r12, %r13, %r14", b="%r15, %r16")
SECOND = MMA.format(form=F16, a="%r11, %r12, %r13, %r14", b="%r17, %r18").replace(
    "{0, 0, 0, 0}", "{%r20, %r21, %r22, %r23}"
)


@pytest.mark.parametrize("code", [
    ONCE + FIRST + SECOND,  # one A, two B from one load
    ONCE + FIRST + "add.u32 %r20, %r20, %r13;",  # a register that is also read otherwise
    ONCE + FIRST + load("%r11, %r12, %r13, %r14", "%rd10+1024") + SECOND,  # loaded again in between
    ONCE + FIRST + "mov.u32 %r12, 0x3C003C00;" + SECOND,  # changed in between
    ONCE + FIRST + "st.shared.u32 [%rd10], %r1; bar.warp.sync -1;" + SECOND,  # shared memory changes behind the load
    ONCE + "st.shared.v4.u32 [%rd10+512], {0, 0, 0, 0};" + FIRST + SECOND,
    ONCE + "setp.lt.u32 %p1, %r1, 99; @%p1 " + FIRST + SECOND,  # a guarded product
    ONCE + FIRST + "mov.u32 %r30, 0; L: " + SECOND + "add.u32 %r30, %r30, 1; setp.lt.u32 %p1, %r30, 3; @%p1 bra L;",
    load("%r15, %r16, %r17, %r18", "%rd10", True) + MMA.format(form=F16, a="%r15, %r16, %r17, %r18", b="%r17, %r15"),
    load("%r11, %r12", "%rd10") + load("%r13, %r14", "%rd10+256") + load("%r15", "%rd10+512") + load("%r16", "%rd10+640")
    + FIRST,  # operands from several loads
])  # fmt: skip
def test_loads_that_products_do_not_use_alone(code: str) -> None:
    both(code, halves())


def test_a_race_with_a_load_into_tables() -> None:
    text = kernel(START.replace("bar.sync 0;", "") + ONCE + FIRST + END, TWO, SHARED)
    with pytest.raises(CheckError) as caught:
        launch(text, [np.zeros((32, 4), np.uint32), halves()], engine="fast")
    assert caught.value.kind == "race"
