# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Experts made of a dense network compute what it computed, by every router; or upcycle says why not."""

import numpy as np
import pytest

import shoal
from frontend_testing import assert_same, evaluate
from shoal.moe import Layout, MoeConfig, moe, param_shapes, route, upcycle

M, H, E, S = 6, 16, 8, 12
GLU = {"gated_linear_unit": True, "hidden_act": "silu"}
PRE = {"moe_router_pre_softmax": True}
SIGMOID = {"moe_router_score_function": "sigmoid"}
NO_LOSS = {"moe_router_load_balancing_type": ()}
GROUPS = {"moe_router_num_groups": 2, "moe_router_group_topk": 1}
BIAS = {"moe_router_enable_expert_bias": True}

# Any router's logits will do.
ANY_LOGITS = {
    "softmax behind, scaled": {"moe_router_topk_scaling_factor": 0.7},
    "DeepSeek-V3": {**SIGMOID, **GROUPS, **BIAS, "moe_router_topk_scaling_factor": 2.5,
                    "moe_shared_expert_intermediate_size": 10},
    "normalised softmax of all": {**PRE, "norm_topk_prob": True, "moe_router_topk_scaling_factor": 2.0},
    "sqrtsoftplus": {"moe_router_score_function": "sqrtsoftplus"},
    "cosine": {"router_type": "cosine"},
    "hash": {"router_type": "hash", **NO_LOSS},
    "experts' biases": {"add_bias_linear": True, "add_router_bias": True, "moe_router_topk_scaling_factor": 3.0},
    "room for all": {"moe_expert_capacity_factor": 2.0, "renormalize_after_drop": True,
                     "moe_router_topk_scaling_factor": 2.0},
    "room for all, aligned": {"moe_expert_capacity_factor": 2.0, "capacity_rule": "tutel", "capacity_alignment": 4},
    "clamped": {"swiglu_limit": 1.0, "add_bias_linear": True, "moe_router_topk_scaling_factor": 1.5},
}  # fmt: skip
# Of logits that are equal.
EQUAL = {
    "DeepSeek-V2": {**PRE, **GROUPS, "moe_router_topk_scaling_factor": 16.0, "moe_shared_expert_intermediate_size": 10,
                    "moe_shared_expert_gate": True},
    "sigmoid": {**SIGMOID, "norm_topk_prob": False},
    "sqrtsoftplus, not normalised": {"moe_router_score_function": "sqrtsoftplus", "norm_topk_prob": False},
    "cosine, softmax of all": {"router_type": "cosine", **PRE},
    "sinkhorn": {"router_type": "sinkhorn", **NO_LOSS},
    "into the experts": {"is_postscore": False, "add_bias_linear": True, "moe_router_topk_scaling_factor": 2.5},
    "into the experts, softmax of all": {"is_postscore": False, **PRE},
}  # fmt: skip
# Of one part for each expert alone.
WHOLE = {
    "residual": {"use_residual": True, "moe_router_topk_scaling_factor": 2.5},
    "Llama 4": {**SIGMOID, "moe_router_topk": 1, "is_postscore": False},
    "one of one weight, into the experts": {"moe_router_topk": 1, "norm_topk_prob": True, "is_postscore": False},
    "GShard's chance": {**PRE, "norm_topk_prob": True, "second_policy": "random", "moe_router_topk": 2},
    "Gumbel": {"second_policy": "gumbel", "moe_router_topk": 2, "norm_topk_prob": True},
    "Gumbel, not normalised": {"second_policy": "gumbel", "moe_router_topk": 2, "moe_router_topk_scaling_factor": 3.0},
    "a sample": {"moe_router_topk": 1, **PRE, "noisy_gate_policy": "RSample"},
    "noise": {"gate_noise": 1.0},
    "relu, no gate": {"gated_linear_unit": False, "hidden_act": "relu"},
    "sinkhorn of one": {"router_type": "sinkhorn", **NO_LOSS, "moe_router_topk": 1},
}  # fmt: skip
CASES = {
    **{f"{name}, g {g}": (fields, g) for name, fields in {**ANY_LOGITS, **EQUAL}.items() for g in (1, 4)},
    **{f"{name}, g 1": (fields, 1) for name, fields in WHOLE.items()},
}


def config_of(fields, g=1):
    return MoeConfig.flat(**{"num_experts": E, "moe_ffn_hidden_size": H // g, "moe_router_topk": 4, **GLU, **fields})


def dense_of(config, g=1, dtype=np.float32):
    rng = np.random.default_rng(1)
    shapes = param_shapes(config.replace(moe_ffn_hidden_size=config.moe_ffn_hidden_size * g), M)
    names = [name for name in ("wi", "wg", "wo", "bi", "bg", "bo") if name in shapes]
    return {name: rng.standard_normal(shapes[name][1:]).astype(dtype) for name in names}


def network(x, dense, config):
    """What the dense network computes, in float64."""
    d = {name: array.astype(np.float64) for name, array in dense.items()}
    gate = x @ d.get("wg", d["wi"]) + d.get("bg" if "wg" in d else "bi", 0.0)
    up, limit = x @ d["wi"] + d.get("bi", 0.0), config.swiglu_limit
    if limit is not None:
        gate, up = np.minimum(gate, limit), np.clip(up, -limit, limit)
        hidden = gate / (1 + np.exp(-config.swiglu_alpha * gate)) * (up + 1)
    elif config.gated_linear_unit:
        hidden = gate / (1 + np.exp(-gate)) * up
    else:
        hidden = np.maximum(up, 0)
    return hidden @ d["wo"] + d.get("bo", 0.0)


X = np.random.default_rng(0).standard_normal((2, S, M)).astype(np.float32)
IDS = np.random.default_rng(0).integers(0, 100, (2, S)).astype(np.int32)


def outputs(tmp_path, layers, layout=None):
    """y of each (configuration, parameters), in one program."""
    configs = {name: config for name, (config, _) in layers.items()}

    def run(x, ids, params):
        return {
            name: moe(
                x, params[name], config, *(() if layout is None else (layout,)), token_ids=ids,
                bias=np.zeros(config.num_experts, np.float32) if config.moe_router_enable_expert_bias else None,
            ).y
            for name, config in configs.items()
        }  # fmt: skip

    rest = {} if layout is None else {"mesh": layout.mesh, "devices": layout.mesh.size}
    return evaluate(tmp_path, run, X, IDS, {name: params for name, (_, params) in layers.items()}, **rest)


def test_every_router_keeps_the_function(tmp_path):
    """Where any logits will do, of a router that says much; else of the one that is made."""
    layers, expected = {}, {}
    for name, (fields, g) in CASES.items():
        config = config_of(fields, g)
        dense = dense_of(config, g)
        says_much = name.rsplit(",", 1)[0] in ANY_LOGITS
        layers[name] = config, upcycle(dense, config, seed=3, deviation=1.0 if says_much else None)
        expected[name] = network(X, dense, config).astype(np.float32)
    for name, y in outputs(tmp_path, layers).items():
        assert_same(name, y, expected[name], np.float32, 1e-5)


def test_parameters_are_those_of_the_layer():
    """All of them, so that moe takes them; equal scores of parts, different ones of networks."""
    for name, (fields, g) in CASES.items():
        config = config_of(fields, g)
        made = upcycle(dense_of(config, g), config)
        assert tree_of(made, np.shape) == param_shapes(config, M), name
        if "router" in made:
            columns = np.asarray(made["router"]).T
            assert len(np.unique(columns, axis=0)) == E // g, name


def tree_of(tree, function):
    return {key: tree_of(leaf, function) if isinstance(leaf, dict) else function(leaf) for key, leaf in tree.items()}


def test_tokens_choose_different_networks(tmp_path):
    """Also by the logits of 1e-6 of a router whose scores are equal."""
    for fields in ({}, PRE, {**SIGMOID, "norm_topk_prob": False}, {"router_type": "cosine", **PRE}):
        config = config_of({**fields, "moe_router_topk": 2})
        params = upcycle(dense_of(config), config)
        chosen = evaluate(tmp_path, lambda x, p, config=config: route(x, p, config).experts, X, params)
        assert len(np.unique(chosen)) > 4, fields


def test_noise_keeps_the_function_of_whole_networks(tmp_path):
    """In training, whose noise chooses others."""
    for name in ("noise", "Gumbel", "GShard's chance", "a sample"):
        fields = WHOLE[name] | ({"norm_topk_prob": True} if name == "noise" else {})
        config = config_of(fields)
        dense = dense_of(config)
        params, key = upcycle(dense, config), np.array([1, 2], np.uint32).view(np.int32)
        y = evaluate(tmp_path, lambda x, p, key, config=config: moe(x, p, config, key=key).y, X, params, key)
        assert_same(name, y, network(X, dense, config).astype(np.float32), np.float32, 1e-5)


@pytest.mark.parametrize("g", [1, 4])
def test_sinkhorn_balances_whole_networks(tmp_path, g):
    """In training, in which it chooses by another matrix than it weighs by."""
    config = config_of(EQUAL["sinkhorn"], g)
    dense = dense_of(config, g)
    y = evaluate(tmp_path, lambda x, p: moe(x, p, config, training=True).y, X, upcycle(dense, config))
    assert_same(f"g {g}", y, network(X, dense, config).astype(np.float32), np.float32, 1e-5)


def test_over_devices(tmp_path):
    layout = Layout.folded({"dp": 4}, {"ep": 4})
    layers, expected = {}, {}
    for name in ("DeepSeek-V3, g 4", "into the experts, g 4", "cosine, g 1", "residual, g 1"):
        fields, g = CASES[name]
        config = config_of(fields, g)
        layers[name] = config, upcycle(dense_of(config, g), config)
        expected[name] = network(X, dense_of(config, g), config).astype(np.float32)
    for name, y in outputs(tmp_path, layers, layout).items():
        assert_same(name, y, expected[name], np.float32, 1e-5)


@pytest.mark.parametrize("dtype, error", [("float64", 0), ("bfloat16", 2**-8), ("float16", 2**-11)])
def test_scales_are_rounded_once(dtype, error):
    config = config_of({**SIGMOID, "moe_router_topk_scaling_factor": 2.5, "moe_router_topk": 2})
    dense = dense_of(config, dtype=np.dtype(getattr(shoal, dtype, dtype)))
    made = upcycle(dense, config)
    assert made["wo"].dtype == dense["wo"].dtype
    exact = dense["wo"].astype(np.float64) / 2.5
    assert np.abs(made["wo"][0] / exact - 1).max() <= error + 1e-15
    np.testing.assert_array_equal(made["wi"][3], dense["wi"])


REFUSED = {
    "experts choose": ({"router_type": "expert_choice", **NO_LOSS, "moe_expert_capacity_factor": 2.0}, 1,
                       'ExpertChoice: a token has as many experts as choose it'),
    "no room": ({"moe_expert_capacity_factor": 1.5}, 1, r"Capacity\(factor=1.5, .*: choices that find no room"),
    "no room in a group": ({"moe_expert_capacity_factor": 1.0, "moe_group_size": 12}, 1, "factor=1.0"),
    "no room, whole multiples": ({"moe_expert_capacity_factor": 1.9, "capacity_rule": "tutel"}, 1, "factor=1.9"),
    "no room on a device": ({"moe_expert_rank_capacity_factor": 2.0, "moe_token_dispatcher_type": "alltoall"}, 1,
                            "rank_factor=2.0"),
    "chance": ({**PRE, "second_policy": "random", "moe_router_topk": 2}, 1, "a second choice of weight 0.125"),
    "noise": ({"gate_noise": 1.0}, 2, "gate_noise=1.0: the noise tells the parts of 2 experts each apart"),
    "Gumbel": ({"second_policy": "gumbel", "moe_router_topk": 2}, 2, 'sampling="second": the noise'),
    "groups": ({"moe_router_num_groups": 4, "moe_router_group_topk": 2}, 4, "groups of 2 experts cut parts of 4"),
    "hash": ({"router_type": "hash", **NO_LOSS, "num_experts": 9, "moe_router_topk": 6}, 3,
             "choices of 6 in 9 experts are not 6 different parts"),
    "residual": ({"use_residual": True}, 2, "Residual: its network has 8 hidden units, not the dense one's 16"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_loses_parts_is_refused(name):
    fields, g, message = REFUSED[name]
    hidden = 18 if g == 3 else H
    config = config_of({**fields, "moe_ffn_hidden_size": hidden // g})
    with pytest.raises(shoal.TraceError, match=message):
        upcycle(dense_of(config, g), config)


def test_dense_parameters_are_floats():
    config = config_of({})
    for kind in (np.int8, np.dtype("int32")):
        dense = {**dense_of(config), "wo": np.zeros((H, M), kind)}
        with pytest.raises(shoal.TraceError, match=rf'"wo" of {np.dtype(kind)}: expected floats of 16 bits'):
            upcycle(dense, config)
