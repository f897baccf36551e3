# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""flax.linen."""

import flax.linen as nn
import jax
import jax.numpy as jnp
from networks import (
    COLUMNS,
    KEY,
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


def init(net: nn.Module, *inputs):
    return initialised(jax.eval_shape(net.init, KEY, *inputs))


@network({"Dense_0.*kernel": COLUMNS, "Dense_0.*bias": P("model"), "Dense_1.*kernel": ROWS}, kinds=("step", "step_2d"))
def mlp():
    class Mlp(nn.Module):
        @nn.compact
        def __call__(self, x):
            return nn.Dense(32)(nn.gelu(nn.Dense(128)(x)))

    x = normal(64, 32)
    return Network(Mlp().apply, init(Mlp(), x), (x,), (integers(32, 64),), label_loss)


class Block(nn.Module):
    heads: int

    @nn.compact
    def __call__(self, x):
        width = x.shape[-1]
        mask = nn.make_causal_mask(jnp.ones(x.shape[:2]))
        attention = nn.MultiHeadDotProductAttention(self.heads, name="attention")
        x = x + attention(nn.LayerNorm()(x), mask=mask)
        h = nn.gelu(nn.Dense(4 * width, name="up")(nn.LayerNorm()(x)))
        return x + nn.Dense(width, name="down")(h)


class Decoder(nn.Module):
    layers: int = 2
    width: int = 32
    heads: int = 4
    vocabulary: int = 64

    @nn.compact
    def __call__(self, tokens):
        embed = nn.Embed(self.vocabulary, self.width)
        places = (tokens.shape[1], self.width)
        x = embed(tokens) + self.param("position", nn.initializers.normal(), places)
        for _ in range(self.layers):
            x = Block(self.heads)(x)
        return embed.attend(nn.LayerNorm()(x))


@network(
    {
        "(query|key|value)'..'kernel": P(None, "model", None),
        "(query|key|value)'..'bias": P("model", None),
        "out'..'kernel": P("model", None, None),
        "up'..'kernel": COLUMNS,
        "up'..'bias": P("model"),
        "down'..'kernel": ROWS,
    }
)
def decoder():
    tokens = integers(64, 16, 16)
    net = Decoder()
    return Network(net.apply, init(net, tokens), (tokens,), loss=next_token_loss)


@network({"Conv_0'..'kernel": P(None, None, None, "model"), "Conv_1'..'kernel": P(None, None, "model")}, kinds=("forward", "step"))
def cnn():
    class Cnn(nn.Module):
        @nn.compact
        def __call__(self, x):
            x = nn.avg_pool(nn.relu(nn.Conv(16, (3, 3))(x)), (2, 2), (2, 2))
            x = nn.relu(nn.GroupNorm(4)(nn.Conv(16, (3, 3))(x)))
            return nn.Dense(8)(x.mean((1, 2)))

    x = normal(32, 8, 8, 4)
    return Network(Cnn().apply, init(Cnn(), x), (x,), (integers(8, 32),), label_loss)


@network({"'h.'..'kernel": COLUMNS, "'i.'..'kernel": COLUMNS}, kinds=("forward", "step"))
def lstm():
    class Lstm(nn.Module):
        @nn.compact
        def __call__(self, x):
            return nn.Dense(8)(nn.RNN(nn.LSTMCell(32))(x)[:, -1])

    x = normal(32, 8, 16)
    return Network(Lstm().apply, init(Lstm(), x), (x,), (integers(8, 32),), label_loss)
