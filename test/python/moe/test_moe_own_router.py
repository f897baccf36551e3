# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Routers of a user's own, in layers and in models."""

import json
import re

import numpy as np
import pytest

from frontend_testing import shoal
from shoal.frontend.pytrees import map_leaves
from shoal.models import from_config
from shoal.moe import Layout, MoeConfig, init_params, moe, route
from shoal_testing import ROOT

X = np.random.default_rng(0).standard_normal((4, 16, 8)).astype(np.float32)
FIELDS = {"moe_router_topk": 2, "moe_router_pre_softmax": True, "moe_aux_loss_coeff": 0.01, "moe_z_loss_coeff": 0.01}
CONFIG = MoeConfig.flat(8, 16, **FIELDS)
MIXTRAL = json.loads((ROOT / "test/python/models/expected/mixtral.json").read_text())["config"]
PAGE = (ROOT / "docs/guide/MoE.md").read_text()


def by_hand(tokens, params, config):
    """What the configuration says, once more."""
    logits = shoal.einsum("GSM,ME->GSE", tokens, params["router"], dtype="float32")
    scores = shoal.softmax(logits)
    experts = shoal.top_k(scores, config.moe_router_topk)[1]
    return experts, shoal.take_along_axis(scores, experts, -1), logits


def by_number(tokens, params, config):
    """No parameters: token i goes to experts i and i + 1."""
    shape = (*tokens.shape[:2], 2)
    return (shoal.iota(shape, 1) + shoal.iota(shape, 2)) % config.num_experts, shoal.full(shape, 0.5)


def drawn(tokens, params, config, *, key):
    shape = (*tokens.shape[:2], config.moe_router_topk)
    logits = shoal.zeros((*tokens.shape[:2], config.num_experts))
    if key is None:
        return *by_number(tokens, params, config), logits
    return shoal.random.randint(key, shape, 0, config.num_experts), shoal.full(shape, 0.5), logits


def none(config, model):
    return {}


@pytest.mark.parametrize("given", ["argument", "configuration"])
def test_it_is_the_router_that_it_is_written_like(given):
    params = init_params(CONFIG, 8)
    config, options = (CONFIG, {"router": by_hand}) if given == "argument" else (CONFIG.replace(router=by_hand), {})
    made = shoal.jit(lambda x, p: moe(x, p, config, **options))(X, params)
    expected = shoal.jit(lambda x, p: moe(x, p, CONFIG))(X, params)
    np.testing.assert_allclose(made.y, expected.y, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(made.metrics.counts, expected.metrics.counts)
    assert set(made.losses) == {"aux_loss", "z_loss"}
    for name, loss in made.losses.items():
        assert float(loss) == pytest.approx(float(expected.losses[name]), rel=1e-5)


def test_layouts_have_its_result():
    """With a capacity, over experts on devices of their own; by each dispatcher."""
    config = CONFIG.replace(router=by_hand, moe_expert_capacity_factor=1.0)
    layout, params = Layout.folded({"dp": 4}, {"ep": 4}), init_params(config, 8)
    expected = shoal.jit(lambda x, p: moe(x, p, config))(X, params)
    for name in ("einsum", "sort", "allgather", "alltoall"):
        over = config.replace(moe_token_dispatcher_type=name)
        made = shoal.jit(lambda x, p, over=over: moe(x, p, over, layout), mesh=layout.mesh)(X, params)
        np.testing.assert_allclose(made.y, expected.y, rtol=1e-4, atol=1e-5)


def test_parameters_are_those_that_it_has():
    config = MoeConfig.flat(8, 16, moe_router_topk=2, router=by_number, router_shapes=none)
    params = init_params(config, 8)
    assert set(params) == {"wi", "wo"}
    made = shoal.jit(lambda x, p: moe(x, p, config))(X, params)
    np.testing.assert_array_equal(made.metrics.counts, np.full(8, 16))
    own = config.replace(router_shapes=lambda config, model: {"gate_norm": (model,), "table": (3, model), "line": (5,)})
    made = init_params(own, 8)
    assert (made["gate_norm"] == 1).all() and made["table"].std() > 0.1 and made["line"].std() > 0.01


@pytest.mark.parametrize("kind", ["by_hand", "drawn"])
def test_a_model_has_it_in_each_layer_and_is_trained(kind):
    options = {"router": by_hand} if kind == "by_hand" else {"router": drawn, "router_shapes": none}
    layout = Layout.folded({"dp": 2}, {"ep": 2})
    model, optimizer = from_config(MIXTRAL, layout, **options), shoal.optim.adamw(1e-2)
    assert [("router" in layer["moe"]) for layer in model.shapes()["layers"]] == [kind == "by_hand"] * 2
    tokens = np.random.default_rng(0).integers(0, 24, (4, 9), np.int32)
    state = shoal.train.init(model.init(0), optimizer)
    at = shoal.train.shardings(state, model.shardings())
    step = shoal.jit(shoal.train.step(model.loss, optimizer, has_aux=True, seed=0), mesh=layout.mesh,
                     in_shardings=(at, layout.P("dp")), donate_argnums=0)  # fmt: skip
    losses = []
    for _ in range(3):
        state, metrics = step(state, tokens)
        losses.append(float(metrics["nll"]))
    assert losses[2] < losses[0]
    logits = shoal.jit(model.logits, mesh=layout.mesh)(state.params, tokens)
    one = shoal.jit(model.over(Layout()).logits)(map_leaves(np.asarray, state.params), tokens)
    np.testing.assert_allclose(logits, one, rtol=1e-3, atol=1e-4)


def test_a_key_of_its_own_is_asked_for():
    model = from_config(MIXTRAL, router=drawn, router_shapes=none)
    with pytest.raises(shoal.TraceError, match="own=<function drawn.*> in training, and no key"):
        shoal.jit(model.loss)(model.init(0), np.zeros((2, 5), np.int32))


BIASED = {"moe_router_enable_expert_bias": True, "moe_router_score_function": "sigmoid"}


@pytest.mark.parametrize("fields, message", [
    ({"router_type": "hash"}, "it is in the place of TopK, not of Hash"),
    ({"moe_input_jitter_eps": 0.1}, "it draws for itself, by its key, and reads no jitter"),
    (BIASED, "it has no parameter bias"),
    ({"router": None, "router_shapes": none}, "router_shapes=.* with router=None: there is none"),
])  # fmt: skip
def test_fields_that_it_does_not_read(fields, message):
    with pytest.raises(shoal.TraceError, match=message):
        MoeConfig.flat(8, 16, **{"router": by_hand, **fields})


@pytest.mark.parametrize("made, message", [
    (lambda t, p, c: 1, "expected experts and weights, got 1"),
    (lambda t, p, c: (shoal.zeros((4, 16, 3), "int32"), shoal.zeros((4, 16, 2))), r"experts \[4, 16, 3\]; expected"),
    (lambda t, p, c: (shoal.zeros((4, 16, 2)), shoal.zeros((4, 16, 2))), "experts of float32; expected integers"),
    (lambda t, p, c: (*by_number(t, p, c), shoal.zeros((4, 16, 7))), r"logits \[4, 16, 7\]; expected \[G, S, E\]"),
    (by_number, "without logits there is no aux_loss, z_loss: return experts, weights, logits"),
])  # fmt: skip
def test_what_it_has_to_give(made, message):
    with pytest.raises((shoal.TraceError, shoal.TraceTypeError), match=f"route: router: {message}"):
        shoal.jit(lambda x, p: route(x, p, CONFIG, function=made).weights)(X, init_params(CONFIG, 8))


def test_names_of_parameters_are_its_own():
    config = CONFIG.replace(router=by_hand, router_shapes=lambda config, model: {"wi": (1,)})
    with pytest.raises(shoal.TraceError, match=r"router_shapes: \['wi'\] are names of other parameters"):
        init_params(config, 8)


def test_the_router_of_the_page(capsys):
    section = PAGE[PAGE.index("## A router of one's own") :]
    exec(re.search(r"^```python\n(.*?)^```", section, re.MULTILINE | re.DOTALL)[1], {})
    assert capsys.readouterr().out == "(4, 16, 32) [64. 64.]\n"
