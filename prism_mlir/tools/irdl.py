"""``python -m prism_mlir.tools.irdl``: the sgraph dialect for upstream MLIR, and IR in the form that upstream reads with it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from prism_mlir.graph.errors import InputError, PrismError


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point: every error is one line on standard error and exit code 1."""
    parser = argparse.ArgumentParser(prog="python -m prism_mlir.tools.irdl", description=__doc__)
    parser.add_argument(
        "what",
        choices=("dialect", "to-upstream", "from-upstream"),
        help="dialect: the IRDL file; to-upstream, from-upstream: put a file into that form, and back",
    )
    parser.add_argument("input", nargs="?", type=Path, help="MLIR file, for to-upstream and from-upstream")
    parser.add_argument("-o", "--output", type=Path, help="file to write; standard output if not given")
    options = parser.parse_args(arguments)
    try:
        text = _text(options.what, options.input)
        if options.output is None:
            sys.stdout.write(text)
        else:
            from prism_mlir.tools.files import write_atomically

            write_atomically(options.output, text)
    except PrismError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _text(what: str, path: Path | None) -> str:
    from prism_mlir.dialects.sgraph.irdl_file import dialect_irdl

    if what == "dialect":
        return dialect_irdl()
    if path is None:
        raise InputError(f"{what} needs a file", None, "name an .mlir file")
    from prism_mlir.frontend.upstream import read_text

    text = read_text(path)
    return to_upstream(text, str(path)) if what == "to-upstream" else from_upstream(text, str(path))


def to_upstream(text: str, filename: str) -> str:
    """A module in the form that ``mlir-opt --irdl-file`` reads. Raises located :class:`PrismError` for what is no module."""
    from prism_mlir.dialects.sgraph.irdl_file import portable_text
    from prism_mlir.dialects.sgraph.refuse import RefusedOp
    from prism_mlir.graph.errors import VerifyError
    from prism_mlir.passes.located import location_of, verify_module
    from prism_mlir.tools.module_reader import new_context, read_ir

    module = read_ir(text, filename, new_context())
    verify_module(module, filename)
    try:
        return portable_text(module)
    except RefusedOp as error:
        raise VerifyError(str(error), location_of(error.op)) from None


def from_upstream(text: str, filename: str) -> str:
    """What :func:`to_upstream` wrote, or upstream printed, in the dialect's own syntax. Raises located :class:`PrismError`."""
    from io import StringIO

    from xdsl.printer import Printer

    from prism_mlir.dialects.sgraph.irdl_file import from_portable, unquoted
    from prism_mlir.passes.located import verify_module
    from prism_mlir.tools.module_reader import new_context, read_ir

    module = read_ir(unquoted(text), filename, new_context())
    from_portable(module)
    verify_module(module, filename)
    stream = StringIO()
    Printer(stream).print_op(module)
    return stream.getvalue() + "\n"


if __name__ == "__main__":
    sys.exit(main())
