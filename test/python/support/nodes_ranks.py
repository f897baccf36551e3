# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A training run of test_nodes_python.py: in each rank of a job, or in a process with a pool.

Usage: nodes_ranks.py FOLDER STEPS
Goes on from the checkpoints in FOLDER, if there are any, saves there, and prints a digest of the state.
"""

import hashlib
import sys
from pathlib import Path

import numpy as np
import train_programs as programs

import shoal
from shoal import P, checkpoints, train


def main(folder, steps):
    optimizer = programs.optimizer()
    state = programs.start(optimizer)
    step = programs.jitted(state, optimizer)
    series = checkpoints.Series(folder)
    moments = shoal.optim.split_over("data", state.params, programs.MESH)
    at = train.shardings(state, P(), moments)
    state = series.load(state, mesh=programs.MESH, sharding=at)
    first = int(state.step)
    state = train.fit(step, state, programs.batches(), steps, save=series, save_every=10)
    digest = hashlib.sha256(b"".join(np.asarray(leaf).tobytes() for leaf in _leaves(state)))
    sys.stdout.write(f"from {first} to {int(state.step)}: {digest.hexdigest()}\n")


def _leaves(tree):
    import optree

    return optree.tree_leaves(tree, namespace="shoal")


main(Path(sys.argv[1]), int(sys.argv[2]))
