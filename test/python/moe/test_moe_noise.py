# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Noise that a configuration asks for is there in training, with a key, or its absence is an error."""

import dataclasses
import json
from functools import partial

import numpy as np
import pytest

from frontend_testing import evaluate, shoal
from shoal import optim, train
from shoal.models import EncoderDecoder, Model, from_config
from shoal.moe import Layout, MoeConfig, init_params, moe
from shoal_testing import ROOT

CONFIG = json.loads((ROOT / "test/python/models/expected/mixtral.json").read_text())["config"]
TOKENS = np.zeros((4, 9), np.int32)
KEY = np.array([1, 2], np.int32)
DROPS = {"moe_expert_capacity_factor": 1.0}
# Fields that ask for noise, and what an error says of them.
NOISY = {
    "jitter=0.1": {"moe_input_jitter_eps": 0.1},
    "gate_noise=1.0": {"gate_noise": 1.0},
    "sampling='later'": {"second_policy": "random"},
    "sampling='second'": {"second_policy": "gumbel"},
    "sampling='first'": {"noisy_gate_policy": "RSample", "moe_router_topk": 1},
    "drops='random'": {"moe_token_drop_policy": "random", **DROPS},
    "forced=True": {"moe_router_force_load_balancing": True},
    "Sinkhorn": {"router_type": "sinkhorn", "moe_router_load_balancing_type": (),
                               "moe_aux_loss_coeff": 0.0, "moe_router_pre_softmax": False, "norm_topk_prob": None},
}  # fmt: skip


def model_of(layout=Layout(), **fields):
    made = from_config({**CONFIG, "num_hidden_layers": 1}).config
    return Model(dataclasses.replace(made, moe=made.moe.replace(**fields)), layout)


def text_of(function, *arguments):
    lines = shoal.trace(lambda *given: function(*given), arguments).splitlines()
    return "\n".join(line.split(" loc(")[0] for line in lines if not line.startswith("#loc"))


def step_text(model, **options):
    opt = optim.sgd(0.1)
    state = train.init(model.init(), opt)
    return text_of(train.step(model.loss, opt, has_aux=True, **options), state, TOKENS)


@pytest.mark.parametrize("what", NOISY)
def test_a_model_with_noise_asks_for_a_key(what):
    """`train.step` gives one; without training there is no noise."""
    model = model_of(**NOISY[what])
    params = model.init()
    message = f"loss: {what} in training, and no key: give key=, as train.step does, or training=False for"
    with pytest.raises(shoal.TraceError) as error:
        shoal.trace(model.loss, (params, TOKENS))
    assert str(error.value) == f"{message} routers without noise"
    noisy = text_of(partial(model.loss, key=KEY), params, TOKENS)
    marks = ["shoal.while", "scf.while"] if what == "Sinkhorn" else ["shoal.random"]
    assert any(mark in noisy for mark in marks)
    assert any(mark in step_text(model) for mark in marks)
    if "drops" not in what:
        quiet = text_of(partial(model.loss, training=False), params, TOKENS)
        assert not any(mark in quiet for mark in marks)
        assert quiet == text_of(partial(model.loss, key=KEY, training=False), params, TOKENS)


def test_a_model_without_noise_needs_none():
    """And what is given changes no program, on layouts that take no noise, too."""
    model = model_of()
    params = model.init()
    plain = text_of(model.loss, params, TOKENS)
    assert text_of(partial(model.loss, key=KEY), params, TOKENS) == plain and "shoal.random" not in plain
    balanced = model.over(Layout.folded({"cp": 2}, cp_balanced=True))
    shoal.trace(partial(balanced.loss, key=KEY), (params, TOKENS), balanced.layout.mesh)
    jittered = model_of(balanced.layout, moe_input_jitter_eps=0.1)
    with pytest.raises(shoal.TraceError, match="experts with noise depend on the order"):
        shoal.trace(partial(jittered.loss, key=KEY), (params, TOKENS), balanced.layout.mesh)


def test_a_dense_model_needs_none():
    model = model_of(moe_input_jitter_eps=0.1)
    dense = Model(dataclasses.replace(model.config, moe_layers=(False,)))
    shoal.trace(dense.loss, (dense.init(), TOKENS))


def test_models_of_two_sequences():
    model = EncoderDecoder(32, 16, 2, 8, (True,), (False,), MoeConfig.gshard(4, 8, moe_group_size=8))
    rows = {"source": np.ones((4, 8), np.int32), "target": np.ones((4, 8), np.int32)}
    with pytest.raises(shoal.TraceError, match="loss: sampling='later' in training, and no key"):
        shoal.trace(model.loss, (model.init(), rows))
    assert "shoal.random" in text_of(partial(model.loss, key=KEY), model.init(), rows)
    assert "shoal.random" not in text_of(partial(model.loss, training=False), model.init(), rows)
    dense = dataclasses.replace(model, encoder=(False,))
    shoal.trace(dense.loss, (dense.init(), rows))


def test_a_layer_that_is_trained_without_a_key():
    config = MoeConfig.flat(4, 8, moe_input_jitter_eps=0.1)
    x, params = np.zeros((2, 8, 8), np.float32), init_params(config, 8)
    with pytest.raises(shoal.TraceError, match="route: training=True with jitter=0.1 and no key"):
        shoal.trace(lambda x, p: moe(x, p, config, training=True).y, (x, params))
    quiet = text_of(lambda x, p: moe(x, p, config, key=KEY, training=False).y, x, params)
    assert "shoal.random" not in quiet


def test_steps_and_micro_batches_have_noise_of_their_own(tmp_path):
    """Losses of steps that change nothing differ by the noise alone, by step and by seed; as those of the same rows
    in several micro-batches do, whose mean is none of them."""
    model = model_of(moe_input_jitter_eps=0.9)
    params = model.init(3)
    params["layers"][0]["moe"]["router"] *= 100
    opt, tokens = optim.sgd(0.0), np.random.default_rng(0).integers(0, 24, (1, 9)).astype(np.int32).repeat(2, 0)

    def losses(params, tokens):
        found = []
        for options in ({}, {"seed": 1}, {"micro_batches": 2}):
            step, state = train.step(model.loss, opt, has_aux=True, **options), train.init(params, opt)
            for _ in range(2):
                state, metrics = step(state, tokens)
                found.append(metrics["loss"])
        return found

    found = [float(loss) for loss in evaluate(tmp_path, losses, params, tokens)]
    assert len(set(found)) == 6, found


def test_forced_balance(tmp_path):
    """Choices are random, whatever the router says, and it has a gradient."""
    config = MoeConfig.flat(4, 8, moe_router_force_load_balancing=True)
    params = init_params(config, 8)
    params["router"] = params["router"] * 0 + np.array([50.0, 0, 0, 0], np.float32)
    x = np.abs(np.random.default_rng(0).standard_normal((8, 64, 8))).astype(np.float32)

    def layer(x, params, key):
        def loss(params):
            out = moe(x, params, config, key=key)
            return shoal.sum(out.y * out.y), out.metrics.counts

        return shoal.value_and_grad(loss, has_aux=True)(params)

    (_, counts), grads = evaluate(tmp_path, layer, x, params, KEY)
    assert counts.sum() == 1024 and counts.min() > 200, counts
    assert np.abs(grads["router"]).max() > 0
