#!/usr/bin/env python3
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains a JAX Mixture-of-Experts Transformer on 4 devices, beside JAX on one.

Usage: train.py [--steps N] [--x64] [--losses FILE]

The devices are processes that the first step starts. Under `mpirun -n 4 python train.py` they
are the job's ranks: every rank runs this file, and rank 0 compiles for all. The training step
(value_and_grad, the layers of `shoal.moe` and Adam of `shoal.optim`) is JAX's; parameters and Adam's moments stay on the devices
from step to step. The sentences, in the languages of the world, are Debian's iso-codes.
Exits 1 where the losses differ from JAX's or do not fall.

Sums in another order round otherwise. In float32 such a difference at last sends
a token to another expert than in JAX (after some 50 steps), and the curves part
by a few thousandths; in float64 (--x64), where the rows of experts alone are summed in float32,
they stay within 1e-8 of each other.
"""

import argparse
import json
import sys
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

import shoal.jax
from shoal import P, optim
from shoal.arrays import mesh_of, named_shardings
from shoal.devices import devices_of

EXAMPLES = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(EXAMPLES), str(EXAMPLES / "moe_training")]
from model import MESH, SENTENCES, Config, initial_parameters, loss_of, parameter_shardings  # noqa: E402
from sentences import text_batches  # noqa: E402

OPTIMIZER = optim.adam(3e-3, 0.9, 0.99)
# Relative, of every loss and of the first 20.
TOLERANCES = {"float32": (2e-2, 1e-5), "float64": (1e-7, 1e-8)}


def training_step(config, parameters, state, tokens):
    """One step of Adam: -> (parameters, state, loss). tokens: i32 [B, S + 1]."""
    (loss, _), gradients = jax.value_and_grad(partial(loss_of, config), has_aux=True)(parameters, tokens)
    updates, state = OPTIMIZER.update(gradients, state, parameters)
    return optim.apply_updates(parameters, updates), state, loss


def step_on_devices(config, parameters, state):
    """The step for 4 devices; parameters and state leave it as they came, in the same memory."""
    weights = parameter_shardings(parameters)
    kept = weights, optim.shardings_like(state, parameters, weights)
    return shoal.jax.jit(
        partial(training_step, config),
        in_shardings=named_shardings((*kept, SENTENCES), MESH),
        out_shardings=named_shardings((*kept, P()), MESH),
        donate_argnums=(0, 1),
        devices=devices_of(MESH.size),
    )


def train(step, parameters, state, data):
    """The loss of every step."""
    losses = []
    for tokens in data:
        parameters, state, loss = step(parameters, state, tokens)
        losses.append(float(loss))
    return losses


def step_in_jax(config):
    """The same on one device, by JAX alone."""
    return jax.jit(partial(training_step, config))


def report(losses, expected, dtype):
    """Prints both curves; whether they agree and fall."""
    print("step  4 devices  JAX, one device")
    for step in range(0, len(losses), max(1, len(losses) // 10)):
        print(f"{step:4}  {losses[step]:9.5f}  {expected[step]:15.5f}")
    differences = np.abs(np.subtract(losses, expected)) / np.abs(expected)
    worst, worst_early = np.max(differences), np.max(differences[:20])
    allowed, allowed_early = TOLERANCES[dtype]
    print(
        f"largest relative difference of a loss: {worst:.1e}, allowed {allowed:.0e};"
        f" of the first 20: {worst_early:.1e}, allowed {allowed_early:.0e}"
    )
    falls = len(losses) < 50 or np.mean(losses[-10:]) < 0.75 * losses[0]
    return worst <= allowed and worst_early <= allowed_early and falls


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--x64", action="store_true", help="compute in float64")
    parser.add_argument("--losses", type=Path, help="write both curves here, as JSON")
    options = parser.parse_args()

    jax.config.update("jax_enable_x64", options.x64)
    config = Config()
    wide = jnp.float64 if options.x64 else jnp.float32
    parameters = jax.tree.map(lambda leaf: jnp.asarray(leaf, wide), initial_parameters(config))
    state = OPTIMIZER.init(parameters)
    data = text_batches(options.steps, config.sentences, config.length)
    # Copies, as the step is given its arguments' memory.
    step = step_on_devices(config, parameters, state)
    with jax.sharding.use_abstract_mesh(mesh_of(MESH)):  # which the model's annotations are of
        losses = train(step, *jax.tree.map(jnp.copy, (parameters, state)), data)

    if getattr(devices_of(MESH.size), "rank", 0) != 0:
        return  # of an MPI job one rank compares
    expected = train(step_in_jax(config), parameters, state, data)
    well = report(losses, expected, "float64" if options.x64 else "float32")
    if options.losses:
        options.losses.write_text(json.dumps({"devices": losses, "jax": expected}))
    sys.exit(0 if well else 1)


if __name__ == "__main__":
    main()
