# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training that begins where a folder's last checkpoint ended.

Usage: resumed_runs.py FOLDER STEPS
Slow enough to be ended; prints its process behind each step.
"""

import os
import sys
import time
from pathlib import Path

import numpy as np
import train_programs as programs

import shoal
from shoal import P, checkpoints, optim, train
from shoal.checkpoints.names import named_leaves

STEPS = 24


def trained(folder, steps, devices=4, seconds=0.0, every=5, **options):
    """The state at the end of a run that saves each few steps and begins where the folder's ended."""
    mesh = shoal.Mesh(data=devices)
    optimizer = programs.optimizer()
    state = programs.start(optimizer)
    step = programs.jitted(state, optimizer, mesh)
    at = train.shardings(state, P(), optim.split_over("data", state.params, mesh))
    series = checkpoints.Series(folder, keep_last=2, **options)
    state = series.load(state, mesh=mesh, sharding=at)

    def slower(state, batch):
        time.sleep(seconds)
        made = step(state, batch)
        sys.stdout.write(f"step {os.getpid()}\n")  # in one piece
        sys.stdout.flush()
        return made

    state = train.fit(slower, state, programs.batches(mesh), steps, quiet=True, save=series, save_every=every)
    assert step.moves == 0
    return state


def leaves(state):
    return {name: np.array(leaf) for name, leaf in named_leaves(state)}


if __name__ == "__main__":
    trained(Path(sys.argv[1]), int(sys.argv[2]), seconds=0.02, every=2, asynchronous=True)
