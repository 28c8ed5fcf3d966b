"""Colours for MLIR, which Pygments does not know."""

from __future__ import annotations

from pygments.lexer import RegexLexer
from pygments.token import Comment, Keyword, Name, Number, Operator, String, Text


class MlirLexer(RegexLexer):
    """Values, symbols, attributes, types, strings, numbers and comments; everything else is plain."""

    name = "MLIR"
    aliases = ["mlir"]  # noqa: RUF012  # as Pygments declares it
    tokens = {  # noqa: RUF012
        "root": [
            (r"//.*?$", Comment),
            (r'"[^"\n]*"', String),
            (r"%[\w$.#:-]+", Name.Variable),
            (r"@[\w$.-]+", Name.Function),
            (r"\^[\w$.-]+", Name.Label),
            (r"#[\w$.-]+", Name.Decorator),
            (r"![\w$.-]+", Keyword.Type),
            (r"\b(tensor|memref|vector)\b(?=<)", Keyword.Type),
            (r"\b(f16|bf16|f32|f64|index|[su]?i\d+)\b", Keyword.Type),
            (r"-?\b\d+(\.\d+)?([eE][+-]?\d+)?", Number),
            (r"[a-z_][\w]*\.[a-z_][\w.]*", Keyword),
            (r"->|=", Operator),
            (r"[A-Za-z_][\w$-]*", Text),
            (r".|\n", Text),
        ]
    }
