# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shapes: the same elements with other dimensions. Strides have no meaning here: `view` of what was
permuted is a reshape of values, as export has checked that it is one."""

from __future__ import annotations

from typing import Any

from shoal.frontend import broadcasting, reshape as reshapes, structure
from shoal.frontend.value import Value
from shoal.torch.op import Op
from shoal.torch.refusals import Unsupported
from shoal.torch.registry import imports, refuses


@imports(
    "aten.view.default", "aten.reshape.default", "aten._unsafe_view.default", "aten.view_copy.default",
    "aten._reshape_copy.default", "aten.unflatten.int", "aten.flatten.using_ints", "aten.squeeze.default",
    "aten.squeeze.dim", "aten.squeeze.dims", "aten.unsqueeze.default", "aten.view_as.default",
    "aten.reshape_as.default",
    halves=True,
)  # fmt: skip
def reshape(op: Op, self: Value, size: Any = None, shape: Any = None, dim: Any = None, sizes: Any = None,
            start_dim: Any = None, end_dim: Any = None, other: Any = None) -> Value:  # fmt: skip
    # The program says the result's shape: with -1 resolved, and which dimensions are 1.
    return reshapes.reshape(self, op.shape)


@imports("aten.permute.default", "aten.permute_copy.default", halves=True)
def permute(op: Op, self: Value, dims: list[int]) -> Value:
    return structure.transpose(self, dims)


@imports("aten.transpose.int", "aten.swapaxes.default", "aten.transpose_copy.int", halves=True)
def transpose(op: Op, self: Value, dim0: int = 0, dim1: int = 1, axis0: int | None = None, axis1: int | None = None) -> Value:
    if not self.ndim:
        return self
    return structure.swapaxes(self, dim0 if axis0 is None else axis0, dim1 if axis1 is None else axis1)


@imports("aten.t.default", "aten.numpy_T.default", "aten.mT.default", halves=True)
def t(op: Op, self: Value) -> Value:
    return structure.swapaxes(self, -2, -1) if self.ndim > 1 else self


@imports("aten.movedim.int", "aten.movedim.intlist", halves=True)
def movedim(op: Op, self: Value, source: Any, destination: Any) -> Value:
    sources = [source] if isinstance(source, int) else source
    targets = [destination] if isinstance(destination, int) else destination
    placed = {target % self.ndim: dim % self.ndim for dim, target in zip(sources, targets)}
    others = iter([dim for dim in range(self.ndim) if dim not in placed.values()])
    return structure.transpose(self, [placed[dim] if dim in placed else next(others) for dim in range(self.ndim)])


@imports("aten.expand.default", "aten.expand_copy.default", "aten.expand_as.default", "aten.broadcast_to.default", halves=True)
def expand(op: Op, self: Value, size: Any = None, other: Any = None, implicit: bool = False) -> Value:
    return broadcasting.broadcast_to(self, op.shape)


@imports("aten.atleast_1d.default", "aten.atleast_2d.default", "aten.atleast_3d.default", halves=True)
def atleast(op: Op, self: Value) -> Value:
    return reshapes.reshape(self, op.shape)


@imports("aten.broadcast_tensors.default", "aten.meshgrid.indexing", "aten.meshgrid.default")
def spread(op: Op, tensors: list[Value], indexing: str = "ij") -> list[Value]:
    if "meshgrid" not in op.node.target:
        return [broadcasting.broadcast_to(value, op.shape) for value in tensors]
    if indexing != "ij" and len(tensors) > 1:
        raise Unsupported(f"indexing={indexing!r}; expected 'ij': transpose the results instead")
    return [
        broadcasting.broadcast_in_dim(value.reshape(-1), op.shape, [dim]) for dim, value in enumerate(tensors)
    ]


refuses(
    "aten.as_strided.default", "aten.as_strided_copy.default", "aten.as_strided_scatter.default",
    reason="strides, which values have none of; say it by views, slices and permutations",
)  # fmt: skip
