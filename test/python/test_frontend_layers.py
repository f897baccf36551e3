# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layers, windows, groups of rows and random numbers of the frontend."""

import numpy as np
import pytest

from frontend_testing import assert_same, evaluate, shoal
from shoal_reference import normal, top_k_gating, uniform

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


def conv_by_loops(x, kernel, stride, low):
    """ "b0f,0io->b0f", window by window."""
    rows = (x.shape[1] + sum(low) - len(kernel)) // stride + 1
    x = np.pad(x, ((0, 0), low, (0, 0)))
    windows = [x[:, r * stride : r * stride + len(kernel)] for r in range(rows)]
    return np.stack([np.einsum("bki,kio->bo", w, kernel) for w in windows], 1)


def test_convolution(tmp_path):
    kernel = RNG.standard_normal((3, 6, 2)).astype(np.float32)

    def run(x, kernel):
        spec = "b0f,0io->b0f"
        return (
            shoal.conv(x, kernel, spec),
            shoal.conv(x, kernel, spec, strides=2, padding="SAME"),
            shoal.conv(x, kernel, spec, padding=[(2, 1)]),
            shoal.conv(x.transpose(0, 2, 1), kernel, "bf0,0io->fb0", window_dilation=[1]),
        )

    valid, same, padded, moved = evaluate(tmp_path, run, X, kernel)
    assert_same("valid", valid, conv_by_loops(X, kernel, 1, (0, 0)), np.float32, 1e-5)
    assert_same("same", same, conv_by_loops(X, kernel, 2, (0, 1)), np.float32, 1e-5)
    assert_same("padded", padded, conv_by_loops(X, kernel, 1, (2, 1)), np.float32, 1e-5)
    assert_same("moved", moved, valid.transpose(2, 0, 1), np.float32, 1e-5)


def test_convolution_is_jaxs(tmp_path):
    jax = pytest.importorskip("jax")
    x = RNG.standard_normal((2, 9, 8, 4)).astype(np.float32)
    kernel = RNG.standard_normal((3, 2, 2, 6)).astype(np.float32)
    options = dict(strides=(2, 1), window_dilation=(2, 1), base_dilation=(1, 2))
    padding = [(2, 1), (0, 3)]

    def run(x, kernel):
        return shoal.conv(
            x, kernel, "b01f,01io->b01f", feature_groups=2, padding=padding, **options
        )

    expected = jax.lax.conv_general_dilated(
        x,
        kernel,
        (2, 1),
        padding,
        lhs_dilation=(1, 2),
        rhs_dilation=(2, 1),
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
        feature_group_count=2,
    )
    assert_same("conv", evaluate(tmp_path, run, x, kernel), expected, np.float32, 1e-5)


def test_pooling(tmp_path):
    u = RNG.integers(0, 2**32, (1, 6), np.uint32)

    def run(x, u):
        window = (1, 2, 2)
        return {
            "max": shoal.max_pool(x, window, window),
            "min": shoal.min_pool(x, window, window),
            "avg": shoal.avg_pool(x, (1, 3, 1), padding="SAME"),
            "unsigned": shoal.max_pool(u, (1, 2), (1, 2)),
            "and": shoal.reduce_window(u, "and", (1, 6)),
            "any": shoal.reduce_window(x > 0, "or", (1, 4, 1)),
        }

    actual = evaluate(tmp_path, run, X, u)
    blocks = X.reshape(3, 2, 2, 3, 2)
    assert_same("max", actual["max"], blocks.max((2, 4)))
    assert_same("min", actual["min"], blocks.min((2, 4)))
    sums = sum(np.pad(X, ((0, 0), (1, 1), (0, 0)))[:, i : i + 4] for i in range(3))
    assert_same("avg", actual["avg"], sums / np.float32([2, 3, 3, 2])[:, None])
    assert_same("unsigned", actual["unsigned"], u.reshape(1, 3, 2).max(2))
    assert_same("and", actual["and"], np.bitwise_and.reduce(u, 1, keepdims=True))
    assert_same("any", actual["any"], (X > 0).any(1, keepdims=True))


def test_groups_of_rows(tmp_path):
    x = RNG.standard_normal((7, 3)).astype(np.float32)
    w = RNG.standard_normal((3, 3, 2)).astype(np.float32)
    sizes = np.array([2, 0, 4], np.int32)

    def run(x, w, sizes):
        ends = shoal.cumsum(sizes, 0)
        return shoal.ragged_dot(x, w, sizes), shoal.ragged_einsum(
            "TM,TH,E->EMH", "T", x, x[:, :2], ends - sizes, ends
        )

    dot, gradient = evaluate(tmp_path, run, x, w, sizes)
    groups = [slice(0, 2), slice(2, 2), slice(2, 6)]
    expected = np.zeros((7, 2), np.float32)
    for group, matrix in zip(groups, w):
        expected[group] = x[group] @ matrix
    assert_same("dot", dot, expected, np.float32, 1e-5)
    gradients = np.stack([x[group].T @ x[group, :2] for group in groups])
    assert_same("gradient", gradient, gradients, np.float32, 1e-5)


def test_random_numbers(tmp_path):
    def run(key):
        return {
            "seed": shoal.random.key(2**40 + 5),
            "uniform": shoal.random.uniform(key, (2, 3)),
            "half": shoal.random.uniform(key, 4, shoal.bfloat16),
            "range": shoal.random.uniform(key, (2, 3), low=-1.0, high=3.0),
            "normal": shoal.random.normal(key, (5,), "float64"),
            "bernoulli": shoal.random.bernoulli(key, 0.3, (1000,)),
            "randint": shoal.random.randint(key, (1000,), -2, 3),
            "split": shoal.random.split(key, 100),
            "folded": [shoal.random.fold_in(key, i) for i in range(3)],
        }

    key = np.array([17, -3], np.int32)
    actual = evaluate(tmp_path, run, key)
    assert actual["seed"].tolist() == [2**8, 5]
    drawn = uniform((17, 2**32 - 3), (2, 3))
    assert_same("uniform", actual["uniform"], drawn, np.float32)
    assert_same("half", actual["half"], uniform((17, 2**32 - 3), (4,), "bf16"), shoal.bfloat16)
    assert_same("range", actual["range"], drawn * 4 - 1, np.float32)
    expected = normal((17, 2**32 - 3), (5,), "f64")
    assert_same("normal", actual["normal"], expected, np.float64, 1e-12)
    assert 200 < actual["bernoulli"].sum() < 400
    counts = np.bincount(actual["randint"] + 2, minlength=5)
    assert len(counts) == 5 and counts.min() > 140
    assert len({tuple(key) for key in [*actual["split"], *actual["folded"], key]}) == 104
