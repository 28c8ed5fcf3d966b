"""Programs in parts: launches join, results are those of the whole, and cutting is done where the model finds it faster."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from prism_mlir.compiler import parts
from prism_mlir.compiler.options import CompileOptions
from prism_mlir.compiler.parts import BuiltPart
from prism_mlir.compiler.pipeline import Compilation, compile_file
from prism_mlir.graph.errors import Location
from prism_mlir.graph.examples import build_program
from prism_mlir.graph.launch_info import Role
from prism_mlir.graph.ops import unary
from prism_mlir.search.limits import SearchLimits
from prism_mlir.search.partition import Part

MLP = """
#map = affine_map<(d0, d1) -> (d0, d1)>
func.func @mlp(%x: tensor<8x64xf16>, %g: tensor<64x256xf16>, %u: tensor<64x256xf16>, %d: tensor<256x64xf16>) -> tensor<8x64xf16> {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %wide = tensor.empty() : tensor<8x256xf32>
  %wide16 = tensor.empty() : tensor<8x256xf16>
  %narrow = tensor.empty() : tensor<8x64xf32>
  %narrow16 = tensor.empty() : tensor<8x64xf16>
  %f0 = linalg.fill ins(%zero : f32) outs(%wide : tensor<8x256xf32>) -> tensor<8x256xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%narrow : tensor<8x64xf32>) -> tensor<8x64xf32>
  %a = linalg.matmul ins(%x, %g : tensor<8x64xf16>, tensor<64x256xf16>) outs(%f0 : tensor<8x256xf32>) -> tensor<8x256xf32>
  %b = linalg.matmul ins(%x, %u : tensor<8x64xf16>, tensor<64x256xf16>) outs(%f0 : tensor<8x256xf32>) -> tensor<8x256xf32>
  %h = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]}
      ins(%a, %b : tensor<8x256xf32>, tensor<8x256xf32>) outs(%wide16 : tensor<8x256xf16>) {
  ^bb0(%p: f32, %q: f32, %out: f16):
    %n = arith.negf %p : f32
    %e = math.exp %n : f32
    %s = arith.addf %e, %one : f32
    %t = arith.divf %p, %s : f32
    %m = arith.mulf %t, %q : f32
    %r = arith.truncf %m : f32 to f16
    linalg.yield %r : f16
  } -> tensor<8x256xf16>
  %c = linalg.matmul ins(%h, %d : tensor<8x256xf16>, tensor<256x64xf16>) outs(%f1 : tensor<8x64xf32>) -> tensor<8x64xf32>
  %o = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
      ins(%c : tensor<8x64xf32>) outs(%narrow16 : tensor<8x64xf16>) {
  ^bb0(%p: f32, %out: f16):
    %r = arith.truncf %p : f32 to f16
    linalg.yield %r : f16
  } -> tensor<8x64xf16>
  return %o : tensor<8x64xf16>
}
"""


def compiled(tmp_path: Path, operators: int) -> Compilation:
    path = tmp_path / "mlp.mlir"
    path.write_text(MLP)
    return compile_file(path, CompileOptions(limits=SearchLimits(operators=operators), samples=300))


@pytest.mark.parametrize(("operators", "least"), [(2, 3), (3, 2), (4, 2), (11, 1)])
def test_any_limit_gives_a_program_that_runs_clean(tmp_path: Path, operators: int, least: int) -> None:
    """x.G, x.U, silu, product, .D are 5 operators, each at least one in a block: at most 2 a block take three parts."""
    done = compiled(tmp_path, operators)
    parts = done.built.parts
    assert len(parts) >= least
    assert len(done.built.cuts) == len(parts) - 1
    assert all(a.ok for a in done.accuracy)
    assert len(done.accuracy) == 5
    assert all(v.proved for p in parts for v in [p.discovery.verdict_of(p.selection.graph)])


def test_workspaces_lead_from_part_to_part(tmp_path: Path) -> None:
    launch = compiled(tmp_path, 4).launch
    written = [{a.index for a in k.arguments if a.role is Role.WORKSPACE} for k in launch.kernels]
    assert written[0] and written[0] & written[1]
    for kernel in launch.kernels:
        for a in kernel.arguments:
            if a.role is Role.WORKSPACE:
                assert a.shape == (8, 256)
                assert launch.workspace[a.index] == 8 * 256 * a.dtype.bytes
    assert [a.index for a in launch.kernels[-1].arguments if a.role is Role.OUTPUT] == [0]
    assert {a.index for k in launch.kernels for a in k.arguments if a.role is Role.INPUT} == {0, 1, 2, 3}
    assert len({k.entry for k in launch.kernels}) == len(launch.kernels)


def test_a_wasteful_fusion_is_cut(tmp_path: Path) -> None:
    """A down-projection fused with what is before it computes the hidden layer again in every block; two kernels are faster."""
    source = (
        MLP.replace("64x256", "512x2048")
        .replace("256x64", "2048x512")
        .replace("8x256", "8x2048")
        .replace("8x64", "8x512")
    )
    path = tmp_path / "mlp.mlir"
    path.write_text(source)
    done = compile_file(path, CompileOptions(samples=300, check=False))
    assert [len(p.part.program.nodes) for p in done.built.parts] == [4, 1]
    assert [c.bytes for c in done.built.cuts] == [2 * 8 * 2048 * 2]


def test_neighbours_that_are_faster_together_are_merged() -> None:
    """Down-projection and residual: the narrowest cut lies between them, but one kernel for both saves a launch."""
    path = Path(__file__).parents[2] / "inputs" / "programs" / "gated_mlp_residual.mlir"
    done = compile_file(path, CompileOptions(samples=300, check=False))
    operators = [[str(n.op) for n in p.part.program.nodes] for p in done.built.parts]
    assert operators[-1] == ["matmul", "add"]
    assert len(operators) == 2
    names = [p.part.program.name for p in done.built.parts]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(("whole_us", "kernels"), [(12.0, 1), (14.0, 2), (40.0, 2)])
def test_never_slower_than_operators_by_themselves(
    monkeypatch: pytest.MonkeyPatch, whole_us: float, kernels: int
) -> None:
    """Two operators of 6.5 µs each, whose floor is 2.7 µs for the launch and 3.65 µs until memory delivers: more than 12.7 µs for
    the whole is compared with them."""
    program = build_program("two", {"x": (8, 64)}, [(unary("exp(x)"), (k,)) for k in range(2)])
    times = {1: 6.5, 2: whole_us}

    def built(part: Part, *_: object) -> BuiltPart:
        cost = SimpleNamespace(total_us=times[len(part.program.nodes)])
        selection = SimpleNamespace(ranked=SimpleNamespace(cost=cost))
        return BuiltPart(part, SimpleNamespace(interrupted=False), selection)  # type: ignore[arg-type]

    monkeypatch.setattr(parts, "_build", built)
    done = parts.build_program(program, CompileOptions(), Location("f.mlir", 1, 1), None, lambda _: None)
    assert len(done.parts) == kernels
    assert parts.model_us(done.parts) == min(whole_us, 13.0)


def test_parts_with_nothing_in_common_stay_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """exp of x, then exp of y: one kernel for both would be all pairs of graphs. Two that read x may become one."""

    def built(part: Part, *_: object) -> BuiltPart:
        cost = SimpleNamespace(total_us=100.0 if len(part.program.nodes) == 3 else 1.0)
        selection = SimpleNamespace(ranked=SimpleNamespace(cost=cost))
        return BuiltPart(part, SimpleNamespace(interrupted=False), selection)  # type: ignore[arg-type]

    monkeypatch.setattr(parts, "_build", built)
    nodes = [(unary("exp(x)"), (0,)), (unary("x + 1"), (0,)), (unary("exp(x)"), (1,))]
    program = build_program("three", {"x": (8, 64), "y": (8, 64)}, nodes)
    outputs = tuple(replace(program.outputs[0], value=v, name=f"out{v}") for v in (2, 3, 4))
    done = parts.build_program(
        replace(program, outputs=outputs), CompileOptions(), Location("f.mlir", 1, 1), None, lambda _: None
    )
    assert [p.part.count for p in done.parts] == [2, 1]
