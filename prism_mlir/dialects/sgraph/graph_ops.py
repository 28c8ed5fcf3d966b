"""Multi-level graphs: kernel graph (:class:`GraphOp`), block graph (:class:`CustomOp`), thread graph (:class:`ThreadOp`)."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import FlatSymbolRefAttr, FloatAttr, StringAttr, SymbolRefAttr, f64
from xdsl.ir import Attribute, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    HasParent,
    IsolatedFromAbove,
    IsTerminator,
    NoTerminator,
    SymbolOpInterface,
)

from prism_mlir.dialects.sgraph.attributes import (
    DimsAttr,
    Equalities,
    EqualitiesAttr,
    ParallelDims,
    ScheduleAttr,
    VerdictAttr,
    optional_clause,
    parse_dims,
    parse_equalities,
    print_dims,
    print_equalities,
)
from prism_mlir.dialects.sgraph.bindings import parse_bindings, parse_result_types, print_bindings, print_result_types
from prism_mlir.dialects.sgraph.operator_ops import OperatorOp
from prism_mlir.dialects.sgraph.refuse import refuse


@irdl_op_definition
class GraphOp(IRDLOperation):
    """A candidate implementation of a program: a kernel graph of library operators and graph-defined operators.

    ``verdict``, ``schedule`` and ``cost`` (seconds) record what later stages found; they are printed as attributes.

    ```mlir
    sgraph.graph @candidate implements @program(%X: tensor<16x8xf16>) attributes {verdict = #sgraph.verdict<proved>} {
      %0 = sgraph.unary %X "exp(x)" : tensor<16x8xf16> -> tensor<16x8xf16>
      sgraph.yield %0 : tensor<16x8xf16>
    }
    ```
    """

    name = "sgraph.graph"

    sym_name = prop_def(StringAttr)
    implements = opt_prop_def(SymbolRefAttr)
    verdict = opt_prop_def(VerdictAttr)
    schedule = opt_prop_def(ScheduleAttr)
    cost = opt_prop_def(FloatAttr)
    body = region_def("single_block")

    traits = traits_def(IsolatedFromAbove(), NoTerminator(), SymbolOpInterface())

    def __init__(
        self,
        name: str,
        body: Region,
        *,
        implements: str | None = None,
        verdict: VerdictAttr | None = None,
        schedule: ScheduleAttr | None = None,
        cost: float | None = None,
    ) -> None:
        super().__init__(
            properties={
                "sym_name": StringAttr(name),
                "implements": None if implements is None else FlatSymbolRefAttr(implements),
                "verdict": verdict,
                "schedule": schedule,
                "cost": None if cost is None else FloatAttr(cost, f64),
            },
            regions=[body],
        )

    @classmethod
    def parse(cls, parser: Parser) -> GraphOp:
        name = parser.parse_symbol_name()
        implements = None
        if parser.parse_optional_keyword("implements") is not None:
            implements = parser.parse_symbol_name().data
        arguments = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_argument)
        attributes = parser.parse_optional_attr_dict_with_keyword(("sym_name", "implements"))
        op = cls(name.data, parser.parse_region(arguments), implements=implements)
        for key, value in () if attributes is None else attributes.data.items():
            into = op.properties if key in _PROVENANCE else op.attributes
            into[key] = value
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name)
        if self.implements is not None:
            printer.print_string(" implements ")
            printer.print_attribute(self.implements)
        with printer.in_parens():
            printer.print_list(self.body.block.args, printer.print_block_argument)
        provenance = {k: v for k in _PROVENANCE if (v := self.properties.get(k)) is not None}
        printer.print_op_attributes(provenance | self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False, print_empty_block=False)

    def verify_(self) -> None:
        from prism_mlir.dialects.sgraph.bridge.check import (
            check_graph,  # it reads the op through the bridge, which imports this
        )

        for op in self.body.block.ops:
            if not isinstance(op, OperatorOp | CustomOp | YieldOp):
                refuse(op, "is not allowed in a kernel graph, which holds library operators and sgraph.custom")
        if not isinstance(self.body.block.last_op, YieldOp):
            refuse(self, "must end with sgraph.yield")
        check_graph(self)


_PROVENANCE = ("verdict", "schedule", "cost")


@irdl_op_definition
class CustomOp(IRDLOperation):
    """A graph-defined operator: one kernel, whose region is its block graph.

    ``grid`` and ``loop`` declare the parallel dims; a size is the symbol ``d_x`` or, once chosen, a number of parts.
    ``where`` lists what dimension matching recorded. The region loads tiles, computes on them and saves tiles; the saves,
    in order, are the results.

    ```mlir
    %O = sgraph.custom(%x = %X : tensor<16x8xf16>) grid {x = d_x} loop {i = d_i} -> tensor<16x1xf16> {
      %0 = sgraph.load %x as X imap {x -> 0} fmap {i -> 1} : tensor<16x8xf16> -> !sgraph.tile<[16/x, 8/i] x f16>
      %1 = sgraph.sum %0 dim 1 : !sgraph.tile<[16/x, 8/i] x f16> -> !sgraph.tile<[16/x, 1] x f16>
      %2 = sgraph.accum %1 : !sgraph.tile<[16/x, 1] x f16> -> !sgraph.tile<[16/x, 1] x f16>
      sgraph.save %2 omap {x -> 0} : !sgraph.tile<[16/x, 1] x f16>
    }
    ```
    """

    name = "sgraph.custom"

    inputs = var_operand_def(Attribute)
    outputs = var_result_def(Attribute)
    grid = prop_def(DimsAttr)
    loop = opt_prop_def(DimsAttr)
    equalities = opt_prop_def(EqualitiesAttr)
    body = region_def("single_block")

    traits = traits_def(IsolatedFromAbove(), NoTerminator(), HasParent(GraphOp))

    def __init__(
        self,
        inputs: Sequence[SSAValue],
        result_types: Sequence[Attribute],
        grid: ParallelDims,
        loop: tuple[str, int | None] | None,
        body: Region,
        equalities: Equalities = (),
    ) -> None:
        super().__init__(
            operands=[inputs],
            result_types=[result_types],
            properties={
                "grid": DimsAttr(grid),
                "loop": None if loop is None else DimsAttr((loop,)),
                "equalities": EqualitiesAttr(equalities) if equalities else None,
            },
            regions=[body],
        )

    @property
    def loop_name(self) -> str | None:
        return self.loop.names[0] if self.loop is not None and self.loop.data else None

    @property
    def sizes(self) -> dict[str, int | None]:
        """Declared size of each parallel dim; ``None`` where it is a symbol."""
        return dict(self.grid.data) | ({} if self.loop is None else dict(self.loop.data))

    @classmethod
    def parse(cls, parser: Parser) -> CustomOp:
        arguments, inputs = parse_bindings(parser)
        parser.parse_keyword("grid", " and the grid's dims")
        grid = parse_dims(parser)
        loop = optional_clause(parser, "loop", parse_dims) or ()
        if len(loop) > 1:
            parser.raise_error("a block graph has at most one loop dim")
        equalities = optional_clause(parser, "where", parse_equalities) or ()
        attributes = parser.parse_optional_attr_dict_with_keyword(("grid", "loop", "equalities"))
        result_types = parse_result_types(parser)
        body = parser.parse_region(arguments)
        op = cls(inputs, result_types, grid, loop[0] if loop else None, body, equalities)
        if attributes is not None:
            op.attributes = dict(attributes.data)
        return op

    def print(self, printer: Printer) -> None:
        print_bindings(printer, self.body.block, self.inputs)
        printer.print_string(" grid ")
        print_dims(printer, self.grid.data)
        if self.loop is not None:
            printer.print_string(" loop ")
            print_dims(printer, self.loop.data)
        if self.equalities is not None:
            printer.print_string(" where ")
            print_equalities(printer, self.equalities.data)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        print_result_types(printer, self.result_types)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False, print_empty_block=False)

    def verify_(self) -> None:
        from prism_mlir.dialects.sgraph.bridge.check import (
            check_custom,  # it reads the op through the bridge, which imports this
        )

        check_custom(self)


@irdl_op_definition
class YieldOp(IRDLOperation):
    """Names the results of a kernel graph, or of a thread graph.

    ```mlir
    sgraph.yield %0 : tensor<16x8xf16>
    ```
    """

    name = "sgraph.yield"

    values = var_operand_def(Attribute)

    traits = traits_def(IsTerminator())
    assembly_format = "($values^ `:` type($values))? attr-dict"

    def __init__(self, values: Sequence[SSAValue]) -> None:
        super().__init__(operands=[values])

    def verify_(self) -> None:
        parent = self.parent_op()
        if parent is None or parent.name not in ("sgraph.graph", "sgraph.thread"):
            refuse(self, "ends a kernel graph or a thread graph only")
        if not self.values:
            refuse(self, "names no result")
