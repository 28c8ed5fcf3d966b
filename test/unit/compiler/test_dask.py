"""A real Dask cluster of two workers: the same results, a worker killed costs a retry, the cluster outlives everything."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pool_tasks
import pytest
from dask_cluster import Cluster, cluster
from outcome import outcome
from pool_tasks import Counter
from small_programs import PROGRAMS, write
from test_jobs import TWO, told

from prism_mlir.compiler import discover as discover_module
from prism_mlir.compiler import executors
from prism_mlir.compiler.discover import discover
from prism_mlir.compiler.options import CompileOptions
from prism_mlir.compiler.pipeline import compile_file
from prism_mlir.compiler.task_pool import TaskPool, open_pool
from prism_mlir.compiler.tasks import Context
from prism_mlir.graph import examples
from prism_mlir.graph.errors import CodegenError, ExecutionError, MissingToolError
from prism_mlir.runtime.cuda import load_driver

pytest.importorskip("distributed", reason="Dask is not installed (pip install prism-mlir[distributed])")
pytestmark = pytest.mark.extras

GPU = ("--resources", "GPU=1")
PATIENCE = 60.0


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Two workers, of which one declares a GPU."""
    with cluster(tmp_path_factory.mktemp("dask"), (), GPU) as started:
        with open_pool(started.spec) as pool:
            workers_of(pool)
        yield started


def workers_of(pool: TaskPool, count: int = 2) -> set[int]:
    """Process ids of the workers, once so many have answered."""
    pids: set[int] = set()
    end = time.monotonic() + PATIENCE
    while len(pids) < count:
        assert time.monotonic() < end
        pids |= set(pool.ordered(Context(0), pool_tasks.sleep_and_tell, [(0.05,)] * 4))
    return pids


@pytest.mark.parametrize("program", ["attention", "rms_norm", "rms_norm_mlp"])
def test_a_cluster_and_one_process_tell_the_same(two: Cluster, program: str) -> None:
    made = getattr(examples, program)()
    with open_pool(two.spec) as pool:
        assert told(discover(made, TWO, pool=pool)) == told(discover(made, TWO))


def test_a_worker_killed_in_the_middle_of_a_search_changes_nothing(two: Cluster) -> None:
    """The worker is killed outright while it searches; its nanny starts another."""
    whole = discover(examples.rms_norm(), TWO)
    killed: list[int] = []
    with open_pool(two.spec) as pool:
        victim = min(workers_of(pool))
        real = discover_module.search  # type: ignore[attr-defined]

        def killing(*arguments: object) -> Iterator[object]:
            for k, graph in enumerate(real(*arguments)):
                if k == 5:
                    os.kill(victim, signal.SIGKILL)
                    killed.append(victim)
                yield graph

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(discover_module, "search", killing)
            found = discover(examples.rms_norm(), TWO, pool=pool)
    assert killed
    assert told(found) == told(whole)


def test_a_task_that_kills_its_worker_once_is_done_again(two: Cluster, tmp_path: Path) -> None:
    with open_pool(two.spec) as pool:
        calls = [(str(tmp_path / "mark"), k) for k in range(12)]
        assert list(pool.ordered(Context(0), pool_tasks.die_once, calls)) == [k * k for k in range(12)]
    assert (tmp_path / "mark").exists()


def test_a_task_that_kills_each_worker_is_an_error_and_the_cluster_goes_on(two: Cluster) -> None:
    with open_pool(two.spec) as pool:
        with pytest.raises(ExecutionError, match=f"a process of the search died on {two.spec}"):
            list(pool.ordered(Context(0), pool_tasks.die, [()]))
        assert list(pool.ordered(Context(0), pool_tasks.square, [(3,)])) == [9]


def test_errors_of_tasks_come_as_they_are(two: Cluster) -> None:
    with open_pool(two.spec) as pool, pytest.raises(CodegenError) as caught:
        list(pool.ordered(Context(0), pool_tasks.fail, [(7,)]))
    assert str(caught.value) == "error: 7 is not wanted, ask for another"


def test_order_is_that_of_the_calls(two: Cluster, tmp_path: Path) -> None:
    with open_pool(two.spec) as pool:
        calls = [(k, str(tmp_path)) for k in range(8)]
        assert list(pool.ordered(Context(0), pool_tasks.square_late, calls)) == [k * k for k in range(8)]


def test_workers_keep_contexts_from_run_to_run(two: Cluster) -> None:
    """Whoever comes later finds the context of the earlier run, by its content."""
    calls = 12
    for _ in range(2):
        with open_pool(two.spec) as pool:
            workers_of(pool)
            counts = list(pool.ordered(Context(Counter("kept")), pool_tasks.count, [()] * calls))
    by_process = {pid: max(n for p, _, n in counts if p == pid) for pid, _, _ in counts}
    assert sum(by_process.values()) == 2 * calls


def test_tasks_that_need_a_gpu_go_where_one_is_declared(two: Cluster) -> None:
    with open_pool(two.spec) as pool:
        futures = [pool.submit(Context(0), pool_tasks.sleep_and_tell, 0.05, gpu=True) for _ in range(6)]
        with_gpu = {pool.result(f) for f in futures}
        assert len(with_gpu) == 1
        assert len(workers_of(pool)) >= 2


def test_a_cluster_without_a_gpu(tmp_path: Path) -> None:
    with cluster(tmp_path, ()) as started, open_pool(started.spec) as pool:
        with pytest.raises(ExecutionError) as caught:
            pool.submit(Context(0), pool_tasks.pid_of, gpu=True)
        assert f"no worker of {started.spec} declares a GPU" in str(caught.value)
        assert "--resources GPU=1" in str(caught.value)


CTRL_C = """
import sys
from pool_tasks import mark_and_sleep
from prism_mlir.compiler.task_pool import open_pool
from prism_mlir.compiler.tasks import Context

with open_pool(sys.argv[1]) as pool:
    list(pool.ordered(Context(0), mark_and_sleep, [(sys.argv[2], k, 1.0) for k in range(500)]))
"""


def test_ctrl_c_cancels_what_is_outstanding_and_leaves_the_cluster_alive(two: Cluster, tmp_path: Path) -> None:
    """Nine tasks are given out to two workers; at most those that run are finished after Ctrl-C."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
    asker = subprocess.Popen(
        [sys.executable, "-c", CTRL_C, two.spec, str(tmp_path)],
        env=environment,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    try:
        wait_until(lambda: any(tmp_path.iterdir()))
        asker.send_signal(signal.SIGINT)
        _, said = asker.communicate(timeout=PATIENCE)
    finally:
        asker.kill()
    assert asker.returncode != 0 and b"KeyboardInterrupt" in said
    begun = len(list(tmp_path.iterdir()))
    with open_pool(two.spec) as pool:  # tasks of the old run would come first
        assert len(workers_of(pool)) >= 2
    assert begun <= len(list(tmp_path.iterdir())) <= begun + 1 < 9


def wait_until(holds: object) -> None:
    end = time.monotonic() + PATIENCE
    while not holds():  # type: ignore[operator]
        assert time.monotonic() < end
        time.sleep(0.02)


def test_ctrl_c_in_a_search_on_a_cluster_gives_what_was_found(two: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    real, whole = discover_module.search, discover(examples.rms_norm(), TWO)  # type: ignore[attr-defined]

    def stopped(*arguments: object) -> Iterator[object]:
        for k, graph in enumerate(real(*arguments)):
            if k == 20:
                raise KeyboardInterrupt
            yield graph

    with open_pool(two.spec) as pool:
        with monkeypatch.context() as patch:
            patch.setattr(discover_module, "search", stopped)
            found = discover(examples.rms_norm(), TWO, pool=pool)
        assert found.interrupted and found.candidates == whole.candidates[:20]
        assert told(discover(examples.rms_norm(), TWO, pool=pool)) == told(whole)


def test_an_address_where_nobody_listens() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        spec = f"dask://127.0.0.1:{free.getsockname()[1]}"  # bound, and never listened to
        with pytest.raises(ExecutionError) as caught, open_pool(spec):
            pass
    assert str(caught.value).startswith(f"error: no Dask scheduler answers at {spec} (")
    assert "\n" not in str(caught.value)


def test_a_scheduler_without_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executors, "START_SECONDS", 0.5)
    with (
        cluster(tmp_path) as started,
        pytest.raises(ExecutionError, match=f"the Dask cluster at {started.spec} has no worker"),
        open_pool(started.spec),
    ):
        pass


def test_workers_that_do_not_come_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executors, "ALONE_SECONDS", 1.0)
    with cluster(tmp_path, ()) as started, open_pool(started.spec) as pool:
        pids = workers_of(pool, 1)
        threading.Timer(1.0, lambda: [os.kill(pid, signal.SIGKILL) for pid in (started.workers[0].pid, *pids)]).start()
        with pytest.raises(ExecutionError, match=f"the last worker of {started.spec} has gone"):
            list(pool.ordered(Context(0), pool_tasks.sleep, [(600,)]))


def test_a_gpu_that_does_not_come_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another worker is still there; it has no GPU."""
    monkeypatch.setattr(executors, "ALONE_SECONDS", 1.0)
    with cluster(tmp_path, GPU, ()) as started, open_pool(started.spec) as pool:
        workers_of(pool)
        pid = pool.result(pool.submit(Context(0), pool_tasks.pid_of, gpu=True))
        nanny = started.workers[0].pid
        threading.Timer(1.0, lambda: [os.kill(p, signal.SIGKILL) for p in (nanny, pid)]).start()
        with pytest.raises(ExecutionError, match=f"the last worker of {started.spec} with a GPU has gone"):
            pool.result(pool.submit(Context(0), pool_tasks.sleep, 600, gpu=True))
        assert list(pool.ordered(Context(0), pool_tasks.square, [(3,)])) == [9]


def test_a_scheduler_that_dies(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with cluster(tmp_path, ()) as started:
        with open_pool(started.spec) as pool:
            threading.Timer(1.0, started.scheduler.kill).start()
            with pytest.raises(ExecutionError, match=started.spec):
                list(pool.ordered(Context(0), pool_tasks.sleep, [(600,)]))
        assert capfd.readouterr().err == ""


def test_workers_with_other_source_are_refused(tmp_path: Path) -> None:
    """The worker's package is a copy with one more comment."""
    import shutil

    import prism_mlir

    package = Path(prism_mlir.__file__).parent
    copy = tmp_path / "copy"
    shutil.copytree(package, copy / "prism_mlir", ignore=shutil.ignore_patterns("__pycache__"))
    with (copy / "prism_mlir" / "search" / "search.py").open("a") as text:
        text.write("# changed\n")
    here = str(Path(__file__).parent)
    environment = {"PYTHONPATH": os.pathsep.join([str(copy), here])}
    with (
        cluster(tmp_path, (), environment=environment) as started,
        open_pool(started.spec) as pool,
        pytest.raises(ExecutionError, match=r"runs another prism-mlir: source [0-9a-f]{16} there, [0-9a-f]{16} here"),
    ):
        list(pool.ordered(Context(0), pool_tasks.square, [(2,)]))


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_compilation_on_a_cluster_is_the_same(two: Cluster, name: str, tmp_path: Path) -> None:
    path, options = write(tmp_path, name), CompileOptions(samples=200)
    assert outcome(compile_file(path, replace(options, executor=two.spec))) == outcome(compile_file(path, options))


def test_a_worker_killed_in_the_middle_of_a_compilation_changes_nothing(two: Cluster, tmp_path: Path) -> None:
    """One worker is killed while kernels are checked."""
    path, options, killed = write(tmp_path, "product"), CompileOptions(samples=200), []
    with open_pool(two.spec) as pool:
        victim = min(workers_of(pool))

    def kill(step: str) -> None:
        if "checking on zeros inputs" in step:
            os.kill(victim, signal.SIGKILL)
            killed.append(victim)

    done = compile_file(path, replace(options, executor=two.spec), progress=kill)
    assert killed
    assert outcome(done) == outcome(compile_file(path, options))


def test_a_worker_that_declares_a_gpu_and_has_none(two: Cluster, tmp_path: Path) -> None:
    try:
        load_driver()
    except MissingToolError:
        pass
    else:
        pytest.skip("this machine has a GPU")
    path, options = write(tmp_path, "product"), CompileOptions(samples=50, profile=True, check=False)
    with pytest.raises(MissingToolError, match="CUDA"):
        compile_file(path, replace(options, executor=two.spec))


def test_the_command_line(two: Cluster, tmp_path: Path) -> None:
    """PTX and launches of prism compile, byte by byte."""
    source = write(tmp_path, "product")
    for spec, folder in ((two.spec, "there"), ("processes", "here")):
        told = ["compile", str(source), "-o", str(tmp_path / folder), "--samples", "200", "--executor", spec, "-q"]
        done = subprocess.run(
            [sys.executable, "-m", "prism_mlir.tools.prism", *told],
            env={**os.environ, "PRISM_CACHE_DIR": str(tmp_path / f"cache {folder}")},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    for name in ("main.ptx", "launch.json", "main.mlir", "main.host.mlir"):
        assert (tmp_path / "there" / name).read_bytes() == (tmp_path / "here" / name).read_bytes()
