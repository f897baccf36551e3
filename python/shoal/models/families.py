# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From a `config.json` of Hugging Face's transformers to a `ModelConfig`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal.errors import UnsupportedError
from shoal.models.config import LatentAttention, ModelConfig
from shoal.models.rope import rope_of
from shoal.moe.config import MoeConfig
from shoal.moe.huggingface import needed

__all__ = ["model_config_of", "published_config"]


def model_config_of(config: Mapping[str, Any]) -> ModelConfig:
    """UnsupportedError names a family, or a key whose value there is no counterpart of."""
    moe = MoeConfig.from_hf(config)
    family, layers = config["model_type"], needed(config, "num_hidden_layers")
    heads = needed(config, "num_attention_heads")
    windows = _windows(config, layers)
    if any(window is not None and window < 1 for window in windows):
        said = config["sliding_window"]
        raise UnsupportedError(f"from_config: sliding_window {said}: a token looks at itself at least")
    latent = _latent(config) if family.startswith("deepseek") else None
    shared = config.get("num_key_value_heads") or heads
    size = config.get("head_dim") or needed(config, "hidden_size") // heads
    turning = latent.rope if latent else size
    _check_heads(heads, shared, turning)
    return ModelConfig(
        family=family,
        vocab_size=needed(config, "vocab_size"),
        hidden_size=needed(config, "hidden_size"),
        num_attention_heads=heads,
        num_key_value_heads=shared,
        head_dim=size,
        rms_norm_eps=config.get("rms_norm_eps") or 1e-6,
        rope=rope_of(config, turning),
        windows=windows,
        moe=moe,
        moe_layers=moe.layers(layers),
        intermediate_size=needed(config, "intermediate_size"),
        latent=latent,
        rope_interleave=latent is not None and config.get("rope_interleave", True),
        tie_word_embeddings=bool(config.get("tie_word_embeddings", False)),
        num_nextn_predict_layers=config.get("num_nextn_predict_layers") or 0,
        weight_block_size=_block_size(config.get("quantization_config") or {}),
        **_pieces(config, family),
    )


def _block_size(quantized: Mapping[str, Any]) -> tuple[int, int]:
    """Of float8. UnsupportedError names a method whose files `shoal.models.packed` does not read."""
    method = quantized.get("quant_method")
    if quantized and method not in _METHODS:
        raise UnsupportedError(
            f'from_config: quantization_config: quant_method "{method}" is not one of {list(_METHODS)}'
        )
    size = quantized.get("weight_block_size")
    if size is None:
        return (128, 128)
    if len(size) != 2 or any(type(side) is not int or side < 1 for side in size):
        raise UnsupportedError(f"from_config: quantization_config: weight_block_size {size}; expected [rows, columns]")
    return (size[0], size[1])


_METHODS = ("fp8", "mxfp4")


def _check_heads(heads: int, shared: int, turning: int) -> None:
    if heads % shared:
        raise UnsupportedError(
            f"from_config: num_attention_heads {heads} is not divisible by num_key_value_heads {shared}"
        )
    if turning % 2:
        raise UnsupportedError(f"from_config: heads of which {turning} elements turn; expected an even number")


def _pieces(config: Mapping[str, Any], family: str) -> dict[str, Any]:
    """What one family has and others have not."""
    bias = bool(config.get("attention_bias", family == "gpt_oss"))
    if family == "qwen2":
        return {"qkv_bias": True}
    if family == "qwen2_moe":
        return {"qkv_bias": bool(config.get("qkv_bias", True))}
    if family == "llama":
        return {"qkv_bias": bias, "out_bias": bias}
    if family in ("qwen3", "qwen3_moe"):
        return {"qk_norm": "head", "qkv_bias": bias, "out_bias": bias}
    if family == "olmoe":
        return {"qk_norm": "all", "clip_qkv": config.get("clip_qkv"), "qkv_bias": bias, "out_bias": bias}
    if family == "gpt_oss":
        return {"sinks": True, "qkv_bias": bias, "out_bias": bias}
    if bias:
        raise UnsupportedError(f"from_config: attention_bias of {family}")
    return {}


def _windows(config: Mapping[str, Any], layers: int) -> tuple[int | None, ...]:
    window, kinds = config.get("sliding_window"), config.get("layer_types")
    family = config["model_type"]
    unknown = sorted(set(kinds or ()) - {"full_attention", "sliding_attention"})
    if unknown:
        raise UnsupportedError(f"from_config: layer_types {unknown}")
    if kinds is None and family == "gpt_oss":
        kinds = ["full_attention" if i % 2 else "sliding_attention" for i in range(layers)]
    if kinds is not None and len(kinds) != layers:
        raise UnsupportedError(f"from_config: layer_types of {len(kinds)} layers, num_hidden_layers {layers}")
    if family == "llama":
        return (None,) * layers
    if kinds is not None and family not in ("mistral", "mixtral"):
        return tuple(window if kind == "sliding_attention" else None for kind in kinds)
    if family.startswith("qwen"):
        first = config.get("max_window_layers", layers) if config.get("use_sliding_window") else layers
        return tuple(window if i >= first else None for i in range(layers))
    return (window,) * layers


def _latent(config: Mapping[str, Any]) -> LatentAttention:
    return LatentAttention(
        q_rank=config.get("q_lora_rank"),
        kv_rank=needed(config, "kv_lora_rank"),
        nope=needed(config, "qk_nope_head_dim"),
        rope=needed(config, "qk_rope_head_dim"),
        value=needed(config, "v_head_dim"),
    )


def published_config(config: Mapping[str, Any], dtype: str) -> dict[str, Any]:
    """What stands beside weights of this type that are written with `config`'s names: it, without what is said of
    weights of few bits and of layers that are not written, and with the class that transformers has of the family."""
    made = {"architectures": [_CLASSES[config["model_type"]]], **config}
    made.pop("quantization_config", None)
    if made.get("num_nextn_predict_layers"):
        made["num_nextn_predict_layers"] = 0
    names = [name for name in ("dtype", "torch_dtype") if name in made] or ["dtype"]
    return {**made, **dict.fromkeys(names, dtype)}


_CLASSES = {
    "deepseek_v2": "DeepseekV2ForCausalLM",
    "deepseek_v3": "DeepseekV3ForCausalLM",
    "gpt_oss": "GptOssForCausalLM",
    "llama": "LlamaForCausalLM",
    "mistral": "MistralForCausalLM",
    "mixtral": "MixtralForCausalLM",
    "olmoe": "OlmoeForCausalLM",
    "qwen2": "Qwen2ForCausalLM",
    "qwen2_moe": "Qwen2MoeForCausalLM",
    "qwen3": "Qwen3ForCausalLM",
    "qwen3_moe": "Qwen3MoeForCausalLM",
}
