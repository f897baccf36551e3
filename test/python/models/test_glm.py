# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""GLM-4.5: against loops in NumPy by its published names, token by token and head by head, in float64."""

import json

import numpy as np
import pytest

import shoal
from frontend_testing import assert_same, evaluate
from shoal.models import from_config
from shoal.models.weights import from_tensors, to_tensors
from shoal.moe import Layout

CONFIG = {
    "model_type": "glm4_moe", "vocab_size": 24, "hidden_size": 16, "intermediate_size": 12, "num_hidden_layers": 3,
    "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8, "hidden_act": "silu", "rms_norm_eps": 1e-5,
    "max_position_embeddings": 64, "tie_word_embeddings": False, "rope_theta": 100.0, "partial_rotary_factor": 0.5,
    "attention_bias": True, "use_qk_norm": True, "first_k_dense_replace": 1, "moe_intermediate_size": 6,
    "n_routed_experts": 8, "num_experts_per_tok": 2, "n_shared_experts": 2, "n_group": 1, "topk_group": 1,
    "norm_topk_prob": True, "routed_scaling_factor": 2.5, "num_nextn_predict_layers": 0,
}  # fmt: skip
KINDS = {
    "published": {},
    "groups, without biases and norms": {
        "n_group": 4, "topk_group": 2, "attention_bias": False, "use_qk_norm": False, "norm_topk_prob": False,
        "n_shared_experts": 1, "partial_rotary_factor": 0.25,
    },
}  # fmt: skip
TOKENS = np.random.default_rng(3).integers(0, 24, (4, 12)).astype(np.int32)


def drawn(config, seed=0):
    """A model, and tensors with biases and scales that matter."""
    model, rng = from_config(config), np.random.default_rng(seed)
    return model, {
        name: (0.4 * rng.standard_normal(array.shape) + (1 if "norm" in name else 0)).astype(np.float32)
        for name, array in to_tensors(model.init(seed), model.config).items()
    }


def rms(x, weight):
    return x / np.sqrt(np.mean(x * x, -1, keepdims=True) + 1e-5) * weight


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def turned(x, place, part):
    """The first elements of a head, whose halves are a complex number for each wave; the others have no place."""
    half = int(len(x) * part) // 2
    wave = (x[:half] + 1j * x[half : 2 * half]) * np.exp(1j * place * 100.0 ** (-np.arange(half) / half))
    return np.concatenate([wave.real, wave.imag, x[2 * half :]])


def linear(t, name, x):
    return x @ t[f"{name}.weight"].T + t.get(f"{name}.bias", 0.0)


def attended(t, name, x, part):
    q, k, v = (linear(t, f"{name}.{of}_proj", x).reshape(len(x), -1, 8) for of in "qkv")
    if f"{name}.q_norm.weight" in t:
        q, k = rms(q, t[f"{name}.q_norm.weight"]), rms(k, t[f"{name}.k_norm.weight"])
    made = np.zeros(q.shape)
    for head in range(4):
        key = [turned(row, place, part) for place, row in enumerate(k[:, head // 2])]
        for place in range(len(x)):
            scores = np.array([turned(q[place, head], place, part) @ row for row in key[: place + 1]])
            weights = np.exp((scores - scores.max()) / np.sqrt(8))
            made[place, head] = weights / weights.sum() @ v[: place + 1, head // 2]
    return linear(t, f"{name}.o_proj", made.reshape(len(x), -1))


def gated(t, name, x):
    gate, up = (linear(t, f"{name}.{of}_proj", x) for of in ("gate", "up"))
    return linear(t, f"{name}.down_proj", gate * sigmoid(gate) * up)


def chosen(t, name, x, config):
    """Of a token: its experts with their weights."""
    scores = sigmoid(x @ t[f"{name}.gate.weight"].T)
    choice = scores + t[f"{name}.gate.e_score_correction_bias"]
    groups = choice.reshape(config["n_group"], -1)
    best = np.argsort(-np.sort(groups, 1)[:, -2:].sum(1))[: config["topk_group"]]
    allowed = [e for e in range(8) if e // groups.shape[1] in best]
    experts = sorted(allowed, key=lambda e: -choice[e])[: config["num_experts_per_tok"]]
    weights = scores[experts]
    if config["norm_topk_prob"]:
        weights = weights / weights.sum()
    return zip(experts, weights * config["routed_scaling_factor"])


def routed(t, name, x, config):
    made = gated(t, f"{name}.shared_experts", x)
    for place, row in enumerate(x):
        for expert, weight in chosen(t, name, row, config):
            made[place] += weight * gated(t, f"{name}.experts.{expert}", row)
    return made


def logits_of(tensors, config, tokens):
    t = {name: array.astype(np.float64) for name, array in tensors.items()}
    x = t["model.embed_tokens.weight"][tokens]
    for layer in range(config["num_hidden_layers"]):
        name = f"model.layers.{layer}"
        y = rms(x, t[f"{name}.input_layernorm.weight"])
        x = x + attended(t, f"{name}.self_attn", y, config["partial_rotary_factor"])
        y = rms(x, t[f"{name}.post_attention_layernorm.weight"])
        is_dense = layer < config["first_k_dense_replace"]
        x = x + (gated(t, f"{name}.mlp", y) if is_dense else routed(t, f"{name}.mlp", y, config))
    return rms(x, t["model.norm.weight"]) @ t["lm_head.weight"].T


@pytest.mark.parametrize("kind", KINDS)
def test_logits_of_loops(tmp_path, kind):
    config = {**CONFIG, **KINDS[kind]}
    model, tensors = drawn(config)
    actual = evaluate(tmp_path, lambda p, t: model.logits(p, t), from_tensors(tensors, model.config), TOKENS)
    expected = np.stack([logits_of(tensors, config, row) for row in TOKENS]).astype(np.float32)
    assert_same(kind, actual, expected, np.float32, 1e-5)
    biased = {key.split(".")[-2] for key in tensors if key.endswith(".bias")}
    assert biased == ({"q_proj", "k_proj", "v_proj"} if config["attention_bias"] else set())


def test_over_devices(tmp_path):
    """Heads over tp, experts over ep, tokens over dp and places over cp."""
    model, tensors = drawn(CONFIG)
    params = from_tensors(tensors, model.config)
    one = evaluate(tmp_path, lambda p, t: shoal.value_and_grad(model.loss, has_aux=True)(p, t), params, TOKENS)
    for attention in ({"tp": 2, "dp": 2}, {"cp": 2, "dp": 2}):
        layout = Layout.folded(attention, {"ep": 4})
        many = model.over(layout)
        actual = evaluate(
            tmp_path, lambda p, t: shoal.value_and_grad(many.loss, has_aux=True)(p, t), params, TOKENS,
            mesh=layout.mesh, devices=4, in_shardings=(many.shardings(), None),
        )  # fmt: skip
        assert_same("loss", actual[0][0], one[0][0], np.float32, 1e-5)
        expected, made = (to_tensors(grads, model.config) for grads in (one[1], actual[1]))
        for name in expected:
            assert_same(name, made[name], expected[name], np.float32, 1e-5)


def test_folder(tmp_path):
    """Read and written again, with what says what it is."""
    model, tensors = drawn(CONFIG)
    model.write(tmp_path, from_tensors(tensors, model.config))
    said = json.loads((tmp_path / "config.json").read_text())
    again = from_config(said)
    assert again == model and said["architectures"] == ["Glm4MoeForCausalLM"]
    made = to_tensors(again.read(tmp_path), again.config)
    assert {key: array.tobytes() for key, array in made.items()} == {
        key: np.ascontiguousarray(array).tobytes() for key, array in tensors.items()
    }


def test_parts_of_heads_that_cannot_turn():
    for part, turning in ((0.3, 2), (0.1, 0), (0.4, 3), (1.5, 12)):
        fields = {**CONFIG, "partial_rotary_factor": part}
        if turning % 2 == 0 and 0 < turning <= 8:
            assert len(from_config(fields).config.rope.frequencies) == turning // 2
            continue
        message = f"partial_rotary_factor {part}: {turning} of a head's 8 elements turn; expected an even number"
        with pytest.raises(shoal.UnsupportedError, match=message):
            from_config(fields)
