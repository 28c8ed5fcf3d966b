"""Element types: the graph model's names and the IR's types."""

from __future__ import annotations

from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float32Type, Float64Type, IntegerType, TensorType
from xdsl.ir import Attribute

from prism_mlir.dialects.sgraph.types import element_type_of
from prism_mlir.graph.dtypes import DType
from prism_mlir.graph.ops import Shape

_TYPE_OF: dict[DType, Attribute] = {
    DType.F16: Float16Type(),
    DType.BF16: BFloat16Type(),
    DType.F32: Float32Type(),
    DType.F64: Float64Type(),
    DType.I1: IntegerType(1),
    DType.I8: IntegerType(8),
    DType.I32: IntegerType(32),
    DType.I64: IntegerType(64),
}
_DTYPE_OF = {attribute: dtype for dtype, attribute in _TYPE_OF.items()}


def to_element_type(dtype: DType) -> Attribute:
    """The builtin type of an element type of the graph model."""
    return _TYPE_OF[dtype]


def to_dtype(element_type: Attribute) -> DType:
    """The inverse of :func:`to_element_type`."""
    return _DTYPE_OF[element_type]


def dtype_of(type_: Attribute) -> DType:
    """The element type of a tensor or tile type. Raises xDSL's ``VerifyException`` for any other type."""
    return _DTYPE_OF[element_type_of(type_)]


def tensor_type(shape: Shape, dtype: DType) -> TensorType[Attribute]:
    """The builtin type of a whole tensor."""
    return TensorType(to_element_type(dtype), shape)
