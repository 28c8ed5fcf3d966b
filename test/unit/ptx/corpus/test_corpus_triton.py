"""Kernels compiled by Triton for sm_80, here and now: right values under all checks, and the same from the fast engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import pytest
from corpus_case import Loaded, run, run_on_both
from triton_cases import CASES, LEFT_OUT

from prism_mlir.runtime.ptx import CheckError, Checks

pytestmark = pytest.mark.extras


class Kernels(Mapping[str, Loaded]):
    """Compiles a kernel when a case asks for it."""

    def __init__(self) -> None:
        pytest.importorskip("triton")
        from corpus.triton.catalogue import SPECS

        self.specs = SPECS
        self.made: dict[str, Loaded] = {}

    def __getitem__(self, name: str) -> Loaded:
        from corpus.triton.compile import compile_spec

        if name not in self.made:
            self.made[name] = Loaded.of(name, compile_spec(self.specs[name]))
        return self.made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.specs)

    def __len__(self) -> int:
        return len(self.specs)


@pytest.fixture(scope="module")
def kernels() -> Kernels:
    return Kernels()


@pytest.mark.parametrize("name", CASES)
def test_kernel(name: str, kernels: Kernels) -> None:
    engines = run_on_both(CASES[name], kernels)
    assert name in LEFT_OUT or set(engines) == {"fast"}


def test_every_kernel_is_run_by_a_case(kernels: Kernels) -> None:
    assert {launch.kernel for build in CASES.values() for launch in build().launches} == set(kernels)


def test_contraction_lets_lanes_disagree(kernels: Kernels) -> None:
    """A sum over lanes by shuffles whose first addition is contracted with a product: a lane adds its own exact product to
    the other's rounded one. Lanes then hold sums of different last bits, and all store theirs to one place; which one stays
    is chance."""
    from corpus.triton.compile import compile_spec

    spec = replace(kernels.specs["decode_combine-f16"], contract=True)
    table = {
        "decode_combine-f16": Loaded.of("contracted", compile_spec(spec)),
        "decode_part-f16": kernels["decode_part-f16"],
    }
    with pytest.raises(CheckError, match="two threads write one shared-memory cell in the same instruction") as caught:
        run(CASES["decode-f16"](), table, "reference", Checks())
    assert caught.value.kind == "race"


def test_line_information_is_an_option(kernels: Kernels) -> None:
    """With it the PTX has .loc, .file and DWARF sections, which the machine skips; kept PTX must not name this machine's
    paths."""
    from corpus.triton.compile import compile_spec

    spec = kernels.specs["vector_add-f32"]
    assert ".loc" in compile_spec(spec).ptx and ".section" in compile_spec(spec).ptx
    bare = compile_spec(spec, line_info=False).ptx
    assert ".loc" not in bare and ".file" not in bare and ".section" not in bare
