"""The Python interface: load a module, pick a kernel, run it on NumPy arrays."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from operator import index
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from prism_mlir.runtime.ptx.checks import Checks
from prism_mlir.runtime.ptx.checks.cross_block import MAX_BLOCKS, BlockConflict, BlockShadow
from prism_mlir.runtime.ptx.checks.order import SyncClock
from prism_mlir.runtime.ptx.checks.race import SharedShadow
from prism_mlir.runtime.ptx.checks.witness import Rerun, with_witness
from prism_mlir.runtime.ptx.counters import Counters
from prism_mlir.runtime.ptx.decode import Decoded, decode
from prism_mlir.runtime.ptx.engine import Engine
from prism_mlir.runtime.ptx.errors import CheckError, LaunchError, Location, PtxSyntaxError, RuntimeLimit
from prism_mlir.runtime.ptx.lines import LineCounters
from prism_mlir.runtime.ptx.memory import RED_ZONE, Arena, AsyncQueue, Buffer, GlobalMemory, Placed
from prism_mlir.runtime.ptx.parser import parse
from prism_mlir.runtime.ptx.program import Param, Program, Variable
from prism_mlir.runtime.ptx.provenance import Uses, uses
from prism_mlir.runtime.ptx.specials import SPECIALS
from prism_mlir.runtime.ptx.state import State
from prism_mlir.runtime.ptx.types import Array

LANES_PER_BATCH = 16384
# What a launch may need beyond its buffers; the parts are bounded one by one (``BYTES_PER_BATCH``, ``VARIABLES``, copies in
# flight, what threads have released, instructions that are compiled).
MEMORY = 2 << 30
BYTES_PER_BATCH = 1 << 28  # of shared and local memory, their shadows, and registers
VARIABLES = 1 << 28  # bytes of a module's .global and .const variables
LOCAL_LIMIT = 512 << 10  # bytes of local memory a thread (CUDA programming guide, "Technical Specifications")
STATIC_SHARED = 48 * 1024
# Shared memory a block may have (CUDA programming guide, "Technical Specifications per Compute Capability").
SHARED_LIMIT = {
    70: 96 << 10,
    72: 96 << 10,
    75: 64 << 10,
    80: 163 << 10,
    86: 99 << 10,
    87: 163 << 10,
    89: 99 << 10,
    120: 99 << 10,
}
# What the fast engine can check.
FAST_CHECKS = Checks(uninitialised=False, async_copy=False, barrier=False, convergence=False)
Arg = npt.NDArray[Any] | int | float | np.generic | bytes
Triple = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class RunResult:
    """What a launch gives back; results are in the arrays that were passed.

    Attributes:
        counters: what a profiler would count.
        unwritten: for each argument declared an output of which some bytes were never written, how many (empty when the
            ``uninitialised`` check is off). A kernel that should fill its output and does not is wrong without breaking any rule.
        engine: which engine the results come from, ``reference`` or ``fast``.
        fallback_reason: why the fast engine was asked for but did not do it, located; else empty.
        lines: the counters of each line of the PTX that was executed, where they were asked for.
    """

    counters: Counters
    unwritten: Mapping[int, int]
    engine: str = "reference"
    fallback_reason: str = ""
    lines: Mapping[int, Counters] = field(default_factory=dict)


class Module:
    """A parsed PTX module, all kernels decoded.

    Example::

        module = Module.load("gemm.ptx")
        module.kernel("gemm").run(grid=(64, 1, 1), block=(128, 1, 1), args=[x, w, out], outputs={2})
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.kernels: Mapping[str, KernelHandle] = {
            name: KernelHandle(program, decode(program, kernel)) for name, kernel in program.kernels.items()
        }

    @classmethod
    def load(cls, source: str | Path, name: str | None = None) -> Module:
        """Parse and decode PTX.

        Args:
            source: a path (``Path``, or a one-line string that does not contain ``.version``), or the text itself.
            name: how messages name the file; the path by default.

        Raises:
            PtxSyntaxError: located, for what is not PTX, and for directives and instructions that the machine does not know.
        """
        if isinstance(source, Path) or ("\n" not in source and ".version" not in source and source.strip()):
            path = Path(source)
            name = name or str(source)
            try:
                text = path.read_bytes().decode("utf-8")
            except OSError as problem:
                raise PtxSyntaxError(f"cannot read the file: {problem.strerror}", Location(name, 1, 1)) from None
            except UnicodeDecodeError:
                raise PtxSyntaxError("the file is not text; expected PTX", Location(name, 1, 1)) from None
            except ValueError:  # no name that a file can have
                raise PtxSyntaxError("neither PTX nor the name of a file", Location(ascii(name), 1, 1)) from None
        else:
            text = source
        return cls(parse(text, name or "<ptx>"))

    def kernel(self, name: str) -> KernelHandle:
        """The kernel called ``name``.

        Raises:
            LaunchError: there is none.
        """
        if name not in self.kernels:
            known = ", ".join(sorted(self.kernels)) or "none"
            raise LaunchError(f"no kernel '{name}' in {self.program.name}; it has: {known}")
        return self.kernels[name]


class KernelHandle:
    """A kernel that can be run."""

    def __init__(self, program: Program, decoded: Decoded) -> None:
        self.program = program
        self.decoded = decoded
        self.name = decoded.kernel.name
        self._uses: Uses = uses(decoded)
        self._compiled: dict[Any, Any] = {}

    @property
    def params(self) -> tuple[Param, ...]:
        return self.decoded.kernel.params

    @property
    def static_shared(self) -> int:
        """Bytes of static shared memory, padding included."""
        end = 0
        for v in _shared_variables(self.program, self.decoded):
            if not v.extern:
                end = -(-end // v.align) * v.align + v.size
        return end

    def run(
        self,
        *,
        grid: Sequence[int],
        block: Sequence[int],
        args: Sequence[Arg],
        shared_bytes: int = 0,
        checks: Checks | None = None,
        outputs: Collection[int] = (),
        max_steps: int = 5_000_000,
        lanes_per_batch: int = LANES_PER_BATCH,
        detailed_counters: bool = False,
        engine: str = "reference",
        exact_mma: bool = False,
        by_line: bool = False,
    ) -> RunResult:
        """Run the kernel on the CPU; arrays are modified in place.

        Args:
            grid, block: extents in x, y, z (missing ones are 1).
            args: one a parameter. A NumPy array for a pointer (its bytes are the buffer, whatever its type: bf16 is
            passed as uint16), a number
                for a scalar, ``bytes`` for a parameter passed by value as a byte array.
            shared_bytes: dynamic shared memory in bytes.
            checks: which checks are on; by default all that the engine has.
            outputs: indices of ``args`` whose content starts uninitialised: reading an element before writing it is an error.
            max_steps: instructions that a batch of blocks may issue before it is taken for an endless loop; the fast engine
                counts those of a warp.
            lanes_per_batch: how many threads run together (memory and speed only).
            detailed_counters: also count sectors and bank conflicts, at some cost.
            engine: ``reference``; ``fast``, compiled code that checks ``FAST_CHECKS`` at most; or ``auto``, which is fast where
                the checks allow it. The fast engine leaves a launch to the reference engine where threads of a warp
                diverge at a barrier, where an instruction is not compiled, and where it suspects a bug; ``RunResult`` tells.
            exact_mma: sums of ``mma`` to the last bit as Ampere's tensor cores form them, at some cost, and not on the fast
                engine; otherwise both engines sum in f32, in order.
            by_line: also count for each line of the PTX by itself; not on the fast engine.

        Raises:
            LaunchError: the launch does not fit the kernel, or the checks do not fit the engine.
            CheckError: a check found a bug; ``kind`` says which.
            RuntimeLimit: ``max_steps`` was reached, or the launch needs more than its share of ``MEMORY``.
            TrapError: the kernel trapped.
        """
        slow = {"detailed counters": detailed_counters, "exact sums of mma": exact_mma, "counters by line": by_line}
        fast = _wants_fast(engine, checks, slow)
        checks = checks or (FAST_CHECKS if engine == "fast" else Checks())
        launch = _Launch(self, _triple(grid, "grid"), _triple(block, "block"), args, shared_bytes, checks, outputs)
        launch.exact_mma = exact_mma
        launch.lines = LineCounters(detailed_counters) if by_line else None
        reason = ""
        try:
            if fast:
                counters = Counters()
                refused = self._run_fast(launch, counters, max_steps)
                if refused is None:
                    return RunResult(counters, {}, "fast")
                reason = refused
            counters = Counters(detailed=detailed_counters)
            launch.run(counters, max_steps, lanes_per_batch)
        except BlockConflict as found:
            raise launch.second_thread(found, max_steps, lanes_per_batch) from None
        finally:
            launch.finish()
        lines = {} if launch.lines is None else launch.lines.of
        return RunResult(counters, launch.unwritten(), "reference", reason, lines)

    def _run_fast(self, launch: _Launch, counters: Counters, max_steps: int) -> str | None:
        """Run compiled code; returns why it was not done, or None."""
        try:
            from prism_mlir.runtime.ptx import jit
        except ImportError as problem:
            return f"the fast engine needs llvmlite: {problem}"
        refusal = jit.run(launch, self._compiled, counters, max_steps)
        return None if refusal is None else refusal.reason

    @property
    def uses(self) -> Uses:
        """Which parameters the kernel reads and writes through, as far as the text tells."""
        return self._uses


def _wants_fast(engine: str, checks: Checks | None, more: Mapping[str, bool]) -> bool:
    """Whether to try the fast engine.

    Raises:
        LaunchError: there is no such engine, or it cannot do what is asked.
    """
    if engine not in ("reference", "fast", "auto"):
        raise LaunchError(f"unknown engine '{engine}'; choose reference, fast or auto")
    if not isinstance(checks, Checks | None):
        raise LaunchError(f"checks are a Checks, as in Checks() or Checks.none(), not {checks!r}")
    wanted = checks or (FAST_CHECKS if engine == "fast" else Checks())
    missing = [f.name for f in fields(Checks) if getattr(wanted, f.name) and not getattr(FAST_CHECKS, f.name)]
    missing += [name for name, wanted_too in more.items() if wanted_too]
    if engine == "fast" and missing:
        raise LaunchError(f"the fast engine does not have: {', '.join(missing)}; use the reference engine")
    return engine != "reference" and not missing


def _triple(extent: Sequence[int], what: str) -> Triple:
    limits = (2**31 - 1, 65535, 65535) if what == "grid" else (1024, 1024, 64)
    try:
        values = tuple(index(x) for x in extent)
    except TypeError:  # text, a single number, fractions
        values = ()
    if not 1 <= len(values) <= 3 or any(v < 1 for v in values):
        raise LaunchError(f"the {what} needs one to three positive extents, such as (64, 1, 1), not {extent!r}")
    padded = (*values, 1, 1)[:3]
    if any(v > limit for v, limit in zip(padded, limits, strict=True)):
        raise LaunchError(f"the {what} {padded} exceeds the limits {limits}")
    if what == "block" and padded[0] * padded[1] * padded[2] > 1024:
        raise LaunchError(f"a block of {padded} has more than 1024 threads")
    if what == "grid" and padded[0] * padded[1] * padded[2] > MAX_BLOCKS:
        raise LaunchError(f"a grid of {padded} has more than the {MAX_BLOCKS} blocks that the machine can tell apart")
    return (padded[0], padded[1], padded[2])


def _shared_variables(program: Program, decoded: Decoded) -> list[Variable]:
    return [v for v in (*program.variables, *decoded.kernel.variables) if v.space == "shared"]


class _Launch:
    """Everything that stays the same from batch to batch."""

    def __init__(
        self,
        kernel: KernelHandle,
        grid: Triple,
        block: Triple,
        args: Sequence[Arg],
        shared_bytes: int,
        checks: Checks,
        outputs: Collection[int],
    ) -> None:
        self.kernel = kernel
        self.program = kernel.program
        self.decoded = kernel.decoded
        self.uses = kernel.uses
        self.grid, self.block = grid, block
        self.checks = checks
        self.shared_bytes = shared_bytes
        self.exact_mma = False
        self.lines: LineCounters | None = None
        self.threads = block[0] * block[1] * block[2]
        self.blocks = grid[0] * grid[1] * grid[2]
        self._check_launch()
        self.memory = GlobalMemory()
        self.copied_back: list[tuple[npt.NDArray[Any], npt.NDArray[Any]]] = []
        self.buffer_of_param: dict[int, Buffer] = {}
        self.param = self._bind(args, outputs)
        self.symbols: dict[str, int] = {p.name: p.offset for p in kernel.params}
        self._globals()
        self.shared, self.shared_size = self._place("shared", shared_bytes)
        self.local, self.local_size = self._place("local", 0)
        self.block_bytes = self._block_bytes()
        self._shadows(outputs)

    def _check_launch(self) -> None:
        k = self.decoded.kernel
        if k.required_block is not None and k.required_block != self.block:
            raise LaunchError(f"kernel '{k.name}' requires blocks of {k.required_block}, not {self.block}", k.location)
        if k.max_threads is not None and self.threads > k.max_threads:
            raise LaunchError(
                f"kernel '{k.name}' allows {k.max_threads} threads a block, not {self.threads}", k.location
            )
        if not isinstance(self.shared_bytes, int | np.integer) or self.shared_bytes < 0:
            raise LaunchError(f"dynamic shared memory is a number of bytes, not {self.shared_bytes!r}")
        static, sm = self.kernel.static_shared, self.kernel.program.sm
        if static > STATIC_SHARED:
            what = f"kernel '{k.name}' has {static} bytes of static shared memory, more than the {STATIC_SHARED} that GPUs load"
            raise LaunchError(f"{what}; use dynamic shared memory", k.location)
        limit = SHARED_LIMIT.get(sm, 48 * 1024 if sm < 70 else 227 * 1024)
        total = static + self.shared_bytes
        if total > limit:
            what = f"kernel '{k.name}' needs {total} bytes of shared memory, more than the {limit} of sm_{sm}"
            raise LaunchError(what, k.location)

    # -- arguments ------------------------------------------------------------------------------------------------

    def _bind(self, args: Sequence[Arg], outputs: Collection[int]) -> Array:
        params = self.kernel.params
        if len(args) != len(params):
            raise LaunchError(
                f"kernel '{self.kernel.name}' has {len(params)} parameters, {len(args)} arguments were given"
            )
        arrays = [i for i, arg in enumerate(args) if isinstance(arg, np.ndarray)]
        bad = sorted((i for i in outputs if i not in arrays), key=str)
        if bad:
            raise LaunchError(f"outputs {bad} are not array arguments; these are {arrays}")
        size = max((p.offset + p.size for p in params), default=0)
        block = np.zeros(size, dtype=np.uint8)
        by_identity: dict[tuple[int, int], Buffer] = {}
        for i, (param, arg) in enumerate(zip(params, args, strict=True)):
            raw = self._argument(i, param, arg, by_identity)
            block[param.offset : param.offset + param.size] = np.frombuffer(raw, dtype=np.uint8)
        return block

    def _argument(self, i: int, param: Param, arg: Arg, by_identity: dict[tuple[int, int], Buffer]) -> bytes:
        if isinstance(arg, bytes):
            if len(arg) != param.size:
                raise LaunchError(f"argument {i} ('{param.name}') takes {param.size} bytes, not {len(arg)}")
            return arg
        if isinstance(arg, np.ndarray):
            if param.scalar.bits != 64 or param.is_array or param.scalar.kind == "f":
                number = "; give a number, as in x.item()" if arg.size == 1 else ""
                raise LaunchError(f"argument {i} ('{param.name}') is a {param.scalar.name}, not a pointer{number}")
            buffer = self._buffer(param.name, arg, by_identity)
            self.buffer_of_param[i] = buffer
            return buffer.base.to_bytes(8, "little")
        if param.is_array:
            raise LaunchError(f"argument {i} ('{param.name}') takes {param.size} bytes by value; pass a bytes object")
        return _encode_scalar(i, param, arg)

    def _buffer(self, name: str, arg: npt.NDArray[Any], by_identity: dict[tuple[int, int], Buffer]) -> Buffer:
        """Equal memory passed twice is one buffer."""
        if arg.dtype.hasobject:
            raise LaunchError(f"argument '{name}' is an array of Python objects, not of numbers")
        key = (arg.ctypes.data, arg.nbytes)
        if key in by_identity and arg.nbytes:
            return by_identity[key]
        plain = arg
        if not arg.flags.c_contiguous:
            plain = np.ascontiguousarray(arg)
            self.copied_back.append((arg, plain))
        data = plain.reshape(-1).view(np.uint8) if plain.nbytes else np.zeros(0, dtype=np.uint8)
        buffer = self.memory.add(name, data, writable=bool(arg.flags.writeable))
        by_identity[key] = buffer
        return buffer

    def _globals(self) -> None:
        own = [v for v in (*self.program.variables, *self.decoded.kernel.variables) if v.space in ("global", "const")]
        total = sum(v.size for v in own)
        if total > VARIABLES:
            raise RuntimeLimit(f"the module's .global and .const variables have {total} bytes; at most {VARIABLES} fit")
        for v in own:
            data = np.zeros(v.size, dtype=np.uint8)
            if v.init is not None:
                data[: len(v.init)] = np.frombuffer(v.init, dtype=np.uint8)
            self.symbols[v.name] = self.memory.add(v.name, data, writable=v.space == "global").base

    # -- memory layout --------------------------------------------------------------------------------------------

    def _place(self, space: str, dynamic: int) -> tuple[tuple[Placed, ...], int]:
        """Addresses of the variables of a state space, with red zones between; the size of one copy of all."""
        variables = [v for v in (*self.kernel.program.variables, *self.decoded.kernel.variables) if v.space == space]
        placed: list[Placed] = []
        zone = max((RED_ZONE, *(v.align for v in variables)))
        plain, gap = 0, 0
        for v in variables:
            if v.extern:
                continue
            plain = -(-plain // v.align) * v.align
            placed.append(Placed(v.name, plain + gap, v.size))
            self.symbols[v.name] = plain + gap
            plain += v.size
            gap += zone
        extern = [v for v in variables if v.extern]
        align = max((16, *(v.align for v in extern)))
        for v in extern:  # all of them are names of one place
            self.symbols[v.name] = -(-plain // align) * align + gap
        if extern:
            placed.append(Placed(extern[0].name, self.symbols[extern[0].name], dynamic))
        end = max((p.start + p.size for p in placed), default=0)
        return tuple(placed), -(-max(end, 16) // 128) * 128

    def _block_bytes(self) -> int:
        """What one block needs while it runs: shared and local memory with their shadows, and registers."""
        k = self.decoded.kernel
        bytes_of_locals = sum(v.size for v in self.local)
        if bytes_of_locals > LOCAL_LIMIT:
            what = f"kernel '{k.name}' has {bytes_of_locals} bytes of local memory a thread, more than the {LOCAL_LIMIT} of GPUs"
            raise LaunchError(what, k.location)
        padded = -(-self.threads // 32) * 32
        # Up to four stamps of eight bytes a cell shadow the shared memory; local memory has a flag a byte.
        shared = self.shared_size * (1 + 32 // self.uses.shared_cell)
        registers = sum(scalar.storage.itemsize for scalar in self.decoded.layout.scalars)
        total = shared + padded * (2 * self.local_size * bool(self.local) + registers)
        if total > BYTES_PER_BATCH:
            what = f"a block of kernel '{k.name}' needs {total} bytes for shared and local memory and registers"
            raise RuntimeLimit(f"{what}, more than {BYTES_PER_BATCH}; use smaller blocks", k.location)
        return total

    def _shadows(self, outputs: Collection[int]) -> None:
        """Shadows of the buffers that the kernel may write, and of outputs."""
        if not (self.checks.cross_block or self.checks.uninitialised):
            return
        poisoned = {id(self.buffer_of_param[i]) for i in outputs}
        written = {id(buffer) for buffer in self.written()}
        for buffer in self.memory.buffers:
            if id(buffer) in poisoned or (id(buffer) in written and self.checks.cross_block):
                buffer.shadow = BlockShadow(buffer, self.uses.cell(self._names(buffer)), id(buffer) in poisoned)

    def _names(self, buffer: Buffer) -> set[str]:
        """The parameters that point to a buffer, or the variable that it is."""
        params = self.kernel.params
        return {params[i].name for i, b in self.buffer_of_param.items() if b is buffer} | {buffer.name}

    def written(self) -> list[Buffer]:
        """The buffers that the kernel may write."""
        return [b for b in self.memory.buffers if b.writable and self.uses.may_write(self._names(b))]

    def unwritten(self) -> dict[int, int]:
        """Bytes of each output that no block has written."""
        missing: dict[int, int] = {}
        for i, buffer in self.buffer_of_param.items():
            if buffer.shadow is not None and buffer.shadow.poisoned and self.checks.uninitialised:
                empty = np.flatnonzero(buffer.shadow.writer == 0)
                bytes_left = sum(
                    min(buffer.shadow.cell_bytes, buffer.size - int(c) * buffer.shadow.cell_bytes) for c in empty[-1:]
                )
                bytes_left += max(0, empty.size - 1) * buffer.shadow.cell_bytes
                if bytes_left:
                    missing[i] = bytes_left
        return missing

    # -- batches --------------------------------------------------------------------------------------------------

    def run(self, counters: Counters, max_steps: int, lanes: int) -> None:
        size = self._together(lanes)
        for first in range(0, self.blocks, size):
            self._batch(first, min(size, self.blocks - first), counters, max_steps)

    def _together(self, lanes: int) -> int:
        """How many blocks run at once."""
        padded = -(-self.threads // 32) * 32
        return max(1, min(self.blocks, lanes // padded, BYTES_PER_BATCH // self.block_bytes))

    def _batch(self, first: int, blocks: int, counters: Counters, max_steps: int) -> None:
        Engine(self.decoded, self._state(first, blocks, counters), max_steps, self.lines).run()

    def second_thread(self, found: BlockConflict, max_steps: int, lanes: int) -> CheckError:
        """The error of a conflict, with the thread of the other block if a second run of that block shows it.

        What the arrays hold stays as it was at the conflict.
        """
        self.checks = Checks.none()
        kept = [(b.bytes.data, b.bytes.data.copy()) for b in self.written()]
        for buffer in self.memory.buffers:
            buffer.shadow = None
        again = Rerun(self.blocks, lambda at, n: self._batch(at, n, Counters(), max_steps), self._together(lanes))
        try:
            return with_witness(found.error, found.conflict, again)
        finally:
            for data, before in kept:
                data[:] = before

    def finish(self) -> None:
        """Copy results to where the caller expects them."""
        for buffer in self.memory.buffers:
            buffer.finish()
        for arg, plain in self.copied_back:
            if arg.flags.writeable:
                arg[...] = plain

    def plain_state(self, first: int = 0, blocks: int = 1) -> State:
        """A batch without memory, enough for the special registers."""
        st = State(
            blocks=blocks,
            threads=self.threads,
            first=first,
            grid=self.grid,
            block=self.block,
            kernel=self.kernel.name,
            checks=self.checks,
        )
        st.exact_mma = self.exact_mma
        st.static_shared, st.dynamic_shared = self.kernel.static_shared, self.shared_bytes
        return st

    def _state(self, first: int, blocks: int, counters: Counters) -> State:
        st = self.plain_state(first, blocks)
        st.memory, st.counters, st.param = self.memory, counters, self.param
        st.clock = SyncClock(st)
        st.shared = Arena("shared", self.shared, self.shared_size, st.lane_block, blocks)
        st.local = Arena("local", self.local, self.local_size, np.arange(st.n), st.n if self.local else 1)
        if self.checks.race or self.checks.uninitialised or self.checks.async_copy:
            cell = self.kernel.uses.shared_cell
            st.shared.cell_bytes = cell
            st.shared.shadow = SharedShadow(blocks * self.shared_size // cell, self.decoded.sites)
        if self.checks.uninitialised and self.local:
            st.local.written = np.zeros(st.local.bytes.data.shape, dtype=np.bool_)
        st.queue = AsyncQueue(st)
        st.regs = self._registers(st)
        return st

    def _registers(self, st: State) -> list[Array]:
        """Fresh registers hold poison: all ones, a NaN in every floating type."""
        layout = self.decoded.layout
        regs: list[Array] = []
        for scalar in layout.scalars:
            regs.append(np.zeros(1, np.bool_) if scalar.kind == "p" else ~np.zeros(1, dtype=scalar.storage))
        for constant in layout.constants.values():
            if constant.value is not None:
                regs[constant.slot] = constant.value
            elif constant.special:
                regs[constant.slot] = SPECIALS[constant.special].value(st)
            else:
                address = self.symbols[constant.symbol] + constant.offset
                kind = np.uint32 if constant.bits == 32 else np.uint64
                regs[constant.slot] = np.array([address & ((1 << constant.bits) - 1)], dtype=kind)
        return regs


def _encode_scalar(i: int, param: Param, arg: int | float | np.generic) -> bytes:
    scalar = param.scalar
    try:
        if scalar.kind == "f":
            return _encode_float(i, param, arg, scalar.value)
        if isinstance(arg, (np.floating, float)):
            kind = {16: np.float16, 32: np.float32, 64: np.float64}[scalar.bits]
            if scalar.kind != "b":
                raise LaunchError(f"argument {i} ('{param.name}') is a {scalar.name}; {arg!r} is no integer")
            return _encode_float(i, param, arg, np.dtype(kind))
        value = int(arg)
    except (TypeError, ValueError, KeyError):
        raise LaunchError(f"argument {i} ('{param.name}') cannot be a {type(arg).__name__}") from None
    if not -(1 << (scalar.bits - 1)) <= value < 1 << scalar.bits:
        raise LaunchError(f"argument {i} ('{param.name}'): {value} does not fit {scalar.name}")
    return (value & ((1 << scalar.bits) - 1)).to_bytes(scalar.bytes, "little")


def _encode_float(i: int, param: Param, arg: int | float | np.generic, kind: np.dtype[Any]) -> bytes:
    try:
        with np.errstate(over="ignore"):
            number = np.array([arg], dtype=kind)
        fits = np.isfinite(number[0]) or not np.isfinite(float(arg))
    except OverflowError:  # an integer beyond f64
        fits = False
    if not fits:
        raise LaunchError(f"argument {i} ('{param.name}'): {arg} does not fit f{param.scalar.bits}")
    return number.tobytes()
