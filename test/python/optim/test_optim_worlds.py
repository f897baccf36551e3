# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Optimisers of arrays of JAX: what they do to the frontend's values, and what optax does."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from frontend_testing import assert_same, evaluate, shoal
from shoal import optim, train

RNG = np.random.default_rng(0)
PARAMS = {"w": RNG.standard_normal((6, 4)).astype(np.float32), "b": np.zeros(4, np.float32)}
ROWS = RNG.standard_normal((8, 6)).astype(np.float32)

OPTIMISERS = {
    "sgd": (optim.sgd(0.1, 0.9), optax.sgd(0.1, 0.9)),
    "adamw": (optim.adamw(1e-2, weight_decay=0.1), optax.adamw(1e-2, weight_decay=0.1)),
    "lion": (optim.lion(1e-2), optax.lion(1e-2)),
    "clipped, by a schedule": (
        optim.chain(optim.clip_by_global_norm(0.1), optim.adam(optim.warmup_cosine(1e-2, 2, 10))),
        optax.chain(optax.clip_by_global_norm(0.1), optax.adam(optax.warmup_cosine_decay_schedule(0.0, 1e-2, 2, 10))),
    ),
    "adafactor": (optim.adafactor(1e-2), None),
    "if finite": (optim.apply_if_finite(optim.adam(1e-2)), None),
    "scaled": (optim.dynamic_loss_scale(optim.adam(1e-2)), None),
}  # fmt: skip


def three_steps(optimizer, grad, apply, x, params):
    """Parameters behind three steps; the state begins as NumPy's zeros or those of the world."""
    state = optimizer.init(params)
    for _ in range(3):
        updates, state = optimizer.update(grad(params, x), state, params)
        params = apply(params, updates)
    return params


@pytest.mark.parametrize("name", OPTIMISERS)
def test_steps(tmp_path, name):
    ours, theirs = OPTIMISERS[name]

    def loss(mean, params, x):
        y = x @ params["w"] + params["b"]
        return mean(y * y)

    native = evaluate(
        tmp_path,
        lambda params, x: three_steps(
            ours, lambda p, x: shoal.grad(lambda p: loss(shoal.mean, p, x))(p), optim.apply_updates, x, params
        ),
        PARAMS, ROWS,
    )  # fmt: skip
    grad = jax.grad(lambda p, x: loss(jnp.mean, p, x))
    of_jax = jax.jit(lambda params, x: three_steps(ours, grad, optim.apply_updates, x, params))(PARAMS, ROWS)
    for leaf in PARAMS:
        assert_same(leaf, np.asarray(of_jax[leaf]), native[leaf], None, 1e-5)  # 1 - b2^3 has four digits in float32
    if theirs is not None:
        expected = three_steps(theirs, grad, optax.apply_updates, ROWS, jax.tree.map(jnp.asarray, PARAMS))
        for leaf in PARAMS:
            assert_same(leaf, np.asarray(of_jax[leaf]), expected[leaf], None, 1e-5)


def test_micro_batches():
    """The gradient of all rows, of parts one behind the other, whose weights differ."""

    def loss(params, x):
        y = x @ params["w"] + params["b"]
        aux = {"rows": jnp.asarray(x.shape[0]), "mean": jnp.mean(y), "sum": train.summed(jnp.sum(x)), "top": train.largest(x.max())}
        return (jnp.sum(y * y), jnp.sum(x > 0)), aux

    def of(count):
        return jax.jit(optim.accumulate(loss, count, has_aux=True, weighted=True))(PARAMS, ROWS)

    (one, aux), grads = of(1)
    (four, parts), sums = of(4)
    assert float(four) == pytest.approx(float(one), rel=1e-6) and int(parts["rows"]) == int(aux["rows"]) == 8
    assert float(parts["sum"]) == pytest.approx(ROWS.sum(), rel=1e-5) and float(parts["top"]) == ROWS.max()
    for leaf in PARAMS:
        assert_same(leaf, np.asarray(sums[leaf]), grads[leaf], None, 2e-6)


def test_casts_keep_their_world():
    cast = jax.jit(lambda params: optim.cast(params, "bfloat16"))(PARAMS)
    assert all(isinstance(leaf, jax.Array) and leaf.dtype == jnp.bfloat16 for leaf in cast.values())
    assert all(isinstance(leaf, np.ndarray) for leaf in optim.cast(PARAMS, "bfloat16").values())
