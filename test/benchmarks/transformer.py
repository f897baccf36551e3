# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A training step of a decoder in plain JAX, as deep as one likes, dense or with GShard's
experts in every second layer; a program as those of test/conformance/catalogue.py."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P

sys.path.insert(1, str(Path(__file__).resolve().parents[1] / "conformance"))

from programs.moe import top_2_gating  # noqa: E402

WIDTH, HEADS, VOCABULARY = 256, 8, 512
# Columns of what widens and rows of what narrows are split.
LAYER = {
    "qkv": ((3, WIDTH, WIDTH), P(None, None, "model")),
    "out": ((WIDTH, WIDTH), P("model", None)),
    "up": ((WIDTH, 4 * WIDTH), P(None, "model")),
    "down": ((4 * WIDTH, WIDTH), P("model", None)),
    "norms": ((2, WIDTH), P()),
}


def _moe_layer(experts: int) -> dict[str, Any]:
    """Attention as in LAYER; experts are split over "data", as GShard's."""
    wide = {
        "router": ((WIDTH, experts), P()),
        "wi": ((experts, WIDTH, 4 * WIDTH), P("data", None, "model")),
        "wo": ((experts, 4 * WIDTH, WIDTH), P("data", "model", None)),
    }
    return {name: LAYER[name] for name in ("qkv", "out", "norms")} | wide


def _shape_of(parameters: dict[str, Any]) -> Any:
    shapes = {name: jax.ShapeDtypeStruct(shape, np.float32) for name, (shape, _) in parameters.items()}
    return shapes, {name: spec for name, (_, spec) in parameters.items()}


def _norm(x: jax.Array, scale: jax.Array) -> jax.Array:
    mean = x.mean(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(jnp.var(x, -1, keepdims=True) + 1e-6) * (1 + scale)


def _experts(w: dict[str, jax.Array], x: jax.Array, mesh: jax.sharding.Mesh) -> jax.Array:
    """Each sequence is a group; an expert takes twice its even share of the two choices."""
    capacity = 2 * x.shape[1] // w["router"].shape[1]
    split = NamedSharding(mesh, P("data"))
    combine = top_2_gating(jax.nn.softmax(x @ w["router"]), capacity)
    rows = jnp.einsum("gsec,gsm->egcm", (combine > 0).astype(x.dtype), x)
    rows = jax.lax.with_sharding_constraint(rows, split)
    hidden = jax.nn.gelu(jnp.einsum("egcm,emh->egch", rows, w["wi"]))
    rows = jnp.einsum("egch,ehm->egcm", hidden, w["wo"])
    rows = jax.lax.with_sharding_constraint(rows, split)
    return jnp.einsum("gsec,egcm->gsm", combine, rows)


def _layer(w: dict[str, jax.Array], x: jax.Array, mesh: jax.sharding.Mesh) -> jax.Array:
    b, t, d = x.shape
    q, k, v = jnp.einsum("btd,kde->kbte", _norm(x, w["norms"][0]), w["qkv"]).reshape(
        3, b, t, HEADS, d // HEADS
    )
    scores = jnp.einsum("bthe,bshe->bhts", q, k) / np.sqrt(d // HEADS)
    scores = jnp.where(jnp.tril(jnp.ones((t, t), bool)), scores, -1e9)
    mixed = jnp.einsum("bhts,bshe->bthe", jax.nn.softmax(scores), v).reshape(b, t, d)
    x = x + mixed @ w["out"]
    normed = _norm(x, w["norms"][1])
    if "router" in w:
        return x + _experts(w, normed, mesh)
    return x + jax.nn.gelu(normed @ w["up"]) @ w["down"]


def _loss(weights: Any, tokens: jax.Array, mesh: jax.sharding.Mesh) -> jax.Array:
    x = weights["embedding"]["table"][tokens]
    for layer in weights["layers"]:
        x = _layer(layer, x, mesh)
    logits = jax.nn.log_softmax(x @ weights["embedding"]["table"].T)
    return -jnp.take_along_axis(logits[:, :-1], tokens[:, 1:, None], -1).mean()


def _step(
    mesh: jax.sharding.Mesh, weights: Any, first: Any, second: Any, tokens: jax.Array
) -> Any:
    """Adam."""
    loss, gradients = jax.value_and_grad(_loss)(weights, tokens, mesh)
    first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, gradients)
    second = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, second, gradients)
    weights = jax.tree.map(
        lambda w, m, v: w - 1e-3 * m / (jnp.sqrt(v) + 1e-8), weights, first, second
    )
    return weights, first, second, loss


@dataclasses.dataclass(frozen=True)
class Transformer:
    """data, model: sizes of the mesh' axes. experts: of every second layer, if any."""

    layers: int
    data: int = 4
    model: int = 2
    batch: int = 16
    length: int = 64
    experts: int = 0

    def mesh(self) -> jax.sharding.Mesh:
        types = (AxisType.Auto,) * 2
        return jax.make_mesh((self.data, self.model), ("data", "model"), axis_types=types)

    def arrays(self) -> list[np.ndarray]:
        """Small weights and states that are squares, tokens of the vocabulary."""
        numbers = np.random.default_rng(0)

        def draw(shape: Any) -> np.ndarray:
            if shape.dtype == np.int32:
                return numbers.integers(0, VOCABULARY, shape.shape, np.int32)
            return (0.02 * np.abs(numbers.standard_normal(shape.shape))).astype(np.float32)

        return [draw(shape) for shape in jax.tree.leaves(self.traced(self.mesh()).in_avals)]

    def traced(self, mesh: jax.sharding.Mesh) -> jax.stages.Traced:
        embedding = _shape_of({"table": ((VOCABULARY, WIDTH), P())})
        dense = _shape_of(LAYER)
        sparse = _shape_of(_moe_layer(self.experts)) if self.experts else dense
        layers = [(dense, sparse)[number % 2] for number in range(self.layers)]
        weights, specs = (
            {"embedding": embedding[i], "layers": [layer[i] for layer in layers]} for i in (0, 1)
        )
        sharded = jax.tree.map(
            lambda spec: NamedSharding(mesh, spec), specs, is_leaf=lambda s: isinstance(s, P)
        )
        shardings = (sharded, sharded, sharded, NamedSharding(mesh, P("data")))
        outputs = (sharded, sharded, sharded, NamedSharding(mesh, P()))
        tokens = jax.ShapeDtypeStruct((self.batch, self.length), np.int32)
        # A function of its own: JAX keeps traces by function.
        jitted = jax.jit(
            lambda *arguments: _step(mesh, *arguments),
            in_shardings=shardings,
            out_shardings=outputs,
            keep_unused=True,
        )
        return jitted.trace(weights, weights, weights, tokens)
