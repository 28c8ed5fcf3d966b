"""A device made ready for timing, and the time that one run takes on it.

A run is timed by events around it. Everything is enqueued while the device still waits (in a kernel that only looks at the clock,
or in clearing memory), so that what the host needs to enqueue is not measured. A run that does not end is noticed, since nothing
here waits for the device without a deadline.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from .driver import NOT_READY, CudaError, Overdue, attribute, call, load_module, release

WAIT = """\
.version 7.0
.target sm_70
.address_size 64
.visible .entry prism_wait(.param .u64 cycles)
{
  .reg .pred %more;
  .reg .b64 %limit, %start, %now;
  ld.param.u64 %limit, [cycles];
  mov.u64 %start, %clock64;
again:
  mov.u64 %now, %clock64;
  sub.s64 %now, %now, %start;
  setp.lt.u64 %more, %now, %limit;
  @%more bra again;
  ret;
}
"""
SHORTEST_WAIT_US, LONGEST_WAIT_US = 50.0, 12800.0
TRIES = 3
USUAL_KILOHERTZ = 1_500_000  # where the driver does not say
LEAST_FLUSH = 64 << 20
STREAM = 0  # the default stream, which is torch's too
PAUSE_S = 20e-6  # between looking whether a run has ended, once it has taken longer than a short one does
PATIENCE_S = 2e-3

Clock = Callable[[], float]


class Gpu:
    """A device whose primary context is current, with events, a buffer larger than its L2, and a kernel that waits.

    Use it as a context manager. Raises :class:`CudaError` where the driver refuses something. ``clock`` counts seconds.
    """

    def __init__(self, driver: Any, clock: Clock = time.perf_counter, ordinal: int = 0) -> None:
        self.driver, self.clock, self.ordinal = driver, clock, ordinal
        self.device: Any = None
        self.late = 0  # runs that began before everything was enqueued: their times may be too long
        self._cleanup = ExitStack()
        self._wait_us = SHORTEST_WAIT_US

    def __enter__(self) -> Gpu:
        driver = self.driver
        with ExitStack() as stack:  # what was taken is given back when a later step fails
            self.device = call(driver, "cuDeviceGet", self.ordinal)
            context = call(driver, "cuDevicePrimaryCtxRetain", self.device)
            stack.callback(release, driver, "cuDevicePrimaryCtxRelease", self.device)
            call(driver, "cuCtxSetCurrent", context)
            self._start, self._stop = (self._event(stack) for _ in range(2))
            self.flush_bytes = max(LEAST_FLUSH, 2 * attribute(driver, self.device, "L2_CACHE_SIZE"))
            self._flushed = self.allocate(self.flush_bytes, stack)
            module = load_module(driver, WAIT)
            stack.callback(release, driver, "cuModuleUnload", module)
            self._waiting = call(driver, "cuModuleGetFunction", module, b"prism_wait")
            self._megahertz = (attribute(driver, self.device, "CLOCK_RATE") or USUAL_KILOHERTZ) // 1000
            self._cleanup = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._cleanup.close()

    def allocate(self, size: int, stack: ExitStack) -> Any:
        """Device memory that the stack gives back."""
        address = call(self.driver, "cuMemAlloc", max(1, size))
        stack.callback(release, self.driver, "cuMemFree", address)
        return address

    def wake(self, seconds: float) -> None:
        """Keep the device busy for a while, so that its clocks rise from where they are when nothing is done."""
        self._wait_us = SHORTEST_WAIT_US
        for _ in range(int(seconds * 1e6 / LONGEST_WAIT_US)):
            self._wait(LONGEST_WAIT_US)
        if seconds > 0:
            self.run(lambda: None, 10.0 + seconds)

    def run(self, enqueue: Callable[[], None], deadline_s: float) -> None:
        """Run to the end. Raises :class:`Overdue` after ``deadline_s``, :class:`CudaError` for what went wrong on the device."""
        enqueue()
        call(self.driver, "cuEventRecord", self._stop, STREAM)
        self._finish(deadline_s)

    def time(self, enqueue: Callable[[], None], deadline_s: float, flush: bool) -> float:
        """Microseconds of one run. flush: overwrite the L2 before. Raises as :meth:`run`."""
        driver = self.driver
        for left in reversed(range(TRIES)):
            if flush:
                call(driver, "cuMemsetD8Async", self._flushed, 0, self.flush_bytes, STREAM)
            self._wait(self._wait_us)
            call(driver, "cuEventRecord", self._start, STREAM)
            enqueue()
            call(driver, "cuEventRecord", self._stop, STREAM)
            late = self._ended(self._start)
            self._finish(deadline_s + self._wait_us * 1e-6)
            if not late:
                break
            self.late += not left
            self._wait_us = min(LONGEST_WAIT_US, 2 * self._wait_us)
        return float(call(driver, "cuEventElapsedTime", self._start, self._stop)) * 1e3

    def _wait(self, us: float) -> None:
        """Keep the device busy while runs are enqueued, without touching memory."""
        cycles = int(us * self._megahertz)
        parameters = ((cycles,), (ctypes.c_uint64,))
        call(self.driver, "cuLaunchKernel", self._waiting, 1, 1, 1, 1, 1, 1, 0, STREAM, parameters, 0)

    def _finish(self, deadline_s: float) -> None:
        began = self.clock()
        while not self._ended(self._stop):
            waited = self.clock() - began
            if waited > deadline_s:
                raise Overdue(f"a run has not ended after {waited:.2g} s")
            if waited > PATIENCE_S:
                time.sleep(PAUSE_S)

    def _ended(self, event: Any) -> bool:
        code, *_ = self.driver.cuEventQuery(event)
        if int(code) == NOT_READY:
            return False
        if int(code):
            raise CudaError("cuEventQuery", code)
        return True

    def _event(self, stack: ExitStack) -> Any:
        event = call(self.driver, "cuEventCreate", 0)
        stack.callback(release, self.driver, "cuEventDestroy", event)
        return event
