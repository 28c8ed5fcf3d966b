"""What a report says: instruction and place, blocks and threads, address, barriers passed, and what to do."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest
from ptx_harness import kernel

from prism_mlir.runtime.ptx import CheckError, Checks, Module

GRID, BLOCK = (2, 2, 1), (4, 4, 4)
# %r3 is the index of the thread in its block; %p7 holds in block (1, 1, 0) only, and %p8 in thread (1, 2, 3) = 1 + 8 + 48 = 57.
WHO = """mov.u32 %r4, %tid.y; mov.u32 %r5, %tid.z; mad.lo.u32 %r3, %r4, 4, %r1; mad.lo.u32 %r3, %r5, 16, %r3;
mov.u32 %r6, %ctaid.x; mov.u32 %r7, %ctaid.y; add.u32 %r6, %r6, %r7; setp.eq.u32 %p7, %r6, 2; setp.eq.u32 %p8, %r3, 57;
and.pred %p6, %p7, %p8; setp.lt.u32 %p5, %r3, 32; not.pred %p4, %p7;
mov.u64 %rd2, buf; mad.wide.u32 %rd3, %r3, 16, %rd2;
cp.async.ca.shared.global [%rd3], [%rd1], 4; cp.async.ca.shared.global [%rd3+4], [%rd1], 4; cp.async.wait_all;
bar.sync 0; bar.sync 0;
"""
LAST = ((1, 1, 0), (1, 2, 3))  # block and thread of %p6
FIRST = ((1, 1, 0), (0, 0, 0))
SECOND_WARP = ((1, 1, 0), (0, 0, 2))
CASES = {
    "bounds": ("@%p6 st.shared.b32 [%rd2+1024], 1;", [LAST], "buf+1024 of 1024 bytes"),
    "alignment": ("@%p6 ld.shared.b32 %r9, [%rd3+2];", [LAST], "buf+914 of 1024 bytes"),  # 57 * 16 + 2
    "uninitialised": ("@%p6 ld.shared.b32 %r9, [%rd3+8];", [LAST], "buf+920 of 1024 bytes"),
    "race": ("@%p8 st.shared.b32 [%rd2+4], 1; @%p7 ld.shared.b32 %r9, [%rd2+4];", [FIRST, LAST], "buf+4 of 1024 bytes"),
    "async_copy": (
        "setp.eq.u32 %p1, %r3, 0; and.pred %p1, %p1, %p7; @%p8 cp.async.ca.shared.global [%rd3], [%rd1], 4;"
        "@%p1 ld.shared.b32 %r9, [%rd2+912];",
        [FIRST, LAST],
        "buf+912 of 1024 bytes",
    ),
    "barrier": ("@%p4 bra A; @%p5 bra A; bar.sync 3; bra B; A: bar.sync 1; B: ret;", [FIRST, SECOND_WARP], ""),
    "convergence": ("@!%p6 redux.sync.add.u32 %r9, %r3, -1;", [SECOND_WARP, LAST], ""),
    "cross_block": ("@%p8 st.global.b32 [%rd1+8], %r3;", [((0, 0, 0), (1, 2, 3))], "p0+8"),
}


def report(kind: str) -> tuple[str, CheckError]:
    """The error, and the text of its line from the instruction on."""
    text = kernel(WHO + CASES[kind][0] + "\nret;", shared=".shared .align 16 .b8 buf[1024];")
    module = Module.load(text, "dir/k.ptx").kernel("k")
    with pytest.raises(CheckError) as caught:
        module.run(grid=GRID, block=BLOCK, args=[np.zeros(16, np.uint32)], outputs=())
    place = caught.value.location
    assert place is not None and place.file == "dir/k.ptx"
    return text.splitlines()[place.line - 1][place.col - 1 :], caught.value


def test_every_check_has_its_report() -> None:
    assert set(CASES) == {f.name for f in fields(Checks)}


@pytest.mark.parametrize("kind", CASES)
def test_report(kind: str) -> None:
    line, error = report(kind)
    _, threads, address = CASES[kind]
    assert error.kind == kind and error.kernel == "k"
    bare = error.instruction.split(maxsplit=1)[1] if error.instruction.startswith("@") else error.instruction
    assert line.startswith(bare + ";")
    assert error.epoch == 2
    assert error.address == address
    if kind == "barrier":  # which of the two warps waits first is open
        assert sorted(error.threads) == threads
    elif kind == "cross_block":  # which of the blocks comes second is open
        (block, thread), (other, same) = error.threads
        assert thread == same == (1, 2, 3) and block != other
        assert f"block {other} of the same launch wrote" in error.message and "st.global" in error.headline
    else:
        assert list(error.threads) == threads
    first, *rest = str(error).splitlines()
    assert first.startswith(f"{error.location}: error: [{kind}] ")
    expected = [f"  instruction: {error.instruction}", "  kernel: k, after 2 barriers"]
    expected += [f"  thread: {thread} of block {block}" for block, thread in error.threads]
    expected += [f"  address: {address}"] if address else []
    assert rest == [*expected, f"  hint: {error.hint}"] and error.hint


@pytest.mark.parametrize("kind", [k for k in CASES if k != "barrier"])
def test_silenced(kind: str) -> None:
    """Without its check the kernel runs to the end (a barrier that nobody completes cannot; a copy in flight is also a race)."""
    text = kernel(WHO + CASES[kind][0] + "\nret;", shared=".shared .align 16 .b8 buf[1024];")
    checks = replace(Checks(), **{kind: False}, **({"race": False} if kind == "async_copy" else {}))
    Module.load(text).kernel("k").run(grid=GRID, block=BLOCK, args=[np.zeros(16, np.uint32)], checks=checks)
