# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models of transformers, tiny and random, that tests import. Needs transformers."""

import torch
import transformers

VOCABULARY = 96
_SHARED = {
    "vocab_size": VOCABULARY, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "max_position_embeddings": 64, "head_dim": 8,
}  # fmt: skip
_EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 24}

DECODERS = {
    "Llama": _SHARED,
    "Mixtral": _SHARED | {"num_local_experts": 4, "num_experts_per_tok": 2},
    "Qwen2Moe": _SHARED | _EXPERTS | {"shared_expert_intermediate_size": 24, "decoder_sparse_step": 1},
    "Qwen3Moe": _SHARED | _EXPERTS | {"decoder_sparse_step": 1},
    "Olmoe": _SHARED | {"num_experts": 4, "num_experts_per_tok": 2},
    "DeepseekV3": _SHARED | {
        "moe_intermediate_size": 24, "n_routed_experts": 8, "num_experts_per_tok": 2, "n_group": 2, "topk_group": 1, "q_lora_rank": 16,
        "kv_lora_rank": 16, "qk_nope_head_dim": 8, "qk_rope_head_dim": 4, "v_head_dim": 8, "first_k_dense_replace": 1, "num_key_value_heads": 4, "head_dim": 4,
    },
    "GptOss": _SHARED | {"num_local_experts": 4, "num_experts_per_tok": 2, "sliding_window": 8, "layer_types": ["sliding_attention", "full_attention"]},
    "GPT2": {"vocab_size": VOCABULARY, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64},
}  # fmt: skip
# Those that have experts, by which functions can compute them.
SPARSE = ("Mixtral", "Qwen2Moe", "Qwen3Moe", "Olmoe", "DeepseekV3", "GptOss")


def decoder(name, attention="sdpa", experts=None, **fields):
    """A causal language model in evaluation mode, with the numbers of seed 0."""
    torch.manual_seed(0)
    head = "LMHeadModel" if name == "GPT2" else "ForCausalLM"
    fields = DECODERS[name] | fields
    if "layer_types" in fields:
        fields["layer_types"] = fields["layer_types"][: fields["num_hidden_layers"]]
    config = getattr(transformers, f"{name}Config")(**fields, use_cache=False)
    config._attn_implementation = attention
    model = getattr(transformers, f"{name}{head}")(config).eval()
    if experts is not None:
        model.set_experts_implementation(experts)
    return model


def others(attention="sdpa"):
    """Models of other kinds, with the arguments of a call. attention: "eager" or "sdpa", of those that have some."""
    torch.manual_seed(0)
    implementation = {"attn_implementation": attention}
    sizes = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4}
    ids = torch.arange(12).reshape(1, 12) * 7 % VOCABULARY
    t5 = {"vocab_size": VOCABULARY, "d_model": 32, "d_ff": 48, "d_kv": 8, "num_layers": 2, "num_heads": 4, "use_cache": False}
    pictures = torch.randn(1, 3, 32, 32)
    return {
        "BERT": (transformers.BertModel(transformers.BertConfig(vocab_size=VOCABULARY, **sizes, **implementation)), {"input_ids": ids}),
        "T5": (transformers.T5ForConditionalGeneration(transformers.T5Config(**t5, **implementation)), {"input_ids": ids, "decoder_input_ids": ids[:, :5]}),
        "ViT": (transformers.ViTModel(transformers.ViTConfig(image_size=32, patch_size=8, **sizes, **implementation)), {"pixel_values": pictures}),
        "ResNet": (
            transformers.ResNetModel(transformers.ResNetConfig(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], layer_type="basic")),
            {"pixel_values": pictures},
        ),
    }  # fmt: skip


def tokens(rows=2, length=12):
    return torch.randint(0, VOCABULARY, (rows, length), generator=torch.Generator().manual_seed(1))
