"""What jax lowers today is read: values are those that jax computes, and those of StableHLO's own conversion to linalg."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from prism_mlir.frontend import import_file
from prism_mlir.frontend.specialise import dynamic_text
from prism_mlir.runtime.cpu_jit import compile_module

pytestmark = pytest.mark.extras
jax = pytest.importorskip("jax")
jnp = jax.numpy

Array = NDArray[Any]
F32 = np.float32
RNG = np.random.default_rng(3)
X, Y = RNG.standard_normal((6, 16)).astype(F32), RNG.standard_normal((6, 16)).astype(F32)
W = (RNG.standard_normal((16, 16)) / 4).astype(F32)


def layer_norm(x: Any) -> Any:
    centred = x - x.mean(-1, keepdims=True)
    return centred * jax.lax.rsqrt((centred**2).mean(-1, keepdims=True) + 1e-5)


def causal(x: Any, y: Any) -> Any:
    scores = jnp.einsum("mk,nk->mn", x, y)
    return jax.nn.softmax(jnp.where(jnp.tril(jnp.ones((6, 6), bool)), scores, -jnp.inf))


def rotated(x: Any, y: Any) -> Any:
    """Rotary embeddings: halves swapped, one negated, and both weighed."""
    angles = jnp.arange(6)[:, None] * jnp.concatenate([y[0, :8], y[0, :8]])
    return x * jnp.cos(angles) + jnp.concatenate([-x[:, 8:], x[:, :8]], -1) * jnp.sin(angles)


FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[Array, ...]]] = {
    "softmax": (jax.nn.softmax, (X,)),
    "log_softmax": (jax.nn.log_softmax, (X,)),
    "silu": (jax.nn.silu, (X,)),
    "gelu with tanh": (jax.nn.gelu, (X,)),
    "gelu with erf": (lambda x: jax.nn.gelu(x, approximate=False), (X,)),
    "layer norm": (layer_norm, (X,)),
    "product": (lambda x, w: jnp.tanh(x @ w), (X, W)),
    "causal mask": (causal, (X, Y)),
    "rotary": (rotated, (X, Y)),
    "relu, clip, power": (lambda x, y: jnp.clip(jax.nn.relu(x), 0.1, 1.5) ** 3 / (1 + jnp.abs(y)), (X, Y)),
    "padded and strided": (lambda x: jnp.pad(x, ((1, 2), (0, 3)), constant_values=2.0)[::2, 1:], (X,)),
    "variance": (lambda x: x / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5), (X,)),
    "a slice from constants": (lambda x: jax.lax.dynamic_slice(x, (2, 3), (3, 7)), (X,)),
    "argmax": (lambda x: jnp.argmax(x, axis=-1).astype(F32), (X,)),
    "logsumexp": (lambda x: jax.nn.logsumexp(x, axis=0), (X,)),
}


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_values(name: str) -> None:
    function, args = FUNCTIONS[name]
    text = jax.jit(function).lower(*args).as_text()
    compiled = compile_module(text)
    taken = [a for a, kind in zip(args, compiled.arguments, strict=True) if kind.shape == a.shape]
    (got,) = compiled(*taken)
    np.testing.assert_allclose(got, np.asarray(function(*args)), rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("name", ["softmax", "silu", "layer norm", "gelu with tanh", "rotary", "relu, clip, power"])
def test_the_conversion_of_stablehlo_itself_agrees(name: str) -> None:
    """jaxlib's pass, on functions that it converts completely; it knows nothing of ours."""
    from jaxlib.mlir import passmanager
    from jaxlib.mlir.dialects import stablehlo

    function, args = FUNCTIONS[name]
    lowered = jax.jit(function).lower(*args)
    (ours,) = compile_module(lowered.as_text())(*args)
    module = lowered.compiler_ir("stablehlo")
    stablehlo.register_stablehlo_passes()
    with module.context:
        passes = "builtin.module(func.func(chlo-legalize-to-stablehlo),stablehlo-legalize-to-linalg)"
        passmanager.PassManager.parse(passes).run(module.operation)
    text = module.operation.get_asm(print_generic_op_form=True, use_local_scope=True)
    assert "stablehlo." not in text
    (theirs,) = compile_module(text)(*args)
    np.testing.assert_allclose(ours, theirs, rtol=2e-6, atol=1e-7)


def test_versioned_stablehlo_is_read() -> None:
    """The dialect of StableHLO's portable files, as text."""
    from jaxlib.mlir import passmanager
    from jaxlib.mlir.dialects import stablehlo

    function, args = FUNCTIONS["product"]
    lowered = jax.jit(function).lower(*args)
    expected = import_file(lowered.as_text())
    module = lowered.compiler_ir("stablehlo")
    stablehlo.register_stablehlo_passes()
    with module.context:
        passmanager.PassManager.parse("builtin.module(stablehlo-legalize-to-vhlo)").run(module.operation)
    text = module.operation.get_asm(print_generic_op_form=True)
    assert "vhlo.dot_general" in text
    assert import_file(text) == expected


ATTENTION = ["matmul", "unary[0.125*x]", "unary[exp(x)]", "sum[3]", "div", "matmul"]


@pytest.mark.parametrize("variant", ["plain", "causal", "mask", "bias"])
def test_attention_of_jax_moves_nothing(variant: str) -> None:
    """``dot_product_attention``, whose tensors are (batch, length, heads, size); 1 / sqrt(64) is 0.125."""
    qkv = [jax.ShapeDtypeStruct((2, 32, 4, 64), jnp.bfloat16)] * 3
    more = {"mask": ((2, 1, 32, 32), jnp.bool_), "bias": ((2, 4, 32, 32), jnp.bfloat16)}
    extra = [jax.ShapeDtypeStruct(*more[variant])] if variant in more else []

    def attend(q: Any, k: Any, v: Any, *rest: Any) -> Any:
        return jax.nn.dot_product_attention(
            q, k, v, is_causal=variant == "causal", **dict(zip([variant], rest, strict=False))
        )

    program = import_file(jax.jit(attend).lower(*qkv, *extra).as_text())
    names = [str(node.op) for node in program.nodes]
    assert [n for n in names if not n.startswith(("keep", "add"))] == ATTENTION
    assert len(names) == len(ATTENTION) + (variant != "plain")


def test_grouped_attention_of_jax_is_attention_between_reshapes() -> None:
    q, kv = ((2, 32, heads, 64) for heads in (8, 2))
    args = [jax.ShapeDtypeStruct(s, jnp.bfloat16) for s in (q, kv, kv)]
    program = import_file(jax.jit(jax.nn.dot_product_attention).lower(*args).as_text())
    names = [str(node.op) for node in program.nodes]
    assert names[0].startswith("reshape")
    assert names[1:-1] == ATTENTION
    assert names[-1].startswith("reshape")


def test_dynamic_shapes_fold_to_numbers() -> None:
    """Softmax of a product with a batch that is known later."""
    from jax import export

    (batch,) = export.symbolic_shape("b")
    given = (jax.ShapeDtypeStruct((batch, 16), F32), jax.ShapeDtypeStruct((16, 16), F32))
    exported = export.export(jax.jit(lambda x, w: jax.nn.softmax(x @ w) * 2))(*given)
    source = dynamic_text(exported.mlir_module())
    (got,) = compile_module(source.specialised(dict.fromkeys(source.dims, 6)).text)(X, W)
    np.testing.assert_allclose(got, 2 * np.asarray(jax.nn.softmax(X @ W)), rtol=2e-5, atol=2e-6)
