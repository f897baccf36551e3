# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows that cross nodes once: the results of one exchange, and what is sent between nodes."""

import numpy as np
import pytest

from frontend_testing import assert_same, evaluate, shoal
from shoal.frontend.pytrees import flatten
from shoal.moe import Layout, MoeConfig, init_params, moe, total_loss

FLEX = {"moe_token_dispatcher_type": "flex"}
GROUPS = {"moe_router_num_groups": 4, "moe_router_group_topk": 2, "group_best_of": 2, "moe_router_topk": 4}

# Layouts of nodes, devices of each, and what differs from the layer of all.
CASES = {
    "2 x 2": (Layout.folded({"dp": 4}, {"ep": 4}, node=2), {}),
    "2 x 4": (Layout.folded({"dp": 8}, {"ep": 8}, node=4), {"moe_router_topk": 4}),
    "4 x 2": (Layout.folded({"dp": 8}, {"ep": 8}, node=2), {"moe_router_topk": 3}),
    "4 x 2, groups": (Layout.folded({"dp": 8}, {"ep": 8}, node=2), GROUPS),
    "2 x 2, groups": (Layout.folded({"dp": 4}, {"ep": 4}, node=2), GROUPS),
    "4 x 2, more choices than nodes": (Layout.folded({"dp": 8}, {"ep": 8}, node=2), {"moe_router_topk": 6}),
    "weights before": (Layout.folded({"dp": 4}, {"ep": 4}, node=2), {"is_postscore": False}),
    "room": (Layout.folded({"dp": 4}, {"ep": 4}, node=2), {"moe_expert_rank_capacity_factor": 4.0}),
    "dropped": (Layout.folded({"dp": 4}, {"ep": 4}, node=2), {"moe_expert_capacity_factor": 0.5}),
    "uneven experts": (Layout.folded({"dp": 4}, {"ep": 4}, node=2), {"num_experts": 6}),
    "uneven tokens": (Layout.folded({"dp": 6}, {"ep": 6}, node=3), {"num_experts": 12}),
    "ETP": (Layout.folded({"tp": 2, "dp": 4}, {"etp": 2, "ep": 4}, node=4), {}),
    "ETP, gathered": (Layout.folded({"tp": 2, "dp": 4}, {"etp": 2, "ep": 4}, node=4), {"moe_expert_rank_capacity_factor": 4.0}),
    "EDP": (Layout.folded({"dp": 8}, {"ep": 4, "edp": 2}, node=2), {}),
    "one node": (Layout.folded({"dp": 8}, {"ep": 4, "edp": 2}, node=4), {}),
    "a device a node": (Layout.folded({"dp": 4}, {"ep": 4}, node=1), {}),
}  # fmt: skip


def config_of(fields):
    base = {"num_experts": 8, "moe_ffn_hidden_size": 8, "moe_group_size": 8, "gated_linear_unit": True,
            "hidden_act": "silu", "add_bias_linear": True, "moe_aux_loss_coeff": 0.1}  # fmt: skip
    return MoeConfig.flat(**{**base, **FLEX, **fields})


def arrays(config, rows=16, seed=1):
    rng = np.random.default_rng(seed)
    x, mask = rng.standard_normal((4, rows, 6)).astype(np.float32), rng.random((4, rows)) < 0.8
    params = init_params(config, 6)
    params["bi"] += 1
    return x, params, mask


def step(config, layout):
    def made(x, params, mask):
        def loss(x, params):
            out = moe(x, params, config, layout, mask=mask)
            return shoal.sum(out.y**2) + total_loss(out.losses, config), out

        return shoal.value_and_grad(loss, (0, 1), has_aux=True)(x, params)

    return made


@pytest.mark.parametrize("name", CASES)
def test_results_are_those_of_one_device(tmp_path, name):
    """y, losses, metrics and all gradients, with masked tokens."""
    layout, fields = CASES[name]
    config = config_of(fields)
    given = arrays(config)
    one = evaluate(tmp_path, step(config, Layout()), *given)
    many = evaluate(tmp_path, step(config, layout), *given, mesh=layout.mesh, devices=layout.mesh.size)
    for expected, actual in zip(flatten(one)[0], flatten(many)[0], strict=True):
        assert_same(name, actual, expected, np.float32, 1e-5)
