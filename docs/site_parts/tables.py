"""References that are tables in the code: operators, targets, axioms, errors, modules."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any

from site_parts.markdown import code, columns, doc_of, first_sentence, plain, table

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "prism_mlir"


@cache
def sources() -> dict[Path, ast.Module]:
    """Every module of the package, read and not imported."""
    return {path: ast.parse(path.read_text()) for path in sorted(PACKAGE.rglob("*.py"))}


def operators() -> str:
    """Rows of ``graph.ops.OPS``."""
    from prism_mlir.graph.ops import OPS

    rows = [
        (
            code(name),
            spec.kind.value,
            spec.arity,
            code(spec.symbol),
            ", ".join(w for w, is_so in (("commutes", spec.commutative), ("associates", spec.associative)) if is_so),
            ", ".join(str(k) for k in sorted(spec.linear)),
        )
        for name, spec in OPS.items()
    ]
    head = ("operator", "kind", "operands", "term of the prover", "", "linear in operand")
    intro = (
        "What tensor programs and graphs are made of: the table `OPS` of `prism_mlir/graph/ops.py`.\n"
        "[Operators](../explanation/operators.md) says what is brought to them at import; `running_max` and `last` are made for "
        "code, and never searched.\n"
    )
    return f"# Operators\n\n{intro}\n{table(head, rows)}"


def targets() -> str:
    """Rows of the table of chips."""
    from prism_mlir.tune.targets import TARGETS

    rows = [
        (
            code(t.name),
            t.description,
            code(t.arch),
            t.sms,
            t.clock_ghz,
            t.tensor_fma,
            t.f32_fma,
            t.dram_gbs,
            t.l2_bytes // 2**20,
            t.shared_per_block // 2**10,
        )
        for t in TARGETS.values()
    ]
    head = ("`--target`", "chip", "PTX", "SMs", "GHz", "tensor FMA", "f32 FMA", "DRAM GB/s", "L2 MiB", "shared KiB")
    intro = (
        "The table of `prism_mlir/tune/targets.py`, which gives the source of every number. FMA: multiply-adds a clock and SM,\n"
        "those of tensor cores for f16 with f32 sums. Shared: the most one block may have.\n"
        "[Add a target](../how-to/add-a-target.md) says how to add one.\n"
    )
    return f"# Targets\n\n{intro}\n{table(head, rows)}"


def axioms() -> str:
    """Every axiom of the prover, by group."""
    from prism_mlir.verify import rule as rule_module
    from prism_mlir.verify.axioms import ALL_RULES, DEFAULT_GROUPS

    groups: dict[str, list[Any]] = defaultdict(list)
    for rule in ALL_RULES:
        groups[rule.group].append(rule)
    ordered = sorted(groups, key=lambda g: (g not in DEFAULT_GROUPS, g != "core", g))
    conditions = [(plain(what), plain(meaning)) for what, meaning in columns(rule_module.__doc__ or "")]
    text = [
        f"# Axioms\n\n{len(ALL_RULES)} rules, as data in `prism_mlir/verify` ([how to add one](../how-to/add-an-axiom.md)). "
        "A pattern is an s-expression over operators, `Part`, `Comb`, `Repl`, `Red` and their like "
        "([verification](../explanation/verification.md)); what a variable stands for, a tensor, a data dim, a parallel dim or "
        "text, follows from where it stands. Conditions are\n",
        table(("condition", "holds where"), conditions),
    ]
    for group in ordered:
        default = "on" if group in DEFAULT_GROUPS else f"off, `--axioms {group}` switches it on"
        rows = [(code(r.name), _equation(r), " and ".join(map(code, r.when)), r.source) for r in groups[group]]
        text.append(f"## `{group}`\n\nBy default {default}.\n\n{table(('rule', 'says', 'where', 'source'), rows)}")
    return "\n".join(text)


def _equation(rule: Any) -> str:
    given = "".join(f"given {rule.given_monoid.value}({e}, {p}) is {t}: " for e, p, t in rule.given)
    if rule.concludes is None:
        return f"{given}{code(rule.left)} = {code(rule.right)}"
    return f"{given}{rule.concludes.value}({code(rule.left)}, {rule.over}) is {code(rule.right)}"


def errors() -> str:
    """Every error that a user can cause, wherever it is defined."""
    from prism_mlir.tools.usage import Exit

    found: dict[str, tuple[str, str, str]] = {}
    names = {"PrismError"}
    for _ in range(4):  # subclasses of subclasses
        for path, module in sources().items():
            for node in module.body:
                if isinstance(node, ast.ClassDef) and names & {b.id for b in node.bases if isinstance(b, ast.Name)}:
                    names.add(node.name)
                    where = ".".join(path.relative_to(ROOT).with_suffix("").parts)
                    base = next(b.id for b in node.bases if isinstance(b, ast.Name))
                    found[node.name] = (where, base, first_sentence(ast.get_docstring(node) or ""))
    rows = [(code(n), code(base), code(where), what) for n, (where, base, what) in sorted(found.items())]
    meaning = dict(re.findall(r"^(\w+): (.*)$", doc_of(Exit), re.MULTILINE))
    codes = [(e.value, code(e.name), meaning.get(e.name, "")) for e in Exit]
    return (
        "# Errors\n\nWhat a user can cause is a `PrismError` (`prism_mlir.graph.errors`). Its text is one line, with a place "
        "where there is one:\n\n```text\nfile:line:col: error: what, and what to do\n```\n\n"
        "The command lines print it on standard error; in Python it is raised, with `message`, `hint` and `location`.\n\n"
        f"{table(('error', 'is a', 'module', 'when'), rows)}\n"
        f"## Exit codes\n\n{table(('code', 'name', 'when'), codes)}"
    )


def modules() -> str:
    """Every module with the first paragraph of its docstring."""
    areas: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for path, module in sources().items():
        doc = ast.get_docstring(module)
        if not doc:
            continue
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        name = "/".join(parts[:-1]) if parts[-1] == "__init__" else "/".join(parts) + ".py"
        areas[parts[0] if len(parts) > 1 else "the package"].append((code(name or "prism_mlir"), first_sentence(doc)))
    text = [
        "# Modules\n\nFirst lines of all modules. [Architecture](../explanation/architecture.md) says where to begin.\n"
    ]
    text += [f"## {area}\n\n{table(('module', 'what it is'), rows)}" for area, rows in sorted(areas.items())]
    return plain("\n".join(text)).replace("<", "&lt;")
