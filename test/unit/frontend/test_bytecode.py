"""Bytecode is read like the text that it was made of."""

from __future__ import annotations

import sys
from io import BytesIO
from pathlib import Path

import pytest

from prism_mlir.frontend import import_file
from prism_mlir.frontend.bytecode import MAGIC, text_of
from prism_mlir.frontend.upstream import new_context, read_text
from prism_mlir.graph.errors import InputError, MissingToolError

INPUTS = Path(__file__).parents[2] / "inputs"
WITH_WEIGHTS = INPUTS / "frameworks" / "layernorm_linear.linalg.mlir"


def bytecode(path: Path) -> bytes:
    from mlir import ir

    stream = BytesIO()
    ir.Module.parse(path.read_text(), new_context()).operation.write_bytecode(stream)
    return stream.getvalue()


@pytest.mark.parametrize(
    "path", [WITH_WEIGHTS, INPUTS / "paper" / "rms_norm_d1024_n16.linalg.mlir"], ids=lambda p: p.name[:10]
)
def test_linalg(path: Path, tmp_path: Path) -> None:
    made = tmp_path / "a.mlirbc"
    made.write_bytes(bytecode(path))
    assert made.read_bytes().startswith(MAGIC)
    assert import_file(made).fingerprint == import_file(path).fingerprint  # weights included


@pytest.mark.parametrize("cut", [4, 9, 60])
def test_a_damaged_file_is_an_error(cut: int, tmp_path: Path) -> None:
    made = tmp_path / "a.mlirbc"
    made.write_bytes(bytecode(WITH_WEIGHTS)[:cut])
    with pytest.raises(InputError) as caught:
        read_text(made)
    assert str(caught.value).startswith(f"{made}:1:1: error: ")
    assert "\n" not in str(caught.value)


def test_stablehlo_without_jaxlib_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jaxlib.mlir", None)
    with pytest.raises(MissingToolError) as caught:
        text_of(MAGIC + b"... stablehlo ...", "a.mlirbc")
    wanted = 'a.mlirbc:1:1: error: bytecode of StableHLO needs jaxlib, pip install "prism-mlir[jax]"'
    assert str(caught.value) == wanted


@pytest.mark.extras
def test_what_jax_serializes(tmp_path: Path) -> None:
    """The versioned dialect, as ``jax.export`` writes it, and StableHLO itself."""
    jax = pytest.importorskip("jax")
    from jax import export

    shapes = [jax.ShapeDtypeStruct(s, "float16") for s in ((16, 64), (64, 32))]
    function = jax.jit(lambda x, w: jax.nn.silu(x @ w))
    stream = BytesIO()
    function.lower(*shapes).compiler_ir().operation.write_bytecode(stream)
    for data in (export.export(function)(*shapes).mlir_module_serialized, stream.getvalue()):
        made = tmp_path / "a.mlirbc"
        made.write_bytes(data)
        assert [str(n.op) for n in import_file(made).nodes] == ["matmul", "unary[x/(1 + exp(-x))]"]
