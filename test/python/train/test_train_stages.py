# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A run that goes on with another number of stages."""

import json

import numpy as np
import pytest
from shoal_testing import ROOT, TARGET

if TARGET != "cpu":
    pytest.skip("pools run programs for CPUs", allow_module_level=True)

import shoal
from shoal import checkpoints, optim, train
from shoal.models import from_config
from shoal.moe import Layout

LAYOUTS = {
    "two stages": Layout.folded({"dp": 2, "pp": 2}, {"ep": 2, "pp": 2}).scheduled(2),
    "two turns of one device": Layout().scheduled(2, 2),
    "no stages": Layout(),
}


def test_other_stages_go_on_with_equal_losses(tmp_path):
    """Saved by two stages behind one step; each layout does the next two. Sums over micro-batches are those
    of batches where no loss is a product of means, as that of balance is."""
    config = json.loads((ROOT / "test/python/models/expected/mixtral.json").read_text())["config"]
    config |= {"num_hidden_layers": 2, "router_aux_loss_coef": 0.0}
    tokens = np.random.default_rng(3).integers(0, config["vocab_size"], (4, 8, 7)).astype(np.int32)
    losses, states = {}, {}
    for name, layout in LAYOUTS.items():
        model = from_config(config, layout)
        clip = () if name == "two stages" else (optim.clip_by_global_norm(1e9),)
        optimizer = optim.chain(*clip, optim.adamw(1e-2))
        state = train.init(model.init(1), optimizer)
        at = train.shardings(state, model.shardings())
        where = {"mesh": layout.mesh, "in_shardings": (at, None), "out_shardings": (at, None)} if layout.mesh else {}
        step = shoal.jit(train.step(model.loss, optimizer, has_aux=True), **where)
        if name == "two stages":
            state, _ = step(state, tokens[0])
            checkpoints.save(tmp_path, state)
        place = {"mesh": layout.mesh, "sharding": at} if layout.mesh else {}
        state = checkpoints.load(tmp_path, state, **place)
        losses[name] = []
        for batch in tokens[1:3]:
            state, metrics = step(state, batch)
            losses[name].append(float(metrics["loss"]))
        states[name] = model.to_layers(state.params)
    for name in LAYOUTS:
        np.testing.assert_allclose(losses[name], losses["two stages"], rtol=1e-5, err_msg=name)
        for one, other in zip(states[name]["layers"], states["two stages"]["layers"]):
            np.testing.assert_allclose(one["moe"]["wi"], other["moe"]["wi"], rtol=1e-3, atol=1e-5)
