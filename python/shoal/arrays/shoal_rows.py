# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows of groups by their numbers: reading, writing and adding, each group on its own.

Beside `x[indices]` these say that the group of a row is that of its number, so that groups
may lie on many devices and nothing is sent.
"""

from __future__ import annotations

from shoal import ir
from shoal.enums import kind_attribute
from shoal.frontend.core import emit_one
from shoal.frontend.value import Value

__all__ = ["add_rows", "put_rows", "take_rows"]


def take_rows(values: Value, numbers: Value) -> Value:
    """values [G, N, ...], numbers [G, R] int32: [G, R, ...]. Out of range: the nearest row."""
    rest = list(range(2, values.ndim))
    attributes = {
        "offset_dims": ir.i64s(rest),
        "collapsed_slice_dims": ir.i64s([1]),
        "operand_batching_dims": ir.i64s([0]),
        "start_indices_batching_dims": ir.i64s([0]),
        "start_index_map": ir.i64s([1]),
        "index_vector_dim": "2 : i64",
        "slice_sizes": ir.i64s([1, 1, *values.shape[2:]]),
    }
    shape = (*numbers.shape, *values.shape[2:])
    return emit_one("shoal.gather", [values, numbers], shape, values.dtype, attributes)


def put_rows(values: Value, numbers: Value, rows: Value) -> Value:
    """values [G, N, ...] with rows [G, R, ...] at their numbers; out of range: none."""
    return _scatter(values, numbers, rows, {})


def add_rows(values: Value, numbers: Value, rows: Value) -> Value:
    """As `put_rows`, added to what is there."""
    return _scatter(values, numbers, rows, {"kind": kind_attribute("sum")})


def _scatter(values: Value, numbers: Value, rows: Value, kind: dict) -> Value:
    attributes = {
        "update_window_dims": ir.i64s(list(range(2, values.ndim))),
        "inserted_window_dims": ir.i64s([1]),
        "input_batching_dims": ir.i64s([0]),
        "scatter_indices_batching_dims": ir.i64s([0]),
        "scatter_dims_to_operand_dims": ir.i64s([1]),
        "index_vector_dim": "2 : i64",
        **kind,
    }
    return emit_one("shoal.scatter", [values, numbers, rows], values.shape, values.dtype, attributes)
