"""The text builder: integers fold while they are known, equal operations get one name, scopes end."""

from __future__ import annotations

from itertools import product

import numpy as np

from prism_mlir.codegen.builder import Builder


def test_known_integers_fold() -> None:
    b = Builder()
    for x, y in product(range(0, 40, 3), range(1, 9)):
        assert b.add(x, y) == x + y
        assert b.mul(x, y) == x * y
        assert b.div(x, y) == x // y
        assert b.rem(x, y) == x % y
        assert b.xor(x, y) == x ^ y
        assert b.minimum(x, y) == min(x, y)
        assert b.sub_to_zero(x, y) == max(x - y, 0)
        assert b.less(x, y) is (x < y)
        assert b.choose(x < y, x, y) == min(x, y)
    assert b.text == ""


def test_neutral_elements_emit_nothing() -> None:
    b = Builder()
    assert b.add("%x", 0) == b.mul(1, "%x") == b.div("%x", 1) == b.xor(0, "%x") == "%x"
    assert b.mul("%x", 0) == b.rem("%x", 1) == 0
    assert b.both(True, "%c") == "%c" and b.both("%c", False) is False
    assert b.text == ""


def test_unflatten_and_flatten_are_numpys() -> None:
    b = Builder()
    for extents in [(4, 3, 5), (7,), (1, 6), (2, 1, 3)]:
        for flat in range(int(np.prod(extents))):
            coordinates = b.unflatten(flat, extents)
            assert tuple(coordinates) == tuple(int(c) for c in np.unravel_index(flat, extents))
            assert b.flatten(coordinates, extents) == flat


def test_equal_operations_get_one_name_within_their_scope() -> None:
    b = Builder()
    first = b.add("%x", "%y")
    assert b.add("%x", "%y") == first
    inside: list[object] = []
    b.when("%c", lambda: inside.extend([b.add("%x", "%y"), b.mul("%x", "%y")]))
    assert inside[0] == first
    assert b.mul("%x", "%y") != inside[1]  # the name inside the branch does not reach here
    assert b.pure("memref.load %m[%i] : memref<4xf32>", "a") != b.pure("memref.load %m[%i] : memref<4xf32>", "b")


def test_branches_that_are_known() -> None:
    b, ran = Builder(), []
    b.when(True, lambda: ran.append("yes"))
    b.when(False, lambda: ran.append("no"))
    assert ran == ["yes"] and b.text == ""


def test_short_loops_are_written_out() -> None:
    b, seen = Builder(), []

    def body(i: int | str, values: list[str]) -> list[str]:
        seen.append(i)
        return [f"%next{i}"]

    assert b.loop(3, body, [("%start", "f32")], unroll=4) == ["%next2"]
    assert seen == [0, 1, 2] and b.text == ""
    (result,) = b.loop(9, body, [("%start", "f32")], unroll=4)
    assert result.startswith("%") and "iter_args" in b.text and "scf.yield" in b.text


def test_floats_are_exact() -> None:
    """Numbers that are not short decimals are written as bits: 2/3 rounds to 0x3F2AAAAB in f32."""
    b = Builder()
    b.f32(2 / 3)
    b.f32(float("-inf"))
    b.f32(0.5)
    lines = b.text.split("\n")
    assert "0x3F2AAAAB" in lines[0] and "0xFF800000" in lines[1] and "0x3F000000" in lines[2]
