"""The syntax ``(%a = %x : type, ...) ... -> types``, shared by the ops whose region sees its operands under own names."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute, Block, SSAValue
from xdsl.parser import Parser
from xdsl.printer import Printer


def parse_bindings(parser: Parser) -> tuple[list[Parser.Argument], list[SSAValue]]:
    """``(%a = %x : type, ...)``: the region's arguments and the operands they stand for."""
    arguments: list[Parser.Argument] = []
    operands: list[SSAValue] = []

    def binding() -> None:
        formal = parser.parse_argument(expect_type=False)
        parser.parse_characters("=", " between a region's argument and the operand it stands for")
        operand = parser.parse_unresolved_operand()
        parser.parse_characters(":", " before the type")
        type_ = parser.parse_type()
        arguments.append(formal.resolve(type_))
        operands.append(parser.resolve_operand(operand, type_))

    parser.parse_comma_separated_list(parser.Delimiter.PAREN, binding)
    return arguments, operands


def print_bindings(printer: Printer, block: Block, operands: Sequence[SSAValue]) -> None:
    with printer.in_parens():
        for k, (formal, actual) in enumerate(zip(block.args, operands, strict=False)):
            printer.print_string(", " if k else "")
            printer.print_ssa_value(formal)
            printer.print_string(" = ")
            printer.print_operand(actual)
            printer.print_string(" : ")
            printer.print_attribute(actual.type)


def parse_result_types(parser: Parser) -> list[Attribute]:
    """``-> type`` or ``-> (type, type)``."""
    parser.parse_punctuation("->", " before the result types")
    types = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
    return [parser.parse_type()] if types is None else list(types)


def print_result_types(printer: Printer, types: Sequence[Attribute]) -> None:
    printer.print_string(" -> ")
    if len(types) == 1:
        printer.print_attribute(types[0])
        return
    with printer.in_parens():
        printer.print_list(types, printer.print_attribute)
