# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Keras on JAX."""

import keras
from networks import Network, P, integers, label_loss, network, normal


def _functional(model, inputs):
    """Trainable variables by their paths; others stay as they are."""
    model(inputs)
    rest = [variable.value for variable in model.non_trainable_variables]
    parameters = {variable.path: variable.value for variable in model.trainable_variables}
    order = list(parameters)

    def apply(parameters, *inputs):
        values = [parameters[name] for name in order]
        return model.stateless_call(values, rest, *inputs, training=False)[0]

    return apply, parameters


@network(
    {
        "(query|key|value)/kernel": P(None, "model", None),
        "attention_output/kernel": P("model", None, None),
        "up/kernel": P(None, "model"),
        "up/bias": P("model"),
        "down/kernel": P("model", None),
    },
    kinds=("forward", "step_2d"),
)
def encoder():
    x = normal(16, 16, 32)
    entry = keras.Input((16, 32))
    h = keras.layers.LayerNormalization()(entry)
    y = entry + keras.layers.MultiHeadAttention(4, 8)(h, h)
    h = keras.layers.Dense(128, "gelu", name="up")(keras.layers.LayerNormalization()(y))
    y = keras.layers.GlobalAveragePooling1D()(y + keras.layers.Dense(32, name="down")(h))
    apply, parameters = _functional(keras.Model(entry, keras.layers.Dense(4)(y)), x)
    return Network(apply, parameters, (x,), (integers(4, 16),), label_loss)


@network({}, kinds=("step",))
def separable_convolutions():
    x = normal(32, 8, 8, 4)
    layers = keras.layers
    stack = [layers.SeparableConv2D(16, 3, activation="relu"), layers.MaxPooling2D(), layers.Flatten()]
    apply, parameters = _functional(keras.Sequential([*stack, layers.Dense(4)]), x)
    return Network(apply, parameters, (x,), (integers(4, 32),), label_loss)
