"""bf16 rounding against two frameworks that did not write it together with us."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from prism_mlir.graph.dtypes import DType, from_float64, to_float64

pytestmark = pytest.mark.extras


def awkward_values() -> NDArray[np.float64]:
    """Random f32 values of all magnitudes, all halfway cases near 1, subnormals, overflow, infinities, zeros."""
    rng = np.random.default_rng(7)
    spread = rng.standard_normal(20_000) * 2.0 ** rng.integers(-130, 127, 20_000)
    halfway = 1.0 + np.arange(0, 512) / 512
    special = [0.0, -0.0, np.inf, -np.inf, 3.3895e38, 3.4e38, -3.4e38, 1e-40, 2.0**-133, 2.0**-134, 1.5 * 2.0**-133]
    with np.errstate(over="ignore"):
        return np.concatenate([spread, halfway, -halfway, special]).astype(np.float32).astype(np.float64)


def test_bf16_rounds_as_torch_does() -> None:
    torch = pytest.importorskip("torch")
    values = awkward_values()
    bits = torch.from_numpy(values.astype(np.float32)).to(torch.bfloat16).view(torch.uint16).numpy()
    np.testing.assert_array_equal(from_float64(values, DType.BF16), bits)


def test_bf16_rounds_as_jax_does() -> None:
    jnp = pytest.importorskip("jax.numpy")
    values = awkward_values()
    ours = to_float64(from_float64(values, DType.BF16), DType.BF16)
    theirs = np.asarray(jnp.asarray(values.astype(np.float32)).astype(jnp.bfloat16).astype(jnp.float32))
    # XLA on a CPU flushes subnormals to zero; that is its arithmetic, not the rounding.
    normal = np.abs(values) >= 2.0**-126
    np.testing.assert_array_equal(ours[normal], theirs[normal].astype(np.float64))
