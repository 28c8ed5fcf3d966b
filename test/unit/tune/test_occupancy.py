"""Occupancy and work of a block, against arithmetic on paper."""

from __future__ import annotations

import pytest
from tune_graphs import gemm, pointwise

from prism_mlir.codegen.layout import spread_of
from prism_mlir.graph.dtypes import DType
from prism_mlir.graph.examples import softmax_matmul_block
from prism_mlir.graph.footprint import Placement, Product, place
from prism_mlir.graph.kernel import KernelGraph
from prism_mlir.graph.program import Program, ProgramInput
from prism_mlir.tune.occupancy import (
    executed_fma,
    granules,
    operand_reads,
    operand_strides,
    placed,
    registers_per_thread,
    resident_blocks,
    warp_units,
)
from prism_mlir.tune.targets import KIB, find_target

A100 = find_target("sm_80")


def at(graph: KernelGraph, **sizes: int) -> Placement:
    (node,) = graph.custom
    assert node.mapping is not None
    return place(node.block, node.mapping, sizes, 1)


@pytest.mark.parametrize(
    ("m", "n", "k", "pieces"),
    [(16, 8, 16, 1), (32, 64, 16, 16), (1, 64, 32, 4), (8, 128, 16, 8), (17, 8, 16, 2)],
)
def test_products_are_padded_to_whole_fragments(m: int, n: int, k: int, pieces: int) -> None:
    """(1, 64) takes four 16 x 8 fragments when the 64 columns go on the 16-row side; (17, 8): two either way."""
    product = Product.of((m, n), k, DType.F16)
    assert granules(product) == pieces
    assert executed_fma(product, 1) == pieces * 16 * 8 * -(-k // 16) * 16


def test_f32_products_are_not_padded() -> None:
    product = Product.of((3, 5), 7, DType.F32)
    assert executed_fma(product, 1) == 3 * 5 * 7
    assert granules(product) == 1  # 15 elements, one group of 32 lanes


@pytest.mark.parametrize(
    ("shape", "k", "warps", "fragments", "rows"),
    [
        ((1, 16), 128, 4, 4, 4 * (16 + 8)),  # turned, one fragment: each of the warps computes it, and reads both sides
        (
            (1, 128),
            128,
            4,
            8,
            4 * (2 * 16 + 8),
        ),  # turned, eight: each warp has two and reads the one row of the other side
        ((1, 128), 128, 8, 8, 8 * (16 + 8)),
        ((1, 48), 16, 2, 4, 2 * (2 * 16 + 8)),  # three fragments for two warps: two each
        ((64, 64), 16, 4, 32, 4 * (2 * 16 + 4 * 8)),  # 4 x 8 over a grid of 2 x 2
    ],
)
def test_every_warp_multiplies_and_reads_its_own_fragments(
    shape: tuple[int, int], k: int, warps: int, fragments: int, rows: int
) -> None:
    """``rows``: of both sides, read by all warps together, each of 16 halves for each of k / 16 steps."""
    product = Product.of(shape, k, DType.F16)
    assert executed_fma(product, warps) == fragments * 16 * 8 * k
    assert operand_reads(product, warps) == rows * 16 * 2 * (k // 16)


def test_an_ordinary_product_reads_two_wavefronts_a_step() -> None:
    """8 x 64 elements over 4 warps: 4 each, 16 warp-steps for each of 10 steps along k, of two times 128 bytes."""
    assert operand_reads(Product.of((8, 64), 10, DType.F32), 4) == 16 * 10 * 2 * 128


def test_accumulators_are_spread_over_the_threads() -> None:
    """64 x 64 f32 over 4 warps of 32 lanes: 32 registers a thread, on top of what 8 warps need (16)."""
    block = at(gemm(64, 64, 256), x=1, y=1, i=4)
    assert registers_per_thread(block, 4) - registers_per_thread(block, 8) == 32 - 16


def test_warps_share_fragments_or_groups_of_elements() -> None:
    assert warp_units(at(gemm(64, 64, 256), x=1, y=2, i=4)) == (32 // 16) * (64 // 8)
    assert warp_units(at(pointwise(16, 64), x=4)) == 4 * 64 // 32


@pytest.mark.parametrize(
    ("shared", "registers", "warps", "blocks"),
    [
        (0, 32, 2, 32),  # 32 blocks an SM, whatever else
        (81 * KIB, 32, 4, 2),  # (164 KiB) / (81 + 1 KiB)
        (0, 128, 8, 2),  # 65536 / (128 * 256)
        (0, 32, 32, 2),  # 2048 threads
    ],
)
def test_resident_blocks(shared: int, registers: int, warps: int, blocks: int) -> None:
    assert resident_blocks(shared, registers, warps, A100) == blocks


def test_strides_come_from_the_program_where_it_has_them() -> None:
    graph = gemm(16, 32, 64)
    (node,) = graph.custom
    assert operand_strides(graph, node, None) == ((64, 1), (32, 1))
    inputs = (
        ProgramInput.whole("X", (16, 64), DType.F16, 0),
        ProgramInput("W", (64, 32), DType.F16, 1, (32, 64), (1, 64)),
    )
    program = Program("turned", inputs, (), ())
    assert operand_strides(graph, node, program) == ((64, 1), (1, 64))


@pytest.mark.parametrize("warps", [1, 2, 3, 4, 8, 16])
@pytest.mark.parametrize("shape", [(16, 64), (8, 128), (1, 48), (64, 96), (24, 40)])
@pytest.mark.parametrize("dtype", [DType.F16, DType.F32])
def test_accumulators_are_those_code_generation_deals_out(shape: tuple[int, int], warps: int, dtype: DType) -> None:
    product = Product.of(shape, 32, dtype)
    assert product.accumulators(warps) == spread_of(product, shape, warps).count


@pytest.mark.parametrize("stages", [1, 2, 4])
def test_stages_only_multiply_the_buffers_of_the_loop(stages: int) -> None:
    for graph, sizes in [(gemm(64, 128, 256), {"i": 8, "x": 2, "y": 2}), (softmax_matmul_block(), {"i": 32, "x": 64})]:
        (node,) = graph.custom
        strides = operand_strides(graph, node, None)
        assert node.mapping is not None
        exact = place(node.block, node.mapping, sizes, stages, strides)
        assert placed(node, tuple(sorted(sizes.items())), stages, strides) == exact
