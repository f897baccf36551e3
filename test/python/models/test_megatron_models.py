# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models of Megatron-LM's command lines, compared with those of config.json files and with transformers' logits."""

import json
import re
import warnings

import numpy as np
import pytest

from frontend_testing import shoal
from shoal.models import from_config, from_megatron
from shoal.models.megatron import MODEL_FLAGS, REFUSED_MODEL_FLAGS
from shoal.models.weights import from_tensors
from shoal.moe import Layout
from shoal_testing import ROOT

EXPECTED = ROOT / "test/python/models/expected"
BASE = """
    --normalization RMSNorm --position-embedding-type rope --attention-dropout 0 --hidden-dropout 0 --disable-bias-linear
    --num-layers 2 --hidden-size 16 --num-attention-heads 4 --vocab-size 24 --swiglu --ffn-hidden-size 64 --norm-epsilon 1e-5
"""
MIXTRAL = f"{BASE} --group-query-attention --num-query-groups 2 --window-size 4,0 --num-experts 4 --moe-router-topk 2"
MIXTRAL += " --ffn-hidden-size 12 --rotary-base 1000000"


def quietly(words, **options):
    """The model, and what was warned of."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        return from_megatron(words, **options), [str(warning.message) for warning in said]


def test_a_model_has_the_logits_of_transformers():
    config = json.loads((EXPECTED / "mixtral.json").read_text())["config"]
    arrays = dict(np.load(EXPECTED / "mixtral.npz"))
    tensors = {name[2:]: array for name, array in arrays.items() if name.startswith("w:")}
    published = from_config(config).config
    experts = f"--num-experts {published.moe.num_experts} "
    words = MIXTRAL.replace("--num-experts 4 ", experts) + ("" if published.tie_word_embeddings else " --untie-embeddings-and-output-weights")
    model, said = quietly(words)
    assert said == []
    assert model.config.windows == published.windows and model.config.rope == published.rope
    params = from_tensors(tensors, published)
    made = shoal.jit(model.logits)(params, arrays["tokens"])
    np.testing.assert_allclose(made, arrays["logits"], rtol=2e-4, atol=2e-4)


# Of each flag of a model, words with it, and the field that they change.
FIELDS = {
    "add-qkv-bias": ("--add-qkv-bias", "qkv_bias", True),
    "group-query-attention": ("--group-query-attention --num-query-groups 2", "num_key_value_heads", 2),
    "hidden-size": ("--hidden-size 32", "hidden_size", 32),
    "kv-channels": ("--kv-channels 8", "head_dim", 8),
    "layernorm-epsilon": ("--layernorm-epsilon 1e-6", "rms_norm_eps", 1e-5),
    "norm-epsilon": ("--norm-epsilon 1e-6", "rms_norm_eps", 1e-6),
    "num-attention-heads": ("--num-attention-heads 2", "num_attention_heads", 2),
    "num-layers": ("--num-layers 3", "num_hidden_layers", 3),
    "padded-vocab-size": ("--padded-vocab-size 128", "vocab_size", 128),
    "qk-layernorm": ("--qk-layernorm", "qk_norm", "head"),
    "rotary-interleaved": ("--rotary-interleaved", "rope_interleave", True),
    "softmax-type": ("--softmax-type learnable", "sinks", True),
    "untie-embeddings-and-output-weights": ("--untie-embeddings-and-output-weights", "tie_word_embeddings", False),
    "vocab-size": ("--vocab-size 30", "vocab_size", 30),
    "window-attn-skip-freq": ("--window-size (3,0) --window-attn-skip-freq 2", "windows", (4, None)),
    "window-size": ("--window-size 3 0", "windows", (4, 4)),
}  # fmt: skip


@pytest.mark.parametrize("flag", FIELDS)
def test_flags_are_fields(flag):
    words, field, expected = FIELDS[flag]
    assert flag in MODEL_FLAGS and f"--{flag}" in words
    assert getattr(quietly(f"{BASE} {words}")[0].config, field) == expected


def test_positions_are_those_of_a_config_json():
    fields = {"model_type": "llama", "vocab_size": 24, "hidden_size": 16, "intermediate_size": 64, "num_hidden_layers": 2,
              "num_attention_heads": 4, "rope_theta": 500000.0, "rms_norm_eps": 1e-5}  # fmt: skip
    stretched = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                 "original_max_position_embeddings": 8192}  # fmt: skip
    words = f"{BASE} --rotary-base 500000 --untie-embeddings-and-output-weights"
    for more, scaling in (("", None), ("--use-rope-scaling", stretched)):
        model, _ = quietly(f"{words} {more}")
        published = from_config({**fields, "rope_scaling": scaling})
        assert model.config.rope == published.config.rope
        # A dense model: the same parameters, of the same shapes.
        assert model.shapes() == published.shapes() and not any(model.config.moe_layers)


def test_a_model_over_a_layout_of_the_same_words_is_trained():
    words = f"{MIXTRAL} --expert-model-parallel-size 4 --moe-token-dispatcher-type alltoall"
    layout = Layout.from_megatron(words, 4)
    model, said = quietly(words, layout=layout)
    assert said == []
    optimizer = shoal.optim.adamw(1e-2)
    state = shoal.train.init(model.init(0), optimizer)
    tokens = np.random.default_rng(0).integers(0, 24, (8, 9), np.int32)
    step = shoal.jit(shoal.train.step(model.loss, optimizer, has_aux=True), mesh=layout.mesh, donate_argnums=0,
                     in_shardings=(shoal.train.shardings(state, model.shardings()), None))  # fmt: skip
    losses = []
    for _ in range(3):
        state, metrics = step(state, tokens)
        losses.append(float(metrics["nll"]))
    assert losses[2] < losses[0] and step.moves == 0


@pytest.mark.parametrize("words, message", [
    ("--num-layers 2", "--normalization LayerNorm, its default; expected RMSNorm"),
    ("--normalization RMSNorm", "--position-embedding-type learned_absolute; expected rope"),
    (f"{BASE} --rotary-percent 0.5", "--rotary-percent: heads of which a part turns; expected 1.0"),
    (f"{BASE} --multi-latent-attention", "--multi-latent-attention: give the model's config.json to from_config"),
    (f"{BASE} --mtp-num-layers 1", "--mtp-num-layers: decoders have no counterpart"),
    (f"{BASE} --window-size 3,4", "--window-size 3,4; expected N,0"),
    (f"{BASE} --softmax-type off-by-one", "--softmax-type off-by-one; expected vanilla or learnable"),
    (BASE.replace("--vocab-size 24", ""), "the vocabulary is the tokenizer's: give vocab_size=, or --vocab-size"),
    (BASE.replace("--disable-bias-linear", ""), "dense networks have no biases: give --disable-bias-linear"),
    (f"{BASE} --num-query-group 2", "--num-query-group is not known; nearest is --num-query-groups"),
    (f"{BASE} --num-attention-heads 3", "--hidden-size 16 is not divisible by --num-attention-heads 3"),
])  # fmt: skip
def test_what_there_is_no_counterpart_of(words, message):
    with pytest.raises(shoal.ShoalError, match=re.escape(f"from_megatron: {message}")):
        quietly(words)


def test_every_flag_of_a_model_is_read_refused_or_said():
    assert not {*MODEL_FLAGS} & {*REFUSED_MODEL_FLAGS}
    words = BASE.replace("--hidden-dropout 0", "--hidden-dropout 0.1") + "--max-position-embeddings 64 --no-position-embedding --bf16"
    with pytest.warns(UserWarning) as record:
        from_megatron(words)
    assert sorted(str(warning.message) for warning in record) == [
        "from_megatron: --bf16 has no effect: types are those of the arrays, and of train.step's compute=",
        "from_megatron: --hidden-dropout has no effect: there is no dropout; of 0 it is the same model",
        "from_megatron: --max-position-embeddings has no effect: turned positions have no last one",
        "from_megatron: --no-position-embedding has no effect: positions turn, and none is added",
    ]
    assert {warning.filename for warning in record} == {__file__}
