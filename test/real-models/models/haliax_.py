# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Haliax: named axes, in an Equinox module."""

import equinox as eqx
import haliax as hax
import haliax.nn
import jax
from models.equinox_ import partition
from networks import Network, P, integers, label_loss, network, normal

Batch, Position, Embed, Heads, Size = hax.make_axes(batch=16, position=16, embed=32, heads=4, size=8)
Hidden, Labels, Key = hax.make_axes(hidden=128, labels=4, key=16)


class Encoder(eqx.Module):
    qkv: list
    out: hax.nn.Linear
    mlp: hax.nn.MLP
    head: hax.nn.Linear
    norm: hax.nn.LayerNorm

    def __init__(self, key):
        keys = jax.random.split(key, 6)
        self.qkv = [hax.nn.Linear.init(Embed, (Heads, Size), key=k) for k in keys[:3]]
        self.out = hax.nn.Linear.init((Heads, Size), Embed, key=keys[3])
        self.mlp = hax.nn.MLP.init(Embed, Embed, Hidden, 1, key=keys[4])
        self.head = hax.nn.Linear.init(Embed, Labels, key=keys[5])
        self.norm = hax.nn.LayerNorm.init(Embed)

    def __call__(self, x):
        q, k, v = (linear(self.norm(x)) for linear in self.qkv)
        k, v = k.rename({"position": "key"}), v.rename({"position": "key"})
        x = x + self.out(hax.nn.attention.dot_product_attention(Key, Size, q, k, v))
        return self.head(hax.mean(x + self.mlp(self.norm(x)), Position))


@network(
    {
        "qkv.*weight": P(None, "model", None),
        "out.weight": P(),
        "layers.0..weight": P(None, "model"),
        "layers.1..weight": P("model", None),
    },
    kinds=("forward", "step_2d"),
)
def encoder():
    parameters, static = partition(Encoder)

    def apply(parameters, x):
        model = eqx.combine(parameters, static)
        return model(hax.named(x, (Batch, Position, Embed))).rearrange((Batch, Labels)).array

    return Network(apply, parameters, (normal(16, 16, 32),), (integers(4, 16),), label_loss)
