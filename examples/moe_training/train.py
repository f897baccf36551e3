#!/usr/bin/env python3
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains a Mixture-of-Experts Transformer on 4 devices, over sentences of the world's languages.

Usage: train.py FOLDER [--steps N] [--plot FILE]

The devices are processes that the first step starts; under `mpirun -n 4 python train.py` they are
the job's ranks. FOLDER gets metrics.jsonl and checkpoints; a run that was stopped goes on from the last one.
"""

import argparse
import json
import sys
from functools import partial
from pathlib import Path

from model import MESH, SENTENCES, Config, initial_parameters, loss_of, parameter_shardings

import shoal
from shoal import checkpoints, data, optim, train

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from sentences import text_rows  # noqa: E402


def plot(metrics, file):
    from matplotlib import pyplot  # the only use of it

    lines = [json.loads(line) for line in metrics.read_text().splitlines()]
    for name in ("nll", "held-out nll"):
        points = [(line["step"], line[name]) for line in lines if name in line]
        pyplot.plot(*zip(*points), label=name)
    pyplot.legend()
    pyplot.savefig(file)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--plot", type=Path, help="where to draw the losses, as PNG or SVG")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    config, series = Config(), checkpoints.Series(options.folder / "checkpoints", keep_last=2)
    loss, start = partial(loss_of, config), initial_parameters(config)
    batches_of = partial(data.Batches, batch_size=config.sentences, mesh=MESH, sharding=SENTENCES)
    rows = text_rows(config.length)
    training, held_out = batches_of(rows[64:], seed=0), batches_of(rows[:64], epochs=1)

    schedule = optim.warmup_cosine(3e-3, max(options.steps // 10, 1), max(options.steps, 2))
    optimizer = optim.chain(optim.clip_by_global_norm(1.0), optim.adamw(schedule))
    state = train.init(start, optimizer)
    shardings = train.shardings(state, parameter_shardings(start))
    step = shoal.jit(train.step(loss, optimizer, has_aux=True), mesh=MESH, donate_argnums=0,
                     in_shardings=(shardings, SENTENCES), out_shardings=(shardings, None))  # fmt: skip
    nll = shoal.jit(lambda params, batch: {"held-out nll": (loss(params, batch)[1]["nll"], 1.0)},
                    mesh=MESH, in_shardings=(shardings.params, SENTENCES))  # fmt: skip
    state = series.load(state, mesh=MESH, sharding=shardings)
    train.fit(step, state, training, options.steps, tokens=config.sentences * config.length,
              log=[train.JsonLines(options.folder / "metrics.jsonl")],
              evaluate=lambda state: train.evaluate(nll, state.params, held_out),
              evaluate_every=50, save=series, save_every=50)  # fmt: skip
    if options.plot:
        plot(options.folder / "metrics.jsonl", options.plot)


if __name__ == "__main__":
    main()
