# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fifty modules that nobody here has written, torchvision's and transformers' own classes at small sizes: which import, what refuses the
others, and how far the results of all that import are from torch's.

    .venv/bin/python test/benchmarks/torch_modules.py [NAME ...]

The list was written before any of them was tried. Needs torch, torchvision and transformers.
"""

import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "build/release/python"), str(ROOT / "python")]

import torch  # noqa: E402
import torchvision  # noqa: E402
import transformers  # noqa: E402

import shoal.torch as st  # noqa: E402
from shoal.errors import ShoalError  # noqa: E402

PICTURES = [
    "alexnet", "vgg11", "resnet18", "resnext50_32x4d", "wide_resnet50_2", "densenet121", "squeezenet1_1", "mobilenet_v2", "mobilenet_v3_small",
    "efficientnet_b0", "efficientnet_v2_s", "shufflenet_v2_x0_5", "googlenet", "inception_v3", "mnasnet0_5", "regnet_y_400mf", "convnext_tiny",
    "swin_t", "swin_v2_t", "vit_b_32", "maxvit_t",
]  # fmt: skip
SEGMENTATION = ["fcn_resnet50", "deeplabv3_mobilenet_v3_large", "lraspp_mobilenet_v3_large"]
VIDEO = ["r3d_18"]

_TEXT = {"vocab_size": 96, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48, "max_position_embeddings": 64}
_HEADS = {**_TEXT, "num_key_value_heads": 2, "head_dim": 8, "use_cache": False}
TEXTS = {
    "Bert": ("BertModel", _TEXT), "Roberta": ("RobertaModel", _TEXT | {"pad_token_id": 1}), "Electra": ("ElectraModel", _TEXT | {"embedding_size": 32}),
    "Albert": ("AlbertModel", _TEXT | {"embedding_size": 16}), "DebertaV2": ("DebertaV2Model", _TEXT), "DistilBert":
    ("DistilBertModel", {"vocab_size": 96, "dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 48, "max_position_embeddings": 64}),
    "MPNet": ("MPNetModel", _TEXT), "GPTNeoX": ("GPTNeoXForCausalLM", _TEXT | {"use_cache": False}), "OPT":
    ("OPTForCausalLM", {"vocab_size": 96, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "ffn_dim": 48, "word_embed_proj_dim": 32,
                        "max_position_embeddings": 64, "use_cache": False}),
    "Bloom": ("BloomForCausalLM", {"vocab_size": 96, "hidden_size": 32, "n_layer": 2, "n_head": 4, "use_cache": False}), "Falcon":
    ("FalconForCausalLM", {"vocab_size": 96, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "use_cache": False}),
    "Phi": ("PhiForCausalLM", _TEXT | {"use_cache": False}), "Mistral": ("MistralForCausalLM", _HEADS | {"sliding_window": 6}), "Qwen2":
    ("Qwen2ForCausalLM", _HEADS), "Gemma2": ("Gemma2ForCausalLM", _HEADS | {"sliding_window": 6}), "Granite": ("GraniteForCausalLM", _HEADS),
    "Cohere": ("CohereForCausalLM", _HEADS), "Starcoder2": ("Starcoder2ForCausalLM", _HEADS), "StableLm": ("StableLmForCausalLM", _TEXT | {"num_key_value_heads": 4, "use_cache": False}),
    "Mamba": ("MambaForCausalLM", {"vocab_size": 96, "hidden_size": 32, "num_hidden_layers": 2, "state_size": 8, "use_cache": False}), "GraniteMoe":
    ("GraniteMoeForCausalLM", _HEADS | {"num_local_experts": 4, "num_experts_per_tok": 2}), "Glm4Moe":
    ("Glm4MoeForCausalLM", _HEADS | {"n_routed_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 24, "first_k_dense_replace": 1}),
}  # fmt: skip
OTHERS = {
    "CLIPVision": ("CLIPVisionModel", {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4, "image_size": 32, "patch_size": 8}),
    "Dinov2": ("Dinov2Model", {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "image_size": 32, "patch_size": 8}),
    "Wav2Vec2": ("Wav2Vec2Model", {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4, "conv_dim": (16, 16),
                                   "conv_kernel": (10, 3), "conv_stride": (5, 2), "num_feat_extract_layers": 2, "num_conv_pos_embeddings": 8,
                                   "num_conv_pos_embedding_groups": 2}),
}  # fmt: skip


def vision(maker, name):
    def make():
        options = {"weights": None, **({"weights_backbone": None} if maker is torchvision.models.segmentation else {})}
        size = 224 if name in ("maxvit_t", "vit_b_32") else 96 if name == "inception_v3" else 64
        picture = torch.randn(1, 3, 4, 32, 32) if maker is torchvision.models.video else torch.randn(1, 3, size, size)
        return getattr(maker, name)(**options).eval(), (picture,), {}

    return make


def text(kind, fields, **given):
    def make():
        config = getattr(transformers, kind).config_class(**fields)
        model = getattr(transformers, kind)(config).eval()
        if hasattr(model, "set_experts_implementation") and "experts" in str(fields):
            model.set_experts_implementation("grouped_mm")
        return model, (), given or {"input_ids": torch.arange(12).reshape(1, 12) * 7 % 96}

    return make


def modules():
    found = {name: vision(torchvision.models, name) for name in PICTURES}
    found |= {name: vision(torchvision.models.segmentation, name) for name in SEGMENTATION}
    found |= {name: vision(torchvision.models.video, name) for name in VIDEO}
    found |= {name: text(kind, fields) for name, (kind, fields) in TEXTS.items()}
    pictures, sound = {"pixel_values": torch.randn(1, 3, 32, 32)}, {"input_values": torch.randn(1, 400)}
    return found | {name: text(kind, fields, **(sound if name == "Wav2Vec2" else pictures)) for name, (kind, fields) in OTHERS.items()}


def tried(make):
    """A line of what becomes of a module."""
    torch.manual_seed(0)
    module, args, kwargs = make()
    begin = time.perf_counter()
    try:
        exe = st.compile(module, args, kwargs)
    except ShoalError as error:
        return f"refused: {str(error).splitlines()[0]}"
    seconds = time.perf_counter() - begin
    with torch.no_grad():
        expected = [t for t in torch.utils._pytree.tree_leaves(module(*args, **kwargs)) if isinstance(t, torch.Tensor)]
    actual = [t for t in torch.utils._pytree.tree_leaves(exe(*args, **kwargs)) if isinstance(t, torch.Tensor)]
    error = max((((a - b).abs().max() / b.abs().max().clamp(min=1e-30)).item() for a, b in zip(actual, expected, strict=True)), default=0.0)
    return f"imported: {error:.1e} of the largest, {seconds:.0f} s"


def main(names):
    made = modules()
    for name in names or made:
        try:
            line = tried(made[name])
        except Exception as error:
            line = f"failed: {type(error).__name__}: {(str(error) or '-').splitlines()[0]}"
        print(f"{name}: {line}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
