#!/usr/bin/env python3
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes the files beside it: tiny random models of seven families, by transformers.

Usage: make.py

Needs torch and transformers, which no test does. FAMILY.json has the configuration and how it was
made, FAMILY.npz what `save_pretrained` writes ("w:NAME"), the gradients of the mean cross entropy of next
tokens under the same names ("g:NAME"), tokens and logits, all in float32.
"""

import copy
import json
import tempfile
from pathlib import Path

import numpy as np
import torch
import transformers
from safetensors.numpy import load_file

HERE = Path(__file__).resolve().parent
BASE = {
    "vocab_size": 24, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "intermediate_size": 12, "hidden_act": "silu", "num_experts_per_tok": 2,
    "max_position_embeddings": 64, "initializer_range": 0.3, "tie_word_embeddings": False,
    "pad_token_id": None,  # whose embedding would have no gradient
}  # fmt: skip
LATENT = {
    "kv_lora_rank": 6, "qk_nope_head_dim": 4, "qk_rope_head_dim": 4, "v_head_dim": 5, "n_group": 4,
    "topk_group": 2, "n_routed_experts": 8, "n_shared_experts": 1, "moe_intermediate_size": 6,
    "first_k_dense_replace": 1, "routed_scaling_factor": 2.5, "num_key_value_heads": 4,
}  # fmt: skip
YARN = {
    "rope_type": "yarn", "rope_theta": 10000.0, "factor": 4.0, "mscale": 1.0, "mscale_all_dim": 0.7,
    "original_max_position_embeddings": 16, "beta_fast": 32, "beta_slow": 1,
}  # fmt: skip
FAMILIES = {
    "mixtral": {"num_local_experts": 4, "sliding_window": 5, "tie_word_embeddings": True},
    "qwen2_moe": {"num_experts": 4, "moe_intermediate_size": 6, "shared_expert_intermediate_size": 10,
                  "mlp_only_layers": [0], "norm_topk_prob": False},
    "qwen3_moe": {"num_experts": 4, "moe_intermediate_size": 6, "head_dim": 6, "norm_topk_prob": True},
    "olmoe": {"num_experts": 4, "clip_qkv": 0.8,
              "rope_parameters": {"rope_type": "llama3", "rope_theta": 500.0, "factor": 4.0,
                                  "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                                  "original_max_position_embeddings": 16}},
    "deepseek_v2": {**LATENT, "q_lora_rank": None, "topk_method": "group_limited_greedy"},
    "deepseek_v3": {**LATENT, "q_lora_rank": 6, "norm_topk_prob": True, "rope_parameters": YARN},
    "gpt_oss": {"num_local_experts": 4, "head_dim": 6, "sliding_window": 4,
                "rope_parameters": {**YARN, "truncate": False, "mscale": None, "mscale_all_dim": None}},
}  # fmt: skip


def saved(model):
    """What the model's file has."""
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        return load_file(Path(folder) / "model.safetensors")


def make(family, fields):
    torch.manual_seed(7)
    config = transformers.AutoConfig.for_model(family, **{**BASE, **fields})
    config._attn_implementation = "eager"
    model = transformers.AutoModelForCausalLM.from_config(config).float().eval()
    model.set_experts_implementation("eager")
    for name, buffer in list(model.named_buffers()):
        if "e_score_correction_bias" in name:
            buffer += 0.1 * torch.randn_like(buffer)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.unique().numel() == 1 or "sinks" in name or "bias" in name:
                parameter += 0.3 * torch.randn_like(parameter)
    tokens = torch.randint(0, config.vocab_size, (2, 12))
    logits = model(tokens).logits
    losses = torch.nn.functional.cross_entropy(logits[:, :-1].reshape(-1, config.vocab_size), tokens[:, 1:].reshape(-1))
    losses.backward()
    gradients = copy.deepcopy(model)
    with torch.no_grad():
        for parameter, source in zip(gradients.parameters(), model.parameters()):
            parameter.copy_(torch.zeros_like(source) if source.grad is None else source.grad)
    arrays = {f"w:{name}": array for name, array in saved(model).items()}
    arrays |= {f"g:{name}": array for name, array in saved(gradients).items()}
    arrays |= {"tokens": tokens.numpy().astype(np.int32), "logits": logits.detach().numpy()}
    np.savez_compressed(HERE / f"{family}.npz", **arrays)
    made_by = f"torch {torch.__version__}, transformers {transformers.__version__}"
    text = json.dumps({"made by": made_by, "config": config.to_dict()}, indent=1, default=str)
    (HERE / f"{family}.json").write_text(text + "\n")
    print(family, len(arrays), (HERE / f"{family}.npz").stat().st_size)


if __name__ == "__main__":
    for name, values in FAMILIES.items():
        make(name, values)
