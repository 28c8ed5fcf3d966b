"""Set up the environment of this project in ``.venv``. Standard library only; runs on a bare Debian python3.

    python3 .ci/environment.py GROUP... [--optional GROUP...]

installs the project (editable) with the named groups of optional dependencies from pyproject.toml. A group after
``--optional`` is installed one requirement at a time, and one that cannot be had is named and left out.

An existing ``.venv`` is kept and completed. A stamp in it records what was installed for which pyproject.toml, so that
a second run has nothing to do.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
STAMP = VENV / "prism-stamp.json"
OLDEST = (3, 11)


class SetupError(Exception):
    """Nothing more to try; the text says what the user can do."""


def main() -> int:
    """Complete the environment; exit code 1 with one line where that is impossible."""
    parser = argparse.ArgumentParser(description="Set up .venv from pyproject.toml.")
    parser.add_argument("groups", nargs="*")
    parser.add_argument("--optional", nargs="*", default=[])
    options = parser.parse_args()
    try:
        check_python()
        setup(options.groups, options.optional)
    except SetupError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def check_python() -> None:
    if sys.version_info < OLDEST:
        have = ".".join(map(str, sys.version_info[:3]))
        raise SetupError(f"Python 3.11 or later is needed, {sys.executable} is {have}; run make PYTHON=python3.12")


def setup(groups: list[str], optional: list[str]) -> None:
    """Install what the stamp does not list yet."""
    stamp = read_stamp()
    if not PYTHON.exists():
        create_environment()
    if not set(groups) <= set(stamp["groups"]):
        wanted = sorted({*groups, *stamp["groups"]})
        print(f"installing the project with {', '.join(wanted)} into .venv (minutes, once)", flush=True)
        # Byte code is written on first import instead: the wheels hold far more modules than are ever used.
        pip("install", "--quiet", "--no-compile", "--editable", f".[{','.join(wanted)}]")
        stamp["groups"] = wanted
        write_stamp(stamp)
    for group in optional:
        if group not in stamp["optional"]:
            install_optional(group)
            stamp["optional"] = sorted({*stamp["optional"], group})
            write_stamp(stamp)


def project_digest() -> str:
    """What the installation depends on: pyproject.toml and the interpreter."""
    text = (ROOT / "pyproject.toml").read_bytes()
    return hashlib.sha256(text + sys.version.encode()).hexdigest()


def read_stamp() -> dict[str, list[str]]:
    """Groups installed for the present pyproject.toml; none where it has changed."""
    try:
        stamp = json.loads(STAMP.read_text())
    except (OSError, ValueError):
        stamp = {}
    if not PYTHON.exists() or stamp.get("project") != project_digest():
        return {"groups": [], "optional": []}
    return {"groups": stamp["groups"], "optional": stamp["optional"]}


def write_stamp(stamp: dict[str, list[str]]) -> None:
    STAMP.write_text(json.dumps({"project": project_digest(), **stamp}, indent=2) + "\n")


def create_environment() -> None:
    """``.venv`` with pip in it, also on a Debian that keeps ensurepip in a package of its own."""
    print(f"creating .venv with {sys.executable}", flush=True)
    if run([sys.executable, "-m", "venv", str(VENV)], quiet=True):
        return
    shutil.rmtree(VENV, ignore_errors=True)
    try:
        if not run([sys.executable, "-m", "venv", "--without-pip", str(VENV)], quiet=True):
            raise SetupError("this python3 has no venv module; install it with: apt-get install python3-venv")
        if not (pip_from_system() or pip_from_debian_wheel()):
            raise SetupError(
                "this python3 has neither ensurepip nor pip; install them with: apt-get install python3-venv"
            )
    except SetupError:
        shutil.rmtree(VENV, ignore_errors=True)  # half an environment would be taken for a whole one
        raise


def pip_from_system() -> bool:
    """Let the system's pip, where there is one, put pip into the environment."""
    return run([sys.executable, "-m", "pip", "--python", str(PYTHON), "install", "--quiet", "pip"], quiet=True)


def pip_from_debian_wheel() -> bool:
    """Unpack Debian's own pip wheel, without installing a package, and let it install itself."""
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        return False
    print("this python3 has no ensurepip: taking pip from Debian's python3-pip-whl", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        fetch = ["apt-get", "download", "--quiet", "python3-pip-whl"]
        # A fresh image has no package lists; only root may fetch them, and nothing else is changed.
        if not run(fetch, quiet=True, folder=folder) and not (
            os.geteuid() == 0 and run(["apt-get", "update", "--quiet"], quiet=True) and run(fetch, folder=folder)
        ):
            return False
        package = next(Path(folder).glob("python3-pip-whl*.deb"))
        if not run(["dpkg-deb", "-x", str(package), folder]):
            return False
        wheel = next(Path(folder).glob("usr/share/python-wheels/pip-*.whl"))
        return run([str(PYTHON), f"{wheel}/pip", "install", "--quiet", "pip"])


def install_optional(group: str) -> None:
    """Install a group one requirement at a time; name what cannot be had, its tests are skipped by name."""
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for requirement in project["optional-dependencies"][group]:
        name = re.split(r"[=<>~! ;\[]", requirement, maxsplit=1)[0]
        if name == requirement.strip():
            print(f"optional {name}: left out, pyproject.toml names no version of it that was tried", flush=True)
            continue
        print(f"optional {requirement}: installing", flush=True)
        if not run([str(PYTHON), "-m", "pip", "install", "--quiet", "--no-compile", requirement]):
            print(f"optional {requirement}: not to be had here; its tests are skipped", flush=True)


def pip(*arguments: str) -> None:
    if not run([str(PYTHON), "-m", "pip", *arguments]):
        raise SetupError(f"pip {arguments[0]} failed, see its message above; run make again to go on")


def run(command: list[str], *, quiet: bool = False, folder: str | None = None) -> bool:
    """Run a command from the project's root; whether it succeeded."""
    sink = subprocess.DEVNULL if quiet else None
    try:
        return (
            subprocess.run(command, cwd=folder or ROOT, stdin=subprocess.DEVNULL, stdout=sink, stderr=sink).returncode
            == 0
        )
    except OSError:
        return False


if __name__ == "__main__":
    sys.exit(main())
