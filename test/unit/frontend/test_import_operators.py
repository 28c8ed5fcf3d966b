"""Every operator exporters write: what import says it computes, and upstream's JIT, alone and in random programs."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest
from mlir_text import Text, tensor

from prism_mlir.frontend import import_file
from prism_mlir.graph.errors import UnsupportedError
from prism_mlir.graph.program import Program
from prism_mlir.runtime.cpu_jit import compile_module

CONSTANTS = "\n    ".join(
    f"%{name} = arith.constant {value} : f32"
    for name, value in {
        "zero": 0.0,
        "half": 0.5,
        "one": 1.0,
        "two": 2.0,
        "cubic": 0.044715,
        "root": 0.7978845608,
        "sqrt2": 1.41421356,
    }.items()
)

UNARY = {
    "neg": "%r = arith.negf %x0 :t",
    "exp": "%r = math.exp %x0 :t",
    "log": "%a = math.absf %x0 :t\n    %b = arith.addf %a, %one :t\n    %r = math.log %b :t",
    "sqrt": "%a = math.absf %x0 :t\n    %r = math.sqrt %a :t",
    "rsqrt": "%a = arith.mulf %x0, %x0 :t\n    %b = arith.addf %a, %one :t\n    %r = math.rsqrt %b :t",
    "tanh": "%r = math.tanh %x0 :t",
    "erf": "%r = math.erf %x0 :t",
    "erfc": "%r = math.erfc %x0 :t",
    "sigmoid": "%a = arith.negf %x0 :t\n    %b = math.exp %a :t\n    %c = arith.addf %b, %one :t\n"
    "    %r = arith.divf %one, %c :t",
    "silu": "%a = arith.negf %x0 :t\n    %b = math.exp %a :t\n    %c = arith.addf %b, %one :t\n    %r = arith.divf %x0, %c :t",
    "gelu": "%a = arith.divf %x0, %sqrt2 :t\n    %b = math.erf %a :t\n    %c = arith.addf %b, %one :t\n"
    "    %d = arith.mulf %x0, %half :t\n    %r = arith.mulf %d, %c :t",
    "gelu_tanh": "%a = arith.mulf %x0, %x0 :t\n    %b = arith.mulf %a, %x0 :t\n    %c = arith.mulf %b, %cubic :t\n"
    "    %d = arith.addf %x0, %c :t\n    %e = arith.mulf %d, %root :t\n    %f = math.tanh %e :t\n"
    "    %g = arith.addf %f, %one :t\n    %h = arith.mulf %x0, %half :t\n    %r = arith.mulf %h, %g :t",
    "relu": "%c = arith.cmpf ugt, %x0, %zero :t\n    %r = arith.select %c, %x0, %zero :t",
    "clamp": "%a = arith.maximumf %x0, %zero :t\n    %r = arith.minimumf %a, %one :t",
    "clamp_compared": "%c = arith.cmpf ult, %x0, %zero :t\n    %a = arith.select %c, %zero, %x0 :t\n"
    "    %d = arith.cmpf ugt, %a, %one :t\n    %r = arith.select %d, %one, %a :t",
    "leaky": "%c = arith.cmpf oge, %x0, %zero :t\n    %a = arith.mulf %x0, %half :t\n    %r = arith.select %c, %x0, %a :t",
    "sign": "%c = arith.cmpf olt, %x0, %zero :t\n    %r = arith.uitofp %c : i1 to f32",
    "pow": "%a = math.absf %x0 :t\n    %p = arith.constant 1.5 :t\n    %r = math.powf %a, %p :t",
    "square": "%r = arith.mulf %x0, %x0 :t",
    "cube": "%p = arith.constant 3 : i32\n    %r = math.fpowi %x0, %p : f32, i32",
    "cast": "%a = arith.truncf %x0 : f32 to f16\n    %r = arith.extf %a : f16 to f32",
}

BINARY = {
    "add": "%r = arith.addf %x0, %x1 :t",
    "sub": "%r = arith.subf %x0, %x1 :t",
    "mul": "%r = arith.mulf %x0, %x1 :t",
    "div": "%a = math.exp %x1 :t\n    %r = arith.divf %x0, %a :t",
    "max": "%r = arith.maximumf %x0, %x1 :t",
    "min": "%r = arith.minnumf %x0, %x1 :t",
    "masked": "%c = arith.cmpf ogt, %x0, %x1 :t\n    %r = arith.select %c, %x0, %half :t",
    "where": "%c = arith.cmpf ole, %x0, %x1 :t\n    %n = arith.negf %x1 :t\n    %r = arith.select %c, %x0, %n :t",
    "equal": "%c = arith.cmpf oeq, %x0, %x1 :t\n    %r = arith.select %c, %half, %x1 :t",
    "both": "%c = arith.cmpf ogt, %x0, %zero :t\n    %d = arith.cmpf olt, %x1, %half :t\n    %e = arith.andi %c, %d : i1\n"
    "    %r = arith.select %e, %x0, %x1 :t",
    "not": "%c = arith.cmpf ogt, %x0, %x1 :t\n    %yes = arith.constant true\n    %d = arith.xori %c, %yes : i1\n"
    "    %r = arith.select %d, %x0, %one :t",
}

INDEX = {
    "causal": "%i = linalg.index 0 : index\n    %j = linalg.index 1 : index\n    %c = arith.cmpi sle, %j, %i : index\n"
    "    %r = arith.select %c, %x0, %zero :t",
    "window": "%i = linalg.index 0 : index\n    %j = linalg.index 1 : index\n    %a = arith.index_cast %i : index to i64\n"
    "    %b = arith.index_cast %j : index to i64\n    %d = arith.subi %a, %b : i64\n    %w = arith.constant 2 : i64\n"
    "    %z = arith.constant 0 : i64\n    %c = arith.cmpi slt, %d, %w : i64\n    %e = arith.cmpi sge, %d, %z : i64\n"
    "    %f = arith.andi %c, %e : i1\n    %r = arith.select %f, %x0, %half :t",
    "parity": "%i = linalg.index 0 : index\n    %j = linalg.index 1 : index\n    %s = arith.addi %i, %j : index\n"
    "    %k = arith.constant 2 : index\n    %m = arith.remui %s, %k : index\n    %n = arith.index_cast %m : index to i32\n"
    "    %f = arith.sitofp %n : i32 to f32\n    %r = arith.mulf %f, %x0 :t",
    "chosen": "%j = linalg.index 1 : index\n    %k = arith.constant 1 : index\n    %c = arith.cmpi eq, %j, %k : index\n"
    "    %n = math.exp %x0 :t\n    %r = arith.select %c, %n, %x0 :t",
}


def body(text: str) -> str:
    return f"{CONSTANTS}\n    {text}"


class Sliced(Text):
    """Text with slices and concatenations."""

    def sliced(self, value: str, offsets: Sequence[int], sizes: Sequence[int], steps: Sequence[int]) -> str:
        result = self.name(sizes)
        self.line(
            f"{result} = tensor.extract_slice {value}{list(offsets)} {list(sizes)} {list(steps)} "
            f": {tensor(self.shapes[value])} to {tensor(sizes)}"
        )
        return result

    def joined(self, values: Sequence[str], dim: int) -> str:
        """Written into each other, as exporters do that have no concatenation (upstream's JIT has none either)."""
        shape = list(self.shapes[values[0]])
        shape[dim] = sum(self.shapes[v][dim] for v in values)
        result = self.name(shape)
        self.line(f"{result} = tensor.empty() : {tensor(shape)}")
        at = 0
        for value in values:
            previous, result, offsets = result, self.name(shape), [0] * len(shape)
            offsets[dim], at = at, at + self.shapes[value][dim]
            sizes = list(self.shapes[value])
            self.line(
                f"{result} = tensor.insert_slice {value} into {previous}{offsets} {sizes} {[1] * len(shape)} "
                f": {tensor(sizes)} into {tensor(shape)}"
            )
        return result


def agree(source: str, seed: int = 0, steps: int = 8, terms: int = 216, jit: str = "") -> Program:
    """``steps`` operations in f32, each a sum of at most ``terms``, on numbers no larger than the largest result's scale."""
    program, compiled = import_file(source), compile_module(jit or source)
    rng = np.random.default_rng(seed)
    args = [
        rng.integers(0, 2, a.shape).astype(a.numpy_dtype)
        if a.element == "i8"
        else rng.standard_normal(a.shape).astype(np.float32)
        for a in compiled.arguments
    ]
    for exact, got in zip(program.run(args), compiled(*args), strict=True):
        assert exact.shape == got.shape
        assert np.array_equal(np.isfinite(exact), np.isfinite(got))
        scale = max(1.0, float(np.max(np.abs(exact), initial=0, where=np.isfinite(exact))))
        with np.errstate(invalid="ignore"):
            distance = np.where(np.isfinite(exact), np.abs(exact - got), 0.0)
        assert np.max(distance, initial=0) <= 2.0**-24 * steps * terms * scale
    return program


@pytest.mark.parametrize("name", UNARY)
def test_unary(name: str) -> None:
    """A scalar function of one tensor is one operator, however it is written."""
    text = Text([5, 7])
    result = text.map(body(UNARY[name]), ("%a0", "mk"))
    # a cast through f16 loses 11 bits more than f32 arithmetic; the algebra takes it for the identity
    program = agree(text.done(result), steps=8 if name != "cast" else 2**13)
    assert len(program.nodes) == (name != "cast")


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("indices", [("mk", "mk"), ("mk", "k"), ("m", "km")])
def test_binary(name: str, indices: tuple[str, str]) -> None:
    size = {"m": 5, "k": 7}
    text = Text(*([size[c] for c in index] for index in indices))
    result = text.map(body(BINARY[name]), ("%a0", indices[0]), ("%a1", indices[1]), letters="mk")
    agree(text.done(result))


@pytest.mark.parametrize("name", INDEX)
def test_index(name: str) -> None:
    """Masks made of loop indices are constants of the program."""
    text = Text([5, 7])
    program = agree(text.done(text.map(body(INDEX[name]), ("%a0", "mk"))))
    assert [i.arg for i in program.inputs] == [0, *[None] * (len(program.inputs) - 1)]
    assert len(program.inputs) > 1


def test_a_mask_over_indices_that_a_reshape_splits() -> None:
    text = Text([4, 6])
    masked = text.map(body(INDEX["causal"]), ("%a0", "mk"))
    flat = text.reshape(masked, [[0], [1, 2]], [4, 2, 3])
    agree(text.done(text.reduce(flat, "abc", "ac")))


@pytest.mark.parametrize("combine", ["addf", "maximumf", "minimumf"])
def test_reductions(combine: str) -> None:
    text = Text([4, 6, 3])
    initial = {"addf": "0.0", "maximumf": "0xFF800000", "minimumf": "0x7F800000"}[combine]
    result = text.generic("abc", [("%a0", "abc")], "b", f"%r = arith.{combine} %x0, %o : f32", initial)
    agree(text.done(result))


MASKED = """
func.func @f(%a: tensor<4x6xf32>, %m: tensor<4x6xi1>, %row: tensor<6xi1>) -> tensor<4x6xf32> {
  %low = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x6xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>,
                                        affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
       ins(%a, %m, %row : tensor<4x6xf32>, tensor<4x6xi1>, tensor<6xi1>) outs(%e : tensor<4x6xf32>) {
  ^bb0(%x: f32, %p: i1, %q: i1, %o: f32):
    BODY
    linalg.yield %r : f32
  } -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}
"""


@pytest.mark.parametrize(
    "text",
    [
        "%r = arith.select %p, %x, %low : f32",
        "%r = arith.select %p, %zero, %x : f32",
        "%b = arith.andi %p, %q : i1\n    %r = arith.select %b, %x, %zero : f32",
        "%b = arith.ori %p, %q : i1\n    %n = arith.negf %x : f32\n    %r = arith.select %b, %x, %n : f32",
        "%t = arith.constant true\n    %b = arith.xori %p, %t : i1\n    %r = arith.select %b, %x, %zero : f32",
        "%b = arith.uitofp %p : i1 to f32\n    %r = arith.mulf %x, %b : f32",
        "%b = arith.extui %q : i1 to i32\n    %c = arith.sitofp %b : i32 to f32\n    %r = arith.addf %x, %c : f32",
        "%b = arith.sitofp %p : i1 to f32\n    %r = arith.addf %x, %b : f32",
    ],
)
def test_boolean_arguments(text: str) -> None:
    """Upstream's JIT has no tensors of i1; it gets the same masks as bytes."""
    source = MASKED.replace("BODY", text)
    narrow = "%p = arith.trunci %p8 : i8 to i1\n    %q = arith.trunci %q8 : i8 to i1\n    "
    as_bytes = MASKED.replace("xi1", "xi8").replace("%p: i1, %q: i1", "%p8: i8, %q8: i8").replace("BODY", narrow + text)
    agree(source, jit=as_bytes)


def test_slices_of_a_product_are_products_of_slices() -> None:
    """x . W cut into three: three products with views of W, and nothing else."""
    text = Sliced([4, 8], [8, 24])
    y = text.contract(("%a0", "mk"), ("%a1", "kn"), "mn", "mnk")
    parts = [text.sliced(y, [0, 8 * k], [4, 8], [1, 1]) for k in range(3)]
    program = agree(text.done(*parts))
    assert [node.op.name for node in program.nodes] == ["matmul"] * 3
    assert sorted(i.offset for i in program.inputs) == [0, 0, 8, 16]


@pytest.mark.parametrize(
    ("offsets", "sizes", "steps"),
    [([1, 2], [2, 3], [1, 1]), ([0, 1], [4, 3], [1, 2]), ([3, 0], [1, 6], [1, 1]), ([0, 5], [4, 1], [1, 1])],
)
def test_slices_through_everything(offsets: list[int], sizes: list[int], steps: list[int]) -> None:
    text = Sliced([4, 8], [8, 6])
    y = text.contract(("%a0", "mk"), ("%a1", "kn"), "mn", "mnk")
    soft = text.softmax(y, "mn", "n")
    masked = text.map(body(INDEX["causal"]), (soft, "mn"))
    agree(text.done(text.sliced(masked, offsets, sizes, steps)))


def test_slices_of_reshaped_dims() -> None:
    """Heads: a slice of whole heads follows the reshape into heads; one that cuts a head does not."""
    text = Sliced([4, 24])
    heads = text.reshape("%a0", [[0], [1, 2]], [4, 6, 4])
    kept = text.sliced("%a0", [0, 8], [4, 12], [1, 1])
    program = agree(text.done(text.map(UNARY["tanh"], (heads, "abc")), text.map(UNARY["neg"], (kept, "ab"))))
    assert len(program.outputs) == 2
    text = Sliced([4, 24])
    heads = text.reshape("%a0", [[0], [1, 2]], [4, 6, 4])
    cut = text.sliced("%a0", [0, 2], [4, 12], [1, 1])
    with pytest.raises(UnsupportedError, match=r"tensor.extract_slice of a dim that a reshape splits"):
        import_file(text.done(text.map(UNARY["tanh"], (heads, "abc")), cut))


def test_rotary_embedding() -> None:
    """x*cos + [-x2, x1]*sin, then scores: the halves meet in a sum of two products."""
    text = Sliced([4, 8], [4, 8], [4, 8], [5, 8])
    low, high = text.sliced("%a0", [0, 0], [4, 4], [1, 1]), text.sliced("%a0", [0, 4], [4, 4], [1, 1])
    turned = text.joined([text.map(UNARY["neg"], (high, "ab")), low], 1)
    left = text.map(BINARY["mul"], ("%a0", "ab"), ("%a1", "ab"))
    right = text.map(BINARY["mul"], (turned, "ab"), ("%a2", "ab"))
    rotated = text.map(BINARY["add"], (left, "ab"), (right, "ab"))
    program = agree(text.done(text.contract((rotated, "md"), ("%a3", "nd"), "mn", "mnd")))
    assert [node.op.name for node in program.nodes].count("matmul") == 2


def test_attention_over_a_cache_and_a_new_token() -> None:
    """softmax over concatenated keys: sums of two parts, without a maximum; the joined cache itself is a result in two parts."""
    text = Sliced([3, 8], [6, 8], [1, 8], [6, 8], [1, 8])
    keys, values = text.joined(["%a1", "%a2"], 0), text.joined(["%a3", "%a4"], 0)
    scores = text.contract(("%a0", "md"), (keys, "nd"), "mn", "mnd")
    out = text.contract((text.softmax(scores, "mn", "n"), "mn"), (values, "nd"), "md", "mdn")
    program = agree(text.done(out, text.map(UNARY["tanh"], (keys, "ab"))))
    names = [node.op.name for node in program.nodes]
    assert "reduce_max" not in names and "max" not in names
    assert [(o.result, o.offset) for o in program.outputs] == [(0, 0), (1, 0), (1, 48)]


def test_insert_slice_over_a_known_tensor() -> None:
    """Overwriting the middle of a tensor keeps its two ends."""
    text = Sliced([4, 8], [4, 3])
    result = text.name([4, 8])
    negative = text.map(UNARY["neg"], ("%a0", "ab"))
    text.line(
        f"{result} = tensor.insert_slice %a1 into {negative}[0, 2] [4, 3] [1, 1] : tensor<4x3xf32> into tensor<4x8xf32>"
    )
    program = agree(text.done(text.reduce(result, "ab", "a")))
    assert len(program.outputs) == 1
    agree(text.done(result))


def test_concat_is_read_as_the_insertions_it_stands_for() -> None:
    source = """func.func @f(%a: tensor<4x6xf32>, %b: tensor<4x3xf32>) -> tensor<4xf32> {
  %z = arith.constant dense<0.0> : tensor<4xf32>
  %c = tensor.concat dim(1) %a, %b : (tensor<4x6xf32>, tensor<4x3xf32>) -> tensor<4x9xf32>
  %r = linalg.reduce { arith.addf } ins(%c : tensor<4x9xf32>) outs(%z : tensor<4xf32>) dimensions = [1]
  return %r : tensor<4xf32>
}"""
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((4, 6)).astype(np.float32), rng.standard_normal((4, 3)).astype(np.float32)
    (got,) = import_file(source).run([a, b])
    assert np.allclose(got, np.concatenate([a, b], 1).astype(np.float64).sum(1), rtol=1e-12)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("%r = tensor.extract_slice %a[%i, 0] [2, 6] [1, 1] : tensor<4x6xf32> to tensor<2x6xf32>", "not constant"),
        ("%w = arith.index_cast %i : index to i32 %f = arith.sitofp %w : i32 to f32 "
         "%r = tensor.pad %a low[0, 0] high[0, 1] {\n ^bb0(%p: index, %q: index):\n tensor.yield %f : f32\n } "
         ": tensor<4x6xf32> to tensor<4x7xf32>", "tensor.pad by a width or a value that is not constant"),
    ],
)  # fmt: skip
def test_what_is_not_supported_is_named(line: str, message: str) -> None:
    kind = line.rsplit(" ", 1)[1]
    head = f"func.func @f(%a: tensor<4x6xf32>, %i: index) -> {kind} {{\n%c = arith.constant 0.0 : f32"
    source = f"{head}\n{line}\nreturn %r : {kind}\n}}"
    with pytest.raises(UnsupportedError, match=message) as caught:
        import_file(source)
    assert caught.value.location is not None and caught.value.location.line == 3


class Maker:
    """A random program over all operators. Letters stand for loops; a slice or a join gives a dim a letter of its own."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.size = {c: self.rng.choice([2, 3, 4, 6]) for c in "abcd"}
        indices = ["".join(self.rng.sample("abcd", self.rng.choice([1, 2, 2, 3]))) for _ in range(3)]
        self.text = Sliced(*[[self.size[c] for c in index] for index in indices])
        self.values = [(f"%a{k}", index) for k, index in enumerate(indices)]

    def fresh(self, size: int) -> str:
        letter = chr(ord("e") + len(self.size) - 4)
        self.size[letter] = size
        return letter

    def step(self) -> None:
        kind = self.rng.choice(
            ["unary", "unary", "binary", "binary", "reduce", "contract", "softmax", "slice", "join", "index"]
        )
        (left, i), (right, j) = self.rng.choice(self.values), self.rng.choice(self.values)
        both = "".join(dict.fromkeys(i + j))
        text, rng = self.text, self.rng
        if len(both) > 4:
            return
        if kind == "unary":
            names = [
                n for n in UNARY if n not in ("exp", "cube", "cast")
            ]  # bounded growth, so that f32 does not overflow
            self.values.append((text.map(body(UNARY[rng.choice(names)]), (left, i)), i))
        elif kind == "binary":
            # comparisons of computed values would hang on rounding
            names = ["add", "sub", "mul", "max", "min"] + (
                ["masked", "where", "both", "not"] if left[1] == right[1] == "a" else []
            )
            self.values.append((text.map(body(BINARY[rng.choice(names)]), (left, i), (right, j), letters=both), both))
        elif kind == "reduce" and i:
            out = "".join(rng.sample(i, rng.randint(0, len(i) - 1)))
            combine, initial = rng.choice([("addf", "0.0"), ("maximumf", "0xFF800000"), ("minimumf", "0x7F800000")])
            self.values.append((text.generic(i, [(left, i)], out, f"%r = arith.{combine} %x0, %o : f32", initial), out))
        elif kind == "contract":
            out = "".join(c for c in both if rng.random() < 0.6)
            self.values.append((text.contract((left, i), (right, j), out, both), out))
        elif kind == "softmax" and i:
            self.values.append((text.softmax(left, i, rng.choice(i)), i))
        elif kind == "index" and len(i) >= 2:
            self.values.append((text.map(body(INDEX[rng.choice(list(INDEX))]), (left, i)), i))
        elif kind == "slice" and i:
            self.slice(left, i)
        elif kind == "join" and i and sorted(i) == sorted(j):
            self.values.append(self.join(left, text.map(UNARY["neg"], (right, j), letters=i) if i != j else right, i))

    def slice(self, value: str, index: str) -> None:
        d = self.rng.randrange(len(index))
        whole = self.size[index[d]]
        step = self.rng.choice([1, 1, 2])
        count = self.rng.randint(1, (whole + step - 1) // step)
        offset = self.rng.randint(0, whole - (count - 1) * step - 1)
        shape = [self.size[c] for c in index]
        offsets, steps = [0] * len(index), [1] * len(index)
        shape[d], offsets[d], steps[d] = count, offset, step
        letter = index[d] if count == whole else self.fresh(count)
        self.values.append((self.text.sliced(value, offsets, shape, steps), index[:d] + letter + index[d + 1 :]))

    def join(self, left: str, right: str, index: str) -> tuple[str, str]:
        d = self.rng.randrange(len(index))
        letter = self.fresh(2 * self.size[index[d]])
        return self.text.joined([left, right], d), index[:d] + letter + index[d + 1 :]

    def done(self) -> str:
        for _ in range(self.rng.randint(2, 7)):
            self.step()
        return self.text.done(
            *(v for v, _ in self.rng.sample(self.values, self.rng.choice([1, 2]))), self.values[-1][0]
        )


@pytest.mark.parametrize("seed", range(80))
def test_random_program(seed: int) -> None:
    agree(Maker(seed).done(), seed, steps=16, terms=4096)
