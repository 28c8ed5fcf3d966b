"""PTX from upstream's pipeline: what a hand-written kernel must become, and one line for every module that cannot."""

from __future__ import annotations

from pathlib import Path

import pytest

from prism_mlir.codegen.external import find_tool, ptxas_check
from prism_mlir.codegen.ptx import TARGETS, PtxEntry, describe_entries, gpu_module_to_ptx
from prism_mlir.graph.errors import CodegenError, InputError, PrismError, UnsupportedError

SKINNY_GEMM = (Path(__file__).parent / "data" / "skinny_gemm.mlir").read_text()


def kernel(body: str, arguments: str = "%a: memref<64xf32>", attribution: str = "") -> str:
    return (
        "module attributes {gpu.container_module} {\ngpu.module @m {\n"
        f"gpu.func @k({arguments}) {attribution} kernel {{\n%t = gpu.thread_id x\n{body}\ngpu.return\n}} }} }}"
    )


def test_worked_example() -> None:
    result = gpu_module_to_ptx(SKINNY_GEMM)
    # 4 stages of 64 x 64 and of 8 x 64 halves
    assert result.entries == (PtxEntry("k", 3, 4 * 64 * 64 * 2 + 4 * 8 * 64 * 2),)
    assert result.ptx_version == (7, 0)
    assert result.target == "sm_80"
    lines = result.ptx.splitlines()
    assert ".version 7.0" in lines
    assert ".target sm_80" in lines
    # 64 k-values a step in steps of 16: four products; loads of W (x4, transposed) and X (x2) for each
    assert result.ptx.count("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32") == 4
    assert result.ptx.count("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16") == 4
    assert result.ptx.count("ldmatrix.sync.aligned.m8n8.x2.shared.b16") == 4
    # 3 prologue stages and the loop, each 4 pieces of W and 1 of X
    assert result.ptx.count("cp.async.cg.shared.global") == 4 * 5
    assert result.ptx.count(".shared .align 128") == 2


@pytest.mark.parametrize(("attribute", "directive"), [("known_block_size", ".maxntid"), ("nvvm.reqntid", ".reqntid")])
def test_threads_a_block(attribute: str, directive: str) -> None:
    store = kernel("%c = arith.constant 1.0 : f32\nmemref.store %c, %a[%t] : memref<64xf32>")
    result = gpu_module_to_ptx(
        store.replace(" kernel {", f" kernel attributes {{{attribute} = array<i32: 64, 2, 1>}} {{")
    )
    assert f"{directive} 64, 2, 1\n" in result.ptx
    assert result.entries == (PtxEntry("k", 1, 0, (64, 2, 1)),)


@pytest.mark.parametrize(
    ("target", "version"),
    [("sm_80", (7, 0)), ("sm_86", (7, 1)), ("sm_87", (7, 4)), ("sm_89", (7, 8)), ("sm_90", (7, 8)), ("sm_100", (8, 6))],
)
def test_least_version_of_each_target(target: str, version: tuple[int, int]) -> None:
    """Versions from the PTX ISA's release notes (target introduced in)."""
    result = gpu_module_to_ptx(
        kernel("%c = arith.constant 1.0 : f32\nmemref.store %c, %a[%t] : memref<64xf32>"), target
    )
    assert result.ptx_version == version
    assert f".target {target}\n" in result.ptx


def test_same_text_same_ptx() -> None:
    assert gpu_module_to_ptx(SKINNY_GEMM).ptx == gpu_module_to_ptx(SKINNY_GEMM).ptx


def test_math_needs_no_cuda_installation(monkeypatch: pytest.MonkeyPatch) -> None:
    body = (
        "%x = memref.load %a[%t] : memref<64xf32>\n%e = math.erf %x : f32\n%h = math.tanh %e : f32\n"
        "memref.store %h, %a[%t] : memref<64xf32>"
    )
    plain = gpu_module_to_ptx(kernel(body)).ptx
    monkeypatch.setenv("CUDA_HOME", "/nonexistent")
    assert gpu_module_to_ptx(kernel(body)).ptx == plain
    assert ".extern" not in plain


def test_fast_exp_is_one_approximation() -> None:
    body = (
        "%x = memref.load %a[%t] : memref<64xf32>\n%e = math.exp %x fastmath<fast> : f32\n"
        "memref.store %e, %a[%t] : memref<64xf32>"
    )
    ptx = gpu_module_to_ptx(kernel(body)).ptx
    assert ptx.count("ex2.approx") == 1
    assert ptx.count("call") == 0


REJECTED = [
    ("", "sm_80", InputError, "g:1:1: error: the input is empty"),
    ("module {", "sm_80", InputError, "g:1:7: error: expected operation name"),
    ("module {}", "sm_80", InputError, "g:1:1: error: 0 gpu.module operations where one is needed"),
    (
        "module {\ngpu.module @a {}\ngpu.module @b {}\n}",
        "sm_80",
        InputError,
        "g:3:1: error: 2 gpu.module operations where one is needed",
    ),
    ("module {\ngpu.module @a {}\n}", "sm_80", InputError, "g:2:1: error: the gpu.module holds no kernel"),
    (
        "module {\ngpu.module @a {\ngpu.func @k() kernel { gpu.return }\n}\nfunc.func private @f()\n}",
        "sm_80",
        InputError,
        "g:5:1: error: func.func beside the gpu.module",
    ),
    (kernel(""), "sm_75", UnsupportedError, "error: target sm_75, use one of sm_80, "),
    (kernel("", "%a: memref<?xf32>"), "sm_80", UnsupportedError, "g:3:1: error: kernel argument memref<?xf32>"),
    (kernel("%e = tensor.empty() : tensor<4xf32>"), "sm_80", UnsupportedError, "g:5:6: error: tensor.empty in a gpu"),
    (kernel('"foo.bar"() : () -> ()'), "sm_80", UnsupportedError, "g:5:1: error: foo.bar in a gpu.module"),
    (
        kernel("%x = memref.load %a[%t, %t] : memref<64xf32>"),
        "sm_80",
        InputError,
        "g:5:6: error: 'memref.load' op incorrect number of indices",
    ),
    (
        kernel('gpu.printf "x %d", %t : index'),
        "sm_80",
        CodegenError,
        "g:2:1: error: the kernel calls vprintf, which is nowhere defined",
    ),
]


@pytest.mark.parametrize(("text", "target", "kind", "message"), REJECTED)
def test_what_cannot_become_ptx_is_a_located_line(
    text: str, target: str, kind: type[PrismError], message: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(kind) as caught:
        gpu_module_to_ptx(text, target, "g")
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)
    assert capfd.readouterr() == ("", "")


def test_an_abort_of_llvm_is_an_error_not_the_end(capfd: pytest.CaptureFixture[str]) -> None:
    cluster = kernel("nvvm.cluster.arrive")  # needs sm_90
    with pytest.raises(CodegenError, match=r"g:2:1: error: upstream LLVM gave up on sm_80: Cannot select: intrinsic"):
        gpu_module_to_ptx(cluster, "sm_80", "g")
    assert capfd.readouterr() == ("", "")
    assert "barrier.cluster.arrive" in gpu_module_to_ptx(cluster, "sm_90").ptx


def test_entries_of_several_kernels() -> None:
    ptx = """
.shared .align 16 .b8 both[64];
.visible .entry one(
	.param .u64 one_param_0
)
.maxntid 32, 1, 1
{
	.shared .align 4 .b8 a[6];
	.shared .align 8 .b8 b[8];
	mov.b32 %r1, both;
}
.visible .entry two()
{
	mov.b32 %r1, another;
}
"""
    # one: 64 bytes, 6 at 64, then 8 aligned up from 70 to 72
    assert describe_entries(ptx) == (PtxEntry("one", 1, 80, (32, 1, 1)), PtxEntry("two", 0, 0))


def test_targets_start_with_their_least_version() -> None:
    assert all(list(versions) == sorted(versions) for versions in TARGETS.values())


@pytest.mark.skipif(find_tool("ptxas") is None, reason="ptxas not found (install the cuda extra)")
@pytest.mark.parametrize("target", ["sm_80", "sm_90"])
def test_ptxas_accepts_the_worked_example(target: str) -> None:
    report = ptxas_check(gpu_module_to_ptx(SKINNY_GEMM, target).ptx, target)
    assert report is not None
    assert report.shared == 36864
    assert report.spills == 0
    assert 16 < report.registers <= 64
