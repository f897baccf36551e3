# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A small training run, as test_train.py does it in one process and train_ranks.py in four.

Usage: train_programs.py FOLDER STEPS [SECONDS]
Runs until STEPS are done, from the state in FOLDER if there is one, and saves it there; each
step takes so many SECONDS longer.
"""

import sys
import time
from pathlib import Path

import numpy as np

import shoal
from shoal import P, data, optim, train

MESH = shoal.Mesh(data=4)


def examples():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((50, 8)).astype(np.float32)
    return {"x": x, "y": np.tanh(x @ rng.standard_normal((8, 4)).astype(np.float32))}


def loss(params, batch):
    hidden = shoal.tanh(batch["x"] @ params["wi"])
    return shoal.mean(shoal.square(hidden @ params["wo"] - batch["y"]))


def start(optimizer):
    rng = np.random.default_rng(1)
    shapes = {"wi": (8, 16), "wo": (16, 4)}
    params = {n: np.float32(rng.standard_normal(s) / 3) for n, s in shapes.items()}
    return train.init(params, optimizer)


def optimizer():
    return optim.chain(optim.clip_by_global_norm(1.0), optim.adamw(optim.warmup_cosine(3e-2, 5, 100)))


def jitted(state, optimizer, mesh=MESH, loss=loss, **options):
    """The step with moments split, as ZeRO-1 does."""
    moments = optim.split_over("data", state.params, mesh)
    at = train.shardings(state, P(), moments)
    return shoal.jit(
        train.step(loss, optimizer, **options),
        mesh=mesh,
        donate_argnums=0,
        in_shardings=(at, P("data")),
        out_shardings=(at, None),
    )


def batches(mesh=MESH, data_=None):
    return data.Batches(data_ or examples(), 8, seed=0, mesh=mesh, sharding=P("data"))


def run(folder, steps, seconds=0.0):
    """The state at the end, and the step."""
    opt = optimizer()
    state, file = start(opt), folder / "state.npz"
    if file.exists():
        state = train.load(file, state)
    step = jitted(state, opt)

    def slower(state, batch):
        time.sleep(seconds)
        return step(state, batch)

    state = train.fit(
        slower,
        state,
        batches(),
        steps,
        tokens=8,
        log=[train.JsonLines(folder / "metrics.jsonl")],
        log_every=4,
        save=lambda state: train.save(file, state),
        save_every=10,
    )
    return state, step


if __name__ == "__main__":
    run(Path(sys.argv[1]), int(sys.argv[2]), float((sys.argv[3:] or [0])[0]))
