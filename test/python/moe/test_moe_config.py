# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Configurations: every field counts, pairs without a meaning are refused, and where they come from."""

import dataclasses
import re

import numpy as np
import pytest

from frontend_testing import shoal
from shoal.moe import Layout, MoeConfig, init_params, moe, param_shapes, total_loss, update_expert_bias
from shoal.moe.checking import CHOICES, NUMBERS, OPTIONAL, POSITIVE, pairs_of
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
    "moe_router_bias_update_rate": ({}, 0.1),
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
        stepped = update_expert_bias(np.zeros(config.num_experts, np.float32), out.metrics.counts, config)
        return out, total_loss(out.losses, config), stepped

    ids = np.zeros((2, S), np.int32)
    args = (X, init_params(config, M), np.zeros(config.num_experts, np.float32), np.zeros(2, np.int32), ids)
    text = shoal.trace(layer, args, LAYOUT.mesh)
    lines = [line.split(" loc(")[0] for line in text.splitlines() if not line.startswith("#loc")]
    return "\n".join([*lines, str(config.layers(4))])


@pytest.mark.parametrize("field", [field.name for field in dataclasses.fields(MoeConfig)])
def test_every_field_counts(field):
    others, value = FIELDS[field]
    base = MoeConfig(**{"num_experts": E, "moe_ffn_hidden_size": H, **others})
    assert program(base) == program(base.replace())
    assert program(base) != program(base.replace(**{field: value}))


NO_LOSS = {"moe_router_load_balancing_type": ()}
SINKHORN = {"router_type": "sinkhorn", **NO_LOSS}
HASHED = {"router_type": "hash", **NO_LOSS}
CHOOSING = {"router_type": "expert_choice", **NO_LOSS, **DROPS}
ONE = {"moe_router_topk": 1, **PRE}
OWN = {"router": by_number}

# The fields that each error names, the first where one is wrong alone.
WRONG = [
    ({"moe_router_topk": 9}, "moe_router_topk=9 with num_experts=8"),
    ({"moe_router_topk": 1}, "moe_router_topk=1 with moe_router_pre_softmax=False"),
    ({"moe_router_pre_softmax": True, "moe_router_score_function": "sigmoid"}, "with moe_router_score_function"),
    ({"router_type": "sinkhorn"}, "moe_router_load_balancing_type=('aux_loss',) with router_type='sinkhorn'"),
    ({"router_type": "hash"}, "with router_type='hash'"),
    ({"router_type": "expert_choice", "moe_router_load_balancing_type": ()},
     "moe_expert_capacity_factor=None with router_type='expert_choice'"),
    ({"router_type": "sinkhorn", "moe_router_load_balancing_type": (), "moe_router_num_groups": 2,
      "moe_router_group_topk": 1}, "moe_router_num_groups=2 with router_type='sinkhorn'"),
    ({"second_policy": "gumbel", "moe_router_topk": 3}, "second_policy='gumbel' with moe_router_topk=3"),
    ({"noisy_gate_policy": "RSample"}, "noisy_gate_policy='RSample' with moe_router_topk=2"),
    ({"moe_router_num_groups": 2}, "moe_router_num_groups=2 with moe_router_group_topk=None"),
    ({"moe_router_num_groups": 3, "moe_router_group_topk": 1}, "moe_router_num_groups=3 with num_experts=8"),
    ({"moe_router_num_groups": 8, "moe_router_group_topk": 1}, "moe_router_topk=2 with moe_router_group_topk=1"),
    ({"group_best_of": 2}, "group_best_of=2 with moe_router_num_groups=None"),
    ({"moe_router_load_balancing_type": "importance"}, "with gate_noise=0.0"),
    ({"moe_expert_capacity_factor": -1.0}, "moe_expert_capacity_factor=-1.0 with capacity_rule='megatron'"),
    ({"capacity_alignment": 4}, "capacity_alignment=4 with capacity_rule='megatron'"),
    ({"min_capacity": 4}, "min_capacity=4 with capacity_rule='megatron'"),
    ({"batch_prioritized_routing": True, **DROPS}, "with moe_token_drop_policy='probs'"),
    ({"renormalize_after_drop": True}, "with moe_expert_capacity_factor=None"),
    ({"moe_pad_expert_input_to_capacity": True}, "with moe_expert_capacity_factor=None"),
    ({"swiglu_limit": 7.0}, "swiglu_limit=7.0 with gated_linear_unit=False"),
    ({"moe_shared_expert_gate": True}, "with moe_shared_expert_intermediate_size=None"),
    ({"use_residual": True, **SHARED}, "use_residual=True with moe_shared_expert_intermediate_size=4"),
    ({"moe_expert_rank_capacity_factor": 1.5, "moe_token_dispatcher_type": "sort"},
     "=1.5 with moe_token_dispatcher_type='sort'"),
    ({"moe_expert_rank_capacity_factor": 1.5, "moe_token_dispatcher_type": "alltoall", **DROPS},
     "moe_expert_rank_capacity_factor=1.5 with moe_expert_capacity_factor=1.0"),
    ({"moe_expert_rank_capacity_factor": 0.0}, "moe_expert_rank_capacity_factor=0.0 is not a positive number"),
    ({"norm_topk_prob": False}, "norm_topk_prob=False with moe_router_pre_softmax=False"),
    ({**SINKHORN, "moe_router_score_function": "sigmoid"}, "moe_router_score_function='sigmoid' with router_type"),
    ({**SINKHORN, "moe_router_pre_softmax": True}, "moe_router_pre_softmax=True with router_type='sinkhorn'"),
    ({**SINKHORN, "moe_router_enable_expert_bias": True}, "moe_router_enable_expert_bias=True with router_type"),
    ({**SINKHORN, "norm_topk_prob": True}, "norm_topk_prob=True with router_type='sinkhorn'"),
    ({**SINKHORN, "moe_router_topk_scaling_factor": 2.0}, "moe_router_topk_scaling_factor=2.0 with router_type"),
    ({**SINKHORN, "noisy_gate_policy": "RSample"}, "noisy_gate_policy='RSample' with router_type='sinkhorn'"),
    ({**SINKHORN, "gate_noise": 1.0}, "gate_noise=1.0 with router_type='sinkhorn'"),
    ({**SINKHORN, "second_policy": "random"}, "second_policy='random' with router_type='sinkhorn'"),
    ({**HASHED, "add_router_bias": True}, "add_router_bias=True with router_type='hash'"),
    ({"router_type": "cosine", "add_router_bias": True}, "add_router_bias=True with router_type='cosine'"),
    ({**HASHED, "moe_input_jitter_eps": 0.1}, "moe_input_jitter_eps=0.1 with router_type='hash'"),
    ({**HASHED, "moe_router_force_load_balancing": True}, "force_load_balancing=True with router_type='hash'"),
    ({**HASHED, "moe_z_loss_coeff": 0.1}, "moe_z_loss_coeff=0.1 with router_type='hash'"),
    ({**ONE, "second_policy": "random"}, "second_policy='random' with moe_router_topk=1"),
    ({"moe_router_num_groups": 2, "moe_router_group_topk": 3}, "moe_router_group_topk=3 with moe_router_num_groups=2"),
    ({**GROUPS, "group_best_of": 3}, "group_best_of=3 with moe_router_num_groups=4"),
    ({**ONE, "num_experts": 1, "gate_noise": 1.0, "moe_router_load_balancing_type": "importance"},
     "moe_router_load_balancing_type=('importance',) with num_experts=1"),
    ({"moe_aux_loss_coeff": {"gshard": 0.1}}, "with moe_router_load_balancing_type=('aux_loss',)"),
    ({"position_order": "token", **DROPS}, "position_order='token' with moe_token_drop_policy='probs'"),
    ({"batch_prioritized_routing": True, "moe_token_drop_policy": "position"},
     "batch_prioritized_routing=True with moe_expert_capacity_factor=None"),
    ({**CHOOSING, "renormalize_after_drop": True}, "renormalize_after_drop=True with router_type='expert_choice'"),
    ({**CHOOSING, "batch_prioritized_routing": True, "moe_token_drop_policy": "position"},
     "batch_prioritized_routing=True with router_type='expert_choice'"),
    ({**CHOOSING, "moe_token_dispatcher_type": "einsum"}, "moe_token_dispatcher_type='einsum' with router_type"),
    ({**CHOOSING, "is_postscore": False}, "is_postscore=False with router_type='expert_choice'"),
    ({"gated_linear_unit": True, "swiglu_limit": 7.0}, "swiglu_limit=7.0 with hidden_act='gelu'"),
    ({"swiglu_alpha": 1.0}, "swiglu_alpha=1.0 with swiglu_limit=None"),
    ({**OWN, "router_type": "cosine"}, "router_type='cosine' with router=<function by_number"),
    ({"router_shapes": by_number}, "with router=None: there is no such function"),
    ({**OWN, "moe_router_force_load_balancing": True}, "moe_router_force_load_balancing=True with router=<function"),
    ({**OWN, "moe_input_jitter_eps": 0.1}, "moe_input_jitter_eps=0.1 with router=<function"),
    ({**OWN, "gate_noise": 1.0}, "gate_noise=1.0 with router=<function"),
    ({**OWN, "noisy_gate_policy": "RSample"}, "noisy_gate_policy='RSample' with router=<function"),
    ({**OWN, "second_policy": "random"}, "second_policy='random' with router=<function"),
    ({**OWN, "moe_router_enable_expert_bias": True}, "True with router=<function"),
    ({"router_type": "topp"}, "router_type='topp' is not one of ['topk'"),
    ({"moe_group_size": 0}, "moe_group_size=0 is not a positive integer"),
    ({"moe_router_load_balancing_type": "aux"}, "='aux' is not one of ['aux_loss'"),
]  # fmt: skip


@pytest.mark.parametrize("fields, message", WRONG, ids=[message for _, message in WRONG])
def test_pairs_without_a_meaning(fields, message):
    with pytest.raises(shoal.TraceError) as error:
        config_of(fields)
    assert message in str(error.value)


def config_of(fields):
    return MoeConfig(**{"num_experts": E, "moe_ffn_hidden_size": H, **fields})


def named(message):
    """The two fields of an error and the reason, whatever numbers there are in it."""
    first, second, why = re.fullmatch(r"MoeConfig: (\w+)=.* with (\w+)=.*?: (.*)", message).groups()
    return first, second, re.sub(r"\d+", "#", why)


def test_every_pair_is_in_the_list():
    """What is refused is each refused above, and by no other pair's name."""
    found = set()
    for fields, _ in WRONG:
        with pytest.raises(shoal.TraceError) as error:
            config_of(fields)
        found |= {named(str(error.value))} if " with " in str(error.value) else set()
    known = {(a, b, re.sub(r"\d+", "#", why)) for a, b, _, why in pairs_of(config_of(GROUPS))}
    assert found == known, (known - found, found - known)


@pytest.mark.parametrize("field", [*CHOICES, *POSITIVE])
def test_what_a_field_may_be(field):
    """A word that is not one of its own, and no size below 1 nor between two."""
    for value in ("other",) if field in CHOICES else (0, -1, 1.5, True):
        with pytest.raises(shoal.TraceError, match=f"MoeConfig: {field}={value!r} is not"):
            config_of({field: value})


@pytest.mark.parametrize("field", NUMBERS)
def test_what_a_number_may_be(field):
    for value in (float("nan"), float("inf"), "1.0", True, *(() if field in OPTIONAL else (None,))):
        with pytest.raises(shoal.TraceError, match=f"MoeConfig: {field}={value!r} is not {NUMBERS[field][1]}"):
            config_of({field: value})


def test_numbers_that_are_too_small():
    for field, value in {"gate_noise": -1.0, "moe_input_jitter_eps": 1.0, "moe_router_topk_scaling_factor": 0.0,
                         "swiglu_limit": -1.0, "moe_router_bias_update_rate": -0.1}.items():  # fmt: skip
        with pytest.raises(shoal.TraceError, match=f"MoeConfig: {field}={value} is not {NUMBERS[field][1]}"):
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
    config = MoeConfig(E, H, moe_shared_expert_intermediate_size=4)
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
    biased = MoeConfig(E, H, moe_router_enable_expert_bias=True)
    with pytest.raises(shoal.TraceError, match=r"route: bias \[7\] with num_experts=8"):
        shoal.trace(lambda x, p: moe(x, p, biased, bias=np.zeros(7, np.float32)).y, (X, init_params(biased, M)))
    own = {"router": made["router"], "shared": made["shared"], "matrix": made["wi"]}
    shoal.trace(lambda x, p: moe(x, p, config, expert=lambda linear, rows, p, c: rows).y, (X, own))


def test_arguments_that_do_not_fit():
    config = MoeConfig(E, H, moe_group_size=24)
    with pytest.raises(shoal.TraceError, match=r"64 tokens of \[2, 32, 8\] in groups of 24"):
        shoal.trace(lambda x, p: moe(x, p, config).y, (X, init_params(config, M)))
    hashed = MoeConfig(E, H, router_type="hash", moe_router_load_balancing_type=())
    with pytest.raises(shoal.TraceError, match="needs token_ids"):
        shoal.trace(lambda x, p: moe(x, p, hashed).y, (X, init_params(hashed, M)))
    biased = MoeConfig(E, H, moe_router_enable_expert_bias=True)
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
    config = MoeConfig(4, H, moe_expert_capacity_factor=factor, capacity_rule=rule, **options)
    assert config.capacity(tokens) == expected


def test_deepspeed_counts_in_float32():
    fields = {"moe_expert_capacity_factor": 1.1}
    assert MoeConfig(8, H, capacity_rule="gshard", **fields).capacity(200) == 56  # 55.000000000000007
    assert MoeConfig(8, H, capacity_rule="deepspeed", **fields).capacity(200) == 55


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
    assert MoeConfig.switch(E, H).capacity(64) == 10
    assert MoeConfig.deepspeed(E, H, 2).loss_coefficient("gshard") == 0.64
    assert MoeConfig.tutel(E, H, capacity_factor=0.0).capacity(64) is None
    assert MoeConfig.gshard(E, H, hidden_act="gelu").hidden_act == "gelu"
    for k in (1, 2, 3):  # drop_tokens=False: weights of all chosen are divided by their sum
        whole = MoeConfig.deepspeed(E, H, k, moe_expert_capacity_factor=None)
        assert whole.capacity(64) is None and whole.normalizes() == (k > 1) and not whole.renormalize_after_drop
    per_layer = MoeConfig(E, H, moe_aux_loss_coeff={"aux_loss": (0.1, 0.2)})
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
    expected = MoeConfig(
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
    with pytest.raises(shoal.TraceError, match="microbatches '2' is not a positive integer"):
        Layout().scheduled("2")


def test_the_example_of_the_page():
    """It is traced, gradient, losses and layout."""
    page = (ROOT / "docs/guide/MoE.md").read_text()
    names = {}
    exec(page.split("```python\n")[1].split("```")[0], names)
    params = init_params(names["config"], 16)
    value, grads = names["step"].eval_shape(params, np.zeros((8, 512, 16), np.float32))
    assert value.shape == () and {k: v.shape for k, v in grads.items()} == {k: v.shape for k, v in params.items()}
