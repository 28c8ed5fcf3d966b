"""Numbers that depend on sizes, and the launch description of code for dynamic sizes."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from prism_mlir.graph.dispatch import Dispatch, DynamicSize, LaunchVariant, is_dispatch
from prism_mlir.graph.dtypes import DType
from prism_mlir.graph.errors import InputError
from prism_mlir.graph.extent import Extent, extent_of, row_major_extents
from prism_mlir.graph.launch_info import KernelArgument, KernelLaunch, LaunchInfo, Role, SizeArgument

N, M = Extent(1, (0,)), Extent(1, (1,))


def test_extents_are_products_over_a_number_rounded_up() -> None:
    assert Extent(7).at(()) == 7
    assert Extent(3, (0, 1)).at((5, 2)) == 30
    assert [Extent(1, (0,), 16).at((n,)) for n in (1, 16, 17, 32, 33)] == [1, 1, 2, 2, 3]
    assert Extent(2, (1,)) * Extent(3, (0,)) == Extent(6, (0, 1))


def test_numbers_of_a_twin_are_read_as_products_of_its_primes() -> None:
    assert extent_of(12, (101, 103)) == Extent(12)
    assert extent_of(12 * 101 * 103 * 101, (101, 103)) == Extent(12, (0, 0, 1))
    assert extent_of(0, (101,)) == Extent(0)


def test_strides_of_a_contiguous_tensor() -> None:
    assert row_major_extents((N, Extent(4), M)) == (Extent(4, (1,)), M, Extent(1))


def argument(role: Role, index: int, *extents: Extent) -> KernelArgument:
    shape = tuple(e.at((8,)) for e in extents)
    strides = tuple(e.at((8,)) for e in row_major_extents(extents))
    return KernelArgument(role, index, role.value, DType.F16, shape, strides, 16, extents)


def kernel(entry: str) -> KernelLaunch:
    arguments = (argument(Role.INPUT, 0, N, Extent(64)), argument(Role.WORKSPACE, 0, N, Extent(4)))
    blocks = (Extent(1, (0,), 4), Extent(2), Extent(1))
    return KernelLaunch(entry, "a.ptx", (2, 2, 1), (64, 1, 1), 128, arguments, blocks, (SizeArgument(0, "x[0]"),))


def static() -> LaunchInfo:
    whole = KernelArgument(Role.INPUT, 0, "x", DType.F16, (1, 64), (64, 1), 16)
    return LaunchInfo((KernelLaunch("one", "one.ptx", (3, 1, 1), (32, 1, 1), 0, (whole,)),))


def dispatch() -> Dispatch:
    variants = (LaunchVariant((1,), (1,), static()), LaunchVariant((2,), (8,), LaunchInfo((kernel("some"),), (64,))))
    return Dispatch((DynamicSize("x[0]", ((0, 0), (2, 1))),), variants)


def test_a_launch_at_a_size() -> None:
    info = dispatch().at((5,))
    (launch,) = info.kernels
    assert launch.grid == (2, 2, 1)
    assert [a.shape for a in launch.arguments] == [(5, 64), (5, 4)]
    assert launch.sizes == (SizeArgument(0, "x[0]", 5),)
    assert info.workspace == (5 * 4 * 2,)
    assert dispatch().at((1,)) == static()


@pytest.mark.parametrize("size", [0, 9])
def test_sizes_that_no_code_serves(size: int) -> None:
    with pytest.raises(InputError, match=rf"x\[0\] is {size}") as caught:
        dispatch().at((size,))
    assert "the code serves 1 to 8" in str(caught.value)


def test_sizes_between_variants_are_served_by_a_larger_one() -> None:
    holes = Dispatch(
        dispatch().sizes,
        (LaunchVariant((1,), (1,), static()), LaunchVariant((4,), (8,), LaunchInfo((kernel("some"),), (64,)))),
    )
    assert holes.variant((3,)).high == (8,)
    with pytest.raises(InputError, match="no code for x\\[0\\] = 3"):
        Dispatch(holes.sizes, (holes.variants[0], LaunchVariant((8,), (8,), static()))).at((3,))


def test_sizes_of_arguments() -> None:
    assert dispatch().of_shapes([(5, 64), (), (3, 5)]) == (5,)
    with pytest.raises(InputError, match=r"x\[0\] is one size, but dim 0 of argument 0 is 5, dim 1 of argument 2 is 6"):
        dispatch().of_shapes([(5, 64), (), (3, 6)])
    with pytest.raises(InputError, match=r"do not have x\[0\]"):
        dispatch().of_shapes([(5, 64)])


def test_json_round_trip_keeps_what_launches_need() -> None:
    text = json.dumps(dispatch().to_dict())
    read = Dispatch.from_dict(json.loads(text))
    assert is_dispatch(json.loads(text))
    assert not is_dispatch(static().to_dict())
    assert read.to_dict() == dispatch().to_dict()
    assert read.at((7,)) == dispatch().at((7,))
    assert read.at((1,)) == static()


def test_json_shows_numbers_that_depend_on_sizes_and_the_argument() -> None:
    data = dispatch().to_dict()["variants"][1]["kernels"][0]
    assert data["grid"] == [{"times": 1, "sizes": ["x[0]"], "over": 4}, 2, 1]
    assert data["arguments"][0]["shape"] == [{"times": 1, "sizes": ["x[0]"]}, 64]
    assert data["arguments"][-1] == {"role": "size", "index": 0, "name": "x[0]"}


def changed(path: list[Any], value: Any) -> Any:
    data = copy.deepcopy(dispatch().to_dict())
    place = data
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return data


SOME = ["variants", 1, "kernels", 0]


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (["sizes"], [], "sizes need one name each"),
        (["sizes", 0, "dims"], [[0]], r"sizes\[0\].dims needs pairs"),
        (["variants"], [], "variants are missing"),
        (["variants", 1, "from"], [0], r"variants\[1\].from and 'to' need a range"),
        (["variants", 1, "from"], [9], r"variants\[1\].from and 'to' need a range"),
        ([*SOME, "grid"], [{"times": 1, "sizes": ["y"]}, 1, 1], r"names 'y', known are x\[0\]"),
        ([*SOME, "grid"], [{"times": 1, "sizes": ["x[0]"], "over": 0}, 1, 1], "over is zero"),
        ([*SOME, "grid"], [0, 1, 1], "grid needs three positive sizes"),
        ([*SOME, "grid"], ["many", 1, 1], r"grid\[0\] is no size"),
        ([*SOME, "arguments"], [], "arguments lacks a size"),
        ([*SOME, "arguments", 2, "name"], "y[0]", r"arguments\[2\] is not the size 'x\[0\]'"),
        ([*SOME, "arguments", 0, "strides"], [1, 1], "strides are not those of a contiguous buffer"),
    ],
)
def test_what_is_malformed_is_named(path: list[Any], value: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Dispatch.from_dict(changed(path, value))
