"""Attributes of the sgraph dialect: mappings, parallel dims, recorded equalities, views of arguments, provenance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from xdsl.ir import Attribute, Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from prism_mlir.dialects.sgraph.types import ELEMENT_BYTES, parse_tensor_dim

_T = TypeVar("_T")

Relation = tuple[tuple[str, int], ...]
"""A concrete map: (parallel dim, data dim) pairs. A parallel dim that is absent replicates the tile."""


@irdl_attr_definition
class MapAttr(Data[Relation | None]):
    """An imap, fmap or omap.

    ``#sgraph.map<m>``        the Boolean variables m[T,d,p] of the paper, not chosen yet
    ``#sgraph.map<{x -> 0}>`` chosen: grid dim x partitions data dim 0, every other grid dim replicates the tile

    As a relation it can also say what constraints (1) and (2) of the paper forbid, so that a verifier can refuse it.
    """

    name = "sgraph.map"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Relation | None:
        with parser.in_angle_brackets():
            return parse_map(parser)

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            print_map(printer, self.data)

    @property
    def is_symbolic(self) -> bool:
        return self.data is None


def parse_map(parser: AttrParser) -> Relation | None:
    """``m`` or ``{x -> 0, y -> 1}``."""
    if parser.parse_optional_keyword("m") is not None:
        return None

    def pair() -> tuple[str, int]:
        name = parser.parse_identifier(context_msg=" for a parallel dim")
        parser.parse_characters("->", " between a parallel dim and the data dim it partitions")
        return name, parser.parse_integer(allow_boolean=False, allow_negative=False, context_msg=" for a data dim")

    return tuple(parser.parse_comma_separated_list(parser.Delimiter.BRACES, pair, " in a map, or m"))


def print_map(printer: Printer, relation: Relation | None) -> None:
    if relation is None:
        printer.print_string("m")
    else:
        printer.print_string("{" + ", ".join(f"{p} -> {d}" for p, d in relation) + "}")


ParallelDims = tuple[tuple[str, int | None], ...]
"""Parallel dims in order, each with its size; ``None`` where the size is the symbol d_p."""


@irdl_attr_definition
class DimsAttr(Data[ParallelDims]):
    """``#sgraph.dims<{x = d_x, y = 64}>``: parallel dims and their sizes (numbers of parts), symbolic or chosen."""

    name = "sgraph.dims"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> ParallelDims:
        with parser.in_angle_brackets():
            return parse_dims(parser)

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            print_dims(printer, self.data)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.data)


def parse_dims(parser: AttrParser) -> ParallelDims:
    def entry() -> tuple[str, int | None]:
        name = parser.parse_identifier(context_msg=" for a parallel dim")
        parser.parse_characters("=", f" and the size of {name}")
        size = parser.parse_optional_integer(allow_boolean=False, allow_negative=False)
        if size is None:
            symbol = f"d_{name}"
            if parser.parse_optional_characters(symbol) is None:
                parser.raise_error(f"the size of {name} is a number or the symbol {symbol}")
        return name, size

    return tuple(parser.parse_comma_separated_list(parser.Delimiter.BRACES, entry, " in parallel dims"))


def print_dims(printer: Printer, dims: ParallelDims) -> None:
    entries = (f"{name} = {f'd_{name}' if size is None else size}" for name, size in dims)
    printer.print_string("{" + ", ".join(entries) + "}")


TileRef = tuple[str | int, int]
"""(tensor, dim) of a loaded tensor, or (node, dim) of any other node of the block graph, counted from 0."""

Equalities = tuple[tuple[TileRef, TileRef], ...]


@irdl_attr_definition
class EqualitiesAttr(Data[Equalities]):
    """``#sgraph.equalities<[sigma(X,1) = sigma(W,0)]>``: dims that every parallel dim cuts alike (paper, section 3.2)."""

    name = "sgraph.equalities"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Equalities:
        with parser.in_angle_brackets():
            return parse_equalities(parser)

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            print_equalities(printer, self.data)


def parse_equalities(parser: AttrParser) -> Equalities:
    def reference() -> TileRef:
        parser.parse_characters("sigma")
        parser.parse_characters("(", " after sigma")
        node = parser.parse_optional_integer(allow_boolean=False, allow_negative=False)
        if node is None:
            return parse_tensor_dim(parser)
        parser.parse_characters(",", " between node and dim")
        dim = parser.parse_integer(allow_boolean=False, allow_negative=False, context_msg=" for a dim")
        parser.parse_characters(")")
        return node, dim

    def equality() -> tuple[TileRef, TileRef]:
        left = reference()
        parser.parse_characters("=", " between two sigmas")
        return left, reference()

    return tuple(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, equality, " in equalities"))


def print_equalities(printer: Printer, equalities: Equalities) -> None:
    def reference(ref: TileRef) -> None:
        tensor, dim = ref
        printer.print_string("sigma(")
        if isinstance(tensor, str):
            printer.print_identifier_or_string_literal(tensor)
        else:
            printer.print_string(str(tensor))
        printer.print_string(f",{dim})")

    def equality(pair: tuple[TileRef, TileRef]) -> None:
        reference(pair[0])
        printer.print_string(" = ")
        reference(pair[1])

    with printer.in_square_brackets():
        printer.print_list(equalities, equality)


@dataclass(frozen=True, slots=True)
class InputView:
    """Where a program input comes from, see :class:`~prism_mlir.graph.program.ProgramInput`.

    Exactly one of ``arg`` (position of the function argument) and ``data`` (bytes of a constant) is given.
    """

    name: str
    arg: int | None
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0
    data: bytes | None = None


@irdl_attr_definition
class InputAttr(Data[InputView]):
    """``#sgraph.input<"K", arg 1, shape [16, 1024], strides [1, 1024], offset 0>``: a strided view of an argument.

    A constant has ``data "<bytes in hex>"`` in place of ``arg N``.
    """

    name = "sgraph.input"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> InputView:
        with parser.in_angle_brackets():
            name = parser.parse_str_literal(" for the input's name")
            parser.parse_characters(",")
            return parse_view(parser, name)

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string_literal(self.data.name)
            printer.print_string(", ")
            print_view(printer, self.data)


def parse_view(parser: AttrParser, name: str) -> InputView:
    arg, data = None, None
    if parser.parse_optional_keyword("data") is not None:
        data = _parse_hex(parser)
    else:
        parser.parse_keyword("arg", " or data")
        arg = parser.parse_integer(allow_boolean=False, allow_negative=False)
    shape, strides = _named_list(parser, "shape"), _named_list(parser, "strides")
    parser.parse_characters(",")
    parser.parse_keyword("offset")
    return InputView(name, arg, shape, strides, parser.parse_integer(allow_boolean=False), data)


def print_view(printer: Printer, view: InputView) -> None:
    source = f"arg {view.arg}" if view.data is None else f'data "{view.data.hex()}"'
    printer.print_string(
        f"{source}, shape {list(view.shape)}, strides {list(view.strides)}, offset {view.offset}",
    )


def _parse_hex(parser: AttrParser) -> bytes:
    position = parser.pos
    text = parser.parse_str_literal(" for the constant's bytes in hex")
    try:
        return bytes.fromhex(text)
    except ValueError:
        parser.raise_error("data wants bytes in hex", position, position + 1)


def _named_list(parser: AttrParser, keyword: str) -> tuple[int, ...]:
    parser.parse_characters(",")
    parser.parse_keyword(keyword)
    return tuple(
        parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: parser.parse_integer(allow_boolean=False))
    )


@dataclass(frozen=True, slots=True)
class OutputView:
    """How a program's result lies in the contiguous function result, see ``graph.program.ProgramOutput``."""

    name: str
    element_type: Attribute
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0
    result: int | None = None


@irdl_attr_definition
class OutputAttr(Data[OutputView]):
    """``#sgraph.output<"out", f16, shape [16, 8], strides [8, 1]>``: how a result is stored.

    A part of a result says where it starts, and which result of the function that is: ``offset 64 in 0``.
    """

    name = "sgraph.output"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> OutputView:
        with parser.in_angle_brackets():
            name = parser.parse_str_literal(" for the output's name")
            parser.parse_characters(",")
            return parse_output_storage(parser, name)

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string_literal(self.data.name)
            printer.print_string(", ")
            print_output_storage(printer, self.data)


def parse_output_storage(parser: AttrParser, name: str) -> OutputView:
    """``f16, shape [16, 8], strides [8, 1]``, and for a part of a result ``, offset 64 in 0``."""
    position = parser.pos
    element_type = parser.parse_type()
    if element_type not in ELEMENT_BYTES:
        parser.raise_error(f"element type is one of {', '.join(map(str, ELEMENT_BYTES))}", position, position + 1)
    shape, strides = _named_list(parser, "shape"), _named_list(parser, "strides")
    if parser.parse_optional_keyword("offset") is None:
        return OutputView(name, element_type, shape, strides)
    offset = parser.parse_integer(allow_boolean=False, allow_negative=False)
    parser.parse_keyword("in", " and the result it is part of")
    return OutputView(
        name, element_type, shape, strides, offset, parser.parse_integer(allow_boolean=False, allow_negative=False)
    )


def print_output_storage(printer: Printer, view: OutputView) -> None:
    printer.print_attribute(view.element_type)
    printer.print_string(f", shape {list(view.shape)}, strides {list(view.strides)}")
    if view.result is not None:
        printer.print_string(f" offset {view.offset} in {view.result}")


VERDICTS = ("proved", "refuted", "unknown")


@dataclass(frozen=True, slots=True)
class VerdictNote:
    """What verification found: one of :data:`VERDICTS`, and why, in one line."""

    status: str
    detail: str = ""


@irdl_attr_definition
class VerdictAttr(Data[VerdictNote]):
    """``#sgraph.verdict<proved>`` or ``#sgraph.verdict<refuted, "why">``."""

    name = "sgraph.verdict"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> VerdictNote:
        with parser.in_angle_brackets():
            status = parser.parse_keyword_in(VERDICTS)
            detail = "" if parser.parse_optional_characters(",") is None else parser.parse_str_literal()
        return VerdictNote(status, detail)

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(self.data.status)
            if self.data.detail:
                printer.print_string(", ")
                printer.print_string_literal(self.data.detail)


TURNED = ("upright", "sideways")


@dataclass(frozen=True, slots=True)
class ScheduleNote:
    """Chosen number of parts along each parallel dim (sorted by name), warps a block, stages of the copy pipeline.

    orientation: of products on tensor cores, one of :data:`TURNED`; ``auto``: each as it needs less padding
    residency:   least blocks an SM must be able to hold; 0: not asked
    """

    sizes: tuple[tuple[str, int], ...]
    warps: int
    stages: int
    orientation: str = "auto"
    residency: int = 0


@irdl_attr_definition
class ScheduleAttr(Data[ScheduleNote]):
    """``#sgraph.schedule<{i = 64, x = 64}, warps 4, stages 2>``: the chosen sizes and launch parameters.

    ``, orientation sideways`` and ``, residency 3`` may follow, in this order.
    """

    name = "sgraph.schedule"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> ScheduleNote:
        with parser.in_angle_brackets():
            sizes: dict[str, int] = {}
            for name, size in parse_dims(parser):
                if size is None:
                    parser.raise_error(f"a schedule gives every parallel dim a number, {name} has none")
                sizes[name] = size
            warps, stages = _keyword_integer(parser, "warps"), _keyword_integer(parser, "stages")
            orientation, residency = _parse_asked(parser)
        return ScheduleNote(tuple(sorted(sizes.items())), warps, stages, orientation, residency)

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            print_dims(printer, self.data.sizes)
            printer.print_string(f", warps {self.data.warps}, stages {self.data.stages}")
            if self.data.orientation != "auto":
                printer.print_string(f", orientation {self.data.orientation}")
            if self.data.residency:
                printer.print_string(f", residency {self.data.residency}")

    def verify(self) -> None:
        if self.data.orientation not in ("auto", *TURNED):
            raise VerifyException(f"orientation {self.data.orientation} is none of auto, {', '.join(TURNED)}")
        if self.data.residency < 0:
            raise VerifyException(f"residency {self.data.residency} is negative")


def _parse_asked(parser: AttrParser) -> tuple[str, int]:
    """Orientation and residency, where a schedule asks for them."""
    orientation, residency = "auto", 0
    more = parser.parse_optional_punctuation(",") is not None
    if more and parser.parse_optional_keyword("orientation") is not None:
        orientation = parser.parse_keyword_in(TURNED)
        more = parser.parse_optional_punctuation(",") is not None
    if more:
        parser.parse_keyword("residency")
        position = parser.pos
        residency = parser.parse_integer(allow_boolean=False, allow_negative=False)
        if residency == 0:
            parser.raise_error("a schedule asks for 1 resident block or more", position)
    return orientation, residency


def _keyword_integer(parser: AttrParser, keyword: str) -> int:
    parser.parse_characters(",")
    parser.parse_keyword(keyword)
    return parser.parse_integer(allow_boolean=False, allow_negative=False)


def optional_clause(parser: AttrParser, keyword: str, parse: Callable[[AttrParser], _T]) -> _T | None:
    """``parse`` what follows ``keyword``, if it is there."""
    return None if parser.parse_optional_keyword(keyword) is None else parse(parser)
