# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""flax.nnx."""

from collections.abc import Callable

import jax
from flax import nnx
from networks import (
    COLUMNS,
    ROWS,
    Network,
    P,
    initialised,
    integers,
    label_loss,
    network,
    next_token_loss,
    normal,
)


def functional(make: Callable, call: Callable = lambda model, *inputs: model(*inputs)):
    """apply(parameters, *inputs), and the parameters; other variables stay as they are.

    make: makes the module of random numbers.
    """
    graph, shapes, _ = nnx.split(nnx.eval_shape(lambda: make(nnx.Rngs(0))), nnx.Param, ...)
    rest = jax.jit(lambda: nnx.split(make(nnx.Rngs(0)), nnx.Param, ...)[2])()
    parameters = initialised(shapes)
    return lambda parameters, *inputs: call(nnx.merge(graph, parameters, rest), *inputs), parameters


@network({"up'..'kernel": COLUMNS, "up'..'bias": P("model"), "down'..'kernel": ROWS}, kinds=("step", "step_2d"))
def mlp():
    class Mlp(nnx.Module):
        def __init__(self, rngs):
            self.up, self.down = nnx.Linear(32, 128, rngs=rngs), nnx.Linear(128, 32, rngs=rngs)

        def __call__(self, x):
            return self.down(nnx.relu(self.up(x)))

    apply, parameters = functional(Mlp)
    return Network(apply, parameters, (normal(64, 32),), (integers(32, 64),), label_loss)


class Block(nnx.Module):
    def __init__(self, rngs):
        self.attention = nnx.MultiHeadAttention(4, 32, rngs=rngs, decode=False)
        self.before, self.behind = nnx.RMSNorm(32, rngs=rngs), nnx.RMSNorm(32, rngs=rngs)
        self.gate = nnx.Linear(32, 64, use_bias=False, rngs=rngs)
        self.up = nnx.Linear(32, 64, use_bias=False, rngs=rngs)
        self.down = nnx.Linear(64, 32, use_bias=False, rngs=rngs)

    def __call__(self, x):
        x = x + self.attention(self.before(x), mask=nnx.make_causal_mask(x[..., 0]))
        h = self.behind(x)
        return x + self.down(nnx.silu(self.gate(h)) * self.up(h))


@network(
    {
        "(query|key|value)'..'kernel": P(None, None, "model", None),
        "(query|key|value)'..'bias": P(None, "model", None),
        "out'..'kernel": P(None, "model", None, None),
        "(gate|up)'..'kernel": P(None, None, "model"),
        "down'..'kernel": P(None, "model", None),
    },
    kinds=("forward", "step_2d"),
)
def scanned_decoder():
    """Layers of one stack of parameters, which a loop runs."""

    class Decoder(nnx.Module):
        def __init__(self, rngs):
            self.embed = nnx.Embed(64, 32, rngs=rngs)
            self.blocks = nnx.vmap(Block, axis_size=3)(rngs.fork(split=3))

        def __call__(self, tokens):
            layer = nnx.scan(lambda x, block: block(x), in_axes=(nnx.Carry, 0), out_axes=nnx.Carry)
            return self.embed.attend(layer(self.embed(tokens), self.blocks))

    apply, parameters = functional(Decoder)
    return Network(apply, parameters, (integers(64, 16, 16),), loss=next_token_loss)
