"""Counters by line: what each line does was counted on paper, and lines sum up to the totals."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

from prism_mlir.runtime.ptx import LaunchError, Module
from prism_mlir.runtime.ptx.counters import Counters

# Each of 64 threads (two warps) adds its number four times to what it loads, in a loop, and stores the sum.
SUMS = """.version 7.8
.target sm_80
.address_size 64
.visible .entry sums(.param .u64 src, .param .u64 dst)
{
  .reg .b32 %r<6>;
  .reg .b64 %a<6>;
  .reg .pred %p;
  ld.param.u64 %a1, [src];
  ld.param.u64 %a2, [dst];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %a3, %r1, 4;
  add.s64 %a4, %a1, %a3;
  add.s64 %a5, %a2, %a3;
  ld.global.u32 %r2, [%a4];
  mov.u32 %r3, 0;
LOOP:
  add.u32 %r2, %r2, %r1;
  add.u32 %r3, %r3, 1;
  setp.lt.u32 %p, %r3, 4;
  @%p bra LOOP;
  st.global.u32 [%a5], %r2;
  ret;
}
"""
LOAD, ADD, BRANCH, STORE, LABEL = 15, 18, 21, 22, 17


@pytest.fixture(scope="module")
def counted() -> tuple[Counters, dict[int, Counters], np.ndarray]:
    given, made = np.arange(64, dtype=np.uint32), np.zeros(64, np.uint32)
    kernel = Module.load(SUMS).kernel("sums")
    result = kernel.run(grid=(1,), block=(64,), args=[given, made], detailed_counters=True, by_line=True)
    return result.counters, dict(result.lines), made


def test_results_are_as_without_counting(counted: tuple[Counters, dict[int, Counters], np.ndarray]) -> None:
    assert np.array_equal(counted[2], 5 * np.arange(64))


def test_lines_count_what_they_do(counted: tuple[Counters, dict[int, Counters], np.ndarray]) -> None:
    """Two warps issue a line once, in the loop four times; 32 lanes of 4 bytes in a row are 4 sectors."""
    lines = counted[1]
    issued = {line: sum(c.warp_instructions.values()) for line, c in lines.items()}
    assert (issued[LOAD], issued[ADD], issued[BRANCH], issued[STORE]) == (2, 8, 8, 2)
    assert LABEL not in lines
    assert lines[LOAD].thread_instructions == 64
    assert lines[ADD].thread_instructions == 256
    assert (lines[LOAD].global_load_bytes, lines[LOAD].global_sectors) == (256, 8)
    assert (lines[STORE].global_store_bytes, lines[STORE].global_sectors) == (256, 8)
    assert lines[ADD].global_sectors == 0


def test_lines_sum_up_to_the_totals(counted: tuple[Counters, dict[int, Counters], np.ndarray]) -> None:
    total, lines, _ = counted
    for name in (f.name for f in fields(Counters) if f.name not in ("detailed", "warp_instructions", "barriers")):
        assert sum(getattr(c, name) for c in lines.values()) == getattr(total, name), name
    assert total.warp_instructions["ld.global"] == 2


def test_totals_are_those_of_a_run_without_lines(counted: tuple[Counters, dict[int, Counters], np.ndarray]) -> None:
    args = [np.arange(64, dtype=np.uint32), np.zeros(64, np.uint32)]
    plain = Module.load(SUMS).kernel("sums").run(grid=(1,), block=(64,), args=args, detailed_counters=True)
    assert plain.counters == counted[0]
    assert plain.lines == {}


def test_the_fast_engine_does_not_count_by_line() -> None:
    with pytest.raises(LaunchError, match="counters by line"):
        Module.load(SUMS).kernel("sums").run(
            grid=(1,), block=(64,), args=[np.zeros(64, np.uint32)] * 2, engine="fast", by_line=True
        )
