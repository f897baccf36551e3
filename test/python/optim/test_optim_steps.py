# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Around optimisers: micro-batches, steps that are left out, scales of losses, fewer bits, ZeRO."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import shoal
from frontend_testing import assert_same, evaluate
from shoal import P, TraceError, TraceTypeError, optim, train

RNG = np.random.default_rng(5)
PARAMS = {"w": np.float32(RNG.standard_normal((6, 4))), "b": np.float32(RNG.standard_normal(4))}
X = np.float32(RNG.standard_normal((12, 6)))
Y = np.float32(RNG.standard_normal((12, 4)))
WEIGHTS = np.float32(RNG.integers(0, 3, 12))


def error(params, x, y):
    return shoal.square(x @ params["w"] + params["b"] - y).sum(-1)


def mean_loss(params, x, y):
    return error(params, x, y).mean()


def weighted_loss(params, x, y, weights):
    return (error(params, x, y) * weights).sum(), weights.sum()


def assert_trees(actual, expected, tolerance=2e-6):
    for one, other in zip(jax.tree.leaves(actual), jax.tree.leaves(expected), strict=True):
        assert_same("leaf", one, np.asarray(other), tolerance=tolerance)


@pytest.mark.parametrize("count", [1, 3, 4])
def test_micro_batches_sum_up_to_the_batch(tmp_path, count):
    def whole(params, x, y):
        return shoal.value_and_grad(mean_loss)(params, x, y)

    def parts(params, x, y):
        return optim.accumulate(mean_loss, count)(params, x, y)

    expected = evaluate(tmp_path, whole, PARAMS, X, Y)
    assert_trees(evaluate(tmp_path, parts, PARAMS, X, Y), expected)


@pytest.mark.parametrize("count", [1, 3])
def test_weights_are_summed_before_the_division(tmp_path, count):
    """Micro-batches of other weights: a mean of means would be another number."""

    def whole(params, x, y, weights):
        def loss(params):
            total, weight = weighted_loss(params, x, y, weights)
            return total / weight

        return shoal.value_and_grad(loss)(params)

    def parts(params, *batch):
        accumulated = optim.accumulate(weighted_loss, count, weighted=True)
        return accumulated(params, *batch)

    expected = evaluate(tmp_path, whole, PARAMS, X, Y, WEIGHTS)
    assert_trees(evaluate(tmp_path, parts, PARAMS, X, Y, WEIGHTS), expected)


def metrics_of(params, x, weights):
    """A metric of each kind, of floats and of integers; a mean that is none where nothing has a weight."""
    total = weights.sum()
    return {
        "counts": train.summed(shoal.stack([total, (x[:, 0] * weights).sum()])),
        "chosen": (weights > 1).astype("int32").sum(),
        "flags": weights > 0,
        "largest": train.largest(x.max(0)),
        "mean": (x * weights.reshape(-1, 1)).sum(0) / total,
        "loss": (error(params, x, 0.0) * weights).sum() / total,
    }


@pytest.mark.parametrize("wrapped", [lambda f: f, shoal.remat], ids=["plain", "remat"])
def test_metrics_of_parts_make_those_of_the_batch(tmp_path, wrapped):
    """Also where the parts have other weights, one of them none at all, and through functions of the program."""
    weights = WEIGHTS.copy()
    weights[1::4] = 0  # the second of four micro-batches

    def run(params, x, weights):
        def loss(params, x, weights):
            return (error(params, x, 0.0).sum(), weights.sum()), metrics_of(params, x, weights)

        made = {n: optim.accumulate(wrapped(loss), n, has_aux=True, weighted=True) for n in (1, 2, 4)}
        return {n: function(params, x, weights)[0][1] for n, function in made.items()}

    found = evaluate(tmp_path, run, PARAMS, X, weights)
    flags = {n: found[n].pop("flags") for n in found}
    for n in (2, 4):
        assert_trees(found[n], found[1])
        assert (flags[n] == flags[1].reshape(-1, n).sum(1)).all()


def test_metrics_without_weights_are_plain_means(tmp_path):
    def run(params, x):
        def loss(params, x):
            return error(params, x, 0.0).mean(), (x.mean(), train.largest(x.max()), train.summed(x.sum()) * 1.0)

        return optim.accumulate(loss, 4, has_aux=True)(params, x)[0][1]

    mean, most, product = evaluate(tmp_path, run, PARAMS, X)
    np.testing.assert_allclose((mean, most), (X.mean(), X.max()), rtol=1e-6)
    np.testing.assert_allclose(product, X.sum() / 4, rtol=1e-5)  # arithmetic drops what it was


NARROW = ["bfloat16", "float16"]


@pytest.mark.parametrize("weighted", [False, True], ids=["mean", "weighted"])
def test_gradients_of_narrow_parameters_are_summed_in_float32(tmp_path, weighted):
    """Of 512 micro-batches with the gradient 1 + i / 512, and weights and a loss that 8 bits cannot count."""
    rows = np.float32(1 + np.arange(512) / 512).reshape(512, 1)

    def run(params, x):
        def loss(params, x):
            total = (x.astype(params.dtype) * params).sum()
            return (total, as_count(params.dtype)) if weighted else total

        return optim.accumulate(loss, 512, weighted=weighted)(params, x)

    def as_count(dtype):
        return shoal.ones((), dtype)

    for name in NARROW:
        params = np.ones(1, np.float32).astype(np.dtype(name) if name == "float16" else shoal.bfloat16)
        value, grads = evaluate(tmp_path, run, params, rows)
        exact = rows.astype(params.dtype).astype(np.float64).mean()
        assert (value.dtype, grads.dtype) == (np.float32, params.dtype)
        assert float(value) == pytest.approx(exact, rel=1e-6)
        assert float(grads[0]) == float(np.float32(exact).astype(params.dtype))


@pytest.mark.parametrize(
    "ours",
    [optim.sgd(0.01, 0.9, True), optim.adamw(1e-2, weight_decay=0.1), optim.lion(1e-2), optim.adafactor(1e-2, 4),
     optim.chain(optim.clip_by_global_norm(0.1), optim.adam(optim.constant(1e-2))),
     optim.dynamic_loss_scale(optim.chain(optim.clip_by_block_rms(0.1), optim.sgd(0.1)), 1.0)],
    ids=["momentum", "adamw", "lion", "adafactor", "clipped", "scaled"],
)  # fmt: skip
def test_states_and_updates_of_narrow_parameters_are_float32(tmp_path, ours):
    """Steps on bfloat16 have the bits of steps on the same numbers in float32; the parameters are rounded."""

    def run(params, grads, state):
        trail = []
        for _ in range(3):
            updates, state = ours.update(grads, state, params)
            trail.append((updates, state, optim.apply_updates(params, updates)))
        return trail

    narrow = jax.tree.map(lambda p: p.astype(shoal.bfloat16), (PARAMS, {"w": PARAMS["w"] / 3, "b": PARAMS["b"]}))
    wide = jax.tree.map(lambda p: p.astype(np.float32), narrow)
    assert jax.tree.map(lambda a: a.dtype, ours.init(narrow[0])) == jax.tree.map(lambda a: a.dtype, ours.init(wide[0]))
    found = [evaluate(tmp_path, run, *trees, ours.init(trees[0])) for trees in (narrow, wide)]
    for (updates, state, params), (*expected, unrounded) in zip(*found):
        for one, other in zip(jax.tree.leaves((updates, state)), jax.tree.leaves(tuple(expected)), strict=True):
            assert one.dtype == other.dtype and one.tobytes() == other.tobytes()
        for name in PARAMS:
            assert params[name].tobytes() == unrounded[name].astype(shoal.bfloat16).tobytes()


def test_a_mean_of_squares_of_bfloat16_falls(tmp_path):
    """By 0.999 a step, which is less than bfloat16 has between two numbers."""
    ours = optim.adam(1e-2)
    params = {"w": PARAMS["w"].astype(shoal.bfloat16)}

    def run(params, state):
        for i in range(20):
            grads = {"w": params["w"] * (1.0 if i == 0 else 0.0)}
            _, state = ours.update(grads, state, params)
        return state[0].nu["w"]

    nu = evaluate(tmp_path, run, params, ours.init(params))
    np.testing.assert_allclose(nu, 1e-3 * np.float32(params["w"]) ** 2 * 0.999**19, rtol=1e-5)


def test_what_a_mask_leaves_out_keeps_its_type():
    tree = {"w": np.zeros(2, np.float32), "bias": np.zeros(3, np.float32), "mask": np.zeros(4, bool)}

    def types(**options):
        found = {}
        shoal.trace(lambda t: found.update(optim.cast(t, "bfloat16", **options)) or t["w"], (tree,))
        return {name: str(leaf.dtype) for name, leaf in found.items()}

    assert types() == {"w": "bfloat16", "bias": "bfloat16", "mask": "bool"}
    kept = {"w": "bfloat16", "bias": "float32", "mask": "bool"}
    assert types(mask={"w": True, "bias": False, "mask": True}) == kept
    assert types(mask=lambda t: {name: name != "bias" for name in t}) == kept
    assert types(mask=False)["w"] == "float32"
    with pytest.raises(TraceTypeError, match="cast: mask: expected bools, got 1"):
        types(mask=1)
    with pytest.raises(TraceError, match="cast: mask: dictionary key mismatch"):
        types(mask={"w": True})


def test_rates_are_told_of_a_state(tmp_path):
    schedule = optim.linear(1.0, 0.0, 10)
    cases = {
        "number": optim.adamw(0.1),
        "schedule": optim.adafactor(schedule),
        "in a chain": optim.chain(optim.clip_by_global_norm(1.0), optim.chain(optim.lion(schedule), optim.scale(2.0))),
        "two": optim.chain(optim.sgd(0.5), optim.sgd(schedule)),
        "guarded": optim.dynamic_loss_scale(optim.apply_if_finite(optim.adam(schedule)), 1.0),
    }

    def run(params):
        made = {}
        for name, each in cases.items():
            first = each.init(params)
            _, second = each.update(params, first, params)
            made[name] = [each.rate(state) for state in (first, second)]
        return made

    found = evaluate(tmp_path, run, PARAMS)
    expected = {"number": [0.1, 0.1], "two": [0.5, 0.45]}
    expected |= {name: [1, 0.9] for name in ("schedule", "in a chain", "guarded")}
    for name, pair in expected.items():
        np.testing.assert_allclose(found[name], pair, rtol=1e-6, err_msg=name)
    assert optim.chain(optim.scale(2.0), optim.trace(0.9)).rate is None


def test_accumulation_traces_the_loss_once_however_many_there_are():
    texts = [
        shoal.trace(lambda p, x, y, k=k: optim.accumulate(mean_loss, k)(p, x, y), (PARAMS, X, Y))
        for k in (2, 6)
    ]
    lengths = [len(text.splitlines()) for text in texts]
    assert lengths[0] == lengths[1]


def test_steps_that_are_not_finite_are_left_out(tmp_path):
    ours = optim.apply_if_finite(optim.adam(1e-2))
    theirs = optax.apply_if_finite(optax.adam(1e-2), max_consecutive_errors=100)
    good = jax.tree.map(lambda p: p * np.float32(0.5), PARAMS)
    bad = {**good, "b": np.float32([1, np.inf, 0, np.nan])}

    def run(params, grads, state):
        trail = []
        for each in grads:
            updates, state = ours.update(each, state, params)
            params = optim.apply_updates(params, updates)
            trail.append((params, state.skipped))
        return trail

    grads = [good, bad, good, bad, bad, good]
    actual = evaluate(tmp_path, run, PARAMS, grads, ours.init(PARAMS))
    params, state = PARAMS, theirs.init(PARAMS)
    for (mine, skipped), each in zip(actual, grads):
        updates, state = theirs.update(each, state, params)
        params = optax.apply_updates(params, updates)
        assert_trees(mine, params, 5e-6)
        assert int(skipped) == int(state.total_notfinite)
    assert int(actual[-1][1]) == 3


def test_the_scale_of_the_loss_falls_and_grows(tmp_path):
    scaler = optim.dynamic_loss_scale(
        optim.sgd(1.0), init_scale=2.0**4, growth_interval=2, min_scale=4.0, max_scale=32.0
    )
    finite = [True, True, True, True, True, False, False, False, False, True]

    def run(params, grads, state):
        trail = []
        for each in grads:
            scaled = {name: g * state.loss_scale for name, g in each.items()}
            updates, state = scaler.update(scaled, state, params)
            trail.append((updates, state.loss_scale, state.good_steps, state.skipped))
        return trail

    good = jax.tree.map(np.ones_like, PARAMS)
    bad = {**good, "w": np.full_like(PARAMS["w"], np.inf)}
    grads = [good if holds else bad for holds in finite]
    trail = evaluate(tmp_path, run, PARAMS, grads, scaler.init(PARAMS))
    assert [float(scale) for _, scale, _, _ in trail] == [16, 32, 32, 32, 32, 16, 8, 4, 4, 4]
    assert [int(good) for _, _, good, _ in trail] == [1, 0, 1, 0, 1, 0, 0, 0, 0, 1]
    assert int(trail[-1][3]) == 4
    for (updates, *_), holds in zip(trail, finite):
        assert_trees(updates, jax.tree.map(lambda p: np.full_like(p, -1.0 if holds else 0), PARAMS))


def test_a_scaled_loss_in_float16_keeps_gradients_that_it_would_flush_to_zero(tmp_path):
    """Of a loss of 1e-6 times a mean: gradients of 1e-8 are no float16."""

    def loss(params, x):
        return (x @ params["w"]).mean() * 1e-6

    def gradient(scale):
        def run(params, x):
            narrow = optim.cast((params, x), "float16")
            _, grads = shoal.value_and_grad(lambda p, x: loss(p, x) * scale)(*narrow)
            return {"w": grads["w"].astype("float32") / scale}

        return evaluate(tmp_path, run, {"w": PARAMS["w"]}, X)["w"]

    expected = 1e-6 / X.shape[0] / 4 * X.sum(0, keepdims=True).T * np.ones((1, 4))
    assert np.max(np.abs(gradient(2.0**14) - expected)) < 0.02 * np.max(np.abs(expected))
    assert np.max(np.abs(gradient(1.0) - expected)) > 0.1 * np.max(np.abs(expected))


def test_bfloat16_with_float32_masters(tmp_path):
    def step(params, x, y):
        def loss(params, x, y):
            return mean_loss(optim.cast(params, "bfloat16"), optim.cast(x, "bfloat16"), y)

        return shoal.value_and_grad(loss)(params, x, y)

    def reference(params, x, y):
        w, b = (params[name].astype(jnp.bfloat16) for name in ("w", "b"))
        made = (x.astype(jnp.bfloat16) @ w + b).astype(jnp.float32)
        return ((made - y) ** 2).sum(-1).mean()

    text = shoal.trace(step, (PARAMS, X, Y))
    assert "tensor<12x4xbf16>" in text
    value, grads = evaluate(tmp_path, step, PARAMS, X, Y)
    expected_value, expected = jax.value_and_grad(reference)(PARAMS, X, Y)
    assert_same("value", value, np.asarray(expected_value), np.float32, 1e-2)
    for name, grad in grads.items():
        assert_same(name, grad, np.asarray(expected[name]), np.float32, 2e-2)


def specs(tree):
    return {name: repr(leaf) for name, leaf in tree.items()}


def test_split_over_takes_the_largest_whole_dimension_that_divides():
    mesh = shoal.Mesh(data=4, expert=2)
    shapes = {"wi": (2, 8, 64, 128), "odd": (6, 7), "norm": (64,), "scalar": (), "embed": (50, 8)}
    tree = {name: np.zeros(shape, np.float32) for name, shape in shapes.items()}
    placed = {name: P() for name in tree} | {"wi": P(None, "expert")}
    assert specs(optim.split_over("data", tree, mesh, placed)) == {
        "wi": "P(None, 'expert', None, 'data')",
        "odd": "P()",
        "norm": "P('data')",
        "scalar": "P()",
        "embed": "P(None, 'data')",
    }
    assert repr(optim.split_over(("data", "expert"), tree["norm"], mesh)) == "P(('data', 'expert'))"
    assert repr(optim.split_over("expert", tree["wi"], mesh, placed["wi"])) == "P(None, 'expert')"


def test_states_lie_as_their_parameters():
    params = {"w": np.zeros((256, 128), np.float32), "b": np.zeros(4, np.float32)}
    placed = {"w": P("data"), "b": P()}
    optimizer = optim.chain(optim.clip_by_global_norm(1.0), optim.adamw(optim.constant(1e-3)))
    state = optim.dynamic_loss_scale(optimizer).init(params)
    found = optim.shardings_like(state, params, placed)
    _, (adam, _, rate) = found.inner
    assert specs(adam.mu) == specs(adam.nu) == specs(placed)
    assert [repr(leaf) for leaf in (adam.count, rate.count, found.loss_scale)] == ["P()"] * 3
    factored = optim.adafactor(1e-3).init(params)
    rows = optim.shardings_like(factored, params, placed)[0].rows
    assert specs(rows) == {"w": "P()", "b": "P()"}



@pytest.mark.parametrize(
    "kind, message, make",
    [
        (TraceError, "at least one micro-batch, got 0", lambda: optim.accumulate(mean_loss, 0)),
        (
            TraceError,
            r"5 micro-batches do not divide the rows of .*12,6",
            lambda: shoal.trace(optim.accumulate(mean_loss, 5), (PARAMS, X, Y)),
        ),
        (
            TraceTypeError,
            r"expected the loss to return \(total, weight\)",
            lambda: shoal.trace(optim.accumulate(mean_loss, 2, weighted=True), (PARAMS, X, Y)),
        ),
        (
            TraceError,
            "backoff_factor 2.0",
            lambda: optim.dynamic_loss_scale(optim.sgd(1.0), backoff_factor=2.0),
        ),
        (
            TraceError,
            "init_scale 0.5",
            lambda: optim.dynamic_loss_scale(optim.sgd(1.0), init_scale=0.5),
        ),
        (
            TraceError,
            'axis "model" is not one of',
            lambda: optim.split_over("model", PARAMS, shoal.Mesh(data=2)),
        ),
    ],
)
def test_errors(kind, message, make):
    with pytest.raises(kind, match=message):
        make()
