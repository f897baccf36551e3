# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decoders of arrays of JAX: what transformers computes, by XLA alone. `test_models.py` says what is expected."""

import json

import jax
import numpy as np
import pytest

import shoal
from frontend_testing import assert_same, evaluate
from shoal import optim
from shoal.models import EncoderDecoder, from_config
from shoal.models.weights import from_tensors, to_tensors
from shoal.layers import cross_entropy
from shoal.moe import Capacity, Experts, MoeConfig, TopK
from shoal_testing import ROOT
from test_models import FAMILIES, load


@pytest.mark.parametrize("family", FAMILIES)
def test_logits_and_gradients_of_transformers(family):
    model, tensors, gradients, tokens, logits = load(family)
    params = from_tensors(tensors, model.config)

    def loss(params, tokens):
        logits = model.logits(params, tokens)
        return cross_entropy(logits[:, :-1], tokens[:, 1:]), logits

    (_, made), grads = jax.jit(jax.value_and_grad(loss, has_aux=True))(params, tokens)
    assert_same("logits", np.asarray(made), logits, np.float32, 1e-5)
    by_name = to_tensors(jax.tree.map(np.asarray, grads), model.config)
    for name, expected in gradients.items():
        if not name.endswith("e_score_correction_bias"):
            assert_same(name, by_name[name], expected, np.float32, 1e-5)


def test_a_model_trains_without_an_executable():
    """Mixtral's, with AdamW and the losses of the balance, by jax.jit; NumPy's tokens beside JAX's parameters."""
    config = json.loads((ROOT / "test/python/models/expected/mixtral.json").read_text())["config"]
    model, optimizer = from_config(config), optim.adamw(1e-2)
    tokens = np.random.default_rng(0).integers(0, config["vocab_size"], (4, 17)).astype(np.int32)

    @jax.jit
    def step(params, state):
        (loss, metrics), grads = jax.value_and_grad(lambda p: model.loss(p, tokens), has_aux=True)(params)
        updates, state = optimizer.update(grads, state, params)
        return optim.apply_updates(params, updates), state, loss, metrics

    params, losses = jax.tree.map(jax.numpy.asarray, model.init(0)), []
    state = optimizer.init(params)
    for _ in range(10):
        params, state, loss, metrics = step(params, state)
        losses.append(float(loss))
    assert losses[-1] < 0.8 * losses[0]
    assert metrics["counts"].sum() == 4 * 16 * config["num_experts_per_tok"] * config["num_hidden_layers"]


def test_documents_and_padding(tmp_path):
    """Two packed documents are those one by one, in JAX's world, too."""
    config = json.loads((ROOT / "test/python/models/expected/mixtral.json").read_text())["config"]
    model = from_config(config)
    params = jax.tree.map(jax.numpy.asarray, model.init(0))
    tokens = np.random.default_rng(1).integers(0, config["vocab_size"], (1, 12)).astype(np.int32)
    segments = np.array([[0] * 5 + [1] * 7], np.int32)
    packed = jax.jit(lambda p, t, s: shoal.models.decoder.decode(p, t, model.config, segments=s).logits)(params, tokens, segments)
    for part in (slice(0, 5), slice(5, 12)):
        alone = jax.jit(model.logits)(params, tokens[:, part])
        assert_same("logits", np.asarray(packed)[:, part], alone, None, 1e-5)


def test_from_one_sequence_to_another(tmp_path):
    """A Transformer with experts: its loss, gradients and translation are the frontend's."""
    moe = MoeConfig(Experts(4, 8, "relu"), TopK(losses={"aux_loss": 0.1}), capacity=Capacity(2.0, drops="position"))
    model = EncoderDecoder(19, 8, 2, 12, encoder=(True, False), decoder=(False, True), moe=moe)
    params, rng = model.init(0), np.random.default_rng(2)
    batch = {"source": rng.integers(3, 19, (3, 6)).astype(np.int32), "target": rng.integers(3, 19, (3, 5)).astype(np.int32)}
    batch["source"][0, 4:], batch["target"][:, -1], batch["target"][1, 3:] = 0, 2, (2, 0)

    def made(value_and_grad):
        return lambda params, batch: (
            value_and_grad(model.loss, has_aux=True)(params, batch), model.translate(params, batch["source"], 4)
        )  # fmt: skip

    expected = evaluate(tmp_path, made(shoal.value_and_grad), params, batch)
    of_xla = jax.jit(made(jax.value_and_grad))(params, batch)
    for actual, leaf in zip(jax.tree.leaves(of_xla), jax.tree.leaves(expected), strict=True):
        assert_same("leaf", np.asarray(actual), np.asarray(leaf), None, 1e-5)
