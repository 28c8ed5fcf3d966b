"""Cache policies and prefetches: accepted in all their forms, without effect on data, and on both engines."""

from __future__ import annotations

import numpy as np
import pytest
from ptx_harness import kernel, launch

from prism_mlir.runtime.ptx import CheckError, PtxSyntaxError

POLICIES = [
    "createpolicy.fractional.L2::evict_last.b64 %rd9, 1.0;",
    "createpolicy.fractional.L2::evict_first.b64 %rd9;",
    "mov.b32 %f1, 0f3F000000; createpolicy.fractional.L2::evict_last.L2::evict_unchanged.b64 %rd9, %f1;",
    "createpolicy.range.L2::evict_last.L2::evict_first.b64 %rd9, [%rd1], 0x100000, 0x200000;",
    "createpolicy.range.global.L2::evict_normal.b64 %rd9, [%rd1+16], 64, 128;",
    "mov.b64 %rd8, 5; createpolicy.cvt.L2.b64 %rd9, %rd8;",
]
USES = """mad.wide.u32 %rd2, %r1, 16, %rd1; prefetch.global.L2 [%rd2]; prefetchu.L1 [%rd2]; mov.u64 %rd3, buf;
  mad.wide.u32 %rd3, %r1, 16, %rd3; cp.async.cg.shared.global.L2::cache_hint [%rd3], [%rd2], 16, %rd9;
  cp.async.ca.shared.global.L2::cache_hint [%rd3+512], [%rd2], 4, 4, %rd9; cp.async.wait_all;
  ld.shared.v2.u32 {%r2, %r3}, [%rd3+8]; ld.shared.u32 %r5, [%rd3+512];
  ld.global.L1::evict_last.L2::cache_hint.v2.u32 {%r6, %r7}, [%rd2], %rd9; add.u32 %r6, %r6, %r5;
  st.global.L2::cache_hint.v4.u32 [%rd2], {%r2, %r3, %r6, %r7}, %rd9; ret;"""
SHARED = ".shared .align 16 .b8 buf[1024];"


def test_uniform_loads_and_priorities() -> None:
    """ldu reads as ld does; applypriority changes no data."""
    for engine in ("reference", "fast"):
        data = np.arange(64, dtype=np.uint32)
        body = """applypriority.global.L2::evict_normal [%rd1], 128; ldu.global.v2.u32 {%r2, %r3}, [%rd1+8];
          ldu.global.u32 %r4, [%rd1+20]; add.u32 %r2, %r2, %r3; add.u32 %r2, %r2, %r4; mad.wide.u32 %rd2, %r1, 4, %rd1;
          st.global.u32 [%rd2+128], %r2; ret;"""
        launch(kernel(body), [data], engine=engine)
        assert data.tolist() == [*range(32), *[2 + 3 + 5] * 32]


@pytest.mark.parametrize("policy", POLICIES)
def test_policies(policy: str) -> None:
    results = []
    for engine in ("reference", "fast"):
        data = np.arange(128, dtype=np.uint32).reshape(32, 4)
        result = launch(kernel(f"{policy} {USES}", shared=SHARED), [data], engine=engine)
        assert result.engine == engine, result.fallback_reason
        results.append(data)
    first = 4 * np.arange(32)  # row t was 4t, 4t+1, 4t+2, 4t+3
    assert (results[0] == np.stack([first + 2, first + 3, 2 * first, first + 1], axis=1)).all()
    assert (results[0] == results[1]).all()


def test_atomics_with_a_policy() -> None:
    data = np.zeros(2, np.uint32)
    body = """red.global.add.L2::cache_hint.u32 [%rd1], 2, %rd9;
      atom.global.add.L2::cache_hint.u32 %r2, [%rd1+4], 3, %rd9; ret;"""
    launch(kernel(f"{POLICIES[0]} {body}"), [data])
    assert data.tolist() == [64, 96]


@pytest.mark.parametrize("code", [
    "createpolicy.fractional.L2::evict_sometimes.b64 %rd9, 1.0;",
    "createpolicy.fractional.L2::evict_last.L2::evict_last.b64 %rd9, 1.0;",
    "createpolicy.fractional.L2::evict_last.b64 %rd9, 0.0;",
    "createpolicy.fractional.L2::evict_last.b64 %rd9, 1.5;",
    "createpolicy.fractional.L2::evict_last.b32 %r9, 1.0;",
    "createpolicy.range.L2::evict_last.b64 %rd9, [%rd1], 64;",
    "createpolicy.range.shared.L2::evict_last.b64 %rd9, [%rd1], 64, 64;",
    "createpolicy.cvt.L1.b64 %rd9, %rd1;",
    "createpolicy.b64 %rd9;",
    "ld.global.L2::cache_hint.u32 %r2, [%rd1], %r3;",
    "discard.global.L2 [%rd1], 128;",
])  # fmt: skip
def test_what_does_not_exist(code: str) -> None:
    with pytest.raises(PtxSyntaxError):
        launch(kernel(f"{code} ret;"), [np.zeros(32, np.uint32)])


def test_a_policy_that_nothing_has_made() -> None:
    with pytest.raises(CheckError) as caught:
        launch(kernel("ld.global.L2::cache_hint.u32 %r2, [%rd1], %rd9; ret;"), [np.zeros(32, np.uint32)])
    assert caught.value.kind == "uninitialised"


def test_policies_need_ampere() -> None:
    text = kernel(f"{POLICIES[0]} ret;").replace("sm_90", "sm_75")
    with pytest.raises(PtxSyntaxError, match="sm_80 or higher"):
        launch(text, [np.zeros(1, np.uint32)])
