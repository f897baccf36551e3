#!/usr/bin/env python3
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A training step of shoal.models and shoal.optim, a Mixtral of examples/moe_models, traced by the frontend
and by JAX: shoal.jit beside shoal.jax.jit of one function; in turn, on the same devices.

Usage: step_of_worlds.py [--devices 2|4] [--width M] [--layers L] [--length S] [--rounds N] [--repeat N] [--most RATIO]

Prints what the devices take for a step of each, minima and medians in milliseconds, and their ratio; before it what a
device sends, computes and holds by `shoalc --stats`. Exits 1 where --most is less than the ratio of minima.
"""

import argparse
import json
import os
import statistics
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("SHOAL_BUILD", ROOT / "build/release"))
sys.path[:0] = [str(BUILD / "python")]

import jax  # noqa: E402
import numpy as np  # noqa: E402

import shoal.jax  # noqa: E402
from shoal import P, optim  # noqa: E402
from shoal.arrays import named_shardings, value_and_grad  # noqa: E402
from shoal.moe import Layout  # noqa: E402

LAYOUTS = {
    2: Layout.folded({"dp": 2}, {"ep": 2}),
    4: Layout.folded({"tp": 2, "dp": 2}, {"ep": 4}, outside=("dp",)),  # the example's
}
OPTIMIZER = optim.chain(optim.clip_by_global_norm(1.0), optim.adamw(3e-3))
BATCH = 8


def model_of(options):
    config = json.loads((ROOT / "examples/moe_models/mixtral.json").read_text())
    wide = {"hidden_size": options.width, "intermediate_size": 2 * options.width, "num_hidden_layers": options.layers}
    return shoal.models.from_config({**config, **wide}, LAYOUTS[options.devices])


def step_of(model):
    """(state, tokens) to (state, loss); of the world of its arguments."""

    def step(state, tokens):
        params, moments = state
        (loss, _), grads = value_and_grad(model.loss, has_aux=True)(params, tokens)
        updates, moments = OPTIMIZER.update(grads, moments, params)
        return (optim.apply_updates(params, updates), moments), loss

    return step


class Steps:
    """A jitted step on devices, with the state that it begins with."""

    def __init__(self, jit, places, model, state, tokens, devices):
        kept, rows, whole = places
        jitted = jit(
            step_of(model), in_shardings=(kept, rows), out_shardings=(kept, whole), donate_argnums=0, devices=devices,
        )  # fmt: skip
        self._jitted, self._state, self._tokens = jitted, state, tokens
        executable = jitted.executable_for(state, tokens)
        self.stats, self._loaded = executable.stats, devices.load(executable)
        self.seconds, self.loss = [], None

    def run(self, repeat):
        """Steps, of which the first is not timed."""
        for number in range(repeat + 1):
            self._state, self.loss = self._jitted(self._state, self._tokens)
            if number:
                self.seconds.append(self._loaded.seconds)


def runs_of(options, devices):
    """{world: its steps}."""
    model = model_of(options)
    params, mesh = model.init(0), model.layout.mesh
    state, stored = (params, OPTIMIZER.init(params)), model.shardings()
    tokens = np.random.default_rng(0).integers(0, 256, (BATCH, options.length + 1)).astype(np.int32)
    places = ((stored, optim.shardings_like(state[1], params, stored)), model.layout.P("outside"), P())
    native = Steps(lambda f, **rest: shoal.jit(f, mesh=mesh, **rest), places, model, state, tokens, devices)
    of_jax = jax.tree.map(jax.numpy.asarray, state)
    imported = Steps(shoal.jax.jit, named_shardings(places, mesh), model, of_jax, tokens, devices)
    return {"frontend": native, "JAX": imported}


def print_statistics(runs):
    for name in ("bytes_sent_per_device", "collectives", "flops_per_device", "peak_bytes_per_device", "compile_seconds"):
        made = {world: steps.stats[name] for world, steps in runs.items()}
        sums = [sum(value.values()) if isinstance(value, dict) else value for value in made.values()]
        print(f"{name}: {sums[0]:,.6g}, of JAX {sums[1]:,.6g}, ratio {sums[1] / max(sums[0], 1e-30):.4f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--devices", type=int, choices=LAYOUTS, default=4)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--length", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--repeat", type=int, default=5, help="steps in a round")
    parser.add_argument("--most", type=float)
    options = parser.parse_args()

    with shoal.launch(options.devices) as devices:
        runs = runs_of(options, devices)
        print_statistics(runs)
        for _ in range(options.rounds):
            for steps in runs.values():
                steps.run(options.repeat)
    losses = [float(np.asarray(steps.loss)) for steps in runs.values()]
    print(f"loss behind {options.rounds * (options.repeat + 1)} steps: {losses[0]:.5f}, of JAX {losses[1]:.5f}")
    for name, of in (("minimum", min), ("median", statistics.median)):
        mine, theirs = (1e3 * of(steps.seconds) for steps in runs.values())
        print(f"{name}: {mine:.2f} ms, of JAX {theirs:.2f} ms, ratio {theirs / mine:.3f}")
    ratio = min(runs["JAX"].seconds) / min(runs["frontend"].seconds)
    if options.most is not None and ratio > options.most:
        sys.exit(f"error: {ratio:.3f} is more than {options.most}")


if __name__ == "__main__":
    main()
