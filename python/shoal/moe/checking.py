# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which fields of a `MoeConfig` have no meaning, alone or together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import inf
from numbers import Integral, Real
from typing import Any

from shoal.errors import TraceError
from shoal.moe.own_router import takes

# (field, other field, whether they have no meaning together, why)
Pairs = Iterator[tuple[str, str, Any, str]]

# What a field that names something may name.
CHOICES = {
    "router_type": ("topk", "sinkhorn", "expert_choice", "hash", "cosine"),
    "moe_router_score_function": ("softmax", "sigmoid", "sqrtsoftplus"),
    "moe_router_dtype": ("fp32", "fp64", "model"),
    "noisy_gate_policy": (None, "RSample"),
    "second_policy": ("all", "random", "gumbel"),
    "capacity_rule": ("megatron", "gshard", "deepspeed", "tutel"),
    "moe_token_drop_policy": ("probs", "position", "random"),
    "position_order": ("choice", "token"),
    "moe_token_dispatcher_type": ("auto", "einsum", "sort", "allgather", "alltoall"),
    "hidden_act": ("gelu", "gelu_tanh", "relu", "silu"),
}
LOSSES = ("aux_loss", "seq_aux_loss", "global_aux_loss", "gshard", "importance")

# Sizes that are at least 1 where they are given.
POSITIVE = (
    "num_experts", "moe_ffn_hidden_size", "moe_router_topk", "moe_router_num_groups",
    "moe_router_group_topk", "group_best_of", "min_capacity", "capacity_alignment",
    "moe_group_size", "moe_shared_expert_intermediate_size",
)  # fmt: skip

# Numbers, where they are given: of what, and what a text says of it. NaN is in none.
NUMBERS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "moe_router_topk_scaling_factor": (lambda x: 0 < x < inf, "a positive number"),
    "moe_router_bias_update_rate": (lambda x: 0 <= x < inf, "a number of at least 0"),
    "moe_input_jitter_eps": (lambda x: 0 <= x < 1, "a number from 0 to 1"),
    "gate_noise": (lambda x: 0 <= x < inf, "a number of at least 0"),
    "moe_expert_capacity_factor": (lambda x: -inf < x < inf, "a number"),
    "moe_expert_rank_capacity_factor": (lambda x: 0 < x < inf, "a positive number"),
    "swiglu_limit": (lambda x: 0 < x < inf, "a positive number"),
    "swiglu_alpha": (lambda x: -inf < x < inf, "a number"),
}
OPTIONAL = ("moe_router_topk_scaling_factor", "moe_input_jitter_eps", "moe_expert_capacity_factor",
            "moe_expert_rank_capacity_factor", "swiglu_limit")  # fmt: skip


def is_number(value: Any) -> bool:
    """A real number, and no boolean."""
    return isinstance(value, Real) and not isinstance(value, bool)


def check_config(config: Any) -> None:
    """TraceError for a field or a pair of fields without a meaning."""
    _check_fields(config)
    for first, second, is_wrong, why in pairs_of(config):
        if is_wrong:
            values = (f"{name}={getattr(config, name)!r}" for name in (first, second))
            raise TraceError(f"MoeConfig: {' with '.join(values)}: {why}")


def _check_fields(config: Any) -> None:
    for name, (holds, what) in NUMBERS.items():
        value = getattr(config, name)
        if not (value is None and name in OPTIONAL) and not (is_number(value) and holds(value)):
            raise TraceError(f"MoeConfig: {name}={value!r} is not {what}")
    for name, allowed in CHOICES.items():
        value = getattr(config, name)
        if value not in allowed:
            raise TraceError(f"MoeConfig: {name}={value!r} is not one of {list(allowed)}")
    for name in POSITIVE:
        value = getattr(config, name)
        if value is not None and (isinstance(value, bool) or not isinstance(value, Integral) or value < 1):
            raise TraceError(f"MoeConfig: {name}={value!r} is not a positive integer")
    for name in config.moe_router_load_balancing_type:
        if name not in LOSSES:
            raise TraceError(
                f"MoeConfig: moe_router_load_balancing_type={name!r} is not one of {list(LOSSES)}"
            )
    for name in ("moe_aux_loss_coeff", "moe_z_loss_coeff"):
        _check_coefficient(name, getattr(config, name))


def _own_pairs(c: Any) -> Pairs:
    """Of a router of the user's own what it does not read."""
    own = c.router is not None
    yield "router_type", "router", own and c.router_type != "topk", "the function is in its place"
    yield "router_shapes", "router", c.router_shapes is not None and not own, "there is no such function"
    for name in ("moe_router_force_load_balancing", "moe_input_jitter_eps", "gate_noise", "noisy_gate_policy"):
        yield name, "router", own and bool(getattr(c, name)), "the function draws for itself, by its key"
    yield "second_policy", "router", own and c.second_policy != "all", "the function chooses"
    name, reads = "moe_router_enable_expert_bias", takes(c.router, "bias")
    yield name, "router", own and getattr(c, name) and not reads, "the function has no parameter bias"


def _check_coefficient(name: str, value: Any) -> None:
    """A number, or one for each layer; of `moe_aux_loss_coeff` also {loss: either}."""
    if value is None and name == "moe_z_loss_coeff":
        return
    of_losses = list(value.values()) if isinstance(value, Mapping) and name == "moe_aux_loss_coeff" else [value]
    for given in of_losses:
        listed = given if isinstance(given, tuple) and given else (given,)
        if not all(is_number(number) and -inf < number < inf for number in listed):
            raise TraceError(f"MoeConfig: {name}={value!r} is neither a number nor a tuple of one for each layer")


def pairs_of(config: Any) -> Pairs:
    """All pairs that have no meaning for some values, in the order in which they are looked at."""
    yield from _own_pairs(config)
    if config.router is None:
        yield from _router_pairs(config)
        yield from _noise_pairs(config)
        yield from _group_pairs(config)
    yield from _balance_pairs(config)
    yield from _capacity_pairs(config)
    yield from _expert_pairs(config)


def _router_pairs(c: Any) -> Pairs:
    k, experts, kind = c.moe_router_topk, c.num_experts, c.router_type
    learns = kind in ("topk", "cosine")
    is_softmax = c.moe_router_score_function == "softmax"
    is_late = is_softmax and not c.moe_router_pre_softmax
    yield "moe_router_topk", "num_experts", k > experts, "a token chooses each expert once"
    yield (
        "moe_router_topk", "moe_router_pre_softmax",
        k == 1 and is_late and learns and c.norm_topk_prob is not True and c.noisy_gate_policy is None,
        "the softmax of one choice is 1, and no gradient reaches the router; "
        "norm_topk_prob=True asks for that",
    )  # fmt: skip
    yield (
        "norm_topk_prob", "moe_router_pre_softmax",
        is_late and learns and c.norm_topk_prob is False and c.noisy_gate_policy is None
        and c.second_policy != "gumbel", "the softmax of those chosen is of sum 1",
    )  # fmt: skip
    yield (
        "moe_router_pre_softmax", "moe_router_score_function",
        c.moe_router_pre_softmax and not is_softmax, "there is no softmax",
    )  # fmt: skip
    yield (
        "moe_router_score_function", "router_type", not is_softmax and not learns,
        "this router has scores of its own",
    )  # fmt: skip
    for name in ("moe_router_pre_softmax", "moe_router_enable_expert_bias", "moe_router_num_groups",
                 "norm_topk_prob", "moe_router_topk_scaling_factor", "noisy_gate_policy", "gate_noise"):  # fmt: skip
        yield name, "router_type", bool(getattr(c, name)) and not learns, "this router does not read it"
    for name in ("add_router_bias", "moe_input_jitter_eps", "moe_router_force_load_balancing"):
        has_none = kind == "hash" or (kind == "cosine" and name == "add_router_bias")
        yield name, "router_type", bool(getattr(c, name)) and has_none, "this router has no such logits"


def _noise_pairs(c: Any) -> Pairs:
    k, learns = c.moe_router_topk, c.router_type in ("topk", "cosine")
    yield "second_policy", "router_type", c.second_policy != "all" and not learns, "top-k alone"
    yield (
        "second_policy", "moe_router_topk", c.second_policy == "gumbel" and k != 2,
        "it chooses a second expert",
    )  # fmt: skip
    yield "second_policy", "moe_router_topk", c.second_policy == "random" and k < 2, "no second"
    yield (
        "noisy_gate_policy", "moe_router_topk", c.noisy_gate_policy is not None and k != 1,
        "it samples one expert",
    )  # fmt: skip


def _group_pairs(c: Any) -> Pairs:
    groups, chosen, k = c.moe_router_num_groups, c.moe_router_group_topk, c.moe_router_topk
    names = ("moe_router_num_groups", "moe_router_group_topk")
    yield *names, (groups is None) != (chosen is None), "both or none"
    yield "group_best_of", names[0], c.group_best_of is not None and groups is None, "no groups"
    if groups is None or chosen is None:
        return
    size = c.num_experts // groups
    best = c.group_best_of or k // chosen
    yield names[0], "num_experts", c.num_experts % groups, "groups are of one size"
    yield names[1], names[0], chosen > groups, "more groups than there are"
    yield "moe_router_topk", names[1], k > chosen * size, f"{chosen} groups have {chosen * size} experts"
    yield (
        "group_best_of", names[0], not 1 <= best <= size,
        f"a group's score is the sum of {best} of its {size} experts",
    )  # fmt: skip


def _balance_pairs(c: Any) -> Pairs:
    kinds, name = c.moe_router_load_balancing_type, "moe_router_load_balancing_type"
    yield name, "router_type", kinds and c.router_type == "sinkhorn", "sinkhorn balances by itself"
    yield (
        name, "router_type", kinds and c.router_type in ("hash", "expert_choice"),
        "the router has a balance of its own",
    )  # fmt: skip
    yield name, "gate_noise", "importance" in kinds and not c.gate_noise > 0, "the load is of noise"
    yield name, "num_experts", "importance" in kinds and c.num_experts < 2, "one expert has no variance"
    rates = c.moe_aux_loss_coeff
    others = isinstance(rates, Mapping) and not set(rates) <= set(kinds)
    yield "moe_aux_loss_coeff", name, others, "a coefficient of a loss that is not among them"
    yield (
        "moe_z_loss_coeff", "router_type", c.moe_z_loss_coeff and c.router_type == "hash",
        "there are no logits",
    )  # fmt: skip


def _capacity_pairs(c: Any) -> Pairs:
    factor, rule, policy = c.moe_expert_capacity_factor, c.capacity_rule, c.moe_token_drop_policy
    name = "moe_expert_capacity_factor"
    drops = factor is not None and factor != 0
    chooses = c.router_type == "expert_choice"
    yield name, "router_type", chooses and not (factor or 0) > 0, "each expert takes f k S / E tokens"
    yield name, "capacity_rule", factor is not None and factor < 0 and rule != "tutel", "Tutel's alone"
    yield "capacity_alignment", "capacity_rule", c.capacity_alignment > 1 and rule != "tutel", "Tutel's alone"
    yield "min_capacity", "capacity_rule", c.min_capacity > 1 and rule in ("megatron", "tutel"), "no minimum"
    yield (
        "batch_prioritized_routing", "moe_token_drop_policy",
        c.batch_prioritized_routing and policy != "position", "it orders positions",
    )  # fmt: skip
    yield (
        "position_order", "moe_token_drop_policy",
        c.position_order == "token" and policy != "position", "it orders positions",
    )  # fmt: skip
    for field in ("batch_prioritized_routing", "renormalize_after_drop", "moe_pad_expert_input_to_capacity"):
        yield field, name, getattr(c, field) and not drops, "nothing is dropped"
    for field in ("batch_prioritized_routing", "renormalize_after_drop"):
        yield field, "router_type", getattr(c, field) and chooses, "experts choose"
    kind, rank = c.moe_token_dispatcher_type, "moe_expert_rank_capacity_factor"
    of_ranks = c.moe_expert_rank_capacity_factor
    yield (
        rank, "moe_token_dispatcher_type", of_ranks is not None and kind not in ("auto", "alltoall"),
        "only exchanged rows have a buffer of a device",
    )  # fmt: skip
    yield rank, name, of_ranks is not None and drops, "buffers are those of experts"
    yield (
        "moe_token_dispatcher_type", "router_type", chooses and kind in ("einsum", "allgather"),
        "slots are the router's own; \"sort\" takes them",
    )  # fmt: skip


def _expert_pairs(c: Any) -> Pairs:
    yield "swiglu_limit", "gated_linear_unit", c.swiglu_limit is not None and not c.gated_linear_unit, "no gate"
    yield "swiglu_alpha", "swiglu_limit", c.swiglu_limit is None and c.swiglu_alpha != 1.702, "the clamped gate's"
    yield "swiglu_limit", "hidden_act", c.swiglu_limit is not None and c.hidden_act != "silu", "it is SwiGLU's"
    yield (
        "moe_shared_expert_gate", "moe_shared_expert_intermediate_size",
        c.moe_shared_expert_gate and c.moe_shared_expert_intermediate_size is None, "no shared expert",
    )  # fmt: skip
    yield (
        "use_residual", "moe_shared_expert_intermediate_size",
        c.use_residual and c.moe_shared_expert_intermediate_size is not None,
        "the residual expert is the shared one with weights",
    )  # fmt: skip
    yield "is_postscore", "router_type", not c.is_postscore and c.router_type == "expert_choice", "weights are behind"
