"""Tensor programs: what to compute, with nothing about how."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import ArrayAttr, StringAttr, TensorType
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, prop_def, region_def, traits_def, var_operand_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import HasParent, IsolatedFromAbove, IsTerminator, NoTerminator, SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from prism_mlir.dialects.sgraph.attributes import (
    InputAttr,
    InputView,
    OutputAttr,
    OutputView,
    parse_output_storage,
    parse_view,
    print_output_storage,
    print_view,
)
from prism_mlir.dialects.sgraph.operator_ops import OperatorOp
from prism_mlir.dialects.sgraph.refuse import refuse
from prism_mlir.dialects.sgraph.types import ELEMENT_BYTES, element_type_of, row_major, shape_of


@irdl_op_definition
class ProgramOp(IRDLOperation):
    """A tensor program: operators on whole tensors.

    Arguments are *views*: an argument that is not the whole function argument at its position says which one it sees
    (in elements: shape of the contiguous argument, strides and offset of the view), or holds a constant's bytes.

    ```mlir
    sgraph.program @scores(%Q: tensor<16x8xf16>, %K: tensor<8x64xf16> view arg 1, shape [64, 8], strides [1, 8], offset 0) {
      %0 = sgraph.matmul %Q, %K : (tensor<16x8xf16>, tensor<8x64xf16>) -> tensor<16x64xf16>
      sgraph.return %0 as "out" : tensor<16x64xf16>
    }
    ```
    """

    name = "sgraph.program"

    sym_name = prop_def(StringAttr)
    inputs = prop_def(ArrayAttr[InputAttr])
    body = region_def("single_block")

    traits = traits_def(IsolatedFromAbove(), NoTerminator(), SymbolOpInterface())

    def __init__(self, name: str, inputs: Sequence[InputView], body: Region) -> None:
        super().__init__(
            properties={"sym_name": StringAttr(name), "inputs": ArrayAttr([InputAttr(i) for i in inputs])},
            regions=[body],
        )

    @classmethod
    def parse(cls, parser: Parser) -> ProgramOp:
        name = parser.parse_symbol_name().data
        arguments: list[Parser.Argument] = []
        views: list[InputView] = []

        def argument() -> None:
            argument = parser.parse_argument()
            arguments.append(argument)
            views.append(_parse_input(parser, argument, len(views)))

        parser.parse_comma_separated_list(parser.Delimiter.PAREN, argument)
        attributes = parser.parse_optional_attr_dict_with_keyword(("sym_name", "inputs"))
        op = cls(name, views, parser.parse_region(arguments))
        if attributes is not None:
            op.attributes = dict(attributes.data)
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name)
        with printer.in_parens():
            for k, (argument, view) in enumerate(zip(self.body.block.args, self.inputs, strict=False)):
                printer.print_string(", " if k else "")
                _print_input(printer, argument, view.data, k)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False, print_empty_block=False)

    def verify_(self) -> None:
        block = self.body.block
        if len(self.inputs) != len(block.args):
            refuse(self, f"describes {len(self.inputs)} inputs and has {len(block.args)} arguments")
        for argument, view in zip(block.args, self.inputs, strict=True):
            _check_view(self, argument.type, view.data)
        for op in block.ops:
            if not isinstance(op, OperatorOp | ReturnOp):
                refuse(op, "is not allowed in a tensor program, which holds operators only")
        if not isinstance(block.last_op, ReturnOp):
            refuse(self, "must end with sgraph.return")


def _parse_input(parser: Parser, argument: Parser.Argument, position: int) -> InputView:
    name = argument.name.text[1:]
    if parser.parse_optional_keyword("as") is not None:
        name = parser.parse_str_literal(" for the input's name")
    if parser.parse_optional_keyword("view") is not None:
        return parse_view(parser, name)
    if not isinstance(argument.type, TensorType):
        parser.raise_error(f"a program's argument is a tensor, not {argument.type}", argument.name)
    shape = tuple(argument.type.get_shape())
    return InputView(name, position, shape, row_major(shape))


def _print_input(printer: Printer, argument: SSAValue, view: InputView, position: int) -> None:
    printed = printer.print_ssa_value(argument)
    printer.print_string(": ")
    printer.print_attribute(argument.type)
    if printed != view.name:
        printer.print_string(" as ")
        printer.print_string_literal(view.name)
    shape = tuple(argument.type.get_shape()) if isinstance(argument.type, TensorType) else ()
    if view != InputView(view.name, position, shape, row_major(shape)):
        printer.print_string(" view ")
        print_view(printer, view)


def _check_view(op: Operation, type_: Attribute, view: InputView) -> None:
    try:
        shape, element_type = shape_of(type_), element_type_of(type_)
    except VerifyException as error:
        refuse(op, f"input '{view.name}': {error}")
    if 0 in shape or 0 in view.shape:
        refuse(op, f"input '{view.name}' has a dim of size 0; nothing to compute")
    if len(view.strides) != len(shape):
        refuse(op, f"input '{view.name}' has rank {len(shape)} and {len(view.strides)} strides")
    steps = [(n - 1) * s for n, s in zip(shape, view.strides, strict=True)]
    first = view.offset + sum(s for s in steps if s < 0)
    last = view.offset + sum(s for s in steps if s > 0)
    if first < 0 or last >= prod(view.shape):
        refuse(op, f"input '{view.name}' sees elements {first} to {last} of an argument of {prod(view.shape)} elements")
    needs = prod(view.shape) * ELEMENT_BYTES[element_type]
    if view.data is not None and len(view.data) != needs:
        refuse(op, f"input '{view.name}' holds {len(view.data)} bytes, its shape needs {needs}")


@irdl_op_definition
class ReturnOp(IRDLOperation):
    """Ends a program: names its results, and how each lies in the contiguous function result where that differs.

    ```mlir
    sgraph.return %0 as "out" : tensor<16x64xf16>, %1 as "t" : tensor<4x8xf16> stored f32, shape [8, 4], strides [1, 4]
    sgraph.return %0 as "left" : tensor<4x8xf16> stored f16, shape [4, 12], strides [12, 1] offset 0 in 0,
                  %1 as "right" : tensor<4x4xf16> stored f16, shape [4, 12], strides [12, 1] offset 8 in 0
    ```
    """

    name = "sgraph.return"

    values = var_operand_def(Attribute)
    outputs = prop_def(ArrayAttr[OutputAttr])

    traits = traits_def(IsTerminator(), HasParent(ProgramOp))

    def __init__(self, values: Sequence[SSAValue], outputs: Sequence[OutputView]) -> None:
        super().__init__(operands=[values], properties={"outputs": ArrayAttr([OutputAttr(o) for o in outputs])})

    @classmethod
    def parse(cls, parser: Parser) -> ReturnOp:
        values: list[SSAValue] = []
        outputs: list[OutputView] = []

        def result() -> None:
            operand = parser.parse_unresolved_operand()
            parser.parse_keyword("as", " and the result's name")
            name = parser.parse_str_literal(" for the result's name")
            parser.parse_punctuation(":")
            type_ = parser.parse_type()
            values.append(parser.resolve_operand(operand, type_))
            if parser.parse_optional_keyword("stored") is not None:
                outputs.append(parse_output_storage(parser, name))
                return
            if not isinstance(type_, TensorType):
                parser.raise_error(f"a program returns tensors, not {type_}", operand.span)
            shape = tuple(type_.get_shape())
            outputs.append(OutputView(name, element_type_of(type_), shape, row_major(shape)))

        result()
        while parser.parse_optional_punctuation(",") is not None:
            result()
        op = cls(values, outputs)
        op.attributes = parser.parse_optional_attr_dict()
        return op

    def print(self, printer: Printer) -> None:
        for k, (value, output) in enumerate(zip(self.values, self.outputs, strict=False)):
            printer.print_string(", " if k else " ")
            printer.print_operand(value)
            printer.print_string(" as ")
            printer.print_string_literal(output.data.name)
            printer.print_string(" : ")
            printer.print_attribute(value.type)
            shape = shape_of(value.type)
            if output.data != OutputView(output.data.name, element_type_of(value.type), shape, row_major(shape)):
                printer.print_string(" stored ")
                print_output_storage(printer, output.data)
        printer.print_op_attributes(self.attributes)

    def verify_(self) -> None:
        if len(self.values) != len(self.outputs) or not self.values:
            refuse(self, f"returns {len(self.values)} values and describes {len(self.outputs)}; one each, at least one")
        for value, output in zip(self.values, self.outputs, strict=True):
            self._check_storage(shape_of(value.type), output.data)

    def _check_storage(self, shape: tuple[int, ...], view: OutputView) -> None:
        if len(view.strides) != len(shape):
            refuse(self, f"result '{view.name}' has rank {len(shape)} and {len(view.strides)} strides")
        if prod(view.shape) != prod(shape) and view.result is None:
            refuse(self, f"result '{view.name}' stores {prod(shape)} elements in {list(view.shape)}")
        last = view.offset + sum((n - 1) * s for n, s in zip(shape, view.strides, strict=True))
        if min(view.strides, default=0) < 0 or last >= prod(view.shape):
            refuse(self, f"result '{view.name}' stores element {last} in a result of {prod(view.shape)} elements")
