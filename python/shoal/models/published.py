# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The fields of published models' config.json, by the names that `MoeConfig.from_hf` takes, too."""

from __future__ import annotations

from typing import Any

from shoal.moe.presets import MODELS

__all__ = ["PUBLISHED"]

Fields = dict[str, Any]


def _sizes(vocabulary: int, hidden: int, layers: int, heads: int, shared: int, longest: int) -> Fields:
    return {
        "vocab_size": vocabulary, "hidden_size": hidden, "num_hidden_layers": layers, "num_attention_heads": heads,
        "num_key_value_heads": shared, "max_position_embeddings": longest,
    }  # fmt: skip


def _latent(q_rank: int, scale: float) -> Fields:
    """DeepSeek's attention, and how its positions are stretched."""
    return {
        "q_lora_rank": q_rank, "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
        "rms_norm_eps": 1e-6, "rope_theta": 10000,
        "rope_scaling": {"type": "yarn", "factor": 40, "original_max_position_embeddings": 4096, "beta_fast": 32,
                         "beta_slow": 1, "mscale": scale, "mscale_all_dim": scale},
    }  # fmt: skip


_QWEN: Fields = {"rms_norm_eps": 1e-6, "rope_theta": 1000000.0, "use_sliding_window": False, "decoder_sparse_step": 1}
_GPT_OSS: Fields = {
    "head_dim": 64, "attention_bias": True, "sliding_window": 128, "rms_norm_eps": 1e-5, "rope_theta": 150000,
    "quantization_config": {"quant_method": "mxfp4"},
    "rope_scaling": {"rope_type": "yarn", "factor": 32.0, "original_max_position_embeddings": 4096, "beta_fast": 32.0,
                     "beta_slow": 1.0, "truncate": False},
}  # fmt: skip

# What is around the layers of experts.
_AROUND: dict[str, Fields] = {
    "mixtral-8x7b": {**_sizes(32000, 4096, 32, 32, 8, 32768), "rms_norm_eps": 1e-5, "rope_theta": 1000000.0},
    "mixtral-8x22b": {**_sizes(32000, 6144, 56, 48, 8, 65536), "rms_norm_eps": 1e-5, "rope_theta": 1000000.0},
    "qwen1.5-moe-a2.7b": {**_sizes(151936, 2048, 24, 16, 16, 8192), **_QWEN, "intermediate_size": 5632},
    "qwen3-30b-a3b": {**_sizes(151936, 2048, 48, 32, 4, 40960), **_QWEN, "intermediate_size": 6144, "head_dim": 128},
    "qwen3-235b-a22b": {**_sizes(151936, 4096, 94, 64, 4, 40960), **_QWEN, "intermediate_size": 12288, "head_dim": 128},
    "olmoe-1b-7b": {**_sizes(50304, 2048, 16, 16, 16, 4096), "rms_norm_eps": 1e-5, "rope_theta": 10000.0},
    "deepseek-v2": {**_sizes(102400, 5120, 60, 128, 128, 163840), **_latent(1536, 0.707), "intermediate_size": 12288,
                    "aux_loss_alpha": 0.001},
    "deepseek-v3": {**_sizes(129280, 7168, 61, 128, 128, 163840), **_latent(1536, 1.0), "intermediate_size": 18432,
                    "aux_loss_alpha": 0.001, "num_nextn_predict_layers": 1,
                    "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}},
    "kimi-k2": {**_sizes(163840, 7168, 61, 64, 64, 131072), **_latent(1536, 1.0), "intermediate_size": 18432, "aux_loss_alpha": 0.001,
                "num_nextn_predict_layers": 0, "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}, "rope_theta": 50000.0,
                "rope_scaling": {"type": "yarn", "factor": 32.0, "original_max_position_embeddings": 4096, "beta_fast": 1.0, "beta_slow": 1.0,
                                 "mscale": 1.0, "mscale_all_dim": 1.0}},
    "glm-4.5": {**_sizes(151552, 5120, 92, 96, 8, 131072), "head_dim": 128, "attention_bias": True, "use_qk_norm": True,
                "partial_rotary_factor": 0.5, "rms_norm_eps": 1e-5, "rope_theta": 1000000, "intermediate_size": 12288,
                "num_nextn_predict_layers": 1},
    "gpt-oss-20b": {**_sizes(201088, 2880, 24, 64, 8, 131072), **_GPT_OSS},
    "gpt-oss-120b": {**_sizes(201088, 2880, 36, 64, 8, 131072), **_GPT_OSS},
}  # fmt: skip

PUBLISHED: dict[str, Fields] = {name: {**MODELS[name], **around} for name, around in _AROUND.items()}
