# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training steps of arrays of JAX: what they are of the frontend's values, by jax.jit and by shoal.jax.jit."""

import json

import jax
import numpy as np
import pytest

import shoal.jax
from frontend_testing import assert_leaves_same, assert_same, evaluate, shoal
from shoal import P, optim, train
from shoal.arrays import mesh_of, named_shardings
from shoal.models import from_config
from shoal.moe import Layout
from shoal_testing import ROOT

LAYOUT = Layout.folded({"dp": 2}, {"ep": 2})

# Optimisers, and what a step is told: of DeepSeek-V3's experts' bias as a buffer, in each.
STEPS = {
    "plain": (optim.adamw(1e-2), {}),
    "micro-batches, by a schedule": (
        optim.chain(optim.clip_by_global_norm(1.0), optim.adamw(optim.warmup_cosine(1e-2, 1, 9))), {"micro_batches": 2}
    ),
    "scaled, two beside each other": (optim.dynamic_loss_scale(optim.adamw(1e-2)), {"micro_batches": 4, "overlap": 2}),
    "if finite": (optim.apply_if_finite(optim.adamw(1e-2)), {"micro_batches": 2}),
}  # fmt: skip


def model_of(family, layout=Layout()):
    config = json.loads((ROOT / f"test/python/models/expected/{family}.json").read_text())["config"]
    return from_config({**config, "num_hidden_layers": 2}, layout)


def begun(model, optimizer):
    """(state, tokens) before the second step, whose moments are no zeros."""
    params, rng = model.init(0), np.random.default_rng(0)
    state = train.init(params, optimizer)._replace(samples=None)
    return state, rng.integers(0, model.config.vocab_size, (8, 9)).astype(np.int32)


@pytest.mark.parametrize("name", STEPS)
def test_steps_are_the_frontends(tmp_path, name):
    """State and metrics: counts of micro-batches are summed, the bias moves by them. Of sums in another order an update by
    Adam's first steps may be another one, as it is the gradient's sign."""
    optimizer, told = STEPS[name]
    model = model_of("deepseek_v3")
    state, tokens = begun(model, optimizer)
    step = train.step(model.loss, optimizer, has_aux=True, **told)
    expected, metrics = evaluate(tmp_path, step, state, tokens)
    made, of_jax = jax.jit(step)(jax.tree.map(jax.numpy.asarray, state), tokens)
    assert_leaves_same(of_jax, metrics, 1e-5)
    assert int(np.asarray(metrics["counts"]).sum()) == int(of_jax["counts"].sum()) > 0
    largest = [np.abs(np.asarray(a) - np.asarray(b)).max() for a, b in zip(jax.tree.leaves(made.params), jax.tree.leaves(expected.params), strict=True)]
    assert max(largest) <= 2.1e-2 and np.mean(largest) < 1e-4
    moved = [layer["moe"]["expert_bias"] for layer in made.params["layers"] if "moe" in layer]
    assert moved and all(np.any(np.asarray(bias) != 0) for bias in moved)


def test_keys_are_drawn_for_each_step_and_micro_batch():
    def loss(params, batch, *, key):
        return (params * jax.random.uniform(key, params.shape)).sum() * batch.mean()

    optimizer = optim.sgd(0.1)
    step = jax.jit(train.step(loss, optimizer, seed=3, micro_batches=2))
    begin = train.init(jax.numpy.ones(4), optimizer)
    batch = np.ones((4, 2), np.float32)
    one, _ = step(begin, batch)
    again, _ = step(begin, batch)
    two, _ = step(begin._replace(step=np.int32(1)), batch)
    assert np.array_equal(one.params, again.params) and not np.array_equal(one.params, two.params)
    key = jax.random.fold_in(jax.random.key(3), 0)
    drawn = sum(jax.random.uniform(jax.random.fold_in(key, i), (4,)) for i in range(2)) / 2
    assert_same("update", np.asarray(one.params), np.asarray(1 - 0.1 * drawn), None, 1e-6)


def test_gradients_lie_where_a_mesh_is_set():
    optimizer = optim.sgd(0.1)
    step = train.step(lambda params, batch: (params * batch).sum(), optimizer, gradients=P("x0"))
    given = train.init(np.ones(4, np.float32), optimizer), np.ones((4, 4), np.float32)
    with jax.sharding.use_abstract_mesh(mesh_of(LAYOUT.mesh)):
        assert "sharding_constraint[" in str(jax.make_jaxpr(step)(*given))
    with pytest.raises(shoal.TraceError, match=r"constrain: P\('x0'\) without a mesh"):
        jax.make_jaxpr(step)(*given)


def test_by_shoal_jax_jit_on_two_ranks():
    """Two steps of Mixtral, whose losses are jax.jit's on one device."""
    optimizer = optim.adamw(1e-2)
    model, other = model_of("mixtral", LAYOUT), model_of("mixtral")
    state, tokens = begun(model, optimizer)
    places = named_shardings((train.shardings(state, model.shardings()), LAYOUT.P("outside")), LAYOUT.mesh)
    many = shoal.jax.jit(train.step(model.loss, optimizer, has_aux=True), mesh=mesh_of(LAYOUT.mesh), in_shardings=places)
    one = jax.jit(train.step(other.loss, optimizer, has_aux=True))
    spread, whole = state, jax.tree.map(jax.numpy.asarray, state)
    for _ in range(2):
        spread, made = many(spread, tokens)
        whole, expected = one(whole, tokens)
        assert_same("loss", made["loss"].numpy(), np.asarray(expected["loss"]), None, 1e-4)
        assert np.array_equal(made["counts"].numpy().sum(1), np.asarray(expected["counts"]).sum(1))


def of_parts(params, batch):
    """Sums that are floats, a largest one and a mean."""
    rows = (batch * params).sum(1)
    metrics = {"rows": train.summed((rows > 0) * 1.0), "most": train.largest(rows.max()), "mean": rows.mean(), "many": rows > 1}
    return (rows**2).mean(), metrics


@jax.custom_vjp
def by_itself(value, rows):
    return value, train.summed(rows)


by_itself.defvjp(lambda value, rows: (by_itself(value, rows), None), lambda rest, given: given)


def handed_on(loss):
    """Functions with a derivative of their own, and such as give what they get, hand it on."""
    once = jax.checkpoint(lambda made: made)

    def called(params, batch):
        value, metrics = jax.vmap(loss, (None, 0))(params, batch[None])
        value, rows = by_itself(value[0], metrics["rows"][0])
        most = once(train.largest(metrics["most"][0]))
        return value, {"rows": once(rows), "most": most, "mean": metrics["mean"][0], "many": metrics["many"][0]}

    return called


WRAPS = {
    "none": lambda loss: loss, "checkpoint": jax.checkpoint, "jit": jax.jit,
    "both": lambda loss: jax.checkpoint(jax.jit(jax.checkpoint(loss))), "others": handed_on,
}  # fmt: skip


@pytest.mark.parametrize("wrap", WRAPS)
@pytest.mark.parametrize("overlap", [1, 4])
def test_what_metrics_say_goes_through_functions(wrap, overlap):
    params, batch = jax.numpy.arange(3.0), np.random.default_rng(0).normal(size=(8, 3)).astype(np.float32)
    wrapped = WRAPS[wrap](of_parts)
    for _ in range(2):  # the second time JAX finds what it traced before
        (value, metrics), grads = optim.accumulate(wrapped, 4, has_aux=True, overlap=overlap)(params, batch)
        whole = [of_parts(params, batch[i::4])[1] for i in range(4)]
        assert_same("rows", np.asarray(metrics["rows"]), np.sum([part["rows"] for part in whole], 0), None, 0)
        assert metrics["most"] == max(part["most"] for part in whole)
        assert metrics["many"].dtype == np.int32 and np.array_equal(metrics["many"], np.sum([part["many"] for part in whole], 0))
        assert_same("mean", np.asarray(metrics["mean"]), np.mean([part["mean"] for part in whole]), None, 1e-6)
        expected = optim.accumulate(of_parts, 4, has_aux=True, overlap=overlap)(params, batch)
        assert_leaves_same((value, grads), (expected[0][0], expected[1]), 1e-6)


def test_arithmetic_drops_what_metrics_say():
    def loss(params, batch):
        made, metrics = jax.checkpoint(of_parts)(params, batch)
        return made, {"rows": metrics["rows"] * 1.0, "most": jax.numpy.maximum(metrics["most"], 0)}

    params, batch = jax.numpy.arange(3.0), np.random.default_rng(0).normal(size=(8, 3)).astype(np.float32)
    (_, metrics), _ = optim.accumulate(loss, 4, has_aux=True)(params, batch)
    whole = [of_parts(params, batch[i::4])[1] for i in range(4)]
    for name in metrics:
        assert_same(name, np.asarray(metrics[name]), np.mean([part[name] for part in whole], 0), None, 1e-6)
