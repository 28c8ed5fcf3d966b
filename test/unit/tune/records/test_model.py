"""Any sequence of operations does to the store what it does to a few dicts."""

from __future__ import annotations

import hashlib
import tempfile
from collections import defaultdict
from contextlib import closing
from pathlib import Path

from filled import Warnings
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from prism_mlir.tune.records.check import problems
from prism_mlir.tune.records.database import Access, open_database
from prism_mlir.tune.records.store import Records

KEYS = st.one_of(st.sampled_from(["a", "b", "A", "a ", ""]), st.text(st.characters(codec="utf-8"), max_size=4))
PAYLOADS = st.one_of(st.text(st.characters(codec="utf-8")), st.integers(0, 20000).map("x".__mul__))
TIMES = st.floats(0, 1e9)


class Store(RuleBasedStateMachine):
    """Two connections to one file, used in turn, and the same in dicts."""

    def __init__(self) -> None:
        super().__init__()
        self.scratch = tempfile.TemporaryDirectory()
        self.folder = Path(self.scratch.name)
        self.warnings = Warnings()
        self.open = [Records.open(self.folder, self.warnings) for _ in range(2)]
        self.families: dict[str, str] = {}
        self.choices: dict[str, str] = {}
        self.measured: defaultdict[str, list[tuple[str, float, float | None]]] = defaultdict(list)
        self.objects: dict[str, bytes] = {}
        self.steps: defaultdict[str, dict[str, str]] = defaultdict(dict)

    def one(self) -> Records:
        """The connections take turns."""
        self.open.reverse()
        return self.open[0]

    @rule(key=KEYS, payload=PAYLOADS)
    def add_family(self, key: str, payload: str) -> None:
        self.one().add_family(key, payload, {"program": key})
        self.families[key] = payload

    @rule(key=KEYS, family=KEYS, payload=PAYLOADS)
    def add_choice(self, key: str, family: str, payload: str) -> None:
        self.one().add_choice(key, family, payload, {})
        self.choices[key] = payload

    @rule(choice=KEYS, candidate=KEYS, us=TIMES, spread=st.none() | TIMES)
    def add_measurement(self, choice: str, candidate: str, us: float, spread: float | None) -> None:
        self.one().add_measurement(choice, candidate, "gpu", us, spread, {"key": candidate})
        self.measured[choice].append((candidate, us, spread))

    @rule(content=st.binary(max_size=5000))
    def add_object(self, content: bytes) -> None:
        digest = self.one().add_object(content, "ptx")
        assert digest == hashlib.sha256(content).hexdigest()
        self.objects[digest] = content

    @rule(run=KEYS, name=KEYS, payload=PAYLOADS)
    def add_step(self, run: str, name: str, payload: str) -> None:
        self.one().add_step(run, name, payload)
        self.steps[run][name] = payload

    @rule(run=KEYS)
    def drop_steps(self, run: str) -> None:
        self.one().drop_steps(run)
        self.steps.pop(run, None)

    @rule()
    def reopen(self) -> None:
        self.open.pop().close()
        self.open.append(Records.open(self.folder, self.warnings))

    @rule(key=KEYS)
    def look_for_anything(self, key: str) -> None:
        records = self.one()
        assert records.family(key) == self.families.get(key)
        assert records.choice(key) == self.choices.get(key)
        assert records.steps(key) == self.steps.get(key, {})

    @invariant()
    def everything_is_there(self) -> None:
        records = self.one()
        assert self.warnings.texts == []
        assert {key: records.family(key) for key in self.families} == self.families
        assert {key: records.choice(key) for key in self.choices} == self.choices
        assert {digest: records.object(digest) for digest in self.objects} == self.objects
        assert {run: records.steps(run) for run in self.steps} == self.steps
        for choice, expected in self.measured.items():
            assert [(m.candidate, m.microseconds, m.spread) for m in records.measurements(choice)] == expected

    def teardown(self) -> None:
        for records in self.open:
            records.close()
        with closing(open_database(self.folder / "records.sqlite", Access.READ)) as connection:
            found = problems(connection)  # choices and measurements here belong to anything
        assert [text for text in found if "belongs to" not in text] == []
        self.scratch.cleanup()


TestStore = Store.TestCase
TestStore.settings = settings(max_examples=25, stateful_step_count=20, deadline=None)
