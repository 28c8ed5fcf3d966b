"""Launches that ask for too much, each in a process of its own kind: run by ``test_limits`` in a child whose memory is measured.

Prints one JSON object a case: its name, how it ended, and the largest size of the process so far in bytes.
"""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Callable
from pathlib import Path

sys.path += [str(Path(__file__).parents[1]), str(Path(__file__).parents[4] / "benchmarks")]

import numpy as np
from harness.measure import peak_bytes
from ptx_harness import HEADER, kernel

from prism_mlir.runtime.ptx import Checks, Module, PtxError
from prism_mlir.runtime.ptx.machine import FAST_CHECKS

SHARED = ".shared .align 16 .b8 s[4096];"
ROW = "mov.u32 %r2, s; mad.lo.u32 %r2, %r1, 4, %r2; mad.wide.u32 %rd2, %r1, 4, %rd1;"
COPIES = f"{ROW} L: cp.async.ca.shared.global [%r2], [%rd2], 4; cp.async.commit_group; bra L;"
FILL = f"""{ROW} mov.u32 %r3, 0; L: cp.async.ca.shared.global [%r2], [%rd2], 4; add.u32 %r2, %r2, 128; add.u32 %r3, %r3, 1;
  setp.lt.u32 %p1, %r3, 1280; @%p1 bra L; cp.async.wait_all; ret;"""
RELEASES = """mov.u32 %r2, d; mad.lo.u32 %r2, %r1, 4, %r2; mov.u32 %r3, 0;
  L: fence.acq_rel.cta; st.relaxed.cta.shared.u32 [%r2], %r1; add.u32 %r2, %r2, 4096; add.u32 %r3, %r3, 1;
  setp.lt.u32 %p1, %r3, 40; @%p1 bra L; ret;"""


def run(
    text: str,
    *engines: str,
    grid: tuple[int, ...] = (1,),
    block: int = 32,
    shared: int = 0,
    checks: Checks = FAST_CHECKS,
    steps: int = 20_000,
) -> str:
    """How a launch ends on each of the engines."""
    ends = []
    for engine in engines or ("reference", "fast"):
        k = Module.load(text).kernel("k")
        args = [np.zeros(1024, np.uint32) for _ in k.params]
        try:
            result = k.run(
                grid=grid, block=(block,), args=args, engine=engine, shared_bytes=shared, checks=checks, max_steps=steps
            )
            ends.append(f"{result.engine} {result.fallback_reason}".strip())
        except PtxError as error:
            ends.append(f"{type(error).__name__}: {error.message}")
    return " | ".join(dict.fromkeys(ends))


def big_locals(count: int) -> str:
    return kernel("".join(f".local .align 16 .b8 x{i}[524288];" for i in range(count)) + "st.local.u32 [x0], %r1; ret;")


CASES: dict[str, Callable[[], str]] = {
    "million blocks": lambda: run(kernel("mov.u32 %r2, %ctaid.x; ret;"), grid=(1_000_000,)),
    "endless grid": lambda: run(kernel("ret;"), grid=(2**31 - 1, 65535, 65535)),
    "dynamic shared memory": lambda: run(kernel("ret;"), shared=1 << 40),
    "local array": lambda: run(kernel(".local .b8 x[1073741824]; ret;")),
    "local arrays": lambda: run(big_locals(100)),
    "local memory of a block": lambda: run(big_locals(1), block=1024),
    "variables": lambda: run(
        HEADER + "".join(f".global .b8 x{i}[1073741824] = {{1}};" for i in range(8)) + ".entry k() { ret; }"
    ),
    "registers": lambda: run(kernel(".reg .b64 %y<60000>; cvt.u64.u32 %y0, %r1; ret;"), block=1024),
    "many blocks with many registers": lambda: run(
        kernel(".reg .b64 %y<2500>;" + "".join(f"cvt.u64.u32 %y{i}, %r1;" for i in range(2500)) + "ret;"),
        "reference",
        grid=(256,),
        block=64,
    ),
    "copies nobody waits for": lambda: run(kernel(COPIES, shared=SHARED), "reference", block=1024, grid=(16,)),
    "copies that fill shared memory": lambda: run(
        kernel(FILL, shared=".extern .shared .align 16 .b8 s[];"), "reference", grid=(256,), shared=160 << 10
    ),
    "arrivals nobody waits for": lambda: run(
        kernel("L: bar.arrive 1, 2048; bra L;"), "reference", block=1024, grid=(4,)
    ),
    "releases": lambda: run(
        kernel(RELEASES, shared=".extern .shared .align 16 .b8 d[];"),
        "reference",
        block=1024,
        grid=(16,),
        shared=200 << 10,
    ),
    "instructions": lambda: run(kernel("add.u32 %r2, %r1, 1;" * 12_000 + "ret;"), "fast"),
}


def main() -> None:
    # What exceeds this ends in a MemoryError, and the test fails.
    resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
    for name, case in CASES.items():
        try:
            end = case()
        except PtxError as error:
            end = f"{type(error).__name__}: {error.message}"
        print(json.dumps([name, end, peak_bytes()]), flush=True)


if __name__ == "__main__":
    main()
