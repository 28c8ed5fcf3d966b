"""Reading IR text: what upstream MLIR reads, sgraph's own syntax, and files that mix both.

Upstream knows no custom syntax of ours, xDSL knows little of upstream's. So in a mixed file our ops are read first, put back
in generic form with their source locations, and the whole text crosses into upstream once; what comes back is generic and
xDSL reads all of it. A file that holds only our ops never leaves xDSL.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from io import StringIO

from xdsl.context import Context
from xdsl.dialect_interfaces.op_asm import OpAsmDialectInterface
from xdsl.dialects.builtin import (
    ArrayAttr,
    Builtin,
    FileLineColLoc,
    IntAttr,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    UnknownLoc,
)
from xdsl.dialects.func import Func
from xdsl.ir import Operation, SSAValue
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.universe import Universe
from xdsl.utils.exceptions import ParseError

from prism_mlir.dialects.sgraph import SGRAPH
from prism_mlir.dialects.sgraph.attributes import InputAttr
from prism_mlir.dialects.sgraph.block_ops import LoadOp
from prism_mlir.dialects.sgraph.graph_ops import GraphOp
from prism_mlir.dialects.sgraph.program_ops import ProgramOp
from prism_mlir.frontend.text_guard import STRING_OR_COMMENT, check_text
from prism_mlir.frontend.upstream import read_module
from prism_mlir.frontend.xdsl_text import check_splats
from prism_mlir.graph.errors import InputError, LimitError, Location, UnsupportedError
from prism_mlir.passes.located import parse_error

_TOKEN = re.compile(
    STRING_OR_COMMENT + r"|(?P<ours>sgraph\.(?:program|graph)(?=\s*@))|->|[\w$.]+|\S", re.ASCII
)
_STRING = re.compile(r'"(?:[^"\\\n\v\f]++|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*+"')
_OPEN, _CLOSE = frozenset("([{<"), frozenset(")]}>")
_ALIAS = re.compile(r"^[ \t]*[!#][\w$.-]+[ \t]*=", re.MULTILINE)
_SHELL = re.compile(r"(?:(?:builtin\.)?module\s*(?:@[\w$.]+\s*)?\{)?\s*\}?", re.ASCII)


class ResourceParser(Parser):
    """xDSL's parser, except that a second module of a process keeps its resources.

    xDSL holds the resources of all modules together, and calls one otherwise whose name is taken. Its parser then does not
    know the name that the resource section has it by, and leaves it empty.
    """

    def __init__(self, ctx: Context, text: str, name: str) -> None:
        super().__init__(ctx, text, name)
        self._handles: dict[tuple[str, str], str] = {}

    def _parse_dialect_resource_handle(self, dialect_name: str, interface: OpAsmDialectInterface) -> str:
        key = (dialect_name, self.parse_identifier(context_msg=" for resource handle"))
        if key not in self._handles:
            self._handles[key] = interface.declare_resource(key[1])
        return self._handles[key]


class LocatedParser(ResourceParser):
    """xDSL's parser, except that every op learns the place of its name, as upstream's parser does."""

    _RESULTS = re.compile(r"(?:%[\w$.-]+(?::\d+)?[\s,]*)+=\s*", re.ASCII)

    def __init__(self, ctx: Context, text: str, name: str) -> None:
        super().__init__(ctx, text, name)
        self._lines = [0, *(m.end() for m in re.finditer("\n", text))]

    def parse_operation(self) -> Operation:
        start = self._current_token.span.start
        results = self._RESULTS.match(self.lexer.input.content, start)
        op = super().parse_operation()
        if isinstance(op.location, UnknownLoc):
            op.location = self._place(start if results is None else results.end())
        return op

    def _place(self, position: int) -> FileLineColLoc:
        line = bisect_right(self._lines, position)
        column = position - self._lines[line - 1] + 1
        return FileLineColLoc(StringAttr(self.lexer.input.name), IntAttr(line), IntAttr(column))


def new_context() -> Context:
    """Every dialect that xDSL finds, but not its own gpu: that is partial, and refuses upstream's shared-memory arguments."""
    context = Context(allow_unregistered=True)
    for name, dialect in Universe.get_multiverse().all_dialects.items():
        if name != "gpu":
            context.register_dialect(name, dialect)
    return context


def read_ir(text: str, filename: str, ctx: Context) -> ModuleOp:
    """The module that ``text`` holds.

    Raises :class:`InputError` at the first syntax error, :class:`LimitError` for text that is too large or too deep.
    """
    check_text(text, filename)
    spans = sgraph_spans(text) if "sgraph." in text else []
    if spans:
        _check_strings(text, filename)
    if spans and _only_shell_left(text, spans):
        return _guarded(_parser(ctx, text, filename), filename)
    handed = read_module(_to_generic(text, spans, filename, ctx), filename).text
    check_splats(handed, filename)
    try:
        module = _parse_handed(handed, filename, ctx)
    except ParseError:
        try:
            module = _parse_handed(handed, filename, _plain())
        except ParseError as error:
            found = error.span.text[:40]
            raise UnsupportedError(
                f"xDSL cannot read what upstream MLIR made of the file: {error.msg} near '{found}'", Location(filename)
            ) from None
    _restore_names(module)
    return module


def _parse_handed(text: str, filename: str, ctx: Context) -> ModuleOp:
    """The module that upstream handed over in generic form. Raises ``ParseError`` where xDSL refuses what upstream took."""
    try:
        return ResourceParser(ctx, text, filename).parse_module()
    except RecursionError:
        raise LimitError("the module is nested too deeply", Location(filename, 1, 1), "flatten the input") from None


def _plain() -> Context:
    """A context that leaves all dialects but functions and ours to upstream, whose ops it carries unread."""
    plain = Context(allow_unregistered=True)
    plain.load_dialect(Builtin)
    plain.load_dialect(Func)
    plain.load_dialect(SGRAPH)
    return plain


def _restore_names(module: ModuleOp) -> None:
    """Upstream renames SSA values; tensors have names of their own, from which ours are made again.

    Nothing is verified yet, so nothing is taken for granted.
    """
    names: dict[str, list[str]] = {}
    for program in (op for op in module.body.block.ops if isinstance(op, ProgramOp)):
        match program.properties:
            case {"sym_name": StringAttr(data=symbol), "inputs": ArrayAttr() as inputs}:
                names[symbol] = [view.data.name for view in inputs if isinstance(view, InputAttr)]
                _name(program.body.blocks[0].args if program.body.blocks else (), names[symbol])
    for graph in (op for op in module.body.block.ops if isinstance(op, GraphOp)):
        match graph.properties.get("implements"):
            case SymbolRefAttr(root_reference=root) if graph.body.blocks:
                _name(graph.body.blocks[0].args, names.get(root.data, ()))
        for load in (op for op in graph.walk() if isinstance(op, LoadOp)):
            match load.properties.get("tensor"):
                case StringAttr(data=tensor) if len(load.operands) == 1:
                    _name(load.operands, [tensor.lower()])


def _name(values: Sequence[SSAValue], names: Sequence[str]) -> None:
    for value, name in zip(values, names, strict=False):
        if SSAValue.is_valid_name(name):
            value.name_hint = name


def _parser(ctx: Context, text: str, filename: str) -> LocatedParser:
    """A parser, which reads its first token at once. Raises :class:`InputError` where that is none."""
    try:
        return LocatedParser(ctx, text, filename)
    except ParseError as error:
        raise parse_error(error) from None


def _guarded(parser: Parser, filename: str) -> ModuleOp:
    """Parse a whole module; whatever the parser or an attribute's check raises becomes one located error."""
    try:
        return parser.parse_module()
    except ParseError as error:
        raise parse_error(error) from None
    except RecursionError:
        raise LimitError("the module is nested too deeply", Location(filename, 1, 1), "flatten the input") from None
    except Exception as error:  # attributes and types check themselves while they are built, with plain exceptions
        raise _at_parser(parser, error) from None


def _at_parser(parser: Parser, error: Exception) -> InputError:
    text = parser.lexer.input.content
    position = min(parser.pos, len(text))
    line = text.count("\n", 0, position) + 1
    column = position - (text.rfind("\n", 0, position) + 1) + 1
    lines = str(error).strip().splitlines()
    return InputError(lines[0] if lines else type(error).__name__, Location(parser.lexer.input.name, line, column))


def sgraph_spans(text: str) -> list[tuple[int, int]]:
    """Where sgraph's top-level ops in custom syntax begin and end, found by brackets alone."""
    spans: list[tuple[int, int]] = []
    start, depth, header, previous = -1, 0, False, ""
    for token in _TOKEN.finditer(text):
        word = token.group()
        if word[0] in '"/' or word == "->":
            previous = word
            continue
        if start < 0:
            if token.lastgroup == "ours" and previous not in ("!", "#", "@", "="):
                start, depth, header = token.start(), 0, True
        elif word in _OPEN:
            if depth == 0 and word == "{" and previous != "attributes":
                header = False
            depth += 1
        elif word in _CLOSE:
            depth -= 1
            if depth <= 0 and not header:
                spans.append((start, token.end()))
                start = -1
        previous = word
    if start >= 0:  # unbalanced: let the parser say where
        spans.append((start, len(text)))
    return spans


def _check_strings(text: str, filename: str) -> None:
    """Refuse a string that is not closed or has an unknown escape: xDSL's lexer takes exponential time to find out."""
    for token in _TOKEN.finditer(text):
        if token.group()[0] == '"' and _STRING.fullmatch(token.group()) is None:
            line = text.count("\n", 0, token.start()) + 1
            column = token.start() - text.rfind("\n", 0, token.start())
            raise InputError(
                "a string is not closed on its line, or has an unknown escape", Location(filename, line, column)
            )


def _only_shell_left(text: str, spans: list[tuple[int, int]]) -> bool:
    rest, position = [], 0
    for start, end in spans:
        rest.append(text[position:start])
        position = end
    rest.append(text[position:])
    outside = re.sub(r"//[^\n]*", "", " ".join(rest))
    return _SHELL.fullmatch(outside.strip()) is not None


def _to_generic(text: str, spans: list[tuple[int, int]], filename: str, ctx: Context) -> str:
    """The text with our ops in generic form, each on its first line so that every other line keeps its number."""
    pieces, position = [], 0
    for start, end in spans:
        pieces.append(text[position:start])
        pieces.append(_generic_op(text, start, end, filename, ctx) + "\n" * text.count("\n", start, end))
        position = end
    pieces.append(text[position:])
    return "".join(pieces)


def _generic_op(text: str, start: int, end: int, filename: str, ctx: Context) -> str:
    parser = _parser(ctx, text[:end], filename)
    if "!" in text[start:end] or "#" in text[start:end]:
        _read_aliases(parser, text[:start])
    parser._resume_from(start)
    try:
        op = parser.parse_operation()
    except ParseError as error:
        raise parse_error(error) from None
    except RecursionError:
        raise LimitError("the module is nested too deeply", Location(filename, 1, 1), "flatten the input") from None
    except Exception as error:  # see _guarded
        raise _at_parser(parser, error) from None
    stream = StringIO()
    Printer(stream, print_generic_format=True, print_debuginfo=True).print_op(op)
    return stream.getvalue().replace("\n", " ")


def _read_aliases(parser: Parser, text: str) -> None:
    for definition in _ALIAS.finditer(text):
        try:
            parser._resume_from(definition.start())
            parser._parse_alias_def()  # type: ignore[no-untyped-call]
        except ParseError:
            continue  # an alias in upstream's own syntax; only upstream's ops can use it
