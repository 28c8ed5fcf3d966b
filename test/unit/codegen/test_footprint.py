"""Where tiles live, against counts made by hand."""

from __future__ import annotations

from math import prod

from codegen_graphs import (
    attention_late,
    rms_norm_late,
    rms_norm_mlp_shared_operand,
    rms_norm_scaled_in_loop,
    rms_norm_two_loads,
    rms_norm_whole,
    with_dtype,
)

from prism_mlir.graph.dtypes import DType
from prism_mlir.graph.examples import attention, rms_norm, rms_norm_mlp
from prism_mlir.graph.footprint import REDUCING_WARPS, Phase, Placement, Product, place, shared_bytes
from prism_mlir.graph.kernel import KernelGraph
from prism_mlir.graph.schedule import Orientation

KIB = 1024


def placed(graph: KernelGraph, sizes: dict[str, int], stages: int) -> Placement:
    (node,) = graph.custom
    assert node.mapping is not None
    return place(node.block, node.mapping, sizes, stages)


def kinds(found: Placement) -> list[tuple[int, str, Phase, Phase]]:
    return [(b.node, b.kind, b.first, b.last) for b in found.buffers]


def test_rms_norm() -> None:
    """Tiles X 8x64 and W 64x64 of f16 with three copies each; the row sums (8 f32, one line of 128 bytes) come after the loop."""
    found = placed(rms_norm_late(rms_norm(8, 4096, 4096)), {"x": 64, "i": 64}, 3)
    assert kinds(found) == [
        (0, "load", Phase.BEFORE, Phase.LOOP),
        (1, "load", Phase.BEFORE, Phase.LOOP),
        (4, "value", Phase.AFTER, Phase.AFTER),
        (8, "store", Phase.AFTER, Phase.AFTER),
    ]
    assert found.shared_bytes == 3 * (8 * 64 + 64 * 64) * 2
    assert found.products[5] == Product(1, 8, 64, 64, DType.F16, transposed=True)
    assert dict(found.fused) == {3: 4, 5: 6}
    assert set(found.held) == {6}
    assert not found.spilled


def test_a_result_goes_through_shared_memory_where_there_is_room() -> None:
    """Y 8x256 in f32 has 8 KB: it lies where the tiles of the loop were, X 8x16 and W 16x256 with 8.25 KB. Beside a tile that is
    needed to the end there is no room; and rows of two elements are stored as they are."""
    roomy = placed(rms_norm_late(rms_norm(8, 64, 1024)), {"x": 4, "i": 4}, 1)
    assert (8, "store") in {b.key for b in roomy.buffers}
    assert roomy.shared_bytes == 8 * 16 * 2 + 16 * 256 * 2
    whole = placed(rms_norm_whole(rms_norm(16, 16, 1024)), {"x": 1}, 1)
    assert not any(b.kind == "store" for b in whole.buffers)
    narrow = placed(rms_norm_late(rms_norm(8, 4096, 64)), {"x": 32, "i": 4}, 2)
    assert not any(b.kind == "store" for b in narrow.buffers)


def test_sixteen_rows_take_the_normal_form() -> None:
    found = placed(rms_norm_late(rms_norm(16, 1024, 1024)), {"x": 16, "i": 16}, 2)
    assert not found.products[5].transposed


def test_one_row_is_padded_to_eight_columns() -> None:
    found = placed(rms_norm_late(rms_norm(1, 256, 64)), {"x": 1, "i": 4}, 1)
    assert found.products[5].transposed
    assert found.buffers[0].layout.extents == (8, 64)


def test_whole_inner_dim() -> None:
    """X 16x1024 and its normalised copy (32 KB each), W 1024x16 (32 KB), and one line for the row statistic."""
    found = placed(rms_norm_whole(rms_norm(16, 1024, 1024)), {"x": 64}, 1)
    assert found.shared_bytes == 3 * 32 * KIB + 128
    assert [b.key for b in found.buffers] == [(0, "load"), (1, "load"), (3, "value"), (5, "operand"), (6, "store")]


def test_invariant_tile_that_only_feeds_a_statistic_is_gone_after_it() -> None:
    found = placed(rms_norm_two_loads(rms_norm(8, 256, 128)), {"x": 2, "i": 4}, 2)
    whole = next(b for b in found.buffers if b.key == (0, "load"))
    assert (whole.first, whole.last) == (Phase.BEFORE, Phase.BEFORE)


def test_a_product_scaled_in_the_loop_stays_in_registers() -> None:
    found = placed(rms_norm_scaled_in_loop(rms_norm(8, 256, 128)), {"x": 2, "i": 4}, 2)
    assert set(found.held) == {6, 8}  # the product and its accumulator
    assert not found.spilled


def test_one_copy_of_an_operand_for_two_products() -> None:
    found = placed(rms_norm_mlp_shared_operand(rms_norm_mlp(8, 128, 64)), {"x": 2, "i": 4}, 2)
    assert [b.node for b in found.buffers if b.kind == "operand"] == [7]


def test_attention_scores_are_summed_where_they_lie() -> None:
    """Scores stay in registers; what warps have of a row that they share passes through a small buffer."""
    found = placed(attention_late(attention(2, 128, 32)), {"x": 2, "i": 4}, 2)
    assert not found.spilled
    assert [b.node for b in found.buffers if b.kind == "operand"] == [4]
    (partial,) = (b for b in found.buffers if b.kind == "partial")
    assert partial.layout.extents == (prod(found.tiles[partial.node]), REDUCING_WARPS)


def test_f32_products_are_summed_in_shared_memory() -> None:
    """Without tensor cores a thread holds single elements of many rows."""
    found = placed(attention_late(with_dtype(attention(2, 128, 32), DType.F32)), {"x": 2, "i": 4}, 2)
    assert found.spilled == {3}
    assert not any(b.kind == "partial" for b in found.buffers)


def test_f32_tensors_need_no_tensor_core_padding() -> None:
    program = with_dtype(rms_norm(3, 64, 20), DType.F32)
    found = placed(rms_norm_late(program), {"x": 1, "i": 4}, 1)
    assert found.buffers[0].layout.extents == (3, 16)


def test_shared_bytes_is_the_placements() -> None:
    (node,) = rms_norm_late(rms_norm(8, 256, 128)).custom
    assert node.mapping is not None
    sizes = {"x": 2, "i": 4}
    assert shared_bytes(node.block, node.mapping, sizes, 2) == 2 * (8 * 64 + 64 * 64) * 2


def test_an_asked_orientation_is_taken_whatever_it_pads() -> None:
    """X 8x64 and W 64x64 of f16: sideways 8 rows stay 8, upright they are padded to 16."""
    (node,) = rms_norm_late(rms_norm(8, 4096, 4096)).custom
    assert node.mapping is not None
    for orientation, transposed, rows in ((Orientation.UPRIGHT, False, 16), (Orientation.SIDEWAYS, True, 8)):
        found = place(node.block, node.mapping, {"x": 64, "i": 64}, 3, orientation=orientation)
        assert found.products[5] == Product(1, 8, 64, 64, DType.F16, transposed=transposed)
        assert found.shared_bytes == 3 * (rows * 64 + 64 * 64) * 2


def test_products_without_tensor_cores_have_no_orientation() -> None:
    product = Product.of((8, 16), 16, DType.F32, orientation=Orientation.SIDEWAYS)
    assert product == Product.of((8, 16), 16, DType.F32)
