"""The checks of the PTX machine. One file each; this one says which are on."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class Checks:
    """Switches, all on by default.

    Attributes:
        bounds: every access lies inside one allocation or one variable. When off, loads outside give 0 and stores vanish.
        alignment: every address is a multiple of its access width. When off, the bytes are taken as they lie.
        uninitialised: a load of a byte, or a use of a register, that nothing has written.
        race: two threads of a block touch one shared-memory cell, one of them writing, without a barrier between.
        async_copy: a ``cp.async`` destination is touched before the issuing thread has waited for the copy.
        barrier: threads of one warp arrive at different barriers, or some never arrive.
        convergence: a ``.sync`` warp operation is executed without the threads it names.
        cross_block: two blocks write one global cell, or one reads what another one writes, without atomics.
    """

    bounds: bool = True
    alignment: bool = True
    uninitialised: bool = True
    race: bool = True
    async_copy: bool = True
    barrier: bool = True
    convergence: bool = True
    cross_block: bool = True

    @classmethod
    def none(cls) -> Checks:
        """Everything off: for timing, or to see what a broken kernel would compute."""
        return cls(**{f.name: False for f in fields(cls)})
