# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Configurations: every field counts, pairs without a meaning are refused, and where they come from."""

import dataclasses
import re

import numpy as np
import pytest

from frontend_testing import shoal
from shoal.moe import (
    Capacity, Clamp, Cosine, Dispatch, ExpertChoice, Experts, Groups, Hash, Layout, MoeConfig, OwnRouter, Residual, Room, Shared,
    Sinkhorn, TopK, init_params, moe, param_shapes, total_loss, update_expert_bias,
)
from shoal.moe.flat import _LAWS as LAWS
from shoal.moe.flat import FLAT, ROUTERS, flat_of
from shoal.moe.patterns import moe_layers
from shoal_testing import ROOT

E, H, M, S = 8, 4, 8, 32
X = np.zeros((2, S, M), np.float32)
PRE = {"moe_router_pre_softmax": True}
DROPS = {"moe_expert_capacity_factor": 1.0}
POSITION = {**DROPS, "moe_token_drop_policy": "position"}
GROUPS = {"moe_router_num_groups": 4, "moe_router_group_topk": 2}
GLU = {"gated_linear_unit": True, "hidden_act": "silu"}
SHARED = {"moe_shared_expert_intermediate_size": 4}



def by_number(tokens, params, config):
    """Token i goes to experts i and i + 1."""
    shape = (*tokens.shape[:2], 2)
    return (shoal.iota(shape, 1) + shoal.iota(shape, 2)) % config.num_experts, shoal.full(shape, 0.5)


# Of each field, what stands beside it and another value.
FIELDS = {
    "num_experts": ({}, 4),
    "moe_ffn_hidden_size": ({}, 6),
    "moe_router_topk": ({}, 3),
    "moe_layer_freq": ({}, 2),
    "router_type": ({"moe_router_load_balancing_type": ()}, "hash"),
    "moe_router_score_function": ({}, "sigmoid"),
    "moe_router_pre_softmax": ({}, True),
    "norm_topk_prob": (PRE, True),
    "moe_router_num_groups": ({**GROUPS, "group_best_of": 1}, 2),
    "moe_router_group_topk": ({**GROUPS, "group_best_of": 1}, 1),
    "group_best_of": (GROUPS, 2),
    "moe_router_topk_scaling_factor": ({}, 2.5),
    "moe_router_enable_expert_bias": ({}, True),
    "moe_router_bias_update_rate": ({"moe_router_enable_expert_bias": True}, 0.1),
    "add_router_bias": ({}, True),
    "moe_router_dtype": ({}, "fp64"),
    "moe_router_force_load_balancing": ({}, True),
    "moe_input_jitter_eps": ({}, 0.1),
    "gate_noise": ({}, 1.0),
    "noisy_gate_policy": ({"moe_router_topk": 1, **PRE}, "RSample"),
    "second_policy": ({}, "random"),
    "moe_router_load_balancing_type": ({"moe_aux_loss_coeff": 0.5}, ("seq_aux_loss",)),
    "moe_aux_loss_coeff": ({}, 0.5),
    "moe_z_loss_coeff": ({}, 0.5),
    "moe_expert_capacity_factor": ({}, 1.0),
    "capacity_rule": ({"moe_expert_capacity_factor": 1.1}, "tutel"),
    "min_capacity": ({**DROPS, "capacity_rule": "gshard"}, 30),
    "capacity_alignment": ({**DROPS, "capacity_rule": "tutel"}, 24),
    "moe_group_size": ({}, 16),
    "moe_token_drop_policy": (DROPS, "random"),
    "position_order": (POSITION, "token"),
    "batch_prioritized_routing": (POSITION, True),
    "renormalize_after_drop": (DROPS, True),
    "moe_pad_expert_input_to_capacity": ({"moe_router_topk": 8, **DROPS}, True),
    "a2a_ffn_overlap_degree": (DROPS, 2),
    "moe_expert_rank_capacity_factor": ({"moe_token_dispatcher_type": "alltoall"}, 1.5),
    "moe_token_dispatcher_type": (DROPS, "einsum"),
    "is_postscore": ({}, False),
    "hidden_act": ({}, "relu"),
    "gated_linear_unit": ({}, True),
    "swiglu_limit": (GLU, 7.0),
    "swiglu_alpha": ({**GLU, "swiglu_limit": 7.0}, 1.0),
    "add_bias_linear": ({}, True),
    "router": ({}, by_number),
    "router_shapes": ({"router": by_number}, lambda config, model: {}),
    "moe_shared_expert_intermediate_size": ({}, 4),
    "moe_shared_expert_gate": (SHARED, True),
    "use_residual": ({}, True),
}
LAYOUT = Layout.folded({"dp": 4}, {"ep": 4})


def program(config):
    """All that a configuration says, as text."""

    def layer(x, params, bias, key, ids):
        bias = bias if config.moe_router_enable_expert_bias else None
        out = moe(x, params, config, LAYOUT, bias=bias, key=key, token_ids=ids)
        stepped = () if bias is None else update_expert_bias(bias, out.metrics.counts, config)
        return out, total_loss(out.losses, config), stepped

    ids = np.zeros((2, S), np.int32)
    args = (X, init_params(config, M), np.zeros(config.num_experts, np.float32), np.zeros(2, np.int32), ids)
    text = shoal.trace(layer, args, LAYOUT.mesh)
    lines = [line.split(" loc(")[0] for line in text.splitlines() if not line.startswith("#loc")]
    return "\n".join([*lines, str(config.layers(4))])


@pytest.mark.parametrize("field", FLAT)
def test_every_field_counts(field):
    others, value = FIELDS[field]
    base = MoeConfig.flat(**{"num_experts": E, "moe_ffn_hidden_size": H, **others})
    assert base == MoeConfig.flat(**flat_of(base)) == base.replace(moe_router_topk=base.moe_router_topk)
    assert flat_of(base.replace(**{field: value}))[field] == value
    assert program(base) != program(base.replace(**{field: value}))


NO_LOSS = {"moe_router_load_balancing_type": ()}
SINKHORN = {"router_type": "sinkhorn", **NO_LOSS}
HASHED = {"router_type": "hash", **NO_LOSS}
CHOOSING = {"router_type": "expert_choice", **NO_LOSS, **DROPS}
ONE = {"moe_router_topk": 1, **PRE}
OWN = {"router": by_number}

# What each error says.
WRONG = [
    ({"moe_router_topk": 9}, "TopK: k=9: a token chooses each of 8 experts once (moe_router_topk=9)"),
    ({"moe_router_topk": 1}, "TopK: scores='softmax_of_chosen': the softmax of one choice is 1"),
    ({"moe_router_pre_softmax": True, "moe_router_score_function": "sigmoid"},
     "moe_router_pre_softmax=True with moe_router_score_function='sigmoid': there is no softmax"),
    ({"router_type": "expert_choice"}, "moe_expert_capacity_factor=None with router_type='expert_choice'"),
    ({"second_policy": "gumbel", "moe_router_topk": 3}, "sampling='second': not of k=3 choices (second_policy='gumbel')"),
    ({"noisy_gate_policy": "RSample"}, "sampling='first': not of k=2 choices (noisy_gate_policy='RSample')"),
    ({**ONE, "second_policy": "random"}, "sampling='later': not of k=1 choices (second_policy='random')"),
    ({"noisy_gate_policy": "RSample", "second_policy": "gumbel"}, "noisy_gate_policy='RSample' with second_policy='gumbel'"),
    ({"moe_router_num_groups": 2}, "Groups: chosen=None is not a positive integer"),
    ({"moe_router_group_topk": 2}, "moe_router_group_topk=2 with moe_router_num_groups=None: there is none"),
    ({"group_best_of": 2}, "group_best_of=2 with moe_router_num_groups=None"),
    ({"moe_router_num_groups": 3, "moe_router_group_topk": 1}, "Groups: number=3: groups of 8 experts are of one size"),
    ({"moe_router_num_groups": 8, "moe_router_group_topk": 1}, "Groups: chosen=1: 2 choices, and these have 1 experts"),
    ({"moe_router_num_groups": 2, "moe_router_group_topk": 3}, "Groups: chosen=3: more than the 2 groups that there are"),
    ({**GROUPS, "group_best_of": 3}, "Groups: best_of=3: a group's score is the sum of 3 of its 2 experts"),
    ({"moe_router_load_balancing_type": "importance"}, "TopK: gate_noise=0.0: the load of \"importance\" is of noise"),
    ({**ONE, "num_experts": 1, "gate_noise": 1.0, "moe_router_load_balancing_type": "importance"},
     "losses={'importance': 0.0}: one expert has no variance"),
    ({"moe_aux_loss_coeff": {"gshard": 0.1}}, "with moe_router_load_balancing_type=('aux_loss',)"),
    ({"moe_router_load_balancing_type": "aux"}, "='aux' is not one of ['aux_loss'"),
    ({"norm_topk_prob": False}, "normalize=False: the softmax of those chosen is of sum 1 (norm_topk_prob=False)"),
    ({"moe_expert_capacity_factor": -1.0}, "factor=-1.0: Tutel's rule alone has one below 0 (moe_expert_capacity_factor=-1.0)"),
    ({"capacity_alignment": 4, **DROPS}, "alignment=4: Tutel's rule alone has it (capacity_alignment=4)"),
    ({"min_capacity": 4, **DROPS}, "least=4: the rule \"megatron\" has no minimum (min_capacity=4)"),
    ({"batch_prioritized_routing": True, **DROPS}, "drops='probs': prioritized orders positions"),
    ({"position_order": "token", **DROPS}, "position_order='token' with moe_token_drop_policy='probs'"),
    ({"batch_prioritized_routing": True}, "batch_prioritized_routing=True with moe_expert_capacity_factor=None: there is none"),
    ({"renormalize_after_drop": True}, "renormalize_after_drop=True with moe_expert_capacity_factor=None"),
    ({"moe_pad_expert_input_to_capacity": True}, "with moe_expert_capacity_factor=None"),
    ({**CHOOSING, "renormalize_after_drop": True}, "renormalize_after_drop=True with router_type='expert_choice'"),
    ({**CHOOSING, "batch_prioritized_routing": True}, "batch_prioritized_routing=True with router_type='expert_choice'"),
    ({**CHOOSING, "moe_token_dispatcher_type": "einsum"}, "slots are the router's own"),
    ({**CHOOSING, "is_postscore": False}, "weights of experts that choose are behind them"),
    ({**CHOOSING, "moe_expert_capacity_factor": -1.0, "capacity_rule": "tutel"}, "each expert takes f k S / E tokens"),
    ({"moe_expert_rank_capacity_factor": 1.5, "moe_token_dispatcher_type": "sort"},
     "how='sort': only exchanged rows have a buffer of a device (moe_token_dispatcher_type='sort')"),
    ({"moe_expert_rank_capacity_factor": 1.5, **DROPS}, "buffers are those of experts"),
    ({"moe_expert_rank_capacity_factor": 0.0}, "moe_expert_rank_capacity_factor=0.0 is not a positive number"),
    ({"swiglu_limit": 7.0}, "gated=False: the clamp is of a gate"),
    ({"gated_linear_unit": True, "swiglu_limit": 7.0}, "act='gelu': the clamp is SwiGLU's"),
    ({"swiglu_alpha": 1.0}, "swiglu_alpha=1.0 with swiglu_limit=None"),
    ({"moe_shared_expert_gate": True}, "moe_shared_expert_gate=True with moe_shared_expert_intermediate_size=None"),
    ({"use_residual": True, **SHARED}, "use_residual=True with moe_shared_expert_intermediate_size=4"),
    ({**OWN, "router_type": "cosine"}, "it is in the place of TopK, not of Cosine"),
    ({"router_shapes": by_number}, "with router=None: there is none"),
    ({**OWN, "moe_router_force_load_balancing": True}, "it draws for itself, by its key, and reads no forced"),
    ({**OWN, "moe_input_jitter_eps": 0.1}, "reads no jitter"),
    ({**OWN, "gate_noise": 1.0}, "reads no gate_noise"),
    ({**OWN, "noisy_gate_policy": "RSample"}, "reads no sampling"),
    ({**OWN, "moe_router_enable_expert_bias": True}, "it has no parameter bias, which bias_rate is of"),
    ({"router_type": "topp"}, "router_type='topp' is not one of ['topk'"),
    ({"moe_group_size": 0}, "moe_group_size=0 is not a positive integer"),
    ({"moe_router_topl": 2}, "moe_router_topl is not a field; nearest is moe_router_topk"),
]  # fmt: skip


@pytest.mark.parametrize("fields, message", WRONG, ids=[message for _, message in WRONG])
def test_pairs_without_a_meaning(fields, message):
    with pytest.raises(shoal.TraceError) as error:
        config_of(fields)
    assert message in str(error.value)


def config_of(fields):
    return MoeConfig.flat(**{"num_experts": E, "moe_ffn_hidden_size": H, **fields})


# What a router of each class says: a value of each field that not all have.
OF_ROUTERS = {
    "moe_router_score_function": "sigmoid", "moe_router_pre_softmax": True, "norm_topk_prob": True,
    "moe_router_topk_scaling_factor": 2.0, "moe_router_enable_expert_bias": True, "add_router_bias": True,
    "moe_router_force_load_balancing": True, "moe_input_jitter_eps": 0.1, "gate_noise": 1.0, "second_policy": "random",
    "moe_aux_loss_coeff": 0.1, "moe_z_loss_coeff": 0.1, "moe_router_num_groups": 4,
}  # fmt: skip
HAVE_ALL_BUT = {
    "topk": set(), "cosine": {"add_router_bias"}, "hash": {*OF_ROUTERS},
    **dict.fromkeys(("sinkhorn", "expert_choice"), {*OF_ROUTERS} - {
        "add_router_bias", "moe_router_force_load_balancing", "moe_input_jitter_eps", "moe_z_loss_coeff"}),
}  # fmt: skip


@pytest.mark.parametrize("router", ROUTERS)
def test_a_router_has_what_it_reads(router):
    """Any other field is an error that says both names."""
    refused = set()
    for name, value in OF_ROUTERS.items():
        beside = {"moe_router_group_topk": 2} if name == "moe_router_num_groups" else {}
        try:
            made = config_of({"router_type": router, name: value, **DROPS, **beside})
            assert type(made.router) is ROUTERS[router] and getattr(made, name) == value
        except shoal.TraceError as error:
            assert str(error).startswith(f"MoeConfig: {name}={value!r} with router_type='{router}': ")
            refused.add(name)
    assert refused == HAVE_ALL_BUT[router]


# Parts, and the flat fields that say the same.
PARTS = [
    (MoeConfig(Experts(E, H)), {}),
    (MoeConfig(Experts(E, H, "silu", gated=True, clamp=Clamp(5.0), bias=True), beside=Shared(4, gated=True), group_size=16),
     {**GLU, "swiglu_limit": 5.0, "add_bias_linear": True, **SHARED, "moe_shared_expert_gate": True, "moe_group_size": 16}),
    (MoeConfig(Experts(E, H), TopK(4, scores="sigmoid", scaling=2.5, bias_rate=1e-3, groups=Groups(4, 2, 1), z_loss=0.1,
                                   losses={"seq_aux_loss": 0.1, "aux_loss": 0.2})),
     {"moe_router_topk": 4, "moe_router_score_function": "sigmoid", "moe_router_topk_scaling_factor": 2.5, **GROUPS,
      "group_best_of": 1, "moe_router_enable_expert_bias": True, "moe_z_loss_coeff": 0.1,
      "moe_router_load_balancing_type": ("seq_aux_loss", "aux_loss"),
      "moe_aux_loss_coeff": {"aux_loss": 0.2, "seq_aux_loss": 0.1}}),
    (MoeConfig(Experts(E, H), TopK(scores="softmax", sampling="later", gate_noise=1.0, jitter=0.1, forced=True, bias=True),
               capacity=Capacity(1.5, "gshard", least=4, drops="position of token", prioritized=True, renormalize=True),
               dispatch=Dispatch("sort", before=True), layer_freq=2),
     {**PRE, "second_policy": "random", "gate_noise": 1.0, "moe_input_jitter_eps": 0.1, "add_router_bias": True,
      "moe_router_force_load_balancing": True, "moe_expert_capacity_factor": 1.5, "capacity_rule": "gshard", "min_capacity": 4,
      "moe_token_drop_policy": "position", "position_order": "token", "batch_prioritized_routing": True,
      "renormalize_after_drop": True, "moe_token_dispatcher_type": "sort", "is_postscore": False, "moe_layer_freq": 2}),
    (MoeConfig(Experts(E, H), Cosine(1, scores="softmax", sampling="first"), beside=Residual()),
     {"router_type": "cosine", "moe_router_topk": 1, **PRE, "noisy_gate_policy": "RSample", "use_residual": True}),
    (MoeConfig(Experts(E, H), Sinkhorn(1, dtype="fp64")), {"router_type": "sinkhorn", "moe_router_topk": 1, "moe_router_dtype": "fp64"}),
    (MoeConfig(Experts(E, H), Hash(3)), {"router_type": "hash", "moe_router_topk": 3}),
    (MoeConfig(Experts(E, H), ExpertChoice(room=Room(2.0, "tutel", alignment=4))),
     {"router_type": "expert_choice", "moe_expert_capacity_factor": 2.0, "capacity_rule": "tutel", "capacity_alignment": 4}),
    (MoeConfig(Experts(E, H), TopK(losses={"aux_loss": 0.1}), OwnRouter(by_number), dispatch=Dispatch("alltoall", rank_factor=1.5)),
     {"router": by_number, "moe_aux_loss_coeff": 0.1, "moe_token_dispatcher_type": "alltoall", "moe_expert_rank_capacity_factor": 1.5}),
]  # fmt: skip


@pytest.mark.parametrize("parts, fields", PARTS, ids=[type(parts.router).__name__ for parts, _ in PARTS])
def test_flat_fields_are_parts(parts, fields):
    assert config_of(fields) == parts == MoeConfig.flat(**flat_of(parts))
    assert {name: flat_of(parts)[name] for name in fields} == fields
    assert parts.replace(group_size=8) == config_of({**fields, "moe_group_size": 8})


def test_parts_without_a_meaning_together():
    own = OwnRouter(by_number)
    for make, message in (
        (lambda: MoeConfig(Experts(E, H), ExpertChoice(), capacity=Capacity()), "as many as they have room for"),
        (lambda: MoeConfig(Experts(E, H), Sinkhorn(), own), "it is in the place of TopK, not of Sinkhorn"),
        (lambda: Room(0.0), "factor=0.0: to drop nothing is to have no capacity"),
        (lambda: TopK(losses={"aux": 0.1}), "TopK: losses={'aux': 0.1} is not coefficients, each a number"),
        (lambda: TopK(2.0), "TopK: k=2.0 is not a positive integer"),
        (lambda: Dispatch("ring"), "Dispatch: how='ring' is not one of"),
    ):
        with pytest.raises(shoal.TraceError, match=re.escape(message)):
            make()
    with pytest.raises(AttributeError, match="MoeConfig has no field moe_router_topl"):
        MoeConfig(Experts(E, H)).moe_router_topl


@pytest.mark.parametrize("field", LAWS)
def test_what_a_field_may_be(field):
    """A word that is not one of its own, no size below 1 nor between two, no number that is none."""
    wrong = [1j, "other", *([0, -1, 1.5, True] if "integer" in LAWS[field].what else [float("nan"), float("inf")])]
    for value in wrong:
        with pytest.raises(shoal.TraceError, match=re.escape(f"MoeConfig: {field}={value!r} is n")):
            config_of({field: value})


def test_numbers_that_are_too_small():
    for field, value in {"gate_noise": -1.0, "moe_input_jitter_eps": 1.0, "moe_router_topk_scaling_factor": 0.0,
                         "swiglu_limit": -1.0, "moe_router_bias_update_rate": -0.1}.items():  # fmt: skip
        with pytest.raises(shoal.TraceError, match=f"MoeConfig: {field}={value} is not {LAWS[field].what}"):
            config_of({field: value})


def test_coefficients_of_losses():
    """A list is a tuple; a layer that has none is named."""
    for given in ([0.1, 0.2], {"aux_loss": [0.1, 0.2]}):
        config = config_of({"moe_aux_loss_coeff": given, "moe_z_loss_coeff": [0.3, 0.4]})
        assert config.loss_coefficient("aux_loss", 1) == 0.2 and config.loss_coefficient("z_loss", 1) == 0.4
        with pytest.raises(shoal.TraceError, match='"aux_loss" has coefficients for 2 layers, none for layer 2'):
            config.loss_coefficient("aux_loss", 2)
    for wrong in ("0.1", None, (), (0.1, "x"), float("nan"), {"aux_loss": None}):
        with pytest.raises(shoal.TraceError, match="moe_aux_loss_coeff=.* is neither a number nor a tuple"):
            config_of({"moe_aux_loss_coeff": wrong})


def test_parameters_and_tokens_that_do_not_fit():
    """Each named with its sizes; those beside the configuration's are let be."""
    config = MoeConfig.flat(E, H, moe_shared_expert_intermediate_size=4)
    made, wider = init_params(config, M), init_params(config.replace(moe_ffn_hidden_size=5), M)
    cases = {
        'moe: parameter "router" is missing': ({name: made[name] for name in made if name != "router"}, X, {}),
        'moe: parameter "shared.wo" is missing': ({**made, "shared": {"wi": made["shared"]["wi"]}}, X, {}),
        r'moe: parameter "wi" \[8, 8, 5\]: expected \[8, 8, 4\]': (wider, X, {}),
        r"moe: mask \[2, 31\] of tokens \[2, 32\]": (made, X, {"mask": np.ones((2, S - 1), bool)}),
        r"route: tokens of int32; expected floating": (made, X.astype(np.int32), {}),
        'route: tokens of float64 with moe_router_dtype="fp32"; "fp64" takes them': (made, X.astype(np.float64), {}),
    }
    for message, (params, x, options) in cases.items():
        with pytest.raises(shoal.TraceError, match=message):
            shoal.trace(lambda x, p, options=options: moe(x, p, config, **options).y, (x, params))
    biased = MoeConfig.flat(E, H, moe_router_enable_expert_bias=True)
    with pytest.raises(shoal.TraceError, match=r"route: bias \[7\] with num_experts=8"):
        shoal.trace(lambda x, p: moe(x, p, biased, bias=np.zeros(7, np.float32)).y, (X, init_params(biased, M)))
    own = {"router": made["router"], "shared": made["shared"], "matrix": made["wi"]}
    shoal.trace(lambda x, p: moe(x, p, config, expert=lambda linear, rows, p, c: rows).y, (X, own))


def test_arguments_that_do_not_fit():
    config = MoeConfig.flat(E, H, moe_group_size=24)
    with pytest.raises(shoal.TraceError, match=r"64 tokens of \[2, 32, 8\] in groups of 24"):
        shoal.trace(lambda x, p: moe(x, p, config).y, (X, init_params(config, M)))
    hashed = MoeConfig.flat(E, H, router_type="hash", moe_router_load_balancing_type=())
    with pytest.raises(shoal.TraceError, match="needs token_ids"):
        shoal.trace(lambda x, p: moe(x, p, hashed).y, (X, init_params(hashed, M)))
    biased = MoeConfig.flat(E, H, moe_router_enable_expert_bias=True)
    with pytest.raises(shoal.TraceError, match="moe_router_enable_expert_bias=True and no bias"):
        shoal.trace(lambda x, p: moe(x, p, biased).y, (X, init_params(biased, M)))


@pytest.mark.parametrize("rule, factor, tokens, options, expected", [
    ("gshard", 1.0, 6, {}, 3), ("gshard", 1.0, 6, {"min_capacity": 4}, 4),
    ("megatron", 1.0, 6, {}, 3), ("megatron", 0.5, 6, {}, 2),
    ("tutel", 1.0, 6, {}, 4), ("tutel", 1.25, 6, {}, 4), ("tutel", -1.0, 6, {}, 4),
    ("tutel", 0.0, 6, {}, None), ("tutel", 1.0, 60, {"capacity_alignment": 8}, 32),
    ("gshard", 9.0, 6, {}, 6),
])  # fmt: skip
def test_capacities(rule, factor, tokens, options, expected):
    config = MoeConfig.flat(4, H, moe_expert_capacity_factor=factor, capacity_rule=rule, **options)
    assert config.rows(tokens) == expected


def test_deepspeed_counts_in_float32():
    fields = {"moe_expert_capacity_factor": 1.1}
    assert MoeConfig.flat(8, H, capacity_rule="gshard", **fields).rows(200) == 56  # 55.000000000000007
    assert MoeConfig.flat(8, H, capacity_rule="deepspeed", **fields).rows(200) == 55


def test_layers_that_have_experts():
    assert moe_layers(2, 4) == (True, False, True, False)
    assert moe_layers("([1]+[0]*2)*2", 6) == (True, False, False) * 2
    assert moe_layers((0, 1), 2) == (False, True)
    for text in ("__import__('os')", "[1]*10**9", "[1]*1000000", "[1", "2-1"):
        with pytest.raises(shoal.TraceError, match="is not of lists, integers"):
            moe_layers(text, 4)
    with pytest.raises(shoal.TraceError, match="expected 4 of 0 and 1, got 3"):
        moe_layers("[1]*3", 4)
    for freq in (1, "[1]*3", (1, 0)):
        with pytest.raises(shoal.TraceError, match=f"{2**62} layers; expected at most 100000"):
            moe_layers(freq, 2**62)


def test_presets():
    assert MoeConfig.gshard(E, H).second_policy == "random"
    assert MoeConfig.gshard(128, H).rows(1024) == 2 * 1024 // 128  # 2 N / (G E)
    assert MoeConfig.gshard(2048, H).rows(1024) == 4
    assert MoeConfig.switch(E, H).rows(64) == 10
    assert MoeConfig.deepspeed(E, H, 2).loss_coefficient("gshard") == 0.64
    assert MoeConfig.tutel(E, H, capacity_factor=0.0).rows(64) is None
    assert MoeConfig.gshard(E, H, hidden_act="gelu").hidden_act == "gelu"
    for k in (1, 2, 3):  # drop_tokens=False: weights of all chosen are divided by their sum
        whole = MoeConfig.deepspeed(E, H, k, moe_expert_capacity_factor=None)
        assert whole.rows(64) is None and whole.router.normalizes == (k > 1) and not whole.renormalize_after_drop
    per_layer = MoeConfig.flat(E, H, moe_aux_loss_coeff={"aux_loss": (0.1, 0.2)})
    assert per_layer.loss_coefficient("aux_loss", 1) == 0.2


# Of published models: experts, choices, and parameters of a layer of this model size.
PUBLISHED = {
    "mixtral-8x7b": (8, 2, 4096, 1_409_318_912),
    "qwen1.5-moe-a2.7b": (60, 4, 2048, 553_773_056),
    "qwen3-30b-a3b": (128, 8, 2048, 604_241_920),
    "olmoe-1b-7b": (64, 8, 2048, 402_784_256),
    "deepseek-v2": (160, 6, 5120, 3_822_878_720),
    "deepseek-v3": (256, 8, 7168, 11_320_164_352),
    "gpt-oss-20b": (32, 4, 2880, 796_631_072),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_models(name):
    config = MoeConfig.from_hf(name)
    experts, k, model, count = PUBLISHED[name]
    assert (config.num_experts, config.moe_router_topk) == (experts, k)
    assert sum(map(np.prod, leaves(param_shapes(config, model)))) == count


def leaves(tree):
    for value in tree.values():
        yield from leaves(value) if isinstance(value, dict) else [value]


def test_hugging_face_files():
    qwen = MoeConfig.from_hf({
        "model_type": "qwen2_moe", "num_experts": 4, "num_experts_per_tok": 2, "hidden_act": "silu",
        "moe_intermediate_size": 8, "shared_expert_intermediate_size": 16, "num_hidden_layers": 6,
        "decoder_sparse_step": 2, "mlp_only_layers": [3], "router_aux_loss_coef": 0.001,
    })  # fmt: skip
    assert qwen.layers(6) == (False, True, False, False, False, True)
    assert qwen.loss_coefficient("aux_loss") == 0.002
    assert MoeConfig.from_hf("deepseek-v3").layers(61).count(False) == 3
    with pytest.raises(shoal.UnsupportedError, match='model_type "mamba" is not one of'):
        MoeConfig.from_hf({"model_type": "mamba"})
    dense = {"model_type": "llama", "intermediate_size": 12, "num_hidden_layers": 3}
    assert MoeConfig.from_hf(dense).layers(3) == (False,) * 3
    with pytest.raises(shoal.UnsupportedError, match="num_hidden_layers is missing"):
        MoeConfig.from_hf({"model_type": "llama", "intermediate_size": 12})


DEEPSEEK = {
    "model_type": "deepseek_v3", "n_routed_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 8,
    "n_group": 1, "topk_group": 1,
}  # fmt: skip


def test_hugging_face_files_that_say_too_little_or_something_else():
    assert MoeConfig.from_hf({**DEEPSEEK, "scoring_func": "sigmoid", "topk_method": None}).group_best_of == 2
    for name in ("num_experts_per_tok", "moe_intermediate_size", "n_group", "topk_group"):
        for file in ({**DEEPSEEK, name: None}, {key: DEEPSEEK[key] for key in DEEPSEEK if key != name}):
            with pytest.raises(shoal.UnsupportedError, match=f"from_hf: {name} is missing"):
                MoeConfig.from_hf(file)
    with pytest.raises(shoal.UnsupportedError, match="from_hf: num_experts is missing"):
        MoeConfig.from_hf({**DEEPSEEK, "n_routed_experts": None})
    for name, value, only in (("scoring_func", "softmax", "sigmoid"), ("topk_method", "greedy", "noaux_tc"),
                              ("moe_layer_freq", 2, 1)):  # fmt: skip
        message = f"from_hf: {name} {value!r} of deepseek_v3; expected {only!r}"
        with pytest.raises(shoal.UnsupportedError, match=message):
            MoeConfig.from_hf({**DEEPSEEK, name: value})


ARGUMENTS = r"""
--num-experts 8 --moe-router-topk 2 --ffn-hidden-size 14336 --swiglu --disable-bias-linear \
--moe-router-load-balancing-type aux_loss seq_aux_loss --moe-aux-loss-coeff 1e-2 1e-3   # two
--moe-token-dispatcher-type alltoall --moe-expert-capacity-factor -1 --num-layers 32
--tensor-model-parallel-size 4 --pipeline-model-parallel-size 8 --expert-model-parallel-size 2
"""


def test_megatron_arguments():
    config = MoeConfig.from_megatron(ARGUMENTS)
    expected = MoeConfig.flat(
        8, 14336, gated_linear_unit=True, hidden_act="silu",
        moe_router_load_balancing_type=("aux_loss", "seq_aux_loss"),
        moe_aux_loss_coeff={"aux_loss": 0.01, "seq_aux_loss": 0.001},
        moe_token_dispatcher_type="alltoall",
    )  # fmt: skip
    assert config == expected
    layout = Layout.from_megatron(ARGUMENTS, 128)
    assert (layout.size("ep"), layout.size("etp"), layout.size("edp"), layout.size("dp")) == (2, 4, 2, 4)
    bounded = MoeConfig.from_megatron(ARGUMENTS + "--moe-expert-rank-capacity-factor 1.5")
    assert bounded == expected.replace(moe_expert_rank_capacity_factor=1.5)
    with pytest.warns(UserWarning, match="--moe-grouped-gemm has no effect"):
        MoeConfig.from_megatron(ARGUMENTS + "--moe-grouped-gemm")
    with pytest.raises(shoal.UnsupportedError, match="--moe-router-topl is not known; nearest is --moe-router-topk"):
        MoeConfig.from_megatron(ARGUMENTS + "--moe-router-topl 2")
    with pytest.raises(shoal.TraceError, match="tp 4 x cp 1 x pp 8 = 32 does not divide 48 devices"):
        Layout.from_megatron(ARGUMENTS, 48)
    with pytest.raises(shoal.TraceError, match="--ffn-hidden-size is missing"):
        MoeConfig.from_megatron("--num-experts 8")
    hidden = {text: MoeConfig.from_megatron(f"--num-experts 8 --hidden-size 768 {text}") for text in ("", "--swiglu")}
    assert [config.moe_ffn_hidden_size for config in hidden.values()] == [3072, 2048]  # Megatron-Core's own


@pytest.mark.parametrize("words, message", [
    ("--num-experts eight", "--num-experts eight: expected an integer"),
    ("--moe-router-topk 2.5", "--moe-router-topk 2.5: expected an integer"),
    ("--moe-expert-capacity-factor much", "--moe-expert-capacity-factor much: expected a number"),
    ("--moe-aux-loss-coeff 1e-2x", "--moe-aux-loss-coeff 1e-2x: expected a number"),
    ("--moe-router-pre-softmax True", "--moe-router-pre-softmax takes no value, got ['True']"),
    ("--moe-layer-freq [0]*1 + [1]", "--moe-layer-freq takes one value"),
    ("--data-path 'unclosed", "no closing quotation"),
    ("--squared-relu", "--squared-relu: there is no such activation"),
    ("--quick-geglu", "--quick-geglu: there is no such activation"),
    ("--moe-extended-tp", "--moe-extended-tp: give --expert-tensor-parallel-size"),
])  # fmt: skip
def test_megatron_arguments_that_say_nothing(words, message):
    with pytest.raises((shoal.TraceError, shoal.UnsupportedError), match=re.escape(message)):
        MoeConfig.from_megatron(f"{ARGUMENTS} {words}")
    with pytest.raises(shoal.TraceError, match="--num-experts is missing"):
        MoeConfig.from_megatron("--ffn-hidden-size 64")


def test_layouts_of_megatron_arguments_that_say_nothing():
    with pytest.raises(shoal.TraceError, match="--context-parallel-size two: expected an integer"):
        Layout.from_megatron("--context-parallel-size two", 8)
    with pytest.raises(shoal.TraceError, match="0 devices; expected at least 1"):
        Layout.from_megatron("", 0)
    for wrong in ({"tp": 0}, {"tp": 2.0}, {"tp": "2"}, {"tp": True}):
        with pytest.raises(shoal.TraceError, match=f'fold: role "tp": size {wrong["tp"]!r} is not a positive integer'):
            Layout.folded({**wrong, "dp": 4})
    with pytest.raises(shoal.TraceError, match="expected at least one factorisation"):
        Layout.folded()
    with pytest.raises(shoal.TraceError, match="role \"ep\": expected a tuple of axes, got 'x'"):
        Layout(shoal.Mesh(x=4), {"ep": "x"})
    for experts, r, message in ((0, 1, "0 experts do not divide 8 devices"), (2, 1.0, "r = 1.0 is neither 0 nor")):
        with pytest.raises(shoal.TraceError, match=message):
            Layout.tutel(experts, 8, r)
    with pytest.raises(shoal.TraceError, match="microbatches='2' is not a positive integer"):
        Layout().scheduled("2")


def test_the_example_of_the_page():
    """It is traced, gradient, losses and layout."""
    page = (ROOT / "docs/guide/MoE.md").read_text()
    names = {}
    exec(page.split("```python\n")[1].split("```")[0], names)
    params = init_params(names["config"], 16)
    value, grads = names["step"].eval_shape(params, np.zeros((8, 512, 16), np.float32))
    assert value.shape == () and {k: v.shape for k, v in grads.items()} == {k: v.shape for k, v in params.items()}
