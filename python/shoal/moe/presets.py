# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fields of `MoeConfig` of well-known layers. What is given beside them stands in their place."""

from __future__ import annotations

from typing import Any

__all__ = ["GSHARD", "MODELS", "SWITCH", "deepspeed", "tutel"]

Fields = dict[str, Any]


# arXiv 2006.16668, Algorithms 1 and 2. An expert has 2 S / E rows of a group of S tokens (section 2.2), as many as there are choices.
GSHARD: Fields = {
    "moe_router_topk": 2, "moe_router_pre_softmax": True, "norm_topk_prob": True, "second_policy": "random",
    "moe_router_load_balancing_type": ("gshard",), "moe_aux_loss_coeff": 0.01, "moe_expert_capacity_factor": 1.0,
    "capacity_rule": "gshard", "min_capacity": 4, "moe_token_drop_policy": "position",
    "moe_token_dispatcher_type": "einsum", "hidden_act": "relu",
}  # fmt: skip

# arXiv 2101.03961: one expert, weighed by its softmax.
SWITCH: Fields = {
    "moe_router_topk": 1, "moe_router_pre_softmax": True, "moe_input_jitter_eps": 0.01, "moe_aux_loss_coeff": 0.01,
    "moe_expert_capacity_factor": 1.25, "moe_token_drop_policy": "position", "hidden_act": "relu",
}  # fmt: skip


def deepspeed(num_experts: int, k: int = 1, drops: bool = True) -> Fields:
    """DeepSpeed's `sharded_moe.py`: top1gating, top2gating, and topkgating for more.

    drops: whether there is a capacity. It divides weights by their sum after drops, or of all chosen.
    """
    fields: Fields = {
        "moe_router_topk": k, "moe_router_pre_softmax": True, "moe_expert_capacity_factor": 1.0, "capacity_rule": "deepspeed",
        "min_capacity": 4, "renormalize_after_drop" if drops else "norm_topk_prob": k > 1,
    }  # fmt: skip
    if k > 2:
        return {**fields, "moe_token_drop_policy": "probs", "moe_aux_loss_coeff": 0.01}
    # Its loss is E^2 times GShard's.
    of_first = {"moe_router_load_balancing_type": ("gshard",), "moe_aux_loss_coeff": 0.01 * num_experts**2}
    if k == 1:
        return {**fields, **of_first, "moe_token_drop_policy": "random"}
    return {**fields, **of_first, "moe_token_drop_policy": "position", "second_policy": "gumbel"}


def tutel(num_experts: int, k: int = 2, capacity_factor: float = 1.0) -> Fields:
    """Tutel's `moe_layer`: a factor of 0 takes all, one below it bounds what is needed."""
    return {
        "moe_router_topk": k, "moe_router_pre_softmax": True, "norm_topk_prob": k > 1,
        "moe_router_load_balancing_type": ("gshard",), "moe_aux_loss_coeff": 0.01 * num_experts**2,
        "moe_expert_capacity_factor": capacity_factor, "capacity_rule": "tutel", "moe_token_drop_policy": "position",
        "hidden_act": "relu",
    }  # fmt: skip


# Of Hugging Face's files of published models, the keys that an MoE layer reads.
MODELS: dict[str, Fields] = {
    "mixtral-8x7b": {
        "model_type": "mixtral", "num_local_experts": 8, "num_experts_per_tok": 2,
        "intermediate_size": 14336, "hidden_act": "silu", "router_aux_loss_coef": 0.02,
    },
    "mixtral-8x22b": {
        "model_type": "mixtral", "num_local_experts": 8, "num_experts_per_tok": 2,
        "intermediate_size": 16384, "hidden_act": "silu", "router_aux_loss_coef": 0.001,
    },
    "qwen1.5-moe-a2.7b": {
        "model_type": "qwen2_moe", "num_experts": 60, "num_experts_per_tok": 4,
        "moe_intermediate_size": 1408, "shared_expert_intermediate_size": 5632,
        "norm_topk_prob": False, "hidden_act": "silu", "router_aux_loss_coef": 0.001,
    },
    "qwen3-30b-a3b": {
        "model_type": "qwen3_moe", "num_experts": 128, "num_experts_per_tok": 8,
        "moe_intermediate_size": 768, "norm_topk_prob": True, "hidden_act": "silu",
        "router_aux_loss_coef": 0.001,
    },
    "qwen3-235b-a22b": {
        "model_type": "qwen3_moe", "num_experts": 128, "num_experts_per_tok": 8,
        "moe_intermediate_size": 1536, "norm_topk_prob": True, "hidden_act": "silu",
        "router_aux_loss_coef": 0.001,
    },
    "olmoe-1b-7b": {
        "model_type": "olmoe", "num_experts": 64, "num_experts_per_tok": 8,
        "intermediate_size": 1024, "norm_topk_prob": False, "hidden_act": "silu",
        "router_aux_loss_coef": 0.01,
    },
    "deepseek-v2": {
        "model_type": "deepseek_v2", "n_routed_experts": 160, "num_experts_per_tok": 6,
        "moe_intermediate_size": 1536, "n_shared_experts": 2, "n_group": 8, "topk_group": 3,
        "topk_method": "group_limited_greedy", "routed_scaling_factor": 16.0,
        "hidden_act": "silu", "first_k_dense_replace": 1, "num_hidden_layers": 60,
    },
    "deepseek-v3": {
        "model_type": "deepseek_v3", "n_routed_experts": 256, "num_experts_per_tok": 8,
        "moe_intermediate_size": 2048, "n_shared_experts": 1, "n_group": 8, "topk_group": 4,
        "norm_topk_prob": True, "routed_scaling_factor": 2.5, "hidden_act": "silu",
        "first_k_dense_replace": 3, "num_hidden_layers": 61,
    },
    "kimi-k2": {
        "model_type": "kimi_k2", "architectures": ["DeepseekV3ForCausalLM"], "n_routed_experts": 384, "num_experts_per_tok": 8,
        "moe_intermediate_size": 2048, "n_shared_experts": 1, "n_group": 1, "topk_group": 1,
        "norm_topk_prob": True, "routed_scaling_factor": 2.827, "hidden_act": "silu",
        "first_k_dense_replace": 1, "num_hidden_layers": 61,
    },
    "glm-4.5": {
        "model_type": "glm4_moe", "n_routed_experts": 160, "num_experts_per_tok": 8,
        "moe_intermediate_size": 1536, "n_shared_experts": 1, "n_group": 1, "topk_group": 1,
        "norm_topk_prob": True, "routed_scaling_factor": 2.5, "hidden_act": "silu",
        "first_k_dense_replace": 3, "num_hidden_layers": 92,
    },
    "gpt-oss-20b": {
        "model_type": "gpt_oss", "num_local_experts": 32, "num_experts_per_tok": 4,
        "intermediate_size": 2880, "hidden_act": "silu", "swiglu_limit": 7.0,
        "router_aux_loss_coef": 0.9,
    },
    "gpt-oss-120b": {
        "model_type": "gpt_oss", "num_local_experts": 128, "num_experts_per_tok": 4,
        "intermediate_size": 2880, "hidden_act": "silu", "swiglu_limit": 7.0,
        "router_aux_loss_coef": 0.9,
    },
}  # fmt: skip
