#!/usr/bin/env python3
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains one model up to a step, from where it was left.

Usage: mpirun -n RANKS train.py FOLDER MODEL --ranks RANKS --steps N

FOLDER is one that run.py prepared; FOLDER/MODEL gets checkpoints and metrics.jsonl.
"""

import argparse
from pathlib import Path

from prepare import read_settings, training_rows
from variants import VARIANTS, layout_of, model_of

import shoal
from shoal import checkpoints, data, optim, train


class Training:
    """A model, its step and its state, and where they lie."""

    def __init__(self, folder, name, ranks, out=None):
        settings, layout = read_settings(folder), layout_of(ranks)
        self.settings, self.mesh, self.rows = settings, layout.mesh, layout.P("dp")
        self.model = model_of(VARIANTS[name], settings.sizes, settings.width, layout)
        schedule = optim.join(
            optim.linear(0.0, settings.rate, settings.warmup), optim.constant(settings.rate), settings.warmup
        )
        self.optimizer = optim.chain(optim.clip_by_global_norm(1.0), optim.adamw(schedule))
        start = train.init(self.model.init(settings.seed), self.optimizer)
        self.shardings = train.shardings(start, self.model.shardings())
        self.folder, self.name, self.out = folder, name, folder / (out or name)
        self.series = checkpoints.Series(self.out / "checkpoints", keep_last=2)
        self.state = self.series.load(start, mesh=self.mesh, sharding=self.shardings)

    def run(self, steps, save_every):
        settings = self.settings
        rows = training_rows(self.folder, VARIANTS[self.name].language, settings.batch)
        batches = data.Batches(
            rows, settings.batch, seed=settings.seed, mesh=self.mesh, sharding=self.rows
        )
        step = shoal.jit(
            train.step(self.model.loss, self.optimizer, has_aux=True, seed=settings.seed),
            mesh=self.mesh, donate_argnums=0,
            in_shardings=(self.shardings, self.rows), out_shardings=(self.shardings, None),
        )  # fmt: skip
        log = [train.JsonLines(self.out / "metrics.jsonl")]
        self.state = train.fit(
            step, self.state, batches, steps, log=log, save=self.series, save_every=save_every
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("model", choices=VARIANTS)
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--save-every", type=int, default=500)
    parser.add_argument("--out", help="the folder in FOLDER, if it is not the model's name")
    options = parser.parse_args()
    (options.folder / (options.out or options.model)).mkdir(exist_ok=True)
    training = Training(options.folder, options.model, options.ranks, options.out)
    training.run(options.steps, options.save_every)


if __name__ == "__main__":
    main()
