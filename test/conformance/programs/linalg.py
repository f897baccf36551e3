# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of matrices and tensors."""

import jax
import jax.numpy as jnp
from catalogue import P, at, program


@program("x=8", "f32[8@x,6,6] f32[8@x,6,3]", tolerance=1e-4)
def cholesky_of_split_batches(a, b):
    """Factor, solution and the gradient of a likelihood."""
    positive = a @ a.transpose(0, 2, 1) + 6 * jnp.eye(6)

    def loss(matrix):
        factor = jnp.linalg.cholesky(matrix)
        half = jax.lax.linalg.triangular_solve(factor, b, left_side=True, lower=True)
        return (half**2).sum() / 2 + jnp.log(jnp.diagonal(factor, axis1=1, axis2=2)).sum()

    return jax.value_and_grad(loss)(positive)


@program("x=8", "f32[6,6] f32[6,16@x]", tolerance=1e-4)
def triangular_solve_of_split_columns(a, b):
    lower = jnp.tril(a) + 6 * jnp.eye(6)
    return jax.lax.linalg.triangular_solve(lower, b, left_side=True, lower=True)


@program("x=2 y=4", "f32[8@x,16] f32[16,32@y]", out=P("x", "y"))
def matmul_rows_and_columns(x, w):
    return x @ w


@program("x=2 y=4", "f32[8@x,16@y] f32[16@y,32]", out=P("x", None))
def matmul_contracting(x, w):
    return x @ w


@program("x=2 y=4", "f32[8@x,16@y] f32[16@y,32]", out=P("x", "y"))
def matmul_contracting_scattered(x, w):
    return x @ w


@program("x=2 y=4", "f32[8@x,16@y] f32[16@y,32@x]")
def matmul_two_ways(x, w):
    return x @ w


@program("x=8", "f32[8,16@x] f32[16,8]", out=P())
def matmul_one_side(x, w):
    return x @ w


@program("x=2 y=4", "f32[16@x,32] f32[32,64@y] f32[64@y,32]", out=P("x", None))
def megatron_mlp(x, wi, wo):
    return jax.nn.gelu(x @ wi) @ wo


@program("x=2 y=4", "f32[16@x,32@y] f32[32@x,64@y] f32[64@y,32@x]", out=P("x", "y"))
def two_dimensional_mlp(x, wi, wo):
    return jax.nn.relu(x @ wi) @ wo


@program("data=4 model=2", "f32[16@data,8,16] f32[16@data,32@model] f32[32@model,16@data]")
def fully_sharded_weights(x, wi, wo):
    return jnp.tanh(x @ wi) @ wo


@program("x=4 y=2", "f32[4@x,8,16] f32[4@x,16,8@y]")
def batched_matmul(x, w):
    return jnp.einsum("bmk,bkn->bmn", x, w)


@program("x=4 y=2", "f32[8@x,6] f32[6,8@y]")
def outer_sharded_transposes(x, w):
    return x.T @ w.T @ x.T


@program("x=8", "f32[64@x] f32[64@x]", out=P())
def dot(x, y):
    return jnp.dot(x, y)


@program("x=8", "f32[16@x,8] f32[8]")
def matrix_times_vector(x, v):
    return x @ v


@program("x=8", "f32[16@x,8] f32[16@x]")
def vector_times_matrix(x, v):
    return v @ x


@program("x=8", "f32[16@x] f32[8]")
def outer_product(x, y):
    return jnp.outer(x, y)


@program("x=2 y=2 z=2", "f32[4@x,6,8@y] f32[8@y,6,4@z]")
def einsum_of_two_contractions(x, y):
    return jnp.einsum("abc,cbd->ad", x, y)


@program("x=2 y=4", "f32[4@x,8@y,6] f32[6,3,5]")
def tensordot(x, y):
    return jnp.tensordot(x, y, axes=1)


@program("x=2 y=4", "f32[8@x,8] f32[8,8@y] f32[8@x,8]")
def einsum_of_three(x, y, z):
    return jnp.einsum("ij,jk,lk->il", x, y, z)


@program("x=8", "bf16[16@x,32] bf16[32,16]")
def bfloat16_matmul(x, w):
    return x @ w


@program("x=8", "bf16[16,32@x] bf16[32@x,16]")
def bfloat16_matmul_accumulated_in_f32(x, w):
    return jnp.matmul(x, w, preferred_element_type=jnp.float32)


@program("x=8", "f8e4m3[16,32@x] f8e5m2[32@x,16]")
def float8_matmul(x, w):
    return jnp.matmul(x, w, preferred_element_type=jnp.float32)


@program("x=2 y=4", "f32[16@x,32] f32[32,16@y]")
def float8_matmul_scaled(x, w):
    """Quantised with a scale for each tensor, as layers in 8 bits do."""
    sx, sw = jnp.max(jnp.abs(x)) / 448, jnp.max(jnp.abs(w)) / 448
    qx, qw = (x / sx).astype(jnp.float8_e4m3fn), (w / sw).astype(jnp.float8_e4m3fn)
    y = jax.lax.dot(qx, qw, preferred_element_type=jnp.float32)
    return (y * (sx * sw)).astype(jnp.bfloat16), jnp.sum(qx.astype(jnp.float32)), qw.T


@program("x=2 y=4", "f8e4m3[16@x,32@y] f8e4m3[32@y,16] f32[] f32[]", out=P("x", None))
def float8_matmul_of_dequantized(x, w, sx, sw):
    return (x.astype(jnp.float32) * sx) @ (w.astype(jnp.float32) * sw)


@program("x=8", "f8e5m2[16@x,8] f8e5m2[16@x,8]")
def float8_arithmetic(x, y):
    results = x + y, x * y, jnp.maximum(x, y), x.max(axis=1), jnp.argmax(x, axis=1)
    return *results, x[::-1], jnp.sort(y, axis=0)


@program("x=8", "i32[16@x,8] i32[8,4]")
def integer_matmul(x, w):
    return x @ w


@program("x=8", "i8[16@x,8] i8[8,4]")
def int8_matmul_into_int32(x, w):
    return jax.lax.dot(x, w, preferred_element_type=jnp.int32)


@program("x=8", "f32[16@x,16]")
def gram_matrix(x):
    return x @ x.T


@program("x=4 y=2", "f32[16@x,16@y]", out=P("y", "x"))
def transposed(x):
    return x.T


@program("x=8", "f32[12,12]")
def uneven_product(x):
    y = at(x, "x", None)
    return at(y @ x, None, "x")


@program("x=8", "f32[16@x,4] f32[4,4]")
def power_iteration(x, w):
    for _ in range(3):
        w = w @ w / jnp.linalg.norm(w)
    return x @ w


@program("x=4 y=2", "f32[8@x,16@y]")
def norms(x):
    return jnp.linalg.norm(x), jnp.linalg.norm(x, axis=1), jnp.trace(x[:, :8])


@program("x=8", "f32[16@x,4] f32[16@x,3]")
def kronecker_like(x, y):
    return jax.vmap(jnp.kron)(x, y)


@program("x=2 y=4", "f32[16@x,8] f32[4,8,8@y] i32[4]<5")
def ragged_dot(x, w, sizes):
    return jax.lax.ragged_dot(x, w, sizes)


@program("x=8", "f32[16@x,8]")
def triangles(x):
    return jnp.tril(x), jnp.triu(x, 1)
