# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Dense decoders, Llama, Mistral, Qwen2 and Qwen3: against loops in NumPy by their published names, and as what models
with experts begin as."""

import dataclasses
import json

import numpy as np
import pytest

from frontend_testing import assert_same, evaluate, shoal
from shoal.models import Model, from_config, upcycle
from shoal.models.weights import from_tensors, to_tensors
from shoal.moe import Layout

COMMON = {
    "vocab_size": 24, "hidden_size": 16, "intermediate_size": 12, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "hidden_act": "silu", "max_position_embeddings": 64, "rms_norm_eps": 1e-5,
    "tie_word_embeddings": False, "rope_theta": 100.0,
}  # fmt: skip
DENSE = {
    "llama": {},
    "llama with biases": {"model_type": "llama", "attention_bias": True, "head_dim": 6, "sliding_window": 3,
                          "mlp_bias": False},
    "mistral": {"sliding_window": 5, "head_dim": 6},
    "qwen2": {"use_sliding_window": False, "sliding_window": 3, "tie_word_embeddings": True},
    "qwen2 with windows": {"model_type": "qwen2", "use_sliding_window": True, "sliding_window": 3,
                           "max_window_layers": 1},
    "qwen3": {"head_dim": 6},
}  # fmt: skip
TOKENS = np.random.default_rng(3).integers(0, 24, (2, 12)).astype(np.int32)


def config_of(name):
    return {**COMMON, "model_type": name, **DENSE[name]}


def drawn(config, seed=0):
    """A model, and tensors with biases and scales that matter."""
    model, rng = from_config(config), np.random.default_rng(seed)
    tensors = to_tensors(model.init(seed), model.config)
    return model, {
        name: (0.3 * rng.standard_normal(array.shape) + (1 if "norm" in name else 0)).astype(np.float32)
        for name, array in tensors.items()
    }


# --- The published models, token by token and head by head, in float64 ------------------------------


def rms(x, weight):
    return x / np.sqrt(np.mean(x * x, -1, keepdims=True) + 1e-5) * weight


def turned(x, place, theta=100.0):
    """A head's halves as a complex number for each wave."""
    half = len(x) // 2
    wave = (x[:half] + 1j * x[half:]) * np.exp(1j * place * theta ** (-np.arange(half) / half))
    return np.concatenate([wave.real, wave.imag])


def linear(t, name, x):
    return x @ t[f"{name}.weight"].T + t.get(f"{name}.bias", 0.0)


def attended(t, name, x, heads, shared, window):
    q, k, v = (linear(t, f"{name}.{part}_proj", x) for part in "qkv")
    q, k, v = (part.reshape(len(x), count, -1) for part, count in ((q, heads), (k, shared), (v, shared)))
    if f"{name}.q_norm.weight" in t:
        q, k = rms(q, t[f"{name}.q_norm.weight"]), rms(k, t[f"{name}.k_norm.weight"])
    made = np.zeros(q.shape)
    for head in range(heads):
        key = [turned(row, place) for place, row in enumerate(k[:, head * shared // heads])]
        for place in range(len(x)):
            first = 0 if window is None else max(0, place - window + 1)
            scores = np.array([turned(q[place, head], place) @ row for row in key[first : place + 1]])
            weights = np.exp((scores - scores.max()) / np.sqrt(q.shape[-1]))
            made[place, head] = weights / weights.sum() @ v[first : place + 1, head * shared // heads]
    return linear(t, f"{name}.o_proj", made.reshape(len(x), -1))


def logits_of(tensors, windows, tokens):
    t = {name: array.astype(np.float64) for name, array in tensors.items()}
    x = t["model.embed_tokens.weight"][tokens]
    for layer, window in enumerate(windows):
        name = f"model.layers.{layer}"
        y = rms(x, t[f"{name}.input_layernorm.weight"])
        x = x + attended(t, f"{name}.self_attn", y, 4, 2, window)
        y = rms(x, t[f"{name}.post_attention_layernorm.weight"])
        gate, up = (linear(t, f"{name}.mlp.{part}_proj", y) for part in ("gate", "up"))
        x = x + linear(t, f"{name}.mlp.down_proj", gate / (1 + np.exp(-gate)) * up)
    return rms(x, t["model.norm.weight"]) @ t.get("lm_head.weight", t["model.embed_tokens.weight"]).T


WINDOWS = {"mistral": (5, 5), "qwen2 with windows": (None, 3)}


@pytest.mark.parametrize("name", DENSE)
def test_logits_of_loops(tmp_path, name):
    config = config_of(name)
    model, tensors = drawn(config)
    windows = WINDOWS.get(name, (None, None))
    actual = evaluate(tmp_path, lambda p, t: model.logits(p, t), from_tensors(tensors, model.config), TOKENS)
    expected = np.stack([logits_of(tensors, windows, row) for row in TOKENS]).astype(np.float32)
    assert_same(name, actual, expected, np.float32, 1e-5)
    biased = sorted({key.split(".")[-2] for key in tensors if key.endswith(".bias")})
    has = {"llama with biases": ["k_proj", "o_proj", "q_proj", "v_proj"]}.get(name, ["k_proj", "q_proj", "v_proj"])
    assert biased == (has if name.startswith("qwen2") or "biases" in name else [])


def test_folders(tmp_path):
    """Read and written again, with what says what it is."""
    for number, name in enumerate(DENSE):
        folder = tmp_path / str(number)
        folder.mkdir()
        model, tensors = drawn(config_of(name))
        model.write(folder, from_tensors(tensors, model.config), 2000)
        said = json.loads((folder / "config.json").read_text())
        again = from_config(said)
        assert again == model and said["architectures"][0].lower() == f"{said['model_type']}forcausallm"
        made = to_tensors(again.read(folder), again.config)
        assert {key: array.tobytes() for key, array in made.items()} == {
            key: np.ascontiguousarray(array).tobytes() for key, array in tensors.items()
        }


def test_gradients_and_layouts(tmp_path):
    """A dense model trains as others do: there is no balance, and no metrics of experts; over devices, too."""
    model, tensors = drawn(config_of("qwen3"))
    params = from_tensors(tensors, model.config)
    (loss, aux), grads = evaluate(
        tmp_path, lambda p, t: shoal.value_and_grad(model.loss, has_aux=True)(p, t), params, TOKENS
    )
    logits = np.stack([logits_of(tensors, (None, None), row) for row in TOKENS[:, :-1]])
    chosen = np.take_along_axis(logits, TOKENS[:, 1:, None], -1)[..., 0]
    assert_same("loss", loss, np.float32(np.mean(np.log(np.exp(logits).sum(-1)) - chosen)), np.float32, 1e-5)
    assert sorted(aux) == ["balance", "nll", "weight"] and float(aux["balance"]) == 0
    layout = Layout.folded({"tp": 2, "dp": 2}, {"ep": 4})
    many = model.over(layout)
    (actual, _), spread = evaluate(
        tmp_path, lambda p, t: shoal.value_and_grad(many.loss, has_aux=True)(p, t), params, TOKENS,
        mesh=layout.mesh, devices=4, in_shardings=(many.shardings(), None),
    )  # fmt: skip
    assert_same("loss over devices", actual, loss, np.float32, 1e-5)
    expected, made = (to_tensors(tree, model.config) for tree in (grads, spread))
    for name, array in expected.items():
        assert_same(name, made[name], array, np.float32, 1e-5)


def test_what_there_is_none_of():
    for name, fields, message in (
        ("llama", {"mlp_bias": True}, "mlp_bias True of llama; expected False"),
        ("mistral", {"attention_bias": True}, "attention_bias of mistral"),
        ("qwen2", {"num_hidden_layers": None}, "num_hidden_layers is missing"),
    ):
        with pytest.raises(shoal.UnsupportedError, match=message):
            from_config({**config_of(name), **fields})


# --- What models with experts begin as --------------------------------------------------------------

SPARSE = {
    "mixtral": ("llama", {"num_local_experts": 4, "num_experts_per_tok": 2}),
    "mixtral with windows": ("mistral", {"model_type": "mixtral", "num_local_experts": 4, "num_experts_per_tok": 2}),
    "qwen2_moe": ("qwen2", {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 6,
                            "shared_expert_intermediate_size": 8, "mlp_only_layers": [0]}),
    "qwen3_moe": ("qwen3", {"num_experts": 8, "num_experts_per_tok": 4, "moe_intermediate_size": 3,
                            "norm_topk_prob": True}),
}  # fmt: skip


@pytest.mark.parametrize("name", SPARSE)
def test_models_with_experts_begin_as_dense_ones(tmp_path, name):
    """Logits, and what is written is such a model's."""
    base, fields = SPARSE[name]
    dense, tensors = drawn(config_of(base))
    sparse = from_config({**config_of(base), "model_type": name, **fields})
    params = from_tensors(tensors, dense.config)
    made = upcycle(params, dense, sparse, seed=5)
    assert "dense" in params["layers"][0]  # which is as it was
    actual = evaluate(tmp_path, lambda p, t: sparse.logits(p, t), made, TOKENS)
    windows = WINDOWS.get(base, (None, None))
    expected = np.stack([logits_of(tensors, windows, row) for row in TOKENS]).astype(np.float32)
    assert_same(name, actual, expected, np.float32, 1e-5)
    sparse.write(tmp_path, made)
    again = from_config(json.loads((tmp_path / "config.json").read_text())).read(tmp_path)
    routers = [layer["moe"]["router"] for layer in again["layers"] if "moe" in layer]
    assert len(np.unique(np.stack(routers), axis=0)) == len(routers)  # each layer's is its own


LATENT = {
    **COMMON, "model_type": "deepseek_v3", "num_key_value_heads": 4, "n_routed_experts": 8, "num_experts_per_tok": 4,
    "n_shared_experts": 1, "moe_intermediate_size": 6, "n_group": 4, "topk_group": 2, "routed_scaling_factor": 2.5,
    "kv_lora_rank": 6, "q_lora_rank": 6, "qk_nope_head_dim": 4, "qk_rope_head_dim": 4, "v_head_dim": 5,
}  # fmt: skip


def test_deepseek_of_its_own_dense_layers(tmp_path):
    """Scaled weights, groups that parts of networks lie in, a shared expert, biases of the choice."""
    dense, sparse = (from_config({**LATENT, "first_k_dense_replace": first}) for first in (2, 1))
    params = from_tensors(drawn({**LATENT, "first_k_dense_replace": 2})[1], dense.config)
    made = upcycle(params, dense, sparse)
    assert made["layers"][1]["moe"]["expert_bias"].tolist() == [0] * 8
    expected = evaluate(tmp_path, lambda p, t: dense.logits(p, t), params, TOKENS)
    actual = evaluate(tmp_path, lambda p, t: sparse.logits(p, t), made, TOKENS)
    assert_same("logits", actual, expected, np.float32, 1e-5)
    with pytest.raises(shoal.TraceError, match="intermediate_size is 12 of the dense model and 8 of the other"):
        upcycle(params, dense, from_config({**LATENT, "first_k_dense_replace": 1, "intermediate_size": 8}))


def test_stages():
    """Of a pipeline of two, in which the dense layers lie, too."""
    dense, tensors = drawn(config_of("llama"))
    params = from_tensors(tensors, dense.config)
    layout = Layout.folded({"pp": 2})
    config = {**config_of("llama"), "model_type": "mixtral", "num_local_experts": 4, "num_experts_per_tok": 2}
    sparse, staged = from_config(config), dense.over(layout)
    expected = upcycle(params, dense, sparse)
    made = upcycle(staged.to_stages(params), staged, sparse.over(layout))
    back = sparse.over(layout).to_layers(made)
    found = to_tensors(back, sparse.config)
    for key, array in to_tensors(expected, sparse.config).items():
        np.testing.assert_array_equal(found[key], array)


def test_how_balances_are_made_may_differ():
    """A dense model has none."""
    dense, tensors = drawn(config_of("llama"))
    fields = {"model_type": "mixtral", "num_local_experts": 4, "num_experts_per_tok": 2}
    sparse = from_config({**config_of("llama"), **fields})
    summed = Model(dataclasses.replace(sparse.config, balance_over_layers="sum"))
    made = upcycle(from_tensors(tensors, dense.config), dense, summed)
    assert "moe" in made["layers"][0]


def test_models_that_differ_in_more_are_refused():
    mixtral = {**config_of("llama"), "model_type": "mixtral", "num_local_experts": 4, "num_experts_per_tok": 2}
    cases = {
        "rms_norm_eps is 1e-05 of the dense model and 1e-06": ("llama", {"rms_norm_eps": 1e-6}),
        "windows is .*None, None.* and .*7, 7": ("llama", {"sliding_window": 7}),
        "qkv_bias is True of the dense model and False": ("qwen2", {"tie_word_embeddings": True}),
        "act is silu of the dense model and gelu": ("llama", {"hidden_act": "gelu"}),
        "layer 0 of the dense model has experts": ("mixtral", {}),
        "tie_word_embeddings is False": ("llama", {"tie_word_embeddings": True}),
    }
    for message, (base, fields) in cases.items():
        dense = from_config(mixtral if base == "mixtral" else config_of(base))
        with pytest.raises(shoal.TraceError, match=message):
            upcycle(dense.init(0), dense, from_config({**mixtral, **fields}))
