"""Triton to PTX for sm_80, on a machine without a GPU.

Triton's own pipeline runs up to the PTX; its last stage, which calls ptxas, is replaced by nothing. Example::

    from corpus.triton.catalogue import SPECS
    from corpus.triton.compile import compile_spec

    compiled = compile_spec(SPECS["vector_add-f32"])
    compiled.ptx, compiled.block, compiled.shared_bytes
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import triton
from triton import knobs
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.runtime.jit import JITFunction

from corpus.compiled import Compiled

TARGET = GPUTarget("cuda", 80, 32)
HIDDEN_POINTERS = 2  # Triton appends two scratch pointers to the parameters of every kernel


@dataclass(frozen=True)
class Spec:
    """One form of a kernel.

    Attributes:
        fn: the kernel.
        types: Triton's name of the type of each argument that stays an argument, in order: ``*fp16``, ``i32``, ``fp32`` …
        constants: values of the other arguments.
        aligned: arguments that are known to be multiples of 16 (as pointers: of 16 bytes); Triton vectorises by them.
        num_warps, num_stages: warps a block, and buffers of a software pipeline.
        contract: whether a*b+c may become one fma (Triton 3.10 will not do so unless told to).
    """

    fn: JITFunction[Any]
    types: Mapping[str, str]
    constants: Mapping[str, Any] = field(default_factory=dict)
    aligned: frozenset[str] = frozenset()
    num_warps: int = 4
    num_stages: int = 3
    contract: bool = True


def compile_spec(spec: Spec, line_info: bool = True) -> Compiled:
    """Compile one form of a kernel for sm_80.

    Args:
        spec: what to compile.
        line_info: whether the PTX names source lines (it then holds the path of the source file).

    Raises:
        ValueError: Triton asks for scratch memory in global memory, which the corpus does not allocate.
    """
    names = spec.fn.arg_names
    signature = {name: spec.types.get(name, "constexpr") for name in names}
    attributes = {(names.index(name),): [["tt.divisibility", 16]] for name in sorted(spec.aligned)}
    source = ASTSource(spec.fn, signature, dict(spec.constants), attributes)
    options = {"num_warps": spec.num_warps, "num_stages": spec.num_stages, "enable_fp_fusion": spec.contract}
    with _up_to_ptx(line_info):
        kernel = triton.compile(source, target=TARGET, options=options)
    meta = kernel.metadata
    if meta.global_scratch_size or meta.profile_scratch_size:
        raise ValueError(f"{meta.name}: Triton wants {meta.global_scratch_size} bytes of scratch memory")
    return Compiled(kernel.asm["ptx"], meta.name, (32 * meta.num_warps, 1, 1), meta.shared, HIDDEN_POINTERS)


@contextmanager
def _up_to_ptx(line_info: bool) -> Iterator[None]:
    """Compile without ptxas, and without a cache that outlives the call."""

    def hook(*stage_arguments: Any) -> tuple[str, str] | None:
        if not stage_arguments:  # asked for what tells the cache that the stages differ
            return "no-cubin", "no-cubin"
        stage_arguments[1]["cubin"] = lambda source, metadata: b""
        return None

    with tempfile.TemporaryDirectory() as folder, knobs.runtime.scope(), knobs.compilation.scope(), knobs.cache.scope():
        knobs.runtime.add_stages_inspection_hook = hook
        knobs.compilation.disable_line_info = not line_info
        knobs.cache.dir = os.fspath(folder)
        yield
