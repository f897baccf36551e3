# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What neural networks are made of, against NumPy and the reference."""

import numpy as np
import pytest

from frontend_testing import assert_same, evaluate, shoal
from shoal_reference import top_k_gating

RNG = np.random.default_rng(11)
X = RNG.standard_normal((3, 4, 6)).astype(np.float32)


def softmax(x, axis):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def test_activations(tmp_path):
    def run(x):
        return {
            "relu": shoal.relu(x),
            "integers": shoal.relu((x * 10).astype("int32")),
            "silu": shoal.silu(x),
            "gelu": shoal.gelu(x, approximate=True),
            "softplus": shoal.softplus(x * 50),
            "softmax": shoal.softmax(x, 1),
            "log_softmax": shoal.log_softmax(x * 50),
            "logsumexp": shoal.logsumexp(x, 0),
        }

    actual = evaluate(tmp_path, run, X)
    tanh = np.tanh(np.sqrt(2 / np.pi) * (X + 0.044715 * X**3))
    expected = {
        "relu": np.maximum(X, 0),
        "integers": np.maximum((X * 10).astype(np.int32), 0),
        "silu": X / (1 + np.exp(-X)),
        "gelu": 0.5 * X * (1 + tanh),
        "softplus": np.logaddexp(0, np.float64(X) * 50),
        "softmax": softmax(X, 1),
        "log_softmax": np.log(softmax(np.float64(X) * 50, -1)),
        "logsumexp": np.log(np.exp(X).sum(0)),
    }
    for name, array in expected.items():
        assert_same(name, actual[name], array, actual[name].dtype, 1e-5)


def test_layer_norm(tmp_path):
    scale, bias = np.float32([1, 2, 3, 4]), np.float32([4, 3, 2, 1])

    def run(x, scale, bias):
        return shoal.layer_norm(x), shoal.layer_norm(x, scale, bias, axis=1, epsilon=1e-3)

    plain, scaled = evaluate(tmp_path, run, X, scale, bias)
    mean, variance = X.mean(-1, keepdims=True), X.var(-1, keepdims=True)
    assert_same("plain", plain, (X - mean) / np.sqrt(variance + 1e-5), np.float32, 1e-5)
    mean, variance = X.mean(1, keepdims=True), X.var(1, keepdims=True)
    expected = (X - mean) / np.sqrt(variance + 1e-3) * scale[:, None] + bias[:, None]
    assert_same("scaled", scaled, expected, np.float32, 1e-5)


def test_rms_norm(tmp_path):
    scale = np.float32([1, 2, 3, 4])

    def run(x, scale):
        narrow = shoal.rms_norm(x.astype("bfloat16"), scale.astype("bfloat16"), axis=1)
        plain, scaled = shoal.rms_norm(x), shoal.rms_norm(x, scale, axis=1, epsilon=1e-3)
        return plain, scaled, narrow.astype("float32")

    plain, scaled, narrow = evaluate(tmp_path, run, X, scale)
    expected = X / np.sqrt((X * X).mean(-1, keepdims=True) + 1e-5)
    assert_same("plain", plain, expected, np.float32, 1e-5)
    expected = X / np.sqrt((X * X).mean(1, keepdims=True) + 1e-3) * scale[:, None]
    assert_same("scaled", scaled, expected, np.float32, 1e-5)
    assert_same("narrow", narrow, expected, np.float32, 2e-2)


def test_one_hot(tmp_path):
    i = np.array([[0, 3], [2, 9]], np.int32)
    u = np.array([200, 255], np.uint8)

    def run(i, u):
        return (
            shoal.one_hot(i, 4),
            shoal.one_hot(i, 4, "int32", axis=0),
            shoal.one_hot(u, 256, bool),
        )

    last, first, wide = evaluate(tmp_path, run, i, u)
    assert_same("last", last, i[..., None] == np.arange(4), np.float32)
    assert_same("first", first, i == np.arange(4)[:, None, None], np.int32)
    assert_same("wide", wide, u[:, None] == np.arange(256))


@pytest.mark.parametrize("key", [None, (3, 4)])
def test_top_k_gating(tmp_path, key):
    gates = softmax(RNG.standard_normal((2, 10, 5)), -1).astype(np.float32)

    def run(gates):
        drawn = None if key is None else shoal.array(np.int32(key))
        by_factor = shoal.top_k_gating(gates, 2, capacity_factor=1.2, min_capacity=2)
        return shoal.top_k_gating(gates, 2, capacity=3, key=drawn), by_factor[0]

    (combine, dispatch, loss), wide = evaluate(tmp_path, run, gates)
    expected = top_k_gating(gates, 2, 3, key)
    assert_same("combine", combine, expected.combine, np.float32)
    assert_same("dispatch", dispatch, expected.dispatch, np.float32)
    assert_same("loss", loss, expected.aux, np.float32)
    assert wide.shape == (2, 10, 5, 5)


FAR = np.float32([0, -200, 200, -88, -1e30])
LIMITS = {
    # Function, its values and slopes at FAR.
    "sigmoid": (shoal.sigmoid, [0.5, 0, 1, 0, 0], [0.25, 0, 0, 0, 0]),
    "softplus": (shoal.softplus, [np.log(2), 0, 200, 0, 0], [0.5, 0, 1, 0, 0]),
    "silu": (shoal.silu, [0, 0, 200, 0, 0], [0.5, 0, 1, 0, 0]),
    "gelu": (shoal.gelu, [0, 0, 200, 0, 0], [0.5, 0, 1, 0, 0]),
}


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_slopes_where_exponentials_end(tmp_path, dtype):
    """exp(200) is no number of float32: an infinite factor beside a 0 is NaN. At 0 both sides are one slope."""
    x = FAR.astype(shoal.bfloat16 if dtype == "bfloat16" else dtype)

    def run(x):
        made = {name: shoal.vjp(function, x) for name, (function, *_) in LIMITS.items()}
        return {name: (y, pull(shoal.ones(y.shape, y.dtype))[0]) for name, (y, pull) in made.items()}

    actual = evaluate(tmp_path, run, x)
    for name, (_, values, slopes) in LIMITS.items():
        for what, made, expected in zip(("values", "slopes"), actual[name], (values, slopes)):
            assert made.dtype == x.dtype
            tolerance = 1e-2 if dtype == "bfloat16" else 1e-6
            np.testing.assert_allclose(np.float64(made), expected, tolerance, 1e-30, err_msg=f"{name}: {what}")


def test_gradients_of_what_is_nothing(tmp_path):
    """Of a sum of no exponentials, a deviation of equal numbers, the length of a vector of zeros, a mean of padding."""
    none, equal, zeros = (np.full((2, 3), what, np.float32) for what in (-np.inf, 2, 0))
    none[1, 1] = 1.0

    def run(none, equal, zeros):
        def finite(x):
            return shoal.where(shoal.isfinite(x), x, 0.0)

        functions = {
            "logsumexp": (lambda x: finite(shoal.logsumexp(x)), none), "std": (lambda x: shoal.std(x, 1), equal),
            "norm": (lambda x: shoal.optim.global_norm({"a": x}), zeros),
            "avg_pool": (lambda x: shoal.avg_pool(x[0], (2,), 2, [(2, 3)]), zeros),
        }  # fmt: skip
        made = {name: shoal.vjp(function, x) for name, (function, x) in functions.items()}
        slopes = {name: (y, pull(shoal.ones(y.shape, y.dtype))[0]) for name, (y, pull) in made.items()}
        return slopes, shoal.logsumexp(none)

    actual, sums = evaluate(tmp_path, run, none, equal, zeros)
    assert sums.tolist() == [-np.inf, 1.0]
    assert actual["logsumexp"][1].tolist() == [[0, 0, 0], [0, 1, 0]]
    for name in ("std", "norm"):
        assert not actual[name][0].any() and not actual[name][1].any(), name
    assert not actual["avg_pool"][0].any() and np.isfinite(actual["avg_pool"][1]).all()
