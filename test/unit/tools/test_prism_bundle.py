"""``prism bundle`` and ``prism bench`` end to end, on a fake device that runs PTX: from a file to the table."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

sys.path.append(str(Path(__file__).resolve().parents[1] / "runtime"))

from fake_gpu import Behaviour, FakeGpu

from prism_mlir.tools import prism_bench
from prism_mlir.tools.bench_rows import parse_peers
from prism_mlir.tools.prism import main

SOURCE = """func.func @scaled(%x: tensor<16x64xf16>, %unused: tensor<3xf32>, %w: tensor<64x32xf16>) -> tensor<16x32xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<16x32xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<16x32xf32>) -> tensor<16x32xf32>
  %r = linalg.matmul ins(%x, %w : tensor<16x64xf16>, tensor<64x32xf16>) outs(%start : tensor<16x32xf32>) -> tensor<16x32xf32>
  return %r : tensor<16x32xf32>
}
"""
FEW = ["--repeats", "3", "--warm-up", "1", "--most-sets", "2"]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("in") / "scaled.mlir"
    path.write_text(SOURCE)
    return path


@pytest.fixture(scope="module")
def packed(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("out") / "bundle"
    arguments = ["bundle", str(output), str(source), "--schedules", "2", "--peers", "none", "--no-check", "-q"]
    assert main(arguments) == 0
    return output


@pytest.fixture
def run(packed: Path) -> Iterator[ModuleType]:
    """The bundle's own program, not the package it was copied from."""
    spec = importlib.util.spec_from_file_location("run", packed / "run.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(packed))
    try:
        spec.loader.exec_module(module)
        yield module
    finally:
        sys.path.remove(str(packed))
        for name in [n for n in sys.modules if n.partition(".")[0] == "prism_bundle"]:
            del sys.modules[name]


def test_the_program_in_a_bundle_measures_what_prism_emitted(
    packed: Path, run: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Outputs come from the PTX itself; the table shows the times of the fake."""
    fake, output = FakeGpu({"scaled": Behaviour(cold_us=12.5, warm_us=6.25)}), tmp_path / "results.json"
    assert run.main(["--output", str(output), *FEW], fake) == 0
    assert sys.modules["prism_bundle.worker"].__file__ == str(packed / "prism_bundle" / "worker.py")
    data = json.loads(output.read_text())
    found = data["rows"][0]["results"]
    assert [r["status"] for r in found] == ["ok", "ok"]
    assert all(r["used"] <= 1 and r["model_us"] > 0 for r in found)
    assert fake.open == []
    capsys.readouterr()
    assert main(["bench", "--read", str(output)]) == 0
    rows = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "scaled 16x64xf16 3xf32 64x32xf16 12.50 0.00 - -" in rows
    assert "scaled 16x64xf16 3xf32 64x32xf16 6.25 0.00 - -" in rows


def test_what_outputs_should_be_is_the_product_of_the_inputs_by_recipe(packed: Path) -> None:
    """The recipes drawn here, multiplied by NumPy in f64; the allowed error is under a thousandth of the largest."""
    from prism_mlir.runtime.bundle.inputs import draw

    (row,) = json.loads((packed / "bundle.json").read_text())["rows"]
    x, unused, w = (draw(r) for r in row["inputs"])
    assert unused.shape == (3,)
    product = x.astype(np.float64) @ w.astype(np.float64)
    with np.load(packed / row["values"]) as data:
        np.testing.assert_allclose(data["value_0"].reshape(16, 32), product, rtol=1e-12)
        assert 0 < data["allowed_0"].max() < 1e-3 * abs(product).max()


def test_a_wrong_kernel_in_a_bundle_is_found(packed: Path, run: ModuleType, tmp_path: Path) -> None:
    output = tmp_path / "results.json"
    assert run.main(["--output", str(output), *FEW], FakeGpu({"scaled": Behaviour(fault="wrong", at=6)})) == 0
    statuses = [r["status"] for r in json.loads(output.read_text())["rows"][0]["results"]]
    assert statuses == ["wrong", "wrong"]


def test_without_a_gpu_the_program_says_so_in_one_line(packed: Path, tmp_path: Path) -> None:
    command = [sys.executable, str(packed / "run.py"), "--output", str(tmp_path / "results.json")]
    hidden = {"CUDA_VISIBLE_DEVICES": "-1", "PATH": "/usr/bin:/bin"}
    outcome = subprocess.run(command, capture_output=True, text=True, env=hidden, cwd=tmp_path, check=False)
    assert outcome.returncode == 1
    assert outcome.stderr.startswith("error: ")
    assert "CUDA driver" in outcome.stderr
    assert outcome.stderr.endswith("run this on a machine with an NVIDIA driver\n")
    assert outcome.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_bundles_of_the_same_file_are_the_same(source: Path, tmp_path: Path) -> None:
    for name in ("a.tar.gz", "b.tar.gz"):
        arguments = ["bundle", str(tmp_path / name), str(source), "--schedules", "1", "--peers", "none"]
        assert main([*arguments, "--no-check", "-q"]) == 0
    read = []
    for name in ("a", "b"):
        with tarfile.open(tmp_path / f"{name}.tar.gz") as archive:
            read.append({m.name.removeprefix(f"{name}/"): archive.extractfile(m).read() for m in archive.getmembers()})  # type: ignore[union-attr]
    assert read[0] == read[1]
    assert {"run.py", "bundle.json", "README.txt", "prism_bundle/worker.py"} <= set(read[0])


def test_bench_compiles_measures_and_shows(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from prism_mlir.runtime.bundle.measure import Settings
    from prism_mlir.runtime.bundle.worker import Local

    fake = FakeGpu({"scaled": Behaviour(cold_us=12.5, warm_us=6.25)})

    class Few(Local):
        """Asks for few runs: a fake is slow."""

        def ask(self, request: dict[str, Any], seconds: float) -> dict[str, Any]:
            few = Settings(warm_up=1, repeats=3, most_sets=2).to_dict()
            return super().ask({**request, "settings": few}, seconds)

    monkeypatch.setattr(prism_bench, "open_worker", lambda: Few(fake))
    output = tmp_path / "results.json"
    arguments = ["bench", str(source), "--peers", "none", "--schedules", "1", "--no-check", "-o", str(output)]
    assert main(arguments) == 0
    rows = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "scaled 16x64xf16 3xf32 64x32xf16 12.50 0.00 - -" in rows
    assert json.loads(output.read_text())["complete"]
    assert fake.open == []


@pytest.mark.parametrize(
    ("code", "arguments", "message"),
    [
        (2, ["bench"], "error: there is nothing to measure, name .mlir files, or give --paper"),
        (1, ["bench", "none.mlir"], "error: cannot read 'none.mlir': there is no such file, name an .mlir file"),
        (2, ["bench", "{source}", "--read", "x.json"], "error: --read shows results that are there, leave the files"),
        (
            2,
            ["bench", "{source}", "--peers", "tvm"],
            "error: --peers: no peer is called 'tvm', known are torch, compile, triton, none",
        ),
        (1, ["bench", "{source}"], "CUDA driver"),
        (
            1,
            ["bench", "--paper"],
            "make a bundle for a machine that has one (prism bundle), or show its results with --re",
        ),
        (2, ["bundle", "out"], "error: there is nothing to measure"),
        (1, ["bundle", "no/out", "{source}"], "error: cannot write 'no/out': there is no folder 'no', make it first"),
        (
            1,
            ["bundle", ".", "{source}"],
            "error: cannot write '.': it is there already, remove it, name another one, or",
        ),
        (1, ["bundle", "out.rar", "{source}"], "error: cannot write 'out.rar': '.rar' is no archive that is made here"),
        (2, ["bundle", "", "{source}"], "error: OUT: an empty name"),
    ],
)
def test_a_bad_command_line_is_one_line(
    code: int,
    arguments: list[str],
    message: str,
    source: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")
    assert main([a.replace("{source}", str(source)) for a in arguments]) == code
    captured = capfd.readouterr()
    assert message in captured.err
    assert captured.err.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_two_programs_of_one_name_are_refused(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "out"
    arguments = ["bundle", str(output), str(source), str(source), "--peers", "none", "--no-check", "--schedules", "1"]
    assert main(arguments) == 1
    assert "two programs are called 'scaled'" in capsys.readouterr().err
    assert not output.exists()


def test_a_peer_that_is_asked_for_and_not_installed(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before anything is searched; not asked for, it is left out."""
    monkeypatch.setattr("prism_mlir.compiler.triton_peers.triton_installed", lambda: False)
    for command in (["bundle", str(tmp_path / "out"), str(source)], ["bench", str(source)]):
        assert main([*command, "--peers", "torch,triton"]) == 1
        said = 'error: --peers: triton is not installed, pip install "prism-mlir[triton]", or leave it out\n'
        assert capsys.readouterr() == ("", said)
    assert parse_peers(None) == ("torch", "compile")
    assert not (tmp_path / "out").exists()


def test_schedules_that_fail_a_check_are_left_out_and_said(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The chosen one fails, as the machine would say it: the next best is packed instead."""
    from prism_mlir.compiler import measured_row
    from prism_mlir.graph.errors import ExecutionError

    checked: list[str] = []

    class Watched(measured_row.Emulator):
        def __call__(self, arguments: Any) -> Any:
            checked.append(self.launch.kernels[0].ptx)
            if len(checked) == 1:
                raise ExecutionError("emitted code is wrong: race")
            return super().__call__(arguments)

    monkeypatch.setattr(measured_row, "Emulator", Watched)
    output = tmp_path / "out"
    assert main(["bundle", str(output), str(source), "--schedules", "2", "--peers", "none"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("packed   1 program, 2 candidates")
    assert lines[1].startswith("left out scaled: graph ")
    assert lines[1].endswith("emitted code is wrong: race")
    (row,) = json.loads((output / "bundle.json").read_text())["rows"]
    assert len(checked) == 3
    assert [f"left out scaled: {text}" for text in row["left_out"]] == lines[1:2]


def test_a_program_without_right_code_is_left_out_of_several(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from prism_mlir.compiler import measured_row

    other = tmp_path / "other.mlir"
    other.write_text(SOURCE.replace("@scaled", "@other"))
    real = measured_row._wrong

    def wrong(emulator: Any, *rest: Any) -> str:
        return "it is wrong" if emulator.launch.kernels[0].entry == "other" else real(emulator, *rest)

    monkeypatch.setattr(measured_row, "_wrong", wrong)
    arguments = ["--schedules", "1", "--peers", "none", "-q"]
    assert main(["bundle", str(tmp_path / "both"), str(source), str(other), *arguments]) == 0
    err = capsys.readouterr().err
    assert err.startswith(f"warning: {other} is left out: graph ")
    assert err.endswith("it is wrong, report this as a bug of Prism\n")
    rows = json.loads((tmp_path / "both" / "bundle.json").read_text())["rows"]
    assert [row["name"] for row in rows] == ["scaled"]
    assert main(["bundle", str(tmp_path / "none"), str(other), *arguments]) == 1
    err = capsys.readouterr().err
    assert err.startswith(f"{other}:")
    assert "error: graph " in err
    assert not (tmp_path / "none").exists()
