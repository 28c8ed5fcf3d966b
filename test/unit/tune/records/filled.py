"""A small database whose content is known, and what may be read from a damaged copy of it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path

from prism_mlir.tune.records.store import Records

FAMILIES = {f"family {i}": f"graphs {i} " * (1 + 40 * i) for i in range(12)}
CHOICES = {f"choice {i}": f"sizes {i} " * (1 + 10 * i) for i in range(12)}
OBJECTS = [bytes([i]) * (100 + 700 * i) for i in range(8)]
TIMES = [0.5 * i for i in range(1, 9)]
STEPS = {f"step {i}": f"done {i}" for i in range(5)}


@dataclass
class Warnings:
    """Remembers what it is told."""

    texts: list[str] = field(default_factory=list)

    def __call__(self, text: str) -> None:
        assert "\n" not in text
        self.texts.append(text)


def fill(folder: Path) -> Path:
    """Write it, and return the file. No log is left."""
    warnings = Warnings()
    with Records.open(folder, warnings) as records:
        for (family, graphs), (choice, sizes) in zip(FAMILIES.items(), CHOICES.items(), strict=True):
            records.add_family(family, graphs, {"program": family})
            records.add_choice(choice, family, sizes, {"sizes": {"n": 1}})
        for content in OBJECTS:
            records.add_object(content, "ptx")
        for us in TIMES:
            records.add_measurement("choice 0", f"candidate {us}", "gpu", us, None, {"gpu": "A100"})
        for name, payload in STEPS.items():
            records.add_step("run", name, payload)
        path = records.path
    assert path is not None and warnings.texts == []
    assert not Path(f"{path}-wal").exists()
    return path


def read_what_is_there(records: Records) -> int:
    """Read everything; what is found is right. How much was found."""
    found = 0
    for name, payload in FAMILIES.items():
        got = records.family(name)
        assert got in (None, payload)
        found += got is not None
    for name, payload in CHOICES.items():
        got = records.choice(name)
        assert got in (None, payload)
        found += got is not None
    for content in OBJECTS:
        data = records.object(hashlib.sha256(content).hexdigest())
        assert data in (None, content)
        found += data is not None
    times = [m.microseconds for m in records.measurements("choice 0")]
    assert set(times) <= set(TIMES) and len(times) == len(set(times))
    steps = records.steps("run")
    assert steps.items() <= STEPS.items()
    return found + len(times) + len(steps)


EVERYTHING = len(FAMILIES) + len(CHOICES) + len(OBJECTS) + len(TIMES) + len(STEPS)
