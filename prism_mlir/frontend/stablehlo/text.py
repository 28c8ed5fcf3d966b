"""Recognise StableHLO text, and bring it into the generic form that upstream MLIR parses without knowing the dialect."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from prism_mlir.frontend.text_guard import STRING_OR_COMMENT
from prism_mlir.graph.errors import InputError, Location, MissingToolError

DIALECTS = ("stablehlo", "chlo", "vhlo")

_NAME = rf"(?:{'|'.join(DIALECTS)})\.\w++"
_GENERIC = re.compile(rf'"{_NAME}"\s*\(')
_OLD = re.compile(r'"vhlo\.\w+"\s*\(')
_STRING_OR_COMMENT = re.compile(STRING_OR_COMMENT)
_CUSTOM = re.compile(rf"(?<![\w#!@%^.$-]){_NAME}(?!\s*=)")
_PLACE = re.compile(r'"(?P<file>[^"]*)":(?P<line>\d+):(?P<column>\d+)')
_HINT = 'pip install "prism-mlir[jax]"'


def is_stablehlo(text: str) -> bool:
    """Whether a module has operations of StableHLO, in either syntax.

    >>> is_stablehlo('%1 = "stablehlo.add"(%0, %0) : (tensor<f32>, tensor<f32>) -> tensor<f32>')
    True
    >>> is_stablehlo('%1 = arith.addf %0, %0 : tensor<f32> // was stablehlo.add')
    False
    """
    return "hlo." in text and (_GENERIC.search(text) is not None or _has_custom(text))


def needs_jaxlib(text: str) -> bool:
    """Whether StableHLO text has custom syntax, or operations of the versioned dialect.

    >>> needs_jaxlib('%1 = stablehlo.add %0, %0 : tensor<f32>')
    True
    """
    return _has_custom(text) or _OLD.search(text) is not None


def _has_custom(text: str) -> bool:
    return _CUSTOM.search(_STRING_OR_COMMENT.sub("", text)) is not None


@lru_cache(maxsize=4)  # the pipeline reads a text more than once, and once for every set of dynamic sizes
def generic_text(text: str, filename: str) -> str:
    """The module in generic form with the places of its operations, printed by jaxlib. The versioned dialect becomes StableHLO.

    Raises :class:`InputError` at jaxlib's first diagnostic, :class:`MissingToolError` (located) where jaxlib is missing.
    """
    return _printed(text, filename, "StableHLO text in custom syntax needs jaxlib", old="vhlo." in text)


def generic_text_of_bytecode(data: bytes, filename: str) -> str:
    """See :func:`generic_text`: the module that bytecode holds."""
    return _printed(data, filename, "bytecode of StableHLO needs jaxlib", old=b"vhlo" in data)


def _printed(source: str | bytes, filename: str, without: str, *, old: bool) -> str:
    try:
        from jaxlib.mlir import ir, passmanager
        from jaxlib.mlir._mlir_libs import _jax_mlir_ext  # what jax itself makes its contexts with
        from jaxlib.mlir.dialects import chlo, stablehlo
    except ImportError:
        raise MissingToolError(without, Location(filename, 1, 1), _HINT) from None
    registry = ir.DialectRegistry()
    _jax_mlir_ext.register_dialects(registry)
    context = ir.Context()
    context.append_dialect_registry(registry)
    context.load_all_available_dialects()
    context.enable_multithreading(False)
    context.allow_unregistered_dialects = True
    stablehlo.register_dialect(context)
    chlo.register_dialect(context)
    try:
        module = ir.Module.parse(source, context)
        if old:
            stablehlo.register_stablehlo_passes()
            passmanager.PassManager.parse("builtin.module(vhlo-legalize-to-stablehlo)", context).run(module.operation)
    except ir.MLIRError as error:
        raise _input_error(error, filename) from None
    printed = str(module.operation.get_asm(print_generic_op_form=True, use_local_scope=True, enable_debug_info=True))
    return printed + _resources(module) if "dense_resource<" in printed else printed


def _resources(module: Any) -> str:
    """The section of resources, which is left out in local scope."""
    whole = str(module.operation.get_asm(print_generic_op_form=True))
    start = whole.rfind("{-#")
    return "\n" + whole[start:] if start >= 0 else ""


def _input_error(error: Any, filename: str) -> InputError:
    """jaxlib's first diagnostic; its locations can only be printed."""
    diagnostics = list(getattr(error, "error_diagnostics", ()))
    if not diagnostics:
        return InputError(str(error), Location(filename, 1, 1))
    first = diagnostics[0]
    found = _PLACE.search(str(first.location))
    place = Location(filename, 1, 1)
    if found is not None:
        name = found["file"] if found["file"] not in ("", "-") else filename
        place = Location(name, int(found["line"]), int(found["column"]))
    return InputError(first.message, place)
