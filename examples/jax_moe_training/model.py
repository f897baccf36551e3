# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A small Mixture-of-Experts Transformer over bytes, and its training step, in JAX with `shoal.moe` and `shoal.optim`.

Letters: G sentences of S bytes, M model size, N heads of D, E experts of H hidden
units with room for C tokens of a sentence.
"""

from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp

import shoal
from shoal import P, optim
from shoal.layers import attention, cross_entropy
from shoal.moe import Layout, MoeConfig, moe, total_loss


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
    router_dtype: str = "fp32"

    def moe(self) -> MoeConfig:
        """GShard's layer without random routing, with the capacity that is given."""
        factor = self.capacity * self.experts / (2 * self.length)
        return MoeConfig.gshard(
            self.experts, self.hidden, second_policy="all", moe_expert_capacity_factor=factor, min_capacity=1,
            moe_group_size=self.length, moe_aux_loss_coeff=0.01 * self.experts**2, moe_router_dtype=self.router_dtype,
        )  # fmt: skip


def layout_of(data: int, expert: int) -> Layout:
    """Sentences lie on all devices, experts over "expert"."""
    roles = {"dp": ("data", "expert"), "ep": ("expert",), "edp": ("data",)}
    return Layout(shoal.Mesh(data=data, expert=expert), roles)


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
            "router": jax.random.normal(keys[2], (m, e)) * m**-0.5,
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
    layer = {name: P() for name in ("attention_norm", "qkv", "out", "expert_norm", "router")}
    layer |= {"wi": P("expert"), "wo": P("expert")}
    return {"embed": P(), "position": P(), "layers": [layer] * config.layers, "norm": P()}


def rms_norm(x, scale):
    return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6) * scale


def experts(x, layer, config, layout=Layout()):
    """Tokens to their experts and back, GSM -> (GSM, the losses of the balance)."""
    out = moe(x, layer, config.moe(), layout)
    return out.y, total_loss(out.losses, config.moe())


def loss_of(parameters, tokens, config, layout=Layout()):
    """Mean negative log likelihood of each next byte, plus the losses of the balance."""
    inputs, targets = tokens[:, :-1], tokens[:, 1:]
    x = layout.spread(parameters["embed"][inputs] + parameters["position"])
    balance = 0.0
    for layer in parameters["layers"]:
        q, k, v = jnp.einsum("gsm,mknd->kgsnd", rms_norm(x, layer["attention_norm"]), layer["qkv"])
        x = x + jnp.einsum("gsnd,ndm->gsm", attention(q, k, v, causal=True), layer["out"])
        y, of_layer = experts(rms_norm(x, layer["expert_norm"]), layer, config, layout)
        x, balance = x + y, balance + of_layer
    logits = jnp.einsum("gsm,vm->gsv", rms_norm(x, parameters["norm"]), parameters["embed"])
    return cross_entropy(logits, targets) + balance


def optimizer_of(config):
    return optim.adam(config.rate, 0.9, 0.99)


def training_step(config, layout, parameters, state, tokens):
    """One step of Adam: -> (parameters, state, loss). tokens: i32 [G, S + 1]."""
    loss, gradients = jax.value_and_grad(partial(loss_of, config=config, layout=layout))(parameters, tokens)
    updates, state = optimizer_of(config).update(gradients, state, parameters)
    return optim.apply_updates(parameters, updates), state, loss
