"""Types of programs and terms, with symbolic sizes: what holds here holds at every size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from prism_mlir.certify.model import Program
from prism_mlir.certify.sizes import ONE, Refused, Size, Type
from prism_mlir.certify.terms import BINARY, PARALLEL, REDUCTIONS, Attr, Term

Shape = tuple[Size, ...]
Same = Callable[[Size, Size], Size]


class Dims:
    """Which dims of a program are one and the same. Dims of size 1 are ``ONE``; equal numbers mean nothing."""

    def __init__(self, program: Program) -> None:
        self.extent: dict[str, int] = {}
        self._bound: dict[str, Size] = {}
        self._constants: dict[str, Shape] = {}
        self._open = True  # dims may still turn out to be one and the same
        shapes: list[Shape] = [self._fresh(i.shape) for i in program.inputs]
        self.inputs = tuple(range(len(shapes)))
        for node in program.nodes:
            operands = [shapes[v] for v in node.operands]
            shapes.append(self.shape(node.symbol, node.attrs, operands, self._unify))
        self.of = tuple(tuple(map(self._resolve, shape)) for shape in shapes)
        self._constants = {text: tuple(map(self._resolve, shape)) for text, shape in self._constants.items()}
        self._open = False
        self.free = tuple(s for s in self.extent if s not in self._bound)

    def input_types(self) -> tuple[Type, ...]:
        return tuple(Type(self.of[v]) for v in self.inputs)

    def _fresh(self, numbers: Sequence[int]) -> Shape:
        result: list[Size] = []
        for n in numbers:
            if n < 1:
                raise Refused(f"a dim of size {n}")
            if n == 1:
                result.append(ONE)
                continue
            name = f"s{len(self.extent)}"
            self.extent[name] = n
            result.append(Size((name,)))
        return tuple(result)

    def _resolve(self, size: Size) -> Size:
        dims: list[str] = []
        for name in size.dims:
            dims += self._resolve(self._bound[name]).dims if name in self._bound else (name,)
        return Size(tuple(dims), size.parts)

    def _unify(self, a: Size, b: Size) -> Size:
        a, b = self._resolve(a), self._resolve(b)
        if a == b:
            return a
        if len(a.dims) != 1:
            a, b = b, a
        if len(a.dims) != 1 or a.dims[0] in b.dims or self.number(a) != self.number(b):
            raise Refused("the program's dims do not fit together at other sizes")
        self._bound[a.dims[0]] = b
        return b

    def number(self, size: Size) -> int:
        """A whole dim's size in the program as it was given."""
        return prod(self.extent[d] for d in size.dims)

    def shape(self, symbol: str, attrs: Sequence[Attr], shapes: Sequence[Shape], same: Same) -> Shape:
        """Shape of an operator's result; ``same`` is told which dims must be equal."""
        ranks = {len(s) for s in shapes}
        if symbol != "Constant" and len(ranks) != 1:
            raise Refused(f"{symbol} of tensors of different rank")
        rank = ranks.pop() if ranks else 0
        if symbol == "Matmul":
            a, b = shapes
            if rank < 2 or tuple(attrs) != (rank - 2, rank - 1):
                raise Refused("rows and columns of a product are its last two dims")
            same(a[-1], b[-2])
            return (*(same(x, y) for x, y in zip(a[:-2], b[:-2], strict=True)), a[-2], b[-1])
        if symbol in BINARY:
            return tuple(y if x == ONE else x if y == ONE else same(x, y) for x, y in zip(*shapes, strict=True))
        if symbol == "Unary":
            return shapes[0]
        if symbol in REDUCTIONS:
            d = _dim(attrs[0], rank)
            return (*shapes[0][:d], ONE, *shapes[0][d + 1 :])
        if symbol == "Transpose":
            perm = numbers(attrs[0])
            if sorted(perm) != list(range(rank)):
                raise Refused(f"{perm} is no permutation of {rank} dims")
            return tuple(shapes[0][d] for d in perm)
        if symbol == "Reshape":
            return self._reshape(str(attrs[0]), shapes[0])
        assert symbol == "Constant"
        return self._constant(str(attrs[1]))

    def _constant(self, text: str) -> Shape:
        if text not in self._constants:
            whole = numbers(text)
            if any(n != 1 for n in whole) and not self._open:
                raise Refused(f"a constant of shape [{text}], which the program does not have")
            self._constants[text] = self._fresh(whole)
        return self._constants[text]

    def _reshape(self, text: str, shape: Shape) -> Shape:
        source, target = reshape_numbers(text)
        if len(source) != len(shape):
            raise Refused(f"reshape {text} of a tensor of rank {len(shape)}")
        result = [ONE] * len(target)
        for many, few in groups(source, target):
            if len(many) == len(few) == 1:
                result[few[0]] = shape[many[0]]
            elif len(few) == 1:
                merged = ONE
                for d in many:
                    merged = merged.merged(shape[d])
                result[few[0]] = merged
            elif len(many) == 1:
                for k, size in zip(few, self._split(shape[many[0]], [target[k] for k in few], text), strict=True):
                    result[k] = size
            else:
                raise Refused(f"reshape {text} regroups several dims into several others")
        return tuple(result)

    def _split(self, size: Size, wanted: Sequence[int], text: str) -> list[Size]:
        if size.parts:
            raise Refused("a reshape splits a dim that is cut")
        size, found, names = self._resolve(size), list[Size](), list[str]()
        if len(size.dims) == 1 and self._open:
            pieces = self._fresh(wanted)
            self._bound[size.dims[0]] = Size(tuple(d for s in pieces for d in s.dims))
            return list(pieces)
        for name in size.dims:
            names.append(name)
            if len(found) < len(wanted) and self.number(Size(tuple(names))) == wanted[len(found)]:
                found.append(Size(tuple(names)))
                names = []
        if names or len(found) != len(wanted):
            raise Refused(f"reshape {text} splits a dim otherwise than the program")
        return found


class Typer:
    """Types of terms over a program's inputs."""

    def __init__(self, dims: Dims) -> None:
        self._dims, self._inputs = dims, dims.input_types()
        self._known: dict[Term, Type] = {}

    def __call__(self, term: Term) -> Type:
        """The type of a term. Raises :class:`Refused` where it has none."""
        found = self._known.get(term)
        if found is None:
            found = self._known[term] = self._infer(term, [self(o) for o in term.operands])
        return found

    def _infer(self, term: Term, operands: Sequence[Type]) -> Type:
        if term.symbol == "Var":
            k = term.attrs[0]
            if not isinstance(k, int) or not 0 <= k < len(self._inputs):
                raise Refused(f"the program has no input {k}")
            return self._inputs[k]
        if term.symbol in PARALLEL:
            return _infer_parallel(term, operands[0])
        if len({o.parallel for o in operands}) > 1:
            raise Refused(f"operands of {term.symbol} live on different parallel dims")
        shape = self._dims.shape(term.symbol, term.attrs, [o.shape for o in operands], must_be_equal)
        return Type(shape, operands[0].parallel if operands else frozenset())


def _infer_parallel(term: Term, t: Type) -> Type:
    p = str(term.attrs[-1])
    makes = term.symbol in ("Part", "Repl")
    if (p in t.parallel) == makes:
        raise Refused(f"{term.symbol} along {p}, which the tile {'already has' if makes else 'does not have'}")
    parallel = t.parallel | {p} if makes else t.parallel - {p}
    if term.symbol not in ("Part", "Comb"):
        return Type(t.shape, parallel)
    d = _dim(term.attrs[0], len(t.shape))
    if makes and t.shape[d] == ONE:
        raise Refused(f"dim {d} has size 1 and cannot be cut along {p}")
    return Type((*t.shape[:d], t.shape[d].scaled(p, -1 if makes else 1), *t.shape[d + 1 :]), parallel)


def must_be_equal(a: Size, b: Size) -> Size:
    if a != b:
        raise Refused("two dims differ that must be equal")
    return a


def _dim(d: Attr, rank: int) -> int:
    if not isinstance(d, int) or not 0 <= d < rank:
        raise Refused(f"a tensor of rank {rank} has no dim {d}")
    return d


def numbers(text: Attr) -> tuple[int, ...]:
    """``"4,8"`` as ``(4, 8)``."""
    try:
        return tuple(int(n) for n in str(text).split(",") if n)
    except ValueError:
        raise Refused(f"'{text}' is no list of numbers") from None


def reshape_numbers(text: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    source, _, target = text.partition("->")
    return numbers(source), numbers(target)


def groups(source: Sequence[int], target: Sequence[int]) -> list[tuple[list[int], list[int]]]:
    """The finest grouping of dims with equal products, dims of size 1 left out."""
    a, b = ([d for d, n in enumerate(s) if n != 1] for s in (source, target))
    found: list[tuple[list[int], list[int]]] = []
    if prod(source) != prod(target):
        raise Refused(f"a reshape of {list(source)} into {list(target)}")
    while a or b:
        left, right = [a.pop(0)], [b.pop(0)]
        while (x := prod(source[d] for d in left)) != (y := prod(target[d] for d in right)):
            (left if x < y else right).append((a if x < y else b).pop(0))
        found.append((left, right))
    return found


def carried(move: str) -> dict[int, int]:
    """Where a transpose or reshape carries each dim that it leaves whole."""
    if "->" not in move:
        return {d: k for k, d in enumerate(numbers(move))}
    return {a[0]: b[0] for a, b in groups(*reshape_numbers(move)) if len(a) == len(b) == 1}
