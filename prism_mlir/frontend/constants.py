"""Constants of a module: numbers, splats, arrays, and the resources at the end of a file."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from prism_mlir.frontend.function_dims import static_shape
from prism_mlir.frontend.scalar_body import Const, Unknown, dtype_of
from prism_mlir.graph.errors import Location

_RESOURCE_NAME = re.compile(r'^dense_resource<("?)([^">]+)\1>')
_RESOURCES = re.compile(r'^\s*(?:"([^"]+)"|([^\s":]+)): "0x([0-9A-Fa-f]*)"', re.MULTILINE)
_ALIGNMENT_BYTES = 4  # a resource blob starts with its alignment


def constant_value(op: Any, resources: dict[str, bytes], location: Location) -> Const | bytes | Unknown:
    """The value of an ``arith.constant``: a number (also for a splat), row-major bytes, or why neither."""
    from mlir import ir

    attribute = op.attributes["value"]
    shape = static_shape(op.results[0].type)
    if isinstance(attribute, ir.DenseElementsAttr):
        if attribute.is_splat:
            attribute = attribute.get_splat_value()
        else:
            return _array(attribute, location)
    if isinstance(attribute, ir.FloatAttr | ir.IntegerAttr | ir.BoolAttr):
        value = float(attribute.value)
        return Unknown("a NaN constant", location) if math.isnan(value) else Const(value)
    return _resource(str(attribute), shape, op, resources, location)


def _array(attribute: Any, location: Location) -> bytes | Unknown:
    try:
        return np.ascontiguousarray(np.array(attribute)).tobytes()
    except TypeError:
        return Unknown(f"a constant array of {attribute.type}", location, "pass it as an argument")


def _resource(
    text: str, shape: tuple[int, ...] | None, op: Any, resources: dict[str, bytes], location: Location
) -> bytes | Unknown:
    name = _RESOURCE_NAME.match(text)
    if name is None or shape is None:
        return Unknown("this arith.constant", location, "pass it as an argument")
    element = dtype_of(op.results[0].type.element_type)
    if element is None:
        return Unknown(f"a constant array of {op.results[0].type.element_type}", location, "pass it as an argument")
    data = resources.get(name.group(2))
    if data is None:
        return Unknown(f"resource {name.group(2)} is not in the file", location, "add it, or pass it as an argument")
    expected = math.prod(shape) * element.bytes
    if len(data) != expected:
        what = f"resource {name.group(2)} has {len(data)} bytes where {expected} are needed"
        return Unknown(what, location, "correct it")
    return data


def read_resources(module_text: str) -> dict[str, bytes]:
    """Blobs of the ``dialect_resources`` section of a printed module, by name, without their alignment."""
    start = module_text.rfind("{-#")
    if start < 0:
        return {}
    return {
        quoted or plain: bytes.fromhex(digits)[_ALIGNMENT_BYTES:]
        for quoted, plain, digits in _RESOURCES.findall(module_text[start:])
        if len(digits) % 2 == 0
    }
