"""Operators: the rows of ``graph.ops.OPS`` as ops. The same op works on whole tensors (in programs and kernel graphs) and on
tiles (in block and thread graphs); its operands' types say which.

The bridge turns every op into its row of the table, so shape rules exist once, in the graph model.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence

from xdsl.dialects.builtin import DenseArrayBase, FloatAttr, IntegerAttr, StringAttr, f64, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure

from prism_mlir.dialects.sgraph.refuse import refuse
from prism_mlir.dialects.sgraph.types import Shape, TileType, shape_of

TILE_LEVELS = ("sgraph.custom", "sgraph.thread")
"""Ops whose region works on tiles; everywhere else operators work on whole tensors."""


class OperatorOp(IRDLOperation, ABC):
    """An operator with one result."""

    result = result_def(Attribute)

    @property
    def row(self) -> str:
        """The operator's row in the table: the op's name without the dialect's."""
        return self.name.removeprefix("sgraph.")

    @property
    def result_shape(self) -> Shape:
        return shape_of(self.result.type)

    def verify_(self) -> None:
        from prism_mlir.dialects.sgraph.bridge.operators import check_operator  # the bridge is built on this module

        _check_level(self)
        check_operator(self)


def _check_level(op: Operation) -> None:
    parent = op.parent_op()
    wants_tiles = parent is not None and parent.name in TILE_LEVELS
    for type_ in (*op.operand_types, *op.result_types):
        if isinstance(type_, TileType) and not wants_tiles:
            refuse(op, "works on a tile outside of a block graph; tiles exist only inside sgraph.custom")
        if wants_tiles and not isinstance(type_, TileType):
            refuse(op, "works on a whole tensor inside a block graph; load a tile of it first")


class BinaryOperatorOp(OperatorOp, ABC):
    """An operator with two operands and no attributes."""

    lhs = operand_def(Attribute)
    rhs = operand_def(Attribute)

    assembly_format = "$lhs `,` $rhs attr-dict `:` functional-type(operands, results)"

    def __init__(self, lhs: SSAValue | Operation, rhs: SSAValue | Operation, result_type: Attribute) -> None:
        super().__init__(operands=[lhs, rhs], result_types=[result_type])


@irdl_op_definition
class MatmulOp(BinaryOperatorOp):
    """Matrix product ``[.., m, k] x [.., k, n]`` with equal leading dims.

    ```mlir
    %2 = sgraph.matmul %0, %1 : (tensor<8x16xf16>, tensor<16x4xf16>) -> tensor<8x4xf16>
    ```
    """

    name = "sgraph.matmul"
    traits = traits_def(Pure())


@irdl_op_definition
class AddOp(BinaryOperatorOp):
    """Elementwise sum; dims of size 1 are broadcast.

    ```mlir
    %2 = sgraph.add %0, %1 : (tensor<8x16xf16>, tensor<8x1xf16>) -> tensor<8x16xf16>
    ```
    """

    name = "sgraph.add"
    traits = traits_def(Pure())


@irdl_op_definition
class SubOp(BinaryOperatorOp):
    """Elementwise difference; dims of size 1 are broadcast.

    ```mlir
    %2 = sgraph.sub %0, %1 : (tensor<8x16xf16>, tensor<8x1xf16>) -> tensor<8x16xf16>
    ```
    """

    name = "sgraph.sub"
    traits = traits_def(Pure())


@irdl_op_definition
class MulOp(BinaryOperatorOp):
    """Elementwise product; dims of size 1 are broadcast.

    ```mlir
    %2 = sgraph.mul %0, %1 : (tensor<8x16xf16>, tensor<8x1xf16>) -> tensor<8x16xf16>
    ```
    """

    name = "sgraph.mul"
    traits = traits_def(Pure())


@irdl_op_definition
class DivOp(BinaryOperatorOp):
    """Elementwise quotient; dims of size 1 are broadcast.

    ```mlir
    %2 = sgraph.div %0, %1 : (tensor<8x16xf16>, tensor<8x1xf16>) -> tensor<8x16xf16>
    ```
    """

    name = "sgraph.div"
    traits = traits_def(Pure())


@irdl_op_definition
class MaxOp(BinaryOperatorOp):
    """Elementwise maximum; dims of size 1 are broadcast.

    ```mlir
    %2 = sgraph.max %0, %1 : (tensor<8x16xf16>, tensor<8x16xf16>) -> tensor<8x16xf16>
    ```
    """

    name = "sgraph.max"
    traits = traits_def(Pure())


@irdl_op_definition
class MinOp(BinaryOperatorOp):
    """Elementwise minimum; dims of size 1 are broadcast.

    ```mlir
    %2 = sgraph.min %0, %1 : (tensor<8x16xf16>, tensor<8x16xf16>) -> tensor<8x16xf16>
    ```
    """

    name = "sgraph.min"
    traits = traits_def(Pure())


@irdl_op_definition
class UnaryOp(OperatorOp):
    """A scalar function of ``x`` applied to every element.

    ``shift`` (programs only) records that the source subtracted the maximum over that dim first, a shift that import
    proved to cancel; it is legal on an exponential.

    ```mlir
    %1 = sgraph.unary %0 "rsqrt(x/1024 + 1e-06)" : tensor<8x1xf16> -> tensor<8x1xf16>
    %2 = sgraph.unary %0 "exp(x)" shift 1 : tensor<8x16xf16> -> tensor<8x16xf16>
    ```
    """

    name = "sgraph.unary"

    operand = operand_def(Attribute)
    fn = prop_def(StringAttr)
    shift = opt_prop_def(IntegerAttr.constr(i64))

    traits = traits_def(Pure())
    assembly_format = "$operand $fn (`shift` $shift^)? attr-dict `:` type($operand) `->` type($result)"

    def __init__(
        self, operand: SSAValue | Operation, fn: str, result_type: Attribute, shift: int | None = None
    ) -> None:
        super().__init__(
            operands=[operand],
            result_types=[result_type],
            properties={"fn": StringAttr(fn), "shift": None if shift is None else IntegerAttr(shift, i64)},
        )

    def verify_(self) -> None:
        super().verify_()
        if self.shift is None:
            return
        if isinstance(self.result.type, TileType):
            refuse(self, "records a shift on a tile; a shift belongs to the program")
        if not 0 <= self.shift.value.data < len(self.result_shape):
            refuse(
                self, f"records a shift over dim {self.shift.value.data} of a tensor of rank {len(self.result_shape)}"
            )


class ReduceOperatorOp(OperatorOp, ABC):
    """An operator that reduces one dim and keeps it with size 1."""

    operand = operand_def(Attribute)
    dim = prop_def(IntegerAttr.constr(i64))

    assembly_format = "$operand `dim` $dim attr-dict `:` type($operand) `->` type($result)"

    def __init__(self, operand: SSAValue | Operation, dim: int, result_type: Attribute) -> None:
        super().__init__(operands=[operand], result_types=[result_type], properties={"dim": IntegerAttr(dim, i64)})


@irdl_op_definition
class SumOp(ReduceOperatorOp):
    """Sum over a dim, which stays with size 1.

    ```mlir
    %1 = sgraph.sum %0 dim 1 : tensor<8x16xf16> -> tensor<8x1xf16>
    ```
    """

    name = "sgraph.sum"
    traits = traits_def(Pure())


@irdl_op_definition
class ReduceMaxOp(ReduceOperatorOp):
    """Maximum over a dim, which stays with size 1.

    ```mlir
    %1 = sgraph.reduce_max %0 dim 1 : tensor<8x16xf16> -> tensor<8x1xf16>
    ```
    """

    name = "sgraph.reduce_max"
    traits = traits_def(Pure())


@irdl_op_definition
class ReduceMinOp(ReduceOperatorOp):
    """Minimum over a dim, which stays with size 1.

    ```mlir
    %1 = sgraph.reduce_min %0 dim 1 : tensor<8x16xf16> -> tensor<8x1xf16>
    ```
    """

    name = "sgraph.reduce_min"
    traits = traits_def(Pure())


@irdl_op_definition
class KeepOp(OperatorOp):
    """The second operand where the first, a mask, is not zero; the number after ``else`` elsewhere. Dims of size 1 are broadcast.

    ```mlir
    %2 = sgraph.keep %mask, %0 else 0xfff0000000000000 : f64 : (tensor<1x16xf16>, tensor<8x16xf16>) -> tensor<8x16xf16>
    ```
    """

    name = "sgraph.keep"

    mask = operand_def(Attribute)
    operand = operand_def(Attribute)
    otherwise = prop_def(FloatAttr)

    traits = traits_def(Pure())
    assembly_format = "$mask `,` $operand `else` $otherwise attr-dict `:` functional-type(operands, results)"

    def __init__(
        self, mask: SSAValue | Operation, operand: SSAValue | Operation, otherwise: float, result_type: Attribute
    ) -> None:
        super().__init__(
            operands=[mask, operand], result_types=[result_type], properties={"otherwise": FloatAttr(otherwise, f64)}
        )


@irdl_op_definition
class TransposeOp(OperatorOp):
    """Permutation of dims: result dim ``k`` is operand dim ``perm[k]``.

    ```mlir
    %1 = sgraph.transpose %0 perm [1, 0] : tensor<8x16xf16> -> tensor<16x8xf16>
    ```
    """

    name = "sgraph.transpose"

    operand = operand_def(Attribute)
    perm = prop_def(DenseArrayBase.constr(i64))

    traits = traits_def(Pure())
    assembly_format = "$operand `perm` $perm attr-dict `:` type($operand) `->` type($result)"

    def __init__(self, operand: SSAValue | Operation, perm: Sequence[int], result_type: Attribute) -> None:
        super().__init__(
            operands=[operand],
            result_types=[result_type],
            properties={"perm": DenseArrayBase.from_list(i64, list(perm))},
        )


@irdl_op_definition
class ReshapeOp(OperatorOp):
    """The same elements, in row-major order, under another shape, that of the result's type.

    ```mlir
    %1 = sgraph.reshape %0 : tensor<2x8x16xf16> -> tensor<16x16xf16>
    ```
    """

    name = "sgraph.reshape"

    operand = operand_def(Attribute)

    traits = traits_def(Pure())
    assembly_format = "$operand attr-dict `:` type($operand) `->` type($result)"

    def __init__(self, operand: SSAValue | Operation, result_type: Attribute) -> None:
        super().__init__(operands=[operand], result_types=[result_type])


@irdl_op_definition
class ConstantOp(OperatorOp):
    """One number everywhere.

    ```mlir
    %0 = sgraph.constant 5.000000e-01 : f64 : tensor<8x1xf16>
    ```
    """

    name = "sgraph.constant"

    value = prop_def(FloatAttr)

    traits = traits_def(Pure())
    assembly_format = "$value attr-dict `:` type($result)"

    def __init__(self, value: float, result_type: Attribute) -> None:
        super().__init__(result_types=[result_type], properties={"value": FloatAttr(value, f64)})


BINARY_OPS: dict[str, type[BinaryOperatorOp]] = {
    cls.name.removeprefix("sgraph."): cls for cls in (MatmulOp, AddOp, SubOp, MulOp, DivOp, MaxOp, MinOp)
}
REDUCE_OPS: dict[str, type[ReduceOperatorOp]] = {
    cls.name.removeprefix("sgraph."): cls for cls in (SumOp, ReduceMaxOp, ReduceMinOp)
}
OPERATOR_OPS: tuple[type[OperatorOp], ...] = (
    *BINARY_OPS.values(),
    *REDUCE_OPS.values(),
    UnaryOp,
    KeepOp,
    TransposeOp,
    ReshapeOp,
    ConstantOp,
)
