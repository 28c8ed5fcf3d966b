"""Give the kernels of a compilation to IREE, as custom dispatches of a function.

    prism compile examples/rms_norm.mlir -o out/rms_norm
    python examples/iree/iree_dispatch.py out/rms_norm -o out/rms_norm/iree.mlir
    iree-compile out/rms_norm/iree.mlir --iree-hal-executable-object-search-path=out/rms_norm -o out/rms_norm/rms_norm.vmfb

``launch.json`` says all that IREE wants to know. An IREE kernel takes one pointer for every binding, operands first and then
results, which is what Prism's kernels take; so a kernel becomes one ``hal.dispatch.extern`` whose object is its PTX file, and a
buffer between kernels is a result of one dispatch and an operand of the next.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from prism_mlir.graph.errors import PrismError, UnsupportedError
from prism_mlir.graph.launch_info import KernelArgument, KernelLaunch, LaunchInfo, Role
from prism_mlir.graph.program import row_major

Buffer = tuple[Role, int]

STORED = {"i1": "i8"}
"""Element types that IREE stores in another way than our kernels: masks are a byte an element on both sides."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the module; errors are one line on standard error and exit code 1."""
    parser = argparse.ArgumentParser(description="Give the kernels of a compilation to IREE.")
    parser.add_argument("folder", type=Path, help="what prism compile -o wrote")
    parser.add_argument("-o", "--output", type=Path, required=True, help="the module for iree-compile")
    parser.add_argument("--function", default="main", help="what to call the function")
    parser.add_argument("--target", default="sm_80", help="chip that the kernels are for")
    options = parser.parse_args(arguments)
    try:
        launch = LaunchInfo.from_dict(json.loads((options.folder / "launch.json").read_text()))
        options.output.write_text(iree_module(launch, options.function, options.target))
    except (PrismError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def iree_module(launch: LaunchInfo, function: str = "main", target: str = "sm_80") -> str:
    """A module for ``iree-compile`` with a function that does what the launches do.

    Raises :class:`UnsupportedError` for launches that IREE's dispatches cannot say: results that are not contiguous, and kernels
    that take a buffer they write before one they only read.
    """
    inputs, outputs = launch.arguments(Role.INPUT), launch.arguments(Role.OUTPUT)
    values: dict[Buffer, str] = {(Role.INPUT, a.index): f"%arg{a.index}" for a in inputs}
    body = [line for number, kernel in enumerate(launch.kernels) for line in _dispatch(kernel, number, values)]
    results = ", ".join(values[Role.OUTPUT, a.index] for a in outputs)
    parameters = ", ".join(f"%arg{a.index}: {_type(a)}" for a in inputs)
    types = ", ".join(map(_type, outputs))
    return "\n".join(
        [
            f'#target = #hal.executable.target<"cuda", "cuda-nvptx-fb", {{target_arch = "{target}"}}>',
            '#device = #hal.device.target<"cuda", [#target]> : !hal.device',
            "module attributes {hal.device.targets = [#device]} {",
            f"  func.func @{function}({parameters}) -> ({types}) {{",
            *(f"    {line}" for line in body),
            f"    return {results} : {types}",
            "  }",
            "}",
            "",
        ]
    )


def _dispatch(kernel: KernelLaunch, number: int, values: dict[Buffer, str]) -> list[str]:
    """One kernel. ``values`` names the tensors that there are, and learns those that the kernel makes."""
    made = [a for a in kernel.arguments if a.role is not Role.INPUT and (a.role, a.index) not in values]
    read = [a for a in kernel.arguments if a not in made]
    if list(kernel.arguments) != read + made:
        raise UnsupportedError(f"kernel {kernel.entry} takes a result before an operand; IREE passes operands first")
    for argument in made:
        if argument.strides != row_major(argument.shape):
            raise UnsupportedError(f"result {argument.name} of {kernel.entry} is not contiguous; IREE's tensors are")
    bindings = [*["#hal.pipeline.binding<storage_buffer, ReadOnly>"] * len(read)]
    bindings += ["#hal.pipeline.binding<storage_buffer>"] * len(made)
    properties = {
        "export_name": json.dumps(kernel.entry),
        "layout": f"#hal.pipeline.layout<bindings = [{', '.join(bindings)}]>",
        "operandSegmentSizes": f"array<i32: 0, {len(read)}, 0, 0>",
        "target_objects": f"[[#hal.executable.object<{{path = {json.dumps(kernel.ptx)}}}>]]",
        "target_ordinals": "[0 : index]",
        "targets": "[#target]",
        "tied_operands": f"[{', '.join(['-1 : index'] * len(made))}]",
        "workgroup_local_memory": f"{kernel.shared_bytes} : index",
        "workgroup_size": f"[{', '.join(f'{n} : index' for n in kernel.block)}]",
    }
    operands = ", ".join(values[a.role, a.index] for a in read)
    values |= {(a.role, a.index): f"%k{number}#{k}" for k, a in enumerate(made)}
    signature = f"({', '.join(map(_type, read))}) -> ({', '.join(map(_type, made))})"
    return [
        # In generic form: the custom one has no place for workgroup_size.
        f'%k{number}:{len(made)} = "hal.dispatch.extern"({operands}) <{{',
        *(f"  {name} = {value}," for name, value in list(properties.items())[:-1]),
        f"  workgroup_size = {properties['workgroup_size']}",
        "}> ({",
        "^bb0(%device: !hal.device):",
        *(f"  %{axis} = arith.constant {count} : index" for axis, count in zip("xyz", kernel.grid, strict=True)),
        "  hal.return %x, %y, %z : index, index, index",
        "}, {",
        f"}}) : {signature}",
    ]


def _type(argument: KernelArgument) -> str:
    element = STORED.get(str(argument.dtype), str(argument.dtype))
    return f"tensor<{''.join(f'{n}x' for n in argument.shape)}{element}>"


if __name__ == "__main__":
    sys.exit(main())
