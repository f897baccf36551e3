# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Equinox."""

import equinox as eqx
import jax
from networks import KEY, Network, P, initialised, integers, label_loss, network, normal

# Equinox's weights are (out, in).
COLUMNS, ROWS = P("model", None), P(None, "model")


def partition(make):
    """The parameters of the model that is made of a key, and what else it has."""
    shapes = eqx.filter_eval_shape(make, KEY)
    return eqx.partition(initialised(shapes), eqx.is_inexact_array)


def functional(make, call=None):
    """apply(parameters, *inputs) over a batch of what the model takes, and the parameters."""
    parameters, static = partition(make)
    call = call or (lambda model, x: model(x))

    def apply(parameters, *inputs):
        return jax.vmap(lambda *one: call(eqx.combine(parameters, static), *one))(*inputs)

    return apply, parameters


@network({"layers.0..weight": COLUMNS, "layers.0..bias": P("model"), "layers.1..weight": ROWS}, kinds=("step",))
def mlp():
    apply, parameters = functional(lambda key: eqx.nn.MLP(32, 32, 128, 1, key=key))
    return Network(apply, parameters, (normal(64, 32),), (integers(32, 64),), label_loss)


class Encoder(eqx.Module):
    attention: eqx.nn.MultiheadAttention
    norms: list
    up: eqx.nn.Linear
    down: eqx.nn.Linear

    def __init__(self, key):
        keys = jax.random.split(key, 3)
        self.attention = eqx.nn.MultiheadAttention(4, 32, key=keys[0])
        self.norms = [eqx.nn.LayerNorm(32), eqx.nn.LayerNorm(32)]
        self.up, self.down = eqx.nn.Linear(32, 128, key=keys[1]), eqx.nn.Linear(128, 32, key=keys[2])

    def __call__(self, x):
        h = jax.vmap(self.norms[0])(x)
        x = x + self.attention(h, h, h)
        h = jax.vmap(self.norms[1])(x)
        return x + jax.vmap(self.down)(jax.nn.gelu(jax.vmap(self.up)(h)))


@network(
    {
        "(query|key|value)_proj.weight": COLUMNS,
        "output_proj.weight": ROWS,
        "up.weight": COLUMNS,
        "up.bias": P("model"),
        "down.weight": ROWS,
    },
    kinds=("forward", "step_2d"),
)
def encoder():
    apply, parameters = functional(Encoder)
    return Network(apply, parameters, (normal(16, 16, 32),))


class Gru(eqx.Module):
    cell: eqx.nn.GRUCell
    out: eqx.nn.Linear

    def __call__(self, x):
        last, _ = jax.lax.scan(lambda h, x: (self.cell(x, h), None), jax.numpy.zeros(32), x)
        return self.out(last)


@network({"weight_(ih|hh)": P("model", None)}, kinds=("forward",))
def gru():
    def make(key):
        return Gru(eqx.nn.GRUCell(16, 32, key=key), eqx.nn.Linear(32, 8, key=key))

    apply, parameters = functional(make)
    return Network(apply, parameters, (normal(32, 8, 16),), (integers(8, 32),), label_loss)
