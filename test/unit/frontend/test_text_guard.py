"""Limits on text, each with a case just inside and just outside."""

from __future__ import annotations

import pytest

from prism_mlir.frontend.text_guard import MAX_NESTING, check_text, decode
from prism_mlir.graph.errors import InputError, LimitError, Location


@pytest.mark.parametrize("brackets", ["()", "[]", "{}", "<>"])
def test_nesting_limit(brackets: str) -> None:
    left, right = brackets
    check_text(left * MAX_NESTING + right * MAX_NESTING, "a")
    with pytest.raises(LimitError) as caught:
        check_text("\n" + left * (MAX_NESTING + 1), "a")
    assert caught.value.location == Location("a", 2, MAX_NESTING + 1)


def test_brackets_in_strings_comments_and_arrows_do_not_count() -> None:
    check_text('"' + "[" * 1000 + '" // ' + "{" * 1000 + "\n" + "() -> () " * 1000 + r'"\"[[[" ' * 500, "a")


def test_siblings_do_not_nest() -> None:
    check_text("[] " * 10000, "a")


def test_chains_of_minus_signs() -> None:
    check_text("-" * 256, "a")
    with pytest.raises(LimitError):
        check_text("- (-" * 200, "a")


def test_alias_bomb() -> None:
    lines = ["#a0 = [1, 2]"] + [f"#a{k} = [#a{k - 1}, #a{k - 1}]" for k in range(1, 40)]
    check_text("\n".join(lines[:10]), "a")
    with pytest.raises(LimitError, match=r"a:2\d:1: error: alias #a2\d expands too far"):
        check_text("\n".join(lines), "a")


def test_alias_chain_depth() -> None:
    chain = ["!t0 = tuple<i1>"] + [f"!t{k} = tuple<!t{k - 1}>" for k in range(1, 300)]
    check_text("\n".join(chain[:MAX_NESTING]), "a")
    with pytest.raises(LimitError, match=r"a:257:1: error: alias !t256"):
        check_text("\n".join(chain), "a")


def test_decode() -> None:
    assert decode("é".encode(), "a") == "é"
    with pytest.raises(InputError, match="bytecode"):
        decode(b"ML\xefR\x01", "a")
    with pytest.raises(InputError) as caught:
        decode(b"ab\ncd\x80", "a")
    assert caught.value.location == Location("a", 2, 3)


def test_a_byte_order_mark_is_no_character() -> None:
    assert decode(b"\xef\xbb\xbfmodule {}", "marked.mlir") == "module {}"
