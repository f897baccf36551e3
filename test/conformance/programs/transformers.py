# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Blocks of Transformers, with their gradients."""

import jax
import jax.numpy as jnp
from catalogue import P, at, program
from programs.attention import attend

WEIGHTS = "f32[32,3,4@y,8] f32[4@y,8,32] f32[32,64@y] f32[64@y,32]"
BLOCK = f"f32[4@x,8,32] {WEIGHTS}"


def norm(x):
    return (x - x.mean(-1, keepdims=True)) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-6)


def block(x, wqkv, wout, wi, wo):
    q, k, v = jnp.einsum("bld,dthk->tblhk", norm(x), wqkv)
    mask = jnp.tril(jnp.ones((x.shape[1], x.shape[1]), bool))
    x = x + jnp.einsum("blhk,hkd->bld", attend(q, k, v, mask), wout)
    return x + jax.nn.gelu(norm(x) @ wi) @ wo


def cross_entropy(logits, labels):
    chosen = jnp.take_along_axis(jax.nn.log_softmax(logits), labels[..., None], axis=-1)
    return -chosen.mean()


@program("x=2 y=4", BLOCK, out=P("x", None, None))
def transformer_block(x, *weights):
    return block(x, *weights)


@program("x=2 y=4", BLOCK)
def transformer_block_with_sequence_parallelism(x, wqkv, wout, wi, wo):
    x = at(x, "x", "y", None)
    q, k, v = jnp.einsum("bld,dthk->tblhk", norm(x), wqkv)
    x = at(x + jnp.einsum("blhk,hkd->bld", attend(q, k, v), wout), "x", "y", None)
    return at(x + jax.nn.gelu(norm(x) @ wi) @ wo, "x", "y", None)


@program("x=2 y=4", BLOCK, tolerance=2e-4)
def gradient_of_transformer_block(x, *weights):
    return jax.grad(lambda *a: jnp.sum(block(*a) ** 2), argnums=(0, 1, 2, 3, 4))(x, *weights)


# Of logits of 50 and more, whose softmax is 0 and 1: JAX's own gradient in f32 is off by up to 7e-5
# of that in f64.
@program(
    "x=2 y=4",
    "i32[8@x,8]<64 f32[64,32] f32[32,3,4@y,8] f32[4@y,8,32] f32[32,64@y] f32[64@y,32]",
    gradient_tolerance=2e-4,
)
def language_model_loss(tokens, table, *weights):
    x = block(table[tokens], *weights)
    return cross_entropy(x[:, :-1] @ table.T, tokens[:, 1:])


@program(
    "x=2 y=4",
    "i32[8@x,8]<64 f32[64,32@y] f32[32,3,4@y,8] f32[4@y,8,32] f32[32,64@y] f32[64@y,32]",
    tolerance=2e-4,
)
def language_model_gradient(tokens, table, *weights):
    def loss(table, *weights):
        x = block(table[tokens], *weights)
        return cross_entropy(x[:, :-1] @ table.T, tokens[:, 1:])

    return jax.value_and_grad(loss, argnums=(0, 1, 2, 3, 4))(table, *weights)


@program("data=2 model=2 seq=2", "f32[4@data,8@seq,16] f32[16,32@model] f32[32@model,16]")
def mlp_over_three_axes(x, wi, wo):
    return at(jax.nn.silu(x @ wi) @ wo, "data", "seq", None)


@program("x=2 y=4", "f32[4@x,8,32] f32[32,64@y] f32[32,64@y] f32[64@y,32]")
def gated_mlp(x, wg, wi, wo):
    return (jax.nn.silu(x @ wg) * (x @ wi)) @ wo


@program("x=2 y=4", "f32[4@x,8,16] f32[2,16,32@y] f32[2,32@y,16]")
def scanned_blocks(x, wi, wo):
    def layer(x, weights):
        return x + jax.nn.relu(norm(x) @ weights[0]) @ weights[1], None

    return jax.lax.scan(layer, x, (wi, wo))[0]


@program("x=2 y=4", "f32[4@x,8,16] f32[2,16,32@y] f32[2,32@y,16]", tolerance=2e-4)
def gradient_of_scanned_blocks(x, wi, wo):
    def layer(x, weights):
        return x + jax.nn.relu(norm(x) @ weights[0]) @ weights[1], None

    def loss(wi, wo):
        return jnp.sum(jax.lax.scan(jax.checkpoint(layer), x, (wi, wo))[0] ** 2)

    return jax.grad(loss, argnums=(0, 1))(wi, wo)


@program("x=2 y=4", "bf16[4@x,8,32] bf16[32,64@y] bf16[64@y,32]", tolerance=4e-2)
def bfloat16_mlp(x, wi, wo):
    return jax.nn.gelu(x @ wi) @ wo


@program("x=8", "f32[8@x,16,16,3] f32[48,32] f32[17,32]")
def vision_patches(images, w, positions):
    patches = images.reshape(8, 4, 4, 4, 4, 3).swapaxes(2, 3).reshape(8, 16, 48)
    x = jnp.concatenate([jnp.zeros((8, 1, 32)), patches @ w], axis=1)
    return norm(x + positions)


@program("x=2 y=4", "i32[8@x,8]<64 f32[8@x,8,64@y]")
def cross_entropy_over_split_vocabulary(labels, logits):
    return cross_entropy(logits, labels)


@program("x=2 y=4", "f32[8@x,64@y] i32[8@x]<64", tolerance=1e-4)
def gradient_of_cross_entropy(logits, labels):
    return jax.grad(cross_entropy)(logits, labels)


@program("x=2 y=4", BLOCK, gspmd=True)
def transformer_block_by_gspmd(x, *weights):
    return at(block(x, *weights), "x", None, None)


@program("x=8", "f32[8@x,12,16] f32[16,16] f32[4,16]")
def state_space_layer(x, w, decay):
    def step(state, row):
        state = state * jax.nn.sigmoid(decay[0]) + row @ w
        return state, state

    return jax.lax.scan(step, jnp.zeros((8, 16)), x.swapaxes(0, 1))[1]
