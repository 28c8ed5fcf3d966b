"""What may come out when damaged PTX is loaded and run: a ``PtxError`` that says where, soon, or nothing."""

from __future__ import annotations

import contextlib
import time
from typing import Any

import numpy as np

from prism_mlir.runtime.ptx import Checks, Module, PtxError, PtxSyntaxError

DEADLINE = 20.0  # seconds of processor time for a megabyte; it takes about three


def load(text: str) -> Module | None:
    """The module, or None where it is refused as it should be."""
    started = time.process_time()
    try:
        return Module.load(text)
    except PtxSyntaxError as error:
        lines = text.split("\n")
        place = error.location
        assert place is not None and 1 <= place.line <= len(lines), error
        assert 1 <= place.col <= len(lines[place.line - 1]) + 1, error
        assert len(str(error)) < 1000
        return None
    finally:
        assert time.process_time() - started < DEADLINE


def run(module: Module, engines: tuple[str, ...]) -> None:
    """Run every kernel for a while, with everything checked and with nothing checked."""
    for k in module.kernels.values():
        args: list[Any] = []
        for p in k.params:
            pointer = p.scalar.bits == 64 and p.scalar.kind != "f" and not p.is_array
            args.append(np.zeros(256, np.uint32) if pointer else bytes(p.size) if p.is_array else 1)
        block = k.decoded.kernel.required_block or (64,)
        for engine in engines:
            for checks in (Checks(), Checks.none()) if engine == "reference" else (Checks.none(),):
                with contextlib.suppress(PtxError):
                    k.run(grid=(2,), block=block, args=args, engine=engine, checks=checks, max_steps=200)
