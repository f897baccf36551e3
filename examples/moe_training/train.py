#!/usr/bin/env python3
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains a Mixture-of-Experts Transformer on 4 devices, over sentences of the world's languages.

Usage: train.py [--steps N] [--losses FILE]

The devices are processes that the first step starts; under `mpirun -n 4 python train.py` they
are the job's ranks. Parameters and the optimiser's state stay on the devices.
"""

import argparse
import json
import sys
from functools import partial
from pathlib import Path

from model import MESH, SENTENCES, Config, initial_parameters, loss_of, parameter_shardings

import shoal
from shoal import optim

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from sentences import text_batches  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--losses", type=Path, help="where to write the loss of every step, as JSON")
    options = parser.parse_args()
    config, start = Config(), initial_parameters(Config())
    schedule = optim.warmup_cosine(3e-3, max(options.steps // 10, 1), max(options.steps, 2))
    optimizer = optim.chain(optim.clip_by_global_norm(1.0), optim.adamw(schedule))
    weights = parameter_shardings(start)

    @partial(shoal.jit, mesh=MESH, donate_argnums=(0, 1), in_shardings=(weights, None, SENTENCES),
             out_shardings=(weights, None, None))  # fmt: skip
    def step(parameters, state, tokens):
        gradient = shoal.value_and_grad(partial(loss_of, config), has_aux=True)
        (_, loss), grads = gradient(parameters, tokens)
        updates, state = optimizer.update(grads, state, parameters)
        return optim.apply_updates(parameters, updates), state, loss

    parameters, state, losses = start, optimizer.init(start), []
    for number, tokens in enumerate(text_batches(options.steps, config.sentences, config.length)):
        parameters, state, loss = step(parameters, state, tokens)
        losses.append(float(loss))
        if number % 10 == 0 or number + 1 == options.steps:
            print(f"step {number:4}  loss {losses[-1]:.4f}", flush=True)
    if options.losses:
        options.losses.write_text(json.dumps(losses))


if __name__ == "__main__":
    main()
