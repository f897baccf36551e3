# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Haiku."""

import haiku as hk
import jax
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


def _transformed(function, *inputs):
    net = hk.without_apply_rng(hk.transform(function))
    return net.apply, initialised(jax.eval_shape(net.init, KEY, *inputs))


@network({"linear_0'..'w": COLUMNS, "linear_0'..'b": P("model"), "linear_1'..'w": ROWS}, kinds=("step_2d",))
def mlp():
    x = normal(64, 32)
    apply, parameters = _transformed(lambda x: hk.nets.MLP([128, 32])(x), x)
    return Network(apply, parameters, (x,), (integers(32, 64),), label_loss)


@network(
    {
        "(query|key|value|up)'..'w": COLUMNS,
        "(query|key|value|up)'..'b": P("model"),
        "(attention/linear|down)'..'w": ROWS,
    },
    kinds=("forward", "step_2d"),
)
def transformer():
    def net(tokens):
        x = hk.Embed(64, 32)(tokens)
        for _ in range(2):
            h = hk.LayerNorm(-1, True, True)(x)
            attention = hk.MultiHeadAttention(4, 8, w_init=hk.initializers.VarianceScaling(), name="attention")
            x = x + attention(h, h, h)
            h = hk.LayerNorm(-1, True, True)(x)
            x = x + hk.Linear(32, name="down")(jax.nn.gelu(hk.Linear(128, name="up")(h)))
        return hk.Linear(64, name="logits")(x)

    tokens = integers(64, 16, 16)
    apply, parameters = _transformed(net, tokens)
    return Network(apply, parameters, (tokens,), loss=next_token_loss)


@network({"gru'..'w": COLUMNS}, kinds=("step",))
def gru():
    def net(x):
        core = hk.GRU(32)
        outputs, _ = hk.dynamic_unroll(core, x, core.initial_state(x.shape[0]), time_major=False)
        return hk.Linear(8)(outputs[:, -1])

    x = normal(32, 8, 16)
    apply, parameters = _transformed(net, x)
    return Network(apply, parameters, (x,), (integers(8, 32),), label_loss)
