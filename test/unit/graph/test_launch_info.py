"""The launch description as data."""

from __future__ import annotations

import json
from typing import Any

import pytest

from prism_mlir.graph.dtypes import DType
from prism_mlir.graph.errors import InputError
from prism_mlir.graph.launch_info import KernelArgument, LaunchInfo, Role


def description() -> dict[str, Any]:
    """A description as a person would write it."""
    x = {"role": "input", "index": 0, "name": "X", "dtype": "f16", "shape": [4, 6], "strides": [8, 1], "alignment": 16}
    out = {**x, "role": "output", "name": "out", "dtype": "f32", "strides": [6, 1]}
    part = {**x, "role": "workspace", "name": "part"}
    kernel = {"entry": "k", "ptx": "k.ptx", "grid": [2, 1, 1], "block": [128, 1, 1], "shared_bytes": 1024}
    return {"kernels": [{**kernel, "arguments": [x, part]}, {**kernel, "arguments": [part, out]}], "workspace": [64]}


def test_round_trip_through_json() -> None:
    info = LaunchInfo.from_dict(json.loads(json.dumps(description())))
    assert info.to_dict() == description()
    assert LaunchInfo.from_dict(info.to_dict()) == info


def test_each_buffer_is_listed_once() -> None:
    info = LaunchInfo.from_dict(description())
    assert [a.name for a in info.arguments(Role.WORKSPACE)] == ["part"]
    assert [a.name for a in info.arguments(Role.INPUT)] == ["X"]


def test_bytes_reach_to_the_last_element() -> None:
    """Rows of 6 at a stride of 8: 3 * 8 + 6 = 30 halves."""
    assert KernelArgument(Role.INPUT, 0, "X", DType.F16, (4, 6), (8, 1), 16).bytes == 60
    assert KernelArgument(Role.INPUT, 0, "X", DType.F16, (4, 0), (8, 1), 16).bytes == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.pop("kernels"), "kernels is missing"),
        (lambda d: d["kernels"][0].pop("entry"), r"kernels\[0\]\.entry is missing"),
        (lambda d: d["kernels"][0].update(shared_bytes=-1), "shared_bytes is negative"),
        (lambda d: d["kernels"][0].update(shared_bytes=True), "shared_bytes is no int"),
        (lambda d: d["kernels"][0].update(grid=[1, 1]), "grid needs three positive sizes"),
        (lambda d: d["kernels"][0].update(block=[64, 64, 1]), "block has 4096 threads, the most is 1024"),
        (lambda d: d["kernels"][1]["arguments"][1].update(dtype="f8"), r"arguments\[1\]\.dtype is 'f8', known are f16"),
        (lambda d: d["kernels"][1]["arguments"][1].update(role="in"), r"arguments\[1\]\.role is 'in', known are input"),
        (lambda d: d["kernels"][1]["arguments"][1].update(strides=[1]), "different lengths"),
        (lambda d: d["kernels"][1]["arguments"][1].update(shape=[1, "2"]), "shape holds something other than sizes"),
        (lambda d: d.update(workspace=[]), "'part' names workspace 0, there is none"),
        (lambda d: d.update(kernels={}), "kernels is no list"),
    ],
)
def test_what_is_malformed_is_named(change: Any, message: str) -> None:
    data = description()
    change(data)
    with pytest.raises(InputError, match=message):
        LaunchInfo.from_dict(data)


def test_something_else_is_refused() -> None:
    with pytest.raises(InputError, match="kernels is missing"):
        LaunchInfo.from_dict(["no", "object"])
