"""The ``--arg`` of ``prism ptx``: what a kernel is called with, as text.

    [N=]DTYPE[SHAPE]=FILL   an array, such as f16[16,1024]=random:7
    [N=]DTYPE[SHAPE]=FILE   an array from a .npy file, or the raw bytes of any other
    [N=]FILE.npy            an array of the type and shape that the file has
    [N=]DTYPE=NUMBER        a scalar, such as u32=1000 or f32=0.125
    [N=]FILL, [N=]FILE      for an array whose type and shape a launch description gives

``N=`` says which argument it is; without it they are taken in order. FILL is one of

    random:SEED   standard normal (np.random.default_rng(SEED)), integers from the whole range of their type; random alone
                  takes the index of the argument as its seed
    zeros, ones, full:VALUE, arange
    empty, nan    undefined: the kernel must write an element before it reads it, and should write all of them
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prism_mlir.graph.dtypes import DType, from_float64
from prism_mlir.graph.errors import InputError, LimitError, Location
from prism_mlir.tools.usage import UsageError

Array = NDArray[Any]

# bfloat16 is held as its bits, as everywhere in the project.
DTYPES: dict[str, np.dtype[Any]] = {
    "i1": np.dtype(np.bool_),
    **{f"{k}{n}": np.dtype(f"{'int' if k == 'i' else 'uint'}{n}") for n in (8, 16, 32, 64) for k in "iu"},
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(np.uint16),
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
}
FLOATS = ("f16", "bf16", "f32", "f64")
_PLAIN = ("zeros", "ones", "arange", "empty", "nan")
FILLS = ("random:SEED", "zeros", "ones", "full:VALUE", "arange", "empty", "nan")
MAX_BYTES = 1 << 30  # of all arrays of a launch; the machine keeps up to eight bytes beside each of their elements

_INDEXED = re.compile(r"(?P<index>\d+)=(?P<rest>.*)", re.DOTALL | re.ASCII)
_TYPED = re.compile(r"(?P<dtype>[A-Za-z]+\d+)(?:\[(?P<shape>[^\]]*)\])?=(?P<value>.*)", re.DOTALL | re.ASCII)


@dataclass(frozen=True, slots=True)
class Fill:
    """What an array holds before the launch: a word of :data:`FILLS` with its number, or a file."""

    word: str
    value: str = ""
    file: Path | None = None

    @property
    def undefined(self) -> bool:
        return self.word in ("empty", "nan")

    @property
    def random(self) -> bool:
        return self.word == "random"


@dataclass(frozen=True, slots=True)
class ArrayArgument:
    """A pointer argument: type, shape and content. ``text`` is how the user wrote it."""

    dtype: str
    shape: tuple[int, ...]
    fill: Fill
    text: str

    @property
    def bytes(self) -> int:
        return prod(self.shape) * DTYPES[self.dtype].itemsize

    def checked(self) -> ArrayArgument:
        """Itself. Raises :class:`UsageError` for a value that does not fit, :class:`LimitError` for too large an array."""
        check_size([self])
        if self.fill.word == "full":
            _encode(self.fill.value, self.dtype, self.text)
        elif self.fill.word == "arange":
            _encode(str(max(prod(self.shape) - 1, 0)), self.dtype, self.text)
        return self

    def build(self, shift: int = 0) -> Array:
        """The array, new each time; ``shift`` is added to the seed of a random one.

        Raises:
            InputError: located; the file cannot be read, or holds something else.
        """
        if self.fill.file is not None:
            return _read_file(self.fill.file, self)
        if self.fill.undefined:
            return np.full(self.bytes, 0xFF, np.uint8).view(DTYPES[self.dtype]).reshape(self.shape)
        if self.fill.random:
            return _random(self.dtype, self.shape, int(self.fill.value or "0") + shift)
        if self.fill.word == "arange":
            return _from_float(np.arange(prod(self.shape), dtype=np.float64), self.dtype).reshape(self.shape)
        value = {"zeros": "0", "ones": "1"}.get(self.fill.word, self.fill.value)
        return np.full(self.shape, _encode(value, self.dtype, self.text))


@dataclass(frozen=True, slots=True)
class ScalarArgument:
    """A number: its type and its bits."""

    dtype: str
    raw: bytes
    text: str


@dataclass(frozen=True, slots=True)
class Refill:
    """Content for an array whose type and shape are known from elsewhere."""

    fill: Fill
    text: str

    def of(self, known: ArrayArgument) -> ArrayArgument:
        return replace(known, fill=self.fill, text=self.text).checked()


Argument = ArrayArgument | ScalarArgument | Refill


def parse_argument(text: str) -> tuple[int | None, Argument]:
    """Read one ``--arg``: which argument it is (None: the next one), and what it is.

    Raises:
        UsageError: it is not of the grammar above.
        InputError: the file of a bare ``FILE.npy`` cannot be read.
        LimitError: the array is larger than :data:`MAX_BYTES`.

    >>> parse_argument("2=u32=7")
    (2, ScalarArgument(dtype='u32', raw=b'\\x07\\x00\\x00\\x00', text='u32=7'))
    """
    indexed = _INDEXED.fullmatch(text)
    if indexed is not None:
        return _index(indexed["index"], text), _parse(indexed["rest"])
    return None, _parse(text)


def parse_index(text: str, option: str) -> tuple[int, Path | None]:
    """Read ``N`` or ``N=FILE``. Raises :class:`UsageError` that names the ``option``."""
    number, _, file = text.partition("=")
    if not re.fullmatch(r"\d{1,6}", number, re.ASCII):
        raise UsageError(f"{option}: '{text}' names no argument", None, "give its index, as in 2 or 2=out.npy")
    return int(number), Path(file) if file else None


def _index(digits: str, text: str) -> int:
    if len(digits) > 6:
        raise UsageError(f"argument '{text}'", None, "no kernel has that many arguments")
    return int(digits)


def _parse(text: str) -> Argument:
    typed = _TYPED.fullmatch(text)
    if typed is None:
        return _untyped(text)
    dtype = typed["dtype"]
    if dtype not in DTYPES:
        raise UsageError(f"argument '{text}': unknown dtype '{dtype}'", None, f"known are {', '.join(DTYPES)}")
    if typed["shape"] is None:
        encoded = _encode(typed["value"], dtype, text)
        return ScalarArgument(dtype, encoded.tobytes(), text)
    return ArrayArgument(dtype, _shape(typed["shape"], text), _fill(typed["value"], text), text).checked()


def _untyped(text: str) -> Argument:
    """A ``.npy`` file, which knows its type, or a fill for an array that a launch description knows."""
    word = text.partition(":")[0]
    if word in {f.partition(":")[0] for f in FILLS}:
        return Refill(_fill(text, text), text)
    if text.endswith(".npy"):
        return describe_file(Path(text))
    if "[" in text and "=" not in text:
        raise UsageError(f"argument '{text}' has no content", None, f"add one, as in {text}=random:0")
    if re.fullmatch(r"[^=\[\]]*[./\\][^=\[\]]*", text):
        return Refill(Fill("file", file=Path(text)), text)
    raise UsageError(
        f"argument '{text}' is not understood",
        None,
        "write f16[16,1024]=random:0, f32[8]=file.bin, file.npy, or u32=5 (see prism ptx run --help)",
    )


def _shape(text: str, whole: str) -> tuple[int, ...]:
    sizes = [t.strip() for t in re.split("[,x]", text)] if text.strip() else []
    if not all(re.fullmatch(r"\d{1,18}", t, re.ASCII) for t in sizes):
        raise UsageError(
            f"argument '{whole}': '[{text}]' is no shape", None, "write sizes, as in f16[16,1024]=random:0"
        )
    return tuple(map(int, sizes))


def _fill(text: str, whole: str) -> Fill:
    word, colon, value = text.partition(":")
    if (word in _PLAIN and not colon) or (word == "full" and value):
        return Fill(word, value)
    if word == "random":
        if colon and not re.fullmatch(r"\d{1,18}", value, re.ASCII):
            raise UsageError(f"argument '{whole}': seed '{value}'", None, "give an integer that is not negative")
        return Fill(word, value)
    if word in (*_PLAIN, "full") or not (re.search(r"[./\\]", text) or Path(text).exists()):
        raise UsageError(
            f"argument '{whole}': '{text}' is no content", None, f"known are {', '.join(FILLS)}, or a file"
        )
    return Fill("file", file=Path(text))


def check_size(arguments: list[ArrayArgument]) -> None:
    """Raises :class:`LimitError` where the arrays need more than :data:`MAX_BYTES` together, before any is allocated."""
    total = sum(a.bytes for a in arguments)
    if total > MAX_BYTES:
        what = f"argument '{arguments[0].text}' needs" if len(arguments) == 1 else "the arguments need"
        raise LimitError(
            f"{what} {total} bytes, more than the {MAX_BYTES >> 30} GiB that fit", None, "take smaller shapes"
        )


# -- values -------------------------------------------------------------------------------------------------------


def _encode(text: str, dtype: str, whole: str) -> Any:
    """A number as one element of ``dtype``. Raises :class:`UsageError` for text that is none, or does not fit."""
    try:
        if dtype in FLOATS:
            value = float(text)
            encoded = _from_float(np.array([value]), dtype)[0]
            meant = np.isnan(value) or "inf" in text.lower()  # Python reads 1e999 as an infinity
            if not meant and not np.isfinite(_as_float(encoded, dtype)):
                raise OverflowError
            return encoded
        if len(text) > 80:  # Python takes long over long numbers
            raise OverflowError
        number = int(text, 0)
        if dtype == "i1" and number not in (0, 1):
            raise OverflowError
        return np.array([number], dtype=DTYPES[dtype])[0]
    except ValueError:
        kind = "number" if dtype in FLOATS else "integer"
        raise UsageError(f"argument '{whole}': '{text[:40]}' is no {kind}") from None
    except OverflowError:
        raise UsageError(f"argument '{whole}': {text[:40]} does not fit {dtype}") from None


def _as_float(value: Any, dtype: str) -> Any:
    return as_numbers(np.array([value]), dtype)[0]


def as_numbers(array: Array, dtype: str) -> Array:
    """An array whose elements are numbers: bfloat16 as f32, all others as they are."""
    return (array.astype(np.uint32) << 16).view(np.float32) if dtype == "bf16" else array


def _from_float(values: NDArray[np.float64], dtype: str) -> Array:
    if dtype in FLOATS:
        return from_float64(values, DType(dtype))
    return values.astype(DTYPES[dtype])


def _random(dtype: str, shape: tuple[int, ...], seed: int) -> Array:
    rng = np.random.default_rng(seed)
    if dtype in FLOATS:
        return _from_float(np.asarray(rng.standard_normal(shape)), dtype)
    if dtype == "i1":
        return np.asarray(rng.integers(0, 2, shape)).astype(np.bool_)
    limits = np.iinfo(DTYPES[dtype])
    return np.asarray(rng.integers(limits.min, limits.max, shape, dtype=DTYPES[dtype].type, endpoint=True))


# -- files --------------------------------------------------------------------------------------------------------


def describe_file(path: Path) -> ArrayArgument:
    """The argument that a ``.npy`` file is. Raises located errors as :func:`load_npy`."""
    array = load_npy(path)
    return ArrayArgument(dtype_of(array.dtype), array.shape, Fill("file", file=path), str(path))


def dtype_of(storage: np.dtype[Any]) -> str:
    """The name of a NumPy type (``u16`` for bits of bfloat16)."""
    return next(name for name, known in DTYPES.items() if known == storage and name != "bf16")


def load_npy(path: Path) -> Array:
    """An array of numbers from a ``.npy`` file, mapped, not read.

    Raises:
        InputError: located; the file cannot be read, is no ``.npy`` file, or holds something other than numbers.
        LimitError: it is larger than :data:`MAX_BYTES`.
    """
    place = Location(str(path), 1, 1)
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except OSError as error:
        raise InputError(f"cannot read the file: {error.strerror or error}", place, "check the path") from None
    except (ValueError, TypeError, EOFError, OverflowError, SyntaxError, MemoryError, TokenError):
        raise InputError(
            "this is no .npy file of numbers, or it is cut short (pickles are not read)", place, "write it with np.save"
        ) from None
    if not isinstance(array, np.ndarray):
        raise InputError("this is an archive of several arrays", place, "save one array with np.save")
    if array.dtype.newbyteorder("=") not in DTYPES.values():
        raise InputError(
            f"the file holds {array.dtype}", place, f"known are {', '.join(DTYPES)}; bf16 is saved as uint16"
        )
    if array.nbytes > MAX_BYTES:
        raise LimitError(f"the file holds {array.nbytes} bytes, more than the {MAX_BYTES >> 30} GiB that fit", place)
    return array.astype(array.dtype.newbyteorder("="), order="C", copy=False)


def _read_file(path: Path, argument: ArrayArgument) -> Array:
    """The content of a file, which has the type and the shape of the argument."""
    storage, place = DTYPES[argument.dtype], Location(str(path), 1, 1)
    if path.suffix == ".npy":
        array = load_npy(path)
        if array.dtype != storage or array.shape != argument.shape:
            held = f"{dtype_of(array.dtype)}{list(array.shape)}"
            raise InputError(
                f"the file holds {held}, not {argument.dtype}{list(argument.shape)}", place, "convert it first"
            )
        return np.array(array)
    try:
        size = path.stat().st_size
        data = path.read_bytes() if size == argument.bytes or path.is_dir() else b""
    except OSError as error:
        raise InputError(f"cannot read the file: {error.strerror}", place, "check the path") from None
    if len(data) != argument.bytes:
        wanted = f"{argument.dtype}{list(argument.shape)} needs {argument.bytes}"
        raise InputError(f"the file has {size} bytes, {wanted}", place, "correct the shape, or the file")
    return np.frombuffer(data, storage).reshape(argument.shape).copy()
