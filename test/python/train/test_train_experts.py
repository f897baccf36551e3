# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Steps of a layer whose experts lie on several devices, some of which get no token, against one device and optax."""

import jax
import numpy as np
import optax
import pytest

import shoal
from frontend_testing import assert_same, evaluate
from shoal import optim, train
from shoal.moe import Layout, MoeConfig, init_params, moe, param_shardings, total_loss

E, M, H = 4, 6, 8
STEPS = 2
X = np.abs(np.random.default_rng(0).standard_normal((4, 8, M))).astype(np.float32)
CONFIG = MoeConfig.flat(
    E, H, moe_router_topk=1, moe_router_pre_softmax=True, gated_linear_unit=True, hidden_act="silu",
    moe_aux_loss_coeff=0.01,
)  # fmt: skip


def parameters():
    """The router sends all tokens, whose numbers are positive, to the first expert."""
    params = init_params(CONFIG, M, 0)
    params["router"] = np.zeros((M, E), np.float32)
    params["router"][:, 0] = 3.0
    return params


def loss_over(layout, config):
    def loss(params, batch):
        made = moe(batch, params, config, layout)
        total = shoal.mean((batch + made.y) ** 2) + total_loss(made.losses, config)
        return total, {"counts": made.metrics.counts}

    return loss


def stepped(tmp_path, optimizer, layout, batches=(X,) * STEPS, how="alltoall", **options):
    """The metrics of each step and the state behind the last."""
    config = CONFIG.replace(moe_token_dispatcher_type=how)
    step = train.step(loss_over(layout, config), optimizer, has_aux=True, **options)

    def run(state, batches):
        shown = []
        for batch in batches:
            state, metrics = step(state, batch)
            shown.append(metrics)
        return shown, state

    state, mesh = train.init(parameters(), optimizer), layout.mesh
    at = train.shardings(state, param_shardings(config, layout)) if mesh else None
    placed = {"in_shardings": (at, None), "out_shardings": (None, at), "devices": mesh.size} if mesh else {}
    return evaluate(tmp_path, run, state, batches, mesh=mesh, **placed)


def clipped(module):
    return module.chain(module.clip_by_global_norm(0.05), module.adamw(1e-2, weight_decay=0.1))


OPTIMISERS = {
    "clipped adamw": (clipped(optim), clipped(optax)),
    "lion": (optim.lion(1e-2), optax.lion(1e-2)),
    "momentum": (optim.sgd(0.1, 0.9, True), optax.sgd(0.1, 0.9, True)),
    "adafactor": (optim.adafactor(1e-2, 4), optax.adafactor(1e-2, min_dim_size_to_factor=4)),
}
LAYOUTS = {
    "EP 4": (Layout.folded({"dp": 4}, {"ep": 4}), "alltoall"),
    "EP 2, EDP 2": (Layout.folded({"dp": 4}, {"ep": 2, "edp": 2}), "sort"),
    "EP 2, ETP 2": (Layout.folded({"tp": 2, "dp": 2}, {"ep": 2, "etp": 2}), "allgather"),
}


def by_optax(tmp_path, transform):
    """Norms of the gradients, of one device's program, and the parameters behind all steps."""
    params, norms = parameters(), []
    state = transform.init(params)
    gradient = shoal.grad(loss_over(Layout(), CONFIG), has_aux=True)
    for _ in range(STEPS):
        grads, _ = evaluate(tmp_path, gradient, params, X)
        norms.append(np.sqrt(sum(np.sum(np.square(grad)) for grad in grads.values())))
        updates, state = transform.update(grads, state, params)
        params = jax.tree.map(np.asarray, optax.apply_updates(params, updates))
    return norms, params, grads


@pytest.mark.parametrize("name", OPTIMISERS)
def test_experts_without_tokens_are_trained_as_on_one_device(tmp_path, name):
    """Norms are of all experts, once each, wherever they lie; decay and moments go on where no token is."""
    ours, theirs = OPTIMISERS[name]
    norms, expected, grads = by_optax(tmp_path, theirs)
    assert all(np.abs(grads[weight][1:]).max() == 0 < np.abs(grads[weight][0]).max() for weight in ("wi", "wg", "wo"))
    for layout, (over, how) in LAYOUTS.items():
        shown, state = stepped(tmp_path, ours, over, how=how)
        assert [metrics["counts"].tolist() for metrics in shown] == [[32, 0, 0, 0]] * STEPS
        np.testing.assert_allclose([metrics["grad_norm"] for metrics in shown], norms, rtol=1e-5, err_msg=layout)
        for weight, array in expected.items():
            assert_same(f"{layout}: {weight}", state.params[weight], array, np.float32, 2e-5)


def test_an_expert_that_overflows_stops_all_devices(tmp_path):
    """In float16, by one of three batches: nothing of the step stays, on no device; norms are unscaled."""
    scaled = optim.dynamic_loss_scale(optim.adamw(optim.linear(1e-2, 0.0, 10)), init_scale=2.0**12, growth_interval=9)
    batches = (X, X * 2e3, X)
    found = [
        stepped(tmp_path, scaled, layout, batches, compute="float16", inputs=True)
        for layout in (Layout(), Layout.folded({"dp": 4}, {"ep": 4}))
    ]
    for shown, state in found:
        assert [int(metrics["skipped"]) for metrics in shown] == [0, 1, 1]
        assert [float(metrics["loss_scale"]) for metrics in shown] == [2.0**12, 2.0**11, 2.0**11]
        assert [int(state.optimizer.inner[0].count), int(state.step)] == [2, 3]
        assert not np.isfinite(shown[1]["grad_norm"]) and 0 < shown[2]["grad_norm"] < 10
    (_, one), (_, many) = found
    for weight, array in one.params.items():
        assert_same(weight, many.params[weight], array, np.float32, 1e-2)
