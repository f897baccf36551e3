# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elements read by index. Out of range, where torch raises, the nearest end is read."""

from __future__ import annotations

from shoal.frontend import broadcasting, dtypes, elementwise, indexing
from shoal.frontend.autodiff import stop_gradient
from shoal.frontend.value import Value
from shoal.torch.op import Op
from shoal.torch.refusals import Unsupported
from shoal.torch.registry import imports, refuses


@imports("aten.embedding.default")
def embedding(op: Op, weight: Value, indices: Value, padding_idx: int = -1, scale_grad_by_freq: bool = False,
              sparse: bool = False) -> Value:  # fmt: skip
    if scale_grad_by_freq:
        raise Unsupported("scale_grad_by_freq=True, whose gradients are divided by how often an index occurs")
    rows = indexing.take(weight, indices, 0)
    if padding_idx < 0:
        return rows
    # The padding's row is read as any other, and has no gradient.
    is_padding = elementwise.equal(indices, padding_idx).reshape([*indices.shape, 1])
    return elementwise.where(is_padding, stop_gradient(rows), rows)


@imports("aten.index.Tensor", "aten._unsafe_index.Tensor", halves=True)
def index(op: Op, self: Value, indices: list[Value | None]) -> Value:
    for entry in indices:
        if entry is not None and dtypes.is_bool(entry.dtype):
            raise Unsupported("a mask as index, whose number of elements only the run knows; write torch.where")
    return indexing.getitem(self, tuple(slice(None) if entry is None else entry for entry in indices))


@imports("aten.index_select.default", halves=True)
def index_select(op: Op, self: Value, dim: int, index: Value) -> Value:
    if not self.ndim:
        return self.reshape(op.shape)
    return indexing.take(self, index.reshape(-1), dim)


@imports("aten.gather.default", halves=True)
def gather(op: Op, self: Value, dim: int, index: Value, sparse_grad: bool = False) -> Value:
    if not self.ndim:
        return broadcasting.broadcast_to(self, op.shape)
    # Other dimensions of the index may be shorter: it reads their first elements.
    cut = [slice(None) if d == dim % self.ndim else slice(size) for d, size in enumerate(index.shape)]
    return indexing.take_along_axis(indexing.getitem(self, tuple(cut)), index, dim)


@imports("aten.take_along_dim.default", halves=True)
def take_along_dim(op: Op, self: Value, indices: Value, dim: int | None = None) -> Value:
    if dim is None:
        return indexing.take(self.reshape(-1), indices.reshape(-1), 0)
    shape = list(op.shape)
    places = broadcasting.broadcast_to(indices, shape)
    shape[dim] = self.shape[dim]
    return indexing.take_along_axis(broadcasting.broadcast_to(self, shape), places, dim)


@imports("aten.take.default", halves=True)
def take(op: Op, self: Value, index: Value) -> Value:
    return indexing.take(self.reshape(-1), index, 0)


_MASKED = "its number of elements only the run knows; write torch.where, or a sum of products with the mask"
refuses(
    "aten.masked_select.default", "aten.nonzero.default", "aten.nonzero_numpy.default", "aten.unique_consecutive.default",
    "aten._unique2.default", "aten.masked_scatter.default",
    reason=_MASKED,
)  # fmt: skip
refuses(
    "aten._local_scalar_dense.default", "aten.item.default",
    reason="a number of Python's that only the run knows; keep it a tensor, or give it as an argument",
)  # fmt: skip
refuses("aten.embedding_renorm.default", reason="max_norm, by which rows that are read are written over; norm them where they are used")
