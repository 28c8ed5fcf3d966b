"""Small PTX kernels for the tests: some instructions between loads and stores."""

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
Sources = Sequence[tuple[str, npt.NDArray[Any]]]


def width(kind: str) -> int:
    return int(np.dtype(NUMPY[kind]).itemsize * 8)


def run_op(code: str, sources: Sources, out: str, declare: str = "", compiled: bool = True) -> npt.NDArray[Any]:
    """Run ``code`` once an element: it reads %a, %b, %c (of the types of ``sources``) and writes %d (of type ``out``)."""
    return run_ops([(code, out)], sources, declare, compiled)[0]


def run_ops(
    cases: Sequence[tuple[str, str]], sources: Sources, declare: str = "", compiled: bool = True
) -> list[npt.NDArray[Any]]:
    """Run several pieces of code on the same sources, in one kernel (compiling it is what takes the time).

    Each reads %a, %b, %c and writes %d, which is of the type that stands beside it. Both engines run the kernel and must
    agree to the bit (all NaN count as one), unless an instruction is not ``compiled``. Elements are repeated to fill whole warps.
    """
    count = len(sources[0][1])
    n = -(-count // 32) * 32
    arrays = [np.resize(np.ascontiguousarray(values, dtype=NUMPY[kind]), n) for kind, values in sources]
    results = [np.zeros(n, dtype=NUMPY[out]) for _, out in cases]
    params = [f".param .u64 p_{'abc'[i]}" for i in range(len(sources))] + [
        f".param .u64 p_{i}" for i in range(len(cases))
    ]
    lines = [_load(name, kind) for name, (kind, _) in zip("abc", sources, strict=False)]
    lines += [_store(code, out, f"p_{i}") for i, (code, out) in enumerate(cases)]
    text = f"""{HEADER}
.visible .entry k({", ".join(params)}) {{
  .reg .b32 %r<5>; .reg .b64 %rd<3>;
  {declare}
  mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;
  mad.lo.s32 %r1, %r2, %r3, %r4;
  {chr(10).join(lines)}
  ret;
}}
"""
    kernel = Module.load(text, "op.ptx").kernel("k")
    shape: dict[str, Any] = {"grid": (n // 32,), "block": (32,)}
    outputs = set(range(len(arrays), len(arrays) + len(results)))
    kernel.run(**shape, args=[*arrays, *results], outputs=outputs)
    again = [np.zeros_like(r) for r in results]
    second = kernel.run(**shape, args=[*arrays, *again], engine="fast", checks=Checks.none())
    assert second.engine == "fast" or not compiled, second.fallback_reason
    for (code, _), fast, reference in zip(cases, again, results, strict=True):
        same_bits(fast, reference, code)
    return [r[:count] for r in results]


def _load(name: str, kind: str) -> str:
    """Declare %a and load this thread's element of ``p_a``."""
    bits = width(kind)
    place = f"ld.param.u64 %rd1, [p_{name}]; mad.wide.u32 %rd1, %r1, {bits // 8}, %rd1;"
    if kind == "pred":
        load = f"ld.global.b32 %i{name}, [%rd1]; setp.ne.u32 %{name}, %i{name}, 0;"
        return f".reg .b32 %i{name}; .reg .pred %{name}; {place} {load}"
    return f".reg .b{max(bits, 16)} %{name}; {place} ld.global.b{bits} %{name}, [%rd1];"


def _store(code: str, kind: str, param: str) -> str:
    """``code`` in a scope with its own %d, which is then stored."""
    bits = width(kind)
    declare, store = f".reg .b{max(bits, 16)} %d;", "%d"
    if kind == "pred":
        declare, store = ".reg .pred %d; .reg .b32 %id;", "%id"
        code += " selp.b32 %id, 1, 0, %d;"
    place = f"ld.param.u64 %rd2, [{param}]; mad.wide.u32 %rd2, %r1, {bits // 8}, %rd2;"
    return f"{{ {declare} {code} {place} st.global.b{bits} [%rd2], {store}; }}"


def same_bits(got: npt.NDArray[Any], expected: npt.NDArray[Any], what: str = "") -> None:
    """Equal to the bit, where all NaN are one."""
    differs = got.view(f"u{got.itemsize}") != expected.view(f"u{got.itemsize}")
    if got.dtype.kind == "f":
        differs &= ~(np.isnan(got) & np.isnan(expected))
    assert not differs.any(), (what, got[differs][:5], expected[differs][:5], np.flatnonzero(differs)[:5])


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
