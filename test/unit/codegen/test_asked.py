"""What schedules ask for beside sizes, warps and stages: valid points run on the PTX machine, with every check."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from codegen_graphs import attention_late, rms_norm_late, swiglu_late
from kernel_trials import build, check, draw_arguments

from prism_mlir.codegen.compile import lower
from prism_mlir.graph.examples import attention, rms_norm, swiglu
from prism_mlir.graph.schedule import Orientation
from prism_mlir.tune.parameters import enumerate_schedules, parameter_space
from prism_mlir.tune.targets import find_target

CASES = {
    "rms norm": (rms_norm(16, 128, 128), rms_norm_late),
    "swiglu": (swiglu(16, 64, 64), swiglu_late),
    "attention": (attention(2, 64, 16, 16), attention_late),
}
RUNS = 4  # of each orientation, and of resident blocks asked for


@pytest.mark.parametrize("name", CASES)
def test_turned_and_resident_schedules_compute_the_program(name: str) -> None:
    """Against the program in f64, within the bound of its error analysis."""
    program, make = CASES[name]
    graph, rng = make(program), Random(name)
    valid = list(enumerate_schedules(parameter_space(graph, program), find_target("sm_80")))
    turned = [[p for p in valid if p.orientation is o and not p.residency] for o in Orientation]
    resident = [p for p in valid if p.residency]
    for kind in (*turned[1:], resident):
        for schedule in rng.sample(kind, min(RUNS, len(kind))):
            first, *rest = draw_arguments(program, "random", rng.randrange(2**32))
            arguments = [(first / 8).astype(first.dtype), *rest]  # the program's exp stays within f16
            assert check(program, build(program, graph, schedule), arguments) == ("", False), schedule.text
    assert sum(map(len, turned[1:])) > RUNS and len(resident) > RUNS


@pytest.mark.parametrize("name", CASES)
def test_an_orientation_that_is_a_choice_changes_the_code(name: str) -> None:
    program, make = CASES[name]
    graph = make(program)
    space = replace(parameter_space(graph, program), residencies=(0,))
    turned = [p for p in enumerate_schedules(space, find_target("sm_80")) if p.orientation is not Orientation.AUTO]
    for point in Random(name).sample(turned, 4):
        plain = replace(point, orientation=Orientation.AUTO)
        assert lower(program, graph, point).gpu_module != lower(program, graph, plain).gpu_module
