"""The programs of examples/ run as their first lines say."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from prism_mlir.graph.errors import UnsupportedError
from prism_mlir.graph.launch_info import LaunchInfo

EXAMPLES = Path(__file__).parents[3] / "examples"
sys.path.append(str(EXAMPLES / "iree"))

import iree_dispatch  # noqa: E402

ONE_FUNCTION = (
    (EXAMPLES / "downstream" / "layer.mlir").read_text().split("func.func @host")[0].replace("{acme.gpu}", "{}")
)


def run(script: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(EXAMPLES / script), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_pipeline_on_xdsl(tmp_path: Path) -> None:
    outcome = run("downstream/xdsl_pipeline.py", EXAMPLES / "downstream" / "layer.mlir", "-o", tmp_path / "out.mlir")
    assert outcome.returncode == 0, outcome.stderr
    text = (tmp_path / "out.mlir").read_text()
    (symbol,) = [part.split('"')[0] for part in text.split('{symbol = "')[1:]]
    assert text.count('"gpu.binary"()') == 1 and f'sym_name = "{symbol}"' in text
    assert ".visible .entry" in text and ".target sm_80" in text
    assert "@host" not in text and "func.func" not in text


def test_a_pipeline_on_upstream(tmp_path: Path) -> None:
    (tmp_path / "in.mlir").write_text(ONE_FUNCTION)
    outcome = run("downstream/upstream_pipeline.py", tmp_path / "in.mlir", "-o", tmp_path / "out.mlir")
    assert outcome.returncode == 0, outcome.stderr
    text = (tmp_path / "out.mlir").read_text()
    assert text.count("gpu.binary @") == 1 and text.count("gpu.launch_func ") == 1
    assert "llvm.func @layer(" in text and "tensor<" not in text and "memref<" not in text


@pytest.mark.extras
@pytest.mark.parametrize("script", ["downstream/xdsl_pipeline.py", "downstream/upstream_pipeline.py"])
def test_errors_are_one_line_and_nothing_is_written(script: str, tmp_path: Path) -> None:
    (tmp_path / "in.mlir").write_text(ONE_FUNCTION.replace("linalg.matmul", "linalg.nothing"))
    outcome = run(script, tmp_path / "in.mlir", "-o", tmp_path / "out.mlir")
    assert outcome.returncode == 1 and "Traceback" not in outcome.stderr and "nothing" in outcome.stderr
    assert not (tmp_path / "out.mlir").exists()


def argument(role: str, index: int, shape: list[int], strides: list[int] | None = None) -> dict[str, object]:
    stride = strides or [shape[1], 1]
    place = {"role": role, "index": index, "name": f"{role}{index}", "dtype": "f16"}
    return {**place, "shape": shape, "strides": stride, "alignment": 16}


def kernel(entry: str, grid: list[int], *arguments: dict[str, object]) -> dict[str, object]:
    launch = {"entry": entry, "ptx": f"{entry}.ptx", "grid": grid, "block": [64, 1, 1], "shared_bytes": 4096}
    return {**launch, "arguments": list(arguments)}


X, W = argument("input", 0, [16, 64]), argument("input", 1, [64, 32])
BETWEEN, Y = argument("workspace", 0, [16, 32]), argument("output", 0, [16, 32])
TWO = {
    "kernels": [kernel("first", [1, 2, 1], X, W, BETWEEN), kernel("second", [4, 1, 3], BETWEEN, W, Y)],
    "workspace": [1024],
}


def test_launches_become_dispatches_in_order() -> None:
    text = iree_dispatch.iree_module(LaunchInfo.from_dict(TWO), "layer", "sm_86")
    assert 'target_arch = "sm_86"' in text
    assert "func.func @layer(%arg0: tensor<16x64xf16>, %arg1: tensor<64x32xf16>) -> (tensor<16x32xf16>) {" in text
    assert '%k0:1 = "hal.dispatch.extern"(%arg0, %arg1)' in text
    assert '%k1:1 = "hal.dispatch.extern"(%k0#0, %arg1)' in text
    assert "return %k1#0 : tensor<16x32xf16>" in text
    assert text.count("workgroup_size = [64 : index, 1 : index, 1 : index]") == 2
    assert [line.split()[3] for line in text.splitlines() if "arith.constant" in line] == list("121413")


@pytest.mark.parametrize(
    ("kernels", "reason"),
    [
        ([kernel("k", [1, 1, 1], Y, X)], "before an operand"),
        ([kernel("k", [1, 1, 1], X, argument("output", 0, [16, 32], [1, 16]))], "not contiguous"),
    ],
)
def test_launches_that_are_no_dispatches(kernels: list[dict[str, object]], reason: str) -> None:
    with pytest.raises(UnsupportedError, match=reason):
        iree_dispatch.iree_module(LaunchInfo.from_dict({"kernels": kernels, "workspace": []}))


def entry(name: str) -> str:
    return f".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry {name}(.param .u64 a, .param .u64 b) {{ ret; }}\n"


@pytest.mark.extras
def test_iree_compiles_two_dispatches(tmp_path: Path) -> None:
    (tmp_path / "launch.json").write_text(json.dumps(TWO))
    for name in ("first", "second"):
        (tmp_path / f"{name}.ptx").write_text(entry(name))
    data = compiled(tmp_path)
    for name in ("first", "second"):
        assert data.count(entry(name).encode()) == 1


@pytest.mark.extras
def test_iree_compiles_what_prism_emits(tmp_path: Path) -> None:
    import prism_mlir

    result = prism_mlir.optimize(ONE_FUNCTION, operators=4, grid_dims=1, check=False)
    for name, content in result.files.items():
        (tmp_path / name).write_text(content)
    data = compiled(tmp_path)
    for launch in result.kernels:
        assert f".visible .entry {launch.entry}(".encode() in data
    for text in result.ptx.values():
        assert text.encode() in data


def compiled(folder: Path) -> bytes:
    """The module that iree-compile makes of a folder."""
    beside = Path(sys.executable).with_name("iree-compile")
    tool = str(beside) if beside.exists() else shutil.which("iree-compile")
    if tool is None:
        pytest.skip("iree-compile is not installed")
    assert iree_dispatch.main([str(folder), "-o", str(folder / "iree.mlir")]) == 0
    command = [tool, "iree.mlir", "-o", "out.vmfb", f"--iree-hal-executable-object-search-path={folder}"]
    outcome = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert outcome.returncode == 0, outcome.stderr
    return (folder / "out.vmfb").read_bytes()
