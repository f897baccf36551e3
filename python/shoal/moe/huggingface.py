# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fields of `MoeConfig` from a `config.json` of Hugging Face's transformers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from shoal.errors import UnsupportedError

__all__ = ["fields_of", "needed"]

Fields = dict[str, Any]
_ACTIVATIONS = {"silu": "silu", "swish": "silu", "gelu": "gelu", "relu": "relu",
                "gelu_pytorch_tanh": "gelu_tanh", "gelu_new": "gelu_tanh"}  # fmt: skip


def fields_of(config: Mapping[str, Any]) -> Fields:
    """The fields, and the layers that have experts where `num_hidden_layers` is there.

    A dense family is one of layers without experts: one expert stands for the networks that these have.
    UnsupportedError names a family or a value that there is no counterpart of.
    """
    family = config.get("model_type")
    if family not in _FAMILIES:
        raise UnsupportedError(f'from_hf: model_type "{family}" is not one of {sorted(_FAMILIES)}')
    act = config.get("hidden_act", "silu")
    if act not in _ACTIVATIONS:
        raise UnsupportedError(f'from_hf: hidden_act "{act}" is not one of {sorted(_ACTIVATIONS)}')
    for name, only in _ONLY.get(family, {}).items():
        if config.get(name) not in (None, only):
            raise UnsupportedError(f"from_hf: {name} {config[name]!r} of {family}; expected {only!r}")
    common = {"hidden_act": _ACTIVATIONS[act], "gated_linear_unit": True, "moe_router_pre_softmax": True}
    if family in _DENSE:
        return {**common, **_FAMILIES[family](config)}
    k = needed(config, "num_experts_per_tok")
    fields = {
        **common,
        "moe_router_topk": k,
        # Theirs is k times the loss of one layer's counts (docs/guide/MoE.md).
        "moe_aux_loss_coeff": k * float(config.get("router_aux_loss_coef") or 0.0),
    }
    return {**fields, "moe_layer_freq": _layers(config), **_FAMILIES[family](config)}


def needed(config: Mapping[str, Any], name: str) -> Any:
    """UnsupportedError where a file has not said it."""
    if config.get(name) is None:
        raise UnsupportedError(f"from_hf: {name} is missing")
    return config[name]


def _layers(config: Mapping[str, Any]) -> Any:
    """1 for each layer that has experts."""
    count = config.get("num_hidden_layers")
    if count is None:
        return 1
    first = config.get("first_k_dense_replace") or 0
    step, dense = config.get("decoder_sparse_step") or 1, config.get("mlp_only_layers") or ()
    return tuple(int(i >= first and (i + 1) % step == 0 and i not in dense) for i in range(count))


def _dense(config: Mapping[str, Any]) -> Fields:
    return {
        "num_experts": 1,
        "moe_router_topk": 1,
        "moe_ffn_hidden_size": needed(config, "intermediate_size"),
        "moe_layer_freq": (0,) * needed(config, "num_hidden_layers"),
    }


def _experts(config: Mapping[str, Any]) -> int:
    """Files name their number in three ways, and newer ones of a family otherwise than older."""
    for name in ("num_experts", "num_local_experts", "n_routed_experts"):
        if config.get(name) is not None:
            return config[name]
    return needed(config, "num_experts")


def _mixtral(config: Mapping[str, Any]) -> Fields:
    return {
        "num_experts": _experts(config),
        "moe_ffn_hidden_size": needed(config, "intermediate_size"),
        "norm_topk_prob": True,
        "moe_input_jitter_eps": config.get("router_jitter_noise") or None,
    }


def _qwen2(config: Mapping[str, Any]) -> Fields:
    return {
        **_qwen3(config),
        "moe_shared_expert_intermediate_size": needed(config, "shared_expert_intermediate_size"),
        "moe_shared_expert_gate": True,
    }


def _qwen3(config: Mapping[str, Any]) -> Fields:
    return {
        "num_experts": _experts(config),
        "moe_ffn_hidden_size": needed(config, "moe_intermediate_size"),
        "norm_topk_prob": bool(config.get("norm_topk_prob", False)),
    }


def _olmoe(config: Mapping[str, Any]) -> Fields:
    return {
        "num_experts": _experts(config),
        "moe_ffn_hidden_size": needed(config, "intermediate_size"),
        "norm_topk_prob": bool(config.get("norm_topk_prob", False)),
    }


def _deepseek(config: Mapping[str, Any]) -> Fields:
    shared = (config.get("n_shared_experts") or 0) * needed(config, "moe_intermediate_size")
    return {
        "num_experts": _experts(config),
        "moe_ffn_hidden_size": needed(config, "moe_intermediate_size"),
        "moe_router_topk_scaling_factor": config.get("routed_scaling_factor", 1.0),
        "moe_shared_expert_intermediate_size": shared or None,
        "moe_router_load_balancing_type": ("seq_aux_loss",),
        "moe_aux_loss_coeff": float(config.get("aux_loss_alpha") or 0.0),
    }


def _deepseek_v2(config: Mapping[str, Any]) -> Fields:
    fields = {**_deepseek(config), "norm_topk_prob": False}  # transformers never does
    method = config.get("topk_method", "greedy")
    if method == "greedy":
        return fields
    if method != "group_limited_greedy":
        raise UnsupportedError(f'from_hf: topk_method "{method}" of deepseek_v2')
    return {**fields, **_groups(config, 1)}


def _deepseek_v3(config: Mapping[str, Any]) -> Fields:
    return {
        **_deepseek(config),
        **_groups(config, 2),
        "moe_router_score_function": "sigmoid",
        "moe_router_pre_softmax": False,
        "norm_topk_prob": bool(config.get("norm_topk_prob", True)),
        "moe_router_enable_expert_bias": True,
    }


def _groups(config: Mapping[str, Any], best_of: int) -> Fields:
    return {
        "moe_router_num_groups": needed(config, "n_group"),
        "moe_router_group_topk": needed(config, "topk_group"),
        "group_best_of": best_of,
    }


def _gpt_oss(config: Mapping[str, Any]) -> Fields:
    return {
        "num_experts": _experts(config),
        "moe_ffn_hidden_size": needed(config, "intermediate_size"),
        "moe_router_pre_softmax": False,
        "add_router_bias": True,
        "add_bias_linear": True,
        "swiglu_limit": float(config.get("swiglu_limit") or 7.0),
    }


# What transformers reads of no file of a family, and does in one way.
_ONLY = {
    "llama": {"mlp_bias": False},
    "deepseek_v2": {"scoring_func": "softmax", "moe_layer_freq": 1},
    "deepseek_v3": {"scoring_func": "sigmoid", "moe_layer_freq": 1, "topk_method": "noaux_tc"},
}

_FAMILIES: dict[str, Callable[[Mapping[str, Any]], Fields]] = {
    "mixtral": _mixtral,
    "qwen2_moe": _qwen2,
    "qwen3_moe": _qwen3,
    "olmoe": _olmoe,
    "deepseek_v2": _deepseek_v2,
    "deepseek_v3": _deepseek_v3,
    "gpt_oss": _gpt_oss,
    "llama": _dense,
    "mistral": _dense,
    "qwen2": _dense,
    "qwen3": _dense,
}

_DENSE = ("llama", "mistral", "qwen2", "qwen3")
