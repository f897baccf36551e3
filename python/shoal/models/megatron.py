# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What Megatron-LM's command line says of a decoder: its layers, heads and positions, beside its experts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shoal.errors import InputError, UnsupportedError
from shoal.models.config import ModelConfig
from shoal.models.rope import Rope, rope_of
from shoal.moe import megatron
from shoal.moe.config import MoeConfig
from shoal.moe.megatron import Flags, number, one, size, switched
from shoal.moe.megatron_flags import MODEL, REFUSED_LAYERS, WITHOUT_EFFECT

__all__ = ["MODEL_FLAGS", "REFUSED_MODEL_FLAGS", "model_config"]

# Of each flag that is read, what it becomes.
MODEL_FLAGS = {
    "add-qkv-bias": "qkv_bias",
    "disable-bias-linear": "out_bias and qkv_bias, False without --add-qkv-bias",
    "ffn-hidden-size": "intermediate_size of layers without experts",
    "group-query-attention": "num_key_value_heads, with --num-query-groups",
    "hidden-size": "hidden_size",
    "kv-channels": "head_dim",
    "layernorm-epsilon": "rms_norm_eps",
    "norm-epsilon": "rms_norm_eps",
    "normalization": "RMSNorm, which has to be said",
    "num-attention-heads": "num_attention_heads",
    "num-layers": "the number of layers",
    "num-query-groups": "num_key_value_heads",
    "padded-vocab-size": "vocab_size, in front of --vocab-size",
    "position-embedding-type": "rope, which has to be said",
    "qk-layernorm": 'qk_norm="head"',
    "rope-scaling-factor": "the factor of --use-rope-scaling, 8 without it",
    "rotary-base": "rope_theta, 10000 without it",
    "rotary-interleaved": "rope_interleave",
    "rotary-percent": "1.0: all elements of a head turn",
    "softmax-type": "sinks, of learnable; vanilla has none",
    "untie-embeddings-and-output-weights": "tie_word_embeddings=False",
    "use-rope-scaling": "Llama 3's stretched rope",
    "use-rotary-position-embeddings": "--position-embedding-type rope",
    "vocab-size": "vocab_size",
    "window-attn-skip-freq": "which layers have no window: each of so many",
    "window-size": "windows, of the tokens before one and itself",
}
_NO_DROPOUT = ("attention-dropout", "hidden-dropout")
_IDLE = {
    "make-vocab-size-divisible-by": "any vocabulary is divided over devices",
    "max-position-embeddings": "turned positions have no last one",
    "no-position-embedding": "positions turn, and none is added",
}
REFUSED_MODEL_FLAGS = {
    **REFUSED_LAYERS,
    **{
        name: "decoders have no counterpart"
        for name, why in WITHOUT_EFFECT.items()
        if why == MODEL and name not in MODEL_FLAGS and name not in _NO_DROPOUT and name not in _IDLE
    },
    "multi-latent-attention": "give the model's config.json to from_config",
}


def model_config(arguments: str | Sequence[str], vocab_size: int | None) -> ModelConfig:
    """UnsupportedError names a flag, or a default of Megatron-LM's, that there is no counterpart of; TraceError a flag
    that is missing or whose value is none; each other flag is warned of as by `MoeConfig.from_megatron`."""
    flags = megatron.known_flags(arguments, REFUSED_MODEL_FLAGS, (*MODEL_FLAGS, *_NO_DROPOUT, *_IDLE))
    _check_kind(flags)
    _warn_idle(flags)
    count, heads = number(flags, "num-layers"), number(flags, "num-attention-heads")
    width = number(flags, "hidden-size")
    has_bias = not switched(flags, "disable-bias-linear")
    head = number(flags, "kv-channels") if "kv-channels" in flags else _part(width, heads)
    moe = _experts(flags, count)
    layers = moe.layers(count)
    if has_bias and not all(layers):
        raise UnsupportedError("from_megatron: dense networks have no biases: give --disable-bias-linear")
    return ModelConfig(
        family="megatron",
        vocab_size=_vocabulary(flags, vocab_size),
        hidden_size=width,
        num_attention_heads=heads,
        num_key_value_heads=_groups(flags, heads),
        head_dim=head,
        rms_norm_eps=_epsilon(flags),
        rope=_rope(flags, head),
        windows=_windows(flags, count),
        moe=moe,
        moe_layers=layers,
        intermediate_size=megatron.hidden_of(flags),
        qkv_bias=switched(flags, "add-qkv-bias") or has_bias,
        out_bias=has_bias,
        qk_norm="head" if switched(flags, "qk-layernorm") else None,
        sinks=_has_sinks(flags),
        rope_interleave=switched(flags, "rotary-interleaved"),
        tie_word_embeddings=not switched(flags, "untie-embeddings-and-output-weights"),
        balance_over_layers="sum",  # each layer's loss is added to the gradients
    )


def _check_kind(flags: Flags) -> None:
    """Of what Megatron-LM has by default and there is none of here: it has to be said that it is not meant."""
    if _word(flags, "normalization", "LayerNorm") != "RMSNorm":
        raise UnsupportedError("from_megatron: --normalization LayerNorm, its default; expected RMSNorm")
    is_rope = switched(flags, "use-rotary-position-embeddings")
    kind = _word(flags, "position-embedding-type", "rope" if is_rope else "learned_absolute")
    if kind != "rope":
        raise UnsupportedError(f"from_megatron: --position-embedding-type {kind}; expected rope")
    if "rotary-percent" in flags and number(flags, "rotary-percent", float) != 1:
        raise UnsupportedError("from_megatron: --rotary-percent: heads of which a part turns; expected 1.0")


def _warn_idle(flags: Flags) -> None:
    """Also of the dropout that Megatron-LM has where no flag says that there is none."""
    dropped = [f"--{name}" for name in _NO_DROPOUT if name not in flags or number(flags, name, float)]
    if dropped:
        megatron.warn_idle(dropped, "there is no dropout; of 0 it is the same model")
    for name, why in _IDLE.items():
        if name in flags:
            megatron.warn_idle([f"--{name}"], why)


def _experts(flags: Flags, layers: int) -> MoeConfig:
    """Of a model without experts one stands for the networks of its layers."""
    if "num-experts" in flags:
        return MoeConfig.flat(**megatron.fields_of(flags))
    beside = {"num-experts": ["1"], "moe-router-topk": ["1"], "moe-router-pre-softmax": []}
    kept = {name: words for name, words in flags.items() if not name.startswith("moe-")}
    return MoeConfig.flat(**{**megatron.fields_of({**kept, **beside}), "moe_layer_freq": (0,) * layers})


def _vocabulary(flags: Flags, given: int | None) -> int:
    if given is not None:
        return given
    if "padded-vocab-size" in flags or "vocab-size" in flags:
        return size(flags, "padded-vocab-size" if "padded-vocab-size" in flags else "vocab-size")
    raise InputError("from_megatron: the vocabulary is the tokenizer's: give vocab_size=, or --vocab-size")


def _part(width: int, heads: int) -> int:
    if width % heads:
        raise InputError(f"from_megatron: --hidden-size {width} is not divisible by --num-attention-heads {heads}")
    return width // heads


def _groups(flags: Flags, heads: int) -> int:
    groups = size(flags, "num-query-groups") if switched(flags, "group-query-attention") else heads
    if heads % groups:
        raise InputError(f"from_megatron: --num-attention-heads {heads} is not divisible by --num-query-groups {groups}")
    return groups


def _epsilon(flags: Flags) -> float:
    name = "norm-epsilon" if "norm-epsilon" in flags else "layernorm-epsilon"
    return number(flags, name, float) if name in flags else 1e-5


def _rope(flags: Flags, head: int) -> Rope:
    options: dict[str, Any] = {"rope_theta": number(flags, "rotary-base", float) if "rotary-base" in flags else 10000.0}
    if switched(flags, "use-rope-scaling"):
        factor = number(flags, "rope-scaling-factor", float) if "rope-scaling-factor" in flags else 8.0
        options["rope_scaling"] = {
            "rope_type": "llama3", "factor": factor, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
            "original_max_position_embeddings": 8192,
        }  # fmt: skip
    return rope_of(options, head)


def _windows(flags: Flags, layers: int) -> tuple[int | None, ...]:
    """"(127,0)": 127 tokens before one, and none behind it."""
    if "window-size" not in flags:
        return (None,) * layers
    words = " ".join(flags["window-size"]).strip("()").replace(",", " ").split()
    if len(words) != 2 or not words[0].isdigit() or words[1] != "0":
        raise UnsupportedError(f"from_megatron: --window-size {' '.join(flags['window-size'])}; expected N,0")
    window = int(words[0]) + 1
    skip = size(flags, "window-attn-skip-freq") if "window-attn-skip-freq" in flags else 0
    return tuple(None if skip and (layer + 1) % skip == 0 else window for layer in range(layers))


def _has_sinks(flags: Flags) -> bool:
    kind = _word(flags, "softmax-type", "vanilla")
    if kind not in ("vanilla", "learnable"):
        raise UnsupportedError(f"from_megatron: --softmax-type {kind}; expected vanilla or learnable")
    return kind == "learnable"


def _word(flags: Flags, name: str, default: str) -> str:
    return one(flags, name) if name in flags else default
