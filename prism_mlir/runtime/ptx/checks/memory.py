"""Reports about addresses: outside every allocation, or not a multiple of the access width."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
import numpy.typing as npt

from prism_mlir.runtime.ptx.checks.report import Site, report
from prism_mlir.runtime.ptx.errors import CheckError
from prism_mlir.runtime.ptx.state import State

Index = npt.NDArray[np.int64]


def _lane(st: State, lane: Index | None, i: int) -> int:
    """The lane of access ``i``; an address that is the same for all lanes is reported for the first live one."""
    if lane is not None:
        return int(lane[i])
    return i if st.live[i] else int(np.flatnonzero(st.live)[0])


def _total(st: State, lane: Index | None, at: Index, bad: npt.NDArray[np.int64]) -> int:
    """How many threads are concerned: all live ones where one address stands for those of all."""
    return int(np.count_nonzero(st.live)) if lane is None and at.size == 1 else int(bad.size)


def address_error(
    st: State,
    site: Site,
    at: Index,
    lane: Index | None,
    width: int,
    inside: npt.NDArray[np.bool_],
    name: Callable[[int], str],
    space: str,
) -> CheckError:
    """Some of ``at`` are not ``inside`` any allocation."""
    variable = "enlarge the variable"
    larger = {"shared": f"{variable}, or the dynamic shared memory of the launch", "local": variable, "const": variable}
    message = f"access of {width} bytes outside of every {space} allocation that may be used this way"
    hint = f"predicate the access on the index, or {larger.get(space, 'correct the size of the buffer or the launch')}"
    return _bounds_error(st, site, (at, lane), ~inside, name, message, hint)


class Named(Protocol):
    """A memory that can name its bytes."""

    stride: int

    def name(self, address: int) -> str: ...


def read_only_error(
    st: State,
    site: Site,
    at: Index,
    lane: Index | None,
    width: int,
    frozen: npt.NDArray[np.bool_],
    name: Callable[[int], str],
) -> CheckError:
    """Some stores go to ``frozen`` memory: arrays that NumPy may not write, and ``.const`` variables."""
    message = f"store of {width} bytes to read-only memory"
    hint = "launch with an array that may be written (a.flags.writeable), such as a copy, or store elsewhere"
    return _bounds_error(st, site, (at, lane), frozen, name, message, hint)


def _bounds_error(
    st: State,
    site: Site,
    access: tuple[Index, Index | None],
    wrong: npt.NDArray[np.bool_],
    name: Callable[[int], str],
    message: str,
    hint: str,
) -> CheckError:
    """The report about the first of some ``wrong`` addresses of an access; ``access``: addresses, and lanes."""
    at, lane = access
    bad = np.flatnonzero(wrong)
    i = int(bad[0])
    return report(
        st,
        "bounds",
        site,
        message,
        lanes=[_lane(st, lane, i)],
        address=name(int(at[i])),
        total=_total(st, lane, at, bad),
        hint=hint,
    )


def unwritten_error(
    st: State, site: Site, position: Index, lane: Index | None, ok: npt.NDArray[np.bool_], memory: Named
) -> CheckError:
    """Some bytes of local memory are read that the thread has not written."""
    bad = np.flatnonzero(~ok)
    i = int(bad[0])
    return report(
        st,
        "uninitialised",
        site,
        "local memory that the thread has not written is read",
        lanes=[_lane(st, lane, i)],
        address=memory.name(int(position[i]) % memory.stride),
        total=int(bad.size),
        hint="write every element before it is read",
    )


def alignment_error(
    st: State, site: Site, at: Index, lane: Index | None, width: int, name: Callable[[int], str]
) -> CheckError:
    """Some of ``at`` are not multiples of ``width``."""
    bad = np.flatnonzero(at & (width - 1))
    i = int(bad[0])
    return report(
        st,
        "alignment",
        site,
        f"address is not a multiple of the access width of {width} bytes",
        lanes=[_lane(st, lane, i)],
        address=name(int(at[i])),
        total=_total(st, lane, at, bad),
        hint=f"align the variable and every offset to {width} bytes, or use narrower accesses",
    )
