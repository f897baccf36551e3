# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layers of shoal.moe of every router and dispatcher over six layouts: what both worlds of arrays are held to."""

import itertools

import numpy as np

from shoal.moe import Layout, MoeConfig, init_params, moe, total_loss

B, S, M, E, H = 8, 8, 16, 8, 16

LAYOUTS = {
    "one device": Layout(),
    "EP 2": Layout.folded({"dp": 2}, {"ep": 2}),
    "EP 4": Layout.folded({"dp": 4}, {"ep": 4}),
    "EP 2, ETP 2": Layout.folded({"tp": 2, "dp": 2}, {"etp": 2, "ep": 2}),
    "EP 4, EDP 2": Layout.folded({"dp": 8}, {"ep": 4, "edp": 2}),
    "folding, TP 2 CP 2 DP 2, EP 8": Layout.folded({"tp": 2, "cp": 2, "dp": 2}, {"ep": 8}),
}  # fmt: skip

# Those of the dispatcher that sends a row once to a node.
BY_NODES = "by nodes"
NODES = {
    "one device": Layout(),
    "EP 4, 2 nodes": Layout.folded({"dp": 4}, {"ep": 4}, node=2),
    "EP 8, 4 nodes": Layout.folded({"tp": 2, "dp": 4}, {"ep": 8}, node=2),
}  # fmt: skip

LOSSES = {"moe_aux_loss_coeff": 0.1, "moe_z_loss_coeff": 0.01}
PRE = {"moe_router_pre_softmax": True}
QUIET = {"moe_router_load_balancing_type": ()}
DROPS = {"moe_expert_capacity_factor": 1.0}
POSITION = {**DROPS, "moe_token_drop_policy": "position"}

ROUTERS = {
    "late softmax": LOSSES,
    "softmax, normalised": {**PRE, **LOSSES, "norm_topk_prob": True},
    "DeepSeek-V2": {**PRE, **LOSSES, "moe_router_num_groups": 4, "moe_router_group_topk": 2, "group_best_of": 1,
                    "moe_router_load_balancing_type": ("seq_aux_loss",), "moe_router_topk_scaling_factor": 16.0},
    "DeepSeek-V3": {"moe_router_score_function": "sigmoid", "moe_router_num_groups": 4, "moe_router_group_topk": 2,
                    "group_best_of": 2, "moe_router_enable_expert_bias": True, "moe_router_topk_scaling_factor": 2.5,
                    "moe_router_load_balancing_type": ("seq_aux_loss", "global_aux_loss"), **LOSSES},
    "sqrtsoftplus": {"moe_router_score_function": "sqrtsoftplus", **LOSSES, "add_router_bias": True},
    "GShard": {**PRE, **LOSSES, "norm_topk_prob": True, "moe_router_load_balancing_type": ("gshard",)},
    "Tutel": {**PRE, **LOSSES, "gate_noise": 1.0, "moe_router_load_balancing_type": ("importance",)},
    "Switch": {"moe_router_topk": 1, **PRE, **LOSSES},
    "Sinkhorn": {"router_type": "sinkhorn", **QUIET, "moe_z_loss_coeff": 0.01},
    "cosine": {"router_type": "cosine", **PRE, **LOSSES},
    "hash": {"router_type": "hash", **QUIET},
    "expert choice": {"router_type": "expert_choice", **QUIET, "moe_z_loss_coeff": 0.01, **DROPS},
}  # fmt: skip

# Dispatchers with what makes them take another way.
DISPATCHERS = {
    "einsum": {**DROPS, "moe_token_dispatcher_type": "einsum"},
    "slots": {**POSITION, "moe_token_dispatcher_type": "sort"},
    "sorted": {"moe_token_dispatcher_type": "sort"},
    "all-to-all of slots": {**POSITION, "moe_token_dispatcher_type": "alltoall", "batch_prioritized_routing": True},
    "all-to-all": {"moe_token_dispatcher_type": "alltoall"},
    "all-to-all into a room": {"moe_token_dispatcher_type": "alltoall", "moe_expert_rank_capacity_factor": 1.5},
    "all-gather": {"moe_token_dispatcher_type": "allgather"},
}  # fmt: skip

# What else a layer has: beside each router another thing.
FURTHER = (
    {}, {"add_bias_linear": True}, {"moe_shared_expert_intermediate_size": 6, "moe_shared_expert_gate": True},
    {"is_postscore": False}, {"use_residual": True}, {"swiglu_limit": 0.5}, {"gated_linear_unit": False, "hidden_act": "gelu"},
)  # fmt: skip


def layouts_of(dispatcher):
    """That a dispatcher is compared on, by their names."""
    return NODES if dispatcher == BY_NODES else LAYOUTS


def cases():
    """{(router, dispatcher): configuration}; experts that choose have slots of their own."""
    made = {}
    listed = [*itertools.product(ROUTERS, DISPATCHERS), *itertools.product(ROUTERS, [BY_NODES])]
    for number, (router, dispatcher) in enumerate(listed):
        if router == "expert choice" and dispatcher not in ("slots", "all-to-all of slots"):
            continue
        fields = {**DISPATCHERS.get(dispatcher, {"moe_token_dispatcher_type": "flex"}), **ROUTERS[router]}
        if router == "expert choice":
            fields = {**ROUTERS[router], "moe_token_dispatcher_type": fields["moe_token_dispatcher_type"]}
        more = FURTHER[number % len(FURTHER)]
        if router == "expert choice" and "is_postscore" in more:
            more = {}
        made[router, dispatcher] = MoeConfig.flat(
            E, H, **{"gated_linear_unit": True, "hidden_act": "silu", "moe_group_size": S, **fields, **more}
        )
    return made


def arrays_of(config):
    """(parameters, tokens [B, S, M], what else `moe` gets by name) of NumPy's, of which some tokens are padding."""
    rng = np.random.default_rng(3)
    params = init_params(config, M, seed=1)
    for name in ("bi", "bg", "bo", "router_bias"):
        if name in params:
            params[name] = (rng.standard_normal(params[name].shape) / 4).astype(np.float32)
    x = rng.standard_normal((B, S, M)).astype(np.float32)
    further = {"mask": rng.random((B, S)) < 0.8}
    if config.moe_router_enable_expert_bias:
        further["bias"] = (rng.standard_normal(E) / 10).astype(np.float32)
    if config.router_type == "hash":
        further["token_ids"] = rng.integers(0, 97, (B, S)).astype(np.int32)
    return params, x, further


def loss_of(sum_of, config, layout, **options):
    """A function of (params, x, further) to a scalar and what it was made of; sum_of: of either world."""

    def loss(params, x, further):
        out = moe(x, params, config, layout, **further, **options)
        total = sum_of(out.y * out.y) + total_loss(out.losses, config)
        return total, (out.y, out.losses, tuple(out.metrics))

    return loss
