"""Counts on paper: sectors of strided loads, bank conflicts, instructions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ptx_harness import kernel, launch

from prism_mlir.runtime.ptx import Counters


def counted(body: str, args: list[Any], block: int = 32, shared: str = "", **options: Any) -> Counters:
    return launch(kernel(body, shared=shared), args, block=block, detailed_counters=True, **options).counters


@pytest.mark.parametrize(("stride", "sectors"), [(0, 1), (4, 4), (8, 8), (16, 16), (32, 32), (128, 32)])
def test_sectors_of_a_strided_load(stride: int, sectors: int) -> None:
    counters = counted(
        f"mad.wide.u32 %rd1, %r1, {stride}, %rd1; ld.global.b32 %r2, [%rd1]; ret;", [np.zeros(4096, np.uint8)]
    )
    assert counters.global_sectors == sectors and counters.global_load_bytes == 128


def test_sectors_of_vector_loads_and_partial_warps() -> None:
    body = "mad.wide.u32 %rd1, %r1, 16, %rd1; ld.global.v4.b32 {%r2, %r3, %r4, %r5}, [%rd1]; ret;"
    assert counted(body, [np.zeros(4096, np.uint8)]).global_sectors == 16
    guarded = "mad.wide.u32 %rd1, %r1, 4, %rd1; setp.lt.u32 %p1, %r1, 9; @%p1 ld.global.b32 %r2, [%rd1]; ret;"
    assert counted(guarded, [np.zeros(4096, np.uint8)]).global_sectors == 2


@pytest.mark.parametrize(("stride", "waves"), [(4, 1), (8, 2), (16, 4), (128, 32), (132, 1), (64, 16)])
def test_bank_conflicts_of_words(stride: int, waves: int) -> None:
    body = f"mov.u64 %rd2, buf; mad.wide.u32 %rd3, %r1, {stride}, %rd2; st.shared.b32 [%rd3], %r1; ret;"
    counters = counted(body, [np.zeros(1)], shared=".shared .align 16 .b8 buf[8192];")
    assert (counters.shared_wavefronts, counters.shared_requests) == (waves, 1)


@pytest.mark.parametrize(("width", "waves"), [("v2.b32", 2), ("v4.b32", 4)])
def test_wide_accesses_take_a_part_of_the_warp_at_a_time(width: str, waves: int) -> None:
    size = 8 if width == "v2.b32" else 16
    regs = "{%r1, %r1}" if size == 8 else "{%r1, %r1, %r1, %r1}"
    body = f"mov.u64 %rd2, buf; mad.wide.u32 %rd3, %r1, {size}, %rd2; st.shared.{width} [%rd3], {regs}; ret;"
    assert counted(body, [np.zeros(1)], shared=".shared .align 16 .b8 buf[8192];").shared_wavefronts == waves


@pytest.mark.parametrize(("row", "waves"), [(16, 4), (128, 32), (144, 4)])
def test_conflicts_of_ldmatrix(row: int, waves: int) -> None:
    """Rows 128 bytes apart all start in one bank; padding them to 144 bytes removes the conflict."""
    fill = "".join(f"st.shared.v4.b32 [%rd3+{16 * i}], {{%r2, %r2, %r2, %r2}};" for i in range(max(1, row // 16)))
    body = f"""mov.u32 %r2, 0; mov.u64 %rd2, buf; mad.wide.u32 %rd3, %r1, {row}, %rd2; {fill} bar.sync 0;
      ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{%r3, %r4, %r5, %r6}}, [%rd3]; ret;"""
    shared = ".shared .align 16 .b8 buf[8192];"
    whole = counted(body, [np.zeros(1)], shared=shared).shared_wavefronts
    without = counted(body.split("bar.sync")[0] + "ret;", [np.zeros(1)], shared=shared).shared_wavefronts
    assert whole - without == waves


def test_instructions_are_counted_by_threads_and_warps() -> None:
    """50 threads in 2 warps; 10 of them take the branch of 2 instructions."""
    body = "setp.ge.u32 %p1, %r1, 10; @%p1 bra OUT; add.u32 %r2, %r1, 1; add.u32 %r2, %r2, 1; OUT: ret;"
    counters = counted(body, [np.zeros(1)], block=50)
    assert counters.thread_instructions == 50 * 5 + 10 * 2
    assert counters.warp_instructions["alu"] == 2 * 1 + 1 * 2
    assert counters.warp_instructions["branch"] == 2 * 2
    assert counters.divergent_branches == 1


def test_barriers_are_counted_a_block() -> None:
    assert counted("bar.sync 0; bar.sync 0; ret;", [np.zeros(1)], grid=7).barriers == 14
