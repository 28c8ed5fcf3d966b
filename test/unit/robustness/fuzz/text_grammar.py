"""Hypothesis strategies for MLIR text: types, attributes and operations of the grammar, with right and wrong things in them."""

from __future__ import annotations

from hypothesis import strategies as st

NUMBER = st.one_of(st.integers(-(2**70), 2**70), st.sampled_from([0, 1, 2, 16, 2**31, 2**40, 2**63])).map(str)
NAME = st.one_of(
    st.sampled_from(["a", "main", "main_0", "add", ".reg", "%r", "x0", "_", "0", "π"]),
    st.text(max_size=6).map(lambda t: '"' + t.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'),
)
SCALAR = st.sampled_from(
    ["f16", "bf16", "f32", "f64", "i1", "i8", "i64", "index", "none", "f8E4M3FN", "i0", "i99999", "nothing"]
)


def _types(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    dims = st.lists(st.one_of(NUMBER, st.just("?"), st.just("*")), max_size=4).map(
        lambda d: "".join(f"{n}x" for n in d)
    )
    shaped = st.tuples(st.sampled_from(["tensor", "memref", "vector"]), dims, inner).map(
        lambda t: f"{t[0]}<{t[1]}{t[2]}>"
    )
    several = st.lists(inner, max_size=3).map(", ".join)
    return st.one_of(
        shaped, several.map(lambda t: f"tuple<{t}>"), st.tuples(several, several).map(lambda t: f"({t[0]}) -> ({t[1]})")
    )


TYPE = st.recursive(SCALAR, _types, max_leaves=4)

_DENSE = st.one_of(
    NUMBER,
    st.sampled_from(
        ["", "nan", "true", "1.0e400", "[[1], [2, 3]]", '"0x"', '"0x0"', '"0xFFFFFFFF"', "[1.0, 0x7FC0]", "-"]
    ),
)


def _attributes(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    entry = st.tuples(NAME, inner).map(lambda t: f"{t[0]} = {t[1]}")
    return st.one_of(
        st.lists(inner, max_size=3).map(lambda a: f"[{', '.join(a)}]"),
        st.lists(entry, max_size=3).map(lambda a: f"{{{', '.join(a)}}}"),
        st.tuples(_DENSE, TYPE).map(lambda t: f"dense<{t[0]}> : {t[1]}"),
        st.tuples(NAME, TYPE).map(lambda t: f"dense_resource<{t[0]}> : {t[1]}"),
        st.tuples(SCALAR, st.lists(NUMBER, max_size=3)).map(lambda t: f"array<{t[0]}: {', '.join(t[1])}>"),
        st.tuples(NUMBER, NUMBER).map(lambda t: f"affine_map<(d0, d1) -> (d0 * {t[0]}, d1 floordiv {t[1]})>"),
        st.tuples(inner, inner).map(lambda t: f"loc(fused<{t[0]}>[{t[1]}])"),
        st.tuples(st.sampled_from(["map", "dims", "input", "verdict", "schedule", "nothing"]), inner).map(
            lambda t: f"#sgraph.{t[0]}<{t[1]}>"
        ),
    )


ATTRIBUTE = st.recursive(
    st.one_of(
        NUMBER, NAME, TYPE, st.sampled_from(["unit", "true", "1.0 : f32", "@a::@b", "#alias", "nan", "loc(unknown)"])
    ),
    _attributes,
    max_leaves=6,
)

OPERATION = st.tuples(
    st.sampled_from(
        ["arith.constant", "func.func", "linalg.generic", "sgraph.sum", "sgraph.program", "tensor.empty", "x.y", "func"]
    ),
    st.lists(st.tuples(NAME, ATTRIBUTE).map(lambda t: f"{t[0]} = {t[1]}"), max_size=3),
    TYPE,
).map(lambda t: f'%0 = "{t[0]}"() <{{{", ".join(t[1])}}}> : () -> {t[2]}')

MODULE = st.lists(OPERATION, min_size=1, max_size=3).map("\n".join)
