# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors made of nothing. What torch leaves uninitialised is zero."""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.frontend import creation, dtypes, elementwise, structure
from shoal.frontend.value import Value
from shoal.torch.op import Op
from shoal.torch.registry import imports


@imports("aten.full.default", "aten.full_like.default", "aten.new_full.default", "aten.fill.Scalar", "aten.fill.Tensor")
def full(op: Op, fill_value: Any = None, value: Any = None, self: Any = None, size: Any = None, dtype: Any = None) -> Value:
    filling = value if fill_value is None else fill_value
    return creation.full(op.shape, op.value(filling), op.dtype)


@imports("aten.scalar_tensor.default")
def scalar_tensor(op: Op, s: Any, dtype: Any = None) -> Value:
    return op.value(s)


@imports(
    "aten.zeros.default", "aten.zeros_like.default", "aten.new_zeros.default", "aten.empty.memory_format",
    "aten.empty_like.default", "aten.new_empty.default", "aten.empty_strided.default", "aten.empty_permuted.default",
    "aten.new_empty_strided.default",
    halves=True,
)  # fmt: skip
def zeros(op: Op, size: Any = None, self: Any = None, dtype: Any = None, stride: Any = None, physical_layout: Any = None) -> Value:
    return creation.zeros(op.shape, op.dtype)


@imports("aten.ones.default", "aten.ones_like.default", "aten.new_ones.default")
def ones(op: Op, size: Any = None, self: Any = None, dtype: Any = None) -> Value:
    return creation.ones(op.shape, op.dtype)


@imports("aten.arange.start_step", "aten.arange.default", "aten.arange.start")
def arange(op: Op, end: Any, start: Any = 0, step: Any = 1, dtype: Any = None) -> Value:
    places = structure.iota(op.shape, 0, op.dtype)
    if dtypes.is_integer(op.dtype):
        start, step = int(start), int(step)
    scaled = places if step == 1 else elementwise.multiply(places, step)
    return scaled if start == 0 else elementwise.add(scaled, start)


@imports("aten.linspace.default")
def linspace(op: Op, start: Any, end: Any, steps: int, dtype: Any = None) -> Value:
    return creation.array(np.linspace(start, end, steps).astype(op.dtype))


@imports("aten.eye.default", "aten.eye.m")
def eye(op: Op, n: int, m: int | None = None, dtype: Any = None) -> Value:
    return creation.eye(*op.shape, op.dtype)


@imports("aten.tril_indices.default", "aten.triu_indices.default")
def triangle_indices(op: Op, row: int, col: int, offset: int = 0, dtype: Any = None) -> Value:
    find = np.tril_indices if "tril" in op.node.target else np.triu_indices
    return creation.array(np.stack(find(row, offset, col)).astype(op.dtype))
