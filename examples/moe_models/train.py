#!/usr/bin/env python3
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains a Mixtral-like model of a Hugging Face configuration on 4 devices, over bytes of sentences.

Usage: train.py FOLDER [STEPS]     FOLDER gets model.safetensors and a page of the experts' balance.
"""

import json
import sys
from pathlib import Path

import shoal
from shoal import data, optim, train
from shoal.frontend.pytrees import map_leaves
from shoal.moe import Layout

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from sentences import text_rows  # noqa: E402


def main(folder, steps=100):
    layout = Layout.folded({"tp": 2, "dp": 2}, {"ep": 4}, outside=("dp",))
    model = shoal.models.from_config(json.loads((HERE / "mixtral.json").read_text()), layout)
    rows = layout.P("outside")
    batches = data.Batches(text_rows(64), batch_size=8, seed=0, mesh=layout.mesh, sharding=rows)
    optimizer = optim.chain(optim.clip_by_global_norm(1.0), optim.adamw(3e-3))
    state = train.init(model.init(), optimizer)
    shardings = train.shardings(state, model.shardings())
    step = shoal.jit(
        train.step(model.loss, optimizer, has_aux=True), mesh=layout.mesh, donate_argnums=0,
        in_shardings=(shardings, rows), out_shardings=(shardings, None),
    )  # fmt: skip
    page = train.BalancePage(Path(folder) / "balance.html")
    state = train.fit(step, state, batches, int(steps), tokens=8 * 64, log=[page])
    model.write(folder, map_leaves(lambda array: array.numpy(), state.params))


if __name__ == "__main__":
    main(*sys.argv[1:])
