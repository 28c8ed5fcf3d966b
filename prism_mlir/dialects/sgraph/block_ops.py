"""What exists inside a block graph only: loads, accumulators, saves, and thread graphs."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import StringAttr, TensorType
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import HasParent, IsolatedFromAbove, NoTerminator

from prism_mlir.dialects.sgraph.attributes import MapAttr, Relation, optional_clause, parse_map, print_map
from prism_mlir.dialects.sgraph.bindings import parse_bindings, parse_result_types, print_bindings, print_result_types
from prism_mlir.dialects.sgraph.graph_ops import CustomOp, YieldOp
from prism_mlir.dialects.sgraph.operator_ops import BinaryOperatorOp, ConstantOp, KeepOp, MatmulOp, UnaryOp
from prism_mlir.dialects.sgraph.refuse import refuse
from prism_mlir.dialects.sgraph.types import TileType, shape_of

MONOIDS = ("sum", "max", "min")
"""How an accumulator combines tiles: the rows of the graph model's table of the same name."""


@irdl_op_definition
class LoadOp(IRDLOperation):
    """Brings a tile of a kernel tensor in, through an imap over the grid and an fmap over the loop.

    ``as`` names the tensor in mapping variables. A load without fmap is *invariant*: it happens once, before the loop;
    with an empty fmap every iteration loads the same tile.

    ```mlir
    %0 = sgraph.load %x as X imap m fmap m
      : tensor<16x8xf16> -> !sgraph.tile<[16/sigma(X,0), 8/sigma(X,1)] x f16>
    %1 = sgraph.load %w as W imap {x -> 0} : tensor<16x8xf16> -> !sgraph.tile<[16/x, 8] x f16>
    ```
    """

    name = "sgraph.load"

    source = operand_def(TensorType)
    tile = result_def(TileType)
    tensor = prop_def(StringAttr)
    imap = prop_def(MapAttr)
    fmap = opt_prop_def(MapAttr)

    traits = traits_def(HasParent(CustomOp))

    def __init__(
        self,
        source: SSAValue,
        tensor: str,
        imap: Relation | None,
        tile_type: TileType,
        *,
        fmap: MapAttr | None = None,
    ) -> None:
        super().__init__(
            operands=[source],
            result_types=[tile_type],
            properties={"tensor": StringAttr(tensor), "imap": MapAttr(imap), "fmap": fmap},
        )

    @property
    def invariant(self) -> bool:
        return self.fmap is None

    @classmethod
    def parse(cls, parser: Parser) -> LoadOp:
        operand = parser.parse_unresolved_operand()
        parser.parse_keyword("as", " and the tensor's name in mapping variables")
        tensor = parser.parse_identifier_or_str_literal(" for the tensor's name")
        parser.parse_keyword("imap", " and how the grid partitions the tensor")
        imap = parse_map(parser)
        fmap = optional_clause(parser, "fmap", lambda p: MapAttr(parse_map(p)))
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":", " before the types")
        source = parser.resolve_operand(operand, parser.parse_type())
        parser.parse_punctuation("->", " before the tile's type")
        position = parser.pos
        tile_type = parser.parse_type()
        if not isinstance(tile_type, TileType):
            parser.raise_error("a load gives a !sgraph.tile", position, position + 1)
        op = cls(source, tensor, imap, tile_type, fmap=fmap)
        op.attributes = attributes
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.source)
        printer.print_string(" as ")
        printer.print_identifier_or_string_literal(self.tensor)
        printer.print_string(" imap ")
        print_map(printer, self.imap.data)
        if self.fmap is not None:
            printer.print_string(" fmap ")
            print_map(printer, self.fmap.data)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.source.type)
        printer.print_string(" -> ")
        printer.print_attribute(self.tile.type)

    def verify_(self) -> None:
        custom = self.parent_op()
        if not isinstance(custom, CustomOp):
            return
        if self.source.owner is not custom.body.block:
            refuse(self, "loads something else than an input of its block graph")
        if not self.tile.uses.get_length():
            refuse(self, f"loads {self.tensor.data} and nothing uses it; drop the loader")
        whole, have = shape_of(self.source.type), shape_of(self.tile.type)
        if whole != have:
            refuse(self, f"has a shape mismatch: its tensor is {list(whole)}, its type says {list(have)}")
        rank = len(whole)
        check_relation(self, f"imap of {self.tensor.data}", self.imap, custom.grid.names, rank)
        if self.fmap is None:
            return
        if custom.loop_name is None:
            refuse(
                self, f"has an fmap for {self.tensor.data} in a block graph without loop; declare one, or drop the fmap"
            )
        check_relation(self, f"fmap of {self.tensor.data}", self.fmap, (custom.loop_name,), rank)


def check_relation(op: Operation, what: str, attribute: MapAttr, declared: Sequence[str], rank: int) -> None:
    """Constraints (1) and (2) of the paper, and that a concrete map names what exists."""
    relation = attribute.data or ()
    custom = op.parent_op()
    for p, d in relation:
        if p not in declared:
            assert isinstance(custom, CustomOp)
            other = "the loop dim" if p == custom.loop_name else "a grid dim" if p in custom.grid.names else None
            if other is None:
                refuse(op, f"uses an undeclared symbol: {what} names {p}, declared are {', '.join(custom.sizes)}")
            refuse(op, f"{what} names {other} {p}; {_belongs(what)}")
        if d >= rank:
            refuse(op, f"{what} names data dim {d} of a tensor of rank {rank}")
    for p in declared:
        dims = [d for q, d in relation if q == p]
        if len(dims) > 1:
            listed = " and ".join(map(str, dims))
            refuse(op, f"violates constraint (1): in the {what}, {p} partitions dims {listed}; it may partition one")
    for d in range(rank):
        by = [p for p, e in relation if e == d]
        if len(by) > 1:
            listed = " and ".join(by)
            refuse(op, f"violates constraint (2): in the {what}, dim {d} is partitioned by {listed}; one grid dim may")


def _belongs(what: str) -> str:
    if what.startswith("omap"):
        return "an omap joins blocks of the grid, the loop ends in an accumulator"
    return "an imap is over the grid, an fmap is over the loop"


@irdl_op_definition
class AccumOp(IRDLOperation):
    """Combines a tile over the iterations of the loop, by sum or by max; the result exists after the loop.

    ```mlir
    %1 = sgraph.accum %0 : !sgraph.tile<[16/x, 1] x f16> -> !sgraph.tile<[16/x, 1] x f16>
    %2 = sgraph.accum %0 max : !sgraph.tile<[16/x, 1] x f16> -> !sgraph.tile<[16/x, 1] x f16>
    ```
    """

    name = "sgraph.accum"

    operand = operand_def(TileType)
    result = result_def(TileType)
    monoid = prop_def(StringAttr)

    traits = traits_def(HasParent(CustomOp))

    def __init__(self, operand: SSAValue, result_type: Attribute, monoid: str = "sum") -> None:
        super().__init__(operands=[operand], result_types=[result_type], properties={"monoid": StringAttr(monoid)})

    @classmethod
    def parse(cls, parser: Parser) -> AccumOp:
        operand = parser.parse_unresolved_operand()
        monoid = parser.parse_optional_keyword_in(tuple(MONOIDS)) or "sum"
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":", " before the types")
        value = parser.resolve_operand(operand, parser.parse_type())
        parser.parse_punctuation("->", " before the result's type")
        op = cls(value, parser.parse_type(), monoid)
        op.attributes = attributes
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.operand)
        if self.monoid.data != "sum":
            printer.print_string(f" {self.monoid.data}")
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.operand.type)
        printer.print_string(" -> ")
        printer.print_attribute(self.result.type)

    def verify_(self) -> None:
        if self.monoid.data not in MONOIDS:
            refuse(self, f"combines by '{self.monoid.data}'; known are {', '.join(MONOIDS)}")
        have, want = shape_of(self.result.type), shape_of(self.operand.type)
        if have != want:
            refuse(self, f"has a shape mismatch: it accumulates {list(want)}, its type says {list(have)}")


@irdl_op_definition
class SaveOp(IRDLOperation):
    """Stores a tile: the blocks' tiles are joined along the omap. The k-th save is the k-th result of ``sgraph.custom``.

    ```mlir
    sgraph.save %1 omap {x -> 0} : !sgraph.tile<[16/x, 1] x f16>
    ```
    """

    name = "sgraph.save"

    tile = operand_def(TileType)
    omap = prop_def(MapAttr)

    traits = traits_def(HasParent(CustomOp))

    def __init__(self, tile: SSAValue, omap: Relation | None) -> None:
        super().__init__(operands=[tile], properties={"omap": MapAttr(omap)})

    @classmethod
    def parse(cls, parser: Parser) -> SaveOp:
        operand = parser.parse_unresolved_operand()
        parser.parse_keyword("omap", " and how the blocks' tiles are joined")
        omap = parse_map(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":", " before the type")
        op = cls(parser.resolve_operand(operand, parser.parse_type()), omap)
        op.attributes = attributes
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.tile)
        printer.print_string(" omap ")
        print_map(printer, self.omap.data)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.tile.type)

    def verify_(self) -> None:
        custom = self.parent_op()
        if isinstance(custom, CustomOp):
            check_relation(self, "omap", self.omap, custom.grid.names, len(shape_of(self.tile.type)))


@irdl_op_definition
class ThreadOp(IRDLOperation):
    """A thread graph: a chain of elementwise operators that stays in registers, fused after search (paper, section 2).

    ```mlir
    %5 = sgraph.thread(%a = %3 : !sgraph.tile<[16/x, 8] x f16>) -> !sgraph.tile<[16/x, 8] x f16> {
      %4 = sgraph.unary %a "exp(x)" : !sgraph.tile<[16/x, 8] x f16> -> !sgraph.tile<[16/x, 8] x f16>
      sgraph.yield %4 : !sgraph.tile<[16/x, 8] x f16>
    }
    ```
    """

    name = "sgraph.thread"

    inputs = var_operand_def(TileType)
    outputs = var_result_def(TileType)
    body = region_def("single_block")

    traits = traits_def(IsolatedFromAbove(), NoTerminator(), HasParent(CustomOp))

    def __init__(self, inputs: Sequence[SSAValue], result_types: Sequence[Attribute], body: Region) -> None:
        super().__init__(operands=[inputs], result_types=[result_types], regions=[body])

    @classmethod
    def parse(cls, parser: Parser) -> ThreadOp:
        arguments, inputs = parse_bindings(parser)
        attributes = parser.parse_optional_attr_dict_with_keyword()
        result_types = parse_result_types(parser)
        op = cls(inputs, result_types, parser.parse_region(arguments))
        if attributes is not None:
            op.attributes = dict(attributes.data)
        return op

    def print(self, printer: Printer) -> None:
        print_bindings(printer, self.body.block, self.inputs)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        print_result_types(printer, self.result_types)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False, print_empty_block=False)

    def verify_(self) -> None:
        block = self.body.block
        if tuple(a.type for a in block.args) != tuple(self.operand_types):
            refuse(self, "passes tiles of other types than its region takes")
        for op in block.ops:
            if isinstance(op, MatmulOp) or not isinstance(
                op, UnaryOp | BinaryOperatorOp | KeepOp | ConstantOp | YieldOp
            ):
                refuse(op, "is not elementwise; a thread graph holds elementwise operators only")
        if not isinstance(block.last_op, YieldOp):
            refuse(self, "must end with sgraph.yield")
        if tuple(block.last_op.operand_types) != tuple(self.result_types):
            refuse(self, "has results of other types than its region yields")
