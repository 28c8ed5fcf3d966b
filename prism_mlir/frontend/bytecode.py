"""MLIR bytecode as text: what ``mlir-opt --emit-bytecode`` and ``jax.export`` write to a file.

Places of operations are those that the file names. Bytecode of StableHLO, and of the versioned dialect that is exchanged, is
read by jaxlib, everything else by upstream MLIR.
"""

from __future__ import annotations

from prism_mlir.frontend.stablehlo.text import DIALECTS, generic_text_of_bytecode
from prism_mlir.graph.errors import InputError, Location

MAGIC = b"ML\xefR"


def text_of(data: bytes, filename: str) -> str:
    """The module that bytecode holds, in generic form.

    Raises :class:`InputError` for bytes that are no module, :class:`~prism_mlir.graph.errors.MissingToolError` (located) where
    jaxlib is needed and missing.
    """
    from prism_mlir.frontend.probe import check_survives

    read = generic_text_of_bytecode if any(name.encode() in data for name in DIALECTS) else _upstream_text
    # A damaged file may end the parser; there is no line in it that could be named.
    check_survives(
        data.decode("latin-1"),
        filename,
        lambda _: read(data, filename),
        lambda _: None,
        kind=f"bytecode {read.__name__}",
    )
    return read(data, filename)


def _upstream_text(data: bytes, filename: str) -> str:
    from mlir import ir

    from prism_mlir.frontend.upstream import UpstreamModule, input_error, new_context

    try:
        module = ir.Module.parse(data, new_context()).operation
    except ir.MLIRError as error:
        found = input_error(error, filename)
        what = f"this is MLIR bytecode that cannot be read: {found.message}"
        raise InputError(what, Location(filename, 1, 1), "write it again") from None
    return UpstreamModule(module, filename).text
