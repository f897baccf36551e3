#!/usr/bin/env python3
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A training step of the MoE Transformer of examples/moe_training, differentiated and updated by Shoal,
beside the same step in JAX and optax, imported through shoal.jax.jit; in turn, on the same devices.

Usage: train_vs_jax.py [--devices N] [--rounds N] [--repeat N] [--most RATIO]

Prints what the devices take for a step, minima and medians in milliseconds, their ratio, and
that to Shoal's forward pass alone. Exits 1 where --most is less than the ratio of minima.
"""

import argparse
import os
import statistics
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("SHOAL_BUILD", ROOT / "build/release"))
sys.path[:0] = [str(BUILD / "python"), str(ROOT / "test/python/support")]

import jax  # noqa: E402
import moe_twin as twin  # noqa: E402
from jax.sharding import AbstractMesh, NamedSharding, PartitionSpec  # noqa: E402

import shoal.jax  # noqa: E402

CONFIG = twin.Config(
    sentences=8, length=64, model=128, heads=4, experts=4, hidden=256, capacity=40, layers=2
)
STEPS = 1000


class Steps:
    """A step and what it needs."""

    def __init__(self, step, state, tokens, devices):
        self._step, self._state, self._tokens = step, state, tokens
        self._loaded = devices.load(step.executable_for(state, tokens))
        self.seconds = []

    def run(self, repeat):
        """Steps, of which the first is not timed."""
        for number in range(repeat + 1):
            self._state, _ = self._step(self._state, self._tokens)
            if number:
                self.seconds.append(self._loaded.seconds)


def ours(devices, start, tokens):
    mesh = shoal.Mesh(data=1, expert=devices.count)
    state, step = twin.shoal_step(CONFIG, STEPS, mesh, start, devices)
    return Steps(step, state, tokens, devices)


def imported(devices, start, tokens):
    mesh = AbstractMesh((1, devices.count), ("data", "expert"))

    def at(spec):
        return NamedSharding(mesh, spec)

    init, step = twin.jax_step(
        CONFIG, STEPS, lambda x, spec: jax.lax.with_sharding_constraint(x, at(spec))
    )
    state = init(start)
    split = at(PartitionSpec(None, "expert"))
    places = jax.tree_util.tree_map_with_path(
        lambda path, leaf: split if jax.tree_util.keystr(path[-1:]) in ("['wi']", "['wo']") else at(PartitionSpec()),
        state,
    )
    jitted = shoal.jax.jit(
        step,
        in_shardings=(places, at(twin.EVERYWHERE)),
        out_shardings=(places, at(PartitionSpec())),
        donate_argnums=0,
        devices=devices,
    )
    return Steps(jitted, jax.tree.map(jax.numpy.asarray, state), tokens, devices)


def forward(devices, start, tokens):
    jitted = shoal.jit(
        lambda params, tokens: (params, twin.loss_of(CONFIG, params, tokens)[0]),
        mesh=shoal.Mesh(data=1, expert=devices.count),
        in_shardings=(twin.parameter_shardings(start), twin.SENTENCES),
        out_shardings=(twin.parameter_shardings(start), None),
        donate_argnums=0,
        devices=devices,
    )
    return Steps(jitted, start, tokens, devices)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--devices", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--repeat", type=int, default=5, help="steps in a round")
    parser.add_argument("--most", type=float)
    options = parser.parse_args()

    start = twin.initial_parameters(CONFIG)
    (tokens,) = twin.batches_of(CONFIG, 1)
    with shoal.launch(options.devices) as devices:
        runs = {make.__name__: make(devices, start, tokens) for make in (ours, imported, forward)}
        for _ in range(options.rounds):
            for steps in runs.values():
                steps.run(options.repeat)
    for name, of in (("minimum", min), ("median", statistics.median)):
        mine, theirs, alone = (1e3 * of(steps.seconds) for steps in runs.values())
        print(
            f"{name}: {mine:.1f} ms, imported from JAX {theirs:.1f} ms, ratio {mine / theirs:.2f}; "
            f"forward {alone:.1f} ms, ratio {mine / alone:.2f}"
        )
    ratio = min(runs["ours"].seconds) / min(runs["imported"].seconds)
    if options.most is not None and ratio > options.most:
        sys.exit(f"error: {ratio:.2f} is more than {options.most}")


if __name__ == "__main__":
    main()
