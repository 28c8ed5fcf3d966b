"""``prism-superoptimize``: the whole line, from linalg to PTX."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from prism_mlir.passes.base import PrismPass
from prism_mlir.passes.gpu_to_ptx import GpuToPtxPass
from prism_mlir.passes.legality import Stage
from prism_mlir.passes.sgraph_fuse_threads import SgraphFuseThreadsPass
from prism_mlir.passes.sgraph_generate import SgraphGeneratePass
from prism_mlir.passes.sgraph_import import SgraphImportPass
from prism_mlir.passes.sgraph_instantiate_maps import SgraphInstantiateMapsPass
from prism_mlir.passes.sgraph_instantiate_parameters import SgraphInstantiateParametersPass
from prism_mlir.passes.sgraph_match_dims import SgraphMatchDimsPass
from prism_mlir.passes.sgraph_prune import SgraphPrunePass
from prism_mlir.passes.sgraph_to_gpu import SgraphToGpuPass
from prism_mlir.passes.sgraph_verify import SgraphVerifyPass
from prism_mlir.search.limits import SearchLimits
from prism_mlir.tune.choose import DEFAULT_SAMPLES
from prism_mlir.tune.targets import DEFAULT_TARGET


@dataclass(frozen=True)
class PrismSuperoptimizePass(PrismPass):
    """All passes in order, from functions of linalg operations to PTX.

    ``prism-opt --prism-superoptimize --dump-pass-pipeline`` prints what it stands for.

    Options:

    - ``target``: chip (default ``sm_80``)
    - ``operators``, ``grid-dims``: of ``sgraph-generate``
    - ``samples``, ``seed``, ``allow-tf32``: of ``sgraph-instantiate-parameters``

    Before:

    ```mlir
    func.func @main(%X: tensor<16x1024xf16>, %W: tensor<1024x1024xf16>) -> tensor<16x1024xf16> { ... }
    ```

    After:

    ```mlir
    sgraph.program @main ...
    gpu.binary @main_0_3 [#gpu.object<#nvvm.target<chip = "sm_80">, assembly = "...">]
    ```
    """

    name = "prism-superoptimize"
    before: ClassVar[Stage] = Stage.SOURCE
    after: ClassVar[Stage] = Stage.PTX

    target: str = DEFAULT_TARGET
    operators: int = SearchLimits().operators
    grid_dims: int = SearchLimits().grid_dims
    samples: int = DEFAULT_SAMPLES
    seed: int = 0
    allow_tf32: bool = False

    def __post_init__(self) -> None:
        self.expand()  # bad options are refused before anything runs

    def expand(self) -> tuple[PrismPass, ...]:
        return (
            SgraphImportPass(),
            SgraphGeneratePass(operators=self.operators, grid_dims=self.grid_dims),
            SgraphMatchDimsPass(),
            SgraphPrunePass(),
            SgraphInstantiateMapsPass(seed=self.seed),
            SgraphVerifyPass(seed=self.seed, proved_only=True),
            SgraphInstantiateParametersPass(
                target=self.target, samples=self.samples, seed=self.seed, allow_tf32=self.allow_tf32
            ),
            SgraphFuseThreadsPass(),
            SgraphToGpuPass(allow_tf32=self.allow_tf32),
            GpuToPtxPass(target=self.target),
        )

    def rewrite(self, ctx: Context, op: ModuleOp) -> None:
        for inner in self.expand():
            inner.apply(ctx, op)
