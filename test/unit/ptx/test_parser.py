"""Parsing: what is known is kept, what is not is a located error."""

from __future__ import annotations

from pathlib import Path

import pytest
from ptx_harness import HEADER, kernel

from prism_mlir.runtime.ptx import Module, PtxError, PtxSyntaxError
from prism_mlir.runtime.ptx.parser import parse
from prism_mlir.runtime.ptx.program import Addr, IntImm, Not, Pair, Reg, Sink, Sym, Vec

DATA = Path(__file__).parent / "data"


def test_module_of_llvm() -> None:
    program = parse((DATA / "skinny_gemm.ptx").read_text(), "skinny_gemm.ptx")
    k = program.kernels["k"]
    assert (program.version, program.target, program.address_size) == ((7, 6), "sm_80", 64)
    assert [(p.name, p.size, p.offset) for p in k.params] == [
        ("k_param_0", 8, 0),
        ("k_param_1", 8, 8),
        ("k_param_2", 8, 16),
    ]
    assert [(v.name, v.size, v.align) for v in k.variables] == [("__wg_k_0", 32768, 128), ("__wg_k_1", 4096, 128)]
    first = k.body[0]
    assert (first.opcode, first.mods, str(first.location)) == ("ld", ("param", "b64"), "skinny_gemm.ptx:27:2")
    assert k.registers["%p4"].name == "pred" and k.registers["%rd119"].bits == 64


def test_operands() -> None:
    text = kernel("""ld.shared.v2.b32 {%r1, _}, [%rd1+-8]; setp.lt.and.u32 %p1|%p2, %r1, 0x10, !%p3;
    mov.u64 %rd2, buf+16; @!%p1 bra END;
    END: ret;""", shared=".shared .b8 buf[64];")  # fmt: skip
    load, compare, move, branch, _ = parse(text).kernels["k"].body[2:]
    assert load.operands == (Vec((Reg("%r1"), Sink())), Addr(Reg("%rd1"), -8))
    assert compare.operands == (Pair(Reg("%p1"), Reg("%p2")), Reg("%r1"), IntImm(16), Not(Reg("%p3")))
    assert move.operands == (Reg("%rd2"), Sym("buf", 16))
    assert branch.guard is not None and branch.guard.negated and branch.operands == (Sym("END"),)


def test_style_of_nvcc_and_triton() -> None:
    text = """//
.version 8.4
.target sm_90a, debug
.address_size 64
.file 1 "a b.cu", 123, 45
.extern .func (.param .b32 func_retval0) vprintf (.param .b64 vprintf_param_0, .param .b64 vprintf_param_1);
.extern .shared .align 16 .b8 global_smem[];
.global .align 1 .b8 _$_str[6] = {105, 61, 37, 105, 10, 0};
.visible .entry kern(
\t.param .u64 .ptr .global .align 16 kern_param_0,
\t.param .u32 kern_param_1
)
.maxntid 128, 1, 1
.minnctapersm 2
{
\t.reg .b32 lo, hi;
\t.reg .b64 %rd<4>;
\t.loc 1 10 0 // x.py:10
$L__func_begin0:
\tld.param.u64 %rd1, [kern_param_0];
\t// begin inline asm
\tmov.u64 %rd2, 0x0;
\t// end inline asm
\t{
\t.reg .pred p;
\tsetp.ne.s64 p, %rd2, 0;
\t@p ld.global.L1::evict_last.L2::128B.b32 { lo }, [ %rd1 + 0 ];
\t}
\t.pragma "nounroll";
\tret;
$L__tmp0:
}
\t.section .debug_abbrev
\t{
.b8 1
.b8 17
\t}
"""
    program = parse(text)
    assert program.kernels["kern"].max_threads == 128 and program.functions == ("vprintf",)
    assert program.variables[1].init == b"i=%i\n\0"
    Module.load(text)


@pytest.mark.parametrize(
    ("text", "position", "what"),
    [
        ("", "1:1", "the file is empty"),
        ("   \n\n", "1:1", "the file is empty"),
        ("hello world", "1:1", "expected '.version'"),
        ("\x7fELF\x02\x01\x01\n", "1:1", "does not look like PTX"),
        ("module {\n}", "1:1", "expected '.version'"),
        (".version 8\n", "1:10", "expected a version"),
        (".version 8.0\n.target sm_80\n.address_size 32\n", "3:1", "64-bit"),
        (".version 8.0\n.target compute_80\n", "2:9", "unknown target"),
        (HEADER + ".bogus x;\n", "4:1", "unknown directive '.bogus'"),
        (HEADER + ".visible .entry k() {\n  ret;\n", "7:1", "'}' is missing"),
        (HEADER + ".visible .entry k() {\n  .bogus 3;\n}", "5:3", "unknown directive '.bogus'"),
        (HEADER + ".visible .entry k() .bogus {\n}", "4:21", "unknown kernel directive"),
        (HEADER + ".shared .b9 x;\n", "4:9", "unknown type '.b9'"),
        (HEADER + ".shared .align 3 .b8 x[4];\n", "4:18", "power of two"),
        (HEADER + ".global .b32 x[1] = {1, 2};\n", "4:14", "8 bytes of initialisers"),
        (HEADER + ".func f() { ret; }\n", "4:11", "has a body"),
    ],
)
def test_malformed_modules(text: str, position: str, what: str) -> None:
    with pytest.raises(PtxSyntaxError) as caught:
        Module.load(text + "\n", "bad.ptx")
    assert str(caught.value).startswith(f"bad.ptx:{position}: error: ") and what in str(caught.value)


@pytest.mark.parametrize(
    ("code", "what"),
    [
        ("frobnicate.b32 %r2, %r1;", "unknown instruction 'frobnicate.b32'"),
        ("add.b32 %r2, %r1, 1;", "unknown instruction 'add.b32'"),
        ("ld.global.wild.b32 %r2, [%rd1];", "unknown instruction 'ld.global.wild.b32'"),
        ("wgmma.fence.sync.aligned;", "unknown instruction"),
        (
            "mma.sync.aligned.m16n8k16.row.row.f32.f16.f16.f32 {%r2,%r3,%r4,%r5},{%r2,%r3,%r4,%r5},{%r2,%r3},{%r2,%r3,%r4,%r5};",
            "unknown instruction",
        ),
        ("fma.f32 %f1, %f1, %f2, %f3;", "unknown instruction 'fma.f32'"),
        ("min.f32 %f1, %f1, %f2, %f3;", "expected 3 operands, found 4"),
        ("cvt.f16.f32 %h1, %f1;", "unknown instruction 'cvt.f16.f32'"),
        ("add.u32 %r2, %r1;", "expected 3 operands, found 2"),
        ("add.u32 %r2, %r1, %rx;", "register '%rx' is not declared"),
        ("add.u32 %r2, %r1, %rd1;", "has 64 bits, but u32"),
        ("add.u32 %r2, %r1, %p1;", "is pred, but u32 is expected"),
        ("add.f32 %f1, %f2, 1;", "integer literal where f32"),
        ("add.u32 %tid.x, %r1, 1;", "must be a declared register"),
        ("mov.u64 %rd2, nowhere;", "neither a variable nor a parameter"),
        ("bra NOWHERE;", "label 'NOWHERE' is not defined"),
        ("cp.async.cg.shared.global [%rd1], [%rd1], 8;", "cannot copy 8 bytes"),
        ("cp.async.wait_group %r1;", "must be a literal"),
        ("ld.global.v2.b32 %r2, [%rd1];", "2 destinations expected"),
        ("lop3.b32 %r2, %r1, %r1, %r1, 300;", "from 0 to 255"),
        ("call.uni vprintf, (%r1);", "unknown"),
        ("ld.global.b32 %r2, %rd1;", "expected an address"),
        ("add.u32 %r2 %r1, 1;", "expected ';'"),
        ("@%q bra L; L: ret;", "register '%q' is not declared"),
        (".reg .b32 %r1;", "declared twice"),
        ("L: ret; L: ret;", "label 'L' is defined twice"),
        ("add.u32 %r2, %r1, \x01;", "unexpected character"),
    ],
)
def test_malformed_instructions(code: str, what: str) -> None:
    text = kernel(f"\n@@@{code} ret;")
    line = text.splitlines().index(f"@@@{code} ret;".split("\n")[0]) + 1
    with pytest.raises(PtxError) as caught:
        Module.load(text.replace("@@@", ""), "bad.ptx")
    assert str(caught.value).startswith(f"bad.ptx:{line}:"), str(caught.value)
    assert ": error: " in str(caught.value) and what in str(caught.value)


@pytest.mark.parametrize(
    ("code", "header", "what"),
    [
        ("add.bf16 %h1, %h2, %h3;", "sm_80 8.1", "'add.bf16' needs .target sm_90 or higher; the module is for sm_80"),
        ("cp.async.wait_all;", "sm_75 8.1", "'cp.async.wait_all' needs .target sm_80"),
        ("cp.async.wait_all;", "sm_80 6.5", "'cp.async.wait_all' needs .version 7.0 or later; the module says 6.5"),
        ("redux.sync.add.u32 %r1, %r2, -1;", "sm_75 8.1", "sm_80"),
        ("tanh.approx.f32 %f1, %f2;", "sm_70 8.1", "sm_75"),
        ("cvt.rn.satfinite.f16.f32 %h1, %f1;", "sm_80 8.0", ".version 8.1"),
        ("elect.sync %r1|%p1, -1;", "sm_80 8.1", "sm_90"),
        ("min.NaN.f32 %f1, %f2, %f3;", "sm_75 8.1", "sm_80"),
    ],
)
def test_instructions_that_the_target_lacks(code: str, header: str, what: str) -> None:
    target, version = header.split()
    text = kernel(code + " ret;").replace("sm_90", target).replace("8.1", version)
    with pytest.raises(PtxSyntaxError) as caught:
        Module.load(text, "old.ptx")
    assert what in str(caught.value) and str(caught.value).startswith("old.ptx:")


def test_files(tmp_path: Path) -> None:
    with pytest.raises(PtxSyntaxError, match="cannot read the file"):
        Module.load(tmp_path / "missing.ptx")
    junk = tmp_path / "junk.ptx"
    junk.write_bytes(bytes(range(256)) * 64)
    with pytest.raises(PtxSyntaxError, match=r"junk.ptx:1:1: error: the file is not text"):
        Module.load(junk)
    empty = tmp_path / "empty.ptx"
    empty.write_text("")
    with pytest.raises(PtxSyntaxError, match=r"empty.ptx:1:1: error: the file is empty"):
        Module.load(str(empty))


def test_every_prefix_of_a_module_is_a_located_error_or_parses() -> None:
    text = (DATA / "skinny_gemm.ptx").read_text()
    for cut in range(0, len(text), 97):
        try:
            Module.load(text[:cut] + "\n", "cut.ptx")
        except PtxSyntaxError as error:
            assert str(error).startswith("cut.ptx:")
