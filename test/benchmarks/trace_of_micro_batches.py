#!/usr/bin/env python3
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What it costs JAX to trace a training step of several micro-batches, whose loss is traced to a program for what its
metrics say and evaluated, beside the same step that calls the loss; a Mixtral of examples/moe_models.

Usage: trace_of_micro_batches.py [--layers L] [--micro-batches N] [--overlap K] [--rounds R] [--most RATIO]

Prints the processor's seconds of both, minima of rounds in turn, and their ratio. Exits 1 where --most is less than that.
"""

import argparse
import json
import os
import sys
import time
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("SHOAL_BUILD", ROOT / "build/release"))
sys.path[:0] = [str(BUILD / "python")]

import jax  # noqa: E402
import numpy as np  # noqa: E402

import shoal  # noqa: E402
from shoal import optim, train  # noqa: E402
from shoal.moe import Layout  # noqa: E402

OPTIMIZER = optim.adamw(1e-3)


def arguments_of(layers):
    """(model, state, tokens)"""
    config = json.loads((ROOT / "examples/moe_models/mixtral.json").read_text())
    small = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": layers}
    model = shoal.models.from_config({**config, **small}, Layout.folded({"dp": 2}, {"ep": 2}))
    tokens = np.random.default_rng(0).integers(0, 256, (8, 65)).astype(np.int32)
    state = jax.tree.map(jax.numpy.asarray, train.init(model.init(0), OPTIMIZER))
    return model, state, tokens


def called(function, kinds):
    """In place of `arrays.noting_kinds`: all metrics are means, and nothing has to be read for that."""

    def calls(*arguments, **key):
        made = function(*arguments, **key)
        kinds[:] = ["mean"] * len(jax.tree.leaves(made))
        return made

    return calls


def seconds_of(options, model, state, tokens):
    step = train.step(
        model.loss, OPTIMIZER, has_aux=True, micro_batches=options.micro_batches, overlap=options.overlap
    )
    jax.clear_caches()
    begin = time.process_time()
    jax.jit(step).trace(state, tokens)
    return time.process_time() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--micro-batches", type=int, default=4)
    parser.add_argument("--overlap", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--most", type=float)
    options = parser.parse_args()

    arguments, evaluated, direct = arguments_of(options.layers), [], []
    for _ in range(options.rounds):
        evaluated.append(seconds_of(options, *arguments))
        with mock.patch("shoal.optim.gradients.noting_kinds", called):
            direct.append(seconds_of(options, *arguments))
    ratio = min(evaluated) / min(direct)
    print(f"traced and evaluated {min(evaluated):.3f} s, called {min(direct):.3f} s, ratio {ratio:.3f}")
    if options.most is not None and ratio > options.most:
        sys.exit(f"error: {ratio:.3f} is more than {options.most}")


if __name__ == "__main__":
    main()
