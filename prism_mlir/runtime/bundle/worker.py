"""Measure candidates in another process, which can be killed with whatever runs on the device for it.

A kernel that does not end, or breaks the context (an illegal address), can be got rid of in one way: end the process. So
candidates are measured by a child, one JSON request a line, one reply a line. Nothing is pickled.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Protocol

from .check import Expected, load
from .driver import HINT, CudaError, GpuError, NoDriver, Overdue, TooSlow, describe, load_driver
from .gpu import Clock, Gpu
from .inputs import Array, digest, draw
from .kernels import Kernels, sizes
from .measure import Settings, Wrong, measure
from .torch_peers import TorchTask

START_S = 120.0  # for a child to begin; importing torch comes later
TAIL = 300  # characters of what a child said last that are shown
BROKEN = 3  # exit code of a child that left its context behind

Leave = Callable[[], None]


class Worker(Protocol):
    """Measures candidates, one at a time."""

    def device(self) -> dict[str, Any]:
        """What the device is. Raises :class:`NoDriver`."""

    def ask(self, request: dict[str, Any], seconds: float) -> dict[str, Any]:
        """Measure a candidate: its status (ok, wrong, stopped, failed), the reason, and what ``measure`` returns."""

    def close(self) -> None:
        """Give the device back."""


class Bench:
    """What one process keeps between candidates: inputs and expected outputs of the present row."""

    def __init__(self, gpu: Gpu) -> None:
        self.gpu = gpu
        self._row: tuple[str, list[Array], list[Expected]] | None = None

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Measure a candidate. ``restart`` in the reply says that the context cannot be used any more."""
        try:
            return {"status": "ok", "reason": "", "restart": False, **self._measure(request)}
        except Wrong as error:
            return _failure("wrong", error, False)
        except TooSlow as error:
            return _failure("stopped", error, False)
        except Overdue as error:
            return _failure("stopped", error, True)
        except CudaError as error:
            return _failure("failed", error, True)
        except (GpuError, MemoryError, OSError, ValueError) as error:
            return _failure("failed", error, False)

    def _measure(self, request: dict[str, Any]) -> dict[str, Any]:
        folder, candidate = Path(request["folder"]), request["candidate"]
        settings, best = Settings(**request["settings"]), request["best_us"]
        inputs, expected = self._inputs(folder, request["row"])
        if "function" in candidate:
            return self._torch(candidate, inputs, expected, settings, best)
        path = folder / candidate["launch"]
        launch = json.loads(path.read_text(encoding="utf-8"))
        sets = settings.sets(sum(sizes(launch).values()))
        with Kernels(self.gpu, launch, path.parent, sets) as task:
            task.as_source = bool(candidate.get("as_source", False))
            task.write(inputs)
            return measure(self.gpu, task, expected, settings, best)

    def _torch(
        self,
        candidate: dict[str, Any],
        inputs: list[Array],
        expected: list[Expected],
        settings: Settings,
        best: float | None,
    ) -> dict[str, Any]:
        sets = settings.sets(sum(a.nbytes for a in inputs))
        try:
            task = TorchTask(candidate["function"], candidate["peer"] == "compile", inputs, sets)
            return measure(self.gpu, task, expected, settings, best)
        except (RuntimeError, TypeError) as error:  # torch's own errors, of which those of its compilers are many
            raise GpuError(f"torch: {type(error).__name__}: {error}") from None

    def _inputs(self, folder: Path, row: dict[str, Any]) -> tuple[list[Array], list[Expected]]:
        if self._row is None or self._row[0] != row["name"]:
            inputs = [draw(r) for r in row["inputs"]]
            for k, (array, made) in enumerate(zip(inputs, row["inputs"])):
                if digest(array) != made["sha256"]:
                    raise GpuError(f"input {k} is not what it was where the bundle was made")
            self._row = row["name"], inputs, load(folder / row["values"], row["outputs"])
        return self._row[1], self._row[2]


def _failure(status: str, error: Exception, restart: bool) -> dict[str, Any]:
    return {"status": status, "reason": " ".join(str(error).split()), "restart": restart}


class Local:
    """Measures in this process, on a given driver. After a failure that breaks it, the context is made anew."""

    def __init__(self, driver: Any, clock: Clock = time.perf_counter) -> None:
        self._driver, self._clock = driver, clock
        self._bench: Bench | None = None

    def device(self) -> dict[str, Any]:
        gpu = self._open().gpu
        return describe(gpu.driver, gpu.device)

    def ask(self, request: dict[str, Any], seconds: float) -> dict[str, Any]:
        try:
            reply = self._open().answer(request)
        except GpuError as error:  # of making the context anew
            return {"status": "failed", "reason": str(error)}
        if reply.pop("restart"):
            self.close()
        return reply

    def close(self) -> None:
        if self._bench is not None:
            self._bench.gpu.__exit__()
        self._bench = None

    def _open(self) -> Bench:
        if self._bench is None:
            self._bench = Bench(Gpu(self._driver, self._clock).__enter__())
        return self._bench


class Child:
    """Measures in a child process that is ended, and started anew, where a candidate does not end or breaks it.

    command: starts a process that calls :func:`serve`
    """

    def __init__(self, command: Sequence[str]) -> None:
        self._command = list(command)
        self._process: subprocess.Popen[str] | None = None
        self._replies: queue.Queue[str | None] = queue.Queue()
        self._errors: IO[bytes] | None = None
        self._device: dict[str, Any] = {}

    def device(self) -> dict[str, Any]:
        self._start()
        return self._device

    def ask(self, request: dict[str, Any], seconds: float) -> dict[str, Any]:
        try:
            self._start()
        except NoDriver as error:  # there was one before
            return {"status": "failed", "reason": str(error)}
        assert self._process is not None and self._process.stdin is not None
        with suppress(OSError):  # where it has died, that there is no reply says so
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
        reply = self._reply(seconds)
        if reply.pop("restart"):
            self.close()
        return reply

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for stream in (self._process.stdin, self._process.stdout):
                if stream is not None:
                    _close_quietly(stream)
        if self._errors is not None:
            self._errors.close()
        self._process = self._errors = None

    def _start(self) -> None:
        if self._process is not None:
            return
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  (open as long as the child is)
        self._replies = queue.Queue()
        self._process = subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, text=True
        )
        threading.Thread(target=_forward, args=(self._process.stdout, self._replies), daemon=True).start()
        hello = self._reply(START_S)
        if hello["status"] != "ready":
            self.close()
            raise NoDriver(hello["reason"], hello.get("hint", HINT))
        self._device = hello["device"]

    def _reply(self, seconds: float) -> dict[str, Any]:
        try:
            line = self._replies.get(timeout=max(0.0, seconds))
        except queue.Empty:
            return {"status": "stopped", "reason": f"no answer after {seconds:.0f} s", "restart": True}
        if line is None:
            return {"status": "failed", "reason": f"the measuring process ended: {self._said()}", "restart": True}
        found: dict[str, Any] = json.loads(line)
        return found

    def _said(self) -> str:
        assert self._errors is not None and self._process is not None
        code = self._process.wait()
        self._errors.seek(0)
        text = " ".join(self._errors.read().decode("utf-8", "replace").split())
        return text[-TAIL:] or f"exit code {code}"


def _forward(stream: IO[str], replies: queue.Queue[str | None]) -> None:
    """Put each line in a queue, which can be waited for with a time limit, then ``None``."""
    try:
        for line in stream:
            replies.put(line)
    except (OSError, ValueError):  # closed meanwhile
        pass
    replies.put(None)


def _close_quietly(stream: IO[str]) -> None:
    with suppress(OSError):  # what was not sent yet has nobody to read it
        stream.close()


def serve(driver: Any = None, clock: Clock = time.perf_counter, leave: Leave = lambda: os._exit(BROKEN)) -> int:
    """Answer requests on standard input until it ends. Whatever else prints does so on standard error.

    leave: ends the process at once, since giving back a context that hangs would hang too
    """
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def say(message: dict[str, Any]) -> None:
        replies.write(json.dumps(message) + "\n")
        replies.flush()

    try:
        found = load_driver() if driver is None else driver
        with Gpu(found, clock) as gpu:
            say({"status": "ready", "restart": False, "device": describe(found, gpu.device)})
            bench = Bench(gpu)
            for line in sys.stdin:
                reply = bench.answer(json.loads(line))
                say(reply)
                if reply["restart"]:
                    leave()
    except NoDriver as error:
        say({"status": "none", "restart": True, "reason": error.message, "hint": error.hint})
        return 1
    except GpuError as error:
        say({"status": "none", "restart": True, "reason": str(error), "hint": HINT})
        return 1
    return 0
