"""``torch.compile(model, backend="prism")``: graphs of TorchDynamo, through AOTAutograd, with kernels in them."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch._decomp import get_decompositions
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.aot_autograd import make_boxed_func

from prism_mlir.frameworks.fallback import Fallback, check_emulated, warn_fallback
from prism_mlir.frameworks.kernels import kernels_of
from prism_mlir.frontend.import_linalg import import_module
from prism_mlir.frontend.torch.convert import GRAPH, Converted, convert
from prism_mlir.frontend.upstream import read_module
from prism_mlir.graph.errors import PrismError
from prism_mlir.torch.launch import Kernels
from prism_mlir.torch.partition import NUMBER, numbered, partition
from prism_mlir.tune.targets import DEFAULT_TARGET, TARGETS

DECOMPOSED = (
    *(
        "addcdiv",
        "addcmul",
        "elu",
        "glu",
        "hardsigmoid",
        "hardswish",
        "hardtanh",
        "leaky_relu",
        "lerp",
        "linalg_vector_norm",
    ),
    *(
        "log_sigmoid_forward",
        "logsumexp",
        "mish",
        "native_group_norm",
        "softplus",
        "std_mean",
        "threshold",
        "unsafe_split",
    ),
)
"""Operators of ATen that are taken apart."""

log = logging.getLogger("prism_mlir.torch")


def backend(
    module: torch.fx.GraphModule,
    inputs: Sequence[Any],
    *,
    options: Mapping[str, Any] | None = None,
    mode: str | None = None,
) -> Callable[..., Any]:
    """The backend that torch finds under the name ``prism``.

    options: ``target``, and what :func:`prism_mlir.optimize` takes;  mode: is not used

    What cannot be compiled runs as eager PyTorch, with one :class:`PrismWarning` for the graph.
    """
    settings = dict(options or {})
    try:
        target = _target(settings, _device(module, inputs))
        _specialise(inputs)

        def inference(graph: torch.fx.GraphModule, _inputs: Sequence[Any]) -> Callable[..., Any]:
            made: Callable[..., Any] = make_boxed_func(compile_graph(graph, target, settings))
            return made

        through = aot_autograd(fw_compiler=_training, inference_compiler=inference, decompositions=decompositions())
        made: Callable[..., Any] = through(module, inputs)
        return made
    except Fallback as fallback:
        warn_fallback("a graph of torch.compile", "eagerly", fallback)
        eager: Callable[..., Any] = module.forward
        return eager


@functools.cache
def decompositions() -> Mapping[Any, Any]:
    """How operators that models use, and that have no rule, are made of those that have one. Others stay whole."""
    aten = torch.ops.aten
    known: Mapping[Any, Any] = get_decompositions([getattr(aten, name) for name in DECOMPOSED if hasattr(aten, name)])
    return known


def compile_graph(module: torch.fx.GraphModule, target: str, options: Mapping[str, Any]) -> torch.fx.GraphModule:
    """A graph of ATen operators with kernels in place of what can be one.

    What cannot be compiled as it is, is tried again with a cut after every product, and then left as it is.
    Raises :class:`Fallback` where nothing can be compiled.
    """
    start, excluded, fine = numbered(module), set[int](), set[int]()
    reasons: list[PrismError] = []
    while True:
        found, converted = _divided(start, excluded, fine, reasons)
        made: dict[str, Kernels] = {}
        failed: list[set[int]] = []
        for name, each in converted.items():
            try:
                made[name] = Kernels(kernels_of(each.text, target, options), each.arguments, each.results)
            except PrismError as error:
                reasons.append(error)
                failed.append(_numbers(found.get_submodule(name)))
        if not failed:
            break
        for numbers in failed:
            excluded |= numbers if numbers <= fine else set()
            fine |= numbers
    if not made:
        raise _nothing(reasons)
    for name, kernels in made.items():
        setattr(found, name, _KernelModule(kernels))
    for reason in reasons:
        log.info("not compiled as it was: %s", reason)
    found.recompile()
    return found


def _divided(
    start: torch.fx.GraphModule, excluded: set[int], fine: set[int], reasons: list[PrismError]
) -> tuple[torch.fx.GraphModule, dict[str, Converted]]:
    """A graph with submodules that are programs, and those programs.

    A node that the compiler does not read is excluded, and the rest is divided anew; why goes to ``reasons``.
    """
    while True:
        found = partition(start, excluded, fine)
        converted: dict[str, Converted] = {}
        refused: set[int] = set()
        for name in found.names:
            part = found.module.get_submodule(name)
            try:
                converted[name] = _converted(part)
            except PrismError as error:
                reasons.append(error)
                refused |= _blamed(part, error)
        if not refused:
            return found.module, converted
        excluded |= refused


class _KernelModule(torch.nn.Module):
    """Kernels as a submodule of a graph."""

    def __init__(self, kernels: Kernels) -> None:
        super().__init__()
        self.kernels = kernels

    def forward(self, *tensors: torch.Tensor) -> Any:
        made = self.kernels(*tensors)
        return made[0] if len(made) == 1 else made


def _converted(module: torch.fx.GraphModule) -> Converted:
    """A submodule as a program that the compiler reads. Raises :class:`PrismError` at the node that it does not."""
    made = convert(module.graph)
    import_module(read_module(made.text, GRAPH))
    return made


def _blamed(module: torch.fx.GraphModule, error: PrismError) -> set[int]:
    """Numbers of the nodes that an error is about: that of its place, or all."""
    nodes = list(module.graph.nodes)
    place = error.location
    if place is not None and place.file == GRAPH and 0 < place.line <= len(nodes):
        node = nodes[place.line - 1]
        blamed = [node] if node.op == "call_function" else list(node.users)
        found = {n.meta[NUMBER] for n in blamed if n.op == "call_function"}
        if found:
            return found
    return _numbers(module)


def _numbers(module: torch.fx.GraphModule) -> set[int]:
    return {n.meta[NUMBER] for n in module.graph.nodes if n.op == "call_function"}


def _nothing(reasons: Sequence[PrismError]) -> Fallback:
    if reasons:
        return Fallback.of(reasons[0])
    return Fallback("it has no operator that sums or contracts and is supported", "nothing needs to be done")


def _training(_graph: Any, _inputs: Any) -> Any:
    raise Fallback("its results need gradients", "call it under torch.no_grad() or torch.inference_mode()")


def _device(module: torch.fx.GraphModule, inputs: Sequence[Any]) -> torch.device:
    """The one device of all tensors, if kernels can run there."""
    tensors = [v for v in (*inputs, *module.parameters(), *module.buffers()) if isinstance(v, torch.Tensor)]
    devices = {t.device for t in tensors}
    if len(devices) != 1:
        names = " and ".join(sorted(map(str, devices))) or "no device"
        raise Fallback(f"its tensors are on {names}", "bring them to one GPU")
    (device,) = devices
    if device.type == "cpu":
        check_emulated("tensors", "move them to a GPU, or ")
    elif device.type != "cuda" or torch.version.hip is not None:
        raise Fallback(f"its tensors are on {device}", "bring them to an NVIDIA GPU")
    return device


def _target(settings: dict[str, Any], device: torch.device) -> str:
    """The target that was asked for, or the newest that runs on the device."""
    asked = settings.pop("target", None)
    if asked is not None:
        return str(asked)
    if device.type != "cuda":
        return DEFAULT_TARGET
    return target_of(torch.cuda.get_device_capability(device))


def target_of(capability: tuple[int, int]) -> str:
    """The newest target whose code runs on a device of some compute capability. Raises :class:`Fallback` where there is none."""
    number = 10 * capability[0] + capability[1]
    fitting = [n for n in TARGETS if n.removeprefix("sm_").isdigit() and int(n.removeprefix("sm_")) <= number]
    if not fitting:
        have = ".".join(map(str, capability))
        raise Fallback(f"the GPU has compute capability {have}", "use one of 8.0 or later")
    return max(fitting, key=lambda n: int(n.removeprefix("sm_")))


def _specialise(inputs: Sequence[Any]) -> None:
    """Give every symbolic size the value it has: torch's guards then require it, and compile again for others."""
    context = torch._guards.TracingContext.try_get()
    if any(isinstance(v, torch.Tensor) and _must_stay_dynamic(context, v) for v in inputs):
        raise Fallback("a dim of an argument is marked dynamic", "do not call mark_dynamic, or use prism compile")
    if any(isinstance(v, torch.SymFloat | torch.SymBool) for v in inputs):
        raise Fallback("it takes a number that is symbolic", "call torch.compile with dynamic=False")
    for size in inputs:
        if isinstance(size, torch.SymInt):
            int(size)


def _must_stay_dynamic(context: Any, tensor: torch.Tensor) -> bool:
    """Whether a value for one of its sizes would be an error: ``mark_dynamic`` was called."""
    known = None if context is None else context.tensor_to_context.get(tensor)
    return any(c is not None and not c.warn_only for c in getattr(known, "constraint_sizes", None) or ())
