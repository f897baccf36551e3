# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Each field of a config.json is read, refused or without effect, as its family's schema says."""

import json
import re
import time

import numpy as np
import pytest

from changed_configs import campaign, configs
from frontend_testing import evaluate, shoal
from published_configs import PUBLISHED
from shoal.frontend.tracing import trace_program
from shoal.models import from_config, rope_of
from shoal.models.published import PUBLISHED as OWN
from shoal.moe import Layout, MoeConfig
from shoal.moe.schemas import ALIASES, NEEDED, ROPE, SCHEMAS, family_of
from shoal_testing import ROOT

MODELS = ROOT / "test/python/models/expected"
FAMILIES = sorted(SCHEMAS)
STRETCHED = {"rope_type": "llama3", "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
LONG = {"rope_parameters": STRETCHED, "rope_scaling": None}
PLAIN = {"rope_parameters": None, "rope_scaling": None}
LINEAR = {"rope_type": "linear", "factor": 2.0}
WINDOW = {"use_sliding_window": True, "sliding_window": 3, "max_window_layers": 0, "layer_types": None}

# Of each field that is read, what stands beside it, and another value than the files beside this one have.
OTHERS = {
    "vocab_size": ({}, 25),
    "hidden_size": ({}, 24),
    "intermediate_size": ({}, 14),
    "num_hidden_layers": ({"layer_types": None}, 3),
    "num_attention_heads": ({"num_key_value_heads": None}, 2),
    "num_key_value_heads": ({}, 1),
    "head_dim": ({}, 8),
    "hidden_act": ({}, "gelu"),
    "rms_norm_eps": ({}, 0.5),
    "max_position_embeddings": (LONG, 65536),
    "original_max_position_embeddings": (LONG, 65536),
    "rope_theta": (PLAIN, 500.0),
    "rope_scaling": (PLAIN, LINEAR),
    "rope_parameters": (PLAIN, LINEAR),
    "partial_rotary_factor": ({}, 0.25),
    "layer_types": (WINDOW, ["full_attention", "sliding_attention"]),
    "tie_word_embeddings": ({"tie_word_embeddings": False}, True),
    "quantization_config": ({}, {"quant_method": "fp8", "weight_block_size": [64, 32]}),
    "num_experts": ({}, 12),
    "num_experts_per_tok": ({}, 3),
    "router_aux_loss_coef": ({}, 0.5),
    "router_jitter_noise": ({}, 0.1),
    "sliding_window": (WINDOW, 2),
    "use_sliding_window": ({**WINDOW, "use_sliding_window": False}, True),
    "max_window_layers": (WINDOW, 1),
    "moe_intermediate_size": ({}, 8),
    "shared_expert_intermediate_size": ({}, 12),
    "decoder_sparse_step": ({"mlp_only_layers": []}, 2),
    "mlp_only_layers": ({}, [1]),
    "qkv_bias": ({}, False),
    "clip_qkv": ({}, 0.5),
    "first_k_dense_replace": ({}, 0),
    "n_shared_experts": ({}, 2),
    "num_nextn_predict_layers": ({}, 2),
    "n_group": ({}, 2),
    "topk_group": ({}, 3),
    "routed_scaling_factor": ({}, 3.5),
    "topk_method": ({}, "greedy"),
    "aux_loss_alpha": ({}, 0.5),
    "seq_aux": ({}, False),
    "q_lora_rank": ({}, 5),
    "kv_lora_rank": ({}, 5),
    "qk_nope_head_dim": ({}, 6),
    "qk_rope_head_dim": ({}, 6),
    "v_head_dim": ({}, 6),
    "rope_interleave": ({}, False),
    "swiglu_limit": ({}, 5.0),
    "swiglu_alpha": ({}, 1.0),
    "intermediate_size_mlp": ({}, 14),
    "moe_layers": ({}, [0]),
    "interleave_moe_layer_step": ({"moe_layers": None}, 2),
    "no_rope_layers": ({"layer_types": None}, [0, 1]),
    "no_rope_layer_interval": ({"no_rope_layers": None}, 2),
    "attention_chunk_size": ({}, 5),
    "floor_scale": ({}, 7),
    "attn_scale": ({}, 0.5),
}
FLIPPED = ("attention_bias", "norm_topk_prob", "use_qk_norm", "attn_temperature_tuning")
DENSE = {
    "architectures": None, "vocab_size": 24, "hidden_size": 16, "intermediate_size": 12, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 6, "hidden_act": "silu", "rms_norm_eps": 1e-6,
    "max_position_embeddings": 64, "tie_word_embeddings": False,
    "rope_parameters": {"rope_theta": 10000.0, "rope_type": "default"},
}  # fmt: skip


GLM = {
    **DENSE, "head_dim": 16, "moe_intermediate_size": 6, "n_routed_experts": 8, "num_experts_per_tok": 2, "n_group": 4,
    "topk_group": 2, "norm_topk_prob": True, "first_k_dense_replace": 1, "partial_rotary_factor": 0.5, "routed_scaling_factor": 2.5,
}  # fmt: skip

LLAMA4 = {
    **DENSE, "intermediate_size_mlp": 10, "num_local_experts": 8, "num_experts_per_tok": 1, "moe_layers": [1],
    "attention_chunk_size": 4, "floor_scale": 3, "attn_scale": 0.1, "use_qk_norm": True, "attn_temperature_tuning": True,
}  # fmt: skip
SPARSE = {"glm4_moe": GLM, "llama4_text": LLAMA4}


def config_of(family):
    """A small model's: of one with experts what transformers wrote, with each field by its own name."""
    file = MODELS / f"{family}.json"
    made = json.loads(file.read_text())["config"] if file.exists() else {**SPARSE.get(family, DENSE), "model_type": family}
    return {ALIASES.get(name, name): value for name, value in made.items()}


def kept(config, fields):
    """The same with those of the fields that the family has."""
    return {**config, **{name: value for name, value in fields.items() if name in SCHEMAS[config["model_type"]]}}


@pytest.mark.parametrize("family", FAMILIES)
def test_every_field_that_is_read_counts(family):
    """It makes another model, or its other value is refused by its name."""
    for name, field in SCHEMAS[family].items():
        if field.idle or field.only and len(field.only) == 1 or name == "model_type":
            continue
        config = config_of(family)
        others, value = ({}, not config.get(name, False)) if name in FLIPPED else OTHERS[name]
        base = kept(config, others)
        first = from_config(base).config
        try:
            assert from_config({**base, name: value}).config != first, name
        except (shoal.UnsupportedError, shoal.TraceError) as error:
            assert name in str(error), (name, error)


@pytest.mark.parametrize("family", FAMILIES)
def test_no_other_field_counts(family):
    base = from_config(config_of(family)).config
    for name, field in SCHEMAS[family].items():
        if field.idle:
            value = next(value for value in (7, True, "x", 0.5) if field.law.holds(value))
            assert from_config({**config_of(family), name: value}).config == base, name
        elif field.only and len(field.only) == 1:
            value = next(value for value in (True, 0.5, 7, "x") if field.law.holds(value))
            with pytest.raises(shoal.UnsupportedError, match=f"{name} {value!r} of {family}; expected {field.only[0]!r}"):
                from_config({**config_of(family), name: value})


WRONG = ("x", -1, 2.5, True, 2**62, float("nan"), float("inf"), ["x"], {}, None)


@pytest.mark.parametrize("family", FAMILIES)
def test_what_a_field_may_be(family):
    """Of each some values are refused, with the field, the value and the law."""
    for name, field in SCHEMAS[family].items():
        refused = [value for value in WRONG if value is not None and not field.law.holds(value)]
        assert refused or field.idle, name
        for value in refused if name != "model_type" else ():
            with pytest.raises(shoal.InputError) as error:
                from_config({**config_of(family), name: value})
            assert str(error.value) == f"from_hf: {name} {value!r} of {family}: expected {field.law.what}"


# Of families whose defaults have no groups.
SINGLE_GROUPS = {"deepseek_v2": {"topk_method": "greedy"}, "glm4_moe": {"topk_group": 1}}


@pytest.mark.parametrize("family", FAMILIES)
def test_a_field_that_is_left_out_or_null(family):
    """It is needed, by its name, or has the family's default."""
    for name, field in SCHEMAS[family].items():
        if field.idle or name == "model_type":
            continue
        without = {"layer_types": None, **SINGLE_GROUPS.get(family, {})}
        base = kept(config_of(family), without)
        config = {key: value for key, value in base.items() if key != name}
        if field.default is NEEDED:
            with pytest.raises(shoal.UnsupportedError, match=f"from_hf: {name} is missing"):
                from_config(config)
        elif name != "rope_parameters":
            default = list(field.default) if isinstance(field.default, tuple) else field.default
            assert from_config(config).config == from_config({**config, name: default}).config, name
        if not field.null and field.default is not NEEDED:
            assert from_config({**config, name: None}).config == from_config(config).config, name


def test_defaults_of_families():
    """transformers' own."""
    found = {}
    for family in FAMILIES:
        config = {name: value for name, value in config_of(family).items() if not name.startswith(("rope", "rms"))}
        made = from_config(config).config
        expected = rope_of({"rope_theta": found_base(family), **_yarn_of(family)}, 2 * len(made.rope.frequencies))
        assert np.allclose(made.rope.frequencies, expected.frequencies), family
        found[family] = made.rms_norm_eps
    assert {family for family, epsilon in found.items() if epsilon == 1e-5} == FINE
    assert {epsilon for epsilon in found.values()} == {1e-5, 1e-6}


FINE = {"mixtral", "olmoe", "glm4_moe", "gpt_oss", "llama4_text"}


def found_base(family):
    return {"mixtral": 1e6, "llama4_text": 500000.0, "gpt_oss": 150000.0}.get(family, 10000.0)


def _yarn_of(family):
    scaling = {"rope_type": "yarn", "factor": 32.0, "beta_fast": 32.0, "beta_slow": 1.0, "truncate": False,
               "original_max_position_embeddings": 4096}  # fmt: skip
    return {"rope_scaling": scaling} if family == "gpt_oss" else {}


@pytest.mark.parametrize("family", FAMILIES)
def test_slips_are_named(family):
    """Two letters that changed places, or one that is missing, and what was meant."""
    for name in SCHEMAS[family]:
        middle = len(name) // 2
        for slip in (name[:middle] + name[middle + 1 :], name[:1] + name[2:3] + name[1:2] + name[3:], name + "s"):
            if slip not in SCHEMAS[family] and slip not in ALIASES:
                message = f"{slip} is not a field of {family}; nearest is "
                with pytest.raises(shoal.UnsupportedError, match=message) as error:
                    from_config({**config_of(family), slip: 1})
                assert len(name) < 8 or str(error.value).endswith(f" {name}"), error.value
    with pytest.raises(shoal.UnsupportedError, match="zzzz is not a field of .*; no known name is like it"):
        from_config({**config_of(family), "zzzz": None})


def test_options_of_positions():
    config = {**config_of("mixtral"), "rope_scaling": None}
    wrong = {name: next(value for value in WRONG if not field.law.holds(value)) for name, field in ROPE.items()}
    for name, value in wrong.items():
        with pytest.raises(shoal.InputError, match=f"{name} .* of rope_parameters: expected {ROPE[name].law.what}"):
            from_config({**config, "rope_parameters": {"rope_type": "yarn", "factor": 2.0, name: value}})
    with pytest.raises(shoal.UnsupportedError, match="facter is not a field of rope_scaling; nearest is factor"):
        from_config({**config, "rope_scaling": {"type": "yarn", "facter": 2.0}})
    with pytest.raises(shoal.InputError, match="low_freq_factor 4.0: expected at most high_freq_factor 1.0"):
        options = {"rope_type": "llama3", "factor": 2.0, "low_freq_factor": 4.0, "high_freq_factor": 1.0}
        from_config({**config, "rope_parameters": options})


def test_fields_that_do_not_fit_together():
    mixtral = config_of("mixtral")
    cases = [
        (mixtral, {"num_local_experts": 8}, shoal.InputError, "num_experts 4 and num_local_experts 8 say the same field"),
        (mixtral, {"hidden_size": 18}, shoal.InputError, "hidden_size 18 is not divisible by num_attention_heads 4, and"),
        (mixtral, {"num_experts_per_tok": 5}, shoal.TraceError, "a token chooses each of 4 experts once"),
        (mixtral, {"layer_types": ["full_attention"] * 2}, shoal.UnsupportedError, "layer_types of mixtral"),
        (config_of("qwen3_moe"), {"layer_types": ["sliding_attention"] * 2}, shoal.UnsupportedError, "no sliding_window"),
        (config_of("qwen2_moe"), {"mlp_only_layers": [2]}, shoal.InputError, r"mlp_only_layers \[2\]: .* layers 0 to 1"),
        (config_of("deepseek_v2"), {"n_group": None}, shoal.UnsupportedError, "n_group is missing"),
        (config_of("deepseek_v3"), {"num_key_value_heads": 2}, shoal.UnsupportedError, "latent keys are of all heads"),
        (config_of("mistral"), {"layer_types": ["full_attention"] * 2}, shoal.UnsupportedError,
         "layer_types of mistral"),
        (config_of("llama"), {"sliding_window": 3, "layer_types": ["sliding_attention"] * 2}, shoal.UnsupportedError,
         "no sliding_window"),
        (mixtral, {"quantization_config": {"quant_method": "awq"}}, shoal.UnsupportedError,
         'quantization_config: quant_method "awq" is not one of'),
        *((mixtral, {"quantization_config": {"quant_method": "fp8", "weight_block_size": size}}, shoal.InputError,
           r"quantization_config: weight_block_size .*: expected \[rows, columns\]")
          for size in ([128], 128, [128, 0])),
    ]  # fmt: skip
    for config, fields, kind, message in cases:
        with pytest.raises(kind, match=message):
            from_config({**config, **fields})
    for wrong in ([], "x", None):
        with pytest.raises((shoal.InputError, shoal.CheckpointError)):
            from_config(wrong)


def test_positions_of_no_length():
    """Each kind that needs a length has one, or says which field is missing."""
    config = {**config_of("mixtral"), "max_position_embeddings": None, "rope_scaling": None}
    pairs = len(from_config(config).config.rope.frequencies)
    factors = {"short_factor": [1.0] * pairs, "long_factor": [2.0] * pairs}
    ends = {"low_freq_factor": 1.0, "high_freq_factor": 4.0}
    for kind, options in {"yarn": {}, "llama3": ends, "longrope": factors}.items():
        with pytest.raises(shoal.InputError, match=f"original_max_position_embeddings of {kind} is missing"):
            from_config({**config, "rope_parameters": {"rope_type": kind, "factor": 2.0, **options}})
    longrope = {"rope_type": "longrope", "factor": 2.0, "original_max_position_embeddings": 1, **factors}
    with pytest.raises(shoal.InputError, match="original_max_position_embeddings 1 of longrope: expected 2 or more"):
        from_config({**config, "rope_parameters": longrope})


def test_changed_values():
    """A few kinds of values in each place of a file; `changed_configs.py` has all, and all files."""
    others = ("x", -1, 7, 10**400, [None], {"x": 1})
    for name, config in configs().items():
        kinds, wrong = campaign(config, others)
        assert not wrong, (name, wrong)
        assert kinds["model"] and kinds["InputError"], (name, kinds)


def test_a_size_by_mistake_ends_at_once():
    begun = time.monotonic()
    for name in ("num_hidden_layers", "vocab_size", "num_experts", "hidden_size", "first_k_dense_replace"):
        with pytest.raises(shoal.InputError, match=f"{name} {2**62} of deepseek_v3: expected an integer from"):
            from_config({**config_of("deepseek_v3"), name: 2**62})
    assert time.monotonic() - begun < 10


def test_a_file_is_named(tmp_path):
    """The folder or the file; what is wrong in it is behind its name."""
    path = tmp_path / "config.json"
    with pytest.raises(shoal.CheckpointError, match=f"{path}: is missing"):
        from_config(tmp_path)
    for text in (b"", b"{", b'{"a": }', b"\xff", b"[" * 100_000):
        path.write_bytes(text)
        with pytest.raises(shoal.CheckpointError, match=f"{path}: is no JSON"):
            from_config(tmp_path)
    for family in FAMILIES:
        path.write_text(json.dumps(config_of(family)))
        assert from_config(tmp_path).config == from_config(str(path)).config == from_config(config_of(family)).config
    for fields, kind in (({"vocab_size": -1}, shoal.InputError), ({"vocab_sise": 3}, shoal.UnsupportedError),
                         ({"num_experts_per_tok": 99}, shoal.TraceError)):  # fmt: skip
        path.write_text(json.dumps({**config_of("mixtral"), **fields}))
        with pytest.raises(kind, match=f"^{path}: "):
            from_config(path)
    path.write_text("[]")
    with pytest.raises(shoal.InputError, match=rf"{path}: from_hf: \[\]: expected an object"):
        from_config(path)


def test_fields_beside_a_file(tmp_path):
    """By the names of the file, or those of MoeConfig; the file that is written has the former."""
    path = tmp_path / "config.json"
    path.write_text(json.dumps(json.loads((MODELS / "mixtral.json").read_text())["config"]))
    model = from_config(path, Layout(), num_hidden_layers=1, num_experts=8, moe_expert_rank_capacity_factor=1.5)
    assert model.config.num_hidden_layers == 1 and model.config.moe.num_experts == 8
    assert model.config.moe.moe_expert_rank_capacity_factor == 1.5
    model.write(tmp_path / ".", model.init())
    written = json.loads(path.read_text())
    assert written["num_hidden_layers"] == 1 and written["num_experts"] == 8 and "num_local_experts" not in written
    assert from_config(tmp_path).config == model.config.__class__(
        **{**vars(model.config), "moe": model.config.moe.replace(moe_expert_rank_capacity_factor=None)}
    )


def test_fields_beside_a_file_that_are_wrong(tmp_path):
    config = config_of("mixtral")
    cases = [
        ({"moe_expert_rank_capacity_facto": 1.5}, shoal.InputError,
         "moe_expert_rank_capacity_facto= is no field; nearest is moe_expert_rank_capacity_factor"),
        ({"num_hidden_layers": "x"}, shoal.InputError, "num_hidden_layers 'x' of mixtral: expected an integer"),
        ({"moe_expert_rank_capacity_factor": -1}, shoal.TraceError, "moe_expert_rank_capacity_factor=-1 is not a positive"),
        ({"layout": {"ep": 2}}, shoal.InputError, "from_config: layout: expected a shoal.moe.Layout, got {'ep': 2}"),
    ]  # fmt: skip
    for fields, kind, message in cases:
        with pytest.raises(kind, match=message):
            from_config(config, **fields)
    with pytest.raises(shoal.UnsupportedError, match="moe_expert_rank_capacity_factor is no field of mixtral's files: give"):
        from_config({**config, "moe_expert_rank_capacity_factor": 1.5})


def test_room_for_all_tokens_is_told_of():
    """Mixtral-8x7B on 64 devices, once for all of its layers, to what compiles it; with a factor nothing is said."""
    layout = Layout.folded({"dp": 64}, {"ep": 8, "edp": 8})
    for factor, expected in ((None, 1), (1.5, 0)):
        model = from_config(
            PUBLISHED["Mixtral-8x7B"][0], layout, num_hidden_layers=2, moe_expert_rank_capacity_factor=factor
        )
        params, tokens = arrays_of(model.shapes()), np.broadcast_to(np.int32(0), (64, 4096))
        text = trace_program(model.logits, (params, tokens), layout.mesh).text
        found = re.findall("moe_expert_rank_capacity_factor=None: .* drop what does not fit", text)
        assert len(found) == expected, found
        assert not found or "for the 65536 rows that a device gets at most" in found[0] and "8192 rows" in found[0]


def arrays_of(shapes):
    """Of bfloat16, which take no memory."""
    if isinstance(shapes, dict):
        return {name: arrays_of(shape) for name, shape in shapes.items()}
    if isinstance(shapes, list):
        return [arrays_of(shape) for shape in shapes]
    return np.broadcast_to(np.zeros((), shoal.bfloat16), shapes)


def size_of(tree):
    if isinstance(tree, (dict, list)):
        return sum(map(size_of, tree.values() if isinstance(tree, dict) else tree))
    return int(np.prod(tree))


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_files(name):
    """Nothing in them is unknown."""
    config, billions = PUBLISHED[name]
    assert round(size_of(from_config(config).shapes()) / 1e9, 1) == billions
    MoeConfig.from_hf(config)
    idle = {key for key, field in SCHEMAS[family_of(config)].items() if field.idle}
    assert idle & set(config), "they have some without effect"


def test_a_publishers_own_family_has_a_known_class(tmp_path):
    """Kimi-K2's file says "kimi_k2", and that its class is DeepSeek-V3's; so does what is written."""
    config = {**config_of("deepseek_v3"), "model_type": "kimi_k2", "architectures": ["DeepseekV3ForCausalLM"]}
    model = from_config(config)
    assert model.config == from_config({**config, "model_type": "deepseek_v3"}).config
    model.write(tmp_path, model.init(0))
    written = json.loads((tmp_path / "config.json").read_text())
    assert (written["model_type"], written["architectures"]) == ("kimi_k2", ["DeepseekV3ForCausalLM"])
    with pytest.raises(shoal.UnsupportedError, match=r'model_type "kimi_k2" is not one of .*; shoal.torch takes modules of others'):
        from_config({**config, "architectures": ["KimiForCausalLM"]})


def test_a_balance_is_made_as_the_family_makes_it(tmp_path):
    """DeepSeek adds its layers' losses, of sequences or of all tokens, the others take their mean; in stages, too."""
    cases = {
        "mean": ("qwen3_moe", {"mlp_only_layers": [0]}, Layout(), "aux_loss", np.mean),
        "sum": ("deepseek_v2", {"aux_loss_alpha": 0.5}, Layout(), "seq_aux_loss", np.sum),
        "of all tokens": ("deepseek_v3", {"aux_loss_alpha": 0.5, "seq_aux": False}, Layout(), "global_aux_loss", np.sum),
        "in stages": ("deepseek_v2", {"aux_loss_alpha": 0.5}, Layout().scheduled(2), "seq_aux_loss", np.sum),
    }  # fmt: skip
    tokens = np.random.default_rng(0).integers(0, 24, (4, 7)).astype(np.int32)
    models = {}
    for name, (family, fields, layout, *_) in cases.items():
        models[name] = from_config({**config_of(family), **fields, "num_hidden_layers": 3}, layout)
    params = {name: model.init(1) for name, model in models.items()}
    found = evaluate(tmp_path, lambda p, t: {name: models[name].loss(p[name], t)[1] for name in models}, params, tokens)
    for name, (*_, loss, together) in cases.items():
        assert found[name][loss].shape == (2,), name
        rate = models[name].config.moe.loss_coefficient(loss)
        assert found[name]["balance"] == pytest.approx(rate * together(found[name][loss]), rel=1e-5), name


def test_published_models_by_name():
    """Their own files say the same."""
    files = {name.lower(): fields for name, (fields, _) in PUBLISHED.items()}
    assert len(OWN) == 12 and set(OWN) <= set(files)
    for name in OWN:
        model = from_config(name)
        assert model.config == from_config(files[name]).config, name
        assert model.published.file is not OWN[name] and model.published.file == OWN[name]


@pytest.mark.parametrize("given, message", [
    (None, "got None"), (["a"], r"got \['a'\]"), (7, "got 7"),
    ("mixtral-8x7", "mixtral-8x7: is missing, and no published model: deepseek-v2, .*, mixtral-8x7b"),
    ("missing/config.json", "missing/config.json: is missing$"),
])  # fmt: skip
def test_what_is_no_configuration_says_what_is_expected(given, message):
    with pytest.raises((shoal.InputError, shoal.CheckpointError), match=message):
        from_config(given)
