"""Damaged PTX is refused where it is wrong, soon, and never with anything but a ``PtxError``; what still loads still runs so."""

from __future__ import annotations

import contextlib
import random
import time
from typing import Any

import mutate
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ptx_harness import HEADER, kernel

from prism_mlir.runtime.ptx import Checks, Module, PtxError, PtxSyntaxError

RANDOM = st.randoms(use_true_random=False)
SETTINGS = settings(max_examples=150, deadline=None, derandomize=True, database=None)
DEADLINE = 20.0  # seconds of processor time for a megabyte; it takes about three


def load(text: str) -> Module | None:
    """The module, or None where it is refused as it should be."""
    started = time.process_time()
    try:
        return Module.load(text)
    except PtxSyntaxError as error:
        lines = text.split("\n")
        place = error.location
        assert place is not None and 1 <= place.line <= len(lines), error
        assert 1 <= place.col <= len(lines[place.line - 1]) + 1, error
        assert len(str(error)) < 1000
        return None
    finally:
        assert time.process_time() - started < DEADLINE


def run(module: Module, engines: tuple[str, ...]) -> None:
    """Run every kernel for a while, with everything checked and with nothing checked."""
    for k in module.kernels.values():
        args: list[Any] = []
        for p in k.params:
            pointer = p.scalar.bits == 64 and p.scalar.kind != "f" and not p.is_array
            args.append(np.zeros(256, np.uint32) if pointer else bytes(p.size) if p.is_array else 1)
        block = k.decoded.kernel.required_block or (64,)
        for engine in engines:
            for checks in (Checks(), Checks.none()) if engine == "reference" else (Checks.none(),):
                with contextlib.suppress(PtxError):
                    k.run(grid=(2,), block=block, args=args, engine=engine, checks=checks, max_steps=200)


@given(RANDOM)
@settings(SETTINGS, max_examples=400)
def test_wrong_instructions(rng: random.Random) -> None:
    module = load(mutate.kernel_of([mutate.wrong_instruction(rng)]))
    if module is not None:
        run(module, ("reference",))


@pytest.mark.parametrize("seed", range(6))
def test_wrong_instructions_that_load_are_compiled_or_left(seed: int) -> None:
    rng, instructions = random.Random(seed), []
    while len(instructions) < 5:
        wrong = mutate.wrong_instruction(rng)
        if load(mutate.kernel_of([wrong])) is not None:
            instructions.append(wrong)
    module = load(mutate.kernel_of(instructions))
    assert module is not None
    run(module, ("reference", "fast"))


@given(RANDOM)
@SETTINGS
def test_damaged_texts(rng: random.Random) -> None:
    module = load(mutate.damage(rng, rng.choice(mutate.corpus())))
    if module is not None:
        run(module, ("reference",))


@pytest.mark.parametrize("piece", ["{", "/*", "0", "a.", '"a" ', "add.u32 %r1, %r1, 1; ", "é"])
def test_a_megabyte_of_one_piece(piece: str) -> None:
    text = mutate.corpus()[0]
    at = text.index("ret;")
    load(text[:at] + piece * (300_000 // len(piece)) + text[at:])


@pytest.mark.parametrize("source", ["\0", "a\0b", "x" * 5000, "\ud800", "/", ".", " ", "", "\n"])
def test_what_is_neither_text_nor_a_file(source: str) -> None:
    with pytest.raises(PtxSyntaxError) as caught:
        Module.load(source)
    assert caught.value.location is not None


# Faults that damaged texts have found.


@pytest.mark.parametrize("body", ["{}", "{ L: }", "{ .reg .b32 %r; }"])
def test_a_kernel_without_instructions_does_nothing(body: str) -> None:
    k = Module.load(f"{HEADER} .entry k() {body}").kernel("k")
    for engine in ("reference", "fast"):
        result = k.run(grid=(2,), block=(33,), args=[], engine=engine)
        assert result.engine == engine and result.counters.thread_instructions == 0


@pytest.mark.parametrize("code", ["prefetch.global.L2", "applypriority.global.L2::evict_normal [%rd1]"])
def test_hints_without_operands_are_refused(code: str) -> None:
    with pytest.raises(PtxSyntaxError, match="operands"):
        Module.load(kernel(f"{code}; ret;"))


def test_messages_do_not_quote_endless_tokens() -> None:
    with pytest.raises(PtxSyntaxError) as caught:
        Module.load(kernel("mov.u32 " + "a" * 10_000 + " b; ret;"))
    assert len(str(caught.value)) < 1000


def test_loops_in_loops_take_time_that_grows_with_the_text() -> None:
    """Each of 1500 loops lies in the one before; ordering the blocks loop by loop would walk 1500 times over all of them."""
    heads = "".join(f"L{i}: add.u32 %r2, %r1, 2;\n" for i in range(1500))
    tails = "".join(f"@%p1 bra L{i};\n" for i in reversed(range(1500)))
    assert load(kernel(f"setp.eq.u32 %p1, %r1, 99; {heads} {tails} ret;")) is not None


def test_tables_that_multiply_their_targets_are_refused() -> None:
    targets = ", ".join(f"L{i}" for i in range(1000))
    jumps = "".join(f"L{i}: brx.idx %r1, T;\n" for i in range(1000))
    with pytest.raises(PtxSyntaxError, match="branch targets"):
        Module.load(kernel(f"T: .branchtargets {targets};\n {jumps} ret;"))
