# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The fields of published models' config.json, and how many billions of parameters they have."""

SHARED = {
    "attention_dropout": 0.0, "bos_token_id": 1, "eos_token_id": 2, "hidden_act": "silu", "initializer_range": 0.02,
    "tie_word_embeddings": False, "torch_dtype": "bfloat16", "transformers_version": "4.40.0", "use_cache": True,
}  # fmt: skip
MIXTRAL = {
    **SHARED, "architectures": ["MixtralForCausalLM"], "model_type": "mixtral", "num_experts_per_tok": 2,
    "num_local_experts": 8, "output_router_logits": False, "rms_norm_eps": 1e-05, "rope_theta": 1000000.0,
    "sliding_window": None,
}  # fmt: skip
QWEN_DENSE = {**SHARED, "rms_norm_eps": 1e-06, "rope_theta": 1000000.0, "use_sliding_window": False}
QWEN = {**QWEN_DENSE, "decoder_sparse_step": 1, "output_router_logits": False, "router_aux_loss_coef": 0.001}
DEEPSEEK = {
    **SHARED, "attention_bias": False, "aux_loss_alpha": 0.001, "ep_size": 1, "kv_lora_rank": 512,
    "auto_map": {"AutoConfig": "configuration_deepseek.DeepseekConfig"}, "max_position_embeddings": 163840,
    "moe_layer_freq": 1, "num_experts_per_tok": 6, "pretraining_tp": 1, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
    "rms_norm_eps": 1e-06, "rope_theta": 10000, "scoring_func": "softmax", "seq_aux": True, "v_head_dim": 128,
}  # fmt: skip


def _yarn(scale):
    return {"beta_fast": 32, "beta_slow": 1, "factor": 40, "mscale": scale, "mscale_all_dim": scale,
            "original_max_position_embeddings": 4096, "type": "yarn"}  # fmt: skip


GPT_OSS = {
    **SHARED, "architectures": ["GptOssForCausalLM"], "model_type": "gpt_oss", "attention_bias": True,
    "eos_token_id": 200002, "pad_token_id": 199999, "experts_per_token": 4, "num_experts_per_tok": 4, "head_dim": 64,
    "hidden_size": 2880, "intermediate_size": 2880, "initial_context_length": 4096, "max_position_embeddings": 131072,
    "num_attention_heads": 64, "num_key_value_heads": 8, "output_router_logits": False,
    "quantization_config": {"modules_to_not_convert": ["lm_head"], "quant_method": "mxfp4"}, "rms_norm_eps": 1e-05,
    "rope_scaling": {"beta_fast": 32.0, "beta_slow": 1.0, "factor": 32.0, "original_max_position_embeddings": 4096,
                     "rope_type": "yarn", "truncate": False},
    "rope_theta": 150000, "router_aux_loss_coef": 0.9, "sliding_window": 128, "swiglu_limit": 7.0, "vocab_size": 201088,
}  # fmt: skip

# The text_config of theirs.
LLAMA4 = {
    **SHARED, "model_type": "llama4_text", "attention_bias": False, "attention_chunk_size": 8192, "attn_scale": 0.1,
    "attn_temperature_tuning": 4, "bos_token_id": 200000, "eos_token_id": [200001, 200007, 200008], "pad_token_id": 200018,
    "cache_implementation": "hybrid", "floor_scale": 8192, "for_llm_compressor": False, "head_dim": 128, "hidden_size": 5120,
    "intermediate_size": 8192, "intermediate_size_mlp": 16384, "moe_layers": None, "no_rope_layers": [],
    "num_attention_heads": 40, "num_experts_per_tok": 1, "num_key_value_heads": 8, "output_router_logits": False,
    "rms_norm_eps": 1e-05, "rope_theta": 500000.0, "router_aux_loss_coef": 0.001, "router_jitter_noise": 0.0,
    "rope_scaling": {"factor": 16.0, "high_freq_factor": 1.0, "low_freq_factor": 1.0,
                     "original_max_position_embeddings": 8192, "rope_type": "llama3"},
    "vocab_size": 202048,
}  # fmt: skip

PUBLISHED = {
    "Mixtral-8x7B": ({
        **MIXTRAL, "hidden_size": 4096, "intermediate_size": 14336, "max_position_embeddings": 32768,
        "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 8, "router_aux_loss_coef": 0.02,
        "vocab_size": 32000,
    }, 46.7),
    "Mixtral-8x22B": ({
        **MIXTRAL, "hidden_size": 6144, "intermediate_size": 16384, "max_position_embeddings": 65536,
        "num_attention_heads": 48, "num_hidden_layers": 56, "num_key_value_heads": 8, "router_aux_loss_coef": 0.001,
        "router_jitter_noise": 0.0, "vocab_size": 32000,
    }, 140.6),
    "Qwen1.5-MoE-A2.7B": ({
        **QWEN, "architectures": ["Qwen2MoeForCausalLM"], "model_type": "qwen2_moe", "hidden_size": 2048,
        "intermediate_size": 5632, "max_position_embeddings": 8192, "max_window_layers": 21, "num_attention_heads": 16,
        "num_hidden_layers": 24, "num_key_value_heads": 16, "sliding_window": 32768, "vocab_size": 151936,
        "moe_intermediate_size": 1408, "shared_expert_intermediate_size": 5632, "num_experts_per_tok": 4,
        "num_experts": 60, "norm_topk_prob": False,
    }, 14.3),
    "Qwen2-57B-A14B": ({
        **QWEN, "architectures": ["Qwen2MoeForCausalLM"], "model_type": "qwen2_moe", "hidden_size": 3584,
        "intermediate_size": 18944, "max_position_embeddings": 131072, "max_window_layers": 28,
        "num_attention_heads": 28, "num_hidden_layers": 28, "num_key_value_heads": 4, "sliding_window": 65536,
        "vocab_size": 151936, "moe_intermediate_size": 2560, "shared_expert_intermediate_size": 20480,
        "num_experts_per_tok": 8, "num_experts": 64, "norm_topk_prob": False,
    }, 57.4),
    "Qwen3-30B-A3B": ({
        **QWEN, "architectures": ["Qwen3MoeForCausalLM"], "model_type": "qwen3_moe", "attention_bias": False,
        "head_dim": 128, "hidden_size": 2048, "intermediate_size": 6144, "max_position_embeddings": 40960,
        "max_window_layers": 48, "mlp_only_layers": [], "moe_intermediate_size": 768, "norm_topk_prob": True,
        "num_attention_heads": 32, "num_experts": 128, "num_experts_per_tok": 8, "num_hidden_layers": 48,
        "num_key_value_heads": 4, "rope_scaling": None, "sliding_window": None, "vocab_size": 151936,
    }, 30.5),
    "Qwen3-235B-A22B": ({
        **QWEN, "architectures": ["Qwen3MoeForCausalLM"], "model_type": "qwen3_moe", "attention_bias": False,
        "head_dim": 128, "hidden_size": 4096, "intermediate_size": 12288, "max_position_embeddings": 40960,
        "max_window_layers": 94, "mlp_only_layers": [], "moe_intermediate_size": 1536, "norm_topk_prob": True,
        "num_attention_heads": 64, "num_experts": 128, "num_experts_per_tok": 8, "num_hidden_layers": 94,
        "num_key_value_heads": 4, "rope_scaling": None, "sliding_window": None, "vocab_size": 151936,
    }, 235.1),
    "OLMoE-1B-7B": ({
        **SHARED, "architectures": ["OlmoeForCausalLM"], "model_type": "olmoe", "attention_bias": False,
        "clip_qkv": None, "eos_token_id": 50279, "hidden_size": 2048, "intermediate_size": 1024,
        "max_position_embeddings": 4096, "norm_topk_prob": False, "num_attention_heads": 16, "num_experts": 64,
        "num_experts_per_tok": 8, "num_hidden_layers": 16, "num_key_value_heads": 16, "output_router_logits": False,
        "pad_token_id": 1, "rms_norm_eps": 1e-05, "rope_scaling": None, "rope_theta": 10000.0,
        "router_aux_loss_coef": 0.01, "vocab_size": 50304,
    }, 6.9),
    "DeepSeek-V2": ({
        **DEEPSEEK, "architectures": ["DeepseekV2ForCausalLM"], "model_type": "deepseek_v2", "first_k_dense_replace": 1,
        "hidden_size": 5120, "intermediate_size": 12288, "moe_intermediate_size": 1536, "n_group": 8,
        "n_routed_experts": 160, "n_shared_experts": 2, "norm_topk_prob": False, "num_attention_heads": 128,
        "num_hidden_layers": 60, "num_key_value_heads": 128, "q_lora_rank": 1536, "rope_scaling": _yarn(0.707),
        "routed_scaling_factor": 16.0, "topk_group": 3, "topk_method": "group_limited_greedy", "vocab_size": 102400,
    }, 235.7),
    "DeepSeek-V2-Lite": ({
        **DEEPSEEK, "architectures": ["DeepseekV2ForCausalLM"], "model_type": "deepseek_v2", "first_k_dense_replace": 1,
        "hidden_size": 2048, "intermediate_size": 10944, "moe_intermediate_size": 1408, "n_group": 1,
        "n_routed_experts": 64, "n_shared_experts": 2, "norm_topk_prob": False, "num_attention_heads": 16,
        "num_hidden_layers": 27, "num_key_value_heads": 16, "q_lora_rank": None, "rope_scaling": _yarn(0.707),
        "routed_scaling_factor": 1.0, "topk_group": 1, "topk_method": "greedy", "vocab_size": 102400,
    }, 15.7),
    "Kimi-K2": ({
        **DEEPSEEK, "architectures": ["DeepseekV3ForCausalLM"], "model_type": "kimi_k2", "first_k_dense_replace": 1,
        "hidden_size": 7168, "intermediate_size": 18432, "max_position_embeddings": 131072, "moe_intermediate_size": 2048, "n_group": 1,
        "n_routed_experts": 384, "n_shared_experts": 1, "norm_topk_prob": True, "num_attention_heads": 64,
        "num_experts_per_tok": 8, "num_hidden_layers": 61, "num_key_value_heads": 64, "num_nextn_predict_layers": 0,
        "quantization_config": {"activation_scheme": "dynamic", "fmt": "e4m3", "quant_method": "fp8", "weight_block_size": [128, 128]},
        "q_lora_rank": 1536, "rope_scaling": {**_yarn(1.0), "factor": 32.0, "beta_fast": 1.0, "beta_slow": 1.0}, "rope_theta": 50000.0,
        "routed_scaling_factor": 2.827, "scoring_func": "sigmoid", "topk_group": 1, "topk_method": "noaux_tc", "vocab_size": 163840,
    }, 1026.4),
    "DeepSeek-V3": ({
        **DEEPSEEK, "architectures": ["DeepseekV3ForCausalLM"], "model_type": "deepseek_v3", "first_k_dense_replace": 3,
        "hidden_size": 7168, "intermediate_size": 18432, "moe_intermediate_size": 2048, "n_group": 8,
        "n_routed_experts": 256, "n_shared_experts": 1, "norm_topk_prob": True, "num_attention_heads": 128,
        "num_experts_per_tok": 8, "num_hidden_layers": 61, "num_key_value_heads": 128, "num_nextn_predict_layers": 1,
        "q_lora_rank": 1536, "rope_scaling": _yarn(1.0), "routed_scaling_factor": 2.5, "scoring_func": "sigmoid",
        "topk_group": 4, "topk_method": "noaux_tc", "vocab_size": 129280,
        "quantization_config": {"activation_scheme": "dynamic", "fmt": "e4m3", "quant_method": "fp8",
                                "weight_block_size": [128, 128]},
    }, 671.0),
    "GLM-4.5": ({
        **SHARED, "architectures": ["Glm4MoeForCausalLM"], "model_type": "glm4_moe", "attention_bias": True,
        "eos_token_id": [151329, 151336, 151338], "pad_token_id": 151329, "first_k_dense_replace": 3, "head_dim": 128,
        "hidden_size": 5120, "intermediate_size": 12288, "max_position_embeddings": 131072, "moe_intermediate_size": 1536,
        "n_group": 1, "n_routed_experts": 160, "n_shared_experts": 1, "norm_topk_prob": True, "num_attention_heads": 96,
        "num_experts_per_tok": 8, "num_hidden_layers": 92, "num_key_value_heads": 8, "num_nextn_predict_layers": 1,
        "partial_rotary_factor": 0.5, "rms_norm_eps": 1e-05, "rope_scaling": None, "rope_theta": 1000000,
        "routed_scaling_factor": 2.5, "topk_group": 1, "use_qk_norm": True, "vocab_size": 151552,
    }, 352.8),
    "GLM-4.5-Air": ({
        **SHARED, "architectures": ["Glm4MoeForCausalLM"], "model_type": "glm4_moe", "attention_bias": True,
        "eos_token_id": [151329, 151336, 151338], "pad_token_id": 151329, "first_k_dense_replace": 1, "head_dim": 128,
        "hidden_size": 4096, "intermediate_size": 10944, "max_position_embeddings": 131072, "moe_intermediate_size": 1408,
        "n_group": 1, "n_routed_experts": 128, "n_shared_experts": 1, "norm_topk_prob": True, "num_attention_heads": 96,
        "num_experts_per_tok": 8, "num_hidden_layers": 46, "num_key_value_heads": 8, "num_nextn_predict_layers": 1,
        "partial_rotary_factor": 0.5, "rms_norm_eps": 1e-05, "rope_scaling": None, "rope_theta": 1000000,
        "routed_scaling_factor": 1.0, "topk_group": 1, "use_qk_norm": False, "vocab_size": 151552,
    }, 106.9),
    "gpt-oss-20b": ({
        **GPT_OSS, "num_hidden_layers": 24, "num_local_experts": 32,
        "layer_types": ["sliding_attention", "full_attention"] * 12,
    }, 20.9),
    "gpt-oss-120b": ({
        **GPT_OSS, "num_hidden_layers": 36, "num_local_experts": 128,
        "layer_types": ["sliding_attention", "full_attention"] * 18,
    }, 116.8),
    "Llama-4-Scout-17B-16E": ({
        **LLAMA4, "interleave_moe_layer_step": 1, "num_hidden_layers": 48, "num_local_experts": 16, "use_qk_norm": True,
        "max_position_embeddings": 10485760,
    }, 107.8),
    "Llama-4-Maverick-17B-128E": ({
        **LLAMA4, "interleave_moe_layer_step": 2, "num_hidden_layers": 48, "num_local_experts": 128, "use_qk_norm": False,
        "max_position_embeddings": 1048576,
    }, 400.7),
    "Llama-3.1-8B": ({
        **SHARED, "architectures": ["LlamaForCausalLM"], "model_type": "llama", "attention_bias": False,
        "bos_token_id": 128000, "eos_token_id": 128001, "hidden_size": 4096, "intermediate_size": 14336,
        "max_position_embeddings": 131072, "mlp_bias": False, "num_attention_heads": 32, "num_hidden_layers": 32,
        "num_key_value_heads": 8, "pretraining_tp": 1, "rms_norm_eps": 1e-05, "rope_theta": 500000.0,
        "rope_scaling": {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                         "original_max_position_embeddings": 8192, "rope_type": "llama3"},
        "vocab_size": 128256,
    }, 8.0),
    "Mistral-7B": ({
        **SHARED, "architectures": ["MistralForCausalLM"], "model_type": "mistral", "hidden_size": 4096,
        "intermediate_size": 14336, "max_position_embeddings": 32768, "num_attention_heads": 32,
        "num_hidden_layers": 32, "num_key_value_heads": 8, "rms_norm_eps": 1e-05, "rope_theta": 10000.0,
        "sliding_window": 4096, "vocab_size": 32000,
    }, 7.2),
    "Qwen2.5-7B": ({
        **QWEN_DENSE, "architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2", "hidden_size": 3584,
        "intermediate_size": 18944, "max_position_embeddings": 131072, "max_window_layers": 28,
        "num_attention_heads": 28, "num_hidden_layers": 28, "num_key_value_heads": 4, "sliding_window": 131072,
        "use_mrope": False, "vocab_size": 152064,
    }, 7.6),
    "Qwen3-8B": ({
        **QWEN_DENSE, "architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "attention_bias": False,
        "head_dim": 128, "hidden_size": 4096, "intermediate_size": 12288, "max_position_embeddings": 40960,
        "max_window_layers": 36, "num_attention_heads": 32, "num_hidden_layers": 36, "num_key_value_heads": 8,
        "rope_scaling": None, "sliding_window": None, "vocab_size": 151936,
    }, 8.2),
}  # fmt: skip
