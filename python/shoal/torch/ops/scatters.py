# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elements written by index. Of several for one place, sums and products take all, the others the last."""

from __future__ import annotations

from typing import Any

from shoal import ir
from shoal.enums import kind_attribute
from shoal.frontend import dtypes, elementwise, indexing, structure
from shoal.frontend.bits import in_signed_order, to_signed_order
from shoal.frontend.core import emit_one
from shoal.frontend.run_time_indices import signed_index
from shoal.frontend.value import Value
from shoal.torch.op import Op
from shoal.torch.refusals import Unsupported
from shoal.torch.registry import imports, refuses

# Torch's names of what is done with what lies there.
_KINDS = {"sum": "sum", "add": "sum", "prod": "prod", "multiply": "prod", "amax": "max", "amin": "min"}
# Of truth values.
_OF_BOOLS = {"sum": "or", "prod": "and", "max": "or", "min": "and"}


@imports("aten.scatter.src", "aten.scatter.value")
def scatter(op: Op, self: Value, dim: int, index: Value, src: Value | None = None, value: Any = None) -> Value:
    return _along(self, dim, index, op.value(value, index.shape) if src is None else src, None)


@imports("aten.scatter_add.default")
def scatter_add(op: Op, self: Value, dim: int, index: Value, src: Value) -> Value:
    return _along(self, dim, index, src, "sum")


@imports("aten.scatter.reduce", "aten.scatter.value_reduce")
def scatter_by(op: Op, self: Value, dim: int, index: Value, reduce: str, src: Value | None = None, value: Any = None) -> Value:
    updates = op.value(value, index.shape) if src is None else src
    return _along(self, dim, index, updates, _kind(reduce))


@imports("aten.scatter_reduce.two")
def scatter_reduce(op: Op, self: Value, dim: int, index: Value, src: Value, reduce: str, include_self: bool = True) -> Value:
    if not include_self:
        raise Unsupported("include_self=False; scatter into the identity of the reduction instead")
    return _along(self, dim, index, src, _kind(reduce))


def _kind(reduce: str) -> str:
    if reduce not in _KINDS:
        raise Unsupported(f"reduce={reduce!r}; expected one of {', '.join(_KINDS)}")
    return _KINDS[reduce]


def _along(value: Value, dim: int, index: Value, src: Value, kind: str | None) -> Value:
    """Element (i, j) of src to (index[i, j], j), of dimension 0. Other dimensions of the index may be shorter."""
    if not value.ndim:
        return _along(value.reshape(1), 0, index.reshape(1), src.reshape(1), kind).reshape(())
    dim %= value.ndim
    box = [slice(None) if d == dim else slice(size) for d, size in enumerate(index.shape)]
    part = indexing.getitem(value, tuple(box))
    updates = indexing.getitem(src, tuple(slice(size) for size in index.shape))
    new = _scattered(part, dim, signed_index(index), updates, kind)
    return new if part.shape == value.shape else indexing.dynamic_update_slice(value, new, [0] * value.ndim)


def _scattered(value: Value, dim: int, index: Value, updates: Value, kind: str | None) -> Value:
    """Each line of the dimension has its own indices: the others are batches, which stay where they lie."""
    if kind is not None and dtypes.is_bool(value.dtype):
        kind = _OF_BOOLS[kind]
    others = [d for d in range(value.ndim) if d != dim]
    attributes: dict[str, str | None] = {
        "update_window_dims": ir.i64s([]),
        "inserted_window_dims": ir.i64s([dim]),
        "input_batching_dims": ir.i64s(others),
        "scatter_indices_batching_dims": ir.i64s(others),
        "scatter_dims_to_operand_dims": ir.i64s([dim]),
        "index_vector_dim": f"{value.ndim} : i64",
    }
    if kind is not None:
        attributes["kind"] = kind_attribute(kind)

    def run(signed: Value) -> Value:
        new = to_signed_order(updates) if signed is not value else updates
        return emit_one("shoal.scatter", [signed, index, new], value.shape, signed.dtype, attributes)

    return in_signed_order(value, run) if kind in ("max", "min") else run(value)


@imports("aten.index_put.default", "aten._unsafe_index_put.default")
def index_put(op: Op, self: Value, indices: list[Value | None], values: Value, accumulate: bool = False) -> Value:
    masks = [entry for entry in indices if entry is not None and dtypes.is_bool(entry.dtype)]
    if masks:
        return _put_by_mask(op, self, indices, values, accumulate)
    part = indexing.At(self)[tuple(slice(None) if entry is None else entry for entry in indices)]
    return part.add(values) if accumulate else part.set(values)


def _put_by_mask(op: Op, value: Value, indices: list[Value | None], values: Value, accumulate: bool) -> Value:
    """x[mask] = number: a choice, as the mask's elements need not be counted."""
    mask = indices[0]
    if len(indices) != 1 or mask is None or values.size != 1:
        raise Unsupported("a mask as index beside others, or with a value for each element; write torch.where")
    mask = mask.reshape([*mask.shape, *[1] * (value.ndim - mask.ndim)])
    number = op.value(values.reshape(()))
    return elementwise.where(mask, elementwise.add(value, number) if accumulate else number, value)


@imports("aten.index_add.default")
def index_add(op: Op, self: Value, dim: int, index: Value, source: Value, alpha: Any = 1) -> Value:
    scaled = source if alpha == 1 else elementwise.multiply(source, alpha)
    if not self.ndim:
        return elementwise.add(self, scaled.reshape(()))
    return indexing.scatter_add(self, index.reshape(-1), scaled, dim)


@imports("aten.index_copy.default")
def index_copy(op: Op, self: Value, dim: int, index: Value, source: Value) -> Value:
    if not self.ndim:
        return source.reshape(())
    return indexing.At(self)[(*[slice(None)] * (dim % self.ndim), index.reshape(-1))].set(source)


@imports("aten.index_fill.int_Scalar", "aten.index_fill.int_Tensor")
def index_fill(op: Op, self: Value, dim: int, index: Value, value: Any) -> Value:
    if not self.ndim:
        return op.value(value)
    return indexing.At(self)[(*[slice(None)] * (dim % self.ndim), index.reshape(-1))].set(op.value(value))


@imports("aten.slice_scatter.default")
def slice_scatter(op: Op, self: Value, src: Value, dim: int = 0, start: int | None = None, end: int | None = None,
                  step: int = 1) -> Value:  # fmt: skip
    return indexing.At(self)[(*[slice(None)] * (dim % self.ndim), slice(start, end, step))].set(op.value(src))


@imports("aten.select_scatter.default")
def select_scatter(op: Op, self: Value, src: Value, dim: int, index: int) -> Value:
    return indexing.At(self)[(*[slice(None)] * (dim % self.ndim), index)].set(op.value(src))


@imports("aten.diagonal_scatter.default")
def diagonal_scatter(op: Op, self: Value, src: Value, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Value:
    if self.ndim != 2:
        raise Unsupported(f"a diagonal of {self.ndim} dimensions; expected 2")
    value = self if dim1 % 2 == 0 else structure.transpose(self)
    places = structure.iota(src.shape, 0)
    rows, columns = elementwise.add(places, max(-offset, 0)), elementwise.add(places, max(offset, 0))
    result = indexing.At(value)[rows, columns].set(op.value(src))
    return result if dim1 % 2 == 0 else structure.transpose(result)


refuses("aten.put.default", reason="places in the flattened tensor; write index_put")
