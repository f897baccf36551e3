# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A small Mixture-of-Experts Transformer over bytes, and its training step, in plain JAX.

Letters: G sentences of S bytes, M model size, N heads of D, E experts of H hidden
units with room for C tokens of a sentence.
"""

from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec as P

GROUPS = P(("data", "expert"))  # sentences lie on all devices


@dataclass(frozen=True)
class Config:
    groups: int = 8
    length: int = 64
    model: int = 64
    heads: int = 4
    experts: int = 4
    hidden: int = 128
    capacity: int = 40
    layers: int = 2
    bytes: int = 256
    rate: float = 3e-3


def initial_parameters(config: Config, key):
    """Weights as normal numbers over the root of their fan-in."""
    m, h, e = config.model, config.hidden, config.experts

    def layer(key):
        keys = jax.random.split(key, 5)
        return {
            "attention_norm": jnp.ones(m),
            "qkv": jax.random.normal(keys[0], (m, 3, config.heads, m // config.heads)) * m**-0.5,
            "out": jax.random.normal(keys[1], (config.heads, m // config.heads, m)) * m**-0.5,
            "expert_norm": jnp.ones(m),
            "gate": jax.random.normal(keys[2], (m, e)) * m**-0.5,
            "wi": jax.random.normal(keys[3], (e, m, h)) * m**-0.5,
            "wo": jax.random.normal(keys[4], (e, h, m)) * h**-0.5,
        }

    keys = jax.random.split(key, config.layers + 2)
    return {
        "embed": jax.random.normal(keys[0], (config.bytes, m)) * m**-0.5,
        "position": jax.random.normal(keys[1], (config.length, m)) * 0.1,
        "layers": [layer(key) for key in keys[2:]],
        "norm": jnp.ones(m),
    }


def parameter_shardings(config: Config):
    """Experts' weights lie on their experts' devices; all others on every device."""
    layer = {name: P() for name in ("attention_norm", "qkv", "out", "expert_norm", "gate")}
    layer |= {"wi": P("expert"), "wo": P("expert")}
    return {"embed": P(), "position": P(), "layers": [layer] * config.layers, "norm": P()}


def rms_norm(x, scale):
    return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6) * scale


def attention(x, layer):
    """Causal attention within each sentence, GSM -> GSM."""
    q, k, v = jnp.einsum("gsm,mknd->kgnsd", x, layer["qkv"])
    scores = jnp.einsum("gnsd,gntd->gnst", q, k) * q.shape[-1] ** -0.5
    causal = jnp.tril(jnp.ones(scores.shape[-2:], bool))
    weights = jax.nn.softmax(jnp.where(causal, scores, -1e9), -1)
    return jnp.einsum("gnst,gntd,ndm->gsm", weights, v, layer["out"])


def top_2_gating(gates, capacity):
    """GShard's Algorithm 1 without random routing: gates GSE -> (combine GSEC, aux)."""
    experts = gates.shape[-1]
    first = jax.nn.one_hot(jnp.argmax(gates, -1), experts)
    rest = gates * (1 - first)
    second = jax.nn.one_hot(jnp.argmax(rest, -1), experts)
    weight_1, weight_2 = (gates * first).sum(-1), (gates * second).sum(-1)
    aux = (first.mean(1) * gates.mean(1)).sum(-1).mean() * experts
    # A token's place in its expert's buffer: those before it, first choices first.
    place_1 = jnp.cumsum(first, 1) - first
    place_2 = jnp.cumsum(second, 1) - second + first.sum(1, keepdims=True)
    total = weight_1 + weight_2 + 1e-9

    def routed(mask, place, weight):
        slot = (place * mask).sum(-1)
        kept = mask * (place < capacity)
        return (weight / total)[..., None, None] * kept[..., None] * jax.nn.one_hot(
            slot.astype(jnp.int32), capacity
        )[:, :, None, :]

    return routed(first, place_1, weight_1) + routed(second, place_2, weight_2), aux


def experts(x, layer, config, constrain):
    """GShard's Algorithm 2: tokens to their experts and back, GSM -> (GSM, aux)."""
    gates = jax.nn.softmax(jnp.einsum("gsm,me->gse", x, layer["gate"]), -1)
    combine, aux = top_2_gating(gates, config.capacity)
    dispatch = (combine > 0).astype(x.dtype)
    sent = jnp.einsum("gsec,gsm->egcm", dispatch, x)
    sent = constrain(sent, P("expert", "data"))
    hidden = jax.nn.relu(jnp.einsum("egcm,emh->egch", sent, layer["wi"]))
    back = jnp.einsum("egch,ehm->gecm", hidden, layer["wo"])
    back = constrain(back, GROUPS)
    return jnp.einsum("gsec,gecm->gsm", combine, back), aux


def loss_of(parameters, tokens, config, constrain):
    """Mean negative log likelihood of each next byte, plus 0.01 of the gates' auxiliary loss."""
    inputs, targets = tokens[:, :-1], tokens[:, 1:]
    x = constrain(parameters["embed"][inputs] + parameters["position"], GROUPS)
    aux = 0.0
    for layer in parameters["layers"]:
        x = x + attention(rms_norm(x, layer["attention_norm"]), layer)
        y, layer_aux = experts(rms_norm(x, layer["expert_norm"]), layer, config, constrain)
        x, aux = x + y, aux + layer_aux
    logits = jnp.einsum("gsm,vm->gsv", rms_norm(x, parameters["norm"]), parameters["embed"])
    likelihood = jnp.take_along_axis(jax.nn.log_softmax(logits), targets[..., None], -1)
    return -likelihood.mean() + 0.01 * aux


def adam(parameters, state, gradients, rate, b1=0.9, b2=0.99, eps=1e-8):
    """Kingma and Ba's Algorithm 1; state is (step, first moments, second moments)."""
    step, first, second = state
    step = step + 1
    first = jax.tree.map(lambda m, g: b1 * m + (1 - b1) * g, first, gradients)
    second = jax.tree.map(lambda v, g: b2 * v + (1 - b2) * g * g, second, gradients)
    scale = rate * jnp.sqrt(1 - b2**step) / (1 - b1**step)
    parameters = jax.tree.map(
        lambda p, m, v: p - scale * m / (jnp.sqrt(v) + eps), parameters, first, second
    )
    return parameters, (step, first, second)


def initial_state(parameters):
    zeros = jax.tree.map(jnp.zeros_like, parameters)
    return jnp.zeros_like(parameters["norm"][0]), zeros, zeros


def training_step(config, constrain, parameters, state, tokens):
    """One step of Adam: -> (parameters, state, loss). tokens: i32 [G, S + 1]."""
    loss, gradients = jax.value_and_grad(partial(loss_of, config=config, constrain=constrain))(
        parameters, tokens
    )
    parameters, state = adam(parameters, state, gradients, config.rate)
    return parameters, state, loss
