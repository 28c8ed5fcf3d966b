"""Tile types: what a block holds of a tensor, with every size still a symbol (paper, section 2, "symbolic tensor shapes").

A dim of a tile is spelled as in the paper:

================== =================================================================================================
``4096``           whole: no parallel dim cuts it
``4096/sigma(X,0)`` mapping variables not chosen yet; cut as dim 0 of loaded tensor ``X`` is
``4096/(x*i)``     mapping chosen: cut along grid dim ``x`` and along the loop ``i``, whatever their sizes are
================== =================================================================================================
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import (
    ArrayAttr,
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IntegerType,
    TensorType,
)
from xdsl.ir import Attribute, Data, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition, param_def
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

Shape = tuple[int, ...]

ELEMENT_BYTES: dict[Attribute, int] = {
    Float16Type(): 2,
    BFloat16Type(): 2,
    Float32Type(): 4,
    Float64Type(): 8,
    IntegerType(1): 1,
    IntegerType(8): 1,
    IntegerType(32): 4,
    IntegerType(64): 8,
}
"""What tensors and tiles can hold, and the bytes an element takes."""

_FIRST = ("x", "y", "z")  # grid dims are listed before other parallel dims


def check_element_type(element_type: Attribute) -> None:
    """Raise :class:`VerifyException` for an element type that no tensor here can have."""
    if element_type not in ELEMENT_BYTES:
        raise VerifyException(f"element type {element_type} is not one of {', '.join(map(str, ELEMENT_BYTES))}")


@dataclass(frozen=True, slots=True)
class TileDim:
    """One dim of a tile.

    size:   elements of the whole tensor's dim
    tensor: loaded tensor whose dim ``dim`` is cut alike; ``None`` where nothing is symbolic
    parts:  parallel dims that cut it, in canonical order; empty where it is whole
    """

    size: int
    tensor: str | None = None
    dim: int = 0
    parts: tuple[str, ...] = ()

    @staticmethod
    def symbolic(size: int, tensor: str, dim: int) -> TileDim:
        """``size/sigma(tensor,dim)``; a dim of size 1 cannot be cut and is whole."""
        return TileDim(size) if size == 1 else TileDim(size, tensor, dim)

    @staticmethod
    def cut(size: int, parts: Iterable[str]) -> TileDim:
        """``size/(p*q*...)`` in canonical order: grid names first, then others by name."""
        return TileDim(size, parts=canonical_parts(parts))


def canonical_parts(parts: Iterable[str]) -> tuple[str, ...]:
    """Names of parallel dims in the order in which types list them."""
    return tuple(sorted(set(parts), key=lambda p: (p not in _FIRST, p)))


@irdl_attr_definition
class TileDimAttr(Data[TileDim]):
    """``#sgraph.dim<4096/sigma(X,0)>``: one dim of a tile type."""

    name = "sgraph.dim"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> TileDim:
        with parser.in_angle_brackets():
            return parse_tile_dim(parser)

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            print_tile_dim(printer, self.data)


@irdl_attr_definition
class TileType(ParametrizedAttribute, TypeAttribute):
    """A tile of a tensor: what one block holds of it, in one iteration of the loop.

    ```mlir
    !sgraph.tile<[4096/sigma(X,0), 4096/sigma(X,1)] x f16>
    !sgraph.tile<[4096/x, 128] x f16>
    ```
    """

    name = "sgraph.tile"

    dims: ArrayAttr[TileDimAttr] = param_def()
    element_type: Attribute = param_def()

    def __init__(self, dims: Sequence[TileDim], element_type: Attribute) -> None:
        super().__init__(ArrayAttr([TileDimAttr(d) for d in dims]), element_type)

    @property
    def tile_dims(self) -> tuple[TileDim, ...]:
        return tuple(d.data for d in self.dims)

    @property
    def shape(self) -> Shape:
        """The shape of the whole tensor, that is, of the tile when every parallel size is 1."""
        return tuple(d.data.size for d in self.dims)

    def verify(self) -> None:
        check_element_type(self.element_type)
        for dim in self.tile_dims:
            if dim.size < 1:
                raise VerifyException(f"a tile's dim has size {dim.size}, it must be positive")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            dims = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: parse_tile_dim(parser))
            parser.parse_characters("x", " before the element type")
            position = parser.pos
            element_type = parser.parse_type()
            try:
                check_element_type(element_type)
            except VerifyException as error:
                parser.raise_error(str(error), position, position + 1)
        return (ArrayAttr([TileDimAttr(d) for d in dims]), element_type)

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            with printer.in_square_brackets():
                printer.print_list(self.tile_dims, lambda d: print_tile_dim(printer, d))
            printer.print_string(" x ")
            printer.print_attribute(self.element_type)


def parse_tile_dim(parser: AttrParser) -> TileDim:
    """Read one dim, see the module's table."""
    position = parser.pos
    size = parser.parse_integer(allow_boolean=False, allow_negative=False, context_msg=" for the size of a tile's dim")
    if size < 1:
        parser.raise_error("a tile's dim has size 0, it must be positive", position, position + 1)
    if parser.parse_optional_characters("/") is None:
        return TileDim(size)
    if parser.parse_optional_characters("(") is not None:
        parts = [parser.parse_identifier(context_msg=" for a parallel dim")]
        while parser.parse_optional_characters("*") is not None:
            parts.append(parser.parse_identifier(context_msg=" for a parallel dim"))
        parser.parse_characters(")", " after the parallel dims")
        return TileDim.cut(size, parts)
    name = parser.parse_identifier(context_msg=": sigma(T,d) or a parallel dim")
    if name != "sigma" or parser.parse_optional_characters("(") is None:
        return TileDim.cut(size, (name,))
    tensor, dim = parse_tensor_dim(parser)
    return TileDim(size, tensor, dim)


def parse_tensor_dim(parser: AttrParser) -> tuple[str, int]:
    """Read ``X,0)``, the rest of ``sigma(X,0)``."""
    tensor = parser.parse_identifier_or_str_literal(" for a tensor's name")
    parser.parse_characters(",", " between tensor and dim")
    dim = parser.parse_integer(allow_boolean=False, allow_negative=False, context_msg=" for a dim")
    parser.parse_characters(")", " after sigma(T,d")
    return tensor, dim


def print_tile_dim(printer: Printer, dim: TileDim) -> None:
    """Write one dim as :func:`parse_tile_dim` reads it."""
    printer.print_string(str(dim.size))
    if dim.tensor is not None:
        printer.print_string("/sigma(")
        printer.print_identifier_or_string_literal(dim.tensor)
        printer.print_string(f",{dim.dim})")
    elif len(dim.parts) == 1:
        printer.print_string(f"/{dim.parts[0]}")
    elif dim.parts:
        printer.print_string(f"/({'*'.join(dim.parts)})")


def shape_of(type_: Attribute) -> Shape:
    """The whole tensor's shape, of a tensor or tile type. Raises :class:`VerifyException` for any other type."""
    if isinstance(type_, TileType):
        return type_.shape
    if isinstance(type_, TensorType):
        shape = type_.get_shape()
        if any(size < 0 for size in shape):
            raise VerifyException(f"{type_} has a dim without a size; sgraph needs every size")
        return tuple(shape)
    raise VerifyException(f"{type_} is neither a tensor nor a tile")


def element_type_of(type_: Attribute) -> Attribute:
    """The element type of a tensor or tile type. Raises :class:`VerifyException` for any other type."""
    if not isinstance(type_, TileType | TensorType):
        raise VerifyException(f"{type_} is neither a tensor nor a tile")
    element_type: Attribute = type_.element_type
    check_element_type(element_type)
    return element_type


def row_major(shape: Shape) -> Shape:
    """Strides, in elements, of a contiguous tensor."""
    return tuple(prod(shape[d + 1 :]) for d in range(len(shape)))
