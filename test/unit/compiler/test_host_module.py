"""Host code: it verifies, upstream lowers it, and what is lowered computes what the source computes.

Values are whole numbers so small that f16 and f32 hold every result and partial sum: what the source gives on upstream's JIT is
what the kernels must give, to the bit.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mgpu_runtime import Device, call, lower, runtime
from mlir import ir
from mlir.dialects import gpu, llvm

from prism_mlir.codegen.compile import compile_graph
from prism_mlir.codegen.external import find_tool
from prism_mlir.compiler.host_module import KernelBinary, host_module
from prism_mlir.compiler.options import CompileOptions, HostSignature, WorkspacePlace
from prism_mlir.compiler.pipeline import compile_file, kernel_binaries
from prism_mlir.frontend.import_linalg import import_module
from prism_mlir.frontend.upstream import read_module
from prism_mlir.graph.block import Accum, BlockGraph, BlockNode, Load, TensorType
from prism_mlir.graph.dtypes import DType
from prism_mlir.graph.errors import UnsupportedError
from prism_mlir.graph.kernel import CustomNode, KernelGraph, program_types
from prism_mlir.graph.launch_info import LaunchInfo
from prism_mlir.graph.mapping import Mapping
from prism_mlir.graph.ops import MATMUL
from prism_mlir.graph.schedule import Schedule
from prism_mlir.runtime.cpu_jit import run_module
from prism_mlir.search.limits import SearchLimits

SCALED = """
#map = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0, 0)>
func.func @scaled(%x: tensor<16x64xf16>, %w: tensor<64x32xf16>, %v: tensor<16x1xf16>) -> tensor<16x32xf16> {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<16x32xf32>
  %f0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<16x32xf32>) -> tensor<16x32xf32>
  %p = linalg.matmul ins(%x, %w : tensor<16x64xf16>, tensor<64x32xf16>) outs(%f0 : tensor<16x32xf32>) -> tensor<16x32xf32>
  %e1 = tensor.empty() : tensor<16x32xf16>
  %r = linalg.generic {indexing_maps = [#map, #row, #map], iterator_types = ["parallel", "parallel"]}
      ins(%p, %v : tensor<16x32xf32>, tensor<16x1xf16>) outs(%e1 : tensor<16x32xf16>) {
  ^bb0(%a: f32, %b: f16, %out: f16):
    %b32 = arith.extf %b : f16 to f32
    %c = arith.mulf %a, %b32 : f32
    %d = arith.truncf %c : f32 to f16
    linalg.yield %d : f16
  } -> tensor<16x32xf16>
  return %r : tensor<16x32xf16>
}
"""
SPLIT = """
#map = affine_map<(d0, d1) -> (d0, d1)>
func.func @split(%a: tensor<8x96xf16>, %b: tensor<96x32xf16>) -> tensor<8x32xf16> {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<8x32xf32>
  %f0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<8x32xf32>) -> tensor<8x32xf32>
  %p = linalg.matmul ins(%a, %b : tensor<8x96xf16>, tensor<96x32xf16>) outs(%f0 : tensor<8x32xf32>) -> tensor<8x32xf32>
  %e1 = tensor.empty() : tensor<8x32xf16>
  %r = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
      ins(%p : tensor<8x32xf32>) outs(%e1 : tensor<8x32xf16>) {
  ^bb0(%s: f32, %out: f16):
    %d = arith.truncf %s : f32 to f16
    linalg.yield %d : f16
  } -> tensor<8x32xf16>
  return %r : tensor<8x32xf16>
}
"""
CHAIN = """
#map = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0, 0)>
func.func @chain(%x: tensor<16x64xf16>, %w: tensor<64x32xf16>, %v: tensor<16x1xf16>, %u: tensor<32x16xf16>)
    -> tensor<16x16xf16> {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<16x32xf32>
  %f0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<16x32xf32>) -> tensor<16x32xf32>
  %p = linalg.matmul ins(%x, %w : tensor<16x64xf16>, tensor<64x32xf16>) outs(%f0 : tensor<16x32xf32>) -> tensor<16x32xf32>
  %e1 = tensor.empty() : tensor<16x32xf16>
  %q = linalg.generic {indexing_maps = [#map, #row, #map], iterator_types = ["parallel", "parallel"]}
      ins(%p, %v : tensor<16x32xf32>, tensor<16x1xf16>) outs(%e1 : tensor<16x32xf16>) {
  ^bb0(%a: f32, %b: f16, %out: f16):
    %b32 = arith.extf %b : f16 to f32
    %c = arith.mulf %a, %b32 : f32
    %d = arith.truncf %c : f32 to f16
    linalg.yield %d : f16
  } -> tensor<16x32xf16>
  %e2 = tensor.empty() : tensor<16x16xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<16x16xf32>) -> tensor<16x16xf32>
  %t = linalg.matmul ins(%q, %u : tensor<16x32xf16>, tensor<32x16xf16>) outs(%f1 : tensor<16x16xf32>) -> tensor<16x16xf32>
  %e3 = tensor.empty() : tensor<16x16xf16>
  %r = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
      ins(%t : tensor<16x16xf32>) outs(%e3 : tensor<16x16xf16>) {
  ^bb0(%s: f32, %out: f16):
    %d = arith.truncf %s : f32 to f16
    linalg.yield %d : f16
  } -> tensor<16x16xf16>
  return %r : tensor<16x16xf16>
}
"""
TENSOR, MEMREF = HostSignature
ALLOC, ARGUMENT = WorkspacePlace


@dataclass(frozen=True)
class Built:
    """Kernels of a source; host code for them is made with whatever options a test wants."""

    source: str
    name: str
    launch: LaunchInfo
    binaries: dict[str, KernelBinary]

    def host(self, host: HostSignature = TENSOR, workspace: WorkspacePlace = ALLOC, source: str | None = None) -> str:
        module = read_module(source or self.source, normalise=False)
        options = CompileOptions(function=self.name, host=host, workspace=workspace)
        return host_module(module, self.launch, self.binaries, options)

    def arguments(self) -> list[np.ndarray[Any, Any]]:
        """-1, 0 and 1: sums of 96 products are at most 96, and of 32 products of sums of 64, 2048, which f16 holds."""
        shapes = re.findall(r"%\w+: tensor<(\d+)x(\d+)xf16>", self.source)
        rng = np.random.default_rng(0)
        return [rng.integers(-1, 2, (int(m), int(n))).astype(np.float16) for m, n in shapes]

    def expected(self) -> np.ndarray[Any, Any]:
        (result,) = run_module(self.source, self.arguments())
        return result


def built(source: str, name: str, operators: int, folder: Path) -> Built:
    path = folder / f"{name}.mlir"
    path.write_text(source)
    done = compile_file(path, CompileOptions(limits=SearchLimits(operators=operators), samples=50, check=False))
    return Built(source, name, done.launch, kernel_binaries(done.built))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """One kernel."""
    return built(SCALED, "scaled", 6, tmp_path_factory.mktemp("whole"))


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """Three operators, two a kernel: two parts with a PTX file each."""
    made = built(CHAIN, "chain", 2, tmp_path_factory.mktemp("parts"))
    assert len(made.binaries) == len(made.launch.kernels) == 2
    return made


@pytest.fixture(scope="module")
def split() -> Built:
    """Split-K: one PTX file with two kernels; 3 partial products of 8 x 32 in f32 lie between them."""
    program = import_module(read_module(SPLIT))
    a, b = program_types(program)
    partial = TensorType((8, 32), DType.F32, expanded=(("z", 1),))
    product = (BlockNode(Load(0, True)), BlockNode(Load(1, True)), BlockNode(MATMUL, (0, 1)))
    first = BlockGraph(("x", "z"), None, (a, b), product, (2,))
    second = BlockGraph(("u",), "z", (partial,), (BlockNode(Load(0)), BlockNode(Accum(), (0,))), (1,))
    nodes = (
        CustomNode(first, (0, 1), Mapping(((0, 1), (-1, 0)), (-1, -1), ((0, 1),))),
        CustomNode(second, (2,), Mapping(((0,),), (1,), ((0,),))),
    )
    kernel = compile_graph(program, KernelGraph((a, b), nodes, (3,)), Schedule.of({"x": 2, "z": 3, "u": 2}, 2, 2))
    binary = KernelBinary(kernel.ptx, kernel.result.target, kernel.result.ptx_version)
    return Built(SPLIT, "split", kernel.launch, {"split.ptx": binary})


@pytest.fixture
def program(request: pytest.FixtureRequest) -> Built:
    made: Built = request.getfixturevalue(request.param)
    return made


every_program = pytest.mark.parametrize("program", ["whole", "parts", "split"], indirect=True)
lowerings = pytest.mark.parametrize("lowering", ["use-bare-pointers-for-kernels=1", ""])


@every_program
@lowerings
def test_tensors_are_copied_to_the_device_and_back(program: Built, lowering: str) -> None:
    got = np.empty_like(program.expected())
    with runtime(lower(program.host(), lowering)) as (device, engine):
        call(engine, program.name, *program.arguments(), result=got)
    np.testing.assert_array_equal(got, program.expected())
    assert device.memory == {}
    assert device.log.count("launch") == len(program.launch.kernels)


@every_program
@pytest.mark.parametrize("workspace", WorkspacePlace)
def test_memrefs_are_memory_of_the_device(program: Built, workspace: WorkspacePlace) -> None:
    text = program.host(MEMREF, workspace)
    sizes = program.launch.workspace
    with runtime(lower(text)) as (device, engine):
        got = device.upload(np.empty_like(program.expected()))
        between = [device.upload(np.empty(n, np.int8)) for n in sizes if workspace is ARGUMENT]
        device.written = set()
        call(engine, program.name, *uploaded(device, program.arguments()), got, *between)
    np.testing.assert_array_equal(got, program.expected())
    owned = sizes if workspace is ALLOC else ()
    launches = ["launch"] * len(program.launch.kernels)
    assert device.log == [*(f"alloc {n}" for n in owned), *launches, *(f"free {n}" for n in owned)]


def uploaded(device: Device, arrays: Sequence[np.ndarray[Any, Any]]) -> list[np.ndarray[Any, Any]]:
    return [device.upload(a) for a in arrays]


def test_what_is_allocated_copied_and_freed(parts: Built) -> None:
    """In f16: arguments of 16x64, 64x32, 16x1 and 32x16, a result of 16x16, and 16x32 between the kernels."""
    with runtime(lower(parts.host())) as (device, engine):
        call(engine, "chain", *parts.arguments(), result=np.empty((16, 16), np.float16))
    expected = """
        alloc 2048  alloc 4096  alloc 32  alloc 1024  alloc 512  alloc 1024  in 2048  in 4096  in 32  in 1024
        launch  launch  out 512  free 2048  free 4096  free 32  free 1024  free 512  free 1024
    """
    assert sorted(device.log) == sorted(re.split(r"\s{2,}", expected.strip()))


def test_one_tensor_signature_with_workspace_from_outside(split: Built) -> None:
    text = split.host(TENSOR, ARGUMENT)
    assert (
        "@split(%arg0: tensor<8x96xf16>, %arg1: tensor<96x32xf16>, %arg2: memref<3072xi8>) -> tensor<8x32xf16>" in text
    )
    got = np.empty((8, 32), np.float16)
    with runtime(lower(text)) as (device, engine):
        workspace = device.upload(np.empty(3072, np.int8))
        device.written = set()
        call(engine, "split", *split.arguments(), workspace, result=got)
    np.testing.assert_array_equal(got, split.expected())


@every_program
@pytest.mark.parametrize("host", HostSignature)
def test_upstream_translates_the_lowered_module(program: Built, host: HostSignature) -> None:
    lowered = lower(program.host(host))
    left = {op.name for op in operations(lowered) if not op.name.startswith("llvm.")}
    assert left == {"builtin.module", "gpu.binary", "gpu.launch_func"}
    text = llvm.translate_module_to_llvmir(lowered.operation)
    assert text.count("call void @mgpuLaunchKernel(") == len(program.launch.kernels)
    assert text.count("call ptr @mgpuModuleLoadJIT(") == len(program.binaries)


def operations(module: ir.Module) -> list[ir.Operation]:
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> Any:
        found.append(op)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return found


def test_a_binary_holds_the_ptx_and_the_machine_code(whole: Built) -> None:
    cubin = bytes(range(256))
    binary = KernelBinary(whole.binaries["scaled.ptx"].ptx, "sm_80", (7, 0), cubin)
    text = host_module(
        read_module(SCALED, normalise=False), whole.launch, {"scaled.ptx": binary}, CompileOptions(function="scaled")
    )
    module = ir.Module.parse(text, ir.Context())
    (found,) = [op for op in operations(module) if op.name == "gpu.binary"]
    ptx, code = (gpu.ObjectAttr(o) for o in ir.ArrayAttr(found.attributes["objects"]))
    assert gpu.CompilationTarget(ptx.format) is gpu.CompilationTarget.Assembly
    assert ptx.object.decode() == binary.ptx
    assert gpu.CompilationTarget(code.format) is gpu.CompilationTarget.Binary
    assert code.object == cubin
    assert "+ptx70" in str(ptx.target) and "sm_80" in str(code.target)


@pytest.mark.skipif(find_tool("ptxas") is None, reason="ptxas not found (install the cuda extra)")
def test_machine_code_is_there_where_ptxas_is(whole: Built) -> None:
    cubin = whole.binaries["scaled.ptx"].cubin
    assert cubin is not None and cubin.startswith(b"\x7fELF")


AROUND = SCALED.replace(
    "func.func @scaled(%x: tensor<16x64xf16>,",
    """func.func private @scaled_binary()
func.func @before(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }
func.func @scaled(%x: tensor<16x64xf16> {test.note = "x"},""",
).replace("-> tensor<16x32xf16> {\n  %zero", "-> tensor<16x32xf16> attributes {test.kept} {\n  %zero")
CALLER = """
func.func @twice(%x: tensor<16x64xf16>, %w: tensor<64x32xf16>, %v: tensor<16x1xf16>) -> tensor<16x32xf16> {
  %0 = call @scaled(%x, %w, %v) : (tensor<16x64xf16>, tensor<64x32xf16>, tensor<16x1xf16>) -> tensor<16x32xf16>
  %1 = call @scaled(%x, %w, %v) : (tensor<16x64xf16>, tensor<64x32xf16>, tensor<16x1xf16>) -> tensor<16x32xf16>
  return %1 : tensor<16x32xf16>
}
"""


def test_the_rest_of_the_module_stays(whole: Built) -> None:
    module = ir.Module.parse(whole.host(source=AROUND + CALLER), ir.Context())
    names = [ir.StringAttr(op.attributes["sym_name"]).value for op in module.body]
    assert names == ["scaled_binary", "before", "scaled_binary_0", "scaled", "twice"]
    function = module.body.operations[3]
    assert "test.kept" in function.attributes
    assert 'test.note = "x"' in str(function.attributes["arg_attrs"])


def test_callers_reach_the_kernels(whole: Built) -> None:
    got = np.empty((16, 32), np.float16)
    with runtime(lower(whole.host(source=SCALED + CALLER))) as (device, engine):
        call(engine, "twice", *whole.arguments(), result=got)
    np.testing.assert_array_equal(got, whole.expected())
    assert device.log.count("launch") == 2


@pytest.mark.parametrize("options", [{"host": MEMREF}, {"workspace": ARGUMENT}])
def test_callers_keep_the_signature(tmp_path: Path, options: dict[str, Any]) -> None:
    """Refused before the search begins: the progress says nothing after reading."""
    path = tmp_path / "called.mlir"
    path.write_text(SCALED + CALLER)
    steps: list[str] = []
    with pytest.raises(
        UnsupportedError, match=r"called\.mlir:22:8: error: the module uses @scaled, whose arguments .*--host tensor"
    ):
        compile_file(path, CompileOptions(function="scaled", **options), progress=steps.append)
    assert steps == ["reading"]


@pytest.mark.parametrize("host", HostSignature)
def test_arguments_that_no_kernel_takes_pass_through(whole: Built, host: HostSignature) -> None:
    source = SCALED.replace("%v: tensor<16x1xf16>)", "%v: tensor<16x1xf16>, %n: index, %unread: tensor<4xi8>)")
    text = whole.host(host, source=source)
    assert f"%arg3: index, %arg4: {host}<4xi8>" in text
    assert text.count("%arg3") == text.count("%arg4") == 1


def test_an_encoding_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "encoded.mlir"
    path.write_text(SCALED.replace("%v: tensor<16x1xf16>)", "%v: tensor<16x1xf16>, %n: tensor<4xf32, 1>)"))
    with pytest.raises(
        UnsupportedError, match=r"encoded\.mlir:4:1: error: tensor<4xf32, 1 : i64> in a sig.*, remove the enc"
    ):
        compile_file(path, CompileOptions())


@pytest.mark.extras
@pytest.mark.skipif(find_tool("mlir-opt") is None, reason="mlir-opt not found (install the extras extra)")
@every_program
@pytest.mark.parametrize("host", HostSignature)
@pytest.mark.parametrize(
    "passes",
    [
        [],
        ["--one-shot-bufferize=bufferize-function-boundaries", "--gpu-lower-to-nvvm-pipeline"],
        ["--one-shot-bufferize=bufferize-function-boundaries", "--gpu-to-llvm=use-bare-pointers-for-kernels"],
    ],
    ids=["verify", "default-pipeline", "bare-pointers"],
)
def test_mlir_opt_takes_it(program: Built, host: HostSignature, passes: list[str]) -> None:
    command = [str(find_tool("mlir-opt")), "-", *passes]
    done = subprocess.run(command, input=program.host(host), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("gpu.launch_func") == len(program.launch.kernels)
