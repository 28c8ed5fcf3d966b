"""Kernel graphs written by hand, in the shapes that search finds them in, and programs in other element types."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from prism_mlir.graph.block import Accum, BlockGraph, BlockNode, BlockOp, Load
from prism_mlir.graph.dtypes import DType
from prism_mlir.graph.kernel import CustomNode, KernelGraph, program_types
from prism_mlir.graph.mapping import Mapping
from prism_mlir.graph.ops import DIV, MATMUL, MUL, sum_, unary
from prism_mlir.graph.program import Program

SILU = unary("x/(1 + exp(-x))")


@dataclass
class Draft:
    """A block graph under construction; every method returns the number of the node it adds."""

    program: Program
    grid: tuple[str, ...] = ("x",)
    loop: str | None = "i"
    nodes: list[BlockNode] = field(default_factory=list)
    imap: list[tuple[int, ...]] = field(default_factory=list)
    fmap: list[int] = field(default_factory=list)
    saved: list[tuple[int, tuple[int, ...]]] = field(default_factory=list)

    def load(self, source: int, imap: tuple[int, ...], fmap: int | None) -> int:
        """``fmap`` None: an invariant load."""
        self.imap.append(imap)
        self.fmap.append(-1 if fmap is None else fmap)
        return self.add(Load(source, invariant=fmap is None))

    def add(self, op: BlockOp, *operands: int) -> int:
        self.nodes.append(BlockNode(op, operands))
        return len(self.nodes) - 1

    def accum(self, operand: int, monoid: str = "sum") -> int:
        return self.add(Accum(monoid), operand)

    def save(self, node: int, omap: tuple[int, ...]) -> None:
        self.saved.append((node, omap))

    def node(self) -> CustomNode:
        types = program_types(self.program)
        block = BlockGraph(self.grid, self.loop, types, tuple(self.nodes), tuple(n for n, _ in self.saved))
        mapping = Mapping(tuple(self.imap), tuple(self.fmap), tuple(o for _, o in self.saved))
        return CustomNode(block, tuple(range(len(types))), mapping)

    def graph(self) -> KernelGraph:
        count = len(self.program.inputs)
        graph = KernelGraph(
            program_types(self.program), (self.node(),), tuple(range(count, count + len(self.program.outputs)))
        )
        graph.check()
        return graph


def with_dtype(program: Program, dtype: DType) -> Program:
    """The same program with every tensor of another element type."""
    return replace(
        program,
        inputs=tuple(replace(i, dtype=dtype) for i in program.inputs),
        nodes=tuple(replace(n, dtype=dtype) for n in program.nodes),
        outputs=tuple(replace(o, dtype=dtype) for o in program.outputs),
    )


def _inverse_rms(program: Program) -> str:
    return f"rsqrt(x/{program.inputs[0].shape[1]} + 1e-06)"


def rms_norm_late(program: Program, sum_first: bool = True) -> KernelGraph:
    """(X . W accumulated) * rsqrt(sum of squares accumulated): the normalisation comes after the loop."""
    d = Draft(program)
    x, w = d.load(0, (-1,), 1), d.load(1, (1,), 0)
    square = d.add(unary("x**2"), x)
    total = d.accum(d.add(sum_(1), square)) if sum_first else d.add(sum_(1), d.accum(square))
    product = d.accum(d.add(MATMUL, x, w))
    d.save(d.add(MUL, product, d.add(unary(_inverse_rms(program)), total)), (1,))
    return d.graph()


def rms_norm_late_rows(program: Program) -> KernelGraph:
    """The same with the rows cut along a second grid dim."""
    d = Draft(program, ("x", "y"))
    x, w = d.load(0, (-1, 0), 1), d.load(1, (1, -1), 0)
    total = d.accum(d.add(sum_(1), d.add(unary("x**2"), x)))
    product = d.accum(d.add(MATMUL, x, w))
    d.save(d.add(MUL, product, d.add(unary(_inverse_rms(program)), total)), (1, 0))
    return d.graph()


def rms_norm_whole(program: Program) -> KernelGraph:
    """No loop: each block holds all of the inner dim, and the product's operand is computed."""
    d = Draft(program, loop=None)
    x, w = d.load(0, (-1,), None), d.load(1, (1,), None)
    total = d.add(sum_(1), d.add(unary("x**2"), x))
    normed = d.add(MUL, x, d.add(unary(_inverse_rms(program)), total))
    d.save(d.add(MATMUL, normed, w), (1,))
    return d.graph()


def rms_norm_two_loads(program: Program) -> KernelGraph:
    """X is loaded whole, before the loop, for the statistic, and again in tiles, which are normalised inside the loop."""
    d = Draft(program)
    whole, x, w = d.load(0, (-1,), None), d.load(0, (-1,), 1), d.load(1, (1,), 0)
    scale = d.add(unary(_inverse_rms(program)), d.add(sum_(1), d.add(unary("x**2"), whole)))
    d.save(d.accum(d.add(MATMUL, d.add(MUL, x, scale), w)), (1,))
    return d.graph()


def rms_norm_scaled_in_loop(program: Program) -> KernelGraph:
    """The product of each iteration is scaled, then accumulated in registers."""
    d = Draft(program)
    whole, x, w = d.load(0, (-1,), None), d.load(0, (-1,), 1), d.load(1, (1,), 0)
    scale = d.add(unary(_inverse_rms(program)), d.add(sum_(1), d.add(unary("x**2"), whole)))
    d.save(d.accum(d.add(MUL, d.add(MATMUL, x, w), scale)), (1,))
    return d.graph()


def rms_norm_mlp_late(program: Program) -> KernelGraph:
    """Both products accumulated, normalised after the loop, multiplied."""
    d = Draft(program)
    x, up, gate = d.load(0, (-1,), 1), d.load(1, (1,), 0), d.load(2, (1,), 0)
    scale = d.add(unary(_inverse_rms(program)), d.accum(d.add(sum_(1), d.add(unary("x**2"), x))))
    a, b = d.accum(d.add(MATMUL, x, up)), d.accum(d.add(MATMUL, x, gate))
    d.save(d.add(MUL, d.add(MUL, a, scale), d.add(MUL, b, scale)), (1,))
    return d.graph()


def rms_norm_mlp_shared_operand(program: Program) -> KernelGraph:
    """One computed operand, normalised in the loop, feeds both products."""
    d = Draft(program)
    whole, x = d.load(0, (-1,), None), d.load(0, (-1,), 1)
    up, gate = d.load(1, (1,), 0), d.load(2, (1,), 0)
    scale = d.add(unary(_inverse_rms(program)), d.add(sum_(1), d.add(unary("x**2"), whole)))
    normed = d.add(MUL, x, scale)
    d.save(d.add(MUL, d.accum(d.add(MATMUL, normed, up)), d.accum(d.add(MATMUL, normed, gate))), (1,))
    return d.graph()


def swiglu_late(program: Program) -> KernelGraph:
    """silu(X . W_gate) * (X . W_up), both accumulated."""
    d = Draft(program)
    x, gate, up = d.load(0, (-1,), 1), d.load(1, (1,), 0), d.load(2, (1,), 0)
    a, b = d.accum(d.add(MATMUL, x, gate)), d.accum(d.add(MATMUL, x, up))
    d.save(d.add(MUL, d.add(SILU, a), b), (1,))
    return d.graph()


def softmax_matmul_late(program: Program) -> KernelGraph:
    """Figure 1(c) of the paper: exp, its row sums and its product accumulated, divided after the loop."""
    d = Draft(program)
    x, w = d.load(0, (0,), 1), d.load(1, (-1,), 0)
    e = d.add(unary("exp(x)"), x)
    total, product = d.accum(d.add(sum_(1), e)), d.accum(d.add(MATMUL, e, w))
    d.save(d.add(DIV, product, total), (0,))
    return d.graph()


def attention_late(program: Program) -> KernelGraph:
    """Batched softmax(Q . K) . V, one batch entry a block, the length in the loop."""
    d = Draft(program)
    q, k, v = d.load(0, (0,), None), d.load(1, (0,), 2), d.load(2, (0,), 1)
    e = d.add(unary("exp(x)"), d.add(MATMUL, q, k))
    total, product = d.accum(d.add(sum_(2), e)), d.accum(d.add(MATMUL, e, v))
    d.save(d.add(DIV, product, total), (0,))
    return d.graph()
