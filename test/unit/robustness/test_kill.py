"""A command that is killed leaves what was there before, or nothing, or all that it writes."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

WRITER = """
import sys
from pathlib import Path
from prism_mlir.tools.emit import write_all
from prism_mlir.tools.files import write_atomically
folder, name = Path(sys.argv[1]), sys.argv[2]
files = {f"{k}.txt": name * 200_000 for k in range(6)}
print("ready", flush=True)
sys.stdin.readline()
if sys.argv[3] == "folder":
    write_all(folder / "out", files)
else:
    write_atomically(folder / "out.txt", name * 5_000_000)
"""


def killed_writer(folder: Path, name: str, what: str, after: float) -> None:
    """Start a writer, and kill it a moment after it began to write."""
    command = [sys.executable, "-c", WRITER, str(folder), name, what]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.stdin.write("\n")
        process.stdin.flush()
        time.sleep(after)
        os.kill(process.pid, signal.SIGKILL)


@pytest.mark.parametrize("seed", range(2))
def test_a_new_folder_is_there_whole_or_not_at_all(seed: int, tmp_path: Path) -> None:
    killed_writer(tmp_path, "n", "folder", random.Random(seed).uniform(0, 0.02))
    out = tmp_path / "out"
    if out.exists():
        assert sorted(p.name for p in out.iterdir()) == [f"{k}.txt" for k in range(6)]
        assert all(p.read_text() == "n" * 200_000 for p in out.iterdir())


@pytest.mark.parametrize("seed", range(2))
def test_every_file_of_an_old_folder_is_old_or_new(seed: int, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    for k in range(6):
        (out / f"{k}.txt").write_text("old")
    killed_writer(tmp_path, "n", "folder", random.Random(seed).uniform(0, 0.02))
    assert {p.read_text() for p in out.glob("*.txt")} <= {"old", "n" * 200_000}


@pytest.mark.parametrize("seed", range(2))
def test_a_file_is_old_or_new(seed: int, tmp_path: Path) -> None:
    (tmp_path / "out.txt").write_text("old")
    killed_writer(tmp_path, "n", "file", random.Random(seed).uniform(0, 0.02))
    assert (tmp_path / "out.txt").read_text() in ("old", "n" * 5_000_000)
