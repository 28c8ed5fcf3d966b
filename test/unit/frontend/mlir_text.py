"""Small MLIR programs as text, for tests of import."""

from __future__ import annotations

from collections.abc import Sequence


def tensor(shape: Sequence[int], element: str = "f32") -> str:
    return f"tensor<{'x'.join([*map(str, shape), element])}>"


def affine_map(letters: str, results: str) -> str:
    dims = ", ".join(f"d{k}" for k in range(len(letters)))
    return f"affine_map<({dims}) -> ({', '.join(f'd{letters.index(c)}' if c != '0' else '0' for c in results)})>"


class Text:
    """Builds ``func.func @f`` line by line; values are SSA names, shapes are remembered."""

    def __init__(self, *arguments: Sequence[int], element: str = "f32") -> None:
        self.element = element
        self.shapes: dict[str, tuple[int, ...]] = {f"%a{k}": tuple(s) for k, s in enumerate(arguments)}
        self.lines: list[str] = []
        self.count = 0

    def name(self, shape: Sequence[int] = ()) -> str:
        self.count += 1
        self.shapes[f"%v{self.count}"] = tuple(shape)
        return f"%v{self.count}"

    def line(self, text: str) -> None:
        self.lines.append(f"  {text}")

    def filled(self, shape: Sequence[int], value: str) -> str:
        scalar, empty, result = self.name(), self.name(), self.name(shape)
        kind = tensor(shape, self.element)
        self.line(f"{scalar} = arith.constant {value} : {self.element}")
        self.line(f"{empty} = tensor.empty() : {kind}")
        self.line(f"{result} = linalg.fill ins({scalar} : {self.element}) outs({empty} : {kind}) -> {kind}")
        return result

    def generic(self, letters: str, operands: Sequence[tuple[str, str]], out: str, body: str, initial: str) -> str:
        """A ``linalg.generic``: loops ``letters``, operands with their index letters, body from %x0.. and %o to %r."""
        size: dict[str, int] = {}
        for value, index in operands:
            size |= {c: s for c, s in zip(index, self.shapes[value], strict=True) if c != "0"}
        shape = [size[c] for c in out]
        init, result = self.filled(shape, initial), self.name(shape)
        kinds = ", ".join('"parallel"' if c in out else '"reduction"' for c in letters)
        maps = ", ".join(affine_map(letters, index) for index in [*(i for _, i in operands), out])
        names = ", ".join(value for value, _ in operands)
        types = ", ".join(tensor(self.shapes[value], self.element) for value, _ in operands)
        block = ", ".join([*(f"%x{k}: {self.element}" for k in range(len(operands))), f"%o: {self.element}"])
        kind = tensor(shape, self.element)
        self.line(f"{result} = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}}")
        self.line(f"  ins({names} : {types}) outs({init} : {kind}) {{")
        self.line(f"  ^bb0({block}):")
        self.line(f"    {body}")
        self.line(f"    linalg.yield %r : {self.element}")
        self.line(f"  }} -> {kind}")
        return result

    def map(self, body: str, *operands: tuple[str, str], letters: str = "") -> str:
        """Elementwise over the letters of the first operand (or ``letters``)."""
        loops = letters or operands[0][1]
        return self.generic(loops, operands, loops, body.replace(":t", f": {self.element}"), "0.0")

    def reduce(self, value: str, index: str, out: str, op: str = "addf") -> str:
        body = f"%r = arith.{op} %x0, %o : {self.element}"
        return self.generic(index, [(value, index)], out, body, "0.0" if op == "addf" else "0xFF800000")

    def contract(self, left: tuple[str, str], right: tuple[str, str], out: str, letters: str) -> str:
        body = f"%p = arith.mulf %x0, %x1 : {self.element}\n    %r = arith.addf %o, %p : {self.element}"
        return self.generic(letters, [left, right], out, body, "0.0")

    def reshape(self, value: str, groups: Sequence[Sequence[int]], shape: Sequence[int]) -> str:
        result = self.name(shape)
        before, after = tensor(self.shapes[value], self.element), tensor(shape, self.element)
        expand = len(shape) > len(self.shapes[value])
        sizes = f" output_shape {list(shape)}" if expand else ""
        kind = "expand_shape" if expand else "collapse_shape"
        self.line(f"{result} = tensor.{kind} {value} {[list(g) for g in groups]}{sizes} : {before} into {after}")
        return result

    def softmax(self, value: str, index: str, over: str) -> str:
        """exp(v - max) / sum, with statistics that keep no dim."""
        rest = "".join(c for c in index if c not in over)
        top = self.reduce(value, index, rest, "maximumf")
        shifted = self.map("%r = arith.subf %x0, %x1 :t", (value, index), (top, rest))
        e = self.map("%r = math.exp %x0 :t", (shifted, index))
        total = self.reduce(e, index, rest)
        return self.map("%r = arith.divf %x0, %x1 :t", (e, index), (total, rest))

    def done(self, *results: str) -> str:
        arguments = ", ".join(f"{n}: {tensor(s, self.element)}" for n, s in self.shapes.items() if n.startswith("%a"))
        kinds = ", ".join(tensor(self.shapes[r], self.element) for r in results)
        head = f"func.func @f({arguments}) -> ({kinds}) {{"
        return "\n".join([head, *self.lines, f"  return {', '.join(results)} : {kinds}", "}"])
