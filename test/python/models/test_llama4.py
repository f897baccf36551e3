# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Llama 4's decoder of text: against loops in NumPy by its published names, token by token and head by head, in
float64."""

import json

import numpy as np
import pytest

import shoal
from frontend_testing import assert_same, evaluate
from shoal.models import from_config
from shoal.models.weights import from_tensors, to_tensors
from shoal.moe import Layout

CONFIG = {
    "model_type": "llama4_text", "vocab_size": 24, "hidden_size": 16, "intermediate_size": 6, "intermediate_size_mlp": 12,
    "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 6, "hidden_act": "silu",
    "rms_norm_eps": 1e-5, "max_position_embeddings": 64, "tie_word_embeddings": False, "rope_theta": 100.0,
    "num_local_experts": 4, "num_experts_per_tok": 1, "interleave_moe_layer_step": 2, "no_rope_layer_interval": 2,
    "attention_chunk_size": 4, "floor_scale": 3, "attn_scale": 0.5, "router_aux_loss_coef": 0.0,
}  # fmt: skip
KINDS = {
    "published": {},
    "two experts, without norms and temperature": {
        "num_experts_per_tok": 2, "use_qk_norm": False, "attn_temperature_tuning": False, "attention_bias": True,
        "moe_layers": [0, 3], "no_rope_layers": [1, 1, 0, 1],
    },
}  # fmt: skip
TOKENS = np.random.default_rng(3).integers(0, 24, (4, 12)).astype(np.int32)


def drawn(config, seed=0):
    """A model, and tensors with scales that matter."""
    model, rng = from_config(config), np.random.default_rng(seed)
    return model, {
        name: (0.4 * rng.standard_normal(array.shape) + (1 if "norm" in name else 0)).astype(np.float32)
        for name, array in to_tensors(model.init(seed), model.config).items()
    }


def rms(x, weight):
    return x / np.sqrt(np.mean(x * x, -1, keepdims=True) + 1e-5) * weight


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def linear(t, name, x):
    return x @ t[f"{name}.weight"].T + t.get(f"{name}.bias", 0.0)


def turned(x, place):
    """Neighbours are a complex number."""
    wave = (x[::2] + 1j * x[1::2]) * np.exp(1j * place * 100.0 ** (-np.arange(len(x) // 2) * 2 / len(x)))
    return np.stack([wave.real, wave.imag], -1).reshape(-1)


def placed(head, place, config):
    made = turned(head, place)
    return rms(made, 1.0) if config.get("use_qk_norm", True) else made


def attended(t, name, x, turns, config):
    q, k, v = (linear(t, f"{name}.{of}_proj", x).reshape(len(x), -1, 6) for of in "qkv")
    made = np.zeros(q.shape)
    for head in range(4):
        for place in range(len(x)):
            query, first = q[place, head], 0
            keys = k[:, head // 2]
            if turns:
                first = place // config["attention_chunk_size"] * config["attention_chunk_size"]
                query, keys = placed(query, place, config), [placed(row, i, config) for i, row in enumerate(keys)]
            elif config.get("attn_temperature_tuning", True):
                query = query * (np.log1p(np.floor((place + 1) / config["floor_scale"])) * config["attn_scale"] + 1)
            scores = np.array([query @ row for row in keys[first : place + 1]])
            weights = np.exp((scores - scores.max()) / np.sqrt(6))
            made[place, head] = weights / weights.sum() @ v[first : place + 1, head // 2]
    return linear(t, f"{name}.o_proj", made.reshape(len(x), -1))


def gated(t, name, x):
    gate, up = (linear(t, f"{name}.{of}_proj", x) for of in ("gate", "up"))
    return linear(t, f"{name}.down_proj", gate * sigmoid(gate) * up)


def routed(t, name, x, config):
    made = gated(t, f"{name}.shared_expert", x)
    for place, row in enumerate(x):
        scores = row @ t[f"{name}.router.weight"].T
        for expert in np.argsort(-scores)[: config["num_experts_per_tok"]]:
            rows = row * sigmoid(scores[expert])
            gate, up = np.split(rows @ t[f"{name}.experts.gate_up_proj"][expert], 2)
            made[place] += (gate * sigmoid(gate) * up) @ t[f"{name}.experts.down_proj"][expert]
    return made


def logits_of(tensors, config, tokens):
    t = {name: array.astype(np.float64) for name, array in tensors.items()}
    x = t["model.embed_tokens.weight"][tokens]
    for layer in range(config["num_hidden_layers"]):
        name = f"model.layers.{layer}"
        turns = config.get("no_rope_layers", [1, 0, 1, 0])[layer]
        y = rms(x, t[f"{name}.input_layernorm.weight"])
        x = x + attended(t, f"{name}.self_attn", y, turns, config)
        y = rms(x, t[f"{name}.post_attention_layernorm.weight"])
        network = routed if layer in config.get("moe_layers", [1, 3]) else lambda t, name, y, _: gated(t, name, y)
        x = x + network(t, f"{name}.feed_forward", y, config)
    return rms(x, t["model.norm.weight"]) @ t["lm_head.weight"].T


@pytest.mark.parametrize("kind", KINDS)
def test_logits_of_loops(tmp_path, kind):
    config = {**CONFIG, **KINDS[kind]}
    model, tensors = drawn(config)
    actual = evaluate(tmp_path, lambda p, t: model.logits(p, t), from_tensors(tensors, model.config), TOKENS)
    expected = np.stack([logits_of(tensors, config, row) for row in TOKENS]).astype(np.float32)
    assert_same(kind, actual, expected, np.float32, 1e-5)


@pytest.mark.parametrize("layout", [
    Layout.folded({"tp": 2, "dp": 2}, {"ep": 4}),
    Layout.folded({"cp": 2, "dp": 2}, {"ep": 4}),
    Layout.folded({"cp": 2, "dp": 2}, {"ep": 4}, cp_comm_type="p2p"),
    Layout.folded({"dp": 2, "pp": 2}, {"ep": 2, "pp": 2}).scheduled(2),
], ids=["tp", "cp", "ring", "pp"])  # fmt: skip
def test_over_devices(tmp_path, layout):
    """Heads over tp, places over cp, in a ring, too, layers over pp, experts over ep."""
    model, tensors = drawn(CONFIG)
    params = from_tensors(tensors, model.config)
    one = evaluate(tmp_path, lambda p, t: shoal.value_and_grad(model.loss, has_aux=True)(p, t), params, TOKENS)
    many = model.over(layout)
    (loss, _), grads = evaluate(
        tmp_path, lambda p, t: shoal.value_and_grad(many.loss, has_aux=True)(p, t), many.to_stages(params), TOKENS,
        mesh=layout.mesh, devices=4, in_shardings=(many.shardings(), None),
    )  # fmt: skip
    assert_same("loss", loss, one[0][0], np.float32, 1e-5)
    expected, made = (to_tensors(tree, model.config) for tree in (one[1], many.to_layers(grads)))
    for name in expected:
        assert_same(name, made[name], expected[name], np.float32, 1e-5)


def test_folder(tmp_path):
    """Read and written again, with what says what it is."""
    model, tensors = drawn(CONFIG)
    model.write(tmp_path, from_tensors(tensors, model.config))
    said = json.loads((tmp_path / "config.json").read_text())
    again = from_config(said)
    assert again == model and said["architectures"] == ["Llama4ForCausalLM"]
    made = to_tensors(again.read(tmp_path), again.config)
    assert {key: array.tobytes() for key, array in made.items()} == {
        key: np.ascontiguousarray(array).tobytes() for key, array in tensors.items()
    }


def test_what_there_is_none_of(tmp_path):
    cases = {
        'model_type "llama4" is of images, too: give its text_config': {"model_type": "llama4", "text_config": CONFIG},
        "layer_types: expected chunked_attention in layers with positions": {"layer_types": ["full_attention"] * 4},
        "no_rope_layers of 3 layers, num_hidden_layers 4": {"no_rope_layers": [1, 1, 0]},
    }
    for message, fields in cases.items():
        with pytest.raises(shoal.UnsupportedError, match=message):
            from_config({**CONFIG, **fields})
    with pytest.raises(shoal.InputError, match=r"moe_layers \[4\]: there are layers 0 to 3"):
        from_config({**CONFIG, "moe_layers": [1, 4]})
    model = from_config(CONFIG)
    with pytest.raises(shoal.TraceError, match="segments with attention in chunks of 4 places"):
        evaluate(tmp_path, lambda p, t: model.loss(p, t, segments=t), model.init(), TOKENS)
