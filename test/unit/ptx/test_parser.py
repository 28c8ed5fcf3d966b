"""Parsing: what is known is kept, what is not is a located error."""

from __future__ import annotations

import random
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from ptx_harness import HEADER, kernel, launch

from prism_mlir.runtime.ptx import Module, PtxError, PtxSyntaxError
from prism_mlir.runtime.ptx.lexer import Source, tokenize
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


def test_the_body_of_a_function_that_nothing_calls_is_passed_over() -> None:
    """``nvcc -rdc=true`` and LLVM keep functions that they have inlined everywhere; they may hold calls of their own."""
    function = """.visible .func (.param .b32 func_retval0) square(
\t.param .b32 square_param_0
)
{
\t.reg .f32 %f<3>;
\t.pragma "}";
\t{ // callseq 0, 0
\t.param .b32 param0;
\tcall.uni other, (param0);
\t} // callseq 0
\tst.param.f32 [func_retval0+0], %f2;
\tret;
}
"""
    kernel = """.visible .entry k(.param .u64 out) {
\t.reg .b64 %rd<2>;
\tld.param.u64 %rd1, [out];
\tst.global.u32 [%rd1], 7;
\tret;
}
"""
    for text in (function + kernel, kernel + function, ".func square();\n" + function + kernel):
        out = np.zeros(1, np.uint32)
        module = Module.load(HEADER + text)
        module.kernel("k").run(grid=(1,), block=(1,), args=[out])
        assert out[0] == 7


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
        (HEADER + ".shared .align 3 .b8 x[4];\n", "4:16", "power of two"),
        (HEADER + ".global .b32 x[1] = {1, 2};\n", "4:14", "8 bytes of initialisers"),
        (HEADER + ".func f() { { ret; }\n", "6:1", "unexpected end of file"),
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
        ("{ .param .b64 param0; call.uni f, (param0); }", "device functions must be inlined (as __forceinline__ does)"),
        ("call.uni f;", "unknown instruction 'call': device functions must be inlined (as __forceinline__ does)"),
        ("ld.global.b32 %r2, %rd1;", "expected an address"),
        (
            "tex.1d.v4.f32.s32 {%f1,%f2,%f3,%f4}, [%rd1, {%r1}];",
            "[a, b], of textures, surfaces and tensors, is unknown",
        ),
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
        ("add.bf16 %h1, %h2, %h3;", "sm_90 7.7", "'add.bf16' needs .version 7.8 or later; the module says 7.7"),
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


NESTED = "{" * 5000


@pytest.mark.parametrize(
    ("text", "position", "what"),
    [
        (".version 6.5\n.target sm_80\n", "1:10", "versions 7.0 to 9.x"),
        (".version 10.0\n.target sm_80\n", "1:10", "versions 7.0 to 9.x"),
        (".version 99.9\n.target sm_80\n", "1:10", "PTX ISA 99.9 is not supported; versions 7.0 to 9.x are"),
        (".version 8.\n.target sm_80\n", "1:10", "expected a version like 7.6, found '8.'"),
        (".version .5\n.target sm_80\n", "1:10", "expected a version"),
        (".version 8.0e3\n.target sm_80\n", "1:10", "expected a version"),
        (".version -8.0\n.target sm_80\n", "1:10", "expected a version"),
        (".version 8.1\n", "3:1", "expected '.target'"),
        (".version 8.1\n.target sm_8\n", "2:9", "unknown target 'sm_8'; known are sm_50,"),
        (".version 8.1\n.target sm_81\n", "2:9", "unknown target 'sm_81'"),
        (".version 8.1\n.target sm_80a\n", "2:9", "unknown target 'sm_80a'"),
        (".version 8.1\n.target sm_99999999999999999999\n", "2:9", "unknown target"),
        (".version 8.1\n.target sm_80, wibble\n", "2:16", "target option 'wibble' is not supported; known are debug"),
        (".version 8.1\n.target sm_80, map_f64_to_f32\n", "2:16", "is not supported"),
        (".version 8.1\n.target sm_80,\n.address_size 64\n", "3:1", "expected a name"),
        (".version 8.1\n.target sm_80\n.address_size\n", "5:1", "expected an integer"),
        (".version 8.1\n.target sm_80\n.address_size -64\n", "3:1", "64-bit"),
        (HEADER + ".address_size 64\n", "4:1", "'.address_size' stands once"),
        (HEADER + ".target sm_80\n", "4:1", "'.target' stands once"),
        (HEADER + ".global .b8 g;\n.version 8.1\n", "5:1", "'.version' stands once"),
    ],
)  # fmt: skip
def test_the_head_of_a_module(text: str, position: str, what: str) -> None:
    rejected(text + "\n", position, what)


def test_heads_that_are_accepted() -> None:
    for version in ("7.0", "8.10", "9.99"):
        assert parse(f".version {version}\n.target sm_90a, texmode_independent, debug\n").sm == 90
    assert parse(".version 8.8\n.target sm_120f\n.address_size 64").target == "sm_120f"


@pytest.mark.parametrize(
    ("text", "position", "what"),
    [
        (".global .b8 x[-4];", "4:15", "the size of 'x' must be positive, not -4"),
        (".global .b8 x[0];", "4:15", "the size of 'x' must be positive, not 0"),
        (".shared .b8 x[4][-1];", "4:18", "must be positive"),
        (".global .b8 x[1099511627776];", "4:13", "'x' has 1099511627776 bytes, more than the 1073741824"),
        (".global .b64 x" + "[18446744073709551615]" * 500 + ";", "4:14", "bytes, more than"),
        (".const .b8 x[65537];", "4:12", "more than the 65536 bytes that one .const variable may have"),
        (".global .b8 x[18446744073709551616];", "4:15", "number 18446744073709551616 does not fit 64 bits"),
        (".global .align 0 .b8 x;", "4:16", "alignment 0 is not a power of two"),
        (".global .align -16 .b8 x;", "4:16", "alignment -16 is not a power of two"),
        (".global .align 4611686018427387904 .b8 x;", "4:16", "larger than the 65536 bytes"),
        (".global .pred x;", "4:9", "predicates live in registers only"),
        (".shared .b32 x = 1;", "4:14", "'x' cannot have an initial value"),
        (".global .u8 x = 1.5;", "4:17", "'1.5' cannot be the initial value of a u8"),
        (".global .b16 x = 1.5;", "4:18", "cannot be the initial value of a b16"),
        (".global .f32 x = 1;", "4:18", "'1' cannot be the initial value of a f32"),
        (".global .f64 x = 0f3F800000;", "4:18", "cannot be the initial value of a f64"),
        (".global .bf16 x = 1.5;", "4:19", "cannot be the initial value of a bf16"),
        (".global .u32 x = 0f7FC00000;", "4:18", "cannot be the initial value of a u32"),
        (".global .f64 x = 1.0e999;", "4:18", "number 1.0e999 does not fit f64"),
        (".global .b8 x[2] = " + NESTED + "1", "4:276", "nested deeper than 256"),
        (".global .b8 x; .global .b8 x;", "4:28", "variable 'x': the module has a variable of that name already"),
        (".visible .entry k() {ret;} .visible .entry k() {ret;}", "4:28", "kernel 'k': the module has a kernel of that name"),
        (".global .b8 k; .visible .entry k() {ret;}", "4:16", "kernel 'k': the module has a variable of that name"),
        (".visible .entry k() {ret;} .global .b8 k;", "4:40", "variable 'k': the module has a kernel of that name"),
        (".extern .func k; .visible .entry k() {ret;}", "4:18", "kernel 'k': the module has a function of that name"),
        (".entry k(.param .u64 a, .param .u64 a) {ret;}", "4:37", "parameter 'a' is declared twice"),
        (".entry k(.param .pred a) {ret;}", "4:17", "predicates live in registers only"),
        (".entry k(.param .align 3 .b8 a[4]) {ret;}", "4:24", "alignment 3 is not a power of two"),
        (".entry k(.param .b8 a[-1]) {ret;}", "4:23", "the size of 'a' must be positive, not -1"),
        (".entry k(.param .b8 a[0]) {ret;}", "4:23", "must be positive"),
        (".entry k(.param .b8 a[40000]) {ret;}", "4:21", "at most 32764 bytes"),
        (".entry k(.param .b8 a[9000][9000][9000]) {ret;}", "4:21", "at most 32764 bytes"),
        (".entry k() .maxntid 0 {ret;}", "4:21", "'.maxntid' must be positive, not 0"),
        (".entry k() .reqntid -4 {ret;}", "4:21", "'.reqntid' must be positive, not -4"),
        (".entry k() .maxntid 1, 1, 1, 1 {ret;}", "4:12", "'.maxntid' takes at most 3 numbers"),
        (".entry k() " + NESTED, "4:268", "braces nested deeper than 256"),
        (".entry k() {ret;} /* never", "4:19", "the comment is never closed"),
        (".entry k() {" + "/* " * 50_000, "4:13", "the comment is never closed"),
    ],
)  # fmt: skip
def test_declarations_of_a_module(text: str, position: str, what: str) -> None:
    rejected(HEADER + text, position, what)


@pytest.mark.parametrize(
    ("code", "what"),
    [
        ("mov.u64 %rd2, 18446744073709551616;", "number 18446744073709551616 does not fit 64 bits"),
        ("mov.u64 %rd2, 0x10000000000000000;", "number 0x10000000000000000 does not fit 64 bits"),
        ("mov.u64 %rd2, -9223372036854775809;", "number -9223372036854775809 does not fit 64 bits"),
        (f"mov.u64 %rd2, {'9' * 10_000};", "number 999999999999999999999... does not fit 64 bits"),
        (f"mov.u64 %rd2, 0{'7' * 10_000};", "does not fit 64 bits"),
        ("ld.global.u32 %r2, [%rd1+99999999999999999999];", "does not fit 64 bits"),
        ("mov.u32 %r2, 09;", "'09' is no octal number"),
        ("mov.u32 %r2, 08;", "'08' is no octal number"),
        ("mov.u32 %r2, 0x;", "expected ';'"),
        ("mov.u32 %r2, 123abc;", "expected ';'"),
        ("mov.u32 %r2, \u0663;", "unexpected character"),
        ("mov.f64 %f1, 1.0e400;", "number 1.0e400 does not fit f64"),
        (".reg .b32 %r1;", "'%r1' is declared twice"),
        (".reg .b32 %q<3>; .reg .pred %q2;", "'%q2' is declared twice"),
        (".reg .b32 p0;", "'p0' is declared twice"),
        (".shared .b8 p0[4];", "'p0' is declared twice"),
        (".shared .b8 x[4]; .local .b8 x[4];", "'x' is declared twice"),
        (".reg .b32 x; .shared .b8 x[4];", "'x' is declared twice"),
        (".reg .b32 x; x: ret;", "label 'x' is defined twice"),
        ("{ L: ret; L: ret; }", "label 'L' is defined twice"),
        ("bra L; { L: ret; }", "label 'L' is not defined"),
        (".reg .b32 %q<-5>;", "the number of registers '%q' is negative"),
        (".reg .b32 %q<99999999999>;", "more than 100000 registers in one kernel"),
        (".reg .b32 " + ", ".join(f"%q{chr(97 + i)}<9999>" for i in range(12)) + ";", "more than 100000 registers"),
        (".local .b8 x[600000];", "more than the 524288 bytes that one .local variable may have"),
        ("ld.global.v2.b32 {{%r2}, %r3}, [%rd1];", "a vector cannot hold another vector"),
        (f"ld.global.v2.b32 {NESTED}", "a vector cannot hold another vector"),
        (".reg .pred %q; @x ret; .shared .b8 x[4];", "register 'x' is not declared"),
        (".shared .b8 x[4]; @x ret;", "register 'x' is not declared"),
    ],
)  # fmt: skip
def test_declarations_and_numbers_of_a_kernel(code: str, what: str) -> None:
    text = kernel(f"\n@@@{code} ret;")
    line = text[: text.index("@@@")].count("\n") + 1
    with pytest.raises(PtxSyntaxError) as caught:
        Module.load(text.replace("@@@", ""), "bad.ptx")
    assert str(caught.value).startswith(f"bad.ptx:{line}:") and what in str(caught.value), str(caught.value)[:300]


def rejected(text: str, position: str, what: str) -> None:
    with pytest.raises(PtxSyntaxError) as caught:
        Module.load(text, "bad.ptx")
    assert str(caught.value).startswith(f"bad.ptx:{position}: error: ") and what in str(caught.value), str(
        caught.value
    )[:300]


def test_integers_at_the_limits_of_64_bits() -> None:
    values = {"18446744073709551615": 2**64 - 1, "0xFFFFFFFFFFFFFFFF": 2**64 - 1, "-9223372036854775808": -(2**63),
              "017": 15, "0b101": 5, "00": 0, "7U": 7}  # fmt: skip
    text = kernel("".join(f"mov.b64 %rd2, {v};" for v in values) + "ret;")
    body = parse(text).kernels["k"].body[2:-1]
    assert [i.operands[1] for i in body] == [IntImm(v) for v in values.values()]


def test_initial_values_are_stored_as_ptxas_stores_them() -> None:
    """The bytes are those of the cubin that ptxas 13.0 wrote for the same line."""
    stored = {
        ".b32 a = 1.5": "0000c03f",
        ".b64 a = 1.5": "000000000000f83f",
        ".b32 a = 0d3FF0000000000000": "0000803f",
        ".f32 a = 0f7F800001": "0100807f",
        ".f32 a = -1.5": "0000c0bf",
        ".f32 a = 1.0e300": "0000807f",
        ".u8 a[2] = {300, -1}": "2cff",
        ".b8 a[4] = {0x1, 0x2}": "01020000",
        ".f32 a[2] = {0.1, 0d3FF0000000000001}": "cdcccc3d0000803f",
    }
    for line, expected in stored.items():
        (variable,) = parse(f"{HEADER}.global {line};").variables
        assert variable.init is not None and variable.init.ljust(variable.size, b"\0").hex() == expected, line


def test_external_variables_and_functions_may_be_declared_again() -> None:
    again = ".extern .shared .align 16 .b8 dyn[];\n" * 2 + ".extern .shared .b8 zero[0];\n" + ".extern .func f;\n" * 2
    program = parse(HEADER + again)
    assert [(v.name, v.size) for v in program.variables] == [("dyn", 0), ("zero", 0)]


def test_braces_open_a_scope_for_labels_variables_and_registers() -> None:
    """Inline assembly that is pasted twice: each copy counts to 3 in its own loop, in its own register and its own memory."""
    loop = """{{
      .reg .b32 n; .reg .pred more; .shared .b32 cell;
      mov.b32 n, 0;
    LOOP:
      add.u32 n, n, 1;
      setp.lt.u32 more, n, 3;
      @more bra LOOP;
      add.u32 n, n, {offset};
      st.shared.b32 [cell], n;
      ld.shared.b32 %r{i}, [cell];
    }}"""
    text = kernel(
        ".shared .b32 cell; mov.b32 %r2, 5; st.shared.b32 [cell], %r2;"
        + loop.format(offset=10, i=3)
        + loop.format(offset=20, i=4)
        + """LOOP:
        add.u32 %r3, %r3, 100; setp.lt.u32 %p1, %r3, 300; @%p1 bra LOOP;
        ld.shared.b32 %r2, [cell];
        st.global.b32 [%rd1], %r2; st.global.b32 [%rd1+4], %r3; st.global.b32 [%rd1+8], %r4; ret;""",
        shared=".shared .b32 cell;",
    )
    out = np.zeros(3, np.uint32)
    launch(text, [out], block=1)
    assert out.tolist() == [5, 313, 23]  # 5 as stored; 13, 113, 213, 313; 3 + 20


def test_a_branch_goes_to_the_label_even_where_a_variable_has_its_name() -> None:
    out = np.zeros(1, np.uint32)
    text = kernel(
        "mov.b32 %r2, 7; bra x; mov.b32 %r2, 8; x: st.global.b32 [%rd1], %r2; ret;", shared=".shared .b8 x[8];"
    )
    launch(text, [out], block=1)
    assert out.tolist() == [7]


def test_alignments_above_a_kibibyte_are_kept() -> None:
    text = kernel(
        """.shared .b8 small[4]; .shared .align 4096 .b8 large[4];
        mov.u64 %rd2, large; and.b64 %rd2, %rd2, 4095; st.global.b64 [%rd1], %rd2; ret;"""
    )
    out = np.ones(1, np.uint64)
    launch(text, [out], block=1)
    assert out.tolist() == [0]


@pytest.mark.parametrize("seed", range(3))
def test_damaged_modules_are_located_errors(seed: int) -> None:
    """Tokens left out, doubled, exchanged and replaced: nothing but a located error, or a module."""
    rng = random.Random(seed)
    text = (DATA / "triton_softmax.ptx").read_text()
    tokens = tokenize(Source(text, ""))
    pieces = [text[a.start : b.start] for a, b in pairwise(tokens)]
    junk = ["", "-1 ", "{", "}", "[", "9" * 30, '"', ".pred ", "1.5"]
    for _ in range(25):
        damaged = list(pieces)
        at = rng.randrange(len(damaged))
        damaged[at] = rng.choice([*junk, damaged[at] * 2, *rng.sample(pieces, 2)])
        try:
            Module.load("".join(damaged), "bad.ptx")
        except PtxSyntaxError as error:
            assert str(error).startswith("bad.ptx:")
