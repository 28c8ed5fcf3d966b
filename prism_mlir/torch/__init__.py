"""Prism in PyTorch: a backend of ``torch.compile``, and kernels of one module.

model = torch.compile(model, backend="prism")       # torch finds the backend by its entry point
with torch.inference_mode():
    y = model(x)

result = prism_mlir.torch.compile(module, x)        # prism_mlir.Result
text = prism_mlir.torch.to_mlir(module, x)          # linalg on tensors
"""

from __future__ import annotations

from prism_mlir.frameworks.fallback import PrismWarning
from prism_mlir.torch.dynamo import backend
from prism_mlir.torch.export import compile, to_mlir

__all__ = ["PrismWarning", "backend", "compile", "to_mlir"]
