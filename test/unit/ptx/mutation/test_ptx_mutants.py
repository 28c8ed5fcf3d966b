"""The mutants of a small kernel, counted by hand."""

from __future__ import annotations

from collections import Counter

import pytest
from harness.ptx_mutants import Mutant, mutants
from ptx_harness import HEADER

from prism_mlir.runtime.ptx import PtxSyntaxError
from prism_mlir.runtime.ptx.decode import decode
from prism_mlir.runtime.ptx.parser import parse

# A comment says what each instruction gives; both of its addresses count for a copy.
TEXT = f"""{HEADER}
.visible .entry k(.param .u64 p0) {{
  .reg .b32 %r<20>; .reg .b64 %rd<4>; .reg .pred %p<2>; .shared .align 16 .b8 buf[512];
  ld.param.u64 %rd1, [p0];
  mov.u32 %r1, %tid.x; // init
  mov.u64 %rd2, buf; // init
  setp.lt.u32 %p1, %r1, %r2; // operands
  setp.eq.u32 %p1, %r1, %r2;
  @%p1 ld.global.b32 %r3, [%rd1]; // element 2, widen, guard
  st.shared.v2.b32 [%rd2], {{%r3, %r3}}; // element 2, access 2, widen, init
  st.global.v4.b32 [%rd1], {{%r3, %r3, %r3, %r3}}; // element 2, access 2
  cp.async.cg.shared.global [%rd2], [%rd1], 16; // element 4, access 4
  cp.async.ca.shared.global [%rd2], [%rd1], 8; // element 4, access 4, widen
  cp.async.commit_group; // commit
  cp.async.wait_group 1; // wait, loosen
  cp.async.wait_all; // wait
  bar.sync 0; // barrier
AGAIN:
  ldmatrix.sync.aligned.m8n8.x2.shared.b16 {{%r4, %r5}}, [%rd2]; // element 2, access 2, widen
  mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 // fragment: A 5, B 1, C 2, D 2, A and B 1
    {{%r6, %r7, %r8, %r9}}, {{%r10, %r11, %r12, %r13}}, {{%r4, %r5}}, {{%r14, %r15, %r16, %r17}};
  mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 // C holds one register: A 5, B 1, D 2, A and B 1
    {{%r6, %r7, %r8, %r9}}, {{%r10, %r11, %r12, %r13}}, {{%r4, %r5}}, {{%r14, %r14, %r14, %r14}};
  @%p1 bra AGAIN; // guard 2
  ret;
}}
"""
PROGRAM = parse(TEXT, "k.ptx")
KERNEL = PROGRAM.kernels["k"]
FOUND = list(mutants(KERNEL))


def test_counts() -> None:
    assert Counter(m.kind for m in FOUND) == {
        "barrier": 1, "wait": 2, "loosen": 1, "commit": 1, "element": 2 + 2 + 2 + 4 + 4 + 2, "access": 2 + 2 + 4 + 4 + 2,
        "widen": 4, "guard": 3, "fragment": 11 + 9, "init": 3, "operands": 1,
    }  # fmt: skip


@pytest.mark.parametrize("m", FOUND, ids=lambda m: f"{m.location.line}-{m.kind}")
def test_a_mutant_differs_in_one_instruction(m: Mutant) -> None:
    before, after = KERNEL.body, m.kernel.body
    assert m.original == before[m.pc] and m.location == m.original.location
    assert before[: m.pc] == after[: m.pc] and before[m.pc + 1 :] == after[m.pc + (not m.dropped) :]
    assert m.dropped or after[m.pc] != before[m.pc]
    target = after[m.kernel.labels["AGAIN"]]
    assert target.opcode == "ldmatrix"
    try:
        decode(PROGRAM, m.kernel)
    except PtxSyntaxError as error:
        assert error.location == m.location
