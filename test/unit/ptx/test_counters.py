"""Counts done on paper (in comments), and by models of a few lines that go byte by byte; see ``counters`` for the rules."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from ptx_harness import kernel, launch

from prism_mlir.runtime.ptx import Checks, Counters
from prism_mlir.runtime.ptx.counters import extrapolate

RNG = np.random.default_rng(23)
TWO = ".param .u64 p0, .param .u64 p1"
BUF = ".shared .align 128 .b8 buf[32768];"
VECTORS = {4: "b32", 8: "v2.b32", 16: "v4.b32"}
FOUR = "%r3, %r4, %r5, %r6"
REGS = {4: "%r3", 8: "{%r3, %r4}", 16: f"{{{FOUR}}}"}


def counted(
    body: str, args: list[Any], block: int = 32, shared: str = BUF, params: str = "", checks: bool = False, **more: Any
) -> Counters:
    """The detailed counters of a kernel."""
    params = params or (TWO if len(args) == 2 else ".param .u64 p0")
    how = Checks() if checks else Checks.none()
    return launch(kernel(body, params, shared), args, block, detailed_counters=True, checks=how, **more).counters


def sectors(addresses: list[int], width: int) -> int:
    """Distinct 32-byte sectors among all bytes."""
    return len({(a + i) // 32 for a in addresses for i in range(width)})


def wavefronts(lanes: dict[int, int], width: int, load: bool = True) -> int:
    """Groups of lanes that ask for 128 bytes; in each, the bank with the most distinct words decides."""
    group = 128 // max(width, 4)
    twins = (all(lanes[n] == lanes.get(n ^ step, lanes[n]) for n in lanes) for step in (1, 2))
    if load and width > 4 and any(twins):
        group *= 2
    total = 0
    for first in range(0, 32, group):
        words = {(a + i) // 4 for n, a in lanes.items() if first <= n < first + group for i in range(width)}
        total += max(Counter(w % 32 for w in words).values(), default=0)
    return total


# -- global memory ------------------------------------------------------------------------------------------------

# Lane i reads `width` bytes at `start + i * stride`. On paper: 32 lanes of 4 bytes side by side are 128 bytes = 4 sectors; every
# second word (stride 8) spreads them over 256 bytes = 8; from stride 32 on each lane has its own sector; one word for all is
# one sector; 128 bytes that begin 4 bytes after a sector's start touch 5. 8 bytes a lane are 256 bytes = 8 sectors, 16 are 16.
GLOBAL = [
    (4, 4, 0, 4), (4, 8, 0, 8), (4, 16, 0, 16), (4, 32, 0, 32), (4, 128, 0, 32), (4, 0, 0, 1), (4, 4, 4, 5), (4, 4, 16, 5),
    (4, 8, 28, 9), (8, 8, 0, 8), (8, 16, 0, 16), (8, 8, 8, 9), (8, 0, 24, 1), (16, 16, 0, 16), (16, 32, 16, 32), (16, 16, 16, 17),
    (16, 64, 0, 32), (16, 0, 0, 1),
]  # fmt: skip


@pytest.mark.parametrize(("width", "stride", "start", "expected"), GLOBAL)
@pytest.mark.parametrize("how", ["ld", "st"])
def test_sectors_of_global_requests(how: str, width: int, stride: int, start: int, expected: int) -> None:
    assert expected == sectors([start + i * stride for i in range(32)], width)
    where = f"mov.b32 %r3, 0; mov.b32 %r4, 0; mov.b32 %r5, 0; mov.b32 %r6, 0; mad.wide.u32 %rd1, %r1, {stride}, %rd1;"
    access = {"ld": f"{REGS[width]}, [%rd1+{start}]", "st": f"[%rd1+{start}], {REGS[width]}"}[how]
    c = counted(f"{where} {how}.global.{VECTORS[width]} {access}; ret;", [np.zeros(8192, np.uint8)])
    assert (c.global_requests, c.global_sectors) == (1, expected)
    assert (c.global_load_bytes, c.global_store_bytes) == ((32 * width, 0) if how == "ld" else (0, 32 * width))


def test_narrow_loads_share_sectors() -> None:
    """32 bytes in a row are one sector, 32 halves two."""
    body = """.reg .b16 %x; cvt.u64.u32 %rd3, %r1; add.s64 %rd4, %rd1, %rd3; ld.global.u8 %x, [%rd4];
      add.s64 %rd4, %rd4, %rd3; ld.global.b16 %x, [%rd4]; ret;"""
    c = counted(body, [np.zeros(64, np.uint8)])
    assert (c.global_requests, c.global_sectors, c.global_load_bytes) == (2, 3, 32 + 64)


def test_only_active_lanes_count() -> None:
    """9 lanes of 4 bytes are 36 bytes = 2 sectors; in a block of 50 threads the second warp reads 72 bytes = 3 sectors."""
    guarded = "mad.wide.u32 %rd1, %r1, 4, %rd1; setp.lt.u32 %p1, %r1, 9; @%p1 ld.global.b32 %r2, [%rd1]; ret;"
    c = counted(guarded, [np.zeros(4096, np.uint8)], block=64)  # the second warp asks for nothing
    assert (c.global_requests, c.global_sectors, c.global_load_bytes) == (1, 2, 36)
    c = counted(
        "mad.wide.u32 %rd1, %r1, 4, %rd1; ld.global.b32 %r2, [%rd1]; ret;", [np.zeros(4096, np.uint8)], block=50
    )
    assert (c.global_requests, c.global_sectors, c.global_load_bytes) == (2, 4 + 3, 200)


@pytest.mark.parametrize("width", [4, 8, 16])
def test_random_patterns(width: int) -> None:
    """Random offsets and random active lanes, to both memories, against the models."""
    for _ in range(6):
        offsets = (RNG.integers(0, 8192 // width, 32) if _ % 2 else RNG.integers(0, 24, 32)) * width
        active = RNG.random(32) < (1.0, 0.5)[_ % 3 > 0]
        words = np.where(active, offsets, 0xFFFFFFFF).astype(np.uint32)
        body = f"""ld.param.u64 %rd2, [p1]; mad.wide.u32 %rd2, %r1, 4, %rd2; ld.global.b32 %r2, [%rd2];
          setp.eq.u32 %p1, %r2, -1; @%p1 exit; cvt.u64.u32 %rd3, %r2; add.s64 %rd1, %rd1, %rd3;
          mov.u64 %rd4, buf; add.s64 %rd4, %rd4, %rd3;
          ld.global.{VECTORS[width]} {REGS[width]}, [%rd1]; ld.shared.{VECTORS[width]} {REGS[width]}, [%rd4];
          st.shared.{VECTORS[width]} [%rd4], {REGS[width]}; ret;"""
        c = counted(body, [np.zeros(8192, np.uint8), words])
        lanes = {n: int(offsets[n]) for n in range(32) if active[n]}
        assert c.global_sectors == 4 + sectors(list(lanes.values()), width)  # 4: the offsets
        assert c.shared_wavefronts == wavefronts(lanes, width) + wavefronts(lanes, width, load=False)
        assert (c.global_requests, c.shared_requests) == (2, 2)


def test_generic_addresses_count_where_they_point() -> None:
    """16 lanes read shared memory (one wavefront), 16 read 64 bytes of global memory (two sectors)."""
    body = """mov.u64 %rd2, buf; cvta.shared.u64 %rd3, %rd2; setp.lt.u32 %p1, %r1, 16; selp.b64 %rd4, %rd3, %rd1, %p1;
      mad.wide.u32 %rd4, %r1, 4, %rd4; ld.b32 %r2, [%rd4]; st.b32 [%rd4], %r2; ret;"""
    c = counted(body, [np.zeros(256, np.uint8)])
    assert (c.global_load_bytes, c.global_store_bytes, c.shared_load_bytes, c.shared_store_bytes) == (64, 64, 64, 64)
    assert (c.global_requests, c.global_sectors, c.shared_requests, c.shared_wavefronts) == (2, 4, 2, 2)


@pytest.mark.parametrize(
    ("base", "counts"),
    [
        ("cvta.shared.u64 %rd3, %rd2;", (0, 128)),
        ("cvta.local.u64 %rd3, %rd5;", (0, 0)),
        ("mov.b64 %rd3, %rd1;", (128, 0)),
    ],
)
def test_generic_addresses_count_alike_in_both_engines(base: str, counts: tuple[int, int]) -> None:
    """32 words of shared, of local (which is not counted), and of global memory."""
    body = f""".local .align 8 .b8 depot[128]; mov.u64 %rd2, buf; mov.u64 %rd5, depot; {base}
      mad.wide.u32 %rd4, %r1, 4, %rd3; st.b32 [%rd4], %r1; ld.b32 %r2, [%rd4]; ret;"""
    text = kernel(body, shared=BUF)
    slow, fast = (
        launch(text, [np.zeros(256, np.uint8)], checks=Checks.none(), engine=e) for e in ("reference", "fast")
    )
    assert fast.engine == "fast" and fast.counters == slow.counters
    assert (slow.counters.global_load_bytes, slow.counters.shared_load_bytes) == counts
    assert (slow.counters.global_store_bytes, slow.counters.shared_store_bytes) == counts


# -- shared memory ------------------------------------------------------------------------------------------------

# Lane i accesses `width` bytes at i * stride. On paper, 4 bytes: with stride 4 every lane has its own bank; 8 puts two words
# into every second bank (2-way), 32 puts 8 into every eighth, 128 all 32 words into bank 0; one word for all is a broadcast;
# 132 = 128 + 4 steps one bank further a row. 8 bytes: two half-warps of 128 bytes each; stride 16 doubles; stride 128 puts
# 16 pairs of words into one pair of banks, twice. 16 bytes: four quarter-warps; stride 32 makes each of them 2-way, 128
# makes it 8-way.
SHARED = [
    (4, 4, 1), (4, 8, 2), (4, 16, 4), (4, 32, 8), (4, 64, 16), (4, 128, 32), (4, 132, 1), (4, 136, 2), (4, 0, 1),
    (8, 8, 2), (8, 16, 4), (8, 32, 8), (8, 128, 32), (8, 136, 2), (16, 16, 4), (16, 32, 8), (16, 128, 32), (16, 144, 4),
]  # fmt: skip


@pytest.mark.parametrize(("width", "stride", "expected"), SHARED)
@pytest.mark.parametrize("how", ["ld", "st"])
def test_wavefronts_of_shared_requests(how: str, width: int, stride: int, expected: int) -> None:
    assert expected == wavefronts({i: i * stride for i in range(32)}, width, how == "ld")
    access = {"ld": f"{REGS[width]}, [%rd3]", "st": f"[%rd3], {REGS[width]}"}[how]
    body = f"mov.u64 %rd2, buf; mad.wide.u32 %rd3, %r1, {stride}, %rd2; {how}.shared.{VECTORS[width]} {access}; ret;"
    c = counted(body, [np.zeros(1)])
    assert (c.shared_requests, c.shared_wavefronts) == (1, expected)
    assert (c.shared_load_bytes, c.shared_store_bytes) == ((32 * width, 0) if how == "ld" else (0, 32 * width))


# Lane i loads from (i >> shift) * stride. Lanes 2k and 2k + 1 alike: registers come back in pairs, so that 8 bytes need one group
# (16 different addresses of 8 bytes are 128 bytes) and 16 bytes two; groups of four and all alike satisfy the rule as well.
# Halves are 2 bytes: lanes 2k and 2k + 1 share a word.
@pytest.mark.parametrize(
    ("kind", "shift", "stride", "expected"),
    [("b64", 1, 8, 1), ("b64", 2, 8, 1), ("b64", 5, 8, 1), ("v4.b32", 1, 16, 2), ("v4.b32", 5, 16, 2), ("b64", 1, 128, 16),
     ("b32", 1, 4, 1), ("b16", 0, 2, 1), ("b8", 0, 1, 1), ("b16", 0, 128, 32), ("b16", 0, 66, 1)],
)  # fmt: skip
def test_broadcast_within_banks(kind: str, shift: int, stride: int, expected: int) -> None:
    regs = {"b64": "%rd5", "v4.b32": f"{{{FOUR}}}", "b32": "%r3", "b16": "%h1", "b8": "%h1"}[kind]
    body = f"""mov.u64 %rd2, buf; shr.u32 %r2, %r1, {shift}; mad.wide.u32 %rd3, %r2, {stride}, %rd2;
      ld.shared.{kind} {regs}, [%rd3]; ret;"""
    c = counted(body, [np.zeros(1)])
    assert (c.shared_requests, c.shared_wavefronts) == (1, expected)


def test_inactive_quarters_take_no_wavefront() -> None:
    """Lanes 0 to 7 ask for 128 bytes: one wavefront, where the whole warp needs four."""
    body = f"""mov.u64 %rd2, buf; mad.wide.u32 %rd3, %r1, 16, %rd2; setp.lt.u32 %p1, %r1, 8;
      @%p1 ld.shared.v4.b32 {{{FOUR}}}, [%rd3]; ret;"""
    assert counted(body, [np.zeros(1)], block=64).shared_wavefronts == 1


@pytest.mark.parametrize(("stride", "kind", "ideal", "taken"), [
    (4, "b32", 1, 1),
    (8, "b32", 1, 2),  # every second bank
    (128, "b32", 1, 32),  # one bank
    (8, "v2.b32", 2, 2),  # half-warps
    (16, "v2.b32", 2, 4),
    (32, "v4.b32", 4, 8),  # quarter-warps, every second group of four banks
])  # fmt: skip
def test_ideal_wavefronts_are_those_without_conflicts(stride: int, kind: str, ideal: int, taken: int) -> None:
    regs = {"b32": "%r2", "v2.b32": "{%r2, %r3}", "v4.b32": "{%r2, %r3, %r4, %r5}"}[kind]
    body = f"mov.u64 %rd2, buf; mad.wide.u32 %rd2, %r1, {stride}, %rd2; ld.shared.{kind} {regs}, [%rd2]; ret;"
    c = counted(body, [np.zeros(1)])
    assert (c.shared_wavefronts_ideal, c.shared_wavefronts) == (ideal, taken)


def test_shared_atomics_take_turns() -> None:
    """32 lanes on one word: 32 turns; on 32 words of 32 banks: one; two lanes a word: two."""
    for step, turns in ((0, 32), (1, 1), (2, 2)):
        where = "mov.u32 %r2, 0;" if not step else f"shr.u32 %r2, %r1, {step - 1};"
        body = f"mov.u64 %rd2, buf; {where} mad.wide.u32 %rd3, %r2, 4, %rd2; red.shared.add.u32 [%rd3], 1; ret;"
        c = counted(body, [np.zeros(1)])
        assert (c.shared_requests, c.shared_wavefronts, c.shared_store_bytes) == (1, turns, 128)


# -- matrices -----------------------------------------------------------------------------------------------------

# Row r of matrix m lies at base + r * row + 16 m. 128 bytes a row put all rows of a matrix into the same four banks: 8 passes
# instead of 1. 144 = 128 + 16 shifts each row by four banks; 16 packs the rows; 64 has two rows a line of banks: 4-way.
# A swizzle stores the chunk m of row r at place m ^ (r % 8), which spreads the rows of a matrix over all banks.
ROWS = [(16, False, 1), (144, False, 1), (128, False, 8), (64, False, 4), (256, False, 8), (128, True, 1)]


@pytest.mark.parametrize(("row", "swizzle", "passes"), ROWS)
@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("how", ["ldmatrix", "stmatrix"])
def test_wavefronts_of_matrices(how: str, count: int, row: int, swizzle: bool, passes: int) -> None:
    regs = "{%r10}" if count == 1 else "{%r10, %r11}" if count == 2 else "{%r10, %r11, %r12, %r13}"
    operands = f"{regs}, [%rd3]" if how == "ldmatrix" else f"[%rd3], {regs}"
    # lane 8 m + r holds the address of row r of matrix m; with 16-byte rows the matrices follow one another
    chunk = "xor.b32 %r4, %r2, %r3;" if swizzle else f"mul.lo.u32 %r4, %r2, {8 if row == 16 else 1};"
    body = f"""shr.u32 %r2, %r1, 3; and.b32 %r3, %r1, 7; {chunk} shl.b32 %r4, %r4, 4; mad.lo.u32 %r5, %r3, {row}, %r4;
      mov.u64 %rd2, buf; cvt.u64.u32 %rd3, %r5; add.s64 %rd3, %rd2, %rd3;
      {how}.sync.aligned.m8n8.x{count}.shared.b16 {operands}; ret;"""
    c = counted(body, [np.zeros(1)])
    assert (c.shared_requests, c.shared_wavefronts) == (1, passes * count)
    assert c.shared_wavefronts_ideal == count
    total = 8 * 16 * count
    assert (c.shared_load_bytes, c.shared_store_bytes) == ((total, 0) if how == "ldmatrix" else (0, total))


def test_equal_rows_are_read_once() -> None:
    """All eight addresses alike: one wavefront."""
    body = "mov.u64 %rd2, buf; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r3}, [%rd2]; ret;"
    assert counted(body, [np.zeros(1)]).shared_wavefronts == 1


@pytest.mark.parametrize(
    ("form", "regs", "flops"),
    [("m16n8k16.row.col.f32.f16.f16.f32", (4, 4, 2), 2 * 16 * 8 * 16), ("m16n8k8.row.col.f32.bf16.bf16.f32", (4, 2, 1), 2048),
     ("m16n8k8.row.col.f32.tf32.tf32.f32", (4, 4, 2), 2048), ("m16n8k4.row.col.f32.tf32.tf32.f32", (4, 2, 1), 1024),
     ("m16n8k32.row.col.s32.s8.s8.s32", (4, 4, 2), 8192), ("m16n8k16.row.col.f16.f16.f16.f16", (2, 4, 2), 4096)],
)  # fmt: skip
def test_flops_of_products(form: str, regs: tuple[int, int, int], flops: int) -> None:
    """2 m n k each; three warps, two products each."""
    vectors = ["{" + ", ".join(["%r5"] * n) + "}" for n in (regs[0], regs[1], regs[2], regs[0])]
    product = (
        f"mma.sync.aligned.{form} {{{', '.join(f'%r{10 + i}' for i in range(regs[0]))}}}, {', '.join(vectors[1:])};"
    )
    c = counted(f"mov.b32 %r5, 0; {product} {product} ret;", [np.zeros(1)], block=96)
    assert (c.mma_count, c.mma_flops, c.warp_instructions["mma"]) == (6, 6 * flops, 6)


# -- cp.async -----------------------------------------------------------------------------------------------------


# Lane i copies 16 bytes from 16 i to 16 i. Whole: 512 bytes, 16 sectors, 4 wavefronts. With 8 bytes read of 16 every sector
# is still touched. Where lanes 10 and on read nothing, 160 bytes = 5 sectors are read, and all 512 are written. With an
# ignored source nothing is read. Sources 32 bytes apart are a sector each.
@pytest.mark.parametrize(
    ("size", "step", "read"),
    [("", 16, 16), (", 8", 16, 16), (", %r3", 16, 5), (", 0", 16, 0), (", !%p1", 16, 5), ("", 32, 32), (", 1", 32, 32)],
)
def test_asynchronous_copies(size: str, step: int, read: int) -> None:
    body = f"""mov.u64 %rd2, buf; mad.wide.u32 %rd3, %r1, 16, %rd2; mad.wide.u32 %rd4, %r1, {step}, %rd1;
      setp.lt.u32 %p1, %r1, 10; selp.b32 %r3, 16, 0, %p1; cp.async.cg.shared.global [%rd3], [%rd4], 16{size};
      cp.async.wait_all; ret;"""
    c = counted(body, [np.zeros(1024, np.uint8)], checks=True)
    assert (c.cp_async_bytes, c.global_sectors, c.global_requests) == (512, read, int(read > 0))
    assert (c.shared_requests, c.shared_wavefronts, c.shared_store_bytes, c.global_load_bytes) == (1, 4, 0, 0)


# -- instructions -------------------------------------------------------------------------------------------------


def test_instructions_are_counted_by_threads_and_warps() -> None:
    """50 threads in 2 warps; 10 of them take the branch of 2 instructions."""
    body = "setp.ge.u32 %p1, %r1, 10; @%p1 bra OUT; add.u32 %r2, %r1, 1; add.u32 %r2, %r2, 1; OUT: ret;"
    counters = counted(body, [np.zeros(1)], block=50)
    # mov %tid, ld.param, setp, bra, ret by all; add, add by 10 threads of one warp
    assert counters.thread_instructions == 50 * 5 + 10 * 2
    assert counters.warp_instructions == {"move": 2, "ld.param": 2, "alu": 2 * 1 + 1 * 2, "branch": 2 * 2}
    assert counters.divergent_branches == 1


def test_both_ways_of_a_divergent_branch_are_issued() -> None:
    """Of 3 warps the middle one diverges: it issues 2 + 3 adds, the first one 3, the last one 2. Each thread executes one way."""
    body = """setp.ge.u32 %p1, %r1, 48; @%p1 bra LATE; add.u32 %r2, %r1, 1; add.u32 %r2, %r1, 2; add.u32 %r2, %r1, 3;
      bra OUT; LATE: add.u32 %r3, %r1, 1; add.u32 %r3, %r1, 2; OUT: ret;"""
    c = counted(body, [np.zeros(1)], block=96)
    assert c.warp_instructions["alu"] == 3 + (3 + 5 + 2)
    assert c.divergent_branches == 1
    assert c.thread_instructions == 96 * 4 + 48 * 4 + 48 * 2 + 96 * 1


def test_indirect_branches_diverge_once_a_warp() -> None:
    """The first warp goes three ways, the second one all the same way: one divergent branch."""
    body = """min.u32 %r2, %r1, 2; T: .branchtargets A, B, C; brx.idx %r2, T;
      A: mov.u32 %r3, 1; bra OUT; B: mov.u32 %r3, 2; bra OUT; C: mov.u32 %r3, 3; OUT: ret;"""
    assert counted(body, [np.zeros(1)], block=64).divergent_branches == 1


def test_classes() -> None:
    """One instruction each of some classes, by two warps."""
    body = """mov.b32 %f1, 0f3F800000; add.f32 %f2, %f1, %f1; fma.rn.f32 %f2, %f1, %f1, %f1; ex2.approx.f32 %f3, %f1;
      mul.lo.u32 %r2, %r1, %r1; div.u32 %r3, %r1, 3; shfl.sync.bfly.b32 %r4, %r1, 1, 31, -1; cvt.rn.f32.u32 %f4, %r1;
      add.f16 %h1, %h2, %h2; mad.wide.u32 %rd1, %r1, 4, %rd1; st.global.b32 [%rd1], %r2; bar.sync 0; ret;"""
    c = counted(body, [np.zeros(64, np.uint32)], block=64)
    assert c.warp_instructions == {
        "move": 4, "ld.param": 2, "fp32": 4, "sfu": 2, "imad": 4, "div": 2, "shfl": 2, "cvt": 2, "fp16": 2, "st.global": 2,
        "barrier": 2, "branch": 2,
    }  # fmt: skip


def test_barriers_are_counted_a_block() -> None:
    """Seven blocks, two barriers; a named barrier of one half of the block counts as one, too."""
    assert counted("bar.sync 0; bar.sync 0; ret;", [np.zeros(1)], grid=7).barriers == 14
    body = "setp.lt.u32 %p1, %r1, 32; @%p1 bra A; bar.sync 2, 32; bra B; A: bar.sync 1, 32; B: bar.sync 0; ret;"
    assert counted(body, [np.zeros(1)], block=64, grid=3).barriers == 3 * 3


# -- extrapolation ------------------------------------------------------------------------------------------------

LOOP = """ld.param.u64 %rd2, [p1]; ld.param.u32 %r9, [n]; mov.u32 %r8, %ctaid.x; mad.lo.u32 %r7, %r8, 64, %r1;
  mad.wide.u32 %rd2, %r7, 4, %rd2; mov.u64 %rd3, buf; mad.wide.u32 %rd4, %r1, 8, %rd3; mov.u32 %r2, 0; mov.u32 %r5, 0;
  L: mad.wide.u32 %rd5, %r2, 4, %rd1; ld.global.b32 %r3, [%rd5]; st.shared.b32 [%rd4], %r3; bar.sync 0;
  ld.shared.b32 %r4, [%rd3]; add.u32 %r5, %r5, %r4; bar.sync 0;
  add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, %r9; @%p1 bra L;
  st.global.b32 [%rd2], %r5; ret;"""


def test_counts_of_two_short_runs_predict_a_long_one() -> None:
    params = ".param .u64 p0, .param .u64 p1, .param .u32 n"

    def run(trips: int, grid: int) -> Counters:
        arrays = [np.ones(64, np.uint32), np.zeros(64 * grid, np.uint32)]
        text = kernel(LOOP, params, BUF)
        return launch(text, [*arrays, trips], 64, grid=grid, detailed_counters=True, outputs={1}).counters

    short, long = run(2, 1), run(5, 1)
    assert long.barriers == 10 and long.shared_wavefronts == 5 * 2 * (2 + 1)  # 2-way stores and broadcasts, two warps
    assert extrapolate(short, long, (2, 5), 17, blocks=6) == run(17, 6)
    with pytest.raises(ValueError, match="different trip counts"):
        extrapolate(short, long, (2, 2), 17)
    with pytest.raises(ValueError, match="no whole number"):
        extrapolate(Counters(barriers=1), Counters(barriers=2), (0, 2), 4)
