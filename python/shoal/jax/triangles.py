# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cholesky factors and triangular systems, as loops over columns and rows.

Written with jax.lax and lowered to StableHLO, which is imported like what a program holds: the
loops' bodies are products and elementwise ops, so that batches are split like any dimension.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
from jax import lax
from jax.sharding import AbstractMesh
from jaxlib.mlir import ir

Array = jax.Array


def lowered(function: Callable[..., Any], context: ir.Context, *shapes: Any) -> ir.Module:
    """A module of one function that computes this of arrays of these shapes and types."""
    arguments = [jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in shapes]
    with jax.enable_x64(True), jax.sharding.use_abstract_mesh(AbstractMesh((), ())):
        text = jax.jit(function).trace(*arguments).lower(lowering_platforms=("cpu",)).as_text()
    return ir.Module.parse(text, context)


def cholesky(a: Array, *, lower: bool) -> tuple[Array, Array]:
    """As LAPACK's potrf: the factor in its triangle, the operand in the other one, and for each
    matrix 0 or the order of the first minor that is not positive."""
    if not lower:
        factor, info = cholesky(_transposed(a), lower=True)
        return _transposed(factor), info
    *batch, n, _ = a.shape
    if n == 0:
        return a, lax.full(batch, 0, "int32")
    rows = lax.broadcasted_iota("int32", a.shape[:-1] + (1,), len(batch))

    def step(state: tuple[Array, ...]) -> tuple[Array, ...]:
        j, factor, info = state
        row = lax.dynamic_slice_in_dim(factor, j, 1, len(batch))
        rest = lax.dynamic_slice_in_dim(a, j, 1, len(batch) + 1) - _product(factor, _transposed(row))
        pivot = lax.dynamic_slice_in_dim(rest, j, 1, len(batch))
        fails = lax.bitwise_not(lax.reshape(pivot, batch) > 0) & (info == 0)
        column = lax.select(rows >= j, rest / lax.sqrt(pivot), lax.full_like(rest, 0))
        factor = lax.dynamic_update_slice_in_dim(factor, column, j, len(batch) + 1)
        return j + 1, factor, lax.select(fails, lax.full_like(info, 0) + (j + 1), info)

    begin = lax.full((), 0, "int32"), lax.full_like(a, 0), lax.full(batch, 0, "int32")
    _, factor, info = lax.while_loop(lambda state: state[0] < n, step, begin)
    return lax.select(_triangle(a), factor, a), info


def checked_cholesky(a: Array, *, lower: bool) -> Array:
    """As StableHLO's cholesky: NaN where a matrix is not positive definite."""
    factor, info = cholesky(a, lower=lower)
    fails = lax.broadcast_in_dim(info != 0, a.shape, tuple(range(info.ndim)))
    return lax.select(fails, lax.full_like(a, float("nan")), factor)


def solve(
    a: Array, b: Array, *, left: bool, lower: bool, transposed: bool, unit_diagonal: bool
) -> Array:
    """x of a x = b, or with `left` false of x a = b; of a's triangle alone, or its transpose."""
    if not left:  # a' x' = b'
        x = solve(
            a,
            _transposed(b),
            left=True,
            lower=lower,
            transposed=not transposed,
            unit_diagonal=unit_diagonal,
        )
        return _transposed(x)
    if transposed:
        a, lower = _transposed(a), not lower
    rank, n = a.ndim, a.shape[-1]
    if n == 0:
        return b
    columns = lax.broadcasted_iota("int32", a.shape[:-2] + (1, n), rank - 1)

    def step(state: tuple[Array, Array]) -> tuple[Array, Array]:
        count, x = state
        i = count if lower else n - 1 - count
        row = lax.dynamic_slice_in_dim(a, i, 1, rank - 2)
        known = lax.select(columns < i if lower else columns > i, row, lax.full_like(row, 0))
        rest = lax.dynamic_slice_in_dim(b, i, 1, rank - 2) - _product(known, x)
        if not unit_diagonal:
            rest = rest / lax.dynamic_slice_in_dim(row, i, 1, rank - 1)
        return count + 1, lax.dynamic_update_slice_in_dim(x, rest, i, rank - 2)

    begin = lax.full((), 0, "int32"), lax.full_like(b, 0)
    return lax.while_loop(lambda state: state[0] < n, step, begin)[1]


def _product(a: Array, b: Array) -> Array:
    batch = tuple(range(a.ndim - 2))
    return lax.dot_general(a, b, (((a.ndim - 1,), (b.ndim - 2,)), (batch, batch)))


def _transposed(a: Array) -> Array:
    return lax.transpose(a, (*range(a.ndim - 2), a.ndim - 1, a.ndim - 2))


def _triangle(a: Array) -> Array:
    """Where the lower triangle is."""
    row, column = (lax.broadcasted_iota("int32", a.shape, a.ndim - i) for i in (2, 1))
    return row >= column
