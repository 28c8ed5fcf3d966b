"""mov, address spaces, parameters, loads and stores."""

from __future__ import annotations

import numpy as np
import pytest
from ptx_harness import HEADER, kernel, launch, run_op

from prism_mlir.runtime.ptx import LaunchError, Module

RNG = np.random.default_rng(5)


def test_pack_and_unpack() -> None:
    a = RNG.integers(0, 2**64, 50, dtype=np.uint64)
    code = "mov.b64 {%x, %y}, %a; mov.b64 %d, {%y, %x};"
    got = run_op(code, [("b64", a)], "b64", ".reg .b32 %x, %y;")
    assert got.tolist() == [(int(v) >> 32) | (int(v) & 0xFFFFFFFF) << 32 for v in a]
    b = a.astype(np.uint32)
    got = run_op("mov.b32 {%x, _}, %a; mov.b32 %d, {%x, %x};", [("b32", b)], "b32", ".reg .b16 %x;")
    assert got.tolist() == [(int(v) & 0xFFFF) * 0x10001 for v in b]


@pytest.mark.parametrize(
    ("text", "kind", "bits"),
    [("0f3F800000", "f32", 0x3F800000), ("0dBFF0000000000000", "f64", 0xBFF0000000000000), ("-1", "s32", 0xFFFFFFFF),

     ("0x7FU", "u32", 127), ("0b101", "u32", 5), ("017", "u32", 15), ("1.5", "f32", 0x3FC00000),
     ("0f3F800000", "b32", 0x3F800000)],
)  # fmt: skip
def test_literals(text: str, kind: str, bits: int) -> None:
    unsigned = f"b{kind[1:]}"
    got = run_op(f"mov.{kind} %d, {text};", [("u32", np.zeros(3))], unsigned)
    assert got.tolist() == [bits] * 3


def test_special_registers() -> None:
    out = np.zeros((2 * 3 * 2, 64, 8), dtype=np.uint32)
    body = """
      mov.u32 %r2, %tid.y; mov.u32 %r3, %tid.z; mov.u32 %r4, %ctaid.x; mov.u32 %r5, %ctaid.y; mov.u32 %r6, %ctaid.z;
      mov.u32 %r7, %laneid; mov.u32 %r8, %warpid; mov.u32 %r9, %ntid.x; mov.u32 %r10, %ntid.y; mov.u32 %r11, %nctaid.x;
      mov.u32 %r12, %nctaid.y; mov.u32 %r13, %lanemask_lt;
      mad.lo.u32 %r20, %r3, %r10, %r2; mad.lo.u32 %r20, %r20, %r9, %r1;
      mad.lo.u32 %r21, %r6, %r12, %r5; mad.lo.u32 %r21, %r21, %r11, %r4; mad.lo.u32 %r21, %r21, 64, %r20;
      mad.wide.u32 %rd1, %r21, 32, %rd1;
      st.global.v4.u32 [%rd1], {%r1, %r2, %r3, %r4}; st.global.v4.u32 [%rd1+16], {%r5, %r6, %r7, %r13}; ret;"""
    Module.load(kernel(body)).kernel("k").run(grid=(2, 3, 2), block=(8, 4, 2), args=[out], outputs={0})
    for b, t in np.ndindex(12, 64):
        lane = t % 32
        expected = [t % 8, t // 8 % 4, t // 32, b % 2, b // 2 % 3, b // 6, lane, (1 << lane) - 1]
        assert out[b, t].tolist() == expected


@pytest.mark.parametrize(("kind", "lanes"), [("b8", 1), ("b8", 4), ("b16", 1), ("b16", 2), ("b16", 4), ("b32", 1), ("b32", 2),
                                             ("b32", 4), ("b64", 1), ("b64", 2)])  # fmt: skip
def test_vector_copies(kind: str, lanes: int) -> None:
    size = int(kind[1:]) // 8 * lanes
    x = RNG.integers(0, 256, 32 * size, dtype=np.uint8)
    y = np.zeros_like(x)
    prefix = {"b8": "h", "b16": "h", "b32": "r", "b64": "rd"}[kind]
    names = ", ".join(f"%{prefix}{i + 10}" for i in range(lanes))
    names = f"{{{names}}}" if lanes > 1 else names
    suffix = f"v{lanes}.{kind}" if lanes > 1 else kind
    body = f"""ld.param.u64 %rd2, [p1]; mad.wide.u32 %rd1, %r1, {size}, %rd1; mad.wide.u32 %rd2, %r1, {size}, %rd2;
      ld.global.nc.L1::evict_last.{suffix} {names}, [%rd1]; st.global.wb.{suffix} [%rd2], {names}; ret;"""
    launch(kernel(body, ".param .u64 p0, .param .u64 p1"), [x, y], outputs={1})
    assert (x == y).all()


def test_narrow_loads_extend() -> None:
    x = np.array([-1, 5, -128, 127] * 8, dtype=np.int8)
    y = np.zeros((32, 2), dtype=np.int32)
    body = """ld.param.u64 %rd2, [p1]; cvt.u64.u32 %rd3, %r1; add.s64 %rd1, %rd1, %rd3; mad.wide.u32 %rd2, %r1, 8, %rd2;
      ld.global.s8 %r2, [%rd1]; ld.global.u8 %r3, [%rd1]; st.global.v2.b32 [%rd2], {%r2, %r3}; ret;"""
    launch(kernel(body, ".param .u64 p0, .param .u64 p1"), [x, y], outputs={1})
    assert (y[:, 0] == x).all() and (y[:, 1] == x.view(np.uint8)).all()


def test_scalar_parameters_of_every_type() -> None:
    params = ".param .u64 p0, .param .f32 f, .param .f64 d, .param .s32 i, .param .b16 h, .param .u8 b, .param .align 8 .b8 s[12]"
    out = np.zeros(8, dtype=np.uint32)
    body = """setp.ne.u32 %p1, %r1, 0; @%p1 ret;
      ld.param.f32 %f1, [f]; ld.param.b64 %rd2, [d]; ld.param.s32 %r3, [i]; ld.param.b16 %h1, [h]; ld.param.u8 %h2, [b];
      ld.param.b32 %r4, [s+8]; ld.param.v2.b32 {%r5, %r6}, [s];
      cvt.u32.u16 %r7, %h1; cvt.u32.u16 %r8, %h2; mov.b64 {%r9, %r10}, %rd2; mov.b32 %r11, %f1;
      st.global.v4.b32 [%rd1], {%r11, %r9, %r10, %r3}; st.global.v4.b32 [%rd1+16], {%r7, %r8, %r4, %r6}; ret;"""
    args = [out, 1.5, -2.5, -7, np.float16(0.5), 200, np.arange(3, dtype=np.uint32).tobytes()]
    launch(kernel(body, params), args, outputs={0})
    double = int(np.float64(-2.5).view(np.uint64))
    expected = [0x3FC00000, double & 0xFFFFFFFF, double >> 32, 2**32 - 7, 0x3800, 200, 2, 1]
    assert out.tolist() == expected


def test_global_constant_and_local_variables() -> None:
    text = f"""{HEADER}
.const .align 4 .b32 table[4] = {{10, 20, 30, 40}};
.global .align 8 .b8 bytes[8] = {{1, 2, 3, 4}};
.visible .entry k(.param .u64 p0) {{
  .local .align 16 .b8 depot[32];
  .reg .b32 %r<9>; .reg .b64 %rd<9>;
  ld.param.u64 %rd1, [p0]; mov.u32 %r1, %tid.x; and.b32 %r2, %r1, 3;
  mov.u64 %rd2, table; mad.wide.u32 %rd2, %r2, 4, %rd2; ld.const.b32 %r3, [%rd2];
  ld.global.b32 %r4, [bytes];
  mov.u64 %rd3, depot; cvta.local.u64 %rd4, %rd3;
  st.local.b32 [depot+4], %r3; st.b32 [%rd4+8], %r1; ld.b32 %r5, [%rd4+4]; ld.local.b32 %r6, [%rd3+8];
  mad.wide.u32 %rd1, %r1, 16, %rd1; st.global.v4.b32 [%rd1], {{%r3, %r4, %r5, %r6}}; ret;
}}"""
    out = np.zeros((40, 4), dtype=np.uint32)
    launch(text, [out], block=40, outputs={0})
    for t in range(40):
        assert out[t].tolist() == [10 * (t % 4 + 1), 0x04030201, 10 * (t % 4 + 1), t]


def test_generic_addresses_of_both_spaces() -> None:
    """Half of the warp reads shared memory, the other half global memory, in one instruction."""
    x, out = np.arange(32, dtype=np.uint32) + 500, np.zeros((32, 3), dtype=np.uint32)
    body = """ld.param.u64 %rd2, [p1]; mul.wide.u32 %rd3, %r1, 4; mov.u64 %rd4, buf; cvta.shared.u64 %rd5, %rd4;
      add.s64 %rd6, %rd5, %rd3; st.b32 [%rd6], %r1; cvta.to.shared.u64 %rd8, %rd6; ld.shared.b32 %r9, [%rd8];
      cvta.to.global.u64 %rd1, %rd1; add.s64 %rd7, %rd1, %rd3;
      setp.lt.u32 %p1, %r1, 16; selp.b64 %rd6, %rd6, %rd7, %p1; ld.b32 %r2, [%rd6];
      isspacep.shared %p2, %rd6; selp.b32 %r3, 1, 0, %p2; mad.wide.u32 %rd2, %r1, 12, %rd2;
      st.global.b32 [%rd2], %r2; st.global.b32 [%rd2+4], %r3; st.global.b32 [%rd2+8], %r9; ret;"""
    launch(kernel(body, ".param .u64 p0, .param .u64 p1", ".shared .align 4 .b8 buf[128];"), [x, out], outputs={1})
    assert out[:, 0].tolist() == [*range(16), *range(516, 532)]
    assert out[:, 1].tolist() == [1] * 16 + [0] * 16 and out[:, 2].tolist() == list(range(32))


def test_dynamic_shared_memory() -> None:
    out = np.zeros(64, dtype=np.uint32)
    body = """mov.u64 %rd2, smem; mad.wide.u32 %rd3, %r1, 4, %rd2; st.shared.b32 [%rd3], %r1; bar.sync 0;
      sub.u32 %r2, 63, %r1; mad.wide.u32 %rd3, %r2, 4, %rd2; ld.shared.b32 %r3, [%rd3];
      mad.wide.u32 %rd1, %r1, 4, %rd1; st.global.b32 [%rd1], %r3; ret;"""
    text = kernel(body, shared=".extern .shared .align 16 .b8 smem[];")
    launch(text, [out], block=64, shared_bytes=256, outputs={0})
    assert out.tolist() == list(range(63, -1, -1))


def test_views_and_odd_sizes_are_written_back() -> None:
    base = np.zeros((32, 3), dtype=np.uint16)
    column = base[:, 1]
    body = "cvt.u16.u32 %h1, %r1; mad.wide.u32 %rd1, %r1, 2, %rd1; st.global.b16 [%rd1], %h1; ret;"
    launch(kernel(body), [column], outputs={0})
    assert base[:, 1].tolist() == list(range(32)) and not base[:, ::2].any()
    odd = np.zeros(33, dtype=np.uint16)
    launch(kernel(body), [odd], block=33, outputs={0})
    assert odd.tolist() == list(range(33))


@pytest.mark.parametrize(
    ("args", "options", "what"),
    [
        ([], {}, "1 parameters, 0 arguments"),
        ([3.5], {}, "no integer"),
        ([np.zeros(1)], {"grid": 0}, "positive extents"),
        ([np.zeros(1)], {"block": 2048}, "limits"),
        ([np.zeros(1)], {"outputs": {1}}, "not array arguments"),
        ([np.zeros(1)], {"shared_bytes": 1 << 20}, "more than the 232448 of sm_90"),
        ([np.zeros(1, dtype=object)], {}, "Python objects"),
        ([np.zeros(1)], {"shared_bytes": -1}, "is a number of bytes, not -1"),
        ([np.zeros(1)], {"shared_bytes": "48K"}, "is a number of bytes, not '48K'"),
        ([b"abc"], {}, "takes 8 bytes"),
        (["text"], {}, "cannot be a str"),
        ([2**64], {}, "does not fit"),
        ([np.zeros(1)], {"outputs": {"p0"}}, r"outputs \['p0'\] are not array arguments; these are \[0\]"),
        ([np.zeros(1)], {"checks": "all"}, r"checks are a Checks, as in Checks\(\) or Checks.none\(\), not 'all'"),
    ],
)
def test_launches_that_do_not_fit(args: list[object], options: dict[str, object], what: str) -> None:
    with pytest.raises(LaunchError, match=what):
        launch(kernel("ret;"), args, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(("kind", "number"), [("f32", 1e39), ("f32", 10**400), ("b32", -1e39), ("f64", 10**400)])
@pytest.mark.filterwarnings("error")
def test_floating_numbers_that_do_not_fit(kind: str, number: float) -> None:
    handle = Module.load(kernel("ret;", f".param .{kind} x")).kernel("k")
    with pytest.raises(LaunchError, match=r"argument 0 \('x'\): .* does not fit f(32|64)$"):
        handle.run(grid=(1,), block=(1,), args=[number])
    for fits in (3.0, float("inf"), float("nan")):
        handle.run(grid=(1,), block=(1,), args=[fits])


@pytest.mark.parametrize("kind", ["u32", "f32", "f64"])
def test_an_array_for_a_number_is_told(kind: str) -> None:
    handle = Module.load(kernel("ret;", f".param .{kind} x")).kernel("k")
    with pytest.raises(
        LaunchError, match=rf"argument 0 \('x'\) is a {kind}, not a pointer; give a number, as in x.item"
    ):
        handle.run(grid=(1,), block=(1,), args=[np.array(3)])


@pytest.mark.parametrize("extent", ["ab", "12", "", 64, 1.5, (1.5,), ("2",), None, (), (1, 1, 1, 1), (-1,), (4, 0)])
def test_grids_and_blocks_that_are_none(extent: object) -> None:
    handle = Module.load(kernel("ret;")).kernel("k")
    with pytest.raises(LaunchError, match="the grid needs one to three positive extents"):
        handle.run(grid=extent, block=(32,), args=[np.zeros(1)])  # type: ignore[arg-type]
    with pytest.raises(LaunchError, match="the block needs one to three positive extents"):
        handle.run(grid=(1,), block=extent, args=[np.zeros(1)])  # type: ignore[arg-type]


def test_grids_that_are_too_large() -> None:
    handle = Module.load(kernel("ret;")).kernel("k")
    for grid, what in [
        ((2**31,), "exceeds the limits"),
        ((1, 65536), "exceeds the limits"),
        ((2**20, 2**11), "more than the"),
    ]:
        with pytest.raises(LaunchError, match=what):
            handle.run(grid=grid, block=(32,), args=[np.zeros(1)])


def test_shared_memory_limits_of_the_target() -> None:
    small = kernel("ret;").replace("sm_90", "sm_80")
    launch(small, [np.zeros(1)], shared_bytes=163 << 10)
    with pytest.raises(LaunchError, match="more than the 166912 of sm_80"):
        launch(small, [np.zeros(1)], shared_bytes=(163 << 10) + 1)
    with pytest.raises(LaunchError, match="use dynamic shared memory"):
        launch(kernel("ret;", shared=".shared .b8 big[49153];"), [np.zeros(1)])


def test_names_of_dynamic_shared_memory_are_one_place() -> None:
    out = np.zeros(32, dtype=np.uint32)
    body = """mov.u64 %rd2, one; mov.u64 %rd3, two; sub.s64 %rd4, %rd2, %rd3; cvt.u32.u64 %r2, %rd4;
      mad.wide.u32 %rd1, %r1, 4, %rd1;
      st.global.b32 [%rd1], %r2; ret;"""
    shared = ".shared .b8 x[20]; .extern .shared .align 4 .b8 one[]; .extern .shared .align 128 .b8 two[];"
    launch(kernel(body, shared=shared), [out], shared_bytes=64, outputs={0})
    assert not out.any()


def test_unknown_kernel_is_named() -> None:
    with pytest.raises(LaunchError, match="no kernel 'x'"):
        Module.load(kernel("ret;")).kernel("x")


def test_a_32_bit_address_and_its_offset_wrap_around_together() -> None:
    """Compilers index downwards from a variable: the register goes below zero, the offset brings it back."""
    body = """mov.u32 %r2, buf; shl.b32 %r3, %r1, 2; sub.u32 %r4, %r2, %r3; sub.u32 %r4, %r4, 256;
      st.shared.u32 [%r4+380], %r1; bar.sync 0; add.u32 %r5, %r2, %r3; sub.u32 %r5, %r5, 64; ld.shared.u32 %r6, [%r5+64];
      bar.sync 0; atom.shared.add.u32 %r7, [%r4+380], 100;
      mad.wide.u32 %rd1, %r1, 8, %rd1; st.global.v2.u32 [%rd1], {%r6, %r7}; ret;"""
    out = np.zeros((32, 2), np.uint32)
    launch(kernel(body, shared=".shared .align 16 .b8 buf[128];"), [out], outputs={0})
    assert out.tolist() == [[31 - t, t] for t in range(32)]
