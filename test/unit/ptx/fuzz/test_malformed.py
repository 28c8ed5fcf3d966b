"""Damaged PTX is refused where it is wrong, soon, and never with anything but a ``PtxError``; what still loads still runs so."""

from __future__ import annotations

import random

import mutate
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from malformed import load, run
from ptx_harness import HEADER, kernel

from prism_mlir.runtime.ptx import Module, PtxSyntaxError

RANDOM = st.randoms(use_true_random=False)
SETTINGS = settings(max_examples=120, deadline=None, derandomize=True, database=None)


@given(RANDOM)
@settings(SETTINGS, max_examples=150)
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


@pytest.mark.parametrize("piece", ["{", "/*", "0", "a.", "add.u32 %r1, %r1, 1; "])
def test_much_of_one_piece(piece: str) -> None:
    text = mutate.corpus()[0]
    at = text.index("ret;")
    load(text[:at] + piece * (200_000 // len(piece)) + text[at:])


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
    """Each of 800 loops lies in the one before; ordering the blocks loop by loop would walk 800 times over all of them."""
    heads = "".join(f"L{i}: add.u32 %r2, %r1, 2;\n" for i in range(800))
    tails = "".join(f"@%p1 bra L{i};\n" for i in reversed(range(800)))
    assert load(kernel(f"setp.eq.u32 %p1, %r1, 99; {heads} {tails} ret;")) is not None


def test_tables_that_multiply_their_targets_are_refused() -> None:
    targets = ", ".join(f"L{i}" for i in range(1000))
    jumps = "".join(f"L{i}: brx.idx %r1, T;\n" for i in range(1000))
    with pytest.raises(PtxSyntaxError, match="branch targets"):
        Module.load(kernel(f"T: .branchtargets {targets};\n {jumps} ret;"))
