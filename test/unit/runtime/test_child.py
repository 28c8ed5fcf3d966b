"""Candidates measured in a process that can be killed: what breaks takes its process with it, and nothing else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from double_kernel import write_bundle
from test_profiler import SETTINGS

from prism_mlir.runtime.bundle.command import measure_all, worker_command
from prism_mlir.runtime.bundle.driver import NoDriver
from prism_mlir.runtime.bundle.worker import Child

SERVING = str(Path(__file__).with_name("serving_fake.py"))


class Counting(Child):
    """Counts the processes it started, and remembers them."""

    started: list[subprocess.Popen[str]]

    def _start(self) -> None:
        before = self._process
        super()._start()
        if self._process is not before:
            assert self._process is not None
            self.started = [*getattr(self, "started", []), self._process]


def measured(folder: Path, *entries: str, seconds: float = 60.0) -> tuple[list[dict[str, Any]], Counting]:
    """Results of candidates with their faults, ``name=fault``."""

    class Impatient(Counting):
        def ask(self, request: dict[str, Any], allowed: float) -> dict[str, Any]:
            return super().ask(request, min(allowed, seconds))

    manifest = write_bundle(folder, tuple(e.partition("=")[0] for e in entries))
    child = Impatient([sys.executable, SERVING, *entries])
    result = measure_all(manifest, folder, child, SETTINGS, minutes=5)
    assert all(process.poll() is not None for process in child.started)
    return result["rows"][0]["results"], child


def test_one_process_measures_all_that_goes_well(tmp_path: Path) -> None:
    found, child = measured(tmp_path, "first=", "second=wrong", "third=")
    assert [r["status"] for r in found] == ["ok", "wrong", "ok"]
    assert len(child.started) == 1


def test_a_kernel_that_hangs_or_breaks_the_context_costs_its_process(tmp_path: Path) -> None:
    found, child = measured(tmp_path, "first=", "second=hang", "third=illegal", "fourth=")
    assert [r["status"] for r in found] == ["ok", "stopped", "failed", "ok"]
    assert found[1]["reason"].startswith("a run has not ended after")
    assert "CUDA_ERROR_ILLEGAL_ADDRESS" in found[2]["reason"]
    assert len(child.started) == 3


def test_a_driver_that_does_not_come_back_is_killed(tmp_path: Path) -> None:
    found, child = measured(tmp_path, "first=", "second=block", "third=", seconds=6.0)
    assert [r["status"] for r in found] == ["ok", "stopped", "ok"]
    assert found[1]["reason"] == "no answer after 6 s"
    assert len(child.started) == 2


def test_a_process_that_ends_says_its_last_words(tmp_path: Path) -> None:
    found, _ = measured(tmp_path, "first=crash", "second=")
    assert [r["status"] for r in found] == ["failed", "ok"]
    assert found[0]["reason"].startswith("the measuring process ended: ")
    assert found[0]["reason"].endswith("the driver has a bug")


def test_without_a_device_the_reason_is_told(tmp_path: Path) -> None:
    manifest = write_bundle(tmp_path, ("first",))
    child = Child([sys.executable, SERVING, "no-device"])
    with pytest.raises(NoDriver, match="cuDeviceGet failed with CUDA_ERROR_NO_DEVICE"):
        measure_all(manifest, tmp_path, child, SETTINGS, minutes=5)


def test_the_command_of_a_real_child_starts_one(tmp_path: Path) -> None:
    """Where every device is hidden there is none, with or without a driver installed; the child says so."""
    hidden = {"CUDA_VISIBLE_DEVICES": "-1"}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in hidden.items():
            patch.setenv(name, value)
        with pytest.raises(NoDriver, match="CUDA driver"):
            Child(worker_command()).device()
