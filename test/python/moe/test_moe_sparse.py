# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""No dispatcher of shoal.moe leaves a one-hot mask dense, forward or in gradients."""

import re

import numpy as np
import pytest

import shoal
from shoal.moe import MoeConfig, moe, param_shapes, total_loss
from shoal_testing import BIN, run

E, H, M, S = 32, 64, 64, 256
DROPS = {"moe_expert_capacity_factor": 1.25}
POSITION = {**DROPS, "moe_token_drop_policy": "position"}
MASKS = {"moe_group_size": S, "moe_token_dispatcher_type": "einsum"}
CASES = {
    "gshard": MoeConfig.gshard(E, H, **MASKS),
    "switch": MoeConfig.switch(E, H, **MASKS),
    "deepspeed 1": MoeConfig.deepspeed(E, H, 1, **MASKS),
    "deepspeed 2": MoeConfig.deepspeed(E, H, 2, **MASKS),
    "deepspeed 4": MoeConfig.deepspeed(E, H, 4, **MASKS),
    "tutel": MoeConfig.tutel(E, H, **MASKS),
    "priority": MoeConfig.flat(E, H, batch_prioritized_routing=True, **POSITION, **MASKS),
    "token order": MoeConfig.flat(E, H, position_order="token", **POSITION, **MASKS),
    "8 of probs": MoeConfig.flat(E, H, 8, **DROPS, **MASKS),
    "weights before": MoeConfig.flat(E, H, is_postscore=False, **DROPS, **MASKS),
    "sinkhorn": MoeConfig.flat(E, H, router_type="sinkhorn", moe_router_load_balancing_type=(), **DROPS, **MASKS),
    "groups": MoeConfig.flat(E, H, 4, moe_router_score_function="sigmoid", moe_router_num_groups=4,
                        moe_router_group_topk=2, **DROPS, **MASKS),
    "slots": MoeConfig.flat(E, H, **DROPS, **{**MASKS, "moe_token_dispatcher_type": "sort"}),
}  # fmt: skip


def summary(tmp_path, config):
    """What `shoalc --emit=summary` says of the layer's gradient."""
    params = {name: shoal.TensorSpec(shape, "float32") for name, shape in param_shapes(config, M).items()}
    x, mask = shoal.TensorSpec((2 * S, M), "float32"), shoal.TensorSpec((2 * S,), "bool")
    key = shoal.TensorSpec((2,), "int32")

    def loss(x, params, key, mask):
        out = moe(x, params, config, key=key, mask=mask, training=True)
        return shoal.sum(out.y**2) + total_loss(out.losses, config)

    source = tmp_path / "layer.mlir"
    source.write_text(shoal.trace(shoal.grad(loss, (0, 1)), (x, params, key, mask)))
    return run(BIN / "shoalc", source, "--emit=summary", "-o", "-").expect_success().stdout


@pytest.mark.parametrize("name", CASES)
def test_no_mask_stays_dense(tmp_path, name):
    text, config = summary(tmp_path, CASES[name]), CASES[name]
    found = re.findall(r'^  (\w+): einsum "(.*?)"', text, re.MULTILINE)
    masks = [(what, spec) for what, spec in found if {"S", "C"} <= set(spec)]
    assert all(what in ("sparse", "sampled") for what, _ in masks), masks
    assert len(masks) >= 4 or name == "slots"
    # Three times the products of router and experts, and nothing for masks.
    rows = 2 * E * config.rows(S)
    needed = 3 * 2 * (rows * M * H * 2 + 2 * S * M * E)
    products = int(re.search(r"([\d,]+) of them in products", text)[1].replace(",", ""))
    assert np.isclose(products, needed, rtol=0.04), (products, needed)
