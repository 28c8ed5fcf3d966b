"""Windows of programs, against lists made by hand."""

from __future__ import annotations

from prism_mlir.graph.examples import attention, build_program, rms_norm_mlp, swiglu
from prism_mlir.graph.ops import ADD, MATMUL, MUL, unary
from prism_mlir.search.windows import window_key, windows


def names(program, most: int) -> list[str]:  # type: ignore[no-untyped-def]
    return [w.name.removeprefix(f"{program.name} ") for w in windows([program], most)]


def test_windows_are_connected_and_convex() -> None:
    """Attention is matmul 0, exp 1, sum 2, div 3, matmul 4, where exp goes to sum and div.

    1+3 is connected but its result depends on 2, which depends on it; so do 0+1+3, 1+3+4 and 0+1+3+4. 0+2 is not connected.
    """
    three = ["0", "1", "2", "3", "4", "0+1", "1+2", "2+3", "3+4", "0+1+2", "1+2+3", "2+3+4"]
    assert names(attention(4, 12, 10), 3) == three
    assert names(attention(4, 12, 10), 5) == [*three, "0+1+2+3", "1+2+3+4", "0+1+2+3+4"]


def test_windows_that_differ_in_names_only_come_once() -> None:
    """silu(X . W) * (X . V): node 2 is a product as node 0 is. Of rms_norm_mlp's two products one is left."""
    assert names(swiglu(8, 12, 6), 4) == ["0", "1", "3", "0+1", "1+3", "2+3", "0+1+3", "1+2+3", "0+1+2+3"]
    assert names(rms_norm_mlp(8, 12, 6), 2) == ["0", "1", "2", "3", "4", "6", "0+1", "1+2", "2+3", "3+4", "4+6"]
    assert list(windows([swiglu(8, 12, 6), swiglu(8, 12, 6)], 4)) == list(windows([swiglu(8, 12, 6)], 4))


def test_what_enters_and_what_leaves() -> None:
    """exp and sum: exp leaves because div needs it, and the sum; the window of all is the program."""
    program = attention(4, 12, 10)
    window = next(w for w in windows([program], 2) if w.name == "attention 1+2")
    assert [i.shape for i in window.inputs] == [(4, 1, 12)]
    assert [str(n.op) for n in window.nodes] == ["unary[exp(x)]", "sum[2]"]
    assert [o.value for o in window.outputs] == [1, 2]
    assert window_key(list(windows([program], 5))[-1]) == window_key(program)


def test_a_key_tells_programs_apart() -> None:
    """Operand order of a product counts, that of a sum does not; nor does the order of nodes."""
    shapes = {"X": (8, 8), "Y": (8, 8)}
    exp, silu = unary("exp(x)"), unary("x/(1 + exp(-x))")
    one = build_program("p", shapes, [(exp, (0,)), (silu, (1,)), (ADD, (2, 3))])
    two = build_program("p", shapes, [(silu, (0,)), (exp, (1,)), (ADD, (2, 3))])
    assert window_key(one) == window_key(two)
    for op, same in ((ADD, True), (MATMUL, False), (MUL, True)):
        left = build_program("p", shapes, [(exp, (0,)), (op, (2, 1))])
        right = build_program("p", shapes, [(exp, (0,)), (op, (1, 2))])
        assert (window_key(left) == window_key(right)) == same
