"""Small PTX kernels for the tests: one instruction between loads and a store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from prism_mlir.runtime.ptx import Checks, Module, RunResult

HEADER = ".version 8.1\n.target sm_90\n.address_size 64\n"
NUMPY = {
    "pred": np.uint32,
    **{f"{k}{n}": np.dtype(f"{'i' if k == 's' else 'u'}{n // 8}").type for k in "bus" for n in (8, 16, 32, 64)},
    "f16": np.float16,
    "f32": np.float32,
    "f64": np.float64,
    "bf16": np.uint16,
    "f16x2": np.uint32,
    "bf16x2": np.uint32,
}
BITS = {np.dtype(t).itemsize * 8 for t in NUMPY.values()}


def width(kind: str) -> int:
    return int(np.dtype(NUMPY[kind]).itemsize * 8)


def run_op(
    code: str, sources: Sequence[tuple[str, npt.NDArray[Any]]], out: str, declare: str = "", compiled: bool = True
) -> npt.NDArray[Any]:
    """Run ``code`` once an element: it reads %a, %b, %c (of the types of ``sources``) and writes %d (of type ``out``).

    Both engines run it and must agree to the bit (all NaN count as one), unless the instruction is not ``compiled``.
    Elements are repeated to fill whole warps, so that none diverges.
    """
    count = len(sources[0][1])
    n = -(-count // 32) * 32
    sources = [(kind, np.resize(np.ascontiguousarray(v, dtype=NUMPY[kind]), n)) for kind, v in sources]
    lines, params, args = [], [], []
    for name, (kind, values) in zip("abc", sources, strict=False):
        bits = width(kind)
        array = np.ascontiguousarray(values, dtype=NUMPY[kind])
        assert len(array) == n
        params.append(f".param .u64 p_{name}")
        args.append(array)
        register = max(bits, 16)
        if kind == "pred":
            lines.append(f".reg .b32 %i{name}; .reg .pred %{name};")
        else:
            lines.append(f".reg .b{register} %{name};")
        target = f"%i{name}" if kind == "pred" else f"%{name}"
        lines.append(f"ld.param.u64 %rd1, [p_{name}]; mad.wide.u32 %rd1, %r1, {bits // 8}, %rd1;")
        lines.append(f"ld.global.b{bits} {target}, [%rd1];")
        if kind == "pred":
            lines.append(f"setp.ne.u32 %{name}, %i{name}, 0;")
    bits = width(out)
    result = np.zeros(n, dtype=NUMPY[out])
    params.append(".param .u64 p_d")
    store = "%d"
    if out == "pred":
        lines.append(".reg .pred %d; .reg .b32 %id;")
        store = "%id"
    else:
        lines.append(f".reg .b{max(bits, 16)} %d;")
    text = f"""{HEADER}
.visible .entry k({", ".join(params)}, .param .u32 n) {{
  .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<9>;
  {declare}
  mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;
  mad.lo.s32 %r1, %r2, %r3, %r4;
  ld.param.u32 %r5, [n];
  setp.ge.u32 %p1, %r1, %r5;
  @%p1 bra DONE;
  {" ".join(lines)}
  {code}
  {"selp.b32 %id, 1, 0, %d;" if out == "pred" else ""}
  ld.param.u64 %rd2, [p_d]; mad.wide.u32 %rd2, %r1, {bits // 8}, %rd2;
  st.global.b{bits} [%rd2], {store};
DONE:
  ret;
}}
"""
    kernel = Module.load(text, "op.ptx").kernel("k")
    shape: dict[str, Any] = {"grid": (-(-n // 128),), "block": (128,)}
    kernel.run(**shape, args=[*args, result, n], outputs={len(args)})
    again = np.zeros_like(result)
    second = kernel.run(**shape, args=[*args, again, n], engine="fast", checks=Checks.none())
    assert second.engine == "fast" or not compiled, second.fallback_reason
    same_bits(again, result)
    return result[:count]


def same_bits(got: npt.NDArray[Any], expected: npt.NDArray[Any]) -> None:
    """Equal to the bit, where all NaN are one."""
    differs = got.view(f"u{got.itemsize}") != expected.view(f"u{got.itemsize}")
    if got.dtype.kind == "f":
        differs &= ~(np.isnan(got) & np.isnan(expected))
    assert not differs.any(), (got[differs][:5], expected[differs][:5], np.flatnonzero(differs)[:5])


def kernel(body: str, params: str = ".param .u64 p0", shared: str = "") -> str:
    """A module with one kernel ``k``; %r1 holds %tid.x and %rd1 the first parameter."""
    return f"""{HEADER}
{shared}
.visible .entry k({params})
{{
  .reg .b16 %h<20>;
  .reg .b32 %r<40>;
  .reg .b64 %rd<20>;
  .reg .f32 %f<20>;
  .reg .pred %p<9>;
  mov.u32 %r1, %tid.x;
  {"ld.param.u64 %rd1, [p0];" if "p0" in params else ""}
  {body}
}}
"""


def launch(text: str, args: list[Any], block: int = 32, grid: int = 1, **options: Any) -> RunResult:
    """Load ``text`` and run kernel ``k``."""
    return Module.load(text, "k.ptx").kernel("k").run(grid=(grid,), block=(block,), args=args, **options)
