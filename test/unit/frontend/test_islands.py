"""Islands of functions: the function with its islands called computes what it did, bit for bit, on upstream's JIT."""

from __future__ import annotations

from textwrap import dedent

import numpy as np
import pytest

from prism_mlir.frontend.islands.find import IslandFinder, Islands
from prism_mlir.frontend.upstream import read_module
from prism_mlir.graph.errors import InputError, UnsupportedError
from prism_mlir.runtime.cpu_jit import compile_module

PRODUCT = """
    %{0}_z = arith.constant 0.0 : f32
    %{0}_e = tensor.empty() : tensor<8x8xf32>
    %{0}_f = linalg.fill ins(%{0}_z : f32) outs(%{0}_e : tensor<8x8xf32>) -> tensor<8x8xf32>
    %{0} = linalg.matmul ins(%{1}, %{2} : tensor<8x8xf32>, tensor<8x8xf32>) outs(%{0}_f : tensor<8x8xf32>) -> tensor<8x8xf32>
"""
T = "tensor<8x8xf32>"


def product(name: str, left: str, right: str) -> str:
    return PRODUCT.format(name, left, right)


def found(text: str, function: str | None = None) -> Islands:
    return IslandFinder(read_module(text, "f.mlir", normalise=False), function).find()


def check_same(text: str, cut: Islands, *arguments: np.ndarray) -> None:
    """The cut function, its islands compiled one by one, against the source."""
    islands = {i.name: compile_module(i.text) for i in cut.islands}
    wanted = compile_module(text, cut.function)(*arguments)
    got = compile_module(cut.rest, cut.function, islands)(*arguments)
    inlined = compile_module(cut.text, cut.function)(*arguments)
    for a, b, c in zip(wanted, got, inlined, strict=True):
        np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(a, c)


def squares(*seeds: int) -> list[np.ndarray]:
    return [np.random.default_rng(s).normal(size=(8, 8)).astype(np.float32) for s in seeds]


def around(middle: str, arguments: str = "", result: str = "%r") -> str:
    """Two products with something between them."""
    inner = product("p", "a", "b") + dedent(middle) + product("r", "m", "p")
    return f"func.func @main(%a: {T}, %b: {T}{arguments}) -> {T} {{{inner}    return {result} : {T}\n}}\n"


ROW = """
    %i = arith.index_cast %n : i32 to index
    %row = tensor.extract_slice %p[%i, 0] [1, 8] [1, 1] : tensor<8x8xf32> to tensor<1x8xf32>
    %m = tensor.insert_slice %row into %b[0, 0] [1, 8] [1, 1] : tensor<1x8xf32> into tensor<8x8xf32>
"""


def test_a_slice_at_a_position_known_at_run_time_stays() -> None:
    text = around(
        ROW.replace("%n :", "%k :").replace("%i =", "%k = tensor.extract %at[] : tensor<i32>\n    %i =", 1),
        ", %at: tensor<i32>",
    )
    cut = found(text)
    assert [i.name for i in cut.islands] == ["main_island0", "main_island1"]
    assert [x.operation for x in cut.left] == ["tensor.extract_slice"]
    assert cut.left[0].reason == "it reads index"
    assert text.splitlines()[cut.left[0].location.line - 1].strip().startswith("%row")
    check_same(text, cut, *squares(1, 2), np.array(3, np.int32))


def test_what_import_refuses_stays_and_the_rest_is_found() -> None:
    """atan2 is of the right dialect and types; only import finds that it cannot be raised."""
    text = around("    %m = math.atan2 %p, %b : tensor<8x8xf32>\n")
    cut = found(text)
    assert len(cut.islands) == 2
    assert [x.operation for x in cut.left] == ["math.atan2"]
    assert text.splitlines()[cut.left[0].location.line - 1].strip().startswith("%m")
    check_same(text, cut, *squares(1, 2))


def test_control_flow_stays_and_islands_are_found_inside() -> None:
    loop = f"""
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %three = arith.constant 3 : index
    %m = scf.for %k = %zero to %three step %one iter_args(%x = %p) -> ({T}) {{
      {product("inner", "x", "b")}
      scf.yield %inner : {T}
    }}
    """
    text = around(loop)
    cut = found(text)
    assert len(cut.islands) == 3
    assert [x.operation for x in cut.left] == ["scf.for"]
    check_same(text, cut, *squares(1, 2))


def test_what_a_body_reads_from_outside_is_given_to_the_island() -> None:
    captured = f"""
    %e = tensor.empty() : {T}
    %m = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
        iterator_types = ["parallel", "parallel"]}} ins(%p : {T}) outs(%e : {T}) {{
    ^bb0(%x: f32, %y: f32):
      %i = linalg.index 0 : index
      %v = tensor.extract %b[%i, %i] : {T}
      %s = arith.addf %x, %v : f32
      linalg.yield %s : f32
    }} -> {T}
    """
    text = around(captured)
    cut = found(text)
    assert [x.operation for x in cut.left] == ["linalg.generic"]
    check_same(text, cut, *squares(1, 2))


def test_a_private_function_is_inlined_before() -> None:
    helper = f"func.func private @helper(%x: {T}, %y: {T}) -> {T} {{{product('q', 'x', 'y')}    return %q : {T}\n}}\n"
    text = around(f"    %m0 = math.atan2 %p, %b : {T}\n    %m = call @helper(%m0, %b) : ({T}, {T}) -> {T}\n") + helper
    cut = found(text, "main")
    assert len(cut.islands) == 2
    assert "@helper" not in cut.text
    check_same(text, cut, *squares(1, 2))


def test_names_do_not_meet_those_of_the_module() -> None:
    other = f"func.func @main_island0(%x: {T}) -> {T} {{\n    return %x : {T}\n}}\n"
    text = around(f"    %m = math.atan2 %p, %b : {T}\n") + other
    cut = found(text, "main")
    assert [i.name for i in cut.islands] == ["main_island1", "main_island2"]
    check_same(text, cut, *squares(1, 2))


def test_a_table_that_both_sides_read_is_copied() -> None:
    table = f"""
    %te = tensor.empty() : {T}
    %t = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}}
        outs(%te : {T}) {{
    ^bb0(%y: f32):
      %i = linalg.index 1 : index
      %n = arith.index_cast %i : index to i32
      %f = arith.sitofp %n : i32 to f32
      linalg.yield %f : f32
    }} -> {T}
    %m0 = math.atan2 %p, %t : {T}
    %m = arith.mulf %m0, %t : {T}
    """
    text = around(table)
    cut = found(text)
    assert [x.operation for x in cut.left] == ["math.atan2"]
    assert all(len(i.program.inputs) >= 2 for i in cut.islands)
    check_same(text, cut, *squares(1, 2))


def test_what_has_no_product_or_sum_stays() -> None:
    text = dedent(f"""
        func.func @main(%a: {T}, %b: {T}) -> {T} {{
          %x = math.atan2 %a, %b : {T}
          %y = arith.addf %x, %b : {T}
          return %y : {T}
        }}
    """)
    with pytest.raises(UnsupportedError, match=r"no part of @main can become a kernel; math\.atan2 stays as it is"):
        found(text)


def test_integers_do_not_cross() -> None:
    ints = """
    %e = tensor.empty() : tensor<8x8xi32>
    %q = arith.fptosi %p : tensor<8x8xf32> to tensor<8x8xi32>
    %o = arith.addi %q, %q : tensor<8x8xi32>
    %m = arith.sitofp %o : tensor<8x8xi32> to tensor<8x8xf32>
    """
    text = around(ints)
    cut = found(text)
    assert {x.operation for x in cut.left} == {"arith.fptosi", "arith.addi", "arith.sitofp"}
    for island in cut.islands:
        assert "i32" not in island.text.split("{")[1].split("->")[0]
    check_same(text, cut, *squares(1, 2))


def test_an_island_that_fails_later_is_left_out() -> None:
    text = around(f"    %m = math.atan2 %p, %b : {T}\n")
    finder = IslandFinder(read_module(text, "f.mlir", normalise=False))
    first = finder.find()
    finder.refuse(first.islands[0], "no kernel is accurate enough")
    second = finder.find()
    assert [i.name for i in second.islands] == [first.islands[1].name]
    assert ("linalg.matmul", "no kernel is accurate enough") in {(x.operation, x.reason) for x in second.left}
    check_same(text, second, *squares(1, 2))


def test_the_only_island_failing_is_an_error_with_its_reason() -> None:
    finder = IslandFinder(read_module(around(f"    %m = arith.addf %p, %b : {T}\n"), "f.mlir", normalise=False))
    finder.refuse(finder.find().islands[0], "no kernel is accurate enough")
    with pytest.raises(UnsupportedError, match=r"linalg\.fill|linalg\.matmul") as caught:
        finder.find()
    assert "no kernel is accurate enough" in str(caught.value)


def test_a_function_that_is_not_there() -> None:
    with pytest.raises(InputError, match="no function @other"):
        found(around(f"    %m = arith.addf %p, %b : {T}\n"), "other")


def test_dynamic_sizes_stay() -> None:
    text = dedent(f"""
        func.func @main(%a: {T}, %b: tensor<?x8xf32>) -> tensor<?x8xf32> {{
          {product("p", "a", "a")}
          %zero = arith.constant 0 : index
          %n = tensor.dim %b, %zero : tensor<?x8xf32>
          %e = tensor.empty(%n) : tensor<?x8xf32>
          %r = linalg.matmul ins(%b, %p : tensor<?x8xf32>, {T}) outs(%e : tensor<?x8xf32>) -> tensor<?x8xf32>
          return %r : tensor<?x8xf32>
        }}
    """)
    cut = found(text)
    assert [i.numbers for i in cut.islands] == [(3,)]
    assert "linalg.matmul" in {x.operation for x in cut.left}


def test_blocks_see_the_sources_of_those_before_and_effects_are_named() -> None:
    text = dedent(f"""
        func.func @main(%a: {T}, %b: {T}, %n: i32, %out: memref<8x8xf32>) -> {T} {{
          {product("p", "a", "b")}
          %three = arith.constant 3 : i32
          %t = arith.cmpi slt, %n, %three : i32
          cf.cond_br %t, ^yes(%p : {T}), ^no
        ^yes(%x: {T}):
          %q = linalg.matmul ins(%x, %b : {T}, {T}) outs(%p_f : {T}) -> {T}
          bufferization.materialize_in_destination %q in restrict writable %out : ({T}, memref<8x8xf32>) -> ()
          return %q : {T}
        ^no:
          return %p : {T}
        }}
    """)
    cut = found(text)
    assert [len(i.program.inputs) for i in cut.islands] == [2, 2]  # the zeros are a copy in each
    assert [x.operation for x in cut.left] == ["bufferization.materialize_in_destination"]
    assert cut.left[0].reason == "kernels are made of arith, linalg, math, tensor, not of bufferization"
