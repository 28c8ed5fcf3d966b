"""Several processes: the same bytes as one, whatever stops the search; nothing is left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from prism_mlir.compiler import discover as discover_module
from prism_mlir.compiler.discover import INTERRUPTED, NOT_JUDGED, Discovery, discover
from prism_mlir.compiler.task_pool import TaskPool, open_pool
from prism_mlir.compiler.tasks import Context
from prism_mlir.graph.errors import ExecutionError, InputError
from prism_mlir.graph.examples import attention, rms_norm
from prism_mlir.graph.program import Program
from prism_mlir.search.limits import SearchLimits
from prism_mlir.verify.verdict import Status

TWO = SearchLimits(operators=7, kernels=2, second_operators=4)


def told(found: Discovery) -> str:
    """Everything a discovery says, times apart."""
    return json.dumps(
        [[repr(g.sort_key) for g in found.candidates], [v.to_dict() for v in found.verdicts], found.to_dict()]
    )


@pytest.mark.parametrize(
    ("program", "limits"),
    [
        (attention(), TWO),
        (rms_norm(), SearchLimits(operators=7, kernels=2, second_operators=4, candidates=33)),
        (attention(), SearchLimits(states=300)),
    ],
    ids=["all", "candidates limit", "states limit"],
)
def test_two_processes_tell_what_one_tells(program: Program, limits: SearchLimits) -> None:
    one = discover(program, limits)
    assert told(discover(program, limits, jobs=2)) == told(one)
    assert one.funnel.complete == (limits is TWO)


def test_batches_are_judged_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many small batches: verdicts come back in order, and are those of one process."""
    monkeypatch.setattr(discover_module, "BATCH", 8)
    one, three = discover(rms_norm(), TWO), discover(rms_norm(), TWO, jobs=3)
    assert len(one.candidates) > 40
    assert told(one) == told(three)


def test_a_time_limit_ends_a_search_in_processes() -> None:
    found = discover(attention(), SearchLimits(operators=9, kernels=2, seconds=0.0), jobs=2)
    assert found.funnel.stopped_by == ["time limit of 0 s"]
    assert found.funnel.left
    assert not any(v.reason == NOT_JUDGED for v in found.verdicts)


@pytest.mark.parametrize("jobs", [1, 2])
def test_ctrl_c_gives_what_was_found(
    jobs: int, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """Ctrl-C arrives after 20 candidates; the first two batches of eight are judged, or at least not wrong."""
    monkeypatch.setattr(discover_module, "BATCH", 8)
    handler = signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # a shell may have started us with Ctrl-C ignored
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, handler))
    real = discover_module.search  # type: ignore[attr-defined]
    whole = discover(rms_norm(), TWO)

    def stopped(*arguments: Any) -> Any:
        for k, graph in enumerate(real(*arguments)):
            if k == 20:
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(5)
            yield graph

    monkeypatch.setattr(discover_module, "search", stopped)
    found = discover(rms_norm(), TWO, jobs=jobs)
    assert found.interrupted and found.funnel.stopped_by == [INTERRUPTED]
    assert found.candidates == whole.candidates[:20]
    judged = [v for v in found.verdicts if v.reason != NOT_JUDGED]
    assert [v.to_dict() for v in judged] == [v.to_dict() for v in whole.verdicts[: len(judged)]]
    assert all(v.status is Status.UNKNOWN for v in found.verdicts[len(judged) :])
    if jobs == 1:
        assert len(judged) == 16
    assert f"verdicts of {20 - len(judged)} of 20 candidates" in found.funnel.left


def pid_of(_: object) -> int:
    return os.getpid()


def processes_of(pool: TaskPool) -> set[int]:
    """Process ids of a pool of two, once both have answered."""
    pids: set[int] = set()
    while len(pids) < 2:
        pids |= set(pool.ordered(Context(0), pid_of, [()] * 4))
    return pids


def power(_: object, base: int, exponent: int) -> int:
    return base**exponent


def sleep(_: object, seconds: float) -> None:
    time.sleep(seconds)


def die(_: object) -> None:
    os._exit(3)


def test_processes_end_with_their_pool() -> None:
    with open_pool(jobs=2) as pool:
        pids = processes_of(pool)
        assert os.getpid() not in pids
    assert all(not alive(pid) for pid in pids)


def test_processes_end_even_in_the_middle_of_work() -> None:
    with pytest.raises(ZeroDivisionError), open_pool(jobs=2) as pool:
        pids = processes_of(pool)
        next(pool.ordered(Context(0), sleep, [(0,), (60,), (60,), (60,)]))
        raise ZeroDivisionError
    assert all(not alive(pid) for pid in pids)


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def test_results_come_in_order_and_time_can_run_out() -> None:
    with open_pool(jobs=2) as pool:
        assert list(pool.ordered(Context(0), power, [(2, k) for k in range(40)])) == [2**k for k in range(40)]
        with pytest.raises(TimeoutError):
            list(pool.ordered(Context(0), sleep, [(30,)], lambda: 0.05))


def test_a_process_that_dies_each_time_is_one_error() -> None:
    with open_pool(jobs=2) as pool, pytest.raises(ExecutionError, match="a process of the search died"):
        list(pool.ordered(Context(0), die, [()]))


def test_jobs_must_be_positive() -> None:
    with pytest.raises(InputError, match="jobs is 0"):
        discover(rms_norm(), jobs=0)


def test_processes_do_not_import_what_cannot_be_forked() -> None:
    code = "import sys, prism_mlir.compiler.workers; sys.exit('egglog' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_orphans_end_by_themselves(tmp_path: Path) -> None:
    """The process that asked is killed outright; its workers notice."""
    code = """if __name__ == "__main__":
    import time
    from prism_mlir.compiler.task_pool import open_pool
    from prism_mlir.compiler.tasks import Context
    with open_pool(jobs=2) as pool:
        pool.submit(Context(0), repr).result()
        while len(pool.opened.executor._pool._processes) < 2:
            time.sleep(0.01)
        print(*pool.opened.executor._pool._processes, flush=True)
        time.sleep(60)
"""
    script = tmp_path / "asks.py"
    script.write_text(code)
    with subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True) as asker:
        assert asker.stdout is not None
        pids = [int(p) for p in asker.stdout.readline().split()]
        asker.kill()
    assert len(pids) == 2
    waited = threading.Event()
    for _ in range(100):
        if not any(alive(p) for p in pids):
            break
        waited.wait(0.1)
    assert not any(alive(p) for p in pids)
