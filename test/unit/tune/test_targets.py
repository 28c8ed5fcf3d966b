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


def test_an_unknown_target_names_the_known_ones() -> None:
    with pytest.raises(InputError, match=r"unknown target 'sm_70', known are .*sm_80.*sm_86.*sm_90"):
        find_target("sm_70")


def test_the_default_is_a_target() -> None:
    assert DEFAULT_TARGET in TARGETS


def test_no_other_file_of_tune_names_a_chip() -> None:
    folder = Path(prism_mlir.__file__).parent / "tune"
    named = [p.name for p in folder.glob("*.py") if re.search(r'"sm_\d|"A100|"H100', p.read_text())]
    assert named == ["targets.py"]
