"""Programs as exporters and users of mlir-opt write them: each becomes a tensor program with the values of NumPy in f64.

``test/inputs/corpus/jax`` holds what JAX lowers (in generic form, which needs no jaxlib), ``.../linalg`` what is written by hand
and by torch-mlir.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from corpus_meanings import JAX, LINALG, POSITIVE
from numpy.typing import NDArray

from prism_mlir.compiler.options import CompileOptions
from prism_mlir.compiler.pipeline import compile_file
from prism_mlir.frontend import import_module
from prism_mlir.frontend.upstream import UpstreamModule, choose_function, read_file
from prism_mlir.graph.dtypes import DType, from_float64, to_float64

Array = NDArray[Any]
CORPUS = Path(__file__).parents[2] / "inputs" / "corpus"
FILES = {f"{folder}/{name}": fn for folder, table in (("jax", JAX), ("linalg", LINALG)) for name, fn in table.items()}

# These are compiled in every test run, all others among the extras.
COMPILED = ("jax/dpa_gqa_decode", "linalg/torch_safe_softmax", "linalg/pad")


def path_of(name: str) -> Path:
    return CORPUS / f"{name}.mlir"


def test_every_file_has_a_meaning() -> None:
    assert {str(p.relative_to(CORPUS).with_suffix("")) for p in CORPUS.glob("*/*.mlir")} == set(FILES)


def arguments(upstream: UpstreamModule, positive: bool) -> tuple[list[Array], list[Array]]:
    """Random arguments of a function: in f64, and as their types are stored."""
    function, _ = choose_function(upstream, None)
    rng = np.random.default_rng(3)
    exact, stored = [], []
    for argument in function.regions[0].blocks[0].arguments:
        shape, element = tuple(argument.type.shape), str(argument.type.element_type)
        if element == "i1":
            bits = rng.integers(0, 2, shape).astype(bool)
            if len(shape) == 2:
                bits[3] = False  # a row without any
            exact.append(bits.astype(np.float64))
            stored.append(bits)
            continue
        values = rng.uniform(0.5, 2, shape) if positive else rng.standard_normal(shape)
        stored.append(from_float64(np.asarray(values), DType(element)))
        exact.append(to_float64(stored[-1], DType(element)))
    return exact, stored


@pytest.mark.parametrize("name", sorted(FILES))
def test_values(name: str) -> None:
    """The program evaluated in f64: what differs is the order of sums, and constants rounded more than once."""
    upstream = read_file(path_of(name))
    exact, stored = arguments(upstream, name.split("/")[1] in POSITIVE)
    if name in ("jax/attn_bool", "jax/dpa_mask"):  # a row without scores is NaN in one file, a mean in another
        for k, value in enumerate(stored):
            if value.dtype == bool:
                stored[k] = value | np.eye(*value.shape[-2:], dtype=bool)
                exact[k] = stored[k].astype(np.float64)
    expected = FILES[name](*exact)
    found = import_module(upstream).run(stored)
    wanted = expected if isinstance(expected, tuple) else (expected,)
    assert len(found) == len(wanted)
    for got, value in zip(found, wanted, strict=True):
        assert got.shape == np.shape(value)
        np.testing.assert_allclose(got, value, rtol=2e-6, atol=2e-6)


@pytest.mark.parametrize("name", COMPILED)
def test_compiled_and_checked(name: str) -> None:
    done = compile_file(path_of(name), CompileOptions(samples=20))
    assert done.accuracy
    assert all(a.ok for a in done.accuracy)


@pytest.mark.extras
@pytest.mark.parametrize("name", sorted({*FILES} - {*COMPILED}))
def test_all_are_compiled_and_checked(name: str) -> None:
    test_compiled_and_checked(name)
