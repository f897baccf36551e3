# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Optimisers of optax, on two layers."""

import jax
import optax
from networks import KEY, Network, P, integers, label_loss, network, normal

SPLIT = {"'up'": P(None, "model"), "'down'": P("model", None)}


def layers(optimizer):
    def apply(parameters, x):
        return jax.nn.relu(x @ parameters["up"]) @ parameters["down"]

    up, down = jax.random.split(KEY)
    parameters = {
        "up": 0.2 * jax.random.normal(up, (32, 64)),
        "down": 0.2 * jax.random.normal(down, (64, 16)),
    }
    x = normal(128, 32)
    return Network(apply, parameters, (x,), (integers(16, 128),), label_loss, optimizer)


@network(SPLIT, kinds=("step_2d",))
def sgd_with_momentum():
    return layers(optax.sgd(optax.cosine_decay_schedule(0.1, 100), momentum=0.9, nesterov=True))


@network(SPLIT, kinds=("step", "step_2d"))
def clipped_adamw():
    return layers(optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(1e-3)))


@network(SPLIT, kinds=("step_2d",))
def lion():
    return layers(optax.lion(1e-3))


@network(SPLIT, kinds=("step_2d",))
def adafactor():
    return layers(optax.adafactor(1e-3, min_dim_size_to_factor=8))


@network(SPLIT, kinds=("step_2d",))
def muon():
    return layers(optax.contrib.muon(1e-3, ns_steps=3))


@network(SPLIT, kinds=("step_2d",))
def accumulated():
    """The gradient of every second step's batch and the one before."""
    return layers(optax.MultiSteps(optax.adam(1e-3), 2))
