"""A small compilation as ``report.json`` and ``details.json`` tell it, written by hand: the paper's softmax(X) . W, fused."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from prism_mlir.graph.data import graph_to_data
from prism_mlir.graph.examples import softmax_matmul_block
from prism_mlir.report.contents import Contents
from prism_mlir.report.data import Data

GRAPH = softmax_matmul_block()
CODE = "c0de"
CHOSEN = {"sizes": {"i": 64, "x": 128}, "warps": 4, "stages": 2}
SLOWER = {"sizes": {"i": 64, "x": 64}, "warps": 4, "stages": 1, "orientation": "upright"}

# 1 SM at 1 GHz: 2 x 500 tensor operations and 2 x 50 others a clock, 100 bytes a clock.
TARGET = {
    "name": "toy",
    "arch": "sm_80",
    "description": "a toy",
    "sms": 1,
    "clock_ghz": 1.0,
    "tensor_fma": 500,
    "f32_fma": 50,
    "dram_gbs": 100.0,
    "dram_sustained": 0.8,
    "shared_per_block": 8192,
    "launch_us": 2.0,
}
COST = {
    "blocks": 128,
    "resident": 3,
    "registers": 40,
    "dram_bytes": 1_000_000,
    "tensor_fma": 5_000_000,
    "f32_fma": 0,
    "limiter": "dram",
    "total_us": 20.0,
}
KERNEL = {
    "grid": {"x": 128},
    "loop": {"i": 64},
    "stages": 2,
    "warps": 4,
    "tiles": [[32, 64], [64, 128], [32, 64], [32, 1], [32, 1], [32, 128], [32, 128], [32, 128]],
    "copies": {"0": 4096, "1": 16384},
    "cost": COST,
    "shared": {
        "total": 4096,
        "buffers": [
            {
                "node": 0,
                "kind": "load",
                "dtype": "f16",
                "slots": 2,
                "bytes": 3072,
                "offset": 0,
                "first": "before",
                "last": "loop",
            },
            {
                "node": 4,
                "kind": "value",
                "dtype": "f32",
                "slots": 1,
                "bytes": 1024,
                "offset": 3072,
                "first": "loop",
                "last": "after",
            },
        ],
    },
}
ALONE = {
    "op": "matmul",
    "us": 30.0,
    "kernel_us": 28.0,
    "dram_bytes": 1_500_000,
    "tensor_fma": 5_000_000,
    "f32_fma": 0,
    "limiter": "tensor",
}
PROGRAM = {
    "name": "softmax_matmul",
    "inputs": [
        {"name": "X", "shape": [4096, 4096], "dtype": "f16"},
        {"name": "W", "shape": [4096, 128], "dtype": "f16"},
    ],
    "nodes": [
        {"op": "unary[exp(x)]", "operands": [0], "shape": [4096, 4096], "dtype": "f16"},
        {"op": "sum[1]", "operands": [2], "shape": [4096, 1], "dtype": "f16"},
        {"op": "div", "operands": [2, 3], "shape": [4096, 4096], "dtype": "f16"},
        {"op": "matmul", "operands": [4, 1], "shape": [4096, 128], "dtype": "f16"},
    ],
    "outputs": [{"name": "out", "value": 5, "shape": [4096, 128], "dtype": "f16"}],
}
VERDICT = {
    "status": "proved",
    "reason": "",
    "axiom_hash": "a5",
    "rules_fired": ["partial-sum", "mul-commutes"],
    "together": 3,
    "iterations": 5,
    "nodes": 208,
    "seeds": [0, 1],
    "sizes_tried": [{"x": 2, "i": 2}, {"x": 3}],
    "counterexample": None,
}
PART = {
    "name": "softmax_matmul",
    "operators": [n["op"] for n in PROGRAM["nodes"]],
    "funnel": {
        "counts": {
            "states": 100,
            "structures": 10,
            "mappings": 4,
            "proved": 3,
            "refuted": 1,
            "unknown": 0,
            "rejected: dims": 7,
        },
        "complete": True,
        "stopped_by": [],
        "left": [],
    },
    "verdict": VERDICT,
    "graph": {"fingerprint": GRAPH.fingerprint, "text": str(GRAPH)},
    "schedule": CHOSEN,
    "cost": {"total_us": 22.0, "limiter": "dram", "dram_bytes": 1_000_000},
    "space": {
        "graphs": 1,
        "raw": 1000,
        "examined": 100,
        "exhaustive": False,
        "valid": 2,
        "rejected": {"too much shared memory": 98},
        "turned": 0,
    },
    "on record": {"proof": False, "choice": False},
    "refused": [],
    "profile": None,
}
REPORT = {
    "source": "softmax.mlir",
    "program": {"name": "softmax_matmul", "operators": PART["operators"]},
    "parts": [PART],
    "cuts": [],
    "kernels": 1,
    "accuracy": [
        {
            "inputs": "random",
            "output": "out",
            "error": 0.001,
            "source_error": 0.002,
            "used": 0.25,
            "scale": 4.0,
            "special": 0,
            "ok": True,
        }
    ],
    "checked before": False,
    "left out": [],
    "target": "toy",
    "seed": 0,
    "limits": {"operators": 11, "seconds": None},
    "versions": {"prism-mlir": "0.1.0", "numpy": "2.3"},
    "seconds": {"import": 0.5},
}
DETAILS = {
    "format": "prism details 1",
    "target": TARGET,
    "program": PROGRAM,
    "roofline": {
        "bytes": 800_000,
        "fma": 5_000_000,
        "dram_us": 10.0,
        "tensor_us": 9.0,
        "launch_us": 1.0,
        "total_us": 11.0,
    },
    "parts": [
        {
            "name": "softmax_matmul",
            "operators": [0, 4],
            "program": PROGRAM,
            "proved": 3,
            "graphs": [{"fingerprint": GRAPH.fingerprint, "code": CODE, "graph": graph_to_data(GRAPH)}],
            "ranking": {
                "ranked": 7,
                "columns": [],
                "rows": [
                    [CODE, CHOSEN, 22.0, 1_000_000, 4096, 40, 128, 3, "dram"],
                    [CODE, SLOWER, 44.0, 2_000_000, 2048, 40, 64, 4, "sm"],
                ],
            },
            "measured": [],
            "code": graph_to_data(GRAPH),
            "kernels": [KERNEL],
            "unfused": [
                ALONE,
                {**ALONE, "op": "unary[exp(x)]", "us": 14.0, "tensor_fma": 0, "f32_fma": 0, "dram_bytes": 500_000},
            ],
        }
    ],
}
LAUNCH = {
    "kernels": [
        {
            "entry": "softmax_matmul",
            "ptx": "softmax_matmul.ptx",
            "grid": [128, 1, 1],
            "block": [128, 1, 1],
            "shared_bytes": 4096,
            "arguments": [],
        }
    ],
    "workspace": [],
}
PTX = ".version 8.0\n.target sm_80\n\n.visible .entry softmax_matmul()\n{\n\tadd.s32 \t%r1, %r1, 1;\n$L__BB0_1:\n\tret;\n}\n"


def contents(report: Any = None, details: Any = None, **fields: Any) -> Contents:
    """The compilation, with other data in the place of some of it."""
    report, details = deepcopy(REPORT if report is None else report), deepcopy(DETAILS if details is None else details)
    given = {"launch": Data(LAUNCH, "launch.json: "), "ptx": {"softmax_matmul.ptx": PTX}, **fields}
    files = (("details.json", 2048), ("report.json", 1024))
    return Contents(
        "out", files, "2026-01-02 03:04 UTC", Data(report, "report.json: "), Data(details, "details.json: "), **given
    )


def changed(base: Any, path: str, value: Any) -> Any:
    """A copy of JSON data with one value replaced: ``parts.0.space.valid``."""
    made = deepcopy(base)
    *outer, last = [int(p) if p.isdigit() else p for p in path.split(".")]
    place = made
    for step in outer:
        place = place[step]
    place[last] = value
    return made
