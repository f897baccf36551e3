# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Optimisers and schedules against optax."""

import jax
import numpy as np
import optax
import pytest

import shoal
from frontend_testing import assert_same, evaluate

RNG = np.random.default_rng(3)
PARAMS = {
    "w": RNG.standard_normal((6, 8)).astype(np.float32),
    "b": RNG.standard_normal(8).astype(np.float32),
}
GRADS = [
    {name: RNG.standard_normal(p.shape).astype(np.float32) * 3 for name, p in PARAMS.items()}
    for _ in range(3)
]
MASK = {"w": True, "b": False}

OPTIMIZERS = {
    "sgd": (shoal.optim.sgd(0.1), optax.sgd(0.1)),
    "momentum": (shoal.optim.sgd(0.1, 0.9), optax.sgd(0.1, 0.9)),
    "nesterov": (shoal.optim.sgd(0.1, 0.9, True), optax.sgd(0.1, 0.9, True)),
    "adam": (shoal.optim.adam(1e-2), optax.adam(1e-2)),
    "adamw": (
        shoal.optim.adamw(1e-2, weight_decay=0.1, mask=MASK),
        optax.adamw(1e-2, weight_decay=0.1, mask=MASK),
    ),
    "lion": (shoal.optim.lion(1e-2), optax.lion(1e-2)),
    "adafactor": (
        shoal.optim.adafactor(1e-2, smallest_factored=4),
        optax.adafactor(1e-2, min_dim_size_to_factor=4),
    ),
    "adafactor_small": (shoal.optim.adafactor(1e-2), optax.adafactor(1e-2)),
    "clipped": (
        shoal.optim.chain(shoal.optim.clip_by_global_norm(1.0), shoal.optim.sgd(0.1)),
        optax.chain(optax.clip_by_global_norm(1.0), optax.sgd(0.1)),
    ),
    "not_clipped": (
        shoal.optim.chain(shoal.optim.clip_by_global_norm(1e3), shoal.optim.sgd(0.1)),
        optax.chain(optax.clip_by_global_norm(1e3), optax.sgd(0.1)),
    ),
    "scheduled": (
        shoal.optim.adam(shoal.optim.warmup_cosine(1e-2, 2, 10)),
        optax.adam(optax.warmup_cosine_decay_schedule(0.0, 1e-2, 2, 10)),
    ),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_three_steps_are_those_of_optax(tmp_path, name):
    ours, theirs = OPTIMIZERS[name]

    def run(params, grads, state):
        trail = []
        for each in grads:
            updates, state = ours.update(each, state, params)
            params = shoal.optim.apply_updates(params, updates)
            trail.append(params)
        return trail

    actual = evaluate(tmp_path, run, PARAMS, GRADS, ours.init(PARAMS))
    params, state = PARAMS, theirs.init(PARAMS)
    for step, grads in enumerate(GRADS):
        updates, state = theirs.update(grads, state, params)
        params = optax.apply_updates(params, updates)
        for leaf in PARAMS:
            assert_same(leaf, actual[step][leaf], np.asarray(params[leaf]), np.float32, 5e-6)


def test_adam_in_float64_is_as_exact(tmp_path):
    """Its bias corrections, too, of which float32 has four digits."""
    ours, theirs = OPTIMIZERS["adam"]
    with jax.enable_x64(True):
        params, grads = jax.tree.map(np.float64, (PARAMS, GRADS[0]))
        actual = evaluate(tmp_path, lambda g, s: ours.update(g, s, params)[0], grads, ours.init(params))
        expected, _ = theirs.update(grads, theirs.init(params), params)
        for leaf in PARAMS:
            assert_same(leaf, actual[leaf], np.asarray(expected[leaf]), np.float64, 1e-9)


SCHEDULES = {
    "constant": (shoal.optim.constant(0.3), optax.constant_schedule(0.3)),
    "linear": (shoal.optim.linear(1.0, 0.1, 5), optax.linear_schedule(1.0, 0.1, 5)),
    "cosine_decay": (shoal.optim.cosine_decay(2.0, 7), optax.cosine_decay_schedule(2.0, 7)),
    "warmup_cosine": (
        shoal.optim.warmup_cosine(1.0, 3, 9, 0.2, 0.1),
        optax.warmup_cosine_decay_schedule(0.2, 1.0, 3, 9, 0.1),
    ),
    "inverse_sqrt": (
        shoal.optim.inverse_sqrt(2.0, 4),
        lambda step: 2.0 * min(max(step, 1) / 4, 2 / max(step, 1) ** 0.5),
    ),
}


def test_schedules_are_those_of_optax(tmp_path):
    def run(step):
        return {name: ours(step) for name, (ours, _) in SCHEDULES.items()}

    for step in (0, 1, 3, 4, 6, 12):
        actual = evaluate(tmp_path, run, np.int32(step))
        for name, (_, theirs) in SCHEDULES.items():
            assert_same(name, actual[name], np.float32(theirs(step)), np.float32, 1e-5)


def test_init_is_the_same_when_traced(tmp_path):
    ours = shoal.optim.adam(0.1)
    traced = evaluate(tmp_path, lambda params: ours.init(params), PARAMS)
    for actual, expected in zip(
        jax.tree.leaves(traced), jax.tree.leaves(ours.init(PARAMS)), strict=True
    ):
        assert_same("state", actual, expected)


def test_errors():
    with pytest.raises(shoal.TraceError, match="12 steps of warming up, of 10 in all"):
        shoal.optim.warmup_cosine(1.0, 12, 10)
    with pytest.raises(shoal.TraceError, match="linear: expected at least one step, got 0"):
        shoal.optim.linear(1.0, 0.0, 0)
    with pytest.raises(shoal.TraceError, match="the gradients have"):
        shoal.trace(lambda g, p: shoal.optim.apply_updates(g, {"w": p["w"]}), (PARAMS, PARAMS))


def test_norms_and_moments_of_zero(tmp_path):
    """No gradient, no room for one, no eps, of experts that never had a token: updates are 0 and not NaN."""
    zeros = {name: np.zeros_like(p) for name, p in PARAMS.items()}
    optimizers = {
        "clipped": shoal.optim.clip_by_global_norm(1.0), "clipped to nothing": shoal.optim.clip_by_global_norm(0.0),
        "by blocks": shoal.optim.clip_by_block_rms(1.0), "adam": shoal.optim.adam(1e-2),
        "adam without eps": shoal.optim.adam(1e-2, eps=0.0),
        "adafactor": shoal.optim.adafactor(1e-2, smallest_factored=4), "lion": shoal.optim.lion(1e-2, weight_decay=0.0),
    }  # fmt: skip
    for dtype in ("float32", "float16", shoal.bfloat16):
        params, grads = ({k: a.astype(dtype) for k, a in tree.items()} for tree in (PARAMS, zeros))

        def run(params, grads):
            return {name: o.update(grads, o.init(params), params)[0] for name, o in optimizers.items()}

        for name, updates in evaluate(tmp_path, run, params, grads).items():
            assert not any(np.float32(u).any() for u in updates.values()), (name, dtype)

    def nothing(params, grads):
        return shoal.optim.clip_by_global_norm(0.0).update(grads, (), params)[0]

    assert not any(u.any() for u in evaluate(tmp_path, nothing, PARAMS, GRADS[0]).values())
    for make, bound in ((shoal.optim.clip_by_global_norm, -1.0), (shoal.optim.clip_by_block_rms, 0.0)):
        for wrong in (bound, float("nan")):
            with pytest.raises(shoal.TraceError, match=f"{make.__name__}: .* {wrong}"):
                make(wrong)


@pytest.mark.parametrize("count", [1, 2])
def test_micro_batches_of_no_weight(tmp_path, count):
    """A batch without a label that counts has no loss and no gradient."""

    def loss(params, x, weights):
        return shoal.sum(shoal.square(x @ params["w"]).sum(-1) * weights), shoal.sum(weights)

    x, none = np.ones((4, 6), np.float32), np.zeros(4, np.float32)
    value, grads = evaluate(tmp_path, shoal.optim.accumulate(loss, count, weighted=True), PARAMS, x, none)
    assert value == 0 and not any(g.any() for g in grads.values())
