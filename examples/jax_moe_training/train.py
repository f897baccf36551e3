#!/usr/bin/env python3
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains a JAX Mixture-of-Experts Transformer on 4 processes, beside JAX on one device.

Usage: mpirun -n 4 python examples/jax_moe_training/train.py [--steps N] [--x64] [--losses FILE]

Rank 0 imports the training step (value_and_grad and Adam) from JAX, compiles it
and gives it to the others. Every rank keeps its shards of parameters and of
Adam's moments from step to step. The sentences, in the languages of the world,
are Debian's iso-codes. Exits 1 where the losses differ from JAX's or do not fall.

Sums in another order round otherwise. In float32 such a difference at last sends
a token to another expert than in JAX (after some 50 steps), and the curves part
by a few thousandths; in float64 (--x64) they are the same to the end.
"""

import argparse
import json
import sys
from functools import partial
from pathlib import Path

import jax
import numpy as np
from jax.sharding import AbstractMesh, NamedSharding
from jax.sharding import PartitionSpec as P
from mpi4py import MPI
from model import (
    GROUPS,
    Config,
    initial_parameters,
    initial_state,
    parameter_shardings,
    training_step,
)

import shoal.jax

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from sentences import read_sentences  # noqa: E402

MESH = AbstractMesh((2, 2), ("data", "expert"))
# Relative, of every loss and of the first 20.
TOLERANCES = {"float32": (2e-2, 1e-5), "float64": (1e-8, 1e-12)}


def batches(config, steps, seed=0):
    """i32 [steps, G, S + 1]: pieces of the text of all sentences, as bytes."""
    sentences, rng = read_sentences(), np.random.default_rng(seed)
    text = "\n".join(sentences[i][1] for i in rng.permutation(len(sentences)))
    data = np.frombuffer(text.encode(), np.uint8).astype(np.int32)
    starts = rng.integers(len(data) - config.length, size=(steps, config.groups))
    return data[starts[..., None] + np.arange(config.length + 1)]


def compile_step(config, parameters, state, tokens):
    """The step for 4 devices; parameters and state leave it as they came."""

    def on_mesh(specs):
        return jax.tree.map(
            partial(NamedSharding, MESH), specs, is_leaf=lambda leaf: isinstance(leaf, P)
        )

    def constrain(x, spec):
        return jax.lax.with_sharding_constraint(x, NamedSharding(MESH, spec))

    weights = parameter_shardings(config)
    kept = (weights, (P(), weights, weights))
    return shoal.jax.compile(
        partial(training_step, config, constrain),
        parameters,
        state,
        tokens,
        in_shardings=on_mesh((*kept, GROUPS)),
        out_shardings=on_mesh((*kept, P())),
    )


def train(executable, comm, parameters, state, data):
    """The loss of every step."""
    losses = []
    with executable.open(comm) as session:
        for tokens in data:
            parameters, state, loss = session.run((parameters, state, tokens))
            losses.append(float(loss))
    return losses


def train_in_jax(config, parameters, state, data):
    """The same on one device, by JAX alone."""
    step = jax.jit(partial(training_step, config, lambda x, spec: x))
    losses = []
    for tokens in data:
        parameters, state, loss = step(parameters, state, tokens)
        losses.append(float(loss))
    return losses


def report(losses, expected, dtype):
    """Prints both curves; whether they agree and fall."""
    print("step  4 processes  JAX, one device")
    for step in range(0, len(losses), max(1, len(losses) // 10)):
        print(f"{step:4}  {losses[step]:11.5f}  {expected[step]:15.5f}")
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
    config, comm = Config(), MPI.COMM_WORLD
    parameters = initial_parameters(config, jax.random.key(0))
    state, data = initial_state(parameters), batches(config, options.steps)
    executable = None
    if comm.rank == 0:
        executable = compile_step(config, parameters, state, data[0])
    executable = comm.bcast(executable)
    losses = train(executable, comm, parameters, state, data)

    well = True
    if comm.rank == 0:
        expected = train_in_jax(config, parameters, state, data)
        well = report(losses, expected, "float64" if options.x64 else "float32")
        if options.losses:
            curves = {"processes": losses, "jax": expected}
            options.losses.write_text(json.dumps(curves))
    sys.exit(0 if comm.bcast(well) else 1)


if __name__ == "__main__":
    main()
