# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Losses, gradients, optimisers and whole training steps."""

import jax
import jax.numpy as jnp
from catalogue import P, program

MLP = "f32[16@x,8] f32[16@x,4] f32[8,32@y] f32[32@y,4]"
SHARDED = (P(None, "y"), P("y", None))


def predict(weights, x):
    return jax.nn.relu(x @ weights[0]) @ weights[1]


def squared_error(weights, x, y):
    return jnp.mean((predict(weights, x) - y) ** 2)


@program("x=2 y=4", MLP, out=(P(), SHARDED))
def value_and_gradient(x, y, *weights):
    return jax.value_and_grad(squared_error)(weights, x, y)


@program("x=2 y=4", MLP, out=SHARDED)
def sgd_step(x, y, *weights):
    gradients = jax.grad(squared_error)(weights, x, y)
    return jax.tree.map(lambda w, g: w - 0.1 * g, weights, gradients)


@program("x=2 y=4", f"{MLP} f32[8,32@y] f32[32@y,4]")
def momentum_step(x, y, wi, wo, mi, mo):
    gradients = jax.grad(squared_error)((wi, wo), x, y)
    momenta = jax.tree.map(lambda m, g: 0.9 * m + g, (mi, mo), gradients)
    return jax.tree.map(lambda w, m: w - 0.1 * m, (wi, wo), momenta), momenta


def adam(weights, gradients, first, second, step):
    first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, gradients)
    second = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, second, gradients)

    def update(w, m, v):
        m, v = m / (1 - 0.9**step), v / (1 - 0.999**step)
        return w - 0.01 * m / (jnp.sqrt(v) + 1e-8)

    return jax.tree.map(update, weights, first, second), first, second


@program("x=2 y=4", f"{MLP} f32[8,32@y] f32[32@y,4] f32[8,32@y]>0 f32[32@y,4]>0", tolerance=1e-4)
def adam_step(x, y, wi, wo, mi, mo, vi, vo):
    gradients = jax.grad(squared_error)((wi, wo), x, y)
    return adam((wi, wo), gradients, (mi, mo), (vi, vo), 3)


@program("x=8", "f32[16@x,8] f32[16@x,4] f32[8@x,32] f32[32@x,4]", out=(P("x"), P("x")))
def zero_style_step(x, y, *weights):
    """Weights and what is made of them over the same axis as the batch."""
    gradients = jax.grad(squared_error)(weights, x, y)
    return jax.tree.map(lambda w, g: w - 0.1 * g, weights, gradients)


@program("x=8", "f32[16@x,8] f32[8,4] i32[16@x]<4")
def softmax_regression(x, w, labels):
    def loss(w):
        scores = jax.nn.log_softmax(x @ w)
        return -jnp.mean(scores[jnp.arange(16), labels])

    return jax.value_and_grad(loss)(w)


@program("x=8", "f32[16@x] f32[16@x]")
def losses(x, y):
    huber = jnp.where(jnp.abs(x - y) < 1, 0.5 * (x - y) ** 2, jnp.abs(x - y) - 0.5)
    hinge = jnp.maximum(0, 1 - x * jnp.sign(y))
    binary = jnp.logaddexp(0, x) - x * (y > 0)
    return huber.mean(), hinge.mean(), binary.mean()


@program("x=8", "f32[16@x,8]>0 f32[16@x,8]>0")
def divergences(p, q):
    p, q = p / p.sum(-1, keepdims=True), q / q.sum(-1, keepdims=True)
    return jnp.sum(p * jnp.log(p / q), -1), -jnp.sum(p * jnp.log(p))


@program("x=8", "f32[16@x,8] f32[16@x,8]")
def contrastive_loss(a, b):
    a = a / jnp.linalg.norm(a, axis=-1, keepdims=True)
    b = b / jnp.linalg.norm(b, axis=-1, keepdims=True)
    logits = a @ b.T
    return -jnp.mean(jnp.diag(jax.nn.log_softmax(logits)))


@program("x=8", "f32[16@x,8] f32[8,8]")
def jacobian_products(x, w):
    f = lambda x: jnp.tanh(x @ w)
    return jax.jvp(f, (x,), (x * 0.1,)), jax.vjp(f, x)[1](x)


@program("x=8", "f32[8@x,4]")
def hessian_of_rows(x):
    return jax.vmap(jax.hessian(lambda v: jnp.sum(v**3) + v[0] * v[1]))(x)


@program("x=8", "f32[16@x,8] f32[8,4]")
def per_example_gradients(x, w):
    return jax.vmap(jax.grad(lambda w, row: jnp.sum((row @ w) ** 2)), (None, 0))(w, x)


@program("x=2 y=4", MLP)
def clipped_gradients(x, y, *weights):
    gradients = jax.grad(squared_error)(weights, x, y)
    norm = jnp.sqrt(sum(jnp.sum(g * g) for g in gradients))
    return jax.tree.map(lambda g: g * jnp.minimum(1, 0.5 / norm), gradients), norm


@program("x=2 y=4", MLP)
def accumulated_gradients(x, y, *weights):
    def step(total, batch):
        gradients = jax.grad(squared_error)(weights, *batch)
        return jax.tree.map(jnp.add, total, gradients), None

    batches = x.reshape(4, 4, 8), y.reshape(4, 4, 4)
    return jax.lax.scan(step, jax.tree.map(jnp.zeros_like, weights), batches)[0]


@program("x=8", "f32[64@x] f32[64@x]")
def exponential_moving_average(old, new):
    return old * 0.99 + new * 0.01


@program("x=8", "f32[16@x,8] f32[8,4] f32[4,8]")
def autoencoder_gradient(x, down, up):
    def loss(down, up):
        return jnp.mean((jax.nn.sigmoid(x @ down) @ up - x) ** 2)

    return jax.value_and_grad(loss, argnums=(0, 1))(down, up)


@program("x=8", "f32[16@x,4] f32[4,4] f32[16@x,4]", tolerance=1e-4)
def steps_in_a_loop(x, w, y):
    def step(w, _):
        loss, gradient = jax.value_and_grad(lambda w: jnp.mean((jnp.tanh(x @ w) - y) ** 2))(w)
        return w - 0.1 * gradient, loss

    return jax.lax.scan(step, w, None, length=4)


@program("x=8", "f32[16@x,8] f32[8] f32[8]")
def batch_norm_training(x, scale, bias):
    mean, variance = x.mean(0), x.var(0)
    normal = (x - mean) / jnp.sqrt(variance + 1e-5)
    return normal * scale + bias, mean, variance


@program("x=8", "f32[16@x,8] f32[8] f32[8]", tolerance=1e-4)
def gradient_of_batch_norm(x, scale, bias):
    def loss(x, scale, bias):
        normal = (x - x.mean(0)) / jnp.sqrt(x.var(0) + 1e-5)
        return jnp.sum(jnp.sin(normal * scale + bias))

    return jax.grad(loss, argnums=(0, 1, 2))(x, scale, bias)


@program("x=8", "f32[32@x,8] i32[16@x]<32 f32[16@x,8]")
def gradient_of_embedding(table, ids, targets):
    return jax.grad(lambda t: jnp.sum((t[ids] - targets) ** 2))(table)


@program("x=2 y=4", MLP, gspmd=True)
def sgd_step_by_gspmd(x, y, *weights):
    gradients = jax.grad(squared_error)(weights, x, y)
    return jax.tree.map(lambda w, g: w - 0.1 * g, weights, gradients)


@program("x=8", "f32[16@x,8] f32[8,8]")
def custom_gradient(x, w):
    @jax.custom_vjp
    def clipped(v):
        return jnp.clip(v, -1, 1)

    clipped.defvjp(lambda v: (clipped(v), None), lambda _, g: (g,))
    return jax.grad(lambda w: jnp.sum(clipped(x @ w)))(w)
