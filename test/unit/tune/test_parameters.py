"""The parameter space against brute force and sizes worked out on paper."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from tune_graphs import gemm, pointwise

from prism_mlir.codegen.compile import feasible
from prism_mlir.graph.block import Accum, BlockGraph, BlockNode, Load
from prism_mlir.graph.dtypes import DType
from prism_mlir.graph.errors import InputError
from prism_mlir.graph.evaluate import evaluate_graph
from prism_mlir.graph.examples import rms_norm, softmax_matmul_block
from prism_mlir.graph.fields import Reals
from prism_mlir.graph.footprint import shared_bytes
from prism_mlir.graph.kernel import CustomNode, KernelGraph, program_types
from prism_mlir.graph.mapping import Mapping, part_size
from prism_mlir.graph.ops import MATMUL, MUL, sum_, unary
from prism_mlir.graph.schedule import Orientation, Schedule, ScheduledGraph
from prism_mlir.tune import sampling
from prism_mlir.tune.parameters import (
    ParameterSpace,
    enumerate_schedules,
    parameter_space,
    part_counts,
    ragged_counts,
    rejection,
    variants,
)
from prism_mlir.tune.sampling import sample
from prism_mlir.tune.targets import KIB, find_target

A100 = find_target("sm_80")


def why(
    graph: KernelGraph,
    sizes: dict[str, int],
    warps: int = 1,
    stages: int = 1,
    orientation: Orientation = Orientation.AUTO,
    residency: int = 0,
) -> str | None:
    schedule = Schedule(tuple(sorted(sizes.items())), warps, stages, orientation, residency)
    return rejection(parameter_space(graph), schedule, A100)


@pytest.mark.parametrize("size", [1, 2, 12, 43, 96, 1376, 4096, 11008])
def test_part_counts_are_the_divisors_with_a_power_of_two_on_either_side(size: int) -> None:
    def power(n: int) -> bool:
        return bin(n).count("1") == 1

    divisors = [d for d in range(1, size + 1) if size % d == 0]
    assert part_counts(size) == tuple(d for d in divisors if power(d) or power(size // d))


def test_parts_that_cannot_be_equal_are_whole_tiles_but_for_the_last() -> None:
    for size in (1, 7, 13, 100, 333, 1000, 1336, 4097):
        for parts in range(1, min(size, 200) + 1):
            part = part_size(size, parts)
            assert part * parts >= size
            assert part * parts == size or part <= 8 or part % 16 == 0
            assert part - size / parts < 16
        for parts in ragged_counts(size):
            last = size - (parts - 1) * part_size(size, parts)
            assert 0 < last <= part_size(size, parts)
    assert ragged_counts(4096) == ragged_counts(64 * 3) == ragged_counts(16) == ()
    assert 33 in ragged_counts(4097) and part_size(4097, 33) == 128


def test_sizes_divide_every_dim_they_cut() -> None:
    """In figure 1 of the paper x cuts the 4096 rows of X, i its 4096 columns and the 4096 rows of W."""
    space = parameter_space(softmax_matmul_block())
    powers = tuple(2**k for k in range(13))
    assert dict(space.sizes) == {"x": powers, "i": powers}
    assert space.plain.raw_size == 13 * 13 * 5 * 4
    assert space.raw_size == 13 * 13 * 5 * 4 * 3 * 9
    assert str(space) == "91,260 points: x 13, i 13, warps 5, stages 4, orientations 3, residencies 9"


def test_each_dim_has_its_own_counts() -> None:
    """x cuts the 96 columns of W, y the 16 rows of X, the loop the inner 64."""
    assert dict(parameter_space(gemm(16, 96, 64)).sizes) == {
        "x": (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 96),
        "y": (1, 2, 4, 8, 16),
        "i": (1, 2, 4, 8, 16, 32, 64),
    }


def test_a_grid_dim_whose_blocks_store_the_same_has_size_one() -> None:
    space = dict(parameter_space(pointwise(64, 64, replicated=True)).sizes)
    assert space["y"] == (1,)
    assert max(space["x"]) == 64


def test_without_a_loop_there_is_nothing_to_pipeline() -> None:
    assert parameter_space(pointwise(64, 64)).stages == (1,)


@pytest.mark.parametrize("space", [parameter_space(gemm(16, 32, 64)), parameter_space(gemm(16, 32, 64)).plain])
def test_points_are_numbered_as_they_are_listed(space: ParameterSpace) -> None:
    assert [space.point(k) for k in range(space.raw_size)] == list(space)
    assert len(set(space)) == space.raw_size


def test_symbolic_mappings_are_an_error() -> None:
    with pytest.raises(InputError, match="symbolic mappings"):
        parameter_space(softmax_matmul_block(mapping=False))


@pytest.mark.parametrize(
    ("sizes", "warps", "stages", "reason"),
    [
        ({"x": 4, "y": 1, "i": 4}, 1, 1, None),
        ({"x": 4, "y": 1, "i": 2}, 1, 3, "more stages than iterations"),
        ({"x": 3, "y": 1, "i": 4}, 1, 1, None),  # 96, 96 and 64 columns
        ({"x": 60, "y": 1, "i": 4}, 1, 1, "a tile is ragged"),  # parts of 5
        ({"x": 15, "y": 1, "i": 4}, 1, 1, "a tile is ragged"),  # parts of 32: the first eight hold all
        ({"x": 64, "y": 1, "i": 4}, 1, 1, "rows shorter than a copy"),  # 256 / 64 = 4 halves, 8 bytes
        ({"x": 4, "y": 1, "i": 32}, 1, 1, "a product's tile is no multiple of 16 x 8 x 16"),  # k = 8
        ({"x": 4, "y": 8, "i": 4}, 1, 1, "a product's tile is no multiple of 16 x 8 x 16"),  # m = 4
        ({"x": 16, "y": 2, "i": 4}, 4, 1, "a warp without work"),  # 16 x 16 elements are 2 fragments
        ({"x": 4, "y": 1, "i": 4}, 64, 1, "too many threads"),
    ],
)
def test_rules(sizes: dict[str, int], warps: int, stages: int, reason: str | None) -> None:
    assert why(gemm(32, 256, 256), sizes, warps, stages) == reason


def test_sideways_products_are_admitted() -> None:
    """8 rows of activations by 16 columns of weights: the weights take the 16-row side of the tensor core."""
    assert why(gemm(32, 256, 256), {"x": 16, "y": 4, "i": 4}) is None


def test_shared_memory_is_refused_above_the_limit_only() -> None:
    """Two tiles of 64 x 256 and 256 x 64 halves are 64 KiB a stage: two stages fit 163 KiB, three do not."""
    graph, sizes = gemm(64, 64, 1024), {"x": 1, "y": 1, "i": 4}
    (node,) = graph.custom
    assert node.mapping is not None
    assert shared_bytes(node.block, node.mapping, sizes, 2) == 128 * KIB
    assert why(graph, sizes, 4, 2) is None
    assert why(graph, sizes, 4, 3) == "too much shared memory"


def test_registers_are_refused_above_the_limit() -> None:
    """128 x 128 f32 accumulators over the 32 threads of one warp are 512 registers each, over 4 warps 128."""
    sizes = {"x": 1, "y": 1, "i": 16}
    assert why(gemm(128, 128, 512), sizes, 1, 1) == "too many registers"
    assert why(gemm(128, 128, 512), sizes, 4, 1) is None


@pytest.mark.parametrize(
    ("sizes", "orientation", "reason"),
    [
        ({"x": 4, "y": 2, "i": 4}, "sideways", None),  # 16 x 64 of 32 x 256
        ({"x": 4, "y": 2, "i": 4}, "upright", "an orientation that changes nothing"),
        ({"x": 32, "y": 2, "i": 4}, "sideways", "a product does not fit the orientation"),  # n = 8
        ({"x": 4, "y": 4, "i": 4}, "sideways", "an orientation that changes nothing"),  # 8 x 64 lies on its side
        ({"x": 4, "y": 4, "i": 4}, "upright", "a product does not fit the orientation"),  # m = 8
    ],
)
def test_orientations(sizes: dict[str, int], orientation: str, reason: str | None) -> None:
    assert why(gemm(32, 256, 256), sizes, orientation=Orientation(orientation)) == reason


def test_rows_that_stay_whole_are_padded_to_stand_upright() -> None:
    """8 rows, not cut, may be padded to 16; of themselves they lie on their side."""
    assert why(gemm(8, 256, 256), {"x": 4, "y": 1, "i": 4}, orientation=Orientation.UPRIGHT) is None


def test_f32_products_have_no_orientation() -> None:
    assert parameter_space(gemm(16, 64, 64, DType.F32)).orientations == (Orientation.AUTO,)
    assert parameter_space(pointwise(64, 64)).residencies == (0,)


@pytest.mark.parametrize(
    ("warps", "residency", "reason"),
    [
        # 64 x 128 f32 over 128 threads: 64 accumulators, an estimate of 104 registers, up to 192 where nothing limits them.
        (4, 2, "a residency that changes nothing"),  # 65536 / 256 = 256
        (4, 3, None),  # 170, in eights 168
        (4, 4, None),  # 128
        (4, 5, "too many registers"),  # 102, in eights 96
        # over 256 threads: 32 accumulators, 72 registers, up to 128
        (8, 2, "a residency that changes nothing"),  # 128
        (8, 3, None),  # 85, in eights 80
        (8, 4, "too many registers"),  # 64
        (8, 12, "too few blocks fit an SM"),  # 12 * 256 threads
    ],
)
def test_residencies(warps: int, residency: int, reason: str | None) -> None:
    """One stage of 64 x 16 and 16 x 128 halves: shared memory holds many blocks."""
    assert why(gemm(64, 128, 1024), {"x": 1, "y": 1, "i": 64}, warps, residency=residency) == reason


def test_resident_blocks_share_the_memory_of_an_sm() -> None:
    """Two stages of 64 x 128 and 128 x 64 halves are 64 KiB, and 1 KiB is the system's: two blocks fit 164 KiB, three do not."""
    graph, sizes = gemm(64, 64, 1024), {"x": 1, "y": 1, "i": 8}
    assert why(graph, sizes, 4, 2, residency=3) == "too few blocks fit an SM"
    assert why(graph, sizes, 4, 1, residency=4) == "a residency that changes nothing"  # 32 accumulators, 128 registers


def test_variants_are_the_valid_points_with_the_same_sizes_warps_and_stages() -> None:
    space = parameter_space(gemm(64, 128, 256))
    valid = [p for p in space if rejection(space, p, A100) is None]
    plain = [p for p in valid if p in set(space.plain)]
    assert plain == [p for p in space.plain if rejection(space.plain, p, A100) is None]
    for point in plain[:: max(1, len(plain) // 40)]:
        alike = [p for p in valid if (p.sizes, p.warps, p.stages) == (point.sizes, point.warps, point.stages)]
        assert sorted([point, *variants(space, point, A100)]) == sorted(alike)
    assert len(valid) > len(plain)


def test_valid_sizes_compute_the_product() -> None:
    graph = gemm(32, 64, 64)
    rng = np.random.default_rng(0)
    x, w = rng.integers(-4, 5, (32, 64)).astype(np.float64), rng.integers(-4, 5, (64, 64)).astype(np.float64)
    sizes = {s.sizes for s in enumerate_schedules(parameter_space(graph), A100)}
    assert len(sizes) > 10
    for chosen in sizes:
        (result,) = evaluate_graph(graph, dict(chosen), [x, w], Reals())
        np.testing.assert_array_equal(result, x @ w)


def test_small_spaces_are_looked_at_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "EXHAUSTIVE", 10**6)
    graph = gemm(32, 64, 64)
    found = sample([graph], A100, 10_000)
    space = parameter_space(graph)
    valid = [p for p in space if rejection(space, p, A100) is None]
    assert found.exhaustive
    assert sorted(p.schedule for p in found.points) == sorted(valid)
    assert found.examined == found.raw == len(valid) + sum(n for _, n in found.rejected)


def test_samples_are_valid_different_and_repeatable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "EXHAUSTIVE", 0)
    graphs = [gemm(32, 64, 64), pointwise(256, 256), gemm(16, 128, 64)]
    first, again, other = (sample(graphs, A100, 12, seed) for seed in (1, 1, 2))
    assert first == again
    assert first.points != other.points
    assert len(set(map(repr, first.points))) == 12
    assert all(rejection(parameter_space(p.graph), p.schedule, A100) is None for p in first.points)


def test_every_valid_point_of_every_graph_is_equally_likely(monkeypatch: pytest.MonkeyPatch) -> None:
    """One draw from graphs with raw spaces of different size, 3,000 times: chi-square over the valid points, by brute force.

    Of the product's points some are turned, and some ask for resident blocks.
    """
    graphs = [pointwise(8, 64), gemm(32, 32, 16)]
    spaces = [parameter_space(g) for g in graphs]
    valid = [(s.graph, p) for s in spaces for p in s if rejection(s, p, A100) is None]
    assert any(p.orientation is Orientation.SIDEWAYS for _, p in valid) and any(p.residency for _, p in valid)
    monkeypatch.setattr(sampling, "EXHAUSTIVE", 0)
    draws = Counter(repr(sample(graphs, A100, 1, seed).points[0]) for seed in range(3000))
    assert set(draws) == {repr(ScheduledGraph(*point)) for point in valid}
    expected = 3000 / len(valid)
    chi_square = sum((n - expected) ** 2 / expected for n in draws.values())
    freedom = len(valid) - 1
    assert chi_square < freedom + 4 * (2 * freedom) ** 0.5


def test_a_larger_chip_admits_more() -> None:
    graph = gemm(64, 64, 4096)
    small = replace(A100, shared_per_block=16 * KIB)
    admitted = set(enumerate_schedules(parameter_space(graph), small))
    assert admitted < set(enumerate_schedules(parameter_space(graph), A100))


def test_code_generation_takes_every_valid_point() -> None:
    """What tuning admits must build: asked of code generation's own check, over points of a fused RMSNorm."""
    program = rms_norm(rows=16, inner=128, cols=128)
    types = program_types(program)
    nodes = (
        BlockNode(Load(0)),
        BlockNode(Load(1)),
        BlockNode(unary("x**2"), (0,)),
        BlockNode(MATMUL, (0, 1)),
        BlockNode(sum_(1), (2,)),
        BlockNode(Accum(), (3,)),
        BlockNode(Accum(), (4,)),
        BlockNode(unary("rsqrt(x/128 + 1e-06)"), (6,)),
        BlockNode(MUL, (5, 7)),
    )
    block = BlockGraph(("x", "y"), "i", types, nodes, (8,))
    mapping = Mapping(imap=((0, -1), (-1, 1)), fmap=(1, 0), omap=((0, 1),))
    graph = KernelGraph(types, (CustomNode(block, (0, 1), mapping),), (2,))
    points = sample([graph], A100, 300, program=program).points
    assert len(points) > 50
    assert [p.schedule for p in points if feasible(program, graph, p.schedule) is not None] == []
