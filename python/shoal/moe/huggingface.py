# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fields of `MoeConfig` from a `config.json` of Hugging Face's transformers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from shoal.errors import InputError, UnsupportedError
from shoal.moe.schemas import ConfigFile, checked

__all__ = ["fields_of"]

Fields = dict[str, Any]
_ACTIVATIONS = {"silu": "silu", "swish": "silu", "gelu": "gelu", "relu": "relu",
                "gelu_pytorch_tanh": "gelu_tanh", "gelu_new": "gelu_tanh"}  # fmt: skip


def fields_of(config: Mapping[str, Any]) -> Fields:
    """The fields, and the layers that have experts where `num_hidden_layers` is there.

    A dense family is one of layers without experts: one expert stands for the networks that these have.
    Errors: as of `schemas.checked`.
    """
    file = checked(config)
    act = file["hidden_act"]
    if act not in _ACTIVATIONS:
        raise UnsupportedError(f'from_hf: hidden_act "{act}" is not one of {sorted(_ACTIVATIONS)}')
    common = {"hidden_act": _ACTIVATIONS[act], "gated_linear_unit": True, "moe_router_pre_softmax": True}
    if file.family in _DENSE:
        return {**common, **_FAMILIES[file.family](file)}
    k = file["num_experts_per_tok"]
    fields = {
        **common,
        "num_experts": file["num_experts"],
        "moe_router_topk": k,
        # Theirs is k times the loss of one layer's counts (docs/guide/MoE.md).
        "moe_aux_loss_coeff": k * float(file.get("router_aux_loss_coef", 0.0)),
    }
    return {**fields, "moe_layer_freq": _layers(file), **_FAMILIES[file.family](file)}


def _layers(file: ConfigFile) -> Any:
    """1 for each layer that has experts."""
    if not file.says("num_hidden_layers"):
        return 1
    count, first = file["num_hidden_layers"], file.get("first_k_dense_replace", 0)
    step, dense = file.get("decoder_sparse_step", 1), file.get("mlp_only_layers", ())
    _check_layers("mlp_only_layers", dense, count)
    return tuple(int(i >= first and (i + 1) % step == 0 and i not in dense) for i in range(count))


def _dense(file: ConfigFile) -> Fields:
    return {
        "num_experts": 1,
        "moe_router_topk": 1,
        "moe_ffn_hidden_size": file["intermediate_size"],
        "moe_layer_freq": (0,) * file["num_hidden_layers"],
    }


def _mixtral(file: ConfigFile) -> Fields:
    return {
        "moe_ffn_hidden_size": file["intermediate_size"],
        "norm_topk_prob": True,
        "moe_input_jitter_eps": file["router_jitter_noise"] or None,
    }


def _qwen2(file: ConfigFile) -> Fields:
    return {
        **_qwen3(file),
        "moe_shared_expert_intermediate_size": file["shared_expert_intermediate_size"],
        "moe_shared_expert_gate": True,
    }


def _qwen3(file: ConfigFile) -> Fields:
    return {"moe_ffn_hidden_size": file["moe_intermediate_size"], "norm_topk_prob": file["norm_topk_prob"]}


def _olmoe(file: ConfigFile) -> Fields:
    return {"moe_ffn_hidden_size": file["intermediate_size"], "norm_topk_prob": file["norm_topk_prob"]}


def _deepseek(file: ConfigFile) -> Fields:
    shared = (file["n_shared_experts"] or 0) * file["moe_intermediate_size"]
    return {
        "moe_ffn_hidden_size": file["moe_intermediate_size"],
        "moe_router_topk_scaling_factor": file["routed_scaling_factor"],
        "moe_shared_expert_intermediate_size": shared or None,
        # By sequences, or by all tokens of a batch as one.
        "moe_router_load_balancing_type": ("seq_aux_loss" if file["seq_aux"] else "global_aux_loss",),
        "moe_aux_loss_coeff": float(file["aux_loss_alpha"]),
    }


def _deepseek_v2(file: ConfigFile) -> Fields:
    fields = {**_deepseek(file), "norm_topk_prob": False}  # transformers never does
    return fields if file["topk_method"] == "greedy" else {**fields, **_groups(file, 1)}


def _deepseek_v3(file: ConfigFile) -> Fields:
    return {**_deepseek(file), **_sigmoid(file)}


def _glm4_moe(file: ConfigFile) -> Fields:
    return {
        **_sigmoid(file),
        "moe_ffn_hidden_size": file["moe_intermediate_size"],
        "moe_router_topk_scaling_factor": file["routed_scaling_factor"],
        "moe_shared_expert_intermediate_size": file["n_shared_experts"] * file["moe_intermediate_size"] or None,
    }


def _sigmoid(file: ConfigFile) -> Fields:
    """DeepSeek-V3's router: sigmoids, chosen by with a bias of each expert."""
    return {
        **_groups(file, 2),
        "moe_router_score_function": "sigmoid",
        "moe_router_pre_softmax": False,
        "norm_topk_prob": file["norm_topk_prob"],
        "moe_router_enable_expert_bias": True,
    }


def _groups(file: ConfigFile, best_of: int) -> Fields:
    for name in ("n_group", "topk_group"):
        if file[name] is None:
            raise UnsupportedError(f"from_hf: {name} is missing")
    return {
        "moe_router_num_groups": file["n_group"],
        "moe_router_group_topk": file["topk_group"],
        "group_best_of": best_of,
    }


def _gpt_oss(file: ConfigFile) -> Fields:
    return {
        "moe_ffn_hidden_size": file["intermediate_size"],
        "moe_router_pre_softmax": False,
        "add_router_bias": True,
        "add_bias_linear": True,
        "swiglu_limit": float(file["swiglu_limit"]),
        "swiglu_alpha": float(file["swiglu_alpha"]),
    }


def _llama4(file: ConfigFile) -> Fields:
    """Scores go into the experts; each layer of these has a shared one."""
    return {
        "moe_ffn_hidden_size": file["intermediate_size"],
        "moe_router_score_function": "sigmoid",
        "moe_router_pre_softmax": False,
        "norm_topk_prob": False,
        "is_postscore": False,
        "moe_shared_expert_intermediate_size": file["intermediate_size"],
        **({"moe_layer_freq": _named_layers(file)} if file.says("num_hidden_layers") else {}),
    }


def _named_layers(file: ConfigFile) -> tuple[int, ...]:
    count, step, named = file["num_hidden_layers"], file["interleave_moe_layer_step"], file["moe_layers"]
    if named is None:
        named = range(step - 1, count, step)
    _check_layers("moe_layers", named, count)
    return tuple(int(i in named) for i in range(count))


def _check_layers(name: str, numbers: Iterable[int], count: int) -> None:
    beyond = [number for number in numbers if number >= count]
    if beyond:
        raise InputError(f"from_hf: {name} {beyond}: there are layers 0 to {count - 1}")


_FAMILIES: dict[str, Callable[[ConfigFile], Fields]] = {
    "mixtral": _mixtral,
    "qwen2_moe": _qwen2,
    "qwen3_moe": _qwen3,
    "olmoe": _olmoe,
    "deepseek_v2": _deepseek_v2,
    "deepseek_v3": _deepseek_v3,
    "glm4_moe": _glm4_moe,
    "gpt_oss": _gpt_oss,
    "llama4_text": _llama4,
    "llama": _dense,
    "mistral": _dense,
    "qwen2": _dense,
    "qwen3": _dense,
}

_DENSE = ("llama", "mistral", "qwen2", "qwen3")
