"""Endless loops end at the instruction limit; what would need too much memory is refused, or fits a stated bound."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from ptx_harness import kernel, launch

from prism_mlir.runtime.ptx import Checks, RuntimeLimit
from prism_mlir.runtime.ptx.machine import MEMORY

FLAG = ".shared .align 4 .b32 flag;"
LOOPS = {
    "alone": "L: add.u32 %r2, %r2, %r1; bra L;",
    "of one instruction": "L: bra L;",
    "of some threads": "L: and.b32 %r2, %r1, 1; setp.eq.u32 %p1, %r2, 0; @%p1 bra L; ret;",
    "in two halves": "L: and.b32 %r2, %r1, 1; setp.eq.u32 %p1, %r2, 0; @%p1 bra L; add.u32 %r3, %r1, 1; bra L;",
    "with a barrier": "L: bar.sync 0; bra L;",
    "with a shuffle": "L: shfl.sync.bfly.b32 %r2, %r1, 1, 31, -1; bra L;",
    "on a flag in shared memory": """setp.eq.u32 %p1, %r1, 0; @%p1 st.shared.u32 [flag], 0; bar.sync 0;
      L: ld.volatile.shared.u32 %r2, [flag]; setp.eq.u32 %p2, %r2, 0; @%p2 bra L; ret;""",
    "on a flag in global memory": "L: ld.volatile.global.u32 %r2, [%rd1]; setp.eq.u32 %p2, %r2, 0; @%p2 bra L; ret;",
    "with an atomic": "mad.wide.u32 %rd2, %r1, 4, %rd1; L: atom.global.add.u32 %r2, [%rd2], 1; bra L;",
    "of two loops": "L: setp.lt.u32 %p1, %r1, 99; @%p1 bra M; bra L; M: @%p1 bra L; bra M;",
}


@pytest.mark.parametrize("engine", ["reference", "fast"])
@pytest.mark.parametrize("name", LOOPS)
def test_endless_loops_end(name: str, engine: str) -> None:
    text = kernel(LOOPS[name], shared=FLAG)
    with pytest.raises(RuntimeLimit, match="has not ended after 3000 instructions; raise max_steps") as caught:
        launch(text, [np.zeros(64, np.uint32)], block=64, grid=3, engine=engine, checks=Checks.none(), max_steps=3000)
    assert caught.value.location is not None


ENDS = {
    "million blocks": "reference | fast",
    "endless grid": "LaunchError: a grid of (2147483647, 65535, 65535) has more than",
    "dynamic shared memory": "LaunchError: kernel 'k' needs 1099511627776 bytes of shared memory",
    "local array": "PtxSyntaxError: 'x' has 1073741824 bytes",
    "local arrays": "LaunchError: kernel 'k' has 52428800 bytes of local memory a thread",
    "local memory of a block": "RuntimeLimit: a block of kernel 'k' needs",
    "variables": "RuntimeLimit: the module's .global and .const variables have 8589934592 bytes",
    "registers": "RuntimeLimit: a block of kernel 'k' needs",
    "many blocks with many registers": "reference",
    "copies nobody waits for": "RuntimeLimit: 1168 copies of a batch are in flight",  # 2^29 / (512 + 16384 * 28)
    "copies that fill shared memory": "reference",
    "arrivals nobody waits for": "RuntimeLimit: threads have arrived 64 times at barriers",
    "releases": "RuntimeLimit: what threads have released in 32768 places",
    "instructions": "reference the kernel has 12003 instructions, more than the 10000 that are compiled",
}


@pytest.fixture(scope="module")
def ends() -> dict[str, tuple[str, int]]:
    child = Path(__file__).parent / "memory_child.py"
    done = subprocess.run([sys.executable, child], capture_output=True, text=True, check=True, timeout=300)
    return {name: (end, size) for name, end, size in map(json.loads, done.stdout.splitlines())}


def test_what_needs_too_much_is_refused(ends: dict[str, tuple[str, int]]) -> None:
    assert list(ends) == list(ENDS)
    for name, start in ENDS.items():
        assert ends[name][0].startswith(start), (name, ends[name][0])


def test_memory_stays_within_the_bound(ends: dict[str, tuple[str, int]]) -> None:
    """Their buffers have a few kilobytes, so that the size of the process is what the bound speaks of."""
    assert max(size for _, size in ends.values()) < MEMORY
