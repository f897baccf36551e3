#!/usr/bin/env python3
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models of Flax, trained with Optax through shoal.jax.jit and through jax.jit: the same losses.

Usage: training.py [--steps N], with the Python of run.sh's environment

A TrainState of Flax's linen, donated; and an nnx module split into its graph and state.
Exits 1 where a loss differs, a step moved an array, or more programs were made than one.
"""

import argparse
import sys
import time

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx
from flax.training.train_state import TrainState
from jax.sharding import AbstractMesh, NamedSharding
from jax.sharding import PartitionSpec as P

import shoal.jax

MESH = AbstractMesh((2, 2), ("data", "model"))
ROWS = NamedSharding(MESH, P("data"))


class Encoder(nn.Module):
    """A block of attention and one of an MLP, over 8 classes."""

    @nn.compact
    def __call__(self, x):
        x = nn.Dense(32)(x)
        x = x + nn.MultiHeadDotProductAttention(num_heads=4)(nn.LayerNorm()(x))
        x = x + nn.Dense(32)(nn.gelu(nn.Dense(64)(nn.LayerNorm()(x))))
        return nn.Dense(8)(x.mean(1))


def batches(steps):
    rng = np.random.default_rng(0)
    for _ in range(steps):
        x = rng.standard_normal((16, 12, 8)).astype(np.float32)
        yield x, x.mean(1).argmax(-1).astype(np.int32)


def linen():
    """-> (step, state): the state has functions, which are no arrays, and counts."""
    model = Encoder()
    params = model.init(jax.random.key(0), jnp.zeros((1, 12, 8)))
    state = TrainState.create(apply_fn=model.apply, params=params, tx=optax.adamw(3e-3))

    def step(state, x, labels):
        def loss_of(params):
            logits = state.apply_fn(params, x)
            return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()

        loss, gradients = jax.value_and_grad(loss_of)(state.params)
        return state.apply_gradients(grads=gradients), loss

    return step, state


class Mlp(nnx.Module):
    def __init__(self, rngs):
        self.first = nnx.Linear(96, 64, rngs=rngs)
        self.norm = nnx.BatchNorm(64, rngs=rngs)
        self.drop = nnx.Dropout(0.1, rngs=rngs)
        self.last = nnx.Linear(64, 8, rngs=rngs)

    def __call__(self, x):
        return self.last(self.drop(nnx.relu(self.norm(self.first(x.reshape(len(x), -1))))))


def nnx_split():
    """-> (step, state): statistics and keys of dropout are a part of the state."""
    model = Mlp(nnx.Rngs(0))
    graph, params, others = nnx.split(model, nnx.Param, ...)
    optimizer = optax.sgd(0.05, momentum=0.9)

    def step(state, x, labels):
        params, others, moments = state

        def loss_of(params):
            # nnx wants variables that are made where they are written to.
            model = nnx.merge(graph, params, jax.tree.map(lambda leaf: leaf, others))
            logits = model(x)
            loss = optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()
            return loss, nnx.split(model, nnx.Param, ...)[2]

        (loss, others), gradients = jax.value_and_grad(loss_of, has_aux=True)(params)
        updates, moments = optimizer.update(gradients, moments, params)
        return (optax.apply_updates(params, updates), others, moments), loss

    return step, (params, others, optimizer.init(params))


def losses_of(function, state, steps):
    losses, begin = [], time.perf_counter()
    for x, labels in batches(steps):
        state, loss = function(state, x, labels)
        losses.append(float(loss))
        if len(losses) == 1:
            begin = time.perf_counter()
    return losses, (time.perf_counter() - begin) / max(1, steps - 1)


def check(name, step, state, steps):
    """Whether all is as it should be; prints a line."""
    expected, jax_seconds = losses_of(jax.jit(step), state, steps)
    ours = shoal.jax.jit(step, mesh=MESH, in_shardings=(None, ROWS, ROWS), donate_argnums=0)
    losses, seconds = losses_of(ours, jax.tree.map(jnp.copy, state), steps)
    programs, moves = ours.cache_size(), ours.moves
    worst = np.max(np.abs(np.subtract(losses, expected)) / np.abs(expected))
    print(
        f"{name}: loss {losses[0]:.4f} -> {losses[-1]:.4f}, largest relative difference {worst:.1e}, "
        f"{programs} program(s), {moves} moves; {seconds * 1e3:.1f} ms a step, "
        f"JAX on one device {jax_seconds * 1e3:.1f} ms"
    )
    return worst < 1e-4 and (programs, moves) == (1, 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=20)
    options = parser.parse_args()
    well = [check(make.__name__, *make(), options.steps) for make in (linen, nnx_split)]
    sys.exit(0 if all(well) else 1)


if __name__ == "__main__":
    main()
