# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mixtures of experts: gating, dispatch, experts, their gradients."""

import jax
import jax.numpy as jnp
from catalogue import at, program


def top_2_gating(gates, capacity):
    """GShard's: combine weights (group, token, expert, slot) of (group, token, expert)."""
    first = jax.nn.one_hot(gates.argmax(-1), gates.shape[-1])
    second = jax.nn.one_hot((gates * (1 - first)).argmax(-1), gates.shape[-1])
    before_first = (jnp.cumsum(first, 1) - first) * first
    before_second = (jnp.cumsum(second, 1) - second + first.sum(1, keepdims=True)) * second
    combine = 0
    for mask, before in ((first, before_first), (second, before_second)):
        place = before.sum(-1).astype(int)
        kept = mask * (before < capacity)
        weight = (gates * kept).sum(-1)
        slot = jax.nn.one_hot(place, capacity) * kept.sum(-1)[..., None]
        combine = combine + (weight[..., None] * kept)[..., None] * slot[:, :, None]
    return combine


def gshard_layer(x, wg, wi, wo, axis):
    """x: (group, token, model); groups and experts over the axis."""
    combine = top_2_gating(jax.nn.softmax(x @ wg), 4)
    dispatch = (combine > 0).astype(x.dtype)
    inputs = at(jnp.einsum("gsec,gsm->egcm", dispatch, x), axis, None, None, None)
    hidden = jax.nn.relu(jnp.einsum("egcm,emh->egch", inputs, wi))
    outputs = at(jnp.einsum("egch,ehm->egcm", hidden, wo), axis, None, None, None)
    return at(jnp.einsum("gsec,egcm->gsm", combine, outputs), axis, None, None)


EXPERTS = "f32[8@x,16,8] f32[8,8] f32[8@x,8,16] f32[8@x,16,8]"


@program("x=8", EXPERTS)
def moe_layer(x, wg, wi, wo):
    return gshard_layer(x, wg, wi, wo, "x")


@program("x=8", EXPERTS, tolerance=2e-4)
def gradient_of_moe_layer(x, wg, wi, wo):
    loss = lambda *a: jnp.sum(gshard_layer(*a, "x") ** 2)
    return jax.grad(loss, argnums=(0, 1, 2, 3))(x, wg, wi, wo)


@program("x=8", "f32[8@x,16,8] f32[3,8,8] f32[3,8@x,8,16] f32[3,8@x,16,8]", tolerance=2e-4)
def gradient_of_scanned_moe_layers(x, wg, wi, wo):
    def layer(x, weights):
        return x + gshard_layer(x, *weights, "x"), None

    def loss(*weights):
        return jnp.mean(jax.lax.scan(jax.checkpoint(layer), x, weights)[0] ** 2)

    return jax.grad(loss, argnums=(0, 1, 2))(wg, wi, wo)


@program("x=4 y=2", "f32[8@x,16,8] f32[8,8] f32[8@x,8,16@y] f32[8@x,16@y,8]")
def moe_layer_with_split_experts(x, wg, wi, wo):
    return gshard_layer(x, wg, wi, wo, "x")


@program("data=2 expert=4", "f32[8@data+expert,16,8] f32[8,4] f32[4@expert,8,16] f32[4@expert,16,8]")
def moe_layer_over_data_and_experts(x, wg, wi, wo):
    combine = top_2_gating(jax.nn.softmax(x @ wg), 4)
    dispatch = (combine > 0).astype(x.dtype)
    inputs = at(jnp.einsum("gsec,gsm->egcm", dispatch, x), "expert", "data", None, None)
    hidden = jax.nn.relu(jnp.einsum("egcm,emh->egch", inputs, wi))
    outputs = at(jnp.einsum("egch,ehm->egcm", hidden, wo), "expert", "data", None, None)
    return at(jnp.einsum("gsec,egcm->gsm", combine, outputs), ("data", "expert"), None, None)


@program("x=8", "f32[8@x,16,8] f32[8,8] f32[8@x,8,8]")
def switch_layer(x, wg, w):
    gates = jax.nn.softmax(x @ wg)
    mask = jax.nn.one_hot(gates.argmax(-1), 8)
    place = (jnp.cumsum(mask, 1) - 1) * mask
    dispatch = mask[..., None] * jax.nn.one_hot(place.sum(-1).astype(int), 4)[:, :, None]
    inputs = at(jnp.einsum("gsec,gsm->egcm", dispatch, x), "x")
    outputs = at(jnp.einsum("egcm,emh->egch", inputs, w), "x")
    result = jnp.einsum("gsec,egch->gsh", dispatch, outputs)
    return at(result * gates.max(-1, keepdims=True), "x"), jnp.mean(mask.mean(1) * gates.mean(1))


@program("x=8", "f32[16@x,8] f32[8,4] f32[4,8,8]")
def dense_mixture(x, wg, w):
    gates = jax.nn.softmax(x @ wg)
    return jnp.einsum("te,td,edh->th", gates, x, w)


@program("x=8", "f32[16@x,8] f32[8,8] f32[8@x,8,8]")
def expert_choice(x, wg, w):
    scores = jax.nn.softmax(x @ wg)
    weights, tokens = jax.lax.top_k(scores.T, 4)
    outputs = jnp.einsum("ecm,emh->ech", x[tokens], w) * weights[..., None]
    return jnp.zeros_like(x).at[tokens].add(outputs)


@program("x=8", "f32[32,8] i32[32]<4 f32[4,8,8]")
def sorted_experts_with_ragged_dot(x, expert, w):
    order = jnp.argsort(expert)
    sizes = jnp.bincount(expert, length=4)
    outputs = jax.lax.ragged_dot(x[order], w, sizes.astype(jnp.int32))
    return jnp.zeros_like(x).at[order].set(outputs)


@program("x=8", EXPERTS, gspmd=True)
def moe_layer_by_gspmd(x, wg, wi, wo):
    return gshard_layer(x, wg, wi, wo, "x")


@program("x=8", "f32[8@x,16,8] f32[8,8]")
def gating_alone(x, wg):
    return top_2_gating(jax.nn.softmax(x @ wg), 4)


@program("x=8", "f32[8@x,16,8] f32[8,8] f32[8@x,8,16] f32[8@x,16,8]", tolerance=2e-4)
def moe_training_step(x, wg, wi, wo):
    def loss(weights):
        return jnp.mean((gshard_layer(x, *weights, "x") - x) ** 2)

    weights = (wg, wi, wo)
    value, gradients = jax.value_and_grad(loss)(weights)
    return value, jax.tree.map(lambda w, g: w - 0.1 * g, weights, gradients)
