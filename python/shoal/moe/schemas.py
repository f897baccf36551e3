# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The fields of a Hugging Face `config.json`, family by family: what each may be, what it is where a file leaves it
out, and what becomes of it. docs/guide/Configurations.md is made from these tables.

Names, kinds and defaults are those of transformers' configuration classes and of published files. A field that says
how large a model is has no default: a file that leaves it out would be of another model than its writer thought.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from shoal.errors import InputError, UnsupportedError
from shoal.laws import (
    ANYTHING, BASE, COUNT, FLAG, MAGNITUDE, NOT_NEGATIVE, NUMBER, PART, POSITIVE, SIZE, TABLE, TEXT, Law, integer,
    list_of, shown,
)  # fmt: skip
from shoal.names import nearest

__all__ = ["ALIASES", "CLASSES", "ROPE", "SCHEMAS", "SIZES", "ConfigFile", "Field", "checked", "family_of", "rope_options"]


_LAYERS = 10_000  # more than any model has; a number by mistake ends at once
LAYERS = integer(1, _LAYERS)
NUMBERS, SIZES, TEXTS, POSITIVES = map(list_of, (COUNT, SIZE, TEXT, POSITIVE))
COUNT_OR_FLAG = Law(f"true, false or {COUNT.what}", lambda x: FLAG.holds(x) or COUNT.holds(x))

NEEDED = object()


@dataclass(frozen=True)
class Field:
    """A field of a file.

    default: `NEEDED`, or what it is where it is left out, or null.
    null: null is a value of its own, None.
    only: the values that there is a counterpart of; None: all that the law allows.
    idle: why nothing depends on it; "": it is read.
    """

    law: Law
    default: Any = NEEDED
    null: bool = False
    only: tuple[Any, ...] | None = None
    idle: str = ""


def _only(law: Law, value: Any) -> Field:
    return Field(law, value, only=(value,))


_GENERATION = "there is no generation"
_OUTPUTS = "functions return what they say"
_ORIGIN = "it says where the file is from"
_TYPES = "parameters are of the types of their files, and train.step's compute= says in which is computed"
_HOW = "the compiler decides how"

# Of all families, those that nothing depends on.
_IDLE: dict[str, str] = {
    **dict.fromkeys(
        ("_commit_hash", "_name_or_path", "architectures", "auto_map", "name_or_path",
         "transformers_version", "unsloth_fixed", "unsloth_version"), _ORIGIN),
    **dict.fromkeys(("dtype", "torch_dtype"), _TYPES),
    **dict.fromkeys(
        ("_attn_implementation", "_attn_implementation_autoset", "_attn_implementation_internal",
         "_experts_implementation", "chunk_size_feed_forward", "ep_size", "pretraining_tp", "tf_legacy_loss",
         "torchscript", "use_bfloat16"), _HOW),
    **dict.fromkeys(
        ("bad_words_ids", "begin_suppress_tokens", "bos_token_id", "cross_attention_hidden_size",
         "decoder_start_token_id", "diversity_penalty", "do_sample", "early_stopping",
         "encoder_no_repeat_ngram_size", "eos_token_id", "exponential_decay_length_penalty", "forced_bos_token_id",
         "forced_eos_token_id", "is_decoder", "length_penalty", "max_length", "min_length", "no_repeat_ngram_size",
         "num_beam_groups", "num_beams", "num_return_sequences", "pad_token_id", "prefix",
         "remove_invalid_values", "repetition_penalty", "sep_token_id", "suppress_tokens", "task_specific_params",
         "temperature", "tokenizer_class", "top_k", "top_p", "typical_p", "use_cache"), _GENERATION),
    **dict.fromkeys(
        ("output_attentions", "output_hidden_states", "output_scores", "return_dict",
         "return_dict_in_generate"), _OUTPUTS),
    **dict.fromkeys(
        ("finetuning_task", "id2label", "label2id", "num_labels", "problem_type"), "there is no classifier"),
    **dict.fromkeys(("add_cross_attention", "pruned_heads", "tie_encoder_decoder"), "decoders alone"),
    "initializer_range": "model.init draws by the number of products that an element is a sum of",
    "output_router_logits": 'model.loss has the balance in any case; its metric "nll" is the loss without it',
}  # fmt: skip

_COMMON: dict[str, Field] = {
    **{name: Field(ANYTHING, None, idle=why) for name, why in _IDLE.items()},
    "model_type": Field(TEXT),
    "is_encoder_decoder": _only(FLAG, False),
    "vocab_size": Field(SIZE),
    "hidden_size": Field(SIZE),
    "intermediate_size": Field(SIZE),
    "num_hidden_layers": Field(LAYERS),
    "num_attention_heads": Field(SIZE),
    "num_key_value_heads": Field(SIZE, null=True),
    "head_dim": Field(SIZE, None),
    "hidden_act": Field(TEXT, "silu"),
    "rms_norm_eps": Field(POSITIVE, 1e-6),
    "max_position_embeddings": Field(SIZE, None),
    "original_max_position_embeddings": Field(SIZE, None),
    "rope_theta": Field(BASE, 10000.0),
    "rope_scaling": Field(TABLE, None),
    "rope_parameters": Field(TABLE, None),
    "partial_rotary_factor": Field(POSITIVE, 1.0),
    "layer_types": Field(TEXTS, None),
    "attention_bias": Field(FLAG, False),
    "attention_dropout": _only(NOT_NEGATIVE, 0.0),
    "tie_word_embeddings": Field(FLAG, False),
    "quantization_config": Field(TABLE, None),
    "num_experts": Field(SIZE),
    "num_experts_per_tok": Field(SIZE),
}
_LOSS = {"router_aux_loss_coef": Field(NOT_NEGATIVE, 0.001)}
_WINDOW = {"sliding_window": Field(COUNT, None, null=True)}
_QWEN_WINDOWS = {
    "sliding_window": Field(COUNT, 4096, null=True),
    "use_sliding_window": Field(FLAG, False),
    "max_window_layers": Field(COUNT, 28),
}
_DENSE = {name: field for name, field in _COMMON.items() if name not in ("num_experts", "num_experts_per_tok")}
_QWEN: dict[str, Field] = {
    **_COMMON,
    **_LOSS,
    **_QWEN_WINDOWS,
    "moe_intermediate_size": Field(SIZE),
    "decoder_sparse_step": Field(SIZE, 1),
    "mlp_only_layers": Field(NUMBERS, ()),
    "norm_topk_prob": Field(FLAG, False),
}
_DEEPSEEK: dict[str, Field] = {
    **_COMMON,
    "first_k_dense_replace": Field(COUNT, 0),
    "moe_intermediate_size": Field(SIZE),
    "n_shared_experts": Field(COUNT, 2, null=True),
    "n_group": Field(SIZE),
    "topk_group": Field(SIZE),
    "moe_layer_freq": _only(SIZE, 1),
    "routed_scaling_factor": Field(POSITIVE, 1.0),
    "aux_loss_alpha": Field(NOT_NEGATIVE, 0.0),
    "seq_aux": Field(FLAG, True),
    "q_lora_rank": Field(SIZE, null=True),
    "kv_lora_rank": Field(SIZE),
    "qk_nope_head_dim": Field(SIZE),
    "qk_rope_head_dim": Field(SIZE),
    "qk_head_dim": Field(SIZE, None, idle="it is qk_nope_head_dim + qk_rope_head_dim"),
    "head_dim": Field(SIZE, None, idle="queries and keys have qk_nope_head_dim + qk_rope_head_dim"),
    "v_head_dim": Field(SIZE),
    "rope_interleave": Field(FLAG, True),
    "mlp_bias": _only(FLAG, False),
    "num_nextn_predict_layers": Field(COUNT, 0),
}

SCHEMAS: dict[str, dict[str, Field]] = {
    "mixtral": {
        **_COMMON, **_LOSS, **_WINDOW,
        "rms_norm_eps": Field(POSITIVE, 1e-5),
        "rope_theta": Field(BASE, 1000000.0),
        "router_jitter_noise": Field(PART, 0.0),
    },
    "qwen2_moe": {
        **{name: field for name, field in _QWEN.items() if name != "attention_bias"},
        "qkv_bias": Field(FLAG, True),
        "shared_expert_intermediate_size": Field(SIZE),
    },
    "qwen3_moe": _QWEN,
    "olmoe": {
        **_COMMON,
        "rms_norm_eps": Field(POSITIVE, 1e-5),
        "router_aux_loss_coef": Field(NOT_NEGATIVE, 0.01),
        "norm_topk_prob": Field(FLAG, False),
        "clip_qkv": Field(POSITIVE, None, null=True),
        "num_key_value_heads": Field(SIZE, None, null=True),
    },
    "deepseek_v2": {
        **_DEEPSEEK,
        "num_key_value_heads": Field(SIZE, None, null=True),
        "n_group": Field(SIZE, None, null=True),
        "topk_group": Field(SIZE, None, null=True),
        "topk_method": Field(TEXT, "greedy", only=("greedy", "group_limited_greedy")),
        "scoring_func": _only(TEXT, "softmax"),
        "norm_topk_prob": Field(FLAG, False, idle="transformers divides by no sum in this family"),
    },
    "deepseek_v3": {
        **_DEEPSEEK,
        "topk_method": _only(TEXT, "noaux_tc"),
        "scoring_func": _only(TEXT, "sigmoid"),
        "norm_topk_prob": Field(FLAG, True),
        "routed_scaling_factor": Field(POSITIVE, 2.5),
        "first_k_dense_replace": Field(COUNT, 3),
        "n_shared_experts": Field(COUNT, 1, null=True),
    },
    "glm4_moe": {
        **_COMMON,
        "rms_norm_eps": Field(POSITIVE, 1e-5),
        "partial_rotary_factor": Field(POSITIVE, 0.5),
        "use_qk_norm": Field(FLAG, False),
        "first_k_dense_replace": Field(COUNT, 1),
        "moe_intermediate_size": Field(SIZE),
        "n_shared_experts": Field(COUNT, 1),
        "n_group": Field(SIZE, 1),
        "topk_group": Field(SIZE, 1),
        "norm_topk_prob": Field(FLAG, True),
        "routed_scaling_factor": Field(POSITIVE, 1.0),
        "topk_method": _only(TEXT, "noaux_tc"),
        "scoring_func": _only(TEXT, "sigmoid"),
        "num_nextn_predict_layers": Field(COUNT, 0),
    },
    "gpt_oss": {
        **_COMMON, **_LOSS,
        "sliding_window": Field(SIZE, 128, null=True),
        "rms_norm_eps": Field(POSITIVE, 1e-5),
        "rope_theta": Field(BASE, 150000.0),
        "attention_bias": Field(FLAG, True),
        "head_dim": Field(SIZE, 64),
        "swiglu_limit": Field(POSITIVE, 7.0),
        "swiglu_alpha": Field(NUMBER, 1.702),
        "initial_context_length": Field(SIZE, None, idle="rope_scaling has original_max_position_embeddings"),
    },
    "llama4_text": {
        **_COMMON, **_LOSS,
        "intermediate_size_mlp": Field(SIZE),
        "num_key_value_heads": Field(SIZE, None, null=True),
        "num_experts_per_tok": Field(SIZE, 1),
        "head_dim": Field(SIZE, 128),
        "rms_norm_eps": Field(POSITIVE, 1e-5),
        "rope_theta": Field(BASE, 500000.0),
        "moe_layers": Field(NUMBERS, None),
        "interleave_moe_layer_step": Field(SIZE, 1),
        "use_qk_norm": Field(FLAG, True),
        "no_rope_layers": Field(NUMBERS, None),
        "no_rope_layer_interval": Field(SIZE, 4),
        "attention_chunk_size": Field(SIZE, 8192),
        "attn_temperature_tuning": Field(COUNT_OR_FLAG, True),
        "floor_scale": Field(SIZE, 8192),
        "attn_scale": Field(NUMBER, 0.1),
        "router_jitter_noise": Field(PART, 0.0, idle="transformers draws none in this family"),
        "cache_implementation": Field(TEXT, None, idle=_GENERATION),
        "for_llm_compressor": Field(FLAG, False, idle=_HOW),
    },
    "llama": {
        **_DENSE,
        "num_key_value_heads": Field(SIZE, None, null=True),
        "mlp_bias": _only(FLAG, False),
        "sliding_window": Field(COUNT, None, idle="in transformers no layer of this family has a window"),
    },
    "mistral": {**_DENSE, "sliding_window": Field(COUNT, 4096, null=True)},
    "qwen2": {
        **{name: field for name, field in _DENSE.items() if name != "attention_bias"},
        **_QWEN_WINDOWS,
        "use_mrope": _only(FLAG, False),
    },
    "qwen3": {**_DENSE, **_QWEN_WINDOWS, "head_dim": Field(SIZE, 128)},
}  # fmt: skip

# Other names of a field, in newer files of a family or in older ones.
ALIASES = {
    "experts_per_token": "num_experts_per_tok",
    "n_routed_experts": "num_experts",
    "num_local_experts": "num_experts",
}

# Of `rope_scaling` and `rope_parameters`; the former may say "type".
ROPE: dict[str, Field] = {
    "rope_type": Field(TEXT, "default"),
    "type": Field(TEXT, None),
    "rope_theta": Field(BASE, None),
    "factor": Field(POSITIVE, None),
    "original_max_position_embeddings": Field(SIZE, None),
    "attention_factor": Field(POSITIVE, None),
    "beta_fast": Field(POSITIVE, None),
    "beta_slow": Field(POSITIVE, None),
    "truncate": Field(FLAG, None),
    "mscale": Field(MAGNITUDE, None),
    "mscale_all_dim": Field(MAGNITUDE, None),
    "low_freq_factor": Field(POSITIVE, None),
    "high_freq_factor": Field(POSITIVE, None),
    "short_factor": Field(POSITIVES, None),
    "long_factor": Field(POSITIVES, None),
    "partial_rotary_factor": Field(POSITIVE, None),
}
# What gpt-oss has where a file says nothing of positions.
_GPT_OSS_ROPE = {
    "rope_type": "yarn", "factor": 32.0, "beta_fast": 32.0, "beta_slow": 1.0, "truncate": False,
    "original_max_position_embeddings": 4096,
}  # fmt: skip


# The class that transformers has of each family.
CLASSES = {
    "deepseek_v2": "DeepseekV2ForCausalLM",
    "deepseek_v3": "DeepseekV3ForCausalLM",
    "glm4_moe": "Glm4MoeForCausalLM",
    "gpt_oss": "GptOssForCausalLM",
    "llama4_text": "Llama4ForCausalLM",
    "llama": "LlamaForCausalLM",
    "mistral": "MistralForCausalLM",
    "mixtral": "MixtralForCausalLM",
    "olmoe": "OlmoeForCausalLM",
    "qwen2": "Qwen2ForCausalLM",
    "qwen2_moe": "Qwen2MoeForCausalLM",
    "qwen3": "Qwen3ForCausalLM",
    "qwen3_moe": "Qwen3MoeForCausalLM",
}


class ConfigFile(Mapping[str, Any]):
    """A checked file: each field of its family by its name, or what it is where the file leaves it out, as of all
    fields that nothing depends on.

    UnsupportedError where one is missing that a model needs, when it is asked for.
    """

    def __init__(self, family: str, given: Mapping[str, Any]):
        self.family = family
        self._given = given
        self._schema = SCHEMAS[family]

    def __getitem__(self, name: str) -> Any:
        field = self._schema[name]
        found = field.default if field.idle else self._given.get(name, field.default)
        if found is NEEDED:
            raise UnsupportedError(f"from_hf: {name} is missing")
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._schema)

    def __len__(self) -> int:
        return len(self._schema)

    def says(self, name: str) -> bool:
        """Whether the file has the field, and not null."""
        return self._given.get(name) is not None


def family_of(config: Mapping[str, Any]) -> str:
    """The `model_type` of a config.json; where that is a publisher's own, as "kimi_k2", the one of the class that the file
    names for its architecture. "None" where there is none."""
    kind, classes = str(config.get("model_type")), config.get("architectures")
    families = {name: family for family, name in CLASSES.items()}
    named = str(classes[0]) if isinstance(classes, list) and classes else ""
    return kind if kind in SCHEMAS else families.get(named, kind)


def checked(config: Mapping[str, Any]) -> ConfigFile:
    """The fields of a `config.json`.

    UnsupportedError names a family, a field or a value that there is no counterpart of, an unknown field with the
    one that is nearest to it; InputError a value that a field may not have, with what it may be.
    """
    if isinstance(config, ConfigFile):
        return config
    if not isinstance(config, Mapping):
        raise InputError(f"from_hf: {shown(config)}: expected an object with the fields of a config.json")
    family = family_of(config)
    if family == "llama4":
        raise UnsupportedError('from_hf: model_type "llama4" is of images, too: give its text_config, of llama4_text')
    if family not in SCHEMAS:
        raise UnsupportedError(
            f'from_hf: model_type "{family}" is not one of {sorted(SCHEMAS)}; shoal.torch takes modules of others'
        )
    schema, given, names = SCHEMAS[family], {}, {}
    for name, value in config.items():
        own = ALIASES.get(name, name)
        kept = _checked_field(name, value, schema.get(own), [*schema, *ALIASES], f" of {family}")
        if own in given and (kept is not None and given[own] != kept):
            raise InputError(f"from_hf: {names[own]} {given[own]!r} and {name} {kept!r} say the same field")
        if kept is not None or (own in schema and schema[own].null):
            given[own], names[own] = kept, name
    return ConfigFile(family, given)


def _checked_field(name: str, value: Any, field: Field | None, known: list[str], where: str) -> Any:
    """The value, None where it is null."""
    if field is None:
        raise UnsupportedError(f"from_hf: {name} is not a field{where}{nearest(name, known)}")
    if value is None:
        return None
    if not field.law.holds(value):
        raise InputError(f"from_hf: {name} {shown(value)}{where}: expected {field.law.what}")
    if field.only is not None and value not in field.only:
        expected = " or ".join(map(repr, field.only))
        raise UnsupportedError(f"from_hf: {name} {value!r}{where}; expected {expected}")
    return value


def rope_options(config: Mapping[str, Any]) -> dict[str, Any]:
    """The options of rotary positions, of `rope_scaling` and `rope_parameters`, and "rope_theta".

    config: a checked file, or a table with some fields of one. Errors: as of `checked`.
    """
    if not isinstance(config, ConfigFile):
        config = {**config, "rope_theta": _default_base(config)}
    options: dict[str, Any] = {"rope_theta": config["rope_theta"]}
    tables = [config.get(name) for name in ("rope_scaling", "rope_parameters")]
    if not any(tables) and family_of(config) == "gpt_oss":
        tables = [_GPT_OSS_ROPE]
    for table, name in zip(tables, ("rope_scaling", "rope_parameters")):
        for key, value in (table or {}).items():
            made = _checked_field(key, value, ROPE.get(key), list(ROPE), f" of {name}")
            if made is not None and not (key == "type" and table.get("rope_type")):
                options["rope_type" if key == "type" else key] = made
    return options


def _default_base(config: Mapping[str, Any]) -> float:
    given = config.get("rope_theta")
    if given is None:
        return SCHEMAS.get(family_of(config), _COMMON)["rope_theta"].default
    return _checked_field("rope_theta", given, _COMMON["rope_theta"], [], "")
