# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Indices of gathers and scatters that count along one of their own dimensions.

`x[arange(n), i]` names row k of x in line k of the indices. That component is no
place to look up but a batching dimension: devices that split it need no row of
another's.
"""

from __future__ import annotations

import dataclasses

from jaxlib.mlir import ir

from shoal.ir import Value
from shoal.jax.arithmetic import Arithmetic
from shoal.jax.attributes import field, integer
from shoal.jax.importer import Importer
from shoal.jax.known import defining_op, iota_dim
from shoal.jax.types import is_unsigned, with_shape


@dataclasses.dataclass
class Indices:
    """Indices, their components along `vector_dim`.

    dims: the operand's dimension of each component.
    single: dimensions in which windows have one row, by index.
    batching: pairs of a dimension of the operand and one of the indices, ascending.
    """

    value: Value
    vector_dim: int
    dims: list[int]
    single: list[int]
    batching: list[tuple[int, int]]

    @property
    def operand_batching(self) -> list[int]:
        return [dim for dim, _ in self.batching]

    @property
    def indices_batching(self) -> list[int]:
        return [dim for _, dim in self.batching]


@dataclasses.dataclass
class Names:
    """What a kind of op calls the fields of its dimension numbers."""

    numbers: str
    dims: str
    single: str
    operand_batching: str
    indices_batching: str


GATHER = Names(
    "dimension_numbers",
    "start_index_map",
    "collapsed_slice_dims",
    "operand_batching_dims",
    "start_indices_batching_dims",
)
SCATTER = Names(
    "scatter_dimension_numbers",
    "scatter_dims_to_operand_dims",
    "inserted_window_dims",
    "input_batching_dims",
    "scatter_indices_batching_dims",
)


def indices_of(importer: Importer, op: ir.Operation, place: int, names: Names) -> Indices:
    """The indices, operand `place` of an op, without components that count."""
    numbers, operand = str(op.attributes[names.numbers]), op.operands[place]
    pairs = zip(field(numbers, names.operand_batching), field(numbers, names.indices_batching))
    indices = Indices(
        importer.values[operand],
        field(numbers, "index_vector_dim", [0])[0],
        field(numbers, names.dims),
        field(numbers, names.single),
        list(pairs),
    )
    _take_batches(importer, op.operands[0].type.shape, operand, indices)
    indices.value = importer.arith.to_index(indices.value, is_unsigned(operand.type))
    return indices


def _take_batches(importer: Importer, shape: list[int], operand: ir.Value, indices: Indices):
    parts, kept = _components(operand, indices.vector_dim), []
    for part, dim in zip(parts, indices.dims):
        along = iota_dim(part)
        is_free = along not in (None, indices.vector_dim, *indices.indices_batching)
        is_row = dim in indices.single and is_free and shape[dim] == part.type.shape[along]
        if is_row:
            indices.single = [other for other in indices.single if other != dim]
            indices.batching = sorted([*indices.batching, (dim, along)])
        else:
            kept.append((part, dim))
    if len(kept) == len(parts) or not parts:
        return
    if not kept:  # an index has at least one component: the last one stays
        dim = indices.dims[-1]
        indices.batching = [pair for pair in indices.batching if pair[0] != dim]
        indices.single = sorted([*indices.single, dim])
        kept.append((parts[-1], dim))
    indices.dims = [dim for _, dim in kept]
    indices.value = joined(importer.arith, [importer.values[part] for part, _ in kept], indices)


def _components(operand: ir.Value, vector_dim: int) -> list[ir.Value]:
    """The tensors of one component each that are joined to the indices; none if unknown."""
    op = defining_op(operand)
    if op is None or op.name != "stablehlo.concatenate" or integer(op, "dimension") != vector_dim:
        return []
    parts = list(op.operands)
    return parts if all(part.type.shape[vector_dim] == 1 for part in parts) else []


def joined(arith: Arithmetic, parts: list[Value], indices: Indices) -> Value:
    """Components as one tensor."""
    if len(parts) == 1:
        return parts[0]
    shape, dim = list(parts[0].type.shape), indices.vector_dim
    shape[dim] = len(parts)
    type = with_shape(parts[0].type, tuple(shape))
    return arith.op("shoal.concatenate", parts, type, {"dim": f"{dim} : i64"})
