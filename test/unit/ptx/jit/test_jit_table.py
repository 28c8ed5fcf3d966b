"""Every opcode of the instruction table: compiled, or left to the reference engine for a reason that names it.

That the results are right is checked elsewhere: ``run_op`` runs each arithmetic instruction on both engines, the other tests of
this directory the rest. Here both engines only have to agree.
"""

from __future__ import annotations

import numpy as np
import pytest
from ptx_harness import kernel, launch

from prism_mlir.runtime.ptx import Checks
from prism_mlir.runtime.ptx.machine import FAST_CHECKS
from prism_mlir.runtime.ptx.table import TABLE

START = """.reg .f64 %d<9>; .reg .pred %q<9>; ld.param.u64 %rd3, [p1];
  mad.lo.u32 %r2, %r1, 0x9e3779b1, 12345; mad.lo.u32 %r3, %r2, 7, %r1; xor.b32 %r4, %r3, %r2; cvt.rn.f32.s32 %f1, %r2;
  cvt.rn.f32.s32 %f2, %r3; cvt.f64.f32 %d1, %f1; cvt.f64.f32 %d2, %f2; cvt.u16.u32 %h1, %r2; cvt.u16.u32 %h2, %r3;
  cvt.u64.u32 %rd4, %r2; mad.wide.u32 %rd5, %r3, 77, %rd4; setp.lt.u32 %q1, %r2, %r3; mov.u64 %rd6, s;
  and.b32 %r5, %r1, 31; shr.u32 %r6, %r1, 5; mad.wide.u32 %rd7, %r5, 16, %rd6; mad.wide.u32 %rd7, %r6, 512, %rd7;
  cvta.shared.u64 %rd8, %rd7; mad.wide.u32 %rd9, %r1, 16, %rd3; mov.u32 %r10, %r1; mov.u32 %r11, %r2; mov.u32 %r12, %r3;
  mov.u32 %r13, %r4; and.b32 %r14, %r2, 0x3FFF3FFF; and.b32 %r15, %r3, 0x3FFF3FFF;
  mov.u64 %rd10, %rd4; mov.u64 %rd11, %rd5; mov.f32 %f3, %f1; mov.f64 %d3, %d1; mov.b16 %h3, %h1;
  setp.ne.u32 %q2, %r1, 3; st.shared.v4.b32 [%rd7], {%r1, %r2, %r3, %r4}; bar.sync 0; """
# Whatever an instruction may have written is stored.
END = """ mad.wide.u32 %rd1, %r1, 48, %rd1; cvt.u32.u16 %r20, %h3; selp.u32 %r21, 1, 0, %q2; st.global.v4.b32 [%rd1], {%r10, %r11,
  %r12, %r13}; st.global.v2.b64 [%rd1+16], {%rd10, %rd11}; mov.b32 %r22, %f3; mov.b64 %rd12, %d3; add.u64 %rd12, %rd12, %rd11;
  st.global.v2.b32 [%rd1+32], {%r20, %r22}; st.global.b64 [%rd1+40], %rd12; OUT: ret;"""
SAMPLES: dict[str, tuple[str, ...]] = {
    "abs": ("abs.s32 %r10, %r2;", "abs.f32 %f3, %f1;", "abs.f16 %h3, %h1;", "abs.s64 %rd10, %rd5;"),
    "activemask": ("activemask.b32 %r10;",),
    "add": (
        "add.sat.s32 %r10, %r2, %r3;", "add.rz.f32 %f3, %f1, %f2;", "add.f16x2 %r10, %r14, %r15;",
        "add.rn.bf16x2 %r10, %r14, %r15;", "add.rn.f64 %d3, %d1, %d2;", "add.rp.f64 %d3, %d1, %d2;",
        "add.cc.u32 %r10, %r2, %r3; addc.u32 %r11, %r4, %r2;",
    ),
    "addc": ("add.cc.u32 %r10, %r2, %r3; addc.cc.u32 %r11, %r4, %r2; addc.u32 %r12, 0, 0;",),
    "and": ("and.b32 %r10, %r2, %r3;", "and.pred %q2, %q1, %q2;", "and.b64 %rd10, %rd5, %rd4;"),
    "applypriority": ("applypriority.global.L2::evict_normal [%rd9], 128;",),
    "atom": (
        "atom.global.add.u32 %r10, [%rd3], %r1;", "atom.shared.min.s32 %r10, [%rd6], %r2;",
        "atom.add.f32 %f3, [%rd3], 0f3F800000;",
        "atom.global.cas.b64 %rd10, [%rd3], %rd4, %rd5;", "atom.global.exch.b32 %r10, [%rd3], %r2;",
        "atom.global.inc.u32 %r10, [%rd3], 5;", "atom.global.dec.u32 %r10, [%rd3], 5;",
    ),
    "bar": (
        "bar.sync 0;", "bar.sync 1, 64;", "mov.u32 %r7, 2; bar.sync %r7;", "bar.warp.sync -1;", "bar.arrive 3, 128;",
        "bar.red.popc.u32 %r10, 0, %q1;", "bar.red.and.pred %q2, 0, %q1;", "bar.red.or.pred %q2, 0, 64, !%q1;",
    ),
    "barrier": ("barrier.sync 0;", "barrier.sync.aligned 0, 64;", "barrier.red.popc.u32 %r10, 1, %q1;"),
    "bfe": ("bfe.s32 %r10, %r2, 3, 7;", "bfe.u64 %rd10, %rd5, 3, 17;"),
    "bfi": ("bfi.b32 %r10, %r2, %r3, 3, 7;",),
    "bfind": ("bfind.s32 %r10, %r2;", "bfind.shiftamt.u64 %r10, %rd5;"),
    "bmsk": ("bmsk.clamp.b32 %r10, %r1, 5;",),
    "bra": ("bra L; mov.u32 %r10, 7; L:", "@%q1 bra L; mov.u32 %r10, 7; L:"),
    "brev": ("brev.b32 %r10, %r2;", "brev.b64 %rd10, %rd5;"),
    "brkpt": ("brkpt;",),
    "brx": ("mov.u32 %r7, 1; TB: .branchtargets A, B; brx.idx %r7, TB; A: mov.u32 %r10, 1; B: mov.u32 %r11, 2;",
            "TB: .branchtargets A, B; brx.idx %r6, TB; A: mov.u32 %r10, 1; B: mov.u32 %r11, 2;"),
    "clz": ("clz.b32 %r10, %r2;", "clz.b64 %r10, %rd5;"),
    "cnot": ("cnot.b32 %r10, %r2;",),
    "copysign": ("copysign.f32 %f3, %f1, %f2;",),
    "cos": ("cos.approx.f32 %f3, %f1;",),
    "cp": (
        "cp.async.cg.shared.global [%rd7], [%rd9], 16; cp.async.commit_group; cp.async.wait_group 0; ld.shared.u32 %r10, [%rd7];",
        "cp.async.ca.shared.global [%rd7], [%rd9], 8, 0; cp.async.wait_all; ld.shared.u32 %r10, [%rd7];",
        "cp.async.ca.shared.global [%rd7], [%rd9], 4, %q1; cp.async.wait_all; ld.shared.u32 %r10, [%rd7];",
    ),
    "createpolicy": ("createpolicy.fractional.L2::evict_first.b64 %rd10, 0f3F800000;",),
    "cvt": ("cvt.rn.f16.f32 %h3, %f1;", "cvt.rzi.s64.f32 %rd10, %f1;", "cvt.rn.bf16x2.f32 %r10, %f1, %f2;",
            "cvt.rp.f32.f64 %f3, %d1;", "cvt.sat.s8.s32 %r10, %r2;",
            "cvt.rm.f64.s64 %d3, %rd5;", "cvt.rm.f64.s32 %d3, %r2;"),
    "cvta": ("cvta.to.global.u64 %rd10, %rd1;", "cvta.to.shared.u64 %rd10, %rd8;"),
    "div": ("div.u32 %r10, %r2, %r3;", "div.s64 %rd10, %rd5, %rd4;", "div.rn.f32 %f3, %f1, %f2;", "div.full.f32 %f3, %f1, %f2;",
            "div.rn.f64 %d3, %d1, %d2;"),
    "dp2a": ("dp2a.lo.u32.s32 %r10, %r2, %r3, %r4;", "dp2a.hi.s32.s32 %r10, %r2, %r3, %r4;"),
    "dp4a": ("dp4a.u32.u32 %r10, %r2, %r3, %r4;", "dp4a.s32.u32 %r10, %r2, %r3, %r4;"),
    "elect": ("elect.sync %r10|%q2, -1;", "elect.sync _|%q2, -1;"),
    "ex2": ("mul.f32 %f4, %f1, 0f2F800000; ex2.approx.ftz.f32 %f3, %f4;",),
    "exit": ("setp.eq.u32 %p1, %r6, 1; @%p1 exit;", "@%q1 exit;"),
    "fence": ("fence.acq_rel.gpu;",),
    "fma": ("fma.rn.f32 %f3, %f1, %f2, %f1;", "fma.rn.f16x2 %r10, %r14, %r15, %r14;", "fma.rn.f64 %d3, %d1, %d2, %d1;",
            "fma.rm.f64 %d3, %d1, %d2, %d1;"),
    "fns": ("fns.b32 %r10, %r2, %r5, 3;", "fns.b32 %r10, %r2, 9, -2;"),
    "griddepcontrol": ("griddepcontrol.wait;",),
    "isspacep": ("isspacep.shared %q2, %rd8;",),
    "ld": ("ld.global.v4.u32 {%r10, %r11, %r12, %r13}, [%rd9];", "ld.shared.u8 %r10, [%rd7+1];", "ld.u16 %h3, [%rd8];",
           "ld.param.u64 %rd10, [p0];", "ld.global.v2.b64 {%rd10, %rd11}, [%rd9];", "@%q1 ld.global.s16 %r10, [%rd9];",
           "ld.volatile.global.u32 %r10, [%rd9];", "ld.acquire.gpu.global.u32 %r10, [%rd9];"),
    "ldmatrix": ("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r10, %r11, %r12, %r13}, [%rd7];",
                 "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%r10, %r11}, [%rd7];"),
    "ldu": ("ldu.global.u32 %r10, [%rd9];",),
    "lg2": ("lg2.approx.f32 %f3, %f1;",),
    "lop3": ("lop3.b32 %r10, %r2, %r3, %r4, 0xE8;",),
    "mad": ("mad.hi.s32 %r10, %r2, %r3, %r4;", "mad.wide.s32 %rd10, %r2, %r3, %rd5;", "mad.lo.cc.u32 %r10, %r2, %r3, %r4;"),
    "mad24": ("mad24.lo.u32 %r10, %r2, %r3, %r4;",),
    "madc": ("mad.lo.cc.u32 %r10, %r2, %r3, %r4; madc.hi.u32 %r11, %r2, %r3, %r4;",),
    "match": ("match.any.sync.b32 %r10, %r5, -1;", "match.all.sync.b64 %r10|%q2, %rd3, -1;"),
    "max": ("max.s32 %r10, %r2, %r3;", "max.NaN.f32 %f3, %f1, %f2;", "max.f16 %h3, %h1, %h2;"),
    "mbarrier": ("mbarrier.init.shared.b64 [%rd7], 3; mbarrier.arrive.shared.b64 %rd10, [%rd7];",
                 "mbarrier.init.shared.b64 [%rd7], 3; ld.shared.u32 %r10, [%rd7];",
                 "mbarrier.init.shared.b64 [%rd7], 3; cp.async.mbarrier.arrive.noinc.shared.b64 [%rd7];"),
    "membar": ("membar.gl;",),
    "min": ("min.u64 %rd10, %rd4, %rd5;", "min.f64 %d3, %d1, %d2;"),
    "mma": (
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r10, %r11, %r12, %r13}, {0, %r1, 0, 0}, {%r1, 0}, {0, 0, 0, 0};",
        "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%r10, %r11}, {%r1, 0}, {%r1}, {0, %r1};",
        "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%r10, %r11, %r12, %r13}, {%r1, 0}, {%r1}, {0, 0, 0, 0};",
        "mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {%r10, %r11, %r12, %r13}, {%r1, 0}, {%r1}, {0, 0, 0, 0};",
        "mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32 {%r10, %r11, %r12, %r13}, {%r2, %r3, %r4, 7}, {%r2, 5}, {0, 1, 2, 3};",
        "mma.sync.aligned.m16n8k16.row.col.satfinite.s32.u8.s8.s32 {%r10, %r11, %r12, %r13}, {%r2, %r3}, {%r2}, {%r4, 0, 0, 0};",
        "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%d3, %d4}, {%d1}, {%d2}, {%d1, %d2};",
    ),
    "mov": ("mov.b64 {%r10, %r11}, %rd5;", "mov.b32 %r10, {%h1, %h2};", "mov.u32 %r10, %laneid;", "mov.u64 %rd10, s;"),
    "movmatrix": ("movmatrix.sync.aligned.m8n8.trans.b16 %r10, %r2;",),
    "mul": ("mul.hi.u64 %rd10, %rd4, %rd5;", "mul.wide.u16 %r10, %h1, %h2;", "mul.f32 %f3, %f1, %f2;",
            "mul.rz.f64 %d3, %d1, %d2;"),
    "mul24": ("mul24.hi.s32 %r10, %r2, %r3;",),
    "nanosleep": ("nanosleep.u32 100;",),
    "neg": ("neg.s32 %r10, %r2;", "neg.f16x2 %r10, %r2;"),
    "not": ("not.b64 %rd10, %rd5;", "not.pred %q2, %q1;"),
    "or": ("or.b32 %r10, %r2, %r3;",),
    "pmevent": ("pmevent 3;",),
    "popc": ("popc.b32 %r10, %r2;", "popc.b64 %r10, %rd5;"),
    "prefetch": ("prefetch.global.L2 [%rd9];",),
    "prefetchu": ("prefetchu.L1 [%rd9];",),
    "prmt": ("prmt.b32 %r10, %r2, %r3, 0x5140;", "prmt.b32 %r10, %r2, %r3, %r4;"),
    "rcp": ("rcp.rn.f32 %f3, %f1;", "rcp.approx.ftz.f32 %f3, %f1;", "rcp.rn.f64 %d3, %d1;"),
    "red": ("red.global.add.u32 [%rd3], %r1;", "red.shared.or.b32 [%rd6], %r2;", "red.global.add.noftz.f16x2 [%rd3], 0x3C003C00;",
            "red.global.max.u64 [%rd3], %rd4;", "red.global.add.f64 [%rd3], %d1;", "red.add.u32 [%rd8], 3;"),
    "redux": ("redux.sync.add.u32 %r10, %r2, -1;", "redux.sync.min.s32 %r10, %r2, -1;"),
    "rem": ("rem.u32 %r10, %r2, %r3;",),
    "ret": ("setp.eq.u32 %p1, %r6, 1; @%p1 ret;",),
    "rsqrt": ("abs.f32 %f4, %f1; rsqrt.approx.f32 %f3, %f4;",),
    "sad": ("sad.u32 %r10, %r2, %r3, %r4;",),
    "selp": ("selp.b32 %r10, %r2, %r3, %q1;", "selp.f32 %f3, %f1, %f2, %q1;"),
    "set": ("set.lt.u32.u32 %r10, %r2, %r3;",),
    "setp": ("setp.lt.and.s32 %q2|%q3, %r2, %r3, %q1;", "setp.equ.f32 %q2, %f1, %f2;"),
    "shf": ("shf.l.wrap.b32 %r10, %r2, %r3, 5;", "shf.r.clamp.b32 %r10, %r2, %r3, %r1;"),
    "shfl": ("shfl.sync.bfly.b32 %r10, %r2, 16, 31, -1;", "shfl.sync.idx.b32 %r10|%q2, %r2, %r4, 0x1F, -1;"),
    "shl": ("shl.b32 %r10, %r2, %r1;", "shl.b64 %rd10, %rd5, 3;"),
    "shr": ("shr.s32 %r10, %r2, %r1;", "shr.u64 %rd10, %rd5, 3;"),
    "sin": ("sin.approx.f32 %f3, %f1;",),
    "slct": ("slct.u32.s32 %r10, %r2, %r3, %r4;",),
    "sqrt": ("abs.f32 %f4, %f1; sqrt.rn.f32 %f3, %f4;",),
    "st": ("st.global.u8 [%rd9], %r2;", "st.shared.v2.b32 [%rd7], {%r2, %r3};", "@%q1 st.u32 [%rd8], %r2;",
           "st.release.gpu.global.u32 [%rd9], %r2;"),
    "stmatrix": ("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%rd7], {%r2, %r3}; ld.shared.u32 %r10, [%rd7];",),
    "sub": ("sub.u32 %r10, %r2, %r3;", "sub.f16 %h3, %h1, %h2;"),
    "subc": ("sub.cc.u32 %r10, %r2, %r3; subc.u32 %r11, %r4, %r2;",),
    "szext": ("szext.clamp.s32 %r10, %r2, 9;", "szext.wrap.u32 %r10, %r2, %r5;"),
    "tanh": ("tanh.approx.f32 %f3, %f1;",),
    "testp": ("testp.normal.f32 %q2, %f1;",),
    "trap": ("setp.eq.u32 %p1, %r6, 9; @%p1 trap;",),
    "vote": ("vote.sync.ballot.b32 %r10, %q1, -1;", "vote.sync.any.pred %q2, !%q1, -1;"),
    "wmma": ("wmma.load.a.sync.aligned.row.m8n8k4.shared.f64 {%d3}, [%rd6];",),
    "xor": ("xor.b32 %r10, %r2, %r3;",),
}  # fmt: skip
# Why an instruction is left to the reference engine.
REASONS = {
    "add.rp.f64": "rounds f64 in one direction",
    "mul.rz.f64": "rounds f64 in one direction",
    "fma.rm.f64": "rounds f64 in one direction",
    "cvt.rm.f64.s64": "rounds f64 in one direction",
    "wmma": "has no compiled form",
    "mbarrier": "has no compiled form",
    "ld.volatile": "may wait for what another thread stores",
    "ld.acquire": "may wait for what another thread stores",
}
TWO = ".param .u64 p0, .param .u64 p1"


def test_every_opcode_has_a_sample() -> None:
    assert sorted(SAMPLES) == sorted(TABLE)


@pytest.mark.parametrize("opcode", SAMPLES)
def test_opcode(opcode: str) -> None:
    for code in SAMPLES[opcode]:
        expected = next((reason for start, reason in REASONS.items() if code.startswith(start)), "")
        text = kernel(f"{START} {code} {END}", TWO, ".shared .align 16 .b8 s[1024];")
        results = []
        for engine, checks in (("reference", FAST_CHECKS), ("fast", FAST_CHECKS), ("fast", Checks.none())):
            out, data = np.zeros(64 * 48, np.uint8), np.arange(256, dtype=np.uint32)
            result = launch(text, [out, data], block=64, engine=engine, checks=checks)
            assert result.engine == ("reference" if expected else engine), (code, result.fallback_reason)
            if engine == "fast":
                assert expected in result.fallback_reason, (code, result.fallback_reason)
                assert not expected or result.fallback_reason.startswith("k.ptx:")
            results.append((out.tobytes(), data.tobytes(), result.counters))
        assert results[0] == results[1] == results[2], code
