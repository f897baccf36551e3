# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training steps whose batch is split: the work is too, and what is sent is one all_reduce of the
gradients, whatever the balance of the machine."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AbstractMesh, NamedSharding
from jax.sharding import PartitionSpec as P

import shoal.jax
from shoal.jax.lowering import lower
from shoal_testing import BIN, run

DEVICES = 4
BALANCES = [(), ("--flops-per-byte=300",), ("--flops-per-byte=1000",), ("--flops-per-byte=1900",)]


def adamw(parameter, gradient, mean, variance, step):
    mean = 0.9 * mean + 0.1 * gradient
    variance = 0.999 * variance + 0.001 * gradient**2
    update = mean / (1 - 0.9**step) / (jnp.sqrt(variance / (1 - 0.999**step)) + 1e-8)
    return parameter - 1e-3 * (update + 1e-4 * parameter), mean, variance


def normalized(x, scale):
    x = x - x.mean(-1, keepdims=True)
    return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-6) * scale


def transformer(parameters, tokens, heads=4):
    """Logits of a language model of one block."""
    p = parameters
    x = p["embedding"][tokens] + p["position"]
    batch, length, width = x.shape
    y = normalized(x, p["norm1"])
    q, k, v = (
        (y @ p[name]).reshape(batch, length, heads, width // heads) for name in ("wq", "wk", "wv")
    )
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / (width // heads) ** 0.5
    scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -1e9)
    mixed = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), v)
    x = x + mixed.reshape(x.shape) @ p["wo"]
    y = normalized(x, p["norm2"])
    x = x + jax.nn.gelu(y @ p["up"] + p["bias"]) @ p["down"]
    return normalized(x, p["norm3"]) @ p["head"]


def language_model(width, vocabulary, batch, length):
    """Shapes of the parameters, the loss, and the inputs whose rows are split."""
    shapes = {
        "embedding": (vocabulary, width),
        "position": (length, width),
        **{name: (width, width) for name in ("wq", "wk", "wv", "wo")},
        **{f"norm{i}": (width,) for i in (1, 2, 3)},
        "up": (width, 4 * width),
        "bias": (4 * width,),
        "down": (4 * width, width),
        "head": (width, vocabulary),
    }

    def loss(parameters, tokens, labels):
        scores = jax.nn.log_softmax(transformer(parameters, tokens))
        return -jnp.take_along_axis(scores, labels[..., None], -1).mean()

    tokens = jax.ShapeDtypeStruct((batch, length), jnp.int32)
    return shapes, loss, (tokens, tokens)


def perceptron(width, rows):
    """As language_model."""
    shapes = {"first": (width, width), "second": (width, width)}

    def loss(parameters, x, y):
        return ((jnp.tanh(x @ parameters["first"]) @ parameters["second"] - y) ** 2).mean()

    x = jax.ShapeDtypeStruct((rows, width), jnp.float32)
    return shapes, loss, (x, x)


def accumulated(loss, turns):
    """value_and_grad of the mean over the rows of a further leading dimension of the batch."""

    def both(parameters, *batch):
        def add(sums, rows):
            return jax.tree.map(jnp.add, sums, jax.value_and_grad(loss)(parameters, *rows)), None

        zeros = jax.tree.map(jnp.zeros_like, (jnp.float32(0), parameters))
        sums, _ = jax.lax.scan(add, zeros, batch)
        return jax.tree.map(lambda total: total / turns, sums)

    return both


def train(model, optimizer, devices=DEVICES, turns=None, moments=P()):
    """The training step of a model, imported, and the bytes of its gradients.

    turns: of batches whose gradients are added. moments: where the optimiser's state lies.
    """
    shapes, loss, inputs = model
    gradient, split = jax.value_and_grad(loss), P("data")
    if turns:
        gradient, split = accumulated(loss, turns), P(None, "data")
        inputs = tuple(jax.ShapeDtypeStruct((turns, *x.shape), x.dtype) for x in inputs)
    arrays = {name: jax.ShapeDtypeStruct(shape, jnp.float32) for name, shape in shapes.items()}

    def step(parameters, means, variances, count, *batch):
        value, gradients = gradient(parameters, *batch)
        updated = {
            name: optimizer(parameters[name], gradients[name], means[name], variances[name], count)
            for name in parameters
        }
        return tuple({n: u[i] for n, u in updated.items()} for i in range(3)), value

    mesh = AbstractMesh((devices,), ("data",))
    whole, rows, state = (NamedSharding(mesh, spec) for spec in (P(), split, moments))
    jitted = jax.jit(
        step,
        in_shardings=(whole, state, state, whole) + (rows,) * len(inputs),
        out_shardings=((whole, state, state), whole),
    )
    count = jax.ShapeDtypeStruct((), jnp.float32)
    text = shoal.jax.import_stablehlo(lower(jitted.trace(arrays, arrays, arrays, count, *inputs)))
    return text, sum(4 * x.size for x in arrays.values())


def statistics(text, folder, *flags):
    source = folder / "step.mlir"
    source.write_text(text)
    command = run(
        BIN / "shoalc", source, "--emit=spmd", "-o", "/dev/null", "--stats", folder / "s", *flags
    ).expect_success()
    return json.loads((folder / "s").read_text()), command.stderr


@pytest.mark.parametrize("flags", BALANCES, ids=lambda flags: "".join(flags) or "cpu")
@pytest.mark.parametrize(
    "size", [(64, 256, 8, 128), (128, 128, 8, 128), (32, 64, 16, 64), (64, 64, 4, 16)]
)
def test_language_model(size, flags, tmp_path):
    text, gradients = train(language_model(*size), adamw)
    stats, errors = statistics(text, tmp_path, *flags)
    all_reduce = 2 * (DEVICES - 1) / DEVICES * gradients
    assert stats["einsum_flops_ratio"] <= 1.1
    assert sum(stats["bytes_sent_per_device"].values()) <= all_reduce + 64
    assert "is computed" not in errors


@pytest.mark.parametrize("moments", [P(), P("data")], ids=["replicated", "ZeRO-1"])
@pytest.mark.parametrize("model", [language_model(64, 256, 8, 128), perceptron(64, 1024)])
def test_accumulated_gradients(model, moments, tmp_path):
    """The gradients of four batches are added before they are sent."""
    text, gradients = train(model, adamw, turns=4, moments=moments)
    stats, errors = statistics(text, tmp_path, "--flops-per-byte=1000")
    all_reduce = 2 * (DEVICES - 1) / DEVICES * gradients
    assert stats["einsum_flops_ratio"] <= 1.1
    assert sum(stats["bytes_sent_per_device"].values()) <= all_reduce + 64
    assert "is computed" not in errors


@pytest.mark.parametrize("flags", BALANCES, ids=lambda flags: "".join(flags) or "cpu")
def test_perceptron(flags, tmp_path):
    text, gradients = train(perceptron(512, 1024), adamw, devices=8)
    stats, _ = statistics(text, tmp_path, *flags)
    assert stats["einsum_flops_ratio"] <= 1.1
    assert sum(stats["bytes_sent_per_device"].values()) <= 2 * 7 / 8 * gradients + 64


def test_margin_of_one_repeats_work_and_says_so(tmp_path):
    text, gradients = train(language_model(64, 256, 8, 128), adamw)
    flags = ("--flops-per-byte=1e6", "--repeat-margin=1")
    stats, errors = statistics(text, tmp_path, *flags)
    assert stats["einsum_flops_ratio"] == DEVICES
    assert sum(stats["bytes_sent_per_device"].values()) < 0.1 * gradients
    assert "is computed 4 x an even split" in errors
    assert errors.count("warning:") == 1
    _, errors = statistics(text, tmp_path, *flags, "--warn-repeated-work=0")
    assert "is computed" not in errors


def test_scanned_layers_keep_shards_of_their_weights(tmp_path):
    """ZeRO-3 over layers in a scan: no device holds the weights of two layers at once.

    They are gathered forward and backward, and their gradients scattered: 3 (d - 1) / d of
    their bytes. What the forward pass leaves to the backward one are shards.
    """
    layers, width, rows = 6, 64, 256
    weights = np.zeros((layers, width, width), np.float32)
    optimizer = shoal.optim.adam(1e-3)
    state = optimizer.init(weights)

    def loss(weights, x):
        layer = lambda h, w: (shoal.tanh(h @ w), None)
        return shoal.mean(shoal.square(shoal.scan(layer, x, weights)[0]))

    def step(weights, state, x):
        value, gradients = shoal.value_and_grad(loss)(weights, x)
        updates, state = optimizer.update(gradients, state, weights)
        return shoal.optim.apply_updates(weights, updates), state, value

    split = shoal.P(None, "data")
    placed = split, jax.tree.map(lambda leaf: split if leaf.ndim else shoal.P(), state)
    arguments = weights, state, np.zeros((DEVICES * rows, width), np.float32)
    text = shoal.trace(
        step,
        arguments,
        shoal.Mesh(data=DEVICES),
        in_shardings=(*placed, shoal.P("data")),
        out_shardings=(*placed, None),
    )
    stats, errors = statistics(text, tmp_path, "--flops-per-byte=1000")
    share = (DEVICES - 1) / DEVICES
    assert sum(stats["bytes_sent_per_device"].values()) == 3 * share * weights.nbytes + 6
    assert stats["einsum_flops_ratio"] == 1
    # Of the device's rows the batch, two values a layer and four in the making; of weights and
    # state the shards before and behind, and of one layer the weights.
    held = (2 * layers + 5) * 4 * rows * width + 6 * weights.nbytes / DEVICES
    assert stats["peak_bytes_per_device"] <= held + weights.nbytes / layers
    assert "is computed" not in errors
