"""The profiler on a fake driver that runs PTX: order of calls, what it measures, and what becomes of kernels that break."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from double_kernel import COUNT, write_bundle
from fake_driver import CUresult
from fake_gpu import Behaviour, FakeGpu

from prism_mlir.runtime.bundle.command import measure_all
from prism_mlir.runtime.bundle.measure import Settings, summary
from prism_mlir.runtime.bundle.worker import Local

SETTINGS = Settings(warm_up=2, repeats=5, cold_bytes=4 * 2 * 4 * COUNT, most_sets=4, wake_s=0.0)


def profile(
    folder: Path, fake: FakeGpu, entries: tuple[str, ...] = ("double",), settings: Settings = SETTINGS
) -> list[dict[str, Any]]:
    """Results of the candidates of a bundle; everything that was taken on the device was given back."""
    manifest = write_bundle(folder, entries)
    result = measure_all(manifest, folder, Local(fake, fake.seconds), settings, minutes=60, clock=fake.seconds)
    assert fake.open == []
    assert fake.memory == {}
    (row,) = result["rows"]
    return list(row["results"])


def test_cold_and_warm_times_are_those_of_the_device(tmp_path: Path) -> None:
    """20 us where nothing is in the L2, 10 us where everything is; the host's own time is in neither."""
    (found,) = profile(tmp_path, FakeGpu({"double": Behaviour(cold_us=20, warm_us=10)}))
    assert found["status"] == "ok"
    assert found["cold"]["samples"] == pytest.approx([20.0] * 5, abs=1e-3)
    assert found["warm"]["samples"] == pytest.approx([10.0] * 5, abs=1e-3)
    assert found["late"] == 0
    assert found["clocks"]["before"] == {"source": "device attributes (highest)", "sm_mhz": 1000, "memory_mhz": 1215}
    assert 0 <= found["used"] <= 1


def test_the_l2_is_flushed_before_each_cold_run_and_no_warm_one(tmp_path: Path) -> None:
    """7 cold runs (2 of them warm up), 7 warm ones; each is wait, event, kernel, event."""
    fake = FakeGpu()
    profile(tmp_path, fake)
    names = []
    for name, arguments in fake.log:
        if name == "cuLaunchKernel":
            names.append("W" if arguments[0][1] == "prism_wait" else "K")
        elif name == "cuMemsetD8Async" and arguments[0] not in {p for _, _, _, v in fake.launches for p in v}:
            assert arguments[2] == 80 << 20  # twice the L2 of 40 MiB
            names.append("F")
        elif name == "cuEventRecord":
            names.append("e")
    text = "".join(names)
    assert text == "Ke" * 4 + "FWeKe" * 7 + "WeKe" * 7 + "Ke" * 4


def test_cold_runs_rotate_through_the_sets_and_warm_runs_stay(tmp_path: Path) -> None:
    fake = FakeGpu()
    profile(tmp_path, fake)
    read = [values[0] for _, _, _, values in fake.launches]
    sets = read[:4]
    assert len(set(sets)) == 4
    assert read[4:11] == [sets[k % 4] for k in range(7)]
    assert set(read[11:18]) == {sets[0]}
    assert read[18:] == sets


def test_outputs_are_poisoned_before_each_check(tmp_path: Path) -> None:
    fake = FakeGpu()
    profile(tmp_path, fake)
    outputs = {values[1] for _, _, _, values in fake.launches}
    poisoned = [k for k, (name, a) in enumerate(fake.log) if name == "cuMemsetD8Async" and a[0] in outputs]
    values = {a[1:3] for name, a in fake.log if name == "cuMemsetD8Async" and a[0] in outputs}
    launched = [k for k, (name, a) in enumerate(fake.log) if name == "cuLaunchKernel" and a[0][1] == "double"]
    assert values == {(0xFF, 4 * COUNT)}
    assert len(poisoned) == 8
    assert max(poisoned[:4]) < launched[0]
    assert launched[-5] < min(poisoned[4:]) < max(poisoned[4:]) < launched[-4]


@pytest.mark.parametrize(
    ("at", "fault", "message"),
    [
        (1, "skip", "output 0: 64 elements are NaN or were not written, the first is [0] (before timing, buffers 0)"),
        (1, "wrong", "output 0: element [0] is"),
        (19, "skip", "output 0: 64 elements are NaN or were not written, the first is [0] (in a run after timing, buf"),
        (5, "wrong", "(after timing, buffers 0)"),
        (18, "wrong", "(after timing, buffers 0)"),
        (22, "wrong", "(in a run after timing, buffers 3)"),
    ],
)
def test_wrong_and_missing_results_are_caught_whenever_they_appear(
    tmp_path: Path, at: int, fault: str, message: str
) -> None:
    """4 checked runs, 14 timed ones, 4 checked ones."""
    (found,) = profile(tmp_path, FakeGpu({"double": Behaviour(fault=fault, at=at)}))
    assert found["status"] == "wrong"
    assert message in found["reason"]


def test_a_kernel_that_never_ends_is_given_up_and_the_context_made_anew(tmp_path: Path) -> None:
    behaviours = {"good": Behaviour(), "hangs": Behaviour(fault="hang"), "other": Behaviour(cold_us=15)}
    fake = FakeGpu(behaviours)
    good, hangs, other = profile(tmp_path, fake, ("good", "hangs", "other"))
    assert (good["status"], hangs["status"], other["status"]) == ("ok", "stopped", "ok")
    assert hangs["reason"].startswith("a run has not ended after 1")
    assert fake.contexts == 2
    assert fake.launches[22][0] == "hangs"
    assert fake.launches[23][0] == "other"


def test_a_kernel_that_hangs_while_it_is_timed_is_given_up_too(tmp_path: Path) -> None:
    fake = FakeGpu({"good": Behaviour(), "hangs": Behaviour(fault="hang", at=6)})
    _, hangs = profile(tmp_path, fake, ("good", "hangs"))
    assert hangs["status"] == "stopped"
    assert "the best takes 20.0 us" in hangs["reason"]


def test_ten_times_the_best_is_stopped_when_it_comes_twice_and_less_is_not(tmp_path: Path) -> None:
    """The best takes 20 us: 199 us are measured, 201 us are not, after the checks and two timed runs."""
    fake = FakeGpu(
        {"best": Behaviour(20), "near": Behaviour(199), "slow": Behaviour(201)},
    )
    best, near, slow = profile(tmp_path, fake, ("best", "near", "slow"))
    assert [r["status"] for r in (best, near, slow)] == ["ok", "ok", "stopped"]
    assert slow["reason"] == "a run takes 201.0 us, over 10 times the best, 20.0 us"
    assert fake.behaviours["slow"].launches == 4 + 2
    assert fake.contexts == 1


def test_one_slow_run_among_others_is_run_again(tmp_path: Path) -> None:
    """Something else has the device for a while in the 8th launch; the sample is that of the 9th."""

    class Disturbed(FakeGpu):
        def cuLaunchKernel(self, function: Any, *arguments: Any) -> tuple[Any]:
            if function[1] == "double":
                behaviour = self.behaviours["double"]
                behaviour.cold_us = 5000.0 if behaviour.launches == 7 else 20.0
            return super().cuLaunchKernel(function, *arguments)

    best, found = profile(tmp_path, fake := Disturbed({"double": Behaviour()}), ("best", "double"))
    assert (best["status"], found["status"]) == ("ok", "ok")
    assert found["cold"]["max_us"] == pytest.approx(20.0)
    assert fake.behaviours["double"].launches == 4 + 14 + 4 + 1


def test_the_first_candidate_has_ten_seconds(tmp_path: Path) -> None:
    (found,) = profile(tmp_path, FakeGpu({"hangs": Behaviour(fault="hang")}), ("hangs",))
    assert found["reason"].startswith("a run has not ended after 10 s")


def test_an_illegal_address_fails_the_candidate_and_not_the_run(tmp_path: Path) -> None:
    fake = FakeGpu({"first": Behaviour(), "broken": Behaviour(fault="illegal", at=7), "last": Behaviour()})
    first, broken, last = profile(tmp_path, fake, ("first", "broken", "last"))
    assert (first["status"], broken["status"], last["status"]) == ("ok", "failed", "ok")
    assert broken["reason"] == "cuEventQuery failed with CUDA_ERROR_ILLEGAL_ADDRESS"
    assert fake.contexts == 2


def test_what_the_compiler_of_the_driver_says_is_shown(tmp_path: Path) -> None:
    manifest = write_bundle(tmp_path, ("double",))
    (tmp_path / "double.ptx").write_text(".version 7.0\n.target sm_80\n.address_size 64\nnonsense\n")
    fake = FakeGpu()
    result = measure_all(manifest, tmp_path, Local(fake, fake.seconds), SETTINGS, minutes=60, clock=fake.seconds)
    (found,) = result["rows"][0]["results"]
    assert found["status"] == "failed"
    assert found["reason"].startswith("cuModuleLoadDataEx failed with CUDA_ERROR_INVALID_PTX: <ptx>:4:1: error: ")
    assert fake.open == []


FAILING = [
    "cuDevicePrimaryCtxRetain",
    "cuCtxSetCurrent",
    "cuEventCreate",
    "cuMemAlloc",
    "cuModuleLoadDataEx",
    "cuModuleGetFunction",
    "cuMemcpyHtoD",
    "cuMemcpyDtoD",
    "cuMemcpyDtoH",
    "cuMemsetD8Async",
    "cuLaunchKernel",
    "cuEventRecord",
    "cuEventQuery",
    "cuEventElapsedTime",
]


@pytest.mark.parametrize("after", [0, 1, 2])
@pytest.mark.parametrize("function", FAILING)
def test_whatever_fails_everything_is_given_back(tmp_path: Path, function: str, after: int) -> None:
    """A function fails from its first, second or third call on."""
    from prism_mlir.runtime.bundle.driver import CudaError

    fake = FakeGpu()
    calls = 0
    real = getattr(fake, function)

    def failing(*arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        return real(*arguments) if calls <= after else (CUresult.CUDA_ERROR_INVALID_VALUE, None)

    setattr(fake, function, failing)
    manifest = write_bundle(tmp_path, ("double",))
    worker = Local(fake, fake.seconds)
    try:
        result = measure_all(manifest, tmp_path, worker, SETTINGS, minutes=60, clock=fake.seconds)
        (found,) = result["rows"][0]["results"]
        assert found["status"] == ("failed" if calls > after else "ok")
        assert calls <= after or f"{function} failed with" in found["reason"]
    except CudaError as error:
        assert f"{function} failed with" in str(error)
    assert fake.open == []
    assert fake.memory == {}


def test_runs_that_begin_before_all_is_enqueued_wait_longer(tmp_path: Path) -> None:
    """A host that needs 300 us to launch: the wait grows until the run begins after the launch, and the time is right again."""
    fake = FakeGpu({"double": Behaviour(20, 10)})
    real = fake.cuLaunchKernel

    def slow(*arguments: Any) -> Any:
        fake.host_us += 300 * (arguments[0][1] == "double")
        return real(*arguments)

    fake.cuLaunchKernel = slow  # type: ignore[method-assign]
    (found,) = profile(tmp_path, fake)
    assert found["cold"]["samples"] == pytest.approx([20.0] * 5, abs=1e-3)
    assert found["warm"]["samples"] == pytest.approx([10.0] * 5, abs=1e-3)


def test_summary_is_that_of_numpy() -> None:
    samples = list(np.random.default_rng(3).lognormal(size=101))
    found = summary(samples)
    low, middle, high = np.percentile(samples, [25, 50, 75])
    assert found["median_us"] == pytest.approx(middle)
    assert found["iqr_us"] == pytest.approx(high - low)
    assert found["mad_us"] == pytest.approx(np.median(np.abs(np.array(samples) - middle)))
    assert (found["min_us"], found["max_us"]) == (min(samples), max(samples))
    assert summary([2.0])["iqr_us"] == 0


def test_sets_of_buffers_exceed_any_cache_within_a_limit() -> None:
    settings = Settings(cold_bytes=1000, most_sets=8)
    assert [settings.sets(size) for size in (1, 200, 300, 1000, 5000)] == [8, 5, 4, 1, 1]


def test_the_device_is_kept_busy_before_anything_is_timed(tmp_path: Path) -> None:
    """0.1 s are seven waits of 12.8 ms, between the last check and the first timed run."""
    fake = FakeGpu()
    profile(tmp_path, fake, settings=replace(SETTINGS, wake_s=0.1))
    launches = [a for name, a in fake.log if name == "cuLaunchKernel"]
    waits = [a[-2][0][0] / 1000 for a in launches if a[0][1] == "prism_wait"]
    assert waits[:7] == [12800.0] * 7
    assert waits[7:] == [50.0] * 14
    assert [a[0][1] for a in launches[:12]] == ["double"] * 4 + ["prism_wait"] * 8
