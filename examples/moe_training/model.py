# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A small Mixture-of-Experts Transformer over bytes, GShard's way, of the frontend's values and of JAX's arrays.

train.py and ../jax_moe_training/train.py train it: what is called here is of the world of its first array.

Letters: B sentences of S bytes, M model size, N heads of D, E experts of H hidden units with
room for C tokens of a sentence, L layers.
"""

from dataclasses import dataclass

import numpy as np

import shoal
from shoal import P
from shoal.arrays import as_value, constrain, einsum, like, mesh_around, rms_norm, scan, sum
from shoal.layers import cross_entropy, self_attention
from shoal.moe import moe_layer

MESH = shoal.Mesh(data=2, expert=2)
SENTENCES = P(("data", "expert"))  # on all devices


@dataclass(frozen=True)
class Config:
    sentences: int = 8
    length: int = 64
    model: int = 64
    heads: int = 4
    experts: int = 4
    hidden: int = 128
    capacity: int = 40
    layers: int = 2
    bytes: int = 256


def initial_parameters(config: Config, seed: int = 0):
    """Weights as normal numbers over the root of their fan-in; layers are stacked, [L, ...]."""
    rng = np.random.default_rng(seed)
    m, h, e, n = config.model, config.hidden, config.experts, config.heads

    def normal(*shape, fan_in):
        return (rng.standard_normal(shape) * fan_in**-0.5).astype(np.float32)

    def stacked(*shape, fan_in):
        return normal(config.layers, *shape, fan_in=fan_in)

    ones = np.ones((config.layers, m), np.float32)
    return {
        "embed": normal(config.bytes, m, fan_in=m),
        "position": normal(config.length, m, fan_in=100),
        "layers": {
            "attention_norm": ones,
            "wq": stacked(m, n, m // n, fan_in=m),
            "wk": stacked(m, n, m // n, fan_in=m),
            "wv": stacked(m, n, m // n, fan_in=m),
            "out": stacked(n, m // n, m, fan_in=m),
            "expert_norm": ones,
            "router": stacked(m, e, fan_in=m),
            "wi": stacked(e, m, h, fan_in=m),
            "wo": stacked(e, h, m, fan_in=h),
        },
        "norm": np.ones(m, np.float32),
    }


def parameter_shardings(parameters):
    """Experts' weights lie on their experts' devices; all others on every device."""
    shardings = {name: P() for name in parameters}
    shardings["layers"] = {name: P() for name in parameters["layers"]}
    shardings["layers"] |= {"wi": P(None, "expert"), "wo": P(None, "expert")}
    return shardings


def norm(x, scale):
    return rms_norm(x, epsilon=1e-5) * as_value(scale, x)


def layer(config: Config, x, weights):
    """Attention and experts, each beside what passes by: [B, S, M] -> ([B, S, M], aux)."""
    y = norm(x, weights["attention_norm"])
    heads = (weights[name] for name in ("wq", "wk", "wv", "out"))
    x = x + self_attention(y, *heads, causal=True)
    y = norm(x, weights["expert_norm"])
    experts = (weights[name] for name in ("router", "wi", "wo"))
    out = moe_layer(y, *experts, k=2, capacity=config.capacity, axes=("data", "expert"))
    return x + out.y, out.aux


def loss_of(config: Config, parameters, tokens):
    """What is trained by, and as a metric "nll", the mean negative log likelihood of each next
    byte: the former has 0.01 of the layers' aux more. Over the mesh that is around, if any."""
    tokens = as_value(tokens, like(tokens, parameters))
    inputs, targets = tokens[:, :-1], tokens[:, 1:]
    embed, mesh = as_value(parameters["embed"], tokens), mesh_around(tokens)
    x = embed[inputs] + as_value(parameters["position"], tokens)
    x = x if mesh is None else constrain(x, SENTENCES, mesh)
    x, aux = scan(lambda x, weights: layer(config, x, weights), x, parameters["layers"])
    logits = einsum("BSM,VM->BSV", norm(x, parameters["norm"]), embed)
    loss = cross_entropy(logits, targets)
    return loss + 0.01 * sum(aux), {"nll": loss}
