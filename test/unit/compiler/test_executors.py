"""Tasks on processes of this machine: contexts cross once, order is that of the calls, a process that is killed costs a retry."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pool_tasks
import pytest
from pool_tasks import Counter
from small_programs import write
from test_jobs import TWO, alive, processes_of, told

from prism_mlir.compiler import executors, tasks
from prism_mlir.compiler.discover import discover
from prism_mlir.compiler.executors import InThisProcess, OpenExecutor, check_spec, on_cluster, open_executor
from prism_mlir.compiler.installation import this_installation
from prism_mlir.compiler.task_pool import TaskPool, open_pool, pool_here
from prism_mlir.compiler.tasks import KEPT, Context, Relay, Task, UnknownContext, run_task
from prism_mlir.graph import examples
from prism_mlir.graph.errors import CodegenError, ExecutionError, InputError, MissingToolError
from prism_mlir.tools.prism import main

SQUARES = [k * k for k in range(12)]


@pytest.mark.parametrize("program", ["attention", "rms_norm", "rms_norm_mlp"])
def test_two_processes_and_one_tell_the_same(program: str) -> None:
    made = getattr(examples, program)()
    one = discover(made, TWO, pool=pool_here())
    with open_pool(jobs=2) as pool:
        assert told(discover(made, TWO, pool=pool)) == told(one)
        assert told(discover(made, TWO, pool=pool)) == told(one)  # processes that know the program already
    assert len(one.proved) > 0


def test_a_killed_process_costs_a_retry(tmp_path: Path) -> None:
    with open_pool(jobs=2) as pool:
        calls = [(str(tmp_path / "mark"), k) for k in range(12)]
        assert list(pool.ordered(Context(0), pool_tasks.die_once, calls)) == SQUARES
        assert (tmp_path / "mark").exists()
        assert list(pool.ordered(Context(0), pool_tasks.square, [(k,) for k in range(12)])) == SQUARES


def test_processes_killed_in_the_middle_of_a_search_change_nothing() -> None:
    whole = discover(examples.rms_norm(), TWO)
    killed: list[int] = []
    done = threading.Event()
    with open_pool(jobs=2) as pool:

        def kill() -> None:
            while len(killed) < 3 and not done.wait(0.3):
                current = pool.opened.executor._pool  # type: ignore[attr-defined]
                for pid in list(current._processes or ()) if current is not None else ():
                    os.kill(pid, signal.SIGKILL)
                    killed.append(pid)
                    break

        thread = threading.Thread(target=kill)
        thread.start()
        found = discover(examples.rms_norm(), TWO, pool=pool)
        done.set()
        thread.join()
    assert killed
    assert told(found) == told(whole)


def test_a_call_that_kills_each_time_is_an_error_and_the_pool_goes_on() -> None:
    with open_pool(jobs=2) as pool:
        with pytest.raises(ExecutionError, match="a process of the search died"):
            list(pool.ordered(Context(0), pool_tasks.die, [()]))
        assert list(pool.ordered(Context(0), pool_tasks.square, [(3,)])) == [9]


def test_order_is_that_of_the_calls(tmp_path: Path) -> None:
    with open_pool(jobs=2) as pool:
        calls = [(k, str(tmp_path)) for k in range(8)]
        assert list(pool.ordered(Context(0), pool_tasks.square_late, calls)) == SQUARES[:8]


def test_calls_nobody_waits_for_are_not_made(tmp_path: Path) -> None:
    """At most two at once: of a hundred calls, the result of the first is taken."""
    with open_pool(jobs=2) as pool:
        results = pool.ordered(Context(0), pool_tasks.square_late, [(k, str(tmp_path)) for k in range(100)], at_once=2)
        assert next(results) == 0
        results.close()  # type: ignore[attr-defined]
        list(pool.ordered(Context(0), pool_tasks.pid_of, [()] * 4))
    assert len(list(tmp_path.iterdir())) <= 3


def test_errors_of_calls_come_as_they_are() -> None:
    with open_pool(jobs=2) as pool, pytest.raises(CodegenError) as caught:
        list(pool.ordered(Context(0), pool_tasks.fail, [(7,)]))
    assert str(caught.value) == "error: 7 is not wanted, ask for another"


def test_contexts_are_kept_in_each_process_and_the_oldest_forgotten() -> None:
    """Calls of one context count up in one process; after more others than are kept, the count begins again."""
    with open_pool(jobs=2) as pool:

        def counts(name: str, calls: int) -> list[tuple[int, str, int]]:
            return list(pool.ordered(Context(Counter(name)), pool_tasks.count, [()] * calls))

        first = counts("a", 6)
        for pid in {p for p, _, _ in first}:
            mine = sorted(n for p, _, n in first if p == pid)
            assert mine == list(range(1, len(mine) + 1))
        assert max(n for _, _, n in counts("a", 6)) > 3
        for k in range(KEPT):
            while len({p for p, _, _ in counts(f"other {k}", 4)}) < 2:
                pass
        assert min(n for _, _, n in counts("a", 4)) == 1


def test_a_context_is_sent_when_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "_kept", type(tasks._kept)())
    context = Context(Counter("sent"))
    task = Task("", context.digest, None, pool_tasks.count, ())
    assert run_task(task) == UnknownContext()
    assert run_task(replace(task, data=context.data)) == (os.getpid(), "sent", 1)
    assert run_task(task) == (os.getpid(), "sent", 2)


class Recording(Executor):
    """Runs calls in this process, from their pickled form, and keeps the sizes."""

    def __init__(self) -> None:
        self.sizes: list[tuple[int, bool]] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        (task,) = args
        sent = pickle.dumps(task)
        self.sizes.append((len(sent), task.data is not None))
        return InThisProcess().submit(fn, pickle.loads(sent))


def test_tasks_are_small_and_carry_their_context_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A part of a search is a few hundred bytes; a batch of proofs is its graphs."""
    monkeypatch.setattr(tasks, "_kept", type(tasks._kept)())
    program, recording = examples.rms_norm(), Recording()
    pool = TaskPool(OpenExecutor("recording", recording, lambda: 2))
    found = discover(program, TWO, pool=pool)
    assert told(found) == told(discover(program, TWO))
    assert sum(carries for _, carries in recording.sizes) == 1
    plain = sorted(size for size, carries in recording.sizes if not carries)
    assert len(plain) > 40
    assert plain[len(plain) // 2] < 1500  # the median: a part of the search
    assert plain[-1] <= len(pickle.dumps(found.candidates)) + 1500


def test_a_pool_in_this_process_makes_no_call_before_its_result_is_wanted() -> None:
    made: list[int] = []
    results = pool_here().ordered(Context(made), lambda made, k: made.append(k), [(k,) for k in range(5)])
    assert made == []
    next(results)
    assert made == [0]


def test_what_was_given_up_ends_and_the_pool_goes_on() -> None:
    with open_pool(jobs=2) as pool:
        pids = processes_of(pool)
        waiting = [pool.submit(Context(0), pool_tasks.sleep, 60) for _ in range(6)]
        pool.abandon()
        assert all(future.cancelled() for future in waiting)
        assert not any(alive(pid) for pid in pids)
        assert list(pool.ordered(Context(0), pool_tasks.square, [(5,)])) == [25]


def test_another_installation_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker's answer names what differs, on both sides."""
    mine = this_installation()
    other = replace(mine, prism="0.0.9", source="0" * 16)
    opened = OpenExecutor("dask://far:1", InThisProcess(), lambda: 1, installation=mine.digest)
    monkeypatch.setattr(tasks, "this_installation", lambda: other)
    with pytest.raises(ExecutionError) as caught:
        list(TaskPool(opened).ordered(Context(0), pool_tasks.square, [(2,)]))
    said = f"prism 0.0.9 there, {mine.prism} here; source {'0' * 16} there, {mine.source} here"
    assert str(caught.value) == (
        f"error: a worker of dask://far:1 runs another prism-mlir: {said}, "
        "install the same everywhere and start the workers again"
    )


def test_an_installation_is_named_by_all_that_it_is() -> None:
    mine = this_installation()
    names = {replace(mine, **{field: "x"}).digest for field in ("prism", "python", "axioms", "source")}
    assert len(names | {mine.digest}) == 5
    assert mine.differences(mine) == ""
    assert replace(mine).digest == mine.digest


@pytest.mark.parametrize("spec", ["dask", "dask://", "dask://host", "threads", "dask://host:port", ""])
def test_a_spec_that_names_no_executor(spec: str) -> None:
    with pytest.raises(InputError, match="known: processes, serial, dask://HOST:PORT"), open_executor(spec):
        pass


def test_specs_that_name_one() -> None:
    for spec in (
        "processes",
        "serial",
        "dask://host:8786",
        "dask://[::1]:8786",
        "tls://host:8786",
        "tcp://10.0.0.1:1/",
    ):
        check_spec(spec)
        assert on_cluster(spec) == ("://" in spec)


def test_dask_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executors.importlib.util, "find_spec", lambda name: None)  # type: ignore[attr-defined]
    with pytest.raises(MissingToolError) as caught, open_executor("dask://127.0.0.1:8786"):
        pass
    assert str(caught.value) == "error: dask://127.0.0.1:8786 needs Dask, pip install prism-mlir[distributed]"


def test_one_process_is_this_one() -> None:
    for spec, jobs in (("processes", 1), ("serial", 7)):
        with open_pool(spec, jobs) as pool:
            assert pool.here and pool.jobs == 1
            assert pool.submit(Context(0), pool_tasks.pid_of).result() == os.getpid()


def test_a_task_that_needs_a_gpu_runs_here_where_no_cluster_has_one() -> None:
    assert pool_here().submit(Context(0), pool_tasks.pid_of, gpu=True).result() == os.getpid()


def test_threads_of_a_process_take_turns() -> None:
    """A Dask worker may have several threads; contexts are made for one at a time."""
    with ThreadPoolExecutor(4) as threads:
        pool = TaskPool(OpenExecutor("threads", threads, lambda: 4))
        assert all(pool.ordered(Context(0), pool_tasks.alone, [()] * 8))


def test_a_relay_ends_as_its_last_attempt() -> None:
    """Three attempts; the first two give 0, which means again."""
    given: list[Future[Any]] = []

    def attempt() -> Future[Any]:
        given.append(Future())
        return given[-1]

    relay = Relay(lambda ended: attempt() if ended.result() == 0 else None)
    relay.follow(attempt())
    for result in (0, 0, 5):
        assert not relay.done()
        given[-1].set_result(result)
    assert relay.result(0) == 5
    assert len(given) == 3


def test_cancelling_a_relay_cancels_the_attempt() -> None:
    attempt: Future[Any] = Future()
    relay = Relay(lambda ended: None)
    relay.follow(attempt)
    assert relay.cancel() and attempt.cancelled() and relay.cancelled()


def test_workers_import_nothing_that_cannot_be_forked() -> None:
    code = (
        "import sys, prism_mlir.compiler.workers; sys.exit(bool({'egglog', 'distributed', 'mlir'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("command", ["compile", "explain"])
def test_the_command_line_says_what_is_wrong_in_one_line(
    command: str, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    source = write(tmp_path, "product")
    arguments = [command, str(source), *(["-o", str(tmp_path / "out")] if command == "compile" else [])]
    assert main([*arguments, "--executor", "nonsense"]) == 2
    assert capfd.readouterr().err == (
        "error: --executor: no executor is called 'nonsense', known: processes, serial, dask://HOST:PORT "
        f"(see prism {command} --help)\n"
    )
    monkeypatch.setattr(executors.importlib.util, "find_spec", lambda name: None)  # type: ignore[attr-defined]
    assert main([*arguments, "--executor", "dask://127.0.0.1:1"]) == 1
    assert capfd.readouterr().err.splitlines() == [
        "error: dask://127.0.0.1:1 needs Dask, pip install prism-mlir[distributed]"
    ]
    assert not (tmp_path / "out").exists()


def test_ctrl_c_does_not_reach_processes_that_are_starting(tmp_path: Path) -> None:
    """The process that forks the others has the signal blocked from its start (Linux: /proc)."""
    script = tmp_path / "asks.py"
    script.write_text(
        """if __name__ == "__main__":
    from multiprocessing import forkserver
    from pathlib import Path
    from prism_mlir.compiler.task_pool import open_pool
    from prism_mlir.compiler.tasks import Context
    with open_pool(jobs=2) as pool:
        pool.submit(Context(0), repr).result()
        status = Path(f"/proc/{forkserver._forkserver._forkserver_pid}/status").read_text()
    (blocked,) = [int(line.split()[1], 16) for line in status.splitlines() if line.startswith("SigBlk")]
    print(blocked >> 1 & 1)
"""
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("1\n", "")
