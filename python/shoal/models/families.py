# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From a `config.json` of Hugging Face's transformers to a `ModelConfig`."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from shoal.errors import CheckpointError, InputError, TraceError, UnsupportedError
from shoal.models.config import Chunk, LatentAttention, ModelConfig, Temperature, Window
from shoal.models.published import PUBLISHED
from shoal.models.rope import rope_of
from shoal.moe.config import MoeConfig
from shoal.moe.flat import FLAT
from shoal.names import nearest
from shoal.moe.schemas import ALIASES, CLASSES, SCHEMAS, SIZES, ConfigFile, checked, family_of

__all__ = ["Read", "made_of", "model_config_of", "published_config", "read_config"]


class Read(NamedTuple):
    """A model's configuration, the fields of its config.json, and those of `MoeConfig` that were given beside it."""

    config: ModelConfig
    file: dict[str, Any]
    moe: dict[str, Any]


def made_of(file: Mapping[str, Any], given: Mapping[str, Any], place: str = "") -> Read:
    """Of a config.json, and fields that stand in place of its own: by the names that its family has in a file, or, of
    experts, by those of `MoeConfig`.

    InputError names a field that neither has, with the nearest; else as of `model_config_of`.
    """
    if not isinstance(file, Mapping):
        return Read(model_config_of(file, place), {}, {})  # which says so
    known = SCHEMAS.get(family_of(file), {})
    own = {*FLAT}
    for name in file:
        if known and name in own and name not in known and name not in ALIASES:
            raise UnsupportedError(
                f"{place}from_config: {name} is no field of {file['model_type']}'s files: give it as a keyword, {name}="
            )
    for name in given:
        if name not in known and name not in ALIASES and name not in own:
            raise InputError(f"from_config: {name}= is no field{nearest(name, [*known, *ALIASES, *own])}")
    of_file = {ALIASES.get(name, name): value for name, value in given.items() if name in known or name in ALIASES}
    kept = {name: value for name, value in file.items() if ALIASES.get(name, name) not in of_file}
    of_moe = {name: value for name, value in given.items() if name in own and name not in of_file}
    made = {**kept, **of_file}
    return Read(model_config_of(made, place, of_moe), made, of_moe)


def read_config(config: Mapping[str, Any] | str | os.PathLike[str]) -> tuple[Mapping[str, Any], str]:
    """The fields of a `config.json`, given as they are, as the file or its folder or as a published model's name, and what errors begin with: the
    file's name. CheckpointError where it is missing or no JSON."""
    if isinstance(config, Mapping):
        return config, ""
    if not isinstance(config, (str, os.PathLike)):
        raise InputError(
            f"from_config: expected the fields of a config.json, its file or folder, or a model's name; got {config!r:.60}"
        )
    if config in PUBLISHED:
        return PUBLISHED[config], ""
    file = Path(config)
    file = file / "config.json" if file.is_dir() else file
    try:
        return json.loads(file.read_bytes()), f"{file}: "
    except FileNotFoundError:
        names = "" if file.suffix == ".json" or file.parent != Path() else f", and no published model: {', '.join(sorted(PUBLISHED))}"
        raise CheckpointError(f"{file}: is missing{names}") from None
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise CheckpointError(f"{file}: is no JSON: {error}") from None


def model_config_of(
    config: Mapping[str, Any], place: str = "", of_moe: Mapping[str, Any] | None = None
) -> ModelConfig:
    """UnsupportedError names a family, a field or a value that there is no counterpart of, InputError a value that
    its field may not have (`shoal.moe.schemas`), TraceError fields without a meaning together; each behind `place`.

    of_moe: fields of `MoeConfig` in place of those that the file makes."""
    try:
        return _model_config(checked(config), of_moe or {})
    except (InputError, TraceError, UnsupportedError) as error:
        raise type(error)(f"{place}{error}") from None


def _model_config(file: ConfigFile, of_moe: Mapping[str, Any]) -> ModelConfig:
    moe = MoeConfig.from_hf(file, **of_moe)
    family, layers, heads = file.family, file["num_hidden_layers"], file["num_attention_heads"]
    latent = _latent(file) if family.startswith("deepseek") else None
    shared = file["num_key_value_heads"] or heads
    size = _head_size(file, heads, latent)
    turning = latent.rope if latent else size
    _check_heads(file, heads, shared, turning)
    return ModelConfig(
        family=family,
        vocab_size=file["vocab_size"],
        hidden_size=file["hidden_size"],
        num_attention_heads=heads,
        num_key_value_heads=shared,
        head_dim=size,
        rms_norm_eps=float(file["rms_norm_eps"]),
        rope=rope_of(file, turning, partly=family == "glm4_moe"),
        windows=_chunks(file, layers) if family == "llama4_text" else _windows(file, layers),
        moe=moe,
        moe_layers=moe.layers(layers),
        intermediate_size=file["intermediate_size_mlp" if family == "llama4_text" else "intermediate_size"],
        latent=latent,
        rope_interleave=family == "llama4_text" or latent is not None and file["rope_interleave"],
        tie_word_embeddings=file["tie_word_embeddings"],
        # DeepSeek's own code adds each layer's loss; transformers' counts all layers' tokens as one layer's.
        balance_over_layers="sum" if latent else "mean",
        num_nextn_predict_layers=file.get("num_nextn_predict_layers", 0),
        weight_block_size=_block_size(file["quantization_config"] or {}),
        **_pieces(file, family),
    )


def _block_size(quantized: Mapping[str, Any]) -> tuple[int, int]:
    """Of float8. UnsupportedError names a method whose files `shoal.models.packed` does not read."""
    method, size = quantized.get("quant_method"), quantized.get("weight_block_size")
    if quantized and method not in _METHODS:
        raise UnsupportedError(
            f'from_config: quantization_config: quant_method "{method}" is not one of {list(_METHODS)}'
        )
    if size is None:
        return (128, 128)
    if not SIZES.holds(size) or len(size) != 2:
        raise InputError(f"from_config: quantization_config: weight_block_size {size!r}: expected [rows, columns]")
    return (size[0], size[1])


_METHODS = ("fp8", "mxfp4")


def _head_size(file: ConfigFile, heads: int, latent: LatentAttention | None) -> int:
    if latent is not None:
        return latent.nope + latent.rope
    if file["head_dim"] is None and file["hidden_size"] % heads:
        raise InputError(
            f"from_config: hidden_size {file['hidden_size']} is not divisible by num_attention_heads {heads},"
            " and there is no head_dim"
        )
    return file["head_dim"] or file["hidden_size"] // heads


def _check_heads(file: ConfigFile, heads: int, shared: int, turning: int) -> None:
    if heads % shared:
        raise UnsupportedError(
            f"from_config: num_attention_heads {heads} is not divisible by num_key_value_heads {shared}"
        )
    if turning % 2:
        name = "qk_rope_head_dim" if "qk_rope_head_dim" in file else "head_dim"
        given = "" if file.says(name) else ", which is hidden_size / num_attention_heads"
        raise UnsupportedError(f"from_config: {name} {turning}{given}: elements turn in pairs; expected an even number")


def _pieces(file: ConfigFile, family: str) -> dict[str, Any]:
    """What one family has and others have not."""
    if family == "qwen2":
        return {"qkv_bias": True}
    if family == "qwen2_moe":
        return {"qkv_bias": file["qkv_bias"]}
    bias = file["attention_bias"]
    if family == "llama":
        return {"qkv_bias": bias, "out_bias": bias}
    if family in ("qwen3", "qwen3_moe"):
        return {"qk_norm": "head", "qkv_bias": bias, "out_bias": bias}
    if family == "olmoe":
        return {"qk_norm": "all", "clip_qkv": file["clip_qkv"], "qkv_bias": bias, "out_bias": bias}
    if family == "glm4_moe":
        return {"qk_norm": "head" if file["use_qk_norm"] else None, "qkv_bias": bias}
    if family == "llama4_text":
        warms = Temperature(file["floor_scale"], float(file["attn_scale"]))
        return {
            "qk_norm": "turned" if file["use_qk_norm"] else None, "qkv_bias": bias, "out_bias": bias,
            "rope_in_windows": True, "temperature": warms if file["attn_temperature_tuning"] else None,
        }  # fmt: skip
    if family == "gpt_oss":
        return {"sinks": True, "qkv_bias": bias, "out_bias": bias}
    if bias:
        raise UnsupportedError(f"from_config: attention_bias of {family}")
    return {}


def _windows(file: ConfigFile, layers: int) -> tuple[int | None, ...]:
    """Of each layer, of `sliding_window` and what says which layers have it."""
    window = file.get("sliding_window") if file.get("use_sliding_window", True) else None
    if window is not None and window < 1:
        raise UnsupportedError(f"from_config: sliding_window {window}: a token looks at itself at least")
    kinds = _kinds(file, layers, window)
    if window is None and "sliding_attention" in kinds:
        raise UnsupportedError("from_config: layer_types has sliding_attention, and there is no sliding_window")
    return tuple(window if kind == "sliding_attention" else None for kind in kinds)


def _chunks(file: ConfigFile, layers: int) -> tuple[Window, ...]:
    """Of each layer: those with positions attend in chunks, the others to all places."""
    step, turn, kinds = file["no_rope_layer_interval"], file["no_rope_layers"], file["layer_types"]
    turns = [bool(x) for x in turn] if turn else [(i + 1) % step != 0 for i in range(layers)]
    if len(turns) < layers:
        raise UnsupportedError(f"from_config: no_rope_layers of {len(turns)} layers, num_hidden_layers {layers}")
    expected = ["chunked_attention" if x else "full_attention" for x in turns[:layers]]
    if kinds is not None and list(kinds) != expected:
        raise UnsupportedError(
            "from_config: layer_types: expected chunked_attention in layers with positions (no_rope_layers,"
            " no_rope_layer_interval), full_attention in the others"
        )
    return tuple(Chunk(file["attention_chunk_size"]) if x else None for x in turns[:layers])


def _kinds(file: ConfigFile, layers: int, window: int | None) -> list[str]:
    kinds, family = file["layer_types"], file.family
    unknown = sorted(set(kinds or ()) - {"full_attention", "sliding_attention"})
    if unknown:
        raise UnsupportedError(f"from_config: layer_types {unknown}")
    if kinds is not None and len(kinds) != layers:
        raise UnsupportedError(f"from_config: layer_types of {len(kinds)} layers, num_hidden_layers {layers}")
    if kinds is not None:
        all_like = "full_attention" if window is None else "sliding_attention"
        if family in ("mistral", "mixtral") and set(kinds) != {all_like}:
            raise UnsupportedError(f"from_config: layer_types of {family}; expected {all_like!r} in all layers")
        return list(kinds)
    if window is None:
        return ["full_attention"] * layers
    if family == "gpt_oss":
        return ["full_attention" if i % 2 else "sliding_attention" for i in range(layers)]
    first = file["max_window_layers"] if family.startswith("qwen") else 0
    return ["sliding_attention" if i >= first else "full_attention" for i in range(layers)]


def _latent(file: ConfigFile) -> LatentAttention:
    if file["num_key_value_heads"] not in (None, file["num_attention_heads"]):
        raise UnsupportedError(
            f"from_config: num_key_value_heads {file['num_key_value_heads']} of {file.family}; expected"
            f" num_attention_heads {file['num_attention_heads']}: latent keys are of all heads"
        )
    return LatentAttention(
        q_rank=file["q_lora_rank"],
        kv_rank=file["kv_lora_rank"],
        nope=file["qk_nope_head_dim"],
        rope=file["qk_rope_head_dim"],
        value=file["v_head_dim"],
    )


def published_config(config: Mapping[str, Any], dtype: str) -> dict[str, Any]:
    """What stands beside weights of this type that are written with `config`'s names: it, without what is said of
    weights of few bits and of layers that are not written, and with the class that transformers has of the family."""
    made = {"architectures": [CLASSES[family_of(config)]], **config}
    made.pop("quantization_config", None)
    if made.get("num_nextn_predict_layers"):
        made["num_nextn_predict_layers"] = 0
    names = [name for name in ("dtype", "torch_dtype") if name in made] or ["dtype"]
    return {**made, **dict.fromkeys(names, dtype)}
