# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What networks are made of: activations, norms and products."""

from __future__ import annotations

from typing import Any

from shoal.arrays.worlds import Array, ArrayLike, world_of


def relu(x: ArrayLike) -> Array:
    """max(x, 0)."""
    return world_of(x).relu(x)


def gelu(x: ArrayLike, *, approximate: bool = False) -> Array:
    """x Phi(x), by erf or, approximately, by tanh."""
    return world_of(x).gelu(x, approximate=approximate)


def silu(x: ArrayLike) -> Array:
    """x / (1 + exp(-x))."""
    return world_of(x).silu(x)


def sigmoid(x: ArrayLike) -> Array:
    """1 / (1 + exp(-x))."""
    return world_of(x).sigmoid(x)


def softplus(x: ArrayLike) -> Array:
    """log(1 + exp(x))."""
    return world_of(x).softplus(x)


def softmax(x: ArrayLike, axis: int = -1) -> Array:
    """exp(x - max) / sum along a dimension."""
    return world_of(x).softmax(x, axis)


def log_softmax(x: ArrayLike, axis: int = -1) -> Array:
    """log(softmax(x)), without overflow."""
    return world_of(x).log_softmax(x, axis)


def logsumexp(x: ArrayLike, axis: int = -1, *, keepdims: bool = False) -> Array:
    """log(sum(exp(x))) along a dimension, without overflow."""
    return world_of(x).logsumexp(x, axis, keepdims=keepdims)


def rms_norm(x: ArrayLike, *, epsilon: float = 1e-5) -> Array:
    """x / sqrt(mean(x^2) + epsilon) along the last dimension."""
    return world_of(x).rms_norm(x, epsilon=epsilon)


def one_hot(indices: ArrayLike, size: int, dtype: Any = "float32", axis: int = -1) -> Array:
    """A one at each index, integers, along a new dimension of the result; out of range: zeros."""
    return world_of(indices).one_hot(indices, size, dtype, axis)


def einsum(spec: str, *operands: ArrayLike, dtype: Any = None) -> Array:
    """NumPy's einsum, a letter a dimension and no ellipsis. dtype: of the result and of its sums."""
    return world_of(*operands).einsum(spec, *operands, dtype=dtype)


def matmul(a: ArrayLike, b: ArrayLike) -> Array:
    """NumPy's @: over the last two dimensions, the others broadcast."""
    return world_of(a, b).matmul(a, b)


def ragged_einsum(spec: str, rows: str, lhs: ArrayLike, rhs: ArrayLike, begins: ArrayLike, ends: ArrayLike) -> Array:
    """An einsum whose rows belong to groups, "TM,EMH,E->TH" with rows "T": row t meets the matrices of the groups e with
    begins[e] <= t < ends[e], of whose products it is the sum; rows of no group give zeros."""
    return world_of(lhs, rhs, begins).ragged_einsum(spec, rows, lhs, rhs, begins, ends)
