"""The target table against the vendors' headline numbers, which are not what its rows are written in."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import prism_mlir
from prism_mlir.graph.errors import InputError
from prism_mlir.tune.targets import DEFAULT_TARGET, KIB, TARGETS, find_target

# Datasheets: peak f16 tensor and f32 TFLOP/s (dense, boost clock), shared memory a block can ask for, warps an SM holds.
DATASHEET = {
    "sm_80": (312.0, 19.5, 163, 64),
    "sm_80-80gb": (312.0, 19.5, 163, 64),
    "sm_80-80gb-pcie": (312.0, 19.5, 163, 64),
    "sm_86": (125.0, 31.2, 99, 48),
    "sm_90": (989.4, 66.9, 227, 64),
}


@pytest.mark.parametrize("name", TARGETS)
def test_rows_multiply_out_to_the_datasheet(name: str) -> None:
    target, (tensor, f32, shared, warps) = find_target(name), DATASHEET[name]
    rate = 2 * target.sms * target.clock_ghz * 1e-3  # TFLOP/s for one multiply-add per clock and SM
    assert target.tensor_fma * rate == pytest.approx(tensor, rel=0.02)
    assert target.f32_fma * rate == pytest.approx(f32, rel=0.10)
    assert target.shared_per_block == shared * KIB
    assert target.shared_per_block + target.shared_reserved == target.shared_per_sm
    assert target.threads_per_sm == 32 * warps
    assert target.arch == name.split("-")[0]


def test_l2_is_slower_where_more_is_in_use() -> None:
    """Published for A100: 5.4 TB/s up to 25 MB, 3.0 at 36 MB; half-way between, 4.2."""
    a100 = find_target("sm_80")
    sizes = (0, 25_000_000, 30_500_000, 36_000_000, 80_000_000)
    assert [a100.l2_gbs_at(n) for n in sizes] == [5400, 5400, 4200, 3000, 3000]
    assert a100.l2_gbs == 5400
    a10 = find_target("sm_86")
    assert a10.l2_gbs_at(1) == a10.l2_gbs_at(10**9) == a10.l2_gbs


def test_memory_of_the_boards() -> None:
    """Bandwidths of the datasheets, GB/s."""
    found = {name: find_target(name).dram_gbs for name in ("sm_80", "sm_80-80gb", "sm_80-80gb-pcie")}
    assert found == {"sm_80": 1555, "sm_80-80gb": 2039, "sm_80-80gb-pcie": 1935}


@pytest.mark.parametrize("name", TARGETS)
def test_what_is_reached_is_a_part_of_the_peak(name: str) -> None:
    target = find_target(name)
    for part in (target.dram_sustained, target.tensor_sustained):
        assert 0.5 < part < 1
    assert target.shared_latency < target.l2_latency < target.dram_latency
    assert 0 < target.graph_launch_us < target.launch_us


def test_an_unknown_target_names_the_known_ones() -> None:
    with pytest.raises(InputError, match=r"unknown target 'sm_70', known are .*sm_80.*sm_86.*sm_90"):
        find_target("sm_70")


def test_the_default_is_a_target() -> None:
    assert DEFAULT_TARGET in TARGETS


def test_no_other_file_of_tune_names_a_chip() -> None:
    folder = Path(prism_mlir.__file__).parent / "tune"
    named = [p.name for p in folder.glob("*.py") if re.search(r'"sm_\d|"A100|"H100', p.read_text())]
    assert named == ["targets.py"]
